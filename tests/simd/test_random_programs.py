"""Random programs for the whole machine: whatever they read has been written, and what differs is
made small."""

import dataclasses

import numpy as np
import pytest

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.simd.accelerator import CycleModel
from cyclebound.golden.simd.machine import MACHINES, as_built, machine_named
from cyclebound.golden.simd.scheduler import Policy
from cyclebound.golden.simd.work_group import WorkGroup
from cyclebound.sim import catalogue
from cyclebound.sim.describe.block import Testbench
from cyclebound.sim.run.job import Job, simulate
from cyclebound.tb.simd.accelerator_random import SMALLEST
from cyclebound.tb.simd.accelerator_tester import Ran, events_of, phases_of
from cyclebound.tools.simd.assembler import assemble
from cyclebound.tools.simd.random_programs import random_program, shrink

unit = pytest.mark.unit
SMALL = MACHINES["small"]
PART = part_named("ddr4-3200aa-x16")


def run(drawn):
    program = assemble(drawn.text)
    memory = drawn.content(program)
    grid = dataclasses.replace(drawn.grid, machine=as_built(SMALL))
    timed = CycleModel(program, grid, memory, policy=drawn.policy, part=PART).run(most=10_000)
    return memory, timed


@unit
def test_they_end_and_read_what_was_written(monkeypatch):
    """Whatever registers, predicates and scratchpads hold at first: the same words and phases."""
    fresh = WorkGroup.__post_init__

    def anything(group):
        fresh(group)
        rng = np.random.default_rng(group.place.number + 5)
        group.s = rng.integers(0, 1 << 32, len(group.s)).tolist()
        for words in (group.v, *group.vc[-2:], *group.scratchpad.values()):
            words[...] = rng.integers(0, 1 << 32, words.shape, dtype=np.uint32)
        group.p[...] = rng.random(group.p.shape) < 0.5

    for seed in range(40):
        drawn = random_program(seed, SMALL)
        with monkeypatch.context() as patch:
            memory, timed = run(drawn)
            patch.setattr(WorkGroup, "__post_init__", anything)
            again, other = run(drawn)
        assert timed.phases == other.phases, f"program {seed}"
        for number, words in memory.items():
            assert np.array_equal(words, again[number]), f"program {seed}, buffer {number}"


@unit
def test_phases_follow_from_what_ports_show():
    """The first of these has two accesses that are over in one cycle, the higher slot's first."""
    depth = SMALL.decode_stages + SMALL.execute_stages
    for seed in (4095175955, *range(8)):
        drawn = random_program(seed, SMALL)
        _, timed = run(drawn)
        ran, launched = Ran(events=events_of(timed)), set()
        for phase in sorted(timed.phases, key=lambda phase: phase.start):
            if phase.work_group not in launched:
                launched.add(phase.work_group)
                ran.launches.append((phase.start - 1, phase.slot, phase.work_group))
            if phase.resource == "compute" and phase.end > phase.start + 1:
                ran.firsts.append((phase.start + depth, phase.slot))
        assert phases_of(ran, depth=depth, policy=drawn.policy) == sorted(
            timed.phases, key=lambda phase: (phase.start, phase.resource)), f"program {seed}"


@unit
def test_they_are_of_all_kinds():
    drawn = [random_program(seed, SMALL) for seed in range(200)]
    text = "".join(program.text for program in drawn)
    for word in ("bra", "call", "ret", "brk", "cmask", "exit p", "sicj", "sidiv", "rsqrt", "ldglin",
                 "ldglin.vec4", "stglin.vec2", "ldgidxit", "stgidxit", "ldg2sptile", "stg2sptile",
                 "ldsplin", "stsplin", "sldg", "sldsp", "#bound", "ldglin vc.mem_data", "ldgbidx",
                 "stgbidx", "ldgcidx", "stgcidx", "ldspbidx", "stspbidx"):
        assert word in text, word
    assert {program.policy for program in drawn} == set(Policy)
    assert {program.grid.width for program in drawn} == set(SMALL.widths)
    assert random_program(7, SMALL) == drawn[7]


def shrunk(lines, matter):
    """What is left of lines that fail while all that ``matter`` are there; tries."""
    steps, tries = shrink(lines), 1
    fewer = next(steps)
    while True:
        try:
            fewer = steps.send(matter <= {*fewer})
        except StopIteration as end:
            return end.value, tries
        tries += 1


@unit
@pytest.mark.parametrize("sizes", [
    "vectors=16", "snoopy=0", "lanes=4 items=16 special_units=1 vectors=16 scratchpad_words=512",
    "lanes=4 items=512 special_units=1 vectors=32 scratchpad_words=512"])
def test_they_name_nothing_that_a_machine_does_not_have(sizes):
    machine = machine_named(f"small {sizes}")
    for seed in range(60):
        assemble(random_program(seed, machine).text).check(machine)


@unit
@pytest.mark.parametrize(("sizes", "says"), [
    ("vectors=8", "vectors of at least 16, not 8"),
    ("scratchpad_words=256", "scratchpad_words of at least 512, not 256"),
    ("lanes=64 items=2048 scratchpad_words=1024",
     "scratchpad_words of at least 2048, not 1024")])
def test_a_machine_too_small_for_them(sizes, says):
    with pytest.raises(ValueError, match=f"^the machine of random programs must have {says}$"):
        random_program(0, machine_named(f"small {sizes}"))


@unit
@pytest.mark.parametrize("matter", [["3"], ["0", "19"], ["4", "5", "6"], []])
def test_lines_that_do_not_matter_are_left_out(matter):
    left, tries = shrunk([str(number) for number in range(20)], {*matter})
    assert left == matter
    assert tries < 100


@pytest.mark.cosim
@pytest.mark.thorough
def test_a_difference_is_found_and_made_small(tmp_path):
    """The model does not know ``brk``."""
    block = dataclasses.replace(
        catalogue.load().find("simd.accelerator"),
        testbenches=(Testbench("wrong", "kit.simd_wrong_model", observes=False,
                               max_cycles=1 << 40),))
    outcome = simulate(block, Job(block.name, "small", "wrong", 1, str(tmp_path)))
    assert not outcome.passed
    assert f"the smallest like it, {SMALLEST}, has" in outcome.reason
    small = (tmp_path / SMALLEST).read_text()
    assert "brk" in small
    assert len(assemble(small).instructions) < 60
