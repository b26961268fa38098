"""From a kernel to its graph: expressions, predication, and the order of memory accesses.

Source: SGMF, sections 4.3 and 4.5 (enable tokens, joins, labels, poisoned control tokens).
"""

import ast
from collections.abc import Mapping

import numpy as np

from cyclebound.golden.dataflow.graph import Graph, Memory, Task, Token
from cyclebound.golden.dataflow.kernel import FUNCTIONS, LOOP, Float, Kernel
from cyclebound.tools.dataflow.exits import EXCEEDED, HIDDEN, RETURNED, without_exits
from cyclebound.tools.dataflow.expressions import emit
from cyclebound.tools.dataflow.operands import Value, constant, float_bits, operand, unify
from cyclebound.tools.dataflow.values import Partly, Place, Scope, Valuer, construct, symbol

__all__ = ["Compiler", "check_constants", "compile_kernel", "finished"]


class Compiler(Valuer):
    """One graph under way, from statements."""

    # -- statements --------------------------------------------------------------------------------

    def body(self, statements: list[ast.stmt], scope: Scope) -> None:
        for statement in statements:
            self.statement(statement, scope)

    def statement(self, node: ast.stmt, scope: Scope) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                if isinstance(value, (ast.Tuple, ast.List)) and len(targets) == 1 and isinstance(
                        targets[0], (ast.Tuple, ast.List)):
                    self._assign_many(targets[0].elts, value.elts, node, scope)
                    return
                assigned = self.expression(value, scope)
                for target in targets:
                    self._assign(target, assigned, node, scope)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=operator, value=value):
                load = ast.copy_location(ast.Name(name, ast.Load()), target)
                self._assign(target, self.expression(
                    ast.copy_location(ast.BinOp(load, operator, value), node), scope), node, scope)
            case ast.AugAssign(target=ast.Subscript() as target, op=operator, value=value):
                place = self.place(target, scope)  # once, as in Python
                both = (self.load(target, scope, place), self.expression(value, scope))
                self.store(target, emit(self, node, symbol(operator), *both), scope, place)
            case ast.If():
                self.branch(node, scope)
            case ast.Pass() | ast.Expr(value=ast.Constant(value=str())):
                pass
            case ast.Expr(value=ast.Call(func=ast.Name(id=name), args=[most])) if name == EXCEEDED:
                number = self.expression(most, scope).number
                array = f"{LOOP}{node.lineno}.{node.col_offset + 1}.{number}"
                self._access(Task(Memory.STORE, [self.number, self.number, None], array=array,
                                  line=node.lineno), scope)
            case ast.Return(value=ast.expr()):
                raise self.fail(node, "return of a value cannot be mapped")
            case _:
                raise self.fail(node, f"{construct(node)} cannot be mapped")

    def _assign_many(self, targets: list[ast.expr], values: list[ast.expr], node: ast.stmt,
                     scope: Scope) -> None:
        if len(targets) != len(values) or any(isinstance(part, ast.Starred)
                                              for part in (*targets, *values)):
            raise self.fail(node, f"'{ast.unparse(node)}' cannot be mapped")
        assigned = [self.expression(value, scope) for value in values]
        for target, value in zip(targets, assigned, strict=True):
            self._assign(target, value, node, scope)

    def _assign(self, target: ast.expr, value: Value, node: ast.stmt, scope: Scope) -> None:
        match target:
            case ast.Name(id=name):
                if name in self.kernel.parameters or name == self.kernel.thread:
                    raise self.fail(node, f"parameter {name} cannot be assigned to")
                if name in FUNCTIONS:
                    raise self.fail(node, f"{name} cannot be assigned to, for it is a function of "
                                    "the language")
                scope.assign(name, value)
            case ast.Subscript():
                self.store(target, value, scope)
            case _:
                raise self.fail(node, f"'{ast.unparse(node)}' cannot be mapped")

    def store(self, target: ast.Subscript, value: Value, scope: Scope,
              place: Place | None = None) -> None:
        name, kind, index = place or self.place(target, scope)
        if unify(value, Value(0, kind)) not in (kind, "bool"):
            raise self.fail(target, f"{value.kind} cannot be stored in {name}, an array of {kind}")
        bits = operand(self, target, value, kind, wide=True)
        self._access(Task(Memory.STORE, [index, bits, None], array=name,
                          line=target.lineno), scope)

    def branch(self, node: ast.If, scope: Scope) -> None:
        """Both branches, each under its condition; variables that differ afterwards are chosen."""
        condition = self.condition(node.test, scope)
        if condition.known:  # one branch only
            self.body(node.body if condition.what else node.orelse, scope)
            return
        if isinstance(node.test, ast.Name) and node.test.id == RETURNED:
            branch = scope.inside()
            branch.predicate = self._and(scope.predicate, condition.token, True, node)
            self.body(node.orelse, branch)
            returned = branch.names[RETURNED]
            if returned.what != 1 and returned != scope.names[RETURNED]:
                returned = self.choose(condition, constant(True), returned, "bool", node)
            # a thread that has returned uses no variable any more
            scope.names, scope.partial = {**branch.names, RETURNED: returned}, branch.partial
            scope.guards = branch.guards
            return
        hidden = (node.test.id if isinstance(node.test, ast.Name)
                  and node.test.id.startswith(HIDDEN) else None)
        branches = []
        for statements, inverted in ((node.body, False), (node.orelse, True)):
            branch = scope.inside(*([(hidden, not inverted)] if hidden else []))
            if statements:
                branch.predicate = self._and(scope.predicate, condition.token, inverted, node)
                self.body(statements, branch)
            branches.append(branch)
        self._merge(condition, branches, scope, node, hidden)

    def _merge(self, condition: Value, branches: list[Scope], scope: Scope, node: ast.If,
               hidden: str | None) -> None:
        names = dict.fromkeys(name for branch in branches
                              for name in (*branch.names, *branch.partial))
        partial: dict[str, tuple[Partly, ...]] = {}

        def under(branch: Scope) -> tuple[Partly, ...]:
            """A variable's values at the end of a branch, under its hidden condition."""
            entries = branch.partial.get(name, ())
            if name in branch.names:
                entries = *entries, (scope.guards, branch.names[name])
            return tuple((guards | {(hidden, branch is branches[0])}, value)
                         for guards, value in entries) if hidden else ()

        for name in names:
            changed = [branch for branch in branches if
                       (branch.names.get(name), branch.partial.get(name))
                       != (scope.names.get(name), scope.partial.get(name))]
            yes, no = (branch.find(name) for branch in branches)
            entries: tuple[Partly, ...] = ()
            if not changed:
                entries = scope.partial.get(name, ())
            elif yes is not None and no is not None:
                if yes != no:
                    kind = unify(yes, no)
                    if kind is None:
                        raise self.fail(node, f"{name} is {yes.kind} in one branch and "
                                        f"{no.kind} in the other")
                    yes = self.choose(condition, yes, no, kind, node)
                scope.names[name] = yes
                if not yes.known:
                    entries = tuple(entry for branch in changed for entry in under(branch)
                                    if entry[1].known)
            elif yes is not None or no is not None:
                entries = under(branches[yes is None])
            else:
                entries = under(changed[0])
            if entries:
                partial[name] = entries
        scope.partial = partial
        scope.guards = scope.guards & branches[0].guards & branches[1].guards


