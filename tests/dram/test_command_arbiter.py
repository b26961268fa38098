# amaranth: UnusedElaboratable=no
"""Command arbiter and its generator: against the model's schedule, history, planted faults."""

import dataclasses
import re

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module

from cyclebound.golden.dram.bounds import eq15, eq15_tool, eq16, tile_issue_delay
from cyclebound.golden.dram.command_arbiter import schedule
from cyclebound.golden.dram.pipeline_bounds import arbiter_refresh, arbiter_refresh_wait
from cyclebound.golden.dram.rules import Command
from cyclebound.golden.dram.timing import PARTS
from cyclebound.hdl.dram.command_arbiter import CommandArbiter
from cyclebound.hdl.dram.command_generator import CommandGenerator
from cyclebound.sim.build.elaborate import watch
from cyclebound.tb.dram import command_arbiter_properties as properties
from cyclebound.tb.dram.command_arbiter_properties import CommandArbiterCheck
from cyclebound.tb.dram.command_generator_properties import CommandGeneratorCheck
from kit.faults import Tampered, override
from kit.run_bench import run_bench

pytestmark = pytest.mark.unit
X16 = PARTS["ddr4-3200aa-x16"]
SMALLEST = PARTS["ddr3-1600-module"]  # the fewest banks, one group
parts = pytest.mark.parametrize("part", [
    pytest.param(part, id=name, marks=[] if part is SMALLEST else pytest.mark.thorough)
    for name, part in PARTS.items()])


def run(part, requests, *, carry=False):
    """Requests (bursts, write, indexed) on generator and arbiter, back to back, watched.

    For each: its commands by cycle from its first, and its issue delay.
    """
    m = Module()
    m.submodules.generator = generator = CommandGenerator(part=part)
    m.submodules.arbiter = arbiter = CommandArbiter(part=part, carry=carry)
    for outer, inner in zip(arbiter.heads, generator.heads, strict=True):
        m.d.comb += outer.eq(inner)
    m.d.comb += [generator.pop.eq(arbiter.pop), arbiter.in_request.eq(generator.busy)]
    for name, dut, checker in (("watch_generator", generator, CommandGeneratorCheck),
                               ("watch_arbiter", arbiter, CommandArbiterCheck)):
        m.submodules[name] = watcher = Module()
        watch(watcher, dut, checker(dut))
    found = []

    async def one(ctx, bursts, write, indexed):
        got, coming, cycle = [], list(bursts), 0
        while True:
            ctx.set(generator.bursts.valid, bool(coming))
            if coming:
                ctx.set(generator.bursts.payload, {
                    "address": coming[0], "last": len(coming) == 1, "write": write,
                    "indexed": indexed})
            pins = ctx.get(arbiter.command)
            if pins.op != Command.NOP:
                got.append((cycle, Command(pins.op), pins.bank))
            done = not coming and ctx.get(arbiter.idle) and ctx.get(arbiter.holdoff) == 0
            if coming and ctx.get(generator.bursts.ready):
                coming.pop(0)
            if done:
                # a command was chosen a cycle before it is on the pins
                first = got[0][0]
                found.append(([(when - first, op, bank) for when, op, bank in got],
                              cycle - first + 1))
                return
            await ctx.tick()
            cycle += 1

    async def bench(ctx):
        for bursts, write, indexed in requests:
            await one(ctx, bursts, write, indexed)

    run_bench(m, bench)
    return found


@pytest.mark.parametrize(("changes", "message"), [
    ({"nFAW": 75}, r"nFAW must not exceed nRC \(75 > 74\)"),
    ({"nCAS": 70}, r"a read's data must leave the bus before the next request's write \(60 > 56\)"),
    ({"nWTR_L": 80}, r"a write must be over before the next request's read \(100 > 88\)"),
])
def test_refuses_parts_that_need_more_counters(changes, message):
    part = dataclasses.replace(X16, **changes)
    with pytest.raises(ValueError, match=f"^{re.escape(part.name)}: {message}$"):
        CommandArbiter(part=part)


def test_refuses_what_is_no_part():
    with pytest.raises(TypeError, match=r"^part must be a Part or the name of one, not 3$"):
        CommandArbiter(part=3)


