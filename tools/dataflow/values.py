"""Values of a kernel's expressions: loads under their conditions, choices, operations.

Source: SGMF, sections 4.3 and 4.5 (enable tokens, joins, labels, poisoned control tokens).
"""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from cyclebound.golden.dataflow.control import Control
from cyclebound.golden.dataflow.graph import (
    ENABLE,
    NUMBER,
    Graph,
    Memory,
    Operand,
    Task,
    Token,
)
from cyclebound.golden.dataflow.kernel import Float, Floats, Ints, Kernel, KernelError
from cyclebound.golden.dataflow.operations import OPERANDS, Operation
from cyclebound.tools.dataflow.c_operations import emit_c
from cyclebound.tools.dataflow.exits import HIDDEN
from cyclebound.tools.dataflow.expressions import emit
from cyclebound.tools.dataflow.operands import (
    Node,
    Spilled,
    Value,
    constant,
    float_bits,
    operand,
    span_of,
    unify,
)
from cyclebound.tools.dataflow.ranges import RANGES, emit_range
from cyclebound.tools.dataflow.spans import Span

__all__ = ["Guard", "Partly", "Place", "Scope", "Valuer", "construct", "spill_array", "symbol"]

_THREADS: Span = (0, (1 << 30) - 1)  # of a thread's number


def spill_array(name: str) -> str:
    """The array in which a variable waits, an element for each thread."""
    return f"${name}"


@dataclass
class _MemoryTask:
    task: int
    predicate: Token | None
    store: bool


Place = tuple[str, str, Token | int]
Guard = tuple[str, bool]  # a hidden variable, and what it is
Partly = tuple[frozenset[Guard], Value]  # a variable's value, and the conditions of having it


@dataclass
class Scope:
    """The compiler's state at a place of the kernel: variables, and the condition of being there.

    ``guards``: the hidden conditions of being there. ``partial``: variables that have a value only
    under some of these, such as those that a loop in an ``if`` needs in its next iteration, or that
    are known under them: a counter, for all threads that have not left its loop. The first that
    holds counts; not more than one of a variable waits in memory.
    """

    names: dict[str, Value]
    predicate: Token | None = None
    guards: frozenset[Guard] = frozenset()
    partial: dict[str, tuple[Partly, ...]] = field(default_factory=dict)

    def inside(self, *guards: Guard) -> "Scope":
        """A copy, under these hidden conditions as well."""
        return Scope(dict(self.names), None, self.guards | set(guards), dict(self.partial))

    def find(self, name: str) -> Value | None:
        """A variable's value, if it has one here."""
        for wanted in (True, False):
            if (name, wanted) in self.guards:
                return constant(wanted)
        return next((value for guards, value in self.partial.get(name, ())
                     if guards <= self.guards), self.names.get(name))

    def assign(self, name: str, value: Value) -> None:
        """Give a variable a value. Of a hidden condition, what is known under the old one is over,
        but for a flag that is set: threads without it now had none before."""
        self.names[name] = value
        self.partial.pop(name, None)
        if name.startswith(HIDDEN):
            stays = (name, False) if value.known and value.what else None
            self.partial = {variable: left for variable, entries in self.partial.items()
                            if (left := tuple(entry for entry in entries if all(
                                guard[0] != name or guard == stays for guard in entry[0])))}
            self.guards = frozenset(guard for guard in self.guards if guard[0] != name)


