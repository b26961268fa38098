"""Kernels with loops: split into parts that all threads run one after the other.

Source: SGMF, section 4.6. What precedes a loop is a kernel, each iteration of the loop is one, and
what follows it is one; variables wait in memory in between, an element for each thread. The
iterations differ in a constant only, so that the grid keeps its places and paths.

A loop under an ``if`` is split likewise: the condition waits in memory, too, and each part is under
it. The store of a variable waits for its load in the same part, by an enable token: it is the old
value that the part has to see.
"""

import ast

import numpy as np

from cyclebound.golden.dataflow.graph import Graph, Memory, Token
from cyclebound.golden.dataflow.kernel import Kernel
from cyclebound.tools.dataflow.compile import Compiler, check_constants, finished
from cyclebound.tools.dataflow.exits import (
    HIDDEN,
    RETURNED,
    ForLoop,
    WhileLoop,
    without_exits,
)
from cyclebound.tools.dataflow.operands import Value, constant
from cyclebound.tools.dataflow.values import Guard, Scope

__all__ = ["MOST_PARTS", "compile_segments"]

MOST_PARTS = 4096  # graphs of a kernel


def _loops(node: ast.AST) -> bool:
    return any(isinstance(inner, (ast.For, ast.While)) for inner in ast.walk(node))


class _Segments:
    """A kernel's graphs under way; ``scope`` is what is known between them."""

    def __init__(self, kernel: Kernel, constants: dict[str, int | np.float32]) -> None:
        self.kernel, self.constants = kernel, constants
        self.graphs: list[Graph] = []
        self.turns = 0  # of loops with a condition
        self.pending: list[tuple[tuple[Guard, ...], list[ast.stmt]]] = []
        self.hidden: dict[int, str] = {}  # by node: the variable of its condition
        # the thread's number is the first task of each graph
        self.scope = Scope({kernel.thread: Value(Compiler(kernel, constants).number, "int")})

    def walk(self, statements: list[ast.stmt], guards: tuple[Guard, ...] = ()) -> None:
        for node in statements:
            if isinstance(node, ForLoop):
                self.loop(node, guards)
            elif isinstance(node, WhileLoop):
                self.repeat(node, guards)
            elif isinstance(node, ast.If) and _loops(node):
                self.split(node, guards)
            elif self.pending and self.pending[-1][0] == guards:
                self.pending[-1][1].append(node)
            else:
                self.pending.append((guards, [node]))

    def split(self, node: ast.If, guards: tuple[Guard, ...]) -> None:
        """A condition that waits in memory, and both branches under it."""
        test = node.test
        if isinstance(test, ast.Name) and test.id.startswith(HIDDEN):
            name = test.id
        else:
            name = self.hidden.setdefault(id(node), f"{HIDDEN}{len(self.hidden)}")
            truth = ast.Call(ast.Name("bool", ast.Load()), [test], [])
            assign = ast.Assign([ast.Name(name, ast.Store())], truth)
            self.walk([ast.fix_missing_locations(ast.copy_location(assign, node))], guards)
        self.walk(node.body, (*guards, (name, True)))
        self.walk(node.orelse, (*guards, (name, False)))

    def never(self, guards: tuple[Guard, ...]) -> bool:
        """Whether it is known that no thread comes to a place under these conditions."""
        values = [(self.scope.inside(*(guard for guard in guards if guard[0] != name)).find(name),
                   wanted) for name, wanted in (*guards, (RETURNED, False))]
        return any(value is not None and value.known and bool(value.what) != wanted
                   for value, wanted in values)

    def begin(self, guards: tuple[Guard, ...], *flags: str) -> tuple[Guard, ...]:
        """No thread has left a loop, or an iteration; of those elsewhere, none asks. Returns the
        conditions of being inside."""
        for flag in flags:
            self.scope.assign(flag, constant(False))
        return *guards, *((flag, False) for flag in flags)

    def repeat(self, node: WhileLoop, guards: tuple[Guard, ...]) -> None:
        """A loop whose condition is known, each time, when the kernel is mapped."""
        self.flush()
        guards = self.begin(guards, *node.left)
        while not self.never(guards):
            compiler = Compiler(self.kernel, self.constants)
            condition = compiler.condition(node.test, self.scope.inside(*guards))
            if not condition.known:
                raise self.kernel.error_at(node, "a loop cannot be mapped unless its condition is "
                                           "known when the kernel is mapped, or the most "
                                           "iterations are stated: "
                                           + ("#pragma loopbound max 32" if self.kernel.columns
                                              else "while bounded(x > 1, 32)"))
            if not condition.what:
                return
            self.turns += 1
            if self.turns > MOST_PARTS or len(self.graphs) >= MOST_PARTS:
                raise self.kernel.error_at(node, f"a kernel must have {MOST_PARTS} iterations at "
                                           "most")
            self.begin((), *node.continued)
            self.walk(node.body, guards)
            self.flush()

    def loop(self, node: ForLoop, guards: tuple[Guard, ...]) -> None:
        self.flush()
        if self.never(guards):
            return
        if not isinstance(node.target, ast.Name):
            raise self.kernel.error(node.lineno, "a for with more than one variable cannot be "
                                    "mapped")
        numbers = self.range(node, guards)
        if len(self.graphs) + len(numbers) > MOST_PARTS:
            raise self.kernel.error(node.lineno, f"a kernel must have {MOST_PARTS} iterations at "
                                    "most")
        guards = self.begin(guards, *node.left)
        for number in numbers:
            if self.never(guards):
                return
            self.begin((), *node.continued)
            begin = ast.Assign([ast.Name(node.target.id, ast.Store())], ast.Constant(number))
            self.walk([ast.fix_missing_locations(ast.copy_location(begin, node)), *node.body],
                      guards)
            self.flush()

    def range(self, node: ForLoop, guards: tuple[Guard, ...]) -> range:
        """The values of a loop's variable, which must be known when the kernel is mapped."""
        if node.most is not None:
            most = Compiler(self.kernel, self.constants).expression(node.most,
                                                                    self.scope.inside(*guards))
            if not most.known or most.kind == "float" or not 0 < most.number <= MOST_PARTS:
                raise self.kernel.error_at(node, "the bound of a loop must be a constant integer "
                                           f"from 1 to {MOST_PARTS}" + (
                                               f", not {most.what}" if most.known else ""))
            return range(int(most.number))
        problem = (f"a loop over {ast.unparse(node.iter)} cannot be mapped: its bounds must be a "
                   "range of constants, or the most iterations stated: bounded(range(x), 32)")
        match node.iter:
            case ast.Call(func=ast.Name(id="range"), args=[_, *_] as arguments, keywords=[]) if (
                    len(arguments) <= 3):
                here = self.scope.inside(*guards)
                compiler = Compiler(self.kernel, self.constants)
                values = [compiler.expression(argument, here) for argument in arguments]
                if all(value.known and value.kind != "float" for value in values):
                    try:
                        return range(*(int(value.number) for value in values))
                    except ValueError as error:
                        raise self.kernel.error(node.lineno, str(error)) from None
        raise self.kernel.error(node.lineno, problem)

    def flush(self) -> None:
        """Make a graph of the statements so far; variables that it changes wait in memory."""
        if not self.pending:
            return
        compiler, scope = Compiler(self.kernel, self.constants), self.scope
        for guards, statements in self.pending:
            for name, wanted in reversed(guards):
                test = ast.copy_location(ast.Name(name, ast.Load()), statements[0])
                statements = [ast.copy_location(ast.If(test, *(
                    (statements, []) if wanted else ([], statements))), statements[0])]
            compiler.body(statements, scope)
        self.pending = []

        def kept(name: str, value: Value) -> Value:
            if not isinstance(value.what, Token) or value.what == compiler.number:
                return value
            return compiler.spill(name, value)

        scope.names = {name: kept(name, value) for name, value in scope.names.items()}
        scope.partial = {name: tuple((guards, kept(name, value)) for guards, value in entries)
                         for name, entries in scope.partial.items()}
        self.graphs.append(compiler.graph)


