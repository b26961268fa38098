"""Bound checker of the DQ scheduler, clause by clause in every cycle; and what proves it.

`DqSchedulerCheck` knows the ports: it watches simulations. `DqSchedulerProof` adds invariants about
the inside of `DqScheduler`, for induction.
"""

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Signal

from cyclebound.golden.dram.request import BEATS, WORD_BITS
from cyclebound.tb.watcher import Watcher

__all__ = ["DqSchedulerCheck", "DqSchedulerProof", "overlapping"]


def overlapping(part, issue, reads, writes):
    """Whether the data of a command overlap those of one before it, by what is wrong.

    Bit *n* of ``reads`` and ``writes``: such a command was on the pins *n* + 1 cycles ago; at least
    ``nCAS - nCWD + 3`` bits. ``issue`` is the command that is there now.
    """
    read, write = issue.valid & ~issue.payload.write, issue.valid & issue.payload.write
    later = part.nCAS - part.nCWD  # by how much a read's data come later than a write's
    return {
        "a read's data overlap others":
            read & (reads[:BEATS - 1].any() | writes[:max(0, BEATS - 1 - later)].any()),
        "a write's data overlap others":
            write & (writes[:BEATS - 1].any()
                     | reads[max(0, later - BEATS):later + BEATS - 1].any()),
    }


class DqSchedulerCheck(Watcher):
    """When data move, and which: every cycle of every side follows from the commands so far.

    Assumes that the data of two commands never overlap on the bus.

    Parameters
    ----------
    target : DqScheduler
        The scheduler, or a component with the same members, ``part`` and ``fetch_latency``.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    reads, writes : Signal
        Bit *n*: such a command was on the pins *n* + 1 cycles ago.
    asked : list of Signal
        The enables of ``fetch``, 1, 2, ... cycles ago.
    """

    def __init__(self, target):
        super().__init__(target)
        self.part, self.latency = target.part, target.fetch_latency
        self.reads = Signal(self.part.nCAS + BEATS)
        self.writes = Signal(self.part.nCWD + BEATS)
        self.asked = [Signal.like(self.fetch.payload.enable, name=f"asked_{n}")
                      for n in range(self.latency + 1)]

    @staticmethod
    def during(commands, first):
        """Whether a command has one of its beats, if beat 0 belongs to bit ``first``."""
        return commands[first:first + BEATS].any()

    def elaborate(self, platform):
        m = Module()
        part, reads, writes = self.part, self.reads, self.writes
        read = self.issue.valid & ~self.issue.payload.write
        write = self.issue.valid & self.issue.payload.write
        m.d.sync += [reads.eq(Cat(read, reads)), writes.eq(Cat(write, writes))]

        m.d.sync += [Assume(~overlap, says) for says, overlap in
                     overlapping(part, self.issue, reads, writes).items()]

        delivers, drives, fetches = Signal(), Signal(), Signal()
        m.d.comb += [
            delivers.eq(self.during(reads, part.nCAS)),
            drives.eq(self.during(writes, part.nCWD - 1)),
            fetches.eq(self.during(writes, part.nCWD - 2 - self.latency)),
        ]
        m.d.sync += [
            Assert(self.deliver.valid == delivers, "deliver is not in the cycles of a read's data"),
            Assert(self.dq_out.valid == drives, "dq_out is not in the cycles of a write's data"),
            Assert(self.fetch.valid == fetches, "fetch is not in good time for a write's data"),
            Assert(drives | (self.dq_out.payload.mask == 0), "a word is written without a store"),
        ]

        # Words pass one register; a word is written if fetch and store both said so.
        m.d.sync += [later.eq(sooner) for sooner, later in
                     zip((self.fetch.payload.enable, *self.asked[:-1]), self.asked, strict=True)]
        arrived, answer = Signal.like(self.dq_in.as_value()), Signal.like(self.store.as_value())
        m.d.sync += [arrived.eq(self.dq_in), answer.eq(self.store)]
        m.d.sync += Assert(~delivers | (self.deliver.payload.words.as_value() == arrived),
                           "deliver holds other words than the pins")
        enable = answer[-len(self.store.enable):]
        mask, words = self.dq_out.payload.mask, self.dq_out.payload.words.as_value()
        m.d.sync += Assert(~drives | (mask == self.asked[-1] & enable),
                           "the mask is not that of fetch and store")
        for number, written in enumerate(mask):
            word, stored = (payload.word_select(number, WORD_BITS) for payload in (words, answer))
            m.d.sync += Assert(~(drives & written) | (word == stored),
                               f"word {number} on the pins is not that of store")
        return m


class DqSchedulerProof(DqSchedulerCheck):
    """`DqSchedulerCheck`, with invariants that tie each register to the commands so far.

    Parameters
    ----------
    target : DqScheduler
        The scheduler itself.
    """

    def __init__(self, target):
        super().__init__(target)
        self._target = target

    def elaborate(self, platform):
        m = super().elaborate(platform)
        target, part, reads, writes = self._target, self.part, self.reads, self.writes
        looked = {False: part.nCAS - target.lead, True: part.nCWD - target.lead}

        # Bits `n` whose bursts begin less than four cycles apart are never both set.
        starts = [(commands[n], delay - n) for commands, delay in
                  ((reads, part.nCAS), (writes, part.nCWD)) for n in range(len(commands))]
        clash = [one & other for number, (one, first) in enumerate(starts)
                 for other, second in starts[:number] if abs(first - second) < BEATS]
        m.d.sync += Assert(~Cat(clash).any(), "invariant: bursts do not overlap")

        for wait, place in enumerate(target.line):
            for direction, commands in ((False, reads), (True, writes)):
                index = looked[direction] - wait - 1
                waits = commands[index] if index >= 0 else 0
                m.d.sync += Assert(
                    (place.valid & (place.command.write == direction)) == waits,
                    "invariant: the line holds the commands not looked up")
        for direction, commands in ((False, reads), (True, writes)):
            at = looked[direction]
            m.d.sync += Assert(
                (target.fetching.valid & (target.fetching.write == direction)) == commands[at],
                "invariant: fetching")
            m.d.sync += Assert((target.moving & (target.write == direction))
                               == self.during(commands, at + 1), "invariant: moving")
            for beat in range(BEATS):
                m.d.sync += Assert(~commands[at + 1 + beat] | (target.beat == beat),
                                   "invariant: beat")
            for number, stage in enumerate(target.stages):
                flag = stage.write if direction else stage.read
                first = at + 2 + number
                if first + BEATS <= len(commands):
                    m.d.sync += Assert(flag == self.during(commands, first), "invariant: stages")
        for asked, stage in zip(self.asked, target.stages[1:], strict=True):
            m.d.sync += Assert(asked == stage.beat.enable, "invariant: asked")

        m.d.sync += Cover(self.deliver.valid & self.reads[:BEATS].any(), "words are delivered")
        m.d.sync += Cover(self.dq_out.valid & self.dq_out.payload.mask.any(), "words are written")
        return m
