"""What surrounds a systolic array when it computes whole layers."""

from cyclebound.golden.systolic.post_processing import post_process
from cyclebound.hdl.systolic.post_processing import PostProcessing
from cyclebound.sim.block import Block, Configuration, FpgaTarget, Observed, Testbench

BLOCKS = (
    Block(
        name="systolic.post_processing",
        summary="bias, scale, rounding and activation: sums become operands",
        component=PostProcessing,
        configurations={
            "tiny": Configuration(
                {"columns": 4, "accumulator_width": 5, "multiplier_width": 3, "result_width": 4},
                domain={"multiplier": range(8), "shift": range(10)}),
            "8": Configuration({"columns": 8}),
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.systolic.post_processing"),),
        bounds=(Observed("rows", post_process, exhaustive=True),),
        fpga=FpgaTarget("8"),
        signals=("top.dut.sums__valid", "top.dut.sums__ready", "top.dut.results__valid",
                 "top.dut.results__ready", "top.dut.results__payload"),
    ),
)
