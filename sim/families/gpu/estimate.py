"""The thesis's estimate beside another reading of the same instructions."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from cyclebound.golden.gpu.compute_capability import CAPABILITIES
from cyclebound.golden.gpu.occupancy import BlockResources
from cyclebound.golden.gpu.safe_bound import KernelBound, kernel_bound
from cyclebound.golden.gpu.thesis_kernels import THESIS_KERNELS, ThesisKernel
from cyclebound.golden.gpu.thesis_wcet import Charge, Estimate, Options, active_warps, estimate
from cyclebound.sim.base.errors import unknown
from cyclebound.tools.gpu.listing import listing_of_steps
from cyclebound.tools.gpu.sass import parse_sass

__all__ = ["Difference", "differences", "plain", "ranges", "thesis_bound",
           "thesis_estimate", "thesis_kernel"]


@dataclass(frozen=True)
class Difference:
    """Instructions of one opcode that two readings charge alike, and differently from each other.

    Attributes
    ----------
    numbers : tuple[int, ...]
        Of the instructions.
    first, second : Fraction
        Cycles of one of them in each reading.
    """

    name: str
    pipeline: str | None
    numbers: tuple[int, ...]
    first: Fraction
    second: Fraction

    @property
    def cycles(self) -> Fraction:
        """Cycles that the second reading charges beyond the first, over all these instructions."""
        return (self.second - self.first) * len(self.numbers)


def differences(first: Sequence[Charge], second: Sequence[Charge]) -> list[Difference]:
    """Instructions that two readings charge differently, grouped, largest total first."""
    groups: dict[tuple, list[int]] = {}
    for one, other in zip(first, second, strict=True):
        if one.cycles != other.cycles:
            step = one.step
            key = step.name, step.pipeline, one.cycles, other.cycles
            groups.setdefault(key, []).append(step.number)
    rows = [Difference(name, pipeline, tuple(numbers), a, b)
            for (name, pipeline, a, b), numbers in groups.items()]
    return sorted(rows, key=lambda row: -abs(row.cycles))


def thesis_kernel(name: str) -> ThesisKernel:
    """The kernel of that name. Raises `UserError`."""
    if name not in THESIS_KERNELS:
        raise unknown("kernel of the thesis", name, THESIS_KERNELS)
    return THESIS_KERNELS[name]


def thesis_estimate(kernel: ThesisKernel, options: Options) -> Estimate:
    """The estimate of a kernel of Table 6.7. Raises `ValueError`."""
    warps = active_warps(kernel.launch, options.warps, registers=kernel.registers,
                         limits=CAPABILITIES["8.0"])
    return estimate(kernel.steps, warps=warps, options=options)


def thesis_bound(kernel: ThesisKernel) -> KernelBound:
    """The safe bound of a kernel of Table 6.7, by the default machine and a listing of ours."""
    parsed, = parse_sass(listing_of_steps(kernel.name, kernel.steps))
    return kernel_bound(parsed, kernel.launch, BlockResources(
        kernel.launch.threads, kernel.registers), CAPABILITIES["8.0"])


def plain(cycles: Fraction) -> int | float:
    """A number for a table: whole if it is."""
    return int(cycles) if cycles.denominator == 1 else round(float(cycles), 3)


def ranges(numbers: Sequence[int]) -> str:
    """Sorted numbers as in ``1-3, 7``."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1][-1] = number
        else:
            parts.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
