"""Components from Verilog and VHDL, and black boxes in components of Amaranth."""

import inspect
import re

import pytest
from amaranth.hdl import ClockSignal, Instance, Module, ResetSignal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.build.elaborate import SharedModules, fields_json, leave_unused, to_rtlil
from cyclebound.sim.describe.block import Block, Configuration, Testbench
from cyclebound.sim.describe.block_check import check_block
from cyclebound.sim.netlist import verilog_module
from cyclebound.sim.netlist.link import Sources
from cyclebound.sim.netlist.verilog_module import VerilogModule

pytestmark = pytest.mark.unit

COUNTER = """module counter #(parameter WIDTH = 3, parameter STEP = 1) (
    input clock, input aresetn, input go, output reg signed [WIDTH-1:0] value);
    always @(posedge clock) if (!aresetn) value <= 0; else if (go) value <= value + STEP;
endmodule
"""
PAIR = """`include "width.vh"
module pair(input clk, input rst, input a, output [`WIDTH-1:0] y);
    counter #(.WIDTH(`WIDTH)) one (.clock(clk), .aresetn(~rst), .go(a), .value(y));
endmodule
"""


@pytest.fixture
def sources(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "counter.v").write_text(COUNTER)
    (tmp_path / "pair.sv").write_text(PAIR)
    (tmp_path / "width.vh").write_text("`define WIDTH 5\n")
    return tmp_path


def test_ports_and_parameters(sources):
    make = VerilogModule(("counter.v",), "counter")
    assert str(inspect.signature(make)) == "(*, STEP=1, WIDTH=3)"
    component = make(WIDTH=7)
    assert {name: (member.flow, str(member.shape))
            for name, member in component.signature.members.items()} == {
        "go": (In, "unsigned(1)"), "value": (Out, "signed(7)")}
    assert component.WIDTH == 7
    assert '"value"' in fields_json(component)
    text = to_rtlil(component, name="top")
    assert re.findall(r"^module \\(\S+)$", text, re.MULTILINE) == ["top", "top.counter"]
    assert "\\src" not in text
    assert text == to_rtlil(make(WIDTH=7), name="top")  # equal hardware is equal text
    assert 'src "counter.v:' in to_rtlil(make(WIDTH=7), name="top", lines=True)


VALUES = """module values #(parameter NAME = "abc", parameter LOW = 1, parameter HIGH = 0) (
    output [LOW < 0 ? 6 : 2 : 0] y);
    assign y = NAME == "x\\"z" && LOW == -3 && HIGH == 64'h1234567890;
endmodule
"""


def test_parameters_are_texts_and_numbers_of_any_sign_and_size(sources):
    (sources / "values.v").write_text(VALUES)
    component = VerilogModule(("values.v",), "values")(NAME='x"z', LOW=-3, HIGH=0x1234567890)
    assert len(component.y) == 7
    assert "connect \\y 7'0000001" in to_rtlil(component, name="gold")


@pytest.mark.parametrize("place", ["top t (.go(go), .done(done));", ""])
def test_a_module_of_the_user_s_that_is_called_top(sources, place):
    """As the top of every simulation is called."""
    (sources / "top.v").write_text(
        f"module system(input go, output done); {place or 'assign done = go;'} endmodule\n"
        "module top(input go, output done); assign done = ~go; endmodule\n")
    name = "system" if place else "top"
    component = VerilogModule(("top.v",), name)()
    text = to_rtlil(component, name="top")
    assert re.findall(r"^module \\(\S+)$", text, re.MULTILINE) == [
        "top", *(["top.system", "top.system.t"] if place else ["top.top"])]
    assert re.search(r"cell \$not .*\n(.*\n)*?    connect \\A \\go", text)


def test_a_name_that_is_not_declared_is_told_once(sources, capsys, monkeypatch):
    monkeypatch.setattr(verilog_module, "_told", set())
    (sources / "counter.v").write_text(COUNTER.replace("value + STEP", "value + STPE"))
    make = VerilogModule(("counter.v",), "counter")
    make.tell({})
    make(WIDTH=4)
    assert capsys.readouterr().err.splitlines() == [
        "cyclebound: counter.v:3: warning: Identifier `\\STPE' is implicitly declared.",
        "cyclebound: counter: clock clock, reset aresetn (active low)"]
    VerilogModule(("none.v",), "counter").tell({})
    assert capsys.readouterr().err == ""


def test_modules_below_and_includes(sources):
    component = VerilogModule(("pair.sv", "counter.v", "width.vh"), "pair")()
    text = to_rtlil(component, name="top", shares=SharedModules("top"))
    assert re.findall(r"^module \\(\S+)$", text, re.MULTILINE) == [
        "top", "top.pair", "top.pair.one"]


class BlackBox(wiring.Component):
    go: In(1)
    low: Out(3)
    high: Out(5)

    def __init__(self, add):
        self._add = add
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        if self._add:
            platform.add_file("counter.v", COUNTER)
        for name, width in (("low", 3), ("high", 5)):
            m.submodules[f"{name}_count"] = Instance(
                "counter", p_WIDTH=width, i_clock=ClockSignal(), i_aresetn=~ResetSignal(),
                i_go=self.go, o_value=getattr(self, name))
        return m


