"""Address generator for convolutions as matrix products (im2col), without copies in memory.

Ref: thesis on AI accelerators, chapter 4.2 (convolution as a product); the layout in memory
and the order of the words are this project's.
"""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cyclebound.golden.systolic.im2col_layout import word_fields
from cyclebound.hdl.interfaces import pass_through
from cyclebound.hdl.parameters import check_integer
from cyclebound.hdl.systolic.window_loops import CommandLayout, WindowLoops

__all__ = ["Im2col", "check_size"]


def check_size(size):
    """Raise unless ``size`` elements make a word whose elements are numbered by bits."""
    check_integer("Size", size, 2)
    if size & (size - 1):
        raise ValueError(f"Size must be a power of two, not {size}")


class Im2col(wiring.Component):
    """The words of A of the matrix product that is a convolution, as addresses.

    A row of a window is a run of elements beside each other in memory: its pixels' channels. It is
    cut into tiles of ``size`` elements; for each tile there is a word for each window, all windows
    of the image before the next tile. Tiles follow the row of the window from left to right, then
    the next row, then the next image. A word begins at any element, so that it may lie in
    two words of the memory; which of its elements exist, the lanes say.

    A matrix of m x k is an image of m pixels in one row, with k channels and a kernel of 1.

    The first word is on offer 2 cycles after the command was accepted, and with a ready sink there
    is another in each cycle. A command is accepted when the one before is finished.

    Parameters
    ----------
    size : int
        Elements of a word: a power of two, at least 2.
    address_width : int
        Bits of an address of a word, at least 1.

    Members
    -------
    command : In(stream.Signature(StructLayout))
        As in golden/systolic/im2col_layout.py; all but origin, top, start and jump, pitch, step
        and ``plane_step`` at least 1.
    words : Out(stream.Signature(StructLayout))
        As there.

    Attributes
    ----------
    loops : WindowLoops
        Where the next word is.
    """

    def __init__(self, *, size, address_width=10):
        check_size(size)
        check_integer("Address width", address_width, 1)
        self.size, self.address_width = size, address_width
        self.loops = WindowLoops(size=size, address_width=address_width)
        super().__init__({
            "command": In(stream.Signature(CommandLayout(address_width=address_width))),
            "words": Out(stream.Signature(data.StructLayout(word_fields(size, address_width)))),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.loops = loops = self.loops
        pass_through(m, self, loops, "command")
        m.d.comb += loops.advance.eq(~self.words.valid | self.words.ready)

        # An element is one of the window's row if it is one of the run, and one of the image if its
        # row is, and its place in it.
        word, column, row, last = self.words.payload, loops.column, loops.row, loops.last
        digits = exact_log2(self.size)
        in_image, tile_ends = Signal(), Signal()
        m.d.comb += [in_image.eq((row >= 0) & (row < loops.current.height)),
                     tile_ends.eq(last.across & last.down)]
        lanes = [in_image & (column >= -i) & (loops.elements_left > i) & (loops.run_left > i)
                 for i in range(self.size)]
        with m.If(loops.advance):
            m.d.sync += [
                self.words.valid.eq(loops.busy), word.address.eq(loops.line + (column >> digits)),
                word.offset.eq(column[:digits]), word.lanes.eq(Cat(*lanes)),
                word.last.eq(tile_ends), word.final.eq(tile_ends & last.as_value().all()),
            ]
        return m
