"""Turns: which slot's work-group computes, and what becomes of those whose accesses are over.

Part of the compute unit, whose model, testbench and tests cover it.

Ref: Sim-D, sections 3 and 4.2.
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.simd.machine import SLOTS
from cyclebound.hdl.interfaces import Strobe
from cyclebound.hdl.simd.interfaces import CompletionLayout, LaunchLayout

__all__ = ["Turns"]


class Turns(wiring.Component):
    """Work-groups take turns: one computes until its access is committed or it ends; then the other
    one follows, if it is ready, else the first that becomes ready.

    Members
    -------
    exclusive, hold, start : In(1), launch : In(Strobe(LaunchLayout))
        Those of the compute unit.
    completion : In(Strobe(CompletionLayout)) times 2
        For each slot.
    over : In(1)
        The work-group that computes has ended.
    access : In(1)
        The work-group leaves with an access.
    scratchpad : In(1)
        The access is to its scratchpad.
    last : In(1)
        The access is the last thing that it does.
    wrong : In(1)
        It commits an instruction that stops the kernel.
    slot : Out(1), running : Out(1)
        The slot that computes, or did so last; and whether it does.
    occupied, accessing : Out(2)
        Slots with a work-group; with one whose access is under way.
    released : Out(2)
        Slots whose access a fault has ended for the pipeline, while the transfer unit still reads
        their registers.
    failed : Out(2)
        Slots whose access ends with a fault in this cycle.
    stopped : Out(1)
        After a fault, until ``start``.
    stops : Out(1)
        Nothing issues or goes on from this cycle on.
    chooses : Out(1), chosen : Out(1), fresh : Out(1)
        The slot ``chosen`` gets its turn in the next cycle; it was launched in this one.
    """

    def __init__(self):
        super().__init__({
            "exclusive": In(1), "hold": In(1), "start": In(1), "launch": In(Strobe(LaunchLayout())),
            "completion": In(Strobe(CompletionLayout())).array(SLOTS),
            "over": In(1), "access": In(1), "scratchpad": In(1), "last": In(1), "wrong": In(1),
            "slot": Out(range(SLOTS)), "running": Out(1), "occupied": Out(SLOTS),
            "accessing": Out(SLOTS), "released": Out(SLOTS), "failed": Out(SLOTS),
            "stopped": Out(1), "stops": Out(1),
            "chooses": Out(1), "chosen": Out(range(SLOTS)), "fresh": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        on_chip, closing, done = (Signal(SLOTS, name=name) for name in
                                  ("on_chip", "closing", "done"))
        launched, slot = Signal(SLOTS), self.slot
        m.d.comb += launched.eq(Mux(self.launch.valid, 1 << self.launch.payload.slot, 0))
        for number, completion in enumerate(self.completion):
            valid = completion.valid & self.accessing[number]
            m.d.comb += [done[number].eq(valid),
                         self.failed[number].eq(valid & completion.payload.fault)]
            with m.If(valid):
                m.d.sync += self.accessing[number].eq(0)
                with m.If(closing[number]):
                    m.d.sync += self.occupied[number].eq(0)
        self._choose(m, on_chip, closing, done, launched)

        with m.If(self.over):
            m.d.sync += self.occupied.bit_select(slot, 1).eq(0)
        with m.If(self.access & ~self.stops):
            m.d.sync += [self.accessing.bit_select(slot, 1).eq(1),
                         on_chip.bit_select(slot, 1).eq(self.scratchpad),
                         closing.bit_select(slot, 1).eq(self.last)]
        for number in range(SLOTS):
            with m.If(launched[number]):
                m.d.sync += [self.occupied[number].eq(1), self.accessing[number].eq(0)]
        self._stop(m)
        return m

    def _choose(self, m, on_chip, closing, done, launched):
        """Whose turn it is, when the current work-group is over or leaves with an access."""
        slot, access, stops = self.slot, self.access, self.stops
        computing, ready = Mux(self.running, 1 << slot, 0), Signal(SLOTS)
        m.d.comb += ready.eq((self.occupied & ~self.accessing & ~computing)
                             | (done & ~closing) | launched)
        held = self.exclusive & ((self.accessing & on_chip & ~done).any()
                                 | (access & self.scratchpad))
        stays = Signal()  # it was an access to its scratchpad that the current slot left with
        m.d.comb += [
            self.chosen.eq(Mux(ready.bit_select(slot ^ 1, 1)
                               & ~(stays & ready.bit_select(slot, 1)), slot ^ 1, slot)),
            self.chooses.eq((~self.running | self.over | access) & ready.any() & ~held & ~stops),
            self.fresh.eq(launched.bit_select(self.chosen, 1)),
        ]
        with m.If(self.chooses):
            m.d.sync += [slot.eq(self.chosen), self.running.eq(1)]
        with m.Elif(self.over | access | stops):
            m.d.sync += self.running.eq(0)
        with m.If(access):
            m.d.sync += stays.eq(self.hold & self.scratchpad)
        with m.Elif(self.over | stops):
            m.d.sync += stays.eq(0)

    def _stop(self, m):
        """After a fault nothing issues until the next kernel."""
        fault = self.wrong | self.failed.any()
        m.d.comb += self.stops.eq(fault | self.start | self.stopped)
        with m.If(fault):
            m.d.sync += self.stopped.eq(1)
        with m.If(self.start):
            m.d.sync += self.stopped.eq(0)
        with m.If(fault | self.start):
            m.d.sync += [self.occupied.eq(0), self.accessing.eq(0)]
        done = Cat(completion.valid for completion in self.completion)
        m.d.sync += self.released.eq(Mux(self.start, 0, (
            self.released | Mux(fault, self.accessing, 0)) & ~done))
