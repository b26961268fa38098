"""Registers that compare themselves with passing words, against a list of items; and faults."""

import random
from types import SimpleNamespace

import pytest

from cyclebound.golden.dram.request import TARGET_BITS
from cyclebound.golden.simd.machine import machine_named
from cyclebound.hdl.simd.snoop_registers import SnoopRegisters
from kit.run_bench import run_bench

from ..sim.mutants import Mutant, component_of
from .mutant_tests import mutant_tests

unit = pytest.mark.unit
UNIT = "simd.compute_unit"
MUTANTS = (
    Mutant(UNIT, "of several warps with a word, all answer",
           "lowest.append((own & (~own + 1))[:warps])", "lowest.append(own)"),
    Mutant(UNIT, "of several lanes with a word, all answer", "before = registers.own[slot]",
           "before = before"),
    Mutant(UNIT, "items that are off take words", "registers.active[slot].eq(active)",
           "registers.active[slot].eq(-1)"),
)
MACHINE = machine_named("small lanes=2 items=8 special_units=1")
LAST = (1 << TARGET_BITS) - 1
# indexes around 0, the end of what words can have, and the same with more bits
INDEXES = (0, 1, 2, 3, 4, 5, 8, LAST - 1, LAST, LAST + 1, LAST + 2, 1 << 29 | 3)


test_edit_fits_the_rtl, test_the_testbench_finds = mutant_tests(MUTANTS, quick=0)


def play(dut, rounds=150):
    """Random loads and questions, and what items then have. Raises `AssertionError`."""
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
            load, before = rng.getrandbits(1), rng.getrandbits(4) & rng.getrandbits(4)
            ctx.set(dut.active, active)
            ctx.set(dut.snoop, {"load": load, "enable": enable, "index": first, "words": passing})
            await ctx.tick()
            ctx.set(dut.snoop.enable, 0)
            found = [[warp for warp in range(warps) if enable >> word & 1 and active >> warp & 1
                      and index[warp] == (first + word) % (LAST + 1)] for word in range(4)]
            for word, those in enumerate(found):
                assert ctx.get(dut.found[word]) == sum(1 << warp for warp in those), "found"
                hits += bool(those)
                ctx.set(dut.lowest[word], 1 << min(those) if those else 1)
                for warp in those:
                    words[warp] = passing[word] if load else words[warp]
            ctx.set(dut.before, before)
            for word, those in enumerate(found):
                mine = those and not before >> word & 1
                assert ctx.get(dut.held[word]) == (words[min(those)] if mine else 0), "held"
                assert ctx.get(dut.own) >> word & 1 == bool(those or before >> word & 1), "own"
            for warp in range(warps):
                ctx.set(dut.read[0], warp)
                ctx.set(dut.read[1], warps - 1 - warp)
                assert ctx.get(dut.special[0]) == index[warp], "index"
                assert ctx.get(dut.special[1]) == words[warps - 1 - warp], "data"
        assert hits > 30

    run_bench(dut, bench)


@unit
def test_items_take_and_give_the_words_of_their_indexes():
    play(SnoopRegisters(machine=MACHINE))


@unit
@pytest.mark.parametrize(("says", "old", "new"), [
    ("found", "self.active[warp] & snoop", "snoop"),
    ("found", "~own[TARGET_BITS:].any()", "1"),
    ("found", "Mux(own[:low] < snoop.index[:low], follows,", "Mux(0, follows,"),
    ("held", "match & snoop.load", "match"),
    ("held", "Mux(self.before[word], 0, held)", "held"),
    ("data", "passing[word]", "passing[0]"),
], ids=["masked", "far", "two blocks", "always", "lower lanes", "another word"])
def test_faults_are_found(says, old, new):
    faulty = component_of(SimpleNamespace(name="simd.snoop_registers", component=SnoopRegisters),
                          Mutant("simd.snoop_registers", says, old, new))
    with pytest.raises(AssertionError, match=f"^{says}"):
        play(faulty(machine=MACHINE))
