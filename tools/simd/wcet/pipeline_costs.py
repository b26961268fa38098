"""How many cycles each edge of a route graph adds to a compute phase, whatever came before it.

The pipeline's rules (`golden.simd.pipeline`) are sums and maxima of times: an instruction issues
when the one before has, and when its operands are there. So the *latest* known of every operand
that is still on its way, over all routes to a node, gives a cost that no route exceeds, and one
route to a node gives that route's cost exactly (docs/simd_wcet.md).

Times are kept from the next issue on. Operands whose wait has passed are left out, so that there
are few of these states, and a fixed point is reached after a few rounds however often loops turn.
"""

from dataclasses import dataclass, field

from cyclebound.golden.simd.isa import Timing
from cyclebound.golden.simd.machine import Machine
from cyclebound.golden.simd.pipeline import Pipeline, Register, Shape
from cyclebound.tools.simd.wcet.graph import Edge, How, Node, RouteGraph

__all__ = ["EdgeCosts", "Flight"]

_LONG_AGO = -(1 << 30)


@dataclass
class Flight:
    """The instructions in flight in the pipeline; cycles count from the next issue.

    Attributes
    ----------
    made : dict
        Of a register, the cycle in which each warp's value was issued, or the one of a scalar.
    division : int
        When the divider is free.
    pushed : int
        When the last warp that pushes was issued.
    """

    made: dict[Register, tuple[int, ...]] = field(default_factory=dict)
    division: int = 0
    pushed: int = _LONG_AGO

    def joined(self, other: "Flight") -> "Flight":
        """Both in one: of each cycle the later one."""
        made = dict(self.made)
        for register, cycles in other.made.items():
            held = made.get(register)
            made[register] = cycles if held is None else tuple(map(max, held, cycles))
        return Flight(made, max(self.division, other.division), max(self.pushed, other.pushed))


class EdgeCosts:
    """The cycles that each edge adds: from its instruction's issue to the next one's, at most.

    The last edge of a phase, from an access or to the end, reaches to the first cycle in which
    another work-group may issue. ``at_end`` says which edges do.

    Parameters
    ----------
    graph : RouteGraph
        The kernel.
    machine : Machine
        Its warps and stages.
    """

    def __init__(self, graph: RouteGraph, machine: Machine) -> None:
        self._graph, self._machine = graph, machine
        self._shapes = Pipeline(graph.program, machine).shapes
        self._depth = machine.decode_stages + machine.execute_stages
        self._before: dict[Node, Flight] = {graph.start: Flight()}
        self._costs: dict[Edge, int] = {}
        waiting = [graph.start]
        while waiting:
            node = waiting.pop()
            for edge in graph.after[node]:
                self._costs[edge], after = self.step(self._before[node], edge)
                if edge.target is None:
                    continue
                held = self._before.get(edge.target)
                joined = after if held is None else held.joined(after)
                if joined != held:
                    self._before[edge.target] = joined
                    waiting.append(edge.target)

    def cost(self, edge: Edge) -> int:
        return self._costs[edge]

    def step(self, flight: Flight, edge: Edge) -> tuple[int, Flight]:
        """An edge's cycles after ``flight``, and what is on its way after it."""
        machine, depth = self._machine, self._depth
        shape = self._shapes[edge.source.at]
        start, issued = self._issue(shape, flight)
        after, division, pushed = issued[-1] + 1, flight.division, flight.pushed
        if shape.pushes:
            pushed = issued[-1]
        made = dict(flight.made)
        if shape.timing is Timing.DIVIDE:
            late = machine.divider_cycles - machine.execute_stages
            issued = (start + late,)
            after += late
            division = start + machine.divider_cycles + 1
        made.update(dict.fromkeys(shape.writes, issued))
        if shape.timing is Timing.ACCESS:
            return after + depth, Flight()
        if edge.how is How.TAKEN:
            after += depth
        elif edge.how in (How.JUMP, How.NO_LANE):
            after += depth + 1
        after += edge.injected * (machine.warps + depth + 1)
        return after, Flight(
            {register: moved for register, cycles in made.items()
             if self._matters(moved := tuple(cycle - after for cycle in cycles))},
            max(0, division - after),
            pushed - after if pushed + machine.execute_stages > after else _LONG_AGO)

    def _issue(self, shape: Shape, flight: Flight) -> tuple[int, tuple[int, ...]]:
        """The cycles in which an instruction issues, and the last pass of each of its warps."""
        machine = self._machine
        start = 0
        if shape.pops:
            start = max(start, flight.pushed + machine.execute_stages)
        if shape.timing is Timing.DIVIDE:
            start = max(start, flight.division)
        needs = [(flight.made[register], self._depth - min(stage, machine.decode_stages - 1))
                 for register, stage in shape.reads if register in flight.made]
        if not shape.vector:
            start = max([start, *(cycles[0] + latency for cycles, latency in needs)])
            return start, (start,)
        issued, now = [], start
        for warp in range(machine.warps):
            now = max([now, *(cycles[warp if len(cycles) > 1 else 0] + latency
                              for cycles, latency in needs)])
            issued.append(now + shape.step - 1)
            now += shape.step
        return issued[0] - shape.step + 1, tuple(issued)

    def _matters(self, cycles: tuple[int, ...]) -> bool:
        """An instruction that issues next might still wait for it."""
        return any(cycle + self._depth > warp for warp, cycle in enumerate(cycles))
