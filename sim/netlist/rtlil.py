"""RTLIL, in which yosys and Amaranth write netlists, as objects: read, changed, written.

The reader is our own, and not yosys' Python interface: that comes with ``pyosys``, which has no
wheel for some machines, on which yosys runs as WebAssembly. It would not be quicker: 4.0 MB of
`simd.compute_unit` are read in 0.2 CPU-s and all signals of its cells in 0.24, by ``pyosys`` in
0.14 and 0.26. What is between ``process`` and its ``end`` is kept as text: ``proc`` makes cells of
it.

Source: yosys manual, "RTLIL text representation".
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

__all__ = ["Bits", "Cell", "Connect", "Design", "Item", "Module", "Text", "Wire", "undefined"]

_DEFINED = re.compile(r"^module \\(\S+)$", re.MULTILINE)
_PLACED = re.compile(r"^ *cell \\(\S+) ", re.MULTILINE)
_FLAGS = ("signed", "upto")  # options of a wire that have no number
_NAME = re.compile(r"(?<!\S)[\\$]\S+")
_FIRST = re.compile(r"(\{(?: \S+)*? \}|\S+(?: \[\d+(?::\d+)?\])*) (.*)")
_CHUNK = re.compile(r"(?P<bits>\d+'[01xzm-]+)|(?P<name>[\\$]\S+)"
                    r"(?: \[(?P<high>\d+)(?::(?P<low>\d+))?\])?|(?P<number>-?\d+)")


def undefined(text: str) -> set[str]:
    """Modules that are placed in a design and are not in it; this is quicker than to read it."""
    return {*_PLACED.findall(text)} - {*_DEFINED.findall(text)}


@dataclass(kw_only=True)
class _Item:
    """Something with attributes, each as it is written. Names begin with ``\\`` or, if yosys or
    Amaranth made them, with ``$``."""

    attributes: dict[str, str] = field(default_factory=dict)

    def _text(self, *lines: str) -> str:
        said = (f"attribute {name} {value}" for name, value in self.attributes.items())
        return "".join(f"  {line}\n" for line in (*said, *lines))


@dataclass
class Wire(_Item):
    """A wire or a memory, with its options (``width``, ``input``, ``signed``, ...) in order."""

    name: str
    options: dict[str, int] = field(default_factory=dict)
    what: str = "wire"

    @property
    def width(self) -> int:
        return self.options.get("width", 1)

    @property
    def direction(self) -> str:
        """``input``, ``output``, or nothing."""
        return next((way for way in ("input", "output") if way in self.options), "")

    def __str__(self) -> str:
        options = (name if name in _FLAGS else f"{name} {value}"
                   for name, value in self.options.items())
        return self._text(" ".join([self.what, *options, self.name]))


@dataclass
class Cell(_Item):
    """A cell, or a module that is placed, by its ``kind``: parameters and ports without the ``\\``
    of their names, values as they are written. A parameter may have a flag, ``signed `` or
    ``real ``."""

    name: str
    kind: str
    parameters: dict[str, str] = field(default_factory=dict)
    ports: dict[str, str] = field(default_factory=dict)
    flags: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self._text(
            f"cell {self.kind} {self.name}",
            *(f"  parameter {self.flags.get(name, '')}\\{name} {value}"
              for name, value in self.parameters.items()),
            *(f"  connect \\{name} {value}" for name, value in self.ports.items()), "end")


@dataclass
class Connect(_Item):
    """A signal that is driven by another."""

    target: str
    source: str

    def __str__(self) -> str:
        return self._text(f"connect {self.target} {self.source}")


@dataclass
class Text(_Item):
    """A process, or a module's parameter, as it is written."""

    lines: list[str]

    def __str__(self) -> str:
        return self._text(*self.lines)


Item = Wire | Cell | Connect | Text


@dataclass
class Module(_Item):
    """A module, with what it has in the order in which it is written."""

    name: str
    items: list[Item] = field(default_factory=list)

    @property
    def wires(self) -> dict[str, Wire]:
        """By name, without memories."""
        return {item.name: item for item in self.items
                if isinstance(item, Wire) and item.what == "wire"}

    @property
    def cells(self) -> list[Cell]:
        return [item for item in self.items if isinstance(item, Cell)]

    @property
    def names(self) -> set[str]:
        """Of its wires, memories and cells."""
        return {item.name for item in self.items if isinstance(item, Wire | Cell)}

    @property
    def ports(self) -> dict[str, Wire]:
        """By name, those wires that are ports."""
        return {name: wire for name, wire in self.wires.items() if wire.direction}

    def rename(self, names: Mapping[str, str]) -> None:
        """Take other names for it and all that is in it, where ``names`` has some."""
        def new(signal: str) -> str:
            return _NAME.sub(lambda found: names.get(found[0], found[0]), signal)

        self.name = new(self.name)
        for item in self.items:
            if isinstance(item, Connect):
                item.target, item.source = new(item.target), new(item.source)
            elif not isinstance(item, Text):
                item.name = new(item.name)
            if isinstance(item, Cell):
                item.kind, placed = new(item.kind), item.kind[0] == "\\"
                item.ports = {new(f"\\{port}")[1:] if placed else port: new(signal)
                              for port, signal in item.ports.items()}

    def __str__(self) -> str:
        attributes = "".join(f"attribute {name} {value}\n"
                             for name, value in self.attributes.items())
        return f"{attributes}module {self.name}\n{''.join(map(str, self.items))}end\n"


