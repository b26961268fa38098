"""A design as gates and registers, read from yosys, and its cycles for a solver, one by one.

Bits are numbers, as yosys numbers them. What drives a bit is an AND, an inverter, a register, or
nothing: then it is free in every cycle.
"""

import itertools
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Cycles", "Netlist", "Value"]

Value = Any  # bool, or what a solver takes for one (z3's BoolRef)

_ZERO, _ONE = -1, -2  # no bit of yosys has a number below 0


@dataclass
class Netlist:
    """Gates, registers and checks of a flat design that has nothing but AND gates and inverters.

    Attributes
    ----------
    gates : dict
        Of each bit that a gate drives, the bits that it is the AND of (two), or the inverse of.
    registers : dict
        Of each register's bit, the bit that it takes at the end of a cycle, and its value at the
        beginning, or None if that may be any.
    inputs : dict
        Of each bit of an input port, the port's name and the number of the bit.
    outside : dict
        The same for what cells drive that were left as black boxes: the cell's port.
    rigid : set
        Bits that are free, but keep their value.
    checks : dict
        By name, the bit that says what is assumed, asserted or covered, and the bit that says when.
    flavors : dict
        By name, whether that is ``assume``, ``assert`` or ``cover``.
    names : dict
        Of each bit that has one, its name in the source.
    ports : dict
        The bits of each port of the block, `dut`, by name, where that is no black box.
    """

    gates: dict[int, tuple[int, ...]] = field(default_factory=dict)
    registers: dict[int, tuple[int, bool | None]] = field(default_factory=dict)
    inputs: dict[int, tuple[str, int]] = field(default_factory=dict)
    outside: dict[int, tuple[str, int]] = field(default_factory=dict)
    rigid: set[int] = field(default_factory=set)
    checks: dict[str, tuple[int, int]] = field(default_factory=dict)
    flavors: dict[str, str] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    constants: dict[int, bool] = field(default_factory=dict)
    ports: dict[str, list[int]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path, top: str = "top") -> "Netlist":
        """The module of a file that ``write_json`` wrote after ``aigmap``."""
        module = json.loads(path.read_text())["modules"][top]
        net, strange = cls(constants={_ZERO: False, _ONE: True}), itertools.count(-3, -1)

        def bit(number: int | str) -> int:
            if isinstance(number, int):
                return number
            # what nothing defines is any value
            return {"0": _ZERO, "1": _ONE}.get(number) or next(strange)

        inits: dict[int, bool] = {}  # a name of a bit says it, and others of it need not
        for name, wire in module["netnames"].items():
            init = wire["attributes"].get("init", "")
            if name.startswith("dut."):
                net.ports[name.removeprefix("dut.")] = [bit(number) for number in wire["bits"]]
            for place, number in enumerate(wire["bits"]):
                if not isinstance(number, int):
                    continue
                if place < len(init) and init[-1 - place] in "01":
                    inits[number] = init[-1 - place] == "1"
                label = f"{name}[{place}]" if len(wire["bits"]) > 1 else name
                known = net.names.get(number)
                if "$" not in label and (known is None or _rank(label) < _rank(known)):
                    net.names[number] = label
        for name, port in module["ports"].items():
            if port["direction"] == "input":
                net.inputs |= {bit(number): (name, place)
                               for place, number in enumerate(port["bits"])}
        for name, cell in module["cells"].items():
            pins = {pin: [bit(number) for number in bits]
                    for pin, bits in cell["connections"].items()}
            kind = cell["type"]
            if kind == "$_AND_":
                net.gates[pins["Y"][0]] = pins["A"][0], pins["B"][0]
            elif kind == "$_NOT_":
                net.gates[pins["Y"][0]] = pins["A"][0],
            elif kind in ("$_DFF_P_", "$_FF_", "$anyinit"):
                net.registers |= {here: (before, inits.get(here))
                                  for before, here in zip(pins["D"], pins["Q"], strict=True)}
            elif kind == "$anyconst":
                net.rigid |= {*pins["Y"]}
            elif kind in ("$check", "$assume", "$assert", "$cover"):
                label = name.rpartition(".")[2]
                assert label not in net.checks, label
                net.checks[label] = pins["A"][0], pins["EN"][0]
                net.flavors[label] = cell["parameters"].get("FLAVOR", kind[1:])
            elif kind not in ("$anyseq", "$scopeinfo"):
                directions = cell.get("port_directions", {})
                if kind.startswith("$"):
                    raise RuntimeError(f"{name}: a {kind} is left in the netlist")
                net.outside |= {number: (pin, place) for pin, bits in pins.items()
                                if directions.get(pin) == "output"
                                for place, number in enumerate(bits)}
        return net

    def fan_in(self, bits: Iterable[int], *, registers: bool = False) -> set[int]:
        """All bits that these depend on in the same cycle, themselves included: the gates that
        drive them. With ``registers``, in any cycle, through registers: their cone of influence.
        """
        seen: set[int] = set()
        pending = list(bits)
        while pending:
            number = pending.pop()
            if number in seen:
                continue
            seen.add(number)
            pending += self.gates.get(number, ())
            if registers and number in self.registers:
                pending.append(self.registers[number][0])
        return seen

    def named(self, bits: Iterable[int]) -> list[str]:
        """The names of signals that these bits belong to, each once, without those of checkers."""
        found = {self.names[number].partition("[")[0] for number in bits if number in self.names}
        return sorted(name.removeprefix("check.") for name in found)


