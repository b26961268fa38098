"""Intervals between issues of the compute unit, for each class of instructions."""

from dataclasses import dataclass, field

from cyclebound.golden.simd.compute_unit import Planner
from cyclebound.golden.simd.machine import Grid
from cyclebound.golden.simd.work_group import memory_of
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.simd.compute_unit import HEAD, SimdComputeUnitTester
from cyclebound.tools.simd.assembler import assemble


@dataclass(frozen=True)
class Interval:
    """Lines of a kernel, and which of them, from the first, are issued from and to."""

    what: str
    lines: str
    first: int = 0
    second: int = 1
    parameters: dict[str, int] = field(default_factory=dict)


def _dependent(what: str, producer: str, *consumers: str) -> list[Interval]:
    return [Interval(what, f"{producer}\n{consumer}", parameters={"operand": operand})
            for operand, consumer in enumerate(consumers) if consumer]


_SUM, _DIVIDE, _VECTOR, _ROOT = ("siadd s1, s0, 1", "sidiv s1, s0, s2", "iadd v1, v0, 1",
                                 "rsqrt v1, v0")
_SCALARS = "simad s3, s1, s0, s0", "simad s3, s0, s1, s0", "simad s3, s0, s0, s1"
_VECTORS = "imad v2, v1, v0, v0", "imad v2, v0, v1, v0", "imad v2, v0, v0, v1"
INTERVALS = [
    *(Interval("scalar", lines) for lines in (
        "siadd s1, s0, 1\nsiadd s3, s2, 1", "smov s1, 5\nadd v1, v0, v0",
        "smovssp sc.sd_words, 1\nsmov s1, sc.wg_off_x", "nop\ncpush.if e\ncpop\ne:",
        "scvt.i2f s1, s0\nsidiv s3, s0, s2", "bufquery.dim_x s1, 0\nldglin v1, 0")),
    *_dependent("scalar_dependent", _SUM, *_SCALARS),
    *_dependent("scalar_dependent", _SUM, "sicj.ez e, s1\ne:", "iadd v1, v0, s1"),
    *_dependent("scalar_dependent", "smov s1, 3", "", "ldglin v1, 0, s1", "ldglin v1, 0, 0, s1"),
    *_dependent("scalar_dependent", "smovssp sc.sd_words, 1", "sldsp s1, 0",
                "smov s1, sc.sd_words"),
    *(Interval("vector", lines) for lines in (
        "iadd v1, v0, 1\nnop", "mov v1, vc.tid_x\nldglin v2, 0", "itest.ez p1, v0\nrcp v1, v0",
        "movvsp vc.mem_idx, 5\nsidiv s1, s0, s2", "cpush.if e\nnop\ncpop\ne:",
        "cmask p1\niadd v1, v0, 1", "mul v1, v0, v0\nadd v2, v0, v0")),
    *_dependent("vector_dependent", _VECTOR, *_VECTORS),
    *_dependent("vector_dependent", "itest.nz p2, v0", "cpush.if e, p2\ncpop\ne:", "",
                "pbool.and p3, p1, p2"),
    *_dependent("vector_dependent", "movvsp vc.mem_idx, 9", "", "mov v1, vc.mem_idx"),
    *_dependent("vector_dependent", "cmask p1", "", "mov v1, vc.ctrl_run"),
    *(Interval("special", lines) for lines in (
        "rcp v1, v0\nrsqrt v2, v0", "sin v1, v0\nnop", "cos v1, v0\niadd v2, v0, v0",
        "rcp v1, v0\nsidiv s1, s0, s2", "rcp v1, v0\nldglin v2, 0")),
    *_dependent("special_dependent", _ROOT, *_VECTORS),
    *_dependent("special_dependent", _ROOT, "sin v2, v1"),
    *(Interval("division", f"{_DIVIDE}\n{line}") for line in (
        "nop", "siadd s3, s0, 1", "iadd v1, v0, 1", "rcp v1, v0", "ldglin v1, 0",
        "sicj.ez e, s0\ne:")),
    Interval("division_again", f"{_DIVIDE}\nsimod s3, s0, s2"),
    *_dependent("division_dependent", _DIVIDE, *_SCALARS),
    *_dependent("division_dependent", "simod s1, s0, s2", "", "imul v1, v0, s1"),
    Interval("jump_taken", "j e\nnop\ne:\nnop", second=2),
    Interval("jump_taken", "sicj.nz e, s2\nrcp v1, v0\ne:\nnop", second=2),
    Interval("jump_taken", "sicj.nz e, s2\ne:\nrcp v1, v0"),
    Interval("jump_not_taken", "sicj.ez e, s2\nnop\ne:\nnop"),
    Interval("jump_not_taken", "sicj.ez e, s2\ne:\nldglin v1, 0"),
    Interval("vector_jump", "call f", second=-1),
    Interval("vector_jump", "cpush.if e\nnop\nnop\nnop\nnop\nnop\ncpop\nnop\ne:\nnop", 6, 8),
    Interval("push_to_pop", "cpush.if e\ncpop\ne:\nnop", second=2),
    Interval("push_to_pop", "cpush.jc e, p2\ncpop\nrcp v1, v0\ne:\nnop", second=3),
]

