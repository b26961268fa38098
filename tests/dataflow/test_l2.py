# amaranth: UnusedElaboratable=no
"""The second-level cache: RTL against golden model and a plain memory; bounds; planted faults."""

import random
from types import SimpleNamespace

import pytest

from cyclebound.golden.arbiter import RoundRobinModel
from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dataflow import cache as golden
from cyclebound.golden.dataflow.cache import LineAnswer, LineRequest
from cyclebound.golden.dataflow.cache_policies import REPLACEMENTS
from cyclebound.golden.dataflow.l2 import L2Model
from cyclebound.golden.dataflow.l2_bounds import l2_flush, l2_read, l2_served, l2_taken
from cyclebound.golden.dataflow.line_cache_bounds import line_access
from cyclebound.golden.dataflow.line_memory import LineMemoryModel
from cyclebound.hdl.dataflow import banked_cache
from cyclebound.hdl.dataflow.banked_cache import divided
from cyclebound.hdl.dataflow.l2 import L2
from cyclebound.sim.catalogue import load
from cyclebound.sim.proof.explore import ExploredTop, Reach, longest_request
from cyclebound.tb.dataflow.cache_search import Times
from cyclebound.tb.dataflow.l2 import shape_of
from cyclebound.tb.dataflow.l2_environment import L2Environment
from cyclebound.tb.dataflow.l2_search import L2Adversary
from cyclebound.tools.hill_climb import climb, climbed
from kit.faults import edited

unit = pytest.mark.unit
TINY = {"ports": 2, "size": 24, "line": 2, "banks": 3, "ways": 2, "channels": 3, "misses": 2,
        "targets": 2, "address_width": 6, "id_width": 2, "width": 8, "replacement": "lru"}


@unit
@pytest.mark.parametrize(("bad", "kind", "message"), [
    ({"ports": 0}, ValueError, r"^port count must be at least 1, not 0$"),
    ({"id_width": 0}, ValueError, r"^id width must be at least 1, not 0$"),
    ({"width": "8"}, TypeError, r"^width must be an integer, not '8'$"),
    ({"size": 32}, ValueError,
     r"^cache size must be a power of two for each bank, 3 of them, not 32$"),
    ({"size": 36}, ValueError,
     r"^cache size must be a power of two for each bank, 3 of them, not 36$"),
    ({"channels": 4}, ValueError, r"^channel count must be from 1 to 3, not 4$"),
    ({"channels": 0}, ValueError, r"^channel count must be from 1 to 3, not 0$"),
    ({"line": 16}, ValueError,
     r"^a line must have 8 words at most, a bank's share of the cache, not 16$"),
    ({"misses": 5}, ValueError, r"^miss registers must be 4 at most, the lines of a bank, not 5$"),
    ({"address_width": 4}, ValueError,
     r"^addresses must have 5 bits at least, as the cache has 24 words, not 4$"),
])
def test_refuses(bad, kind, message):
    with pytest.raises(kind, match=message):
        L2(**TINY | bad)


@unit
@pytest.mark.parametrize("by", [1, 2, 3, 5, 6, 7, 8, 12, 31])
def test_a_constants_quotients(by):
    """All values of eight bits, as hardware has them."""
    from amaranth.hdl import Module, Signal
    from amaranth.sim import Simulator
    m, value = Module(), Signal(8)
    quotient, rest = divided(value, by)
    out = Signal(8), Signal(8)
    m.d.comb += [out[0].eq(quotient), out[1].eq(rest)]
    sim = Simulator(m)

    async def bench(ctx):
        for number in range(256):
            ctx.set(value, number)
            assert (ctx.get(out[0]), ctx.get(out[1])) == divmod(number, by)
    sim.add_testbench(bench)
    sim.run()


