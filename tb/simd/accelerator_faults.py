"""Kernels that the accelerator stops: who did it, where, why; and the next kernel after them.

In each case the work-group that is stopped is not the first, and another one is under way.
"""

from collections.abc import Sequence

import numpy as np

from cyclebound.golden.dram.request import BURST_BYTES
from cyclebound.golden.simd.faults import Cause
from cyclebound.golden.simd.isa import encode
from cyclebound.golden.simd.machine import Grid
from cyclebound.golden.simd.program import Program
from cyclebound.golden.simd.scheduler import Policy
from cyclebound.golden.simd.work_group import Memory, memory_of
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.simd.accelerator_tester import Ran, SimdAcceleratorTester
from cyclebound.tools.simd.assembler import assemble
from cyclebound.tools.simd.kernel_cases import case

_HEAD = ".data\n0 0x0 {words} 1\n1 0x10000 {words} 1\n.sp_data\n0 0 64 1\n.text\n"
# Work-groups below number 3 go to `fine`, where they load and store.
_CHOICE = "smov s0, sc.wg_off_x\nsisub s0, s0, {}\n#bound branchcycle 3 1\nsicj.l fine, s0\n"
_FINE = "fine:\nldglin v1, 0\nstglin v1, 1\nexit\n"
FIRST = 3  # instruction after the choice
_ILLEGAL = (1 << 64) - 1
STOPPED = 3


def words_of(items: int) -> int:
    """Words of each buffer: twice what the work-groups use."""
    return 2 * 5 * items


def faulty(body: str, items: int) -> Program:
    return assemble(_HEAD.format(words=words_of(items)) + _CHOICE.format(STOPPED * items) + body
                    + _FINE)


def check_stores(memory: Memory, before: Memory) -> None:
    """Each word of buffer 1 is what it was, or what a work-group stores there: a store that is
    under way when another work-group is stopped goes on with its own words."""
    wrong = (memory[1] != before[0]) & (memory[1] != before[1])
    assert not wrong.any(), (f"{wrong.sum()} words come from no store, the first of them "
                             f"{int(np.flatnonzero(wrong)[0])}")


async def stopped(tester: SimdAcceleratorTester, program: Program, memory: Memory,
                  policy: Policy, *, cause: Cause, index: int,
                  words: Sequence[int] | None = None) -> Ran:
    """A run that ends with this fault of work-group 3; then a good kernel, in its every cycle."""
    items = tester.machine.items
    before = {number: content.copy() for number, content in memory.items()}
    ran, _ = await tester.run(program, Grid(5 * items, 1, tester.machine), memory, policy,
                              most=20_000, words=words)
    assert ran.fault is not None, f"{cause!r} does not stop the kernel"
    wanted = {"cause": cause, "index": index, "number": STOPPED}
    tester.bench.compare({name: ran.fault[name] for name in wanted}, wanted, "the fault")
    slots = {number: slot for _, slot, number in ran.launches}
    tester.bench.compare(ran.fault["slot"], slots[STOPPED], "the fault's slot")
    check_stores(memory, before)
    instance = case("vector_add", tester.machine)
    await tester.compare(instance.program, instance.grid, instance.memory, Policy.UNCONSTRAINED)
    return ran


def filled(program: Program, bench: Bench) -> Memory:
    memory = memory_of(program)
    rng = np.random.default_rng(bench.rng.getrandbits(32))
    for words in memory.values():
        words[...] = rng.integers(0, 1 << 32, words.shape, dtype=np.uint32)
    return memory


@testbench
async def an_illegal_instruction(bench: Bench) -> None:
    tester = SimdAcceleratorTester(bench)
    program = faulty("nop\nnop\nexit\n", tester.machine.items)
    words = [encode(instruction) for instruction in program.instructions]
    words[FIRST + 1] = _ILLEGAL
    for policy in Policy:
        await stopped(tester, program, filled(program, bench), policy, cause=Cause.ILLEGAL,
                      index=FIRST + 1, words=words)


