"""Proof that a packet's way through a mesh is no longer than its bound: an age for each hop.

After Holcomb et al., "Compositional performance verification of NoC designs", MEMOCODE 2012:
lemmas on how old a packet may be in each queue make induction end, where the bound from end to end
does not by itself.
"""

from collections.abc import Iterator
from itertools import pairwise

from amaranth.hdl import Assert, Assume, Cat, Const, Module, Mux, Signal

from cyclebound.golden.noc.bounds import traversal_heads
from cyclebound.golden.noc.packet import CODE_BITS, source_header, xy_header
from cyclebound.golden.noc.patterns import pattern
from cyclebound.golden.noc.routes import Channel, Port, channels, ports, xy_route
from cyclebound.tb.assumed import owes, stays
from cyclebound.tb.watcher import Watcher, claim_kept

__all__ = ["MeshTraversalProof", "PacketRules", "incoming"]

_TAG_BITS = 8    # the highest of all flits say where they come from, as the mesh's probes expect
_COUNT_BITS = 8  # of packets of one stream that are under way


class _Place:
    """A place of a FIFO or of a link, and what is known of the flit there.

    Attributes
    ----------
    there, first, last : Signal
        There is one, and its marks.
    whose : Signal
        One-hot, among the streams that use the channel: whose it is.
    """

    def __init__(self, name, streams):
        self.there, self.first, self.last = (
            Signal(name=f"{name}_{what}") for what in ("there", "first", "last"))
        self.whose = Signal(streams, name=f"{name}_whose")


class _Way:
    """A channel with the FIFO that it feeds: the flits on it, and what is known of them.

    Flits leave in the order in which they came. From the number of the next one to leave, within
    its packet, follow those of all others.

    Attributes
    ----------
    channel : Channel
        The channel.
    streams : list of int
        The streams that use it, by the numbers of their sources.
    unit : RouterInput or None
        The FIFO at its end; None if it leaves the network, or the part of it.
    output : RouterOutput or None
        What sends into it; None if it comes from an interface, or from a router elsewhere.
    guard : PacketGuard or None
        What is between the interface and the FIFO.
    places : list of _Place
        Of the FIFO, its head first; then of the output's register.
    next, packet : Signal
        Number, in its packet, of the flit that leaves next, and whose that packet is, one-hot; of a
        number 0, whose the packet before was.
    enters, entering : Signal
        The same of the flit that comes in next.
    ready : Value
        Of a channel that ends at no FIFO: its flit is taken.
    taken, stored : Signal
        The number of the flit that the FIFO takes next, and of the one that is next in its store.
    """

    def __init__(self, mesh, channel, streams, flits):
        self.channel, self.streams = channel, streams
        shape, routers = mesh.shape, mesh.routers
        name = f"from_{shape.tiles.index(channel.tile)}_" + (
            "in" if channel.into else channel.port.name.lower())
        here = routers.get(channel.tile)
        there = routers.get(shape.neighbour(channel.tile, channel.port))
        self.unit = self.output = self.guard = None
        if channel.into:
            self.unit, self.guard = here.inputs[Port.LOCAL], here.guard
        else:
            self.output = here and here.outputs[channel.port]
            self.unit = there and there.inputs[channel.port.opposite]
        self.ready = Const(1)
        held = 0 if self.unit is None else self.unit.depth + len(self.unit.stages)
        self.looks = [] if self.unit is None else [
            self.unit.memory.read_port(domain="comb") for _ in range(self.unit.depth - 1)]
        self.places = [_Place(f"{name}_{number}", len(streams))
                       for number in range(held + (self.output is not None))]
        self.next, self.enters, self.taken, self.stored = (
            Signal(range(flits), name=f"{name}_{what}")
            for what in ("next", "enters", "taken", "stored"))
        self.packet, self.entering = (Signal(len(streams), name=f"{name}_{what}")
                                      for what in ("packet", "entering"))

    @property
    def fifo(self):
        """The places of the FIFO."""
        return self.places[:-1] if self.output is not None else self.places


