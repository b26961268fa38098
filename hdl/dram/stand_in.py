"""Stand-ins for a DRAM, in hardware, with the timing of its data.

Part of the controller's data harness, whose files cover it: what it keeps is what
golden/dram/controller_data.py says of memory. `DramWithHost` is part of the SIMD accelerator's
harness, whose testbench runs it against the cycle model.
"""

from amaranth.hdl import Array, Cat, Const, Module, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.dram.request import BEAT_WORDS, BEATS, BURST_WORDS, WORD_BITS
from cyclebound.golden.dram.rules import Command
from cyclebound.golden.dram.timing import part_named
from cyclebound.hdl.dram.command_arbiter import CommandLayout
from cyclebound.hdl.dram.layouts import DriveLayout
from cyclebound.hdl.interfaces import Strobe
from cyclebound.hdl.parameters import check_integer, check_power_of_two

__all__ = ["DramStandIn", "DramWithHost"]


class DramStandIn(wiring.Component):
    """Keeps the words of some rows of a DRAM; all other rows are the same ones again. It checks
    nothing.

    It answers a read nCAS cycles after it, and takes the words of a write nCWD cycles after it,
    four cycles each, whatever else is on the pins.

    Parameters
    ----------
    part : Part or str
        The DRAM, or its name.
    window_bits : int
        Bits of a word's address that are kept: the device holds ``2 ** window_bits`` words.

    Members
    -------
    command : In(CommandLayout)
        The pins.
    dq_in : Out(4 words)
        Words that the device drives.
    dq_out : In(Strobe(DriveLayout))
        Words to write, with a mask; ``valid`` is ignored.

    Raises
    ------
    ValueError
        For a window that is no row of all banks, or more than the part has.
    """

    def __init__(self, *, part, window_bits):
        self.part = part = part_named(part)
        self.columns = ceil_log2(part.bursts_per_row)
        self.banks = ceil_log2(part.banks)
        fixed = ceil_log2(BEATS * BEAT_WORDS) + self.columns + self.banks
        most = fixed + ceil_log2(part.rows)
        check_integer(f"{part.name}: window bits", window_bits, fixed + 1, most)
        self.window_bits, self.rows = window_bits, window_bits - fixed
        super().__init__({
            "command": In(CommandLayout(part=part)),
            "dq_in": Out(data.ArrayLayout(unsigned(WORD_BITS), BEAT_WORDS)),
            "dq_out": In(Strobe(DriveLayout)),
        })

    def elaborate(self, platform):
        m = Module()
        part, command = self.part, self.command

        # -- which burst a command means -------------------------------------------------------
        page = self._page(m)
        burst = data.StructLayout({"read": 1, "write": 1, "address": self.columns + len(page)})

        # -- commands wait until their data are due: a ring, written in every cycle ------------
        self._depth = depth = 1 << ceil_log2(part.nCAS + 1)
        now = Signal(range(depth))
        m.submodules.ring = ring = Memory(shape=burst, depth=depth, init=[])
        keep = ring.write_port()
        m.d.sync += now.eq(now + 1)
        m.d.comb += [
            keep.en.eq(1), keep.addr.eq(now),
            keep.data.read.eq((command.op == Command.RD) | (command.op == Command.RDA)),
            keep.data.write.eq((command.op == Command.WR) | (command.op == Command.WRA)),
            keep.data.address.eq(Cat(command.column, page)),
        ]
        # A beat is read a cycle before it is on the bus.
        reads, _ = self._beats(m, "read", ring, now, part.nCAS - 1)
        writes, self._writes = self._beats(m, "write", ring, now, part.nCWD)

        # -- the words -------------------------------------------------------------------------
        self._memories = []
        for word in range(BEAT_WORDS):
            memory = Memory(shape=unsigned(WORD_BITS), depth=1 << self.window_bits - 2, init=[])
            m.submodules[f"memory_{word}"] = memory
            self._memories.append(memory)
            read, write = memory.read_port(), memory.write_port()
            m.d.comb += [
                read.addr.eq(reads), self.dq_in[word].eq(read.data),
                write.addr.eq(writes), write.data.eq(self.dq_out.payload.words[word]),
                write.en.eq(self.dq_out.payload.mask[word]),
            ]
        return m

    def _page(self, m):
        """The bits of an address above the column: of the bank that is read or written, and of the
        row that is open there."""
        command = self.command
        rows = Array(Signal(self.rows, name=f"row_{bank}") for bank in range(self.part.banks))
        with m.If(command.op == Command.ACT):
            m.d.sync += rows[command.bank].eq(command.row)
        return Cat(command.bank, rows[command.bank])

    def _beats(self, m, name, ring, now, delay):
        """The address of each beat of a burst, from ``delay`` cycles after its command on; and
        whether that is a burst's first beat."""
        port = ring.read_port()
        kept = Signal(len(port.data.address), name=f"{name}_burst")
        beat = Signal(range(BEATS), name=f"{name}_beat")
        address = Signal(len(kept) + 2, name=f"{name}_address")
        m.d.comb += [port.addr.eq(now - (delay - 1)), address.eq(Cat(beat, kept))]
        with m.If(port.data[name]):
            m.d.comb += address.eq(Cat(beat & 0, port.data.address))
            m.d.sync += [kept.eq(port.data.address), beat.eq(1)]
        with m.Else():
            m.d.sync += beat.eq(beat + 1)
        return address, port.data[name]


