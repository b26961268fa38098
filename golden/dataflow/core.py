"""Golden model of an SGMF core: the fabric's model above the cache's (SGMF, sections 5, 5.2).

A kernel's run on it, above a memory of lines that answers within known times.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cyclebound.golden.dataflow.bitstream import Configuration
from cyclebound.golden.dataflow.cache import LineAnswer, LineCacheModel, LineRequest
from cyclebound.golden.dataflow.cache_policies import WRITE_BACK, CacheShape
from cyclebound.golden.dataflow.fabric import FabricModel
from cyclebound.golden.dataflow.graph import Graph, Memory, Token
from cyclebound.golden.dataflow.grid import Grid, Kind
from cyclebound.golden.dataflow.line_cache_bounds import (
    line_access_times,
    line_flush,
    line_hit,
)
from cyclebound.golden.dataflow.line_memory import LineMemoryModel
from cyclebound.golden.dataflow.mapped import Mapped
from cyclebound.golden.dataflow.persistence import cycles_lost, line_traffic
from cyclebound.golden.dataflow.run import Layout
from cyclebound.golden.dataflow.wcet import estimate

__all__ = ["CoreModel", "CoreResult", "CoreRun", "core_times", "lines_stored", "run_core"]


@dataclass(frozen=True)
class CoreResult:
    """One cycle: each load/store unit's report, and whether all is done, in memory too."""

    faults: tuple[tuple[int, int] | None, ...]
    done: bool


class CoreModel:
    """The fabric and its cache; in each cycle `line_request`, then `step`.

    Parameters
    ----------
    grid : Grid
        Of the fabric.
    depth : int
        Entries of all buffers.
    shape : CacheShape
        Of the cache.
    """

    def __init__(self, grid: Grid, *, depth: int, shape: CacheShape) -> None:
        self._grid, self._depth = grid, depth
        self.fabric: FabricModel | None = None
        self._over = False  # all is done, and nothing will change any more
        self.cache = LineCacheModel(ports=len(grid.of_kind(Kind.LOAD_STORE)), shape=shape)

    def configure(self, configuration: Configuration) -> None:
        """Load a configuration. Nothing may be under way."""
        self.fabric = FabricModel(self._grid, configuration, depth=self._depth)
        self._over = False
        self.cache.step([None] * len(self.fabric.loads))  # a flush has ended

    @property
    def done(self) -> bool:
        """Whether all is in the memory below."""
        return self._over or (self.fabric is not None and self.cache.flushed(self.fabric.done))

    def line_request(self) -> LineRequest | None:
        """What is asked of the memory below in this cycle."""
        return self.cache.line_request()

    def step(self, *, start: bool, line_taken: bool, line: LineAnswer | None) -> CoreResult:
        """End the cycle; `configure` comes before the first."""
        assert self.fabric is not None
        if self._over and not start:
            return CoreResult((None,) * len(self.fabric.loads), True)
        flush = self.fabric.done
        responses, done = self.cache.responses(), self.cache.flushed(flush)
        taken = self.cache.step(self.fabric.requests(), line_taken=line_taken, line=line,
                                flush=flush)
        ended = self.fabric.step(start=start, requests_taken=taken, responses=responses)
        self._over = done and not start
        return CoreResult(ended.faults, done)


@dataclass(frozen=True)
class CoreRun:
    """Cycles from the start to the end of all threads, and to `Core`'s ``done``, both included."""

    threads_ended: int
    cycles: int


def run_core(core: CoreModel, memory: LineMemoryModel, mapped: Mapped, layout: Layout, *,
             threads: int, limit: int = 1_000_000,
             see: Callable[[CoreResult], None] = lambda result: None) -> CoreRun:
    """Run one configuration; the memory's words are changed in place.

    ``see`` is told what each cycle shows. Raises `RuntimeError` after ``limit`` cycles.
    """
    core.configure(mapped.configuration(threads, layout.buffers))
    assert core.fabric is not None
    ended = 0
    for cycle in range(limit):
        takes = memory.takes(core.line_request())
        answer = memory.answer()
        if core.fabric.done and not ended:
            ended = cycle + 1
        result = core.step(start=cycle == 0, line_taken=takes, line=answer)
        memory.step(takes)
        see(result)
        if result.done:
            return CoreRun(ended, cycle + 1)
    raise RuntimeError(f"threads were still under way after {limit} cycles")


def core_times(mapped: Mapped, layout: Layout, *, threads: int, depth: int, shape: CacheShape,
               turn: int, latency: int, first: int = 0, serial: bool = False) -> dict[str, int]:
    """What `golden.dataflow.fabric_bounds.core_completion` needs to know of a configuration.

    Either each access takes as long as any may, or each takes as long as a hit, and ``lost`` has
    the cycles that all misses cost; whichever is less. The lines that a flush may have to write
    follow from the arrays that are stored. ``first``: the number of the first thread.

    ``serial``: the memory takes a line's request at once if none is under way, else in the cycle
    after that one's end, ``turn`` cycles after it was taken; a read's line comes in that cycle,
    too. So no cycle is lost to two lines: each costs ``turn`` altogether, and one that is read two
    more, in which it comes and is on its way into the cache.
    """
    users = sum(map(bool, mapped.accesses()))
    cache: dict[str, Any] = {
        "banks": shape.banks, "misses": shape.misses, "targets": shape.targets,
        "policy": shape.policy, "turn": turn, "latency": latency,
        "tag_width": (depth - 1).bit_length()}
    longest, stall = line_access_times(users=users, ways=shape.ways, **cache)
    misses = estimate(mapped, threads=threads, depth=depth, memory=max(2, longest), stall=stall)
    # as if all hit, and cycles that the misses cost altogether
    others = max(0, users - 1)
    hits = estimate(mapped, threads=threads, depth=depth, memory=others + line_hit(), stall=others)
    traffic = line_traffic(mapped.graph, layout.buffers, threads=threads, shape=shape, first=first)
    lost = cycles_lost(traffic, turn=turn, latency=2 if serial else latency,
                       targets=shape.targets)
    allowed, lost = (misses, 0) if misses.cycles <= hits.cycles + lost else (hits, lost)
    ended = _before_the_end(mapped.graph)
    all_end = all(number in ended for number, task in mapped.graph.tasks.items() if task.array)
    flush = line_flush.of({
        **cache, "ports": max(1, users), "size": shape.size, "line": shape.line,
        "dirty": lines_stored(mapped, layout, shape), "under_way": 0 if all_end else 1})
    if all_end:  # all accesses have been answered; a line may still have to be written
        flush += shape.banks * turn
    return {"threads": threads, **allowed.parameters, "lost": lost, "flush": flush}


def _before_the_end(graph: Graph) -> set[int]:
    """The tasks without which no thread ends."""
    before: set[int] = set()
    waits = [token.task for token in graph.ends]
    while waits:
        task = waits.pop()
        if task not in before:
            before.add(task)
            waits += [operand.task for operand in graph.tasks[task].operands
                      if isinstance(operand, Token)]
    return before


def lines_stored(mapped: Mapped, layout: Layout, shape: CacheShape) -> int:
    """The most lines of one bank that may be dirty in the cache."""
    if shape.policy != WRITE_BACK:
        return 0
    names = {task.array for task in mapped.graph.tasks.values() if task.function == Memory.STORE}
    lines = {(base + k) // shape.line for name in names
             for base, size in [layout.buffers[name]] for k in range(size)}
    return min(shape.rows, max((sum(number % shape.banks == bank for number in lines)
                                for bank in range(shape.banks)), default=0))
