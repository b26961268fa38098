# amaranth: UnusedElaboratable=no
"""Harness of the banked memory: what it measures, and that each of its checks fires."""


import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module, Mux, Signal

from cyclebound.golden.harness.faults import BANKED_MEMORY
from cyclebound.golden.sram.bounds import eq1
from cyclebound.hdl.sram import banked_memory_harness
from cyclebound.hdl.sram.banked_memory import BankedMemory
from cyclebound.hdl.sram.banked_memory_harness import BankedMemoryHarness
from kit.faults import Tampered, override
from kit.run_bench import run_bench

pytestmark = pytest.mark.unit

SMALL = {"banks": 2, "requesters": 3, "words": 4, "word_bytes": 2}
ALWAYS = 256
LATE = 150       # a cycle in the middle of the first measurement
LIMIT = 20_000   # cycles after which a run counts as stuck


def wrong_word(memory, outer, cycle):
    inner = memory.ports[0][0].response.data
    return [port[0].response.data.eq(inner ^ Mux(cycle >= LATE, 1 << 7, 0)) for port in outer.ports]


def missing_answer(memory, outer, cycle):
    return outer.ports[0][0].response.valid.eq(memory.ports[0][0].response.valid & (cycle < LATE))


def unasked_answer(memory, outer, cycle):
    return outer.ports[2][0].response.valid.eq(memory.ports[2][0].response.valid | (cycle >= LATE))


def another_address(memory, outer, cycle):
    address = outer.ports[0][0].request.payload.address
    return memory.ports[0][0].request.payload.address.eq(address ^ (cycle >= LATE))


def unheard(memory, outer, cycle):
    """A cycle in which requester 0 is not heard, now and then."""
    asks, heard = outer.ports[0][0].request, memory.ports[0][0].request
    now = cycle[:5] != 0
    return [heard.valid.eq(asks.valid & now), asks.ready.eq(heard.ready & now)]


def run(harness, *settings, restart=False):
    """Fill memory, and make each measurement in turn; the outputs after each, and histograms."""
    results = []

    async def go(ctx, **inputs):
        for name, value in inputs.items():
            ctx.set(getattr(harness, name), value)
        ctx.set(harness.start, 1)
        await ctx.tick()
        ctx.set(harness.start, 0)
        for cycle in range(LIMIT):
            if restart and not inputs.get("fill") and cycle == 3 * harness.bins // 2:
                ctx.set(harness.start, 1)
            await ctx.tick()
            ctx.set(harness.start, 0)
            if ctx.get(harness.done):
                break
        assert ctx.get(harness.done), f"no end after {LIMIT} cycles"

    async def bench(ctx):
        await go(ctx, fill=1)
        assert ctx.get(harness.served) == harness.memory.banks * harness.memory.words
        for inputs in settings:
            await go(ctx, fill=0, **inputs)
            for _ in range(4):
                await ctx.tick()
            seen = {name: ctx.get(getattr(harness, name)) for name in
                    ("count", "minimum", "maximum", "failed", "served", "checked")}
            seen["faults"] = [name for bit, name in enumerate(BANKED_MEMORY)
                              if seen["failed"] >> bit & 1]
            seen["histogram"] = {}
            for latency in range(harness.bins):
                ctx.set(harness.histogram_address, latency)
                await ctx.tick()
                if ctx.get(harness.histogram_count):
                    seen["histogram"][latency] = ctx.get(harness.histogram_count)
            results.append(seen)

    run_bench(harness, bench)
    return results


def small():
    return BankedMemoryHarness(**SMALL, bins=64)


def against(rivals, *, length=5, transactions=12, threshold=ALWAYS, allowance=0):
    """Settings, with the bound plus ``allowance`` as the limit."""
    requesters = (rivals & ~1).bit_count() + 1
    bound = eq1(transaction_bytes=2 * length, word_bytes=2, requesters=requesters)
    return {"rivals": rivals, "threshold": threshold, "length": length,
            "transactions": transactions, "limit": bound + allowance}


def test_bound_is_met_exactly_for_every_number_of_rivals():
    settings = [against(rivals) for rivals in (0, 2, 4, 6)]
    for wanted, seen in zip(settings, run(small(), *settings), strict=True):
        assert seen["faults"] == []
        assert seen["count"] == 12
        assert seen["maximum"] == wanted["limit"]
        assert sum(seen["histogram"].values()) == 12
        assert seen["histogram"][seen["maximum"]] > 0
        assert min(seen["histogram"]) == seen["minimum"]


def test_rivals_that_ask_seldom_cost_less():
    seldom, always = run(small(), against(6, threshold=20), against(6))
    assert seldom["faults"] == always["faults"] == []
    assert seldom["minimum"] < always["minimum"]


def test_answers_are_counted():
    first, second = run(small(), against(6), against(6))
    accesses = second["served"] - first["served"]
    answers = second["checked"] - first["checked"]
    assert accesses >= 12 * 5 * 3  # bank 0 served a requester in every cycle
    assert accesses / 4 < answers < accesses * 3 / 4  # about one in two reads


@pytest.mark.parametrize(("fault", "says"), [
    (wrong_word, ["wrong data"]),
    (another_address, ["wrong data"]),
    (missing_answer, ["answer missing"]),
    (unasked_answer, ["wrong data", "answer missing"]),  # what was not asked for is wrong too
    (unheard, ["bound exceeded"]),
])
def test_planted_fault_is_found(monkeypatch, fault, says):
    assert run(small(), against(6))[0]["faults"] == []
    monkeypatch.setattr(banked_memory_harness, "BankedMemory", lambda **parameters: Tampered(
        BankedMemory(**parameters), override(fault)))
    assert run(small(), against(6))[0]["faults"] == says


def test_limit_one_below_the_bound_is_exceeded():
    at_bound, below = run(small(), against(6), against(6, allowance=-1))
    assert at_bound["faults"] == []
    assert below["faults"] == ["bound exceeded"]


def test_second_start_in_the_middle_voids_the_measurement():
    assert "recorder overflow" in run(small(), against(6), restart=True)[0]["faults"]


@pytest.mark.parametrize("parameters", [
    {}, {"banks": 1}, {"requesters": 1}, {"words": 1}, {"words": 5}, {"word_bytes": 1},
    {"word_bytes": 16}])
def test_degenerate_memories(parameters):
    harness = BankedMemoryHarness(**SMALL | parameters, bins=64)
    rivals = (1 << harness.memory.requesters) - 2
    requesters = harness.memory.requesters
    seen, = run(harness, {**against(rivals), "limit": 5 * requesters})
    assert seen["faults"] == []
    assert (seen["count"], seen["maximum"]) == (12, 5 * requesters)
    assert seen["checked"]


@pytest.mark.parametrize("words", [5, 1024])
def test_words_differ(words):
    """A word of another address, or a flipped bit, is never the right word."""
    harness = BankedMemoryHarness(**SMALL | {"words": words}, bins=64)
    address = Signal(range(words))
    word = Signal(16)
    m = Module()
    m.submodules.harness = harness
    m.d.comb += word.eq(harness._word(address))
    seen = []

    async def bench(ctx):
        for number in range(words):
            ctx.set(address, number)
            seen.append(ctx.get(word))

    run_bench(m, bench)
    assert len(set(seen)) == words


def test_converts():
    assert "attribute \\top 1" in rtlil.convert(BankedMemoryHarness(**SMALL))
