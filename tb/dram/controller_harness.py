"""Harness testbench of the DRAM controller: tiles near the ends of rows, and refresh under load.

The worst alignments of a tile are those in which it leaves a pair of banks soon after it began;
here are these, for every size; `every_alignment` has all the others too.
"""

from cyclebound.golden.dram.bounds import tile_issue_delay
from cyclebound.golden.dram.request import BURST_BYTES, BURST_WORDS
from cyclebound.golden.dram.timing import Part, part_named
from cyclebound.golden.harness.faults import DRAM_CONTROLLER
from cyclebound.tb.bench import Bench, testbench

SIZES = (*range(1, 65), 128, 256)  # bursts
_LINE = (1 << 20) - 1              # words in the buffer's one line
_NEAR = 20                         # bursts before the end of a pair's row that matter
_4_KIB = 4096 // BURST_BYTES       # bursts
_WORST_4_KIB = 252                 # a burst at which 4 KiB take longest on any part
_LOAD = 1_600                      # requests in each direction: half a million cycles
_LONG_LOAD = 32_000                # ten million cycles


async def measure(bench: Bench, *, bursts: int, write: int, first: int, requests: int,
                  words: int | None = None, step: int = BURST_WORDS) -> dict[str, int]:
    """Tiles of ``bursts`` bursts from word ``first`` on, each ``step`` words further; the outputs.

    Raises `AssertionError` for anything the harness finds, a delay beyond the bound among it.
    """
    part = bench.parameters["part"]
    bound = tile_issue_delay(part=part, bursts=bursts, write=write)
    bench.declare("tile", bursts=bursts, write=write)
    word = bench.inputs.pack({
        "dimension": _LINE, "lines": 1, "count": 1, "write": write, "first": first, "step": step,
        "words": words or BURST_WORDS * bursts, "requests": requests, "limit": bound})
    await bench.step(word | bench.inputs["start"].mask)
    bench.drive(word)
    outputs = bench.outputs.unpack(await bench.run_until("done", poll=500))
    faults = [name for bit, name in enumerate(DRAM_CONTROLLER) if outputs["failed"] >> bit & 1]
    assert not faults, (f"{requests} tiles of {bursts} bursts from word {first} on, write {write}: "
                        f"{', '.join(faults)} (worst {outputs['maximum']}, bound {bound})")
    bench.compare(outputs["measured"], requests, "the number of requests measured", count=requests)
    return outputs


async def check_histogram(bench: Bench, outputs: dict[str, int]) -> None:
    """Whether the histogram of the last measurement holds all that was measured."""
    total = 0
    for delay in range(outputs["minimum"], outputs["maximum"] + 1):
        word = bench.inputs.pack({"histogram_address": delay})
        await bench.step(word)
        total += bench.outputs["histogram_count"].of(await bench.step(word))
    bench.compare(total, outputs["measured"], "the number of requests in the histogram")


async def sizes(bench: Bench, part: Part, ranges: dict[int, list[tuple[int, int]]]) -> None:
    """Measure reads and writes of tiles of all sizes, at ranges of alignments (first, how many).

    And with all sixteen alignments of words, at the worst alignment of bursts.
    """
    for bursts in SIZES:
        for write in (0, 1):
            worst = worst_first = 0
            for first, count in ranges[bursts]:
                outputs = await measure(bench, bursts=bursts, write=write,
                                        first=BURST_WORDS * first, requests=count)
                await check_histogram(bench, outputs)
                if outputs["maximum"] > worst:
                    worst, worst_first = outputs["maximum"], first + outputs["worst"]
            outputs = await measure(
                bench, bursts=bursts, write=write, first=BURST_WORDS * worst_first, step=1,
                words=BURST_WORDS * (bursts - 1) + 1, requests=BURST_WORDS)
            assert outputs["minimum"] == outputs["maximum"] == worst, (
                f"{bursts} bursts from burst {worst_first}: {outputs['minimum']} to "
                f"{outputs['maximum']} where words begin elsewhere, not {worst}")


@testbench
async def tiles_that_leave_a_pair_of_banks(bench: Bench) -> None:
    """All sizes, around the end of each pair's row; the last is the end of all banks' row."""
    part = part_named(bench.parameters["part"])
    pair = 2 * part.bursts_per_row
    ends = [pair * (number + 1) for number in range(part.banks // 2)]
    await sizes(bench, part, {
        bursts: [(end - before, before + 1) for end in ends[:2] + ends[-1:]]
        for bursts in SIZES for before in [min(bursts + 1, _NEAR)]})


async def load(bench: Bench, requests: int) -> None:
    """Worst-case tiles of 4 KiB without a pause: how long they take, refreshes and all.

    Reads, then writes. All words of all tiles are on the data bus in that time, and nothing else
    is: the bus moves ``4 * elapsed`` at most.
    """
    part = part_named(bench.parameters["part"])
    for write in (0, 1):
        bench.declare("load", requests=requests, bursts=_4_KIB, write=write)
        outputs = await measure(bench, bursts=_4_KIB, write=write, requests=requests, step=0,
                                first=BURST_WORDS * _WORST_4_KIB)
        bound = tile_issue_delay(part=part, bursts=_4_KIB, write=write)
        assert outputs["minimum"] == bound, f"{outputs['minimum']} clocks are not the worst"
        assert outputs["refreshes"] >= outputs["elapsed"] // part.nREFI - 1, "too few refreshes"
        assert outputs["elapsed"] == outputs["total"] + outputs["refreshes"] * part.nRFC, (
            "the time is more than that of requests and refreshes")
        moved = requests * _4_KIB * BURST_WORDS
        assert outputs["moved"] == moved, f"{outputs['moved']} words moved, not {moved}"


@testbench
async def refresh_under_full_load(bench: Bench) -> None:
    """A million cycles, half of them writes: no refresh is late, the time is inside Eq. 19."""
    await load(bench, _LOAD)


@testbench
async def every_alignment(bench: Bench) -> None:
    """Every burst of a row of all banks; beyond it, everything repeats with another row."""
    part = part_named(bench.parameters["part"])
    await sizes(bench, part, {bursts: [(0, part.bursts_per_sweep)] for bursts in SIZES})


@testbench
async def ten_million_cycles(bench: Bench) -> None:
    """In each direction: no refresh is late, and the time is inside Eq. 19."""
    await load(bench, _LONG_LOAD)
