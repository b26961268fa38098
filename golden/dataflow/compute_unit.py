"""Golden model of the compute unit: a token buffer, an operation, a pipeline."""

from collections.abc import Sequence
from dataclasses import dataclass

from cyclebound.golden import floating
from cyclebound.golden.dataflow.operations import (
    OPERANDS,
    PIPELINE_STAGES,
    Operation,
    operands_of,
)
from cyclebound.golden.dataflow.pipeline import PipelineModel
from cyclebound.golden.dataflow.token_buffer import TokenBufferModel

__all__ = ["ComputeUnitModel", "ComputeUnitResult", "evaluate"]

_MASK = 0xFFFF_FFFF
_SIGN = 0x8000_0000


def _signed(value: int) -> int:
    return value - (1 << 32) if value & _SIGN else value


_FUNCTIONS = {
    Operation.ADD: lambda a, b, c: a + b,
    Operation.SUB: lambda a, b, c: a - b,
    Operation.MUL: lambda a, b, c: a * b,
    Operation.AND: lambda a, b, c: a & b,
    Operation.OR: lambda a, b, c: a | b,
    Operation.XOR: lambda a, b, c: a ^ b,
    Operation.SHL: lambda a, b, c: a << b % 32,
    Operation.SHR: lambda a, b, c: a >> b % 32,
    Operation.SRA: lambda a, b, c: _signed(a) >> b % 32,
    Operation.EQ: lambda a, b, c: a == b,
    Operation.NE: lambda a, b, c: a != b,
    Operation.LT: lambda a, b, c: _signed(a) < _signed(b),
    Operation.LE: lambda a, b, c: _signed(a) <= _signed(b),
    Operation.LTU: lambda a, b, c: a < b,
    Operation.LEU: lambda a, b, c: a <= b,
    Operation.MIN: lambda a, b, c: min(_signed(a), _signed(b)),
    Operation.MAX: lambda a, b, c: max(_signed(a), _signed(b)),
    Operation.SELECT: lambda a, b, c: b if a else c,
    Operation.FADD: lambda a, b, c: floating.add(a, b),
    Operation.FSUB: lambda a, b, c: floating.add(a, b ^ _SIGN),
    Operation.FMUL: lambda a, b, c: floating.multiply(a, b),
    Operation.FMA: floating.fused,
    Operation.FEQ: lambda a, b, c: floating.compare(a, b) == "=",
    Operation.FLT: lambda a, b, c: floating.compare(a, b) == "<",
    Operation.FLE: lambda a, b, c: floating.compare(a, b) in "<=",
    Operation.TO_FLOAT: lambda a, b, c: floating.from_int(a),
    Operation.TO_INT: lambda a, b, c: floating.to_int(a),
}


def evaluate(operation: Operation, values: Sequence[int]) -> int:
    """The result of an operation on 32-bit values; those that it does not need are ignored."""
    a, b, c = (*values, 0, 0)[:OPERANDS]
    return int(_FUNCTIONS[operation](a, b, c)) & _MASK


@dataclass(frozen=True)
class ComputeUnitResult:
    """One cycle: the operands that are taken, and the result on offer (thread, value)."""

    taken: tuple[bool, ...]
    result: tuple[int, int] | None


class ComputeUnitModel:
    """The unit under one configuration.

    Parameters
    ----------
    depth : int
        Of the token buffer.
    operation : Operation
        What it does.
    literals : mapping of int to int
        Operands that are constants of the configuration.
    epochs : bool
        Of the token buffer.
    """

    def __init__(self, *, depth: int, operation: Operation,
                 literals: dict[int, int] | None = None, epochs: bool = False) -> None:
        self.operation, self.literals = operation, literals or {}
        self.needed = sum(1 << k for k in range(operands_of(operation)) if k not in self.literals)
        self.buffer = TokenBufferModel(operands=OPERANDS, depth=depth, needed=self.needed,
                                       epochs=epochs)
        self._pipeline: PipelineModel[tuple[int, int]] = PipelineModel(PIPELINE_STAGES)

    @property
    def shown(self) -> tuple[int, int] | None:
        """The result on offer in this cycle."""
        return self._pipeline.shown

    def takes(self, operand: int, tid: int) -> bool:
        """Whether a token of this thread would be taken."""
        return self.buffer.takes(operand, tid)

    @property
    def empty(self) -> bool:
        return self.buffer.empty and self._pipeline.empty

    def step(self, offers: Sequence[tuple[int, int] | None], ready: bool) -> ComputeUnitResult:
        """One cycle: a token (thread, value) or None on each operand."""
        shown = self._pipeline.shown
        fired = self.buffer.step(offers, self._pipeline.takes(ready))
        item = None
        if fired.offered is not None:
            values = [self.literals.get(k, value) for k, value in enumerate(fired.offered.values)]
            item = fired.offered.tid, evaluate(self.operation, values)
        self._pipeline.step(item, ready)
        return ComputeUnitResult(fired.taken, shown)
