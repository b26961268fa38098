"""Kernels on the golden fabric: memory laid out, configurations one after the other, cycles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cyclebound.golden.dataflow.fabric import FabricModel
from cyclebound.golden.dataflow.mapper import Mapped
from cyclebound.golden.dataflow.memory import CacheModel

__all__ = ["Layout", "run_mapped"]


@dataclass(frozen=True)
class Layout:
    """Where arrays lie in memory.

    Attributes
    ----------
    buffers : mapping of str to (int, int)
        By array: its first word, and how many there are.
    """

    buffers: Mapping[str, tuple[int, int]]

    @classmethod
    def of(cls, arrays: Mapping[str, np.ndarray]) -> "Layout":
        """One after the other."""
        buffers, base = {}, 0
        for name, array in arrays.items():
            buffers[name] = base, len(array)
            base += len(array)
        return cls(buffers)

    def words(self, arrays: Mapping[str, np.ndarray]) -> list[int]:
        """Memory with these arrays in it."""
        return [int(word) for name in self.buffers for word in arrays[name]]

    def arrays(self, words: Sequence[int]) -> dict[str, np.ndarray]:
        """The arrays in memory."""
        return {name: np.array(words[base:base + size], dtype=np.uint32)
                for name, (base, size) in self.buffers.items()}


def run_mapped(mapped: Mapped, words: list[int], layout: Layout, *, threads: int, depth: int,
               limit: int = 1_000_000, **memory) -> tuple[int, CacheModel]:
    """Run one configuration on the golden fabric; ``words`` is changed in place.

    Returns the cycles from the start to ``done``, both included, and the memory. Raises
    `RuntimeError` after ``limit`` cycles.
    """
    fabric = FabricModel(mapped.grid, mapped.configuration(threads, layout.buffers), depth=depth)
    cache = CacheModel(words, units=len(fabric.loads), **memory)
    for cycle in range(limit):
        responses = cache.responses()
        taken = cache.step(fabric.requests())
        if fabric.step(start=cycle == 0, requests_taken=taken, responses=responses).done:
            return cycle + 1, cache
    raise RuntimeError(f"threads were still under way after {limit} cycles")