class PacketRules(Watcher):
    """What routers may hold while a pattern's packets, all of as many flits, go through them.

    Assumes that packets come by the links that lead into these routers, each whenever it likes, one
    after the other, without gaps in them, of streams that use that link; and that what leaves the
    network, or goes to a FIFO in which no flit ever stops, is taken. Invariants say what FIFOs,
    outputs and arbiters may hold: whole packets, one after the other and without gaps, on their
    routes. Of links that lead out of these routers they say what is assumed of those that lead in.

    It adds read ports to the stores, to look at all their words.

    Parameters
    ----------
    target : Mesh or MeshPart
        The routers; not elaborated yet.
    number, hot, flits : int
        Number of the pattern (`golden.noc.patterns.pattern`), of a hotspot's tile, and flits of
        every packet; 2 at least.
    ends : list of (Tile, Port)
        By its sinks and sources: which links these are.
    """

    def __init__(self, target, *, number, flits, hot, ends):
        super().__init__(target)
        shape = target.shape
        self._flits, self._width, self._xy = flits, target.width, target.routing == "xy"
        self._shape, self._routers, self._ends = shape, target.routers, ends
        self._routes = {shape.tiles.index(begin): xy_route(shape, begin, end) for begin, end
                        in pattern(shape, number, divmod(hot, shape.columns)).items()}
        self._paths = {stream: channels(route) for stream, route in self._routes.items()}
        users: dict[Channel, list[int]] = {}
        self._sources: dict[Channel, set[Channel]] = {}  # by channel: those before it
        for stream, path in self._paths.items():
            for channel in path:
                users.setdefault(channel, []).append(stream)
            for before, channel in pairwise(path):
                self._sources.setdefault(channel, set()).add(before)
        self._ways = {channel: _Way(target, channel, streams, flits)
                      for channel, streams in users.items()
                      if {channel.tile, shape.neighbour(channel.tile, channel.port)}
                      & self._routers.keys()}
        router = next(iter(target.routers.values()))
        self._delta = router.delta
        self._shares = {stream: traversal_heads(
            rows=shape.rows, columns=shape.columns, delta=router.delta, depth=router.depth,
            flits=flits, pattern=number, hot=hot, source=stream) for stream in self._routes}
        leading_in = {channel: n for n, end in enumerate(ends)
                      if (channel := incoming(shape, *end)) in self._ways}
        # by link into these routers: flits of the packet in progress that are in, and whose it is
        self._sent = {channel: Signal(range(flits), name=f"sent_{n}")
                      for channel, n in leading_in.items()}
        self._begun = {channel: Signal(len(users[channel]), name=f"begun_{n}")
                       for channel, n in leading_in.items()}

    def elaborate(self, platform):
        m = Module()
        self._surroundings(m)
        for way in self._ways.values():
            entries = [*_entries(m, way)] if way.unit is not None else []
            self._flits_of(m, way, entries)
            if way.unit is not None:
                self._fifo(m, way, entries)
            if way.output is not None:
                self._output(m, way)
        self._idle(m)
        return m

    def _surroundings(self, m):
        for n, ((tile, port), sink) in enumerate(zip(self._ends, self.sinks, strict=True)):
            link = f"tile {n}" if port is Port.LOCAL else f"link {n}"
            channel = incoming(self._shape, tile, port)
            if channel not in self._ways:
                m.d.sync += Assume(~sink.valid, f"{link} sends")
                continue
            way, flit = self._ways[channel], sink.payload
            sent, begun = self._sent[channel], self._begun[channel]
            whose = self._whose(flit, way, 0)
            with m.If(sink.valid & sink.ready):
                m.d.sync += [sent.eq(self._after(sent)), begun.eq(Mux(flit.last, 0, whose))]
            claim_kept(m, link, sink, stays)
            m.d.sync += [
                owes(sink.valid | (sent == 0), f"{link}: a pause within a packet"),
                owes(~sink.valid | ((flit.first == (sent == 0))
                                    & (flit.last == (sent == self._flits - 1))),
                     f"{link}: a packet of another size"),
                owes(~sink.valid | Mux(sent == 0, whose.any(), whose == begun),
                     f"{link}: a packet to elsewhere")]
        for n, ((tile, port), source) in enumerate(zip(self._ends, self.sources, strict=True)):
            channel = Channel(tile, port)
            if channel not in self._ways:
                continue
            self._ways[channel].ready = source.ready
            if port is Port.LOCAL:
                m.d.sync += Assume(source.ready, f"receiver {n} is not ready")
            else:
                claim_kept(m, f"link {n}", source, Assert)
                if self._never_stops(channel):
                    m.d.sync += Assume(source.ready,
                                       f"link {n}: a FIFO in which no flit stops is not ready")

    def _after(self, number):
        """The number of the flit after that number, in its packet or the next."""
        return Mux(number == self._flits - 1, 0, number + 1)

    def _header(self, stream, hop):
        """A header's data on their way into router number ``hop`` of its path."""
        tag, route = stream << self._width - _TAG_BITS, self._routes[stream]
        if self._xy:
            return xy_header(route[-1]) | tag
        return (source_header(ports(route), width=self._width) | tag) >> CODE_BITS * hop

    def _whose(self, flit, way, decoded):
        """One-hot: the stream of a flit on a channel, before or after that header is decoded."""
        return Cat(Mux(flit.first, flit.data == self._header(
            stream, self._paths[stream].index(way.channel) + decoded),
            flit.data[-_TAG_BITS:] == stream) for stream in way.streams)

    def _onward(self, way):
        """The channels after a FIFO, and as a mask the streams that go there."""
        masks: dict[Channel, int] = {}
        for place, stream in enumerate(way.streams):
            path = self._paths[stream]
            following = path[path.index(way.channel) + 1]
            masks[following] = masks.get(following, 0) | 1 << place
        return masks

    # Invariants

    def _flits_of(self, m, way, entries):
        """The flits on a channel are packets, one after the other."""
        number, packet = way.next, way.packet
        numbers = [number]
        for place, (there, flit, decoded) in zip(way.places, _held(way, entries), strict=True):
            its_number, its_packet = (Signal.like(like, name=f"{place.there.name}_{what}")
                                      for like, what in ((number, "number"), (packet, "packet")))
            m.d.comb += [
                place.there.eq(there), place.first.eq(flit.first), place.last.eq(flit.last),
                place.whose.eq(self._whose(flit, way, decoded)),
                its_number.eq(Mux(there, self._after(number), number)),
                its_packet.eq(Mux(there, place.whose, packet))]
            m.d.sync += [
                _invariant(~there | (flit.first == (number == 0)), "a header begins", way),
                _invariant(~there | (flit.last == (number == self._flits - 1)), "its end", way),
                _invariant(~there | place.whose.any(), "its stream", way),
                _invariant(~there | (number == 0) | (place.whose == packet), "its flits", way)]
            number, packet = its_number, its_packet
            numbers.append(number)
        m.d.comb += [way.stored.eq(numbers[len(entries)]), way.taken.eq(numbers[len(way.fifo)]),
                     way.enters.eq(number), way.entering.eq(packet)]
        head = way.places[0]
        with m.If(head.there & way.ready if way.unit is None else way.unit.leaves):
            m.d.sync += [way.next.eq(self._after(way.next)), way.packet.eq(head.whose)]
        m.d.sync += [
            _invariant(way.next < self._flits, "flits are counted", way),
            _invariant((way.next == 0) | (way.packet.any() & _one_at_most(way.packet)),
                       "one packet leaves", way),
            _invariant((way.next == 0) | head.there, "no gap at the head", way)]
        if way.channel in self._sent:
            m.d.sync += [
                _invariant(self._sent[way.channel] == number, "the sender counts", way),
                _invariant((number == 0) | (self._begun[way.channel] == packet), "its packet", way)]
        if way.guard is not None:
            m.d.sync += [
                _invariant(way.guard.inside == (number != 0), "the guard is inside", way),
                _invariant(way.guard.count == number, "the guard counts", way),
                _invariant(~way.guard.dropping, "the guard drops nothing", way)]

    def _fifo(self, m, way, entries):
        """The FIFO knows where its packets go, and has a place for what it takes."""
        unit, last = way.unit, way.unit.read + way.unit.stored
        words = unit.depth - 1
        inside = unit.valid + unit.stored + sum(unit.moving, Const(0, 1))
        for place, (_, entry) in zip(way.fifo, entries, strict=False):
            want = sum((Mux((place.whose & mask).any(), 1 << following.port, 0)
                        for following, mask in self._onward(way).items()), Const(0, unit.ports))
            m.d.sync += [
                _invariant(~place.there | (entry.header == place.first), "headers", way),
                _invariant(~place.there | (entry.want == Mux(place.first, want, 0)), "want", way),
                _invariant(~place.there | ~entry.lost, "nothing is lost", way)]
        m.d.sync += [
            _invariant(unit.space + inside == unit.depth, "space is counted", way),
            _invariant(unit.sink.ready == (unit.space != 0), "ready is space", way),
            _invariant(unit.valid | (unit.stored == 0), "a store needs a head", way),
            _invariant(unit.write == Mux(last >= words, last - words, last), "write pointer", way),
            _invariant(unit.read < words, "read pointer", way),
            _invariant(unit.fresh == (way.stored == 0), "a header is next", way),
            _invariant(~unit.losing, "nothing gets lost", way),
            _invariant((way.taken == 0) | unit.sink.valid, "no gap", way)]
        if self._never_stops(way.channel):
            m.d.sync += [
                _invariant((inside < self._delta) | ((inside == self._delta) & unit.leaves),
                           "flits never stop", way),
                _invariant(unit.sink.ready, "it is ready", way)]

    def _before(self, way):
        """By place among the inputs of a channel's output: the way from there, and who comes."""
        before = {}
        for other in self._ways.values():
            if other.unit is None:
                continue
            mask = self._onward(other).get(way.channel)
            if mask is not None:
                entrance = other.unit.number
                before[entrance - (entrance > way.channel.port)] = other, mask
        return before

    def _after_fifo(self, channel):
        """The channels after a FIFO: none where it leaves the network."""
        return {after for after, before in self._sources.items() if channel in before}

    def _never_stops(self, channel):
        """No other packets join those of a FIFO after it, if there is one."""
        return all(len(self._sources[following]) == 1 and self._never_stops(following)
                   for following in self._after_fifo(channel))

    def _output(self, m, way):
        """The output has the packet that goes into its channel, or none."""
        output, number = way.output, way.enters
        owner, served = output.owner, output.arbiter.served
        before = self._before(way)
        others = ~sum(1 << place for place in before) & (1 << len(owner)) - 1
        m.d.sync += [
            _invariant(((owner | served) & others) == 0, "only who comes is granted", way),
            _invariant(_one_at_most(owner), "one owner", way),
            _invariant(_one_at_most(served), "one was served last", way),
            _invariant(output.busy == owner.any(), "busy with an owner", way),
            _invariant((number == 0) | owner.any(), "a packet has an owner", way)]
        for place, (other, mask) in before.items():
            mine, unit = owner[place], other.unit
            whose = Cat(other.packet[other.streams.index(stream)]
                        if stream in other.streams else Const(0) for stream in way.streams)
            m.d.sync += [
                _invariant(~mine | (other.next == number), "the owner's flit", way),
                _invariant(~mine | (number == 0) | (whose == way.entering), "its packet", way),
                _invariant(~mine | (number != 0) | (unit.valid & unit.want[way.channel.port]),
                           "grants are for headers", way),
                _invariant((other.next == 0) | ~(other.packet & mask).any() | mine,
                           "what has begun has its output", way)]

    def _idle(self, m):
        """What no packet uses holds nothing."""
        units = [id(way.unit) for way in self._ways.values()]
        outputs = [id(way.output) for way in self._ways.values()]
        for tile, router in self._routers.items():
            for unit in router.inputs:
                if id(unit) not in units:
                    m.d.sync += Assert(
                        (unit.space == unit.depth) & unit.sink.ready & ~unit.valid & unit.fresh
                        & (unit.stored == 0) & ~unit.losing & ~Cat(unit.moving).any(),
                        f"invariant: nothing comes by input {unit.number} of {tile}")
            if id(router.inputs[Port.LOCAL]) not in units:
                guard = router.guard
                m.d.sync += Assert(~guard.inside & ~guard.dropping & (guard.count == 0),
                                   f"invariant: nothing is sent at {tile}")
            for port, output in enumerate(router.outputs):
                if id(output) not in outputs:
                    m.d.sync += Assert(
                        ~output.owner.any() & ~output.busy & ~output.source.valid
                        & ~output.arbiter.served.any(),
                        f"invariant: nothing leaves by output {port} of {tile}")


