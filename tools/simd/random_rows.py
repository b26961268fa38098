"""Requests over many rows of the banks for random kernels: index by index, with indexes that are
data or follow from a work-item's place, and snoopy ones of long lines.

Part of the random kernels (`random_kernels`). The words that these accesses load are any; what they
store, nothing reads. Indexes by data come from a buffer of their own, whose content `far_words`
makes: words of one bank by turns, in other rows each time, take longest.
"""

import random

import numpy as np

from cyclebound.golden.dram.request import BURST_WORDS
from cyclebound.golden.dram.timing import Part
from cyclebound.golden.simd.machine import Grid

__all__ = ["FAR", "FAR_STORED", "PICKS", "Rows", "far_words"]

FAR, FAR_STORED, PICKS = range(8, 11)
"""Buffers of DRAM: what is loaded, what is stored, and indexes into either, one for each item."""

_PAIR = 2048         # words of a row of two banks, through which bursts go by turns
_SWEEP = 4 * _PAIR   # words of a row of eight banks
_FIRST, _APART = 0x10_0000, 0x10_0000  # bytes: where these buffers begin, and from one to the next
_TIMES = (1, 1, 2, 4)
_SPARE, _LOADED = "v8", "v9"  # vector registers that only the writer uses


class Rows:
    """Buffers of many rows, and accesses to them.

    Parameters
    ----------
    rng : random.Random
        Where choices come from.
    grid : Grid
        The kernel's.
    snoopy : bool
        Some accesses go past the CAMs.
    """

    def __init__(self, rng: random.Random, grid: Grid, snoopy: bool) -> None:
        self._rng, self._grid, self._snoopy = rng, grid, snoopy
        # the first word after the beginning of a pair's row, and how many there are
        self._begin = rng.choice((0, 0, 8, _PAIR - 16, _PAIR - 8, rng.randrange(_PAIR)))
        whole = _PAIR * rng.choice((1, 2, 3, 4, 5, 7, 8, 9))
        self._words = whole + rng.choice((0, 0, 1, 8, 9, 16, -1, -_PAIR // 2))

    def data(self) -> list[str]:
        """The buffers' lines of ``.data``."""
        x, y, late = self._grid.x, self._grid.y, 4 * self._begin
        return [f"{FAR} {_FIRST + late:#x} {self._words} 1",
                f"{FAR_STORED} {_FIRST + _APART + late:#x} {self._words} 1",
                f"{PICKS} {_FIRST + 2 * _APART:#x} {x} {y}"]

    def before(self) -> tuple[str, ...]:
        """Accesses for a kernel's beginning, where lanes and their places are known, and some lanes
        may have left by data; often none."""
        rng = self._rng
        if rng.random() < 0.5:
            return ()
        leave = (f"ldglin {_SPARE}, {PICKS}", f"itest.l p0, {_SPARE}", "exit p0")
        return (*leave * (rng.random() < 0.5), *self._placed(), *self._requests())

    def access(self) -> tuple[str, ...]:
        """One access, or several alike."""
        kind = self._rng.choice(("data", "data", "place") + ("stream",) * self._snoopy)
        if kind == "stream":
            return self._stream()
        indexes = self._placed() if kind == "place" else (
            f"ldglin {_SPARE}, {PICKS}", f"movvsp vc.mem_idx, {_SPARE}")
        return (*indexes, *self._requests())

    def _requests(self) -> tuple[str, ...]:
        text = self._rng.choice((f"ldgidxit {_LOADED}, {FAR}", f"stgidxit {_LOADED}, {FAR_STORED}"))
        return (text,) * self._rng.choice(_TIMES)

    def _placed(self) -> tuple[str, ...]:
        """Indexes that follow from a lane's place: every so many words, or of a few words by turns.
        """
        rng = self._rng
        few = rng.choice((1, 3, 7, 63))
        stride = rng.choice((_SWEEP, _SWEEP, 2 * _SWEEP, _PAIR, BURST_WORDS, 1,
                             rng.randrange(_PAIR)))
        return (f"mov {_SPARE}, vc.lid_{rng.choice('xxy')}", f"and {_SPARE}, {_SPARE}, {few}",
                f"imul {_SPARE}, {_SPARE}, {stride}",
                f"imin {_SPARE}, {_SPARE}, {self._words - 1}", f"movvsp vc.mem_idx, {_SPARE}")

    def _stream(self) -> tuple[str, ...]:
        """A long line of the buffer, past the CAMs."""
        rng = self._rng
        words = rng.choice((1, rng.randint(1, min(self._words, 40)),
                            rng.randint(1, min(self._words, 3 * _PAIR))))
        return (f"smovssp sc.sd_words, {words}", f"smovssp sc.sd_period, {words}",
                "smovssp sc.sd_period_cnt, 1", f"movvsp vc.mem_idx, {_SPARE}",
                f"ldgcidx {FAR}, {rng.randint(0, self._words - words)}, 0")


def far_words(rng: np.random.Generator, shape: tuple[int, ...], words: int, part: Part
              ) -> np.ndarray:
    """Indexes below ``words``, for items in ``shape``: mostly words of one bank by turns in other
    rows of it, else of one bank after the other, or any."""
    count = int(np.prod(shape))
    items, sweep = np.arange(count), part.bursts_per_sweep * BURST_WORDS
    kind = rng.integers(4)
    if kind == 0:
        found = rng.integers(0, words, count)
    elif kind < 3 and words > sweep:  # two words or more of a bank
        first = int(rng.choice((0, words - sweep - 1, int(rng.integers(words - sweep)))))
        found = first + items % (1 + (words - 1 - first) // sweep) * sweep
    else:
        step = 2 * part.bursts_per_row * BURST_WORDS
        found = items * step % words + items // max(1, words // step) % 2 * BURST_WORDS
    return np.minimum(found, words - 1).astype(np.uint32).reshape(shape)