def test_black_boxes_in_a_component():
    text = to_rtlil(BlackBox(True), name="top")
    assert re.findall(r"^module \\(\S+)$", text, re.MULTILINE) == [
        "top", "top.high_count", "top.low_count"]


def test_a_black_box_without_a_source_is_named():
    with pytest.raises(UserError, match=r"^no source defines module counter: give it in "
                                        r"elaborate\(\) with platform.add_file"):
        to_rtlil(BlackBox(False), name="top")


@pytest.mark.parametrize(("files", "top", "parameters", "kind", "says"), [
    (("none.v",), "x", {}, UserError, "there is no source none.v in the current folder"),
    (("counter.v",), "count", {}, UserError, "counter.v has no module count; it has counter"),
    (("counter.v",), "counter", {"DEPTH": 1}, ValueError,
     "counter has no parameter DEPTH; it has STEP, WIDTH"),
    (("counter.v",), "counter", {"WIDTH": 1.5}, TypeError,
     "Parameter WIDTH of counter must be a whole number or a text, not 1.5"),
    (("pair.sv", "width.vh"), "pair", {}, UserError, "counter"),
    (("wrong.v",), "wrong", {}, UserError, "wrong.v:2: ERROR: syntax error"),
    (("both.v",), "both", {}, ValueError, "both: port pin is inout; only inputs and outputs"),
    (("escaped.v",), "escaped", {}, ValueError, "escaped: port 'a.b[3]' cannot be called so here"),
    (("hidden.v",), "hidden", {}, ValueError, "hidden: port 'signature' cannot be called so here"),
    (("entity.vhd",), "entity", {}, UserError, "there is no ghdl on PATH; install it"),
])
def test_what_is_no_module(sources, monkeypatch, files, top, parameters, kind, says):
    (sources / "wrong.v").write_text("module wrong(input clk);\nassign = ;\nendmodule\n")
    (sources / "both.v").write_text("module both(input clk, inout pin); endmodule\n")
    (sources / "escaped.v").write_text("module escaped(input \\a.b[3] ); endmodule\n")
    (sources / "hidden.v").write_text("module hidden(input signature); endmodule\n")
    (sources / "entity.vhd").write_text("entity entity is end;\n")
    monkeypatch.setenv("PATH", str(sources))
    with pytest.raises(kind, match=re.escape(says)) as raised:
        to_rtlil(VerilogModule(files, top)(**parameters), name="top")
    assert "\n" not in str(raised.value)


def test_vhdl_goes_through_ghdl(sources, monkeypatch):
    """With a stand-in for GHDL, which is no package of Python: the command line, and what is made
    of its output."""
    (sources / "counter.vhd").write_text("-- an entity\n")
    tool = sources / "ghdl"
    tool.write_text("#!/bin/sh\necho \"$@\" > said.txt\ncp said.txt " + str(sources)
                    + "/said.txt\ncat " + str(sources) + "/counter.v\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{sources}:/usr/bin:/bin")
    component = VerilogModule(("counter.vhd",), "counter")(WIDTH=6)
    assert (sources / "said.txt").read_text().split() == [
        "synth", "--std=08", "-gWIDTH=6", "--out=verilog", "counter.vhd", "-e", "counter"]
    assert component.WIDTH == 6
    assert "module \\top.counter" in to_rtlil(component, name="top")


def test_names_of_clock_and_reset(sources):
    (sources / "odd.v").write_text("module odd(input ck, input nres, input go, output y);\n"
                                   "assign y = go; endmodule\n")
    component = VerilogModule(("odd.v",), "odd", clock="ck", reset="~nres")()
    assert set(component.signature.members) == {"go", "y"}
    assert set(VerilogModule(("odd.v",), "odd")().signature.members) == {"ck", "nres", "go", "y"}
    with pytest.raises(ValueError, match=r"^odd has no port clk for its clock$"):
        VerilogModule(("odd.v",), "odd", clock="clk")()
    leave_unused(component)


def test_a_block_has_a_component_or_sources():
    for fields, says in (({}, "it must have a component, or sources and their top"),
                         ({"sources": ("counter.v",)}, "it must have both sources and top")):
        with pytest.raises(UserError, match=says):
            check_block(Block("own.x", "x", configurations={"a": Configuration({})},
                              testbenches=(Testbench("t", "t"),), **fields))


@pytest.mark.parametrize(("name", "content", "kind", "says"), [
    ("x.v", 5, TypeError, "Content of 'x.v' must be a text, not 5"),
    ("a b.v", "", ValueError, "Name of a source must be letters"),
    ("one.v", "other", ValueError, "two sources are called 'one.v' and differ"),
])
def test_a_source_that_is_none(name, content, kind, says):
    sources = Sources()
    sources.add_file("one.v", b"text")
    with pytest.raises(kind, match=f"^{re.escape(says)}"):
        sources.add_file(name, content)
