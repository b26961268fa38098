# amaranth: UnusedElaboratable=no
"""Index iterator: model, RTL with planted faults."""

import random
import re

import pytest
from amaranth.back import rtlil

from cyclebound.golden.dram import pipeline_bounds as bounds
from cyclebound.golden.dram.index_iterator import Element, IndexedTile, bursts_of
from cyclebound.hdl.dram.index_iterator import IndexIterator
from cyclebound.tb.dram import index_iterator_properties as properties
from kit.faults import Tampered, override
from kit.run_bench import run_bench

unit = pytest.mark.unit


@unit
def test_one_burst_for_each_legal_index():
    found = bursts_of(IndexedTile(30, 5, write=True), [
        Element(0, 7), Element(4, 8), Element(5, 9), Element(2, 3), Element(end=True)])
    assert [(burst.address, burst.mask, burst.targets[0], burst.last) for burst in found] == [
        (1, 1 << 14, 7, False), (2, 1 << 2, 8, False), (2, 1 << 0, 3, True)]
    assert all(burst.write and burst.indexed for burst in found)
    assert bursts_of(IndexedTile(30, 0), [Element(0), Element(end=True)]) == []


@unit
def test_bounds():
    assert [bounds.index_burst(refused=n) for n in (0, 3)] == [4, 7]
    assert [bounds.index_request(indexes=n) for n in (0, 1024)] == [5, 1029]


def play(dut, checker, *, cycles=500, name=""):
    """Random requests and stalls; returns how many bursts and how many requests were done."""
    rng, counts = random.Random(name), [0, 0]

    async def bench(ctx):
        for _ in range(cycles):
            if not ctx.get(dut.tile.valid):
                ctx.set(dut.tile.valid, rng.random() < 0.5)
                ctx.set(dut.tile.payload.address, rng.randrange(1, 1000))
                ctx.set(dut.tile.payload.destination, rng.randrange(1, 3))
                ctx.set(dut.limit, rng.randrange(6))
            if not ctx.get(dut.indexes.valid):
                ctx.set(dut.indexes.valid, rng.random() < 0.8)
                ctx.set(dut.indexes.payload, {"index": rng.randrange(7), "target": rng.randrange(9),
                                              "end": rng.random() < 0.25})
            ctx.set(dut.bursts.ready, rng.random() < 0.7)
            counts[0] += ctx.get(dut.bursts.valid) & ctx.get(dut.bursts.ready)
            counts[1] += ctx.get(dut.done)
            took = [(port, ctx.get(port.valid) & ctx.get(port.ready))
                    for port in (dut.tile, dut.indexes)]
            await ctx.tick()
            for port, gone in took:
                if gone:
                    ctx.set(port.valid, 0)

    run_bench(dut, bench, checker)
    return counts


@unit
@pytest.mark.parametrize("checker", [properties.IndexIteratorCheck, properties.IndexIteratorProof])
def test_checkers_are_quiet_about_the_iterator(checker):
    dut = IndexIterator()
    bursts, done = play(dut, checker(dut), cycles=800, name="quiet")
    assert bursts > 50
    assert done > 25


def burst(field, value):
    """Change a field of every burst."""
    return lambda inner, ports, cycle: ports.bursts.payload[field].eq(
        value(inner.bursts.payload[field]))


FAULTS = {  # what the checker says, and a fault
    "request taken before the last is done": lambda inner, ports, cycle: ports.tile.ready.eq(1),
    "index taken out of a request": lambda inner, ports, cycle: ports.indexes.ready.eq(1),
    "index has to wait though nothing stalls": lambda inner, ports, cycle: ports.indexes.ready.eq(
        inner.indexes.ready & cycle[2]),
    "burst without a request": lambda inner, ports, cycle: ports.bursts.valid.eq(cycle[4]),
    "burst with more or fewer words than one": burst("mask", lambda mask: mask | 1),
    "word enabled outside its buffer": burst("address", lambda address: address + 1),
    "burst is not what was asked for": burst("destination", lambda destination: 0),
    "last burst before the end is known": burst("last", lambda last: 1),
    "burst: offer withdrawn or changed": lambda inner, ports, cycle: ports.bursts.valid.eq(
        inner.bursts.valid & cycle[2]),
    "burst not in the third cycle after it is decided": lambda inner, ports, cycle:
        ports.bursts.valid.eq(inner.bursts.valid & cycle[2]),
    "index taken while nothing moves": lambda inner, ports, cycle: ports.indexes.ready.eq(
        inner.busy & ~inner.ended),
    "done out of place": lambda inner, ports, cycle: ports.done.eq(inner.done & cycle[2]),
    "empty or refused is wrong": lambda inner, ports, cycle: ports.refused.eq(0),
}


@unit
@pytest.mark.parametrize("says", FAULTS)
def test_checker_fires(only, says):
    only(says, properties)
    dut = Tampered(IndexIterator(), override(FAULTS[says]))
    with pytest.raises(AssertionError, match=f"^Assertion violated: {re.escape(says)}$"):
        play(dut, properties.IndexIteratorCheck(dut), name=says)


@unit
def test_every_assertion_has_a_fault():
    text = rtlil.convert(properties.IndexIteratorCheck(IndexIterator()))
    said = set(re.findall(r'parameter \\FORMAT "(?:owed: )?(.*)"', text))
    assumed = {"tile on offer withdrawn or changed", "index on offer withdrawn or changed",
               "buffer ends beyond the address space"}
    assert said - assumed == set(FAULTS)


@unit
@pytest.mark.parametrize("index", [-1, 1 << 20])
def test_no_index(index):
    with pytest.raises(ValueError, match=rf"^index must be from 0 to 1048575, not {index}$"):
        Element(index)
