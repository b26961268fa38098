# amaranth: UnusedElaboratable=no
"""Wormhole router: parameters, RTL against golden model, checkers against faults, proofs."""

import random
import re

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module, Signal

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.noc import bounds
from cyclebound.golden.noc.packet import source_header, xy_header
from cyclebound.golden.noc.routes import Mesh, Port, ports, xy_route
from cyclebound.golden.noc.wormhole_router import Flit, RouterModel, SenderModel, packet
from cyclebound.hdl.noc.packet_arbiter import PacketArbiter
from cyclebound.hdl.noc.packet_guard import PacketGuard
from cyclebound.hdl.noc.wormhole_router import WormholeRouter
from cyclebound.tb.noc import wormhole_router_properties as properties
from kit.faults import Tampered, override
from kit.run_bench import run_bench

unit = pytest.mark.unit
TINY = {"width": 8, "depth": 3, "delta": 2, "routing": "source", "longest": 3, "ports": 3}


# Parameters

@unit
@pytest.mark.parametrize(("wrong", "kind", "says"), [
    ({"width": 7}, ValueError, "Flit width must be at least 8, not 7"),
    ({"width": "8"}, TypeError, "Flit width must be an integer, not '8'"),
    ({"delta": 1}, ValueError, "Router latency must be at least 2, not 1"),
    ({"depth": 2}, ValueError, "FIFO depth must be at least 3, not 2"),
    ({"depth": True}, TypeError, "FIFO depth must be an integer, not True"),
    ({"longest": 1}, ValueError, "Longest packet must be at least 2, not 1"),
    ({"ports": 6}, ValueError, "Port count must be from 2 to 5, not 6"),
    ({"routing": "yx"}, ValueError, "Routing must be source or xy, not 'yx'"),
    ({"routing": "xy"}, ValueError, "Port count must be 5 for XY routing, not 3")])
def test_refuses(wrong, kind, says):
    with pytest.raises(kind, match=f"^{says}$"):
        WormholeRouter(**TINY | wrong)


@unit
def test_each_part_converts_alone():
    for part in (PacketGuard(width=8, longest=3), properties.RouterCheck(WormholeRouter(**TINY))):
        assert "attribute \\top 1" in rtlil.convert(part)


# Headers and bounds

@unit
def test_headers_hold_a_route():
    assert source_header(ports(((0, 0), (0, 1), (1, 1)))) == 0b00_10_01  # east, south, came by 0
    assert xy_header((3, 5)) == 0x35
    for outputs, says in (([Port.EAST] * 16 + [Port.LOCAL], "at most 16 routers, not 17"),
                          ([Port.LOCAL], "a link at least, and end with LOCAL"),
                          ([Port.EAST], "a link at least, and end with LOCAL")):
        with pytest.raises(ValueError, match=f"^route must have {says}$"):
            source_header(outputs)
    with pytest.raises(ValueError, match=r"^route must not turn around in router 1 of its path$"):
        source_header([Port.EAST, Port.WEST, Port.LOCAL])
    with pytest.raises(ValueError, match=r"^destination must be within 16 x 16 tiles, not \(0, "):
        xy_header((0, 16))


@unit
def test_the_longest_route_of_8_by_8_fits_a_header():
    header = source_header(ports(xy_route(Mesh(8, 8), (0, 0), (7, 7))))
    assert header.bit_length() <= 32


@unit
def test_bounds():
    assert bounds.t_noc(delta=5, flits=66, routers=4) == 90
    assert bounds.packet_hop(delta=1, flits=66, contenders=4, rival_flits=66) == 2 + 66 + 3 * 66
    for name in ("delta", "flits", "contenders", "rival_flits"):
        parameters = {"delta": 1, "flits": 1, "contenders": 1, "rival_flits": 1, name: 0}
        with pytest.raises(NotCovered, match=f"^{name} must be a whole number of at least 1"):
            bounds.packet_hop(**parameters)


# RTL against golden model

