"""Thread sink: takes threads at their end, and reports when all of them have ended.

Ref: SGMF, sections 2 and 4.6.
"""

from amaranth.hdl import Cat, Module, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dataflow.grid import PORTS
from cyclebound.golden.dataflow.operations import WIDTH
from cyclebound.hdl.dataflow.layouts import TokenLayout
from cyclebound.hdl.parameters import check_integer

__all__ = ["ThreadSink", "ThreadSinkConfiguration"]


class ThreadSinkConfiguration(data.StructLayout):
    """``needed`` has a bit for each operand that threads end in; ``threads`` that are to end."""

    def __init__(self, *, operands, tid_width):
        super().__init__({"needed": unsigned(operands), "threads": unsigned(tid_width + 1)})


class ThreadSink(wiring.Component):
    """Takes every token at once, and counts them, operand by operand.

    Nothing is matched: each thread sends one token to each operand, so that all threads have ended
    when each operand has counted them. So it never stalls its inputs.

    Latency: ``done`` is set in the cycle after the last token. Throughput: one token per cycle on
    each operand.

    Parameters
    ----------
    operands : int
        At least 1.
    tid_width : int
        Bits of a thread identifier.
    width : int
        Bits of a value.

    Members
    -------
    configuration : In(ThreadSinkConfiguration)
        May change only in reset.
    operands : In(stream of TokenLayout).array(operands)
        Tokens; always ready. Those that are not needed are not counted.
    done : Out(1)
        Every operand that is needed has had a token of each thread.

    Attributes
    ----------
    ended : list of Signal
        By operand: the tokens that it has had.
    """

    def __init__(self, *, operands=PORTS, tid_width, width=WIDTH):
        check_integer("operand count", operands, least=1)
        check_integer("tid width", tid_width, least=1, most=32)
        check_integer("width", width, least=1)
        self.count, self.tid_width, self.width = operands, tid_width, width
        token = stream.Signature(TokenLayout(tid_width=tid_width, width=width))
        super().__init__({
            "configuration": In(ThreadSinkConfiguration(operands=operands, tid_width=tid_width)),
            "operands": In(token).array(operands),
            "done": Out(1),
        })
        self.ended = [Signal(tid_width + 1, name=f"ended_{k}") for k in range(operands)]

    def elaborate(self, platform):
        m = Module()
        over = []
        for k, (operand, ended) in enumerate(zip(self.operands, self.ended, strict=True)):
            m.d.comb += operand.ready.eq(1)
            with m.If(operand.valid):
                m.d.sync += ended.eq(ended + 1)
            over.append(~self.configuration.needed[k] | (ended == self.configuration.threads))
        m.d.comb += self.done.eq(Cat(over).all())
        return m
