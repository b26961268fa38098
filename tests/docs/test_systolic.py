"""The page about systolic arrays: its first layer runs as written; its tables are the plans."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cyclebound.golden.systolic.accelerator_plan import Device, plan_layer
from cyclebound.sim.systolic_models import OPTIONS
from cyclebound.sim.systolic_onnx import SUPPORTED
from cyclebound.tools.systolic.comparison import LAYERS, markdown

PAGE = (Path(__file__).parents[2] / "docs" / "systolic.md").read_text()
pytestmark = pytest.mark.system


def test_a_first_layer_in_a_few_lines_of_shell(tmp_path, command_environment):
    (shell,) = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (python,) = re.findall(r"^```python\n((?:(?!^```).)*run_model.*?)^```$", PAGE,
                           re.MULTILINE | re.DOTALL)
    (tmp_path / "from_python.py").write_text(python)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(["sh", "-e", "-c", f"{shell}\npython from_python.py"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=1200,
                          env={**command_environment, "PATH": path})
    assert done.returncode == 0, done.stderr
    assert "result: 16 x 12 x 12 int8, equal to numpy's; in y.npy" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("(16, 12, 12) ")
    predicted = re.search(r"predicted: ([\d,]+) cycles", done.stdout)[1].replace(",", "")
    assert f" {predicted} [" in done.stdout.splitlines()[-1]
    assert np.load(tmp_path / "y.npy").min() == 0
    assert (tmp_path / "roofline.svg").exists()


def test_what_is_supported_is_on_the_page():
    for name in (*OPTIONS, *SUPPORTED):
        assert f"`{name}`" in PAGE, name


def test_the_comparison_is_what_its_command_prints():
    assert f"\n\n{markdown(LAYERS, 16, 16)}\n" in PAGE


def test_sliced_layers_are_as_planned():
    from cyclebound.golden.systolic.accelerator_layer import Layer, product_layer
    from cyclebound.golden.systolic.layers import Convolution, Product

    layers = {
        "56 x 56 pixels, 64 channels, 64 filters of 3 x 3, padding 1":
            Layer(Convolution("c", 56, 56, 64, 64, 3, padding=1)),
        "fully connected, k = 1,024, 1,000 filters, one row":
            product_layer(Product("fc", 1, 1024, 1000)),
        "28 x 28 x 64, 128 filters of 3 x 3 in 4 groups, padding 1":
            Layer(Convolution("g", 28, 28, 64, 128, 3, padding=1, groups=4)),
    }
    for name, layer in layers.items():
        plan = plan_layer(layer, Device(8))
        assert (f"| {name} | {len(plan.commands):,} | {plan.cycles.total:,} | "
                f"{64 * plan.utilisation:.1f} |") in PAGE
