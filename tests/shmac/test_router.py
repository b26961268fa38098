# amaranth: UnusedElaboratable=no
"""The router of one of SHMAC's two networks: RTL against golden model, and its proofs' faults."""

import random
import re

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Mux

from cyclebound.golden.noc.routes import Mesh, Port, xy_port, xy_route
from cyclebound.golden.shmac.packet import RequestPacket, ResponsePacket
from cyclebound.golden.shmac.router import RouterModel, reach
from cyclebound.hdl.noc.pipelined_output import PipelinedOutput
from cyclebound.hdl.shmac.packet import packet_layout
from cyclebound.hdl.shmac.router import Router, RouterInput
from cyclebound.tb.noc import fairness
from cyclebound.tb.noc import pipelined_router_properties as pipelined
from cyclebound.tb.noc.handshake_router_properties import ShmacRouterCheck
from cyclebound.tb.shmac.router import AWAY, PLACE, leading, packet_to
from cyclebound.tb.shmac.router_properties import RouterKeptProof
from kit.run_bench import run_bench

from ..noc.test_handshake_router import Loses, Priority

unit = pytest.mark.unit
BITS = {"address_bits": 24, "data_bits": 32}


@unit
@pytest.mark.parametrize(("wrong", "kind", "says"), [
    ({"channel": "both"}, ValueError, "Channel must be request or response, not 'both'"),
    ({"address_bits": 25}, ValueError, "Address bits must be from 1 to 24, not 25"),
    ({"data_bits": 0}, ValueError, "Data bits must be from 1 to 32, not 0")])
def test_refuses(wrong, kind, says):
    with pytest.raises(kind, match=f"^{says}$"):
        Router(**wrong)


@unit
def test_each_component_converts_alone():
    for make in (Router, lambda **bits: RouterInput(port=Port.EAST, **bits),
                 lambda **bits: PipelinedOutput(packet_layout(**bits), inputs=5)):
        assert "attribute \\top 1" in rtlil.convert(
            make(channel="response", address_bits=1, data_bits=1))


@unit
def test_a_packet_on_its_way_is_always_within_reach():
    """Whatever tile sends to whatever tile, no router on the way drops it; all that a router's
    inputs reach are used."""
    mesh, used = Mesh(3, 3), set()
    for source in mesh.tiles:
        for target in mesh.tiles:
            entrance = Port.LOCAL
            for tile in xy_route(mesh, source, target):
                output = xy_port(tile, target)
                used.add((entrance, output))
                entrance = output.opposite
    assert used == {(entrance, output) for output in Port for entrance in leading(output)}
    assert [RouterInput(port=port, channel="request").reach for port in Port] == [
        reach(port) for port in Port]


def fields(packet):
    """As Amaranth's simulator takes them."""
    return {name: dict(zip(("row", "column"), value, strict=True)) if isinstance(value, tuple)
            else int(value) for name, value in vars(packet).items()}


def traffic(router, queues, name, cycles, *, model=None, flow=0.8, connected=31):
    """A bench with packets at all inputs, compared with the model if there is one."""
    rng, out = random.Random(name), []

    async def bench(ctx):
        ctx.set(router.connected, connected)
        ctx.set(router.position, {"row": PLACE[0], "column": PLACE[1]})
        for _ in range(cycles):
            ready = [rng.random() < flow for _ in Port]
            offers = {port: queue[0] for port, queue in queues.items() if queue}
            for port, sink in enumerate(router.sinks):
                ctx.set(sink.valid, port in offers)
                if port in offers:
                    ctx.set(sink.payload, fields(offers[port]))
            for port, source in enumerate(router.sources):
                ctx.set(source.ready, ready[port])
            seen = [ctx.get(source.payload.data) if ctx.get(source.valid) else None
                    for source in router.sources]
            told = [bool(ctx.get(sink.ready)) for sink in router.sinks]
            out.extend((port, data) for port, data in enumerate(seen)
                       if data is not None and ready[port])
            if model is not None:
                assert seen == [None if offer is None else offer.data for offer in model.offers]
                assert told == model.acknowledges(ready)
                model.step(offers, ready)
            for port in offers:
                if told[port]:
                    queues[port].pop(0)
            await ctx.tick()
        bench.dropped = ctx.get(router.unroutable)
    bench.out = out
    return bench


