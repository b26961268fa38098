"""SHMAC's routers."""

import dataclasses
import functools
from collections.abc import Iterator, Mapping

from cyclebound.golden.noc import shmac_bounds as bounds
from cyclebound.golden.noc.shmac_packet import ShmacPort
from cyclebound.golden.noc.shmac_sharing import victims
from cyclebound.hdl.noc.handshake_mesh import HandshakeMesh
from cyclebound.hdl.noc.handshake_router import HandshakeRouter
from cyclebound.hdl.noc.pipelined_mesh import PipelinedMesh
from cyclebound.hdl.noc.pipelined_router import PipelinedRouter
from cyclebound.sim.describe.block import (
    Block,
    BoundBinding,
    Configuration,
    Exploration,
    FpgaTarget,
    Picture,
    Property,
    Testbench,
)
from cyclebound.tb.noc.grid_environment import SharingEnvironment
from cyclebound.tb.noc.grid_properties import TileGridCheck, TileGridProof
from cyclebound.tb.noc.handshake_router_properties import (
    HandshakeFairProof,
    HandshakeKeptProof,
    ShmacRouterCheck,
)
from cyclebound.tb.noc.pipelined_router_properties import PipelinedFairProof, PipelinedKeptProof
from cyclebound.tb.probe import Probe, offered, taken

_MASTER = f"sinks[{ShmacPort.MASTER:d}]"
_TINY = {"address_bits": 1, "data_bits": 1}
# what goes in and out; of the grids, who asks for what, and when it is done
_PORTS = tuple(f"top.dut.{side}__{port}__{name}" for side in ("sinks", "sources")
               for port in range(6) for name in ("valid", "ready"))
_TILES = ("top.dut.requests__*", "top.dut.fetched__*", "top.dut.operated__*")
# Given, not measured: SHMACsim, Figure 5.7, "RTLToMem", "memory", "TLMAdapter" on the way back.
# The models and bounds have these numbers from golden/noc/shmac_budget.py, the RTL from here.
_GIVEN = {"to_memory_cycles": 1, "memory_cycles": 3, "to_core_cycles": 2}
_THESIS = tuple(_GIVEN)  # what the models know of these
# A packet, from its request, or its transfer, to where an output hands it over. In testbenches, the
# lowest bits of a packet's data say by which of the six inputs it came.
_HANDED = f"any({taken('sources[o]')} & (sources[o].payload.data[:3] == i) for o in sources)"
# A core's request for a read, a fetch or a write, and where it is over. A fetch by the second port
# of the RAM ends as well, but has no request: it follows an end.
_WAITS = "past(held(requests[n] & ~operated[n], requests[n] | fetched[n] | operated[n]))"
_READ = Probe(start="requests[n] & ~writes[n] & ~past(requests[n])",
              end=f"(fetched[n] | operated[n] & ~writes[n]) & {_WAITS}", over={"n": "requests"})
_WRITE = Probe(start="writes[n] & ~past(requests[n])", end="landed[n]", over={"n": "requests"},
               in_flight=8)
# An instruction lasts from the end of the one before to its own.
_ENDED = "(operated[n] | fetched[n] & (declared.operation == 0))"
_INSTRUCTION = Probe(start=f"past({_ENDED})", end=_ENDED, over={"n": "requests"})
# the configurations of the grid that are compared with the model, and those in which a search looks
# for the slowest accesses: with several masters
_COMPARED = ("thesis", "accepted", "row", "late")
_SEARCHED = ("thesis", "accepted", "row", "late_row")
_GRID = {"rows": 3, "columns": 3, "words": 16, **_GIVEN, "slave_acknowledge": "passed",
         "late": False}
_ROW, _ACCEPTED, _LATE_ROW = ({**_GRID, "rows": 1, **more} for more in (
    {"columns": 4}, {"slave_acknowledge": "accepted"}, {"columns": 4, "late": True}))
_PAIR = {**_GIVEN, "rows": 1, "columns": 2, "words": 16}

# Every choice of every core, in a row of tiles: who shares the RAM of tile 1, as in the searches.
_RAM = 1
_ONE, _BESIDE, _ALONG, _BOTH = (0,), (0, 2), (2, 3), (0, 2, 3)
_SAYS = {
    "reads": "in tiles {}, each core reads the RAM of tile 1, in any cycle in which it waits for "
             "no response",
    "writes": "in tiles {}, each core begins in any cycle to write to the RAM of tile 1, without a "
              "pause, waiting for one acknowledge at a time",
    "any": "in tiles {}, each core reads and writes the RAM of tile 1 in any cycle, waiting for "
           "one response or acknowledge at a time{}"}


