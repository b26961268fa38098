"""Network interface: a DMA's transactions as packets within TDMA windows, and back.

Ref: memory-composition, sections III.B and V.A.2.
"""

from functools import cached_property

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.noc.packet import COORDINATE_BITS, PAYLOAD_FLITS
from cyclebound.hdl.noc.flit import FlitLayout
from cyclebound.hdl.noc.packet_receiver import PacketReceiver, ReceivedLayout
from cyclebound.hdl.noc.packet_sender import PacketSender, TransactionLayout, WindowLayout
from cyclebound.hdl.noc.wormhole_router import COUNTER_BITS
from cyclebound.hdl.parameters import check_integer

__all__ = ["NetworkInterface", "ReceivedLayout", "TransactionLayout", "WindowLayout"]


class NetworkInterface(wiring.Component):
    """Between a DMA and the local port of its router.

    Sending: a transaction is taken, then its number of ``words``; they leave in packets of two
    header flits and at most ``payload`` words. A packet begins once all its words are there, the
    one before has left, and it fits in what is left of the window: its flits and ``crossing`` more
    cycles. The interface reads up to two packets ahead, whether the window is open or not. Outside
    its window it offers nothing to the network: a packet that the network stalled until after the
    window closed continues when it next opens, and is counted.

    Receiving: packets are kept until they are complete; then their words come out, each with its
    address. Malformed packets are dropped whole, and counted.

    Latency: words are taken from the fourth cycle after their transaction on. A packet's header is
    on offer to the network 2 cycles after the packet's last word was taken, if the window is open.
    The first word of a received packet is on offer 3 cycles after the packet's last flit was
    taken, if the packets before it have left. Throughput: a flit in every cycle, packets following
    each other without a gap; a received word in every cycle but one for each packet, so that with
    a consumer that is always ready, the interface is, too.

    Windows: cycles are counted from the first after reset, which is 0. The window opens in cycle
    ``offset`` + 2, and again every ``period`` cycles, for ``length`` cycles. If ``length`` is
    ``period``, it is always open: packets begin as soon as they are there.

    Parameters
    ----------
    width : int
        Bits of data in a flit, and of a word; at least 8.
    payload : int
        Words in the longest packet, at least 1.

    Members
    -------
    window : In(WindowLayout)
        ``period``, ``offset``, ``length`` in cycles, and ``crossing``, the cycles by which a
        packet's arrival is later than its flits take, if that has to be within the window as in
        the paper (lambda there); 0 for windows that travel with the packets, as in golden/noc/tdma.
        Constant from reset on.
    transactions : In(stream of TransactionLayout)
        ``route``: first flit of all its packets, as it leaves. ``address``: of the first word, in
        words. ``words``: how many follow.
    words : In(stream of width)
        The words of one transaction after the other.
    injected : Out(stream of FlitLayout)
        To the router. An offer is withdrawn when the window closes over it.
    sent : Out(1)
        The last flit of a transaction is taken by the router in this cycle.
    arriving : In(stream of FlitLayout)
        From the router.
    received : Out(stream of ReceivedLayout)
        ``address``, ``data``, and ``last`` on the last word of a transaction. Packets of several
        senders come one by one in the order in which they were complete.
    refused : Out(16)
        Transactions that were dropped with their words: they have no words, or their packets never
        fit the window, or the window is invalid: longer than its period, or beginning beyond it.
    overrun : Out(16)
        How often the window closed over a packet.
    malformed : Out(16)
        Packets thrown away: aborted on the way, without payload, too long, with a first flit in
        the wrong place or without one.
    """

    def __init__(self, *, width=32, payload=PAYLOAD_FLITS):
        check_integer("Flit width", width, 2 * COORDINATE_BITS)
        check_integer("Payload", payload, 1, 1 << 12)
        self.width, self.payload = width, payload
        flits = stream.Signature(FlitLayout(width))
        super().__init__({
            "window": In(WindowLayout),
            "transactions": In(stream.Signature(TransactionLayout(width))),
            "words": In(stream.Signature(width)),
            "injected": Out(flits), "sent": Out(1),
            "arriving": In(flits),
            "received": Out(stream.Signature(ReceivedLayout(width))),
            "refused": Out(COUNTER_BITS), "overrun": Out(COUNTER_BITS),
            "malformed": Out(COUNTER_BITS),
        })

    @cached_property
    def sender(self):
        """The sending half, made when first used: often only the ports are read."""
        return PacketSender(width=self.width, payload=self.payload)

    def elaborate(self, platform):
        m = Module()
        m.submodules.sender = sender = self.sender
        m.submodules.receiver = receiver = PacketReceiver(width=self.width, payload=self.payload)
        wiring.connect(m, wiring.flipped(self.transactions), sender.transactions)
        wiring.connect(m, wiring.flipped(self.words), sender.words)
        wiring.connect(m, sender.source, wiring.flipped(self.injected))
        wiring.connect(m, wiring.flipped(self.arriving), receiver.sink)
        wiring.connect(m, receiver.received, wiring.flipped(self.received))
        m.d.comb += [sender.window.eq(self.window), self.sent.eq(sender.sent)]
        m.d.sync += [
            self.refused.eq(self.refused + sender.refused),
            self.overrun.eq(self.overrun + sender.overrun),
            self.malformed.eq(self.malformed + receiver.malformed),
        ]
        return m
