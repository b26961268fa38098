# amaranth: UnusedElaboratable=no
import gc
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from amaranth.hdl import Cat, Const, Module, Mux, Signal, UnusedElaboratable, signed
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.arbiter import RoundRobinArbiter
from cyclebound.hdl.shared import shared
from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.toolchain import verilator
from cyclebound.sim.build.elaborate import OutOfTimeError, run_yosys
from cyclebound.sim.describe.block import Block, Configuration
from cyclebound.sim.export import text as verilog_text
from cyclebound.sim.export import verilog as exports
from cyclebound.sim.export.check import check_equivalent
from cyclebound.sim.export.compare import compare_with_source
from cyclebound.sim.export.litex import litex_module
from cyclebound.sim.export.ports import described
from cyclebound.sim.export.verilog import PRAGMAS, export, lint
from kit.icarus import has_icarus, needs_icarus

pytestmark = pytest.mark.unit


SMALLER = {"noc.handshake_mesh": "late", "noc.pipelined_mesh": "pair"}  # than the first
# Seconds to export: parts of them, and the simulations of the regression, are in the quick level.
LARGE = {"dataflow.cache", "dataflow.compute_unit", "dataflow.core", "dataflow.diamond",
         "dataflow.fabric", "dataflow.l2", "dataflow.processor",
         "dataflow.special_unit", "dram.axi_dfi_controller", "dram.axi_port",
         "dram.command_arbiter", "dram.command_generator", "dram.controller",
         "dram.dfi_controller", "dram.page_controller", "dram.stride_sequencer", "noc.end_to_end",
         "noc.end_to_end_read", "noc.handshake_mesh", "noc.handshake_router", "noc.many_core",
         "noc.mesh",
         "noc.mesh_interfaces", "noc.pipelined_mesh", "noc.pipelined_router",
         "noc.wormhole_router", "simd.accelerator", "simd.access_setup", "simd.compute_unit",
         "simd.hosted_accelerator", "simd.lane", "simd.scratchpad", "simd.special_functions",
         "simd.transfer_unit", "system.tiled", "systolic.accelerator", "systolic.dram_memory",
         "systolic.float_output_stationary",
         "systolic.float_weight_stationary", "systolic.im2col", "systolic.input_stationary",
         "systolic.matmul", "systolic.max_pooling", "systolic.output_stationary",
         "systolic.weight_stationary"}
BLOCKS = [pytest.param(block, SMALLER.get(block.name, next(iter(block.configurations))),
                       id=block.name, marks=[pytest.mark.thorough] if block.name in LARGE else [])
          for block in catalogue.load()]
OTHERS = [pytest.param(block, name, id=f"{block.name} {name}") for block in catalogue.load()
          for name in block.configurations
          if name != SMALLER.get(block.name, next(iter(block.configurations)))]
PROVED_QUICKLY = ("noc.arbiter", "systolic.tile_sequencer", "dataflow.token_buffer",
                  "dram.refresh_timer", "simd.scheduler", "sram.banked_memory")
SMALLEST = {**SMALLER, "simd.compute_unit": "tiny", "simd.access_setup": "tiny",
            "simd.accelerator": "small", "dram.reorder_core": "small"}


def compiled_by_icarus(made):
    """What Icarus says against an export; nothing where it is not installed."""
    if not has_icarus():
        return ""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "top.v").write_text(made.text)
        done = subprocess.run(["iverilog", "-g2012", "-Wall", "-Wno-timescale", "-o", "top.vvp",
                               "-s", made.name, "top.v"], cwd=folder, capture_output=True,
                              text=True)
    return done.stderr


@needs_icarus
def test_icarus_names_what_only_yosys_takes():
    """A wire that an initial block sets: what an indexed part of a port once became."""
    text = ("module top (input wire port, output wire out); wire x; initial x = port; "
            "assign out = x; endmodule")
    assert "not a valid l-value" in compiled_by_icarus(SimpleNamespace(text=text, name="top"))


def exported(name, configuration=None):
    block = catalogue.load().find(name)
    return export(block, block.configuration(configuration)[1].parameters)


