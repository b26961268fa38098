"""Layers across resources: each bound, the DRAM between, and the mapping against all mappings."""

import itertools
import json
import random

import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.gpu.compute_capability import CAPABILITIES
from cyclebound.golden.gpu.control_flow import flow_of
from cyclebound.golden.gpu.heterogeneous import (
    Cell,
    CpuTile,
    Gpu,
    SimD,
    Systolic,
    Transfer,
    best_mapping,
    table_of,
)
from cyclebound.golden.gpu.matmul_kernel import LOOP_LINE, matmul_kernel
from cyclebound.golden.systolic.accelerator_layer import Layer, product_layer
from cyclebound.golden.systolic.accelerator_plan import Device, plan_layer
from cyclebound.golden.systolic.layers import Convolution, Product
from cyclebound.tools.gpu.layer_file import LAYER_EXAMPLE, parse_system

pytestmark = pytest.mark.unit

CONVOLUTION = Layer(Convolution("conv", 8, 8, 3, 4, 3, 1, 1))
PRODUCT = product_layer(Product("fc", 2, 100, 10))


def test_the_kernels_loop():
    loop, = flow_of(matmul_kernel()).loops
    assert (loop.line, len(loop.body)) == (LOOP_LINE, 7)


def test_each_resource():
    assert Systolic("a", Device(4)).cycles(CONVOLUTION) == plan_layer(
        CONVOLUTION, Device(4)).cycles.total
    # 20 results of 100 products: CPI 8 without, 35 with a load, 14 with a store
    assert CpuTile("c").cycles(PRODUCT) == 20 * (100 * (2 * 35 + 5 * 8) + 12 * 8 + 14)
    gpu = Gpu("g", CAPABILITIES["8.0"])
    small, large = (gpu.cycles(product_layer(Product("p", 1, k, 1))) for k in (1, 2))
    # one iteration: latencies 2 x 290 + 4 x 6 + 20; of each of 4 warps 2 + 5 x 2 of pipelines,
    # and 2 x 32 banks and sectors
    assert large - small == 624 + 4 * 12 + 4 * 64 * 2


def test_a_pooling_layer_is_for_the_array_only():
    pooled = Layer(Convolution("pool", 8, 8, 3, 4, 3, 1, 1), window=2)
    row, = table_of([pooled], [Systolic("a", Device(8)), CpuTile("c"), SimD("s"),
                               Gpu("g", CAPABILITIES["8.0"])])
    assert [cell.cycles is None for cell in row] == [False, True, True, True]
    assert "neither pools" in row[1].problem
    assert "no WCET analysis" in row[2].problem


