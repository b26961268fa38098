"""Traffic and measurement for the DRAM controller, in hardware: every alignment of a tile.

Requests of one shape follow each other without a pause, each a step further than the one before.
What is measured is the issue delay, on the command pins: from a request's first command to the
first command after it, the next request's or a refresh.

It has no model of its own: what it must measure are the bounds in golden/dram/bounds.py.
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dram.request import COUNT_BITS
from cyclebound.golden.dram.rules import Command
from cyclebound.golden.harness.faults import DRAM_CONTROLLER
from cyclebound.hdl.dram.command_arbiter import CommandLayout
from cyclebound.hdl.dram.controller import DramController
from cyclebound.hdl.harness.checker_slot import CheckerSlot
from cyclebound.hdl.harness.latency_recorder import LatencyRecorder

__all__ = ["DramControllerHarness"]

_SETTINGS = ("lines", "dimension", "words", "count", "write", "first", "step", "requests", "limit")


class DramControllerHarness(wiring.Component):
    """The controller between its traffic and its recorder.

    Parameters
    ----------
    part, carry
        Of the controller.
    bins : int
        Of the histogram of issue delays.

    Members
    -------
    start : In(1)
        Map the buffer, and begin a measurement; all other inputs but ``histogram_address`` are
        read then.
    dimension, lines : In(20)
        Words in a line of the buffer, which begins at address 0, and its lines.
    words, count, write : In
        Shape of the requests: words in a line, lines, direction.
    first, step : In(20)
        Column of the first request, and from each to the next one.
    requests : In(20)
        Number of measured requests, at least 1. One more is made after them.
    limit : In(32)
        The bound, in cycles; 0: none.
    histogram_address : In(range(bins))
        Bin to read.
    done : Out(1)
        The measurement has ended.
    measured, minimum, maximum : Out(32)
        Requests measured, and their least and greatest issue delay.
    total : Out(64)
        Sum of their issue delays.
    worst : Out(20)
        Number of the first one with the greatest delay, from 0.
    histogram_count : Out(32)
        Requests in the bin addressed in the cycle before.
    elapsed : Out(32)
        Cycles from the first command of the first to that after the last measured one.
    refreshes : Out(32)
        Refreshes on the pins in that time.
    moved : Out(32)
        Words on the data bus in that time, of reads those delivered.
    failed : Out(len(DRAM_CONTROLLER))
        Sticky: faults that occurred.
    command : Out(CommandLayout)
        The pins, for a checker.
    """

    def __init__(self, *, part, carry=False, bins=2048):
        self.controller = DramController(part=part, carry=carry)
        self.part, self.bins = self.controller.part, bins
        super().__init__({
            "start": In(1), "dimension": In(COUNT_BITS), "lines": In(COUNT_BITS),
            "words": In(COUNT_BITS), "count": In(COUNT_BITS), "write": In(1),
            "first": In(COUNT_BITS), "step": In(COUNT_BITS), "requests": In(COUNT_BITS),
            "limit": In(32), "histogram_address": In(range(bins)),
            "done": Out(1), "measured": Out(32), "minimum": Out(32), "maximum": Out(32),
            "total": Out(64), "worst": Out(COUNT_BITS), "histogram_count": Out(32),
            "elapsed": Out(32), "refreshes": Out(32), "moved": Out(32),
            "failed": Out(len(DRAM_CONTROLLER)), "command": Out(CommandLayout(part=self.part)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.controller = controller = self.controller
        m.submodules.recorder = recorder = LatencyRecorder(depth=1, bins=self.bins, in_flight=2)
        m.submodules.slot = slot = CheckerSlot(count=len(DRAM_CONTROLLER))

        # Settings in registers: a simulator would work out all that depends on an input again.
        setting = {name: Signal(getattr(self, name).shape(), name=f"set_{name}")
                   for name in _SETTINGS}
        with m.If(self.start):
            m.d.sync += [kept.eq(getattr(self, name)) for name, kept in setting.items()]

        # -- start, map, run, end --------------------------------------------------------------
        mapping, running = Signal(), Signal()
        clearing, last = Signal(), Signal()
        made, completed = Signal(COUNT_BITS + 1), Signal(COUNT_BITS + 1)
        m.d.comb += [recorder.clear.eq(self.start),
                     last.eq(completed == setting["requests"] + 1)]
        with m.If(self.start):
            m.d.sync += [self.done.eq(0), clearing.eq(1), made.eq(0), completed.eq(0)]
        with m.Elif(clearing & ~recorder.clear & ~recorder.busy):
            m.d.sync += [clearing.eq(0), mapping.eq(1)]
        with m.Elif(running & last):
            m.d.sync += [running.eq(0), self.done.eq(1)]
        with m.If(controller.mapping.valid & controller.mapping.ready):
            m.d.sync += mapping.eq(0)
        with m.If(controller.mapped):
            m.d.sync += running.eq(1)
        m.d.comb += [
            controller.mapping.valid.eq(mapping),
            controller.mapping.payload.valid.eq(1),
            controller.mapping.payload.x.eq(setting["dimension"]),
            controller.mapping.payload.y.eq(setting["lines"]),
        ]

        # -- traffic ---------------------------------------------------------------------------
        column = Signal(COUNT_BITS)
        request = controller.request.payload
        m.d.comb += [
            controller.request.valid.eq(running & (made != setting["requests"] + 1)),
            request.x.eq(column), request.words.eq(setting["words"]),
            request.count.eq(setting["count"]), request.write.eq(setting["write"]),
            request.pitch.eq(setting["words"]),
            controller.store.enable.eq(-1),
        ]
        with m.If(controller.mapped):
            m.d.sync += column.eq(setting["first"])
        with m.If(controller.request.valid & controller.request.ready):
            # the last one is made twice: what follows it must not lie outside the buffer
            m.d.sync += made.eq(made + 1)
            with m.If(made != setting["requests"] - 1):
                m.d.sync += column.eq(column + setting["step"])
        with m.If(controller.completion.valid & running):
            m.d.sync += completed.eq(completed + 1)

        premature = self._measure(m, recorder, running)
        refused = running & controller.completion.valid & (controller.completion.payload != 0)
        m.d.comb += [
            slot.faults.eq(Cat(premature, refused, controller.late, recorder.violated,
                               recorder.overflow | recorder.underflow)),
            recorder.limit.eq(setting["limit"]),
            recorder.histogram_address.eq(self.histogram_address),
            self.histogram_count.eq(recorder.histogram_count),
            self.measured.eq(recorder.count), self.total.eq(recorder.sum),
            self.minimum.eq(recorder.minimum), self.maximum.eq(recorder.maximum),
            self.failed.eq(slot.failed), self.command.eq(controller.command),
        ]
        return m

    def _measure(self, m, recorder, running):
        """Issue delays, from the pins; and whether a request begins while a bank is open."""
        controller = self.controller
        pins = controller.command
        activates, refreshes = pins.op == Command.ACT, pins.op == Command.REF
        closes = ((pins.op == Command.PRE) | (pins.op == Command.RDA) | (pins.op == Command.WRA))
        opened = Signal(self.part.banks)
        for bank in range(self.part.banks):
            with m.If((pins.bank == bank) & (activates | closes)):
                m.d.sync += opened[bank].eq(activates)

        # The first activate after a completion opens the next request.
        fresh, under_way = Signal(init=1), Signal()
        begins, ends, premature = Signal(), Signal(), Signal()
        m.d.comb += [
            begins.eq(activates & fresh),
            ends.eq(under_way & (begins | refreshes)),
            premature.eq((begins | refreshes) & opened.any()),
        ]
        with m.If(begins):
            m.d.sync += fresh.eq(0)
        with m.If(controller.completion.valid):
            m.d.sync += fresh.eq(1)
        with m.If(begins):
            m.d.sync += under_way.eq(1)
        with m.Elif(ends):
            m.d.sync += under_way.eq(0)

        # `requests` are measured; the one after them is not
        left = Signal(COUNT_BITS)
        counted, begun = Signal(), Signal()
        m.d.comb += counted.eq(begins & running & (left != 0))
        m.d.sync += begun.eq(counted)  # a delay leaves out the cycle in which the next one begins
        m.d.comb += [recorder.accept.eq(begun),
                     recorder.complete.eq(ends & recorder.outstanding.any())]
        with m.If(self.start):
            m.d.sync += left.eq(self.requests)
        with m.Elif(counted):
            m.d.sync += left.eq(left - 1)

        # which one is the worst: the recorder shows its maximum two cycles later
        maximum = Signal(32)
        with m.If(self.start):
            m.d.sync += maximum.eq(0)
        with m.Else():
            m.d.sync += maximum.eq(recorder.maximum)
            with m.If(recorder.maximum != maximum):
                m.d.sync += self.worst.eq(recorder.count - 1)

        timed = Signal()  # between the first and the one after the last
        with m.If(self.start):
            m.d.sync += [self.elapsed.eq(0), self.refreshes.eq(0), self.moved.eq(0), timed.eq(0)]
        with m.Elif(begins & running):
            m.d.sync += timed.eq(left != 0)
        words = Mux(controller.dq_out.valid, controller.dq_out.payload.mask,
                    Mux(controller.deliver.valid, controller.deliver.payload.enable, 0))
        with m.If((timed & ~(begins & (left == 0))) | counted):
            m.d.sync += [self.elapsed.eq(self.elapsed + 1),
                         self.refreshes.eq(self.refreshes + refreshes),
                         self.moved.eq(self.moved + sum(words))]
        return premature
