"""Bound checker of a round-robin arbiter, and the invariants that prove it.

`RoundRobinCheck` knows only the ports: it watches simulations, and any arbiter with these ports.
`RoundRobinProof` adds what induction needs to know about the inside of `RoundRobinArbiter`.
"""

from amaranth.hdl import Assert, Cat, Cover, Module, Mux, Signal

from cyclebound.tb.assumed import owes
from cyclebound.tb.watcher import Watcher

__all__ = ["RoundRobinCheck", "RoundRobinProof"]


class RoundRobinCheck(Watcher):
    """Bound checker of round-robin arbitration: reads every port of its target, drives none.

    Assumes that a request stays until it is served. Everything is clocked: in `m.d.comb`, the
    glitches of a settling simulation would trip it.

    Parameters
    ----------
    target : wiring.Component
        The arbiter, with ``requests``, ``accept`` and ``grant``.

    Members
    -------
    requests, accept, grant : In
        The target's ports.
    """

    def __init__(self, target):
        super().__init__(target)
        count = len(self.grant)
        self.owed = Signal(count)     # asked in the cycle before, and was not served
        self.stalled = Signal(count)  # granted in the cycle before, and not accepted
        self.passed = [Signal(range(count), name=f"passed_{who}")  # grants to others so far
                       for who in range(count)]

    def elaborate(self, platform):
        m = Module()
        count = len(self.grant)

        served = Signal(count)
        m.d.comb += served.eq(Mux(self.accept, self.grant, 0))
        m.d.sync += self.owed.eq(self.requests & ~served)
        m.d.sync += self.stalled.eq(self.grant & ~served)

        m.d.sync += owes((self.owed & ~self.requests) == 0,
                         "request withdrawn before it was served")

        m.d.sync += Assert((self.grant & (self.grant - 1)) == 0, "grant is not one-hot")
        m.d.sync += Assert((self.grant & ~self.requests) == 0, "grant without a request")
        m.d.sync += Assert(self.grant.any() == self.requests.any(), "idle while there is a request")
        m.d.sync += Assert((self.stalled & ~self.grant) == 0, "grant moved while stalled")

        # The bound: with `count - 1` grants to others gone by, the next one is my own.
        for who, passed in enumerate(self.passed):
            overtaken = Signal(name=f"overtaken_{who}")
            m.d.comb += overtaken.eq(self.requests[who] & ~served[who] & served.any())
            with m.If(overtaken):
                m.d.sync += passed.eq(passed + 1)
            with m.Elif(~self.requests[who] | served[who]):
                m.d.sync += passed.eq(0)
            m.d.sync += Assert(~(overtaken & (passed == count - 1)),
                               f"requester {who} not served within {count} grants")

        return m


class RoundRobinProof(RoundRobinCheck):
    """`RoundRobinCheck`, with invariants about the state of a `RoundRobinArbiter`.

    They close the induction for any number of cycles. The rank of a requester is how many stand
    before it in the order that begins after the one served last. A waiting one moves forward by
    at least one with each grant to another, so that rank and grants gone by stay below
    ``count`` together; a held winner may be accepted out of rank, but only ahead of requesters
    that came after it was chosen, which have seen no grant go by. `Cover` shows that the bound
    is reached.

    Parameters
    ----------
    target : RoundRobinArbiter
        The arbiter, with its state ``held`` and ``mask``.
    """

    def __init__(self, target):
        super().__init__(target)
        self._held, self._mask = target.held, target.mask

    def elaborate(self, platform):
        m = super().elaborate(platform)
        count = len(self.grant)
        held, mask = self._held, self._mask

        m.d.sync += Assert(held == self.stalled, "invariant: held is the stalled grant")
        m.d.sync += Assert((held & (held - 1)) == 0, "invariant: held is one-hot")
        m.d.sync += Assert((held & ~self.owed) == 0, "invariant: held is owed")
        m.d.sync += Assert(~mask[0], "invariant: the mask leaves out requester 0")
        m.d.sync += Assert((mask[:-1] & ~mask[1:]) == 0, "invariant: the mask is a thermometer")

        size = Signal(range(count + 1))  # how many `mask` holds
        m.d.comb += size.eq(sum(mask))
        ranks = [Signal(range(count), name=f"rank_{who}") for who in range(count)]
        for who, rank in enumerate(ranks):
            m.d.comb += rank.eq(Mux(mask[who], who + size - count, who + size))
        held_rank = Signal(range(count))
        for who, rank in enumerate(ranks):
            with m.If(held[who]):
                m.d.comb += held_rank.eq(rank)

        for who, (rank, passed) in enumerate(zip(ranks, self.passed, strict=True)):
            m.d.sync += Assert(self.owed[who] | (passed == 0),
                               f"invariant: requester {who} does not wait and counts")
            m.d.sync += Assert(rank + passed < count, f"invariant: rank of requester {who}")
            m.d.sync += Assert(~(held.any() & (rank < held_rank)) | (passed == 0),
                               f"invariant: requester {who} came after the held one was chosen")

        last = [self.grant[who] & (passed == count - 1) for who, passed in enumerate(self.passed)]
        m.d.sync += Cover(self.accept & Cat(last).any(), f"a requester waits for {count} grants")

        return m

    def explain(self, m, probes):
        """Say in ``m`` what the probe of ``grant`` counts: what is owed, and grants gone by."""
        for who, counter in enumerate(probes["grant"]):
            m.d.sync += [
                Assert(counter.busy == self.owed[who], f"invariant: the probe follows {who}"),
                Assert(~counter.busy | (counter.before == self.passed[who]),
                       f"invariant: the probe counts what went by {who}"),
            ]
