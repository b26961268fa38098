"""Probe hardware against a list of requests, in Amaranth's simulator; and what it prints, read."""

import dataclasses
import json
import random
from collections import deque

import numpy as np
import pytest
from amaranth.hdl import ClockDomain, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from cyclebound.sim.build.elaborate import FlatTop, fields_json, to_rtlil
from cyclebound.sim.run.observations import Misdeclared, ProbeRecords, grouped, read_requests
from cyclebound.tb.bench import Bench
from cyclebound.tb.bus import Bus
from cyclebound.tb.expression import ExpressionError
from cyclebound.tb.probe import FollowedCounter, Probe, ProbeCounter, _value, counters_of
from cyclebound.tb.watcher import Watcher

pytestmark = pytest.mark.unit


def counted(events, **options):
    """(begins, closes, age, lasted, overflow, spurious) in each cycle of those inputs."""
    names = ("start", "end", "starts", "ends", "tick", "start_id", "end_id")
    signals = {name: Signal(1 if name in ("start", "end", "tick") else 3, name=name)
               for name in names}
    ids = (signals["start_id"], signals["end_id"]) if options.pop("by_id", False) else None
    dut = ProbeCounter(signals["start"], signals["end"], starts=signals["starts"],
                       ends=signals["ends"], tick=signals["tick"], ids=ids, width=16, **options)
    seen = []

    async def bench(ctx):
        for event in events:
            for name in names:
                ctx.set(signals[name], event.get(name, name == "tick"))
            seen.append(tuple(int(ctx.get(s)) for s in (
                dut.begins, dut.closes, dut.age, dut.lasted, dut.overflow, dut.spurious)))
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return seen


def closed(seen):
    return [(cycle, age, lasted) for cycle, (_, closes, age, lasted, *_) in enumerate(seen)
            if closes]


@pytest.mark.parametrize("in_flight", [2, 3, 8])
def test_the_request_that_is_followed_has_the_age_that_the_queue_has(in_flight):
    """Whichever is picked, if it is the oldest: then both counters speak of it."""
    rng = random.Random(in_flight)
    start, end, pick, tick = (Signal(name=name) for name in ("start", "end", "pick", "tick"))
    queue = ProbeCounter(start, end, tick=tick, in_flight=in_flight, width=16)
    one = FollowedCounter(start, end, tick=tick, in_flight=in_flight, width=16, pick=pick)
    m = Module()
    m.submodules += [queue, one]
    seen = []

    async def bench(ctx):
        under_way, followed = 0, None  # the place in the queue of the one that is followed
        for _ in range(3000):
            starts = under_way < in_flight and rng.random() < 0.5
            ends = (under_way or starts) and rng.random() < 0.4
            picks = rng.random() < 0.5
            for signal, value in ((start, starts), (end, ends), (pick, picks),
                                  (tick, rng.random() < 0.7)):
                ctx.set(signal, int(value))
            if followed is None and starts and picks:
                followed = under_way
            assert ctx.get(one.waiting) == (followed is not None)
            assert ctx.get(one.level) == under_way
            for event, seen_of, mistake in (
                    (start, one.overflow, under_way == in_flight and not ends),
                    (end, one.spurious, not under_way and not starts)):
                before = ctx.get(event)
                ctx.set(event, 1)
                assert ctx.get(seen_of) == mistake
                ctx.set(event, before)
            assert ctx.get(one.closes) == (followed == 0 and bool(ends))
            if followed == 0:
                assert ctx.get(one.age) == ctx.get(queue.age)
                if ends:
                    seen.append(ctx.get(one.age))
            under_way += starts - bool(ends)
            if ends and followed is not None:
                followed = followed - 1 if followed else None
            await ctx.tick()

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert len(seen) > 100
    assert len(set(seen)) > 3


