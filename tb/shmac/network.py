"""Testbench of SHMAC's network with two channels: every port compared in every cycle."""

import random
from collections import deque
from collections.abc import Collection, Mapping
from typing import TypeVar

from cyclebound.golden.noc.routes import Mesh, Tile
from cyclebound.golden.noc.shmac_sharing import links as distance
from cyclebound.golden.shmac.address_map import LOCAL_BITS
from cyclebound.golden.shmac.core_port import DATA_BITS, STROBE_BITS
from cyclebound.golden.shmac.network import ChannelModel, NetworkModel
from cyclebound.golden.shmac.packet import RequestPacket, ResponsePacket
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.noc.flits import Sender
from cyclebound.tb.noc.shmac_packets import PacketPort

__all__ = ["NetworkTester"]

_DELAY = 3  # cycles that the counters come later

_Sent = TypeVar("_Sent")


class _Channel:
    """One channel's ports on the buses, and its model."""

    def __init__(self, bench: Bench, model: ChannelModel, sinks: str, sources: str,
                 dropped: str) -> None:
        i, o = bench.inputs, bench.outputs
        tiles = model.mesh.tiles
        self.model = model
        self.sinks = {tile: PacketPort(i, o, f"{sinks}.{n}") for n, tile in enumerate(tiles)}
        self.sources = {tile: PacketPort(o, i, f"{sources}.{n}") for n, tile in enumerate(tiles)}
        self.dropped = {tile: o[f"{dropped}.{n}"] for n, tile in enumerate(tiles)}
        self.past = deque([model.dropped] * _DELAY, maxlen=_DELAY)


class NetworkTester:
    """The network and its model, a cycle at a time.

    Attributes
    ----------
    model : NetworkModel
        Beside which it runs.
    host_taken : bool
        What `cycle` was given as the host's request was taken in the last cycle.
    """

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.mesh = Mesh(bench.parameters["rows"], bench.parameters["columns"])
        self.model = NetworkModel(self.mesh)
        self.requests = _Channel(bench, self.model.requests, "master_requests", "slave_requests",
                                 "dropped_requests")
        self.responses = _Channel(bench, self.model.responses, "slave_responses",
                                  "master_responses", "dropped_responses")
        self._host = PacketPort(bench.inputs, bench.outputs, "host")

    def place(self, tile: Tile) -> dict[str, int]:
        """The probes' index of a master."""
        return {"n": self.mesh.tiles.index(tile)}

    async def cycle(self, requests: Mapping[Tile, RequestPacket],
                    responses: Mapping[Tile, ResponsePacket], *,
                    slaves: Collection[Tile] | None = None,
                    masters: Collection[Tile] | None = None,
                    host: RequestPacket | None = None) -> None:
        """Offer, and compare every output. ``slaves``, ``masters``: those that take what is on
        offer to them; None: all do."""
        word = expected = care = 0
        for channel, offers, ready in ((self.requests, requests, slaves),
                                       (self.responses, responses, masters)):
            shown = channel.model.offers
            for tile, port in channel.sinks.items():
                if tile in offers:
                    word |= port.word(offers[tile])
                care |= port.ready.mask
                expected |= port.ready.mask if channel.model.takes(tile) else 0
            for tile, port in channel.sources.items():
                if ready is None or tile in ready:
                    word |= port.ready.mask
                care |= port.valid.mask
                if tile in shown:
                    expected |= port.word(shown[tile])
                    care |= port.wide
            for tile, field in channel.dropped.items():
                expected |= field.to(channel.past[0][tile])
                care |= field.mask
        if host is not None:
            word |= self._host.word(host)
        care |= self._host.ready.mask
        expected |= self._host.ready.mask if self.model.host_taken() else 0
        self.model.requests.step(requests, slaves, host=host)
        self.model.responses.step(responses, masters)
        for channel in (self.requests, self.responses):
            channel.past.append(channel.model.dropped)
        self.bench.check(await self.bench.step(word), expected, care)


def _tile(mesh: Mesh, rng: random.Random, nonsense: float) -> Tile:
    return (rng.randrange(16), rng.randrange(16)) if rng.random() < nonsense else rng.choice(
        mesh.tiles)


def any_request(mesh: Mesh, here: Tile, rng: random.Random, nonsense: float) -> RequestPacket:
    """A request from that tile to any; with ``nonsense``, to one that may not be there."""
    write, interrupt, sync = (rng.random() < 0.5 for _ in range(3))
    return RequestPacket(
        write=write, interrupt=interrupt, sync=sync, initiator=here,
        target=_tile(mesh, rng, nonsense), address=rng.getrandbits(LOCAL_BITS),
        strobes=rng.getrandbits(STROBE_BITS), data=rng.getrandbits(DATA_BITS))


def any_response(mesh: Mesh, here: Tile, rng: random.Random, nonsense: float) -> ResponsePacket:
    """As `any_request`, a response."""
    return ResponsePacket(write=rng.random() < 0.5, error=rng.random() < 0.5, target=here,
                          initiator=_tile(mesh, rng, nonsense), data=rng.getrandbits(DATA_BITS))


@testbench
async def every_way_alone(bench: Bench) -> None:
    """A write from every tile to every tile, each in an idle network; the data say who sends."""
    tester = NetworkTester(bench)
    for number, tile in enumerate(tester.mesh.tiles):
        for there in tester.mesh.tiles:
            bench.declare("alone", links=distance(tile, there))
            packet = RequestPacket(write=True, initiator=tile, target=there, data=number)
            await tester.cycle({tile: packet}, {})
            while tester.model.inside:
                await tester.cycle({}, {})


def _begun(senders: Mapping[Tile, Sender[_Sent]], rng: random.Random, load: float
           ) -> dict[Tile, _Sent]:
    """What is on offer in this cycle."""
    return {tile: packet for tile, sender in senders.items()
            if (packet := sender.begin(come=rng.random() < load)) is not None}


@testbench
async def random_traffic(bench: Bench) -> None:
    """Packets of both channels between all tiles, and from the host; everyone stalls."""
    rng = bench.rng
    for nonsense, load, flow in ((0.0, 1.0, 1.0), (0.1, 0.4, 0.8), (0.0, 1.0, 0.3)):
        await bench.reset()
        tester = NetworkTester(bench)
        mesh = tester.mesh
        requests = {tile: Sender(any_request(mesh, tile, rng, nonsense) for _ in range(40))
                    for tile in mesh.tiles}
        responses = {tile: Sender(any_response(mesh, tile, rng, nonsense) for _ in range(40))
                     for tile in mesh.tiles}
        host = Sender(any_request(mesh, (0, 0), rng, nonsense) for _ in range(40))
        while not (tester.model.inside == 0 and host.done and all(
                sender.done for side in (requests, responses) for sender in side.values())):
            asked = _begun(requests, rng, load)
            answered = _begun(responses, rng, load)
            outside = host.begin(come=rng.random() < load)
            for tile in filter(tester.model.requests.takes, asked):
                requests[tile].taken()
            for tile in filter(tester.model.responses.takes, answered):
                responses[tile].taken()
            if tester.model.host_taken():
                host.taken()
            await tester.cycle(asked, answered, host=outside,
                               slaves={tile for tile in mesh.tiles if rng.random() < flow},
                               masters={tile for tile in mesh.tiles if rng.random() < flow})
        for _ in range(_DELAY):
            await tester.cycle({}, {})
        lost = sum(sum(channel.dropped.values())
                   for channel in (tester.model.requests, tester.model.responses))
        assert bool(lost) == bool(nonsense)


reset_in_mid_run = interrupted(random_traffic, last=300, then=every_way_alone)
