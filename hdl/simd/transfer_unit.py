"""Transfer unit: between committed accesses, the memories and the registers.

    access -> access setup -> job of a slot --> dram.controller     words --> registers of a slot
                                            --> scratchpad of a slot      --> scratchpad of a slot

A slot has one access under way. Its job is set up while the access may have to wait for its turn.
DRAM serves requests in the order of their commits; words of a request come and go before its
completion, and after that of the request before, so that the oldest request is the one whose words
are under way.

Each part is a component of its own: `AccessJobs` keeps the slots' jobs, `DramRequester` and
`IndexSource` ask DRAM for their words, a `SlotTransfer` passes on those of a slot, and
`StoreAnswer` those that DRAM stores. Here they are put together, with setup and scratchpads.

Ref: Sim-D, sections 3.2 and 3.3.
"""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.dram.request import BUFFERS, Destination
from cyclebound.golden.simd.machine import SLOTS, machine_named
from cyclebound.hdl.dram.layouts import (
    Beat,
    BufferRequest,
    FetchLayout,
    IndexLayout,
    StoreLayout,
)
from cyclebound.hdl.interfaces import Strobe, drive, pass_through
from cyclebound.hdl.parameters import check_power_of_two
from cyclebound.hdl.simd.access_jobs import AccessJobs
from cyclebound.hdl.simd.access_setup import AccessSetup, BufferSize, JobLayout, ScratchpadBuffer
from cyclebound.hdl.simd.cleared_table import ClearedTable
from cyclebound.hdl.simd.dram_requester import DramRequester
from cyclebound.hdl.simd.index_source import IndexSource
from cyclebound.hdl.simd.interfaces import (
    AccessLayout,
    CompletionLayout,
    GridLayout,
    IndexWriteLayout,
    Transfer,
)
from cyclebound.hdl.simd.scratchpad import Scratchpad
from cyclebound.hdl.simd.slot_transfer import SlotTransfer
from cyclebound.hdl.simd.store_answer import StoreAnswer

__all__ = ["TransferUnit"]


