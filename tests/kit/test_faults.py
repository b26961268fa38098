"""The test kit's own tests: a fault is planted where it is said, and one assertion is left."""

import importlib
import sys
import types

import pytest
from amaranth.hdl import Assert, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden import csv_rows
from kit.faults import Stub, Tampered, edited, override, replace_once
from kit.run_bench import run_bench

pytestmark = pytest.mark.unit


class Adder(wiring.Component):
    """A register holds ``a + 1``."""

    a: In(4)
    b: Out(4)

    size = 4

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.b.eq(self.a + 1)
        return m


class Check(wiring.Component):
    """Two assertions, both of which are wrong about an `Adder`."""

    def __init__(self, target):
        super().__init__({"b": In(4)})

    def elaborate(self, platform):
        m = Module()
        m.d.sync += [statements.Assert(self.b == 1, "one"), statements.Assert(self.b == 2, "two")]
        return m


statements = types.SimpleNamespace(Assert=Assert)


def seen(dut, *checkers):
    found = []

    async def bench(ctx):
        ctx.set(dut.a, 5)
        for _ in range(4):
            await ctx.tick()
            found.append(ctx.get(dut.b))

    run_bench(dut, bench, *checkers)
    return found


def test_a_fault_replaces_connections_from_a_cycle_on():
    def fault(inner, outer, cycle):
        return outer.b.eq(inner.b ^ (cycle >= 2))

    assert seen(Adder()) == seen(Tampered(Adder(), lambda m, inner, outer: None)) == [6, 6, 6, 6]
    assert seen(Tampered(Adder(), override(fault))) == [6, 7, 7, 7]


def test_a_stub_is_its_outputs(only):
    only("none of them", statements)
    dut = Stub(Adder(), lambda outer: outer.b.eq(outer.a))
    assert seen(dut, Check(dut)) == [5, 5, 5, 5]


def test_a_double_has_the_attributes_that_checkers_read():
    dut = Tampered(Adder(), lambda m, inner, outer: None)
    assert dut.size == 4
    assert dut.a is not dut.inner.a
    assert not hasattr(dut, "depth")


@pytest.mark.parametrize("says", ["one", "two"])
def test_one_assertion_is_left(only, says):
    only(says, statements)
    dut = Adder()
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        seen(dut, Check(dut))


def test_no_assertion_is_left(only):
    only("none of them", statements)
    dut = Adder()
    assert seen(dut, Check(dut)) == [6, 6, 6, 6]


def test_source_is_edited_in_one_place():
    made = edited("cyclebound.golden.csv_rows", ('__all__ = ["read_rows"]', "changed = True"))
    assert made.changed
    assert not hasattr(csv_rows, "changed")
    assert replace_once("a b", "b", "c") == "a c"
    for count, text in ((0, "a"), (2, "b b")):
        with pytest.raises(ValueError, match=rf"^the text to edit must occur once, not {count} "
                                             r"times: 'b'$"):
            replace_once(text, "b", "c")


def test_source_of_a_part_is_edited_with_what_imports_it():
    unit, part = (f"cyclebound.hdl.simd.{name}" for name in ("transfer_unit", "register_address"))
    made = edited(unit, ('"item_bit", ', ""), part=part)
    assert made.SlotTransfer is not importlib.import_module(unit).SlotTransfer
    assert made.DramRequester is importlib.import_module(unit).DramRequester
    assert sys.modules[part].__all__ == ["bank_rows", "item_bit", "word_place"]
    with pytest.raises(ValueError, match=f"^{part} does not import {unit}$"):
        edited(part, part=unit)
