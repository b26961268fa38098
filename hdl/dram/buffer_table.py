"""Table of mapped DRAM buffers: memory protection, and the geometry of requests.

Ref: Sim-D, section 3.2.4 (BufToPhysXlat). golden/dram/request.py says what the fields mean.
"""

from functools import cached_property

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.dram.request import (
    ADDRESS_BITS,
    BUFFERS,
    CLIENTS,
    COUNT_BITS,
    Destination,
    Refusal,
)
from cyclebound.hdl.dram.layouts import BufferRequest, Mapping, TileLayout
from cyclebound.hdl.parameters import check_integer

__all__ = ["BufferTable"]

_REFUSAL_BITS = max(Refusal).bit_length()


def _resized(struct, **widths):
    """The struct as a layout, with other widths for some fields."""
    return data.StructLayout({name: unsigned(widths.get(name, field.width))
                              for name, field in data.Layout.cast(struct)})


class BufferTable(wiring.Component):
    """Buffers by number; a request of one becomes a tile, or is refused.

    A legal tile request leaves on ``tile``, with its address in the device and the buffer's line as
    its period. One that is not, leaves on ``refusal`` instead, with the first reason that applies:
    unmapped, empty, snoop, width, height. Of an indexed request only the mapping is checked;
    ``limit`` is for the index iterator. Answers are in the order of the requests, one each.

    A tile for the CAM is a snoop: its words are known by their indexes in the buffer. It is refused
    if the buffer has more words than an index of ``count_bits`` can tell apart.

    Latency: 7 cycles from a request to its answer, from a mapping to its report, both included;
    refusals too. Throughput: one request or mapping in 7 cycles; where both wait, they take turns.
    Bounds: ``buffer_lookup``, ``buffer_mapping`` and ``buffer_wait`` in
    ``golden.dram.pipeline_bounds``.

    Parameters
    ----------
    buffers : int
        Number of buffers, a power of two from 2 to 256.
    address_bits : int
        Bits of a word's address, 2 to 30.
    count_bits : int
        Bits of a buffer's dimensions and of what a request counts, 2 to 20.
    capacity : int or None
        Words in the device, at most 2 to the power of ``address_bits``, which is the default.

    Members
    -------
    mapping : In(stream of Mapping)
        A buffer to map, or with ``valid`` = 0 to unmap. One that ends beyond ``capacity`` is kept
        as unmapped.
    mapped : Out(1)
        Strobe, once for each mapping: it is in force for every request that is taken from now on.
    mapping_refusal : Out(3)
        With ``mapped``: `Refusal.NONE` or `Refusal.DEVICE`.
    request : In(stream of BufferRequest)
        Taken while nothing else is under way.
    tile : Out(stream of TileLayout)
        The requests that are carried out. ``period`` is the buffer's line, and so is ``pitch`` for
        the CAM; the address of an indexed one is the buffer's, and its ``words`` mean nothing.
    limit : Out(address_bits + 1)
        With ``tile``, and as stable: words in its buffer.
    refusal : Out(stream of unsigned(3))
        A `Refusal` for each of the others.

    Attributes
    ----------
    memory : amaranth.lib.memory.Memory
        Address, dimensions and size of each buffer; ``valid`` has those that are mapped.
    read : amaranth.lib.memory.ReadPort
        What is read for a request.
    partials : list of Signal
        Products of the halves of the descriptor's x and the factor in the cycle before: low by low,
        high by high, low by high, high by low.
    """

    def __init__(self, *, buffers=BUFFERS, address_bits=ADDRESS_BITS, count_bits=COUNT_BITS,
                 capacity=None):
        check_integer("buffers", buffers, 2, BUFFERS * CLIENTS)
        if buffers & buffers - 1:
            raise ValueError(f"buffers must be a power of two, not {buffers}")
        check_integer("address bits", address_bits, 2, ADDRESS_BITS)
        check_integer("count bits", count_bits, 2, COUNT_BITS)
        if capacity is None:
            capacity = 1 << address_bits
        check_integer("capacity", capacity, 1, 1 << address_bits)
        self.buffers, self.capacity = buffers, capacity
        self.address_bits, self.count_bits = address_bits, count_bits
        widths = {"buffer": ceil_log2(buffers), "address": address_bits,
                  **dict.fromkeys(("x", "y", "words", "period", "count"), count_bits)}
        super().__init__({
            "mapping": In(stream.Signature(_resized(Mapping, **widths))),
            "mapped": Out(1),
            "mapping_refusal": Out(_REFUSAL_BITS),
            "request": In(stream.Signature(_resized(BufferRequest, **widths))),
            "tile": Out(stream.Signature(_resized(TileLayout, **widths))),
            "limit": Out(address_bits + 1),
            "refusal": Out(stream.Signature(unsigned(_REFUSAL_BITS))),
        })
        shape = data.StructLayout({"address": address_bits, "x": count_bits, "y": count_bits,
                                   "size": address_bits + 1})
        self.valid = Signal(buffers)  # beside the memory: a reset leaves memory as it is
        self.wanted = Signal(self.request.payload.shape())  # the request under way
        self.coming = Signal(self.mapping.payload.shape())  # or the mapping
        self.maps = Signal()          # which of the two; after it, whose turn is over
        self.stage = Signal(6)        # one-hot: cycles since it was taken; the last one stays
        self.descriptor = Signal(shape)    # the buffer's numbers, or those of the mapping
        self.is_mapped = Signal()         # the request's buffer is mapped
        self.factor = Signal(count_bits)
        self.product = Signal(2 * count_bits)  # of the descriptor's x and the factor
        half = (count_bits + 1) // 2
        self.partials = [Signal(width, name=name) for name, width in (
            ("low", 2 * half), ("high", 2 * (count_bits - half)),
            ("cross", count_bits), ("across", count_bits))]

    @cached_property
    def memory(self):  # made late: a table that is only asked for its ports has none
        return Memory(shape=self.descriptor.shape(), depth=self.buffers, init=[])

    @cached_property
    def read(self):
        return self.memory.read_port()

    @cached_property
    def _write(self):
        return self.memory.write_port()

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = self.memory
        wanted, coming, maps, descriptor = self.wanted, self.coming, self.maps, self.descriptor
        read, stage = self.read, self.stage
        tile, refusal = self.tile, self.refusal

        # One at a time. Where both are offered, it is the turn of the other kind.
        idle, taken, left = Signal(), Signal(), Signal()
        m.d.comb += [
            idle.eq(stage == 0),
            self.mapping.ready.eq(idle & ~(maps & self.request.valid)),
            self.request.ready.eq(idle & ~(~maps & self.mapping.valid)),
            taken.eq(idle & (self.mapping.valid | self.request.valid)),
            left.eq(maps | (tile.valid & tile.ready) | (refusal.valid & refusal.ready)),
            read.addr.eq(self.request.payload.buffer),
            read.en.eq(idle),
        ]
        m.d.sync += stage.eq(Cat(taken, stage[:4], stage[4] | (stage[5] & ~left)))
        with m.If(idle & self.request.valid & self.request.ready):
            m.d.sync += [wanted.eq(self.request.payload), maps.eq(0)]
        with m.If(idle & self.mapping.valid & self.mapping.ready):
            m.d.sync += [coming.eq(self.mapping.payload), maps.eq(1)]

        # From here on, registers run free: what they are made of stays until the answer is taken.
        m.d.sync += [
            descriptor.eq(read.data),
            self.is_mapped.eq(self.valid.bit_select(wanted.buffer, 1)),
            self.factor.eq(Mux(wanted.indexed, 0, wanted.y)),
        ]
        with m.If(maps):
            m.d.sync += [descriptor.address.eq(coming.address), descriptor.x.eq(coming.x),
                         self.factor.eq(coming.y)]
        self._multiply(m)
        start, room, code = self._check(m)
        self._answer(m, left, start, room, code)
        self._keep_mapping(m)
        return m

    def _check(self, m):
        """The tile's start in the device, but for the lines above it; the room from the buffer's
        address on; and the `Refusal` of the request."""
        wanted, descriptor = self.wanted, self.descriptor
        # where the tile ends in its buffer
        right, bottom = Signal(self.count_bits + 1), Signal(self.count_bits + 1)
        start, room = Signal(self.address_bits), Signal(signed(self.address_bits + 2))
        wide, high, empty, oversized = Signal(), Signal(), Signal(), Signal()
        m.d.sync += [
            right.eq(wanted.x + wanted.words),
            bottom.eq(wanted.y + wanted.count),
            start.eq(descriptor.address + Mux(wanted.indexed, 0, wanted.x)),
            room.eq(self.capacity - descriptor.address),
            wide.eq(right > descriptor.x),
            high.eq(bottom > descriptor.y),
            empty.eq((wanted.words == 0) | (wanted.count == 0)),
            oversized.eq((wanted.destination == Destination.CAM) & self._beyond(descriptor.size)),
        ]

        code = Signal(_REFUSAL_BITS)
        reasons = ((~self.is_mapped, Refusal.UNMAPPED), (wanted.indexed, Refusal.NONE),
                   (empty, Refusal.EMPTY), (oversized, Refusal.SNOOP), (wide, Refusal.WIDTH),
                   (high, Refusal.HEIGHT))
        m.d.sync += code.eq(Refusal.NONE)
        for applies, reason in reversed(reasons):  # the first one is assigned last
            with m.If(applies):
                m.d.sync += code.eq(reason)
        return start, room, code

    def _answer(self, m, left, start, room, code):
        """A tile or a refusal of the request, or the report of a mapping, until it is taken."""
        wanted, coming, maps, descriptor = self.wanted, self.coming, self.maps, self.descriptor
        tile, refusal = self.tile, self.refusal
        with m.If(self.stage[4]):
            m.d.sync += [
                tile.valid.eq(~maps & (code == Refusal.NONE)),
                refusal.valid.eq(~maps & (code != Refusal.NONE)),
                self.mapped.eq(maps),
            ]
        with m.Elif(left):
            m.d.sync += [tile.valid.eq(0), refusal.valid.eq(0), self.mapped.eq(0)]
        fits = (room >= 0) & (self.product <= room.as_unsigned())
        m.d.sync += [
            refusal.payload.eq(code),
            self.mapping_refusal.eq(Mux(coming.valid & ~fits, Refusal.DEVICE, Refusal.NONE)),
            tile.payload.address.eq(start + self.product),
            self.limit.eq(descriptor.size),
            tile.payload.period.eq(descriptor.x),
            tile.payload.pitch.eq(Mux(wanted.destination == Destination.CAM, descriptor.x,
                                      wanted.pitch)),
        ]
        m.d.comb += [tile.payload[name].eq(wanted[name]) for name in
                     ("words", "count", "write", "destination", "base", "transform", "indexed")]

    def _keep_mapping(self, m):
        """A mapping is written while it is reported."""
        coming, write = self.coming, self._write
        m.d.comb += [
            write.addr.eq(coming.buffer),
            write.data.address.eq(coming.address),
            write.data.x.eq(coming.x),
            write.data.y.eq(coming.y),
            write.data.size.eq(self.product),
            write.en.eq(self.mapped),
        ]
        with m.If(self.mapped):
            m.d.sync += self.valid.bit_select(coming.buffer, 1).eq(
                coming.valid & (self.mapping_refusal == Refusal.NONE))

    def _beyond(self, size):
        """Whether a buffer has more words than there are indexes; its size is in memory."""
        most = 1 << self.count_bits
        return size > most if most < 1 << self.address_bits else Const(0)

    def _multiply(self, m):
        """``product``, three cycles after the descriptor: DSP blocks have no more than 18 bits."""
        half = (self.count_bits + 1) // 2
        low_a, high_a = self.descriptor.x[:half], self.descriptor.x[half:]
        low_b, high_b = self.factor[:half], self.factor[half:]
        low, high, cross, across = self.partials
        outer, middle = Signal(2 * self.count_bits), Signal(self.count_bits + 1)
        m.d.sync += [
            low.eq(low_a * low_b),
            high.eq(high_a * high_b),
            cross.eq(low_a * high_b),
            across.eq(high_a * low_b),
            outer.eq(Cat(low, high)),
            middle.eq(cross + across),
            self.product.eq(outer + (middle << half)),
        ]
