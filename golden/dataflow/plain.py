"""A kernel as Python runs it: the function, called for one thread after the other.

The reference of the compiler, which shares nothing with it: numbers of 32 bits are objects with
Python's operators, and Python itself decides what ``if``, ``and``, ``for`` and ``return`` do. The
function's literals are made into such numbers before, so that sums of these wrap around as well.
"""

import ast
import copy
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from cyclebound.golden.dataflow.compute_unit import evaluate
from cyclebound.golden.dataflow.kernel import LOOP, Float, Floats, Kernel
from cyclebound.golden.dataflow.operations import Operation

__all__ = ["Single", "Whole", "run_plainly"]

_WIDTH, _MASK = 32, 0xFFFF_FFFF


def _wrapped(number: int) -> int:
    """The number modulo 2**32, as a signed integer."""
    return (number + (1 << 31) & _MASK) - (1 << 31)


def _number(other) -> int:
    """The value of an operand that an integer can be combined with, else `NotImplemented`."""
    if isinstance(other, (Whole, int)):
        return int(other)
    return NotImplemented


class Whole:
    """An integer of 32 bits: sums, differences, products and left shifts wrap around."""

    def __init__(self, number: float) -> None:
        self.number = _wrapped(int(number))

    def __index__(self) -> int:
        return self.number

    __int__ = __index__

    def __bool__(self) -> bool:
        return self.number != 0

    def __hash__(self) -> int:
        return hash(self.number)

    def __neg__(self) -> "Whole":
        return Whole(-self.number)

    def __pos__(self) -> "Whole":
        return self

    def __invert__(self) -> "Whole":
        return Whole(~self.number)

    def __abs__(self) -> "Whole":
        return Whole(abs(self.number))

    def __pow__(self, exponent) -> "Whole":
        return Whole(self.number ** int(exponent))


def _floor(left: int, right: int) -> int:
    """Towards minus infinity; by 0, -1 of a positive number or 0, and -2 of a negative one."""
    return left // right if right else -1 - (left < 0)


def _rest(left: int, right: int) -> int:
    return left % right if right else left


def _left(left: int, by: int) -> int:
    return left << by if 0 <= by < _WIDTH else 0


def _right(left: int, by: int) -> int:
    return left >> (by if 0 <= by < _WIDTH else _WIDTH - 1)


def _binary(function):
    def forwards(self, other):
        number = _number(other)
        return number if number is NotImplemented else Whole(function(self.number, number))

    def backwards(self, other):
        number = _number(other)
        return number if number is NotImplemented else Whole(function(number, self.number))

    return forwards, backwards


def _compared(function):
    def compare(self, other):
        number = _number(other)
        return number if number is NotImplemented else function(self.number, number)

    return compare


for _name, _function in {
        "add": operator.add, "sub": operator.sub, "mul": operator.mul, "and": operator.and_,
        "or": operator.or_, "xor": operator.xor, "floordiv": _floor, "mod": _rest,
        "lshift": _left, "rshift": _right}.items():
    _there, _back = _binary(_function)
    setattr(Whole, f"__{_name}__", _there)
    setattr(Whole, f"__r{_name}__", _back)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Whole, f"__{_name}__", _compared(getattr(operator, _name)))


def _float(other) -> np.float32:
    if isinstance(other, Single):
        return other.number
    if isinstance(other, (int, float)):
        return np.float32(other)
    if isinstance(other, Whole):
        return np.float32(other.number)
    return NotImplemented


class Single:
    """A number in single precision; each result is rounded."""

    def __init__(self, number: float | np.float32) -> None:
        self.number = np.float32(number)

    @property
    def bits(self) -> int:
        return int(self.number.view(np.uint32))

    @classmethod
    def of(cls, bits: int) -> "Single":
        return cls(np.uint32(bits & _MASK).view(np.float32))

    def __bool__(self) -> bool:
        return bool(self.number != 0)

    def __hash__(self) -> int:
        return hash(self.number)

    def __neg__(self) -> "Single":
        return Single.of(self.bits ^ 1 << 31)

    def __pos__(self) -> "Single":
        return self

    def __abs__(self) -> "Single":
        return Single.of(self.bits & _MASK >> 1)

    def __pow__(self, exponent) -> "Single":
        result = self if exponent else Single(1)
        for _ in range(int(exponent) - 1):
            result = operator.mul(result, self)  # its operators are set below
        return result


