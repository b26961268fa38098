"""Several clients of one DRAM controller."""

from cyclebound.golden.dram import client_bounds as bounds
from cyclebound.hdl.dram.client_arbiter import ClientArbiter, SharedController
from cyclebound.hdl.dram.client_arbiter_harness import ClientArbiterHarness
from cyclebound.sim.catalogue.dram import pins
from cyclebound.sim.describe.block import (
    Block,
    BoundBinding,
    Configuration,
    Picture,
    Property,
    Testbench,
)
from cyclebound.tb.dram.client_arbiter_observer import ClientObserver
from cyclebound.tb.dram.client_arbiter_properties import ClientArbiterProof
from cyclebound.tb.probe import Probe

_TURNS = "pair", "three"  # configurations without windows
_PART = "ddr4-3200aa-x16"  # Sim-D, Table 1


def _domain(pauses):
    """Tiles of both kinds, and cycles from a completion to the next request."""
    return {"bursts": range(1, 5), "write": range(2), "other_bursts": range(1, 5),
            "other_write": range(2), "pause": range(1, pauses)}


def _inside(harness):
    """The controller in a harness."""
    return harness.shared


def _request(**more):
    """A request of client 0, or from the completion of its own request before."""
    return Probe(start="client[0].request.valid & client[0].request.ready",
                 end="client[0].completion.valid", in_flight=4, in_turn=True, **more)


BLOCKS = (
    Block(
        name="dram.client_arbiter",
        summary="clients with buffers of their own share a DRAM controller, a request at a time",
        component=SharedController,
        configurations={
            "pair": Configuration({"clients": 2, "part": _PART}, domain=_domain(116)),
            "three": Configuration({"clients": 3, "part": _PART}, domain=_domain(231)),
            # room for tiles of 4 bursts; the first refresh falls due as a window of client 0 starts
            "windows": Configuration({"clients": 2, "part": _PART, "windows": [691, 695]}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.dram.client_arbiter", quick=("pair",),
                      observes=False),
            Testbench("idle", "cyclebound.tb.dram.client_arbiter", tests=("now_and_then",),
                      quick=(), observes=False),
            Testbench("harness", "cyclebound.tb.dram.client_arbiter_harness",
                      tests=("some_kinds", "before_a_refresh", "not_composable"),
                      top=ClientArbiterHarness, configurations=_TURNS,
                      max_cycles=20_000_000, checker=pins, quick=(), probed=_inside),
            Testbench("windows", "cyclebound.tb.dram.client_arbiter_harness",
                      tests=("composable", "too_late_for_a_window"), top=ClientArbiterHarness,
                      configurations=("windows",), max_cycles=20_000_000, checker=pins, quick=(),
                      probed=_inside),
            Testbench("sweep", "cyclebound.tb.dram.client_arbiter_harness",
                      tests=("every_kind", "kinds_before_a_refresh"), top=ClientArbiterHarness,
                      configurations=_TURNS, max_cycles=400_000_000, checker=pins,
                      thorough=True, probed=_inside),
        ),
        bounds=(
            BoundBinding("tile", bounds.client_tile, exhaustive=True, configurations=_TURNS,
                         exhausts="tiles that begin where they take longest, while all others ask "
                                  "without a pause",
                         probe=_request(request={"pause": "observer.pause"},
                                        observer=ClientObserver)),
            BoundBinding("tile_refreshed", bounds.client_tile_refreshed, probe=_request(),
                         configurations=_TURNS),
            BoundBinding("slot", bounds.client_slot_completion, probe=_request(),
                         configurations=("windows",)),
        ),
        properties=(Property(
            name="isolation",
            says="a request reaches the controller with a buffer of its own client, as it was made "
                 "and once; its start, completion and words are shown to that client and to no "
                 "other, whose indexes and words are its own",
            checker=ClientArbiterProof,
            instances=({"clients": 2}, {"clients": 3}, {"clients": 2, "windows": (16, 20)}),
            depth=12,
            induction=2,
            quick=0,
            covered=lambda instance: {"clients": 2} if "windows" in instance else None,
            top=ClientArbiter,
        ),),
        checker=pins,
        pictures=(Picture(
            "composable", "How long each request of a client takes beside a silent and a busy one: "
            "by turns, and in windows, where it does not matter. On the models, which the RTL "
            "equals in every cycle.", "cyclebound.sim.pictures.clients:composable",
            arguments={"part": _PART, "windows": [702, 702], "requests": 100}),),
        signals=("top.dut.grants", "top.command.op", "top.command.bank"),
    ),
)
