import re

import pytest

from cyclebound.sim.build.elaborate import run_yosys
from cyclebound.sim.export.cells import explicit_widths
from cyclebound.sim.netlist.rtlil import Design

pytestmark = pytest.mark.unit

UNARY = ("$not", "$neg", "$pos", "$reduce_and", "$reduce_or", "$reduce_xor", "$reduce_xnor",
         "$reduce_bool", "$logic_not")
BINARY = ("$and", "$or", "$xor", "$xnor", "$add", "$sub", "$mul", "$eq", "$ne", "$lt", "$le", "$gt",
          "$ge", "$logic_and", "$logic_or", "$shl", "$shr", "$sshl", "$sshr", "$shift", "$shiftx",
          "$div", "$mod", "$divfloor", "$modfloor")
SHIFTS = ("$shl", "$shr", "$sshl", "$sshr")
EITHER_WAY = ("$shift", "$shiftx")
WIDTHS = (1, 3)
RESULTS = (1, 2, 5)


def cells():
    """Every kind of cell, over narrow and wide operands and results, signed and not."""
    for kind in (*UNARY, *BINARY):
        for signed in (0, 1) if kind != "$shiftx" else (0,):  # of which A is never signed
            for a in WIDTHS:
                for b in WIDTHS if kind in BINARY else (0,):
                    for y in RESULTS:
                        yield kind, signed, 0 if kind in SHIFTS else signed, a, b, y
                        if kind in EITHER_WAY:
                            yield kind, signed, 1 - signed, a, b, y


def rtlil():
    lines = ["module \\top", "  wire width 3 input 1 \\a", "  wire width 3 input 2 \\b"]
    for number, (kind, signed, b_signed, a, b, y) in enumerate(cells()):
        lines += [f"  wire width {y} output {number + 3} \\y{number}", f"  cell {kind} \\c{number}",
                  f"    parameter \\A_SIGNED {signed}", f"    parameter \\A_WIDTH {a}",
                  f"    parameter \\Y_WIDTH {y}", f"    connect \\A \\a [{a - 1}:0]",
                  f"    connect \\Y \\y{number}"]
        if b:
            lines += [f"    parameter \\B_SIGNED {b_signed}", f"    parameter \\B_WIDTH {b}",
                      f"    connect \\B \\b [{b - 1}:0]"]
        lines.append("  end")
    return "\n".join([*lines, "end\n"])


def proved_equal(folder, gold, gate):
    (folder / "gold.il").write_text(gold)
    (folder / "gate.v").write_text(gate)
    run_yosys("read_rtlil gold.il; rename top gold; read_verilog gate.v; rename top gate; proc; "
              "miter -equiv -flatten -ignore_gold_x -make_outputs gold gate both; "
              "hierarchy -top both; "
              "sat -verify -prove trigger 0 -enable_undef -set-def-inputs both", folder)


def widened(text):
    design = Design.read(text)
    explicit_widths(design)
    return str(design)


def verilog(folder, text):
    (folder / "gate.il").write_text(text)
    run_yosys("read_rtlil gate.il; write_verilog -noattr -norename gate.v", folder)
    return (folder / "gate.v").read_text()


def test_every_kind_of_cell_keeps_its_value_for_all_operands(tmp_path):
    gold = rtlil()
    proved_equal(tmp_path, gold, verilog(tmp_path, widened(gold)))


@pytest.mark.parametrize(("found", "planted"), [
    ("cell $add \\c", "cell $sub \\c"),
    ("\\b [2:0]", "{ 1'0 \\b [1:0] }"),
])
def test_a_changed_cell_is_found(tmp_path, found, planted):
    gold = rtlil()
    assert found in gold
    changed = widened(gold.replace(found, planted))
    with pytest.raises(RuntimeError):
        proved_equal(tmp_path, gold, verilog(tmp_path, changed))


def test_operands_of_different_signs_are_refused():
    mixed = re.sub(r"(cell \$add \\c\d+\n    parameter \\A_SIGNED) 0", r"\1 1", rtlil(), count=1)
    with pytest.raises(ValueError, match=r"^Cell \\c\d+ has operands of different signs$"):
        widened(mixed)
