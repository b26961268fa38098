"""A design that is not elaborated on purpose leaves no warning; any other does."""

import gc
import warnings

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.arbiter import RoundRobinArbiter
from cyclebound.hdl.shared import shared
from cyclebound.hdl.sram.banked_memory_harness import BankedMemoryHarness
from cyclebound.sim.build.elaborate import (
    FAST_SCRIPT,
    FlatTop,
    SharedModules,
    leave_unused,
    port_fields,
    run_yosys,
    simulation_verilog,
    to_rtlil,
)
from cyclebound.tb.noc.arbiter_properties import RoundRobinCheck

pytestmark = pytest.mark.unit


def watched_arbiter():
    arbiter = RoundRobinArbiter(count=4)
    return FlatTop(arbiter, RoundRobinCheck(arbiter))


def harness():
    return FlatTop(BankedMemoryHarness(banks=2, requesters=2, words=4, word_bytes=2))


def said_of(make, *, on_purpose):
    """The warnings when a top that ``make`` returns is given up."""
    rtlil.convert(RoundRobinArbiter(count=2))  # Amaranth is silent until something is elaborated
    gc.collect()  # what other tests have left
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        top = make()
        if on_purpose:
            leave_unused(top)
        del top
        gc.collect()
    return [str(warning.message) for warning in said]


@pytest.mark.parametrize("make", [watched_arbiter, harness])
def test_unused_on_purpose(make):
    assert said_of(make, on_purpose=True) == []
    assert any("created but never used" in text for text in said_of(make, on_purpose=False))


def test_fields_of_structs_written_as_classes():
    """A testbench sees the fields of a `data.Struct` as it sees those of a layout."""

    class Pair(data.Struct):
        low: 4
        high: data.ArrayLayout(2, 2)

    component = type("Component", (wiring.Component,), {"__annotations__": {"pair": In(Pair)}})()
    leave_unused(FlatTop(component))
    assert [(f.name, f.offset, f.width) for f in port_fields(component, In)] == [
        ("pair", 0, 8), ("pair.low", 0, 4), ("pair.high", 4, 4), ("pair.high.0", 4, 2),
        ("pair.high.1", 6, 2)]


class Arbiters(wiring.Component):
    """Two arbiters of the same size, one of which a port resets, and a smaller one."""

    def __init__(self):
        super().__init__({"requests": In(4), "clear": In(1), "grants": Out(12)})

    def elaborate(self, platform):
        m = Module()
        for number, count in enumerate((4, 4, 2)):
            arbiter = RoundRobinArbiter(count=count)
            m.submodules[f"arbiter_{number}"] = shared(
                arbiter, platform, alike=count, reset=self.clear if number else None)
            m.d.comb += [arbiter.requests.eq(self.requests), arbiter.accept.eq(1),
                         self.grants.word_select(number, 4).eq(arbiter.grant)]
        return m


def test_equal_components_share_a_module():
    shares = SharedModules("top")
    text = to_rtlil(Arbiters(), name="top", shares=shares)
    assert list(shares.modules) == ["top_part_0", "top_part_1"]
    assert text.count("module \\top_part_0\n") == 1
    assert text.count("cell \\top_part_0 ") == 2
    assert "part" not in to_rtlil(Arbiters(), name="top")


class Rows(wiring.Component):
    """Parts of rows by number: of full and cut rows, at any bit, of odd sizes, and with a sign."""

    full: In(8 * 32)
    cut: In(5 * 32)
    odd: In(99)
    number: In(3)
    place: In(7)
    chosen: Out(data.StructLayout({"full": 32, "cut": 32, "bits": 20, "odd": 11, "signed": 32}))

    def elaborate(self, platform):
        m = Module()
        m.d.comb += [
            self.chosen.full.eq(self.full.word_select(self.number, 32)),
            self.chosen.cut.eq(self.cut.word_select(self.number, 32)),
            self.chosen.bits.eq(self.odd.bit_select(self.place, 20)),
            self.chosen.odd.eq(self.odd.word_select(self.number, 11)),
            self.chosen.signed.eq(self.cut.as_signed().word_select(self.number, 32)),
        ]
        return m


_COMPARE = """read_rtlil top.il
proc
rename top gold
read_verilog top.v
proc
rename top gate
miter -equiv -flatten -make_outputs gold gate miter
sat -verify -prove trigger 0 miter
"""


def test_a_part_of_a_row_is_what_a_shift_leaves_of_it(tmp_path):
    rows = Rows()
    text = to_rtlil(rows, name="top", ports=[rows.full, rows.cut, rows.odd, rows.number,
                                             rows.place, rows.chosen.as_value()])
    verilog = simulation_verilog(text, tmp_path, FAST_SCRIPT)
    made = verilog.read_text()
    # the row with a sign is left: beyond it are no zeros
    assert (made.count("+:"), made.count(" >>")) == (4, 1)
    run_yosys(_COMPARE, tmp_path)
    verilog.write_text(made.replace(" +: 20]", " +: 19]"))
    with pytest.raises(RuntimeError, match="proof did fail"):
        run_yosys(_COMPARE, tmp_path)
