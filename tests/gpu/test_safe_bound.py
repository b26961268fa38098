"""The safe bound against the thesis's measurements, and against an SM that schedules unfairly."""

import json
import random
from dataclasses import replace
from fractions import Fraction

import pytest

from cyclebound.golden.gpu.compute_capability import CAPABILITIES
from cyclebound.golden.gpu.control_flow import flow_of
from cyclebound.golden.gpu.occupancy import BlockResources
from cyclebound.golden.gpu.safe_bound import Machine, NotSafe, kernel_bound, machine_of
from cyclebound.golden.gpu.thesis_kernels import THESIS_KERNELS
from cyclebound.golden.gpu.thesis_wcet import Launch
from cyclebound.sim.families.gpu.estimate import thesis_bound
from cyclebound.tools.gpu.listing import Line, listing, listing_of_steps
from cyclebound.tools.gpu.sass import parse_sass

pytestmark = pytest.mark.unit
A100 = CAPABILITIES["8.0"]


def kernel_of(*lines):
    """A kernel with these instructions: texts, or `Line`."""
    return parse_sass(listing({"f": [Line(line) if isinstance(line, str) else line
                                     for line in lines]}))[0]


def bound(kernel, blocks=1, threads=32, registers=32, sms=2, **options):
    return kernel_bound(kernel, Launch((blocks, 1, 1), threads, sms),
                        BlockResources(threads, registers), A100, **options)


@pytest.mark.parametrize("kernel", THESIS_KERNELS.values(), ids=THESIS_KERNELS)
def test_the_thesis_measurements_lie_below(kernel):
    """Also with what is known of the A100: coalesced, and 34 sectors a cycle (1,555 GB/s)."""
    assert thesis_bound(kernel).cycles > kernel.measured
    found, = parse_sass(listing_of_steps(kernel.name, kernel.steps))
    least = kernel_bound(found, kernel.launch, BlockResources(
        kernel.launch.threads, kernel.registers), A100, coalesced=True,
        machine=Machine(sectors_per_cycle=Fraction(34)))
    assert thesis_bound(kernel).cycles > least.cycles > kernel.measured


def test_by_hand():
    """Two instructions and an exit in one block of one warp."""
    found = bound(kernel_of("IADD3 R1, R2, R3, RZ", "LDG.E R1, [R2.64]", "EXIT"))
    # latencies 6 + 290 + 20, one line of code; pipelines 2 + 1 + 2; 32 banks; 32 + 4 sectors
    assert (found.chain, found.issue, found.unit, found.memory) == (316 + 290, 5, 32, 36)
    assert (found.cycles, found.waves) == (606 + 5 + 32 + 36, 1)
    found = bound(kernel_of("LDG.E.128 R4, [R2.64]", "EXIT"), coalesced=True)
    assert (found.unit, found.memory) == (4, 17 + 4)
    found = bound(kernel_of("LDC R4, c[0x3][R4+0x10]", "EXIT"))  # 32 addresses, each a miss
    assert (found.chain, found.memory) == (32 * 290 + 20 + 20 + 290, 64 + 4)
    for opcode in ("RED", "REDG"):  # until sm_80, and sm_90
        assert bound(kernel_of(f"{opcode}.E.ADD [R2.64], R4", "EXIT")).memory == 32 + 4 + 32


LOOP = (Line("MOV R1, RZ"), Line("IADD3 R1, R1, 1, RZ", label=".L"),
        Line("BRA `(.L)", "@P0"), "EXIT")


def test_loops_come_from_the_control_flow():
    kernel = kernel_of(*LOOP)
    line = kernel.instructions[1].line
    assert [(loop.line, sorted(loop.body)) for loop in flow_of(kernel).loops] == [(line, [1, 2])]
    once, ten = (bound(kernel, loops={line: count}) for count in (1, 10))
    assert [instruction.executions for instruction in ten.work] == [1, 10, 10, 1]
    assert ten.cycles - once.cycles == 9 * (6 + 20 + 2 + 2)
    with pytest.raises(NotSafe, match=rf"^line {line}: a loop without a bound; .* --loop {line}=N"):
        bound(kernel)


