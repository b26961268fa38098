"""A many-core's memory path: compute tiles, a network, an I/O tile, and DDR3, in both directions.

Ref: memory-composition, section II (Figures 1, 2 and 5) and section VI.
"""

from functools import cached_property

from amaranth.hdl import Array, Cat, Const, EnableInserter, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.noc.end_to_end_data import REQUEST_BYTES, SEED_BITS, WORD_BYTES
from cyclebound.golden.noc.many_core_data import place_bits, row_bits, tile_bits
from cyclebound.golden.noc.packet import PAYLOAD_FLITS, source_header
from cyclebound.golden.noc.routes import Mesh as Shape
from cyclebound.golden.noc.routes import ports, xy_route
from cyclebound.hdl.dram.command_arbiter import CommandLayout
from cyclebound.hdl.dram.page_controller import BusLayout
from cyclebound.hdl.noc.bank_writer import BankWriter
from cyclebound.hdl.noc.command_packets import CommandReceiver, CommandSender
from cyclebound.hdl.noc.compute_tile import ComputeTile
from cyclebound.hdl.noc.dma_rx import DmaRx
from cyclebound.hdl.noc.dma_tx import DmaTx
from cyclebound.hdl.noc.flow_senders import FlowSenders
from cyclebound.hdl.noc.mesh import Mesh
from cyclebound.hdl.noc.packet_receiver import PacketReceiver
from cyclebound.hdl.noc.packet_sender import PacketSender, WindowLayout
from cyclebound.hdl.noc.shared_dram import SharedDram, tag_bits
from cyclebound.hdl.parameters import check_integer, check_power_of_two

__all__ = ["ManyCore", "PlaceLayout"]

_WIDTH = 32  # bits of a flit
_BURST_WORDS = REQUEST_BYTES // WORD_BYTES


class PlaceLayout(data.StructLayout):
    """A transaction: ``bursts`` of DDR3 from a bank's row and column on, and the ``word`` of the
    bank of local memory, ``local``, where its buffer begins; with ``writes`` the ``seed`` of what
    is written."""

    def __init__(self, *, part, tiles, banks, words, writes):
        column, bank = place_bits(part)
        super().__init__({"bank": bank, "row": row_bits(part, tiles), "column": column,
                          "bursts": column + 1, "local": range(banks), "word": range(words),
                          **({"seed": SEED_BITS} if writes else {})})


