"""Latencies of requests against a bound: the verdict, the ratios, and the tightest request.

Used for recorded waveforms and foreign testbenches (`cyclebound check`, `BoundMonitor`). A
regression of the catalogue's blocks uses `cyclebound.sim.judge.verdict`, which also has proofs and
exhaustive runs.
"""

import math
import statistics
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Generic, TypeVar

import numpy as np
from rich.table import Table
from rich.text import Text

from cyclebound.golden.bound import Bound, NotCovered
from cyclebound.tb.requests import EndedRequests

__all__ = ["Finding", "Standing", "Tally", "histogram_lines", "misnamed", "ratio", "standing",
           "table"]

Key = TypeVar("Key", bound=Hashable)
_BARS, _ROWS = 40, 16  # of a histogram: characters of the longest bar, most rows


@dataclass
class Finding:
    """The verdict of a tally on one bound.

    Attributes
    ----------
    verdict : str
        ``exact`` (for each kind of request the worst equals the bound), ``held``, ``violated``;
        of a prediction ``right`` or ``wrong``; ``not covered`` (a request was seen to which
        the bound does not apply), ``unobserved`` (there was no request), ``unclear`` (the signals
        do not form a sequence of requests, and none of the requests until then broke the bound).
    worst, allowed, parameters, first, last, times
        The request that took longest, or breaks its bound most: latency, bound, parameters, its
        first and last cycle, and when they ended.
    tightest : dict
        These fields of the request that comes closest to its bound, with ``latency`` for ``worst``:
        often, but not always, it is the same request.
    ratios : list of float
        Of the worst of each kind to its bound: loosest, median, tightest.
    histogram : list of (latency, count)
        Of all requests.
    """

    name: str
    bound: str
    formula: str
    kind: str
    verdict: str = "unobserved"
    requests: int = 0
    kinds: int = 0
    kinds_reached: int = 0
    ratios: list = field(default_factory=list)
    worst: int | None = None
    allowed: int | None = None
    parameters: dict = field(default_factory=dict)
    first: int = 0
    last: int = 0
    times: list = field(default_factory=list)
    tightest: dict = field(default_factory=dict)
    unfinished: int = 0
    histogram: list = field(default_factory=list)
    detail: str = ""

    @property
    def failed(self) -> bool:
        return self.verdict not in ("exact", "held", "right")

    def as_dict(self) -> dict[str, object]:
        """The verdict as plain data for JSON."""
        return {**asdict(self), "failed": self.failed}


@dataclass(frozen=True)
class Standing(Generic[Key]):
    """The worst requests of some kinds, compared with their bounds.

    Attributes
    ----------
    verdict : str
        ``exact`` (for each kind, the worst equals the bound), ``held`` or ``violated``; of a
        prediction ``right`` or ``wrong``.
    kinds, reached : int
        Kinds, and those whose worst equals the bound.
    ratios : list of float
        Worst over bound: loosest, median, tightest.
    closest : object
        The kind that comes closest to its bound, or breaks it most; of a prediction, one for which
        it is wrong, if there is any.
    """

    verdict: str
    kinds: int
    reached: int
    ratios: list[float]
    closest: Key


def standing(pairs: Mapping[Key, tuple[int, int]], claim: str, *,
             tie: Callable[[Key], bool] = lambda kind: False) -> Standing[Key]:
    """The verdict of one claim over at least one kind of request.

    Parameters
    ----------
    pairs : mapping
        Of each kind the worst latency, and what is allowed.
    claim : str
        Kind of the claim: ``bound``, ``prediction`` or ``rate``.
    tie : callable
        Whether a kind is to be preferred where two come equally close.
    """
    predicted = claim == "prediction"
    reached = sum(worst == allowed for worst, allowed in pairs.values())
    ratios = [ratio(*pair) for pair in pairs.values()]
    closest = max(pairs, key=lambda kind: (predicted and pairs[kind][0] != pairs[kind][1],
                                           ratio(*pairs[kind]), pairs[kind][0], tie(kind)))
    if predicted:
        verdict = "right" if reached == len(pairs) else "wrong"
    elif any(worst > allowed for worst, allowed in pairs.values()):
        verdict = "violated"
    else:
        verdict = "exact" if reached == len(pairs) else "held"
    return Standing(verdict, len(pairs), reached, [
        round(value, 4) for value in (min(ratios), statistics.median(ratios), max(ratios))],
        closest)


def ratio(latency: int, allowed: int) -> float:
    """Latency over bound, also where nothing at all is allowed."""
    if allowed > 0:
        return latency / allowed
    return math.inf if latency > allowed else 1.0


_Witness = tuple[int, int, int, list[int]]  # latency, first and last cycle, when they ended


@dataclass
class _Kind:
    """Requests with equal parameters: a histogram of latencies, and one of the longest."""

    counts: dict[int, int] = field(default_factory=dict)
    worst: _Witness | None = None
    least: _Witness | None = None  # the shortest
    unended: _Witness | None = None


