"""The functions that the data harness of the DRAM controller computes in hardware, in numpy.

Words to be written are a function of where they come from, indexes of where they stand in their
stream, and words that were read are known by one sum: hardware makes and checks all three, and a
testbench predicts them from a few settings.
"""

import numpy as np

__all__ = ["BATCH", "DATA_FAULTS", "FIRST", "LANES", "SECOND", "SHIFT", "WINDOW_BITS", "has_word",
           "indexes_of", "mixed", "signature"]

WINDOW_BITS = 17  # of a word's address that the DRAM's stand-in knows
BATCH = 64        # requests that follow each other without a pause
LANES = 32        # of the CAM
FIRST, SECOND, SHIFT = 0x9E37_79B1, 0x85EB_CA6B, 15
"""Odd factors, and the shift between them."""

DATA_FAULTS = ("words for another destination", "words without a request", "a refresh was late")
"""Faults that the harness itself detects: bit *i* of its output ``failed`` stands for entry *i*."""

_WORD = (1 << 32) - 1


def mixed(seed: int, numbers: np.ndarray) -> np.ndarray:
    """The word of ``seed`` for each of ``numbers`` (int64, below 2 ** 20); uint64, below 2 ** 32.

    A product, an exclusive or with its own upper bits, and another product, each modulo 2 ** 32.
    """
    first = numbers.astype(np.uint64) * np.uint64(FIRST) + np.uint64(seed) & np.uint64(_WORD)
    return (first ^ first >> np.uint64(SHIFT)) * np.uint64(SECOND) & np.uint64(_WORD)


def has_word(words: np.ndarray) -> np.ndarray:
    """Which `mixed` words the chip has, if not all: those from a quarter of all on."""
    return words >> np.uint64(30) != 0


def indexes_of(seed: int, span: int, length: int) -> np.ndarray:
    """``length`` indexes from 0 to ``span`` - 1, int64."""
    words = mixed(seed, np.arange(length, dtype=np.int64))
    return (words * np.uint64(span) >> np.uint64(32)).astype(np.int64)


def signature(words: np.ndarray, targets: np.ndarray) -> int:
    """The sum of ``(word + 1) * (2 * target + 1)`` over all words delivered, modulo 2 ** 64.

    It does not depend on the order in which words arrive. One word that is missing, altered or in
    another's place changes it; so do two that change places.
    """
    terms = (words.astype(np.uint64) + np.uint64(1)) * (
        np.uint64(2) * targets.astype(np.uint64) + np.uint64(1))
    return int(terms.sum(dtype=np.uint64))