def test_loops_inside_each_other_multiply():
    kernel = kernel_of(Line("NOP", label=".A"), Line("NOP", label=".B"),
                       Line("BRA `(.B)", "@P0"), Line("BRA `(.A)", "@!P1"), "EXIT")
    outer, inner = flow_of(kernel).loops
    found = bound(kernel, loops={outer.line: 3, inner.line: 5})
    assert [instruction.executions for instruction in found.work] == [3, 15, 15, 3, 1]


@pytest.mark.parametrize(("lines", "loops", "says"), [
    (["CALL.REL.NOINC 0x20", "EXIT", "RET.REL.NODEC R2 0x0"], {},
     "no instruction loads the address after it"),
    (["MOV R2, 0x20", "CALL.REL.NOINC 0x30", "EXIT", "MOV R4, 0x50", "CALL.REL.NOINC 0x0", "EXIT"],
     {}, "a function that calls itself"),
    (["MOV R2, 0x20", "CALL.REL.NOINC R8 0x0", "EXIT"], {}, "an indirect call has no known target"),
    (["MOV R2, 0x20", "CALL.ABS.NOINC `(vprintf)", "EXIT"], {}, "its function is not in f"),
    (["RET.REL.NODEC R2 0x0"], {}, "returns, but no call of f leads here"),
    (["BAR.SYNC 0x0, 0x40", "EXIT"], {}, "BAR.SYNC: a barrier of some of a block's threads"),
    (["BAR.ARV 0x1, 0x40", "EXIT"], {}, "BAR.ARV: a barrier of some of a block's threads"),
    (["BAR.SYNC.DEFER_BLOCKING R5, R5", "EXIT"], {}, "or one that is told by a register"),
    (["HGMMA.64x64x16.F16 R24, gdesc[UR8], R24, gsb0", "EXIT"], {}, "products, and clusters of"),
    (["USETMAXREG.DEALLOC.CTAPOOL 0x28", "EXIT"], {}, "clusters of blocks, are not modelled"),
    (["BRX R2 -0x10", "EXIT"], {}, "an indirect branch has no known targets"),
    (["NANOSLEEP 0x10", "EXIT"], {}, "it stops the kernel, or waits"),
    (["TEX R1, R2, 2D", "EXIT"], {}, "the texture unit has no published latency"),
    (["LDGSTS.E [R1], [R2.64]", "EXIT"], {}, "asynchronous copies and products, and"),
    (["FOO R1", "EXIT"], {}, "FOO is not known"),
    (["BRA 0x1000"], {}, "0x1000 is no instruction of f"),
    (["BRA `(.L_x_9)"], {}, "its target is no instruction of f"),
    (["NOP"], {}, "f goes on after its last instruction, NOP: the listing was cut off"),
    (["EXIT"], {99: 4}, "--loop 99: no loop begins at line 99"),
    ([Line("BRA 0x20", "@P0"), "NOP", "NOP", Line("BRA 0x10", "@P1"), "EXIT"], {},
     "a loop with more than one entry"),
])
def test_where_it_cannot_be_safe_it_says_so(lines, loops, says):
    with pytest.raises(NotSafe) as caught:
        bound(kernel_of(*lines), loops=loops)
    assert any(says in reason for reason in caught.value.reasons)


CALLS = ("MOV R10, 0x20", "CALL.REL.NOINC 0x60",  # 0x00
         "HFMA2.MMA R10, -RZ, RZ, 0, 3.814697265625e-06", "CALL.REL.NOINC 0x60",  # 0x20: loads 0x40
         "EXIT", "NOP",  # 0x40
         "FFMA R1, R1, R1, R1", "MOV R4, R10", "RET.REL.NODEC R4 0x0", "BRA 0x90")  # 0x60


