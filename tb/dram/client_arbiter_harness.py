"""Harness testbench of clients that share a DRAM controller: every kind of tile, every pause.

Client 0 has tiles of one kind, all others have tiles of another one without a pause; each begins
where it takes longest. So client 0's request meets the others' at every phase.
"""

from itertools import product

from cyclebound.golden.dram.bounds import tile_issue_delay
from cyclebound.golden.dram.client_bounds import (
    client_slot_completion,
    client_tile,
    client_tile_refreshed,
)
from cyclebound.golden.dram.request import BURST_WORDS
from cyclebound.golden.dram.worst_case import worst_issue_delay
from cyclebound.golden.harness.faults import CLIENT_ARBITER
from cyclebound.tb.bench import Bench, testbench

MOST = 4  # bursts of a tile


async def measure(bench: Bench, *, bursts: int, write: int, other_bursts: int, other_write: int,
                  pauses: int, shortest: int = 1, before: bool = False, avoid: bool = True,
                  others: int = -1) -> dict[str, int]:
    """Tiles of client 0 with each pause from ``shortest`` to ``pauses``, or so long before a
    refresh; the outputs. With ``avoid``, none that counts meets a refresh otherwise. Raises
    `AssertionError` for what the harness finds."""
    part, clients = bench.parameters["part"], bench.parameters["clients"]
    windows = bench.parameters.get("windows")
    kind = {"bursts": bursts, "write": write, "other_bursts": other_bursts,
            "other_write": other_write}
    if windows is not None:
        bench.declare("slot", period=sum(windows), bursts=bursts, write=write)
    else:
        refreshed = before or not avoid
        bench.undeclare("tile" if refreshed else "tile_refreshed")
        bench.declare("tile_refreshed" if refreshed else "tile", **kind)
    worst = worst_issue_delay(part=part, bursts=bursts, write=write)
    other = worst_issue_delay(part=part, bursts=other_bursts, write=other_write)
    word = bench.inputs.pack({
        "words": BURST_WORDS * bursts, "write": write, "first": BURST_WORDS * worst[1],
        "other_words": BURST_WORDS * other_bursts, "other_write": other_write,
        "other_first": BURST_WORDS * other[1], "shortest": shortest, "pauses": pauses,
        "before": before, "others": others & (1 << clients) - 1,
        "room": avoid and 2 * client_tile(part=part, clients=clients, **kind) + pauses})
    await bench.step(word | bench.inputs["start"].mask)
    bench.drive(word)
    outputs = bench.outputs.unpack(await bench.run_until("done", poll=500))
    faults = [name for bit, name in enumerate(CLIENT_ARBITER) if outputs["failed"] >> bit & 1]
    assert not faults, f"{kind}: {', '.join(faults)}"
    count = pauses - shortest + 1
    bench.compare(outputs["completed"], count, "the number of requests measured", count=count)
    return outputs


def longest_pause(bench: Bench) -> int:
    """Cycles in which each of the others has had its longest tile once."""
    part, others = bench.parameters["part"], bench.parameters["clients"] - 1
    return others * max(tile_issue_delay(part=part, bursts=MOST, write=write) for write in (0, 1))


@testbench
async def some_kinds(bench: Bench) -> None:
    """The shortest and the longest tiles among each other, at every pause."""
    for bursts, write, other_bursts, other_write in product((1, MOST), (0, 1), (1, MOST), (0, 1)):
        await measure(bench, bursts=bursts, write=write, other_bursts=other_bursts,
                      other_write=other_write, pauses=longest_pause(bench))


@testbench
async def before_a_refresh(bench: Bench) -> None:
    """A request in every cycle of the time before a refresh in which the others' are under way."""
    part, clients = bench.parameters["part"], bench.parameters["clients"]
    outputs = await measure(bench, bursts=1, write=0, other_bursts=MOST, other_write=1,
                            pauses=longest_pause(bench) + 20, before=True)
    bound = client_tile_refreshed(part=part, clients=clients, bursts=1, write=0, other_bursts=MOST,
                                  other_write=1)
    bench.compare(outputs["longest"], bound, "the longest request with a refresh")


@testbench
async def every_kind(bench: Bench) -> None:
    """Tiles of 1 to 4 bursts, reads and writes, among others of all these kinds."""
    for bursts, write, other_bursts, other_write in product(
            range(1, MOST + 1), (0, 1), range(1, MOST + 1), (0, 1)):
        outputs = await measure(bench, bursts=bursts, write=write, other_bursts=other_bursts,
                                other_write=other_write, pauses=longest_pause(bench) + 20)
        assert outputs["served"] > outputs["completed"], "the others did not ask all the time"


@testbench
async def kinds_before_a_refresh(bench: Bench) -> None:
    """The shortest and the longest tiles, in every cycle of the time before a refresh."""
    for bursts, write, other_bursts, other_write in product((1, MOST), (0, 1), (1, MOST), (0, 1)):
        await measure(bench, bursts=bursts, write=write, other_bursts=other_bursts,
                      other_write=other_write, pauses=longest_pause(bench) + 20, before=True)


_WATCHED = 300  # requests of client 0, refreshes among them, beside any others


async def _beside(bench: Bench, bursts: int, write: int) -> list[dict[str, int]]:
    """Client 0's requests beside others that are silent, that have short reads, and long writes."""
    seen = []
    for others, other_bursts, other_write in ((0, 1, 0), (-1, 1, 0), (-1, MOST, 1)):
        await bench.reset()
        seen.append(await measure(
            bench, bursts=bursts, write=write, other_bursts=other_bursts, other_write=other_write,
            pauses=_WATCHED, avoid=False, others=others))
    bench.dut._log.info("tiles of %d bursts, write %d: beside none, short reads, long writes the "
                        "longest takes %s cycles, and the last ends in cycle %s", bursts, write,
                        [one["longest"] for one in seen], [one["elapsed"] for one in seen])
    return seen


@testbench
async def composable(bench: Bench) -> None:
    """In windows, each request of client 0 is completed in the same cycle whatever others do."""
    for bursts, write in ((1, 0), (MOST, 1)):
        silent, *active = await _beside(bench, bursts, write)
        for others in active:
            assert others["served"] > 0
            bench.compare(others["times"], silent["times"], "what stands for the completions",
                          count=_WATCHED)


@testbench
async def not_composable(bench: Bench) -> None:
    """By turns they are not."""
    for bursts, write in ((1, 0), (MOST, 1)):
        silent, short, long = await _beside(bench, bursts, write)
        assert silent["longest"] < short["longest"] < long["longest"]
        assert silent["elapsed"] < short["elapsed"] < long["elapsed"]
        bench.compare(len({one["times"] for one in (silent, short, long)}), 3, "different times")


@testbench
async def too_late_for_a_window(bench: Bench) -> None:
    """A request that is taken in its window's first cycle, while a refresh falls due in each cycle
    around the start of the next window: the longest wait there is."""
    part, period = bench.parameters["part"], sum(bench.parameters["windows"])
    longest = 0
    for left in range(period - 4, period + 12):  # cycles before the first refresh
        await bench.reset()
        outputs = await measure(bench, bursts=MOST, write=1, other_bursts=MOST, other_write=1,
                                shortest=left, pauses=left, before=True)
        longest = max(longest, outputs["longest"])
    bench.compare(longest, client_slot_completion(part=part, period=period, bursts=MOST, write=1),
                  "the longest request in windows")