@testbench
async def no_end(bench: Bench) -> None:
    """The last instruction runs on."""
    tester = SimdAcceleratorTester(bench)
    program = faulty("j over\nover:\nexit\n", tester.machine.items)
    words = [encode(instruction) for instruction in program.instructions]
    end = len(words)
    jump = assemble(_HEAD.format(words=1) + "nop\n" * FIRST + "j over\n"
                    + "nop\n" * (end - FIRST - 1) + "over:\nexit\n")
    words[FIRST] = encode(jump.instructions[FIRST])
    await stopped(tester, program, filled(program, bench), Policy.UNCONSTRAINED, cause=Cause.END,
                  index=end, words=words)


@testbench
async def a_stack_that_overflows(bench: Bench) -> None:
    tester = SimdAcceleratorTester(bench)
    program = faulty("cpush.if out\n" * 16 + "nop\nout: exit\n", tester.machine.items)
    words = [encode(instruction) for instruction in program.instructions]
    words[FIRST + 16] = words[FIRST]  # one more
    await stopped(tester, program, filled(program, bench), Policy.PAIRWISE, cause=Cause.OVERFLOW,
                  index=FIRST + 16, words=words)


@testbench
async def a_stack_that_is_empty(bench: Bench) -> None:
    tester = SimdAcceleratorTester(bench)
    program = faulty("nop\nl: cpush.if l\ncpop\nexit\n", tester.machine.items)
    words = [encode(instruction) for instruction in program.instructions]
    words[FIRST + 1] = words[FIRST]  # no push
    await stopped(tester, program, filled(program, bench), Policy.UNCONSTRAINED,
                  cause=Cause.EMPTY, index=FIRST + 2, words=words)


@testbench
async def an_index_outside(bench: Bench) -> None:
    """One lane's index is beyond its buffer; then one with more bits than any buffer has words."""
    tester = SimdAcceleratorTester(bench)
    for beyond in (words_of(tester.machine.items), 1 << 20):
        program = faulty(f"mov v0, vc.lid_x\niadd v0, v0, {beyond - 5}\n"
                          "movvsp vc.mem_idx, v0\nldgidxit v1, 0\nexit\n", tester.machine.items)
        for policy in (Policy.UNCONSTRAINED, Policy.YIELD):
            await stopped(tester, program, filled(program, bench), policy, cause=Cause.ACCESS,
                          index=FIRST + 3)


@testbench
async def scalars_outside(bench: Bench) -> None:
    """A scratchpad has 64 words and there are 32 scalar registers."""
    tester = SimdAcceleratorTester(bench)
    for words, target in ((33, 0), (4, 29)):
        program = faulty(f"smovssp sc.sd_words, {words}\nsldsp s{target}, 0\nexit\n",
                          tester.machine.items)
        await stopped(tester, program, filled(program, bench), Policy.ACCESS, cause=Cause.ACCESS,
                      index=FIRST + 1)


@testbench
async def a_program_beyond_the_device(bench: Bench) -> None:
    """Such a program is not loaded and does not run; the last buffer keeps its mapping."""
    tester = SimdAcceleratorTester(bench)
    program = faulty("nop\n" * 8 + "exit\n", tester.machine.items)
    memory = filled(program, bench)
    last = {number: words.copy() for number, words in memory.items()}
    ran, _ = await tester.run(program, Grid(5, 1, tester.machine), memory, Policy.UNCONSTRAINED,
                              at=(tester.part.bursts - 1) * BURST_BYTES, most=20_000)
    assert ran.fault is not None
    assert ran.fault["cause"] == Cause.LOAD
    assert not ran.launches
    assert all(np.array_equal(memory[number], words) for number, words in last.items())
    instance = case("vector_add", tester.machine)
    await tester.compare(instance.program, instance.grid, instance.memory, Policy.UNCONSTRAINED)
