"""TDMA gate between a tile of SHMAC's grid and the network."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.parameters import check_integer
from cyclebound.hdl.shmac.packet import RequestPacketLayout, ResponsePacketLayout

__all__ = ["MOST_PERIOD", "Gate"]

MOST_PERIOD = 1 << 12


class Gate(wiring.Component):
    """Lets its tile's requests in in one cycle of each period, and makes its RAM's time even.

    Latency: none for a request in the open cycle, and none for what the network asks of the tile.
    With ``evens``, an answer is on offer two cycles after its request was first on offer to the
    tile, whether that took it in its first cycle or in its second; otherwise when the tile offers
    it. It is taken at once if nothing meets in the network (golden/shmac/gate_table.py).

    Parameters
    ----------
    period : int
        Cycles from one open cycle to the next, 1 to 4096.
    opens : int
        The number of the first open cycle, from reset on: below the period.
    evens : bool
        The tile's core may come before the network at its RAM.

    Members
    -------
    requests, admitted : In, Out(stream of RequestPacketLayout)
        Of the tile's core, and to the network.
    accesses, served : In, Out(stream of RequestPacketLayout)
        Of the network, and to the tile.
    answers, returned : In, Out(stream of ResponsePacketLayout)
        Of the tile, and to the network.
    """

    def __init__(self, *, period, opens, evens):
        check_integer("Period", period, 1, MOST_PERIOD)
        check_integer("Open cycle", opens, 0, period - 1)
        if not isinstance(evens, bool):
            raise TypeError(f"Evens must be True or False, not {evens!r}")
        self.period, self.opens, self.evens = period, opens, evens
        requests, responses = map(stream.Signature, (RequestPacketLayout, ResponsePacketLayout))
        super().__init__({
            "requests": In(requests), "admitted": Out(requests),
            "accesses": In(requests), "served": Out(requests),
            "answers": In(responses), "returned": Out(responses),
        })
        # the state; a proof has to speak of it
        self.until = Signal(range(period), init=opens)  # cycles until it is open
        self.waited = Signal()  # the request on offer to the tile was so in the cycle before
        self.holds = Signal()   # an answer comes too early

    def elaborate(self, platform):
        m = Module()
        opened = self.until == 0
        m.d.sync += self.until.eq(self.until - 1)
        with m.If(opened):
            m.d.sync += self.until.eq(self.period - 1)
        m.d.comb += [
            self.admitted.payload.eq(self.requests.payload),
            self.admitted.valid.eq(self.requests.valid & opened),
            self.requests.ready.eq(self.admitted.ready & opened),
        ]
        wiring.connect(m, wiring.flipped(self.accesses), wiring.flipped(self.served))
        accesses = self.accesses
        if self.evens:
            m.d.sync += [self.holds.eq(accesses.valid & accesses.ready & ~self.waited),
                         self.waited.eq(accesses.valid & ~accesses.ready)]
        m.d.comb += [
            self.returned.payload.eq(self.answers.payload),
            self.returned.valid.eq(self.answers.valid & ~self.holds),
            self.answers.ready.eq(self.returned.ready & ~self.holds),
        ]
        return m
