"""Tiles of several kinds on one DRAM."""

from cyclebound.golden.system.tiled import product_cycles
from cyclebound.hdl.system.tiled import TiledSystem
from cyclebound.hdl.system.tiled_harness import TiledHarness
from cyclebound.sim.catalogue.dram import pins
from cyclebound.sim.describe.block import Block, BoundBinding, Configuration, Testbench
from cyclebound.tb.probe import Probe

_SMALL = {"machine": "small", "part": "ddr4-3200aa-x16", "size": 4, "depth": 256, "bursts": 16,
          "slots": 8, "memory_width": 16, "queue_depth": 32}

BLOCKS = (
    Block(
        name="system.tiled",
        summary="a SIMD and a systolic accelerator on one DRAM controller, each with its bound",
        component=TiledSystem,
        configurations={
            "turns": Configuration(_SMALL),
            # room for tiles of 16 bursts and a refresh
            "windows": Configuration({**_SMALL, "windows": [740, 740]}),
        },
        testbenches=(
            Testbench("jobs", "cyclebound.tb.system.tiled", top=TiledHarness, checker=pins,
                      probed=lambda harness: harness.system, thorough=True),
        ),
        bounds=(
            BoundBinding("product", product_cycles, Probe(
                start="past(systolic_command.valid & systolic_command.ready & systolic_idle)",
                end="systolic_idle & past(~systolic_idle)")),
        ),
        signals=("top.system.systolic_idle", "top.system.idle", "top.system.grants"),
    ),
)
