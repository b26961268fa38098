"""The instruction set of the SIMD accelerator: one table, from which everything else follows.

Assembler, disassembler, models, the decoder and the page ``docs/simd-isa.md`` read `TABLE`; none of
them has a list of its own. Each row names an operation, its sub-operations, its operands, the unit
that carries it out, its timing class, and what it does.

The 64-bit encoding is this project's own (`encode`). Every instruction has the same fields::

     63            32 31 30 29 28  23 22  17 16 15  10 9     7 6      0
    +----------------+--+-----+------+------+--+------+-------+--------+
    | B: 32 bits     |An| Bk  |  C   |  A   |Dk|  D   | subop | opcode |
    +----------------+--+-----+------+------+--+------+-------+--------+
    | Y: 16 | X: 16  |  |Yk Xk|                       of an access with an offset

``D``, ``A``, ``C`` are register, predicate or buffer numbers; ``B`` is the operand that may be of
several kinds, a register's number or 32 bits of an immediate. ``Dk``, ``Bk``, ``Xk``, ``Yk`` say
which of the kinds that the table lists, by position; ``An`` that the optional operand ``A`` is not
there. Unused bits are 0: `decode` refuses any other pattern, as hardware does.

Source: Sim-D, section 3.1 (scalar and vector instructions, implicit predication, control stack);
the operations are those of its authors' model.
"""

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

__all__ = [
    "ABSENT",
    "FIELDS",
    "KIND_FIELDS",
    "LIMITS",
    "OPCODES",
    "SCALAR_SPECIAL",
    "STACK_KINDS",
    "TABLE",
    "VECTOR_SPECIAL",
    "WRITABLE_SCALAR_SPECIAL",
    "WRITABLE_VECTOR_SPECIAL",
    "File",
    "Instruction",
    "Kind",
    "Number",
    "Operand",
    "OperandSlot",
    "Operation",
    "Timing",
    "Unit",
    "decode",
    "encode",
    "illegal",
]


class Kind(enum.Enum):
    """Kinds of operands."""

    VECTOR = "V"
    SCALAR = "S"
    PREDICATE = "P"
    IMMEDIATE = "I"
    VECTOR_SPECIAL = "vc"
    SCALAR_SPECIAL = "sc"
    LABEL = "L"


class File(enum.IntEnum):
    """Register files, as hardware numbers them; `NONE` is an immediate, or nothing."""

    NONE = 0
    VECTOR = 1
    SCALAR = 2
    PREDICATE = 3
    VECTOR_SPECIAL = 4
    SCALAR_SPECIAL = 5


class Number(enum.Enum):
    """Interpretations of an immediate."""

    BITS = "32 bits: an integer or a float"
    INTEGER = "an integer"
    FLOAT = "a float"
    BUFFER = "a DRAM buffer"
    SCRATCHPAD_BUFFER = "a scratchpad buffer"
    OFFSET = "a signed offset of 16 bits"
    COUNT = "a number of words"


class Unit(enum.Enum):
    """Units that execute instructions."""

    FLOAT = "float"
    INTEGER = "integer"
    COPY = "copy"
    PREDICATE = "predicate"
    SPECIAL = "reciprocal"
    DIVIDER = "divider"
    CONTROL = "control"
    DRAM = "dram"
    SCRATCHPAD = "scratchpad"
    NONE = "none"


class Timing(enum.Enum):
    """Classes that differ in issue cycles or in what they make the pipeline do.

    W is the number of warps in a work-group, R that of reciprocal units' passes over a warp.
    """

    SCALAR = "1 issue cycle"
    VECTOR = "W issue cycles, one for each warp"
    SPECIAL = "W * R issue cycles"
    DIVIDE = "1 issue cycle; the divider is busy for 8"
    JUMP = "1 issue cycle; if taken, the pipeline is refilled"
    MASK = "W issue cycles; refilled with an injected cpop if no lane is left"
    CALL = "W issue cycles; the pipeline is refilled"
    ACCESS = "1 issue cycle; ends the compute phase"


@dataclass(frozen=True)
class OperandSlot:
    """A place for an operand.

    Attributes
    ----------
    field : str
        Of the encoding: D, A, B, C, X or Y.
    kinds : tuple of Kind
        What may stand there; the position of the one that does is encoded.
    number : Number
        How an immediate is meant.
    optional : bool
        It may be left out.
    default : int or None
        The immediate that is encoded when it is left out; None: nothing.
    written : bool
        It is a destination.
    """

    field: str
    kinds: tuple[Kind, ...]
    number: Number = Number.BITS
    optional: bool = False
    default: int | None = None
    written: bool = False

    @property
    def stage(self) -> int:
        """The decoder's number of this operand, which is the decode stage that fetches it."""
        return {"A": 0, "B": 1, "C": 2, "X": 1, "Y": 2, "D": 0}[self.field]


