"""Early exits of a kernel: hidden flags say whether the thread has returned, or left its loop.

Source: SGMF, section 4.3: what a condition leaves out is poisoned, and never skipped. So a loop
takes as many iterations as it may at most; a thread that has left it does nothing in the others.
"""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

__all__ = ["EXCEEDED", "HIDDEN", "RETURNED", "ForLoop", "WhileLoop", "without_exits"]

HIDDEN = "?"            # begins the names of variables and functions that no kernel can have
RETURNED = "?returned"  # whether the thread has returned
EXCEEDED = "?exceeded"  # called where a loop goes on after its stated bound


_Made = TypeVar("_Made", bound=ast.AST)


class ForLoop(ast.For):
    """A loop over a range, or of as many iterations as are stated (``most``). ``left``: the flags
    of those that have left it, ``continued`` of those that have left the iteration."""

    left: tuple[str, ...] = ()
    continued: tuple[str, ...] = ()
    most: ast.expr | None = None


class WhileLoop(ast.While):
    """A loop with a condition, and what follows each iteration, also after a ``continue``."""

    left: tuple[str, ...] = ()
    continued: tuple[str, ...] = ()
    most: ast.expr | None = None
    step: list[ast.stmt] = []


class _End(ast.Break):
    """The condition of a loop does not hold any more."""


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


def _stated(node: ast.For | ast.While) -> tuple[ast.expr, ast.expr] | None:
    """The condition or range of a loop whose most iterations are stated, and these."""
    match node:
        case WhileLoop(test=over, most=ast.expr() as most):
            return over, most
        case (ast.While(test=ast.Call(func=ast.Name(id="bounded"), args=[over, most], keywords=[]))
              | ast.For(target=ast.Name(), iter=ast.Call(func=ast.Name(id="bounded"), args=[
                  ast.Call(func=ast.Name(id="range"), args=[_] | [_, _] | [_, _, _],
                           keywords=[]) as over, most], keywords=[]))):
            return over, most
    return None


def _at(node: ast.stmt, made: _Made) -> _Made:
    """What is made of a statement, at its place."""
    return ast.fix_missing_locations(ast.copy_location(made, node))


def _call(name: str, *arguments: ast.expr | str) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), [
        ast.Name(argument, ast.Load()) if isinstance(argument, str) else argument
        for argument in arguments], [])


@dataclass
class _Exits:
    """A function's statements under way, and the flags of the loop around them."""

    ended: str = ""      # its condition does not hold
    broken: str = ""
    continued: str = ""
    names: list[str] = field(default_factory=list)  # of all hidden variables

    def hide(self, word: str) -> str:
        self.names.append(f"{HIDDEN}{word}{len(self.names)}")
        return self.names[-1]

    def flag(self, node: ast.stmt) -> str:
        """The flag that an exit sets, if it is one here."""
        match node:
            case ast.Return(value=None | ast.Constant(value=None)):
                return RETURNED
            case _End():
                return self.ended
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
            after: list[ast.stmt] = []
            match node:
                case ast.If(test=test, body=body, orelse=orelse):
                    done.append(ast.copy_location(ast.If(test, self.block(body),
                                                         self.block(orelse)), node))
                case ast.For() | ast.While():
                    made, after = self.loop(node)
                    done += made
                case _:  # no exit, or in what cannot be mapped
                    done.append(node)
                    continue
            flags = dict.fromkeys(filter(None, map(self.flag, _exits(node))))
            if flags or after:
                rest = self.block([*after, *statements[place + 1:]])
                for flag in reversed(flags):
                    rest = _unless(flag, rest)
                return done + rest
        return done

    def loop(self, node: ast.For | ast.While) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """A loop, with what precedes it, and what follows it.

        If its most iterations are stated, it has as many, and threads leave it where its condition
        does not hold; whether it holds for one that is still inside is asked once more.
        """
        stated, body = _stated(node), node.body
        before: list[ast.stmt] = []
        if stated is not None:
            over, most = stated
            still = over
            turn = self.hide("turn")
            if isinstance(node, ast.For) and isinstance(over, ast.Call):
                before, element, within = self.elements(over, turn)
                over, still = within(turn), within(most)
                body = [_at(node, ast.Assign([node.target], element)), *body]
            body = [_at(node, ast.If(over, [], [_at(node, _End())])), *body]
        exits = [exit_ for statement in body for exit_ in _exits(statement)]
        inner = _Exits(names=self.names)
        for kind, word in ((_End, "ended"), (ast.Break, "broken"), (ast.Continue, "continued")):
            if any(type(exit_) is kind for exit_ in exits):
                setattr(inner, word, self.hide(word))
        body, left = inner.block(body), tuple(filter(None, (inner.ended, inner.broken)))
        step = node.step if isinstance(node, WhileLoop) else []
        for flag in left:
            step = _unless(flag, step)
        if any(isinstance(exit_, ast.Return) for exit_ in exits):
            body = _unless(RETURNED, body + _unless(RETURNED, step))
        else:
            body = body + step
        after = _unless(inner.broken, node.orelse)
        made: ForLoop | WhileLoop
        if stated is not None:
            made = ForLoop(ast.Name(turn, ast.Store()), most, body, [])
            made.most = most
            more: list[ast.stmt] = [ast.If(still, [ast.Expr(_call(EXCEEDED, most))], [])]
            for flag in left:
                more = _unless(flag, [_at(node, more[0])])
            after = [_at(node, more[0]), *after]
        elif isinstance(node, ast.For):
            made = ForLoop(node.target, node.iter, body, [])
        else:
            made = WhileLoop(node.test, body, [])
        made.left, made.continued = left, (inner.continued,) if inner.continued else ()
        return [*(_at(node, statement) for statement in before), _at(node, made)], after

    def elements(self, call: ast.Call, turn: str) -> tuple[
            list[ast.stmt], ast.expr, Callable[[ast.expr | str], ast.expr]]:
        """Of a range: what precedes a loop over it, its element in this iteration, and whether it
        has one of a number."""
        start, stop, step = (*call.args, ast.Constant(1))[:3] if len(call.args) > 1 else (
            ast.Constant(0), call.args[0], ast.Constant(1))
        first, distance = self.hide("start"), self.hide("distance")
        before: list[ast.stmt] = [
            ast.Assign([ast.Name(first, ast.Store())], start),
            ast.Assign([ast.Name(distance, ast.Store())],
                       _call("?distance", first, stop, step))]
        return (before, _call("?element", turn, first, step),
                lambda number: _call("?within", number, distance, step))
