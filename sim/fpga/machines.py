"""The areas of whole machines, one of each family, as a table.

``python -m cyclebound.sim.fpga.machines [BLOCK...]`` prints it; each takes minutes the first time.
"""

import sys
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cyclebound.sim.catalogue import load
from cyclebound.sim.fpga.placement import area_of_parts

__all__ = ["MACHINES", "Machine", "areas", "table"]


@dataclass(frozen=True)
class Machine:
    """A block in a configuration, and what it has."""

    block: str
    configuration: str
    size: str


MACHINES = (
    Machine("shmac.core", "big", "1 MIPS core"),
    Machine("shmac.tile", "bypass", "1 core, 32 KiB RAM"),
    Machine("sram.banked_memory", "paper", "11 requesters, 8 banks of 8 KiB"),
    Machine("dram.controller", "2bg", "DDR4, x16: tiles and indexes"),
    Machine("noc.mesh", "four", "4x4 routers, 32 bits"),
    Machine("shmac.grid", "small", "2x2 tiles"),
    Machine("dataflow.fabric", "five_by_five", "5x5 units, 16 threads in each buffer"),
    Machine("systolic.accelerator", "8", "8x8 PEs of 8 bits, with memories"),
    Machine("simd.accelerator", "fpga", "4 lanes, 32 items, no snoopy accesses"),
    Machine("simd.accelerator", "small", "8 lanes, 64 items"),
)
_FIGURES = "luts", "flip_flops", "block_rams", "multipliers"


def areas(machine: Machine) -> tuple[int, ...]:
    """Its LUTs, flip-flops, block RAMs and multipliers on ECP5, after synthesis."""
    parts = area_of_parts(load(()).find(machine.block), machine.configuration)
    return tuple(sum(part.count * getattr(part, kind) for part in parts) for kind in _FIGURES)


def table(machines: Iterable[Machine] = MACHINES) -> Iterator[str]:
    """The lines of the table, in Markdown; each as soon as it is known."""
    yield "| machine | configuration | what it has | LUTs | flip-flops | block RAMs | multipliers |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for machine in machines:
        figures = " | ".join(f"{figure:,}" for figure in areas(machine))
        yield f"| `{machine.block}` | {machine.configuration} | {machine.size} | {figures} |"


if __name__ == "__main__":
    # some components are made only to be asked
    warnings.filterwarnings("ignore", message=r"(?s).* created but never used")
    for line in table([machine for machine in MACHINES
                       if len(sys.argv) == 1 or machine.block in sys.argv[1:]]):
        print(line, flush=True)
