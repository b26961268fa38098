"""Recorded signals, cycle by cycle: any FST or VCD file, or CSV.

A cycle ends with a rising edge of the clock, and a signal has in it the value just before that
edge: what a flip-flop would take. Cycle 0 is that before the first edge. Files are streamed: memory
does not grow with the number of cycles.
"""

import contextlib
import difflib
import itertools
import json
import os
import re
import select
import shlex
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from amaranth.hdl import Signal

from cyclebound.sim.base.errors import UserError
from cyclebound.tb.expression import Step
from cyclebound.tb.requests import CLOCKS
from cyclebound.tb.sampled import Chunk, Lane, Part, column
from cyclebound.tb.time_units import EXPONENTS

_Values = np.ndarray | Sequence[int | str | None]

__all__ = ["EVERY", "EVERY_STEP", "Gaps", "Trace", "Waveform"]

EVERY_STEP = "every-step"
"""In place of a clock: each step of time is a cycle, each line of a CSV file."""
EVERY = re.compile(r"every\s*(\d+(?:\.\d+)?(?:/\d+)?)\s*(s|ms|us|ns|ps)?", re.ASCII)
"""In place of a clock of a CSV file: how long a cycle is."""

_PATIENCE = 120.0  # seconds in which a reader has to make some progress
_WIDEST = 1 << 16  # bits of a signal that an expression reads
_FITS = 63
_STEPS = 1 << 15  # of time, in a chunk
_USUAL, _LEAP = 8, 1.5  # periods of a clock that say how long it is; how much longer leaps


