"""Testbench of the tile sequencer: every field of every tile compared."""

import itertools
from collections.abc import Iterable, Iterator

from cyclebound.golden.systolic.tile_sequencer import TileSequencerModel
from cyclebound.tb.bench import Bench, interrupted, testbench


class Scene:
    """The sequencer and its model."""

    def __init__(self, bench: Bench) -> None:
        self.bench, p = bench, bench.parameters
        self.model = TileSequencerModel(p["rows"], p["columns"])
        self.most = 2 ** p.get("dimension_width", 16) - 1

    async def walks(self, commands: Iterable[tuple[int, int]], *,
                    sinks: Iterator[bool]) -> None:
        """All commands, one after the other; each is offered as early as it may be taken."""
        bench = self.bench
        waiting, walking, visited = list(reversed(list(commands))), False, 0
        while waiting or walking:
            ready = next(sinks)
            offer = waiting[-1] if waiting else None
            values: dict[str, int] = {"command.valid": offer is not None, "tiles.ready": ready}
            if offer is not None:
                values |= {"command.payload.down": offer[0], "command.payload.across": offer[1]}
            seen = await bench.step(bench.inputs.pack(values))
            takes, tile = self.model.step(offer, ready)
            expected: dict[str, int] = {"command.ready": takes, "tiles.valid": tile is not None}
            if tile is not None:
                expected |= {f"tiles.payload.{name}": value for name, value in vars(tile).items()}
            bench.check_fields(seen, expected)
            if tile is not None and ready:
                visited += 1
                walking = not tile.final
            if takes and offer is not None:
                waiting.pop()
                walking = True
        assert visited


@testbench
async def every_matrix(bench: Bench) -> None:
    """Every matrix of the domain; where there is none, random ones."""
    scene = Scene(bench)
    if bench.domain:
        down, across = (range(low, high + 1) for low, high in
                        (bench.domain[name] for name in ("down", "across")))
        commands = list(itertools.product(down, across))
    else:
        commands = [(bench.rng.randint(1, 200), bench.rng.randint(1, 200)) for _ in range(50)]
        commands += [(1, scene.most), (scene.most, 1)]
    bench.declare("walk")
    await scene.walks(commands, sinks=itertools.repeat(True))


@testbench
async def tiles_that_wait(bench: Bench) -> None:
    """A sink that is not always ready: the same tiles, later."""
    scene = Scene(bench)
    most = min(scene.most, 40)
    commands = [(bench.rng.randint(1, most), bench.rng.randint(1, most)) for _ in range(30)]
    await scene.walks(commands, sinks=(bench.rng.random() < 0.4 for _ in itertools.count()))


reset_in_mid_run = interrupted(tiles_that_wait, then=every_matrix)
