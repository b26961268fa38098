"""Traffic for a mesh, and its measurement, in hardware: what stands at each tile.

Part of the mesh's harness, whose testbench covers it.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cyclebound.golden.harness.lfsr_spec import lane_seed
from cyclebound.golden.noc.packet import COORDINATE_BITS
from cyclebound.hdl.harness.lfsr import Lfsr
from cyclebound.hdl.noc.flit import FlitLayout

__all__ = ["TILE_BITS", "PlanLayout", "TrafficSink", "TrafficSource", "stamp_bits"]

TILE_BITS = 2 * COORDINATE_BITS   # row and column, as XY routing has them
_TIME_BITS = 32                   # of the clock that latencies are measured by
_COIN_BITS, _PACKET_BITS = 31, 61   # registers that decide when, and whereto and how long
_PENDING = 8                      # packets created and not begun

PlanLayout = data.StructLayout({
    "rate": 17,      # chance of a new packet in each cycle, in 1/2**16; 2**16: always
    "aim": 9,        # chance that it goes to the tile's target, in 1/256; else anywhere else
    "flits": 8,      # of the shortest packet, at least 1,
    "spread": 8,     # and this many more in the longest
})


def stamp_bits(width):
    """Bits of a header that tell when it was taken; the others are tiles. Latencies have to be
    shorter than 2 to their power."""
    return min(width - 2 * TILE_BITS, _TIME_BITS)


class TrafficSource(wiring.Component):
    """Creates packets at random times, for a target or for any tile, and sends them.

    Latency: a packet created in one cycle may be on offer in the next. Throughput: packets follow
    each other without a gap. In the header is the cycle in which it is taken; it moves on while the
    header waits, since it is not known before. The second flit has the cycle of the creation, the
    others their place in the packet; the highest bits of every flit are this tile's number.

    Parameters
    ----------
    rows, columns, place : int
        The mesh, and this tile's number.
    width : int
        Bits of data in a flit, at least 32.

    Members
    -------
    plan : In(PlanLayout)
        What to send.
    active, target : In
        Whether to send, and the tile to aim at.
    cycle : In(32)
        The time.
    create : In(1)
        New packets may be created.
    restart : In(1)
        Forget what has been created; nothing may be on its way.
    seed : In(32)
        Mixed into the registers at ``restart``.
    source : Out(stream of FlitLayout)
        Packets.
    sent, blocked : Out(32)
        Packets taken whole, and packets not created because too many were pending.
    """

    def __init__(self, *, rows, columns, place, width):
        self.rows, self.columns, self.place, self.width = rows, columns, place, width
        super().__init__({
            "plan": In(PlanLayout), "active": In(1), "target": In(TILE_BITS), "cycle": In(32),
            "create": In(1), "restart": In(1), "seed": In(32),
            "source": Out(stream.Signature(FlitLayout(width))),
            "sent": Out(32), "blocked": Out(32),
        })

    def elaborate(self, platform):
        m = Module()
        plan, source = self.plan, self.source

        coin = m.submodules.coin = Lfsr(width=_COIN_BITS, steps=16,
                                        init=lane_seed(self.place) % 2**_COIN_BITS)
        packet_lfsr = m.submodules.packet_lfsr = Lfsr(
            width=_PACKET_BITS, steps=32, init=lane_seed(self.place) % 2**_PACKET_BITS)
        for generator in (coin, packet_lfsr):
            m.d.comb += [generator.load.eq(self.restart), generator.seed.eq(
                (self.seed ^ Const(generator.init % 2**32)) | (generator.init >> 32 << 32))]

        # Packets that are due, by the cycle of their creation. At full rate they are never created:
        # there is always one.
        full_rate, created, begin = plan.rate[-1], Signal(), Signal()
        pending = Signal(range(_PENDING + 1))
        stamps = m.submodules.stamps = Memory(shape=unsigned(32), depth=_PENDING, init=[])
        write, read = stamps.write_port(), stamps.read_port(domain="comb")
        generate = Signal()
        m.d.comb += [
            coin.enable.eq(self.create),
            generate.eq(self.create & self.active & ~full_rate & (coin.value[:16] < plan.rate)),
            created.eq(generate & (pending != _PENDING)),
            write.en.eq(created), write.data.eq(self.cycle),
        ]
        m.d.sync += pending.eq(pending + created - (begin & ~full_rate))
        with m.If(created):
            m.d.sync += write.addr.eq(write.addr + 1)
        with m.If(begin):
            m.d.sync += read.addr.eq(read.addr + 1)
        with m.If(generate & ~created):
            m.d.sync += self.blocked.eq(self.blocked + 1)

        sending, stamp = Signal(), Signal(32)
        place, length, destination = Signal(8), Signal(8), Signal(TILE_BITS)
        ends = source.valid & source.ready & source.payload.last
        due = (pending != 0) | (full_rate & self.create & self.active)
        m.d.comb += [
            begin.eq(due & (~sending | ends)),
            packet_lfsr.enable.eq(begin),
            source.valid.eq(sending),
            source.payload.first.eq(place == 0),
            source.payload.last.eq(place == length - 1),
        ]
        # XY routing looks at a header's lowest bits
        body = Signal(self.width - TILE_BITS)
        with m.If(place == 0):
            m.d.comb += body.eq(Cat(destination, self.cycle[:stamp_bits(self.width)]))
        with m.Else():
            m.d.comb += body.eq(Mux(place == 1, stamp, place))
        m.d.comb += source.payload.data.eq(Cat(body, Const(self.place, TILE_BITS)))
        with m.If(source.ready):
            m.d.sync += place.eq(place + 1)
        with m.If(ends):
            m.d.sync += [sending.eq(0), self.sent.eq(self.sent + 1)]
        with m.If(begin):
            m.d.sync += [
                sending.eq(1), place.eq(0), stamp.eq(Mux(full_rate, self.cycle, read.data)),
                length.eq(plan.flits + (packet_lfsr.value[24:32] * (plan.spread + 1) >> 8)),
                destination.eq(Mux(packet_lfsr.value[16:24] < plan.aim, self.target,
                                   self._any_tile(m, packet_lfsr.value[:16]))),
            ]
        with m.If(self.restart):
            m.d.sync += [pending.eq(0), write.addr.eq(0), read.addr.eq(0), self.sent.eq(0),
                         self.blocked.eq(0)]
        return m

    def _any_tile(self, m, bits):
        """Every tile but this one, with equal chances."""
        tiles = self.rows * self.columns
        number, after = Signal(range(tiles)), Signal(range(2 * tiles))
        m.d.comb += [
            after.eq((bits * (tiles - 1) >> 16) + 1 + self.place),
            number.eq(Mux(after >= tiles, after - tiles, after)),
        ]
        # rows and columns as powers of two: no division
        across = (self.columns - 1).bit_length()
        column, row = number[:across], number[across:]
        return Cat(column, Const(0, COORDINATE_BITS - across), row)[:TILE_BITS]


class TrafficSink(wiring.Component):
    """Takes every packet, checks it, and keeps how long it took.

    Latency: results follow 2 cycles after a last flit. Throughput: a flit in every cycle.

    Parameters
    ----------
    tiles, place, width : int
        Tiles of the mesh, this one's number, bits of data in a flit.

    Members
    -------
    sink : In(stream of FlitLayout)
        Packets.
    here : In(TILE_BITS)
        This tile's own row and column.
    cycle : In(32)
        The time.
    counting : In(1)
        Packets are counted that are complete in this cycle.
    clear : In(1), clear_address : In(range(tiles))
        Forget what came from this tile; all but ``worst`` is forgotten at once.
    count, flits : Out(32), queued, network : Out(48)
        Packets counted, their flits, and the sums of their latencies: from their creation, and from
        the cycle in which their header was taken, to their last flit, both included.
    received : Out(32)
        All packets, counted or not.
    worst_address : In(range(tiles)), worst : Out(stamp_bits(width))
        The greatest latency from taken header to last flit of all packets from that tile.
    wrong : Out(1)
        Sticky: a packet for another tile, or flits in another order than they were sent.
    """

    def __init__(self, *, tiles, width):
        self.tiles, self.width = tiles, width
        super().__init__({
            "sink": In(stream.Signature(FlitLayout(width))), "here": In(TILE_BITS),
            "cycle": In(32), "counting": In(1), "clear": In(1), "clear_address": In(range(tiles)),
            "count": Out(32), "flits": Out(32), "queued": Out(48), "network": Out(48),
            "received": Out(32), "worst_address": In(range(tiles)),
            "worst": Out(stamp_bits(width)), "wrong": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        sink, flit, stamp = self.sink, self.sink.payload, stamp_bits(self.width)
        m.d.comb += sink.ready.eq(1)

        # First stage: the packet.
        place, source, taken = Signal(8), Signal(8), Signal(stamp)
        created, now = Signal(32), Signal(32)
        body, marked = flit.data[:-TILE_BITS], flit.data[-TILE_BITS:]
        since = min(32, len(body))  # bits of a creation's time
        complete, whole = Signal(), Signal(8)
        m.d.sync += [complete.eq(sink.valid & flit.last), now.eq(self.cycle),
                     whole.eq(place + 1)]
        with m.If(sink.valid):
            m.d.sync += place.eq(Mux(flit.last, 0, place + 1))
            with m.If(flit.first):
                m.d.sync += [source.eq(marked),
                             taken.eq(flit.data[TILE_BITS:TILE_BITS + stamp]),
                             created.eq(self.cycle)]
            with m.Elif(place == 1):
                m.d.sync += created.eq(body)
            order = (flit.first == (place == 0)) & ((place == 0) | (marked == source)) & (
                (place <= 1) | (body == place))
            mine = ~flit.first | (flit.data[:TILE_BITS] == self.here)
            with m.If(~(order & mine)):
                m.d.sync += self.wrong.eq(1)

        # Second stage: its latency.
        latency, counted = Signal(stamp), Signal()
        m.d.comb += latency.eq(now[:stamp] - taken + 1)
        m.d.sync += counted.eq(self.counting)
        with m.If(complete):
            m.d.sync += self.received.eq(self.received + 1)
            with m.If(counted):
                m.d.sync += [
                    self.count.eq(self.count + 1), self.flits.eq(self.flits + whole),
                    self.queued.eq(self.queued + (now - created + 1)[:since]),
                    self.network.eq(self.network + latency),
                ]

        table = m.submodules.table = Memory(shape=unsigned(stamp), depth=self.tiles, init=[])
        write = table.write_port()
        before, after = table.read_port(domain="comb"), table.read_port(domain="comb")
        m.d.comb += [
            before.addr.eq(source),
            write.en.eq(self.clear | (complete & (latency > before.data))),
            write.addr.eq(Mux(self.clear, self.clear_address, source)),
            write.data.eq(Mux(self.clear, 0, latency)),
            after.addr.eq(self.worst_address), self.worst.eq(after.data),
        ]
        with m.If(self.clear):
            m.d.sync += [counter.eq(0) for counter in (self.count, self.flits, self.queued,
                                                       self.network, self.received, self.wrong)]
        return m
