"""The parameters declared of a product."""

from cyclebound.golden.systolic.mapping import Mapping

__all__ = ["kind_of"]


def kind_of(mapped: Mapping, rows: int, **shape: int) -> dict[str, int]:
    """The parameters declared of a product mapped so on an array of ``rows`` rows.

    Its ``shape`` (``m``, ``k``, ``n``); ``operands``, how many rows or columns stream in; and
    ``tile_rows``, the rows of the tiles that stay, which are the array's for each fold.
    """
    return {"operands": mapped.time * mapped.folds, "tile_rows": rows * mapped.folds, **shape}
