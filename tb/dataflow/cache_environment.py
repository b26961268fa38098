"""Everything that may be around a cache: accesses of its ports, and a memory of known times."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

__all__ = ["CacheEnvironment", "choose_answers"]


class CacheEnvironment(wiring.Component):
    """Offers any access in any cycle, and takes and answers lines in any cycle within their times.

    A request stays until it is taken, with the lowest tag that is free. All words are 0, stores
    among them: no time depends on what a word is. Nothing is flushed.

    Parameters
    ----------
    cache : cyclebound.hdl.dataflow.cache.Cache
        The cache.
    turn, latency : int
        Of the memory below.
    tags : int
        Lines of each set that are accessed.

    Members
    -------
    choice : In
        By port, whether something new is offered, whether it writes, and its address; whether the
        memory below takes a request; whether it answers, and which read.
    illegal : Out(1)
        Nothing can be offered, or there is no such read, or another one's time ends.
    ports, lines, flush
        To and from the cache.
    """

    def __init__(self, cache, *, turn, latency, tags):
        self._shape, self._turn, self._latency, self._tags = cache.shape, turn, latency, tags
        self._id = len(cache.lines.response.payload.id)
        self._access = 2 + cache.shape.address_width
        super().__init__({
            "choice": In(self._access * len(cache.ports) + 2 + self._id), "illegal": Out(1),
            **{name: cache.signature.members[name].flip() for name in ("ports", "lines", "flush")}})

    def elaborate(self, platform):
        m = Module()
        shape, bits = self._shape, self._access
        outside = exact_log2(shape.line * shape.banks * shape.sets)  # bits below a tag
        illegal = 0
        for p, port in enumerate(self.ports):
            request, choice = port.request, self.choice.word_select(p, bits)
            offers, writes, address = choice[0], choice[1], choice[2:]
            held = Signal(name=f"held_{p}")
            kept = Signal(request.payload.shape(), name=f"kept_{p}")
            under_way = Signal(1 << len(request.payload.tag), name=f"under_way_{p}")
            free = ~under_way & -~under_way
            tag = 0
            for number in range(len(under_way)):
                tag |= Mux(free[number], number, 0)
            with m.If(held):
                m.d.comb += request.payload.eq(kept)
            with m.Else():
                m.d.comb += [request.payload.tag.eq(tag), request.payload.address.eq(address),
                             request.payload.write.eq(writes)]
            takes = request.valid & request.ready
            m.d.comb += request.valid.eq(held | offers)
            m.d.sync += [held.eq(request.valid & ~request.ready),
                         kept.as_value().eq(Mux(request.valid & ~request.ready,
                                                request.payload.as_value(), 0)),
                         under_way.eq((under_way | Mux(takes, 1 << request.payload.tag, 0))
                                      & ~Mux(port.response.valid,
                                             1 << port.response.payload.tag, 0))]
            illegal |= offers & (held | under_way.all() | ((address >> outside) >= self._tags))
            illegal |= ~offers & choice[1:].any()

        illegal |= choose_answers(m, self.lines, self.choice[-2 - self._id:], turn=self._turn,
                                  latency=self._latency)
        m.d.comb += self.illegal.eq(illegal)
        return m


def choose_answers(m, port, choice, *, turn, latency, name="below"):
    """A memory below a cache, in ``m``: takes and answers when ``choice`` says so.

    Its bits: whether a request is taken, whether the memory answers, and which read. Returns
    whether a choice is against the memory's times, or there is no such request.
    """
    request, response = port.request, port.response
    takes, answers, which = choice[0], choice[1], choice[2:]
    waited = Signal(range(turn), name=f"{name}_waited")
    m.d.comb += [request.ready.eq(takes), response.valid.eq(answers),
                 response.payload.id.eq(which)]
    m.d.sync += waited.eq(Mux(request.valid & ~takes, waited + 1, 0))
    illegal = takes & ~request.valid
    illegal |= request.valid & ~takes & (waited == turn - 1)
    illegal |= ~answers & which.any()
    for number in range(1 << len(which)):
        # cycles in which it has to be answered, this one included; 0: it is not under way
        left = Signal(range(latency + 1), name=f"{name}_left_{number}")
        now = Signal.like(left, name=f"{name}_now_{number}")
        asked = takes & ~request.payload.write & (request.payload.id == number)
        answered = answers & (which == number)
        m.d.comb += now.eq(Mux(asked, latency, left))
        m.d.sync += left.eq(Mux(answered | (now == 0), 0, now - 1))
        illegal |= answered & (now == 0)
        illegal |= ~answered & (now == 1)
    return illegal
