"""Issue delays of many tiles at once, each in a lane of its own: the arbiter's rules in numpy.

`command_arbiter.schedule` for tiles, by another program: there are no objects, and every lane has
its own clock. An iteration pushes a burst in each lane where one can be pushed, and issues a
command in each where one is legal; a lane whose next burst waits for room goes on to the cycle of
its next command. ``tests/dram/test_tile_search.py`` compares the two.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cyclebound.golden.dram.request import BURST_WORDS, FIFO_DEPTH
from cyclebound.golden.dram.timing import Part

__all__ = ["Lines", "issue_delays"]

_NEVER = 1 << 30
_OFTEN = 256  # iterations from report to report
_RING = 16  # places for the entries of a bank; at most FIFO_DEPTH + 1 of them are taken
_ACTIVATE, _CLOSE, _PRECHARGE_ONLY = 1, 2, 4  # of a bank's operation
_DO_CAS, _DO_ACTIVATE, _DO_CLOSE, _IDLE = range(4)  # what the head of a bank does next, by priority


@dataclass(frozen=True)
class Lines:
    """The shape of the tiles: ``count`` lines of ``words`` words, ``period`` words apart."""

    words: int
    period: int
    count: int

    def following(self, first: np.ndarray, burst: np.ndarray) -> np.ndarray:
        """The next bursts that hold words of tiles from word ``first`` on; -1 after the last."""
        line = -(-(BURST_WORDS * (burst + 1) - first - self.words + 1) // self.period)
        bursts = np.maximum(burst + 1, (first + line * self.period) // BURST_WORDS)
        return np.where(line < self.count, bursts, -1)


def issue_delays(part: Part, lines: Lines, first: np.ndarray, *, write: bool,
                 report: Callable[[str, int, int], None] = lambda step, done, total: None
                 ) -> np.ndarray:
    """Issue delays of the tiles that begin at each word of ``first``.

    ``report`` is called with the number of lines that all of them have followed, and the total.
    """
    delays = np.zeros(len(first), dtype=np.int64)
    size = max(256, (1 << 17) // part.banks)
    starts = range(0, len(first), size)
    for number, start in enumerate(starts):
        lanes = _Lanes(part, lines, first[start:start + size], write)

        def followed(line: int, number: int = number) -> None:
            report("lines followed", number * lines.count + line, len(starts) * lines.count)

        delays[start:start + size] = lanes.finish(followed)
    return delays


class _Lanes:
    """The state of some lanes; arrays are indexed by bank, then lane."""

    def __init__(self, part: Part, lines: Lines, first: np.ndarray, write: bool) -> None:
        self.part, self.lines = part, lines
        count, banks = len(first), part.banks
        self.recovered = part.nCWD + part.nBURST + part.nWR if write else part.nRTP
        self.bank = np.arange(banks, dtype=np.int32)[:, None]
        self.lane = np.arange(count)
        self.result = np.zeros(count, dtype=np.int64)

        def zeros(*shape: int, kind: type = np.int32) -> np.ndarray:
            return np.zeros((*shape, count), dtype=kind)

        self.now, self.holdoff, self.current = zeros(), zeros(), zeros()
        self.entries, self.head = zeros(banks, _RING, kind=np.uint8), zeros(banks)
        self.length, self.waiting = zeros(banks), zeros(banks)
        self.step = zeros(banks) + _IDLE
        self.own = zeros(banks) + _NEVER  # when the head's next step is legal, by its bank alone
        self.cas, self.precharge, self.activate = zeros(banks), zeros(banks), zeros(banks)
        self.cycle_end = zeros(banks)     # nRC after the last activate
        self.group_cas, self.group_activate = zeros(part.bank_groups), zeros(part.bank_groups)
        self.rank_cas, self.rank_activate = zeros(), zeros()
        self.window = zeros(4) - _NEVER
        self.first = first.astype(np.int64)
        self.burst = self.first // BURST_WORDS
        self.touched = zeros(2, kind=bool)
        self.room = np.ones(count, dtype=bool)
        self.to_bank, self.to_entry = zeros(), zeros(kind=np.uint8)
        self.with_sibling = np.zeros(count, dtype=bool)
        self.next = self.burst.copy()
        self._prepare(np.arange(count))

    _BY_LANE = ("now", "holdoff", "current", "rank_cas", "rank_activate", "first", "burst", "room",
                "to_bank", "to_entry", "with_sibling", "next", "lane", "entries", "head", "length",
                "waiting", "step", "own", "cas", "precharge", "activate", "cycle_end", "group_cas",
                "group_activate", "window", "touched")

    def finish(self, followed: Callable[[int], None]) -> np.ndarray:
        """Issue delays of all lanes. ``followed`` hears now and then which line the last is in."""
        for iteration in itertools.count():
            if not len(self.lane):
                break
            if not iteration % _OFTEN:
                latest = np.where(self.burst < 0, self.lines.count - 1, (
                    BURST_WORDS * (self.burst + 1) - self.first) // self.lines.period).min()
                followed(int(np.clip(latest, 0, self.lines.count - 1)))
            self._push()
            busy = self._issue()
            if not busy.all() and (2 * np.count_nonzero(busy) < len(busy) or not busy.any()):
                self.result[self.lane[~busy]] = self.holdoff[~busy]
                for name in self._BY_LANE:
                    setattr(self, name, np.ascontiguousarray(getattr(self, name)[..., busy]))
        return self.result

    # -- generator -----------------------------------------------------------------------------

    def _prepare(self, at: np.ndarray) -> None:
        """Take these lanes' next bursts: find the entries that they add, and their successors."""
        pair, banks = 2 * self.part.bursts_per_row, self.part.banks
        burst = self.next[at]
        self.burst[at] = burst
        there = burst >= 0
        at, burst = at[there], burst[there]
        after = self.lines.following(self.first[at], burst)
        self.next[at] = after
        ends = (after < 0) | (after // pair != burst // pair)
        which = burst % 2
        self.to_bank[at] = 2 * (burst // pair % (banks // 2)) + which
        opens = ~self.touched[which, at]
        self.with_sibling[at] = ends & self.touched[1 - which, at]
        self.to_entry[at] = _ACTIVATE * opens + _CLOSE * ends
        self.touched[which, at] = True
        self.touched[:, at[ends]] = False

    def _push(self) -> None:
        at = np.flatnonzero(self.room)
        if len(at):
            both = at[self.with_sibling[at]]
            if len(both):
                self._append(self.to_bank[both] ^ 1, both, np.uint8(_PRECHARGE_ONLY))
            self._append(self.to_bank[at], at, self.to_entry[at])
            self._prepare(at)
        full = self.length > FIFO_DEPTH
        lanes = np.arange(len(self.lane))
        self.room = (self.burst >= 0) & ~full[self.to_bank, lanes] & ~(
            self.with_sibling & full[self.to_bank ^ 1, lanes])

    def _append(self, bank: np.ndarray, at: np.ndarray,
                operation: np.ndarray | np.uint8) -> None:
        length = self.length[bank, at]
        self.entries[bank, (self.head[bank, at] + length) % _RING, at] = operation
        self.length[bank, at] = length + 1
        empty = length == 0
        self._look(bank[empty], at[empty])
        self._count(bank[~empty], at[~empty])

    def _look(self, bank: np.ndarray, at: np.ndarray) -> None:
        """A head is new: what it does first, and when its bank allows that."""
        operation = self.entries[bank, self.head[bank, at], at]
        activates, precharge_only = operation & _ACTIVATE > 0, operation & _PRECHARGE_ONLY > 0
        self.step[bank, at] = np.where(
            precharge_only, _DO_CLOSE, np.where(activates, _DO_ACTIVATE, _DO_CAS))
        self.own[bank, at] = np.where(precharge_only, self.precharge[bank, at], np.where(
            activates, self.activate[bank, at], self.cas[bank, at]))
        self._count(bank, at)

    def _count(self, bank: np.ndarray, at: np.ndarray) -> None:
        """How much waits in these banks, as rule 5 counts."""
        closes = self.entries[bank, self.head[bank, at], at] & _CLOSE > 0
        self.waiting[bank, at] = np.where(closes, 1, self.length[bank, at] - 1)

    # -- arbiter -------------------------------------------------------------------------------

    def _issue(self) -> np.ndarray:
        """A command in each lane that has one; which lanes have anything to do."""
        part, step, banks = self.part, self.step, self.part.banks
        shape = (banks // part.bank_groups, part.bank_groups, -1)
        cas = np.maximum(self.group_cas, self.rank_cas)
        activate = np.maximum(self.group_activate, np.maximum(
            self.rank_activate, self.window[0] + part.nFAW))
        does_cas, activates = step == _DO_CAS, step == _DO_ACTIVATE
        due = np.maximum(self.own.reshape(shape), np.where(
            does_cas.reshape(shape), cas, np.where(activates.reshape(shape), activate, 0))
            ).reshape(banks, -1)
        earliest = due.min(axis=0)
        busy = (self.burst >= 0) | (earliest < _NEVER)
        self.now = np.where(self.room | ~busy, self.now, np.maximum(self.now, earliest))
        at = np.flatnonzero(earliest <= self.now)
        if len(at):
            if 4 * len(at) > 3 * len(self.now):
                view: slice | np.ndarray = slice(None)
                at = np.arange(len(self.now))
            else:
                view = at
            self._choose(view, at, due[:, view], does_cas[:, view], activates[:, view])
        self.now = self.now + 1
        return busy

    def _choose(self, view: slice | np.ndarray, at: np.ndarray, due: np.ndarray,
                does_cas: np.ndarray, activates: np.ndarray) -> None:
        banks, bank = self.part.banks, self.bank
        current = self.current[view]
        distance = (bank - current) & (banks - 1)
        fewest = ((bank < current) * _RING + (_RING - 1 - self.waiting[:, view])) * banks + bank
        most = 4 * _RING * banks
        key = np.where(does_cas, distance, np.where(activates, most + fewest, 2 * most + distance))
        key[due > self.now[view]] = 3 * most
        chosen = key.argmin(axis=0)
        lowest = key[chosen, np.arange(len(at))]
        for kind, effect in ((lowest < most, self._access),
                             ((lowest >= most) & (lowest < 2 * most), self._open),
                             ((lowest >= 2 * most) & (lowest < 3 * most), self._close)):
            which = np.flatnonzero(kind)
            if len(which):
                effect(chosen[which].astype(np.int32), at[which], self.now[at[which]])

    def _open(self, bank: np.ndarray, at: np.ndarray, now: np.ndarray) -> None:
        part = self.part
        self.step[bank, at] = _DO_CAS
        self.cas[bank, at] = self.own[bank, at] = now + part.nRCD
        self.precharge[bank, at] = now + part.nRAS
        self.cycle_end[bank, at] = now + part.nRC
        self.rank_activate[at] = now + part.nRRD_S
        self.group_activate[bank & part.bank_groups - 1, at] = now + part.nRRD_L
        self.window[:3, at] = self.window[1:, at]
        self.window[3, at] = now

    def _access(self, bank: np.ndarray, at: np.ndarray, now: np.ndarray) -> None:
        part = self.part
        self.current[at] = bank & ~1
        self.rank_cas[at] = now + part.nCCD_S
        self.group_cas[bank & part.bank_groups - 1, at] = now + part.nCCD_L
        recovered = now + self.recovered
        closes = self.entries[bank, self.head[bank, at], at] & _CLOSE > 0
        self._closed(bank[closes], at[closes], recovered[closes])
        stays = ~closes
        self.precharge[bank[stays], at[stays]] = np.maximum(
            self.precharge[bank[stays], at[stays]], recovered[stays])
        self._pop(bank, at)

    def _close(self, bank: np.ndarray, at: np.ndarray, now: np.ndarray) -> None:
        self._closed(bank, at, now)
        self._pop(bank, at)

    def _closed(self, bank: np.ndarray, at: np.ndarray, precharged: np.ndarray) -> None:
        legal = np.maximum(precharged + self.part.nRP, self.cycle_end[bank, at])
        self.activate[bank, at] = legal
        self.holdoff[at] = np.maximum(self.holdoff[at], legal)

    def _pop(self, bank: np.ndarray, at: np.ndarray) -> None:
        self.head[bank, at] = (self.head[bank, at] + 1) % _RING
        self.length[bank, at] -= 1
        empty = self.length[bank, at] == 0
        self.step[bank[empty], at[empty]] = _IDLE
        self.own[bank[empty], at[empty]] = _NEVER
        self._look(bank[~empty], at[~empty])
