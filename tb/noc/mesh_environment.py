"""Senders and receivers of a mesh that may do whatever the bound on its packets allows."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from cyclebound.golden.noc.packet import source_header, xy_header
from cyclebound.golden.noc.patterns import pattern
from cyclebound.golden.noc.routes import ports, xy_route

__all__ = ["MeshEnvironment"]

_TAG_BITS = 8  # the highest of all flits say where they come from, as the mesh's probes expect


class MeshEnvironment(wiring.Component):
    """A sender at each source of a pattern, and receivers that are always ready.

    A sender begins a packet in any cycle in which it chooses to, offers its header until that is
    taken, and its other flits one after the other.

    Parameters
    ----------
    mesh : cyclebound.hdl.noc.mesh.Mesh
        Whose tiles these are.
    number, hot, flits : int
        Number of the pattern (`golden.noc.patterns.pattern`), of a hotspot's tile, and flits of
        every packet.

    Members
    -------
    choice : In(sources)
        By source of the pattern, in the order of tiles: it begins a packet if it is idle.
    sinks, sources : Out, In(stream of FlitLayout).array(tiles)
        To and from the mesh.
    """

    def __init__(self, mesh, *, number, flits, hot=0):
        self._width, self._routing, self._shape = mesh.width, mesh.routing, mesh.shape
        self._goals = pattern(mesh.shape, number, divmod(hot, mesh.shape.columns))
        self._flits = flits
        super().__init__({"choice": In(len(self._goals)), **{
            name: mesh.signature.members[name].flip() for name in ("sinks", "sources")}})

    def elaborate(self, platform):
        m = Module()
        for place, (source, target) in enumerate(self._goals.items()):
            number = self._shape.tiles.index(source)
            sink, tag = self.sinks[number], number << self._width - _TAG_BITS
            header = (xy_header(target) if self._routing == "xy" else
                      source_header(ports(xy_route(self._shape, source, target)),
                                    width=self._width))
            left = Signal(range(self._flits), name=f"left_{number}")  # flits of the packet begun
            offered = Signal(name=f"offered_{number}")                # its header, in vain so far
            begins = left == 0
            m.d.comb += sink.valid.eq(~begins | offered | self.choice[place])
            with m.If(sink.valid):  # else what is beside it would make states different
                m.d.comb += [
                    sink.payload.data.eq(Mux(begins, header | tag, tag)),
                    sink.payload.first.eq(begins),
                    sink.payload.last.eq(left == 1 if self._flits > 1 else 1),
                ]
            m.d.sync += offered.eq(sink.valid & begins & ~sink.ready)
            with m.If(sink.valid & sink.ready):
                m.d.sync += left.eq(Mux(begins, self._flits - 1, left - 1))
        m.d.comb += [source.ready.eq(1) for source in self.sources]
        return m
