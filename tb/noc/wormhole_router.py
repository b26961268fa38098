"""Testbench of the wormhole router: every port compared in every cycle."""

from collections import deque
from collections.abc import Callable, Sequence

from cyclebound.golden.noc.packet import CODE_BITS, COORDINATE_BITS
from cyclebound.golden.noc.wormhole_router import Flit, RouterModel, packet
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.noc.flits import FlitPort, Sender, surges

PLACE = (1, 2)     # of the router, for XY routing: there is something on every side
_TAG, _TAG_BITS = 8, 3  # where each flit says by which input it came, on its way out
_DELAYS = {"misrouted": 2, "overlong": 1, "misplaced": 1}  # cycles that the counters come later


class WormholeRouterTester:
    """The router, its model, and a sender at every input; one `cycle` at a time."""

    def __init__(self, bench: Bench, *, connected: int = -1) -> None:
        self.bench = bench
        bench.scramble_idle()
        p = bench.parameters
        self.ports, self.delta, self.longest = p["ports"], p["delta"], p["longest"]
        self.width, self.routing = p["width"], p["routing"]
        self.connected = connected & (1 << self.ports) - 1
        self.model = RouterModel(depth=p["depth"], delta=self.delta, routing=self.routing,
                                 longest=self.longest, ports=self.ports, width=self.width,
                                 connected=self.connected, position=PLACE)
        self.senders: list[Sender[Flit]] = [Sender() for _ in range(self.ports)]
        i, o = bench.inputs, bench.outputs
        self._sinks = [FlitPort(i, o, f"sinks.{n}") for n in range(self.ports)]
        self._sources = [FlitPort(o, i, f"sources.{n}") for n in range(self.ports)]
        self._constant = i.pack({"connected": self.connected,
                                 "position": PLACE[1] | PLACE[0] << COORDINATE_BITS})
        self._control = sum(port.ready.mask for port in self._sinks)
        self._control |= sum(port.valid.mask for port in self._sources)
        self._counters = {name: (o[name], deque([0] * delay, maxlen=delay))
                          for name, delay in _DELAYS.items()}
        self.begins: Callable[[int], None] = lambda entrance: None  # a header is on offer there

    def header(self, entrance: int, output: int) -> int:
        """A header's data from that input to that output, tagged with its entrance."""
        local = self.ports - 1
        if self.routing == "source":
            return (entrance if output == local else output) | entrance << _TAG + CODE_BITS
        row, column = PLACE
        step = {0: (-1, 0), 1: (0, 1), 2: (1, 0), 3: (0, -1), 4: (0, 0)}[output]
        return column + step[1] | row + step[0] << COORDINATE_BITS | entrance << _TAG

    def packet(self, entrance: int, output: int, flits: int) -> list[Flit]:
        """A packet with random payload, but for the tag in each flit."""
        other = ~((1 << _TAG_BITS) - 1 << _TAG)
        return packet(self.header(entrance, output), [
            self.bench.rng.getrandbits(self.width) & other | entrance << _TAG
            for _ in range(flits - 1)])

    async def cycle(self, ready: Sequence[bool], come: Sequence[bool] | None = None) -> None:
        """Offer, and compare every output."""
        word = self._constant
        offers = {}
        for number, (sender, port) in enumerate(zip(self.senders, self._sinks, strict=True)):
            waited = sender.offer is not None
            flit = sender.begin(come=come is None or come[number])
            if flit is not None:
                if flit.first and not waited:
                    self.begins(number)
                offers[number] = flit
                word |= port.word(flit)
        expected, care = 0, self._control
        for number, (port, flit) in enumerate(zip(self._sources, self.model.offers, strict=True)):
            if ready[number]:
                word |= port.ready.mask
            if flit is not None:
                expected |= port.word(flit)
                care |= port.wide
        taken = []
        for number, port in enumerate(self._sinks):
            if self.model.ready(number, offers.get(number)):
                expected |= port.ready.mask
                if number in offers:
                    taken.append(number)
        for field, past in self._counters.values():
            expected |= field.to(past[0])
            care |= field.mask
        self.model.step(offers, ready)
        for name, (_, past) in self._counters.items():
            past.append(self.model.misrouted if name == "misrouted"
                        else getattr(self.model.sender, name))
        self.bench.check(await self.bench.step(word), expected, care)
        for number in taken:
            self.senders[number].taken()

    async def finish(self) -> None:
        """Run cycles until all flits sent have left."""
        idle = 0
        while idle < 4 + self.delta:
            quiet = all(sender.done for sender in self.senders) and not any(
                input_port.queue for input_port in self.model.inputs)
            idle = idle + 1 if quiet else 0
            await self.cycle([True] * self.ports)


@testbench
async def every_way_alone(bench: Bench) -> None:
    """One packet in an idle router, from every input to every output."""
    for flits in sorted({1, 2, 3, bench.parameters["longest"]}):
        tester = WormholeRouterTester(bench)
        await bench.reset()
        bench.declare("alone", flits=flits, routers=1)
        for entrance in range(tester.ports):
            for output in range(tester.ports):
                if entrance != output:
                    tester.senders[entrance].waiting.extend(tester.packet(entrance, output, flits))
                    await tester.finish()


