"""From DDR3 to a core's memory: a read over front end, reorder core, network, and local memory.

Ref: memory-composition, section II (Example 2) and section V.
"""

from functools import cached_property

from amaranth.hdl import EnableInserter, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.noc.end_to_end_data import REQUEST_BYTES, WORD_BYTES
from cyclebound.golden.noc.packet import PAYLOAD_FLITS, source_header
from cyclebound.golden.noc.routes import Port
from cyclebound.hdl.dram.command_arbiter import CommandLayout
from cyclebound.hdl.dram.page_controller import BusLayout
from cyclebound.hdl.noc.dma_tx import DmaTx
from cyclebound.hdl.noc.mesh import Mesh
from cyclebound.hdl.noc.packet_sender import PacketSender, WindowLayout
from cyclebound.hdl.noc.read_sink import ReadSink
from cyclebound.hdl.noc.shared_dram import SharedDram, tag_bits
from cyclebound.hdl.parameters import check_integer, check_power_of_two

__all__ = ["EndToEndRead", "ReadLayout"]

_ROUTERS = 4
_WIDTH = 32    # bits of a flit
_PACKET_BYTES = PAYLOAD_FLITS * _WIDTH // 8
_OF_NETWORK = "sender", "sink"  # with the network's cycles


class ReadLayout(data.StructLayout):
    """What to read: ``bursts`` from there on, to the ``word`` of the bank of local memory."""

    def __init__(self, *, part, words):
        super().__init__({"bank": (part.banks - 1).bit_length(),
                          "row": (part.rows - 1).bit_length(),
                          "column": (part.bursts_per_row - 1).bit_length(),
                          "bursts": part.bursts_per_row.bit_length(),
                          "word": (words - 1).bit_length()})


