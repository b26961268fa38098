"""Words of a slot's access, between DRAM, its scratchpad and its registers.

Part of the transfer unit, whose model, testbench and tests cover it.

Ref: Sim-D, sections 3.2 and 3.3.
"""

from amaranth.hdl import Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dram.request import BEAT_WORDS, Destination
from cyclebound.hdl.dram.layouts import Beat, FetchLayout
from cyclebound.hdl.interfaces import Strobe, drive
from cyclebound.hdl.simd.access_setup import JobLayout
from cyclebound.hdl.simd.interfaces import HeldLayout, Transfer
from cyclebound.hdl.simd.moving_words import MovingWords
from cyclebound.hdl.simd.scalar_load import ScalarLoad
from cyclebound.hdl.simd.scratchpad import TargetedWords
from cyclebound.hdl.simd.vector_load import VectorLoad
from cyclebound.hdl.simd.vector_store import VectorStore

__all__ = ["SlotTransfer"]


class SlotTransfer(wiring.Component):
    """Passes each word on to where the slot's job wants it.

    Latency: none for words that are loaded; words of registers, or those that items of a snoopy
    access have, are on ``answered`` in the cycle after they were asked for.

    Parameters
    ----------
    machine : Machine
        Sizes.
    positions : int
        Of the bus to vector registers, in each bank.

    Members
    -------
    job : In(JobLayout), running : In(1), active : In(items)
        The slot's job, whether it has begun, and the slot's active items.
    deliver : In(Strobe(Beat)), fetch : In(Strobe(FetchLayout))
        Of the DRAM controller, while its words are those of this slot.
    line, line_query : In(Strobe(TargetedWords(bus)))
        ``deliver`` and ``ask`` of the slot's scratchpad.
    store, query : Out(Strobe(TargetedWords(4)))
        Its ``store`` and ``fetch``: words of tiles between DRAM and scratchpad.
    answered : Out(HeldLayout)
        Words that DRAM or scratchpad asked for in the cycle before.
    transfer : Out(Transfer)
        The slot's registers.
    """

    def __init__(self, *, machine, positions):
        self.machine, self.positions = machine, positions
        line, tile = (Strobe(TargetedWords(words)) for words in
                      (machine.scratchpad_bus, BEAT_WORDS))
        super().__init__({
            "job": In(JobLayout), "running": In(1), "active": In(machine.items),
            "deliver": In(Strobe(Beat)), "fetch": In(Strobe(FetchLayout)),
            "line": In(line), "line_query": In(line), "store": Out(tile), "query": Out(tile),
            "answered": Out(HeldLayout(machine=machine)),
            "transfer": Out(Transfer(machine=machine, words=positions)),
        })

    def elaborate(self, platform):
        m = Module()
        job, port, sizes = self.job, self.transfer, {"machine": self.machine,
                                                     "positions": self.positions}
        m.submodules.loaded = loaded = MovingWords(
            beat=self.deliver.payload.shape(), line=self.line.payload.shape())
        m.submodules.asked = asked = MovingWords(
            beat=self.fetch.payload.shape(), line=self.line_query.payload.shape())
        m.submodules.vector_load = vector_load = VectorLoad(**sizes)
        m.submodules.scalar_load = scalar_load = ScalarLoad(**sizes)
        m.submodules.vector_store = vector_store = VectorStore(**sizes)

        # -- between DRAM and the scratchpad
        of_tile = job.destination == Destination.SCRATCHPAD
        for side, source in ((self.store, self.deliver), (self.query, self.fetch)):
            m.d.comb += [side.valid.eq(source.valid & of_tile),
                         side.payload.enable.eq(source.payload.enable),
                         side.payload.targets.eq(source.payload.targets)]
        m.d.comb += self.store.payload.words.eq(self.deliver.payload.words)

        # -- to and from registers
        for words, beat, valid, line in (
                (loaded, self.deliver, self.deliver.valid & ~of_tile, self.line),
                (asked, self.fetch, self.fetch.valid, self.line_query)):
            m.d.comb += [
                words.from_scratchpad.eq(job.scratchpad),
                words.beat.valid.eq(valid), words.beat.payload.eq(beat.payload),
                words.line.valid.eq(line.valid), words.line.payload.eq(line.payload),
            ]
        for part, words in ((vector_load, loaded), (scalar_load, loaded), (vector_store, asked)):
            m.d.comb += part.job.eq(job)
            drive(m, part.words, words.words)
        for part in (vector_load, vector_store):
            m.d.comb += part.active.eq(self.active)
        m.d.comb += [port.write.eq(vector_load.write), port.scalars.eq(scalar_load.scalars),
                     port.read.eq(vector_store.read), vector_store.answer.eq(port.answer),
                     self.answered.eq(vector_store.answered)]

        if self.machine.snoopy:
            with m.If(job.cam):
                m.d.comb += self.answered.eq(port.held)
            self._snoop(m)
        return m

    def _snoop(self, m):
        """Words of snoopy accesses pass the registers that know the indexes of their words."""
        job, snoop, deliver, fetch = self.job, self.transfer.snoop, self.deliver, self.fetch
        line, query = self.line, self.line_query
        with m.If(job.cam & job.scratchpad):
            m.d.comb += [
                snoop.load.eq(line.valid), snoop.words.eq(line.payload.words),
                snoop.enable.eq(Mux(line.valid, line.payload.enable, 0)
                                | Mux(query.valid, query.payload.enable, 0)),
                snoop.index.eq(Mux(line.valid, line.payload.targets[0], query.payload.targets[0])),
            ]
        with m.Elif(job.cam & self.running):  # else these may be a program's words
            m.d.comb += [
                snoop.load.eq(deliver.valid),
                snoop.enable.eq(Mux(deliver.valid, deliver.payload.enable, 0)
                                | Mux(fetch.valid, fetch.payload.enable, 0)),
                snoop.index.eq(Mux(deliver.valid, deliver.payload.targets[0],
                                   fetch.payload.targets[0])),
                *(snoop.words[word].eq(deliver.payload.words[word]) for word in range(BEAT_WORDS)),
            ]
