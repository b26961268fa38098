# amaranth: UnusedElaboratable=no
"""A core that starts jobs: the bound of its program, and what a bound that forgets a part says."""

import dataclasses
import functools
from pathlib import Path

import pytest

from cyclebound.golden.dram.bounds import tile_issue_delay
from cyclebound.golden.dram.timing import DDR4_3200AA_X16 as PART
from cyclebound.golden.shmac.address_map import entry_of, tile_base
from cyclebound.golden.shmac.grid import GridModel
from cyclebound.golden.system.core_host import (
    LAYOUT,
    Start,
    Wait,
    host_waits,
    jobs_of_program,
    polled,
    program_of_jobs,
)
from cyclebound.golden.system.job_registers import JobRegistersModel
from cyclebound.golden.system.job_table import CORE, JOB_TILES, Status, map_rows
from cyclebound.golden.system.job_words import command_words
from cyclebound.golden.system.tiled import array_device, array_memory
from cyclebound.hdl.system.command_list import CommandList
from cyclebound.hdl.system.tiled import TiledSystem
from cyclebound.hdl.systolic.accelerator import Accelerator
from cyclebound.sim import catalogue
from cyclebound.sim.judge.verdict import judge
from cyclebound.sim.run.job import Job, simulate
from cyclebound.tb.system.tiled_host import (
    OTHERS,
    TABLE,
    HostJob,
    host_code,
    host_order,
    host_program,
    host_table,
)
from cyclebound.tools.shmac import compiler
from cyclebound.tools.shmac.compiler import Target, compile_c
from cyclebound.tools.shmac.job_header import job_header
from cyclebound.tools.shmac.wcet.code import Code, LoopFact, assembled
from kit.pages import Page
from kit.run_bench import run_bench
from kit.shmac_c import needs_compiler

unit = pytest.mark.unit


class JobTile:
    """The registers in a golden grid, above a tile whose jobs take stated times."""

    clock, sent = 0, None

    def __init__(self, jobs, operands, fault=False):
        self.model, self.jobs, self.left = JobRegistersModel(operands), list(jobs), 0
        self.words, self.fault = [], fault

    @property
    def response(self):
        return self.model.response

    def ready(self, request, *, passed):
        return self.model.ready(passed=passed)

    def step(self, request, *, passed):
        if self.model.word is not None:
            self.words.append(self.model.word)
        if self.model.start:
            self.left = self.jobs.pop(0)
        elif self.left:
            self.left -= 1
        self.model.step(request, passed=passed, idle=not self.left, fault=self.fault, takes=True)

    def count(self, run):
        pass


def code_of(jobs, steps):
    return assembled(host_program(jobs, steps), origin=entry_of(*CORE))


