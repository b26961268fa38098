"""The accelerator's memory in a DRAM: its transfers as tiles that a DRAM controller moves.

    requests --> tiles, aligned --> DRAM controller
    read <------ slots of a tile <-- words read, by target
    write -----> slots of a tile --> words to write

Ref: golden/systolic/dram_memory.py.
"""

from types import SimpleNamespace

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.dram.request import (
    BEAT_WORDS,
    BURST_WORDS,
    COUNT_BITS,
    WORD_BITS,
    Destination,
)
from cyclebound.golden.systolic.accelerator_layout import request_fields
from cyclebound.hdl.dram.client_arbiter import SharedController
from cyclebound.hdl.dram.layouts import DramClient, map_at_bursts
from cyclebound.hdl.interfaces import pass_through
from cyclebound.hdl.parameters import check_power_of_two

__all__ = ["DramMemory", "SharedDramMemory"]

_WORD_BYTES = WORD_BITS // 8
_PINS = "command", "dq_in", "dq_out", "late"


class DramMemory(wiring.Component):
    """Beats of an `Accelerator` as words of the client's buffer 0, a single line from beat 0 on.

    A transfer is cut where a tile of ``bursts`` bursts ends in the buffer, so that each tile lies
    in as many bursts at most if the buffer begins at one. Tiles are asked for as early as there
    are slots for them, and pass the slots in order.

    A load's beats are on offer when their tile is complete, from the second cycle after its
    completion on, one in each cycle. A store's are taken when there is a slot, but for the last
    one: that is written with its tile, and taken in the cycle after the tile's completion. So a
    store is over when all of it is in DRAM. Bounds: ``golden.systolic.dram_memory``.

    Parameters
    ----------
    size : int
        Bytes of a beat: 4, 8 or 16.
    bursts : int
        Of a tile: a power of two.
    slots : int
        Tiles that are kept: a power of two, at least 2.
    memory_width : int
        Bits of a beat's number, at least those of a tile, at most those of a buffer.

    Members
    -------
    requests, read, write
        As of `Accelerator`, flipped. A request has at least a beat.
    dram : Out(DramClient)
        The controller; the buffer is mapped by ``mapping``, through here. One that does not begin
        at a burst is not: transfers are refused then.
    mapping, mapped, mapping_refusal
        As of `DramClient`, flipped.
    idle : Out(1)
        No transfer is under way.
    fault : Out(Refusal)
        Why a tile was refused, from then on until reset. But for a tile on offer, nothing is asked
        for or moved any more.

    Attributes
    ----------
    asked, completed, moved : Signal
        Tiles of this transfer that the controller has taken, has completed, and whose beats have
        all moved between slot and accelerator; modulo twice the slots.

    Raises
    ------
    ValueError
        For sizes that it does not support.
    """

    def __init__(self, *, size, bursts=16, slots=8, memory_width=16):
        if size not in (4, 8, 16):
            raise ValueError(f"size must be 4, 8 or 16: whole words, and no more than DRAM moves "
                             f"in a clock, not {size}")
        for thing, value, least in (("bursts", bursts, 1), ("slots", slots, 2)):
            check_power_of_two(thing, value, least)
        self.words = size // _WORD_BYTES
        least, most = ceil_log2(bursts * BURST_WORDS // self.words), COUNT_BITS - ceil_log2(
            self.words)
        if not least <= memory_width <= most:
            raise ValueError(f"memory width must be {least} to {most} for tiles of {bursts} bursts "
                             f"and beats of {size} bytes, or a tile has more beats than there are, "
                             f"or a buffer fewer, not {memory_width}")
        self.size, self.bursts, self.slots, self.memory_width = size, bursts, slots, memory_width
        client = DramClient()
        super().__init__({
            "requests": In(stream.Signature(data.StructLayout(request_fields(memory_width)))),
            "read": Out(stream.Signature(8 * size)), "write": In(stream.Signature(8 * size)),
            "dram": Out(client),
            **{name: client.flip().members[name]
               for name in ("mapping", "mapped", "mapping_refusal")},
            "idle": Out(1), "fault": Out(3),
        })
        self.asked, self.completed, self.moved = (
            Signal(ceil_log2(2 * slots), name=name) for name in ("asked", "completed", "moved"))
        self._busy, self._store = Signal(name="busy"), Signal(name="store")

    def elaborate(self, platform):
        m = Module()
        request, busy, taken = self.requests, self._busy, Signal()
        map_at_bursts(m, self)
        m.d.comb += [
            request.ready.eq(~busy & (self.fault == 0)), taken.eq(request.valid & request.ready),
            self.idle.eq(~busy),
        ]
        with m.If(taken):
            m.d.sync += [busy.eq(1), self._store.eq(request.payload.write)]
        self._ask(m, taken)
        self._move(m, taken, *self._keep(m))
        return m

    def _ask(self, m, taken):
        """Tiles, one after the other, and their completions."""
        request, completion = self.dram.request, self.dram.completion
        tile, inside = self.bursts * BURST_WORDS, ceil_log2(self.bursts * BURST_WORDS)
        place, left, words = (Signal(COUNT_BITS, name=name) for name in ("place", "left", "words"))
        room, offer, waits = Signal(inside + 1), Signal(), Signal()
        m.d.comb += [
            room.eq(tile - place[:inside]), words.eq(Mux(left < room, left, room)),
            offer.eq(Mux(self._store, self.asked != self.moved,
                         (self.asked - self.moved)[:len(self.asked)] != self.slots)),
            request.valid.eq(self._busy & (left != 0) & offer & ((self.fault == 0) | waits)),
            request.payload.x.eq(place), request.payload.words.eq(words),
            request.payload.count.eq(1), request.payload.write.eq(self._store),
            request.payload.destination.eq(Destination.SCRATCHPAD),
            request.payload.base.eq(Cat(place[:inside], self.asked[:-1])),
        ]
        m.d.sync += waits.eq(request.valid & ~request.ready)
        with m.If(request.valid & request.ready):
            m.d.sync += [place.eq(place + words), left.eq(left - words),
                         self.asked.eq(self.asked + 1)]
        with m.If(completion.valid):
            m.d.sync += self.completed.eq(self.completed + 1)
            with m.If(self.fault == 0):
                m.d.sync += self.fault.eq(completion.payload)
        with m.If(taken):
            wanted = self.requests.payload
            m.d.sync += [place.eq(wanted.address * self.words), left.eq(wanted.count * self.words),
                         self.asked.eq(0), self.completed.eq(0)]

    def _keep(self, m):
        """Slots of tiles: memories of a word, by the lowest bits of a word's place.

        Returns the ports of each for a beat's words, one to write and one to read, of which the
        controller's words take precedence: they come in transfers of the other direction.
        """
        deliver, fetch, store = self.dram.deliver, self.dram.fetch, self.dram.store
        depth = self.slots * self.bursts * BURST_WORDS // BEAT_WORDS
        m.d.comb += store.enable.eq(-1)
        puts, gets = [], []
        for lane in range(BEAT_WORDS):
            memory = Memory(shape=unsigned(WORD_BITS), depth=depth, init=[])
            m.submodules[f"memory_{lane}"] = memory
            write, read = memory.write_port(), memory.read_port()
            put, get = (SimpleNamespace(
                enable=Signal(name=f"{name}_{lane}"),
                data=Signal(WORD_BITS, name=f"data_{name}_{lane}"),
                address=Signal(len(write.addr), name=f"address_{name}_{lane}"))
                for name in ("put", "get"))
            comes, goes = deliver.valid & deliver.payload.enable[lane], fetch.valid
            m.d.comb += [
                write.en.eq(comes | put.enable),
                write.addr.eq(Mux(comes, deliver.payload.targets[lane][2:], put.address)),
                write.data.eq(Mux(comes, deliver.payload.words[lane], put.data)),
                read.en.eq(goes | get.enable),
                read.addr.eq(Mux(goes, fetch.payload.targets[lane][2:], get.address)),
                get.data.eq(read.data),
            ]
            m.d.sync += store.words[lane].eq(read.data)
            puts.append(put)
            gets.append(get)
        return puts, gets

    def _move(self, m, taken, puts, gets):
        """Beats between the slots and the accelerator."""
        read, write, moved, inside = self.read, self.write, self.moved, BEAT_WORDS // self.words
        tile = self.bursts * BURST_WORDS // self.words
        place, left = Signal(self.memory_width, name="beat"), Signal(16, name="beats_left")
        well, last, moves = Signal(), Signal(), Signal()  # moves: between slot and port
        at = place[:ceil_log2(inside)]                    # a beat's place in a row of memories
        m.d.comb += [
            well.eq(self._busy & (self.fault == 0)), last.eq(left == 1),
            moves.eq(well & (left != 0) & Mux(
                self._store, write.valid & ((moved - self.completed)[:len(moved)] != self.slots),
                (~read.valid | read.ready) & (moved != self.completed))),
        ]
        with m.If(moves):
            m.d.sync += [place.eq(place + 1), left.eq(left - 1)]
            with m.If(last | (place[:ceil_log2(tile)] == tile - 1)):
                m.d.sync += moved.eq(moved + 1)
        with m.If(taken):
            m.d.sync += [place.eq(self.requests.payload.address),
                         left.eq(self.requests.payload.count), moved.eq(0)]

        # -- a store: its last beat stays on offer until it is in DRAM --
        written = Signal()
        m.d.comb += [
            written.eq(well & self._store & (left == 0) & (moved == self.completed)),
            write.ready.eq(written | (well & self._store & (left != 0) & ~last
                                      & ((moved - self.completed)[:len(moved)] != self.slots))),
        ]
        row = Cat((place * self.words)[2:ceil_log2(self.bursts * BURST_WORDS)], moved[:-1])
        for lane, (put, get) in enumerate(zip(puts, gets, strict=True)):
            mine = at == lane // self.words if inside > 1 else Const(1)
            m.d.comb += [
                put.enable.eq(moves & self._store & mine), put.address.eq(row),
                put.data.eq(write.payload.word_select(lane % self.words, WORD_BITS)),
                get.enable.eq(moves & ~self._store), get.address.eq(row),
            ]

        # -- a load --
        held, chosen = Signal(max(1, len(at))), data.ArrayLayout(unsigned(8 * self.size), inside)
        with m.If(moves & ~self._store):
            m.d.sync += [read.valid.eq(1), held.eq(at)]
        with m.Elif(read.ready):
            m.d.sync += read.valid.eq(0)
        m.d.comb += read.payload.eq(chosen(Cat(get.data for get in gets))[held]
                                    if inside > 1 else Cat(get.data for get in gets))
        with m.If((written & write.valid) | (~self._store & (left == 0) & read.valid & read.ready)):
            m.d.sync += self._busy.eq(0)


