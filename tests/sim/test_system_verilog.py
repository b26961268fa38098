"""SystemVerilog is read by slang; what it refuses is said in its words."""

import re

import pytest
from amaranth.hdl import ClockSignal, Const, Instance, Module, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.build.elaborate import to_rtlil
from cyclebound.sim.netlist import verilog_module
from cyclebound.sim.netlist.verilog_module import VerilogModule
from kit.own_files import OwnFiles

pytestmark = pytest.mark.unit

VALUES = """package kinds; typedef enum logic [1:0] {SLOW, FAST} kind_e; endpackage
module values import kinds::*; #(parameter kind_e KIND = SLOW, parameter int LOW = -3,
    parameter string NAME = "a\\"b", parameter real SCALE = 0.5, parameter bit [39:0] WIDE = 1,
    parameter type T = logic [7:0], localparam int TWICE = 2 * LOW)
    (input logic clk, output T y);
  always_ff @(posedge clk) y <= T'((KIND == FAST) + (LOW == -5) * 2 + (NAME == "x y") * 4
                                   + (SCALE == 1.5) * 8 + (WIDE == 40'h1234567890) * 16);
endmodule
"""
STAGE = """interface link; logic v; modport out(output v); modport in(input v); endinterface
module stage(input logic clk, link.in i, link.out o);
  always_ff @(posedge clk) o.v <= i.v;
endmodule
module line #(parameter int N = 2)(input logic clk, v, output logic q);
  link l[N:0](); assign l[0].v = v, q = l[N].v;
  for (genvar g = 0; g < N; g++) begin : g_stage stage s(.clk, .i(l[g]), .o(l[g+1])); end
endmodule
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def number_in(text):
    """What the registers of `VALUES` take."""
    return int(re.search(r"cell \\?\$dff .*?connect \\D 8'([01]+)", text, re.DOTALL)[1], 2)


def test_parameters_of_every_kind(folder):
    (folder / "values.sv").write_text(VALUES)
    make = VerilogModule(("values.sv",), "values")
    parameters = make.__signature__.parameters
    assert {name: parameter.default for name, parameter in parameters.items()} == {
        "KIND": 0, "LOW": -3, "NAME": 'a"b', "WIDE": 1}
    assert number_in(to_rtlil(make(), name="top")) == 0
    component = make(KIND=1, LOW=-5, NAME="x y", WIDE=0x1234567890)
    assert number_in(to_rtlil(component, name="top")) == 1 + 2 + 4 + 16


class Places(wiring.Component):
    y: Out(8)
    z: Out(8)

    def elaborate(self, platform):
        m = Module()
        platform.add_file("rtl/values.sv", VALUES)
        for name, values in (("y", {"KIND": 1, "LOW": Const(-5, signed(9)), "SCALE": 1.5}),
                             ("z", {"NAME": "x y"})):
            m.submodules[f"{name}_of"] = Instance(
                "values", **{f"p_{key}": value for key, value in values.items()},
                i_clk=ClockSignal(), o_y=getattr(self, name))
        return m


def test_black_boxes_in_a_component():
    text = to_rtlil(Places(), name="top")
    parts = re.split(r"(?m)^module ", text)
    assert [(part.partition("\n")[0], number_in(part)) for part in parts[2:]] == [
        ("\\top.y_of", 11), ("\\top.z_of", 4)]


def test_hierarchy_is_kept_and_equal_hardware_is_equal_text(folder):
    (folder / "line.sv").write_text(STAGE)
    make = VerilogModule(("line.sv",), "line")
    text = to_rtlil(make(N=3), name="top")
    assert text == to_rtlil(make(N=3), name="top")
    assert re.findall(r"^module \\(\S+)$", text, re.MULTILINE) == [
        "top", "top.line", *(f"top.line.g_stage[{number}].s" for number in range(3))]
    assert "\\src" not in text
    assert 'src "line.sv:3.' in to_rtlil(make(N=3), name="top", lines=True)


def test_a_macro_for_the_files_after_it(folder):
    (folder / "one.sv").write_text("`define NUMBER 8'd7\n")
    (folder / "two.sv").write_text("module two(output logic [7:0] y); assign y = `NUMBER; "
                                   "endmodule\n")
    assert "8'00000111" in to_rtlil(VerilogModule(("one.sv", "two.sv"), "two")(), name="top")


def test_an_assertion_that_is_left_out_is_told(folder, capsys, monkeypatch):
    monkeypatch.setattr(verilog_module, "_told", set())
    (folder / "m.sv").write_text("module m(input logic clk, d, output logic q);\n"
                                 "assert property (@(posedge clk) d |=> q);\n"
                                 "always_ff @(posedge clk) q <= d; endmodule\n")
    to_rtlil(VerilogModule(("m.sv",), "m")(), name="top")
    assert capsys.readouterr().err == (
        "cyclebound: m.sv:2: warning: unsupported SVA feature: no assertion of these sources is "
        "checked\ncyclebound: m: clock clk, no reset\n")


@pytest.mark.parametrize(("text", "top", "says"), [
    ("module m(input a);\nassign b = ;\nendmodule", "m",
     "slang cannot read the sources: m.sv:2: expected expression"),
    ("module m(output y);\nassign y = a + b;\nendmodule", "m",
     "m.sv:2: use of undeclared identifier 'a' (and 1 more)"),
    ("module m(output y); none one(y); endmodule", "m", "m.sv:1: unknown module 'none'"),
    ("module m; endmodule", "n", "m.sv has no module n; it has m"),
    ("module m #(parameter int N)(output y); endmodule", "m", "N"),
])
def test_what_is_refused(folder, text, top, says):
    (folder / "m.sv").write_text(text)
    with pytest.raises(UserError, match=re.escape(says)) as raised:
        VerilogModule(("m.sv",), top)()
    assert "\n" not in str(raised.value)


def test_what_slang_has_no_hardware_for_is_read_by_yosys(folder):
    (folder / "m.sv").write_text(
        "module m(input logic clk, n_rst, d, output logic q);\nalways_ff @(posedge clk, negedge "
        "n_rst) if (1'b0 == n_rst) q <= 0; else q <= d; endmodule\n")
    text = to_rtlil(VerilogModule(("m.sv",), "m")(), name="top")
    assert re.findall(r"^module \\(\S+)$", text, re.MULTILINE) == ["top", "top.m"]


PAGE = """from cyclebound.golden.bound import bound
from cyclebound.sim.describe.block import *
from cyclebound.tb.probe import Probe

