"""Tiles of several kinds on one DRAM."""

from cyclebound.golden.system.fabric import FABRIC, fabric_job, line_transfer
from cyclebound.golden.system.tiled import product_cycles
from cyclebound.hdl.system.tiled import TiledSystem
from cyclebound.hdl.system.tiled_harness import TiledHarness
from cyclebound.sim.catalogue.dram import pins
from cyclebound.sim.describe.block import Block, BoundBinding, Configuration, Testbench
from cyclebound.tb.probe import Probe

_SMALL = {"machine": "small", "part": "ddr4-3200aa-x16", "size": 4, "depth": 256, "bursts": 16,
          "slots": 8, "memory_width": 16, "queue_depth": 32}

_THREE = "three", "three_windows"

BLOCKS = (
    Block(
        name="system.tiled",
        summary="a SIMD and a systolic accelerator, and a dataflow core, on one DRAM controller, "
                "each with its bound",
        component=TiledSystem,
        configurations={
            "turns": Configuration(_SMALL),
            # room for tiles of 16 bursts and a refresh
            "windows": Configuration({**_SMALL, "windows": [740, 740]}),
            "three": Configuration({**_SMALL, "fabric": FABRIC}),
            "three_windows": Configuration({**_SMALL, "fabric": FABRIC,
                                            "windows": [740, 740, 680]}),
        },
        testbenches=(
            Testbench("jobs", "cyclebound.tb.system.tiled", top=TiledHarness, checker=pins,
                      probed=lambda harness: harness.system, thorough=True,
                      configurations=("turns", "windows")),
            Testbench("three", "cyclebound.tb.system.tiled", top=TiledHarness, checker=pins,
                      probed=lambda harness: harness.system, thorough=True, tests=("three",),
                      configurations=_THREE),
        ),
        bounds=(
            BoundBinding("product", product_cycles, Probe(
                start="past(systolic_command.valid & systolic_command.ready & systolic_idle)",
                end="systolic_idle & past(~systolic_idle)")),
            BoundBinding("job", fabric_job, Probe(
                start="past(dataflow_start)", end="dataflow_idle & past(~dataflow_idle)"),
                configurations=_THREE),
            BoundBinding("line", line_transfer, Probe(
                start="dataflow_taken", end="dataflow_over"), configurations=_THREE),
        ),
        signals=("top.system.systolic_idle", "top.system.idle", "top.system.grants"),
    ),
)
