"""The words that a work-group's accesses move: rectangles of buffers, or single words.

An access is worked out from the instruction and the work-group's state before anything moves
(`Access`): which words of which buffer, and where they go. Rectangles are clipped to their buffers,
so that only indexes and sizes from registers can be wrong; those raise `Fault`.

Ref: Sim-D, sections 3.2.1, 3.2.3, 3.2.4 and 3.3.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from cyclebound.golden.dram.request import BEAT_WORDS, COUNT_BITS, WORD_BYTES
from cyclebound.golden.simd.machine import SCALARS
from cyclebound.golden.simd.program import Buffer

__all__ = ["Access", "Fault", "Rectangle", "check_few", "check_own_lines", "clipped", "indexed",
           "lines", "rectangle", "snooped", "whole"]

_SNOOPED = 1 << COUNT_BITS  # words that a CAM can tell apart


class Fault(ValueError):
    """An access that leaves its buffer, or a register that does not exist."""


@dataclass(frozen=True)
class Rectangle:
    """Lines ``top`` to ``bottom`` and columns ``left`` to ``right`` of a buffer, ends excluded."""

    left: int
    right: int
    top: int
    bottom: int

    @property
    def empty(self) -> bool:
        return self.left >= self.right or self.top >= self.bottom


@dataclass(frozen=True)
class Access:
    """An access to one buffer, as resources see it.

    Attributes
    ----------
    resource : str
        ``dram`` or ``scratchpad``.
    write : bool
        From the chip to DRAM, or from registers to the scratchpad.
    address : int
        Of the first word, in words: of DRAM, or of the scratchpad.
    words, period, count : int
        Of the tile's lines; no words or lines: nothing is moved.
    indexes : tuple of int or None
        Of an access index by index: offsets in words from ``address``, by lane.
    limit : int
        Words of the buffer.
    pitch : int or None
        On the chip, from a line's first word to the next line's; None: as many as a line has.
    streamed : bool
        The scratchpad sends the buffer from end to end, not line by line.
    across : int or None
        Words in a line of a buffer whose first words are wanted, over the ends of lines.
    move : callable
        Does it.
    """

    resource: str
    write: bool
    address: int
    words: int
    period: int
    count: int
    limit: int
    move: Callable[[], None]
    indexes: tuple[int, ...] | None = None
    streamed: bool = False
    pitch: int | None = None
    across: int | None = None

    @property
    def empty(self) -> bool:
        return self.indexes is None and (self.words < 1 or self.count < 1)

    @property
    def split(self) -> bool:
        """DRAM moves it line by line: a beat might have words of two lines that do not follow each
        other on the chip, and find two of them in one bank."""
        return self.meets(BEAT_WORDS)

    def meets(self, reach: int) -> bool:
        """Whether ``reach`` words in a row may have some of two lines that do not follow each other
        on the chip as they do in memory."""
        return (self.count > 1 and self.pitch not in (None, self.words, self.period)
                and self.period - self.words < reach - 1)

    @property
    def whole_lines(self) -> "Access":
        """The lines of the buffer that have the words, with all that the last one has."""
        if self.across is None or self.words <= self.across:
            return self
        return replace(self, words=self.across, period=self.across, pitch=self.across,
                       count=-(-self.words // self.across), across=None)


def clipped(buffer: Buffer, x: int, y: int, words: int, count: int) -> Rectangle:
    """The part that lies in the buffer of ``count`` lines of ``words`` words from (x, y) on."""
    return Rectangle(max(x, 0), min(x + words, buffer.x), max(y, 0), min(y + count, buffer.y))


def rectangle(resource: str, write: bool, buffer: Buffer, part: Rectangle, pitch: int,
              move: Callable[[], None]) -> Access:
    """An access to a rectangle, which may be empty; its lines are ``pitch`` apart on the chip."""
    return Access(resource, write, buffer.address // WORD_BYTES + part.top * buffer.x + part.left,
                  max(part.right - part.left, 0), buffer.x, max(part.bottom - part.top, 0),
                  buffer.words, (lambda: None) if part.empty else move, pitch=pitch)


def whole(resource: str, write: bool, buffer: Buffer, move: Callable[[], None]) -> Access:
    """An access to all words of a buffer, which CAMs snoop."""
    return lines(resource, write, buffer, 0, buffer.words, buffer.words, 1, move)


def lines(resource: str, write: bool, buffer: Buffer, first: int, words: int, period: int,
          count: int, move: Callable[[], None], *, across: int | None = None) -> Access:
    """``count`` lines of ``words`` words, ``period`` words apart, from a buffer's word ``first``.

    Raises `Fault` if they leave the buffer, or are no lines.
    """
    if resource == "dram" and buffer.words > _SNOOPED:
        raise Fault(f"buffer {buffer.number} has {buffer.words} words, and a snoopy access can "
                    f"tell {_SNOOPED} apart")
    if not (1 <= words <= period and count >= 1):
        raise Fault(f"{count} lines of {words} words, {period} apart, are no tile")
    end = first + (count - 1) * period + words
    if first < 0 or end > buffer.words:
        raise Fault(f"words {first} to {end - 1} leave buffer {buffer.number} of {buffer.words} "
                    "words")
    return Access(resource, write, buffer.address // WORD_BYTES + first, words, period, count,
                  buffer.words, move, streamed=True, pitch=period, across=across)


def check_own_lines(buffer: Buffer, left: int, top: int, words: int, period: int, count: int
                    ) -> None:
    """Raise `Fault` unless the lines of a snoopy tile are parts of the buffer's own, as the
    accelerator takes them: it moves line by line."""
    if not (0 <= left and left + words <= buffer.x and 0 <= top
            and (count == 1 or period == buffer.x)):
        raise Fault(f"{count} lines of {words} words, {period} apart, from ({left}, {top}) "
                    f"on are no lines of buffer {buffer.number}")


def check_few(buffer: Buffer, left: int, top: int, words: int, register: int) -> None:
    """Raise `Fault` unless ``words`` of a scratchpad fit into scalar registers from ``register``
    on, and begin in the buffer."""
    if not 1 <= words <= SCALARS - register:
        raise Fault(f"sldsp to s{register} takes 1 to {SCALARS - register} words, not {words}")
    if not (0 <= left < buffer.x and 0 <= top < buffer.y):
        raise Fault(f"({left}, {top}) is no word of scratchpad buffer {buffer.number}")


def snooped(index: np.ndarray, active: np.ndarray, first: int, words: int, period: int, count: int
            ) -> np.ndarray:
    """The lanes whose index lies in the lines that stream past."""
    offset = index.astype(np.int64) - first
    return (active & (offset >= 0) & (offset < (count - 1) * period + words)
            & (offset % period < words))


def indexed(write: bool, buffer: Buffer, index: np.ndarray, active: np.ndarray,
            move: Callable[[np.ndarray], None]) -> Access:
    """An access to a word for each active lane; ``move`` gets the lanes whose index is legal."""
    legal = active & (index < buffer.words)
    lost = active & ~legal

    def all_moved() -> None:
        move(legal)
        if lost.any():
            lane = int(np.flatnonzero(lost)[0])
            raise Fault(f"index {int(index[lane])} of lane {lane} leaves buffer {buffer.number} "
                        f"of {buffer.words} words")

    return Access("dram", write, buffer.address // WORD_BYTES, 0, 0, 0, buffer.words, all_moved,
                  tuple(index[active].tolist()))