def _shared(what: str, mix: str, groups: tuple[tuple[int, ...], ...],
            instances: tuple[Mapping[str, object], ...]) -> Iterator[Exploration]:
    """For each group of cores, the longest request ``what`` of one of each kind among them.

    A read among both is of a core whose own writes have landed, so that each such core has an
    environment of its own.
    """
    for cores in groups:
        kinds = {tile[1]: kind for tile, kind in victims([(0, n) for n in cores], (0, _RAM))}
        one_each = what == "mixed_read"
        for victim in kinds if one_each else [None]:
            names = "_".join(map(str, cores))
            landed = (f"; tile {victim} reads only when its own writes have landed" if one_each
                      else "")
            yield Exploration(
                f"{what}_{names}{f'_from_{victim}' if one_each else ''}",
                _SAYS[mix].format(" and ".join(map(str, cores)), landed), what,
                functools.partial(SharingEnvironment, target=_RAM, cores=cores, mix=mix,
                                  victim=victim),
                functools.partial(_kind_at, kinds if victim is None else {victim: kinds[victim]}),
                instances)


def _kind_at(kinds: Mapping[int, Mapping[str, int]], parameters: Mapping[str, object],
             index: Mapping[str, int]) -> Mapping[str, int] | None:
    return kinds.get(index["n"])


def _operations(depth: int) -> Property:
    """The property of a grid that its packets arrive and its operations are asked for."""
    return Property(
        name="operations",
        quick=0,
        says="whatever kernels run, for tiles that are there: no packet is dropped; no core's "
             "operation ends that it has not asked for; no write lands that no core has begun",
        checker=TileGridProof,
        instances=({"rows": 1, "columns": 2, "words": 2, "to_memory_cycles": 1, "memory_cycles": 2,
                    "to_core_cycles": 1},),
        induction=None,
        depth=depth,
        flat=True)


