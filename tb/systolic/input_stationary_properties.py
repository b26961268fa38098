"""Bound checkers of the input-stationary array: those of the weight-stationary one on its ports.

C^T = B^T A^T: rows of A^T take the place of weights, and columns of B that of rows of A.

Ref: thesis on AI accelerators, chapter 5.2 (Figure 5.7).
"""

from amaranth.hdl import Module, Value

from cyclebound.tb.systolic.weight_stationary_properties import (
    WeightStationaryBoundProof,
    WeightStationaryCheck,
    WeightStationaryProof,
)
from cyclebound.tb.watcher import Watcher

__all__ = ["InputStationaryBoundProof", "InputStationaryCheck", "InputStationaryProof"]


class InputStationaryCheck(Watcher):
    """Protocol and timing of an `InputStationaryArray`: see `WeightStationaryCheck`.

    Parameters
    ----------
    target : InputStationaryArray
        The array, or a component with the same members and ``array``.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    check : WeightStationaryCheck
        The check of the array inside, on the ports outside.
    """

    def __init__(self, target, *, make=WeightStationaryCheck, **shape):
        super().__init__(target)
        self.check = make(target.array, **shape)

    def elaborate(self, platform):
        m = Module()
        m.submodules.check = self.check
        for path, _, port in self.check.signature.flatten(self.check):
            seen = self
            for name in path:
                seen = getattr(seen, "inputs" if name == "weights" else name)
            m.d.comb += Value.cast(port).eq(Value.cast(seen))
        return m


class InputStationaryProof(InputStationaryCheck):
    """`InputStationaryCheck`, and what holds inside: see `WeightStationaryProof`."""

    def __init__(self, target):
        super().__init__(target, make=WeightStationaryProof)


class InputStationaryBoundProof(InputStationaryCheck):
    """How long products of one shape take: see `WeightStationaryBoundProof`.

    Parameters
    ----------
    target : InputStationaryArray
        The array itself.
    m, k, n : int
        The shape of the products.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target, *, m, k, n):
        super().__init__(target, make=WeightStationaryBoundProof, m=n, k=k, n=m)

    def explain(self, m, probes):
        """Assert in ``m`` what the probes' counters hold."""
        self.check.explain(m, probes)
