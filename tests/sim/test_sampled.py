"""Expressions and requests over recorded values, against the hardware of `cyclebound.tb.probe`."""

import contextlib
import random

import numpy as np
import pytest
from amaranth.hdl import Module, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from cyclebound.tb.expression import ExpressionError
from cyclebound.tb.probe import Probe, ProbeCounter, _value
from cyclebound.tb.requests import SampledProbe
from cyclebound.tb.sampled import Chunk, Lane, SampledExpression, column

pytestmark = pytest.mark.unit

WIDTHS = {"x": 3, "y": 1, "wide": 70, "byte": 8, "minus": 5, "lanes.0.on": 1, "lanes.1.on": 1,
          "lanes.0.size": 2, "lanes.1.size": 2, "word": 63, "address": 64}
LEAVES = ("x", "y", "byte", "wide", "minus", "word", "address", "lanes[0].on", "lanes[1].size",
          "many", "0", "1", "5",
          "x[1]", "byte[2:5]", "byte[-3:]", "wide[60:68]", "lanes[:].size", "lanes[:].on")


def find(path):
    if path[0] in ("many", "interval"):
        return {"many": 2, "interval": 3}[path[0]]
    if path[0] == "lanes":
        numbers = range(2)[path[1]]
        found = [(f"lanes.{n}.{path[2]}", WIDTHS[f"lanes.{n}.{path[2]}"], path[3:])
                 for n in ([numbers] if isinstance(numbers, int) else numbers)]
        return found[0] if isinstance(path[1], int) else found
    if path[0] not in WIDTHS:
        raise LookupError("it is not there")
    return path[0], WIDTHS[path[0]], path[1:]


def counts(name):
    return {"many": 2, "lanes": 2}[name]


def lanes(rows):
    """The values of all signals in these cycles, as lanes."""
    return {name: Lane(np.array([row[name] for row in rows],
                                dtype=object if width > 63 else np.int64),
                       Signal(signed(width)) if name == "minus" else Signal(width))
            for name, width in WIDTHS.items()}


def chunks(rows, sizes):
    first = 0
    for size in sizes:
        part = rows[first:first + size]
        yield Chunk(first, lanes(part), np.arange(first, first + len(part)))
        first += size


def grown(chance, depth):
    """An expression of nothing but what the language has."""
    if depth == 0 or chance.random() < 0.15:
        return chance.choice(LEAVES)

    def inner():
        return grown(chance, depth - 1)

    return chance.choice((
        lambda: f"({inner()} {chance.choice('&|^+-')} {inner()})",
        lambda: f"({inner()} {chance.choice(('==', '!=', '<', '<=', '>', '>='))} {inner()})",
        lambda: f"~{inner()}",
        lambda: f"{chance.choice(('past', 'any', 'count'))}({inner()})",
        lambda: f"{chance.choice(('first', 'held'))}({inner()}, {inner()})",
        lambda: f"nth({inner()} & 3, {chance.choice(('3', '4', 'byte[0:3] | 3', 'interval'))})",
        lambda: f"every({chance.choice(('1', '2', 'interval'))})",
        lambda: f"rose({chance.choice(('y', 'byte'))})", lambda: "fell(y)",
        lambda: f"any(lanes[k].on & {inner()} for k in many)",
        lambda: f"count(lanes[k].size > {inner()} for k in lanes)"))()


class Watched(wiring.Component):
    def __init__(self, text):
        self.interval, self.many, self.text = 3, 2, text
        lane = data.StructLayout({"on": 1, "size": 2})
        super().__init__({"x": In(3), "y": In(1), "wide": In(70), "byte": In(8),
                          "word": In(63), "address": In(64), "minus": In(signed(5)),
                          "lanes": In(lane).array(2), "value": Out(200)})

    def elaborate(self, platform):
        m = Module()
        m.d.sync += Signal(name="clocked").eq(self.x)
        m.d.comb += self.value.eq(_value(m, self.text, self, {}, None, "test", []))
        return m


def in_hardware(text, rows):
    dut, seen = Watched(text), []

    async def bench(ctx):
        for row in rows:
            for name in ("x", "y", "wide", "byte", "word", "address", "minus"):
                ctx.set(getattr(dut, name), row[name])
            for lane in range(2):
                ctx.set(dut.lanes[lane], {key: row[f"lanes.{lane}.{key}"] for key in ("on",
                                                                                      "size")})
            seen.append(ctx.get(dut.value))
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return seen


CONSTANT = ("count(~many)", "x > first(~0, every(1))", "x ^ (~many > 1)", "byte + ~(many & 0)",
            "held(x, ~0)", "count(~interval & x)")


