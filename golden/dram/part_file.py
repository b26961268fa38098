"""DRAM parts from files, for parts of the user's own.

A part file is TOML with two tables: ``[part]`` with the organisation, and ``[timing]`` with each of
the part's numbers, as its data sheet prints them::

    [part]
    name = "DDR4-2400R x16"
    generation = "DDR4"
    tck_ps = 833
    banks = 8
    bank_groups = 2
    rows = 65536
    columns = 1024

    [timing]
    nRCD = {ns = 13.32}
    nCAS = {ck = 16}
    nRTP = {ck = 4, ns = 7.5, source = "JESD79-4, tRTP"}
    nBURST = 4
    # ... and all others of `Part`

``ck`` are clocks and ``ns`` is a time; of a minimum, the larger of the two holds. A plain number
counts clocks. ``docs/parts/ddr4-2400.toml`` is a whole one.
"""

import difflib
from collections.abc import Iterable, Mapping
from decimal import Decimal
from os import PathLike
from pathlib import Path
from typing import NoReturn

from cyclebound.golden.dram.part import MAXIMA, TIMINGS, Number, Part, part_of
from cyclebound.golden.dram.request import BEATS
from cyclebound.golden.user_files import load_toml, text_in

__all__ = ["PartFileError", "load_part"]

_TEXTS = ("name", "generation")
_COUNTS = ("tck_ps", "banks", "bank_groups", "rows", "columns")
_NUMBER = ("ck", "ns", "source")
_MOST = {"tck_ps": 1_000_000, "banks": 256, "bank_groups": 256, "rows": 1 << 32, "columns": 1 << 16}
_MOST_CLOCKS = 1 << 20
_MOST_NS = 1_000_000_000
_TEXT = 200  # characters of a name or a source
"""Far beyond any part: greater numbers are slips, and would take models hours and memory."""


class PartFileError(ValueError):
    """A part file that describes no part. Says the file, the thing, the rule and the value."""


class _File:
    """The file on which all complaints are made."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def refuse(self, text: str) -> NoReturn:
        raise PartFileError(f"{self._path}: {text}") from None

    def read(self) -> dict[str, object]:
        try:
            text = text_in(self._path)
        except OSError as error:
            self.refuse(f"cannot be read: {error.strerror}")
        except UnicodeDecodeError:
            self.refuse("must be UTF-8")
        try:
            return load_toml(text, parse_float=Decimal)
        except ValueError as error:
            self.refuse(f"must be TOML: {error}")

    def names(self, where: str, given: Iterable[str], allowed: tuple[str, ...],
              needed: tuple[str, ...]) -> None:
        """Refuse unknown names, and then missing ones."""
        given = list(given)
        for name in given:
            if name not in allowed:
                close = difflib.get_close_matches(name, allowed, 1)
                hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(allowed)}"
                self.refuse(f"unknown {_shown(name)} in {where}; {hint}")
        missing = [name for name in needed if name not in given]
        if missing:
            self.refuse(f"{where} must have {', '.join(missing)}")

    def table(self, tables: Mapping[str, object], name: str) -> dict[str, object]:
        table = tables[name]
        if not isinstance(table, dict):
            self.refuse(f"[{name}] must be a table, not {_shown(table)}")
        return table

    def count(self, thing: str, value: object, least: int, most: int = _MOST_CLOCKS) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            self.refuse(f"{thing} must be a whole number, not {_shown(value)}")
        if value < least:
            self.refuse(f"{thing} must be at least {least}, not {_shown(value)}")
        if value > most:
            self.refuse(f"{thing} must be at most {most}, not {_shown(value)}")
        return value

    def text(self, thing: str, value: object, least: int) -> str:
        if not isinstance(value, str) or len(value) < least:
            self.refuse(f"{thing} must be a text, not {_shown(value)}")
        if len(value) > _TEXT or not value.isprintable():
            self.refuse(f"{thing} must be at most {_TEXT} printable characters, "
                        f"not {_shown(value)}")
        return value

    def number(self, name: str, value: object) -> Number:
        if not isinstance(value, dict):
            return Number(clocks=self.count(name, value, 0))
        self.names(name, value, _NUMBER, ())
        source = self.text(f"source of {name}", value.get("source", ""), 0)
        if not {"ck", "ns"} & value.keys():
            self.refuse(f"{name} must have ck, ns, or both")
        clocks = self.count(f"ck of {name}", value.get("ck", 0), 0)
        return Number(clocks, self.picoseconds(f"ns of {name}", value.get("ns", 0)), source)

    def picoseconds(self, thing: str, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            self.refuse(f"{thing} must be a number, not {_shown(value)}")
        if not isinstance(value, int) and not value.is_finite():
            self.refuse(f"{thing} must be finite, not {value}")
        if value < 0:
            self.refuse(f"{thing} must not be negative, not {_shown(value)}")
        if value > _MOST_NS:
            self.refuse(f"{thing} must be at most {_MOST_NS}, not {_shown(value)}")
        if not value:  # with whatever exponent
            return 0
        if isinstance(value, int):
            return value * 1000
        # by its digits: arithmetic would round the 29th, and expand an exponent of a million
        _, digits, exponent = value.as_tuple()
        assert isinstance(exponent, int)  # letters are those of infinity and of no number
        whole = "".join(map(str, digits))
        beyond = -3 - exponent  # digits below a picosecond
        if beyond <= 0:
            return int(whole) * 10 ** -beyond
        if whole[-beyond:].strip("0"):
            self.refuse(f"{thing} must be whole picoseconds, not {_shown(value)}")
        return int(whole[:-beyond] or "0")


def _shown(value: object) -> str:
    """As it stands in the file, but for what is too long for a line."""
    if isinstance(value, int) and value.bit_length() > 128:
        return f"one of {value.bit_length()} bits"
    try:
        text = str(value) if isinstance(value, Decimal) else repr(value)
    except ValueError:  # of a number in a list, which is too long for Python
        return "one too long to print"
    return text if len(text) <= 80 else f"{text[:77]}..."


def load_part(path: str | PathLike[str]) -> Part:
    """The part that a file describes.

    Raises
    ------
    PartFileError
        The file cannot be read or is not TOML; something in it is missing, unknown, of the wrong
        kind, out of range, or contradicts something else.
    """
    file = _File(Path(path))
    tables = file.read()
    file.names("the file", tables, ("part", "timing"), ("part", "timing"))
    part, timing = file.table(tables, "part"), file.table(tables, "timing")
    file.names("[part]", part, _TEXTS + _COUNTS, _TEXTS + _COUNTS)
    file.names("[timing]", timing, TIMINGS, TIMINGS)
    texts = {name: file.text(name, part[name], 1) for name in _TEXTS}
    counts = {name: file.count(name, part[name], 1, _MOST[name]) for name in _COUNTS}
    numbers = {name: file.number(name, value) for name, value in timing.items()}
    for name, number in numbers.items():
        file.count(f"{name} in clocks",
                   number.cycles(counts["tck_ps"], maximum=name in MAXIMA), 0)
    try:
        device = part_of(name=texts["name"], generation=texts["generation"], numbers=numbers,
                         **counts)
    except ValueError as error:
        file.refuse(str(error))
    if device.nBURST != BEATS:
        file.refuse(f"nBURST must be {BEATS} clocks, for a burst is eight beats at double data "
                    f"rate, not {device.nBURST}")
    return device
