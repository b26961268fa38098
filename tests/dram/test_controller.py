# amaranth: UnusedElaboratable=no
"""DRAM controller: models by two routes, testbenches against planted faults, data harness."""

import dataclasses
import random

import numpy as np
import pytest
from amaranth.back import rtlil

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram import pipeline_bounds as bounds
from cyclebound.golden.dram.bounds import tile_issue_delay
from cyclebound.golden.dram.buffer_table import BufferRequest, Mapping, decide
from cyclebound.golden.dram.command_arbiter import schedule
from cyclebound.golden.dram.controller import (
    DramControllerModel,
    bursts_moved,
    words_moved,
)
from cyclebound.golden.dram.controller_data import DataRequest, DramDataModel, Result
from cyclebound.golden.dram.data_harness import (
    LANES,
    has_word,
    indexes_of,
    mixed,
    signature,
)
from cyclebound.golden.dram.index_bounds import indexed_issue_delay
from cyclebound.golden.dram.index_iterator import Element
from cyclebound.golden.dram.request import BURST_WORDS, Destination, Refusal
from cyclebound.golden.dram.rules import Command
from cyclebound.golden.dram.snoop_cam import Load
from cyclebound.golden.dram.timing import DDR4_3200AA_X16, PARTS
from cyclebound.hdl.dram.controller import DramController
from cyclebound.hdl.dram.controller_data_harness import DramDataHarness
from cyclebound.hdl.dram.stand_in import DramStandIn
from cyclebound.sim import catalogue
from cyclebound.sim.run.job import Job, simulate
from kit.faults import edited

unit, cosim, thorough = pytest.mark.unit, pytest.mark.cosim, pytest.mark.thorough
PART = DDR4_3200AA_X16
BLOCK = "dram.controller"


# Which words a request moves

def random_request(rng, mapping):
    destination = Destination(rng.randrange(3))
    common = {"write": rng.random() < 0.5, "destination": destination, "pitch": rng.randrange(300),
              "base": rng.choice((0, rng.randrange(1 << 20)))}
    if rng.random() < 0.4:
        return BufferRequest(mapping.buffer, indexed=True, **common)
    x, y = rng.randrange(mapping.x), rng.randrange(mapping.y)
    return BufferRequest(mapping.buffer, x, y, rng.randint(1, mapping.x - x),
                         rng.randint(1, mapping.y - y), **common)


@unit
@pytest.mark.parametrize("seed", range(60))
def test_bursts_hold_the_words_and_no_others(seed):
    """Word by word, from the rectangle or the list; and burst by burst, from the stages' models."""
    rng = random.Random(seed)
    mapping = Mapping(3, rng.randrange(1 << 20), rng.choice((1, 7, 16, 50, 300)),
                      rng.randint(1, 12))
    request = random_request(rng, mapping)
    indexes = [rng.randrange(mapping.x * mapping.y + 3) for _ in range(rng.randrange(40))]
    targets = [rng.randrange(1 << 20) for _ in indexes]
    refusal, places, goals = words_moved(mapping, request, indexes, targets)
    elements = [Element(*pair) for pair in zip(indexes, targets, strict=True)]
    bursts = bursts_moved(decide(mapping, request), request, [*elements, Element(end=True)])
    held = [(burst.address * BURST_WORDS + lane, burst.targets[lane]) for burst in bursts
            for lane in range(BURST_WORDS) if burst.mask >> lane & 1]
    assert held == list(zip(places.tolist(), goals.tolist(), strict=True))
    if request.indexed:
        assert len(held) == sum(index < mapping.x * mapping.y for index in indexes)
        assert refusal == (Refusal.NONE if len(held) == len(indexes) else Refusal.INDEX)
    else:
        assert (refusal, len(held)) == (Refusal.NONE, request.words * request.count)


@unit
@pytest.mark.parametrize(("request_", "refusal"), [
    (BufferRequest(0, words=0), Refusal.EMPTY),
    (BufferRequest(0, x=5, words=6), Refusal.WIDTH),
    (BufferRequest(0, y=2, count=3), Refusal.HEIGHT),
    (BufferRequest(0, indexed=True), Refusal.INDEX),
])
def test_refused_requests_move_nothing(request_, refusal):
    found, places, targets = words_moved(Mapping(0, 100, 10, 4), request_, [40], [0])
    assert (found, places.tolist(), targets.tolist()) == (refusal, [], [])
    assert words_moved(None, request_, [40], [0])[0] == Refusal.UNMAPPED