@pytest.mark.parametrize(("block", "name"), BLOCKS)
def test_every_block_exports_without_a_warning(block, name):
    gc.collect()
    with warnings.catch_warnings(record=True) as unused:
        warnings.simplefilter("always", UnusedElaboratable)
        made = export(block, block.configurations[name].parameters)
        gc.collect()
    assert [str(warning.message) for warning in unused] == []
    assert lint(made, block.unused_inputs) == []
    assert compiled_by_icarus(made) == ""
    assert "\\" not in made.text  # no name that has to be escaped


@pytest.mark.thorough
@pytest.mark.parametrize(("block", "name"), OTHERS)
def test_every_other_configuration_exports_without_a_warning(block, name):
    """Several gigabytes and minutes for those of a paper's size."""
    made = export(block, block.configurations[name].parameters)
    assert lint(made, block.unused_inputs) == []
    assert compiled_by_icarus(made) == ""
    assert "\\" not in made.text


@pytest.mark.parametrize("name", PROVED_QUICKLY)
def test_verilog_is_proved_equal_to_its_source(name):
    check_equivalent(exported(name))


# Made of blocks that are proved by themselves, with some modules that take hours.
COMPOSED = {"dram.axi_port", "dram.axi_dfi_controller", "simd.accelerator",
            "simd.hosted_accelerator", "system.tiled"}
_SECONDS = 300  # of CPU, for a module


@pytest.mark.thorough
@pytest.mark.parametrize(("block", "name"), [
    pytest.param(block, name, id=f"{block.name} {name}") for block in catalogue.load()
    for name in block.configurations])
def test_every_configuration_is_proved_equal_module_by_module(block, name, record_property):
    """Modules that take longer are named, and simulated beside their sources.

    A pair of modules that another configuration has, too, is proved once.
    """
    made = export(block, block.configurations[name].parameters)
    wanted = block.name not in COMPOSED and name == SMALLEST.get(
        block.name, next(iter(block.configurations)))
    checked = check_equivalent(made, None if wanted else _SECONDS)
    record_property("modules proved", len(checked.proved))
    record_property("modules simulated only", len(checked.left))
    print(f"{block.name} {name}: {checked}")
    assert checked.proved
    if checked.left:
        done = compare_with_source(block, made.parameters, made, 20_000)
        record_property("bits of outputs that moved", f"{done.moved} of {done.outputs}")
        assert done.moved > 0


def test_a_module_that_takes_too_long_is_named(monkeypatch):
    """Every other module is proved; what is different is no question of time."""
    made = exported("sram.banked_memory")

    def slow(script, folder, seconds=None):
        if seconds and "equiv_make" in script and "arbiter" in (folder / "gold.il").read_text():
            raise OutOfTimeError
        run_yosys(script, folder, seconds)

    monkeypatch.setattr("cyclebound.sim.export.check.run_yosys", slow)
    monkeypatch.setattr("cyclebound.sim.export.check.key_of", lambda *_: "never the same")
    monkeypatch.setattr("cyclebound.sim.export.check.find_or_make", _made_anew)
    checked = check_equivalent(made, 60)
    assert checked.left
    assert checked.proved
    assert str(checked) == (
        f"{len(checked.proved)} of {len(checked.proved + checked.left)} modules proved equal to "
        f"their sources; not {', '.join(checked.left)}")
    assert check_equivalent(made).left == ()


def _made_anew(kind, key, make):
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder))


def test_time_is_limited(tmp_path):
    (tmp_path / "a.ys").write_text("log a\n" * 5_000_000)
    run_yosys("log a", tmp_path, 60)
    with pytest.raises(OutOfTimeError, match="not within 1 s of CPU"):
        run_yosys("script a.ys", tmp_path, 1)


ASYNCHRONOUS = """module shower(input clk, input rst_n, input [2:0] d, output reg [2:0] q = 5);
    always @(posedge clk or negedge rst_n) if (!rst_n) q <= 3'd2; else q <= d;
endmodule
"""


def test_asynchronous_resets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shower.v").write_text(ASYNCHRONOUS)
    block = Block("test.shower", "shows", None, {"one": Configuration({})}, (), (),
                  sources=("shower.v",), top="shower")
    made = export(block, {})
    check_equivalent(made)
    for old, new in (("3'h5", "3'h4"), ("3'h2", "3'h3"), (", negedge rst_n", ""),
                     ("!rst_n", "rst_n")):
        changed = made.text.replace(old, new)
        assert changed != made.text
        with pytest.raises(UserError, match="is not proved equal"):
            check_equivalent(replace(made, text=changed))


