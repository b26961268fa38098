"""`#flow`: facts that hold for a run make no bound too small, those that do not end the run, and a
fact that counts too little is found."""

import dataclasses
import json
import random
import re
from collections import Counter
from functools import partial

import numpy as np
import pytest

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.simd import functional
from cyclebound.golden.simd.accelerator import CycleModel, Policy
from cyclebound.golden.simd.machine import MACHINES, Grid, as_built
from cyclebound.golden.simd.memory_timing import DramTimeline
from cyclebound.golden.simd.program import Branches, Flow
from cyclebound.golden.simd.work_group import memory_of
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.families.simd.run import run_kernel
from cyclebound.tools.simd import random_kernels
from cyclebound.tools.simd.assembler import AssemblyError, assemble
from cyclebound.tools.simd.disassembler import source
from cyclebound.tools.simd.wcet import flow_facts
from cyclebound.tools.simd.wcet.analysis import Analysis
from cyclebound.tools.simd.wcet.graph import WcetError
from cyclebound.tools.simd.wcet.known_places import BranchesByPlace
from cyclebound.tools.simd.wcet.observed import Annotations

pytestmark = pytest.mark.unit

BUILT = as_built(MACHINES["small"])
PART = part_named("ddr4-3200aa-x16")
POLICIES = (Policy.ACCESS, Policy.YIELD, Policy.COMPUTE)
HEAD = ".data\n0 0 64 4\n1 0x10000 640 4\n.sp_data\n0 0 64 4\n.text\n"

# A word that is read decides for all rounds which of two sides loads.
EITHER = HEAD + """{}
sldg s8, 0, 4
smov s0, 0
head:
sicj.ez other, s8
a:
ldglin.vec4 v0, 1
ldglin.vec4 v0, 1
j both
other:
mul v0, v0, v0
both:
sicj.nz none, s8
b:
ldglin.vec4 v4, 1
ldglin.vec4 v4, 1
none:
siadd s0, s0, 1
sisub s2, s0, 16
sicj.l head, s2
stglin v0, 1
exit
"""


def kernel(*flows):
    return assemble(EITHER.format("\n".join(flows)), "k.sas")


def bound(program, policy=Policy.ACCESS, groups=3):
    return Analysis(program, Grid(groups * 64, 1, BUILT), PART, "reset").wcet(policy).cycles


def memory_with(program, word):
    memory = memory_of(program)
    memory[0][...] = word
    return memory


def measured(program, policy, memory, groups=3):
    return CycleModel(program, Grid(groups * 64, 1, BUILT), memory, policy=policy, part=PART,
                      timeline=DramTimeline(PART)).run(keep=False).cycles


def test_facts_are_read_and_written():
    program = kernel("#flow a + 2 b <= 3 head + 4", "#flow 5 <= a")
    at = program.labels
    assert [(dict(flow.terms), flow.most) for flow in program.flows] == [
        ({at["a"]: 1, at["b"]: 2, at["head"]: -3}, 4), ({at["a"]: -1}, -5)]
    again = assemble(source(program), "k.sas")
    assert [(flow.terms, flow.most) for flow in again.flows] == [
        (flow.terms, flow.most) for flow in program.flows]


@pytest.mark.parametrize(("text", "said"), [
    ("#flow a < b", r"^k\.sas:8:1: flow: a fact is #flow SUM <= SUM, with one <="),
    ("#flow a <= b <= 1", r"^k\.sas:8:1: flow: a fact is #flow SUM <= SUM, with one <="),
    ("#flow a b <= 1", r"^k\.sas:8:9: flow: a sum has labels of this kernel, .* not 'b' here$"),
    ("#flow a <= c", r"^k\.sas:8:12: flow: a sum has labels .* not 'c' here$"),
    ("#flow a + <= 1", r"flow: a sum ends with a label or a number$"),
    ("#flow <= 1", r"flow: a sum ends with a label or a number$"),
    ("#flow 2 3 <= a", r"^k\.sas:8:9: flow: a sum has .* not '3' here$"),
    ("#flow -1 <= a", r"^k\.sas:8:7: flow: a number from 0 to"),
    ("#flow a <= a", r"flow: a fact must count a label, and both sides count the same$"),
    ("#flow 1 <= 2", r"flow: a fact must count a label, and both sides count the same$"),
    ("#flaw a <= 2", r"bound: an annotation must be #bound, #flow or #line, not '#flaw'$"),
])
def test_refuses_facts(text, said):
    with pytest.raises(AssemblyError, match=said):
        assemble(EITHER.format("\n" + text), "k.sas")


