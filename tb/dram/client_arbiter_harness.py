"""Harness testbench of clients that share a DRAM controller: every kind of tile, every pause.

Client 0 has tiles of one kind, all others have tiles of another one without a pause; each begins
where it takes longest. So client 0's request meets the others' at every phase.
"""

from itertools import product

from cyclebound.golden.dram.bounds import tile_issue_delay
from cyclebound.golden.dram.client_bounds import client_tile, client_tile_refreshed
from cyclebound.golden.dram.request import BURST_WORDS
from cyclebound.golden.dram.worst_case import worst_issue_delay
from cyclebound.golden.harness.faults import CLIENT_ARBITER
from cyclebound.tb.bench import Bench, testbench

MOST = 4  # bursts of a tile


async def measure(bench: Bench, *, bursts: int, write: int, other_bursts: int, other_write: int,
                  pauses: int, refreshes: bool = False, others: int = -1) -> dict[str, int]:
    """Tiles of client 0 with each pause from 1 to ``pauses``, or so long before a refresh; the
    outputs. Raises `AssertionError` for what the harness finds."""
    part, clients = bench.parameters["part"], bench.parameters["clients"]
    what = "tile_refreshed" if refreshes else "tile"
    kind = {"bursts": bursts, "write": write, "other_bursts": other_bursts,
            "other_write": other_write}
    for name in ("tile", "tile_refreshed"):
        if name != what:
            bench.undeclare(name)
    bench.declare(what, **kind)
    worst = worst_issue_delay(part=part, bursts=bursts, write=write)
    other = worst_issue_delay(part=part, bursts=other_bursts, write=other_write)
    word = bench.inputs.pack({
        "words": BURST_WORDS * bursts, "write": write, "first": BURST_WORDS * worst[1],
        "other_words": BURST_WORDS * other_bursts, "other_write": other_write,
        "other_first": BURST_WORDS * other[1], "pauses": pauses, "before": refreshes,
        "others": others & (1 << clients) - 1,
        "room": 2 * client_tile(part=part, clients=clients, **kind) + pauses})
    await bench.step(word | bench.inputs["start"].mask)
    bench.drive(word)
    outputs = bench.outputs.unpack(await bench.run_until("done", poll=500))
    faults = [name for bit, name in enumerate(CLIENT_ARBITER) if outputs["failed"] >> bit & 1]
    assert not faults, f"{kind}: {', '.join(faults)}"
    bench.compare(outputs["completed"], pauses, "the number of requests measured", count=pauses)
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
    kind = {"bursts": 1, "write": 0, "other_bursts": MOST, "other_write": 1}
    outputs = await measure(bench, **kind, pauses=longest_pause(bench) + 20, refreshes=True)
    bound = client_tile_refreshed(part=part, clients=clients, **kind)
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
                      other_write=other_write, pauses=longest_pause(bench) + 20, refreshes=True)
