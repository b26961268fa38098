# amaranth: UnusedElaboratable=no
import random

import pytest

from cyclebound.golden.harness.checker_slot import CheckerModel
from cyclebound.hdl.harness.checker_slot import CheckerSlot

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("count", [1, 5, 40])
@pytest.mark.parametrize("p", [0.005, 0.2])
def test_follows_model_every_cycle(run, count, p):
    dut = CheckerSlot(count=count)
    model = CheckerModel()
    chance = random.Random(f"{count} {p}")
    seen = {"fault": 0, "clear": 0}

    async def bench(ctx):
        for _ in range(1000):
            faults = sum((chance.random() < p) << i for i in range(count))
            clear = chance.random() < 0.01
            ctx.set(dut.faults, faults)
            ctx.set(dut.clear, clear)
            for name, value in model.summary().items():
                assert ctx.get(getattr(dut, name)) == value
            model.step(faults, clear=clear)
            seen["fault"] += bool(faults)
            seen["clear"] += clear
            await ctx.tick()
    run(dut, bench)
    assert all(seen.values())


@pytest.mark.parametrize("number", range(5))
def test_each_fault_fires_and_stays(run, number):
    dut = CheckerSlot(count=5)

    async def bench(ctx):
        for cycle in range(40):
            fault = 1 << number if cycle == 17 + number else 0
            ctx.set(dut.faults, fault)
            late = cycle > 17 + number
            assert ctx.get(dut.any) == late
            assert ctx.get(dut.failed) == (1 << number if late else 0)
            assert ctx.get(dut.first_cycle) == (17 + number if late else 0)
            await ctx.tick()
    run(dut, bench)


def test_fault_in_cycle_0_and_a_later_one(run):
    dut = CheckerSlot(count=2)

    async def bench(ctx):
        ctx.set(dut.faults, 0b01)
        await ctx.tick()
        ctx.set(dut.faults, 0b10)
        await ctx.tick()
        assert ctx.get(dut.any)
        assert ctx.get(dut.failed) == 0b11
        assert ctx.get(dut.first_cycle) == 0
    run(dut, bench)


@pytest.mark.parametrize("count", [1, 64])
def test_converts(converts, count):
    converts(CheckerSlot(count=count))


@pytest.mark.parametrize(("settings", "error", "message"), [
    ({"count": None}, TypeError, r"Fault count must be an integer, not None"),
    ({"count": 0}, ValueError, r"Fault count must be at least 1, not 0"),
    ({"count": 1, "cycle_width": "32"}, TypeError,
     r"Cycle counter width must be an integer, not '32'"),
    ({"count": 1, "cycle_width": 0}, ValueError,
     r"Cycle counter width must be at least 1, not 0"),
])
def test_wrong_parameters(settings, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        CheckerSlot(**settings)
