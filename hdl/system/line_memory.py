"""Lines of a dataflow core's cache as bursts that a DRAM controller moves, one at a time.

    lines --> a line's request --> DRAM controller
          <-- a line, by word  <-- words read

Ref: golden/system/fabric.py.

Part of the tiled system, whose files cover it.
"""

from amaranth.hdl import Array, Module, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.dram.request import BEAT_WORDS, BURST_WORDS, WORD_BITS, Destination
from cyclebound.hdl.dataflow.banked_cache import LinePort
from cyclebound.hdl.dram.layouts import DramClient, map_at_bursts

__all__ = ["LineMemory"]


class LineMemory(wiring.Component):
    """Line n are the words from 16 n on of the client's buffer 0, a single line.

    A request is on offer in the cycle after it was taken; a read's line comes in the cycle after
    its completion, and the next request is taken from that cycle on. Bounds:
    ``golden.system.fabric``.

    Parameters
    ----------
    id_width, line_width : int
        Of the port of lines.

    Members
    -------
    lines : In(LinePort)
        The cache's, of lines of 16 words.
    dram : Out(DramClient)
        The controller; the buffer is mapped by ``mapping``, through here. One that does not begin
        at a burst is not: lines are refused then.
    mapping, mapped, mapping_refusal
        As of `DramClient`, flipped.
    idle : Out(1)
        No line is on offer or under way: all that was written is in DRAM.
    taken, over : Out(1)
        A line's request is taken in this cycle; it is completed.
    fault : Out(Refusal)
        Why a line was refused, from then on until reset: no other is taken.
    """

    def __init__(self, *, id_width, line_width):
        client = DramClient()
        super().__init__({
            "lines": In(LinePort(id_width=id_width, line_width=line_width, line=BURST_WORDS,
                                 width=WORD_BITS)),
            "dram": Out(client),
            **{name: client.flip().members[name]
               for name in ("mapping", "mapped", "mapping_refusal")},
            "idle": Out(1), "taken": Out(1), "over": Out(1), "fault": Out(3),
        })

    def elaborate(self, platform):
        m = Module()
        map_at_bursts(m, self)
        lines, dram, completion = self.lines, self.dram, self.dram.completion
        kept = Signal.like(lines.request.payload)
        busy, offers, taken = Signal(), Signal(), Signal()
        m.d.comb += [
            lines.request.ready.eq(~busy & (self.fault == 0)),
            taken.eq(lines.request.valid & lines.request.ready), self.taken.eq(taken),
            self.idle.eq(~busy & ~lines.request.valid & (self.fault == 0)),
            self.over.eq(completion.valid),
            dram.request.valid.eq(offers), dram.request.payload.count.eq(1),
            dram.request.payload.x.eq(kept.line << ceil_log2(BURST_WORDS)),
            dram.request.payload.words.eq(BURST_WORDS),
            dram.request.payload.write.eq(kept.write),
            dram.request.payload.destination.eq(Destination.SCRATCHPAD),
            lines.response.payload.id.eq(kept.id), lines.response.payload.data.eq(kept.data),
        ]
        m.d.sync += lines.response.valid.eq(completion.valid & (completion.payload == 0)
                                            & ~kept.write)
        with m.If(taken):
            m.d.sync += [kept.eq(lines.request.payload), busy.eq(1), offers.eq(1)]
        with m.Elif(dram.request.ready):
            m.d.sync += offers.eq(0)
        with m.If(completion.valid):
            m.d.sync += busy.eq(0)
            with m.If(self.fault == 0):
                m.d.sync += self.fault.eq(completion.payload)
        self._move(m, kept)
        return m

    def _move(self, m, kept):
        """Words of this line, by the row of a beat that their targets name."""
        deliver, fetch, store = self.dram.deliver, self.dram.fetch, self.dram.store
        rows = range(BURST_WORDS // BEAT_WORDS)
        row = Signal(data.ArrayLayout(unsigned(ceil_log2(len(rows))), BEAT_WORDS))
        for lane in range(BEAT_WORDS):
            into = deliver.payload.targets[lane][2:]
            with m.If(deliver.valid & deliver.payload.enable[lane]), m.Switch(into):
                for number in rows:
                    with m.Case(number):
                        m.d.sync += kept.data[number * BEAT_WORDS + lane].eq(
                            deliver.payload.words[lane])
            m.d.sync += [
                row[lane].eq(fetch.payload.targets[lane][2:]),
                store.words[lane].eq(Array(kept.data[number * BEAT_WORDS + lane]
                                           for number in rows)[row[lane]]),
                store.enable[lane].eq(Array(kept.mask[number * BEAT_WORDS + lane]
                                            for number in rows)[row[lane]]),
            ]
