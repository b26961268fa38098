"""Crossbar: each output has one of the inputs, and several may have the same one.

Part of switch and fabric, whose models, testbenches and tests cover it.
"""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

__all__ = ["Crossbar", "picked"]


def picked(choice, values):
    """The one of some values that a choice names, counted from 1; 0 for none of them.

    A conjunction for each, and one disjunction: with four-input lookup tables, eight values take
    five tables for a bit, and a tree of multiplexers seven.
    """
    return reduce(or_, (Mux(choice == number, value, 0)
                        for number, value in enumerate(map(Value.cast, values), 1)))


class Crossbar(wiring.Component):
    """Hands each token of an input to every output that is configured to have it.

    An output chooses one input, so that no configuration can make two drive it. Outputs take a
    token as they can; one that has it is not offered it again, and the token is taken when the
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
        count = len(self.outputs)
        ready = Signal(count)
        m.d.comb += ready.eq(Cat(sink.ready for sink in self.outputs))
        waits = []  # by input: the outputs that are to have the token on offer
        for i, (source, served) in enumerate(zip(self.inputs, self.served, strict=True)):
            chosen, done, owed = (Signal(count, name=f"{name}_{i}")
                                  for name in ("chosen", "done", "owed"))
            m.d.comb += [
                chosen.eq(Cat((choice == i + 1) if self.back or o != i else Const(0, 1)
                              for o, choice in enumerate(self.choices))),
                done.eq(~chosen | served | ready),
                source.ready.eq(done.all()),
                owed.eq(Mux(source.valid, chosen & ~served, 0)),
            ]
            with m.If(source.valid):
                m.d.sync += served.eq(Mux(source.ready, 0, served | chosen & ready))
            waits.append(owed)
        payloads = [source.payload for source in self.inputs]
        for o, (sink, choice) in enumerate(zip(self.outputs, self.choices, strict=True)):
            m.d.comb += [
                sink.valid.eq(Cat(owed[o] for owed in waits).any()),
                # of one input, there is no choice: without one there is no token
                sink.payload.eq(picked(choice, payloads) if len(payloads) > 1 else payloads[0]),
            ]
        return m
