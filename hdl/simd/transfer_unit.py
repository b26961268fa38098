"""Transfer unit: between committed accesses, the memories and the registers.

    access -> access setup -> job of a slot --> dram.controller     words --> registers of a slot
                                            --> scratchpad of a slot      --> scratchpad of a slot

A slot has one access under way. Its job is set up while the access may have to wait for its turn.
DRAM serves requests in the order of their commits; words of a request come and go before its
completion, and after that of the request before, so that the oldest request is the one whose words
are under way.

Ref: Sim-D, sections 3.2 and 3.3.
"""

from functools import reduce
from itertools import zip_longest
from operator import or_

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from cyclebound.golden.dram.request import (
    BEAT_WORDS,
    BUFFERS,
    COUNT_BITS,
    TARGET_BITS,
    WORD_BITS,
    Destination,
    Refusal,
)
from cyclebound.golden.simd.machine import SCALARS, SLOTS, machine_named
from cyclebound.hdl.dram.layouts import (
    Beat,
    BufferRequest,
    FetchLayout,
    IndexLayout,
    StoreLayout,
)
from cyclebound.hdl.interfaces import Strobe
from cyclebound.hdl.selection import Selection
from cyclebound.hdl.simd.access_setup import AccessSetup, BufferSize, JobLayout, ScratchpadBuffer
from cyclebound.hdl.simd.interfaces import (
    REGISTER_BANKS,
    AccessLayout,
    CompletionLayout,
    GridLayout,
    IndexWriteLayout,
    Transfer,
)
from cyclebound.hdl.simd.scratchpad import Scratchpad

__all__ = ["TransferUnit"]

_SCALAR_BITS = ceil_log2(2 * SCALARS)  # of a target that may lie beyond the last register
_BANK_BITS = ceil_log2(REGISTER_BANKS)
_AHEAD = 4  # requests that the controller has taken and not completed, at most


