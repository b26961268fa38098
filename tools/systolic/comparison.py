"""The dataflows on the same layers: cycles, utilisation, words moved.

    python -m cyclebound.tools.systolic.comparison

prints the table of docs/systolic.md, for arrays of 16x16.
"""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from cyclebound.golden.systolic.bounds import completion
from cyclebound.golden.systolic.layers import LENET_5, Convolution, Product
from cyclebound.golden.systolic.mapping import Dataflow, ceil_div, map_product
from cyclebound.golden.systolic.no_local_reuse import reuse_free_cycles, reuse_free_words
from cyclebound.golden.systolic.overlapped_output import overlapped_completion
from cyclebound.golden.systolic.row_stationary import row_completion
from cyclebound.golden.systolic.stationary_bounds import input_completion, weight_completion

__all__ = ["LAYERS", "Row", "compare", "markdown"]

LAYERS: tuple[Product | Convolution, ...] = (
    *LENET_5[:3], Product("512x512x512", 512, 512, 512), Product("scores of 64 x 64", 64, 64, 64),
    Convolution("16 x 16, 3 x 3", 16, 16, 8, 16, 3, padding=1))


@dataclass(frozen=True)
class Row:
    """A layer on an array, without memories: operands always on offer.

    ``overlap``: folds overlap. ``cycles`` is the array's bound for the whole layer, from the first
    operand to the last row of results. Words are operands into the array and sums out of it,
    padding included.
    """

    layer: str
    dataflow: str
    overlap: bool
    rows: int
    columns: int
    cycles: int
    utilisation: float
    words_per_mac: float


def compare(layer: Product | Convolution, rows: int, columns: int) -> list[Row]:
    """All dataflows that there are in RTL; folds serially, and overlapping.

    Row stationary where the layer is a convolution of stride 1 with a square filter: as many rows
    of PEs as the filter has, and as many columns as the result has rows; in equal strips where PEs
    are too few.
    """
    if isinstance(layer, Convolution) and layer.groups > 1:
        raise ValueError(f"{layer.name}: groups must be 1 to be compared, not {layer.groups}")
    product = layer.product if isinstance(layer, Convolution) else layer
    shape = {"rows": rows, "columns": columns, "m": product.m, "k": product.k, "n": product.n}
    macs, result = product.m * product.k * product.n, []
    for flow, double_buffer in (*itertools.product(Dataflow, (False, True)), (None, False)):
        mapped = map_product(flow or Dataflow.WEIGHT, **shape)
        if flow is None:
            cycles, words = reuse_free_cycles(**shape), reuse_free_words(**shape)
        elif flow is Dataflow.OUTPUT:
            cycles = (overlapped_completion if double_buffer else completion)(**shape)
            words = mapped.folds * (mapped.time * (rows + columns) + rows * columns)
        else:
            formula = weight_completion if flow is Dataflow.WEIGHT else input_completion
            cycles = formula(**shape, double_buffer=double_buffer)
            words = mapped.folds * (rows * columns + mapped.time * (rows + columns))
        name = "no local reuse" if flow is None else flow.value
        result.append(Row(product.name, name, double_buffer, rows, columns, cycles,
                          macs / (rows * columns * cycles), words / macs))
    if (isinstance(layer, Convolution) and layer.stride == layer.dilation == 1
            and isinstance(layer.kernel, int) and isinstance(layer.padding, int)):
        result += _row_stationary(layer, layer.kernel, layer.padding, rows * columns, macs)
    return result


def _row_stationary(layer: Convolution, taps: int, padding: int, pes: int, macs: int) -> list[Row]:
    """A pass for each filter, of ``taps`` x ``taps``, each channel, and each strip of rows of the
    result; ``padding`` on all sides.

    Sums over channels are not the array's: every pass' own ones leave it, and count as words.
    """
    high, wide = layer.output
    if pes < taps:
        return []
    strips = ceil_div(high, pes // taps)
    columns, passes = ceil_div(high, strips), layer.filters * layer.channels * strips
    width = layer.width + 2 * padding
    cycles = row_completion(rows=taps, taps=taps, width=width, passes=passes)
    words = passes * (taps**2 + width * (taps + columns - 1) + wide * columns)
    return [Row(layer.name, "row stationary", False, taps, columns, cycles,
                macs / (taps * columns * cycles), words / macs)]


def markdown(layers: Iterable[Product | Convolution], rows: int, columns: int) -> str:
    """The comparison as a table for a page."""
    lines = ["| layer | dataflow | PEs | cycles | PE utilisation | words per MAC |",
             "| --- | --- | --- | ---: | ---: | ---: |"]
    for layer in layers:
        for row in compare(layer, rows, columns):
            name = row.dataflow + (", folds overlap" if row.overlap else "")
            lines.append(f"| {row.layer} | {name} | {row.rows}x{row.columns} | {row.cycles:,} | "
                         f"{row.utilisation:.1%} | {row.words_per_mac:.3f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(markdown(LAYERS, 16, 16))