@parts
def test_generator_and_arbiter_keep_the_model_s_schedule(part):
    edge, sweep = 2 * part.bursts_per_row, part.bursts_per_sweep
    requests = [
        (range(edge - 2, edge + 3), False, False), (range(edge - 2, edge + 3), True, False),
        (range(sweep - 9, sweep + 9), True, False), ([7], True, False), ([7], False, True),
        ([line * 9 + burst for line in range(6) for burst in (0, 1)], False, False),
        ([0, sweep, 2 * sweep, 3, sweep + 2, 5 * sweep + edge, 1, 4, edge + 1, 6], True, True),
        ([number % 7 * sweep + number % 3 for number in range(24)], False, True),
    ]
    found = run(part, requests)
    assert len(found) == len(requests)
    for (bursts, write, indexed), (commands, delay) in zip(requests, found, strict=True):
        expected = schedule(part, bursts, write=write, indexed=indexed)
        assert commands == [(command.cycle, command.op, command.bank)
                            for command in expected.commands]
        assert delay == expected.issue_delay


@pytest.mark.parametrize(("first", "count", "write", "alone", "after"), [
    pytest.param(252, 6, True, 118, 123, marks=pytest.mark.thorough), (1021, 8, True, 126, 134),
    pytest.param(248, 10, False, 101, 108, marks=pytest.mark.thorough)])
def test_delay_depends_on_the_request_before_if_the_pair_is_carried_over(
        first, count, write, alone, after):
    """The smallest: 6 bursts of a write on the x16 part; 10 of a read, 8 of a write exceed what
    any tile of that size takes otherwise."""
    tile = (range(first, first + count), write, False)
    before = ([2 * X16.bursts_per_row], write, False)  # ends in banks 2 and 3
    delays = [delay for _, delay in run(X16, [tile, before, tile], carry=True)]
    assert [delays[0], delays[2]] == [alone, after]
    delays = [delay for _, delay in run(X16, [tile, before, tile])]
    assert [delays[0], delays[2]] == [alone, alone]
    bound = tile_issue_delay(part=X16, bursts=count, write=int(write))
    assert alone <= bound
    assert (after > bound) == (count > 6)


@pytest.mark.parametrize(("part", "bursts", "write", "indexed", "printed", "takes"), [
    ("ddr3-1600-module", range(253, 258), False, False, 54, 55),
    ("ddr4-3200aa-x16", [0], False, True, 56, 74),
    pytest.param("ddr4-3200aa-x8", range(8), True, False, 112, 116, marks=pytest.mark.thorough),
    pytest.param("ddr4-1866m-x16", range(254, 261), False, False, 60, 61,
                 marks=pytest.mark.thorough),
    pytest.param("ddr4-3200aa-x16", [0, 1], False, True, 65, 83, marks=pytest.mark.thorough),
    pytest.param("ddr4-3200aa-x8", range(2044, 2049), True, False, 104, 108,
                 marks=pytest.mark.thorough)])
def test_requests_that_exceed_a_printed_formula(part, bursts, write, indexed, printed, takes):
    """The errata of docs/dram.md, on the RTL: Eq. 15 (the last as in the tool), and Eq. 16."""
    numbers = {"part": part, "bursts": len(bursts), "write": int(write)}
    formulas = ([eq16(**numbers, rows=len(bursts))] if indexed
                else [eq15(**numbers), eq15_tool(**numbers)])
    assert printed in formulas
    (_, delay), = run(PARTS[part], [(bursts, write, indexed)])
    assert delay == takes > printed


def test_bounds_of_a_refresh():
    assert arbiter_refresh(part=X16) == X16.nRFC == 560
    assert [arbiter_refresh_wait(part=X16, after=what) for what in range(3)] == [52, 66, 560]


# The checker fires

def tampered(fault):
    return Tampered(CommandArbiter(part=SMALLEST), override(fault))


