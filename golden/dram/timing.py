"""DRAM parts: organisation and timing numbers, each with unit, direction and source.

A timing number is printed by its maker as a time or in clocks. `Number` keeps it as printed;
`Part` holds all of a part's numbers in clocks of its DRAM clock: minima are rounded up, maxima
down. Everything that counts DRAM cycles (models, bounds, RTL, checkers) reads a `Part`.

Ref: Sim-D, Table 1; JESD79-4 and JESD79-3 for the names and for what Table 1 leaves out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

__all__ = [
    "DDR3_1600_MODULE",
    "DDR4_1866M_X16",
    "DDR4_3200AA_X8",
    "DDR4_3200AA_X16",
    "MAXIMA",
    "PARTS",
    "Number",
    "Part",
    "part_named",
    "part_of",
]

MAXIMA = frozenset({"nREFI"})  # all other numbers are minima, or fixed


@dataclass(frozen=True)
class Number:
    """A timing number as its source prints it.

    Attributes
    ----------
    clocks : int
        Clocks; 0 if only a time is given.
    picoseconds : int
        Time; 0 if only clocks are given. With both, both hold: of a minimum the larger
        (JEDEC's "max(4 nCK, 7.5 ns)"), of a maximum the smaller.
    source : str
        Where it is printed.
    """

    clocks: int = 0
    picoseconds: int = 0
    source: str = ""

    def cycles(self, tck_ps: int, *, maximum: bool = False) -> int:
        """In clocks of ``tck_ps``: a minimum rounded up, a maximum rounded down."""
        if maximum:
            down = self.picoseconds // tck_ps
            return min(self.clocks, down) if self.clocks and self.picoseconds else (
                self.clocks or down)
        return max(self.clocks, -(-self.picoseconds // tck_ps))


@dataclass(frozen=True)
class Part:
    """A DRAM part on a 64-bit bus: one channel, one rank. Timing in DRAM clocks.

    Attributes
    ----------
    name : str
        As tables print it.
    generation : str
        ``DDR3`` or ``DDR4``.
    tck_ps : int
        Clock period in ps.
    banks, bank_groups : int
        nB and nBG, powers of two. DDR3 has one group, and the same number for ``_S`` and ``_L``.
    rows, columns : int
        Per bank and per row, powers of two; a column is as wide as the bus.
    nRCD ... nWPRE : int
        JEDEC's parameters in clocks. ``nBURST`` is a burst of eight beats, ``nWPRE`` the write
        preamble, ``nFAW`` 0 where there is no four-activate window.
    numbers : mapping
        Where each comes from: name to `Number`.
    """

    name: str
    generation: str
    tck_ps: int
    banks: int
    bank_groups: int
    rows: int
    columns: int
    nRCD: int
    nCAS: int
    nCWD: int
    nRP: int
    nBURST: int
    nRAS: int
    nRC: int
    nRTP: int
    nWR: int
    nWTR_S: int
    nWTR_L: int
    nCCD_S: int
    nCCD_L: int
    nRRD_S: int
    nRRD_L: int
    nFAW: int
    nRFC: int
    nREFI: int
    nWPRE: int = 1
    numbers: Mapping[str, Number] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("banks", "bank_groups", "rows", "columns"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1 or value & value - 1:
                raise ValueError(f"{self.name}: {name} must be a power of two, not {value!r}")
        for name in ("tck_ps", *TIMINGS):
            value, least = getattr(self, name), 0 if name in ("nFAW", "nWPRE") else 1
            if not isinstance(value, int) or value < least:
                raise ValueError(f"{self.name}: {name} must be at least {least}, not {value!r}")
        if self.generation not in ("DDR3", "DDR4"):
            raise ValueError(f"{self.name}: generation must be DDR3 or DDR4, "
                             f"not {self.generation!r}")
        if self.banks < 2 or self.bank_groups > self.banks:
            raise ValueError(f"{self.name}: {self.banks} banks in {self.bank_groups} bank groups")
        if self.columns < 8:
            raise ValueError(f"{self.name}: a row must hold a burst of 8 columns, "
                             f"not {self.columns}")
        for least, what, most in (
                (self.nRAS + self.nRP, "nRC must be at least nRAS + nRP", self.nRC),
                (self.nRCD, "nRAS must be at least nRCD", self.nRAS),
                (self.nBURST, "nCCD_S must be at least nBURST", self.nCCD_S),
                (self.nCCD_S, "nCCD_L must be at least nCCD_S", self.nCCD_L),
                (self.nRRD_S, "nRRD_L must be at least nRRD_S", self.nRRD_L),
                (self.nWTR_S, "nWTR_L must be at least nWTR_S", self.nWTR_L),
                (self.nCWD, "nCAS must be at least nCWD", self.nCAS),
                (self.nRFC + 1, "nREFI must be greater than nRFC", self.nREFI)):
            if most < least:
                raise ValueError(f"{self.name}: {what}, not {most}")
        if self.bank_groups == 1:
            for name in ("nCCD", "nRRD", "nWTR"):
                if getattr(self, f"{name}_S") != getattr(self, f"{name}_L"):
                    raise ValueError(f"{self.name}: with one bank group, {name}_S and {name}_L "
                                     "must be equal")

    @property
    def bursts_per_row(self) -> int:
        """Bursts in a row of one bank (64 bytes each)."""
        return self.columns // 8

    @property
    def bursts_per_sweep(self) -> int:
        """Bursts in a row across all banks: after them, addresses begin the next row."""
        return self.bursts_per_row * self.banks

    @property
    def bursts(self) -> int:
        """Bursts in the whole device."""
        return self.bursts_per_sweep * self.rows

    def bank_group(self, bank: int) -> int:
        """The group that a bank belongs to; a bank and its sibling ``bank ^ 1`` differ in it."""
        return bank & self.bank_groups - 1


TIMINGS = tuple(each.name for each in fields(Part) if each.name.startswith("n")
                and each.name not in ("name", "numbers"))


def part_of(*, name: str, generation: str, tck_ps: int, banks: int, bank_groups: int, rows: int,
            columns: int, numbers: Mapping[str, Number]) -> Part:
    """A part from numbers as printed. Raises `ValueError` for a missing or contradictory one."""
    missing = [timing for timing in TIMINGS if timing not in numbers]
    if missing:
        raise ValueError(f"{name}: {', '.join(missing)} missing")
    unknown = [timing for timing in numbers if timing not in TIMINGS]
    if unknown:
        raise ValueError(f"{name}: unknown {', '.join(unknown)}; known are {', '.join(TIMINGS)}")
    for timing, number in numbers.items():
        if number.clocks < 0 or number.picoseconds < 0:
            raise ValueError(f"{name}: {timing} must not be negative")
    cycles = {timing: number.cycles(tck_ps, maximum=timing in MAXIMA)
              for timing, number in numbers.items()}
    return Part(name=name, generation=generation, tck_ps=tck_ps, banks=banks,
                bank_groups=bank_groups, rows=rows, columns=columns, numbers=dict(numbers),
                **cycles)


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

    Raises `ValueError` for an unknown name, or a file that describes no part.
    """
    if isinstance(part, Part):
        return part
    if not isinstance(part, str):
        raise TypeError(f"part must be a Part or the name of one, not {part!r}")
    if part.endswith(".toml"):
        from cyclebound.golden.dram.part_file import load_part  # which needs this module

        return load_part(part)
    if part in PARTS:
        return PARTS[part]
    from cyclebound.golden.dram.jedec import jedec_parts  # which needs this module, too

    if part not in jedec_parts():
        raise ValueError(f"part must be one of {', '.join(PARTS)}, a speed bin such as "
                         "ddr4-2400r-x16 (`cyclebound dram parts` lists them), or a file that ends "
                         f"in .toml, not {part!r}")
    return jedec_parts()[part]