class EndToEndRead(wiring.Component):
    """A memory controller for DDR3, an I/O tile, four routers in a row, and a compute tile.

    The clock is DDR3's. Network and local memory stand still in some of its cycles: with three of
    four, they have 600 MHz beside DDR3's 800, as in the paper. The I/O tile stands between both.

    Parameters
    ----------
    requesters : int
        Requesters of the bank of local memory: cores and a DMA, 2 to 32.
    nbytes : int
        Bytes of the longest transaction, and of the bank: 256 to 4,096, a power of two.
    delta : int
        Latency of a router, at least 2.
    rivals : int
        Other masters at the front end, from 0 to 7.
    quarters : int
        Cycles of every four, from the first, in which network and local memory advance: 1 to 4.
    packets : int
        Packets that the compute tile has room for, at least 2.
    cap : int
        Age cap of the reorder core.
    part : Part or str
        The DRAM, or its name.

    Members
    -------
    reads : In(stream of ReadLayout)
        Transactions, one at a time.
    saturate : In(requesters)
        Requesters that ask for local memory in every cycle; bit 1, the DMA's, is of no account.
    compete : In(rivals)
        Other masters that ask for DDR3 in every cycle; each request writes another row of bank 0.
    window : In(WindowLayout)
        The flow's window.
    look : In
        A core reads: ``word`` of the bank, in every cycle in which ``valid``.
    seen : Out
        ``valid`` in the cycle of the network after its grant, with that word's ``data``.
    network : Out(1)
        Network and local memory advance; in other cycles their outputs are those of the last one.
    refused : Out(1)
        A read is dropped in this cycle: it has no bursts, or does not end in its row.
    asked : Out(1)
        The front end takes a request of the transaction.
    passed : Out(1)
        A flit's word is taken by the network interface.
    header, arrived : Out(1)
        A packet's first flit is taken by the first router; its last one by the compute tile.
    stalled : Out(1)
        The compute tile has no room for the flit on its link.
    overrun : Out(1)
        The window closes over a packet, since the network stalled it.
    stored : Out(1)
        A word of the bank is written.
    command, bus : Out
        The pins, and the burst whose beat is on the data bus: its tag is the burst's slot, with the
        port above it.
    dq_in : In
        That beat, if it is read.
    """

    def __init__(self, *, requesters=11, nbytes=4096, delta=5, rivals=7, quarters=3, packets=2,
                 cap=9, part="ddr3-1600-module"):
        check_integer("requesters", requesters, 2, 32)
        check_integer("delta", delta, 2)
        check_integer("rivals", rivals, 0, 7)
        check_integer("quarters", quarters, 1, 4)
        check_integer("packets", packets, 2)
        check_integer("cap", cap, 0)
        check_power_of_two("bytes", nbytes, 2 * REQUEST_BYTES, 4096)
        self.requesters, self.nbytes, self.delta, self.rivals = requesters, nbytes, delta, rivals
        self.quarters, self.packets, self.cap = quarters, packets, cap
        self.part = part_named(part)
        self.slots, self.words = nbytes // REQUEST_BYTES, nbytes // WORD_BYTES
        self.flow_packets, self.packet_flits = nbytes // _PACKET_BYTES, PAYLOAD_FLITS
        self._shared = {"masters": 1, "rivals": rivals, "slot_bits": (self.slots - 1).bit_length()}
        word = range(self.words)
        super().__init__({
            "reads": In(stream.Signature(ReadLayout(part=self.part, words=self.words))),
            "saturate": In(requesters), "compete": In(max(rivals, 1)),
            "window": In(WindowLayout),
            "look": In(data.StructLayout({"valid": 1, "word": (len(word) - 1).bit_length()})),
            "seen": Out(data.StructLayout({"valid": 1, "data": 8 * WORD_BYTES})),
            "network": Out(1), "refused": Out(1), "asked": Out(1), "passed": Out(1),
            "header": Out(1), "arrived": Out(1), "stalled": Out(1), "overrun": Out(1),
            "stored": Out(1),
            "command": Out(CommandLayout(part=self.part)),
            "bus": Out(BusLayout(tag_bits=tag_bits(**self._shared))),
            "dq_in": In(8 * REQUEST_BYTES // 4),
        })

    @cached_property
    def parts(self):
        """The system's parts by name, made when first used."""
        return {
            "dram": SharedDram(**self._shared, cap=self.cap, part=self.part),
            "dma": DmaTx(part=self.part, slots=self.slots),
            "sender": PacketSender(width=_WIDTH, payload=PAYLOAD_FLITS),
            "mesh": Mesh(rows=1, columns=_ROUTERS, depth=self.delta + 1, delta=self.delta),
            "sink": ReadSink(requesters=self.requesters, words=self.words, payload=PAYLOAD_FLITS,
                             packets=self.packets),
        }

    def elaborate(self, platform):
        m = Module()
        goes, quarter = Signal(), Signal(2)  # network and local memory have a cycle
        m.d.sync += quarter.eq(quarter + 1)
        m.d.comb += [goes.eq(quarter < self.quarters if self.quarters < 4 else 1),
                     self.network.eq(goes)]
        self.parts["mesh"].enable = goes
        for name, part in self.parts.items():
            m.submodules[name] = EnableInserter(goes)(part) if name in _OF_NETWORK else part
        self._dram(m)
        self._network(m, goes)
        self._local_memory(m, goes)
        return m

    def _dram(self, m):
        """The DMA at its port, and its transactions."""
        dma, dram = self.parts["dma"], self.parts["dram"]
        asked, read = dma.descriptors, self.reads.payload
        tag, mine = dram.deliver.tag, Signal()
        m.d.comb += [
            asked.valid.eq(self.reads.valid), self.reads.ready.eq(asked.ready),
            asked.payload.bank.eq(read.bank), asked.payload.row.eq(read.row),
            asked.payload.column.eq(read.column), asked.payload.bursts.eq(read.bursts),
            asked.payload.address.eq(read.word * (8 * WORD_BYTES // _WIDTH)),
            asked.payload.route.eq(source_header([Port.EAST] * (_ROUTERS - 1) + [Port.LOCAL])),
            self.refused.eq(dma.refused),
            mine.eq(tag[dram.slot_bits:] == 0),
            dma.deliver.valid.eq(dram.deliver.valid & mine), dma.deliver.beat.eq(dram.deliver.beat),
            dma.deliver.tag.eq(tag[:dram.slot_bits]), dma.deliver.data.eq(dram.deliver.data),
            self.asked.eq(dma.request.valid & dma.request.ready),
            dram.compete.eq(self.compete), dram.dq_in.eq(self.dq_in),
            self.command.eq(dram.command), self.bus.eq(dram.bus),
        ]
        wiring.connect(m, dma.request, dram.sinks[0])

    def _network(self, m, goes):
        """From the DMA to the compute tile; what the DMA passes on is taken in network's cycles."""
        dma, sender, mesh, end = (self.parts[name] for name in ("dma", "sender", "mesh", "sink"))
        for theirs, mine in ((sender.transactions, dma.transactions), (sender.words, dma.words)):
            m.d.comb += [theirs.valid.eq(mine.valid), theirs.payload.eq(mine.payload),
                         mine.ready.eq(theirs.ready & goes)]
        wiring.connect(m, sender.source, mesh.sinks[0])
        wiring.connect(m, mesh.sources[_ROUTERS - 1], end.sink)
        injected, arriving = sender.source, end.sink
        m.d.comb += [
            sender.window.eq(self.window), self.overrun.eq(goes & sender.overrun),
            self.passed.eq(goes & sender.words.valid & sender.words.ready),
            self.header.eq(goes & injected.valid & injected.ready & injected.payload.first),
            self.arrived.eq(goes & arriving.valid & arriving.ready & arriving.payload.last),
            self.stalled.eq(goes & arriving.valid & ~arriving.ready),
        ]

    def _local_memory(self, m, goes):
        """The bank: a core that looks at it, the DMA that writes, and other cores."""
        end = self.parts["sink"]
        core, *others = end.others
        saturate = Signal(self.requesters)
        m.d.sync += saturate.eq(self.saturate)  # a setting; a request on offer is not withdrawn
        for who, port in enumerate(others, 2):
            m.d.comb += port.request.valid.eq(saturate[who])
        m.d.comb += [
            core.request.valid.eq(saturate[0] | self.look.valid),
            core.request.payload.address.eq(self.look.word),
            self.seen.valid.eq(goes & core.response.valid),
            self.seen.data.eq(core.response.data),
            self.stored.eq(goes & end.stored),
        ]
