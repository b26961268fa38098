"""RTLIL is read and written as it was, and renamed without a change to what it does."""

import pytest

from cyclebound.sim.build.elaborate import run_yosys, to_rtlil
from cyclebound.sim.catalogue import load
from cyclebound.sim.netlist.rtlil import Bits, Cell, Design, Wire, undefined

pytestmark = pytest.mark.unit

SOURCE = r"""autoidx 7
attribute \src "a \"b\" c.v:1"
module \top
  parameter \N 4
  attribute \init 2'01
  wire width 2 upto offset 3 output 2 signed \y
  wire input 1 \gen[0].a
  memory width 8 size 16 \words
  cell \part \one
    parameter signed \OFFSET 4'1000
    parameter \NAME "x y"
    connect \y { \y [4] $1 1'x }
  end
  process $p
    assign $1 1'0
    switch \gen[0].a
      attribute \src "c.v:2"
      case 1'1
        assign $1 1'1
        switch $1
          case
        end
    end
  end
  connect { \y [3] $1 } { \gen[0].a 1'0 }
end
"""


def lines(text):
    """Without comments and empty lines; Amaranth has two spaces before some names."""
    return [" ".join(line.split()) for line in text.splitlines()
            if line.strip() and line[0] != "#"]


def test_what_is_read_is_written():
    assert str(Design.read(SOURCE)) == SOURCE


@pytest.mark.parametrize("name", ["noc.arbiter", "sram.banked_memory", "shmac.core"])
def test_what_amaranth_and_yosys_write(name, tmp_path):
    block = load().find(name)
    text = to_rtlil(block.make(block.configuration(None)[1].parameters), name="top", lines=True)
    assert len(text) > 1000
    assert lines(str(Design.read(text))) == lines(text)
    (tmp_path / "top.il").write_text(str(Design.read(text)))
    run_yosys("read_rtlil top.il; proc; write_rtlil made.il", tmp_path)
    made = (tmp_path / "made.il").read_text()
    assert lines(str(Design.read(made))) == lines(made)


def test_a_module_has_wires_cells_and_ports():
    module = Design.read(SOURCE).modules["\\top"]
    assert {name: (wire.width, wire.direction) for name, wire in module.wires.items()} == {
        "\\y": (2, "output"), "\\gen[0].a": (1, "input")}
    assert [*module.ports] == ["\\y", "\\gen[0].a"]
    assert module.wires["\\y"].attributes == {"\\init": "2'01"}
    assert module.names == {"\\y", "\\gen[0].a", "\\words", "\\one"}
    assert module.cells == [Cell("\\one", "\\part", {"OFFSET": "4'1000", "NAME": '"x y"'},
                                 {"y": "{ \\y [4] $1 1'x }"}, {"OFFSET": "signed "})]


def test_undefined_modules():
    assert undefined(SOURCE) == {"part"}
    assert undefined(SOURCE + "module \\part\nend\n") == set()


def test_new_names_are_taken_in_signals_and_not_in_texts():
    design = Design.read(SOURCE)
    design.modules["\\top"].rename({"\\y": "\\z", "\\part": "\\other", "$1": "\\n", "x": "\\no"})
    [cell] = design.modules["\\top"].cells
    assert (cell.kind, cell.ports) == ("\\other", {"z": "{ \\z [4] \\n 1'x }"})
    assert cell.parameters["NAME"] == '"x y"'
    assert "connect { \\z [3] \\n } { \\gen[0].a 1'0 }" in str(design)


@pytest.mark.parametrize(("signal", "bits"), [
    ("\\a", "\\a [7:0]"), ("\\a [3]", "\\a [3:3]"), ("{ \\a [2:1] 2'x }", "{ \\a [2:1] 2'xx }"),
    ("-1", f"32'{'1' * 32}")])
def test_bits_of_a_signal(signal, bits):
    read = Bits.read(signal, {"\\a": Wire("\\a", {"width": 8})})
    assert (str(read), read.width) == (bits, sum(high - low + 1 for _, high, low in read.chunks))
