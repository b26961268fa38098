"""Floating-point operands that are hard: every kind of number, ties, cancellation, the edges."""

import itertools
import random
from collections.abc import Iterator

__all__ = ["SPECIAL", "hard_pair", "hard_triple", "special_triples"]

# zeros, subnormals, the least and greatest normal numbers, ones and their neighbours, infinities,
# NaN (quiet and signalling), halves of a last place
SPECIAL = (0x0000_0000, 0x8000_0000, 0x0000_0001, 0x8000_0001, 0x007F_FFFF, 0x807F_FFFF,
           0x0080_0000, 0x8080_0000, 0x3F80_0000, 0xBF80_0000, 0x3F80_0001, 0x3F7F_FFFF,
           0x7F7F_FFFF, 0xFF7F_FFFF, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0000, 0xFF80_0001,
           0x3380_0000, 0x4B80_0001)


def special_triples() -> Iterator[tuple[int, int, int]]:
    """Every three of them."""
    return itertools.product(SPECIAL, SPECIAL, SPECIAL)


def hard_triple(rng: random.Random) -> tuple[int, int, int]:
    """Two factors, and an addend whose exponent lies where it matters: around the product's.

    Significands end in zeros of any number, for ties; one in eight addends is the negative product,
    or its neighbour; one in eight triples has any bits at all.
    """
    kind = rng.randrange(8)
    if kind == 0:
        return rng.getrandbits(32), rng.getrandbits(32), rng.getrandbits(32)
    a, b = _number(rng), _number(rng)
    field = (a >> 23 & 0xFF) + (b >> 23 & 0xFF) - 127
    if kind == 1:  # the product's upper bits, negative
        product = (a & 0x7F_FFFF | 1 << 23) * (b & 0x7F_FFFF | 1 << 23)
        carry = product >> 47
        top = (product >> 23 + carry) + rng.randrange(-1, 2) & 0x7F_FFFF
        sign = ~(a ^ b) & 0x8000_0000
        return a, b, sign | max(0, min(field + carry, 254)) << 23 | top
    return a, b, _around(rng, field, 50)


def hard_pair(rng: random.Random) -> tuple[int, int]:
    """Two terms, or two factors, with exponents close enough for both to matter in a sum.

    One in eight pairs are almost each other's negative; one in eight have any bits at all.
    """
    kind = rng.randrange(8)
    if kind == 0:
        return rng.getrandbits(32), rng.getrandbits(32)
    a = _number(rng)
    if kind == 1:
        return a, (a ^ 0x8000_0000) + rng.randrange(-2, 3) & 0xFFFF_FFFF
    return a, _around(rng, a >> 23 & 0xFF, 27)


def _around(rng: random.Random, field: int, distance: int) -> int:
    field += rng.randrange(-distance, distance + 1)
    return rng.getrandbits(1) << 31 | max(0, min(field, 254)) << 23 | _fraction(rng)


def _number(rng: random.Random) -> int:
    field = rng.choice((0, rng.randrange(256), rng.randrange(64, 192), rng.randrange(64, 192)))
    return rng.getrandbits(1) << 31 | field << 23 | _fraction(rng)


def _fraction(rng: random.Random) -> int:
    return rng.getrandbits(23) & -1 << rng.randrange(24) & 0x7F_FFFF
