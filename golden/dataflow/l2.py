"""Golden model of a second-level cache that cores share (SGMF, section 5, Table 1)."""

from cyclebound.golden.dataflow.cache import (
    BankedCacheModel,
    Line,
    LineAnswer,
    LineRequest,
)

__all__ = ["L2Model"]


class L2Model(BankedCacheModel[LineRequest, LineAnswer]):
    """Requests are of whole lines; a read is answered with its line, a write is not."""

    def number_of(self, request: LineRequest) -> int:
        return request.line

    def writes(self, request: LineRequest) -> bool:
        return request.write

    def mask_of(self, request: LineRequest) -> int:
        return request.mask

    def words_of(self, request: LineRequest) -> tuple[int, ...]:
        return request.data

    def made(self, line: Line, request: LineRequest) -> LineAnswer | None:
        if not request.write:
            return LineAnswer(request.id, tuple(line.data))
        for place, word in enumerate(request.data):
            if request.mask >> place & 1:
                line.data[place] = word
        return None
