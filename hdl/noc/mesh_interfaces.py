"""A mesh with a network interface at every tile."""

from functools import cached_property

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.noc.packet import HEADER_FLITS
from cyclebound.hdl.noc.mesh import Mesh
from cyclebound.hdl.noc.network_interface import (
    NetworkInterface,
    ReceivedLayout,
    TransactionLayout,
    WindowLayout,
)

__all__ = ["InterfacedMesh"]


class InterfacedMesh(wiring.Component):
    """Rows and columns of routers, each with an interface that keeps to its window.

    Latency: that of the interfaces, and ``delta`` + 1 cycles a router on the way, if windows have
    no conflicts.

    Parameters
    ----------
    rows, columns, width, depth, delta, routing, longest
        Of the `Mesh`; ``longest``, at least 3, is two header flits and the words of a packet.

    Members
    -------
    windows, transactions, words, received
        Of each tile's `NetworkInterface`, in arrays.
    """

    def __init__(self, *, rows, columns, width=32, depth=4, delta=2, routing="source", longest=66):
        if longest <= HEADER_FLITS:
            raise ValueError(f"Longest packet must be at least {HEADER_FLITS + 1}, not {longest}")
        self._make = {"width": width, "payload": longest - HEADER_FLITS}
        self.mesh = Mesh(rows=rows, columns=columns, width=width, depth=depth, delta=delta,
                         routing=routing, longest=longest)
        tiles = rows * columns
        super().__init__({
            "windows": In(WindowLayout).array(tiles),
            "transactions": In(stream.Signature(TransactionLayout(width))).array(tiles),
            "words": In(stream.Signature(width)).array(tiles),
            "received": Out(stream.Signature(ReceivedLayout(width))).array(tiles),
        })

    @cached_property
    def interfaces(self):
        """The network interfaces, by tile; made when they are first asked for."""
        return [NetworkInterface(**self._make) for _ in self.words]

    def elaborate(self, platform):
        m = Module()
        m.submodules.mesh = self.mesh
        for number, unit in enumerate(self.interfaces):
            m.submodules[f"interface_{number}"] = unit
            wiring.connect(m, unit.injected, self.mesh.sinks[number])
            wiring.connect(m, self.mesh.sources[number], unit.arriving)
            m.d.comb += unit.window.eq(self.windows[number])
            for name in ("transactions", "words", "received"):
                outer = wiring.flipped(getattr(self, name)[number])
                inner = getattr(unit, name)
                wiring.connect(m, *((inner, outer) if name == "received" else (outer, inner)))
        return m
