"""Blocks of the DRAM path: what several masters share (memory-composition, IV.C.3)."""

import functools
from collections.abc import Mapping
from typing import Any

from cyclebound.golden.dram import front_end_bounds, page_bounds, reorder_bounds
from cyclebound.golden.dram.small_part import SMALL, SMALL_DDR3, on_small_part
from cyclebound.hdl.dram.multi_port_front_end import MultiPortFrontEnd
from cyclebound.hdl.dram.page_controller import PageController
from cyclebound.hdl.dram.reorder_core import ReorderCore
from cyclebound.sim.describe.block import (
    FOLLOWED,
    Block,
    BoundBinding,
    Configuration,
    Exploration,
    FpgaTarget,
    Picture,
    Property,
    Testbench,
)
from cyclebound.tb.dram.multi_port_front_end_environment import FrontEndEnvironment
from cyclebound.tb.dram.multi_port_front_end_properties import FrontEndCheck, FrontEndProof
from cyclebound.tb.dram.page_controller_properties import PageCheck, PageProof
from cyclebound.tb.dram.reorder_core_properties import ReorderCheck, ReorderProof
from cyclebound.tb.probe import Probe

_EQUAL = {"priorities": [4] * 8, "limits": [0] * 8, "width": 40}
_STARVING = {"priorities": [7, 4, 4, 2, 0], "limits": [0, 6, 9, 6, 12], "width": 8}
# a cap of n + 1: the paper's 2n - 1
_PAPER = {"entries": 8, "cap": 9, "part": "ddr3-1600-module", "tag_bits": 8}
_PAGES = {"part": "ddr3-1600-module", "tag_bits": 8, "close": False, "postpone": 1}

_ISSUED = "source.valid & ~past(source.valid & ~source.ready)"


def literal(**parameters):
    """The core without its cap: the paper's rules alone."""
    return ReorderCore(**{**parameters, "cap": 0})


def _limited(parameters: Mapping[str, Any], index: Mapping[str, int]) -> dict[str, int] | None:
    """The kind of request at a port that has a limit."""
    return {"port": index["p"]} if parameters["limits"][index["p"]] else None


def _greatest(parameters: Mapping[str, Any], index: Mapping[str, int]) -> dict[str, int] | None:
    """At a port of the greatest priority that has none."""
    greatest = parameters["priorities"][index["p"]] == max(parameters["priorities"])
    return {"port": index["p"]} if greatest and not parameters["limits"][index["p"]] else None


