"""Testbench of the mesh: every interface compared in every cycle, and the deadlock of Figure 3."""

import itertools
from collections import defaultdict, deque
from collections.abc import Mapping

from cyclebound.golden.noc.deadlock import find_deadlock
from cyclebound.golden.noc.mesh import MeshModel
from cyclebound.golden.noc.packet import source_header, xy_header
from cyclebound.golden.noc.patterns import HOTSPOT, TRANSPOSE, crowd, pattern
from cyclebound.golden.noc.routes import Mesh, Port, Route, Tile, ports, xy_route
from cyclebound.golden.noc.tdma import Flow, Slot, conflicts, solve
from cyclebound.golden.noc.tdma import Network as Tables
from cyclebound.golden.noc.traversal import Stream
from cyclebound.golden.noc.wormhole_router import Flit, packet
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.noc.flits import FlitPort, Sender
from cyclebound.tb.noc.staggered import Network, PlannedSender, random_plan, stalls_of

# memory-composition, Figure 3: R1 and R2 above, R4 and R3 below
FIGURE_3: Mapping[str, Route] = {
    "F(R1)": ((1, 1), (1, 0), (0, 0)), "F(R4)": ((0, 1), (1, 1), (1, 0)),
    "F(R3)": ((0, 0), (0, 1), (1, 1)), "F(R2)": ((1, 0), (0, 0), (0, 1))}
_COUNTED = 3  # cycles, at most, from a header at the head of its FIFO until it is counted
_TAG_BITS = 8  # the highest of a header as it is taken, and of every other flit
_MEASURED = "alone", "traversal", "crowd"
_QUIET = 100  # cycles without any flit moving, after which nothing will move again


