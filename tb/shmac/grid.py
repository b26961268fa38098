"""Testbench of a grid of SHMAC's tiles: programs in all of them, beside the golden model.

Programs come in through the host's port, without Python in between; then the grid is reset, which
leaves the RAMs as they are, and the cores run. Model and hardware are compared in every cycle.
"""

from collections.abc import Collection, Mapping

from cyclebound.golden.noc.routes import Tile
from cyclebound.golden.shmac.address_map import (
    VECTOR_OFFSET,
    SystemRegister,
    tile_base,
    tile_of,
)
from cyclebound.golden.shmac.core import Shown
from cyclebound.golden.shmac.core_bounds import CLASSES
from cyclebound.golden.shmac.gate_table import Gates
from cyclebound.golden.shmac.grid import GridModel
from cyclebound.golden.shmac.grid_bounds import gated_waits, memory_waits
from cyclebound.golden.shmac.layout import Kind, Layout
from cyclebound.golden.shmac.memory_waits import AccessKind, MemoryWaits
from cyclebound.golden.shmac.packet import RequestPacket
from cyclebound.golden.shmac.tile_bounds import LOCAL_WAIT
from cyclebound.golden.shmac.traffic import Senders
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.shmac.core import trace_said
from cyclebound.tb.shmac.tile import packet_said
from cyclebound.tools.shmac.assembler import assemble
from cyclebound.tools.shmac.random_programs import DATA, random_program

__all__ = ["GridBench", "any_accesses", "any_programs"]

_DRAIN = 200  # cycles from the last word's entering a grid to its being in a RAM, and more


