"""An upper bound on indexed requests for any part, whatever its numbers and the gaps between words.

The exact numbers of Sim-D's parts come from a search (`tools.dram.index_exact`). This is what can
be derived without one. Derivation: docs/dram-indexed.md, whose names are used here.
"""

from functools import lru_cache
from typing import NamedTuple

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram.bounds import recovery
from cyclebound.golden.dram.request import FIFO_DEPTH
from cyclebound.golden.dram.timing import Part

__all__ = ["general_issue_delay", "latest_activates", "row_cycle"]

_MOST = 1000  # states of chains of activates


def row_cycle(part: Part, write: int) -> int:
    """Clocks that a word costs at most where a bank may hold two rows; docs/dram-indexed.md, 5."""
    held = recovery(part, write) - part.nRP
    early = part.nRCD + part.nRP + max(held, part.nRAS - part.nRCD)
    waiting = max(part.nRCD + max(part.nRP, part.nRC - part.nRAS), part.nCCD_L)
    window = part.nFAW - 3 * part.nRRD_S
    return max(part.nRC, early, part.nRRD_L, window,
               part.banks + max(waiting, part.nRRD_L, window))


@lru_cache(maxsize=1 << 14)
def general_issue_delay(part: Part, bursts: int, rows: int, write: int, gaps: int = 0) -> int:
    """No indexed request of ``bursts`` words over ``rows`` rows takes longer, on any part.

    ``gaps``: clocks in which no word came, though there was room for one. Raises `NotCovered` for
    parts that can give a column command or an activate in each clock, which no DRAM can.
    """
    if part.nCCD_S < 2 or part.nRRD_S < 2:
        raise NotCovered(f"{part.name}: nCCD_S and nRRD_S must be at least 2 clocks for "
                         f"indexed_issue_delay, not {part.nCCD_S} and {part.nRRD_S}")
    if rows > part.banks:
        return bursts * row_cycle(part, write) + gaps
    return _Request(part, bursts, rows, write, gaps).delay()


class _Opening(NamedTuple):
    """Activates so far: times of those that still matter, banks in the last one's group and, of
    two groups, in the other; ``tail`` if no other group has a bank that waits."""

    times: tuple[int, ...]
    own: int
    other: int
    tail: bool


def _next(part: Part, state: _Opening, gap: int, single: bool) -> tuple[int, ...]:
    """Times with that of the next activate, at least ``gap`` after the latest one."""
    times = state.times
    legal = times[-1] + gap
    if len(times) >= 4:
        legal = max(legal, times[-4] + part.nFAW)
    if single:
        if legal - part.nRCD in times:
            legal += 1  # the command bus has that column
        return (*(time for time in times[:-3] if time + part.nRCD > legal), *times[-3:], legal)
    alone = part.nRCD < legal < part.nRCD + min(part.nRRD_S, part.nCCD_L)
    if legal >= part.nRCD and not alone:
        legal += 1  # the first bank's, with none to follow yet
    return (*times[-3:], legal)


