"""The register map of a Wishbone shell: addresses of the words of streams.

`cyclebound.hdl.wishbone.StreamRegisters` has these registers, and `cyclebound.sim.export.shells`
writes them over the shell.

Ref: Wishbone B4, chapter 3 (standard cycles).
"""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["REGISTER_BITS", "RegisterMap", "RegisterStream"]

REGISTER_BITS = 32
"""Bits of a register, and of the bus that reads and writes it."""


@dataclass(frozen=True)
class RegisterStream:
    """A stream of the block.

    Attributes
    ----------
    name : str
    bits : int
        Of its payload, 0 or more.
    sent : bool
        The bus sends its items to the block; else it takes those that the block has.
    """

    name: str
    bits: int
    sent: bool

    @property
    def words(self) -> int:
        """Registers of its payload; one also where there is none, for the access that counts."""
        return max(1, -(-self.bits // REGISTER_BITS))


@dataclass(frozen=True)
class RegisterMap:
    """The registers of some streams, by number: their addresses in words.

    First come those of the status, with a bit for each stream, then those of each stream in order,
    the lowest bits of its payload first.

    Attributes
    ----------
    streams : sequence of RegisterStream
    """

    streams: Sequence[RegisterStream]

    @property
    def status(self) -> range:
        """The registers of the status: stream *n* is bit ``n % 32`` of number ``n // 32``."""
        return range(max(1, -(-len(self.streams) // REGISTER_BITS)))

    def of(self, name: str) -> range:
        """The registers of a stream; the last of them sends or takes an item.

        Raises `KeyError` for a stream that is not there.
        """
        at = self.status.stop
        for stream in self.streams:
            if stream.name == name:
                return range(at, at + stream.words)
            at += stream.words
        raise KeyError(name)

    @property
    def many(self) -> int:
        """All registers."""
        return self.status.stop + sum(stream.words for stream in self.streams)
