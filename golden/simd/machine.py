"""Sizes of the SIMD accelerator, and the work-groups that a grid is cut into.

Ref: Sim-D, sections 2.1 and 3, Table 3.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from cyclebound.golden.dram.request import BEAT_WORDS

__all__ = ["MACHINES", "SCALARS", "SCRATCHPAD_WORDS", "SLOTS", "VECTORS", "Crossing", "Grid",
           "Machine", "Place", "as_built", "machine_named", "name_of"]

SLOTS = 2      # work-groups under way
VECTORS = 64   # vector registers of a slot
SCALARS = 32
SCRATCHPAD_WORDS = 16384  # 64 KiB for each slot [Sim-D, Table 3]
NARROWEST = 32  # of the lines that a work-group may be folded into, its items over this


def _power_of_two(name: str, value: object, least: int = 1, most: int | None = None) -> None:
    if not isinstance(value, int) or value < least or value & value - 1 or (
            most is not None and value > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} must be a power of two {limits}, not {value!r}")


@dataclass(frozen=True)
class Machine:
    """A configuration.

    Raises `ValueError` for lanes, items, special units, bus, scratchpad or vectors that are no
    powers of two; a scratchpad smaller than its bus or larger than 16,384 words; fewer than 4 or
    more than 64 vectors; items that are no multiple of lanes, or lanes of special units; stages,
    ``divider_cycles`` or ``compute_ps`` below 1, clocks below 0; and fewer ``divider_cycles`` than
    ``execute_stages``; and ``snoopy`` that is neither 0 nor 1.

    Attributes
    ----------
    lanes : int
        Items that execute an instruction in one cycle: a warp.
    items : int
        Items of a work-group.
    special_units : int
        For reciprocals, roots, sines; each serves ``lanes / special_units`` lanes of a warp.
    scratchpad_bus : int
        Words that a scratchpad moves in a DRAM clock.
    scratchpad_words : int
        Words of a slot's scratchpad.
    vectors : int
        Vector registers of a slot: as many as instructions may name, or fewer. A program that
        names others is refused (`Program.check`), and stopped as illegal by hardware.
    snoopy : int
        1: `mem_idx` and `mem_data` snoop words that pass (Sim-D, section 3.2.3). 0: they are
        registers as others are, and a snoopy access (`Operation.snoopy`) is refused and stopped
        likewise. Accesses index by index serve its kernels, with bounds of their own.
    decode_stages, execute_stages : int
        Of the pipeline. Operand k is fetched in decode stage k, or in the last one.
    divider_cycles : int
        Of the divider, which is not pipelined.
    compute_ps : int
        The compute clock's period in ps; the DRAM part has the other's.
    setup_clocks : int
        DRAM clocks from the commit of an access to its being with its memory. 0 in Sim-D's model;
        `as_built` has what ours takes.
    resume_clocks : int
        DRAM clocks from a completion of DRAM to the first in which the compute clock may see it. 0
        in Sim-D's model.
    one_clock : bool
        Compute cycles begin with a DRAM clock: the first that is not before their time. In Sim-D's
        model they begin in between.
    line_by_line : bool
        DRAM moves a tile line by line if a beat might have words of two of its lines that have no
        place together (`Access.split`), and a scratchpad if a line of its bus might. Words in a
        row that are more than a line of their buffer in DRAM come as whole lines. Sim-D's model
        does not take such tiles. A snoopy tile (``ldgcidx``) has lines of its buffer: one, or such
        that are as far apart as those. Sim-D's model takes any.
    """

    lanes: int = 128
    items: int = 1024
    special_units: int = 32
    scratchpad_bus: int = 32
    scratchpad_words: int = SCRATCHPAD_WORDS
    vectors: int = VECTORS
    snoopy: int = 1
    decode_stages: int = 3
    execute_stages: int = 5
    divider_cycles: int = 8
    compute_ps: int = 1000
    setup_clocks: int = 0
    resume_clocks: int = 0
    one_clock: bool = False
    line_by_line: bool = False

    def __post_init__(self) -> None:
        for name in ("lanes", "items", "special_units", "scratchpad_bus"):
            _power_of_two(name, getattr(self, name))
        for name, least, most in (("scratchpad_words", self.scratchpad_bus, SCRATCHPAD_WORDS),
                                  ("vectors", 4, VECTORS)):
            _power_of_two(name, getattr(self, name), least, most)
        if self.items % self.lanes or self.lanes % self.special_units:
            raise ValueError(f"items must be a multiple of lanes and lanes of special_units, not "
                             f"{self.items}, {self.lanes} and {self.special_units}")
        if self.snoopy not in (0, 1):
            raise ValueError(f"snoopy must be 0 or 1, not {self.snoopy!r}")
        for name in ("decode_stages", "execute_stages", "divider_cycles", "compute_ps"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be at least 1, not {value!r}")
        for name in ("setup_clocks", "resume_clocks"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 0:
                raise ValueError(f"{name} must be at least 0, not {value!r}")
        if self.divider_cycles < self.execute_stages:
            raise ValueError(f"divider_cycles must be at least execute_stages "
                             f"({self.execute_stages}), not {self.divider_cycles}")

    @property
    def warps(self) -> int:
        """Warps in a work-group."""
        return self.items // self.lanes

    @property
    def words_moved(self) -> int:
        """Words that a transfer moves in a DRAM clock, at most: those of a beat, or of a line of a
        scratchpad."""
        return max(BEAT_WORDS, self.scratchpad_bus)

    @property
    def scalar_banks(self) -> int:
        """Scalar registers that a transfer writes in a clock: one for each word that moves. Those
        in a row lie in banks in a row."""
        return min(SCALARS, self.words_moved)

    @property
    def passes(self) -> int:
        """Passes of the special units over a warp."""
        return self.lanes // self.special_units

    @property
    def widths(self) -> list[int]:
        """Lines that a work-group may be folded into, in items."""
        narrowest = max(1, self.items // NARROWEST)
        return [width for width in (1 << exponent for exponent in range(self.items.bit_length()))
                if width >= narrowest]


MACHINES = {
    "paper": Machine(),
    "small": Machine(lanes=8, items=64, special_units=2, scratchpad_bus=4),
}
"""Sim-D's configuration, and one for FPGAs and quick runs."""


