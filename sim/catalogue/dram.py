"""The DRAM controller: the path from a request to DRAM, whole."""

from cyclebound.golden.dram import anywhere_bounds, bounds, index_bounds, pipeline_bounds
from cyclebound.hdl.dram.controller import DramController
from cyclebound.hdl.dram.controller_data_harness import DramDataHarness
from cyclebound.hdl.dram.controller_harness import DramControllerHarness
from cyclebound.sim.block import Block, Configuration, FpgaTarget, Observed, Testbench
from cyclebound.tb.dram.timing_properties import DramTimingCheck


def pins(component):
    """The checker of a component's DRAM pins."""
    return DramTimingCheck(part=component.part)


BLOCKS = (
    Block(
        name="dram.controller",
        summary="mapped buffers, tiles and indexes to DRAM, closed pages between requests",
        component=DramController,
        configurations={
            # Sim-D, Table 1; all alignments in a row of all banks
            "2bg": Configuration({"part": "ddr4-3200aa-x16"},
                                 domain={"bursts": range(1, 65), "write": range(2),
                                         "alignments": range(1024, 1025)}),
            "4bg": Configuration({"part": "ddr4-3200aa-x8"},
                                 domain={"bursts": range(1, 65), "write": range(2),
                                         "alignments": range(2048, 2049)}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.dram.controller", quick=("2bg",)),
            Testbench("indexed", "cyclebound.tb.dram.controller_indexed", quick=()),
            Testbench("harness", "cyclebound.tb.dram.controller_harness",
                      top=DramControllerHarness, max_cycles=50_000_000, checker=pins, quick=()),
            Testbench("data", "cyclebound.tb.dram.controller_data_harness", top=DramDataHarness,
                      max_cycles=10_000_000, checker=pins, quick=()),
            Testbench("data_sweep", "cyclebound.tb.dram.controller_data_sweep",
                      top=DramDataHarness, max_cycles=400_000_000, checker=pins, thorough=True),
            Testbench("sweep", "cyclebound.tb.dram.controller_sweep", top=DramControllerHarness,
                      max_cycles=400_000_000, checker=pins, thorough=True),
        ),
        bounds=(
            Observed("tile", bounds.tile_issue_delay, exhaustive=True),
            Observed("tile_anywhere", anywhere_bounds.tile_anywhere),
            Observed("tile_lines", bounds.tile_2d_issue_delay),
            Observed("tile_lines_anywhere", anywhere_bounds.tile_2d_anywhere),
            Observed("load", pipeline_bounds.with_refreshes),
            Observed("indexed", index_bounds.indexed_issue_delay),
            Observed("completion", pipeline_bounds.controller_completion),
            Observed("completion_anywhere", anywhere_bounds.completion_anywhere),
            Observed("completion_lines", pipeline_bounds.controller_completion_2d),
            Observed("completion_lines_anywhere", anywhere_bounds.completion_2d_anywhere),
            Observed("completion_indexed", pipeline_bounds.controller_completion_indexed),
            Observed("refusal", pipeline_bounds.buffer_lookup),
            Observed("mapping", pipeline_bounds.buffer_mapping),
        ),
        checker=pins,
        fpga=FpgaTarget("2bg"),
        signals=("top.dut.request__valid", "top.dut.request__ready", "top.dut.started",
                 "top.command.op", "top.command.bank", "top.dut.deliver__valid",
                 "top.dut.fetch__valid", "top.dut.completion__valid"),
    ),
)
