"""A dataflow core on the DRAM of a tiled system: its lines' times, and the bound of its jobs.

A line of the core's cache is a burst. One line moves at a time: its request is on offer in the
cycle after it was taken, and the next line's is taken in the cycle after its completion.

**A job.** The core's own analysis holds above any memory that takes each line's request within a
``turn`` and has a read's line within a ``latency`` (`golden.dataflow.fabric_bounds`): those of a
line that waits for a request of each other client, or for its window, and for no refresh.

**Refreshes.** Leave out of the clock the cycles in which a refresh holds up a line, nRFC at most
for each refresh. By this clock each line is in time, and every other step takes as long as it did,
or less. The analysis adds up such times and counts of accesses, lines and threads, which no
stretch of time changes; so it holds by this clock, and all refreshes of a job cost nRFC each. In
windows, the wait has room for a refresh.

How many: one that falls due after the grant of the request before the job may wait for that one's
end, FRONT and its issue delay L later, at the job's start. One that falls due after the grant of
the job's own last request waits for the end of that one, which is FRONT and its issue delay before
the job's at least, and costs the job nothing. So those that cost it fall due in a stretch of time
that is longer than the job by L at most: FRONT is in it at one end and not at the other.

Ref: SGMF, section 5, for the core; this project for the bound.
"""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from cyclebound.golden.bound import Range, bound
from cyclebound.golden.dataflow.cache_policies import CacheShape
from cyclebound.golden.dataflow.core import core_times
from cyclebound.golden.dataflow.fabric_bounds import (
    Depth,
    Flush,
    Lost,
    Threads,
    core_completion,
)
from cyclebound.golden.dataflow.fabric_bounds import Part as Cycles
from cyclebound.golden.dataflow.mapped import Mapped
from cyclebound.golden.dataflow.run import Layout
from cyclebound.golden.dram.bounds import tile_issue_delay
from cyclebound.golden.dram.client_bounds import FRONT, client_grant
from cyclebound.golden.dram.request import BURST_WORDS
from cyclebound.golden.dram.timing import Part
from cyclebound.golden.system.tiled import Before, sharing_of
from cyclebound.golden.systolic.dram_memory import Sharing

__all__ = ["FABRIC", "LineTimes", "cache_shape", "fabric_job", "fabric_times", "line_times",
           "line_transfer", "longest_line"]

FABRIC = {"rows": ("SLLL", "SCKL", "LLLT"), "depth": 4, "tid_width": 8, "address_width": 12,
          "size": 512, "banks": 1, "ways": 4, "misses": 2, "targets": 4, "policy": "write-back",
          "replacement": "lru"}
"""Parameters of a small core: a fabric of 3 x 4 units above a cache of 32 lines."""

_TAKEN = 1  # cycle in which a line's request is taken; it is on offer in the next

Other = Annotated[int, Range(0, says="the SIMD accelerator's longest issue delay; 0: it is silent")]
Array = Annotated[int, Range(0, says="the systolic accelerator's longest issue delay; 0: it is "
                             "silent")]
Period = Annotated[int, Range(0, says="cycles of all windows; 0: turns")]


class LineTimes(NamedTuple):
    """Cycles until a line's request is taken, and from then to a read's line, at most."""

    turn: int
    latency: int


def cache_shape(**fabric: Any) -> CacheShape:
    """The cache of a core with these parameters, whose lines are bursts."""
    return CacheShape(line=BURST_WORDS, **{name: fabric[name]
                                           for name in CacheShape.__dataclass_fields__
                                           if name != "line"})


def longest_line(part: Part | str) -> int:
    """The longest issue delay of a line. Raises `ValueError` for an unknown part."""
    return max(tile_issue_delay(part=part, bursts=1, write=write) for write in (0, 1))


def _completed(sharing: Sharing, write: int) -> int:
    """Cycles from taking a line's request to its completion, both included; no refresh."""
    delay = tile_issue_delay(part=sharing.part, bursts=1, write=write)
    return _TAKEN + 1 + sharing.wait + FRONT + delay


def line_times(part: Part | str, *, others: Sequence[int], period: int = 0) -> LineTimes:
    """Of a core beside clients whose longest requests are ``others``, without refreshes.

    A request waits for the line before it, and is taken in the cycle after that one's completion;
    a read's line comes in the cycle after its own. Raises `NotCovered` for an impossible count,
    `ValueError` for an unknown part.
    """
    sharing = sharing_of(part, others, period)
    read, write = (_completed(sharing, write) for write in (0, 1))
    return LineTimes(max(read, write), read + 1)


def fabric_times(mapped: Mapped, layout: Layout, *, threads: int, part: Part | str,
                 others: Sequence[int], period: int = 0, **fabric: Any) -> dict[str, int]:
    """What `fabric_job` needs to know of a configuration on such a core. As `line_times`."""
    times = line_times(part, others=others, period=period)
    return {**core_times(mapped, layout, threads=threads, depth=fabric["depth"],
                         shape=cache_shape(**fabric), turn=times.turn, latency=times.latency,
                         serial=True),
            "entries": fabric["depth"]}


@bound(formula="1 + client_tile_refreshed; in windows, of a request with room for a refresh",
       source="this project",
       environment="the other clients have no longer requests, in any cycle; refreshes fall due, "
                   "and buffers are mapped, in any cycle; the buffer begins at a burst")
def line_transfer(*, part: str, other: Other, array: Array, period: Period) -> int:
    """Cycles from taking a line's request to its completion, both included.

    Its request is on offer in the next cycle, as the completion of the line before is seen by
    then; so it is a tile of one burst from there (`client_tile_refreshed`), whichever direction
    takes longer.
    """
    sharing = sharing_of(part, (other, array), period)
    cycles = line_times(part, others=(other, array), period=period).turn
    if period:
        return cycles
    return cycles - sharing.wait + client_grant(
        part=sharing.part, others=sharing.others, own=longest_line(part), mappings=True)


@bound(formula="core_completion + turn - 1; ceil((L + cycles) / (nREFI - nRFC)) * nRFC more",
       source="this project, from SGMF, sections 4.1, 4.6, 5.1 and 5.3",
       environment="the other clients have no longer requests, in any cycle; refreshes fall due, "
                   "and buffers are mapped, in any cycle; the buffer begins at a burst; the cache "
                   "is empty at the start")
def fabric_job(*, part: str, threads: Threads, entries: Depth, fill: Cycles, interval: Cycles,
               rest: Cycles, lost: Lost, flush: Flush, other: Other, array: Array,
               period: Period, before: Before) -> int:
    """DRAM clocks from a dataflow core's start to the last in which it is not idle: all that its
    threads have stored is in DRAM.

    The core is done when its last line has been taken (`core_completion`, above a memory as of
    `line_times`), which is in DRAM a turn later. See the module's docstring for refreshes: they may
    fall due from the last grant before the job, a longest request L earlier, to its end.
    """
    sharing = sharing_of(part, (other, array), period)
    cycles = core_completion(threads=threads, depth=entries, fill=fill, interval=interval,
                             rest=rest, lost=lost, flush=flush) + line_times(
        part, others=(other, array), period=period).turn - 1
    return sharing.refreshed(cycles, cycles + max(longest_line(part), other, array, before))
