# amaranth: UnusedElaboratable=no
"""What a proof may not assume: each kind of assumption that would hide a fault is refused."""

import dataclasses

import pytest
from amaranth.hdl import Assert, Assume, Cover, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.arbiter import RoundRobinArbiter
from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.describe.block import Block, Configuration, Property
from cyclebound.sim.proof.assumptions import Assumed
from cyclebound.sim.proof.prove import design_of, prove
from cyclebound.tb.assumed import (
    FIXED,
    LAW,
    OFFER,
    OWED,
    START,
    at_rest,
    fixed,
    kind_of,
    law,
    owes,
    said,
    stays,
)
from cyclebound.tb.noc.arbiter_properties import RoundRobinProof

pytestmark = pytest.mark.proof

DEPTH = 12


class Offers(wiring.Component):
    """Takes an offer unless it has taken one in the cycle before; ``seen`` is what was offered."""

    def __init__(self, *, width=4):
        super().__init__({"valid": In(1), "payload": In(width), "mode": In(1), "ready": Out(1),
                          "seen": Out(width), "bad": Out(1)})

    def elaborate(self, platform):
        m = Module()
        rests, good = Signal(), Signal(6)
        m.d.sync += [rests.eq(self.valid & self.ready), good.eq(good + ~good.all())]
        m.d.comb += [self.ready.eq(~rests), self.seen.eq(Mux(self.valid, self.payload, 0)),
                     self.bad.eq(good.all())]
        return m


class Watch(wiring.Component):
    """Registers from which assumptions are made, and what they say."""

    def __init__(self, target, statement):
        super().__init__({name: In(member.shape) for name, member in
                          target.signature.members.items()})
        self._statement = statement

    def elaborate(self, platform):
        m = Module()
        for name, bits in (("clock", 20), ("late", 5), ("phase", 2), ("served", 3), ("wraps", 3),
                           ("waits", 1), ("before", 4), ("bad_before", 1), ("mode_before", 1)):
            setattr(self, name, Signal(bits, name=name))
        self.first = Signal(init=1)
        taken = self.valid & self.ready
        m.d.sync += [
            self.clock.eq(self.clock + 1), self.late.eq(Mux(self.late == 20, 20, self.late + 1)),
            self.phase.eq(self.phase + 1),
            self.served.eq(self.served + (taken & (self.served < 3))),
            self.wraps.eq(self.wraps + taken), self.waits.eq(self.valid & ~self.ready),
            self.before.eq(self.payload), self.bad_before.eq(self.bad), self.first.eq(0),
            self.mode_before.eq(self.mode),
            Assert(self.ready | ~self.ready, "it is"), Cover(self.valid, "an offer"),
        ]
        self._statement(m, self)
        return m


def objection(statement, *, depth=DEPTH, **more):
    """What is said of a checker with this statement."""
    block = Block("test.offers", "takes offers", Offers, {"small": Configuration({})}, (), ())
    claim = Property("claim", "it is", lambda target: Watch(target, statement), ({},), depth=depth,
                     **more)
    design = design_of(block, claim, {})
    return design, Assumed(design.rtlil, design.assumptions, design.fields, depth)


def assume(fact, says="never", rule=Assume):
    """A statement that makes one assumption of the checker's registers."""
    def statement(m, c):
        m.d.sync += rule(fact(c), says)
    return statement


@pytest.mark.parametrize("fact", [
    lambda c: ~(c.phase == 3) | ~c.valid,                        # time that begins anew
    lambda c: c.first | c.payload[0],                            # the first cycle
    lambda c: ~c.valid | (c.payload != 3),
], ids=["phase", "first", "payload"])
def test_what_inputs_may_not_be_is_allowed(tmp_path, fact):
    assert not objection(assume(fact))[1].objection(tmp_path)


