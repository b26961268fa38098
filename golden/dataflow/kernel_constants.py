"""Values of the kernels' constants, for about 1,024 threads; a memory that misses."""

from collections.abc import Mapping
from typing import TypedDict

__all__ = ["CONSTANTS", "MISSES", "CacheTiming"]

CONSTANTS: Mapping[str, Mapping[str, float]] = {
    "saxpy": {"a": 2.5}, "euclid": {"records": 1000, "lat": 0.5, "lng": -1.25},
    "fan1": {"size": 32, "t": 3}, "fan2": {"size": 32, "shift": 5, "t": 3},
    "adjust_weights": {"shift": 5, "rate": 0.3, "momentum": 0.3}, "bfs_kernel2": {"nodes": 1000},
    "time_step": {"stage": 3.0}, "normalize_weights": {"particles": 1000},
    "fibonacci": {"count": 3}, "horner": {"threads": 60, "degree": 2},
}



class CacheTiming(TypedDict):
    """Arguments of `cyclebound.golden.dataflow.cache_banks.random_cache`."""

    banks: int
    hit: int
    miss: int
    miss_rate: float


MISSES: CacheTiming = {"banks": 32, "hit": 4, "miss": 40, "miss_rate": 0.1}
