"""Programs on a SHMAC grid: what each tile gets, and a run of all of them on the functional model.

On the RTL: `cyclebound.sim.families.shmac.rtl`.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from cyclebound.golden.shmac.layout import Layout
from cyclebound.golden.shmac.system import System
from cyclebound.sim.base.errors import UserError
from cyclebound.tools.shmac.program import Program

__all__ = ["Setup", "ShmacRun", "TileResult", "run_model"]

Tile = tuple[int, int]
_ROUNDS = 50_000  # between two reports of progress


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
        Of the RTL, from the grid's start to its end, or to the end of the run.
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
        What the clock showed at the end: rounds, or cycles of the RTL.
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
    system = System(setup.layout, big_endian=setup.big_endian, ram=setup.ram, jump=setup.jump,
                    console=console)
    for tile, program in setup.programs.items():
        system.load(program.words)
        system.start(tile)
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