def misnamed(claim: Bound, fixed: Mapping[str, int], request: Iterable[str], read: set[str],
             options: tuple[str, str]) -> str:
    """What is wrong with the names of parameters; empty if nothing is.

    ``read``: those of ``fixed`` that an expression has. ``options``: what the user calls ``fixed``
    and ``request``. A name that nothing reads is one that was meant to be another.
    """
    if twice := sorted(fixed.keys() & set(request)):
        return f"{twice[0]} is given in {options[0]} and in {options[1]}"
    if unread := sorted(fixed.keys() - set(claim.parameters) - read):
        known = ", ".join(claim.parameters) or "none"
        return (f"{options[0]} {unread[0]} is read by no expression, and the parameters of bound "
                f"{claim.name} are: {known}")
    return ""


class Tally:
    """Collects requests, and judges them.

    Parameters
    ----------
    name : str
        What the requests are called.
    bound : Bound
        The claim: a bound or a prediction.
    fixed : mapping
        Arguments of the bound that are the same for all requests.
    names : sequence of str
        The arguments that differ from request to request, in the order of
        `EndedRequests.parameters`.
    unit : str
        What latencies count.
    scale : tuple of int
        The bound times the first of these numbers, divided by the second, is in that unit.
    """

    def __init__(self, name: str, bound: Bound, fixed: Mapping[str, int],
                 names: Iterable[str] = (), *, unit: str = "cycles",
                 scale: tuple[int, int] = (1, 1)) -> None:
        self._unit, self._scale = unit, scale
        self.name, self.bound, self.fixed, self.names = name, bound, dict(fixed), tuple(names)
        self._kinds: dict[tuple[int, ...], _Kind] = {}
        self._unfinished = self._cut_off = 0

    def add(self, seen: EndedRequests) -> None:
        """Add these requests to the tally."""
        if not len(seen.latency):
            return
        if seen.cut_off:
            self._cut_off += len(seen.latency)
        elif not seen.ended:
            self._unfinished += len(seen.latency)
        distinct: dict[tuple[int, ...], list[int] | np.ndarray | slice] = {}
        if seen.parameters.shape[1]:
            if seen.parameters.dtype == object:
                places: dict[tuple[int, ...], list[int]] = {}
                for at, row in enumerate(seen.parameters.tolist()):
                    places.setdefault(tuple(row), []).append(at)
                distinct.update(places)
            else:
                rows, inverse = np.unique(seen.parameters, axis=0, return_inverse=True)
                order = np.argsort(inverse.ravel(), kind="stable")
                ends = np.cumsum(np.bincount(inverse.ravel(), minlength=len(rows)))
                distinct = {tuple(row): part for row, part in zip(
                    rows.tolist(), np.split(order, ends[:-1]), strict=True)}
        else:
            distinct = {(): slice(None)}
        for parameters, which in distinct.items():
            self._add(self._kinds.setdefault(parameters, _Kind()), seen, which)

    def _add(self, kind: _Kind, seen: EndedRequests, which: list[int] | np.ndarray | slice) -> None:
        latency = seen.latency[which]
        longest, shortest = int(np.argmax(latency)), int(np.argmin(latency))

        def witness(at: int) -> _Witness:
            return (int(latency[at]), int(seen.first[which][at]), int(seen.last[which][at]),
                    seen.times[which][at].tolist())

        if not seen.ended:
            if kind.unended is None or latency[longest] > kind.unended[0]:
                kind.unended = witness(longest)
            return
        for value, count in zip(*np.unique(latency, return_counts=True), strict=True):
            kind.counts[int(value)] = kind.counts.get(int(value), 0) + int(count)
        if kind.worst is None or latency[longest] > kind.worst[0]:
            kind.worst = witness(longest)
        if kind.least is None or latency[shortest] < kind.least[0]:
            kind.least = witness(shortest)

    def allowed(self, parameters: tuple[int, ...]) -> int:
        """The bound for such a request. Raises `NotCovered`, or what a user's formula raises."""
        value = self.bound.of({**self.fixed, **dict(zip(self.names, parameters, strict=True))})
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise TypeError(f"bound {self.bound.name} gives {value!r}, no whole number of cycles")
        return int(value) * self._scale[0] // self._scale[1]

    def finding(self, problems: Iterable[str] = ()) -> Finding:
        """The verdict; ``problems`` say why there can be none."""
        row = Finding(self.name, self.bound.name, self.bound.formula, self.bound.kind,
                      unfinished=self._unfinished)
        for kind in self._kinds.values():
            for latency, count in kind.counts.items():
                row.requests += count
                row.histogram.append((latency, count))
        merged: dict[int, int] = {}
        for latency, count in row.histogram:
            merged[latency] = merged.get(latency, 0) + count
        row.histogram = sorted(merged.items())
        self._judge(row)
        if row.worst is not None and row.allowed is not None:
            row.tightest = {"latency": row.worst, **{name: getattr(row, name) for name in (
                "allowed", "parameters", "first", "last", "times")}}
        if row.verdict in ("exact", "held", "right"):
            self._show_longest(row)
        if (problems := list(problems)) and row.verdict not in ("violated", "wrong"):
            row.verdict, row.detail = "unclear", problems[0]
        return row

    def _judge(self, row: Finding) -> None:
        shown: dict[tuple[int, ...], tuple[int, _Witness]] = {}  # bound, witness of the worst
        for parameters, kind in self._kinds.items():
            try:
                allowed = self.allowed(parameters)
            except Exception as error:  # NotCovered, or a mistake in the user's formula
                example = kind.worst or kind.unended
                assert example is not None  # a kind has a request
                self._show(row, parameters, example, None)
                why = str(error) if isinstance(error, NotCovered) else repr(error)
                row.verdict = "not covered"
                row.detail = (f"{self.bound.name} does not cover "
                              f"{_words(row.parameters) or 'any request'}: {why}")
                return
            worst = kind.worst
            # one that had not ended with the trace shows something if it has exceeded its bound
            if kind.unended and kind.unended[0] > max(allowed, worst[0] if worst else 0):
                worst = kind.unended
            if row.kind == "prediction" and kind.least and kind.least[0] != allowed:
                worst = kind.least if worst is None or worst[0] == allowed else worst
            if worst is not None:
                shown[parameters] = allowed, worst
        if not shown:
            row.detail = (f"no request was seen, so that nothing is known of {self.name}"
                          if not self._kinds else
                          f"none of {self._unfinished + self._cut_off} requests ended within the "
                          "trace")
            return
        overall = standing({key: (worst[0], allowed) for key, (allowed, worst) in shown.items()},
                           row.kind)
        row.verdict, row.kinds, row.kinds_reached = overall.verdict, overall.kinds, overall.reached
        row.ratios = overall.ratios
        allowed, worst = shown[overall.closest]
        self._show(row, overall.closest, worst, allowed)
        if row.failed:
            said = "predicted" if row.kind == "prediction" else "bound"
            row.detail = (f"{self.name}{_with(row.parameters)} took {worst[0]:,} {self._unit}, "
                          f"{said} {allowed:,}: cycles {worst[1]:,} to {worst[2]:,}")

    def _show_longest(self, row: Finding) -> None:
        """For a claim that holds, show the longest request."""
        kinds = {key: kind.worst for key, kind in self._kinds.items() if kind.worst}
        if not kinds:  # none has ended, and the one shown had waited longest
            return
        tightest = tuple(row.parameters.values())
        longest = max(kinds, key=lambda key: (kinds[key][0], key == tightest))
        if longest != tightest:
            self._show(row, longest, kinds[longest], self.allowed(longest))

    def _show(self, row: Finding, parameters: tuple[int, ...], witness: _Witness,
              allowed: int | None) -> None:
        row.worst, row.first, row.last, row.times = witness
        row.allowed = allowed
        row.parameters = dict(zip(self.names, parameters, strict=True))


