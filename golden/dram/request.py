"""Requests to the DRAM path, and the sizes of their words and fields.

A *tile request* reads or writes ``count`` lines of ``words`` words, ``period`` words apart. Where
its words go on the chip is linear in line and column as well: the word in column *c* of line *l*
has the *target* ``base + l * pitch + c``. That one formula serves all destinations:

- scratchpad: the target is a word address, ``pitch`` the scratchpad buffer's line;
- registers: the target is an element; lane ``target >> transform``, register
  ``target & (1 << transform) - 1`` of a group of 1, 2 or 4 (unit, vec2, vec4);
- CAM (snoopy): ``pitch`` is ``period``, so that the target is the word's index in the buffer.

Ref: Sim-D, sections 3.2.1, 3.2.3 and 3.2.4.
"""

import enum
from dataclasses import dataclass

__all__ = ["ADDRESS_BITS", "BEATS", "BEAT_WORDS", "BUFFERS", "BURST_BITS", "BURST_BYTES",
           "BURST_WORDS", "CLIENTS", "COUNT_BITS", "FIFO_DEPTH", "SLOTS", "TARGET_BITS",
           "WORD_BITS", "WORD_BYTES", "Burst", "Destination", "Refusal", "TileRequest"]

WORD_BYTES = 4
WORD_BITS = 32
BURST_WORDS = 16   # Sim-D, Table 1: nBW, 64 bytes
BURST_BYTES = BURST_WORDS * WORD_BYTES
BEAT_WORDS = 4     # a DRAM clock moves two beats of the 64-bit bus
BEATS = BURST_WORDS // BEAT_WORDS  # DRAM clocks of data in a burst, nBURST
ADDRESS_BITS = 30  # of a word: 4 GiB
BURST_BITS = 26    # of a burst
COUNT_BITS = 20    # words of a line, words between lines, lines; also an index
TARGET_BITS = 20   # where a word goes; the CAM's index is the widest
BUFFERS = 32       # Sim-D, section 3.2.4 and its model: 32 mapped DRAM buffers of a client
CLIENTS = 8        # that may share a controller, each with so many buffers
FIFO_DEPTH = 8     # of a bank, after its head
SLOTS = 16         # per bank: burst descriptors kept until their data have moved


class Destination(enum.IntEnum):
    """The chip's side of a transfer."""

    SCRATCHPAD = 0
    REGISTERS = 1
    CAM = 2


class Refusal(enum.IntEnum):
    """Why a request was not carried out; the first that applies."""

    NONE = 0
    UNMAPPED = 1       # the buffer has no mapping
    EMPTY = 2          # no words, or no lines
    SNOOP = 3          # a tile for the CAM, of a buffer with more words than there are indexes
    WIDTH = 4          # a line ends beyond the buffer's line
    HEIGHT = 5         # the last line lies beyond the buffer
    INDEX = 6          # an index lies beyond the buffer; the other words of its request are moved
    DEVICE = 7         # the buffer ends beyond the device


@dataclass(frozen=True)
class TileRequest:
    """A 1D or 2D tile in DRAM, as the stride sequencer gets it.

    Attributes
    ----------
    address : int
        Of the first word, in words.
    words, period, count : int
        Words in a line, words from a line's first word to the next line's, lines.
    write : bool
        From the chip to DRAM.
    destination : Destination
        The chip's side.
    base, pitch : int
        Target of the first word; targets from a line's first word to the next line's.
    transform : int
        Registers only: log2 of the elements that share a lane, 0 to 2.

    Raises
    ------
    ValueError
        For parameters that describe no tile.
    """

    address: int
    words: int
    period: int = 0  # 0: as many as there are words
    count: int = 1
    write: bool = False
    destination: Destination = Destination.SCRATCHPAD
    base: int = 0
    pitch: int | None = None  # None: lines follow each other on the chip without gaps
    transform: int = 0

    def __post_init__(self) -> None:
        if self.period == 0:
            object.__setattr__(self, "period", self.words)
        if self.pitch is None:
            object.__setattr__(self, "pitch", self.period if self.destination is Destination.CAM
                               else self.words)
        for name, least, bits in (("address", 0, ADDRESS_BITS), ("words", 1, COUNT_BITS),
                                  ("period", 1, COUNT_BITS), ("count", 1, COUNT_BITS),
                                  ("base", 0, TARGET_BITS), ("pitch", 0, TARGET_BITS),
                                  ("transform", 0, None)):
            value = getattr(self, name)
            most = 2 if bits is None else (1 << bits) - 1
            if not isinstance(value, int) or not least <= value <= most:
                raise ValueError(f"{name} must be from {least} to {most}, not {value!r}")
        if self.period < self.words:
            raise ValueError(f"period must be at least the words of a line ({self.words}), "
                             f"not {self.period}")
        if self.end > 1 << ADDRESS_BITS:
            raise ValueError(f"the tile must end by word {1 << ADDRESS_BITS}, not {self.end}")

    @property
    def end(self) -> int:
        """Address of the first word after the tile's last."""
        return self.address + (self.count - 1) * self.period + self.words


@dataclass(frozen=True)
class Burst:
    """One 64-byte burst request of a tile or an index.

    ``address`` counts bursts; ``mask`` has a bit for each word that is moved; ``targets`` holds
    the target of each of those words, and anything for the others.
    """

    address: int
    mask: int
    targets: tuple[int, ...]
    write: bool = False
    destination: Destination = Destination.SCRATCHPAD
    transform: int = 0
    indexed: bool = False
    last: bool = False
