"""Feedback polynomials of the shift registers, and the seeds of those that share one stream.

The table was computed by this project: for each width the primitive polynomial over GF(2) with
the fewest terms, and among those the one with the smallest exponents, the largest compared
first. ``tests/harness/test_lfsr.py`` proves every entry primitive again, from the prime factors
of ``2**width - 1``. Small exponents are chosen because ``width - max(exponents)`` new bits then
depend on old ones only, so many steps fit into one cycle.
"""

from hashlib import blake2b

__all__ = [
    "COIN_SEED", "COIN_STEPS", "COIN_WIDTH", "LANE_STEPS", "LANE_WIDTH", "POLYNOMIALS",
    "lane_seed", "spread_seed",
]

POLYNOMIALS: dict[int, tuple[int, ...]] = {
    3: (1,), 4: (1,), 5: (2,), 6: (1,), 7: (1,), 8: (4, 3, 2), 9: (4,), 10: (3,),
    11: (2,), 12: (6, 4, 1), 13: (4, 3, 1), 14: (5, 3, 1), 15: (1,), 16: (5, 3, 2),
    17: (3,), 18: (7,), 19: (5, 2, 1), 20: (3,), 21: (2,), 22: (1,), 23: (5,),
    24: (4, 3, 1), 25: (3,), 26: (6, 2, 1), 27: (5, 2, 1), 28: (3,), 29: (2,),
    30: (6, 4, 1), 31: (3,), 32: (7, 6, 2), 33: (13,), 34: (8, 4, 3), 35: (2,),
    36: (11,), 37: (6, 4, 1), 38: (6, 5, 1), 39: (4,), 40: (5, 4, 3), 41: (3,),
    42: (7, 4, 3), 43: (6, 4, 3), 44: (6, 5, 2), 45: (4, 3, 1), 46: (8, 7, 6), 47: (5,),
    48: (9, 7, 4), 49: (9,), 50: (4, 3, 2), 51: (6, 3, 1), 52: (3,), 53: (6, 2, 1),
    54: (8, 6, 3), 55: (24,), 56: (7, 4, 2), 57: (7,), 58: (19,), 59: (7, 4, 2), 60: (1,),
    61: (5, 2, 1), 62: (6, 5, 3), 63: (1,), 64: (4, 3, 1),
}
"""Width: exponents between ``width`` and 0; 8: (4, 3, 2) stands for x^8 + x^4 + x^3 + x^2 + 1."""

COIN_WIDTH, COIN_STEPS, COIN_SEED = 31, 8, 0x1E37_79B9
"""The register that decides whether an item is offered: its low byte is the coin."""

LANE_WIDTH, LANE_STEPS = 64, 32
"""The registers that make payloads: 32 bits each, so wide payloads take several side by side."""


def lane_seed(lane: int) -> int:
    """First state of payload register ``lane``: odd multiples of 2**64 / golden ratio, never 0."""
    return (2 * lane + 1) * 0x9E37_79B9_7F4A_7C15 % 2**LANE_WIDTH


def spread_seed(number: int) -> int:
    """Seed for run ``number``.

    Seeds that differ in few bits give registers that differ in few bits for their first hundreds
    of steps; these differ in about half of them.
    """
    digest = blake2b(str(number).encode(), digest_size=LANE_WIDTH // 8).digest()
    return int.from_bytes(digest, "little")
