# amaranth: UnusedElaboratable=no
"""End to end: parameters, bounds against the paper's formulas, a small system cycle by cycle."""

import dataclasses
import json
import random

import pytest
from amaranth.back import rtlil

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram.page_bounds import refresh_delay, row_change
from cyclebound.golden.dram.page_controller import PageControllerModel
from cyclebound.golden.dram.queued_request import QueuedRequest
from cyclebound.golden.dram.timing import DDR3_1600_MODULE
from cyclebound.golden.noc import composition_corrected as corrected
from cyclebound.golden.noc import end_to_end as bounds
from cyclebound.golden.noc.composition import row_conflict
from cyclebound.golden.noc.end_to_end_data import WORD_BYTES, word
from cyclebound.golden.noc.visible_timing import DDR
from cyclebound.hdl.noc.compute_tile import ComputeTile
from cyclebound.hdl.noc.dma_rx import DmaRx
from cyclebound.hdl.noc.end_to_end import EndToEnd
from cyclebound.sim.drawing.drawing import write
from cyclebound.sim.pictures import end_to_end as pictures
from cyclebound.sim.run.job import Job, run_job
from cyclebound.tb.noc.start_search import APART, OTHERS, longest_start
from kit.run_bench import run_bench

unit = pytest.mark.unit
PATH = {"nbytes": 4096, "delta": 5, "window": 512, "period": 1024}


@unit
@pytest.mark.parametrize(("changes", "kind", "message"), [
    ({"requesters": 1}, ValueError, r"^requesters must be from 2 to 32, not 1$"),
    ({"delta": 1}, ValueError, r"^delta must be at least 2, not 1$"),
    ({"rivals": 8}, ValueError, r"^rivals must be from 0 to 7, not 8$"),
    ({"nbytes": 8192}, ValueError, r"^bytes must be a power of two from 256 to 4096, not 8192$"),
    ({"nbytes": 768}, ValueError, r"^bytes must be a power of two from 256 to 4096, not 768$"),
    ({"nbytes": "4k"}, TypeError, r"^bytes must be an integer, not '4k'$"),
    ({"quarters": 5}, ValueError, r"^quarters must be from 1 to 4, not 5$"),
    ({"cap": -1}, ValueError, r"^cap must be at least 0, not -1$"),
])
def test_refuses(changes, kind, message):
    with pytest.raises(kind, match=message):
        EndToEnd(**changes)


@unit
@pytest.mark.parametrize("rivals", [0])
def test_a_small_one_converts_without_rivals(rivals):
    system = EndToEnd(requesters=2, nbytes=256, delta=2, rivals=rivals)
    assert "attribute \\top 1" in rtlil.convert(system)


# Bounds

@unit
def test_bounds_by_hand():
    assert bounds.fill(nbytes=4096, requesters=11) == 5632 + 1
    assert bounds.first_packet(requesters=1) == 64 + 5
    assert bounds.first_packet(requesters=11) == 352 + 4
    # one packet that just misses its window: T - L + 89 cycles more than the crossing
    assert bounds.flow(**{**PATH, "nbytes": 256}, requesters=1, opened=1) == 512 + 89 + 90
    # right after reset, of which the first window may open in cycle 1,023 + 2: the bank is filled
    # and read in 33 and 69 cycles before the packet is ready, which itself counts
    assert bounds.flow(**{**PATH, "nbytes": 256}, requesters=1) == 1025 - (33 + 69) + 90
    for requesters in (1, 11):
        assert bounds.flow(**PATH, requesters=requesters) == bounds.flow(
            **PATH, requesters=requesters, opened=1)


@unit
@pytest.mark.parametrize(("competitors", "cap", "bursts", "hits"), [
    # two requests, the first one granted after N_trans others at worst, and n + 2 = 10 more bursts
    (8, 9, 16 + 10 - 7, 1),   # the second one follows the first one
    (2, 9, 4 + 10 - 1, 1),
    (8, 7, 16 + 10, 0),       # the cap forbids it
    (8, 0, 16 + 10 - 7, 1),   # there is none
])
def test_one_packet_among_others_by_hand(competitors, cap, bursts, hits):
    """Of 64 words the 32nd comes out 34 cycles after the last flit, the 64th 66. Either both are
    granted one after the other, or the first one was at once, and only the second one waits."""
    network = (32 + 1) + 69 + (512 + 89 + 90) + 2 + 32
    found = bounds.total(**{**PATH, "nbytes": 256}, requesters=1, competitors=competitors,
                         quarters=3, cap=cap, part="ddr3-1600-module", opened=1)
    # one refresh, at worst of the burst that would find its row open
    both = bounds.span(network, 3) + 51 * bursts - 47 * hits + 47 * hits
    second = bounds.span(network + 32, 3) + 51 * (competitors + 10)
    assert found == max(both, second) + 208 - 1 + 8 + 4


