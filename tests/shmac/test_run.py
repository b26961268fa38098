"""Runs of programs on the functional model, as Python calls."""

import pytest

from cyclebound.golden.shmac.layout import Layout
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.families.shmac.run import Setup, run_model
from cyclebound.tools.shmac.program import assembled

pytestmark = pytest.mark.unit

WORK = """
        li   $t0, {count}
again:  addiu $t0, $t0, -1
        bne  $t0, $0, again
        nop
        li   $t1, 0xfffffe04
        sw   $t0, 0($t1)
stop:   b    stop
        nop
"""


def programs(counts, big_endian=True):
    return {tile: assembled(WORK.format(count=count), f"{tile}.s", *tile, big_endian=big_endian)
            for tile, count in counts.items()}


def test_a_long_run_says_how_far_it_is():
    told = []
    done = run_model(Setup(Layout(("PP",)), programs({(0, 0): 50_000, (0, 1): 10})),
                     limit=1_000_000, tell=lambda *said: told.append(said))
    assert told == [("rounds", rounds, 1_000_000) for rounds in (50_000, 100_000, 150_000)]
    assert (done.ended, done.failed, done.rounds) == (True, False, 150_007)
    assert done.tiles[0, 0].instructions == 150_007


def test_a_run_that_is_stopped():
    done = run_model(Setup(Layout(("PP",)), programs({(0, 0): 50_000, (0, 1): 10})), limit=10_001)
    assert (done.ended, done.failed, done.rounds) == (False, True, 10_001)
    assert done.tiles[0, 0].status is None
    assert done.tiles[0, 0].at.startswith("0x0000001")
    assert done.tiles[0, 1].status == 0


def test_a_seed_makes_the_same_run_again():
    setup = Setup(Layout(("PPP",)), programs({(0, 0): 500, (0, 1): 400, (0, 2): 300}))
    runs = [run_model(setup, limit=10_000, seed=seed) for seed in (1, 1, 2, None)]
    assert runs[0].tiles == runs[1].tiles == runs[2].tiles
    assert runs[0].rounds == runs[1].rounds
    assert len({done.rounds for done in runs[1:]}) == 3


def test_programs_of_two_byte_orders():
    both = programs({(0, 0): 1}) | programs({(0, 1): 1}, big_endian=False)
    with pytest.raises(UserError, match=r"^all programs must have one byte order: \(0, 0\)\.s is "
                                        r"big-endian, \(0, 1\)\.s little-endian$"):
        Setup(Layout(("PP",)), both)
