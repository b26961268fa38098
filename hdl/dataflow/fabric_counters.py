"""A fabric whose tokens are counted, at the end of each link.

Part of what `golden.dataflow.counters` counts, for simulations: it changes nothing of the fabric,
whose model, testbench and tests cover it.
"""

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.dataflow.fabric import Fabric

__all__ = ["CountedFabric"]

_BITS = 32  # of a counter


class CountedFabric(wiring.Component):
    """A `Fabric`, and how many tokens each link's end has taken since it was configured.

    Parameters
    ----------
    rows, depth, tid_width, address_width
        Of the fabric.

    Members
    -------
    configuration, start, done, memory
        Of the fabric.
    select : In(range(links))
        Of which link to show the count, in the order of `golden.dataflow.grid.Grid.links`.
    count : Out(32)
        The tokens that its end has taken.
    """

    def __init__(self, *, rows, depth, tid_width, address_width):
        self.fabric = Fabric(rows=rows, depth=depth, tid_width=tid_width,
                             address_width=address_width)
        self.links = tuple(self.fabric.grid.links())
        super().__init__({**dict(self.fabric.signature.members.items()),
                          "select": In(range(len(self.links))), "count": Out(_BITS)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.fabric = fabric = self.fabric
        wiring.connect(m, wiring.flipped(self.configuration), fabric.configuration)
        m.d.comb += [fabric.start.eq(self.start), self.done.eq(fabric.done)]
        for outside, inside in zip(self.memory, fabric.memory, strict=True):
            wiring.connect(m, wiring.flipped(outside), inside)
        nodes = fabric.places | fabric.switches
        counts = []
        for number, (*_, peer, entry) in enumerate(self.links):
            end = nodes[peer].inputs[entry]
            count = Signal(_BITS, name=f"taken_{number}")
            with m.If(self.configuration.valid):
                m.d.sync += count.eq(0)
            with m.Elif(end.valid & end.ready):
                m.d.sync += count.eq(count + 1)
            counts.append(count)
        m.d.comb += self.count.eq(Array(counts)[self.select])
        return m