class TransferUnit(wiring.Component):
    """Moves the words of accesses, and reports their ends.

    Latency: the request of an access whose turn has come reaches its memory five cycles after
    ``access``; its completion is shown from the cycle in which the memory is done until the compute
    unit moves.

    Parameters
    ----------
    machine : Machine or str
        Sizes.
    words : int
        Positions of the transfer ports: at least the words of a beat and of a scratchpad's bus,
        which have to move in one clock.

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
        if words < least:
            raise ValueError(f"words must be at least {least}, as many as move in a clock, not "
                             f"{words!r}")
        self._group_bits = ceil_log2(self.machine.items // words)
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
        for slot, scratchpad in enumerate(self.scratchpads):
            m.submodules[f"scratchpad_{slot}"] = scratchpad

        # -- an access is shown for a cycle of the compute clock: the first of ours counts ------
        first = Signal(init=1)
        m.d.sync += first.eq(~self.stall)
        access = self.access.payload
        m.d.comb += [setup.access.valid.eq(self.access.valid & first),
                     setup.access.payload.eq(access), setup.grid.eq(self.grid)]
        self._tables(m, setup, access)

        # -- jobs ------------------------------------------------------------------------------
        self._jobs = [Signal(JobLayout, name=f"job_{slot}") for slot in range(SLOTS)]
        self._waits = Signal(SLOTS)      # with a job that has not begun
        self._running = Signal(SLOTS)    # with one that has
        self._older = Signal(range(SLOTS))  # the slot whose access was committed first
        self._done, self._failed = Signal(SLOTS), Signal(SLOTS)
        taken = setup.access.valid
        coming = Signal(SLOTS)           # being set up
        with m.If(taken):
            m.d.sync += coming.bit_select(access.slot, 1).eq(1)
            busy = (coming | self._waits | self._running) & ~self._done
            m.d.sync += self._older.eq(Mux(busy.bit_select(~access.slot, 1), ~access.slot,
                                           access.slot))
        with m.Elif(self._done.any()):
            m.d.sync += self._older.eq(Mux(self._done[0], 1, 0))
        for slot in range(SLOTS):
            with m.If(setup.job.valid & (setup.slot == slot)):
                m.d.sync += [self._jobs[slot].eq(setup.job.payload), self._waits[slot].eq(1),
                             coming[slot].eq(0)]
        m.d.comb += self.quiet.eq(~(coming | self._waits | self._running).any() & ~taken)

        self._dram(m)
        self._chip(m, setup)
        self._words(m)

        # -- completions wait for the compute clock --------------------------------------------
        for slot in range(SLOTS):
            done, failed = self._done[slot], self._failed[slot]
            kept, wrong = Signal(name=f"kept_{slot}"), Signal(name=f"wrong_{slot}")
            completion = self.completion[slot]
            m.d.comb += [completion.valid.eq(done | kept),
                         completion.payload.fault.eq((done & failed) | (kept & wrong))]
            m.d.sync += [kept.eq(completion.valid & self.stall),
                         wrong.eq(completion.payload.fault)]
        return m

    def _tables(self, m, setup, access):
        """Sizes of buffers: both are needed in the cycle of an access."""
        chip = Mux(access.scratchpad, access.buffer, access.target[:ceil_log2(BUFFERS)])
        size, queried = self._table(m, "sizes", self.buffer_write, "size",
                                    (access.buffer, self.query))
        shown, = self._table(m, "chips", self.chip_write, "buffer", (chip,))
        m.d.comb += [setup.buffer.eq(size), setup.chip.eq(shown), self.queried.eq(queried)]

    @staticmethod
    def _table(m, name, write, field, numbers):
        """A buffer of each number, as it was written; with nothing in it since a reset, 0."""
        shape = write.payload.shape()[field].shape
        m.submodules[name] = memory = Memory(shape=shape, depth=BUFFERS, init=[])
        port, there = memory.write_port(), Signal(BUFFERS, name=f"{name}_there")
        m.d.comb += [port.en.eq(write.valid), port.addr.eq(write.payload.number),
                     port.data.eq(write.payload[field])]
        with m.If(write.valid):
            m.d.sync += there.bit_select(write.payload.number, 1).eq(1)
        found = []
        for place, number in enumerate(numbers):
            read = memory.read_port(domain="comb")
            entry = Signal(shape, name=f"{name}_{place}")
            m.d.comb += [read.addr.eq(number),
                         entry.eq(Mux(there.bit_select(number, 1), read.data.as_value(), 0))]
            found.append(entry)
        return found

    # -- DRAM ----------------------------------------------------------------------------------

    def _dram(self, m):
        """Requests in the order of commits; which slot's words are under way."""
        request = self.request
        line = [Signal(COUNT_BITS, name=f"line_{slot}") for slot in range(SLOTS)]
        of_dram = Cat(~job.scratchpad & ~job.fault for job in self._jobs)
        wants, mine = self._waits & of_dram & self.begin, Signal(range(SLOTS))
        asking, ask = Signal(), Signal(SLOTS)
        # the younger one's may not pass an older one that is not with the controller yet
        holds = Signal(SLOTS)
        m.d.comb += [
            holds.eq(Cat(self._waits[1] & (self._older == 1) & of_dram[1],
                         self._waits[0] & (self._older == 0) & of_dram[0])),
            ask.eq(wants & ~holds), mine.eq(~ask[0]), asking.eq(ask.any()),
            request.valid.eq(asking),
        ]
        entered = request.valid & request.ready
        owners = Array(Signal(range(SLOTS), name=f"owner_{number}") for number in range(_AHEAD))
        ends = Array(Signal(name=f"ends_{number}") for number in range(_AHEAD))
        head, tail = Signal(range(_AHEAD)), Signal(range(_AHEAD))
        self._owner = Signal(range(SLOTS))
        self._last = Signal(range(SLOTS))  # whose request the controller took last
        m.d.comb += self._owner.eq(owners[head])
        for slot, job in enumerate(self._jobs):
            last = ~job.split | (line[slot] + 1 == job.count)
            with m.If(mine == slot):
                fields = {name: job[name] for name in (
                    "buffer", "x", "words", "indexed", "write", "destination", "pitch",
                    "transform")}
                m.d.comb += [
                    *(request.payload[name].eq(value) for name, value in fields.items()),
                    request.payload.y.eq(job.y + line[slot]),
                    request.payload.count.eq(Mux(job.split, 1, job.count)),
                    request.payload.base.eq(job.base),
                ]
                with m.If(entered):
                    m.d.sync += [owners[tail].eq(slot), ends[tail].eq(last), tail.eq(tail + 1),
                                 self._last.eq(slot), line[slot].eq(line[slot] + 1),
                                 job.base.eq(job.base + job.pitch)]
                    with m.If(last):
                        m.d.sync += [self._waits[slot].eq(0), self._running[slot].eq(1)]
            with m.If(self._waits[slot] == 0):
                m.d.sync += line[slot].eq(0)
        completed, verdict = self.completed.valid, self.completed.payload
        pending = Signal(range(_AHEAD + 1))
        own = completed & (pending != 0)  # others' are the program's
        m.d.sync += pending.eq(pending + entered - own)
        self._far = Signal(SLOTS)  # an index has more bits than the controller's
        with m.If(own):
            m.d.sync += head.eq(head + 1)
            for slot in range(SLOTS):
                with m.If((self._owner == slot) & ends[head]):
                    m.d.comb += [
                        self._done[slot].eq(1),
                        self._failed[slot].eq(~verdict.matches(Refusal.NONE, Refusal.EMPTY)
                                              | self._far[slot]),
                    ]
                    m.d.sync += [self._running[slot].eq(0), self._far[slot].eq(0)]
        self._index(m)

    def _index(self, m):
        """Lanes of the request that was started last, one in each cycle, active or not.

        What the controller does not take at once waits in a queue, so that lanes are examined
        without a pause.
        """
        items = self.machine.items
        item, examining = Signal(range(items + 1)), Signal()
        shown, shown_item = Signal(), Signal(range(items + 1))
        last, job = self._last, Array(self._jobs)[self._last]
        starts = self.started & job.indexed & self._running.bit_select(last, 1)
        slot = Signal(range(SLOTS))  # kept: the controller takes the next request meanwhile
        with m.If(starts):
            m.d.sync += slot.eq(last)
        m.d.comb += examining.eq(starts | (item != 0))
        with m.If(examining):
            m.d.sync += item.eq(Mux(item == items, 0, item + 1))
        m.d.sync += [shown.eq(examining), shown_item.eq(item)]
        # A copy of `mem_idx`, which only the pipeline writes: the registers' own would be in the
        # way of the words that a store asks for meanwhile.
        lanes = self.machine.lanes
        indexes = []
        write = self.index_write
        for number in range(SLOTS):
            m.submodules[f"copy_{number}"] = copy = Memory(
                shape=data.ArrayLayout(unsigned(WORD_BITS), lanes), depth=self.machine.warps,
                init=[])
            into, read = copy.write_port(granularity=1), copy.read_port()
            m.d.comb += [into.addr.eq(write.payload.warp), into.data.eq(write.payload.item),
                         into.en.eq(Mux(write.valid & ~write.payload.is_data
                                        & (write.payload.slot == number),
                                        write.payload.enable, 0)),
                         read.addr.eq(item >> ceil_log2(lanes))]
            indexes.append(read.data)
        index = Signal(WORD_BITS)
        m.d.comb += index.eq(Array(indexes)[slot][shown_item[:ceil_log2(lanes)]])
        active = Array(self.active)[slot].bit_select(shown_item[:ceil_log2(items)], 1)
        element = Signal(IndexLayout)
        far, valid, end = index[COUNT_BITS:30].any(), Signal(), shown_item == items
        m.d.comb += [valid.eq(shown & (end | (active & ~far))), element.index.eq(index),
                     element.target.eq(shown_item), element.end.eq(end)]
        with m.If(shown & ~end & active & far):
            m.d.sync += self._far.bit_select(slot, 1).eq(1)

        m.submodules.queue = queue = Memory(shape=IndexLayout, depth=items, init=[])
        write, read = queue.write_port(), queue.read_port(domain="comb")
        head, tail, count = Signal(range(items)), Signal(range(items)), Signal(range(items + 1))
        direct = count == 0
        leaves, enters = Signal(), Signal()
        m.d.comb += [
            self.indexes.valid.eq(valid | ~direct),
            self.indexes.payload.eq(Mux(direct, element, read.data)),
            leaves.eq(self.indexes.valid & self.indexes.ready),
            enters.eq(valid & ~(direct & self.indexes.ready)),
            write.addr.eq(tail), write.data.eq(element), write.en.eq(enters), read.addr.eq(head),
        ]
        m.d.sync += [tail.eq(tail + enters), head.eq(head + (leaves & ~direct)),
                     count.eq(count + enters - (leaves & ~direct))]

    # -- scratchpads ---------------------------------------------------------------------------

    def _chip(self, m, setup):
        """A slot's own scratchpad: it begins when it is its turn."""
        for slot, (scratchpad, job) in enumerate(zip(self.scratchpads, self._jobs, strict=True)):
            fresh = setup.job.valid & (setup.slot == slot)
            ready = Signal(name=f"prepared_{slot}")
            tile, offered = scratchpad.tile, setup.job.payload
            chosen = Signal(JobLayout, name=f"tile_of_{slot}")
            m.d.comb += [
                chosen.eq(Mux(fresh, offered, job)), scratchpad.prepare.eq(fresh),
                *(tile[name].eq(chosen[name]) for name in (
                    "address", "words", "period", "count", "base", "pitch", "restart", "write")),
            ]
            goes = Signal(name=f"goes_{slot}")
            m.d.comb += [
                goes.eq(self._waits[slot] & (job.scratchpad | job.fault) & self.begin[slot]),
                scratchpad.go.eq(goes & ~job.fault),
                ready.eq(goes),
            ]
            with m.If(goes):
                m.d.sync += [self._waits[slot].eq(0), self._running[slot].eq(1)]
            with m.If(scratchpad.done | (goes & job.fault)):
                m.d.comb += [self._done[slot].eq(1), self._failed[slot].eq(job.fault)]
                m.d.sync += [self._running[slot].eq(0)]

    # -- words ---------------------------------------------------------------------------------

    def _words(self, m):
        """Words between DRAM or scratchpads and registers."""
        owner, deliver, fetch = self._owner, self.deliver, self.fetch
        beats = []
        for slot, (port, scratchpad, job) in enumerate(zip(self.transfer, self.scratchpads,
                                                           self._jobs, strict=True)):
            mine = owner == slot
            loads = deliver.valid & mine & ~job.scratchpad
            stores = fetch.valid & mine & ~job.scratchpad
            to_chip = job.destination == Destination.SCRATCHPAD
            for side, valid, stream_ in ((scratchpad.store, loads, deliver),
                                         (scratchpad.fetch, stores, fetch)):
                m.d.comb += [side.valid.eq(valid & to_chip),
                             side.payload.enable.eq(stream_.payload.enable),
                             side.payload.targets.eq(stream_.payload.targets)]
            m.d.comb += scratchpad.store.payload.words.eq(deliver.payload.words)

            if self.machine.snoopy:
                self._snoop(m, slot, loads, stores)

            # The words of a job are those of beats or of a scratchpad's lines, so that both take
            # the same paths to the registers and back.
            into = self._either(m, f"into_{slot}", job, deliver, loads & ~to_chip,
                                scratchpad.deliver)
            self._load(m, f"into_{slot}", port, job, self.active[slot], into)
            out_of = self._either(m, f"out_of_{slot}", job, fetch, stores, scratchpad.ask)
            answers = self._fetch(m, f"out_of_{slot}", port, job, self.active[slot], out_of)
            if self.machine.snoopy:
                answers = [(Mux(job.cam, port.held.enable[word], there),
                            Mux(job.cam, port.held.words[word], value))
                           for word, (there, value) in enumerate(answers)]
            beats.append(answers[:BEAT_WORDS])
            answer = scratchpad.answer
            m.d.comb += [answer.enable.eq(Cat(there for there, _ in answers)),
                         *(word.eq(value) for word, (_, value) in zip(
                             answer.words, answers, strict=False))]
        self._store(m, beats)

    def _snoop(self, m, slot, loads, stores):
        """Pass words by the slot's registers that know the indexes of their words."""
        deliver, fetch, job = self.deliver, self.fetch, self._jobs[slot]
        given, ask = self.scratchpads[slot].deliver, self.scratchpads[slot].ask
        snoop = self.transfer[slot].snoop
        with m.If(job.cam & job.scratchpad):
            m.d.comb += [
                snoop.load.eq(given.valid), snoop.words.eq(given.payload.words),
                snoop.enable.eq(Mux(given.valid, given.payload.enable, 0)
                                | Mux(ask.valid, ask.payload.enable, 0)),
                snoop.index.eq(Mux(given.valid, given.payload.targets[0], ask.payload.targets[0])),
            ]
        with m.Elif(job.cam & self._running[slot]):  # else these may be a program's words
            m.d.comb += [
                snoop.load.eq(loads),
                snoop.enable.eq(Mux(loads, deliver.payload.enable, 0)
                                | Mux(stores, fetch.payload.enable, 0)),
                snoop.index.eq(Mux(loads, deliver.payload.targets[0], fetch.payload.targets[0])),
                *(snoop.words[word].eq(deliver.payload.words[word]) for word in range(BEAT_WORDS)),
            ]

    def _store(self, m, beats):
        """The answer to DRAM, a register after the words: by slot, the words of its registers."""
        owner = self._owner
        chosen = Signal(range(SLOTS))
        of_chip = Signal()
        m.d.sync += [chosen.eq(owner)]
        later, chip_later = Signal(range(SLOTS)), Signal()
        m.d.sync += [later.eq(chosen), of_chip.eq(
            Array(self._jobs)[owner].destination == Destination.SCRATCHPAD), chip_later.eq(of_chip)]
        kept = Signal(StoreLayout)
        for word in range(BEAT_WORDS):
            m.d.sync += [
                kept.words[word].eq(Array(beat[word][1] for beat in beats)[chosen]),
                kept.enable[word].eq(Array(beat[word][0] for beat in beats)[chosen]),
            ]
        m.d.comb += self.store.eq(kept)
        with m.If(chip_later):
            m.d.comb += [self.store.words.eq(Array(
                scratchpad.fetched for scratchpad in self.scratchpads)[later]),
                self.store.enable.eq(-1)]

    def _either(self, m, name, job, beat, beat_valid, line):
        """The words that move in this cycle: of a beat, or of a line of the slot's scratchpad.

        Returns whether each moves, its target, and its value, if these words have one.
        """
        moving = []
        beats, lines = (_words_of(side.payload, valid) for side, valid in (
            (beat, beat_valid), (line, line.valid)))
        for number, (of_beat, of_line) in enumerate(zip_longest(beats, lines)):
            word = Signal(data.StructLayout({"valid": 1, "target": TARGET_BITS,
                                             "value": WORD_BITS}), name=f"{name}_{number}")
            if of_beat and of_line:
                m.d.comb += word.eq(Mux(job.scratchpad, Cat(of_line), Cat(of_beat)))
            else:
                ours = job.scratchpad if of_line else ~job.scratchpad
                m.d.comb += word.eq(Mux(ours, Cat(of_line or of_beat), 0))
            moving.append(word)
        return moving

    def _place(self, m, name, job, target):
        """Place of a target on the bus, its item's group, and its item."""
        item = Signal(TARGET_BITS, name=f"{name}_item")
        bank = Signal(_BANK_BITS, name=f"{name}_bank")
        m.d.comb += [item.eq(target >> job.transform),
                     bank.eq(job.register[:_BANK_BITS]
                             + (target[:_BANK_BITS] & ((1 << job.transform) - 1)[:_BANK_BITS]))]
        low = ceil_log2(self.words)
        return Cat(item[:low], bank), item[low:low + self._group_bits], item

    def _rows(self, m, name, job):
        """Row of each bank in which an access has words, whichever word goes there.

        The registers of an access are at most `REGISTER_BANKS` in a row, from ``job.register`` on:
        one in each bank. Those in banks before the first one's are of the next row. So a row
        follows from the bank, and is not moved with the words.
        """
        rows = []
        for bank in range(REGISTER_BANKS):
            row = Signal(len(job.register) - _BANK_BITS, name=f"{name}_row_{bank}")
            m.d.comb += row.eq(job.register[_BANK_BITS:] + (bank < job.register[:_BANK_BITS]))
            rows.append(row)
        return rows

    def _load(self, m, name, port, job, active, words):
        """Words into registers: at each place of the bus, that of the last word that is there."""
        vectors = []
        for number, word in enumerate(words):
            label = f"{name}_{number}"
            place, group, item = self._place(m, label, job, word.target)
            moves = word.valid & ~job.cam & ~job.scalars
            here = Signal(REGISTER_BANKS * self.words, name=f"{label}_here")
            m.d.comb += here.eq((moves & _bit(active, item)) << place)
            vectors.append((here, group, word.value))
        taken, groups, values = _routed(m, name, vectors)
        for bank, row in enumerate(self._rows(m, name, job)):
            for position, write in enumerate(port.write[bank]):
                place = bank * self.words + position
                m.d.comb += [write.enable.eq(taken[place]), write.row.eq(row),
                             write.group.eq(groups[place]), write.data.eq(values[place])]
        self._load_scalars(m, name, port, job, words)

    def _load_scalars(self, m, name, port, job, words):
        """Words into scalar registers.

        Words in a row go to registers in a row, over the ends of lines, too, and so to banks in a
        row: those of a beat or of a scratchpad's line are turned by as many places as the register
        of the first one says.
        """
        count = len(words)
        moves = Signal(count, name=f"{name}_moves")
        turns = Signal(range(max(count, SCALARS)), name=f"{name}_turns")
        m.d.comb += [
            moves.eq(Cat(word.valid & job.scalars & (word.target[:_SCALAR_BITS] < job.end)
                         for word in words)),
            # the same for each word that moves
            turns.eq(reduce(or_, (Mux(moves[number], (word.target - number)[:len(turns)], 0)
                                  for number, word in enumerate(words)))),
        ]
        turned = Cat(Cat(move, word.value) for move, word in zip(moves, words, strict=True))
        width = len(turned) // count
        for stage in range(exact_log2(count)):
            further = Signal(len(turned), name=f"{name}_turned_{1 << stage}")
            m.d.comb += further.eq(Mux(turns[stage], turned.rotate_left(width << stage), turned))
            turned = further
        low = exact_log2(count)
        for bank, scalar in enumerate(port.scalars):
            word = turned.word_select(bank, width)
            m.d.comb += [
                scalar.enable.eq(word[0]), scalar.data.eq(word[1:]),
                # those before the first word's bank are of the next row
                scalar.row.eq(turns[low:] + (bank < turns[:low])),
            ]

    def _fetch(self, m, name, port, job, active, words):
        """Ask for words; whether each is there, and it, in the cycle after."""
        places = REGISTER_BANKS * self.words
        m.submodules[f"{name}_answers"] = answers = Selection(
            words=places, width=WORD_BITS, choices=len(words))
        m.d.comb += answers.row.eq(port.answer)
        asked, found = [], []
        for number, word in enumerate(words):
            label = f"{name}_{number}"
            place, group, item = self._place(m, label, job, word.target)
            here, known = Signal(places, name=f"{label}_here"), Signal(name=f"{label}_known")
            m.d.comb += here.eq(word.valid << place)
            m.d.sync += [answers.number[number].eq(place),
                         known.eq(word.valid & _bit(active, item))]
            asked.append((here, group))
            found.append((known, answers.chosen[number]))
        _, groups = _routed(m, name, asked)
        for bank, row in enumerate(self._rows(m, name, job)):
            for position, read in enumerate(port.read[bank]):
                m.d.comb += [read.row.eq(row), read.group.eq(groups[bank * self.words + position])]
        return found


