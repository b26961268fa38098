# amaranth: UnusedElaboratable=no
"""The end-to-end read: parameters, its parts, its bounds by hand and by models, the RTL."""

import dataclasses
import functools
import random
from typing import ClassVar

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module
from amaranth.lib import wiring

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram.page_controller import PageControllerModel
from cyclebound.golden.dram.queued_request import QueuedRequest
from cyclebound.golden.dram.rules import Command
from cyclebound.golden.dram.timing import DDR3_1600_MODULE
from cyclebound.golden.noc import end_to_end_read as bounds
from cyclebound.hdl.noc.bank_writer import BankWriter
from cyclebound.hdl.noc.dma_tx import DmaTx
from cyclebound.hdl.noc.end_to_end_read import EndToEndRead
from cyclebound.hdl.sram.banked_memory import SramBank
from cyclebound.sim import catalogue
from cyclebound.sim.run.job import Job, run_job, simulate
from cyclebound.tb.noc import end_to_end_read as testbench
from kit.faults import edited
from kit.run_bench import run_bench

unit = pytest.mark.unit
PART = "ddr3-1600-module"
PATH = {"nbytes": 4096, "delta": 5, "window": 512, "period": 1024}
WHOLE = {**PATH, "quarters": 3, "packets": 2, "cap": 9, "part": PART}


@unit
@pytest.mark.parametrize(("changes", "kind", "message"), [
    ({"requesters": 1}, ValueError, r"^requesters must be from 2 to 32, not 1$"),
    ({"delta": 1}, ValueError, r"^delta must be at least 2, not 1$"),
    ({"rivals": 8}, ValueError, r"^rivals must be from 0 to 7, not 8$"),
    ({"nbytes": 8192}, ValueError, r"^bytes must be a power of two from 256 to 4096, not 8192$"),
    ({"nbytes": 768}, ValueError, r"^bytes must be a power of two from 256 to 4096, not 768$"),
    ({"quarters": 5}, ValueError, r"^quarters must be from 1 to 4, not 5$"),
    ({"packets": 1}, ValueError, r"^packets must be at least 2, not 1$"),
    ({"packets": "two"}, TypeError, r"^packets must be an integer, not 'two'$"),
    ({"cap": -1}, ValueError, r"^cap must be at least 0, not -1$"),
])
def test_refuses(changes, kind, message):
    with pytest.raises(kind, match=message):
        EndToEndRead(**changes)


@unit
def test_a_small_one_converts_without_rivals():
    system = EndToEndRead(requesters=2, nbytes=256, delta=2, rivals=0, quarters=4)
    assert "attribute \\top 1" in rtlil.convert(system)


# The parts

@unit
@pytest.mark.parametrize("wrong", [0, 1, 3, 6])
def test_dma_refuses_slots(wrong):
    with pytest.raises(ValueError,
                       match=f"^slots must be a power of two of at least 2, not {wrong}$"):
        DmaTx(part=PART, slots=wrong)


