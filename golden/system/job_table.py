"""The registers by which a core starts the jobs of a tile. A specification.

A program writes a job's operands, or the words of its configuration, then START, and reads STATUS
until IDLE is 1. All accesses are of whole words of 32 bits, each at a multiple of four. Refused,
which is an error response and no effect, are

- an access at an address of no register, or of a part of a word, LL, SC, an interrupt;
- a write of a read-only register;
- while a job is under way, each write but that of ABORT, or of STATUS to clear REFUSED; while none
  is, ABORT;
- a write of CONTROL that is neither START nor ABORT, or both;
- START, or the next word, while the tile has not taken the word before.

Each refused write sets REFUSED, so that a program that has posted writes need not see their error
responses: a core's requests to one tile keep their order.
"""

import enum
from collections.abc import Iterator

from cyclebound.golden.register_table import Command, RegisterField, RegisterRow, RegisterTable

__all__ = ["MOST_OPERANDS", "Control", "JobRegister", "Status", "job_table", "page_rows"]


class JobRegister(enum.IntEnum):
    """Byte address of each register; operands follow each other from OPERAND on."""

    CONTROL = 0x00
    STATUS = 0x04
    CYCLES = 0x08
    WORD = 0x0C
    OPERAND = 0x10


class Control(enum.IntEnum):
    """Bits of CONTROL, one of which is written."""

    START = 0
    ABORT = 1


class Status(enum.IntEnum):
    """Bits of STATUS."""

    IDLE = 0
    FAULT = 1
    ABORTED = 2
    REFUSED = 3


MOST_OPERANDS = 64
"""Operands of a tile."""


def job_table(*, operands: int) -> RegisterTable:
    """The registers of a tile with so many operands.

    Raises `ValueError` for a number of operands that no tile has.
    """
    if not 0 <= operands <= MOST_OPERANDS:
        raise ValueError(f"Operand count must be from 0 to {MOST_OPERANDS}, not {operands}")
    status = "STATUS"
    rows = (
        RegisterRow("CONTROL", JobRegister.CONTROL, "starts and stops jobs", (
            RegisterField("START", Control.START, 1, "write-only", "1 starts the job"),
            RegisterField("ABORT", Control.ABORT, 1, "write-only",
                          "1 tells the tile to stop the job that is under way"))),
        RegisterRow(status, JobRegister.STATUS, "what has become of the job", (
            RegisterField("IDLE", Status.IDLE, 1, "read-only", "no job is under way"),
            RegisterField("FAULT", Status.FAULT, 1, "read-only",
                          "the tile has reported a fault since the last START"),
            RegisterField("ABORTED", Status.ABORTED, 1, "read-only",
                          "the tile was told to stop the job"),
            RegisterField("REFUSED", Status.REFUSED, 1, "clear",
                          "a write was refused; 1 clears it"))),
        RegisterRow("CYCLES", JobRegister.CYCLES, "time of the job", (
            RegisterField("VALUE", 0, 32, "read-only", "cycles that the job has taken, 2^32 - 1 if "
                          "more"),)),
        RegisterRow("WORD", JobRegister.WORD, "the job's configuration", (
            RegisterField("VALUE", 0, 32, "write-only", "its next word"),)),
        *(RegisterRow(f"OPERAND_{number}", JobRegister.OPERAND + 4 * number,
                      f"operand {number} of the job", (
                          RegisterField("VALUE", 0, 32, "read-write", "what the tile reads"),))
          for number in range(operands)),
    )
    return RegisterTable(rows, (Command("start", "Start a job.", ("CONTROL",)),),
                         idle=(status, "IDLE"), refused=(status, "REFUSED"))


def page_rows(table: RegisterTable) -> Iterator[str]:
    """The table's fields as rows of Markdown: address, register, bits, field, access, meaning."""
    yield "| address | register | bits | field | access | meaning |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for row in sorted(table.rows, key=lambda row: row.address):
        for one in row.fields:
            high = one.low + one.width - 1
            bits = f"{high}" if one.width == 1 else f"{high} to {one.low}"
            yield (f"| 0x{row.address:02X} | `{row.name}` | {bits} | `{one.name}` | {one.access} | "
                   f"{one.says} |")
