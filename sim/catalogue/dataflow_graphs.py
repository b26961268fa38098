"""Dataflow: where threads begin, and graphs made of units."""

import functools

from cyclebound.golden.dataflow import bounds
from cyclebound.hdl.dataflow.diamond import Diamond
from cyclebound.hdl.dataflow.load_chain import LoadChain
from cyclebound.hdl.dataflow.thread_source import ThreadSource
from cyclebound.sim.block import (
    Block,
    Configuration,
    FpgaTarget,
    Observed,
    Property,
    Testbench,
)
from cyclebound.tb.dataflow.load_chain_properties import LoadChainCheck

BLOCKS = (
    Block(
        name="dataflow.thread_source",
        summary="a constant of the graph; starts a thread whenever it can be taken",
        component=ThreadSource,
        configurations={
            "small": Configuration({"tid_width": 4, "width": 8}),
            "paper": Configuration({"tid_width": 10, "width": 32}),
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.dataflow.thread_source"),),
        bounds=(Observed("threads", bounds.source_threads),),
        fpga=FpgaTarget("paper"),
    ),
    Block(
        name="dataflow.load_chain",
        summary="two loads in a chain and an adder: Figure 4's deadlock, and none with epochs",
        component=LoadChain,
        configurations={
            "figure4": Configuration({"depth": 2, "tid_width": 3, "threads": 4, "width": 4},
                                     domain={"memory": range(13, 14), "late": range(256)}),
        },
        testbenches=(Testbench("orders", "cyclebound.tb.dataflow.load_chain"),),
        bounds=(
            Observed("completion", bounds.chain_completion, exhaustive=True),
            Observed("even", bounds.chain_even),
        ),
        properties=(
            Property(
                name="ends",
                says="four threads all leave the two loads and the adder within the bound, each of "
                     "them once, in whatever order a memory answers that takes 4 cycles at most",
                checker=functools.partial(LoadChainCheck, memory=4),
                instances=({"depth": 2, "tid_width": 2, "threads": 4, "width": 1},),
                decides=("depth", "threads"),
                depth=bounds.chain_completion(threads=4, depth=2, memory=4) + 1,
                induction=None,
            ),
        ),
        signals=("top.dut.memory__0__request__valid", "top.dut.memory__0__response__valid",
                 "top.dut.memory__1__request__valid", "top.dut.memory__1__response__valid",
                 "top.dut.sums__valid", "top.dut.sums__payload"),
    ),
    Block(
        name="dataflow.diamond",
        summary="Figure 6's graph: two ways of different lengths, with and without a delay",
        component=Diamond,
        configurations={
            "unbalanced": Configuration({"depth": 2, "tid_width": 8}),
            "delayed": Configuration({"depth": 2, "tid_width": 8, "delay": 16}),
            "deep": Configuration({"depth": 16, "tid_width": 8}),
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.dataflow.diamond"),),
        bounds=(
            Observed("balanced", bounds.diamond_balanced),
            Observed("unbalanced", bounds.diamond_unbalanced),
        ),
        signals=("top.dut.x__valid", "top.dut.x__ready", "top.dut.product__valid"),
    ),
)
