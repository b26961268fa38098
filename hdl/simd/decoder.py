"""Decoder: the fields and control signals of an instruction, from its 64 bits.

It is generated from `golden.simd.isa.TABLE`: one case for each operation.

Part of the compute unit, whose model, testbench and tests cover it.

Ref: Sim-D, section 3.1; the encoding is this project's (docs/simd-isa.md).
"""

from amaranth.hdl import Cat, Const, Module, Mux
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.simd.isa import (
    ABSENT,
    FIELDS,
    KIND_FIELDS,
    LIMITS,
    STACK_KINDS,
    TABLE,
    VECTOR_SPECIAL,
    WRITABLE_SCALAR_SPECIAL,
    WRITABLE_VECTOR_SPECIAL,
    File,
    Kind,
    Number,
    Timing,
    Unit,
)
from cyclebound.golden.simd.lane_operations import LaneOperation
from cyclebound.golden.simd.special_tables import SpecialFunction
from cyclebound.hdl.simd.interfaces import MEM_DATA

__all__ = ["MASKS", "Decoded", "Decoder", "Source"]

MASKS = ("run", "break", "ret", "exit")
"""Control masks, in the order of the special registers."""

_IMPLICIT = ("ldgcidx", "stgcidx", "sldsp")  # read sd_words, sd_period, sd_period_cnt


class Source(data.Struct):
    """A register that is read or written."""

    file: File
    number: 6


class Decoded(data.Struct):
    """An instruction.

    ``a``, ``b`` and ``c`` are registers that the first, second and third decode stage fetch; of an
    access, ``b`` and ``c`` are X and Y. ``immediate`` is what ``b`` is if it is no register, or a
    label. ``writes`` is what is written at commit: also the mask of a control instruction, or, with
    ``several``, all masks that an entry may hold.
    """

    illegal: 1
    opcode: 7
    sub: 3
    a: Source
    b: Source
    c: Source
    writes: Source
    several: 1
    absent: 1        # the optional predicate A is not there
    immediate: 32
    offset: 16       # Y, if it is no register
    number: 6        # field A: a buffer
    target: 7        # field D of an access, see `AccessLayout`
    count: 6
    width: 2
    vector: 1        # a token for each warp
    special: 1       # for the reciprocal units
    divide: 1
    jump: 1
    conditional: 1
    push: 1
    pop: 1
    call: 1
    clears: 1        # lanes of a mask
    mask: 2          # which one is cleared, or pushed
    settles: 1       # whether a lane is left is known after its last warp
    access: 1
    scratchpad: 1
    store: 1
    global_store: 1  # to DRAM
    implicit: 1      # reads sd_words and its like
    leaves: 1        # exit of all lanes
    query: 1
    combine: 1       # pbool
    from_b: 1        # the lane's first operand is B
    operation: LaneOperation
    function: SpecialFunction


_FILES = {Kind.VECTOR: File.VECTOR, Kind.SCALAR: File.SCALAR, Kind.PREDICATE: File.PREDICATE,
          Kind.VECTOR_SPECIAL: File.VECTOR_SPECIAL, Kind.SCALAR_SPECIAL: File.SCALAR_SPECIAL}

_Op = LaneOperation
_LANE = {
    "add": {"": _Op.FADD, "neg": _Op.FSUB}, "mul": {"": _Op.FMUL, "neg": _Op.FNMUL},
    "mad": {"": _Op.FMAD, "neg": _Op.FNMAD}, "min": _Op.FMIN, "max": _Op.FMAX, "abs": _Op.FABS,
    "cvt": {"i2f": _Op.I2F, "f2i": _Op.F2I}, "scvt": {"i2f": _Op.I2F, "f2i": _Op.F2I},
    "iadd": _Op.IADD, "isub": _Op.ISUB, "imul": _Op.IMUL, "imad": _Op.IMAD, "imin": _Op.IMIN,
    "imax": _Op.IMAX, "and": _Op.AND, "or": _Op.OR, "xor": _Op.XOR, "not": _Op.NOT,
    "shl": _Op.SHL, "shr": _Op.SHR, "siadd": _Op.IADD, "sisub": _Op.ISUB, "simul": _Op.IMUL,
    "simin": _Op.IMIN, "simax": _Op.IMAX, "sand": _Op.AND, "sor": _Op.OR, "sshl": _Op.SHL,
    "sshr": _Op.SHR, "simad": _Op.IMAD, "sineg": _Op.INEG, "snot": _Op.NOT, "sibfind": _Op.IBFIND,
    "test": {name: _Op[f"FTEST_{name.upper()}"] for name in ("ez", "nz", "g", "ge", "l", "le")},
    "itest": {name: _Op[f"ITEST_{name.upper()}"] for name in ("ez", "nz", "g", "ge", "l", "le")},
}
"""The lanes' operation of each instruction, by sub-operation where they differ; else a copy."""

