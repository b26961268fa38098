"""Bounds of tiles wherever they begin, that need not be among the longest of their size.

The same numbers as the bounds of the longest tiles have, under other names: those are to be reached
for every size by tiles that were chosen for it; these hold for all others.
"""

from cyclebound.golden.bound import bound
from cyclebound.golden.dram.bounds import tile_issue_delay
from cyclebound.golden.dram.pipeline_bounds import controller_completion
from cyclebound.golden.dram.timing import Part

__all__ = ["completion_anywhere", "tile_anywhere"]


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