def ran(jobs, steps, words=None, **more):
    """Cycles of the program, or another one, on the golden grid, its status, and the tiles."""
    grid = GridModel(LAYOUT, words=2048)
    if words is None:
        words = code_of(jobs, steps).words | {
            TABLE + 4 * place: word for place, word in enumerate(host_table(jobs, steps))}
    tiles = {}
    for tile, kept in JOB_TILES.items():
        started = [jobs[step[1:]] for step in steps if step[0] == "+"]
        tiles[tile] = grid.devices[kept.place] = JobTile(
            [job.bound for job in started if job.tile == tile], kept.operands, **more)
    for address, word in words.items():
        grid.rams[CORE].content[address // 4] = word
    cycles = 0
    while not grid.exited:
        grid.step(run={CORE})
        cycles += 1
        assert cycles < 100_000
    return cycles, grid.tiles[CORE].status, tiles


def code_bound(jobs, steps):
    return host_code(code_of(jobs, steps))


def waits(jobs, steps):
    """What `jobs_of_program` says of them."""
    return jobs_of_program(host_order(jobs, steps), others=OTHERS)


def jobs_of(product, kernel, gather):
    """A job on each tile that takes so many cycles."""
    return {"product": HostJob("systolic", [1, 2, 3], product),
            "kernel": HostJob("simd", [4, 5, 6, 7, 8, 9], kernel),
            "gather": HostJob("dataflow", [10, 11], gather)}


ONE_BY_ONE = "+product -product +kernel -kernel +gather -gather".split()
ORDERS = (ONE_BY_ONE,
          "+product +gather -product -gather +kernel -kernel".split(),
          "+gather +product +kernel -kernel -product -gather".split(),
          "+product +kernel -kernel +gather -product -gather".split(),
          "=kernel =gather =product +gather +kernel +product -kernel -gather -product".split())


@unit
@pytest.mark.parametrize("steps", ORDERS)
def test_a_program_takes_no_longer_than_its_bound_for_jobs_of_each_length(steps):
    code = code_bound(jobs_of(1, 1, 1), steps)
    for length in range(1, 50, 9):
        jobs = jobs_of(length, 150 - length, 2 * length)
        cycles, status, tiles = ran(jobs, steps)
        assert status == 0
        assert [tiles[tile].words for tile in ("systolic", "dataflow", "simd")] == [
            [1, 2, 3], [10, 11], []]
        assert tiles["simd"].model.kept == [4, 5, 6, 7, 8, 9]
        assert cycles <= program_of_jobs.function(code=code, rest=waits(jobs, steps))


@unit
@pytest.mark.parametrize("steps", ORDERS)
def test_bounds_that_forget_a_part_are_exceeded(steps):
    """Jobs, and of jobs that do not run at once all but the longest."""
    code, jobs = code_bound(jobs_of(1, 1, 1), steps), jobs_of(400, 300, 350)
    cycles, _, _ = ran(jobs, steps)
    assert cycles <= code + waits(jobs, steps)
    assert cycles > code
    if steps is ONE_BY_ONE:
        assert cycles > code + 400


@unit
def test_a_round_of_the_loop_has_each_phase_at_the_end_of_a_job():
    """What the bound leaves is less than the round that it has for a job."""
    steps = ("+gather", "-gather")
    poll = polled(Start("dataflow", 0), others=OTHERS) - 7 - 2
    code = code_bound(jobs_of(1, 1, 1), steps)
    left = [code + waits(jobs, steps) - ran(jobs, steps)[0] for jobs in (
        jobs_of(1, 1, length) for length in range(300, 300 + poll))]
    assert 0 <= min(left) < poll
    assert max(left) - min(left) == poll - 1  # each phase of the loop is met


@unit
def test_what_jobs_at_once_add():
    long, short = (Start(tile, job) for tile, job in (("systolic", 900), ("dataflow", 50)))
    [whole, part] = (polled(start, others=OTHERS) for start in (long, short))
    both = Wait("systolic"), Wait("dataflow")
    assert jobs_of_program([long, both[0], short, both[1]], others=OTHERS) == whole + part
    assert jobs_of_program([long, short, *both], others=OTHERS) == whole
    assert jobs_of_program([short, long, *reversed(both)], others=OTHERS) == whole
    again = [long, short, both[1], short, *both]  # a second short one beside the long one
    assert jobs_of_program(again, others=OTHERS) == max(whole, 2 * part)


@unit
@pytest.mark.parametrize(("steps", "message"), [
    ([Wait("simd")], r"^a program must start the job on simd before it waits for it$"),
    ([Start("simd", 1), Start("simd", 1)],
     r"^a program must wait for the job on simd before it starts the next one$"),
    ([Start("gpu", 1)], r"^a job's tile must be one of dataflow, systolic, simd, not 'gpu'$"),
    ([Start("simd", -1)], r"^cycles of a job must be at least 0, not -1$")])
def test_what_is_no_order_of_jobs(steps, message):
    with pytest.raises(ValueError, match=message):
        jobs_of_program(steps, others=OTHERS)
    with pytest.raises(ValueError, match=r"^instructions besides the read must be at least 0"):
        jobs_of_program([Start("simd", 1)], others=-1)


@unit
def test_a_refresh_that_another_tile_has_put_off_counts():
    """It fell due with the last request of the job before, on another tile, and begins with this
    one; so the next one comes a longest request earlier after it."""
    own, other = (max(tile_issue_delay(part=PART, bursts=bursts, write=write) for write in (0, 1))
                  for bursts in (16, 32))
    cycles = PART.nREFI - PART.nRFC - own

    def bound(before):
        return array_memory(PART, size=4, bursts=16, slots=8, others=(0, 0),
                            before=before).with_refreshes(cycles)

    clock = done = 0
    due = -other
    while done < cycles:
        if clock >= due:
            clock, due = clock + PART.nRFC, due + PART.nREFI
        else:
            clock, done = clock + 1, done + 1
    assert bound(0) < clock <= bound(other)


IN_C = """
#include <jobs.h>
static const unsigned product[] = {1, 2, 3}, kernel[] = {4, 5, 6, 7, 8, 9}, gather[] = {10, 11};

int main(void)
{
    job_words(JOBS_SYSTOLIC, product, 3);
    job_start(JOBS_SYSTOLIC);
    job_words(JOBS_DATAFLOW, gather, 2);
    job_start(JOBS_DATAFLOW);
    unsigned failed = job_wait(JOBS_SYSTOLIC) | job_wait(JOBS_DATAFLOW);
    job_operands(JOBS_SIMD, kernel, 6);
    job_start(JOBS_SIMD);
    return failed | job_wait(JOBS_SIMD);
}
"""


def loops_to_lower_addresses(words, first, last):
    """Heads of loops that end with a branch on zero or its contrary, and how many instructions a
    round has besides the read."""
    found = {}
    for address in range(first, last, 4):
        word = words[address]
        if word >> 26 in (4, 5) and word & 0x8000:
            head = address + 4 + 4 * ((word & 0xFFFF) - 0x10000)
            found[head] = (address + 8 - head) // 4 - 1
    return found


@unit
@needs_compiler
def test_a_program_in_c_keeps_its_bound(tmp_path):
    source = tmp_path / "jobs.c"
    source.write_text(IN_C)
    program, _ = compile_c([source], Target(ram=1 << 13), tmp_path / "jobs.elf")
    symbols = {symbol.name: symbol.address for symbol in program.symbols
               if symbol.kind == "function"}
    main, after = symbols["main"], symbols["__shmac_main"]
    polls = loops_to_lower_addresses(program.words, main, next(
        address for address in sorted(symbols.values()) if address > main))
    assert len(polls) == 3
    ends = next(address for address in range(after, after + 64, 4)
                if program.words[address] == 2 << 26 | address >> 2)  # it jumps to itself
    code = host_code(Code(program.words, {**symbols, "after": ends}, {
        head: LoopFact(bound=1) for head in polls}))
    steps = "+product +gather -product -gather +kernel -kernel".split()
    for length in (1, 50, 333):
        jobs = jobs_of(length, 2 * length, 500 - length)
        cycles, status, tiles = ran(jobs, steps, words=program.words)
        assert status == 0
        assert [tiles[tile].words for tile in ("systolic", "dataflow")] == [[1, 2, 3], [10, 11]]
        assert tiles["simd"].model.kept == [4, 5, 6, 7, 8, 9]
        rest = jobs_of_program(host_order(jobs, steps), others=max(polls.values()))
        assert code + rest - 200 < cycles <= code + rest
    assert ran(jobs, steps, words=program.words, fault=True)[1] == 1 << Status.FAULT


@unit
@needs_compiler
def test_in_c_a_write_that_was_refused_is_told_once(tmp_path):
    source = tmp_path / "jobs.c"
    source.write_text("""
#include <jobs.h>
int main(void)
{
    JOB_REGISTER(JOBS_DATAFLOW, JOB_CYCLES) = 1;
    job_start(JOBS_DATAFLOW);
    unsigned first = job_wait(JOBS_DATAFLOW);
    job_start(JOBS_DATAFLOW);
    return first | job_wait(JOBS_DATAFLOW) << 4;
}
""")
    program, _ = compile_c([source], Target(ram=1 << 13), tmp_path / "jobs.elf")
    _, status, _ = ran(jobs_of(1, 1, 50), "+gather -gather +gather -gather".split(),
                       words=program.words)
    assert status == 1 << Status.REFUSED


@unit
def test_the_header_is_the_table():
    header = Path(compiler.__file__).parent / "c" / "jobs.h"
    assert header.read_text() == "\n".join(job_header()) + "\n"


@unit
def test_a_fault_ends_the_program_after_its_job():
    _, status, tiles = ran(jobs_of(50, 50, 50), ONE_BY_ONE, fault=True)
    assert status == 1 << Status.FAULT
    assert [len(tiles[tile].jobs) for tile in ("systolic", "simd", "dataflow")] == [0, 1, 1]


@unit
def test_what_the_bound_of_a_job_is_made_of():
    waits = {tile: host_waits().named("tile ({}, {})".format(*kept.place)).read
             for tile, kept in JOB_TILES.items()}
    assert waits == {"dataflow": 13, "systolic": 13, "simd": 19}
    assert polled(Start("dataflow", 1000), others=OTHERS) == (
        7 + 1 + 1000 + 1 + (3 + 1 + 13 + 3 * 2))


@unit
def test_the_page_has_the_tiles():
    assert "\n".join(map_rows()) in Page("system.md").text
    assert tile_base(*JOB_TILES["simd"].place) == 0x1100_0000


LIST = Accelerator(size=4, memory_width=16).command.payload.shape()
DEVICE = array_device(size=4, depth=256, memory_width=16)
COMMAND = {name: 0 for name, _ in LIST} | {"operation": 2, "memory": 0xBEEF, "count": 7,
                                           "pad": -3, "high": 127}


def listed(*lists, depth=3, ready=lambda cycle: True):
    """What a list makes of these words and a start, for each of some lists that follow each other
    at once: commands, whether it was a fault, and how many words it has taken."""
    dut, shown = CommandList(layout=LIST, depth=depth), []

    async def bench(ctx):
        cycle = 0
        for words in lists:
            seen, taken = [], 0
            for word in (*words, None):
                ctx.set(dut.word.valid, word is not None)
                ctx.set(dut.word.payload, word or 0)
                taken += word is not None and ctx.get(dut.word.ready)
                ctx.set(dut.command.ready, ready(cycle))
                assert not ctx.get(dut.command.valid), "a command before its start"
                assert not ctx.get(dut.busy)
                await ctx.tick()
                cycle += 1
            ctx.set(dut.start, 1)
            fault = ctx.get(dut.fault)
            assert ctx.get(dut.started) == ctx.get(dut.busy) == (not fault)
            while ctx.get(dut.busy):
                ctx.set(dut.command.ready, ready(cycle))
                assert ctx.get(dut.command.valid)
                if ready(cycle):
                    seen.append({name: ctx.get(dut.command.payload[name]) for name in COMMAND})
                await ctx.tick()
                cycle += 1
                ctx.set(dut.start, 0)
            if fault:
                await ctx.tick()
                ctx.set(dut.start, 0)
            shown.append((seen, fault, taken))

    run_bench(dut, bench)
    return shown


WORDS = 16  # of a command


@unit
@pytest.mark.parametrize("ready", [lambda cycle: True, lambda cycle: cycle % 3 == 1])
def test_words_become_commands(ready):
    commands = [COMMAND, COMMAND | {"operation": 1, "count": 0}, COMMAND | {"operation": 0}]
    words = command_words(commands, DEVICE)
    assert len(words) == 3 * WORDS
    assert words[:WORDS] == [LIST.const(COMMAND).as_value().value >> bit & 0xFFFF_FFFF
                             for bit in range(0, 32 * WORDS, 32)]
    assert listed(words, ready=ready) == [(commands, 0, 3 * WORDS)]
    too_long = [*words, *words[:WORDS]]
    assert listed([*words, 1, 2], too_long, words, ready=ready) == [
        ([], 1, 3 * WORDS + 2), ([], 1, 4 * WORDS), (commands, 0, 3 * WORDS)]


@unit
@pytest.mark.parametrize("ready", [lambda cycle: True, lambda cycle: cycle % 3 == 1])
@pytest.mark.parametrize("lengths", [(2, 2), (1, 1), (3, 3), (1, 3, 2), (3, 1, 1, 3), (2, 0, 2),
                                     (1, 0, 0, 3)])
def test_each_list_is_kept_until_its_own_start(lengths, ready):
    """The first word comes in the first cycle in which the list before is done; one without a
    command, and one with another operation, are dropped, and the next one is kept as well."""
    lists = [[COMMAND | {"memory": 16 * number + place, "operation": place % 3}
              for place in range(length)] for number, length in enumerate(lengths)]
    words = [command_words(commands, DEVICE) for commands in lists]
    assert listed(*words, ready=ready) == [
        (commands, not commands, len(commands) * WORDS) for commands in lists]
    wrong = command_words([COMMAND, COMMAND | {"operation": 3}], DEVICE)
    between = [given for one in words for given in (one, wrong, one[:-1])]
    assert listed(*between, ready=ready)[::3] == listed(*words, ready=ready)
    assert listed(*between, ready=ready)[1::3] == [([], 1, 2 * WORDS)] * len(words)


@unit
@pytest.mark.parametrize("wrong", [
    [], [COMMAND | {"operation": 3}], [COMMAND, COMMAND | {"count": 0}],
    [COMMAND | {"operation": 0, "count": 0}, COMMAND]])
def test_what_is_no_list_of_commands_is_a_fault(wrong):
    words = command_words(wrong, DEVICE)
    assert listed(words) == [([], 1, len(words))]


@unit
@pytest.mark.parametrize("more", [1, WORDS - 1, WORDS, WORDS + 1, 3 * WORDS])
def test_a_list_for_which_there_is_no_room_is_a_fault(more):
    """All of its words are taken: one that stayed on offer would refuse each START."""
    words = command_words([COMMAND] * 6, DEVICE)
    assert listed(words[:3 * WORDS + more], words[:WORDS]) == [
        ([], 1, 3 * WORDS + more), ([COMMAND], 0, WORDS)]


@unit
@pytest.mark.parametrize("count", [1, WORDS - 1, WORDS + 1, 3 * WORDS - 1])
def test_a_list_whose_last_command_is_not_whole_is_a_fault(count):
    words = command_words([COMMAND] * 3, DEVICE)[:count]
    assert listed(words) == [([], 1, count)]


@pytest.mark.cosim
@pytest.mark.thorough
def test_on_the_rtl_bounds_that_forget_a_part_are_exceeded(tmp_path):
    block = catalogue.load().find("system.tiled")
    done = simulate(block, Job(block.name, "hosted", "hosted", 1, str(tmp_path),
                               wall_limit=1200))
    assert done.reason == ""

    def verdict(what, forgets):
        """Of a bound whose result or parameters are changed."""
        def changed(**known):
            return forgets(right, known)

        [binding] = [binding for binding in block.bounds if binding.what == what]
        right = binding.bound.function
        bound = dataclasses.replace(binding.bound, function=functools.wraps(right)(changed))
        [found] = judge(dataclasses.replace(block, bounds=(dataclasses.replace(
            binding, bound=bound),)), "hosted", [
            (done.name, group) for group in done.groups if group.what == what])
        return found.verdict

    for what in ("program", "product", "kernel", "job"):
        assert verdict(what, lambda right, known: right(**known)) == "held"
    assert verdict("program", lambda right, known: known["code"]) == "violated"
    assert verdict("product", lambda right, known: right(  # jobs on other tiles at once
        **known | {"other": 0, "line": 0})) == "violated"
    # No job here exceeds the other two without those: one holds for indexes that miss in any order,
    # one for tiles that never stop asking. Half of the bound is exceeded.
    assert verdict("job", lambda right, known: right(
        **known | {"other": 0, "array": 0}) // 2) == "violated"
    assert verdict("kernel", lambda right, known: right(
        **known | {"cycles": known["cycles"] // 2})) == "violated"


@unit
def test_a_system_without_a_dataflow_core_may_have_a_core_in_charge():
    system = TiledSystem(machine="small", part="ddr4-3200aa-x16", size=4, host_words=2048)
    assert set(system.host.jobs) == {"simd", "systolic"}
    assert {"simd_start", "systolic_start"} < set(system.signature.members)
    assert not {"start", "systolic_command", "dataflow_start"} & set(system.signature.members)
