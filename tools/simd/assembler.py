"""Assembler of the SIMD accelerator: a ``.sas`` file becomes a `Program`.

The grammar is that of Sim-D's kernels, so that they assemble unchanged: sections ``.data``,
``.sp_data`` and ``.text``, ``//`` comments, labels, commas or none between operands, ``#bound``
annotations, optional operands, an ``f`` after a float anywhere. ``docs/simd.md`` has it in full.

Every line that does not assemble is an error with file, line, column and rule, and all of them are
reported at once.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cyclebound.golden.dram.request import WORD_BYTES
from cyclebound.golden.simd.control_stack import Flaw, stacks_of
from cyclebound.golden.simd.isa import (
    OPCODES,
    SCALAR_SPECIAL,
    TABLE,
    VECTOR_SPECIAL,
    Instruction,
    Kind,
    Number,
    Operand,
    OperandSlot,
    Operation,
    encode,
    illegal,
)
from cyclebound.golden.simd.program import (
    BUFFERS,
    INSTRUCTIONS,
    SCRATCHPAD_BYTES,
    Branches,
    Buffer,
    Flow,
    Program,
)
from cyclebound.golden.user_files import text_in

__all__ = ["CONSTANTS", "AssemblyError", "Problem", "assemble", "assemble_file"]

DEVICE_BYTES = 1 << 32  # of the largest DRAM: addresses have 30 bits for a word


@dataclass(frozen=True, order=True)
class Problem:
    """An error in a line; columns count from 1."""

    file: str
    line: int
    column: int
    rule: str
    said: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.rule}: {self.said}"


class AssemblyError(ValueError):
    """All problems of a file, in order."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = sorted(problems)
        super().__init__("\n".join(map(str, self.problems)))


def _bits(value: float | np.float32) -> int:
    with np.errstate(over="ignore"):
        return int(np.float32(value).view(np.uint32))


_FLOAT = np.finfo(np.float32)
CONSTANTS: Mapping[str, int] = {
    "FLT_MAX": _bits(_FLOAT.max), "FLT_MIN": _bits(_FLOAT.tiny), "FLT_EPSILON": _bits(_FLOAT.eps),
    "M_PI_F": _bits(math.pi), "M_2PI_F": _bits(2 * math.pi), "M_E_F": _bits(math.e),
    "FLT_DIG": 6, "FLT_MANT_DIG": 24, "FLT_RADIX": 2, "FLT_MAX_EXP": 128,
    "FLT_MIN_EXP": -125 & 0xFFFF_FFFF, "FLT_MAX_10_EXP": 38, "FLT_MIN_10_EXP": -37 & 0xFFFF_FFFF}
"""Named immediates, as 32 bits."""

_FLOAT_NAMES = frozenset(("FLT_MAX", "FLT_MIN", "FLT_EPSILON", "M_PI_F", "M_2PI_F", "M_E_F"))
_WORD = re.compile(r'"[^"]*"|[^\s,]+')
_LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_.$]*")
_REGISTER = re.compile(r"(vc|sc|v|s|p)(\d+)")
_SPECIAL = re.compile(r"(vc|sc)\.(\w+)")
_INTEGER = re.compile(r"-?(0[xX][0-9a-fA-F]+|\d+)")
_DECIMAL = re.compile(r"-?((\d+\.\d*|\.\d+)([eE][+-]?\d+)?f?|\d+[eE][+-]?\d+f?|\d+f)")
_NAMED = re.compile(r"-?(" + "|".join(CONSTANTS) + ")f?")
_REGISTERS = {"v": (Kind.VECTOR, 64), "s": (Kind.SCALAR, 32), "p": (Kind.PREDICATE, 4),
              "vc": (Kind.VECTOR_SPECIAL, len(VECTOR_SPECIAL)),
              "sc": (Kind.SCALAR_SPECIAL, len(SCALAR_SPECIAL))}
_FORMS = ("d", "f", "n")


@dataclass(frozen=True)
class _Word:
    """A word of a line, with its column."""

    text: str
    column: int


class _Refused(Exception):
    """A word that does not fit, where, and the rule that it breaks."""

    def __init__(self, word: _Word, rule: str, said: str) -> None:
        super().__init__(said)
        self.word, self.rule, self.said = word, rule, said


