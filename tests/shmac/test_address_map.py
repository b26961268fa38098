"""Addresses of SHMAC's tiles, and the instructions with which their cores begin."""

import pytest

from cyclebound.golden.shmac.address_map import boot_stub, entry_of, tile_base, tile_of
from cyclebound.golden.shmac.machine import Machine
from cyclebound.golden.shmac.memory import SharedMemory

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("tile", [(0, 0), (0, 1), (1, 1), (9, 0), (15, 15)])
def test_the_bootstrap_leads_to_the_tiles_own_memory(tile):
    """That of tile (0, 0) would lead to itself if it jumped to the tile's first address."""
    machine = Machine()
    memory = SharedMemory(dict(zip(range(0, 16, 4), boot_stub(*tile), strict=True)))
    for _ in range(3):
        machine.step(memory)
    assert machine.pc == entry_of(*tile)
    assert tile_of(machine.pc) == tile
    assert machine.pc - tile_base(*tile) == (16 if tile == (0, 0) else 0)
