"""Round robin among packets, for an output whose next packet is chosen a cycle ahead.

Part of the wormhole router, whose model, testbench and tests cover it.
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["PacketArbiter"]


class PacketArbiter(wiring.Component):
    """Grants the next packet: round robin among those that wait; if none does, one that comes.

    Latency: none to ``grant``. A requester sees one grant of each other requester at most, those
    included that it saw in the cycle in which it came: the one that is granted comes after it.

    Parameters
    ----------
    count : int
        Number of requesters.

    Members
    -------
    waiting : In(count)
        Requesters that wait; set until granted.
    coming : In(count)
        Requesters that wait from the next cycle on. Settles late, so that little depends on it.
    accept : In(1)
        The grant counts.
    grant : Out(count)
        One-hot, or 0 without a request.
    """

    def __init__(self, *, count):
        self.count = count
        super().__init__({"waiting": In(count), "coming": In(count), "accept": In(1),
                          "grant": Out(count)})
        self.served = Signal(count)  # the last grant that counted
        self.mask = Signal(count)  # thermometer code: the requesters after it

    def elaborate(self, platform):
        m = Module()
        waiting, mask = self.waiting, self.mask
        m.d.comb += mask.eq(Cat(self.served[:who].any() for who in range(self.count)))
        later = waiting & mask
        chosen = Mux(later.any(), _lowest(later), _lowest(waiting))
        m.d.comb += self.grant.eq(Mux(waiting.any(), chosen, _lowest(self.coming)))
        with m.If(self.accept & self.grant.any()):
            m.d.sync += self.served.eq(self.grant)
        return m


def _lowest(requests):
    """One-hot, by lookup tables: quicker than a carry chain."""
    return Cat(bit & ~requests[:who].any() for who, bit in enumerate(requests))