# The cycle model, by itself

def carry_out(part, requests, elements=()):
    """The commands and completions of requests that wait, and when each was started.

    Requests that are refused must be the last ones.
    """
    model, waiting, indexes = DramControllerModel(part), list(requests), list(elements)
    model.step(mapping=Mapping(0, 0, 1 << 19, 1))
    commands, completions, started = [], [], []
    for cycle in range(1, 4000):
        wanted = started and requests[len(started) - 1].indexed
        element = indexes[0] if wanted and indexes else None
        shown = model.step(request=waiting[0] if waiting else None, element=element)
        if element is not None:
            indexes.pop(0)
        if waiting and shown.takes_request:
            waiting.pop(0)
        if shown.started:
            started.append(cycle)
        if shown.command is not None:
            commands.append((cycle, shown.command.op, shown.command.bank))
        if shown.completion is not None:
            completions.append((cycle, shown.completion))
            if len(completions) == len(requests):
                return model, commands, completions, started
    raise AssertionError("requests were not completed")


@unit
@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("write", [False, True])
def test_requests_that_wait_follow_in_the_first_legal_cycle(name, write):
    part = PARTS[name]
    sizes = (1, 9, 300)
    _, commands, completions, started = carry_out(part, [
        BufferRequest(0, words=BURST_WORDS * size, write=write) for size in sizes])
    first = started[0] + 11  # on the pins
    for size, (completed, refusal) in zip(sizes, completions, strict=True):
        expected = schedule(part, list(range(size)), write=write)
        mine = [(first + command.cycle, command.op, command.bank) for command in expected.commands]
        assert [command for command in commands if first <= command[0] <= completed] == mine
        first += expected.issue_delay
        assert (completed, refusal) == (first - 1, Refusal.NONE)


@unit
def test_requests_without_a_burst_wait_for_the_one_before():
    """An end alone, right after a tile: two completions, not one."""
    end = [Element(end=True)]
    _, commands, completions, _ = carry_out(
        PART, [BufferRequest(0, words=1), BufferRequest(0, indexed=True),
               BufferRequest(1), BufferRequest(0, words=0)], end)
    assert [refusal for _, refusal in completions] == [
        Refusal.NONE, Refusal.NONE, Refusal.UNMAPPED, Refusal.EMPTY]
    assert [op for _, op, _ in commands] == [Command.ACT, Command.RDA]
    assert completions[1][0] > completions[0][0]


@unit
def test_refreshes_that_nothing_delays():
    model, seen = DramControllerModel(PART), []
    for cycle in range(2 * PART.nREFI + 3):
        shown = model.step()
        if shown.command is not None:
            seen.append((cycle, shown.command.op))
    assert seen == [(PART.nREFI + 1, Command.REF), (2 * PART.nREFI + 1, Command.REF)]
    assert not shown.late


@unit
def test_a_refresh_is_late_when_the_ninth_falls_due():
    model = DramControllerModel(PART)
    model.step(mapping=Mapping(0, 0, 10, 10))
    late = []
    for cycle in range(1, 9 * PART.nREFI + 3):  # an indexed request whose indexes never come
        shown = model.step(request=BufferRequest(0, indexed=True) if cycle < 20 else None)
        late.append(shown.late)
    assert late.index(True) == 9 * PART.nREFI - 1
    assert model.owed == 8


# Bounds

@unit
def test_bounds_say_what_they_cover():
    shape = {"part": "ddr4-3200aa-x16", "bursts": 8, "write": 1}
    assert bounds.controller_completion(**shape) == 17 + tile_issue_delay(**shape)
    assert bounds.controller_completion_indexed(**shape, rows=3) == (
        14 + indexed_issue_delay(**shape, rows=3))
    # one word: each gap in front of it is a cycle
    one = {"part": PART, "bursts": 1, "rows": 1, "write": 0}
    assert indexed_issue_delay(**one) == 74
    assert bounds.controller_completion_indexed(**one, refused=200, starved=9) == 14 + 209 + 74
    for bound in (bounds.controller_completion, bounds.controller_completion_indexed):
        with pytest.raises(NotCovered, match=r"^bursts must be a whole number of at least 1, "
                                             r"not 0$"):
            bound.of({**shape, "bursts": 0, "rows": 3})


