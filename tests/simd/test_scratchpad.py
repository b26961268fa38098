import pytest

from cyclebound.golden.simd.machine import SCRATCHPAD_WORDS
from cyclebound.golden.simd.memory_timing import scratchpad_cycles
from cyclebound.golden.simd.scratchpad import ScratchpadTile, bus_lines
from cyclebound.golden.simd.transfers import Access

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("bus", [1, 4, 32])
@pytest.mark.parametrize(("words", "period", "count"), [
    (1, 1, 1), (3, 3, 5), (5, 7, 4), (1, 40, 9), (33, 70, 3), (SCRATCHPAD_WORDS, SCRATCHPAD_WORDS,
                                                              1)])
def test_all_words_move_once_and_in_the_clocks_of_the_cycle_model(words, period, count, bus):
    tile = ScratchpadTile(5 if count > 1 else 0, words, period, count, base=100, pitch=64)
    lines = bus_lines(tile, bus)
    moved = [(address, target) for line in lines for _, address, target in line]
    assert sorted(moved) == sorted(
        (tile.address + line * period + column, 100 + line * 64 + column)
        for line in range(count) for column in range(words))
    assert all(0 <= place < bus for line in lines for place, _, _ in line)
    access = Access("scratchpad", False, tile.address, words, period, count, SCRATCHPAD_WORDS,
                    lambda: None)
    assert len(lines) + 1 == scratchpad_cycles(access, bus)


@pytest.mark.parametrize("wrong", [
    {"words": 0}, {"count": 0}, {"period": 2}, {"address": -1}, {"address": SCRATCHPAD_WORDS - 2}])
def test_what_is_no_tile_is_refused(wrong):
    with pytest.raises(ValueError, match=r"is no tile|ends beyond word"):
        ScratchpadTile(**{"address": 0, "words": 3, "period": 3, "count": 1} | wrong)
