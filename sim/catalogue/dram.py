"""The DRAM controller: the path from a request to DRAM, whole."""

import functools
from operator import attrgetter

from cyclebound.golden.dram import bounds, index_bounds, pipeline_bounds
from cyclebound.golden.dram.rules import Command
from cyclebound.golden.dram.small_part import SMALL_BURSTS, on_small_part
from cyclebound.hdl.dram.controller import DramController
from cyclebound.hdl.dram.controller_data_harness import DramDataHarness
from cyclebound.hdl.dram.controller_harness import DramControllerHarness
from cyclebound.sim.describe.block import (
    Block,
    BoundBinding,
    Configuration,
    FpgaTarget,
    Property,
    Testbench,
)
from cyclebound.tb.dram.controller_observer import ControllerObserver
from cyclebound.tb.dram.controller_properties import DramDistancesProof
from cyclebound.tb.dram.timing_properties import DramTimingCheck
from cyclebound.tb.probe import Probe


def distances(component, arbiter, free=(), **parameters):
    """The property that what has a part's pins issues no command before its time.

    ``arbiter`` is the path of attributes to its arbiter, ``free`` those parts that may answer
    anything, ``parameters`` are those besides the part.
    """
    return Property(
        name="distances",
        quick=0,
        says="no command on the pins comes before its time, whatever is asked for: the part's "
             "distances from an activate or precharge on, between reads and between writes, of a "
             "bank, a bank group and the rank, the window of four activates, and all that a "
             "refresh waits for",
        checker=lambda target: DramDistancesProof(target, attrgetter(arbiter)(target)),
        instances=({**parameters, "part": SMALL_BURSTS.name},),
        depth=10,
        induction=2,
        top=on_small_part(component),
        any_product=True,
        free=free,
    )


def inside(harness):
    """The controller in a harness."""
    return harness.controller


def pins(component):
    """The checker of a component's DRAM pins."""
    return DramTimingCheck(part=component.part)


_TAKEN = "request.valid & request.ready"
# a request's first command; what ends its issue delay; whether another request was taken after it
_OPENS = f"first(command.op == {Command.ACT.value}, completion.valid)"
_NEXT = f"({_OPENS} | (command.op == {Command.REF.value}))"
_FOLLOWED = f"({_OPENS} & past(held({_TAKEN}, {_TAKEN} | {_OPENS})))"
_delay = functools.partial(Probe, start=f"past({_FOLLOWED})",
                           end=f"{_NEXT} & past(held({_FOLLOWED}, {_NEXT}))")
# The burst in which the request before the last one taken begins: where requests wait, the one that
# is under way.
_FIRST = f"held(past(held(observer.burst, {_TAKEN})), {_TAKEN})"
_COMPLETION = Probe(start=_TAKEN, end="completion.valid", in_flight=4)

BLOCKS = (
    Block(
        name="dram.controller",
        summary="mapped buffers, tiles and indexes to DRAM, closed pages between requests",
        component=DramController,
        configurations={
            # Sim-D, Table 1; all bursts of a row of all banks
            "2bg": Configuration({"part": "ddr4-3200aa-x16"},
                                 domain={"bursts": range(1, 65), "write": range(2),
                                         "first": range(1024)}),
            "4bg": Configuration({"part": "ddr4-3200aa-x8"},
                                 domain={"bursts": range(1, 65), "write": range(2),
                                         "first": range(2048)}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.dram.controller", quick=("2bg",)),
            Testbench("banks", "cyclebound.tb.dram.controller", quick=(),
                      tests=("ends_of_banks", "banks_and_rows", "slow_indexes",
                             "now_and_then")),
            Testbench("indexed", "cyclebound.tb.dram.controller_indexed", quick=()),
            Testbench("harness", "cyclebound.tb.dram.controller_harness",
                      top=DramControllerHarness, max_cycles=50_000_000, checker=pins, quick=(),
                      probed=inside),
            Testbench("data", "cyclebound.tb.dram.controller_data_harness", top=DramDataHarness,
                      max_cycles=10_000_000, checker=pins, quick=(), probed=inside),
            Testbench("data_sweep", "cyclebound.tb.dram.controller_data_harness",
                      tests=("a_hundred_thousand_requests",),
                      top=DramDataHarness, max_cycles=400_000_000, checker=pins, thorough=True,
                      probed=inside),
            Testbench("sweep", "cyclebound.tb.dram.controller_harness",
                      tests=("every_alignment", "ten_million_cycles"), top=DramControllerHarness,
                      max_cycles=400_000_000, checker=pins, thorough=True, probed=inside),
        ),
        bounds=(
            # an issue delay: from a first command on the pins to the next request's, if that waits
            BoundBinding("tile", bounds.tile_issue_delay, exhaustive=True,
                         exhausts="tiles alike that follow each other, of whole bursts",
                         probe=_delay(request={"first": _FIRST}, observer=ControllerObserver)),
            BoundBinding("tile_lines", bounds.tile_2d_issue_delay, probe=_delay()),
            BoundBinding("indexed", index_bounds.indexed_issue_delay, probe=_delay()),
            BoundBinding("load", pipeline_bounds.full_load,
                         probe=Probe(start=f"past({_FOLLOWED})", starts="declared.requests",
                                     end=f"{_OPENS} & past(held({_FOLLOWED}, {_OPENS}))",
                                     ends="declared.requests")),
            BoundBinding("completion", pipeline_bounds.controller_completion, probe=_COMPLETION),
            BoundBinding("completion_lines", pipeline_bounds.controller_completion_2d,
                         probe=_COMPLETION),
            BoundBinding("completion_indexed", pipeline_bounds.controller_completion_indexed,
                         probe=_COMPLETION),
            BoundBinding("refusal", pipeline_bounds.buffer_lookup,
                         probe=Probe(start=f"{_TAKEN} & declared.alone",
                                     end=f"completion.valid & held(declared.alone, {_TAKEN})")),
            BoundBinding("mapping", pipeline_bounds.buffer_mapping,
                         probe=Probe(start="mapping.valid & mapping.ready", end="mapped")),
        ),
        properties=(distances(DramController, "arbiter"),),
        checker=pins,
        fpga=FpgaTarget("2bg"),
        signals=("top.dut.request__valid", "top.dut.request__ready", "top.dut.started",
                 "top.command.op", "top.command.bank", "top.dut.deliver__valid",
                 "top.dut.fetch__valid", "top.dut.completion__valid"),
    ),
)
