"""The stages that make DRAM commands: command generator and command arbiter."""

from cyclebound.golden.dram import bounds, pipeline_bounds
from cyclebound.hdl.dram.command_arbiter import CommandArbiter
from cyclebound.hdl.dram.command_generator import CommandGenerator
from cyclebound.sim.block import Block, Configuration, FpgaTarget, Observed, Testbench
from cyclebound.tb.dram.command_arbiter_properties import CommandArbiterCheck
from cyclebound.tb.dram.command_generator_properties import CommandGeneratorCheck

_PARTS = {"x16": "ddr4-3200aa-x16", "x8": "ddr4-3200aa-x8", "slow": "ddr4-1866m-x16",
          "ddr3": "ddr3-1600-module"}

BLOCKS = (
    Block(
        name="dram.command_generator",
        summary="address mapping, precharge policy, and a FIFO for each bank",
        component=CommandGenerator,
        configurations={name: Configuration({"part": part}) for name, part in _PARTS.items()},
        testbenches=(Testbench("cycle", "cyclebound.tb.dram.command_generator"),),
        bounds=(Observed("burst", pipeline_bounds.generator_burst),),
        checker=CommandGeneratorCheck,
        fpga=FpgaTarget("x16"),
        signals=("top.dut.bursts__valid", "top.dut.bursts__ready", "top.dut.describe__valid",
                 "top.dut.busy", "top.dut.pop"),
    ),
    Block(
        name="dram.command_arbiter",
        summary="one legal command per cycle from the heads of the banks' FIFOs",
        component=CommandArbiter,
        configurations={
            **{name: Configuration({"part": part}) for name, part in _PARTS.items()},
            "x16_carry": Configuration({"part": "ddr4-3200aa-x16", "carry": True}),
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.dram.command_arbiter"),),
        bounds=(
            Observed("tile", bounds.tile_issue_delay),
            Observed("refresh", pipeline_bounds.arbiter_refresh),
            Observed("refresh_wait", pipeline_bounds.arbiter_refresh_wait),
        ),
        checker=CommandArbiterCheck,
        fpga=FpgaTarget("x16"),
        signals=("top.dut.command", "top.dut.pop", "top.dut.rest", "top.dut.idle",
                 "top.dut.refreshed"),
    ),
)
