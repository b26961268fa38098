"""How late the activates of an indexed request can be, behind what has happened so far."""

import itertools
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
    time until it may activate, banks that wait, and banks that may yet be asked for.
    """

    ages: tuple[int, ...]
    reads: int
    groups: tuple[tuple[int, int, int], ...]


def _after_activate(part: Part, state: Openings, group: int, coming: bool, time: int) -> Openings:
    groups = [(max(0, other - time), *rest) for other, *rest in state.groups]
    _, waits, absent = groups[group]
    groups[group] = (part.nRRD_L, waits - (not coming), absent - coming)
    return Openings((0, *(min(part.nFAW, age + time) for age in state.ages[:3])),
                    max(0, state.reads - time),
                    tuple(sorted(each if each[1] or each[2] else (0, 0, 0) for each in groups)))


def _latest_of(paths: list[list[int]]) -> tuple[int, ...]:
    """The greatest first, second ... of all."""
    return tuple(max(each) for each in itertools.zip_longest(*paths, fillvalue=-1))


@lru_cache(maxsize=1 << 20)
def latest_unforced(part: Part, state: Openings, arrive: int = 0) -> tuple[int, ...]:
    """The latest times of the first, second ... activate, each by itself, in whatever order.

    None comes before ``arrive``. A column command may keep each for a clock.
    """
    legal = max(0, part.nRRD_S - state.ages[0], part.nFAW - state.ages[3], arrive)
    paths = []
    for number, (own, waits, absent) in enumerate(state.groups):
        if waits + absent and state.groups[number] not in state.groups[:number]:
            time = max(legal, own)
            time += time >= state.reads
            further = latest_unforced(part, _after_activate(part, state, number, not waits, time))
            paths.append([time, *(time + each for each in further)])
    return _latest_of(paths)


@lru_cache(maxsize=1 << 20)
def latest_openings(part: Part, state: Openings) -> tuple[int, ...]:
    """The latest times of the first, second ... activate, each by itself, if none waits for a word.

    A bank that waits opens as soon as that is legal, unless another one does, or a column command
    keeps it for a clock.
    """
    legal = max(0, part.nRRD_S - state.ages[0], part.nFAW - state.ages[3])
    first = min((max(legal, own) for own, waits, _ in state.groups if waits), default=None)
    paths = []
    for number, (own, waits, absent) in enumerate(state.groups):
        if state.groups[number] in state.groups[:number]:
            continue
        least = max(legal, own)
        soonest = least if first is None else first
        for time in {soonest, soonest + (soonest >= state.reads)}:
            for coming in (False, True):
                if least <= time and (absent if coming else waits):
                    further = latest_openings(
                        part, _after_activate(part, state, number, coming, time))
                    paths.append([time, *(time + each for each in further)])
    return _latest_of(paths)


def check_search(part: Part, write: int) -> None:
    """Raise `NotCovered` for a part about which the exact search could be wrong.

    A word that a full FIFO of an open bank holds up may keep other banks from opening, which
    `_Search.latest` does not count: the nine words in that FIFO, and the one held up, must take
    longer than all that can open behind them (two clocks later: a word is that long on its way).
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
