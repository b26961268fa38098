"""The Verilog that yosys writes, as a person would write it: with expressions and short heads.

Each cell is an assignment to a wire of its own. What has no name in the source and is read once is
put where it is read, in parentheses. This changes no value: after `explicit_widths` an operand is
as wide as its operation, so no width depends on where an expression stands; and expressions whose
meaning depends on signs stay where they are.
"""

import itertools
import re

from cyclebound.sim.netlist.verilog_text import Written, assigned, declared, rewritten

__all__ = ["readable"]

_LONGEST = 100  # of a line into which expressions are put
_WORD = re.compile(r"(?<![\w'$])[A-Za-z_]\w*(?!\w)")
_SIMPLE = re.compile(r"\w+(?: ?\[[\d:]+\])?|\d+'h[0-9a-f]+")


def readable(text: str, made: frozenset[str]) -> str:
    """``text`` with each wire that ``made`` names, and that is read once, replaced by its value."""
    return rewritten(text, lambda module: _module(module, made))


def _module(module: Written, made: frozenset[str]) -> str:
    ports = re.findall(r"\w+", module.head)
    heads: dict[str, str] = {}
    declarations: list[str] = []
    rest: list[str] = []
    for line in _inlined(module.body.splitlines(), made, frozenset(ports)):
        if (it := declared(line)) is None:
            rest.append(line)
            continue
        shape = f"{it.bits} " if it.bits else ""
        if it.kind in ("input", "output"):
            heads[it.name] = f"  {it.kind:6} wire {shape}{it.name}"
        elif it.name in heads:
            if it.kind == "reg":
                heads[it.name] = f"  output reg  {shape}{it.name}"
        else:
            declarations.append(f"  {it.kind} {shape}{it.name}{f' {it.deep}' if it.deep else ''};")
        if it.value and it.kind == "wire":
            rest.append(f"  assign {it.name} = {it.value};")
        elif it.value:  # a declaration with a value would be a second driver to a linter
            declarations.append(f"  initial {it.name} = {it.value};")
    head = ",\n".join(heads[port] for port in ports)
    return "\n".join([f"module {module.name} (\n{head}\n);", *declarations, *rest, "endmodule\n"])


def _inlined(lines: list[str], made: frozenset[str], ports: frozenset[str]) -> list[str]:
    """Lines in which what is made and read once stands where it is read."""
    uses: dict[str, int] = {}
    sliced: set[str] = set()
    for line in lines:
        if declared(line):
            continue
        _, read = assigned(line) or ("", line)
        for word in _WORD.finditer(read):
            uses[word[0]] = uses.get(word[0], 0) + 1
            if read[word.end(0):].lstrip().startswith("["):
                sliced.add(word[0])
    bodies: dict[str, str] = {}
    for name, value in filter(None, map(assigned, lines)):
        if (name in made and name not in ports and name not in sliced and uses.get(name) == 1
                and "$signed" not in value):
            bodies[name] = value
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
            line = line if declared(line) else put(line)
        elif assigned(line):
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
    if said := assigned(line):
        name = said[0]
    else:
        name = it.name if (it := declared(line)) else ""
    return name if name in bodies else ""