class MeshTester:
    """The mesh, senders at all tiles, and, unless it is too large for that, its model.

    Without the model, what is delivered must be what was sent, packet by packet.
    """

    def __init__(self, bench: Bench, *, modelled: bool = True) -> None:
        self.bench, p = bench, bench.parameters
        self.shape = Mesh(p["rows"], p["columns"])
        self.delta, self.width, self.routing = p["delta"], p["width"], p["routing"]
        self.model = MeshModel(self.shape, **{name: p[name] for name in (
            "depth", "delta", "routing", "longest", "width")}) if modelled else None
        i, o = bench.inputs, bench.outputs
        self.tiles = self.shape.tiles
        self._sinks = {t: FlitPort(i, o, f"sinks.{n}") for n, t in enumerate(self.tiles)}
        self._sources = {t: FlitPort(o, i, f"sources.{n}") for n, t in enumerate(self.tiles)}
        self._all_ready = sum(port.ready.mask for port in self._sources.values())
        self.senders: dict[Tile, Sender[Flit]] = {tile: Sender() for tile in self.tiles}
        self.stalls = 0                     # for how many cycles receivers may stall a flit,
        self._stalled: dict[Tile, int] = {}  # and for how many more they do
        self._sent: dict[int, deque[list[Flit]]] = defaultdict(deque)   # by stream
        self._taken: dict[int, deque[int]] = defaultdict(deque)
        self._next: dict[Tile, deque[int]] = {tile: deque() for tile in self.tiles}
        self._claims: dict[Tile, deque[tuple | None]] = {tile: deque() for tile in self.tiles}
        self._claimed: dict[tuple[str, int], Mapping[str, int]] = {}
        self._coming: dict[Tile, list[Flit]] = {tile: [] for tile in self.tiles}
        self.delivered: list[tuple[int, int, int, int]] = []  # stream, flits, first, last cycle
        self.quiet = 0
        self._count = itertools.count()

    @classmethod
    async def fresh(cls, bench: Bench, *, modelled: bool = True) -> "MeshTester":
        """A tester after a reset, in which no packet is of any class yet."""
        for what in _MEASURED:
            bench.undeclare(what)
        await bench.reset()
        return cls(bench, modelled=modelled)

    def send(self, route: Route, flits: int, stream: int | None = None, *,
             claim: tuple[str, Mapping[str, int]] | None = None, tag: int | None = None) -> None:
        """Queue a packet at the route's source; its second flit says of which stream it is.

        A stream keeps to one route; the default is the number of the source's tile. ``claim`` is
        what is measured of the packet, and its class. ``tag`` tells packets apart whose order is
        not known; the default is the number of the source's tile.
        """
        if self.routing == "source":
            header = source_header(ports(route), width=self.width)
        else:
            header = xy_header(route[-1])
        if stream is None:
            stream = self.tiles.index(route[0])
        if tag is None:
            tag = self.tiles.index(route[0])
        low = self.width - _TAG_BITS
        assert not tag or header < 1 << low, "the route leaves no room for a tag"
        payload = [stream, *(next(self._count) % (1 << low) for _ in range(flits - 2))]
        whole = packet(header | tag << low, [data | tag << low for data in payload])
        self._claims[route[0]].append(claim and (*claim, tag))
        self.senders[route[0]].waiting.extend(whole)
        self._sent[stream].append(whole)
        self._next[route[0]].append(stream)

    def send_lost(self, source: Tile, header: int, flits: int) -> None:
        """Queue a packet that no tile is to get."""
        self.senders[source].waiting.extend(packet(header, [0] * (flits - 1)))
        self._next[source].append(-1)
        self._claims[source].append(None)

    async def misrouted(self) -> list[int]:
        """Each router's count of misrouted packets, read while nothing is in flight."""
        for _ in range(_COUNTED):
            await self.cycle()
        seen = await self.bench.step(self._all_ready)
        return [self.bench.outputs[f"misrouted.{number}"].of(seen)
                for number in range(len(self.tiles))]

    async def cycle(self) -> None:
        """Offer, let the receivers take what they do not stall, and compare."""
        word, offers = self._all_ready, {}
        ready = dict.fromkeys(self.tiles, True)
        for tile in self.tiles if self.stalls else ():
            left = self._stalled.setdefault(tile, stalls_of(self.bench.rng, self.stalls))
            ready[tile] = left == 0
            if left:
                word &= ~self._sources[tile].ready.mask
        for tile, sender in self.senders.items():
            waited = sender.offer is not None
            flit = sender.begin()
            if flit is not None:
                if flit.first and not waited:
                    self._declare(self._claims[tile].popleft())
                offers[tile] = flit
                word |= self._sinks[tile].word(flit)
        now = self.bench.cycle
        seen = await self.bench.step(word)
        if self.model is not None:
            self._compare(self.model, seen, offers, ready)
        moved = False
        for tile, flit in offers.items():
            port = self._sinks[tile]
            if seen & port.ready.mask:
                moved = True
                self.senders[tile].taken()
                if flit.first:
                    self._taken[self._next[tile].popleft()].append(now)
        for tile, port in self._sources.items():
            if not seen & port.valid.mask:
                continue
            if self.stalls:
                self._stalled[tile] -= 1
            if ready[tile]:
                moved = True
                self._stalled.pop(tile, None)
                self._deliver(tile, port.payload.of(seen), now)
        self.quiet = 0 if moved else self.quiet + 1

    def _declare(self, claim: tuple[str, Mapping[str, int], int] | None) -> None:
        """Declare the class of the packet whose header is on offer."""
        if claim is not None:
            what, parameters, tag = claim
            if self._claimed.get((what, tag)) != parameters:
                self._claimed[what, tag] = parameters
                self.bench.declare(what, {"n": tag}, **parameters)

    def _compare(self, model: MeshModel, seen: int, offers: Mapping[Tile, Flit],
                 ready: Mapping[Tile, bool]) -> None:
        expected = care = 0
        for tile in self.tiles:
            flit = model.delivers(tile)
            care |= self._sources[tile].valid.mask | self._sinks[tile].ready.mask
            if flit is not None:
                expected |= self._sources[tile].word(flit)
                care |= self._sources[tile].wide
            if model.ready(tile, offers.get(tile)):
                expected |= self._sinks[tile].ready.mask
        model.step(offers, ready)
        self.bench.check(seen, expected, care)

    def _deliver(self, tile: Tile, bits: int, now: int) -> None:
        coming = self._coming[tile]
        coming.append(Flit(bits & (1 << self.width) - 1, bool(bits >> self.width & 1),
                           bool(bits >> self.width + 1)))
        if not coming[-1].last:
            return
        stream = coming[1].data & (1 << self.width - _TAG_BITS) - 1
        sent = self._sent[stream].popleft()
        self.bench.compare(coming[1:], sent[1:], f"the packet that tile {tile} got")
        self.delivered.append((stream, len(sent), self._taken[stream].popleft(), now))
        self._coming[tile] = []

    @property
    def pending(self) -> int:
        """Packets that have not been delivered."""
        return sum(map(len, self._sent.values()))

    def ends(self, route: Route) -> dict[str, int]:
        """The parameters of an XY route that its bound takes and a waveform shows."""
        return {"routers": len(route), "source": self.tiles.index(route[0]),
                "target": self.tiles.index(route[-1])}

    async def finish(self) -> None:
        """Run cycles until all is delivered, or nothing moves any more."""
        while self.pending and self.quiet < _QUIET:
            await self.cycle()


