# amaranth: UnusedElaboratable=no
"""DQ scheduler: parameters, model, checker against planted faults, RTL against model."""

import dataclasses
import re

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module

from cyclebound.golden.dram.dq_scheduler import BurstDescriptor, DqSchedulerModel, Issue
from cyclebound.golden.dram.timing import DDR3_1600_MODULE
from cyclebound.hdl.dram.dq_scheduler import DqScheduler
from cyclebound.sim.build.elaborate import watch
from cyclebound.tb.dram import dq_scheduler_properties as properties
from kit.faults import Stub
from kit.run_bench import run_bench

unit = pytest.mark.unit
SMALL = dataclasses.replace(DDR3_1600_MODULE, name="small", banks=2, nCAS=8, nCWD=7)


@unit
def test_part_must_be_one():
    with pytest.raises(ValueError, match=r"^part must be one of ddr4-3200aa-x16, .*, not 'ddr4'$"):
        DqScheduler(part="ddr4")


@unit
def test_latency_must_be_a_count():
    with pytest.raises(TypeError, match=r"^fetch latency must be an integer, not True$"):
        DqScheduler(fetch_latency=True)
    with pytest.raises(ValueError, match=r"^fetch latency must be at least 1, not 0$"):
        DqScheduler(fetch_latency=0)


@unit
@pytest.mark.parametrize(("changes", "latency", "says"), [
    ({"nBURST": 2}, 2, "nBURST must be 4, not 2"),
    ({"nCWD": 6}, 2, "nCWD must be at least 7 for a fetch latency of 2, not 6"),
    ({"nCAS": 34}, 2,
     "nCAS must be less than 34, or a slot is used again while its burst waits, not 34"),
])
def test_part_must_leave_time(changes, latency, says):
    part = dataclasses.replace(SMALL, **changes)
    with pytest.raises(ValueError, match=f"^small: {re.escape(says)}$"):
        DqScheduler(part=part, fetch_latency=latency)
    name, value = next(iter(changes.items()))  # one step further, it is served
    least = {"nBURST": 4, "nCWD": value + 1, "nCAS": value - 1}[name]
    assert DqScheduler(part=dataclasses.replace(SMALL, **{name: least}), fetch_latency=latency)


# Model

def described(model):
    model.step(describe=BurstDescriptor(1, 2, 0xFFFF, tuple(range(16))))


@unit
def test_model_moves_a_burst_in_four_beats():
    for write, delay in ((False, SMALL.nCAS + 1), (True, SMALL.nCWD)):
        model = DqSchedulerModel(SMALL)
        described(model)
        results = [model.step(issue=Issue(write, 1, 2) if cycle == 0 else None,
                              dq_in=(cycle,) * 4, store=((cycle,) * 4, 0xD)) for cycle in range(20)]
        seen = [cycle for cycle, r in enumerate(results) if (r.drive if write else r.deliver)]
        assert seen == list(range(delay, delay + 4))
        if write:
            assert results[delay].drive == ((delay - 1,) * 4, 0xD)
            fetches = [cycle for cycle, r in enumerate(results) if r.fetch]
            assert fetches == [cycle - 3 for cycle in seen]
        else:
            assert results[delay + 1].deliver.targets == (4, 5, 6, 7)
            assert results[delay + 1].deliver.words == (delay,) * 4


@unit
def test_model_refuses_what_no_arbiter_may_issue():
    model = DqSchedulerModel(SMALL)
    with pytest.raises(ValueError, match=r"^cycle 0: slot 2 of bank 1 holds no descriptor$"):
        model.step(issue=Issue(False, 1, 2))
    described(model)
    model.step(issue=Issue(False, 1, 2))
    with pytest.raises(ValueError, match=r"^cycle 2: bursts overlap on the data bus$"):
        model.step(issue=Issue(True, 1, 2))


# The checker fires

def run(dut, issues, cycles=40, check=None):
    """Commands at the given cycles, with all words enabled; returns how many beats moved."""
    top, counts = Module(), {"deliver": 0, "dq_out": 0}
    top.submodules.dut = dut
    watcher = Module()
    watch(watcher, dut, (check or properties.DqSchedulerCheck)(dut))
    top.submodules.watcher = watcher

    async def bench(ctx):
        ctx.set(dut.describe.valid, 1)
        ctx.set(dut.describe.payload.mask, 0xFFFF)
        await ctx.tick()
        await ctx.tick()
        for cycle in range(cycles):
            ctx.set(dut.issue.valid, cycle in issues)
            ctx.set(dut.issue.payload.write, issues.get(cycle, False))
            ctx.set(dut.store.enable, 0xF)
            for word in range(4):
                ctx.set(dut.store.words[word], 4 * cycle + word)
                ctx.set(dut.dq_in[word], 1000 + 4 * cycle + word)
            counts["deliver"] += ctx.get(dut.deliver.valid)
            counts["dq_out"] += ctx.get(dut.dq_out.valid)
            await ctx.tick()

    run_bench(top, bench)
    return counts


@unit
@pytest.mark.parametrize("check", [properties.DqSchedulerCheck, properties.DqSchedulerProof])
def test_checker_is_content_with_the_scheduler(check):
    issues = {1: True, 5: False, 9: False, 14: True}
    assert run(DqScheduler(part=SMALL), issues, check=check) == {"deliver": 8, "dq_out": 8}


@unit
@pytest.mark.parametrize(("issues", "says"), [
    ({1: False, 4: False}, "a read's data overlap others"),
    ({1: False, 3: True}, "a write's data overlap others"),
    ({1: False, 2: True}, "a write's data overlap others"),
    ({1: True, 3: False}, "a read's data overlap others"),
    ({1: True, 4: True}, "a write's data overlap others"),
])
def test_checker_names_the_arbiter_that_lets_bursts_overlap(issues, says):
    with pytest.raises(AssertionError, match=f"^Assumption violated: (owed: )?{says}$"):
        run(DqScheduler(part=SMALL), issues)


FAULTS = [
    (lambda d: d.deliver.valid.eq(1), "deliver is not in the cycles of a read's data"),
    (lambda d: d.dq_out.valid.eq(1), "dq_out is not in the cycles of a write's data"),
    (lambda d: d.fetch.valid.eq(1), "fetch is not in good time for a write's data"),
    (lambda d: d.dq_out.payload.mask.eq(1), "a word is written without a store"),
    (lambda d: d.deliver.payload.words[3].eq(7), "deliver holds other words than the pins"),
    (lambda d: d.dq_out.payload.mask.eq(8), "the mask is not that of fetch and store"),
    *((lambda d, n=n: [d.dq_out.payload.mask.eq(15), d.dq_out.payload.words[n].eq(1 << 31)],
       f"word {n} on the pins is not that of store") for n in range(4)),
]


@unit
@pytest.mark.parametrize(("fault", "says"), FAULTS, ids=[says for _, says in FAULTS])
def test_checker_fires(only, fault, says):
    only(says, properties)
    with pytest.raises(AssertionError) as caught:
        run(Stub(DqScheduler(part=SMALL), fault), {1: True, 6: False})
    assert str(caught.value) == f"Assertion violated: {says}"


@unit
def test_every_assertion_has_a_fault():
    text = rtlil.convert(properties.DqSchedulerCheck(DqScheduler(part=SMALL)))
    said = set(re.findall(r'parameter \\FORMAT "(?:owed: )?(.*)"', text))
    assert {message
            for message in said if "overlap others" not in message} == {says for _, says in FAULTS}
