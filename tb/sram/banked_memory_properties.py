"""Bound checkers of the banked memory: they read its ports and drive none.

`BankedMemoryCheck` knows protocol and arbitration, at any size: it watches simulations.
`BankedMemoryDataCheck` follows one byte of each bank, whichever that is: a word
written is the word read. Each has a `...Proof`, which looks inside `BankedMemory` as well; they are
for induction. `BankedMemoryObserver` asserts nothing: it tells probes what a transaction meets.

Ref: memory-composition, section III.A.
"""

from amaranth.hdl import Assert, Cat, Cover, Module, Mux, Signal, Value

from cyclebound.tb.assumed import owes
from cyclebound.tb.watcher import Watcher

__all__ = ["BankedMemoryCheck", "BankedMemoryDataCheck", "BankedMemoryDataProof",
           "BankedMemoryObserver", "BankedMemoryProof"]


class _MemoryWatcher(Watcher):
    """Sees the memory's ports, bank by bank."""

    def __init__(self, target, **more):
        self.banks, self.requesters = target.banks, target.requesters
        self.words, self.word_bytes = target.words, target.word_bytes
        super().__init__(target, **more)

    def paths(self, bank):
        """All requesters' paths to a bank."""
        return [paths[bank] for paths in self.ports]


class BankedMemoryCheck(_MemoryWatcher):
    """Protocol and arbitration of a `BankedMemory`, bank by bank.

    Assumes that an access on offer stays until it is granted. Holds in any other traffic, from
    reset on. It keeps whole sets of requesters in one signal: that is what a simulator is quick at.

    Parameters
    ----------
    target : BankedMemory
        The memory, or a component with the same members and parameters.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    waited : list of Signal
        By bank: which asked in the cycle before, and was not granted.
    ahead : list of list of Signal
        By bank and requester: which have been granted since this one waits.
    aged : list of list of Signal
        By bank: which have waited for 1, 2, ... ``requesters`` - 1 cycles or more.
    """

    def __init__(self, target):
        super().__init__(target)
        count = self.requesters
        self.waited = [Signal(count, name=f"waited_{bank}") for bank in range(self.banks)]
        self.ahead = [[Signal(count, name=f"ahead_{bank}_{who}") for who in range(count)]
                      for bank in range(self.banks)]
        self.aged = [[Signal(count, name=f"aged_{bank}_{cycles}") for cycles in range(1, count)]
                     for bank in range(self.banks)]

    def elaborate(self, platform):
        m = Module()
        for bank in range(self.banks):
            self._watch(m, bank)
        return m

    def _watch(self, m, bank):
        paths, count = self.paths(bank), self.requesters
        asks, ready, waits, reads, answered, due = (
            Signal(count, name=f"{name}_{bank}")
            for name in ("asks", "ready", "waits", "reads", "answered", "due"))
        m.d.comb += [
            asks.eq(Cat(path.request.valid for path in paths)),
            ready.eq(Cat(path.request.ready for path in paths)),
            waits.eq(asks & ~ready),
            reads.eq(Cat(path.request.payload.write == 0 for path in paths)),
            answered.eq(Cat(path.response.valid for path in paths)),
        ]

        # An offer stays until it is granted.
        waited = self.waited[bank]
        m.d.sync += waited.eq(waits)
        m.d.sync += owes((waited & ~asks) == 0, f"bank {bank}: offer withdrawn")
        for who, path in enumerate(paths):
            payload = Value.cast(path.request.payload)
            offer = Signal(len(payload), name=f"offer_{bank}_{who}", reset_less=True)
            with m.If(waited[who]):
                m.d.sync += owes(offer == payload, f"bank {bank}: offer {who} changed")
            with m.Elif(asks[who]):
                m.d.sync += offer.eq(payload)

        m.d.sync += [
            Assert((ready & (ready - 1)) == 0, f"bank {bank}: more than one grant"),
            Assert((ready & ~asks) == 0, f"bank {bank}: grant without a request"),
            Assert(ready.any() | ~asks.any(), f"bank {bank}: idle while there is a request"),
        ]

        # The bound: no other has two turns meanwhile. With a grant in every cycle, I am granted
        # within as many cycles as requesters ask, I among them: Eq. 1 for one word.
        twice = []
        for who, ahead in enumerate(self.ahead[bank]):
            m.d.sync += ahead.eq(Mux(waits[who], ahead | ready, 0))
            twice.append(waits[who] & (ahead & ready).any())
        m.d.sync += Assert(~Cat(twice).any(), f"bank {bank}: overtaken twice by one requester")

        # What that comes to when all ask, by a clock of its own.
        longer = waits
        for aged in self.aged[bank]:
            m.d.sync += aged.eq(longer)
            longer = aged & waits
        m.d.sync += Assert(longer == 0, f"bank {bank}: not granted within {count} cycles")

        # A read is answered in the cycle after its grant, and nothing else ever is.
        m.d.sync += due.eq(ready & asks & reads)
        m.d.sync += [
            Assert((answered & ~due) == 0, f"bank {bank}: response without a read"),
            Assert((due & ~answered) == 0, f"bank {bank}: response is missing"),
        ]