class Seen(wiring.Component):
    """A memory whose reads see the word just written."""

    a: In(3)
    d: In(4)
    en: In(1)
    q: Out(4)

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = Memory(shape=4, depth=8, init=[3, 9])
        write = memory.write_port()
        read = memory.read_port(transparent_for=[write])
        m.d.comb += [write.addr.eq(self.a), write.data.eq(self.d), write.en.eq(self.en),
                     read.addr.eq(self.a ^ self.d[:3]), read.en.eq(1), self.q.eq(read.data)]
        return m


def test_reads_that_see_the_word_just_written():
    made = export(Block("test.seen", "sees", Seen, {"one": Configuration({})}, (), ()), {})
    check_equivalent(made)
    for old, new in (("_1_ & _2_", "_1_ & _0_"), ("memory[1] = 4'h9", "memory[1] = 4'h8")):
        changed = made.text.replace(old, new)
        assert changed != made.text
        with pytest.raises(UserError, match="is not proved equal"):
            check_equivalent(replace(made, text=changed))


class OneOf(wiring.Component):
    """A register of one place; its address has no bits."""

    place: In(0)
    d: In(2)
    q: Out(2)
    held: Out(0)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.q.eq(self.d ^ self.place)
        m.d.comb += self.held.eq(self.place)
        return m


class TwoOfOne(wiring.Component):
    d: In(2)
    q: Out(4)

    def elaborate(self, platform):
        m = Module()
        parts = [OneOf(), OneOf()]
        m.submodules += [shared(part, platform, alike=()) for part in parts]
        m.d.comb += [parts[0].d.eq(self.d), parts[1].d.eq(parts[0].q),
                     parts[1].place.eq(parts[0].held), self.q.eq(Cat(part.q for part in parts))]
        return m


def test_ports_of_no_bits_between_equal_parts():
    """A cache of one miss register has them: its number is no bits wide."""
    made = export(Block("test.two", "holds", TwoOfOne, {"one": Configuration({})}, (), ()), {})
    assert made.text.count("test_two_part_0 ") == 3  # the module, and where it is placed
    assert "place" not in made.text
    check_equivalent(made)


def test_a_change_of_every_register_s_clock_is_found():
    made = exported("noc.arbiter")
    for edge, clock in (("negedge", "clk"), ("posedge", "rst")):
        changed = re.sub(r"posedge clk\b", f"{edge} {clock}", made.text)
        with pytest.raises(UserError, match="the parts of noc_arbiter differ: registers at"):
            check_equivalent(replace(made, text=changed))


@pytest.mark.parametrize("name", ["noc.arbiter", "sram.banked_memory"])
def test_two_configurations_fit_into_one_design(name):
    """Of different names, no module of one has the name of one of the other."""
    block = catalogue.load().find(name)
    parameters = block.configuration(None)[1].parameters
    first, second = (export(block, parameters, called) for called in ("left", "right"))
    modules = [re.findall(r"^module (\w+)", made.text, re.MULTILINE) for made in (first, second)]
    assert modules[0][0] == "left"
    assert modules[1][0] == "right"
    assert not set(modules[0]) & set(modules[1])
    assert all(module.startswith("left") for module in modules[0])
    assert exports.warnings(first.text + second.text, "right") == []
    check_equivalent(second)


@pytest.mark.parametrize("name", ["", "1st", "a b", "module", "_a", "a_", "f\u00fcnf", "a;b"])
def test_a_name_that_is_none_is_refused(name):
    block = catalogue.load().find("noc.arbiter")
    with pytest.raises(UserError, match=r"^a module's name must be a word"):
        export(block, block.configuration(None)[1].parameters, name)


def test_what_only_yosys_reads_is_refused():
    """Verilog that sets a wire in an initial block, which yosys takes for a constant driver."""
    made = exported("noc.arbiter")
    changed = re.sub(r"^  initial held = .*$", "\\g<0>\n  wire at;\n  initial at = clk;", made.text,
                     flags=re.MULTILINE)
    assert changed != made.text
    says = r"slang does not read it: source\.v:\d+: cannot assign to a net"
    with pytest.raises(UserError, match=says):
        check_equivalent(replace(made, text=changed))


