"""AXI4's rules for a DRAM: which bytes a burst means, and which bursts are legal.

An AXI *burst* (one address, one to 256 transfers) never leaves its 4 KiB, so that one line of words
holds it. Everything is said here byte by byte and transfer by transfer, as the standard does; the
hardware works with rows of 16 bytes and with masks.

Ref: AMBA AXI Protocol Specification (IHI 0022), sections A3.4 and A5.3.
"""

import enum
from dataclasses import dataclass

from cyclebound.golden.dram.request import BURST_BYTES, WORD_BYTES

__all__ = ["DATA_BYTES", "LINE_WORDS", "MOST_TRANSFERS", "PAGE_BYTES", "AxiBurst", "AxiResponse",
           "AxiType", "apply_write", "read_lanes"]

DATA_BYTES = 16       # of the data bus: what DRAM moves in one of its clocks
MOST_TRANSFERS = 256
PAGE_BYTES = 4096     # no burst crosses a multiple of it
LINE_WORDS = 1 << 18  # of the one buffer that is all of DRAM: a power of two that a count holds


class AxiType(enum.IntEnum):
    """Kinds of burst, as AxBURST encodes them."""

    FIXED = 0
    INCR = 1
    WRAP = 2


class AxiResponse(enum.IntEnum):
    """xRESP. Exclusive accesses are done as normal ones, and therefore answered OKAY."""

    OKAY = 0
    SLVERR = 2  # the standard does not allow it, or WLAST is misplaced; nothing read or written
    DECERR = 3  # no DRAM there; nothing was read or written


@dataclass(frozen=True)
class AxiBurst:
    """A burst as the address channel states it.

    Attributes
    ----------
    address : int
        Of the first transfer's first byte.
    length : int
        AxLEN: transfers less one.
    size : int
        AxSIZE: log2 of a transfer's bytes.
    type : int
        AxBURST.
    """

    address: int
    length: int
    size: int = 4
    type: int = AxiType.INCR

    @property
    def transfers(self) -> list[range]:
        """The byte addresses of each transfer, in order. An unaligned first one is shorter."""
        width, count = 1 << self.size, self.length + 1
        ranges, aligned = [], self.address // width * width
        for number in range(count):
            start = aligned + (0 if self.type == AxiType.FIXED else number * width)
            if self.type == AxiType.WRAP:
                block = self.address // (width * count) * width * count
                start = block + (start - block) % (width * count)
            ranges.append(range(max(start, self.address) if number == 0 or
                                self.type == AxiType.FIXED else start, start + width))
        return ranges

    @property
    def legal(self) -> bool:
        """Whether the standard allows it on a bus of 16 bytes."""
        if 1 << self.size > DATA_BYTES or self.type not in tuple(AxiType):
            return False
        if self.type == AxiType.WRAP:
            return self.length + 1 in (2, 4, 8, 16) and self.address % (1 << self.size) == 0
        if self.type == AxiType.FIXED:
            return self.length < 16
        return self.transfers[-1][-1] // PAGE_BYTES == self.address // PAGE_BYTES

    def response(self, device_bytes: int) -> AxiResponse:
        """The response of a device of ``device_bytes`` bytes."""
        if not self.legal:
            return AxiResponse.SLVERR
        if max(transfer[-1] for transfer in self.transfers) >= device_bytes:
            return AxiResponse.DECERR
        return AxiResponse.OKAY

    @property
    def dram_bursts(self) -> range:
        """The numbers of the DRAM bursts that a legal burst touches: 64 bytes each."""
        touched = sorted({transfer[0] // BURST_BYTES for transfer in self.transfers})
        return range(touched[0], touched[-1] + 1)


def apply_write(memory: dict[int, int], burst: AxiBurst, data: list[int],
                strobes: list[int]) -> bool:
    """Write a legal burst into a memory of bytes; whether any transfer has part of a word.

    ``data`` and ``strobes`` are the bus in each transfer; the standard allows strobes only for the
    transfer's own bytes. Words with some of their bytes only cost the hardware another request:
    it has to read them first.
    """
    partial = False
    for addresses, word, strobe in zip(burst.transfers, data, strobes, strict=True):
        for address in addresses:
            lane = address % DATA_BYTES
            if strobe >> lane & 1:
                memory[address] = word >> 8 * lane & 0xFF
        lanes = sum(1 << address % DATA_BYTES for address in addresses) & strobe
        nibbles = [lanes >> first & 15 for first in range(0, DATA_BYTES, WORD_BYTES)]
        partial |= any(nibble not in (0, 15) for nibble in nibbles)
    return partial


def read_lanes(memory: dict[int, int], burst: AxiBurst) -> list[tuple[int, int]]:
    """For each transfer of a legal read: the bus, and a mask of the bits that mean something."""
    lanes = []
    for addresses in burst.transfers:
        word = mask = 0
        for address in addresses:
            lane = 8 * (address % DATA_BYTES)
            word |= memory.get(address, 0) << lane
            mask |= 0xFF << lane
        lanes.append((word, mask))
    return lanes
