"""Testbench of the grid of SHMAC's tiles: every output compared in every cycle.

The thesis' micro-benchmarks (SHMACsim, 4.4, 4.5, 5.1.2) run as they are, and the reads of one RAM
by 1 to 8 cores as badly as they can.
"""

from collections.abc import Callable, Mapping, Sequence

from cyclebound.golden.noc.handshake_mesh import HandshakeMeshModel, TileEvents
from cyclebound.golden.noc.packet import COORDINATE_BITS
from cyclebound.golden.noc.routes import Mesh, Tile
from cyclebound.golden.noc.shmac_kernel import Kernel, Operation
from cyclebound.golden.noc.shmac_sharing import kind_of, links, victims
from cyclebound.tb.bench import Bench, testbench

CENTRE: Tile = (1, 1)
# the cores that share the RAM in the middle, in the order in which they are added
AROUND: tuple[Tile, ...] = ((0, 1), (1, 2), (2, 1), (1, 0), (0, 0), (0, 2), (2, 0), (2, 2))
FETCH = Kernel(enable=True, fetch=True)
# of the RTL's parameters, the latencies that it is given
GIVEN = ("to_memory_cycles", "memory_cycles", "to_core_cycles")
_OUTPUTS = ("requests", "fetched", "operated", "busy", "arrives", "writes", "landed", "data")
_QUIET = 300  # cycles in which no instruction ends, after which none will


def reads(target: Tile, *, fetch: bool = True, bypass: bool = False) -> Kernel:
    """A core that reads there."""
    return Kernel(True, fetch, bypass, Operation.READ, target)


def writes(target: Tile, *, bypass: bool = False) -> Kernel:
    """A core that writes there."""
    return Kernel(True, True, bypass, Operation.WRITE, target)


