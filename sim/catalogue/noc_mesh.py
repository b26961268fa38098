"""The mesh, and the mesh with interfaces."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

from cyclebound.golden.noc import bounds
from cyclebound.golden.noc.mesh_interfaces import transfer
from cyclebound.golden.noc.patterns import HOTSPOT, TRANSPOSE, pattern
from cyclebound.golden.noc.routes import Mesh as Shape
from cyclebound.golden.noc.routes import Port, ports, xy_route
from cyclebound.hdl.noc.mesh import Mesh
from cyclebound.hdl.noc.mesh_harness import MeshHarness
from cyclebound.hdl.noc.mesh_interfaces import InterfacedMesh
from cyclebound.hdl.noc.wormhole_router import WormholeRouter
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
from cyclebound.tb.noc.grid_properties import InterfacedMeshCheck, MeshCheck
from cyclebound.tb.noc.mesh_environment import MeshEnvironment
from cyclebound.tb.noc.mesh_parts import MeshPart, MeshPartProof
from cyclebound.tb.noc.mesh_properties import MeshTraversalProof
from cyclebound.tb.probe import Probe, taken


def _path(parameters: Mapping[str, int]) -> tuple[str, ...]:
    """A packet's path: in each router, which output its header asks for, whose packet that output
    sends, and what is on the link."""
    shape = Shape(parameters["rows"], parameters["columns"])
    source = divmod(parameters["source"], shape.columns)
    if "pattern" in parameters:
        hot = divmod(parameters.get("hot", 0), shape.columns)
        target = pattern(shape, parameters["pattern"], hot)[source]
    else:
        target = divmod(parameters["target"], shape.columns)
    route, came, signals = xy_route(shape, source, target), Port.LOCAL, []
    for (row, column), port in zip(route, ports(route), strict=True):
        router = f"router_{row}_{column}"
        signals += [f"{router}.input_{came:d}.want", f"{router}.output_{port:d}.owner",
                    *(f"{router}.output_{port:d}.source__{name}" for name in (
                        "valid", "payload.first", "payload.last"))]
        came = port.opposite
    return tuple(signals)


def _through_interfaces(parameters: Mapping[str, int]) -> tuple[str, ...]:
    """Signals of a transaction between two interfaces: request, words, and the packet's path."""
    return (f"top.dut.transactions__{parameters['source']}__valid",
            *(f"top.dut.words__{parameters['source']}__{name}" for name in ("valid", "ready")),
            *_path(parameters), f"top.dut.received__{parameters['target']}__valid")


# A packet, from its header's transfer to its last flit's. In testbenches the highest bits of a
# header as it is taken, and of a last flit as it leaves, say of which source, or stream, it is.
_ENDS = (f"any({taken('sources[t]')} & sources[t].payload.last"
         " & (sources[t].payload.data[-8:] == n) for t in sources)")
_BY_SOURCE = Probe(f"{taken('sinks[n]')} & sinks[n].payload.first", _ENDS, over={"n": "sinks"},
                   in_flight=128)
_FROM_SOURCE = dataclasses.replace(_BY_SOURCE, request={"source": "n"})
_BY_STREAM = Probe(f"any({taken('sinks[t]')} & sinks[t].payload.first"
                   " & (sinks[t].payload.data[-8:] == n) for t in sinks)", _ENDS, over={"n": 32},
                   in_flight=32)

# Every choice of every sender: the patterns, and the packets' flits, that are explored in a row of
# three routers, whose FIFOs hold three flits.
_ROW = {"rows": 1, "columns": 3, "width": 16, "depth": 3, "delta": 2, "routing": "source",
        "longest": 7}
_EXPLORED = tuple((HOTSPOT, hot, flits) for hot in (0, 1) for flits in (2, 3, 4, 5, 7))


def _kinds(number: int, hot: int, flits: int):
    """Of the packets of each source of a pattern."""
    def kinds(parameters: Mapping[str, int], index: Mapping[str, int]) -> dict[str, int] | None:
        shape = Shape(parameters["rows"], parameters["columns"])
        sources = pattern(shape, number, divmod(hot, shape.columns))
        return {"flits": flits, "pattern": number, "hot": hot, "source": index["n"]} if divmod(
            index["n"], shape.columns) in sources else None

    return kinds


