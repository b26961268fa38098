"""The wormhole router."""

import functools

from cyclebound.golden.noc import bounds
from cyclebound.hdl.noc.wormhole_router import WormholeRouter
from cyclebound.sim.describe.block import (
    Block,
    BoundBinding,
    Configuration,
    FpgaTarget,
    Property,
    Testbench,
)
from cyclebound.tb.noc.wormhole_router_properties import (
    RouterCheck,
    RouterCreditProof,
    RouterFairProof,
    RouterOrderProof,
)
from cyclebound.tb.probe import Probe, taken

# A packet, from its header's transfer to its last flit's. Testbenches mark each flit of a packet,
# in bits 8 to 10 as it leaves, with the input that it came by.
_through = functools.partial(
    Probe, start=f"{taken('sinks[i]')} & sinks[i].payload.first",
    end=f"any({taken('sources[o]')} & sources[o].payload.last"
        " & (sources[o].payload.data[8:11] == i) for o in sources)",
    over={"i": "sinks"}, in_flight=16)

_SMALL = {"width": 8, "depth": 3, "delta": 2, "routing": "source", "longest": 3, "ports": 5}

BLOCKS = (
    Block(
        name="noc.wormhole_router",
        summary="wormhole router: packets kept together, round robin among packets",
        component=WormholeRouter,
        configurations={
            "paper": Configuration({"width": 32, "depth": 4, "delta": 2, "routing": "source",
                                    "longest": 66, "ports": 5}),
            # Table III: delta_R = 5
            "slow": Configuration({"width": 32, "depth": 8, "delta": 5, "routing": "source",
                                   "longest": 6, "ports": 5}),
            "xy": Configuration({"width": 16, "depth": 4, "delta": 3, "routing": "xy",
                                 "longest": 6, "ports": 5}),
            # four ports: two headers may wait for an output while it sends a third one's packet
            "four": Configuration({"width": 16, "depth": 3, "delta": 2, "routing": "source",
                                   "longest": 3, "ports": 4}),
        },
        testbenches=(Testbench(
            "cycle", "cyclebound.tb.noc.wormhole_router", quick=("four",),
            least={"width": 14, "ports": 3}),),  # it tags flits in bits 8 to 13
        bounds=(
            BoundBinding("alone", bounds.t_noc, probe=_through()),
            # a packet's turn: it can be the head of its input, or could, if it had been taken
            BoundBinding("hop", bounds.packet_hop,
                         probe=_through(in_turn=True, ahead="delta + 1")),
        ),
        properties=(
            Property(
                name="fair",
                quick=1,
                says="a header that waits for an output sees at most one packet of each other "
                     "input begin there, an output is never idle while one waits, and packets are "
                     "kept together",
                checker=RouterFairProof,
                instances=({**_SMALL, "ports": 3}, _SMALL, {**_SMALL, "depth": 4},
                           {**_SMALL, "depth": 4, "delta": 3, "routing": "xy"}),
                depth=6,
                induction=3,
            ),
            Property(
                name="credits",
                quick=0,
                says="whatever an input takes has a place in its FIFO",
                checker=RouterCreditProof,
                # an input's FIFO is the same whatever the number of ports and the routing
                instances=tuple({**_SMALL, "depth": depth, "delta": delta, "ports": 2}
                                for depth, delta in ((3, 2), (5, 2), (4, 3))),
                depth=8,
                induction=3,
            ),
            Property(
                name="order",
                quick=0,
                says="between two ports, no flit is lost, duplicated or reordered",
                checker=RouterOrderProof,
                instances=tuple({**_SMALL, "depth": depth, "delta": delta, "ports": 2}
                                for depth, delta in ((3, 2), (4, 2), (4, 3))),
                depth=10,
                induction=3,
            ),
        ),
        checker=RouterCheck,
        fpga=FpgaTarget("paper"),
        signals=("top.dut.input_0.valid", "top.dut.input_0.want", "top.dut.output_1.owner",
                 "top.dut.sources__1__valid", "top.dut.sources__1__payload"),
        unused_inputs=("position",),  # with routes given by the source
    ),
)
