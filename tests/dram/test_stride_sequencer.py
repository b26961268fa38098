# amaranth: UnusedElaboratable=no
"""Stride sequencer: model and RTL against the reference, checkers against faults, proof."""

import dataclasses
import itertools
import json
import random
import re
from pathlib import Path

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Assume

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram import pipeline_bounds as bounds
from cyclebound.golden.dram.request import WORD_BYTES, Destination, TileRequest
from cyclebound.golden.dram.stride_sequencer import START, StrideSequencerModel, bursts_of
from cyclebound.hdl.dram.stride_sequencer import StrideSequencer
from cyclebound.sim import catalogue
from cyclebound.sim.proof.prove import prove
from cyclebound.tb.dram import stride_sequencer_properties as properties
from kit.faults import Tampered, override
from kit.run_bench import run_bench

unit = pytest.mark.unit
proof = pytest.mark.proof
CHECK = properties.StrideSequencerCheck
PAPER = TileRequest(address=2, words=5, period=7, count=3)  # Sim-D, Figure 3
VECTORS = [json.loads(line) for line in
           (Path(__file__).parent / "data" / "stride.jsonl").read_text().splitlines()]


def small_tiles(*, words=8, gaps=20, count=3):
    """(start, words, gap, count) of every small tile."""
    return itertools.product(range(16), range(1, words + 1), range(gaps), range(1, count + 1))


# The golden model

