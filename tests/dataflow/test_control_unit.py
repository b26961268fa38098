# amaranth: UnusedElaboratable=no
"""Control unit: RTL against golden model, in Amaranth's own simulator."""

import random

import pytest
from amaranth.back import rtlil

from cyclebound.golden.dataflow import bounds
from cyclebound.golden.dataflow.control import Control
from cyclebound.golden.dataflow.control_unit import ControlUnitModel
from cyclebound.hdl.dataflow.control_unit import ControlUnit

pytestmark = pytest.mark.unit


def test_refuses():
    with pytest.raises(ValueError, match=r"^width must be at least 1, not 0$"):
        ControlUnit(depth=2, tid_width=4, width=0)


def test_converts_again():
    unit = ControlUnit(depth=2, tid_width=4, width=4)
    assert rtlil.convert(unit) == rtlil.convert(unit)


@pytest.mark.parametrize("case", [
    {"function": Control.JOIN, "operands": (0, 1), "inverted": (1,)},
    {"function": Control.LABEL, "split": True},
    {"function": Control.PHI},
    {"function": Control.DELAY, "operands": (0,), "slots": 3, "split": True},
], ids=lambda case: case["function"].name)
def test_rtl_is_the_model_in_every_cycle(simulate, case):
    dut = ControlUnit(depth=2, tid_width=4, width=8)
    model = ControlUnitModel(depth=2, **case)
    rng, got = random.Random(case["function"]), []

    async def bench(ctx):
        ctx.set(dut.configuration, {
            "function": int(model.function), "operands": sum(1 << k for k in model.operands),
            "inverted": sum(1 << k for k in model.inverted), "slots": model.slots,
            "split": model.split})
        held, upcoming = [None] * 3, [0] * 3
        for _ in range(150):
            ready = [rng.random() < 0.7 for _ in range(2)]
            for k, port in enumerate(dut.results):
                ctx.set(port.ready, ready[k])
            for k in model.operands:
                if held[k] is None and rng.random() < 0.8:
                    held[k] = upcoming[k] % 16, rng.getrandbits(8)
                    upcoming[k] += 1
            for k, port in enumerate(dut.operands):
                ctx.set(port.valid, held[k] is not None)
                if held[k] is not None:
                    ctx.set(port.payload, {"tid": held[k][0], "data": held[k][1]})
            taken = [held[k] is not None and bool(ctx.get(port.ready))
                     for k, port in enumerate(dut.operands)]
            found = model.step(held, ready)
            assert list(found.taken) == taken
            for k, port in enumerate(dut.results):
                assert ctx.get(port.valid) == (found.results[k] is not None)
                if found.results[k] is not None:
                    assert (ctx.get(port.payload.tid),
                            ctx.get(port.payload.data)) == found.results[k]
                    got.append(ready[k])
            held = [None if taken[k] else held[k] for k in range(3)]
            await ctx.tick()
    simulate(dut, bench)
    assert sum(got) > 40


@pytest.mark.parametrize(("case", "values", "result"), [
    ({"function": Control.JOIN}, (1, 1, 1), 1), ({"function": Control.JOIN}, (1, 0, 1), 0),
    ({"function": Control.JOIN, "inverted": (1,)}, (1, 0, 1), 1),
    ({"function": Control.LABEL}, (0, 0, 0), 0), ({"function": Control.LABEL}, (0, 1, 0), 1),
    ({"function": Control.LABEL, "operands": (0,), "inverted": (0,)}, (0,), 1),
    ({"function": Control.PHI}, (1, 7, 9), 7), ({"function": Control.PHI}, (0, 7, 9), 9)])
def test_what_functions_mean(case, values, result):
    model = ControlUnitModel(depth=2, **case)
    model.step([(3, value) for value in values] + [None] * (3 - len(values)), [True, True])
    model.step([None] * 3, [True, True])
    assert model.step([None] * 3, [True, True]).results == ((3, result), None)


def test_bounds():
    assert bounds.delay_stream(threads=10, slots=1) == 20
    assert bounds.delay_stream(threads=10, slots=2) == 11