# What the RTL takes, whatever its sizes are: no change to a machine in words.
_BUILT: dict[str, Any] = {"setup_clocks": 5, "resume_clocks": 1, "one_clock": True,
                          "line_by_line": True}


def machine_named(machine: "Machine | str") -> Machine:
    """A machine as it is, or the one of this name, with changes: ``small decode_stages=1``.

    Raises `ValueError` for an unknown name, for a change that is not a size and a number, and as
    `Machine` does.
    """
    if isinstance(machine, Machine):
        return machine
    name, *changes = machine.split() if isinstance(machine, str) else [machine]
    if name not in MACHINES:
        raise ValueError(f"a machine must be one of {', '.join(MACHINES)}, not {machine!r}")
    fields = vars(MACHINES[name]).copy()
    for change in changes:
        field, _, value = change.partition("=")
        if field not in Machine.__dataclass_fields__ or field in _BUILT or not value.isdecimal():
            raise ValueError(f"a change to a machine must be one of its sizes and a number, such "
                             f"as lanes=4, not {change!r}")
        fields[field] = int(value)
    return Machine(**fields)


def name_of(machine: Machine) -> str:
    """What `machine_named` makes this machine of, with as few changes as there can be.

    Raises `ValueError` for a machine with another timing between its clocks, which no name has.
    """
    names = []
    for name, base in MACHINES.items():
        changes = {field: value for field, value in vars(machine).items()
                   if value != vars(base)[field]}
        if not changes.keys() & _BUILT.keys():
            words = [name, *(f"{field}={value}" for field, value in changes.items())]
            names.append((len(words), " ".join(words)))
    if not names:
        raise ValueError(f"{machine} is a model's: it cannot be named")
    return min(names)[1]


def as_built(machine: Machine) -> Machine:
    """The machine with the timing of this project's RTL: the crossing between its clocks, and how
    it moves tiles."""
    return replace(machine, **_BUILT)


@dataclass(frozen=True)
class Crossing:
    """Between a machine's clock and its DRAM's, whose period is ``dram_ps``; both begin together.
    """

    machine: Machine
    dram_ps: int

    def clock(self, cycle: int) -> int:
        """The first DRAM clock that begins no earlier than a compute cycle's time."""
        return -(-cycle * self.machine.compute_ps // self.dram_ps)

    def cycle(self, clock: int) -> int:
        """The first compute cycle that begins no earlier than a DRAM clock."""
        if self.machine.one_clock:  # its time is later than the clock before
            return (clock - 1) * self.dram_ps // self.machine.compute_ps + 1
        return -(-clock * self.dram_ps // self.machine.compute_ps)


@dataclass(frozen=True)
class Place:
    """A work-group of a grid: its number, and the items at which it begins."""

    number: int
    x: int
    y: int

    def __str__(self) -> str:
        return f"work-group {self.number} at ({self.x}, {self.y})"


@dataclass(frozen=True)
class Grid:
    """A kernel's items, ``x`` times ``y``, and how work-groups are cut out of them.

    A work-group is ``width`` items wide; one that reaches beyond the grid has lanes that are off
    from the start. The default width is the widest that is no wider than the grid.

    Raises
    ------
    ValueError
        For a grid without items, one too large, or a width that the machine does not have.
    """

    x: int
    y: int
    machine: Machine
    width: int = 0

    def __post_init__(self) -> None:
        for name, value in (("x", self.x), ("y", self.y)):
            if not isinstance(value, int) or not 1 <= value < 1 << 20:
                raise ValueError(f"a grid's {name} must be from 1 to {(1 << 20) - 1}, "
                                 f"not {value!r}")
        widths = self.machine.widths
        if self.width == 0:
            fitting = [width for width in widths if width <= self.x] or widths[:1]
            object.__setattr__(self, "width", fitting[-1])
        if self.width not in widths:
            raise ValueError(f"a work-group's width must be one of {', '.join(map(str, widths))}, "
                             f"not {self.width!r}")

    @property
    def height(self) -> int:
        """Lines of a work-group."""
        return self.machine.items // self.width

    @property
    def across(self) -> int:
        """Work-groups side by side."""
        return -(-self.x // self.width)

    @property
    def count(self) -> int:
        """How many work-groups the grid has."""
        return self.across * -(-self.y // self.height)

    def places(self) -> Iterator[Place]:
        """All work-groups in the order in which they start: x first."""
        for number in range(self.count):
            line, column = divmod(number, self.across)
            yield Place(number, column * self.width, line * self.height)
