"""What a page controller must keep: the rules of its part, whatever it is asked for."""

from amaranth.hdl import Assert, Assume, Cover, Module, Signal

from cyclebound.golden.dram.rules import CAS, Command
from cyclebound.tb.dram.timing_properties import DramTimingCheck
from cyclebound.tb.watcher import Watcher

__all__ = ["PageCheck"]


class PageCheck(Watcher):
    """No command breaks a rule, and each read or write is the one that was asked for.

    Assumes that a request stays on offer until it is taken. Says nothing of the greatest distance
    between refreshes.

    Parameters
    ----------
    target : PageController
        The controller, or a component with the same members and its part.
    """

    def __init__(self, target):
        super().__init__(target)
        self.part = target.part

    def elaborate(self, platform):
        m = Module()
        m.submodules.timing = timing = DramTimingCheck(part=self.part, refreshed=False)
        sink, pins = self.sink, self.command
        m.d.comb += timing.command.eq(pins)

        offer, waits, taken = Signal(len(sink.payload.as_value())), Signal(), Signal()
        m.d.sync += [
            offer.eq(sink.payload), waits.eq(sink.valid & ~sink.ready),
            taken.eq(sink.valid & sink.ready),
            Assume(~waits | (sink.valid & (offer == sink.payload.as_value())),
                   "request withdrawn or changed"),
        ]
        asked = Signal(sink.payload.shape())
        writes = (pins.op == Command.WR) | (pins.op == Command.WRA)
        moves = Signal()
        m.d.comb += [asked.eq(offer), moves.eq(sum(pins.op == each for each in CAS))]
        m.d.sync += [
            Assert(moves == taken, "a read or write for each request that is taken"),
            Assert(~moves | ((pins.bank == asked.bank) & (pins.column == asked.column)
                             & (writes == asked.write)), "another burst than the one asked for"),
        ]
        rows = [Signal.like(pins.row, name=f"row_{bank}") for bank in range(self.part.banks)]
        for bank, row in enumerate(rows):
            with m.If((pins.op == Command.ACT) & (pins.bank == bank)):
                m.d.sync += row.eq(pins.row)
            m.d.sync += Assert(~(moves & (pins.bank == bank)) | (row == asked.row),
                               f"another row of bank {bank} is open")
        m.d.sync += Cover(moves & writes, "a burst is written")
        return m
