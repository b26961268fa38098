"""SHMAC's routers."""

from cyclebound.golden.noc import shmac_bounds as bounds
from cyclebound.hdl.noc.handshake_router import HandshakeRouter
from cyclebound.sim.block import (
    Block,
    Configuration,
    FpgaTarget,
    Observed,
    Testbench,
)

BLOCKS = (
    Block(
        name="noc.handshake_router",
        summary="SHMAC's router: request, data, acknowledge; not pipelined",
        component=HandshakeRouter,
        configurations={
            "thesis": Configuration({"slave_acknowledge": "passed", "address_bits": 24,
                                     "data_bits": 32}),
            "early": Configuration({"slave_acknowledge": "accepted", "address_bits": 4,
                                    "data_bits": 8}),
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.noc.handshake_router"),),
        bounds=(
            Observed("hop", bounds.handshake_hop),
            Observed("accept", bounds.handshake_accept),
        ),
        fpga=FpgaTarget("thesis"),
    ),
)
