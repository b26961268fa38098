"""DQ scheduler: moves the words of each burst between the data bus and the chip, on time.

Ref: Sim-D, section 3.2.2.
"""

from itertools import pairwise

from amaranth.hdl import Cat, Module, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.dram.request import (
    BEAT_WORDS,
    BEATS,
    FIFO_DEPTH,
    SLOTS,
    TARGET_BITS,
    WORD_BITS,
)
from cyclebound.golden.dram.timing import part_named
from cyclebound.hdl.dram.layouts import Beat, Descriptor, DriveLayout, FetchLayout, StoreLayout
from cyclebound.hdl.interfaces import Strobe
from cyclebound.hdl.parameters import check_integer

__all__ = ["DescribeLayout", "DqScheduler", "IssueLayout"]


class DescribeLayout(data.StructLayout):
    """A `Descriptor` and where to keep it: ``bank`` and ``slot``."""

    def __init__(self, *, banks):
        super().__init__({"bank": ceil_log2(banks), "slot": ceil_log2(SLOTS),
                          **{name: field.shape for name, field in data.Layout.cast(Descriptor)}})


class IssueLayout(data.StructLayout):
    """A read (RD, RDA) or ``write`` (WR, WRA) command, and where its descriptor is kept."""

    def __init__(self, *, banks):
        super().__init__({"write": 1, "bank": ceil_log2(banks), "slot": ceil_log2(SLOTS)})