@dataclass
class Valuer:
    """One graph under way, and the values that are known of it."""

    kernel: Kernel
    constants: Mapping[str, int | np.float32]
    graph: Graph = field(default_factory=Graph)
    accesses: dict[str, list[_MemoryTask]] = field(default_factory=dict)
    spans: dict[Token, Span] = field(default_factory=dict)    # of integers, where known
    loaded: dict[Spilled, Token] = field(default_factory=dict)
    number: Token = field(init=False)                         # the thread's number

    def __post_init__(self) -> None:
        self.number = self.graph.add(Task(NUMBER, line=self.kernel.tree.lineno))
        self.spans[self.number] = _THREADS

    def fail(self, node: Node, what: str) -> KernelError:
        return self.kernel.error_at(node, what)

    def choose(self, condition: Value, yes: Value, no: Value, kind: str, node: Node) -> Value:
        if condition.known:
            return yes if condition.what else no
        yes, no = self.here(yes, node), self.here(no, node)
        if kind == "bool" and not yes.known and no.what == 0:
            return emit(self, node, "and", condition, yes)
        if kind == "bool" and not no.known and yes.what == 1:
            return emit(self, node, "or", condition, no)
        if kind == "bool" and (yes.what, no.what) in ((1, 0), (0, 1)):
            return condition if yes.what else emit(self, node, "not", condition)
        spans = [span_of(self, value) for value in (yes, no)] if kind != "float" else None
        operands: list[Operand] = [condition.token, operand(self, node, yes, kind),
                                   operand(self, node, no, kind)]
        token = self.graph.add(Task(Operation.SELECT, operands, line=node.lineno))
        if spans:
            self.spans[token] = min(spans[0][0], spans[1][0]), max(spans[0][1], spans[1][1])
        return Value(token, kind)

    def here(self, value: Value, node: Node) -> Value:
        """The value; loaded, if it waits in memory."""
        if not isinstance(value.what, Spilled):
            return value
        if value.what not in self.loaded:
            task = Task(Memory.LOAD, [self.number, None, None], array=spill_array(value.what.name),
                        line=node.lineno)
            token = self.loaded[value.what] = self._access(task, Scope({}))
            self.spans[token] = value.what.span
        return Value(self.loaded[value.what], value.kind)

    def spill(self, name: str, value: Value) -> Value:
        """Store a variable for later parts, after its load, which must have the old value."""
        self._access(Task(Memory.STORE, [self.number, value.token, None], array=spill_array(name),
                          line=self.kernel.tree.lineno), Scope({}))
        return Value(Spilled(name, span_of(self, value)), value.kind)

    def _and(self, predicate: Token | None, condition: Token, inverted: bool,
             node: Node) -> Token:
        if predicate is None and not inverted:
            return condition
        operands: list[Operand] = [condition]
        if predicate is not None:
            operands.append(predicate)
        return self.graph.add(Task(Control.JOIN, operands, inverted=(0,) if inverted else (),
                                   line=node.lineno))

    # -- memory ------------------------------------------------------------------------------------

    def load(self, target: ast.Subscript, scope: Scope, place: Place | None = None) -> Value:
        name, kind, index = place or self.place(target, scope)
        return Value(self._access(Task(Memory.LOAD, [index, None, None], array=name,
                                       line=target.lineno), scope), kind)

    def place(self, target: ast.Subscript, scope: Scope) -> Place:
        """Array, its kind, and the index."""
        if not isinstance(target.value, ast.Name) or \
                self.kernel.parameters.get(target.value.id) not in (Ints, Floats):
            raise self.fail(target, f"{ast.unparse(target.value)} is no array of the kernel")
        name = target.value.id
        index = self.expression(target.slice, scope)
        if index.kind not in ("int", "bool"):
            raise self.fail(target, f"an index must be an integer, not {index.kind}")
        if index.known and index.number < 0:
            raise self.fail(target, f"an index must be 0 or more, not {index.what}")
        return (name, "float" if self.kernel.parameters[name] is Floats else "int",
                operand(self, target, index, "int"))

    def _access(self, task: Task, scope: Scope) -> Token:
        """After all accesses of the array that it must not overtake, and under its condition."""
        store = task.function == Memory.STORE
        token = self.graph.add(task)
        older = [access for access in self.accesses.get(task.array, []) if access.store or store]
        needed = self._ancestors(token.task)
        if scope.predicate is not None:
            needed |= {scope.predicate.task} | self._ancestors(scope.predicate.task)
        terms: list[tuple[Token, bool]] = []  # and whether the opposite counts
        enabled = False
        implied: set[int] = set()
        for access in reversed(older):
            if access.task in needed or access.task in implied:
                continue
            implied |= {access.task} | self._ancestors(access.task)
            enable = Token(access.task, ENABLE)
            if access.predicate == scope.predicate:
                terms.append((enable, False))
                enabled = True
            elif access.store:
                terms.append((Token(access.task), True))  # a store's result is 0, done or not
            elif access.predicate is None:
                terms.append((enable, False))
            else:  # alive or poisoned, it is over
                terms.append((self.graph.add(Task(Control.LABEL, [enable, enable], inverted=(1,),
                                                  line=task.line)), False))
        if scope.predicate is not None and not enabled:
            terms.append((scope.predicate, False))
        task.operands[2] = self._join(terms, task.line)
        self.accesses.setdefault(task.array, []).append(
            _MemoryTask(token.task, scope.predicate, store))
        return token

    def _join(self, terms: list[tuple[Token, bool]], line: int) -> Token | None:
        """A tree of joins."""
        while len(terms) > 1 or (terms and terms[0][1]):
            some, terms = terms[:OPERANDS], terms[OPERANDS:]
            turned = tuple(k for k, (_, inverted) in enumerate(some) if inverted)
            terms.append((self.graph.add(Task(Control.JOIN, [token for token, _ in some],
                                              inverted=turned, line=line)), False))
        return terms[0][0] if terms else None

    def _ancestors(self, number: int) -> set[int]:
        ancestors, stack = set(), [number]
        while stack:
            for used in self.graph.tasks[stack.pop()].operands:
                if isinstance(used, Token) and used.task not in ancestors:
                    ancestors.add(used.task)
                    stack.append(used.task)
        return ancestors

    # -- expressions -------------------------------------------------------------------------------

    def condition(self, node: ast.expr, scope: Scope) -> Value:
        """A condition as the value 1 or 0."""
        if isinstance(node, ast.BoolOp):
            stops = isinstance(node.op, ast.Or)  # at the first that is true
            result = self.condition(node.values[0], scope)
            for value in node.values[1:]:
                if result.known:
                    if bool(result.what) == stops:
                        return result
                    result = self.condition(value, scope)
                    continue
                other = self.condition(value, self._under(result, stops, scope, value))
                result = emit(self, node, symbol(node.op), result, other)
            return result
        return self.truth(node, self.expression(node, scope))

    def truth(self, node: Node, value: Value) -> Value:
        """The truth value of a number as in Python: whether it is not 0."""
        if value.kind == "bool":
            return value
        if value.known:
            return constant(bool(value.what))
        return emit(self, node, "!=", value,
                    constant(0 if value.kind == "int" else np.float32(0)))

    def _under(self, condition: Value, inverted: bool, scope: Scope, node: ast.expr) -> Scope:
        """The scope of an expression that is only worked out under a condition: its loads are."""
        if condition.known or not any(isinstance(inner, ast.Subscript) for inner in ast.walk(node)):
            return scope
        return Scope(scope.names, self._and(scope.predicate, condition.token, inverted, node),
                     scope.guards, scope.partial)

    def expression(self, node: ast.expr, scope: Scope) -> Value:
        match node:
            case ast.Constant(value=bool() | int() as number):
                return constant(number)
            case ast.Constant(value=float() as number):
                try:
                    return constant(np.uint32(float_bits(number)).view(np.float32))
                except ValueError as error:
                    raise self.fail(node, str(error)) from None
            case ast.Name(id=name):
                value = scope.find(name)
                if value is not None:
                    return self.here(value, node)
                if name in self.kernel.constants:
                    given = self.constants[name]
                    return constant(np.float32(given) if self.kernel.parameters[name] is Float
                                    else int(given))
                if name in self.kernel.arrays:
                    raise self.fail(node, f"array {name} needs an index here")
                raise self.fail(node, f"{name.partition(HIDDEN)[0]} has no value here")
            case ast.Subscript():
                return self.load(node, scope)
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                return emit(self, node, "not", self.condition(inner, scope))
            case ast.UnaryOp(op=operator, operand=inner):
                return emit(self, node, symbol(operator), self.expression(inner, scope))
            case ast.BinOp(left=left, op=operator, right=right):
                return emit(self, node, symbol(operator), self.expression(left, scope),
                            self.expression(right, scope))
            case ast.Compare(left=left, ops=operators, comparators=others):
                return self._compare(node, left, operators, others, scope)
            case ast.BoolOp():
                return self._either(node, scope)
            case ast.IfExp(test=test, body=body, orelse=other):
                condition = self.condition(test, scope)
                if condition.known:
                    return self.expression(body if condition.what else other, scope)
                yes = self.expression(body, self._under(condition, False, scope, body))
                no = self.expression(other, self._under(condition, True, scope, other))
                kind = unify(yes, no)
                if kind is None:
                    raise self.fail(node, f"one branch is {yes.kind}, the other {no.kind}")
                return self.choose(condition, yes, no, kind, node)
            case ast.Call(func=ast.Name(id="bool"), args=[argument], keywords=[]):
                return self.condition(argument, scope)
            case ast.Call(func=ast.Name(id=name), args=arguments) if name.startswith(HIDDEN):
                name = name.removeprefix(HIDDEN)
                return (emit_range if name in RANGES else emit_c)(
                    self, node, name, *(self.expression(argument, scope) for argument in arguments))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if (
                    scope.find(name) is None):
                return emit(self, node, name,
                            *(self.expression(argument, scope) for argument in arguments))
            case _:
                raise self.fail(node, f"{construct(node)} cannot be mapped")

    def _compare(self, node: ast.Compare, left: ast.expr, operators: Sequence[ast.cmpop],
                 others: Sequence[ast.expr], scope: Scope) -> Value:
        """A chain of comparisons: each operand once, and no load after one that is false."""
        one, result = self.expression(left, scope), constant(True)
        for operator, other in zip(operators, others, strict=True):
            if result.known and not result.what:
                return result
            two = self.expression(other, self._under(result, False, scope, other))
            compared = emit(self, node, symbol(operator), one, two)
            if result.known:
                result = compared
            elif compared.known:
                result = result if compared.what else compared
            else:
                result = emit(self, node, "and", result, compared)
            one = two
        return result

    def _either(self, node: ast.BoolOp, scope: Scope) -> Value:
        """``and`` or ``or``: one of the operands, as Python has it."""
        stops = isinstance(node.op, ast.Or)  # at the first that is true
        result = self.expression(node.values[0], scope)
        for value in node.values[1:]:
            if result.known:
                if bool(result.what) == stops:
                    return result
                result = self.expression(value, scope)
                continue
            condition = self.truth(node, result)
            other = self.expression(value, self._under(condition, stops, scope, value))
            kind = unify(result, other)
            if kind is None:
                raise self.fail(node, f"{symbol(node.op)} of {result.kind} and {other.kind}")
            if kind == "bool":
                result = emit(self, node, symbol(node.op), result, other)
            else:
                both = (result, other) if stops else (other, result)
                result = self.choose(condition, *both, kind, node)
        return result


def construct(node: ast.AST) -> str:
    """What a message calls a construct of Python."""
    names = {ast.While: "while", ast.For: "for", ast.Return: "return", ast.With: "with",
             ast.FunctionDef: "def", ast.Try: "try", ast.Raise: "raise", ast.Assert: "assert",
             ast.Lambda: "lambda", ast.List: "a list", ast.Tuple: "a tuple", ast.Dict: "a dict",
             ast.ListComp: "a comprehension", ast.Attribute: "an attribute",
             ast.Constant: "a constant that is no number", ast.Import: "import",
             ast.ImportFrom: "import", ast.NamedExpr: "an assignment in an expression",
             ast.Delete: "del", ast.Break: "break", ast.Continue: "continue",
             ast.Slice: "a slice"}
    return names.get(type(node), f"'{ast.unparse(node)}'")


def symbol(operator: ast.AST) -> str:
    return {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//",
            ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<",
            ast.RShift: ">>", ast.Mod: "%", ast.Pow: "**", ast.Eq: "==", ast.NotEq: "!=",
            ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.USub: "neg",
            ast.UAdd: "pos", ast.Invert: "~",
            ast.And: "and", ast.Or: "or"}.get(type(operator), type(operator).__name__)
