"""The order of reads among other masters' writes, and how late they are: by hand, by models."""

import random
from dataclasses import replace

import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram.multi_port_front_end import MultiPortFrontEndModel
from cyclebound.golden.dram.page_bounds import refresh_delay, row_change
from cyclebound.golden.dram.page_controller import PageControllerModel
from cyclebound.golden.dram.queued_request import QueuedRequest
from cyclebound.golden.dram.reorder_core import ReorderCoreModel
from cyclebound.golden.dram.small_part import SMALL_SYSTEM
from cyclebound.golden.dram.timing import DDR3_1600_MODULE, Part
from cyclebound.golden.noc import shared_dram
from cyclebound.golden.noc.shared_dram import QUEUE, decided_reads, departures
from cyclebound.tb.noc.start_search import longest_start

unit = pytest.mark.unit
UNREFRESHED = 20_000  # longer than any read here


def reads_by_model(part, start, *, reads, masters, cap, postpone):
    """By the models of front end, reorder core and page controller: how many cycles after a
    descriptor in cycle ``start`` from reset each of its reads is on the pins."""
    front = MultiPortFrontEndModel(priorities=[4] * masters, limits=[0] * masters)
    reorder = ReorderCoreModel(entries=QUEUE, cap=cap, cycle=part.nRC)
    pages = PageControllerModel(part, close=False, postpone=postpone)
    offers, rows, left, now, pins = {}, [0] * masters, 0, 0, []
    while len(pins) < reads:
        for port in range(1, masters if now else 1):
            if port not in offers:
                rows[port] += 1
                offers[port] = QueuedRequest(4, True, 0, masters * rows[port] + port, 0, port)
        left += reads * (now == start + 1)
        if left:
            offers.setdefault(0, QueuedRequest(4, False, 0, 0, reads - left, 0))
        shown, come, space = reorder._shown, front._register, len(reorder.queue) < QUEUE
        taken, _, closed, _, _ = pages.step(shown)
        if taken and shown.tag == 0:
            pins.append(now + 1 - start)
        reorder.step(come.data if come else None, taken, closed)
        granted, _ = front.step(offers, space)
        if granted is not None:
            left -= granted == 0
            del offers[granted]
        now += 1
    return pins


def within(pins, courses):
    """Whether there is a course in which no read is sooner than here."""
    return any(all(took <= most for took, most in zip(pins, course, strict=True))
               for course in courses)


@unit
def test_refuses_no_cap_and_refreshes_that_are_too_close():
    with pytest.raises(NotCovered, match=r"^cap must be at least 1, not 0: without one, there is "
                                         "no bound$"):
        departures(1, masters=2, cap=0)
    close = replace(SMALL_SYSTEM, nREFI=18)
    with pytest.raises(NotCovered, match=r"^small system: nREFI must be at least 19, for a request "
                                         "to be decided on between two refreshes, not 18$"):
        decided_reads(1, masters=2, cap=9, part=close)
    assert decided_reads(1, masters=2, cap=9, part=replace(close, nREFI=19))


@unit
@pytest.mark.parametrize(("masters", "cap", "order"), [
    # read in its turn once it is in the queue: nine others overtake it, and four more have come
    (2, 9, "wwwwwwwwwwwRRRRRwwwwwRRRRRwwwwwRR"),
    (4, 9, "wwwwwwwwwwwwwRRRwwwwwwwwwRRRwwwwwwwwwRRRwwwwwwwwwRRR"),
    (8, 9, "wwwwwwwwwwwwwwwwwRRwwwwwwwwwwwwwwRR"),
    (2, 1, "wwwwwwwwwRwRwR"),  # as they came
])
def test_the_order_by_hand(masters, cap, order):
    assert departures(order.count("R"), masters=masters, cap=cap) == tuple(
        kind == "R" for kind in order)


@unit
@pytest.mark.parametrize("masters", [2, 3, *(pytest.param(masters, marks=pytest.mark.thorough)
                                                for masters in range(4, 9))])
def test_the_worst_start_is_what_the_models_take(masters):
    """Without a refresh, of all starts: the places in the time between two departures, for all
    turns of the others."""
    part, cap, reads = replace(SMALL_SYSTEM, rows=65536, columns=1024, nREFI=UNREFRESHED), 9, 12
    found = [reads_by_model(part, start, reads=reads, masters=masters, cap=cap, postpone=8)
             for start in range(300, 300 + row_change(part) * (masters - 1))]
    worst = [max(pins[number] for pins in found) for number in range(reads)]
    courses = decided_reads(reads, masters=masters, cap=cap, part=part)
    assert all(within(pins, courses) for pins in found)
    allowed = [max(course) for course in zip(*courses, strict=True)]
    # one refresh is counted: for the first read nRFC, then as many more as a closed row costs
    closed = part.nRAS + part.nRP + part.nRCD
    assert allowed[0] - worst[0] == refresh_delay(part)
    assert all(0 < most - took <= refresh_delay(part) + closed
               for most, took in zip(allowed, worst, strict=True))


