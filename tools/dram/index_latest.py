"""How long an indexed request can still take, whatever comes: when a search may leave a state.

Three estimates: how much sooner than every nCCD_L its words are moved (`least_saved`), how
late its activates can be (`latest_openings`, `latest_unforced`), and from both its end (`Latest`).
"""

import itertools
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram.bounds import recovery
from cyclebound.golden.dram.request import FIFO_DEPTH
from cyclebound.golden.dram.timing import Part
from cyclebound.tools.dram.index_steps import CLOSED, State

__all__ = ["Latest", "Openings", "check_search", "latest_openings", "latest_unforced",
           "least_saved"]


@lru_cache(maxsize=1 << 18)
def least_saved(part: Part, first: int, waiting: tuple[tuple[int, int, int], ...]) -> int:
    """Clocks that column commands save on nCCD_L each, at least.

    The first of them comes at ``first``, in clocks, or sooner; none of their gaps is longer than
    nCCD_L. ``waiting``: time from which a bank is open, its group, and its words, none served
    before ``first``; by time. So of n commands, the last one comes by
    ``first + (n - 1) nCCD_L - least_saved``.

    A gap is nCCD_S if, when it ends, another group than the command's has a word in an open bank:
    nothing goes before a column command, and that group's last one was two gaps ago or more
    (which must be nCCD_L: 0 for parts with 2 nCCD_S < nCCD_L). Take the words that wait by a time
    T; a command takes one of them at most. Let m lie outside the group that has most. If all
    commands came after T - nCCD_S, two groups would have words left after each of the first
    m - 1, and another group than the command's after the m-th; of two groups, which are served by
    turns then, after each of the first 2m - 1. If x came sooner, it is m - x for m; and the next
    one comes by ``first + x nCCD_L``, and by ``T - nCCD_S - 1 + nCCD_L`` if x > 0. What is saved is
    the least for any x, and the most for any T.
    """
    step, short = part.nCCD_L, part.nCCD_S
    if not short < step <= 2 * short:
        return 0
    amounts, most = [0] * part.bank_groups, 0
    for time, group, entries in waiting:
        amounts[group] += entries
        mixed = sum(amounts) - max(amounts)
        least = None
        for sooner in range(mixed + 1 if time > short else 1):
            gaps = mixed - sooner
            if part.bank_groups == 2:
                gaps = max(0, 2 * gaps - 1)
            saved = (step - short) * gaps
            if sooner:
                saved += max(0, first + sooner * step - (time - short - 1 + step))
            least = saved if least is None else min(least, saved)
        most = max(most, least or 0)
    return most


class Openings(NamedTuple):
    """The state at a time 0 that decides how late activates can be.

    ``ages``: since the last four; ``reads``: until the first column command; ``groups``: for each,
    time until it may activate, banks that wait, and banks that may yet be asked for; in order.
    """

    ages: tuple[int, ...]
    reads: int
    groups: tuple[tuple[int, int, int], ...]


class _Legal(NamedTuple):
    """The same state in the first cycle in which the rank and some group may activate.

    ``window``: how much later the second, third and fourth activate are for the four-activate
    window than for nRRD_S alone. One for all `Openings` that lead to the same, so far fewer.
    """

    window: tuple[int, ...]
    reads: int
    groups: tuple[tuple[int, int, int], ...]


def _from(part: Part, legal: tuple[int, ...], reads: int, groups: Iterable[tuple[int, int, int]]
          ) -> tuple[int, _Legal]:
    """The earliest time of the next activate, and the state from then on.

    ``legal``: times of the next four, as far as nRRD_S and the window say.
    """
    groups = [group if group[1] or group[2] else (0, 0, 0) for group in groups]
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
    return tuple(max(cycle) for cycle in itertools.zip_longest(*paths, fillvalue=-1))


@lru_cache(maxsize=1 << 21)
def _unforced(part: Part, state: _Legal) -> tuple[int, ...]:
    paths = []
    for number, (own, waits, absent) in enumerate(state.groups):
        if waits + absent and state.groups[number] not in state.groups[:number]:
            time = own + (own >= state.reads)
            begins, further = _further(part, state, number, not waits, time)
            paths.append([time, *(begins + cycle for cycle in _unforced(part, further))])
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
                    paths.append([time, *(begins + cycle for cycle in _forced(part, further))])
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
    return tuple(time + cycle for cycle in _unforced(part, legal))


def latest_openings(part: Part, state: Openings) -> tuple[int, ...]:
    """The latest times of the first, second ... activate, each by itself, if none waits for a word.

    A bank that waits opens as soon as that is legal, unless another one does, or a column command
    keeps it for a clock.
    """
    time, legal = _openings(part, state)
    return tuple(time + cycle for cycle in _forced(part, legal))


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


