# amaranth: UnusedElaboratable=no
"""Table of mapped buffers: model, parameters, RTL with planted faults, proofs."""

import dataclasses
import functools
import itertools
import random
import re

import pytest
import z3
from amaranth.back import rtlil

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram import pipeline_bounds as bounds
from cyclebound.golden.dram.buffer_table import BufferRequest, Mapping, decide, words_of
from cyclebound.golden.dram.request import Destination, Refusal
from cyclebound.hdl.dram.buffer_table import BufferTable
from cyclebound.tb.dram import buffer_table_properties as properties
from cyclebound.tb.dram.buffer_table_wide import BufferTableWideProof
from kit.faults import Tampered, override
from kit.run_bench import run_bench

unit = pytest.mark.unit
SMALL = {"buffers": 2, "address_bits": 6, "count_bits": 3, "capacity": 50}


# The model

@unit
def test_every_tile_of_a_small_buffer_is_inside_or_refused():
    """Word by word: what is accepted are exactly the tiles whose every word is in the buffer."""
    buffer = Mapping(0, 7, 3, 2)
    cells = set(itertools.product(range(3), range(2)))
    accepted = 0
    for x, y, words, count in itertools.product(range(5), repeat=4):
        answer = decide(buffer, BufferRequest(0, x, y, words, count))
        wanted = [(x + c, y + line) for line in range(count) for c in range(words)]
        assert (answer.refusal == Refusal.NONE) == (bool(wanted) and set(wanted) <= cells)
        if not answer.refusal:
            assert words_of(answer.address, words, answer.period, count) == [
                7 + line * 3 + column for column, line in wanted]
            accepted += 1
    assert accepted == 6 * 3  # (1 + 2 + 3) ways in x, (1 + 2) in y


@unit
@pytest.mark.parametrize(("request_", "refusal"), [
    (BufferRequest(0, 9, 9, 0, 1), Refusal.EMPTY),
    (BufferRequest(0, 0, 0, 1, 0), Refusal.EMPTY),
    (BufferRequest(0, 2, 9, 2, 1), Refusal.WIDTH),
    (BufferRequest(0, 2, 1, 1, 2), Refusal.HEIGHT),
    (BufferRequest(0, 9, 9, 0, 0, indexed=True), Refusal.NONE),
])
def test_the_first_reason_is_given(request_, refusal):
    assert decide(Mapping(0, 0, 3, 2), request_).refusal == refusal
    assert decide(None, request_).refusal == Refusal.UNMAPPED


@unit
@pytest.mark.parametrize(("words", "refusal"), [(1 << 20, Refusal.NONE),
                                                (1 << 20 | 1 << 10, Refusal.SNOOP)])
def test_a_snoop_of_more_words_than_there_are_indexes_is_refused(words, refusal):
    """Words 2**20 apart would be one to the CAM, and a lane would get another's."""
    mapping, request_ = Mapping(0, 0, 1 << 10, words >> 10), BufferRequest(0, 0, 0, 1, 1)
    snoop = dataclasses.replace(request_, destination=Destination.CAM)
    assert decide(mapping, snoop).refusal == refusal
    assert decide(mapping, request_).refusal == Refusal.NONE
    assert decide(mapping, dataclasses.replace(snoop, words=0)).refusal == Refusal.EMPTY
    assert decide(mapping, dataclasses.replace(snoop, indexed=True)).refusal == Refusal.NONE
    assert decide(mapping, snoop, indexes=1 << 21).refusal == Refusal.NONE


@unit
def test_work_group_beyond_the_last_line_is_refused():
    """Sim-D's model does not clip such a tile to the buffer, and moves words after its end."""
    buffer = Mapping(0, 0, 32, 1)
    assert decide(buffer, BufferRequest(0, 0, 0, 32, 2)).refusal == Refusal.HEIGHT
    assert max(words_of(0, 32, 32, 2)) >= len(buffer.words)


@unit
def test_pitch_for_the_cam_is_the_line():
    asked = BufferRequest(0, pitch=9, destination=Destination.CAM)
    assert decide(Mapping(0, 0, 3, 2), asked).pitch == 3
    assert decide(Mapping(0, 0, 3, 2), dataclasses.replace(asked, destination=0)).pitch == 9


