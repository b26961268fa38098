"""From a kernel to its graph: expressions, predication, and the order of memory accesses.

Source: SGMF, sections 4.3 and 4.5 (enable tokens, joins, labels, poisoned control tokens).
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from cyclebound.golden.dataflow.control import Control
from cyclebound.golden.dataflow.expressions import Value, bits_of, constant, emit, unify
from cyclebound.golden.dataflow.graph import ENABLE, NUMBER, Graph, Memory, Task, Token
from cyclebound.golden.dataflow.kernel import Float, Floats, Ints, Kernel, KernelError
from cyclebound.golden.dataflow.operations import OPERANDS, Operation

__all__ = ["Compiler", "Scope", "check_constants", "compile_kernel",
           "finished", "spill_array"]


def spill_array(name: str) -> str:
    """The array in which a variable waits, an element for each thread."""
    return f"${name}"


@dataclass
class _Access:
    task: int
    predicate: Token | None
    store: bool


@dataclass
class Scope:
    """What is known at a place of the kernel: variables, and the condition of being there."""

    names: dict[str, Value]
    predicate: Token | None = None


@dataclass
class Compiler:
    """One graph under way."""

    kernel: Kernel
    constants: Mapping[str, float]
    graph: Graph = field(default_factory=Graph)
    accesses: dict[str, list[_Access]] = field(default_factory=dict)
    loops: Mapping[str, int] = field(default_factory=dict)    # variables of loops around
    spilled: Mapping[str, str] = field(default_factory=dict)  # by name: the kind of a variable

    def fail(self, node: ast.AST, what: str) -> KernelError:
        return KernelError(self.kernel.name, node.lineno, what)

    # -- statements --------------------------------------------------------------------------------

    def body(self, statements: list[ast.stmt], scope: Scope) -> None:
        for statement in statements:
            self.statement(statement, scope)

    def statement(self, node: ast.stmt, scope: Scope) -> None:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._may_assign(node, name)
                scope.names[name] = self.expression(value, scope)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=operator, value=value):
                self._may_assign(node, name)
                load = ast.copy_location(ast.Name(name, ast.Load()), target)
                scope.names[name] = self.expression(
                    ast.copy_location(ast.BinOp(load, operator, value), node), scope)
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                self.store(target, self.expression(value, scope), scope)
            case ast.AugAssign(target=ast.Subscript() as target, op=operator, value=value):
                load = ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()),
                                         target)
                both = ast.copy_location(ast.BinOp(load, operator, value), node)
                self.store(target, self.expression(both, scope), scope)
            case ast.If():
                self.branch(node, scope)
            case ast.Pass() | ast.Expr(value=ast.Constant(value=str())):
                pass
            case ast.Return(value=None) if node is self.kernel.tree.body[-1]:
                pass
            case _:
                raise self.fail(node, f"{_name(node)} cannot be mapped")

    def _may_assign(self, node: ast.stmt, name: str) -> None:
        if name in self.kernel.parameters or name == self.kernel.thread:
            raise self.fail(node, f"parameter {name} cannot be assigned to")

    def branch(self, node: ast.If, scope: Scope) -> None:
        """Both ways, each under its condition; variables that differ afterwards are chosen."""
        condition = self.condition(node.test, scope)
        if isinstance(condition.what, int):  # known now: one way only
            self.body(node.body if condition.what else node.orelse, scope)
            return
        ways = []
        for statements, inverted in ((node.body, False), (node.orelse, True)):
            way = Scope(dict(scope.names), None)
            if statements:
                way.predicate = self._and(scope.predicate, condition.what, inverted, node)
                self.body(statements, way)
            ways.append(way.names)
        for name in ways[0].keys() & ways[1].keys():
            yes, no = ways[0][name], ways[1][name]
            if yes != no:
                kind = unify(yes, no)
                if kind is None:
                    raise self.fail(node, f"{name} is {yes.kind} one way and {no.kind} the other")
                scope.names[name] = self.choose(condition, yes, no, kind, node)

    def choose(self, condition: Value, yes: Value, no: Value, kind: str, node: ast.AST) -> Value:
        operands = [condition.what, bits_of(yes, kind), bits_of(no, kind)]
        task = Task(Operation.SELECT, operands, line=node.lineno)
        return Value(self.graph.add(task), kind)

    def _and(self, predicate: Token | None, condition: Token, inverted: bool,
             node: ast.AST) -> Token:
        if predicate is None and not inverted:
            return condition
        operands, turned = [condition], (0,) if inverted else ()
        if predicate is not None:
            operands.append(predicate)
        return self.graph.add(Task(Control.JOIN, operands, inverted=turned, line=node.lineno))

    # -- memory ------------------------------------------------------------------------------------

    def store(self, target: ast.Subscript, value: Value, scope: Scope) -> None:
        name, kind, index = self._place(target, scope)
        if unify(value, Value(0, kind)) not in (kind, "bool"):
            raise self.fail(target, f"{value.kind} cannot be stored in {name}, an array of {kind}")
        self._access(Task(Memory.STORE, [index, bits_of(value, kind), None], array=name,
                          line=target.lineno), scope)

    def load(self, target: ast.Subscript, scope: Scope) -> Value:
        name, kind, index = self._place(target, scope)
        return Value(self._access(Task(Memory.LOAD, [index, None, None], array=name,
                                       line=target.lineno), scope), kind)

    def _place(self, target: ast.Subscript, scope: Scope):
        if not isinstance(target.value, ast.Name) or \
                self.kernel.parameters.get(target.value.id) not in (Ints, Floats):
            raise self.fail(target, f"{ast.unparse(target.value)} is no array of the kernel")
        name = target.value.id
        index = self.expression(target.slice, scope)
        if index.kind not in ("int", "bool"):
            raise self.fail(target, f"an index must be an integer, not {index.kind}")
        return (name, "float" if self.kernel.parameters[name] is Floats else "int",
                bits_of(index, "int"))

    def _access(self, task: Task, scope: Scope) -> Token:
        """Behind all accesses of the array that it must not overtake, and under its condition."""
        store = task.function == Memory.STORE
        token = self.graph.add(task)
        older = [each for each in self.accesses.get(task.array, []) if each.store or store]
        needed = self._ancestors(token.task)
        if scope.predicate is not None:
            needed |= {scope.predicate.task} | self._ancestors(scope.predicate.task)
        terms: list[tuple[Token, bool]] = []  # and whether the opposite counts
        enabled = scope.predicate is None
        implied: set[int] = set()
        for each in reversed(older):
            if each.task in needed or each.task in implied:
                continue
            implied |= {each.task} | self._ancestors(each.task)
            enable = Token(each.task, ENABLE)
            if each.predicate == scope.predicate:
                terms.append((enable, False))
                enabled = True
            elif each.store:
                terms.append((Token(each.task), True))  # a store's result is 0, done or not
            elif each.predicate is None:
                terms.append((enable, False))
            else:  # alive or poisoned, it is over
                terms.append((self.graph.add(Task(Control.LABEL, [enable, enable], inverted=(1,),
                                                  line=task.line)), False))
        if not enabled:
            terms.append((scope.predicate, False))
        task.operands[2] = self._join(terms, task.line)
        self.accesses.setdefault(task.array, []).append(
            _Access(token.task, scope.predicate, store))
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
        found, stack = set(), [number]
        while stack:
            for operand in self.graph.tasks[stack.pop()].operands:
                if isinstance(operand, Token) and operand.task not in found:
                    found.add(operand.task)
                    stack.append(operand.task)
        return found

    # -- expressions -------------------------------------------------------------------------------

    def condition(self, node: ast.expr, scope: Scope) -> Value:
        """As 1 or 0."""
        value = self.expression(node, scope)
        if value.kind == "bool":
            return value
        zero = constant(0 if value.kind == "int" else 0.0)
        return emit(self, node, "!=", value, zero)

    def expression(self, node: ast.expr, scope: Scope) -> Value:
        match node:
            case ast.Constant(value=bool() | int() | float() as number):
                return constant(number)
            case ast.Name(id=name) if name in scope.names:
                return scope.names[name]
            case ast.Name(id=name) if name in self.kernel.constants:
                number = self.constants[name]
                return constant(float(number) if self.kernel.parameters[name] is Float
                                else int(number))
            case ast.Name(id=name) if name in self.loops:
                return constant(self.loops[name])
            case ast.Name(id=name) if name in self.spilled:  # from an earlier part, by memory
                task = Task(Memory.LOAD, [scope.names[self.kernel.thread].what, None, None],
                            array=spill_array(name), line=node.lineno)
                scope.names[name] = Value(self._access(task, Scope({})), self.spilled[name])
                return scope.names[name]
            case ast.Name(id=name):
                raise self.fail(node, f"{name} has no value here")
            case ast.Subscript():
                return self.load(node, scope)
            case ast.UnaryOp(op=operator, operand=inner):
                if isinstance(operator, ast.Not):
                    return emit(self, node, "not", self.condition(inner, scope))
                return emit(self, node, _symbol(operator), self.expression(inner, scope))
            case ast.BinOp(left=left, op=operator, right=right):
                return emit(self, node, _symbol(operator), self.expression(left, scope),
                            self.expression(right, scope))
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                return emit(self, node, _symbol(operator), self.expression(left, scope),
                            self.expression(right, scope))
            case ast.BoolOp(op=operator, values=values):
                if any(isinstance(each, ast.Subscript) for value in values[1:]
                       for each in ast.walk(value)):
                    raise self.fail(node, "a load that is only made if what stands before it says "
                                    "so cannot be mapped; write an if")
                result = self.condition(values[0], scope)
                for value in values[1:]:
                    result = emit(self, node, _symbol(operator), result,
                                  self.condition(value, scope))
                return result
            case ast.IfExp(test=test, body=body, orelse=other):
                condition = self.condition(test, scope)
                yes, no = self.expression(body, scope), self.expression(other, scope)
                kind = unify(yes, no)
                if kind is None:
                    raise self.fail(node, f"one way is {yes.kind}, the other {no.kind}")
                return self.choose(condition, yes, no, kind, node)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return emit(self, node, name,
                            *(self.expression(each, scope) for each in arguments))
            case _:
                raise self.fail(node, f"{_name(node)} cannot be mapped")


def _name(node: ast.AST) -> str:
    """A construct as a person calls it."""
    names = {ast.While: "while", ast.For: "for", ast.Return: "return", ast.With: "with",
             ast.FunctionDef: "def", ast.Try: "try", ast.Raise: "raise", ast.Assert: "assert",
             ast.Lambda: "lambda", ast.List: "a list", ast.Tuple: "a tuple", ast.Dict: "a dict",
             ast.ListComp: "a comprehension", ast.Attribute: "an attribute",
             ast.Constant: "a constant that is no number", ast.Import: "import",
             ast.Delete: "del", ast.Break: "break", ast.Continue: "continue",
             ast.Compare: "a chain of comparisons", ast.Slice: "a slice"}
    return names.get(type(node), f"'{ast.unparse(node)}'")


def _symbol(operator: ast.AST) -> str:
    return {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//",
            ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<",
            ast.RShift: ">>", ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=",
            ast.Gt: ">", ast.GtE: ">=", ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "~",
            ast.And: "and", ast.Or: "or"}.get(type(operator), type(operator).__name__)


def compile_kernel(kernel: Kernel, **constants: float) -> Graph:
    """The kernel's graph.

    Parameters
    ----------
    kernel : Kernel
        What to compile.
    **constants
        A value for each of its constants.

    Raises `KernelError` for what cannot be mapped, `TypeError` for constants that are missing or
    unknown.
    """
    check_constants(kernel, constants)
    compiler = Compiler(kernel, constants)
    number = compiler.graph.add(Task(NUMBER, line=1))
    compiler.body(kernel.tree.body, Scope({kernel.thread: Value(number, "int")}))
    graph = finished(compiler.graph)
    if not graph.ends:
        raise KernelError(kernel.name, 1, "there is no store")
    return graph


def check_constants(kernel: Kernel, constants: Mapping[str, float]) -> None:
    """Raise `TypeError` unless every constant of the kernel has a value, and nothing else."""
    for name in kernel.constants:
        if name not in constants:
            raise TypeError(f"kernel {kernel.name} needs a value for {name}")
    unknown = sorted(set(constants) - set(kernel.constants))
    if unknown:
        raise TypeError(f"kernel {kernel.name} has no constant {unknown[0]}")


def finished(graph: Graph) -> Graph:
    """What is needed of a graph, in order; a thread ends with the stores that nobody waits for."""
    graph = graph.pruned().ordered()
    followed = {token.task for token in graph.consumers()}
    graph.ends = [Token(number) for number, task in graph.tasks.items()
                  if task.function == Memory.STORE and number not in followed]
    return graph
