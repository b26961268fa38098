"""The published WCET of a kernel: its phases, their schedule in pairs, refreshes, and its bounds.

The last compute cycles of a work-group, after its last access, count for nothing; the first phase
begins with an empty pipeline. Only kernels that keep to the paper's scope have a published WCET
(`Unrolled.outside`); `unchecked` computes what its authors' tool prints for the others, which is no
bound.

Ref: Sim-D, sections 4.5 and 5.5 to 5.8, Equations 10 to 14 and 17 to 19.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram.bounds import eq19
from cyclebound.golden.dram.timing import Part
from cyclebound.golden.simd.machine import Grid
from cyclebound.golden.simd.program import Program
from cyclebound.tools.simd.published.accesses import AccessTimes
from cyclebound.tools.simd.published.blocks import Flow, flow_of
from cyclebound.tools.simd.published.costs import costs_of
from cyclebound.tools.simd.published.unrolled import Path, Unrolled

__all__ = ["OutsideScope", "Phase", "Published", "published_wcet", "schedule_cycles"]


class OutsideScope(NotCovered):
    """A kernel for which the published analysis does not hold; ``reasons`` has all of them."""

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__(reasons[0] + (f" (and {len(reasons) - 1} more)" if len(reasons) > 1
                                       else ""))
        self.reasons = tuple(reasons)


@dataclass(frozen=True)
class Phase:
    """A phase: ``resource`` is compute, dram or scratchpad; an access is ``instruction``'s."""

    resource: str
    cycles: int
    instruction: int | None = None


@dataclass(frozen=True)
class Published:
    """Result of the analysis, in compute cycles.

    Attributes
    ----------
    access, compute : int
        WCET with scratchpads as access, and as compute.
    lower, upper : int
        Of any work-group scheduler (Eq. 14 and 10), inflated by refreshes.
    load : int
        For loading the program.
    phases : dict
        By policy, ``access`` and ``compute``: a work-group's phases.
    outside : tuple of str
        Why these numbers are no bounds; empty in scope.
    """

    access: int
    compute: int
    lower: int
    upper: int
    load: int
    phases: dict[str, tuple[Phase, ...]]
    outside: tuple[str, ...] = ()


def schedule_cycles(costs: Sequence[int], work_groups: int) -> int:
    """Cycles of the pairwise schedule, by Equations 17 and 18 without the program's load."""
    if not costs:
        return 0
    pair = sum(max(cost, following) for cost, following in
               zip(costs, [*costs[1:], costs[0]], strict=True))
    edge = sum(costs) if work_groups % 2 else min(costs[0], costs[-1])
    return work_groups // 2 * pair + edge


def _phases(flow: Flow, path: Path, times: AccessTimes, flush: int, with_scratchpads: bool
            ) -> tuple[Phase, ...]:
    """Phases of a path; scratchpads are access only ``with_scratchpads``."""
    phases, gathered = [], flush
    for number, cost in zip(path.blocks, path.cycles, strict=True):
        gathered += cost
        if not flow.access(number):
            continue
        last = flow.blocks[number].last
        resource, cycles = times.of(last)
        if resource == "scratchpad" and not with_scratchpads:
            gathered += cycles
            continue
        phases += [Phase("compute", gathered), Phase(resource, cycles, last)]
        gathered = 0
    return tuple(phases)


def published_wcet(program: Program, grid: Grid, part: Part, *, unchecked: bool = False
                   ) -> Published:
    """The published analysis of a kernel on a grid.

    Raises `OutsideScope` for a kernel beyond the paper's scope unless ``unchecked``, and
    `NotCovered` for what cannot be analysed: a loop without a bound, control stacks that differ.
    """
    flow = flow_of(program)
    costs = costs_of(flow, grid.machine)
    unrolled = Unrolled(flow, costs)
    outside = unrolled.outside()
    if outside and not unchecked:
        raise OutsideScope(outside)
    times = AccessTimes(program, grid, part)

    def scratchpad(number: int) -> int:
        if not flow.access(number):
            return 0
        resource, cycles = times.of(flow.blocks[number].last)
        return cycles if resource == "scratchpad" else 0

    access = _phases(flow, unrolled.longest(lambda number: 0), times, costs.flush, True)
    compute = _phases(flow, unrolled.longest(scratchpad), times, costs.flush, False)

    def inflated(cycles: int) -> int:
        return eq19(part=part, cycles=cycles, compute_ps=grid.machine.compute_ps)

    load, groups = times.load(), grid.count
    total = sum(phase.cycles for phase in access)
    by_resource = {resource: groups * sum(phase.cycles for phase in access
                                          if phase.resource == resource)
                   for resource in ("compute", "dram", "scratchpad")}
    by_resource["dram"] = inflated(by_resource["dram"])
    return Published(
        access=inflated(schedule_cycles([one.cycles for one in access], groups) + load),
        compute=inflated(schedule_cycles([one.cycles for one in compute], groups) + load),
        lower=max(max(by_resource.values()), inflated(-(-groups // 2) * total)) + load,
        upper=inflated(groups * total + load), load=load,
        phases={"access": access, "compute": compute}, outside=tuple(outside))
