# amaranth: UnusedElaboratable=no
"""Harness of the output-stationary array: what it measures, and that each of its checks fires."""


import pytest
from amaranth.back import rtlil
from amaranth.hdl import Mux, Signal

from cyclebound.golden.harness.faults import SYSTOLIC_ARRAY
from cyclebound.golden.systolic.bounds import completion, eq5_6
from cyclebound.hdl.systolic.output_stationary import OutputStationaryArray
from cyclebound.hdl.systolic.output_stationary_harness import OutputStationaryHarness
from kit.faults import Tampered
from kit.run_bench import run_bench

pytestmark = pytest.mark.unit

ALWAYS = 256
BINS = 96
LATE = BINS + 80  # a cycle in the middle of a measurement
LIMIT = 20_000    # cycles after which a run counts as stuck


def late(fault):
    """``fault(m, array, ports, late)`` adds statements; ``late`` is set from the middle of the
    first measurement on."""
    def planted(m, array, ports):
        cycle = Signal(16)
        m.d.sync += cycle.eq(cycle + 1)
        fault(m, array, ports, cycle >= LATE)

    return planted


def wrong_result(m, array, ports, late):
    """The highest bit, whose error a checksum with an even weight would lose."""
    top = array.results.payload[1]
    m.d.comb += ports.results.payload[1].eq(top ^ Mux(late & (array.rows_left == 0b01), 1 << 31, 0))


def wrong_operand(m, array, ports, late):
    m.d.comb += array.left.payload["values"][1].eq(ports.left.payload["values"][1] ^ late)


def lost_last(m, array, ports, late):
    """Two folds melt into one."""
    m.d.comb += array.left.payload.last.eq(ports.left.payload.last & ~late)


def rows_change_places(m, array, ports, late):
    first = Signal.like(array.results.payload)
    with m.If(array.rows_left == 0b11):
        m.d.sync += first.eq(array.results.payload)
        for j in range(3):
            with m.If(late):
                m.d.comb += ports.results.payload[j].eq(array.pes[1][j].drain)
    with m.Elif((array.rows_left == 0b01) & late):
        m.d.comb += ports.results.payload.eq(first)


def rows_for_nothing(m, array, ports, late):
    m.d.comb += ports.results.valid.eq(array.results.valid | late)


def rows_vanish(m, array, ports, late):
    with m.If(late):
        m.d.comb += [ports.results.valid.eq(0), array.results.ready.eq(1)]


def deaf(m, array, ports, late):
    """A cycle in which operands are refused, now and then."""
    cycle = Signal(5)
    m.d.sync += cycle.eq(cycle + 1)
    with m.If(cycle == 0):
        m.d.comb += [array.left.valid.eq(0), array.top.valid.eq(0),
                     ports.left.ready.eq(0), ports.top.ready.eq(0)]


def run(harness, *settings):
    """Make each measurement in turn; the outputs after each, and both histograms."""
    results = []

    async def histogram(ctx, name):
        counts = {}
        for latency in range(harness.bins):
            ctx.set(harness.histogram_address, latency)
            await ctx.tick()
            if count := ctx.get(getattr(harness, name)):
                counts[latency] = count
        return counts

    async def bench(ctx):
        for inputs in settings:
            for name, value in {"limit": 0, "macs_limit": 0, **inputs}.items():
                ctx.set(getattr(harness, name), value)
            ctx.set(harness.start, 1)
            await ctx.tick()
            ctx.set(harness.start, 0)
            for _ in range(LIMIT):
                await ctx.tick()
                if ctx.get(harness.done):
                    break
            seen = {name: ctx.get(port) for name, port in vars(harness).items()
                    if name in harness.signature.members}
            seen["product"] = await histogram(ctx, "histogram_count")
            seen["macs"] = await histogram(ctx, "macs_histogram_count")
            failed = ctx.get(harness.failed)
            seen["faults"] = [name for bit, name in enumerate(SYSTOLIC_ARRAY)
                              if failed >> bit & 1]
            results.append(seen)

    run_bench(harness, bench)
    return results


def small(rows=2, columns=3):
    return OutputStationaryHarness(rows=rows, columns=columns, bins=BINS)


def bounded(k, folds, rows=2, columns=3, repetitions=8, seed=5):
    """Settings without stalls, with the bounds as limits."""
    shape = {"rows": rows, "columns": columns, "m": rows * folds, "k": k, "n": columns}
    return {"steps": k, "folds": folds, "repetitions": repetitions, "seed": seed,
            "offers": ALWAYS, "sink": ALWAYS, "limit": completion(**shape),
            "macs_limit": eq5_6(**shape)}