@unit
def test_figure_3():
    first, second = bursts_of(PAPER)
    assert (first.address, second.address) == (0x0 // 64, 0x40 // 64)
    assert (first.mask, second.mask) == (0b0011_1110_0111_1100, 0b1_1111)
    assert first.targets == (0, 0, 0, 1, 2, 3, 4, 0, 0, 5, 6, 7, 8, 9, 0, 0)
    assert second.targets[:6] == (10, 11, 12, 13, 14, 0)
    assert (first.last, second.last) == (False, True)


@unit
def test_words_of_the_cam_continue_where_none_is_moved():
    tile = dataclasses.replace(PAPER, destination=Destination.CAM, pitch=7, base=1)
    assert bursts_of(tile)[0].targets == ((1 << 20) - 1, *range(15))


@unit
def test_every_word_is_in_one_burst():
    """Word by word, without numpy."""
    seen = 0
    for start, words, gap, count in small_tiles(words=5, gaps=18, count=2):
        tile = TileRequest(16 + start, words, words + gap, count, base=9, pitch=100)
        found = {}
        for burst in bursts_of(tile):
            for lane in range(16):
                if burst.mask >> lane & 1:
                    found[burst.address * 16 + lane] = burst.targets[lane]
        assert found == {tile.address + line * tile.period + column: 9 + 100 * line + column
                         for line in range(count) for column in range(words)}
        seen += len(found)
    assert seen > 10_000


@unit
def test_model_takes_a_tile_at_a_time_and_keeps_its_offer():
    model, other = StrideSequencerModel(), TileRequest(0, 1)
    seen = [model.step(PAPER if cycle == 0 else other, ready=cycle != START - 1)
            for cycle in range(START + 3)]
    first, second = bursts_of(PAPER)
    assert [out.burst for out in seen] == [None] * (START - 1) + [first, first, second, None]
    assert [out.ready for out in seen] == [True] + [False] * (START + 1) + [True]
    assert [out.busy for out in seen] == [not out.ready for out in seen]


# The authors' model

def tile_of(vector):
    """The request of a vector: in the reference, registers count lanes, not elements."""
    transform = {"sp": 0, "reg": 0, "reg2": 1}[vector["target"]]
    return TileRequest(
        vector["addr"] // WORD_BYTES, vector["words"], vector["period"], vector["count"],
        destination=Destination.SCRATCHPAD if vector["target"] == "sp" else Destination.REGISTERS,
        pitch=vector["dst_period"] << transform, transform=transform)


def as_printed(vector, burst):
    """A burst as the reference has it: byte address, mask, and what its words' targets are."""
    targets = [burst.targets[lane] for lane in range(16) if burst.mask >> lane & 1]
    row = [burst.address * 64, burst.mask]
    if vector["target"] == "sp":
        return [*row, targets[0] * WORD_BYTES]
    transform = 1 if vector["target"] == "reg2" else 0
    row.append([target >> transform for target in targets])
    return [*row, [target & 1 for target in targets]] if transform else row


@unit
def test_model_is_the_reference():
    for vector in VECTORS:
        assert [as_printed(vector, burst) for burst in bursts_of(tile_of(vector))] \
            == vector["bursts"]
    assert len(VECTORS) == 97
    assert sum(len(vector["bursts"]) for vector in VECTORS) > 2000


@unit
def test_where_the_reference_is_wrong():
    """It computes the first lane's phase without sign: wrong after the first period of a burst,

    for narrow periods that do not divide 2**32. No vector is of that kind.
    """
    wrong = {(period, start) for period in range(1, 1 << 5) for start in range(16)
             if (period - start) % 2**32 % period != -start % period}
    assert wrong == {(period, start) for period in range(1, 16) for start in range(period + 1, 16)
                     if period & period - 1}
    assert min(wrong) == (3, 4)
    for vector in VECTORS:
        assert (vector["period"], vector["addr"] // WORD_BYTES % 16) not in wrong \
            or vector["words"] == vector["period"]
    # The smallest request, one word after a period of three: its phase would be 1, and no gap is.
    assert [burst.mask for burst in bursts_of(TileRequest(4, 1, 3))] == [1 << 4]


# The bound

@unit
def test_bursts_are_those_of_the_model():
    for start, words, gap, count in small_tiles(words=18, gaps=34, count=2):
        assert bounds.tile_bursts(start=start, words=words, gap=gap, count=count) \
            == len(bursts_of(TileRequest(start, words, words + gap, count)))
    for start, words, gap, count in itertools.product((0, 5, 15), (1, 33), (15, 16, 23), (16, 99)):
        assert bounds.tile_bursts(start=start, words=words, gap=gap, count=count) \
            == len(bursts_of(TileRequest(start, words, words + gap, count)))


@unit
def test_bound():
    known = {"words": 5, "gap": 2, "count": 3}
    assert bounds.stride_sequencer(start=2, **known) == 9
    assert [bounds.stride_sequencer(start=start, words=1, gap=0, count=1) for start in (0, 15)] \
        == [8, 8]
    assert bounds.stride_sequencer_anywhere(words=2, gap=0, count=1) == 9
    assert bounds.stride_sequencer_anywhere(words=17, gap=31, count=4) == 15


@unit
@pytest.mark.parametrize(("name", "value", "message"), [
    ("start", -1, r"^start must be a whole number of 0 to 15, not -1$"),
    ("start", 16, r"^start must be a whole number of 0 to 15, not 16$"),
    ("words", 0, r"^words must be a whole number of at least 1, not 0$"),
    ("gap", -1, r"^gap must be a whole number of at least 0, not -1$"),
    ("count", 0, r"^count must be a whole number of at least 1, not 0$"),
])
def test_bound_refuses(name, value, message):
    with pytest.raises(NotCovered, match=message):
        bounds.stride_sequencer(**{"start": 0, "words": 1, "gap": 0, "count": 1} | {name: value})


# RTL

def offer(ctx, dut, tile):
    ctx.set(dut.tile.valid, 1)
    ctx.set(dut.tile.payload, {name: int(value)
                               for name, value in dataclasses.asdict(tile).items()})


def sequence(dut, tiles, load=1.0, cycles=None, see=None):
    """A bench that plays ``tiles``, or ``cycles`` of them; ``see(cycle, payload)`` for each burst

    that is taken. With probability ``load``, a burst is taken.
    """
    rng = random.Random(str(load))

    async def bench(ctx):
        pending, ended, cycle = list(tiles), True, 0
        while (pending or not ended) if cycles is None else cycle < cycles:
            if pending:
                offer(ctx, dut, pending[0])
            else:
                ctx.set(dut.tile.valid, 0)
            ctx.set(dut.bursts.ready, ready := rng.random() < load)
            if pending and ctx.get(dut.tile.ready):
                pending.pop(0)
                ended = False
            if ready and ctx.get(dut.bursts.valid):
                payload = ctx.get(dut.bursts.payload)
                ended |= bool(payload.last)
                if see is not None:
                    see(cycle, payload)
            await ctx.tick()
            cycle += 1
    return bench


def differs(burst, payload):
    """Names of what a burst of the RTL has otherwise."""
    matters = range(16) if burst.destination is Destination.CAM else \
        [lane for lane in range(16) if burst.mask >> lane & 1]
    names = ("address", "mask", "write", "destination", "transform", "indexed", "last")
    return [name for name in names if getattr(payload, name) != int(getattr(burst, name))] \
        + [f"target {lane}" for lane in matters if payload.targets[lane] != burst.targets[lane]]


@unit
def test_rtl_is_the_reference():
    """Some tiles: the model is the reference for all of them, and in the regression the RTL's."""
    dut = StrideSequencer()
    tiles = [tile_of(vector) for vector in VECTORS[::8]]
    expected = [burst for tile in tiles for burst in bursts_of(tile)]
    cycles = []

    def see(cycle, payload):
        assert differs(expected[len(cycles)], payload) == []
        cycles.append(cycle)
    run_bench(dut, sequence(dut, tiles, see=see), CHECK(dut))
    assert len(cycles) == len(expected) > 200
    # One tile after the other: `START` cycles, and one for each burst but the first
    assert cycles[-1] + 1 == sum(START - 1 + len(bursts_of(tile)) for tile in tiles)


# The checkers fire

def payload(name, value):
    """A field of the bursts, as ``value(field of the sequencer, cycle)``."""
    return lambda inner, outer, cycle: getattr(outer.bursts.payload, name).eq(
        value(getattr(inner.bursts.payload, name), cycle))


FAULTS = [
    (lambda inner, outer, cycle: outer.tile.ready.eq(1),
     "a tile is taken where none is under way"),
    (lambda inner, outer, cycle: outer.busy.eq(0), "busy while a tile is under way"),
    (lambda inner, outer, cycle: outer.bursts.valid.eq(inner.bursts.valid | ~inner.busy),
     "burst without a tile"),
    (lambda inner, outer, cycle: outer.bursts.valid.eq(inner.busy), "burst too early"),
    (lambda inner, outer, cycle: outer.bursts.valid.eq(inner.bursts.valid & cycle[0]),
     "burst is missing"),
    (lambda inner, outer, cycle: outer.bursts.valid.eq(inner.bursts.valid & cycle[0]),
     "burst withdrawn"),
    (payload("transform", lambda transform, cycle: transform ^ cycle[0]), "burst changed"),
    (payload("mask", lambda mask, cycle: 0), "burst without a word"),
    (payload("address", lambda address, cycle: address + 1), "first burst is another"),
    (payload("mask", lambda mask, cycle: mask << 1), "first word is another"),
    (payload("address", lambda address, cycle: ~address), "addresses do not ascend"),
    (payload("write", lambda write, cycle: ~write), "burst of another request"),
]


@unit
@pytest.mark.parametrize(("fault", "says"), FAULTS, ids=[fault[-1] for fault in FAULTS])
def test_checker_fires(only, fault, says):
    only(says, properties)
    dut = Tampered(StrideSequencer(), override(fault))
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        run_bench(dut, sequence(dut, [PAPER] * 9, 0.5, cycles=100), CHECK(dut))


@unit
def test_every_assertion_has_a_fault():
    text = rtlil.convert(CHECK(StrideSequencer()))
    said = re.findall(r'parameter \\FORMAT "(?:owed: )?(.*)"', text)
    assumed = {"tile withdrawn or changed", "tile without words", "lines overlap"}
    assert set(said) - assumed == {fault[-1] for fault in FAULTS}


@unit
@pytest.mark.parametrize(("later", "says"), [
    ({"valid": 0}, "tile withdrawn or changed"), ({"address": 3}, "tile withdrawn or changed"),
    ({"words": 0}, "tile without words"), ({"count": 0}, "tile without words"),
    ({"period": 4}, "lines overlap")])
def test_checker_names_the_neighbour_that_breaks_the_rules(only, later, says):
    only(says, properties, kinds=(Assume,))
    dut = StrideSequencer()

    async def bench(ctx):
        offer(ctx, dut, PAPER)
        for _ in range(2):
            await ctx.tick()
        for name, value in later.items():
            ctx.set(dut.tile.valid if name == "valid" else getattr(dut.tile.payload, name), value)
        await ctx.tick()
    with pytest.raises(AssertionError, match=f"^Assumption violated: (owed: )?{says}$"):
        run_bench(dut, bench, CHECK(dut))


# Proof

def claim():
    block = catalogue.load().find("dram.stride_sequencer")
    return block, block.properties[0]


@pytest.mark.thorough
@proof
def test_a_fault_has_a_counterexample(tmp_path):
    block, said = claim()
    block = dataclasses.replace(block, component=lambda: Tampered(
        StrideSequencer(), override(lambda inner, outer, cycle: outer.busy.eq(0))))
    found = prove(block, said, {}, folder=tmp_path)
    assert (found.status, found.detail) == ("failed", "busy while a tile is under way in cycle 1")
    assert (tmp_path / "counterexample.vcd").stat().st_size > 100
