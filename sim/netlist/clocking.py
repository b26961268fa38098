"""Clock and reset of a module, found by their use: what clocks its registers, and what resets them.

The module is read flat, as yosys' ``write_json`` gives it after ``opt_dff``, in which a register
has its reset as a port.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Use", "use_of"]

_NAMED = re.compile(
    r"(?:^|_)(?:a|s|h|p|i|m|n|g|ap|bus|wb|sys|core|main|glob|global|soft|async|sync|por?|power_?on|"
    r"cpu|axi|clk|wr?|rd?|src|dst)?_?n?(?:rst|reset|res)(?:n|b|x|ni|i|in|bi)?(?=_|\d|$)",
    re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_CLOCKS = ("CLK", "RD_CLK", "WR_CLK")
_DEEP = 200  # cells in a row between a port and a register's reset
_Bit = int | str


@dataclass
class Use:
    """What a module's registers use.

    Attributes
    ----------
    registers : int
        How many there are, memories included.
    clocks : dict of str to str
        The ports that clock registers, and a line of one of them.
    falling : str
        A line of a register that takes the falling edge; empty: there is none.
    made : str
        A line of a register whose clock is no port; empty: there is none.
    asynchronous, synchronous : Counter
        How many registers each port resets, as ``rst``, or ``~rst`` if at 0.
    """

    registers: int = 0
    clocks: dict[str, str] = field(default_factory=dict)
    falling: str = ""
    made: str = ""
    asynchronous: Counter[str] = field(default_factory=Counter)
    synchronous: Counter[str] = field(default_factory=Counter)

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {**vars(self), "resets": self.resets}

    @property
    def resets(self) -> list[str]:
        """The ports that may be the reset, of the surest kind that there are any of.

        Those that reset registers at any time and are called like resets; the same at an edge;
        any that reset registers at any time. What resets registers at an edge and has another
        name may be any input: ``clear``, ``start``.
        """
        for kind, named in ((self.asynchronous, True), (self.synchronous, True),
                            (self.asynchronous, False)):
            found = [port for port in kind
                     if not named or _NAMED.search(_CAMEL.sub("_", port.lstrip("~")))]
            if found:
                return found
        return []


def use_of(module: Mapping[str, Any]) -> Use:
    """What the registers of a flat module use. ``module`` is that of yosys' JSON."""
    nets, use = _Nets(module), Use()
    for cell in module["cells"].values():
        where = str(cell["attributes"].get("src", "")).partition("|")[0]
        for port in _CLOCKS:
            for place, bit in enumerate(cell["connections"].get(port, [])):
                if not _clocked(cell["parameters"], port, place):
                    continue
                use.registers += 1
                name, inverted = nets.port_of(bit)
                if not name:
                    use.made = use.made or where or "a register"
                    continue
                use.clocks.setdefault(name, where)
                if inverted == _is_one(cell["parameters"], port, "POLARITY", place):
                    use.falling = use.falling or where or name
        for port, kind in (("ARST", use.asynchronous), ("SRST", use.synchronous),
                           ("ALOAD", use.asynchronous)):
            if port in cell["connections"] and (port != "ALOAD" or _is_constant(cell)):
                active = _is_one(cell["parameters"], port, "POLARITY", 0)
                kind.update(nets.forcing(cell["connections"][port][0], active))
    return use


def _is_constant(cell: Mapping[str, Any]) -> bool:
    return all(isinstance(bit, str) for bit in cell["connections"]["AD"])


def _is_one(parameters: Mapping[str, Any], port: str, of: str, place: int) -> bool:
    """A bit of a parameter, such as ``CLK_POLARITY``; 1 where there is no such parameter."""
    bits = str(parameters.get(f"{port}_{of}", ""))
    return bits[len(bits) - 1 - place:len(bits) - place] != "0"


def _clocked(parameters: Mapping[str, Any], port: str, place: int) -> bool:
    return _is_one(parameters, port, "ENABLE", place)


