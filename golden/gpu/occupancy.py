"""Theoretical occupancy: how many blocks and warps of a kernel one SM holds at a time.

Source: the thesis, Table 5.3 and Section 5.3.1, and the CUDA occupancy calculator. Each resource
allows so many blocks; the scarcest decides.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from cyclebound.golden.gpu.compute_capability import WARP_THREADS, ComputeCapability

__all__ = ["BlockResources", "Occupancy", "TableRow", "calculator_tables", "occupancy",
           "warps_of"]

_SHARED_STEP = 512  # of the calculator's third table


def warps_of(threads: int) -> int:
    """Warps of a block with ``threads`` threads: the last one may be partly empty."""
    return -(-threads // WARP_THREADS)


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


@dataclass(frozen=True)
class BlockResources:
    """Resources of an SM that a block of a kernel takes.

    Attributes
    ----------
    threads : int
        Threads of a block.
    registers : int
        Registers of a thread (``REG`` of ``cuobjdump -res-usage``).
    shared : int
        Bytes of shared memory of a block, static and dynamic, without the runtime's own.
    """

    threads: int
    registers: int = 32
    shared: int = 0

    @property
    def warps(self) -> int:
        """Warps of a block."""
        return warps_of(self.threads)


@dataclass(frozen=True)
class Occupancy:
    """How many blocks and warps are resident in one SM.

    Attributes
    ----------
    by : dict[str, int]
        The blocks that each resource allows.
    blocks, warps : int
        Resident ones; no block means that the kernel does not launch.
    limits : tuple[str, ...]
        The resources that allow the fewest.
    share : float
        Warps of those that the SM could hold.
    """

    by: dict[str, int]
    blocks: int
    warps: int
    limits: tuple[str, ...]
    share: float


def check_block(block: BlockResources, limits: ComputeCapability) -> None:
    """Raise `ValueError` for a block that no launch configuration can name, and `TypeError` for a
    number that is not whole."""
    for thing, value, least, most in (
            ("threads per block", block.threads, 1, limits.threads_per_block),
            ("registers per thread", block.registers, 1, limits.registers_per_thread),
            ("shared memory per block", block.shared, 0,
             limits.carve_outs[0] - limits.shared_reserved)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{thing} must be a whole number, not {value!r}")
        if not least <= value <= most:
            raise ValueError(f"{thing} must be {least} to {most} (compute capability "
                             f"{limits.name}), not {value}")


def check_carve_out(carve_out: int | None, limits: ComputeCapability) -> int:
    """The carve-out, the largest by default. Raises `ValueError` for one that the device lacks."""
    if carve_out is None:
        return limits.carve_outs[0]
    if carve_out not in limits.carve_outs:
        raise ValueError(f"carve-out must be one of {', '.join(map(str, limits.carve_outs))} bytes "
                         f"(compute capability {limits.name}), not {carve_out}")
    return carve_out


def occupancy(block: BlockResources, limits: ComputeCapability, *, carve_out: int | None = None
              ) -> Occupancy:
    """Blocks of one kernel that are resident in one SM at the same time.

    Parameters
    ----------
    carve_out : int, optional
        Bytes of the SM that are shared memory, one of ``limits.carve_outs``; the largest by
        default.

    Raises
    ------
    ValueError
        For a block or a carve-out beyond the limits.
    """
    check_block(block, limits)
    carve_out = check_carve_out(carve_out, limits)
    return _resident(block, limits, carve_out, block.shared + limits.shared_reserved)


def _resident(block: BlockResources, limits: ComputeCapability, carve_out: int, total: int
              ) -> Occupancy:
    """Occupancy where each block takes ``total`` bytes of shared memory, the runtime's included."""
    warp_registers = _up(WARP_THREADS * block.registers, limits.register_unit)
    warps_by_registers = limits.registers // warp_registers
    warps_by_registers -= warps_by_registers % limits.partitions  # the same number in each
    by = {"warps": min(limits.blocks, limits.warps // block.warps),
          "registers": warps_by_registers // block.warps,
          "shared memory": carve_out // _up(total, limits.shared_unit) if total else limits.blocks}
    blocks = min(by.values())
    return Occupancy(by, blocks, blocks * block.warps,
                     tuple(name for name, most in by.items() if most == blocks),
                     blocks * block.warps / limits.warps)


@dataclass(frozen=True)
class TableRow:
    """A value of the calculator's tables: warps for one value of what the table is over.

    Attributes
    ----------
    over : str
        ``"threads"``, ``"registers"`` or ``"shared"``.
    value : int
        Of it. Shared memory counts with the runtime's own.
    carve_out : int
        Bytes of shared memory of the SM.
    warps : int
        Resident.
    """

    over: str
    value: int
    carve_out: int
    warps: int


def calculator_tables(block: BlockResources, limits: ComputeCapability, *,
                      carve_out: int | None = None) -> Iterator[TableRow]:
    """The calculator's three tables, around one block.

    Over threads per block in steps of a warp; over registers per thread; and over the total shared
    memory of a block, in steps of 512 bytes, for every carve-out. With compute capability 8.0 these
    are 32 + 255 + 8 x 329 values. In the third a total below the runtime's own cannot occur, and
    is in the table because the calculator has it.
    """
    check_block(block, limits)
    carve_out = check_carve_out(carve_out, limits)
    for threads in range(WARP_THREADS, limits.threads_per_block + 1, WARP_THREADS):
        yield TableRow("threads", threads, carve_out, occupancy(
            replace(block, threads=threads), limits, carve_out=carve_out).warps)
    for registers in range(1, limits.registers_per_thread + 1):
        yield TableRow("registers", registers, carve_out, occupancy(
            replace(block, registers=registers), limits, carve_out=carve_out).warps)
    for size in limits.carve_outs:
        for total in range(0, limits.carve_outs[0] + 1, _SHARED_STEP):
            yield TableRow("shared", total, size, _resident(block, limits, size, total).warps)
