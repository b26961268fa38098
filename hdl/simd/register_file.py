"""Register files: a lane's vector registers, and the scalars of a work-group.

Part of the compute unit, whose model, testbench and tests cover it.

Ref: Sim-D, section 3.1: three operands are fetched and one is written in each cycle; storage is
replicated for each slot (section 3).
"""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.dram.request import TARGET_BITS
from cyclebound.golden.simd.machine import SCALARS, SLOTS, VECTORS
from cyclebound.hdl.simd.interfaces import (
    MEM_DATA,
    MEM_IDX,
    REGISTER_BANKS,
    ScalarTransfer,
)
from cyclebound.hdl.simd.snoop_registers import SnoopRegisters

__all__ = ["LaneRegisters", "RegisterAddress", "ScalarRegisters", "ScalarWrite"]

_SPECIAL = (MEM_IDX, MEM_DATA)
_BANK_BITS = ceil_log2(REGISTER_BANKS)
_ROWS = VECTORS // REGISTER_BANKS  # registers of a bank, at most; the next row: special ones


class RegisterAddress(data.StructLayout):
    """A vector register of a warp; `mem_idx` and `mem_data` come after the ordinary ones."""

    def __init__(self, *, machine):
        super().__init__({"warp": ceil_log2(machine.warps), "register": ceil_log2(MEM_DATA + 1)})


class ScalarWrite(data.StructLayout):
    """The pipeline writes ``data`` into a scalar register, if ``enable`` is set."""

    def __init__(self):
        super().__init__({"enable": 1, "register": ceil_log2(SCALARS), "data": 32})


