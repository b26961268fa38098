# amaranth: UnusedElaboratable=no
"""The accelerator's memory in a DRAM: what is promised, and a testbench that finds faults."""

import dataclasses
import functools
import random

import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram.bounds import tile_issue_delay
from cyclebound.golden.dram.timing import PARTS, part_named
from cyclebound.golden.systolic import dram_memory as bounds
from cyclebound.golden.systolic.accelerator_network import NETWORKS
from cyclebound.golden.systolic.accelerator_plan import Device, plan_layer
from cyclebound.golden.systolic.dram_memory import behind_dram, dram_transfer, tiles_of
from cyclebound.hdl.systolic import dram_memory_harness
from cyclebound.hdl.systolic.dram_memory import DramMemory
from cyclebound.sim import catalogue
from cyclebound.sim.judge.verdict import judge
from cyclebound.sim.run.job import Job, simulate
from kit.faults import edited

unit, cosim, thorough = pytest.mark.unit, pytest.mark.cosim, pytest.mark.thorough
PART = "ddr4-3200aa-x16"
BLOCK = "systolic.dram_memory"


@unit
@pytest.mark.parametrize(("wrong", "says"), [
    ({"size": 2}, "size must be 4, 8 or 16: whole words, .*, not 2"),
    ({"bursts": 3}, "bursts must be a power of two.*, not 3"),
    ({"slots": 1}, "slots must be a power of two.*, not 1"),
    ({"memory_width": 20}, "memory width must be 7 to 19 for tiles of 16 bursts .*, not 20"),
    ({"memory_width": 6}, "memory width must be 7 to 19 for tiles of 16 bursts .*, not 6"),
])
def test_parameters(wrong, says):
    with pytest.raises(ValueError, match=f"^{says}$"):
        DramMemory(**{"size": 8} | wrong)


# Bounds

@unit
def test_tiles_end_where_they_end_in_the_buffer():
    assert list(tiles_of(beat=7, count=18, beat_bytes=8, bursts=2)) == [
        (7, 9, 2), (16, 9, 2)]
    assert list(tiles_of(beat=15, count=2, beat_bytes=8, bursts=2)) == [(15, 1, 1), (16, 1, 1)]


@unit
def test_a_transfer_by_hand():
    """A load: on offer (1), granted (1), 16 to its first command, 74 to its completion, two to its
    first beat, its request's cycle. A store's beat: moved (1), and taken a cycle after."""
    kind = {"part": PART, "count": 1, "first": 0, "size": 4, "bursts": 4, "slots": 4}
    assert dram_transfer(**kind, write=0) == 1 + 1 + 16 + 74 + 2 + 1
    assert dram_transfer(**kind, write=1) == 1 + 1 + 1 + 16 + 88 + 1 + 1
    other = tile_issue_delay(part=PART, bursts=4, write=1)
    assert dram_transfer(**kind, write=0, other_bursts=4, other_write=1) == 94 + other


@unit
def test_a_beat_in_a_tile_of_its_own_takes_a_turn():
    kind = {"part": PART, "write": 0, "size": 8, "bursts": 16, "slots": 8}
    whole = dram_transfer(**kind, count=128, first=0)
    turn = tile_issue_delay(part=PART, bursts=1, write=0)
    # the first tile, of a beat, is over a turn before the second, of 127
    assert dram_transfer(**kind, count=128, first=127) == whole + turn - 1


def least_slack(seed, rounds, *, forget=False):
    """The least of what `behind_dram` promises less `dram_transfer` and a refresh, over random
    memories and transfers; without the other client if that is to be forgotten."""
    rng, least = random.Random(seed), 1 << 30
    for _ in range(rounds):
        part = part_named(rng.choice([PART, PART, *PARTS]))
        bursts, slots = rng.choice([1, 2, 4, 16, 32]), rng.choice([2, 4, 8])
        size, other = rng.choice([4, 8, 16]), rng.choice([0, 1, 4, 16])
        tile = bursts * 64 // size
        count = rng.choice([rng.randint(1, 20), rng.randint(1, 4_000),
                            rng.randint(0, 8) * tile + rng.randint(1, 3)])
        others = [tile_issue_delay(part=part, bursts=other, write=1)] if other else []
        memory = behind_dram(part, beat_bytes=size, clocks=1, bursts=bursts, slots=slots,
                             others=[] if forget else others)
        first = rng.choice([0, 1, tile - 1, rng.randrange(tile)]) % tile
        took = part.nRFC + dram_transfer(
            part=part, count=count, first=first, write=rng.getrandbits(1), size=size,
            bursts=bursts, slots=slots, other_bursts=other, other_write=1)
        least = min(least, memory.delay + (count - 1) * memory.interval + 1 - took)
    return least