@dataclass
class _Immediate:
    """An immediate as written: its 32 bits, its integer value, whether it is a float."""

    bits: int
    integer: int | None
    floating: bool
    hexadecimal: bool


_LARGEST = 1 << 20  # bytes of a source, of at most 2,048 instructions


@dataclass
class _Line:
    """An instruction whose labels are not known yet."""

    number: int
    name: _Word
    operation: Operation
    sub: str
    operands: list[Operand | _Word | None]  # a word: a label
    source: int = 0                         # the line that a compiler made it of


def assemble_file(path: str | Path) -> Program:
    """The program of a file. Raises `AssemblyError`, or `OSError` if it cannot be read."""
    path = Path(path)
    try:
        text = text_in(path, _LARGEST)
    except UnicodeDecodeError as error:
        raise AssemblyError([Problem(str(path), 1, 1, "text", "a source must be UTF-8 text, "
                                     f"not byte {error.object[error.start]:#04x} at "
                                     f"{error.start}")]) from None
    return assemble(text, str(path))


def assemble(text: str, name: str = "kernel.sas") -> Program:
    """The program of a source text; ``name`` is its file's. Raises `AssemblyError`."""
    return _Assembler(text, name).program()


class _Assembler:
    """One pass over the lines, then labels, then the rules that need all of the program."""

    def __init__(self, text: str, name: str) -> None:
        self._name = name
        self._problems: list[Problem] = []
        self._lines: list[_Line] = []
        self._labels: dict[str, tuple[int, int]] = {}  # instruction, source line
        self._buffers: dict[str, dict[int, tuple[Buffer, int]]] = {".data": {}, ".sp_data": {}}
        self._pending: tuple[int, _Word, Branches | int] | None = None
        self._branches: dict[int, Branches] = {}
        self._values: dict[int, int] = {}
        self._flows: list[tuple[int, list[_Word]]] = []
        self._source_line = 0
        self._section = ".data"
        for number, line in enumerate(re.split(r"\r\n|\n|\r", text), 1):
            try:
                self._line(number, line)
            except _Refused as refused:
                self._say(number, refused.word.column, refused.rule, refused.said)
        if self._pending is not None:
            self._unbound()

    def _say(self, line: int, column: int, rule: str, said: str) -> None:
        self._problems.append(Problem(self._name, line, column, rule, said))

    # -- lines ---------------------------------------------------------------------------------

    def _line(self, number: int, line: str) -> None:
        words = _words(line)
        if not words:
            return
        first = words[0]
        if first.text.startswith("."):
            if first.text not in (".data", ".sp_data", ".text"):
                raise _Refused(first, "section", "a section must be .data, .sp_data or .text, "
                               f"not {first.text!r}")
            self._section = first.text
            if len(words) > 1:
                raise _Refused(words[1], "syntax", f"nothing may follow {first.text}, "
                               f"not {words[1].text!r}")
        elif self._section != ".text":
            self._buffer(self._section, number, words)
        elif first.text.startswith("#"):
            self._annotation(number, words)
        else:
            self._text(number, words)

    def _text(self, number: int, words: list[_Word]) -> None:
        first = words[0]
        if first.text.endswith(":"):
            self._define(number, _Word(first.text[:-1], first.column))
            words = words[1:]
            if not words:
                return
        self._instruction(number, words)

    def _define(self, number: int, word: _Word) -> None:
        if not _LABEL.fullmatch(word.text):
            raise _Refused(word, "label", "a label has letters, digits and _, and begins with "
                           f"no digit, not {word.text!r}")
        if _REGISTER.fullmatch(word.text) or _NAMED.fullmatch(word.text):
            raise _Refused(word, "label", "a label must not be the name of a register or constant, "
                           f"not {word.text!r}")
        if word.text in self._labels:
            raise _Refused(word, "label", f"label {word.text!r} stands in line "
                           f"{self._labels[word.text][1]}, too")
        self._labels[word.text] = len(self._lines), number

    def _instruction(self, number: int, words: list[_Word]) -> None:
        first = words[0]
        name, point, sub = first.text.partition(".")
        if name not in OPCODES:
            raise _Refused(first, "opcode", f"there is no operation {name!r}")
        operation = TABLE[OPCODES[name]]
        position = len(self._lines)
        # What follows is an instruction, even if it is wrong: labels keep their places.
        line = _Line(number, first, operation, operation.subops[0], [None] * len(operation.slots),
                     self._source_line)
        self._lines.append(line)
        self._bind(position, line)
        if (point and not sub) or sub not in operation.subops:
            subops = ", ".join(subop or "none" for subop in operation.subops)
            raise _Refused(first, "opcode", f"the sub-operation of {name} must be one of {subops}, "
                           f"not {sub!r}")
        line.sub = sub
        line.operands = self._operands(first, operation, words[1:])
        instruction = Instruction(name, sub, tuple(
            Operand(Kind.LABEL, 0) if isinstance(operand, _Word) else operand
            for operand in line.operands))
        if said := illegal(instruction):
            raise _Refused(words[1], "operand", said)

    def _operands(self, name: _Word, operation: Operation, words: list[_Word]
                  ) -> list[Operand | _Word | None]:
        operands: list[Operand | _Word | None] = []
        coming = list(words)
        for position, slot in enumerate(operation.slots):
            if not coming:
                if not slot.optional:
                    raise _Refused(name, "operands", f"{operation.name} takes operand "
                                   f"{position + 1}, {_kinds(slot)}, which is missing")
                operands.append(None)
                continue
            word = coming[0]
            try:
                operands.append(_operand(slot, word))
            except _Refused as refused:
                # An optional operand may have been left out: then this is the next one.
                if not slot.optional or refused.rule != "operand" \
                        or position + 1 == len(operation.slots):
                    raise
                operands.append(None)
                continue
            del coming[0]
        if coming:
            raise _Refused(coming[0], "operands", f"{operation.name} takes "
                           f"{len(operation.slots)} operands at most, and {coming[0].text!r} is "
                           "one more")
        return operands

    # -- annotations ---------------------------------------------------------------------------

    def _annotation(self, number: int, words: list[_Word]) -> None:
        if words[0].text == "#flow":
            self._flows.append((number, words))  # labels may still come
            return
        if words[0].text == "#line":
            if len(words) != 2:
                raise _Refused(words[0], "line", "a line of the source is #line N")
            self._source_line = self._count(words[1], "line", (1 << 31) - 1, 1)
            return
        if words[0].text != "#bound":
            raise _Refused(words[0], "bound", f"an annotation must be #bound, #flow or #line, not "
                           f"{words[0].text!r}")
        kind = words[1].text if len(words) > 1 else ""
        counts = [self._count(word, "bound", (1 << 31) - 1) for word in words[2:]]
        meant: Branches | int
        if kind == "branchcycle" and len(counts) in (2, 3):
            meant = Branches(*counts)
            if meant.taken + meant.not_taken == 0 \
                    or meant.start >= meant.taken + meant.not_taken:
                raise _Refused(words[2], "bound", "branchcycle T N S needs a pattern of at least "
                               "one branch, and a start in it, not "
                               f"{' '.join(word.text for word in words[2:])}")
        elif kind == "value" and len(counts) == 1:
            meant = counts[0]
        else:
            raise _Refused(words[min(1, len(words) - 1)], "bound", "an annotation must be "
                           "#bound branchcycle T N [S] or #bound value V")
        if self._pending is not None:
            self._unbound()
        self._pending = number, words[0], meant

    def _unbound(self) -> None:
        assert self._pending is not None
        self._say(self._pending[0], self._pending[1].column, "bound",
                  "an annotation must stand before the instruction that it is about")
        self._pending = None

    def _bind(self, position: int, line: _Line) -> None:
        """Give a waiting annotation to the instruction that follows it."""
        if self._pending is None:
            return
        number, word, meant = self._pending
        self._pending = None
        needs = "sicj" if isinstance(meant, Branches) else "smovssp"
        if line.operation.name != needs:
            self._say(number, word.column, "bound", f"this annotation must stand before {needs}, "
                      f"not {line.operation.name}")
        elif isinstance(meant, Branches):
            self._branches[position] = meant
        else:
            self._values[position] = meant

    def _flow(self, number: int, words: list[_Word]) -> Flow:
        """``#flow SUM <= SUM``: sums of labels, with factors if they are not 1, and numbers."""
        sides: list[list[_Word]] = [[]]
        for word in words[1:]:
            if word.text == "<=":
                sides.append([])
            else:
                sides[-1].append(word)
        if len(sides) != 2:
            raise _Refused(words[0], "flow", "a fact is #flow SUM <= SUM, with one <= between "
                           "spaces")
        terms: dict[int, int] = {}
        most = 0
        for sign, side in zip((1, -1), sides, strict=True):
            factor, wanted = None, True  # a summand, or a + after one
            for word in side:
                if word.text == "+" and not wanted:
                    most -= sign * (factor or 0)
                    factor, wanted = None, True
                elif _INTEGER.fullmatch(word.text) and wanted and factor is None:
                    factor, wanted = self._count(word, "flow", (1 << 31) - 1), False
                elif word.text in self._labels and (wanted or factor is not None):
                    place = self._labels[word.text][0]
                    if place == len(self._lines):
                        raise _Refused(word, "flow", f"no instruction follows label {word.text!r}")
                    terms[place] = terms.get(place, 0) + sign * (1 if factor is None else factor)
                    factor, wanted = None, False
                else:
                    raise _Refused(word, "flow", "a sum has labels of this kernel, each with a "
                                   "factor if it is not 1, and numbers, with + between them, not "
                                   f"{word.text!r} here")
            if wanted:
                raise _Refused(words[-1], "flow", "a sum ends with a label or a number")
            most -= sign * (factor or 0)
        terms = {place: times for place, times in terms.items() if times}
        if not terms:
            raise _Refused(words[0], "flow", "a fact must count a label, and both sides count the "
                           "same")
        return Flow(terms, most, " ".join(word.text for word in words), number)

    # -- buffers -------------------------------------------------------------------------------

    @staticmethod
    def _count(word: _Word, rule: str, most: int, least: int = 0) -> int:
        if not _INTEGER.fullmatch(word.text):
            raise _Refused(word, rule, f"a whole number is needed, not {word.text!r}")
        value = int(word.text, 16 if "x" in word.text.lower() else 10)
        if not least <= value <= most:
            raise _Refused(word, rule, f"a number from {least} to {most} is needed, not {value}")
        return value

    def _buffer(self, section: str, number: int, words: list[_Word]) -> None:
        if len(words) < 4:
            raise _Refused(words[-1], "buffer", "a buffer needs number, address, dim_x and dim_y")
        identity = self._count(words[0], "buffer", BUFFERS - 1)
        if identity in self._buffers[section]:
            raise _Refused(words[0], "buffer", f"buffer {identity} stands in line "
                           f"{self._buffers[section][identity][1]}, too")
        room = DEVICE_BYTES if section == ".data" else SCRATCHPAD_BYTES
        address = self._count(words[1], "buffer", room - 1)
        if address % WORD_BYTES:
            raise _Refused(words[1], "buffer", f"an address must be a multiple of {WORD_BYTES}, "
                           f"not {address:#x}")
        x, y = (self._count(word, "buffer", (1 << 20) - 1, 1) for word in words[2:4])
        buffer = Buffer(identity, address, x, y, *self._source(section, words[4:]))
        if buffer.end > room:
            raise _Refused(words[1], "buffer", f"buffer {identity} ends at byte {buffer.end:#x}, "
                           f"and there are {room:#x}")
        for other, line in self._buffers[section].values():
            if buffer.address < other.end and other.address < buffer.end:
                raise _Refused(words[1], "overlap", f"buffer {identity} overlaps buffer "
                               f"{other.number} of line {line}")
        self._buffers[section][identity] = buffer, number

    @staticmethod
    def _source(section: str, words: list[_Word]) -> tuple[str, str]:
        if not words:
            return "n", ""
        form = words[0]
        if section == ".sp_data":
            raise _Refused(form, "buffer", "a scratchpad buffer has no content, and nothing may "
                           f"follow its dimensions, not {form.text!r}")
        if form.text not in _FORMS:
            raise _Refused(form, "buffer", "a buffer's content must be d (CSV), f (raw) or n "
                           f"(none), not {form.text!r}")
        paths = words[1:]
        if len(paths) > 1:
            raise _Refused(paths[1], "buffer", f"nothing may follow a path, not {paths[1].text!r}")
        if form.text != "n" and not paths:
            raise _Refused(form, "buffer", f"content {form.text} needs a path in quotes")
        for path in paths:
            if not re.fullmatch(r'"[^"]+"', path.text):
                raise _Refused(path, "buffer", f"a path stands in quotes, not {path.text!r}")
        return form.text, paths[0].text[1:-1] if paths else ""

    # -- the whole -----------------------------------------------------------------------------

    def program(self) -> Program:
        """Resolve and check the lines as a program. Raises `AssemblyError` with all problems."""
        instructions = [self._resolved(line) for line in self._lines]
        flows = []
        for number, words in self._flows:
            try:
                flows.append(self._flow(number, words))
            except _Refused as refused:
                self._say(number, refused.word.column, refused.rule, refused.said)
        if not self._lines and not self._problems:
            self._say(1, 1, "length", "a kernel must have an instruction")
        if len(instructions) > INSTRUCTIONS:
            extra = self._lines[INSTRUCTIONS]
            self._say(extra.number, extra.name.column, "length",
                      f"a kernel has {INSTRUCTIONS} instructions at most, not {len(instructions)}")
        for line, instruction in zip(self._lines, instructions, strict=True):
            self._mapped(line, instruction)
        if not self._problems:
            try:
                stacks_of(instructions)
            except Flaw as flaw:
                line = self._lines[flaw.index]
                self._say(line.number, line.name.column, "stack", str(flaw))
        if self._problems:
            raise AssemblyError(self._problems)
        for instruction in instructions:
            encode(instruction)  # whatever has been accepted has an encoding
        buffers, scratchpad = ({number: buffer for number, (buffer, _) in memory.items()}
                               for memory in self._buffers.values())
        return Program(Path(self._name).stem, tuple(instructions),
                       tuple(line.number for line in self._lines),
                       {label: index for label, (index, _) in self._labels.items()},
                       buffers, scratchpad, self._branches, self._values, tuple(flows),
                       tuple(line.source for line in self._lines) if self._source_line else ())

    def _resolved(self, line: _Line) -> Instruction:
        operands: list[Operand | None] = []
        for operand in line.operands:
            if not isinstance(operand, _Word):
                operands.append(operand)
                continue
            place = 0
            if operand.text not in self._labels:
                self._say(line.number, operand.column, "label",
                          f"there is no label {operand.text!r}")
            else:
                place = self._labels[operand.text][0]
                if place >= len(self._lines):
                    self._say(line.number, operand.column, "label",
                              f"no instruction follows label {operand.text!r}")
            operands.append(Operand(Kind.LABEL, place))
        return Instruction(line.operation.name, line.sub, tuple(operands))

    def _mapped(self, line: _Line, instruction: Instruction) -> None:
        """Refuse an instruction that names a buffer which is not declared."""
        for slot, operand in zip(instruction.operation.slots, instruction.operands, strict=True):
            section = {Number.BUFFER: ".data", Number.SCRATCHPAD_BUFFER: ".sp_data"}.get(
                slot.number)
            if section and operand is not None and operand.value not in self._buffers[section]:
                self._say(line.number, line.name.column, "buffer",
                          f"{instruction.name} names buffer {operand.value}, which {section} does "
                          "not have")


