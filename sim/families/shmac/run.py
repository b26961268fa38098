"""Programs on a SHMAC grid: what each tile gets, and a run of all of them on a model.

On the RTL: `cyclebound.sim.families.shmac.rtl`.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from cyclebound.golden.shmac.checkpoint import continued
from cyclebound.golden.shmac.grid import GridModel
from cyclebound.golden.shmac.layout import Kind, Layout
from cyclebound.golden.shmac.system import DEFAULT_RAM, System
from cyclebound.golden.shmac.tracking import Tracker
from cyclebound.sim.base.errors import UserError
from cyclebound.tools.shmac.program import Program

__all__ = ["CycleRun", "Setup", "ShmacRun", "TileResult", "run_cycles", "run_model", "started",
           "switch"]

Tile = tuple[int, int]
_ROUNDS, _CYCLES = 50_000, 5_000  # between two reports of progress


@dataclass(frozen=True)
class Setup:
    """A grid before a run.

    Attributes
    ----------
    layout : Layout
        The kinds of its tiles.
    programs : dict
        What the cores begin with; cores without a program do not run.
    ram : dict
        Bytes of tiles' memories, where they are not the default.
    jump : frozenset
        Cores that begin with the jump tile's instructions.
    """

    layout: Layout
    programs: Mapping[Tile, Program]
    ram: Mapping[Tile, int] = field(default_factory=dict)
    jump: frozenset[Tile] = frozenset()

    def __post_init__(self) -> None:
        """Raises `UserError` where programs do not fit together."""
        orders = {program.big_endian: program.name for program in self.programs.values()}
        if len(orders) == 2:
            raise UserError(f"all programs must have one byte order: {orders[True]} is big-endian, "
                            f"{orders[False]} little-endian")

    @property
    def big_endian(self) -> bool:
        """The byte order of its programs."""
        return all(program.big_endian for program in self.programs.values())

    def words(self, of: str) -> int:
        """Of each memory, where all are of one size. Raises `UserError`, which says of what."""
        sizes = set(self.ram.values()) or {DEFAULT_RAM}
        if len(sizes) > 1:
            raise UserError(f"{of} has one size of memory for all tiles, not "
                            f"{min(sizes)} and {max(sizes)} bytes")
        return sizes.pop() // 4


@dataclass(frozen=True)
class TileResult:
    """What became of a program.

    Attributes
    ----------
    program : str
        Its file.
    status : int or None
        With which it ended; None: it had not ended.
    instructions, exceptions : int
        That its core executed, and took.
    failed_stores : int
        That its core was not told of; None: not counted.
    at : str
        Where it was, if it had not ended.
    console : bytes
        What it wrote.
    cycles : int or None
        From the grid's start to its end, or to the end of the run; None: there are none.
    """

    program: str
    status: int | None
    instructions: int
    exceptions: int
    failed_stores: int | None
    at: str
    console: bytes = b""
    cycles: int | None = None


@dataclass(frozen=True)
class ShmacRun:
    """A run.

    Attributes
    ----------
    tiles : dict of TileResult
        Of the tiles with a program.
    rounds : int
        What the clock showed at the end: rounds, or cycles.
    seconds : float
        CPU time, of the RTL of its simulation.
    sent : dict of bytes
        What the UARTs sent.
    """

    tiles: dict[Tile, TileResult]
    rounds: int
    seconds: float
    sent: dict[Tile, bytes]

    @property
    def ended(self) -> bool:
        """Whether all programs have ended."""
        return all(tile.status is not None for tile in self.tiles.values())

    @property
    def failed(self) -> bool:
        """Whether some program has not ended, or with another status than 0."""
        return any(tile.status != 0 for tile in self.tiles.values())


def started(setup: Setup, *, console: Callable[[Tile, int], None] | None = None) -> System:
    """The functional model with all programs, of which none has executed an instruction."""
    system = System(setup.layout, big_endian=setup.big_endian, ram=setup.ram, jump=setup.jump,
                    console=console)
    for tile, program in setup.programs.items():
        system.load(program.words)
        system.start(tile)
    return system


def run_model(setup: Setup, *, limit: int, seed: int | None = None,
              console: Callable[[Tile, int], None] | None = None,
              tell: Callable[[str, int, int], None] = lambda step, done, total: None) -> ShmacRun:
    """A run on the functional model (`cyclebound.golden.shmac.system`).

    Parameters
    ----------
    limit : int
        Rounds after which it is stopped.
    seed : int, optional
        Cores execute their instructions in random order.
    """
    system = started(setup, console=console)
    rng = None if seed is None else Random(seed)
    begun = time.process_time()
    while not system.run(min(_ROUNDS, limit - system.clock), rng=rng) and system.clock < limit:
        tell("rounds", system.clock, limit)
    seconds = time.process_time() - begun
    results = {}
    for tile, program in setup.programs.items():
        core = system.cores[tile]
        results[tile] = TileResult(
            program.name, core.status, core.instructions, core.exceptions, core.failed,
            "" if core.status is not None else program.where(core.machine.pc),
            bytes(core.console))
    return ShmacRun(results, system.clock, seconds,
                    {tile: bytes(sent) for tile, sent in system.sent.items()})


class CycleRun:
    """A run on the golden model of the grid (`cyclebound.golden.shmac.grid`), a cycle at a time.

    Parameters
    ----------
    bypass : bool
        Cores reach their own memory without the router.
    console : callable, optional
        Called with a tile and a byte for each character that its program, or a UART, writes.
    tracker : Tracker, optional
        Follows the packets.

    Attributes
    ----------
    grid : GridModel
    cycle : int
        How many there were.
    ends : dict of int
        Of the programs that have ended, in which cycle.
    counts : dict of list
        Instructions and exceptions of each core.
    said, sent : dict of bytearray
        What programs and UARTs wrote.
    """

    def __init__(self, setup: Setup, *, bypass: bool = True,
                 console: Callable[[Tile, int], None] | None = None,
                 tracker: Tracker | None = None) -> None:
        self.setup, self.bypass, self.cycle = setup, bypass, 0
        self.grid = GridModel(setup.layout, words=setup.words("the model by cycles"),
                              big_endian=setup.big_endian, bypass=bypass, jump=setup.jump)
        for tile, program in setup.programs.items():
            content = self.grid.rams[tile].content
            for address, word in program.words.items():
                content[(address & 0xFF_FFFF) // 4] = word
        if tracker is not None:
            self.grid.network.requests.watch = self.grid.network.responses.watch = tracker.see
        self.console = console or (lambda tile, byte: None)
        self.ends: dict[Tile, int] = {}
        self.counts = {tile: [0, 0] for tile in setup.programs}
        self.said = {tile: bytearray() for tile in setup.programs}
        self.sent = {tile: bytearray() for tile in setup.layout.tiles(Kind.UART)}

    @property
    def ended(self) -> bool:
        """Whether all programs have."""
        return len(self.ends) == len(self.setup.programs)

    def step(self) -> None:
        """One cycle."""
        grid, counts = self.grid, self.counts
        for tile, shown in grid.step(run=self.setup.programs).items():
            if shown.retired is not None and tile in counts:
                counts[tile][0] += 1
                counts[tile][1] += shown.retired.exception is not None
        self.cycle += 1
        for tile in self.setup.programs:
            core = grid.tiles[tile]
            if core.console is not None:
                self.said[tile].append(core.console)
                self.console(tile, core.console)
            if core.exited and tile not in self.ends:
                self.ends[tile] = self.cycle
        for tile, sent in self.sent.items():
            byte = grid.devices[tile].sent
            if byte is not None:
                sent.append(byte)
                self.console(tile, byte)

    def result(self, seconds: float) -> ShmacRun:
        """What has become of all programs."""
        results = {}
        for tile, program in self.setup.programs.items():
            core, ended = self.grid.tiles[tile], self.ends.get(tile)
            instructions, exceptions = self.counts[tile]
            results[tile] = TileResult(
                program.name, None if ended is None else core.status, instructions, exceptions,
                core.failed, "" if ended is not None else program.where(core.core.machine.pc),
                bytes(self.said[tile]), self.cycle if ended is None else ended)
        return ShmacRun(results, max(self.ends.values()) if self.ended else self.cycle, seconds,
                        {tile: bytes(sent) for tile, sent in self.sent.items()})


def run_cycles(run: CycleRun, *, limit: int,
               tell: Callable[[str, int, int], None] = lambda step, done, total: None) -> ShmacRun:
    """Go on until all programs have ended, or ``limit`` cycles are over."""
    begun = time.process_time()
    while not run.ended and run.cycle < limit:
        run.step()
        if run.cycle % _CYCLES == 0:
            tell("cycles", run.cycle, limit)
    return run.result(time.process_time() - begun)


def switch(run: CycleRun, places: Mapping[Tile, int], *, limit: int,
           tell: Callable[[str, int, int], None] = lambda step, done, total: None) -> int:
    """Let the functional model run its programs until one of these cores is about to execute the
    instruction at its place; then ``run``, which has had no cycle, goes on from there: after how
    many rounds. Raises `UserError` if none comes there in ``limit`` rounds.
    """
    system = started(run.setup, console=run.console)
    machines = [(system.cores[tile], place) for tile, place in places.items()]
    while not any(core.running and core.machine.pc == place for core, place in machines):
        if not system.running or system.clock == limit:
            raise UserError(f"no core came to {_named(places)} in {system.clock:,} rounds"
                            + ("" if system.running else ", after which all programs had ended"))
        system.run(1)
        if system.clock % _ROUNDS == 0:
            tell("rounds", system.clock, limit)
    continued(system, run.grid)
    for tile in run.setup.programs:
        run.said[tile][:] = system.cores[tile].console
        if system.cores[tile].status is not None:
            run.ends[tile] = 0
    for tile, sent in run.sent.items():
        sent[:] = system.sent[tile]
    return system.clock


def _named(places: Mapping[Tile, int]) -> str:
    return " or ".join(sorted({f"{place:#010x}" for place in places.values()}))
