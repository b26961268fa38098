# amaranth: UnusedElaboratable=no
"""The cache's banks: RTL against golden model, no answer later than a miss; their checker against
planted faults."""

import random
from collections import deque
from types import SimpleNamespace

import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dataflow import cache_bounds
from cyclebound.golden.dataflow.cache_banks import CacheModel, random_cache, random_misses
from cyclebound.golden.dataflow.load_store_unit import TaggedAccess
from cyclebound.hdl.dataflow.cache_banks import CacheBanks
from cyclebound.tb.dataflow import cache_banks_properties as properties
from cyclebound.tb.dataflow.cache_banks_search import CacheBanksAdversary
from cyclebound.tools.hill_climb import climb, climbed

unit = pytest.mark.unit
GOOD = {"ports": 3, "banks": 2, "words": 16, "tag_width": 2, "width": 8, "hit": 3, "miss": 6}


@unit
@pytest.mark.parametrize(("bad", "kind", "message"), [
    ({"ports": 0}, ValueError, r"^port count must be at least 1, not 0$"),
    ({"tag_width": 0}, ValueError, r"^tag width must be at least 1, not 0$"),
    ({"width": 1.5}, TypeError, r"^width must be an integer, not 1\.5$"),
    ({"hit": 2}, ValueError, r"^hit time must be at least 3, not 2$"),
    ({"hit": 5, "miss": 4}, ValueError, r"^miss time must be at least 5, not 4$"),
    ({"banks": 1}, ValueError, r"^bank count must be at least 2, not 1$"),
    ({"banks": 6, "words": 64}, ValueError, r"^bank count must be a power of two, not 6$"),
    ({"words": 2}, ValueError, r"^word count must be at least 4, not 2$"),
    ({"words": 24}, ValueError, r"^word count must be a power of two, not 24$"),
])
def test_refuses(bad, kind, message):
    with pytest.raises(kind, match=message):
        CacheBanks(**GOOD | bad)


@unit
@pytest.mark.parametrize(("hit", "miss"), [
    (3, 3), *(pytest.param(*delays, marks=pytest.mark.thorough)
              for delays in ((3, 4), (4, 5), (3, 9), (6, 6)))])
def test_rtl_is_the_model_in_every_cycle(simulate, hit, miss):
    """Every length of delay: none, a register, a memory."""
    dut = CacheBanks(**GOOD | {"hit": hit, "miss": miss})
    rng, now = random.Random(f"{hit} {miss}"), {"misses": 0}
    words = [0] * 16
    model = CacheModel(words, units=3, banks=2, hit=hit, miss=miss,
                       misses=lambda bank: bool(now["misses"] >> bank & 1))
    answered = []

    async def bench(ctx):
        held, tags = [None] * 3, [deque(range(4)) for _ in range(3)]
        writes, fresh = {}, list(range(16))
        for _ in range(400):
            now["misses"] = rng.getrandbits(2) & rng.getrandbits(2)
            ctx.set(dut.misses, now["misses"])
            for p, port in enumerate(dut.ports):
                if held[p] is None and tags[p] and rng.random() < 0.8:
                    first = p == 0 and fresh  # what was never written is not read
                    address = fresh.pop() if first else rng.randrange(16)
                    write = bool(first) or rng.random() < 0.5
                    held[p] = TaggedAccess(tags[p].popleft(), address, write, rng.getrandbits(8))
                ctx.set(port.request.valid, held[p] is not None)
                if held[p] is not None:
                    ctx.set(port.request.payload, {"tag": held[p].tag, "write": held[p].write,
                                                   "address": held[p].address,
                                                   "data": held[p].data})
            responses, taken = model.responses(), model.step(held)
            for p, port in enumerate(dut.ports):
                if held[p] is not None:
                    assert ctx.get(port.request.ready) == taken[p]
                assert ctx.get(port.response.valid) == (responses[p] is not None)
                if responses[p] is not None:
                    tag, word = responses[p]
                    assert ctx.get(port.response.payload.tag) == tag
                    assert fresh or writes[p, tag] or ctx.get(port.response.payload.data) == word
                    tags[p].append(tag)
                    answered.append(p)
                if taken[p]:
                    writes[p, held[p].tag], held[p] = held[p].write or bool(fresh), None
            await ctx.tick()
    simulate(dut, bench, properties.CacheBanksCheck(dut))
    assert {answered.count(p) > 100 for p in range(3)} == {True}