@pytest.mark.parametrize("policy", POLICIES)
def test_exclusive_sides_count_once(policy):
    """Without the fact each round loads on both sides."""
    program, free = kernel("#flow a + b <= head"), kernel()
    assert bound(program, policy) < 0.7 * bound(free, policy)
    # the fact leaves open in which rounds a side is taken: this run is one of many
    for word in (0, 1):
        run_kernel(program, Grid(192, 1, BUILT), memory_with(program, word), model="golden")
        assert 0.7 < measured(program, policy, memory_with(program, word)) / bound(
            program, policy) <= 1


def test_ratios_and_numbers():
    free, never = bound(kernel()), bound(kernel("#flow b <= 0"))
    half, twice = bound(kernel("#flow 2 b <= head")), bound(kernel("#flow head <= 2 b"))
    assert never < half < free
    assert twice == free  # b may still be taken each time
    assert bound(kernel("#flow b <= 0", "#flow a <= 0")) < 0.3 * never
    assert bound(kernel("#flow a <= 0", "#flow b <= a")) < 0.3 * never


@pytest.mark.parametrize(("facts", "lines"), [
    (("5 <= a",), "line 7: #flow 5 <= a"), (("1 <= a", "5 <= a"), "line 8: #flow 5 <= a")])
@pytest.mark.parametrize("policy", POLICIES)
def test_facts_that_no_route_keeps_have_no_bound(policy, facts, lines):
    """The bound was less than 0."""
    flows = "".join(f"#flow {fact}\n" for fact in facts)
    with pytest.raises(WcetError, match=rf"^k: no route keeps the flow facts of {lines}$"):
        bound(assemble(HEAD + flows + "a:\nstglin v0, 1\nexit\n", "k.sas"), policy)


@pytest.mark.parametrize("flows", [("a <= 0", "b <= 5", "5 <= a"),
                                   ("a + b <= 3", "b <= 5", "4 <= a")])
def test_facts_that_contradict_each_other_have_no_bound(flows):
    lines = f"line 7: #flow {flows[0]}; line 9: #flow {flows[2]}"
    with pytest.raises(WcetError, match=re.escape(lines) + "$"):
        bound(kernel(*(f"#flow {flow}" for flow in flows)))


def test_a_fact_that_says_nothing_changes_no_bound():
    assert bound(kernel("#flow a <= 1000")) == bound(kernel())


@pytest.mark.parametrize("model", ["golden", "cycle"])
@pytest.mark.parametrize(("flow", "word", "said"), [
    ("#flow a + b <= head", 1, None), ("#flow b <= 0", 1, None), ("#flow b <= 15", 0, "16 times"),
    ("#flow 17 <= head", 0, "16 times"), ("#flow head <= 2 a", 0, "0 times"),
    ("#flow 1 <= end", 0, None), ("#flow end <= 0", 0, "1 times")])
def test_a_run_that_leaves_a_fact_says_so(model, flow, word, said):
    program = assemble(EITHER.format(flow).replace("exit\n", "end:\nexit\n"), "k.sas")

    def run():
        run_kernel(program, Grid(192, 1, BUILT), memory_with(program, word), model=model)

    if said is None:
        return run()
    with pytest.raises(UserError, match=rf"^k: line 7: '{flow.replace('+', '.')}' does not hold: a "
                                        rf"work-group passes .*{said} at line"):
        run()


