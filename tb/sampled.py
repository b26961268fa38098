"""Expressions over sampled signals: many cycles at once, with the values that hardware would have.

`cyclebound.tb.probe` makes hardware of an expression; here the same expression is worked out from
values that were recorded, cycle by cycle, in chunks. Widths and signs follow Amaranth's rules,
because they decide what ``~`` means. Bits that are unknown (x, z) stay unknown, unless another
operand decides the result: ``0 & x`` is 0.
"""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from amaranth.hdl import Const, Shape, Signal, Value, unsigned

from cyclebound.tb.expression import Expression, ExpressionError, Step, parse

__all__ = ["Chunk", "Lane", "SampledExpression", "column"]

_SUMMED = 1 << 62  # sums below it fit int64
_FITS = 63  # bits of a value that numpy's int64 holds whether or not the value has a sign


def _fits(shape: Shape) -> bool:
    return shape.width <= _FITS


def _only_known(values: np.ndarray, unknown: np.ndarray | int, shape: Shape) -> np.ndarray:
    """The values with 0 where a bit is unknown, the sign among them."""
    known = values & ~unknown
    if not shape.signed:
        return known
    sign = 1 << shape.width - 1
    return (known & 2 * sign - 1 ^ sign) - sign


Part = tuple[str, int, tuple[Step, ...]]
"""A signal's full name, its width, and the rest of a path, which chooses bits of it."""

Found = Part | list[Part] | int
"""What a path leads to: a signal; several, side by side, the first one lowest; or a number."""