@unit
def test_no_answer_is_later_than_a_miss():
    """Misses that are due together with the hits after them: the last hit takes a miss's time."""
    taken, last = {}, 0
    cache = CacheModel(list(range(9)), units=1, hit=3, miss=6, misses=lambda path: len(taken) < 3)
    for cycle in range(20):
        for answer in filter(None, cache.responses()):
            last = max(last, cycle - taken[answer[0]] + 1)
        access = TaggedAccess(cycle, cycle, False, 0) if cycle < 9 else None
        assert cache.step([access]) == [access is not None]
        taken[cycle] = cycle
    assert last == cache.worst == cache_bounds.cache_access(ports=1, miss=6) == 6


@unit
@pytest.mark.parametrize("seed", range(5))
def test_any_traffic_keeps_the_bound(seed):
    rng = random.Random(seed)
    miss = rng.choice((4, 7, 12))
    cache = random_cache([0] * 8, units=3, banks=2, hit=3, miss=miss, miss_rate=rng.random())
    tags, held = [set(range(8)) for _ in range(3)], [None] * 3
    for _ in range(1000):
        for unit, answer in enumerate(cache.responses()):
            if answer is not None:
                tags[unit].add(answer[0])
        held = [access or (TaggedAccess(tags[unit].pop(), rng.randrange(8), False, 0)
                           if tags[unit] else None) for unit, access in enumerate(held)]
        held = [None if took else access
                for access, took in zip(held, cache.step(held), strict=True)]
    assert 3 + 1 < cache.worst <= cache_bounds.cache_access(ports=3, miss=miss)


@unit
def test_misses_are_drawn_at_their_rate():
    for rate in (0.0, 0.1, 0.5, 1.0):
        misses = random_misses(rate)
        drawn = [misses(bank) for bank in range(4) for _ in range(1000)]
        assert abs(sum(drawn) / len(drawn) - rate) < 0.02


def ask(simulate, dut, *, tags=4):
    """All ports store and load words 0 and 1, as often as it is answered."""
    async def bench(ctx):
        rng = random.Random(3)
        held, free = [None] * 3, [set(range(tags)) for _ in range(3)]
        for _ in range(60):
            ctx.set(dut.misses, rng.getrandbits(2))
            for p, port in enumerate(dut.ports):
                if held[p] is None and free[p]:
                    held[p] = free[p].pop()
                    ctx.set(port.request.payload, {
                        "tag": held[p], "address": rng.randrange(2),
                        "write": rng.random() < 0.5, "data": rng.getrandbits(8)})
                ctx.set(port.request.valid, held[p] is not None)
            for p, port in enumerate(dut.ports):
                if held[p] is not None and ctx.get(port.request.ready):
                    held[p] = None
                if ctx.get(port.response.valid):
                    free[p].add(ctx.get(port.response.payload.tag))
            await ctx.tick()
    simulate(dut, bench, properties.CacheBanksCheck(dut))


def _plant(fault):
    def plant(m, inner, outer):
        port = outer.ports[0]
        if fault == "lost":
            m.d.comb += port.response.valid.eq(0)
        elif fault == "twice":
            m.d.comb += port.response.valid.eq(1)
        elif fault == "starved":
            m.d.comb += [port.request.ready.eq(0), inner.ports[0].request.valid.eq(0)]
        elif fault == "changed":
            m.d.comb += port.response.payload.data.eq(~inner.ports[0].response.payload.data)
        else:
            m.d.comb += [port.request.ready.eq(1), outer.ports[1].request.ready.eq(1)]
    return plant