class ManyCore(wiring.Component):
    """Compute tiles write to DDR3 and read from there, each with a flow and a master a direction.

    The clock is DDR3's. Network and local memory stand still in some of its cycles: with three of
    four, they have 600 MHz beside DDR3's 800, as in the paper. The I/O tile stands between both.

    A tile has one write and one read under way at most. Its ports at the front end are two: the one
    of its writes has its number, the one of its reads that and the number of tiles. Packets go
    along the row first.

    Parameters
    ----------
    rows, columns : int
        Of the mesh, 2 to 9 places.
    io : int
        Number of the I/O tile, row by row from the north-west; all others are compute tiles,
        numbered in the same order.
    banks, words : int
        Banks of a tile's local memory, at least 2; words of 8 bytes in one, a power of two.
    requesters : int
        Requesters of a bank: the core of the transaction, the DMA's two halves, and other cores; 3
        to 32.
    slots : int
        Bursts that the I/O tile has room for, of each flow: a power of two. No transaction has
        more, so that neither words from the network nor requests to DDR3 ever wait for room.
    packets : int
        Packets that a compute tile has room for, at least 2.
    delta : int
        Latency of a router, at least 2.
    quarters : int
        Cycles of every four, from the first, in which network and local memory advance: 1 to 4.
    cap : int
        Age cap of the reorder core, at least 1: without one no read has a bound.
    part : Part or str
        The DRAM, or its name.
    interleaved : int
        1: bursts that follow each other are in different banks of DDR3, as of `SharedDram`.
    io_core : int
        0: the I/O tile has been told what to read, and ``reads`` are its own. Else a compute tile
        asks for its reads, with a packet in its window, and so many DDR cycles after that packet's
        last word, at least 1, the I/O tile's core has told the DMA. A tile without a window for its
        writes cannot ask: its reads are refused.

    Members
    -------
    writes, reads : In(stream of PlaceLayout).array(tiles)
        Transactions, taken one at a time; a write begins two cycles of the network later.
    write_windows, read_windows : In(WindowLayout).array(tiles)
        The flows' windows, constant from reset on.
    saturate : In(requesters).array(tiles)
        Requesters that ask for local memory in every cycle; bit 2, of what comes in, is of no
        account.
    at : In(range(banks)).array(tiles, requesters - 1)
        The bank where each of them does, but for what comes in.
    look, seen : In, Out
        The core of a ``tile`` reads a word of its local memory; what it has.
    network : Out(1)
        Network and local memory advance; in other cycles their outputs are those of the last one.
    writing, stored : Out(tiles)
        A core's words are on offer; a word that was read is granted.
    refused : Out(2 * tiles)
        A flow's transaction is dropped, writes first: it has no words, or more bursts than there is
        room for, or does not end in its row or its bank, or has no window.
    stalled : Out(tiles + 1)
        A tile has no room for the flit on its link; the highest bit: the I/O tile has none.
    overrun : Out(2 * tiles)
        A flow's window closes over a packet, writes first.
    command, bus, port : Out
        The pins, the burst whose beat is on the data bus, and the front end's port that it came
        from.
    data, dq_in : Out, In
        That beat, written or read.
    """

    def __init__(self, *, rows=2, columns=3, io=2, banks=8, words=2048, requesters=12,
                 slots=32, packets=2, delta=5, quarters=3, cap=9, part="ddr3-1600-module",
                 interleaved=0, io_core=0):
        check_integer("rows", rows, 1, 16)
        check_integer("columns", columns, 1, 16)
        check_integer("places of the mesh", rows * columns, 2, 9)
        check_integer("the I/O tile", io, 0, rows * columns - 1)
        check_integer("banks", banks, 2, 64)
        check_power_of_two("words", words, _BURST_WORDS, 1 << 15)
        check_integer("requesters", requesters, 3, 32)
        check_power_of_two("slots", slots, 2, 256)
        check_integer("packets", packets, 2)
        check_integer("delta", delta, 2)
        check_integer("quarters", quarters, 1, 4)
        check_integer("cap", cap, 1)
        self.shape, self.part = Shape(rows, columns), part_named(part)
        self.io, self.banks, self.words = io, banks, words
        self.requesters, self.slots, self.packets = requesters, slots, packets
        check_integer("interleaved", interleaved, 0, 1)
        self.delta, self.quarters, self.cap = delta, quarters, cap
        check_integer("io_core", io_core, 0, 1 << 16)
        self.interleaved, self.io_core = interleaved, io_core
        self._commanded, self._uncommanded = Signal(rows * columns), Signal(rows * columns)
        self.nodes = [number for number in range(rows * columns) if number != io]
        self.tiles = tiles = len(self.nodes)
        self._senders = 2 * tiles if io_core else tiles  # numbers in an address
        self._shared = {"masters": 2 * tiles, "rivals": 0, "slot_bits": (slots - 1).bit_length()}
        write, read = (PlaceLayout(part=self.part, tiles=self._senders, banks=banks, words=words,
                                   writes=writes) for writes in (True, False))
        bank, word = range(banks), range(words)
        super().__init__({
            "writes": In(stream.Signature(write)).array(tiles),
            "reads": In(stream.Signature(read)).array(tiles),
            "write_windows": In(WindowLayout).array(tiles),
            "read_windows": In(WindowLayout).array(tiles),
            "saturate": In(requesters).array(tiles), "at": In(bank).array(tiles, requesters - 1),
            "look": In(data.StructLayout({"valid": 1, "tile": range(max(tiles, 2)), "bank": bank,
                                          "word": word})),
            "seen": Out(data.StructLayout({"valid": 1, "data": 8 * WORD_BYTES})),
            "network": Out(1), "writing": Out(tiles), "stored": Out(tiles),
            "refused": Out(2 * tiles), "stalled": Out(tiles + 1), "overrun": Out(2 * tiles),
            "command": Out(CommandLayout(part=self.part)),
            "bus": Out(BusLayout(tag_bits=tag_bits(**self._shared))),
            "port": Out(range(2 * tiles)),
            "data": Out(8 * REQUEST_BYTES // 4), "dq_in": In(8 * REQUEST_BYTES // 4),
        })

    @cached_property
    def dram(self):
        """Front end, reorder core and controller, made when first used."""
        return SharedDram(**self._shared, cap=self.cap, part=self.part,
                          interleaved=self.interleaved)

    @cached_property
    def _cores(self):
        """The I/O tile's core, for each compute tile that sends it commands."""
        return [CommandReceiver(shape=read.payload.shape(), latency=self.io_core, width=_WIDTH)
                for read in self.reads if self.io_core]

    def _headers(self, number):
        """The first flits from a compute tile to the I/O tile, and from there."""
        io, tile = (self.shape.tiles[at] for at in (self.io, self.nodes[number]))
        return (source_header(ports(xy_route(self.shape, *ends)))
                for ends in ((tile, io), (io, tile)))

    def elaborate(self, platform):
        m = Module()
        goes, quarter = Signal(), Signal(2)  # network and local memory have a cycle
        m.d.sync += quarter.eq(quarter + 1)
        m.d.comb += [goes.eq(quarter < self.quarters if self.quarters < 4 else 1),
                     self.network.eq(goes)]
        mesh = Mesh(rows=self.shape.rows, columns=self.shape.columns, depth=self.delta + 1,
                    delta=self.delta)
        mesh.enable = goes
        m.submodules.dram, m.submodules.mesh = self.dram, mesh
        m.d.comb += [self.command.eq(self.dram.command), self.bus.eq(self.dram.bus),
                     self.port.eq(self._port(self.dram.bus)), self.dram.dq_in.eq(self.dq_in)]
        for number in range(self.tiles):
            self._compute_tile(m, number, mesh, goes)
        self._receive(m, mesh, goes)
        self._send(m, mesh, goes)
        return m

    # -- compute tiles ---------------------------------------------------------------------------

    def _compute_tile(self, m, number, mesh, goes):
        """Cores, banks and both halves of an interface, with the network's cycles."""
        tile = ComputeTile(requesters=self.requesters, words=self.words, banks=self.banks,
                           receives=True)
        sender = PacketSender(width=_WIDTH, payload=PAYLOAD_FLITS)
        receiver = PacketReceiver(width=_WIDTH, payload=PAYLOAD_FLITS, packets=self.packets)
        writer = BankWriter(words=self.banks * self.words)
        for name, part in (("tile", tile), ("sender", sender), ("receiver", receiver),
                           ("writer", writer)):
            m.submodules[f"{name}_{number}"] = EnableInserter(goes)(part)
        node, asked, fill = self.nodes[number], self.writes[number], tile.fills
        place, look = asked.payload, tile.look
        m.d.comb += [
            # A write; what is to go over the end of its row or bank is none.
            fill.valid.eq(asked.valid & self._fits(place)),
            asked.ready.eq(goes & (fill.ready | ~self._fits(place))),
            self.refused[number].eq(asked.valid & asked.ready & ~self._fits(place)
                                    | goes & sender.refused & ~self._commanded[number]),
            fill.payload.bank.eq(place.local), fill.payload.word.eq(place.word),
            fill.payload.words.eq(place.bursts * _BURST_WORDS), fill.payload.seed.eq(place.seed),
            fill.payload.route.eq(next(iter(self._headers(number)))),
            fill.payload.address.eq(self._address(number, place)),
            tile.saturate.eq(self.saturate[number]), self.writing[number].eq(tile.writing),
            sender.window.eq(self.write_windows[number]),
            self.overrun[number].eq(goes & sender.overrun),
            self.stored[number].eq(goes & writer.bank.request.valid & writer.bank.request.ready),
            self.stalled[number].eq(goes & receiver.sink.valid & ~receiver.sink.ready),
            look.valid.eq(self.look.valid & (self.look.tile == number)),
            look.bank.eq(self.look.bank), look.word.eq(self.look.word),
        ]
        m.d.comb += [inner.eq(outer) for inner, outer in zip(
            tile.at, self.at[number], strict=True)]
        with m.If(tile.seen.valid & goes):
            m.d.comb += self.seen.eq(tile.seen)
        if self.io_core:
            self._commands(m, number, tile, sender, goes)
        else:
            wiring.connect(m, tile.transactions, sender.transactions)
            wiring.connect(m, tile.source, sender.words)
        wiring.connect(m, sender.source, mesh.sinks[node])
        wiring.connect(m, mesh.sources[node], receiver.sink)
        wiring.connect(m, receiver.received, writer.received)
        wiring.connect(m, writer.bank, tile.store)

    def _commands(self, m, number, tile, sender, goes):
        """A core's reads go to the I/O tile between its writes; one is under way at a time."""
        asked, port = self.reads[number], self.tiles + number
        commands = CommandSender(shape=asked.payload.shape(), width=_WIDTH)
        m.submodules[f"commands_{number}"] = EnableInserter(goes)(commands)
        place, good = asked.payload, self._fits(asked.payload)
        left = Signal(range(self.words + 1), name=f"reading_{number}")  # words not stored yet
        free = Signal(name=f"free_{number}")
        m.d.comb += [
            free.eq(goes & commands.commands.ready & (left == 0)),
            commands.commands.valid.eq(asked.valid & good & (left == 0)),
            commands.commands.payload.eq(place), asked.ready.eq(free),
            commands.route.eq(next(iter(self._headers(number)))),
            commands.address.eq(Cat(Signal(self._low_bits, name=f"none_{number}"), Const(port))),
            self._commanded[number].eq(commands.commanded),
            self._uncommanded[number].eq(goes & sender.refused & commands.commanded),
        ]
        m.d.sync += left.eq(left - self.stored[number])
        with m.If(self.refused[port]):  # there is no window to ask or to come back in
            m.d.sync += left.eq(0)
        with m.If(asked.valid & free & good):
            m.d.sync += left.eq(place.bursts * _BURST_WORDS)
        for theirs, mine in ((commands.transactions, tile.transactions),
                             (commands.words, tile.source)):
            wiring.connect(m, mine, theirs)
        wiring.connect(m, commands.sent_transactions, sender.transactions)
        wiring.connect(m, commands.sent_words, sender.words)

    @property
    def _low_bits(self):
        """Bits of an address below the sender's number."""
        word = (REQUEST_BYTES * 8 // _WIDTH - 1).bit_length()
        return word + sum(place_bits(self.part)) + row_bits(self.part, self._senders)

    def _fits(self, place):
        """Whether a transaction has bursts, room, and ends in its row and in its bank."""
        return ((place.bursts != 0) & (place.bursts <= self.slots) & (place.local < self.banks)
                & (place.column + place.bursts <= self.part.bursts_per_row)
                & (place.word + place.bursts * _BURST_WORDS <= self.words))

    def _address(self, number, place):
        """Of a write, in words of a flit, as `many_core_data` says."""
        word = Signal((REQUEST_BYTES * 8 // _WIDTH - 1).bit_length(), name=f"word_{number}")
        return Cat(word, place.column, place.row, place.bank,
                   Signal(tile_bits(self._senders), init=number, name=f"number_{number}"))

    # -- the I/O tile ----------------------------------------------------------------------------

    def _receive(self, m, mesh, goes):
        """Words from the network go to the DMA of the tile that sent them."""
        receiver = PacketReceiver(width=_WIDTH, payload=PAYLOAD_FLITS)
        m.submodules.io_receiver = EnableInserter(goes)(receiver)
        wiring.connect(m, mesh.sources[self.io], receiver.sink)
        received, fetch, ready = receiver.received, self.dram.fetch, 0
        column = place_bits(self.part)[0]
        row = row_bits(self.part, self._senders)
        sender = received.payload.address[self._low_bits:][:tile_bits(self._senders)]
        feeds = []
        for number in range(self.tiles):
            dma = DmaRx(slots=self.slots)
            m.submodules[f"dma_rx_{number}"] = dma
            place, sink = dma.request.payload.place, self.dram.sinks[number]
            here = sender == number
            m.d.comb += [
                dma.words.valid.eq(received.valid & goes & here),
                dma.words.payload.eq(received.payload),
                sink.valid.eq(dma.request.valid), dma.request.ready.eq(sink.ready),
                sink.payload.write.eq(1), sink.payload.tag.eq(dma.request.payload.slot),
                sink.payload.column.eq(place), sink.payload.row.eq(place[column:][:row]),
                sink.payload.bank.eq(place[column + row:]),
                dma.fetch.valid.eq(fetch.valid & (self._port(fetch) == number)),
                dma.fetch.slot.eq(fetch.tag), dma.fetch.beat.eq(fetch.beat),
            ]
            ready |= dma.words.ready & here
            feeds.append(dma.data)
        for number, core in enumerate(self._cores):
            m.submodules[f"io_core_{number}"] = core
            here = sender == self.tiles + number
            m.d.comb += [core.words.valid.eq(received.valid & goes & here),
                         core.words.payload.eq(received.payload)]
            ready |= core.words.ready & here
        port, feeding = Signal(range(2 * self.tiles)), Signal(range(2 * self.tiles))
        m.d.sync += [port.eq(self._port(fetch)), feeding.eq(port)]  # as many cycles as a fetch
        m.d.comb += [
            received.ready.eq(ready), self.data.eq(Array(feeds)[feeding]),
            self.stalled[self.tiles].eq(goes & receiver.sink.valid & ~receiver.sink.ready),
        ]

    def _port(self, burst):
        """The front end's port that a burst came from."""
        return burst.tag[self.dram.slot_bits:]

    def _send(self, m, mesh, goes):
        """A DMA for each tile's reads, and the flows' senders."""
        senders = FlowSenders(flows=self.tiles, width=_WIDTH, payload=PAYLOAD_FLITS)
        m.submodules.io_senders = EnableInserter(goes)(senders)
        wiring.connect(m, senders.source, mesh.sinks[self.io])
        deliver = self.dram.deliver
        for number in range(self.tiles):
            dma = DmaTx(part=self.part, slots=self.slots)
            m.submodules[f"dma_tx_{number}"] = dma
            port = self.tiles + number
            asked = self._cores[number].commands if self.io_core else self.reads[number]
            place, descriptor = asked.payload, dma.descriptors.payload
            good, bad = self._fits(place), self.reads[number].valid & ~self._fits(
                self.reads[number].payload)
            m.d.comb += [
                self.refused[port].eq(bad & self.reads[number].ready | dma.refused
                                      | goes & senders.refused[number] | self._uncommanded[number]),
                dma.descriptors.valid.eq(asked.valid & good),
                asked.ready.eq(dma.descriptors.ready | ~good),
                descriptor.bank.eq(place.bank), descriptor.row.eq(place.row),
                descriptor.column.eq(place.column), descriptor.bursts.eq(place.bursts),
                descriptor.address.eq(Cat(place.word, place.local) << 1),
                descriptor.route.eq(list(self._headers(number))[1]),
                dma.deliver.valid.eq(deliver.valid & (self._port(deliver) == port)),
                dma.deliver.beat.eq(deliver.beat), dma.deliver.tag.eq(deliver.tag),
                dma.deliver.data.eq(deliver.data),
                senders.windows[number].eq(self.read_windows[number]),
                self.overrun[port].eq(goes & senders.overrun[number]),
            ]
            wiring.connect(m, dma.request, self.dram.sinks[port])
            for theirs, mine in ((senders.transactions[number], dma.transactions),
                                 (senders.words[number], dma.words)):
                m.d.comb += [theirs.valid.eq(mine.valid), theirs.payload.eq(mine.payload),
                             mine.ready.eq(theirs.ready & goes)]
