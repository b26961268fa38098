"""Checker of the registers of a tile's jobs: responses, starts, and what registers show.

`JobRegistersCheck` reads ports alone, and has the addresses once more; `JobRegistersProof` knows
what the block keeps, for induction.
"""

from amaranth.hdl import Array, Assert, Cat, Cover, Module, Mux, Signal, Value

from cyclebound.tb.watcher import Watcher, claim_kept

__all__ = ["JobRegistersCheck", "JobRegistersProof"]

_CONTROL, _STATUS, _CYCLES, _WORD, _OPERANDS = 0, 4, 8, 12, 16
_START, _CLEAR = 1, 4


class JobRegistersCheck(Watcher):
    """Each read, LL and SC has one response, in the next cycle, and so has each write that is
    refused; no other write has one. They come in order, and stay.

    A START that is not refused starts the tile in the next cycle, and nothing else does; from then
    until the tile is idle no operand changes, no word comes and nothing starts. STATUS and CYCLES
    show what the ports have shown of the job.

    Attributes
    ----------
    takes, carried : Signal
        A request is taken; it is a write that is not refused.
    owes : Signal
        A response is on offer.
    failed, refused, cycles : Signal
        What STATUS and CYCLES are to show.
    """

    def __init__(self, target):
        super().__init__(target)
        self.many = target.many
        self.takes, self.carried, self.owes = Signal(), Signal(), Signal()
        self.failed, self.refused = Signal(), Signal()
        self.cycles = Signal(32)

    def elaborate(self, platform):
        m = Module()
        packet, answers = self.accesses.payload, self.answers
        address, data, busy = packet.address, packet.data, self.busy
        operand, plain, good = Signal(), Signal(), Signal()
        waits = self.word.valid & ~self.word.ready
        number = (address - _OPERANDS)[2:]
        m.d.comb += [
            self.takes.eq(self.accesses.valid & self.accesses.ready),
            operand.eq((address >= _OPERANDS) & (number < self.many) & (address[:2] == 0)),
            plain.eq(~packet.sync & ~packet.interrupt & (packet.strobes == 15)),
            self.carried.eq(self.takes & packet.write & good),
        ]
        with m.If(packet.write):
            m.d.comb += good.eq(plain & (
                ((address == _CONTROL) & (data == _START) & ~busy & ~waits)
                | (address == _STATUS) | (operand & ~busy)
                | ((address == _WORD) & ~busy & ~waits)))
        with m.Else():
            m.d.comb += good.eq(plain & (operand | address.matches(
                _CONTROL, _STATUS, _CYCLES, _WORD)))

        # What a read is to show.
        value, expected = Signal(32), Signal(32)
        with m.Switch(address):
            with m.Case(_STATUS):
                m.d.comb += value.eq(Cat(~busy, self.failed, self.refused))
            with m.Case(_CYCLES):
                m.d.comb += value.eq(self.cycles)
            with m.Default():
                if self.many:
                    m.d.comb += value.eq(Mux(operand, Array(self.operands)[number], 0))

        # Responses.
        write, error = Signal(), Signal()
        places = Cat(Value.cast(packet.initiator), Value.cast(packet.target))
        kept = Signal.like(places)
        with m.If(self.takes):
            m.d.sync += [
                self.owes.eq(~packet.write | packet.sync | ~good), error.eq(~good),
                write.eq(packet.write & ~packet.sync), kept.eq(places),
                expected.eq(Mux(good, value, 0)),
            ]
        with m.Elif(answers.ready):
            m.d.sync += self.owes.eq(0)
        offer = answers.payload
        m.d.sync += [
            Assert(answers.valid == self.owes, "a response is missing, or there is one too many"),
            Assert(~answers.valid | ((offer.error == error) & (offer.write == write)),
                   "an error without a reason, or none"),
            Assert(~answers.valid | (Cat(Value.cast(offer.initiator), Value.cast(offer.target))
                                     == kept), "another one's response"),
            Assert(~answers.valid | (offer.data == expected), "not what the register has"),
            Assert(~(self.takes & answers.valid) | answers.ready, "a response is lost"),
            Assert(self.accesses.ready == (~answers.valid | answers.ready),
                   "a request waits without a reason"),
        ]
        self._watch_job(m, address, data)
        m.d.sync += [Cover(answers.valid & answers.payload.error & answers.payload.write & busy,
                           "a write is refused while a job is under way")]
        return m

    def _watch_job(self, m, address, data):
        """What the tile is told, and what it tells."""
        busy, ends = self.busy, Signal()
        starts = Signal()
        looks = busy & ~self.start
        m.d.comb += [
            ends.eq(looks & self.idle),
            starts.eq(self.carried & (address == _CONTROL)),
        ]
        started, works = Signal(), Signal()
        m.d.sync += [
            started.eq(starts), works.eq(starts | (busy & ~ends)),
            Assert(self.start == started, "a start is lost, or there is one too many"),
            Assert(busy == works, "a job ends early, or does not end"),
            self.failed.eq(~starts & (self.failed | (looks & self.fault))),
            self.cycles.eq(Mux(starts, 0, Mux(busy & ~self.cycles.all(), self.cycles + 1,
                                              self.cycles))),
        ]
        with m.If(self.takes & self.accesses.payload.write & ~self.carried):
            m.d.sync += self.refused.eq(1)
        with m.Elif(self.carried & (address == _STATUS) & (data & _CLEAR).any()):
            m.d.sync += self.refused.eq(0)
        for number in range(self.many):
            before = Signal(32, name=f"before_{number}")
            m.d.sync += [before.eq(self.operands[number]),
                         Assert(self.operands[number] == before, f"operand {number} has changed")]
            with m.If(self.carried & (address == _OPERANDS + 4 * number)):
                m.d.sync += before.eq(data)
        claim_kept(m, "words", self.word, Assert)
        came, word, waits = Signal(), Signal(32), Signal()
        m.d.sync += [came.eq(self.carried & (address == _WORD)), word.eq(data),
                     waits.eq(self.word.valid & ~self.word.ready),
                     Assert(self.word.valid == (came | waits), "a word is lost, or one too many"),
                     Assert(~came | (self.word.payload == word), "another word")]


