"""Predictions and bounds of the transfer unit and of the setup of its accesses, in DRAM clocks."""

from typing import Annotated

from cyclebound.golden.bound import Range, bound, prediction
from cyclebound.golden.simd.scratchpad_bounds import (
    Bus,
    Gap,
    Lines,
    Restart,
    Words,
    scratchpad_transfer,
)

__all__ = ["access_setup", "own_scratchpad", "resume", "to_dram"]

_SETUP = 4  # registers: the tile as it is wanted, what is cut from it, its products, the job

Clocks = Annotated[int, Range(1, says="DRAM clocks of the longest compute cycle")]


@prediction(formula="5", source="this project")
def access_setup() -> int:
    """From an access to its job, both clocks included.

    There is a register after each of four steps: what is wanted, what is left of it after it was
    cut, products of lines and their lengths, the job.
    """
    return _SETUP + 1


@prediction(formula="access_setup + 1", source="this project")
def to_dram() -> int:
    """From the first clock in which an access to DRAM is shown to the first in which its request is
    offered, both included, if its turn has come and no older one waits.

    The job is put into a register before it is offered.
    """
    return access_setup() + 1


@prediction(formula="access_setup + scratchpad_transfer", source="this project; Sim-D, section 3.3")
def own_scratchpad(*, words: Words, gap: Gap, count: Lines, restart: Restart, bus: Bus) -> int:
    """From the first clock in which an access to a scratchpad is shown to that of its completion,
    both included, if its turn has come. The transfer begins in the clock after the job's."""
    return access_setup() + scratchpad_transfer(words=words, gap=gap, count=count,
                                                restart=restart, bus=bus)


@bound(formula="clocks", source="this project",
       environment="the compute unit stands still for less than that many clocks at a time")
def resume(*, clocks: Clocks) -> int:
    """From the clock in which DRAM has completed an access to the one in which the compute unit
    takes the completion, both included: it takes what it sees in the last clock of its cycle, and
    the completion is shown until then. A cycle of the compute unit has ``clocks`` clocks at most,
    of which the completion may fall into the first."""
    return clocks
