"""What registers may hold: ranges of numbers, or of what a symbol stands for plus a number.

A symbol is the value of a register or of a word on the stack at one place: where the function
begins, or at the head of a loop in the present round. What differs from it by a known number can be
compared exactly, whatever it is; what ranges symbols have is kept apart, in an `Environment`.

Numbers are of 32 bits and wrap around; a range is the numbers from ``low`` on, upwards, and may
pass from 2^32 - 1 to 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import gcd
from typing import NamedTuple

from cyclebound.golden.shmac.isa import Encoding
from cyclebound.golden.shmac.machine import Machine, signed

__all__ = ["ANY", "ZERO", "Comparison", "Condition", "Environment", "Range", "State", "Symbol",
           "Value", "as_range", "decided", "entry_state", "join", "minus", "narrowed", "number",
           "plus",
           "resolved", "run"]

_MASK = 0xFFFF_FFFF
_SPAN = 1 << 32
_STACK = (29, 30)  # registers that point to a function's own stack
_MOST_WORDS = 256  # of the stack that are followed


class Symbol(NamedTuple):
    """What a place holds: ``where`` is any object, ``what`` a register or a word of the stack."""

    where: object
    what: object


class Range(NamedTuple):
    """``base`` plus a number: ``low``, or ``stride`` more, and so on, up to ``more`` more.

    ``more`` is a multiple of ``stride``, which is 1 if there is one number only.
    """

    base: Symbol | None
    low: int
    more: int = 0
    stride: int = 1

    @property
    def exact(self) -> bool:
        """One number, or one distance from the symbol."""
        return self.more == 0

    @property
    def known(self) -> bool:
        """One number."""
        return self.base is None and self.more == 0

    def unsigned(self) -> tuple[int, int]:
        """Least and greatest, if numbers have no sign."""
        if self.base is None and self.low + self.more < _SPAN:
            return self.low, self.low + self.more
        return 0, _MASK

    def signed(self) -> tuple[int, int]:
        """Least and greatest, as two's complement."""
        low = signed(self.low)
        if self.base is None and low + self.more < _SPAN >> 1:
            return low, low + self.more
        return -_SPAN >> 1, (_SPAN >> 1) - 1


class Comparison(NamedTuple):
    """1 if ``left`` is less than ``right``, else 0; with ``negated``, the opposite."""

    signed: bool
    left: Range
    right: Range
    negated: bool = False


Value = Range | Comparison
ANY = Range(None, 0, _MASK)
ZERO = Range(None, 0)
_BIT = Range(None, 0, 1)


class Condition(NamedTuple):
    """What decides a branch: ``left`` equals, or is less than, ``right``; or the opposite."""

    kind: str  # "equal", "less", "less unsigned"
    left: Range
    right: Range
    holds: bool = True

    def opposite(self) -> "Condition":
        """The opposite."""
        return self._replace(holds=not self.holds)


class Environment(dict[Symbol, Range]):
    """The ranges of symbols; without one, a symbol may be anything.

    Attributes
    ----------
    hopeful : bool
        Stores to addresses that are not known leave the stack as it is: to be checked.
    hoped : bool
        That has been so since this was cleared.
    """

    hopeful = False
    hoped = False


def number(low: int, high: int, stride: int = 1) -> Range:
    """The numbers from ``low`` to ``high`` in steps of ``stride``, with a sign or without."""
    return _range(None, low, high - low, stride)


def _range(base: Symbol | None, low: int, more: int, stride: int) -> Range:
    return Range(base, low & _MASK, more, stride if more else 1) if more < _MASK else ANY


def _common(*ranges: Range, apart: int = 0) -> int:
    """The stride of what differs by multiples of these, and by ``apart``."""
    return gcd(*(one.stride for one in ranges if not one.exact), apart) or 1


def as_range(value: Value) -> Range:
    """A value without what is known of its making."""
    return _BIT if isinstance(value, Comparison) else value


def plus(one: Range, other: Range) -> Range:
    """A sum."""
    if one.base is not None and other.base is not None:
        return ANY
    return _range(one.base or other.base, one.low + other.low, one.more + other.more,
                  _common(one, other))


