"""A host's registers for running a kernel: those that it writes, and those that it then reads.

The model of the accelerator is in `golden.simd.accelerator`, that of its registers in
`golden.simd.host`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cyclebound.golden.dram.request import WORD_BYTES
from cyclebound.golden.simd.faults import Cause
from cyclebound.golden.simd.host_registers import Register, Status
from cyclebound.golden.simd.machine import Grid
from cyclebound.golden.simd.program import Program
from cyclebound.golden.simd.scheduler import CODES, Policy

__all__ = ["KernelOutcome", "kernel_outcome", "start_writes"]

_CHIP = 1 << 8  # of MAP: a buffer of the scratchpads


def start_writes(program: Program, grid: Grid, policy: Policy, address: int
                 ) -> Iterator[tuple[Register, int]]:
    """Registers and values, in this order: all buffers, the program at byte ``address``, start."""
    for buffers, chip in ((program.buffers, 0), (program.scratchpad_buffers, _CHIP)):
        for number, buffer in buffers.items():
            yield Register.ADDRESS, buffer.address // WORD_BYTES
            yield Register.SIZE_X, buffer.x
            yield Register.SIZE_Y, buffer.y
            yield Register.MAP, chip | number
    yield Register.PROGRAM, address // WORD_BYTES
    yield Register.INSTRUCTIONS, len(program.instructions)
    yield Register.GRID_X, grid.x
    yield Register.GRID_Y, grid.y
    yield Register.WIDTH, grid.width.bit_length() - 1
    yield Register.POLICY, CODES.index(policy)
    yield Register.CONTROL, 1


@dataclass(frozen=True)
class KernelOutcome:
    """The outcome of a kernel, as registers report it.

    ``cause`` is `Cause.NONE` if nothing stopped it; else ``slot``, ``index`` (of the instruction)
    and ``number`` (of the work-group) say what did.
    """

    cycles: int
    cause: Cause = Cause.NONE
    slot: int = 0
    index: int = 0
    number: int = 0


def kernel_outcome(read: Callable[[Register], int]) -> KernelOutcome:
    """Decode a kernel's outcome from its registers; ``read`` looks one up."""
    cycles = read(Register.CYCLES_LOW) | read(Register.CYCLES_HIGH) << 32
    if not read(Register.STATUS) & Status.FAULT:
        return KernelOutcome(cycles)
    fault = read(Register.FAULT)
    number = read(Register.GROUP_LOW) | read(Register.GROUP_HIGH) << 32
    return KernelOutcome(cycles, Cause(fault & 0xFF), fault >> 8 & 0xFF, fault >> 16, number)
