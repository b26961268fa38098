"""Sums over tiles: rows that an array makes are added to those of the tiles before.

It has no model of its own: what it adds to a product's cycles is in golden/systolic/matmul.py, and
the units around it cover it.
"""

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["SumMemory"]


class SumMemory(wiring.Component):
    """A row of sums for each row number; those of the last tile leave.

    A row that is accepted in cycle *t* is on ``results`` in *t* + 2, if it is one of the last tile.
    While a result is on offer and not taken, everything stands still.

    Parameters
    ----------
    columns, width : int
        Sums of a row, and bits of one.
    depth : int
        Rows.
    row_width : int
        Bits of a row's number.

    Members
    -------
    rows : In(stream.Signature(StructLayout))
        ``values`` of row ``row``; ``first``, ``last``: of the tiles that are added up; ``final``
        leaves together with the row.
    results : Out(stream.Signature(StructLayout))
        ``values`` and ``final``.
    """

    def __init__(self, *, columns, width, depth, row_width):
        self._values = data.ArrayLayout(signed(width), columns)
        self._depth = depth
        self._row = data.StructLayout({"values": self._values, "row": row_width, "first": 1,
                                       "last": 1, "final": 1})
        super().__init__({
            "rows": In(stream.Signature(self._row)),
            "results": Out(stream.Signature(data.StructLayout({"values": self._values,
                                                               "final": 1}))),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = Memory(shape=self._values, depth=self._depth, init=[])
        write = memory.write_port()
        read = memory.read_port(transparent_for=(write,))
        move, results = Signal(), self.results
        m.d.comb += [
            move.eq(~results.valid | results.ready),
            self.rows.ready.eq(move),
            read.addr.eq(self.rows.payload.row),
            read.en.eq(move),
        ]

        # The row that was taken, and what becomes of it.
        arrived, valid = Signal(self._row), Signal()
        with m.If(move):
            m.d.sync += [arrived.eq(self.rows.payload), valid.eq(self.rows.valid)]
        added = Signal(self._values)
        m.d.comb += [total.eq(value + Mux(arrived.first, 0, before)) for total, value, before in
                     zip(added, arrived["values"], read.data, strict=True)]
        m.d.comb += [write.addr.eq(arrived.row), write.data.eq(added), write.en.eq(valid & move)]
        with m.If(move):
            m.d.sync += [results.valid.eq(valid & arrived.last),
                         results.payload.final.eq(arrived.final),
                         results.payload["values"].eq(added)]
        return m
