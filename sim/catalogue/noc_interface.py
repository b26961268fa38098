"""The network interface."""

from cyclebound.golden.noc import bounds
from cyclebound.hdl.noc.network_interface import NetworkInterface
from cyclebound.sim.block import Block, Configuration, FpgaTarget, Observed, Testbench

BLOCKS = (
    Block(
        name="noc.network_interface",
        summary="a DMA's transactions as packets within TDMA windows, and back",
        component=NetworkInterface,
        configurations={
            "small": Configuration({"width": 16, "payload": 4}),
            "paper": Configuration({"width": 32, "payload": 64}),
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.noc.network_interface"),),
        bounds=(
            Observed("wait", bounds.window_wait),
            Observed("injection", bounds.injection),
            Observed("reception", bounds.reception),
        ),
        fpga=FpgaTarget("paper"),
        signals=("top.dut.sender.left", "top.dut.injected__valid", "top.dut.injected__payload",
                 "top.dut.received__valid", "top.dut.received__payload"),
    ),
)