class Lane:
    """A value in each of several cycles.

    Parameters
    ----------
    values : numpy array
        int64 if the shape fits, else of Python's integers.
    like : Value
        Hardware of the same shape; only its shape is read.
    unknown : numpy array or None
        Ones where bits are unknown, which are 0 in ``values``; None: all are known.
    """

    def __init__(self, values: np.ndarray, like: Value, unknown: np.ndarray | None = None) -> None:
        kind = np.int64 if _fits(like.shape()) else object
        self.values, self.like = values.astype(kind, copy=False), like
        self.unknown = (unknown.astype(kind, copy=False)
                        if unknown is not None and unknown.any() else None)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def width(self) -> int:
        """Bits of each value."""
        return len(self.like)

    @property
    def events(self) -> np.ndarray:
        """The cycles in which a bit is known to be set."""
        return self.values != 0

    @property
    def doubtful(self) -> np.ndarray | None:
        """The cycles in which a bit may be set and none is known to be; None: there are none."""
        return None if self.unknown is None else (self.unknown != 0) & (self.values == 0)

    def _bit(self, values: np.ndarray, unknown: np.ndarray | None = None) -> "Lane":
        return Lane(values.astype(np.int64), Signal(1),
                    None if unknown is None else unknown.astype(np.int64))

    def any(self) -> "Lane":
        """Whether a bit is set."""
        return self._bit(self.events, self.doubtful)

    def ones(self) -> "Lane":
        """The number of set bits."""
        like = sum(Value.cast(self.like)) if self.width else Value.cast(0)
        bits = self.values & (1 << self.width) - 1 if self.like.shape().signed else self.values
        counted = (np.bitwise_count(bits).astype(np.int64) if bits.dtype != object else
                   np.array([bit.bit_count() for bit in bits], dtype=np.int64))
        return self._wholly(counted, Value.cast(like), self)

    def bits(self, index: int | slice) -> "Lane":
        """A bit, or several. Raises `IndexError` for what is not there."""
        if isinstance(index, slice):
            start, stop, _ = index.indices(self.width)
            if start >= stop:
                raise IndexError(f"[{_end(index.start)}:{_end(index.stop)}] has no bit: bits 7 to "
                                 f"4, [7:4] in Verilog, are [4:8] here")
        elif not -self.width <= index < self.width:
            raise IndexError(f"it has {self.width} bits, and no bit {index}")
        else:
            start = index % self.width
            stop = start + 1
        mask = (1 << stop - start) - 1

        def part(values: np.ndarray) -> np.ndarray:
            # of a wide value, a narrow part is narrow again
            bits = values >> start & mask
            return bits.astype(np.int64) if stop - start <= _FITS else bits

        return Lane(part(self.values), Signal(stop - start),
                    None if self.unknown is None else part(self.unknown))

    def _wholly(self, values: np.ndarray, like: Value, *of: "Lane | int") -> "Lane":
        """Unknown bits of the result: all, if any bit of an operand is unknown."""
        unknown = None
        for operand in of:
            if isinstance(operand, Lane) and operand.unknown is not None:
                here = operand.unknown != 0
                unknown = here if unknown is None else unknown | here
        if unknown is not None:
            ones = (1 << len(like)) - 1
            values = np.where(unknown, 0, values)
            unknown = (np.where(unknown, ones, 0) if _fits(unsigned(len(like)))
                       else np.array([ones * bool(bit) for bit in unknown], dtype=object))
        return Lane(values, like, unknown)

    def _numbers(self, other: "Lane | int", like: Value) -> tuple[np.ndarray, np.ndarray | int]:
        """Both operands, as integers that hold each other and the result."""
        mine, its = self.values, other.values if isinstance(other, Lane) else other
        shapes = [like.shape(), *(Shape.cast(Value.cast(operand.like).shape()) for operand in
                                  (self, other) if isinstance(operand, Lane))]
        if all(map(_fits, shapes)) and not (isinstance(its, int) and its.bit_length() > _FITS):
            return mine, its
        return mine.astype(object), its.astype(object) if isinstance(its, np.ndarray) else its

    def _with(self, other: "Lane | int", operate: Callable, *, turned: bool = False) -> "Lane":
        its = other.like if isinstance(other, Lane) else other
        like = Value.cast(operate(its, self.like) if turned else operate(self.like, its))
        left, right = self._numbers(other, like)
        values = operate(right, left) if turned else operate(left, right)
        if _fits(like.shape()):
            values = values.astype(np.int64)
        if self.unknown is None and (not isinstance(other, Lane) or other.unknown is None):
            return Lane(values, like)
        if operate not in (operator.and_, operator.or_, operator.xor):
            return self._wholly(values, like, self, other)
        return self._bitwise(other, operate, values, like, left, right)

    def _bitwise(self, other: "Lane | int", operate: Callable, values: np.ndarray, like: Value,
                 left: np.ndarray, right: np.ndarray | int) -> "Lane":
        """A bit is known if both operands' are, or if one alone decides."""
        mine = 0 if self.unknown is None else self.unknown
        its = other.unknown if isinstance(other, Lane) and other.unknown is not None else 0
        unknown = mine | its
        if operate is operator.and_:  # a known 0 decides
            unknown = unknown & (left | mine) & (right | its)
        elif operate is operator.or_:  # a known 1 decides; an unknown bit is 0 in its value
            unknown = unknown & ~left & ~right
        return Lane(_only_known(values, unknown, like.shape()), like, np.asarray(unknown))

    def __and__(self, other): return self._with(other, operator.and_)
    def __or__(self, other): return self._with(other, operator.or_)
    def __xor__(self, other): return self._with(other, operator.xor)
    def __add__(self, other): return self._with(other, operator.add)
    def __sub__(self, other): return self._with(other, operator.sub)
    def __rsub__(self, other): return self._with(other, operator.sub, turned=True)
    def __eq__(self, other): return self._with(other, operator.eq)
    def __ne__(self, other): return self._with(other, operator.ne)
    def __lt__(self, other): return self._with(other, operator.lt)
    def __le__(self, other): return self._with(other, operator.le)
    def __gt__(self, other): return self._with(other, operator.gt)
    def __ge__(self, other): return self._with(other, operator.ge)
    __rand__, __ror__, __rxor__, __radd__ = __and__, __or__, __xor__, __add__

    def __invert__(self) -> "Lane":
        shape = self.like.shape()
        values = ~self.values if shape.signed else self.values ^ (1 << self.width) - 1
        return Lane(values if self.unknown is None else
                    _only_known(values, self.unknown, shape), ~self.like, self.unknown)


