"""Output of the commands about the published WCET analysis and the adversary."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram.timing import Part, part_named
from cyclebound.golden.simd.accelerator import Policy
from cyclebound.golden.simd.machine import Grid
from cyclebound.golden.simd.program import Program
from cyclebound.sim.families.simd.authors import full_size
from cyclebound.sim.families.simd.options import timed_grid
from cyclebound.sim.families.simd.run import run_kernel
from cyclebound.tools.simd.published.analysis import Published, published_wcet
from cyclebound.tools.simd.wcet.analysis import Analysis
from cyclebound.tools.simd.wcet.graph import WcetError
from cyclebound.tools.simd.wcet_adversary import POLICIES

__all__ = ["ANALYSES", "TABLE_5", "Compared", "Printed", "compared", "markdown", "own_cycles",
           "published_cycles"]


@dataclass(frozen=True)
class Printed:
    """A row of the paper's Table 5: average and WCET by policy, bounds of any scheduler."""

    lower: int
    upper: int
    access: int
    compute: int
    access_average: int
    compute_average: int


TABLE_5 = {
    "track": Printed(91111265, 92146915, 91744883, 91488533, 7249308, 7042173),
    "compute_phi_mag": Printed(1669, 1777, 1687, 1687, 1291, 1291),
    "srad2": Printed(11814286, 11890837, 11814605, 11814605, 1653467, 1653467),
    "srad": Printed(23199814, 23413990, 23252862, 23238710, 1737462, 1725240),
}
"""Sim-D, Table 5, by the installed kernels' names."""


def published_cycles(program: Program, grid: Grid, part: Part, policy: Policy) -> int:
    """The published WCET. Raises `NotCovered` outside its scope."""
    if policy not in POLICIES:
        raise NotCovered(f"the published analysis is of {' and '.join(p.value for p in POLICIES)}, "
                         f"and not of {policy.value}")
    result = published_wcet(program, grid, part)
    return result.access if policy is Policy.ACCESS else result.compute


def own_cycles(program: Program, grid: Grid, part: Part, policy: Policy, start: str = "idle"
               ) -> int:
    """The project's WCET, with refreshes that fall due at any time. Raises `NotCovered`."""
    try:
        return Analysis(program, grid, part, start).wcet(policy).cycles
    except WcetError as error:
        raise NotCovered(str(error)) from error


ANALYSES: dict[str, Callable[[Program, Grid, Part, Policy], int]] = {
    "own": own_cycles, "published": published_cycles}
"""The analyses that the adversary attacks, by name."""


@dataclass(frozen=True)
class Compared:
    """A kernel at its full grid, in compute cycles; None: not asked for, or no bound. Ours are of
    the accelerator as it is built.

    ``published`` is unchecked: ``outside`` says why it is no bound. ``own`` and ``measured`` are by
    policy, the paper's two.
    """

    kernel: str
    published: Published
    own: dict[Policy, int | None]
    measured: dict[Policy, int]

    @property
    def outside(self) -> str:
        return self.published.outside[0] if self.published.outside else ""

    @property
    def printed(self) -> Printed | None:
        """The paper's numbers, if it prints them for this kernel."""
        return TABLE_5.get(self.kernel)


def compared(name: str, part: str, *, measure: bool, tell: Callable[[str, int, int], None],
             kernels: Path | None = None) -> Compared:
    """An installed kernel by both analyses, and, if asked, on the cycle model; or the authors' own,
    of their folder ``kernels``, with their DRAM front end. Raises `UserError`."""
    kernel, device = full_size(name, kernels), part_named(part)
    program, grid = kernel.program, kernel.grid
    built = timed_grid(grid, "rtl")
    own = {policy: _or_none(own_cycles, program, built, device, policy) for policy in POLICIES}
    measured = {}
    for policy in POLICIES if measure else ():
        ran = run_kernel(program, built if kernels is None else grid, kernel.content(),
                         model="cycle", policy=policy.value, part=part, keep=False,
                         timeline=kernel.timeline(device),
                         tell=partial(_told, tell, f"{name}, {policy.value}"))
        assert ran.timed is not None
        measured[policy] = ran.timed.cycles
    return Compared(name, published_wcet(program, grid, device, unchecked=True), own, measured)


def _or_none(analysis: Callable[[Program, Grid, Part, Policy], int], program: Program, grid: Grid,
             part: Part, policy: Policy) -> int | None:
    try:
        return analysis(program, grid, part, policy)
    except NotCovered:
        return None


def _told(tell: Callable[[str, int, int], None], head: str, step: str, done: int, total: int
          ) -> None:
    tell(head, done, total)


def markdown(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table for a page; numbers with commas, nothing for None."""
    def cell(value: object) -> str:
        if value is None:
            return ""
        return f"{value:,}" if isinstance(value, int) else str(value)

    lines = [columns, ["---"] * len(columns), *([cell(field) for field in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
