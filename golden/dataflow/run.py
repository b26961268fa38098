"""Kernels on the golden fabric: memory laid out, configurations one after the other, cycles."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from cyclebound.golden.dataflow.bitstream import check_depth
from cyclebound.golden.dataflow.cache_banks import CacheModel, random_cache
from cyclebound.golden.dataflow.cache_bounds import access_times
from cyclebound.golden.dataflow.fabric import FabricModel
from cyclebound.golden.dataflow.graph import Graph
from cyclebound.golden.dataflow.grid import Grid, Kind, Node
from cyclebound.golden.dataflow.mapper import Mapped
from cyclebound.golden.dataflow.memory import array_bits, with_spills
from cyclebound.golden.dataflow.partition import map_parts
from cyclebound.golden.dataflow.placement import MOVES
from cyclebound.golden.dataflow.wcet import estimate

__all__ = ["ADDRESS_WIDTH", "TID_WIDTH", "Fault", "Layout", "Part", "Run", "check_run",
           "map_graphs", "run_graphs", "run_mapped"]

TID_WIDTH, ADDRESS_WIDTH = 11, 16  # of the catalogue's larger fabrics


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

    @property
    def size(self) -> int:
        """Words of memory."""
        return max((base + size for base, size in self.buffers.values()), default=0)

    def words(self, arrays: Mapping[str, np.ndarray]) -> list[int]:
        """Memory with these arrays in it."""
        return [int(word) for name in self.buffers for word in array_bits(name, arrays[name])]

    def arrays(self, words: Sequence[int]) -> dict[str, np.ndarray]:
        """The arrays in memory."""
        return {name: np.array(words[base:base + size], dtype=np.uint32)
                for name, (base, size) in self.buffers.items()}


def check_run(*, threads: int, depth: int, words: int = 0, tid_width: int = TID_WIDTH,
              address_width: int = ADDRESS_WIDTH) -> None:
    """Raise `ValueError` for what no fabric with such identifiers and addresses can run."""
    check_depth(depth)
    if tid_width < depth.bit_length():
        raise ValueError(f"identifiers must have at least {depth.bit_length()} bits, with depth "
                         f"{depth}, not {tid_width}")
    if not 1 <= threads <= 1 << tid_width:
        raise ValueError(f"threads must be from 1 to {1 << tid_width}, with identifiers of "
                         f"{tid_width} bits, not {threads}")
    if words > 1 << address_width:
        raise ValueError(f"arrays must have {1 << address_width} words at most, with addresses of "
                         f"{address_width} bits, not {words}")


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
               limit: int = 1_000_000, tid_width: int = TID_WIDTH,
               address_width: int = ADDRESS_WIDTH,
               tell: Callable[[int], None] | None = None, **memory) -> Part:
    """Run one configuration on the golden fabric; ``words`` is changed in place.

    ``tell`` is called with the number of threads that have ended, now and then; ``memory``: for
    `random_cache`. Raises `ValueError` for what such a fabric cannot run, and `RuntimeError` after
    ``limit`` cycles.
    """
    check_run(threads=threads, depth=depth, words=layout.size, tid_width=tid_width,
              address_width=address_width)
    fabric = FabricModel(mapped.grid, mapped.configuration(threads, layout.buffers), depth=depth)
    sinks = [unit for unit in fabric.units.values() if unit.kind == Kind.SINK]
    cache = random_cache(words, units=len(fabric.loads), **memory)
    names = mapped.accesses()
    faults = []
    for cycle in range(limit):
        responses = cache.responses()
        taken = cache.step(fabric.requests())
        found = fabric.step(start=cycle == 0, requests_taken=taken, responses=responses)
        faults += [Fault(unit, names[unit], *token) for unit, token in enumerate(found.faults)
                   if token is not None]
        if tell is not None and cycle % 128 == 0:
            tell(min(sink.model.ended for sink in sinks))
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
               tid_width: int = TID_WIDTH, address_width: int = ADDRESS_WIDTH, **memory) -> Run:
    """Map graphs, in parts where they are too large, and run them one after the other.

    Parameters
    ----------
    graphs : sequence of Graph
        A kernel's, as `golden.dataflow.segments.compile_segments` makes them.
    grid : Grid
        Where they run.
    arrays : mapping of str to numpy.ndarray
        The kernel's arrays, of int32, uint32 or float32; not changed.
    threads, depth : int
        How many threads there are, and entries of all buffers.
    balance : bool
        Whether ways are balanced by delays.
    seed, moves : int
        Of the mapper; with fewer moves, it is faster and ways are longer.
    tid_width, address_width : int
        Bits of a thread's identifier and of a word's address, in the hardware that is modelled.
    **memory
        For `random_cache`.

    Raises `ValueError` for what does not fit, and for an array that is missing, `TypeError` for one
    that is not of words.
    """
    check_run(threads=threads, depth=depth, tid_width=tid_width, address_width=address_width)
    run = Run(parts=map_graphs(graphs, grid, depth=depth, balance=balance, seed=seed,
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
        found = run_mapped(part, words, layout, threads=threads, depth=depth, tid_width=tid_width,
                           address_width=address_width, **memory)
        run.cycles += found.cycles
        run.busy.append(found.busy)
        run.faults += found.faults
    run.arrays = layout.arrays(words)
    return run