class DramWithHost(DramStandIn):
    """Keeps the words of a few rows, wherever in the DRAM they are, and gives a host their content.

    Commands and data take as long as with `DramStandIn`. The host says which rows there are, by
    bank and row, in ``slots`` places; it may put and look at bursts in any cycle, but not put one
    that is being written.

    Parameters
    ----------
    part : Part or str
        The DRAM, or its name.
    slots : int
        Rows of a bank that it has a place for: a power of two, at least 2.

    Members
    -------
    command, dq_in, dq_out
        As of `DramStandIn`.
    forget : In(1)
        From the next cycle on, no place has a row.
    place : In(Strobe): ``slot``, ``bank``, ``row``
        From the next cycle on, that place is of this row.
    put : In(Strobe): ``burst``, ``words``
        16 words into a place: ``burst`` is its number times the bursts of a row, and the column.
    look : In
        A burst, numbered as in ``put``; ``shown`` has its words in the next cycle.
    shown : Out(16 words)
        See ``look``.
    missing : Out(1)
        A row is opened in this cycle that has no place.
    wrong : Out(1)
        In this cycle there are words to be written and no write is due, or the reverse; not in
        the first 40 after a reset.
    """

    def __init__(self, *, part, slots):
        part = part_named(part)
        check_power_of_two("slots", slots, 2)
        self.part, self.slots = part, slots
        self.columns = ceil_log2(part.bursts_per_row)
        self.window_bits = ceil_log2(BEATS * BEAT_WORDS) + self.columns + ceil_log2(slots)
        burst = self.columns + ceil_log2(slots)
        words = data.ArrayLayout(unsigned(WORD_BITS), BURST_WORDS)
        wiring.Component.__init__(self, {
            "command": In(CommandLayout(part=part)),
            "dq_in": Out(data.ArrayLayout(unsigned(WORD_BITS), BEAT_WORDS)),
            "dq_out": In(Strobe(DriveLayout)),
            "forget": In(1),
            "place": In(Strobe(data.StructLayout({
                "slot": ceil_log2(slots), "bank": ceil_log2(part.banks),
                "row": ceil_log2(part.rows)}))),
            "put": In(Strobe(data.StructLayout({"burst": burst, "words": words}))),
            "look": In(burst), "shown": Out(words), "missing": Out(1), "wrong": Out(1),
        })

    def elaborate(self, platform):
        m = super().elaborate(platform)
        for word, memory in enumerate(self._memories):
            for beat in range(BEATS):
                number = BEAT_WORDS * beat + word
                write, read = memory.write_port(), memory.read_port()
                m.d.comb += [
                    write.addr.eq(Cat(Const(beat, 2), self.put.payload.burst)),
                    write.data.eq(self.put.payload.words[number]), write.en.eq(self.put.valid),
                    read.addr.eq(Cat(Const(beat, 2), self.look)),
                    self.shown[number].eq(read.data),
                ]
        left = Signal(range(BEATS))
        with m.If(self._writes):
            m.d.sync += left.eq(BEATS - 1)
        with m.Elif(left != 0):
            m.d.sync += left.eq(left - 1)
        # until then, the ring may have commands from before a reset
        after = self._depth + BEATS
        clocks = Signal(range(after + 1))
        with m.If(clocks != after):
            m.d.sync += clocks.eq(clocks + 1)
        m.d.comb += self.wrong.eq((clocks == after)
                                  & (self.dq_out.valid ^ (self._writes | (left != 0))))
        return m

    def _page(self, m):
        """The place of the row that is open in the bank that is read or written."""
        command, place = self.command, self.place.payload
        opened = Array(Signal(range(self.slots), name=f"slot_{bank}")
                       for bank in range(self.part.banks))
        wanted = Cat(command.bank, command.row)
        held = [Signal(len(wanted) + 1, name=f"held_{slot}") for slot in range(self.slots)]
        hit = Signal(self.slots)
        m.d.comb += hit.eq(Cat(row == Cat(wanted, Const(1, 1)) for row in held))
        for slot, row in enumerate(held):
            with m.If(self.forget):
                m.d.sync += row.eq(0)
            with m.Elif(self.place.valid & (place.slot == slot)):
                m.d.sync += row.eq(Cat(place.bank, place.row, Const(1, 1)))
        which = Signal(range(self.slots))
        m.d.comb += which.eq(Cat(
            Cat(hit[slot] for slot in range(self.slots) if slot >> bit & 1).any()
            for bit in range(len(which))))
        with m.If(command.op == Command.ACT):
            m.d.sync += opened[command.bank].eq(which)
            m.d.comb += self.missing.eq(~hit.any())
        return opened[command.bank]
