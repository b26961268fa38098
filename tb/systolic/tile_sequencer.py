"""Testbench of the tile sequencer: every field of every tile compared."""

import itertools
from collections.abc import Iterable, Mapping

from cyclebound.golden.systolic.tile_sequencer import TileSequencerModel, Visit
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.stream_scoreboard import StreamScoreboard


class TileScoreboard(StreamScoreboard):
    """The sequencer and its model."""

    def __init__(self, bench: Bench) -> None:
        p = bench.parameters
        super().__init__(bench, "command", "tiles", TileSequencerModel(p["rows"], p["columns"]))
        self.most = 2 ** p.get("dimension_width", 16) - 1

    def payload(self, shown: Visit) -> Mapping[str, int]:
        return vars(shown)

    async def walks(self, commands: Iterable[tuple[int, int]],
                    sinks: Iterable[bool] = ()) -> None:
        """All commands, one after the other; each is offered as early as it may be taken."""
        assert await self.play([(command, dict(zip(("down", "across"), command, strict=True)))
                                for command in commands], ends=lambda tile: tile.final, sinks=sinks)


@testbench
async def every_matrix(bench: Bench) -> None:
    """Every matrix of the domain; where there is none, random ones."""
    scoreboard = TileScoreboard(bench)
    if bench.domain:
        down, across = (range(low, high + 1) for low, high in
                        (bench.domain[name] for name in ("down", "across")))
        commands = list(itertools.product(down, across))
    else:
        commands = [(bench.rng.randint(1, 200), bench.rng.randint(1, 200)) for _ in range(50)]
        commands += [(1, scoreboard.most), (scoreboard.most, 1)]
    bench.declare("walk")
    await scoreboard.walks(commands)


@testbench
async def tiles_that_wait(bench: Bench) -> None:
    """A sink that is not always ready: the same tiles, later."""
    scoreboard = TileScoreboard(bench)
    most = min(scoreboard.most, 40)
    commands = [(bench.rng.randint(1, most), bench.rng.randint(1, most)) for _ in range(30)]
    await scoreboard.walks(commands, sinks=(bench.rng.random() < 0.4 for _ in itertools.count()))


reset_in_mid_run = interrupted(tiles_that_wait, then=every_matrix)
