"""The Verilog that yosys writes, as a person would write it: with expressions and short heads.

Each cell is an assignment to a wire of its own. What has no name in the source and is read once is
put where it is read, in parentheses. This changes no value: after `explicit_widths` an operand is
as wide as its operation, so no width depends on where an expression stands; and expressions whose
meaning depends on signs stay where they are.
"""

import itertools
import re

__all__ = ["readable"]

_LONGEST = 100  # of a line into which expressions are put
_MODULE = re.compile(r"^module (\w+)\((.*?)\);\n(.*?)^endmodule\n", re.DOTALL | re.MULTILINE)
_ASSIGN = re.compile(r"^  assign (\w+) = (.*);$")
_WORD = re.compile(r"(?<![\w'$])[A-Za-z_]\w*(?!\w)")
_SIMPLE = re.compile(r"\w+(?: ?\[[\d:]+\])?|\d+'h[0-9a-f]+")
_DECLARED = re.compile(r"^  (input|output|wire|reg) (?:(\[\d+:\d+\]) )?(\w+)"
                       r"(?: (\[\d+:\d+\]))?(?: = (\S+))?;$")


def readable(text: str, made: frozenset[str]) -> str:
    """``text`` with each wire that ``made`` names, and that is read once, replaced by its value."""
    return _MODULE.sub(lambda match: _module(match[1], match[2], match[3], made), text)


def _module(name: str, ports: str, body: str, made: frozenset[str]) -> str:
    lines = _inlined(body.splitlines(), made, frozenset(re.findall(r"\w+", ports)))
    heads: dict[str, str] = {}
    declared: list[str] = []
    rest: list[str] = []
    for line in lines:
        match = _DECLARED.match(line)
        if not match:
            rest.append(line)
            continue
        what, bits, port, deep, value = match.groups()
        shape = f"{bits} " if bits else ""
        if what in ("input", "output"):
            heads[port] = f"  {what:6} wire {shape}{port}"
        elif port in heads:
            if what == "reg":
                heads[port] = f"  output reg  {shape}{port}"
        else:
            declared.append(f"  {what} {shape}{port}{f' {deep}' if deep else ''};")
        if value and what == "wire":
            rest.append(f"  assign {port} = {value};")
        elif value:  # a declaration with a value would be a second driver to a linter
            declared.append(f"  initial {port} = {value};")
    head = ",\n".join(heads[port] for port in re.findall(r"\w+", ports))
    return "\n".join([f"module {name} (\n{head}\n);", *declared, *rest, "endmodule\n"])


def _inlined(lines: list[str], made: frozenset[str], ports: frozenset[str]) -> list[str]:
    """Lines in which what is made and read once stands where it is read."""
    uses: dict[str, int] = {}
    sliced: set[str] = set()
    for line in lines:
        if _DECLARED.match(line):
            continue
        assigned = _ASSIGN.match(line)
        for word in _WORD.finditer(assigned[2] if assigned else line):
            uses[word[0]] = uses.get(word[0], 0) + 1
            if line[word.end(0) + (assigned.start(2) if assigned else 0):].lstrip().startswith("["):
                sliced.add(word[0])
    bodies: dict[str, str] = {}
    for line in lines:
        assigned = _ASSIGN.match(line)
        if (assigned and assigned[1] in made and assigned[1] not in ports
                and assigned[1] not in sliced and uses.get(assigned[1]) == 1
                and "$signed" not in assigned[2]):
            bodies[assigned[1]] = assigned[2]
    whole: dict[str, str] = {}  # what each stands for, with what it reads put in
    kept: set[str] = set()      # too long to stand elsewhere

    def put(text: str) -> str:
        """A line or an expression with what it reads put in, as far as there is room."""
        for word in dict.fromkeys(_WORD.findall(text)):
            if word not in bodies:
                continue
            inside = whole[word] if _is_operand(whole[word]) else f"({whole[word]})"
            if len(text) + len(inside) - len(word) > _LONGEST:
                kept.add(word)
                continue
            text = re.sub(rf"(?<![\w'$]){word}(?!\w)", inside.replace("\\", r"\\"), text)
        return text

    for first in bodies:  # what is read comes before what reads it, however deep
        pending = [first]
        while pending:
            inner = [] if pending[-1] in whole else [
                word for word in _WORD.findall(bodies[pending[-1]])
                if word in bodies and word not in whole]
            if inner:
                pending += inner
                continue
            read = pending.pop()
            whole.setdefault(read, put(bodies[read]))
    done = []
    for line in lines:
        name = _named(line, bodies)
        if not name:
            line = line if _DECLARED.match(line) else put(line)
        elif _ASSIGN.match(line):
            line = f"  assign {name} = {whole[name]};"
        done.append((name, line))
    return [line for name, line in done if not name or name in kept]


def _is_operand(text: str) -> bool:
    """Whether an expression needs no parentheses: a name, a number, or one pair of braces."""
    if not text.startswith("{"):
        return bool(_SIMPLE.fullmatch(text))
    depth = list(itertools.accumulate({"{": 1, "}": -1}.get(sign, 0) for sign in text))
    return 0 not in depth[:-1] and depth[-1] == 0 and "?" not in text


def _named(line: str, bodies: dict[str, str]) -> str:
    """The name that a line declares or assigns, if it is one of ``bodies``; else nothing."""
    assigned, declared = _ASSIGN.match(line), _DECLARED.match(line)
    name = assigned[1] if assigned else declared[3] if declared else ""
    return name if name in bodies else ""
