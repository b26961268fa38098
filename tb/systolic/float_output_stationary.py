"""Testbench of the output-stationary array in floating point: every output, in every cycle."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from numpy.typing import NDArray

from cyclebound.golden.systolic.float_layout import STAGES
from cyclebound.golden.systolic.float_output_stationary import FloatOutputStationaryModel
from cyclebound.golden.systolic.mapping import Dataflow, Mapping, ceil_div, map_product
from cyclebound.golden.systolic.output_stationary import folds
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.systolic.float_tester import FloatTester


class FloatOutputStationaryTester(FloatTester):
    """Some folds at a time; the last ones together with folds of zeros."""

    model, ports, macs = FloatOutputStationaryModel, ("left", "top"), "macs"

    def mapped(self, m: int, k: int, n: int) -> Mapping:
        mapped = map_product(Dataflow.OUTPUT, rows=self.rows, columns=self.columns, m=m, k=k, n=n)
        return replace(mapped, folds=ceil_div(mapped.folds, STAGES) * STAGES)

    def cut(self, a: NDArray, b: NDArray) -> tuple[Sequence[Iterable], int]:
        k = len(b)
        steps = [list(fold.steps()) for fold in folds(a, b, self.rows, self.columns)]
        zeros = [([0] * self.rows, number == k - 1, [0] * self.columns) for number in range(k)]
        steps += [zeros] * (-len(steps) % STAGES)
        turns = [step[number] for start in range(0, len(steps), STAGES) for number in range(k)
                 for step in steps[start:start + STAGES]]
        return ([[turn[:2] for turn in turns], [turn[2] for turn in turns]],
                self.rows * len(steps))


@testbench
async def every_shape(bench: Bench) -> None:
    """Every product of the domain; where there is none, random ones."""
    await FloatOutputStationaryTester(bench).shapes(5, (16, 9, 16))


@testbench
async def stalls_and_backpressure(bench: Bench) -> None:
    """Operands that miss their turns, sums that wait."""
    await FloatOutputStationaryTester(bench).stalls((5, 2, 5), (9, 5, 9))