class GridTester:
    """The grid and its model; one `cycle` at a time.

    Attributes
    ----------
    ended : dict
        By tile, the cycles in which its instructions' last steps ended.
    """

    model_of: Callable[..., HandshakeMeshModel] = HandshakeMeshModel

    def __init__(self, bench: Bench) -> None:
        self.bench, p = bench, dict(bench.parameters)
        for given in GIVEN:  # the model has its own number
            del p[given]
        self.model = type(self).model_of(Mesh(p.pop("rows"), p.pop("columns")), **p)
        self.tiles = self.model.mesh.tiles
        i, o = bench.inputs, bench.outputs
        self._kernel = {tile: i[f"kernels.{n}"] for n, tile in enumerate(self.tiles)}
        self._out = {name: [o[f"{name}.{n}"] for n in range(len(self.tiles))]
                     for name in _OUTPUTS}
        self._dropped = sum(o[f"{name}.{n}"].mask for name in ("unroutable", "malformed")
                            for n in range(len(self.tiles)))
        self._care = self._dropped | sum(field.mask for fields in self._out.values()
                                         for field in fields)
        self.ended: dict[Tile, list[int]] = {tile: [] for tile in self.tiles}

    @classmethod
    async def filled(cls, bench: Bench) -> "GridTester":
        """A tester in which every word of RAM has been written: reset leaves it as it is."""
        tester = cls(bench)
        local = {tile: Kernel(True, operation=Operation.WRITE, target=tile)
                 for tile in tester.tiles}
        while any(core.count < bench.parameters["words"] for core in tester.model.cores.values()):
            await tester.cycle(local)
        await tester.settle()
        return tester

    @classmethod
    async def fresh(cls, bench: Bench) -> "GridTester":
        """A tester after reset, in which nothing is written, and what is read is not looked at."""
        await bench.reset()
        tester = cls(bench)
        tester._care &= ~sum(field.mask for field in tester._out["data"])
        return tester

    def word(self, kernels: Mapping[Tile, Kernel]) -> int:
        """The inputs in a cycle in which these cores may begin with these kernels."""
        word = 0
        for tile, k in kernels.items():
            row, column = k.target
            word |= self._kernel[tile].to(k.enable | k.fetch << 1 | k.bypass << 2
                                          | k.operation << 3 | column << 5
                                          | row << 5 + COORDINATE_BITS)
        return word

    async def cycle(self, kernels: Mapping[Tile, Kernel]) -> dict[Tile, TileEvents]:
        """These cores repeat these kernels; all outputs are compared. What was to be seen."""
        data = [self.model.cores[tile].data for tile in self.tiles]
        now, events = self.bench.cycle, self.model.step(kernels)
        expected = 0
        for n, (tile, e) in enumerate(events.items()):
            for name, value in zip(_OUTPUTS, (e.requests, e.ends == "fetch",
                                              e.ends == "operation", e.busy, e.arrives,
                                               e.writes, e.landed, data[n]), strict=True):
                expected |= self._out[name][n].to(value)
            core = self.model.cores[tile]
            if e.ends == ("operation" if core.kernel.operation else "fetch"):
                self.ended[tile].append(now)
        self.bench.check(await self.bench.step(self.word(kernels)), expected, self._care)
        return events

    async def settle(self) -> None:
        """No new requests, until none is under way."""
        quiet = 0
        while quiet < 4:
            events = await self.cycle({})
            idle = not self.model.packets and not any(
                e.requests or e.busy for e in events.values()) and all(
                core.idle for core in self.model.cores.values())
            quiet = quiet + 1 if idle else 0

    async def cpi(self, kernels: Mapping[Tile, Kernel], cycles: int) -> dict[Tile, float]:
        """Cycles per instruction of each core, in the second half of so many cycles."""
        for ended in self.ended.values():
            ended.clear()
        half = self.bench.cycle + cycles // 2
        for _ in range(cycles):
            await self.cycle(kernels)
        await self.settle()
        cpi = {}
        for tile in kernels:
            late = [cycle for cycle in self.ended[tile] if half <= cycle < half + cycles // 2]
            cpi[tile] = (late[-1] - late[0]) / (len(late) - 1)
        return cpi

    def place(self, tile: Tile) -> dict[str, int]:
        """The index of the probe that observes this tile's core."""
        return {"n": self.tiles.index(tile)}


async def lives(tester: GridTester, kernel: Kernel, tile: Tile, count: int, *, given: str,
                after_write: int) -> None:
    """One core alone, for some instructions, of which every packet is a request by itself."""
    bench, core, at = tester.bench, tester.model.cores[tile], tester.place(tile)
    away, goal, before, wrote = links(tile, kernel.target), core.count + count, None, False
    while core.count < goal or tester.model.packets or not core.idle:
        request = core.request
        if request is not None and before is None:  # its first cycle
            fetch = core.fetching
            after = {"after_write": after_write} if fetch and wrote and after_write else {}
            bench.declare(("write" if request.write else "read") + given, at,
                          links=0 if fetch else away, **after)
            wrote = request.write
        before = request
        await tester.cycle({tile: kernel} if core.count < goal else {})
    await tester.settle()
    for what in ("read", "write"):
        bench.undeclare(what + given, at)


async def instructions(tester: GridTester, kernel: Kernel, tile: Tile, cycles: int, *,
                       given: str, **kind: int) -> None:
    """One core alone for so many cycles; its instructions are measured from the fourth on."""
    ended = tester.ended[tile]
    ended.clear()
    begin, count = tester.bench.cycle, 0
    # until an instruction ends, since the next one must be of no class
    while tester.bench.cycle < begin + cycles or len(ended) == count:
        count = len(ended)
        await tester.cycle({tile: kernel})
        if count < 3 <= len(ended):
            tester.bench.declare(f"instruction{given}", tester.place(tile),
                                 bypass=int(kernel.bypass), operation=int(kernel.operation), **kind)
    tester.bench.undeclare(f"instruction{given}", tester.place(tile))
    await tester.settle()


async def alone(tester: GridTester, *, after_write: int, given: str = "") -> None:
    """Tables 4.3 and 4.4, and the speed-ups of 5.1.2: one core, one kernel.

    ``after_write``: 1 if a fetch that follows a write takes longer. ``given``: what the names of
    lifetimes and instructions end with, where nothing goes into them but latencies that the thesis
    gives.
    """
    target = tester.tiles[len(tester.tiles) // 2]
    for tile in (tester.tiles[0], tester.tiles[len(tester.tiles) // 2 - 1]):
        for kernel in (FETCH, reads(target), writes(target)):
            await lives(tester, kernel, tile, 6, given=given, after_write=after_write)
        for bypass in (False, True):
            for kernel in (Kernel(True, True, bypass), reads(target, bypass=bypass),
                           writes(target, bypass=bypass)):
                await instructions(tester, kernel, tile, 700, given=given,
                                   links=links(tile, target) if kernel.operation else 0)


@testbench
async def single_master(bench: Bench) -> None:
    await alone(await GridTester.filled(bench), after_write=1, given="_given")


# CPI with 1 to 8 masters: what the cycle budget of golden/noc/shmac_budget gives. The thesis has
# these in figures only; its text: reads and writes flat up to 3 masters, significant loss from 4;
# with dual-port RAM writes linear, better up to 4 masters; a local core that others write to slows
# down linearly up to 4 writers, then not.
_SATURATED = (4, 5.6, 8, 600 / 70, 10)  # services in a round, by 4 to 8 masters
SHARED = {
    "read": (75, 75, 75, *(20 * masters for masters in _SATURATED)),
    "write": (38, 38, 38, *(10 * masters for masters in _SATURATED)),
    "dual_read": (55, 55, 60, *(20 * masters for masters in _SATURATED)),
    "dual_write": (14, 20, 30, *(10 * masters for masters in _SATURATED)),
    "fetch_among_writers": (38, 40, 50, 60, 60, 60, 60, 60),
    "fetch_among_readers": (37.256, 43.515, 80, 100, 100, 100, 100, 100),
}


def _shared(name: str, masters: int) -> dict[Tile, Kernel]:
    bypass = name.startswith("dual")
    kernel = (reads if "read" in name else writes)(CENTRE, bypass=bypass)
    kernels = dict.fromkeys(AROUND[:masters], kernel)
    if name.startswith("fetch"):
        kernels[CENTRE] = FETCH
    return kernels


async def share(bench: Bench, names: list[str], counts: list[int], cycles: int) -> None:
    """Several masters on the RAM in the middle; their mean CPI, or that of the core there."""
    tester = await GridTester.filled(bench)
    for name in names:
        for masters in counts:
            kernels = _shared(name, masters)
            cpi = await tester.cpi(kernels, cycles)
            mean = (cpi[CENTRE] if CENTRE in cpi else sum(cpi.values()) / len(cpi))
            expected = SHARED[name][masters - 1]
            assert abs(mean - expected) < 0.02 * expected, (
                f"{name}, {masters} masters: CPI {mean:.1f}, expected {expected}")


@testbench
async def worst_reads(bench: Bench) -> None:
    """1 to 8 cores read one RAM, so timed that one of them waits for all the others, who ask again
    and again: reads are as slow as their bound."""
    tester = await GridTester.filled(bench)
    target = CENTRE if CENTRE in tester.tiles else (0, 1)
    around = [tile for tile in (AROUND if CENTRE in tester.tiles else ((0, 0), (0, 2)))
              if tile in tester.tiles]
    kernel = reads(target, fetch=False)
    for masters in range(1, len(around) + 1):
        cores = around[:masters]
        for victim, kind in victims(cores, target):
            await tester.cycle({victim: kernel})  # so that it was served last everywhere
            await tester.settle()
            start, ended = bench.cycle + 10, False
            bench.declare("shared", tester.place(victim), **kind)
            while not ended:
                # corners are two links away: a link earlier than the others
                events = await tester.cycle({tile: kernel for tile in cores if bench.cycle >= start
                                             - 10 * (links(tile, target) - 1)})
                ended = bool(events[victim].ends)
            bench.undeclare("shared")
            await tester.settle()


# the cores at each input of the RAM's router, the next one first
_CORES: tuple[tuple[Tile, ...], ...] = (((0, 1), (0, 0), (0, 2)), ((1, 2),), ((2, 1),), ((1, 0),))
# by links of the victim and cores at its input: when the victim begins, and those at other inputs;
# the others at its own begin in cycle 8
_BEGIN = {(1, 1): (8, 64), (2, 1): (8, 60), (1, 2): (8, 64), (2, 2): (8, 78), (1, 3): (123, 116),
          (2, 3): (131, 134)}


@testbench
async def worst_writes(bench: Bench) -> None:
    """Cores write to one RAM without a pause, one to three at the victim's input and one at each of
    up to three others; they begin when it is worst (searched for on the golden model)."""
    tiles = GridTester(bench).tiles
    target, every = (CENTRE, _CORES) if CENTRE in tiles else ((0, 1), (((0, 0),), ((0, 2),)))
    inputs = [cores for cores in every if cores[0] in tiles]
    kernel = Kernel(True, operation=Operation.WRITE, target=target)
    for others in range(len(inputs)):
        for sharing in range(1, len(inputs[0]) + 1):
            for victim in inputs[0][:2]:
                away = links(victim, target)
                begin, beside = _BEGIN[away, sharing]
                along = [tile for tile in inputs[0] if tile != victim][:sharing - 1]
                starts = {**dict.fromkeys(along, 8), victim: begin,
                          **{cores[0]: beside for cores in inputs[1:others + 1]}}
                bench.undeclare("posted")
                tester = await GridTester.fresh(bench)
                bench.declare("posted", tester.place(victim), links=away, sharing=sharing,
                              inputs=others + 1)
                for cycle in range(max(begin, beside) + 45 * (away + 2) * sharing + 60):
                    await tester.cycle({tile: kernel for tile, first in starts.items()
                                        if cycle >= first})
    await bench.reset()


async def among(tester_of: type[GridTester], bench: Bench, target: Tile,
                pairs: Sequence[tuple[Tile, Tile]]) -> None:
    """Of each of these pairs, one core reads while the other writes to the same RAM without a
    pause, and the other way round."""
    for cores in (pair for pair in pairs if {*pair} <= {*tester_of(bench).tiles}):
        for victim, other in (cores, cores[::-1]):
            kind = kind_of(victim, cores, target)
            for what, mine, theirs in (("mixed_read", Operation.READ, Operation.WRITE),
                                       ("mixed_write", Operation.WRITE, Operation.READ)):
                bench.undeclare("mixed_read")
                bench.undeclare("mixed_write")
                tester = await tester_of.fresh(bench)
                bench.declare(what, tester.place(victim), **kind)
                for _ in range(200):
                    await tester.cycle({victim: Kernel(True, operation=mine, target=target),
                                        other: Kernel(True, operation=theirs, target=target)})
    await bench.reset()


@testbench
async def reads_among_writes(bench: Bench) -> None:
    """A pair with an input each, and one that shares an input."""
    if CENTRE in GridTester(bench).tiles:
        await among(GridTester, bench, CENTRE, (((0, 1), (1, 2)), ((0, 1), (0, 0))))
    else:
        await among(GridTester, bench, (0, 1), (((0, 0), (0, 2)), ((0, 2), (0, 3))))


async def _stops(bench: Bench, kernels: Mapping[Tile, Kernel], cycles: int) -> bool:
    """Whether these cores stop each other for ever."""
    tester = await GridTester.fresh(bench)
    since = 0
    for _ in range(cycles):
        events = await tester.cycle(kernels)
        since = 0 if any(e.ends for e in events.values()) else since + 1
        if since > _QUIET:
            return True
    return False


@testbench
async def reads_across(bench: Bench) -> None:
    """In a row, cores that read each other's RAM stop each other, or not, as the model says: two
    of them if slaves acknowledge late, four in any case."""
    p = bench.parameters
    if p["rows"] != 1:
        return
    pair = {(0, 0): reads((0, 1)), (0, 1): reads((0, 0))}
    assert await _stops(bench, pair, 2_000) == p["late"]
    if p["columns"] >= 4:
        four = {(0, 0): reads((0, 2)), (0, 1): reads((0, 2)),
                (0, 2): reads((0, 1)), (0, 3): reads((0, 1))}
        assert await _stops(bench, four, 2_000)
        three = {tile: kernel for tile, kernel in four.items() if tile != (0, 3)}
        assert not await _stops(bench, three, 2_000)
    await bench.reset()


@testbench
async def some_share(bench: Bench) -> None:
    """3 and 4 masters, between which section 4.4.2 sees throughput level off."""
    if bench.parameters["rows"] == 3:
        await share(bench, ["read", "dual_write"], [3, 4], 700)


@testbench
async def masters_on_one_ram(bench: Bench) -> None:
    """1 to 8 masters: all of 4.4.2, 4.5 and 5.1.2 of the thesis."""
    await share(bench, list(SHARED), list(range(1, 9)), 1_400)
