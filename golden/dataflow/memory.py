"""A kernel's arrays as words of memory, with nothing lost on the way."""

from collections.abc import Iterable, Mapping

import numpy as np

from cyclebound.golden.dataflow.kernel import LOOP, Floats, Kernel

__all__ = ["array_bits", "kernel_arrays", "typed_arrays", "with_spills"]

_WORDS = (np.dtype(np.uint32), np.dtype(np.int32), np.dtype(np.float32))


def _flat(name: str, array: object) -> np.ndarray:
    flat = np.asarray(array)
    if flat.ndim != 1:
        raise ValueError(f"array {name} must have one dimension, not {flat.ndim}")
    return flat


def array_bits(name: str, array: np.ndarray) -> np.ndarray:
    """An array's words, as uint32. Raises `TypeError` unless it is made of words of 32 bits, and
    `ValueError` unless it has one dimension."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"array {name} must be a numpy array, not a {type(array).__name__}")
    if array.dtype not in _WORDS:
        raise TypeError(f"array {name} must be of int32, uint32 or float32, not {array.dtype}")
    return np.ascontiguousarray(_flat(name, array)).view(np.uint32)


def kernel_arrays(kernel: Kernel, arrays: Mapping[str, object]) -> dict[str, np.ndarray]:
    """A kernel's arrays, in its order, as words.

    `Ints` have to be integers of 32 bits (of uint32, they are taken bit by bit), of an array
    without signs 0 to 2**32 - 1, `Floats` numbers that single precision has. Raises `ValueError`
    for a number that is not, for an array that is missing, and for one that the kernel has not;
    `TypeError` for one that is not of numbers.
    """
    unknown = sorted(set(arrays) - set(kernel.arrays))
    if unknown:
        raise ValueError(f"kernel {kernel.name} has no array {unknown[0]}; it has "
                         f"{', '.join(kernel.arrays) or 'none'}")
    missing = [name for name in kernel.arrays if name not in arrays]
    if missing:
        raise ValueError(f"there is no array {missing[0]}, which kernel {kernel.name} has")
    flat = {name: _flat(name, arrays[name]) for name in kernel.arrays}
    return {name: _singles(name, array) if kernel.parameters[name] is Floats else
            _integers(name, array, np.dtype(np.uint32 if name in kernel.unsigned else np.int32))
            for name, array in flat.items()}


def _singles(name: str, array: np.ndarray) -> np.ndarray:
    if array.dtype == np.float32:
        return np.ascontiguousarray(array).view(np.uint32).copy()
    if array.dtype.kind not in "fiu":
        raise TypeError(f"array {name} must be of numbers, not {array.dtype}")
    with np.errstate(over="ignore"):
        singles = array.astype(np.float32)
    wide = array.astype(np.longdouble)
    wrong = ~((singles.astype(np.longdouble) == wide) | (np.isnan(wide) & np.isnan(singles)))
    if wrong.any():
        raise ValueError(f"array {name}: {array[wrong][0]!s} is no number in single precision; "
                         "round it with astype(numpy.float32)")
    return singles.view(np.uint32)


def _integers(name: str, array: np.ndarray, kind: np.dtype) -> np.ndarray:
    if array.dtype in (np.uint32, np.int32):
        return np.ascontiguousarray(array).view(np.uint32).copy()
    if array.dtype.kind not in "iu":
        raise TypeError(f"array {name} must be of integers, not {array.dtype}")
    wrong = (array > np.iinfo(kind).max) | (array < np.iinfo(kind).min)
    if wrong.any():
        raise ValueError(f"array {name}: {array[wrong][0]!s} is no integer of 32 bits"
                         + (" without a sign" if kind == np.uint32 else ""))
    return array.astype(kind).view(np.uint32)


def typed_arrays(kernel: Kernel, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """A kernel's arrays among those in memory, as int32, uint32 and float32."""
    return {name: arrays[name].view(np.float32 if kernel.parameters[name] is Floats else
                                    np.uint32 if name in kernel.unsigned else np.int32)
            for name in kernel.arrays}


def with_spills(names: Iterable[str], arrays: Mapping[str, np.ndarray],
                threads: int) -> dict[str, np.ndarray]:
    """The arrays, as uint32, and what parts leave for each other: a word for each thread; and an
    array without words for each loop whose bound is stated.

    Raises `ValueError` if one of those that the kernel accesses is missing.
    """
    memory = {name: array_bits(name, array) for name, array in arrays.items()}
    for name in names:
        if not name.startswith(("$", "#", LOOP)) and name not in memory:
            raise ValueError(f"there is no array {name}, which the kernel accesses")
        memory.setdefault(name, np.zeros(0 if name.startswith(LOOP) else threads, np.uint32))
    return memory