def test_the_request_that_is_followed_by_name():
    """Of names that are under way at most once, whichever ends first."""
    rng = random.Random(7)
    start, end, pick, tick = (Signal(name=name) for name in ("start", "end", "pick", "tick"))
    start_id, end_id = Signal(2), Signal(2)
    dut = FollowedCounter(start, end, tick=tick, in_flight=1, width=16, pick=pick,
                          ids=(start_id, end_id))
    seen = []

    async def bench(ctx):
        begun, ticks, followed = {}, 0, None  # by name: ticks before its first cycle
        for _ in range(3000):
            starts = rng.randrange(4) if rng.random() < 0.5 else None
            if starts in begun:
                starts = None
            open_ = [*begun, *([] if starts is None else [starts])]
            ends = rng.choice(open_) if open_ and rng.random() < 0.4 else None
            ticked, picks = rng.random() < 0.7, rng.random() < 0.5
            for signal, value in (
                    (start, starts is not None), (end, ends is not None), (pick, picks),
                    (tick, ticked), (start_id, rng.randrange(4) if starts is None else starts),
                    (end_id, rng.randrange(4) if ends is None else ends)):
                ctx.set(signal, int(value))
            if starts is not None:
                begun[starts] = ticks
                if followed is None and picks:
                    followed = starts
            ticks += ticked
            assert ctx.get(dut.waiting) == (followed is not None)
            assert ctx.get(dut.closes) == (ends is not None and ends == followed)
            assert not ctx.get(dut.overflow)
            if followed is not None:
                if starts is None:
                    for signal, value in ((start, 1), (start_id, followed)):
                        ctx.set(signal, value)
                    assert ctx.get(dut.overflow) == (ends != followed)
                    ctx.set(start, 0)
                assert ctx.get(dut.name) == followed
                assert ctx.get(dut.age) == ticks - begun[followed]
            if ends is not None:
                if ends == followed:
                    seen.append(ticks - begun[ends])
                    followed = None
                del begun[ends]
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert len(seen) > 100
    assert len(set(seen)) > 3


def test_both_ends_count():
    seen = counted([{}, {"start": 1}, {}, {"end": 1}, {"start": 1, "end": 1}])
    assert closed(seen) == [(3, 3, 3), (4, 1, 1)]


def test_ticks_and_cycles():
    seen = counted([{"start": 1, "tick": 0}, {"tick": 1}, {"tick": 0}, {"tick": 1, "end": 1}])
    assert closed(seen) == [(3, 2, 4)]


def test_a_transaction_has_several_starts_and_ends():
    word = {"start": 1, "starts": 3, "ends": 3}
    seen = counted([word, {"end": 1}, word, word | {"end": 1}, {}, {"end": 1}, word | {"end": 1}])
    assert [cycle for cycle, (begins, *_) in enumerate(seen) if begins] == [0, 6]
    assert closed(seen) == [(5, 6, 6)]


def test_faults():
    assert counted([{"end": 1}])[0][5]
    seen = counted([{"start": 1}, {"start": 1}, {"start": 1, "end": 1}], in_flight=1)
    assert [overflow for *_, overflow, _ in seen] == [0, 1, 0]
    assert not any(row[4] for row in counted([{"start": 1}, {"start": 1}], in_flight=2))


@pytest.mark.parametrize("in_flight", [1, 2, 5])
@pytest.mark.parametrize("seed", range(3))
def test_any_traffic_in_order(in_flight, seed):
    rng = random.Random(f"{in_flight} {seed}")
    queue, events, expected = deque(), [], []
    for cycle in range(300):
        start = len(queue) < in_flight and rng.random() < 0.4
        if start:
            queue.append(cycle)
        end = bool(queue) and rng.random() < 0.4
        if end:
            expected.append((cycle, cycle - queue.popleft() + 1))
        events.append({"start": start, "end": end})
    seen = counted(events, in_flight=in_flight)
    assert [(cycle, lasted) for cycle, _, lasted in closed(seen)] == expected
    assert expected
    assert not any(overflow or spurious for *_, overflow, spurious in seen)


@pytest.mark.parametrize("seed", range(3))
def test_any_traffic_by_name(seed):
    rng = random.Random(seed)
    under_way, events, expected = {}, [], []
    for cycle in range(300):
        event = {}
        if rng.random() < 0.5 and len(under_way) < 8:
            name = rng.choice([n for n in range(8) if n not in under_way])
            under_way[name] = cycle
            event |= {"start": 1, "start_id": name}
        if under_way and rng.random() < 0.5:
            name = rng.choice(list(under_way))
            expected.append((cycle, cycle - under_way.pop(name) + 1))
            event |= {"end": 1, "end_id": name}
        events.append(event)
    seen = counted(events, by_id=True)
    assert [(cycle, lasted) for cycle, _, lasted in closed(seen)] == expected
    assert expected
    assert not any(overflow or spurious for *_, overflow, spurious in seen)


