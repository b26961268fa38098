"""CSV files as traces: logs, and what logic analysers export (Vivado, Saleae, Digilent, sigrok)."""

import contextlib
import csv
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path

import numpy as np

from cyclebound.golden.user_files import lines_of
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.shape import shown
from cyclebound.sim.traces.trace import EVERY, EVERY_STEP, Gaps, Trace
from cyclebound.tb.sampled import Chunk, Lane, column
from cyclebound.tb.time_units import scale_of

__all__ = ["RADIXES", "Table"]

RADIXES = {"hex": 4, "dec": 0, "bin": 1, "oct": 3, "signed": 0}
"""How numbers may be written, with the bits of a digit."""

_ROWS = 1 << 16  # in a chunk
_WIDEST = 1 << 16  # bits of a value
_LONGEST = 10**8  # cycles of lines that last several: each is looked at, and that takes a minute
_APART = 1.5  # the longest time between lines that are cycles, over the shortest
_UNITS = {"s": -12, "ms": -9, "us": -6, "µs": -6, "ns": -3, "ps": 0}  # in picoseconds: 10 ** -this
_TIME = re.compile(r"time\s*[\[(]\s*(s|ms|us|µs|ns|ps)\s*[\])]", re.IGNORECASE)
_SIGROK_TIME = {"seconds": "s", "milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns",
                "picoseconds": "ps"}
_RANGE = re.compile(r"(.*\S)\s*\[(\d+):(\d+)\]")
_WRITTEN = re.compile(r"(?:\d*'s?([hbdo])|0([xbo]))([0-9a-fxzuw?-]+)")
_LETTERS = {"h": "hex", "x": "hex", "b": "bin", "d": "dec", "o": "oct"}
_VIVADO = {"hex": "hex", "binary": "bin", "unsigned": "dec", "signed": "signed", "octal": "oct"}
_UNKNOWN = frozenset("xzuw-?")
_ASK = "name it with --radix {name}=hex (or dec, bin, oct, signed)"


@dataclass
class _Column:
    """What is known of a column.

    Attributes
    ----------
    at : int
        Its number.
    radix : str
        One of `RADIXES`; empty where the values have to say it.
    width : int
        Bits, as they are given; 0: as many as the values need.
    needs : int
        Bits of the longest value.
    wrong : str
        Why it cannot be read.
    several : str
        The first value of several digits that says nothing of its radix.
    partly : bool
        A value has known and unknown digits.
    """

    at: int
    radix: str = ""
    width: int = 0
    needs: int = 1
    wrong: str = ""
    several: str = ""
    negative: bool = False
    partly: bool = False
    known: dict[str, "int | str | None"] = field(default_factory=dict)

    def value(self, text: str) -> int | str | None:
        """A value; a text where bits are unknown, None where it is empty."""
        if text not in self.known:
            if len(self.known) > 1 << 12:
                self.known.clear()
            self.known[text] = _number(text, self.radix)
        value = self.known[text]
        if isinstance(value, int) and value < 0:
            return value & (1 << self.width) - 1
        return value


