"""An array with two streams of operands, cycle by cycle beside its golden model."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from cyclebound.tb.bench import Bench

__all__ = ["Played", "TwoStreams", "packed", "random_matrix", "shapes_of"]


class Played(NamedTuple):
    """The observed results and activity of an array for some operands.

    Attributes
    ----------
    results : list of list of int
        Rows of results, as they were taken.
    macs : list of int
        How many PEs were active, in each cycle in which there were any.
    """

    results: list[list[int]]
    macs: list[int]


class StreamedModel(Protocol):
    """A golden model of such an array."""

    def step(self, one: Any, other: Any, ready: bool, /
             ) -> tuple[bool, bool, list[int] | None, int]:
        """A cycle with what is on offer on both streams: which are taken, the results, and the PEs
        that are active."""


class TwoStreams:
    """The array, and its model.

    Parameters
    ----------
    bench : Bench
        With an array that has two streams of operands, ``results`` and ``active``.
    model : golden model
        Its ``step`` takes what is on offer on both streams, and whether the sink is ready; returns
        whether either is taken, the results on offer, and the active PEs.
    ports : tuple of two str
        The streams. What is on offer on ``left`` are values, and whether they are the last.
    operand_width, accumulator_width : int
        Bits of an element of either, and of the results.
    """

    def __init__(self, bench: Bench, model: StreamedModel, ports: tuple[str, str],
                 operand_width: int, accumulator_width: int) -> None:
        self.bench, self.model = bench, model
        self._widths = operand_width, accumulator_width
        i, o = bench.inputs, bench.outputs
        self._last, self._sink = i["left.payload.last"].mask, i["results.ready"].mask
        self._valid = [i[f"{port}.valid"].mask for port in ports]
        self._payload = [i[f"{port}.payload" + ".values" * (port == "left")] for port in ports]
        self._is_left = [port == "left" for port in ports]
        self._ready = [o[f"{port}.ready"].mask for port in ports]
        self._result, self._result_valid = o["results.payload"], o["results.valid"].mask
        self._active = o["active"]
        self._care = sum(self._ready) | self._result_valid | self._active.mask

    def _word(self, offered: Sequence, sink: bool) -> int:
        """The inputs of a cycle as one number."""
        word = self._sink if sink else 0
        for side, given in enumerate(offered):
            if given is not None:
                values, last = given if self._is_left[side] else (given, False)
                word |= self._valid[side] | (self._last if last else 0)
                word |= self._payload[side].to(packed(values, self._widths[0]))
        return word

    async def play(self, streams: Sequence[Iterable], count: int, *,
                   offers: Iterable[bool] = (), sinks: Iterable[bool] = ()) -> Played:
        """All operands, until so many rows of results are taken; the array is idle before.

        ``offers`` and ``sinks`` say for each cycle whether a new operand may be offered, and
        whether a result is taken; both are true where they end.
        """
        bench, sides = self.bench, [iter(stream) for stream in streams]
        offers, sinks = _then_true(offers), _then_true(sinks)
        offered: list = [None, None]
        results: list[list[int]] = []
        macs: list[int] = []
        while len(results) < count:
            sink = next(sinks)
            for side in range(2):
                if offered[side] is None and next(offers):
                    offered[side] = next(sides[side], None)
            seen = await bench.step(self._word(offered, sink))
            one, other, result, active = self.model.step(offered[0], offered[1], sink)
            expected, care = self._active.to(active), self._care
            for side, (ready, taken) in enumerate(zip(self._ready, (one, other), strict=True)):
                expected |= ready if taken else 0
                if taken:
                    offered[side] = None
            if result is not None:
                expected |= self._result_valid | self._result.to(packed(result, self._widths[1]))
                care |= self._result.mask
                results += [result] if sink else []
            bench.check(seen, expected, care)
            if active:
                macs.append(active.bit_count())
        return Played(results, macs)


def packed(values: Iterable[int], width: int) -> int:
    """The array ``values`` as one number, its first element in the lowest ``width`` bits."""
    mask = (1 << width) - 1
    return sum((int(value) & mask) << width * n for n, value in enumerate(values))


def random_matrix(bench: Bench, width: int, rows: int, columns: int) -> NDArray[np.int64]:
    """A random matrix; one in four has only extreme elements, whose sums are greatest."""
    half = 1 << width - 1
    values = [-half, half - 1] if bench.rng.random() < 0.25 else range(-half, half)
    return np.array(bench.rng.choices(values, k=rows * columns)).reshape(rows, columns)


def shapes_of(bench: Bench, count: int, most: Sequence[int]) -> list[tuple[int, ...]]:
    """Every (m, k, n) of the configuration's domain; without one, random ones up to ``most``."""
    if bench.domain:
        return list(itertools.product(*(range(low, high + 1) for low, high in
                                        (bench.domain[name] for name in "mkn"))))
    return [tuple(bench.rng.randint(1, limit) for limit in most) for _ in range(count)]


def _then_true(pattern: Iterable[bool]) -> Iterator[bool]:
    return itertools.chain(pattern, itertools.repeat(True))
