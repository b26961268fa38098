"""When each core of a grid begins with its program, by the jump tile or by its own bootstrap.

Ref: SHMAC thesis, 4.3 (Figure 4.4): a jump tile in (0, 0), and cores in all others.
"""

from cyclebound.golden.noc.routes import Tile
from cyclebound.golden.shmac.address_map import SystemRegister, tile_base
from cyclebound.golden.shmac.grid import GridModel
from cyclebound.golden.shmac.layout import Kind, Layout
from cyclebound.tools.shmac.assembler import assemble

__all__ = ["starts"]


def starts(side: int, *, jump: bool = True, bypass: bool = True) -> dict[Tile, int]:
    """Of each core of a grid of ``side`` x ``side``, the cycle of its program's first instruction.

    On the golden model of the grid, which is compared with the RTL in every cycle. With ``jump``
    its first instructions are the jump tile's, else those of its system registers. Cores fetch past
    the router, if ``bypass``.
    """
    layout = Layout(("J" + "P" * (side - 1), *["P" * side] * (side - 1)))
    cores = layout.tiles(Kind.CORE)
    model = GridModel(layout, words=16, jump=cores if jump else (), bypass=bypass)
    (leaves,) = assemble(f"sw $0, {SystemRegister.EXIT - (1 << 32)}($0)")
    for tile in cores:
        model.rams[tile].content[0] = leaves
    begun: dict[Tile, int] = {}
    cycle = 0
    while len(begun) < len(cores):
        for tile, shown in model.step(run=cores).items():
            if shown.begins and shown.pc == tile_base(*tile):
                begun.setdefault(tile, cycle)
        cycle += 1
    return begun