class JobRegistersProof(JobRegistersCheck):
    """`JobRegistersCheck` for induction: where the block keeps what the checker has seen."""

    def __init__(self, target):
        super().__init__(target)
        self._target = target

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.sync += [
            Assert(self._target.marks == Cat(self.failed, self.refused),
                   "invariant: marks"),
            Assert(self._target.cycles == self.cycles, "invariant: cycles"),
        ]
        return m

    def explain(self, m, probes):
        """Assert in ``m`` that each request that a probe counts has begun in the cycle before."""
        packet, answers = self.accesses.payload, self.answers
        asked, waits, ended, worked = Signal(), Signal(), Signal(), Signal()
        m.d.sync += [
            asked.eq(self.takes & (~packet.write | packet.sync)),
            waits.eq(answers.valid & ~answers.ready), worked.eq(self.busy),
            ended.eq(self.busy & ~self.start & self.idle),
        ]
        for name, began in (("access", asked), ("start", self.start), ("end", ended)):
            for counter in probes.get(name, ()):
                m.d.sync += [
                    Assert(~counter.busy | (began & (counter.before == 1)),
                           f"invariant: {name} has begun"),
                ]
                if name == "access":
                    m.d.sync += [Assert(counter.level == asked, "invariant: accesses"),
                                 Assert(counter.ahead == 0, "invariant: none is before it"),
                                 Assert(counter.kept[0] == waits, "invariant: an answer waits")]
                else:
                    m.d.sync += [Assert(counter.busy == began, f"invariant: {name}"),
                                 Assert((counter.ended == 0) & (counter.more == 0),
                                        f"invariant: single events of {name}")]
                if name == "end":
                    m.d.sync += Assert(counter.kept[0] == worked, "invariant: busy before")
