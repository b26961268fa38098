"""Bound checker of the transfer unit: one transfer a slot, within its buffer, one DRAM transfer
at a time."""

from amaranth.hdl import Array, Assert, Cat, Cover, Module, Mux, Signal
from amaranth.utils import ceil_log2

from cyclebound.golden.dram.request import BUFFERS, COUNT_BITS, Destination
from cyclebound.golden.simd.machine import SLOTS
from cyclebound.tb.assumed import owes
from cyclebound.tb.simd.machine_watcher import MachineWatcher
from cyclebound.tb.watcher import delayed

__all__ = ["TransferUnitCheck", "TransferUnitProof"]

_AHEAD = 4  # requests that the controller has taken and not completed, at most
_SETUP = 4  # clocks from an access to its job


class TransferUnitCheck(MachineWatcher):
    """Follows which slot transfers, and the dimensions of all DRAM buffers.

    Assumes what compute unit and scheduler see to: a slot shows an access after the completion of
    the one before, for a whole compute cycle; a turn does not end before its access does.
    """

    def __init__(self, target):
        super().__init__(target)
        self.broken = Signal()  # in a proof: a scratchpad has broken a rule

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
        claims = [
            ((done & ~now) == 0, "a completion of no access"),
            ((waits & ~done) == 0, "a completion goes before it was taken"),
            ((words & ~now) == 0, "words for registers of a slot that does not transfer"),
            ((words & stores_now) == 0, "a store writes registers"),
            ((asked & ~stores_now) == 0, "items are asked for words, and it is no store"),
            ((asked & ~chip_now & ~self.fetch.valid.replicate(SLOTS)) == 0,
             "DRAM has not asked for words of items"),
            ((words & ~chip_now & ~self.deliver.valid.replicate(SLOTS)) == 0,
             "words of DRAM that it has not delivered"),
            (~(words & ~chip_now).all(), "one word of DRAM for both slots"),
            (~self.request.valid | asks.any(), "a request out of its turn"),
            (~self.quiet | ~busy.any() | (done | ~busy).all(), "quiet, and not"),
        ]
        m.d.sync += [
            owes((shown & busy) == 0, "an access within an access"),
            *(Assert(self.broken | fact, says) for fact, says in claims),
            Cover(words.all(), "both slots get words"),
            *([Cover(captured.any(), "words pass the registers")] if self.machine.snoopy else []),
            Cover(self.request.valid & (now == 3) & ~chip_now.any(), "two accesses to DRAM"),
        ]
        self._tiles(m)
        return m

    def _tiles(self, m):
        """Claim that a request stays within its buffer."""
        sizes = Array(Signal(2 * COUNT_BITS, name=f"size_{number}") for number in range(BUFFERS))
        write, request = self.buffer_write, self.request.payload
        for number, size in enumerate(sizes):
            with m.If(write.valid & (write.payload.number == number)):
                m.d.sync += size.eq(write.payload.size)
        right, bottom = Signal(COUNT_BITS + 1), Signal(COUNT_BITS + 1)
        m.d.comb += [right.eq(request.x + request.words), bottom.eq(request.y + request.count)]
        tile = self.request.valid & ~request.indexed & (request.words != 0) & (request.count != 0)
        size = sizes[request.buffer[:ceil_log2(BUFFERS)]]
        m.d.sync += [
            Assert(~tile | (right <= size[:COUNT_BITS]), "it leaves a line of its buffer"),
            Assert(~tile | (bottom <= size[COUNT_BITS:]), "it leaves its buffer's lines"),
        ]


class TransferUnitProof(TransferUnitCheck):
    """`TransferUnitCheck`, whatever scratchpads move and jobs ask for; and what is quiet has no
    request under way. That requests stay within their buffers is said of `AccessSetup`.

    Assumes of the controller that it completes, and moves words of, the oldest request that it has
    taken, and takes no more than the unit knows. Claims nothing from the first cycle on in which
    the setup has no job, or another resource or direction, four clocks after an access, or a
    scratchpad moves words of no job, or the other way.

    Parameters
    ----------
    target : TransferUnit
        The unit.

    Members
    -------
    All ports of the target, as inputs.
    """

    def __init__(self, target):
        super().__init__(target)
        self._setup, self._scratchpads = target.setup, target.scratchpads

    def _tiles(self, m):
        pass

    def elaborate(self, platform):
        m = super().elaborate(platform)
        request = self.request
        taken, completed = request.valid & request.ready, self.completed.valid
        pending, writes = Signal(range(_AHEAD + 1)), Signal(_AHEAD)  # the oldest one first
        left, older = Signal.like(pending), Signal.like(writes)
        m.d.comb += [left.eq(pending - completed), older.eq(Mux(completed, writes >> 1, writes))]
        m.d.sync += [
            pending.eq(left + taken),
            writes.eq(older | Mux(taken & request.payload.write, 1 << left, 0)),
            owes(~completed | (pending != 0), "a completion of no request"),
            owes(~request.ready | (pending != _AHEAD), "more requests than the controller takes"),
            owes(~self.deliver.valid | ((pending != 0) & ~writes[0]), "words of no request"),
            owes(~self.fetch.valid | ((pending != 0) & writes[0]), "words for no request"),
            Assert(self.broken | ~self.quiet | (left == 0), "quiet, and a request is under way"),
        ]
        breaks, job = [], self._setup.job.payload
        access = self._setup.access
        asked = delayed(m, Cat(access.valid, access.payload.slot, access.payload.scratchpad,
                               access.payload.store), _SETUP)
        own = Cat(self._setup.job.valid, self._setup.slot, job.scratchpad, job.write)
        of_chip = job.destination == Destination.SCRATCHPAD
        breaks += [own[0] != asked[0], own[0] & (own != asked),
                   own[0] & ((of_chip & job.scratchpad)
                             | (job.cam != (job.destination == Destination.CAM)))]
        for number, scratchpad in enumerate(self._scratchpads):
            runs, now = Signal(name=f"runs_{number}"), Signal(name=f"runs_now_{number}")
            m.d.comb += now.eq(runs | scratchpad.go)
            m.d.sync += runs.eq(now & ~scratchpad.done)
            loads, stores = scratchpad.deliver.valid, scratchpad.ask.valid
            breaks += [(scratchpad.done | loads | stores) & ~now,
                       Mux(scratchpad.tile.write, loads, stores)]
        kept = Signal()
        m.d.comb += self.broken.eq(kept | Cat(breaks).any())
        m.d.sync += kept.eq(self.broken)
        return m
