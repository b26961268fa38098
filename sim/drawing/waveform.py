"""A picture of a request: an SVG of the signals around it, from an FST or VCD file.

What a lane shows in cycle *n* is what a flip-flop would take at the end of that cycle: the value
just before the next rising edge. The band between the two marked lines is as wide as the request
took cycles, its first and its last included.
"""

import contextlib
import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from html import escape
from pathlib import Path
from typing import Protocol

import pywellen

from cyclebound.sim.base.errors import UserError, unknown
from cyclebound.tb.bench import PERIOD_NS

__all__ = ["SignalWindow", "Value", "render", "sample", "signals_of"]

Value = int | float | str | None  # a string has x or z bits; None: nothing is known yet

# all lengths in px
_ROW, _HIGH = 26, 15       # pitch of the lanes, height of a signal in its lane
_TOP = 44                  # above the lanes: the markers' names and the ruler
_CHAR, _PAD = 6.65, 10     # width of a character of the monospaced font; around everything
_BREAK = 46                # width of the gap that stands for the cycles left out
_SOME = 12                 # signals shown if none was chosen
_CELL = 18, 28, 66         # width of a cycle: the least, the usual, the greatest
_WIDE = 1180               # the cycles grow until the picture is so wide
_FEW = 20                  # of a request that does not fit, at least so many cycles are shown

_STYLE = """
.cb-wave{--i:#1f2a35;--m:#5b6875;--g:#e4e8ec;--s:#1b6390;--f:#1b639018;--b:#b7791f1f;\
--q:#17683f;--c:#a63a0c;--x:#b02a2a;font:11px ui-monospace,SFMono-Regular,Menlo,Consolas,\
"DejaVu Sans Mono",monospace}
@media (prefers-color-scheme:dark){.cb-wave{--i:#e3e8ed;--m:#9aa7b4;--g:#2b333c;--s:#74b9e6;\
--f:#74b9e622;--b:#e0a94624;--q:#6fce9c;--c:#f2946a;--x:#f08a8a}}
.cb-wave text{fill:var(--i)}.cb-wave .m{fill:var(--m)}.cb-wave .e{text-anchor:end}
.cb-wave .c{text-anchor:middle}.cb-wave .g{stroke:var(--g)}.cb-wave .band{fill:var(--b)}
.cb-wave .l{fill:none;stroke:var(--s);stroke-width:1.4}.cb-wave .f{fill:var(--f)}
.cb-wave .v{fill:var(--f);stroke:var(--s)}.cb-wave .n{fill:none;stroke:var(--s)}
.cb-wave .x{fill:none;stroke:var(--x)}.cb-wave text.x{fill:var(--x);stroke:none}
.cb-wave .q{stroke:var(--q);stroke-width:1.6}.cb-wave text.q{fill:var(--q);stroke:none}
.cb-wave .d{stroke:var(--c);stroke-width:1.6}.cb-wave text.d{fill:var(--c);stroke:none}
.cb-wave .q,.cb-wave .d,.cb-wave .h{font-weight:600}.cb-wave .w{fill:none;stroke:var(--m)}
"""


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Signals are read when they are first asked for; whatever is broken in them is a `UserError`.
    """
    try:
        yield
    except BaseException as error:  # a broken file is a panic, which is no Exception
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        said = " ".join(str(error).split())
        raise UserError(f"cannot read the waveform {path}: {said}") from None


class Variable(Protocol):
    """A signal as `pywellen` describes it."""

    @property
    def bitwidth(self) -> int | None: ...


class CycleTrace(Protocol):
    """Signals cycle by cycle, as `render` needs them."""

    @property
    def variables(self) -> Mapping[str, Variable]: ...

    def find(self, wanted: str) -> list[str]: ...

    def value(self, name: str, cycle: int) -> object: ...

    def holds(self, cycle: int) -> bool: ...


class _Trace:
    """A waveform file, read cycle by cycle."""

    def __init__(self, path: Path) -> None:
        if not Path(path).is_file():
            raise UserError(f"there is no waveform {path}")
        self._path = path
        with _reading(path):
            file = pywellen.Waveform(str(path))
            self.variables = {v.full_name: v for v in file.all_vars()
                              if not v.full_name.startswith("$")}
            exponent = file.timescale.unit.to_exponent()
            tick = file.timescale.factor * 10.0 ** ((exponent or 0) + 9)  # in ns
            self.period = round(PERIOD_NS / tick)
        if self.period < 4:
            raise UserError(f"the waveform {path} has a time step of {tick:g} ns; "
                            f"it must be at most {PERIOD_NS / 4} ns")
        self._clock = self.variables.get(next(
            (name for name in sorted(self.variables, key=len) if _leaf(name) == "clk"), ""))

    def find(self, wanted: str) -> list[str]:
        """The full names of what is wanted: a path, a unique bare name, or either with a ``*``."""
        if wanted.endswith("*"):
            names = [name for name in self.variables if "$" not in _leaf(name)
                     and any(fnmatchcase(name, start + wanted.replace("[", "[[]"))
                             and "." not in name[len(start) + len(wanted) - 1:]
                             for start in ("", "top."))]
            if names:
                return names
            raise unknown("signal", wanted.rstrip("*."), _short(self.variables))
        for name in (wanted, f"top.{wanted}"):
            if name in self.variables:
                return [name]
        names = [name for name in self.variables if name.endswith(f".{wanted}")]
        if not names:
            if near := [n for n in self.variables if _leaf(n) == _leaf(wanted)]:
                raise UserError(f"no signal {wanted!r}; did you mean {near[0]}?")
            raise unknown("signal", wanted, _short(self.variables))
        if len(names) > 1:
            raise UserError(f"signal {wanted!r} is ambiguous: {', '.join(sorted(names))}")
        return names

    def value(self, name: str, cycle: int) -> Value:
        """The value that a flip-flop samples at the end of the cycle."""
        with _reading(self._path):
            return self.variables[name].signal.value_at((cycle + 1) * self.period - 1)

    def holds(self, cycle: int) -> bool:
        """Whether the clock ticks in this cycle, so that it was simulated to its end."""
        if cycle < 0 or self._clock is None:
            return cycle >= 0
        with _reading(self._path):
            start, clock = cycle * self.period, self._clock.signal
            return (clock.value_at(start + self.period // 4)
                    != clock.value_at(start + self.period * 3 // 4))


def _leaf(name: str) -> str:
    return name.rpartition(".")[2]


def _short(names: Collection[str]) -> list[str]:
    """Names that a person might ask for: without those that tools made up."""
    return [name for name in names if "$" not in name] or list(names)


def signals_of(path: Path) -> list[str]:
    """The dotted paths of all signals in a waveform, in its order, without tools' own names."""
    return [name for name in _Trace(path).variables if "$" not in name]