@pytest.mark.parametrize(("second", "overflows"), [
    ({"start": 1, "start_id": 3, "end_id": 3}, True),  # the end's name, but no end
    ({"start": 1, "start_id": 3, "end": 1, "end_id": 5}, True),  # another one's end
    ({"start": 1, "start_id": 3, "end": 1, "end_id": 3}, False),
    ({"start": 1, "start_id": 4}, False),
])
def test_a_name_is_in_use_until_its_own_end(second, overflows):
    seen = counted([{"start": 1, "start_id": 5}, {"start": 1, "start_id": 3}, second],
                   by_id=True)
    assert [bool(overflow) for *_, overflow, _ in seen] == [False, False, overflows]


@pytest.mark.parametrize("ahead", [0, 2])
@pytest.mark.parametrize("seed", range(3))
def test_requests_that_are_served_in_turn(seed, ahead):
    rng = random.Random(seed)
    queue, events, expected, free = deque(), [], [], 0
    for cycle in range(300):
        event = {"tick": ahead > 0 or rng.random() < 0.8}
        if len(queue) < 3 and rng.random() < 0.4:
            queue.append(cycle)
            event["start"] = 1
        if queue and rng.random() < 0.4:
            event["end"] = 1
            first = queue.popleft()
            expected.append((cycle, (max(first, free - ahead), first)))
            free = cycle + 1
        events.append(event)
    seen = counted(events, in_flight=3, in_turn=True, ahead=ahead)
    assert closed(seen) == [
        (last, sum(event["tick"] for event in events[turn:last + 1]), last - first + 1)
        for last, (turn, first) in expected]
    assert any(turn > first for _, (turn, first) in expected)


class Watched(wiring.Component):
    """Two lanes, and what an expression makes of them."""

    def __init__(self, text):
        self.interval, self.many, self.text = 3, 2, text
        super().__init__({"x": In(3), "y": In(1), "lanes": In(
            data.StructLayout({"on": 1, "size": 2})).array(2), "value": Out(6)})

    def elaborate(self, platform):
        m = Module()
        m.d.sync += Signal(name="clocked").eq(self.x)  # the simulator wants a domain
        m.d.comb += self.value.eq(_value(m, self.text, self, {}, None, "test", []))
        return m


@pytest.mark.parametrize(("text", "expected"), [
    ("past(x)", [0, 1, 2, 3, 4, 5, 6, 7]), ("held(x, y)", [0, 0, 3, 3, 3, 6, 6, 6]),
    ("past(held(x, y) + 1)", [0, 1, 1, 4, 4, 4, 7, 7]),
    ("first(x != 0, y)", [1, 0, 0, 1, 0, 0, 1, 0]), ("first(any(x & 4), y)",
                                                     [0, 0, 0, 1, 0, 0, 1, 0]),
    ("every(interval)", [0, 0, 0, 1, 0, 0, 1, 0]), ("every(1)", [0, 1, 1, 1, 1, 1, 1, 1]),
    ("lanes[:].on", [2] * 8), ("lanes[:].size", [9] * 8), ("any(lanes[:].on & ~lanes[:].on)",
                                                         [0] * 8),
    ("count(lanes[:].size)", [2] * 8), ("x - interval == 1", [0, 0, 0, 1, 0, 0, 0, 0]),
    ("x[1:]", [0, 1, 1, 2, 2, 3, 3, 0]), ("x[-2:]", [0, 1, 1, 2, 2, 3, 3, 0]),
    ("x[:2]", [1, 2, 3, 0, 1, 2, 3, 0]), ("any(lanes[n].size == n for n in many)", [0] * 8),
    ("any(lanes[n].size == x for n in many)", [1, 1, 0, 0, 0, 0, 0, 0]),
    ("count(lanes[n].size > x - 1 for n in many)", [2, 1, 0, 0, 0, 0, 0, 2]),
])
def test_what_expressions_say_in_hardware(text, expected):
    dut, seen = Watched(text), []

    async def bench(ctx):
        for lane, (on, size) in enumerate(((0, 1), (1, 2))):
            ctx.set(dut.lanes[lane], {"on": on, "size": size})
        for cycle in range(len(expected)):
            ctx.set(dut.x, cycle + 1)
            ctx.set(dut.y, cycle in (2, 5))
            seen.append(ctx.get(dut.value))
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert seen == expected