def _needed(graphs: list[Graph]) -> list[Graph]:
    """Without variables that are not loaded any more."""
    needed: list[Graph] = []
    loaded: set[str] = set()
    for graph in reversed(graphs):
        tasks = {number: task for number, task in graph.tasks.items()
                 if not (task.function == Memory.STORE and task.array.startswith("$")
                         and task.array not in loaded)}
        graph = finished(Graph(tasks))
        if graph.ends:
            used = {function: {task.array for task in graph.tasks.values()
                               if task.function == function and task.array.startswith("$")}
                    for function in Memory}
            loaded = loaded - used[Memory.STORE] | used[Memory.LOAD]
            needed.append(graph)
    return needed[::-1]


def compile_segments(kernel: Kernel, /, **constants: float) -> list[Graph]:
    """The kernel's graphs, to be run one after the other; a single one if there is no loop.

    Arrays whose names begin with ``$`` hold variables, an element for each thread. Raises
    `KernelError`, and `TypeError` or `ValueError` for constants.
    """
    segments = _Segments(kernel, check_constants(kernel, constants))
    segments.walk(without_exits(kernel.tree.body))
    segments.flush()
    graphs = _needed(segments.graphs)
    if not graphs:
        raise kernel.error(kernel.tree.lineno, "there is no store")
    return graphs