def _words_of(payload, valid):
    """Of each word: whether it is there, its target, and its value if it has one."""
    values = payload.words if "words" in payload.shape().members else None
    return [(valid & payload.enable[number], target, *([] if values is None else [values[number]]))
            for number, target in enumerate(payload.targets)]


def _bit(bits, number):
    return bits.bit_select(number[:ceil_log2(len(bits))], 1)


def _routed(m, name, words):
    """At each place, the word whose one-hot ``here`` says so, the last one if they are several.

    Returns the places where one is, and then each field of these words by place: any word's at
    places where none is. A place encodes its one-hot bits as a number, and indexes the words with
    it: simulators do that in one step, where a multiplexer for each bit takes as many as words.

    Parameters
    ----------
    words : list of (Signal(places), Value, ...)
        ``here``, and the fields that go there.
    """
    heres, *fields = zip(*words, strict=True)
    places = len(heres[0])
    taken, numbers = Const(0, places), [Const(0, places)] * ceil_log2(len(words))
    for number, here in reversed(list(enumerate(heres))):
        last, later = (Signal(places, name=f"{name}_{number}_{what}") for what in ("last", "later"))
        m.d.comb += [last.eq(here & ~taken), later.eq(here | taken)]
        taken = later
        numbers = [of | last if number >> bit & 1 else of for bit, of in enumerate(numbers)]
    bits = [Signal(places, name=f"{name}_number_{bit}") for bit in range(len(numbers))]
    m.d.comb += [bit.eq(of) for bit, of in zip(bits, numbers, strict=True)]
    found = []
    for field, values in enumerate(fields):
        m.submodules[f"{name}_field_{field}"] = selection = Selection(
            words=len(words), width=len(values[0]), choices=places)
        m.d.comb += [
            *(word.eq(value) for word, value in zip(selection.row, values, strict=True)),
            *(number.eq(Cat(bit[place] for bit in bits))
              for place, number in enumerate(selection.number)),
        ]
        found.append(selection.chosen)
    return taken, *found
