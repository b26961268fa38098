"""Requests index by index whose indexes and active lanes are known (`lane_values`): each is put
through the arbiter's rules, word by word, for every work-group.

The rules are those by which the cycle model times a request, so that the longest delay is that of a
request which the kernel makes. Following takes time for every word: there is a most of them.
"""

from typing import NamedTuple

import numpy as np

from cyclebound.golden.dram.index_bounds import rows_of
from cyclebound.golden.dram.request import WORD_BYTES
from cyclebound.golden.dram.timing import Part
from cyclebound.golden.simd.machine import Grid, Place
from cyclebound.golden.simd.memory_timing import indexed_delay
from cyclebound.golden.simd.program import Buffer
from cyclebound.tools.simd.wcet.graph import Node
from cyclebound.tools.simd.wcet.lane_values import MEM_IDX, Lanes, LaneValues
from cyclebound.tools.simd.wcet.places import Places

__all__ = ["MOST_WORDS", "Followed", "FollowedIndexes"]

MOST_WORDS = 1 << 14  # that are followed of a kernel, if nothing else is asked for


class Followed(NamedTuple):
    """An access's longest ``delay``, in clocks of the DRAM from the earliest cycle in which its
    first command is due; and the most ``lanes`` that are active, and the most ``rows`` between
    whose first and last one a work-group's words lie. None: not known."""

    delay: int | None = None
    lanes: int | None = None
    rows: int | None = None


class FollowedIndexes:
    """The requests of a kernel.

    Parameters
    ----------
    lanes : LaneValues
        What is known of it.
    grid : Grid
        Its work-groups.
    part : Part
        The DRAM.
    most : int
        Words that may be followed.
    """

    def __init__(self, lanes: LaneValues, grid: Grid, part: Part, most: int) -> None:
        self._lanes, self._grid, self._part, self._left = lanes, grid, part, most

    def longest(self, node: Node, buffer: Buffer, places: Places, write: bool) -> Followed:
        """The longest delay of an access over these work-groups, all of one kind."""
        known = self._lanes.before(node)
        if known is None:
            return Followed()
        # As many are off at the grid's edge in all of a kind.
        alike = places.along(self._lanes.offsets(known.ended))
        counts = [int(self._lanes.active(known, place).sum()) for place in alike.each()]
        most = max(counts)
        words = sum(counts) * (places.total // alike.total)
        if MEM_IDX not in known.known or words > self._left:
            return Followed(None, most)
        self._left -= words
        if known.fewer:
            return Followed(None, most, max(self._rows(known, buffer, place)
                                            for place in places.each()))
        return Followed(max(self._delay(known, buffer, place, write) for place in places.each()),
                        most)

    def _words(self, known: Lanes, buffer: Buffer, place: Place) -> tuple[np.ndarray, np.ndarray]:
        """The lanes with an index, and their words of the buffer."""
        lanes = np.flatnonzero(self._lanes.active(known, place))
        indexes = self._lanes.value(known.known[MEM_IDX], place)[lanes]
        legal = indexes < buffer.words  # any other stops the kernel
        return lanes[legal], indexes[legal]

    def _rows(self, known: Lanes, buffer: Buffer, place: Place) -> int:
        """Rows from a work-group's first word to its last one, whichever lanes take part."""
        _, indexes = self._words(known, buffer, place)
        if not len(indexes):
            return 1
        first, last = int(indexes.min()), int(indexes.max())
        return rows_of(part=self._part, address=buffer.address // WORD_BYTES + first,
                       words=last - first + 1)

    def _delay(self, known: Lanes, buffer: Buffer, place: Place, write: bool) -> int:
        lanes, indexes = self._words(known, buffer, place)
        if not len(lanes):
            return 0
        return sum(indexed_delay(
            self._part, lanes, buffer.address // WORD_BYTES + indexes.astype(np.int64),
            self._grid.machine.items, write=write))