@unit
def test_no_transfer_is_promised_faster_than_it_is():
    assert least_slack(1, 400) >= 0
    assert least_slack(1, 400, forget=True) < 0


@unit
def test_slots_hold_what_comes_during_a_refresh():
    """Else each refresh would hold up the beats, of which there is at most one in a cycle."""
    shape = {"beat_bytes": 8, "clocks": 1, "bursts": 32}
    assert behind_dram(PART, **shape, slots=8).interval == 1
    few = behind_dram(PART, **shape, slots=2)
    assert few.interval * 256 >= few.delay


@unit
def test_a_layer_with_a_dram():
    memory = behind_dram(PART, beat_bytes=8, clocks=16)
    layer = NETWORKS["lenet_5"][0]
    assert memory.interval == 1  # the DRAM outruns an accelerator of 100 MHz
    assert plan_layer(layer, Device(8), memory).cycles.total > plan_layer(
        layer, Device(8)).cycles.total


@unit
def test_windows_wait_a_period_for_each_tile():
    memory = behind_dram(PART, beat_bytes=8, clocks=1, bursts=16, period=1_404)
    assert memory.interval == -(-1_404 // 128)


@unit
def test_what_has_no_bound():
    good = {"beat_bytes": 8, "clocks": 4}
    with pytest.raises(NotCovered, match=r"^beat bytes must divide 64, not 6$"):
        behind_dram(PART, **good | {"beat_bytes": 6})
    for name in ("beat_bytes", "clocks", "bursts", "slots"):
        thing = name.replace("_", " ")
        with pytest.raises(NotCovered, match=f"^{thing} must be a whole number of at least"):
            behind_dram(PART, **good | {name: 0})
    with pytest.raises(NotCovered, match=r"^other client 0 has no longest"):
        behind_dram(PART, **good, others=[None])


# RTL: the testbench finds faults, and what a bound forgets

def with_source(*edits):
    """The block of an edited RTL, without its bounds."""
    made = edited("cyclebound.hdl.systolic.dram_memory", *edits)
    block = catalogue.load().find(BLOCK)
    return made.SharedDramMemory, dataclasses.replace(block, component=made.SharedDramMemory,
                                                      bounds=())


@cosim
@thorough
@pytest.mark.parametrize("edit", [
    ("(self.asked - self.moved)[:len(self.asked)] != self.slots",
     "(self.asked - self.moved)[:len(self.asked)] != self.slots + 1"),
    ("(left == 0) & (moved == self.completed)", "(left == 0)"),
    ("words.eq(Mux(left < room, left, room))", "words.eq(room)"),
    ("m.d.sync += self.fault.eq(completion.payload)", "pass"),
], ids=["a slot too many", "a store is over too soon", "a tile beyond its transfer", "no fault"])
def test_the_testbench_finds(tmp_path, monkeypatch, edit):
    component, block = with_source(edit)
    monkeypatch.setattr(dram_memory_harness, "SharedDramMemory", component)
    outcome = simulate(block, Job(BLOCK, "4", "cycle", 1, str(tmp_path), wall_limit=1200))
    assert not outcome.passed


@cosim
@thorough
def test_search_finds_what_a_bound_forgets(tmp_path):
    block = catalogue.load().find(BLOCK)
    outcome = simulate(block, Job(BLOCK, "4", "cycle", 1, str(tmp_path), wall_limit=1200))
    assert outcome.passed, outcome.reason

    def verdict(what, right, wrong):
        """Of a bound that is replaced."""
        bindings = [dataclasses.replace(binding, bound=dataclasses.replace(
            binding.bound, function=functools.wraps(right)(lambda **kind: wrong(**kind))))
            for binding in block.bounds if binding.what == what]
        found, = judge(dataclasses.replace(block, bounds=tuple(bindings)), "4", [
            (outcome.name, group) for group in outcome.groups if group.what == what])
        return found.verdict

    bare, refreshed = dram_transfer.function, bounds.dram_transfer_refreshed.function
    assert verdict("transfer", bare, bare) == "held"
    assert verdict("transfer", bare, lambda **kind: bare(**kind) - 1) == "violated"
    assert verdict("transfer", bare, lambda **kind: bare(**kind | {"other_bursts": 0})
                   ) == "violated"
    assert verdict("refreshed", refreshed, bare) == "violated"
