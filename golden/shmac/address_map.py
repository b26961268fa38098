"""Who answers at which address in SHMAC. A specification.

Ref: SHMAC thesis, 2.3 (Figure 2.5), 3.2.3, 5.2 (Table 5.1). The upper byte of an address
is a tile, row and column of 4 bits each; the other 24 bits are a place in that tile's memory.

Two ranges never leave a tile with a core: its system registers answer there.

- The bootstrap, four words from address 0 on: instructions that jump to the beginning of the
  tile's own memory. They hide the first four words of tile (0, 0) from the cores, so that a
  program of that tile begins after them, at 0x10.
- The topmost kilobyte. The thesis prints 0xFFFFDFF for the clock and 0xFFFFE03 for the tile's
  number: seven digits, of no word. Both are the last byte of a word if an F is missing in front,
  and so they are taken here: 0xFFFFFDFC and 0xFFFFFE00. They hide the end of tile (15, 15). The
  other registers are this project's.
"""

from enum import IntEnum

__all__ = [
    "BOOT_WORDS",
    "COLUMN_SHIFT",
    "COORDINATE_BITS",
    "FAILED_LINE",
    "LOCAL_BITS",
    "MOST_FAILED",
    "RAISED_LINE",
    "ROW_SHIFT",
    "SYSTEM_BASE",
    "VECTOR_OFFSET",
    "SystemRegister",
    "boot_stub",
    "entry_of",
    "tile_base",
    "tile_of",
]

COORDINATE_BITS = 4
LOCAL_BITS = 24
COLUMN_SHIFT, ROW_SHIFT = LOCAL_BITS, LOCAL_BITS + COORDINATE_BITS
BOOT_WORDS = 4
SYSTEM_BASE = 0xFFFF_FC00
VECTOR_OFFSET = 0x80  # of the exception handler, from the beginning of the tile's memory

RAISED_LINE, FAILED_LINE = 0, 1
"""Interrupt lines of a core: another core has raised it; FAILED is not 0."""
MOST_FAILED = (1 << 16) - 1
"""What FAILED counts to."""


class SystemRegister(IntEnum):
    """Addresses of the system registers, a word each. Others of the range answer with an error."""

    CLOCK = 0xFFFF_FDFC    # read: cycles since reset, 32 bits
    TILE = 0xFFFF_FE00     # read: 16 row + column
    EXIT = 0xFFFF_FE04     # write: the program has ended, with this status; the core stops
    CONSOLE = 0xFFFF_FE08  # write: a character, bits 7 to 0
    FAILED = 0xFFFF_FE0C   # read: posted writes that failed; write: anything clears it
    RAISE = 0xFFFF_FE10    # write: raise the interrupt line of the core in tile 16 row + column
    RAISED = 0xFFFF_FE14   # read: whether this core's is raised; write: anything lowers it


def tile_base(row: int, column: int) -> int:
    """The first address of a tile."""
    return row << ROW_SHIFT | column << COLUMN_SHIFT


def tile_of(address: int) -> tuple[int, int]:
    """(row, column) of the tile at an address, whether or not there is one."""
    return address >> ROW_SHIFT, address >> COLUMN_SHIFT & (1 << COORDINATE_BITS) - 1


def entry_of(row: int, column: int) -> int:
    """Where a tile's program begins: the first address of its memory that its core can see."""
    return tile_base(row, column) or 4 * BOOT_WORDS


def boot_stub(row: int, column: int) -> tuple[int, ...]:
    """The four instructions at address 0: ``lui $k0``, or ``ori`` in tile (0, 0), then ``jr $k0``,
    and two that do nothing."""
    k0, entry = 26, entry_of(row, column)
    first = 0x3C00_0000 | entry >> 16 if entry >> 16 else 0x3400_0000 | entry
    return first | k0 << 16, k0 << 21 | 8, 0, 0
