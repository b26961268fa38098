"""What the kernels of SGMF's Table 2 are measured on: constants, arrays and threads, all of which
have work to do, except that about half of those of ``bfs_kernel2`` find their flag clear."""

from dataclasses import dataclass

import numpy as np

from cyclebound.golden.dataflow.kernel import Floats, Kernel
from cyclebound.golden.dataflow.kernel_constants import CONSTANTS
from cyclebound.golden.dataflow.kernels import KERNELS

__all__ = ["COLUMNS", "THREADS", "Workload", "workload"]

THREADS = {name: 359 if name == "fan1" else 1920 for name in KERNELS}
"""By kernel. ``fan1`` has a thread for each row of a square matrix, of which memory has two."""

COLUMNS = 64  # of fan2's matrix


@dataclass(frozen=True)
class Workload:
    """A kernel with all that it needs.

    Attributes
    ----------
    kernel : Kernel
        What runs.
    threads : int
        How many; all of them pass the kernel's own limits.
    constants : dict of str to float
        Of the kernel.
    arrays : dict of str to array
        As words (uint32).
    """

    kernel: Kernel
    threads: int
    constants: dict[str, float]
    arrays: dict[str, np.ndarray]


def workload(name: str, threads: int | None = None) -> Workload:
    """A kernel of Table 2 on ``threads`` threads; None: as many as `THREADS` has.

    Floats are drawn from 1 to 2 (CFD's energy from 17 to 18, so that no pressure is negative),
    integers are 0 or 1. Raises `ValueError` for fewer threads than one, or more than ``fan2`` has
    elements.
    """
    kernel, rng = KERNELS[name], np.random.default_rng(1)
    threads = THREADS[name] if threads is None else threads
    most = (COLUMNS - 1) * COLUMNS if name == "fan2" else 1 << 20
    if not 1 <= threads <= most:
        raise ValueError(f"{name} must have from 1 to {most} threads, not {threads}")
    constants = dict(CONSTANTS.get(name, {})) | {
        "euclid": {"records": threads}, "bfs_kernel2": {"nodes": threads},
        "normalize_weights": {"particles": threads}, "fan1": {"size": threads + 1, "t": 0},
        "fan2": {"size": COLUMNS, "shift": COLUMNS.bit_length() - 1, "t": 0}}.get(name, {})
    size = {"fan1": (threads + 1) ** 2, "fan2": COLUMNS ** 2}.get(name, threads)
    arrays = {}
    for array in kernel.arrays:
        if kernel.parameters[array] is Floats:
            drawn = rng.uniform(1, 2, size) + 16 * (
                name == "compute_step_factor" and array == "energy")
            arrays[array] = drawn.astype(np.float32).view(np.uint32)
        else:
            arrays[array] = rng.integers(0, 2, size).astype(np.uint32)
    return Workload(kernel, threads, constants, arrays)
