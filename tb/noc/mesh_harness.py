"""Testbench of a mesh on its harness: hardware makes and measures the traffic."""

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cyclebound.golden.harness.lfsr_spec import spread_seed
from cyclebound.golden.noc.packet import xy_header
from cyclebound.golden.noc.patterns import HOTSPOT, TRANSPOSE, pattern
from cyclebound.golden.noc.routes import Mesh, Port, Tile
from cyclebound.tb.bench import Bench, testbench

__all__ = ["ALWAYS", "AT_TARGET", "Measurement", "MeshHarnessTester"]

ALWAYS = 1 << 16      # rate: a packet in every cycle that there could be one
AT_TARGET = 256       # aim: every packet goes to its tile's target
CURVES = "curves.json"  # beside the job: throughput and latency by traffic and load
SPEED = "speed.json"    # and what a cycle costs the simulator
_LONG = 1 << 16       # cycles of a run to a hotspot, at most
_READ = 3             # cycles from an address to the results there
_SUMS = ("count", "flits", "queued", "network", "received", "sent", "blocked")


@dataclass(frozen=True)
class Measurement:
    """A measurement: results by tile, and the worst latency by (target, source)."""

    tiles: list[dict[str, int]]
    worst: dict[tuple[int, int], int]
    counted: int

    def sum(self, name: str) -> int:
        return sum(tile[name] for tile in self.tiles)

    @property
    def throughput(self) -> float:
        """Flits delivered in each cycle at each tile."""
        return self.sum("flits") / self.counted / len(self.tiles)

    @property
    def latency(self) -> float:
        """Mean cycles from creation to last flit."""
        return self.sum("queued") / max(1, self.sum("count"))


class MeshHarnessTester:
    """The harness, and the target of each tile."""

    def __init__(self, bench: Bench) -> None:
        self.bench, p = bench, bench.parameters
        self.mesh = Mesh(p["rows"], p["columns"])
        self.longest = p["longest"]
        self.depth = p["depth"]
        self.times = 1 << bench.outputs["worst"].width  # that headers can tell apart

    def drain(self, flits: int) -> int:
        """Cycles for what may be left in sources, FIFOs and links: twice what one link takes."""
        return 2 * len(self.mesh.tiles) * (flits + len(Port) * (self.depth + 1))

    def longest_run(self, flits: int) -> int:
        """Cycles that may be counted so that no latency is too long for a header to tell."""
        return self.times - self.drain(flits) - 1

    async def aim(self, targets: Mapping[Tile, Tile]) -> None:
        """These tiles send, and aim at these targets; all others are silent."""
        place = self.mesh.tiles.index
        self._senders = [[place(source) for source, target in targets.items() if target == tile]
                         for tile in self.mesh.tiles]
        for number, tile in enumerate(self.mesh.tiles):
            await self.bench.step(self.bench.inputs.pack({
                "aim_at": 1, "tile": number, "active": tile in targets,
                "target": xy_header(targets.get(tile, (0, 0)))}))

    async def measure(self, *, rate: int, flits: int, spread: int = 0, aim: int = AT_TARGET,
                      warm: int = 1, counted: int, drain: int, number: int = 0) -> Measurement:
        """Run traffic and read its sums; every packet sent has to arrive, whole, at its target."""
        bench = self.bench
        plan = rate | aim << 17 | flits << 26 | spread << 34
        settings = {"plan": plan, "seed": spread_seed(number) % 2**32, "warm": warm,
                    "counted": counted, "drain": drain}
        word = bench.inputs.pack(settings)
        await bench.step(word | bench.inputs["start"].mask)
        bench.drive(word)
        await bench.wait(warm + counted + drain + 2 * len(self.mesh.tiles))
        await bench.run_until("done", poll=100)
        sums, worst = [], {}
        for tile, sources in enumerate(self._senders):
            for source in sources or [0]:
                read = bench.inputs.pack({"read_tile": tile, "read_source": source})
                for _ in range(_READ):
                    seen = await bench.step(word | read)
                results = bench.outputs.unpack(seen)
                if sources:
                    worst[tile, source] = results["worst"]
            assert not results["wrong"], f"tile {tile} got flits that were not sent so"
            sums.append({name: results[name] for name in _SUMS})
        result = Measurement(sums, worst, counted)
        sent, received = result.sum("sent"), result.sum("received")
        assert sent, "nothing was sent"
        bench.compare(received, sent, "the number of packets that arrived as sent", count=sent)
        return result


async def saturate(bench: Bench, tester: MeshHarnessTester, number: int, flits: int, cycles: int,
                   hot: int = 0) -> int:
    """All of a pattern's tiles send without a pause; every packet is measured."""
    targets = pattern(tester.mesh, number, tester.mesh.tiles[hot])
    await tester.aim(targets)
    tiles = tester.mesh.tiles
    assert cycles <= tester.longest_run(flits), "a latency may be too long for what tells it"
    for source in targets:
        place = tiles.index(source)
        bench.declare("traversal", {"n": place}, flits=flits, pattern=number, source=place,
                      hot=hot)
    measured = await tester.measure(rate=ALWAYS, flits=flits, counted=cycles,
                                    drain=tester.drain(flits), number=number)
    assert all(measured.worst.values()), "a tile sent nothing"
    return measured.sum("received")