class Ports(wiring.Component):
    def __init__(self):
        self.lanes = 2
        super().__init__({"ask": In(data.StructLayout({"valid": 1, "size": 4})).array(2),
                          "done": Out(2)})

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.done.eq(self.ask[0].valid)
        return m


ASK = Probe("ask[r].valid", "done[r]", request={"size": "ask[r].size"}, ends="declared.words",
            over={"r": "lanes"})


def test_hardware_for_each_index():
    top = FlatTop(Ports(), probes={"move": ASK}, classed=["move"])
    text = to_rtlil(top, name="top", ports=top.ports)
    # where it begins, where it ends, and how often it did, in each lane
    assert text.count("cell $print") == 6
    assert top.places("move") == [{"r": 0}, {"r": 1}]
    assert [field["name"] for field in top.declared_fields()] == [
        f".move.{name}.{place}" for name in ("words", "on", "follow") for place in (0, 1)]


def test_counts_from_the_first_declaration_after_a_reset():
    """Requests before it may be such that the probe cannot tell them apart."""
    component, on, reset = Ports(), Signal(), Signal()
    m = Module()
    m.domains.sync = domain = ClockDomain()
    m.d.comb += domain.rst.eq(reset)
    probe = Probe("ask[r].valid", "done[r]", over={"r": "lanes"})
    [counter, _] = counters_of(m, probe, component, name="p",
                               declared=lambda what, at: on if what == "on" else Const(0),
                               now=Signal(8), classed=True, width=8)
    seen = []

    async def bench(ctx):
        #                        not yet    declared   and no more  reset      not yet
        for start, end, said, clear in ((1, 0, 0, 0), (0, 1, 0, 0), (1, 0, 1, 0), (0, 1, 0, 0),
                                        (1, 1, 0, 0), (0, 0, 0, 1), (1, 1, 0, 0)):
            ctx.set(component.ask[0].valid, start)
            ctx.set(component.done, end)
            ctx.set(on, said)
            ctx.set(reset, clear)
            await ctx.delay(1e-9)
            seen.append((ctx.get(counter.begins), ctx.get(counter.closes),
                         ctx.get(counter.spurious)))
            await ctx.tick()

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert seen == [(0, 0, 0), (0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 0, 0), (0, 0, 0)]


@pytest.mark.parametrize(("text", "why"), [
    ("nothing", "Ports has the members ask, done"), ("ask[0].none", "there is no ask"),
    ("done.field", "a signal of 2 bits has no field field"), ("ask[7].valid", "there is no ask"),
    ("every(done)", "needs a whole number"), ("every(0)", "needs a whole number"),
])
def test_ports_that_there_are_not(text, why):
    top = FlatTop(Ports(), probes={"move": Probe(text, "done")})
    with pytest.raises(ExpressionError, match=why):
        to_rtlil(top, name="top", ports=top.ports)


META = {"start": 100, "end": 200, "shift": 1, "resets": [100], "said": []}


def seen_as(began, ended, *, at=(), names=("size",), **options):
    more = bool(options.get("ticks"))
    return ProbeRecords("move", dict(at), names, np.array(began).reshape(-1, 1 + len(names) + more),
                        np.array(ended).reshape(-1, 3 + more), **options)


def test_requests_of_a_test_by_kind_and_latency():
    seen = seen_as([(50, 1), (111, 1), (121, 1), (131, 2), (301, 1)],
                   [(50, 55, 6), (111, 115, 5), (131, 140, 10), (121, 125, 5), (301, 302, 2)])
    assert list(grouped([seen], META)) == [("move", {"size": 1}, 5, 2, 10, 14),
                                           ("move", {"size": 2}, 10, 1, 30, 39)]


