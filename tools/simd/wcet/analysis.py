"""The worst-case execution time of a kernel on a grid, under a policy of the work-group scheduler.

The machine is `golden.simd.cycle`'s, with the delays of ``dram.controller``. The bound holds for any
content of the kernel's buffers, as long as annotated loops keep their annotations.

Ref: Sim-D, sections 4 and 5; docs/simd_wcet.md.
"""

from dataclasses import dataclass
from functools import cached_property

from cyclebound.golden.dram.request import BURST_BYTES, BURST_WORDS
from cyclebound.golden.dram.timing import Part
from cyclebound.golden.simd.cycle import Policy
from cyclebound.golden.simd.machine import Grid
from cyclebound.golden.simd.memory_timing import DramTimeline
from cyclebound.golden.simd.program import Program
from cyclebound.golden.simd.transfers import Access
from cyclebound.tools.simd.wcet.access_costs import AccessCost, AccessCosts
from cyclebound.tools.simd.wcet.chains import Chained, chain
from cyclebound.tools.simd.wcet.graph import Node, RouteGraph, WcetError
from cyclebound.tools.simd.wcet.loop_bounds import BoundedLoops
from cyclebound.tools.simd.wcet.pairs import Clocks, PairGraph
from cyclebound.tools.simd.wcet.phases import PhaseGraph
from cyclebound.tools.simd.wcet.pipeline_costs import EdgeCosts
from cyclebound.tools.simd.wcet.uniform import is_uniform

__all__ = ["Analysis"]

_INSTRUCTION_BYTES = 8


class Analysis:
    """A kernel with a grid and a DRAM, and what each step of the analysis found.

    Parameters
    ----------
    program : Program
        The kernel.
    grid : Grid
        Its items; the machine is the grid's.
    part : Part
        The DRAM.
    start : str
        What is known of refreshes when the kernel starts (`chains.STARTS`).

    Raises
    ------
    WcetError
        For a kernel that has no bound, with line.
    """

    def __init__(self, program: Program, grid: Grid, part: Part, start: str = "idle") -> None:
        self.program, self.grid, self.part, self.start = program, grid, part, start
        self.graph = RouteGraph(program)
        self.loops = BoundedLoops(self.graph, grid)
        self.edge_costs = EdgeCosts(self.graph, grid.machine)
        self.phases = PhaseGraph(self.loops, self.edge_costs)
        self.clocks = Clocks(grid.machine, part)
        self._chained: dict[Policy, Chained] = {}

    @cached_property
    def costs(self) -> dict[Node, AccessCost]:
        """Of every access that a work-group may come to."""
        costs = AccessCosts(self.loops, self.grid, self.part)
        return {place[1]: costs.cost(place[1]) for place in self.phases.after
                if place[0] == "access" and place[1] is not None}

    @cached_property
    def uses_scratchpad(self) -> bool:
        return any(cost.resource == "scratchpad" for cost in self.costs.values())

    @cached_property
    def load(self) -> int:
        """Compute cycles until the program is read, without a refresh."""
        size = _INSTRUCTION_BYTES * len(self.program.instructions)
        words = -(-size // BURST_BYTES) * BURST_WORDS
        clock = DramTimeline(self.part).tile(
            0, Access("dram", False, 0, words, words, 1, words, lambda: None))
        return -(-clock * self.part.tck_ps // self.grid.machine.compute_ps)

    @cached_property
    def uniform(self) -> bool:
        return is_uniform(self.phases)

    def pair_graph(self, policy: Policy) -> PairGraph:
        """Every way in which two work-groups take turns under a policy."""
        lockstep = policy is not Policy.COMPUTE or not self.uses_scratchpad
        return PairGraph(self.phases, self.costs, self.clocks, policy,
                         uniform=self.uniform and lockstep)

    def wcet(self, policy: Policy) -> Chained:
        """The bound under a policy.

        Raises `WcetError` under ``pairwise``, where transfers of both scratchpads and the DRAM
        overlap in any order, for kernels with scratchpad accesses; and under ``unconstrained``.
        """
        if policy is Policy.UNCONSTRAINED or (policy is Policy.PAIRWISE and self.uses_scratchpad):
            raise WcetError(f"{self.program.name}: policy {policy.value} has no bound besides that "
                            "of one work-group after the other; ask for access or compute")
        if policy not in self._chained:
            longest = max((cost.lead + cost.delay for cost in self.costs.values()
                           if cost.resource == "dram"), default=0)
            self._chained[policy] = chain(
                self.pair_graph(policy), self.part, count=self.grid.count,
                load=self.load * self.clocks.compute, start=self.start, longest_access=longest)
        return self._chained[policy]


@dataclass(frozen=True)
class Serial:
    """Work-groups one after the other."""

    cycles: int
