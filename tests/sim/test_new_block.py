"""`cyclebound new`: what it writes passes, and finds what is broken in it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.describe.new_block import new_block


def regress(folder, name, *words):
    return subprocess.run([sys.executable, "-m", "cyclebound.sim", "--catalogue", f"{name}_page",
                           "regress", f"own.{name}", "--no-pictures", "--no-report", *words],
                          cwd=folder, capture_output=True, text=True)


@pytest.mark.each_commit
@pytest.mark.system
def test_a_new_block_passes(call, tmp_path):
    done = call("new", "item_delay", "-o", "blocks")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == (
        "next: cd blocks; cyclebound --catalogue item_delay_page regress own.item_delay")
    done = regress(tmp_path / "blocks", "item_delay", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {row["configuration"]: row for row in json.loads(done.stdout)["verdicts"]}
    assert {name: (row["verdict"], row["worst"]) for name, row in rows.items()} == {
        "small": ("exact", 4), "least": ("exact", 2)}


@pytest.mark.system
@pytest.mark.thorough
def test_a_fault_in_it_is_found(tmp_path):
    new_block("slow", tmp_path)
    path = tmp_path / "slow.py"
    path.write_text(path.read_text().replace("left.eq(self.delay - 1)", "left.eq(0)"))
    done = regress(tmp_path, "slow", "-c", "small")
    assert done.returncode == 1
    assert "source.valid is 1, expected 0" in done.stdout


@pytest.mark.unit
def test_its_files_are_tidy(tmp_path):
    new_block("fifo", tmp_path)
    done = subprocess.run([sys.executable, "-m", "ruff", "check", "--select", "E,W,F,B,RUF",
                           "--line-length", "100", "--isolated", tmp_path], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.unit
@pytest.mark.parametrize("name", ["", "Fifo", "9x", "a.b", "../x", "a" * 62, "class", "a b", "ä"])
def test_names_that_it_refuses(tmp_path, name):
    with pytest.raises(UserError, match=r"^the name of a new block must be"):
        new_block(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.unit
@pytest.mark.parametrize("name", ["json", "numpy", "sys"])
def test_a_name_that_python_would_find_elsewhere(tmp_path, name):
    with pytest.raises(UserError, match=rf"^there is a Python module {name} already"):
        new_block(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.unit
@pytest.mark.parametrize("name", ["module", "out", "block", "bound_binding"])
def test_a_component_that_would_hide_what_its_files_import(tmp_path, name):
    with pytest.raises(UserError, match=r"^the component would be called \w+, which its"):
        new_block(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.unit
def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "fifo_tb.py").write_text("mine")
    with pytest.raises(UserError, match=r"fifo_tb.py is there already"):
        new_block("fifo", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["fifo_tb.py"]


FIFO = (Path(__file__).parent / "as_written" / "sync_fifo.sv").read_text()
TURNS = """module one_at_a_time(input clk, input rst, input start, input [3:0] n, output reg done);
  reg [3:0] left; reg busy;
  always @(posedge clk)
    if (rst) begin busy <= 0; done <= 0; left <= 0; end
    else begin
      done <= busy && left == 0;
      if (start) begin busy <= 1; left <= n; end
      else if (busy && left == 0) busy <= 0;
      else if (busy) left <= left - 1;
    end
endmodule
"""
ARBITER = """module low #(parameter N = 3)(input [N-1:0] r, output [N-1:0] g);
assign g = r & -r; endmodule
module first_wins(input clk, rst_n, input [2:0] req, output reg [2:0] gnt);
  wire [2:0] g; low l(req, g);
  reg [2:0] given; always @* gnt = given & req;
  always @(posedge clk) if (!rst_n) given <= 0; else given <= g & ~gnt;
