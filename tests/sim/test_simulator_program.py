"""The program of our simulators: its clock, and clocks that are played."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from cyclebound.sim.build.elaborate import FAST_SCRIPT, simulation_verilog, to_rtlil
from cyclebound.sim.build.verilator import _open_clock, _translate
from cyclebound.sim.run.job import Job, run_job

from .pages.player import Mixer

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


@pytest.mark.parametrize("configuration", ["of_3", "of_8", "of_40", "of_100", "falling"])
def test_what_is_played_or_waited_for_is_what_is_stepped(configuration, tmp_path):
    """Ports of one byte, and of four, eight and more of them; registers of both edges."""
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
    from cyclebound.sim.build.verilator import build_verilator
    from cyclebound.sim.run.job import design
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


def test_our_models_let_edges_be_set(tmp_path):
    """As this Verilator writes them, and with registers and what depends on inputs at once."""
    component = Mixer(width=8)
    rtlil = to_rtlil(component, name="top")
    simulation_verilog(rtlil, tmp_path, FAST_SCRIPT)
    _translate(["top.v"], "top", "Vtop", ["--vpi"], tmp_path)
    assert "#define CLOCK " in _open_clock(tmp_path, tmp_path / "top.v")


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
EVALUATES = "void eval() {\n    vlSelfRef.__VicoFirstIteration = 1U;\n}\n"


def model(folder, *, kept=KEPT, evaluates=EVALUATES, more=""):
    (folder / "Vtop___024root.h").write_text(kept)
    (folder / "Vtop___024root__0.cpp").write_text(evaluates)
    (folder / "top.v").write_text(VERILOG.format(more))
    return _open_clock(folder, folder / "top.v")


@pytest.mark.unit
def test_edges_are_set_where_registers_only_rise(tmp_path):
    assert model(tmp_path) == (
        "#define CLOCK top__DOT__clk\n"
        "#define CLOCK_BEFORE __Vtrigprevexpr___TOP__top__DOT__clk__0\n")
    assert (tmp_path / "Vtop___024root__0.cpp").read_text() == (
        "extern bool inputs_move;\nvoid eval() {\n"
        "    vlSelfRef.__VicoFirstIteration = inputs_move;\n}\n")


@pytest.mark.unit
@pytest.mark.parametrize("other", [
    {"kept": ""}, {"kept": KEPT + KEPT.replace("__0", "__1")}, {"evaluates": ""},
    {"evaluates": EVALUATES + EVALUATES},
    *({"more": more} for more in (
        "  always @(negedge clk)\n    q <= d;", "  always @*\n    if (!clk) q = d;",
        "  assign gated = clk & d;", "  assign gated = d;\n  always @(posedge gated)\n    q <= d;",
        "  \\part  two (\n    .d(clk),\n    .q(q)\n  );"))])
def test_a_model_is_left_as_it_is_where_more_depends_on_the_clock(other, tmp_path):
    assert model(tmp_path, **other) == ""
    assert (tmp_path / "Vtop___024root__0.cpp").read_text() == other.get("evaluates", EVALUATES)
