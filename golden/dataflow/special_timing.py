"""How long a special unit's blocks take.

Source: SGMF, section 4.2 ("the effective latency of floating-point division
depends on the input operands"). A block makes one bit of its result in each cycle; what needs no
division, it knows at once.
"""

from cyclebound.golden.dataflow.graph import Special

__all__ = ["AT_ONCE", "cycles", "longest", "overtaken"]

AT_ONCE = 3  # cycles of an operation without any bit to be made
_SIGN, _INFINITY = 0x8000_0000, 0x7F80_0000
# Cycles besides those of the bits: to take operands, to begin, to shift each significand (or to
# count an integer's zeros, and to shift it), to align a quotient, to round, to have it.
_BESIDES = {Special.IDIV: 6, Special.FDIV: 7, Special.FSQRT: 5}
_BITS = {Special.IDIV: 32, Special.FDIV: 26, Special.FSQRT: 25}  # of the result, at most


def longest(function: Special) -> int:
    """Cycles from giving a block its operands to having its result, both included, at most."""
    return _BITS[function] + _BESIDES[function]


def cycles(function: Special, a: int, b: int) -> int:
    """Cycles from giving a block these operands to having its result, both included."""
    if function == Special.IDIV:
        magnitude = (1 << 32) - a if a & _SIGN else a
        return magnitude.bit_length() + _BESIDES[function] if a and b else AT_ONCE
    magnitudes = [a & ~_SIGN, b & ~_SIGN][:1 + (function == Special.FDIV)]
    trivial = any(value == 0 or value >= _INFINITY for value in magnitudes)
    negative = function == Special.FSQRT and a & _SIGN
    return AT_ONCE if trivial or negative else longest(function)


def overtaken(*, depth: int, blocks: int, younger: int) -> int:
    """The most results of other blocks that are collected while a block's result waits."""
    entries = depth if depth <= AT_ONCE + 1 else blocks
    return min(blocks - 1, entries - 1, younger)
