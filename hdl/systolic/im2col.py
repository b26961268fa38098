"""Address generator for convolutions as matrix products (im2col), without copies in memory.

Ref: thesis on AI accelerators, chapter 4.2 (convolution as a product); the layout in memory
and the order of the words are this project's.
"""

from amaranth.hdl import Cat, Module, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cyclebound.golden.systolic.im2col_layout import COMMAND, SIGNED, word_fields
from cyclebound.hdl.parameters import check_integer

__all__ = ["Im2col", "check_size"]

_WIDTH = 16


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
    """

    def __init__(self, *, size, address_width=10):
        check_size(size)
        check_integer("Address width", address_width, 1)
        self.size, self.address_width = size, address_width
        addresses = ("origin", "pitch", "jump", "plane_step")
        super().__init__({
            "command": In(stream.Signature(data.StructLayout({
                name: address_width if name in addresses
                else signed(_WIDTH) if name in SIGNED else _WIDTH for name in COMMAND}))),
            "words": Out(stream.Signature(data.StructLayout(word_fields(size, address_width)))),
        })

    def elaborate(self, platform):
        m = Module()
        move = Signal()  # the next word may enter the output's registers
        m.d.comb += move.eq(~self.words.valid | self.words.ready)
        self._walk(m, move)
        self._word(m, move)
        return m

    def _walk(self, m, move):
        """The nest of loops: where the next word is in the image, and which loops it ends."""
        busy, begin, now = Signal(), Signal(), Signal.like(self.command.payload)
        m.d.comb += [self.command.ready.eq(~busy), begin.eq(self.command.valid & ~busy)]

        # Counters, and where each loop stands.
        left = {name: Signal(_WIDTH, name=f"{name}_left") for name in
                ("across", "down", "kernel", "planes", "strips")}
        column, row = Signal(signed(_WIDTH + 1)), Signal(signed(_WIDTH + 1))
        line = Signal(self.address_width)  # of the row
        first_row = Signal(signed(_WIDTH + 1))  # of the tile
        first_line, plane_line = Signal(self.address_width), Signal(self.address_width)
        left_of_run = Signal(_WIDTH)  # elements from this tile on
        first_column = Signal(signed(_WIDTH + 1))  # of the tile
        # What is left of the row of the image: elements less `column`, and so on. Kept beside it,
        # so that no sum is compared with anything but a constant.
        room, first_room, start_room = (Signal(signed(_WIDTH + 2), name=name) for name in
                                        ("room", "first_room", "start_room"))
        over = {name: Signal(name=f"{name}_over") for name in (*left, "run")}
        m.d.comb += [over[name].eq(left[name] == 1) for name in left]
        m.d.comb += over["run"].eq(left_of_run <= self.size)

        def again(*names):
            return [left[name].eq(now[name]) for name in names]

        with m.If(begin):
            given = self.command.payload
            m.d.sync += [
                busy.eq(1), now.eq(given), left_of_run.eq(given.run),
                *(left[name].eq(given[name]) for name in left),
                *(counter.eq(given.start) for counter in (column, first_column)),
                *(counter.eq(given.elements - given.start)
                  for counter in (room, first_room, start_room)),
                *(counter.eq(given.top) for counter in (row, first_row)),
                *(counter.eq(given.origin) for counter in (line, first_line, plane_line)),
            ]
        with m.Elif(busy & move):
            with m.If(~over["across"]):
                m.d.sync += [left["across"].eq(left["across"] - 1), column.eq(column + now.step),
                             room.eq(room - now.step)]
            with m.Elif(~over["down"]):
                m.d.sync += [*again("across"), left["down"].eq(left["down"] - 1),
                             column.eq(first_column), room.eq(first_room),
                             row.eq(row + now.stride), line.eq(line + now.jump)]
            with m.Else():
                m.d.sync += again("across", "down")
                with m.If(~over["run"]):
                    m.d.sync += [left_of_run.eq(left_of_run - self.size), line.eq(first_line),
                                 row.eq(first_row)]
                    m.d.sync += [counter.eq(first_column + self.size)
                                 for counter in (column, first_column)]
                    m.d.sync += [counter.eq(first_room - self.size)
                                 for counter in (room, first_room)]
                with m.Else():
                    m.d.sync += [left_of_run.eq(now.run),
                                 *(counter.eq(now.start) for counter in (column, first_column)),
                                 *(counter.eq(start_room) for counter in (room, first_room))]
                    with m.If(~over["kernel"]):
                        m.d.sync += left["kernel"].eq(left["kernel"] - 1)
                        m.d.sync += [counter.eq(first_line + now.pitch)
                                     for counter in (line, first_line)]
                        m.d.sync += [counter.eq(first_row + 1) for counter in (row, first_row)]
                    with m.Else():
                        m.d.sync += [*again("kernel"), row.eq(now.top), first_row.eq(now.top)]
                        with m.If(~over["planes"]):
                            m.d.sync += left["planes"].eq(left["planes"] - 1)
                            m.d.sync += [counter.eq(plane_line + now.plane_step)
                                         for counter in (line, first_line, plane_line)]
                        with m.Else():
                            m.d.sync += [*again("planes"),
                                         left["strips"].eq(left["strips"] - 1)]
                            m.d.sync += [counter.eq(now.origin)
                                         for counter in (line, first_line, plane_line)]
                            with m.If(over["strips"]):
                                m.d.sync += busy.eq(0)
        self._busy, self._now, self._left = busy, now, left
        self._column, self._row, self._line = column, row, line
        self._room, self._left_of_run, self._over = room, left_of_run, over

    def _word(self, m, move):
        """A word, in registers.

        An element is one of the window's row if it is one of the run, and one of the image if its
        row is, and its place in it.
        """
        out, column, row, over = self.words.payload, self._column, self._row, self._over
        digits = exact_log2(self.size)
        inside, tile_ends = Signal(), Signal()
        m.d.comb += [inside.eq((row >= 0) & (row < self._now.height)),
                     tile_ends.eq(over["across"] & over["down"])]
        lanes = [inside & (column >= -i) & (self._room > i) & (self._left_of_run > i)
                 for i in range(self.size)]
        with m.If(move):
            m.d.sync += [
                self.words.valid.eq(self._busy),
                out.address.eq(self._line + (column >> digits)),
                out.offset.eq(column[:digits]),
                out.lanes.eq(Cat(*lanes)),
                out.last.eq(tile_ends),
                out.final.eq(tile_ends & Cat(*over.values()).all()),
            ]
