"""Kernels compiled, mapped and run: each configuration after the other, on the golden fabric."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from cyclebound.golden.dataflow.cache_bounds import access_times
from cyclebound.golden.dataflow.graph import Graph
from cyclebound.golden.dataflow.grid import Grid, Node
from cyclebound.golden.dataflow.mapped import Mapped
from cyclebound.golden.dataflow.memory import with_spills
from cyclebound.golden.dataflow.run import (
    ADDRESS_WIDTH,
    TID_WIDTH,
    Fault,
    Layout,
    check_run,
    run_mapped,
)
from cyclebound.golden.dataflow.wcet import estimate
from cyclebound.tools.dataflow.partition import map_parts
from cyclebound.tools.dataflow.placement import MOVES

__all__ = ["FabricRun", "map_graphs", "run_graphs"]


@dataclass
class FabricRun:
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


def map_graphs(graphs: Sequence[Graph], grid: Grid, *, depth: int, balance: bool = True,
               seed: int = 1, moves: int = MOVES,
               tell: Callable[[int, int], None] | None = None) -> list[Mapped]:
    """Map graphs, in parts where they are too large. ``tell``: graphs that are done, and all."""
    parts = []
    for number, graph in enumerate(graphs):
        if tell is not None:
            tell(number, len(graphs))
        parts += map_parts(graph, grid, seed=seed, depth=depth if balance else None,
                           moves=moves)
    return parts


def run_graphs(graphs: Sequence[Graph], grid: Grid, arrays: Mapping[str, np.ndarray], *,
               threads: int, depth: int, balance: bool = True, seed: int = 1, moves: int = MOVES,
               tid_width: int = TID_WIDTH, address_width: int = ADDRESS_WIDTH, **memory
               ) -> FabricRun:
    """Map graphs, in parts where they are too large, and run them one after the other.

    Parameters
    ----------
    graphs : sequence of Graph
        A kernel's, as `tools.dataflow.segments.compile_segments` makes them.
    grid : Grid
        Where they run.
    arrays : mapping of str to numpy.ndarray
        The kernel's arrays, of int32, uint32 or float32; not changed.
    threads, depth : int
        How many threads there are, and entries of all buffers.
    balance : bool
        Whether paths are balanced by delays.
    seed, moves : int
        Of the mapper; with fewer moves, it is faster and paths are longer.
    tid_width, address_width : int
        Bits of a thread's identifier and of a word's address, in the hardware that is modelled.
    **memory
        For `random_cache`.

    Raises `ValueError` for what does not fit, and for an array that is missing, `TypeError` for one
    that is not of words.
    """
    check_run(threads=threads, depth=depth, tid_width=tid_width, address_width=address_width)
    run = FabricRun(parts=map_graphs(graphs, grid, depth=depth, balance=balance, seed=seed,
                                     moves=moves))
    arrays = with_spills([name for part in run.parts for name in part.arrays], arrays, threads)
    layout = Layout.of(arrays)
    words = layout.words(arrays)
    for part in run.parts:
        # when a read sees the memory (`late`) changes what it reads, and no time
        longest, stall = access_times(users=sum(map(bool, part.accesses())), **{
            name: value for name, value in memory.items() if name != "late"})
        run.allowed += estimate(part, threads=threads, depth=depth, memory=longest,
                                stall=stall).cycles
        part_run = run_mapped(part, words, layout, threads=threads, depth=depth,
                              tid_width=tid_width, address_width=address_width, **memory)
        run.cycles += part_run.cycles
        run.busy.append(part_run.busy)
        run.faults += part_run.faults
    run.arrays = layout.arrays(words)
    return run
