"""Page controller: executes one request after the other, each command as early as DDR3 allows.

Ref: memory-composition, sections IV.B and V.B.2.
"""

import itertools
from functools import cached_property

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dram.rules import Command
from cyclebound.golden.dram.timing import part_named
from cyclebound.hdl.dram.command_arbiter import CommandLayout
from cyclebound.hdl.dram.countdown import Countdown, Window
from cyclebound.hdl.dram.refresh_timer import RefreshTimer
from cyclebound.hdl.dram.reorder_core import RequestLayout
from cyclebound.hdl.parameters import check_integer

__all__ = ["BusLayout", "DeliverLayout", "PageController"]

_FETCH = 2  # cycles from a fetch to its beat on the bus


class BusLayout(data.StructLayout):
    """A beat of a request's burst: two columns of the bus in one DRAM clock."""

    def __init__(self, *, tag_bits):
        super().__init__({"valid": 1, "write": 1, "tag": tag_bits, "beat": 2})


class DeliverLayout(data.StructLayout):
    """A beat that was read, with its ``data``."""

    def __init__(self, *, tag_bits, beat_bits):
        super().__init__({"valid": 1, "tag": tag_bits, "beat": 2, "data": beat_bits})


def _turn(part):
    """From a read to a write."""
    return part.nCAS + part.nBURST + max(2, 1 + part.nWPRE) - part.nCWD


