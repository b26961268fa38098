"""Parts that are called, once compiled, do what they do inside a design; others are left there."""

import re
import subprocess

import pytest
from amaranth.hdl import Assert, Cat, Module, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.shared import shared
from cyclebound.sim import catalogue
from cyclebound.sim.build import replicas
from cyclebound.sim.build import verilator as build
from cyclebound.sim.build.elaborate import FAST_SCRIPT, SharedModules, simulation_verilog, to_rtlil
from cyclebound.sim.run.job import Job, simulate

pytestmark = pytest.mark.system

COPIES = 16
WIDTHS = (1, 8, 32, 33, 64, 65, 130)
# Words of random inputs in, and all outputs out, a line each cycle.
MAIN = """#include "Vtop.h"
#include <cstdio>
int main() {
    VerilatedContext context;
    Vtop top{&context};
    unsigned state = 1;
    for (int cycle = 0; cycle < 500; ++cycle) {
        top.clk = 0;
        top.rst = cycle % 100 == 90;
        for (int word = 0; word < 11; ++word)
            top.given[word] = (state = state * 1664525 + 1013904223) >> 3;
        top.eval();
        for (int word = 0; word < WORDS; ++word) printf("%08x", top.shown[word]);
        printf("\\n");
        top.clk = 1;
        top.eval();
    }
}
"""


class Part(wiring.Component):
    """Registers of all widths, one that begins at 5, and a memory. With ``mealy``, the last output
    shows its input at once; with ``checks``, there is an assertion."""

    def __init__(self, *, mealy=False, checks=False):
        self.mealy, self.checks = mealy, checks
        super().__init__({"given": In(data.ArrayLayout(unsigned(1), sum(WIDTHS))), "part": In(3),
                          **{f"i_{width}": In(width) for width in WIDTHS},
                          **{f"o_{width}": Out(width, init=5 % (1 << width)) for width in WIDTHS},
                          "changed": Out(20)})

    def elaborate(self, platform):
        m = Module()
        for width in WIDTHS:
            given, shown = (getattr(self, f"{way}_{width}") for way in "io")
            kept = Signal(width, init=5 % (1 << width))
            m.d.sync += kept.eq(kept.rotate_left(1) ^ given)
            m.d.comb += shown.eq(given if self.mealy and width == 130 else kept)
        if self.checks:
            m.d.sync += Assert(self.i_8 != 300)
        m.submodules.memory = memory = Memory(shape=unsigned(20), depth=8, init=[7, 8, 9])
        write, read = memory.write_port(), memory.read_port(domain="comb")
        place = Signal(3)
        m.d.sync += place.eq(self.part)
        m.d.comb += [write.addr.eq(self.part), write.data.eq(self.i_33), write.en.eq(self.i_1),
                     read.addr.eq(place), self.changed.eq(read.data)]
        return m


class Row(wiring.Component):
    """Parts, each of which is given what the one before shows, and an input of the whole.

    ``enabled``: each has an enable of its own, or ``"alike"`` all have the same. ``common``: all
    have the same widest input, which moves now and then.
    """

    def __init__(self, *, enabled=False, common=False, **parameters):
        self.enabled, self.common = enabled, common
        self.parts = [Part(**parameters) for _ in range(COPIES)]
        super().__init__({"given": In(sum(WIDTHS)), "shown": Out(sum(WIDTHS) + 20 * COPIES)})

    def elaborate(self, platform):
        m = Module()
        row = self.given
        common = Signal(WIDTHS[-1])
        with m.If(self.given[:3] == 0):
            m.d.sync += common.eq(self.given[-WIDTHS[-1]:])
        for number, part in enumerate(self.parts):
            m.submodules[f"part_{number}"] = shared(
                part, platform, alike=None,
                enable=None if not self.enabled else
                self.given[5 if self.enabled == "alike" else number])
            offset = 0
            for width in WIDTHS:
                m.d.comb += getattr(part, f"i_{width}").eq(row[offset : offset + width])
                offset += width
            if self.common:
                m.d.comb += part.i_130.eq(common)
            m.d.comb += part.part.eq(row[number : number + 3])
            row = self.given ^ Cat(getattr(part, f"o_{width}") for width in WIDTHS)
        m.d.comb += self.shown.eq(Cat(row, *(part.changed for part in self.parts)))
        return m


@pytest.fixture
def few(monkeypatch):
    """Parts are called however small they are."""
    monkeypatch.setattr(replicas, "_LARGE", 0)


