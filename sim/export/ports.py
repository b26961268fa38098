"""The ports of an exported block: one wire for each field, in the order of its signature.

A component's streams carry structs. In Verilog these would be vectors of which a user counts the
bits, so the block gets a shell with one port for each field. Vectors stay vectors where they are
arrays of numbers, and where fields share bits (unions).
"""

import enum
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from amaranth.hdl import Shape
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In

from cyclebound.sim.export.names import plain_name

__all__ = ["Port", "described", "instance", "ports_of_fields", "shell", "width_range"]

_MOST_ELEMENTS = 16  # of an array of structs that gets a port for each field of each element


@dataclass(frozen=True)
class Port:
    """One port of the shell: where it lies in the core's port, and what it is.

    Attributes
    ----------
    name : str
        In the Verilog: ``request__payload__address``.
    member : str
        The core's port that holds it: ``request__payload``.
    path : str
        In Amaranth: ``request.payload.address``.
    direction : str
        ``input`` or ``output``.
    offset, width : int
        Its bits in the core's port.
    total : int
        All bits of the core's port.
    signed : bool
        Whether it is in two's complement.
    says : str
        What it is.
    """

    name: str
    member: str
    path: str
    direction: str
    offset: int
    width: int
    total: int
    signed: bool
    says: str


def _layout(shape: object) -> data.Layout | None:
    """The layout of a struct, union or array; None for a number."""
    if isinstance(shape, type) and issubclass(shape, data.Struct | data.Union):
        return data.Layout.cast(shape)
    return shape if isinstance(shape, data.Layout) else None


def _kind(shape: object) -> str:
    """Describe how a shape's values are encoded; empty for a plain unsigned number."""
    if isinstance(shape, type) and issubclass(shape, enum.Enum):
        return ", ".join(f"{member.value}: {member.name}" for member in shape)
    layout = _layout(shape)
    if isinstance(layout, data.ArrayLayout):
        width = Shape.cast(layout.elem_shape).width
        return f"{layout.length} of {width} bits, element 0 lowest"
    if layout is not None:
        return "; ".join(f"{key} [{field.offset + field.width - 1}:{field.offset}]"
                         for key, field in layout)
    return "two's complement" if Shape.cast(shape).signed else ""


def _fields(shape: object) -> list[tuple[str, data.Field]] | None:
    """The fields that get ports of their own, lowest first; None where there is one port."""
    layout = _layout(shape)
    if layout is None or isinstance(layout, data.UnionLayout):
        return None
    if isinstance(layout, data.ArrayLayout) and (
            layout.length > _MOST_ELEMENTS or _layout(layout.elem_shape) is None):
        return None
    fields = sorted(((str(key), field) for key, field in layout), key=lambda pair: pair[1].offset)
    end = 0
    for _, field in fields:
        if field.offset < end:
            return None
        end = max(end, field.offset + field.width)
    return fields


def _parts(path: str, shape: object, offset: int) -> Iterator[tuple[str, object, int]]:
    """The path, shape and offset of each field that gets a port."""
    fields = _fields(shape)
    if fields is None:
        yield path, shape, offset
        return
    for key, field in fields:
        yield from _parts(f"{path}.{key}", field.shape, offset + field.offset)


def described(component: wiring.Component) -> dict[str, str]:
    """The description of each member, from the section "Members" of a component's docstring."""
    section = re.search(r"^Members\n-+\n(.*?)(?=^\S[^\n]*\n-+\n|\Z)",
                        inspect.getdoc(component) or "", re.DOTALL | re.MULTILINE)
    descriptions: dict[str, str] = {}
    names: list[str] = []
    for line in (section[1] if section else "").splitlines():
        if line and not line.startswith(" "):
            names = [name.strip() for name in line.partition(" : ")[0].split(",")]
        elif line.strip():
            for name in names:
                descriptions[name] = f"{descriptions.get(name, '')} {line.strip()}".strip()
    return descriptions