BLOCKS = (
    Block(
        name="noc.handshake_router",
        summary="SHMAC's router: request, data, acknowledge; not pipelined",
        component=HandshakeRouter,
        configurations={
            "thesis": Configuration({"slave_acknowledge": "passed", "address_bits": 24,
                                     "data_bits": 32}),
            "early": Configuration({"slave_acknowledge": "accepted", "address_bits": 4,
                                    "data_bits": 8}),
        },
        testbenches=(Testbench("cycle", "cyclebound.tb.noc.handshake_router", quick=("thesis",),
                               least={"data_bits": 3}),),
        bounds=(
            # an input takes what is requested in the cycle after it handed over the one before
            BoundBinding("hop", bounds.handshake_hop,
                         probe=Probe(offered("sinks[i]"), _HANDED, over={"i": "sinks"},
                                     in_flight=2, in_turn=True)),
            BoundBinding("accept", bounds.handshake_accept,
                         probe=Probe(offered(_MASTER), taken(_MASTER))),
        ),
        properties=(
            Property(
                name="kept",
                quick=0,
                says="a packet that an input takes is handed over once by one output, unchanged, "
                     "or dropped once and counted",
                checker=HandshakeKeptProof,
                # senders may do as they like, so that it does not matter when they are told
                instances=({**_TINY, "slave_acknowledge": "passed"},),
                depth=13,
                induction=6,
            ),
            Property(
                name="fair",
                quick=0,
                says="an output begins with one packet at a time, and is never idle while one "
                     "asks; who asks sees at most one packet of each other input begin there",
                checker=HandshakeFairProof,
                # senders may do as they like, so that it does not matter when they are told
                instances=({**_TINY, "slave_acknowledge": "passed"},),
                depth=13,
                induction=6,
            ),
        ),
        checker=ShmacRouterCheck,
        fpga=FpgaTarget("thesis"),
        signals=_PORTS,
        pictures=(Picture(
            "handshake", "A write to the neighbour and the fetch after it: requests, "
            "acknowledges, and who holds a packet.",
            "cyclebound.sim.pictures.handshake:figure"),),
    ),
    Block(
        name="noc.handshake_mesh",
        summary="grid of SHMAC's tiles: a router, a core that runs a kernel, and RAM in each; "
                "latencies of core, RAM and router are given by the thesis",
        component=HandshakeMesh,
        configurations={
            "thesis": Configuration(_GRID),
            "accepted": Configuration(_ACCEPTED),
            "row": Configuration(_ROW),
            "late": Configuration({**_GRID, "rows": 1, "columns": 2, "late": True}),
            "late_row": Configuration(_LATE_ROW),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.noc.handshake_mesh", quick=(), fixed=_THESIS,
                      configurations=_COMPARED),
            Testbench("search", "cyclebound.tb.noc.handshake_mesh_search", searches=True,
                      configurations=_SEARCHED, thorough=True, fixed=_THESIS),
            Testbench("sharing", "cyclebound.tb.noc.handshake_mesh",
                      tests=("masters_on_one_ram",), configurations=("thesis",),
                      thorough=True, observes=False, fixed=_THESIS),
        ),
        bounds=(
            BoundBinding("read_given", bounds.read_lifetime, probe=_READ,
                         configurations=_COMPARED),
            BoundBinding("write_given", bounds.write_lifetime, probe=_WRITE,
                         configurations=_COMPARED),
            BoundBinding("instruction_given", bounds.instruction, probe=_INSTRUCTION,
                         configurations=_COMPARED),
            BoundBinding("shared", bounds.shared_read, probe=_READ),
            BoundBinding("posted", bounds.shared_write, probe=_WRITE),
            BoundBinding("mixed_read", bounds.mixed_read, probe=_READ, configurations=_SEARCHED),
            BoundBinding("mixed_write", bounds.mixed_write, probe=_WRITE,
                         configurations=_SEARCHED),
        ),
        # not three masters that read and write: of two there are millions of states already
        explorations=tuple(
            exploration for what, mix, groups, instances in (
                ("shared", "reads", (_ONE, _BESIDE), (_ACCEPTED, _ROW, _LATE_ROW)),
                ("shared", "reads", (_ALONG, _BOTH), (_ROW, _LATE_ROW)),
                ("posted", "writes", (_ONE, _BESIDE), (_ACCEPTED, _ROW)),
                ("posted", "writes", (_ALONG, _BOTH), (_ROW,)),
                ("mixed_read", "any", (_ONE, _BESIDE), (_ACCEPTED, _ROW)),
                ("mixed_read", "any", (_ALONG,), (_ROW,)),
                ("mixed_write", "any", (_ONE, _BESIDE), (_ACCEPTED, _ROW)),
                ("mixed_write", "any", (_ALONG,), (_ROW,)))
            for exploration in _shared(what, mix, groups, instances)),
        properties=(_operations(28),),  # a read of the own tile takes 25 cycles
        checker=TileGridCheck,
        signals=_TILES,
    ),
    Block(
        name="noc.pipelined_router",
        summary="the pipelined successor of SHMAC's router, with the same interface",
        component=PipelinedRouter,
        configurations={"thesis": Configuration({"address_bits": 24, "data_bits": 32})},
        testbenches=(Testbench("cycle", "cyclebound.tb.noc.pipelined_router",
                               least={"data_bits": 3}),),
        # a packet leaves its queue two cycles before it is handed over
        bounds=(BoundBinding("hop", bounds.pipelined_hop,
                             probe=Probe(taken("sinks[i]"), _HANDED, over={"i": "sinks"},
                                         in_flight=8, in_turn=True, ahead="3")),),
        properties=(
            Property(
                name="kept",
                quick=0,
                says="an input's packets leave it in order, each once, to one output or dropped "
                     "and counted; an output offers unchanged what it was given, in order, and "
                     "offers stay",
                checker=PipelinedKeptProof,
                instances=(_TINY,),
                depth=6,
                induction=2,
            ),
            Property(
                name="fair",
                quick=0,
                says="an output grants one packet at a time, and never rests while one asks and "
                     "there is room; who asks sees at most one packet of each other input granted",
                checker=PipelinedFairProof,
                instances=(_TINY,),
                depth=6,
                induction=2,
            ),
        ),
        checker=ShmacRouterCheck,
        fpga=FpgaTarget("thesis"),
        signals=_PORTS,
        unused_inputs=("slave_busy",),
    ),
    Block(
        name="noc.pipelined_mesh",
        summary="grid of SHMAC's tiles with pipelined routers; latencies of core and RAM are given",
        component=PipelinedMesh,
        configurations={
            "grid": Configuration({**_GIVEN, "rows": 3, "columns": 3, "words": 16}),
            "pair": Configuration(_PAIR),
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.noc.pipelined_mesh", quick=("pair",), fixed=_THESIS),
            Testbench("search", "cyclebound.tb.noc.pipelined_mesh_search", searches=True,
                      thorough=True, fixed=_THESIS),
        ),
        bounds=(
            BoundBinding("read", bounds.pipelined_read_lifetime, probe=_READ),
            BoundBinding("write", bounds.pipelined_write_lifetime, probe=_WRITE),
            BoundBinding("instruction", bounds.pipelined_instruction, probe=_INSTRUCTION),
            BoundBinding("mixed_read", bounds.pipelined_mixed_read, probe=_READ),
            # more of a core's writes fit into these routers' queues
            BoundBinding("mixed_write", bounds.pipelined_mixed_write,
                         probe=dataclasses.replace(_WRITE, in_flight=32)),
        ),
        explorations=(
            *_shared("mixed_read", "any", (_ONE, (0, 1)), (_PAIR,)),
            # of a write beside another core's, over 30 million states
            *_shared("mixed_write", "any", (_ONE,), (_PAIR,)),
        ),
        properties=(_operations(16),),  # 11 cycles
        checker=TileGridCheck,
        signals=_TILES,
    ),
)
