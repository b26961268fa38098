"""Units of the SIMD accelerator."""

from cyclebound.golden.simd import arithmetic_bounds
from cyclebound.hdl.simd.execute_harness import LaneHarness, SpecialFunctionsHarness
from cyclebound.hdl.simd.lane import Lane
from cyclebound.hdl.simd.special_functions import SpecialFunctions
from cyclebound.sim.block import (
    Block,
    Configuration,
    FpgaTarget,
    Observed,
    Property,
    Testbench,
)
from cyclebound.tb.pipeline_properties import PipelineProof
from cyclebound.tb.probe import Probe
from cyclebound.tb.simd.lane_properties import LaneCheck
from cyclebound.tb.simd.special_functions_properties import (
    SpecialFunctionsCheck,
    SpecialFunctionsRangeCheck,
)

# Of a unit that takes an operation in every cycle; of long streams, single results are not printed.
_EXECUTE = (
    Observed("result", arithmetic_bounds.execute_result, proved_by=("latency",),
             probe=Probe(start="valid", end="done", in_flight="stages", classed=True)),
    Observed("stream", arithmetic_bounds.execute_stream,
             probe=Probe(start="valid", end="done", starts="declared.operations",
                         ends="declared.operations")),
)


def _unit(harness):
    return harness.unit


def _latency(steps):
    """Of both, with 5 stages and with a register after each step."""
    return Property(
        name="latency",
        quick=1,
        says="each operation has its result after as many cycles as there are stages, whichever "
             "come before and after it",
        checker=PipelineProof,
        instances=tuple({"stages": stages} for stages in (5, steps)),
        declares={"result": lambda instance: {}},
        depth=steps + 3,
        induction=steps + 3,
        any_product=True,
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
            _latency(SpecialFunctions.STEPS),
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
            _latency(Lane.STEPS),
        ),
        checker=LaneCheck,
        fpga=FpgaTarget("deep"),
        signals=("top.dut.valid", "top.dut.operation", "top.dut.a", "top.dut.b", "top.dut.c",
                 "top.dut.done", "top.dut.result"),
    ),
)