# What the data harness computes

@unit
def test_functions_of_the_harness_by_hand():
    numbers = np.array([0, 1, 5, 1 << 19, (1 << 20) - 1], dtype=np.int64)
    for seed in (0, 1, 0xFFFF_FFFF):
        words = mixed(seed, numbers).tolist()
        for number, word in zip(numbers.tolist(), words, strict=True):
            first = (number * 0x9E37_79B1 + seed) % 2**32
            assert word == (first ^ first >> 15) * 0x85EB_CA6B % 2**32
        assert has_word(mixed(seed, numbers)).tolist() == [word >= 2**30 for word in words]
        found = indexes_of(seed, 77, 500)
        assert (len(found), found.min() >= 0, found.max() < 77) == (500, True, True)
        assert found.tolist() == [word * 77 >> 32 for word in mixed(seed, np.arange(500)).tolist()]
    words, targets = np.array([7, 2**32 - 1]), np.array([0, 2**20 - 1])
    assert signature(words, targets) == (8 + 2**32 * (2**21 - 1)) % 2**64
    assert signature(words[:0], targets[:0]) == 0


@unit
def test_the_sum_knows_every_bit_and_every_place():
    rng = np.random.default_rng(1)
    words, targets = rng.integers(0, 2**32, 200), rng.permutation(2**20)[:200]
    whole = signature(words, targets)
    order = rng.permutation(200)
    assert signature(words[order], targets[order]) == whole
    for bit in range(32):
        altered = words.copy()
        altered[bit] ^= 1 << bit
        assert signature(altered, targets) != whole
    for lane in range(1, 200):
        assert signature(np.delete(words, lane), np.delete(targets, lane)) != whole
        swapped = words.copy()
        swapped[[0, lane]] = words[[lane, 0]]
        assert signature(swapped, targets) != whole


@unit
def test_data_model_by_hand():
    """Memory, CAM and holes, with two lanes for one index."""
    model = DramDataModel(window_bits=8, lanes=3)
    model.buffers[0] = Mapping(0, 250, 10, 2)  # its end wraps to the window's start
    fill = DataRequest(BufferRequest(0, words=10, count=2, write=True, pitch=10), seed=5)
    assert model.carry_out(fill) == Result(Refusal.NONE)
    words = mixed(5, np.arange(20))
    assert model.memory[250:].tolist() == words[:6].tolist()
    assert model.memory[:14].tolist() == words[6:].tolist()
    for lane, index, armed in ((0, 3, True), (1, 3, True), (2, 4, False)):
        model.load(Load(lane, index, 100 + lane, armed))
    snoop = BufferRequest(0, words=5, destination=Destination.CAM)
    assert model.carry_out(DataRequest(snoop)) == Result(Refusal.NONE, 5, signature(
        words[:5], np.arange(5)))
    assert [(lane.data, lane.hit) for lane in model.lanes] == [
        (int(words[3]), True), (int(words[3]), True), (102, False)]
    model.lanes[0].data = 99
    back = dataclasses.replace(snoop, x=5, base=0, write=True)
    model.carry_out(DataRequest(back))  # index 3 is column 8: only this word is there
    assert model.memory[[1, 2, 3]].tolist() == [words[7], 99, words[9]]
    holes = DataRequest(fill.request, seed=9, holes=True)
    before = model.memory.copy()
    model.carry_out(holes)
    kept = ~has_word(mixed(9, np.arange(20)))
    places = (250 + np.arange(20)) % 256
    assert 0 < kept.sum() < 20
    assert (model.memory[places] == before[places]).tolist() == kept.tolist()
    last = DataRequest(BufferRequest(0, indexed=True, write=True), seed=1, span=1, length=3)
    model.carry_out(last)
    assert model.memory[250] == mixed(1, np.arange(3))[2]  # of equal places, the last one stays
    assert model.carry_out(DataRequest(BufferRequest(7))) == Result(Refusal.UNMAPPED)


# Components