class Cores:
    """Ports that read and write lines, memories below, and a plain memory that has all words."""

    def __init__(self, p, rng, *, turn, latency, load=1.0, choose=None, requests=None):
        self.p, self.rng, self.load = p, rng, load
        self.line, width = p["line"], p["width"]
        self.words = [rng.getrandbits(width) for _ in range(1 << p["address_width"])]
        self.plain = list(self.words)
        self.memories = [LineMemoryModel(
            self.words, line=self.line, turn=turn, latency=latency,
            choose=choose or (lambda *most: tuple(rng.randint(1, end) for end in most)))
            for _ in range(p["channels"])]
        self.turn, self.latency = turn, latency
        self.held = [None] * p["ports"]
        self.ids = [list(range(2 ** p["id_width"])) for _ in self.held]
        self.under_way, self.since = {}, [0] * p["ports"]
        self.left = requests or [[] for _ in self.held]
        self.pauses = [some[0][0] if some else 0 for some in self.left]
        self.now = self.worst = self.longest_wait = self.longest_serve = 0

    def draw(self, count, *, lines, writes):
        """So many requests of each port, half of them of a few lines of one set."""
        p, rng = self.p, self.rng
        step, last = p["size"] // p["ways"] // self.line, len(self.words) // self.line
        for some in self.left:
            some += [(0 if rng.random() < self.load else 1 + rng.randrange(4),
                      rng.randrange(lines) * step % last if rng.random() < 0.5
                      else rng.randrange(last), rng.random() < writes) for _ in range(count)]

    @property
    def busy(self):
        return any(self.left) or any(self.held) or self.under_way

    def offers(self):
        rng = self.rng
        for port, some in enumerate(self.left):
            if some and self.held[port] is None and (some[0][2] or self.ids[port]):
                if self.pauses[port] == 0:
                    _, line, write = some.pop(0)
                    self.held[port] = LineRequest(
                        0 if write else self.ids[port].pop(0), line, write,
                        rng.choice((2**self.line - 1, rng.getrandbits(self.line))) * write,
                        tuple(rng.getrandbits(self.p["width"]) for _ in range(self.line))
                        if write else ())
                    self.since[port] = self.now
                    self.pauses[port] = some[0][0] if some else 0
                else:
                    self.pauses[port] -= 1
        return self.held

    def end(self, responses, taken):
        """Reads have the words that were written last."""
        for port, response in enumerate(responses):
            if response is not None:
                since, taken_at, wanted = self.under_way.pop((port, response.id))
                self.worst = max(self.worst, self.now - since + 1)
                self.longest_serve = max(self.longest_serve, self.now - taken_at + 1)
                assert wanted == list(response.data), f"port {port}: another line"
                self.ids[port].append(response.id)
        for port, request in enumerate(self.held):
            if request is not None and taken[port]:
                self.longest_wait = max(self.longest_wait, self.now - self.since[port] + 1)
                first = request.line * self.line
                if request.write:
                    for place, word in enumerate(request.data):
                        if request.mask >> place & 1:
                            self.plain[first + place] = word
                else:
                    self.under_way[port, request.id] = (
                        self.since[port], self.now, self.plain[first:first + self.line])
                self.held[port] = None
        self.now += 1
        assert self.now < 20_000, "requests are not answered"


def on_model(cores, model, *, flush=True):
    """Returns the cycles of a flush at the end."""
    def cycle(flush=False):
        held, responses, done = cores.offers(), model.responses(), model.flushed(flush)
        takes = [memory.takes(asked) for memory, asked in zip(
            cores.memories, model.line_requests(), strict=True)]
        taken = model.advance(held, lines_taken=takes, lines=[
            memory.answer() for memory in cores.memories], flush=flush)
        for memory, took in zip(cores.memories, takes, strict=True):
            memory.step(took)
        cores.end(responses, taken)
        return done

    while cores.busy:
        cycle()
    start = cores.now
    while flush and not cycle(flush=True):
        pass
    assert not flush or cores.words == cores.plain, "memory after a flush"
    return cores.now - start


def model_of(p):
    return L2Model(ports=p["ports"], shape=shape_of(p), channels=p["channels"])


