"""Kernels on the golden fabric: memory laid out, configurations one after the other, cycles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from cyclebound.golden.dataflow.cache_banks import CacheModel, random_cache
from cyclebound.golden.dataflow.cache_bounds import access_times
from cyclebound.golden.dataflow.fabric import FabricModel
from cyclebound.golden.dataflow.graph import Graph
from cyclebound.golden.dataflow.grid import Grid, Node
from cyclebound.golden.dataflow.mapper import Mapped
from cyclebound.golden.dataflow.partition import map_parts
from cyclebound.golden.dataflow.wcet import estimate

__all__ = ["Fault", "Layout", "Part", "Run", "run_graphs", "run_mapped"]


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


@dataclass(frozen=True)
class Fault:
    """An access outside of its array, by a load/store unit of the grid: it was not made."""

    unit: int
    access: str
    thread: int
    index: int

    def __str__(self) -> str:
        return f"{self.access}: thread {self.thread} at index {self.index}"


@dataclass
class Part:
    """What became of one configuration.

    Attributes
    ----------
    cycles : int
        From the start to ``done``, both included.
    cache : CacheModel
        The memory.
    busy : dict of Node to int
        By unit, the results that it sent.
    faults : list of Fault
        Accesses outside of their arrays, in the order in which they were reported.
    """

    cycles: int
    cache: CacheModel
    busy: dict[Node, int]
    faults: list[Fault]


def run_mapped(mapped: Mapped, words: list[int], layout: Layout, *, threads: int, depth: int,
               limit: int = 1_000_000, **memory) -> Part:
    """Run one configuration on the golden fabric; ``words`` is changed in place.

    ``memory``: for `random_cache`. Raises `RuntimeError` after ``limit`` cycles.
    """
    fabric = FabricModel(mapped.grid, mapped.configuration(threads, layout.buffers), depth=depth)
    cache = random_cache(words, units=len(fabric.loads), **memory)
    names = mapped.accesses()
    faults = []
    for cycle in range(limit):
        responses = cache.responses()
        taken = cache.step(fabric.requests())
        found = fabric.step(start=cycle == 0, requests_taken=taken, responses=responses)
        faults += [Fault(unit, names[unit], *token) for unit, token in enumerate(found.faults)
                   if token is not None]
        if found.done:
            return Part(cycle + 1, cache, {node: unit.sent for node, unit in fabric.units.items()},
                        faults)
    raise RuntimeError(f"threads were still under way after {limit} cycles")


@dataclass
class Run:
    """A kernel's run, over all its configurations.

    Attributes
    ----------
    cycles, allowed : int
        From start to done, added up, and the bound for this memory.
    parts : list of Mapped
        The configurations.
    arrays : dict of str to numpy.ndarray
        Memory afterwards.
    busy : list of dict
        For each configuration: by unit, the results that it sent.
    faults : list of Fault
        Accesses outside of their arrays.
    """

    cycles: int = 0
    allowed: int = 0
    parts: list[Mapped] = field(default_factory=list)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    busy: list[dict[Node, int]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


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
        longest, stall = access_times(users=sum(map(bool, part.accesses())), **memory)
        run.allowed += estimate(part, threads=threads, depth=depth, memory=longest,
                                stall=stall).cycles
        found = run_mapped(part, words, layout, threads=threads, depth=depth, **memory)
        run.cycles += found.cycles
        run.busy.append(found.busy)
        run.faults += found.faults
    run.arrays = layout.arrays(words)
    return run