@unit
def test_refreshes_among_others_by_hand():
    """32 requests of a transaction: 259 bursts after 51 cycles, but for 16 after 4. In these 12,457
    cycles, and what refreshes add, there are five: each adds 208 + 47. Four intervals of 3,124
    are in 12,457 + 5 x 255 - 208, and five are not in 12,457 + 6 x 255 - 208."""
    rare = dataclasses.replace(DDR3_1600_MODULE, nREFI=1_000_000)
    often, seldom = (bounds.total(**PATH, requesters=1, competitors=8, quarters=3, cap=9, part=part)
                     for part in ("ddr3-1600-module", rare))
    assert 4 * 3124 <= 12_457 + 5 * 255 - 208 < 5 * 3124 > 12_457 + 6 * 255 - 208
    assert often - seldom == 4 * 255


@unit
def test_refreshes_must_leave_time_for_the_requests():
    for changes, says in (
            ({"nREFI": 840}, "nREFI must be at least 841, for what a refresh delays to be over"),
            ({"nCCD_S": 17, "nCCD_L": 17}, "nCCD must be at most 16, half of the time in which a")):
        with pytest.raises(NotCovered, match=says):
            bounds.total(**PATH, requesters=1, competitors=1, quarters=3, cap=9,
                         part=dataclasses.replace(DDR3_1600_MODULE, **changes))


@unit
@pytest.mark.parametrize(("nbytes", "interval", "early"), [
    (256, 3124, 0), (4096, 3124, 1), (4096, 3125, 0)])
def test_alone_a_refresh_meets_the_last_request(nbytes, interval, early):
    """It finds its row open without one. An interval that is a multiple of four has refreshes in
    one of every four cycles; the last request of 4 KiB is decided on a cycle after such a one."""
    found = bounds.total(**{**PATH, "nbytes": nbytes}, requesters=1, competitors=1, quarters=3,
                         cap=9, opened=1,
                         part=dataclasses.replace(DDR3_1600_MODULE, nREFI=interval))
    alone = 4622 if nbytes == 4096 else (
        bounds.span((32 + 1) + 69 + (512 + 89 + 90) + 66, 3) + 1 + 4 + 2 + 8 + 4 - 1)
    assert found == alone + 11 + 208 + 11 - early


def last_beat(part, offers, begins):
    """By the page controller's model: the cycle of the last beat, if writes of one row are on offer
    from these cycles on, after ``begins``, and refreshes fall due in each multiple of nREFI."""
    model, waiting, row, end = PageControllerModel(part, close=False, postpone=1), [], True, 0
    for now in range(begins + offers[-1] + 3 * part.nREFI):
        waiting += [QueuedRequest(4, True, 0, 0, 0, 0)] * offers.count(now - begins)
        if row and now == 1:  # one before all, which opens the row
            waiting, row = [QueuedRequest(4, True, 0, 0, 0, 0)], False
        taken, _, _, beat, _ = model.step(waiting[0] if waiting else None)
        waiting = waiting[1:] if taken else waiting
        end = now if beat is not None and beat.beat == part.nBURST - 1 else end
    return end - begins


@unit
@pytest.mark.parametrize("changes", [{"nRFC": 40}, {"nRFC": 60, "nCCD_S": 6, "nCCD_L": 6},
                                     {"nRFC": 30, "nWR": 40}])
