# amaranth: UnusedElaboratable=no
import random

import pytest
from amaranth.lib import data
from hypothesis import given, settings
from hypothesis import strategies as st

from cyclebound.golden.harness.request_player import PlayerModel
from cyclebound.hdl.harness.request_player import RequestPlayer

pytestmark = pytest.mark.unit

DEPTH = 6


async def load(ctx, dut, entries):
    ctx.set(dut.load_enable, 1)
    for address, (gap, payload) in enumerate(entries):
        ctx.set(dut.load_address, address)
        ctx.set(dut.load_entry, {"gap": gap, "payload": payload})
        await ctx.tick()
    ctx.set(dut.load_enable, 0)


def check_run(run, plays, *, depth=DEPTH, wait=0):
    """Play lists one after the other; compare every cycle. ``plays``: entries, repeat, ready."""
    dut = RequestPlayer(shape=8, depth=depth, gap_width=4)
    transfers = []

    async def bench(ctx):
        for entries, repeat, ready in plays:
            await load(ctx, dut, entries)
            await ctx.tick().repeat(wait + 1)

            def go(cycle, ready=ready):
                return ready[cycle % len(ready)] or cycle % 50 == 49

            model = PlayerModel(entries, start=0, repeat=repeat, ready=go)
            ctx.set(dut.start, 1)
            ctx.set(dut.length, len(entries))
            ctx.set(dut.repeat, repeat)
            for cycle in range(model.done + 10):
                ctx.set(dut.source.ready, go(cycle))
                expected = model.at(cycle)
                assert ctx.get(dut.source.valid) == (expected is not None), f"cycle {cycle}"
                if expected is not None:
                    assert ctx.get(dut.source.payload) == expected
                    if go(cycle):
                        transfers.append(expected)
                if cycle > 0:
                    assert ctx.get(dut.done) == (cycle >= model.done), f"cycle {cycle}"
                await ctx.tick()
                ctx.set(dut.start, 0)
                ctx.set(dut.length, depth)  # both are read at the start only
                ctx.set(dut.repeat, 7)
    run(dut, bench)
    assert transfers == [payload for entries, repeat, _ in plays
                         for _, payload in entries * repeat]


entries = st.lists(st.tuples(st.sampled_from([0, 0, 0, 1, 2, 5, 15]), st.integers(0, 255)),
                   max_size=DEPTH)
stalls = st.lists(st.booleans(), min_size=1, max_size=12)


@settings(deadline=None, max_examples=60)
@given(plays=st.lists(st.tuples(entries, st.integers(1, 3), stalls), min_size=1, max_size=3))
def test_follows_model_every_cycle(run, plays):
    check_run(run, plays)


@pytest.mark.parametrize("gap", [0, 1, 7])
@pytest.mark.parametrize("p", [0.2, 0.5, 0.9])
def test_gap_against_backpressure(run, coin, gap, p):
    flips = coin(f"player {gap} {p}", p)
    ready = [next(flips) for _ in range(97)]
    check_run(run, [([(gap, i) for i in range(DEPTH)], 10, ready)])


@pytest.mark.parametrize("length", [1, 2, 5, 6])
def test_gap_0_is_one_per_cycle(run, length):
    """No bubble, not even where the list starts over."""
    dut = RequestPlayer(shape=8, depth=DEPTH)
    valid = []

    async def bench(ctx):
        await load(ctx, dut, [(0, i) for i in range(length)])
        ctx.set(dut.length, length)
        ctx.set(dut.repeat, 40)
        ctx.set(dut.start, 1)
        ctx.set(dut.source.ready, 1)
        while not ctx.get(dut.done):
            valid.append(ctx.get(dut.source.valid))
            await ctx.tick()
            ctx.set(dut.start, 0)
    run(dut, bench)
    assert valid == [0, 0, 0] + [1] * 40 * length


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_small_memories(run, depth):
    check_run(run, [([(i, 10 + i) for i in range(depth)], 3, [True, False]),
                    ([(0, 20)], 2, [True])], depth=depth)


