"""A memory that answers a fabric's accesses whenever the bound on a kernel's run allows it to."""

import functools

from amaranth.hdl import Array, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dataflow.graph import NUMBER, Graph, Memory, Operand, Task
from cyclebound.golden.dataflow.grid import Grid
from cyclebound.golden.dataflow.mapped import Mapped
from cyclebound.golden.dataflow.operations import Operation
from cyclebound.golden.dataflow.wcet import estimate
from cyclebound.tools.dataflow.mapper import map_graph

__all__ = ["EXPLORED", "FabricEnvironment", "buffers_of", "completion_of", "mapped_copy",
           "mapped_sum"]

# threads, and the most cycles of an access
EXPLORED = {"copy": ((2, 3), (8, 6), (16, 12)), "sum": ((2, 3), (4, 4))}


@functools.cache
def mapped_copy(rows: tuple[str, ...]) -> Mapped:
    """y[tid] = x[tid], on a grid: the smallest kernel in which a unit waits for another one."""
    graph = Graph()
    number = graph.add(Task(NUMBER))
    loaded = graph.add(Task(Memory.LOAD, [number, None, None], array="x"))
    graph.ends = [graph.add(Task(Memory.STORE, [number, loaded, None], array="z"))]
    return map_graph(graph, Grid(rows))


@functools.cache
def mapped_sum(rows: tuple[str, ...]) -> Mapped:
    """z[tid] = x[tid] + y[tid], on a grid: two loads, which meet in a compute unit."""
    graph = Graph()
    number = graph.add(Task(NUMBER))
    loaded: list[Operand] = [
        graph.add(Task(Memory.LOAD, [number, None, None], array=array)) for array in "xy"]
    total = graph.add(Task(Operation.ADD, loaded))
    graph.ends = [graph.add(Task(Memory.STORE, [number, total, None], array="z"))]
    return map_graph(graph, Grid(rows))


_MAPPED = {"copy": mapped_copy, "sum": mapped_sum}


def buffers_of(threads: int) -> dict[str, tuple[int, int]]:
    """Where the arrays are, of a word for each thread."""
    return {array: (place * threads, threads) for place, array in enumerate("xyz")}


def completion_of(kernel: str, threads: int, longest: int, *, rows: tuple[str, ...], depth: int
                  ) -> dict[str, int]:
    """The parameters of the bound on a run, as requesters declare them."""
    allowed = estimate(_MAPPED[kernel](rows), threads=threads, depth=depth, memory=longest)
    return {"threads": threads, **allowed.parameters}


class FabricEnvironment(wiring.Component):
    """Configures a kernel, starts its threads once, and is the memory of the units in use.

    Each request is taken at once, and answered once, in any cycle from the next one on, within
    ``longest`` cycles of its offer, both included, in any order; of each unit one in a cycle.
    What is loaded is 0: no address and no decision of the kernel may depend on it.

    Parameters
    ----------
    fabric : cyclebound.hdl.dataflow.fabric.Fabric
        The fabric.
    kernel : str
        "copy" or "sum": `mapped_copy`, `mapped_sum`.
    threads : int
        That run.
    longest : int
        The most cycles of an access.

    Members
    -------
    choice : In
        By unit in use: it is answered in this cycle, and by which entry.
    illegal : Out(1)
        There is no such entry, or another one's time ends.
    configuration, start, done, memory
        To and from the fabric.
    """

    def __init__(self, fabric, *, kernel, threads, longest):
        mapped = _MAPPED[kernel](tuple(fabric.grid.rows))
        self._words = mapped.words(threads, buffers_of(threads), tid_width=fabric.tid_width,
                                   address_width=fabric.address_width)
        self._used = [number for number, task in enumerate(mapped.accesses()) if task]
        self._depth, self._longest = fabric.depth, longest
        self._choice_bits = fabric.depth.bit_length()
        super().__init__({"choice": In(self._choice_bits * len(self._used)), "illegal": Out(1), **{
            name: fabric.signature.members[name].flip()
            for name in ("configuration", "start", "memory")}})

    def elaborate(self, platform):
        m = Module()
        count = Signal(range(len(self._words) + 2))
        with m.If(count <= len(self._words)):
            m.d.sync += count.eq(count + 1)
        with m.If(count < len(self._words)):
            m.d.comb += [self.configuration.valid.eq(1), self.configuration.payload.eq(
                Array(Const(word, 32) for word in self._words)[count])]
        m.d.comb += self.start.eq(count == len(self._words))

        illegal = 0
        for place, number in enumerate(self._used):
            memory = self.memory[number]
            request, response, choice = memory.request, memory.response, self.choice.word_select(
                place, self._choice_bits)
            m.d.comb += [request.ready.eq(1), response.valid.eq(choice[0]),
                         response.payload.tag.eq(choice[1:])]
            # by entry, in how many cycles it has to be answered; 0: not under way
            for entry in range(self._depth):
                left = Signal(range(self._longest), name=f"left_{number}_{entry}")
                answered = choice[0] & (choice[1:] == entry)
                illegal |= answered & (left == 0)
                illegal |= ~answered & (left == 1)
                with m.If(request.valid & (request.payload.tag == entry)):
                    m.d.sync += left.eq(self._longest - 1)
                with m.Elif(answered):
                    m.d.sync += left.eq(0)
                with m.Elif(left != 0):
                    m.d.sync += left.eq(left - 1)
            illegal |= ~choice[0] & (choice[1:] != 0)
        m.d.comb += self.illegal.eq(illegal)
        return m
