"""Sources keep their paths; includes, macros and lists of files are found where they lie."""

import re
import sys

import pytest

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.build.elaborate import to_rtlil
from cyclebound.sim.build.sources import sources as digest_of
from cyclebound.sim.netlist.source_files import gather
from cyclebound.sim.netlist.verilog_module import VerilogModule

pytestmark = pytest.mark.unit

STEP = "module {0}_step(output [7:0] y); assign y = 8'd{1}; endmodule\n"
BOTH = """module both(output [7:0] y); wire [7:0] a, b;
a_step one(a); b_step two(b); assign y = a + b; endmodule
"""
VALUE = "module value(output [7:0] y); assign y = {}; endmodule\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def value_of(make, **parameters):
    """The constant at output y of a module's component."""
    text = to_rtlil(make(**parameters), name="top")
    return {int(bits, 2) for bits in re.findall(r"connect \\[yA] 8'([01]+)", text)}


@pytest.mark.parametrize("ending", ["v", "sv"])
def test_two_files_of_one_name_in_two_folders(folder, ending):
    """One of them replaced the other, and a module was the other's."""
    write(folder, {f"a/step.{ending}": STEP.format("a", 5), f"both.{ending}": BOTH,
                   f"b/step.{ending}": STEP.format("b", 17)})
    make = VerilogModule((f"a/step.{ending}", f"b/step.{ending}", f"both.{ending}"), "both")
    assert [*make.files()] == [f"a/step.{ending}", f"b/step.{ending}", f"both.{ending}"]
    text = to_rtlil(make(), name="top")
    assert "8'00000101" in text
    assert "8'00010001" in text


def test_an_include_of_one_name_in_each_folder(folder):
    for name, number in (("a", 5), ("b", 17)):
        write(folder, {f"{name}/size.vh": f"`define SIZE_{name.upper()} 8'd{number}\n",
                       f"{name}/step.v": '`include "size.vh"\n' + STEP.format(name, 0).replace(
                           "8'd0", f"`SIZE_{name.upper()}")})
    write(folder, {"both.v": BOTH})
    text = to_rtlil(VerilogModule(("a/step.v", "b/step.v", "both.v"), "both")(), name="top")
    assert "8'00000101" in text
    assert "8'00010001" in text


@pytest.mark.parametrize("ending", ["v", "sv"])
@pytest.mark.parametrize(("given", "expected"), [
    ({"include": ("inc",)}, 3), ({"include": ("inc",), "defines": {"MORE": "8'd4"}}, 7)])
def test_include_folders_and_macros(folder, given, expected, ending):
    text = '`include "base.svh"\n`ifndef MORE\n`define MORE 8\'d0\n`endif\n'
    write(folder, {"inc/base.svh": "`define BASE 8'd3\n",
                   f"rtl/value.{ending}": text + VALUE.format("`BASE + `MORE")})
    assert value_of(VerilogModule((f"rtl/value.{ending}",), "value", **given)) == {expected}


LIST = """// files of the block
+incdir+../inc+$MORE_INCLUDES /* two
folders */
+define+BASE=8'd3+FLAG "-DONE=(\\"a b\\" == \\"a b\\" /* ; */)"
-f more.f  # and those of
-sverilog -timescale=1ns/1ps +libext+.v
"""


def test_a_list_of_files(folder, monkeypatch):
    """Paths from the list's folder or the current one; a list may be named anything by -f."""
    monkeypatch.setenv("MORE_INCLUDES", "other")
    write(folder, {"rtl/files.f": LIST, "rtl/more.f": "value.v\n-v rtl/unused.v", "other/x.vh": "",
                   "inc/more.vh": "`define MORE 8'd4\n", "rtl/unused.v": "module unused; endmodule",
                   "rtl/value.v": '`include "more.vh"\n`ifdef FLAG\n'
                                  + VALUE.format("`BASE + `MORE + `ONE") + "`endif\n"})
    assert value_of(VerilogModule(("rtl/files.f",), "value")) == {8}
    write(folder, {"rtl/files.f": "+define+FLAG+BASE=1+ONE=0 -f rtl/all.txt -Iinc", "rtl/all.txt":
                   "rtl/value.v -F rtl/files.f"})
    assert value_of(VerilogModule(("rtl/files.f",), "value")) == {5}


