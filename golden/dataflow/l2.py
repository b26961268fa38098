"""Golden model of a second-level cache that cores share (SGMF, section 5, Table 1)."""

from cyclebound.golden.dataflow.cache import (
    BankedCacheModel,
    Line,
    LineAnswer,
    LineRequest,
)
from cyclebound.golden.dataflow.cache_policies import CacheShape
from cyclebound.golden.parameters import check_integer

__all__ = ["L2Model", "check_channels"]


def check_channels(shape: CacheShape, channels: int) -> None:
    """Raise `ValueError` unless each of so many memories below has a bank."""
    check_integer("channel count", channels, least=1, most=shape.banks)


class L2Model(BankedCacheModel[LineRequest, LineAnswer]):
    """Requests are of whole lines; a read is answered with its line, a write is not."""

    def number_of(self, request: LineRequest) -> int:
        return request.line

    def writes(self, request: LineRequest) -> bool:
        return request.write

    def made(self, line: Line, request: LineRequest) -> LineAnswer | None:
        if not request.write:
            return LineAnswer(request.id, tuple(line.data))
        for place, word in enumerate(request.data):
            if request.mask >> place & 1:
                line.data[place] = word
        return None
