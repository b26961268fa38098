"""Dataflow: where threads begin, and graphs made of units."""

from cyclebound.golden.dataflow import bounds
from cyclebound.hdl.dataflow.load_chain import LoadChain
from cyclebound.hdl.dataflow.thread_source import ThreadSource
from cyclebound.sim.block import (
    Block,
    BoundBinding,
    Configuration,
    FpgaTarget,
    Testbench,
)
from cyclebound.tb.dataflow.load_chain_properties import QUICK, SLOW, LoadChainObserver
from cyclebound.tb.probe import Probe, taken

BLOCKS = (
    Block(
        name="dataflow.thread_source",
        summary="a constant of the graph; starts a thread whenever it can be taken",
        component=ThreadSource,
        configurations={
            "small": Configuration({"tid_width": 4, "width": 8}),
            "paper": Configuration({"tid_width": 10, "width": 32}),
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.dataflow.thread_source", quick=("small",)),),
        bounds=(BoundBinding("threads", bounds.source_threads, Probe(
            start="start & ~busy", end=taken("tokens"), ends="declared.threads")),),
        fpga=FpgaTarget("paper"),
    ),
    Block(
        name="dataflow.load_chain",
        summary="two loads in a chain and an adder: Figure 4's deadlock, and none with epochs",
        component=LoadChain,
        configurations={
            "figure4": Configuration({"depth": 2, "tid_width": 3, "threads": 4, "width": 4},
                                     domain={"memory": (SLOW,), "late": range(256)}),
        },
        testbenches=(Testbench("orders", "cyclebound.tb.dataflow.load_chain"),),
        bounds=(
            # the sources start in the first cycle after reset
            BoundBinding("completion", bounds.chain_completion, Probe(
                start="first(1, 0)", end=taken("sums"), ends="threads",
                conditions={"late": "observer.late"}, observer=LoadChainObserver), exhaustive=True,
                exhausts=f"a memory that answers in the cycle number {QUICK} ({QUICK + 1} in the "
                         f"turn of another answer) or {SLOW} of each access, where the bound "
                         "allows any cycle up to that"),
            BoundBinding("even", bounds.chain_even, Probe(
                start="first(1, 0)", end=taken("sums"), ends="threads")),
        ),
        signals=("top.dut.memory__0__request__valid", "top.dut.memory__0__response__valid",
                 "top.dut.memory__1__request__valid", "top.dut.memory__1__response__valid",
                 "top.dut.sums__valid", "top.dut.sums__payload"),
    ),
)
