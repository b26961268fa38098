# amaranth: UnusedElaboratable=no
"""Tile sequencer: parameters, golden model, and that each claim of its checker fires."""

import itertools

import numpy as np
import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.systolic.tile_sequencer import TileSequencerModel, walk, walk_cycles
from cyclebound.hdl.systolic.tile_sequencer import TileSequencer
from cyclebound.tb.systolic import tile_sequencer_properties as properties
from kit.faults import Tampered, override
from kit.run_bench import run_bench

pytestmark = pytest.mark.unit


def test_parameters():
    for name, thing in (("rows", "Row count"), ("columns", "Column count")):
        for bad in (0, -1):
            with pytest.raises(ValueError, match=f"^{thing} must be at least 1, not {bad}$"):
                TileSequencer(**{"rows": 1, "columns": 1} | {name: bad})
        with pytest.raises(TypeError, match=f"^{thing} must be an integer, not 1.0$"):
            TileSequencer(**{"rows": 1, "columns": 1} | {name: 1.0})
    with pytest.raises(ValueError, match=r"^Dimension width must be at least 3, not 2$"):
        TileSequencer(rows=4, columns=1, dimension_width=2)


@pytest.mark.parametrize(("down", "across"), [(1, 1), (2, 3), (3, 4), (7, 10), (1, 9), (9, 1)])
def test_a_walk_covers_the_matrix_once(down, across):
    covered = np.zeros((down, across), dtype=int)
    tiles = walk(down, across, 2, 3)
    for tile in tiles:
        covered[tile.row:tile.row + tile.height, tile.column:tile.column + tile.width] += 1
    assert (covered == 1).all()
    assert len(tiles) == walk_cycles(rows=2, columns=3, down=down, across=across) - 1
    assert [tile.final for tile in tiles] == [False] * (len(tiles) - 1) + [True]
    assert sum(tile.first for tile in tiles) == sum(tile.last for tile in tiles) == -(-across // 3)


def test_sizes_are_counts():
    for name in ("down", "across"):
        with pytest.raises(NotCovered, match=f"^{name} must be a whole number of at least 1, not"):
            walk_cycles(**{"rows": 1, "columns": 1, "down": 1, "across": 1} | {name: 0})


def play(dut, commands, cycles, see=None):
    """Commands as early as may be, and a sink that is ready two times of three."""
    async def bench(ctx):
        waiting = list(commands)
        for cycle in range(cycles):
            ctx.set(dut.command.valid, bool(waiting))
            ready = cycle % 3 != 0
            ctx.set(dut.tiles.ready, ready)
            offer = waiting[0] if waiting else None
            if offer:
                ctx.set(dut.command.payload, dict(zip(("down", "across"), offer, strict=True)))
            takes, valid = ctx.get(dut.command.ready), ctx.get(dut.tiles.valid)
            if see:
                fields = ("row", "column", "height", "width", "first", "last", "final")
                see(offer, ready, bool(takes), tuple(
                    ctx.get(getattr(dut.tiles.payload, name)) for name in fields)
                    if valid else None)
            if takes and waiting:
                waiting.pop(0)
            await ctx.tick()

    run_bench(dut, bench, properties.TileSequencerCheck(dut))


def test_rtl_is_the_model():
    model, tiles = TileSequencerModel(2, 3), []

    def see(offer, ready, takes, tile):
        expected_takes, visit = model.step(offer, ready)
        assert takes == expected_takes
        assert tile == (tuple(vars(visit).values()) if visit else None)
        tiles.append(tile)
    commands = list(itertools.product((1, 2, 3, 7), repeat=2))
    play(TileSequencer(rows=2, columns=3, dimension_width=4), commands, 150, see)
    assert len(set(tiles)) > 12


def field(name, change):
    return lambda inner, ports, cycle: getattr(ports.tiles.payload, name).eq(
        change(getattr(inner.tiles.payload, name)))


FAULTS = [
    (lambda inner, ports, cycle: ports.tiles.valid.eq(inner.tiles.valid & (cycle != 9)),
     "a tile is missing, or one too many"),
    (lambda inner, ports, cycle: ports.command.ready.eq(1),
     "a command is refused, or taken before its time"),
    (field("row", lambda value: value + 2), "a tile is misplaced"),
    (field("column", lambda value: value ^ 1), "a tile is misplaced"),
    (field("height", lambda value: value ^ 1), "height"),
    (field("width", lambda value: value ^ 1), "width"),
    (field("first", lambda value: ~value), "first, last, final"),
    (field("last", lambda value: ~value), "first, last, final"),
    (field("final", lambda value: ~value), "first, last, final"),
]


@pytest.mark.parametrize(("fault", "says"), FAULTS, ids=range(len(FAULTS)))
def test_checker_fires(only, fault, says):
    only(says, properties)
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        play(Tampered(TileSequencer(rows=2, columns=3, dimension_width=4), override(fault)),
             [(5, 7), (1, 1), (3, 3)], 60)


def test_checker_names_the_neighbour_that_breaks_the_rules():
    with pytest.raises(AssertionError, match=r"^Assumption violated: a dimension is 0$"):
        play(TileSequencer(rows=2, columns=3, dimension_width=4), [(0, 1)], 5)
