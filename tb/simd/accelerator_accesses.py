"""How long accesses and program loads take on the accelerator, at their worst places."""

import numpy as np

from cyclebound.golden.dram.bounds import most_bursts, tile_2d_issue_delay
from cyclebound.golden.dram.index_bounds import buffer_rows
from cyclebound.golden.dram.request import BURST_WORDS, WORD_BYTES
from cyclebound.golden.dram.tile_search import Longest, longest_lines, longest_run
from cyclebound.golden.dram.timing import Part
from cyclebound.golden.simd.accelerator_bounds import crossed, scratchpad_access
from cyclebound.golden.simd.machine import Grid, Machine
from cyclebound.golden.simd.program import Program
from cyclebound.golden.simd.scheduler import Policy
from cyclebound.golden.simd.work_group import memory_of
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.simd.accelerator_tester import SimdAcceleratorTester
from cyclebound.tools.simd.assembler import assemble

Tile = tuple[int, int, int]
"""Words of a line, words between two lines, lines."""

TILES: tuple[Tile, ...] = ((1, 0, 1), (16, 0, 1), (64, 0, 1), (200, 0, 1), (8, 11, 8), (32, 5, 6))
SHARED: tuple[Tile, ...] = ((16, 0, 1), (64, 0, 1), (200, 0, 1), (32, 5, 6))
TURNS = 12  # accesses of a work-group where accesses take turns
# Of scratchpad buffers: words in a line, lines.
SNOOPED = (1, 1), (4, 1), (3, 7), (9, 5), (33, 2)
INDEXES = "mov v0, vc.tid_x\nmovvsp vc.mem_idx, v0\nmovvsp vc.mem_data, v0\n"
LENGTHS = 1, 8, 9, 40, 200, 2048
# An access begins at one of five places in the pattern of both clocks: with so many instructions
# more before it each time, at each of them.
PLACES = 12
_SCATTERED = 20480  # words of a buffer in which neighbouring indexes may lie in rows of one bank
_INDEXES = 64       # active items at most, so that no refresh falls due meanwhile


def side_of(machine: Machine) -> int:
    """Items in a line of a square work-group, or of one half as wide as it is high: the words of
    a line of its tiles."""
    return 1 << (machine.items.bit_length() - 1) // 2


def lines_of(machine: Machine) -> int:
    """Lines of such a work-group."""
    return machine.items // side_of(machine)


def widths_of(machine: Machine) -> tuple[int, ...]:
    """Widths of a scratchpad's lines, for tiles of a square work-group."""
    side = side_of(machine)
    return side, side + 1, side + 3, side + 4, 4 * side + 2


def turns_shape(machine: Machine) -> dict[str, int]:
    """A square work-group's tile in scratchpads, where accesses take turns."""
    return {"words": side_of(machine), "gap": 1, "count": lines_of(machine), "restart": 0}


