"""The text of ``cuobjdump -sass`` (sm_70 to sm_121), read by a grammar into kernels.

The output of ``nvdisasm`` is read too, with its labels, directives and sections of data. Addresses
are needed, machine words may be missing. Instructions of these architectures have 16 bytes, so that
a missing one shows. A listing of cuobjdump ends each function with a line of dots; one that has its
header but lacks the dots was cut off. One of nvdisasm names the label at which a function ends.
"""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import replace

from lark import Lark, Token, Transformer, UnexpectedInput
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from cyclebound.golden.gpu.instruction import (
    Constant,
    Guard,
    Instruction,
    Kernel,
    Memory,
    Register,
    Target,
    Targets,
    Word,
)

__all__ = ["BYTES", "SassError", "parse_sass"]

BYTES = 16
"""Bytes of one instruction."""

_LARGEST = 1 << 24  # characters; a whole library's listing is split by cuobjdump -fun
_ARCHITECTURES = ("sm_70", "sm_72", "sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90",
                  "sm_100", "sm_103", "sm_110", "sm_120", "sm_121")
_OF_A_FAMILY = "af"  # what may follow: sm_90a, sm_100f

_GRAMMAR = r"""
start: (ARCHITECTURE | FLAGS | CONTAINER | directive | section | function)*
section: SECTION (directive | LABEL | DATA)*
function: (FUNCTION | TEXT) (directive | FLAGS | instruction | LABEL)* DOTS?
?directive: DIRECTIVE | SIZE
instruction: ADDRESS guard? opcode operands? ";" ENCODING*
guard: "@" NOT? REGISTER
opcode: NAME SUFFIX*
operands: operand (","? operand)* ANNOTATION?
?operand: sign? (register | constant | memory | number | target | word | absolute | scoreboards)
scoreboards: "{" NUMBER ("," NUMBER)* "}"
sign: "-" | "~" | NOT | "+"
absolute: "|" (register | constant | number) "|" SUFFIX*
register: REGISTER SUFFIX*
constant: CONSTANT "[" terms "]" "[" terms "]" SUFFIX*
memory: (DESCRIPTOR "[" terms "]")? "[" terms "]" SUFFIX*
      | DESCRIPTOR "[" terms "]" SUFFIX* -> descriptor
terms: term ("+"? term)*
?term: register | number | word
number: NUMBER SUFFIX*
target: LABEL_REFERENCE
word: NAME SUFFIX* | RELOCATION | DIMENSION

ARCHITECTURE.3: /(arch[ \t]*=|code for|\.target)[ \t]*sm_\w+/
FUNCTION.3: /Function[ \t]*:[^\n]*/
TEXT.4: /\.text\.[^\s:]+:/
CONTAINER.2: /Fatbin (elf|ptx) code:|=+[ \t]*(?=\r?$)/m
    | /(code version|host|compile_size|producer|identifier|compressed|has debug info)\b[^\n]*/
    | /(ptxasOptions|cuobjdump|nvdisasm|member)\b[^\n]*/
FLAGS.3: /\.headerflags[ \t][^\n]*/
SECTION.3: /\.section[ \t][^\n]*/
SIZE.3: /\.size[ \t][^\n]*/
DIRECTIVE.2: /\.[a-z]\w*([ \t][^\n]*|(?=\r?\n))/
DATA.4: /\/\*[0-9a-fA-F]{4,8}\*\/[ \t]*\.\w[^\n]*/
DOTS.2: /\.{4,}/
LABEL.2: /\.?[A-Za-z_$][\w$.]*:/
ADDRESS.3: /\/\*[0-9a-fA-F]{4,8}\*\//
ENCODING.2: /\/\*[ \t]*0x[0-9a-fA-F]{16}[ \t]*\*\//
NOT: "!"
REGISTER.2: /(U?R(\d{1,3}|Z)|U?P[0-9TR]|S?B\d{1,2}|SR_\w+|SRZ)(?![\w@])/
CONSTANT.2: /cx?(?=\[)/
DESCRIPTOR.2: /[a-z]*desc(?=\[)/
RELOCATION.2: /(\d+|fun)@\w+\(([^();\n]|\([^();\n]*\))*\)/
DIMENSION.2: /[123]D\b/
NUMBER: /[+-]?(0x[0-9a-fA-F]+|\d+(\.\d*)?([eE][+-]?\d+)?|INF|QNAN|SNAN)(?![\w@])/
LABEL_REFERENCE: /`\(([^();\n]|\([^();\n]*\))*\)|\(\.[\w.$]+\)/
ANNOTATION: /\(\*"[^"\n]*"\*\)/
SUFFIX: /\.[A-Za-z0-9_]+/
NAME: /[A-Za-z_]\w*/

%ignore /[ \t\r\n\f]+/
%ignore /\/\/[^\n]*/
"""

