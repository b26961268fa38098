"""Latency of requests, measured in hardware."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.parameters import check_integer

__all__ = ["LatencyRecorder"]


class LatencyRecorder(wiring.Component):
    """Measures how long requests take that complete in the order of their acceptance.

    A latency counts both ends: ``complete - accept + 1``, so that a request completed in the
    cycle of its acceptance takes 1. Latency of the recorder itself: ``overflow``, ``underflow``
    and ``outstanding`` follow 1 cycle after the strobe, all results 2 cycles after it, and they
    can be read at any time. Throughput: one request accepted and one completed per cycle.

    Cycles are counted from reset, the first one being 0; ``clear`` does not restart the count.

    Parameters
    ----------
    depth : int
        Requests whose times are kept one by one, at least 1.
    bins : int
        Bins of the histogram, at least 2. Bin *n* counts requests of latency *n*, the last bin
        those of ``bins - 1`` and above.
    cycle_width : int
        Bits of the cycle counter, at least 2; a run is shorter than ``2**cycle_width`` cycles.
    in_flight : int
        Requests that can be outstanding at once, at least 1.

    Members
    -------
    accept : In(1)
        A request is accepted in this cycle.
    complete : In(1)
        The oldest request, maybe the one accepted in this cycle, is complete in this cycle.
    limit : In(cycle_width)
        Greatest latency allowed; 0: any. To be changed only while nothing is outstanding.
    clear : In(1)
        Forget everything but the stamps memory, which ``count`` makes void.
    busy : Out(1)
        The histogram is being cleared: for ``bins`` cycles after ``clear``. An accept or
        complete then, or together with ``clear``, is a fault.
    cycle : Out(cycle_width)
        The current cycle.
    outstanding : Out(range(in_flight + 1))
        Requests accepted and not complete yet.
    overflow : Out(1)
        Sticky fault: a request was accepted and could not be followed. Results are void.
    underflow : Out(1)
        Sticky fault: a completion without a request. Results are void.
    count : Out(cycle_width)
        Requests completed.
    sum : Out(2 * cycle_width)
        Sum of their latencies.
    minimum : Out(cycle_width)
        Their least latency; 0 before the first.
    maximum : Out(cycle_width)
        Their greatest latency.
    worst_accept : Out(cycle_width)
        Cycle in which the first request with the greatest latency was accepted.
    violated : Out(1)
        Sticky: a request was under way for more than ``limit`` cycles, complete or not.
    histogram_address : In(range(bins))
        Bin to read.
    histogram_count : Out(cycle_width)
        Requests in the bin that was addressed in the cycle before.
    stamp_address : In(range(depth))
        Request to read, 0 being the first; known if below ``count``.
    stamp_accept : Out(cycle_width)
        Cycle in which the request addressed in the cycle before was accepted.
    stamp_complete : Out(cycle_width)
        Cycle in which it was complete.
    """

    def __init__(self, *, depth, bins, cycle_width=32, in_flight=16):
        check_integer("Stamp depth", depth, least=1)
        check_integer("Bin count", bins, least=2)
        check_integer("Cycle counter width", cycle_width, least=2)
        check_integer("In-flight limit", in_flight, least=1)
        self.depth = depth
        self.bins = bins
        self.cycle_width = cycle_width
        self.in_flight = in_flight
        super().__init__({
            "accept": In(1),
            "complete": In(1),
            "limit": In(cycle_width),
            "clear": In(1),
            "busy": Out(1),
            "cycle": Out(cycle_width),
            "outstanding": Out(range(in_flight + 1)),
            "overflow": Out(1),
            "underflow": Out(1),
            "count": Out(cycle_width),
            "sum": Out(2 * cycle_width),
            "minimum": Out(cycle_width),
            "maximum": Out(cycle_width),
            "worst_accept": Out(cycle_width),
            "violated": Out(1),
            "histogram_address": In(range(bins)),
            "histogram_count": Out(cycle_width),
            "stamp_address": In(range(depth)),
            "stamp_accept": Out(cycle_width),
            "stamp_complete": Out(cycle_width),
        })

    def elaborate(self, platform):
        m = Module()

        m.d.sync += self.cycle.eq(self.cycle + 1)

        # First stage: match each completion with its request, and see how old the oldest is.
        # The results below work from registers, one cycle later.
        active = ~self.clear & ~self.busy
        waiting = Signal()   # a request was outstanding
        measured = Signal()  # and was complete
        cleared = Signal()
        oldest = self._match(m, active)
        stamp = Signal(data.StructLayout({"accept": self.cycle_width,
                                          "complete": self.cycle_width}))
        latency = Signal(self.cycle_width)
        expected = (self.outstanding != 0) | self.accept
        m.d.sync += [
            waiting.eq(active & expected),
            measured.eq(active & expected & self.complete),
            cleared.eq(self.clear),
            stamp.accept.eq(oldest),
            stamp.complete.eq(self.cycle),
            latency.eq(self.cycle - oldest + 1),
        ]

        self._summarize(m, waiting, measured, cleared, stamp, latency)
        self._sort(m, measured, latency)

        # Times of the first requests.
        m.submodules.stamps = stamps = Memory(shape=stamp.shape(), depth=self.depth, init=[])
        write = stamps.write_port()
        read = stamps.read_port()
        m.d.comb += [
            write.en.eq(measured & (self.count < self.depth)),
            write.addr.eq(self.count),
            write.data.eq(stamp),
            read.addr.eq(self.stamp_address),
            self.stamp_accept.eq(read.data.accept),
            self.stamp_complete.eq(read.data.complete),
        ]

        return m

    def _match(self, m, active):
        """Queue of the outstanding requests; returns when the oldest was accepted."""
        m.submodules.queue = queue = Memory(shape=self.cycle_width, depth=self.in_flight, init=[])
        write = queue.write_port()
        read = queue.read_port(domain="comb")
        empty = self.outstanding == 0
        full = self.outstanding == self.in_flight
        push = Signal()
        pop = Signal()
        m.d.comb += [
            push.eq(active & self.accept & ~(full & ~self.complete) & ~(empty & self.complete)),
            pop.eq(active & self.complete & ~empty),
            write.en.eq(push),
            write.data.eq(self.cycle),
        ]
        for port, moves in ((write, push), (read, pop)):
            pointer = Signal(range(self.in_flight))
            m.d.comb += port.addr.eq(pointer)
            with m.If(self.clear):
                m.d.sync += pointer.eq(0)
            with m.Elif(moves):
                m.d.sync += pointer.eq(Mux(pointer == self.in_flight - 1, 0, pointer + 1))

        with m.If(self.clear):
            m.d.sync += [
                self.outstanding.eq(0),
                self.overflow.eq(self.accept),
                self.underflow.eq(self.complete),
            ]
        with m.Else():
            m.d.sync += self.outstanding.eq(self.outstanding + push - pop)
            with m.If(self.accept & (self.busy | (full & ~self.complete))):
                m.d.sync += self.overflow.eq(1)
            with m.If(self.complete & (self.busy | (empty & ~self.accept))):
                m.d.sync += self.underflow.eq(1)

        return Mux(empty, self.cycle, read.data)

    def _summarize(self, m, waiting, measured, cleared, stamp, latency):
        """Running results."""
        first = self.count == 0
        with m.If(measured):
            m.d.sync += [self.count.eq(self.count + 1), self.sum.eq(self.sum + latency)]
            with m.If(first | (latency < self.minimum)):
                m.d.sync += self.minimum.eq(latency)
            with m.If(latency > self.maximum):
                m.d.sync += [self.maximum.eq(latency), self.worst_accept.eq(stamp.accept)]
        with m.If(waiting & (self.limit != 0) & (latency > self.limit)):
            m.d.sync += self.violated.eq(1)
        with m.If(cleared):
            results = (self.count, self.sum, self.minimum, self.maximum, self.worst_accept,
                       self.violated)
            m.d.sync += [result.eq(0) for result in results]

    def _sort(self, m, measured, latency):
        """Histogram: read in the first cycle, written in the second."""
        m.submodules.histogram = histogram = Memory(shape=self.cycle_width, depth=self.bins,
                                                    init=[])
        write = histogram.write_port()
        # Transparent: an increment sees the one that is written in the cycle of its read.
        before = histogram.read_port(transparent_for=(write,))
        after = histogram.read_port()
        chosen = Signal(range(self.bins))
        pending = Signal()
        m.d.comb += before.addr.eq(Mux(latency < self.bins - 1, latency, self.bins - 1))
        m.d.sync += [chosen.eq(before.addr), pending.eq(measured)]

        left = Signal(range(self.bins + 1))  # bins yet to be cleared
        m.d.comb += self.busy.eq(left != 0)
        with m.If(self.clear):
            m.d.sync += left.eq(self.bins)
        with m.Elif(self.busy):
            m.d.sync += left.eq(left - 1)

        m.d.comb += [
            write.en.eq(pending | self.busy),
            write.addr.eq(Mux(self.busy, left - 1, chosen)),
            write.data.eq(Mux(self.busy, 0, before.data + 1)),
            after.addr.eq(self.histogram_address),
            self.histogram_count.eq(after.data),
        ]
