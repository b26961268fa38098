"""Registers that compare themselves with passing words, against a list of items; and faults.

One lane's alone, and those of all lanes as the compute unit has them.
"""

import itertools
import random
from types import SimpleNamespace

import pytest

from cyclebound.golden.dram.request import TARGET_BITS
from cyclebound.golden.simd.machine import machine_named
from cyclebound.hdl.simd.interfaces import MEM_IDX, REGISTER_BANKS
from cyclebound.hdl.simd.register_file import LaneRegisters
from cyclebound.hdl.simd.snoop_registers import SnoopRegisters
from cyclebound.hdl.simd.work_group_registers import WorkGroupRegisters
from kit.run_bench import run_bench

from ..sim.mutants import Mutant, component_of

pytestmark = pytest.mark.unit

MACHINE = machine_named("small lanes=2 items=8 special_units=1")
LAST = (1 << TARGET_BITS) - 1
# indexes around 0, the end of what words can have, and the same with more bits
INDEXES = (0, 1, 2, 3, 4, 5, 8, LAST - 1, LAST, LAST + 1, LAST + 2, 1 << 29 | 3)
NEAR = (0, 1, 2, LAST, LAST + 1)  # those of several items are equal


def play(dut, rounds=150):
    """Random words that pass, and what items then have. Raises `AssertionError`."""
    rng, warps = random.Random(5), MACHINE.warps

    async def bench(ctx):
        index, words = [0] * warps, [0] * warps
        hits = 0
        for _ in range(rounds):
            for warp in range(warps):
                index[warp], words[warp] = rng.choice(INDEXES), rng.getrandbits(32)
                for number, value in enumerate((index[warp], words[warp])):
                    ctx.set(dut.write[number], {"enable": 1, "warp": warp, "data": value})
                await ctx.tick()
            for number in range(2):
                ctx.set(dut.write[number].enable, 0)
            active, enable = rng.getrandbits(warps), rng.getrandbits(4)
            first = rng.choice((0, 1, 2, 3, 5, LAST, LAST - 1, LAST - 2))
            passing = [rng.getrandbits(32) for _ in range(4)]
            load = rng.getrandbits(1)
            ctx.set(dut.active, active)
            ctx.set(dut.snoop, {"enable": enable, "index": first})
            await ctx.tick()
            ctx.set(dut.snoop.enable, 0)
            ctx.set(dut.passed, {"load": load, "words": passing})
            found = [[warp for warp in range(warps) if enable >> word & 1 and active >> warp & 1
                      and index[warp] == (first + word) % (LAST + 1)] for word in range(4)]
            for warp in range(warps):
                assert ctx.get(dut.matched[warp]) == sum(
                    (warp in those) << word for word, those in enumerate(found)), "matched"
            for word, those in enumerate(found):
                hits += bool(those)
                for warp in those:
                    words[warp] = passing[word] if load else words[warp]
            await ctx.tick()
            ctx.set(dut.passed.load, 0)
            for warp in range(warps):
                assert ctx.get(dut.special[0][warp]) == index[warp], "index"
                assert ctx.get(dut.special[1][warp]) == words[warp], "data"
        assert hits > 30

    run_bench(dut, bench)


def test_items_take_and_give_the_words_of_their_indexes():
    play(SnoopRegisters(machine=MACHINE))


@pytest.mark.parametrize(("says", "old", "new"), [
    ("matched", "self.active[warp] &", "1 &"),
    ("matched", "~own[TARGET_BITS:].any()", "1"),
    ("matched", "(last - own[:TARGET_BITS])[:TARGET_BITS]", "(last - own[:TARGET_BITS])[:2]"),
    ("matched", "snoop.index + (count - 1)", "snoop.index + count"),
    ("data", "self.passed.load & matched", "matched"),
    ("data", "Mux(matched[word], passed, 0)", "Mux(matched[word], self.passed.words[0], 0)"),
], ids=["masked", "far", "low bits", "the next word", "asked", "another word"])
def test_faults_are_found(says, old, new):
    faulty = component_of(SimpleNamespace(name="simd.snoop_registers", component=SnoopRegisters),
                          Mutant("simd.snoop_registers", says, old, new))
    with pytest.raises(AssertionError, match=f"^({says})"):
        play(faulty(machine=MACHINE))