_SAYS = {"ADDRESS": "an address such as /*0010*/", "SEMICOLON": "';'", "NAME": "a name",
         "REGISTER": "a register", "NUMBER": "a number", "RSQB": "']'", "LSQB": "'['",
         "FUNCTION": "'Function : NAME'", "ENCODING": "a machine word", "DOTS": "'....'",
         "$END": "the end", "LABEL": "a label", "COMMA": "','", "VBAR": "'|'",
         "TEXT": "'.text.NAME:'"}


class SassError(ValueError):
    """An error in a listing, with line and column."""


class _Builder(Transformer):
    """Kernels from the grammar's tree."""

    def __init__(self) -> None:
        super().__init__()
        self.kernels: list[tuple[Kernel, bool, int]] = []

    def register(self, children: list[Token]) -> Register:
        return Register(str(children[0]), any(part != ".reuse" for part in children[1:]))

    def number(self, children: list[Token]) -> Word:
        return Word(str(children[0]))

    def word(self, children: list[Token]) -> Word:
        return Word("".join(map(str, children)))

    def target(self, children: list[Token]) -> Target:
        return Target(None, str(children[0]).strip("`")[1:-1])

    def scoreboards(self, children: list[Token]) -> Word:
        return Word("{" + ",".join(map(str, children)) + "}")

    def sign(self, children: list[Token]) -> None:
        return None

    def operand(self, children: list) -> object:
        return _changed(children[-1]) if len(children) > 1 else children[-1]

    def absolute(self, children: list) -> object:
        return _changed(children[0])

    def terms(self, children: list) -> list:
        return children

    def constant(self, children: list) -> Constant:
        _, bank, offset = children[:3]
        return Constant(_sum(bank), _sum(offset))

    def memory(self, children: list) -> Memory:
        terms = [part for part in children if isinstance(part, list)][-1]
        registers = tuple(term.name for term in terms if isinstance(term, Register))
        return Memory(registers, _sum([term for term in terms if not isinstance(term, Register)])
                      or 0)

    def descriptor(self, children: list) -> Word:
        return Word(str(children[0]))

    def guard(self, children: list[Token]) -> Guard:
        return Guard(str(children[-1]), len(children) == 2)

    def opcode(self, children: list[Token]) -> tuple[Token, tuple[str, ...]]:
        return children[0], tuple(str(part)[1:] for part in children[1:])

    def operands(self, children: list) -> tuple:
        return tuple(_annotated(part) if isinstance(part, Token) else part for part in children
                     if not isinstance(part, Token) or _TARGETS in part)

    def instruction(self, children: list) -> Instruction:
        address = int(children[0][2:-2], 16)
        guard = next((part for part in children if isinstance(part, Guard)), None)
        opcode, modifiers = next(part for part in children if isinstance(part, tuple)
                                 and part and isinstance(part[0], Token))
        operands = next((part for part in children if isinstance(part, tuple)
                         and not (part and isinstance(part[0], Token))), ())
        return Instruction(opcode.line, address, str(opcode), modifiers, operands, guard)


def _changed(operand: object) -> object:
    """An operand of which an instruction takes the negative, the complement or the size."""
    return replace(operand, changed=True) if isinstance(operand, Register) else operand


_TARGETS = "BRANCH_TARGETS"


def _annotated(note: str) -> Targets:
    """Parse nvdisasm's note at a branch in a register: ``(*"BRANCH_TARGETS .L_x_1,.L_x_2"*)``."""
    return Targets(tuple(label for label in note.partition(_TARGETS)[2].rstrip('"*)').replace(
        ",", " ").split()))


def _sum(terms: list) -> int | None:
    """The value of an offset, or None if a register is in it."""
    total = 0
    for term in terms:
        if isinstance(term, Register) and term.name in ("RZ", "URZ"):  # zero
            continue
        if not isinstance(term, Word):
            return None
        try:
            total += int(term.text, 0)
        except ValueError:
            return None
    return total


@functools.cache
def _parser() -> Lark:
    return Lark(_GRAMMAR, parser="lalr", propagate_positions=False, maybe_placeholders=False)


