"""The dataflows on the same layers: cycles, utilisation, words moved."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from cyclebound.golden.systolic.bounds import completion
from cyclebound.golden.systolic.layers import Convolution, Product
from cyclebound.golden.systolic.mapping import Dataflow, map_product
from cyclebound.golden.systolic.no_local_reuse import reuse_free_cycles, reuse_free_words
from cyclebound.golden.systolic.overlapped_output import overlapped_completion
from cyclebound.golden.systolic.stationary_bounds import input_completion, weight_completion

__all__ = ["Row", "compare", "markdown"]


@dataclass(frozen=True)
class Row:
    """A layer on an array, without memories: operands always on offer.

    ``double_buffer``: folds overlap. ``dataflow`` is None where nothing stays. ``cycles`` is the
    array's bound for the whole layer, from the first operand to the last row of results. ``words``
    counts operands into the array and sums out of it, padding included.
    """

    layer: str
    dataflow: Dataflow | None
    double_buffer: bool
    cycles: int
    utilisation: float
    words_per_mac: float


def compare(layer: Product | Convolution, rows: int, columns: int) -> list[Row]:
    """All dataflows that there are in RTL for products; folds serially, and overlapping."""
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
        result.append(Row(product.name, flow, double_buffer, cycles,
                          macs / (rows * columns * cycles), words / macs))
    return result


def markdown(layers: Iterable[Product | Convolution], rows: int, columns: int) -> str:
    """The comparison as a table for a page."""
    lines = ["| layer | dataflow | cycles | PE utilisation | words per MAC |",
             "| --- | --- | ---: | ---: | ---: |"]
    for layer in layers:
        for row in compare(layer, rows, columns):
            name = "no local reuse" if row.dataflow is None else row.dataflow.value
            name += ", folds overlap" if row.double_buffer else ""
            lines.append(f"| {row.layer} | {name} | {row.cycles:,} | {row.utilisation:.1%} | "
                         f"{row.words_per_mac:.3f} |")
    return "\n".join(lines)