def sample(path: Path, signals: Sequence[str], first: int, last: int) -> dict[str, list[Value]]:
    """Full name of each signal -> its values at the ends of the cycles ``first`` to ``last``."""
    trace = _Trace(path)
    return {name: [trace.value(name, cycle) for cycle in range(first, last + 1)]
            for wanted in signals for name in trace.find(wanted)}


@dataclass(frozen=True)
class _Axis:
    """The horizontal position of each cycle: one or two runs of cycles, with a gap between."""

    runs: tuple[range, ...]
    left: float
    cell: float

    def x(self, cycle: int) -> float:
        """The left edge of a cycle that is shown; that of the cycle after ends the last one."""
        at = self.left
        for run in self.runs:
            if run.start <= cycle < run.stop or run is self.runs[-1]:
                return at + (cycle - run.start) * self.cell
            at += len(run) * self.cell + _BREAK
        raise ValueError(f"cycle {cycle} is not shown")

    @property
    def right(self) -> float:
        return self.x(self.runs[-1].stop)


def render(path: Path | str | CycleTrace, signals: Sequence[str], first: int, last: int, *,
           margin: int = 4, title: str = "", max_cycles: int = 48) -> str:
    """An SVG of ``signals`` from the cycle ``first`` of a request to its ``last``.

    Parameters
    ----------
    path : Path or object
        FST or VCD, written with the clock of `cyclebound.tb.bench`. Or what has ``variables`` with
        their ``bitwidth``, ``find(name)``, ``value(name, cycle)`` and ``holds(cycle)``.
    signals : sequence of str
        Dotted paths, with or without ``top.``; a bare name if it is unique; or the beginning of
        one, with ``*`` for the rest (within one module). Raises `UserError` for any other.
        If there are none, the first few of the block itself.
    margin : int
        Cycles shown before and after the request.
    title : str
        What the picture shows, for those who do not see it.
    max_cycles : int
        The most that is shown; of a longer request, its beginning and its end.
    """
    if not 0 <= first <= last:
        raise ValueError(f"Cycles must be 0 <= first <= last, not {first!r} and {last!r}")
    trace = _Trace(Path(path)) if isinstance(path, str | Path) else path
    names, whole = _around(trace, path, signals, first, last, margin)
    start, stop = whole.start, whole.stop
    runs: tuple[range, ...] = (whole,)
    labels = _labels(trace, names)
    left = _PAD + min(max(len(name) + len(bits) for name, bits in labels), 38) * _CHAR + 12
    room = _WIDE - left - _BREAK - _PAD
    lanes = _lanes(trace, names, runs)
    # of what does not fit, fewer cycles still if their values would find no room
    shown = min(max_cycles, max(_FEW, int(room / _need(trace, lanes))))
    half = max(margin + 1, shown // 2)
    if stop - start > max(max_cycles, 2 * half):
        runs = range(start, start + half), range(stop - half, stop)
        lanes = _lanes(trace, names, runs)
    widest = room / sum(map(len, runs))
    axis = _Axis(runs, left, max(_CELL[0], min(max(_CELL[1], _need(trace, lanes)), widest)))
    title = title or f"request from cycle {first} to cycle {last}"
    return "".join(_picture(axis, lanes, labels, first, last, title))


def _around(trace: CycleTrace, path: object, signals: Sequence[str], first: int, last: int,
            margin: int) -> tuple[list[str], range]:
    """The full names of the signals, and the cycles of the request with those around it."""
    names = list(dict.fromkeys(name for wanted in signals or ("top.dut.*",)
                               for name in trace.find(wanted)))
    if not signals:
        names = [name for name in names if _leaf(name) not in ("clk", "rst")][:_SOME]
    if not names:
        raise UserError("no signals to draw; name at least one")
    if not trace.holds(last):
        raise UserError(f"the waveform {path} ends before cycle {last}")
    start, stop = max(0, first - margin), last + 1
    while stop < last + 1 + margin and trace.holds(stop):
        stop += 1
    return names, range(start, stop)


@dataclass(frozen=True)
class SignalWindow:
    """A request in a waveform file, for other pictures than `render`'s.

    Attributes
    ----------
    signals : list of (path, name, bits, width)
        As labels have them: ``top.dut.grant``, ``grant``, ``[3:0]``, 4.
    cycles : range
        The request's and those around it.
    ticks : int
        Time steps of the file in a cycle.
    """

    signals: list[tuple[str, str, str, int]]
    cycles: range
    ticks: int
    trace: _Trace

    @classmethod
    def of(cls, path: Path, signals: Sequence[str], first: int, last: int,
           margin: int) -> "SignalWindow":
        """Select the signals and cycles of a trace to draw. Arguments and errors as of `render`."""
        trace = _Trace(path)
        names, cycles = _around(trace, path, signals, first, last, margin)
        return cls([(name, *label, trace.variables[name].bitwidth or 1)
                    for name, label in zip(names, _labels(trace, names), strict=True)],
                   cycles, trace.period, trace)

    def changes(self, path: str, cycles: range) -> list[tuple[int, object]]:
        """The cycles in which the signal has a value that it had not in the one before."""
        return [(start, value) for start, _, value in _segments(self.trace, path, cycles)]


def _lanes(trace: CycleTrace, names: list[str], runs: tuple[range, ...]) -> list:
    return [(name, [_segments(trace, name, run) for run in runs]) for name in names]


def _segments(trace: CycleTrace, name: str, run: range) -> list[tuple[int, int, object]]:
    """Stretches of equal values, each with the cycle it begins in and the one after its end."""
    segments: list[tuple[int, int, object]] = []
    for cycle in run:
        value = trace.value(name, cycle)
        if segments and segments[-1][2] == value:
            segments[-1] = segments[-1][0], cycle + 1, value
        else:
            segments.append((cycle, cycle + 1, value))
    return segments


def _labels(trace: CycleTrace, names: list[str]) -> list[tuple[str, str]]:
    """Each signal's name, without the path that all share, and its bits."""
    paths = [name.split(".") for name in names]
    shared = 0
    while all(len(path) > shared + 1 and path[shared] == paths[0][shared] for path in paths):
        shared += 1
    labels = []
    for name, path in zip(names, paths, strict=True):
        width, text = trace.variables[name].bitwidth, ".".join(path[shared:])
        bits = f"[{width - 1}:0]" if width and width > 1 else ""
        room = 38 - len(bits)
        labels.append((text if len(text) <= room else "…" + text[1 - room:], bits))
    return labels


def _text(value: object, width: int | None) -> str:
    """Narrow values in decimal, wide ones in hexadecimal."""
    if isinstance(value, int):
        return str(value) if not width or width <= 4 else f"{value:x}"
    if isinstance(value, str) and len(set(value)) == 1 and len(value) > 1:
        return value[0]  # all x, or all z
    return "?" if value is None else str(value)


def _need(trace: CycleTrace, lanes: list) -> float:
    """A width of cycles at which every value finds room, if that is possible."""
    need = max((len(_text(value, trace.variables[name].bitwidth)) * _CHAR + 8) / (stop - start)
               for name, runs in lanes for run in runs for start, stop, value in run)
    return min(need, _CELL[2])


def _picture(axis: _Axis, lanes: list, labels: list, first: int, last: int,
             title: str) -> Iterator[str]:
    broken = len(axis.runs) > 1
    bottom = _TOP + len(lanes) * _ROW
    begin, end = axis.x(first), axis.x(last) + axis.cell
    inside = end - begin > 250
    words = f"request: cycle {first}", f"completion: cycle {last}"
    width = math.ceil(max(axis.right, 0 if inside else end + len(words[1]) * _CHAR + 8) + _PAD)
    height = bottom + (24 if broken else 8)
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" class="cb-wave" role="img" width="{width}" '
           f'height="{height}" viewBox="0 0 {width} {height}" aria-label="{escape(title)}">'
           f"<title>{escape(title)}</title><style>{_STYLE}</style>")
    yield (f'<rect class="band" x="{_n(begin)}" y="{_TOP - 4}" width="{_n(end - begin)}" '
           f'height="{bottom - _TOP + 4}"/>')
    yield from _ruler(axis, first, last, bottom)
    for row, ((name, runs), (text, bits)) in enumerate(zip(lanes, labels, strict=True)):
        top = _TOP + row * _ROW + (_ROW - _HIGH) / 2
        yield (f'<text class="e" x="{_n(axis.left - 12)}" y="{_n(top + 11.5)}">{escape(text)}'
               f'<tspan class="m">{bits}</tspan><title>{escape(name)}</title></text>')
        for run in runs:
            if bits:
                yield from _bus(axis, run, top, name, int(bits[1:-3]) + 1, (begin, end))
            elif _leaf(name) == "clk":
                yield _clock(axis, range(run[0][0], run[-1][1]), top)
            else:
                yield from _level(axis, run, top)
    yield from _markers(begin, end, bottom, words, inside)
    if broken:
        yield from _gap(axis, bottom)
    yield "</svg>\n"


