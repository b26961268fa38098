"""Blocks of the DRAM path: refreshes."""

from cyclebound.golden.dram import pipeline_bounds as bounds
from cyclebound.golden.dram.timing import DDR3_1600_MODULE, DDR4_3200AA_X16
from cyclebound.hdl.dram.refresh_timer import RefreshTimer
from cyclebound.sim.describe.block import (
    Block,
    BoundBinding,
    Configuration,
    FpgaTarget,
    MutationTarget,
    Property,
    Testbench,
)
from cyclebound.tb.dram.refresh_timer_properties import (
    REACH,
    RefreshInTimeProof,
    RefreshTimerCheck,
    RefreshTimerProof,
    reaches_late,
)
from cyclebound.tb.probe import Probe

_DUE, _DONE = "every(interval) & ~late", "(done & request)"
_AGAIN = f"past(held({_DONE}, {_DONE}))"  # it is not the first one

_SMALL = {"interval": 2, "most": 2}
_PAPER = {"interval": DDR4_3200AA_X16.nREFI, "most": 8}
_DDR3 = {"interval": DDR3_1600_MODULE.nREFI, "most": 8}

BLOCKS = (
    Block(
        name="dram.refresh_timer",
        summary="counts the refreshes that a DRAM is owed, of which some may be postponed",
        component=RefreshTimer,
        configurations={
            "small": Configuration(_SMALL),
            "paper": Configuration(_PAPER),  # Sim-D, Table 1
            "ddr3": Configuration(_DDR3),    # memory-composition, Table I
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.dram.refresh_timer", quick=("small",)),),
        bounds=(
            # It is owed: one more than was left of those before.
            BoundBinding("request", bounds.refresh_request, proved_by=("in_time",),
                         probe=Probe(start=_DUE, end=f"(owed > past(owed - {_DONE})) & ~late")),
            BoundBinding("deadline", bounds.refresh_deadline, proved_by=("in_time",),
                         probe=Probe(start=_DUE, end=f"{_DONE} & ~late", in_flight="most")),
            BoundBinding("gap", bounds.refresh_gap, proved_by=("in_time",),
                         probe=Probe(start=f"past({_DONE})", end=f"{_DONE} & {_AGAIN}")),
        ),
        properties=(
            Property(
                name="owed",
                quick=0,
                says="from the cycle in which a refresh falls due, exactly as many are owed as "
                     "fell due and were not done; if not late, no two are further apart than one "
                     "interval more than may be owed",
                checker=RefreshTimerProof,
                instances=(_SMALL, {"interval": 5, "most": 8}, {"interval": 3, "most": 1}, _PAPER,
                           _DDR3),
                depth=lambda instance: (reach if (reach := reaches_late(**instance)) <= REACH
                                        else 12),
                induction=3,
                # of a real part, a refresh is late after thousands of cycles
                covered=lambda instance: None if reaches_late(**instance) <= REACH else _SMALL,
            ),
            Property(
                name="in_time",
                quick=1,
                says="where no refresh is ever late, each is asked for in the cycle in which it "
                     "falls due, and done within its deadline, and no two are further apart than "
                     "the bound",
                checker=RefreshInTimeProof,
                assumes={
                    "a refresh falls due while the most are owed, and none is done":
                        "while as many are owed as may be, one before the next falls due",
                },
                instances=(_SMALL, _PAPER, _DDR3),
                declares={what: lambda instance: {} for what in ("request", "deadline", "gap")},
                depth=14,
                induction=3,
                covered=_SMALL,
            ),
        ),
        checker=RefreshTimerCheck,
        mutants=MutationTarget("small"),
        fpga=FpgaTarget("paper"),
        signals=("top.dut.left", "top.dut.owed", "top.dut.done", "top.dut.late"),
    ),
)
