"""A program that starts jobs by registers, and waits for each: the bound of the whole.

The core is in tile (0, 0), the registers in tile (0, 1) of a network of two tiles
(`cyclebound.golden.system.job_table`), and all of it has the DRAM's clock. The program writes
START, and then reads STATUS in a loop of LW and instructions without an access, until IDLE is 1.

**A job.** Let the store of START begin in cycle s. Its request is on offer in s + 1, and taken by
the registers within ``write`` cycles, so at s + ``write`` at the latest; the strobe is in the next
cycle, and the tile is idle ``job`` cycles from there. Of the reads of STATUS, each round of the
loop has one, a round takes ``poll`` cycles at most, and so reads are taken ``poll`` cycles apart at
most: the first one that finds the tile idle is taken in the cycle after that, or less than ``poll``
later. From there to the end of its round it takes ``poll`` at most. Together:
write + 1 + job + 1 + 2 poll. Where the first read finds IDLE, no other is needed.

**The program.** An instruction takes as long as its class and its waits say, so that what is
outside of these loops, and one round of each, takes what the analysis of the program says for loops
of one round (`cyclebound.tools.shmac.wcet`). What later rounds take is within the job's time.
"""

from collections.abc import Sequence
from typing import Annotated

from cyclebound.golden.bound import Range, bound
from cyclebound.golden.noc.routes import Mesh, Tile
from cyclebound.golden.shmac.core_bounds import CLASSES, instruction
from cyclebound.golden.shmac.grid_bounds import program_waits
from cyclebound.golden.shmac.layout import Layout
from cyclebound.golden.shmac.memory_waits import MemoryWaits
from cyclebound.golden.shmac.network_bounds import NetworkBounds, Slave
from cyclebound.golden.shmac.traffic import MANY
from cyclebound.golden.system.job_registers import job_end, job_start

__all__ = ["CORE", "REGISTERS", "host_waits", "jobs_of_program", "polled", "program_of_jobs"]

CORE: Tile = (0, 0)
REGISTERS: Tile = (0, 1)

_LAYOUT = Layout(("P.",))  # the registers answer as soon as a tile with nothing in it


def host_waits() -> MemoryWaits:
    """What the core waits for its requests, all those of a program together."""
    return program_waits(_LAYOUT, CORE)


def _write() -> int:
    """Cycles from a write's offer to the network until the registers take it, at most."""
    network = NetworkBounds(Mesh(1, 2), {CORE: frozenset({REGISTERS})}, service={
        REGISTERS: Slave(1, 1)})
    return network.write(CORE, REGISTERS, behind=MANY)


def polled(job: int, *, others: int) -> int:
    """Cycles from the beginning of START's store to the end of the loop that waits for the job, at
    most; ``others``: instructions of the loop besides the read."""
    region = host_waits().named("tile ({}, {})".format(*REGISTERS))
    own = host_waits().named("tile ({}, {})".format(*CORE))
    assert region.read is not None
    assert own.fetch is not None
    load, plain = CLASSES["load"].function(), CLASSES["plain"].function()
    poll = instruction.function(core_cycles=load, fetch_wait=own.fetch,
                                data_wait=region.read) + others * instruction.function(
        core_cycles=plain, fetch_wait=own.fetch, data_wait=0)
    start, end = job_start.function() - 1, job_end.function() - 1
    return _write() + start + job + end + 2 * poll


def jobs_of_program(jobs: Sequence[int], *, others: int) -> int:
    """The same of several jobs, one after the other."""
    return sum(polled(job, others=others) for job in jobs)


@bound(formula="code + jobs", source="this project; SHMAC thesis, 2.3",
       environment="each job takes no longer than its own bound, whatever the other tiles do; no "
                   "write to a register is refused")
def program_of_jobs(*, code: Annotated[int, Range(1, says="cycles of the program with one round of "
                                                  "each loop that waits for a job, at most")],
                    jobs: Annotated[int, Range(1, says="cycles of all jobs from the stores that "
                                               "start them to their being seen to have ended, at "
                                               "most (`polled`)")]) -> int:
    """Cycles from the first one in which the core may run to the one in which it has ended.

    Derivation: in the module's docstring.
    """
    return code + jobs
