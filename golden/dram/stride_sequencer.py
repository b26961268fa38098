"""Golden model of the stride sequencer: the bursts of a tile, found by laying out its words.

Ref: Sim-D, section 3.2.1 and Figure 3.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np

from cyclebound.golden.dram.request import BURST_WORDS, TARGET_BITS, Burst, Destination, TileRequest

__all__ = ["START", "StrideSequencerModel", "StrideSequencerOutputs", "bursts_of"]

START = 8
"""Cycles from a tile to its first burst, both included."""


def bursts_of(tile: TileRequest) -> list[Burst]:
    """The bursts that hold a word of ``tile``, in ascending order, each once.

    Every word is placed in its burst by address, and given its target by line and column. The
    words of a burst that are no part of the tile have the target 0; for the CAM, where ``pitch`` is
    ``period``, they continue their neighbours' as they do in the buffer.
    """
    line, column = (index.ravel() for index in np.indices((tile.count, tile.words), dtype=np.int64))
    words = tile.address + line * tile.period + column
    assert tile.pitch is not None  # a request without one has made it up
    targets = tile.base + line * tile.pitch + column
    # Lines do not overlap, so that addresses ascend in line and column.
    numbers, firsts = np.unique(words // BURST_WORDS, return_index=True)
    bursts = []
    for number, first, end in zip(numbers, firsts, [*firsts[1:], len(words)], strict=True):
        lanes = words[first:end] % BURST_WORDS
        if tile.destination is Destination.CAM:
            of_lane = int(targets[first] - lanes[0]) + np.arange(BURST_WORDS)
        else:
            of_lane = np.zeros(BURST_WORDS, dtype=np.int64)
            of_lane[lanes] = targets[first:end]
        bursts.append(Burst(
            address=int(number), mask=sum(1 << int(lane) for lane in lanes),
            targets=tuple((of_lane % (1 << TARGET_BITS)).tolist()), write=tile.write,
            destination=tile.destination, transform=tile.transform,
            last=bool(end == len(words))))
    return bursts


@dataclass(frozen=True)
class StrideSequencerOutputs:
    """Outputs of the sequencer in one cycle: ``burst`` is None where none is on offer."""

    ready: bool
    burst: Burst | None
    busy: bool


class StrideSequencerModel:
    """The sequencer, one call per cycle: a tile at a time, `START` cycles, then a burst in each."""

    def __init__(self) -> None:
        self._bursts: deque[Burst] = deque()  # of the tile under way, not taken yet
        self._wait = 0

    def step(self, tile: TileRequest | None, ready: bool) -> StrideSequencerOutputs:
        """One cycle in which ``tile`` is on offer, and a burst is taken if ``ready``."""
        busy = bool(self._bursts)
        offered = self._bursts[0] if busy and self._wait == 0 else None
        if not busy and tile is not None:
            self._bursts, self._wait = deque(bursts_of(tile)), START - 2
        elif self._wait:
            self._wait -= 1
        elif offered is not None and ready:
            self._bursts.popleft()
        return StrideSequencerOutputs(ready=not busy, burst=offered, busy=busy)
