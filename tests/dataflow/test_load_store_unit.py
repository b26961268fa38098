# amaranth: UnusedElaboratable=no
"""Load/store unit: RTL against golden model in any order of answers."""

import random

import pytest
from amaranth.back import rtlil

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dataflow import bounds
from cyclebound.golden.dataflow.load_store_unit import Access, LoadStoreModel
from cyclebound.golden.dataflow.residence import DEPTH, MEMORY, residence, witness
from cyclebound.hdl.dataflow.load_store_unit import LoadStoreUnit
from cyclebound.sim.dataflow_residence import search

pytestmark = pytest.mark.unit
LONGEST = 52  # cycles that docs/dataflow.md speaks of
GOOD = {"depth": 2, "tid_width": 4, "address_width": 6, "width": 16}


@pytest.mark.parametrize(("bad", "kind", "message"), [
    ({"depth": 32}, ValueError, r"^depth must be from 2 to 16, not 32$"),
    ({"address_width": 17}, ValueError, r"^address width must be from 1 to 16, not 17$"),
    ({"width": 0}, ValueError, r"^width must be at least 1, not 0$"),
    ({"epochs": 1}, TypeError, r"^epochs must be a bool, not 1$"),
])
def test_refuses(bad, kind, message):
    with pytest.raises(kind, match=message):
        LoadStoreUnit(**GOOD | bad)


def test_converts_again():
    unit = LoadStoreUnit(**GOOD)
    assert rtlil.convert(unit) == rtlil.convert(unit)


@pytest.mark.parametrize("epochs", [True, False])
@pytest.mark.parametrize(("store", "gated"), [(False, False), (True, True)])
def test_rtl_is_the_model_in_every_cycle(simulate, epochs, store, gated):
    rng = random.Random(f"{epochs} {store} {gated}")
    dut = LoadStoreUnit(**GOOD, epochs=epochs)
    model = LoadStoreModel(depth=2, store=store, gated=gated, base=8, size=20, epochs=epochs)
    seen = {"faults": 0, "poisoned": 0, "requests": 0, "results": 0}

    async def bench(ctx):
        ctx.set(dut.configuration, {"store": store, "gated": gated, "base": 8, "size": 20})
        held, upcoming, due = [None] * 3, [0] * 3, []
        for cycle in range(400):
            result, enable, request = (rng.random() < 0.8 for _ in range(3))
            for port, ready in ((dut.result, result), (dut.enable, enable),
                                (dut.request, request)):
                ctx.set(port.ready, ready)
            for k, needed in enumerate((True, store, gated)):
                if held[k] is None and needed and rng.random() < 0.8:
                    held[k] = upcoming[k] % 16, (rng.randrange(25), rng.getrandbits(16),
                                                 rng.random() < 0.7)[k]
                    upcoming[k] += 1
                ctx.set(dut.operands[k].valid, held[k] is not None)
                if held[k] is not None:
                    ctx.set(dut.operands[k].payload, {"tid": held[k][0], "data": int(held[k][1])})
            ripe = [each for each in due if each[0] <= cycle]
            response = rng.choice(ripe)[1:] if ripe else None
            ctx.set(dut.response.valid, response is not None)
            if response is not None:
                due[:] = [each for each in due if each[1] != response[0]]
                ctx.set(dut.response.payload, {"tag": response[0], "data": response[1]})
            taken = [held[k] is not None and bool(ctx.get(dut.operands[k].ready))
                     for k in range(3)]
            found = model.step(held, result_ready=result, enable_ready=enable,
                               request_ready=request, response=response)
            assert list(found.taken) == taken
            for port, token in ((dut.result, found.result), (dut.enable, found.enable),
                                (dut.fault, found.fault)):
                assert ctx.get(port.valid) == (token is not None)
                if token is not None:
                    assert (ctx.get(port.payload.tid), ctx.get(port.payload.data)) == token
            assert ctx.get(dut.request.valid) == (found.request is not None)
            if found.request is not None:
                p = dut.request.payload
                assert Access(ctx.get(p.tag), ctx.get(p.address), bool(ctx.get(p.write)),
                              ctx.get(p.data) if store else found.request.data) == found.request
                if request:
                    due.append((cycle + rng.choice((1, 1, 2, 9)), ctx.get(p.tag),
                                rng.getrandbits(16)))
                    seen["requests"] += 1
            seen["faults"] += found.fault is not None
            seen["results"] += found.result is not None and result
            seen["poisoned"] += found.enable is not None and not found.enable[1]
            held = [None if taken[k] else held[k] for k in range(3)]
            await ctx.tick()
    simulate(dut, bench)
    assert seen["results"] > 50
    assert seen["requests"] > 20
    assert seen["faults"] > 5
    assert not gated or seen["poisoned"] > 5


