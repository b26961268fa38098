"""The output of ``cuobjdump -res-usage``: registers and shared memory of each function."""

import functools
from dataclasses import dataclass

from lark import Lark, Token, UnexpectedInput

__all__ = ["Usage", "parse_usage"]

_GRAMMAR = r"""
start: NOISE* HEAD common? function*
common: "Common" ":" value*
function: FUNCTION value+
value: KEY ":" NUMBER
NOISE.2: /Fatbin (elf|ptx) code:|=+[ \t]*(?=\r?$)|(arch|code version|host|compile_size)\b[^\n]*/m
    | /(producer|identifier|compressed)\b[^\n]*/
HEAD.3: /Resource usage:/
FUNCTION.3: /Function[ \t][^\n]*:[ \t]*(?=\r?$)/m
KEY: /[A-Z]+(\[\d+\])?/
NUMBER: /\d+/
%ignore /[ \t\r\n\f]+/
"""


@dataclass(frozen=True)
class Usage:
    """What a function takes.

    Attributes
    ----------
    registers : int
        Of a thread.
    shared : int
        Static shared memory of a block, bytes.
    stack, local : int
        Bytes of a thread.
    """

    registers: int
    shared: int
    stack: int
    local: int


@functools.cache
def _parser() -> Lark:
    return Lark(_GRAMMAR, parser="lalr", maybe_placeholders=False)


def parse_usage(text: str) -> dict[str, Usage]:
    """The functions by name. Raises `ValueError` with line and column."""
    if len(text) > 1 << 22:
        raise ValueError(f"resource usage has at most {1 << 22} characters, not {len(text)}")
    try:
        tree = _parser().parse(text)
    except UnexpectedInput as error:
        if isinstance(getattr(error, "token", None), Token) and error.token.type == "$END":
            raise ValueError("the resource usage was cut off, or is none: no 'Resource usage:'"
                             if "Resource usage:" not in text else
                             f"line {text.count(chr(10)) + 1}: the resource usage was cut off"
                             ) from None
        raise ValueError(f"line {error.line}, column {error.column}: not what "
                         "cuobjdump -res-usage writes") from None
    found = {}
    for part in tree.find_data("function"):
        name = str(part.children[0]).partition("Function")[2].strip()[:-1].strip()
        line = part.children[0].line
        values = {str(each.children[0]): int(each.children[1][:12]) for each in part.children[1:]}
        for key in ("REG", "SHARED"):
            if key not in values:
                raise ValueError(f"line {line}: function {name} has no {key}")
        found[name] = Usage(values["REG"], values["SHARED"], values.get("STACK", 0),
                            values.get("LOCAL", 0))
    return found
