# amaranth: UnusedElaboratable=no
"""Checkers of address generator, pooling and input-stationary array: each claim fires."""

import dataclasses

import pytest
from amaranth.hdl import Value

from cyclebound.hdl.systolic.im2col import Im2col
from cyclebound.hdl.systolic.input_stationary import InputStationaryArray
from cyclebound.hdl.systolic.max_pooling import MaxPooling
from cyclebound.sim import catalogue
from cyclebound.sim.proof.prove import prove
from cyclebound.tb import elastic_properties
from cyclebound.tb.systolic import im2col_properties, weight_stationary_properties
from cyclebound.tb.systolic.im2col_properties import Im2colCheck
from cyclebound.tb.systolic.input_stationary_properties import InputStationaryCheck
from cyclebound.tb.systolic.max_pooling_properties import MaxPoolingCheck
from kit.faults import Tampered, override
from kit.random_streams import play_streams

pytestmark = pytest.mark.unit


def command(rng, _):
    return {"origin": 1, "pitch": 3, "jump": 3, "plane_step": 9, "elements": 5, "height": 4,
            "top": -1, "start": -2, "step": 1, "stride": 1, "across": rng.randint(1, 3),
            "down": rng.randint(1, 3), "kernel": rng.randint(1, 2), "run": rng.randint(1, 5),
            "planes": rng.randint(1, 2), "strips": rng.randint(1, 2)}


def generate(fault=None, make=command):
    dut = Im2col(size=2, address_width=6)
    if fault:
        dut = Tampered(dut, override(fault))
    play_streams(dut, Im2colCheck(dut), payloads={"command": make}, cycles=200)


def word(name, change):
    return lambda inner, outer, cycle: getattr(outer.words.payload, name).eq(
        change(getattr(inner.words.payload, name), cycle))


def test_im2col_is_quiet_without_a_fault():
    generate()


@pytest.mark.parametrize(("fault", "says"), [
    (lambda inner, outer, cycle: outer.command.ready.eq(1),
     "a command is refused without a reason, or taken before its time"),
    (lambda inner, outer, cycle: outer.words.valid.eq(inner.words.valid & (cycle < 50)),
     "a word is missing, or one too many"),
    (lambda inner, outer, cycle: outer.words.valid.eq(inner.words.valid & cycle[0]),
     "word: offer withdrawn or changed"),
    (word("address", lambda own, cycle: own + (cycle > 50)), "a word is misplaced"),
    (word("offset", lambda own, cycle: own ^ 1), "a word is misplaced"),
    (word("lanes", lambda own, cycle: own | 1), "not the elements that exist"),
    (word("last", lambda own, cycle: 0), "last, final"),
    (word("final", lambda own, cycle: 1), "last, final")])
def test_im2col_checker_fires(only, fault, says):
    only(says, im2col_properties)
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        generate(fault)


def test_im2col_checker_names_a_command_without_words():
    with pytest.raises(AssertionError, match=r"^Assumption violated: a count is 0$"):
        generate(make=lambda rng, _: {**command(rng, 0), "run": 0})


class Endless(Im2col):
    """No word is marked as a command's last."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.sync += self.words.payload.final.eq(0)
        return m


@pytest.mark.proof
def test_the_proof_of_im2cols_order_finds_a_command_without_an_end():
    block = catalogue.load().find("systolic.im2col")
    claim, = block.properties
    proof = prove(dataclasses.replace(block, component=Endless), claim, claim.instances[0])
    assert proof.status == "failed"
    assert "last, final" in proof.detail


def pool(fault=None, *, changes=False, window=2):
    """Images of 5 x 4 in windows of 2, or of changing sizes."""
    dut = MaxPooling(columns=2, width=3, most=4)
    if fault:
        dut = Tampered(dut, override(fault))

    def each(ctx, rng):
        width = rng.randint(4, 6) if changes else 5
        for name, value in {"window": window, "image_width": width, "image_height": 4,
                            "across": 2}.items():
            ctx.set(getattr(dut, name), value)

    play_streams(dut, MaxPoolingCheck(dut), each=each, cycles=200,
                 payloads={"pixels": lambda rng, _: [rng.randint(-4, 3), rng.randint(-4, 3)]})


def test_pooling_is_quiet_without_a_fault():
    pool()


@pytest.mark.parametrize(("fault", "says"), [
    (lambda inner, outer, cycle: outer.results.valid.eq(inner.results.valid & (cycle < 50)),
     "a result is missing, or of no item"),
    (lambda inner, outer, cycle: outer.pixels.ready.eq(1),
     "an item is refused without a reason, or taken while a result waits"),
    (lambda inner, outer, cycle: outer.results.valid.eq(inner.results.valid & cycle[0]),
     "result: offer withdrawn or changed"),
    (lambda inner, outer, cycle: Value.cast(outer.results.payload).eq(
        Value.cast(inner.results.payload) ^ 1), "not the result of its item")])
def test_pooling_checker_fires(only, fault, says):
    only(says, elastic_properties)
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        pool(fault)


@pytest.mark.parametrize(("wrong", "says"), [
    ({"changes": True}, "owed: sizes changed within an image"),
    ({"window": 3}, "sizes that do not fit")])
def test_pooling_checker_names_the_neighbour_that_breaks_the_rules(wrong, says):
    with pytest.raises(AssertionError, match=f"^Assumption violated: {says}$"):
        pool(**wrong)


def multiply(fault=None):
    dut = InputStationaryArray(rows=2, columns=3)
    if fault:
        dut = Tampered(dut, override(fault))
    play_streams(dut, InputStationaryCheck(dut), cycles=200)


def test_the_array_is_watched_on_its_own_ports(only):
    """The check itself is that of the weight-stationary array, which has tests of each claim."""
    multiply()
    says = "sums are missing, or of no operands"
    only(says, weight_stationary_properties)
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        multiply(lambda inner, outer, cycle: outer.results.valid.eq(
            inner.results.valid & (cycle < 50)))
