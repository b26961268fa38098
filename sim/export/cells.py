"""RTLIL whose cells have operands as wide as they are taken to be, so that its Verilog has too.

Verilog extends a narrower operand by rules that depend on the context, and cuts what is wider than
its target. yosys relies on these rules; a linter reports each place. Here an operand is extended
with zeros or copies of its sign, as RTLIL defines the cell, and a result that loses bits gets a
wire for all of them. Equivalence with what was given is checked by `tests/sim/test_verilog.py`.

Source: yosys manual, "Internal cell library" (word-level cells).
"""

import re
from dataclasses import dataclass, field

from cyclebound.sim.netlist.rtlil import Bits, Cell, Connect, Design, Item, Module, Wire

__all__ = ["explicit_widths"]

_SAME = {"$and", "$or", "$xor", "$xnor", "$add", "$sub", "$mul"}  # low bits need low bits only
_COMPARED = {"$eq", "$ne", "$eqx", "$nex"}
_ORDERED = {"$lt", "$le", "$gt", "$ge"}
_TO_ONE_BIT = {"$reduce_and", "$reduce_or", "$reduce_xor", "$reduce_xnor", "$reduce_bool",
               "$logic_not", "$logic_and", "$logic_or"}
_DIVIDED = {"$div", "$mod", "$divfloor", "$modfloor"}
_SHIFTED = {"$shl", "$sshl", "$shr", "$sshr", "$shift", "$shiftx"}


@dataclass
class _Cell:
    """One cell: its parameters and connections, and what has to stand before it."""

    kind: str
    name: str
    parameters: dict[str, str]
    ports: dict[str, Bits]
    before: list[Item] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)  # names in its module

    def fresh(self, word: str) -> str:
        """A name that nothing in the module has, for a wire that belongs to the cell."""
        name = f"\\{re.sub(r'[^A-Za-z0-9_]', '_', self.name[1:])}_{word}"
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    def signed(self, port: str) -> bool:
        return self.parameters.get(f"{port}_SIGNED", "0") == "1"

    def connect(self, port: str, signal: Bits, *, signed: bool = False) -> None:
        self.ports[port] = signal
        self.parameters[f"{port}_WIDTH"] = str(signal.width)
        self.parameters[f"{port}_SIGNED"] = str(int(signed))

    def fit(self, port: str, width: int, *, kept: bool = False) -> None:
        """Make an operand so wide; with ``kept``, what is signed stays so."""
        signed = self.signed(port)
        self.connect(port, self.ports[port].fit(width, signed=signed), signed=signed and kept)

    def result(self, width: int) -> None:
        """Make the result so wide: what is cut goes nowhere, what is missing is zero."""
        target = self.ports["Y"]
        if target.width > width:
            rest = target.width - width
            high = target.high(rest)
            self.before.append(Connect(str(high), str(Bits((("0" * rest, rest - 1, 0),)))))
            self.ports["Y"] = target.low(width)
        elif target.width < width:
            wire = self.fresh("wide")
            self.before += [Wire(wire, {"width": width}),
                            Connect(str(target), f"{wire} [{target.width - 1}:0]")]
            self.ports["Y"] = Bits(((wire, width - 1, 0),))
        self.parameters["Y_WIDTH"] = str(width)

    @property
    def items(self) -> list[Item]:
        """What it has become."""
        return [*self.before, Cell(self.name, self.kind, self.parameters, {
            port: str(signal) for port, signal in self.ports.items()})]