def _ruler(axis: _Axis, first: int, last: int, bottom: float) -> Iterator[str]:
    """A line for each cycle, and the numbers that have room; those of the markers always."""
    digits = len(str(axis.runs[-1].stop))
    step = next(s for s in (1, 2, 5, 10, 20, 50) if s * axis.cell > digits * _CHAR + 6)
    lines = [axis.x(c) for run in axis.runs for c in run]
    lines += [axis.x(run.stop - 1) + axis.cell for run in axis.runs]
    yield f'<path class="g" d="{"".join(f"M{_n(x)} {_TOP - 4}V{bottom}" for x in lines)}"/>'
    marked = {first, last}
    if abs(axis.x(last) - axis.x(first)) < digits * _CHAR + 4:
        marked = {first}
    for run in axis.runs:
        for cycle in run:
            near = any(abs(axis.x(cycle) - axis.x(m)) < digits * _CHAR + 4 for m in marked)
            if cycle in marked or (cycle % step == 0 and not near):
                kind = "c h" if cycle in marked else "c m"
                yield (f'<text class="{kind}" x="{_n(axis.x(cycle) + axis.cell / 2)}" '
                       f'y="{_TOP - 9}">{cycle}</text>')


def _clock(axis: _Axis, run: range, top: float) -> str:
    """The clock itself, which has no one value in a cycle: high, then low."""
    half, low = axis.cell / 2, _n(top + _HIGH)
    pulses = "".join(f"V{_n(top)}H{_n(axis.x(c) + half)}V{low}H{_n(axis.x(c) + 2 * half)}"
                     for c in run)
    return f'<path class="l" d="M{_n(axis.x(run.start))} {low}{pulses}"/>'


