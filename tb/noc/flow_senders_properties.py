"""Checker of several flows at an interface, and the proof that they do not see each other."""

from itertools import combinations

from amaranth.hdl import Assert, Cat, Cover, Module, Mux, Signal, Value

from cyclebound.tb.assumed import fixed, stays
from cyclebound.tb.noc.network_interface_properties import WindowClock
from cyclebound.tb.watcher import Watcher, claim_kept

__all__ = ["FlowSendersApartProof", "FlowSendersCheck", "FlowSendersWholeProof"]


class FlowSendersCheck(Watcher):
    """Bound checker of the flows: reads every port, drives none.

    Nothing is on offer outside of the windows of the flows that have one; on the link a packet
    follows the other. Assumes that windows are constant, and that offers stay.

    Parameters
    ----------
    target : FlowSenders
        What is watched.

    Attributes
    ----------
    clocks : list of WindowClock
        Of each flow; they follow the window that its sender is given.
    within : Signal
        The link is within a packet.
    """

    def __init__(self, target):
        self.target, self.flows = target, target.flows
        super().__init__(target)
        self.clocks = [WindowClock() for _ in range(self.flows)]
        self.in_packet = Signal()

    def elaborate(self, platform):
        m = Module()
        self.follow_windows(m)
        self.follow_packets(m)
        return m

    def follow_windows(self, m):
        """Nothing is on offer outside of all windows, which are constant."""
        begun = Signal()
        m.d.sync += begun.eq(1)
        for flow, clock in enumerate(self.clocks):
            window = self.windows[flow]
            before = Signal.like(Value.cast(window), name=f"before_{flow}")
            m.d.sync += [before.eq(window),
                         fixed(~begun | (before == Value.cast(window)), "a window changed")]
            none = self.overlaps[flow]
            clock.follow(m, period=Mux(none, 0, window.period), offset=window.offset,
                         length=Mux(none, 0, window.length))
        m.d.sync += Assert(~self.source.valid | Cat(clock.now_open for clock in self.clocks).any(),
                           "source: outside of all windows")

    def follow_packets(self, m):
        """On the link a packet follows the other."""
        source, in_packet = self.source, self.in_packet
        for flow in range(self.flows):
            claim_kept(m, f"words {flow}", self.words[flow], stays)
            claim_kept(m, f"transactions {flow}", self.transactions[flow], stays)
        with m.If(source.valid & source.ready):
            m.d.sync += in_packet.eq(~source.payload.last)
        m.d.sync += Assert(~source.valid | (source.payload.first == ~in_packet),
                           "source: packets are not one after the other")


class FlowSendersApartProof(FlowSendersCheck):
    """Proves, for any number of cycles, that at most one flow has a flit for the link in a cycle,
    whatever the windows are and whatever the network does. So where the network does not stall,
    each sender sees what it would see by itself.

    Parameters
    ----------
    target : FlowSenders
        What is watched, itself.
    """

    def __init__(self, target):
        super().__init__(target)
        self.senders = target.senders

    def elaborate(self, platform):
        m = Module()
        self.follow_windows(m)
        offers = Cat(sender.source.valid for sender in self.senders)
        m.d.sync += [Assert((offers & (offers - 1)) == 0, "two flows have a flit for the link"),
                     Cover(self.source.valid & self.source.payload.last, "a packet leaves")]
        for clock, sender in zip(self.clocks, self.senders, strict=True):
            m.d.sync += [*clock.invariants(sender), *clock.agrees()]
        for one, other in combinations(self.clocks, 2):
            m.d.sync += Assert(~(one.good & other.good & one.now_open & other.now_open),
                               "invariant: one window is open at a time")
            m.d.sync += Assert((one.period != other.period) | (one.clock == other.clock),
                               "invariant: windows of one period have one clock")
        return m


class FlowSendersWholeProof(FlowSendersCheck):
    """Proves, for any number of cycles and any windows, that packets are kept together on the link,
    whatever the network does.

    Parameters
    ----------
    target : FlowSenders
        What is watched, itself.
    """

    def __init__(self, target):
        super().__init__(target)
        self.senders, self.packet_of = target.senders, target.in_packet

    def elaborate(self, platform):
        m = Module()
        self.follow_packets(m)
        m.d.sync += [
            Cover(self.source.valid & self.source.payload.last, "a packet leaves"),
            Assert(self.in_packet == self.packet_of.any(),
                   "invariant: whether the link is within a packet is known"),
            Assert((self.packet_of & (self.packet_of - 1)) == 0,
                   "invariant: one packet at a time"),
        ]
        for flow, sender in enumerate(self.senders):
            first, last, begins = sender.flit.first, sender.flit.last, sender.header
            m.d.sync += [
                Assert(~begins | (sender.loaded & first & ~last), "invariant: a header is loaded"),
                Assert(~sender.body | (sender.loaded & ~first & ~last),
                       "invariant: a flit within a packet is loaded"),
                Assert(~sender.loaded | begins | sender.body | (last & ~first),
                       "invariant: what is loaded else is a packet's last flit"),
                Assert(~(begins & sender.body), "invariant: one state"),
                Assert(self.packet_of[flow] == (sender.loaded & ~first),
                       "invariant: who is within a packet is known"),
            ]
        return m