class Table(Trace):
    """A CSV file: the first line names the signals, and each further line is a cycle.

    Where a clock is named, a line is a moment instead, and a cycle ends where the clock's column
    becomes 1; with ``every 10 ns`` in place of a clock (``every 10`` where times have no unit),
    what a line says lasts until the next, in so many cycles of that length. A column ``time`` says
    when; lines that are cycles must be equally far apart in it. What is empty or has an x or z is
    unknown.

    Parameters
    ----------
    path : Path
        The file.
    radix : mapping
        By the name of a column, one of `RADIXES`, perhaps with a number of bits: ``signed8``.
    """

    def __init__(self, path: Path, radix: Mapping[str, str] | None = None) -> None:
        self._columns: dict[str, _Column] = {}
        self._moment: tuple[int, str] | None = None  # the column of the time, and its unit
        self._window: int | None = None  # the column that counts the samples of a window
        self._analyser = False
        self._watched = 0  # signals whose changes are counted
        with _table_errors(path):
            self._head(path)
            self._given(dict(radix or {}))
            for line, row in self._rows(path):
                self._look(line, row)
        super().__init__(path, {name: one.width or one.needs
                                for name, one in self._columns.items()})
        if self._moment and self._moment[1]:
            self.unit = "1 ps"

    # -- what the columns are

    def _head(self, path: Path) -> None:
        """The names of columns, and what the program that wrote the file says of them."""
        said: list[str] = []
        with path.open(newline="", encoding="utf-8-sig") as file:
            for line in lines_of(file, path):
                if line.strip() and not (line.startswith(("#", ";")) and len(said) < 100):
                    break
                said.append(line)
            else:
                line = ""
            self._skipped = len(said)
            self._sign = max(",;\t", key=line.count)
            names = next(csv.reader([line], delimiter=self._sign), [])
            second = next(csv.reader([file.readline(1 << 16)], delimiter=self._sign), [])
        names = [name.strip() for name in names]
        channels = next((re.split(r":", text, maxsplit=1)[1] for text in said
                         if text.startswith("; Channels (")), None)
        if channels is not None and "logic" in names:  # sigrok names them above
            named = iter(channels.split(","))
            names = [next(named, "").strip() if name == "logic" else name for name in names]
        radixes = [""] * len(names)
        if second and second[0].strip().lower().startswith("radix -"):
            self._skipped += 1
            radixes = [text.strip().lower().removeprefix("radix -").strip() for text in second]
        vivado = names[:1] == ["Sample in Buffer"]
        self._analyser = vivado or bool(said and any(text.strip() for text in said))
        for number, name in enumerate(names):
            if not name:
                raise UserError(f"{path}: column {number + 1} has no name in the first line")
            if self._is_time(number, name):
                continue
            if name == "Sample in Window":
                self._window = number
            ranged = _RANGE.fullmatch(name)
            width = abs(int(ranged[2]) - int(ranged[3])) + 1 if ranged else 0
            if width > _WIDEST:
                raise UserError(f"{path}: {shown(name)} has more than {_WIDEST:,} bits")
            name = ranged[1] if ranged else name
            if name in self._columns:
                raise UserError(f"{path}: two columns are called {shown(name)}")
            said_radix = radixes[number] if number < len(radixes) else ""
            self._columns[name] = _Column(number, _VIVADO.get(said_radix, ""), width)
            if said_radix and said_radix not in _VIVADO:
                self._columns[name].wrong = (f"it is in the radix {shown(said_radix)}, which is "
                                             "not read")
            if vivado and number < 3:  # its own counters
                self._columns[name].radix = "dec"
        self._many = len(names)

    def _is_time(self, number: int, name: str) -> bool:
        if self._moment is not None:
            return False
        unit = (found[1].lower() if (found := _TIME.fullmatch(name)) else
                _SIGROK_TIME.get(name.lower()))
        if unit or name.lower() == "time":
            self._moment = number, unit or ""
            self._analyser = self._analyser or bool(unit)
            return True
        return False

    def _given(self, radix: Mapping[str, str]) -> None:
        for name, text in radix.items():
            found = re.fullmatch(rf"({'|'.join(RADIXES)})(\d{{1,5}})?", text)
            if name not in self._columns:
                raise UserError(f"--radix: no column is called {shown(name)}; there are "
                                f"{', '.join(list(self._columns)[:8])}")
            if not found:
                raise UserError(f"--radix {name} takes {', '.join(RADIXES)}, perhaps with a number "
                                f"of bits as in signed8, not {shown(text)}")
            one = self._columns[name]
            one.radix, one.width, one.wrong = found[1], int(found[2] or one.width), ""

    def _look(self, line: int, row: list[str]) -> None:
        """What a row says of the columns."""
        for name, one in self._columns.items():
            text = row[one.at]
            if one.wrong or text in one.known:
                continue
            try:
                value = _number(text, one.radix)
            except ValueError as error:
                one.wrong = (f"line {line}: {error}" if one.radix or not _is_hex(text) else
                             f"line {line}: {shown(text)} is no decimal number; "
                             + _ASK.format(name=name))
                continue
            one.known[text] = value
            needs = (len(value) if isinstance(value, str) else 1 if value is None else
                     (~value if value < 0 else value).bit_length() + (value < 0))
            one.needs = max(one.needs, needs)
            one.negative = one.negative or (isinstance(value, int) and value < 0)
            if one.width and needs > one.width:
                one.wrong = f"line {line}: {shown(text)} has more than {one.width} bits"
            if one.radix:
                continue
            bare = text.strip()
            one.partly = one.partly or (isinstance(value, str) and bool(
                set(bare.lower()) & _UNKNOWN and set(bare.lower()) - _UNKNOWN))
            if bare.isdigit() and len(bare) > 1:
                one.several = one.several or bare
                if bare[0] == "0":
                    one.wrong = (f"line {line}: {bare} may be decimal, hexadecimal or binary; "
                                 + _ASK.format(name=name))

    def _readable(self, name: str) -> None:
        """Raises `UserError` for a column of which the values may mean different numbers."""
        one = self._columns[name]
        wrong = one.wrong
        if not wrong and one.several and (self._analyser or one.partly):
            wrong = (f"{one.several} may be decimal, hexadecimal or binary; "
                     + _ASK.format(name=name))
        if not wrong and one.negative and not one.width:
            wrong = (f"it has negative numbers, and nothing says of how many bits; name them, as "
                     f"in --radix {name}=signed{max(8, one.needs)}")
        if wrong:
            raise UserError(f"cannot read the trace {self.path}: column {shown(name)}: {wrong}")

    # -- cycles

    def _rows(self, path: Path) -> Iterator[tuple[int, list[str]]]:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = itertools.islice(lines_of(file, path), self._skipped, None)
            reader = csv.reader(lines, delimiter=self._sign)
            next(reader, None)
            for row in reader:
                if not row or (len(row) == 1 and not row[0].strip() and self._many > 1):
                    continue
                line = self._skipped + reader.line_num
                if len(row) != self._many:
                    raise UserError(f"{path}: line {line} has {len(row)} values; the first line "
                                    f"names {self._many} columns")
                yield line, row

    def clock(self, named: str = "") -> str:
        if named == EVERY_STEP:
            return ""
        if self._period(named):
            return named
        if not named and self._moment and self._moment[1]:
            raise UserError(f"{self.path}: its lines are samples in time, or changes: name the "
                            f"clock with --clock, or --clock {EVERY_STEP} if each is a cycle, or "
                            "how long a sample is, as in --clock 'every 10 ns'")
        return super().clock(named) if named else ""

    def nothing(self, clock: str) -> str:
        return super().nothing(clock) if clock in self.widths or clock[:1] == "~" else (
            "it has no lines")

    def _period(self, clock: str) -> Fraction | None:
        """How long a cycle is, of ``every 10 ns`` in place of a clock. Raises `UserError`."""
        found = EVERY.fullmatch(clock)
        if not found or clock in self.widths:
            return None
        if self._moment is None:
            raise UserError(f"--clock '{clock}' needs a column time, which {self.path} has not")
        if bool(found[2]) != bool(self.unit):
            raise UserError(f"--clock '{clock}': times in {self.path} have " + (
                "a unit: 'every 10 ns'" if self.unit else "no unit: 'every 10'"))
        number, _, parts = found[1].partition("/")
        factor, divisor = scale_of(found[2], self.unit) if self.unit else (1, 1)
        if not int(parts or 1) or not (period := Fraction(number) * factor / divisor):
            raise UserError(f"--clock '{clock}': a cycle must be longer than 0")
        return period / int(parts or 1)

    def _time(self, line: int, row: list[str], latest: int | None) -> int:
        """When a row is: whole numbers, or picoseconds where the column names a unit."""
        assert self._moment is not None
        at, unit = self._moment
        text = row[at].strip()
        try:
            time = (int(Decimal(text).scaleb(-_UNITS[unit]).to_integral_value()) if unit
                    else int(text, 0) if text[:1] == "0" and not text.isdigit() else int(text))
        except (ValueError, InvalidOperation, OverflowError):
            time = 1 << 63
        if not -(1 << 63) <= time < 1 << 63 or (time < 0 and not unit):
            raise UserError(f"{self.path}: line {line}: time must be a "
                            f"{'number' if unit else 'whole number from 0'}, not {shown(text)}")
        if latest is not None and time < latest:
            raise UserError(f"{self.path}: line {line}: time goes back from {latest:,} to {time:,}")
        return time

    def _said_time(self, row: list[str]) -> Decimal:
        """When a row is, with the digits that it says; 0 for what is no time."""
        assert self._moment is not None
        at, unit = self._moment
        with contextlib.suppress(InvalidOperation):
            if unit and (time := Decimal(row[at].strip())).is_finite():
                return time
        return Decimal(0)

    def _rounding(self) -> Callable[[list[str]], int]:
        """To how much the time of a row is rounded, as `_time` has it; 0 of a plain 0.

        The programs write so many digits after the point, or so many in all, and some leave out
        zeros at the end.
        """
        assert self._moment is not None
        unit = self._moment[1]
        finest, many = 18, 1
        for _, row in self._rows(self.path):
            if time := self._said_time(row):
                finest = min(finest, int(time.as_tuple().exponent))
                many = max(many, len(time.as_tuple().digits))

        def step(row: list[str]) -> int:
            if not (time := self._said_time(row)):
                return 0 if unit else 1
            exponent = min(int(time.as_tuple().exponent), max(finest, time.adjusted() - many + 1))
            return int(10 ** max(0, exponent - _UNITS[unit]))

        return step

    def chunks(self, clock: str, names: Iterable[str], *, stops: bool = False) -> Iterator[Chunk]:
        names = [name for name in dict.fromkeys(names) if name]
        period = self._period(clock)
        clock = "" if period else clock
        edge, clock = int(not clock.startswith("~")), clock.removeprefix("~")
        for name in dict.fromkeys([*names, *[clock] * bool(clock)]):
            self._readable(name)
        columns = {name: self._columns[name] for name in names}
        self._watched = len(names)
        gaps = Gaps(self.said, stops=stops or not clock or self._moment is None)
        first, size = 0, 0
        ended: int | None = None  # the cycle before the chunk
        kept: list[tuple[int, list[str], int]] = []
        unknown: list[int] = []
        places: dict[int, str] = {}

        def chunk() -> Chunk:
            times = np.array([time for time, _, _ in kept], dtype=np.int64)
            many = np.array([many for _, _, many in kept], dtype=np.int64)
            found = gaps.among(times, np.array(unknown, dtype=np.int64)) if clock else {}
            lanes = {name: column([one.value(row[one.at]) for _, row, _ in kept], self.widths[name])
                     for name, one in columns.items()}
            if period is not None:
                lanes = {name: Lane(np.repeat(lane.values, many), lane.like, None if lane.unknown
                                    is None else np.repeat(lane.unknown, many))
                         for name, lane in lanes.items()}
                times = np.concatenate([times[:0], *(
                    time + _rounded(np.arange(more), period) for time, _, more in kept)])
            return Chunk(first, lanes, times, found | places, ended)

        with _table_errors(self.path):
            for time, row, many, place in (
                    self._lasting(period) if period else self._edges(clock, edge, unknown)
                    if clock else self._each(stops=stops)):
                if place:
                    places[size] = place
                while many:
                    part = min(many, _ROWS - size)
                    kept.append((time, row, part))
                    size, many = size + part, many - part
                    if period is not None:
                        time += int(_rounded(np.array([part]), period)[0])
                    if size == _ROWS:
                        yield (made := chunk())
                        first, size, ended = first + size, 0, int(made.times[-1])
                        for past in (kept, unknown, places):
                            past.clear()
            yield chunk()

    def _moments(self) -> Iterator[tuple[int, int, list[str]]]:
        """Each line's number, its time and its values."""
        latest: int | None = None
        for number, (line, row) in enumerate(self._rows(self.path)):
            self.changes += self._watched
            latest = number if self._moment is None else self._time(line, row, latest)
            yield line, latest, row

    def _edges(self, clock: str, edge: int, unknown: list[int]
               ) -> Iterator[tuple[int, list[str], int, str]]:
        """The values before each edge of the clock; ``unknown`` gets the times from which on the
        clock is."""
        held, before, seen = None, None, False
        for _, time, row in self._moments():
            level = self._columns[clock].value(row[self._columns[clock].at])
            if not isinstance(level, int) and seen:
                unknown.append(time)
            if held is not None and level == edge and before != edge and (
                    isinstance(before, int) or not seen):
                yield time, held, 1, ""
            held, before, seen = row, level, seen or isinstance(level, int)

    def _each(self, *, stops: bool) -> Iterator[tuple[int, list[str], int, str]]:
        """Each line; a place where another window of a capture begins."""
        window, latest = -1, None
        least, most = 1 << 64, 0
        for line, time, row in self._moments():
            place = ""
            if self._window is not None:
                sample = _number(row[self._window], "dec")
                if isinstance(sample, int) and sample <= window:
                    place = f"line {line}: another window of the capture begins"
                window = sample if isinstance(sample, int) else window
            if latest is not None and self._moment is not None and not stops:
                least, most = min(least, time - latest), max(most, time - latest)
                if most > _APART * least:
                    raise UserError(
                        f"cannot read the trace {self.path}: line {line}: its lines are "
                        f"{self.said(least)} to {self.said(most)} apart, and so no cycles: name "
                        "the clock with --clock SIGNAL, or how long a sample is, as in --clock "
                        f"'every 10{' ns' * bool(self.unit)}'; with --clock-stops each line is a "
                        "cycle nevertheless, as where only the times are rounded (1.25 ns is 1 or "
                        "2 in whole ns)")
            latest = time
            yield time, row, 1, place

    def _lasting(self, period: Fraction) -> Iterator[tuple[int, list[str], int, str]]:
        """Each line, and how many cycles of this length it lasts.

        Cycles are counted from the first line, so that a period that is slightly off adds up; by
        the time of a long line alone, another number of cycles would fit.
        """
        held: tuple[int, list[str]] | None = None
        first = coarse = before = 0
        rounded = self._rounding()
        for line, time, row in self._moments():
            if held is None:
                first, coarse = time, rounded(row)
            else:
                step = max(coarse, rounded(row))
                if 2 * step >= period and period % step:
                    raise UserError(
                        f"cannot read the trace {self.path}: line {line}: times in steps of "
                        f"{self.said(step)} are rounded too much to tell cycles of "
                        f"{self.said(round(period))}")
                within = step if 2 * step < period else 0  # all are rounded alike
                count = round((time - first) / period)
                if count == before or abs(time - first - count * period) > within:
                    raise UserError(
                        f"cannot read the trace {self.path}: line {line} is "
                        f"{self.said(time - first)} after the first, which is no whole number of "
                        f"cycles of {self.said(round(period))} to within {self.said(within)}, "
                        "or is that of the line before: a cycle is longer or shorter (one of 24 "
                        "MHz is 1/24 us), or times are rounded too much")
                if count >= _LONGEST:
                    raise UserError(
                        f"cannot read the trace {self.path}: line {line} is {count:,} cycles of "
                        f"{self.said(round(period))} after the first, and at most {_LONGEST:,} are "
                        "read; cut the table, or record a clock and name it with --clock")
                yield *held, count - before, ""
                before = count
            held = time, row
        if held is not None:
            yield *held, 1, ""