def minus(one: Range, other: Range) -> Range:
    """A difference; of two that have the same symbol, a number."""
    if other.base is not None and one.base != other.base:
        return ANY
    return _range(one.base if other.base is None else None, one.low - other.low - other.more,
                  one.more + other.more, _common(one, other))


def resolved(value: Value, environment: Environment) -> Range:
    """The numbers that a value may be."""
    found = as_range(value)
    while found.base is not None:
        found = plus(environment.get(found.base, ANY), found._replace(base=None))
    return found


def join(one: Value, other: Value, environment: Environment) -> Value:
    """What may be either."""
    if one == other:
        return one
    one, other = as_range(one), as_range(other)
    if one.base != other.base:
        one, other = resolved(one, environment), resolved(other, environment)
    spans = []
    for first, second in ((one, other), (other, one)):  # around the circle, either way
        apart = second.low - first.low & _MASK
        spans.append((max(first.more, apart + second.more), first.low,
                      _common(one, other, apart=apart)))
    more, low, stride = min(spans)
    return _range(one.base, low, more, stride)


@dataclass
class State:
    """What is known before an instruction.

    Attributes
    ----------
    registers : list of Value
        The general ones.
    high, low : Range
        Of products and quotients.
    stack : dict
        Words that the function has stored by its stack pointer, by address.
    """

    registers: list[Value]
    high: Range = ANY
    low: Range = ANY
    stack: dict[Range, Value] = field(default_factory=dict)

    def copy(self) -> "State":
        return State(list(self.registers), self.high, self.low, dict(self.stack))

    def join(self, other: "State", environment: Environment) -> "State":
        """What is known if either is."""
        return State(
            [join(one, two, environment)
             for one, two in zip(self.registers, other.registers, strict=True)],
            as_range(join(self.high, other.high, environment)),
            as_range(join(self.low, other.low, environment)),
            {at: join(value, other.stack[at], environment) for at, value in self.stack.items()
             if at in other.stack})

    def address(self, word: int) -> Range:
        """Where a load or store accesses."""
        return plus(as_range(self.registers[word >> 21 & 31]), number(*(signed(word, 16),) * 2))


@lru_cache(1 << 16)
def _computed(word: int, s: int | None, t: int | None) -> int | None:
    """What an instruction makes of the numbers in the registers that it reads."""
    machine = Machine()
    for at, value in ((21, s), (16, t)):
        if value is not None:
            machine.registers[word >> at & 31] = value
    retired = machine.begin(word)
    return getattr(retired, "value", None) if getattr(retired, "exception", 0) is None else None


_IMMEDIATE = ("addi", "addiu", "slti", "sltiu", "andi", "ori", "xori", "lui")
_THREE = ("add", "addu", "sub", "subu", "and", "or", "xor", "nor", "slt", "sltu", "sllv", "srlv",
          "srav")
_SHIFT = ("sll", "srl", "sra")
_LOADED = {"lb": number(-128, 127), "lbu": number(0, 255), "lh": number(-1 << 15, (1 << 15) - 1),
           "lhu": number(0, 0xFFFF), "sc": _BIT}


def run(encoding: Encoding, word: int, pc: int, following: int, state: State,
        environment: Environment, register: int) -> Condition | None:
    """What an instruction does to a state; of a branch, what it is taken on.

    ``register`` is the one that it writes.
    """
    name = encoding.name
    s, t = state.registers[word >> 21 & 31], state.registers[word >> 16 & 31]
    condition = _condition(name, s, t)
    value: Value | None = None
    if name in _IMMEDIATE or name in _THREE or name in _SHIFT:
        value = _arithmetic(name, word, s, t, environment)
    elif name in ("mult", "multu", "div", "divu"):
        state.low, state.high = _product(name, resolved(s, environment),
                                         resolved(t, environment))
    elif name in ("mthi", "mtlo"):
        setattr(state, "high" if name == "mthi" else "low", as_range(s))
    elif name in ("mfhi", "mflo"):
        value = state.high if name == "mfhi" else state.low
    elif name in ("jal", "jalr", "bltzal", "bgezal"):
        value = Range(None, following + 4 & _MASK)
    elif encoding.form == "rt immediate(rs)":
        value = _access(name, word, t, state, environment)
    if register:
        state.registers[register] = ANY if value is None else value
    return condition


