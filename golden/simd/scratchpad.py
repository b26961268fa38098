"""Golden model of a scratchpad: which words a transfer moves in which clock.

It lists all words of a tile, and groups them by the lines of the bus, counted from the tile's first
word; hardware walks from line to line.

Ref: Sim-D, section 3.3.
"""

from dataclasses import dataclass

import numpy as np

from cyclebound.golden.simd.machine import SCRATCHPAD_WORDS

__all__ = ["ScratchpadTile", "bus_lines"]


@dataclass(frozen=True)
class ScratchpadTile:
    """A transfer between a scratchpad and what is on the other side of its bus.

    Raises `ValueError` without a word or a line, for lines that overlap, for a negative address,
    and for a tile that ends beyond the scratchpad's last word.

    Attributes
    ----------
    address : int
        Of the first word.
    words, period, count : int
        Words in a line, words from a line's first word to the next line's, lines.
    base, pitch : int
        Target of the first word, and from a line's first word to the next line's.
    write : bool
        Into the scratchpad.
    restart : bool
        A line of the bus has words of one line of the tile only.
    """

    address: int
    words: int
    period: int
    count: int
    base: int = 0
    pitch: int = 0
    write: bool = False
    restart: bool = False

    def __post_init__(self) -> None:
        if not (1 <= self.words <= self.period and self.count >= 1 and 0 <= self.address):
            raise ValueError(f"{self} is no tile")
        if self.end > SCRATCHPAD_WORDS:
            raise ValueError(f"{self} ends beyond word {SCRATCHPAD_WORDS}")

    @property
    def end(self) -> int:
        """The word after its last."""
        return self.address + (self.count - 1) * self.period + self.words


def bus_lines(tile: ScratchpadTile, bus: int) -> list[list[tuple[int, int, int]]]:
    """Clock by clock, the words that move: (position on the bus, address, target) of each."""
    line, column = np.indices((tile.count, tile.words)).reshape(2, -1)
    offsets = line * tile.period + column
    targets = tile.base + line * tile.pitch + column
    begins = line * tile.period * tile.restart  # from which word on lines of the bus are counted
    by_line: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    for offset, target, begin in sorted(zip(offsets.tolist(), targets.tolist(), begins.tolist(),
                                            strict=True)):
        number, place = divmod(offset - begin, bus)
        by_line.setdefault((begin, number), []).append((place, tile.address + offset, target))
    return [by_line[number] for number in sorted(by_line)]
