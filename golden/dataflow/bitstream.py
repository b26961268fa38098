"""Configuration of a grid: what every unit does, where every token goes, and the words that say so.

Source: SGMF, section 5.2 (a configuration register in each unit, "written once, when the kernel is
loaded") and 5.3. The layout is this project's: three words of 32 bits for a unit, one for a switch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cyclebound.golden.dataflow.grid import CHANNELS, PORTS, Grid, Kind, Node
from cyclebound.golden.dataflow.operations import OPERANDS, WIDTH

__all__ = ["CHOICE_BITS", "DEPTHS", "SEND_BITS", "UNIT_WORDS", "WORD", "Configuration", "Net",
           "Route", "UnitSettings", "check_depth", "connect", "encode", "fields"]

WORD = 32
UNIT_WORDS = 3     # where tokens go to and come from, and two words of the unit's own
CHOICE_BITS = 4    # 0: none, 1 + port
SEND_BITS = 2      # 0: none, 1 + channel

DEPTHS = (2, 4, 8, 16)  # entries that buffers can be built with

Link = tuple[Node, int]  # a node, and the port at which a token leaves it


def check_depth(depth: int) -> None:
    """Raise `ValueError` unless buffers can be built with this number of entries."""
    if depth not in DEPTHS:
        raise ValueError(f"depth must be {', '.join(map(str, DEPTHS[:-1]))} or {DEPTHS[-1]}, not "
                         f"{depth}")


def fields(kind: Kind, *, tid_width: int, address_width: int) -> tuple[tuple[str, int], ...]:
    """Names and bits of a unit's own configuration, from bit 0 on."""
    return {
        Kind.COMPUTE: (("operation", 5), ("literals", OPERANDS), ("value", WIDTH)),
        Kind.CONTROL: (("function", 2), ("operands", OPERANDS), ("inverted", OPERANDS),
                       ("slots", 5), ("split", 1)),
        Kind.LOAD_STORE: (("store", 1), ("gated", 1), ("base", address_width),
                          ("size", address_width + 1)),
        Kind.SOURCE: (("threads", tid_width + 1), ("value", WIDTH), ("number", 1)),
        Kind.SINK: (("needed", PORTS), ("threads", tid_width + 1)),
    }.get(kind, (("literals", 2), ("value", WIDTH)))


@dataclass(frozen=True)
class UnitSettings:
    """The settings of one unit of the grid.

    Attributes
    ----------
    values : mapping
        Its own configuration, by the names of `fields`; what is not there is 0.
    sends : mapping of int to int
        By port: the channel that leaves there.
    takes : mapping of int to int
        By operand: the port at which it comes in. A sink has an operand for each port.
    """

    values: Mapping[str, int] = field(default_factory=dict)
    sends: Mapping[int, int] = field(default_factory=dict)
    takes: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Configuration:
    """A grid's configuration. Units and switches that are not there do nothing.

    Attributes
    ----------
    units : mapping of Node to UnitSettings
        What units do.
    switches : mapping of Node to (mapping of int to int)
        For a switch, by output port: the input port whose tokens it has.
    """

    units: Mapping[Node, UnitSettings]
    switches: Mapping[Node, Mapping[int, int]]


@dataclass(frozen=True)
class Route:
    """A net's path to one operand: the links, in order."""

    links: tuple[Link, ...]
    operand: int


@dataclass(frozen=True)
class Net:
    """One channel of a unit, and its routes to all that take its tokens."""

    name: str
    unit: Node
    channel: int
    routes: tuple[Route, ...]


