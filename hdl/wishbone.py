"""Wishbone: its interface, and what stands between it and a block's streams or memory paths.

Part of the shells around exported Verilog, whose model (golden/wishbone.py) and tests
(tests/sim/test_wishbone.py), with a testbench of their own, cover it.

Ref: Wishbone B4, sections 2.2, 3.2 (standard cycles) and 5.2 (a pipelined master before them).
"""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.wishbone import REGISTER_BITS, RegisterMap
from cyclebound.hdl.interfaces import MemoryPort
from cyclebound.hdl.parameters import check_integer

__all__ = ["MemoryPaths", "StreamRegisters", "WishboneSignature"]

_WIDTHS = (8, 16, 32, 64)


class WishboneSignature(wiring.Signature):
    """Wishbone B4 as a master has it, for standard cycles; a slave has it flipped.

    An access lasts from the cycle in which ``cyc`` and ``stb`` are 1 to that in which ``ack`` or
    ``err`` is. Until then the master leaves all its signals as they are. A pipelined master may
    use it as well, for ``stall`` is 1 until the cycle of the answer.

    Parameters
    ----------
    address_width : int
        Bits of an address, 0 to 64; addresses count words.
    data_width : int
        Bits of a word: 8, 16, 32 or 64.

    Members
    -------
    cyc, stb : Out(1)
        An access is under way.
    we : Out(1)
        It writes.
    adr : Out(address_width)
        The word.
    sel : Out(data_width // 8)
        Select: its bytes that are accessed.
    dat_w : Out(data_width)
        Data to write (DAT_O of the master).
    dat_r : In(data_width)
        Data read, with ``ack`` (DAT_I of the master).
    ack, err : In(1)
        The access is carried out; it is refused.
    stall : In(1)
        For pipelined masters: the access is not taken in this cycle.
    """

    def __init__(self, *, address_width, data_width=REGISTER_BITS):
        check_integer("address width", address_width, 0, 64)
        check_integer("data width", data_width, _WIDTHS[0], _WIDTHS[-1])
        if data_width not in _WIDTHS:
            raise ValueError(f"data width must be one of {', '.join(map(str, _WIDTHS))}, "
                             f"not {data_width}")
        self.address_width, self.data_width = address_width, data_width
        super().__init__({
            "cyc": Out(1), "stb": Out(1), "we": Out(1), "adr": Out(address_width),
            "sel": Out(data_width // 8), "dat_w": Out(data_width),
            "dat_r": In(data_width), "ack": In(1), "err": In(1), "stall": In(1),
        })

    def __eq__(self, other):
        return isinstance(other, WishboneSignature) and (
            self.address_width, self.data_width) == (other.address_width, other.data_width)


class StreamRegisters(wiring.Component):
    """Registers from which a master sends items into streams, and takes those that come.

    Each access is answered in the cycle after its first one, whatever the streams do. A write of
    the last word of a stream that is sent offers the item that its registers hold; they can be
    written again when it has been taken. A read of the last word of a stream that comes takes its
    item. The status has a bit for each stream: an item can be sent, or has come.

    Refused with ``err``, without an effect: writes of parts of words; writes to a stream whose last
    item has not been taken; reads where no item has come; writes to the status, or to a stream that
    comes; and addresses after the last register.

    Bound: ``golden.wishbone_bounds.register_access``.

    Parameters
    ----------
    streams : sequence of RegisterStream
        At least one. See `RegisterMap` for the addresses.

    Members
    -------
    bus : In(WishboneSignature)
        The master.
    sent_NAME : Out(stream)
        A stream to the block.
    come_NAME : In(stream)
        One from it.
    """

    def __init__(self, *, streams):
        self.map = RegisterMap(tuple(streams))
        if not self.map.streams:
            raise ValueError("streams must be at least one")
        self.bus_signature = WishboneSignature(address_width=ceil_log2(self.map.many))
        super().__init__({
            "bus": In(self.bus_signature),
            **{f"sent_{channel.name}" if channel.sent else f"come_{channel.name}":
               (Out if channel.sent else In)(stream.Signature(channel.bits))
               for channel in self.map.streams},
        })

    def elaborate(self, platform):
        m = Module()
        bus, streams = self.bus, self.map.streams
        begins, good, value = Signal(), Signal(), Signal(REGISTER_BITS)
        m.d.comb += [begins.eq(bus.cyc & bus.stb & ~bus.ack & ~bus.err),
                     bus.stall.eq(bus.cyc & ~bus.ack & ~bus.err)]
        m.d.sync += [bus.ack.eq(begins & good), bus.err.eq(begins & ~good)]
        with m.If(begins):
            m.d.sync += bus.dat_r.eq(value)

        # what the status shows of each stream; that the access under way sends or takes an item
        can = Signal(len(streams))
        acts = Signal(len(streams))
        for number, channel in enumerate(streams):
            if channel.sent:
                offer = getattr(self, f"sent_{channel.name}")
                m.d.comb += can[number].eq(~offer.valid)
                with m.If(acts[number]):
                    m.d.sync += offer.valid.eq(1)
                with m.Elif(offer.ready):
                    m.d.sync += offer.valid.eq(0)
            else:
                come = getattr(self, f"come_{channel.name}")
                m.d.comb += [can[number].eq(come.valid), come.ready.eq(acts[number])]

        with m.Switch(bus.adr):
            for number in self.map.status:
                with m.Case(number):
                    m.d.comb += [value.eq(can[REGISTER_BITS * number:][:REGISTER_BITS]),
                                 good.eq(~bus.we)]
            for number, channel in enumerate(streams):
                item = getattr(self, f"{'sent' if channel.sent else 'come'}_{channel.name}").payload
                places = self.map.of(channel.name)
                for word, place in enumerate(places):
                    part = item[REGISTER_BITS * word:][:REGISTER_BITS]
                    allowed = can[number] & (bus.sel.all() & bus.we if channel.sent else ~bus.we)
                    with m.Case(place):
                        m.d.comb += [value.eq(part),
                                     good.eq(allowed | (~bus.we if channel.sent else 0))]
                        if place == places[-1]:
                            m.d.comb += acts[number].eq(begins & allowed)
                        if channel.sent:
                            with m.If(begins & allowed):
                                m.d.sync += part.eq(bus.dat_w)
        return m


class MemoryPaths(wiring.Component):
    """One memory for a master, from its paths to the banks.

    The bank is in the highest bits of an address, the word in it in the others. A word is offered
    to its bank from the first cycle of an access on, and the access is acknowledged in the cycle
    after the grant, where a read's data are there. A write of no byte is a read.

    Refused with ``err``, in the cycle after its first one: an access to a bank that is not there.

    Bound: ``golden.wishbone_bounds.memory_access``.

    Parameters
    ----------
    banks : int
        At least 1.
    words, word_bytes : int
        Of a bank, as in `MemoryPort`.

    Members
    -------
    bus : In(WishboneSignature)
        The master.
    paths : Out(MemoryPort).array(banks)
        To the banks.
    """

    def __init__(self, *, banks, words, word_bytes):
        check_integer("banks", banks, 1)
        self.banks, self.word_bits = banks, ceil_log2(words)
        super().__init__({
            "bus": In(WishboneSignature(address_width=self.word_bits + ceil_log2(banks),
                                        data_width=8 * word_bytes)),
            "paths": Out(MemoryPort(words=words, word_bytes=word_bytes)).array(banks),
        })

    def elaborate(self, platform):
        m = Module()
        bus = self.bus
        bank = bus.adr[self.word_bits:]
        asks, granted = Signal(), Signal()
        m.d.comb += [asks.eq(bus.cyc & bus.stb & ~bus.ack & ~bus.err),
                     bus.stall.eq(bus.cyc & ~bus.ack & ~bus.err)]
        m.d.sync += [bus.ack.eq(asks & granted), bus.err.eq(asks & (bank >= self.banks))]
        for number, path in enumerate(self.paths):
            request, here = path.request, Signal(name=f"to_{number}")
            m.d.comb += [
                here.eq(bank == number), request.valid.eq(asks & here),
                request.payload.address.eq(bus.adr[:self.word_bits]),
                request.payload.write.eq(Mux(bus.we, bus.sel, 0)),
                request.payload.data.eq(bus.dat_w),
            ]
            with m.If(here):  # the address stays until the answer, in the cycle after the grant
                m.d.comb += [granted.eq(request.ready), bus.dat_r.eq(path.response.data)]
        return m
