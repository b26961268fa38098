"""What a checker follows: any of several alike in a proof, whatever the traffic is."""

import dataclasses

import pytest
from amaranth.hdl import Array, Assert, Cover, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.sim.describe.block import Block, Configuration, Property
from cyclebound.sim.proof.prove import prove
from cyclebound.tb.watcher import Watcher
from kit.run_bench import run_bench

CELLS = 4


class Cells(wiring.Component):
    """Four bytes of which one is written in each cycle, and all are shown."""

    place: In(range(CELLS))
    byte: In(8)
    shown: Out(8 * CELLS)

    def __init__(self, fault=None):
        self.fault = fault
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        began, cells = Signal(), [Signal(8, name=f"cell_{place}") for place in range(CELLS)]
        m.d.sync += [began.eq(1), Array(cells)[self.place].eq(self.byte)]
        for place, cell in enumerate(cells):
            m.d.comb += self.shown.word_select(place, 8).eq(cell)
        if self.fault is not None:
            self.fault(m, self, began, cells)
        return m


class CellsCheck(Watcher):
    """Follows one byte: that of ``place`` in the first cycle, in a simulation."""

    def __init__(self, target):
        super().__init__(target)
        self.choice = self.any_one(self.place, "place")

    def elaborate(self, platform):
        m = Module()
        self.choice.follow(m, self.place)
        written, byte = Signal(), Signal(8)
        with m.If(self.place == self.choice.now):
            m.d.sync += [written.eq(1), byte.eq(self.byte)]
        m.d.sync += [Assert(~written | (self.shown.word_select(self.choice.kept, 8) == byte),
                            "another byte"),
                     Cover(written, "a byte is written")]
        return m


def last_cell(m, cells_of, began, cells):
    with m.If(cells_of.place == CELLS - 1):
        m.d.sync += cells[CELLS - 1].eq(~cells_of.byte)


def second_cell(m, cells_of, began, cells):
    with m.If(cells_of.place == 1):
        m.d.sync += cells[1].eq(~cells_of.byte)


def neighbour_of_the_first_cycle(m, cells_of, began, cells):
    """What is written in the first cycle after reset, when a choice is made, changes the next cell
    whenever that is written later."""
    first = Signal.like(cells_of.place)
    with m.If(~began):
        m.d.sync += first.eq(cells_of.place)
    with m.If(began & (cells_of.place == first + 1)):
        m.d.sync += Array(cells)[cells_of.place].eq(~cells_of.byte)


BLOCK = Block(name="test.cells", summary="bytes", component=Cells,
              configurations={"four": Configuration({})}, testbenches=(), bounds=(),
              properties=(Property(name="kept", says="bytes are kept", checker=CellsCheck,
                                   instances=({},), depth=4, induction=None),))


@pytest.mark.proof
@pytest.mark.parametrize("fault", [None, last_cell, second_cell, neighbour_of_the_first_cycle])
def test_a_proof_is_one_for_each(tmp_path, fault):
    claim = dataclasses.replace(BLOCK.properties[0], top=lambda: Cells(fault))
    found = prove(BLOCK, claim, {}, folder=tmp_path)
    assert (found.status, found.detail.split(" in cycle")[0]) == (
        ("bounded", "induction was not asked for") if fault is None else
        ("failed", "another byte"))


@pytest.mark.unit
@pytest.mark.parametrize(("place", "fires"), [(1, True), (2, False)])
def test_a_simulation_follows_the_traffic(place, fires):
    dut = Cells(second_cell)

    async def bench(ctx):
        for there in (place, 0, 1, 2, 3):
            ctx.set(dut.place, there)
            ctx.set(dut.byte, 16 + there)
            await ctx.tick()

    if fires:
        with pytest.raises(AssertionError, match=r"^Assertion violated: another byte$"):
            run_bench(dut, bench, CellsCheck(dut))
    else:
        run_bench(dut, bench, CellsCheck(dut))