@pytest.mark.parametrize("seeds", [
    pytest.param(range(30), id="some"),
    pytest.param(range(30, 3000), id="many", marks=pytest.mark.thorough)])
def test_values_are_those_of_hardware(seeds):
    told = 0
    for seed in seeds:
        chance = random.Random(f"expression {seed}")
        text = CONSTANT[seed] if seed < len(CONSTANT) else grown(chance, 3)
        rows = [{name: chance.getrandbits(width) - (16 if name == "minus" else 0)
                 for name, width in WIDTHS.items()} for _ in range(24)]
        expression = SampledExpression(text, find, None, counts)
        seen = [int(value) & (1 << 200) - 1 for chunk in chunks(rows, (1, 7, 0, 12, 4))
                for value in expression.of(chunk).values]
        assert seen == in_hardware(text, rows), (seed, text)
        told += len(set(seen)) > 1
    assert told > len(seeds) // 2


def test_after_a_reset_nothing_is_past():
    rows = [dict.fromkeys(WIDTHS, 1)] * 4
    for text, value in (("past(y)", 0), ("held(x, y == 0)", 0), ("first(y, 0)", 1),
                        ("nth(y, 2)", 0), ("every(2)", 0)):
        expression = SampledExpression(text, find)
        for chunk in chunks(rows[:3], (3,)):
            expression.of(chunk)
        expression.reset()
        [chunk] = chunks(rows[:1], (1,))
        assert expression.of(chunk).values.tolist() == [value], text


@pytest.mark.parametrize(("text", "known", "unknown"), [
    ("byte & 0", 0, 0), ("byte & 17", 0, 16), ("byte | 255", 255, 0), ("byte | 1", 3, 0xF0),
    ("byte ^ 1", 3, 0xF0), ("~byte", 0x0D, 0xF0), ("byte[4]", 0, 1), ("byte[0:4]", 2, 0),
    ("any(byte)", 1, 0), ("any(byte[4:])", 0, 1), ("byte + 1", 0, 0x1FF), ("byte == 2", 0, 1),
    ("count(byte)", 0, 0x1FF), ("past(byte)", 0, 0), ("held(byte, y)", 2, 0xF0),
])
def test_unknown_bits(text, known, unknown):
    values = {**lanes([dict.fromkeys(WIDTHS, 1)]), "byte": column(["xxxx0010"], 8)}
    found = SampledExpression(text, find).of(Chunk(0, values, np.array([0])))
    assert int(found.values[0]) == known
    assert (0 if found.unknown is None else int(found.unknown[0])) == unknown


ODD = ("~count(word)", "count(5 - (word | word))", "(~count(word) < word) | 0", "~(word - x)",
       "x >= held(5 - word, x)", "~(word - first(address, word))", "nth(word, address)",
       "nth(~word, 5)", "nth(wide, 1)", "nth(~0, nth(y, x))", "nth(held(x, y), ~(x == byte))",
       "nth(x, y & 0)", "nth(byte - wide, x)", f"(minus + {1 << 70}) & ~word")


@pytest.mark.parametrize("seeds", [
    pytest.param(range(60), id="some"),
    pytest.param(range(60, 6000), id="many", marks=pytest.mark.thorough)])
def test_pieces_of_a_trace_say_what_the_whole_says(seeds):
    """Also of words of 63 and 64 bits, of unknown bits, and where ``nth`` counts too much."""
    told = 0
    for seed in seeds:
        chance = random.Random(f"pieces {seed}")
        text = ODD[seed] if seed < len(ODD) else grown(chance, 3)
        values = {}
        for name, width in WIDTHS.items():
            kind = np.int64 if width <= 63 else object
            unknown = [chance.getrandbits(width) * (chance.random() < 0.1) for _ in range(24)]
            known = [chance.choice((0, 1, (1 << width) - 1, chance.getrandbits(width))) & ~bits
                     for bits in unknown]
            shape = signed(width) if name == "minus" else width
            if name == "minus":
                known = [bits - (bits >> width - 1 << width) for bits in known]
            values[name] = Lane(np.array(known, dtype=kind), Signal(shape),
                                np.array(unknown, dtype=kind))
        whole = Chunk(0, values, np.arange(24))
        expected = SampledExpression(text, find, None, counts).of(whole)
        shape = expected.like.shape()
        low = -(1 << shape.width - 1) if shape.signed else 0
        assert all(low <= value < low + (1 << shape.width) for value in expected.values), text
        pieces, at = SampledExpression(text, find, None, counts), 0
        while at < 24:
            upto = min(24, at + chance.randrange(1, 9))
            found = pieces.of(whole.part(at, upto))
            assert found.values.tolist() == expected.values[at:upto].tolist(), (seed, text)
            assert (0 if found.unknown is None else found.unknown.tolist()) == (
                0 if expected.unknown is None or not expected.unknown[at:upto].any()
                else expected.unknown[at:upto].tolist()), (seed, text)
            at = upto
        told += len(set(expected.values.tolist())) > 1
    assert told > len(seeds) // 2


