"""Registers and shared memory of each function: ``cuobjdump -res-usage``, ``nvcc -res-usage``.

The two tools have an option of one name and write different texts; both are read.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass

from lark import Lark, Token, Tree, UnexpectedInput, UnexpectedToken

__all__ = ["Usage", "parse_usage"]

_GRAMMAR = r"""
start: (ARCHITECTURE | CONTAINER | HEAD | common | function | entry | NOTE)*
common: "Common" ":" value*
function: FUNCTION value+
value: KEY ":" NUMBER
entry: ENTRY NOTE* USED NUMBER "registers" ("," amount)*
amount: ("used" NUMBER "barriers") | (NUMBER "bytes" PLACE)

ARCHITECTURE.3: /arch[ \t]*=[ \t]*sm_\w+/
CONTAINER.2: /Fatbin (elf|ptx) code:|=+[ \t]*(?=\r?$)/m
    | /(code version|host|compile_size|producer|identifier|compressed|has debug info)\b[^\n]*/
    | /(cuobjdump|member)\b[^\n]*/
HEAD.3: /Resource usage:/
FUNCTION.3: /Function[ \t][^\n]*:[ \t]*(?=\r?$)/m
KEY: /[A-Z]+(\[\d+\])?/
ENTRY.3: /ptxas info[ \t]*:[ \t]*Compiling entry function '[^'\n]*' for 'sm_\w+'/
USED.3: /ptxas info[ \t]*:[ \t]*Used/
NOTE.2: /ptxas info[ \t]*:[^\n]*|(nvlink info|ptxas warning)\b[^\n]*/
    | /\d+ bytes stack frame,[^\n]*/
NUMBER: /\d+/
PLACE: /[a-z][a-z ]*(\[\d+\])?/
%ignore /[ \t\r\n\f]+/
"""


@dataclass(frozen=True)
class Usage:
    """Registers and memory that a function takes.

    Attributes
    ----------
    architecture : str
        ``"sm_80"``; empty where the text does not say.
    registers : int
        Of a thread.
    shared : int
        Static shared memory of a block, bytes. For sm_90 cuobjdump counts what the runtime reserves
        too; nvcc does not.
    stack, local : int
        Bytes of a thread.
    """

    name: str
    architecture: str
    registers: int
    shared: int
    stack: int = 0
    local: int = 0


@functools.cache
def _parser() -> Lark:
    return Lark(_GRAMMAR, parser="lalr", maybe_placeholders=False)


def parse_usage(text: str) -> tuple[Usage, ...]:
    """The functions in order. Raises `ValueError` with line and column."""
    if len(text) > 1 << 22:
        raise ValueError(f"resource usage has at most {1 << 22} characters, not {len(text)}")
    try:
        tree = _parser().parse(text)
    except UnexpectedInput as error:
        if isinstance(error, UnexpectedToken) and error.token.type == "$END":
            raise ValueError(f"line {text.count(chr(10)) + 1}: the resource usage was cut off"
                             ) from None
        raise ValueError(f"line {error.line}, column {error.column}: not what "
                         "cuobjdump -res-usage or nvcc -res-usage writes") from None
    if not any(isinstance(child, Tree) or child.type in ("HEAD", "NOTE")
               for child in tree.children):
        raise ValueError("the resource usage was cut off, or is none: no 'Resource usage:' and no "
                         "'ptxas info'")
    return tuple(_usages(tree))


def _usages(tree: Tree) -> Iterator[Usage]:
    architecture = ""
    for part in tree.children:
        match part:
            case Token(type="ARCHITECTURE"):
                architecture = "sm_" + str(part).rpartition("sm_")[2]
            case Tree(data="function", children=[Token() as head, *amounts]):
                name = str(head).partition("Function")[2].strip()[:-1].strip()
                values = {str(key): _number(value) for key, value in (
                    amount.children for amount in amounts)}
                for key in ("REG", "SHARED"):
                    if key not in values:
                        raise ValueError(f"line {head.line}: function {name} has no {key}")
                yield Usage(name, architecture, values["REG"], values["SHARED"],
                            values.get("STACK", 0), values.get("LOCAL", 0))
            case Tree(data="entry", children=[head, *rest]):
                _, name, _, target, _ = str(head).split("'")
                registers = next(child for child in rest
                                 if isinstance(child, Token) and child.type == "NUMBER")
                places = {str(amount.children[1]).strip(): _number(amount.children[0])
                          for amount in part.find_data("amount") if len(amount.children) == 2}
                yield Usage(name, target, _number(registers), places.get("smem", 0),
                            places.get("cumulative stack size", 0), places.get("lmem", 0))


def _number(token: Token | Tree) -> int:
    return int(str(token)[:12])
