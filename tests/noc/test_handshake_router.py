# amaranth: UnusedElaboratable=no
"""SHMAC's routers, old and new: parameters, RTL against golden model, checkers against faults."""

import random
import re

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module, Mux

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.noc import shmac_bounds as bounds
from cyclebound.golden.noc.handshake_router import HandshakeRouterModel
from cyclebound.golden.noc.pipelined_router import PipelinedRouterModel
from cyclebound.golden.noc.shmac_packet import ShmacPacket, ShmacPort
from cyclebound.hdl.arbiter import RoundRobinArbiter
from cyclebound.hdl.noc.handshake_input import HandshakeInput
from cyclebound.hdl.noc.handshake_output import HandshakeOutput
from cyclebound.hdl.noc.handshake_router import HandshakeRouter
from cyclebound.hdl.noc.pipelined_input import PipelinedInput
from cyclebound.hdl.noc.pipelined_output import PipelinedOutput
from cyclebound.hdl.noc.pipelined_router import PipelinedRouter
from cyclebound.hdl.noc.shmac_packet import PacketLayout, Verdict
from cyclebound.tb.noc import fairness
from cyclebound.tb.noc import handshake_router_properties as properties
from cyclebound.tb.noc import pipelined_router_properties as pipelined
from cyclebound.tb.noc.handshake_router import PLACE, any_packet, packet_to
from kit.faults import Tampered, override
from kit.run_bench import run_bench

unit = pytest.mark.unit
MASTER, SLAVE = ShmacPort.MASTER, ShmacPort.SLAVE
BITS = {"address_bits": 2, "data_bits": 3}


# Parameters

@unit
@pytest.mark.parametrize("router", [HandshakeRouter, PipelinedRouter])
@pytest.mark.parametrize(("wrong", "kind", "says"), [
    ({"address_bits": 25}, ValueError, "Address bits must be from 1 to 24, not 25"),
    ({"data_bits": 0}, ValueError, "Data bits must be from 1 to 32, not 0"),
    ({"data_bits": 8.0}, TypeError, r"Data bits must be an integer, not 8\.0")])
def test_refuses(router, wrong, kind, says):
    with pytest.raises(kind, match=f"^{says}$"):
        router(**wrong)


@unit
def test_refuses_an_acknowledge():
    with pytest.raises(ValueError, match=r"^Slave acknowledge must be passed or accepted, not 'n'"):
        HandshakeRouter(slave_acknowledge="n")


@unit
@pytest.mark.parametrize("make", [
    HandshakeRouter, PipelinedRouter, HandshakeOutput,
    lambda **bits: PipelinedOutput(PacketLayout(**bits), inputs=6),
    lambda **bits: HandshakeInput(port=MASTER, acknowledge="accepted", **bits),
    lambda **bits: PipelinedInput(port=SLAVE, **bits),
    lambda **bits: Verdict(port=MASTER, **bits),
    lambda **bits: properties.ShmacRouterCheck(HandshakeRouter(**bits))])
def test_each_component_converts_alone(make):
    component = make(**BITS)
    assert "attribute \\top 1" in rtlil.convert(component)


@unit
def test_bounds():
    assert [bounds.handshake_hop(contenders=n) for n in (1, 2, 5)] == [11, 17, 35]
    assert bounds.handshake_accept(contenders=1) == 11
    assert bounds.pipelined_hop(contenders=5) == 8
    for bound in (bounds.handshake_hop, bounds.handshake_accept, bounds.pipelined_hop):
        with pytest.raises(NotCovered, match=r"^contenders must be a whole number of at least 1"):
            bound(contenders=0)


# RTL against golden model

ROUTERS = {
    "passed": (lambda: HandshakeRouter(**BITS), HandshakeRouterModel),
    "accepted": (lambda: HandshakeRouter(slave_acknowledge="accepted", **BITS),
                 lambda **tile: HandshakeRouterModel(slave_acknowledge="accepted", **tile)),
    "pipelined": (lambda: PipelinedRouter(**BITS), PipelinedRouterModel)}
PROOFS = ((properties.HandshakeKeptProof, properties.HandshakeFairProof),
          (pipelined.PipelinedKeptProof, pipelined.PipelinedFairProof))


def a_packet(entrance, rng):
    """Often a good one."""
    if rng.random() < 0.2:
        return any_packet(rng)
    if entrance == MASTER and rng.random() < 0.3:
        return ShmacPacket(initiator=PLACE, target=(2, 3))
    return packet_to(entrance, rng.choice([p for p in ShmacPort if p != entrance]), rng)


