"""Testbench of a mesh with hardware interfaces: a flow feels the others, or it does not."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cyclebound.golden.noc.injection import begins, packet_sizes
from cyclebound.golden.noc.network_interface import Window
from cyclebound.golden.noc.packet import HEADER_FLITS, source_header, xy_header
from cyclebound.golden.noc.routes import Mesh, ports, xy_route
from cyclebound.golden.noc.tdma import Flow, Network, Slot, conflicts, solve
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.noc.interface_tester import window_word

ARRIVALS = "arrivals.json"  # beside the job: by scenario, a flow's requests and when words came
_REQUESTS = 6   # that a flow makes while it is watched
_SETUP = 4       # cycles from a transaction to its first word


@dataclass(frozen=True)
class Demand:
    """A transaction that is asked for in a certain cycle."""

    cycle: int
    words: int


class Tile:
    """One tile's DMA: asks for transactions, offers words, and takes what comes."""

    def __init__(self, bench: Bench, number: int, slot: Slot, route: int) -> None:
        i, o = bench.inputs, bench.outputs
        self._width = bench.parameters["width"]
        self.number, self.slot, self._route = number, slot, route
        self._ask = i[f"transactions.{number}.valid"].mask
        self._payload = i[f"transactions.{number}.payload"]
        self._asked = o[f"transactions.{number}.ready"].mask
        self._word = i[f"words.{number}.valid"].mask | i[f"words.{number}.payload"].to(number)
        self._read = o[f"words.{number}.ready"].mask
        self.ready = i[f"received.{number}.ready"].mask
        self.comes = o[f"received.{number}.valid"].mask
        self.word = o[f"received.{number}.payload"]
        self.demands: list[Demand] = []
        self.endless = 0                    # words of transactions asked for without a pause
        self.accepted: list[int] = []
        self.reads: list[int] = []

    def offers(self, now: int) -> int:
        """The bus word of what is offered in this cycle."""
        words = self.endless
        if self.demands and self.demands[0].cycle <= now:
            words = self.demands[0].words
        if not words:
            return self._word
        bits = self._route | self.number << self._width | words << 2 * self._width - 1
        return self._word | self._ask | self._payload.to(bits)

    def see(self, seen: int, offered: int, now: int) -> None:
        if offered & self._ask and seen & self._asked:
            self.accepted.append(now)
            if self.demands:
                self.demands.pop(0)
        if seen & self._read:
            self.reads.append(now)


class Table:
    """Flows from all tiles but the last to it, and one from it, with a table that has no conflict.
    """

    def __init__(self, bench: Bench) -> None:
        p = bench.parameters
        self.mesh = Mesh(p["rows"], p["columns"])
        self.payload, self.delta = p["longest"] - HEADER_FLITS, p["delta"]
        tiles = self.mesh.tiles
        packet = p["longest"]
        period = 2 * packet * len(tiles) + 5
        self.network = Network(self.mesh, period=period, hop_cycles=self.delta + 1,
                               payload_flits=self.payload, flit_bytes=1, mhz=period)
        ends = [(tile, tiles[-1]) for tile in tiles[:-1]] + [(tiles[-1], tiles[0])]
        flows = [Flow(str(number), *pair, 2 * self.payload if number % 2 else self.payload)
                 for number, pair in enumerate(ends)]
        routes = {flow.name: [xy_route(self.mesh, flow.source, flow.destination)]
                  for flow in flows}
        table = solve(self.network, flows, routes=routes)
        assert conflicts(self.network, flows, table) == []
        self.slots = [table[flow.name] for flow in flows]
        self.routes = [source_header(ports(slot.route), width=p["width"])
                       if p["routing"] == "source" else xy_header(slot.route[-1])
                       for slot in self.slots]

    def demands(self, bench: Bench, number: int) -> list[Demand]:
        """Requests of a flow, far enough apart; some of them come when it is worst."""
        demands, now = [], 0
        slot, period = self.slots[number], self.network.period
        for count in range(_REQUESTS):
            words = self.payload * (1 + count % 2)
            at = bench.rng.randrange(period)
            if count < 2:
                at = self._worst(slot, words)
            ready = _SETUP + self.payload + 1
            now += 3 * period
            now += (at + slot.offset + 2 - ready - now) % period
            demands.append(Demand(now, words))
        return demands

    def _worst(self, slot: Slot, words: int) -> int:
        """Place of the period in which the first packet should be ready."""
        parameters = {"period": self.network.period, "length": slot.length, "crossing": 0}
        sizes = packet_sizes(words, self.payload)
        return max(range(parameters["period"]), key=lambda at: begins(sizes, at, **parameters)[-1])


