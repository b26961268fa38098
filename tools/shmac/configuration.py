"""What each tile of a SHMAC grid is given before a run: its program, the size of its memory.

Ref: SHMAC thesis, 3.3.3: key-value pairs for each tile coordinate. How they are written is decided
here, one a line, and ``#`` begins a comment::

    *:   program = worker.c      # all cores that have no line of their own for this key
    0,1: program = master.c
    0,1: ram = 128K

======= ====== =====================================================================
key     tiles  value
======= ====== =====================================================================
program P      a file, from the configuration's folder
ram     P R L  bytes of memory, also with K or M
boot    P      stub: the core's first instructions are its system registers'; jump:
               they are tile (0, 0)'s, which has to be J, as in the thesis
======= ====== =====================================================================
"""

import difflib
import re
from dataclasses import dataclass, field

from cyclebound.golden.shmac.address_map import LOCAL_BITS
from cyclebound.golden.shmac.layout import Kind, Layout

__all__ = ["LEAST_RAM", "Configuration", "ConfigurationError", "parse_configuration", "size_of"]

LEAST_RAM = 1 << 12
_KEYS = {"program": (Kind.CORE,), "ram": (Kind.CORE, Kind.RAM, Kind.LOCKS), "boot": (Kind.CORE,)}
_LINE = re.compile(r"(?P<tile>[^:=]*?)\s*:\s*(?P<key>[^=]*?)\s*=\s*(?P<value>.*)")
_SCALE = {"": 1, "K": 1 << 10, "M": 1 << 20}


class ConfigurationError(ValueError):
    """A text that is no configuration of this grid. Says where, the rule and the value."""


@dataclass(frozen=True)
class Configuration:
    """What is said of tiles; of others, nothing.

    Attributes
    ----------
    programs : dict
        Files, by tile.
    ram : dict
        Bytes, by tile.
    jump : frozenset
        Cores that begin with tile (0, 0)'s instructions.
    """

    programs: dict[tuple[int, int], str] = field(default_factory=dict)
    ram: dict[tuple[int, int], int] = field(default_factory=dict)
    jump: frozenset[tuple[int, int]] = frozenset()


def size_of(text: str) -> int:
    """Bytes of a memory: a number, also with K or M. Raises `ValueError`."""
    found = re.fullmatch(r"([0-9]{1,9})([KM]?)", text)
    size = int(found[1]) * _SCALE[found[2]] if found else 0
    if not LEAST_RAM <= size <= 1 << LOCAL_BITS or size % 8:
        raise ValueError(f"must be {LEAST_RAM} to {1 << LOCAL_BITS} bytes (4K to 16M), a multiple "
                         f"of 8, not {text!r}")
    return size


def parse_configuration(text: str, layout: Layout) -> Configuration:
    """What a text says of the tiles of a grid. Raises `ConfigurationError`."""
    said: dict[tuple[str, tuple[int, int] | None], tuple[int, str]] = {}
    for number, whole in enumerate(text.split("\n"), 1):
        line = whole.partition("#")[0].rstrip()
        if not line.strip():
            continue
        found = _LINE.fullmatch(line.lstrip())
        indent = len(line) - len(line.lstrip())

        def wrong(at: int, rule: str, number: int = number) -> ConfigurationError:
            return ConfigurationError(f"line {number}, column {at + 1}: {rule}")

        if not found:
            raise wrong(indent, f"a line must be ROW,COLUMN: KEY = VALUE, not {line.strip()!r}")
        places = {name: indent + found.start(name) for name in found.groupdict()}
        key, value = found["key"], found["value"]
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, 1)
            raise wrong(places["key"], f"a key must be one of {', '.join(_KEYS)}, not {key!r}"
                        + (f"; did you mean {near[0]}?" if near else ""))
        tile = _tile_named(found["tile"], layout, lambda rule, at=places["tile"]: wrong(at, rule))
        kinds = _KEYS[key]
        if tile is not None and (kind := layout.kind(tile)) not in kinds:
            assert kind is not None
            raise wrong(places["tile"], f"{key} is of tiles {', '.join(k.value for k in kinds)}, "
                        f"and tile ({tile[0]}, {tile[1]}) is {kind.value}")
        if not value:
            raise wrong(places["value"], f"{key} must have a value")
        if (key, tile) in said:
            raise wrong(places["tile"], f"{key} of {found['tile']} is there already, in line "
                        f"{said[key, tile][0]}: {said[key, tile][1]!r}, not {value!r} too")
        if key == "ram":
            try:
                size_of(value)
            except ValueError as error:
                raise wrong(places["value"], f"ram {error}") from None
        if key == "boot":
            if value not in ("stub", "jump"):
                raise wrong(places["value"], f"boot must be stub or jump, not {value!r}")
            if value == "jump" and layout.kind((0, 0)) is not Kind.JUMP:
                raise wrong(places["value"], "boot = jump needs a jump tile J at (0, 0), which is "
                            f"{layout.rows[0][0]!r}")
        said[key, tile] = number, value

    def of(key: str) -> dict[tuple[int, int], str]:
        given = {tile: value for (name, tile), (_, value) in said.items()
                 if name == key and tile is not None}
        if (key, None) in said:
            others = layout.tiles(Kind.CORE)
            given = dict.fromkeys(others, said[key, None][1]) | given
        return given

    return Configuration(of("program"), {tile: size_of(size) for tile, size in of("ram").items()},
                         frozenset(tile for tile, how in of("boot").items() if how == "jump"))


def _tile_named(text: str, layout: Layout, wrong) -> tuple[int, int] | None:
    """The tile that a line speaks of; None: all with a core."""
    if text == "*":
        return None
    found = re.fullmatch(r"([0-9]{1,3})\s*,\s*([0-9]{1,3})", text)
    if not found:
        raise wrong(f"a tile must be ROW,COLUMN or *, not {text!r}")
    tile = int(found[1]), int(found[2])
    if layout.kind(tile) is None:
        raise wrong(f"tile ({tile[0]}, {tile[1]}) must be in the grid of {layout.height} x "
                    f"{layout.width} tiles")
    return tile
