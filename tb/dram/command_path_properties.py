"""No deadlock: every request is worked off within its issue delay, and the next one finds nothing.

Ref: Sim-D, section 3.2.2; golden/dram/worst_case.py for the delays.
"""

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Mux, Signal

from cyclebound.golden.dram.rules import CAS, Command
from cyclebound.golden.dram.worst_case import LEAD, longest_issue_delays
from cyclebound.tb.assumed import at_rest, owes
from cyclebound.tb.watcher import Watcher

__all__ = ["CommandPathCheck", "CommandPathProof", "CommandPathRequest"]


def _is(op, *commands):
    return Cat(op == command for command in commands).any()


class CommandPathCheck(Watcher):
    """Requests one after the other, each in its time.

    Assumes what the controller sees to: a request's bursts follow each other without a gap; the
    next one's come when nothing is under way and ``holdoff`` is `LEAD` at most, so that
    its first command is chosen as soon as it is legal; and no refresh is chosen in the cycle of a
    request's first burst. Otherwise all is free: bursts anywhere in the part and in any
    order, read or write, indexed or not, refreshes, pauses between requests.

    Parameters
    ----------
    target : CommandPath
        The path, or a component with the same members and its ``part``.
    most : int
        Bursts in a request, at most.
    less : int
        Cycles by which each request has to be faster than its bound: for showing that it is tight.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    free : Signal
        The next request may begin.
    age : Signal
        Cycles since a request's first burst, 0 if none is under way.
    count : Signal
        Its bursts so far.
    moved : Signal
        Its reads and writes that were on the pins before this cycle.
    open : Signal
        Banks that were opened and not closed before this cycle.
    """

    def __init__(self, target, *, most=4, less=0):
        self.part, self.most = target.part, most
        super().__init__(target)
        self.limits = {key: limit - less for key, limit in
                       longest_issue_delays(self.part, most).items()}
        longest = max(self.limits.values())
        self.free, self.age = Signal(), Signal(range(longest + 2))
        self.count, self.ended, self.kind = Signal(range(most + 1)), Signal(init=1), Signal(2)
        self.moved = Signal(range(most + 2))
        self.open = Signal(self.part.banks)

    def elaborate(self, platform):
        m = Module()
        burst, valid = self.bursts.payload, self.bursts.valid
        age, count, ended, kind, free = self.age, self.count, self.ended, self.kind, self.free
        now = Cat(burst.write, burst.indexed)
        begins = Signal()
        m.d.comb += [
            free.eq((age == 0) | (ended & self.idle & (self.holdoff <= LEAD))),
            begins.eq(free & valid),
        ]
        m.d.sync += [
            owes(~begins | (self.idle & (self.holdoff <= LEAD)), "a request begins too early"),
            owes(free | (valid == ~ended), "a burst is missing, or one too many"),
            Assume(~valid | (burst.address < self.part.bursts), "a burst beyond the part"),
            owes(~valid | burst.last | (Mux(begins, 0, count) < self.most - 1),
                   "a request is too long"),
            owes(~valid | begins | (now == kind), "bursts of a request disagree"),
            owes(~begins | ~self.refresh, "a refresh in the cycle in which a request begins"),
        ]
        with m.If(free):
            m.d.sync += [age.eq(valid), count.eq(valid), kind.eq(now)]
        with m.Else():
            m.d.sync += [age.eq(age + 1), count.eq(count + valid)]
        with m.If(valid):
            m.d.sync += ended.eq(burst.last)

        op, mine = self.command.op, Signal(self.part.banks)
        moved, opened = Signal.like(self.moved), Signal.like(self.open)  # with this cycle's
        m.d.comb += [
            mine.eq(1 << self.command.bank),
            moved.eq(self.moved + _is(op, *CAS)),
            opened.eq(Mux(_is(op, Command.ACT), self.open | mine, Mux(
                _is(op, Command.PRE, Command.RDA, Command.WRA), self.open & ~mine, self.open))),
        ]
        m.d.sync += [self.moved.eq(Mux(begins, 0, moved)), self.open.eq(opened)]

        limit = Signal.like(age)
        with m.Switch(Cat(kind, count)):
            for (bursts, write, indexed), cycles in self.limits.items():
                with m.Case(bursts << 2 | indexed << 1 | write):
                    m.d.comb += limit.eq(cycles)
        m.d.sync += [
            Assert(~valid | self.bursts.ready, "a burst has to wait"),
            Assert(free | ~ended | (age < limit), "a request is not done within its bound"),
            Assert(~free | (age == 0) | (moved == count), "a burst without its read or write"),
            Assert(~free | (opened == 0), "a bank stays open"),
        ]
        return m


