"""Early exits of a kernel: hidden flags say whether the thread has returned, or left its loop.

Source: SGMF, section 4.3: what a condition leaves out is poisoned, and never skipped. So a loop
takes as many iterations as it may at most; a thread that has left it does nothing in the others.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["HIDDEN", "RETURNED", "ForLoop", "WhileLoop", "without_exits"]

HIDDEN = "?"            # begins the names of variables and functions that no kernel can have
RETURNED = "?returned"  # whether the thread has returned


class ForLoop(ast.For):
    """A loop over a range; ``broken`` and ``continued``: its flags, where it has such exits."""

    broken = continued = ""


class WhileLoop(ast.While):
    """A loop with a condition, and what follows each iteration, also after a ``continue``."""

    broken = continued = ""
    step: list[ast.stmt] = []


def without_exits(statements: list[ast.stmt]) -> list[ast.stmt]:
    """These statements with flags in the place of ``return``, ``break`` and ``continue``, and what
    follows one of them under the condition that its flag is not set."""
    made = _Exits().block(statements)
    if any(isinstance(exit_, ast.Return) for node in statements for exit_ in _exits(node)):
        first = ast.copy_location(_set(RETURNED, False), statements[0])
        return [ast.fix_missing_locations(first), *made]
    return made


def _exits(node: ast.AST, here: bool = True) -> Iterator[ast.stmt]:
    """The exits in a statement that leave what is around it; ``here``: not in a loop inside."""
    if isinstance(node, ast.Return) or (here and isinstance(node, (ast.Break, ast.Continue))):
        yield node
    body = node.body if isinstance(node, (ast.For, ast.While)) else []
    for inner in ast.iter_child_nodes(node):
        yield from _exits(inner, here and inner not in body)


def _set(flag: str, value: bool) -> ast.stmt:
    return ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(value))


def _unless(flag: str, statements: list[ast.stmt]) -> list[ast.stmt]:
    if not statements or not flag:
        return statements
    test = ast.copy_location(ast.Name(flag, ast.Load()), statements[0])
    return [ast.copy_location(ast.If(test, [], statements), statements[0])]


@dataclass
class _Exits:
    """A function's statements under way, and the flags of the loop around them."""

    broken: str = ""
    continued: str = ""
    names: list[str] = field(default_factory=list)  # of all loops' flags

    def flag(self, node: ast.stmt) -> str:
        """The flag that an exit sets, if it is one here."""
        match node:
            case ast.Return(value=None | ast.Constant(value=None)):
                return RETURNED
            case ast.Break():
                return self.broken
            case ast.Continue():
                return self.continued
        return ""

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        done: list[ast.stmt] = []
        for place, node in enumerate(statements):
            if flag := self.flag(node):
                done.append(ast.fix_missing_locations(ast.copy_location(_set(flag, True), node)))
                return done  # what follows is never reached
            otherwise: list[ast.stmt] = []
            match node:
                case ast.If(test=test, body=body, orelse=orelse):
                    done.append(ast.copy_location(ast.If(test, self.block(body),
                                                         self.block(orelse)), node))
                case ast.For() | ast.While():
                    loop = self.loop(node)
                    done.append(loop)
                    otherwise = _unless(loop.broken, node.orelse)
                case _:  # no exit, or in what cannot be mapped
                    done.append(node)
                    continue
            flags = dict.fromkeys(filter(None, map(self.flag, _exits(node))))
            if flags or otherwise:
                rest = self.block([*otherwise, *statements[place + 1:]])
                for flag in reversed(flags):
                    rest = _unless(flag, rest)
                return done + rest
        return done

    def loop(self, node: ast.For | ast.While) -> ForLoop | WhileLoop:
        exits = [exit_ for inner in node.body for exit_ in _exits(inner)]
        inner = _Exits(names=self.names)
        for kind, word in ((ast.Break, "broken"), (ast.Continue, "continued")):
            if any(isinstance(exit_, kind) for exit_ in exits):
                self.names.append(f"{HIDDEN}{word}{len(self.names)}")
                setattr(inner, word, self.names[-1])
        body = inner.block(node.body)
        returns = RETURNED if any(isinstance(exit_, ast.Return) for exit_ in exits) else ""
        if isinstance(node, WhileLoop):
            body = body + _unless(returns, _unless(inner.broken, node.step))
        body = _unless(returns, body)
        made: ForLoop | WhileLoop = (
            ForLoop(node.target, node.iter, body, []) if isinstance(node, ast.For)
            else WhileLoop(node.test, body, []))
        made.broken, made.continued = inner.broken, inner.continued
        return ast.copy_location(made, node)
