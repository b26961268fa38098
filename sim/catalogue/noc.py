"""Blocks of the networks on chip."""

from cyclebound.golden.noc import bounds
from cyclebound.hdl.noc.arbiter import RoundRobinArbiter
from cyclebound.sim.block import Block, Configuration, FpgaTarget, Observed, Testbench

BLOCKS = (
    Block(
        name="noc.arbiter",
        summary="round-robin arbiter that holds a grant until it is accepted",
        component=RoundRobinArbiter,
        configurations={
            "four": Configuration({"count": 4}),
            "paper": Configuration({"count": 11}),  # 10 cores and a DMA [Table III]
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.noc.arbiter"),),
        bounds=(Observed("grant", bounds.round_robin_wait),),
        fpga=FpgaTarget("paper"),
    ),
)
