"""DRAM parts by name: two of Sim-D, and others, each number with its source.

Ref: Sim-D, Table 1; JESD79-4 and JESD79-3 for what Table 1 leaves out.
"""

from cyclebound.golden.dram.jedec import jedec_parts
from cyclebound.golden.dram.part import MAXIMA, TIMINGS, Number, Part, part_of
from cyclebound.golden.dram.part_file import load_part

__all__ = [
    "DDR3_1600_MODULE",
    "DDR4_1866M_X16",
    "DDR4_3200AA_X8",
    "DDR4_3200AA_X16",
    "MAXIMA",
    "PARTS",
    "TIMINGS",
    "Number",
    "Part",
    "part_named",
    "part_of",
]

_SIM_D = "Sim-D, Table 1"
_NOTES = "Sim-D's timing set for DDR4-3200AA"
_JEDEC4 = "JESD79-4, DDR4-1866M, 8 Gb, 2 KB page"


def _clocks(source: str, **clocks: int) -> dict[str, Number]:
    return {name: Number(clocks=value, source=source) for name, value in clocks.items()}


_3200AA = {
    **_clocks(_SIM_D, nRCD=22, nCAS=22, nCWD=16, nRP=22, nBURST=4, nRAS=52, nRTP=12, nWR=24,
              nRFC=560, nREFI=12480, nCCD_S=4, nCCD_L=8),
    **_clocks(_NOTES, nRC=74, nWTR_S=4, nWTR_L=12),
    **_clocks("JESD79-4: 1 nCK preamble", nWPRE=1),
}

DDR4_3200AA_X16 = part_of(
    name="DDR4-3200AA x16 (2 bank groups)", generation="DDR4", tck_ps=625, banks=8, bank_groups=2,
    rows=65536, columns=1024,
    numbers={**_3200AA, **_clocks(_SIM_D, nRRD_S=9, nRRD_L=11), **_clocks(_NOTES, nFAW=48)})
"""Micron MT40A512M16JY-062E: Sim-D, Table 1, column (1)."""

DDR4_3200AA_X8 = part_of(
    name="DDR4-3200AA x8 (4 bank groups)", generation="DDR4", tck_ps=625, banks=16, bank_groups=4,
    rows=65536, columns=1024,
    numbers={**_3200AA, **_clocks(_SIM_D, nRRD_S=4, nRRD_L=8), **_clocks(_NOTES, nFAW=34)})
"""Micron MT40A1G8SA-062E: Sim-D, Table 1, column (2)."""

DDR4_1866M_X16 = part_of(
    name="DDR4-1866M x16 (2 bank groups)", generation="DDR4", tck_ps=1071, banks=8, bank_groups=2,
    rows=65536, columns=1024,
    numbers={
        **_clocks(_JEDEC4, nRCD=13, nCAS=13, nCWD=10, nRP=13, nBURST=4, nCCD_S=4, nWPRE=1),
        "nRAS": Number(picoseconds=34_000, source=_JEDEC4),
        "nRC": Number(picoseconds=47_920, source=_JEDEC4),
        "nRTP": Number(clocks=4, picoseconds=7_500, source=_JEDEC4),
        "nWR": Number(picoseconds=15_000, source=_JEDEC4),
        "nWTR_S": Number(clocks=2, picoseconds=2_500, source=_JEDEC4),
        "nWTR_L": Number(clocks=4, picoseconds=7_500, source=_JEDEC4),
        "nCCD_L": Number(clocks=4, picoseconds=5_355, source=_JEDEC4),
        "nRRD_S": Number(clocks=4, picoseconds=5_300, source=_JEDEC4),
        "nRRD_L": Number(clocks=4, picoseconds=6_400, source=_JEDEC4),
        "nFAW": Number(clocks=28, picoseconds=30_000, source=_JEDEC4),
        "nRFC": Number(picoseconds=350_000, source=_JEDEC4),
        "nREFI": Number(picoseconds=7_800_000, source=_JEDEC4),
    })
"""A slower DDR4 part with two bank groups."""

_TABLE_I = "memory-composition, Table I"

DDR3_1600_MODULE = part_of(
    name="DDR3-1600 module (8 banks)", generation="DDR3", tck_ps=1250, banks=8, bank_groups=1,
    rows=65536, columns=1024,
    numbers={
        **{name: Number(picoseconds=value, source=_TABLE_I) for name, value in {
            "nBURST": 5_000, "nCAS": 13_750, "nRP": 13_750, "nRCD": 13_750, "nWR": 21_250,
            "nWTR_S": 7_500, "nWTR_L": 7_500, "nRAS": 35_000, "nRC": 48_750, "nFAW": 30_000,
            "nRRD_S": 6_250, "nRRD_L": 6_250, "nCWD": 10_000, "nRFC": 260_000,
            # The table prints 3,125 cycles: 3,124.8 rounded up, which a maximum must not be.
            "nREFI": 3_906_000}.items()},
        **_clocks("JESD79-3: tCCD", nCCD_S=4, nCCD_L=4),
        "nRTP": Number(clocks=4, picoseconds=7_500, source="JESD79-3: tRTP"),
        "nWPRE": Number(clocks=1, source="JESD79-3: tWPRE"),
    })
"""Micron DDR3L module of eight banks of 512 MiB: memory-composition, Table I."""

PARTS: dict[str, Part] = {
    "ddr4-3200aa-x16": DDR4_3200AA_X16,
    "ddr4-3200aa-x8": DDR4_3200AA_X8,
    "ddr4-1866m-x16": DDR4_1866M_X16,
    "ddr3-1600-module": DDR3_1600_MODULE,
}
"""The named parts, by the names that the command line and the catalogue use."""


def part_named(part: Part | str) -> Part:
    """A part as it is, a named one, a speed bin of JEDEC, or one from a file ``....toml``.

    Raises `ValueError` for an unknown name, or a file that describes no part, and `TypeError` for
    what is neither a part nor a name.
    """
    if isinstance(part, Part):
        return part
    if not isinstance(part, str):
        raise TypeError(f"part must be a Part or the name of one, not {part!r}")
    if part.endswith(".toml"):
        return load_part(part)
    if part in PARTS:
        return PARTS[part]
    if part not in jedec_parts():
        raise ValueError(f"part must be one of {', '.join(PARTS)}, a speed bin such as "
                         "ddr4-2400r-x16 (`cyclebound dram parts` lists them), or a file that ends "
                         f"in .toml, not {part!r}")
    return jedec_parts()[part]