def _level(axis: _Axis, run: list, top: float) -> Iterator[str]:
    """A signal of one bit: a line, high or low, with its high time filled."""
    low, line = top + _HIGH, ""
    for start, stop, value in run:
        x0, x1 = axis.x(start), axis.x(stop - 1) + axis.cell
        if value not in (0, 1):
            yield from _unknown(x0, x1, top, value)
            line += f"M{_n(x1)} {_n(low)}"
            continue
        y = top if value else low
        line += f"{'V' if line else f'M{_n(x0)} '}{_n(y)}H{_n(x1)}"
        if value:
            yield (f'<rect class="f" x="{_n(x0)}" y="{_n(top)}" width="{_n(x1 - x0)}" '
                   f'height="{_HIGH}"/>')
    yield f'<path class="l" d="{line}"/>' if line else ""


def _bus(axis: _Axis, run: list, top: float, name: str, width: int,
         lines: tuple[float, float]) -> Iterator[str]:
    """A signal of many bits: a hexagon for each stretch of one value; no line crosses its text."""
    low, middle = top + _HIGH, top + _HIGH / 2
    for start, stop, value in run:
        x0, x1 = axis.x(start), axis.x(stop - 1) + axis.cell
        if not isinstance(value, int):
            yield from _unknown(x0, x1, top, value)
            continue
        cuts = [x0, *(x for x in lines if x0 < x < x1), x1]
        text = _text(value, width)
        need = len(text) * _CHAR + 7
        at, end = max(itertools.pairwise(cuts), key=lambda piece: (  # best within the request
            min(piece[1] - piece[0], need), lines[0] <= piece[0] < lines[1], piece[1] - piece[0]))
        room = int((end - at - 7) / _CHAR)
        cycles = f"cycle {start}" if stop == start + 1 else f"cycles {start} to {stop - 1}"
        yield (f'<g><title>{escape(name)} = 0x{value:x} ({value}), {cycles}</title>'
               f'<path class="{"v" if value else "n"}" d="M{_n(x0)} {_n(middle)}L{_n(x0 + 3)} '
               f'{_n(top)}H{_n(x1 - 3)}L{_n(x1)} {_n(middle)}L{_n(x1 - 3)} {_n(low)}'
               f'H{_n(x0 + 3)}Z"/>')
        if len(text) > room:
            text = text[:room - 1] + "…" if room > 2 else ""
        kind = "c" if value else "c m"
        yield (f'<text class="{kind}" x="{_n((at + end) / 2)}" y="{_n(top + 11.5)}">{text}</text>'
               if text else "") + "</g>"


