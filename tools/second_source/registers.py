"""Register maps and codes that software sees, as they were published: docs/simd.md, docs/system.md,
and AMBA's AXI4 specification, tables A3-3 and A3-4."""

import enum

from cyclebound.golden.dram.axi_port import AxiResponse, AxiType
from cyclebound.golden.shmac.address_map import tile_base
from cyclebound.golden.simd.faults import Cause
from cyclebound.golden.simd.host_registers import Register, Status
from cyclebound.golden.simd.special_tables import SpecialFunction
from cyclebound.golden.system import job_table

__all__ = ["compare"]

JobTiles = enum.IntEnum("JobTiles", {  # type: ignore[misc]  # first addresses
    kind: tile_base(*tile.place) for kind, tile in job_table.JOB_TILES.items()})

_PUBLISHED: dict[type, dict[str, int]] = {
    Register: {"CONTROL": 0x00, "STATUS": 0x04, "PROGRAM": 0x08, "INSTRUCTIONS": 0x0C,
               "GRID_X": 0x10, "GRID_Y": 0x14, "WIDTH": 0x18, "POLICY": 0x1C, "ADDRESS": 0x20,
               "SIZE_X": 0x24, "SIZE_Y": 0x28, "MAP": 0x2C, "CYCLES_LOW": 0x30,
               "CYCLES_HIGH": 0x34, "FAULT": 0x38, "GROUP_LOW": 0x3C, "GROUP_HIGH": 0x40},
    Status: {"IDLE": 1 << 0, "FAULT": 1 << 1, "LOADED": 1 << 2, "REFUSED": 1 << 3},
    Cause: {"NONE": 0, "ILLEGAL": 1, "END": 2, "OVERFLOW": 3, "EMPTY": 4, "ACCESS": 5, "LOAD": 6},
    job_table.JobRegister: {"CONTROL": 0x00, "STATUS": 0x04, "CYCLES": 0x08, "WORD": 0x0C,
                            "OPERAND": 0x10},
    JobTiles: {"dataflow": 0x0100_0000, "systolic": 0x1000_0000, "simd": 0x1100_0000},
    job_table.KernelOperand: {"PROGRAM": 0, "INSTRUCTIONS": 1, "GRID_X": 2, "GRID_Y": 3, "WIDTH": 4,
                              "POLICY": 5},
    job_table.Control: {"START": 0},
    job_table.Status: {"IDLE": 0, "FAULT": 1, "REFUSED": 2},
    SpecialFunction: {"RCP": 0, "RSQRT": 1, "SIN": 2, "COS": 3},
    AxiType: {"FIXED": 0b00, "INCR": 0b01, "WRAP": 0b10},
    AxiResponse: {"OKAY": 0b00, "SLVERR": 0b10, "DECERR": 0b11},
}

def compare() -> tuple[int, list[str]]:
    """Entries compared, and how any differ."""
    wrong = []
    for kind, published in _PUBLISHED.items():
        have = {name: int(value) for name, value in kind.__members__.items()}  # type: ignore
        wrong += [f"{kind.__name__}.{name} is {have.get(name, 'absent')}, and not "
                  f"{published.get(name, 'there')}" for name in sorted({*have, *published})
                  if have.get(name) != published.get(name)]
    return sum(map(len, _PUBLISHED.values())), wrong