class Trace(ABC):
    """The signals of a file, and their values in each cycle.

    Attributes
    ----------
    widths : dict of str to int
        The full names of all signals that hold whole numbers.
    unit : str
        Of times, such as ``1 ns``; empty where the file has none.
    changes : int
        Changes of watched signals that have been read.
    """

    unit = ""
    changes = 0

    def __init__(self, path: Path, widths: dict[str, int]) -> None:
        self.path, self.widths = path, widths
        self._named: dict[int, dict[tuple[str, ...], list[str]]] = {}  # see `_called`
        self.aliases: dict[str, str] = {}  # names that the user gives
        self.scope = ""

    @abstractmethod
    def chunks(self, clock: str, names: Iterable[str], *, stops: bool = False) -> Iterator[Chunk]:
        """The values of these signals, cycle by cycle.

        ``stops``: the clock stops on purpose, and where it does, the record has no gap.
        """

    def said(self, time: int) -> str:
        """A time with its unit, if the file has one."""
        number, _, name = self.unit.partition(" ")
        return f"{time * int(number):,} {name}" if name else f"{time:,}"

    def nothing(self, clock: str) -> str:
        """Why it has no cycle."""
        return f"the clock {clock} never rises" if clock else "it has no cycle"

    def same(self, names: Sequence[str]) -> bool:
        """Whether all these names are one signal."""
        return len(names) == 1

    def clock(self, named: str = "") -> str:
        """The full name of the clock: as it is named, or the outermost that is called like one."""
        if named[:1] in ("~", "!") and named[1:]:  # its negative edge
            return f"~{self.find_name(named[1:].strip())}"
        if EVERY.fullmatch(named) and named not in self.widths:
            raise UserError(f"--clock '{named}' is for CSV files, in which a line lasts until the "
                            f"next, and {self.path} is none: name the clock with --clock, or "
                            f"--clock {EVERY_STEP} if each step of time is a cycle")
        if named:
            return named if named == EVERY_STEP else self.find_name(named)
        clocks = sorted((name for name in self.widths if _steps(name)[-1].lower() in CLOCKS),
                        key=lambda name: len(_steps(name)))
        if not clocks:
            raise UserError(f"no signal of {self.path} is called {', '.join(CLOCKS[:3])} or the "
                            "like; name the clock with --clock")
        outermost = [name for name in clocks if len(_steps(name)) == len(_steps(clocks[0]))]
        if not self.same(outermost):
            raise UserError(f"{self.path} has several clocks: {', '.join(outermost[:5])}; name one "
                            "with --clock")
        return clocks[0]

    def find_name(self, wanted: str) -> str:
        """The full name of a signal, or of the only one with a path that ends so."""
        if wanted in self.widths:
            return wanted
        name = self._ending(_steps(wanted))
        if not name:
            raise self._unknown(wanted)
        return name

    def _unknown(self, wanted: str) -> UserError:
        """The error for a signal that is not there, with those that are called nearly so."""
        names: dict[str, list[str]] = {}
        for name in self.widths:
            if "$" not in name:
                names.setdefault(_steps(name)[-1], []).append(name)
        near = difflib.get_close_matches((_steps(wanted) or ("",))[-1], names, n=1, cutoff=0.5)
        some = names[near[0]] if near else [name for group in names.values() for name in group]
        more = f", and {len(some) - 5:,} more" if len(some) > 5 else ""
        hint = ("did you mean " + " or ".join(some[:5]) + more + "?" if near else
                f"there are {', '.join(some[:5]) or 'none'}{more}")
        if strange := next((name for name in some[:5] if re.search(r"[^\w.\[\]/:$]", name)), ""):
            hint += f"; --name a={shlex.quote(strange)} gives one a name for expressions"
        return UserError(f"no signal {wanted!r}; {hint}")

    def _called(self, steps: tuple[str, ...]) -> list[str]:
        """All signals with a path that ends so.

        Only ends of the lengths that are asked for are kept: all ends of a deep path would take the
        square of its length.
        """
        length = len(steps)
        if not length:
            return []
        if length not in self._named:
            named: dict[tuple[str, ...], list[str]] = {}
            self._named[length] = named
            for name in self.widths:
                path = _steps(name)
                if len(path) >= length:
                    named.setdefault(path[len(path) - length:], []).append(name)
        return self._named[length].get(steps, [])

    def _ending(self, steps: tuple[str, ...]) -> str:
        """The signal of which the path ends so; empty if there is none."""
        for start in (_steps(self.scope), ()) if self.scope else ((),):
            names = self._called((*start, *steps))
            if not names:
                continue
            whole = [name for name in names if _steps(name) == (*start, *steps)]
            names = whole or names
            if not self.same(names):
                raise LookupError(f"several signals are called so: {', '.join(names[:5])}; name "
                                  "more of the path, or its beginning with --scope")
            return names[0]
        return ""

    def find(self, path: tuple[Step, ...]) -> Part | list[Part]:
        """Resolve an expression's path to a signal, its width, and the steps that choose bits of
        it; a list of these where a step chooses several elements. Raises `LookupError`."""
        if isinstance(path[0], str) and path[0] in self.aliases:
            name = self.aliases[path[0]]
            return name, self.widths[name], path[1:]
        found: list[tuple[str, int]] = []  # a signal, and how many steps are its name
        for length in range(len(path), 0, -1):
            if any(isinstance(step, slice) for step in path[:length]) or (
                    found and any(isinstance(step, str) for step in path[length:])):
                continue
            if name := self._ending(tuple(map(str, path[:length]))):
                found.append((name, length))
        if found:
            name, length = self._only(path, found)
            if self.widths[name] > _WIDEST:
                raise LookupError(f"{name} has {self.widths[name]:,} bits, and an expression "
                                  f"reads at most {_WIDEST:,}")
            return name, self.widths[name], path[length:]
        choice = next(((n, step) for n, step in enumerate(path) if isinstance(step, slice)), None)
        if choice is not None:
            several, chosen = choice
            there = list(itertools.takewhile(lambda number: bool(
                self._called(tuple(map(str, (*path[:several], number, *path[several + 1:]))))
            ), range(4096)))
            parts: list[Part] = []
            for number in there[chosen]:
                part = self.find((*path[:several], number, *path[several + 1:]))
                parts += part if isinstance(part, list) else [part]
            if there:
                return parts
        wanted = ".".join(map(str, path))
        raise LookupError(str(self._unknown(wanted)))

    def _only(self, path: tuple[Step, ...], found: list[tuple[str, int]]) -> tuple[str, int]:
        """Of signals that ``grant[0]`` can mean, bit 0 of one and another one's whole, the only one
        that is not left open by a beginning that was left out. Raises `LookupError`."""
        for start in (_steps(self.scope), ()):
            for name, length in found:
                if _steps(name) == (*start, *map(str, path[:length])):
                    return name, length
        if len(found) > 1:
            names = [name if length == len(path) else f"bits of {name}" for name, length in found]
            raise LookupError(f"several signals are called so: {', '.join(names)}; name more of "
                              "the path, or its beginning with --scope")
        return found[0]

    def count(self, name: str) -> int:
        """Number of bits or elements of that name."""
        if full_name := self._ending(_steps(name)):
            return self.widths[full_name]
        steps = _steps(name)
        numbers = {path[end] for path in map(_steps, self.widths)
                   for end in range(len(steps), len(path)) if path[end - len(steps):end] == steps}
        many = next(many for many in itertools.count() if str(many) not in numbers)
        if not many:
            raise LookupError(str(self._unknown(name)))
        return many


