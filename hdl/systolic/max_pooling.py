"""Max pooling of a stream of pixels, row by row.

Ref: thesis on AI accelerators, chapter 2.3 (pooling layers).
"""

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.parameters import check_integer

__all__ = ["MaxPooling"]

_WIDTH = 16


class MaxPooling(wiring.Component):
    """The greatest element of each square window, for each channel.

    Windows lie beside each other; rows and columns of the image that fill none are left out. With
    a window of 1, pixels pass unchanged. A pixel that completes a window in cycle *t* makes
    a result in *t* + 3. One image follows the other without a pause. While a result is on offer
    and not taken, everything stands still; ``pixels.ready`` depends on ``results.ready``.

    Parameters
    ----------
    columns : int
        Channels of a pixel, at least 1.
    width : int
        Bits of a signed element, at least 1.
    most : int
        Greatest number of windows beside each other, at least 2.

    Members
    -------
    window : In(16)
        Rows and columns of a window, at least 1 and at most those of the image.
    image_width, image_height, across : In(16)
        Of the image, and the windows beside each other. All of these may change when the last
        result has left.
    pixels, results : In, Out(stream.Signature(ArrayLayout(signed(width), columns)))
        Pixels, and what they become.
    """

    def __init__(self, *, columns, width=8, most=64):
        check_integer("Column count", columns, 1)
        check_integer("Element width", width, 1)
        check_integer("Most windows", most, 2)
        self.columns, self.most = columns, most
        self._pixel = data.ArrayLayout(signed(width), columns)
        super().__init__({
            "window": In(_WIDTH), "image_width": In(_WIDTH), "image_height": In(_WIDTH),
            "across": In(_WIDTH),
            "pixels": In(stream.Signature(self._pixel)),
            "results": Out(stream.Signature(self._pixel)),
        })

    def elaborate(self, platform):
        m = Module()
        move, taken = Signal(), Signal()
        m.d.comb += [move.eq(~self.results.valid | self.results.ready), self.pixels.ready.eq(move),
                     taken.eq(self.pixels.valid & move)]

        # Where the pixel on offer is: in the image, in its window, and in which window.
        x, y, inner_x, inner_y = (Signal(_WIDTH, name=name) for name in
                                  ("x", "y", "inner_x", "inner_y"))
        place = Signal(range(self.most + 1))  # stays at `across` after the last window
        row_ends, image_ends, window_right, window_low = (
            Signal(name=name) for name in ("row_ends", "image_ends", "window_right", "window_low"))
        m.d.comb += [row_ends.eq(x == self.image_width - 1),
                     image_ends.eq(y == self.image_height - 1),
                     window_right.eq(inner_x == self.window - 1),
                     window_low.eq(inner_y == self.window - 1)]
        with m.If(taken):
            m.d.sync += [x.eq(x + 1), inner_x.eq(inner_x + 1)]
            with m.If(window_right):
                m.d.sync += [inner_x.eq(0), place.eq(place + (place != self.across))]
            with m.If(row_ends):
                m.d.sync += [x.eq(0), inner_x.eq(0), place.eq(0), y.eq(y + 1),
                             inner_y.eq(Mux(window_low, 0, inner_y + 1))]
                with m.If(image_ends):
                    m.d.sync += [y.eq(0), inner_y.eq(0)]

        # The greatest element so far of this row of the window, and that of the rows above it,
        # which comes from memory, through a register because memory is slow. The read port is
        # transparent: it has what is written in the same cycle.
        memory = Memory(shape=self._pixel, depth=self.most, init=[])
        m.submodules.memory = memory
        write = memory.write_port()
        read = memory.read_port(transparent_for=(write,))
        stage = data.StructLayout({"complete": 1, "top": 1, "low": 1,
                                   "where": range(self.most)})
        came, here = Signal(stage), Signal(stage)
        begins, row = Signal(), Signal(self._pixel)
        values, above, merged = Signal(self._pixel), Signal(self._pixel), Signal(self._pixel)
        m.d.comb += [read.addr.eq(place), read.en.eq(move), begins.eq(inner_y == 0)]
        for i in range(self.columns):
            element = self.pixels.payload[i]
            with m.If(taken):
                m.d.sync += row[i].eq(Mux((inner_x == 0) | (element > row[i]), element,
                                              row[i]))
            m.d.comb += merged[i].eq(Mux(here.top | (values[i] > above[i]), values[i], above[i]))
        with m.If(move):
            m.d.sync += [
                came.complete.eq(taken & window_right & (place != self.across)),
                came.top.eq(begins), came.low.eq(window_low), came.where.eq(place),
                here.eq(came), values.eq(row), above.eq(read.data),
                self.results.valid.eq(here.complete & here.low), self.results.payload.eq(merged),
            ]
        m.d.comb += [write.addr.eq(here.where), write.data.eq(merged),
                     write.en.eq(here.complete & ~here.low & move)]
        return m
