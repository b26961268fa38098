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
from cyclebound.tb.simd.accelerator_scene import Ran, Scene
from cyclebound.tools.simd.assembler import assemble
from cyclebound.tools.simd.kernel_cases import case

_HEAD = ".data\n0 0x0 640 1\n1 0x10000 640 1\n.sp_data\n0 0 64 1\n.text\n"
# Work-groups below number 3 go to `fine`, where they load and store.
_CHOICE = "smov s0, sc.wg_off_x\nsisub s0, s0, {}\n#bound branchcycle 3 1\nsicj.l fine, s0\n"
_FINE = "fine:\nldglin v1, 0\nstglin v1, 1\nexit\n"
_FIRST = 3  # instruction after the choice
_ILLEGAL = (1 << 64) - 1
_STOPPED = 3


def _kernel(body: str, items: int) -> Program:
    return assemble(_HEAD + _CHOICE.format(_STOPPED * items) + body + _FINE)


async def stopped(scene: Scene, program: Program, memory: Memory, policy: Policy, *,
                  cause: Cause, index: int, words: Sequence[int] | None = None) -> Ran:
    """A run that ends with this fault of work-group 3; then a good kernel, in its every cycle."""
    items = scene.machine.items
    before = {number: each.copy() for number, each in memory.items()}
    ran, _ = await scene.run(program, Grid(5 * items, 1, scene.machine), memory, policy,
                             most=20_000, words=words)
    assert ran.fault is not None, f"{cause!r} does not stop the kernel"
    wanted = {"cause": cause, "index": index, "number": _STOPPED}
    assert {name: ran.fault[name] for name in wanted} == wanted, ran.fault
    slots = {number: slot for _, slot, number in ran.launches}
    assert ran.fault["slot"] == slots[_STOPPED]
    # work-groups before it did their work, and none wrote where it should not
    for number, (found, right) in enumerate(zip(memory[1][0], before[0][0], strict=True)):
        assert found in (right, before[1][0, number]), f"word {number} is {found:#x}"
    scene.bench.compared += 1
    found = case("vector_add", scene.machine)
    await scene.compare(found.program, found.grid, found.memory, Policy.UNCONSTRAINED)
    return ran


def _memory(program: Program, bench: Bench) -> Memory:
    memory = memory_of(program)
    rng = np.random.default_rng(bench.rng.getrandbits(32))
    for words in memory.values():
        words[...] = rng.integers(0, 1 << 32, words.shape, dtype=np.uint32)
    return memory


@testbench
async def an_illegal_instruction(bench: Bench) -> None:
    scene = Scene(bench)
    program = _kernel("nop\nnop\nexit\n", scene.machine.items)
    words = [encode(each) for each in program.instructions]
    words[_FIRST + 1] = _ILLEGAL
    for policy in Policy:
        await stopped(scene, program, _memory(program, bench), policy, cause=Cause.ILLEGAL,
                      index=_FIRST + 1, words=words)


@testbench
async def no_end(bench: Bench) -> None:
    """The last instruction runs on."""
    scene = Scene(bench)
    program = _kernel("j over\nover:\nexit\n", scene.machine.items)
    words = [encode(each) for each in program.instructions]
    end = len(words)
    jump = assemble(_HEAD + "nop\n" * _FIRST + "j over\n" + "nop\n" * (end - _FIRST - 1)
                    + "over:\nexit\n")
    words[_FIRST] = encode(jump.instructions[_FIRST])
    await stopped(scene, program, _memory(program, bench), Policy.UNCONSTRAINED, cause=Cause.END,
                  index=end, words=words)


@testbench
async def a_stack_that_overflows(bench: Bench) -> None:
    scene = Scene(bench)
    program = _kernel("cpush.if out\n" * 16 + "nop\nout: exit\n", scene.machine.items)
    words = [encode(each) for each in program.instructions]
    words[_FIRST + 16] = words[_FIRST]  # one more
    await stopped(scene, program, _memory(program, bench), Policy.PAIRWISE, cause=Cause.OVERFLOW,
                  index=_FIRST + 16, words=words)


@testbench
async def a_stack_that_is_empty(bench: Bench) -> None:
    scene = Scene(bench)
    program = _kernel("nop\nl: cpush.if l\ncpop\nexit\n", scene.machine.items)
    words = [encode(each) for each in program.instructions]
    words[_FIRST + 1] = words[_FIRST]  # no push
    await stopped(scene, program, _memory(program, bench), Policy.UNCONSTRAINED,
                  cause=Cause.EMPTY, index=_FIRST + 2, words=words)


@testbench
async def an_index_outside(bench: Bench) -> None:
    """One lane's index is beyond its buffer; then one with more bits than any buffer has words."""
    scene = Scene(bench)
    for beyond in (640, 1 << 20):
        program = _kernel(f"mov v0, vc.lid_x\niadd v0, v0, {beyond - 5}\n"
                          "movvsp vc.mem_idx, v0\nldgidxit v1, 0\nexit\n", scene.machine.items)
        for policy in (Policy.UNCONSTRAINED, Policy.COMPUTE):
            await stopped(scene, program, _memory(program, bench), policy, cause=Cause.ACCESS,
                          index=_FIRST + 3)


@testbench
async def scalars_outside(bench: Bench) -> None:
    """A scratchpad has 64 words and there are 32 scalar registers."""
    scene = Scene(bench)
    for words, target in ((33, 0), (4, 29)):
        program = _kernel(f"smovssp sc.sd_words, {words}\nsldsp s{target}, 0\nexit\n",
                          scene.machine.items)
        await stopped(scene, program, _memory(program, bench), Policy.ACCESS, cause=Cause.ACCESS,
                      index=_FIRST + 1)


@testbench
async def a_program_beyond_the_device(bench: Bench) -> None:
    """It is not loaded, and nothing of it runs; the last buffer keeps its mapping."""
    scene = Scene(bench)
    program = _kernel("nop\n" * 8 + "exit\n", scene.machine.items)
    memory = _memory(program, bench)
    last = {number: words.copy() for number, words in memory.items()}
    ran, _ = await scene.run(program, Grid(5, 1, scene.machine), memory, Policy.UNCONSTRAINED,
                             at=(scene.part.bursts - 1) * BURST_BYTES, most=20_000)
    assert ran.fault is not None
    assert ran.fault["cause"] == Cause.LOAD
    assert not ran.launches
    assert all(np.array_equal(memory[number], words) for number, words in last.items())
    found = case("vector_add", scene.machine)
    await scene.compare(found.program, found.grid, found.memory, Policy.UNCONSTRAINED)