def _words(parameters: Mapping[str, object]) -> str:
    return ", ".join(f"{key} {value}" for key, value in parameters.items())


def _with(parameters: Mapping[str, object]) -> str:
    """What is said of a request after its name."""
    return f" with {_words(parameters)}" if parameters else ""


_STYLE = {"exact": "green", "right": "green", "held": "cyan"}


def table(rows: Iterable[Finding], title: str = "") -> Table:
    """The verdicts, for a terminal."""
    verdicts = Table(title=title or None, title_justify="left")
    for name, number in (("requests of", False), ("claim", False), ("requests", True),
                         ("worst", True), ("allowed", True),
                         ("loosest / median / tightest", False), ("verdict", False)):
        verdicts.add_column(name, justify="right" if number else "left")
    for row in rows:
        verdicts.add_row(
            row.name, f"{row.kind} {row.bound} = {row.formula}"
            if row.formula != row.bound else f"{row.kind} {row.bound}",
            f"{row.requests:,}", "-" if row.worst is None else f"{row.worst:,}",
            "-" if row.allowed is None else f"{row.allowed:,}",
            " / ".join(f"{ratio:.2f}" for ratio in row.ratios) or "-",
            Text(row.verdict, style=_STYLE.get(row.verdict, "bold red")))
    return verdicts


def histogram_lines(row: Finding) -> list[str]:
    """A histogram of latencies: a line for each, or for ranges of equal width."""
    if not row.histogram:
        return []
    low, high = row.histogram[0][0], row.histogram[-1][0]
    step = max(1, -(-(high - low + 1) // _ROWS))
    counts = [0] * ((high - low) // step + 1)
    for latency, count in row.histogram:
        counts[(latency - low) // step] += count
    most, lines = max(counts), []
    for number, count in enumerate(counts):
        begin = low + number * step
        label = f"{begin:,}" if step == 1 else f"{begin:,} to {min(high, begin + step - 1):,}"
        bar = "█" * (-(-count * _BARS // most)) if count else ""
        lines.append((label, bar, count))
    width = max(len(label) for label, *_ in lines)
    return [f"{label:>{width}}  {bar:<{_BARS}} {count:,}" for label, bar, count in lines]
