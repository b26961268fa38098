"""Round-robin arbitration."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.parameters import check_integer

__all__ = ["RoundRobinArbiter"]

_FLAT = 6  # up to here, lookup tables are quicker than a carry chain


class RoundRobinArbiter(wiring.Component):
    """Round-robin arbiter that holds a grant until it is accepted.

    Latency: none from ``requests`` to ``grant``. A kept request is granted within ``count``
    accepted grants. Holding keeps the payload of a multiplexed stream stable while that stream
    stalls, as long as no held request is withdrawn (Amaranth's stream rules).

    Parameters
    ----------
    count : int
        Number of requesters, at least 1.

    Members
    -------
    requests : In(count)
        Bit *i*: requester *i* has a request.
    accept : In(1)
        The winner, if there is one, is served in this cycle.
    grant : Out(count)
        One-hot winner, or 0 without a request.
    """

    def __init__(self, *, count):
        check_integer("Requester count", count, 1)
        self.count = count
        super().__init__({"requests": In(count), "accept": In(1), "grant": Out(count)})
        # the state; a proof of fairness has to speak of it
        self.held = Signal(count)    # a winner that has not been accepted yet
        self.mask = Signal(count)  # thermometer code: the requesters after the last served

    def elaborate(self, platform):
        m = Module()

        held, mask, grant = self.held, self.mask, self.grant
        holds = (self.requests & held).any()
        if self.count <= _FLAT:
            for who in range(self.count):
                # whose turn is before: after the last served if this one is not, else lower ones
                lower = self.requests[:who] & Mux(mask[who], mask[:who], ~Const(0, who))
                higher = self.requests[who + 1:] & Mux(mask[who], 0, mask[who + 1:])
                first = self.requests[who] & ~lower.any() & ~higher.any()
                m.d.comb += grant[who].eq(Mux(holds, self.requests[who] & held[who], first))
            after = Cat(grant[:who].any() for who in range(self.count))
        else:
            pool = Signal.like(grant)  # among these, the lowest number wins
            with m.If(holds):
                m.d.comb += pool.eq(self.requests & held)
            with m.Elif((self.requests & mask).any()):
                m.d.comb += pool.eq(self.requests & mask)
            with m.Else():
                m.d.comb += pool.eq(self.requests)
            m.d.comb += grant.eq(pool & -pool)
            after = (pool | -pool) << 1  # of the carry chain that the grant has, too

        with m.If(self.accept):
            m.d.sync += held.eq(0)
            with m.If(self.requests.any()):
                m.d.sync += mask.eq(after)
        with m.Else():
            m.d.sync += held.eq(grant)

        return m
