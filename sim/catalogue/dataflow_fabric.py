"""Dataflow: what is between the units of an SGMF core, and the core."""

from cyclebound.golden.dataflow import fabric_bounds
from cyclebound.golden.dataflow.grid import FIVE_BY_FIVE
from cyclebound.hdl.dataflow.fabric import Fabric
from cyclebound.hdl.dataflow.switch import Switch
from cyclebound.hdl.dataflow.thread_sink import ThreadSink
from cyclebound.sim.block import (
    Block,
    Configuration,
    FpgaTarget,
    Observed,
    Property,
    Testbench,
)
from cyclebound.tb.dataflow.switch_properties import SwitchCheck, SwitchProof

BLOCKS = (
    Block(
        name="dataflow.switch",
        summary="statically configured crossbar; each output has one input's tokens",
        component=Switch,
        configurations={
            "tiny": Configuration({"ports": 3, "tid_width": 1, "width": 1}),
            "paper": Configuration({"ports": 8, "tid_width": 11, "width": 32}),
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.dataflow.switch"),),
        bounds=(
            Observed("hop", fabric_bounds.switch_hop, proved_by=("delivery",)),
            Observed("stream", fabric_bounds.switch_stream),
        ),
        properties=(
            Property(
                name="delivery",
                says="each output is offered exactly the tokens that its input has taken, in "
                     "order, each until it is taken, and nothing else; from the next cycle on, "
                     "unless another output of its input has still to take the one before",
                checker=SwitchProof,
                instances=tuple({"ports": ports, "tid_width": 1, "width": 1}
                                for ports in (3, 8)),
                decides=("ports",),
                depth=6,
                induction=3,
            ),
        ),
        checker=SwitchCheck,
        fpga=FpgaTarget("paper"),
        signals=("top.dut.inputs__0__valid", "top.dut.outputs__1__valid"),
    ),
    Block(
        name="dataflow.thread_sink",
        summary="where threads end; says when all of them have",
        component=ThreadSink,
        configurations={
            "small": Configuration({"operands": 3, "tid_width": 3, "width": 4}),
            "paper": Configuration({"operands": 8, "tid_width": 8, "width": 32}),
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.dataflow.thread_sink"),),
        bounds=(Observed("done", fabric_bounds.sink_done),),
        fpga=FpgaTarget("paper"),
        signals=("top.dut.done",),
    ),
    Block(
        name="dataflow.fabric",
        summary="grid of units and switches, configured through a port; runs mapped kernels",
        component=Fabric,
        configurations={
            "small": Configuration({"rows": ("SLLL", "SCKL", "LLLT"), "depth": 4, "tid_width": 8,
                                    "address_width": 12}),
            "five_by_five": Configuration({"rows": FIVE_BY_FIVE.rows, "depth": 16,
                                           "tid_width": 11, "address_width": 16}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.dataflow.fabric", configurations=("small",)),
            Testbench("kernels", "cyclebound.tb.dataflow.fabric_kernels",
                      configurations=("five_by_five",), thorough=True),
        ),
        bounds=(
            Observed("stream", fabric_bounds.fabric_stream),
            Observed("completion", fabric_bounds.fabric_completion),
        ),
        fpga=FpgaTarget("five_by_five"),
        signals=("top.dut.start", "top.dut.done", "top.dut.memory__0__request__valid"),
    ),
)