@pytest.mark.parametrize(("name", "old", "new", "says"), [
    ("noc.arbiter", "requests[2] & held[2]", "requests[2] & held[1]", "module noc_arbiter: "),
    ("noc.arbiter", "initial held = 4'h0", "initial held = 4'h8", "module noc_arbiter: "),
    ("sram.banked_memory", "memory[2] = 16'h0000", "memory[2] = 16'h0010", "the parts of "),
    ("sram.banked_memory", "[15:8] <= access[19:12]", "[15:8] <= access[18:11]",
     "module sram_banked_memory_core_bank_0: "),
    ("sram.banked_memory", "_0_ <= memory[access[1:0]]", "_0_ <= memory[access[2:1]]",
     "module sram_banked_memory_core_bank_0: "),
    ("sram.banked_memory", ".port_0_22(ports__0__request__valid)",
     ".port_0_22(ports__1__request__valid)", "module sram_banked_memory_core_bank_0: "),
    ("sram.banked_memory", ".port_0_22(ports__0__request__valid),\n", "", ".*port_0_22.* "),
    ("sram.banked_memory", "sram_banked_memory_core_bank_1 bank_1",
     "sram_banked_memory_core_bank_0 bank_1", "modules "),
    ("noc.arbiter", "posedge clk", "negedge clk", "a module with several clocks"),
])
def test_a_change_is_found(name, old, new, says):
    made = exported(name)
    changed = made.text.replace(old, new, 1)
    assert changed != made.text
    with pytest.raises(UserError, match=rf"^{name}: the Verilog is not proved equal to its "
                                        rf"source: {says}"):
        check_equivalent(replace(made, text=changed))


def test_a_part_that_is_left_unused_is_noticed():
    with warnings.catch_warnings(record=True) as unused:
        warnings.simplefilter("always", UnusedElaboratable)
        exec(compile("made(count=2)", "<a file without our first line>", "exec"),
             {"made": RoundRobinArbiter})
        gc.collect()
    assert any("RoundRobinArbiter" in str(warning.message) for warning in unused)


def test_text_is_headed_and_the_same_every_time():
    block = catalogue.load().find("noc.arbiter")
    text = export(block, {"count": 4}).text
    assert text == export(block, {"count": 4}).text
    head = text.splitlines()[:5]
    assert head[0] == f"// noc.arbiter: {block.summary}"
    assert head[1] == "// parameters: count=4"
    assert re.fullmatch(r"// made by cyclebound [\d.]+ with amaranth [\d.]+", head[2])
    assert head[4] == "// bound round_robin_wait (grant): needs requesters"
    assert "//   environment: the other requesters may ask in any cycle" in text
    assert "\\" not in text
    assert "(*" not in text


class Kind(enum.Enum, shape=2):
    READ = 0
    WRITE = 2


ITEM = data.StructLayout({"kind": Kind, "offset": signed(5), "words": data.ArrayLayout(3, 4)})
GAPS = data.FlexibleLayout(12, {"high": data.Field(4, 7), "low": data.Field(2, 1)})


class Carrier(wiring.Component):
    """Hands on what it gets.

    Members
    -------
    taken : In(stream of ITEM)
        What comes in,
        in two lines.
    pairs, given : In(of pairs), Out(stream of ITEM)
        Of both.
    """

    taken: In(stream.Signature(ITEM))
    pairs: In(data.ArrayLayout(data.StructLayout({"x": 1, "y": 2}), 2))
    nothing: In(0)
    union: In(data.UnionLayout({"a": 4, "b": 2}))
    gaps: In(GAPS)
    within: In(1)
    given: Out(stream.Signature(ITEM))
    low: Out(12)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += [self.given.payload.eq(self.taken.payload),
                     self.given.valid.eq(self.taken.valid ^ self.within),
                     self.low.eq(self.gaps.as_value() ^ self.pairs.as_value()
                                 ^ self.union.as_value())]
        m.d.comb += self.taken.ready.eq(self.given.ready)
        return m


class Repeated(wiring.Component):
    """Outputs with equal bits, of which yosys drives one and connects the others to it."""

    a: In(4)
    o: Out(6)
    o_3: Out(1)
    late: Out(6)

    def elaborate(self, platform):
        m = Module()
        both = self.a[0] & self.a[1]
        either = (both & self.a[2]) ^ self.a[3]
        m.d.comb += [self.o.eq(Cat(both, both, both, either, either, either)),
                     self.o_3.eq(self.o[0:3].xor())]
        m.d.sync += self.late.eq(self.o)
        return m