BLOCKS = (
    Block(
        name="dram.multi_port_front_end",
        summary="forwards the requests of several masters: priorities, turns, starvation counters",
        component=MultiPortFrontEnd,
        configurations={
            "starving": Configuration(_STARVING),
            "equal": Configuration(_EQUAL),  # as the paper assumes: pure round robin
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.dram.multi_port_front_end",
                               quick=("starving",)),),
        # cycles in which a request is on offer to the reorder core, and not taken, do not count
        bounds=(BoundBinding("wait", front_end_bounds.front_end_wait, probe=Probe(
            start="sinks[p].valid & ~past(sinks[p].valid & ~sinks[p].ready)",
            end="sinks[p].valid & sinks[p].ready", request={"port": "p"},
            ticks="(source.valid == 0) | source.ready", unit="unstalled cycles",
            over={"p": "ports"})),),
        properties=(
            Property(
                name="starvation",
                quick=1,
                says="from the limit on, a request waits for one grant of each other port that may "
                     "starve, however the reorder core stalls; before it, equals have one turn "
                     "each, and no port is granted before a higher priority",
                checker=FrontEndProof,
                instances=(
                    {"priorities": [7, 4, 4], "limits": [0, 2, 3], "width": 2},
                    {**_STARVING, "limits": [0, 2, 3, 2, 4], "width": 1},
                    {**_EQUAL, "width": 1},
                ),
                depth=10,
                induction=3,
            ),
        ),
        explorations=(
            Exploration(
                "stalling", "requests may come at any port in any cycle, and the sink may stall",
                "wait", functools.partial(FrontEndEnvironment, stalls=True), _limited,
                (_STARVING,), quick=1),
            Exploration(
                "flowing", "requests may come at any port in any cycle; the sink takes one in each",
                "wait", functools.partial(FrontEndEnvironment, stalls=False), _greatest,
                (_STARVING, _EQUAL), quick=1),
        ),
        checker=FrontEndCheck,
        fpga=FpgaTarget("equal"),
        signals=("top.dut.starved", "top.dut.source__valid", "top.dut.source__payload"),
    ),
    Block(
        name="dram.reorder_core",
        summary="queue of eight from which requests leave by four rules, with an age cap",
        component=ReorderCore,
        configurations={
            "paper": Configuration(_PAPER),
            "small": Configuration({**_PAPER, "entries": 3, "cap": 2}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.dram.reorder_core", quick=("small",)),
            Testbench("literal", "cyclebound.tb.dram.reorder_core",
                      tests=("row_hits_starve_a_miss",), top=literal,
                      configurations=("paper",), checker=ReorderCheck, quick=(),
                      observes=False),  # it is another core, whose requests have no bound
        ),
        # Issues: a request leaves the queue in the cycle before it is on offer, and one that is
        # taken is in the queue from the cycle after on.
        bounds=(BoundBinding("residence", reorder_bounds.residence, proved_by=("residence",),
                             probe=Probe(start="past(past(sink.valid & sink.ready))", end=_ISSUED,
                                         id="past(past(sink.payload.tag))",
                                         end_id="source.payload.tag", ticks=_ISSUED,
                                         unit="issued requests")),),
        properties=(
            Property(
                name="residence",
                quick=1,
                says="a request leaves once and as it came, the register is never empty for three "
                     "cycles while one waits, and none is overtaken by more than cap + n - 2",
                checker=ReorderProof,
                declares={"residence": lambda instance: {}},
                assumes={
                    "offer withdrawn or changed": "a request stays until it is taken",
                    "a second request of the tag that is followed":
                        "none has the tag of another that is waiting",
                    "another request is followed": FOLLOWED,
                },
                instances=(*({"entries": entries, "cap": cap, "part": SMALL.name, "tag_bits": 1}
                             for entries, cap in ((3, 2), (4, 5), (8, 9))),
                           {**_PAPER, "entries": 3, "cap": 2}, _PAPER),
                # of the smallest core, as long as its bound is: an issue in every third cycle
                depth=lambda instance: 18 if (instance["entries"], instance["part"]) == (
                    3, SMALL.name) else 8,
                induction=3,
                top=on_small_part(ReorderCore),
            ),
        ),
        checker=ReorderCheck,
        fpga=FpgaTarget("paper"),
        signals=("top.dut.source__valid", "top.dut.source__payload", "top.dut.valid",
                 "top.dut.fresh", "top.dut.age_0", "top.dut.pick"),
        pictures=(Picture(
            "stays", "Row hits come without a pause: how long each request waits, by the literal "
            "rules and with the age cap.", "cyclebound.sim.pictures.stays:stays",
            kept="stays.json", testbenches=("literal", "cycle")),),
    ),
    Block(
        name="dram.page_controller",
        summary="executes requests one by one, each command as early as DDR3 allows",
        component=PageController,
        configurations={
            "open": Configuration(_PAGES),
            "closed": Configuration({**_PAGES, "close": True}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.dram.page_controller", quick=("open",)),
            Testbench("triples", "cyclebound.tb.dram.page_controller", tests=("every_triple",),
                      thorough=True),
            Testbench("refreshes", "cyclebound.tb.dram.page_controller",
                      tests=("a_refresh_at_each_cycle",), thorough=True),
        ),
        bounds=(BoundBinding("request", page_bounds.request_time, probe=Probe(
            start="sink.valid & ~past(sink.valid & ~sink.ready)",
            end="bus.valid & (bus.beat == 3)", in_flight=8, in_turn=True)),),
        properties=(
            Property(
                name="timing",
                quick=1,
                says="whatever is asked for, no command breaks a rule of the part, and each read "
                     "or write is the one asked for",
                checker=PageProof,
                instances=tuple({"part": part, "tag_bits": 1, "close": close, "postpone": 1}
                                for part, close in ((SMALL_DDR3.name, False),
                                                    (SMALL_DDR3.name, True),
                                                    (_PAGES["part"], False))),
                depth=14,
                induction=2,
                top=on_small_part(PageController),
            ),
        ),
        checker=PageCheck,
        fpga=FpgaTarget("open"),
        signals=("top.dut.sink__valid", "top.dut.sink__ready", "top.dut.sink__payload",
                 "top.dut.command", "top.dut.bus", "top.dut.closed"),
        unused_inputs=("sink__payload",),  # the priority, which the front end has looked at
    ),
)
