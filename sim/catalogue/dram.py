"""The DRAM controller: the path from a request to DRAM, whole."""

from cyclebound.hdl.dram.controller import DramController
from cyclebound.hdl.dram.controller_harness import DramControllerHarness
from cyclebound.sim.block import Block, Configuration, FpgaTarget, Testbench

BLOCKS = (
    Block(
        name="dram.controller",
        summary="mapped buffers, tiles and indexes to DRAM, closed pages between requests",
        component=DramController,
        configurations={
            # Sim-D, Table 1
            "2bg": Configuration({"part": "ddr4-3200aa-x16"}),
            "4bg": Configuration({"part": "ddr4-3200aa-x8"}),
        },
        testbenches=(
            Testbench("harness", "cyclebound.tb.dram.controller_harness",
                      top=DramControllerHarness, max_cycles=400_000_000),
        ),
        bounds=(),
        fpga=FpgaTarget("2bg"),
    ),
)