def test_the_command_says_what_it_rests_on(call, tmp_path):
    path = tmp_path / "k.sas"
    path.write_text(EITHER.format("#flow a + b <= head").replace(
        "sicj.nz none", "#bound branchcycle 15 1\nsicj.nz none"))
    words = ["simd", "wcet", str(path), "--machine", "small", "--grid", "192"]
    ran = call(*words, "--listing")
    assert ran.returncode == 0, ran.stderr
    shown = ran.stdout
    assert "rests on 2 flow facts of the source" in shown
    assert "  line 7: #flow a + b <= head\n" in shown
    assert "  line 20: #bound branchcycle 15 1 0\n" in shown
    assert "This route may pass more than #flow allows" in shown
    assert "occupied" not in shown
    record = json.loads(call(*words, "--json").stdout)
    assert record["rests_on"][0] == {"line": 7, "fact": "#flow a + b <= head"}
    assert record["unused"] == []
    assert record["lower"] <= record["upper"]
    ran = call(*words, "--chart", str(tmp_path / "c.svg"))
    assert ran.returncode == 2
    assert "k has flow facts (#flow), which the schedule that --chart" in ran.stderr


def test_the_command_names_patterns_that_no_bound_rests_on(call, tmp_path):
    path = tmp_path / "k.sas"
    path.write_text(ONCE.replace("sldg s8, 0", "smov s8, 1").format("#bound branchcycle 1 0\n"))
    shown = call("simd", "wcet", str(path), "--machine", "small", "--grid", "192").stdout
    assert "rests on" not in shown
    assert "line 9: the #bound branchcycle before this branch is not used" in shown


# -- a search ------------------------------------------------------------------------------------

def case(seed):
    """A random kernel without `#flow`, its grid, memory, and executions of each instruction by
    each work-group of this run."""
    rng = random.Random(f"flow {seed}")
    grid = Grid(rng.randint(1, 5) * BUILT.items, 1, BUILT, BUILT.items)
    program = assemble(random_kernels.kernel_for(seed, grid, random_kernels.Mix(
        branches=True, snoopy=False)).text, "k.sas")
    memory, content = memory_of(program), np.random.default_rng(seed)
    for number in (random_kernels.SOURCE, random_kernels.TABLE):
        if number in memory:
            memory[number][...] = content.integers(0, 1 << 32, memory[number].shape,
                                                   dtype=np.uint32) >> content.choice((0, 1, 31))
    if random_kernels.PATHS in memory:
        memory[random_kernels.PATHS][0, :] = [
            rng.choice((0, 0xFFFF_FFFF, rng.getrandbits(32)))
            for _ in range(random_kernels.DECISIONS)]
    counted = []
    functional.run(program, grid, {number: words.copy() for number, words in memory.items()},
                   traced=lambda trace: counted.append(Counter(trace)))
    return program, grid, memory, counted


def true_facts(seed, program, counted):
    """Facts that this run keeps, and that nothing less would."""
    rng = random.Random(f"facts {seed}")
    facts = []
    for number in range(rng.randint(1, 2)):
        places = rng.sample(range(len(program.instructions)),
                            min(len(program.instructions), rng.randint(1, 3)))
        terms = {place: rng.choice((1, 1, 2, 3, -1, -2)) for place in places}
        most = max(sum(times * groups[place] for place, times in terms.items())
                   for groups in counted)
        facts.append(Flow(terms, most, "#flow", number))
    return tuple(facts)


def ratios(seed, facts_of=true_facts):
    program, grid, memory, counted = case(seed)
    program = dataclasses.replace(program, flows=facts_of(seed, program, counted))
    found = []
    for policy in POLICIES:
        try:
            most = Analysis(program, grid, PART, "reset").wcet(policy).cycles
        except WcetError:
            return []
        took = CycleModel(program, grid, {number: words.copy() for number, words in memory.items()},
                          policy=policy, part=PART, timeline=DramTimeline(PART)).run(
            keep=False, most=200_000).cycles
        found.append(took / most)
        assert found[-1] <= 1, (seed, policy)
    return found