def test_a_kind_that_was_declared_and_of_which_none_ended_is_told():
    said = [["move", 110, None, {"words": 1}], ["move", 130, {"r": 0}, {"words": 2}],
            ["move", 150, None, {}], ["move", 160, None, None], ["wait", 170, None, {"words": 3}]]
    seen = seen_as([(112, 1), (141, 1)], [(112, 114, 3)], at={"r": 0})
    assert list(grouped([seen], {**META, "said": said})) == [
        ("move", {"words": 1, "size": 1}, 3, 1, 11, 13),
        ("move", {"words": 2, "size": 1}, 60, 0, 40, 99), ("move", {"words": 2}, 0, 0, 30, 30),
        ("wait", {"words": 3}, 0, 0, 70, 70)]


def test_a_request_under_way_when_its_test_ends_has_no_count():
    assert list(grouped([seen_as([(191, 1)], [])], META)) == [("move", {"size": 1}, 10, 0, 90, 99)]


def test_a_request_that_a_reset_cut_off_has_no_count():
    """But the cycles that it took so far: a reset hides none that has exceeded its bound."""
    seen = seen_as([(111, 1), (116, 1), (151, 1)], [(116, 118, 3), (151, 152, 2)])
    assert list(grouped([seen], {**META, "resets": [100, 120, 160]})) == [
        ("move", {"size": 1}, 2, 1, 50, 51), ("move", {"size": 1}, 3, 1, 15, 17),
        ("move", {"size": 1}, 10, 0, 10, 19)]


class Least(Watcher):
    """The least size on a lane since its request began; ``size`` as it was a cycle before."""

    def __init__(self, target):
        super().__init__(target, begins=2)
        self.least = [Signal(4, name=f"least_{lane}") for lane in range(2)]
        self.before = Signal(4)

    def elaborate(self, platform):
        m = Module()
        for lane, least in enumerate(self.least):
            kept, size = Signal(4, name=f"kept_{lane}"), self.ask[lane].size
            m.d.comb += least.eq(Mux(self.begins[lane] | (size < kept), size, kept))
            m.d.sync += kept.eq(least)
        m.d.sync += self.before.eq(self.ask[0].size)
        return m


OBSERVED = Probe("ask[r].valid", "done[r]", over={"r": "lanes"},
                 request={"size": "ask[r].size", "before": "observer.before"},
                 conditions={"least": "observer.least[r]"}, observer=Least)


def test_hardware_reads_states_where_a_request_begins_and_conditions_where_it_ends(tmp_path,
                                                                                   capsys):
    top = FlatTop(Ports(), probes={"move": OBSERVED})
    assert OBSERVED.texts()[-1] == "observer.least[r]"
    bus = Bus(json.loads(fields_json(top.component))["inputs"])

    async def bench(ctx):
        for size, valid in ((7, 0), (5, 1), (3, 0), (9, 1), (8, 0), (9, 0)):
            ctx.set(top.inputs, bus.pack({"ask.0.valid": valid, "ask.0.size": size}))
            await ctx.tick()

    simulator = Simulator(top)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    (tmp_path / "probes.txt").write_text(capsys.readouterr().out)
    seen = read_requests(tmp_path / "probes.txt", top.printed()).requests
    meta = {"start": 0, "end": 300, "shift": 0, "resets": [0], "stops": [], "said": []}
    expected = [("move", {"size": 5, "before": 7, "least": 3}, 2, 1, 1, 2),
                ("move", {"size": 9, "before": 3, "least": 8}, 2, 1, 3, 4)]
    assert list(grouped(seen, meta)) == expected
    said = [["move", 0, None, {"size": 5, "least": 3}], ["move", 2, None, {"size": 9}]]
    assert list(grouped(seen, {**meta, "said": said})) == expected
    for wrong, what in (({"size": 6}, "size 6.* cycle 1, .* 5"), ({"least": 4}, "least 4.* 3")):
        with pytest.raises(Misdeclared, match=rf"^the testbench declared {what}$"):
            list(grouped(seen, {**meta, "said": [["move", 0, None, wrong]]}))
    # what has not ended has met nothing yet: only what it began with is compared
    assert next(grouped(seen, {**meta, "end": 2, "said": []})) == (
        "move", {"size": 5, "before": 7}, 1, 0, 1, 1)


