"""`BoundMonitor` where nothing but its own package is installed, in cocotb 1.9 and 2."""

import re
import shutil
import subprocess
import venv
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from kit.icarus import needs_icarus

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.system, pytest.mark.thorough, needs_icarus]

DESIGN = """`timescale 1ns/1ps
module slow (input clk, input rst, input [1:0] req, input [3:0] size, output [1:0] ack);
  reg [4:0] n [0:1];
  reg [3:0] kept [0:1];
  genvar i;
  generate for (i = 0; i < 2; i = i + 1) begin : lane
    assign ack[i] = req[i] && n[i] == 1 + size;
    always @(posedge clk) n[i] <= rst || ack[i] || !req[i] ? 0 : n[i] + 1;
  end endgenerate
endmodule
"""
TEST = """
import random
import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cyclebound.tb.monitor import BoundMonitor

async def requests(dut, bound, **more):
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    dut.rst.value, dut.req.value, dut.size.value = 1, 0, 0
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    monitor = BoundMonitor(dut, start="req[r] & ~past(req[r] & ~ack[r])", end="req[r] & ack[r]",
                           over={"r": "req"}, request={"size": "size"}, reset="rst", bound=bound,
                           **more)
    counts = BoundMonitor(dut, start="(n[0] == 0) & req[0]", end="ack[0]", reset="rst",
                          request={"size": "size"}, bound="size + 2", name="counted")
    rng = random.Random(1)
    for size in rng.sample(range(16), 16) * 2:  # fewer cycles than are looked at together
        dut.size.value = size
        dut.req.value = 3
        await RisingEdge(dut.clk)
        while not int(dut.ack.value):
            await RisingEdge(dut.clk)
        dut.req.value = 0
        for _ in range(rng.randrange(1, 3)):
            await RisingEdge(dut.clk)
    assert counts.check().verdict == "exact"
    return monitor.check()

@cocotb.test()
async def keeps_its_bound(dut):
    finding = await requests(dut, "size + 2")
    assert finding.verdict == "exact", finding
    assert finding.requests == 64

@cocotb.test()
async def breaks_its_bound(dut):
    try:
        await requests(dut, "min(size + 2, 16)")
    except AssertionError as error:
        assert "took 17" in str(error), error
    else:
        raise AssertionError("a bound that is broken was not noticed")
"""
RUN = """
import sys
try:
    from cocotb_tools.runner import get_runner
except ImportError:
    from cocotb.runner import get_runner
runner = get_runner("icarus")
runner.build(sources=["slow.v"], hdl_toplevel="slow", build_dir="build")
runner.test(hdl_toplevel="slow", test_module="watched", build_dir="build", test_dir=".",
            results_xml=sys.argv[1])
"""


@pytest.mark.parametrize("cocotb", ["cocotb>=1.9,<2", "cocotb>=2.1,<2.2"])
def test_in_an_environment_of_its_own(cocotb, tmp_path):
    source = tmp_path / "source"  # what is built leaves no files in the tree
    for folder in ("golden", "tb", "monitor"):
        (source / folder).mkdir(parents=True)
        for path in [*(ROOT / folder).glob("*.py"), *(ROOT / folder).glob("*.toml")]:
            shutil.copy(path, source / folder)
    environment = tmp_path / "env"
    venv.create(environment, with_pip=True)
    before = size_of(environment)
    python = environment / "bin" / "python"
    done = subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                           source / "monitor", cocotb], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    print(f"{cocotb}: {size_of(environment) - before:.0f} MB")
    assert size_of(environment) - before < 200
    for name, text in (("slow.v", DESIGN), ("watched.py", TEST), ("run.py", RUN)):
        (tmp_path / name).write_text(text)
    done = subprocess.run([python, "run.py", tmp_path / "results.xml"], cwd=tmp_path, text=True,
                          capture_output=True, env={"PATH": f"{environment / 'bin'}:/usr/bin:/bin"})
    assert (tmp_path / "results.xml").is_file(), done.stdout[-3000:] + done.stderr[-3000:]
    cases = list(ElementTree.parse(tmp_path / "results.xml").iter("testcase"))
    assert [case.get("name") for case in cases] == ["keeps_its_bound", "breaks_its_bound"]
    failed = [case for case in cases for kind in ("failure", "error")
              if case.find(kind) is not None]
    assert not failed, done.stdout[-3000:]


def size_of(folder):
    """Megabytes of all files in it."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def test_its_version_is_the_projects():
    version, own = (re.search(r'^version = "(.*)"$', (ROOT / folder / "pyproject.toml").read_text(),
                              re.MULTILINE)[1] for folder in (".", "monitor"))
    assert version == own
