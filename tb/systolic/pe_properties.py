"""Bound checkers of a single processing element: nothing is lost, and no sum overflows.

Nothing here depends on the array around it, nor on how many elements there are.
"""

from amaranth.hdl import Assert, Assume, Cover, Module, Mux, Signal, signed

from cyclebound.tb.watcher import Watcher

__all__ = ["OutputStationaryPECheck", "WeightStationaryPECheck"]


class OutputStationaryPECheck(Watcher):
    """Each pair of operands that was loaded is multiplied, and the sum is that of the products.

    Assumes that a fold has no more MACs than `limit`: then the sum is exact, not only up to
    overflow.

    Parameters
    ----------
    target : OutputStationaryPE
        The element, or a component with the same members and parameters.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    limit : int
        MACs of a fold: one less than what overflows where all operands are the least there are.
    count : Signal
        MACs of this fold.
    exact : Signal
        Their sum, wider than any accumulator needs.
    """

    def __init__(self, target):
        super().__init__(target)
        self.most = 1 << 2 * target.operand_width - 2  # the greatest product: two least operands
        self.limit = (1 << target.accumulator_width - 1) // self.most - 1
        self.count = Signal(range(self.limit + 1))
        self.exact = Signal(signed(target.accumulator_width + 2))

    def elaborate(self, platform):
        m = Module()
        left, top = Signal.like(self.left), Signal.like(self.top)
        product = Signal.like(self.product)
        with m.If(self.load):
            m.d.sync += [left.eq(self.left), top.eq(self.top)]
        with m.If(self.execute):
            m.d.sync += product.eq(self.right * self.bottom)
        with m.If(self.accumulate):
            m.d.sync += [self.exact.eq(Mux(self.first, 0, self.exact) + self.product),
                         self.count.eq(Mux(self.first, 1, self.count + 1))]
        reach = self.count * self.most
        m.d.sync += [
            Assume(~self.accumulate | self.first | (self.count != self.limit),
                   "more MACs than a fold has"),
            Assert((self.right == left) & (self.bottom == top), "an operand was lost"),
            Assert(self.product == product, "not the product of the operands"),
            Assert((self.product <= self.most) & (self.product >= -self.most), "product too great"),
            Assert((self.exact <= reach) & (self.exact >= -reach), "sum too great"),
            Assert(self.sum == self.exact, "the sum overflows"),
            Cover(self.accumulate & ~self.first & (self.sum != 0), "a second product is added"),
        ]
        return m


class WeightStationaryPECheck(Watcher):
    """An operand is multiplied by the weight in use when it came, and its product added to a sum.

    Reads attributes of the target besides its ports.

    Parameters
    ----------
    target : WeightStationaryPE
        The element itself.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    written, used : Signal
        The weight written last, and the one in use.
    """

    def __init__(self, target):
        super().__init__(target)
        self.target = target
        self.written, self.used = (Signal.like(self.weight, name=name)
                                   for name in ("written", "used"))

    def elaborate(self, platform):
        m = Module()
        target, right, added = self.target, Signal.like(self.right), Signal()
        product, total = Signal.like(target.product), Signal.like(self.sum)
        with m.If(self.load):
            m.d.sync += [right.eq(self.left), product.eq(self.right * target.held),
                         total.eq(self.above + target.product), added.eq(target.product != 0)]
            with m.If(self.write):
                m.d.sync += (self.written if target.double_buffer else self.used).eq(self.weight)
            if target.double_buffer:
                with m.If(self.swap):
                    m.d.sync += self.used.eq(self.written)
        m.d.sync += [
            Assert(self.right == right, "an operand was lost"),
            Assert(target.held == self.used, "not the weight"),
            Assert(target.product == product, "not the product of operand and weight"),
            Assert(self.sum == total, "not the sum"),
            Cover(added & (self.sum != 0), "a product is in the sum"),
        ]
        if target.double_buffer:
            m.d.sync += Assert(target.spare == self.written, "not the weight to come")
        return m