class LaneRegisters(wiring.Component):
    """The registers of one lane of every warp, for both slots.

    While a slot's work-group computes, the pipeline has its memory; while it transfers, the
    transfer unit has. Registers lie in banks by their numbers modulo `REGISTER_BANKS`: the transfer
    unit may reach one in each. A word that is written can be read from the cycle of its write on.

    A machine without snoopy accesses has `mem_idx` and `mem_data` in the banks, after the vector
    registers, and no port that snooping needs: those from ``special`` on that are marked (*).

    Latency: a word follows its address by one cycle. No output depends on an input before the next
    cycle: see `SnoopRegisters`.

    Parameters
    ----------
    machine : Machine
        Warps.

    Members
    -------
    stall : In(1)
        The pipeline stands still: it neither reads nor writes.
    slot : In
        The slot whose registers the pipeline reads and writes.
    transfers : In(2)
        For each slot, whether its memory is the transfer unit's.
    read : In(3 times `RegisterAddress`)
        Of the three operands.
    operand : Out(3 times 32)
        What was at ``read`` in the cycle before.
    write : In
        ``enable``, ``address`` and ``data`` of the pipeline.
    special : Out(2 times 2 times warps times 32)
        (*) For each slot: every warp's `mem_idx`, and its `mem_data`.
    chosen : In(2 times 2 times 32) (*)
        For each slot: of ``special``, what the transfer unit reads.
    moved : In(2 times, 4 banks)
        For each slot: ``enable``, ``row`` and ``warp`` of the transfer unit.
    words : In(2 times, 4 banks)
        For each slot: the words of ``moved``. Simulators copy these faster by themselves.
    asked : In(2 times, 4 banks), answer : Out(2 times, 4 banks)
        For each slot: what the transfer unit reads.
    snoop, active, matched
        (*) For each slot, as of `SnoopRegisters`: words that pass `mem_idx` and `mem_data`.
    passed : In(2 times n times 32), loads : In(2)
        (*) For each slot, words and ``load`` of its ``passed``.
    """

    def __init__(self, *, machine):
        self.machine = machine
        warp = ceil_log2(machine.warps)
        address = RegisterAddress(machine=machine)
        write = data.StructLayout({"enable": 1, "address": address, "data": 32})
        place = {"warp": warp, "row": ceil_log2(_ROWS + 1)}

        def by_slot(shape):
            return data.ArrayLayout(shape, SLOTS)

        words = machine.words_moved
        by_warp = data.ArrayLayout(unsigned(words), machine.warps)
        snooping = {
            "special": Out(by_slot(data.ArrayLayout(data.ArrayLayout(unsigned(32),
                                                                     machine.warps), 2))),
            # a port each: simulators put an array together from its elements again in each clock
            "chosen": In(32).array(SLOTS, 2),
            "snoop": In(by_slot(data.StructLayout({"enable": words, "index": TARGET_BITS}))),
            "passed": In(by_slot(data.ArrayLayout(unsigned(32), words))), "loads": In(SLOTS),
            "active": In(by_slot(unsigned(machine.warps))), "matched": Out(by_slot(by_warp)),
        }

        super().__init__({
            "stall": In(1), "slot": In(range(SLOTS)), "transfers": In(SLOTS),
            "read": In(data.ArrayLayout(address, 3)),
            "operand": Out(32).array(3), "write": In(write),
            "moved": In(data.StructLayout({"enable": 1, **place})).array(SLOTS, REGISTER_BANKS),
            "words": In(32).array(SLOTS, REGISTER_BANKS),
            "asked": In(data.StructLayout(place)).array(SLOTS, REGISTER_BANKS),
            "answer": Out(32).array(SLOTS, REGISTER_BANKS),
            **(snooping if machine.snoopy else {}),
        })

    def elaborate(self, platform):
        m = Module()
        slot, banks = Signal.like(self.slot), [Signal(_BANK_BITS, name=f"bank_{operand}")
                                               for operand in range(3)]
        # What is written while it is read comes past the memories: by operand, since a choice at
        # each of their ports would be eight times as many.
        written, newer = Signal(32), Signal(3)
        writes = self.write.enable & ~self.transfers.bit_select(self.slot, 1)
        with m.If(~self.stall):
            m.d.sync += [
                slot.eq(self.slot), *(bank.eq(read.register[:_BANK_BITS])
                                      for bank, read in zip(banks, self.read, strict=True)),
                newer.eq(Cat(writes & (self.write.address == read)
                             for read in self.read)),
            ]
            with m.If(self.write.enable):
                m.d.sync += written.eq(self.write.data)
        for number in range(SLOTS):
            own = (self.slot == number) & ~self.transfers[number] & ~self.stall
            snoop = self._snooping(m, number) if self.machine.snoopy else None
            by_bank = [self._bank(m, number, bank, own, snoop) for bank in range(REGISTER_BANKS)]
            with m.If(slot == number):
                m.d.comb += [operand.eq(Array(words[port] for words in by_bank)[banks[port]])
                             for port, operand in enumerate(self.operand)]
        for port, operand in enumerate(self.operand):
            with m.If(newer[port]):
                m.d.comb += operand.eq(written)
        return m

    def _snooping(self, m, number):
        """A slot's `mem_idx` and `mem_data`, which words pass."""
        m.submodules[f"snoop_{number}"] = snoop = SnoopRegisters(machine=self.machine)
        m.d.comb += [
            *(getattr(snoop, name).eq(getattr(self, name)[number]) for name in
              ("snoop", "active")),
            snoop.passed.words.eq(self.passed[number]),
            snoop.passed.load.eq(self.loads[number]),
            *(getattr(self, name)[number].eq(getattr(snoop, name)) for name in
              ("matched", "special")),
        ]
        return snoop

    def _bank(self, m, number, bank, own, snoop):
        """A slot's registers of one bank; what its three ports read."""
        mine = self.transfers[number]
        moved, asked = self.moved[number][bank], self.asked[number][bank]
        rows = self.machine.vectors // REGISTER_BANKS

        special = snoop is None and bank < len(_SPECIAL)  # its last row is one of those

        def place(row, warp):
            return Cat(warp, row[:ceil_log2(rows)], *([row[ceil_log2(_ROWS)]] if special else []))

        def of(address):
            return place(address.register[_BANK_BITS:], address.warp)

        writes = own & self.write.enable & (self.write.address.register[:_BANK_BITS] == bank)
        ordinary = special | (self.write.address.register < VECTORS)
        m.submodules[f"vectors_{number}_{bank}"] = memory = Memory(
            shape=unsigned(32), depth=(rows + special) * self.machine.warps, init=[],
            attrs={"no_rw_check": 1})  # to yosys: what is written is not taken from here
        port = memory.write_port()
        m.d.comb += [
            port.addr.eq(Mux(mine, place(moved.row, moved.warp), of(self.write.address))),
            port.data.eq(Mux(mine, self.words[number][bank], self.write.data)),
            port.en.eq(Mux(mine, moved.enable & (special | (moved.row < _ROWS)),
                           writes & ordinary)),
        ]
        words = []
        for operand in range(3):
            read, address = memory.read_port(domain="comb"), of(self.read[operand])
            word = Signal(32, name=f"word_{number}_{bank}_{operand}")
            moves = ~self.stall
            if operand == 0:
                address = Mux(mine, place(asked.row, asked.warp), address)
                moves |= mine
            m.d.comb += read.addr.eq(address)
            with m.If(moves):
                m.d.sync += word.eq(read.data)
            words.append(word)
        m.d.comb += self.answer[number][bank].eq(words[0])
        if snoop is not None and bank < len(_SPECIAL):
            self._special(m, number, bank, own, snoop)
        return words

    def _special(self, m, number, bank, own, snoop):
        """The register beyond the vectors' own in this bank: `mem_idx` or `mem_data`."""
        mine, moved, asked = (self.transfers[number], self.moved[number][bank],
                              self.asked[number][bank])
        port = snoop.write[bank]
        writes = own & self.write.enable & (self.write.address.register == _SPECIAL[bank])
        m.d.comb += [
            port.warp.eq(Mux(mine, moved.warp, self.write.address.warp)),
            port.data.eq(Mux(mine, self.words[number][bank], self.write.data)),
            port.enable.eq(Mux(mine, moved.enable & (moved.row == _ROWS), writes)),
        ]
        past, held = Signal(name=f"past_{number}_{bank}"), Signal(32, name=f"held_{number}_{bank}")
        m.d.sync += [past.eq(asked.row == _ROWS), held.eq(self.chosen[number][bank])]
        with m.If(past):
            m.d.comb += self.answer[number][bank].eq(held)


