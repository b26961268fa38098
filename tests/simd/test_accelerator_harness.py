"""The accelerator's harness: its DRAM, its records, and faults that its testbench finds."""

import dataclasses
import functools
import random

import pytest
from amaranth.hdl import Signal

from cyclebound.golden.dram.rules import Command
from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.harness.faults import ACCELERATOR
from cyclebound.hdl.dram.stand_in import DramWithHost
from cyclebound.hdl.simd.accelerator import Accelerator
from cyclebound.hdl.simd.accelerator_harness import AcceleratorHarness
from cyclebound.hdl.simd.event_recorder import EventRecorder
from cyclebound.sim import catalogue
from cyclebound.sim.build.verilator import build_verilator
from cyclebound.sim.run.job import Job, asked_of, design, write_job
from cyclebound.sim.run.simulator import run
from kit.run_bench import run_bench

unit = pytest.mark.unit
PART = part_named("ddr4-3200aa-x16")
WORDS = 16


# The DRAM with a port for its content

class Host:
    """A `DramWithHost` in simulation, by clocks."""

    def __init__(self, ctx, dram):
        self.ctx, self.dram = ctx, dram
        self.missing, self.wrong = [], []

    async def clock(self, command=Command.NOP, *, bank=0, row=0, column=0, write=None):
        """A clock with this command, and these four words with their mask to be written; the words
        on the bus in it."""
        ctx, dram = self.ctx, self.dram
        ctx.set(dram.command, {"op": command, "bank": bank, "row": row, "column": column})
        words, mask = write or ((0, 0, 0, 0), 0)
        ctx.set(dram.dq_out.valid, write is not None)
        ctx.set(dram.dq_out.payload, {"words": list(words), "mask": mask})
        self.missing.append(ctx.get(dram.missing))
        self.wrong.append(ctx.get(dram.wrong))
        found = [ctx.get(word) for word in dram.dq_in]
        await ctx.tick()
        return found

    async def place(self, slot, bank, row):
        self.ctx.set(self.dram.place.valid, 1)
        self.ctx.set(self.dram.place.payload, {"slot": slot, "bank": bank, "row": row})
        await self.clock()
        self.ctx.set(self.dram.place.valid, 0)

    async def put(self, burst, words):
        self.ctx.set(self.dram.put.valid, 1)
        self.ctx.set(self.dram.put.payload, {"burst": burst, "words": list(words)})
        await self.clock()
        self.ctx.set(self.dram.put.valid, 0)

    async def look(self, burst):
        self.ctx.set(self.dram.look, burst)
        await self.clock()
        return [self.ctx.get(word) for word in self.dram.shown]


def on_dram(scenario, slots=4):
    dram = DramWithHost(part=PART, slots=slots)

    async def bench(ctx):
        await scenario(Host(ctx, dram))

    run_bench(dram, bench)


def words_of(rng):
    return [rng.getrandbits(32) for _ in range(WORDS)]


