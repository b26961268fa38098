"""Units of the SIMD accelerator."""

from cyclebound.golden.simd import arithmetic_bounds, pipeline_bounds
from cyclebound.hdl.simd.compute_unit import ComputeUnit
from cyclebound.hdl.simd.control_stack import ControlStack
from cyclebound.hdl.simd.execute_harness import LaneHarness, SpecialFunctionsHarness
from cyclebound.hdl.simd.lane import Lane
from cyclebound.hdl.simd.scoreboard import Scoreboard
from cyclebound.hdl.simd.special_functions import SpecialFunctions
from cyclebound.sim.block import (
    Block,
    Configuration,
    FpgaTarget,
    Observed,
    Property,
    Testbench,
)
from cyclebound.tb.probe import Probe
from cyclebound.tb.simd.compute_unit_properties import ComputeUnitCheck
from cyclebound.tb.simd.control_stack_properties import (
    ControlStackCheck,
    ControlStackLevelCheck,
)
from cyclebound.tb.simd.lane_properties import LaneCheck
from cyclebound.tb.simd.scoreboard_properties import ScoreboardCheck
from cyclebound.tb.simd.special_functions_properties import (
    SpecialFunctionsCheck,
    SpecialFunctionsRangeCheck,
)

# Of a unit that takes an operation in every cycle; of long streams, single results are not printed.
_EXECUTE = (
    Observed("result", arithmetic_bounds.execute_result,
             probe=Probe(start="valid", end="done", in_flight="stages", classed=True)),
    Observed("stream", arithmetic_bounds.execute_stream,
             probe=Probe(start="valid", end="done", starts="declared.operations",
                         ends="declared.operations")),
)


def _unit(harness):
    return harness.unit


# An instruction's first token commits; 0 is the number of none, so that nothing begins before a
# requester says which instructions it means.
_COMMIT = "commit.valid & commit.payload.first & ~commit.payload.injected"
_INSTRUCTION = _COMMIT + " & (commit.payload.index + 1 == declared.{})"
_FIRST, _SECOND = (_INSTRUCTION.format(name) for name in ("first", "second"))


def _interval(claim, start=_FIRST, end=_SECOND):
    """From an instruction to another."""
    return Observed(claim.name, claim, Probe(start=f"past({start})", end=end))


_MACHINES = {
    "small": "small",
    # the stages in brackets in Sim-D's notes, and as few warps as there can be
    "short": "small decode_stages=1 execute_stages=3",
    "one_warp": "small items=8 special_units=8",
    "paper": "paper",
}

_TINY = tuple({"machine": f"small lanes=2 items={items} special_units=1"} for items in (2, 4))

_INJECTED = "commit.valid & commit.payload.first & commit.payload.injected"
_SLOT = " & (commit.payload.slot == {})"

_INTERVALS = (*(_interval(each) for each in (
    pipeline_bounds.scalar, pipeline_bounds.scalar_dependent, pipeline_bounds.vector,
    pipeline_bounds.vector_dependent, pipeline_bounds.special, pipeline_bounds.special_dependent,
    pipeline_bounds.division, pipeline_bounds.division_again, pipeline_bounds.division_dependent,
    pipeline_bounds.jump_taken, pipeline_bounds.jump_not_taken, pipeline_bounds.vector_jump,
    pipeline_bounds.push_to_pop)),
    *(_interval(each, start=_FIRST + _SLOT.format(0), end=_SECOND + _SLOT.format(1))
      for each in (pipeline_bounds.access_turn, pipeline_bounds.end_turn)),
    _interval(pipeline_bounds.emptied,
              end=f"first({_INJECTED}, {_FIRST}) & any(declared.first)"),
    _interval(pipeline_bounds.injected, start=f"{_INJECTED} & any(declared.second)"),
)