def test_outputs_with_equal_bits_are_no_loop(monkeypatch):
    block = Block("test.repeated", "repeats", Repeated, {"one": Configuration({})}, (), ())
    made = export(block, {})
    check_equivalent(made)
    assert lint(made) == []
    assert "output wire [5:0] o,\n" in made.text
    assert "wire o_bit_0;" in made.text  # o_3 is another port
    monkeypatch.setattr(exports, "split_outputs", lambda text: text)
    assert any(line.startswith("UNOPTFLAT") for line in lint(export(block, {})))


class Joined(wiring.Component):
    """Operations between values in braces, in an operation that binds more closely."""

    a: In(4)
    b: In(4)
    o: Out(2)
    p: Out(4)

    def elaborate(self, platform):
        m = Module()
        left, right = Cat(self.a[3], self.b[2]), Cat(self.b[0], self.a[1])
        m.d.sync += [self.o.eq(~(left & right)),
                     self.p.eq(Cat(left ^ right, self.a[0:2]) + Cat(self.b[2:], right | left))]
        return m


def test_operations_between_braces_keep_their_parentheses():
    made = export(Block("test.joined", "joins", Joined, {"one": Configuration({})}, (), ()), {})
    check_equivalent(made)
    assert "~ ({ b[2], a[3] } & { a[1], b[0] })" in made.text


@pytest.mark.parametrize(("text", "operand"), [
    ("x", True), ("x[3]", True), ("4'h0", True), ("{ x, y }", True), ("{ { x }, { y, z } }", True),
    ("{ x } & { y }", False), ("{ 2{ x } } | y", False), ("x & y", False), ("~x", False),
    ("{ x ? y : z }", False)])
def test_what_needs_no_parentheses(text, operand):
    assert verilog_text._is_operand(text) == operand


CARRIER = Block("test.carrier", "hands on", Carrier, {"one": Configuration({})}, (), ())


def test_structs_have_a_port_for_each_field():
    made = export(CARRIER, {})
    check_equivalent(made)
    assert lint(made, ["gaps"]) == []
    ports = {port["name"]: port for port in json.loads(made.port_map)["ports"]}
    assert list(ports) == [
        "taken__payload__kind", "taken__payload__offset", "taken__payload__words", "taken__valid",
        "taken__ready", "pairs__0__x", "pairs__0__y", "pairs__1__x", "pairs__1__y", "union_",
        "gaps__low", "gaps__high", "within_", "given__payload__kind", "given__payload__offset",
        "given__payload__words", "given__valid", "given__ready", "low"]
    assert [(port["offset"], port["width"]) for port in ports.values()][:4] == [
        (0, 2), (2, 5), (7, 12), (0, 1)]
    assert ports["taken__payload__kind"]["says"] == "0: READ, 2: WRITE"
    assert ports["taken__payload__offset"]["signed"]
    assert ports["taken__payload__words"]["says"] == "4 of 3 bits, element 0 lowest"
    assert ports["gaps__high"]["offset"] == 7
    assert "  // taken: What comes in, in two lines.\n  input  wire" in made.text
    assert "    .gaps({1'b0, gaps__high, 4'b0, gaps__low, 1'b0})," in made.text
    assert ".within_(within_)" in made.text


class Clashing(wiring.Component):
    """Ports of any names."""

    def __init__(self, *, names):
        super().__init__({name: In(shape) for name, shape in names.items()} | {
            "o": Out(data.StructLayout({"low": 1, "high": 1}))})

    def elaborate(self, platform):
        m = Module()
        bits = Cat(getattr(self, name) for name in self.signature.members if name != "o")
        m.d.sync += self.o.as_value().eq(bits ^ (bits >> 2))
        return m


PAIR = data.StructLayout({"x": 1, "y": 1})
CLASHING = Block("test.clashing", "clashes", Clashing, {"one": Configuration({"names": {}})}, (),
                 ())