@dataclass(frozen=True)
class Operation:
    """A row of the table.

    ``subops`` are the names after the point; the empty name is none. ``wide``: the vector slots
    stand for one, two or four registers, by sub-operation.
    """

    name: str
    subops: tuple[str, ...]
    slots: tuple[OperandSlot, ...]
    unit: Unit
    timing: Timing
    meaning: str

    @property
    def vector(self) -> bool:
        """Whether it is expanded to one instruction for each warp."""
        return self.timing in (Timing.VECTOR, Timing.SPECIAL, Timing.MASK, Timing.CALL)

    @property
    def access(self) -> bool:
        """Whether it is a transfer of DRAM or scratchpad, which ends the compute phase."""
        return self.timing is Timing.ACCESS

    @property
    def store(self) -> bool:
        """An access from registers to DRAM or scratchpad, or from scratchpad to DRAM."""
        return self.access and self.name.startswith("st")

    @property
    def snoopy(self) -> bool:
        """An access of which `mem_idx` and `mem_data` snoop the words that pass."""
        return self.name in _SNOOPY

    def slot(self, field: str) -> OperandSlot | None:
        return next((slot for slot in self.slots if slot.field == field), None)


VECTOR_SPECIAL = ("ctrl_run", "ctrl_break", "ctrl_ret", "ctrl_exit", "tid_x", "tid_y", "lid_x",
                  "lid_y", "zero", "one", "mem_idx", "mem_data")
"""Special registers with a value in each lane, in order."""

SCALAR_SPECIAL = ("dim_x", "dim_y", "wg_off_x", "wg_off_y", "wg_width", "sd_words", "sd_period",
                  "sd_period_cnt")
"""Special registers of the work-group, in order."""

WRITABLE_VECTOR_SPECIAL = frozenset(map(VECTOR_SPECIAL.index, ("mem_idx", "mem_data")))
WRITABLE_SCALAR_SPECIAL = frozenset(map(SCALAR_SPECIAL.index,
                                        ("sd_words", "sd_period", "sd_period_cnt")))

STACK_KINDS = {"if": "run", "brk": "break", "jc": "ret"}
"""Sub-operations of cpush, and the mask that each saves."""

_SNOOPY = frozenset(("ldgbidx", "stgbidx", "ldgcidx", "stgcidx", "ldspbidx", "stspbidx"))

_KINDS = {kind.value: kind for kind in Kind}
_NUMBERS = {"": Number.BITS, "int": Number.INTEGER, "float": Number.FLOAT, "buf": Number.BUFFER,
            "sp": Number.SCRATCHPAD_BUFFER, "off": Number.OFFSET, "n": Number.COUNT}
_SLOT = re.compile(r"(?P<written>\+?)(?P<field>[DABCXY]):(?P<kinds>[A-Za-z/]+)"
                   r"(?:\((?P<number>\w*)\))?(?P<optional>\?)?(?:=(?P<default>\d+))?")


def _slots(text: str) -> tuple[OperandSlot, ...]:
    """Slots from a row's text: ``+D:V A:V B:V/S/I(float) C:V``; ``+`` is a destination."""
    slots = []
    for word in text.split():
        match = _SLOT.fullmatch(word)
        assert match is not None, word  # a misprint in the table below
        kinds = tuple(_KINDS[kind] for kind in match["kinds"].split("/"))
        slots.append(OperandSlot(match["field"], kinds, _NUMBERS[match["number"] or ""],
                                 bool(match["optional"] or match["default"]),
                                 None if match["default"] is None else int(match["default"]),
                                 bool(match["written"])))
    return tuple(slots)


_CONDITIONS = ("ez", "nz", "g", "ge", "l", "le")
_XY = "X:I/S(off)=0 Y:I/S(off)=0"


def _row(name: str, slots: str, unit: Unit, timing: Timing, meaning: str,
         subops: tuple[str, ...] = ("",)) -> Operation:
    return Operation(name, subops, _slots(slots), unit, timing, meaning)


def _rows(names: Mapping[str, str], slots: str, unit: Unit, timing: Timing,
          subops: tuple[str, ...] = ("",)) -> list[Operation]:
    return [_row(name, slots, unit, timing, meaning, subops) for name, meaning in names.items()]