def _words(line: str) -> list[_Word]:
    """The words of a line without its comment, which quotes may not hide."""
    words = []
    for match in _WORD.finditer(line):
        text, comment, _ = match[0].partition("//") if match[0][0] != '"' else (match[0], "", "")
        if text:
            words.append(_Word(text, match.start() + 1))
        if comment:
            break
    return words


def _kinds(slot: OperandSlot) -> str:
    words = {Kind.VECTOR: "a vector register", Kind.SCALAR: "a scalar register",
             Kind.PREDICATE: "a predicate", Kind.VECTOR_SPECIAL: "a vc register",
             Kind.SCALAR_SPECIAL: "an sc register", Kind.LABEL: "a label",
             Kind.IMMEDIATE: slot.number.value}
    return " or ".join(words[kind] for kind in slot.kinds)


def _operand(slot: OperandSlot, word: _Word) -> Operand | _Word:
    """A word as an operand of a slot; a label stays a word. Raises `_Refused`."""
    wrong = _Refused(word, "operand", f"{_kinds(slot)} is needed, not {word.text!r}")
    register = _register(word)
    if register is not None:
        if register.kind not in slot.kinds:
            raise wrong
        return register
    immediate = _immediate(word)
    if immediate is not None:
        if Kind.IMMEDIATE not in slot.kinds:
            raise wrong
        return Operand(Kind.IMMEDIATE, _value(slot, word, immediate))
    if Kind.LABEL in slot.kinds and _LABEL.fullmatch(word.text):
        return word
    raise wrong