def connect(grid: Grid, values: Mapping[Node, Mapping[str, int]],
            nets: Sequence[Net]) -> Configuration:
    """The configuration that has these nets.

    Raises `ValueError` if two nets would drive one link, if a link would end in two operands, or
    if a path is none.
    """
    owner: dict[Link, str] = {}
    operand_at: dict[Link, int] = {}
    sends: dict[Node, dict[int, int]] = {unit: {} for unit in values}
    takes: dict[Node, dict[int, int]] = {unit: {} for unit in values}
    switches: dict[Node, dict[int, int]] = {}
    for net in nets:
        if not 0 <= net.channel < CHANNELS[grid.kind(net.unit)]:
            raise ValueError(f"net {net.name} must begin at a channel of {net.unit}, not at "
                             f"{net.channel}")
        for route in net.routes:
            here, entered = net.unit, None
            for link in route.links:
                node, port = link
                peer = grid.peer(node, port)
                if node != here or peer is None or (node == net.unit) != (entered is None):
                    raise ValueError(f"net {net.name} must go on from {here}, not by port {port} "
                                     f"of {node}")
                if owner.setdefault(link, net.name) != net.name:
                    raise ValueError(f"port {port} of {node} must carry one net, not "
                                     f"{owner[link]} and {net.name}")
                if entered is None:
                    sends.setdefault(node, {})[port] = net.channel
                elif switches.setdefault(node, {}).setdefault(port, entered) != entered:
                    raise ValueError(f"port {port} of {node} must have one input, not "
                                     f"{switches[node][port]} and {entered}")
                here, entered = peer
            if here.switch or entered is None:  # there is no link
                raise ValueError(f"net {net.name} must end at a unit, not at {here}")
            last = route.links[-1]
            if operand_at.setdefault(last, route.operand) != route.operand:
                raise ValueError(f"port {last[1]} of {last[0]} must end in one operand, not "
                                 f"{operand_at[last]} and {route.operand}")
            if takes.setdefault(here, {}).setdefault(route.operand, entered) != entered:
                raise ValueError(f"operand {route.operand} of {here} must have one driver, not two")
    return Configuration({unit: UnitSettings(dict(own), sends.get(unit, {}), takes.get(unit, {}))
                          for unit, own in values.items()}, switches)


def _check_settings(unit: Node, values: Mapping[str, int], tid_width: int,
                    address_width: int) -> None:
    """Check what the fields' widths do not limit. Raises `ValueError`."""
    if "threads" in values and not 1 <= values["threads"] <= 1 << tid_width:
        raise ValueError(f"threads of {unit} must be from 1 to {1 << tid_width}, not "
                         f"{values['threads']}")
    end = values.get("base", 0) + values.get("size", 0)
    if end > 1 << address_width:
        raise ValueError(f"the array of {unit} must end by word {1 << address_width}, not {end}")


def encode(grid: Grid, configuration: Configuration, *, tid_width: int,
           address_width: int) -> list[int]:
    """The words, in the order in which the port takes them. Raises `ValueError` for a value that
    is too large for its field, for more threads than there are identifiers, or none, and for an
    array that ends beyond the last address."""
    words = []
    for unit in grid.units:
        settings = configuration.units.get(unit, UnitSettings())
        kind = grid.kind(unit)
        route = sum(1 + channel << SEND_BITS * port for port, channel in settings.sends.items())
        if kind != Kind.SINK:
            route |= sum(1 + port << SEND_BITS * PORTS + CHOICE_BITS * operand
                         for operand, port in settings.takes.items())
        own = at = 0
        names = fields(kind, tid_width=tid_width, address_width=address_width)
        unknown = set(settings.values) - {name for name, _ in names}
        if unknown:
            raise ValueError(f"{unit} has no {sorted(unknown)[0]}")
        for name, bits in names:
            value = int(settings.values.get(name, 0))
            if name != "threads" and not 0 <= value < 1 << bits:
                raise ValueError(f"{name} of {unit} must be from 0 to {(1 << bits) - 1}, not "
                                 f"{value}")
            own |= value << at
            at += bits
        _check_settings(unit, settings.values, tid_width, address_width)
        words += [route, own & (1 << WORD) - 1, own >> WORD]
    for switch in grid.switches:
        chosen = configuration.switches.get(switch, {})
        words.append(sum(1 + source << CHOICE_BITS * port for port, source in chosen.items()))
    return words[::-1]