def test_library_folders(folder):
    """Modules and packages that nothing else defines are files of their names there; the first
    folder's come first, what is not named is not read, and a comment names nothing."""
    write(folder, {
        "rtl/files.f": "top.sv -y ../lib -y more +libext+.sv+.v",
        "rtl/top.sv": "module top(output [7:0] y); wire [7:0] a, b, c; // broken\n"
                      "import sizes::*; /* broken too */ one_step one(a); two_step #(.W(8)) two"
                      " (b); own own_(c); assign y = a + b + c + SIZE; endmodule\n"
                      "module own(output [7:0] y); assign y = 8'd64; endmodule\n",
        "lib/one_step.v": "module one_step(output [7:0] y); three_step s(y); endmodule\n",
        "rtl/more/one_step.v": STEP.format("one", 100), "lib/broken.v": "module broken(",
        "rtl/more/two_step.sv": "module two_step #(parameter W=1)(output [W-1:0] y);"
                                 " assign y = 3; endmodule\n",
        "rtl/more/three_step.v": STEP.format("three", 5), "lib/own.v": "module own(",
        "lib/sizes.sv": "package sizes; localparam [7:0] SIZE = 16; endpackage\n"})
    make = VerilogModule(("rtl/files.f",), "top")
    found = value_of(make)
    assert {64, 5, 3} <= found
    assert 100 not in found
    assert {name.rpartition("/")[2] for name in make.files() if not name.endswith(".f")} == {
        "top.sv", "one_step.v", "two_step.sv", "three_step.v", "sizes.sv"}


INSTANCES = [
    "{} u (y);", "{} u(.y(y));", "{}\n  u\n  (.y);", "{} #(8) u (y);", "{}#(.W(8))u(y);",
    "{} #8 u (y);", "{} \\u[0].x (y);", "{} u [3:0] (y);", "wire a; {} u [1:0][2:0](y);",
    "generate if (1) begin : g {} u (y); end else {} v (y); endgenerate",
    "case (1) 0: {} u (y); endcase", "begin : data {} u (y); end : data",
    "(* keep = \"x\" *) {} u (y);", "`ifdef X\n{}\n`endif u (y);",
    "`define CELL(n) {} n (y);", "import {}::*;", "import a::b, {}::c;", "wire [{}::W:0] a;",
    "always @* if (a) b = c; {} u (y);", "or (a, b, c); {} u (y);", "{} /* the */ u // one\n(y);"]
OTHERS = [
    "wire {};", "input {},", "wire {} = x;", "assign {} = a ({});", "{} <= #1 y;", "x.{} u (y);",
    "a u (.{}(y));", "a #(.{}(8)) u (y);", "a {} (y);", "begin : {} if (a) b = c; end",
    "begin : b end : {} for (i = 0; i < 3; i = i + 1) ;", "endmodule : {}\nassert (1);",
    "always @(posedge {} or negedge b) ;", "always @(posedge {} or (b)) ;", "`{} u (y);",
    "if ({}) b (c);", "case ({}) (a): b = 1; endcase", "{}[3] = a;", "{}(y);", "// {} u (y);",
    "/* {} u (y); */", 'initial $display("{} u (y)");', "begin : {} nand (a, b); end", "\\{} (y);",
    "`ifdef {}\nx u (y);\n`endif", "x = {} ? a : b (c);"]


@pytest.mark.parametrize("text", INSTANCES)
def test_instances_in_a_library_folder(folder, text):
    write(folder, {"x.f": "top.sv -y lib", "top.sv": text.replace("{}", "cell_2"),
                   "lib/cell_2.v": ""})
    assert "lib/cell_2.v" in gather(("x.f",), "x")


@pytest.mark.parametrize("text", OTHERS)
def test_what_is_no_instance(folder, text):
    """A file of a signal's name may be broken, or something else."""
    write(folder, {"x.f": "top.sv -y lib", "top.sv": text.replace("{}", "data"),
                   "lib/data.v": "module data("})
    assert set(gather(("x.f",), "x")) == {"top.sv"}


def test_a_signal_called_as_a_file(folder):
    write(folder, {"x.f": "top.v -y lib", "lib/data.v": "module data(",
                   "top.v": "module top(output [7:0] y); wire [7:0] data = 8'd9;"
                            " assign y = data; endmodule\n"})
    assert "8'00001001" in to_rtlil(VerilogModule(("x.f",), "top")(), name="top")


