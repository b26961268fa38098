"""Input-stationary array: products through the RTL, against numpy and the bound."""

import itertools

import numpy as np
import pytest

from cyclebound.golden.systolic.input_stationary import tiles_of
from cyclebound.golden.systolic.stationary_bounds import input_completion
from cyclebound.golden.systolic.weight_stationary import assemble
from cyclebound.hdl.systolic.input_stationary import InputStationaryArray
from kit.run_bench import run_bench

pytestmark = pytest.mark.unit


def play(dut, tiles, cycles):
    """The rows of results and the cycles they leave in; operands as fast as they are taken."""
    found = []

    async def bench(ctx):
        rows = itertools.chain.from_iterable(tile.weights for tile in tiles)
        steps = itertools.chain.from_iterable(tile.steps() for tile in tiles)
        row, step = next(rows, None), next(steps, None)
        ctx.set(dut.results.ready, 1)
        for cycle in range(cycles):
            ctx.set(dut.inputs.valid, row is not None)
            ctx.set(dut.left.valid, step is not None)
            if row is not None:
                ctx.set(dut.inputs.payload, row)
            if step is not None:
                ctx.set(dut.left.payload, {"values": step[0], "last": step[1]})
            if ctx.get(dut.results.valid):
                found.append((cycle, list(ctx.get(dut.results.payload))))
            if ctx.get(dut.inputs.ready):
                row = next(rows, None)
            if ctx.get(dut.left.ready):
                step = next(steps, None)
            await ctx.tick()

    run_bench(dut, bench)
    return found


@pytest.mark.parametrize("double_buffer", [True, False])
@pytest.mark.parametrize(("m", "k", "n"), [(2, 7, 4)])
def test_products_are_numpys_in_exactly_their_time(double_buffer, m, k, n):
    """The columns of B stream, and A stays."""
    rng = np.random.default_rng([m, k, n])
    a, b = rng.integers(-128, 128, (m, k)), rng.integers(-128, 128, (k, n))
    tiles = tiles_of(a, b, 2, 3)
    expected = input_completion(rows=2, columns=3, m=m, k=k, n=n, double_buffer=double_buffer)
    found = play(InputStationaryArray(rows=2, columns=3, double_buffer=double_buffer), tiles,
                 expected + 5)
    assert found[-1][0] + 1 == expected
    assert np.array_equal(assemble(tiles, [row for _, row in found]).T, a @ b)
