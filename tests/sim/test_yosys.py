"""yosys' scripts that have run before on the same files: what they wrote is copied."""

import subprocess

import pytest

from cyclebound.sim.netlist.yosys import NATIVE, yosys_command

pytestmark = [pytest.mark.system,
              pytest.mark.skipif(not NATIVE, reason="there is no pyosys here")]

DESIGN = "module top(input [{}:0] a, output y); assign y = ^a; endmodule\n"


@pytest.fixture
def run(tmp_path):
    def run(folder, *, width=3, script=""):
        """What yosys writes in a folder, and whether it ran."""
        work = tmp_path / folder
        (work / "src").mkdir(parents=True)
        (work / "model").mkdir()
        (work / "src" / "top.v").write_text(DESIGN.format(width))
        (work / "model" / "design.ys").write_text(
            f"# running in {work}\nread_verilog top.v\n{script}proc\nwrite_rtlil ../model/top.il\n")
        subprocess.run([*yosys_command(tmp_path / "kept"), "-ql", "../model/log",
                        "../model/design.ys"], cwd=work / "src", check=True)
        return (work / "model" / "top.il").read_text(), (work / "model" / "log").exists()
    return run


def test_the_same_script_runs_once(run):
    first, ran = run("bmc")
    assert ran
    assert "wire width 4" in first
    assert run("prove") == (first, False)


@pytest.mark.parametrize("other", [{"width": 4}, {"script": "hierarchy -top top\nsimplemap\n"}])
def test_another_file_or_script_runs(run, other):
    first, _ = run("bmc")
    second, ran = run("cover", **other)
    assert ran
    assert second != first


def test_what_fails_is_not_kept(run, tmp_path):
    for folder in ("one", "two"):
        with pytest.raises(subprocess.CalledProcessError):
            run(folder, script="no_such_pass\n")
    assert not (tmp_path / "kept").exists()