@unit
def test_bounds():
    assert bounds.buffer_lookup() == bounds.buffer_mapping() == 7
    assert [bounds.buffer_wait(mappings=n) for n in (0, 1)] == [7, 14]
    with pytest.raises(NotCovered, match=r"^mappings must be a whole number of 0 to 1, not 2$"):
        bounds.buffer_wait(mappings=2)


# Parameters

@unit
@pytest.mark.parametrize(("change", "kind", "message"), [
    ({"buffers": 1}, ValueError, "buffers must be from 2 to 256, not 1"),
    ({"buffers": 512}, ValueError, "buffers must be from 2 to 256, not 512"),
    ({"buffers": 3}, ValueError, "buffers must be a power of two, not 3"),
    ({"buffers": "2"}, TypeError, "buffers must be an integer, not '2'"),
    ({"address_bits": 31}, ValueError, "address bits must be from 2 to 30, not 31"),
    ({"address_bits": True}, TypeError, "address bits must be an integer, not True"),
    ({"count_bits": 1}, ValueError, "count bits must be from 2 to 20, not 1"),
    ({"count_bits": 2.0}, TypeError, "count bits must be an integer, not 2.0"),
    ({"capacity": 0}, ValueError, "capacity must be from 1 to 64, not 0"),
    ({"capacity": 65}, ValueError, "capacity must be from 1 to 64, not 65"),
])
def test_refuses(change, kind, message):
    with pytest.raises(kind, match=f"^{re.escape(message)}$"):
        BufferTable(**SMALL | change)


# The checkers fire

def play(dut, checker, *, cycles=1200, load=1.0, name=""):
    """Random traffic on ``dut``, watched; returns how many tiles and refusals were taken."""
    rng, counts = random.Random(name), [0, 0]

    async def bench(ctx):
        for port in (dut.mapping, dut.request):
            ctx.set(port.valid, 0)
        ctx.set(dut.mapping.payload, {"buffer": 0, "valid": 1, "address": 3, "x": 5, "y": 4})
        for _ in range(cycles):
            for port in (dut.mapping, dut.request):
                if not ctx.get(port.valid) and rng.random() < load:
                    chance = 0.1 if port is dut.mapping else 0.9
                    if rng.random() < chance:
                        ctx.set(port.valid, 1)
                        for field, key in port.payload.shape():
                            few = field in ("words", "count", "x", "y") and port is dut.request
                            ctx.set(port.payload[field], rng.randrange(3) if few
                                    else rng.getrandbits(key.width))
                        if port is dut.mapping:
                            ctx.set(port.payload.valid, rng.random() < 0.9)
                            ctx.set(port.payload.address, rng.randrange(40))
            for port, number in ((dut.tile, 0), (dut.refusal, 1)):
                ctx.set(port.ready, rng.random() < 0.6)
                counts[number] += ctx.get(port.valid) & ctx.get(port.ready)
            took = [ctx.get(port.valid) & ctx.get(port.ready)
                    for port in (dut.mapping, dut.request)]
            await ctx.tick()
            for port, gone in zip((dut.mapping, dut.request), took, strict=True):
                if gone:
                    ctx.set(port.valid, 0)

    run_bench(dut, bench, checker)
    return counts


@unit
@pytest.mark.parametrize("checker", [
    properties.BufferTableCheck, properties.BufferTableProof,
    *(functools.partial(BufferTableWideProof, chosen=chosen) for chosen in range(2))])
def test_checkers_are_quiet_about_the_table(checker):
    """Nor is what `BufferTableWideProof` assumes of products ever wrong."""
    table = BufferTable(**SMALL)
    tiles, refusals = play(table, checker(table), cycles=500, name="quiet")
    assert tiles > 8
    assert refusals > 8


def tile(field, value):
    """Change a field of every tile."""
    return lambda table, ports, cycle: ports.tile.payload[field].eq(
        value(table.tile.payload[field]))