@unit
@pytest.mark.parametrize(("slots", "seed"), [(2, 0), (2, 1), (4, 2), (8, 3)])
def test_dma_passes_on_in_order_what_comes_in_any(slots, seed):
    """Descriptors of more bursts than it has slots, beats whenever they like, and words taken
    whenever: those of each descriptor, in order; no slot is asked for while it is in use."""
    dma, rng = DmaTx(part=PART, slots=slots), random.Random(seed)
    descriptors = [(rng.randrange(8), rng.randrange(9), rng.randrange(100), rng.randint(1, 12))
                   for _ in range(4)]
    beats, passed, expected = {}, [], []
    for bank, row, column, bursts in descriptors:
        for burst in range(column, column + bursts):
            beats[bank, row, burst] = [rng.getrandbits(256) for _ in range(4)]
            for beat in beats[bank, row, burst]:
                expected += [beat >> 32 * lane & 0xFFFFFFFF for lane in range(8)]

    async def bench(ctx):
        waiting, in_use, coming, todo = {}, set(), None, list(descriptors)
        transactions, overtaken = [], 0
        for _ in range(20_000):
            ctx.set(dma.descriptors.valid, bool(todo))
            if todo:
                bank, row, column, bursts = todo[0]
                ctx.set(dma.descriptors.payload, {
                    "bank": bank, "row": row, "column": column, "bursts": bursts,
                    "route": 5, "address": 7})
            takes, asks = rng.random() < 0.7, rng.random() < 0.5
            ctx.set(dma.words.ready, takes)
            ctx.set(dma.request.ready, asks)
            ctx.set(dma.transactions.ready, rng.random() < 0.2)
            if coming is None and waiting and rng.random() < 0.3:
                tag = rng.choice(list(waiting))
                overtaken += tag != next(iter(waiting))
                coming = (tag, waiting.pop(tag), 0)
            ctx.set(dma.deliver.valid, coming is not None)
            if coming is not None:
                tag, place, beat = coming
                ctx.set(dma.deliver.tag, tag)
                ctx.set(dma.deliver.beat, beat)
                ctx.set(dma.deliver.data, beats[place][beat])
            if ctx.get(dma.request.valid) and asks:
                request = ctx.get(dma.request.payload)
                assert request.tag not in in_use
                assert not request.write
                in_use.add(request.tag)
                waiting[request.tag] = (request.bank, request.row, request.column)
            if ctx.get(dma.words.valid) and takes:
                passed.append(ctx.get(dma.words.payload))
                if len(passed) % 32 == 0:  # its slot is free in the next cycle
                    in_use.remove(len(passed) // 32 % slots - 1 if len(passed) // 32 % slots
                                  else slots - 1)
            if ctx.get(dma.transactions.valid) and ctx.get(dma.transactions.ready):
                asked = ctx.get(dma.transactions.payload)
                transactions.append((asked.route, asked.address, asked.words))
            if todo and ctx.get(dma.descriptors.ready):
                todo.pop(0)
            await ctx.tick()
            if coming is not None:
                coming = None if coming[2] == 3 else (*coming[:2], coming[2] + 1)
            if len(passed) == len(expected) and len(transactions) == len(descriptors):
                break
        assert transactions == [(5, 7, 32 * bursts) for *_, bursts in descriptors]
        assert overtaken

    run_bench(dma, bench)
    assert passed == expected


@unit
def test_dma_drops_what_is_no_read():
    dma, refused = DmaTx(part=PART, slots=2), []
    wrong = [(0, 0), (0, DDR3_1600_MODULE.bursts_per_row + 1),
             (DDR3_1600_MODULE.bursts_per_row - 1, 2)]

    async def bench(ctx):
        ctx.set(dma.descriptors.valid, 1)
        for column, bursts in [*wrong, (DDR3_1600_MODULE.bursts_per_row - 1, 1)]:
            ctx.set(dma.descriptors.payload.column, column)
            ctx.set(dma.descriptors.payload.bursts, bursts)
            assert ctx.get(dma.descriptors.ready)
            refused.append(ctx.get(dma.refused))
            await ctx.tick()
        ctx.set(dma.descriptors.valid, 0)
        assert ctx.get(dma.request.valid)
        assert ctx.get(dma.request.payload.column) == DDR3_1600_MODULE.bursts_per_row - 1

    run_bench(dma, bench)
    assert refused == [1, 1, 1, 0]


@unit
@pytest.mark.parametrize("seed", range(4))
def test_bank_writer_writes_what_comes(seed):
    """Runs of words from any address, of any length; the bank is another's now and then."""
    rng, words = random.Random(seed), 32
    m = Module()
    m.submodules.writer = writer = BankWriter(words=words)
    m.submodules.bank = bank = SramBank(requesters=2, words=words, word_bytes=8)
    wiring.connect(m, writer.bank, bank.ports[0])
    runs = [(start, rng.randint(1, 2 * words - start)) for start in
            (rng.randrange(2 * words) for _ in range(12))]
    halves, stream = {}, []
    for start, length in runs:
        for number in range(length):
            word = rng.getrandbits(32)
            halves[start + number] = word
            stream.append((start + number, word, number == length - 1))

    async def bench(ctx):
        other, waiting, idle = bank.ports[1].request, list(stream), 0
        while idle < 20:
            ctx.set(other.valid, bool(waiting) and rng.random() < 0.4)
            offers = bool(waiting) and rng.random() < 0.8
            ctx.set(writer.received.valid, offers)
            if offers:
                address, word, last = waiting[0]
                ctx.set(writer.received.payload, {"address": address, "data": word, "last": last})
            taken = ctx.get(writer.received.ready) and offers
            await ctx.tick()
            waiting = waiting[1:] if taken else waiting
            idle = 0 if waiting else idle + 1
        ctx.set(other.valid, 1)
        ctx.set(writer.received.valid, 0)
        for word in range(words):
            ctx.set(other.payload.address, word)
            await ctx.tick()
            found = ctx.get(bank.ports[1].response.data)
            for half in (0, 1):
                if 2 * word + half in halves:
                    assert found >> 32 * half & 0xFFFFFFFF == halves[2 * word + half]

    run_bench(m, bench)


