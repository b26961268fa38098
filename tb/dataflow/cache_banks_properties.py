"""Bound checker of a cache's banks: each request is answered once, in time, with the right word.

`CacheBanksCheck` knows the ports only, and watches simulations. `CacheBanksProof` adds what
induction needs to know about the inside of `CacheBanks`.
"""

from amaranth.hdl import Array, Assert, Cover, Module, Mux, Signal
from amaranth.utils import exact_log2

from cyclebound.tb.assumed import owes, stays
from cyclebound.tb.watcher import Watcher, claim_kept

__all__ = ["CacheBanksCheck", "CacheBanksProof"]


class CacheBanksCheck(Watcher):
    """No request is lost or answered twice, none waits too long, and a load has the last word.

    Of each port, the accesses of one tag are followed, and of all words, one. A prover chooses
    which, so a proof is one for all of them; in a simulation they are those of ``ports[0]``'s
    request in the first cycle after reset, whether it offers anything or not.

    Assumes that offers stay until they are taken, and that a tag under way is not offered again.

    Parameters
    ----------
    target : CacheBanks
        The banks, or a component with the same members and parameters.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    tag, address : Signal
        What is followed.
    under_way : list of Signal
        By port: a bit for each tag.
    written, word : Signal
        Whether the word has been written, and what it is.
    waits : list of Signal
        By port: cycles for which its request has been on offer before this one.
    """

    def __init__(self, target):
        super().__init__(target)
        self.miss = target.miss
        first = self.ports[0].request.payload
        self._tag, self._address = (self.any_one(value, name) for value, name in (
            (first.tag, "tag"), (first.address, "address")))
        self.tag, self.address = self._tag.kept, self._address.kept
        self.written, self.word = Signal(), Signal.like(first.data)
        self.under_way = [Signal(2**len(first.tag), name=f"under_way_{p}")
                          for p in range(len(self.ports))]
        self.waits = [Signal(range(len(self.ports) + 1), name=f"waits_{p}")
                      for p in range(len(self.ports))]

    def elaborate(self, platform):
        m = Module()
        count = len(self.ports)
        first = self.ports[0].request.payload
        self._tag.follow(m, first.tag)
        self._address.follow(m, first.address)
        tag, address = self._tag.now, self._address.now

        hits_word = Signal(count)  # which port has its access to the word taken in this cycle
        for p, (port, under_way) in enumerate(zip(self.ports, self.under_way, strict=True)):
            request, answer = port.request, port.response
            claim_kept(m, f"request {p}", request, stays)
            takes, ours, answered = (Signal(name=f"{name}_{p}")
                                     for name in ("takes", "ours", "answered"))
            m.d.comb += [
                takes.eq(request.valid & request.ready),
                ours.eq(takes & (request.payload.tag == tag)),
                answered.eq(answer.valid & (answer.payload.tag == tag)),
                hits_word[p].eq(takes & (request.payload.address == address)),
            ]
            entered, gone = (Signal.like(under_way, name=f"{name}_{p}")
                             for name in ("entered", "gone"))
            m.d.comb += [entered.eq(Mux(takes, 1 << request.payload.tag, 0)),
                         gone.eq(Mux(answer.valid, 1 << answer.payload.tag, 0))]
            m.d.sync += [
                under_way.eq(under_way & ~gone | entered),
                owes(~request.valid | ~under_way.bit_select(request.payload.tag, 1),
                       f"port {p}: a tag that is under way is offered"),
                Assert((gone & ~under_way) == 0, f"port {p}: an answer without a request"),
            ]

            # in time: cycles that the request has waited, and those since it was taken
            waits, age = self.waits[p], Signal(range(self.miss + 2), name=f"age_{p}")
            m.d.sync += [
                waits.eq(Mux(request.valid & ~request.ready, waits + 1, 0)),
                age.eq(Mux(ours, 1, Mux((age == 0) | answered, 0, age + 1))),
                Assert(waits < count, f"port {p}: not taken within {count} cycles"),
                Assert(age < self.miss, f"port {p}: not answered within {self.miss} cycles"),
            ]

            # with the right word: what it was when the load was taken
            loads, owed = Signal(name=f"loads_{p}"), Signal.like(self.word, name=f"owed_{p}")
            with m.If(ours):
                m.d.sync += [loads.eq(hits_word[p] & self.written & ~request.payload.write),
                             owed.eq(self.word)]
            m.d.sync += Assert(~(answered & loads) | (answer.payload.data == owed),
                               f"port {p}: another word than the last that was stored")
            with m.If(hits_word[p] & request.payload.write):
                m.d.sync += [self.written.eq(1), self.word.eq(request.payload.data)]
        m.d.sync += Assert((hits_word & (hits_word - 1)) == 0, "two accesses to one word at once")
        return m


class CacheBanksProof(CacheBanksCheck):
    """`CacheBanksCheck`, with invariants about the inside of `CacheBanks`.

    What is under way is somewhere, nothing else is, and none of it stays for ever; the followed
    word is in its bank. All the rest, such as what answers on their way say, has left after as many
    cycles as the longest path takes, so that an induction of that depth need not be told.

    Parameters
    ----------
    target : CacheBanks
        The banks themselves, not elaborated yet.
    """

    def __init__(self, target):
        super().__init__(target)
        self._target = target
        self._words = [memory.read_port(domain="comb") for memory in target.memories]
        self.ages = [[Signal(range(self.miss + 1), name=f"age_{p}_{tag}")
                      for tag in range(len(under_way))]
                     for p, under_way in enumerate(self.under_way)]  # cycles since it was taken

    def elaborate(self, platform):
        m = super().elaborate(platform)
        target = self._target
        started = Signal()
        m.d.sync += started.eq(1)
        for p, under_way in enumerate(self.under_way):
            places = [*target.asked[p], *target.late[p], *target.prompt[p],
                      self.ports[p].response.valid]
            m.d.sync += Assert(sum(under_way) == sum(places) + target.queues[p].level,
                               f"invariant: all that is under way at port {p} is somewhere")
            for tag, waits in enumerate(under_way):
                age = self.ages[p][tag]
                m.d.sync += [age.eq(Mux(waits, age + 1, 0)),
                             Assert(age + waits < self.miss,
                                    f"invariant: port {p} has tag {tag} answered in time")]
        bits = exact_log2(len(self._words))
        m.d.comb += [read.addr.eq(self.address[bits:]) for read in self._words]
        kept = Array(read.data for read in self._words)[self.address[:bits]]
        m.d.sync += [
            Assert(~started | ~self.written | (kept == self.word),
                   "invariant: the word is in its bank"),
            Cover(target.queues[0].level != 0, "a hit waits"),
        ]
        return m

    def explain(self, m, probes):
        """Say in ``m`` what the probes count: cycles on offer, and those since it was taken."""
        for p, counter in enumerate(probes["access"]):
            request, waits = self.ports[p].request, self.waits[p]
            offered, = counter.kept
            taken = self.under_way[p].bit_select(counter.name, 1)
            m.d.sync += [
                Assert(offered == (waits != 0), f"invariant: the probe of port {p} knows an offer"),
                Assert(~counter.busy | taken | ((waits != 0) & (counter.before == waits)
                                                & (request.payload.tag == counter.name)),
                       f"invariant: the probe of port {p} counts cycles on offer"),
                Assert(~counter.busy | ~taken | (counter.before <= len(self.ports)
                                                 + Array(self.ages[p])[counter.name]),
                       f"invariant: the probe of port {p} counts cycles since it was taken"),
            ]
