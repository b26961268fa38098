"""Golden model of the floating-point datapath: exact arithmetic in a pipeline."""

from dataclasses import dataclass

from cyclebound.golden import floating
from cyclebound.golden.dataflow.operations import PIPELINE_STAGES
from cyclebound.golden.dataflow.pipeline import PipelineModel

__all__ = ["FloatFmaModel", "Fused"]


@dataclass(frozen=True)
class Fused:
    """``a * b + c``; or the integer ``c`` as a float."""

    a: int
    b: int
    c: int
    convert: int = 0

    @property
    def result(self) -> int:
        return floating.from_int(self.c) if self.convert else floating.fused(self.a, self.b, self.c)


class FloatFmaModel(PipelineModel):
    """The pipeline, with results."""

    def __init__(self) -> None:
        super().__init__(PIPELINE_STAGES)
