"""The mesh."""

from cyclebound.golden.noc import bounds
from cyclebound.hdl.noc.mesh import Mesh
from cyclebound.sim.block import Block, Configuration, Observed, Testbench

BLOCKS = (
    Block(
        name="noc.mesh",
        summary="rows and columns of wormhole routers",
        component=Mesh,
        configurations={
            "square": Configuration({"rows": 2, "columns": 2, "width": 16, "depth": 2, "delta": 1,
                                     "routing": "source", "longest": 7}),
            "oblong": Configuration({"rows": 2, "columns": 3, "width": 16, "depth": 4, "delta": 2,
                                     "routing": "xy", "longest": 5}),
            "four": Configuration({"rows": 4, "columns": 4, "width": 32, "depth": 4, "delta": 1,
                                   "routing": "source", "longest": 6}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.noc.mesh", configurations=("square", "oblong")),
            Testbench("traffic", "cyclebound.tb.noc.mesh_traffic", configurations=("four",),
                      thorough=True, max_cycles=10_000_000),
        ),
        bounds=(
            Observed("alone", bounds.t_noc),
            Observed("traversal", bounds.traversal),
        ),
    ),
)