def test_an_observer_that_there_is_not():
    top = FlatTop(Ports(), probes={"move": dataclasses.replace(OBSERVED, observer=None)})
    with pytest.raises(ExpressionError, match="no observer"):
        to_rtlil(top, name="top", ports=top.ports)


@pytest.mark.parametrize("in_turn", [False, True])
def test_hardware_tells_the_ticks_of_what_never_ends(tmp_path, capsys, in_turn):
    """Whatever a reset or the test's end cut off, counted beside the hardware."""
    top = FlatTop(Ports(), probes={"move": Probe(
        "ask[0].valid", "ask[1].valid", request={"size": "ask[0].size"}, ticks="ask[1].size",
        in_flight=8, in_turn=in_turn)})
    bus = Bus(json.loads(fields_json(top.component))["inputs"])
    rng = random.Random(in_turn)
    m = Module()
    m.domains.sync = domain = ClockDomain()
    m.submodules.top = top
    resets, stops, expected = [], [], []

    async def bench(ctx):
        def stop():
            turn = None
            for first, size, age in waiting:
                age = age if not in_turn or turn is None else 0
                turn = first
                if age:
                    expected.append((size, age, 0, first, cycle - 1))
            waiting.clear()
            stops.append({field["name"].lstrip("."): upto for field in top.ticked_fields()})

        waiting, upto = [], 0
        for cycle in range(300):
            if reset := cycle % 60 == 0:
                resets.append(cycle)
                stop()
            start = len(waiting) < 8 and rng.random() < 0.3
            size, tick = rng.randrange(1, 8), rng.random() < 0.6
            end = bool(waiting) and cycle % 60 < 30 and rng.random() < 0.3
            ctx.set(top.inputs, bus.pack({"ask.0.valid": start, "ask.0.size": size,
                                          "ask.1.valid": end, "ask.1.size": int(tick)}))
            ctx.set(domain.rst, int(reset))
            if start and not reset:
                waiting.append([cycle, size, 0])
            for number, one in enumerate(waiting):
                one[2] += tick and not (in_turn and number)
            if end and not reset:
                waiting.pop(0)
            upto = ctx.get(top.ticked.as_value())
            await ctx.tick()
        cycle += 1
        stop()

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    (tmp_path / "probes.txt").write_text(capsys.readouterr().out)
    seen = read_requests(tmp_path / "probes.txt", top.printed()).requests
    meta = {"start": 0, "end": 300, "shift": 0, "resets": resets, "stops": stops, "said": []}
    found = [(row[1]["size"], *row[2:]) for row in grouped(seen, meta)]
    never = [row for row in found if not row[2]]
    assert {row[3] for row in never} <= {row[3] for row in expected}
    assert {row[:2] for row in never} == {row[:2] for row in expected}
    assert len(never) > 3
    assert sum(row[2] for row in found) > 10


def test_a_request_that_never_ends_has_the_ticks_that_it_took():
    """Up to the reset that cut it off, or the test's end; ticks count from the reset on."""
    seen = seen_as([(111, 1, 3), (113, 1, 4), (151, 1, 20), (190, 2, 25)],
                   [(113, 118, 5, 9), (151, 160, 3, 23)], ticks="move.1")
    stops = [{"move.0": 0, "move.1": 0}, {"move.0": 70, "move.1": 14}, {"move.0": 80, "move.1": 26}]
    assert list(grouped([seen], {**META, "resets": [100, 120], "stops": stops})) == [
        ("move", {"size": 1}, 3, 1, 50, 59), ("move", {"size": 1}, 5, 1, 12, 17),
        ("move", {"size": 1}, 11, 0, 10, 19), ("move", {"size": 2}, 1, 0, 89, 99)]


def test_of_requests_in_turn_that_count_ticks_one_has_its_turn():
    seen = seen_as([(111, 1, 3), (112, 1, 4), (113, 1, 4), (141, 1, 1), (142, 1, 2)],
                   [(111, 115, 5, 7), (141, 145, 5, 5)], ticks="move.0", in_turn=True)
    stops = [{"move.0": 0}, {"move.0": 10}, {"move.0": 11}]
    assert sorted(row[2:] for row in grouped(
        [seen], {**META, "resets": [100, 120], "stops": stops})) == [
            (3, 0, 11, 19), (5, 2, 10, 14), (6, 0, 41, 99)]


