"""Register files: a lane's vector registers, and the scalars of a work-group.

Ref: Sim-D, section 3.1: three operands are fetched and one is written in each cycle; storage is
replicated for each slot (section 3).
"""

from amaranth.hdl import Array, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.simd.machine import SCALARS, SLOTS, VECTORS
from cyclebound.hdl.simd.interfaces import MEM_DATA, MEM_IDX, ScalarTransfer, scalar_words

__all__ = ["LaneRegisters", "ScalarRegisters"]

_SPECIAL = (MEM_IDX, MEM_DATA)


class LaneRegisters(wiring.Component):
    """The registers of one lane of every warp, for both slots: a bank of the vector files.

    While a slot's work-group computes, the pipeline has its memory; while it transfers, the
    transfer unit has. A word that is written can be read from the cycle of its write on.

    Latency: a word follows its address by one cycle; ``special`` by none.

    Parameters
    ----------
    machine : Machine
        Warps.

    Members
    -------
    slot : In
        Whose registers the pipeline reads and writes.
    transfers : In(2)
        For each slot, whether its memory is the transfer unit's.
    read : In(3 times address)
        Register and warp of the three operands.
    operand : Out(3 times 32)
        What was at ``read`` in the cycle before.
    write : In
        ``enable``, ``address`` and ``data`` of the pipeline.
    special_read : In
        Warp whose `mem_idx` and `mem_data` are shown.
    special : Out(2 times 32)
        Those.
    moved : In(2 times)
        For each slot: ``enable``, ``address`` and ``data`` of the transfer unit.
    asked : In(2 times address), answer : Out(2 times 32)
        For each slot: what the transfer unit reads.
    """

    def __init__(self, *, machine):
        self.machine = machine
        warp = ceil_log2(machine.warps)
        self.address = data.StructLayout({"warp": warp, "register": ceil_log2(MEM_DATA + 1)})
        write = data.StructLayout({"enable": 1, "address": self.address, "data": 32})
        super().__init__({
            "slot": In(range(SLOTS)), "transfers": In(SLOTS),
            "read": In(data.ArrayLayout(self.address, 3)),
            "operand": Out(data.ArrayLayout(unsigned(32), 3)),
            "write": In(write), "special_read": In(warp),
            "special": Out(data.ArrayLayout(unsigned(32), 2)),
            "moved": In(data.ArrayLayout(write, SLOTS)),
            "asked": In(data.ArrayLayout(self.address, SLOTS)),
            "answer": Out(data.ArrayLayout(unsigned(32), SLOTS)),
        })

    def elaborate(self, platform):
        m = Module()
        slot = Signal.like(self.slot)
        m.d.sync += slot.eq(self.slot)
        for number in range(SLOTS):
            mine = self.transfers[number]
            write = Signal(self.write.shape(), name=f"write_{number}")
            own = (self.slot == number) & ~mine
            m.d.comb += write.eq(Mux(mine, self.moved[number], self.write))
            enable = Mux(mine, self.moved[number].enable, self.write.enable & own)
            ordinary = write.address.register < VECTORS
            asked = self.asked[number]

            m.submodules[f"vectors_{number}"] = memory = Memory(
                shape=unsigned(32), depth=VECTORS * self.machine.warps, init=[])
            port = memory.write_port()
            m.d.comb += [port.addr.eq(self._place(write.address)), port.data.eq(write.data),
                         port.en.eq(enable & ordinary)]
            found = []
            for operand in range(3):
                read = memory.read_port(transparent_for=(port,))
                address = self._place(self.read[operand])
                if operand == 0:
                    address = Mux(mine, self._place(asked), address)
                m.d.comb += read.addr.eq(address)
                found.append(read.data)
                with m.If(slot == number):
                    m.d.comb += self.operand[operand].eq(read.data)

            # the two registers beyond the vectors' own
            past, held = Signal(2, name=f"past_{number}"), Signal(32, name=f"held_{number}")
            for which, register in enumerate(_SPECIAL):
                name = f"special_{number}_{which}"
                m.submodules[name] = few = Memory(shape=unsigned(32), depth=self.machine.warps,
                                                  init=[])
                port, read = few.write_port(), few.read_port(domain="comb")
                here = enable & (write.address.register == register)
                warp = Mux(mine, asked.warp, self.special_read)
                m.d.comb += [port.addr.eq(write.address.warp), port.data.eq(write.data),
                             port.en.eq(here), read.addr.eq(warp)]
                with m.If(self.slot == number):
                    m.d.comb += self.special[which].eq(read.data)
                with m.If(asked.register == register):
                    m.d.sync += held.eq(Mux(here & (write.address.warp == warp), write.data,
                                            read.data))
                m.d.sync += past[which].eq(asked.register == register)
            m.d.comb += self.answer[number].eq(Mux(past.any(), held, found[0]))
        return m

    @staticmethod
    def _place(address):
        return (address.register[:ceil_log2(VECTORS)] << len(address.warp)) | address.warp


class ScalarRegisters(wiring.Component):
    """A work-group's scalars.

    Latency: none from a register's number to its content; writes show in the cycle after.

    Members
    -------
    read : In(3 times 5)
        Numbers.
    value : Out(3 times 32)
        Contents.
    write : In
        ``enable``, ``register`` and ``data`` of the pipeline.
    moved : In(8 times `ScalarTransfer`)
        Of the transfer unit, while it has the slot.
    """

    def __init__(self):
        number = ceil_log2(SCALARS)
        write = data.StructLayout({"enable": 1, "register": number, "data": 32})
        super().__init__({
            "read": In(data.ArrayLayout(unsigned(number), 3)),
            "value": Out(data.ArrayLayout(unsigned(32), 3)), "write": In(write),
            "moved": In(data.ArrayLayout(ScalarTransfer(), scalar_words())),
        })

    def elaborate(self, platform):
        m = Module()
        registers = Array(Signal(32, name=f"s{number}") for number in range(SCALARS))
        for number, register in enumerate(registers):
            row, position = divmod(number, scalar_words())
            moved = self.moved[position]
            with m.If(moved.enable & (moved.row == row)):
                m.d.sync += register.eq(moved.data)
            with m.Elif(self.write.enable & (self.write.register == number)):
                m.d.sync += register.eq(self.write.data)
        m.d.comb += [self.value[port].eq(registers[self.read[port]]) for port in range(3)]
        return m
