# amaranth: UnusedElaboratable=no
"""Proofs by parts of a mesh: that they add up to the bound, and that each lemma fires."""

import random

import pytest
from amaranth.lib.wiring import In

from cyclebound.golden.noc import bounds
from cyclebound.golden.noc.patterns import TRANSPOSE, pattern
from cyclebound.golden.noc.routes import Mesh, Port, channels, xy_route
from cyclebound.hdl.noc import wormhole_router
from cyclebound.sim import catalogue
from cyclebound.sim.build.elaborate import ProofTop, port_fields
from cyclebound.tb.noc import mesh_properties
from cyclebound.tb.noc.mesh_parts import MeshPart, MeshPartProof
from cyclebound.tb.noc.mesh_properties import incoming
from kit.faults import edited
from kit.run_bench import run_bench

BLOCK = catalogue.load().find("noc.mesh")
PROOFS = {prop.name: prop for prop in BLOCK.properties if prop.name in ("each_router", "waiting")}
FLITS = 2
FOUR = {name: value for name, value in PROOFS["waiting"].instances[0].items()
        if name not in ("tiles", "port")}
HEADS = mesh_properties.traversal_heads
pytestmark = pytest.mark.unit


def test_the_parts_are_the_whole():
    """Each router's rules are proved, and of each hop of each stream its share; the sum of the
    shares, and the flits, are the bound."""
    mesh = Mesh(4, 4)
    assert sorted(instance["tiles"] for instance in PROOFS["each_router"].instances) == [
        (tile,) for tile in mesh.tiles]
    lemmas = set()
    for prop in PROOFS.values():
        for instance in prop.instances:
            proof = prop.checker(MeshPart(wormhole_router.WormholeRouter, **instance))
            assert (proof._flits, proof._routes) == (FLITS, {
                mesh.tiles.index(begin): xy_route(mesh, begin, end)
                for begin, end in pattern(mesh, TRANSPOSE).items()})
            lemmas |= {(stream, channel, proof._shares[stream][hop])
                       for stream, path in proof._paths.items() for hop, channel in enumerate(path)
                       if channel in proof.lemmas}
    for begin, end in pattern(mesh, TRANSPOSE).items():
        source, path = mesh.tiles.index(begin), channels(xy_route(mesh, begin, end))
        shares = {channel: share for stream, channel, share in lemmas if stream == source}
        assert shares.keys() == set(path[:-1])
        assert sum(shares.values()) + FLITS + 1 == bounds.traversal(
            rows=4, columns=4, delta=2, depth=3, flits=FLITS, pattern=TRANSPOSE, source=source)


def played(tiles, port=None, *, cycles=400, seed=0, **changed):
    """Packets on all links that lead into a part, and any that lead out of it take them when they
    like, where flits may stop."""
    part = MeshPart(wormhole_router.WormholeRouter,
                    **FOUR | {"tiles": tiles, "port": port} | changed)
    proof = MeshPartProof(part, number=TRANSPOSE, flits=FLITS)
    top = ProofTop(part, proof, [])
    places = {field.name: field.offset for field in port_fields(part, In)}
    rng, width = random.Random(seed), FOUR["width"]
    senders = {n: [(stream, proof._header(stream, 0)) for stream in proof._ways[channel].streams]
               for n, end in enumerate(part.ends)
               if (channel := incoming(part.shape, *end)) in proof._ways}
    always = [end[1] is Port.LOCAL or any(
        channel.tile == end[0] and channel.port is end[1] and proof._never_stops(channel)
        for channel in proof._ways) for end in part.ends]

    async def bench(ctx):
        offers = {}   # by link: the flits that are left, the next one first
        eager, ready = rng.choice((0.2, 0.6, 1)), rng.choice((0.3, 0.8, 1))
        for _ in range(cycles):
            word = sum(1 << places[f"sources.{n}.ready"] for n, taken in enumerate(always)
                       if taken or rng.random() < ready)
            for n, streams in senders.items():
                if not offers.get(n) and rng.random() < eager:
                    stream, header = rng.choice(streams)
                    offers[n] = [header | 1 << width,
                                 *[stream << width - 8] * (FLITS - 2),
                                 stream << width - 8 | 1 << width + 1]
                if offers.get(n):
                    word |= (offers[n][0] << places[f"sinks.{n}.payload"]
                             | 1 << places[f"sinks.{n}.valid"])
            ctx.set(top.inputs, word)
            for n in senders:
                if offers.get(n) and ctx.get(part.sinks[n].ready):
                    offers[n].pop(0)
            await ctx.tick()

    run_bench(top, bench)


PARTS = [(instance["tiles"], instance.get("port")) for prop in PROOFS.values()
         for instance in prop.instances]


@pytest.mark.parametrize(("tiles", "port"), PARTS[::5], ids=range(len(PARTS[::5])))
def test_all_is_as_claimed(tiles, port):
    for seed in range(3):
        played(tiles, port, seed=seed)


@pytest.mark.parametrize(("tiles", "port", "share"), [
    (((0, 1),), Port.EAST, 7), (((0, 1),), Port.LOCAL, 6), (((1, 3), (1, 2)), Port.LOCAL, 6),
    (((0, 2), (0, 1)), Port.EAST, 15), (((0, 3), (0, 2), (0, 1)), Port.LOCAL, 14)])
def test_a_share_of_a_cycle_less_is_refuted(tiles, port, share, monkeypatch):
    monkeypatch.setattr(mesh_properties, "traversal_heads", lambda **known: [
        head - (head == share) for head in HEADS(**known)])

    def plays():
        for seed in range(20):
            played(tiles, port, seed=seed)

    with pytest.raises(AssertionError, match=f"takes more than {share - 1}$"):
        plays()


@pytest.mark.parametrize(("edit", "says"), [
    # packets are mixed; flits are lost; an offer is withdrawn
    (("(owner & self.valid & Cat(head.last for head in self.heads)).any()", "sends"), "invariant"),
    (("self.take.eq(Mux(load, owner & self.valid, 0))", "self.take.eq(Mux(sends, owner, 0))"),
     "invariant"),
    (("load.eq(~source.valid | source.ready)", "load.eq(1)"), "offer withdrawn or changed|invar")])
def test_a_rule_is_refuted(edit, says, monkeypatch):
    monkeypatch.setattr(wormhole_router, "RouterOutput",
                        edited(wormhole_router, edit).RouterOutput)

    def plays():
        for seed in range(6):
            played(((0, 2),), seed=seed)

    with pytest.raises(AssertionError, match=f"^Assertion violated: .*{says}"):
        plays()


def test_a_part_that_is_too_small_is_refused():
    with pytest.raises(ValueError, match=r"^part must have router \(0, 1\), for the FIFO of the "
                                         r"west link of router \(0, 3\)$"):
        MeshPartProof(MeshPart(wormhole_router.WormholeRouter,
                               **FOUR | {"tiles": ((0, 2),), "port": Port.EAST}),
                      number=TRANSPOSE, flits=FLITS)
