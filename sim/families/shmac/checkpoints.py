"""Files with the state of a run by cycles, from which another run goes on."""

import json
import os
from pathlib import Path
from typing import Any

from cyclebound.golden.noc.routes import Tile
from cyclebound.golden.shmac.address_map import LOCAL_BITS, entry_of
from cyclebound.golden.shmac.checkpoint import (
    CheckpointError,
    part_names,
    restore,
    state_of,
    tile_named,
    whole,
)
from cyclebound.golden.shmac.layout import Kind, Layout, LayoutError
from cyclebound.golden.user_files import text_in
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.families.shmac.run import CycleRun, Setup
from cyclebound.tools.shmac.program import Program

__all__ = ["load_checkpoint", "save_checkpoint"]

_FORMAT, _VERSION = "cyclebound shmac checkpoint", 1
_PARTS = ["format", "version", "layout", "ram", "big_endian", "bypass", "jump", "programs", "cycle",
          "ended", "instructions", "exceptions", "console", "sent", "state"]
_MOST = 1 << 29  # bytes of a file
_CYCLES = whole(1 << 62)


def save_checkpoint(run: CycleRun, path: Path) -> None:
    """Write the state of a run between two cycles; a file that is there stays until that is done.
    Raises `UserError`."""
    setup = run.setup
    content = {
        "format": _FORMAT, "version": _VERSION, "layout": list(setup.layout.rows),
        "ram": 4 * setup.words("a checkpoint"), "big_endian": setup.big_endian,
        "bypass": run.bypass, "jump": [list(tile) for tile in sorted(setup.jump)],
        "programs": {tile_named(tile): program.name for tile, program in setup.programs.items()},
        "cycle": run.cycle,
        "ended": {tile_named(tile): cycle for tile, cycle in run.ends.items()},
        "instructions": {tile_named(tile): count for tile, (count, _) in run.counts.items()},
        "exceptions": {tile_named(tile): count for tile, (_, count) in run.counts.items()},
        "console": {tile_named(tile): said.hex() for tile, said in run.said.items()},
        "sent": {tile_named(tile): sent.hex() for tile, sent in run.sent.items()},
        "state": state_of(run.grid),
    }
    new = path.with_name(f"{path.name}.new")
    try:
        new.write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")
        os.replace(new, path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from None


def load_checkpoint(path: Path) -> CycleRun:
    """The run that a file goes on with. Raises `UserError`."""
    try:
        content = json.loads(text_in(path, _MOST))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise UserError(f"{path} must be a checkpoint, which is JSON in UTF-8") from None
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise UserError(f"{path} must be a checkpoint (--checkpoint), which says so in format")
    if content.get("version") != _VERSION:
        raise UserError(f"{path} must have version {_VERSION}, not {content.get('version')!r}: "
                        "make it again with this version of cyclebound")
    try:
        return _run(content)
    except (CheckpointError, LayoutError) as error:
        raise UserError(f"{path}: {error}") from None


def _run(content: dict[str, Any]) -> CycleRun:
    part_names(content, _PARTS, "a checkpoint")
    for name in ("big_endian", "bypass"):
        _is(content[name], bool, name)
    rows = _is(content["layout"], list, "layout")
    layout = Layout(tuple(_is(row, str, "a row of the layout") for row in rows))
    cores = {tile_named(tile): tile for tile in layout.tiles(Kind.CORE)}
    ram = whole(1 << LOCAL_BITS, 4096).read(content["ram"], "ram")
    if ram % 8:
        raise CheckpointError(f"ram must be a multiple of 8, not {ram}")
    named = _is(content["programs"], dict, "programs")
    for name in named:
        if name not in cores:
            raise CheckpointError(f"programs: there is no core in {name!r}")
    jump = [_core(tile, cores) for tile in _is(content["jump"], list, "jump")]
    programs = {cores[name]: Program(
        _is(file, str, "a program's name"), content["big_endian"], entry_of(*cores[name]), {}, ())
        for name, file in named.items()}
    if not programs:
        raise CheckpointError("programs must have one")
    run = CycleRun(Setup(layout, programs, dict.fromkeys(layout.tiles(), ram), frozenset(jump)),
                   bypass=content["bypass"])
    run.cycle = _CYCLES.read(content["cycle"], "cycle")
    for name in ("instructions", "exceptions", "console"):
        part_names(content[name], list(named), name)
    part_names(content["sent"], list(map(tile_named, run.sent)), "sent")
    for name, cycle in _is(content["ended"], dict, "ended").items():
        if name not in named:
            raise CheckpointError(f"ended: there is no program in {name!r}")
        run.ends[cores[name]] = whole(run.cycle).read(cycle, f"ended.{name}")
    for tile in programs:
        name = tile_named(tile)
        run.counts[tile] = [_CYCLES.read(content[of][name], f"{of}.{name}")
                            for of in ("instructions", "exceptions")]
        run.said[tile] = _bytes(content["console"][name], f"console.{name}")
    for tile in run.sent:
        run.sent[tile] = _bytes(content["sent"][tile_named(tile)], f"sent.{tile_named(tile)}")
    restore(run.grid, content["state"])
    for tile in programs:
        if run.grid.tiles[tile].exited != (tile in run.ends):
            raise CheckpointError(f"ended and the state of tile {tile} must say the same")
    return run


def _is(value: Any, cls: type, where: str) -> Any:
    if type(value) is not cls:
        words = {bool: "true or false", dict: "an object", list: "a list", str: "a text"}
        raise CheckpointError(f"{where} must be {words[cls]}, not {repr(value)[:60]}")
    return value


def _core(value: Any, cores: dict[str, Tile]) -> Tile:
    name = ",".join(map(str, value)) if isinstance(value, list) else ""
    if name not in cores:
        raise CheckpointError(f"jump must name tiles with a core, not {repr(value)[:60]}")
    return cores[name]


def _bytes(value: Any, where: str) -> bytearray:
    try:
        return bytearray.fromhex(_is(value, str, where))
    except ValueError as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(f"{where} must be bytes in hexadecimal") from None
