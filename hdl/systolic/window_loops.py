"""The nest of loops over the windows of a convolution: where each word of A is in the image.

Part of the address generator `Im2col`, whose model, testbench and tests cover it.

Ref: thesis on AI accelerators, chapter 4.2.
"""

from amaranth.hdl import Module, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.systolic.im2col_layout import COMMAND, SIGNED

__all__ = ["CommandLayout", "WindowLoops"]

_WIDTH = 16
_COUNTED = ("across", "down", "kernel", "planes", "strips")  # loops that count words or more


class CommandLayout(data.StructLayout):
    """A command, as golden/systolic/im2col_layout.py says."""

    def __init__(self, *, address_width):
        addresses = ("origin", "pitch", "jump", "plane_step")
        super().__init__({name: address_width if name in addresses
                          else signed(_WIDTH) if name in SIGNED else _WIDTH for name in COMMAND})


class WindowLoops(wiring.Component):
    """Goes through the words of a command: from the innermost loop on, the windows ``across`` and
    ``down``, the tiles of a window's ``run``, the rows of its ``kernel``, ``planes``, ``strips``.

    Sums are kept from word to word, so that there is no product and none is compared with anything
    but a constant. The outputs are registers, but for ``last``.

    Parameters
    ----------
    size : int
        Elements of a word.
    address_width : int
        Bits of an address of a word.

    Members
    -------
    command : In(stream of CommandLayout)
        Accepted when the words of the one before have been passed.
    advance : In(1)
        The word is passed, if there is one: go on to the next.
    busy : Out(1)
        There is a word.
    current : Out(CommandLayout)
        Its command.
    column, row : Out(signed)
        Of its first element, in the image; negative where there is padding.
    line : Out(address_width)
        Address of its row's first word.
    elements_left : Out(signed)
        Elements of the image's row from ``column`` on.
    run_left : Out(16)
        Elements of the window's row from the word on.
    remaining : Out
        By loop but that of the run, how many iterations are left, this one among them.
    last : Out
        By loop, whether this is its last iteration.
    """

    def __init__(self, *, size, address_width):
        self.size, self.address_width = size, address_width
        layout = CommandLayout(address_width=address_width)
        super().__init__({
            "command": In(stream.Signature(layout)), "advance": In(1),
            "busy": Out(1), "current": Out(layout),
            "column": Out(signed(_WIDTH + 1)), "row": Out(signed(_WIDTH + 1)),
            "line": Out(address_width), "elements_left": Out(signed(_WIDTH + 2)),
            "run_left": Out(_WIDTH),
            "remaining": Out(data.StructLayout(dict.fromkeys(_COUNTED, _WIDTH))),
            "last": Out(data.StructLayout(dict.fromkeys((*_COUNTED, "run"), 1))),
        })

    def elaborate(self, platform):
        m = Module()
        command, current, remaining, last = (self.command, self.current, self.remaining, self.last)
        column, row, line, elements = self.column, self.row, self.line, self.elements_left
        # What the inner loops begin with again: of the tile, of the plane, of the run.
        tile_column, tile_row = Signal.like(column), Signal.like(row)
        tile_line, plane_line = Signal.like(line), Signal.like(line)
        tile_elements, run_elements = Signal.like(elements), Signal.like(elements)
        m.d.comb += [command.ready.eq(~self.busy), last.run.eq(self.run_left <= self.size),
                     *(last[name].eq(remaining[name] == 1) for name in _COUNTED)]

        def load(value, *registers):
            m.d.sync += [register.eq(value) for register in registers]

        def restart(*names):
            m.d.sync += [remaining[name].eq(current[name]) for name in names]

        def count(name):
            m.d.sync += remaining[name].eq(remaining[name] - 1)

        with m.If(command.valid & ~self.busy):
            given = command.payload
            m.d.sync += [self.busy.eq(1), current.eq(given), self.run_left.eq(given.run),
                         *(remaining[name].eq(given[name]) for name in _COUNTED)]
            load(given.start, column, tile_column)
            load(given.elements - given.start, elements, tile_elements, run_elements)
            load(given.top, row, tile_row)
            load(given.origin, line, tile_line, plane_line)
        with m.Elif(self.busy & self.advance):
            with m.If(~last.across):
                count("across")
                load(column + current.step, column)
                load(elements - current.step, elements)
            with m.Elif(~last.down):
                restart("across")
                count("down")
                load(tile_column, column)
                load(tile_elements, elements)
                load(row + current.stride, row)
                load(line + current.jump, line)
            with m.Elif(~last.run):
                restart("across", "down")
                load(self.run_left - self.size, self.run_left)
                load(tile_line, line)
                load(tile_row, row)
                load(tile_column + self.size, column, tile_column)
                load(tile_elements - self.size, elements, tile_elements)
            with m.Else():
                restart("across", "down")
                load(current.run, self.run_left)
                load(current.start, column, tile_column)
                load(run_elements, elements, tile_elements)
                with m.If(~last.kernel):
                    count("kernel")
                    load(tile_line + current.pitch, line, tile_line)
                    load(tile_row + 1, row, tile_row)
                with m.Else():
                    restart("kernel")
                    load(current.top, row, tile_row)
                    with m.If(~last.planes):
                        count("planes")
                        load(plane_line + current.plane_step, line, tile_line, plane_line)
                    with m.Else():
                        restart("planes")
                        count("strips")
                        load(current.origin, line, tile_line, plane_line)
                        with m.If(last.strips):
                            m.d.sync += self.busy.eq(0)
        return m
