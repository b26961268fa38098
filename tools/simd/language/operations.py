"""Operations of a kernel's expressions as instructions of the SIMD accelerator.

`Selection` stands in for the graph that `tools.dataflow` makes of expressions: each task that is
added becomes instructions at once, and its token is a virtual register. What is the same in all
lanes (counters of loops, and what is made of them) is in scalar registers; comparisons are
predicates; everything else is in vector registers. Results are those of the tasks, bit by bit.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from cyclebound.golden.dataflow.control import Control
from cyclebound.golden.dataflow.graph import NUMBER, Graph, Operand, Special, Task, Token
from cyclebound.golden.dataflow.operations import Operation
from cyclebound.golden.simd.program import STACK_DEPTH
from cyclebound.tools.dataflow.spans import ANY, MASK, Span, wrapped
from cyclebound.tools.simd.language.code import Code, Register

__all__ = ["Affine", "RefusedError", "Selection", "immediate"]

_SIGN = 0x8000_0000
_INFINITY, _ONE = 0x7F80_0000, 0x3F80_0000  # as floats
_COMMUTATIVE = {Operation.ADD: "iadd", Operation.MUL: "imul", Operation.AND: "and",
                Operation.OR: "or", Operation.XOR: "xor", Operation.MIN: "imin",
                Operation.MAX: "imax", Operation.FADD: "add", Operation.FMUL: "mul"}
_SINGLES = (Operation.FADD, Operation.FMUL, Operation.FSUB)
_ORDERED = {Operation.SUB: "isub", Operation.FSUB: "add.neg"}
_SCALAR = {Operation.ADD: "siadd", Operation.SUB: "sisub", Operation.MUL: "simul",
           Operation.AND: "sand", Operation.OR: "sor", Operation.MIN: "simin",
           Operation.MAX: "simax", Special.IDIV: "sidiv"}
_INVERSE = {"ez": "nz", "nz": "ez", "g": "le", "le": "g", "l": "ge", "ge": "l"}
_INTEGER_ORDER = {Operation.EQ: "ez", Operation.NE: "nz", Operation.LT: "l", Operation.LE: "le",
                  Operation.LTU: "l", Operation.LEU: "le"}
_FLOAT_ORDER = {Operation.FEQ: "ez", Operation.FLT: "l", Operation.FLE: "le"}
_MIRRORED = {"ez": "ez", "nz": "nz", "l": "g", "le": "ge"}


class RefusedError(Exception):
    """What the accelerator cannot do."""


@dataclass(frozen=True)
class Affine:
    """A sum: ``threads`` times the thread's number, scalar registers, each so often, ``more``; all
    of 32 bits with a sign, as sums wrap around."""

    threads: int = 0
    scalars: tuple[tuple[Register, int], ...] = ()
    more: int = 0

    def __add__(self, other: "Affine") -> "Affine":
        terms = dict(self.scalars)
        for register, times in other.scalars:
            terms[register] = terms.get(register, 0) + times
        return self._cut(self.threads + other.threads, terms, self.more + other.more)

    def times(self, factor: int) -> "Affine":
        return self._cut(self.threads * factor, {
            register: times * factor for register, times in self.scalars}, self.more * factor)

    @classmethod
    def _cut(cls, threads: int, terms: dict[Register, int], more: int) -> "Affine":
        return cls(wrapped(threads), tuple((register, wrapped(times)) for register, times
                                           in terms.items() if wrapped(times)), wrapped(more))


def immediate(bits: int) -> str:
    """32 bits as a source has them."""
    return f"{bits:#x}" if 9 < bits <= MASK - 9 else str(wrapped(bits))


@dataclass
class Selection(Graph):
    """Tasks as instructions; nothing is kept of the tasks themselves."""

    code: Code = field(default_factory=Code)
    spans: dict[Token, Span] = field(default_factory=dict)
    registers: list[Register] = field(default_factory=list)   # by a token's task
    places: dict[Register, Affine] = field(default_factory=dict)
    opposite: dict[Register, Register] = field(default_factory=dict)  # of predicates
    depth: int = 0  # entries of the control stack
    approximate: bool = False  # quotients and roots by reciprocals

    def token(self, register: Register) -> Token:
        self.registers.append(register)
        return Token(len(self.registers) - 1)

    def register(self, token: Token) -> Register:
        return self.registers[token.task]

    def add(self, task: Task) -> Token:
        """The token of a task's result."""
        if task.line:
            self.code.line = task.line
        if task.function == NUMBER:
            made = self.code.make("mov", "v", "vc.tid_x")
            self.places[made] = Affine(1)
            return self.token(made)
        operands: list[Operand] = [operand for operand in task.operands if operand is not None]
        place = self._place(task.function, operands)
        made = self._made(task.function, operands)
        if place is not None and made.kind == "v":
            self.places[made] = place
        return self.token(made)

    # -- operands ----------------------------------------------------------------------------------

    def kind(self, operand: Operand) -> str:
        return self.register(operand).kind if isinstance(operand, Token) else "i"

    def span(self, operand: Operand) -> Span:
        if isinstance(operand, Token):
            if self.register(operand).kind == "p":
                return 0, 1
            return self.spans.get(operand, ANY)
        assert operand is not None
        return (wrapped(operand),) * 2

    def vector(self, operand: Operand) -> Register:
        """The operand in a vector register."""
        if not isinstance(operand, Token):
            assert operand is not None
            return self.code.make("mov", "v", immediate(operand))
        register = self.register(operand)
        if register.kind == "v":
            return register
        if register.kind == "s":
            return self.code.make("copy", "v", register)
        made = self.code.make("copy", "v", "1")
        with self.where(register, False):
            self.code.emit("copy", made, "0")
        return made

    def source(self, operand: Operand) -> Register | str:
        """The operand as a last source: a vector, a scalar, or an immediate."""
        if not isinstance(operand, Token):
            assert operand is not None
            return immediate(operand)
        return self.vector(operand) if self.kind(operand) == "p" else self.register(operand)

    def single(self, operand: Operand) -> Register | str:
        """As `source`, for an instruction of floats, which takes bits in hexadecimal only."""
        return f"{operand:#x}" if isinstance(operand, int) else self.source(operand)

    def predicate(self, operand: Token) -> Register:
        register = self.register(operand)
        if register.kind == "p":
            return register
        return self.test("itest", "nz", self.vector(operand))

    def test(self, name: str, condition: str, value: Register) -> Register:
        made = self.code.make(f"{name}.{condition}", "p", value)
        if name == "itest" or condition in ("ez", "nz"):
            opposite = self.code.make(f"{name}.{_INVERSE[condition]}", "p", value)
            self.opposite |= {made: opposite, opposite: made}
        return made

    def inverted(self, predicate: Register) -> Register:
        """Where it does not hold; of active lanes only, so that it is not kept for others."""
        return self.opposite.get(predicate) or self.code.make("pbool.nor", "p", predicate,
                                                              predicate)

    @contextmanager
    def where(self, predicate: Register, holds: bool) -> Iterator[None]:
        """Instructions for the lanes in which a predicate holds, or does not."""
        off = self.inverted(predicate) if holds else predicate
        with self.pushed("if"):
            self.code.emit("cmask", None, off)
            yield

    @contextmanager
    def pushed(self, mask: str) -> Iterator[str]:
        """A mask of ``cpush`` that is back afterwards, at this label."""
        if self.depth == STACK_DEPTH:
            raise RefusedError(f"branches and loops are nested more than {STACK_DEPTH} deep, which "
                               "the control stack has no room for")
        self.depth += 1
        label = self.code.name({"if": "endif", "brk": "next", "jc": "done"}[mask])
        self.code.emit(f"cpush.{mask}", None, label)
        yield label
        self.code.emit("cpop", None)
        self.code.emit("label", None, label)
        self.depth -= 1

    # -- results -----------------------------------------------------------------------------------

    def _place(self, function: object, operands: list[Operand]) -> Affine | None:
        """The result as a sum, if it is one of few terms."""
        known = [self.affine(operand) for operand in operands[:2]]
        if len(known) < 2 or known[0] is None or known[1] is None:
            return None
        one, two = known[0], known[1]
        if function is Operation.ADD:
            return one + two
        if function is Operation.SUB:
            return one + two.times(-1)
        if function is Operation.MUL and not isinstance(operands[1], Token):
            return one.times(two.more)
        if function is Operation.MUL and not isinstance(operands[0], Token):
            return two.times(one.more)
        if function is Operation.SHL and not isinstance(operands[1], Token):
            return one.times(1 << two.more)
        return None

    def affine(self, operand: Operand) -> Affine | None:
        if not isinstance(operand, Token):
            assert operand is not None
            return Affine(more=wrapped(operand))
        register = self.register(operand)
        if register.kind == "s":
            return self.places.get(register, Affine(scalars=((register, 1),)))
        return self.places.get(register)

    def _made(self, function: object, operands: list[Operand]) -> Register:
        if isinstance(function, Control):
            raise TypeError(f"{function} is no operation")
        scalar = all(self.kind(operand) in "si" for operand in operands)
        if scalar and (made := self._scalar(function, operands)) is not None:
            return made
        made_by: dict[object, Callable[..., Register]] = {
            Operation.SELECT: self._select, Operation.SHL: self._shift,
            Operation.SHR: self._shift, Operation.SRA: self._shift,
            Operation.TO_FLOAT: self._float, Operation.TO_INT: self._integer,
            Special.IDIV: self._quotient}
        if function in made_by and isinstance(function, (Operation, Special)):
            return made_by[function](function, *operands)
        if function in (Operation.AND, Operation.OR, Operation.XOR) and any(
                self.kind(operand) == "p" for operand in operands) and (
                made := self._boolean(function, operands)) is not None:
            return made
        if isinstance(function, Operation) and function in _INTEGER_ORDER:
            return self._compare(function, *operands)
        if isinstance(function, Operation) and function in _FLOAT_ORDER:
            return self._compare_floats(function, *operands)
        last = self.single if function in _SINGLES else self.source
        if isinstance(function, Operation) and function in _COMMUTATIVE:
            one, two = operands[:2]
            if self.kind(one) != "v" and self.kind(two) == "v":
                one, two = two, one
            return self.code.make(_COMMUTATIVE[function], "v", self.vector(one), last(two))
        if isinstance(function, Operation) and function in _ORDERED:
            one, two = operands[:2]
            return self.code.make(_ORDERED[function], "v", self.vector(one), last(two))
        if self.approximate and function is Special.FDIV:
            made = self.code.make("rcp", "v", self.vector(operands[1]))
            return made if operands[0] == _ONE else self.code.make(
                "mul", "v", made, self.single(operands[0]))
        if self.approximate and function is Special.FSQRT:  # of 0, it is 0
            value = self.vector(operands[0])
            made = self.code.make("min", "v", self.code.make("rsqrt", "v", value), "FLT_MAX")
            return self.code.make("mul", "v", value, made)
        raise RefusedError(_NOT_THERE[function])

    def _scalar(self, function: object, operands: list[Operand]) -> Register | None:
        def scalar(operand: Operand) -> Register:
            if isinstance(operand, Token):
                return self.register(operand)
            assert operand is not None
            return self.code.make("smov", "s", immediate(operand))

        if function in _SCALAR and isinstance(function, (Operation, Special)):
            return self.code.make(_SCALAR[function], "s", scalar(operands[0]),
                                  self.source(operands[1]))
        if function is Operation.XOR:
            one, two = scalar(operands[0]), self.source(operands[1])
            both = self.code.make("sand", "s", one, two)
            return self.code.make("sisub", "s", self.code.make("sor", "s", one, two), both)
        if function in (Operation.SHL, Operation.SRA):
            return self.code.make("sshl" if function is Operation.SHL else "sshr", "s",
                                  scalar(operands[0]), self.source(operands[1]))
        return None

    def _boolean(self, function: object, operands: list[Operand]) -> Register | None:
        tokens = [operand for operand in operands if isinstance(operand, Token)]
        if len(tokens) < 2:
            return self.inverted(self.register(tokens[0])) if (
                function is Operation.XOR and 1 in operands) else None
        if any(self.kind(operand) != "p" for operand in tokens) or function is Operation.XOR:
            return None
        return self.code.make("pbool.and" if function is Operation.AND else "pbool.or", "p",
                              *map(self.register, tokens))

    # -- comparisons -------------------------------------------------------------------------------

    def _compare(self, function: Operation, one: Operand, two: Operand) -> Register:
        condition = _INTEGER_ORDER[function]
        if function in (Operation.LTU, Operation.LEU) and min(
                self.span(one)[0], self.span(two)[0]) < 0:
            one, two = (operand ^ _SIGN if isinstance(operand, int) else self.token(
                self.code.make("xor", "v", self.vector(operand), immediate(_SIGN)))
                for operand in (one, two))
        if two == 0:
            return self.test("itest", condition, self.vector(one))
        if one == 0:
            return self.test("itest", _MIRRORED[condition], self.vector(two))
        first, second, turned = one, two, condition
        if self.kind(one) != "v" and self.kind(two) == "v":
            first, second, turned = two, one, _MIRRORED[condition]
        (low, high), (low2, high2) = self.span(first), self.span(second)  # of what is subtracted
        exact = low - high2 >= -(1 << 31) and high - low2 < 1 << 31
        if condition in ("ez", "nz") or exact:
            return self.test("itest", turned, self.code.make(
                "isub", "v", self.vector(first), self.source(second)))
        # a < b unless the lesser is b; a <= b if the greater is b
        chosen = self.code.make("imin" if condition == "l" else "imax", "v", self.vector(first),
                                self.source(second))
        return self.test("itest", "nz" if condition == "l" else "ez", self.code.make(
            "isub", "v", chosen, self.source(two)))

    def _compare_floats(self, function: Operation, one: Operand, two: Operand) -> Register:
        """The difference has the sign of the comparison, with subnormal numbers; only of equal
        infinities, it is no number."""
        condition = _FLOAT_ORDER[function]
        for operand, other, turned in ((two, one, condition), (one, two, _MIRRORED[condition])):
            if operand in (0, _SIGN) and not isinstance(operand, Token):
                return self.test("test", turned, self.vector(other))
        if self.kind(one) != "v" and self.kind(two) == "v":
            one, two, condition = two, one, _MIRRORED[condition]
        left = self.vector(one)
        differs = self.code.make("add.neg", "v", left, self.single(two))
        made = self.test("test", condition, differs)
        finite = any(not isinstance(operand, Token) and operand is not None
                     and operand & _INFINITY != _INFINITY for operand in (one, two))
        if function is Operation.FLT or finite:
            return made
        same = self.code.make("itest.ez", "p", self.code.make(
            "xor", "v", left, self.source(two)))
        number = self.code.make("test.ge", "p", self.code.make("abs", "v", left))
        both = self.code.make("pbool.and", "p", same, number)
        return self.code.make("pbool.or", "p", made, both)

    # -- others ------------------------------------------------------------------------------------

    def _select(self, function: Operation, condition: Operand, yes: Operand, no: Operand
                ) -> Register:
        assert isinstance(condition, Token)
        made = self.code.new("v")
        chooses = self.predicate(condition)
        self.copy(made, yes)
        with self.where(chooses, False):
            self.copy(made, no)
        return made

    def copy(self, target: Register, operand: Operand) -> None:
        """Give a register a value, in active lanes."""
        if target.kind == "v" and isinstance(operand, Token) and self.kind(operand) == "p":
            operand = self.token(self.vector(operand))
        self.code.emit("copy", target, self.source(operand))

    def _shift(self, function: Operation, value: Operand, by: Operand) -> Register:
        name = "shl" if function is Operation.SHL else "shr"
        if self.kind(by) in "si":
            shifted = self.code.make(name, "v", self.vector(value), self.source(by))
            if function is not Operation.SHR or self.span(value)[0] >= 0:
                return shifted
            if not isinstance(by, Token):
                assert by is not None
                return self.code.make("and", "v", shifted, immediate(MASK >> (by & 31))) if (
                    by & 31) else shifted
        places, result = self.vector(by), self.vector(value)
        for bit in range(5):  # by 1, 2, 4, 8, 16 where the bit of the place is set
            moved = self.code.make(name, "v", result, str(1 << bit))
            if function is Operation.SHR:
                moved = self.code.make("and", "v", moved, immediate(MASK >> (1 << bit)))
            high = self.code.make("shl", "v", places, str(31 - bit))
            mask = self.code.make("shr", "v", high, "31")
            differs = self.code.make("and", "v", self.code.make("xor", "v", result, moved), mask)
            result = self.code.make("xor", "v", result, differs)
        return result

    def _float(self, function: Operation, value: Operand) -> Register:
        """The instruction takes a number without a sign."""
        if self.span(value)[0] >= 0:
            return self.code.make("cvt.i2f", "v", self.vector(value))
        number = self.vector(value)
        flipped = self.code.make("not", "v", number)
        size = self.code.make("imax", "v", number, self.code.make("iadd", "v", flipped, "1"))
        single = self.code.make("cvt.i2f", "v", size)
        return self.code.make("or", "v", single, self.code.make(
            "and", "v", number, immediate(_SIGN)))

    def _size(self, value: Operand) -> tuple[Register, Register | None]:
        """A number without its sign, and its sign in all bits, if it may have one."""
        number = self.vector(value)
        if self.span(value)[0] >= 0:
            return number, None
        sign = self.code.make("shr", "v", number, "31")
        flipped = self.code.make("xor", "v", number, sign)
        return self.code.make("isub", "v", flipped, sign), sign

    def _quotient(self, function: Special, left: Operand, right: Operand) -> Register:
        """Towards zero, of sizes a and b up to 2**31. A quotient by a float that is too small by
        2**-20 to 1.5 * 2**-20 of it leaves a rest from 0 to b + 3 * 2**10; that of this rest, one
        below 2 b, since 1.5 * 2**-20 of the rest is less than b where that is more than 1."""
        (a, sign), (b, sign2) = self._size(left), self._size(right)
        inverse = self.code.make("rcp", "v", self.code.make("cvt.i2f", "v", b))
        inverse = self.code.make("mul", "v", inverse, immediate(_BELOW))
        total, rest = None, a
        for _ in range(2):
            single = self.code.make("cvt.i2f", "v", rest)
            part = self.code.make("cvt.f2i", "v", self.code.make("mul", "v", single, inverse))
            rest = self.code.make("isub", "v", rest, self.code.make("imul", "v", part, b))
            total = part if total is None else self.code.make("iadd", "v", total, part)
        assert total is not None
        less = self.code.make("shr", "v", self.code.make("isub", "v", rest, b), "31")
        total = self.code.make("iadd", "v", self.code.make("iadd", "v", total, less), "1")
        for turned in (sign, sign2):
            if turned is not None:
                total = self.code.make("isub", "v", self.code.make("xor", "v", total, turned),
                                       turned)
        low, high = self.span(right)
        if low > 0 or high < 0:
            return total
        made = self.code.make("copy", "v", total)
        zero = self.test("itest", "ez", self.vector(right))
        with self.where(zero, True):
            self.code.emit("copy", made, "-1")
        return made

    def _integer(self, function: Operation, value: Operand) -> Register:
        return self.code.make("cvt.f2i", "v", self.vector(value))


_BELOW = 0x3F7F_FFF0  # 1 - 2**-20: more than what conversions, reciprocal and product are wrong by
_NOT_THERE: dict[object, str] = {
    Operation.FMA: "fma: there is no sum of a product that is rounded once",
    Special.FDIV: "a quotient of floats: there is no divider of floats, only a reciprocal "
                  "(--approximate)",
    Special.FSQRT: "a square root: there is none that is rounded once, only a reciprocal one "
                   "(--approximate)"}
