"""Golden model of Figure 4's graph: what each thread's sum is."""

from collections.abc import Mapping

__all__ = ["LoadChainModel"]


class LoadChainModel:
    """``array[array[thread]] + constant``, thread by thread.

    Parameters
    ----------
    memories : pair of mappings
        What the first and the second load find at each address.
    constant, width : int
        The addend, and the bits of all values.
    """

    def __init__(self, memories: tuple[Mapping[int, int], Mapping[int, int]], *, constant: int,
                 width: int) -> None:
        self._memories, self._constant, self._width = memories, constant, width

    def sum_of(self, thread: int) -> int:
        first, second = self._memories
        return (second[first[thread]] + self._constant) % 2**self._width
