"""The proof that a receiver that keeps to the sink rule never lets its link wait."""

from amaranth.hdl import Assert, Assume, Cover, Module, Mux, Signal

from cyclebound.golden.noc.end_to_end_read import receiver_keeps_up
from cyclebound.tb.watcher import Watcher

__all__ = ["ReadSinkProof", "least_period"]

_HEADERS = 2      # flits of a packet before its words
_DELTA = 0        # of the routers before the sink: they only delay what a window brings
_CROSSING = 4 * (_DELTA + 1)


def least_period(*, requesters, packets, payload, row, rest=0):
    """The shortest period in which a window of ``row`` packets of full size, and of ``rest`` more
    cycles, keeps to the rule.

    Raises `ValueError` where there is none.
    """
    window = row * (payload + _HEADERS) + rest + _CROSSING
    for period in range(window + 1, window + 2 * row * payload * requesters):
        if receiver_keeps_up(requesters=requesters, packets=packets, delta=_DELTA,
                             window=window, period=period, payload=payload):
            return period
    raise ValueError(f"{row} packets in a window must keep to the rule of the receiver; with "
                     f"{requesters} requesters and room for {packets} packets they do in no period")


class ReadSinkProof(Watcher):
    """Proves, for any number of cycles, that the sink takes each flit in the cycle it comes.

    The link is free where the rule speaks of nothing: in each period packets of any even number of
    words begin in any cycle of the window in which they fit, and each one's flits follow each
    other, as a sender gives them in a network that does not stall. So the link's assumptions do not
    depend on the sink. All other requesters ask for the bank, and no longer ask, whenever they
    like.

    Parameters
    ----------
    target : ReadSink
        What is watched, itself.
    row : int
        Packets of full size in a window.
    rest : int
        Cycles of the window beside these.
    less : int
        Cycles by which the period is shorter than the rule demands.
    """

    def __init__(self, target, *, row, rest=0, less=0):
        super().__init__(target)
        self.target, self.payload = target, target.payload
        self.window = row * (target.payload + _HEADERS) + rest
        self.period = least_period(requesters=target.requesters, packets=target.packets,
                                   payload=target.payload, row=row, rest=rest) - less

    def elaborate(self, platform):
        m = Module()
        clock = Signal(range(self.period))
        m.d.sync += clock.eq(Mux(clock == self.period - 1, 0, clock + 1))
        place = self._link(m, clock)
        receiver, writer, bank = self.target.parts.values()
        arbiter, offer = bank.arbiter, self.sink
        m.d.sync += [
            Assert(~offer.valid | offer.ready, "the link waits"),
            Assert(~self.malformed, "a packet is thrown away"),
            Cover(self.stored, "a word of the bank is written"),
            Cover(offer.valid & offer.payload.last & (clock == self.window - 1)
                  & (receiver.whole != 0), "the last flit comes while a packet is left"),
        ]
        # By the rule each window's first entry finds the receiver empty, and one word of the bank
        # at most waits for its grant. Induction deeper than a period sees such a cycle.
        empty = [(receiver.whole == 0, "no packet is left"),
                 (~receiver.inside, "no word of a packet is left"),
                 (~receiver.received.valid, "no word is on offer"),
                 (~writer.waits, "no half of a word waits"),
                 (receiver.head == receiver.begin, "the next entry is the oldest")]
        m.d.sync += [Assert((clock != 1) | fact, f"invariant: {says} from the window before")
                     for fact, says in empty]
        room = receiver.room
        m.d.sync += [
            Assert(clock < self.period, "invariant: the clock is in the period"),
            Assert(receiver.between == (place == 0), "invariant: whether a packet arrives"),
            Assert(receiver.address == (place == 1), "invariant: whether its address comes"),
            Assert(receiver.words == (place > 1), "invariant: whether its words come"),
            Assert(receiver.part == Mux(place > 1, place - 1, 0), "invariant: entries of a packet"),
            Assert((receiver.begin < room) & (receiver.tail < room),
                   "invariant: places for entries"),
            Assert(receiver.tail == Mux(receiver.begin + receiver.part >= room,
                                        receiver.begin + receiver.part - room,
                                        receiver.begin + receiver.part),
                   "invariant: where the next entry goes"),
            Assert(arbiter.held == 0, "invariant: each grant is accepted"),
            Assert(~arbiter.mask[0] & ((arbiter.mask[:-1] & ~arbiter.mask[1:]) == 0),
                   "invariant: the arbiter's turns"),
        ]
        return m

    def _link(self, m, clock):
        """What the link may bring; returns how many flits of the packet have come."""
        flit, valid = self.sink.payload, self.sink.valid
        place = Signal(range(self.payload + _HEADERS))
        even = place[0]  # with this word the packet has an even number: it may be its last
        with m.If(valid):
            m.d.sync += place.eq(Mux(flit.last, 0, place + 1))
        word = valid & (place > 1)
        m.d.sync += [
            Assume((place == 0) | valid, "the flits of a packet have a gap"),
            Assume(~valid | (flit.first == (place == 0)), "a packet within a packet"),
            Assume(~valid | (place != 0) | (clock + 4 <= self.window),
                   "a packet begins that does not fit"),
            Assume(~(valid & flit.last) | ((place > 1) & even),
                   "a packet without words, or half a word of the bank"),
            Assume(~(word & even) | flit.last | ((place != self.payload + 1)
                                                 & (clock + 2 < self.window)),
                   "a packet that is too long"),
            Assume(~valid | (place != 1) | ~flit.data[0], "an odd address"),
        ]
        return place
