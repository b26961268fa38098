"""Bounds of tiles wherever they begin, that need not be among the longest of their size.

The same numbers as the bounds of the longest tiles have, under other names: those are to be reached
for every size by tiles that were chosen for it; these hold for all others.
"""

from cyclebound.golden.bound import bound
from cyclebound.golden.dram.bounds import tile_2d_issue_delay, tile_issue_delay
from cyclebound.golden.dram.pipeline_bounds import controller_completion, controller_completion_2d
from cyclebound.golden.dram.timing import Part

__all__ = ["completion_2d_anywhere", "completion_anywhere", "tile_2d_anywhere", "tile_anywhere"]


@bound(formula="tile_issue_delay(b)", source="this project")
def tile_anywhere(*, part: str | Part, bursts: int, write: int) -> int:
    """Issue delay of a 1D tile of ``bursts`` bursts, in clocks, at an alignment that may be any.

    `tile_issue_delay` is the worst of all alignments, and so not less than that of this one.
    """
    return tile_issue_delay.function(part=part, bursts=bursts, write=write)


@bound(formula="17 + tile_issue_delay(b)", source="this project")
def completion_anywhere(*, part: str | Part, bursts: int, write: int) -> int:
    """Cycles from taking a request of such a tile to its completion: `controller_completion`."""
    return controller_completion.function(part=part, bursts=bursts, write=write)


@bound(formula="tile_2d_issue_delay(words, period, count)", source="this project")
def tile_2d_anywhere(*, part: str | Part, words: int, period: int, count: int, write: int) -> int:
    """Issue delay of a 2D tile in clocks, from a word that may be any: `tile_2d_issue_delay`."""
    return tile_2d_issue_delay.function(part=part, words=words, period=period, count=count,
                                        write=write)


@bound(formula="17 + tile_2d_issue_delay(words, period, count)", source="this project")
def completion_2d_anywhere(*, part: str | Part, words: int, period: int, count: int, write: int
                           ) -> int:
    """Cycles from taking a request of such a tile to its completion: `controller_completion_2d`."""
    return controller_completion_2d.function(part=part, words=words, period=period, count=count,
                                             write=write)
