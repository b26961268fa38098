"""Dataflow: where threads begin, and graphs made of units."""

import functools
from collections.abc import Callable, Mapping

from cyclebound.golden.dataflow import bounds
from cyclebound.hdl.dataflow.load_chain import LoadChain
from cyclebound.hdl.dataflow.thread_source import ThreadSource
from cyclebound.sim.describe.block import (
    Block,
    BoundBinding,
    Configuration,
    FpgaTarget,
    Property,
    Testbench,
)
from cyclebound.tb.dataflow.load_chain_properties import (
    QUICK,
    SLOW,
    LoadChainCheck,
    LoadChainObserver,
    LoadChainTime,
)
from cyclebound.tb.dataflow.thread_source_properties import ThreadSourceCheck
from cyclebound.tb.probe import Probe, taken

_THREADS = (1, 2, 3, 8, 16)  # as many as the small source's testbench asks for


def _asks_for(threads: int) -> Callable[[Mapping[str, object]], Mapping[str, int | None]]:
    """The kind of a start of that many threads."""
    return lambda instance: {"threads": threads}


# All threads of their graphs, with the narrowest words that tell them apart or do not
_CHAINS = tuple({"depth": 2, "tid_width": 2, "threads": threads, "width": 1} for threads in (3, 4))
_MEMORY = 3


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
            start="start & ~busy", end=taken("tokens"), ends="declared.threads"),
            proved_by=tuple(f"threads_{threads}" for threads in _THREADS)),),
        properties=(
            Property(
                name="order",
                quick=0,
                says="threads start in order, each once, from the cycle after the start on, and "
                     "no others; each with its number, or the constant",
                checker=ThreadSourceCheck,
                instances=({"tid_width": 2, "width": 2}, {"tid_width": 4, "width": 8}),
                depth=8,
                induction=3,
            ),
            *(Property(
                name=f"threads_{threads}",
                quick=0,
                says=f"with a ready sink, {threads} threads take what is predicted, by the count "
                     "of the probe; the configuration stays while there are threads to start",
                checker=functools.partial(ThreadSourceCheck, threads=threads),
                declares={"threads": _asks_for(threads)},
                assumes={"configuration changed under way": "the configuration stays",
                         "no threads, or more than there are": "threads take",
                         "other threads": "threads take",
                         "the sink is not ready": "a ready sink"},
                instances=({"tid_width": 4, "width": 8},),
                depth=threads + 2,
                induction=3,
            ) for threads in _THREADS),
        ),
        checker=ThreadSourceCheck,
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
        properties=(Property(
            name="ends",
            quick=0,
            says="in its one run after reset every thread's sum leaves once, within the bound, "
                 f"whatever the order in which memories answer within {_MEMORY} cycles; no load "
                 "uses a tag twice, or reports a fault",
            checker=functools.partial(LoadChainTime, memory=_MEMORY),
            instances=_CHAINS,
            depth=lambda instance: bounds.chain_completion(
                threads=instance["threads"], depth=instance["depth"], memory=_MEMORY) + 1,
            induction=None,
            flat=True,
        ),),
        checker=LoadChainCheck,
        signals=("top.dut.memory__0__request__valid", "top.dut.memory__0__response__valid",
                 "top.dut.memory__1__request__valid", "top.dut.memory__1__response__valid",
                 "top.dut.sums__valid", "top.dut.sums__payload"),
    ),
)
