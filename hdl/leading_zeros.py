"""Count of leading zeros, as a tree.

No block: part of units that add, divide or take turns, whose models, testbenches and tests cover
it; by itself, tests/dataflow/test_float_fma.py.
"""

from amaranth.hdl import Cat, Const, Mux, Signal

__all__ = ["leading_zeros"]


def leading_zeros(m, value):
    """The number of leading zeros of ``value``, and whether ``value`` is 0.

    The count has as many bits as it takes to number the positions, with their number rounded up to
    a power of two; below the value, ones are assumed up to that power. Of 0 the count is undefined.
    ``m`` has the signals between the tree's levels, so that each is written once.
    """
    width = 1 << (len(value) - 1).bit_length()
    padded = Cat(Const(-1, width - len(value)), value) if width > len(value) else value
    # of each pair, quadruple and so on, lowest first: bits of the count, and whether all is zero
    level = [([], ~bit) for bit in padded]
    while len(level) > 1:
        level = [_pair(m, *pair) for pair in zip(level[::2], level[1::2], strict=True)]
    (count, _), = level
    return Cat(*count), ~value.any()


def _pair(m, low, high):
    (low_count, low_empty), (high_count, high_empty) = low, high
    count = [Mux(high_empty, below, above)
             for below, above in zip(low_count, high_count, strict=True)]
    written = Signal(len(count) + 2)
    m.d.comb += written.eq(Cat(*count, high_empty, low_empty & high_empty))
    return list(written[:-1]), written[-1]