def _rank(label: str) -> tuple[bool, int, str]:
    """Names of the checker's ports first, then short ones."""
    return not label.startswith("check."), label.count("."), label


class Cycles:
    """A netlist's bits in consecutive cycles, as formulas that are made where they are asked for.

    Parameters
    ----------
    net : Netlist
        The design.
    start : str
        ``init``: registers begin with their initial value; ``free``: with any.
    reset : callable
        From the number of a cycle, whether reset is held in it: a formula, too.
    fresh : callable
        From a name, a new Boolean variable.
    both, inverse : callable
        The AND of two formulas, and the inverse of one.
    """

    def __init__(self, net: Netlist, start: str, reset: Callable[[int], Value],
                 fresh: Callable[[str], Value], both: Callable[[Value, Value], Value],
                 inverse: Callable[[Value], Value]) -> None:
        self.net, self._start, self._reset = net, start, reset
        self._fresh, self._both, self._inverse = fresh, both, inverse
        self._values: list[dict[int, Value]] = []
        self._constant: dict[int, Value] = {}

    def value(self, number: int, cycle: int, given: Mapping[int, Value] | None = None,
              known: dict[int, Value] | None = None) -> Value:
        """The bit in a cycle.

        With ``given``, inputs have these values instead in this cycle; ``known`` then keeps what
        follows from them.
        """
        while len(self._values) <= cycle:
            self._values.append({})
        values = self._values[cycle] if known is None else known
        pending = [number]
        while pending:
            now = pending[-1]
            if now in values:
                pending.pop()
                continue
            missing = [before for before in self.net.gates.get(now, ()) if before not in values]
            if missing:
                pending += missing
                continue
            values[now] = self._made(now, cycle, values, given)
            pending.pop()
        return values[number]

    def _made(self, number: int, cycle: int, values: Mapping[int, Value],
              given: Mapping[int, Value] | None) -> Value:
        net = self.net
        if number in net.gates:
            pins = [values[bit] for bit in net.gates[number]]
            return self.inverse(pins[0]) if len(pins) == 1 else self._and(*pins)
        if number in net.constants:
            return net.constants[number]
        if given is not None and number in given:
            return given[number]
        if net.inputs.get(number, ("",))[0] == "rst":
            return self._reset(cycle)
        if number in net.registers:
            before, init = net.registers[number]
            if cycle:
                return self.value(before, cycle - 1)
            if self._start == "init" and init is not None:
                return init
        if number in net.rigid:
            if number not in self._constant:
                self._constant[number] = self._fresh(f"c{number}")
            return self._constant[number]
        if number in self._values[cycle]:  # what is not given is the same
            return self._values[cycle][number]
        made = self._fresh(f"b{number}@{cycle}")
        self._values[cycle][number] = made
        return made

    def _and(self, one: Value, other: Value) -> Value:
        if one is False or other is False:
            return False
        if one is True:
            return other
        return one if other is True or one is other else self._both(one, other)

    def inverse(self, one: Value) -> Value:
        """The inverse of a formula."""
        return (not one) if isinstance(one, bool) else self._inverse(one)

    def holds(self, check: str, cycle: int, given: Mapping[int, Value] | None = None,
              known: dict[int, Value] | None = None) -> Value:
        """What a check says in a cycle: true where it does not apply."""
        fact, when = (self.value(bit, cycle, given, known) for bit in self.net.checks[check])
        return self.inverse(self._and(when, self.inverse(fact)))

    def made(self, cycle: int) -> Mapping[int, Value]:
        """The bits of a cycle that were asked for so far."""
        return self._values[cycle] if cycle < len(self._values) else {}
