"""From a core to DDR3: a write over local memory, network, front end and reorder core.

Ref: memory-composition, section V.
"""

from functools import cached_property

from amaranth.hdl import EnableInserter, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.noc.end_to_end_data import REQUEST_BYTES, WORD_BYTES
from cyclebound.golden.noc.packet import PAYLOAD_FLITS, source_header
from cyclebound.golden.noc.routes import Port
from cyclebound.hdl.dram.command_arbiter import CommandLayout
from cyclebound.hdl.dram.page_controller import BusLayout
from cyclebound.hdl.noc.compute_tile import ComputeTile
from cyclebound.hdl.noc.dma_rx import DmaRx
from cyclebound.hdl.noc.mesh import Mesh
from cyclebound.hdl.noc.packet_receiver import PacketReceiver
from cyclebound.hdl.noc.packet_sender import PacketSender, WindowLayout
from cyclebound.hdl.noc.shared_dram import SharedDram, tag_bits
from cyclebound.hdl.parameters import check_integer, check_power_of_two

__all__ = ["EndToEnd"]

_ROUTERS = 4
_WIDTH = 32    # bits of a flit
_PACKET_BYTES = PAYLOAD_FLITS * _WIDTH // 8
_OF_NETWORK = "tile", "sender", "receiver"  # with the network's cycles


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
    own_banks, reads : In(1), In(rivals)
        Each of them has a bank of its own instead; those of them that read.
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
        check_power_of_two("bytes", nbytes, 2 * REQUEST_BYTES, 4096)
        self.requesters, self.nbytes, self.delta, self.rivals = requesters, nbytes, delta, rivals
        self.quarters, self.cap, self.part = quarters, cap, part_named(part)
        self.slots, self.packets = nbytes // REQUEST_BYTES, -(-nbytes // _PACKET_BYTES)
        self.packet_flits = PAYLOAD_FLITS
        slot_bits = (self.slots - 1).bit_length()
        self._shared = {"masters": 1, "rivals": rivals, "slot_bits": slot_bits}
        super().__init__({
            "start": In(1), "saturate": In(requesters), "compete": In(max(rivals, 1)),
            "own_banks": In(1), "reads": In(max(rivals, 1)), "window": In(WindowLayout),
            "network": Out(1), "writing": Out(1), "filled": Out(1), "read": Out(1),
            "header": Out(1), "arrived": Out(1), "asked": Out(1),
            "command": Out(CommandLayout(part=self.part)),
            "bus": Out(BusLayout(tag_bits=tag_bits(**self._shared))),
            "data": Out(8 * REQUEST_BYTES // 4),
        })

    @cached_property
    def parts(self):
        """The system's parts by name, made when first used."""
        return {
            "tile": ComputeTile(requesters=self.requesters, words=self.nbytes // WORD_BYTES),
            # the halves of a network interface
            "sender": PacketSender(width=_WIDTH, payload=PAYLOAD_FLITS),
            "receiver": PacketReceiver(width=_WIDTH, payload=PAYLOAD_FLITS),
            "mesh": Mesh(rows=1, columns=_ROUTERS, depth=self.delta + 1, delta=self.delta),
            "io": DmaRx(slots=self.slots),
            "dram": SharedDram(**self._shared, cap=self.cap, part=self.part),
        }

    def elaborate(self, platform):
        m = Module()
        parts = self.parts
        goes, quarter = Signal(), Signal(2)  # network and local memory have a cycle
        m.d.sync += quarter.eq(quarter + 1)
        m.d.comb += [goes.eq(quarter < self.quarters if self.quarters < 4 else 1),
                     self.network.eq(goes)]
        parts["mesh"].enable = goes
        for name, part in parts.items():
            m.submodules[name] = EnableInserter(goes)(part) if name in _OF_NETWORK else part
        tile, sender, receiver = parts["tile"], parts["sender"], parts["receiver"]
        mesh, io, dram = parts["mesh"], parts["io"], parts["dram"]

        # -- local memory, and the network -----------------------------------------------------
        route = source_header([Port.EAST] * (_ROUTERS - 1) + [Port.LOCAL])
        m.d.comb += [
            tile.fills.valid.eq(self.start), tile.fills.payload.route.eq(route),
            tile.fills.payload.words.eq(tile.words), tile.saturate.eq(self.saturate),
            sender.window.eq(self.window), self.writing.eq(tile.writing),
            self.filled.eq(tile.filled & goes),
        ]
        wiring.connect(m, tile.transactions, sender.transactions)
        wiring.connect(m, tile.source, sender.words)
        wiring.connect(m, sender.source, mesh.sinks[0])
        wiring.connect(m, mesh.sources[_ROUTERS - 1], receiver.sink)
        received, words = receiver.received, io.words
        m.d.comb += [words.valid.eq(received.valid & goes), words.payload.eq(received.payload),
                     received.ready.eq(words.ready)]  # which is always so
        injected, arriving = sender.source, receiver.sink
        m.d.comb += [
            self.read.eq(goes & tile.source.valid & tile.source.ready),
            self.header.eq(goes & injected.valid & injected.ready & injected.payload.first),
            self.arrived.eq(goes & arriving.valid & arriving.ready & arriving.payload.last),
        ]

        # -- DDR3; all requests of the transaction are in row 0 of bank 0 ------------------------
        mine = dram.sinks[0].payload
        m.d.comb += [
            mine.write.eq(1), mine.column.eq(io.request.payload.place),
            mine.tag.eq(io.request.payload.slot),
            dram.sinks[0].valid.eq(io.request.valid), io.request.ready.eq(dram.sinks[0].ready),
            self.asked.eq(io.request.valid & io.request.ready), dram.compete.eq(self.compete),
            dram.own_banks.eq(self.own_banks), dram.reads.eq(self.reads),
            io.fetch.valid.eq(dram.fetch.valid & (dram.fetch.tag[dram.slot_bits:] == 0)),
            io.fetch.slot.eq(dram.fetch.tag[:dram.slot_bits]), io.fetch.beat.eq(dram.fetch.beat),
            self.data.eq(io.data), self.command.eq(dram.command), self.bus.eq(dram.bus),
        ]
        return m