@pytest.mark.parametrize(("names", "says"), [
    ({"a": PAIR, "a__x": 1}, "port a.x and port a__x would both be called a__x"),
    ({"clk": 1}, "the clock and port clk would both be called clk"),
    ({"rst": 1}, "the synchronous reset and port rst would both"),
    ({"wire": 1, "wire_": 1}, "port wire and port wire_ would both be called wire_"),
    ({"test_clashing": 1}, "the module and port test_clashing would both"),
])
def test_two_ports_of_one_name_in_verilog(names, says):
    with pytest.raises(UserError, match=f"^test.clashing: {says}"):
        export(CLASHING, {"names": names})


def test_names_inside_that_a_port_has_too():
    made = export(CLASHING, {"names": {"core": PAIR, "o__packed": 1, "a": 1}})
    assert lint(made) == []
    assert "  test_clashing_core core_ (" in made.text
    check_equivalent(made)
    assert compare_with_source(CLASHING, {"names": {"core": PAIR, "o__packed": 1, "a": 1}}, made,
                               1000).moved == 2


class Tables(wiring.Component):
    """A choice of constants, of which yosys makes a memory; and a choice of bits, a cut shift."""

    a: In(4)
    o: Out(5)
    p: Out(2)

    def elaborate(self, platform):
        m = Module()
        with m.Switch(self.a):
            for number in range(16):
                with m.Case(number):
                    m.d.comb += self.o.eq(number * number % 31)
        m.d.comb += self.p.eq(Cat(self.a, self.a).bit_select(self.a[:2], 2))
        return m


def test_what_yosys_numbers_has_a_plain_name():
    made = export(Block("test.tables", "tables", Tables, {"one": Configuration({})}, (), ()), {})
    assert lint(made) == []
    check_equivalent(made)
    assert re.search(r"assign o = table_\d+\[a\];", made.text)
    assert re.search(r"wire \[7:0\] cell_\d+_wide;", made.text)
    assert "\\" not in made.text


class Faulty(wiring.Component):
    """One fault at a time."""

    def __init__(self, *, fault):
        self.fault = fault
        super().__init__({"a": In(4), "spare": In(2), "o": Out(4)})

    def elaborate(self, platform):
        m = Module()
        x, y = Signal(4), Signal(4)
        m.d.sync += self.o.eq(x)
        if self.fault == "loop":
            m.d.comb += [x.eq(y + self.a), y.eq(x ^ self.spare)]
        elif self.fault == "drivers":
            m.submodules.inner = inner = Module()
            inner.d.comb += x.eq(self.a)
            m.d.comb += x.eq(self.spare)
        elif self.fault == "unread":
            m.d.comb += x.eq(self.a)
        elif self.fault == "compared with 0":  # as a router at the edge of a mesh does
            m.d.comb += x.eq(Mux((Const(0, 4) > self.a) & self.spare[0], 1, Cat(
                self.spare, Const(0, 2) <= self.spare, self.a < Const(0, 4))))
        elif self.fault == "half read":
            m.d.comb += x.eq(self.a + self.spare[0])
        else:
            m.d.comb += x.eq(self.a + self.spare)
        return m


BLOCK = Block("test.faulty", "one fault at a time", Faulty,
              {"none": Configuration({"fault": None})}, (), ())


@pytest.mark.parametrize(("fault", "message"), [
    ("loop", r"^test\.faulty: Combinational cycle detected, path: .*$"),
    ("drivers", r"^test\.faulty: Signal .* driven .*$"),
])
def test_what_amaranth_refuses(fault, message):
    with pytest.raises(UserError, match=message):
        export(BLOCK, {"fault": fault})


def test_port_that_is_not_read_is_reported_and_nothing_else():
    assert lint(export(BLOCK, {"fault": None})) == []
    assert lint(export(BLOCK, {"fault": "compared with 0"}), ["a"]) == []
    made = export(BLOCK, {"fault": "unread"})
    [said] = lint(made)
    assert re.fullmatch(r"UNUSEDSIGNAL: test_faulty\.v:\d+:\d+: Signal is not used: 'spare'", said)
    assert lint(made, ["spare"]) == []
    assert lint(made, ["pare"]) == [said]
    [said] = lint(export(BLOCK, {"fault": "half read"}))
    assert re.fullmatch(r"UNUSEDSIGNAL: .* Bits of signal are not used: 'spare'\[1\]", said)


