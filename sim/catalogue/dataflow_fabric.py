"""Dataflow: what is between the units of an SGMF core, and the core."""

from cyclebound.golden.dataflow import fabric_bounds
from cyclebound.golden.dataflow.grid import FIVE_BY_FIVE
from cyclebound.hdl.dataflow.fabric import Fabric
from cyclebound.sim.block import Block, Configuration, FpgaTarget, Observed, Testbench

BLOCKS = (
    Block(
        name="dataflow.fabric",
        summary="grid of units and switches, configured through a port; runs mapped kernels",
        component=Fabric,
        configurations={
            "small": Configuration({"rows": ("SLLL", "SCKL", "LLLT"), "depth": 4, "tid_width": 8,
                                    "address_width": 12}),
            "five_by_five": Configuration({"rows": FIVE_BY_FIVE.rows, "depth": 16,
                                           "tid_width": 11, "address_width": 16}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.dataflow.fabric", configurations=("small",)),
        ),
        bounds=(
            Observed("stream", fabric_bounds.fabric_stream),
            Observed("completion", fabric_bounds.fabric_completion),
        ),
        fpga=FpgaTarget("five_by_five"),
        signals=("top.dut.start", "top.dut.done", "top.dut.memory__0__request__valid"),
    ),
)
