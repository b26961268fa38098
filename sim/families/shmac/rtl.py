"""Programs on a SHMAC grid's RTL, simulated cycle by cycle."""

import contextlib
import dataclasses
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from cyclebound.golden.noc.routes import Port
from cyclebound.golden.shmac.gate_table import Gates
from cyclebound.golden.shmac.layout import Kind
from cyclebound.golden.shmac.packet import (
    CHANNELS,
    DESTINATIONS,
    Packet,
    RequestPacket,
    ResponsePacket,
)
from cyclebound.golden.shmac.tracking import Sight, Tracker
from cyclebound.hdl.shmac.ram import MOST_WORDS
from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.build.identity import identity
from cyclebound.sim.describe.block import Configuration, Testbench
from cyclebound.sim.families.shmac.run import Setup, ShmacRun, Tile, TileResult
from cyclebound.sim.run.followed import followed
from cyclebound.sim.run.job import Job, simulate

__all__ = ["run_rtl"]

_BLOCK, _OWN = "shmac.grid", "user"
_PACKETS = {"request": RequestPacket, "response": ResponsePacket}


def run_rtl(setup: Setup, *, limit: int, bypass: bool = True,
            console: Callable[[Tile, int], None] | None = None,
            tracker: Tracker | None = None, gates: Gates | None = None,
            tell: Callable[[str, int, int], None] = lambda step, done, total: None,
            folder: Path | None = None) -> ShmacRun:
    """A run on `cyclebound.hdl.shmac.grid.Grid`. Raises `UserError`.

    Parameters
    ----------
    limit : int
        Cycles after which it is stopped.
    bypass : bool
        Cores reach their own RAM without the router.
    tracker : Tracker, optional
        Follows the packets.
    gates : Gates, optional
        Between cores and network.
    folder : Path or None
        Where the simulation keeps its files; None: a folder that is removed.
    """
    size = 4 * setup.words("the RTL")
    if size & size - 1 or size > 4 * MOST_WORDS:
        raise UserError("the RTL's memory must be a power of two of bytes, "
                        f"{4 * MOST_WORDS >> 20}M at most, not {size:,}")
    parameters = {
        "layout": list(setup.layout.rows), "words": size // 4, "bypass": bypass,
        "endian": "big" if setup.big_endian else "little",
        "jump": [list(tile) for tile in sorted(setup.jump)],
        **({} if gates is None else {
            "period": gates.period,
            "opens": [gates.opens[tile] for tile in setup.layout.tiles(Kind.CORE)]}),
        **({"tracked": True} if tracker is not None else {})}
    block = catalogue.load().find(_BLOCK)
    block = dataclasses.replace(
        block, configurations={"own": Configuration(parameters)}, testbenches=(
            Testbench(_OWN, "cyclebound.tb.shmac.grid_user", observes=False, compares=False,
                      max_cycles=1 << 40),))
    try:
        block.make(parameters)
    except ValueError as error:
        raise UserError(f"there is no such RTL: {error}") from error
    with contextlib.ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        done = _simulated(block, parameters, setup, limit, console, tell, folder)
        if tracker is not None:
            for sight in _sights(folder / "sights.txt", setup.layout.tiles()):
                tracker.see(sight)
        return done


def _sights(path: Path, tiles: list[Tile]) -> Iterator[Sight]:
    """Each packet on offer in a cycle, as `cyclebound.tb.shmac.grid_user` wrote it."""
    packets: dict[tuple[str, str], Packet] = {}
    with path.open() as lines:
        for line in lines:
            channel, cycle, place, taken, *said = line.split(maxsplit=4)
            packet = packets.get((channel, said[0]))
            if packet is None:
                fields = dict(zip(CHANNELS[channel], json.loads(said[0]), strict=True))
                packet = packets[channel, said[0]] = _PACKETS[channel](**{
                    name: tuple(value) if name in DESTINATIONS.values() else value
                    for name, value in fields.items()})
            tile, port = divmod(int(place), len(Port) + 1)
            yield Sight(int(cycle), tiles[tile], port, packet, taken == "1")


def _simulated(block, parameters, setup: Setup, limit: int,
               console: Callable[[Tile, int], None] | None,
               tell: Callable[[str, int, int], None], folder: Path) -> ShmacRun:
    folder.mkdir(parents=True, exist_ok=True)
    for old in ("ran.json", "progress.json"):
        (folder / old).unlink(missing_ok=True)
    words: dict[int, int] = {}
    for program in setup.programs.values():
        words.update(program.words)
    (folder / "programs.json").write_text(json.dumps({
        "limit": limit, "cores": [list(tile) for tile in setup.programs],
        "words": list(words.items())}))
    made_from = identity((), _BLOCK, parameters, False, _OWN)
    with followed(folder / "progress.json", tell, lambda cycle, most: ("cycles", cycle, most)):
        outcome = simulate(block, Job(_BLOCK, "own", _OWN, 1, str(folder),
                                      wall_limit=7 * 86400.0), identity=made_from)
    if not outcome.passed:
        raise UserError(f"the simulation failed: {outcome.reason}")
    ran = json.loads((folder / "ran.json").read_text())
    results = {}
    for tile, program in setup.programs.items():
        core = ran["cores"]["{},{}".format(*tile)]
        said = bytes(core["console"])
        results[tile] = TileResult(
            program.name, core["status"], core["instructions"], core["exceptions"], None,
            "" if core["status"] is not None else program.where(core["pc"]), said,
            core["cycles"])
    if console is not None:
        for row, column, byte in ran["said"]:
            console((row, column), byte)
    sent = {tuple(map(int, name.split(","))): bytes(text) for name, text in ran["sent"].items()}
    return ShmacRun(results, ran["cycles"], ran["seconds"], sent)  # type: ignore