_FLOAT2, _INT2 = "+D:V A:V B:V/S/I(float)", "+D:V A:V B:V/S/I(int)"
_SCALAR2 = "+D:S A:S B:S/I(int)"

TABLE: tuple[Operation, ...] = (
    _row("nop", "", Unit.NONE, Timing.SCALAR, "nothing"),
    # -- control flow
    _row("j", "B:L", Unit.CONTROL, Timing.JUMP, "jump"),
    _row("sicj", "B:L A:S", Unit.CONTROL, Timing.JUMP, "jump if the signed A compares so with 0",
         _CONDITIONS),
    _row("bra", "B:L A:P", Unit.CONTROL, Timing.MASK,
         "push (run, B, A of all lanes); run &= ~A"),
    _row("call", "B:L A:P?", Unit.CONTROL, Timing.CALL,
         "push (ret, the next instruction, A or all lanes); ret := A or all lanes; jump to B"),
    _row("cpush", "B:L A:P?", Unit.CONTROL, Timing.VECTOR,
         "push (run, break or ret, B, A or that mask)", tuple(STACK_KINDS)),
    _row("cmask", "A:P", Unit.CONTROL, Timing.MASK, "run := ~A in active lanes"),
    _row("brk", "A:P", Unit.CONTROL, Timing.MASK, "break := ~A in active lanes"),
    _row("ret", "A:P", Unit.CONTROL, Timing.MASK, "ret := ~A in active lanes"),
    _row("exit", "A:P?", Unit.CONTROL, Timing.MASK,
         "exit := ~A in active lanes; without A all of them end"),
    _row("cpop", "", Unit.CONTROL, Timing.CALL,
         "pop: the mask of the entry's kind := the saved one in all lanes; jump to its label"),
    # -- predicates
    _row("test", "+D:P A:V", Unit.PREDICATE, Timing.VECTOR,
         "compare the float A with 0; of a NaN, only nz holds", _CONDITIONS),
    _row("itest", "+D:P A:V", Unit.PREDICATE, Timing.VECTOR, "compare the signed A with 0",
         _CONDITIONS),
    _row("pbool", "+D:P A:P C:P", Unit.PREDICATE, Timing.VECTOR, "combine two predicates",
         ("and", "or", "nand", "nor")),
    # -- floats
    *_rows({"add": "A + B; neg: A - B", "mul": "A * B; neg: A * -B"}, _FLOAT2, Unit.FLOAT,
           Timing.VECTOR, ("", "neg")),
    _row("mad", "+D:V A:V B:V/S/I(float) C:V", Unit.FLOAT, Timing.VECTOR,
         "A * B + C, rounded after either; neg: A * -B + C", ("", "neg")),
    *_rows({"min": "the lesser; a number rather than a NaN; -0 is less than 0",
            "max": "the greater; a number rather than a NaN; -0 is less than 0"}, _FLOAT2,
           Unit.FLOAT, Timing.VECTOR),
    _row("abs", "+D:V A:V", Unit.FLOAT, Timing.VECTOR, "A without its sign bit"),
    *_rows({"rcp": "1 / A", "rsqrt": "1 / sqrt(A)", "sin": "the sine of A radians",
            "cos": "the cosine of A radians"}, "+D:V A:V", Unit.SPECIAL, Timing.SPECIAL),
    # -- copies and conversions
    _row("mov", "+D:V B:I/vc", Unit.COPY, Timing.VECTOR, "D := B"),
    _row("movvsp", "+D:vc B:I/V", Unit.COPY, Timing.VECTOR, "D := B; mem_idx keeps 30 bits"),
    _row("smov", "+D:S B:I/sc", Unit.COPY, Timing.SCALAR, "D := B"),
    _row("smovssp", "+D:sc B:I/S", Unit.COPY, Timing.SCALAR, "D := B"),
    _row("cvt", "+D:V B:V/vc/sc", Unit.FLOAT, Timing.VECTOR,
         "i2f: the float nearest to the unsigned B; f2i: B towards zero, saturated, a NaN to 0",
         ("i2f", "f2i")),
    _row("scvt", "+D:S B:S/sc", Unit.FLOAT, Timing.SCALAR, "as cvt", ("i2f", "f2i")),
    _row("bufquery", "+D:S A:I(buf)", Unit.COPY, Timing.SCALAR, "a dimension of DRAM buffer A",
         ("dim_x", "dim_y")),
    # -- integers of the lanes
    *_rows({"iadd": "A + B", "isub": "A - B", "imul": "the lower half of A * B",
            "imin": "the signed lesser", "imax": "the signed greater"}, _INT2, Unit.INTEGER,
           Timing.VECTOR),
    _row("imad", "+D:V A:V B:V/S/I(int) C:V", Unit.INTEGER, Timing.VECTOR,
         "the lower half of A * B + C"),
    *_rows({"and": "bit by bit", "or": "bit by bit", "xor": "bit by bit"}, _INT2, Unit.INTEGER,
           Timing.VECTOR),
    _row("not", "+D:V A:V", Unit.INTEGER, Timing.VECTOR, "bit by bit"),
    *_rows({"shl": "A to the left by the lowest five bits of B",
            "shr": "A to the right by the lowest five bits of B, its sign kept"},
           "+D:V A:V B:S/I(int)", Unit.INTEGER, Timing.VECTOR),
    # -- integers of the work-group
    *_rows({"siadd": "A + B", "sisub": "A - B", "simul": "the lower half of A * B",
            "simin": "the signed lesser", "simax": "the signed greater", "sand": "bit by bit",
            "sor": "bit by bit", "sshl": "A to the left by the lowest five bits of B",
            "sshr": "A to the right by the lowest five bits of B, its sign kept"}, _SCALAR2,
           Unit.INTEGER, Timing.SCALAR),
    _row("simad", "+D:S A:S B:S/I(int) C:S", Unit.INTEGER, Timing.SCALAR,
         "the lower half of A * B + C"),
    _row("sineg", "+D:S A:S", Unit.INTEGER, Timing.SCALAR, "-A"),
    _row("snot", "+D:S A:S", Unit.INTEGER, Timing.SCALAR, "bit by bit"),
    _row("sibfind", "+D:S A:S", Unit.INTEGER, Timing.SCALAR,
         "the highest bit that differs from the sign; -1 if none does"),
    *_rows({"sidiv": "A / B towards zero; -1 for B = 0; the least integer by -1 is itself",
            "simod": "what sidiv leaves: A - B * (A / B), and A for B = 0"}, _SCALAR2,
           Unit.DIVIDER, Timing.DIVIDE),
    # -- accesses: DRAM and registers
    _row("ldglin", f"+D:V/vc A:I(buf) {_XY}", Unit.DRAM, Timing.ACCESS,
         "the work-group's tile of buffer A, moved by (X, Y) items", ("", "vec2", "vec4")),
    _row("stglin", f"D:V/vc A:I(buf) {_XY}", Unit.DRAM, Timing.ACCESS,
         "D to the work-group's tile of buffer A, moved by (X, Y) items", ("", "vec2", "vec4")),
    _row("ldgbidx", "A:I(buf)", Unit.DRAM, Timing.ACCESS,
         "snoopy: mem_data := A[mem_idx], all of A streams past"),
    _row("stgbidx", "A:I(buf)", Unit.DRAM, Timing.ACCESS,
         "snoopy: A[mem_idx] := mem_data; of several lanes, the lowest"),
    _row("ldgcidx", f"A:I(buf) {_XY}", Unit.DRAM, Timing.ACCESS,
         "snoopy with sd_period_cnt lines of sd_words words, sd_period words apart, from word X of "
         "line Y on"),
    _row("stgcidx", f"A:I(buf) {_XY}", Unit.DRAM, Timing.ACCESS,
         "snoopy: mem_data to such lines; of several lanes, the lowest"),
    _row("ldgidxit", "+D:V A:I(buf)", Unit.DRAM, Timing.ACCESS,
         "index by index: D := A[mem_idx]"),
    _row("stgidxit", "D:V A:I(buf)", Unit.DRAM, Timing.ACCESS,
         "index by index: A[mem_idx] := D; of several lanes, the highest"),
    _row("sldg", "+D:S A:I(buf) B:I(n)=1", Unit.DRAM, Timing.ACCESS,
         "the first B words of buffer A to D and the registers after it"),
    # -- accesses: DRAM and scratchpad
    _row("ldg2sptile", f"D:I(sp) A:I(buf) {_XY}", Unit.DRAM, Timing.ACCESS,
         "scratchpad buffer D from the tile of its size at (X, Y) of buffer A"),
    _row("stg2sptile", f"D:I(sp) A:I(buf) {_XY}", Unit.DRAM, Timing.ACCESS,
         "scratchpad buffer D to the tile of its size at (X, Y) of buffer A"),
    # -- accesses: scratchpad and registers
    _row("ldsplin", f"+D:V/vc A:I(sp) {_XY}", Unit.SCRATCHPAD, Timing.ACCESS,
         "the words of scratchpad buffer A at (X + lid_x, Y + lid_y)"),
    _row("stsplin", f"D:V/vc A:I(sp) {_XY}", Unit.SCRATCHPAD, Timing.ACCESS,
         "D to the words of scratchpad buffer A at (X + lid_x, Y + lid_y)"),
    _row("ldspbidx", "A:I(sp)", Unit.SCRATCHPAD, Timing.ACCESS,
         "snoopy: mem_data := A[mem_idx]"),
    _row("stspbidx", "A:I(sp)", Unit.SCRATCHPAD, Timing.ACCESS,
         "snoopy: A[mem_idx] := mem_data; of several lanes, the lowest"),
    _row("sldsp", f"+D:S A:I(sp) {_XY}", Unit.SCRATCHPAD, Timing.ACCESS,
         "sd_words words at (X, Y) of scratchpad buffer A to D and the registers after it"),
    # -- for a model's user; nothing in hardware
    _row("printsgpr", "A:S", Unit.NONE, Timing.SCALAR, "a model prints A"),
    _row("printvgpr", "A:V", Unit.NONE, Timing.SCALAR, "a model prints A"),
    _row("printpr", "A:P", Unit.NONE, Timing.SCALAR, "a model prints A"),
    _row("printcmask", "A:vc", Unit.NONE, Timing.SCALAR, "a model prints A"),
    _row("printtrace", "B:I(n)=0", Unit.NONE, Timing.SCALAR, "a model prints its counters"),
)
"""All operations; an operation's opcode is its position."""

