"""Golden model of an SGMF processor: cores above a second level that they share, each with a range
of the threads (SGMF, sections 4.6, 5 and 7.2)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cyclebound.golden.dataflow.cache import LineAnswer, LineRequest
from cyclebound.golden.dataflow.cache_policies import CacheShape
from cyclebound.golden.dataflow.core import CoreModel, CoreResult, core_times, lines_stored
from cyclebound.golden.dataflow.fabric_bounds import core_completion, processor_completion
from cyclebound.golden.dataflow.grid import Grid
from cyclebound.golden.dataflow.l2 import L2Model
from cyclebound.golden.dataflow.l2_bounds import l2_flush, l2_served, l2_taken
from cyclebound.golden.dataflow.line_cache_bounds import line_hit
from cyclebound.golden.dataflow.line_memory import LineMemoryModel
from cyclebound.golden.dataflow.mapped import Mapped
from cyclebound.golden.dataflow.persistence import (
    cycles_lost,
    line_traffic,
    lines_accessed,
    shared_traffic,
)
from cyclebound.golden.dataflow.run import Layout

__all__ = ["ProcessorModel", "ProcessorResult", "processor_times", "ranges", "run_processor"]


def ranges(threads: int, *, cores: int, share: int) -> list[tuple[int, int]]:
    """By core, its first thread and how many it has: ``share`` each, the last ones fewer or none.

    Raises `ValueError` if that is not enough for all threads.
    """
    if threads > cores * share:
        raise ValueError(f"threads must be {cores * share} at most, {share} for each of {cores} "
                         f"cores, not {threads}")
    return [(first, max(0, min(share, threads - first)))
            for first in range(0, cores * share, share)]


@dataclass(frozen=True)
class ProcessorResult:
    """One cycle: each core's reports, and whether all is done, in memory too."""

    cores: tuple[CoreResult, ...]
    done: bool


class ProcessorModel:
    """Cores, a second level and its channels; in each cycle `line_requests`, then `step`.

    Parameters
    ----------
    grid : Grid
        Of each core.
    cores, depth : int
        How many; entries of all buffers.
    shape, shared : CacheShape
        Of a core's cache, and of the second level.
    channels : int
        Memories below.
    """

    def __init__(self, grid: Grid, *, cores: int, depth: int, shape: CacheShape,
                 shared: CacheShape, channels: int) -> None:
        self.cores = [CoreModel(grid, depth=depth, shape=shape) for _ in range(cores)]
        self.l2 = L2Model(ports=cores, shape=shared, channels=channels)
        self.channels = channels

    def configure(self, mapped: Mapped, layout: Layout, *, threads: int, share: int) -> None:
        """Load a configuration into all cores, each with its range. Nothing may be under way.

        Raises `ValueError` for more threads than all cores together have a share for.
        """
        for core, (first, count) in zip(self.cores, ranges(
                threads, cores=len(self.cores), share=share), strict=True):
            core.configure(mapped.configuration(count, layout.buffers, first=first))
        self.l2.advance([None] * len(self.cores), lines_taken=[False] * self.channels,
                        lines=[None] * self.channels)  # a flush has ended

    def line_requests(self) -> list[LineRequest | None]:
        """What is asked of each memory below in this cycle."""
        return self.l2.line_requests()

    def step(self, *, start: bool, lines_taken: Sequence[bool],
             lines: Sequence[LineAnswer | None]) -> ProcessorResult:
        """End the cycle; `configure` comes before the first."""
        flush = all(core.done for core in self.cores)
        responses, done = self.l2.responses(), self.l2.flushed(flush)
        taken = self.l2.advance([core.line_request() for core in self.cores],
                                lines_taken=lines_taken, lines=lines, flush=flush)
        return ProcessorResult(tuple(
            core.step(start=start, line_taken=took, line=line)
            for core, took, line in zip(self.cores, taken, responses, strict=True)), done)


def run_processor(processor: ProcessorModel, memories: Sequence[LineMemoryModel], mapped: Mapped,
                  layout: Layout, *, threads: int, share: int, limit: int = 1_000_000,
                  see: Callable[[ProcessorResult], None] = lambda result: None) -> int:
    """Run one configuration; the memories' words are changed in place. Returns the cycles from the
    start to ``done``, both included.

    ``see`` is told what each cycle shows. Raises `RuntimeError` after ``limit`` cycles.
    """
    processor.configure(mapped, layout, threads=threads, share=share)
    for cycle in range(limit):
        takes = [memory.takes(asked) for memory, asked in zip(
            memories, processor.line_requests(), strict=True)]
        result = processor.step(start=cycle == 0, lines_taken=takes,
                                lines=[memory.answer() for memory in memories])
        for memory, took in zip(memories, takes, strict=True):
            memory.step(took)
        see(result)
        if result.done:
            return cycle + 1
    raise RuntimeError(f"threads were still under way after {limit} cycles")


def processor_times(mapped: Mapped, layout: Layout, *, threads: int, share: int, cores: int,
                    depth: int, shape: CacheShape, shared: CacheShape, channels: int, turn: int,
                    latency: int, busy: int | None = None) -> dict[str, int]:
    """What `golden.dataflow.fabric_bounds.processor_completion` needs to know of a configuration.

    Either the second level is, for each core, a memory that takes a request within `l2_taken` and
    has its line within `l2_served`, whatever the other cores with threads do. Or it is one of which
    all hit, and ``lost`` has the cycles that the misses of all cores cost there, too. Whichever is
    less, of the core that may take longest. ``busy``: what a request adds at most to the cycles in
    which a memory below has one, or one is on offer there, if that is known to be less than
    ``turn`` and ``latency``. Raises `ValueError` as `ranges` does.
    """
    parts = [part for part in ranges(threads, cores=cores, share=share) if part[1]]
    below = {"banks": shared.banks, "channels": channels, "ways": shared.ways,
             "misses": shared.misses, "targets": shared.targets, "turn": turn,
             "latency": latency}
    flush = l2_flush.of(below | {
        "size": shared.size, "line": shared.line, "dirty": lines_stored(mapped, layout, shared),
        "under_way": 1})
    requests, lines = 0, set()
    for first, count in parts:
        own = line_traffic(mapped.graph, layout.buffers, threads=count, first=first, shape=shape)
        requests += own.reads + own.writes + shape.banks * lines_stored(mapped, layout, shape)
        lines |= lines_accessed(mapped.graph, layout.buffers, threads=count, first=first,
                                line=shared.line)
    misses = cycles_lost(shared_traffic(requests, lines, shared), turn=busy or turn,
                         latency=1 if busy else latency, targets=shared.targets)

    def of_the_slowest(turn: int, latency: int, lost: int) -> dict[str, int]:
        known = [core_times(mapped, layout, threads=count, first=first, depth=depth, shape=shape,
                            turn=turn, latency=latency) for first, count in parts]
        slowest = max(known, key=lambda own: core_completion.of(own | {"depth": depth}))
        return slowest | {"lost": slowest["lost"] + lost, "below": flush}

    return min((of_the_slowest(l2_taken.of(below | {"ports": len(parts)}), l2_served.of(below), 0),
                of_the_slowest(len(parts), line_hit(), misses)),
               key=lambda own: processor_completion.of(own | {"depth": depth}))