class _Nets:
    """What drives each bit of a flat module."""

    def __init__(self, module: Mapping[str, Any]) -> None:
        self._inputs: dict[_Bit, str] = {}
        for name, port in module["ports"].items():
            if port["direction"] == "input":
                for place, bit in enumerate(port["bits"]):
                    self._inputs[bit] = name if len(port["bits"]) == 1 else f"{name}[{place}]"
        self._drivers: dict[_Bit, tuple[Mapping[str, Any], int]] = {
            bit: (cell, place) for cell in module["cells"].values()
            for place, bit in enumerate(cell["connections"].get("Y", ()))}
        self._forced: dict[tuple[_Bit, bool], list[str]] = {}

    def port_of(self, bit: _Bit) -> tuple[str, bool]:
        """The input port that a bit is, or is the inverse of; an empty name if it is none."""
        inverted = False
        for _ in range(_DEEP):
            if bit in self._inputs:
                return self._inputs[bit], inverted
            cell, place = self._drivers.get(bit, (None, 0))
            if cell is None or cell["type"] not in ("$buf", "$_BUF_", "$pos", "$not", "$_NOT_",
                                                    "$logic_not"):
                break
            if place >= len(cell["connections"]["A"]):
                break
            inverted ^= cell["type"] in ("$not", "$_NOT_", "$logic_not")
            bit = cell["connections"]["A"][place]
        return "", False

    def forcing(self, bit: _Bit, active: bool) -> list[str]:
        """The ports of one bit that make this bit ``active`` whatever else is, as ``rst`` or
        ``~rst``."""
        if (bit, active) not in self._forced:
            self._forced[bit, active] = [
                f"{'~' * (not level)}{port}" for port in sorted(self._support(bit))
                for level in (False, True) if self._value(bit, {port: level}, {}) is active]
        return self._forced[bit, active]

    def _support(self, bit: _Bit) -> set[str]:
        found, pending, seen = set(), [bit], set()
        while pending:
            at = pending.pop()
            if at in seen:
                continue
            seen.add(at)
            if at in self._inputs:
                found |= {self._inputs[at]} if "[" not in self._inputs[at] else set()
            elif at in self._drivers:
                pending += self._drives(at)
        return found

    def _drives(self, bit: _Bit) -> Iterator[_Bit]:
        cell, _ = self._drivers[bit]
        for port, bits in cell["connections"].items():
            if port != "Y":
                yield from bits

    def _value(self, bit: _Bit, given: Mapping[str, bool], seen: dict[_Bit, bool | None],
               deep: int = 0) -> bool | None:
        """A bit's value with these inputs, the others unknown; None if that is unknown, too."""
        if isinstance(bit, str):
            return {"0": False, "1": True}.get(bit)
        if bit in self._inputs:
            return given.get(self._inputs[bit])
        if bit in seen or bit not in self._drivers or deep > _DEEP:
            return seen.get(bit)
        seen[bit] = None
        cell, place = self._drivers[bit]
        values = {port: [self._value(at, given, seen, deep + 1) for at in bits]
                  for port, bits in cell["connections"].items() if port != "Y"}
        seen[bit] = _evaluate(cell["type"].strip("$_").lower(), values, place)
        return seen[bit]


def _any(values: list[bool | None]) -> bool | None:
    return True if True in values else None if None in values else False


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _evaluate(kind: str, values: Mapping[str, list[bool | None]], place: int) -> bool | None:
    """One bit of a cell's output, where its inputs decide it."""
    a, b = values.get("A", []), values.get("B", [])
    one, other = ([*bits, *[False] * (place + 1)][place] for bits in (a, b))
    if kind in ("buf", "pos"):
        return one
    if kind == "not":
        return _not(one) if place < len(a) else None
    if kind in ("logic_not", "reduce_or", "reduce_bool", "logic_or", "logic_and") and place:
        return False
    if kind in ("reduce_or", "reduce_bool"):
        return _any(a)
    if kind == "logic_not":
        return _not(_any(a))
    if kind == "reduce_and":
        return _not(_any([_not(value) for value in a]))
    if kind in ("or", "logic_or"):
        return _any([one, other] if kind == "or" else [_any(a), _any(b)])
    if kind in ("and", "logic_and"):
        pair = [one, other] if kind == "and" else [_any(a), _any(b)]
        return _not(_any([_not(value) for value in pair]))
    if kind == "mux":
        chosen = values["S"][0]
        return (one if chosen is False else other if chosen is True
                else one if one is other else None)
    if kind in ("eq", "ne", "eqx", "nex") and not place:
        wide = max(len(a), len(b))
        pairs = list(zip([*a, *[False] * (wide - len(a))], [*b, *[False] * (wide - len(b))],
                         strict=True))
        differ = _any([None if None in pair else pair[0] is not pair[1] for pair in pairs])
        return differ if kind in ("ne", "nex") else _not(differ)
    return None
