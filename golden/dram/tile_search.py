"""The longest issue delay of a tile, by following it from every word at which it can begin."""

import contextlib
import contextvars
import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from cyclebound.golden.dram.request import BURST_WORDS
from cyclebound.golden.dram.tile_lanes import Lines, issue_delays
from cyclebound.golden.dram.tile_states import TileStates, tile_states
from cyclebound.golden.dram.timing import Part

__all__ = ["Longest", "effort", "first_words", "longest_lines", "longest_run", "progress",
           "run_delays"]


@dataclass(frozen=True)
class Longest:
    """The longest issue delay of a kind of tile in clocks, and a word from which it takes that."""

    delay: int
    address: int


@functools.lru_cache(maxsize=4096)
def longest_run(part: Part, *, bursts: int, write: bool) -> Longest | None:
    """The slowest tile of ``bursts`` bursts in sequence; None if the part has fewer bursts."""
    delays = run_delays(part, bursts=bursts, write=write)
    if not len(delays):
        return None
    worst = int(delays.argmax())
    return Longest(int(delays[worst]), BURST_WORDS * worst)


def run_delays(part: Part, *, bursts: int, write: bool, firsts: np.ndarray | None = None
               ) -> np.ndarray:
    """Issue delays of tiles of ``bursts`` bursts, from each of ``firsts``, which are first bursts
    in a row of all banks; by default from all that the part has room for.

    All first bursts of a row of all banks are followed at once, through `TileStates`; in another
    row, all would be the same.
    """
    if firsts is None:
        firsts = np.arange(min(part.bursts_per_sweep, max(0, part.bursts - bursts + 1)))
    if not len(firsts):
        return np.zeros(0, dtype=np.int64)
    run = _Runs(tile_states(part, write=write), firsts)
    run.extend(bursts - 1)
    return run.delays()


class _Runs:
    """Runs of bursts from different first ones. The burst in hand is pushed with the next one,
    which says whether its visit ends."""

    def __init__(self, states: TileStates, firsts: np.ndarray) -> None:
        self._known, self._part = states, states.part
        self._pair = 2 * states.part.bursts_per_row
        self.states = np.full(len(firsts), TileStates.FIRST, dtype=np.int64)
        self.time = np.zeros(len(firsts), dtype=np.int64)
        self.burst = firsts.astype(np.int64)
        self.begins = np.ones(len(firsts), dtype=np.int64)

    def _push(self, ends: np.ndarray | int) -> None:
        banks = self._part.banks
        bank = 2 * (self.burst // self._pair % (banks // 2)) + self.burst % 2
        self.states, took = self._known.step(
            self.states, 2 * bank + ends + 2 * banks * self.begins)
        self.time = self.time + took

    def extend(self, count: int) -> None:
        """Push ``count`` bursts.

        When all runs are in the states they were in a row of all banks before, they repeat: each
        further row of all banks takes each of them as long as this one did.
        """
        sweep = self._part.bursts_per_sweep
        done, before = 0, None
        while done < count:
            if done % sweep == 0 and count - done >= sweep:
                if before is not None and np.array_equal(before[0], self.states):
                    rows = (count - done) // sweep
                    self.time = self.time + rows * (self.time - before[1])
                    self.burst = self.burst + rows * sweep
                    done += rows * sweep
                    continue
                before = self.states, self.time
            ends = ((self.burst + 1) % self._pair == 0).astype(np.int64)
            self._push(ends)
            self.burst, self.begins = self.burst + 1, ends
            done += 1

    def delays(self) -> np.ndarray:
        """Issue delays, if the bursts in hand are the last ones."""
        self._push(1)
        return self.time + self._known.holdoff(self.states)


Report = Callable[[str, int, int], None]
_REPORT: contextvars.ContextVar[Report] = contextvars.ContextVar(
    "report", default=lambda step, done, total: None)


@contextlib.contextmanager
def progress(report: Report) -> Iterator[None]:
    """Within this context, `longest_lines` reports its progress: ``report(step, done, total)``.

    It may take minutes, and a bound that calls it knows nothing but parameters of a request.
    """
    token = _REPORT.set(report)
    try:
        yield
    finally:
        _REPORT.reset(token)


@functools.lru_cache(maxsize=4096)
def longest_lines(part: Part, *, words: int, period: int, count: int, write: bool
                  ) -> Longest | None:
    """The slowest tile of ``count`` lines of ``words`` words, ``period`` words apart.

    None if the part has no room for one. From all of `first_words`, all at once.
    """
    lines = Lines(words, period, count)
    first = first_words(part, lines)
    if not len(first):
        return None
    delays = issue_delays(part, lines, first, write=write, report=_REPORT.get())
    worst = int(delays.argmax())
    return Longest(int(delays[worst]), int(first[worst]))


def effort(part: Part, lines: Lines) -> int:
    """Bursts that `longest_lines` follows at most, those of all alignments together."""
    unit = math.gcd(lines.period, BURST_WORDS)
    alignments = part.bursts_per_sweep * BURST_WORDS // unit * (1 if unit == 1 else 2)
    return _most_bursts(lines) * alignments


def _most_bursts(lines: Lines) -> int:
    """No tile of these lines touches more."""
    return min(lines.count * (2 + (lines.words - 1) // BURST_WORDS),
               2 + ((lines.count - 1) * lines.period + lines.words) // BURST_WORDS)


def first_words(part: Part, lines: Lines) -> np.ndarray:
    """First words that stand for all others: any such tile has the delay of one of these.

    - Rows do not matter, so each lies in the first row of all banks.
    - With ``unit`` the greatest common divisor of the period and a burst's words, all lines of a
      tile begin at the same word of a unit. That word decides nothing but whether it and ``words -
      1`` fill a unit more, in any line.
    - Tiles whose bursts are in the same banks, with visits that begin and end at the same ones,
      are one. So are tiles that are so but for the pair of banks in which they begin, if neither
      runs over the last bank: all comparisons of distances from the current pair come out alike.
    """
    unit = math.gcd(lines.period, BURST_WORDS)
    more = (lines.words - 1) % unit
    units = part.bursts_per_sweep * BURST_WORDS // unit
    span = (lines.count - 1) * lines.period + lines.words
    first = np.concatenate([unit * np.arange(units, dtype=np.int64) + word
                            for word in ([0, unit - more] if more else [0])])
    first = first[first + span <= part.bursts * BURST_WORDS]
    pair, pairs = 2 * part.bursts_per_row, part.banks // 2
    burst = first // BURST_WORDS
    visit = burst // pair
    offset = np.where(first + span <= part.bursts_per_sweep * BURST_WORDS, visit, 0)
    kind, kinds = np.zeros(len(first), dtype=np.int64), 1  # equal for the tiles that are one so far
    most, number = _most_bursts(lines), 0
    while kinds < len(first) and (burst >= 0).any():
        _REPORT.get()("bursts compared", number, most)
        number += 1
        after = lines.following(first, burst)
        then = np.where(after < 0, 0, 1 + (after // pair != visit))  # the last one; stays; leaves
        bank = (visit - offset) % pairs * 2 + burst % 2
        value = np.where(burst < 0, 0, 1 + 3 * bank + then)
        kind = np.unique(kind * (6 * pairs + 1) + value, return_inverse=True)[1]
        kinds = int(kind.max(initial=-1)) + 1
        burst = np.where(burst < 0, burst, after)
        visit = burst // pair
    return first[np.unique(kind, return_index=True)[1]] if kinds < len(first) else first