def _widen(cell: _Cell) -> None:
    """Make every width of a cell explicit."""
    kind = cell.kind
    width = {name: signal.width for name, signal in cell.ports.items()}
    if "B" in cell.ports and kind not in _SHIFTED and cell.signed("A") != cell.signed("B"):
        raise ValueError(f"Cell {cell.name} has operands of different signs")
    if kind in ("$not", "$neg", "$pos"):
        cell.fit("A", width["Y"])
    elif kind in _SAME:
        cell.fit("A", width["Y"])
        cell.fit("B", width["Y"])
    elif kind in _COMPARED | _ORDERED:
        both = max(width["A"], width["B"])
        for port in "AB":
            cell.fit(port, both, kept=kind in _ORDERED)
        cell.result(1)
    elif kind in _TO_ONE_BIT:
        for port in {"A", "B"} & cell.ports.keys():
            cell.parameters[f"{port}_SIGNED"] = "0"
        cell.result(1)
        if kind == "$logic_not":
            if width["A"] == 1:
                cell.kind = "$not"
            else:
                cell.kind = "$eq"
                cell.connect("B", Bits((("0" * width["A"], width["A"] - 1, 0),)))
        elif kind in ("$logic_and", "$logic_or"):
            for port in "AB":
                if width[port] > 1:
                    _any_bit(cell, port)
    elif kind in _DIVIDED:
        most = max(width.values())
        for port in "AB":
            cell.fit(port, most, kept=True)
        cell.result(most)
    elif kind in ("$shl", "$sshl"):
        cell.kind = "$shl"
        cell.fit("A", width["Y"])
        cell.parameters["B_SIGNED"] = "0"
    elif kind in ("$shift", "$shiftx") and cell.signed("B") and str(
            cell.ports["B"].high(1)) != "1'0":
        _either_way(cell)
    elif kind in ("$shr", "$sshr", "$shift", "$shiftx"):
        most = max(width["A"], width["Y"])
        arithmetic = kind == "$sshr" and cell.signed("A")
        cell.kind = "$sshr" if arithmetic else "$shr"
        cell.fit("A", most, kept=arithmetic)
        cell.parameters["B_SIGNED"] = "0"
        cell.result(most)


def _either_way(cell: _Cell) -> None:
    """A shift to the right, or by a negative number to the left: one of two shifts. What comes from
    outside of an indexed signal (``$shiftx``) is zero, too."""
    amount, target = cell.ports["B"], cell.ports["Y"]
    bits, width = amount.width, target.width
    back, right, left = (cell.fresh(word) for word in ("back", "right", "left"))
    cell.before += [Wire(name, {"width": size}) for name, size in (
        (back, bits), (right, width), (left, width))]

    def part(kind: str, name: str, by: Bits | None, to: str) -> list[Item]:
        a, b = (amount, None) if by is None else (cell.ports["A"], by)
        given = {"A": a, **({"B": b} if b else {}), "Y": Bits(((to, len_of[to] - 1, 0),))}
        signed = {"A": int(b is not None and cell.signed("A")), "B": 0}
        made = _Cell(kind, f"${name[1:]}$cell", {
            **{f"{port}_WIDTH": str(signal.width) for port, signal in given.items()},
            **{f"{port}_SIGNED": str(signed[port]) for port in given if port != "Y"}},
            given, taken=cell.taken)
        _widen(made)
        return made.items

    len_of = {back: bits, right: width, left: width}
    cell.before += [*part("$neg", back, None, back), *part("$shr", right, amount, right),
                    *part("$shl", left, Bits(((back, bits - 1, 0),)), left)]
    cell.kind = "$mux"
    cell.ports.clear()
    cell.ports |= {"A": Bits(((right, width - 1, 0),)), "B": Bits(((left, width - 1, 0),)),
                   "S": amount.high(1), "Y": target}
    cell.parameters.clear()
    cell.parameters["WIDTH"] = str(width)


def _any_bit(cell: _Cell, port: str) -> None:
    """Put the OR of an operand's bits in its place."""
    operand = cell.ports[port]
    wire = cell.fresh(f"any_{port.lower()}")
    reduce = _Cell("$reduce_bool", f"${wire[1:]}$cell",
                   {"A_SIGNED": "0", "A_WIDTH": str(operand.width), "Y_WIDTH": "1"},
                   {"A": operand, "Y": Bits(((wire, 0, 0),))})
    cell.before += [Wire(wire), *reduce.items]
    cell.connect(port, Bits(((wire, 0, 0),)))


_WIDENED = (_SAME | _COMPARED | _ORDERED | _TO_ONE_BIT | _DIVIDED | _SHIFTED
            | {"$not", "$neg", "$pos"})


def explicit_widths(design: Design) -> None:
    """Make each operand as wide as its cell takes it to be, in a design after ``proc``.

    Raises `ValueError` for a cell whose operands differ in sign, for which yosys gives no rule. No
    wire stays signed, since an expression over signed wires would be: each cell says itself how it
    takes its operands.
    """
    for module in design.modules.values():
        _widen_all(module)


def _widen_all(module: Module) -> None:
    wires, taken = module.wires, module.names
    items: list[Item] = []
    for item in module.items:
        if isinstance(item, Wire):
            item.options.pop("signed", None)
        if isinstance(item, Cell) and item.kind in _WIDENED:
            cell = _Cell(item.kind, item.name, item.parameters, {
                port: Bits.read(signal, wires) for port, signal in item.ports.items()},
                taken=taken)
            _widen(cell)
            items += cell.items
        else:
            items.append(item)
    module.items = items
