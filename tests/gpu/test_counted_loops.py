"""Loops that count: drawn programs, executed instruction by instruction, exceed no count."""

import itertools
import operator
import random

import pytest

from cyclebound.golden.gpu.compute_capability import capability
from cyclebound.golden.gpu.control_flow import flow_of
from cyclebound.golden.gpu.counted_loops import counted_loops
from cyclebound.golden.gpu.occupancy import BlockResources
from cyclebound.golden.gpu.safe_bound import NotSafe, kernel_bound
from cyclebound.golden.gpu.thesis_wcet import Launch
from cyclebound.tools.gpu.sass import parse_sass

pytestmark = pytest.mark.unit

WORD = 1 << 32
COMPARE = {"LT": operator.lt, "LE": operator.le, "GT": operator.gt, "GE": operator.ge,
           "EQ": operator.eq, "NE": operator.ne}


def kernel(*lines):
    """A kernel of these instructions: one a line, from line 3 on."""
    body = "".join(f"        /*{16 * number:04x}*/ {line} ;\n" for number, line in enumerate(lines))
    found, = parse_sass(f"\tcode for sm_80\n\t\tFunction : k\n{body}\t\t.......\n")
    return found


def counts(*lines):
    found = kernel(*lines)
    return {line: count.executions for line, count in counted_loops(found, flow_of(found)).items()}


UP = ("MOV R2, RZ", "IADD3 R2, R2, 0x1, RZ", "ISETP.NE.AND P0, PT, R2, 0x8, PT",
      "@P0 BRA 0x10", "EXIT")


def test_a_loop_that_counts_up():
    assert counts(*UP) == {4: 8}


@pytest.mark.parametrize(("place", "line", "executions"), [
    (0, "IMAD.MOV.U32 R2, RZ, RZ, 0x5", 3),
    (0, "HFMA2.MMA R2, -RZ, RZ, 0, 1.78813934326171875e-07", 5),
    (0, "CS2R R2, SRZ", 8), (0, "MOV R2, 0xffffffff", 9),
    (1, "IADD3 R2, PT, PT, R2, 0x2, RZ", 4), (1, "VIADD R2, R2, 0x4", 2),
    (1, "IADD3 R2, RZ, 0x1, R2", 8), (2, "ISETP.LT.AND P0, PT, R2, 0xa, PT", 10),
    (2, "ISETP.LE.U32.AND P0, PT, R2, 0xa, PT", 11), (2, "ISETP.GE.AND P0, PT, R2, 0xa, PT", 1),
    (3, "@!P0 BRA 0x10", 1)])
def test_what_counts(place, line, executions):
    assert counts(*UP[:place], line, *UP[place + 1:]) == {4: executions}


@pytest.mark.parametrize(("place", "line"), [
    (0, "MOV R2, R3"), (0, "MOV R2, c[0x0][0x160]"), (0, "@P1 MOV R2, RZ"), (0, "NOP"),
    (0, "IMAD.MOV.U32 R2, RZ, RZ, -R3"), (0, "MOV R3, RZ"), (0, "CS2R R1, SRZ"),
    (0, "HFMA2.MMA R2, -RZ, RZ, R3, 0"),
    (1, "IADD3 R2, R2, R3, RZ"), (1, "IADD3 R2, -R2, 0x1, RZ"), (1, "@P1 IADD3 R2, R2, 0x1, RZ"),
    (1, "IADD3.X R2, R2, 0x1, RZ"), (1, "IADD3 R2, R2, R2, RZ"), (1, "IMAD R2, R2, 0x3, RZ"),
    (1, "IADD3 R2, R2, RZ, RZ"), (1, "FADD R2, R2, 1"),
    (2, "ISETP.NE.AND P0, PT, R2, R3, PT"), (2, "ISETP.NE.AND P0, PT, R3, 0x8, PT"),
    (2, "ISETP.NE.OR P0, PT, R2, 0x8, P1"), (2, "ISETP.NE.AND P0, PT, R2, 0x8, !PT"),
    (2, "@P1 ISETP.NE.AND P0, PT, R2, 0x8, PT"), (2, "ISETP.NE.AND.EX P0, PT, R2, 0x8, PT, P1"),
    (2, "ISETP.NE.AND P0, PT, -R2, 0x8, PT"), (2, "FSETP.NE.AND P0, PT, R2, 8, PT"),
    (2, "ISETP.NE.AND P1, P0, R2, 0x8, PT"), (2, "ISETP.GT.AND P0, PT, R2, -0x1, PT"),
    (3, "@P1 BRA 0x10"), (3, "BRA 0x10")])
def test_what_does_not(place, line):
    assert counts(*UP[:place], line, *UP[place + 1:]) == {}


