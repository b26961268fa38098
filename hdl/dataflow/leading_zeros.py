"""Count of leading zeros, as a tree."""

from amaranth.hdl import Cat, Const, Mux

__all__ = ["leading_zeros"]


def leading_zeros(value):
    """How many zeros stand above the highest one of ``value``, and whether there is no one.

    The count has as many bits as number the positions, rounded up to a power of two; below the
    value, ones are assumed up to that power. If there is no one, the count means nothing.
    """
    width = 1 << (len(value) - 1).bit_length()
    padded = Cat(Const(-1, width - len(value)), value) if width > len(value) else value
    count, _ = _tree(padded)
    return Cat(*count), ~value.any()


def _tree(value):
    """Bits of the count, lowest first, and whether all is zero."""
    if len(value) == 1:
        return [], ~value[0]
    half = len(value) // 2
    low, low_empty = _tree(value[:half])
    high, high_empty = _tree(value[half:])
    count = [Mux(high_empty, below, above) for below, above in zip(low, high, strict=True)]
    return [*count, high_empty], low_empty & high_empty