def test_calls_are_followed():
    """As nvcc calls the slow path of a division; the function counts once for each call."""
    kernel = kernel_of(*CALLS)
    main, function = flow_of(kernel).functions
    assert (sorted(main.body), main.calls) == ([0, 1, 2, 3, 4], {1: 6, 3: 6})
    assert sorted(function.body) == [6, 7, 8]
    found = bound(kernel)
    assert [instruction.executions for instruction in found.work] == [1] * 5 + [2] * 3
    assert any("A call returns to the instruction after it" in says for says in found.assumptions)


def test_a_function_in_a_loop_with_a_loop_of_its_own():
    kernel = kernel_of(
        Line("MOV R10, 32@lo((f + .B@srel))", label=".A"), "CALL.REL.NOINC `(.slow)",
        Line("BRA `(.A)", "@P0", ".B"), "EXIT",
        Line("FFMA R1, R1, R1, R1", label=".slow"), Line("BRA `(.slow)", "@P1"),
        "MOV R12, 0x80", "CALL.REL.NOINC `(.deep)", "RET.REL.NODEC R10 0x0",
        Line("MUFU.RCP R1, R1", label=".deep"), "RET.REL.NODEC R12 0x0")
    outer, inner = kernel.instructions[0].line, kernel.instructions[4].line
    found = bound(kernel, loops={outer: 3, inner: 5})
    assert [instruction.executions
            for instruction in found.work] == [3, 3, 3, 1, 15, 15, 3, 3, 3, 3, 3]
    with pytest.raises(NotSafe) as caught:
        bound(kernel)
    assert len(caught.value.reasons) == 2


def test_threads_that_part_in_a_function_stay_apart_after_it():
    kernel = kernel_of("MOV R10, 0x20", "CALL.REL.NOINC 0x40", "FFMA R1, R1, R1, R1", "EXIT",
                       Line("BRA 0x60", "@P0"), "NOP", "RET.REL.NODEC R10 0x0")
    assert [instruction.executions for instruction in bound(kernel, reconverges=False).work] == [
        1, 1, 32, 32, 1, 32, 32]


def test_branches_in_a_register_with_noted_targets():
    kernel = kernel_of('BRX R2 -0x10 (*"BRANCH_TARGETS .A,.B"*)', "NOP",
                       Line("EXIT", label=".A"), Line("EXIT", label=".B"))
    assert sorted(flow_of(kernel).reached) == [0, 2, 3]
    assert any("notes every place" in says for says in bound(kernel).assumptions)
    assert sorted(flow_of(kernel_of(*(
        'BRX R2 -0x10 (*"BRANCH_TARGETS 0x20"*)', "NOP", "EXIT"))).reached) == [0, 2]


def test_collective_regions_go_on_at_their_target_too():
    kernel = kernel_of("WARPSYNC.COLLECTIVE R0, 0x30", "NOP", "ENDCOLLECTIVE", "EXIT")
    assert {instruction.number: instruction.executions
            for instruction in bound(kernel, reconverges=False).work} == {
        1: 1, 2: 32, 3: 32, 4: 32}
    plain = kernel_of("BRA.DIV UR4, 0x20", "EXIT", "BRA 0x10")
    assert sorted(flow_of(plain).reached) == [0, 1, 2]


def test_barriers_of_the_whole_block():
    assert bound(kernel_of("BAR.SYNC.DEFER_BLOCKING 0x0", "EXIT")).cycles > 0
    assert bound(kernel_of("BAR.RED.POPC.DEFER_BLOCKING 0x0, P0", "EXIT")).cycles > 0


@pytest.mark.parametrize(("name", "cycles", "tensor", "wide"), [
    ("7.0", 4, 16, 16), ("7.5", 64, 16, 512), ("8.0", 4, 16, 16), ("8.6", 64, 32, 512),
    ("8.9", 64, 32, 512), ("9.0", 2, 64, 64)])
