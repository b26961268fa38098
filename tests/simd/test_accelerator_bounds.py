"""Bounds of the accelerator's accesses against the cycle model of the machine as it is built."""

from dataclasses import replace

import pytest

from cyclebound.golden.dram.index_bounds import buffer_rows
from cyclebound.golden.dram.tile_search import longest_run
from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.simd.accelerator import CycleModel, Policy
from cyclebound.golden.simd.accelerator_bounds import (
    crossed,
    dram_indexed,
    dram_snooped,
    dram_tile,
    dram_tile_after_turn,
    dram_tile_shared,
    program_load,
    scratchpad_access,
    scratchpad_after_turn,
    scratchpad_snooped,
)
from cyclebound.golden.simd.machine import MACHINES, Grid, as_built
from cyclebound.golden.simd.memory_timing import DramTimeline
from cyclebound.golden.simd.work_group import memory_of
from cyclebound.tb.simd.accelerator_accesses import (
    SHARED,
    SNOOPED,
    TILES,
    before_turn,
    indexed_program,
    indexes_of,
    kind,
    nops,
    side_of,
    snooped_scratchpad,
    snooped_tile,
    tile_program,
    turns_program,
    turns_shape,
    worst_address,
)
from cyclebound.tools.simd.assembler import assemble

NAME = "ddr4-3200aa-x16"
PART = part_named(NAME)
NEVER = 1 << 40
pytestmark = pytest.mark.unit


def phases(program, grid, resource, due=NEVER, policy=Policy.UNCONSTRAINED):
    """Of a resource, from its commit to its end, both included; and the cycles to load."""
    built = replace(grid, machine=as_built(grid.machine))
    timed = CycleModel(program, built, memory_of(program), policy=policy, part=PART,
                       timeline=DramTimeline(PART, due=due)).run()
    shown, found = {}, []
    for phase in sorted(timed.phases, key=lambda phase: phase.end):
        if phase.resource == "compute":
            shown[phase.slot] = phase.end
        elif phase.resource == resource:
            found.append(phase.end - shown[phase.slot] + 1)
    return found, timed.load + 1


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize("tile", TILES)
def test_a_tile_takes_its_bound_at_its_worst_address_and_place(machine, tile, write):
    name = "stg2sptile" if write else "ldg2sptile"
    body = "".join(f"{nops(number)}{name} 0, 0\n" for number in range(12))
    program = tile_program(tile, worst_address(PART, tile, write), body)
    found, _ = phases(program, Grid(1, 1, MACHINES[machine]), "dram")
    assert max(found) == dram_tile.function(machine=machine, part=NAME, **kind(tile, write))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize("tile", TILES)
def test_a_snoopy_access_takes_its_bound_at_its_worst_address_and_place(machine, tile, write):
    grid = Grid(MACHINES[machine].items, 1, MACHINES[machine])
    found, _ = phases(snooped_tile(PART, tile, write), grid, "dram")
    assert max(found) == dram_snooped.function(machine=machine, part=NAME, **kind(tile, write))


@pytest.mark.parametrize("name", ["ldspbidx", "stspbidx"])
@pytest.mark.parametrize(("width", "count"), SNOOPED)
def test_a_snoopy_access_to_a_scratchpad_takes_its_bound_at_one_place(width, count, name):
    found, _ = phases(snooped_scratchpad(width, count, name), Grid(64, 1, MACHINES["small"]),
                      "scratchpad")
    assert max(found) == scratchpad_snooped.function(machine="small", part=NAME,
                                                     words=width * count)


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("write", [0, 1])
def test_indexes_in_two_rows_of_a_bank_take_their_bound(write, name):
    machine = MACHINES[name]
    longest = max(max(phases(indexed_program(machine, PART, place, bool(write)),
                             Grid(machine.items, 1, machine), "dram")[0]) for place in range(5))
    rows = buffer_rows(part=PART, words=160 * 128)
    assert longest == dram_indexed.function(machine=name, part=NAME, indexes=indexes_of(machine),
                                            rows=rows, write=write)


@pytest.mark.parametrize("length", [1, 8, 9, 40, 2048])
def test_a_program_load_takes_its_bound_from_its_worst_burst(length):
    """The model reads programs from where all alignments are alike; so the bound is compared with
    the issue delay of the worst one."""
    worst = longest_run(PART, bursts=-(-length // 8), write=False)
    clocks = 16 + worst.delay + 1
    assert program_load.function(machine="small", part=NAME, instructions=length) == (
        (clocks - 1) * 625 // 1000 + 2)


@pytest.mark.parametrize("width", [6, 8, 9, 11, 34])
def test_a_scratchpad_access_takes_its_bound_at_one_place(width):
    body = "".join(f"{nops(number)}ldsplin v0, 0\n" for number in range(12))
    program = assemble(f".data\n0 0 1 1\n.sp_data\n0 0 {width} 9\n.text\n{body}exit\n")
    found, _ = phases(program, Grid(8, 8, MACHINES["small"], 8), "scratchpad")
    assert max(found) == scratchpad_access.function(
        machine="small", part=NAME, words=min(width, 8), gap=max(width - 8, 0), count=8,
        restart=int(width < 8))


@pytest.mark.parametrize("tile", SHARED)
@pytest.mark.parametrize("policy", Policy)
def test_two_work_groups_keep_the_bound_whenever_refreshes_fall_due(tile, policy):
    declared = kind(tile, False)
    body = "".join(f"{nops(number % 7)}ldg2sptile 0, 0\n" for number in range(12))
    program = tile_program(tile, worst_address(PART, tile, False), body)
    bound = dram_tile_shared.function(machine="small", part=NAME, **declared, **{
        f"other_{name}": value for name, value in declared.items()})
    longest = max(max(phases(program, Grid(256, 1, MACHINES["small"]), "dram", due=due,
                             policy=policy)[0]) for due in range(300, 4000, 131))
    assert longest <= bound
    assert longest > bound / 2


@pytest.mark.parametrize("name", ["small", "paper"])
@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize("tile", SHARED)
def test_turns_keep_their_bounds_whenever_refreshes_fall_due(tile, write, name):
    machine = MACHINES[name]
    side = side_of(machine)
    program = turns_program(machine, tile, worst_address(PART, tile, write), write)
    bounds = {
        "scratchpad": scratchpad_after_turn.function(
            machine=name, part=NAME, **turns_shape(machine),
            before=before_turn(machine, PART, tile, write)),
        "dram": dram_tile_after_turn.function(
            machine=name, part=NAME, **kind(tile, write),
            before=before_turn(machine, PART, None, write))}
    for resource, bound in bounds.items():
        longest = max(max(phases(program, Grid(side, 4 * side, machine, side), resource, due=due,
                                 policy=Policy.ACCESS)[0]) for due in range(300, 4000, 131))
        print(resource, tile, write, longest, bound)
        assert bound * 0.6 < longest <= bound


def test_the_crossing_is_the_worst_of_five_places():
    """By hand: compute cycles begin with clocks 0, 2, 4, 5 and 7 of every eight."""
    begins = [0, 2, 4, 5, 7]
    edges = [8 * turn + begin for turn in range(10) for begin in begins]
    for clocks in range(1, 40):
        taken = []
        for first in range(5):
            end = edges[first] + clocks
            taken.append(sum(edges[first] <= edge < end for edge in edges) + 1)
        assert crossed("small", NAME, clocks) == max(taken)
