"""SHMAC's network with two channels, and its router."""

from cyclebound.golden.noc.shmac_bounds import pipelined_hop
from cyclebound.golden.shmac import network_bounds as bounds
from cyclebound.hdl.shmac.network import Network
from cyclebound.hdl.shmac.router import Router
from cyclebound.sim.describe.block import (
    Block,
    BoundBinding,
    Configuration,
    FpgaTarget,
    Property,
    Testbench,
)
from cyclebound.tb.noc.handshake_router_properties import ShmacRouterCheck
from cyclebound.tb.noc.pipelined_router_properties import PipelinedFairProof
from cyclebound.tb.probe import Probe, offered, taken
from cyclebound.tb.shmac.network_properties import NetworkCheck
from cyclebound.tb.shmac.router_properties import RouterKeptProof

# In testbenches of the router, the lowest bits of a packet's data say by which input it came.
_HANDED = f"any({taken('sources[o]')} & (sources[o].payload.data[:3] == i) for o in sources)"
_TINY = tuple({"channel": channel, "address_bits": 1, "data_bits": 1}
              for channel in ("request", "response"))
_THESIS = {"address_bits": 24, "data_bits": 32}

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
            "pair": Configuration({"rows": 1, "columns": 2, **_THESIS}),
            "grid": Configuration({"rows": 3, "columns": 3, **_THESIS}),
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.shmac.network", quick=("pair",)),),
        bounds=(BoundBinding("alone", bounds.alone, probe=Probe(
            offered("master_requests[n]"),
            f"any({taken('slave_requests[t]')} & (slave_requests[t].payload.data == n)"
            " for t in slave_requests)", over={"n": "master_requests"})),),
        checker=NetworkCheck,
        signals=("top.dut.master_*", "top.dut.slave_*"),
    ),
)