def test_pipelines_have_the_rates_of_the_capability(name, cycles, tensor, wide):
    limits = CAPABILITIES[name]
    found = kernel_bound(kernel_of("DFMA R2, R2, R2, R2", "I2F.F64 R2, R2", "I2F R2, R2",
                                   "HMMA.16816.F32 R4, R8, R12, R4", "DMMA.884 R4, R8, R12, R4",
                                   "EXIT"),
                         Launch((1, 1, 1), 32, 1), BlockResources(32, 32), limits,
                         machine=machine_of(limits))
    assert [instruction.issue
            for instruction in found.work] == [cycles, max(8, cycles), 8, tensor, wide, 2]


def test_shared_memory_that_may_hold_the_runtimes_own():
    """A block's 50 KiB leave room for a second one only if the reserved kilobyte is in them."""
    limits = CAPABILITIES["8.6"]
    kernel, block = kernel_of("FFMA R1, R1, R1, R1", "EXIT"), BlockResources(32, 32, 50 * 1024)
    known, either = (kernel_bound(kernel, Launch((2, 1, 1), 32, 2), block, limits,
                                  reserved_counted=counted) for counted in (False, True))
    assert (known.resident, either.resident) == (1, 2)
    assert known.issue < either.issue
    assert known.cycles < either.cycles


def test_all_reasons_at_once():
    with pytest.raises(NotSafe) as caught:
        bound(kernel_of("FOO R1", "TEX R1, R2, 2D", *LOOP[1:]))
    assert len(caught.value.reasons) == 3


def test_threads_that_never_come_together():
    kernel = kernel_of("MOV R1, RZ", Line("BRA 0x30", "@P0"), "IADD3 R1, R1, 1, RZ", "EXIT")
    assert [instruction.executions
            for instruction in bound(kernel, reconverges=False).work] == [1, 1, 32, 32]
    assert [instruction.executions
            for instruction in bound(kernel, threads=3, reconverges=False).work] == [
        1, 1, 3, 3]


def test_given_latencies_are_an_assumption():
    kernel = kernel_of("IADD3 R1, R2, R3, RZ", "LDG.E R1, [R2.64]", "EXIT")
    slow, quick = (bound(kernel, delays={"IADD3": cycles, "LDG": cycles}) for cycles in (500, 0))
    assert slow.chain == bound(kernel).chain + 500 - 6 + 500 - 290
    assert quick.chain == bound(kernel).chain - 6 + 2  # no less than pipeline and miss take
    assert "Latencies that were given: IADD3 500, LDG 500 cycles." in slow.assumptions


def test_waves_and_barriers():
    kernel = kernel_of("FFMA R1, R1, R1, R1", "EXIT")
    one, two = (bound(kernel, blocks=blocks, threads=1024, spread=True) for blocks in (4, 5))
    assert (one.waves, two.waves) == (1, 2)
    assert (one.issue, two.issue) == (4 * 16, 4 * 5 * 32)  # a quarter of two blocks; all of five
    assert bound(kernel, blocks=4, threads=1024).issue == 4 * 64
    assert bound(kernel, blocks=5, threads=1024, balanced=True).issue == 4 * 4 * 32
    assert bound(kernel_of("BAR.SYNC 0x0", "FFMA R1, R1, R1, R1", "EXIT"), blocks=4,
                 threads=1024).issue == 64 * (1 + 2 + 2)


def test_the_carve_out_is_the_worst_of_all():
    kernel = kernel_of("FFMA R1, R1, R1, R1", "EXIT")
    found = bound(kernel, blocks=200)
    assert found.cycles == max(bound(kernel, blocks=200, carve_out=size).cycles
                               for size in A100.carve_outs if size)
    with pytest.raises(NotSafe, match="does not launch"):
        bound(kernel, threads=1024, registers=255)


# --- an SM that obeys the assumptions, and nothing else

