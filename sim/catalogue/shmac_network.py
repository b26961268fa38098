"""SHMAC's network with two channels, and its router."""

import functools
import itertools
from collections.abc import Iterator, Mapping

from cyclebound.golden.noc.routes import Mesh
from cyclebound.golden.noc.shmac_bounds import pipelined_hop
from cyclebound.golden.shmac import network_bounds as bounds
from cyclebound.golden.shmac.traffic import ALONE, HOTSPOT, MANY, senders
from cyclebound.hdl.shmac.network import Network
from cyclebound.hdl.shmac.network_environment import ExchangeEnvironment
from cyclebound.hdl.shmac.network_harness import NetworkHarness
from cyclebound.hdl.shmac.router import Router
from cyclebound.sim.describe.block import (
    Block,
    BoundBinding,
    Configuration,
    Exploration,
    FpgaTarget,
    Property,
    Testbench,
)
from cyclebound.tb.noc.handshake_router_properties import ShmacRouterCheck
from cyclebound.tb.noc.pipelined_router_properties import PipelinedFairProof
from cyclebound.tb.probe import Probe, offered, taken
from cyclebound.tb.shmac.network_properties import NetworkCheck
from cyclebound.tb.shmac.router_properties import RouterKeptProof
from cyclebound.tb.shmac.routes_properties import RoutesProof

# In testbenches of the router, the lowest bits of a packet's data say by which input it came.
_HANDED = f"any({taken('sources[o]')} & (sources[o].payload.data[:3] == i) for o in sources)"
_TINY = tuple({"channel": channel, "address_bits": 1, "data_bits": 1}
              for channel in ("request", "response"))
_THESIS = {"address_bits": 24, "data_bits": 32}

# In testbenches of the network, a packet's data are the numbers of its master and of its target.
_MINE = "master_requests[n].payload.data[8:16] == declared.target"
_LANDS = ("any({} & slave_requests[t].payload.write & (slave_requests[t].payload.data[0:8] == n)"
          " & (slave_requests[t].payload.data[8:16] == declared.target) for t in slave_requests)"
          ).format(taken("slave_requests[t]"))
_OFFERED = offered("master_requests[n]")
_OVER = {"n": "master_requests"}
_CLAIMS = {
    "read": (bounds.read, Probe(
        f"{_OFFERED} & ~master_requests[n].payload.write & ({_MINE})",
        f"{taken('master_responses[n]')}"
        " & (master_responses[n].payload.data[8:16] == declared.target)", over=_OVER)),
    "write": (bounds.write, Probe(
        f"{_OFFERED} & master_requests[n].payload.write & ({_MINE})", _LANDS, over=_OVER,
        in_flight=128)),
    "accept": (bounds.accept, Probe(_OFFERED, taken("master_requests[n]"), over=_OVER)),
}

_PAIR = {"rows": 1, "columns": 2, **_THESIS}


# Of a master, how many requests may be under way where it begins one, and how that is called.
_BEHIND = {0: ("first",), 1: ("second",), 2: ("third",), 3: ("fourth",), MANY: ()}


def _explored() -> Iterator[Exploration]:
    """On two tiles, the longest request of each master, alone and beside the other one."""
    mesh, hot = Mesh(1, 2), (0, 1)
    for traffic, who in ((ALONE, "alone"), (HOTSPOT, "beside the other one")):
        for victim in mesh.tiles:
            masters, number = senders(mesh, traffic, hot=hot, master=victim), victim[1]
            kind = {"traffic": traffic, "hot": 1, "master": number, "service": 1, "uneven": 0}
            for what, most in (*itertools.product(("read", "write"), _BEHIND), ("accept", MANY)):
                its = {} if what == "accept" else {"target": 1, "behind": most}
                yield Exploration(
                    "_".join((what, *_BEHIND[most], "alone" if traffic == ALONE else "beside",
                              str(number))),
                    f"the master of tile {number}, {who}, reads from and writes to tile 1 in any "
                    "cycle, waiting for one response at a time" + (
                        f", and begins only if at most {most} of its requests have not come to "
                        "their slave" if most != MANY else ""),
                    what, functools.partial(ExchangeEnvironment, masters=masters, service=1,
                                            most={victim: most}),
                    functools.partial(_kind_at, number, {**kind, **its}), (_PAIR,))