def on_rtl(simulate, dut, cores, model=None):
    """With ``model``, it is compared in every cycle; without, what it asks for is believed."""
    p = cores.p
    mask = 2 ** p["width"] - 1

    def words_of(payload):
        data = payload.data.as_bits() if hasattr(payload.data, "as_bits") else payload.data
        return tuple(data >> p["width"] * k & mask for k in range(p["line"]))

    def asked_of(ctx, request, wanted):
        if not ctx.get(request.valid):
            return None
        payload = ctx.get(request.payload)
        if not payload.write:
            return LineRequest(payload.id, payload.line, False)
        words = words_of(payload)
        if wanted is not None and wanted.write:
            words = tuple(word if payload.mask >> k & 1 else wanted.data[k]
                          for k, word in enumerate(words))
        return LineRequest(0, payload.line, True, payload.mask, words)

    async def bench(ctx):
        async def cycle(flush=False):
            held = cores.offers()
            ctx.set(dut.flush, flush)
            for port, request in zip(dut.ports, held, strict=True):
                ctx.set(port.request.valid, request is not None)
                if request is not None:
                    ctx.set(port.request.payload, {
                        "id": request.id, "line": request.line, "write": request.write,
                        "mask": request.mask, "data": list(request.data) or [0] * p["line"]})
            wanted = [None] * p["channels"] if model is None else model.line_requests()
            asked = [asked_of(ctx, port.request, its)
                     for port, its in zip(dut.lines, wanted, strict=True)]
            takes = [memory.takes(one) for memory, one in zip(cores.memories, asked, strict=True)]
            answers = [memory.answer() for memory in cores.memories]
            for port, took, answer in zip(dut.lines, takes, answers, strict=True):
                ctx.set(port.request.ready, took)
                ctx.set(port.response.valid, answer is not None)
                if answer is not None:
                    ctx.set(port.response.payload, {"id": answer.id, "data": list(answer.data)})
            responses = [LineAnswer(ctx.get(port.response.payload.id),
                                    words_of(ctx.get(port.response.payload)))
                         if ctx.get(port.response.valid) else None for port in dut.ports]
            taken = [bool(ctx.get(port.request.ready)) and request is not None
                     for port, request in zip(dut.ports, held, strict=True)]
            done = bool(ctx.get(dut.flushed))
            if model is not None:
                assert (asked, done) == (wanted, model.flushed(flush)), cores.now
                assert responses == model.responses(), cores.now
                assert taken == model.advance(held, lines_taken=takes, lines=answers, flush=flush)
            for memory, took in zip(cores.memories, takes, strict=True):
                memory.step(took)
            cores.end(responses, taken)
            await ctx.tick()
            return done

        while cores.busy:
            await cycle()
        while not await cycle(flush=True):
            pass
        assert cores.words == cores.plain, "memory after a flush"
    simulate(dut, bench)


@unit
@pytest.mark.parametrize("changes", [
    {}, *(pytest.param(changes, marks=pytest.mark.thorough) for changes in (
        {"banks": 6, "channels": 2, "size": 48}, {"banks": 5, "channels": 1, "size": 20, "ways": 1},
        {"banks": 1, "channels": 1, "size": 8}, {"banks": 2, "channels": 2, "size": 16, "ports": 3},
        {"banks": 7, "channels": 4, "size": 56, "ports": 1}, {"line": 1, "size": 12},
        {"misses": 1, "targets": 1, "replacement": "fifo"}, {"ways": 4, "ports": 5}))])
def test_rtl_is_the_model_in_every_cycle(simulate, changes):
    p = TINY | changes
    cores = Cores(p, random.Random(f"{changes}"), turn=2, latency=7, load=0.8)
    cores.draw(60, lines=p["ways"] + 1, writes=0.4)
    model = model_of(p)
    on_rtl(simulate, L2(**p), cores, model)
    assert all(model.counts[event] for event in ("hits", "missed", "written"))


