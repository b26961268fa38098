"""A mesh of wormhole routers."""

from functools import cached_property

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.noc.packet import COORDINATE_BITS
from cyclebound.golden.noc.routes import Mesh as Shape
from cyclebound.golden.noc.routes import Port
from cyclebound.hdl.noc.flit import FlitLayout
from cyclebound.hdl.noc.wormhole_router import COUNTER_BITS, WormholeRouter, check_router
from cyclebound.hdl.parameters import check_integer
from cyclebound.hdl.shared import shared

__all__ = ["Mesh"]


class Mesh(wiring.Component):
    """Rows and columns of one router, each linked to its neighbours.

    Latency: ``delta`` + 1 cycles a router, without other traffic. Tiles are numbered row by
    row, from the north-west.

    Parameters
    ----------
    rows, columns : int
        From 1 to 16 each.
    width, depth, delta, routing, longest
        Of the routers: see `WormholeRouter`.

    Attributes
    ----------
    enable : Value or None
        The routers move in cycles in which this is set; None: in all. An `EnableInserter` around
        the mesh would not reach routers of which simulators have one for all.

    Members
    -------
    sinks, sources : In, Out(stream of FlitLayout).array(rows * columns)
        Packets from and to each tile's interface.
    misrouted, overlong, misplaced : Out(16).array(rows * columns)
        Packets that each router has dropped.
    """

    def __init__(self, *, rows, columns, width=32, depth=4, delta=2, routing="source", longest=66):
        check_integer("Row count", rows, 1, 1 << COORDINATE_BITS)
        check_integer("Column count", columns, 1, 1 << COORDINATE_BITS)
        self.shape = Shape(rows, columns)
        self.width, self.routing, self.longest = width, routing, longest
        self._router = {"width": width, "depth": depth, "delta": delta, "routing": routing,
                        "longest": longest}
        check_router(**self._router)
        self.enable = None
        flits, tiles = stream.Signature(FlitLayout(width)), rows * columns
        super().__init__({
            "sinks": In(flits).array(tiles), "sources": Out(flits).array(tiles),
            "misrouted": Out(COUNTER_BITS).array(tiles),
            "overlong": Out(COUNTER_BITS).array(tiles),
            "misplaced": Out(COUNTER_BITS).array(tiles),
        })

    @cached_property
    def routers(self):
        """The routers by tile, made when first used: not if only the ports are read."""
        return {tile: WormholeRouter(**self._router) for tile in self.shape.tiles}

    def elaborate(self, platform):
        m = Module()
        for number, (tile, router) in enumerate(self.routers.items()):
            m.submodules["router_{}_{}".format(*tile)] = shared(
                router, platform, alike=tuple(self._router.values()), enable=self.enable)
            wiring.connect(m, wiring.flipped(self.sinks[number]), router.sinks[Port.LOCAL])
            wiring.connect(m, router.sources[Port.LOCAL], wiring.flipped(self.sources[number]))
            connected = 1 << Port.LOCAL
            for port in list(Port)[:Port.LOCAL]:
                there = self.shape.neighbour(tile, port)
                if there is not None:
                    connected |= 1 << port
                    wiring.connect(m, router.sources[port],
                                   self.routers[there].sinks[port.opposite])
            m.d.comb += [
                router.connected.eq(connected),
                router.position.row.eq(tile[0]), router.position.column.eq(tile[1]),
                self.misrouted[number].eq(router.misrouted),
                self.overlong[number].eq(router.overlong),
                self.misplaced[number].eq(router.misplaced),
            ]
        return m
