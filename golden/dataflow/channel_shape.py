"""Lines of a memory channel: their sizes, and how many requests of them are under way.

Source: SGMF, section 5 and Table 1 (memory channels below the second level).
"""

from dataclasses import dataclass

from cyclebound.golden.dram.request import BEAT_WORDS, BURST_WORDS, COUNT_BITS
from cyclebound.golden.parameters import check_integer, check_power_of_two

__all__ = ["SLOTS", "ChannelShape"]

SLOTS = 2
"""Requests of lines that a channel has under way: one whose words move, and the next one."""


@dataclass(frozen=True, kw_only=True)
class ChannelShape:
    """Lines of a channel. Line ``n`` begins at word ``n * line`` of its DRAM.

    Raises `TypeError` for what is no integer, `ValueError` for what cannot be built.

    Attributes
    ----------
    line : int
        Words: a power of two, from those of a DRAM clock on.
    address_width : int
        Bits of a word's address.
    """

    line: int
    address_width: int

    def __post_init__(self) -> None:
        check_power_of_two("line length", self.line, BEAT_WORDS)
        least = self.line.bit_length() - 1
        check_integer("address width", self.address_width, least=least, most=least + COUNT_BITS - 1)

    @property
    def lines(self) -> int:
        """How many there are."""
        return (1 << self.address_width) // self.line

    @property
    def bursts(self) -> int:
        """Bursts that a line lies in."""
        return -(-self.line // BURST_WORDS)

    def check_part(self, name: str, bursts: int) -> None:
        """Raises `ValueError` unless a part of so many bursts has all lines."""
        if self.lines * self.line > bursts * BURST_WORDS:
            raise ValueError(f"{name} has {bursts * BURST_WORDS} words, and addresses of "
                             f"{self.address_width} bits {1 << self.address_width}")
