"""One configuration on the golden fabric: memory laid out, the run, its cycles and faults."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cyclebound.golden.dataflow.bitstream import check_depth
from cyclebound.golden.dataflow.cache_banks import CacheModel, random_misses
from cyclebound.golden.dataflow.counters import events_of
from cyclebound.golden.dataflow.fabric import FabricModel
from cyclebound.golden.dataflow.grid import Kind, Node
from cyclebound.golden.dataflow.mapped import Mapped
from cyclebound.golden.dataflow.memory import array_bits

__all__ = ["ADDRESS_WIDTH", "TID_WIDTH", "Accesses", "Fault", "Layout", "Part", "check_run",
           "run_mapped"]

TID_WIDTH, ADDRESS_WIDTH = 11, 16  # of the catalogue's larger fabrics


@dataclass(frozen=True)
class Layout:
    """Addresses of arrays in memory.

    Attributes
    ----------
    buffers : mapping of str to (int, int)
        By array: its first word, and how many there are.
    """

    buffers: Mapping[str, tuple[int, int]]

    @classmethod
    def of(cls, arrays: Mapping[str, np.ndarray]) -> "Layout":
        """The layout of these arrays, one after the other from word 0 on."""
        buffers, base = {}, 0
        for name, array in arrays.items():
            buffers[name] = base if len(array) else 0, len(array)
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
    """Result of running one configuration.

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
    events : Counter of str
        How often each of `golden.dataflow.counters.EVENTS` was, but for words of configurations.
    """

    cycles: int
    cache: CacheModel
    busy: dict[Node, int]
    faults: list[Fault]
    events: Counter[str]


class Accesses:
    """A `random_cache` that counts its accesses: ``cache_access`` and ``cache_miss`` of ``events``.
    """

    def __init__(self, words: list[int], *, units: int, miss_rate: float = 0.0, **memory) -> None:
        self.events: Counter[str] = Counter()
        drawn = random_misses(miss_rate)

        def misses(path: int) -> bool:
            missed = drawn(path)
            self.events["cache_access"] += 1
            self.events["cache_miss"] += missed
            return missed

        self.cache = CacheModel(words, units=units, misses=misses, **memory)


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
    configuration = mapped.configuration(threads, layout.buffers)
    fabric = FabricModel(mapped.grid, configuration, depth=depth)
    sinks = [unit for unit in fabric.units.values() if unit.kind == Kind.SINK]
    accesses = Accesses(words, units=len(fabric.loads), **memory)
    cache = accesses.cache
    names = mapped.accesses()
    faults = []
    for cycle in range(limit):
        responses = cache.responses()
        taken = cache.step(fabric.requests())
        outputs = fabric.step(start=cycle == 0, requests_taken=taken, responses=responses)
        faults += [Fault(unit, names[unit], *token) for unit, token in enumerate(outputs.faults)
                   if token is not None]
        if tell is not None and cycle % 128 == 0:
            tell(min(sink.model.ended for sink in sinks))
        if outputs.done:
            return Part(cycle + 1, cache, {node: unit.sent for node, unit in fabric.units.items()},
                        faults, events_of(mapped.grid, configuration, fabric.taken)
                        + accesses.events)
    raise RuntimeError(f"threads were still under way after {limit} cycles")
