"""Bound checker of the command arbiter: one legal command at a time, and requests kept apart.

Ref: Sim-D, section 3.2.2; golden/dram/rules.py for what is legal.
"""

from amaranth.hdl import Assert, Assume, Cat, Const, Cover, Module, Mux, Signal, Value

from cyclebound.golden.dram.request import BEATS
from cyclebound.golden.dram.rules import CAS, Command
from cyclebound.tb.assumed import owes
from cyclebound.tb.dram.dq_scheduler_properties import overlapping
from cyclebound.tb.dram.timing_properties import DramTimingCheck
from cyclebound.tb.watcher import Watcher

__all__ = ["CommandArbiterActivates", "CommandArbiterBursts", "CommandArbiterCheck",
           "CommandArbiterProof"]


class CommandArbiterCheck(Watcher):
    """The arbiter's interface: what it guarantees, given what its neighbours guarantee.

    Assumes that a head stays until it is popped, and that a request begins when ``holdoff`` is 0.
    Refreshes are another block's duty: the arbiter has to keep their distances only.

    Parameters
    ----------
    target : CommandArbiter
        The arbiter, or a component with the same members and its ``part``.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target):
        self.part = target.part
        super().__init__(target)

    def _distances(self, m):
        m.submodules.timing = timing = DramTimingCheck(part=self.part, refreshed=False)
        m.d.comb += Value.cast(timing.command).eq(Value.cast(self.command))

    def elaborate(self, platform):
        m = Module()
        self._distances(m)

        # -- heads and pops --------------------------------------------------------------------
        valid = Cat(head.valid for head in self.heads)
        stays = Signal(self.part.banks)  # heads of the cycle before that were not popped
        m.d.sync += stays.eq(valid & ~self.pop)
        m.d.sync += owes((stays & ~valid) == 0, "a head left without being popped")
        for bank, head in enumerate(self.heads):
            shown = Signal.like(Value.cast(head.operation), name=f"operation_{bank}",
                                reset_less=True)
            m.d.sync += [
                shown.eq(head.operation),
                owes(~stays[bank] | (shown == Value.cast(head.operation)),
                       f"head {bank} changed"),
            ]
        m.d.sync += [
            Assert((self.pop & (self.pop - 1)) == 0, "more than one pop"),
            Assert((self.pop & ~valid) == 0, "pop of a bank without a head"),
        ]

        # -- commands --------------------------------------------------------------------------
        was_popped, was_refreshed, was_idle = Signal(), Signal(), Signal(init=1)
        m.d.sync += [was_popped.eq(self.pop.any()), was_refreshed.eq(self.refreshed),
                     was_idle.eq(self.idle)]
        op = self.command.op
        cas = Signal()
        m.d.comb += cas.eq(Cat(op == command for command in CAS).any())
        m.d.sync += [
            Assert((op == Command.REF) == was_refreshed, "REF without having been chosen"),
            Assert(~was_popped | cas | (op == Command.PRE), "pop without a command"),
            Assert(~cas | was_popped, "RD, RDA, WR, WRA without a pop"),
            Assert(self.issue.valid == cas, "issue is not RD, RDA, WR, WRA"),
            Assert(~cas | ((self.issue.payload.bank == self.command.bank)
                           & (self.issue.payload.write == ((op == Command.WR)
                                                           | (op == Command.WRA)))),
                   "issue speaks of another command"),
        ]

        # -- requests --------------------------------------------------------------------------
        m.d.sync += [
            Assert(self.idle == (~valid.any() & ~self.in_request),
                   "idle while a request is under way"),
            Assert(self.refreshed == (self.refresh & self.idle & (self.holdoff == 0)),
                   "refresh in the hold-off, or none after it"),
            owes(~was_idle | stays.any() | ~(valid.any() | self.in_request) | (self.holdoff == 0),
                 "a request begins in the hold-off"),
        ]
        return m


class CommandArbiterProof(CommandArbiterCheck):
    """`CommandArbiterCheck` without distances, and one command at most in a cycle: for induction.

    Parameters
    ----------
    target : CommandArbiter
        The arbiter, with its state ``choices``.
    """

    def __init__(self, target):
        super().__init__(target)
        self._choices = target.choices

    def _distances(self, m):
        pass

    def elaborate(self, platform):
        m = super().elaborate(platform)
        chosen = Signal(4 * self.part.banks + 1)
        was_chosen = Signal()
        m.d.comb += chosen.eq(Cat(*self._choices, self.refreshed))
        m.d.sync += [
            was_chosen.eq(chosen.any()),
            Assert((chosen & (chosen - 1)) == 0, "more than one command in a cycle"),
            Assert(~was_chosen | (self.command.op != Command.NOP), "a command is lost"),
            Assert(was_chosen | (self.command.op == Command.NOP) | (self.command.op == Command.ACT),
                   "a command of no one"),
            Cover(self.command.op == Command.REF, "a refresh"),
            Cover(self.issue.valid, "a read or write"),
        ]
        return m


class CommandArbiterActivates(Watcher):
    """If any bank may activate and no command goes before it, an ACT is issued; for induction.

    ACT is issued whichever bank wins, so one of them must.

    Parameters
    ----------
    target : CommandArbiter
        The arbiter, with its state ``choices`` and ``priority_mask``.
    """

    def __init__(self, target):
        super().__init__(target)
        self._choices, self._priority_mask = target.choices, target.priority_mask

    def elaborate(self, platform):
        m = Module()
        _, _, do_act, _ = self._choices
        chosen = Signal()
        m.d.sync += [
            chosen.eq(do_act.any()),
            Assert(chosen == (self.command.op == Command.ACT), "an activate lost, or of no one"),
            # or activates would have no order: each of three banks might wait for another
            Assert((self._priority_mask[:-1] & ~self._priority_mask[1:]) == 0,
                   "invariant: the priority mask is a thermometer"),
            Cover(chosen, "an activate"),
        ]
        return m


class CommandArbiterBursts(Watcher):
    """No two bursts meet on the data bus: what the DQ scheduler takes for granted.

    Assumes what generator and controller see to: a head stays until it is popped; all of a request
    have one direction, and another one begins after a cycle without any; and no bank is open by
    then, so that the first head of each bank has to activate. For induction.

    Bursts of one direction are kept apart by the rank's nCCD_S. A write comes at least nRCD after
    the last read of another request: its own request had to activate first.

    Parameters
    ----------
    target : CommandArbiter
        The arbiter; nCCD_S of its part is at least a burst's beats, and nRCD covers the turn of the
        bus from reads to writes.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    reads, writes : Signal
        Bit *n*: such a command was on the pins *n* + 1 cycles ago.
    first : Signal
        No head of this request has come yet.
    write : Signal
        The direction of the last head.
    fresh : Signal
        Banks without a read or write in this request.
    since : list of Signal
        By bank, cycles since its activate was chosen; nRCD at most.
    """

    def __init__(self, target):
        super().__init__(target)
        self.part, self._target = target.part, target
        part = self.part
        self.window = part.nCAS - part.nCWD + BEATS - 1  # of reads that a write might meet
        if part.nCCD_S < BEATS or part.nCAS < part.nCWD + BEATS - 1 or part.nRCD <= self.window:
            raise ValueError(f"{part.name}: nCCD_S, nCAS and nRCD must keep bursts apart")
        self.reads, self.writes = Signal(self.window), Signal(self.window)
        self.first, self.write = Signal(init=1), Signal()
        self.fresh = Signal(part.banks, init=(1 << part.banks) - 1)
        self.since = [Signal(range(part.nRCD + 1), init=part.nRCD, name=f"since_{bank}")
                      for bank in range(part.banks)]

    def elaborate(self, platform):
        m = Module()
        valid = Cat(head.valid for head in self.heads)
        writes = Cat(head.valid & head.operation.write for head in self.heads)
        write = Mux(valid.any(), writes.any(), self.write)
        reading = self.issue.valid & ~self.issue.payload.write
        writing = self.issue.valid & self.issue.payload.write
        m.d.sync += [self.reads.eq(Cat(reading, self.reads)),
                     self.writes.eq(Cat(writing, self.writes))]
        self._assumed(m, valid, writes, write)
        m.d.sync += [Assert(~overlap, says) for says, overlap in
                     overlapping(self.part, self.issue, self.reads, self.writes).items()]
        self._invariants(m, valid, write, Cat(reading, self.reads), Cat(writing, self.writes))
        return m

    def _assumed(self, m, valid, writes, write):
        """What generator and controller see to."""
        stays = Signal(self.part.banks)
        m.d.sync += [stays.eq(valid & ~self.pop), self.write.eq(write),
                     self.first.eq(self.idle | (self.first & ~valid.any()))]
        m.d.sync += [
            owes((stays & ~valid) == 0, "a head left without being popped"),
            Assume((writes == 0) | (writes == valid), "heads of a request disagree"),
            owes(self.first | (write == self.write), "the direction changes within a request"),
        ]
        for bank, head in enumerate(self.heads):
            shown = Signal.like(Value.cast(head.operation), name=f"operation_{bank}",
                                reset_less=True)
            m.d.sync += [
                shown.eq(head.operation),
                owes(~stays[bank] | (shown == Value.cast(head.operation)),
                       f"head {bank} changed"),
                *(rule(~(head.valid & self.fresh[bank] & this) | head.operation.precharge_only
                       | head.operation.activate, says)
                  for rule, this, says in (
                      (owes, ~stays[bank], f"bank {bank} is open before its request"),
                      (Assert, stays[bank], f"invariant: bank {bank} is closed at first"))),
            ]

    def _invariants(self, m, valid, write, last, last_writes):
        """Why bursts are apart. Bit n of ``last``: a read was chosen n + 1 cycles ago."""
        part, target = self.part, self._target
        did_cas, _, did_act, _ = target.choices
        m.d.sync += self.fresh.eq(Mux(self.idle, Const(-1, part.banks), self.fresh & ~did_cas))
        some = last[:BEATS] | last_writes[:BEATS]
        self._counts(m, "ccd_s", [some[cycles - 1] for cycles in range(1, part.nCCD_S)],
                     [~some[:part.nCCD_S - 1].any()])
        m.d.sync += [
            Assert((some & (some - 1))[:BEATS - 1] == 0, "invariant: bursts are apart"),
            Assert(~some[:part.nCCD_S - 1].any() | (target.legal_cas == 0),
                   "invariant: rank is held back"),
            Assert((target.activated & ~valid) == 0, "invariant: what was activated, is needed"),
            Assert(~self.first | (self.fresh == (1 << part.banks) - 1),
                   "invariant: a request without a head"),
            Assert(self.first | ~write | (self.fresh == (1 << part.banks) - 1)
                   | ~last[:self.window].any(), "invariant: first write after all reads"),
        ]
        for bank, since in enumerate(self.since):
            m.d.sync += since.eq(Mux(did_act[bank], 1, Mux(since == part.nRCD, since, since + 1)))
            self._counts(m, f"rcd_{bank}", [since == cycles for cycles in range(1, part.nRCD)],
                         [since == part.nRCD])
            waits = target.activated[bank] & self.fresh[bank] & write & ~self.first
            sooner = Cat(last[cycles - 1] & (cycles <= since)
                         for cycles in range(1, self.window + 1)).any()
            m.d.sync += [
                Assert((since != 0) & (since <= part.nRCD), f"invariant: activate of bank {bank}"),
                Assert(~target.legal_cas[bank] | (since == part.nRCD),
                       f"invariant: bank {bank} is held back"),
                Assert(~waits | ~sooner, f"invariant: bank {bank} is activated after all reads"),
            ]
        opened = (target.activated & self.fresh).any()
        m.d.sync += [Cover(opened & write, "a row is open for a write"),
                     Cover(opened & ~write, "a row is open for a read")]

    def _counts(self, m, name, ago, ready):
        """A counter's state: 1, 2, ... cycles after the command that starts it; and afterwards."""
        counter = self._target.counters[name]
        m.d.sync += Assert(counter.start == ago[0], f"invariant: start of {name}")
        for cycles, then in enumerate(ago[1:], 2):
            m.d.sync += Assert(~then | (~counter.ready
                                        & (counter.left == counter.cycles - cycles)),
                               f"invariant: {name} after {cycles} cycles")
        m.d.sync += Assert(~ready[0] | counter.ready, f"invariant: {name} ready")