# What is proved: all packets to one corner of 2 x 2, of so many flits; and for each of the tiles
# that send there, the depth at which its induction closes.
_CORNER = {"rows": 2, "columns": 2, "width": 16, "depth": 3, "delta": 2, "routing": "source",
           "longest": 4}
_PROVED = {(2, 1): 10, (2, 2): 18, (2, 3): 19, (3, 1): 12, (3, 2): 15, (3, 3): 21, (4, 1): 9,
           (4, 2): 17, (4, 3): 18}


def _traversal_name(flits: int, source: int) -> str:
    return f"traversal_{flits}_flits_from_{source}"


def _traversal(flits: int, source: int, induction: int) -> Property:
    """Packets from one tile to the corner, while all tiles send there."""
    return Property(
        _traversal_name(flits, source),
        f"while all tiles send packets of {flits} flits to tile 0, each whenever it likes, and "
        f"offer the flits of a packet back to back, one from tile {source} takes no longer than "
        "its bound; receivers are always ready",
        functools.partial(MeshTraversalProof, number=HOTSPOT, flits=flits, source=source),
        (_CORNER,), at={"n": source},
        declares={"traversal": lambda instance: {
            "flits": flits, "pattern": HOTSPOT, "source": source}},
        depth=14, induction=induction, flat=True, quick=0, assumes=_ASSUMES)


_ASSUMES = {
    "tile # sends": "every tile of the pattern",
    "tile #: a packet to elsewhere": "every tile of the pattern",
    "tile #: a packet of another size": "a packet of that size",
    "tile #: a pause within a packet": "offers its flits back to back",
    "tile #: offer withdrawn or changed": "offers its flits",
    "receiver # is not ready": "receivers are always ready"}

# What is proved by parts: all tiles of 4 x 4 to the one across the diagonal. Each router by itself,
# and with those after it the inputs where a header waits for what waits in these.
_FOUR = {"rows": 4, "columns": 4, "width": 16, "depth": 3, "delta": 2, "routing": "xy",
         "longest": 4}
_EACH = tuple({**_FOUR, "tiles": ((row, column),)} for row in range(4) for column in range(4))
_WAITING = tuple({**_FOUR, "tiles": tiles, "port": int(port)} for tiles, port in (
    (((1, 3), (1, 2)), Port.LOCAL), (((2, 0), (2, 1)), Port.LOCAL),
    (((0, 2), (0, 1)), Port.LOCAL), (((3, 1), (3, 2)), Port.LOCAL),
    (((0, 2), (0, 1)), Port.EAST), (((3, 1), (3, 2)), Port.WEST),
    (((0, 3), (0, 2), (0, 1)), Port.LOCAL), (((3, 0), (3, 1), (3, 2)), Port.LOCAL)))


def _by_parts(name: str, instances: tuple[Mapping[str, Any], ...], induction: int) -> Property:
    """Rules of packets, and shares of their bounds, in parts of a mesh of 4 x 4."""
    return Property(
        name,
        "while each tile sends packets of 2 flits to the one across the diagonal, as in "
        "`traversal`: if whole packets without gaps come to these routers, such leave them, and no "
        "header is in a FIFO of theirs for longer than its share of the bound",
        functools.partial(MeshPartProof, number=TRANSPOSE, flits=2), instances,
        top=functools.partial(MeshPart, WormholeRouter),
        depth=12, induction=induction, flat=True, quick=0)


_SQUARE = {"rows": 2, "columns": 2, "width": 16, "depth": 3, "delta": 2, "routing": "source",
           "longest": 7}
_OBLONG = {"rows": 2, "columns": 3, "width": 16, "depth": 4, "delta": 3, "routing": "xy",
           "longest": 5}

