"""A user's programs on a grid of SHMAC's tiles: what they print, and when they end.

The job's folder has ``programs.json`` (`sim.families.shmac.rtl` writes it): words by address, the
cores that run, and the most cycles. ``ran.json`` is written there; if the grid is ``tracked``,
``sights.txt`` too, with a line for each packet on offer in a cycle: channel, cycle, stream, whether
it is taken, and its fields.
"""

import itertools
import json
import os
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from cyclebound.golden.noc.routes import Tile
from cyclebound.golden.shmac.packet import CHANNELS
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.bus import Bus, Field
from cyclebound.tb.shmac.grid import GridBench

_CHUNK = 20_000  # cycles without Python
_CHUNK_BYTES = 1 << 26  # of outputs, and fewer cycles where these are many
_SEEN = dict(zip(("requested", "responded"), CHANNELS, strict=True))


@dataclass
class _Core:
    """What a core has done."""

    status: int | None = None
    instructions: int = 0
    exceptions: int = 0
    pc: int = 0
    cycles: int = 0
    console: list[int] = field(default_factory=list)


def _bit(rows: np.ndarray, field: Field) -> np.ndarray:
    """A field of one bit, in each row of bytes."""
    return rows[:, field.offset // 8] >> field.offset % 8 & 1


def _cycles(rows: np.ndarray, field: Field) -> list[int]:
    """In which rows a field of one bit is set."""
    return np.flatnonzero(_bit(rows, field)).tolist()


def _at(rows: np.ndarray, cycle: int, field: Field) -> int:
    """A field in one row."""
    return field.of(int.from_bytes(rows[cycle].tobytes(), "little"))


def _sights(rows: np.ndarray, outputs: Bus, first: int) -> list[str]:
    """A line for each packet on offer; the first row is cycle ``first``."""
    lines: list[tuple[int, str]] = []
    for name, channel in _SEEN.items():
        for stream in itertools.count():
            at = f"{name}.{stream}"
            if f"{at}.valid" not in outputs.fields:
                break
            parts = [[outputs[f"{at}.payload.{field}.{each}"] for each in ("row", "column")]
                     if isinstance(bits, dict) else [outputs[f"{at}.payload.{field}"]]
                     for field, bits in CHANNELS[channel].items()]
            for cycle in _cycles(rows, outputs[f"{at}.valid"]):
                word = int.from_bytes(rows[cycle].tobytes(), "little")
                said = [[part.of(word) for part in field] if len(field) > 1 else field[0].of(word)
                        for field in parts]
                taken = outputs[f"{at}.ready"].of(word)
                line = f"{channel} {first + cycle} {stream} {taken} {json.dumps(said)}\n"
                lines.append((first + cycle, line))
    return [line for _, line in sorted(lines)]


@testbench
async def programs(bench: Bench) -> None:
    folder = Path(json.loads(Path(os.environ["CYCLEBOUND_JOB"]).read_text())["folder"])
    work = json.loads((folder / "programs.json").read_text())
    grid = GridBench(bench, fresh=True)
    outputs, progress = bench.outputs, folder / "progress.json"
    await grid.start({int(address): word for address, word in work["words"]})
    running: dict[Tile, int] = {tuple(tile): grid.cores.index(tuple(tile))
                                for tile in work["cores"]}
    inputs = bench.inputs.pack(grid.runs(running))
    cores = {tile: _Core() for tile in running}
    said: list[tuple[int, ...]] = []
    sent: dict[Tile, list[int]] = {tile: [] for tile in grid.uarts}
    cycles, begun = 0, time.process_time()
    sights = folder / "sights.txt" if bench.parameters.get("tracked") else None
    if sights is not None:
        sights.write_text("")
    chunk = max(1, min(_CHUNK, 8 * _CHUNK_BYTES // outputs.width))
    while cycles < work["limit"] and any(core.status is None for core in cores.values()):
        rows = await bench.record(inputs, min(chunk, work["limit"] - cycles))
        for tile, number in running.items():
            core = cores[tile]
            if core.status is None:
                exited = _cycles(rows, outputs[f"exited.{number}"])
                last = exited[0] if exited else len(rows)
                trace = [_bit(rows[:last], outputs[f"trace.{number}.{name}"])
                         for name in ("ends", "exception")]
                core.instructions += int(trace[0].sum())
                core.exceptions += int((trace[0] & trace[1]).sum())
                core.cycles = cycles + last
                if exited:
                    core.status = _at(rows, last, outputs[f"status.{number}"])
                else:
                    begun_at = _cycles(rows, outputs[f"trace.{number}.begins"])
                    if begun_at:
                        core.pc = _at(rows, begun_at[-1], outputs[f"trace.{number}.pc"])
            for cycle in _cycles(rows, outputs[f"console.{number}.valid"]):
                character = _at(rows, cycle, outputs[f"console.{number}.character"])
                core.console.append(character)
                said.append((cycles + cycle, *tile, character))
        for number, tile in enumerate(grid.uarts):
            for cycle in _cycles(rows, outputs[f"sends.{number}.valid"]):
                character = _at(rows, cycle, outputs[f"sends.{number}.character"])
                sent[tile].append(character)
                said.append((cycles + cycle, *tile, character))
        bench.compare(_bit(rows, outputs["lost"]).any(), False, "a router has dropped a packet")
        over = all(core.status is not None for core in cores.values())
        before, cycles = cycles, (max(core.cycles for core in cores.values()) if over
                                  else cycles + len(rows))
        if sights is not None:
            with sights.open("a") as file:
                file.writelines(_sights(rows[:cycles - before], outputs, before))
        progress.with_suffix(".new").write_text(json.dumps([cycles, work["limit"]]))
        progress.with_suffix(".new").rename(progress)
    (folder / "ran.json").write_text(json.dumps({
        "cycles": cycles, "seconds": time.process_time() - begun,
        "cores": {"{},{}".format(*tile): asdict(core) for tile, core in cores.items()},
        "said": [line[1:] for line in sorted(said)],
        "sent": {"{},{}".format(*tile): text for tile, text in sent.items()}}))
