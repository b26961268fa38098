"""Bound checker of a page controller: it keeps its part's rules, whatever it is asked for.

`PageCheck` knows only the ports; `PageProof` looks inside, and is proved by induction.
"""

from amaranth.hdl import Assert, Cat, Cover, Module, Mux, Signal, Value

from cyclebound.golden.dram.rules import CAS, READS, WRITES, Command
from cyclebound.tb.assumed import owes
from cyclebound.tb.dram.timing_properties import DramAgeCheck, DramTimingCheck
from cyclebound.tb.watcher import Watcher

__all__ = ["PageCheck", "PageProof", "SystemPagesProof"]

# by rule: the controller's counter that sees to it
_COUNTERS = {"nRC": "rc", "nRRD_S": "rrd", "nRP": "rp", "nRTP + nRP": "rda", "nWR + nRP": "wra",
             "nRFC": "rfc", "nRCD": "rcd", "nCCD_S": "ccd", "read to write": "turn",
             "nWTR_S": "wtr", "nRAS": "ras", "nRTP": "rtp", "nWR": "wr"}


class PageCheck(Watcher):
    """No command breaks a rule, and each read or write is the one that was asked for.

    Assumes that a request stays on offer until it is taken. Says nothing of the greatest distance
    between refreshes.

    Parameters
    ----------
    target : PageController
        The controller, or a component with the same members and its part.
    stays : Assert or owes
        Who owes that a request stays: `owes`, its surroundings.
    """

    def __init__(self, target, *, stays=owes):
        super().__init__(target)
        self._stays = stays
        self.part = target.part
        self.timing = self._timing()
        self.rows = [Signal(range(self.part.rows), name=f"row_{bank}")
                     for bank in range(self.part.banks)]
        self.waits = Signal()

    def _timing(self):
        return DramTimingCheck(part=self.part, refreshed=False)

    def elaborate(self, platform):
        m = Module()
        m.submodules.timing = timing = self.timing
        sink, pins = self.sink, self.command
        m.d.comb += timing.command.eq(pins)

        offer, waits, taken = Signal(len(sink.payload.as_value())), self.waits, Signal()
        m.d.sync += [
            offer.eq(sink.payload), waits.eq(sink.valid & ~sink.ready),
            taken.eq(sink.valid & sink.ready),
            self._stays(~waits | (sink.valid & (offer == sink.payload.as_value())),
                 "request withdrawn or changed"),
        ]
        asked = Signal(sink.payload.shape())
        writes = (pins.op == Command.WR) | (pins.op == Command.WRA)
        moves = Signal()
        m.d.comb += [asked.eq(offer), moves.eq(sum(pins.op == command for command in CAS))]
        m.d.sync += [
            Assert(moves == taken, "a read or write for each request that is taken"),
            Assert(~moves | ((pins.bank == asked.bank) & (pins.column == asked.column)
                             & (writes == asked.write)), "another burst than the one asked for"),
        ]
        for bank, row in enumerate(self.rows):
            with m.If((pins.op == Command.ACT) & (pins.bank == bank)):
                m.d.sync += row.eq(pins.row)
            m.d.sync += Assert(~(moves & (pins.bank == bank)) | (row == asked.row),
                               f"another row of bank {bank} is open")
        m.d.sync += Cover(moves, "a burst is read or written")
        return m


