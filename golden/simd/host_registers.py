"""The accelerator's registers as a host sees them.

All registers have 32 bits; an access moves a whole one. A number in parentheses is the first bit of
a field.
"""

import enum

from cyclebound.golden.register_table import Command, RegisterField, RegisterRow, RegisterTable
from cyclebound.golden.simd.faults import Cause
from cyclebound.golden.simd.scheduler import CODES

__all__ = ["REGISTERS", "Register", "Status"]


class Register(enum.IntEnum):
    """Byte address of each register."""

    CONTROL = 0x00       # write 1: start the kernel
    STATUS = 0x04        # `Status`; writing 1s clears REFUSED
    PROGRAM = 0x08       # the program's first word in DRAM, a multiple of 16
    INSTRUCTIONS = 0x0C
    GRID_X = 0x10
    GRID_Y = 0x14
    WIDTH = 0x18         # of a work-group: log2 of its items in a line
    POLICY = 0x1C        # its place in `scheduler.CODES`
    ADDRESS = 0x20       # of a buffer to map: its first word
    SIZE_X = 0x24
    SIZE_Y = 0x28
    MAP = 0x2C           # write: map buffer (0) of DRAM; with bit (8) of the scratchpads
    CYCLES_LOW = 0x30    # compute cycles of the kernel
    CYCLES_HIGH = 0x34
    FAULT = 0x38         # cause (0), slot (8), instruction (16)
    GROUP_LOW = 0x3C     # the work-group's number
    GROUP_HIGH = 0x40


class Status(enum.IntFlag):
    """Bits of STATUS."""

    IDLE = 1      # no kernel runs
    FAULT = 2     # the last one was stopped
    LOADED = 4    # its program was loaded
    REFUSED = 8   # a start or a mapping was not carried out, since this was cleared


def _kept(register: Register, says: str, width: int, **values: int) -> RegisterRow:
    """A register that keeps what is written."""
    return RegisterRow(register.name, register, says,
                       (RegisterField("VALUE", 0, width, "read-write", says, values),))


def _shown(register: Register, says: str, width: int, *valid: str) -> RegisterRow:
    """A register that shows what the accelerator measured."""
    return RegisterRow(register.name, register, says,
                       (RegisterField("VALUE", 0, width, "read-only", says),), valid)


_FAULTED = (Register.STATUS.name, "FAULT")

REGISTERS = RegisterTable(
    rows=(
        RegisterRow("CONTROL", Register.CONTROL, "starts kernels", (
            RegisterField("START", 0, 1, "write-only", "1 starts the kernel"),)),
        RegisterRow("STATUS", Register.STATUS, "what the accelerator does", (
            RegisterField("IDLE", 0, 1, "read-only", "no kernel runs"),
            RegisterField("FAULT", 1, 1, "read-only", "the last kernel was stopped"),
            RegisterField("LOADED", 2, 1, "read-only", "its program was loaded"),
            RegisterField("REFUSED", 3, 1, "clear",
                          "a start or a mapping was not carried out; 1 clears it"))),
        _kept(Register.PROGRAM, "the program's first word in DRAM, a multiple of 16", 30),
        _kept(Register.INSTRUCTIONS, "the program's length in instructions", 32),
        _kept(Register.GRID_X, "items in a line of the grid", 32),
        _kept(Register.GRID_Y, "lines of the grid", 32),
        _kept(Register.WIDTH, "log2 of a work-group's items in a line", 4),
        _kept(Register.POLICY, "which work-groups and accesses run at the same time", 3,
              **{policy.name: code for code, policy in enumerate(CODES)}),
        _kept(Register.ADDRESS, "first word of the buffer to map", 30),
        _kept(Register.SIZE_X, "words in a line of the buffer to map", 32),
        _kept(Register.SIZE_Y, "lines of the buffer to map", 32),
        RegisterRow("MAP", Register.MAP, "a write maps a buffer", (
            RegisterField("BUFFER", 0, 5, "write-only", "its number"),
            RegisterField("SCRATCHPAD", 8, 1, "write-only", "1: in the scratchpads, 0: in DRAM"))),
        _shown(Register.CYCLES_LOW, "compute cycles of the kernel, bits 31 to 0", 32),
        _shown(Register.CYCLES_HIGH, "compute cycles of the kernel, from bit 32 on", 8),
        RegisterRow("FAULT", Register.FAULT, "what stopped a kernel", (
            RegisterField("CAUSE", 0, 3, "read-only", "cause of the stop",
                          {cause.name: cause.value for cause in Cause}),
            RegisterField("SLOT", 8, 1, "read-only", "slot of its work-group"),
            RegisterField("INSTRUCTION", 16, 11, "read-only", "number of its instruction")),
                    _FAULTED),
        _shown(Register.GROUP_LOW, "number of the work-group that was stopped, bits 31 to 0", 32,
               *_FAULTED),
        _shown(Register.GROUP_HIGH, "number of the work-group that was stopped, from bit 32 on", 8,
               *_FAULTED),
    ),
    commands=(
        Command("map_buffer", "Map a buffer of DRAM or of the scratchpads.",
                ("ADDRESS", "SIZE_X", "SIZE_Y", "MAP")),
        Command("start", "Start a kernel.", ("PROGRAM", "INSTRUCTIONS", "GRID_X", "GRID_Y", "WIDTH",
                                             "POLICY", "CONTROL")),
    ),
    idle=("STATUS", "IDLE"), refused=("STATUS", "REFUSED"))
"""Fields of these registers, and the writes that map a buffer and start a kernel."""