def _register(word: _Word) -> Operand | None:
    match = _REGISTER.fullmatch(word.text)
    if match:
        kind, count = _REGISTERS[match[1]]
        number = int(match[2])
        if number >= count:
            raise _Refused(word, "range", f"registers are {match[1]}0 to {match[1]}{count - 1}, "
                           f"not {word.text}")
        return Operand(kind, number)
    match = _SPECIAL.fullmatch(word.text)
    if match:
        names = VECTOR_SPECIAL if match[1] == "vc" else SCALAR_SPECIAL
        if match[2] not in names:
            raise _Refused(word, "range", f"{match[1]} registers are {', '.join(names)}, "
                           f"not {match[2]}")
        return Operand(_REGISTERS[match[1]][0], names.index(match[2]))
    return None


def _immediate(word: _Word) -> _Immediate | None:
    text = word.text
    if _INTEGER.fullmatch(text):
        value = int(text, 16 if "x" in text.lower() else 10)
        if not -(1 << 31) <= value < 1 << 32:
            raise _Refused(word, "range", f"an immediate has 32 bits, and {text} has more")
        return _Immediate(value & 0xFFFF_FFFF, value, False, "x" in text.lower())
    if _DECIMAL.fullmatch(text):
        bits = _bits(float(text.rstrip("f")))
        if bits & 0x7FFF_FFFF == 0x7F80_0000:
            raise _Refused(word, "range", f"{text} is beyond the greatest float")
        return _Immediate(bits, None, True, False)
    if _NAMED.fullmatch(text):
        name = text.lstrip("-")
        name = name if name in CONSTANTS else name[:-1]
        bits, negative = CONSTANTS[name], text.startswith("-")
        if name in _FLOAT_NAMES:
            return _Immediate(bits ^ (0x8000_0000 if negative else 0), None, True, False)
        signed = bits - (bits >> 31 << 32)
        value = -signed if negative else signed
        return _Immediate(value & 0xFFFF_FFFF, value, False, False)
    return None


