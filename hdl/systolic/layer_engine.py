"""Layer engine: a convolution from scratchpads to a scratchpad, by one command.

Ref: thesis on AI accelerators, chapters 2.3 and 2.4 (layers), 4.2 (convolution as a product),
5.2 (Table 5.2: partial sums in an external buffer).

It has no model of its own: its cycles are `compute_cycles` in golden/systolic/accelerator.py, and
the accelerator's testbench covers it.
"""

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cyclebound.golden.systolic.accelerator_layout import SHIFT_PLACE, compute_fields
from cyclebound.golden.systolic.im2col_layout import COMMAND
from cyclebound.golden.systolic.post_processing_layout import SHIFT_WIDTH
from cyclebound.hdl.parameters import check_integer
from cyclebound.hdl.systolic.im2col import Im2col, check_size
from cyclebound.hdl.systolic.max_pooling import MaxPooling
from cyclebound.hdl.systolic.post_processing import PostProcessing
from cyclebound.hdl.systolic.sum_memory import SumMemory
from cyclebound.hdl.systolic.tile_sequencer import TileSequencer
from cyclebound.hdl.systolic.weight_stationary import WeightStationaryArray

__all__ = ["LayerEngine", "layout_of"]

_WIDTH = 16
_SUM = 32
_LATENCY = 11  # cycles from a row of the array to its result: sums, scale and limits, pooling


def layout_of(fields):
    """A layout of fields that are (width, signed)."""
    return data.StructLayout({name: signed(width) if sign else width
                              for name, (width, sign) in fields.items()})


