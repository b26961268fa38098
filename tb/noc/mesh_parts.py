"""Proof of a packet's bound through a mesh by parts: some routers at a time.

What is assumed of a link that leads into a part is proved of it in the part that it leads out of,
from what was before: outputs are registers. So all parts together prove, by induction over time,
what none of them has to assume of the others.
"""

from amaranth.hdl import Assert, Cat, Const, Cover, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.noc.routes import Mesh, Port
from cyclebound.tb.noc.mesh_properties import PacketRules, incoming

__all__ = ["MeshPart", "MeshPartProof"]


class MeshPart(wiring.Component):
    """Some routers of a mesh, with the links between them; all others are open.

    Parameters
    ----------
    router : callable
        Makes a router (`cyclebound.hdl.noc.wormhole_router.WormholeRouter`).
    tiles : tuple of Tile
        Where these routers are.
    port : int or None
        Which input of the first of them is looked at; None: all.
    rows, columns, width, depth, delta, routing, longest
        Of the mesh (`cyclebound.hdl.noc.mesh.Mesh`).

    Members
    -------
    sinks, sources : In, Out(stream of FlitLayout).array(ends)
        Open links, by ``ends``.

    Attributes
    ----------
    ends : list of (Tile, Port)
        These links: interfaces, and links to routers elsewhere.
    """

    def __init__(self, router, *, tiles, port=None, rows, columns, width, depth, delta, routing,
                 longest):
        self.shape, self.width, self.routing = Mesh(rows, columns), width, routing
        self.first, self.port = tiles[0], port
        self.routers = {tile: router(width=width, depth=depth, delta=delta, routing=routing,
                                     longest=longest) for tile in tiles}
        self.ends = [(tile, port) for tile in tiles for port in Port if port is Port.LOCAL
                     or self.shape.neighbour(tile, port) not in (None, *tiles)]
        flits = self.routers[self.first].signature.members["sources"].signature
        super().__init__({"sinks": In(flits).array(len(self.ends)),
                          "sources": Out(flits).array(len(self.ends))})

    def elaborate(self, platform):
        m = Module()
        for tile, router in self.routers.items():
            m.submodules["router_{}_{}".format(*tile)] = router
            there = {port: self.shape.neighbour(tile, port) for port in Port}
            for port in Port:
                if there[port] in self.routers:
                    wiring.connect(m, router.sources[port],
                                   self.routers[there[port]].sinks[port.opposite])
            m.d.comb += [
                router.connected.eq(sum(1 << port for port in Port
                                        if port is Port.LOCAL or there[port] is not None)),
                router.position.row.eq(tile[0]), router.position.column.eq(tile[1])]
        for n, (tile, port) in enumerate(self.ends):
            wiring.connect(m, wiring.flipped(self.sinks[n]), self.routers[tile].sinks[port])
            wiring.connect(m, self.routers[tile].sources[port], wiring.flipped(self.sources[n]))
        return m


class MeshPartProof(PacketRules):
    """The rules of a part of a mesh, and for how long a header may be in one of its FIFOs.

    Of the input of the first router that is looked at, a lemma: no header is in its FIFO, or on the
    link to it, for longer than the share of its stream's bound
    (`golden.noc.bounds.traversal_heads`), counted from when it left the FIFO before, or from when
    it was taken from an interface. If all its inputs are looked at, of those that need no other
    router.

    Parameters
    ----------
    target : MeshPart
        The routers; not elaborated yet.
    number, hot, flits
        Of the pattern, as in `PacketRules`.

    Attributes
    ----------
    lemmas : list of Channel
        Whose FIFOs they are about.

    Raises
    ------
    ValueError
        For an input whose lemma needs a router that is not in the part.
    """

    def __init__(self, target, *, number, flits, hot=0):
        super().__init__(target, number=number, flits=flits, hot=hot, ends=target.ends)
        self.lemmas, self._first = [], target.first
        for port in Port if target.port is None else [Port(target.port)]:
            if port is not Port.LOCAL and target.shape.neighbour(target.first, port) is None:
                continue
            channel = incoming(target.shape, target.first, port)
            if channel not in self._ways:
                continue
            missing = self.needed(channel) - target.routers.keys()
            if not missing:
                self.lemmas.append(channel)
            elif target.port is not None:
                raise ValueError(f"part must have router {min(missing)}, for the FIFO of the "
                                 f"{channel}")
        self._picks = [Signal(name=f"pick_{number}") for number, _ in enumerate(self.lemmas)]
        self.rigid += self._picks

    def needed(self, channel):
        """The tiles of the routers that the lemma of a channel's FIFO needs: its own, and those of
        the FIFOs after it, up to those in which no flit stops."""
        here = (channel.tile if channel.into else
                self._shape.neighbour(channel.tile, channel.port))
        return {here}.union(*(self.needed(following) for following in self._after_fifo(channel)
                              if following.port is not Port.LOCAL
                              and not self._never_stops(following)))

    def elaborate(self, platform):
        m = super().elaborate(platform)
        flits = Const(0)
        for source in self.sources:
            flits |= source.valid & source.payload.last
        m.d.sync += Cover(flits, "a packet leaves")
        for channel, pick in zip(self.lemmas, self._picks, strict=True):
            self._lemma(m, self._ways[channel], pick)
        return m

    def _lemma(self, m, way, pick):
        """One header is followed: those that it comes after, and cycles since it began."""
        unit = way.unit
        most = {name: self._shares[name][self._paths[name].index(way.channel)]
                for name in way.streams}
        inside = unit.valid + unit.stored + sum(unit.moving, Const(0, 1))
        if way.output is not None:
            link = way.output.source
        else:
            link = self.sinks[self._ends.index((self._first, Port(unit.number)))]
        comes, whose = Signal(), self._whose(link.payload, way, 0)
        stalled = Signal()   # the offer was there before
        busy, followed = Signal(), Signal(len(way.streams))
        ahead, spent = Signal(range(unit.depth + 1)), Signal(range(max(most.values()) + 2))
        interface = way.channel.into
        m.d.sync += stalled.eq(link.valid & ~link.ready)
        # a header's time begins when an interface's is taken, or a router's is new on the link
        m.d.comb += comes.eq(link.valid & link.payload.first
                             & (link.ready if interface else ~stalled))
        with m.If(busy):
            m.d.sync += [spent.eq(spent + 1), ahead.eq(ahead - unit.leaves),
                         busy.eq(~(unit.leaves & (ahead == 0)))]
        with m.Elif(comes & ~pick):
            m.d.sync += [busy.eq(1), followed.eq(whose), ahead.eq(inside - unit.leaves),
                         spent.eq(1 if interface else 2)]
        places, before = [], Const(0, range(len(way.fifo) + 2))
        for place in way.places:
            places.append(place.there & place.first & (place.whose == followed)
                          & (before == ahead))
            before += place.there
        if way.output is None and not interface:  # the link is no place of the part
            places.append(link.valid & link.payload.first & (whose == followed) & (inside == ahead))
        m.d.sync += Assert(~busy | Cat(places).any(), "invariant: the followed header is there")
        for place, name in enumerate(way.streams):
            m.d.sync += Assert(~(busy & followed[place]) | (spent <= most[name]),
                               f"{way.channel}: a header from tile {name} takes more than "
                               f"{most[name]}")
