"""The accelerator's registers as a host sees them, and what each access to them does.

All registers have 32 bits; an access moves a whole one. A number in parentheses is the first bit of
a field.
"""

import enum
from dataclasses import dataclass, field

from cyclebound.golden.simd.machine import Machine
from cyclebound.golden.simd.program import INSTRUCTIONS

__all__ = ["HostModel", "Register", "Status"]


class Register(enum.IntEnum):
    """Byte address of each register."""

    CONTROL = 0x00       # write 1: start the kernel
    STATUS = 0x04        # `Status`; writing 1s clears REFUSED
    PROGRAM = 0x08       # the program's first word in DRAM, a multiple of 16
    INSTRUCTIONS = 0x0C
    GRID_X = 0x10
    GRID_Y = 0x14
    WIDTH = 0x18         # of a work-group: log2 of its items in a line
    POLICY = 0x1C
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


_WRITABLE = {Register.PROGRAM: 30, Register.INSTRUCTIONS: 32, Register.GRID_X: 32,
             Register.GRID_Y: 32, Register.WIDTH: 4, Register.POLICY: 2, Register.ADDRESS: 30,
             Register.SIZE_X: 32, Register.SIZE_Y: 32}


@dataclass
class HostModel:
    """Registers, and what leaves for the ``machine``.

    ``kept`` is what was written. A start without a grid, a program or in the middle of a burst is
    refused, and so is one with a width that the machine does not have, and whatever comes while a
    kernel runs.
    """

    machine: Machine
    kept: dict[Register, int] = field(default_factory=dict)
    refused: bool = False

    def write(self, address: int, value: int, *, idle: bool) -> tuple[str, dict[str, int]] | None:
        """What a write sends: ``start``, ``mapping`` or ``chip``, with its fields; or nothing."""
        if address in _WRITABLE:
            register = Register(address)
            self.kept[register] = value & (1 << _WRITABLE[register]) - 1
        elif address == Register.STATUS and value & Status.REFUSED:
            self.refused = False
        elif address == Register.CONTROL and value & 1:
            return self._start(idle)
        elif address == Register.MAP:
            return self._map(value, idle)
        return None

    def _of(self, register: Register) -> int:
        return self.kept.get(register, 0)

    def _start(self, idle: bool) -> tuple[str, dict[str, int]] | None:
        x, y = self._of(Register.GRID_X), self._of(Register.GRID_Y)
        length, address = self._of(Register.INSTRUCTIONS), self._of(Register.PROGRAM)
        width = self._of(Register.WIDTH)
        sizes = 0 < x < 1 << 20 and 0 < y < 1 << 20 and 0 < length <= INSTRUCTIONS
        if not idle or not sizes or 1 << width not in self.machine.widths or address % 16:
            self.refused = True
            return None
        return "start", {"address": address, "instructions": length, "x": x, "y": y,
                         "width": width, "policy": self._of(Register.POLICY)}

    def _map(self, value: int, idle: bool) -> tuple[str, dict[str, int]] | None:
        x, y = self._of(Register.SIZE_X), self._of(Register.SIZE_Y)
        number, address = value & 31, self._of(Register.ADDRESS)
        chip = bool(value & 1 << 8)
        most = 1 << (14 if chip else 20)
        if not idle or x >= most or y >= most or (chip and address >= 1 << 14):
            self.refused = True
            return None
        return "chip" if chip else "mapping", {"number": number, "address": address, "x": x,
                                               "y": y}

    def read(self, address: int, shown: dict[str, int]) -> int:
        """A register's content; ``shown`` is what the accelerator shows."""
        if address == Register.STATUS:
            return (Status.IDLE * shown["idle"] | Status.FAULT * shown["fault"]
                    | Status.LOADED * shown["loaded"] | Status.REFUSED * self.refused)
        mask = (1 << 32) - 1
        return {
            Register.CYCLES_LOW: shown["cycles"] & mask,
            Register.CYCLES_HIGH: shown["cycles"] >> 32,
            Register.FAULT: shown["cause"] | shown["slot"] << 8 | shown["index"] << 16,
            Register.GROUP_LOW: shown["number"] & mask,
            Register.GROUP_HIGH: shown["number"] >> 32,
        }.get(address, self.kept.get(address, 0))
