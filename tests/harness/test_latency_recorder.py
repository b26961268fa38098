# amaranth: UnusedElaboratable=no
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cyclebound.golden.harness.latency_recorder import RecorderModel
from cyclebound.hdl.harness.latency_recorder import LatencyRecorder

pytestmark = pytest.mark.unit


def check_run(run, strobes, *, depth=4, bins=6, in_flight=3, limit=0):
    """Apply ``(accept, complete, clear)`` per cycle and compare every output; return the model."""
    dut = LatencyRecorder(depth=depth, bins=bins, in_flight=in_flight, cycle_width=16)
    model = RecorderModel(depth=depth, bins=bins, in_flight=in_flight)

    async def bench(ctx):
        ctx.set(dut.limit, limit)
        past = [model.summary()] * 2  # results come two cycles after their strobe
        for cycle, (accept, complete, clear) in enumerate(strobes):
            ctx.set(dut.accept, accept)
            ctx.set(dut.complete, complete)
            ctx.set(dut.clear, clear)
            assert ctx.get(dut.cycle) == cycle
            assert ctx.get(dut.busy) == model.busy(cycle), f"cycle {cycle}"
            for name in ("outstanding", "overflow", "underflow"):
                assert ctx.get(getattr(dut, name)) == getattr(model, name), f"{name} in {cycle}"
            for name, value in past[0].items():
                assert ctx.get(getattr(dut, name)) == value, f"{name} in {cycle}"
            model.step(accept=accept, complete=complete, clear=clear, limit=limit)
            past = [past[1], model.summary()]
            await ctx.tick()

        for port in (dut.accept, dut.complete, dut.clear):
            ctx.set(port, 0)
        await ctx.tick().repeat(bins + 2)
        for address in range(bins):
            ctx.set(dut.histogram_address, address)
            await ctx.tick()
            assert ctx.get(dut.histogram_count) == model.histogram[address], f"bin {address}"
        for address, stamp in enumerate(model.stamps):
            ctx.set(dut.stamp_address, address)
            await ctx.tick()
            assert (ctx.get(dut.stamp_accept), ctx.get(dut.stamp_complete)) == stamp
    run(dut, bench)
    return model


def legal(in_flight, cycles, *, accept_p, complete_p, name, clears=0.0, bins=6):
    """Random strobes without a fault."""
    chance = random.Random(name)
    outstanding, quiet = 0, 0
    for _ in range(cycles):
        clear = chance.random() < clears
        if clear:
            outstanding, quiet = 0, bins + 1
        if quiet:
            quiet -= 1
            yield False, False, clear
            continue
        complete = chance.random() < complete_p
        accept = chance.random() < accept_p and (complete or outstanding < in_flight)
        complete = complete and (accept or outstanding > 0)
        outstanding += accept - complete
        yield accept, complete, False


@pytest.mark.parametrize("in_flight", [1, 3, 16])
@pytest.mark.parametrize(("accept_p", "complete_p"), [(1, 1), (0.9, 0.5), (0.3, 0.3), (0.5, 0.1)])
def test_follows_model_every_cycle(run, in_flight, accept_p, complete_p):
    strobes = legal(in_flight, 600, accept_p=accept_p, complete_p=complete_p,
                    name=f"recorder {in_flight} {accept_p} {complete_p}")
    model = check_run(run, strobes, in_flight=in_flight, bins=20, depth=50)
    assert len(model.requests) > 40
    assert not model.overflow
    assert not model.underflow


@pytest.mark.parametrize("in_flight", [1, 4])
def test_clear(run, in_flight):
    strobes = list(legal(in_flight, 1500, accept_p=0.7, complete_p=0.6, name="clear", clears=0.03))
    assert sum(clear for *_, clear in strobes) > 20
    model = check_run(run, strobes, in_flight=in_flight, limit=3)
    assert not model.overflow
    assert not model.underflow


rarely = st.sampled_from([False] * 9 + [True])


@settings(deadline=None, max_examples=60)
@given(strobes=st.lists(st.tuples(st.booleans(), st.booleans(), rarely), min_size=1, max_size=80),
       in_flight=st.integers(1, 3), limit=st.integers(0, 4), bins=st.integers(2, 5))
def test_any_strobes_faults_included(run, strobes, in_flight, limit, bins):
    check_run(run, strobes, in_flight=in_flight, limit=limit, bins=bins)


def test_same_cycle_counts_1(run):
    model = check_run(run, [(0, 0, 0), (1, 1, 0), (0, 0, 0), (0, 0, 0)])
    assert model.latencies == [1]


def test_completes_as_the_next_is_accepted(run):
    strobes = [(1, 0, 0), (0, 0, 0), (1, 1, 0), (1, 1, 0), (0, 1, 0), (0, 0, 0), (0, 0, 0)]
    model = check_run(run, strobes, in_flight=1)
    assert model.latencies == [3, 2, 2]
    assert not model.overflow


@pytest.mark.parametrize("distance", [1, 2, 3])
@pytest.mark.parametrize("times", [2, 3, 10])
def test_same_bin_again_while_it_is_updated(run, distance, times):
    """The hazard of a read, add and write in turn: none of the updates may be lost."""
    strobes = ([(1, 1, 0)] + [(0, 0, 0)] * (distance - 1)) * times
    model = check_run(run, strobes)
    assert model.histogram[1] == times