class SharedDramMemory(wiring.Component):
    """An accelerator's memory on a controller that it shares with another client, by turns.

    Parameters
    ----------
    part : Part or str
        The DRAM, or its name.
    size, bursts, slots, memory_width
        As of `DramMemory`.

    Members
    -------
    requests, read, write, mapping, mapped, mapping_refusal, idle, fault
        As of `DramMemory`.
    other : In(DramClient)
        The other client.
    command, dq_in, dq_out, late
        As of `DramController`.

    Attributes
    ----------
    memory : DramMemory
        Client 0.
    shared : SharedController
        The controller.
    """

    def __init__(self, *, part, size, bursts=16, slots=8, memory_width=16):
        self.memory = DramMemory(size=size, bursts=bursts, slots=slots, memory_width=memory_width)
        self.shared = SharedController(clients=2, part=part)
        self.part = self.shared.part
        own, pins = self.memory.signature.members, self.shared.signature.members
        super().__init__({**{name: member for name, member in own.items() if name != "dram"},
                          "other": In(DramClient()), **{name: pins[name] for name in _PINS}})

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = self.memory
        m.submodules.shared = shared = self.shared
        wiring.connect(m, memory.dram, shared.client[0])
        wiring.connect(m, wiring.flipped(self.other), shared.client[1])
        pass_through(m, self, shared, *_PINS)
        pass_through(m, self, memory, *(name for name in self.signature.members
                                        if name != "other" and name not in _PINS))
        return m
