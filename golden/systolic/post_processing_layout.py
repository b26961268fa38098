"""Widths in the post-processing unit."""

__all__ = ["SHIFT_WIDTH", "low_part"]

SHIFT_WIDTH = 6
"""Bits of the shift: 0 to 63, all of a product of 33 and 16 bits."""


def low_part(width: int) -> int:
    """Bits of the low part of a sum of ``width`` bits that is cut for multipliers of 18 x 18 bits.

    The high part keeps the sign.
    """
    return min(17, width - 1)