def test_where_nothing_has_to_be_declared_all_is_of_the_class_again_when_that_is_taken_back():
    """Else a testbench that resets its block, and forgets, would no longer measure."""
    rows = [(106, 1), (112, 1), (131, 1), (141, 1)]
    seen = seen_as(rows, [(first, 150, 150 - first + 1) for first, _ in rows], classed=False)
    said = [["move", 110, None, None], ["move", 120, None, {"words": 3}], ["move", 140, None, {}]]
    found = {row[4]: row[1] for row in grouped([seen], {**META, "said": said})}
    assert found == {5: {"size": 1}, 30: {"size": 1, "words": 3}, 40: {"size": 1}}


def test_a_bench_that_forgets():
    """All classes of requests; those that none had to declare are measured again."""
    bench = object.__new__(Bench)
    vars(bench).update(_probes={"move": [{}], "wait": [{}]}, _declared_at={}, _declaring=0,
                       _followed=set(), _said=[], _classed={"move"}, _time=lambda: 40)
    bench.forget()
    assert bench._said == [("move", 40, None, None), ("wait", 40, None, {})]


def test_of_requests_in_turn_that_have_not_ended_one_has_its_turn():
    seen = seen_as([(111, 1), (112, 1), (113, 1), (141, 1), (142, 1), (171, 1)],
                   [(111, 115, 5), (141, 145, 5)], in_turn=True)
    assert sorted(row[2:] for row in grouped([seen], {**META, "resets": [100, 120]})) == [
        (5, 0, 11, 19), (5, 2, 10, 14), (55, 0, 41, 99)]


def test_a_request_is_of_the_class_declared_when_it_began():
    said = [["move", 110, None, {"words": 1}], ["move", 120, {"r": 1}, {"words": 2}],
            ["other", 120, None, {"words": 9}], ["move", 130, {"r": 0}, {"words": 3}],
            ["move", 140, {"r": 1}, None]]
    rows = [(106, 1), (112, 1), (121, 1), (139, 1), (141, 1)]
    seen = seen_as(rows, [(first, 150, 150 - first + 1) for first, _ in rows], at={"r": 1})
    found = {row[4]: row[1]["words"] for row in grouped([seen], {**META, "said": said}) if row[3]}
    assert found == {11: 1, 20: 2, 38: 2}  # before the first and after the last: of no class


def test_a_declaration_is_of_when_it_is_said(monkeypatch):
    """While another coroutine waits, `Bench.cycle` stands still: by it, a testbench could say after
    a request has ended of what class it was."""
    bench = object.__new__(Bench)
    vars(bench).update(_probes={"move": [{}]}, _declared_at={}, _declaring=0, _followed=set(),
                       _said=[], _start=3, cycle=0, _compared=0, _bits=0)
    monkeypatch.setattr(Bench, "_time", staticmethod(lambda: 40))
    bench.declare("move", words=True)
    bench.undeclare("move")
    assert bench._said == [("move", 40, None, {"words": 1}), ("move", 40, None, None)]
    with pytest.raises(TypeError):
        bench.declare("move", words=1.5)
    bench.check(3, 0, 0)
    assert (bench.compared, bench.bits) == (0, 0)  # where nothing matters, nothing was compared


def test_lines_that_are_no_requests(tmp_path):
    top = FlatTop(Ports(), probes={"move": ASK})
    path = tmp_path / "probes.txt"
    path.write_text("warning\n@probe 0 1 0 12 3\n@probe. 0 1 0 12 15 4\n@probe. 0 0 0 12 1")
    found = read_requests(path, top.printed())
    assert (found.others, found.lost) == (["warning\n"], "")
    assert [(one.at, one.began.tolist(), one.ended.tolist()) for one in found.requests] == [
        ({"r": 0}, [], []), ({"r": 1}, [[12, 3]], [[12, 15, 4]])]


def test_many_ends_and_an_id():
    with pytest.raises(ValueError, match="one start and one end a request"):
        Probe("ask[0].valid", "done[0]", id="ask[0].size", ends="2")