# Registers have values, and all of them are there when the lines begin.
_BEFORE = ("smov s0, 7\nsmov s1, 1\nsmov s2, 3\nsmovssp sc.sd_words, 1\n"
           + "".join(f"mov v{number}, vc.{name}\n" for number, name in
                     enumerate(("lid_x", "tid_x", "one", "zero")))
           + "".join(f"movvsp vc.{name}, v0\n" for name in ("mem_idx", "mem_data"))
           + "itest.ez p0, v0\nitest.l p1, v0\nitest.g p2, v0\nitest.ez p3, v3\nj b\nb:\n")
_BEGIN = 15


def _kernel(lines: str) -> str:
    return f"{HEAD}{_BEFORE}{lines}\nexit\nf:\nnop\ncpop\n"


async def _run(tester: SimdComputeUnitTester, text: str, groups: int, *, prompt: bool = False
               ) -> None:
    program = assemble(text)
    grid = Grid(groups * tester.machine.items, 1, tester.machine)
    await tester.run(Planner(program, grid, memory_of(program), tester.bench.rng,
                             words=tester.words, prompt=prompt).made())


@testbench
async def each_class(bench: Bench) -> None:
    tester = SimdComputeUnitTester(bench)
    for interval in INTERVALS:
        text = _kernel(interval.lines)
        program = assemble(text)
        assert program.instructions[_BEGIN - 1].name == "j"
        second = _BEGIN + interval.second if interval.second >= 0 else len(program.instructions) - 2
        bench.declare(interval.what, first=_BEGIN + interval.first + 1, second=second + 1,
                      **interval.parameters)
        try:
            await _run(tester, text, 3)
        except AssertionError as wrong:
            raise type(wrong)(f"{interval}: {wrong}") from None
        bench.undeclare(interval.what)


@testbench
async def lanes_that_all_go(bench: Bench) -> None:
    """Instructions that leave no lane active, and the cpop that is injected after them."""
    tester = SimdComputeUnitTester(bench)
    for saved, lines in (("if", "cmask p3"), ("if", "bra e, p3"), ("brk", "brk p3"),
                         ("jc", "ret p3"), ("jc", "call f, p1")):
        for between in ("", "nop\n", "rcp v1, v0\n"):
            text = _kernel(f"cpush.{saved} e\n{between}{lines}\n{between}nop\ncpop\ne:\nnop")
            first = _BEGIN + 1 + bool(between)
            bench.declare("emptied", first=first + 1)
            if not lines.startswith(("bra", "call")):  # those are popped twice
                bench.declare("injected", second=first + 3 + bool(between) + 1)
            await _run(tester, text, 3)
            bench.undeclare("emptied")
            bench.undeclare("injected")


@testbench
async def turns(bench: Bench) -> None:
    """The turn passes from one work-group to the other, which waits."""
    tester = SimdComputeUnitTester(bench)
    for what, lines in (
            *(("access_turn", f"{before}{access}\nexit") for before in ("", "nop\nnop\n")
              for access in ("ldglin v1, 0", "ldsplin v1, 0", "sldg s0, 0, 4",
                             "ldgbidx 0" if tester.machine.snoopy else "ldgidxit v1, 0")),
            ("end_turn", "exit"), ("end_turn", "nop\nexit"), ("end_turn", "mov v1, vc.one\nexit")):
        text = f"{HEAD}{lines}\n"
        program = assemble(text)
        ends = next(index for index, instruction in enumerate(program.instructions)
                    if instruction.operation.access or instruction.name == "exit")
        bench.declare(what, first=ends + 1, second=1)
        await _run(tester, text, 2, prompt=True)
        bench.undeclare(what)