def simulated(work, *, blocks, warps, sms, resident, schedulers, dice, policy, spread=False):
    """Cycles until all blocks ended, where every resource picks whom it serves as it likes.

    ``work`` is one warp's: (latency, interval, pipeline, load/store cycles, sectors) for each
    instruction. A warp issues, occupies its pipeline, the load/store unit and memory, and waits
    for its latency; then its next instruction is ready. Warps are spread evenly over the
    schedulers of an SM, or anyhow.
    """
    skew = dice.choice((1, 2, schedulers))
    started = dict.fromkeys(range(sms), 0)
    waiting, now = list(range(blocks)), 0
    free = dict.fromkeys(range(sms), resident)
    live = {}  # (block, warp): [sm, next instruction, stage, ready at]
    left, scheduler = {}, {}
    busy = {}  # resource: free at

    def pick(candidates):
        return {"first": min, "last": max}.get(policy, lambda ready: dice.choice(sorted(ready)))(
            candidates)

    while waiting or live:
        while waiting and any(free.values()):
            sm = pick([sm for sm in free if free[sm]])
            block = waiting.pop(0)
            free[sm] -= 1
            left[block] = warps
            for warp in range(warps):
                live[block, warp] = [sm, 0, 0, now]
                scheduler[block, warp] = (started[sm] % schedulers if spread
                                          else dice.randrange(skew))
                started[sm] += 1
        progress = True
        while progress:
            progress = False
            wanting = {}
            for name, (sm, _, stage, ready) in live.items():
                if ready <= now:
                    resource = (("issue", sm, scheduler[name]), ("unit", sm), ("memory",),
                                ("none", name))[stage]
                    wanting.setdefault(resource, []).append(name)
            for resource, names in wanting.items():
                if busy.get(resource, 0) > now:
                    continue
                name = pick(names)
                sm, index, stage, _ = state = live[name]
                latency, interval, _, unit, sectors = work[index]
                span = (interval, unit, sectors, 0)[stage]
                if resource[0] != "none":
                    busy[resource] = now + span
                if stage < 3:
                    state[2:] = [stage + 1, now + (0 if stage == 0 else span)]
                    if stage == 2:
                        state[3] += latency
                else:
                    state[1:] = [index + 1, 0, now]
                    if index + 1 == len(work):
                        del live[name]
                        left[name[0]] -= 1
                        free[sm] += not left[name[0]]
                progress = True
        now += 1
    return now - 1


def bare(found, latencies):
    """The work of a bound's instructions, for the simulation."""
    return [(latency, instruction.issue, "p", instruction.unit, instruction.sectors)
            for instruction, latency in zip(found.work, latencies, strict=True)]


TEXTS = {"FFMA R1, R1, R1, R1": 6, "MUFU.RCP R1, R1": 24, "LDG.E R1, [R2.64]": 290,
         "STG.E.64 [R2.64], R4": 290, "LDS R1, [R2]": 23}
MACHINE = Machine(global_latency=9, shared_latency=7, control_latency=2, sectors_per_cycle=2,
                  latency={**Machine().latency, "cbu": 2})


@pytest.mark.parametrize("seed", range(6))
def test_no_schedule_exceeds_the_bound(seed):
    """Random kernels and launches, fair and unfair picks; and the load on memory is needed."""
    dice = random.Random(seed)
    machine = replace(MACHINE, sectors_per_cycle=Fraction(1))
    for policy in ("first", "last", "any"):
        texts = dice.choices(sorted(TEXTS), k=dice.randint(1, 5))
        warps, sms, blocks = dice.choice((1, 2, 4)), dice.randint(1, 2), dice.randint(1, 6)
        registers = dice.choice((32, 255))
        kernel, spread = kernel_of(*texts, "EXIT"), dice.random() < 0.5
        found = bound(kernel, spread=spread, blocks=blocks, threads=32 * warps,
                      registers=registers, sms=sms, machine=machine,
                      coalesced=dice.random() < 0.5, carve_out=65536)
        pipes = [{"FFMA": "fma", "MUFU": "xu"}.get(text.split(".")[0].split()[0], "")
                 for text in texts] + ["cbu"]
        latencies = [min(max(machine.latency.get(pipe, 9), instruction.issue), instruction.chain)
                     for instruction, pipe in zip(found.work, pipes, strict=True)]
        took = simulated(bare(found, latencies), blocks=blocks, warps=warps, sms=sms,
                         resident=found.resident, schedulers=4, dice=dice, policy=policy,
                         spread=spread)
        assert 0 < took <= found.cycles