def drawn(seed):
    """A cache, memories below it, and its traffic, of any size."""
    rng = random.Random(seed)
    line, banks, ways, sets = (rng.choice((1, 2, 4)), rng.choice((1, 2, 3, 5, 6)),
                               rng.choice((1, 2, 4)), rng.choice((1, 2)))
    size = line * banks * ways * sets
    p = {"ports": rng.choice((1, 2, 3, 5)), "id_width": rng.choice((1, 2, 3)), "size": size,
         "line": line, "banks": banks, "channels": rng.choice((1, rng.randint(1, banks), banks)),
         "ways": ways, "targets": rng.randint(1, 4), "misses": rng.randint(1, min(4, ways * sets)),
         "width": 8, "address_width": (size - 1).bit_length() + rng.choice((1, 1, 2)),
         "replacement": rng.choice(REPLACEMENTS)}
    cores = Cores(p, rng, turn=rng.choice((1, 2, 5)), latency=rng.choice((1, 2, 7, 20)),
                  load=rng.choice((1.0, 0.5)))
    cores.draw(40, lines=ways + 1, writes=rng.choice((0.1, 0.4, 0.9)))
    return p, cores


@unit
@pytest.mark.parametrize("seeds", [
    range(15), pytest.param(range(15, 3000), marks=pytest.mark.thorough)])
def test_any_traffic_keeps_words_and_bounds(seeds):
    nearest = 0.0
    for seed in seeds:
        p, cores = drawn(seed)
        known = p | {"turn": cores.turn, "latency": cores.latency}
        cycles = on_model(cores, model_of(p))
        for worst, claim in ((cores.worst, l2_read), (cores.longest_wait, l2_taken),
                             (cores.longest_serve, l2_served)):
            assert worst <= claim.of(known), (seed, claim.name, worst, claim.of(known))
        assert cycles <= l2_flush.of(known | {"dirty": shape_of(p).rows, "under_way": 1})
        nearest = max(nearest, cores.worst / l2_read.of(known))
    assert nearest > 0.6


FAULTS = {
    "a read is answered with an older line": (
        "hdl.dataflow.cache_bank", "m.d.comb += self.found.eq(load.data)",
        "m.d.sync += self.found.eq(load.data)"),
    "a write is of the whole line": (
        "hdl.dataflow.cache_bank", "return made.mask if self.whole", "return every if self.whole"),
    "a write is answered": (
        "hdl.dataflow.banked_cache",
        "silent = Mux(replays[p].any(), written, access.write) if self._whole else 0",
        "silent = 0"),
    "a channel's lines go to the bank of another one": (
        "hdl.dataflow.banked_cache", "(of == channel + place * step)", "(of == place * step)"),
    "a bank asks for another bank's line": (
        "hdl.dataflow.banked_cache", "asks.line.eq(ask.line * self.banks + number)",
        "asks.line.eq(ask.line * self.banks + channel)"),
    "a reciprocal is a little too small": (
        "hdl.dataflow.banked_cache", "((1 << wide) // by + 1)", "((1 << wide) // by)"),
}


@unit
@pytest.mark.parametrize("fault", [
    *list(FAULTS)[:1],
    *(pytest.param(fault, marks=pytest.mark.thorough) for fault in list(FAULTS)[1:])])
def test_a_plain_memory_shows_a_planted_fault(simulate, monkeypatch, fault):
    """No model is there: what is read, or what is in memory after a flush, is wrong."""
    where, old, new = FAULTS[fault]
    wrong = edited(f"cyclebound.{where}", (old, new))
    if where.endswith("cache_bank"):
        monkeypatch.setattr(banked_cache, "CacheBank", wrong.CacheBank)
    else:
        monkeypatch.setattr(banked_cache.BankedCache, "elaborate", wrong.BankedCache.elaborate)
        monkeypatch.setattr(banked_cache.BankedCache, "_below", wrong.BankedCache._below)
    p = TINY | {"banks": 6, "channels": 3, "size": 48, "address_width": 8}
    cores = Cores(p, random.Random(3), turn=1, latency=5)
    cores.draw(120, lines=3, writes=0.5)
    with pytest.raises((AssertionError, KeyError, IndexError, AttributeError)):
        on_rtl(simulate, L2(**p), cores)


@unit
@pytest.mark.thorough
def test_no_fault_is_seen_where_there_is_none(simulate):
    p = TINY | {"banks": 6, "channels": 3, "size": 48, "address_width": 8}
    cores = Cores(p, random.Random(3), turn=1, latency=5)
    cores.draw(120, lines=3, writes=0.5)
    on_rtl(simulate, L2(**p), cores)