def test_the_place_where_sim_d_plugs_in():
    assert SimD("s", wcet=lambda layer: layer.macs // 4).cycles(PRODUCT) == 500
    with pytest.raises(NotCovered, match=r"^no WCET analysis of Sim-D's kernels was given"):
        SimD("s").cycles(PRODUCT)


def test_transfers():
    move = Transfer(part_named("ddr4-3200aa-x16"))
    times = [move.time_ps(count) for count in (0, 1, 64, 65, 2048, 2049, 20480)]
    assert times[0] == 0
    assert times[1] == times[2] < times[3] < times[4] < times[5] < times[6]


def exhaustive(rows, moves):
    """The least time over all mappings, by trying all."""
    best = None
    for picks in itertools.product(*(range(len(row)) for row in rows)):
        cells = [row[pick] for row, pick in zip(rows, picks, strict=True)]
        if all(cell.cycles is not None for cell in cells):
            time = sum(cell.time_ps for cell in cells) + sum(
                move for move, (a, b) in zip(moves[1:], itertools.pairwise(picks), strict=True)
                if a != b)
            best = time if best is None else min(best, time)
    return best


@pytest.mark.parametrize("seed", range(8))
def test_the_best_mapping_is_the_best_of_all(seed):
    dice = random.Random(seed)
    rows = [[Cell(f"l{number}", f"r{place}", "model", cycles, cycles and 1000 * cycles,
                  None if cycles else "no")
             for place, cycles in enumerate(dice.choices((None, 1, 5, 9, 30), k=3))]
            for number in range(dice.randint(1, 5))]
    for row in rows:
        if all(cell.cycles is None for cell in row):
            row[0] = Cell(row[0].layer, "r0", "model", 7, 7000)
    moves = [dice.choice((0, 1000, 20000)) for _ in rows]
    found = best_mapping(rows, moves)
    assert found.time_ps == exhaustive(rows, moves)
    assert found.time_ps == sum(row[pick].time_ps for row, pick in zip(
        rows, found.resources, strict=True)) + sum(found.transfers_ps)


def test_moving_costs_what_it_gains():
    """The second layer is faster elsewhere, but not by as much as the transfer takes."""
    rows = [[Cell("a", "x", "model", 1, 10), Cell("a", "y", "model", 1, 100)],
            [Cell("b", "x", "model", 1, 50), Cell("b", "y", "model", 1, 20)]]
    assert best_mapping(rows, [0, 29]).resources == (0, 1)
    assert best_mapping(rows, [0, 31]).resources == (0, 0)


def test_huge_times_do_not_overflow_the_solver():
    rows = [[Cell("a", "x", "model", 1, 10**25), Cell("a", "y", "model", 1, 2 * 10**25)]] * 3
    assert best_mapping(rows, [0, 1, 1]).resources == (0, 0, 0)


def test_a_layer_without_any_bound():
    with pytest.raises(NotCovered, match=r"^a: no resource has a bound for it: why$"):
        best_mapping([[Cell("a", "x", "model", None, None, "why")]], [0])
    with pytest.raises(NotCovered, match=r"^there is no layer$"):
        best_mapping([], [])


@pytest.mark.parametrize(("change", "says"), [
    (("height = 16", "height = -1"), "line 2: conv1: height must be at least 1, not -1"),
    (("height = 16", "height = 'x'"), "line 4: layer.1.height must be a whole number, not 'x'"),
    (("height = 16", "height = 99999999"), "line 4: layer.1.height must be at most"),
    (("rows = 1", "rows = 1\nkernel = 3"), "layer.3.kernel must be left out of a product"),
    (("rows = 1\n", ""), "layer.3 must be a table with rows"),
    (('name = "fc"', 'name = "conv1"'), "layer.3.name must be a name of its own, not 'conv1'"),
    (("size = 8", "size = 7"), "size must be a power of two, not 7"),
    (("size = 8", "links = 8"), "resource.1.links must be left out of a systolic resource"),
    (('kind = "simd"', 'kind = "npu"'), "resource.4.kind must be one of systolic, gpu, cpu"),
    (('kind = "simd"', 'kind = "given"'), "resource.4 must be a table of cycles by layer"),
    (('kind = "simd"', 'kind = "given"\nevidence = "e"\nclock_ps = 1\ncycles = {conv9 = 1}'),
     "resource.4.cycles.conv9 must be a layer's name"),
    (('kind = "simd"', 'kind = "given"\nevidence = "e"\nclock_ps = 1\ncycles = {conv1 = -1}'),
     "resource.4.cycles.conv1 must be 0 to 10^15"),
    (('kind = "simd"', 'kind = "given"\nevidence = "e"\ncycles = {conv1 = 1}'), "with clock_ps"),
    (('kind = "simd"', 'kind = "simd"\nmachine = "huge"'),
     "resource.4.machine must be one of paper"),
    (('kind = "simd"', 'kind = "simd"\npart = "sdram"'), "part must be one of"),
    (('kind = "simd"', 'kind = "simd"\nclock_ps = 0'), "resource.4.clock_ps must be"),
    (("sms = 108", "sms = 0"), "resource.2.sms must be 1 to 1024, not 0"),
    (("clock_ps = 710", "clock_ps = 0"), "resource.2.clock_ps must be 1 to 1000000000, not 0"),
    (("[[layer]]", "[dram]\npart = 'sdram'\n[[layer]]"), "not TOML"),
    (("# A small network on four resources", "[dram]\npart = 'sdram'"), "line 2: "),
])
def test_files_that_are_none(change, says):
    assert change[0] in LAYER_EXAMPLE
    with pytest.raises(ValueError, match=r"^(line \d+: |not TOML)") as caught:
        parse_system(LAYER_EXAMPLE.replace(*change))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_command(call, tmp_path):
    found = json.loads(call("gpu", "mapping", "example", "--json").stdout)
    assert found["best"]["resources"] == ["simd", "array", "array"]
    assert {bound["resource"]: bound["kind"] for bound in found["layers"][0]["bounds"]} == {
        "array": "RTL", "gpu": "model", "tile": "model", "simd": "model"}
    given = ('kind = "given"\nclock_ps = 1000\nevidence = "a datasheet"\n'
             "cycles = {conv2 = 3}")
    (tmp_path / "mine.toml").write_text(LAYER_EXAMPLE.replace('kind = "simd"', given))
    said = call("gpu", "mapping", "mine.toml", "--html", "m.html")
    assert "simd [given]" in said.stdout
    assert "us in DRAM between resources" in said.stdout
    assert "a datasheet" in (tmp_path / "m.html").read_text()
    found = json.loads(call("gpu", "mapping", "mine.toml", "--json").stdout)
    assert found["best"]["resources"] == ["array", "simd", "array"]
    only = (LAYER_EXAMPLE[:LAYER_EXAMPLE.index("[[resource]]")] + (
        '[[resource]]\nname = "simd"\nkind = "simd"\n')).replace(
        "kernel = 3", "kernel = 3\nwindow = 2", 1)
    (tmp_path / "only.toml").write_text(only)
    said = call("gpu", "mapping", "only.toml")
    assert said.returncode == 1
    assert "conv1: no resource has a bound for it" in said.stdout
    assert "[[layer]]" in call("gpu", "mapping", "example", "--show").stdout