def play_all(dut, rounds=100):
    """The same of all items of a slot, whose access is under way. Raises `AssertionError`."""
    rng, lanes = random.Random(6), MACHINE.lanes
    row, transfer = MEM_IDX // REGISTER_BANKS, dut.transfer[0]

    async def bench(ctx):
        hits = several = 0
        ctx.set(dut.accessing, 1)
        for _ in range(rounds):
            index = [rng.choice(NEAR) for _ in range(MACHINE.items)]
            words = [rng.getrandbits(32) for _ in index]
            for warp in range(MACHINE.warps):
                for lane, bank in itertools.product(range(lanes), range(2)):
                    value = (index, words)[bank][warp * lanes + lane]
                    ctx.set(transfer.write[bank][lane],
                            {"enable": 1, "row": row, "group": warp, "data": value})
                await ctx.tick()
            for lane, bank in itertools.product(range(lanes), range(2)):
                ctx.set(transfer.write[bank][lane].enable, 0)
            active, enable, load = (rng.getrandbits(bits) for bits in (MACHINE.items, 4, 1))
            first = rng.choice((0, LAST, LAST - 1))
            passing = [rng.getrandbits(32) for _ in range(4)]
            ctx.set(dut.active[0], active)
            ctx.set(transfer.snoop, {"load": load, "enable": enable, "index": first,
                                         "words": passing})
            await ctx.tick()
            ctx.set(transfer.snoop.enable, 0)
            found = [[item for item, own in enumerate(index) if enable >> word & 1
                      and active >> item & 1 and own == (first + word) % (LAST + 1)]
                     for word in range(4)]
            hits += sum(map(bool, found))
            several += sum(len(those) > 1 for those in found)
            if load:
                await ctx.tick()
                for word, those in enumerate(found):
                    for item in those:
                        words[item] = passing[word]
            else:
                held = transfer.held
                for word, those in enumerate(found):
                    assert ctx.get(held.enable) >> word & 1 == bool(those), "an answer"
                    if those:
                        assert ctx.get(held.words[word]) == words[min(those)], "the lowest"
            for item, value in enumerate(words):
                warp, number = divmod(item, lanes)
                for bank in range(2):
                    ctx.set(transfer.read[bank][number], {"row": row, "group": warp})
                await ctx.tick()
                answer = [ctx.get(transfer.answer[bank][number]) for bank in range(2)]
                assert answer == [index[item], value], "registers"
        assert hits > 50
        assert several > 10

    run_bench(dut, bench)


def test_the_lowest_item_of_all_lanes_answers():
    play_all(WorkGroupRegisters(machine=MACHINE, words=MACHINE.lanes))


@pytest.mark.parametrize(("says", "old", "new"), [
    ("the lowest", "lower = lower | of_warp", "lower = of_warp"),
    ("the lowest", "own.eq(has & ~before)", "own.eq(has)"),
    ("an answer|registers", "lane.active[slot].eq(active)", "lane.active[slot].eq(-1)"),
    ("an answer", "port.held.enable.eq(lower)", "port.held.enable.eq(matched[0])"),
], ids=["all warps", "all lanes", "masked", "one warp"])
def test_faults_of_all_lanes_are_found(says, old, new):
    faulty = component_of(
        SimpleNamespace(name="simd.work_group_registers", component=WorkGroupRegisters),
        Mutant("simd.work_group_registers", says, old, new))
    with pytest.raises(AssertionError, match=f"^({says})"):
        play_all(faulty(machine=MACHINE, words=MACHINE.lanes))


def test_the_pipeline_writes_and_reads_them_as_registers():
    """Of the slot that computes, unless it stalls or the registers are the transfer unit's."""
    dut, rng = LaneRegisters(machine=MACHINE), random.Random(7)

    async def bench(ctx):
        held = [[[0] * MACHINE.warps for _ in range(2)] for _ in range(2)]
        for number in range(200):
            slot, bank, warp = rng.randrange(2), rng.randrange(2), rng.randrange(MACHINE.warps)
            stall, transfers, value = rng.getrandbits(1), rng.getrandbits(2), rng.getrandbits(32)
            if number < 4 * MACHINE.warps:  # all of them first
                slot, bank, warp = number & 1, number >> 1 & 1, number >> 2
                stall = transfers = 0
            ctx.set(dut.slot, slot)
            ctx.set(dut.stall, stall)
            ctx.set(dut.transfers, transfers)
            ctx.set(dut.write, {"enable": 1, "data": value,
                                "address": {"warp": warp, "register": MEM_IDX + bank}})
            await ctx.tick()
            if not (stall or transfers >> slot & 1):
                held[slot][bank][warp] = value
            ctx.set(dut.write.enable, 0)
            if number >= 4 * MACHINE.warps - 1:
                shown = [ctx.get(dut.special[slot][number][warp]) for number in range(2)]
                assert shown == [held[slot][number][warp] for number in range(2)]

    run_bench(dut, bench)