class PriorityModel(RoundRobinModel):
    """The port with the lowest number goes first, always."""

    def step(self, requests, accept):
        self._queue.sort(reverse=True)
        return super().step(requests, accept)


@unit
@pytest.mark.parametrize("turns", [RoundRobinModel, pytest.param(
    PriorityModel, marks=pytest.mark.thorough)])
def test_the_search_finds_a_core_that_starves(monkeypatch, turns):
    """As on the RTL, whose every cycle is compared with the model: `l2_search`."""
    monkeypatch.setattr(golden, "RoundRobinModel", turns)
    p = TINY | {"ports": 4, "banks": 1, "channels": 1, "size": 2, "ways": 1, "misses": 1,
                "targets": 1}
    turn, latency = 2, 6
    adversary = L2Adversary(SimpleNamespace(rng=random.Random(4), parameters=p), turn, latency)

    def worst(traffic):
        cores = Cores(p, random.Random(1), turn=turn, latency=latency, choose=Times(traffic),
                      requests=[list(some) for some in traffic.accesses])
        on_model(cores, model_of(p), flush=False)
        return cores.worst

    tries = 25 if turns is RoundRobinModel else 150
    found = climbed(climb(adversary.fresh, adversary.changed, tries=tries, patience=40), worst)
    allowed = l2_read.of(p | {"turn": turn, "latency": latency})
    assert (found.value <= allowed) == (turns is RoundRobinModel), (found.value, allowed)


@pytest.mark.proof
@pytest.mark.thorough
@pytest.mark.parametrize("edits", [(), (("& ~self.fill.valid & ~draining & ~self.flush",
                                         "& ~self.fill.valid & ~filled.all() & ~self.flush"),
                                        ("self.waits.eq(draining & ~self.fill.valid)",
                                         "self.waits.eq(draining & ~self.fill.valid & ~self.valid)")
                                        )])
def test_every_state_of_two_banks(monkeypatch, edits):
    """A core is answered within the bound, and takes as long; unless what has waited has to wait
    for what is new as well, and then for ever."""
    if edits:
        monkeypatch.setattr(banked_cache, "CacheBank",
                            edited("cyclebound.hdl.dataflow.cache_bank", *edits).CacheBank)
    p = TINY | {"ports": 1, "banks": 1, "channels": 1, "size": 2, "ways": 2, "line": 1,
                "misses": 1, "targets": 1, "address_width": 2, "id_width": 1, "width": 1}
    cache, memory = L2(**p), {"turn": 1, "latency": 2}
    probe, = (binding.probe for binding in load().find("dataflow.l2").bounds
              if binding.what == "read")
    found = longest_request(
        ExploredTop(cache, L2Environment(cache, lines=3, **memory), probe, index={"p": 0},
                    kind=memory), where="a cache", reach=Reach(states=400_000, seconds=120))
    assert found.cycles == (None if edits else l2_read.of(p | memory))


@unit
def test_bounds():
    """One core, bank and channel: as a first-level cache's, whose tags are no limit."""
    known = TINY | {"ports": 1, "banks": 1, "channels": 1, "turn": 2, "latency": 9}
    assert l2_read.of(known) == line_access.of(known | {"tag_width": 8, "policy": "write-back"})
    assert l2_taken.of(known) + l2_served.of(known) - 1 == l2_read.of(known)
    made = 4 + 4 * 4 * 6  # lines that come, and requests that waited
    table_1 = {"banks": 6, "misses": 4, "targets": 4, "latency": 40}
    assert l2_served(channels=6, turn=1, **table_1) == 1 + 42 + made
    assert l2_served(channels=4, turn=3, **table_1) == 6 + 42 + made
    assert l2_flush.of(known | {"dirty": 4, "under_way": 0}) == 1 + 12 + 4 * 3
    with pytest.raises(NotCovered, match=r"^channels must be 6 at most, the banks, not 7$"):
        l2_served(banks=6, channels=7, misses=4, targets=4, turn=1, latency=40)
