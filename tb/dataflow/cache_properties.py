"""Words through a cache: each load has the last word stored, and after a flush the memory below has
it.

Ref: SGMF, sections 5, 5.2 and 6.
"""

from dataclasses import dataclass

from amaranth.hdl import Array, Assert, Cat, Const, Cover, Module, Mux, Signal, Value
from amaranth.utils import exact_log2

from cyclebound.tb.assumed import owes, stays
from cyclebound.tb.watcher import Watcher, claim_kept

__all__ = ["CacheWordsProof", "LineCacheWordsProof"]


@dataclass(frozen=True)
class _SeenRequest:
    """A request as the proof sees it: its tag, if the followed word is there where it reads or
    writes, whether that is written, and with what, and whether it has an answer."""

    tag: Value
    here: Value
    writes: Value
    word: Value
    answered: Value


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
        self._banks = target.banks
        self._place_bits = exact_log2(len(self._memories[0].request.payload.mask))
        self.lied = Signal()  # the memory below has given another word than it had
        self._tag, self._address, self._initial = (
            self.any_one(value, name) for value, name in zip(
                self._first(), ("tag", "address", "initial"), strict=True))

    @property
    def _memories(self):
        return [self.lines]

    def _first(self):
        """A tag, a word's address, and a word, of the traffic."""
        first = self.ports[0].request.payload
        return first.tag, first.address, first.data

    def _access(self, request):
        return _SeenRequest(tag=request.tag, here=request.address == self._address.now,
                            writes=request.write, word=request.data, answered=Const(1))

    def _answer(self, answer):
        """Of an answer its tag, and the followed word."""
        return answer.tag, answer.data

    @property
    def _place(self):
        return self._address.now[:self._place_bits]

    @property
    def _line(self):
        return self._address.now[self._place_bits:]

    def elaborate(self, platform):
        m = Module()
        for choice, traffic in zip((self._tag, self._address, self._initial), self._first(),
                                   strict=True):
            choice.follow(m, traffic)
        word = Signal(len(self._initial.now))
        stored, stores, written = Signal.like(word), Signal(len(self.ports)), Signal()
        m.d.comb += word.eq(Mux(written, stored, self._initial.now))  # before this cycle
        answers = [self._port(m, number, port, word, stores)
                   for number, port in enumerate(self.ports)]
        m.d.sync += Assert((stores & (stores - 1)) == 0, "two stores of a word at once")
        for number, port in enumerate(self.ports):
            with m.If(stores[number]):
                m.d.sync += [written.eq(1), stored.eq(self._access(port.request.payload).word)]
        under_way = self._below(m, word)
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
        request, answer, access = port.request, port.response, self._access(port.request.payload)
        claim_kept(m, f"request {number}", request, stays)
        tag, here = self._tag.now, Signal(name=f"here_{number}")
        ways = Signal(2**len(tag), name=f"under_way_{number}")
        takes, ours, answered, loads = (
            Signal(name=f"{name}_{number}") for name in ("takes", "ours", "answered", "loads"))
        owed, changed = Signal.like(word, name=f"owed_{number}"), Signal(name=f"changed_{number}")
        given_tag, given = self._answer(answer.payload)
        gone = Mux(answer.valid, 1 << given_tag, 0)
        m.d.comb += [
            takes.eq(request.valid & request.ready), here.eq(takes & access.here),
            ours.eq(takes & access.answered & (access.tag == tag)),
            stores[number].eq(here & access.writes),
            answered.eq(answer.valid & (given_tag == tag) & ways.bit_select(tag, 1)),
        ]
        with m.If(ours):
            m.d.sync += [loads.eq(here & ~request.payload.write), owed.eq(word),
                         changed.eq(word != self._initial.now)]
        m.d.sync += [
            ways.eq((ways & ~gone) | Mux(takes & access.answered, 1 << access.tag, 0)),
            owes(~request.valid | ~access.answered | ~ways.bit_select(access.tag, 1),
                 f"port {number}: a tag that is under way is offered"),
            Assert((gone & ~ways) == 0, f"port {number}: an answer without a request"),
            Assert(~(answered & loads) | self.lied | (given == owed),
                   f"port {number}: another word than the last that was stored"),
        ]
        return answered & loads & changed & ~self.lied

    def _below(self, m, word):
        """The memories below, of which one has the word. Returns which reads are under way."""
        below, written, value = Signal.like(word), Signal(), Signal.like(word)
        m.d.comb += value.eq(Mux(written, below, self._initial.now))
        under_way = []
        for number, lines in enumerate(self._memories):
            asked = lines.request.payload
            takes = lines.request.valid & lines.request.ready
            with m.If(takes & asked.write & (asked.line == self._line)
                      & asked.mask.bit_select(self._place, 1)):
                m.d.sync += [written.eq(1), below.eq(Array(asked.data)[self._place])]
            under_way.append(self._memory(m, number, lines, value))
        m.d.sync += [
            Assert(~self.flushed | self.lied | (value == word),
                   "flushed, and the word is not below"),
            Cover(self.flushed & written & ~self.lied, "flushed, and the word was written below"),
        ]
        return Cat(under_way)

    def _memory(self, m, channel, lines, value):
        """One of them, where the word is ``value``. Returns which of its reads are under way."""
        request, response, asked = lines.request, lines.response, lines.request.payload
        claim_kept(m, f"line {channel}", request, Assert)
        takes = request.valid & request.ready
        begun = Mux(takes & ~asked.write, 1 << asked.id, 0)
        over = Mux(response.valid, 1 << response.payload.id, 0)
        under_way = Signal(1 << len(asked.id), name=f"lines_under_way_{channel}")
        m.d.sync += [
            under_way.eq((under_way | begun) & ~over),
            owes((over & ~(under_way | begun)) == 0, "a line that was not asked for"),
            Assert((begun & under_way) == 0, "a line's id is used again before it has come"),
        ]
        if (channels := len(self._memories)) > 1:
            m.d.sync += Assert(~request.valid | (asked.line % self._banks % channels == channel),
                               "a line of another channel")
        for number in range(len(under_way)):  # in the cycle in which it is asked for, too
            ours, kept, has = (Signal(name=f"ours_{channel}_{number}"),
                               Signal.like(value, name=f"kept_{channel}_{number}"),
                               Signal.like(value, name=f"has_{channel}_{number}"))
            with m.If(begun[number]):
                m.d.sync += [ours.eq(asked.line == self._line), kept.eq(value)]
            m.d.comb += has.eq(Mux(begun[number], value, kept))
            mine = Mux(begun[number], asked.line == self._line, ours)
            with m.If(response.valid & (response.payload.id == number) & mine
                      & (Array(response.payload.data)[self._place] != has)):
                m.d.sync += self.lied.eq(1)
        return under_way


class LineCacheWordsProof(CacheWordsProof):
    """As `CacheWordsProof`, where requests are of whole lines: a store writes the words of its
    mask, and only reads are answered. No line is asked of a memory that has not got it.

    Parameters
    ----------
    target : L2
        What is proved.

    Members
    -------
    All ports of the target, as inputs.
    """

    @property
    def _memories(self):
        return list(self.lines)

    def _first(self):
        first = self.ports[0].request.payload
        return first.id, Cat(first.mask[:self._place_bits], first.line), first.data[0]

    def _access(self, request):
        return _SeenRequest(
            tag=request.id, here=request.line == self._line,
            writes=request.write & request.mask.bit_select(self._place, 1),
            word=Array(request.data)[self._place], answered=~request.write)

    def _answer(self, answer):
        return answer.id, Array(answer.data)[self._place]
