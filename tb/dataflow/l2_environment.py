"""Everything that may be around a second-level cache: requests of its ports, memories of known
times."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.tb.dataflow.cache_environment import choose_answers

__all__ = ["L2Environment"]


class L2Environment(wiring.Component):
    """Offers any request in any cycle, and takes and answers lines in any cycle within their times.

    A request stays until it is taken, a read with the lowest id that is free. All words are 0, and
    writes are of whole lines: no time depends on what is written. Nothing is flushed.

    Parameters
    ----------
    cache : cyclebound.hdl.dataflow.l2.L2
        The cache.
    turn, latency : int
        Of the memories below.
    lines : int
        Lines that are asked for; their numbers are the lowest.

    Members
    -------
    choice : In
        By port, whether something new is offered, whether it writes, and of which line; by channel,
        whether a request is taken, whether the memory answers, and which read.
    illegal : Out(1)
        Nothing can be offered, or there is no such read, or another one's time ends.
    ports, lines, flush
        To and from the cache.
    """

    def __init__(self, cache, *, turn, latency, lines):
        self._turn, self._latency, self._lines = turn, latency, lines
        self._id = len(cache.lines[0].response.payload.id)
        self._request = 2 + (lines - 1).bit_length()
        super().__init__({
            "choice": In(self._request * len(cache.ports) + (2 + self._id) * len(cache.lines)),
            "illegal": Out(1),
            **{name: cache.signature.members[name].flip() for name in ("ports", "lines", "flush")}})

    def elaborate(self, platform):
        m = Module()
        bits, illegal = self._request, 0
        for p, port in enumerate(self.ports):
            request, choice = port.request, self.choice.word_select(p, bits)
            offers, writes, number = choice[0], choice[1], choice[2:]
            held, kept_write = Signal(name=f"held_{p}"), Signal(name=f"kept_write_{p}")
            kept = Signal.like(number, name=f"kept_{p}")
            kept_id = Signal.like(request.payload.id, name=f"kept_id_{p}")
            under_way = Signal(1 << len(request.payload.id), name=f"under_way_{p}")
            free = ~under_way & -~under_way
            lowest = 0
            for own in range(len(under_way)):
                lowest |= Mux(free[own], own, 0)
            write = Signal(name=f"write_{p}")
            waits, reads = request.valid & ~request.ready, request.valid & request.ready & ~write
            m.d.comb += [
                request.valid.eq(held | offers), write.eq(Mux(held, kept_write, writes)),
                request.payload.write.eq(write),
                request.payload.mask.eq(Mux(write, -1, 0)),
                request.payload.line.eq(Mux(held, kept, number)),
                request.payload.id.eq(Mux(write, 0, Mux(held, kept_id, lowest)))]
            m.d.sync += [
                held.eq(waits), kept_write.eq(waits & write),
                kept.eq(Mux(waits, request.payload.line, 0)),
                kept_id.eq(Mux(waits, request.payload.id, 0)),
                under_way.eq((under_way | Mux(reads, 1 << request.payload.id, 0))
                             & ~Mux(port.response.valid, 1 << port.response.payload.id, 0))]
            illegal |= offers & (held | (~writes & under_way.all()) | (number >= self._lines))
            illegal |= ~offers & choice[1:].any()
        first = bits * len(self.ports)
        for c, port in enumerate(self.lines):
            choice = self.choice[first + c * (2 + self._id):][:2 + self._id]
            illegal |= choose_answers(m, port, choice, turn=self._turn, latency=self._latency,
                                      name=f"channel_{c}")
        m.d.comb += self.illegal.eq(illegal)
        return m
