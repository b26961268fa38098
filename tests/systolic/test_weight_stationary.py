# amaranth: UnusedElaboratable=no
"""Weight- and input-stationary arrays: parameters, golden model, and the RTL against it."""

import itertools
import random

import numpy as np
import pytest
from amaranth.back import rtlil

from cyclebound.golden.systolic import input_stationary
from cyclebound.golden.systolic import weight_stationary as golden
from cyclebound.golden.systolic.stationary_bounds import weight_completion
from cyclebound.hdl.systolic.input_stationary import InputStationaryArray
from cyclebound.hdl.systolic.weight_stationary import WeightStationaryArray, WeightStationaryPE
from kit.run_bench import run_bench

pytestmark = pytest.mark.unit

SHAPES = [(2, 3), (3, 3), (1, 1), (1, 4), (4, 1)]


@pytest.mark.parametrize("make", [WeightStationaryArray, InputStationaryArray])
@pytest.mark.parametrize(("name", "thing"), [
    ("rows", "Row count"), ("columns", "Column count"),
    ("operand_width", "Operand width"), ("accumulator_width", "Accumulator width")])
def test_array_parameters_are_counts(make, name, thing):
    good = {"rows": 1, "columns": 1}
    for bad in (1.5, "2", None, True):
        with pytest.raises(TypeError, match=f"^{thing} must be an integer, not {bad!r}$"):
            make(**good | {name: bad})
    for bad in (0, -1):
        with pytest.raises(ValueError, match=f"^{thing} must be at least 1, not {bad}$"):
            make(**good | {name: bad})


def test_other_parameters():
    message = "^Accumulator width must be at least 16, twice the operand width, not 15$"
    with pytest.raises(ValueError, match=message):
        WeightStationaryArray(rows=1, columns=1, accumulator_width=15)
    with pytest.raises(TypeError, match=r"^Double buffer must be True or False, not 1$"):
        WeightStationaryArray(rows=1, columns=1, double_buffer=1)


def test_pe_converts_alone():
    assert "attribute \\top 1" in rtlil.convert(WeightStationaryPE())


@pytest.mark.parametrize("cut", [golden.tiles_of, input_stationary.tiles_of])
def test_model_rejects_what_does_not_fit(cut):
    one = np.ones((2, 3), dtype=np.int8)
    with pytest.raises(ValueError,
                       match=r"^A must have as many columns as B has rows, not 3 and 2$"):
        cut(one, one, 2, 2)
    with pytest.raises(ValueError, match=r"^Matrices must not be empty, not .*$"):
        cut(one[:, :0], one[:0], 2, 2)


def test_folds_give_their_rows():
    tiles = golden.tiles_of(np.ones((2, 3)), np.ones((3, 1)), 2, 2)
    assert len(tiles) == 2
    with pytest.raises(ValueError, match=r"^2 folds must give 4 rows of sums, not 1$"):
        golden.assemble(tiles, [[0, 0]])


@pytest.mark.parametrize("cut", [golden.tiles_of, input_stationary.tiles_of])
@pytest.mark.parametrize(("m", "k", "n"), [(1, 1, 1), (2, 5, 3), (5, 1, 7), (4, 6, 4)])
def test_folds_add_up_to_the_product(cut, m, k, n):
    rng = np.random.default_rng([m, k, n])
    a, b = rng.integers(-128, 128, (m, k)), rng.integers(-128, 128, (k, n))
    tiles = cut(a, b, 2, 3)
    sums = [(np.array(row) @ np.array(tile.weights)).tolist()
            for tile in tiles for row in tile.left]
    c = golden.assemble(tiles, sums)
    assert np.array_equal(c if cut is golden.tiles_of else c.T, a @ b)


def coin(name, chance):
    source = random.Random(name)
    while True:
        yield source.random() < chance


def run(dut, model, tiles, cycles, stalls):
    """Play tiles on the array and its model; the result rows, with the cycles they left in."""
    results = []

    async def bench(ctx):
        streams = [itertools.chain.from_iterable(tile.weights for tile in tiles),
                   itertools.chain.from_iterable(tile.steps() for tile in tiles)]
        shown = [None, None]
        for cycle in range(cycles):
            for side, stream in enumerate(streams):
                if shown[side] is None and next(stalls[side]):
                    shown[side] = next(stream, None)
            ready = next(stalls[2])
            ctx.set(dut.weights.valid, shown[0] is not None)
            ctx.set(dut.left.valid, shown[1] is not None)
            ctx.set(dut.results.ready, ready)
            if shown[0] is not None:
                ctx.set(dut.weights.payload, shown[0])
            if shown[1] is not None:
                ctx.set(dut.left.payload, {"values": shown[1][0], "last": shown[1][1]})
            seen = golden.Outputs(
                bool(ctx.get(dut.weights.ready)), bool(ctx.get(dut.left.ready)),
                list(ctx.get(dut.results.payload)) if ctx.get(dut.results.valid) else None,
                ctx.get(dut.active))
            assert seen == model.step(*shown, ready), f"cycle {cycle}"
            if seen.result is not None and ready:
                results.append((cycle, seen.result))
            shown = [None if taken else offer for offer, taken in
                     zip(shown, (seen.weights_ready, seen.left_ready), strict=True)]
            await ctx.tick()

    run_bench(dut, bench)
    return results


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 4), (4, 1)])
@pytest.mark.parametrize("double_buffer", [True, False])
def test_rtl_is_the_model_in_every_cycle(rows, columns, double_buffer):
    """Arrays without a neighbour, with stalls; wider ones and their stalls are the regression's."""
    name = f"{rows}x{columns} {double_buffer}"
    dut = WeightStationaryArray(rows=rows, columns=columns, accumulator_width=16,
                                double_buffer=double_buffer)
    model = golden.WeightStationaryModel(rows, columns, 16, double_buffer=double_buffer)
    source = np.random.default_rng(len(name))
    tiles = [tile for _ in range(40) for tile in golden.tiles_of(
        source.choice([-128, 127, 5], (source.integers(1, 8), rows)),
        source.choice([-128, 127, -3], (rows, columns)), rows, columns)]
    stalls = [coin(f"{name} {who}", 0.7) for who in range(3)]
    assert len(run(dut, model, tiles, 250, stalls)) > 20


@pytest.mark.parametrize("double_buffer", [True, False])
@pytest.mark.parametrize(("m", "k", "n"), [(2, 7, 4)])
def test_products_take_exactly_their_bound(double_buffer, m, k, n):
    shape = {"rows": 2, "columns": 3, "m": m, "k": k, "n": n}
    rng = np.random.default_rng([m, k, n])
    a, b = rng.integers(-128, 128, (m, k)), rng.integers(-128, 128, (k, n))
    tiles = golden.tiles_of(a, b, 2, 3)
    expected = weight_completion(**shape, double_buffer=double_buffer)
    results = run(WeightStationaryArray(rows=2, columns=3, double_buffer=double_buffer),
                  golden.WeightStationaryModel(2, 3, double_buffer=double_buffer), tiles,
                  expected + 5, [itertools.repeat(True)] * 3)
    assert results[-1][0] + 1 == expected
    assert np.array_equal(golden.assemble(tiles, [row for _, row in results]), a @ b)