class GridBench:
    """A grid in simulation beside its model.

    Parameters
    ----------
    fresh : bool
        Nothing has run in this simulation before: all memories are 0.

    Attributes
    ----------
    layout : Layout
    model : GridModel
        Since the last reset.
    gates : Gates or None
    """

    def __init__(self, bench: Bench, *, fresh: bool = False) -> None:
        self.bench, self.parameters = bench, bench.parameters
        self.layout = Layout(tuple(bench.parameters["layout"]))
        self.cores = self.layout.tiles(Kind.CORE)
        self.uarts = self.layout.tiles(Kind.UART)
        period = bench.parameters.get("period", 0)
        self.gates = Gates(period, dict(zip(self.cores, bench.parameters["opens"], strict=True))
                           ) if period else None
        memories = [tile for tile in self.layout.tiles() if self._has_memory(tile)]
        self._content: dict[Tile, list[int | None]] = {
            tile: [0 if fresh else None] * self.parameters["words"] for tile in memories}

    def _has_memory(self, tile: Tile) -> bool:
        kind = self.layout.kind(tile)
        return kind is not None and kind.has_memory

    async def start(self, words: Mapping[int, int], masters: Senders | None = None) -> None:
        """Put words at their addresses, 0 everywhere else, and reset.

        ``masters``: the tiles that each core may send to; None: all.
        """
        bench = self.bench
        bench.forget()
        self._waits = {tile: self._waits_of(tile, masters) for tile in self.cores}
        self._last: dict[int, tuple[int, ...]] = {}
        wanted: dict[Tile, list[int]] = {tile: [0] * self.parameters["words"]
                                         for tile in self._content}
        for address, word in words.items():
            wanted[tile_of(address)][(address & 0xFF_FFFF) // 4] = word
        inputs = [bench.inputs.pack({"host.valid": 1, **packet_said(
            "host.payload", RequestPacket(write=True, target=tile, address=4 * place, strobes=15,
                                          data=word))})
            for tile, content in wanted.items() for place, word in enumerate(content)
            if word != self._content[tile][place]]
        await bench.reset()
        ready = bench.outputs["host.ready"]
        taken = [ready.of(seen) for seen in await bench.play(inputs)]
        bench.compare(taken, [1] * len(taken), "the host's words are taken at once")
        await bench.play([0] * _DRAIN)
        self._content = wanted  # type: ignore
        await bench.reset()
        self.model = GridModel(self.layout, words=self.parameters["words"],
                               big_endian=self.parameters["endian"] == "big",
                               bypass=self.parameters["bypass"], gates=self.gates,
                               jump=[tuple(tile) for tile in self.parameters["jump"]])
        for tile, ram in self.model.rams.items():
            ram.content = wanted[tile]

    def _waits_of(self, tile: Tile, masters: Senders | None) -> MemoryWaits:
        """What its core waits at most."""
        known = {"bypass": self.parameters["bypass"],
                 "jump": list(tile) in self.parameters["jump"]}
        if self.gates is None:
            return memory_waits(self.layout, tile, masters=masters, **known)
        return gated_waits(self.layout, tile, gates=self.gates, **known)

    def runs(self, cores: Collection[Tile]) -> dict[str, int]:
        """The inputs that let these cores run."""
        return {f"run.{number}": 1 for number, tile in enumerate(self.cores) if tile in cores}

    async def cycle(self) -> None:
        """One cycle, in which the cores run, compared."""
        bench, model = self.bench, self.model
        said: dict[str, int] = {"lost": 0}
        for number, tile in enumerate(self.cores):
            core = model.tiles[tile]
            said[f"console.{number}.valid"] = int(core.console is not None)
            if core.console is not None:
                said[f"console.{number}.character"] = core.console
            said[f"exited.{number}"] = int(core.exited)
            said[f"status.{number}"] = core.status
        for number, tile in enumerate(self.uarts):
            sent = model.devices[tile].sent
            said[f"sends.{number}.valid"] = int(sent is not None)
            if sent is not None:
                said[f"sends.{number}.character"] = sent
        inputs, comes = self.runs(self.cores), {}
        for number, tile in enumerate(self.uarts):
            waiting = model.devices[tile].received
            said[f"receives.{number}.ready"] = int(not waiting)
            if bench.rng.random() < 0.1:
                comes[tile] = bench.rng.getrandbits(8)
                inputs |= {f"receives.{number}.valid": 1,
                           f"receives.{number}.payload": comes[tile]}
        taken = {tile for tile in comes if not model.devices[tile].received}
        seen = await bench.step(bench.inputs.pack(inputs))
        shown = model.step(run=self.cores)
        for tile in taken:
            model.devices[tile].received.append(comes[tile])
        for number, tile in enumerate(self.cores):
            said |= {name.replace("trace", f"trace.{number}"): value
                     for name, value in trace_said(shown[tile]).items()}
        bench.check_fields(seen, said)
        for number, tile in enumerate(self.cores):
            if shown[tile].begins:
                self._declare(number, tile, shown[tile])

    def _declare(self, number: int, tile: Tile, shown: Shown) -> None:
        """What the instruction that has begun may wait, by where its access goes. The next one
        comes from the tile's own RAM."""
        access, waits, data = self.model.tiles[tile].core.access, self._waits[tile], 0
        if access is not None and access.address == SystemRegister.EXIT:
            self.bench.undeclare("instruction", {"n": number})  # there is no next one
            self._last.pop(number, None)
            return
        if access is not None:
            region = waits.at(access.address)
            kind = AccessKind.READ if access.answered else AccessKind.WRITE
            data = (LOCAL_WAIT * access.answered if region is None  # no such tile
                    else region.wait(kind) or 0)
        own = waits.at(tile_base(*tile) + VECTOR_OFFSET)
        assert own is not None
        fetch = own.fetch or 0
        if list(tile) in self.parameters["jump"] and shown.pc is not None and shown.pc < 16:
            first = waits.at(0)  # the jump tile's
            fetch = max(fetch, (first and first.fetch) or 0)
        saying = CLASSES[shown.kind](), fetch, data
        if saying != self._last.get(number):
            self.bench.declare("instruction", {"n": number}, core_cycles=saying[0],
                               fetch_wait=saying[1], data_wait=saying[2])
            self._last[number] = saying


@testbench
async def any_programs(bench: Bench) -> None:
    """Random programs, whose data are in their own tile, in another one, or in one they share."""
    grid = GridBench(bench)
    memories = list(grid._content)
    for shared in (False, True):
        words: dict[int, int] = {}
        masters: dict[Tile, frozenset[Tile]] = {}
        there = bench.rng.choice(memories)
        for tile in grid.cores:
            base = tile_base(*tile)
            target = there if shared else bench.rng.choice(memories)
            first = {(0, 0)} if list(tile) in bench.parameters["jump"] else set()
            masters[tile] = frozenset({tile, target, *first})
            data = tile_base(*target) + DATA
            program = random_program(bench.rng, units=25, odd=True, origin=base, data=data)
            for place, word in enumerate(program.words[:DATA // 4]):
                words[base + 4 * place] = word
            for place, word in enumerate(program.words[DATA // 4:]):
                words[data + 4 * place] = word
        await grid.start(words, masters)
        for _ in range(2_500):
            await grid.cycle()


_HANDLER = "mfc0 $k0, $14\naddiu $k0, $k0, 4\njr $k0\nrfe"


@testbench
async def any_accesses(bench: Bench) -> None:
    """Loads and stores of all kinds to all tiles, and to where none is; what fails is skipped."""
    grid, rng = GridBench(bench), bench.rng
    height, width = grid.layout.height, grid.layout.width
    words: dict[int, int] = {}
    for tile in grid.cores:
        base = tile_base(*tile)
        text = [f"li ${register}, {register}" for register in (2, 4, 5, 6, 7)]  # no reset does
        for _ in range(80):
            row, column = rng.randrange(height + 1), rng.randrange(width + 1)
            operation = rng.choice(("lw", "lw", "sw", "sw", "lb", "sb", "lh", "ll", "sc"))
            place = rng.choice((DATA, 0x7FFC) if (row, column) in grid.cores  # not its program
                               else (0, 0, 4, 8, 12, 16, DATA, 0x7FFC))
            register = rng.randrange(4, 8)
            text += [f"li $1, {tile_base(row, column):#x}",
                     *(["ll $2, 0x7000($1)"] if operation == "sc" and rng.random() < 0.7 else []),
                     f"{operation} ${register}, {place:#x}($1)"]
            if rng.random() < 0.1:
                text.append(f"sw ${register}, {SystemRegister.CONSOLE - (1 << 32)}($0)")
        text.append(f"sw $4, {SystemRegister.EXIT - (1 << 32)}($0)")
        code = assemble("\n".join(text), origin=base + 0x100)
        for start, part in ((0, assemble(f"j {base + 0x100:#x}\nnop", origin=base)),
                            (16, assemble(f"j {base + 0x100:#x}\nnop", origin=base + 16)),
                            (VECTOR_OFFSET, assemble(_HANDLER, origin=base + VECTOR_OFFSET)),
                            (0x100, code)):
            words |= {base + start + 4 * place: word for place, word in enumerate(part)}
    await grid.start(words)
    for _ in range(9_000):
        if grid.model.exited:
            break
        await grid.cycle()
    for _ in range(100):
        await grid.cycle()
    bench.compare(grid.model.exited, True, "all programs end")