@unit
def test_the_dram_answers_reads_with_what_the_host_put():
    """Bursts of two rows, whose places are not in the order of the rows; back to back."""
    rng = random.Random(1)
    content = {(0, 7): words_of(rng), (0, 8): words_of(rng), (3, 127): words_of(rng)}
    where = {0: (5, 900), 3: (2, 17)}  # by place: bank and row

    async def scenario(host):
        for slot, (bank, row) in where.items():
            await host.place(slot, bank, row)
        for (slot, column), words in content.items():
            await host.put(slot * PART.bursts_per_row + column, words)
        for bank, row in where.values():
            await host.clock(Command.ACT, bank=bank, row=row)
        seen = []
        for number in range(12 + PART.nCAS):
            slot, column = list(content)[number // 4 % 3]
            command = Command.RD if number < 12 and number % 4 == 0 else Command.NOP
            seen += await host.clock(command, bank=where[slot][0], column=column)
        assert seen[4 * PART.nCAS:] == [word for words in content.values() for word in words]
        assert not any(host.missing)
        assert not any(host.wrong)

    on_dram(scenario)


@unit
@pytest.mark.parametrize("shift", [-1, 0, 1])
def test_the_dram_keeps_words_that_come_when_they_are_due(shift):
    """Masked words stay; a clock early or late, words are said to be wrong."""
    rng = random.Random(2)
    before, after = words_of(rng), words_of(rng)
    masks = [rng.getrandbits(4) for _ in range(4)]

    async def scenario(host):
        await host.place(1, 0, 3)
        for _ in range(40):
            await host.clock()
        await host.put(PART.bursts_per_row + 9, before)
        await host.clock(Command.ACT, bank=0, row=3)
        await host.clock(Command.WRA, bank=0, column=9)
        for number in range(1, PART.nCWD + 8):
            beat = number - PART.nCWD - shift
            await host.clock(write=(after[4 * beat:4 * beat + 4], masks[beat])
                             if 0 <= beat < 4 else None)
        found = await host.look(PART.bursts_per_row + 9)
        assert sum(host.wrong) == 2 * abs(shift)
        if not shift:
            assert found == [after[word] if masks[word // 4] >> word % 4 & 1 else before[word]
                             for word in range(WORDS)]

    on_dram(scenario)


@unit
def test_the_dram_says_which_rows_it_does_not_have():
    async def scenario(host):
        await host.place(2, 4, 6)
        for bank, row, missing in ((4, 6, 0), (4, 7, 1), (5, 6, 1)):
            await host.clock(Command.ACT, bank=bank, row=row)
            assert host.missing[-1] == missing
        await host.place(2, 4, 7)  # instead of the one before
        for row, missing in ((6, 1), (7, 0)):
            await host.clock(Command.ACT, bank=4, row=row)
            assert host.missing[-1] == missing
        host.ctx.set(host.dram.forget, 1)
        await host.clock()
        host.ctx.set(host.dram.forget, 0)
        await host.clock(Command.ACT, bank=4, row=7)
        assert host.missing[-1] == 1

    on_dram(scenario)


@unit
@pytest.mark.parametrize(("slots", "error", "says"), [
    (3, ValueError, r"^slots must be a power of two of at least 2, not 3$"),
    (True, TypeError, r"^slots must be an integer, not True$")])
def test_the_dram_has_a_power_of_two_of_places(slots, error, says):
    with pytest.raises(error, match=says):
        DramWithHost(part=PART, slots=slots)


# Records

@unit
def test_the_recorder_counts_compute_cycles_and_keeps_what_happens():
    """Events while it stalls, before a kernel and after it leave no record."""
    recorder = EventRecorder(depth=4)
    # begins, stall, idle, over
    clocks = [(0, 0, 1, 1), (1, 0, 0, 1), (0, 1, 0, 2), (0, 0, 0, 2), (0, 0, 0, 0), (0, 0, 1, 3),
              (0, 0, 1, 1), (1, 1, 0, 1), (0, 0, 0, 3), (0, 0, 0, 1)]
    seen = []

    async def bench(ctx):
        for begins, stall, idle, over in clocks:
            for name, value in (("begins", begins), ("stall", stall), ("idle", idle)):
                ctx.set(getattr(recorder, name), value)
            ctx.set(recorder.event.over, over)
            ctx.set(recorder.next, len(seen) < 3)  # more often than there are records
            if ctx.get(recorder.level) and len(seen) < 3:
                seen.append((ctx.get(recorder.oldest.cycle), ctx.get(recorder.oldest.event.over)))
            await ctx.tick()
        ctx.set(recorder.event.over, 0)
        assert ctx.get(recorder.level) == 2
        for _ in range(2):
            seen.append((ctx.get(recorder.oldest.cycle), ctx.get(recorder.oldest.event.over)))
            ctx.set(recorder.next, 1)
            await ctx.tick()
        assert ctx.get(recorder.level) == 0

    run_bench(recorder, bench)
    assert seen == [(0, 1), (1, 2), (3, 3), (0, 3), (1, 1)]


@unit
def test_the_recorder_says_that_a_record_is_lost():
    recorder = EventRecorder(depth=2)

    async def bench(ctx):
        ctx.set(recorder.begins, 1)
        ctx.set(recorder.event.first, 1)
        for lost in (0, 0, 1):
            assert ctx.get(recorder.lost) == lost
            await ctx.tick()

    run_bench(recorder, bench)


@unit
@pytest.mark.parametrize(("depth", "error", "says"), [
    (1, ValueError, r"^depth must be a power of two of at least 2, not 1$"),
    (2.0, TypeError, r"^depth must be an integer, not 2\.0$")])
def test_the_recorder_has_a_power_of_two_of_records(depth, error, says):
    with pytest.raises(error, match=says):
        EventRecorder(depth=depth)


@unit
def test_more_members_are_those_of_the_accelerator():
    with pytest.raises(ValueError, match=r"^the accelerator has no members grants, waits$"):
        AcceleratorHarness(machine="small", part=PART, passed=("grants", "idle", "waits"))


# Faults in the accelerator and in the DRAM, one of which is there: all in one simulator

def _late(m, value):
    """The value a clock later."""
    kept = Signal.like(value.as_value())
    m.d.sync += kept.eq(value)
    return kept


def _flipped_bit(m, harness):
    m.d.comb += harness.accelerator.dq_in[2].eq(harness.dram.dq_in[2] ^ 0x400)


def _late_answer(m, harness):
    m.d.comb += harness.accelerator.dq_in.eq(_late(m, harness.dram.dq_in))


def _deaf_to_masks(m, harness):
    m.d.comb += harness.dram.dq_out.payload.mask.eq(harness.accelerator.dq_out.valid.replicate(4))


def _wrong_row(m, harness):
    """Of every second bank, as if an address had lost a bit: the host has no such row."""
    pins = harness.accelerator.command
    m.d.comb += harness.dram.command.row.eq(pins.row ^ (pins.bank[0] << 1))


def _wrong_column(m, harness):
    pins = harness.accelerator.command
    m.d.comb += harness.dram.command.column.eq(pins.column ^ (pins.op == Command.WRA))


def _late_words(m, harness):
    out = harness.accelerator.dq_out
    valid = Signal()
    m.d.sync += valid.eq(out.valid)
    m.d.comb += [harness.dram.dq_out.valid.eq(valid),
                 harness.dram.dq_out.payload.eq(_late(m, out.payload))]


def _no_turns(m, harness):
    m.d.comb += harness.accelerator.transfers.begin.eq(-1)


def _no_pairs(m, harness):
    m.d.comb += harness.accelerator.scheduler.start.payload.policy.eq(0)


def _late_completion(m, harness):
    """Of the second slot: its work-group goes on a compute cycle later."""
    accelerator = harness.accelerator
    completion = accelerator.transfers.completion[1]
    valid = Signal()
    with m.If(~accelerator.stall):
        m.d.sync += valid.eq(completion.valid)
    m.d.comb += accelerator.compute.completion[1].valid.eq(valid)


OUTSIDE = {"a wrong bit in a word that is read": _flipped_bit,
           "the DRAM answers a clock late": _late_answer,
           "the DRAM writes words that are masked": _deaf_to_masks,
           "the accelerator opens a wrong row": _wrong_row,
           "the accelerator writes a wrong burst": _wrong_column,
           "the accelerator's words come a clock late": _late_words}
INSIDE = {"accesses do not wait for their turn": _no_turns,
          "policies without pairs": _no_pairs,
          "a work-group goes on a cycle late": _late_completion}
FAULTS = (*OUTSIDE, *INSIDE)
SAYS = {"the accelerator's words come a clock late": ACCELERATOR[2],
        "a wrong bit in a word that is read": "", "the DRAM answers a clock late": ""}


class FaultyAccelerator(Accelerator):
    """``mutant`` selects the fault in it, from 1 in the order of `FAULTS`."""

    def __init__(self, *, harness, **parameters):
        super().__init__(**parameters)
        self._harness = harness

    def elaborate(self, platform):
        m = super().elaborate(platform)
        for name, fault in INSIDE.items():
            with m.If(self._harness.mutant == FAULTS.index(name) + 1):
                fault(m, self._harness)
        return m


class FaultyHarness(AcceleratorHarness):
    """The harness, of which ``mutant`` selects a fault; 0 selects none."""

    def __init__(self, *, machine, part):
        super().__init__(machine=machine, part=part)
        self.mutant = Signal(range(len(FAULTS) + 1))
        self.accelerator = FaultyAccelerator(machine=machine, part=part, harness=self)

    def elaborate(self, platform):
        m = super().elaborate(platform)
        for name, fault in OUTSIDE.items():
            with m.If(self.mutant == FAULTS.index(name) + 1):
                fault(m, self)
        return m


@functools.cache
def faulty():
    block = catalogue.load().find("simd.accelerator")
    bench = dataclasses.replace(block.testbench("harness"), top=FaultyHarness, checker=None,
                                tests=("stencil",))
    block = dataclasses.replace(block, testbenches=(bench,))
    job = Job(block.name, "small", "harness", 1, "", wall_limit=900)
    component, top = design(block, job)
    return job, asked_of(block, job, bench, component, top), bench.module, build_verilator(
        top, ports=[*top.ports, component.mutant])


@pytest.mark.cosim
@pytest.mark.thorough
@pytest.mark.parametrize("fault", [None, *FAULTS])
def test_the_testbench_finds(tmp_path, fault):
    """The stencil under each policy; without a fault it passes."""
    job, asked, module, build = faulty()
    write_job(tmp_path, {**asked, "mutant": FAULTS.index(fault) + 1 if fault else 0})
    outcome = run(dataclasses.replace(job, folder=str(tmp_path)), build.command(None), tmp_path,
                  module)
    if fault is None:
        assert outcome.passed, outcome.reason
    else:
        assert not outcome.passed
        assert SAYS.get(fault, "") in outcome.reason
        assert "Traceback" not in outcome.reason
