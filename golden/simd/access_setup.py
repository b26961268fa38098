"""Golden model of what an access moves: item by item, and word by word.

Each item, each word of a scratchpad buffer and each scalar register is asked for the word of memory
that is its own, and whether the buffer has that word. Hardware cuts rectangles instead.

Ref: Sim-D, sections 3.2.1, 3.2.3, 3.2.4 and 3.3.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from cyclebound.golden.simd.machine import SCALARS
from cyclebound.golden.simd.transfers import Fault

__all__ = ["Committed", "Move", "collide", "moves"]


class Move(NamedTuple):
    """A word of a buffer, and its place on the chip's other side.

    ``line, column``: in the DRAM buffer, or in the scratchpad buffer. ``target``: item times
    registers plus register; or a word of the scratchpad; or a scalar register; of a snoopy access,
    the word's index in its buffer.
    """

    line: int
    column: int
    target: int


@dataclass(frozen=True)
class Committed:
    """An access as the compute unit shows it, and the buffers that it names.

    Attributes
    ----------
    name : str
        The instruction's.
    items, across : int
        Of the work-group: all, and those side by side.
    buffer : tuple of int
        Words in a line and lines of the DRAM buffer.
    chip : tuple of int
        Address, words in a line and lines of the scratchpad buffer.
    registers : int
        Vector registers of each item: 1, 2 or 4.
    target : int
        The first register.
    x, y : int
        Offsets.
    group_x, group_y, grid_y : int
        The work-group's first item, and the grid's lines.
    count : int
        Words of ``sldg``.
    sd_words, sd_period, sd_period_cnt : int
        Words of ``sldsp``; words of a line, from a line to the next, and lines of a snoopy tile.
    """

    name: str
    items: int
    across: int
    buffer: tuple[int, int] = (0, 0)
    chip: tuple[int, int, int] = (0, 0, 0)
    registers: int = 1
    target: int = 0
    x: int = 0
    y: int = 0
    group_x: int = 0
    group_y: int = 0
    grid_y: int = 1
    count: int = 1
    sd_words: int = 1
    sd_period: int = 1
    sd_period_cnt: int = 1


def moves(access: Committed) -> list[Move]:
    """Every word that moves, in the order of targets. Raises `Fault`."""
    return {"ldglin": _linear, "stglin": _linear, "ldg2sptile": _tile, "stg2sptile": _tile,
            "ldsplin": _local, "stsplin": _local, "sldg": _few, "sldsp": _few_of_chip,
            "ldgbidx": _whole, "stgbidx": _whole, "ldgcidx": _some, "stgcidx": _some,
            "ldspbidx": _whole_chip, "stspbidx": _whole_chip}[access.name](access)


def collide(moves: list[Move], period: int, reach: int, places: int) -> bool:
    """Whether ``reach`` words in a row of memory have two that go to the same place, of ``places``
    that take a word each: those whose targets are equal modulo that.

    ``period``: words from a line's first word to the next line's.
    """
    at = {move.line * period + move.column: move.target for move in moves}
    return any((at[first + distance] - target) % places == 0
               for first, target in at.items() for distance in range(1, reach)
               if first + distance in at)


def _inside(wanted: Iterator[Move], buffer: tuple[int, int]) -> list[Move]:
    """The moves that lie inside their buffer; clipped ones are not made."""
    x, y = buffer
    return [move for move in wanted if 0 <= move.column < x and 0 <= move.line < y]


def _items(access: Committed) -> Iterator[tuple[int, int, int]]:
    """(item, line, column) of a work-group."""
    for item in range(access.items):
        yield item, *divmod(item, access.across)


def _linear(access: Committed) -> list[Move]:
    k = access.registers
    return _inside((
        Move(access.group_y + line + access.y,
             (access.group_x + column + access.x) * k + register, item * k + register)
        for item, line, column in _items(access) if access.group_y + line < access.grid_y
        for register in range(k)), access.buffer)


def _local(access: Committed) -> list[Move]:
    return _inside((Move(line + access.y, column + access.x, item)
                    for item, line, column in _items(access)), access.chip[1:])


def _tile(access: Committed) -> list[Move]:
    address, across, lines = access.chip
    return _inside((Move(line + access.y, column + access.x, address + line * across + column)
                    for line in range(lines) for column in range(across)), access.buffer)


def _few(access: Committed) -> list[Move]:
    return _row(access.buffer, 0, access.count, access.target)


def _few_of_chip(access: Committed) -> list[Move]:
    _, across, lines = access.chip
    if not 1 <= access.sd_words <= SCALARS - access.target:
        raise Fault(f"{access.sd_words} words from s{access.target} on")
    if not (0 <= access.x < across and 0 <= access.y < lines):
        raise Fault(f"({access.x}, {access.y}) is no word of the buffer")
    return _row((across, lines), access.y * across + access.x, access.sd_words, access.target)


def _whole(access: Committed) -> list[Move]:
    across, lines = access.buffer
    return [Move(*divmod(index, across), index) for index in range(across * lines)]


def _whole_chip(access: Committed) -> list[Move]:
    _, across, lines = access.chip
    return [Move(*divmod(index, across), index) for index in range(across * lines)]


def _some(access: Committed) -> list[Move]:
    """Lines of a snoopy tile are the buffer's own, if there is more than one."""
    (across, lines), words, count = access.buffer, access.sd_words, access.sd_period_cnt
    if not (1 <= words <= access.sd_period and count >= 1):
        raise Fault(f"{count} lines of {words} words, {access.sd_period} apart")
    if count > 1 and access.sd_period != across:
        raise Fault(f"lines {access.sd_period} words apart, and the buffer's are {across}")
    if not (access.x >= 0 and access.x + words <= across
            and access.y >= 0 and access.y + count <= lines):
        raise Fault(f"{count} lines of {words} words at ({access.x}, {access.y})")
    return [Move(access.y + line, access.x + column,
                 (access.y + line) * across + access.x + column)
            for line in range(count) for column in range(words)]


def _row(buffer: tuple[int, int], first: int, words: int, target: int) -> list[Move]:
    """Words one after the other, over the ends of lines."""
    across, lines = buffer
    if first + words > across * lines:
        raise Fault(f"words {first} to {first + words - 1} of {across * lines}")
    return [Move(*divmod(first + number, across), target + number) for number in range(words)]
