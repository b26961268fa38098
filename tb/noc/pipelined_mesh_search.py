"""A search on the RTL for the slowest accesses of a RAM among other masters, through pipelined
routers. Takes minutes.
"""

from cyclebound.golden.noc.routes import Tile
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.noc.handshake_mesh import CENTRE
from cyclebound.tb.noc.pipelined_mesh import PipelinedGridTester
from cyclebound.tb.noc.shmac_search import IDLE, READ, WRITE, search

_ANY = (IDLE, READ, WRITE)
_AROUND: tuple[tuple[Tile, ...], ...] = (
    ((0, 1), (1, 2)), ((0, 1), (0, 0)), ((0, 1), (0, 0), (1, 2)),
    ((0, 1), (0, 0), (0, 2), (1, 2), (2, 1), (1, 0), (1, 1)))


@testbench
async def masters_on_one_ram(bench: Bench) -> None:
    tester = PipelinedGridTester(bench)
    target, groups = (CENTRE, _AROUND) if CENTRE in tester.tiles else (
        (0, 1), (((0, 0),), ((0, 0), (0, 1))))
    await search(bench, tester, target, groups,
                 [("read", "mixed_read", (IDLE, READ), _ANY, False),
                  ("write", "mixed_write", _ANY, _ANY, False)])
