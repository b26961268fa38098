"""A file of C, OpenCL C or CUDA as pycparser's tree; there is no preprocessor.

Comments become spaces, and so do the words of OpenCL and CUDA that pycparser does not know, so that
each token keeps its line and column. A ``#define`` of one token or of an expression in parentheses
is kept as an expression, which means the same as to put its text in its place; any other is
refused, as ``#include`` and conditions are. ``#pragma loopbound max 32`` states the most iterations
of the loop that follows it, any other ``#pragma`` is ignored.
"""

import bisect
import re
from dataclasses import dataclass

from pycparser import c_ast
from pycparser.c_parser import CParser, ParseError

from cyclebound.golden.dataflow.kernel import KernelError

__all__ = ["DEEP", "Macro", "Source", "parsed", "place_of"]

DEEP = 100  # of brackets, and of a tree
_TYPES = ("uint", "size_t", "bool")
_FILE = "f.c"  # what pycparser calls it: a name without quotation marks
_PRELUDE = "".join(f"typedef unsigned int {name};" for name in _TYPES) + "\n"
_KERNEL = frozenset(("__kernel", "kernel", "__global__"))
_SPACES = frozenset(("__global", "global", "__constant", "constant", "__private", "private"))
_LOCAL = frozenset(("__local", "local", "__shared__"))
_RESTRICT = frozenset(("__restrict", "__restrict__"))
_WORDS = frozenset((  # that no #define may change
    *_TYPES, *_KERNEL, *_SPACES, *_LOCAL, *_RESTRICT, "auto", "break", "case", "char", "const",
    "continue", "default", "do", "double", "else", "enum", "extern", "float", "for", "goto", "if",
    "inline", "int", "long", "register", "restrict", "return", "short", "signed", "sizeof",
    "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while",
    "offsetof", "asm", "defined"))
_TOKEN = re.compile(r"""(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<open>/\*)
    |(?P<text>"C"|["'])
    |(?P<word>[A-Za-z_]\w*)|(?P<number>\.?[0-9](?:[eEpP][+-]|[\w.])*)
    |(?P<bracket>[()\[\]{}])|(?P<newline>\n)|(?P<space>[^\S\n]+)|(?P<other>.)""",
                    re.DOTALL | re.VERBOSE)
_PRAGMA = re.compile(r"\s*#\s*pragma\s+loopbound\b")
_MOST = re.compile(rf"{_PRAGMA.pattern}(?:\s+min\s+[0-9]+)?\s+max\s+(\S.*)")
_LOOP = re.compile(r"\s*(for|while|do)\b")
_DEFINE = re.compile(r"\s*#\s*define\s+([A-Za-z_]\w*)(\(?)(.*)")


@dataclass(frozen=True)
class Macro:
    """A ``#define``: its expression, and the line from which on it is one."""

    body: c_ast.Node
    line: int


@dataclass(frozen=True)
class Source:
    """A file's functions and constants, in order, and which of the functions are kernels."""

    file: str
    tree: c_ast.FileAST
    macros: dict[str, Macro]
    kernels: tuple[str, ...]
    bounds: dict[tuple[int, int], c_ast.Node]  # by a loop's line and column


@dataclass(frozen=True)
class _Piece:
    kind: str
    text: str
    start: int


def place_of(node: c_ast.Node) -> tuple[int, int]:
    """Line and column, from 1 on; of some nodes, pycparser knows only those of their parts."""
    while node.coord is None or not node.coord.line:
        parts = list(node)
        if not parts:
            return 1, 1
        node = parts[0]
    return node.coord.line, node.coord.column or 1


