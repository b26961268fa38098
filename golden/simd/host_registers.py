"""The accelerator's registers as a host sees them.

All registers have 32 bits; an access moves a whole one. A number in parentheses is the first bit of
a field.
"""

import enum

__all__ = ["Register", "Status"]


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