@lru_cache(maxsize=1024)
def latest_activates(part: Part, *, count: int, rows: int, single: bool, sticky: int
                     ) -> tuple[int, ...]:
    """The latest times of the first ``count`` activates, of banks of ``rows`` rows.

    All orders of the groups are tried: the next bank is of the last one's group (nRRD_L)
    or of another, and no group has more than ceil(rows / nBG) banks. One of another group waits for
    nRRD_S, and nRRD_L after its own group's; as long as words come, its own may come later, if
    until then a bank of the last one's group waits. From activate number ``sticky`` on, all words
    have come: one follows its own group only if no other is left, and so do then all others.
    ``single``: each of these banks but the last has been asked for one word only, so that column
    commands follow activates by nRCD; else every activate that can meet a column command does,
    and so it is taken to be where there would be too many orders.
    """
    in_group = -(-rows // part.bank_groups)
    states, latest = {_Opening((0,), 1, 0, False)}, [0]
    for number in range(2, count + 1):
        following = set()
        soonest = max(part.nRRD_S, part.nRRD_L - part.nRRD_S)
        for state in states:
            gaps = range(soonest, soonest + 1)
            if part.bank_groups > 1 and state.own < in_group:
                if number < sticky:
                    gaps = range(part.nRRD_S if single else part.nRRD_L, part.nRRD_L + 1)
                waits = _next(part, state, soonest, single)[-1] < state.times[-1] + part.nRRD_L
                following.add(_Opening(_next(part, state, part.nRRD_L, single), state.own + 1,
                                       state.other, state.tail or (waits and number >= sticky)))
            if not state.tail and (part.bank_groups != 2 or state.other < in_group):
                own, other = (state.other + 1, state.own) if part.bank_groups == 2 else (1, 0)
                following.update(_Opening(_next(part, state, gap, single), own, other, False)
                                 for gap in gaps)
        if single and len(following) > _MOST:
            coarse = latest_activates(part, count=count, rows=rows, single=False, sticky=sticky)
            return (*latest, *coarse[number - 1:])
        states = following
        latest.append(max((state.times[-1] for state in states), default=latest[-1]))
    return tuple(latest)


class _Request:
    """Requests of up to nB rows; ``most``: banks that they open at most."""

    def __init__(self, part: Part, bursts: int, rows: int, write: int, gaps: int) -> None:
        self.part, self.bursts, self.rows = part, bursts, rows
        self.write, self.gaps, self.most = write, gaps, min(bursts, rows)
        self._known: dict[tuple[bool, bool], tuple[int, ...]] = {}
        self._orderly = part.nRRD_S >= part.nCCD_S and part.nRRD_L >= part.nCCD_L

    def delay(self) -> int:
        """The latest end of any of its banks (docs/dram-indexed.md, 4)."""
        part = self.part
        held = recovery(part, self.write) - part.nRP
        last = part.nRCD + (self.bursts - 1) * part.nCCD_L + self._lag(self.most, self.bursts - 1)
        activate = self._last_activate()
        served, kept = last + held, activate + part.nRAS
        end = max(served, kept) + int(served == kept and self.most > 1)
        if self._crowded(held):
            end = max(end, last + self.most - 1)
        return max(end + part.nRP, activate + part.nRC)

    def _crowded(self, held: int) -> bool:
        """Whether precharges of other banks may still wait for the pins after the last word."""
        part = self.part
        return self.most > 1 and (
            self.gaps > 0 or min(part.nCCD_S, part.nRRD_S) < 4 or part.nRCD < 3
            or held + part.nRAS < 12 or (FIFO_DEPTH * part.nCCD_S < 2 * self.most))

    # -- activates (2) -------------------------------------------------------------------------

    def _opens(self, count: int, *, single: bool) -> int:
        """T(count): the last of ``count`` activates, if closed banks wait in all clocks before."""
        kind = (single and self._orderly, self.gaps > 0 or self.bursts >= count + FIFO_DEPTH)
        if kind not in self._known:
            # all words have come by that activate, if no FIFO was ever full
            come = max(2, -(-(self.bursts - 1) // self.part.nRRD_S) + 1)
            self._known[kind] = latest_activates(
                self.part, count=self.most, rows=self.rows, single=kind[0],
                sticky=self.most + 1 if kind[1] else min(come, self.most + 1))
        return self._known[kind][count - 1]

    def _chain(self, history: list[int], start: int, count: int, reads: int) -> list[int]:
        """D: the latest times of ``count`` activates, the first of which waits from ``start`` on;
        none comes before ``start``, and no column command before ``reads``."""
        part, times, latest = self.part, history[-4:], []
        gap = part.nRRD_S if self.rows <= part.bank_groups else part.nRRD_L
        for _ in range(count):
            window = times[-4] + part.nFAW if len(times) >= 4 else start
            legal = max(start, times[-1] + gap, window)
            times = [*times[-3:], legal + int(legal >= reads)]
            latest.append(times[-1])
        return latest

    def _resumed(self, opened: int, start: int, count: int) -> list[int]:
        """The latest times of ``count`` activates, the first after a clock before ``start`` in
        which none of the closed banks waited; ``opened`` banks had been by then."""
        part = self.part
        history = [start - 2 - part.nRRD_S * (opened - 1 - number) for number in range(opened)]
        return self._chain([0, *history[1:]], start, count, part.nRCD)

    def _stalled(self, count: int) -> list[tuple[int, int]]:
        """Latest times of activates from a clock 0 on in which a full FIFO stopped the words.

        With each, how many words of that FIFO, of an open bank, there still were. The word that was
        kept is one of them, and enters first; or it is the last, which needs room in all FIFOs.
        """
        part = self.part
        before = min(4, max(1, self.most - count))
        history = [-1 - part.nRRD_S * number for number in reversed(range(before))]
        last = [(self._chain(history, 1, 1, 0)[-1], FIFO_DEPTH)] if count == 1 else []
        return [(self._chain(history, 2, count, 0)[-1], FIFO_DEPTH + 1), *last]

    # -- column commands (3) -------------------------------------------------------------------

    def _lag(self, banks: int, words: int, *, more_gaps: bool = False) -> int:
        """How much later a column command after a pause is than nRCD and nCCD_L for each word
        before it, if that is ``words`` at most, with ``banks`` banks at most; ``more_gaps``: with
        what later gaps may add."""
        part, step = self.part, self.part.nCCD_L
        gapless = [0] * (banks + 1)  # by the number of banks that have been opened
        for count in range(1, min(banks, words + 1) + 1):
            gapless[count] = self._opens(count, single=True) - (count - 1) * step
            if words >= count:
                gapless[count] = max(gapless[count],
                                     self._opens(count, single=False) - count * step)
        lags = [max(lag, self.gaps + 1 - step - part.nRCD) for lag in gapless]
        for opened in range(1, banks):
            came, start = self._came(opened)
            most = min(banks - opened, words - came + 1)
            for number, time in enumerate(self._resumed(opened, start, most)):
                lags[opened + number + 1] = max(lags[opened + number + 1],
                                                time - (came + number) * step)
        stalls = self._stalls(banks - 1, words)  # by banks, too
        spent = [max(lag, lag + self.gaps) for lag, lag in zip(lags, gapless, strict=True)]
        held = [max(spent[1:number + 1]) + more
                for number, more in zip(range(banks, 0, -1), stalls, strict=True)
                if more or more_gaps]
        return max(*lags, *held)

    def _came(self, opened: int) -> tuple[int, int]:
        """Words that have come at least when no closed bank waits and ``opened`` have been opened,
        and the clock after it."""
        soonest = (opened - 1) * self.part.nRRD_S + 2
        came = max(opened, soonest - self.gaps)
        return came, came + self.gaps

    def _stalls(self, banks: int, words: int) -> list[int]:
        """Clocks that full FIFOs of open banks add, each time for a few of the activates; by the
        number of these, 0 to ``banks``."""
        part = self.part
        gains = [max(late + part.nRCD - (held + count - 1) * part.nCCD_L
                     for late, held in self._stalled(count)) for count in range(1, banks + 1)]
        return _most(gains, banks, words)

    def _last_activate(self) -> int:
        """The latest activate of all (docs/dram-indexed.md, 4)."""
        part, latest = self.part, 0
        for count in range(1, self.most + 1):
            latest = max(latest, self._opens(count, single=count == self.bursts))
        for opened in range(1, self.most):
            _, least = self._came(opened)
            for count in range(1, self.most - opened + 1):
                start = self.bursts - count + self.gaps
                if start >= least:
                    latest = max(latest, self._resumed(opened, start, count)[-1])
        for count in range(1, self.most):
            for late, held in self._stalled(count):
                before = self.bursts - held - count
                if before >= 0:
                    lag = self._lag(self.most - count, before, more_gaps=True)
                    latest = max(latest, part.nRCD + lag + before * part.nCCD_L + late)
        return latest


def _most(gains: list[int], banks: int, words: int) -> list[int]:
    """The greatest sum of gains, for 0 to ``banks`` banks, and of ``words`` words at most: the
    n-th needs n banks, and n - 1 words beside the 8 of a FIFO at least."""
    best = [0] * (banks + 1)
    for _ in range(min(banks, words // FIFO_DEPTH)):
        more = list(best)
        for number, gain in enumerate(gains, 1):
            if gain > 0 and number - 1 + FIFO_DEPTH <= words:
                for used in range(number, banks + 1):
                    more[used] = max(more[used], best[used - number] + gain)
        if more == best:
            break
        best = more
    return best
