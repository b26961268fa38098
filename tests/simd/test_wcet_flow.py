"""Branches in loops whose outcomes are counted: no kernel takes longer than its bound, and one that
counts an outcome once too little is caught."""

import dataclasses
import itertools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.simd.accelerator import CycleModel, Policy
from cyclebound.golden.simd.machine import MACHINES, Grid, as_built
from cyclebound.golden.simd.memory_timing import DramTimeline
from cyclebound.golden.simd.program import Branches
from cyclebound.golden.simd.work_group import memory_of
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.families.simd.run import run_kernel
from cyclebound.tools.simd.assembler import assemble
from cyclebound.tools.simd.wcet import phases
from cyclebound.tools.simd.wcet.analysis import Analysis
from cyclebound.tools.simd.wcet.flow_facts import FlowFact, facts_of, most_in
from cyclebound.tools.simd.wcet.graph import How, WcetError
from cyclebound.tools.simd.wcet.phases import most_of

pytestmark = pytest.mark.unit

BUILT = as_built(MACHINES["small"])
PART = part_named("ddr4-3200aa-x16")
POLICIES = (Policy.ACCESS, Policy.YIELD, Policy.COMPUTE)
HEAD = ".data\n0 0 64 4\n1 0x10000 640 4\n.sp_data\n0 0 64 4\n.text\n"
FIRST = 7  # line of the text's first instruction


def kernel(text):
    return assemble(HEAD + text, "k.sas")


def analysis_of(text, groups=3):
    program = kernel(text)
    return Analysis(program, Grid(groups * 64, 1, BUILT), PART, "reset")


def facts(text):
    """(line, taken, most, rounds, inferred) of each, by line."""
    analysis = analysis_of(text)
    return sorted((analysis.program.lines[edge.source.at] - FIRST, edge.how is How.TAKEN,
                   fact.most, fact.rounds, fact.inferred)
                  for edge, fact in analysis.phases.facts.items())


def measured(analysis, policy, memory=None):
    return CycleModel(analysis.program, analysis.grid, memory or memory_of(analysis.program),
                      policy=policy, part=PART, timeline=DramTimeline(PART)
                      ).run(keep=False).cycles


# Every fourth round reads four lines: the others compute alone.
FOURTH = """smov s0, 0
again:
sand s1, s0, 3
{}sicj.nz skip, s1
ldglin.vec4 v0, 1
skip:
ldsplin v4, 0
siadd s0, s0, 1
sisub s2, s0, {}
sicj.l again, s2
stglin v0, 1
exit
"""


def test_outcomes_of_a_known_counter_are_counted():
    assert facts(FOURTH.format("", 64)) == [(3, False, 16, 64, True), (3, True, 48, 64, True)]
    assert facts(FOURTH.format("", 66)) == [(3, False, 17, 66, True), (3, True, 49, 66, True)]
    assert facts(FOURTH.format("", 1)) == [(3, True, 0, 1, True)]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_rare_access_costs_what_it_costs(policy):
    """Not what it costs in every round."""
    analysis = analysis_of(FOURTH.format("", 64))
    assert 0.75 < measured(analysis, policy) / analysis.wcet(policy).cycles <= 1


def test_an_annotation_counts_where_data_decide(tmp_path):
    """A mask of 3 is read: not taken in the first round, then taken three times."""
    text = FOURTH.format("{}", 64).replace("sand s1, s0, 3", "sand s1, s0, s3").replace(
        "smov s0, 0", "smov s0, 0\nsldg s3, 0")
    assert facts(text.format("")) == []
    annotated = text.format("#bound branchcycle 3 1 3\n")
    assert facts(annotated) == [(5, False, 16, 64, False), (5, True, 48, 64, False)]
    analysis, without = analysis_of(annotated), analysis_of(text.format(""))
    memory = memory_of(analysis.program)
    memory[0][...] = 3
    for policy in POLICIES:
        bound = analysis.wcet(policy).cycles
        assert bound < 0.7 * without.wcet(policy).cycles
        assert 0.75 < measured(analysis, policy, memory) / bound <= 1


@pytest.mark.parametrize("model", ["golden", "cycle"])
@pytest.mark.parametrize(("mask", "passed"), [(3, None), (1, 3), (7, 5), (0, 2)])
def test_a_run_that_leaves_the_pattern_says_so(model, mask, passed):
    text = FOURTH.format("#bound branchcycle 3 1 3\n", 64).replace(
        "sand s1, s0, 3", "sand s1, s0, s3").replace("smov s0, 0", "smov s0, 0\nsldg s3, 0")
    program = kernel(text)
    memory = memory_of(program)
    memory[0][...] = mask

    def run():
        run_kernel(program, Grid(64, 1, BUILT), memory, model=model)

    if passed is None:
        return run()
    says = {3: "taken", 5: "not taken", 2: "taken"}[passed]
    with pytest.raises(UserError, match=rf"line 12, .*that the branch is {says} when it is "
                                        rf"executed for time {passed}, and it was"):
        run()


def test_a_pattern_that_a_counter_contradicts():
    with pytest.raises(WcetError, match=r"line 11, .*not taken at most 8 times in 64 rounds, and "
                                        r"it is 16 times"):
        facts(FOURTH.format("#bound branchcycle 7 1 7\n", 64))