@dataclass
class Design:
    """Modules by name, and what stands before them (yosys' number for the next name)."""

    modules: dict[str, Module] = field(default_factory=dict)
    head: str = ""

    @classmethod
    def read(cls, text: str) -> "Design":
        """The design that a text has; its comments are left out."""
        design, attributes = cls(), {}
        lines = iter(text.splitlines())
        for line in lines:
            word, _, rest = line.partition(" ")
            if word == "attribute":
                name, _, attributes[name] = rest.partition(" ")
            elif word == "module":
                design.modules[rest] = Module(rest, _items(lines), attributes=attributes)
                attributes = {}
            elif word == "autoidx":
                design.head += f"{line}\n"
        return design

    def __str__(self) -> str:
        return self.head + "".join(map(str, self.modules.values()))


def _items(lines: Iterator[str]) -> list[Item]:
    """A module's items, up to its end."""
    items: list[Item] = []
    attributes: dict[str, str] = {}
    item: Item
    for line in lines:
        word, _, rest = line.strip().partition(" ")
        if word == "attribute":
            name, _, attributes[name] = rest.partition(" ")
            continue
        if word == "end":
            break
        if word in ("wire", "memory"):
            *words, name = rest.split()
            given = iter(words)
            item = Wire(name, {option: 1 if option in _FLAGS else int(next(given))
                               for option in given}, word)
        elif word == "cell":
            kind, name = rest.split()
            item = Cell(name, kind)
            _fill(item, lines)
        elif word == "connect":
            found = _FIRST.match(rest)
            assert found, line
            item = Connect(*found.groups())
        elif word == "process":
            item = Text([line.strip(), *_process(lines)])
        elif word:
            item = Text([line.strip()])
        else:
            continue
        item.attributes = attributes
        attributes = {}
        items.append(item)
    return items


def _fill(cell: Cell, lines: Iterator[str]) -> None:
    """Its parameters and ports, up to its end."""
    for line in lines:
        word, _, rest = line.strip().partition(" ")
        if word == "end":
            break
        flag, _, rest = rest.partition("\\")
        key, _, value = rest.partition(" ")
        if word == "connect":
            cell.ports[key] = value
        else:
            cell.parameters[key] = value
            if flag:
                cell.flags[key] = flag


def _process(lines: Iterator[str]) -> Iterator[str]:
    """Its lines up to its end."""
    depth = 1
    while depth:
        line = next(lines)[2:]
        depth += {"switch": 1, "end": -1}.get(line.split(None, 1)[0] if line.strip() else "", 0)
        yield line


@dataclass(frozen=True)
class Bits:
    """Bits side by side, the highest first: constants, and ranges of wires."""

    chunks: tuple[tuple[str, int, int], ...]  # name, high, low; or bits, and their number - 1, 0

    @classmethod
    def read(cls, text: str, wires: Mapping[str, Wire]) -> "Bits":
        chunks = []
        for match in _CHUNK.finditer(text):
            if match["bits"]:
                size, bits = match["bits"].split("'")
                chunks.append((bits.rjust(int(size), bits[0]), int(size) - 1, 0))
            elif match["number"]:
                chunks.append((format(int(match["number"]) & 0xFFFFFFFF, "032b"), 31, 0))
            else:
                high = (int(match["high"]) if match["high"] else wires[match["name"]].width - 1)
                low = (int(match["low"]) if match["low"] else high if match["high"] else 0)
                chunks.append((match["name"], high, low))
        return cls(tuple(chunks))

    @property
    def width(self) -> int:
        return sum(high - low + 1 for _, high, low in self.chunks)

    def low(self, width: int) -> "Bits":
        """The lowest bits."""
        kept: list[tuple[str, int, int]] = []
        for name, high, low in reversed(self.chunks):
            size = min(high - low + 1, width)
            if size == 0:
                break
            width -= size
            if name[0] in "\\$":
                kept.insert(0, (name, low + size - 1, low))
            else:
                kept.insert(0, (name[len(name) - size:], size - 1, 0))
        return Bits(tuple(kept))

    def high(self, width: int) -> "Bits":
        """The highest bits."""
        kept: list[tuple[str, int, int]] = []
        for name, high, low in self.chunks:
            size = min(width, high - low + 1)
            if size == 0:
                break
            kept.append((name, high, high - size + 1) if name[0] in "\\$"
                        else (name[:size], size - 1, 0))
            width -= size
        return Bits(tuple(kept))

    def fit(self, width: int, *, signed: bool) -> "Bits":
        """Cut, or extended by its sign or by zeros, to this width."""
        missing = width - self.width
        if missing <= 0:
            return self.low(width)
        if not signed or not self.chunks:
            return Bits((("0" * missing, missing - 1, 0), *self.chunks))
        name, high, _ = self.chunks[0]
        sign = (name, high, high) if name[0] in "\\$" else (name[0], 0, 0)
        return Bits((*([sign] * missing), *self.chunks))

    def __str__(self) -> str:
        words = [f"{name} [{high}:{low}]" if name[0] in "\\$" else f"{len(name)}'{name}"
                 for name, high, low in self.chunks]
        return words[0] if len(words) == 1 else f"{{ {' '.join(words)} }}"
