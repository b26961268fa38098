"""The page about systolic arrays: its first layer runs as written; its tables are the plans."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cyclebound.golden.dram.bounds import tile_issue_delay
from cyclebound.golden.systolic.accelerator import Memory
from cyclebound.golden.systolic.accelerator_layer import Layer, product_layer
from cyclebound.golden.systolic.accelerator_network import MOBILENET_224, NETWORKS, chained
from cyclebound.golden.systolic.accelerator_plan import Device, plan_layer, program_cycles
from cyclebound.golden.systolic.dram_memory import behind_dram, dram_transfer
from cyclebound.golden.systolic.layers import LENET_5, Convolution, Product
from cyclebound.golden.systolic.overlapped_output import overlapped_macs
from cyclebound.golden.systolic.planner import Machine, plan
from cyclebound.golden.systolic.stationary_bounds import weight_completion
from cyclebound.sim.families.systolic.models import OPTIONS
from cyclebound.sim.families.systolic.onnx import SUPPORTED
from cyclebound.sim.pictures import roofline
from cyclebound.tools.systolic.comparison import LAYERS, markdown
from kit.pages import Page, numbers

TEXT = Page("systolic.md")
PAGE = TEXT.text
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


def cells(line):
    return [int(numbers(cell)[0]) for cell in line]


def where_cycles_go(cycles):
    return [cycles.memory, cycles.command, cycles.preload, cycles.stream, cycles.fill,
            cycles.drain, cycles.total]


@pytest.mark.unit
def test_the_plans_of_a_product():
    rows = TEXT.rows("| LeNet-5 on 8x8 |")
    assert [row[0] for row in rows] == [layer.name for layer in LENET_5]
    for layer, row in zip(LENET_5, rows, strict=True):
        found = plan(layer, Machine(8, 8))
        assert cells(row[1:]) == [len(found.commands), *where_cycles_go(found.cycles)]


@pytest.mark.unit
def test_the_plans_of_the_accelerator():
    rows = TEXT.rows("| on 8x8, memory 1/1 | commands | memory |")
    expected = []
    for name in ("lenet_5", "mobilenet", "perceptron"):
        for layer in chained(NETWORKS[name], 8):
            found = plan_layer(layer, Device(8))
            expected.append([f"{name}, {layer.name}", str(len(found.commands)), *(
                f"{number:,}" for number in where_cycles_go(found.cycles)),
                f"{found.utilisation:.0%}"])
    assert rows == expected
    lenet = chained(NETWORKS["lenet_5"], 8)
    quick, slow = (program_cycles([command for layer in lenet
                                   for command in plan_layer(layer, Device(8), memory).commands],
                                  8, memory) for memory in (Memory(), Memory(40, 2)))
    assert TEXT.says(f"takes {quick:,} cycles; with the first beat after 40 cycles and then one "
                     f"in two, {slow:,}")


@pytest.mark.unit
def test_layers_at_full_size():
    plans = [plan_layer(layer, Device(8)) for layer in MOBILENET_224]
    took = [found.cycles.total for found in plans]
    whole = program_cycles([command for found in plans for command in found.commands], 8, Memory())
    assert TEXT.says(f"224 x 224 pixels: {whole:,} cycles ({took[0]:,}, {took[1]:,} of the "
                     f"depthwise layer and {took[2]:,})")


@pytest.mark.unit
def test_the_roofline_is_what_its_command_prints():
    assert f"\n\n{roofline.table()}\n" in PAGE


@pytest.mark.unit
@pytest.mark.parametrize(("row", "shape"), [
    ("a DRAM clock is a cycle, tiles of 32 bursts, no other client", {"clocks": 1, "bursts": 32}),
    ("the same beside a client with tiles of 16 bursts", {
        "clocks": 1, "bursts": 32,
        "others": [tile_issue_delay(part="ddr4-3200aa-x16", bursts=16, write=1)]}),
    ("16 DRAM clocks to a cycle, tiles of 16 bursts, no other client", {"clocks": 16}),
])
def test_memory_by_the_bounds_of_a_dram(row, shape):
    memory = behind_dram("ddr4-3200aa-x16", beat_bytes=8, **shape)
    assert f"| {row} | {memory.delay:,} | {memory.interval} |" in PAGE


@pytest.mark.unit
def test_a_transfer_that_begins_with_a_tiles_last_beat():
    kind = {"part": "ddr4-3200aa-x16", "write": 0, "size": 8, "bursts": 16, "slots": 8,
            "count": 128}
    longer = dram_transfer(**kind, first=127) - dram_transfer(**kind, first=0)
    assert TEXT.says(f"waits {longer} cycles longer than one that begins with its first")


@pytest.mark.unit
def test_folds_that_follow_each_other():
    shape = {"rows": 16, "columns": 16, "m": 512, "k": 512, "n": 512}
    overlap, serial = (weight_completion(**shape, double_buffer=buffered)
                       for buffered in (True, False))
    last = overlapped_macs(**shape)
    assert TEXT.says(f"{overlap:,} cycles by the formula, in place of {serial:,}",
                     f"takes {last:,} cycles from first MAC to last there, "
                     f"{100 * 512**3 / 256 / last:.2f} %")


@pytest.mark.unit
def test_the_small_arrays_and_their_clock_rates():
    """Cycles, utilisation and words are the comparison's; rates and areas the FPGA table's."""
    printed = [line.split(" | ")[1:] for line in markdown(LAYERS[-1:], 4, 4).splitlines()[2:]]
    compared = {row[0]: [*row[1:4], row[4].removesuffix(" |")] for row in printed}
    placed = {row[0].strip("`"): row[2:] for row in TEXT.rows("| block | configuration | clock")}
    blocks = {"output stationary": "output_stationary", "no local reuse": "no_local_reuse",
              "output stationary, folds overlap": "overlapped_output",
              "weight stationary, folds overlap": "weight_stationary",
              "input stationary, folds overlap": "input_stationary",
              "row stationary": "row_stationary"}
    rows = TEXT.rows("| dataflow | PEs | cycles | PE utilisation | words per MAC | clock rate |")
    assert [row[0] for row in rows] == [name for name in compared if name in blocks]
    for name, *first, rate, time, luts, flip_flops, multipliers in rows:
        assert first == compared[name]
        assert [rate, luts, flip_flops, multipliers] == placed[f"systolic.{blocks[name]}"]
        assert time == f"{float(numbers(first[1])[0] / numbers(rate)[0]):.0f} us"


@pytest.mark.unit
def test_sliced_layers_are_as_planned():
    layers = {
        "56 x 56 pixels, 64 channels, 64 filters of 3 x 3, padding 1":
            Layer(Convolution("c", 56, 56, 64, 64, 3, padding=1)),
        "fully connected, k = 1,024, 1,000 filters, one row":
            product_layer(Product("fc", 1, 1024, 1000)),
        "128 x 768 x 768": product_layer(Product("mm", 128, 768, 768)),
        "224 x 224 x 3, 64 filters of 7 x 7, stride 2, padding 3 (ResNet's first)":
            Layer(Convolution("r", 224, 224, 3, 64, 7, 2, 3), together=3),
        "28 x 28 x 64, 128 filters of 3 x 3 in 4 groups, padding 1":
            Layer(Convolution("g", 28, 28, 64, 128, 3, padding=1, groups=4)),
    }
    rows = TEXT.rows("| on 8x8, memory 1/1, default depths |")
    assert [row[0] for row in rows] == list(layers)
    for (name, layer), row in zip(layers.items(), rows, strict=True):
        found = plan_layer(layer, Device(8))
        assert row[1:] == [f"{len(found.commands):,}", f"{found.cycles.total:,}",
                           f"{64 * found.utilisation:.1f}"], name
    (one_row,) = (row for row in rows if "one row" in row[0])
    assert TEXT.says(f"and {1024 * 1000 // 8:,} of the {one_row[2]} cycles are transfers of "
                     "weights")