def _single(function, compares: bool):
    def forwards(self, other):
        number = _float(other)
        if number is NotImplemented:
            return number
        result = function(self.number, number)
        return bool(result) if compares else Single(result)

    def backwards(self, other):
        number = _float(other)
        return number if number is NotImplemented else Single(function(number, self.number))

    return forwards, backwards


for _name in ("add", "sub", "mul", "truediv"):
    _there, _back = _single(getattr(operator, _name), False)
    setattr(Single, f"__{_name}__", _there)
    setattr(Single, f"__r{_name}__", _back)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Single, f"__{_name}__", _single(getattr(operator, _name), True)[0])


def _to_whole(number):
    """``int``: towards zero; the end of the range of what is beyond it; 0 of what is no number."""
    if not isinstance(number, Single):
        return int(number) if isinstance(number, float) else +number
    if np.isnan(number.number):
        return Whole(0)
    if np.isinf(number.number):
        return Whole(-(1 << 31) if number.number < 0 else (1 << 31) - 1)
    return Whole(max(-(1 << 31), min((1 << 31) - 1, int(number.number))))


def _to_single(number):
    """The language's ``float``: a number in single precision."""
    if isinstance(number, Single):
        return number
    return Single(int(number)) if isinstance(number, (Whole, bool)) else float(number)


def _bits(number) -> int:
    return int(number) & _MASK


def _truncated(left, right) -> Whole:
    a, b = int(left), int(right)
    if b == 0:
        return Whole(-1)
    return Whole(abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1))


def _range(*bounds):
    return map(Whole, range(*map(int, bounds)))


class _ExceededError(Exception):
    """A loop goes on after its stated bound."""


def _bounded(values: Iterable, most, name: str) -> Iterator:
    """These values, but not more than there may be."""
    for count, value in enumerate(values):
        if count == int(most):
            raise _ExceededError(f"{LOOP}{name}.{int(most)}")
        yield value


def _while(condition: Callable[[], object]) -> Iterator[None]:
    while condition():
        yield