@pytest.mark.parametrize(("rows", "columns"), [(2, 3), (1, 1), (1, 4), (4, 1)])
def test_every_product_takes_its_bound(rows, columns):
    settings = [bounded(k, folds, rows, columns) for k, folds in
                [(1, 1), (1, 3), (2, 1), (5, 2), (9, 1)]]
    before = 0
    for wanted, seen in zip(settings, run(small(rows, columns), *settings), strict=True):
        assert seen["faults"] == []
        assert seen["done"]
        assert seen["product"] == {wanted["limit"]: 8}
        assert seen["macs"] == {wanted["macs_limit"]: 8}
        assert (seen["count"], seen["minimum"], seen["maximum"]) == (8, *2 * [wanted["limit"]])
        assert seen["macs_count"] == 8
        assert seen["checked"] - before == 8 * wanted["folds"]
        before = seen["checked"]


@pytest.mark.parametrize("offers", [60, ALWAYS])
@pytest.mark.parametrize("sink", [40, ALWAYS])
def test_stalls_change_latencies_and_no_result(offers, sink):
    settings = [{**bounded(k, folds), "limit": 0, "macs_limit": 0, "offers": offers, "sink": sink}
                for k, folds in [(1, 1), (1, 3), (4, 2)]]
    results = run(small(), *settings)
    assert all(seen["faults"] == [] and seen["count"] == 8 for seen in results)
    assert results[-1]["checked"] == 8 * (1 + 3 + 2)
    late = sum(seen["maximum"] > completion(rows=2, columns=3, m=2 * s["folds"], k=s["steps"], n=3)
               for s, seen in zip(settings, results, strict=True))
    assert bool(late) == (offers < ALWAYS or sink < ALWAYS)


def test_a_seed_repeats_its_latencies():
    stalled = {**bounded(3, 2), "limit": 0, "macs_limit": 0, "offers": 90, "sink": 90}
    first, other, again = run(small(), stalled, {**stalled, "seed": 6}, stalled)
    assert first["product"] == again["product"]
    assert first["product"] != other["product"]


@pytest.mark.parametrize(("fault", "says"), [
    (wrong_result, {"wrong checksum"}),
    (wrong_operand, {"wrong checksum"}),
    (rows_change_places, {"wrong checksum"}),
    (rows_for_nothing, {"results of no fold", "recorder overflow"}),
    (rows_vanish, {"results missing"}),
    (lost_last, {"results missing"}),
    (deaf, {"bound exceeded"}),
])
def test_planted_fault_is_found(monkeypatch, fault, says):
    """No limit, except where the fault is in the time: then no other fault must be seen."""
    settings = bounded(3, 1, repetitions=40)
    if fault is not deaf:
        settings |= {"limit": 0, "macs_limit": 0}
    assert run(small(), settings)[0]["faults"] == []
    monkeypatch.setattr(OutputStationaryHarness, "_make", lambda _, **parameters: Tampered(
        OutputStationaryArray(**parameters), late(fault)))
    seen, = run(small(), settings)
    assert says <= set(seen["faults"])
    assert seen["done"], "a fault must end the measurement"
    if len(says) == 1 and "missing" not in min(says):
        assert set(seen["faults"]) == says


@pytest.mark.parametrize("which", ["limit", "macs_limit"])
def test_limit_one_below_the_bound_is_exceeded(which):
    exact = bounded(4, 2)
    assert [seen["faults"] for seen in run(small(), exact, {**exact, which: exact[which] - 1})] == [
        [], ["bound exceeded"]]


def test_start_in_the_middle_is_ignored():
    harness, settings = small(), bounded(4, 2)
    starts = []

    async def bench(ctx):
        for name, value in settings.items():
            ctx.set(getattr(harness, name), value)
        ctx.set(harness.start, 1)
        await ctx.tick().repeat(LATE)
        starts.append(ctx.get(harness.done))
        ctx.set(harness.start, 0)
        await ctx.tick().until(harness.done)
        assert ctx.get(harness.count) == settings["repetitions"]
        assert ctx.get(harness.failed) == 0

    run_bench(harness, bench)
    assert starts == [0]


def test_converts():
    assert "attribute \\top 1" in rtlil.convert(small())