def test_no_kernel_with_true_facts_exceeds_its_bound():
    assert sum(map(len, map(ratios, range(6)))) > 9


@pytest.mark.thorough
def test_many_kernels_with_true_facts():
    assert sum(map(len, map(ratios, range(100, 130)))) > 50


def test_the_run_finds_each_fact_that_counts_one_too_little():
    found = 0
    for seed in range(12):
        program, grid, memory, counted = case(seed)
        for fact in true_facts(seed, program, counted):
            try:
                kept = Annotations(dataclasses.replace(program, flows=(fact,)))
                broken = Annotations(dataclasses.replace(program, flows=(
                    dataclasses.replace(fact, most=fact.most - 1),)))
            except WcetError:
                continue
            for model in (functional.run, CycleModel):
                words = {number: each.copy() for number, each in memory.items()}
                if model is CycleModel:
                    def run(check, words=words, program=program, grid=grid):
                        CycleModel(program, grid, words, policy=Policy.ACCESS, part=PART,
                                   timeline=DramTimeline(PART)).run(keep=False, traced=check)
                else:
                    def run(check, words=words, program=program, grid=grid):
                        functional.run(program, grid, words, traced=check)
                run(kept.check)
                with pytest.raises(WcetError, match="does not hold"):
                    run(broken.check)
                found += 1
    assert found > 12


