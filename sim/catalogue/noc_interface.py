"""The network interface, and the sending half of one with several flows."""

import functools

from cyclebound.golden.noc import bounds
from cyclebound.hdl.noc.flow_senders import FlowSenders
from cyclebound.hdl.noc.network_interface import NetworkInterface
from cyclebound.sim.describe.block import (
    Block,
    BoundBinding,
    Configuration,
    FpgaTarget,
    Property,
    Testbench,
)
from cyclebound.tb.noc.flow_senders_properties import (
    FlowSendersApartProof,
    FlowSendersCheck,
    FlowSendersWholeProof,
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
    Block(
        name="noc.flow_senders",
        summary="several flows at a network interface, each with its own window",
        component=FlowSenders,
        configurations={
            "small": Configuration({"flows": 3, "width": 16, "payload": 4}),
            "paper": Configuration({"flows": 5, "width": 32, "payload": 64}),
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.noc.flow_senders", quick=("small",)),),
        bounds=(
            BoundBinding("injection", bounds.injection, probe=Probe(
                start=taken("transactions[f]"), end="sent[f]", in_flight=2, classed=True,
                over={"f": "flows"},
                request={"words": "transactions[f].payload.words", "period": "windows[f].period",
                         "length": "windows[f].length", "crossing": "windows[f].crossing",
                         "offset": "windows[f].offset"})),
        ),
        properties=(
            Property(
                name="apart",
                quick=0,
                says="at most one flow has a flit for the link in a cycle, whatever the windows "
                     "are, and nothing is on offer outside of them",
                checker=FlowSendersApartProof,
                instances=({"flows": 2, "width": 8, "payload": 4},),
                depth=10,
                induction=3,
            ),
            Property(
                name="whole",
                quick=0,
                says="packets are kept together on the link, whatever windows and network are",
                checker=FlowSendersWholeProof,
                instances=({"flows": 2, "width": 8, "payload": 4},
                           {"flows": 4, "width": 8, "payload": 4}),
                depth=10,
                induction=3,
            ),
        ),
        checker=FlowSendersCheck,
        fpga=FpgaTarget("paper"),
        signals=("top.dut.source__valid", "top.dut.source__payload", "top.dut.overlaps"),
    ),
)
