"""Thread source: a constant of the graph, which starts the threads.

Ref: SGMF, section 2.1.
"""

from amaranth.hdl import Module, Mux, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dataflow.operations import WIDTH
from cyclebound.hdl.dataflow.layouts import TokenLayout
from cyclebound.hdl.parameters import check_integer

__all__ = ["ThreadSource", "ThreadSourceConfiguration"]


class ThreadSourceConfiguration(data.StructLayout):
    """``threads`` to start, at least 1; each token holds ``value``, and with ``number`` set the sum
    of it and its thread's identifier."""

    def __init__(self, *, tid_width, width):
        super().__init__({"threads": unsigned(tid_width + 1), "value": unsigned(width),
                          "number": unsigned(1)})


class ThreadSource(wiring.Component):
    """One token for each thread, in order: in each cycle in which it can be taken.

    Latency: the first token is offered in the cycle after ``start``. Throughput: one per cycle.

    Parameters
    ----------
    tid_width : int
        Bits of a thread identifier.
    width : int
        Bits of a value.

    Members
    -------
    configuration : In(ThreadSourceConfiguration)
        Does not change while there are threads to start.
    start : In(1)
        Begin with thread 0; ignored while there are threads to start.
    busy : Out(1)
        There are threads to start.
    tokens : Out(stream of TokenLayout)
        The tokens.
    """

    def __init__(self, *, tid_width, width=WIDTH):
        check_integer("tid width", tid_width, least=1, most=32)
        check_integer("width", width, least=1)
        self.tid_width, self.width = tid_width, width
        super().__init__({
            "configuration": In(ThreadSourceConfiguration(tid_width=tid_width, width=width)),
            "start": In(1),
            "busy": Out(1),
            "tokens": Out(stream.Signature(TokenLayout(tid_width=tid_width, width=width))),
        })

    def elaborate(self, platform):
        m = Module()
        tid = self.tokens.payload.tid
        m.d.comb += [
            self.tokens.valid.eq(self.busy),
            self.tokens.payload.data.eq(self.configuration.value
                                        + Mux(self.configuration.number, tid, 0)),
        ]
        with m.If(self.busy & self.tokens.ready):
            m.d.sync += [tid.eq(tid + 1), self.busy.eq(tid + 1 != self.configuration.threads)]
        with m.If(self.start & ~self.busy):
            m.d.sync += [tid.eq(0), self.busy.eq(1)]
        return m