BLOCKS = (
    Block(
        name="noc.mesh",
        summary="rows and columns of wormhole routers",
        component=Mesh,
        configurations={
            "square": Configuration(_SQUARE), "oblong": Configuration(_OBLONG),
            "row": Configuration(_ROW), "corner": Configuration(_CORNER),
            "four": Configuration({"rows": 4, "columns": 4, "width": 32, "depth": 4, "delta": 2,
                                   "routing": "source", "longest": 6}),
            **{f"harness{size}": Configuration({
                "rows": size, "columns": size, "width": 32, "depth": 4, "delta": 2,
                "routing": "xy", "longest": 66}) for size in (2, 4, 8)},
        },
        testbenches=(
            Testbench("cycle", "cyclebound.tb.noc.mesh", configurations=("square", "oblong"),
                      quick=("square",), least={"rows": 2, "columns": 2, "longest": 4}),
            Testbench("tables", "cyclebound.tb.noc.mesh", configurations=("square", "oblong"),
                      tests=("composable_with_tables",), quick=(),
                      least={"rows": 2, "columns": 2, "longest": 4}),
            Testbench("harness", "cyclebound.tb.noc.mesh_harness", top=MeshHarness,
                      probed=lambda harness: harness.mesh, configurations=("harness2",),
                      quick=()),
            Testbench("large", "cyclebound.tb.noc.mesh_harness", top=MeshHarness,
                      probed=lambda harness: harness.mesh,
                      configurations=("harness4", "harness8"), thorough=True,
                      max_cycles=20_000_000),
            Testbench("row", "cyclebound.tb.noc.mesh_row", configurations=("row",), quick=()),
            Testbench("corner", "cyclebound.tb.noc.mesh_corner", configurations=("corner",),
                      quick=()),
            Testbench("traffic", "cyclebound.tb.noc.mesh_traffic", configurations=("four",),
                      thorough=True, max_cycles=10_000_000),
        ),
        bounds=(
            BoundBinding("alone", bounds.t_noc, signals=_path, probe=_BY_SOURCE),
            BoundBinding("traversal", bounds.traversal, signals=_path, probe=_FROM_SOURCE,
                         proved_by=tuple(_traversal_name(*which) for which in _PROVED)),
            BoundBinding("crowd", bounds.crowd_traversal,
                         configurations=("square", "oblong", "row", "corner", "four"),
                         probe=_BY_STREAM),
        ),
        properties=(*(_traversal(*which, induction) for which, induction in _PROVED.items()),
                    _by_parts("each_router", _EACH, 9), _by_parts("waiting", _WAITING, 18)),
        explorations=tuple(Exploration(
            f"every_choice_{hot}_{flits}",
            f"all tiles but {hot} send packets of {flits} flits to it, each whenever it likes, and "
            "offer the flits of a packet back to back; receivers are always ready",
            "traversal", functools.partial(MeshEnvironment, number=number, hot=hot, flits=flits),
            _kinds(number, hot, flits), (_ROW,))
            for number, hot, flits in _EXPLORED),
        checker=MeshCheck,
        fpga=FpgaTarget("four"),
        pictures=(
            Picture("curves", "Throughput and latency over offered load, up to saturation, for "
                    "each traffic.", "cyclebound.sim.pictures.mesh:curves", kept="curves.json",
                    testbenches=("harness", "large")),
        ),
    ),
    Block(
        name="noc.mesh_interfaces",
        summary="a mesh with a network interface at every tile",
        component=InterfacedMesh,
        configurations={"square": Configuration(_SQUARE), "oblong": Configuration(_OBLONG)},
        testbenches=(Testbench("cycle", "cyclebound.tb.noc.mesh_interfaces", quick=()),),
        # In its testbench, a word's data are the number of the tile that sends it.
        bounds=(BoundBinding("transfer", transfer, signals=_through_interfaces, probe=Probe(
            taken("transactions[n]"), f"any({taken('received[t]')} & received[t].payload.last"
            " & (received[t].payload.data == n) for t in received)",
            over={"n": "transactions"}, in_flight=2,
            request={"words": "transactions[n].payload.words", "period": "windows[n].period",
                     "length": "windows[n].length", "offset": "windows[n].offset"})),),
        properties=(Property(
            name="words",
            quick=0,
            says="no more words leave than have been sent, whatever windows, routes and traffic "
                 "are; what a tile receives stays until it is taken",
            checker=InterfacedMeshCheck,
            instances=({"rows": 1, "columns": 2, "width": 8, "depth": 3, "delta": 2,
                        "routing": "source", "longest": 3},),
            depth=20,  # either tile receives words
            induction=None,
            flat=True,
        ),),
        checker=InterfacedMeshCheck,
        pictures=(Picture(
            "composable", "When each word of a flow's requests arrives, the other tiles silent or "
            "saturating: with TDMA tables the same, cycle by cycle, and without.",
            "cyclebound.sim.pictures.mesh:composable", kept="arrivals.json",
            testbenches=("cycle",)),),
    ),
)