def _unknown(x0: float, x1: float, top: float, value: Value) -> Iterator[str]:
    text = _text(value, None)
    room = int((x1 - x0 - 6) / _CHAR)
    if len(text) > room:
        text = text[:room - 1] + "…" if room > 2 else "x"
    yield (f'<rect class="x" x="{_n(x0 + 1)}" y="{_n(top)}" width="{_n(x1 - x0 - 2)}" '
           f'height="{_HIGH}"/><text class="c x" x="{_n((x0 + x1) / 2)}" '
           f'y="{_n(top + 11.5)}">{escape(text)}</text>')


def _markers(begin: float, end: float, bottom: float, words: tuple[str, str],
             inside: bool) -> Iterator[str]:
    """The request's two lines: before its first cycle, and after its last."""
    for x, kind, word, left in ((begin, "q", words[0], not inside), (end, "d", words[1], inside)):
        yield (f'<path class="{kind}" d="M{_n(x)} 4V{bottom}"/><text class="{kind}'
               f'{" e" if left else ""}" x="{_n(x + (-6 if left else 6))}" y="14">{word}</text>')


def _gap(axis: _Axis, bottom: int) -> Iterator[str]:
    """Two torn edges, and how many cycles lie between them."""
    x0 = axis.x(axis.runs[0].stop - 1) + axis.cell
    count = axis.runs[1].start - axis.runs[0].stop
    for x in (x0 + 8, x0 + _BREAK - 8):
        waves = "".join(f"q{4 if i % 2 else -4} 4 0 8" for i in range((bottom - _TOP + 8) // 8))
        yield f'<path class="w" d="M{_n(x)} {_TOP - 6}{waves}"/>'
    yield (f'<text class="c m" x="{_n(x0 + _BREAK / 2)}" y="{bottom + 17}">{count:,} '
           f'cycle{"s" * (count > 1)} left out</text>')


def _n(length: float) -> str:
    return f"{length:.1f}".removesuffix(".0")