def _condition(name: str, s: Value, t: Value) -> Condition | None:
    if name in ("beq", "bne"):
        for one, other in ((s, t), (t, s)):
            if isinstance(one, Comparison) and other in (ZERO, Range(None, 1)):
                holds = (name == "bne") == (other == ZERO)
                return Condition("less" if one.signed else "less unsigned", one.left, one.right,
                                 holds != one.negated)
        return Condition("equal", as_range(s), as_range(t), name == "beq")
    left = as_range(s)
    if name in ("bltz", "bgez", "bltzal", "bgezal"):
        return Condition("less", left, ZERO, "lt" in name)
    if name in ("blez", "bgtz"):
        return Condition("less", ZERO, left, name == "bgtz")
    return None


def _arithmetic(name: str, word: int, s: Value, t: Value, environment: Environment) -> Value:
    one, other = as_range(s), as_range(t)
    needs_s = name not in (*_SHIFT, "lui")
    needs_t = name not in _IMMEDIATE
    if (one.known or not needs_s) and (other.known or not needs_t):
        known = _computed(word, one.low if needs_s else None, other.low if needs_t else None)
        return ANY if known is None else Range(None, known)
    zero_extended = Range(None, word & 0xFFFF)
    immediate = number(*(signed(word, 16),) * 2)
    if name in ("addu", "add", "or", "xor") and ZERO in (one, other):
        return t if one == ZERO else s
    if name in ("or", "ori", "xori", "addi", "addiu", "sll", "srl", "sra") and (
            zero_extended == ZERO if name in _IMMEDIATE else not word >> 6 & 31
            and name in _SHIFT):
        return s if name in _IMMEDIATE else t
    if name in ("addu", "add"):
        return plus(one, other if one.base is None else resolved(other, environment))
    if name in ("addiu", "addi"):
        return plus(one, immediate)
    if name in ("subu", "sub"):
        return minus(one, other if one.base == other.base else resolved(other, environment))
    if name == "nor" and ZERO in (one, other):
        return minus(Range(None, _MASK), resolved(one if other == ZERO else other, environment))
    if name in ("slt", "sltu"):
        return Comparison(name == "slt", one, other)
    if name in ("slti", "sltiu"):
        if isinstance(s, Comparison) and immediate == Range(None, 1):  # is it 0?
            return s._replace(negated=not s.negated)
        return Comparison(name == "slti", one, immediate)
    if name == "xori" and isinstance(s, Comparison) and zero_extended == Range(None, 1):
        return s._replace(negated=not s.negated)
    if name == "andi" and isinstance(s, Comparison) and word & 1:
        return s
    low, high = resolved(one, environment).unsigned()
    if name == "andi":
        return number(0, min(high, word & 0xFFFF))
    if name == "and":
        return number(0, min(high, resolved(other, environment).unsigned()[1]))
    if name in ("ori", "xori"):
        return number(0, (1 << max(high, word & 0xFFFF).bit_length()) - 1)
    if name in ("or", "xor"):
        most = max(high, resolved(other, environment).unsigned()[1])
        return number(0, (1 << most.bit_length()) - 1)
    low, high = resolved(other, environment).unsigned()
    places = word >> 6 & 31
    if name == "sll":
        return number(low << places, high << places, 1 << places) if (
            high << places < _SPAN) else ANY
    if name == "srl" or (name == "sra" and high < _SPAN >> 1):
        return number(low >> places, high >> places)
    return ANY


