"""Any legal DDR3 part, PHY and ratio: bounds on the RTL, and on the cycle model with refreshes.

The seeds are fixed; another range of them is another search.
"""

import dataclasses
import random

import pytest

from cyclebound.golden.dram import axi_bounds
from cyclebound.golden.dram.buffer_table import BufferRequest, Mapping
from cyclebound.golden.dram.controller import DramControllerModel
from cyclebound.golden.dram.dfi import dfi_part
from cyclebound.golden.dram.request import BURST_WORDS
from cyclebound.sim import catalogue
from cyclebound.sim.describe.block import Configuration
from cyclebound.sim.judge.verdict import judge
from cyclebound.sim.run.job import Job, simulate
from kit.dram_parts import part_file, random_ddr3, random_phy
from kit.faults import edited

unit, cosim, thorough = pytest.mark.unit, pytest.mark.cosim, pytest.mark.thorough


def seen_part(rng):
    """A random part in the controller clocks of a random PHY."""
    while True:
        part = random_ddr3(rng)
        ratio, phy = random_phy(rng, part)
        seen = dfi_part(part, phy, ratio=ratio)
        if seen.nFAW <= seen.nRC:  # else the command arbiter refuses it
            return seen


# On the cycle model: two requests as the AXI port makes them, and refreshes in any cycle

def carried_out(part, requests, begin):
    """Cycles from taking each request to its completion, the first offered in cycle ``begin``.

    A request is (bursts, first burst, write, cycles after the completion before).
    """
    model = DramControllerModel(part)
    model.step(mapping=Mapping(0, 0, 1 << 18, 4))
    now, taken, cycles = 1, None, []
    for bursts, first, write, gap in requests:
        wait = gap if cycles else begin
        request = BufferRequest(0, BURST_WORDS * first, 0, BURST_WORDS * bursts, 1, False, write)
        while True:
            shown = model.step(request=request if wait <= 0 and taken is None else None)
            if shown.completion is not None:
                cycles.append(now - taken + 1)
                taken, now = None, now + 1
                break
            if wait <= 0 and taken is None and shown.takes_request:
                taken = now
            now, wait = now + 1, wait - 1
    return cycles


def late(part, rng, requests):
    """Second requests that take longer than their issue delay, 17 cycles and a refresh."""
    def one():
        bursts = rng.choice((1, 2, 3, rng.randint(1, 64), 64))
        first = axi_bounds.first_of(part, rng.randrange(1 << 12) // 64 * 64
                                    + rng.randrange(65 - bursts))
        return bursts, first, rng.random() < 0.5

    if axi_bounds._page_delay(part, 64, 0, True) + 40 + part.nRFC > part.nREFI:
        return  # two refreshes may add to one request, which no bound covers
    for _ in range(requests):
        before, after = one(), one()
        lasts = 17 + axi_bounds._page_delay(part, *before)
        begin = max(10, part.nREFI - rng.randint(0, lasts + 60))
        gap = rng.choice((3, 6, 10, rng.randint(3, 40)))
        found = carried_out(part, ((*before, 0), (*after, gap)), begin)[1]
        allowed = 17 + axi_bounds._page_delay(part, *after) + axi_bounds.axi_refresh(part)
        if found > allowed:
            yield found - allowed, before, after, begin, gap


def searched(seeds, requests):
    return [(seed, *miss) for seed in seeds for rng in (random.Random(f"model/{seed}"),)
            for miss in late(seen_part(rng), rng, requests)]


@unit
def test_requests_of_random_parts_at_refreshes():
    assert searched(range(12), 12) == []


@thorough
@unit
def test_requests_of_many_random_parts_at_refreshes():
    assert searched(range(12, 132), 40) == []


@thorough
@unit
def test_the_search_finds_what_a_short_refresh_adds(monkeypatch):
    """nRFC - 10 alone was the formula: below 10 even less than nothing."""
    monkeypatch.setattr(axi_bounds, "axi_refresh", lambda part: part.nRFC - 10)
    assert searched(range(12, 72), 12)