def drawn(rng) -> Part:
    """A part with any numbers that the page controller takes."""
    cwd, rcd, ras = rng.randint(3, 9), rng.randint(2, 9), rng.randint(3, 28)
    cas, wtr = cwd + rng.randint(0, 4), rng.randint(1, 8)
    rrd, rp = rng.randint(1, 8), rng.randint(2, 9)
    ccd = min(rng.choice((4, 4, 4, 5, 6)), cas + 6 - cwd, cwd + 4 + wtr)
    part = replace(
        DDR3_1600_MODULE, name="drawn", banks=2, nRCD=rcd, nCAS=cas, nCWD=cwd, nRP=rp,
        nRAS=rcd + ras, nRC=rcd + ras + rp + rng.choice((0, 0, 5)), nRTP=rng.randint(2, 10),
        nWR=rng.randint(1, 17), nWTR_S=wtr, nWTR_L=wtr, nCCD_S=ccd, nCCD_L=ccd, nRRD_S=rrd,
        nRRD_L=rrd, nFAW=rng.choice((0, 20, rng.randint(0, 160))), nRFC=rng.choice((1, 5, 20, 60)),
        nREFI=UNREFRESHED, numbers={})
    least = max(part.nRFC, refresh_delay(part) + row_change(part)) + 1
    return replace(part, nREFI=least + rng.choice((0, 1, 5, 50, 300, 1000)))


def shares(seed, starts=6):
    """Of a drawn part and system, from some starts: shares of what is allowed."""
    rng = random.Random(seed)
    part, reads = drawn(rng), rng.choice((1, 2, 3, 6, 10))
    system = {"masters": rng.randint(2, 8), "cap": rng.choice((1, 2, 3, 5, 7, 8, 9, 9, 12))}
    courses = decided_reads(reads, part=part, **system)
    for _ in range(starts):  # right after reset, or among refreshes
        start = rng.choice((rng.randrange(30), rng.randrange(2000)))
        pins = reads_by_model(part, start, reads=reads, postpone=1, **system)
        assert within(pins, courses), (seed, start)
        yield pins[-1] / max(course[-1] for course in courses)


@unit
@pytest.mark.parametrize("batch", [0, *(pytest.param(batch, marks=pytest.mark.thorough)
                                        for batch in range(1, 9))])
def test_no_start_breaks_the_bound_of_any_part(batch):
    assert 0.9 < max(share for seed in range(60 if batch else 8)
                     for share in shares(1000 * batch + seed)) <= 1


@unit
@pytest.mark.thorough
@pytest.mark.parametrize("masters", [2, 3, 5, 8])
def test_every_start_between_refreshes(masters):
    """Each start in several intervals between refreshes; some come close to the last read's."""
    part = replace(SMALL_SYSTEM, rows=65536, columns=1024, nREFI=97)
    courses = decided_reads(6, masters=masters, cap=9, part=part)
    last = []
    for start in range(300, 300 + 5 * part.nREFI):
        pins = reads_by_model(part, start, reads=6, masters=masters, cap=9, postpone=1)
        assert within(pins, courses), start
        last.append(pins[-1])
    assert max(last) > 0.95 * max(course[-1] for course in courses)


@unit
def test_a_bound_that_forgets_a_turn_is_exceeded(monkeypatch):
    """The same starts, against an order in which the missed grant's request is not there."""
    part = replace(SMALL_SYSTEM, rows=65536, columns=1024, nREFI=UNREFRESHED)
    monkeypatch.setattr(shared_dram, "departures",
                        lambda *given, **system: departures(*given, **system)[1:])
    decided_reads.cache_clear()
    short = decided_reads(4, masters=3, cap=9, part=part)
    decided_reads.cache_clear()
    found = [reads_by_model(part, start, reads=4, masters=3, cap=9, postpone=8)[-1]
             for start in range(300, 300 + row_change(part) * 2)]
    assert max(found) > max(course[-1] for course in short) - refresh_delay(part)


@unit
@pytest.mark.thorough
def test_the_search_finds_planted_looseness():
    """Of all starts in two intervals between refreshes the longest, or one hardly shorter; and the
    longest of a system in which those that just miss one of the grants miss their next one, too."""
    part, masters, reads = replace(SMALL_SYSTEM, rows=65536, columns=1024, nREFI=300), 3, 6
    took = [reads_by_model(part, start, reads=reads, masters=masters, cap=9, postpone=1)[-1]
            for start in range(300, 300 + 2 * part.nREFI)]
    turns, worst = row_change(part) * (masters - 1), took.index(max(took))
    late = [cycles + turns * ((start - worst) % len(took) < turns)
            for start, cycles in enumerate(took)]
    for seed in range(5):
        for cycles, found in ((took, 0.99 * max(took)), (late, max(late) - 1)):
            start, seen = longest_start(cycles.__getitem__, len(cycles), rng=random.Random(seed),
                                        step=turns, sample=8)
            assert cycles[start] >= found
            assert len(seen) < len(cycles) / 4
