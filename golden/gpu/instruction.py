"""A kernel in SASS, the machine code of an NVIDIA GPU, as the analyses read it."""

from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Constant", "Guard", "Instruction", "Kernel", "Memory", "Operand", "Register", "Target",
           "Targets", "Word"]


@dataclass(frozen=True)
class Register:
    """A register or predicate: ``R4``, ``UR4``, ``RZ``, ``P0``, ``B0``.

    Attributes
    ----------
    changed : bool
        Whether an instruction takes something else of it than its value: ``-R4``, ``!P0``,
        ``|R4|``, ``R4.H0_H0``.
    """

    name: str
    changed: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Constant:
    """A constant in a bank: ``c[0x0][0x160]``.

    Attributes
    ----------
    bank, offset : int or None
        None where a register is part of it: a dynamic access.
    """

    bank: int | None
    offset: int | None


@dataclass(frozen=True)
class Memory:
    """An address in memory: ``[R2.64+0x10]``, ``desc[UR4][R2.64]``.

    Attributes
    ----------
    registers : tuple[str, ...]
        Whose sum it is, with the offset; those of a descriptor are left out.
    """

    registers: tuple[str, ...]
    offset: int


@dataclass(frozen=True)
class Target:
    """Target of a branch: an address in the kernel, or a label or function by name."""

    address: int | None
    label: str | None = None


@dataclass(frozen=True)
class Targets:
    """All places a branch in a register may go to, as nvdisasm notes them.

    Attributes
    ----------
    names : tuple[str, ...]
        Labels, or addresses such as ``0x1d0``.
    """

    names: tuple[str, ...]


@dataclass(frozen=True)
class Word:
    """Any other operand: a number, a special register, a word such as ``2D``."""

    text: str


Operand = Register | Constant | Memory | Target | Targets | Word


@dataclass(frozen=True)
class Guard:
    """``@P0`` or ``@!P0`` before an opcode."""

    predicate: str
    negated: bool = False

    @property
    def always(self) -> bool:
        """Whether it lets every thread pass."""
        return self.predicate in ("PT", "UPT") and not self.negated

    @property
    def never(self) -> bool:
        """Whether it lets no thread pass."""
        return self.predicate in ("PT", "UPT") and self.negated


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    Attributes
    ----------
    line : int
        In its file, from 1.
    address : int
        In bytes from the start of its kernel.
    opcode : str
        Without modifiers: ``LDG``.
    modifiers : tuple[str, ...]
        ``("E", "128")``.
    """

    line: int
    address: int
    opcode: str
    modifiers: tuple[str, ...] = ()
    operands: tuple[Operand, ...] = ()
    guard: Guard | None = None

    @property
    def name(self) -> str:
        """Opcode with modifiers: ``LDG.E.128``."""
        return ".".join((self.opcode, *self.modifiers))

    @property
    def constants(self) -> Iterator[Constant]:
        """Its operands in constant banks."""
        return (operand for operand in self.operands if isinstance(operand, Constant))

    @property
    def unconditional(self) -> bool:
        """Whether every active thread executes it."""
        return self.guard is None or self.guard.always


@dataclass(frozen=True)
class Kernel:
    """A function of a listing.

    Attributes
    ----------
    architecture : str
        ``"sm_80"``; empty where the listing does not say.
    line : int
        Of its name in the file.
    labels : dict[str, int]
        Addresses of its labels.
    """

    name: str
    architecture: str
    line: int
    instructions: tuple[Instruction, ...]
    labels: dict[str, int]