@bound(formula="N + 1", source="a register in each stage", environment="any input")
def passage(*, N: int) -> int:
    \"\"\"Cycles.\"\"\"
    return N + 1

BLOCKS = (Block(name="own.line", summary="x", sources=("line.sv",), top="line",
    configurations={"two": Configuration({"N": 2})}, testbenches=(Testbench("x", "line_tb"),),
    bounds=(BoundBinding("passage", passage, probe=Probe(start="v", end="q", in_flight="N")),)),)
"""
BENCH = """from cyclebound.tb.bench import testbench
@testbench
async def passes(bench):
    seen = [await bench.step(bench.inputs.pack({"v": n == 3})) for n in range(10)]
    for n, outputs in enumerate(seen):
        bench.check(outputs, bench.outputs.pack({"q": n == 5}))
"""
ASSERTED = "always_ff @(posedge clk) assert (!q) else $error(\"q\");\nendmodule\n"


@pytest.mark.thorough
@pytest.mark.parametrize(("more", "status"), [("endmodule\n", 0), (ASSERTED, 1)])
def test_is_simulated_and_its_assertions_are_checked(folder, more, status):
    own = OwnFiles(folder, "line_page", {
        "line_page.py": PAGE, "line_tb.py": BENCH, "line.sv": STAGE.removesuffix("endmodule\n")
        + more})
    done = own.run("run", "own.line")
    assert done.returncode == status, done.stdout + done.stderr
    assert ("an assertion failed" in done.stdout) == bool(status)