class _Reader:
    """Makes a text what pycparser reads."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def place(self, offset: int) -> tuple[int, int]:
        line = bisect.bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def fail(self, offset: int, what: str) -> KernelError:
        line, column = self.place(offset)
        return KernelError(self.file, line, "", what, column)

    def pieces(self) -> list[_Piece]:
        pieces = []
        for match in _TOKEN.finditer(self.text):
            if match.lastgroup == "open":
                raise self.fail(match.start(), "a comment has no end")
            pieces.append(_Piece(match.lastgroup or "other", match.group(), match.start()))
        return pieces

    def read(self) -> Source:
        if (backslash := re.search(r"\\\n", self.text)) is not None:
            raise self.fail(backslash.start(), "a line that goes on after \\ cannot be read")
        pieces = self.pieces()
        self.check(pieces)
        text = list(self.text)
        for piece in pieces:
            if piece.kind == "comment":
                self.blank(text, piece)
        macros, stated = self.directives(text)
        marks = self.qualifiers(text, pieces)
        tree = self.parse("".join(text))
        _check_depth(tree, self.file)
        return Source(self.file, tree, macros, self.kernels(tree, marks),
                      dict(self.bound("".join(text), *bound) for bound in stated))

    def check(self, pieces: list[_Piece]) -> None:
        depth = 0
        for piece in pieces:
            if piece.kind == "comment" and "\n" in piece.text:
                line, _ = self.place(piece.start)
                if self.text[self.starts[line - 1]:piece.start].lstrip().startswith("#"):
                    raise self.fail(piece.start, "a comment after # must end in its line")
            if piece.kind == "bracket":
                depth += 1 if piece.text in "([{" else -1
                if depth > DEEP:
                    raise self.fail(piece.start, f"brackets are more than {DEEP} deep")

    def blank(self, text: list[str], piece: _Piece, instead: str = "") -> None:
        end = piece.start + len(piece.text)
        text[piece.start:end] = [
            character if character == "\n" else " "
            for character in self.text[piece.start:end]]
        text[piece.start:piece.start + len(instead)] = instead

    def bound(self, text: str, number: int, line: str) -> tuple[tuple[int, int], c_ast.Node]:
        """The place of the loop that a bound is of, and the bound, from its line."""
        start = self.starts[number - 1]
        loop = _LOOP.match(text, start + len(line))
        if loop is None:
            raise self.fail(start + line.index("#"),
                            "#pragma loopbound must be right before a loop")
        most = _MOST.match(line)
        stated = most and self.expression(most.group(1), number, most.start(1))
        if not stated:
            raise self.fail(start + line.index("#"), "#pragma loopbound must be max and a number, "
                            "a name, or an expression in parentheses")
        return self.place(loop.start(1)), stated

    def directives(self, text: list[str]) -> tuple[dict[str, Macro], list[tuple[int, str]]]:
        """Take the lines that begin with # out of the text; returns macros, and the lines that
        state a bound, with their numbers."""
        macros: dict[str, Macro] = {}
        bounds: list[tuple[int, str]] = []
        for number, start in enumerate(self.starts, 1):
            end = self.starts[number] - 1 if number < len(self.starts) else len(text)
            line = "".join(text[start:end])
            if not line.lstrip().startswith("#"):
                continue
            hash_at = start + line.index("#")
            word = re.match(r"\s*#\s*(\w*)", line)
            directive = word.group(1) if word else ""
            if directive == "define":
                self.define(line, start, number, macros)
            elif _PRAGMA.match(line):
                bounds.append((number, line))
            elif directive not in ("pragma", ""):
                raise self.fail(hash_at, f"#{directive} cannot be read: there is no preprocessor")
            elif directive == "" and line.strip() != "#":
                raise self.fail(hash_at, "# cannot be read: there is no preprocessor")
            text[start:end] = " " * (end - start)
        return macros, bounds

    def define(self, line: str, start: int, number: int, macros: dict[str, Macro]) -> None:
        match = _DEFINE.match(line)
        if match is None:
            raise self.fail(start + line.index("#"), "a #define needs a name")
        name, arguments, body = match.groups()
        at = start + match.start(1)
        if arguments:
            raise self.fail(at, f"{name}: a #define with parameters cannot be read")
        if name in _WORDS:
            raise self.fail(at, f"{name} cannot be a #define: it is a word of the language")
        if name in macros:
            raise self.fail(at, f"{name} is a #define already")
        expression = self.expression(body, number, match.start(3))
        if expression is None:
            raise self.fail(at, f"{name}: a #define must be a number, a name, or an expression in "
                            "parentheses")
        macros[name] = Macro(expression, number)

    def expression(self, body: str, line: int, column: int) -> c_ast.Node | None:
        """A macro's body, if to put its text in the place of its name means no other thing."""
        words = [piece for piece in _TOKEN.finditer(body) if piece.lastgroup != "space"]
        kinds = [piece.lastgroup for piece in words]
        depth, least = 0, 1
        for piece in words[:-1]:
            depth += (piece.group() in "([{") - (piece.group() in ")]}")
            least = min(least, depth)
        inside = len(words) > 2 and words[0].group() == "(" and words[-1].group() == ")" and least
        negative = len(words) == 2 and words[0].group() == "-" and kinds[1] == "number"
        called = (len(words) > 2 and kinds[0] == "word" and words[1].group() == "("
                  and [piece.group() for piece in words].count("(") == 1
                  and words[-1].group() == ")")
        if not (inside or negative or called or kinds in (["word"], ["number"])):
            return None
        text = f'void f(void) {{ f(\n#line {line} "{_FILE}"\n{" " * column}{body}\n); }}'
        tree = self.parse(text)
        _check_depth(tree, self.file)
        statements = tree.ext[0].body.block_items or []
        if len(tree.ext) != 1 or len(statements) != 1 or statements[0].args is None:
            return None
        expressions = statements[0].args.exprs
        return expressions[0] if len(expressions) == 1 else None

    def qualifiers(self, text: list[str], pieces: list[_Piece]) -> list[int]:
        """Take out words of OpenCL and CUDA; returns where one says that a function is a kernel."""
        solid = [piece for piece in pieces if piece.kind not in ("comment", "space", "newline")]
        marks = []
        for piece, after in zip(solid, [*solid, _Piece("other", "", 0)][1:], strict=True):
            if text[piece.start] != piece.text[0]:
                continue  # of a directive
            if piece.text == "extern" and after.text == '"C"':
                self.blank(text, piece)
                self.blank(text, after)
            elif piece.text == "#":
                raise self.fail(piece.start, "# must begin its line")
            elif piece.kind == "text":
                raise self.fail(piece.start, "a character cannot be mapped" if
                                piece.text[0] == "'" else "a string cannot be mapped")
            elif piece.text in _RESTRICT:
                self.blank(text, piece, "restrict")
            elif piece.kind == "word" and (piece.text.startswith("__") or after.kind == "word"):
                if piece.text in _LOCAL:
                    raise self.fail(piece.start, f"{piece.text} cannot be mapped: threads share no "
                                    "memory")
                if piece.text in _KERNEL:
                    marks.append(piece.start)
                if piece.text in _KERNEL | _SPACES:
                    self.blank(text, piece)
        return marks

    def parse(self, text: str) -> c_ast.FileAST:
        parser = CParser()
        try:
            tree = parser.parse(f'{_PRELUDE}#line 1 "{_FILE}"\n{text}', _FILE)
            del tree.ext[:len(_TYPES)]
            return tree
        except ParseError as error:
            match = re.match(r"[^:]*:(\d+)(?::(\d+))?: (.*)", str(error), re.DOTALL)
            if match is None:  # it knows no place, but has not read further than this
                line = min(getattr(parser.clex, "_lineno", 1), len(self.starts))
                what = str(error).rpartition(": ")[2]
                raise KernelError(self.file, line, "", f"no C: {what}") from None
            line, column, what = match.groups()
            raise KernelError(self.file, int(line), "", f"no C: {what.splitlines()[0]}",
                              int(column or 0)) from None
        except RecursionError:
            raise KernelError(self.file, 1, "", "it is too deep") from None

    def kernels(self, tree: c_ast.FileAST, marks: list[int]) -> tuple[str, ...]:
        """The functions that are marked as kernels; all, if none is."""
        functions = [part for part in tree.ext if isinstance(part, c_ast.FuncDef)]
        places = [place_of(function) for function in functions]
        marked = []
        for mark in marks:
            later = [function for function, place in zip(functions, places, strict=True)
                     if place > self.place(mark)]
            if not later:
                raise self.fail(mark, "there is no function after this word")
            marked.append(later[0].decl.name)
        return tuple(dict.fromkeys(marked)) or tuple(function.decl.name for function in functions)


def _check_depth(tree: c_ast.Node, file: str) -> None:
    stack: list[tuple[c_ast.Node, int]] = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > DEEP:
            line, column = place_of(node)
            raise KernelError(file, line, "", f"it is more than {DEEP} deep", column)
        stack += [(inner, depth + 1) for inner in node]


def parsed(text: str, file: str) -> Source:
    """Read a text. Raises `KernelError`, with line and column."""
    return _Reader(text, file).read()
