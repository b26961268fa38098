# amaranth: UnusedElaboratable=no
"""A memory channel: what it refuses, its bounds on the model, and a testbench that finds faults."""

import dataclasses
import random
from collections import deque

import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dataflow import channel as golden
from cyclebound.golden.dataflow.cache import LineRequest
from cyclebound.golden.dataflow.channel import ChannelModel
from cyclebound.golden.dataflow.channel_bounds import (
    channel_alone,
    channel_read,
    channel_taken,
    channel_times,
    refreshes_in,
)
from cyclebound.golden.dataflow.channel_shape import ChannelShape
from cyclebound.golden.dram.bounds import tile_issue_delay
from cyclebound.golden.dram.pipeline_bounds import controller_completion
from cyclebound.golden.dram.timing import part_named
from cyclebound.hdl.dataflow.channel import DramChannel
from cyclebound.sim import catalogue
from cyclebound.sim.judge.verdict import judge
from cyclebound.sim.run.job import Job, simulate
from kit.faults import edited

unit, cosim, thorough = pytest.mark.unit, pytest.mark.cosim, pytest.mark.thorough
DDR3, BLOCK = "ddr3-1600-module", "dataflow.channel"
SMALL = {"part": DDR3, "line": 4, "address_width": 10, "id_width": 1}


@unit
@pytest.mark.parametrize(("bad", "kind", "message"), [
    ({"line": 2}, ValueError, "line length must be a power of two of at least 4, not 2"),
    ({"line": 12}, ValueError, "line length must be a power of two of at least 4, not 12"),
    ({"line": "4"}, TypeError, "line length must be an integer, not '4'"),
    ({"address_width": 1}, ValueError, "address width must be from 2 to 21, not 1"),
    ({"address_width": 22}, ValueError, "address width must be from 2 to 21, not 22"),
    ({"id_width": 0}, ValueError, "id width must be at least 1, not 0"),
])
def test_refuses(bad, kind, message):
    with pytest.raises(kind, match=f"^{message}$"):
        DramChannel(**SMALL | bad)


@unit
def test_a_part_that_is_too_small():
    part = dataclasses.replace(part_named(DDR3), name="tiny", rows=2, columns=8)
    with pytest.raises(ValueError, match=r"^tiny has 256 words, and addresses of 10 bits 1024$"):
        DramChannel(**SMALL | {"part": part})
    with pytest.raises(ValueError, match=r"^tiny has 256 words"):
        ChannelModel(part, shape=ChannelShape(line=4, address_width=10))


@unit
def test_bounds_by_hand():
    """A request that is taken when the one before has just started waits for its issue delay and a
    refresh, and has its own."""
    read, write = (tile_issue_delay(part=DDR3, bursts=1, write=write) for write in (0, 1))
    refresh = part_named(DDR3).nRFC
    assert channel_alone(part=DDR3, line=4) == 1 + controller_completion(
        part=DDR3, bursts=1, write=0) == 18 + read
    assert channel_taken(part=DDR3, line=16, refreshes=0) == write + 10
    assert channel_taken(part=DDR3, line=16, refreshes=1) == write + refresh
    assert channel_read(part=DDR3, line=8, refreshes=0) == 11 + write + read
    assert channel_read(part=DDR3, line=8, refreshes=1) == 11 + write + refresh + read


@unit
def test_refreshes_that_come_too_often():
    part = dataclasses.replace(part_named(DDR3), name="restless", nREFI=300)
    with pytest.raises(NotCovered, match=r"^restless: nREFI must be greater than 330, or two "
                                         r"refreshes delay a line of 4 words, not 300$"):
        channel_taken(part=part, line=4, refreshes=1)


@unit
def test_refreshes_of_a_run():
    """One may be owed at first; of three channels, no more than the longest request costs more."""
    part = part_named(DDR3)
    each = 10 + channel_times(part, line=4).longest + part.nRFC
    assert refreshes_in(part, 1, channels=1, line=4) == 2 * part.nRFC
    assert refreshes_in(part, part.nREFI - 2 * part.nRFC, channels=1, line=4) == 2 * part.nRFC
    assert refreshes_in(part, part.nREFI - 2 * part.nRFC + 1, channels=1, line=4) == 3 * part.nRFC
    assert refreshes_in(part, 1, channels=3, line=4) == 2 * each


def played(requests, *, part=DDR3, line=32, start=0, model=None):
    """The longest wait and the longest read of requests: (cycles before it, write, line)."""
    shape = ChannelShape(line=line, address_width=16)
    model = model or ChannelModel(part_named(part), shape=shape)
    longest, waits, reads = [0, 0], deque(requests), deque()
    now, offered, at = 0, None, start + waits[0][0]
    while waits or not model.idle:
        request = None
        if waits and now >= at:
            offered = now if offered is None else offered
            request = LineRequest(0, waits[0][2], waits[0][1], (1 << line) - 1, (7,) * line)
        taken, answer = model.takes(request), model.answer()
        model.step(taken)
        if answer is not None:
            longest[1] = max(longest[1], now - reads.popleft() + 1)
        if taken:
            longest[0] = max(longest[0], now - offered + 1)
            if not request.write:
                reads.append(now)
            waits.popleft()
            offered, at = None, now + 1 + (waits[0][0] if waits else 0)
        now += 1
    return longest


def drawn(rng, lines=64):
    return [(rng.choice((0, 0, 0, rng.randrange(60))), rng.random() < 0.5, rng.randrange(lines))
            for _ in range(8)]


@unit
@pytest.mark.parametrize(("part", "line", "rounds"), [
    (DDR3, 32, 12), *(pytest.param(*case, 400, marks=thorough) for case in (
        (DDR3, 4), (DDR3, 32), (DDR3, 128), ("ddr4-3200aa-x16", 32), ("ddr4-3200aa-x8", 64),
        ("ddr4-1866m-x16", 16)))])
