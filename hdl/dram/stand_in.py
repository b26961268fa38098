"""A stand-in for a DRAM, in hardware: data come and go when they should, and nothing is checked.

Part of the controller's data harness, whose files cover it: what it keeps is what
golden/dram/controller_data.py says of memory.
"""

from amaranth.hdl import Array, Cat, Module, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.dram.request import BEAT_WORDS, BEATS, WORD_BITS
from cyclebound.golden.dram.rules import Command
from cyclebound.golden.dram.timing import part_named
from cyclebound.hdl.dram.command_arbiter import CommandLayout
from cyclebound.hdl.dram.layouts import DriveLayout
from cyclebound.hdl.interfaces import Strobe

__all__ = ["DramStandIn"]


class DramStandIn(wiring.Component):
    """Keeps the words of some rows of a DRAM; all other rows are the same ones again.

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
        What the device drives.
    dq_out : In(Strobe(DriveLayout))
        What is written, word by word; ``valid`` is not looked at.

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
        if not isinstance(window_bits, int) or isinstance(window_bits, bool):
            raise TypeError(f"window bits must be an integer, not {window_bits!r}")
        if not fixed < window_bits <= most:
            raise ValueError(f"{part.name}: window bits must be from {fixed + 1} to {most}, "
                             f"not {window_bits}")
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
        rows = Array(Signal(self.rows, name=f"row_{bank}") for bank in range(part.banks))
        with m.If(command.op == Command.ACT):
            m.d.sync += rows[command.bank].eq(command.row)
        burst = data.StructLayout({"read": 1, "write": 1,
                                   "address": self.columns + self.banks + self.rows})

        # -- commands wait until their data are due: a ring, written in every cycle ------------
        depth = 1 << ceil_log2(part.nCAS + 1)
        now = Signal(range(depth))
        m.submodules.ring = ring = Memory(shape=burst, depth=depth, init=[])
        keep = ring.write_port()
        m.d.sync += now.eq(now + 1)
        m.d.comb += [
            keep.en.eq(1), keep.addr.eq(now),
            keep.data.read.eq((command.op == Command.RD) | (command.op == Command.RDA)),
            keep.data.write.eq((command.op == Command.WR) | (command.op == Command.WRA)),
            keep.data.address.eq(Cat(command.column, command.bank, rows[command.bank])),
        ]
        # A beat is read a cycle before it is on the bus.
        reads = self._beats(m, "read", ring, now, part.nCAS - 1)
        writes = self._beats(m, "write", ring, now, part.nCWD)

        # -- the words -------------------------------------------------------------------------
        for word in range(BEAT_WORDS):
            memory = Memory(shape=unsigned(WORD_BITS), depth=1 << self.window_bits - 2, init=[])
            m.submodules[f"memory_{word}"] = memory
            read, write = memory.read_port(), memory.write_port()
            m.d.comb += [
                read.addr.eq(reads), self.dq_in[word].eq(read.data),
                write.addr.eq(writes), write.data.eq(self.dq_out.payload.words[word]),
                write.en.eq(self.dq_out.payload.mask[word]),
            ]
        return m

    def _beats(self, m, name, ring, now, delay):
        """The address of each beat of a burst, from ``delay`` cycles after its command on."""
        port = ring.read_port()
        kept = Signal(self.columns + self.banks + self.rows, name=f"{name}_burst")
        beat = Signal(range(BEATS), name=f"{name}_beat")
        address = Signal(len(kept) + 2, name=f"{name}_address")
        m.d.comb += [port.addr.eq(now - (delay - 1)), address.eq(Cat(beat, kept))]
        with m.If(port.data[name]):
            m.d.comb += address.eq(Cat(beat & 0, port.data.address))
            m.d.sync += [kept.eq(port.data.address), beat.eq(1)]
        with m.Else():
            m.d.sync += beat.eq(beat + 1)
        return address
