"""Control unit: what holds a graph together that computes nothing.

Ref: SGMF, sections 4.3 to 4.5, 5.2.
"""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dataflow.control import DELAY_SLOTS, Control
from cyclebound.golden.dataflow.operations import OPERANDS, WIDTH
from cyclebound.hdl.dataflow.fork import Fork
from cyclebound.hdl.dataflow.layouts import TokenLayout
from cyclebound.hdl.dataflow.parameters import check_depth
from cyclebound.hdl.dataflow.token_buffer import TokenBuffer
from cyclebound.hdl.parameters import check_integer

__all__ = ["ControlUnit", "ControlUnitConfiguration"]


class ControlUnitConfiguration(data.StructLayout):
    """``function``; ``operands`` has a bit for each token that is waited for, ``inverted`` for each
    whose meaning is turned round; ``slots`` of a delay, from 1 to `DELAY_SLOTS`; ``split``: two
    consumers."""

    def __init__(self):
        super().__init__({"function": unsigned(2), "operands": unsigned(OPERANDS),
                          "inverted": unsigned(OPERANDS), "slots": unsigned(5),
                          "split": unsigned(1)})


class ControlUnit(wiring.Component):
    """Join, label, phi or delay, each with one or two consumers (split).

    `Control.JOIN`: the token of a thread that has all its operands; it is poisoned if one of them
    is. `Control.LABEL`: it is poisoned if all of them are. Both may turn operands round: the branch
    that is not taken. `Control.PHI`: the second operand if the first is not poisoned, or else the
    third. `Control.DELAY`: the first operand's tokens, as they come, through a FIFO of ``slots``.

    Latency: a result is offered 2 cycles after the last token was taken (a delay: 1 cycle).
    Throughput: one thread per cycle; of a delay with a single slot, one every other cycle.

    Parameters
    ----------
    depth : int
        Entries of the token buffer: 2, 4, 8 or 16.
    tid_width : int
        Bits of a thread identifier.
    width : int
        Bits of a value.
    epochs : bool
        Of the token buffer.

    Members
    -------
    configuration : In(ControlUnitConfiguration)
        May change only while the unit is empty.
    operands : In(stream of TokenLayout).array(3)
        Tokens.
    results : Out(stream of TokenLayout).array(2)
        Results; the second only if ``split``.

    Attributes
    ----------
    buffer : TokenBuffer
        Where tokens wait for each other.
    fork : Fork
        Hands a result to both consumers.
    """

    def __init__(self, *, depth, tid_width, width=WIDTH, epochs=False):
        check_depth(depth, tid_width)
        check_integer("width", width, least=1)
        self.depth, self.tid_width, self.width = depth, tid_width, width
        self.buffer = TokenBuffer(operands=OPERANDS, depth=depth, tid_width=tid_width, width=width,
                                  epochs=epochs)
        self.layout = TokenLayout(tid_width=tid_width, width=width)
        self.fork = Fork(shape=self.layout, count=2)
        token = stream.Signature(self.layout)
        super().__init__({
            "configuration": In(ControlUnitConfiguration()),
            "operands": In(token).array(OPERANDS),
            "results": Out(token).array(2),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.buffer = buffer = self.buffer
        m.submodules.fork = fork = self.fork
        configuration = self.configuration
        delays = configuration.function == Control.DELAY

        for number, (outer, inner) in enumerate(zip(self.operands, buffer.operands, strict=True)):
            m.d.comb += [
                inner.valid.eq(outer.valid & ~delays),
                inner.payload.eq(outer.payload),
                outer.ready.eq(inner.ready),
            ]
            if number == 0:
                taken, free = self._delay(m, outer, fork.source.ready & delays)
                with m.If(delays):
                    m.d.comb += outer.ready.eq(free)
        m.d.comb += buffer.needed.eq(Mux(delays, 0, configuration.operands))

        alive = Signal(OPERANDS)
        first, second, third = buffer.fire.payload["values"]
        m.d.comb += alive.eq(Cat(value[0] for value in (first, second, third))
                             ^ configuration.inverted)
        value = Signal(self.width)
        with m.Switch(configuration.function):
            with m.Case(Control.JOIN):
                m.d.comb += value.eq((alive | ~configuration.operands).all())
            with m.Case(Control.LABEL):
                m.d.comb += value.eq((alive & configuration.operands).any())
            with m.Default():
                m.d.comb += value.eq(Mux(first[0], second, third))
        m.d.comb += [
            fork.source.valid.eq(Mux(delays, taken.valid, buffer.fire.valid)),
            fork.source.payload.tid.eq(Mux(delays, taken.tid, buffer.fire.payload.tid)),
            fork.source.payload.data.eq(Mux(delays, taken.data, value)),
            buffer.fire.ready.eq(fork.source.ready & ~delays),
        ]
        for number, (sink, result) in enumerate(zip(fork.sinks, self.results, strict=True)):
            used = 1 if number == 0 else configuration.split
            m.d.comb += [
                result.valid.eq(sink.valid & used),
                result.payload.eq(sink.payload),
                sink.ready.eq(result.ready | ~used),
            ]
        return m

    def _delay(self, m, token, leaves):
        """A FIFO of the configured length: what it offers, and whether it has room."""
        store = Memory(shape=self.layout, depth=DELAY_SLOTS, init=[])
        m.submodules.waiting = store
        write, read = store.write_port(), store.read_port(domain="comb")
        level = Signal(range(DELAY_SLOTS + 1))
        newest, oldest = Signal(range(DELAY_SLOTS)), Signal(range(DELAY_SLOTS))
        delays = self.configuration.function == Control.DELAY
        offered = Signal(data.StructLayout({"valid": 1, "tid": self.tid_width,
                                            "data": self.width}))
        free = Signal()
        enters, goes = Signal(), Signal()
        m.d.comb += [
            # never more than there are, whatever is configured: a token would be overwritten
            free.eq((level < self.configuration.slots) & (level != DELAY_SLOTS)),
            enters.eq(token.valid & free & delays),
            goes.eq(offered.valid & leaves),
            write.addr.eq(newest), write.data.eq(token.payload), write.en.eq(enters),
            read.addr.eq(oldest),
            offered.valid.eq(level != 0),
            offered.tid.eq(read.data.tid), offered.data.eq(read.data.data),
        ]
        m.d.sync += [newest.eq(newest + enters), oldest.eq(oldest + goes),
                     level.eq(level + enters - goes)]
        return offered, free