def test_a_column_of_odd_values():
    lane = column([5, None, "x", "1z01", "b"], 4)
    assert lane.values.tolist() == [5, 0, 0, 9, 0]
    assert lane.unknown.tolist() == [0, 15, 15, 4, 15]


@pytest.mark.parametrize(("text", "column", "says"), [
    ("nothing & x", 1, "there is no nothing"), ("x & byte[7:4]", 5, "are [4:8] here"),
    ("y & byte[8]", 5, "it has 8 bits, and no bit 8"), ("x.field", 1, "no field field"),
    ("any(x for k in none)", 16, "there is no none"),
])
def test_names_that_there_are_not(text, column, says):
    with pytest.raises(ExpressionError) as raised:
        SampledExpression(text, find, None, counts)
    assert says in raised.value.what
    assert raised.value.column == column
    assert raised.value.pointed.splitlines()[2] == " " * (column + 3) + "^"


@pytest.mark.parametrize("text", ["~" * 700 + "y", "(" * 150 + "y" + ")" * 150 + " &",
                                  "any(y for k in 99999999999)", "past(" * 90 + "y" + ")" * 90])
def test_no_text_takes_forever_or_too_much(text):
    with contextlib.suppress(ExpressionError):
        assert SampledExpression(text, find, None, counts).width == 1


# -- requests --------------------------------------------------------------------------------------

NAMES = ("start", "end", "starts", "ends", "tick", "start_id", "end_id")


def in_counter(events, options):
    """(first, last, latency) of each request, and whether there were faults, in hardware."""
    signals = {name: Signal(1 if name in ("start", "end", "tick") else 3, name=name)
               for name in NAMES}
    by_id = options.get("by_id")
    dut = ProbeCounter(signals["start"], signals["end"], starts=signals["starts"],
                       ends=signals["ends"], tick=signals["tick"], width=16,
                       ids=(signals["start_id"], signals["end_id"]) if by_id else None,
                       in_flight=options.get("in_flight", 1), in_turn=options.get("in_turn", False),
                       ahead=options.get("ahead", 0))
    seen, faults = [], []

    async def bench(ctx):
        for cycle, event in enumerate(events):
            for name in NAMES:
                ctx.set(signals[name], event[name])
            if ctx.get(dut.closes):
                seen.append((cycle + 1 - ctx.get(dut.lasted), cycle, ctx.get(dut.age)))
            faults.append(bool(ctx.get(dut.overflow) or ctx.get(dut.spurious)))
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return seen, faults


def in_samples(events, options, *, sequentially, sizes):
    widths = {name: 1 if name in ("start", "end", "tick") else 3 for name in NAMES}
    probe = Probe("start", "end", starts=options.get("starts", "1"),
                  ends=options.get("ends", "1"), in_flight=options.get("in_flight", 1),
                  id="start_id" if options.get("by_id") else "",
                  end_id="end_id" if options.get("by_id") else "", ticks="tick",
                  in_turn=options.get("in_turn", False), ahead=str(options.get("ahead", 0)),
                  request={"kind": "starts"})
    sampled = SampledProbe(probe, lambda path: (path[0], widths[path[0]], path[1:]))
    found, first = [], 0
    for size in sizes:
        part = events[first:first + size]
        chunk = Chunk(first, {name: Lane(np.array([e[name] for e in part], dtype=np.int64),
                                         Signal(widths[name])) for name in NAMES},
                      np.arange(first, first + len(part)) * 10)
        seen = sampled.feed(chunk, sequentially=sequentially)
        assert (seen.times == np.column_stack((seen.first, seen.last)) * 10).all()
        assert [row[0] for row in seen.parameters.tolist()] == [
            events[cycle]["starts"] for cycle in seen.first]
        found += zip(seen.first.tolist(), seen.last.tolist(), seen.latency.tolist(), strict=True)
        first += size
    return found, sampled.problems


CASES = ({}, {"in_flight": 3}, {"in_flight": 3, "in_turn": True},
         {"in_flight": 2, "in_turn": True, "ahead": 2}, {"by_id": True},
         {"starts": "starts", "ends": "ends", "in_flight": 2})