def test_no_younger_thread_fires_first():
    """After a request that had to wait, thread 5 is next in turn; its entry is still thread 1's."""
    model = LoadStoreModel(depth=4, store=False, gated=False, base=0, size=9)
    memory, tokens, due, shown = 20, [1, 0, 2, 3, 5, 4, 6, 7], {}, {}
    for cycle in range(99):
        ready = not 3 <= cycle < 10
        found = model.step([(tokens[0], 0) if tokens else None, None, None], result_ready=True,
                           enable_ready=True, request_ready=ready, response=due.pop(cycle, None))
        tokens = tokens[found.taken[0]:]
        if found.request is not None and ready:
            due[cycle + memory - 1] = found.request.tag, 0
        if found.result is not None:
            shown.setdefault(found.result[0], cycle)
    # the last token of this epoch came in cycle 3, and a request waited for 7 cycles
    assert max(shown[tid] for tid in range(4)) - 3 + 1 <= 7 + bounds.access_epoch(
        depth=4, operands=1, memory=memory)


@pytest.mark.parametrize(("depth", "memory"), [(2, 5), (2, 20), (4, 5), (4, 20), (8, 12)])
def test_residence_behind_older_epochs(depth, memory):
    """Exact for two entries: the last of each epoch is late. Random memories keep to it as well."""
    rng, worst = random.Random(depth * memory), 0
    for tries in range(20):
        late = [tid % depth == depth - 1 if tries == 0 else rng.random() < 0.5
                for tid in range(5 * depth)]
        model = LoadStoreModel(depth=depth, store=False, gated=False, base=0, size=9)
        tokens, due, last, shown = list(range(5 * depth)), {}, {}, {}
        for cycle in range(40 * depth * memory):
            offer = bool(tokens) and (tries < 2 or rng.random() < 0.8)
            found = model.step([(tokens[0], 0) if offer else None, None, None], result_ready=True,
                               enable_ready=True, request_ready=True, response=due.pop(cycle, None))
            if found.taken[0]:
                last[tokens.pop(0) // depth] = cycle
            if found.request is not None:
                slow = late.pop(0)
                answer = cycle + (memory if slow else 2) - 1
                while answer in due and slow:  # a late one is not made later
                    due[answer + 1], answer = due.pop(answer), answer
                while answer in due:
                    answer += 1
                due[answer] = found.request.tag, 0
            if found.result is not None:
                shown[found.result[0] // depth] = cycle
        assert sorted(shown) == list(range(5))
        worst = max(worst, *(shown[epoch] - last[epoch] + 1 for epoch in shown))
    allowed = bounds.access_residence(depth=depth, memory=memory)
    assert worst == allowed if depth == 2 else worst <= allowed


def test_bounds():
    assert bounds.access_latency(memory=0) == 5
    assert bounds.access_stream(threads=1, depth=2, memory=7) == bounds.access_latency(memory=7)
    # with enough entries, one thread per cycle
    assert (bounds.access_stream(threads=1600, depth=16, memory=14)
            == 1599 + bounds.access_latency(memory=14))
    assert (bounds.access_stream(threads=1600, depth=16, memory=15)
            > 1599 + bounds.access_latency(memory=15))
    with pytest.raises(NotCovered, match=r"^memory must be a whole number of at least 0, not -1$"):
        bounds.access_latency(memory=-1)


def test_the_epoch_that_a_search_found():
    threads = witness()
    longest, took = residence(threads, depth=DEPTH)
    assert took == [cycles for _, cycles in threads]
    assert max(took) == MEMORY
    assert LONGEST == longest <= bounds.access_residence(depth=DEPTH, memory=MEMORY)


def test_a_search_finds_what_stays_long():
    """With two entries, the bound is reached."""
    found, threads = search(400, seed=1, depth=2, memory=5)
    assert residence(threads, depth=2)[0] == found == bounds.access_residence(depth=2, memory=5)