async def saturate(bench: Bench, number: int, flits: int, packets: int, *,
                   modelled: bool) -> None:
    """All tiles send ``packets`` packets of a pattern without a pause; measures all of them."""
    tester = await MeshTester.fresh(bench, modelled=modelled)
    for source, destination in pattern(tester.shape, number).items():
        parameters = {"flits": flits, "pattern": number, "source": tester.tiles.index(source)}
        for _ in range(packets):
            tester.send(xy_route(tester.shape, source, destination), flits,
                        claim=("traversal", parameters))
    await tester.finish()
    assert not tester.pending, f"{tester.pending} packets are stuck"


async def staggered(bench: Bench, network: Network, cycles: int, *, modelled: bool, what: str,
                    **parameters: int) -> None:
    """Streams with senders that begin late, pause and idle; measures every packet as ``what``."""
    tester = await MeshTester.fresh(bench, modelled=modelled)
    tester.stalls = network.stalls
    for tile, packets in random_plan(network, bench.rng, cycles).items():
        tester.senders[tile] = sender = PlannedSender()
        for planned in packets:
            number = int(planned.stream)
            of_stream = ({"stream": number} if what == "crowd"
                         else {"source": number, "flits": planned.flits})
            tester.send(network.streams[planned.stream].route, planned.flits, number, tag=number,
                        claim=(what, {**of_stream, **parameters}))
            sender.plan(planned)
    while tester.pending:
        await tester.cycle()
        assert tester.quiet < cycles, f"{tester.pending} packets are stuck"


def pattern_network(bench: Bench, number: int, flits: int, hot: int = 0) -> Network:
    """A pattern's streams, by the numbers of their sources, all with packets of one length."""
    p = bench.parameters
    mesh = Mesh(p["rows"], p["columns"])
    return Network(mesh, {str(mesh.tiles.index(source)): Stream(xy_route(mesh, source, target),
                                                                flits)
                          for source, target in pattern(
                              mesh, number, divmod(hot, mesh.columns)).items()},
                   p["delta"], p["depth"])


def crowd_network(bench: Bench, number: int) -> Network:
    """The streams of `crowd` number ``number``, in a mesh of the configuration's size."""
    p = bench.parameters
    mesh = Mesh(p["rows"], p["columns"])
    streams, stalls = crowd(mesh, number, p["longest"])
    return Network(mesh, streams, p["delta"], p["depth"], stalls)


@testbench
async def staggered_patterns(bench: Bench) -> None:
    """A pattern of packets of one length, and crowds of mixed ones, with senders that idle."""
    longest, depth = bench.parameters["longest"], bench.parameters["depth"]
    for number in (HOTSPOT, *bench.rng.sample(range(2, 1000), 3)):
        for flits in sorted({2, min(depth + 1, longest), longest}):
            await staggered(bench, pattern_network(bench, number, flits), 200, modelled=True,
                            what="traversal", pattern=number)
    for number in bench.rng.sample(range(1000), 8):
        await staggered(bench, crowd_network(bench, number), 300, modelled=True, what="crowd",
                        crowd=number)


@testbench
async def every_pair_alone(bench: Bench) -> None:
    """One packet in an idle mesh, between all pairs of a corner tile and the others."""
    tester, longest = MeshTester(bench), bench.parameters["longest"]
    for number, tile in enumerate(tester.tiles[1:]):
        for ends in ((tester.tiles[0], tile), (tile, tester.tiles[0])):
            route, flits = xy_route(tester.shape, *ends), min(2 + number % 4, longest)
            tester.send(route, flits, claim=("alone", {"flits": flits, **tester.ends(route)}))
            await tester.finish()


@testbench
async def routes_that_are_none(bench: Bench) -> None:
    """Out of the mesh: dropped and counted by the router at the edge. Back to a router, or to
    another tile than was meant: no router can know, and it arrives there. What follows arrives, and
    in the end is as quick as if nothing had been."""
    tester = MeshTester(bench)
    shape, tiles, longest = tester.shape, tester.tiles, bench.parameters["longest"]
    corner, good = tiles[0], xy_route(shape, tiles[0], tiles[-1])
    expected = [0] * len(tiles)
    if tester.routing == "source":
        straight = [Port.EAST] * shape.columns
        bad = [([Port.NORTH, Port.LOCAL], 0), ([Port.WEST, Port.LOCAL], 0),
               ([*straight, Port.LOCAL], shape.columns - 1)]
        headers = [(source_header(ways, width=tester.width), where) for ways, where in bad]
        headers.append((Port.EAST, 1))  # without an end: north follows
    else:
        headers = [(xy_header((0, shape.columns)), shape.columns - 1),
                   (xy_header((shape.rows, 0)), (shape.rows - 1) * shape.columns)]
    for header, where in headers:
        for flits in (1, longest):
            tester.send_lost(corner, header, flits)
            expected[where] += 1
            tester.send(good, longest)
    await tester.finish()
    assert not tester.pending, f"{tester.pending} packets did not get through after a bad one"
    assert await tester.misrouted() == expected
    if tester.routing == "source":
        around = ((0, 0), (0, 1), (1, 1), (1, 0), (0, 0))
        tester.send(around, longest, stream=1)  # which may come later than the next one
        tester.send(good, longest)
        await tester.finish()
        assert not tester.pending, "a packet went around and did not arrive"
        assert await tester.misrouted() == expected
    tester.send(good, longest, claim=("alone", {"flits": longest, **tester.ends(good)}))
    await tester.finish()