_RANGES = {Number.OFFSET: (-(1 << 15), (1 << 15) - 1), Number.BUFFER: (0, BUFFERS - 1),
           Number.SCRATCHPAD_BUFFER: (0, BUFFERS - 1), Number.COUNT: (0, (1 << 31) - 1)}


def _value(slot: OperandSlot, word: _Word, immediate: _Immediate) -> int:
    """The value to encode, checked against what the slot means by it."""
    if slot.number in _RANGES:
        least, most = _RANGES[slot.number]
        if immediate.integer is None:
            raise _Refused(word, "number", f"{slot.number.value} is needed, not a float")
        if not least <= immediate.integer <= most:
            raise _Refused(word, "range", f"{slot.number.value} must be from {least} to {most}, "
                           f"not {immediate.integer}")
        return immediate.integer
    if slot.number is Number.INTEGER and immediate.floating:
        raise _Refused(word, "number", "an integer is needed, not a float; its bits may be "
                       f"written as {immediate.bits:#010x}")
    if slot.number is Number.FLOAT and not immediate.floating and immediate.bits \
            and not immediate.hexadecimal:
        raise _Refused(word, "number", f"a float is needed, as in {word.text}.0; bits may be "
                       f"written in hexadecimal, {immediate.bits:#010x}")
    return immediate.bits
