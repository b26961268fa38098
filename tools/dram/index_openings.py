"""How late the activates of an indexed request can be, after what has happened so far."""

import itertools
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram.bounds import recovery
from cyclebound.golden.dram.request import FIFO_DEPTH
from cyclebound.golden.dram.timing import Part

__all__ = ["Openings", "check_search", "latest_openings", "latest_unforced"]


class Openings(NamedTuple):
    """What decides how late activates can be, at a time 0.

    ``ages``: since the last four; ``reads``: until the first column command; ``groups``: for each,
    time until it may activate, banks that wait, and banks that may yet be asked for; in order.
    """

    ages: tuple[int, ...]
    reads: int
    groups: tuple[tuple[int, int, int], ...]


class _Legal(NamedTuple):
    """What decides it from the first cycle on in which the rank and some group may activate.

    ``window``: how much later the second, third and fourth activate are for the four-activate
    window than for nRRD_S alone. Of all that decides the same, one; far fewer than `Openings`.
    """

    window: tuple[int, ...]
    reads: int
    groups: tuple[tuple[int, int, int], ...]


def _from(part: Part, legal: tuple[int, ...], reads: int, groups: Iterable[tuple[int, int, int]]
          ) -> tuple[int, _Legal]:
    """Time of the next activate, at least, and what decides from then on.

    ``legal``: times of the next four, as far as nRRD_S and the window say.
    """
    groups = [each if each[1] or each[2] else (0, 0, 0) for each in groups]
    left = sum(waits + absent for _, waits, absent in groups)
    time = max(legal[0], min((own for own, waits, absent in groups if waits or absent), default=0))
    window, least = [], 0
    for number in (1, 2, 3):
        least = max(least, legal[number] - time - number * part.nRRD_S)
        window.append(least if left > number else 0)
    return time, _Legal(tuple(window), max(0, reads - time), tuple(sorted(
        (max(0, own - time), waits, absent) for own, waits, absent in groups)))


def _further(part: Part, state: _Legal, group: int, coming: bool, time: int) -> tuple[int, _Legal]:
    """Group and state after an activate at ``time``, of a bank that is ``coming`` or waits."""
    groups = [*state.groups]
    _, waits, absent = groups[group]
    groups[group] = time + part.nRRD_L, waits - (not coming), absent - coming
    step = part.nRRD_S
    return _from(part, (max(time, state.window[0]) + step, state.window[1] + 2 * step,
                        state.window[2] + 3 * step, time + part.nFAW), state.reads, groups)


def _latest_of(paths: list[list[int]]) -> tuple[int, ...]:
    """The greatest first, second ... of all."""
    return tuple(max(each) for each in itertools.zip_longest(*paths, fillvalue=-1))


@lru_cache(maxsize=1 << 21)
def _unforced(part: Part, state: _Legal) -> tuple[int, ...]:
    paths = []
    for number, (own, waits, absent) in enumerate(state.groups):
        if waits + absent and state.groups[number] not in state.groups[:number]:
            time = own + (own >= state.reads)
            begins, further = _further(part, state, number, not waits, time)
            paths.append([time, *(begins + each for each in _unforced(part, further))])
    return _latest_of(paths)


@lru_cache(maxsize=1 << 21)
def _forced(part: Part, state: _Legal) -> tuple[int, ...]:
    first = min((own for own, waits, _ in state.groups if waits), default=None)
    paths = []
    for number, (own, waits, absent) in enumerate(state.groups):
        if state.groups[number] in state.groups[:number]:
            continue
        soonest = own if first is None else first
        for time in {soonest, soonest + (soonest >= state.reads)}:
            for coming in (False, True):
                if own <= time and (absent if coming else waits):
                    begins, further = _further(part, state, number, coming, time)
                    paths.append([time, *(begins + each for each in _forced(part, further))])
    return _latest_of(paths)


def _openings(part: Part, state: Openings, arrive: int = 0) -> tuple[int, _Legal]:
    *ages, oldest = state.ages
    legal = [max(arrive, part.nRRD_S - ages[0], part.nFAW - oldest)]
    for age in reversed(ages):
        legal.append(max(legal[-1] + part.nRRD_S, part.nFAW - age))
    return _from(part, tuple(legal), state.reads, state.groups)


def latest_unforced(part: Part, state: Openings, arrive: int = 0) -> tuple[int, ...]:
    """The latest times of the first, second ... activate, each by itself, in whatever order.

    None comes before ``arrive``. A column command may keep each for a clock.
    """
    time, legal = _openings(part, state, arrive)
    return tuple(time + each for each in _unforced(part, legal))


def latest_openings(part: Part, state: Openings) -> tuple[int, ...]:
    """The latest times of the first, second ... activate, each by itself, if none waits for a word.

    A bank that waits opens as soon as that is legal, unless another one does, or a column command
    keeps it for a clock.
    """
    time, legal = _openings(part, state)
    return tuple(time + each for each in _forced(part, legal))


def check_search(part: Part, write: int) -> None:
    """Raise `NotCovered` for a part about which the exact search could be wrong.

    A word that a full FIFO of an open bank holds up may keep other banks from opening, which
    `Latest` does not count: the nine words in that FIFO, and the one held up, must take
    longer than all that can open after them (two clocks later: a word is that long on its way).
    """
    held = FIFO_DEPTH + 1
    orderly = part.nCCD_S > 1 and part.nRRD_S > 1
    for opened in range(1, part.banks):
        ages = tuple(number * part.nRRD_S if number < opened else part.nFAW for number in range(4))
        group = part.nRRD_L, part.banks // part.bank_groups, 0
        times = latest_unforced(part, Openings(ages, 0, (group,) * part.bank_groups))
        for more, time in enumerate(times[:part.banks - opened]):
            orderly &= time + 2 + part.nRCD <= part.nCCD_L * (held + more)
            orderly &= bool(write) or (time + 2 + part.nRC - recovery(part, 0)
                                       < part.nCCD_L * (held + 1 + more))
    if not orderly:
        raise NotCovered(f"{part.name}: nine words of a bank must take longer than activates that "
                         "they hold up")