def test_a_branch_of_known_outcome_is_none():
    """Its other side, eight transfers, is not in the bound; nor is what only it leads to."""
    text = "smov s0, {}\nsicj.g over, s0\n" + "ldglin v0, 1\n" * 8 + "over:\nstglin v0, 1\nexit\n"
    taken, passed = (analysis_of(text.format(value)) for value in (5, 0))
    for policy in POLICIES:
        for analysis in (taken, passed):
            assert 0.9 < measured(analysis, policy) / analysis.wcet(policy).cycles <= 1
        assert 3 * taken.wcet(policy).cycles < passed.wcet(policy).cycles


@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 40))
def test_no_window_of_a_pattern_has_more(taken, not_taken, passes):
    if taken + not_taken == 0:
        return
    pattern = Branches(taken, not_taken)
    period = [True] * taken + [False] * not_taken
    for outcome in (True, False):
        windows = [sum(period[(start + step) % len(period)] is outcome for step in range(passes))
                   for start in range(len(period))]
        assert max(windows) == most_in(pattern, outcome, passes)


@given(st.data())
def test_rounds_of_a_loop_take_no_longer_than_their_prices(data):
    """Against all ways to divide the rounds among their kinds."""
    most = data.draw(st.integers(0, 5))
    rare = [FlowFact(None, None, data.draw(st.integers(0, 5)), most + 1, True) for _ in range(2)]
    rare = [dataclasses.replace(fact, edge=number) for number, fact in enumerate(rare)]
    kinds = [(data.draw(st.integers(1, 50)), frozenset(chosen), (number,))
             for number, chosen in enumerate(itertools.chain.from_iterable(
                 itertools.combinations(rare, count) for count in range(3)))
             if data.draw(st.booleans())]
    total, times = most_of(most, kinds)

    def cycles(counts):
        return sum(count * kind[0] for count, kind in zip(counts, kinds, strict=True))

    longest = max((cycles(counts) for counts in itertools.product(
        range(most + 1), repeat=len(kinds)) if sum(counts) <= most and all(
        sum(count for count, kind in zip(counts, kinds, strict=True) if fact in kind[1])
        <= fact.most for fact in rare)), default=0)
    assert longest <= total
    of = {route: kind for kind in kinds for route in [kind[2]]}
    assert sum(count * of[route][0] for count, route in times) <= longest
    if sum(bool(kind[1]) for kind in kinds) < 2:  # one kind is rare: the prices are exact
        assert longest == total


# -- a search ------------------------------------------------------------------------------------

SIDES = ("ldglin v0, 0", "ldglin.vec4 v0, 1", "stglin v1, 1", "ldsplin v4, 0",
         "rcp v6, v6\nmul v7, v6, v6", "mul v8, v8, v9", "ldglin v1, 1\nsin v1, v1")


def counting_kernel(seed):
    """Nested loops with branches on counters, of which some are read, and annotated."""
    rng = random.Random(seed)
    lines, labels = ["sldg s28, 0, 4"], itertools.count()

    def sides(count):
        return [rng.choice(SIDES) for _ in range(count)]

    def loop(depth):
        number, counter, rounds = next(labels), 2 * depth, rng.randint(2, 9)
        lines.extend([f"smov s{counter}, 0", f"l{number}:"])
        lines.extend(sides(rng.randint(0, 2)))
        for _ in range(rng.randint(1, 2)):
            branch, bits = next(labels), rng.randint(1, 2)
            read = depth == 0 and rng.random() < 0.4
            lines.append(f"sand s20, s{counter}, {f's{27 + bits}' if read else (1 << bits) - 1}")
            if read:
                lines.append(f"#bound branchcycle {(1 << bits) - 1} 1 {(1 << bits) - 1}")
            lines.extend([f"sicj.nz b{branch}, s20", *sides(rng.randint(1, 2))])
            if depth == 0 and rng.random() < 0.4:
                loop(depth + 1)
            if rng.random() < 0.5:
                other = next(labels)
                lines.extend([f"j o{other}", f"b{branch}:", *sides(1), f"o{other}:"])
            else:
                lines.append(f"b{branch}:")
        if depth == 0 and rng.random() < 0.4:
            loop(depth + 1)
        lines.extend([f"siadd s{counter}, s{counter}, 1", f"sisub s21, s{counter}, {rounds}",
                      f"sicj.l l{number}, s21"])

    loop(0)
    return "\n".join([*lines, "stglin v8, 1", "exit", ""])


def ratios(seed, groups=4):
    """Measured over bound, under each policy."""
    analysis = analysis_of(counting_kernel(seed), groups)
    memory = memory_of(analysis.program)
    memory[0][0, :4] = 1, 3, 0, 0
    found = []
    for policy in POLICIES:
        cycles = measured(analysis, policy, memory)
        found.append(cycles / analysis.wcet(policy).cycles)
        assert found[-1] <= 1, (seed, policy)
        assert analysis.upper >= cycles
    return found


def test_no_kernel_with_counted_branches_exceeds_its_bound():
    found = list(itertools.chain.from_iterable(map(ratios, range(5))))
    assert np.mean(found) > 0.75


@pytest.mark.thorough
def test_many_kernels_with_counted_branches():
    found = list(itertools.chain.from_iterable(map(ratios, range(100, 140))))
    assert np.mean(found) > 0.75


def test_an_outcome_counted_once_too_little_is_caught(monkeypatch):
    """Of a loop of one round more each time, the planted error is soon longer than what a bound
    leaves over."""
    def planted(loops):
        return {edge: dataclasses.replace(fact, most=fact.most * 3 // 4)
                for edge, fact in facts_of(loops).items()}

    monkeypatch.setattr(phases, "facts_of", planted)
    with pytest.raises(AssertionError, match=r"^\(\d+, <Policy"):
        list(map(ratios, range(12)))
