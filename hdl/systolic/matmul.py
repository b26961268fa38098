"""Matrix multiplier: memories for the operands, a weight-stationary array, sums over tiles of k.

Ref: thesis on AI accelerators, chapter 5.2 (Table 5.2: partial sums in an external buffer).
"""

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.hdl.parameters import check_integer
from cyclebound.hdl.systolic.sum_memory import SumMemory
from cyclebound.hdl.systolic.tile_sequencer import TileSequencer
from cyclebound.hdl.systolic.weight_stationary import WeightStationaryArray

__all__ = ["Matmul"]

_DIMENSION = 16  # bits of m, k and n


class Matmul(wiring.Component):
    """C = A B of any shape that the memories hold, by one command.

    Weights, rows of A and results each follow a tile sequencer of their own. Both memories are read
    word by word: B once, A once for each column of tiles, as golden/systolic/matmul.py lays
    them out. Elements of A beyond k count as 0, whatever the memory holds there, and rows of B
    beyond k are not in it.

    Latency: 2 cycles from the command to the first row of weights, and 2 from a row of the array's
    last fold over k to ``results``. A command is accepted when the product before has left.

    Parameters
    ----------
    rows, columns, operand_width, accumulator_width, double_buffer
        Of the array, as of `WeightStationaryArray`.
    a_depth, b_depth : int
        Words of the memories of A and B, at least 2 each.
    sums_depth : int
        Rows whose sums are kept over k, at least 2: the greatest m.

    Members
    -------
    command : In(stream.Signature(StructLayout))
        ``m``, ``k``, ``n``, at least 1 each; operands must be in the memories.
    load_a, load_b : In(stream.Signature(StructLayout))
        ``address`` and ``data`` of a word to write; always ready. Not of a product under way.
    results : Out(stream.Signature(ArrayLayout(signed(accumulator_width), columns)))
        Rows of C, in strips of ``columns`` columns; the first m rows are the first strip.
    active : Out(rows * columns)
        Which PEs execute, as of `WeightStationaryArray`.

    Attributes
    ----------
    array : WeightStationaryArray
        The array.
    """

    def __init__(self, *, rows, columns, operand_width=8, accumulator_width=32,
                 double_buffer=True, a_depth=1024, b_depth=1024, sums_depth=512):
        check_integer("Depth of A", a_depth, 2)
        check_integer("Depth of B", b_depth, 2)
        check_integer("Depth of the sums", sums_depth, 2)
        self.array = WeightStationaryArray(
            rows=rows, columns=columns, operand_width=operand_width,
            accumulator_width=accumulator_width, double_buffer=double_buffer)
        self.rows, self.columns = rows, columns
        self.depths = {"a": a_depth, "b": b_depth, "sums": sums_depth}
        operand = signed(operand_width)
        self._words = {"a": data.ArrayLayout(operand, rows),
                       "b": data.ArrayLayout(operand, columns),
                       "sums": data.ArrayLayout(signed(accumulator_width), columns)}
        super().__init__({
            "command": In(stream.Signature(data.StructLayout(dict.fromkeys("mkn", _DIMENSION)))),
            **{f"load_{name}": In(stream.Signature(data.StructLayout({
                "address": ceil_log2(self.depths[name]), "data": self._words[name]})))
               for name in "ab"},
            "results": Out(stream.Signature(self._words["sums"])),
            "active": Out(rows * columns),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.array = array = self.array
        m.d.comb += self.active.eq(array.active)

        busy, begin, ends = Signal(), Signal(), Signal()
        length = Signal(_DIMENSION)  # m
        m.d.comb += [self.command.ready.eq(~busy), begin.eq(self.command.valid & ~busy)]
        with m.If(begin):
            m.d.sync += [busy.eq(1), length.eq(self.command.payload.m)]
        with m.Elif(ends):
            m.d.sync += busy.eq(0)

        self._weights(m, begin, array)
        self._left(m, begin, length, array)
        self._sums(m, begin, length, array, ends)
        return m

    def _walk(self, m, name, begin):
        """A sequencer that begins with the command; its tiles."""
        sequencer = TileSequencer(rows=self.rows, columns=self.columns, dimension_width=_DIMENSION)
        m.submodules[f"{name}_tiles"] = sequencer
        m.d.comb += [
            sequencer.command.valid.eq(begin),
            sequencer.command.payload.down.eq(self.command.payload.k),
            sequencer.command.payload.across.eq(self.command.payload.n),
        ]
        return sequencer.tiles

    def _memory(self, m, name):
        """A memory of operands, with its port for writing; the port for reading."""
        load = getattr(self, f"load_{name}")
        m.submodules[f"{name}_memory"] = memory = Memory(
            shape=self._words[name], depth=self.depths[name], init=[])
        write, read = memory.write_port(), memory.read_port()
        m.d.comb += [load.ready.eq(1), write.en.eq(load.valid),
                     write.addr.eq(load.payload.address), write.data.eq(load.payload.data)]
        return read

    def _weights(self, m, begin, array):
        """The rows of each tile, and 0 for those that a partial tile does not have."""
        tiles, read = self._walk(m, "weights", begin), self._memory(m, "b")
        row, address = Signal(range(self.rows)), Signal(range(self.depths["b"]))
        exists, given, move = Signal(), Signal(), Signal()
        m.d.comb += [
            move.eq(~array.weights.valid | array.weights.ready),
            exists.eq(row < tiles.payload.height),
            read.addr.eq(address),
            read.en.eq(move),
            tiles.ready.eq(move & (row == self.rows - 1)),
        ]
        with m.If(move):
            m.d.sync += [array.weights.valid.eq(tiles.valid), given.eq(exists)]
            with m.If(tiles.valid):
                m.d.sync += [row.eq(Mux(row == self.rows - 1, 0, row + 1)),
                             address.eq(address + exists)]
        with m.If(begin):
            m.d.sync += address.eq(0)
        m.d.comb += [value.eq(Mux(given, word, 0)) for value, word in
                     zip(array.weights.payload, read.data, strict=True)]

    def _left(self, m, begin, length, array):
        """All rows of A for each tile; from the beginning again for each column of tiles."""
        tiles, read = self._walk(m, "left", begin), self._memory(m, "a")
        row, address = Signal(_DIMENSION), Signal(range(self.depths["a"]))
        move, ends = Signal(), Signal()
        exist = Signal(self.rows)
        place = Mux(tiles.payload.first & (row == 0), 0, address)
        m.d.comb += [
            move.eq(~array.left.valid | array.left.ready),
            ends.eq(row == length - 1),
            read.addr.eq(place),
            read.en.eq(move),
            tiles.ready.eq(move & ends),
        ]
        with m.If(move):
            m.d.sync += [array.left.valid.eq(tiles.valid), array.left.payload.last.eq(ends)]
            m.d.sync += [exist[i].eq(i < tiles.payload.height) for i in range(self.rows)]
            with m.If(tiles.valid):
                m.d.sync += [row.eq(Mux(ends, 0, row + 1)), address.eq(place + 1)]
        m.d.comb += [array.left.payload["values"][i].eq(Mux(exist[i], read.data[i], 0))
                     for i in range(self.rows)]

    def _sums(self, m, begin, length, array, ends):
        """Rows of the array added to those of the folds before; the last fold's leave."""
        tiles = self._walk(m, "sums", begin)
        m.submodules.sums = sums = SumMemory(
            columns=self.columns, width=len(self.results.payload[0]), depth=self.depths["sums"],
            row_width=_DIMENSION)
        row, taken, final_row = Signal(_DIMENSION), Signal(), Signal()
        rows = sums.rows.payload
        m.d.comb += [
            sums.rows.valid.eq(array.results.valid),
            array.results.ready.eq(sums.rows.ready),
            taken.eq(sums.rows.valid & sums.rows.ready),
            final_row.eq(row == length - 1),
            tiles.ready.eq(taken & final_row),
            rows["values"].eq(array.results.payload),
            rows.row.eq(row),
            rows.first.eq(tiles.payload.first),
            rows.last.eq(tiles.payload.last),
            rows.final.eq(tiles.payload.final & final_row),
            self.results.valid.eq(sums.results.valid),
            sums.results.ready.eq(self.results.ready),
            self.results.payload.eq(sums.results.payload["values"]),
            ends.eq(self.results.valid & self.results.ready & sums.results.payload.final),
        ]
        with m.If(taken):
            m.d.sync += row.eq(Mux(final_row, 0, row + 1))