async def play(bench: Bench, table: Table, victim: int, demands: list[Demand], *, tables: bool,
               others: bool, opened: int | None = None) -> list[tuple[int, int, tuple[int, ...]]]:
    """One flow's requests while ``others`` saturate, or not, with or without ``tables``.

    They are measured with ``opened``: whether it is known of them that a window has opened.
    For each request: when it was asked for, accepted, and when each of its words arrived.
    """
    period = table.network.period
    tiles = [Tile(bench, number, slot, route) for number, (slot, route) in enumerate(
        zip(table.slots, table.routes, strict=True))]
    constant = 0
    for tile in tiles:
        slot = tile.slot
        window = (Window(period, slot.offset, slot.length) if tables
                  else Window(period, 0, period))
        constant |= bench.inputs[f"windows.{tile.number}"].to(window_word(window)) | tile.ready
        tile.endless = 50 * table.payload if others and tile.number != victim else 0
    tiles[victim].demands = list(demands)
    there = tiles[table.mesh.tiles.index(tiles[victim].slot.route[-1])]
    wanted = sum(demand.words for demand in demands)
    data = (1 << bench.parameters["width"]) - 1
    arrivals: list[int] = []
    bench.undeclare("transfer")
    await bench.reset()
    if opened is not None:
        route = tiles[victim].slot.route
        source, target = (table.mesh.tiles.index(route[end]) for end in (0, -1))
        bench.declare("transfer", {"n": victim}, opened=opened, payload=table.payload,
                      routers=len(route), source=source, target=target)
    begin = bench.cycle
    while len(arrivals) < wanted:
        now = bench.cycle - begin
        words = [tile.offers(now) for tile in tiles]
        seen = await bench.step(constant | sum(words))
        for tile, word in zip(tiles, words, strict=True):
            tile.see(seen, word, now)
        if seen & there.comes and there.word.of(seen) & data == victim:
            arrivals.append(now)
        assert now < demands[-1].cycle + 60 * period, "it never ends"
    bench.compare(len(arrivals), wanted, "the number of words that arrived", count=wanted)
    served, count = [], 0
    for demand, accepted in zip(demands, tiles[victim].accepted, strict=True):
        served.append((demand.cycle, accepted, tuple(arrivals[count:count + demand.words])))
        count += demand.words
    return served


@testbench
async def composable(bench: Bench) -> None:
    """With a table, every request of every flow is the same in every cycle whether the others are
    silent or saturate; without, they are not. Requests right after reset are bounded, too. One
    flow's arrivals are kept, for a picture."""
    table, differs = Table(bench), 0
    kept: dict[str, list] = {}
    for victim in range(len(table.slots)):
        demands = table.demands(bench, victim)
        runs: Mapping[tuple[bool, bool], list] = {
            (tables, others): await play(bench, table, victim, demands, tables=tables,
                                         others=others, opened=int(others) if tables else None)
            for tables in (True, False) for others in (False, True)}
        bench.compare(runs[True, True], runs[True, False], f"flow {victim} beside others")
        differs += runs[False, False] != runs[False, True]
        if victim == 0:
            kept = {f"{'tables' if tables else 'none'} {'saturate' if others else 'silent'}": run
                    for (tables, others), run in runs.items()}
        for words in (table.payload, 2 * table.payload):
            demand = Demand(0, words)
            await play(bench, table, victim, [demand], tables=True, others=True, opened=0)
    assert differs, "packets do not meet without a table"
    Path(os.environ["CYCLEBOUND_JOB"]).with_name(ARRIVALS).write_text(json.dumps(kept))