def test_a_library_folder_for_verilog(folder):
    write(folder, {"all.f": "both.v -y lib", "both.v": BOTH, "lib/a_step.v": STEP.format("a", 5),
                   "lib/b_step.v": STEP.format("b", 17)})
    text = to_rtlil(VerilogModule(("all.f",), "both")(), name="top")
    assert "8'00000101" in text
    assert "8'00010001" in text


@pytest.mark.parametrize(("text", "says"), [
    ("-y lib", "there is no x.f: library folder lib in the current folder"),
    ("-l log", "x.f: -l is not understood; a list has files, +incdir+"),
    ("no.v", "there is no x.f: source no.v in the current folder"),
    ("+incdir+no", "there is no x.f: folder for includes no in the current folder"),
    ("a.v $NO_SUCH_VARIABLE/b.v", "x.f: there is no variable NO_SUCH_VARIABLE in the environment"),
    ("+define+1=2", "x.f: a macro is a name of letters, digits and _ with a text of one line, not"),
    ("+define+A=2 -DA=3", "x.f: macro A is '2' and '3'"),
    ('"a.v', "x.f: No closing quotation"),
])
def test_a_list_that_is_wrong(folder, text, says):
    write(folder, {"x.f": text, "a.v": ""})
    with pytest.raises(UserError, match=re.escape(says.replace("x.f", "")).replace("\\ :", ".*:")):
        gather(("x.f",), "x")


def test_a_header_that_is_edited(folder, monkeypatch):
    """It is read again, and the key of all sources is another one; the header is named nowhere."""
    (folder / "page").mkdir()
    write(folder, {"inc/size.vh": "`define SIZE 8'd5\n", "rtl/value.v":
                   '`include "size.vh"\n' + VALUE.format("`SIZE"), "page/edited_header_page.py":
                   "from cyclebound.sim.describe.block import *\nfrom "
                   "cyclebound.sim.netlist.verilog_module import VerilogModule\n"
                   "BLOCKS = (Block('own.value', 'x', component=VerilogModule(('rtl/value.v',), "
                   "'value', include=('inc',)), configurations={'one': Configuration({})}, "
                   "testbenches=(Testbench('x', 'x'),)),)\n"})
    monkeypatch.syspath_prepend(folder / "page")
    make = VerilogModule(("rtl/value.v",), "value", include=("inc",))
    assert value_of(make) == {5}
    before = digest_of.__wrapped__(("edited_header_page",))
    write(folder, {"inc/size.vh": "`define SIZE 8'd17\n"})
    assert value_of(make) == {17}
    assert digest_of.__wrapped__(("edited_header_page",)) != before
    del sys.modules["edited_header_page"]


def test_names_do_not_depend_on_where_the_files_lie(folder, monkeypatch):
    write(folder, {"one/rtl/a.v": VALUE.format("8'd1"), "one/here/x": "", "two/deep/rtl/a.v":
                   VALUE.format("8'd1")})
    monkeypatch.chdir(folder / "one" / "here")
    files = gather(("../rtl/a.v",), "value")
    assert [*files] == ["a.v"]
    monkeypatch.chdir(folder)
    assert gather((str(folder / "two/deep/rtl/a.v"),), "value") == files
    monkeypatch.syspath_prepend(folder / "two")
    assert gather(("deep/rtl/a.v",), "value") == files


@pytest.mark.parametrize("ending", ["v", "sv"])
def test_a_memory_s_content_in_another_folder(folder, ending):
    write(folder, {"data/rom.hex": "07\n", f"rtl/rom.{ending}": "module rom(output [7:0] y); "
                   "reg [7:0] m[0:0]; initial $readmemh(\"rom.hex\", m); assign y = m[0]; "
                   "endmodule\n"})
    component = VerilogModule((f"rtl/rom.{ending}", "data/rom.hex"), "rom")()
    assert "8'00000111" in to_rtlil(component, name="top")


def test_a_path_that_yosys_cannot_take(folder):
    write(folder, {"my rtl/a b/x.v": "", "my rtl/y.v": "", "my rtl/a.v": VALUE.format("8'd1")})
    assert [*gather(("my rtl/a.v",), "value")] == ["a.v"]  # the folder is above all of them
    with pytest.raises(UserError, match=r"must be letters, digits and any of _ . \+ - /, not "
                                        r"'a b/x.v'"):
        gather(("my rtl/a b/x.v", "my rtl/y.v"), "value")