class LayerEngine(wiring.Component):
    """Image, weights and biases in scratchpads; results in another, ready to be the next image.

    The array's rows are fed with words of windows, cut out of the image where they lie; each
    word may begin at any element, so that the scratchpad of A has two banks. Weights are read in
    the order of their use. Sums are added up over the tiles of a strip of ``size`` filters, get
    their bias, scale and limits, and are pooled. A command may keep its sums, and the next one go
    on from them, where the windows of a layer are more than the scratchpads hold. Nothing in the
    engine ever waits for anything but weights that are not loaded yet.

    Parameters
    ----------
    size : int
        Rows and columns of the array, and elements of a word; a power of two, at least 2.
    a_depth, b_depth, bias_depth, c_depth, sums_depth : int
        Words of the scratchpads, and greatest number of windows; at least 4, that of A even. There
        are as many words of shortcuts as of C, and of scales as of biases.
    pool_depth : int
        Greatest number of results beside each other after a pooling, at least 2.
    address_width : int
        Bits of an address of a scratchpad.

    Members
    -------
    command : In(stream.Signature(StructLayout))
        As ``compute_fields`` in golden/systolic/accelerator_layout.py. Accepted when the one
        before has ended.
    write_a, write_b, write_bias, write_shortcut, write_scale : In(StructLayout)
        ``enable``, ``address`` and ``data`` of a word. Not one that is in use.
    read_c : In(StructLayout)
        ``enable`` and ``address`` of a word.
    c_data : Out
        The word asked for in the cycle before.
    active : Out(size * size)
        Which PEs execute.
    """

    def __init__(self, *, size, a_depth=1024, b_depth=1024, bias_depth=64, c_depth=1024,
                 sums_depth=1024, pool_depth=64, address_width=12):
        check_size(size)
        for name, depth in (("A", a_depth), ("B", b_depth), ("biases", bias_depth),
                            ("C", c_depth), ("the sums", sums_depth)):
            check_integer(f"Depth of {name}", depth, 4)
        check_integer("Depth of the pooling", pool_depth, 2)
        if a_depth % 2:
            raise ValueError(f"Depth of A must be even, not {a_depth}")
        check_integer("Address width", address_width,
                    (max(a_depth, b_depth, bias_depth, c_depth) - 1).bit_length())
        self.size, self.address_width = size, address_width
        self.depths = {"a": a_depth, "b": b_depth, "bias": bias_depth, "c": c_depth}
        self.sums_depth, self.pool_depth = sums_depth, pool_depth
        self._word = data.ArrayLayout(signed(8), size)
        self._biases = data.ArrayLayout(signed(_SUM), size)

        def port(word):
            return In(data.StructLayout({"enable": 1, "address": address_width, "data": word}))

        super().__init__({
            "command": In(stream.Signature(layout_of(compute_fields(address_width)))),
            "write_a": port(self._word), "write_b": port(self._word),
            "write_bias": port(self._biases), "write_shortcut": port(self._word),
            "write_scale": port(self._biases),
            "read_c": In(data.StructLayout({"enable": 1, "address": address_width})),
            "c_data": Out(self._word), "active": Out(size * size),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.array = array = WeightStationaryArray(rows=self.size, columns=self.size)
        busy, begin, ends = Signal(), Signal(), Signal()
        now = Signal.like(self.command.payload)
        m.d.comb += [self.command.ready.eq(~busy), begin.eq(self.command.valid & ~busy),
                     self.active.eq(array.active)]
        with m.If(begin):
            m.d.sync += [busy.eq(1), now.eq(self.command.payload)]
        with m.Elif(ends):
            m.d.sync += busy.eq(0)
        self._weights(m, begin, array.weights)
        self._left(m, begin, now, array.left)
        self._results(m, begin, now, array.results, ends)
        return m

    def _memory(self, m, name, shape, depth, write):
        """A scratchpad that ``write`` fills; its port for reading."""
        m.submodules[f"{name}_memory"] = memory = Memory(shape=shape, depth=depth, init=[])
        port = memory.write_port()
        m.d.comb += [port.en.eq(write.enable), port.addr.eq(write.address),
                     port.data.eq(write.data)]
        return memory.read_port()

    def _weights(self, m, begin, weights):
        """The rows of each tile, and 0 for those that a partial tile does not have."""
        given = self.command.payload
        m.submodules.weights_tiles = sequencer = TileSequencer(rows=self.size, columns=1,
                                                               dimension_width=_WIDTH)
        tiles, read = sequencer.tiles, self._memory(m, "b", self._word, self.depths["b"],
                                                    self.write_b)
        row, address = Signal(range(self.size)), Signal(self.address_width)
        exists, real, move = Signal(), Signal(), Signal()
        m.d.comb += [
            sequencer.command.valid.eq(begin),
            sequencer.command.payload.down.eq(given.run),
            sequencer.command.payload.across.eq(given.runs),
            move.eq(~weights.valid | weights.ready),
            exists.eq(row < tiles.payload.height),
            read.addr.eq(address),
            read.en.eq(move),
            tiles.ready.eq(move & (row == self.size - 1)),
        ]
        with m.If(move):
            m.d.sync += [weights.valid.eq(tiles.valid), real.eq(exists)]
            with m.If(tiles.valid):
                m.d.sync += [row.eq(row + 1), address.eq(address + exists)]
        with m.If(begin):
            m.d.sync += address.eq(given.b_base)
        m.d.comb += [value.eq(Mux(real, word, 0)) for value, word in
                     zip(weights.payload, read.data, strict=True)]

    def _left(self, m, begin, now, left):
        """Words of windows: two words of memory, turned and masked."""
        m.submodules.im2col = windows = Im2col(size=self.size, address_width=self.address_width)
        word, move = windows.words, Signal()
        m.d.comb += [windows.command.valid.eq(begin), move.eq(~left.valid | left.ready),
                     word.ready.eq(move)]
        m.d.comb += [windows.command.payload[name].eq(self.command.payload[name])
                     for name in COMMAND]
        write, banks = self.write_a, []
        for odd in range(2):
            half = Signal.like(write, name=f"write_{odd}")
            m.d.comb += [half.eq(write), half.address.eq(write.address >> 1),
                         half.enable.eq(write.enable & (write.address[0] == odd))]
            read = self._memory(m, f"a{odd}", self._word, self.depths["a"] // 2, half)
            # the even bank has the second word if the first is odd
            m.d.comb += [read.en.eq(move),
                         read.addr.eq((word.payload.address + (1 - odd))[1:])]
            banks.append(read.data)

        # The cycle in which memory answers, and the one in which the word is turned.
        came, valid = Signal.like(word.payload), Signal()
        both = Signal(2 * 8 * self.size)
        m.d.comb += both.eq(Mux(came.address[0], Cat(banks[1], banks[0]), Cat(*banks)))
        for digit in range(exact_log2(self.size)):
            turned = Signal.like(both, name=f"turned_{digit}")
            m.d.comb += turned.eq(Mux(came.offset[digit], both >> (8 << digit), both))
            both = turned
        with m.If(move):
            m.d.sync += [came.eq(word.payload), valid.eq(word.valid),
                         left.valid.eq(valid), left.payload.last.eq(came.last)]
            # beyond the run it may be anything: the weights there are 0
            m.d.sync += [value.eq(Mux(came.lanes[i], both[8 * i:8 * i + 8].as_signed(), now.pad))
                         for i, value in enumerate(left.payload["values"])]

    def _results(self, m, begin, now, results, ends):
        """Rows of the array: added up, scaled, pooled, and written."""
        m.submodules.sums = sums = SumMemory(columns=self.size, width=_SUM, depth=self.sums_depth,
                                             row_width=_WIDTH)
        m.submodules.scale = scale = PostProcessing(columns=self.size, own_scales=True)
        m.submodules.pooling = pooling = MaxPooling(columns=self.size, most=self.pool_depth)
        last_tile, strip = self._accumulate(m, begin, now, results, sums)
        shortcut = self._shortcut(m, begin, now, results.valid & last_tile)
        self._post_process(m, now, strip, sums.results, shortcut, scale, pooling)

        # The last row ends the command, whether or not it completes a window, or leaves the sums.
        under_way = Signal(_LATENCY)
        m.d.sync += under_way.eq(Cat(sums.rows.valid & sums.rows.payload.final, under_way))
        m.d.comb += ends.eq(under_way[-1])
        self._write(m, begin, pooling.results)

    def _accumulate(self, m, begin, now, results, sums):
        """Send rows to the memory of sums, tile by tile; whether it is a strip's last tile, and
        the number of the strip."""
        row, tile, strip = Signal(_WIDTH), Signal(_WIDTH), Signal(_WIDTH)
        last_row, last_tile, rows = Signal(), Signal(), sums.rows
        # Sums of one strip are in the same places as those of the strip before, but where they stay
        # for the next command, or come from the one before.
        first_sum = Signal(_WIDTH)
        m.d.comb += [
            last_row.eq(row == now.pixels - 1),
            last_tile.eq(tile == now.tiles - 1),
            rows.valid.eq(results.valid),
            results.ready.eq(1),  # as all that follows it
            rows.payload["values"].eq(results.payload),
            rows.payload.row.eq(first_sum + row),
            rows.payload.first.eq((tile == 0) & ~now.resume),
            rows.payload.last.eq(last_tile & ~now.keep),
            rows.payload.final.eq(last_row & last_tile & (strip == now.strips - 1)),
        ]
        with m.If(begin):
            m.d.sync += [strip.eq(0), first_sum.eq(0)]
        with m.Elif(results.valid):
            m.d.sync += row.eq(Mux(last_row, 0, row + 1))
            with m.If(last_row):
                m.d.sync += tile.eq(Mux(last_tile, 0, tile + 1))
                with m.If(last_tile):
                    m.d.sync += strip.eq(strip + 1)
                    with m.If(now.resume | now.keep):
                        m.d.sync += first_sum.eq(first_sum + now.pixels)
        return last_tile, strip

    def _shortcut(self, m, begin, now, advance):
        """A row's shortcut: it comes together with the row's sum, two cycles after the array's."""
        shortcuts = self._memory(m, "shortcut", self._word, self.depths["c"], self.write_shortcut)
        pixel, shortcut = Signal(self.address_width), Signal(self._word)
        with m.If(begin):
            m.d.sync += pixel.eq(self.command.payload.c_base)
        with m.Elif(advance):
            m.d.sync += pixel.eq(pixel + 1)
        m.d.comb += [shortcuts.addr.eq(pixel), shortcuts.en.eq(1)]
        m.d.sync += [value.eq(Mux(now.shortcut, word, now.zero))
                     for value, word in zip(shortcut, shortcuts.data, strict=True)]
        return shortcut

    def _post_process(self, m, now, strip, sums, shortcut, scale, pooling):
        """Scale the sums and pool them; a row's bias and scale come together with its sum, too."""
        read, scales = (self._memory(m, name, self._biases, self.depths["bias"], write)
                        for name, write in (("bias", self.write_bias), ("scale", self.write_scale)))
        which = Signal(self.address_width)
        m.d.sync += which.eq(now.bias_base + strip)
        for i in range(self.size):
            own = scales.data[i]
            m.d.comb += [
                scale.sums.payload.multiplier[i].eq(Mux(now.scales, own[:SHIFT_PLACE],
                                                        now.multiplier)),
                scale.sums.payload.shift[i].eq(Mux(
                    now.scales, own[SHIFT_PLACE:SHIFT_PLACE + SHIFT_WIDTH], now.shift)),
            ]
        m.d.comb += [
            read.addr.eq(which),
            read.en.eq(1),
            scales.addr.eq(which),
            scales.en.eq(1),
            scale.sums.valid.eq(sums.valid),
            sums.ready.eq(1),
            scale.sums.payload["values"].eq(sums.payload["values"]),
            scale.sums.payload.bias.eq(read.data),
            scale.sums.payload.shortcut.eq(shortcut),
            scale.results.ready.eq(1),
            pooling.pixels.valid.eq(scale.results.valid),
            pooling.pixels.payload.eq(scale.results.payload),
            pooling.results.ready.eq(1),
            pooling.across.eq(now.pooled),
        ]
        m.d.comb += [getattr(scale, name).eq(now[name]) for name in ("low", "high")]
        m.d.comb += [getattr(pooling, name).eq(now[name])
                     for name in ("window", "image_width", "image_height")]

    def _write(self, m, begin, results):
        """Write results to their scratchpad, and read it for `read_c`."""
        place = Signal(self.address_width)
        write = Signal(data.StructLayout({"enable": 1, "address": self.address_width,
                                          "data": self._word}))
        with m.If(begin):
            m.d.sync += place.eq(self.command.payload.c_base)
        with m.Elif(results.valid):
            m.d.sync += place.eq(place + 1)
        m.d.comb += [write.enable.eq(results.valid), write.address.eq(place),
                     write.data.eq(results.payload)]
        c_read = self._memory(m, "c", self._word, self.depths["c"], write)
        m.d.comb += [c_read.en.eq(self.read_c.enable), c_read.addr.eq(self.read_c.address),
                     self.c_data.eq(c_read.data)]