@unit
@pytest.mark.parametrize(("component", "values", "kind", "message"), [
    (DramController, {"part": dataclasses.replace(PART, nRTP=4)}, ValueError,
     (r"^DDR4-3200AA x16 \(2 bank groups\): nRTP \+ nRP must be at least nCAS \+ nBURST \+ 1 "
      r"\(27\), or a request is completed before its data, not 26$")),
    (DramStandIn, {"part": PART, "window_bits": 14}, ValueError,
     r"^DDR4-3200AA x16 \(2 bank groups\): window bits must be from 15 to 30, not 14$"),
    (DramStandIn, {"part": PART, "window_bits": 31}, ValueError,
     r"^DDR4-3200AA x16 \(2 bank groups\): window bits must be from 15 to 30, not 31$"),
    (DramStandIn, {"part": PART, "window_bits": 17.0}, TypeError,
     r"^DDR4-3200AA x16 \(2 bank groups\): window bits must be an integer, not 17\.0$"),
])
def test_refuses(component, values, kind, message):
    with pytest.raises(kind, match=message):
        component(**values)


@unit
@pytest.mark.parametrize("make", [
    lambda: DramStandIn(part=PART, window_bits=17),
    pytest.param(lambda: DramDataHarness(part="ddr3-1600-module"), marks=thorough),
    pytest.param(lambda: DramDataHarness(part="ddr4-3200aa-x8"), marks=thorough)])
def test_converts_alone(make):
    assert "attribute \\top 1" in rtlil.convert(make())


# The testbenches, on the RTL and on faults

def regression(folder, testbench, configuration="2bg", **replaced):
    """Outcome of a testbench, with some of its or the block's fields replaced."""
    block = catalogue.load().find(BLOCK)
    ours = {name: replaced.pop(name) for name in ("top",) if name in replaced}
    block = dataclasses.replace(block, testbenches=tuple(
        dataclasses.replace(bench, **ours) if bench.name == testbench else bench
        for bench in block.testbenches), **replaced)
    return simulate(block, Job(BLOCK, configuration, testbench, 1, str(folder), wall_limit=1200))


@pytest.mark.thorough
@cosim
@pytest.mark.parametrize("fault", [
    ("active & entered & ~waits & ~closing", "active & entered & ~waits"),  # a completion is lost
    ("& ~timer.request", ""),                             # refreshes never come
], ids=["completion", "refresh"])
def test_cycle_testbench_finds(tmp_path, fault):
    component = edited("cyclebound.hdl.dram.controller", fault).DramController
    outcome = regression(tmp_path, "cycle", component=component, checker=None)
    assert not outcome.passed
    assert "expected" in outcome.reason
    assert "Traceback" not in outcome.reason


_TARGETS = "Value.cast(arriving.beat.targets)"


@thorough
@cosim
@pytest.mark.parametrize("fault", [
    ("answered.beat.enable & self.store.enable", "self.store.enable"),
    ("beat.enable.eq(arriving.beat.enable)", "beat.enable.eq(arriving.beat.enable & 7)"),
    ("beat.targets.eq(arriving.beat.targets)",
     f"beat.targets.eq(Cat({_TARGETS}[20:40], {_TARGETS}[:20], {_TARGETS}[40:]))"),
], ids=["wrong mask", "dropped word", "swapped targets"])
def test_data_harness_finds(tmp_path, monkeypatch, fault):
    monkeypatch.setattr("cyclebound.hdl.dram.controller.DqScheduler",
                        edited("cyclebound.hdl.dram.dq_scheduler", fault).DqScheduler)
    outcome = regression(tmp_path, "data")
    assert not outcome.passed
    assert "Result(" in outcome.reason


@thorough
@cosim
@pytest.mark.parametrize(("says", "faults"), [
    ("lane", [("cam.snoop.payload.index.eq(beat.targets[0])", "cam.snoop.payload.index.eq(0)")]),
    ("the harness found: words for another destination, words without a request", [
        ("(beat.destination != wanted.destination)", "(beat.destination == wanted.destination)"),
        ("(under_way == 0) |", "(under_way != 0) |")]),
    ("the harness found: a refresh was late", [("controller.late))", "1))")]),
], ids=["a lane captures another word", "words astray", "late"])
def test_data_harness_finds_a_fault_of_its_own(tmp_path, says, faults):
    path = "cyclebound.hdl.dram.controller_data_harness"
    outcome = regression(tmp_path, "data", top=edited(path, *faults).DramDataHarness)
    assert not outcome.passed
    assert says in outcome.reason


@unit
def test_lanes_of_the_harness_and_of_its_model():
    harness = DramDataHarness(part=PART)
    assert len(DramDataModel(window_bits=harness.stand_in.window_bits, lanes=LANES).lanes) == LANES

