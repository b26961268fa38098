# amaranth: UnusedElaboratable=no
"""Bound checkers of the weight-stationary array: each assertion fires on a planted fault."""

import random

import pytest

from cyclebound.hdl.systolic.weight_stationary import WeightStationaryArray
from cyclebound.tb.systolic import weight_stationary_properties as properties
from kit.faults import Tampered, override
from kit.run_bench import run_bench

pytestmark = pytest.mark.unit

TIMING, VALUES = properties.WeightStationaryCheck, properties.WeightStationaryProductCheck
ROWS, COLUMNS = 2, 3


def array(double_buffer):
    return WeightStationaryArray(rows=ROWS, columns=COLUMNS, double_buffer=double_buffer)


def play(dut, checker, *, ready=1.0, cycles=80, seed=1):
    """Random tiles and rows, always on offer; the number of rows of sums taken."""
    rng, taken = random.Random(seed), 0

    async def bench(ctx):
        nonlocal taken
        left = 0
        offers = {}
        for _ in range(cycles):
            for name, width in (("weights", COLUMNS), ("left", ROWS)):
                port = getattr(dut, name)
                if name not in offers:
                    values = [rng.randint(-128, 127) for _ in range(width)]
                    if name == "left":
                        left = left - 1 if left else rng.randint(0, 3)
                        values = {"values": values, "last": left == 0}
                    offers[name] = values
                ctx.set(port.valid, 1)
                ctx.set(port.payload, offers[name])
            ctx.set(dut.results.ready, rng.random() < ready)
            for name in ("weights", "left"):
                if ctx.get(getattr(dut, name).ready):
                    del offers[name]
            taken += ctx.get(dut.results.valid) & ctx.get(dut.results.ready)
            await ctx.tick()

    run_bench(dut, bench, checker)
    return taken


@pytest.mark.parametrize("double_buffer", [True, False])
@pytest.mark.parametrize("checker", [TIMING, VALUES])
@pytest.mark.parametrize("ready", [1, 0.4])
def test_nothing_fires_on_the_array(checker, double_buffer, ready):
    dut = array(double_buffer)
    assert play(dut, checker(dut), ready=ready, cycles=150) > 15


FAULTS = [  # fault, chance that the sink is ready, checker, what it says
    (lambda array, ports, cycle: ports.weights.ready.eq(1), 1, TIMING,
     "weights out of turn, or refused"),
    (lambda array, ports, cycle: ports.left.ready.eq(0), 1, TIMING,
     "operands out of turn, or refused"),
    (lambda array, ports, cycle: ports.results.valid.eq(1), 1, TIMING,
     "sums are missing, or of no operands"),
    (lambda array, ports, cycle: ports.active[-1].eq(0), 1, TIMING,
     "active PEs are not the wavefront"),
    (lambda array, ports, cycle: ports.results.valid.eq(array.results.valid & cycle[0]), 0,
     TIMING, "results: offer withdrawn or changed"),
    (lambda array, ports, cycle: ports.results.payload[0].eq(cycle), 0,
     TIMING, "results: offer withdrawn or changed"),
    (lambda array, ports, cycle: ports.results.payload[2].eq(array.results.payload[2] ^ 1), 1,
     VALUES, "sum is not the product"),
]


@pytest.mark.parametrize(("fault", "ready", "checker", "says"), FAULTS,
                         ids=[fault[-1] for fault in FAULTS])
@pytest.mark.parametrize("double_buffer", [True, False])
def test_checker_fires(only, fault, ready, checker, says, double_buffer):
    """Each assertion by itself, so that no other can fire in its place."""
    only(says, properties)
    dut = Tampered(array(double_buffer), override(fault))
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        play(dut, checker(dut), ready=ready)


@pytest.mark.parametrize("name", ["weights", "left"])
@pytest.mark.parametrize("fault", ["withdrawn", "changed"])
def test_checker_names_the_neighbour_that_breaks_the_rules(name, fault):
    dut = WeightStationaryArray(rows=ROWS, columns=COLUMNS)

    async def bench(ctx):
        port = getattr(dut, name)
        ctx.set(port.valid, 1)
        for _ in range(4):  # no weights: the left is refused; too many: so are they
            await ctx.tick()
        ctx.set(port.valid, fault != "withdrawn")
        ctx.set(port.payload.as_value(), fault == "changed")
        await ctx.tick()
        await ctx.tick()
    with pytest.raises(AssertionError,
                       match=f"^Assumption violated: offer: {name}: offer withdrawn or changed$"):
        run_bench(dut, bench, TIMING(dut))