OPCODES: Mapping[str, int] = {operation.name: code for code, operation in enumerate(TABLE)}


@dataclass(frozen=True)
class Operand:
    """An operand: a register's number, a label's instruction, or an immediate.

    Immediates of 32 bits are unsigned patterns; offsets are signed.
    """

    kind: Kind
    value: int


@dataclass(frozen=True)
class Instruction:
    """An instruction with an operand, or None, for each of its operation's slots."""

    name: str
    sub: str = ""
    operands: tuple[Operand | None, ...] = ()

    @property
    def operation(self) -> Operation:
        return TABLE[OPCODES[self.name]]

    def operand(self, field: str) -> Operand | None:
        """The operand in a field of the encoding, if there is one."""
        return _by_field(self).get(field)

    @property
    def width(self) -> int:
        """Registers that each lane's operand of an access takes: 1, 2 or 4."""
        return {"vec2": 2, "vec4": 4}.get(self.sub, 1)

    @property
    def last_vector(self) -> int:
        """The highest number of a vector register that it reads or writes; -1 if there is none."""
        return max((operand.value + (self.width - 1 if field == "D" else 0)
                    for field, operand in _by_field(self).items()
                    if operand.kind is Kind.VECTOR), default=-1)


def illegal(instruction: Instruction) -> str:
    """The rule that an instruction breaks beyond its fields' ranges; empty if none."""
    destination, width = instruction.operand("D"), instruction.width
    name, slot = instruction.name, instruction.operation.slot("D")
    if destination is None or slot is None:
        return ""
    if destination.kind is Kind.VECTOR and destination.value + width > 64:
        return f"{name}.{instruction.sub} needs registers v0 to v{64 - width}"
    if destination.kind is Kind.VECTOR_SPECIAL:
        if instruction.operation.access:
            if VECTOR_SPECIAL[destination.value] != "mem_data" or width > 1:
                return f"{name} moves vector registers or, without a sub-operation, vc.mem_data"
        elif destination.value not in WRITABLE_VECTOR_SPECIAL:
            return f"vc.{VECTOR_SPECIAL[destination.value]} cannot be written"
    if destination.kind is Kind.SCALAR_SPECIAL \
            and destination.value not in WRITABLE_SCALAR_SPECIAL:
        return f"sc.{SCALAR_SPECIAL[destination.value]} cannot be written"
    if name == "sldg":
        count = instruction.operand("B")
        words = 1 if count is None else count.value
        if not 1 <= words <= 32 - destination.value:
            return (f"sldg to s{destination.value} takes 1 to {32 - destination.value} words, "
                    f"not {words}")
    return ""


