"""What a cache does with stores and victims; and the parameters that can be built.

Source: SGMF, section 6 ("write-back and write-allocate policies in the L1 caches, as opposed to
Fermi's write-through and write-no-allocate"), Table 1.
"""

from dataclasses import dataclass

from cyclebound.golden.parameters import check_integer, check_power_of_two

__all__ = ["POLICIES", "REPLACEMENTS", "WRITE_BACK", "WRITE_THROUGH", "CacheShape",
           "check_channels"]

WRITE_BACK, WRITE_THROUGH = POLICIES = ("write-back", "write-through")
"""Of stores: with write-allocate, and with no-allocate."""
LRU, FIFO = REPLACEMENTS = ("lru", "fifo")
"""Of victims: the line whose last access is the oldest; the line that was fetched first."""


@dataclass(frozen=True, kw_only=True)
class CacheShape:
    """Sizes of a cache. Lines, ways and a bank's share are powers of two; banks need not be.

    Raises `TypeError` for what is no integer, `ValueError` for what cannot be built.

    Attributes
    ----------
    size, line : int
        Words of the cache and of a line.
    banks : int
        Line number mod ``banks`` is a line's bank.
    ways : int
        Lines of a set.
    misses, targets : int
        Miss registers of a bank, and accesses that wait for the line of one.
    address_width : int
        Bits of a word's address.
    policy, replacement : str
        One of `POLICIES`, one of `REPLACEMENTS`.
    """

    size: int
    line: int
    banks: int
    ways: int
    misses: int
    targets: int
    address_width: int
    policy: str
    replacement: str

    def __post_init__(self) -> None:
        check_integer("cache size", self.size, least=1)
        check_integer("bank count", self.banks, least=1)
        for thing, value in (("line length", self.line), ("way count", self.ways)):
            check_power_of_two(thing, value)
        share, rest = divmod(self.size, self.banks)
        if rest or not share or share & share - 1:
            raise ValueError(f"cache size must be a power of two for each bank, {self.banks} of "
                             f"them, not {self.size}")
        if self.line > share:
            raise ValueError(f"a line must have {share} words at most, a bank's share of the "
                             f"cache, not {self.line}")
        if self.ways > self.rows:
            raise ValueError(f"ways must be {self.rows} at most, the lines of a bank, not "
                             f"{self.ways}")
        check_integer("miss register count", self.misses, least=1)
        if self.misses > self.rows:
            raise ValueError(f"miss registers must be {self.rows} at most, the lines of a bank, "
                             f"not {self.misses}")
        check_integer("target count", self.targets, least=1)
        check_integer("address width", self.address_width, least=1, most=32)
        if 1 << self.address_width < self.size:
            raise ValueError(f"addresses must have {(self.size - 1).bit_length()} bits at least, "
                             f"as the cache has {self.size} words, not {self.address_width}")
        for thing, name, known in (("policy", self.policy, POLICIES),
                                   ("replacement", self.replacement, REPLACEMENTS)):
            if name not in known:
                raise ValueError(f"{thing} must be {' or '.join(known)}, not {name!r}")

    @property
    def rows(self) -> int:
        """Lines of a bank."""
        return self.size // self.banks // self.line

    @property
    def sets(self) -> int:
        """Sets of a bank."""
        return self.rows // self.ways

    @property
    def register_bits(self) -> int:
        """Bits of a miss register's number. A read's ``id`` is these, and its bank above them."""
        return (self.misses - 1).bit_length()

    @property
    def id_width(self) -> int:
        """Bits of a read's ``id`` in the memory below."""
        return max(1, (self.banks - 1).bit_length() + self.register_bits)

    @property
    def line_width(self) -> int:
        """Bits of a line's number."""
        return max(1, self.address_width - self.line.bit_length() + 1)


def check_channels(shape: CacheShape, channels: int) -> None:
    """Check that each of so many memories below has a bank.

    Raises `TypeError` for no integer, `ValueError` for none or for more than banks.
    """
    check_integer("channel count", channels, least=1, most=shape.banks)