class DqScheduler(wiring.Component):
    """Keeps a descriptor for each burst, and moves its four beats when the part demands it.

    Latency, for a command on the pins in cycle *t* and beat *k* (0 to 3): a read's words are on
    ``dq_in`` in cycle ``t + nCAS + k``, and on ``deliver`` one cycle later. A write's words are on
    ``dq_out`` in cycle ``t + nCWD + k``; ``fetch`` asks for them in cycle
    ``t + nCWD + k - fetch_latency - 1``, and ``store`` holds them ``fetch_latency`` cycles after
    that. So there is one register between ``store`` and the pins, and one between the pins and
    ``deliver``. Throughput: one command in 4 cycles, in any order of reads and writes.

    A command waits in a line of registers, as a bank and a slot, until its descriptor is looked
    up, ``lead = fetch_latency + 4`` cycles before its first beat is on the bus, whichever the
    direction: bursts that do not overlap on the bus do not overlap in here.

    Slots are used in turn in each bank. When a slot's next burst is described, at most one head
    and ``FIFO_DEPTH`` others wait in this bank, itself among them; so the
    ``SLOTS - FIFO_DEPTH - 1`` bursts that followed the slot's last one have had their commands,
    each nCCD_L after the one before. By then the last one's descriptor, needed for
    ``nCAS - lead`` cycles, has been read.

    Parameters
    ----------
    part : Part or str
        The device on the bus, or its name.
    fetch_latency : int
        Cycles from ``fetch`` to the chip's answer in ``store``, at least 1.

    Members
    -------
    describe : In(Strobe(DescribeLayout))
        Keeps a descriptor. A command may use it from the next cycle on.
    issue : In(Strobe(IssueLayout))
        A read or write command, in the cycle in which it is on the pins. Its four cycles of data
        must not overlap those of any other.
    dq_in : In(4 words)
        Words that the device drives.
    dq_out : Out(Strobe(DriveLayout))
        Words for the device. ``mask`` is 0 where nothing is written.
    deliver : Out(Strobe(Beat))
        Words read, for the chip.
    fetch : Out(Strobe(FetchLayout))
        Words to be written, which the chip is asked for.
    store : In(StoreLayout)
        Its answer. A word is written if both the descriptor and ``enable`` say so.

    Attributes
    ----------
    lead : int
        Cycles from a descriptor's lookup to the first beat on the bus.
    line : list of Signal
        ``line[n]`` is looked up in ``n`` cycles.
    fetching : Signal
        Whether a descriptor was looked up in the cycle before, and for which direction.
    moving, write, beat : Signal
        Whether, in which direction and which beat of the burst looked up last is taken apart.
    stages : list of Signal
        The beat in each of the cycles that follow.

    Raises
    ------
    TypeError
        For an object that is no part, or a latency that is no integer.
    ValueError
        For a part whose timing it does not support.
    """

    def __init__(self, *, part="ddr4-3200aa-x16", fetch_latency=2):
        part = part_named(part)
        check_integer("fetch latency", fetch_latency, 1)
        lead = fetch_latency + 4
        if part.nBURST != BEATS:
            raise ValueError(f"{part.name}: nBURST must be {BEATS}, not {part.nBURST}")
        if part.nCWD <= lead:
            raise ValueError(f"{part.name}: nCWD must be at least {lead + 1} for a fetch latency "
                             f"of {fetch_latency}, not {part.nCWD}")
        reuse = (SLOTS - FIFO_DEPTH - 1) * part.nCCD_L
        if reuse <= part.nCAS - lead:
            raise ValueError(f"{part.name}: nCAS must be less than {reuse + lead}, or a slot is "
                             f"used again while its burst waits, not {part.nCAS}")
        self.part, self.fetch_latency, self.lead = part, fetch_latency, lead
        super().__init__({
            "describe": In(Strobe(DescribeLayout(banks=part.banks))),
            "issue": In(Strobe(IssueLayout(banks=part.banks))),
            "dq_in": In(data.ArrayLayout(unsigned(WORD_BITS), BEAT_WORDS)),
            "dq_out": Out(Strobe(DriveLayout)),
            "deliver": Out(Strobe(Beat)),
            "fetch": Out(Strobe(FetchLayout)),
            "store": In(data.Layout.cast(StoreLayout)),
        })
        # the state; a proof has to speak of it
        waiting = data.StructLayout({"valid": 1, "command": IssueLayout(banks=part.banks)})
        self.line = [Signal(waiting, name=f"line_{n}") for n in range(part.nCAS - lead)]
        self.fetching = Signal(data.StructLayout({"valid": 1, "write": 1}))
        self.moving, self.write, self.beat = Signal(), Signal(), Signal(range(BEATS))
        stage = data.StructLayout({"read": 1, "write": 1, "beat": FetchLayout})
        self.stages = [Signal(stage, name=f"stage_{n}") for n in range(fetch_latency + 2)]

    def elaborate(self, platform):
        m = Module()

        m.submodules.memory = memory = Memory(shape=Descriptor, depth=self.part.banks * SLOTS,
                                              init=[])
        keep, look = memory.write_port(), memory.read_port()
        described = self.describe.payload
        m.d.comb += [
            keep.addr.eq(Cat(described.slot, described.bank)),
            *(keep.data[name].eq(described[name]) for name, _ in data.Layout.cast(Descriptor)),
            keep.en.eq(self.describe.valid),
        ]

        self._queue(m)
        self._start_beats(m, look)
        self._move_beats(m)
        return m

    def _queue(self, m):
        """The line of bursts, which moves up by one in each cycle.

        Writes join it further on: their data are due sooner. That place is empty, or the two bursts
        would meet on the bus.
        """
        line, issue, command = self.line, self.issue, self.issue.payload
        for ahead, next_one in pairwise(line):
            m.d.sync += ahead.eq(next_one)
        m.d.sync += [line[-1].valid.eq(issue.valid & ~command.write),
                     line[-1].command.eq(command)]
        with m.If(issue.valid & command.write):
            place = line[self.part.nCWD - self.lead - 1]
            m.d.sync += [place.valid.eq(1), place.command.eq(command)]

    def _start_beats(self, m, look):
        """The first burst's descriptor, and its beats from it.

        A memory's output is late in its cycle: the descriptor goes from there to a register, and
        stays for four cycles, one a beat.
        """
        first, descriptor = self.line[0], Signal(Descriptor)
        m.d.comb += [look.addr.eq(Cat(first.command.slot, first.command.bank)),
                     look.en.eq(first.valid)]
        m.d.sync += [self.fetching.valid.eq(first.valid),
                     self.fetching.write.eq(first.command.write)]
        with m.If(self.fetching.valid):
            m.d.sync += [descriptor.eq(look.data), self.moving.eq(1), self.beat.eq(0),
                         self.write.eq(self.fetching.write)]
        with m.Else():
            m.d.sync += self.beat.eq(self.beat + 1)
            with m.If(self.beat == BEATS - 1):
                m.d.sync += self.moving.eq(0)

        stages = self.stages
        m.d.sync += [
            stages[0].read.eq(self.moving & ~self.write),
            stages[0].write.eq(self.moving & self.write),
            stages[0].beat.enable.eq(descriptor.mask.word_select(self.beat, BEAT_WORDS)),
            stages[0].beat.targets.eq(Value.cast(descriptor.targets).word_select(
                self.beat, BEAT_WORDS * TARGET_BITS)),
            stages[0].beat.destination.eq(descriptor.destination),
            stages[0].beat.transform.eq(descriptor.transform),
        ]
        for later, stage in pairwise(stages):
            m.d.sync += stage.eq(later)

    def _move_beats(self, m):
        """A write's words are fetched and go to the pins; those of a read are delivered."""
        stages = self.stages
        # Writes: the answer comes when the fetch has come this far.
        m.d.comb += [self.fetch.valid.eq(stages[0].write), self.fetch.payload.eq(stages[0].beat)]
        answered = stages[self.fetch_latency]
        m.d.sync += [self.dq_out.valid.eq(answered.write), self.dq_out.payload.mask.eq(0)]
        with m.If(answered.write):
            m.d.sync += [self.dq_out.payload.words.eq(self.store.words),
                         self.dq_out.payload.mask.eq(answered.beat.enable & self.store.enable)]

        # Reads: the last stage holds the beat while its words are on the pins.
        arriving = stages[-1]
        m.d.sync += self.deliver.valid.eq(arriving.read)
        with m.If(arriving.read):
            beat = self.deliver.payload
            m.d.sync += [
                beat.words.eq(self.dq_in),
                beat.enable.eq(arriving.beat.enable),
                beat.targets.eq(arriving.beat.targets),
                beat.destination.eq(arriving.beat.destination),
                beat.transform.eq(arriving.beat.transform),
            ]