def traffic(router, make, name, cycles, *, queues=None, flow=0.8, connected=63):
    """A bench with packets at all inputs, compared with the model if there is one."""
    rng = random.Random(name)
    if queues is None:
        queues = {port: [a_packet(port, rng) for _ in range(cycles // 5)] for port in ShmacPort}
    model = make(position=PLACE, connected=connected) if make else None
    out = []

    async def bench(ctx):
        ctx.set(router.connected, connected)
        ctx.set(router.position, {"row": PLACE[0], "column": PLACE[1]})
        for _ in range(cycles):
            ready = [rng.random() < flow for _ in ShmacPort]
            busy = rng.random() < 0.2
            ctx.set(router.slave_busy, busy)
            offers = {port: queue[0] for port, queue in queues.items() if queue}
            for port, sink in enumerate(router.sinks):
                ctx.set(sink.valid, port in offers)
                if port in offers:
                    ctx.set(sink.payload.as_value(), offers[port].word(**BITS))
            for port, source in enumerate(router.sources):
                ctx.set(source.ready, ready[port])
            seen = [ctx.get(source.payload.as_value()) if ctx.get(source.valid) else None
                    for source in router.sources]
            told = [bool(ctx.get(sink.ready)) for sink in router.sinks]
            out.extend((port, word) for port, word in enumerate(seen)
                       if word is not None and ready[port])
            if model is not None:
                assert seen == [None if offer is None else offer.word(**BITS)
                                for offer in model.offers]
                assert told == model.acknowledges(ready)
                model.step(offers, ready, busy)
            for port in offers:
                if told[port]:
                    queues[port].pop(0)
            await ctx.tick()
        bench.counted = ctx.get(router.unroutable), ctx.get(router.malformed)
    bench.out, bench.model = out, model
    return bench


@unit
@pytest.mark.parametrize("name", ["accepted", "pipelined"])
def test_rtl_is_the_model_in_every_cycle(name):
    make, model = ROUTERS[name]
    router = make()
    bench = traffic(router, model, name, 250)
    checkers = [properties.ShmacRouterCheck(router)]
    checkers += [proof(router) for proof in PROOFS[name == "pipelined"]]
    run_bench(router, bench, *checkers)
    assert len(bench.out) > 30


READ = ShmacPacket(initiator=PLACE, target=(2, 3))
ANSWER = ShmacPacket(response=True, initiator=PLACE, target=(2, 3))
EAST, NORTH = ShmacPort.EAST, ShmacPort.NORTH
BAD = {  # what is offered; how many packets come out; unroutable and malformed ones
    "a target beyond the edge": ({NORTH: [READ, ShmacPacket(target=PLACE)]}, 1, (1, 0)),
    "a route back": ({ShmacPort.WEST: [ShmacPacket(target=(1, 0)), READ]}, 0, (2, 0)),
    "a response that is not awaited": ({EAST: [ANSWER], MASTER: []}, 0, (0, 1)),
    "a response that the slave has to itself": ({SLAVE: [ANSWER]}, 0, (0, 1)),
    "a second response": ({MASTER: [ShmacPacket(initiator=PLACE, target=(0, 2))],
                           EAST: [ShmacPacket(target=(0, 2))] * 4 + [ANSWER, ANSWER]}, 6, (0, 1)),
    "a response from the master": ({MASTER: [ANSWER]}, 0, (0, 1)),
    "a request in another's name": ({MASTER: [ShmacPacket(target=(0, 2))]}, 0, (0, 1)),
    "a second read": ({MASTER: [ShmacPacket(initiator=PLACE, target=(0, 2))] * 2}, 1, (0, 1)),
    "a request from the slave": ({SLAVE: [READ]}, 0, (0, 1)),
    "a response to what has none": ({NORTH: [ShmacPacket(True, True, initiator=PLACE)]}, 0, (0, 1)),
}


@unit
@pytest.mark.parametrize("router", ["passed", "pipelined"])
@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_dropped_and_counted_and_the_router_goes_on(router, name):
    queues, out, counted = BAD[name]
    make, model = ROUTERS[router]
    dut = make()
    queues = {port: list(packets) for port, packets in queues.items()}
    good = ShmacPacket(target=PLACE)
    queues.setdefault(ShmacPort.SOUTH, []).extend([good, good])
    bench = traffic(dut, model, name, 110, queues=queues, flow=1.0, connected=63 ^ 1 << EAST)
    run_bench(dut, bench, properties.ShmacRouterCheck(dut))
    assert bench.counted == counted
    assert len(bench.out) == out + 2
    assert not any(queues.values())


# The checkers fire

FAULTS = {
    "output 0: offer withdrawn or changed": lambda inner, out, cycle:
        out.sources[0].payload.data.eq(inner.sources[0].payload.data ^ cycle),
    "more packets out than in": lambda inner, out, cycle: out.sources[2].valid.eq(1)}


@unit
@pytest.mark.parametrize("says", FAULTS)
def test_checker_fires(only, says):
    only(says, properties)
    router = Tampered(HandshakeRouter(**BITS), override(FAULTS[says]))
    with pytest.raises(AssertionError, match=f"^Assertion violated: {re.escape(says)}$"):
        run_bench(router, traffic(router, None, says, 100, flow=0.5),
                 properties.ShmacRouterCheck(router))


class Forgets(HandshakeInput):
    """Frees itself as soon as its packet is granted."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        with m.If(self.granted):
            m.d.sync += self.free.eq(1)
        return m


class Overwrites(HandshakeInput):
    """Changes its packet while an output begins with it."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        with m.If(self.granted):
            m.d.sync += self.packet.data.eq(~self.packet.data)
        return m


class Silent(HandshakeInput):
    """Drops packets, and does not say so."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.comb += [self.unroutable.eq(0), self.malformed.eq(0)]
        return m


class Repeats(HandshakeInput):
    """Asks again for every output."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        with m.If(self.granted):
            m.d.sync += self.asks.eq(63)
        return m


class Damages(HandshakeOutput):
    """Changes what it stores."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        with m.If(self.steps[2]):
            m.d.sync += self.source.payload.data.eq(~self.source.payload.data)
        return m


class Stale(PipelinedInput):
    """Shows the packet that is at the head now."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.comb += self.packet.eq(Mux(self.leaves, self.places[1], self.places[0]))
        return m


class Loses(PipelinedOutput):
    """Keeps a second packet for a cycle."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        with m.If(self.second):
            m.d.sync += self.second.eq(0)
        return m


class Withdraws(PipelinedOutput):
    """Takes its offer back when it has another packet."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        with m.If(self.second):
            m.d.sync += self.source.payload.eq(self.queued)
        return m


@unit
@pytest.mark.parametrize(("fault", "says"), [
    (Forgets, "input 0: a packet is lost or doubled"),
    (Overwrites, "input 0: a packet changes"),
    (Silent, "input 0: dropped without being counted"),
    (Repeats, "input 0: two outputs have its packet"),
    (Repeats, "input 0: asks for two outputs"),
    (Repeats, "input 0: a packet is nowhere, or in two places"),
    (Damages, "output 0: not what was taken"),
    (Stale, "input 0: not what was taken"),
    (Loses, "output 2: a packet is lost or doubled"),
    (Withdraws, "output 2: not what was given"),
    (Withdraws, "output 2: offer withdrawn or changed")])
def test_the_proofs_of_keeping_fire(monkeypatch, only, fault, says):
    part = fault.__base__
    new = part.__name__.startswith("Pipelined")
    router = ("pipelined" if new else "handshake") + "_router"
    monkeypatch.setattr(f"cyclebound.hdl.noc.{router}.{part.__name__}", fault)
    for module in (properties, pipelined):
        only(says, module)
    dut = (PipelinedRouter if new else HandshakeRouter)(**BITS)
    rng = random.Random(says)
    queues = {port: [packet_to(port, rng.choice([p for p in ShmacPort if p != port]), rng)
                     for _ in range(20)] for port in ShmacPort}
    queues[0][1:1] = [ShmacPacket(response=True, write=True, initiator=PLACE)]
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        run_bench(dut, traffic(dut, None, says, 120, queues=queues, flow=0.5 if new else 0.8),
                  PROOFS[new][0](dut))


class Priority(RoundRobinArbiter):
    """Requester 0 always comes first."""

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.grant.eq(self.requests & -self.requests)
        return m


@unit
@pytest.mark.parametrize("new", [False, True])
def test_the_proofs_of_fairness_fire(monkeypatch, only, new):
    output = "pipelined_output" if new else "handshake_output"
    monkeypatch.setattr(f"cyclebound.hdl.noc.{output}.RoundRobinArbiter", Priority)
    says = "output 2: request 4 overtaken by 6 packets"
    only(says, fairness)
    router = (PipelinedRouter if new else HandshakeRouter)(**BITS)
    rng = random.Random(1)
    queues = {port: [packet_to(port, 2, rng) for _ in range(8)] for port in (0, 1, MASTER)}
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        run_bench(router, traffic(router, None, says, 150, queues=queues, flow=1.0),
                  PROOFS[new][1](router))

