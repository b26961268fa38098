"""Registers of both slots' work-groups, as the pipeline and the transfer unit see them.

Part of the compute unit, whose model, testbench and tests cover it; what passes all items by
itself, tests/simd/test_snoop_registers.py.
"""

import itertools

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.simd.machine import SCALARS, SLOTS
from cyclebound.hdl.selection import Selection
from cyclebound.hdl.shared import shared
from cyclebound.hdl.simd.interfaces import REGISTER_BANKS, PassedLayout, Transfer
from cyclebound.hdl.simd.register_file import (
    LaneRegisters,
    RegisterAddress,
    ScalarRegisters,
    ScalarWrite,
)

__all__ = ["WorkGroupRegisters"]


def _either(values):
    """Bit by bit, whether one of the values has it."""
    while len(values) > 1:
        values = [left | right for left, right in
                  itertools.zip_longest(values[::2], values[1::2], fillvalue=Const(0))]
    return values[0]


def _numbers(rows):
    """The bits of the number of that one of ``rows`` in which a place's bit is set, place by place;
    they are set in one row at most."""
    return [_either([row for number, row in enumerate(rows) if number >> bit & 1])
            for bit in range(ceil_log2(len(rows)))]


class WorkGroupRegisters(wiring.Component):
    """Vector registers of all lanes, and scalar registers, of each slot.

    A slot's registers are the transfer unit's while its access is under way, and the pipeline's at
    all other times. Transfers go on in cycles in which the pipeline stalls.

    Latency: 1 cycle from ``read`` to ``operand``; none from ``scalar_read`` to ``scalar``.

    Parameters
    ----------
    machine : Machine
        Sizes.
    words : int
        Positions of the transfer bus; position *k* serves the lanes that are *k* modulo them.

    Members
    -------
    stall : In(1)
        The pipeline stands still.
    slot : In(1)
        The slot that computes.
    accessing : In(2)
        Slots whose access is under way.
    released : In(2)
        Slots whose access the pipeline has given up, after a fault, and which are still the
        transfer unit's.
    transfer : In(Transfer) times 2
        For each slot.
    read : In(3 times `RegisterAddress`)
        What all lanes read.
    operand : Out(lanes times 3 times 32)
        What they have read.
    write : In
        ``lanes`` (a bit each) that write the register at ``address``.
    words_written : In(lanes times 32)
        A word each.
    scalar_read : In(3 times 5), scalar : Out(3 times 32)
        Scalars of the slot that computes.
    scalar_write : In(ScalarWrite)
        Into one of them.
    active : In(items) times 2
        (*) Active lanes of each slot, warp by warp.
    special_warp : In(bits of a warp's number), special : Out(lanes times 2 times 32)
        (*) `mem_idx` and `mem_data` of a warp of the slot that computes.

    Members marked (*) are there if the machine has snoopy accesses.
    """

    def __init__(self, *, machine, words):
        self.machine, self.words = machine, words
        self._lanes = [LaneRegisters(machine=machine) for _ in range(machine.lanes)]
        self._given = self._lanes[0].signature.members  # the ports of each
        snooping = {"active": In(machine.items).array(SLOTS),
                    "special_warp": In(ceil_log2(machine.warps)),
                    "special": Out(32).array(machine.lanes, 2)}
        super().__init__({
            "stall": In(1), "slot": In(range(SLOTS)), "accessing": In(SLOTS), "released": In(SLOTS),
            "transfer": In(Transfer(machine=machine, words=words)).array(SLOTS),
            "read": In(data.ArrayLayout(RegisterAddress(machine=machine), 3)),
            "operand": Out(32).array(machine.lanes, 3),
            "write": In(data.StructLayout({"lanes": machine.lanes,
                                           "address": RegisterAddress(machine=machine)})),
            "words_written": In(32).array(machine.lanes),
            "scalar_read": In(data.ArrayLayout(unsigned(ceil_log2(SCALARS)), 3)),
            "scalar": Out(32).array(3), "scalar_write": In(ScalarWrite()),
            **(snooping if machine.snoopy else {}),
        })

    def elaborate(self, platform):
        m = Module()
        transfers, recent = Signal(SLOTS), Signal(SLOTS)
        m.d.comb += transfers.eq(self.accessing | self.released)
        m.d.sync += recent.eq(transfers)
        # While the pipeline stalls and no words come, nor came in the clock before, the lanes'
        # registers have nothing to do; simulators leave them alone.
        moves = Signal()
        m.d.comb += moves.eq(~self.stall | transfers.any() | recent.any())
        inputs = self._lane_inputs(m, transfers)
        for number, lane in enumerate(self._lanes):
            m.submodules[f"registers_{number}"] = shared(
                lane, platform, alike=("registers", self.machine), enable=moves)
            m.d.comb += [
                *(getattr(lane, name).eq(value) for name, value in inputs.items()),
                lane.write.enable.eq(self.write.lanes[number]),
                lane.write.address.eq(self.write.address),
                lane.write.data.eq(self.words_written[number]),
                *(operand.eq(word) for operand, word in
                  zip(self.operand[number], lane.operand, strict=True)),
            ]
        if self.machine.snoopy:
            for lane, words in zip(self._lanes, self.special, strict=True):
                self._special(m, lane, words, transfers)
            for slot, port in enumerate(self.transfer):
                self._snoop(m, slot, port, inputs)
        self._transfers(m)
        self._scalars(m)
        return m

    def _lane_inputs(self, m, transfers):
        """What the registers of all lanes are given alike. One signal for each port, not one for
        each lane: simulators keep, and pass, as many copies as there are signals."""
        inputs = {name: Signal(self._given[name].shape, name=f"lanes_{name}")
                  for name in ("stall", "slot", "transfers", "read", "snoop", "passed", "loads")
                  if name in self._given}
        m.d.comb += [inputs["stall"].eq(self.stall), inputs["slot"].eq(self.slot),
                     inputs["transfers"].eq(transfers), inputs["read"].eq(self.read)]
        return inputs

    def _special(self, m, lane, words, transfers):
        """A lane's `mem_idx` and `mem_data` of the slot that computes. While a slot's registers are
        the transfer unit's, it has the choice of the warp."""
        found = [[], []]
        for slot, by_register in enumerate(lane.special):
            for number, by_warp in enumerate(by_register):
                asked = lane.asked[slot][number].warp
                chosen = lane.chosen[slot][number]
                m.d.comb += chosen.eq(by_warp.as_value().word_select(
                    Mux(transfers[slot], asked, self.special_warp), 32))
                found[number].append(chosen)
        m.d.comb += [word.eq(Mux(self.slot, second, first))
                     for word, (first, second) in zip(words, found, strict=True)]

    def _transfers(self, m):
        """Give the lanes what is moved, and the transfer unit what it has asked for."""
        rows = self.machine.lanes // self.words  # of the bus in a warp
        inside = ceil_log2(rows)
        for (slot, port), bank in itertools.product(enumerate(self.transfer),
                                                    range(REGISTER_BANKS)):
            for position, asked in enumerate(port.read[bank]):
                row = Signal(inside, name=f"answered_{slot}_{bank}_{position}")
                m.d.sync += row.eq(asked.group[:inside])
                m.d.comb += port.answer[bank][position].eq(Array(
                    self._lanes[number * self.words + position].answer[slot][bank]
                    for number in range(rows))[row])
            for number, lane in enumerate(self._lanes):
                row, position = divmod(number, self.words)
                write, asked = port.write[bank][position], port.read[bank][position]
                moved = lane.moved[slot][bank]
                m.d.comb += [
                    moved.enable.eq(write.enable & (write.group[:inside] == row)),
                    moved.row.eq(write.row), moved.warp.eq(write.group[inside:]),
                    lane.words[slot][bank].eq(write.data),
                    lane.asked[slot][bank].row.eq(asked.row),
                    lane.asked[slot][bank].warp.eq(asked.group[inside:]),
                ]

    def _snoop(self, m, slot, port, inputs):
        """Words that pass every lane's items; of those that have one, the lowest warp's lowest lane
        answers."""
        machine = self.machine
        matches = [lane.matched[slot] for lane in self._lanes]
        matched = Signal(matches[0].shape(), name=f"matched_{slot}")
        m.d.comb += matched.eq(_either([of_lane.as_value() for of_lane in matches]))
        lower, first = Const(0, len(port.held.enable)), []  # words that a lower warp has
        for of_warp in matched:
            lowest = Signal(len(lower), name=f"first_{slot}_{len(first)}")
            m.d.comb += lowest.eq(of_warp & ~lower)
            first.append(lowest)
            lower = lower | of_warp
        m.d.comb += port.held.enable.eq(lower)

        before, owned = Const(0, len(lower)), []  # words that a lower lane has; a lane's own
        for number, of_lane in enumerate(matches):
            has, own, until = (Signal(len(lower), name=f"{name}_{slot}_{number}")
                               for name in ("has", "own", "until"))
            m.d.comb += [has.eq(_either([mine & here for mine, here in zip(
                of_lane, first, strict=True)])), own.eq(has & ~before), until.eq(before | has)]
            owned.append(own)
            before = until
        # the numbers of a word's warp and lane choose among all items' `mem_data`
        numbers = [*_numbers(first), *_numbers(owned)]
        places = [Signal(len(lower), name=f"place_{slot}_{bit}") for bit in range(len(numbers))]
        m.submodules[f"held_{slot}"] = held = Selection(
            words=machine.items, width=32, choices=len(lower))
        m.d.comb += [
            *(bits.eq(of) for bits, of in zip(places, numbers, strict=True)),
            held.row.eq(Cat(lane.special[slot][1] for lane in self._lanes)),
            *(number.eq(Cat(bits[word] for bits in places))
              for word, number in enumerate(held.number)),
            port.held.words.eq(held.chosen),
        ]

        passed = Signal(PassedLayout(machine=machine), name=f"passed_{slot}")
        m.d.sync += passed.load.eq(port.snoop.load & port.snoop.enable.any())
        with m.If(port.snoop.load):
            m.d.sync += passed.words.eq(port.snoop.words)
        m.d.comb += [inputs["snoop"][slot].enable.eq(port.snoop.enable),
                     inputs["snoop"][slot].index.eq(port.snoop.index),
                     inputs["passed"][slot].eq(passed.words),
                     inputs["loads"][slot].eq(passed.load)]
        for number, lane in enumerate(self._lanes):
            active = Cat(self.active[slot][warp * machine.lanes + number]
                         for warp in range(machine.warps))
            m.d.comb += lane.active[slot].eq(active)

    def _scalars(self, m):
        """Each slot's scalar registers; the pipeline reads and writes those of the one that
        computes."""
        for slot in range(SLOTS):
            m.submodules[f"scalars_{slot}"] = scalars = ScalarRegisters(machine=self.machine)
            mine = self.slot == slot
            m.d.comb += [
                scalars.stall.eq(self.stall), scalars.moved.eq(self.transfer[slot].scalars),
                scalars.read.eq(self.scalar_read), scalars.write.eq(self.scalar_write),
                scalars.write.enable.eq(self.scalar_write.enable & mine),
            ]
            with m.If(~self.accessing[slot]):
                m.d.comb += scalars.moved.eq(0)
            with m.If(mine):
                m.d.comb += [word.eq(value) for word, value in
                             zip(self.scalar, scalars.value, strict=True)]
