"""The timeline of DRAM requests against the controller's model, cycle by cycle."""

import random

import pytest

from cyclebound.golden.dram.buffer_table import BufferRequest, Mapping
from cyclebound.golden.dram.controller import DramControllerModel
from cyclebound.golden.dram.index_iterator import Element
from cyclebound.golden.dram.request import Destination
from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.simd.memory_timing import DramTimeline, scratchpad_cycles
from cyclebound.golden.simd.transfers import Access

pytestmark = pytest.mark.unit
PART = part_named("ddr4-3200aa-x16")
X, Y = 700, 300


def nothing():
    return None


class Controller:
    """The controller's model with one buffer, driven request by request."""

    def __init__(self):
        self.model = DramControllerModel(PART)
        self.model.step(mapping=Mapping(0, 0, X, Y))
        self.cycle = 1
        while not self.model.idle or self.cycle < 12:
            self._step()

    def _step(self, **more):
        shown = self.model.step(**more)
        self.cycle += 1
        return shown

    def request(self, cycle, request, elements=()):
        """Offer a request from a cycle on; the cycles of its taking and of its completion."""
        while self.cycle < cycle:
            self._step()
        taken = None
        coming = None
        for _ in range(200_000):
            more = {}
            if taken is None:
                more["request"] = request
            if coming:
                more["element"] = coming.pop(0)
            shown = self._step(**{key: value for key, value in more.items() if value is not None})
            if taken is None and shown.takes_request:
                taken = self.cycle - 1
            if shown.started:
                coming = list(elements)
            if shown.completion is not None:
                return taken, self.cycle - 1
        raise AssertionError("no completion")


@pytest.mark.parametrize("seed", [1, 2])
def test_tiles(seed):
    rng = random.Random(seed)
    controller, timeline = Controller(), DramTimeline(PART)
    cycle, refreshed = 20, 0
    for _ in range(24):
        words, count = rng.choice([(1, 1), (32, 32), (700, 2), (33, 7), (5, 1), (600, 40)])
        x, y, write = rng.randint(0, X - words), rng.randint(0, Y - count), rng.random() < 0.4
        request = BufferRequest(0, x, y, words, count, write=write, pitch=words,
                                destination=Destination.SCRATCHPAD)
        cycle += rng.choice([0, 1, 5, 400, 5000])
        taken, done = controller.request(cycle, request)
        access = Access("dram", write, y * X + x, words, X, count, X * Y, nothing)
        before = timeline.refreshes
        assert timeline.tile(taken, access) == done
        refreshed += timeline.refreshes > before
        cycle = done + 1
    assert refreshed > 2


@pytest.mark.parametrize(("share", "reach"), [(1.0, 1), (0.3, 1), (0.05, 1), (0.5, 1.4)])
def test_indexes(share, reach):
    rng = random.Random(7)
    controller, timeline = Controller(), DramTimeline(PART)
    cycle = 20
    for _ in range(4):
        items = 64
        lanes = [lane for lane in range(items) if rng.random() < share] or [9]
        indexes = tuple(rng.randrange(int(X * Y * reach)) for _ in lanes)
        write = rng.random() < 0.5
        request = BufferRequest(0, indexed=True, write=write, destination=Destination.REGISTERS)
        elements = [None] * items + [Element(end=True)]
        for lane, index in zip(lanes, indexes, strict=True):
            elements[lane] = Element(index, lane)
        taken, done = controller.request(cycle, request, elements)
        access = Access("dram", write, 0, 0, 0, 0, X * Y, nothing, indexes)
        assert timeline.indexed(taken, access, lanes, items) == done
        cycle = done + rng.choice([1, 300])


def test_indexes_that_wait_for_another_request():
    """With few lanes: a request starts shortly before the banks are closed, and its first index
    comes long after that."""
    controller, timeline = Controller(), DramTimeline(PART)
    tile = BufferRequest(0, 0, 0, 600, 40, pitch=600, destination=Destination.SCRATCHPAD)
    elements = [None] * 50 + [Element(70, 50)] + [None] * 13 + [Element(end=True)]
    indexed = BufferRequest(0, indexed=True, destination=Destination.REGISTERS)
    taken, offers, coming, done = [], [tile, indexed], [], []
    while len(done) < 2:
        more = {"request": offers[0]} if offers else {}
        if coming:
            more["element"] = coming.pop(0)
        shown = controller._step(**{key: value for key, value in more.items() if value is not None})
        if offers and shown.takes_request:
            taken.append(controller.cycle - 1)
            offers.pop(0)
        if shown.started and len(taken) == 2:
            coming = list(elements)
        if shown.completion is not None:
            done.append(controller.cycle - 1)
    access = Access("dram", False, 0, 600, X, 40, X * Y, nothing)
    assert timeline.tile(taken[0], access) == done[0]
    access = Access("dram", False, 0, 0, 0, 0, X * Y, nothing, (70,))
    assert timeline.indexed(taken[1], access, [50], 64) == done[1]


@pytest.mark.parametrize("pause", [0, 20, 60, 400])
def test_an_empty_tile_is_refused_after_the_request_before_it(pause):
    """Completions are one in a cycle."""
    controller, timeline = Controller(), DramTimeline(PART)
    tile = BufferRequest(0, 0, 0, 64, 2, pitch=64, destination=Destination.SCRATCHPAD)
    nowhere = BufferRequest(0, 0, 0, 0, 0, pitch=64, destination=Destination.SCRATCHPAD)
    taken, offers, done, earliest = [], [tile, nowhere], [], 0
    while len(done) < 2:
        more = {"request": offers[0]} if offers and controller.cycle >= earliest else {}
        shown = controller._step(**more)
        if more and shown.takes_request:
            taken.append(controller.cycle - 1)
            earliest = controller.cycle + pause
            offers.pop(0)
        if shown.completion is not None:
            done.append(controller.cycle - 1)
    access = Access("dram", False, 0, 64, X, 2, X * Y, nothing)
    assert timeline.tile(taken[0], access) == done[0]
    access = Access("dram", False, 0, 0, X, 0, X * Y, nothing)
    assert timeline.tile(taken[1], access) == done[1]
    assert (done[1] == done[0] + 1) == (pause < 400)


def test_indexes_that_are_all_beyond_the_buffer():
    controller, timeline = Controller(), DramTimeline(PART)
    request = BufferRequest(0, indexed=True, destination=Destination.REGISTERS)
    elements = [None, Element(X * Y), None, Element(X * Y + 5), Element(end=True)]
    taken, done = controller.request(20, request, elements)
    access = Access("dram", False, 0, 0, 0, 0, X * Y, nothing, (X * Y, X * Y + 5))
    assert timeline.indexed(taken, access, [1, 3], 4) == done


def lines_by_stepping(words, period, count, bus):
    """The bus's lines from the tile's first word on, one by one."""
    inside = {line * period + column for line in range(count) for column in range(words)}
    return len({word // bus for word in inside})


@pytest.mark.parametrize("bus", [4, 32])
def test_scratchpad_lines(bus):
    rng = random.Random(3)
    for _ in range(300):
        words = rng.randint(1, 70)
        period, count = words + rng.choice([0, 0, 1, 2, 17, 40]), rng.randint(1, 34)
        access = Access("scratchpad", False, 5, words, period, count, 1 << 14, nothing)
        assert scratchpad_cycles(access, bus) == lines_by_stepping(words, period, count, bus) + 1
    assert scratchpad_cycles(Access("scratchpad", False, 0, 0, 8, 4, 64, nothing), bus) == 1
