"""Bit sequences of linear feedback shift registers, from their recurrence."""

from collections.abc import Iterator
from itertools import islice

from cyclebound.golden.harness.lfsr_spec import POLYNOMIALS

__all__ = ["lfsr_bits", "lfsr_sequence"]


def lfsr_bits(width: int, seed: int) -> Iterator[int]:
    """Endless bits: those of ``seed``, the lowest first, then ``b[t + width] = xor of taps``."""
    window = [seed >> i & 1 for i in range(width)]
    while True:
        yield window[0]
        fresh = (window[0] + sum(window[tap] for tap in POLYNOMIALS[width])) % 2
        window = [*window[1:], fresh]


def lfsr_sequence(width: int, seed: int, n: int, *, steps: int = 1, init: int = 1) -> list[int]:
    """Return ``n`` successive values, the seed itself first.

    A value is a window of ``width`` bits that moves ``steps`` bits at a time over the bit
    sequence. Seed 0 would never leave 0, and stands for ``init``.
    """
    bits = list(islice(lfsr_bits(width, seed or init), max(n - 1, 0) * steps + width))
    text = "".join(map(str, bits))[::-1]  # as a person writes numbers: the latest bit first
    ends = (len(text) - steps * i for i in range(n))
    return [int(text[end - width:end], 2) for end in ends]
