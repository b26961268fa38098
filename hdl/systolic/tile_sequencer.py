"""Tile sequencer: walks a matrix in tiles of the array, partial ones at the edges included."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.systolic.tile_layout import COMMAND, tile_fields
from cyclebound.hdl.parameters import check_integer

__all__ = ["TileSequencer"]


class TileSequencer(wiring.Component):
    """Says of each tile of a matrix where it begins, how large it is, and whether sums go on.

    Columns of tiles one after the other, each from the top down. The first tile is on offer in the
    cycle after the command was accepted, and with a ready sink there is another in each
    cycle. The next command is accepted together with the last tile. ``command.ready`` depends on
    ``tiles.ready``.

    Parameters
    ----------
    rows, columns : int
        Shape of the array, at least 1 each.
    dimension_width : int
        Bits of a dimension of the matrix; at least those of ``rows`` and ``columns``.

    Members
    -------
    command : In(stream.Signature(StructLayout))
        ``down``, ``across``: the matrix along the rows and the columns of the array, at least 1.
    tiles : Out(stream.Signature(StructLayout))
        As in golden/systolic/tile_layout.py.

    Attributes
    ----------
    busy : Signal
        A walk is under way.
    row, column : Signal
        Where the tile on offer begins.
    down, down_left, across_left : Signal
        Rows of the matrix; rows and columns of it from there on.
    """

    def __init__(self, *, rows, columns, dimension_width=16):
        check_integer("Row count", rows, 1)
        check_integer("Column count", columns, 1)
        check_integer("Dimension width", dimension_width, max(rows, columns).bit_length())
        self.rows, self.columns, self.dimension_width = rows, columns, dimension_width
        command = data.StructLayout(dict.fromkeys(COMMAND, dimension_width))
        tile = data.StructLayout(tile_fields(rows, columns, dimension_width))
        super().__init__({"command": In(stream.Signature(command)),
                          "tiles": Out(stream.Signature(tile))})
        self.busy = Signal()
        self.row, self.column = Signal(dimension_width), Signal(dimension_width)
        self.down, self.down_left = Signal(dimension_width), Signal(dimension_width)
        self.across_left = Signal(dimension_width)

    def elaborate(self, platform):
        m = Module()

        tile, given = self.tiles.payload, self.command.payload
        taken = Signal()
        m.d.comb += [
            self.tiles.valid.eq(self.busy),
            taken.eq(self.busy & self.tiles.ready),
            self.command.ready.eq(~self.busy | (self.tiles.ready & tile.final)),
            tile.row.eq(self.row),
            tile.column.eq(self.column),
            tile.first.eq(self.row == 0),
            tile.last.eq(self.down_left <= self.rows),
            tile.final.eq(tile.last & (self.across_left <= self.columns)),
            tile.height.eq(Mux(tile.last, self.down_left, self.rows)),
            tile.width.eq(Mux(self.across_left <= self.columns, self.across_left, self.columns)),
        ]

        with m.If(self.command.valid & self.command.ready):
            m.d.sync += [
                self.busy.eq(1),
                self.row.eq(0),
                self.column.eq(0),
                self.down.eq(given.down),
                self.down_left.eq(given.down),
                self.across_left.eq(given.across),
            ]
        with m.Elif(taken & tile.final):
            m.d.sync += self.busy.eq(0)
        with m.Elif(taken & tile.last):
            m.d.sync += [
                self.row.eq(0),
                self.down_left.eq(self.down),
                self.column.eq(self.column + self.columns),
                self.across_left.eq(self.across_left - self.columns),
            ]
        with m.Elif(taken):
            m.d.sync += [
                self.row.eq(self.row + self.rows),
                self.down_left.eq(self.down_left - self.rows),
            ]
        return m