FAULTS = {  # what the checker says, and a fault
    "a mapping and a request are taken at once": lambda table, ports, cycle: [
        ports.mapping.ready.eq(table.stage == 0), ports.request.ready.eq(table.stage == 0)],
    "taken while another is under way": lambda table, ports, cycle: ports.request.ready.eq(1),
    "tile and refusal at once": lambda table, ports, cycle: ports.refusal.valid.eq(
        table.refusal.valid | table.tile.valid),
    "answer without a request that is due": lambda table, ports, cycle: ports.refusal.valid.eq(
        table.refusal.valid | table.stage[4]),
    "answer is missing": lambda table, ports, cycle: ports.refusal.valid.eq(0),
    "report without a mapping that is due": lambda table, ports, cycle: ports.mapped.eq(
        table.mapped | cycle[3]),
    "report is missing": lambda table, ports, cycle: ports.mapped.eq(0),
    "answer changed while it waited": lambda table, ports, cycle: ports.limit.eq(cycle),
    "request not taken within 14 cycles": lambda table, ports, cycle: ports.request.ready.eq(
        table.request.ready & cycle[5]),
    "mapping is reported wrongly": lambda table, ports, cycle: ports.mapping_refusal.eq(0),
    "refusal is not for the first reason": lambda table, ports, cycle: ports.refusal.payload.eq(4),
    "tile of a request to be refused": lambda table, ports, cycle: [
        ports.tile.valid.eq(table.tile.valid | table.refusal.valid), ports.refusal.valid.eq(0)],
    "tile is empty": tile("words", lambda value: 0),
    "lines of a tile overlap": tile("period", lambda value: 0),
    "tile begins before its buffer": tile("address", lambda value: 0),
    "tile ends beyond its buffer": tile("address", lambda value: value + 4),
    "indexed tile does not begin with its buffer": tile("address", lambda value: value + 1),
    "limit is not the buffer's size": lambda table, ports, cycle: ports.limit.eq(table.limit + 1),
    "tile is not what was asked for": tile("write", lambda value: ~value),
}


@unit
@pytest.mark.parametrize("says", FAULTS)
def test_checker_fires(only, says):
    only(says, properties)
    dut = Tampered(BufferTable(**SMALL), override(FAULTS[says]))
    with pytest.raises(AssertionError, match=f"^Assertion violated: {re.escape(says)}$"):
        play(dut, properties.BufferTableCheck(dut), cycles=4000, name=says)


@unit
def test_checker_fires_for_a_buffer_that_leaves_the_device(only):
    """The table believes in a device of 50 words, the checker in one of 10."""
    says = "buffer of a tile leaves the device"
    only(says, properties)
    dut = BufferTable(**SMALL)
    check = properties.BufferTableCheck(dut)
    check.capacity = 10
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        play(dut, check, name=says)


@unit
def test_every_assertion_has_a_fault():
    text = rtlil.convert(properties.BufferTableCheck(BufferTable(**SMALL)))
    said = set(re.findall(r'parameter \\FORMAT "(?:owed: )?(.*)"', text))
    said = {message for message in said if "on offer" not in message}
    assert said - set(FAULTS) == {"buffer of a tile leaves the device"}


# Of whole numbers of any size: what `BufferTableWideProof` takes for granted

X, Y, x, y, words, count, line, column, start = z3.Ints("X Y x y words count line column start")
low, high, low_too, high_too, base = z3.Ints("low high low_too high_too base")
FACTS = {  # what is said of any such numbers, and the conditions, none of which can be spared
    "a word of such a tile is one of its buffer's": (
        lambda word: z3.And(start <= word, word < start + X * Y),
        [line >= 0, line < count, column >= 0, column < words, x >= 0, y >= 0,
         x + words <= X, y + count <= Y]),
    "a line more exceeds no buffer": (
        lambda word: X * y + X <= X * Y, [X >= 0, y < Y]),
    "a product is that of halves": (
        lambda word: (low + high * base) * (low_too + high_too * base) == low * low_too
        + (low * high_too + high * low_too) * base + high * high_too * base * base, []),
}


def refuted(fact, conditions):
    solver = z3.Solver()
    solver.set("rlimit", 10_000_000)  # of the solver's own steps: 25 times what it takes
    solver.add(*conditions, z3.Not(fact(start + X * y + x + X * line + column)))
    return solver.check()


@unit
@pytest.mark.parametrize("name", FACTS)
def test_products_of_whole_numbers(name):
    fact, conditions = FACTS[name]
    assert refuted(fact, conditions) == z3.unsat
    for number in range(len(conditions)):
        assert refuted(fact, conditions[:number] + conditions[number + 1:]) == z3.sat