class TransferUnit(wiring.Component):
    """Moves the words of accesses, and reports their ends.

    Latency: the request of an access whose turn has come reaches its memory five cycles after
    ``access``; its completion is shown from the cycle in which the memory is done until the compute
    unit moves.

    Parameters
    ----------
    machine : Machine or str
        Sizes: at least as many lanes as words move in a clock, those of a beat or of a
        scratchpad's bus.
    words : int
        Positions of the transfer ports: a power of two, from as many as words move in a clock to
        the machine's lanes.

    Members
    -------
    stall : In(1)
        As of the compute unit, whose outputs and inputs stay while it is set.
    access, completion, transfer, active, index_write
        As of the compute unit, see `cyclebound.hdl.simd.interfaces`.
    grid : In(GridLayout)
        The kernel's.
    begin : In(2)
        Slots whose access need not wait.
    buffer_write : In(Strobe): ``number``, ``size``
        Dimensions of a DRAM buffer.
    chip_write : In(Strobe): ``number``, ``buffer``
        A scratchpad buffer.
    request, indexes, completed, deliver, fetch, store, started
        Of the DRAM controller, in its directions.
    query : In(5), queried : Out(BufferSize)
        Dimensions of a DRAM buffer.
    quiet : Out(1)
        No access is under way.
    """

    def __init__(self, *, machine, words):
        self.machine = machine_named(machine)
        self.words = words
        least = self.machine.words_moved
        if self.machine.lanes < least:
            raise ValueError(f"lanes must be at least {least}, as many as words move in a clock, "
                             f"not {self.machine.lanes}")
        check_power_of_two("words", words, least, self.machine.lanes)
        self.setup = AccessSetup(machine=self.machine)
        self.scratchpads = [Scratchpad(bus=self.machine.scratchpad_bus,
                                       words=self.machine.scratchpad_words)
                            for _ in range(SLOTS)]
        number = ceil_log2(BUFFERS)
        super().__init__({
            "stall": In(1), "access": In(Strobe(AccessLayout())),
            "completion": Out(Strobe(CompletionLayout())).array(SLOTS),
            "transfer": Out(Transfer(machine=self.machine, words=words)).array(SLOTS),
            "active": In(self.machine.items).array(SLOTS),
            "index_write": In(Strobe(IndexWriteLayout(machine=self.machine))),
            "grid": In(GridLayout(machine=self.machine)), "begin": In(SLOTS),
            "buffer_write": In(Strobe(data.StructLayout({
                "number": number, "size": data.Layout.cast(BufferSize)}))),
            "chip_write": In(Strobe(data.StructLayout({
                "number": number, "buffer": data.Layout.cast(ScratchpadBuffer)}))),
            "request": Out(stream.Signature(data.Layout.cast(BufferRequest))),
            "indexes": Out(stream.Signature(data.Layout.cast(IndexLayout))),
            "completed": In(Strobe(unsigned(3))), "deliver": In(Strobe(Beat)),
            "fetch": In(Strobe(FetchLayout)), "store": Out(data.Layout.cast(StoreLayout)),
            "started": In(1), "query": In(number),
            "queried": Out(data.Layout.cast(BufferSize)), "quiet": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.setup = setup = self.setup
        m.submodules.jobs = jobs = AccessJobs()
        m.submodules.requester = requester = DramRequester()
        m.submodules.index_source = index_source = IndexSource(machine=self.machine)
        starts, done, failed = (Signal(SLOTS, name=name) for name in ("starts", "done", "failed"))

        # -- an access is shown for a cycle of the compute clock: the first of ours counts ------
        first, access = Signal(init=1), self.access.payload
        m.d.sync += first.eq(~self.stall)
        m.d.comb += [
            setup.access.valid.eq(self.access.valid & first), setup.access.payload.eq(access),
            jobs.access.valid.eq(setup.access.valid), jobs.access.payload.eq(access.slot),
            jobs.job_slot.eq(setup.slot), jobs.next_line.eq(requester.next_line),
            jobs.starts.eq(requester.starts | starts), jobs.done.eq(requester.done | done),
        ]
        pass_through(m, self, setup, "grid")
        pass_through(m, self, jobs, "quiet")
        wiring.connect(m, setup.job, jobs.job)
        self._look_up_buffers(m, setup, access)

        # -- DRAM ------------------------------------------------------------------------------
        m.d.comb += [
            requester.waiting.eq(jobs.waiting), requester.oldest.eq(jobs.oldest),
            requester.out_of_range.eq(index_source.out_of_range),
            index_source.latest.eq(requester.latest),
            index_source.indexed.eq(Cat(job.indexed for job in jobs.jobs)),
            index_source.running.eq(jobs.running), index_source.done.eq(requester.done),
        ]
        drive(m, requester.jobs, jobs.jobs)
        pass_through(m, self, requester, "begin", "request", "completed")
        pass_through(m, self, index_source, "started", "active", "index_write", "indexes")

        for slot, scratchpad in enumerate(self.scratchpads):
            m.submodules[f"scratchpad_{slot}"] = scratchpad
            job, tile = jobs.jobs[slot], Signal(JobLayout, name=f"tile_{slot}")
            m.d.comb += [
                scratchpad.prepare.eq(setup.job.valid & (setup.slot == slot)),
                tile.eq(Mux(scratchpad.prepare, setup.job.payload, job)),
                *(scratchpad.tile[name].eq(tile[name]) for name in (
                    "address", "words", "period", "count", "base", "pitch", "restart", "write")),
                # a job with a fault is over at once, whatever its memory
                starts[slot].eq(jobs.waiting[slot] & (job.scratchpad | job.fault)
                                & self.begin[slot]),
                scratchpad.go.eq(starts[slot] & ~job.fault),
                done[slot].eq(scratchpad.done | (starts[slot] & job.fault)),
                failed[slot].eq(done[slot] & job.fault),
            ]
        self._move_words(m, jobs, requester.owner)

        # -- completions wait for the compute clock --------------------------------------------
        for slot, completion in enumerate(self.completion):
            held, faulty = Signal(name=f"held_{slot}"), Signal(name=f"faulty_{slot}")
            m.d.comb += [
                completion.valid.eq(jobs.done[slot] | held),
                completion.payload.fault.eq(requester.failed[slot] | failed[slot]
                                            | (held & faulty)),
            ]
            m.d.sync += [held.eq(completion.valid & self.stall),
                         faulty.eq(completion.payload.fault)]
        return m

    def _look_up_buffers(self, m, setup, access):
        """Sizes of buffers: both are needed in the cycle of an access."""
        number = Mux(access.scratchpad, access.buffer, access.target[:ceil_log2(BUFFERS)])
        for name, shape, write, field, addresses, entries in (
                ("sizes", BufferSize, self.buffer_write, "size", (access.buffer, self.query),
                 (setup.buffer, self.queried)),
                ("chips", ScratchpadBuffer, self.chip_write, "buffer", (number,), (setup.chip,))):
            m.submodules[name] = table = ClearedTable(
                shape=data.Layout.cast(shape), depth=BUFFERS, reads=len(entries))
            m.d.comb += [
                table.write.valid.eq(write.valid),
                table.write.payload.address.eq(write.payload.number),
                table.write.payload.entry.eq(write.payload[field]),
                *(entry.eq(read) for entry, read in zip(entries, table.entry, strict=True)),
            ]
            drive(m, table.address, list(addresses))

    def _move_words(self, m, jobs, owner):
        """Words between DRAM or scratchpads and registers."""
        m.submodules.store_answer = answer = StoreAnswer()
        pass_through(m, self, answer, "store")
        m.d.comb += [answer.owner.eq(owner), answer.from_scratchpad.eq(
            Array(jobs.jobs)[owner].destination == Destination.SCRATCHPAD)]
        for slot, (scratchpad, job) in enumerate(zip(self.scratchpads, jobs.jobs, strict=True)):
            m.submodules[f"transfer_{slot}"] = part = SlotTransfer(
                machine=self.machine, positions=self.words)
            deliver, fetch, mine = self.deliver, self.fetch, owner == slot
            loads = deliver.valid & mine & ~job.scratchpad
            stores = fetch.valid & mine & ~job.scratchpad
            m.d.comb += [
                part.job.eq(job), part.running.eq(jobs.running[slot]),
                part.active.eq(self.active[slot]),
                part.deliver.valid.eq(loads), part.deliver.payload.eq(deliver.payload),
                part.fetch.valid.eq(stores), part.fetch.payload.eq(fetch.payload),
                scratchpad.answer.eq(part.answered),
                answer.answered[slot].enable.eq(part.answered.enable),
                *(word.eq(answered) for word, answered in
                  zip(answer.answered[slot].words, part.answered.words, strict=False)),
                answer.fetched[slot].eq(scratchpad.fetched),
            ]
            wiring.connect(m, scratchpad.deliver, part.line)
            wiring.connect(m, scratchpad.ask, part.line_query)
            wiring.connect(m, part.store, scratchpad.store)
            wiring.connect(m, part.query, scratchpad.fetch)
            wiring.connect(m, wiring.flipped(self.transfer[slot]), part.transfer)