@unit
@pytest.mark.parametrize(("fault", "says"), [
    ("lost", "port 0: not answered within 6 cycles"),
    ("twice", "port 0: an answer without a request"),
    ("starved", "port 0: not taken within 3 cycles"),
    ("changed", "port 0: another word than the last that was stored"),
    ("crowded", "two accesses to one word at once")])
def test_checker_fires(simulate, tampered, only, fault, says):
    only(says, properties)
    dut = tampered(CacheBanks(**GOOD), _plant(fault))
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        ask(simulate, dut)


@unit
def test_checker_is_silent_without_a_fault(simulate, tampered):
    dut = tampered(CacheBanks(**GOOD), lambda m, inner, outer: None)
    ask(simulate, dut)


@unit
def test_checker_wants_its_neighbours_to_keep_the_rules(simulate):
    dut = CacheBanks(**GOOD)

    async def bench(ctx):
        ctx.set(dut.ports[0].request.valid, 1)
        for _ in range(3):
            await ctx.tick()
    with pytest.raises(AssertionError, match="port 0: a tag that is under way is offered"):
        simulate(dut, bench, properties.CacheBanksCheck(dut))


@unit
def test_bounds():
    assert cache_bounds.cache_hit(hit=4) == 4
    assert cache_bounds.cache_crowd(ports=3, accesses=1, miss=9,
                                    tag_width=1) == cache_bounds.cache_access(ports=3, miss=9)
    with pytest.raises(NotCovered, match=r"^accesses must be at most 4, .*, not 5$"):
        cache_bounds.cache_crowd(ports=3, accesses=5, miss=9, tag_width=2)
    with pytest.raises(NotCovered, match=r"^miss must be a whole number of at least 2, not 1$"):
        cache_bounds.cache_access(ports=1, miss=1)


class LastFirst(CacheModel):
    """Of the hits that wait, the last is answered first."""

    def responses(self):
        for _, prompt in self._due:
            ripe = [place for place, answer in enumerate(prompt) if answer[0] <= self._now]
            if ripe:
                prompt.appendleft(prompt[ripe[-1]])
                del prompt[ripe[-1] + 1]
        return super().responses()


@unit
@pytest.mark.parametrize("model", [CacheModel, LastFirst])
def test_the_search_finds_hits_in_a_wrong_order(model):
    """As on the RTL, whose every cycle is compared with the model: `cache_banks_search`."""
    p = {"ports": 2, "banks": 2, "words": 16, "tag_width": 3, "hit": 3, "miss": 7}
    adversary = CacheBanksAdversary(SimpleNamespace(rng=random.Random(4), parameters=p))

    def worst(traffic):
        banks = model([0] * p["words"], units=2, banks=2, hit=p["hit"], miss=p["miss"],
                      misses=lambda bank: bool(misses >> bank & 1))
        left, tags = [deque(some) for some in traffic.accesses], [deque(range(8)) for _ in range(2)]
        held, cycle = [None, None], 0
        while any(left) or any(held) or any(len(free) < 8 for free in tags):
            misses = traffic.misses[cycle % len(traffic.misses)]
            for port, answer in enumerate(banks.responses()):
                tags[port].extend([] if answer is None else [answer[0]])
                if held[port] is None and left[port] and tags[port]:
                    _, address, write = left[port].popleft()
                    held[port] = TaggedAccess(tags[port].popleft(), address, write, 0)
            for port, taken in enumerate(banks.step(held)):
                held[port] = None if taken else held[port]
            cycle += 1
        return banks.worst

    found = climbed(climb(adversary.fresh, adversary.changed, tries=60, patience=30), worst)
    allowed = cache_bounds.cache_access(ports=2, miss=p["miss"])
    assert found.value == allowed if model is CacheModel else found.value > allowed