class ScalarRegisters(wiring.Component):
    """A work-group's scalars, in banks by their numbers modulo `Machine.scalar_banks`.

    Latency: none from a register's number to its content; writes show in the cycle after.

    Parameters
    ----------
    machine : Machine
        Banks.

    Members
    -------
    read : In(3 times 5)
        Numbers.
    value : Out(3 times 32)
        Contents.
    write : In(ScalarWrite)
        Of the pipeline.
    moved : In(banks times `ScalarTransfer`)
        Of the transfer unit, while it has the slot.
    stall : In(1)
        The pipeline stands still, and does not write.
    """

    def __init__(self, *, machine):
        self.machine = machine
        number = ceil_log2(SCALARS)
        super().__init__({
            "read": In(data.ArrayLayout(unsigned(number), 3)),
            "value": Out(data.ArrayLayout(unsigned(32), 3)), "write": In(ScalarWrite()),
            "moved": In(data.ArrayLayout(ScalarTransfer(machine=machine), machine.scalar_banks)),
            "stall": In(1),
        })

    def elaborate(self, platform):
        m = Module()
        banks, write = self.machine.scalar_banks, self.write
        low = ceil_log2(banks)
        words = []  # of each bank, for the three ports
        for number, moved in enumerate(self.moved):
            m.submodules[f"bank_{number}"] = memory = Memory(
                shape=unsigned(32), depth=SCALARS // banks, init=[])
            port, reads = memory.write_port(), [memory.read_port(domain="comb") for _ in range(3)]
            mine = write.enable & ~self.stall & (write.register[:low] == number)
            m.d.comb += [
                port.en.eq(moved.enable | mine),
                port.addr.eq(Mux(moved.enable, moved.row, write.register[low:])),
                port.data.eq(Mux(moved.enable, moved.data, write.data)),
                *(read.addr.eq(register[low:])
                  for read, register in zip(reads, self.read, strict=True)),
            ]
            words.append([read.data for read in reads])
        m.d.comb += [value.eq(Array(bank[port] for bank in words)[self.read[port][:low]])
                     for port, value in enumerate(self.value)]
        return m
