"""Jobs on tiles that share a DRAM: the bound of each, and of all.

A tile's own analysis holds with a longer access: each of its requests waits for one of each other
client at most, or for its window (`golden.dram.client_bounds`). So jobs do not depend on what the
others do, only on the longest request that these may have: a job ends when all that it comes after
have ended, and its own bound later. Sums along chains, maxima over what it comes after.

Ref: SHMAC thesis, 1.3 and 2.3, for tiles of several kinds; this project for the bound.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.bound import Range, bound, check_count
from cyclebound.golden.dram.timing import Part, part_named
from cyclebound.golden.simd.machine import Machine, machine_named
from cyclebound.golden.systolic.accelerator import Memory, transfer_cycles
from cyclebound.golden.systolic.accelerator_layout import Operation
from cyclebound.golden.systolic.accelerator_network import Program, product_step, program_of
from cyclebound.golden.systolic.accelerator_plan import Device, program_cycles
from cyclebound.golden.systolic.dram_memory import DramTransfers, Sharing
from cyclebound.golden.systolic.post_processing import Scale

__all__ = ["SCALE", "Job", "array_cycles", "array_device", "array_memory", "check_product",
           "composed", "kernel_job", "kernel_start", "product_cycles", "product_program",
           "request_wait", "sharing_of"]

SCALE = Scale(3, 9)
"""Of a product's sums."""

_TABLE = 8  # clocks for which the controller's table may be taken

Extent = Annotated[int, Range(1, says="rows or columns of a matrix")]
Other = Annotated[int, Range(0, says="the other client's longest issue delay; 0: it is silent")]
Line = Annotated[int, Range(0, says="the dataflow core's longest issue delay; 0: it is silent, or "
                            "there is none")]
Cycles = Annotated[int, Range(1, says="compute cycles of the kernel, at most, with its requests' "
                              "waits: `cyclebound simd wcet`")]
Clients = Annotated[int, Range(2, says="tiles on the DRAM")]
Period = Annotated[int, Range(0, says="cycles of all windows; 0: turns")]
Before = Annotated[int, Range(0, says="the longest issue delay of other clients that are silent "
                              "from the job's start on, but may have had requests before; 0: none")]


def sharing_of(part: Part | str, others: Sequence[int], period: int = 0, before: int = 0
               ) -> Sharing:
    """How a tile shares the controller with clients whose longest requests are ``others``; 0: one
    that is silent. ``period``: of all windows; 0: turns. ``before``: the longest request that one
    which is silent now has had before: a refresh may have waited for its end, and be under way.

    Raises `NotCovered` for an impossible count, `ValueError` for an unknown part.
    """
    for other in others:
        check_count("longest request of the other client", other, least=0)
    return Sharing(part_named(part), tuple(filter(None, others)), period or None, mappings=True,
                   before=before)


def request_wait(part: Part | str, *, others: Sequence[int], period: int = 0) -> int:
    """Clocks that a request waits at most, besides its own time and that of refreshes: for the
    longest one of each other client, and for mappings; or for its window, and a refresh in that.

    Arguments are those of `sharing_of`; it raises the same.
    """
    return sharing_of(part, others, period).wait


def kernel_start(*, compute_ps: int, part: Part | str, others: int = 1, period: int = 0) -> int:
    """DRAM clocks from the start of a kernel on the SIMD accelerator to its first cycle, at most.

    A clock later its program is to be mapped. The controller's table is taken for seven clocks by a
    lookup that is under way, by requests that are granted first, and by a mapping of each of the
    ``others``, with a clock between each and the next; in windows, for a period at most. Grants are
    18 clocks apart, more than two such turns, so that one comes with each mapping at most. Then the
    kernel begins when both clocks begin a cycle together.

    Raises `ValueError` for an unknown part, and `NotCovered` for a clock of less than 1 ps.
    """
    check_count("compute_ps", compute_ps)
    tck = part_named(part).tck_ps
    table = period if period else 2 * others * _TABLE
    return 1 + table + _TABLE + compute_ps // gcd(compute_ps, tck)


@bound(formula="kernel_start + ceil((cycles + 1) compute_ps / tCK)", source="this project, from "
       "Sim-D, section 5.2",
       environment="the other clients have no longer requests, in any cycle; refreshes fall due, "
                   "and buffers are mapped, in any cycle; no fault")
