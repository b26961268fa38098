"""The data that is written end to end: a specification.

The core's word *i* of 8 bytes has *i* in its lowest bits, and above them *i*, and what tells one
transaction from another, times an odd number.
"""

__all__ = ["AHEAD", "MULTIPLIER", "REQUEST_BYTES", "SEED_BITS", "WORD_BYTES", "word"]

WORD_BYTES = 8       # w_mem of memory-composition, Table III
REQUEST_BYTES = 128  # half a packet: N_req^pk = 2 of Table III. A burst of a bus of 128 bits
AHEAD = 4            # words that the DMA may have read and not passed on
MULTIPLIER = 0x9E3779B1
SEED_BITS = 16


def word(index: int, words: int, seed: int = 0) -> int:
    """Word ``index`` of the core's data, of a bank with so many words."""
    low = (words - 1).bit_length()
    return index | ((index + seed) * MULTIPLIER & 0xFFFFFFFF) << low