@pytest.mark.parametrize("line", [
    "IADD3 R2, R3, 0x1, RZ", "LDS.128 R0, [R5]", "LDG.E.64 R1, [R4.64]",
    "IMAD.WIDE R1, R4, 0x4, R6",
    "ATOMG.E.ADD PT, R2, [R4.64], R5", "HMMA.16816.F32 R0, R4, R8, R0", "R2P PR, R3, 0x7f",
    "ISETP.EQ.AND P0, PT, R5, 0x8, PT", "P2R R2, PR, RZ, 0x7f", "LDG.E.ENL2.256 R12, R0, [R4.64]",
    "PLOP3.LUT P0, PT, P1, P2, PT, 0x80, 0x0", "NEW.ONE R5, R2", "LDSM.16.M88.4 R0, [R5]"])
def test_what_else_may_write_is_not_counted(line):
    assert counts(*UP[:1], *UP[1:3], line, *UP[3:]) == {}


@pytest.mark.parametrize("line", [
    "IMAD.WIDE R4, R2, 0x4, R6", "STG.E [R4.64], R2", "LDS R3, [R2]", "LDG.E.128 R4, [R2.64]",
    "ISETP.EQ.AND P1, PT, R2, 0x4, PT", "FFMA R3, R2, R2, R3", "LDS.64 R0, [R5]", "BAR.SYNC 0x0"])
def test_what_only_reads_is(line):
    assert counts(*UP[:1], *UP[1:3], line, *UP[3:]) == {4: 8}


def test_a_test_before_the_step_and_a_way_out():
    assert counts("MOV R2, 0xa", "ISETP.LT.AND P0, PT, R2, 0x1, PT", "@P0 BRA 0x60",
                  "@P3 BRA 0x60", "IADD3 R2, R2, -0x3, RZ", "BRA 0x10", "EXIT") == {4: 5}


def test_a_copy_is_compared():
    loop = ("UMOV UR5, 0x64", "UMOV UR4, UR5", "UISETP.GT.U32.AND UP0, UPT, UR4, 0x3, UPT",
            "UMOV UR4, URZ", "UIADD3 UR5, UPT, UPT, UR5, -0x3, URZ", "BRA.U UP0, 0x10", "EXIT")
    assert counts(*loop) == {4: 34}
    assert counts(*loop[:2], "UIADD3 UR4, UR4, 0x1, URZ", *loop[2:]) == {}


def test_loops_in_loops():
    lines = ("MOV R0, 0x64", "MOV R1, RZ", "IADD3 R1, R1, 0x1, RZ",
             "ISETP.NE.AND P0, PT, R1, 0x25, PT", "@P0 BRA 0x20",
             "ISETP.GT.AND P0, PT, R0, 0x3, PT", "IADD3 R0, R0, -0x3, RZ", "@P0 BRA 0x10", "EXIT")
    assert counts(*lines) == {4: 34, 5: 37}
    kept = ("MOV R0, 0x64", "NOP", *lines[2:])  # the inner one goes on where it was
    assert counts(*kept) == {4: 34}
    assert counts(*lines[:1], "@P1 BRA 0x30", *lines[1:2], "IADD3 R1, R1, 0x1, RZ", *lines[3:4],
                  "@P0 BRA 0x30", *lines[5:7], "@P0 BRA 0x10", "EXIT").get(6) is None


def test_two_starts_and_the_greatest_count():
    assert counts("MOV R2, 0x3", "@P1 BRA 0x30", "MOV R2, RZ", *UP[1:3], "@P0 BRA 0x30",
                  "EXIT") == {6: 8}


def test_the_bound_says_what_counts_and_takes_a_users_number_before_it():
    found, limits = kernel(*UP), capability("8.0")
    launch, block = Launch((1, 1, 1), 32, 108), BlockResources(32, 16, 0)
    counted = kernel_bound(found, launch, block, limits)
    reason, = counted.counted
    assert reason == ("loop at line 4: at most 8 executions, as R2 begins with 0, changes by 1 and "
                      "is compared with 8 (NE)")
    said = kernel_bound(found, launch, block, limits, loops={4: 8})
    assert (said.cycles, said.counted) == (counted.cycles, ())
    assert kernel_bound(found, launch, block, limits, loops={4: 5}).cycles < said.cycles
    with pytest.raises(NotSafe, match="line 4: a loop without a bound"):
        kernel_bound(kernel(*UP[:1], "IADD3 R2, R2, R3, RZ", *UP[2:]), launch, block, limits)


# -- an adversary ----------------------------------------------------------------------------------


