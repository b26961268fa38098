"""Jobs of a dataflow core on a shared DRAM: its model above a memory that is as slow as allowed."""

import dataclasses
import functools

import numpy as np
import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dataflow.core import CoreModel, run_core
from cyclebound.golden.dataflow.grid import Grid
from cyclebound.golden.dataflow.line_memory import LineMemoryModel
from cyclebound.golden.dram.timing import DDR4_3200AA_X16 as PART
from cyclebound.golden.system.fabric import (
    FABRIC,
    cache_shape,
    fabric_job,
    line_times,
    line_transfer,
)
from cyclebound.sim import catalogue
from cyclebound.sim.judge.verdict import judge
from cyclebound.sim.run.job import Job as SimulationJob
from cyclebound.sim.run.job import simulate
from cyclebound.tb.system.tiled import CoreJob

pytestmark = pytest.mark.unit
OTHERS = 158, 114


class SlowLines(LineMemoryModel):
    """A line at a time, each as long as it may take; a refresh, when one is due, holds up all."""

    def __init__(self, words, turn, latency, refresh, every):
        super().__init__(words, line=16, turn=1, latency=latency)
        self.free, self.busy, self.stall = 0, turn, refresh
        self.every, self.due, self.clock = every, every // 3, 0

    def takes(self, request):
        while self.clock >= self.due:
            self.free = max(self.free, self.clock) + self.stall
            self.due += self.every
            for number, (last, first, line) in enumerate(self._due):
                self._due[number] = last + self.stall, first + self.stall, line
        if request is None or self.clock < self.free:
            return False
        self.free = self.clock + self.busy
        return super().takes(request)

    def step(self, taken):
        super().step(taken)
        self.clock += 1


def took(job, others):
    """Cycles of a job from its start until all is in memory, and its bound."""
    times = line_times(PART, others=others)
    words = job.layout.words(job.arrays)
    words += [0] * (-len(words) % 16)
    memory = SlowLines(words, times.turn, times.latency, PART.nRFC, PART.nREFI)
    core = CoreModel(Grid(FABRIC["rows"]), depth=FABRIC["depth"], shape=cache_shape(**FABRIC))
    cycles = run_core(core, memory, job.mapped, job.layout, threads=job.threads).cycles
    cycles = max(cycles, memory.free)
    wanted = job.layout.arrays(words)
    assert (wanted["z"] == job.wanted).all()
    return cycles, fabric_job(part=PART, other=others[0], array=others[1],
                              period=0, before=0, **job.times(PART, others, 0))


@pytest.mark.parametrize(("threads", "others"), [
    (1, (0, 0)), (15, OTHERS), (17, (0, 0)), (77, OTHERS)])
def test_a_job_takes_no_longer_than_its_bound(threads, others):
    cycles, most = took(CoreJob(FABRIC, threads, np.random.default_rng(threads)), others)
    assert cycles <= most


def test_a_bound_that_forgets_the_other_clients_is_exceeded():
    job = CoreJob(FABRIC, 77, np.random.default_rng(1))
    cycles, most = took(job, OTHERS)
    assert 0.8 * most < cycles
    assert cycles > fabric_job(part=PART, other=0, array=0, period=0, before=0,
                               **job.times(PART, (0, 0), 0))


def test_lines_in_windows_wait_for_a_period_and_a_refresh():
    alone, period = line_times(PART, others=(0, 0)), 2160
    longer = period + 6 + PART.nRFC - 16 - (1 + 6)
    assert line_times(PART, others=OTHERS, period=period) == (alone.turn + longer,
                                                              alone.latency + longer)
    assert line_transfer(part=PART, other=158, array=114, period=period) == line_times(
        PART, others=(0, 0), period=period).turn


def test_a_client_without_a_longest_request_has_no_bound():
    with pytest.raises(NotCovered, match="longest request of the other client"):
        line_times(PART, others=(158, -1))


@pytest.mark.cosim
@pytest.mark.thorough
def test_what_the_bounds_forget_is_found_on_rtl(tmp_path):
    block = catalogue.load().find("system.tiled")
    outcome = simulate(block, SimulationJob(block.name, "three", "three", 1, str(tmp_path),
                                            wall_limit=1200))
    assert outcome.passed, outcome.reason

    def verdict(what, wrong=lambda clocks, kind: clocks, **other):
        """Of a bound that is replaced."""
        def replaced(**kind):
            return wrong(right(**kind | other), kind)

        [binding] = [binding for binding in block.bounds if binding.what == what]
        right = binding.bound.function
        bound = dataclasses.replace(binding.bound, function=functools.wraps(right)(replaced))
        [found] = judge(dataclasses.replace(block, bounds=(dataclasses.replace(
            binding, bound=bound),)), "three", [
            (outcome.name, group) for group in outcome.groups if group.what == what])
        return found.verdict

    for what in ("job", "line", "product"):
        assert verdict(what) == "held"
    assert verdict("line", array=0) == "violated"
    assert verdict("line", lambda clocks, kind: clocks - PART.nRFC) == "violated"
    assert verdict("job", lambda clocks, kind: clocks // 2) == "violated"
    assert verdict("product", other=0, line=0) == "violated"
