"""The registers by which a core starts the jobs of a tile. A specification.

A program writes a job's operands, or the words of its configuration, then START, and reads STATUS
until IDLE is 1. All accesses are of whole words of 32 bits, each at a multiple of four. Refused,
which is an error response and no effect, are

- an access at an address of no register, or of a part of a word, LL, SC, an interrupt;
- a write of a read-only register;
- while a job is under way, each write but that of STATUS to clear REFUSED;
- a write of CONTROL that is not START: a job ends by itself, since no tile can be told to stop one;
- START, or the next word, while the tile has not taken the word before.

Each refused write sets REFUSED, so that a program that has posted writes need not see their error
responses: a core's requests to one tile keep their order.
"""

import enum
from collections.abc import Iterator
from typing import NamedTuple

from cyclebound.golden.noc.routes import Tile
from cyclebound.golden.register_table import Command, RegisterField, RegisterRow, RegisterTable
from cyclebound.golden.shmac.address_map import tile_base

__all__ = ["CORE", "JOB_TILES", "MESH", "MOST_OPERANDS", "Control", "JobRegister", "JobTile",
           "KernelOperand", "Status", "job_table", "map_rows", "page_rows"]


class JobRegister(enum.IntEnum):
    """Byte address of each register; operands follow each other from OPERAND on."""

    CONTROL = 0x00
    STATUS = 0x04
    CYCLES = 0x08
    WORD = 0x0C
    OPERAND = 0x10


class Control(enum.IntEnum):
    """Bits of CONTROL."""

    START = 0


class Status(enum.IntEnum):
    """Bits of STATUS."""

    IDLE = 0
    FAULT = 1
    REFUSED = 2


MOST_OPERANDS = 64
"""Operands of a tile."""


class KernelOperand(enum.IntEnum):
    """Operands of the SIMD accelerator, by their number."""

    PROGRAM = 0       # the program's first word in DRAM, a multiple of 16
    INSTRUCTIONS = 1
    GRID_X = 2
    GRID_Y = 3
    WIDTH = 4         # of a work-group: log2 of its items in a line
    POLICY = 5        # its place in `golden.simd.scheduler.CODES`


class JobTile(NamedTuple):
    """Where the registers of a kind of tile are, by row and column of SHMAC's network, and how many
    operands it has."""

    place: Tile
    operands: int = 0


MESH = 2, 2
"""Rows and columns of the network of a core in charge of jobs."""
CORE: Tile = (0, 0)
JOB_TILES = {"dataflow": JobTile((0, 1)), "systolic": JobTile((1, 0)),
             "simd": JobTile((1, 1), len(KernelOperand))}
"""The tiles that such a core starts jobs on. One that is not there answers with errors."""


def job_table(*, operands: int) -> RegisterTable:
    """The registers of a tile with so many operands.

    Raises `ValueError` for a number of operands that no tile has.
    """
    if not 0 <= operands <= MOST_OPERANDS:
        raise ValueError(f"Operand count must be from 0 to {MOST_OPERANDS}, not {operands}")
    status = "STATUS"
    rows = (
        RegisterRow("CONTROL", JobRegister.CONTROL, "starts jobs", (
            RegisterField("START", Control.START, 1, "write-only", "1 starts the job"),)),
        RegisterRow(status, JobRegister.STATUS, "what has become of the job", (
            RegisterField("IDLE", Status.IDLE, 1, "read-only", "no job is under way"),
            RegisterField("FAULT", Status.FAULT, 1, "read-only",
                          "the tile has reported a fault since the last START"),
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


def map_rows() -> Iterator[str]:
    """The tiles as rows of Markdown: address, tile, what a program writes before START."""
    yield "| address | tile | before START |"
    yield "| --- | --- | --- |"
    says = {"dataflow": "each word of the configuration, to `WORD`",
            "systolic": "each word of each command, to `WORD`",
            "simd": ", ".join(f"{one.name} to `OPERAND_{one.value}`" for one in KernelOperand)}
    for kind, tile in JOB_TILES.items():
        yield f"| 0x{tile_base(*tile.place):08X} | {kind} | {says[kind]} |"