def compile_kernel(kernel: Kernel, /, **constants: float) -> Graph:
    """The graph of a kernel without loops.

    Parameters
    ----------
    kernel : Kernel
        What to compile.
    **constants
        A value for each of its constants.

    Raises `KernelError` for what cannot be mapped, `TypeError` for constants that are missing or
    unknown, `ValueError` for one that is none.
    """
    compiler = Compiler(kernel, check_constants(kernel, constants))
    compiler.body(without_exits(kernel.tree.body),
                  Scope({kernel.thread: Value(compiler.number, "int")}))
    graph = finished(compiler.graph)
    if not graph.ends:
        raise kernel.error(kernel.tree.lineno, "there is no store")
    return graph


def check_constants(kernel: Kernel, constants: Mapping[str, float]) -> dict[str, int | np.float32]:
    """The constants, as numbers of their kinds.

    Raises `TypeError` unless every constant of the kernel has a value, and nothing else, and
    `ValueError` for a value that is not of its kind.
    """
    for name in kernel.constants:
        if name not in constants:
            raise TypeError(f"kernel {kernel.name} needs a value for {name}")
    unknown = sorted(set(constants) - set(kernel.constants))
    if unknown:
        raise TypeError(f"kernel {kernel.name} has no constant {unknown[0]}")
    checked: dict[str, int | np.float32] = {}
    for name in kernel.constants:
        value = constants[name]
        floating = kernel.parameters[name] is Float
        try:
            if isinstance(value, str):
                raise ValueError
            if floating:
                float_bits(value if isinstance(value, int) else float(value))
                checked[name] = np.float32(value)
            else:
                checked[name] = int(value)
                if checked[name] != value:
                    raise ValueError
        except (TypeError, ValueError, OverflowError):
            what = "a number in single precision" if floating else "an integer"
            raise ValueError(f"kernel {kernel.name}: {name} must be {what}, not "
                             f"{value!r}") from None
    return checked


def finished(graph: Graph) -> Graph:
    """Prune and order a graph; a thread ends with the stores that no other task waits for."""
    graph = graph.pruned().ordered()
    followed = {token.task for token in graph.consumers()}
    graph.ends = [Token(number) for number, task in graph.tasks.items()
                  if task.function == Memory.STORE and number not in followed]
    return graph