def worst_address(part: Part, tile: Tile, write: bool) -> int:
    """A first word from which a tile has the longest issue delay."""
    words, gap, count = tile
    if count > 1 and gap:
        lines = longest_lines(part, words=words, period=words + gap, count=count, write=write)
        assert lines is not None
        return lines.address
    total, candidates = words * count, []
    for bursts in range(-(-total // BURST_WORDS), most_bursts(words=total) + 1):
        longest = longest_run(part, bursts=bursts, write=write)
        assert longest is not None
        shift = max(0, BURST_WORDS * (bursts - 1) + 1 - total)
        candidates.append(Longest(longest.delay, longest.address + shift))
    return max(candidates, key=lambda placed: placed.delay).address


def tile_program(tile: Tile, address: int, body: str) -> Program:
    """A kernel with such a tile from word ``address`` of DRAM on, and a scratchpad for it."""
    words, gap, count = tile
    return assemble(f".data\n0 {WORD_BYTES * address:#x} {words + gap} {count}\n.sp_data\n"
                    f"0 0 {words} {count}\n.text\n{body}exit\n")


def snooped_tile(part: Part, tile: Tile, write: bool) -> Program:
    """A kernel with snoopy accesses to such a tile, or buffer, at its worst address and at all
    places of the clocks."""
    words, gap, count = tile
    name = f"{'st' if write else 'ld'}g{'c' if gap else 'b'}idx"
    sizes = (f"smovssp sc.sd_words, {words}\nsmovssp sc.sd_period, {words + gap}\n"
             f"smovssp sc.sd_period_cnt, {count}\n")
    body = INDEXES + sizes + "".join(f"{nops(number)}{name} 0\n" for number in range(PLACES))
    return tile_program(tile, worst_address(part, tile, write), body)


def snooped_scratchpad(width: int, count: int, name: str) -> Program:
    """A kernel with such accesses to a scratchpad buffer."""
    body = INDEXES + "".join(f"{nops(number)}{name} 0\n" for number in range(PLACES))
    return assemble(f".data\n0 0 1 1\n.sp_data\n0 0x14 {width} {count}\n.text\n{body}exit\n")


def nops(count: int) -> str:
    return "nop\n" * count


def indexes_of(machine: Machine) -> int:
    """Active items of `indexed_program`: few enough that no refresh falls due meanwhile."""
    return min(machine.items, _INDEXES)


def indexed_program(machine: Machine, part: Part, place: int, write: bool) -> Program:
    """A kernel whose last items access two rows of one bank by turns, at a place of the clocks.

    The other items are off, and before them: each costs the clock in which it is examined.
    """
    off = machine.items - indexes_of(machine)
    masks = f"isub v1, v0, {off}\nitest.l p0, v1\ncmask p0\n" if off else ""
    sweep = BURST_WORDS * part.bursts_per_sweep
    return assemble(
        f".data\n0 0x0 160 {_SCATTERED // 160}\n.text\nmov v0, vc.lid_x\n{masks}"
        f"and v0, v0, 1\nimul v0, v0, {sweep}\nmovvsp vc.mem_idx, v0\n"
        f"{nops(place)}{'st' if write else 'ld'}gidxit v1, 0\nexit\n")


def turns_program(machine: Machine, tile: Tile, address: int, write: bool) -> Program:
    """A program for a column of square work-groups: every second one accesses tiles in DRAM, the
    others their scratchpads."""
    words, gap, count = tile
    side, lines = side_of(machine), lines_of(machine)

    def loop(label: str, access: str) -> str:
        return (f"{label}:\n{access}\nsisub s1, s1, 1\n#bound branchcycle {TURNS - 1} 1\n"
                f"sicj.g {label}, s1\n")

    return assemble(
        f".data\n0 {WORD_BYTES * address:#x} {words + gap} {count}\n.sp_data\n"
        f"0 0 {words} {count}\n1 {WORD_BYTES * words * count:#x} {side + 1} {lines + 1}\n.text\n"
        f"smov s0, sc.wg_off_y\nsand s0, s0, {lines}\nsmov s1, {TURNS}\nsicj.nz others, s0\n"
        + loop("again", f"{'stg2sptile' if write else 'ldg2sptile'} 0, 0") + "exit\n"
        + loop("others", "ldsplin v0, 1") + "exit\n")


def before_turn(machine: Machine, part: Part, tile: Tile | None, write: bool) -> int:
    """Compute cycles of a tile, or of `turns_program`'s transfers of a scratchpad, by itself."""
    if tile is None:
        return scratchpad_access.function(machine=machine, part=part,
                                          **turns_shape(machine))
    words, gap, count = tile
    return crossed(machine, part, 5 + 16 + part.nRFC + 1 + tile_2d_issue_delay.function(
        part=part, words=words, period=words + gap, count=count, write=int(write)))


async def play(tester: SimdAcceleratorTester, program: Program, grid: Grid,
               policy: Policy = Policy.UNCONSTRAINED, **more) -> None:
    """A run that takes the cycle model's cycles, unless ``more`` says when it begins."""
    rng = np.random.default_rng(tester.bench.rng.getrandbits(32))
    memory = memory_of(program)
    for words in memory.values():
        words[...] = rng.integers(0, 1 << 32, words.shape, dtype=np.uint32)
    wanted = {number: words.copy() for number, words in memory.items()}
    ran, begin = await tester.run(program, grid, memory, policy, **more)
    assert ran.fault is None, ran.fault
    if not more:
        timed = tester.timed(program, grid, wanted, policy, begin).run(keep=False)
        tester.bench.compare(ran.cycles, timed.cycles, "compute cycles")


def kind(tile: Tile, write: bool) -> dict[str, int]:
    return {**dict(zip(("words", "gap", "count"), tile, strict=True)), "write": int(write)}


@testbench
async def tiles(bench: Bench) -> None:
    """One work-group, no refresh: tiles at their worst addresses, at every place of the clocks."""
    tester = SimdAcceleratorTester(bench)
    for tile in TILES:
        for write in (False, True):
            name = "stg2sptile" if write else "ldg2sptile"
            body = "".join(f"{nops(number)}{name} 0, 0\n" for number in range(PLACES))
            program = tile_program(tile, worst_address(tester.part, tile, write), body)
            bench.declare("tile", **kind(tile, write))
            await play(tester, program, Grid(1, 1, tester.machine), calm=8000)
            bench.undeclare("tile")


@testbench
async def indexes(bench: Bench) -> None:
    """Indexes that lie in two rows of one bank by turns, one request without a refresh."""
    tester = SimdAcceleratorTester(bench)
    machine, part = tester.machine, tester.part
    rows = buffer_rows(part=part, words=_SCATTERED)
    for write in (False, True):
        for place in range(5):
            bench.declare("indexed", indexes=indexes_of(machine), rows=rows, write=int(write))
            await play(tester, indexed_program(machine, part, place, write),
                       Grid(machine.items, 1, machine), calm=9000)
            bench.undeclare("indexed")


@testbench
async def snooped(bench: Bench) -> None:
    """Whole buffers, and lines of them, at their worst addresses and at every place of the clocks;
    a request without a refresh, whatever the indexes are."""
    tester = SimdAcceleratorTester(bench)
    for tile in TILES:
        for write in (False, True):
            bench.declare("snooped", **kind(tile, write))
            await play(tester, snooped_tile(tester.part, tile, write),
                       Grid(tester.machine.items, 1, tester.machine), calm=8000)
            bench.undeclare("snooped")


@testbench
async def scratchpads_snooped(bench: Bench) -> None:
    """Scratchpad buffers of all widths, at every place of the clocks, with a second work-group."""
    tester = SimdAcceleratorTester(bench)
    machine = tester.machine
    for width, count in SNOOPED:
        for name in ("ldspbidx", "stspbidx"):
            bench.declare("scratchpad_snooped", words=width * count)
            await play(tester, snooped_scratchpad(width, count, name),
                       Grid(2 * machine.items, 1, machine), Policy.YIELD)
            bench.undeclare("scratchpad_snooped")


@testbench
async def scratchpads(bench: Bench) -> None:
    """Transfers of all shapes, at every place of the clocks; with a second work-group, too."""
    tester = SimdAcceleratorTester(bench)
    machine, side, lines = tester.machine, side_of(tester.machine), lines_of(tester.machine)
    # the first clips lines, which then begin lines of the bus
    for width in (side - 2, *widths_of(machine)):
        clipped = {"words": min(width, side), "gap": max(width - side, 0),
                   "restart": int(width < side)}
        for name, count in (("ldsplin v0, 0", 1), ("stsplin v0, 0", 4)):
            body = "".join(f"{nops(number)}{name}\n" for number in range(PLACES))
            program = assemble(f".data\n0 0 1 1\n.sp_data\n0 0 {width} {lines + 1}\n.text\n{body}"
                               "exit\n")
            bench.declare("scratchpad", **clipped, count=lines)
            await play(tester, program, Grid(side, lines * count, machine, side),
                       Policy.UNCONSTRAINED)
            bench.undeclare("scratchpad")
    for words in (1, 5, 32):
        body = "".join(f"{nops(number)}sldsp s0, 0\n" for number in range(PLACES))
        program = assemble(f".data\n0 0 1 1\n.sp_data\n0 0 40 1\n.text\n"
                           f"smovssp sc.sd_words, {words}\n{body}exit\n")
        bench.declare("scratchpad", words=words, gap=0, count=1, restart=0)
        await play(tester, program, Grid(1, 1, machine), Policy.YIELD)
        bench.undeclare("scratchpad")


@testbench
async def two_work_groups(bench: Bench) -> None:
    """Both have tiles of one kind, without a pause, through refreshes and under each policy."""
    tester = SimdAcceleratorTester(bench)
    for number, tile in enumerate(SHARED):
        for write in (False, True):
            name = "stg2sptile" if write else "ldg2sptile"
            body = (f"smov s0, 12\nagain:\n{name} 0, 0\nsisub s0, s0, 1\n"
                    "#bound branchcycle 11 1\nsicj.g again, s0\n")
            program = tile_program(tile, worst_address(tester.part, tile, write), body)
            declared = kind(tile, write)
            bench.declare("tile_shared", **declared, **{
                f"other_{name}": value for name, value in declared.items()})
            await play(tester, program, Grid(4 * tester.machine.items, 1, tester.machine),
                       list(Policy)[number % len(Policy)])
            bench.undeclare("tile_shared")


@testbench
async def turns(bench: Bench) -> None:
    """Tiles of one work-group and a scratchpad of the other take turns, through refreshes."""
    tester = SimdAcceleratorTester(bench)
    machine, side, lines = tester.machine, side_of(tester.machine), lines_of(tester.machine)
    for tile in SHARED:
        for write in (False, True):
            program = turns_program(machine, tile, worst_address(tester.part, tile, write), write)
            bench.declare("scratchpad_turn", **turns_shape(machine),
                          before=before_turn(machine, tester.part, tile, write))
            bench.declare("tile_turn", **kind(tile, write),
                          before=before_turn(machine, tester.part, None, write))
            await play(tester, program, Grid(side, 4 * lines, machine, side), Policy.ACCESS)
            bench.undeclare("scratchpad_turn")
            bench.undeclare("tile_turn")


@testbench
async def programs(bench: Bench) -> None:
    """Programs of all lengths, each from the first burst that makes it slowest."""
    tester = SimdAcceleratorTester(bench)
    for length in LENGTHS:
        bursts = -(-8 * length // (BURST_WORDS * WORD_BYTES))
        longest = longest_run(tester.part, bursts=bursts, write=False)
        assert longest is not None
        program = assemble(f".data\n0 0x100000 1 1\n.text\n{nops(length - 1)}exit\n")
        bench.declare("load", instructions=length)
        await play(tester, program, Grid(1, 1, tester.machine), calm=9000,
                   address=WORD_BYTES * longest.address)
        bench.undeclare("load")