@testbench
async def all_contend(bench: Bench) -> None:
    """2, 3, ... inputs send to one output without a pause; every packet of one of them is
    measured."""
    longest = bench.parameters["longest"]
    sizes = sorted({(1, 1), (1, longest), (longest, longest), (2, longest - 1)})
    for contenders in range(1, bench.parameters["ports"]):
        for flits, rival_flits in sizes:
            output = bench.rng.randrange(bench.parameters["ports"])
            tester = WormholeRouterTester(bench)
            inputs = bench.rng.sample([n for n in range(tester.ports) if n != output], contenders)
            bench.undeclare("hop")
            await bench.restart()
            bench.declare("hop", {"i": inputs[0]}, flits=flits, contenders=contenders,
                          rival_flits=rival_flits)
            for who in inputs:
                length = flits if who == inputs[0] else rival_flits
                # some are still inside when the victim's last one is taken
                for _ in range(4 + -(-bench.parameters["depth"] // flits)):
                    tester.senders[who].waiting.extend(tester.packet(who, output, length))
            # while all of them send, every packet of the victim meets one of each rival
            while not tester.senders[inputs[0]].done:
                await tester.cycle([True] * tester.ports)


def _nonsense(tester: WormholeRouterTester, length: int) -> list[Flit]:
    """Flits of any kind, as a sender out of its mind would offer them."""
    rng = tester.bench.rng
    local = tester.ports - 1
    return [Flit(tester.header(local, rng.randrange(local)), rng.random() < 0.3,
                 rng.random() < 0.2) for _ in range(length)]


def _fill(tester: WormholeRouterTester, *, packets: int, everywhere: bool) -> None:
    """Random packets at every input; ``everywhere``: to outputs that lead nowhere as well."""
    rng, local = tester.bench.rng, tester.ports - 1
    for entrance, sender in enumerate(tester.senders):
        for _ in range(packets):
            output = rng.randrange(tester.ports)
            if output == entrance or (not everywhere and not tester.connected >> output & 1):
                continue
            flits = rng.choice((1, 2, 3, rng.randint(1, tester.longest)))
            packet = tester.packet(entrance, output, flits)
            if everywhere and entrance != local and rng.random() < 0.2:
                packet[0] = Flit(rng.getrandbits(tester.width), True, packet[0].last)
            sender.waiting.extend(packet)


@testbench
async def random_traffic(bench: Bench) -> None:
    """Packets of all lengths between all ports, all streams stalling; bounds are kept if outputs
    are ready."""
    for load, flow in ((1.0, 1.0), (0.6, 1.0), (0.3, 0.8), (1.0, 0.4)):
        tester = WormholeRouterTester(bench)
        await bench.reset()
        _fill(tester, packets=12, everywhere=False)
        while not all(sender.done for sender in tester.senders):
            await tester.cycle([bench.rng.random() < flow for _ in range(tester.ports)],
                               [bench.rng.random() < load for _ in range(tester.ports)])
        await tester.finish()
        assert tester.model.misrouted == 0


@testbench
async def to_one_output_at_random(bench: Bench) -> None:
    """Random lengths to one output, always ready."""
    tester = WormholeRouterTester(bench)
    output = bench.rng.randrange(tester.ports)
    lengths = {n: [bench.rng.randint(1, tester.longest) for _ in range(10)]
               for n in range(tester.ports) if n != output}
    for who, flits in lengths.items():
        for length in flits:
            tester.senders[who].waiting.extend(tester.packet(who, output, length))
    left = {who: iter(flits) for who, flits in lengths.items()}
    tester.begins = lambda who: bench.declare(
        "hop", {"i": who}, flits=next(left[who]), contenders=len(lengths),
        rival_flits=max(max(flits) for other, flits in lengths.items() if other != who))
    await tester.finish()


@testbench
async def crowds(bench: Bench) -> None:
    """All inputs send short packets to one output now and then, and it stalls: to each output in
    turn. So an arbiter finds any of its inputs waiting after any that was served last."""
    rng = bench.rng
    for output in range(bench.parameters["ports"]):
        tester = WormholeRouterTester(bench)
        await bench.reset()
        for entrance, sender in enumerate(tester.senders):
            if entrance != output:
                for _ in range(12):
                    sender.waiting.extend(tester.packet(entrance, output, rng.choice((1, 1, 2, 3))))
        coming = surges(rng, tester.ports)
        while not all(sender.done for sender in tester.senders):
            await tester.cycle([rng.random() < 0.8 for _ in tester.senders], next(coming))
        await tester.finish()


@testbench
async def malformed_packets(bench: Bench) -> None:
    """At the edge of a mesh: outputs that lead nowhere, and anything at all from the local sender;
    what is well-formed still comes through. Flits of a packet come with pauses, or without."""
    rng = bench.rng
    seen = {"misrouted": 0, "overlong": 0, "misplaced": 0}
    for flow, load in ((1.0, 0.6), (0.5, 1.0)):
        for gone in range(1, 1 << bench.parameters["ports"], 5):
            tester = WormholeRouterTester(bench, connected=~gone)
            await bench.reset()
            _fill(tester, packets=5, everywhere=True)
            local = tester.senders[-1].waiting
            local.clear()
            local.extend(_nonsense(tester, 60))
            local.extend(Flit(0) for _ in range(tester.longest))
            local.append(Flit(0, last=True))
            local.extend([*tester.packet(tester.ports - 1, 0, 2), Flit(0, True)])
            local.extend(Flit(0) for _ in range(tester.longest + 2))
            local.append(Flit(0, last=True))
            outputs = [n for n in range(tester.ports - 1) if tester.connected >> n & 1]
            if outputs:
                local.extend(tester.packet(tester.ports - 1, outputs[0], 3))
            while not all(sender.done for sender in tester.senders):
                await tester.cycle([rng.random() < flow for _ in range(tester.ports)],
                                   [rng.random() < load for _ in range(tester.ports)])
            await tester.finish()
            seen["misrouted"] += tester.model.misrouted
            seen["overlong"] += tester.model.sender.overlong
            seen["misplaced"] += tester.model.sender.misplaced
    assert all(seen.values()), f"not all kinds of nonsense were dropped: {seen}"


reset_in_mid_run = interrupted(all_contend, brief=True)