@contextlib.contextmanager
def _table_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (csv.Error, UnicodeDecodeError, OSError, ValueError) as error:
        raise UserError(f"cannot read the trace {path}: {error}") from None


def _rounded(numbers: np.ndarray, period: Fraction) -> np.ndarray:
    """So many periods, to the nearest whole number."""
    if int(numbers.max(initial=0)) * 2 * period.numerator + period.denominator >= 1 << 63:
        numbers = numbers.astype(object)
    twice = 2 * numbers * period.numerator + period.denominator
    return (twice // (2 * period.denominator)).astype(np.int64)


def _is_hex(text: str) -> bool:
    return bool(re.fullmatch(r"[0-9]*[a-f][0-9a-f]*", text.strip().replace("_", "").lower()))


def _number(text: str, radix: str = "") -> int | str | None:
    """A value of a table; a text where bits are unknown, None where it is empty.

    Raises ValueError for what is none.
    """
    word = text.strip().replace("_", "").lower()
    if not word:
        return None
    if word in ("true", "false"):
        return int(word == "true")
    if set(word) <= _UNKNOWN:
        return word[:1]
    if (found := _WRITTEN.fullmatch(word)) and not (radix == "hex" and found[2] in ("b", "o")):
        radix, word = _LETTERS[found[1] or found[2]], found[3]
    try:
        value = _digits(word, radix)
    except ValueError:
        raise ValueError(f"{shown(text)} is no whole number") from None
    if isinstance(value, int) and value.bit_length() > _WIDEST:
        raise ValueError(f"{shown(text)} is no whole number of up to {_WIDEST:,} bits")
    return value


def _digits(word: str, radix: str) -> int | str:
    bits = RADIXES.get(radix, 0)
    if not bits:
        if re.fullmatch(r"[+-]?[0-9]+", word):
            return int(word)
        if not radix and set(word) <= set("01xzuwhl-"):
            if len(word) > _WIDEST:
                raise ValueError
            return word  # of a signal of one bit, or bits in VHDL's and Verilog's letters
        raise ValueError
    if not set(word) & _UNKNOWN:
        return int(word, 1 << bits)
    if len(word) * bits > _WIDEST:
        raise ValueError
    return "".join("x" * bits if digit in _UNKNOWN else format(int(digit, 1 << bits), f"0{bits}b")
                   for digit in word)