class PageProof(PageCheck):
    """`PageCheck`, with invariants: a command's age is what the controller's counters have left.

    Parameters
    ----------
    target : PageController
        The controller itself.
    stays
        As there.
    """

    def __init__(self, target, *, stays=owes):
        super().__init__(target, stays=stays)
        self._target = target
        self._never = ((Command.RD, Command.WR) if target.close else (Command.RDA, Command.WRA))

    def _timing(self):
        return DramAgeCheck(part=self.part)

    def elaborate(self, platform):
        m = super().elaborate(platform)
        target, pins, request = self._target, self.command, self.sink.payload
        m.d.sync += [Assert(pins.op != command, f"invariant: no {command.name}")
                     for command in self._never]
        for (level, before), store in self.timing.stores.items():
            self._ages(m, level, before, *store)
        self._bus(m)
        window, activates = target.window, self.timing.past
        if len(activates):
            now = pins.op == Command.ACT
            m.d.sync += [
                Assert(window.past == Cat(now, activates)[:len(activates)], "invariant: window"),
                Assert(window.in_window == sum(window.past), "invariant: in the window"),
                Assert(window.ready == (window.in_window < window.most), "invariant: window ready")]

        c = target.counters
        prea, ref = (Cat(countdown.ready for name in names for countdown in c[name]).all()
                     for names in (("ras", "rtp", "wr"),
                                   ("rp", "rc", *(["rda", "wra"] if target.close else []))))
        is_open = target.is_open
        asked = Signal.like(request.row)  # the row that is open in the request's bank
        m.d.comb += asked.eq(target.rows[request.bank])
        m.d.sync += [
            Assert(target.prea_legal == prea, "invariant: all banks may be precharged"),
            Assert(target.ref_legal == ref, "invariant: all banks are closed for long enough"),
            Assert(~is_open.any() | c["rfc"].ready, "invariant: open banks are refreshed"),
            Assert(self.timing.opened == is_open, "invariant: open banks"),
            Assert(~target.compared | self.waits, "invariant: a compared request waits"),
            Assert(~target.compared | (target.opened == is_open.bit_select(request.bank, 1)),
                   "invariant: its bank"),
            Assert(~(target.compared & target.opened) | (target.hit == (asked == request.row)),
                   "invariant: its row"),
        ]
        for bank, row in enumerate(self.rows):
            opens = (pins.op == Command.ACT) & (pins.bank == bank)
            m.d.sync += Assert(~is_open[bank] | (Mux(opens, pins.row, row) == target.rows[bank]),
                               f"invariant: row of bank {bank}")
        return m

    def _ages(self, m, level, before, record, ages, after):
        """A counter has as much left as the age of the command lacks."""
        longest = max(delay for _, delay in after)
        m.d.sync += [Assert((age != 0) & (age <= longest), "invariant: an age") for age in ages]
        for (name, delay), following in after.items():
            if all(command in self._never for command in before):
                m.d.sync += [Assert(age >= delay, f"invariant: never {name}") for age in ages]
                continue
            if all(command in self._never for command in following):
                continue
            counters = self._target.counters[_COUNTERS[name]]
            counters = counters if isinstance(counters, list) else [counters]
            for n, age in enumerate(ages):
                of = [counters[n]] if level == "bank" and len(counters) > 1 else counters
                for when, lacks in ((record[n], delay - 2), (age < delay - 1, delay - 2 - age)):
                    left = Cat(~countdown.ready & (countdown.left >= lacks) for countdown in of)
                    # what closes all banks is waited for in each, anything else in one of them
                    some = left.all() if before == (Command.PREA,) else left.any()
                    m.d.sync += Assert(~when | some, f"invariant: {level} {name}")

    def _bus(self, m):
        """Data are on the bus no longer than the last bursts say."""
        part, stores = self.part, self.timing.stores
        until = [(stores["rank", commands][1][0], cycles + part.nBURST - 1)
                 for commands, cycles in ((READS, part.nCAS), (WRITES, part.nCWD))]
        for ahead, bit in enumerate(self.timing.busy):
            m.d.sync += Assert(~bit | Cat(age + ahead <= last for age, last in until).any(),
                               "invariant: data on the bus")


class SystemPagesProof(Watcher):
    """No command on a system's pins breaks a rule, and each read or write is the one that its page
    controller was asked for; whatever the system does, which keeps the controller's requests.

    Parameters
    ----------
    target : wiring.Component
        The system, not elaborated yet.
    pages : PageController
        The controller in it.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target, pages):
        super().__init__(target)
        self._pages = pages
        self.check = PageProof(pages, stays=Assert)

    def elaborate(self, platform):
        m = Module()
        m.submodules.check = check = self.check
        for path, _, value in self._pages.signature.flatten(self._pages):
            port = check
            for step in path:
                port = getattr(port, step)
            m.d.comb += port.eq(value)
        m.d.sync += Assert(Value.cast(self.command) == Value.cast(self._pages.command),
                           "other pins than the controller's")
        return m
