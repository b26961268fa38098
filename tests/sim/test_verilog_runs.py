"""Blocks' own testbenches on the Verilog that users get, through its ports for fields."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.system
NAMES = ("noc.arbiter", "dram.controller", "dataflow.token_buffer", "sram.banked_memory",
         "systolic.matmul", "noc.wormhole_router")
QUICK = ("noc.arbiter",)


AXI = ("dataflow.token_buffer", "noc.wormhole_router", "dram.stride_sequencer")  # have streams


@pytest.mark.each_commit
@pytest.mark.parametrize(("name", "shell"), [
    pytest.param(name, "", marks=() if name in QUICK else pytest.mark.thorough) for name in NAMES
] + [pytest.param(name, "axi-stream", marks=pytest.mark.thorough) for name in AXI])
def test_a_block_s_testbench_passes_on_its_exported_verilog(tmp_path, name, shell):
    done = subprocess.run(
        [sys.executable, "-m", "cyclebound.sim", "--catalogue", "exported_page", "run",
         f"exported.{name.replace('.', '_')}"], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent), "EXPORTED": name,
             "SHELL_KIND": shell})
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert re.search(r"^passed: exported\.", done.stdout, re.MULTILINE)
    [compared] = re.findall(r"requests observed, ([\d,]+) comparisons", done.stdout)
    assert int(compared.replace(",", "")) > 100