def packets(channel, count, rng, outputs=tuple(Port)):
    """By input, packets to these outputs, if they may leave by them."""
    return {port: [packet_to(channel, AWAY[rng.choice(there)], port, rng) for _ in range(count)]
            for port in Port if (there := [out for out in outputs if reach(port) >> out & 1])}


@unit
@pytest.mark.parametrize("channel", ["request", "response"])
def test_rtl_is_the_model_in_every_cycle(channel):
    router = Router(channel=channel)
    queues = packets(channel, 40, random.Random(channel))
    queues[Port.NORTH][3:3] = [packet_to(channel, (1, 3), 0, random.Random(1))]
    bench = traffic(router, queues, channel, 120, model=RouterModel(position=PLACE))
    run_bench(router, bench, ShmacRouterCheck(router), RouterKeptProof(router),
              pipelined.PipelinedFairProof(router))
    assert len(bench.out) > 60
    assert bench.dropped == 1


@unit
@pytest.mark.parametrize(("entrance", "there"), [
    (Port.EAST, (2, 3)), (Port.WEST, (1, 1)), (Port.NORTH, (1, 3)), (Port.SOUTH, (0, 0)),
    (Port.NORTH, (0, 2)), (Port.LOCAL, (1, 4))])
def test_what_leads_nowhere_is_dropped_and_counted_and_the_router_goes_on(entrance, there):
    """Back, from a column to a row, and beyond the edge."""
    router = Router()
    queues = {entrance: [RequestPacket(target=there, data=1), RequestPacket(target=PLACE, data=2)]}
    bench = traffic(router, queues, "bad", 20, flow=1.0, connected=31 ^ 1 << Port.EAST)
    run_bench(router, bench, ShmacRouterCheck(router))
    assert (bench.dropped, bench.out) == (1, [(Port.LOCAL, 2)])


@unit
def test_responses_go_to_their_initiators():
    router = Router(channel="response")
    queues = {Port.LOCAL: [ResponsePacket(initiator=(0, 2), target=PLACE, data=5)]}
    bench = traffic(router, queues, "response", 8)
    run_bench(router, bench)
    assert bench.out == [(Port.NORTH, 5)]


class Wanders(RouterInput):
    """Goes from a column to a row."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        with m.If(self.granted):
            m.d.sync += self.head.output.eq(1 << Port.EAST)
        return m


class Stale(RouterInput):
    """Shows the packet that is at the head now."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.comb += self.packet.eq(Mux(self.leaves, self.places[1], self.places[0]))
        return m


@unit
@pytest.mark.parametrize(("fault", "says"), [
    (Wanders, "invariant: nothing asks to turn, or to turn around, where none does"),
    (Stale, "input 0: not what was taken"), (Loses, "output 2: a packet is lost or doubled")])
def test_the_proof_of_keeping_fires(monkeypatch, only, fault, says):
    monkeypatch.setattr(f"cyclebound.hdl.shmac.router.{fault.__base__.__name__}", fault)
    only(says, pipelined)
    router = Router()
    queues = packets("request", 20, random.Random(says))
    with pytest.raises(AssertionError, match=f"^Assertion violated: {re.escape(says)}$"):
        run_bench(router, traffic(router, queues, says, 120, flow=0.5), RouterKeptProof(router))


@unit
def test_the_proof_of_fairness_fires(monkeypatch, only):
    monkeypatch.setattr("cyclebound.hdl.noc.pipelined_output.RoundRobinArbiter", Priority)
    says = "output 4: request 4 overtaken by 5 packets"
    only(says, fairness)
    router = Router()
    queues = packets("request", 12, random.Random(1), outputs=(Port.LOCAL,))
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        run_bench(router, traffic(router, queues, says, 100, flow=1.0),
                  pipelined.PipelinedFairProof(router))