def drive(dut, cycles=200):
    """One head in banks 0 and 1, popped from outside; then a refresh."""
    m = Module()
    m.submodules.dut = dut
    watch(m, dut, CommandArbiterCheck(dut))
    operation = {"row": 5, "column": 1, "write": 0, "conflict": 0, "activate": 1, "close": 1,
                 "precharge_only": 0}
    pops = 0

    async def bench(ctx):
        nonlocal pops
        left = {0, 1}
        for cycle in range(cycles):
            for bank, head in enumerate(dut.heads):
                ctx.set(head, {"valid": bank in left, "operation": operation, "waiting": 0})
            ctx.set(dut.refresh, cycle > 150)
            gone = ctx.get(dut.pop)
            await ctx.tick()
            pops += gone.bit_count()
            left -= {bank for bank in range(2) if gone >> bank & 1}

    run_bench(m, bench)
    assert pops == 2


FAULTS = {
    "more than one pop": lambda arbiter, ports, cycle: ports.pop.eq(3),
    "pop of a bank without a head": lambda arbiter, ports, cycle: ports.pop[7].eq(1),
    "REF without having been chosen": lambda arbiter, ports, cycle: ports.command.op.eq(
        Command.REF),
    "pop without a command": lambda arbiter, ports, cycle: ports.command.op.eq(Command.NOP),
    "RD, RDA, WR, WRA without a pop": lambda arbiter, ports, cycle: ports.pop.eq(0),
    "issue is not RD, RDA, WR, WRA": lambda arbiter, ports, cycle: ports.issue.valid.eq(0),
    "issue speaks of another command": lambda arbiter, ports, cycle: ports.issue.payload.write.eq(
        1),
    "idle while a request is under way": lambda arbiter, ports, cycle: ports.idle.eq(1),
    "refresh in the hold-off, or none after it":
        lambda arbiter, ports, cycle: ports.refreshed.eq(ports.refresh & ports.idle),
}


def test_an_arbiter_without_a_fault_passes():
    drive(tampered(lambda arbiter, ports, cycle: []))


@pytest.mark.parametrize("says", FAULTS)
def test_checker_fires(only, says):
    only(says, properties)
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        drive(tampered(FAULTS[says]))


def test_checker_knows_the_distances():
    """A command that comes a second time, in the next cycle."""
    message = rf"^Assertion violated: nRC: ACT to ACT, bank, {SMALLEST.nRC} cycles$"
    with pytest.raises(AssertionError, match=message):
        drive(tampered(lambda arbiter, ports, cycle: ports.command.op.eq(
            arbiter.command.op | (cycle == 2))))


def test_every_assertion_has_a_fault():
    text = rtlil.convert(CommandArbiterCheck(CommandArbiter(part=SMALLEST)))
    own = rtlil.convert(properties.DramTimingCheck(part=SMALLEST, refreshed=False))
    said = set(re.findall(r'parameter \\FORMAT "(?:owed: )?(.*)"', text)) - set(
        re.findall(r'parameter \\FORMAT "(?:owed: )?(.*)"', own))
    assumed = {message for message in said if message.startswith(("head ", "a head", "a request"))}
    assert len(assumed) == SMALLEST.banks + 2
    assert said - assumed == set(FAULTS)


@pytest.mark.parametrize(("fault", "message"), [
    ("gone", "a head left without being popped"), ("other", "head 3 changed"),
    ("early", "a request begins in the hold-off")])
def test_checker_names_the_neighbour_that_breaks_the_rules(fault, message):
    dut = CommandArbiter(part=SMALLEST)

    async def bench(ctx):
        head = dut.heads[3]
        ctx.set(head.valid, 1)
        ctx.set(head.operation.activate, 1)
        ctx.set(head.operation.close, 1)
        for _ in range(5):
            await ctx.tick()
        if fault == "other":
            ctx.set(head.operation.row, 9)
            await ctx.tick()
        if fault == "early":
            while not ctx.get(dut.pop):
                await ctx.tick()
            await ctx.tick()
        ctx.set(head.valid, 0)
        await ctx.tick()
        await ctx.tick()
        ctx.set(dut.in_request, 1)
        await ctx.tick()
        await ctx.tick()

    with pytest.raises(AssertionError, match=f"^Assumption violated: (owed: )?{message}$"):
        run_bench(dut, bench, CommandArbiterCheck(dut))