def _kind_at(number: int, kind: Mapping[str, int], parameters: Mapping[str, object],
             index: Mapping[str, int]) -> Mapping[str, int] | None:
    return kind if index["n"] == number else None


BLOCKS = (
    Block(
        name="shmac.router",
        summary="router of one of SHMAC's two networks, pipelined: dimension order, round robin",
        component=Router,
        configurations={channel: Configuration({"channel": channel, **_THESIS})
                        for channel in ("request", "response")},
        testbenches=(Testbench("cycle", "cyclebound.tb.shmac.router", quick=("request",),
                               least={"data_bits": 3}),),
        # a packet leaves its queue two cycles before it is handed over
        bounds=(BoundBinding("hop", pipelined_hop,
                             probe=Probe(taken("sinks[i]"), _HANDED, over={"i": "sinks"},
                                         in_flight=8, in_turn=True, ahead="3")),),
        properties=(
            Property(
                name="kept",
                quick=0,
                says="an input's packets leave it in order, each once, to one output or dropped "
                     "and counted; an output offers unchanged what it was given, in order, and "
                     "offers stay",
                checker=RouterKeptProof,
                instances=_TINY,
                depth=6,
                induction=2,
            ),
            Property(
                name="fair",
                quick=0,
                says="an output grants one packet at a time, and never rests while one asks and "
                     "there is room; who asks sees at most one packet of each other input that "
                     "leads there granted",
                checker=PipelinedFairProof,
                instances=_TINY,
                depth=6,
                induction=2,
            ),
        ),
        checker=ShmacRouterCheck,
        fpga=FpgaTarget("request"),
        signals=tuple(f"top.dut.{side}__{port}__{name}" for side in ("sinks", "sources")
                      for port in range(5) for name in ("valid", "ready")),
    ),
    Block(
        name="shmac.network",
        summary="SHMAC's network: a router for requests and one for responses in each tile",
        component=Network,
        configurations={
            "pair": Configuration(_PAIR),
            "square": Configuration({"rows": 2, "columns": 2, **_THESIS}),
            "row": Configuration({"rows": 1, "columns": 4, **_THESIS}),
            "grid": Configuration({"rows": 3, "columns": 3, **_THESIS}),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.shmac.network", quick=(),
                      configurations=("pair", "grid")),
            Testbench("readers", "cyclebound.tb.shmac.network_search",
                      tests=("readers_in_a_row",), top=NetworkHarness,
                      probed=lambda harness: harness.network, configurations=("row",), quick=(),
                      observes=False, least={"data_bits": 16}),
            Testbench("masters", "cyclebound.tb.shmac.network_search", tests=("one_slave",),
                      top=NetworkHarness, probed=lambda harness: harness.network,
                      configurations=("pair", "row", "grid"), quick=("pair",),
                      least={"data_bits": 16}),
            Testbench("search", "cyclebound.tb.shmac.network_search", tests=("adversary",),
                      top=NetworkHarness, probed=lambda harness: harness.network, searches=True,
                      configurations=("pair", "square"), thorough=True, least={"data_bits": 16}),
            Testbench("behind", "cyclebound.tb.shmac.network_search", tests=("adversary_behind",),
                      top=NetworkHarness, probed=lambda harness: harness.network, searches=True,
                      configurations=("pair", "square"), thorough=True, least={"data_bits": 16}),
        ),
        bounds=(
            BoundBinding("alone", bounds.alone, configurations=("pair", "grid"), probe=Probe(
                _OFFERED, f"any({taken('slave_requests[t]')} & (slave_requests[t].payload.data"
                " == n) for t in slave_requests)", over=_OVER)),
            *(BoundBinding(name, claim, probe) for name, (claim, probe) in _CLAIMS.items()),
        ),
        explorations=tuple(_explored()),
        properties=(Property(
            name="routes",
            quick=0,
            says="whatever is offered, to tiles that are there, no packet is lost, and each leaves "
                 "the network at its destination",
            checker=RoutesProof,
            instances=tuple({"rows": rows, "columns": columns, "address_bits": 1, "data_bits": 1}
                            for rows, columns in ((2, 2), (3, 1))),
            depth=9,
            induction=2,
            covered=_PAIR,
        ),),
        checker=NetworkCheck,
        signals=("top.dut.master_*", "top.dut.slave_*"),
    ),
)
