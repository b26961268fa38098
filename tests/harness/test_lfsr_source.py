# amaranth: UnusedElaboratable=no
import random

import pytest
from amaranth.hdl import signed
from amaranth.lib import data

from cyclebound.golden.harness.lfsr_source import SourceModel, random_payloads
from cyclebound.golden.harness.lfsr_spec import spread_seed
from cyclebound.hdl.harness.lfsr_source import LfsrSource

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("width", [1, 20, 32, 33, 100])
@pytest.mark.parametrize("ready_p", [0.3, 1.0])
@pytest.mark.parametrize("threshold", [0, 60, 255, 256])
def test_follows_model_every_cycle(run, width, ready_p, threshold):
    dut = LfsrSource(shape=width)
    model = SourceModel(width)
    chance = random.Random(f"{width} {ready_p} {threshold}")
    seen = {"taken": 0, "reseeded": 0}

    async def bench(ctx):
        for _ in range(400):
            ready = chance.random() < ready_p
            enable = chance.random() < 0.7
            load, seed = chance.random() < 0.3, chance.choice([0, chance.getrandbits(64)])
            for port, value in ((dut.enable, enable), (dut.threshold, threshold),
                                (dut.load, load), (dut.seed, seed), (dut.source.ready, ready)):
                ctx.set(port, value)
            valid, payload = model.step(enable=enable, threshold=threshold, ready=ready, load=load,
                                        seed=seed)
            assert ctx.get(dut.source.valid) == valid
            assert ctx.get(dut.source.payload) == payload
            seen["taken"] += valid and ready
            seen["reseeded"] += load and not valid
            await ctx.tick()
    run(dut, bench)
    assert seen["reseeded"]
    assert bool(seen["taken"]) == bool(threshold)


def offered(run, cycles, *, threshold, ready, shape=8):
    """(valid, payload) of each cycle."""
    dut = LfsrSource(shape=shape)
    log = []

    async def bench(ctx):
        ctx.set(dut.threshold, threshold)
        ctx.set(dut.enable, 1)
        for cycle in range(cycles):
            ctx.set(dut.source.ready, ready(cycle))
            log.append((ctx.get(dut.source.valid), ctx.get(dut.source.payload)))
            await ctx.tick()
    run(dut, bench)
    return log


def test_one_item_per_cycle(run):
    log = offered(run, 300, threshold=256, ready=lambda cycle: True)
    assert [valid for valid, _ in log] == [0] + [1] * 299


@pytest.mark.parametrize("threshold", [32, 128, 200])
def test_probability(run, threshold):
    """The share of cycles with an item, within 4 standard deviations."""
    log = offered(run, 4000, threshold=threshold, ready=lambda cycle: True)
    p = threshold / 256
    assert abs(sum(valid for valid, _ in log) - 4000 * p) < 4 * (4000 * p * (1 - p)) ** 0.5


def test_offers_without_ready_and_keeps_the_offer(run):
    log = offered(run, 200, threshold=64, ready=lambda cycle: False)
    start = next(cycle for cycle, (valid, _) in enumerate(log) if valid)
    assert set(log[start:]) == {log[start]}


def test_payloads_do_not_depend_on_stalls(run, coin):
    flips = coin("payloads", 0.4)
    ready = [next(flips) for _ in range(500)]
    log = offered(run, 500, threshold=100, ready=lambda cycle: ready[cycle], shape=40)
    taken = [payload for (valid, payload), go in zip(log, ready, strict=True) if valid and go]
    model = random_payloads(40)
    assert len(taken) > 50
    assert taken == [next(model) for _ in taken]


def test_bits_are_balanced_and_lanes_differ():
    items = random_payloads(64, spread_seed(1))
    drawn = [next(items) for _ in range(2000)]
    for bit in range(64):
        assert 880 < sum(item >> bit & 1 for item in drawn) < 1120
    assert sum(item >> 32 == item % 2**32 for item in drawn) == 0


@pytest.mark.parametrize("shape", [1, 64, signed(9), data.StructLayout({"a": 3, "b": signed(40)})])
def test_converts(converts, shape):
    converts(LfsrSource(shape=shape))


def test_struct_payload_is_the_same_bits(run):
    layout = data.StructLayout({"low": 3, "high": 30})
    log = offered(run, 50, threshold=256, ready=lambda cycle: True, shape=layout)
    model = random_payloads(33)
    for _, payload in log[1:]:
        number = next(model)
        assert (payload.low, payload.high) == (number % 8, number >> 3)


@pytest.mark.parametrize(("shape", "error", "message"), [
    ("wide", TypeError, r"Payload must have a shape, not 'wide'"),
    (0, ValueError, r"Payload must have at least 1 bit, not 0"),
])
def test_wrong_parameters(shape, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        LfsrSource(shape=shape)
