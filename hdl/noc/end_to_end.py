"""From a core to DDR3: a write over local memory, network, front end and reorder core.

Ref: memory-composition, section V.
"""

from functools import cached_property

from amaranth.hdl import Cat, Const, EnableInserter, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.noc.end_to_end_data import REQUEST_BYTES, WORD_BYTES
from cyclebound.golden.noc.packet import PAYLOAD_FLITS, source_header
from cyclebound.golden.noc.routes import Port
from cyclebound.hdl.dram.command_arbiter import CommandLayout
from cyclebound.hdl.dram.multi_port_front_end import MultiPortFrontEnd
from cyclebound.hdl.dram.page_controller import BusLayout, PageController
from cyclebound.hdl.dram.reorder_core import ReorderCore, RequestLayout
from cyclebound.hdl.noc.compute_tile import ComputeTile
from cyclebound.hdl.noc.io_tile import IoTile
from cyclebound.hdl.noc.mesh import Mesh
from cyclebound.hdl.noc.packet_receiver import PacketReceiver
from cyclebound.hdl.noc.packet_sender import PacketSender, WindowLayout
from cyclebound.hdl.parameters import check_integer

__all__ = ["EndToEnd"]

_ROUTERS = 4
_WIDTH = 32    # bits of a flit
_PRIORITY = 4  # of all requests
_PACKET_BYTES = PAYLOAD_FLITS * _WIDTH // 8
_OF_NETWORK = "tile", "sender", "mesh", "receiver"  # with the network's cycles