_CLEARS = {"bra": "run", "cmask": "run", "brk": "break", "ret": "ret", "exit": "exit"}


class Decoder(wiring.Component):
    """Takes an instruction apart.

    Latency: none.

    Parameters
    ----------
    machine : Machine
        Vector registers: an instruction that names others is illegal. Whether it has snoopy
        accesses: they are illegal if not.

    Members
    -------
    word : In(64)
        The instruction.
    decoded : Out(Decoded)
        Its parts. Of an ``illegal`` pattern, nothing else counts.
    """

    def __init__(self, *, machine):
        self.vectors, self.snoopy = machine.vectors, machine.snoopy
        super().__init__({"word": In(64), "decoded": Out(data.Layout.cast(Decoded))})

    def elaborate(self, platform):
        m = Module()
        decoded = self.decoded
        m.d.comb += [decoded.opcode.eq(self.word[:7]), decoded.sub.eq(self.word[7:10]),
                     decoded.number.eq(self._field("A"))]
        with m.Switch(decoded.opcode):
            for code, operation in enumerate(TABLE):
                with m.Case(code):
                    self._operation(m, operation)
            with m.Default():
                m.d.comb += decoded.illegal.eq(1)
        return m

    def _field(self, name):
        low, width = FIELDS[name]
        return self.word[low:low + width]

    def _kind(self, slot):
        """The bits that say which of a slot's kinds an operand is."""
        if len(slot.kinds) == 1:
            return Const(0, 1)
        low, width = KIND_FIELDS[slot.field]
        return self.word[low:low + width]

    def _is(self, slot, kind):
        return self._kind(slot) == slot.kinds.index(kind) if kind in slot.kinds else Const(0)

    def _operation(self, m, operation):
        decoded = self.decoded
        if operation.snoopy and not self.snoopy:
            m.d.comb += decoded.illegal.eq(1)
            return
        wrong = [decoded.sub >= len(operation.subops), (self.word & ~self._used(operation)).any()]
        for slot in operation.slots:
            wrong += self._beyond(slot)
        wrong += self._forbidden(operation)
        m.d.comb += decoded.illegal.eq(Cat(wrong).any())
        for slot in operation.slots:
            self._operand(m, operation, slot)
        self._kinds_of(m, operation)
        self._work(m, operation)

    @staticmethod
    def _used(operation):
        """All bits that an operation's patterns may have."""
        used = (1 << 10) - 1
        for slot in operation.slots:
            fields = [FIELDS[slot.field]]
            if len(slot.kinds) > 1:
                fields.append(KIND_FIELDS[slot.field])
            if slot.optional and slot.default is None:
                fields.append((ABSENT, 1))
            for low, width in fields:
                used |= ((1 << width) - 1) << low
        return used

    def _beyond(self, slot):
        """Conditions under which the operand is out of range."""
        value = self._field(slot.field)
        wrong = [self._kind(slot) >= len(slot.kinds)] if len(slot.kinds) > 1 else []
        for kind in slot.kinds:
            limit = self.vectors if kind is Kind.VECTOR else LIMITS.get(kind)
            if kind is Kind.IMMEDIATE and slot.number in (Number.BUFFER, Number.SCRATCHPAD_BUFFER):
                limit = 32
            if limit is not None and limit < 1 << len(value):
                wrong.append(self._is(slot, kind) & (value >= limit))
        if slot.optional and slot.default is None:
            wrong.append(self.word[ABSENT] & value.any())
        return wrong

    def _forbidden(self, operation):
        """Conditions under which the destination is illegal, as `golden.simd.isa.illegal`."""
        slot, value = operation.slot("D"), self._field("D")
        if slot is None:
            return []
        wrong = []
        if operation.access and Kind.VECTOR in slot.kinds:
            for sub, name in enumerate(operation.subops):
                width = {"vec2": 2, "vec4": 4}.get(name, 1)
                here = self.decoded.sub == sub
                wrong.append(here & self._is(slot, Kind.VECTOR) & (value + width > self.vectors))
                wrong.append(here & self._is(slot, Kind.VECTOR_SPECIAL)
                             & ((value != VECTOR_SPECIAL.index("mem_data")) | (width > 1)))
        else:
            for kind, writable in ((Kind.VECTOR_SPECIAL, WRITABLE_VECTOR_SPECIAL),
                                   (Kind.SCALAR_SPECIAL, WRITABLE_SCALAR_SPECIAL)):
                wrong.append(self._is(slot, kind)
                             & ~Cat(value == number for number in sorted(writable)).any())
        if operation.name == "sldg":
            count = self._field("B")
            wrong.append((count < 1) | (count > 32 - value))
        return wrong

    def _operand(self, m, operation, slot):
        """Decode one operand of an operation into the fields that it fills."""
        decoded, value = self.decoded, self._field(slot.field)
        if slot.field == "D":
            if operation.access:
                special = self._is(slot, Kind.VECTOR_SPECIAL)
                m.d.comb += decoded.target.eq(Mux(special, MEM_DATA, value))
            elif slot.written:
                self._register(m, decoded.writes, slot)
            return
        place = {"A": decoded.a, "B": decoded.b, "C": decoded.c,
                 "X": decoded.b, "Y": decoded.c}[slot.field]
        if operation.unit is not Unit.NONE:
            self._register(m, place, slot)
        if slot.field == "B":
            m.d.comb += (decoded.count if operation.access else decoded.immediate).eq(value)
        elif slot.field == "X":
            m.d.comb += decoded.immediate.eq(value.as_signed())
        elif slot.field == "Y":
            m.d.comb += decoded.offset.eq(value)
        elif slot.optional and slot.default is None:
            m.d.comb += decoded.absent.eq(self.word[ABSENT])
            with m.If(self.word[ABSENT]):
                m.d.comb += place.file.eq(File.NONE)

    def _register(self, m, place, slot):
        m.d.comb += place.number.eq(self._field(slot.field))
        for kind in slot.kinds:
            if kind in _FILES:
                with m.If(self._is(slot, kind)):
                    m.d.comb += place.file.eq(_FILES[kind])

    def _kinds_of(self, m, operation):
        """Flags of an operation: what it makes the pipeline do, and which mask it changes."""
        decoded, name, timing = self.decoded, operation.name, operation.timing
        flags = {
            "vector": operation.vector, "special": timing is Timing.SPECIAL,
            "divide": timing is Timing.DIVIDE, "jump": timing is Timing.JUMP,
            "conditional": name == "sicj", "push": name in ("cpush", "bra", "call"),
            "pop": name == "cpop", "call": name == "call", "clears": name in _CLEARS,
            "settles": timing in (Timing.MASK, Timing.CALL), "access": operation.access,
            "scratchpad": operation.unit is Unit.SCRATCHPAD, "store": operation.store,
            "global_store": name.startswith("stg"), "implicit": name in _IMPLICIT,
            "query": name == "bufquery", "combine": name == "pbool", "several": name == "cpop",
        }
        m.d.comb += [getattr(decoded, flag).eq(1) for flag, holds in flags.items() if holds]
        if name == "exit":
            m.d.comb += decoded.leaves.eq(decoded.absent)
        if "vec2" in operation.subops:
            m.d.comb += decoded.width.eq(decoded.sub)
        mask = "ret" if name == "call" else _CLEARS.get(name)
        if mask is not None:
            m.d.comb += [decoded.mask.eq(MASKS.index(mask)),
                         decoded.writes.file.eq(File.VECTOR_SPECIAL),
                         decoded.writes.number.eq(MASKS.index(mask))]
        if name == "cpush":
            for sub, kind in enumerate(operation.subops):
                with m.If(decoded.sub == sub):
                    m.d.comb += decoded.mask.eq(MASKS.index(STACK_KINDS[kind]))
        if name == "cpop":
            m.d.comb += decoded.writes.file.eq(File.VECTOR_SPECIAL)

    def _work(self, m, operation):
        """Decode the operation of the lanes or of the reciprocal units."""
        decoded, name = self.decoded, operation.name
        m.d.comb += decoded.from_b.eq(operation.slot("A") is None)
        if operation.unit is Unit.SPECIAL:
            m.d.comb += decoded.function.eq(SpecialFunction[name.upper()])
        work = _LANE.get(name, LaneOperation.MOV)
        if isinstance(work, dict):
            for sub, subop in enumerate(operation.subops):
                with m.If(decoded.sub == sub):
                    m.d.comb += decoded.operation.eq(work[subop])
        else:
            m.d.comb += decoded.operation.eq(work)


assert VECTOR_SPECIAL[:len(MASKS)] == tuple(f"ctrl_{name}" for name in MASKS)
