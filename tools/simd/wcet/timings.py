"""Timing constants of the machine whose time is bounded: models with a name.

All of them are fields of `Machine` and delays of ``dram.controller``; the cycle model takes the
same ones, and the analysis has none of its own. Each is backed by a bound, or by a testbench that
compares every event with the cycle model (`BACKED`).
"""

from collections.abc import Callable
from dataclasses import dataclass

from cyclebound.golden.simd.machine import Machine, as_built

__all__ = ["BACKED", "TIMINGS", "Constant", "TimingModel"]


@dataclass(frozen=True)
class TimingModel:
    """``machine`` gives a machine the model's constants."""

    says: str
    machine: Callable[[Machine], Machine]


TIMINGS = {
    "rtl": TimingModel("the accelerator as it is built", as_built),
    "sim-d": TimingModel("nothing is lost between its clocks, as in Sim-D's model",
                         lambda machine: machine),
}


@dataclass(frozen=True)
class Constant:
    """A time that the analysis takes from the hardware, and its evidence: named bounds of a block,
    or, without these, a testbench of the block that compares it in every cycle."""

    says: str
    block: str
    bounds: tuple[str, ...] = ()
    testbench: str = ""


BACKED = (
    Constant("from one instruction's issue to the next", "simd.compute_unit", (
        "scalar", "scalar_dependent", "vector", "vector_dependent", "special", "special_dependent",
        "division", "division_again", "division_dependent", "jump_taken", "jump_not_taken",
        "vector_jump", "emptied", "injected", "push_to_pop")),
    Constant("from the last instruction of a phase to the other work-group's first",
             "simd.compute_unit", ("access_turn", "end_turn")),
    Constant("a slot that is free has a work-group in the same cycle, the second one in the next",
             "simd.scheduler", ("launch",)),
    Constant("an access that waits goes on in the cycle in which the other one is over",
             "simd.scheduler", ("turn",)),
    Constant("clocks of a scratchpad", "simd.scratchpad", ("transfer",)),
    Constant("setup_clocks, resume_clocks, one_clock, line_by_line: every commit, launch, end and "
             "completion of kernels", "simd.accelerator", testbench="kernels"),
)
"""Besides these, DRAM's: docs/simd_wcet.md."""