def drawn(source):
    """Instructions of a program, each as (words, what it does): registers R0 to R3, P0 and P1."""
    size = source.randint(4, 8)

    def register():
        return source.randrange(4)

    def number():
        return source.choice([0, 1, 2, 3, 5, 7, -1, -2, 20, 33])

    def one(kind="", to=None):
        kind = kind or source.choices(["step", "add", "move", "number", "test", "branch", "pair"],
                                      [3, 2, 2, 2, 3, 3, 1])[0]
        guard = source.choice([""] * 8 + ["@P0 ", "@!P1 "]) if kind != "branch" else \
            source.choice(["@P0 ", "@!P0 "] * 3 + ["@P1 ", "@!P1 "])
        to, value, other = register() if to is None else to, number(), register()
        if kind == "step":
            return guard, f"IADD3 R{to}, R{to}, {value:#x}, RZ", ("add", to, to, value)
        if kind == "add":
            return guard, f"IADD3 R{to}, R{other}, {value:#x}, RZ", ("add", to, other, value)
        if kind == "move":
            return guard, f"MOV R{to}, R{other}", ("add", to, other, 0)
        if kind == "number":
            return guard, f"MOV R{to}, {value:#x}", ("number", to, value)
        if kind == "pair":
            return guard, f"CS2R R{to & 2}, SRZ", ("pair", to & 2)
        if kind == "test":
            word, signed = source.choice([*COMPARE]), source.random() < 0.7
            into = source.choice([0, 0, 0, 1])
            return guard, (f"ISETP.{word}{'' if signed else '.U32'}.AND P{into}, PT, R{to}, "
                           f"{value:#x}, PT"), ("test", into, to, word, value, signed)
        goal = source.choice([4, 4, 4, 4 + source.randrange(size)])
        return guard, f"BRA {goal * 16:#x}", ("branch", goal)

    values = [number() for _ in range(4)]
    begins = [("", f"MOV R{n}, {value:#x}", ("number", n, value))
              for n, value in enumerate(values)]
    counter = register()  # a loop that may count, and what may be in its way
    body = [one("step", counter), one("test", counter), one("branch")]
    if source.random() < 0.5:
        body.reverse()
    for _ in range(source.randrange(size - 3)):
        body.insert(source.randrange(len(body) + 1), one())
    return [*begins, *body, *([one("branch")] if source.random() < 0.4 else []),
            ("", "EXIT", ("exit",))]


def executed(program, predicates, most=3000):
    """The indices of instructions in the order of their execution."""
    registers, at, order = [0] * 4, 0, []
    predicates = list(predicates)
    while len(order) < most:
        guard, _, (what, *words) = program[at]
        order.append(at)
        at += 1
        if guard and predicates[int(guard.strip()[-1])] == ("!" in guard):
            continue
        if what == "exit":
            return order
        if what == "branch":
            at = words[0]
        elif what == "add":
            registers[words[0]] = (registers[words[1]] + words[2]) % WORD
        elif what == "number":
            registers[words[0]] = words[1] % WORD
        elif what == "pair":
            registers[words[0]] = registers[words[0] + 1] = 0
        else:
            into, of, word, limit, signed = words
            one, other = registers[of], limit % WORD
            if signed:
                one, other = ((value + WORD // 2) % WORD - WORD // 2 for value in (one, other))
            predicates[into] = COMPARE[word](one, other)
    return order


def longest(order, loop):
    """The most executions of a loop's header in one visit of its body."""
    most = now = 0
    for at in order:
        if at not in loop.body:
            now = 0
        elif at == loop.header:
            now += 1
            most = max(most, now)
    return most


def attacked(seed, programs):
    """Loops that counted, those whose count was reached; raises for one that was exceeded."""
    source, counted, reached = random.Random(seed), 0, 0
    for _ in range(programs):
        program = drawn(source)
        if any(what == "branch" and words[0] >= len(program) for *_, (what, *words) in program):
            continue
        found = kernel(*(guard + line for guard, line, _ in program))
        flow = flow_of(found)
        if flow.problems:
            continue
        said = counted_loops(found, flow)
        loops = {loop.line: loop for loop in flow.loops}
        for line, count in said.items():
            most = max(longest(executed(program, start), loops[line])
                       for start in ((False, False), (True, False), (False, True), (True, True)))
            assert most <= count.executions, (count, [guard + text for guard, text, _ in program])
            counted += 1
            reached += most == count.executions
    return counted, reached


def test_no_drawn_program_exceeds_its_count():
    counted, reached = attacked(1, 400)
    assert counted > 12
    assert reached > counted / 2


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(2, 5))
def test_no_drawn_program_of_many_exceeds_its_count(seed):
    counted, _ = attacked(seed, 3000)
    assert counted > 90


@pytest.mark.thorough
@pytest.mark.parametrize("planted", ["_may_write", "_last", "_each"])
def test_the_attack_finds_a_planted_mistake(planted, monkeypatch):
    """What another instruction writes, a later comparison, and what is not executed each time."""
    from cyclebound.golden.gpu import counted_loops as module

    if planted == "_may_write":
        really = module._written
        monkeypatch.setattr(module, "_written", lambda instruction: (
            [] if instruction.opcode == "MOV" and instruction.address > 48
            else really(instruction)))
    elif planted == "_last":
        monkeypatch.setattr(module.nx, "descendants", lambda graph, node: set())
    else:
        monkeypatch.setattr(module._Counted, "_dominates", lambda self, one, other: one <= other)
    with pytest.raises(AssertionError, match="executions"):
        list(map(attacked, range(1, 9), itertools.repeat(500)))