class PageController(wiring.Component):
    """Issues the precharge, activate, read or write of a request, none of them too early.

    Rows stay open (or, with ``close``, are closed after each burst by auto-precharge). A request
    is taken in the cycle before its read or write is on the pins; the next one may be looked at in
    the cycle after that. A refresh is done when as many are owed as may be postponed, between two
    requests, with all banks closed before.

    Latency: a request's first command is on the pins two cycles after it is on offer, if it is
    legal then. A beat that is read is delivered in the cycle after it was on the bus. Throughput:
    a burst in every four cycles.

    Parameters
    ----------
    part : Part or str
        The DRAM, or its name: one bank group, bursts of four clocks.
    tag_bits : int
        Width of a request's tag, at least 1.
    close : bool
        Close each row after its burst.
    postpone : int
        Refreshes that may be owed before one is done, 1 to 8.
    beat_bits : int
        Width of a beat on the data bus: 128 of one device of 64 bits, more of several in lockstep.

    Members
    -------
    sink : In(stream of RequestLayout)
        From the reorder core.
    command : Out(CommandLayout)
        The pins.
    bus : Out(BusLayout)
        The request whose beat is on the data bus in this cycle.
    fetch : Out(BusLayout)
        The beat to be written two cycles later; ``write`` is always 1.
    dq_in : In(beat_bits)
        What the devices drive: in a cycle in which ``bus`` has a read, that beat.
    deliver : Out(DeliverLayout)
        A beat that was read: its request's tag, its number, its data.
    closed : Out(1)
        All banks are closed, for a refresh.
    """

    def __init__(self, *, part, tag_bits, close=False, postpone=8, beat_bits=128):
        self.part = part = part_named(part)
        check_integer("tag bits", tag_bits, 1)
        check_integer("refreshes postponed", postpone, 1, 8)
        check_integer("bits of a beat", beat_bits, 1)
        if part.bank_groups != 1:
            raise ValueError(f"{part.name}: bank groups must be 1, not {part.bank_groups}")
        if part.nBURST != 4:
            raise ValueError(f"{part.name}: nBURST must be 4, not {part.nBURST}")
        if part.nCWD <= _FETCH:
            raise ValueError(f"{part.name}: nCWD must be at least {_FETCH + 1}, not {part.nCWD}")
        # one counter for reads and writes: between the two, the bus's turn takes at least as long
        most = min(_turn(part), part.nCWD + part.nBURST + part.nWTR_S)
        if part.nCCD_S > most:
            raise ValueError(f"{part.name}: nCCD must be at most {most}, the least distance of a "
                             f"read and a write, not {part.nCCD_S}")
        self.tag_bits, self.close, self.postpone = tag_bits, bool(close), postpone
        bus = BusLayout(tag_bits=tag_bits)
        super().__init__({
            "sink": In(stream.Signature(RequestLayout(part=part, tag_bits=tag_bits))),
            "command": Out(CommandLayout(part=part)), "bus": Out(bus), "fetch": Out(bus),
            "dq_in": In(beat_bits),
            "deliver": Out(DeliverLayout(tag_bits=tag_bits, beat_bits=beat_bits)),
            "closed": Out(1)})
        # the state; a proof has to speak of it
        self.is_open = Signal(part.banks)
        self.rows = Array(Signal(range(part.rows), name=f"row_{bank}")
                          for bank in range(part.banks))
        self.compared, self.hit, self.opened = Signal(), Signal(), Signal()  # of the request
        self.prea_legal, self.ref_legal = Signal(init=1), Signal(init=1)
        self.begun, self.refreshing = Signal(), Signal()  # a request has a command; a refresh has

    @cached_property
    def timer(self):  # made late: a controller that is only asked for its ports has none
        return RefreshTimer(interval=self.part.nREFI, most=self.postpone)

    @cached_property
    def counters(self):
        """The timing counters by name: one for the rank, or a list with one for each bank."""
        p = self.part
        written = p.nCWD + p.nBURST
        rank = {"ccd": max(p.nCCD_S, p.nBURST), "rrd": p.nRRD_S, "rfc": p.nRFC,
                "turn": _turn(p),
                "wtr": written + p.nWTR_S}
        bank = {"rcd": p.nRCD, "ras": p.nRAS, "rc": p.nRC, "rp": p.nRP, "rtp": p.nRTP,
                "wr": written + p.nWR}
        if self.close:
            bank |= {"rda": p.nRTP + p.nRP, "wra": written + p.nWR + p.nRP}
        counters = {name: Countdown(cycles=cycles) for name, cycles in rank.items()}
        return counters | {name: [Countdown(cycles=cycles) for _ in range(p.banks)]
                           for name, cycles in bank.items()}

    @cached_property
    def window(self):
        return Window(cycles=self.part.nFAW)

    def elaborate(self, platform):
        m = Module()
        banks, request = self.part.banks, self.sink.payload
        for name, counter in self.counters.items():
            counters = counter if isinstance(counter, list) else [counter]
            for number, one in enumerate(counters):
                m.submodules[f"{name}_{number}"] = one
        m.submodules.window, m.submodules.timer = self.window, self.timer

        # -- the request's row against the open one ----------------------------------------------
        is_open, rows = self.is_open, self.rows
        compared, hit, opened = self.compared, self.hit, self.opened
        looks = Signal()
        m.d.comb += looks.eq(self.sink.valid & ~compared)
        with m.If(looks):
            m.d.sync += [compared.eq(1), opened.eq(is_open.bit_select(request.bank, 1)),
                         hit.eq(rows[request.bank] == request.row)]

        # -- what is next, and whether it is legal -----------------------------------------------
        begun, refreshing, refresh = self.begun, self.refreshing, Signal()
        m.d.comb += refresh.eq(refreshing | (self.timer.urgent & ~begun))
        legal = self._legal(m, request.bank)
        do = {name: Signal(name=f"do_{name}") for name in ("act", "pre", "cas", "prea", "ref")}
        works = Signal()
        m.d.comb += [
            works.eq(compared & ~refresh),
            do["cas"].eq(works & opened & hit & Mux(request.write, legal["write"], legal["read"])),
            do["pre"].eq(works & opened & ~hit & legal["pre"]),
            do["act"].eq(works & ~opened & legal["act"]),
            do["prea"].eq(refresh & is_open.any() & legal["prea"]),
            do["ref"].eq(refresh & ~is_open.any() & legal["ref"]),
            self.sink.ready.eq(do["cas"]), self.timer.done.eq(do["ref"]),
            self.closed.eq(do["prea"] | do["ref"]),
        ]
        with m.If(do["act"]):
            m.d.sync += [opened.eq(1), hit.eq(1), begun.eq(1), rows[request.bank].eq(request.row)]
        with m.If(do["pre"]):
            m.d.sync += [opened.eq(0), begun.eq(1)]
        with m.If(do["cas"]):
            m.d.sync += [compared.eq(0), begun.eq(0)]
        with m.If(refresh):
            m.d.sync += [compared.eq(0), refreshing.eq(~do["ref"])]
        shut = do["pre"] | (do["cas"] & self.close)
        for bank in range(banks):
            mine = request.bank == bank
            with m.If(do["act"] & mine):
                m.d.sync += is_open[bank].eq(1)
            with m.If(do["prea"] | (shut & mine)):
                m.d.sync += is_open[bank].eq(0)

        self._start(m, do, request)
        self._pins(m, do, request)
        self._data(m, do, request)
        return m

    def _legal(self, m, bank):
        """Whether each kind of command to this bank may be decided on in this cycle."""
        c, closing = self.counters, ["rda", "wra"] if self.close else []

        def of(*names):
            return Cat(Cat(counter.ready for counter in c[name]).bit_select(bank, 1)
                       for name in names).all()

        def all_of(*names):
            return Cat(counter.soon for name in names for counter in c[name]).all()

        prea, ref = self.prea_legal, self.ref_legal  # what will be so in the next cycle
        m.d.sync += [prea.eq(all_of("ras", "rtp", "wr")), ref.eq(all_of("rp", "rc", *closing))]
        cas = of("rcd") & c["ccd"].ready
        return {"act": of("rp", "rc", *closing) & c["rrd"].ready & c["rfc"].ready
                & self.window.ready,
                "pre": of("ras", "rtp", "wr"), "read": cas & c["wtr"].ready,
                "write": cas & c["turn"].ready, "prea": prea, "ref": ref & c["rfc"].ready}

    def _start(self, m, do, request):
        """The command decided on starts its counters."""
        c, write = self.counters, request.write
        m.d.comb += [
            c["ccd"].start.eq(do["cas"]), c["turn"].start.eq(do["cas"] & ~write),
            c["wtr"].start.eq(do["cas"] & write), c["rrd"].start.eq(do["act"]),
            c["rfc"].start.eq(do["ref"]), self.window.start.eq(do["act"]),
        ]
        for bank in range(self.part.banks):
            mine = request.bank == bank
            starts = {"rcd": do["act"] & mine, "ras": do["act"] & mine, "rc": do["act"] & mine,
                      "rp": do["prea"] | (do["pre"] & mine), "rtp": do["cas"] & ~write & mine,
                      "wr": do["cas"] & write & mine}
            if self.close:
                starts |= {"rda": starts["rtp"], "wra": starts["wr"]}
            m.d.comb += [c[name][bank].start.eq(start) for name, start in starts.items()]

    def _pins(self, m, do, request):
        read, write = ((Command.RDA, Command.WRA) if self.close else (Command.RD, Command.WR))
        pins = self.command
        m.d.sync += [pins.op.eq(Command.NOP), pins.bank.eq(request.bank), pins.row.eq(request.row),
                     pins.column.eq(request.column)]
        for name, command in (("act", Command.ACT), ("pre", Command.PRE), ("prea", Command.PREA),
                              ("ref", Command.REF)):
            with m.If(do[name]):
                m.d.sync += pins.op.eq(command)
        with m.If(do["cas"]):
            m.d.sync += pins.op.eq(Mux(request.write, write, read))

    def _data(self, m, do, request):
        """Whose beats are on the bus: what was decided on, nCAS or nCWD and a cycle later."""
        p = self.part
        burst = data.StructLayout({"valid": 1, "tag": self.tag_bits})

        def delayed(name, start, cycles):
            stages = [Signal(burst, name=f"{name}_{cycle}") for cycle in range(cycles)]
            m.d.sync += [stages[0].valid.eq(start), stages[0].tag.eq(request.tag)]
            m.d.sync += [after.eq(before) for before, after in itertools.pairwise(stages)]
            return stages

        reads = delayed("read", do["cas"] & ~request.write, p.nCAS)
        writes = delayed("write", do["cas"] & request.write, p.nCWD)
        for port, choices in ((self.bus, ((reads[-1], 0), (writes[-1], 1))),
                              (self.fetch, ((writes[-1 - _FETCH], 1),))):
            with m.If(port.beat == 3):
                m.d.sync += port.valid.eq(0)
            m.d.sync += port.beat.eq(port.beat + 1)
            for stage, write in choices:
                with m.If(stage.valid):
                    m.d.sync += [port.valid.eq(1), port.write.eq(write), port.tag.eq(stage.tag),
                                 port.beat.eq(0)]
        m.d.sync += [
            self.deliver.valid.eq(self.bus.valid & ~self.bus.write),
            self.deliver.tag.eq(self.bus.tag), self.deliver.beat.eq(self.bus.beat),
            self.deliver.data.eq(self.dq_in),
        ]
