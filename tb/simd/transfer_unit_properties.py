"""Bound checker of the transfer unit: one transfer a slot, within its buffer, one DRAM transfer
at a time."""

from amaranth.hdl import Array, Assert, Cat, Cover, Module, Mux, Signal
from amaranth.utils import ceil_log2

from cyclebound.golden.dram.request import BUFFERS, COUNT_BITS
from cyclebound.golden.simd.machine import SLOTS
from cyclebound.tb.assumed import owes
from cyclebound.tb.simd.machine_watcher import MachineWatcher

__all__ = ["TransferUnitCheck"]


class TransferUnitCheck(MachineWatcher):
    """Follows which slot transfers, and the dimensions of all DRAM buffers.

    Assumes what compute unit and scheduler see to: a slot shows an access after the completion of
    the one before, for a whole compute cycle; a turn does not end before its access does.
    """

    def elaborate(self, platform):
        m = Module()
        access = self.access.payload
        first = Signal(init=1)  # of a compute cycle
        m.d.sync += first.eq(~self.stall)
        shown = Signal(SLOTS)
        m.d.comb += shown.eq(Mux(self.access.valid & first, 1 << access.slot, 0))
        busy, of_chip, stores = (Signal(SLOTS, name=name) for name in
                                 ("busy", "of_chip", "stores"))
        now, chip_now, stores_now = (Signal(SLOTS, name=f"{name}_now") for name in
                                     ("busy", "of_chip", "stores"))
        done = Cat(completion.valid for completion in self.completion)
        m.d.comb += [
            now.eq(busy | shown),
            chip_now.eq(Mux(access.scratchpad, of_chip | shown, of_chip & ~shown)),
            stores_now.eq(Mux(access.store, stores | shown, stores & ~shown)),
        ]
        m.d.sync += [busy.eq(Mux(self.stall, now, now & ~done)), of_chip.eq(chip_now),
                     stores.eq(stores_now)]

        sizes = Array(Signal(2 * COUNT_BITS, name=f"size_{number}") for number in range(BUFFERS))
        write, request = self.buffer_write, self.request.payload
        for number, size in enumerate(sizes):
            with m.If(write.valid & (write.payload.number == number)):
                m.d.sync += size.eq(write.payload.size)
        right, bottom = Signal(COUNT_BITS + 1), Signal(COUNT_BITS + 1)
        m.d.comb += [right.eq(request.x + request.words), bottom.eq(request.y + request.count)]
        tile = self.request.valid & ~request.indexed & (request.words != 0) & (request.count != 0)
        size = sizes[request.buffer[:ceil_log2(BUFFERS)]]

        written, scalars, captured = Signal(SLOTS), Signal(SLOTS), Signal(SLOTS)
        asked = Signal(SLOTS)  # of items, for words with their indexes
        waits = Signal(SLOTS)
        m.d.sync += waits.eq(done & self.stall.replicate(SLOTS))
        for slot, port in enumerate(self.transfer):
            m.d.comb += [written[slot].eq(Cat(entry.enable for bank in port.write
                                              for entry in bank).any()),
                         scalars[slot].eq(Cat(entry.enable for entry in port.scalars).any()),
                         ]
            if self.machine.snoopy:
                m.d.comb += [captured[slot].eq(port.snoop.load & port.snoop.enable.any()),
                             asked[slot].eq(~port.snoop.load & port.snoop.enable.any())]
        words = written | scalars | captured
        asks = now & ~chip_now & self.begin
        m.d.sync += [
            owes((shown & busy) == 0, "an access within an access"),
            Assert((done & ~now) == 0, "a completion of no access"),
            Assert((waits & ~done) == 0, "a completion goes before it was taken"),
            Assert((words & ~now) == 0, "words for registers of a slot that does not transfer"),
            Assert((words & stores_now) == 0, "a store writes registers"),
            Assert((asked & ~stores_now) == 0, "items are asked for words, and it is no store"),
            Assert((asked & ~chip_now & ~self.fetch.valid.replicate(SLOTS)) == 0,
                   "DRAM has not asked for words of items"),
            Assert((words & ~chip_now & ~self.deliver.valid.replicate(SLOTS)) == 0,
                   "words of DRAM that it has not delivered"),
            Assert(~(words & ~chip_now).all(), "one word of DRAM for both slots"),
            Assert(~self.request.valid | asks.any(), "a request out of its turn"),
            Assert(~tile | (right <= size[:COUNT_BITS]), "it leaves a line of its buffer"),
            Assert(~tile | (bottom <= size[COUNT_BITS:]), "it leaves its buffer's lines"),
            Assert(~self.quiet | ~busy.any() | (done | ~busy).all(), "quiet, and not"),
            Cover(words.all(), "both slots get words"),
            *([Cover(captured.any(), "words pass the registers")] if self.machine.snoopy else []),
            Cover(self.request.valid & (now == 3) & ~chip_now.any(), "two accesses to DRAM"),
        ]
        return m
