"""Golden model and bound of the post-processing unit, and its reference in numpy.

Ref: thesis on AI accelerators, chapters 2.3 and 2.4 (bias, ReLU); the scale is a multiplier
over a power of two, which this project chose.
"""

from collections import deque
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.bound import Range, prediction
from cyclebound.golden.systolic.sizes import whole

__all__ = ["STAGES", "PostProcessingModel", "Scale", "post_process", "requantise"]

STAGES = 6
"""Bias, products, their sum, shift, rounding, limits (to which a shortcut belongs)."""


@dataclass(frozen=True)
class Scale:
    """From sums to results: times ``multiplier / 2 ** shift``, no less than ``low``, no more than
    ``high``. ReLU is ``low=0``.

    Raises `TypeError` and `ValueError`, which name what does not fit 16, 6, and twice 8 bits.
    """

    multiplier: int = 1
    shift: int = 0
    low: int = -128
    high: int = 127

    def __post_init__(self) -> None:
        limits = {"multiplier": (0, 65535), "shift": (0, 63), "low": (-128, 127),
                  "high": (-128, 127)}
        for name, (least, most) in limits.items():
            value = whole(name, getattr(self, name), -2**63)
            if not least <= value <= most:
                raise ValueError(f"{name} must be {least} to {most}, not {value}")
            object.__setattr__(self, name, value)
        if self.low > self.high:
            raise ValueError(f"low must be at most high, {self.high}, not {self.low}")


def requantise(sums: NDArray[np.integer], bias: NDArray[np.integer], scale: Scale,
               shortcut: NDArray[np.integer] | int = 0, *,
               multiplier: NDArray[np.integer] | None = None,
               shift: NDArray[np.integer] | None = None) -> NDArray[np.int64]:
    """The results for sums, with halves rounded up: of any shape that ``bias`` broadcasts to.

    ``shortcut`` is added before the limits; ``multiplier`` and ``shift``, where given, take the
    place of those of ``scale``. Sums and biases are of 32 bits, so that twice their scaled sum is
    below 2 ** 51 and nothing wraps in 64; where a shift is above 60, rounding gives what 60 does.
    """
    total = sums.astype(np.int64) + bias.astype(np.int64)
    total *= scale.multiplier if multiplier is None else multiplier.astype(np.int64)
    places = np.minimum(scale.shift if shift is None else shift, 60).astype(np.int64)
    rounded = (2 * total + (1 << places)) >> (places + 1)
    return np.clip(rounded + shortcut, scale.low, scale.high)


@prediction(formula="rows + 6", source="this project")
def post_process(*, rows: Annotated[int, Range(1, says="rows of sums")]) -> int:
    """Cycles of a number of rows, one after the other.

    Unit: cycles. Counted: from the cycle in which the first row is accepted to the cycle in which
    the last is on ``results``, both inclusive; the sink always ready.

    Derivation: a row passes six registers: sum plus bias, two products, their sum, shift,
    rounding, limits. Each takes a row in each cycle, so that the last is accepted rows - 1 cycles
    after the first, and there 6 cycles later.
    """
    return rows + STAGES


class PostProcessingModel:
    """Golden model, one call of `step` per cycle."""

    def __init__(self) -> None:
        self._now = 0  # cycles in which nothing stood still
        self._rows: deque[tuple[int, list[int]]] = deque()  # when, and what

    def step(self, row: list[int] | None, ready: bool) -> tuple[bool, list[int] | None]:
        """One cycle: the result that will become of the row on offer, and whether the sink is
        ready; whether a row is taken, and the result on offer."""
        shown = self._rows[0][1] if self._rows and self._rows[0][0] == self._now else None
        if shown is not None and not ready:
            return False, shown
        if shown is not None:
            self._rows.popleft()
        if row is not None:
            self._rows.append((self._now + STAGES, row))
        self._now += 1
        return True, shown