def test_repeat_0_has_no_end(run):
    dut = RequestPlayer(shape=8, depth=2)

    async def bench(ctx):
        await load(ctx, dut, [(0, 1), (0, 2)])
        ctx.set(dut.length, 2)
        ctx.set(dut.start, 1)
        ctx.set(dut.source.ready, 1)
        await ctx.tick().repeat(3)
        for _ in range(500):  # `start` stays set: it is ignored
            for payload in (1, 2):
                assert ctx.get(dut.source.valid)
                assert ctx.get(dut.source.payload) == payload
                assert not ctx.get(dut.done)
                await ctx.tick()
    run(dut, bench)


def test_entry_written_in_the_cycle_of_start(run):
    dut = RequestPlayer(shape=8, depth=2)

    async def bench(ctx):
        ctx.set(dut.load_entry, {"gap": 0, "payload": 77})
        ctx.set(dut.load_enable, 1)
        ctx.set(dut.start, 1)
        ctx.set(dut.length, 1)
        ctx.set(dut.repeat, 1)
        await ctx.tick()
        ctx.set(dut.load_enable, 0)
        ctx.set(dut.start, 0)
        await ctx.tick().repeat(2)
        assert ctx.get(dut.source.valid)
        assert ctx.get(dut.source.payload) == 77
    run(dut, bench)


def test_struct_payload_and_long_gap(run):
    layout = data.StructLayout({"bank": 3, "row": 12})
    dut = RequestPlayer(shape=layout, depth=4, gap_width=16)
    assert dut.entry.size == 31

    async def bench(ctx):
        await load(ctx, dut, [(1000, {"bank": 5, "row": 0xABC})])
        ctx.set(dut.length, 1)
        ctx.set(dut.repeat, 1)
        ctx.set(dut.start, 1)
        cycles = 0
        while not ctx.get(dut.source.valid):
            await ctx.tick()
            ctx.set(dut.start, 0)
            cycles += 1
        assert cycles == 1003
        assert ctx.get(dut.source.payload.bank) == 5
        assert ctx.get(dut.source.payload.row) == 0xABC
    run(dut, bench)


def test_model_by_hand():
    model = PlayerModel([(0, 7), (2, 8)], start=10, ready=lambda cycle: cycle != 13)
    assert [(o.first, o.taken, o.payload) for o in model.offers] == [(13, 14, 7), (17, 17, 8)]
    assert model.done == 18
    assert [model.at(cycle) for cycle in range(12, 19)] == [None, 7, 7, None, None, 8, None]


@pytest.mark.parametrize("depth", [1, 2, 1000])
def test_converts(converts, depth):
    converts(RequestPlayer(shape=data.StructLayout({"a": 3, "b": 8}), depth=depth))


@pytest.mark.parametrize(("settings", "error", "message"), [
    ({"shape": "x", "depth": 4}, TypeError, r"Payload must have a shape, not 'x'"),
    ({"shape": 8, "depth": 4.0}, TypeError, r"Player depth must be an integer, not 4\.0"),
    ({"shape": 8, "depth": 0}, ValueError, r"Player depth must be at least 1, not 0"),
    ({"shape": 8, "depth": 4, "gap_width": True}, TypeError,
     r"Gap width must be an integer, not True"),
    ({"shape": 8, "depth": 4, "gap_width": 0}, ValueError, r"Gap width must be at least 1, not 0"),
])
def test_wrong_parameters(settings, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        RequestPlayer(**settings)


def test_back_to_back_lists(run):
    """Started again in the very cycle in which `done` rises."""
    chance = random.Random("lists")
    dut = RequestPlayer(shape=8, depth=4)
    taken = []

    async def bench(ctx):
        await load(ctx, dut, [(0, 1), (1, 2), (0, 3), (3, 4)])
        ctx.set(dut.repeat, 1)
        for length in (4, 1, 3, 2):
            ctx.set(dut.length, length)
            ctx.set(dut.start, 1)
            await ctx.tick()
            ctx.set(dut.start, 0)
            assert not ctx.get(dut.done)
            while not ctx.get(dut.done):
                ready = chance.random() < 0.5
                ctx.set(dut.source.ready, ready)
                if ready and ctx.get(dut.source.valid):
                    taken.append(ctx.get(dut.source.payload))
                await ctx.tick()
    run(dut, bench)
    assert taken == [1, 2, 3, 4, 1, 1, 2, 3, 1, 2]