def test_facts_that_count_too_little_are_caught_by_the_search():
    """A planted error: what a fact allows is a quarter less, and its bound is exceeded."""
    def planted(seed, program, counted):
        loads = {place: 1 for place, instruction in enumerate(program.instructions)
                 if instruction.operation.access}
        most = max(sum(groups[place] for place in loads) for groups in counted)
        return (Flow(loads, most - max(1, most // 4), "#flow", 1),)

    with pytest.raises(AssertionError, match=r"^\(\d+, <Policy"):
        list(map(partial(ratios, facts_of=planted), (5, 6)))


# -- patterns outside of loops ---------------------------------------------------------------------

ONCE = (HEAD + "sldg s8, 0\n{}sicj.nz over, s8\n" + "ldglin v0, 1\n" * 8
        + "over:\nstglin v0, 1\nexit\n")


def test_a_pattern_counts_outside_of_loops():
    free, taken, passed = (assemble(ONCE.format(text), "k.sas") for text in (
        "", "#bound branchcycle 1 0\n", "#bound branchcycle 1 1 1\n"))
    assert 2 * bound(taken) < bound(free) == bound(passed)
    run_kernel(taken, Grid(192, 1, BUILT), memory_with(taken, 1))
    run_kernel(passed, Grid(192, 1, BUILT), memory_with(passed, 0))
    assert 0.9 < measured(taken, Policy.ACCESS, memory_with(taken, 1)) / bound(taken) <= 1
    for program, word, says in ((taken, 0, "taken"), (passed, 1, "not taken")):
        with pytest.raises(UserError, match=rf"^k: line 9, instruction 1: #bound branchcycle says "
                                            rf"that the branch is {says} when it is executed for "):
            run_kernel(program, Grid(192, 1, BUILT), memory_with(program, word))


def test_a_pattern_that_a_known_value_contradicts():
    text = ONCE.replace("sldg s8, 0", "smov s8, 0").format("#bound branchcycle 1 0\n")
    with pytest.raises(WcetError, match=r"line 9, .*says that the branch is taken, and it is not"):
        bound(assemble(text, "k.sas"))


# Of two ways back to the head of a loop, the first is a `continue`.
CONTINUE = HEAD + """sldg s8, 0, 4
smov s0, 0
head:
siadd s0, s0, 1
sisub s2, s0, 16
sicj.ge done, s2
sand s3, s0, s8
{}sicj.nz rare, s3
ldsplin v4, 0
j head
rare:
ldglin.vec4 v0, 1
ldglin.vec4 v0, 1
j head
done:
stglin v0, 1
exit
"""


def test_a_pattern_counts_in_a_loop_with_two_ways_back():
    free, half = (assemble(CONTINUE.format(text), "k.sas")
                  for text in ("", "#bound branchcycle 1 1\n"))
    assert bound(half) < 0.75 * bound(free)
    assert 0.7 < measured(half, Policy.ACCESS, memory_with(half, 1)) / bound(half) <= 1
    run_kernel(half, Grid(192, 1, BUILT), memory_with(half, 1))
    with pytest.raises(UserError, match=r"line 15, .*branch is not taken when"):
        run_kernel(half, Grid(192, 1, BUILT), memory_with(half, 0xFFFF))


def test_a_branch_that_is_a_way_back_itself_is_no_pattern():
    """What a run checks of it is how often it stays, and the analysis counts no more on it."""
    text = CONTINUE.replace("sicj.nz rare, s3", "sicj.nz head, s3").replace("j head\nrare:\n", "")
    free, half = (assemble(text.format(words), "k.sas")
                  for words in ("", "#bound branchcycle 1 1\n"))
    assert bound(half) == bound(free)
    assert Analysis(half, Grid(192, 1, BUILT), PART).unused == [15]


# -- annotations in loops that a grid never comes back in ------------------------------------------

LOAD = "ldglin.vec4 v0, 1\n"
# Its back edge is never taken: a run counts stays of the annotated branch for each entry, and the
# analysis finds no loop, in which the branch would have a pattern.
NO_LOOP = HEAD + f"""sldg s8, 0, 4
smov s5, 0
head:
#bound branchcycle 1 1
sicj.nz out, s8
{LOAD * 6}sicj.nz head, s5
out:
stglin v0, 1
exit
"""
IN_ROUNDS = HEAD + f"""sldg s8, 0, 4
smov s5, 0
smov s0, 0
head:
mul v0, v0, v0
inner:
#bound branchcycle 1 1
sicj.nz out, s8
{LOAD * 3}sicj.nz inner, s5
out:
siadd s0, s0, 1
sisub s2, s0, 16
sicj.l head, s2
stglin v0, 1
exit
"""
# The branch leaves the loop around it as well, of which it is not said how often it comes back.
OUT_OF_BOTH = IN_ROUNDS.replace("1 1\nsicj.nz out, s8", "1 2\nsicj.nz out, s9").replace(
    "out:\n", "").replace("s0, 16\n", "s0, s8\n").replace("sicj.l head, s2\n",
                                                        "{}sicj.l head, s2\nout:\n")
# It comes back on a greater grid. The pattern never leaves the loop: a run has nothing to check.
ONE_TILE = HEAD + f"""sldg s8, 0, 4
smov s5, sc.dim_x
sisub s5, s5, 192
head:
#bound branchcycle 0 1
sicj.nz out, s8
{LOAD}sicj.g head, s5
j end
out:
{LOAD * 6}end:
stglin v0, 1
exit
"""


@pytest.mark.parametrize(("text", "words", "line"), [
    (NO_LOOP, 0, 11), (IN_ROUNDS, 0, 14), (OUT_OF_BOTH.format("#bound branchcycle 15 1\n"),
                                           (16, 0, 0, 0), 14), (ONE_TILE, 1, 12)])
def test_an_annotation_of_a_loop_that_the_grid_does_not_make_is_unused(text, words, line):
    """Their runs took 4.0, 1.5, 4.4 and 2.6 times the bound that rested on the annotation."""
    program = assemble(text, "k.sas")
    memory = memory_of(program)
    memory[0].flat[:4] = words
    took = measured(program, Policy.ACCESS, memory)
    run_kernel(program, Grid(192, 1, BUILT), memory)  # which contradicts nothing
    analysis = Analysis(program, Grid(192, 1, BUILT), PART, "reset")
    assert 0.85 < took / analysis.wcet(Policy.ACCESS).cycles <= 1
    assert analysis.unused == [line]


def test_a_branch_out_of_two_loops_is_no_bound_of_the_outer_one():
    with pytest.raises(WcetError, match=r"line 11, .*no bound: .*or leaves another loop first$"):
        bound(assemble(OUT_OF_BOTH.format(""), "k.sas"))


def looped_kernel(seed):
    """Loops one within the other, some with a back edge that is known, and branches by data out of
    them or past a part of them."""
    rng = random.Random(f"loops {seed}")
    lines, labels = ["sldg s8, 0, 4", "smov s5, 0", "smov s6, sc.dim_x", "sisub s6, s6, 192"], \
        iter(range(100))
    sides = (LOAD.strip(), "ldglin v0, 1", "stglin v1, 1", "ldsplin v4, 0", "mul v8, v8, v9")

    def tested(counters):
        """A register with a word of data, or some bits of a counter that data choose."""
        word = f"s{rng.randint(8, 11)}"
        if counters and rng.random() < 0.6:
            lines.append(f"sand s20, {rng.choice(counters)}, {word}")
            return "s20"
        return word

    def branch(label, counters):
        register = tested(counters)
        lines.append(f"sicj.{rng.choice(('nz', 'ez'))} {label}, {register}")

    def part(depth, counters, exits):
        lines.extend(rng.choice(sides) for _ in range(rng.randint(0, 2)))
        number = next(labels)
        kind = rng.choice(("none", "none", "known", "loop", "if")) if depth < 3 else "if"
        head, out = f"h{number}", f"o{number}"
        if kind == "if":
            branch(out, counters)
            lines.extend(rng.choice(sides) for _ in range(rng.randint(0, 3)))
            if depth < 2:
                part(depth + 1, counters, exits)
            lines.append(f"{out}:")
            return
        inner, leaves = counters, [*exits, out]
        if kind == "loop":
            counter = f"s{depth}"
            inner = [*counters, counter]
            lines.append(f"smov {counter}, {rng.randint(2, 4)}")
            if rng.random() < 0.2:  # as data say
                lines.append(f"sand {counter}, s{rng.randint(8, 11)}, 3")
                lines.append(f"siadd {counter}, {counter}, 1")
        lines.append(f"{head}:")
        if kind == "loop":
            lines.append(f"sisub {counter}, {counter}, 1")
            if rng.random() < 0.3:
                lines.append(f"sicj.l {out}, {counter}")
        if rng.random() < 0.7:
            branch(rng.choice(leaves), inner)
        for _ in range(rng.randint(1, 2)):
            part(depth + 1, inner, leaves)
        if kind == "loop" and rng.random() < 0.3:
            lines.append(f"sicj.l {out}, {counter}")
            branch(head, inner)  # a `continue`
        if kind == "none":
            lines.append(f"sicj.g {head}, {rng.choice(('s5', 's6'))}")
        elif kind == "known":
            lines.append(f"sicj.ez {out}, s5")
            lines.append(f"j {head}")
        else:
            lines.append(f"sicj.g {head}, {counter}")
        lines.extend(rng.choice(sides) for _ in range(rng.randint(0, 1)))
        lines.append(f"{out}:")

    for _ in range(rng.randint(1, 2)):
        part(0, [], [])
    return assemble(HEAD + "\n".join([*lines, "stglin v8, 1", "exit", ""]), "k.sas")


def kept_patterns(seed, program, memory):
    """Patterns of branches that this run keeps, as far as it is checked, each by itself."""
    rng = random.Random(f"kept {seed}")
    traces, found = [], {}
    functional.run(program, Grid(64, 1, BUILT), {number: words.copy() for number, words in
                                                 memory.items()}, traced=traces.append)
    for place, instruction in enumerate(program.instructions):
        if instruction.name != "sicj" or rng.random() < 0.3:
            continue
        said = [(0, 1), (1, 0), (1, 1), (1, 2), (2, 1), (3, 1), (1, 3), (5, 1), (1, 5)]
        rng.shuffle(said)
        for taken, not_taken in said:
            pattern = Branches(taken, not_taken, rng.randrange(taken + not_taken))
            try:
                check = Annotations(dataclasses.replace(program, branches={place: pattern})).check
                for trace in traces:
                    check(trace)
            except WcetError:
                continue
            found[place] = pattern
            break
    return found


def looped(seed):
    """What runs took of bounds with all of these patterns; how many of them the bounds use."""
    plain, rng = looped_kernel(seed), random.Random(f"words {seed}")
    memory = memory_of(plain)
    memory[0].flat[:4] = [rng.choice((0, 0, 1, 2, 3, 7, 0xFFFF)) for _ in range(4)]
    program = dataclasses.replace(plain, branches=kept_patterns(seed, plain, memory))
    grid, found = Grid(rng.choice((64, 192)), 1, BUILT), []
    try:
        analysis = Analysis(program, grid, PART, "reset")
        bounds = {policy: analysis.wcet(policy).cycles for policy in POLICIES}
    except WcetError:
        return [], 0
    for policy, most in bounds.items():
        took = CycleModel(program, grid, {number: words.copy() for number, words in memory.items()},
                          policy=policy, part=PART, timeline=DramTimeline(PART)).run(
            keep=False, most=400_000, traced=Annotations(program).check).cycles
        found.append(took / most)
        assert found[-1] <= 1, (seed, policy)
    return found, len(analysis.promises)


def test_no_kernel_with_known_back_edges_exceeds_its_bound():
    ran = list(map(looped, (*range(1, 10), *range(11, 16), 22, 53)))
    assert sum(len(found) for found, _ in ran) > 24
    assert sum(used for _, used in ran) > 15


@pytest.mark.thorough
def test_many_kernels_with_known_back_edges():
    ran = list(map(looped, range(1000, 1040)))
    assert sum(used for _, used in ran) > 40


def test_patterns_told_on_what_is_left_of_the_graph_are_caught_by_the_search(monkeypatch):
    """A planted error: the analysis takes each annotation for a pattern."""
    monkeypatch.setattr(flow_facts, "annotations_of", lambda graph: {
        node: graph.program.branches[node.at] for node in graph.after
        if node.at in graph.program.branches})
    with pytest.raises(AssertionError, match=r"^\(\d+, <Policy"):
        list(map(looped, range(11, 60)))


# -- branches by a work-group's place --------------------------------------------------------------

LOADS = "ldglin.vec4 v0, 1\n" * 8 + "skip:\nstglin v0, 1\nexit\n"
LOOPED = ("smov s1, 8\nagain:\nldglin.vec4 v0, 1\nsisub s1, s1, 1\nsicj.g again, s1\nskip:\n"
          "stglin v0, 1\nexit\n")


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("text", "grid", "least"), [
    ("smov s0, sc.wg_off_x\nsicj.nz skip, s0\n" + LOADS, (512, 1, 64), 0.97),
    ("smov s0, sc.wg_off_x\nsisub s0, s0, 256\nsicj.ge skip, s0\n" + LOADS, (512, 1, 64), 0.9),
    ("smov s0, sc.wg_off_y\nsisub s0, s0, 16\nsicj.ge skip, s0\n" + LOOPED, (64, 24, 8), 0.9),
    ("smov s0, sc.wg_off_x\nsisub s0, s0, 4096\nsicj.l skip, s0\n" + LOADS, (512, 1, 64), 0.97),
    # every other work-group: as before, either outcome in each
    ("smov s0, sc.wg_off_x\nsand s0, s0, 64\nsicj.nz skip, s0\n" + LOADS, (512, 1, 64), 0.7)])
def test_branches_by_place_have_one_outcome(text, grid, least, policy):
    """The first of these was at 0.63 of its bound: of eight work-groups, only the first loads."""
    program, grid = assemble(HEAD + text, "k.sas"), Grid(*grid[:2], BUILT, grid[2])
    analysis = Analysis(program, grid, PART, "reset")
    took = CycleModel(program, grid, memory_of(program), policy=policy, part=PART,
                      timeline=DramTimeline(PART)).run(keep=False).cycles
    assert least < took / analysis.wcet(policy).cycles <= 1
    assert analysis.promises == []


def placed_kernel(seed):
    """Branches and loops by place, one within the other; its grid."""
    rng = random.Random(f"places {seed}")
    lines, label = [], iter(range(100))
    sides = ("ldglin v0, 0", "ldglin.vec4 v0, 1", "stglin v1, 1", "ldsplin v4, 0",
             "rcp v6, v6\nmul v7, v6, v6", "mul v8, v8, v9")

    def part(depth):
        lines.extend(rng.choice(sides) for _ in range(rng.randint(0, 2)))
        kind = rng.choice(("if", "if", "else", "loop", "end")) if depth < 3 else ""
        number = next(label)
        if kind:
            offset, edge = rng.choice((("x", 64), ("y", 8))), rng.randint(0, 6)
            lines.append(f"smov s20, sc.wg_off_{offset[0]}")
            lines.append(f"sisub s20, s20, {edge * offset[1]}")
        if kind in ("if", "else", "end"):
            lines.append(f"sicj.{rng.choice(('g', 'ge', 'l', 'le', 'ez', 'nz'))} b{number}, s20")
            if kind == "end" and rng.random() < 0.3:
                lines.extend(["stglin v1, 1", "exit"])
            else:
                part(depth + 1)
            if kind == "else":
                lines.append(f"j c{number}")
            lines.append(f"b{number}:")
            if kind == "else":
                part(depth + 1)
                lines.append(f"c{number}:")
        elif kind == "loop":
            lines.extend([f"smov s{depth}, {rng.randint(1, 4)}", f"l{number}:"])
            part(depth + 1)
            lines.extend([f"sisub s{depth}, s{depth}, 1", f"sicj.g l{number}, s{depth}"])

    for _ in range(rng.randint(1, 3)):
        part(0)
    text = "\n".join([*lines, "stglin v8, 1", "exit", ""])
    return text, Grid(rng.choice((64, 192, 448, 450)), rng.choice((1, 8, 33)), BUILT,
                      rng.choice((8, 64)))


def places(seed):
    text, grid = placed_kernel(seed)
    program = assemble(HEAD.replace("640 4", "640 64") + text, "k.sas")
    if grid.count > 40:
        return []
    analysis, found = Analysis(program, grid, PART, "reset"), []
    for policy in POLICIES:
        cycles = CycleModel(program, grid, memory_of(program), policy=policy, part=PART,
                            timeline=DramTimeline(PART)).run(keep=False).cycles
        found.append(cycles / analysis.wcet(policy).cycles)
        assert found[-1] <= 1, (seed, policy)
        assert cycles <= analysis.upper
    return found


def test_no_kernel_with_branches_by_place_exceeds_its_bound():
    found = [ratio for seed in range(12) for ratio in places(seed)]
    assert len(found) > 12
    assert np.mean(found) > 0.8


@pytest.mark.thorough
def test_many_kernels_with_branches_by_place():
    assert np.mean([ratio for seed in range(100, 160) for ratio in places(seed)]) > 0.8


def test_an_outcome_that_some_work_group_has_and_is_left_out_is_caught(monkeypatch):
    """A planted error: what the first work-group of a rectangle does, all of them do."""
    planted = BranchesByPlace.never
    monkeypatch.setattr(BranchesByPlace, "_cuts", lambda self, offset, grid: [])
    monkeypatch.setattr(BranchesByPlace, "never", lambda self, places: planted(
        self, places._replace(lefts=places.lefts[:1], tops=places.tops[:1])))
    with pytest.raises(AssertionError, match=r"^\(\d+, <Policy"):
        list(map(places, range(40)))
