# amaranth: UnusedElaboratable=no
import random

import pytest

from cyclebound.golden.harness.lfsr import lfsr_sequence
from cyclebound.golden.harness.lfsr_spec import POLYNOMIALS, lane_seed, spread_seed
from cyclebound.hdl.harness.lfsr import Lfsr
from cyclebound.tools.second_source.polynomials import is_primitive

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("width", POLYNOMIALS)
def test_polynomial_is_primitive(width):
    assert is_primitive(width, POLYNOMIALS[width])


def test_table_is_complete():
    assert list(POLYNOMIALS) == list(range(3, 65))


def sampled(run, dut, cycles):
    values = []

    async def bench(ctx):
        ctx.set(dut.enable, 1)
        for _ in range(cycles):
            values.append(ctx.get(dut.value))
            await ctx.tick()
    run(dut, bench)
    return values


@pytest.mark.parametrize("width", range(3, 13))
def test_visits_every_value_but_0(run, width):
    values = sampled(run, Lfsr(width=width), 2**width)
    assert sorted(values[:-1]) == list(range(1, 2**width))
    assert values[-1] == values[0]


@pytest.mark.parametrize(("width", "steps"),
                         [(7, 7), (8, 7), (11, 11), (31, 8), (64, 32), (55, 54)])
def test_steps_at_once_are_steps_in_a_row(run, width, steps):
    init = spread_seed(width) % 2**width
    values = sampled(run, Lfsr(width=width, steps=steps, init=init), 100)
    assert values == lfsr_sequence(width, init, 100, steps=steps)
    assert values == lfsr_sequence(width, init, 99 * steps + 1)[::steps]


@pytest.mark.parametrize("width", [5, 8])
def test_length_stays_maximal_with_many_steps(run, width):
    values = sampled(run, Lfsr(width=width, steps=4), 2**width - 1)
    assert len(set(values)) == 2**width - 1


@pytest.mark.parametrize("width", [3, 16, 24, 63, 64])
def test_enable_load_and_seed_0(run, width):
    """Random strobes; the expected value comes from the model's sequence since the last seed."""
    dut = Lfsr(width=width, init=5)
    chance = random.Random(f"lfsr {width}")
    seen = {"zero": 0, "both": 0, "hold": 0}

    async def bench(ctx):
        sequence, at = lfsr_sequence(width, 5, 601), 0
        for _ in range(600):
            load, enable = chance.random() < 0.05, chance.random() < 0.7
            seed = chance.choice([0, chance.getrandbits(width)])
            ctx.set(dut.load, load)
            ctx.set(dut.enable, enable)
            ctx.set(dut.seed, seed)
            assert ctx.get(dut.value) == sequence[at]
            if load:
                sequence, at = lfsr_sequence(width, seed, 601, init=5), 0
            elif enable:
                at += 1
            seen["zero"] += load and seed == 0
            seen["both"] += load and enable
            seen["hold"] += not load and not enable
            await ctx.tick()
    run(dut, bench)
    assert all(seen.values())


def test_seeds_are_spread():
    seeds = [spread_seed(i) for i in range(100)] + [lane_seed(i) for i in range(100)]
    assert len(set(seeds)) == 200
    assert all(0 < seed < 2**64 for seed in seeds)
    near = [(spread_seed(i) ^ spread_seed(i + 1)).bit_count() for i in range(100)]
    assert min(near) > 10


@pytest.mark.parametrize("width", [3, 33, 64])
def test_converts(converts, width):
    converts(Lfsr(width=width))


@pytest.mark.parametrize(("settings", "error", "message"), [
    ({"width": "8"}, TypeError, r"LFSR width must be an integer, not '8'"),
    ({"width": 2}, ValueError, r"LFSR width must be from 3 to 64, not 2"),
    ({"width": 65}, ValueError, r"LFSR width must be from 3 to 64, not 65"),
    ({"width": 8, "steps": 1.0}, TypeError, r"LFSR step count must be an integer, not 1\.0"),
    ({"width": 8, "steps": 0}, ValueError, r"LFSR step count must be from 1 to 8, not 0"),
    ({"width": 8, "steps": 6}, ValueError,
     r"LFSR step count must have no factor in common with 255, but 6 has 3"),
    ({"width": 8, "init": None}, TypeError, r"LFSR initial value must be an integer, not None"),
    ({"width": 8, "init": 0}, ValueError, r"LFSR initial value must be from 1 to 255, not 0"),
])
def test_wrong_parameters(settings, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        Lfsr(**settings)
