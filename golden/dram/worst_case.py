"""The longest issue delay of a 1D tile by simulating each alignment, by itself.

The command arbiter's model runs the tile at all alignments that can differ; the paper's WCET tool
does the same with its own model (Sim-D, section 5.3). That takes the square of the tile's bursts:
beyond `SIMULATED` of them, all alignments are followed at once through the arbiter's states
(`tile_search`), which repeat from row to row of all banks, and the model runs the worst one only.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from cyclebound.golden.dram.bounds import check_request
from cyclebound.golden.dram.command_arbiter import schedule
from cyclebound.golden.dram.tile_search import run_delays
from cyclebound.golden.dram.timing import Part, part_named

__all__ = ["LEAD", "SIMULATED", "alignments", "longest_issue_delays", "mean_issue_delay",
           "worst_issue_delay"]

Report = Callable[[int, int], None]

SIMULATED = 512
"""Bursts of the longest tile of which every alignment is simulated: a minute's work."""

LEAD = 3
"""Cycles from a request's first burst into the command generator to choosing its first command."""


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
    device = part_named(part)
    check_request(bursts, 0)
    pair, sweep = 2 * device.bursts_per_row, device.bursts_per_sweep
    for start in range(sweep):
        within = start % pair
        if within > 1 and within + bursts <= pair:
            continue
        if start < pair or start + bursts > sweep:
            yield start


def worst_issue_delay(*, part: str | Part, bursts: int, write: int,
                      report: Report = lambda done, total: None) -> tuple[int, int]:
    """LID of a 1D tile in DRAM clocks, and the first burst of an alignment that reaches it.

    Exact for any part and any number of bursts. The time grows with the square of ``bursts`` up to
    `SIMULATED`: about 20 ms for 16, 4 s for 256; beyond, it is seconds. ``report`` hears how many
    alignments are done, of how many. Raises `NotCovered` for an impossible request, `ValueError`
    for an unknown part, and `AssertionError` if states and model disagree.
    """
    device = part_named(part)
    check_request(bursts, write)
    followed = _followed(device, bursts, write)
    if followed is not None:
        start = int(followed.argmax())
        delay, = _delays(device, [start], bursts, write, report)
        if delay != followed[start]:
            raise AssertionError(f"{bursts} bursts from burst {start} take {followed[start]} "
                                 f"clocks by the arbiter's states, and {delay} by its model")
        return delay, start
    starts = list(alignments(device, bursts))
    delays = _delays(device, starts, bursts, write, report)
    return max(zip(delays, starts, strict=True), key=lambda pair: (pair[0], -pair[1]))


def mean_issue_delay(*, part: str | Part, bursts: int, write: int,
                     report: Report = lambda done, total: None) -> float:
    """Mean LID of a 1D tile in DRAM clocks, over each of all banks' bursts that it may begin at.

    Reports and raises as `worst_issue_delay` does.
    """
    device = part_named(part)
    check_request(bursts, write)
    followed = _followed(device, bursts, write)
    delays = (list(_delays(device, range(device.bursts_per_sweep), bursts, write, report))
              if followed is None else followed)
    return float(sum(delays) / len(delays))


def _followed(part: Part, bursts: int, write: int) -> np.ndarray | None:
    """Issue delays from each first burst of a row of all banks, of a tile that is long."""
    if bursts <= SIMULATED or part.bursts < part.bursts_per_sweep + bursts:
        return None
    return run_delays(part, bursts=bursts, write=bool(write))


def _delays(part: Part, starts: Sequence[int], bursts: int, write: int,
            report: Report) -> Iterator[int]:
    for done, start in enumerate(starts):
        report(done, len(starts))
        yield schedule(part, range(start, start + bursts), write=bool(write)).issue_delay
    report(len(starts), len(starts))


def longest_issue_delays(part: Part, most: int) -> dict[tuple[int, int, int], int]:
    """LID of any request of up to ``most`` bursts, wherever they lie and in whatever order.

    Maps (bursts, write, indexed) to DRAM clocks. By simulation of every sequence of banks and rows
    (columns do not matter to the delay), so for parts and requests of a few only. An issue delay
    is counted from the first command; from the first burst to the first cycle in
    which the next request's may come, it is the same, for both come `LEAD` cycles sooner.
    """
    pair = 2 * part.bursts_per_row
    places = [place + bank for place in range(0, part.bursts, pair) for bank in (0, 1)]
    return {(count, write, indexed): max(
                schedule(part, bursts, write=bool(write), indexed=bool(indexed)).issue_delay
                for bursts in itertools.product(places, repeat=count))
            for count in range(1, most + 1) for write in (0, 1) for indexed in (0, 1)}