class EndToEnd(wiring.Component):
    """A compute tile, four routers in a row, an I/O tile, and a memory controller for DDR3.

    The clock is DDR3's. Network and local memory stand still in some of its cycles: with three of
    four, they have 600 MHz beside DDR3's 800, as in the paper. The I/O tile stands between both.

    Parameters
    ----------
    requesters : int
        Requesters of the bank of local memory: cores and a DMA, 2 to 32.
    nbytes : int
        Bytes of the transaction: 256 to 4,096, a power of two.
    delta : int
        Latency of a router, at least 2.
    rivals : int
        Other masters at the front end, from 0 to 7.
    quarters : int
        Cycles of every four, from the first, in which network and local memory advance: 1 to 4.
    cap : int
        Age cap of the reorder core.
    part : Part or str
        The DRAM, or its name.

    Members
    -------
    start : In(1)
        The core begins; sampled in the network's cycles.
    saturate : In(requesters)
        Requesters that ask for local memory in every cycle.
    compete : In(rivals)
        Other masters that ask for DDR3 in every cycle; each request writes another row of the
        transaction's bank.
    window : In(WindowLayout)
        The flow's window.
    network : Out(1)
        Network and local memory advance; in other cycles their outputs are those of the last one.
    writing, filled : Out(1)
        The core's words are on offer; the last one is granted.
    read : Out(1)
        A flit's word of local memory is taken by the network interface.
    header, arrived : Out(1)
        A packet's first flit is taken by the first router; its last one by the I/O tile.
    asked : Out(1)
        The front end takes a request of the transaction.
    command, bus : Out
        The pins, and the burst whose beat is on the data bus: its tag is the burst's number, with
        the port above it.
    data : Out
        That beat, if it is written.
    """

    def __init__(self, *, requesters=11, nbytes=4096, delta=5, rivals=7, quarters=3,
                 cap=9, part="ddr3-1600-module"):
        check_integer("requesters", requesters, 2, 32)
        check_integer("delta", delta, 2)
        check_integer("rivals", rivals, 0, 7)
        check_integer("quarters", quarters, 1, 4)
        check_integer("cap", cap, 0)
        check_integer("bytes", nbytes, 2 * REQUEST_BYTES, 4096)
        if nbytes & nbytes - 1:
            raise ValueError(f"bytes must be a power of two, not {nbytes}")
        self.requesters, self.nbytes, self.delta, self.rivals = requesters, nbytes, delta, rivals
        self.quarters, self.cap, self.part = quarters, cap, part_named(part)
        self.slots, self.packets = nbytes // REQUEST_BYTES, -(-nbytes // _PACKET_BYTES)
        self.packet_flits = PAYLOAD_FLITS
        self.slot_bits = (self.slots - 1).bit_length()
        self.port_bits = max(1, rivals.bit_length())
        self.tag_bits = self.slot_bits + self.port_bits
        super().__init__({
            "start": In(1), "saturate": In(requesters), "compete": In(max(rivals, 1)),
            "window": In(WindowLayout),
            "network": Out(1), "writing": Out(1), "filled": Out(1), "read": Out(1),
            "header": Out(1), "arrived": Out(1), "asked": Out(1),
            "command": Out(CommandLayout(part=self.part)),
            "bus": Out(BusLayout(tag_bits=self.tag_bits)), "data": Out(8 * REQUEST_BYTES // 4),
        })

    @cached_property
    def parts(self):
        """The system's parts by name, made when first used."""
        request = RequestLayout(part=self.part, tag_bits=self.slot_bits)
        return {
            "tile": ComputeTile(requesters=self.requesters, words=self.nbytes // WORD_BYTES),
            # the halves of a network interface
            "sender": PacketSender(width=_WIDTH, payload=PAYLOAD_FLITS),
            "receiver": PacketReceiver(width=_WIDTH, payload=PAYLOAD_FLITS),
            "mesh": Mesh(rows=1, columns=_ROUTERS, depth=self.delta + 1, delta=self.delta),
            "io": IoTile(nbytes=self.nbytes),
            "front": MultiPortFrontEnd(priorities=[_PRIORITY] * (1 + self.rivals),
                                       limits=[0] * (1 + self.rivals),
                                       width=request.size),
            "reorder": ReorderCore(entries=8, cap=self.cap, part=self.part,
                                   tag_bits=self.tag_bits),
            "pages": PageController(part=self.part, tag_bits=self.tag_bits),
        }

    def elaborate(self, platform):
        m = Module()
        parts = self.parts
        goes, quarter = Signal(), Signal(2)  # network and local memory have a cycle
        m.d.sync += quarter.eq(quarter + 1)
        m.d.comb += [goes.eq(quarter < self.quarters if self.quarters < 4 else 1),
                     self.network.eq(goes)]
        for name, part in parts.items():
            m.submodules[name] = EnableInserter(goes)(part) if name in _OF_NETWORK else part
        tile, sender, receiver = parts["tile"], parts["sender"], parts["receiver"]
        mesh, pages = parts["mesh"], parts["pages"]

        # -- local memory, and the network -----------------------------------------------------
        route = source_header([Port.EAST] * (_ROUTERS - 1) + [Port.LOCAL])
        m.d.comb += [
            tile.start.eq(self.start), tile.saturate.eq(self.saturate), tile.route.eq(route),
            sender.window.eq(self.window), self.writing.eq(tile.writing),
            self.filled.eq(tile.filled & goes),
        ]
        wiring.connect(m, tile.transactions, sender.transactions)
        wiring.connect(m, tile.source, sender.words)
        wiring.connect(m, sender.source, mesh.sinks[0])
        wiring.connect(m, mesh.sources[_ROUTERS - 1], receiver.sink)
        received, words = receiver.received, parts["io"].words
        m.d.comb += [words.valid.eq(received.valid & goes), words.payload.eq(received.payload),
                     received.ready.eq(words.ready)]  # which is always so
        injected, arriving = sender.source, receiver.sink
        m.d.comb += [
            self.read.eq(goes & tile.source.valid & tile.source.ready),
            self.header.eq(goes & injected.valid & injected.ready & injected.payload.first),
            self.arrived.eq(goes & arriving.valid & arriving.ready & arriving.payload.last),
        ]

        # -- DDR3 ------------------------------------------------------------------------------
        self._front(m)
        wiring.connect(m, parts["reorder"].source, pages.sink)
        m.d.comb += [
            parts["reorder"].closed.eq(pages.closed),
            parts["io"].fetch.slot.eq(pages.fetch.tag[:self.slot_bits]),
            parts["io"].fetch.beat.eq(pages.fetch.beat),
            self.data.eq(parts["io"].data), self.command.eq(pages.command), self.bus.eq(pages.bus),
        ]
        return m

    def _front(self, m):
        """Requests of all masters; those of the transaction are all in row 0 of bank 0."""
        front, io, reorder = (self.parts[name] for name in ("front", "io", "reorder"))
        layout = RequestLayout(part=self.part, tag_bits=self.slot_bits)

        mine = Signal(layout)
        m.d.comb += [
            mine.write.eq(1), mine.column.eq(io.request.payload), mine.tag.eq(io.request.payload),
            front.sinks[0].valid.eq(io.request.valid), front.sinks[0].payload.eq(mine),
            io.request.ready.eq(front.sinks[0].ready),
            self.asked.eq(io.request.valid & io.request.ready),
        ]
        compete = Signal(len(self.compete))
        m.d.sync += compete.eq(self.compete)
        for rival in range(self.rivals):
            asks, sink = Signal(layout, name=f"rival_{rival}"), front.sinks[1 + rival]
            count = Signal(len(asks.row) - 3, name=f"count_{rival}")
            m.d.comb += [
                asks.row.eq(Cat(count, Const(rival + 1, 3))), asks.write.eq(1),
                sink.valid.eq(compete[rival]), sink.payload.eq(asks),
            ]
            with m.If(sink.valid & sink.ready):
                m.d.sync += count.eq(count + 1)

        request, taken = front.source.payload, Signal(layout)
        come = reorder.sink.payload
        m.d.comb += [
            taken.eq(request.data),
            reorder.sink.valid.eq(front.source.valid), front.source.ready.eq(reorder.sink.ready),
            come.eq(Cat(request.priority, taken.as_value()[len(request.priority):],
                        request.port)),
        ]
