"""What a bound on a program's time needs, from a user's files and options."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.shmac.address_map import entry_of, tile_base
from cyclebound.golden.shmac.gate_table import Gates, solve_gates
from cyclebound.golden.shmac.grid_bounds import everybody, gated_waits, program_waits
from cyclebound.golden.shmac.isa import REGISTER_NAMES
from cyclebound.golden.shmac.layout import Kind, Layout
from cyclebound.golden.shmac.memory_waits import AccessKind, MemoryWaits, Region
from cyclebound.golden.user_files import load_toml, text_in
from cyclebound.sim.base.errors import UserError, unknown
from cyclebound.tools.shmac.program import Program
from cyclebound.tools.shmac.wcet.code import Code, LoopFact, WcetError, assembled

__all__ = ["address_of", "code_of", "gates_of", "grid_memory", "load_facts", "load_memory",
           "memory_of", "registers_of"]

_TOML = 1 << 20  # bytes
_MOST_GATED = 9  # cores: of 16, the least period is not found in minutes
_MASK = 0xFFFF_FFFF
_NUMBER = r"-?(?:0[xX][0-9a-fA-F]{1,8}|[0-9]{1,10})"
_PLACE = re.compile(
    rf"(?P<name>[A-Za-z_.$][\w.$]*)(?:\+(?P<more>{_NUMBER}))?|(?P<at>{_NUMBER})")
_RANGE = re.compile(rf"(?P<name>\$?\w+)=(?P<low>{_NUMBER})(?:\.\.(?P<high>{_NUMBER}))?")
_FIELDS = ("name", "start", "end", *(kind.value for kind in AccessKind), "after_write",
           "holds")


def _number(text: str) -> int:
    return int(text, 0) if "x" in text.lower() else int(text)


def code_of(program: Program, source: Path) -> Code:
    """A program's instructions and names; of assembly language, with what its comments say.

    Raises `UserError`.
    """
    if source.suffix != ".s":
        # where several symbols are at one address, a function's name is the best
        symbols = {symbol.name: symbol.address for symbol in sorted(
            program.symbols, key=lambda symbol: symbol.kind != "function")}
        return Code(program.words, symbols)
    row, column = program.tile
    try:
        return assembled(text_in(source), origin=entry_of(row, column),
                         symbols={"tile": tile_base(row, column)})
    except WcetError as error:
        raise UserError(f"{source}: {error}") from None


def address_of(text: str, code: Code, what: str) -> int:
    """The address that a name, a name and a distance (``sort+0x10``), or a number is.

    Raises `UserError`.
    """
    found = _PLACE.fullmatch(text)
    if found is None:
        raise UserError(f"{what} takes a name, a name and a distance as sort+0x10, or an address, "
                        f"not {text!r}")
    if found["at"] is not None:
        return _number(found["at"]) & _MASK
    if found["name"] not in code.symbols:
        raise unknown("function or label", found["name"], code.symbols)
    return code.symbols[found["name"]] + _number(found["more"] or "0") & _MASK


def gates_of(layout: Layout, *, bypass: bool, period: int | None) -> Gates:
    """The gates of a grid's cores: of this period, or of the least. Raises `UserError`."""
    many = len(layout.tiles(Kind.CORE))
    if many > _MOST_GATED:
        raise UserError(f"gates are found for grids with up to {_MOST_GATED} cores, not {many}")
    try:
        return solve_gates(layout, bypass=bypass, period=period)
    except ValueError as error:
        raise UserError(str(error)) from None


def grid_memory(layout: Layout, tile: tuple[int, int], others: str, *, bypass: bool,
                period: int | None = None) -> MemoryWaits:
    """How long a grid lets the core of a tile wait; ``others``: worst, silent or gated.

    Raises `UserError`.
    """
    if others not in ("worst", "silent", "gated"):
        raise UserError(f"--others is worst, silent or gated, not {others!r}")
    if period is not None and others != "gated":
        raise UserError("--period is for --others gated")
    masters = everybody(layout)
    if others == "silent":
        masters = {master: targets for master, targets in masters.items() if master == tile}
    try:
        if others == "gated":
            return gated_waits(layout, tile, bypass=bypass,
                               gates=gates_of(layout, bypass=bypass, period=period))
        return program_waits(layout, tile, masters=masters, bypass=bypass)
    except NotCovered as error:
        raise UserError(f"--tile and --grid: {error}") from None


