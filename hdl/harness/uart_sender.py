"""Bytes on a serial line: 8 bits, no parity, one stop bit."""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.parameters import check_integer

__all__ = ["UartSender"]


class UartSender(wiring.Component):
    """Sends bytes, the lowest bit first, each between a start bit (0) and a stop bit (1).

    Latency: the start bit begins in the cycle after a byte is taken. Throughput: one byte in
    ``10 * divisor + 1`` cycles.

    Parameters
    ----------
    divisor : int
        Cycles for each bit, at least 1.

    Members
    -------
    sink : In(stream.Signature(8))
        Bytes; taken while the line is idle.
    tx : Out(1)
        The line, 1 while it is idle.
    """

    def __init__(self, *, divisor):
        check_integer("Divisor", divisor, least=1)
        self.divisor = divisor
        super().__init__({"sink": In(stream.Signature(8)), "tx": Out(1, init=1)})

    def elaborate(self, platform):
        m = Module()
        bits, left = Signal(10), Signal(range(11))
        count = Signal(range(self.divisor))
        m.d.comb += [self.sink.ready.eq(left == 0), self.tx.eq((left == 0) | bits[0])]
        with m.If(left == 0):
            with m.If(self.sink.valid):
                m.d.sync += [bits.eq(Cat(Const(0, 1), self.sink.payload, Const(1, 1))),
                             left.eq(10), count.eq(self.divisor - 1)]
        with m.Elif(count == 0):
            m.d.sync += [bits.eq(bits[1:]), left.eq(left - 1), count.eq(self.divisor - 1)]
        with m.Else():
            m.d.sync += count.eq(count - 1)
        return m