class MeshTraversalProof(PacketRules):
    """A pattern's packets, all of as many flits, each through its routers within its bound.

    Assumes the environment of the bound: senders of the pattern, each of which begins packets when
    it likes, and receivers that are always ready. Invariants say what FIFOs, outputs and arbiters
    may hold: whole packets, one after the other and without gaps, on their routes. Lemmas say, of
    the packet that is followed, that its header is in none of the FIFOs for longer than the
    bound's share of that hop (`golden.noc.bounds.traversal_heads`), whose sum the bound is.

    It adds read ports to the stores, to look at all their words.

    Parameters
    ----------
    target : Mesh
        The mesh itself; not elaborated yet.
    number, hot, flits : int
        Number of the pattern (`golden.noc.patterns.pattern`), of a hotspot's tile, and flits of
        every packet; 2 at least.
    source : int
        Number of the tile whose packets are followed.
    """

    def __init__(self, target, *, number, flits, source, hot=0):
        super().__init__(target, number=number, flits=flits, hot=hot,
                         ends=[(tile, Port.LOCAL) for tile in target.shape.tiles])
        self._source, self._heads = source, self._shares[source]

    def explain(self, m, probes):
        """The age of the followed packet's header, hop by hop.

        ``spent`` counts the cycles since it left the FIFO before, or was taken by the first one.
        """
        (counter,), path = probes["traversal"], self._paths[self._source]
        spent = Signal(range(max(*self._heads, self._flits) + 3))
        ways = [self._ways[channel] for channel in path]
        headers: list[list[Signal]] = [[] for _ in ways]
        ends = Const(0, _COUNT_BITS)  # of packets of the stream, in front of a place
        for hop, way in reversed([*enumerate(ways)]):
            own = way.streams.index(self._source)
            for place in way.places:
                here, upto = Signal(), Signal(_COUNT_BITS)
                mine = place.there & place.whose[own]
                m.d.comb += [
                    here.eq(counter.busy & mine & place.first & (ends == counter.ahead)),
                    upto.eq(ends + (mine & place.last))]
                headers[hop].append(here)
                ends = upto
        m.d.sync += [
            Assert(counter.level == ends + (self._sent[path[0]] != 0),
                   "invariant: packets under way are counted"),
            Assert(~counter.busy | (counter.ahead < counter.level),
                   "invariant: the followed packet is under way")]
        leaves, before = [], 0
        for hop, (most, places, way) in enumerate(zip(self._heads, headers, ways, strict=False)):
            here = Cat(places).any()
            m.d.sync += [
                Assert(~here | (spent <= most), f"hop {hop}: a header takes more than {most}"),
                Assert(~here | (counter.before <= before + spent),
                       f"invariant: the age is at most the sum of the hops, hop {hop}")]
            assert way.unit is not None  # only the last channel of a path has none
            leaves.append(places[0] & way.unit.leaves)
            before += most
        end = ways[-1]
        delivers = (counter.busy & (counter.ahead == 0) & end.places[0].there
                    & end.places[0].whose[end.streams.index(self._source)])
        m.d.sync += [
            Assert(~delivers | (spent == end.next + 1), "invariant: flits follow the header"),
            Assert(~delivers | (counter.before <= before + spent),
                   "invariant: the age is at most the sum of the hops, at the end"),
            spent.eq(Mux(counter.chosen | Cat(leaves).any(), 1, spent + 1))]


def incoming(shape, tile, port):
    """The channel that ends at an input of a router."""
    return (Channel(tile, port, into=True) if port is Port.LOCAL else
            Channel(shape.neighbour(tile, port), port.opposite))


def _invariant(fact, says, way):
    return Assert(fact, f"invariant: {says}, {way.channel}")


def _one_at_most(word):
    return (word & (word - 1)) == 0


def _entries(m, way) -> Iterator[tuple]:
    """The head of a FIFO and its store, oldest first: whether it is valid, and the entry."""
    unit = way.unit
    words = unit.depth - 1
    yield unit.valid, unit.kept
    for place, look in enumerate(way.looks):
        at = unit.read + place
        m.d.comb += look.addr.eq(Mux(at >= words, at - words, at) if words > 1 else 0)
        yield unit.stored > place, look.data


def _held(way, entries) -> Iterator[tuple]:
    """All places of a way: whether a flit is there, which, and whether its header is decoded."""
    for there, entry in entries:
        yield there, entry.flit, 1
    if way.unit is not None:
        for moving, stage in reversed([*zip(way.unit.moving, way.unit.stages, strict=True)]):
            yield moving, stage, 0
    if way.output is not None:
        yield way.output.source.valid, way.output.source.payload, 0
