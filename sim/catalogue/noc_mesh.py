"""The mesh."""

from cyclebound.golden.noc import bounds
from cyclebound.hdl.noc.mesh import Mesh
from cyclebound.hdl.noc.mesh_harness import MeshHarness
from cyclebound.hdl.noc.mesh_interfaces import InterfacedMesh
from cyclebound.sim.block import (
    Block,
    Configuration,
    FpgaTarget,
    Observed,
    Picture,
    Testbench,
)

BLOCKS = (
    Block(
        name="noc.mesh",
        summary="rows and columns of wormhole routers",
        component=Mesh,
        configurations={
            "square": Configuration({"rows": 2, "columns": 2, "width": 16, "depth": 3, "delta": 2,
                                     "routing": "source", "longest": 7}),
            "oblong": Configuration({"rows": 2, "columns": 3, "width": 16, "depth": 4, "delta": 3,
                                     "routing": "xy", "longest": 5}),
            "four": Configuration({"rows": 4, "columns": 4, "width": 32, "depth": 4, "delta": 2,
                                   "routing": "source", "longest": 6}),
            **{f"harness{size}": Configuration({
                "rows": size, "columns": size, "width": 32, "depth": 4, "delta": 2,
                "routing": "xy", "longest": 66}) for size in (2, 4, 8)},
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.noc.mesh", configurations=("square", "oblong")),
            Testbench("interfaces", "cyclebound.tb.noc.mesh_interfaces", top=InterfacedMesh,
                      configurations=("square", "oblong")),
            Testbench("harness", "cyclebound.tb.noc.mesh_harness", top=MeshHarness,
                      configurations=("harness2",)),
            Testbench("large", "cyclebound.tb.noc.mesh_harness", top=MeshHarness,
                      configurations=("harness4", "harness8"), thorough=True,
                      max_cycles=20_000_000),
            Testbench("traffic", "cyclebound.tb.noc.mesh_traffic", configurations=("four",),
                      thorough=True, max_cycles=10_000_000),
        ),
        bounds=(
            Observed("alone", bounds.t_noc),
            Observed("transfer", bounds.transfer, configurations=("square", "oblong")),
            Observed("traversal", bounds.traversal),
        ),
        fpga=FpgaTarget("four"),
        pictures=(
            Picture("composable", "When each word of a flow's requests arrives, the other tiles "
                    "silent or saturating: with TDMA tables the same, cycle by cycle, and without.",
                    "cyclebound.sim.pictures.mesh:composable", kept="arrivals.json",
                    testbenches=("interfaces",)),
            Picture("curves", "Throughput and latency over offered load, up to saturation, for "
                    "each traffic.", "cyclebound.sim.pictures.mesh:curves", kept="curves.json",
                    testbenches=("harness", "large")),
        ),
    ),
)
