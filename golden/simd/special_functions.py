"""TEMPORARY stand-in for reciprocals, roots and sines: numpy's double precision, rounded once.

The accelerator's own tables and polynomials replace this module, with the same four functions.
"""

from collections.abc import Callable

import numpy as np

from cyclebound.golden.simd.arithmetic import NAN

__all__ = ["cos", "rcp", "rsqrt", "sin"]


def _rounded(function: Callable[[np.ndarray], np.ndarray], bits: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        found = function(bits.view(np.float32).astype(np.float64)).astype(np.float32)
    words = found.view(np.uint32)
    return np.where(found != found, np.uint32(NAN), words)


def rcp(bits: np.ndarray) -> np.ndarray:
    return _rounded(lambda x: 1 / x, bits)


def rsqrt(bits: np.ndarray) -> np.ndarray:
    return _rounded(lambda x: 1 / np.sqrt(x), bits)


def sin(bits: np.ndarray) -> np.ndarray:
    return _rounded(np.sin, bits)


def cos(bits: np.ndarray) -> np.ndarray:
    return _rounded(np.cos, bits)
