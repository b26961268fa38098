"""What SHMAC's core computes: MIPS-I with LL and SC, an instruction at a time, without any timing.

Ref: MIPS-I. docs/shmac.md lists what the architecture leaves open, and how it is
decided here. Registers are numbers of 32 bits without sign.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from cyclebound.golden.shmac.isa import (
    REGISTER_NAMES,
    Cop0Register,
    ExcCode,
    Opcode,
    encoding_of,
)

__all__ = ["CoreAccess", "Machine", "MemoryPort", "Retired", "signed"]

_MASK = 0xFFFF_FFFF
_STATUS_WRITABLE = 0xFF15  # IM, and IEo, IEp, IEc
_CAUSE_WRITABLE = 0x0300   # the two software interrupts
_MOST_DECODED = 1 << 16  # words that a machine keeps decoded
_MISSING = {opcode for opcode in Opcode if opcode.name[:-1] in ("COP", "LWC", "SWC")
            and opcode != Opcode.COP0}


def signed(value: int, bits: int = 32) -> int:
    """A number of ``bits`` bits as two's complement."""
    return (value & (1 << bits) - 1) - ((value & 1 << bits - 1) << 1)


class CoreAccess(NamedTuple):
    """A load's or store's request (see `cyclebound.golden.shmac.core_port`).

    Attributes
    ----------
    address : int
        Of the word.
    strobes : int
        Bytes of the word that are read or written.
    write, sync : bool
        What it is.
    data : int
        Of a write; bytes without a strobe are 0.
    """

    address: int
    strobes: int
    write: bool
    sync: bool
    data: int = 0

    @property
    def answered(self) -> bool:
        """Whether the core waits for a response."""
        return not self.write or self.sync


class Retired(NamedTuple):
    """An instruction that has been executed, or the exception that was taken instead.

    Attributes
    ----------
    pc, instruction : int
        Its address and its word; 0 if there was no word.
    register, value : int
        The general register that was written, 0 for none, and what is in it now.
    exception : ExcCode or None
        What was taken.
    """

    pc: int
    instruction: int
    register: int = 0
    value: int = 0
    exception: ExcCode | None = None


class MemoryPort(Protocol):
    """A memory for `Machine.run`."""

    def fetch(self, address: int) -> int | None:
        """The word at this address; None: nothing answers there."""

    def access(self, access: CoreAccess) -> int | None:
        """Make an access; the response's data, or None for an error."""


class _Exception(Exception):
    def __init__(self, code: ExcCode, *, address: int | None = None, unit: int = 0) -> None:
        super().__init__(code, address, unit)
        self.code, self.address, self.unit = code, address, unit


