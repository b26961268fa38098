"""Durations that know their clock: NoC cycles, memory cycles, DDR cycles, nanoseconds.

memory-composition adds cycles of three clocks and nanoseconds, which comes out right only because
two of its clocks are the same. Here a sum across clocks is an error, and code that crosses one says
so with `Duration.to`, which is exact, or `Duration.whole`, which rounds up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

__all__ = ["NS", "Clock", "Duration"]


@dataclass(frozen=True)
class Clock:
    """A unit of durations: the cycles of one clock.

    Raises `ValueError` for a period that is not above 0.

    Attributes
    ----------
    name : str
        As a person says it: ``NoC cycles``.
    period_ns : Fraction
        Length of one unit in nanoseconds, above 0.
    """

    name: str
    period_ns: Fraction

    def __post_init__(self) -> None:
        if self.period_ns <= 0:
            raise ValueError(f"period of {self.name} must be above 0 ns, not {self.period_ns}")

    @classmethod
    def at(cls, name: str, mhz: int | Fraction) -> Clock:
        """A clock of that frequency. Raises `ValueError` unless it is above 0."""
        if mhz <= 0:
            raise ValueError(f"frequency of {name} must be above 0 MHz, not {mhz}")
        return cls(name, Fraction(1000) / Fraction(mhz))

    def __call__(self, amount: int | Fraction) -> Duration:
        """The duration of ``amount`` of this unit."""
        return Duration(Fraction(amount), self)


NS = Clock("ns", Fraction(1))


@dataclass(frozen=True)
class Duration:
    """So many of a clock's cycles, exactly. Sums and comparisons are within one clock."""

    amount: Fraction
    clock: Clock

    def to(self, clock: Clock) -> Duration:
        """This time in cycles of another clock, exactly: a fraction stays."""
        return Duration(self.amount * self.clock.period_ns / clock.period_ns, clock)

    def whole(self, clock: Clock | None = None) -> Duration:
        """The least whole number of cycles, of ``clock`` or its own, that is not shorter."""
        return (clock or self.clock)(math.ceil(self.to(clock or self.clock).amount))

    def _same(self, other: object) -> Fraction:
        if not isinstance(other, Duration):
            raise TypeError(f"{other!r} must be a Duration in {self.clock.name}")
        if other.clock != self.clock:
            raise TypeError(f"{self} and {other} must be converted to one clock first")
        return other.amount

    def __add__(self, other: Duration) -> Duration:
        return self.clock(self.amount + self._same(other))

    def __sub__(self, other: Duration) -> Duration:
        return self.clock(self.amount - self._same(other))

    def __mul__(self, factor: int) -> Duration:
        return self.clock(self.amount * factor)

    __rmul__ = __mul__

    def __lt__(self, other: Duration) -> bool:
        return self.amount < self._same(other)

    def __le__(self, other: Duration) -> bool:
        return self.amount <= self._same(other)

    def __gt__(self, other: Duration) -> bool:
        return self.amount > self._same(other)

    def __ge__(self, other: Duration) -> bool:
        return self.amount >= self._same(other)

    def __str__(self) -> str:
        amount = self.amount
        return f"{amount if amount.denominator == 1 else float(amount)} {self.clock.name}"