def _product(name: str, s: Range, t: Range) -> tuple[Range, Range]:
    """LO and HI."""
    (least_s, most_s), (least_t, most_t) = s.unsigned(), t.unsigned()
    small = _SPAN if name.endswith("u") else _SPAN >> 1
    if most_s >= small or most_t >= small:
        return ANY, ANY
    if name.startswith("mult"):
        return (number(least_s * least_t, most_s * most_t), ZERO) if (
            most_s * most_t < _SPAN) else (ANY, ANY)
    if least_t == 0:
        return ANY, ANY
    return number(least_s // most_t, most_s // least_t), number(0, min(most_s, most_t - 1))


def _access(name: str, word: int, t: Value, state: State, environment: Environment
            ) -> Value | None:
    """What a load finds; a store changes the state."""
    address, by_stack = state.address(word), word >> 21 & 31 in _STACK
    if name.startswith("l"):
        if name == "lw" and by_stack and address in state.stack:
            return state.stack[address]
        return _LOADED.get(name)
    _forget(state.stack, address, environment)
    if name == "sw" and by_stack and address.exact and len(state.stack) < _MOST_WORDS:
        state.stack[address] = t
    return _LOADED.get(name)


def _forget(stack: dict[Range, Value], address: Range, environment: Environment) -> None:
    """The words that a store of up to four bytes may change."""
    if not stack:
        return
    where: Range | None = None
    for at in list(stack):
        if at.base == address.base:
            other, mine = at, address
        else:
            where = where or resolved(address, environment)
            other, mine = resolved(at, environment), where
        # how far the store is above the word: from `least` on, upwards
        least, more = mine.low - other.low - other.more & _MASK, mine.more + other.more
        if 4 <= least <= least + more <= _SPAN - 4:
            continue
        if more and environment.hopeful:
            environment.hoped = True
        else:
            del stack[at]


def decided(condition: Condition, environment: Environment) -> bool | None:
    """Whether a condition holds, if that is known."""
    kind, left, right, holds = condition
    if kind == "equal":
        apart = minus(left, right) if left.base == right.base else minus(
            resolved(left, environment), resolved(right, environment))
        if apart == ZERO:
            return holds
        return None if 0 in _offsets(apart) else not holds
    one, other = (resolved(left, environment), resolved(right, environment))
    (low, high), (least, most) = ((one.signed(), other.signed()) if kind == "less" else
                                  (one.unsigned(), other.unsigned()))
    if high < least:
        return holds
    return not holds if low >= most else None


def narrowed(value: Range, holds: Condition, environment: Environment) -> Range | None:
    """Numbers of a range that a condition on it leaves; None: all, as far as is seen here."""
    whole = resolved(value, environment)
    if whole.exact:
        return None
    is_left = value == holds.left
    other = resolved(holds.right if is_left else holds.left, environment)
    if holds.kind == "equal":
        if holds.holds:
            return other if other.exact else None
        low, high = whole.low, whole.low + whole.more
        if other.exact and other.low == low:
            return number(low + whole.stride, high, whole.stride)
        return number(low, high - whole.stride, whole.stride) if (
            other.exact and other.low == high & _MASK) else None
    signs = holds.kind == "less"
    (low, high), (least, most) = ((whole.signed(), other.signed()) if signs else
                                  (whole.unsigned(), other.unsigned()))
    if is_left == holds.holds:  # it is below the other one, or not above it
        most = most - 1 if holds.holds else most
        return number(low, low + (most - low) // whole.stride * whole.stride, whole.stride) if (
            low <= most < high) else None
    least = least + 1 if holds.holds else least
    return number(high - (high - least) // whole.stride * whole.stride, high, whole.stride) if (
        low < least <= high) else None


class _offsets:
    """The numbers of a range, for ``in``."""

    def __init__(self, of: Range) -> None:
        self._of = of

    def __contains__(self, value: int) -> bool:
        return self._of.base is not None or (value - self._of.low & _MASK) <= self._of.more


def entry_state(registers: Mapping[int, tuple[int, int]]) -> tuple[State, Environment]:
    """Where a function begins, with what is known of its registers."""
    environment = Environment()
    values: list[Value] = [ZERO]
    for register in range(1, 32):
        symbol = Symbol("begin", register)
        low, high = registers.get(register, (0, _MASK))
        if low == high:
            values.append(Range(None, low & _MASK))
        else:
            environment[symbol] = number(low, high)
            values.append(Range(symbol, 0))
    return State(values), environment