def test_no_request_exceeds_its_bound(part, line, rounds):
    """Around a refresh and away from it; of lines of up to two bursts, bounds are reached."""
    rng, device = random.Random(line), part_named(part)
    worst = {}
    for number in range(rounds):
        refreshes = number % 2
        start = device.nREFI - rng.randrange(20, 300) if refreshes else 30
        some = drawn(rng)
        if number < 4:  # what takes longest
            some = [(0, True, 0), (0, number > 1, 5), (0, number > 1, 2), (0, False, 7)]
            start = device.nREFI - 25 if refreshes else 30
        found = played(some, part=part, line=line, start=start)
        worst[refreshes] = [max(pair) for pair in zip(found, worst.get(refreshes, (0, 0)),
                                                      strict=True)]
    for refreshes, found in worst.items():
        allowed = [bound(part=part, line=line, refreshes=refreshes)
                   for bound in (channel_taken, channel_read)]
        assert all(most >= got for got, most in zip(found, allowed, strict=True))
        assert found == allowed or line > 32


@unit
@pytest.mark.parametrize("rounds", [20, pytest.param(400, marks=thorough)])
def test_parts_with_any_numbers(rounds):
    """Precharges and refreshes that are shorter than a request's front end among them."""
    rng = random.Random(rounds)
    for _ in range(rounds):
        precharge, activate, cas = rng.randint(3, 14), rng.randint(3, 14), rng.randint(5, 12)
        ras = activate + rng.randint(4, 20)
        part = dataclasses.replace(
            part_named(DDR3), name="invented", nRP=precharge, nRCD=activate, nRAS=ras,
            nRC=ras + precharge + rng.randint(0, 3), nCAS=cas, nCWD=rng.randint(4, cas),
            nRTP=max(2, cas + 5 - precharge) + rng.randint(0, 3), nWR=rng.randint(1, 14),
            nRFC=rng.choice((rng.randint(2, 20), rng.randint(5, 100))), nREFI=1500,
            nFAW=rng.choice((0, 20)))
        line = rng.choice((4, 32, 64))
        shape = ChannelShape(line=line, address_width=16)
        for refreshes in (False, True):
            times = channel_times(part, line=line, refreshes=refreshes)
            for last in (False, True):
                found = played([(0, True, 0), (0, last, 5), (0, last, 2), *drawn(rng)], line=line,
                               model=ChannelModel(part, shape=shape),
                               start=1500 - rng.randrange(20, 250) if refreshes else 30)
                assert found[0] <= times.turn, (part, found)
                assert found[1] <= times.latency, (part, found)


# RTL: the testbench finds faults, and what a bound forgets

@cosim
@thorough
@pytest.mark.parametrize(("module", "edit"), [
    ("channel", ("room.eq(mapped & (count != SLOTS))", "room.eq(mapped)")),
    ("channel", ("& deliver.payload.enable[0]", "")),
    ("channel", ("lanes.eq(masks[row(fetch.payload)])", "lanes.eq(-1)")),
    ("channel", ("answer.valid.eq(over & ~slots[oldest].write)", "answer.valid.eq(over)")),
    ("channel", ("self.idle.eq(count == 0)", "self.idle.eq(count != SLOTS)")),
    ("channel", ("dram.store.words.eq(goes)", "dram.store.words.eq(words[0][0])")),
], ids=["a request too many", "a beat without words", "a mask that is ignored",
        "a write is answered", "idle too soon", "another slot's words"])
def test_the_testbench_finds(tmp_path, module, edit):
    made = edited(f"cyclebound.hdl.dataflow.{module}", edit)
    block = dataclasses.replace(catalogue.load().find(BLOCK), component=made.DramChannel, bounds=())
    outcome = simulate(block, Job(BLOCK, "beat", "cycle", 1, str(tmp_path), wall_limit=1200))
    assert not outcome.passed


@cosim
@thorough
def test_what_a_bound_forgets_is_found(tmp_path):
    """A cycle less, or a refresh, or the request before."""
    block = catalogue.load().find(BLOCK)
    outcome = simulate(block, Job(BLOCK, "beat", "refreshes", 1, str(tmp_path), wall_limit=1200))
    assert outcome.passed, outcome.reason

    def verdict(what, wrong):
        right = next(binding for binding in block.bounds if binding.what == what)
        binding = dataclasses.replace(right, bound=dataclasses.replace(
            right.bound, function=wrong(right.bound.function)))
        found, = judge(dataclasses.replace(block, bounds=(binding,)), "beat", [
            (outcome.name, group) for group in outcome.groups if group.what == what])
        return found.verdict

    def less(function, by):
        def bound(*, part, line, refreshes):
            return function(part=part, line=line, refreshes=refreshes) - by(part, line, refreshes)
        return bound

    for what in ("taken", "read"):
        assert verdict(what, lambda function: less(function, lambda *known: 0)) == "exact"
        assert verdict(what, lambda function: less(function, lambda *known: 1)) == "violated"
    assert verdict("read", lambda function: less(
        function, lambda part, line, refreshes: refreshes * part_named(part).nRFC)) == "violated"
    assert verdict("read", lambda function: less(
        function, lambda part, line, refreshes: channel_times(part, line=line).longest
    )) == "violated"


@unit
def test_a_model_without_room_differs(monkeypatch):
    """A third request while two are under way is what the bound of a wait rules out."""
    monkeypatch.setattr(golden, "SLOTS", 3)
    found = played([(0, True, 0)] * 4, start=30)
    assert found[0] < channel_taken(part=DDR3, line=32, refreshes=0)
