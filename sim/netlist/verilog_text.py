"""Verilog in the form in which yosys writes it: its modules, and what a line of one says.

For text that yosys has made (``write_verilog``), or that was made of it. What a user has written is
read by yosys itself (`verilog_module`, `system_verilog`).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Declared", "Instance", "Written", "assigned", "declared", "lines_of_head", "modules",
           "rewritten", "without_banner"]

_MODULE = re.compile(r"^module (\\?\S+) ?\((.*?)\);\n(.*?)^endmodule\n", re.DOTALL | re.MULTILINE)
_ASSIGN = re.compile(r"^  assign (\w+) = (.*);$")
_DECLARED = re.compile(r"^  (input|output|wire|reg) (?:(\[\d+:\d+\]) )?(\w+|\\\S+ )"
                       r"(?: (\[\d+:\d+\]))?(?: = (\S+))?;$")
_INSTANCE = re.compile(r"^  (\\\S+|[\w$]+) +(\\?\S+) +\(\n(.*?)^  \);$", re.DOTALL | re.MULTILINE)
_CONNECTION = re.compile(r"^    \.(\S+) ?\((.*?)\),?$", re.DOTALL | re.MULTILINE)
_INPUT = re.compile(r"^  input  wire (?:\[\d+:\d+\] )?(\w+),?$", re.MULTILINE)


@dataclass(frozen=True)
class Instance:
    """A module that is placed in another: the module's name, its own, and what is connected to each
    port, by the port's name."""

    module: str
    name: str
    ports: dict[str, str]


@dataclass(frozen=True)
class Declared:
    """A port, wire, register or memory that a line declares: its ``kind``, and what stands before
    its name, after it, and as its value, or None. A name that is escaped ends with its space."""

    kind: str
    bits: str | None
    name: str
    deep: str | None
    value: str | None

    @property
    def width(self) -> int:
        """Bits of it, or of a word."""
        return 1 if self.bits is None else int(self.bits[1:-1].partition(":")[0]) + 1


@dataclass(frozen=True)
class Written:
    """A module.

    Attributes
    ----------
    name : str
        As it is written.
    head : str
        What stands between the parentheses of its head.
    body : str
        Its lines from there to ``endmodule``.
    text : str
        All of it.
    """

    name: str
    head: str
    body: str
    text: str

    @property
    def inputs(self) -> list[str]:
        """Ports that its head declares as inputs."""
        return _INPUT.findall(self.head)

    @property
    def ports(self) -> list[Declared]:
        """Those that its lines declare, in their order."""
        return [it for it in map(declared, self.body.splitlines())
                if it and it.kind in ("input", "output")]

    @property
    def instances(self) -> list[Instance]:
        """Modules in it, if they have no parameters."""
        return [Instance(found[1], found[2], dict(_CONNECTION.findall(found[3])))
                for found in _INSTANCE.finditer(self.body)]


def _written(found: re.Match[str]) -> Written:
    return Written(found[1], found[2], found[3], found[0])


def modules(text: str) -> dict[str, Written]:
    """By name, in their order."""
    return {module.name: module for module in map(_written, _MODULE.finditer(text))}


def rewritten(text: str, new: Callable[[Written], str]) -> str:
    """``text`` with ``new`` of each module in its place."""
    return _MODULE.sub(lambda found: new(_written(found)), text)


def lines_of_head(text: str, name: str) -> range:
    """The numbers of the lines, from 1, in which a module's head is; none if there is no such."""
    for found in _MODULE.finditer(text):
        if found[1] == name:
            first = 1 + text.count("\n", 0, found.start())
            return range(first, first + text.count("\n", found.start(), found.end(2)) + 1)
    return range(0)


def without_banner(text: str) -> str:
    """``text`` without the comment that it begins with, in which yosys names itself."""
    return re.sub(r"\A/\*.*?\*/\s*", "", text)


def declared(line: str) -> Declared | None:
    """What a line declares."""
    found = _DECLARED.match(line)
    return Declared(*found.groups()) if found else None


def assigned(line: str) -> tuple[str, str] | None:
    """The name and the expression of a line that assigns to a whole wire."""
    found = _ASSIGN.match(line)
    return (found[1], found[2]) if found else None
