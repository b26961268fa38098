"""Limits of one streaming multiprocessor (SM), for each compute capability.

Source of 8.0: the thesis, Table 5.3, and the data page of the CUDA occupancy calculator that comes
with it, from which the carve-outs are (Table 5.3 shows the page with 65,536 bytes selected). Of the
others:

- Warps, blocks, threads, registers, greatest shared memory: CUDA C++ Programming Guide 13, table
  "Technical Specifications per Compute Capability" (7.5 to 9.0), and the same table of release 12
  (7.0).
- Carve-outs: the guide's sections 20.6.4 (7.0, 7.5) and 20.7.3 (8.0, 8.6, 8.7, 8.9), the Hopper
  Tuning Guide (9.0); the kilobyte that CUDA reserves for each block: the Ampere and Hopper Tuning
  Guides.
- Units of registers (256 for each warp) and of shared memory (256 bytes in 7.x, 128 from 8.0), and
  four partitions: the functions `cudaOcc...` of NVIDIA's header ``cuda_occupancy.h``.
- Rates of 64-bit operations: the guide's table "Throughput of Native Arithmetic Instructions"
  (7.0 to 8.6), the white paper of H100 (9.0). 8.7 and 8.9 are taken as 8.6.
- Cycles of a matrix product: multiplications of the largest shape of ``mma`` over those that a
  partition's tensor core does in a cycle (white papers of V100, A100 and H100). Of 8.6 to 8.9 half
  the rate is taken, as some products accumulate in 32 bits at half of it.
- 8.8 and 10.0 to 12.1: blocks, units, partitions and carve-outs from ``cuda_occupancy.h`` of CUDA
  13.5, warps from the architecture traits of NVIDIA's CCCL (``cuda/__device/arch_traits.h``). Of
  their 64-bit operations we have no source that we could read: the rate is the least that any
  capability here has. What a product of ``mma`` takes on them is not published.
"""

from dataclasses import dataclass

__all__ = ["CAPABILITIES", "WARP_THREADS", "ComputeCapability", "capability"]

WARP_THREADS = 32


@dataclass(frozen=True)
class ComputeCapability:
    """Limits of one SM. Registers are of 32 bits, memory is in bytes.

    Attributes
    ----------
    warps, blocks : int
        The most that are resident in one SM.
    partitions : int
        Warp schedulers, each with its share of the registers; warps are allocated in fours because
        of them (*warp allocation granularity*).
    register_unit : int
        Registers of a warp are allocated in multiples of this.
    shared_unit : int
        Shared memory of a block is allocated in multiples of this.
    shared_reserved : int
        What the runtime adds to the shared memory of each block.
    carve_outs : tuple[int, ...]
        Shared memory of an SM, as it can be configured, largest first; the rest is L1.
    fp64_lanes : int
        64-bit floating-point operations of threads that an SM starts in a cycle.
    tensor_cycles : int or None
        That a warp's matrix product occupies a partition's tensor core, at most; None if that
        is not published.
    threads_per_block, registers, registers_per_thread : int
        Further limits.
    """

    name: str
    warps: int
    blocks: int
    carve_outs: tuple[int, ...]
    fp64_lanes: int
    tensor_cycles: int | None = 16
    shared_unit: int = 128
    shared_reserved: int = 1024
    threads_per_block: int = 1024
    registers: int = 65536
    registers_per_thread: int = 255
    register_unit: int = 256
    partitions: int = 4

    @property
    def architecture(self) -> str:
        """As a listing names it: ``sm_80``."""
        return f"sm_{self.name.replace('.', '')}"

    @property
    def threads(self) -> int:
        """The most threads that are resident in one SM."""
        return self.warps * WARP_THREADS


def _kib(*sizes: int) -> tuple[int, ...]:
    return tuple(1024 * size for size in sizes)


CAPABILITIES = {capability.name: capability for capability in (
    ComputeCapability("7.0", 64, 32, _kib(96, 64, 32, 16, 8, 0), fp64_lanes=32,
                      shared_unit=256, shared_reserved=0),
    ComputeCapability("7.5", 32, 16, _kib(64, 32), fp64_lanes=2, shared_unit=256,
                      shared_reserved=0),
    ComputeCapability("8.0", 64, 32, _kib(164, 132, 100, 64, 32, 16, 8, 0), fp64_lanes=32),
    ComputeCapability("8.6", 48, 16, _kib(100, 64, 32, 16, 8, 0), fp64_lanes=2,
                      tensor_cycles=32),
    ComputeCapability("8.7", 48, 16, _kib(164, 132, 100, 64, 32, 16, 8, 0), fp64_lanes=2,
                      tensor_cycles=32),
    ComputeCapability("8.8", 48, 16, _kib(100, 64, 32, 16, 8, 0), fp64_lanes=2,
                      tensor_cycles=32),
    ComputeCapability("8.9", 48, 24, _kib(100, 64, 32, 16, 8, 0), fp64_lanes=2,
                      tensor_cycles=32),
    ComputeCapability("9.0", 64, 32, _kib(228, 196, 164, 132, 100, 64, 32, 16, 8, 0),
                      fp64_lanes=64, tensor_cycles=64),
    *(ComputeCapability(name, 64, 32, _kib(228, 196, 164, 132, 100, 64, 32, 16, 8, 0),
                        fp64_lanes=2, tensor_cycles=None) for name in ("10.0", "10.3")),
    ComputeCapability("11.0", 48, 24, _kib(228, 196, 164, 132, 100, 64, 32, 16, 8, 0),
                      fp64_lanes=2, tensor_cycles=None),
    *(ComputeCapability(name, 48, 24, _kib(100, 64, 32, 16, 8, 0), fp64_lanes=2,
                        tensor_cycles=None) for name in ("12.0", "12.1")),
)}
"""Compute capabilities, by their names such as ``8.9``."""


def capability(name: str) -> ComputeCapability:
    """The capability of that name: ``"8.0"``, ``"sm_80"``, ``"sm_90a"``. Raises `ValueError`."""
    plain = name.removeprefix("sm_").rstrip("af")
    if name.startswith("sm_") and plain.isdecimal() and len(plain) > 1:
        plain = f"{plain[:-1]}.{plain[-1]}"
    if plain not in CAPABILITIES:
        raise ValueError(f"compute capability must be one of {', '.join(CAPABILITIES)}, "
                         f"not {name!r}")
    return CAPABILITIES[plain]
