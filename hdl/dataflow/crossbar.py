"""Crossbar: each output has one of the inputs, and several may have the same one.

Part of switch and fabric, whose models, testbenches and tests cover it.
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

__all__ = ["Crossbar"]


class Crossbar(wiring.Component):
    """Hands each token of an input to every output that is configured to have it.

    An output chooses one input, so that no configuration can make two drive it. Outputs take a
    token as they can; who has it already is not offered it again, and the token is taken when the
    last one has it. An input that no output has chosen loses its tokens.

    Latency: none. Throughput: one token per cycle of each input.

    Parameters
    ----------
    shape : ShapeLike
        Payload.
    inputs, outputs : int
        How many.
    back : bool
        Whether output *i* may have input *i*; if not, choosing it is choosing none.

    Members
    -------
    choices : In(range(inputs + 1)).array(outputs)
        0: none; 1 + *i*: input *i*. May change only in reset.
    inputs : In(stream).array(inputs)
        Tokens.
    outputs : Out(stream).array(outputs)
        Tokens.

    Attributes
    ----------
    served : list of Signal
        By input: the outputs that have the token which is on offer.
    """

    def __init__(self, *, shape, inputs, outputs, back=True):
        self.shape, self.back = shape, back
        token = stream.Signature(shape)
        super().__init__({"choices": In(bits_for(inputs)).array(outputs),
                          "inputs": In(token).array(inputs),
                          "outputs": Out(token).array(outputs)})
        self.served = [Signal(outputs, name=f"served_{i}") for i in range(inputs)]

    def elaborate(self, platform):
        m = Module()
        valid = [0] * len(self.outputs)
        payload = [0] * len(self.outputs)
        for i, (source, served) in enumerate(zip(self.inputs, self.served, strict=True)):
            chosen, done = (Signal(len(self.outputs), name=f"{name}_{i}")
                            for name in ("chosen", "done"))
            for o, sink in enumerate(self.outputs):
                allowed = self.back or o != i
                m.d.comb += [chosen[o].eq((self.choices[o] == i + 1) if allowed else 0),
                             done[o].eq(~chosen[o] | served[o] | sink.ready)]
                if allowed:
                    valid[o] |= chosen[o] & source.valid & ~served[o]
                    payload[o] |= Mux(chosen[o], source.payload.as_value(), 0)
            m.d.comb += source.ready.eq(done.all())
            with m.If(source.valid):
                m.d.sync += served.eq(Mux(done.all(), 0, Cat(
                    served[o] | (chosen[o] & sink.ready) for o, sink in enumerate(self.outputs))))
        for o, sink in enumerate(self.outputs):
            m.d.comb += [sink.valid.eq(valid[o]), sink.payload.as_value().eq(payload[o])]
        return m
