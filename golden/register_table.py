"""Tables of registers: addresses, fields and commands, as software sees them.

`sim.export.registers` makes SystemRDL, IP-XACT, a C header and a driver from such a table.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["REGISTER_BITS", "Command", "RegisterField", "RegisterRow", "RegisterTable"]

REGISTER_BITS = 32
_ACCESSES = ("read-write", "read-only", "write-only", "clear")
_NAME = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")


@dataclass(frozen=True)
class RegisterField:
    """Bits of a register.

    Attributes
    ----------
    name : str
        In capitals.
    low, width : int
        The first bit, and how many.
    access : str
        ``read-write``: kept, and 0 after reset. ``read-only``. ``write-only``: a write acts, reads
        are 0. ``clear``: a write of 1 clears it.
    says : str
        Its meaning, in a phrase.
    values : mapping of str to int
        Names of its values; empty for a number.
    """

    name: str
    low: int
    width: int
    access: str
    says: str
    values: Mapping[str, int] = field(default_factory=dict)

    @property
    def mask(self) -> int:
        """Its bits in the register."""
        return (1 << self.width) - 1 << self.low


@dataclass(frozen=True)
class RegisterRow:
    """A register of 32 bits.

    Attributes
    ----------
    name : str
        In capitals. Two of one name that end in ``_LOW`` and ``_HIGH`` are one number.
    address : int
        In bytes.
    says : str
        Its meaning, in a phrase.
    fields : tuple of RegisterField
        Lowest first.
    valid : tuple of str
        The register and the field that is 1 while this one has a meaning; empty: always.
    """

    name: str
    address: int
    says: str
    fields: tuple[RegisterField, ...]
    valid: tuple[str, ...] = ()

    @property
    def acts(self) -> bool:
        """Whether it is one bit, and a write of 1 acts."""
        return [(one.width, one.access) for one in self.fields] == [(1, "write-only")]


@dataclass(frozen=True)
class Command:
    """Writes that make the hardware do something.

    Attributes
    ----------
    name : str
        In small letters.
    says : str
        What is done, in a sentence.
    registers : tuple of str
        All that are written, in this order; the last write acts.
    """

    name: str
    says: str
    registers: tuple[str, ...]


@dataclass(frozen=True)
class RegisterTable:
    """The registers of a block.

    Attributes
    ----------
    rows : tuple of RegisterRow
        In any order of their addresses.
    commands : tuple of Command
        The driver's methods.
    idle, refused : tuple of str
        Register and field that are 1 while no command is under way, and once one was refused until
        it is cleared.

    Raises ValueError for names, addresses and fields that no table may have.
    """

    rows: tuple[RegisterRow, ...]
    commands: tuple[Command, ...]
    idle: tuple[str, str]
    refused: tuple[str, str]

    def __post_init__(self) -> None:
        places: dict[object, str] = {}
        for row in self.rows:
            if row.address % 4 or row.address < 0:
                raise ValueError(f"register {row.name}'s address must be a multiple of 4, not "
                                 f"{row.address}")
            taken = 0
            for one in row.fields:
                if one.access not in _ACCESSES:
                    raise ValueError(f"access of {row.name}.{one.name} must be one of "
                                     f"{', '.join(_ACCESSES)}, not {one.access!r}")
                if one.width < 1 or one.low < 0 or taken & one.mask or \
                        one.mask >> REGISTER_BITS:
                    raise ValueError(f"{row.name}.{one.name} must have bits of its own from 0 to "
                                     f"{REGISTER_BITS - 1}, not {one.width} from {one.low} on")
                if any(not 0 <= value < 1 << one.width for value in one.values.values()):
                    raise ValueError(f"values of {row.name}.{one.name} must fit into {one.width} "
                                     f"bits, not be {dict(one.values)}")
                taken |= one.mask
            for name in (row.name, *(one.name for one in row.fields)):
                if not _NAME.fullmatch(name):
                    raise ValueError(f"a register's name must be capitals, digits and _, not "
                                     f"{name!r}")
            for place in (row.name, row.address):
                if place in places:
                    raise ValueError(f"registers {places[place]} and {row.name} have one name or "
                                     "address")
                places[place] = row.name
        for where in (self.idle, self.refused, *(row.valid for row in self.rows if row.valid)):
            if not any((row.name, one.name) == where for row in self.rows for one in row.fields):
                raise ValueError(f"there is no field {'.'.join(where)!r}")
        for name in (name for command in self.commands for name in command.registers):
            if name not in places:
                raise ValueError(f"there is no register {name!r} for a command to write")

    def row(self, name: str) -> RegisterRow:
        """The register of this name."""
        return next(row for row in self.rows if row.name == name)

    def field(self, place: tuple[str, ...]) -> RegisterField:
        """The field of these names, of register and field."""
        return next(one for one in self.row(place[0]).fields if one.name == place[1])

    def inputs(self, command: Command) -> list[tuple[RegisterRow, RegisterField]]:
        """What a command is given: the fields of its registers, but for a bit that acts."""
        rows = [self.row(name) for name in command.registers]
        return [(row, one) for row in rows if not row.acts for one in row.fields]
