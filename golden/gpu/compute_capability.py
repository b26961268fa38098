"""What one streaming multiprocessor (SM) of each compute capability holds.

Source of 8.0: the thesis, Table 5.3, and the data page of the CUDA occupancy calculator that comes
with it, from which the carve-outs are (Table 5.3 shows the page with 65,536 bytes selected). Of the
others: the CUDA C++ Programming Guide, "Technical Specifications per Compute Capability", and the
same calculator's data page.
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
    threads_per_block, registers, registers_per_thread : int
        Further limits.
    """

    name: str
    warps: int
    blocks: int
    carve_outs: tuple[int, ...]
    shared_unit: int = 128
    shared_reserved: int = 1024
    threads_per_block: int = 1024
    registers: int = 65536
    registers_per_thread: int = 255
    register_unit: int = 256
    partitions: int = 4

    @property
    def threads(self) -> int:
        """The most threads that are resident in one SM."""
        return self.warps * WARP_THREADS


def _kib(*sizes: int) -> tuple[int, ...]:
    return tuple(1024 * size for size in sizes)


CAPABILITIES = {each.name: each for each in (
    ComputeCapability("7.0", 64, 32, _kib(96, 64, 32, 16, 8, 0), shared_unit=256,
                      shared_reserved=0),
    ComputeCapability("7.5", 32, 16, _kib(64, 32), shared_unit=256, shared_reserved=0),
    ComputeCapability("8.0", 64, 32, _kib(164, 132, 100, 64, 32, 16, 8, 0)),
    ComputeCapability("8.6", 48, 16, _kib(100, 64, 32, 16, 8, 0)),
    ComputeCapability("8.7", 48, 16, _kib(164, 132, 100, 64, 32, 16, 8, 0)),
    ComputeCapability("8.9", 48, 24, _kib(100, 64, 32, 16, 8, 0)),
    ComputeCapability("9.0", 64, 32, _kib(228, 196, 164, 132, 100, 64, 32, 16, 8, 0)),
)}
"""Compute capabilities, by their names such as ``8.9``."""


def capability(name: str) -> ComputeCapability:
    """The capability of that name, as in ``"8.0"`` or ``"sm_80"``. Raises `ValueError`."""
    plain = name.removeprefix("sm_")
    if plain != name and plain.isdecimal() and len(plain) > 1:
        plain = f"{plain[:-1]}.{plain[-1]}"
    if plain not in CAPABILITIES:
        raise ValueError(f"compute capability must be one of {', '.join(CAPABILITIES)}, "
                         f"not {name!r}")
    return CAPABILITIES[plain]