@pytest.mark.parametrize("fact", [
    lambda c: ~c.waits | (c.valid & (c.payload == c.before)),    # offers stay
    lambda c: ~(c.valid & c.ready & c.wraps[1]) | (c.payload == 5),
    lambda c: ~c.ready | (c.payload != 2),                       # ready does not depend on inputs
    lambda c: (c.seen == 0) | c.mode,                            # mode may follow what is shown
], ids=["kept", "counted", "ready", "shown"])
def test_rules_of_the_surroundings_are_declared(tmp_path, fact):
    assert not objection(assume(fact, rule=owes))[1].objection(tmp_path)
    said = objection(assume(fact))[1].objection(tmp_path)
    assert said.startswith("its assumption 'never' is about what the block gives (")
    assert said.endswith("), and not declared as a rule that its surroundings keep")


@pytest.mark.parametrize(("fact", "says"), [
    (lambda c: ~c.waits | (c.valid & (c.payload == c.before)), ""),
    (lambda c: ~c.bad_before | ~c.valid, "the same inputs again break it"),
    (lambda c: ~c.bad_before | (c.payload == c.before), "binds where none was made, or it was"),
])
def test_a_rule_of_offers_is_one(tmp_path, fact, says):
    found = objection(assume(fact, rule=stays))[1].objection(tmp_path)
    assert says in found
    assert bool(says) == bool(found)


def test_a_configuration_is_declared(tmp_path):
    def keeps(c):
        return c.first | (c.mode == c.mode_before)
    assert not objection(assume(keeps, rule=fixed))[1].objection(tmp_path)


@pytest.mark.parametrize(("fact", "says"), [
    (lambda c: c.clock < 6, "depends on time: no input moves clock"),
    (lambda c: c.clock < 20, "depends on time"),
    (lambda c: c.clock < 1 << 19, "depends on time"),
    (lambda c: ~c.clock.all() | ~c.valid, "depends on time"),
    (lambda c: c.late != 20, "depends on time: no input moves late"),
    (lambda c: (c.late != 20) | ~c.valid, "depends on time"),
    # the same, by what has been asked for
    (lambda c: c.served < 3, "end every run"),
    (lambda c: ~(c.served == 3) | ~c.valid, "rules something out for good: served never comes"),
    (lambda c: c.mode & ~c.mode, "end every run 0 cycles after a reset: never"),
    # contradicts itself only after a request has been taken, and after many
    (lambda c: ~c.wraps[0], "end every run 1 cycles after a reset: never"),
    (lambda c: ~c.wraps.all(), "end every run 7 cycles after a reset: never"),
])
def test_what_ends_time_is_refused(tmp_path, fact, says):
    _, assumed = objection(assume(fact, rule=owes))
    assert says in assumed.objection(tmp_path)


@pytest.mark.parametrize(("fact", "says"), [
    # a rule of a block's own outputs, in this cycle and from the cycle before
    (lambda c: ~c.bad, "end every run 0 cycles after a reset: never"),
    (lambda c: ~c.bad_before, "end every run 1 cycles after a reset: never"),
    (lambda c: (c.seen != 3), "may rule out what the block makes of the same cycle's inputs"),
    (lambda c: (c.seen != 3) | ~c.valid, "may rule out what the block makes of the same"),
    # what surroundings could keep, and that forbids nothing while the block is right
    (lambda c: ~c.bad_before | ~c.valid, "forbids nothing in the first 24 cycles: it could only"),
])
def test_what_hides_an_output_is_refused(tmp_path, fact, says):
    _, assumed = objection(assume(fact, rule=owes))
    assert says in assumed.objection(tmp_path)


def _proved(checker, target):
    block = catalogue.load().find("noc.arbiter")
    claim = dataclasses.replace(block.properties[0], checker=checker)
    return dataclasses.replace(block, component=target, properties=(claim,)), claim