class Latest:
    """The latest end of requests of ``bursts`` words over ``rows`` rows, at most nB.

    Attributes
    ----------
    spare : int
        Words without any of which nothing that was asked so far would have been answered in
        another way, but for nCCD_L each.
    """

    def __init__(self, part: Part, bursts: int, rows: int, write: int) -> None:
        self.part, self.bursts, self.rows = part, bursts, rows
        self.closing = recovery(part, write)
        self.cycles = 0 if write else part.nRC
        self.in_group = -(-rows // part.bank_groups)
        self.spare = bursts

    def delay(self, state: State, cycle: int) -> int:
        """No request of this state, which is not done, takes longer; ``cycle`` is the state's.

        After the last pause of more than nCCD_L, column commands are nCCD_L apart at most, and
        some are nearer (`least_saved`); without one, the next comes nCCD_L after the last. What
        ends it is the first one of a bank that has just opened, nRCD after its activate: an open
        bank with a word makes no pause, and a word that arrives later in one makes a shorter one.
        All words that banks opened earlier have now are done by then, and one at least of each bank
        that opens before. So for each bank that may be the one, in the order in which they open,
        the closed ones with the fewest words first. How late they open: `latest_openings`. Should
        none wait in a clock in which one could open, a word came to an open bank: a clock is lost,
        and nCCD_L gained. What comes after that may go in any order (`latest_unforced`). Should a
        FIFO of an open bank have been full: `check_search`.
        """
        part, step = self.part, self.part.nCCD_L
        left, ready, soonest = state.left, [], step
        pending, closed, groups = [], [], []
        asked = sum(len(banks) for _, _, banks in state.groups)
        unasked = self.rows - asked if state.left else 0
        for group, (activate, column, banks) in enumerate(state.groups):
            waits = 0
            for entries, opens, _ in banks:
                left += entries
                if opens == CLOSED:
                    closed.append(entries)
                    waits += 1
                elif opens:
                    pending.append((opens, group, entries))
                elif entries:
                    ready.append((0, group, entries))
                    soonest = min(soonest, max(state.access, column))
            absent = min(unasked, self.in_group - len(banks))
            groups.append((activate, waits, absent) if waits or absent else (0, 0, 0))
        self.spare = min(self.spare, state.left - 1)
        closed = sorted([0] * unasked + closed)
        pending.sort()
        before = sum(entries for _, _, entries in ready)
        if not ready:  # the next command may come without a longer pause all the same
            soonest = max(0, step - state.since)
        access = -state.since
        if ready or not pending or pending[0][0] <= soonest:  # before the next longer pause
            access = soonest + step * (left - 1) - least_saved(part, soonest, (*ready, *pending))
        for number, (opens, _, entries) in enumerate(pending):
            if left > before:
                access = max(access, opens + step * (left - before - 1) - least_saved(
                    part, opens, tuple(pending[number:])))
            before += entries
        activate, rest = -state.ages[0], left - before
        self.spare = min(self.spare, rest - 1)
        if rest > 0 and closed:
            openings = Openings(state.ages, max(0, part.nRCD - cycle), tuple(sorted(groups)))
            forced, free = latest_openings(part, openings), latest_unforced(part, openings)
            # a clock in which none waits brings a word to an open bank
            times = [max(cycle, other - step + 1)
                     for cycle, other in zip(forced, free, strict=True)]
            words = rest
            for opens, entries in zip(times, closed, strict=False):
                self.spare = min(self.spare, words - 1)
                if words <= 0:
                    break
                access = max(access, opens + part.nRCD + step * (words - 1))
                words -= max(1, entries)
            if self.cycles:
                arrive = state.left - 1
                if arrive > max(0, part.nRRD_S - state.ages[0], part.nFAW - state.ages[3]):
                    forced = latest_unforced(part, openings, arrive)
                activate = max(activate, *forced[:min(rest, len(closed))])
        served, cycled = access + self.closing, activate + self.cycles
        if self.cycles and min(served, cycled) + 1 > max(served, cycled):
            served += 1
        return cycle + max(served, cycled)

    def settled(self, least: int) -> int | None:
        """The least number of words with which nothing asked would have been answered in another
        way, had ``least`` been nCCD_L less for each that is missing.

        Of reads, only if no activate can be late enough to matter, with as few words.
        """
        if self.spare < 0:
            return None
        part, bursts = self.part, self.bursts
        if self.cycles:
            long_ago, group = (part.nFAW,) * 4, (0, 0, part.banks // part.bank_groups)
            activate = latest_unforced(part, Openings(long_ago, part.nRCD,
                                                      (group,) * part.bank_groups))[-1]
            # in a request of b words it is b - 1 later at most
            while (bursts > self.bursts - self.spare and activate + bursts - 2 + self.cycles
                   < least - part.nCCD_L - 1):
                bursts, least = bursts - 1, least - part.nCCD_L
            return bursts if activate + bursts - 1 + self.cycles < least - 1 else None
        return bursts - self.spare
