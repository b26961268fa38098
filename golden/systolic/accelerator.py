"""Bounds of the accelerator, and when each command of a list begins and ends.

A transfer and a computation may be under way together; everything else is one after the other. The
times of a list are sums and greatest values of its commands' times, and nothing else: no
command that takes less time can make the list take more. So a list with the worst time of each
transfer takes its own worst time (no timing anomalies).

Ref: thesis on AI accelerators, Eq. 5.6 with the mapping of mapping.py; this project for all
that surrounds the array.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Protocol

from cyclebound.golden.bound import Range, bound, prediction
from cyclebound.golden.systolic.accelerator_layout import Operation
from cyclebound.golden.systolic.sizes import whole
from cyclebound.golden.systolic.stationary_bounds import weight_completion

__all__ = ["Memory", "Transfers", "compute_cycles", "schedule", "transfer_cycles"]

Size = Annotated[int, Range(2, says="rows and columns of the array")]
Beats = Annotated[int, Range(1, says="beats of a transfer")]
Delay = Annotated[int, Range(1, says="most cycles from a request to its first beat")]
Interval = Annotated[int, Range(1, says="most cycles from a beat to the next")]
Count = Annotated[int, Range(1, says="pixels, tiles or strips of a computation")]


@bound(formula="2 + delay + (count - 1) interval", source="this project",
       environment="the memory accepts a request at once, and may move each beat earlier than "
                   "delay and interval say")
def transfer_cycles(*, count: Beats, delay: Delay = 1, interval: Interval = 1) -> int:
    """Cycles of a load or a store.

    Unit: cycles. Counted: from the cycle in which the command leaves the queue to the cycle of the
    last beat, both inclusive. The memory accepts a request at once, and moves the first
    beat ``delay`` cycles later, at the latest, and another ``interval`` cycles after each.

    Derivation: the command is in registers in the cycle after it left the queue (1), and its
    request on offer (1). From there to the last beat, the memory takes its time; the accelerator
    never makes it wait.
    """
    return 2 + delay + (count - 1) * interval


@prediction(formula="(F - 1) max(pixels, s) + 3 s + pixels + 14, F = tiles strips",
            source="this project")
def compute_cycles(*, size: Size, pixels: Count, tiles: Count, strips: Count) -> int:
    """Cycles of a computation.

    Unit: cycles. Counted: from the cycle in which the command leaves the queue to the cycle in
    which the last row has passed the pooling unit, and is written, both inclusive.

    Derivation: as of `matmul_cycles`, `weight_completion` + 4 to the last row of sums, for a
    product of ``pixels`` x ``tiles * size`` x ``strips * size``. Words of windows come
    two cycles later than rows of weights do (4 cycles after the command: generator, memory,
    turning), and are wanted ``size`` >= 2 cycles later. After the sums come 6 registers of the
    post-processing unit and 3 of the pooling unit.
    """
    product = weight_completion(rows=size, columns=size, m=pixels, k=tiles * size,
                                n=strips * size)
    return product + 4 + 6 + 3


@dataclass(frozen=True)
class Memory:
    """The memory's timing: the worst delay of a transfer, and interval of its beats.

    Raises `TypeError` and `ValueError` unless both are counts.
    """

    delay: int = 1
    interval: int = 1

    def __post_init__(self) -> None:
        for name, value in vars(self).copy().items():
            object.__setattr__(self, name, whole(name, value, 1))

    def cycles(self, count: int) -> int:
        """Greatest number of cycles of a transfer."""
        return transfer_cycles(count=count, delay=self.delay, interval=self.interval)

    def transfer(self, command: Mapping[str, int]) -> int:
        """Greatest number of cycles of the transfer of a command."""
        return self.cycles(command["count"])


class Transfers(Protocol):
    """What `schedule` needs of a memory: the greatest number of cycles of each transfer."""

    def transfer(self, command: Mapping[str, int]) -> int:
        """That of a command's, as `transfer_cycles` counts."""


def schedule(commands: Iterable[Mapping[str, int]], size: int,
             memory: Transfers) -> list[tuple[int, int]]:
    """By command, the cycle in which it leaves the queue, and the first after its end.

    Cycle 0 is the one in which the idle accelerator accepts the first command; the others follow
    without a pause.
    """
    times, leaves = [], 0
    free = {False: 0, True: 0}  # transfers, computations
    for command in commands:
        computes = command["operation"] == Operation.COMPUTE
        leaves = max(leaves + 1, max(free.values()) if command["wait"] else free[computes])
        took = (compute_cycles(size=size, pixels=command["pixels"], tiles=command["tiles"],
                               strips=command["strips"]) if computes
                else memory.transfer(command))
        free[computes] = leaves + took
        times.append((leaves, leaves + took))
    return times
