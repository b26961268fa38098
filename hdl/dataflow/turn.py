"""Round robin among the entries of a buffer, in a flat circuit.

Part of token buffer, load/store unit and special unit, whose models, testbenches and tests cover
it.
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cyclebound.hdl.leading_zeros import leading_zeros

__all__ = ["Turn", "keep_epochs"]


class Turn(wiring.Component):
    """The first entry that asks, after the one served last; one-hot, and as a number.

    Latency: none. Without a carry chain, because it is the longest path in every buffer. An entry
    that keeps asking is passed over by each other entry once at most.

    Parameters
    ----------
    depth : int
        Entries, a power of two.

    Members
    -------
    requests : In(depth)
        Entry *i* asks.
    take : In(1)
        The winner, if there is one, is served in this cycle.
    grant : Out(depth)
        The winner, one-hot; it does not depend on ``take``.
    index : Out(range(depth))
        The winner, as a number; undefined without a request.

    Attributes
    ----------
    mask : Signal
        The entries after the one served last; a thermometer code.
    """

    def __init__(self, *, depth):
        self.depth = depth
        super().__init__({"requests": In(depth), "take": In(1), "grant": Out(depth),
                          "index": Out(range(depth))})
        self.mask = Signal(depth)

    def elaborate(self, platform):
        m = Module()
        later = Signal(self.depth)
        m.d.comb += [
            later.eq(self.requests & self.mask),
            self.grant.eq(Mux(later.any(), _lowest(later), _lowest(self.requests))),
            self.index.eq(Mux(later.any(), leading_zeros(m, later[::-1])[0],
                              leading_zeros(m, self.requests[::-1])[0])),
        ]
        with m.If(self.take & self.requests.any()):
            m.d.sync += self.mask.eq(Cat(Cat(self.grant[:e]).any() for e in range(self.depth)))
        return m


def _lowest(bits):
    """The lowest bit that is set, alone."""
    return Cat(bit & ~Cat(bits[:place]).any() for place, bit in enumerate(bits))


def keep_epochs(m, sent, leaves, leaving):
    """Keep account, in ``m``, of the entries whose thread of this epoch has been sent.

    Parameters
    ----------
    m : Module
        Of the buffer.
    sent : Signal
        A bit for each entry; all are cleared when the last one would be set.
    leaves : Value
        The entry that is sent in this cycle, one-hot: one of those that have not been.
    leaving : Value
        Whether there is one. It is known before ``leaves``; so those that have been sent are
        counted, for the last one to be known in time.
    """
    count = Signal(exact_log2(len(sent)), name="sent_count")
    with m.If(leaving):
        m.d.sync += [count.eq(count + 1), sent.eq(Mux(count.all(), 0, sent | leaves))]
