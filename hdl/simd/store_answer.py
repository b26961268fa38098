"""The answer to DRAM's fetches: words of registers or of a scratchpad.

Part of the transfer unit, whose model, testbench and tests cover it.
"""

from amaranth.hdl import Array, Module, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dram.request import BEAT_WORDS, WORD_BITS
from cyclebound.golden.simd.machine import SLOTS
from cyclebound.hdl.dram.layouts import StoreLayout

__all__ = ["StoreAnswer"]


class StoreAnswer(wiring.Component):
    """Chooses the words of the slot whose request is under way.

    Latency: ``store`` follows ``owner`` by two cycles, ``answered`` by one and ``fetched`` by none.

    Members
    -------
    owner : In(1), from_scratchpad : In(1)
        The slot whose words DRAM fetches, and whether they are its scratchpad's.
    answered : In(StoreLayout) times 2
        Words of the slots' registers.
    fetched : In(4 words) times 2
        Words of their scratchpads.
    store : Out(StoreLayout)
        For the DRAM controller.
    """

    def __init__(self):
        super().__init__({
            "owner": In(range(SLOTS)), "from_scratchpad": In(1),
            "answered": In(StoreLayout).array(SLOTS),
            "fetched": In(data.ArrayLayout(unsigned(WORD_BITS), BEAT_WORDS)).array(SLOTS),
            "store": Out(data.Layout.cast(StoreLayout)),
        })

    def elaborate(self, platform):
        m = Module()
        owners = [Signal(range(SLOTS), name=f"owner_{age}") for age in (1, 2)]
        from_scratchpad = [Signal(name=f"from_scratchpad_{age}") for age in (1, 2)]
        registered = Signal(StoreLayout)
        for pipeline, value in ((owners, self.owner), (from_scratchpad, self.from_scratchpad)):
            m.d.sync += [pipeline[0].eq(value), pipeline[1].eq(pipeline[0])]
        m.d.sync += registered.eq(Array(self.answered)[owners[0]])
        m.d.comb += self.store.eq(registered)
        with m.If(from_scratchpad[1]):
            m.d.comb += [self.store.words.eq(Array(self.fetched)[owners[1]]),
                         self.store.enable.eq(-1)]
        return m