def _steps(name: str) -> tuple[str, ...]:
    """A signal's path: ``top.ports[0]``, ``top.ports.0`` and ``top.ports__0`` are one."""
    for sign in ("__", "[", "/"):
        name = name.replace(sign, ".")
    return tuple(filter(None, name.replace("]", "").replace("\\", "").replace(" ", ".").split(".")))


class Waveform(Trace):
    """A waveform file, read by a process of its own."""

    def __init__(self, path: Path) -> None:
        self._said = tempfile.TemporaryFile()
        self._folder = tempfile.TemporaryDirectory()  # of the reader, which may be killed
        self._process = subprocess.Popen(
            [sys.executable, "-m", "cyclebound.sim.traces.reader", str(path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
                 "RAYON_NUM_THREADS": "2", "TMPDIR": self._folder.name, "RUST_BACKTRACE": "0"})
        assert self._process.stdin is not None  # both are pipes
        assert self._process.stdout is not None
        self._requests, self._answers = self._process.stdin, self._process.stdout
        self._buffer = bytearray()
        try:
            head = self._line(path)
            names: list[tuple[str, int]] = []
            ids: dict[str, tuple[int, str]] = {}
            for number, (name, width, key) in enumerate(head["signals"]):
                # else a real number, a text, an event, or what Verilator adds above the top
                if width and not name.startswith("$"):
                    names.append((name, width))
                    ids.setdefault(name, (number, key))
            self._ids = ids
            super().__init__(path, dict(names))
            factor, exponent = head["unit"]
            self.unit = _unit(factor, exponent)
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._requests, self._answers, self._said):
            with contextlib.suppress(OSError):
                stream.close()
        self._folder.cleanup()

    def same(self, names: Sequence[str]) -> bool:
        return len({self._ids[name][1] for name in names}) == 1

    def chunks(self, clock: str, names: Iterable[str], *, stops: bool = False) -> Iterator[Chunk]:
        every, falls = clock == EVERY_STEP, clock.startswith("~")
        clock = clock.removeprefix("~")
        names = list(dict.fromkeys([*[clock] * (not every), *names])) or list(self.widths)[:1]
        numbers = [*[None] * every, *(self._ids[name][0] for name in names)]
        self._requests.write(json.dumps(numbers).encode() + b"\n")
        self._requests.flush()
        steps = self._line(self.path)["steps"] if every else None
        sampler = _Sampler("" if every else self._ids[clock][1],
                           {name: (self._ids[name][1], self.widths[name]) for name in names},
                           Gaps(self.said, stops=stops), falls=falls)
        while True:
            head = self._line(self.path)
            if head.get("end"):
                break
            changes: dict[str, tuple[np.ndarray, _Values]] = {}
            for number, key in enumerate(head["order"]):
                times, values = (np.frombuffer(self._bytes(8 * length), dtype=np.int64)
                                 for length in head["lengths"][2 * number:2 * number + 2])
                changes[key] = times, head["wide"].get(key, values)
                self.changes += len(times)
            if steps is None:
                yield sampler.cycles(changes)
            else:
                yield from sampler.steps(changes, steps, head["until"])
        self._said.seek(0)
        if said := self._said.read(2000).decode(errors="replace").split("\n")[0].strip():
            # what the library skips would be missing from the verdict
            raise UserError(f"cannot read the trace {self.path}: {said}")

    def _line(self, path: Path) -> dict:
        while (end := self._buffer.find(b"\n")) < 0:
            self._more(path)
        message = json.loads(self._buffer[:end])
        del self._buffer[:end + 1]
        if "error" in message:
            raise UserError(f"cannot read the trace {path}: {message['error']}")
        return message

    def _bytes(self, length: int) -> bytes:
        while len(self._buffer) < length:
            self._more(self.path)
        taken = bytes(self._buffer[:length])
        del self._buffer[:length]
        return taken

    def _more(self, path: Path) -> None:
        pipe = self._answers.fileno()
        deadline = time.monotonic() + _PATIENCE
        while not select.select([pipe], [], [], 1.0)[0]:
            if time.monotonic() > deadline:
                raise UserError(f"cannot read the trace {path}: no progress in "
                                f"{_PATIENCE:g} seconds")
        if not (more := os.read(pipe, 1 << 20)):
            raise UserError(f"cannot read the trace {path}: it is broken, and the library that "
                            "reads it gave up")
        self._buffer += more