@thorough
@unit
def test_the_search_finds_completions_that_wait_for_a_refresh(monkeypatch):
    """With nRP of one clock, all banks are closed when the request is over; a refresh follows."""
    module = edited("cyclebound.golden.dram.controller", (
        "if self._closing is not None and now >= self._rest",
        "if self._closing is not None and not over and now >= self._rest"))
    monkeypatch.setitem(globals(), "DramControllerModel", module.DramControllerModel)
    assert searched(range(12, 72), 12)


# On the RTL

def verdicts(folder, name, seed, *tests, component=None, **more):
    """Verdicts of a block with a random part, by what it observes, and the part itself."""
    block, rng = catalogue.load().find(name), random.Random(f"rtl/{seed}")
    part = random_ddr3(rng)
    ratio, phy = random_phy(rng, part)
    values = {"part": part_file(folder, part), "ratio": ratio, **dataclasses.asdict(phy), **more}
    block = dataclasses.replace(
        block, component=component or block.component,
        configurations={"random": Configuration(values)},
        testbenches=tuple(dataclasses.replace(bench, configurations=None, quick=None)
                          for bench in block.testbenches),
        bounds=tuple(dataclasses.replace(binding, configurations=())
                     for binding in block.bounds))
    observed, failed = [], []
    for test in tests:
        job = Job(name, "random", block.testbenches[0].name, seed, str(folder / test), test=test,
                  wall_limit=3000)
        outcome = simulate(block, job)
        failed += [] if outcome.passed else [outcome.reason]
        observed += [(job.name, group) for group in outcome.groups]
    assert not failed, (seed, part, ratio, phy, failed)
    return {row.what: (row.verdict, row.worst, row.allowed, row.parameters)
            for row in judge(block, "random", observed)}


DFI_SEEDS = range(6)
AXI_SEEDS = range(3)
SHORT = 2  # seed of a part whose nRP is one controller clock, and its nRFC nine
_HURRY = {"hurry": 1000}
_SMALL = {**_HURRY, "capacity": 1 << 19, "id_width": 2}


@thorough
@cosim
@pytest.mark.parametrize("seed", DFI_SEEDS)
def test_tiles_of_random_parts(tmp_path, seed):
    found = verdicts(tmp_path, "dram.dfi_controller", seed, "tiles", "requests", **_HURRY)
    assert {what: verdict for what, (verdict, *_) in found.items()} == {
        "tile": "exact", "completion": "exact"}, found


@thorough
@cosim
@pytest.mark.parametrize("seed", AXI_SEEDS)
def test_bursts_of_random_parts(tmp_path, seed):
    """``not covered`` is a read or write whose part has another refresh within 4 KiB."""
    found = verdicts(tmp_path, "dram.axi_dfi_controller", seed, "traffic", "refreshes",
                     "first_after_reset", **_SMALL)
    words = {what: verdict for what, (verdict, *_) in found.items()}
    bounds = {words.pop(what) for what in ("read", "write")}
    assert bounds <= {"held", "exact", "not covered"}, found
    assert set(words.values()) == {"right"}, found


@thorough
@cosim
def test_the_search_finds_a_completion_that_waits(tmp_path):
    """As it was: where nRP is one clock, a cycle later, or nRFC where a refresh is owed."""
    module = edited("cyclebound.hdl.dram.controller", (
        "done.eq((self._over | closing) & (self.arbiter.holdoff == 0))",
        "done.eq(closing & (self.arbiter.holdoff == 0))"))
    dfi = edited("cyclebound.hdl.dram.dfi_controller", (
        "from cyclebound.hdl.dram.controller import DramController\n", ""))
    dfi.DramController = module.DramController
    found = verdicts(tmp_path, "dram.dfi_controller", SHORT, "tiles", **_HURRY,
                     component=dfi.DfiController)
    assert found["completion"][0] == "violated", found
