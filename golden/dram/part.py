"""A DRAM part: its organisation and its timing numbers, each with unit and direction.

A timing number is printed by its maker as a time or in clocks. `Number` keeps it as printed;
`Part` holds all of a part's numbers in clocks of its DRAM clock: minima are rounded up, maxima
down. Everything that counts DRAM cycles (models, bounds, RTL, checkers) reads a `Part`. Parts by
name are in ``timing.py``, whose tests cover both.

Ref: Sim-D, Table 1; JESD79-4 and JESD79-3 for the names.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

__all__ = ["MAXIMA", "TIMINGS", "Number", "Part", "part_of"]

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

    Raises `ValueError`, which names the part and the rule, for sizes that are no powers of two,
    timings below 1 (``nFAW`` and ``nWPRE``: below 0), rows shorter than a burst, another
    generation, and numbers that contradict each other, such as an nRC below nRAS + nRP.

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


TIMINGS = tuple(member.name for member in fields(Part) if member.name.startswith("n")
                and member.name not in ("name", "numbers"))


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
