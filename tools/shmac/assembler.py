"""Assembler for SHMAC's core: text, or single instructions, into words of 32 bits.

A line has labels (``name:``), and an instruction or a directive; ``#`` begins a comment. Registers
are ``$4`` or ``$a0``, numbers decimal or hexadecimal, and where a number may stand, so may a label,
``%hi(x)`` and ``%lo(x)``. Besides the instructions of `cyclebound.golden.shmac.isa` there are
``nop``, ``move rd, rs``, ``li rt, number`` (one word or two), ``la rt, label`` (two),
``b label``, ``.word numbers`` and ``.space bytes``. Nothing is put into delay slots, and nothing is
moved.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cyclebound.golden.shmac.isa import ENCODINGS, REGISTER_NAMES

__all__ = ["AssemblyError", "Placed", "assemble", "encode", "placed"]

_MASK = 0xFFFF_FFFF
_FIELDS = {"rs": 21, "rt": 16, "rd": 11, "sa": 6}
_REGISTERS = {name: number for number, name in enumerate(REGISTER_NAMES)} | {"s8": 30}
_NUMBER = re.compile(r"[+-]?(0[xX][0-9a-fA-F]+|[0-9]+)")


class AssemblyError(ValueError):
    """A line that is no assembly language, with its number."""


def encode(name: str, **fields: int) -> int:
    """The word of an instruction: ``encode("addu", rd=1, rs=2, rt=3)``.

    ``immediate`` is signed or not, ``offset`` counts instructions from the delay slot, ``target``
    is an address. Fields that are not named are 0. Raises ValueError.
    """
    if name not in ENCODINGS:
        raise ValueError(f"There is no instruction {name!r}")
    encoding = ENCODINGS[name]
    word = encoding.word
    for field, value in fields.items():
        if field not in re.findall(r"\w+", encoding.form):
            raise ValueError(f"{name} has no {field}, but {encoding.form or 'no operands'}")
        if field in _FIELDS:
            word |= _within(field, value, 0, 31) << _FIELDS[field]
        elif field == "target":
            word |= _within("target", value, 0, _MASK) >> 2 & 0x3FF_FFFF
        else:
            least, most = (-1 << 15, 0x7FFF if field == "offset" else 0xFFFF)
            word |= _within(field, value, least, most) & 0xFFFF
    return word


def _within(what: str, value: int, least: int, most: int) -> int:
    if not least <= value <= most:
        raise ValueError(f"{what} must be {least} to {most}, not {value}")
    return value


@dataclass(frozen=True)
class Placed:
    """Where the lines of a program are.

    Attributes
    ----------
    labels : dict
        Addresses of its own labels.
    lines : dict
        Of each line, by its number from 1 on, the address of its instruction; of one without, of
        the next.
    """

    labels: dict[str, int]
    lines: dict[int, int]


_Line = tuple[int, str, list[str], int]  # line, operation, operands, address


def assemble(text: str, *, origin: int = 0, symbols: Mapping[str, int] | None = None) -> list[int]:
    """The words of a program whose first one is at ``origin``. Raises `AssemblyError`."""
    where, lines = _places(text, origin, symbols or {})
    known = {**(symbols or {}), **where.labels}
    words: list[int] = []
    for number, operation, split, at in lines:
        try:
            words += _line(operation, split, at, lambda text: _value(text, known))
        except ValueError as error:
            raise AssemblyError(f"line {number}: {error}") from None
    return words


def placed(text: str, *, origin: int = 0, symbols: Mapping[str, int] | None = None) -> Placed:
    """Where `assemble` puts what. Raises `AssemblyError`."""
    return _places(text, origin, symbols or {})[0]


def _places(text: str, origin: int, symbols: Mapping[str, int]) -> tuple[Placed, list[_Line]]:
    where = Placed({}, {})
    lines: list[_Line] = []
    at = origin
    for number, line in enumerate(text.splitlines(), 1):
        where.lines[number] = at
        rest = line.partition("#")[0].strip()
        while found := re.match(r"([A-Za-z_.][\w.]*)\s*:\s*", rest):
            if found[1] in where.labels or found[1] in symbols:
                raise AssemblyError(f"line {number}: {found[1]} is there already")
            where.labels[found[1]], rest = at, rest[found.end():]
        if not rest:
            continue
        operation, _, operands = rest.partition(" ")
        split = [operand.strip() for operand in operands.split(",")] if operands.strip() else []
        lines.append((number, operation.lower(), split, at))
        try:
            at += 4 * _size(operation.lower(), split)
        except ValueError as error:
            raise AssemblyError(f"line {number}: {error}") from None
    return where, lines


def _size(operation: str, operands: list[str]) -> int:
    """Words of a line, before labels are known."""
    if operation == ".word":
        return len(operands)
    if operation == ".space":
        bytes_ = _value(operands[0] if operands else "", {})
        if bytes_ < 0 or bytes_ % 4:
            raise ValueError(f"space must be a multiple of 4 bytes, not {bytes_}")
        return bytes_ // 4
    if operation == "li" and len(operands) == 2:
        return 1 if -1 << 15 <= _value(operands[1], {}) < 1 << 16 else 2
    return 2 if operation == "la" else 1


def _line(operation: str, operands: list[str], at: int, value: Callable[[str], int]) -> list[int]:
    if operation == ".word":
        return [value(operand) & _MASK for operand in operands]
    if operation == ".space":
        return [0] * _size(operation, operands)
    if operation == "nop":
        return [_instruction("sll", ["$0", "$0", "0"], at, value)]
    if operation == "move":
        return [_instruction("addu", [*operands, "$0"], at, value)]
    if operation == "b":
        return [_instruction("beq", ["$0", "$0", *operands], at, value)]
    if operation in ("li", "la"):
        if len(operands) != 2:
            raise ValueError(f"{operation} has the operands rt number")
        register, number = operands[0], value(operands[1])
        if operation == "li" and _size(operation, operands) == 1:
            name = "addiu" if number < 1 << 15 else "ori"
            return [_instruction(name, [register, "$0", str(number)], at, value)]
        return [_instruction("lui", [register, str(number >> 16 & 0xFFFF)], at, value),
                _instruction("ori", [register, register, str(number & 0xFFFF)], at, value)]
    return [_instruction(operation, operands, at, value)]


def _instruction(name: str, operands: list[str], at: int, value: Callable[[str], int]) -> int:
    if name not in ENCODINGS:
        raise ValueError(f"there is no instruction {name!r}")
    form = ENCODINGS[name].form.split()
    if name == "jalr" and len(operands) == 1:
        operands = ["$31", *operands]
    if len(operands) != len(form):
        raise ValueError(f"{name} has {len(form)} operands ({ENCODINGS[name].form}), "
                         f"not {len(operands)}")
    fields: dict[str, int] = {}
    for field, operand in zip(form, operands, strict=True):
        if field == "immediate(rs)":
            found = re.fullmatch(r"(.*?)\s*\(\s*(\$\w+)\s*\)", operand)
            if not found:
                raise ValueError(f"an address is number($register), not {operand!r}")
            fields |= {"immediate": value(found[1] or "0"), "rs": _register(found[2])}
            if not -1 << 15 <= fields["immediate"] < 1 << 15:
                raise ValueError(f"an address' number must be {-1 << 15} to {(1 << 15) - 1}, "
                                 f"not {fields['immediate']}")
        elif field == "sa":
            fields["sa"] = value(operand)
        elif field == "rd" and name.endswith("c0"):
            fields["rd"] = _register(operand)
        elif field in _FIELDS:
            fields[field] = _register(operand)
        elif field == "offset":
            distance = value(operand) - (at + 4)
            if distance % 4:
                raise ValueError(f"a branch's target must be a multiple of 4, not {operand}")
            fields["offset"] = distance // 4
        elif field == "target":
            target = value(operand)
            if target % 4 or target >> 28 != at + 4 >> 28:
                raise ValueError(f"a jump's target must be a multiple of 4 with the highest 4 bits "
                                 f"of its delay slot's address, not {target:#x}")
            fields["target"] = target
        else:
            fields[field] = value(operand)
    return encode(name, **fields)


def _register(text: str) -> int:
    name = text.removeprefix("$")
    if text.startswith("$"):
        if name in _REGISTERS:
            return _REGISTERS[name]
        if name.isdecimal() and int(name) < len(REGISTER_NAMES):
            return int(name)
    raise ValueError(f"a register is $0 to $31 or has a name such as $a0, not {text!r}")


def _value(text: str, known: Mapping[str, int]) -> int:
    if found := re.fullmatch(r"%(hi|lo)\((.*)\)", text):
        whole = _value(found[2], known)
        low = (whole & 0xFFFF) - ((whole & 0x8000) << 1)
        return low if found[1] == "lo" else (whole - low) >> 16 & 0xFFFF
    if _NUMBER.fullmatch(text):
        return int(text, 0) if "x" in text.lower() else int(text)
    if text in known:
        return known[text]
    raise ValueError(f"{text!r} is no number, and no label that is known here")