def test_without_the_memory_term_the_bound_would_be_exceeded():
    """The simulation is no pushover: it finds a bound that leaves memory out."""
    kernel = kernel_of("LDG.E R1, [R2.64]", "EXIT")
    machine = replace(MACHINE, sectors_per_cycle=Fraction(1))
    found = bound(kernel, blocks=8, sms=2, machine=machine, carve_out=65536, coalesced=True,
                  spread=True)
    took = simulated(bare(found, [9, 2]), blocks=8, warps=1, sms=2, resident=found.resident,
                     schedulers=4, dice=random.Random(0), policy="last", spread=True)
    assert found.cycles - found.memory < took <= found.cycles


@pytest.mark.parametrize(("options", "says"), [
    ({"sectors_per_cycle": Fraction(0)}, r"^sectors per cycle must be above 0"),
    ({"global_latency": -1}, r"^global_latency must be a whole number, 0 to 10000000, not -1$"),
    ({"latency": {"alu": 1}}, r"^latency and interval must name the same pipelines$"),
    ({"latency": {**Machine().latency, "alu": 0}}, r"^latency of alu must be"),
])
def test_machines_that_are_none(options, says):
    with pytest.raises(ValueError, match=says):
        Machine(**options)


def test_command(call, tmp_path):
    call("gpu", "listing", "add", "-o", "add.sass")
    found = json.loads(call("gpu", "bound", "add.sass", "-g", 216, "-b", 1024, "-r", 16,
                            "--json").stdout)
    assert found["cycles"] == 760104 == sum(found["parts"].values())
    said = call("gpu", "bound", "add.sass", "-g", 216, "-b", 1024, "-r", 16, "--coalesced",
                "--set", "sectors_per_cycle=34", "--set", "overhead=1000", "--html", "b.html")
    assert "13307 cycles at most" in said.stdout
    assert "work-conserving" in (tmp_path / "b.html").read_text()
    (tmp_path / "loop.sass").write_text(listing({"f": [Line("NOP"), *LOOP[1:3], Line("EXIT")]}))
    words = ("gpu", "bound", "loop.sass", "-g", 1, "-b", 32, "-r", 8)
    said = call(*words)
    assert said.returncode == 1
    assert "line 15: a loop without a bound" in said.stdout
    assert call(*words, "--loop", "15=8").returncode == 0


@pytest.mark.parametrize(("words", "says"), [
    (["--loop", "x=1"], "--loop takes LINE=N, not 'x=1'"),
    (["--loop", "1=1", "--loop", "1=2"], "--loop gives line 1 twice"),
    (["--set", "globl_latency=3"], "no number of the machine 'globl_latency'; did you mean global"),
    (["--set", "overhead=many"], "--set overhead takes a number"),
    (["--set", "overhead=-4"], "overhead must be a whole number"),
    (["--carve-out", "7"], "carve-out must be one of"),
])
def test_command_mistakes(call, words, says):
    call("gpu", "listing", "add", "-o", "add.sass")
    said = call("gpu", "bound", "add.sass", "-g", "1", "-b", "32", "-r", "8", *words)
    assert (said.returncode, said.stderr.count("\n")) == (2, 1)
    assert says in said.stderr
    assert "--registers" in call("gpu", "bound", "add.sass", "-g", "1", "-b", "32").stderr
