"""The packed buses of a simulated top: which bits hold which port.

Touching one wide signal costs a testbench far less than touching a hundred narrow ones
(docs/performance.md), so all inputs of a block arrive on one bus, and all its outputs leave on
another. Here are the names of their parts, e.g. ``ports.2.0.request.payload.address``.
"""

import functools
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

__all__ = ["Bus", "Field"]


@dataclass(frozen=True)
class Field:
    """Bits ``offset`` to ``offset + width - 1`` of a bus."""

    name: str
    offset: int
    width: int
    signed: bool = False

    @property
    def mask(self) -> int:
        """The field's bits on the bus."""
        return ((1 << self.width) - 1) << self.offset

    def of(self, word: int) -> int:
        """This field's value on a bus that holds ``word``."""
        value = word >> self.offset & (1 << self.width) - 1
        return value - (1 << self.width) if self.signed and value >> self.width - 1 else value

    def to(self, value: int) -> int:
        """The bus word that holds ``value`` in this field, and 0 elsewhere."""
        return (value & (1 << self.width) - 1) << self.offset


class Bus:
    """All fields of one bus.

    Parameters
    ----------
    fields : iterable of mappings
        As `cyclebound.sim.build.elaborate.fields_json` writes them.
    """

    def __init__(self, fields: Iterable[Mapping[str, object]]) -> None:
        self.fields = {str(f["name"]): Field(**f) for f in fields}  # type: ignore[arg-type]
        self.width = max((f.offset + f.width for f in self.fields.values()), default=0)
        self._offers: dict[tuple[str, object], int] = {}

    def __getitem__(self, name: str) -> Field:
        try:
            return self.fields[name]
        except KeyError:
            raise KeyError(f"no field {name!r} on the bus; it has "
                           f"{', '.join(self.fields)}") from None

    def pack(self, values: Mapping[str, int]) -> int:
        """The bus word with these fields set, and 0 elsewhere."""
        word = 0
        try:
            for name, value in values.items():
                word |= self.fields[name].to(value)
        except KeyError:
            self[name]  # which says what there is
            raise
        return word

    def offer(self, port: str, payload: object) -> int:
        """The bus word in which a stream is valid with a payload, a frozen dataclass of numbers.

        Kept, as an offer stands for many cycles: made in each, it was a third of a testbench.
        """
        word = self._offers.get((port, payload))
        if word is None:
            word = self._offers[port, payload] = self.pack({f"{port}.valid": 1, **{
                f"{port}.payload.{field.name}": int(getattr(payload, field.name))
                for field in fields(payload)}})  # type: ignore[arg-type]
        return word

    def mask(self, names: Iterable[str]) -> int:
        """The bits of these fields on the bus."""
        return functools.reduce(operator.or_, (self[name].mask for name in names), 0)

    def unpack(self, word: int) -> dict[str, int]:
        """Every field of a bus word, whole ports and their parts."""
        return {name: field.of(word) for name, field in self.fields.items()}

    def differing(self, seen: int, expected: int, care: int) -> str:
        """In words, the narrowest fields in which two bus words differ where it matters."""
        wrong = [f for f in self.fields.values() if (seen ^ expected) & care & f.mask]
        inner = [f for f in wrong
                 if not any(g is not f and g.mask & f.mask == g.mask for g in wrong)]
        return "; ".join(f"{f.name} is {f.of(seen)}, expected {f.of(expected)}" for f in inner)