def parse_sass(text: str) -> tuple[Kernel, ...]:
    """All kernels of a listing.

    Raises
    ------
    SassError
        With line and column: not a listing, an instruction that is none, an address that is
        missing or out of order, a branch out of its kernel, a listing that was cut off, an
        architecture that is not known.
    """
    if len(text) > _LARGEST:
        raise SassError(f"a listing has at most {_LARGEST} characters, not {len(text)}; "
                        "cuobjdump -fun NAME writes one function")
    try:
        tree = _parser().parse(text)
    except UnexpectedInput as error:
        raise SassError(_unexpected(error, text)) from None
    builder = _Builder()
    kernels: list[Kernel] = []
    architecture, header = "", False
    line: int | None = None
    children = builder.transform(tree).children
    ends = dict(_end(token) for token in _tokens(children) if token.type == "SIZE")
    for child in children:
        if isinstance(child, Token):
            header = header or child.type in ("ARCHITECTURE", "CONTAINER")
            if child.type == "ARCHITECTURE":  # of PTX too, which may be older
                architecture, line = "sm_" + str(child).rpartition("sm_")[2], child.line
            elif child.type == "FLAGS" and not architecture:
                architecture, line = _flagged(child), child.line
        elif child.data == "function":
            flags = next((part for part in child.children
                          if isinstance(part, Token) and part.type == "FLAGS"), None)
            of, at = architecture, line
            if not of and flags is not None:
                of, at = _flagged(flags), flags.line
            if of and of.rstrip(_OF_A_FAMILY) not in _ARCHITECTURES:
                raise SassError(f"line {at}: architecture must be one of "
                                f"{', '.join(_ARCHITECTURES)}, not {of}; "
                                "cuobjdump -arch NAME writes one of several")
            kernels.append(_kernel(child.children, of, header or flags is not None, ends))
    if not kernels:
        raise SassError("line 1: no 'Function : NAME' in it: not the output of cuobjdump -sass")
    names = [kernel.name for kernel in kernels]
    for kernel in kernels:
        if names.count(kernel.name) > 1 and sum(
                (other.name, other.architecture) == (kernel.name, kernel.architecture)
                for other in kernels) > 1:
            raise SassError(f"line {kernel.line}: function {kernel.name} is there "
                            f"{names.count(kernel.name)} times")
    return tuple(kernels)


def _tokens(children: list) -> Iterator[Token]:
    for child in children:
        if isinstance(child, Token):
            yield child
        elif not isinstance(child, Instruction):
            yield from _tokens(child.children)


def _end(size: Token) -> tuple[str, str]:
    """A function's name and the label at its end, from ``.size k,(.L_x_1 - k)``."""
    name, _, extent = str(size)[len(".size"):].partition(",")
    return name.strip(), extent.strip().lstrip("(").partition(" - ")[0]


def _flagged(flags: Token) -> str:
    """The architecture that ``.headerflags`` names, without what the code was made for."""
    words = str(flags).replace('"', " ").split()
    return next(("sm_" + word.removeprefix("EF_CUDA_SM") for word in words
                 if word.startswith("EF_CUDA_SM")), "")


def _kernel(parts: list, architecture: str, header: bool, ends: Mapping[str, str]) -> Kernel:
    """A function's parts as a kernel, once its addresses and branches are consistent."""
    first = parts[0]
    disassembled = first.type == "TEXT"
    name = (str(first)[len(".text."):-1] if disassembled
            else str(first).partition(":")[2].strip())
    if not name:
        raise SassError(f"line {first.line}: a function must have a name")
    instructions: list[Instruction] = []
    labels: dict[str, int] = {}
    for part in parts[1:]:
        if isinstance(part, Instruction):
            expected = len(instructions) * BYTES
            if part.address != expected:
                raise SassError(f"line {part.line}: the address must be {expected:04x}, as "
                                f"instructions have {BYTES} bytes, not {part.address:04x}")
            instructions.append(part)
        elif part.type == "LABEL":
            label = str(part)[:-1]
            if label in labels:
                raise SassError(f"line {part.line}: label {label} is defined twice")
            labels[label] = len(instructions) * BYTES
    if not instructions:
        raise SassError(f"line {first.line}: function {name} has no instruction")
    last = instructions[-1]
    if disassembled:
        if name in ends and ends[name] not in labels:
            raise SassError(f"line {last.line}: function {name} ends after {last.name} without its "
                            f"label {ends[name]}: the listing was cut off")
    elif header and not (isinstance(parts[-1], Token) and parts[-1].type == "DOTS"):
        raise SassError(f"line {last.line}: function {name} ends after {last.name} without the "
                        "line of dots: the listing was cut off")
    return Kernel(name, architecture, first.line, tuple(instructions), labels)


def _unexpected(error: UnexpectedInput, text: str) -> str:
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        where = f"line {text.count(chr(10)) + 1}"
        return f"{where}: the listing ends within an instruction: it was cut off"
    where = f"line {error.line}, column {error.column}"
    wanted = set(error.accepts or error.expected if isinstance(error, UnexpectedToken)
                 else error.allowed if isinstance(error, UnexpectedCharacters) else ())
    expected = sorted(_SAYS[token] for token in wanted if token in _SAYS)
    at = error.pos_in_stream or 0
    read = repr(str(error.token))[:40] if isinstance(error, UnexpectedToken) else repr(
        text[at:at + 1])
    return f"{where}: {read} where {' or '.join(expected) or 'an instruction'} must be"
