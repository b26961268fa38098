"""Command generator: address mapping, and the policies of tiles and indexed requests (model)."""

from itertools import pairwise

import pytest

from cyclebound.golden.dram.address import Place, burst_at, place_of
from cyclebound.golden.dram.command_generator import CommandGeneratorModel
from cyclebound.golden.dram.timing import DDR4_3200AA_X8, DDR4_3200AA_X16, PARTS

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_places_are_a_bijection(part):
    for burst in (*range(3 * part.bursts_per_sweep), part.bursts - 1):
        place = place_of(part, burst)
        assert burst_at(part, bank=place.bank, row=place.row, column=place.column) == burst


@pytest.mark.parametrize(("part", "byte", "place"), [
    # notes on Sim-D, section 1: bank a[15:14], a[6]; column a[13:7]; row a[31:16]
    (DDR4_3200AA_X16, 0x40, Place(1, 0, 0)), (DDR4_3200AA_X16, 0x80, Place(0, 0, 8)),
    (DDR4_3200AA_X16, 0x4000, Place(2, 0, 0)), (DDR4_3200AA_X16, 0x10000, Place(0, 1, 0)),
    (DDR4_3200AA_X8, 0x1C040, Place(15, 0, 0)), (DDR4_3200AA_X8, 0x20000, Place(0, 1, 0)),
])
def test_places_of_the_notes(part, byte, place):
    assert place_of(part, byte // 64) == place


def test_adjacent_bursts_lie_in_different_groups():
    for part in (DDR4_3200AA_X16, DDR4_3200AA_X8):
        groups = [part.bank_group(place_of(part, burst).bank) for burst in range(300)]
        assert all(one != other for one, other in pairwise(groups))


def test_a_tile_closes_a_pair_that_it_leaves():
    model = CommandGeneratorModel(DDR4_3200AA_X16)
    steps = list(model.steps(range(254, 258), write=False, indexed=False))
    assert [[(bank, work.precharge_only, work.close) for bank, work in step] for step in steps] == [
        [(0, False, False)], [(0, True, False), (1, False, True)],
        [(2, False, False)], [(2, True, False), (3, False, True)]]
    assert model.open == {}


def test_an_indexed_request_closes_late():
    model = CommandGeneratorModel(DDR4_3200AA_X16)
    steps = list(model.steps([0, 2, 1024, 300], write=True, indexed=True))
    assert [(work.activate, work.conflict) for step in steps for bank, work in step
            if not work.precharge_only] == [
                (True, False), (False, False), (True, True), (True, False)]
    assert [(bank, work.precharge_only) for bank, work in steps[-1]] == [(0, True), (2, False)]
    assert model.open == {}
