"""SHMAC's tile with a core: its parameters, its models, and what its testbench finds."""

import pytest
from amaranth.back import rtlil

from cyclebound.golden.shmac.address_map import (
    SYSTEM_BASE,
    SystemRegister,
    boot_stub,
    entry_of,
    tile_base,
    tile_of,
)
from cyclebound.golden.shmac.machine import Machine
from cyclebound.golden.shmac.packet import RequestPacket
from cyclebound.golden.shmac.ram import RamModel
from cyclebound.golden.shmac.tile import TileModel
from cyclebound.hdl.shmac.ram import Ram
from cyclebound.hdl.shmac.tile import CoreTile

from ..sim.mutant_tests import mutants_together
from ..sim.mutants import Mutant

unit = pytest.mark.unit
TILE = "shmac.tile"
GRID = {"rows": 2, "columns": 2, "words": 64}
MUTANTS = (
    Mutant(TILE, "the core's failed writes are not counted", "(here & posted & fails) +", "0 +"),
    Mutant(TILE, "failures of the network are not counted",
           "+ (responses.valid & responses.payload.write)", "+ 0"),
    Mutant(TILE, "a failed write's response is the core's",
           "responses.valid & ~responses.payload.write)),", "responses.valid)),"),
    Mutant(TILE, "columns are not compared", "& (there.column < self.columns)", ""),
    Mutant(TILE, "the core goes on after its end", "free.eq(self.run & ~self.exited)",
           "free.eq(self.run)"),
    Mutant(TILE, "the core goes before it is let", "free.eq(self.run & ~self.exited)",
           "free.eq(~self.exited)"),
    Mutant(TILE, "LL in the RAM succeeds", ".any() | asked.sync", ".any()"),
    Mutant(TILE, "beyond the RAM is its beginning",
           "address[2 + len(ram.address):LOCAL_BITS].any() |", ""),
    Mutant(TILE, "the vector is tile (0, 0)'s", "Cat(C(VECTOR_OFFSET, LOCAL_BITS), position)",
           "VECTOR_OFFSET"),
    Mutant(TILE, "parts of words are written to registers",
           "whole.eq(posted & asked.strobes.all())", "whole.eq(posted)"),
    Mutant(TILE, "an interrupt is lost when it is lowered", "with m.If(ram.raised):",
           "with m.If(ram.raised & ~written):"),
    Mutant(TILE, "the clock stands", "Mux(self.run, clock + 1, 0)", "Mux(self.run, clock, 0)"),
    Mutant(TILE, "the core waits for the network's requests", "core.request.ready.eq(free &",
           "core.request.ready.eq(free & ~self.accesses.valid &"),
)

test_mutants_fit, test_testbench_finds_mutants = mutants_together(MUTANTS)


@unit
@pytest.mark.parametrize(("parameters", "kind", "message"), [
    ({"rows": 0}, ValueError, r"^Row count must be from 1 to 16, not 0$"),
    ({"columns": 17}, ValueError, r"^Column count must be from 1 to 16, not 17$"),
    ({"words": 48}, ValueError, r"^Word count must be a power of two, not 48$"),
    ({"words": 1}, ValueError, r"^Word count must be from 2 to 262144, not 1$"),
    ({"bypass": 1}, TypeError, r"^Bypass must be True or False, not 1$"),
    ({"endian": "middle"}, ValueError, r"^Endian must be one of big, little, not 'middle'$"),
])
def test_refuses(parameters, kind, message):
    with pytest.raises(kind, match=message):
        CoreTile(**{**GRID, **parameters})


@unit
@pytest.mark.parametrize("made", [CoreTile(**GRID), CoreTile(**GRID, endian="little", bypass=False),
                                  Ram(words=16)],
                         ids=["tile", "little", "ram"])
def test_converts_alone(made):
    assert "attribute \\top 1" in rtlil.convert(made)


@unit
def test_addresses_of_tiles():
    assert tile_base(1, 1) == 0x1100_0000  # of the thesis' listings
    assert all(tile_of(tile_base(row, column) + 0xFF_FFFF) == (row, column)
               for row in range(16) for column in range(16))
    assert all(SYSTEM_BASE <= register < 1 << 32 and register % 4 == 0
               for register in SystemRegister)


@unit
@pytest.mark.parametrize("position", [(0, 0), (0, 1), (3, 0), (15, 15)])
def test_the_bootstrap_comes_to_the_program(position):
    machine = Machine()
    words = boot_stub(*position)
    for _ in range(3):
        machine.begin(words[machine.pc // 4])
    assert machine.pc == entry_of(*position)


@unit
def test_a_read_sees_what_was_before_the_cores_write():
    model = TileModel(position=(0, 0), shape=(1, 1), words=64)
    model.ram.content[5] = 1
    ram = RamModel(64)
    ram.content[5] = 1
    read = RequestPacket(address=20, strobes=15)
    assert ram.ready(read, passed=False, writes=True)
    assert not ram.ready(read, passed=False, reads=True)
    assert ram.ready(RequestPacket(write=True), passed=False, reads=True)
    ram.step(read, passed=False)
    assert ram.response is not None
    assert ram.response.data == 1
    assert not ram.ready(read, passed=False)  # the response is not taken
    assert ram.ready(read, passed=True)
