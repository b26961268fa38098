"""Compute unit: an ALU and an FPU, fed by a token buffer.

Ref: SGMF, section 5.2.
"""

from functools import cached_property

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dataflow.operations import OPERANDS, WIDTH, Operation, operands_of
from cyclebound.hdl.dataflow.integer_alu import ALU_STAGES, IntegerAlu
from cyclebound.hdl.dataflow.layouts import TokenLayout
from cyclebound.hdl.dataflow.parameters import check_depth
from cyclebound.hdl.dataflow.token_buffer import TokenBuffer
from cyclebound.hdl.float_fma import FMA_STAGES, FloatFma

__all__ = ["ComputeUnit", "ComputeUnitConfiguration"]

_ONE, _MINUS_ZERO = 0x3F80_0000, 0x8000_0000
_FLOAT = (Operation.FADD, Operation.FSUB, Operation.FMUL, Operation.FMA, Operation.TO_FLOAT)


class ComputeUnitConfiguration(data.StructLayout):
    """``operation``; ``literals`` has a bit for each operand that is the constant ``value``."""

    def __init__(self):
        super().__init__({"operation": unsigned(5), "literals": unsigned(OPERANDS),
                          "value": unsigned(WIDTH)})


class ComputeUnit(wiring.Component):
    """One static operation, on the operands of one thread after the other.

    Latency: a result is offered ``FMA_STAGES`` + 2 cycles after its last operand was taken,
    whatever the operation. Throughput: one firing per cycle; results leave in the order of
    firings. The pipeline stands still while a result is not taken.

    Parameters
    ----------
    depth : int
        Entries of the token buffer: 2, 4, 8 or 16.
    tid_width : int
        Bits of a thread identifier.
    epochs : bool
        Of the token buffer.

    Members
    -------
    configuration : In(ComputeUnitConfiguration)
        May change only while the unit is empty.
    operands : In(stream of TokenLayout).array(3)
        Tokens.
    result : Out(stream of TokenLayout)
        Results.

    Attributes
    ----------
    buffer : TokenBuffer
        Fires the operation.
    fma : FloatFma
        Its pipeline has the result's ``valid``, whatever the operation.
    tids : list of Signal
        The threads' identifiers beside its registers.
    """

    def __init__(self, *, depth, tid_width, epochs=False):
        check_depth(depth, tid_width)
        self.depth, self.tid_width = depth, tid_width
        self.buffer = TokenBuffer(operands=OPERANDS, depth=depth, tid_width=tid_width, width=WIDTH,
                                  epochs=epochs)
        token = stream.Signature(TokenLayout(tid_width=tid_width, width=WIDTH))
        super().__init__({
            "configuration": In(ComputeUnitConfiguration()),
            "operands": In(token).array(OPERANDS),
            "result": Out(token),
        })
        self.tids = [Signal(tid_width, name=f"tid_{stage + 1}", reset_less=True)
                     for stage in range(FMA_STAGES)]

    @cached_property
    def fma(self):  # made late: a unit that is only asked for its ports has none
        return FloatFma()

    def elaborate(self, platform):
        m = Module()
        m.submodules.buffer = buffer = self.buffer
        m.submodules.fma = fma = self.fma
        m.submodules.alu = alu = IntegerAlu()
        configuration = self.configuration
        operation = configuration.operation

        for outer, inner in zip(self.operands, buffer.operands, strict=True):
            wiring.connect(m, wiring.flipped(outer), inner)
        second = Cat(operation == op for op in Operation if operands_of(op) > 1).any()
        third = Cat(operation == op for op in Operation if operands_of(op) > 2).any()
        m.d.comb += buffer.needed.eq(Cat(1, second, third) & ~configuration.literals)
        a, b, c = (Mux(literal, configuration.value, value) for literal, value in
                   zip(configuration.literals, buffer.fire.payload["values"], strict=True))

        # What floating-point arithmetic there is, is a multiplication and an addition.
        sums = (operation == Operation.FADD) | (operation == Operation.FSUB)
        difference = operation == Operation.FSUB
        convert = operation == Operation.TO_FLOAT
        addend = Mux(sums, Cat(b[:-1], b[-1] ^ difference),
                     Mux(operation == Operation.FMUL, _MINUS_ZERO, Mux(convert, a, c)))
        m.d.comb += [
            fma.operands.valid.eq(buffer.fire.valid),
            buffer.fire.ready.eq(fma.operands.ready),
            fma.operands.payload.eq(Cat(Mux(convert, 0, a), Mux(sums, _ONE, Mux(convert, 0, b)),
                                        addend, convert)),
            self.result.valid.eq(fma.result.valid),
            fma.result.ready.eq(self.result.ready),
            alu.enable.eq(fma.operands.ready),
            alu.operation.eq(operation),
            alu.x.eq(a), alu.y.eq(b), alu.z.eq(c),
        ]

        # Beside it go the identifier, and the results of all other operations.
        tid, value = buffer.fire.payload.tid, alu.result
        for held in self.tids:
            with m.If(fma.operands.ready):
                m.d.sync += held.eq(tid)
            tid = held
        for stage in range(ALU_STAGES, FMA_STAGES):
            kept = Signal(WIDTH, name=f"value_{stage + 1}", reset_less=True)
            with m.If(fma.operands.ready):
                m.d.sync += kept.eq(value)
            value = kept
        floats = Cat(operation == op for op in _FLOAT).any()
        m.d.comb += [self.result.payload.tid.eq(tid),
                     self.result.payload.data.eq(Mux(floats, fma.result.payload, value))]
        return m