class BankedMemoryProof(BankedMemoryCheck):
    """`BankedMemoryCheck`, with invariants about the arbiters inside a `BankedMemory`.

    The rank of a requester is how many come before it in the order that begins after the one
    served last. A waiting one moves forward in every cycle, so rank and cycles waited stay below
    ``requesters`` together; one that was served in the meantime comes after it. `Cover` shows that
    the bound is reached.

    Parameters
    ----------
    target : BankedMemory
        The memory itself.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target):
        super().__init__(target)
        self._srams = target.srams

    def elaborate(self, platform):
        m = super().elaborate(platform)
        for bank, sram in enumerate(self._srams):
            self._explain(m, bank, sram.arbiter)
        return m

    def _explain(self, m, bank, arbiter):
        count, mask = self.requesters, arbiter.mask

        m.d.sync += [
            Assert(arbiter.held == 0, "invariant: every grant is accepted"),
            Assert(~mask[0], "invariant: the mask leaves out requester 0"),
            Assert((mask[:-1] & ~mask[1:]) == 0, "invariant: the mask is a thermometer"),
        ]

        size = Signal(range(count + 1), name=f"size_{bank}")  # how many `mask` holds
        m.d.comb += size.eq(sum(mask))
        ranks = [Signal(range(count), name=f"rank_{bank}_{who}") for who in range(count)]
        for who, rank in enumerate(ranks):
            m.d.comb += rank.eq(Mux(mask[who], who + size - count, who + size))

        waited = self.waited[bank]
        for who, (rank, ahead) in enumerate(zip(ranks, self.ahead[bank], strict=True)):
            m.d.sync += Assert(waited[who] | (ahead == 0), "invariant: only who waits is overtaken")
            for other, place in enumerate(ranks):
                m.d.sync += Assert(~ahead[other] | (place > rank),
                                   "invariant: a served requester comes after a waiting one")
            for cycles, aged in enumerate(self.aged[bank], 1):
                m.d.sync += Assert(~aged[who] | (waited[who] & (rank + cycles < count)),
                                   "invariant: a waiting requester moves forward")

        longest = self.aged[bank][-1] if count > 1 else ~0
        granted = Cat(path.request.ready for path in self.paths(bank))
        m.d.sync += Cover((longest & granted).any(),
                          f"bank {bank}: a requester waits for {count} cycles")


    def explain(self, m, probes):
        """Say in ``m`` what the probes of one-word transactions count: cycles waited so far."""
        counters = iter(probes["transaction"])
        for who in range(self.requesters):
            for bank in range(self.banks):
                counter = next(counters)
                cycles = sum(aged[who] for aged in self.aged[bank])
                m.d.sync += [
                    Assert(counter.busy == self.waited[bank][who],
                           "invariant: the probe follows a waiting requester"),
                    Assert(~counter.busy | (counter.before == cycles),
                           "invariant: the probe counts the cycles waited"),
                ]


class BankedMemoryObserver(_MemoryWatcher):
    """The state in which a transaction finds its bank, and who asks while it lasts.

    Parameters
    ----------
    target : BankedMemory
        The memory.

    Members
    -------
    All ports of the target, as inputs.
    begins : In(requesters * banks)
        By requester and bank: a transaction begins in this cycle.

    Attributes
    ----------
    first : list of list of Signal
        By requester and bank: how many of the others that ask in this cycle the round robin serves
        before this one. With the number that ask, that is all of the arbiter's state.
    asking : list of list of Signal
        The least number of requesters that asked in any cycle of the transaction in which this one
        did, this cycle included.
    asked : list of list of Signal
        The same without this cycle, for a request that ends after its last grant.
    """

    def __init__(self, target):
        super().__init__(target, begins=target.requesters * target.banks)
        self.first, self.asking, self.asked = (
            [[Signal(range(self.requesters + 1), name=f"{name}_{who}_{bank}")
              for bank in range(self.banks)] for who in range(self.requesters)]
            for name in ("first", "asking", "asked"))

    def elaborate(self, platform):
        m = Module()
        count = self.requesters
        for bank in range(self.banks):
            paths = self.paths(bank)
            asks, ready = (Signal(count, name=f"{name}_{bank}") for name in ("asks", "ready"))
            # after reset the lowest is served first
            last = Signal(count, name=f"last_{bank}", init=1 << count - 1)
            m.d.comb += [asks.eq(Cat(path.request.valid for path in paths)),
                         ready.eq(asks & Cat(path.request.ready for path in paths))]
            with m.If(ready.any()):
                m.d.sync += last.eq(ready)
            number = Signal(range(count + 1), name=f"number_{bank}")
            m.d.comb += number.eq(sum(asks))
            for who in range(count):
                begins = self.begins[who * self.banks + bank]
                asking, asked = self.asking[who][bank], self.asked[who][bank]
                m.d.comb += [
                    self.first[who][bank].eq(sum(
                        Mux(last[served], sum(asks[(served + 1 + place) % count]
                                              for place in range((who - served - 1) % count)), 0)
                        for served in range(count))),
                    asking.eq(Mux(begins | asks[who] & (number < asked), number, asked)),
                ]
                m.d.sync += asked.eq(asking)
        return m


class BankedMemoryDataCheck(_MemoryWatcher):
    """One byte of each bank: what a read returns is what was written last.

    A prover chooses which byte, so a proof is one for every byte; in a simulation, in the first
    cycle after reset, ``ports[0][0]`` has its address as its payload's address, and its lane as its
    payload's data, whether it asks or not. Before its first write, the byte is unknown.

    Parameters
    ----------
    target : BankedMemory
        The memory, or a component with the same members and parameters.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    address, lane : Signal
        The byte that is followed.
    written : Signal
        Bit *b*: that byte of bank *b* has been written.
    shadow : list of Signal
        By bank: its value, once written.
    due : list of Signal
        By bank: which reads it in this cycle, once it has been written.
    """

    def __init__(self, target):
        super().__init__(target)
        self._address = self.any_one(self.ports[0][0].request.payload.address, "address")
        self._lane = self.any_one(Signal(range(self.word_bytes)), "lane")
        self.address, self.lane = self._address.kept, self._lane.kept
        self.written = Signal(self.banks)
        self.shadow = [Signal(8, name=f"shadow_{bank}") for bank in range(self.banks)]
        self.due = [Signal(self.requesters, name=f"due_{bank}") for bank in range(self.banks)]

    def elaborate(self, platform):
        m = Module()

        choice = self.ports[0][0].request.payload
        self._address.follow(m, choice.address)
        self._lane.follow(m, choice.data[:len(self.lane)])
        address, lane = self._address.now, self._lane.now

        for bank, shadow in enumerate(self.shadow):
            for who, path in enumerate(self.paths(bank)):
                access = path.request.payload
                hit = path.request.valid & path.request.ready & (access.address == address)
                due = self.due[bank][who]
                expected = Signal(8, name=f"expected_{bank}_{who}")
                with m.If(hit & access.write.bit_select(lane, 1)):
                    m.d.sync += [shadow.eq(access.data.word_select(lane, 8)),
                                 self.written[bank].eq(access.address < self.words)]
                m.d.sync += [due.eq(hit & (access.write == 0) & self.written[bank]),
                             expected.eq(shadow)]
                m.d.sync += Assert(
                    ~due | (path.response.data.word_select(self.lane, 8) == expected),
                    f"bank {bank}: requester {who} reads what was not written")

        return m


class BankedMemoryDataProof(BankedMemoryDataCheck):
    """`BankedMemoryDataCheck`, with the invariant that the shadow is the byte in the SRAM.

    It adds a read port to each bank's memory, to look at that byte in every cycle.

    Parameters
    ----------
    target : BankedMemory
        The memory itself; not elaborated yet.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target):
        super().__init__(target)
        self._ports = [sram.memory.read_port(domain="comb") for sram in target.srams]

    def elaborate(self, platform):
        m = super().elaborate(platform)
        for written, shadow, port in zip(self.written, self.shadow, self._ports, strict=True):
            m.d.comb += port.addr.eq(self.address)
            m.d.sync += Assert(~written | (port.data.word_select(self.lane, 8) == shadow),
                               "invariant: the shadow is the byte in the SRAM")
        m.d.sync += Cover(self.due[-1][-1], "a byte is read after it was written")
        return m
