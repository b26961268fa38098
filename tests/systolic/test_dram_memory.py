"""The accelerator's memory behind a DRAM: never promised faster than the DRAM's own bounds."""

import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram.timing import PARTS
from cyclebound.golden.systolic.accelerator_network import NETWORKS
from cyclebound.golden.systolic.accelerator_plan import Device, plan_layer
from cyclebound.golden.systolic.dram_memory import behind_dram, dram_clocks, dram_transfer

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("bursts", [1, 4, 16])
@pytest.mark.parametrize("clocks", [1, 4, 16])
def test_no_transfer_is_promised_faster_than_the_dram(part, bursts, clocks):
    for beat_bytes in (4, 8, 64):
        for count in (1, 2, 7, 8, 9, 127, 128, 129, 1000, 4097, 60000):
            shape = {"count": count, "beat_bytes": beat_bytes, "bursts": bursts}
            worst = -(-dram_clocks(part, **shape) // clocks)
            assert dram_transfer(part=part, clocks=clocks, **shape) >= worst + 2


def test_a_layer_with_a_dram():
    memory = behind_dram("ddr4-3200aa-x16", beat_bytes=8, clocks=16)
    layer = NETWORKS["lenet_5"][0]
    assert memory.interval == 1  # the DRAM outruns an accelerator of 100 MHz
    assert plan_layer(layer, Device(8), memory).cycles.total > plan_layer(
        layer, Device(8)).cycles.total


def test_what_is_refused():
    good = {"beat_bytes": 8, "clocks": 4}
    with pytest.raises(ValueError, match=r"^beat bytes must divide 64, not 6$"):
        behind_dram("ddr4-3200aa-x16", **good | {"beat_bytes": 6})
    for name in ("beat_bytes", "clocks", "bursts"):
        thing = name.replace("_", " ")
        with pytest.raises(NotCovered, match=f"^{thing} must be a whole number of at least 1"):
            behind_dram("ddr4-3200aa-x16", **good | {name: 0})
