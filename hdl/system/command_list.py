"""A list of the systolic accelerator's commands, which comes by words and is released as a whole.

Ref: golden/system/job_words.py.

Part of the tiled system, whose testbench `tb/system/tiled_host.py` covers it, with
`tests/system/test_core_host.py`.
"""

from amaranth.hdl import Cat, Module, Mux, ResetInserter, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from cyclebound.golden.register_table import REGISTER_BITS
from cyclebound.golden.systolic.accelerator_layout import Operation

__all__ = ["CommandList"]


class CommandList(wiring.Component):
    """Words become commands, which are kept until ``start``.

    Latency: the first command is on offer in the cycle of ``start``, the next ones in the cycles
    after the one before was taken.

    Parameters
    ----------
    layout : StructLayout
        Of a command.
    depth : int
        Commands of a list, at most.

    Members
    -------
    word : In(stream of 32)
        None comes while ``busy``.
    start : In(1)
        The list is released.
    started, fault : Out(1)
        In the cycle of ``start``: it is a list of 1 to ``depth`` whole commands, or it is not, and
        is dropped. Not a command: another operation, or a transfer of no beats.
    busy : Out(1)
        Commands of a list that was released are here.
    command : Out(stream of ``layout``)
        To the accelerator.
    """

    def __init__(self, *, layout, depth):
        self.layout, self.depth = layout, depth
        super().__init__({
            "word": In(stream.Signature(REGISTER_BITS)), "start": In(1), "started": Out(1),
            "fault": Out(1), "busy": Out(1), "command": Out(stream.Signature(layout)),
        })

    def elaborate(self, platform):
        m = Module()
        drops, whole = Signal(), Signal()
        m.submodules.kept = kept = ResetInserter(drops)(
            SyncFIFO(width=self.layout.size, depth=self.depth))
        words = -(-self.layout.size // REGISTER_BITS)
        before, place = Signal(REGISTER_BITS * (words - 1)), Signal(range(words))
        made, wrong, going = Signal(self.layout), Signal(), Signal()
        m.d.comb += [
            self.word.ready.eq(1), whole.eq(self.word.valid & (place == words - 1)),
            kept.w_en.eq(whole),
            made.as_value().eq(Cat(before, self.word.payload)), kept.w_data.eq(made),
            self.started.eq(self.start & kept.r_rdy & (place == 0) & ~wrong),
            self.fault.eq(self.start & ~self.started), drops.eq(self.fault),
            self.busy.eq((going | self.started) & kept.r_rdy),
            self.command.valid.eq(self.busy), self.command.payload.eq(kept.r_data),
            kept.r_en.eq(self.busy & self.command.ready),
        ]
        with m.If(self.word.valid):
            m.d.sync += [before.eq(Cat(before, self.word.payload)[REGISTER_BITS:]),
                         place.eq(Mux(whole, 0, place + 1))]
        with m.If(whole & (~kept.w_rdy | Mux(
                made.operation == Operation.COMPUTE, 0,
                (made.operation > Operation.STORE) | (made.count == 0)))):
            m.d.sync += wrong.eq(1)
        with m.If(self.start):
            m.d.sync += [place.eq(0), wrong.eq(0), going.eq(self.started)]
        with m.Elif(~kept.r_rdy):  # none is left; a word that comes now is the next list's
            m.d.sync += going.eq(0)
        return m
