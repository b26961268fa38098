"""Early returns of a kernel: a hidden variable says whether the thread has returned.

Source: SGMF, section 4.3: what a condition leaves out is poisoned, and never skipped.
"""

import ast

__all__ = ["HIDDEN", "RETURNED", "without_returns"]

HIDDEN = "?"            # begins the names of variables and functions that no kernel can have
RETURNED = "?returned"  # whether the thread has returned


def without_returns(statements: list[ast.stmt]) -> list[ast.stmt]:
    """These statements with a variable that says whether the thread has returned, and what
    follows a ``return`` under the condition that it has not."""
    if not any(map(_returns, statements)):
        return statements
    first = ast.copy_location(_set_returned(False), statements[0])
    return [ast.fix_missing_locations(first), *_rewritten(statements)]


def _returns(node: ast.AST) -> bool:
    return any(isinstance(inner, ast.Return) for inner in ast.walk(node))


def _set_returned(value: bool) -> ast.stmt:
    return ast.Assign([ast.Name(RETURNED, ast.Store())], ast.Constant(value))


def _unless_returned(statements: list[ast.stmt]) -> list[ast.stmt]:
    if not statements:
        return []
    test = ast.copy_location(ast.Name(RETURNED, ast.Load()), statements[0])
    return [ast.copy_location(ast.If(test, [], statements), statements[0])]


def _rewritten(statements: list[ast.stmt]) -> list[ast.stmt]:
    done: list[ast.stmt] = []
    for place, node in enumerate(statements):
        if not _returns(node):
            done.append(node)
            continue
        match node:
            case ast.Return(value=None | ast.Constant(value=None)):
                done.append(ast.fix_missing_locations(ast.copy_location(_set_returned(True),
                                                                        node)))
                return done  # what follows is never reached
            case ast.If(test=test, body=body, orelse=orelse):
                done.append(ast.copy_location(ast.If(test, _rewritten(body), _rewritten(orelse)),
                                              node))
            case ast.For(target=target, iter=over, body=body, orelse=[]):
                done.append(ast.copy_location(ast.For(target, over, _unless_returned(
                    _rewritten(body)), []), node))
            case ast.While(test=test, body=body, orelse=[]):
                done.append(ast.copy_location(ast.While(test, _unless_returned(
                    _rewritten(body)), []), node))
            case _:  # a return of a value, or in what cannot be mapped
                done.append(node)
                continue
        return done + _unless_returned(_rewritten(statements[place + 1:]))
    return done
