"""The wormhole router."""

from cyclebound.golden.noc import bounds
from cyclebound.hdl.noc.wormhole_router import WormholeRouter
from cyclebound.sim.block import Block, Configuration, FpgaTarget, Observed, Testbench

BLOCKS = (
    Block(
        name="noc.wormhole_router",
        summary="wormhole router: packets kept together, round robin among packets",
        component=WormholeRouter,
        configurations={
            "paper": Configuration({"width": 32, "depth": 4, "delta": 1, "routing": "source",
                                    "longest": 66, "ports": 5}),
            # Table III: delta_R = 5
            "slow": Configuration({"width": 32, "depth": 8, "delta": 5, "routing": "source",
                                   "longest": 6, "ports": 5}),
            "xy": Configuration({"width": 16, "depth": 3, "delta": 2, "routing": "xy",
                                 "longest": 6, "ports": 5}),
            "three": Configuration({"width": 16, "depth": 2, "delta": 1, "routing": "source",
                                    "longest": 3, "ports": 3}),
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.noc.wormhole_router"),),
        bounds=(
            Observed("alone", bounds.t_noc),
            Observed("hop", bounds.packet_hop),
        ),
        fpga=FpgaTarget("paper"),
        signals=("top.dut.input_0.valid", "top.dut.input_0.want", "top.dut.output_1.owner",
                 "top.dut.sources__1__valid", "top.dut.sources__1__payload"),
    ),
)