def _table(path: Path) -> dict[str, Any]:
    try:
        return load_toml(text_in(path, _TOML))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(f"{path} must be UTF-8") from None
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def load_memory(path: Path) -> MemoryWaits:
    """The regions of a TOML file. Raises `UserError`."""
    table = _table(path)
    for name in table:
        if name != "region":
            raise UserError(f"{path}: it must have tables [[region]], not {name!r}")
    regions = []
    given = table.get("region", [])
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise UserError(f"{path}: region must be tables [[region]]")
    for number, one in enumerate(given, 1):
        for name in one:
            if name not in _FIELDS:
                raise UserError(f"{path}, region {number}: {unknown('field', name, _FIELDS)}")
        for name in ("name", "start", "end"):
            if name not in one:
                raise UserError(f"{path}, region {number}: it has no {name}")
        if not isinstance(one["name"], str):
            raise UserError(f"{path}, region {number}: name must be a text, not {one['name']!r}")
        try:
            regions.append(Region(**one))
        except NotCovered as error:
            raise UserError(f"{path}: {error}") from None
    try:
        return MemoryWaits(regions)
    except NotCovered as error:
        raise UserError(f"{path}: {error}") from None


def memory_of(text: str) -> MemoryWaits:
    """One memory, from ``FETCH,READ,WRITE``. Raises `UserError`."""
    found = re.fullmatch(r"([0-9]{1,6}),([0-9]{1,6}),([0-9]{1,6})", text)
    if found is None:
        raise UserError(f"--waits takes FETCH,READ,WRITE in cycles, not {text!r}")
    fetch, read, write = map(int, found.groups())
    try:
        return MemoryWaits.uniform(fetch=fetch, read=read, write=write)
    except NotCovered as error:
        raise UserError(f"--waits: {error}") from None


def load_facts(path: Path, code: Code) -> tuple[dict[int, LoopFact], dict[int, tuple[int, int]]]:
    """What a TOML file says of loops, and of registers at the beginning. Raises `UserError`."""
    table = _table(path)
    for name in table:
        if name not in ("loops", "registers"):
            raise UserError(f"{path}: {unknown('table', name, ('loops', 'registers'))}")
    facts = {}
    for name, value in _entries(table, "loops", path):
        said = {"bound": value} if _whole(value) else value
        if not isinstance(said, dict) or not said or not said.keys() <= {"bound", "total"} or (
                not all(_whole(count) and 0 < count < 10 ** 12 for count in said.values())):
            raise UserError(f"{path}: loop {name!r} takes a whole number of at least 1, or "
                            f"{{ bound = ..., total = ... }}, not {value!r}")
        facts[address_of(name, code, f"{path}: a loop")] = LoopFact(**said)
    registers = {}
    for name, value in _entries(table, "registers", path):
        ends = [value, value] if _whole(value) else value
        if not isinstance(ends, list) or len(ends) != 2 or not all(map(_whole, ends)):
            raise UserError(f"{path}: register {name!r} takes a whole number or [least, greatest], "
                            f"not {value!r}")
        registers[_register(name)] = _ends(f"{path}: register {name}", *ends)
    return facts, registers


def _entries(table: dict[str, Any], name: str, path: Path) -> Sequence[tuple[str, Any]]:
    entries = table.get(name, {})
    if not isinstance(entries, dict):
        raise UserError(f"{path}: {name} must be a table")
    return list(entries.items())


def _register(text: str) -> int:
    name = text.removeprefix("$")
    if name in REGISTER_NAMES[1:]:
        return REGISTER_NAMES.index(name)
    if name.isdecimal() and 0 < int(name[:4]) < len(REGISTER_NAMES):
        return int(name)
    raise unknown("register", name, REGISTER_NAMES[1:])


def _ends(what: str, low: int, high: int) -> tuple[int, int]:
    if not -1 << 31 <= low <= high <= _MASK or high - low > _MASK:
        raise UserError(f"{what} must be from -2^31 to 2^32 - 1, the least first, not {low} to "
                        f"{high}")
    return low, high


def registers_of(texts: Sequence[str]) -> dict[int, tuple[int, int]]:
    """Ranges of registers, from ``a0=0..12`` or ``sp=0x8000``. Raises `UserError`."""
    registers = {}
    for text in texts:
        found = _RANGE.fullmatch(text)
        if found is None:
            raise UserError(f"--register takes NAME=VALUE or NAME=LEAST..GREATEST, not {text!r}")
        low = _number(found["low"])
        registers[_register(found["name"])] = _ends(
            f"--register {found['name']}", low, _number(found["high"] or found["low"]))
    return registers