def test_alternating_bins_while_they_are_updated(run):
    """Completions in every cycle, of latencies 1 and 2 in all short orders."""
    chance = random.Random("bins")
    outstanding, strobes = 0, []
    for _ in range(400):
        if outstanding:  # completes in any case; whether another follows decides its latency
            accept = chance.random() < 0.6
            strobes.append((accept, True, False))
            outstanding = accept
        else:
            outstanding = chance.random() < 0.5
            strobes.append((True, not outstanding, False))
    model = check_run(run, strobes, in_flight=1)
    assert min(model.histogram[1:3]) > 50
    assert sum(model.histogram) == model.histogram[1] + model.histogram[2]


def test_last_bin_takes_all_the_longer_ones(run):
    strobes = []
    for latency in (4, 5, 6, 9, 30, 5):
        strobes += [(1, 0, 0)] + [(0, 0, 0)] * (latency - 2) + [(0, 1, 0)]
    model = check_run(run, strobes, bins=6)
    assert model.histogram == [0, 0, 0, 0, 1, 5]
    assert max(model.latencies) == 30


def test_only_the_first_requests_are_stamped(run):
    model = check_run(run, [(1, 1, 0)] * 10, depth=4)
    assert model.stamps == [(i, i) for i in range(4)]
    assert len(model.requests) == 10


def test_first_of_several_worst(run):
    strobes = [(1, 1, 0), *[(1, 0, 0), (0, 1, 0)] * 3, (0, 0, 0), (0, 0, 0)]
    assert check_run(run, strobes).summary()["worst_accept"] == 1


@pytest.mark.parametrize(("latency", "violated"), [(1, False), (4, False), (5, False), (6, True)])
def test_limit_is_tight(run, latency, violated):
    strobes = [(0, 0, 0)] * (latency + 3)
    strobes[1] = (1, latency == 1, 0)
    if latency > 1:
        strobes[latency] = (0, 1, 0)
    model = check_run(run, strobes, limit=5)
    assert model.latencies == [latency]
    assert model.violated == violated


@pytest.mark.parametrize(("cycles", "violated"), [(5, False), (6, True)])
def test_limit_sees_what_never_completes(run, cycles, violated):
    model = check_run(run, [(1, 0, 0)] + [(0, 0, 0)] * (cycles - 1), limit=5)
    assert model.requests == []
    assert model.violated == violated


@pytest.mark.parametrize("strobes", [
    pytest.param([(1, 0, 0)] * 4, id="one too many"),
    pytest.param([(0, 0, 1), (1, 0, 0)], id="while busy"),
    pytest.param([(1, 0, 1)], id="with clear"),
])
def test_overflow_fires(run, strobes):
    model = check_run(run, [*strobes, (0, 0, 0)])
    assert model.overflow
    assert not model.underflow


@pytest.mark.parametrize("strobes", [
    pytest.param([(1, 0, 0), (0, 1, 0), (0, 1, 0)], id="one too many"),
    pytest.param([(0, 0, 1), (0, 1, 0)], id="while busy"),
    pytest.param([(0, 1, 1)], id="with clear"),
])
def test_underflow_fires(run, strobes):
    model = check_run(run, [*strobes, (0, 0, 0)])
    assert model.underflow
    assert not model.overflow


@pytest.mark.parametrize("strobes", [
    pytest.param([(0, 0, 1), (1, 1, 0)], id="while busy"),
    pytest.param([(1, 1, 1)], id="with clear"),
])
def test_both_faults_fire(run, strobes):
    model = check_run(run, [*strobes, (0, 0, 0)])
    assert model.overflow
    assert model.underflow


def test_model_by_hand():
    model = RecorderModel(depth=1, bins=4, in_flight=2)
    for accept, complete in ((1, 0), (1, 0), (0, 1), (0, 0), (0, 1)):
        model.step(accept=accept, complete=complete, limit=3)
    assert model.requests == [(0, 2), (1, 4)]
    assert model.stamps == [(0, 2)]
    assert model.histogram == [0, 0, 0, 2]
    assert model.summary() == {"count": 2, "sum": 7, "minimum": 3, "maximum": 4,
                               "worst_accept": 1, "violated": 1}


@pytest.mark.parametrize("in_flight", [1, 5])
def test_converts(converts, in_flight):
    converts(LatencyRecorder(depth=1, bins=2, in_flight=in_flight))
    converts(LatencyRecorder(depth=100, bins=300, cycle_width=48, in_flight=in_flight))


GOOD = {"depth": 4, "bins": 8}


@pytest.mark.parametrize(("settings", "error", "message"), [
    ({"depth": "4"}, TypeError, r"Stamp depth must be an integer, not '4'"),
    ({"depth": 0}, ValueError, r"Stamp depth must be at least 1, not 0"),
    ({"bins": 8.0}, TypeError, r"Bin count must be an integer, not 8\.0"),
    ({"bins": 1}, ValueError, r"Bin count must be at least 2, not 1"),
    ({"cycle_width": None}, TypeError, r"Cycle counter width must be an integer, not None"),
    ({"cycle_width": 1}, ValueError, r"Cycle counter width must be at least 2, not 1"),
    ({"in_flight": False}, TypeError, r"In-flight limit must be an integer, not False"),
    ({"in_flight": 0}, ValueError, r"In-flight limit must be at least 1, not 0"),
])
def test_wrong_parameters(settings, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        LatencyRecorder(**{**GOOD, **settings})