# Bounds

@unit
def test_bounds_by_hand():
    """The precharge is on the pins 7 cycles after the descriptor, the activate 11 later, and the
    first read 29 after it. A refresh waits for nRAS: 18 + 28, then 11 + 208 + 11; 30 more reads
    follow the second one, and a burst's last beat is 14 after its read."""
    assert bounds.read_data(competitors=1, nbytes=4096, cap=9, part=PART) == (
        18 + 28 + 11 + 208 + 11 + 30 * 4 + 14 + 1)
    # 8 turns and 16 issues for the first burst, and the missed grant's and the last one's
    assert bounds.read_data(competitors=8, nbytes=128, cap=9, part=PART) == (
        51 * (8 + 16 + 2) + 208 + 11 + 4)
    assert bounds.read_stored(**PATH, requesters=1, packets=2) == 4 + 1 + 31 * 2
    assert bounds.read_stored(**PATH, requesters=2, packets=2) == 4 + 2 + 31 * 2
    # seven packets in a row, each of which takes 96 of 66 cycles; the first pair's wait counts once
    assert bounds.read_stored(**PATH, requesters=3, packets=16) == 4 + 3 + 31 * 3 + 6 * (96 - 66)


@unit
@pytest.mark.parametrize(("changes", "says"), [
    ({"cap": 0, "competitors": 8}, "cap must be at least 1, not 0"),
    ({"nbytes": 384}, "bytes must be whole packets of 256, not 384"),
    ({"requesters": 3}, "window must let a receiver with room for 2 packets keep up with 3"),
    ({"part": dataclasses.replace(DDR3_1600_MODULE, nREFI=300)}, "nREFI must be at least 397"),
])
def test_not_covered(changes, says):
    with pytest.raises(NotCovered, match=says):
        bounds.read_total(**{**WHOLE, "requesters": 1, "competitors": 1, **changes})


@unit
def test_a_flow_among_others_is_not_covered():
    with pytest.raises(NotCovered, match="competitors must be 1, not 2"):
        bounds.read_flow(**WHOLE, requesters=1, competitors=2)


def pins_by_model(part, bursts, phase, early):
    """By the page controller's model: when the reads are on the pins, in cycles after a descriptor
    of that phase, with a refresh due ``early`` cycles before the precharge could be decided on, if
    another row is open."""
    model = PageControllerModel(part, close=False, postpone=1)
    due = 4 * part.nREFI
    begins = due + early - 6
    if begins % 4 != phase:
        return None
    waiting, pins, now = [QueuedRequest(0, False, 0, 1, 0, 0)], [], 0
    while now < begins - part.nREFI // 2:  # its row stays open
        waiting = waiting if not model.step(waiting[0] if waiting else None)[0] else []
        now += 1
    waiting = [QueuedRequest(0, False, 0, 1, 0, 0)]
    while len(pins) < bursts:
        if now == begins + 5:
            waiting = [QueuedRequest(0, False, 0, 0, number, 0) for number in range(bursts)]
        taken, command, *_ = model.step(waiting[0] if waiting else None)
        if command is not None and command.op is Command.RD and now > begins:
            pins.append(now - begins)
        waiting = waiting[1:] if taken else waiting
        now += 1
    return pins


@unit
@pytest.mark.parametrize("changes", [
    {}, {"nRFC": 40}, {"nCCD_S": 6, "nCCD_L": 6}, {"nRTP": 14, "nRAS": 24}, {"nRFC": 1}])