async def alone(bench: Bench, tester: MeshHarnessTester, source: Tile, target: Tile,
                flits: int) -> None:
    """Packets from one tile to another, and nothing else: they take exactly t_noc.

    Packets of one source queue where they begin, never on their way.
    """
    await tester.aim({source: target})
    places = {"source": tester.mesh.tiles.index(source), "target": tester.mesh.tiles.index(target)}
    routers = 1 + sum(abs(a - b) for a, b in zip(source, target, strict=True))
    bench.declare("alone", {"n": places["source"]}, flits=flits, routers=routers, **places)
    await tester.measure(rate=100, flits=flits, counted=2000, drain=300)


@testbench
async def one_packet_at_a_time(bench: Bench) -> None:
    """From and to the tile in a corner."""
    tester = MeshHarnessTester(bench)
    tiles = tester.mesh.tiles
    for number, tile in enumerate(sorted({*tiles[1:5], tiles[len(tiles) // 2], tiles[-1]})):
        flits = 1 + 13 * number % tester.longest
        await alone(bench, tester, tiles[0], tile, flits)
        await alone(bench, tester, tile, tiles[0], flits)


@testbench
async def patterns_of_all_lengths(bench: Bench) -> None:
    """Hotspot, transpose and permutations, packets of 1 flit to the longest, saturating; a hotspot
    for as long as headers can tell the time, since its far sources need it."""
    tester = MeshHarnessTester(bench)
    square = tester.mesh.rows == tester.mesh.columns
    for flits in sorted({1, 2, 6, 16, tester.longest}):
        for number in (HOTSPOT, *([TRANSPOSE] if square else []), 2, 3):
            await saturate(bench, tester, number, flits, min(_LONG, tester.longest_run(flits))
                           if number == HOTSPOT else max(20_000, 400 * flits))


@testbench
async def path_on_which_all_ports_contend(bench: Bench) -> None:
    """All tiles send to the last router of a column: in each router of the column, all inputs that
    there are ask for the output on the way."""
    tester = MeshHarnessTester(bench)
    rows, columns = tester.mesh.rows, tester.mesh.columns
    for flits in sorted({6, 16, tester.longest}):
        await saturate(bench, tester, HOTSPOT, flits, min(_LONG, tester.longest_run(flits)),
                       hot=(rows - 1) * columns + 1)


@testbench
async def uniform_load(bench: Bench) -> None:
    """A light load is delivered as offered; at saturation, less than the offered load is."""
    tester = MeshHarnessTester(bench)
    tiles = tester.mesh.tiles
    await tester.aim(dict.fromkeys(tiles, (0, 0)))
    little = await tester.measure(rate=ALWAYS // 100, flits=6, aim=0, warm=500, counted=4000,
                                  drain=3000)
    assert 0.05 < little.throughput < 0.07, f"throughput is {little.throughput}"
    full = await tester.measure(rate=ALWAYS, flits=6, aim=0, warm=500, counted=4000, drain=3000)
    assert full.throughput > 3 * little.throughput
    assert full.sum("network") / full.sum("count") > little.latency
    assert not little.sum("blocked")


@testbench
async def saturated(bench: Bench) -> None:
    """All tiles send to any tile without a pause; keeps what a cycle costs the simulator."""
    tester = MeshHarnessTester(bench)
    await alone(bench, tester, tester.mesh.tiles[0], tester.mesh.tiles[-1], 6)
    bench.undeclare("alone")
    await bench.reset()
    await tester.aim(dict.fromkeys(tester.mesh.tiles, (0, 0)))
    best = float("inf")
    for _ in range(3):
        cycle, began = bench.cycle, time.process_time()
        measured = await tester.measure(rate=ALWAYS, flits=6, aim=0, counted=20_000, drain=2000)
        seconds, cycles = time.process_time() - began, bench.cycle - cycle
        assert measured.throughput > 0.2
        best = min(best, seconds / cycles)
    kept = {"cycles": cycles, "seconds a cycle": best}
    Path(os.environ["CYCLEBOUND_JOB"]).with_name(SPEED).write_text(json.dumps(kept))


@testbench
async def throughput_and_latency(bench: Bench) -> None:
    """Curves up to saturation, kept for a picture."""
    tester = MeshHarnessTester(bench)
    tiles, flits = tester.mesh.tiles, 6
    kept: dict[str, list] = {}
    all_tiles = dict.fromkeys(tiles, (0, 0)) | {(0, 0): tiles[-1]}
    traffics = {"uniform": (all_tiles, 0),
                "hotspot, 1 of 8 packets": (all_tiles, AT_TARGET // 8),
                "transpose": ({tile: tile[::-1] for tile in tiles if tile[0] != tile[1]},
                              AT_TARGET)}
    for name, (targets, aim) in traffics.items():
        if name == "transpose" and tester.mesh.rows != tester.mesh.columns:
            continue
        await tester.aim(targets)
        kept[name] = []
        for percent in (2, 5, 10, 15, 20, 25, 30, 35, 40, 50, 60, 80, 100):
            rate = ALWAYS * percent // 100 // flits
            measured = await tester.measure(rate=rate, flits=flits, aim=aim, warm=2000,
                                            counted=8000, drain=60 * flits * len(tiles),
                                            number=percent)
            kept[name].append([percent / 100 * len(targets) / len(tiles), measured.throughput,
                               measured.latency, measured.sum("network") / measured.sum("count")])
    Path(os.environ["CYCLEBOUND_JOB"]).with_name(CURVES).write_text(json.dumps(kept))