def _end(number: int | None) -> str:
    return "" if number is None else str(number)


def constant(value: Lane | int, length: int) -> Lane:
    """A number as a `Lane` of that many equal cycles; a `Lane` unchanged."""
    if isinstance(value, Lane):
        return value
    like = Value.cast(int(value))
    return Lane(np.full(length, int(value), np.int64 if _fits(like.shape()) else object), like)


def column(values: list[int | str | None], width: int) -> Lane:
    """Values of one signal as waveforms give them; unknown bits as letters, nothing as None."""
    known, unknown = [], []
    for value in values:
        if isinstance(value, int):
            known.append(value)
            unknown.append(0)
        elif value is None:
            known.append(0)
            unknown.append((1 << width) - 1)
        else:
            bits = value.rjust(width, value[:1] if value[:1] not in ("", "1") else "0")
            known.append(int("".join("01"[bit in "1hH"] for bit in bits) or "0", 2))
            unknown.append(int("".join("10"[bit in "01hHlL"] for bit in bits) or "0", 2))
    kind = np.int64 if width <= _FITS else object
    return Lane(np.array(known, dtype=kind), Signal(width), np.array(unknown, dtype=kind))


@dataclass
class Chunk:
    """Consecutive cycles of the signals that are watched.

    Attributes
    ----------
    first : int
        Number of the first cycle.
    lanes : dict of str to Lane
        The value of each signal, by its full name.
    times : numpy array
        When each cycle ends, in the trace's own unit.
    gaps : dict of int to str
        Cycles, counted from the first, of which the record misses a part, with its place in words:
        there may have been any number of cycles.
    began : int or None
        When the first cycle began, if that is known.
    """

    first: int
    lanes: Mapping[str, Lane]
    times: np.ndarray
    gaps: Mapping[int, str] = field(default_factory=dict)
    began: int | None = None

    def __len__(self) -> int:
        return len(self.times)

    def part(self, start: int, stop: int) -> "Chunk":
        """Its cycles from ``start`` to ``stop - 1``, counted from its first."""
        if (start, stop) == (0, len(self)):
            return self
        return Chunk(self.first + start, {
            name: Lane(lane.values[start:stop], lane.like,
                       None if lane.unknown is None else lane.unknown[start:stop])
            for name, lane in self.lanes.items()}, self.times[start:stop],
            {at - start: place for at, place in self.gaps.items() if start <= at < stop},
            self.began if not start else int(self.times[start - 1]))


@dataclass
class _Kept:
    """State of one call of a function between two chunks."""

    values: dict = field(default_factory=dict)


