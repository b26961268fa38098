"""Kernels with loops: split into parts that all threads run one after the other.

Source: SGMF, section 4.6. What precedes a loop is a kernel, each iteration of the loop is one, and
what follows it is one; variables wait in memory in between, an element for each thread. The
iterations differ in a constant only, so that the grid keeps its places and ways.
"""

import ast
from collections.abc import Iterator, Mapping

from cyclebound.golden.dataflow.compile import (
    Compiler,
    Scope,
    check_constants,
    finished,
    spill_array,
)
from cyclebound.golden.dataflow.expressions import Value, bits_of
from cyclebound.golden.dataflow.graph import NUMBER, Graph, Memory, Task, Token
from cyclebound.golden.dataflow.kernel import Kernel, KernelError

__all__ = ["compile_segments"]

Chunk = tuple[list[ast.stmt], Mapping[str, int]]


def _chunks(kernel: Kernel, statements: list[ast.stmt], loops: Mapping[str, int],
            constants: Mapping[str, float]) -> Iterator[Chunk]:
    """Statements between loops, with the values of the loops around them."""
    plain: list[ast.stmt] = []
    for statement in statements:
        if not isinstance(statement, ast.For):
            plain.append(statement)
            continue
        if plain:
            yield plain, loops
            plain = []
        if not isinstance(statement.target, ast.Name) or statement.orelse:
            raise KernelError(kernel.name, statement.lineno, "a for with else, or with more than "
                              "one variable, cannot be mapped")
        for value in _range(kernel, statement.iter, {**constants, **loops}):
            yield from _chunks(kernel, statement.body, {**loops, statement.target.id: value},
                               constants)
    if plain:
        yield plain, loops


def _range(kernel: Kernel, node: ast.expr, known: Mapping[str, float]) -> range:
    """The values of a loop's variable, which must be known when the kernel is mapped."""
    match node:
        case ast.Call(func=ast.Name(id="range"), args=arguments, keywords=[]) if arguments:
            names = {each.id for argument in arguments for each in ast.walk(argument)
                     if isinstance(each, ast.Name)}
            if names <= known.keys() and not any(
                    isinstance(each, (ast.Call, ast.Attribute, ast.Subscript))
                    for argument in arguments for each in ast.walk(argument)):
                code = compile(ast.Expression(ast.Tuple(arguments, ast.Load(), lineno=1,
                                                        col_offset=0)), kernel.name, "eval")
                return range(*(int(each) for each in eval(code, {}, dict(known))))
    raise KernelError(kernel.name, node.lineno, f"a loop over {ast.unparse(node)} cannot be "
                      "mapped: its bounds must be a range of constants")


def _read(statements: list[ast.stmt]) -> set[str]:
    return {node.id for statement in statements for node in ast.walk(statement)
            if isinstance(node, ast.Name) and (isinstance(node.ctx, ast.Load))} | {
        node.target.id for statement in statements for node in ast.walk(statement)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)}


def compile_segments(kernel: Kernel, **constants: float) -> list[Graph]:
    """The kernel's graphs, to be run one after the other; a single one if there is no loop.

    Arrays whose names begin with ``$`` hold variables, an element for each thread. Raises
    `KernelError`, and `TypeError` for constants.
    """
    check_constants(kernel, constants)
    chunks = list(_chunks(kernel, kernel.tree.body, {}, constants))
    known: dict[str, Value] = {}   # variables that are constants so far
    spilled: dict[str, str] = {}   # those in memory, and of what kind
    graphs = []
    for place, (statements, loops) in enumerate(chunks):
        compiler = Compiler(kernel, constants, loops=loops, spilled=spilled)
        number = compiler.graph.add(Task(NUMBER, line=1))
        scope = Scope({**known, kernel.thread: Value(number, "int")})
        before = dict(scope.names)
        compiler.body(statements, scope)
        later = set().union(*(_read(each) for each, _ in chunks[place + 1:]))
        for name, value in scope.names.items():
            loaded = isinstance(value.what, Token) and (
                compiler.graph.tasks[value.what.task].array == spill_array(name))
            if name == kernel.thread or before.get(name) == value or loaded:
                continue
            if not isinstance(value.what, Token):
                known[name] = value
                spilled.pop(name, None)
                continue
            known.pop(name, None)
            spilled[name] = value.kind
            if name in later:
                compiler.graph.add(Task(Memory.STORE, [number, bits_of(value, value.kind), None],
                                        array=spill_array(name)))
        graphs.append(finished(compiler.graph))
    graphs = [graph for graph in graphs if graph.ends]
    if not graphs:
        raise KernelError(kernel.name, 1, "there is no store")
    return graphs