class Tired(RoundRobinArbiter):
    """Fair for 65,536 cycles."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        self.clock = Signal(17)
        m.d.sync += self.clock.eq(self.clock + ~self.clock[16])
        with m.If(self.clock[16] & self.requests[0]):
            m.d.comb += self.grant.eq(1)
        return m


@pytest.mark.parametrize("cycles", [6, 20])
def test_an_arbiter_that_tires_is_not_proved_fair(monkeypatch, tmp_path, cycles):
    """As if by an assumption that no proof of 12 cycles contradicts, for resets are free."""
    monkeypatch.setenv("CYCLEBOUND_CACHE", str(tmp_path))

    class Early(RoundRobinProof):
        def __init__(self, target):
            super().__init__(target)
            self._target = target

        def elaborate(self, platform):
            m = super().elaborate(platform)
            clock = Signal(17)
            m.d.sync += [clock.eq(clock + ~clock[16]), Assume(clock < cycles, "it is late"),
                         Assert(clock == self._target.clock, "invariant: the same clock")]
            return m

    block, claim = _proved(Early, Tired)
    with pytest.raises(UserError, match=r"its assumption 'it is late' depends on time"):
        prove(block, claim, {"count": 2})


@pytest.mark.parametrize("rule", [Assume, owes])
def test_an_arbiter_that_drops_grants_is_not_proved_fair(monkeypatch, tmp_path, rule):
    monkeypatch.setenv("CYCLEBOUND_CACHE", str(tmp_path))

    class Drops(RoundRobinArbiter):
        def elaborate(self, platform):
            m = super().elaborate(platform)
            clock = Signal(20)
            m.d.sync += clock.eq(clock + 1)
            with m.If(clock.all()):
                m.d.comb += self.grant.eq(0)
            return m

    class Hides(RoundRobinProof):
        def elaborate(self, platform):
            m = super().elaborate(platform)
            m.d.sync += rule(~self.requests.any() | self.grant.any(), "no grant")
            return m

    block, claim = _proved(Hides, Drops)
    with pytest.raises(UserError, match=(
            "'no grant' is about what the block gives .grant., and not declared" if rule is Assume
            else "'no grant' may rule out what the block makes of the same cycle's inputs")):
        prove(block, claim, {"count": 2})


class Multiplies(wiring.Component):
    def __init__(self, *, width=2):
        super().__init__({"x": In(width), "y": In(width), "z": Out(2 * width)})

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.z.eq(self.x * self.y)
        return m


@pytest.mark.parametrize(("any_product", "fact", "says"), [
    (True, lambda c: (c.x != 0) | (c.z == 0), ""),
    (True, lambda c: c.z != 6, "no law of products: law: never in cycle 0"),
    (False, lambda c: (c.x != 0) | (c.z == 0),
     "'never' is declared to be a law of products, and no product is free"),
])
def test_laws_of_products_are_true(monkeypatch, tmp_path, any_product, fact, says):
    monkeypatch.setenv("CYCLEBOUND_CACHE", str(tmp_path))

    class Lawful(wiring.Component):
        def __init__(self, target):
            super().__init__({"x": In(2), "y": In(2), "z": In(4)})

        def elaborate(self, platform):
            m = Module()
            m.d.sync += [law(fact(self), "never"), Cover(self.z == 1, "one"),
                         Assert(fact(self), "what is assumed")]
            return m

    block = Block("test.product", "multiplies", Multiplies, {"small": Configuration({})}, (), ())
    claim = Property("claim", "it multiplies", Lawful, ({},), depth=2, induction=2,
                     any_product=any_product)
    if not says:
        assert prove(block, claim, {}).status == "proved"
    else:
        with pytest.raises(UserError, match=says):
            prove(block, claim, {})


def test_kinds_are_told_by_their_messages():
    for kind in (FIXED, LAW, OFFER, OWED, START):
        assert (kind_of(f"{kind}a thing"), said(f"{kind}a thing")) == (kind, "a thing")
    assert (kind_of("a thing"), said("a thing")) == ("", "a thing")


def test_facts_at_rest_are_claimed_at_the_end_too():
    m = Module()
    at_rest(m, Signal(), Signal(), [(Signal(), "idle")])
    kinds = [type(statement).__name__ for statement in m._statements["sync"]]
    assert len(kinds) == 2