class SampledExpression:
    """An expression over chunks, one after the other.

    Parameters
    ----------
    text : str
        The expression.
    find : callable
        From a path to what it leads to (`Found`).
    numbers : mapping
        Index letters with their values.
    counts : callable or None
        From a name to how many there are, for ``for``.

    Raises `ExpressionError` at once for a name that is not found.
    """

    def __init__(self, text: str, find: Callable[[tuple[Step, ...]], Found],
                 numbers: Mapping[str, int] | None = None,
                 counts: Callable[[str], int] | None = None) -> None:
        self._parsed: Expression = parse(text)
        self._find, self._numbers, self._counts = find, dict(numbers or {}), counts
        self.names: dict[str, int] = {}  # of the signals that it reads, with their widths
        self._kept: list[_Kept] = []
        self._chunk: Chunk | None = None  # None: only to find all names
        self.width = self._evaluate(0).width

    def reset(self) -> None:
        """Forget earlier cycles."""
        self._kept = []

    def lose(self) -> None:
        """Earlier cycles are not known any more: what a function keeps of them is not."""
        for kept in self._kept:
            kept.values = {"lost": True}

    def of(self, chunk: Chunk) -> Lane:
        """Its value in each cycle of the next chunk."""
        self._chunk = chunk
        return self._evaluate(len(chunk))

    def _evaluate(self, length: int) -> Lane:
        self._length, self._call = length, 0
        functions = {name: getattr(self, f"_{name}") for name in
                     ("past", "any", "count", "first", "held", "nth", "every", "rose", "fell")}
        try:
            value = constant(self._parsed.value(self._resolve, functions, self._numbers,
                                                self._counts), length)
        except RecursionError:
            raise ExpressionError(f"{self._parsed.text[:60]!r}: nested too deeply") from None
        if self._chunk is None:
            self.reset()
        return value

    def _resolve(self, path: tuple[Step, ...]) -> Lane:
        signal = self._find(path)
        if isinstance(signal, int):  # of as many bits as it needs, which ~ turns
            return constant(signal, self._length)
        if isinstance(signal, list):  # elements side by side, the first one lowest
            return _side_by_side([self._select(*part) for part in signal], self._length)
        return self._select(*signal)

    def _select(self, name: str, width: int, rest: tuple[Step, ...]) -> Lane:
        self.names[name] = width
        lane = (Lane(np.zeros(0, np.int64 if width <= _FITS else object), Signal(width))
                if self._chunk is None else self._chunk.lanes[name])
        for step in rest:
            if isinstance(step, str):
                raise LookupError(f"{name} has {width} bits, and no field {step}")
            lane = lane.bits(step)
        return lane

    # -- functions, each with what it keeps

    def _keeps(self) -> dict:
        if self._call == len(self._kept):
            self._kept.append(_Kept())
        self._call += 1
        return self._kept[self._call - 1].values

    def _lane(self, value: Lane | int) -> Lane:
        return constant(value, self._length)

    def _any(self, value: Lane | int) -> Lane:
        return self._lane(value).any()

    def _count(self, value: Lane | int) -> Lane:
        return self._lane(value).ones()

    @staticmethod
    def _unknown(kept: dict, lane: Lane) -> int:
        """The bits that are not known of the value kept from the cycle before."""
        return (1 << lane.width) - 1 if kept.pop("lost", False) else kept.get("unknown", 0)

    def _past(self, value: Lane | int) -> Lane:
        kept, lane = self._keeps(), self._lane(value)
        if not len(lane):
            return lane
        before = [kept.get("value", 0)], [self._unknown(kept, lane)]
        kept["value"] = lane.values[-1]
        kept["unknown"] = 0 if lane.unknown is None else lane.unknown[-1]
        kind = lane.values.dtype

        def shifted(first: list, values: np.ndarray) -> np.ndarray:
            return np.concatenate((np.array(first, dtype=kind), values[:-1]))

        unknown = None
        if lane.unknown is not None or before[1] != [0]:
            unknown = shifted(before[1], np.zeros(len(lane), kind) if lane.unknown is None
                              else lane.unknown)
        return Lane(shifted(before[0], lane.values), lane.like, unknown)

    def _rose(self, value: Lane | int) -> Lane:
        bit = self._lane(value).bits(0)
        return bit & ~self._past(bit)

    def _fell(self, value: Lane | int) -> Lane:
        bit = self._lane(value).bits(0)
        return ~bit & self._past(bit)

    def _first(self, event: Lane | int, again: Lane | int) -> Lane:
        kept = self._keeps()
        event, again = self._lane(event).any(), self._lane(again).any()
        happened, forgotten = event.events, again.events
        at = np.arange(1, len(event) + 1)
        # the latest cycle, from 1, in which each was; 0: before this chunk
        seen = np.maximum.accumulate(np.where(happened & ~forgotten, at, 0))
        cleared = np.maximum.accumulate(np.where(forgotten, at, 0))
        after = np.where((seen == 0) & (cleared == 0), kept.get("seen", False), seen > cleared)
        before = np.concatenate(([kept.get("seen", False)], after[:-1]))[:len(event)]
        if len(event):
            kept["seen"] = bool(after[-1])
        value = event._wholly((happened & ~before).astype(np.int64), Signal(1), event)
        if kept.get("lost") and len(settles := np.flatnonzero(happened | forgotten)):
            del kept["lost"]  # an earlier event may have been this one
            if happened[settles[0]]:
                doubt = np.arange(len(event)) == settles[0]
                value = Lane(np.where(doubt, 0, value.values), Signal(1),
                             doubt if value.unknown is None else doubt | value.unknown)
        return value

    def _held(self, now: Lane | int, when: Lane | int) -> Lane:
        kept, now, when = self._keeps(), self._lane(now), self._lane(when)
        if not len(now):
            return now
        doubtful = now.unknown if now.unknown is not None else np.zeros(len(now), now.values.dtype)
        at = np.maximum.accumulate(np.where(when.events, np.arange(len(now)), -1))
        values = np.where(at >= 0, now.values[at], kept.get("value", 0)).astype(now.values.dtype)
        unknown = np.where(at >= 0, doubtful[at], self._unknown(kept, now)).astype(
            now.values.dtype)
        kept["value"], kept["unknown"] = values[-1], unknown[-1]
        return Lane(values, now.like, unknown)

    def _nth(self, number: Lane | int, every: Lane | int) -> Lane:
        kept, number, every = self._keeps(), self._lane(number), self._lane(every)
        reached, total = np.zeros(len(number), np.int64), kept.get("sum", 0)
        many = int(every.values[0]) if len(number) else 0
        if len(number) and 0 <= total < many < _SUMMED // len(number) and (
                (every.values == many) & (number.values >= 0) & (number.values <= many)).all():
            upto = total + np.cumsum(number.values)
            reached = upto // many - np.concatenate(([total], upto[:-1])) // many
            total = int(upto[-1] % many)
        else:
            for cycle, (more, least) in enumerate(zip(number.values.tolist(), every.values.tolist(),
                                                      strict=True)):
                total += more
                if total >= least:
                    reached[cycle] = 1
                    total -= least
        kept["sum"] = total
        return self._doubted(kept, number._wholly(reached, Signal(1), number, every))

    @staticmethod
    def _doubted(kept: dict, value: Lane) -> Lane:
        """A bit that counts from a cycle which is not known any more: unknown until a reset."""
        return value if "lost" not in kept else Lane(
            np.zeros(len(value), np.int64), Signal(1), np.ones(len(value), np.int64))

    def _every(self, cycles: Lane | int) -> Lane:
        if isinstance(cycles, Lane) and isinstance(cycles.like, Const):
            cycles = cycles.like.value
        if not isinstance(cycles, int) or cycles < 1:
            raise ExpressionError(f"{self._parsed.text!r}: every(...) needs a whole number of at "
                                  "least 1")
        kept = self._keeps()
        at = kept.get("cycle", 0) + np.arange(self._length)
        kept["cycle"] = kept.get("cycle", 0) + self._length
        return self._doubted(kept, Lane(((at % cycles == 0) & (at > 0)).astype(np.int64),
                                        Signal(1)))


def _side_by_side(parts: list[Lane], length: int) -> Lane:
    """Several values as one, the first in the lowest bits."""
    width = sum(part.width for part in parts)
    kind = np.int64 if width <= _FITS else object
    values, unknown, at = np.zeros(length, kind), np.zeros(length, kind), 0
    for part in parts:
        values = values | part.values.astype(kind) << at
        if part.unknown is not None:
            unknown = unknown | part.unknown.astype(kind) << at
        at += part.width
    return Lane(values, Signal(width), unknown)
