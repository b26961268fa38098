"""Fields of the tile sequencer's command, and of each tile that it issues."""

__all__ = ["COMMAND", "tile_fields"]

COMMAND = ("down", "across")
"""Elements of the matrix that stays in the array, along the array's rows and columns."""


def tile_fields(rows: int, columns: int, dimension_width: int) -> dict[str, int]:
    """Fields of a tile, with their widths.

    ``row``, ``column``: its first element in the matrix; ``height``, ``width``: how much of the
    array it uses; ``first``, ``last``: it is the first and last of its column of tiles, over which
    sums accumulate; ``final``: it is the last of all.
    """
    return {"row": dimension_width, "column": dimension_width, "height": rows.bit_length(),
            "width": columns.bit_length(), "first": 1, "last": 1, "final": 1}
