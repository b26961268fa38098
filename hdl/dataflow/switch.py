"""Switch: a crossbar that is configured once, with room for two tokens at each input.

Ref: SGMF, section 5.3.
"""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from cyclebound.golden.dataflow.grid import PORTS
from cyclebound.golden.dataflow.operations import WIDTH
from cyclebound.hdl.dataflow.crossbar import Crossbar
from cyclebound.hdl.dataflow.layouts import TokenLayout
from cyclebound.hdl.parameters import check_integer

__all__ = ["Pair", "Switch"]


class Pair(wiring.Component):
    """Two places in a row: neither direction of a stream passes through without a register.

    Latency: one cycle. Throughput: one item per cycle.

    Parameters
    ----------
    shape : ShapeLike
        Payload.

    Members
    -------
    source : In(stream)
        Items; ``ready`` depends on the places alone.
    sink : Out(stream)
        The items of ``source``, in order.

    Attributes
    ----------
    level : Signal
        Items held: 0, 1 or 2.
    first, second : Signal
        The older one, and the younger.
    """

    def __init__(self, *, shape):
        self.shape = shape
        super().__init__({"source": In(stream.Signature(shape)),
                          "sink": Out(stream.Signature(shape))})
        self.level = Signal(2)
        layout = data.StructLayout({"item": shape})
        self.first, self.second = (Signal(layout, name=name, reset_less=True)
                                   for name in ("first", "second"))

    def elaborate(self, platform):
        m = Module()
        level, first, second = self.level, self.first, self.second
        enters, leaves = self.source.valid & self.source.ready, self.sink.valid & self.sink.ready
        m.d.comb += [self.source.ready.eq(~level[1]), self.sink.valid.eq(level.any()),
                     self.sink.payload.eq(first.item)]
        m.d.sync += level.eq(level + enters - leaves)
        with m.If(leaves | (level == 0)):
            m.d.sync += first.item.eq(Mux(level[1], second.as_value(),
                                          self.source.payload.as_value()))
        with m.If(self.source.ready):
            m.d.sync += second.item.eq(self.source.payload)
        return m


class Switch(wiring.Component):
    """Statically configured: each output has the tokens of one input, or none.

    Latency: a token is offered in the cycle after it was taken. Throughput: one token per cycle on
    each output. Several outputs may have the same input; each gets every token once. Port *i* is
    input and output *i*: nothing goes back where it came from.

    Parameters
    ----------
    ports : int
        Inputs, and outputs, at least 2.
    tid_width : int
        Bits of a thread identifier.
    width : int
        Bits of a value.

    Members
    -------
    choices : In(range(ports + 1)).array(ports)
        For each output, 0: none; 1 + *i*: input *i*. May change only in reset.
    inputs, outputs : streams of TokenLayout, arrays
        Tokens. Tokens of an input that no output has are lost.

    Attributes
    ----------
    pairs : list of Pair
        By input: its places.
    crossbar : Crossbar
        The outputs of the queues.
    """

    def __init__(self, *, ports=PORTS, tid_width, width=WIDTH):
        check_integer("port count", ports, least=2)
        check_integer("tid width", tid_width, least=1, most=32)
        check_integer("width", width, least=1)
        self.ports, self.tid_width, self.width = ports, tid_width, width
        self.layout = TokenLayout(tid_width=tid_width, width=width)
        token = stream.Signature(self.layout)
        super().__init__({"choices": In(bits_for(ports)).array(ports),
                          "inputs": In(token).array(ports), "outputs": Out(token).array(ports)})
        self.pairs = [Pair(shape=self.layout) for _ in range(ports)]
        self.crossbar = Crossbar(shape=self.layout, inputs=ports, outputs=ports, back=False)

    def elaborate(self, platform):
        m = Module()
        m.submodules.crossbar = crossbar = self.crossbar
        for p, pair in enumerate(self.pairs):
            m.submodules[f"pair_{p}"] = pair
            wiring.connect(m, wiring.flipped(self.inputs[p]), pair.source)
            wiring.connect(m, pair.sink, crossbar.inputs[p])
            wiring.connect(m, crossbar.outputs[p], wiring.flipped(self.outputs[p]))
            m.d.comb += crossbar.choices[p].eq(self.choices[p])
        return m