endmodule
"""


@pytest.fixture
def sources(tmp_path):
    for name, text in (("fifo.sv", FIFO), ("turns.v", TURNS), ("arbiter.v", ARBITER)):
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.unit
@pytest.mark.parametrize(("source", "name", "start", "end"), [
    ("fifo.sv", "sync_fifo", "in_valid & in_ready", "out_valid & out_ready"),
    ("turns.v", "one_at_a_time", "start", "done"),
    ("arbiter.v", "first_wins", "req[r] & ~past(req[r] & ~gnt[r])", "req[r] & gnt[r]")])
def test_files_for_a_module_in_verilog(call, sources, source, name, start, end):
    done = call("new", "--verilog", str(sources / source), "-o", str(sources / "own"))
    assert done.returncode == 0, done.stderr
    files = [sources / "own" / f"{name}_{part}.py" for part in ("model", "tb", "page")]
    assert done.stdout.splitlines()[:3] == [str(path) for path in files]
    page = files[2].read_text()
    assert f'VerilogModule(("../{source}",), "{name}", clock="clk"' in page
    assert f'start="{start}",\n            end="{end}"' in page
    done = subprocess.run([sys.executable, "-m", "ruff", "check", "--select", "E,W,F,B,RUF",
                           "--line-length", "100", "--isolated", *files], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.unit
@pytest.mark.parametrize(("words", "says"), [
    (("--verilog", "plain.v"), ("the ports' names do not say where a request begins and ends: give "
                                "--start and --end, expressions over a, y")),
    (("--verilog", "plain.v", "--start", "a"), "--start and --end are given together"),
    (("--verilog", "two.v"), "--top has to name the module: one, two"),
    (("--verilog", "two.v", "--top", "three"), "two.v has no module three; it has one, two"),
    (("--verilog", "none.v"), "there is no source none.v"),
    (("--top", "x"), "a new block has a NAME, or a source with --verilog"),
    ((), "a new block has a NAME, or a source with --verilog")])
def test_what_a_new_block_in_verilog_needs(call, tmp_path, monkeypatch, words, says):
    (tmp_path / "plain.v").write_text("module plain(input a, output y); assign y = a; endmodule\n")
    (tmp_path / "two.v").write_text("module one; endmodule\nmodule two; endmodule\n")
    done = call("new", *[str(tmp_path / word) if word.endswith(".v") and (tmp_path / word).exists()
                         else word for word in words], "-o", str(tmp_path / "own"))
    assert (done.returncode, says in done.stderr.replace("\n", " ")) == (2, True), done.stderr
    assert not (tmp_path / "own").exists()


@pytest.mark.system
@pytest.mark.thorough
@pytest.mark.parametrize(("source", "name", "within", "verdict"), [
    ("fifo.sv", "sync_fifo", "2", "exact"), ("turns.v", "one_at_a_time", "18", "exact"),
    ("turns.v", "one_at_a_time", "17", "violated"), ("arbiter.v", "first_wins", "1000", "held")])
def test_a_module_in_verilog_passes_within_its_bound(call, sources, source, name, within, verdict):
    done = call("new", "--verilog", str(sources / source), "--within", within, "-o", str(sources))
    assert done.returncode == 0, done.stderr
    done = regress(sources, name, "--json")
    assert [row["verdict"] for row in json.loads(done.stdout)["verdicts"]] == [verdict]
    assert done.returncode == (verdict == "violated")


@pytest.mark.system
@pytest.mark.thorough
def test_a_register_that_no_reset_clears_is_found(call, sources):
    """What a module does depends on what was before the reset."""
    path = sources / "turns.v"
    path.write_text(TURNS.replace("reg busy;", "reg busy; reg odd = 0;").replace(
        "if (start) begin busy <= 1; left <= n;",
        "if (start) begin busy <= 1; left <= n + odd; odd <= ~odd;"))
    call("new", "--verilog", str(path), "-o", str(sources))
    done = regress(sources, "one_at_a_time")
    assert done.returncode == 1
    assert "done is 0, expected 1" in done.stdout or "done is 1, expected 0" in done.stdout
