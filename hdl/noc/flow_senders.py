"""Several flows at one network interface: a sender each, with its own window, on one link.

Ref: memory-composition, sections III.B and IV.B: an interface has a window for each of its flows.
"""

from functools import cached_property

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.noc.packet import PAYLOAD_FLITS
from cyclebound.hdl.noc.flit import FlitLayout
from cyclebound.hdl.noc.packet_sender import PacketSender, TransactionLayout, WindowLayout
from cyclebound.hdl.parameters import check_integer

__all__ = ["FlowSenders"]


class FlowSenders(wiring.Component):
    """The sending half of a network interface for several flows.

    Flows whose windows are apart do not see each other: each has a sender that keeps the bounds
    that it has by itself. A flow whose window is not apart from that of one with a lower number
    is refused: its transactions are dropped and counted. It is apart if both have one period and
    never a cycle together. A flow whose window has no length has none, and conflicts with no other.

    Packets are kept together: where the network stalls one until its window closes, other flows
    wait until it has ended, in its next window. Only then do they see it.

    Latency: that of `PacketSender`.

    Parameters
    ----------
    flows : int
        At least 1.
    width, payload : int
        Bits of a word, and words in the longest packet.

    Members
    -------
    windows, transactions, words
        Of each flow's `PacketSender`, in arrays. Windows are constant from reset on.
    source : Out(stream of FlitLayout)
        To the router.
    sent, refused, overrun : Out(flows)
        Strobes of each flow's sender.
    overlaps : Out(flows)
        Flows that are refused since their windows are not apart.
    """

    def __init__(self, *, flows, width=32, payload=PAYLOAD_FLITS):
        check_integer("flows", flows, 1)
        check_integer("payload", payload, 1)
        self.flows, self.width, self.payload = flows, width, payload
        super().__init__({
            "windows": In(WindowLayout).array(flows),
            "transactions": In(stream.Signature(TransactionLayout(width))).array(flows),
            "words": In(stream.Signature(width)).array(flows),
            "source": Out(stream.Signature(FlitLayout(width))),
            "sent": Out(flows), "refused": Out(flows), "overrun": Out(flows),
            "overlaps": Out(flows),
        })
        self.in_packet = Signal(flows)  # a flow is within a packet; a proof has to speak of it

    @cached_property
    def senders(self):
        """One for each flow, made when first used."""
        return [PacketSender(width=self.width, payload=self.payload) for _ in range(self.flows)]

    def elaborate(self, platform):
        m = Module()
        chosen, offers, in_packet = 0, [], self.in_packet
        for number, sender in enumerate(self.senders):
            m.submodules[f"sender_{number}"] = sender
            wiring.connect(m, wiring.flipped(self.transactions[number]), sender.transactions)
            wiring.connect(m, wiring.flipped(self.words[number]), sender.words)
            flit, may = sender.source, Signal(name=f"may_{number}")
            # windows that are apart leave one flow that offers: only then no other one waits
            before = Cat(*(other.source.valid for other in self.senders[:number])).any()
            m.d.comb += [
                may.eq(in_packet[number] | ((in_packet == 0) & ~before)),
                flit.ready.eq(self.source.ready & may),
                self.sent[number].eq(sender.sent), self.refused[number].eq(sender.refused),
                self.overrun[number].eq(sender.overrun),
            ]
            with m.If(flit.valid & flit.ready):
                m.d.sync += in_packet[number].eq(~flit.payload.last)
            offers.append(flit.valid & may)
            chosen |= Mux(offers[-1], flit.payload.as_value(), 0)
            self._give_window(m, number, sender)
        m.d.comb += [self.source.valid.eq(Cat(offers).any()),
                     self.source.payload.as_value().eq(chosen)]
        return m

    def _give_window(self, m, number, sender):
        """Its own, or one that is none."""
        mine = self.windows[number]
        clear = [self.overlaps[other] | _apart(self.windows[other], mine)
                 for other in range(number)]
        m.d.comb += [self.overlaps[number].eq(~Cat(clear).all() if clear else 0),
                     sender.window.eq(mine)]
        with m.If(self.overlaps[number]):
            m.d.comb += [sender.window.length.eq(0), sender.window.period.eq(0)]


def _apart(one, other):
    """Whether two windows never have a cycle together, as far as they have any."""
    period = one.period
    before = other.offset < one.offset
    ahead = other.offset - one.offset
    return (one.length == 0) | (other.length == 0) | (
        (period == other.period) & (one.offset < period) & (other.offset < period)
        & (one.length <= Mux(before, ahead + period, ahead))
        & (other.length <= Mux(before, -ahead, period - ahead)))
