"""A search on the RTL for the slowest accesses of a RAM among other masters. Takes minutes."""

from cyclebound.golden.noc.routes import Tile
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.noc.handshake_mesh import CENTRE, GridTester
from cyclebound.tb.noc.shmac_search import IDLE, READ, WRITE, search

_READS, _ANY = (IDLE, READ), (IDLE, READ, WRITE)
# in a grid: who shares the input of the first one, and who uses others
_AROUND: tuple[tuple[Tile, ...], ...] = (
    ((0, 1), (1, 2)), ((0, 1), (0, 0)), ((0, 1), (0, 0), (1, 2)), ((0, 1), (0, 0), (0, 2), (1, 2)),
    ((0, 1), (0, 0), (0, 2), (1, 2), (2, 1), (1, 0)))
_ALONG: tuple[tuple[Tile, ...], ...] = (((0, 0),), ((0, 0), (0, 2)), ((0, 2), (0, 3)),
                                        ((0, 2), (0, 3), (0, 0)))


@testbench
async def masters_on_one_ram(bench: Bench) -> None:
    tester = GridTester(bench)
    target, groups = (CENTRE, _AROUND) if CENTRE in tester.tiles else ((0, 1), _ALONG)
    await search(
        bench, tester, target, [cores for cores in groups if {*cores} <= {*tester.tiles}],
        [("read", "shared", _READS, _READS, False), ("read", "mixed_read", _READS, _ANY, False),
         ("write", "posted", (WRITE,), (WRITE,), True),
         ("write", "mixed_write", _ANY, _ANY, False)])