class CommandPathProof(CommandPathCheck):
    """`CommandPathCheck`, with invariants: no state of a request changes the next.

    They speak of the cycles in which a request may begin, so that induction as deep as the longest
    bound has every request's beginning in sight.

    Parameters
    ----------
    target : CommandPath
        The path itself; of a part without a four-activate window.
    most, less
        As there.
    """

    def __init__(self, target, *, most=4, less=0):
        if target.part.nFAW:
            raise ValueError(f"{target.part.name}: nFAW must be 0, not {target.part.nFAW}")
        super().__init__(target, most=most, less=less)
        self._target = target

    def rested(self):
        """Yield the facts, with names, that hold about the path whenever a request may begin."""
        generator, arbiter, holdoff = self._target.generator, self._target.arbiter, self.holdoff
        yield self.idle, "idle"
        yield ~_is(self.command.op, Command.ACT, Command.RD, Command.WR), "what was open, is closed"
        yield ~generator.in_request, "no burst to come"
        yield ~(generator.held_valid | generator.work_valid), "no burst in the generator"
        yield generator.is_open == 0, "no bank stays open"
        yield (arbiter.precharged | arbiter.activated) == 0, "no head has begun"
        for number, queue in enumerate(generator.queues):
            yield ~queue.valid & (queue.waiting == 0), f"queue {number} is empty"
            yield queue.newest == queue.oldest, f"queue {number} begins where it ends"
        for name, counter in arbiter.counters.items():
            # reads and writes have to wait for their activate anyway
            left = holdoff + (self.part.nRCD if name.startswith("ccd") else 0)
            yield ~counter.start | (counter.cycles <= left), f"{name} starts in time"
            yield counter.ready | counter.start | (counter.left < left), f"{name} ends in time"

    def elaborate(self, platform):
        m = super().elaborate(platform)
        self._ends_at_rest(m)
        longest = max(self.limits.values())
        m.d.sync += [
            Assert((self.age == 0) == (self.count == 0), "invariant: bursts of a request"),
            Assert((self.age != 0) | self.ended, "invariant: all bursts have come"),
            Assert(self.ended | (self.age == self.count), "invariant: a burst in each cycle"),
            Assert(self._target.generator.in_request == ~self.ended, "invariant: within a request"),
            Assert(self.age <= longest, "invariant: age"),
        ]
        m.d.sync += Cover(self.ended & self.free & (self.age == longest),
                          "a request takes as long as any may")
        return m

    def _ends_at_rest(self, m):
        m.d.sync += [Assert(~self.free | fact, f"invariant: {name}")
                     for fact, name in self.rested()]


class CommandPathRequest(CommandPathProof):
    """One request, from any state that a request may begin in: a step of an induction by requests.

    Assumes in the first cycle that all registers of the path satisfy `rested`, and nothing more;
    asserts that a request that begins there keeps its bound, and that whenever the next one
    may begin `rested` holds again, likewise where no request begins. After reset, it holds
    as well: `CommandPathProof` from reset, in its first cycle. So every request keeps its bound.

    Parameters
    ----------
    target, most, less
        As there.
    """

    def __init__(self, target, *, most=4, less=0):
        super().__init__(target, most=most, less=less)
        self._first = Signal(init=1)

    def _ends_at_rest(self, m):
        at_rest(m, self._first, self.free, self.rested())

    def elaborate(self, platform):
        m = super().elaborate(platform)
        first = self._first
        m.d.sync += first.eq(0)
        m.d.sync += owes(first | ~(self.free & self.bursts.valid), "a second request")
        return m
