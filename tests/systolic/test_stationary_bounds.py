"""Bounds of weight and input stationary arrays: by hand, and against another simulator."""

import csv
import itertools
from pathlib import Path

import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.systolic import scale_sim
from cyclebound.golden.systolic import stationary_bounds as bounds
from cyclebound.golden.systolic.bounds import eq5_6
from cyclebound.golden.systolic.mapping import Dataflow, map_product

pytestmark = pytest.mark.unit

FLOWS = {"os": Dataflow.OUTPUT, "ws": Dataflow.WEIGHT, "is": Dataflow.INPUT}
FIGURES = Path(__file__).parent / "data" / "scalesim.csv"  # of SCALE-Sim 3.0.0


def figures():
    with FIGURES.open() as file:
        for line in csv.DictReader(file):
            yield {key: value if key in ("kind", "layer", "dataflow") else int(value)
                   for key, value in line.items()}


def shape_of(row):
    return {"rows": row["rows"], "columns": row["cols"], "m": row["M"], "k": row["K"],
            "n": row["N"]}


def test_every_figure_of_scale_sim_is_the_formula():
    count = 0
    for row in figures():
        flow, shape = FLOWS[row["dataflow"]], shape_of(row)
        mapped = map_product(flow, **shape)
        assert (mapped.down, mapped.across, mapped.time, mapped.folds) == (
            row["S_R"], row["S_C"], row["T"], row["folds"])
        assert scale_sim.total_cycles(flow, **shape) == row["total_cycles"], row
        count += 1
    assert count == 240


def test_the_layers_are_those_of_the_figures():
    assert set(scale_sim.LAYERS) == {(row["M"], row["K"], row["N"]) for row in figures()}
    assert len(scale_sim.LAYERS) == 16


@pytest.mark.parametrize(("name", "layer"), [
    ("c_16x16_k3_c8_f8_s2", {"height": 17, "width": 17, "kernel": 3, "channels": 8, "filters": 8,
                             "stride": 2}),
    ("c_14x14_k1_c16_f32", {"height": 14, "width": 14, "kernel": 1, "channels": 16,
                            "filters": 32}),
    ("c_7x7_k3_c32_f64", {"height": 7, "width": 7, "kernel": 3, "channels": 32, "filters": 64}),
    ("c_10x10_k3_c1_f1", {"height": 10, "width": 10, "kernel": 3, "channels": 1, "filters": 1})])
def test_convolutions_are_products(name, layer):
    found = {(row["M"], row["K"], row["N"]) for row in figures() if row["layer"] == name}
    assert found == {scale_sim.convolution_as_product(**layer)}


def test_the_thesis_is_wrong_for_weight_stationary():
    """Without preloading, it first goes wrong at 2 x 1 x 1 on 1 x 2; with it, at once."""
    def all_macs(shape):  # strictly serial folds without their preloading
        mapped = map_product(Dataflow.WEIGHT, **shape)
        return mapped.folds * (shape["rows"] + shape["columns"] + mapped.time - 2)

    sizes = sorted(itertools.product((1, 2, 3), repeat=5), key=lambda size: (sum(size), size))
    shapes = [dict(zip(("rows", "columns", "m", "k", "n"), size, strict=True)) for size in sizes]
    least = next(shape for shape in shapes if bounds.eq5_6_printed(**shape) != all_macs(shape))
    assert sum(least.values()) == 7
    example = {"rows": 1, "columns": 2, "m": 2, "k": 1, "n": 1}
    assert (bounds.eq5_6_printed(**example), bounds.weight_fold(**example)) == (4, 3)
    assert bounds.eq5_6_printed(**shapes[0]) == eq5_6(**shapes[0]) == 1
    assert bounds.weight_steps(**shapes[0], double_buffer=False) == 2


def test_by_hand():
    shape = {"rows": 3, "columns": 3, "m": 3, "k": 3, "n": 3}
    assert bounds.weight_fold(**shape) == bounds.input_fold(**shape) == 7  # Table 5.2
    assert bounds.weight_steps(**shape, double_buffer=False) == 3 + 7
    assert bounds.weight_steps(**shape) == 3 + 1 + 7
    assert bounds.weight_completion(**shape) == 3 + 1 + 7 + 2
    # two folds: serially twice as long; else the second is 3 steps after the first
    wide = shape | {"n": 4}
    assert bounds.weight_steps(**wide, double_buffer=False) == 20
    assert bounds.weight_steps(**wide) == 11 + 3
    assert bounds.weight_steps(**wide | {"m": 1}) == 9 + 3  # as fast as weights come
    assert bounds.weight_steps(**wide | {"m": 5}) == 13 + 5


@pytest.mark.parametrize("kind", ["fold", "steps", "completion"])
def test_input_stationary_is_weight_stationary_transposed(kind):
    ours, other = getattr(bounds, f"input_{kind}"), getattr(bounds, f"weight_{kind}")
    fits = {"rows": 4, "columns": 5, "k": 3}
    assert ours(**fits, m=2, n=7) == other(**fits, m=7, n=2)


def test_a_fold_is_one_tile():
    message = "^a tile of 3 x 2 must fit an array of 2 x 2$"
    with pytest.raises(NotCovered, match=message):
        bounds.weight_fold(rows=2, columns=2, m=1, k=3, n=2)
    with pytest.raises(NotCovered, match=message):
        bounds.input_fold(rows=2, columns=2, m=2, k=3, n=1)


@pytest.mark.parametrize("name", bounds.__all__)
def test_sizes_are_counts(name):
    formula = getattr(bounds, name)
    for what in ("rows", "columns", "m", "k", "n"):
        shape = dict.fromkeys(("rows", "columns", "m", "k", "n"), 1) | {what: 0}
        with pytest.raises(NotCovered,
                           match=f"^{what} must be a whole number of at least 1, not 0$"):
            formula(**shape)
