"""Bound checker of max pooling: it reads its ports and drives none.

Ref: thesis on AI accelerators, chapter 2.3 (pooling layers).
"""

from amaranth.hdl import Array, Assume, Cat, Const, Mux, Signal

from cyclebound.tb.assumed import owes
from cyclebound.tb.elastic_properties import ElasticCheck

__all__ = ["MaxPoolingCheck"]


class MaxPoolingCheck(ElasticCheck):
    """Each window makes a result, 3 steps after its last pixel, in order, and what fills none makes
    none; of any one window and channel, it is the greatest element.

    Which window and channel it follows is any in a proof; in a simulation, the first pixel after a
    reset decides.

    Assumes that the sizes do not change within an image, and that windows fit into it.

    Parameters
    ----------
    target : MaxPooling
        The unit, or a component with the same members and parameters.
    ready : bool
        As of `ElasticCheck`.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target, *, ready=False):
        super().__init__(target, source="pixels", sink="results", stages=3, ready=ready)
        self.columns, self._most = target.columns, target.most
        self._channel = self.any_one(Signal(range(max(2, self.columns))), "channel")
        self._window = self.any_one(Signal(4), "window")  # two bits across, two down

    def makes(self, m):
        settings = Cat(self.window, self.image_width, self.image_height, self.across)
        taken, before = self.pixels.valid & self.pixels.ready, Signal.like(settings)
        # the pixel, its place in its window, and which window that is
        x, y, in_x, in_y, over, under = (Signal(16, name=name) for name in (
            "x", "y", "in_x", "in_y", "over", "under"))
        right, low = in_x == self.window - 1, in_y == self.window - 1
        with m.If(taken):
            m.d.sync += [x.eq(x + 1), in_x.eq(Mux(right, 0, in_x + 1)), over.eq(over + right)]
            with m.If(x == self.image_width - 1):
                m.d.sync += [x.eq(0), in_x.eq(0), over.eq(0), y.eq(y + 1),
                             in_y.eq(Mux(low, 0, in_y + 1)), under.eq(under + low)]
                with m.If(y == self.image_height - 1):
                    m.d.sync += [y.eq(0), in_y.eq(0), under.eq(0)]
        fits = ((self.window != 0) & (self.window <= self.image_width)
                & (self.window <= self.image_height) & (self.across <= self._most)
                & (self.across * self.window <= self.image_width))
        m.d.sync += [before.eq(settings),
                     Assume(~self.pixels.valid | fits, "sizes that do not fit"),
                     owes(~(x.any() | y.any() | self.line.any()) | (settings == before),
                          "sizes changed within an image")]

        self._window.follow(m, Cat(self.pixels.payload.as_value())[:4])
        self._channel.follow(m, Const(0, len(self._channel.now)))
        self._ours = (over == self._window.now[:2]) & (under == self._window.now[2:])
        element = self._of_channel(self.pixels.payload)
        greatest, soon = (Signal.like(self.pixels.payload[0], name=name)
                          for name in ("greatest", "soon"))
        first = (in_x == 0) & (in_y == 0)
        m.d.comb += soon.eq(Mux(first | (element > greatest), element, greatest))
        with m.If(taken & self._ours):
            m.d.sync += greatest.eq(soon)
        self._greatest = soon
        return right & low & (over < self.across)

    def _of_channel(self, pixel):
        """The element of the channel that is followed; of none, if a prover chooses one beyond."""
        return Array([*pixel, *[Const(0, pixel[0].shape())] * (
            (1 << len(self._channel.now)) - self.columns)])[self._channel.now]

    def expected(self, m):
        return self._ours, self._greatest

    def followed(self, m, payload):
        return self._of_channel(payload)