def replicated(folder, **parameters):
    """The Verilog of a row, and the parts of it that are called."""
    row, shares = Row(**parameters), SharedModules("top")
    rtlil = to_rtlil(row, name="top", ports=[row.given, row.shown], shares=shares)
    folder.mkdir()
    verilog = simulation_verilog(rtlil, folder, FAST_SCRIPT)
    return verilog, replicas.replicate(verilog, shares.modules, shares.enabled)


def shown(folder, verilog, called=()):
    """What the outputs of a row are, in cycles with random inputs."""
    main = folder / "main.cpp"
    main.write_text(MAIN.replace("WORDS", str(-(-(sum(WIDTHS) + 20 * COPIES) // 32))))
    program = build.build_program([verilog], "top", main, folder / f"sim_{len(called)}",
                                  replicas=called)
    lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    assert len(set(lines)) > 400
    return lines


@pytest.mark.parametrize("enabled", [False, True])
def test_a_part_that_is_called_is_the_same_hardware(tmp_path, few, enabled):
    verilog, called = replicated(tmp_path / "row", enabled=enabled)
    assert [replica.module for replica in called] == ["top_part_0"]
    calls = verilog.with_name("calls.v")
    assert calls.read_text().count("= replica_0_step(") == 1
    assert ("if (enable | rst)" in calls.read_text()) == enabled
    assert shown(verilog.parent, calls, called) == shown(verilog.parent, verilog)


@pytest.mark.parametrize(("enabled", "once"), [(False, True), ("alike", True), (True, False)])
def test_what_all_have_from_one_signal_is_passed_once(tmp_path, few, enabled, once):
    """By the first call of a clock, which is known only if each clock calls all instances or
    none."""
    verilog, called = replicated(tmp_path / "row", enabled=enabled, common=True)
    calls = verilog.with_name("calls.v")
    assert bool(re.search(r" replica_0_common\(.*\bi_130\b.*\);$", calls.read_text(),
                          re.MULTILINE)) == once
    assert shown(verilog.parent, calls, called) == shown(verilog.parent, verilog)


def test_a_first_call_that_is_not_the_first_is_found(tmp_path, few):
    """The others would have what the widest input was a cycle before."""
    verilog, called = replicated(tmp_path / "row", common=True)
    source = verilog.with_name("replicas.cpp")
    source.write_text(source.read_text().replace("calls == 0;", "calls == 3;"))
    assert shown(verilog.parent, verilog.with_name("calls.v"), called) != shown(
        verilog.parent, verilog)


def test_a_part_whose_output_shows_an_input_at_once_is_not_called(tmp_path, few, monkeypatch):
    assert replicated(tmp_path / "left", mealy=True)[1] == []
    # if it were, what it shows would be a cycle late
    monkeypatch.setattr(replicas, "_depends", lambda *of: False)
    verilog, called = replicated(tmp_path / "row", mealy=True)
    late = shown(verilog.parent, verilog.with_name("calls.v"), called)
    assert late != shown(verilog.parent, verilog)


def test_a_part_that_checks_something_is_not_called(tmp_path, few):
    assert replicated(tmp_path / "row", checks=True)[1] == []


@pytest.mark.parametrize("limit", ["_MANY", "_LARGE"])
def test_few_or_small_parts_are_not_called(tmp_path, few, monkeypatch, limit):
    monkeypatch.setattr(replicas, limit, {"_MANY": COPIES + 1, "_LARGE": 1_000_000}[limit])
    assert replicated(tmp_path / "row")[1] == []


@pytest.mark.thorough
def test_the_compute_unit_does_the_same_when_its_parts_are_called(tmp_path, few, monkeypatch):
    monkeypatch.setattr(replicas, "_MANY", 1)
    # a simulator of another kind must not be found under this one's key
    monkeypatch.setenv("CYCLEBOUND_CACHE", str(tmp_path / "cache"))
    block = catalogue.load().find("simd.compute_unit")
    outcome = simulate(block, Job(block.name, "tiny", "cycle", 1, str(tmp_path / "job")))
    assert outcome.passed, outcome.reason
    assert outcome.cycles > 1_000
    (simulator,) = (tmp_path / "cache").glob("verilator/*/sim")
    found = simulator.read_bytes()
    for number in range(3):  # registers, lanes, special units
        assert f"replica_{number}_step".encode() in found