@pytest.mark.parametrize(("code", "body"), [
    ("LATCH", "always @* if (a) q = b;"),
    ("UNDRIVEN", "wire nothing; always @* q = nothing & a & b;"),
    ("WIDTHTRUNC", "wire [1:0] x = 3; always @* q = x;"),
    ("UNOPTFLAT", "wire x = y ^ a; wire y = x ^ b; always @* q = x;"),
    ("MULTIDRIVEN", "always @(posedge a) q <= 1; always @(posedge b) q <= 0;"),
    ("ERROR", "always @* q = c;"),
])
def test_faults_in_verilog_are_reported(code, body):
    made = replace(export(BLOCK, {"fault": None}), name="top", core="top", text=(
        f"module top (\ninput a, input b, output reg q\n);\n{body}\nendmodule\n"))
    assert any(line.startswith(f"{code}: top.v:") for line in lint(made)), lint(made)


def test_every_pragma_has_a_reason_and_stands_in_the_text():
    text = exported("noc.arbiter").text
    for code, why in PRAGMAS.items():
        assert f"/* verilator lint_off {code} */  // {why}" in text
    assert text.count("lint_off") == len(PRAGMAS)


def test_fusesoc_core_file_names_the_verilog_and_its_top():
    text = exported("noc.arbiter").fusesoc("arbiter.v")
    assert text.startswith("CAPI=2:\n\nname: cyclebound:noc:arbiter:")
    assert '    files: ["arbiter.v"]\n' in text
    assert "    toplevel: noc_arbiter\n" in text


def test_fusesoc_lints_it(tmp_path):
    made = exported("noc.arbiter")
    (tmp_path / "arbiter.v").write_text(made.text)
    (tmp_path / "arbiter.core").write_text(made.fusesoc("arbiter.v"))
    tool = verilator()
    done = subprocess.run(
        [Path(sys.executable).with_name("fusesoc"), "--cores-root", ".", "run", "--target", "lint",
         "cyclebound:noc:arbiter"],
        cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "VERILATOR_ROOT": str(tool.root),
             "PATH": f"{tool.root / 'bin'}{os.pathsep}{os.environ['PATH']}"})
    assert done.returncode == 0, done.stdout + done.stderr


def test_litex_module_connects_every_port():
    made = exported("dram.axi_port")
    text = litex_module(made, "dram_axi_port.v")
    compile(text, "dram_axi_port.py", "exec")
    assert ("self.bus = bus = AXIInterface(id_width=4, address_width=32, data_width=128)"
            in text)
    assert "i_s_axi_awaddr=bus.aw.addr,\n" in text
    assert "o_s_axi_rlast=bus.r.last,\n" in text
    assert "o_command__op=self.command__op,\n" in text
    assert len(re.findall(r"^            [io]_\w+=", text, re.MULTILINE)) == len(made.ports) + 2


def test_litex_places_the_module(tmp_path, monkeypatch):
    from litex.gen.fhdl import verilog as back_end
    from migen import ClockDomain
    made = exported("dram.axi_port")
    (tmp_path / "dram_axi_port.v").write_text(made.text)
    (tmp_path / "placed.py").write_text(litex_module(made, "dram_axi_port.v"))
    monkeypatch.syspath_prepend(str(tmp_path))
    sources = []
    placed = __import__("placed").DramAxiPort(SimpleNamespace(add_source=sources.append))
    assert sources == [str(tmp_path / "dram_axi_port.v")]
    placed.clock_domains.cd_sys = ClockDomain("sys")
    ports = {signal for channel in (placed.bus.aw, placed.bus.w, placed.bus.b, placed.bus.ar,
                                    placed.bus.r) for signal in channel.flatten()}
    ports |= {getattr(placed, port.name) for port in made.ports if hasattr(placed, port.name)}
    top = str(back_end.convert(placed, ios=ports, name="top"))
    assert re.search(r"^dram_axi_port dram_axi_port", top, re.MULTILINE)
    (tmp_path / "top.v").write_text(top)
    run_yosys("read_verilog top.v dram_axi_port.v; hierarchy -check -top top", tmp_path)


@pytest.mark.unit
def test_ports_are_described_wherever_their_section_stands():
    class Component(wiring.Component):
        """A queue.

        Members
        -------
        level, free : Out(3)
            Entries that are in use,
            or not.

        Attributes
        ----------
        depth : int
            Of all.
        """

    assert described(Component({})) == dict.fromkeys(
        ("level", "free"), "Entries that are in use, or not.")
