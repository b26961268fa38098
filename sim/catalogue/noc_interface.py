"""The network interface."""

import functools

from cyclebound.golden.noc import bounds
from cyclebound.hdl.noc.network_interface import NetworkInterface
from cyclebound.sim.describe.block import (
    Block,
    BoundBinding,
    Configuration,
    FpgaTarget,
    Property,
    Testbench,
)
from cyclebound.tb.noc.network_interface_properties import (
    InterfaceCheck,
    InterfaceFitProof,
    InterfaceWindowProof,
)
from cyclebound.tb.probe import Probe, taken

_transaction = functools.partial(
    Probe, start=taken("transactions"), in_flight=2, classed=True,
    request={"words": "transactions.payload.words", "period": "window.period",
             "length": "window.length", "crossing": "window.crossing",
             "offset": "window.offset"})
_PROVED = ({"width": 8, "payload": 4}, {"width": 8, "payload": 64})

BLOCKS = (
    Block(
        name="noc.network_interface",
        summary="a DMA's transactions as packets within TDMA windows, and back",
        component=NetworkInterface,
        configurations={
            "small": Configuration({"width": 16, "payload": 4}),
            "paper": Configuration({"width": 32, "payload": 64}),
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.noc.network_interface", quick=("small",),
                               least={"payload": 3}),),
        bounds=(
            # of transactions of one packet
            BoundBinding("first_header", bounds.first_header, probe=_transaction(
                end=taken("injected") + " & injected.payload.first")),
            BoundBinding("injection", bounds.injection, probe=_transaction(end="sent")),
            # a packet; testbenches let each end a transaction
            BoundBinding("reception", bounds.reception, probe=Probe(
                start=taken("arriving") + " & arriving.payload.last",
                end=taken("received") + " & received.payload.last", in_flight=4)),
        ),
        properties=(
            Property(
                name="window",
                quick=1,
                says="nothing is on offer to the network outside the window, whatever the network "
                     "does; nor for a window that is none",
                checker=InterfaceWindowProof,
                instances=_PROVED,
                depth=10,
                induction=3,
            ),
            Property(
                name="fit",
                quick=0,
                says="in a network that never stalls, no packet begins that does not arrive within "
                     "the window",
                checker=InterfaceFitProof,
                instances=_PROVED,
                depth=10,
                induction=5,
            ),
        ),
        checker=InterfaceCheck,
        fpga=FpgaTarget("paper"),
        signals=("top.dut.sender.left", "top.dut.injected__valid", "top.dut.injected__payload",
                 "top.dut.received__valid", "top.dut.received__payload"),
    ),
)