def test_alone_is_the_worst_of_all_alignments_by_a_model(changes):
    part = dataclasses.replace(DDR3_1600_MODULE, **changes)
    least = 3 * (row_change(part) + refresh_delay(part)) + 64
    part = dataclasses.replace(part, nREFI=4 * -(-least // 4))
    gaps = (32, 60, 32, 32)
    whole = [100 + sum(gaps[:number]) for number in range(5)]
    for phase in range(3):
        # on offer to the page controller 5 cycles after it is whole, which counts from 1
        offers = [cycle + 5 - 1 for cycle in whole]
        worst = max(last_beat(part, offers, 2 * part.nREFI - early) for early in
                    range(whole[0], offers[-1] + 40) if (2 * part.nREFI - early - phase) % 4 == 0)
        allowed = bounds._alone(whole, phase, part) + part.nCWD + part.nBURST - 1
        assert worst + 1 == allowed


@unit
@pytest.mark.parametrize("requesters", [1, 2, 3, 7, 11])
def test_reading_two_packets_ahead_is_no_later_than_one(requesters):
    path = bounds.transaction(requesters=requesters, competitors=1)
    for ready in range(0, 1024, 7):
        two, one = bounds.arrivals(path, ready), corrected.arrivals(path, ready)
        slack = 5 if requesters == 1 else 0  # cycles of the interface, which has a flit in each
        assert all(mine <= theirs + slack for mine, theirs in zip(two, one, strict=True))


@unit
@pytest.mark.parametrize("requesters", range(1, 12))
@pytest.mark.parametrize("competitors", [1, 8])
def test_hardware_adds_little_to_the_composition(requesters, competitors):
    """Registers; what is read ahead, and rows that are open, may make up for it."""
    path = bounds.transaction(requesters=requesters, competitors=competitors)
    ideal = corrected.end_to_end(path, row_conflict()).total  # with refreshes, as ours
    ours = DDR(bounds.total(**PATH, requesters=requesters, competitors=competitors, quarters=3,
                            cap=9, part="ddr3-1600-module")).to(path.path.noc)
    # first packet, reception, front end and reorder core, and the crossing of clocks
    registers = 37 + 66 + 5 * 3 // 4 + 2
    assert ours.amount <= ideal.amount + registers


@unit
@pytest.mark.parametrize("quarters", [1, 2, 3, 4])
def test_span_is_the_longest_that_so_many_cycles_take(quarters):
    goes = [cycle for cycle in range(60) if cycle % 4 < quarters]
    for count in range(1, 10):
        assert bounds.span(count, quarters) == max(
            last - first + 1 for first, last in zip(goes, goes[count - 1:], strict=False))


@unit
@pytest.mark.parametrize("competitors", [1, 8])
def test_stages_add_up_to_the_whole(competitors):
    path = bounds.transaction(requesters=3, competitors=competitors)
    parameters = {"quarters": 3, "cap": 9, "part": "ddr3-1600-module"}
    found = bounds.stages(path, 600, **parameters)
    assert list(found) == ["fill", "first_packet", "flow", "dram"]
    assert found["fill"] == 3 * 512 + 1
    assert found["flow"] == bounds.arrivals(path, 600)[-1]
    assert sum(found.values()) * 4 / 3 == bounds.written(path, 600, **parameters)


# The picture

@unit
def test_picture_of_the_stages(tmp_path):
    stages = {"fill": 500, "first_packet": 60, "flow": 1500, "dram": 80}
    kept = [{"requesters": requesters, "competitors": competitors, "measured": stages,
             "bound": {**stages, "dram": 90}}
            for requesters, competitors in ((1, 1), (2, 1), (1, 2), (1, 3), (11, 8))]
    figure = pictures.stages(kept)
    assert [axes.get_title() for axes in figure.axes] == [
        "N_trans = 1 at DDR3", "N_trans = 8 at DDR3", "N_req = 1 at local memory"]
    assert [len(axes.patches) for axes in figure.axes] == [2 * 2 * 4, 2 * 4, 3 * 2 * 4]
    first = figure.axes[0].patches[:8]
    assert [bar.get_height() for bar in first] == [500, 60, 1500, 80, 500, 60, 1500, 90]
    assert [bar.get_y() for bar in first] == [0, 500, 560, 2060] * 2
    assert "70%" in [text.get_text() for text in figure.axes[0].texts]
    write(figure, path := tmp_path / "picture.svg")
    before = path.read_text()
    write(pictures.stages(kept), path)
    assert path.read_text() == before


# The parts

@unit
@pytest.mark.parametrize("requesters", [2, 5])
@pytest.mark.parametrize("saturated", [False, True])
def test_compute_tile_sends_what_its_core_has_written(requesters, saturated):
    tile, words = ComputeTile(requesters=requesters, words=16), 16
    sent = []

    async def bench(ctx):
        ctx.set(tile.saturate, (1 << requesters) - 1 if saturated else 0)
        ctx.set(tile.source.ready, 1)
        ctx.set(tile.transactions.ready, 1)
        asked = None
        for cycle in range(40 + 2 * 16 * requesters + 20):
            ctx.set(tile.fills.payload.words, words)
            ctx.set(tile.fills.valid, cycle == 20)
            ctx.set(tile.source.ready, cycle % 7 != 3)
            if ctx.get(tile.transactions.valid):
                assert asked is None
                asked = ctx.get(tile.transactions.payload.words)
            if ctx.get(tile.source.valid) and cycle % 7 != 3:
                sent.append(ctx.get(tile.source.payload))
            await ctx.tick()
        assert asked == 2 * words

    run_bench(tile, bench)
    text = b"".join(word(index, words).to_bytes(WORD_BYTES, "little") for index in range(words))
    assert b"".join(flit.to_bytes(4, "little") for flit in sent) == text


@unit
def test_a_compute_tile_uses_the_bank_that_it_is_told():
    """Two transactions from different banks, while others hammer one of them."""
    tile = ComputeTile(requesters=4, words=32, banks=3)
    sent, asked = [], []
    jobs = [{"bank": 2, "word": 3, "words": 16, "seed": 7, "route": 1, "address": 5},
            {"bank": 0, "word": 16, "words": 16, "seed": 9, "route": 2, "address": 6}]

    async def bench(ctx):
        ctx.set(tile.saturate, 0b1100)
        for who in range(4):
            ctx.set(tile.at[who], 2)
        ctx.set(tile.source.ready, 1)
        ctx.set(tile.transactions.ready, 1)
        waiting = list(jobs)
        for _ in range(400):
            ctx.set(tile.fills.valid, bool(waiting))
            if waiting:
                ctx.set(tile.fills.payload, waiting[0])
                if ctx.get(tile.fills.ready):
                    del waiting[0]
            if ctx.get(tile.transactions.valid):
                asked.append(ctx.get(tile.transactions.payload.address))
            if ctx.get(tile.source.valid):
                sent.append(ctx.get(tile.source.payload))
            await ctx.tick()
        assert ctx.get(tile.fills.ready)
        for job in jobs:  # what a core finds there
            for number in range(job["words"]):
                ctx.set(tile.look, {"valid": 1, "bank": job["bank"], "word": job["word"] + number})
                while not ctx.get(tile.seen.valid):  # the others' turns
                    await ctx.tick()
                assert ctx.get(tile.seen.data) == word(number, 32, job["seed"])
                ctx.set(tile.look.valid, 0)
                await ctx.tick()

    run_bench(tile, bench)
    assert asked == [5, 6]
    text = b"".join(word(index, 32, job["seed"]).to_bytes(WORD_BYTES, "little")
                    for job in jobs for index in range(16))
    assert b"".join(flit.to_bytes(4, "little") for flit in sent) == text


@unit
@pytest.mark.parametrize("wrong", [0, 1, 3, 6])
def test_dma_rx_refuses_slots(wrong):
    with pytest.raises(ValueError,
                       match=f"^slots must be a power of two of at least 2, not {wrong}$"):
        DmaRx(slots=wrong)


@unit
def test_dma_rx_asks_when_a_burst_is_whole_and_keeps_its_words():
    tile = DmaRx(slots=4)
    asked = []

    async def bench(ctx):
        for number in range(128):
            ctx.set(tile.words.valid, 1)
            ctx.set(tile.words.payload.address, 320 + number)
            ctx.set(tile.words.payload.data, 0x1000 + number)
            ctx.set(tile.request.ready, number % 40 == 39)
            assert ctx.get(tile.words.ready)
            if ctx.get(tile.request.valid) and number % 40 == 39:
                asked.append((number, ctx.get(tile.request.payload.slot),
                              ctx.get(tile.request.payload.place)))
            await ctx.tick()
        assert not ctx.get(tile.words.ready)  # all slots are in use
        ctx.set(tile.words.valid, 0)
        ctx.set(tile.request.ready, 1)
        while ctx.get(tile.request.valid):
            asked.append((None, ctx.get(tile.request.payload.slot),
                          ctx.get(tile.request.payload.place)))
            await ctx.tick()
        for beat in range(4):  # out of order; the ring goes on with the oldest
            ctx.set(tile.fetch, {"valid": 1, "slot": 2, "beat": beat})
            await ctx.tick()
        ctx.set(tile.fetch.valid, 0)
        await ctx.tick()
        beat = ctx.get(tile.data).to_bytes(32, "little")
        assert beat == b"".join((0x1000 + 32 * 2 + 8 * 3 + lane).to_bytes(4, "little")
                                for lane in range(8))
        assert not ctx.get(tile.words.ready)
        ctx.set(tile.fetch, {"valid": 1, "slot": 0, "beat": 3})
        await ctx.tick()
        assert ctx.get(tile.words.ready)

    run_bench(tile, bench)
    assert asked == [(39, 0, 10), (79, 1, 11), (119, 2, 12), (None, 3, 13)]


@unit
def test_what_is_written_differs_from_word_to_word():
    text = bounds.contents(4096)
    assert len(text) == 4096
    assert len({text[at:at + 32] for at in range(0, 4096, 32)}) == 128


@pytest.mark.thorough
@pytest.mark.cosim
def test_the_write_arrives_on_the_rtl(tmp_path):
    outcome = run_job(Job("noc.end_to_end", "paper", "cycle", 1, str(tmp_path), test="alone"))
    assert outcome.passed, outcome.reason
    assert {group.what for group in outcome.groups} == {"fill", "first_packet", "flow", "total"}
    kept = json.loads((tmp_path / "stages.json").read_text())
    assert [(row["requesters"], row["competitors"]) for row in kept] == [(1, 1), (3, 1)]
    assert all(row["measured"] == row["bound"] for row in kept)
    # what the bounds would be if no refresh were counted: those of a write that none delays
    without = [4622, 6325]
    for row, plain in zip(kept, without, strict=True):
        assert row["refreshes"]
        assert row["took"] == plain + 11 + 208 + 11 - 1 > plain


# The search for the longest start

def written_from(requesters, competitors):
    """What the write takes from each place of the period, of a system that is as slow as it may."""
    path = bounds.transaction(requesters=requesters, competitors=competitors)
    return [bounds.written(path, place, quarters=3, cap=9, part="ddr3-1600-module")
            for place in range(1024)]


def searched(took, seed):
    return longest_start(lambda place: took[place], len(took), step=32, sample=8,
                         rng=random.Random(seed))


@unit
@pytest.mark.parametrize("competitors", [1, 8])
@pytest.mark.parametrize("requesters", [1, 3, 11])
def test_the_search_finds_the_longest_start(requesters, competitors):
    """So that a bound which is a cycle too low would be exceeded; of 1,024 starts it tries a few.

    At most 4 % of the starts are within 32 cycles of the longest: no luck finds it.
    """
    took = written_from(requesters, competitors)
    assert sum(cycles > max(took) - 32 for cycles in took) < 64
    for seed in range(5):
        place, seen = searched(took, seed)
        assert took[place] == max(took) == seen[place]
        assert len(seen) < 200
        assert all(took[start] == value for start, value in seen.items())


@unit
def test_the_search_finds_planted_looseness():
    """A system in which a packet that just fits its window is sent in the next one after all, and
    one that takes some cycles more from a few starts before that."""
    for requesters in (1, 3, 11):
        took = written_from(requesters, 1)
        allowed, worst = max(took), took.index(max(took))
        late = list(took)
        late[worst - 1] = late[worst] + 1  # the first that does not fit is one sooner
        place, _ = searched(late, requesters)
        assert (late[place], place) == (allowed + 1, (worst - 1) % 1024)
        late = [cycles + 3 * ((place - worst) % 1024 < 3) for place, cycles in enumerate(took)]
        assert late[searched(late, requesters)[0]] == allowed + 3


def delayed_by_refreshes(end, changes=lambda number: 0):
    """What a write takes of which the last request is decided on ``end`` cycles after its start, by
    the start: the network's cycle in an interval of refreshes. ``changes`` adds to it."""
    took = []
    for number in range(2343):
        start = number // 3 * 4 + number % 3
        since = (start + end) % 3124  # the last refresh fell due
        took.append(end + max(0, 230 - since) + changes(number))
    return took


@unit
@pytest.mark.parametrize("end", [4610, 6313, 9001])
def test_the_search_finds_the_refresh_that_delays_most(end):
    """With a grid of 96 cycles, since 230 DDR cycles are 172 of the network; and what is planted
    there: a refresh that takes a cycle longer if it falls due with the last request."""
    took = delayed_by_refreshes(end)
    worst = max(took)
    late = delayed_by_refreshes(end, lambda number: took[number] == worst)
    for seed in range(5):
        for function, longest in ((took, worst), (late, worst + 1)):
            number, seen = longest_start(lambda number, takes=function: takes[number], len(took),
                                         step=APART, sample=OTHERS, rng=random.Random(seed))
            assert function[number] == longest
            assert len(seen) < 130