@cache
def _by_field(instruction: Instruction) -> dict[str, Operand]:
    return {slot.field: operand for slot, operand in
            zip(instruction.operation.slots, instruction.operands, strict=True)
            if operand is not None}


FIELDS = {"D": (10, 6), "A": (17, 6), "C": (23, 6), "B": (32, 32), "X": (32, 16), "Y": (48, 16)}
"""Lowest bit and width of each field of the encoding."""

KIND_FIELDS: dict[str, tuple[int, int] | None] = {
    "D": (16, 1), "B": (29, 2), "X": (29, 1), "Y": (30, 1), "A": None, "C": None}
"""Likewise of the bits that say which of its kinds an operand is, where there may be several."""

ABSENT = 31
"""The bit that says that an optional operand without a default is not there."""


def _kind_field(slot: OperandSlot) -> tuple[int, int]:
    """Lowest bit and width of the field that names the operand's kind, of several."""
    field = KIND_FIELDS[slot.field]
    assert field is not None, slot
    return field


def encode(instruction: Instruction) -> int:
    """The 64 bits of an instruction. Raises `ValueError` for an operand that has no room."""
    operation = instruction.operation
    word = OPCODES[instruction.name] | operation.subops.index(instruction.sub) << 7
    for slot, operand in zip(operation.slots, instruction.operands, strict=True):
        if operand is None:
            if not slot.optional:
                raise ValueError(f"{instruction.name}: operand {slot.field} is missing")
            if slot.default is None:
                word |= 1 << ABSENT
                continue
            operand = Operand(Kind.IMMEDIATE, slot.default)
        if operand.kind not in slot.kinds:
            raise ValueError(f"{instruction.name}: operand {slot.field} must be one of "
                             f"{', '.join(kind.value for kind in slot.kinds)}, "
                             f"not {operand.kind.value}")
        low, width = FIELDS[slot.field]
        signed = slot.number is Number.OFFSET and operand.kind is Kind.IMMEDIATE
        least, most = (-1 << width - 1, (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
        if not least <= operand.value <= most:
            raise ValueError(f"{instruction.name}: operand {slot.field} must be from {least} to "
                             f"{most}, not {operand.value}")
        word |= (operand.value & (1 << width) - 1) << low
        if len(slot.kinds) > 1:
            word |= slot.kinds.index(operand.kind) << _kind_field(slot)[0]
    return word


LIMITS = {Kind.VECTOR: 64, Kind.SCALAR: 32, Kind.PREDICATE: 4, Kind.LABEL: 2048,
           Kind.VECTOR_SPECIAL: len(VECTOR_SPECIAL), Kind.SCALAR_SPECIAL: len(SCALAR_SPECIAL)}
"""The number of registers or labels of each kind."""


def decode(word: int) -> Instruction:
    """The instruction of 64 bits. Raises `ValueError` for a pattern that is none."""
    code, sub = word & 0x7F, word >> 7 & 7
    if code >= len(TABLE):
        raise ValueError(f"opcode must be below {len(TABLE)}, not {code}")
    operation = TABLE[code]
    if sub >= len(operation.subops):
        raise ValueError(f"{operation.name}: sub-operation must be below "
                         f"{len(operation.subops)}, not {sub}")
    operands: list[Operand | None] = []
    for slot in operation.slots:
        if slot.optional and slot.default is None and word >> ABSENT & 1:
            operands.append(None)
            continue
        kind = slot.kinds[0]
        if len(slot.kinds) > 1:
            low, width = _kind_field(slot)
            which = word >> low & (1 << width) - 1
            if which >= len(slot.kinds):
                raise ValueError(f"{operation.name}: kind of operand {slot.field} must be below "
                                 f"{len(slot.kinds)}, not {which}")
            kind = slot.kinds[which]
        low, width = FIELDS[slot.field]
        value = word >> low & (1 << width) - 1
        if slot.number is Number.OFFSET and kind is Kind.IMMEDIATE and value >> width - 1:
            value -= 1 << width
        limit = LIMITS.get(kind)
        if kind is Kind.IMMEDIATE and slot.number in (Number.BUFFER, Number.SCRATCHPAD_BUFFER):
            limit = 32
        if limit is not None and value >= limit:
            raise ValueError(f"{operation.name}: operand {slot.field} must be below {limit}, "
                             f"not {value}")
        operands.append(Operand(kind, value))
    instruction = Instruction(operation.name, operation.subops[sub], tuple(operands))
    if encode(instruction) != word:
        raise ValueError(f"{operation.name}: unused bits must be 0, not "
                         f"{word ^ encode(instruction):#018x}")
    if said := illegal(instruction):
        raise ValueError(said)
    return instruction