@dataclass
class Machine:
    """The architectural state, and what each instruction does to it.

    Of an instruction's two halves, `begin` goes up to its access of memory, and `end` takes the
    answer. `step` does both with a memory.

    Attributes
    ----------
    big_endian : bool
        Which byte of a word has the word's address.
    vector : int
        Address of the exception handler.
    registers : list of int
        The general ones.
    hi, lo : int
        Of products and quotients.
    pc, next_pc : int
        Addresses of the instruction to execute, and of the one after it.
    in_slot : bool
        The instruction to execute is in a branch's delay slot.
    branch : int
        Address of the latest instruction that was executed: if ``in_slot``, of the branch.
    linked : bool
        No exception came since the latest LL, and no SC.
    status, cause, epc, bad_address : int
        Coprocessor 0. ``cause`` without the lines of `lines`.
    lines : int
        The interrupt inputs.
    """

    big_endian: bool = True
    vector: int = 0x80
    pc: int = 0
    registers: list[int] = field(default_factory=lambda: [0] * len(REGISTER_NAMES))
    hi: int = 0
    lo: int = 0
    next_pc: int = -1
    in_slot: bool = False
    branch: int = 0
    linked: bool = False
    status: int = 0
    cause: int = 0
    epc: int = 0
    bad_address: int = 0
    lines: int = 0

    def __post_init__(self) -> None:
        if self.next_pc < 0:
            self.next_pc = self.pc + 4 & _MASK
        self._access: CoreAccess | None = None
        self._word = 0
        self._decoded: dict[int, _Fields] = {}  # instructions that have been executed
        self._is_branch = False  # also one that is not taken: its slot is a delay slot, too
        self._register = 0       # that a load writes
        self._finish: Callable[[int], None] = lambda data: None
        self._target: int | None = None
        self._written = (0, 0)

    @property
    def fetches(self) -> bool:
        """Whether the instruction to execute is fetched; else its address is unaligned."""
        return self.pc % 4 == 0

    @property
    def interrupted(self) -> bool:
        """Whether an interrupt is taken instead of the next instruction."""
        return bool(self.status & 1 and self.status & (self.cause | self.lines << 10) & 0xFF00)

    def step(self, memory: MemoryPort) -> Retired:
        """Execute one instruction, or take an interrupt instead."""
        pc = self.pc
        begun = self.begin(None if pc & 3 else memory.fetch(pc))
        if isinstance(begun, Retired):
            return begun
        return self.end(memory.access(begun))

    def begin(self, word: int | None) -> Retired | CoreAccess:
        """Execute ``word`` (None: the fetch failed) up to its access, if it has one."""
        self._word = word or 0
        self._written, self._target = (0, 0), None
        try:
            if self.status & 1 and self.interrupted:
                raise _Exception(ExcCode.INT)
            if self.pc & 3:
                raise _Exception(ExcCode.ADEL, address=self.pc)
            if word is None:
                raise _Exception(ExcCode.IBE)
            f = self._decoded.get(word) or self._decode(word)
            registers = self.registers
            f.s, f.t = registers[f.rs], registers[f.rt]
            self._is_branch = f.is_branch
            access = f.execute(self, f)
        except _Exception as exception:
            return self._except(exception)
        if access is None:
            return self._retire()
        self._access = access
        return access

    def resume(self, word: int) -> Retired | CoreAccess:
        """Begin ``word`` again, whose access is under way, in a machine that has the state of one
        that has begun it: for `end`. The access is the same as then, or it was another word."""
        status, linked, cause, lines = self.status, self.linked, self.cause, self.lines
        self.status, self.linked = 0, True  # not interrupted; an SC that asks is linked
        try:
            return self.begin(word)
        finally:
            self.status, self.linked, self.cause, self.lines = status, linked, cause, lines

    def end(self, data: int | None) -> Retired:
        """Finish the instruction that `begin` began: ``data`` came, or None for an error.

        Of a plain write nothing comes, and ``data`` is ignored.
        """
        assert self._access is not None
        answered, self._access = self._access.answered, None
        if answered:
            if data is None:
                return self._except(_Exception(ExcCode.DBE))
            self._finish(data)
        return self._retire()

    def _retire(self) -> Retired:
        pc, next_pc, target = self.pc, self.next_pc, self._target
        self.branch, self.pc, self.in_slot = pc, next_pc, self._is_branch
        self.next_pc = next_pc + 4 & _MASK if target is None else target
        return Retired(pc, self._word, *self._written)

    def _except(self, exception: _Exception) -> Retired:
        retired = Retired(self.pc, self._word, exception=exception.code)
        self.epc = self.branch if self.in_slot else self.pc
        self.cause = (self.cause & _CAUSE_WRITABLE | self.in_slot << 31 | exception.unit << 28
                      | exception.code << 2)
        if exception.address is not None:
            self.bad_address = exception.address
        self.status = self.status & ~0x3F | (self.status << 2) & 0x3F
        self.branch = self.pc
        self.pc, self.next_pc = self.vector, self.vector + 4 & _MASK
        self.in_slot = self.linked = False
        return retired

    def _write(self, register: int, value: int) -> None:
        if register:
            self.registers[register] = value & _MASK
            self._written = register, value & _MASK

    def _branch(self, taken: bool, offset: int) -> None:
        """To ``offset`` instructions from the delay slot."""
        if taken:
            self._target = self.next_pc + 4 * offset & _MASK

    def _decode(self, word: int) -> "_Fields":
        encoding = encoding_of(word)
        if encoding is None:
            if word >> 26 in _MISSING:
                raise _Exception(ExcCode.CPU, unit=word >> 26 & 3)
            raise _Exception(ExcCode.RI)
        if len(self._decoded) > _MOST_DECODED:
            self._decoded.clear()
        self._decoded[word] = fields = _Fields(
            word, getattr(type(self), f"_{encoding.name}"),
            encoding.form in ("rs rt offset", "rs offset", "target", "rd rs")
            or encoding.name == "jr")
        return fields

    # Arithmetic and logic.

    def _sum(self, register: int, total: int) -> None:
        """Of signed numbers, or an exception."""
        if not -1 << 31 <= total < 1 << 31:
            raise _Exception(ExcCode.OV)
        self._write(register, total)

    def _add(self, f):
        self._sum(f.rd, signed(f.s) + signed(f.t))

    def _addi(self, f):
        self._sum(f.rt, signed(f.s) + f.immediate)

    def _sub(self, f):
        self._sum(f.rd, signed(f.s) - signed(f.t))

    def _addu(self, f):
        self._write(f.rd, f.s + f.t)

    def _addiu(self, f):
        self._write(f.rt, f.s + f.immediate)

    def _subu(self, f):
        self._write(f.rd, f.s - f.t)

    def _and(self, f):
        self._write(f.rd, f.s & f.t)

    def _or(self, f):
        self._write(f.rd, f.s | f.t)

    def _xor(self, f):
        self._write(f.rd, f.s ^ f.t)

    def _nor(self, f):
        self._write(f.rd, ~(f.s | f.t))

    def _andi(self, f):
        self._write(f.rt, f.s & f.zero_extended)

    def _ori(self, f):
        self._write(f.rt, f.s | f.zero_extended)

    def _xori(self, f):
        self._write(f.rt, f.s ^ f.zero_extended)

    def _lui(self, f):
        self._write(f.rt, f.zero_extended << 16)

    def _slt(self, f):
        self._write(f.rd, signed(f.s) < signed(f.t))

    def _sltu(self, f):
        self._write(f.rd, f.s < f.t)

    def _slti(self, f):
        self._write(f.rt, signed(f.s) < f.immediate)

    def _sltiu(self, f):
        self._write(f.rt, f.s < f.immediate & _MASK)

    def _sll(self, f):
        self._write(f.rd, f.t << f.sa)

    def _srl(self, f):
        self._write(f.rd, f.t >> f.sa)

    def _sra(self, f):
        self._write(f.rd, signed(f.t) >> f.sa)

    def _sllv(self, f):
        self._write(f.rd, f.t << f.s % 32)

    def _srlv(self, f):
        self._write(f.rd, f.t >> f.s % 32)

    def _srav(self, f):
        self._write(f.rd, signed(f.t) >> f.s % 32)

    # Products and quotients.

    def _product(self, product: int) -> None:
        self.hi, self.lo = product >> 32 & _MASK, product & _MASK

    def _mult(self, f):
        self._product(signed(f.s) * signed(f.t))

    def _multu(self, f):
        self._product(f.s * f.t)

    def _div(self, f):
        dividend, divisor = signed(f.s), signed(f.t)
        if divisor == 0:  # the architecture does not say; the R3000 does this
            self.hi, self.lo = f.s, 1 if dividend < 0 else _MASK
            return
        quotient = abs(dividend) // abs(divisor)
        if (dividend < 0) != (divisor < 0):
            quotient = -quotient
        self.hi, self.lo = dividend - quotient * divisor & _MASK, quotient & _MASK

    def _divu(self, f):
        self.lo, self.hi = divmod(f.s, f.t) if f.t else (_MASK, f.s)

    def _mfhi(self, f):
        self._write(f.rd, self.hi)

    def _mflo(self, f):
        self._write(f.rd, self.lo)

    def _mthi(self, f):
        self.hi = f.s

    def _mtlo(self, f):
        self.lo = f.s

    # Branches and jumps; a link is the address after the delay slot.

    def _link(self, register: int) -> None:
        self._write(register, self.next_pc + 4)

    def _j(self, f):
        self._target = self.next_pc & 0xF000_0000 | (f.word & 0x3FF_FFFF) << 2

    def _jal(self, f):
        self._j(f)
        self._link(31)

    def _jr(self, f):
        self._target = f.s

    def _jalr(self, f):
        self._target = f.s
        self._link(f.rd)

    def _beq(self, f):
        self._branch(f.s == f.t, f.immediate)

    def _bne(self, f):
        self._branch(f.s != f.t, f.immediate)

    def _blez(self, f):
        self._branch(signed(f.s) <= 0, f.immediate)

    def _bgtz(self, f):
        self._branch(signed(f.s) > 0, f.immediate)

    def _bltz(self, f):
        self._branch(signed(f.s) < 0, f.immediate)

    def _bgez(self, f):
        self._branch(signed(f.s) >= 0, f.immediate)

    def _bltzal(self, f):
        self._bltz(f)
        self._link(31)

    def _bgezal(self, f):
        self._bgez(f)
        self._link(31)

    # Exceptions and coprocessor 0.

    def _syscall(self, f):
        raise _Exception(ExcCode.SYS)

    def _break(self, f):
        raise _Exception(ExcCode.BP)

    def _rfe(self, f):
        self.status = self.status & ~0xF | self.status >> 2 & 0xF

    def _mfc0(self, f):
        self._write(f.rt, {
            Cop0Register.BADVADDR: self.bad_address, Cop0Register.STATUS: self.status,
            Cop0Register.CAUSE: self.cause | self.lines << 10, Cop0Register.EPC: self.epc,
        }.get(f.rd, 0))

    def _mtc0(self, f):
        if f.rd == Cop0Register.STATUS:
            self.status = f.t & _STATUS_WRITABLE
        elif f.rd == Cop0Register.CAUSE:
            self.cause = self.cause & ~_CAUSE_WRITABLE | f.t & _CAUSE_WRITABLE

    # Loads and stores, by bytes: of a big-endian core the first byte of a word or half is its most
    # significant one.

    def _lane(self, address: int) -> int:
        """Which byte of a word on the port that is."""
        return 3 - address % 4 if self.big_endian else address % 4

    def _aligned(self, f: "_Fields", bytes_: int, code: ExcCode) -> tuple[int, int]:
        """The address of an aligned unit, and its lowest byte on the port."""
        address = f.s + f.immediate & _MASK
        if address % bytes_:
            raise _Exception(code, address=address)
        return address, 4 - address % 4 - bytes_ if self.big_endian else address % 4

    def _left(self, address: int) -> dict[int, int]:
        """Of LWL and SWL: the highest byte is at ``address``, the next ones towards the lower."""
        step = 1 if self.big_endian else -1
        return {place: 3 - distance for distance in range(4)
                if (place := address + step * distance) // 4 == address // 4}

    def _right(self, address: int) -> dict[int, int]:
        """Of LWR and SWR: the lowest byte is at ``address``, the next ones towards the higher."""
        step = -1 if self.big_endian else 1
        return {place: distance for distance in range(4)
                if (place := address + step * distance) // 4 == address // 4}

    def _load(self, f: "_Fields", bytes_: int, *, sign: int = 0) -> CoreAccess:
        """Of so many bytes; with ``sign``, of a number whose sign is that bit."""
        address, lane = self._aligned(f, bytes_, ExcCode.ADEL)
        register, shift, mask = f.rt, 8 * lane, (1 << 8 * bytes_) - 1

        def finish(data: int) -> None:
            self._write(register, ((data >> shift & mask) ^ sign) - sign)

        self._finish = finish
        return CoreAccess(address & ~3, (1 << bytes_) - 1 << lane, False, False)

    def _store(self, f: "_Fields", bytes_: int) -> CoreAccess:
        address, lane = self._aligned(f, bytes_, ExcCode.ADES)
        return CoreAccess(address & ~3, (1 << bytes_) - 1 << lane, True, False,
                          (f.t & (1 << 8 * bytes_) - 1) << 8 * lane)

    def _loaded(self, data: int) -> None:
        """A whole word comes."""
        self._write(self._register, data)

    def _word_address(self, f: "_Fields", code: ExcCode) -> int:
        address = f.s + f.immediate & _MASK
        if address & 3:
            raise _Exception(code, address=address)
        return address

    def _lb(self, f):
        return self._load(f, 1, sign=0x80)

    def _lbu(self, f):
        return self._load(f, 1)

    def _lh(self, f):
        return self._load(f, 2, sign=0x8000)

    def _lhu(self, f):
        return self._load(f, 2)

    def _lw(self, f):
        address = self._word_address(f, ExcCode.ADEL)
        self._register, self._finish = f.rt, self._loaded
        return CoreAccess(address, 15, False, False)

    def _lwl(self, f):
        return self._merge(f, self._left(f.s + f.immediate & _MASK))

    def _lwr(self, f):
        return self._merge(f, self._right(f.s + f.immediate & _MASK))

    def _merge(self, f, places: dict[int, int]) -> CoreAccess:
        """A load of these bytes into a register that keeps the others."""
        register = f.rt
        kept = f.t & ~sum(255 << 8 * byte for byte in places.values())

        def finish(data: int) -> None:
            self._write(register, kept | sum((data >> 8 * self._lane(place) & 255) << 8 * byte
                                             for place, byte in places.items()))

        self._finish = finish
        address = next(iter(places))
        strobes = sum(1 << self._lane(place) for place in places)
        return CoreAccess(address & ~3, strobes, False, False)

    def _sb(self, f):
        return self._store(f, 1)

    def _sh(self, f):
        return self._store(f, 2)

    def _sw(self, f):
        return CoreAccess(self._word_address(f, ExcCode.ADES), 15, True, False, f.t)

    def _swl(self, f):
        return self._spread(f, self._left(f.s + f.immediate & _MASK))

    def _swr(self, f):
        return self._spread(f, self._right(f.s + f.immediate & _MASK))

    def _spread(self, f, places: dict[int, int]) -> CoreAccess:
        """A store of these bytes of a register."""
        address = next(iter(places))
        return CoreAccess(
            address & ~3, sum(1 << self._lane(place) for place in places), True, False,
            sum((f.t >> 8 * byte & 255) << 8 * self._lane(place)
                for place, byte in places.items()))

    def _ll(self, f):
        address = self._word_address(f, ExcCode.ADEL)
        register = f.rt

        def finish(data: int) -> None:
            self._write(register, data)
            self.linked = True

        self._finish = finish
        return CoreAccess(address, 15, False, True)

    def _sc(self, f):
        address = self._word_address(f, ExcCode.ADES)
        linked, self.linked = self.linked, False
        register = f.rt
        if not linked:
            self._write(register, 0)
            return None
        self._finish = lambda data: self._write(register, data & 1)
        return CoreAccess(address, 15, True, True, f.t)


class _Fields:
    """An instruction's fields, and the values of the registers that it names."""

    __slots__ = ("execute", "immediate", "is_branch", "rd", "rs", "rt", "s", "sa", "t", "word",
                 "zero_extended")

    def __init__(self, word: int, execute: Callable, is_branch: bool) -> None:
        self.word, self.execute, self.is_branch = word, execute, is_branch
        self.rs, self.rt, self.rd, self.sa = (word >> at & 31 for at in (21, 16, 11, 6))
        self.zero_extended = word & 0xFFFF
        self.immediate = signed(word, 16)
        self.s = self.t = 0
