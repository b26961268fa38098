"""The worst-case execution time of a function on SHMAC's core, with its worst route.

What it takes for granted, because no program says it, is in `ASSUMPTIONS`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cyclebound.golden.shmac.core_bounds import CLASSES
from cyclebound.golden.shmac.memory_waits import AccessKind, MemoryWaits
from cyclebound.tools.shmac.wcet.code import Code
from cyclebound.tools.shmac.wcet.costs import Cost, edge_costs, reset_cost
from cyclebound.tools.shmac.wcet.graph import RouteGraph
from cyclebound.tools.shmac.wcet.longest import longest
from cyclebound.tools.shmac.wcet.loop_bounds import Analysed, Edge, analysed
from cyclebound.tools.shmac.wcet.path_counts import path_counts

__all__ = ["ASSUMPTIONS", "BoundedLoop", "Line", "Wcet", "interrupt", "wcet"]

ASSUMPTIONS = (
    "no exception is taken, and no interrupt but those that are counted",
    "nothing overflows, is unaligned, or absent",
    "the program's instructions are not written",
    "what a function saves by $sp or $fp, nothing else writes: JR $ra returns to the caller",
    "bounds that are stated of loops, and ranges of registers, are true",
    "accesses are to regions of the memory's description that have a wait for their kind",
)


@dataclass(frozen=True)
class Line:
    """An instruction on the worst route.

    Attributes
    ----------
    address : int
        Where it is.
    times : int
        How often the worst route executes it.
    cost : Cost
        Cycles of all of these, each up to where the next instruction begins.
    """

    address: int
    times: int
    cost: Cost


@dataclass(frozen=True)
class BoundedLoop:
    """A loop that the function may enter.

    Attributes
    ----------
    head : int
        Address of its first instruction.
    calls : tuple of int
        Addresses that the calls under way return to.
    rounds : int
        How often the head is executed at most, for each entry.
    inferred : bool
        Whether that follows from the program.
    """

    head: int
    calls: tuple[int, ...]
    rounds: int
    inferred: bool


@dataclass(frozen=True)
class Wcet:
    """A bound, and the route that has it.

    Attributes
    ----------
    cycles : int
        From the cycle in which the first instruction begins (from reset: from the first cycle) to
        the one in which the first instruction after the end begins.
    start : Cost
        What is before the first instruction: from reset, its fetch; else `MemoryWaits.before`.
    lines : list of Line
        Each instruction that some route comes to, in the order of their addresses.
    loops : list of BoundedLoop
        In the order of their addresses.
    overflows : list of int
        ADD, ADDI and SUB that are taken not to overflow.
    by_paths : int
        The same bound, found loop by loop. Another one may come out where totals of loops are
        stated (they are not used here), or loops differ from round to round of others.
    """

    cycles: int
    start: Cost
    lines: list[Line]
    loops: list[BoundedLoop]
    overflows: list[int]
    by_paths: int

    @property
    def shares(self) -> Cost:
        """How many cycles are the core's, waits for instructions, and waits for data."""
        total = self.start
        for line in self.lines:
            total = total.plus(line.cost)
        return total


def wcet(program: Code, start: int, memory: MemoryWaits, *, stops: Iterable[int] = (),
         registers: Mapping[int, tuple[int, int]] | None = None, from_reset: bool = False) -> Wcet:
    """Bound a function's execution time.

    Parameters
    ----------
    start : int
        Address of its first instruction.
    memory : MemoryWaits
        What fetches and accesses wait.
    stops : iterable of int
        Addresses before which it ends, as it does where it returns.
    registers : mapping of int to (int, int)
        Least and greatest values of general registers at its beginning.
    from_reset : bool
        Also count from the first cycle after reset; ``start`` is the reset address.

    Raises
    ------
    WcetError
        If there is no bound; it says why, and at which address.
    """
    graph = RouteGraph(program, start, stops)
    found = analysed(graph, registers)
    costs = edge_costs(graph, found, memory)
    by_paths = longest(found, costs)
    cycles, counts = path_counts(found, costs, program.facts, by_paths)
    alike = not any(fact.total is not None for fact in program.facts.values()) and not any(
        bound.around for bound in found.bounds.values())
    if alike and cycles != by_paths:
        raise AssertionError(f"two ways to the longest route differ: {cycles}, {by_paths}")
    begins = reset_cost(graph, memory) if from_reset else Cost(data=memory.before)
    return Wcet(cycles + begins.cycles, begins, _lines(counts, costs), _loops(found),
                sorted(found.overflows), by_paths + begins.cycles)


def interrupt(program: Code, vector: int, memory: MemoryWaits) -> int:
    """The most cycles that an interrupt adds to a program, by the handler at ``vector``.

    It is taken where an instruction begins: a trap, and the fetch of the handler's first
    instruction. The handler ends where that instruction begins again; if it is in a delay slot, the
    branch before it does, and is executed a second time.
    Raises `WcetError` if the handler has no bound.
    """
    handler = wcet(program, vector, memory)
    enters = CLASSES["trap"]() + memory.most(AccessKind.FETCH, vector, vector)
    # The handler's requests may come sooner after a write than those of the program, for whose
    # `Region.holds` that was not counted.
    sooner = max(region.holds for region in memory.regions)
    return (enters + handler.cycles - handler.start.cycles + sooner + CLASSES["plain"]()
            + memory.most(AccessKind.FETCH))


def _lines(counts: Mapping[Edge, int], costs: Mapping[Edge, Cost]) -> list[Line]:
    lines: dict[int, Line] = {}
    for edge, times in counts.items():
        address = edge[0].pc
        line = lines.get(address, Line(address, 0, Cost()))
        lines[address] = Line(address, line.times + times,
                              line.cost.plus(costs[edge].times(times)))
    return [lines[address] for address in sorted(lines)]


def _loops(found: Analysed) -> list[BoundedLoop]:
    loops = [BoundedLoop(loop.head.pc, tuple(call.link for call in loop.head.calls), bound.rounds,
                         bound.inferred) for loop, bound in found.bounds.items()]
    return sorted(loops, key=lambda loop: (loop.head, loop.calls))
