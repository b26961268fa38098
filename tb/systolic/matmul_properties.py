"""Bound checker of whole products: their rows, in order, are those of the product.

Ref: thesis on AI accelerators, chapter 2.3.
"""

from amaranth.hdl import Array, Assert, Assume, Cover, Module, Mux, Signal

from cyclebound.tb.assumed import owes
from cyclebound.tb.watcher import Watcher, claim_kept

__all__ = ["MatmulProof"]


class MatmulProof(Watcher):
    """A command makes as many rows as the product has, each the product's, and no more; the next
    command is taken when all have left.

    Assumes products of up to ``most`` in each dimension, and that no word is loaded while one is
    under way. For arrays of one row, whose words of A are single elements.

    Parameters
    ----------
    target : Matmul
        The multiplier, with ``rows`` 1.
    most : int
        Of m, k and n.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target, *, most=2):
        super().__init__(target)
        if target.rows != 1:
            raise ValueError(f"rows must be 1, not {target.rows}")
        self.columns, self.depths, self.most = target.columns, target.depths, most

    def elaborate(self, platform):
        m = Module()
        size, results, most = self.command.payload, self.results, self.most
        begin, leaves = Signal(), Signal()
        m.d.comb += [begin.eq(self.command.valid & self.command.ready),
                     leaves.eq(results.valid & results.ready)]
        busy, last = Signal(), Signal()
        height, depth, width = (Signal(range(most + 1), name=name)
                                for name in ("height", "depth", "width"))
        row, strip = Signal(range(most)), Signal(range(most))  # of the next result

        words = {}
        for name in "ab":
            load = getattr(self, f"load_{name}")
            shown = words[name] = Array(Signal(load.payload["data"].shape(), name=f"{name}_{n}",
                                               reset_less=True)
                                        for n in range(self.depths[name]))
            with m.If(load.valid & load.ready):
                m.d.sync += shown[load.payload.address].eq(load.payload["data"])
            m.d.sync += owes(~load.valid | ~(busy | begin), "a word is loaded under way")
        for dimension in "mkn":
            m.d.sync += Assume(~self.command.valid | (
                (size[dimension] >= 1) & (size[dimension] <= most)), "another size")

        with m.If(begin):
            m.d.sync += [busy.eq(1), height.eq(size.m), depth.eq(size.k), width.eq(size.n),
                         row.eq(0), strip.eq(0)]
        with m.Elif(leaves):
            m.d.sync += row.eq(row + 1)
            with m.If(row == height - 1):
                m.d.sync += [row.eq(0), strip.eq(strip + 1), busy.eq(~last)]
        m.d.comb += last.eq((strip + 1) * self.columns >= width)

        claim_kept(m, "results", results, Assert)
        m.d.sync += [
            Assert(~results.valid | busy, "a row of no product"),
            Assert(~begin | ~busy, "a product begins before the last one's rows have left"),
            Cover(leaves & (row == most - 1) & last & (depth == most), "a product ends"),
        ]
        for column in range(self.columns):
            total = sum(Mux(fold < depth, words["a"][fold * height + row][0]
                            * words["b"][strip * depth + fold][column], 0)
                        for fold in range(most))
            found = results.payload[column]
            inside = strip * self.columns + column < width
            m.d.sync += Assert(~results.valid | ~inside
                               | (found == total.as_signed()[:len(found)].as_signed()),
                               "not the product")
        return m
