"""Unlocking with a plain store: what was stored before it, elsewhere, may come after it.

Ref: SHMAC thesis, A.2.6, which unlocks so; stores are posted (2.3).
"""

import pytest

from cyclebound.golden.shmac.address_map import SystemRegister, entry_of
from cyclebound.golden.shmac.grid import GridModel
from cyclebound.golden.shmac.layout import Kind, Layout
from cyclebound.tools.shmac.assembler import assemble

LAYOUT = Layout(("PLPPPPPPPPPPPPPR",))
FIRST, SECOND, COUNTER = (0, 0), (0, 14), (0, 15)
TIMES = 20
ADDS = """
        li    $8, {times}
        li    $9, 0x01000000
        li    $10, 0x0f000000
lock:   ll    $11, 0($9)
        bne   $11, $0, lock
        li    $11, 1
        sc    $11, 0($9)
        beq   $11, $0, lock
        nop
        lw    $12, 0($10)
        addiu $12, $12, 1
        sw    $12, 0($10)
        {fence}
        sw    $0, 0($9)
        addiu $8, $8, -1
        bgtz  $8, lock
        nop
        sw    $0, {exit}($0)
"""
STORES = """
        li    $10, 0x0f000100
more:   sw    $0, 0($10)
        sw    $0, 4($10)
        sw    $0, 8($10)
        sw    $0, 12($10)
        b     more
        nop
"""


@pytest.mark.unit
@pytest.mark.thorough
@pytest.mark.parametrize(("fence", "lost"), [("nop", 2), ("lw $0, 0($10)", 0)])
def test_increments_are_lost_unless_there_is_a_fence(fence, lost):
    """Two cores add to one word under one lock; others keep the word's tile busy, so that the
    first one's store is slower than its unlocking, the second one's lock and its load."""
    adds = ADDS.format(times=TIMES, fence=fence, exit=SystemRegister.EXIT - (1 << 32))
    busy = [tile for tile in LAYOUT.tiles(Kind.CORE) if 5 <= tile[1] <= 13]
    model = GridModel(LAYOUT, words=128)
    for tile in (FIRST, SECOND, *busy):
        start = entry_of(*tile)
        words = assemble(STORES if tile in busy else adds, origin=start)
        for place, word in enumerate(words, (start & 0xFF_FFFF) // 4):
            model.rams[tile].content[place] = word
    while not all(model.tiles[tile].exited for tile in (FIRST, SECOND)):
        model.step(run=(FIRST, SECOND, *busy))
    for _ in range(1_000):
        model.step()
    assert model.rams[COUNTER].content[0] == 2 * TIMES - lost