BLOCKS = (
    Block(
        name="simd.special_functions",
        summary="reciprocal unit: 1/x, 1/sqrt(x), sine and cosine in single precision",
        component=SpecialFunctions,
        configurations={
            # Sim-D, section 3.1: a five-stage execute pipeline
            "paper": Configuration({"stages": 5}),
            # a register after every step, for the clock of an FPGA
            "deep": Configuration({"stages": SpecialFunctions.STEPS}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.simd.special_functions", quick=("paper",)),
            Testbench("harness", "cyclebound.tb.simd.special_functions_harness",
                      top=SpecialFunctionsHarness, probed=_unit, quick=("paper",)),
            Testbench("ten_million", "cyclebound.tb.simd.special_functions_ten_million",
                      top=SpecialFunctionsHarness, probed=_unit, thorough=True,
                      max_cycles=50_000_000),
        ),
        bounds=_EXECUTE,
        properties=(
            Property(
                name="results",
                quick=1,
                says="a result comes stages cycles after its operand, and none without one; it is "
                     "NaN where the function has no value and nowhere else; reciprocals keep the "
                     "sign, roots are positive",
                checker=SpecialFunctionsCheck,
                instances=tuple({"stages": stages} for stages in (5, SpecialFunctions.STEPS)),
                depth=SpecialFunctions.STEPS + 2,
                induction=SpecialFunctions.STEPS + 2,
                any_product=True,
            ),
        ),
        checker=SpecialFunctionsRangeCheck,
        fpga=FpgaTarget("deep"),
        signals=("top.dut.valid", "top.dut.function", "top.dut.operand", "top.dut.done",
                 "top.dut.result"),
    ),
    Block(
        name="simd.lane",
        summary="lane: floating point in single precision, integers and logic on 32-bit words",
        component=Lane,
        configurations={
            "paper": Configuration({"stages": 5}),  # Sim-D, section 3.1
            "deep": Configuration({"stages": Lane.STEPS}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.simd.lane", quick=("paper",)),
            Testbench("harness", "cyclebound.tb.simd.lane_harness", top=LaneHarness,
                      probed=_unit, quick=("paper",)),
            Testbench("million", "cyclebound.tb.simd.lane_million", top=LaneHarness,
                      probed=_unit, thorough=True, max_cycles=100_000_000),
        ),
        bounds=_EXECUTE,
        properties=(
            Property(
                name="results",
                quick=0,
                says="a result comes stages cycles after its operands, and none without them; "
                     "words and integers are moved, added, compared and combined exactly; there "
                     "is one NaN",
                checker=LaneCheck,
                instances=tuple({"stages": stages} for stages in (5, Lane.STEPS)),
                depth=Lane.STEPS + 2,
                induction=Lane.STEPS + 2,
                any_product=True,
            ),
        ),
        checker=LaneCheck,
        fpga=FpgaTarget("deep"),
        signals=("top.dut.valid", "top.dut.operation", "top.dut.a", "top.dut.b", "top.dut.c",
                 "top.dut.done", "top.dut.result"),
    ),
    Block(
        name="simd.compute_unit",
        summary="compute unit: two work-groups take turns on a pipeline of lanes",
        component=ComputeUnit,
        configurations={
            name: Configuration({"machine": machine}) for name, machine in _MACHINES.items()
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.simd.compute_unit", quick=("small",),
                      observes=False),
            Testbench("intervals", "cyclebound.tb.simd.compute_unit_intervals",
                      quick=("small",)),
            Testbench("random", "cyclebound.tb.simd.compute_unit_random", observes=False,
                      configurations=("small", "short", "one_warp"), thorough=True,
                      max_cycles=100_000_000),
        ),
        bounds=_INTERVALS,
        checker=ComputeUnitCheck,
        properties=(
            Property(
                name="lanes",
                says="masked lanes write nothing; a work-group computes or transfers, and not "
                     "both; no instruction commits for a slot without a work-group",
                checker=ComputeUnitCheck,
                instances=({"machine": "small lanes=2 items=4 special_units=1 decode_stages=1 "
                                       "execute_stages=1 divider_cycles=1"},),
                depth=9,
                induction=6,
                any_product=True,
            ),
            Property(
                name="operands",
                quick=1,
                says="no operand is read that an instruction under way is still to write, and no "
                     "instruction waits where nothing is under way",
                checker=ScoreboardCheck,
                top=Scoreboard,
                instances=tuple({"machine": name} for name in _MACHINES.values()),
                depth=12,
                induction=12,
            ),
            Property(
                name="stack_level",
                says="if a push never finds it full nor a pop empty, and they fault where it "
                     "does, the control stack has as many entries as were pushed and not "
                     "popped, at most 16",
                checker=ControlStackLevelCheck,
                top=ControlStack,
                instances=_TINY,
                depth=6,
                induction=2,
            ),
            Property(
                name="stack_entries",
                quick=1,
                says="the top entry of the control stack is the last that was pushed and not "
                     "popped",
                checker=ControlStackCheck,
                top=ControlStack,
                instances=_TINY,
                depth=10,
                induction=None,
            ),
        ),
        signals=("top.dut.commit__valid", "top.dut.commit__payload", "top.dut.access__valid",
                 "top.dut.access__payload", "top.dut.occupied", "top.dut.fault__valid"),
    ),
)
