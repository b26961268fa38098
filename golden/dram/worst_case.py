"""The longest issue delay of a 1D tile by simulation, for parts that no closed formula covers.

The command arbiter's model runs the tile at all alignments that can differ; the paper's WCET tool
does the same with its own model (Sim-D, section 5.3).
"""

from collections.abc import Iterator

from cyclebound.golden.dram.bounds import check_request
from cyclebound.golden.dram.command_arbiter import schedule
from cyclebound.golden.dram.timing import Part, part_named

__all__ = ["alignments", "worst_issue_delay"]


def alignments(part: str | Part, bursts: int) -> Iterator[int]:
    """First bursts that stand for all others: any tile has the delay of one that starts here.

    Columns do not matter to the delay, nor does the row that a tile starts in. What matters:

    - Where the tile leaves its first pair of banks. Each start from which it does so is tried; of
      those from which it does not, one with each of the pair's two banks first.
    - Which pair it starts in, but only if it runs over the last bank: else, shifting a tile by a
      pair shifts every bank number in its schedule, and all comparisons between distances from
      the current pair (rules 2 and 5) come out as before. So besides the first pair only those
      starts are tried from which the tile comes back to bank 0.
    """
    known = part_named(part)
    check_request(bursts, 0)
    pair, sweep = 2 * known.bursts_per_row, known.bursts_per_sweep
    for start in range(sweep):
        within = start % pair
        if within > 1 and within + bursts <= pair:
            continue
        if start < pair or start + bursts > sweep:
            yield start


def worst_issue_delay(*, part: str | Part, bursts: int, write: int) -> tuple[int, int]:
    """LID of a 1D tile in DRAM clocks, and the first burst of an alignment that reaches it.

    Exact for any part and any number of bursts. The time grows with the square of ``bursts``: about
    20 ms for 16, 4 s for 256. Raises `NotCovered` for an impossible request, and
    `ValueError` for an unknown part.
    """
    known = part_named(part)
    check_request(bursts, write)
    delays = ((schedule(known, range(start, start + bursts), write=bool(write)).issue_delay, start)
              for start in alignments(known, bursts))
    return max(delays, key=lambda found: (found[0], -found[1]))
