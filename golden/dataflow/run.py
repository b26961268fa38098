"""Kernels on the golden fabric: memory laid out, configurations one after the other, cycles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from cyclebound.golden.dataflow.cache_banks import CacheModel, random_cache
from cyclebound.golden.dataflow.fabric import FabricModel
from cyclebound.golden.dataflow.graph import Graph
from cyclebound.golden.dataflow.grid import Grid, Node
from cyclebound.golden.dataflow.mapper import Mapped
from cyclebound.golden.dataflow.partition import map_parts
from cyclebound.golden.dataflow.wcet import estimate

__all__ = ["Layout", "Run", "run_graphs", "run_mapped"]


@dataclass(frozen=True)
class Layout:
    """Where arrays lie in memory.

    Attributes
    ----------
    buffers : mapping of str to (int, int)
        By array: its first word, and how many there are.
    """

    buffers: Mapping[str, tuple[int, int]]

    @classmethod
    def of(cls, arrays: Mapping[str, np.ndarray]) -> "Layout":
        """One after the other."""
        buffers, base = {}, 0
        for name, array in arrays.items():
            buffers[name] = base, len(array)
            base += len(array)
        return cls(buffers)

    def words(self, arrays: Mapping[str, np.ndarray]) -> list[int]:
        """Memory with these arrays in it."""
        return [int(word) for name in self.buffers for word in arrays[name]]

    def arrays(self, words: Sequence[int]) -> dict[str, np.ndarray]:
        """The arrays in memory."""
        return {name: np.array(words[base:base + size], dtype=np.uint32)
                for name, (base, size) in self.buffers.items()}


def run_mapped(mapped: Mapped, words: list[int], layout: Layout, *, threads: int, depth: int,
               limit: int = 1_000_000, busy: dict[Node, int] | None = None,
               **memory) -> tuple[int, CacheModel]:
    """Run one configuration on the golden fabric; ``words`` is changed in place.

    ``busy`` is filled with the results that each unit sent; ``memory``: for `random_cache`.

    Returns the cycles from the start to ``done``, both included, and the memory. Raises
    `RuntimeError` after ``limit`` cycles.
    """
    fabric = FabricModel(mapped.grid, mapped.configuration(threads, layout.buffers), depth=depth)
    cache = random_cache(words, units=len(fabric.loads), **memory)
    for cycle in range(limit):
        responses = cache.responses()
        taken = cache.step(fabric.requests())
        if fabric.step(start=cycle == 0, requests_taken=taken, responses=responses).done:
            if busy is not None:
                busy.update({node: unit.sent for node, unit in fabric.units.items()})
            return cycle + 1, cache
    raise RuntimeError(f"threads were still under way after {limit} cycles")


@dataclass
class Run:
    """A kernel's run, over all its configurations.

    Attributes
    ----------
    cycles, allowed : int
        From start to done, added up, and the bound for the slowest access that there was.
    parts : list of Mapped
        The configurations.
    arrays : dict of str to numpy.ndarray
        Memory afterwards.
    busy : list of dict
        For each configuration: by unit, the results that it sent.
    """

    cycles: int = 0
    allowed: int = 0
    parts: list[Mapped] = field(default_factory=list)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    busy: list[dict[Node, int]] = field(default_factory=list)


def run_graphs(graphs: Sequence[Graph], grid: Grid, arrays: Mapping[str, np.ndarray], *,
               threads: int, depth: int, balance: bool = True, seed: int = 1, **memory) -> Run:
    """Map graphs, in parts where they are too large, and run them one after the other.

    Parameters
    ----------
    graphs : sequence of Graph
        A kernel's, as `golden.dataflow.segments.compile_segments` makes them.
    grid : Grid
        Where they run.
    arrays : mapping of str to numpy.ndarray
        The kernel's arrays, as uint32; not changed.
    threads, depth : int
        How many threads there are, and entries of all buffers.
    balance : bool
        Whether ways are balanced by delays.
    seed : int
        Of the mapper.
    **memory
        For `random_cache`.
    """
    run = Run(parts=[part for graph in graphs
                     for part in map_parts(graph, grid, seed=seed,
                                           depth=depth if balance else None)])
    arrays = dict(arrays)
    for part in run.parts:
        for array in part.arrays:  # what one part leaves for another
            arrays.setdefault(array, np.zeros(threads, np.uint32))
    layout = Layout.of(arrays)
    words = layout.words(arrays)
    for part in run.parts:
        busy: dict[Node, int] = {}
        cycles, cache = run_mapped(part, words, layout, threads=threads, depth=depth, busy=busy,
                                   **memory)
        run.cycles += cycles
        run.allowed += estimate(part, threads=threads, depth=depth, memory=max(cache.worst, 2),
                                stall=cache.longest_wait).cycles
        run.busy.append(busy)
    run.arrays = layout.arrays(words)
    return run