def kernel_job(*, machine: Machine | str, part: Part | str, cycles: Cycles, clients: Clients,
               period: Period) -> int:
    """DRAM clocks from the start of a kernel on the SIMD accelerator to the first in which it is
    idle.

    Derivation: it begins `kernel_start` later at most; its compute cycle n begins with the first
    DRAM clock that is not before n times that clock's period. ``cycles`` after the first one, all
    work-groups have ended, and so have their accesses. The accelerator sees that in the last clock
    of this cycle, and is idle in the next, which is the first of compute cycle ``cycles`` + 1.
    """
    clock = machine_named(machine).compute_ps
    return kernel_start(compute_ps=clock, part=part, others=clients - 1, period=period) - (
        -(cycles + 1) * clock // part_named(part).tck_ps)


def array_device(*, size: int, depth: int, memory_width: int) -> Device:
    """The systolic accelerator of a `TiledSystem` with these parameters, for the planner."""
    return Device(size=size, a_depth=depth, b_depth=depth, c_depth=depth, sums_depth=depth,
                  memory_width=memory_width)


def array_memory(part: Part | str, *, size: int, bursts: int, slots: int, others: Sequence[int],
                 period: int = 0, before: int = 0) -> DramTransfers:
    """What its memory keeps, beside other clients; it raises what `sharing_of` does."""
    return DramTransfers(sharing_of(part, others, period, before), size, bursts, slots)


def check_product(m: int, k: int, n: int, device: Device) -> None:
    """Raises `ValueError` unless the matrices of a product of m x k and k x n have room in the
    accelerator's memory."""
    room, needed = device.size << device.memory_width, m * k + k * n + m * n
    if needed > room:
        raise ValueError(f"matrices of {m} x {k} and {k} x {n} and their product must have "
                         f"{room:,} bytes at most, which the systolic accelerator can address, "
                         f"not {needed:,}")


def product_program(name: str, a: NDArray[np.int8], b: NDArray[np.int8], *, device: Device,
                    memory: DramTransfers) -> Program:
    """A product's commands, operands and result, by the planner, which is told that each transfer
    takes as long as one of a beat, and a cycle for each beat more.

    Raises `TypeError` and `ValueError` for matrices that do not fit each other, and for a product
    that does not fit the accelerator.
    """
    beat = memory.transfer({"operation": Operation.LOAD, "memory": 0, "count": 1})
    return program_of([product_step(name, a, b, SCALE)], device, Memory(beat - transfer_cycles(
        count=1) + 1))


def array_cycles(commands: Sequence[Mapping[str, int]], device: Device, memory: DramTransfers
                 ) -> int:
    """DRAM clocks of a list of commands, from the first to the last that is not idle.

    Each transfer takes as long as its own tiles at most, and all refreshes delay the list by nRFC
    each: no list takes longer because a command of it takes less (`golden.systolic.accelerator`).
    """
    return memory.with_refreshes(program_cycles(commands, device.size, memory))


@bound(formula="the plan's commands, each transfer by its own tiles; ceil((L + cycles) / (nREFI - "
               "nRFC)) * nRFC more", source="this project",
       environment="the other clients have no longer requests, in any cycle; refreshes fall due in "
                   "any cycle; all buffers begin at a burst")
def product_cycles(*, part: Part | str, size: int, depth: int, memory_width: int, bursts: int,
                   slots: int, m: Extent, k: Extent, n: Extent, other: Other, line: Line,
                   period: Period, before: Before) -> int:
    """DRAM clocks of a product of m x k and k x n int8, from DRAM to DRAM: from its first command
    to the last clock in which the systolic accelerator is not idle.

    The list of commands is the plan's; its operands and results follow each other in the buffer,
    as `golden.systolic.accelerator_network.program_of` puts them. See `array_cycles`.
    """
    memory = array_memory(part, size=size, bursts=bursts, slots=slots,
                          others=(other, line), period=period, before=before)
    device = array_device(size=size, depth=depth, memory_width=memory_width)
    check_product(m, k, n, device)
    operands = np.zeros((m, k), np.int8), np.zeros((k, n), np.int8)
    program = product_program("product", *operands, device=device, memory=memory)
    return array_cycles(program.commands, device, memory)


@dataclass(frozen=True)
class Job:
    """A job of a tile.

    Attributes
    ----------
    name, tile : str
        Its name, and the tile that runs it.
    clocks : int
        Its bound, in DRAM clocks.
    after : tuple of str
        Jobs that have ended before it starts, besides those of its own tile that are named before.
    uses : tuple of range
        Words of DRAM that its tile has mapped meanwhile.
    """

    name: str
    tile: str
    clocks: int
    after: tuple[str, ...] = ()
    uses: tuple[range, ...] = ()


def composed(jobs: Iterable[Job]) -> dict[str, int]:
    """When each job has ended at the latest, in DRAM clocks from the start.

    A tile runs its jobs in their order here. Raises `ValueError` for two jobs of a name, for one
    that comes after an unknown one or, over others, after itself, and for two that may run beside
    each other and have words in common: no tile may see what another one has not finished.
    """
    found = list(jobs)
    by_name = {job.name: job for job in found}
    if len(by_name) < len(found):
        twice = next(job.name for number, job in enumerate(found)
                     if job.name in {other.name for other in found[:number]})
        raise ValueError(f"two jobs have the name {twice}")
    before: dict[str, set[str]] = {}
    for number, job in enumerate(found):
        check_count(f"clocks of {job.name}", job.clocks)
        for name in job.after:
            if name not in by_name:
                raise ValueError(f"{job.name} comes after {name}, which is no job; there are "
                                 f"{', '.join(by_name)}")
        own = [other.name for other in found[:number] if other.tile == job.tile]
        before[job.name] = {*job.after, *own}
    ends: dict[str, int] = {}
    earlier: dict[str, set[str]] = {}  # of each job, all that have ended when it starts
    while len(ends) < len(found):
        ready = [name for name in by_name if name not in ends and before[name] <= ends.keys()]
        if not ready:
            left = ", ".join(name for name in by_name if name not in ends)
            raise ValueError(f"these jobs wait for each other in a circle: {left}")
        for name in ready:
            earlier[name] = before[name].union(*(earlier[other] for other in before[name]))
            ends[name] = by_name[name].clocks + max((ends[other] for other in before[name]),
                                                    default=0)
    for number, job in enumerate(found):
        for other in found[:number]:
            if job.name in earlier[other.name] or other.name in earlier[job.name]:
                continue
            for one in job.uses:
                for two in other.uses:
                    first, last = max(one.start, two.start), min(one.stop, two.stop)
                    if first < last:
                        raise ValueError(
                            f"{other.name} (on {other.tile}) and {job.name} (on {job.tile}) may "
                            f"run beside each other, and both map words {first} to {last - 1}: let "
                            "one come after the other, or place their buffers apart")
    return ends