def traffic(router, name, cycles, *, flow=1.0, local=None, fill=True, compare=True):
    """A bench with random packets at all inputs; ``local`` is what the local sender offers."""
    rng = random.Random(name)
    last = router.ports - 1
    queues = [[] for _ in router.sinks]
    for entrance, queue in enumerate(queues):
        for _ in range(cycles // 4 if fill else 0):
            output = rng.choice([n for n in range(router.ports) if n != entrance])
            code = entrance if output == last else output
            queue += packet(code | 4 * rng.getrandbits(4),
                            [rng.getrandbits(8) for _ in range(rng.randrange(router.longest))])
    if local is not None:
        queues[last] = list(local)
    model = RouterModel(depth=router.depth, delta=router.delta, routing=router.routing,
                        longest=router.longest, ports=router.ports, width=router.width,
                        connected=(1 << router.ports) - 1)
    out = []

    async def bench(ctx):
        ctx.set(router.connected, (1 << router.ports) - 1)
        for _ in range(cycles):
            ready = [rng.random() < flow for _ in router.sources]
            offers = {n: queue[0] for n, queue in enumerate(queues) if queue}
            for n, sink in enumerate(router.sinks):
                ctx.set(sink.valid, n in offers)
                if n in offers:
                    flit = offers[n]
                    ctx.set(sink.payload, {"data": flit.data, "first": flit.first,
                                           "last": flit.last})
            for n, source in enumerate(router.sources):
                ctx.set(source.ready, ready[n])
            seen = []
            for n, source in enumerate(router.sources):
                word = ctx.get(source.payload)
                flit = (Flit(word.data, bool(word.first), bool(word.last))
                        if ctx.get(source.valid) else None)
                seen.append(flit)
                if flit is not None and ready[n]:
                    out.append((n, flit))
            taken = [n for n in offers if ctx.get(router.sinks[n].ready)]
            if compare:
                assert seen == model.offers
                assert taken == [n for n, flit in offers.items() if model.ready(n, flit)]
                model.step(offers, ready)
            for n in taken:
                queues[n].pop(0)
            await ctx.tick()
    bench.out, bench.model = out, model
    return bench


@unit
@pytest.mark.parametrize("shape", [{**TINY, "depth": 4, "delta": 3}])
def test_rtl_is_the_model_in_every_cycle(shape):
    router = WormholeRouter(**shape)
    bench = traffic(router, "model", 150, flow=0.8)
    run_bench(router, bench, properties.RouterCheck(router),
              properties.RouterCreditProof(router), properties.RouterFairProof(router))
    assert len(bench.out) > 150


NONSENSE = {  # what a sender does, what comes out of port 0, and what is counted
    "payload where a header is due": (
        [Flit(1), Flit(2, last=True), *packet(0, [3])], [(True, False), (False, True)], (0, 1)),
    "header where payload is due": (
        [Flit(0, True), Flit(8, True), Flit(9), Flit(9, last=True), *packet(0, [3])],
        [(True, False), (True, True), (True, False), (False, True)], (0, 1)),
    "a packet too long": (
        [*packet(0, [1, 2, 3, 4]), *packet(0, [3])],
        [(True, False), (False, False), (True, True), (True, False), (False, True)], (1, 0))}


@unit
@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_is_ended_dropped_and_counted(name):
    local, marks, counted = NONSENSE[name]
    router = WormholeRouter(**TINY)
    bench = traffic(router, name, 30, local=local, fill=False)
    run_bench(router, bench, properties.RouterCheck(router))
    assert [(flit.first, flit.last) for port, flit in bench.out if port == 0] == marks
    assert (bench.model.sender.overlong, bench.model.sender.misplaced) == counted


@unit
def test_a_way_that_leads_nowhere_is_dropped():
    router = WormholeRouter(**TINY)
    bench = traffic(router, "nowhere", 30, local=[*packet(3, [1, 1]), *packet(0, [7])], fill=False)
    run_bench(router, bench, properties.RouterCheck(router))
    assert [flit.data for _, flit in bench.out] == [0, 7]
    assert bench.model.misrouted == 1


@unit
def test_the_guard_counts_a_run_of_lost_flits_once():
    sender = SenderModel(longest=3)
    for flit in [Flit(0), Flit(1, last=True), Flit(2), *packet(0), Flit(0)]:
        sender.take(flit)
    assert (sender.misplaced, sender.overlong) == (2, 0)


# The checkers fire

def tampered(fault, **shape):
    """A router with a fault at output 0: ``fault(outer source, inner source)``."""
    return Tampered(WormholeRouter(**TINY | shape), override(
        lambda inner, outer, cycle: fault(outer.sources[0], inner.sources[0])))


FAULTS = {
    "output 0: offer withdrawn or changed":
        lambda out, inner: out.payload.data.eq(inner.payload.data ^ inner.ready),
    "output 0: payload where a header is due": lambda out, inner: out.payload.first.eq(0),
    "output 0: header where payload is due":
        lambda out, inner: [out.payload.first.eq(1), out.payload.last.eq(0)],
    "output 0: packet too long": lambda out, inner: out.payload.last.eq(0)}


@unit
@pytest.mark.parametrize("says", FAULTS)
def test_checker_fires(only, says):
    only(says, properties)
    router = tampered(FAULTS[says])
    with pytest.raises(AssertionError, match=f"^Assertion violated: {re.escape(says)}$"):
        run_bench(router, traffic(router, says, 100, flow=0.5, compare=False),
                 properties.RouterCheck(router))


class Priority(PacketArbiter):
    """Requester 0 always comes first."""

    def elaborate(self, platform):
        m = Module()
        pool = self.waiting | self.coming
        m.d.comb += self.grant.eq(pool & -pool)
        return m


@unit
def test_fairness_fires_on_a_router_that_is_not_fair(monkeypatch):
    monkeypatch.setattr("cyclebound.hdl.noc.wormhole_router.PacketArbiter", Priority)
    router = WormholeRouter(**TINY)
    with pytest.raises(AssertionError, match=r"^Assertion violated: (output .: header 1 "
                       r"overtaken by 2 packets|invariant: a waiting input moves forward)$"):
        run_bench(router, traffic(router, "unfair", 200, compare=False),
                 properties.RouterFairProof(router))


@unit
def test_credits_fire_on_a_router_with_a_place_too_many():
    router = WormholeRouter(**TINY)
    router.inputs[1].space = Signal(4, init=4)
    with pytest.raises(AssertionError, match=r"^Assertion violated: input 1: space is not counted"):
        run_bench(router, traffic(router, "credits", 50, compare=False),
                 properties.RouterCreditProof(router))


def numbered(router):
    """A bench in which all flits are numbered, as `RouterOrderProof` assumes."""
    rng = random.Random(7)

    async def bench(ctx):
        ctx.set(router.connected, 3)
        number, place, offered = [0, 0], [0, 0], [False, False]
        for _ in range(200):
            for n, sink in enumerate(router.sinks):
                offered[n] |= rng.random() < 0.8
                ctx.set(sink.valid, offered[n])
                ctx.set(sink.payload, {"data": number[n] % 64 * 4, "first": place[n] == 0,
                                       "last": place[n] == 2})
                ctx.set(router.sources[n].ready, rng.random() < 0.7)
            for n, sink in enumerate(router.sinks):
                if offered[n] and ctx.get(sink.ready):
                    number[n], place[n], offered[n] = number[n] + 1, (place[n] + 1) % 3, False
            await ctx.tick()
        assert min(number) > 80
    return bench


@unit
@pytest.mark.parametrize("shape", [{"depth": 3}, {"depth": 5, "delta": 4}])
def test_order_is_kept(shape):
    router = WormholeRouter(**TINY | {"ports": 2} | shape)
    run_bench(router, numbered(router), properties.RouterOrderProof(router))


@unit
@pytest.mark.parametrize(("fault", "says"), [
    (lambda out, inner: out.payload.data.eq(inner.payload.data ^ 4),
     "input 1: flit lost, doubled or reordered"),
    (lambda out, inner: out.payload.first.eq(0), "input 1: packet not kept together")])
def test_order_fires(only, fault, says):
    only(says, properties)
    router = tampered(fault, ports=2)
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        run_bench(router, numbered(router), properties.RouterOrderProof(router.inner))