def traffic(chance, options, cycles):
    """Events, mostly of proper requests."""
    events, level, sloppy = [], 0, chance.random() < 0.3
    many = 8 if options.get("by_id") else options.get("in_flight", 1)
    names: list[int] = []
    for _ in range(cycles):
        event = {"start": 0, "end": 0, "starts": 1, "ends": 1, "tick": chance.random() < 0.8,
                 "start_id": chance.randrange(8), "end_id": chance.randrange(8)}
        if "starts" in options:
            event |= {"starts": chance.randrange(4), "ends": chance.randrange(4)}
        wants = chance.random() < 0.4
        if wants and (sloppy or "starts" in options or (
                event["start_id"] not in names if options.get("by_id") else level < many)):
            event["start"] = 1
            names.append(event["start_id"])
            level += 1
        if (level or sloppy) and chance.random() < 0.4:
            event["end"] = 1
            if names and not sloppy:
                event["end_id"] = chance.choice(names)
                names.remove(event["end_id"])
            level -= level > 0
        events.append({name: int(value) for name, value in event.items()})
    return events


@pytest.mark.parametrize("seeds", [
    pytest.param(range(4), id="some"),
    pytest.param(range(4, 300), id="many", marks=pytest.mark.thorough)])
@pytest.mark.parametrize("options", CASES, ids=str)
def test_requests_are_those_of_hardware(options, seeds):
    requests = 0
    for seed in seeds:
        chance = random.Random(f"requests {options} {seed}")
        events = traffic(chance, options, 150)
        expected, faults = in_counter(events, options)
        for sequentially in (False, True):
            found, problems = in_samples(events, options, sequentially=sequentially,
                                         sizes=(1, 40, 0, 60, 49))
            assert bool(problems) == any(faults), seed
            if problems:  # hardware stops there
                cycle = faults.index(True)
                assert problems[0].startswith(f"cycle {cycle}: "), seed
                assert [row for row in found if row[1] < cycle] == [
                    row for row in expected if row[1] < cycle], seed
            else:
                assert found == expected, seed
                requests += len(found)
    assert requests > 20 * len(seeds) or "starts" in options


def by_id(events, many):
    """What AXI says, in another way: of each id the k-th end is that of the k-th start."""
    begun, ended, fault = {}, {}, False
    for cycle, event in enumerate(events):
        for name, lists in (("start", begun), ("end", ended)):
            if event[name]:
                lists.setdefault(event[f"{name}_id"], []).append(cycle)
        for number in range(8):
            level = len(begun.get(number, ())) - len(ended.get(number, ()))
            fault = fault or not 0 <= level <= many
    return sorted((last, first) for number, lasts in ended.items()
                  for first, last in zip(begun.get(number, ()), lasts, strict=False)), fault


@pytest.mark.parametrize("many", [1, 2, 5])
def test_several_requests_of_one_id_end_in_order(many):
    proper = 0
    for seed in range(60):
        chance = random.Random(f"ids {many} {seed}")
        level, events, sloppy = [0] * 8, [], seed % 3 == 0
        for _ in range(120):
            event = {"start": 0, "end": 0, "starts": 1, "ends": 1, "tick": 1,
                     "start_id": chance.randrange(3), "end_id": chance.randrange(3)}
            if chance.random() < 0.5 and (sloppy or level[event["start_id"]] < many):
                event["start"] = 1
                level[event["start_id"]] += 1
            if chance.random() < 0.6 and (sloppy or level[event["end_id"]]):
                event["end"] = 1
                level[event["end_id"]] -= 1
            events.append(event)
        expected, fault = by_id(events, many)
        found, problems = in_samples(events, {"by_id": True, "in_flight": many}, sequentially=False,
                                     sizes=(1, 40, 0, 60, 19))
        assert bool(problems) == fault, (seed, problems)
        if not fault:
            assert sorted((last, first) for first, last, _ in found) == expected
            assert all(last - first + 1 == took for first, last, took in found)
            proper += len(found)
    assert proper > 500


def test_a_request_too_many_of_an_id_is_named():
    events = [{"start": 1, "end": 0, "starts": 1, "ends": 1, "tick": 1, "start_id": 6,
               "end_id": 0}] * 3
    _, problems = in_samples(events, {"by_id": True, "in_flight": 2}, sequentially=False,
                             sizes=(3,))
    assert problems == [
        ("cycle 2: a request with id 6 begins while 2 are under way with it, and 2 may be")]


def test_what_cannot_be_a_request():
    with pytest.raises(ValueError, match=r"^in_flight must be at least 1, not 0$"):
        SampledProbe(Probe("y", "y", in_flight=0), find)
