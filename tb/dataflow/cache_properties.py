"""Words through a first-level cache: each load has the last word stored, and after a flush the
memory below has it.

Ref: SGMF, sections 5.2 and 6.
"""

from amaranth.hdl import Array, Assert, Cover, Module, Mux, Signal
from amaranth.utils import exact_log2

from cyclebound.tb.assumed import owes, stays
from cyclebound.tb.watcher import Watcher, claim_kept

__all__ = ["CacheWordsProof"]


class CacheWordsProof(Watcher):
    """Of all words, one is followed, and of each port, the accesses of one tag.

    A load's answer is the last word that was stored before the load was taken, or what the memory
    below began with; each access is answered once. Once the cache is flushed, no read of a line is
    under way, and the memory below has the word.

    Assumes that offers stay until they are taken; that a tag under way is not offered again; that a
    flush goes on until it is over; and that the memory answers each read once, whenever it likes.
    Nothing is claimed from the first read on that it does not answer with the word as it was
    written last when the read was taken.

    Parameters
    ----------
    target : Cache
        What is proved.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target):
        super().__init__(target)
        self._line = len(target.lines.request.payload.mask)
        self.lied = Signal()  # the memory below has given another word than it had
        first = self.ports[0].request.payload
        self._tag, self._address, self._initial = (self.any_one(value, name) for value, name in (
            (first.tag, "tag"), (first.address, "address"), (first.data, "initial")))

    def elaborate(self, platform):
        m = Module()
        ports, first = self.ports, self.ports[0].request.payload
        for choice, traffic in ((self._tag, first.tag), (self._address, first.address),
                                (self._initial, first.data)):
            choice.follow(m, traffic)
        initial = self._initial.now
        stored, stores = Signal.like(first.data), Signal(len(ports))
        written, word = Signal(), Signal.like(first.data)  # before this cycle
        m.d.comb += word.eq(Mux(written, stored, initial))
        answers = [self._port(m, number, port, word, stores)
                   for number, port in enumerate(ports)]
        m.d.sync += Assert((stores & (stores - 1)) == 0, "two stores of a word at once")
        for number, port in enumerate(ports):
            with m.If(stores[number]):
                m.d.sync += [written.eq(1), stored.eq(port.request.payload.data)]
        under_way = self._below(m, word, stores)
        flushing = Signal()
        m.d.sync += [
            flushing.eq(self.flush & ~self.flushed),
            stays(~flushing | self.flush, "a flush ends before it is over"),
            Assert(~self.flushed | ~under_way.any(), "flushed, and a line is under way"),
            *(Cover(answer, f"port {number}: a load has a word that was stored")
              for number, answer in enumerate(answers)),
        ]
        return m

    def _port(self, m, number, port, word, stores):
        """Returns whether a load of a word that was stored is answered."""
        request, answer = port.request, port.response
        claim_kept(m, f"request {number}", request, stays)
        tag, here = self._tag.now, Signal(name=f"here_{number}")
        ways = Signal(2**len(tag), name=f"under_way_{number}")
        takes, ours, answered, loads = (
            Signal(name=f"{name}_{number}") for name in ("takes", "ours", "answered", "loads"))
        owed, changed = Signal.like(word, name=f"owed_{number}"), Signal(name=f"changed_{number}")
        gone = Mux(answer.valid, 1 << answer.payload.tag, 0)
        m.d.comb += [
            takes.eq(request.valid & request.ready), ours.eq(takes & (request.payload.tag == tag)),
            here.eq(takes & (request.payload.address == self._address.now)),
            stores[number].eq(here & request.payload.write),
            answered.eq(answer.valid & (answer.payload.tag == tag)),
        ]
        with m.If(ours):
            m.d.sync += [loads.eq(here & ~request.payload.write), owed.eq(word),
                         changed.eq(word != self._initial.now)]
        m.d.sync += [
            ways.eq((ways & ~gone) | Mux(takes, 1 << request.payload.tag, 0)),
            owes(~request.valid | ~ways.bit_select(request.payload.tag, 1),
                 f"port {number}: a tag that is under way is offered"),
            Assert((gone & ~ways) == 0, f"port {number}: an answer without a request"),
            Assert(~(answered & loads) | self.lied | (answer.payload.data == owed),
                   f"port {number}: another word than the last that was stored"),
        ]
        return answered & loads & changed & ~self.lied

    def _below(self, m, word, stores):
        """The memory below. Returns which of its reads are under way."""
        lines = self.lines
        request, response = lines.request, lines.response
        asked, came = request.payload, response.payload
        place = self._address.now[:exact_log2(self._line)]
        line = self._address.now[exact_log2(self._line):]
        claim_kept(m, "a line", request, Assert)
        below, written = Signal.like(word), Signal()
        value, takes = Signal.like(word), Signal()
        m.d.comb += [value.eq(Mux(written, below, self._initial.now)),
                     takes.eq(request.valid & request.ready)]
        writes = takes & asked.write & (asked.line == line) & asked.mask.bit_select(place, 1)
        with m.If(writes):
            m.d.sync += [written.eq(1), below.eq(Array(asked.data)[place])]
        numbers = range(1 << len(asked.id))
        begun = Mux(takes & ~asked.write, 1 << asked.id, 0)
        over = Mux(response.valid, 1 << came.id, 0)
        under_way = Signal(len(numbers))
        m.d.sync += [
            under_way.eq((under_way | begun) & ~over),
            owes((over & ~(under_way | begun)) == 0, "a line that was not asked for"),
            Assert((begun & under_way) == 0, "a line's id is used again before it has come"),
        ]
        for number in numbers:  # in the cycle in which it is asked for, too
            ours, kept, has = (Signal(name=f"ours_{number}"),
                               Signal.like(word, name=f"kept_{number}"),
                               Signal.like(word, name=f"has_{number}"))
            with m.If(begun[number]):
                m.d.sync += [ours.eq(asked.line == line), kept.eq(value)]
            m.d.comb += has.eq(Mux(begun[number], value, kept))
            mine = Mux(begun[number], asked.line == line, ours)
            with m.If(response.valid & (came.id == number) & mine
                      & (Array(came.data)[place] != has)):
                m.d.sync += self.lied.eq(1)
        m.d.sync += [
            Assert(~self.flushed | self.lied | (value == word),
                   "flushed, and the word is not below"),
            Cover(self.flushed & written & ~self.lied, "flushed, and the word was written below"),
        ]
        return under_way