def test_alone_is_the_worst_of_all_alignments_by_a_model(changes):
    """Each course of the model is one that is allowed, or earlier; and each that is allowed for the
    first burst or the second one is reached."""
    part, bursts = dataclasses.replace(DDR3_1600_MODULE, nREFI=2000, **changes), 4
    for phase in range(4):
        found = [pins for early in range(-60, 20)
                 if (pins := pins_by_model(part, bursts, phase, early)) is not None]
        allowed = [bounds._alone(bursts, phase, met, part) for met in range(bursts)]
        for pins in found:
            assert any(all(mine <= most for mine, most in zip(pins, course, strict=True))
                       for course in allowed), (phase, pins, allowed)
        assert max(pins[-1] for pins in found) == max(course[-1] for course in allowed)
        assert max(pins[0] for pins in found) == allowed[0][0]


def deepest(whole, opens, quarters):
    """Bursts in the DMA, cycle by cycle, if they come in these DDR cycles and the window is closed
    until so many of the network have gone by: an interface with room for two packets."""
    here = passed = deep = sent = 0
    for cycle in range(whole[-1] + 1):
        here += cycle in whole
        deep = max(deep, here - passed // 32)
        began = [come for come in whole if come + 2 <= cycle]
        ready = min(32 * len(began), 128 + (sent // 66 * 64))
        if cycle % 4 < quarters:
            passed += passed < ready
            sent += cycle > opens
    return deep


@unit
@pytest.mark.parametrize("quarters", [1, 2, 3, 4])
def test_the_queue_by_a_model(quarters):
    """Bursts that come as soon as they may are the worst, in all alignments to the network."""
    rng, worst = random.Random(quarters), 0
    allowed = bounds.read_queue(nbytes=4096, quarters=quarters, part="ddr3-1600-module")
    for _ in range(60):
        whole, most = [rng.randrange(4)], rng.choice((4, 4, 5, 20, 60))
        while len(whole) < 32:
            whole.append(whole[-1] + rng.randint(4, most))
        worst = max(worst, deepest(whole, rng.choice((0, 40, 1 << 16)), quarters))
    assert worst == allowed


@unit
def test_what_a_read_has_queued_and_how_long_its_stages_take():
    events = testbench.ReadEvents(
        taken=[5, 100], whole=[20, 110, 114, 160], passed=[*range(40, 72), *range(112, 176)],
        arrived=[90, 200], stored=[95, 210])
    assert testbench.queued(events) == 2  # the first one's last word goes in cycle 143
    events.passed[32:] = range(200, 264)
    assert testbench.queued(events) == 3

    class Bench:
        parameters: ClassVar = {"quarters": 3}

    took = testbench.stages(events, Bench())
    assert {name: cycles * 4 / 3 for name, cycles in took.items()} == {
        "data": 61, "network": 40, "stored": 10}
    assert sum(took.values()) * 4 / 3 == testbench.took(events)


@unit
@pytest.mark.parametrize("competitors", [1, 8])
def test_stages_add_up_to_the_whole(competitors):
    kind = {"requesters": 3, "competitors": competitors, "nbytes": 4096, "delta": 5, "window": 156,
            "period": 1024, "quarters": 3, "packets": 2, "cap": 9, "part": "ddr3-1600-module"}
    found = bounds.read_stages(**kind)
    assert list(found) == ["data", "network", "stored"]
    assert min(found.values()) > 0
    assert sum(found.values()) * 4 / 3 == bounds.read_total(**kind)


# The rule of the receiver

def stalls(requesters, packets, window, period, windows):
    """Whether a receiver of so many packets lets its link wait: one cycle after the other, all
    packets that fit in each of some windows, the bank granted as late as it may be."""
    payload, flits, crossing = 64, 66, 24
    row = (window - crossing) // flits
    arrives = {start * period + number * flits + flit: flit
               for start in range(windows) for number in range(row) for flit in range(flits)}
    room, part, entries = packets * (payload + 1), 0, []  # of whole packets: True at a header
    received, even, write, wait, inside, opens = None, False, False, 0, 0, 0
    for now in range((windows + 1) * period):
        granted = write and wait == 0
        free = not write or granted
        takes = received is not None and (not even or free)
        shown, done = received, granted
        if (inside == 0 and entries) or (inside and (received is None or takes)):
            head = entries.pop(0) if entries else None
            if head:
                inside, received = payload, (None if takes else received)
            elif head is not None:
                inside, received = inside - 1, True
            elif takes:
                received = None
        elif takes:
            received = None
        wait -= write and not done
        if done:
            write, opens = False, now
        if takes and shown is not None:
            if even:
                write = True
                wait = requesters - 1
            even = not even
        if now in arrives:
            if len(entries) + part == room:
                return True
            part += arrives[now] > 0
            if arrives[now] == flits - 1:
                entries += [True] + [False] * payload
                part = 0
    assert opens
    return False


@unit
@pytest.mark.parametrize("packets", [2, 3, 4, 8, 16])
def test_a_receiver_that_keeps_to_the_rule_never_stalls(packets):
    """And one that does not, does, but for rules that are within a packet of being kept."""
    kept = broken = strict = 0
    for requesters in range(1, 13):
        for window in range(90, 1000, 66):
            rule = bounds.receiver_keeps_up(requesters=requesters, packets=packets, delta=5,
                                            window=window, period=1024)
            seen = stalls(requesters, packets, window, 1024, 3)
            if not rule and not seen:  # what is left over may grow from window to window
                seen = stalls(requesters, packets, window, 1024, 20)
            assert not (rule and seen), (requesters, window)
            kept, broken, strict = kept + rule, broken + seen, strict + (not rule and not seen)
    assert kept > 10
    assert broken > 10
    assert strict < broken / 4


@unit
@pytest.mark.parametrize(("requesters", "packets", "window"), [
    (1, 2, 512), (2, 2, 512), (3, 2, 156), (3, 16, 512), (11, 16, 156), (5, 16, 420)])
def test_the_longest_window(requesters, packets, window):
    found = bounds.longest_window(requesters=requesters, packets=packets, delta=5, period=1024,
                                  most=512)
    assert found == window
    if window < 512:
        assert not bounds.receiver_keeps_up(requesters=requesters, packets=packets, delta=5,
                                            window=window + 66, period=1024)


@unit
def test_no_window_for_too_many_requesters():
    with pytest.raises(NotCovered, match="40 requesters write a packet in 1280 cycles"):
        bounds.longest_window(requesters=40, packets=16, delta=5, period=1024, most=512)


# The RTL

@pytest.mark.thorough
@pytest.mark.cosim
def test_the_read_on_the_rtl(tmp_path):
    """Alone it takes what the bound says, to the cycle."""
    outcome = run_job(Job("noc.end_to_end_read", "paper", "cycle", 1, str(tmp_path), test="alone"))
    assert outcome.passed, outcome.reason
    worst = {}
    for group in outcome.groups:
        worst[group.what] = max(worst.get(group.what, 0), group.latency)
    assert worst["data"] == bounds.read_data(competitors=1, nbytes=4096, cap=9, part=PART)
    assert worst["total"] == bounds.read_total(**WHOLE, requesters=1, competitors=1, opened=1)
    assert worst["stored"] == bounds.read_stored(**PATH, requesters=1, packets=2)


class LateToPass(EndToEndRead):
    """Its DMA passes nothing on before it has asked for all bursts."""

    @functools.cached_property
    def parts(self):
        made = edited(DmaTx.__module__, (
            "self.words.valid.eq(whole.bit_select(head, 1))",
            "self.words.valid.eq(whole.bit_select(head, 1) & (to_ask == 0))"))
        return {**super().parts, "dma": made.DmaTx(part=self.part, slots=self.slots)}


@pytest.mark.thorough
@pytest.mark.cosim
def test_a_queue_that_is_deeper_than_allowed_is_seen(tmp_path):
    block = dataclasses.replace(catalogue.load().find("noc.end_to_end_read"), component=LateToPass)
    outcome = simulate(block, Job("noc.end_to_end_read", "paper", "cycle", 1, str(tmp_path),
                                  test="alone"))
    assert not outcome.passed
    assert "bursts in the DMA's queue, 30 allowed" in outcome.reason
