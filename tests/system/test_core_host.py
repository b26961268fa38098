# amaranth: UnusedElaboratable=no
"""A core that starts jobs: the bound of its program, and what a bound that forgets a part says."""

import dataclasses

import pytest

from cyclebound.golden.shmac.address_map import boot_stub, entry_of, tile_base
from cyclebound.golden.shmac.grid import GridModel
from cyclebound.golden.shmac.layout import Layout
from cyclebound.golden.system.core_host import (
    CORE,
    REGISTERS,
    host_waits,
    jobs_of_program,
    polled,
    program_of_jobs,
)
from cyclebound.golden.system.job_registers import JobRegistersModel
from cyclebound.golden.system.job_table import Status
from cyclebound.hdl.system.tiled import TiledSystem
from cyclebound.sim import catalogue
from cyclebound.sim.judge.verdict import judge
from cyclebound.sim.run.job import Job, simulate
from cyclebound.tb.system.tiled_host import PROGRAM
from cyclebound.tools.shmac.wcet.analysis import wcet
from cyclebound.tools.shmac.wcet.code import Code, assembled

unit = pytest.mark.unit
TABLE, OTHERS = 0x200, 3


class JobTile:
    """The registers in a golden grid, above a tile whose jobs take stated times."""

    clock, sent = 0, None

    def __init__(self, jobs, fault=False):
        self.model, self.jobs, self.left = JobRegistersModel(0), list(jobs), 0
        self.words, self.fault = [], fault

    @property
    def response(self):
        return self.model.response

    def ready(self, request, *, passed):
        return self.model.ready(passed=passed)

    def step(self, request, *, passed):
        if self.model.word is not None:
            self.words.append(self.model.word)
        if self.model.start:
            self.left = self.jobs.pop(0)
        elif self.left:
            self.left -= 1
        self.model.step(request, passed=passed, idle=not self.left, fault=self.fault, takes=True)

    def count(self, run):
        pass


def assembly(jobs, words, again=""):
    return assembled(PROGRAM.format(table=TABLE, jobs=jobs, words=words, again=again,
                                    early=""),
                     origin=entry_of(*CORE))


def ran(jobs, words, **more):
    """Cycles of the program on the golden grid, its status, and the words that the tile got."""
    code = assembly(len(jobs), max(map(len, words)))
    grid = GridModel(Layout(("P.",)), words=2048)
    tile = grid.devices[REGISTERS] = JobTile(jobs, **more)
    table = [word for listed in words for word in (len(listed), *listed)]
    for address, word in (code.words | {TABLE + 4 * place: word
                                        for place, word in enumerate(table)}).items():
        grid.rams[CORE].content[address // 4] = word
    cycles = 0
    while not grid.exited:
        grid.step(run={CORE})
        cycles += 1
        assert cycles < 100_000
    return cycles, grid.tiles[CORE].status, tile


def code_bound(jobs, words):
    code = assembly(jobs, words)
    boot = {4 * place: word for place, word in enumerate(boot_stub(*CORE))}
    return wcet(Code({**boot, **code.words}, code.symbols, code.facts), 0, host_waits(),
                stops=[code.symbols["after"]], from_reset=True).cycles


@unit
def test_a_program_takes_no_longer_than_its_bound_for_jobs_of_each_length():
    """A round of the loop has each phase at the end of some job."""
    code, extra = code_bound(2, 3), set()
    for job in range(1, 70):
        cycles, status, tile = ran([job, 1], [[1, 2, 3], [4, 5]])
        assert (status, tile.words) == (0, [1, 2, 3, 4, 5])
        most = program_of_jobs.function(code=code, jobs=jobs_of_program([job, 1], others=OTHERS))
        assert cycles <= most
        extra.add(most - cycles)
    assert max(extra) - min(extra) >= 20  # as a round of the loop takes


@unit
def test_a_bound_without_the_rounds_that_poll_is_exceeded():
    """Of long jobs, by the code with one round and the jobs by themselves."""
    code = code_bound(2, 1)
    least = min(code + 2 * job - ran([job, job], [[1], [1]])[0] for job in range(100, 123))
    assert least < 0


@unit
def test_a_fault_ends_the_program_after_its_job():
    _, status, tile = ran([50, 50], [[1], [2]], fault=True)
    assert status == 1 << Status.FAULT
    assert (tile.jobs, tile.words) == ([50], [1])


@unit
def test_what_the_bound_of_a_job_is_made_of():
    region = host_waits().named("tile (0, 1)")
    assert (region.read, tile_base(*REGISTERS)) == (13, 0x0100_0000)
    assert polled(1000, others=OTHERS) == 7 + 1 + 1000 + 1 + 2 * (3 + 1 + 13 + 3 * 2)


@unit
def test_a_core_without_a_dataflow_core_is_refused():
    with pytest.raises(ValueError, match=r"^A core starts jobs of a dataflow core: there must "
                                         r"be a fabric for host_words 2048$"):
        TiledSystem(machine="small", part="ddr4-3200aa-x16", host_words=2048)


@pytest.mark.cosim
@pytest.mark.thorough
def test_on_the_rtl_a_bound_without_the_jobs_is_exceeded(tmp_path):
    block = catalogue.load().find("system.tiled")
    done = simulate(block, Job(block.name, "hosted", "hosted", 1, str(tmp_path),
                               wall_limit=1200))
    assert done.reason == ""

    def verdicts(block):
        return {row.what: row.verdict for row in judge(block, "hosted", [
            (done.name, group) for group in done.groups])}

    assert verdicts(block)["program"] == "held"
    forgets = dataclasses.replace(block, bounds=tuple(dataclasses.replace(
        binding, bound=dataclasses.replace(binding.bound, function=lambda *, code, jobs: code))
        if binding.what == "program" else binding for binding in block.bounds))
    assert verdicts(forgets)["program"] == "violated"
