"""The longest issue delays of many tiles, each by the arbiter's rules.

A tile's delay depends on its shape, on where in a row of all banks it begins, and on nothing else.
Tiles of one shape are followed together (`golden.dram.tile_lanes`), so all of them are asked for
before the first is answered.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable

import numpy as np

from cyclebound.golden.dram.command_arbiter import schedule
from cyclebound.golden.dram.request import BURST_WORDS, TileRequest
from cyclebound.golden.dram.stride_sequencer import bursts_of
from cyclebound.golden.dram.tile_lanes import Lines, issue_delays
from cyclebound.golden.dram.tile_search import run_delays
from cyclebound.golden.dram.timing import Part

__all__ = ["MOST_SHAPES", "Asked", "Tile", "TileDelays"]

MOST_SHAPES = 1024  # shapes of one access that are followed
_LANES = 512        # bursts of a 1D tile that are followed in lanes; longer ones, state by state
_EACH = 600         # bursts up to which tiles are followed one by one, and not in lanes

Tile = tuple[int, int, int, int]
"""First word, words of a line, words from line to line, lines."""

_Shape = tuple[int, int, int, bool]
Asked = tuple[tuple[_Shape, int], ...]
"""An access's runs of bursts, by shape and first word: one, or one for each line; none for an
access that moves nothing."""

_FOLLOWED: dict[tuple[Part, _Shape], dict[int, int]] = {}


class TileDelays:
    """Delays of one part's tiles, each of which waits ``wait`` clocks at most for other clients."""

    def __init__(self, part: Part, wait: int = 0) -> None:
        self._part, self.wait = part, wait
        self._asked: dict[_Shape, set[int]] = defaultdict(set)

    def ask(self, tiles: Iterable[Tile], write: bool, split: Callable[[Tile], bool]) -> list[Asked]:
        """Note tiles, those that are ``split`` line by line; returns how to look them up."""
        found: set[Asked] = set()
        for tile in tiles:
            first, words, period, count = tile
            if words < 1 or count < 1:
                found.add(())
            elif split(tile):
                found.add(tuple(self._run(first + line * period, words, write)
                                for line in range(count)))
            elif count == 1 or words == period:
                found.add((self._run(first, words * count, write),))
            else:
                span = (count - 1) * period + words
                found.add((((words, period, count, write), self._moved(first, span)),))
        for runs in found:
            for shape, first in runs:
                self._asked[shape].add(first)
        return list(found)

    def _run(self, first: int, words: int, write: bool) -> tuple[_Shape, int]:
        """Words that follow each other: to the arbiter, a run of whole bursts."""
        begin = first - first % BURST_WORDS
        run = -(-(first + words - begin) // BURST_WORDS) * BURST_WORDS
        return (run, run, 1, write), self._moved(begin, run)

    def ends(self, asked: Iterable[Asked]) -> tuple[int, int]:
        """The shortest and the longest delay of accesses that were asked for; 0 for none. A wait
        is part of the longest, also of an access that is refused."""
        for shape, firsts in self._asked.items():
            known = _FOLLOWED.setdefault((self._part, shape), {})
            missing = sorted(firsts - known.keys())
            if missing:
                known.update(zip(missing, self._follow(*shape, missing), strict=True))
        self._asked.clear()
        delays = [(sum(_FOLLOWED[self._part, shape][first] for shape, first in runs),
                   self.wait * max(1, len(runs))) for runs in asked] or [(0, self.wait)]
        return min(delays)[0], max(map(sum, delays))

    def _moved(self, first: int, span: int) -> int:
        """A first word with the same delay: rows do not matter, nor in which pair of banks a tile
        begins that does not run over the last bank (`tile_search.first_words`)."""
        sweep, pair = (BURST_WORDS * bursts for bursts in (self._part.bursts_per_sweep,
                                                           2 * self._part.bursts_per_row))
        first %= sweep
        return first % pair if first + span <= sweep else first

    def _follow(self, words: int, period: int, count: int, write: bool, firsts: list[int]
                ) -> list[int]:
        bursts = count * (words // BURST_WORDS + 1)
        if count == 1 and bursts > _LANES:
            return run_delays(self._part, bursts=words // BURST_WORDS, write=write,
                              firsts=np.array(firsts) // BURST_WORDS).tolist()
        if bursts * len(firsts) <= _EACH:
            return [schedule(self._part, [each.address for each in bursts_of(
                TileRequest(first, words, period, count))], write=write).issue_delay
                for first in firsts]
        return issue_delays(self._part, Lines(words, period, count),
                            np.array(firsts, dtype=np.int64), write=write).tolist()