def _unit(factor: int, exponent: int | None) -> str:
    names = {number: name for name, number in EXPONENTS.items()}
    return f"{factor} {names[exponent]}" if exponent in names else ""


class _Sampler:
    """Samples signals: turns changes at times into values in cycles.

    Parameters
    ----------
    clock : str
        The key of the clock's changes.
    signals : dict of str to (key, width)
        By full name, whose changes are whose.
    gaps : Gaps
        Finds where the clock was not recorded.
    falls : bool
        A cycle ends where the clock falls.
    """

    def __init__(self, clock: str, signals: dict[str, tuple[str, int]], gaps: "Gaps", *,
                 falls: bool = False) -> None:
        self._level = int(not falls)  # of the clock after an edge that ends a cycle
        self._clock, self._signals, self._gaps = clock, signals, gaps
        self._known = False  # the clock has been
        self._edge: int | None = None  # the latest
        self._last: dict[str, object] = {}  # the value of each at the end of the last chunk
        self._cycle = 0

    def cycles(self, changes: dict[str, tuple[np.ndarray, _Values]]) -> Chunk:
        """The cycles that end within these changes, which are all until some time."""
        edges, unknown = self._edges(*changes[self._clock])
        chunk = self._chunk(changes, edges, "left", self._gaps.among(edges, unknown))
        self._keep(changes)
        return chunk

    def steps(self, changes: dict[str, tuple[np.ndarray, _Values]], steps: list[int],
              until: int | None) -> Iterator[Chunk]:
        """The cycles of these changes where each step of time (the first, how long, the last) is
        one: its value is that after the changes at its time."""
        first, step, last = steps
        end = min(last + 1, last + 1 if until is None else until)
        count = max(0, -(-(end - first) // step))
        while self._cycle < count:
            times = first + step * np.arange(self._cycle, min(count, self._cycle + _STEPS))
            yield self._chunk(changes, times, "right", {})
        self._keep(changes)

    def _chunk(self, changes: dict[str, tuple[np.ndarray, _Values]], edges: np.ndarray,
               side: Literal["left", "right"], gaps: dict[int, str]) -> Chunk:
        lanes = {name: self._sampled(*changes[key], edges, width, self._last.get(key), side)
                 for name, (key, width) in self._signals.items()}
        chunk = Chunk(self._cycle, lanes, edges, gaps, self._edge)
        self._edge = int(edges[-1]) if len(edges) else self._edge
        self._cycle += len(edges)
        return chunk

    def _keep(self, changes: dict[str, tuple[np.ndarray, _Values]]) -> None:
        for key, (_, values) in changes.items():
            if len(values):
                self._last[key] = values[-1]

    def _edges(self, times: np.ndarray, values: _Values) -> tuple[np.ndarray, np.ndarray]:
        """The times at which the clock rises, and those from which on it is unknown again.

        It rises where it is 1 and had another value before; x after it has been known is where the
        record stops, so that nothing rises from there.
        """
        if not len(times):
            return times, times
        if isinstance(values, np.ndarray):
            high, unknown = values == self._level, np.zeros(len(times), bool)
        else:
            high = np.array([value == self._level for value in values], dtype=bool)
            unknown = np.array([not isinstance(value, int) for value in values], dtype=bool)
        final = np.append(times[1:] != times[:-1], True)  # of several changes at a time
        times, high, unknown = times[final], high[final], unknown[final]
        # without a value before this chunk, there is nothing that it could have risen from
        last = self._last.get(self._clock, self._level)
        stopped = self._known and not isinstance(last, int | np.integer)
        if not self._known:
            known = np.logical_or.accumulate(~unknown)
            unknown, self._known = unknown & known, bool(known[-1])
        before = np.concatenate(([last == self._level or stopped], (high | unknown)[:-1]))
        return times[high & ~before], times[unknown]

    def _sampled(self, times: np.ndarray, values: _Values, edges: np.ndarray, width: int,
                 last: object, side: Literal["left", "right"]) -> Lane:
        at = np.searchsorted(times, edges, side=side)  # changes before each edge
        if isinstance(values, np.ndarray) and width <= _FITS and isinstance(
                last, int | np.integer):
            history = np.concatenate((np.array([last], dtype=np.int64), values))
            return Lane(history[at], Signal(width))
        lane = column([int(value) if isinstance(value, int | np.integer) else value
                       for value in (last, *values)], width)
        return Lane(lane.values[at], Signal(width),
                    None if lane.unknown is None else lane.unknown[at])


class Gaps:
    """Finds the cycles of which a record misses a part.

    That is where the clock has been x or z, or where its period is more than half as long again
    as it usually is: as the middle one of the eight before. The first period says nothing.

    Parameters
    ----------
    said : callable
        A time, in words.
    stops : bool
        The clock stops on purpose: only x and z are a gap.
    """

    def __init__(self, said: Callable[[int], str], *, stops: bool = False) -> None:
        self._said, self._stops = said, stops
        self._periods = np.zeros(0)  # the latest
        self._edge: int | None = None
        self._unknown: int | None = None  # since when

    def among(self, edges: np.ndarray, unknown: np.ndarray) -> dict[int, str]:
        """The gaps, by the number of the edge that ends each, with their places.

        ``unknown``: times from which on the clock is unknown.
        """
        found: dict[int, str] = {}
        if self._unknown is not None:
            unknown = np.concatenate(([self._unknown], unknown))
        after = np.searchsorted(edges, unknown, side="right")
        for at, since in zip(after.tolist(), unknown.tolist(), strict=True):
            if at < len(edges):
                found.setdefault(at, f"from {self._said(since)} to {self._said(int(edges[at]))}: "
                                     "the clock is unknown (x or z)")
        self._unknown = next((since for at, since in zip(after.tolist(), unknown.tolist(),
                                                       strict=True) if at == len(edges)), None)
        if len(edges) and not self._stops:
            self._leaps(edges, found)
        if len(edges):
            self._edge = int(edges[-1])
        return found

    def _leaps(self, edges: np.ndarray, found: dict[int, str]) -> None:
        before = [] if self._edge is None else [self._edge]
        times = np.concatenate((np.array(before, dtype=np.int64), edges))
        fresh, kept = np.diff(times), len(self._periods)
        periods = np.concatenate((self._periods, fresh))
        self._periods = periods[-_USUAL:]
        if len(periods) < 2 or periods.max() <= _LEAP * periods.min():
            return
        usual = np.full(len(periods), np.inf)
        for number in range(1, min(_USUAL, len(periods))):
            usual[number] = np.sort(periods[:number])[(number - 1) // 2]
        if len(periods) > _USUAL:
            windows = np.lib.stride_tricks.sliding_window_view(periods[:-1], _USUAL)
            usual[_USUAL:] = np.sort(windows, axis=1)[:, (_USUAL - 1) // 2]
        skipped = len(edges) - len(fresh)
        for number in np.flatnonzero((periods > _LEAP * usual)[kept:]).tolist():
            found.setdefault(
                number + skipped, f"from {self._said(int(times[number]))} to "
                f"{self._said(int(times[number + 1]))}: the clock does not rise, and usually does "
                f"every {self._said(int(usual[kept + number]))}")
