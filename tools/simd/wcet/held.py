"""The analysis of a scheduler that holds the compute unit while a scratchpad transfers.

Under policy ``compute`` nothing issues during a transfer between scratchpad and registers. When it
ends, both work-groups may be ready, and the machine lets the other one go first. Under ``hold`` the
one whose scratchpad transferred goes on. Its compute and scratchpad
phases up to the next access to DRAM are then one phase: two resources are left, which a pair's
work-groups swap in lock-step, and the paper's model of this policy (Sim-D, section 5.6) holds.
"""

from functools import cached_property

from cyclebound.golden.dram.timing import Part
from cyclebound.golden.simd.accelerator import Policy
from cyclebound.golden.simd.machine import Grid
from cyclebound.golden.simd.program import Program
from cyclebound.tools.simd.wcet.analysis import Analysis
from cyclebound.tools.simd.wcet.chains import Chained
from cyclebound.tools.simd.wcet.followed_indexes import MOST_WORDS
from cyclebound.tools.simd.wcet.graph import WcetError
from cyclebound.tools.simd.wcet.phases import PhaseGraph

__all__ = ["HeldAnalysis"]


class HeldAnalysis(Analysis):
    """`Analysis` under policy ``hold``; parameters and errors are the same."""

    def __init__(self, program: Program, grid: Grid, part: Part, start: str = "idle",
                 most_words: int = MOST_WORDS) -> None:
        super().__init__(program, grid, part, start, most_words)
        compute = grid.machine.compute_ps
        held = {node: self.clocks.access_time(cost) // compute
                for node, cost in self.costs.items() if cost.resource == "scratchpad"}
        self.phases = PhaseGraph(self.loops, self.edge_costs, held)

    @cached_property
    def uses_scratchpad(self) -> bool:
        """False: transfers of scratchpads count as computing, which leaves the two resources of
        policy ``access``."""
        return False

    def wcet(self, policy: Policy = Policy.HOLD) -> Chained:
        """The bound. Raises `WcetError` for another policy."""
        if policy is not Policy.HOLD:
            raise WcetError(f"{self.program.name}: this analysis is of policy hold, and not of "
                            f"{policy.value}")
        return super().wcet(Policy.ACCESS)
