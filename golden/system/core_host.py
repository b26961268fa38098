"""A program that starts jobs by registers, and waits for each: the bound of the whole.

The core is in tile (0, 0), the registers in other tiles of a network of four
(`cyclebound.golden.system.job_table`), and all of it has the DRAM's clock. The program writes
START, and later reads STATUS in a loop of LW and instructions without an access, until IDLE is 1.

**A job.** Let the store of START begin in cycle s. Its request is on offer in s + 1, and taken by
the registers within ``write`` cycles, so at s + ``write`` at the latest; the strobe is in the next
cycle, the tile is idle ``job`` cycles from there, and STATUS shows it in the cycle after that. Each
round of the loop reads STATUS of this tile once, ends the loop by what it has read itself, and
takes ``poll`` cycles at most. A round that is not the last one had its read taken before STATUS
showed the end, and has itself ended less than ``poll`` later. So the last round begins at s +
polled at the latest, with polled = write + 1 + job + 1 + poll, or it is the only one.

**The program.** An instruction takes as long as its class and its waits say, so that what is
outside of these loops, and one round of each, takes what the analysis of the program says for loops
of one round (`cyclebound.tools.shmac.wcet`): *code*, in which the round of a loop is its last one.
All rounds before are *rest*. Of a point of the program, let c be the time before it that belongs to
code, and r that of the rest. A loop of one round leaves r as it was. Another one begins its last
round by s + polled, where s = c(s) + r(s), and c never falls: r is r(s) + polled at most there, and
this round adds nothing to it. So, over the program's starts and waits in their order,

    rest after a wait <= max(rest before it, rest at its START + polled)

which is the sum over jobs that are waited for one by one, and the longest of jobs that are all
started before the first wait. The program takes code + rest.
"""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from cyclebound.golden.bound import Range, bound
from cyclebound.golden.noc.routes import Mesh
from cyclebound.golden.parameters import check_integer
from cyclebound.golden.shmac.core_bounds import CLASSES, instruction
from cyclebound.golden.shmac.grid_bounds import program_waits
from cyclebound.golden.shmac.layout import Layout
from cyclebound.golden.shmac.memory_waits import MemoryWaits
from cyclebound.golden.shmac.network_bounds import NetworkBounds, Slave
from cyclebound.golden.shmac.traffic import MANY
from cyclebound.golden.system.job_registers import job_end, job_start
from cyclebound.golden.system.job_table import CORE, JOB_TILES, MESH

__all__ = ["LAYOUT", "Start", "Wait", "host_waits", "jobs_of_program", "polled",
           "program_of_jobs"]

LAYOUT = Layout(("P.", ".."))
"""The network: registers answer as soon as a tile with nothing in it."""


class Start(NamedTuple):
    """A program's START, on a tile of `JOB_TILES`; the job takes ``job`` cycles at most, from the
    strobe to the first cycle in which the tile is idle."""

    tile: str
    job: int


class Wait(NamedTuple):
    """The loop that waits for the job on this tile."""

    tile: str


def host_waits() -> MemoryWaits:
    """What the core waits for its requests, all those of a program together."""
    return program_waits(LAYOUT, CORE)


def _write(tile: str) -> int:
    """Cycles from a write's offer to the network until the registers take it, at most."""
    places = [kept.place for kept in JOB_TILES.values()]
    network = NetworkBounds(Mesh(*MESH), {CORE: frozenset(places)}, service=dict.fromkeys(
        places, Slave(1, 1)))
    return network.write(CORE, JOB_TILES[tile].place, behind=MANY)


def polled(start: Start, *, others: int) -> int:
    """Cycles from the beginning of START's store to that of the last round of the loop that waits
    for the job, at most, if there is a round before it; ``others``: instructions of the loop
    besides the read. Raises `ValueError` for a tile without jobs, and for numbers below 0."""
    if start.tile not in JOB_TILES:
        raise ValueError(f"a job's tile must be one of {', '.join(JOB_TILES)}, not {start.tile!r}")
    check_integer("cycles of a job", start.job, 0)
    check_integer("instructions besides the read", others, 0)
    region = host_waits().named("tile ({}, {})".format(*JOB_TILES[start.tile].place))
    own = host_waits().named("tile ({}, {})".format(*CORE))
    assert region.read is not None
    assert own.fetch is not None
    load, plain = CLASSES["load"].function(), CLASSES["plain"].function()
    poll = instruction.function(core_cycles=load, fetch_wait=own.fetch,
                                data_wait=region.read) + others * instruction.function(
        core_cycles=plain, fetch_wait=own.fetch, data_wait=0)
    begins, ends = job_start.function() - 1, job_end.function() - 1
    return _write(start.tile) + begins + start.job + ends + poll


def jobs_of_program(steps: Sequence[Start | Wait], *, others: int) -> int:
    """Cycles of all rounds of loops that wait but the last ones, at most: *rest* of the module's
    docstring. ``steps`` are in the program's order.

    Raises `ValueError` for a start while a job of that tile may be under way, and for a wait
    without a start; and as `polled` does.
    """
    rest, ends = 0, dict[str, int]()
    for step in steps:
        if isinstance(step, Start) == (step.tile in ends):
            raise ValueError(f"a program must {'wait for' if step.tile in ends else 'start'} the "
                             f"job on {step.tile} before it "
                             f"{'starts the next one' if step.tile in ends else 'waits for it'}")
        if isinstance(step, Start):
            ends[step.tile] = rest + polled(step, others=others)
        else:
            rest = max(rest, ends.pop(step.tile))
    return rest


@bound(formula="code + rest", source="this project; SHMAC thesis, 2.3",
       environment="each job takes no longer than its own bound, whatever the other tiles do; no "
                   "write to a register is refused")
def program_of_jobs(*, code: Annotated[int, Range(1, says="cycles of the program with one round of "
                                                  "each loop that waits for a job, at most")],
                    rest: Annotated[int, Range(1, says="cycles of all earlier rounds of these "
                                               "loops, at most (`jobs_of_program`)")]) -> int:
    """Cycles from the first one in which the core may run to the one in which it has ended.

    Derivation: in the module's docstring.
    """
    return code + rest
