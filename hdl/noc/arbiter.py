"""Round-robin arbitration."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["RoundRobinArbiter"]

_FLAT = 6  # up to here, lookup tables are quicker than a carry chain


class RoundRobinArbiter(wiring.Component):
    """Round-robin arbiter that holds a grant until it is accepted.

    Latency: none from ``requests`` to ``grant``. Whoever keeps asking is granted within ``count``
    accepted grants. Holding keeps the payload of a multiplexed stream stable while that stream
    stalls, as long as nobody withdraws a request that is held (Amaranth's stream rules).

    Parameters
    ----------
    count : int
        Number of requesters, at least 1.

    Members
    -------
    requests : In(count)
        Bit *i* asks.
    accept : In(1)
        The winner, if there is one, is served in this cycle.
    grant : Out(count)
        One-hot winner, or 0 if nobody asks.
    """

    def __init__(self, *, count):
        if not isinstance(count, int) or isinstance(count, bool):
            raise TypeError(f"Requester count must be an integer, not {count!r}")
        if count < 1:
            raise ValueError(f"Requester count must be at least 1, not {count}")
        self.count = count
        super().__init__({"requests": In(count), "accept": In(1), "grant": Out(count)})
        # the state; a proof of fairness has to speak of it
        self.held = Signal(count)    # a winner that has not been accepted yet
        self.behind = Signal(count)  # thermometer code: the requesters after the last served

    def elaborate(self, platform):
        m = Module()

        held, behind = self.held, self.behind
        pool = Signal.like(self.grant)  # among these, the lowest number wins

        with m.If((self.requests & held).any()):
            m.d.comb += pool.eq(self.requests & held)
        with m.Elif((self.requests & behind).any()):
            m.d.comb += pool.eq(self.requests & behind)
        with m.Else():
            m.d.comb += pool.eq(self.requests)
        if self.count <= _FLAT:
            m.d.comb += [bit.eq(pool[who] & ~pool[:who].any())
                         for who, bit in enumerate(self.grant)]
        else:
            m.d.comb += self.grant.eq(pool & (~pool + 1))

        with m.If(self.accept):
            m.d.sync += held.eq(0)
            with m.If(self.grant.any()):
                m.d.sync += behind.eq(~(self.grant | (self.grant - 1)))
        with m.Else():
            m.d.sync += held.eq(self.grant)

        return m
