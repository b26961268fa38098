# amaranth: UnusedElaboratable=no
import re
from dataclasses import replace

import pytest
from amaranth.hdl import Cat, Module
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.describe.block import Block, Configuration
from cyclebound.sim.export import text as verilog_text
from cyclebound.sim.export.check import check_equivalent
from cyclebound.sim.export.compare import compare_with_source
from cyclebound.sim.export.verilog import export

pytestmark = pytest.mark.system

SMALLER = {"noc.handshake_mesh": "late", "noc.pipelined_mesh": "pair",
           "simd.access_setup": "tiny", "simd.compute_unit": "tiny"}  # than the first
CYCLES = 100_000


class Way(enum.Enum, shape=1):
    STRAIGHT = 0
    CROSSED = 1


class Crossing(wiring.Component):
    """Fields of all kinds of ports, a register and a memory's worth of gates."""

    taken: In(stream.Signature(data.StructLayout(
        {"way": Way, "low": 3, "words": data.ArrayLayout(70, 2)})))
    pairs: In(data.ArrayLayout(data.StructLayout({"x": 2, "y": 5}), 2))
    within: In(1)
    given: Out(stream.Signature(data.StructLayout({"high": 70, "low": 70})))
    o: Out(2)

    def elaborate(self, platform):
        m = Module()
        item, words = self.taken.payload, self.taken.payload.words
        crossed = item.way == Way.CROSSED
        m.d.sync += self.given.valid.eq(self.taken.valid ^ self.within)
        with m.If(self.taken.valid):
            m.d.sync += [self.given.payload.low.eq(words[0]), self.given.payload.high.eq(words[1])]
            with m.If(crossed):
                m.d.sync += [self.given.payload.low.eq(words[1]),
                             self.given.payload.high.eq(words[0] + self.pairs[1].y)]
        m.d.comb += self.taken.ready.eq(self.given.ready)
        left, right = Cat(item.low[0], self.pairs[0].x[1]), Cat(self.pairs[1].x[0], item.low[2])
        m.d.sync += self.o.eq(~(left & right))
        return m


BLOCK = Block("test.crossing", "crosses", Crossing, {"one": Configuration({})}, (), ())


def changed(made, old, new):
    assert made.text.count(old) == 1, made.text
    return replace(made, text=made.text.replace(old, new))


def test_a_block_and_its_verilog_are_equal_in_every_cycle():
    done = compare_with_source(BLOCK, {}, export(BLOCK, {}), 20_000)
    assert (done.cycles, done.outputs, done.moved) == (20_000, 144, 144)


def test_two_fields_of_a_port_that_are_exchanged_are_found():
    made = export(BLOCK, {})
    packed = "{taken__payload__words, taken__payload__low, taken__payload__way}"
    swapped = changed(made, packed,
                      "{taken__payload__words, taken__payload__way, taken__payload__low}")
    with pytest.raises(UserError, match=r"^test\.crossing: the Verilog is not its source: in cycle "
                                        r"[\d,]+ bit \d+ of \w+ is [01], not [01]$"):
        compare_with_source(BLOCK, {}, swapped, 20_000)


def without_parentheses(text):
    """The rule by which ``~ ({ a } & { b })`` lost its parentheses."""
    return bool(re.fullmatch(r"\w+(?: ?\[[\d:]+\])?|\d+'h[0-9a-f]+|\{[^?]*\}", text))


@pytest.mark.parametrize("name", [
    BLOCK.name, pytest.param("simd.scheduler", marks=pytest.mark.thorough)])
def test_the_rule_that_lost_parentheses_is_found(name, monkeypatch):
    block = BLOCK if name == BLOCK.name else catalogue.load().find(name)
    monkeypatch.setattr(verilog_text, "_is_operand", without_parentheses)
    parameters = next(iter(block.configurations.values())).parameters
    made = export(block, parameters)
    with pytest.raises(UserError, match="the Verilog is not its source: in cycle"):
        compare_with_source(block, parameters, made, CYCLES)
    with pytest.raises(UserError, match="the Verilog is not proved equal to its source"):
        check_equivalent(made)


@pytest.mark.thorough
@pytest.mark.parametrize("block", [  # two accelerators side by side take too long to compile
    block for block in catalogue.load()
    if block.name not in ("simd.accelerator", "simd.hosted_accelerator")],
    ids=lambda block: block.name)
def test_every_block_is_equal_to_its_source_in_every_cycle(block):
    name = SMALLER.get(block.name, next(iter(block.configurations)))
    parameters = block.configurations[name].parameters
    done = compare_with_source(block, parameters, export(block, parameters), CYCLES)
    assert done.cycles == CYCLES
    assert done.moved > 0