@testbench
async def patterns_at_saturation(bench: Bench) -> None:
    longest = bench.parameters["longest"]
    square = bench.parameters["rows"] == bench.parameters["columns"]
    for number in (HOTSPOT, *([TRANSPOSE] if square else []), bench.rng.randrange(2, 1000)):
        for flits in sorted({2, longest}):
            await saturate(bench, number, flits, 12, modelled=True)


@testbench
async def deadlock_of_figure_3(bench: Bench) -> None:
    """Four flows in a ring stop each other for ever, as their channel dependencies say; by XY
    routes they do not. Needs routes in the headers, and packets longer than a router."""
    flits = bench.parameters["longest"]
    if bench.parameters["routing"] != "source" or flits <= bench.parameters["depth"] + 2:
        return  # a packet must reach over a router
    for routes, stuck in ((FIGURE_3, True), (
            {name: xy_route(Mesh(2, 2), route[0], route[-1]) for name, route in FIGURE_3.items()},
            False)):
        tester = await MeshTester.fresh(bench)
        for route in routes.values():
            for _ in range(3):
                tester.send(route, flits)
        await tester.finish()
        assert (find_deadlock(routes) is not None) == stuck
        assert bool(tester.pending) == stuck, f"{tester.pending} packets are pending"
    await bench.reset()


_PERIODS = 4  # that a table is played


async def _play(bench: Bench, network: Tables, table: Mapping[str, Slot], who: Mapping[str, str],
                ) -> list[list[tuple[int, int]]]:
    """Flows that send: in their windows ("table"), or always ("always"). By flow of the table,
    when each packet was taken and delivered, from the first cycle on."""
    tester = await MeshTester.fresh(bench)
    begin, names = bench.cycle, list(table)
    as_planned = all(how == "table" for how in who.values())
    most = network.payload_flits + network.header_flits
    for now in range(_PERIODS * network.period):
        for number, name in enumerate(names):
            slot, left = table[name], 0
            if who.get(name) == "table" and now % network.period == slot.offset:
                left = slot.length
            elif who.get(name) == "always" and tester.senders[slot.route[0]].done:
                left = most
            while left:
                flits = min(left, most)
                parameters = {"flits": flits, **tester.ends(slot.route)}
                tester.send(slot.route, flits, number, claim=("alone", parameters) if as_planned
                            else None)
                left -= flits
        await tester.cycle()
    packets: list[list[tuple[int, int]]] = [[] for _ in names]
    for number, _, first, last in tester.delivered:
        packets[number].append((first - begin, last - begin))
    return packets


@testbench
async def composable_with_tables(bench: Bench) -> None:
    """With a TDMA table a flow is the same, cycle by cycle, whether the others are silent or use
    up their windows, and as quick as if it were alone; without, it is not."""
    p = bench.parameters
    mesh = Mesh(p["rows"], p["columns"])
    network = Tables(mesh, period=64, hop_cycles=p["delta"] + 1,
                      payload_flits=p["longest"] - 2, flit_bytes=1, mhz=64)
    # so many MB/s are so many flits of payload in a period; packets of full size
    ends = [((0, 0), (1, 1)), ((0, 1), (1, 1)), ((1, 0), (1, 1)), ((0, 1), (1, 0)),
            ((1, 1), (0, 0)), ((1, 0), (0, 1))]
    flows = [Flow(f"f{n}", *pair, 2 * network.payload_flits) for n, pair in enumerate(ends)]
    routes = {flow.name: [xy_route(mesh, flow.source, flow.destination)] for flow in flows}
    table = solve(network, flows, routes=routes)
    assert conflicts(network, flows, table) == []
    all_play = await _play(bench, network, table, dict.fromkeys(table, "table"))
    worse = 0
    for number, name in enumerate(table):
        alone = await _play(bench, network, table, {name: "table"})
        assert alone[number] == all_play[number], f"flow {name} feels the others"
        assert len(alone[number]) >= 2 * (_PERIODS - 1), f"flow {name} sent nothing"
        rivals = await _play(bench, network, table,
                             {other: "table" if other == name else "always" for other in table})
        worse += rivals[number] != alone[number]
    assert worse, "packets do not meet without a table"
