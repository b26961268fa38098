# amaranth: UnusedElaboratable=no
"""Work-group scheduler: its model against the cycle model, its checker against planted faults."""

import random
import re

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Assert, Assume, Module

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.simd.accelerator import CycleModel
from cyclebound.golden.simd.machine import MACHINES, Grid
from cyclebound.golden.simd.scheduler import CODES, Event, Policy, SchedulerModel
from cyclebound.hdl.simd.scheduler import WorkGroupScheduler
from cyclebound.sim.build.elaborate import watch
from cyclebound.tb.simd import scheduler_properties as properties
from cyclebound.tb.simd.scheduler import Slots
from cyclebound.tools.simd.kernel_cases import case
from kit.faults import Tampered, override
from kit.run_bench import run_bench

unit = pytest.mark.unit
SMALL = MACHINES["small"]
PART = part_named("ddr4-3200aa-x16")


@unit
def test_refuses():
    with pytest.raises(ValueError, match=r"^a machine must be one of paper, small, not 'tiny'$"):
        WorkGroupScheduler(machine="tiny")


@unit
@pytest.mark.parametrize("name", ["stencil", "srad_reduce", "transposition"])
@pytest.mark.parametrize("policy", list(Policy))
def test_launches_as_the_cycle_model_does(name, policy):
    """Phases of whole kernels as events: the two models launch, and let begin, in equal cycles."""
    found = case(name, SMALL)
    ran = CycleModel(found.program, found.grid, found.memory, policy=policy, part=PART).run()
    by_group = {}
    for phase in ran.phases:
        by_group.setdefault(phase.work_group, []).append(phase)
    events, begins, launches = {}, {}, {}
    for group, phases in by_group.items():
        launches[group] = phases[0].slot
        for phase, after in zip(phases, [*phases[1:], None], strict=True):
            if phase.resource == "compute":
                final = after is not None and after is phases[-1]
                happens = Event(ended=True) if after is None else Event(
                    committed=True, final=final, scratchpad=after.resource == "scratchpad")
            else:
                happens = Event(over=True)
                begins[phase.slot, phase.start] = phase.resource
            assert phase.slot not in events.get(phase.end, {})
            events.setdefault(phase.end, {})[phase.slot] = happens
    model, slots, waited = SchedulerModel(), {}, {}
    model.step({}, start=(found.grid, policy))
    for cycle in range(ran.load, ran.cycles + 1):
        shown = model.step(events.get(cycle, {}))
        if shown.launch is not None:
            slots[shown.launch[1].number] = shown.launch[0]
        for slot in range(2):
            resource = begins.get((slot, cycle))
            if resource == "scratchpad":
                assert shown.begin[slot]
                assert not waited.get(slot, 0) or policy is Policy.ACCESS
            waited[slot] = shown.waits[slot]
    assert slots == launches
    assert shown.idle


# The checker fires

FAULTS = {
    "a work-group is launched into a slot that is taken":
        lambda inner, outer, cycle:
            outer.launch.payload.slot.eq(~inner.launch.payload.slot),
    "a work-group is launched into slot 1 while slot 0 is free":
        lambda inner, outer, cycle: outer.launch.payload.slot.eq(1),
    "a work-group is launched after a stop":
        lambda inner, outer, cycle: outer.launch.valid.eq(inner.launch.valid | inner.stop),
    "a work-group is launched before the pair before it has finished":
        lambda inner, outer, cycle: outer.launch.valid.eq(inner.left & ~inner.active.all()),
    "an access begins that was not committed": lambda inner, outer, cycle: outer.begin.eq(3),
    "an access neither begins nor waits": lambda inner, outer, cycle: outer.begin.eq(0),
    "an access waits though the policy does not ask for it":
        lambda inner, outer, cycle: outer.waits.eq(inner.begin),
    "two accesses at once under the policy access, one of them of a scratchpad":
        lambda inner, outer, cycle: outer.begin.eq(inner.begin | inner.waits),
    "two accesses wait for each other":
        lambda inner, outer, cycle: outer.waits.eq(inner.begin | inner.waits),
    "idle is not the end": lambda inner, outer, cycle: outer.idle.eq(~inner.idle),
}


def stimuli(seed):
    """Inputs of kernels under each policy, one stopped, as `Slots` makes them."""
    rng, found = random.Random(seed), []
    for policy in Policy:
        model, slots = SchedulerModel(), Slots(rng, longest=6)
        grid, start = Grid(1280, 1, SMALL), policy
        for cycle in range(10_000):
            events, stop = slots.events(), policy is Policy.YIELD and cycle == 60
            offer = (grid, start) if start else None
            found.append((events, offer, stop))
            shown = model.step(events, start=offer, stop=stop)
            slots.follow(shown, stop)
            start = None
            if cycle and shown.idle:
                break
        assert shown.idle
        found.append(({}, None, False))
    return found


def play(dut, cycles):
    m = Module()
    m.submodules.dut = dut
    watch(m, dut, properties.SchedulerCheck(dut))

    async def bench(ctx):
        for events, start, stop in cycles:
            for slot in range(2):
                for name, value in vars(events.get(slot, Event())).items():
                    ctx.set(dut.events[slot][name], int(value))
            ctx.set(dut.start.valid, start is not None)
            ctx.set(dut.stop, stop)
            if start is not None:
                grid, policy = start
                payload = dut.start.payload
                for field, value in ((payload.grid.x, grid.x), (payload.grid.y, grid.y),
                                     (payload.grid.width, grid.width.bit_length() - 1),
                                     (payload.policy, CODES.index(policy))):
                    ctx.set(field, value)
            await ctx.tick()

    run_bench(m, bench)


@unit
@pytest.mark.parametrize("says", FAULTS)
def test_checker_fires(only, says):
    """Each assertion by itself, so that no other fires in its place."""
    only(says, properties, kinds=(Assert, Assume))
    cycles = stimuli(3)
    play(WorkGroupScheduler(machine="small"), cycles)
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        play(Tampered(WorkGroupScheduler(machine="small"), override(FAULTS[says])), cycles)


@unit
def test_every_assertion_has_a_fault(monkeypatch):
    for rule in ("Assume", "owes"):
        monkeypatch.setattr(properties, rule, lambda fact, text: [])
    text = rtlil.convert(properties.SchedulerCheck(WorkGroupScheduler(machine="small")))
    assert set(re.findall(r'parameter \\FORMAT "(?:owed: )?(.*)"', text)) == set(FAULTS)
