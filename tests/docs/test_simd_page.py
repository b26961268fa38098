"""The page of the SIMD accelerator: its first kernel runs as it stands, its numbers are there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cyclebound.golden.simd.accelerator import Policy

PAGE = (Path(__file__).parents[2] / "docs" / "simd.md").read_text()

pytestmark = pytest.mark.system


def test_the_first_kernel_runs_as_it_stands(tmp_path):
    (script,) = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    folder = str(Path(sys.executable).parent)
    done = subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path, capture_output=True,
                          text=True, timeout=300,
                          env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
    assert done.returncode == 0, done.stderr
    assert "scale: 100 x 40 items in 6 work-groups" in done.stdout
    assert done.stdout.endswith("[0.5 1.  1.5 2. ]\n")


def test_every_policy_is_explained():
    for policy in Policy:
        assert f"| `{policy.value}` |" in PAGE
