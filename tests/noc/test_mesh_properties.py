# amaranth: UnusedElaboratable=no
"""The proof of the traversal bound: what it claims on the RTL as it is, and on RTL with faults."""

import dataclasses
import itertools
import random

import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import In

from cyclebound.golden.noc import bounds
from cyclebound.golden.noc.packet import source_header
from cyclebound.golden.noc.patterns import HOTSPOT, TRANSPOSE, pattern
from cyclebound.golden.noc.routes import ports, xy_route
from cyclebound.hdl.noc import wormhole_router
from cyclebound.hdl.noc.mesh import Mesh
from cyclebound.hdl.noc.packet_arbiter import PacketArbiter
from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.build.elaborate import KindClaim, ProofTop, port_fields
from cyclebound.sim.proof.prove import claims_of
from cyclebound.tb.noc import mesh_properties as properties
from cyclebound.tb.noc.mesh_properties import MeshTraversalProof
from kit.faults import edited
from kit.run_bench import run_bench

BLOCK = catalogue.load().find("noc.mesh")
PROBE = next(binding.probe for binding in BLOCK.bounds if binding.what == "traversal")
CORNER = BLOCK.configurations["corner"].parameters
PROVED = [which if which == (2, 3) else pytest.param(*which, marks=pytest.mark.thorough)
          for which in itertools.product((2, 3, 4), (1, 2, 3))]
pytestmark = pytest.mark.unit


def bound_of(flits, source, number=HOTSPOT):
    return bounds.traversal(rows=2, columns=2, delta=2, depth=3, flits=flits, pattern=number,
                            source=source)


def played(flits, source, *, less=0, idle=0.0, cycles=160, number=HOTSPOT, **changed):
    """The senders of a pattern of 2 x 2 tiles; the probe follows packets of ``source``.

    ``idle`` is the share of the time in which a sender that may begin a packet does not.
    """
    mesh = Mesh(**CORNER | changed)
    top = ProofTop(mesh, MeshTraversalProof(mesh, number=number, flits=flits, source=source), [
        KindClaim("traversal", PROBE, {}, bound_of(flits, source, number) - less,
              at={"n": source})])
    places = {field.name: field.offset for field in port_fields(mesh, In)}
    rng, width = random.Random(flits), CORNER["width"]
    headers = {mesh.shape.tiles.index(begin): source_header(
        ports(xy_route(mesh.shape, begin, end)), width=width)
        for begin, end in pattern(mesh.shape, number).items()}

    async def bench(ctx):
        sent, offers = dict.fromkeys(headers, 0), dict.fromkeys(headers, False)
        ctx.set(top.ports[-1], 1)  # every packet that can be followed is
        for _ in range(cycles):
            word = sum(1 << places[f"sources.{n}.ready"] for n in range(4))
            for n, header in headers.items():
                offers[n] |= sent[n] > 0 or rng.random() >= idle
                flit = (header * (sent[n] == 0) | n << width - 8 | (sent[n] == 0) << width
                        | (sent[n] == flits - 1) << width + 1)
                word |= (flit << places[f"sinks.{n}.payload"]
                         | 1 << places[f"sinks.{n}.valid"]) * offers[n]
            ctx.set(top.inputs, word)
            for n in headers:
                if offers[n] and ctx.get(mesh.sinks[n].ready):
                    sent[n], offers[n] = (sent[n] + 1) % flits, False
            await ctx.tick()

    run_bench(top, bench)


@pytest.mark.parametrize(("flits", "source"), PROVED)
def test_all_is_as_claimed(flits, source):
    played(flits, source, idle=random.Random(flits).choice((0, 0.5)))


@pytest.mark.parametrize(("flits", "source"), PROVED)
def test_a_bound_of_a_cycle_less_is_refuted(flits, source):
    less = bound_of(flits, source) - 1
    with pytest.raises(AssertionError, match=f"a request takes more than {less}$"):
        played(flits, source, less=1)


# Faults of the RTL, and of the lemmas

class Priority(PacketArbiter):
    """Requester 0 always comes first."""

    def elaborate(self, platform):
        m = Module()
        pool = self.waiting | self.coming
        m.d.comb += self.grant.eq(pool & -pool)
        return m


HEADS = properties.traversal_heads


def as_if(**other):
    """The lemmas of a mesh with other parameters."""
    return lambda **parameters: HEADS(**parameters | other)


@pytest.mark.thorough
@pytest.mark.parametrize(("flits", "source"), [(2, 3), (3, 3), (4, 2)])
def test_a_share_of_a_cycle_less_is_refuted(flits, source, monkeypatch):
    heads = as_if()(rows=2, columns=2, delta=2, depth=3, flits=flits, pattern=HOTSPOT,
                    source=source)
    for hop, most in enumerate(heads):
        monkeypatch.setattr(properties, "traversal_heads", lambda hop=hop, **parameters: [
            head - (place == hop) for place, head in enumerate(HEADS(**parameters))])
        with pytest.raises(AssertionError, match=f"hop {hop}: a header takes more than {most - 1}"):
            played(flits, source)


def test_an_arbiter_that_is_not_fair_is_refuted(monkeypatch):
    monkeypatch.setattr("cyclebound.hdl.noc.wormhole_router.PacketArbiter", Priority)
    with pytest.raises(AssertionError, match=r"hop 1: a header takes more than 7$"):
        played(2, 2)


@pytest.mark.parametrize("changed", [
    {"depth": 4}, pytest.param({"depth": 4, "delta": 3}, marks=pytest.mark.thorough)])
def test_what_takes_longer_is_refuted(changed, monkeypatch):
    """FIFOs of one place more, and routers that take a cycle more."""
    monkeypatch.setattr(properties, "traversal_heads", as_if(delta=2, depth=3))
    with pytest.raises(AssertionError, match=r"hop .: a header takes more than"):
        played(2, 3, **changed)
    monkeypatch.undo()
    played(2, 3, less=-100, **changed)


@pytest.mark.parametrize("edit", [  # packets are mixed; flits are lost
    ("(owner & self.valid & Cat(head.last for head in self.heads)).any()", "sends"),
    ("self.take.eq(Mux(load, owner & self.valid, 0))", "self.take.eq(Mux(sends, owner, 0))")])
def test_an_invariant_is_refuted(edit, monkeypatch):
    monkeypatch.setattr(wormhole_router, "RouterOutput",
                        edited(wormhole_router, edit).RouterOutput)
    with pytest.raises(AssertionError, match=r"^Assertion violated: invariant: "):
        played(2, 3)


def test_where_no_packets_join_no_flit_stops(only, monkeypatch):
    played(4, 1, number=TRANSPOSE)
    only("invariant: flits never stop, west link of router (0, 1)", properties)
    slow = edited(wormhole_router, ("load.eq(~source.valid | source.ready)",
                                    "load.eq(~source.valid)"))
    monkeypatch.setattr(wormhole_router, "RouterOutput", slow.RouterOutput)
    with pytest.raises(AssertionError, match=r"invariant: flits never stop, west link"):
        played(4, 1, number=TRANSPOSE, less=-100)


def test_what_is_proved_of_one_place_is_declared_there():
    claim = dataclasses.replace(BLOCK.properties[0], at={"n": 2})
    with pytest.raises(UserError, match=r"^noc\.mesh: property traversal_2_flits_from_1 is about n "
                                        r"= 2, and the requests that it declares may be elsewhere$"
                       ):
        claims_of(BLOCK, claim, CORNER)
