"""Bound checker of Figure 6's graph: it reads its ports and drives none.

Ref: SGMF, section 4.4.
"""

from amaranth.hdl import Assert, Cat, Cover, Module, Signal

from cyclebound.tb.assumed import owes
from cyclebound.tb.watcher import Watcher, claim_kept

__all__ = ["DiamondCheck"]

_BITS = 7  # of the numbers of threads: more than are ever inside


class DiamondCheck(Watcher):
    """Threads leave in the order in which they came, each once, and any one of them with
    (a + x) * (b + (c + x)).

    A thread is followed by its place among those that came: any in a proof; in a simulation one
    of each 128, which the first value after a reset chooses.

    Assumes that the constants do not change while a thread is inside.

    Parameters
    ----------
    target : Diamond
        The graph, or a component with the same members.
    products : bool
        Look at the products, too; else only at whose they are.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target, *, products=True):
        super().__init__(target)
        self._products = products
        self._choice = self.any_one(Signal(_BITS), "place")

    def elaborate(self, platform):
        m = Module()
        x, product = self.x, self.product
        place = self._choice.now
        self._choice.follow(m, x.payload.data[:_BITS])
        came, left = Signal(_BITS), Signal(_BITS)
        enters, leaves = x.valid & x.ready, product.valid & product.ready
        tid, value = Signal.like(x.payload.tid), Signal.like(x.payload.data)
        constants = Cat(self.a, self.b, self.c)
        before, began = Signal.like(constants), Signal()
        m.d.sync += [came.eq(came + enters), left.eq(left + leaves), before.eq(constants),
                     began.eq(1),
                     owes(~began | (came == left) | (constants == before),
                          "constants changed under a thread")]
        with m.If(enters & (came == place)):
            m.d.sync += [tid.eq(x.payload.tid),
                         value.eq((x.payload.data + self.a)
                                  * (x.payload.data + self.c + self.b)[:len(value)])]
        claim_kept(m, "product", product, Assert)
        shown = product.valid & (left == place)
        m.d.sync += [
            Assert(~product.valid | (came != left), "a product of no thread"),
            Assert(~enters | leaves | (came + 1 - left)[:_BITS].any(), "too many inside"),
            Assert(~shown | (product.payload.tid == tid), "a thread out of order"),
            Cover(leaves & shown, "the thread that is followed leaves"),
        ]
        if self._products:
            m.d.sync += Assert(~shown | (product.payload.data == value), "not the product")
        return m
