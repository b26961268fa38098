"""Fork: one stream for several consumers.

Part of the control unit's split, whose files cover it; alone, tests/dataflow/test_thread_source.py.
"""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.parameters import check_integer

__all__ = ["Fork"]


class Fork(wiring.Component):
    """Hands each item to every consumer, to each as soon as it can take it.

    Latency: none. Throughput: one item per cycle. The item is taken when the last consumer has
    taken it; one that has it is not offered it again.

    Parameters
    ----------
    shape : ShapeLike
        Payload.
    count : int
        Consumers, at least 1.

    Members
    -------
    source : In(stream)
        Items.
    sinks : Out(stream).array(count)
        Each has all items of ``source``, in order.
    """

    def __init__(self, *, shape, count):
        check_integer("consumer count", count, least=1)
        self.count = count
        super().__init__({"source": In(stream.Signature(shape)),
                          "sinks": Out(stream.Signature(shape)).array(count)})
        self.served = Signal(count)

    def elaborate(self, platform):
        m = Module()
        done = Signal(self.count)
        for k, sink in enumerate(self.sinks):
            m.d.comb += [
                sink.valid.eq(self.source.valid & ~self.served[k]),
                sink.payload.eq(self.source.payload),
                done[k].eq(self.served[k] | sink.ready),
            ]
        m.d.comb += self.source.ready.eq(done.all())
        with m.If(self.source.valid):
            m.d.sync += self.served.eq(0)
            with m.If(~done.all()):
                m.d.sync += self.served.eq(done)
        return m