def ports_of_fields(component: wiring.Component) -> list[Port]:
    """All ports of the shell, in the signature's order. Those of no bits are left out."""
    ports: list[Port] = []
    for path, member, value in component.signature.flatten(component):
        shape = value.shape()
        words = [str(part) for part in path]
        direction = "input" if member.flow == In else "output"
        for where, inside, offset in _parts(".".join(words), shape, 0):
            cast = Shape.cast(inside)
            if cast.width:
                ports.append(Port(
                    plain_name(where.replace(".", "__")), plain_name("__".join(words)), where,
                    direction, offset, cast.width, Shape.cast(shape).width, cast.signed,
                    _kind(inside)))
    return ports


def width_range(width: int) -> str:
    """The range of a vector in Verilog; nothing for a bit."""
    return f"[{width - 1}:0] " if width > 1 else ""


def shell(name: str, core: str, ports: list[Port], clocks: Mapping[str, str],
          described: dict[str, str]) -> str:
    """The module with a port for each field, around the module with one for each member."""
    width = max((len(width_range(port.width)) for port in ports), default=0)
    heads = [("", f"  input  wire {clock}", says) for clock, says in clocks.items()]
    for number, port in enumerate(ports):
        member = port.path.split(".")[0]
        new = number == 0 or ports[number - 1].path.split(".")[0] != member
        above = _above(member, described.get(member, "")) if new else ""
        wide = width_range(port.width)
        heads.append((above, f"  {port.direction:6} wire {wide:{width}}{port.name}", port.says))
    lines = [f"module {name} ("]
    for number, (above, line, says) in enumerate(heads):
        comma = "," if number < len(heads) - 1 else ""
        lines.append(f"{above}{line}{comma}{f'  // {says}' if says else ''}")
    lines.append(");")
    members: dict[str, list[Port]] = {}
    for port in ports:
        members.setdefault(port.member, []).append(port)
    taken = {name for port in ports for name in (port.name, port.member)}

    def free(word: str) -> str:
        return word if word not in taken else free(f"{word}_")

    pins = [(clock, clock) for clock in clocks]
    for member, fields in members.items():
        if [port.name for port in fields] == [member]:
            pins.append((member, member))
        elif fields[0].direction == "input":
            pins.append((member, _packed(fields)))
        else:
            packed = free(f"{member}__packed")
            lines.append(f"  wire {width_range(fields[0].total)}{packed};")
            lines += [f"  assign {port.name} = {packed}{_bits(port)};" for port in fields]
            pins.append((member, packed))
    lines.append(f"  {core} {free('core')} (")
    lines += [f"    .{pin}({wire}){',' if number < len(pins) - 1 else ''}"
              for number, (pin, wire) in enumerate(pins)]
    return "\n".join([*lines, "  );", "endmodule\n"])


def _above(member: str, says: str) -> str:
    """A comment of whole lines over the ports of a member."""
    return "".join(f"  // {line}\n" for line in textwrap.wrap(f"{member}: {says}", 94)
                   ) if says else ""


def _bits(port: Port) -> str:
    if port.total == 1:
        return ""
    high = port.offset + port.width - 1
    return f"[{high}:{port.offset}]" if port.width > 1 else f"[{high}]"


def _packed(fields: list[Port]) -> str:
    """An input of the core from its fields; bits that no field has are zero."""
    parts: list[str] = []
    end = 0
    for port in sorted(fields, key=lambda port: port.offset):
        if port.offset > end:
            parts.insert(0, f"{port.offset - end}'b0")
        parts.insert(0, port.name)
        end = port.offset + port.width
    if fields[0].total > end:
        parts.insert(0, f"{fields[0].total - end}'b0")
    return f"{{{', '.join(parts)}}}" if len(parts) > 1 else parts[0]


def instance(name: str, ports: list[Port], clocks: Iterable[str]) -> str:
    """An instance to copy into a design, with wires of the ports' names."""
    pins = [*clocks, *(port.name for port in ports)]
    width = max(map(len, pins), default=0)
    body = ",\n".join(f"  .{pin:{width}} ({pin})" for pin in pins)
    return f"{name} {name}_1 (\n{body}\n);"
