"""Clock and reset of a module in Verilog are what its registers use, whatever they are called."""

import re

import pytest

from cyclebound.sim.build.elaborate import leave_unused
from cyclebound.sim.netlist.verilog_module import VerilogModule

pytestmark = pytest.mark.unit

SYNCHRONOUS = "always @(posedge {clock}) if ({test}) q <= 0; else q <= d;"
ASYNCHRONOUS = "always @(posedge {clock} or {edge} {reset}) if ({test}) q <= 0; else q <= d;"
REGISTER = "always @(posedge {0}) q <= d;"
TWO = """reg r; always @(posedge clk) if (a_rst) r <= 0; else r <= d;
always @(posedge clk) if (b_rst) q <= 0; else q <= r;"""


def module(folder, name, ports, body, ending="v"):
    (folder / f"{name}.{ending}").write_text(
        f"module {name}({', '.join(f'input {port}' for port in ports)}, input d, output reg q);\n"
        f"{body}\nendmodule\n")
    return lambda **given: VerilogModule((f"{name}.{ending}",), name, **given)


def found(make, **given):
    component = make(**given)()
    leave_unused(component)
    return component._clock, component._reset


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("clock", "reset"), [
    ("S_AXI_ACLK", "~S_AXI_ARESETN"), ("ap_clk", "~ap_rst_n"), ("ap_clk", "ap_rst"),
    ("i_clk", "~i_rst_n"), ("CLK", "~arst_n"), ("clk", "~n_rst"), ("HCLK", "~HRESETn"),
    ("PCLK", "~PRESETn"), ("core_clk", "soft_reset"), ("sysclk", "~aResetn"), ("ck", "nrst")])
@pytest.mark.parametrize("when", ["synchronous", "asynchronous"])
def test_usual_names(folder, clock, reset, when):
    """The level is that of its use: ``nrst`` is 1 active here."""
    name, low = reset.lstrip("~"), reset.startswith("~")
    body = (SYNCHRONOUS if when == "synchronous" else ASYNCHRONOUS).format(
        clock=clock, reset=name, edge="negedge" if low else "posedge",
        test=f"{'!' * low}{name}")
    assert found(module(folder, "usual", (clock, name), body)) == (clock, reset)


@pytest.mark.parametrize(("ports", "body", "reset"), [
    # not called like a reset: taken if it resets at any time, and not at an edge
    (("clk", "clear_all"), ASYNCHRONOUS.format(clock="clk", reset="clear_all", edge="posedge",
                                               test="clear_all"), "clear_all"),
    (("clk", "start"), SYNCHRONOUS.format(clock="clk", test="start"), ""),
    # beside others
    (("clk", "rst_n", "clear"), SYNCHRONOUS.format(clock="clk", test="!rst_n || clear"), "~rst_n"),
    (("clk", "rst_n", "burst"), SYNCHRONOUS.format(clock="clk", test="~(rst_n & ~burst)"),
     "~rst_n"),
    (("clk", "por_n", "srst"), "reg r; always @(posedge clk or negedge por_n) if (!por_n) r <= 0; "
     "else r <= d;\n" + SYNCHRONOUS.format(clock="clk", test="srst").replace("q <= d", "q <= r"),
     "srst"),
    # through an inverter, and compared
    (("clk", "rst"), "wire n = ~rst;" + ASYNCHRONOUS.format(clock="clk", reset="n", edge="negedge",
                                                            test="!n"), "rst"),
    (("clk", "rst_n"), SYNCHRONOUS.format(clock="clk", test="1'b0 == rst_n"), "~rst_n"),
    # a synchronizer in front of the register
    (("clk", "rst_n"), "reg [1:0] s; always @(posedge clk or negedge rst_n) if (!rst_n) s <= 0; "
     "else s <= {s[0], 1'b1};" + SYNCHRONOUS.format(clock="clk", test="!s[1]"), "~rst_n"),
    # no register uses it: the name says it
    (("clk", "rst_n"), REGISTER.format("clk"), "~rst_n"),
    (("clk",), REGISTER.format("clk"), ""),
])
def test_uses(folder, ports, body, reset):
    assert found(module(folder, "used", ports, body)) == ("clk", reset)


@pytest.mark.parametrize("ending", ["v", "sv"])
@pytest.mark.parametrize("attribute", ["", "(* keep_hierarchy *) "])
def test_registers_below_and_memories(folder, ending, attribute):
    (folder / f"deep.{ending}").write_text(
        f"{attribute}module low(input c, input [1:0] a, input w, d, output reg q); reg m [0:3];\n"
        "always @(posedge c) begin if (w) m[a] <= d; q <= m[a]; end endmodule\n"
        "module deep(input tick, input [1:0] a, input w, d, output q);\n"
        "low one(.c(tick), .*); endmodule\n")
    assert found(lambda: VerilogModule((f"deep.{ending}",), "deep")) == ("tick", "")


@pytest.mark.parametrize("ending", ["v", "sv"])
@pytest.mark.parametrize(("ports", "body", "given", "says"), [
    (("wclk", "rclk"), "reg r; always @(posedge wclk) r <= d; always @(posedge rclk) q <= r;", {},
     "wrong: its registers have the clocks "),
    (("clk", "other"), REGISTER.format("other"), {"clock": "clk"},
     "other (at PLACE); a block has one clock, and clk is given"),
    (("clk", "en"), "wire g = clk & en; " + REGISTER.format("g"), {},
     "wrong: the register at PLACE has a clock that is made of signals, not a port"),
    (("clk",), "always @(negedge clk) q <= d;", {}, "takes the falling edge of its clock"),
    (("clk",), "wire n = !clk; " + REGISTER.format("n"), {}, "takes the falling edge"),
    (("clk", "a_rst", "b_rst"), TWO, {},
     "say which is the reset, as in VerilogModule(..., reset="),
    (("clk", "rst_n"), SYNCHRONOUS.format(clock="clk", test="!rst_n"), {"reset": "rst_n"},
     "wrong: rst_n resets registers at 0: its reset is '~rst_n', not 'rst_n'"),
    (("clk", "rst"), SYNCHRONOUS.format(clock="clk", test="rst"), {"reset": "~rst"},
     "wrong: rst resets registers at 1: its reset is 'rst', not '~rst'"),
])
def test_what_is_refused(folder, ending, ports, body, given, says):
    make = module(folder, "wrong", ports, body, ending)
    says = re.escape(says).replace("PLACE", rf"wrong\.{ending}:2\S*")
    with pytest.raises(ValueError, match=says):
        make(**given)()


def test_one_of_two_resets_is_named(folder):
    component = module(folder, "two", ("clk", "a_rst", "b_rst"), TWO)(reset="b_rst")()
    assert {*component.signature.members} == {"a_rst", "d", "q"}
    leave_unused(component)