class _Literals(ast.NodeTransformer):
    """Numbers become numbers of 32 bits; a quotient, also of two bools, is a float; loops with a
    stated bound ask for it."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Div):
            return ast.copy_location(ast.Call(ast.Name("?divided", ast.Load()),
                                              [node.left, node.right], []), node)
        return node

    def visit_For(self, node: ast.For) -> ast.stmt:
        match node.iter:
            case ast.Call(func=ast.Name(id="bounded"), args=arguments):
                place = ast.Constant(f"{node.lineno}.{node.col_offset + 1}")
                arguments.append(ast.copy_location(place, node))
        self.generic_visit(node)
        return node

    def visit_While(self, node: ast.While) -> ast.stmt:
        """A loop over what its condition allows, if its bound is stated."""
        match node.test:
            case ast.Call(func=ast.Name(id="bounded"), args=[test, most]):
                none = ast.arguments([], [], None, [], [], None, [])
                turns = ast.Call(ast.Name("?while", ast.Load()), [ast.Lambda(none, test)], [])
                over = ast.Call(ast.Name("bounded", ast.Load()), [turns, most], [])
                loop = ast.For(ast.Name("?turn", ast.Store()), over, node.body, node.orelse)
                return self.visit_For(ast.fix_missing_locations(ast.copy_location(loop, node)))
        self.generic_visit(node)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        self.generic_visit(node)
        if isinstance(node.op, ast.Div):  # the right side as a float: the quotient is one
            node.value = ast.copy_location(ast.Call(ast.Name("?real", ast.Load()), [node.value],
                                                    []), node)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
            kind = "?whole" if isinstance(node.value, int) else "?single"
            return ast.copy_location(ast.Call(ast.Name(kind, ast.Load()), [node], []), node)
        return node


def _function_of(kernel: Kernel) -> Callable[..., None]:
    """The kernel's function, with the language's own."""
    if kernel.function is None:
        raise TypeError(f"kernel {kernel.name} is no function of Python")
    tree = copy.deepcopy(kernel.tree)
    tree.decorator_list = []
    tree.body = [_Literals().visit(node) for node in tree.body]
    for argument in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs):
        argument.annotation = None
    module = ast.fix_missing_locations(ast.Module([tree], []))
    space = {**kernel.function.__globals__, **_FUNCTIONS}
    exec(compile(module, kernel.file or "<kernel>", "exec"), space)
    return space[kernel.name]


_FUNCTIONS = {
    "?whole": Whole, "?single": Single, "range": _range, "bounded": _bounded, "?while": _while,
    "?real": lambda x: Single(_float(x)), "?divided": lambda a, b: Single(_float(a) / _float(b)),
    "round": lambda x: _to_whole(Single(np.rint(x.number)) if isinstance(x, Single) else x),
    "sqrt": lambda x: Single(np.sqrt(_float(x))),
    "fma": lambda a, b, c: Single.of(evaluate(Operation.FMA, [
        Single(_float(operand)).bits for operand in (a, b, c)])),
    "float32": lambda x: x if isinstance(x, Single) else Single(
        x if isinstance(x, float) else int(x)),
    "int32": _to_whole, "int": _to_whole, "float": _to_single,
    "shr": lambda x, by: Whole(_bits(x) >> int(by) if 0 <= int(by) < _WIDTH else 0),
    "ltu": lambda a, b: _bits(a) < _bits(b), "leu": lambda a, b: _bits(a) <= _bits(b),
    "idiv": _truncated,
}


@dataclass
class _Array:
    """An array in memory; what is outside of it is 0, and is not stored."""

    name: str
    words: np.ndarray
    floating: bool
    thread: int = 0
    faults: list[tuple[str, int, int]] = field(default_factory=list)

    def _place(self, index) -> int | None:
        place = operator.index(index)
        if 0 <= place < len(self.words):
            return place
        self.faults.append((self.name, self.thread, place & _MASK))
        return None

    def __getitem__(self, index):
        place = self._place(index)
        word = 0 if place is None else int(self.words[place])
        return Single.of(word) if self.floating else Whole(word)

    def __setitem__(self, index, value) -> None:
        place = self._place(index)
        if isinstance(value, Single) and not self.floating:
            raise TypeError(f"a float cannot be stored in {self.name}")
        word = Single(_float(value)).bits if self.floating else _bits(value)
        if place is not None:
            self.words[place] = word


def run_plainly(kernel: Kernel, memory: Mapping[str, np.ndarray], threads: int, /,
                **constants: float) -> list[tuple[str, int, int]]:
    """Run the kernel; arrays of ``memory`` (uint32) are changed in place.

    Returns the accesses outside of their arrays, which are not made: array, thread, index. Of a
    thread whose loop goes on after its stated bound, that is the last (`Kernel.check_loops`).
    Raises `TypeError` for a kernel that is no function of Python.
    """
    run = _function_of(kernel)
    faults: list[tuple[str, int, int]] = []
    arrays = {name: _Array(name, memory[name], kernel.parameters[name] is Floats, faults=faults)
              for name in kernel.arrays}
    given = {name: Single(value) if kernel.parameters[name] is Float else Whole(value)
             for name, value in constants.items()}
    with np.errstate(all="ignore"):
        for thread in range(threads):
            for array in arrays.values():
                array.thread = thread
            named = {**arrays, **given}
            try:
                run(**{kernel.thread: Whole(thread)}, **{name: named[name]
                                                         for name in kernel.parameters})
            except _ExceededError as loop:
                faults.append((str(loop), thread, thread))
    return faults
