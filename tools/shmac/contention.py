"""How often cores try until each has had one lock once.

Ref: SHMAC thesis, 4.6 and A.2.6 (Figures 4.13 to 4.15): the lock in the tile in the middle,
cores in all others.
"""

from cyclebound.golden.noc.routes import Tile
from cyclebound.golden.shmac.address_map import SystemRegister, entry_of, tile_base
from cyclebound.golden.shmac.grid import GridModel
from cyclebound.golden.shmac.layout import Kind, Layout
from cyclebound.tools.shmac.assembler import assemble

__all__ = ["tries"]

_TEXT = """
        li    $4, {lock:#x}
        li    $5, 0             # LL issued, and SC that failed
again:  ll    $2, 0($4)
        addiu $5, $5, 1
        bne   $2, $0, again
        nop
        li    $1, 1
        sc    $1, 0($4)
        bne   $1, $0, got
        nop
        b     again
        addiu $5, $5, 1
got:    sw    $0, 0($4)
        sw    $5, {EXIT}($0)
"""


def tries(side: int, *, bypass: bool = True) -> dict[Tile, int]:
    """Of each core of a grid of ``side`` x ``side``, its LL plus its SC that failed.

    On the golden model of the grid, which is compared with the RTL in every cycle. All cores begin
    in the same cycle, by their own bootstrap.
    """
    middle = side // 2
    rows = ["P" * side] * side
    rows[middle] = "P" * middle + Kind.LOCKS.value + "P" * (side - middle - 1)
    layout = Layout(tuple(rows))
    cores = layout.tiles(Kind.CORE)
    model = GridModel(layout, words=32, bypass=bypass)
    text = _TEXT.format(lock=tile_base(middle, middle), EXIT=SystemRegister.EXIT - (1 << 32))
    for tile in cores:
        start = entry_of(*tile)
        for place, word in enumerate(assemble(text, origin=start), (start & 0xFF_FFFF) // 4):
            model.rams[tile].content[place] = word
    while not model.exited:
        model.step(run=cores)
    return {tile: model.tiles[tile].status for tile in cores}
