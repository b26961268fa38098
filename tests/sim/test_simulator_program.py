"""The program of our simulators: its clock, and clocks that are played."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from cyclebound.sim.build import _clock_before
from cyclebound.sim.job import Job, run_job

pytestmark = pytest.mark.cosim
PAGES = Path(__file__).with_name("pages")


def ran(folder, configuration="of_40", **options):
    outcome = run_job(Job("test.player", configuration, "cycle", 1, str(folder),
                          pages=("player",), **options))
    assert outcome.passed, outcome.reason
    return outcome


@pytest.fixture(autouse=True)
def _pages(monkeypatch):
    monkeypatch.syspath_prepend(str(PAGES))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(
        filter(None, (str(PAGES), os.environ.get("PYTHONPATH")))))


@pytest.mark.parametrize("configuration", ["of_3", "of_8", "of_40", "of_100"])
def test_what_is_played_is_what_is_stepped(configuration, tmp_path):
    """Ports of one byte, and of four, eight and more of them."""
    assert ran(tmp_path, configuration).compared > 1000


def test_with_a_waveform_and_with_anothers_clock(tmp_path):
    """Waveforms show each edge; a simulator without a clock of its own has cocotb's."""
    plain, traced = ran(tmp_path / "plain"), ran(tmp_path / "traced", waves=True)
    assert (plain.cycles, plain.compared) == (traced.cycles, traced.compared)
    assert Path(traced.waveform).stat().st_size > 1000
    if shutil.which("iverilog"):
        other = ran(tmp_path / "icarus", simulator="icarus")
        assert (plain.cycles, plain.compared) == (other.cycles, other.compared)


def test_its_arguments(tmp_path):
    """A waveform that it cannot write is no silent run without one."""
    from cyclebound.sim import catalogue
    from cyclebound.sim.build import build_verilator
    from cyclebound.sim.job import design
    _, top = design(catalogue.load(("player",)).find("test.player"),
                    Job("test.player", "of_8", "cycle", 1, ""))
    built = build_verilator(top, ports=top.ports)
    for arguments, says in ((("--trace", "--trace-file", "x.fst"), "built without waveforms"),
                            (("--surprise",), "usage")):
        done = subprocess.run([built.executable, *arguments], capture_output=True, text=True,
                              cwd=tmp_path, env={**os.environ, "LD_LIBRARY_PATH": _libraries()})
        assert done.returncode == 2
        assert says in done.stderr


def _libraries():
    import cocotb_tools.config
    return str(cocotb_tools.config.libs_dir)


VERILOG = """
module part(clk, d, q);
  input clk;
  wire clk;
  input d;
  output q;
  reg q;
  always @(posedge clk)
    q <= d;
endmodule
module top(clk, d, q);
  input clk;
  wire clk;
  input d;
  output q;
  \\part  one (
    .clk(clk),
    .d(d),
    .q(q)
  );
{}
endmodule
"""
KEPT = "CData __Vtrigprevexpr___TOP__top__DOT__clk__0;\n"


@pytest.mark.unit
def test_falling_edges_are_left_out_where_registers_only_rise(tmp_path):
    model, verilog = tmp_path / "Vtop___024root.h", tmp_path / "top.v"
    model.write_text(KEPT)
    verilog.write_text(VERILOG.format(""))
    assert _clock_before(tmp_path, verilog) == (
        "#define CLOCK_BEFORE __Vtrigprevexpr___TOP__top__DOT__clk__0\n")
    for kept in ("", KEPT + KEPT.replace("__0", "__1")):
        model.write_text(kept)
        assert _clock_before(tmp_path, verilog) == ""


@pytest.mark.unit
@pytest.mark.parametrize("more", [
    "  always @(negedge clk)\n    q <= d;", "  always @*\n    if (!clk) q = d;",
    "  assign gated = clk & d;", "  assign gated = d;\n  always @(posedge gated)\n    q <= d;",
    "  \\part  two (\n    .d(clk),\n    .q(q)\n  );"])
def test_falling_edges_count_where_more_depends_on_the_clock(more, tmp_path):
    (tmp_path / "Vtop___024root.h").write_text(KEPT)
    (tmp_path / "top.v").write_text(VERILOG.format(more))
    assert _clock_before(tmp_path, tmp_path / "top.v") == ""
