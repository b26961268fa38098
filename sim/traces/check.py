"""A recorded trace against a bound: `cyclebound check`."""

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

from cyclebound.golden.bound import Bound
from cyclebound.golden.formula import FormulaError, as_bound
from cyclebound.sim.base.errors import UserError, unknown
from cyclebound.sim.base.shape import shown
from cyclebound.sim.drawing.waveform import render
from cyclebound.sim.traces.trace import Trace
from cyclebound.tb.expression import ExpressionError, Step
from cyclebound.tb.probe import Probe
from cyclebound.tb.requests import (
    EndedRequests,
    SampledProbe,
    alternatives,
    places,
    requests_in,
)
from cyclebound.tb.sampled import Chunk, Found, SampledExpression
from cyclebound.tb.tally import Finding, Tally, misnamed
from cyclebound.tb.time_units import scale_of

__all__ = ["Check", "Checked", "bound_named", "check", "fitting", "picture", "pointed"]

_GAPS = 10  # that are named
_BESIDE = 100  # cycles from each end of a long request that a picture may show


@dataclass(frozen=True)
class Check:
    """A check of a trace: a probe, its bound, and the numbers in both.

    Attributes
    ----------
    probe : Probe
        Where requests begin and end.
    bound : Bound
        The claim.
    fixed : mapping
        Arguments of the bound, and names in expressions, that are whole numbers.
    clock, reset : str
        The clock's name, empty to look for it; an expression for cycles in reset.
    midway : bool
        Requests were under way when the trace begins, or goes on after a gap: they are left out.
    stops : bool
        The clock stops on purpose: where it does, there is no gap.
    unit : str
        Of the bound, such as ``ns``; empty: cycles.
    """

    probe: Probe
    bound: Bound
    fixed: Mapping[str, int] = field(default_factory=dict)
    clock: str = ""
    reset: str = ""
    midway: bool = False
    stops: bool = False
    unit: str = ""


@dataclass
class Checked:
    """The result of a check.

    Attributes
    ----------
    finding : Finding
        The verdict.
    clock : str
        The clock's full name.
    cycles, changes, cut_off : int
        Cycles of the trace, changes of watched signals, requests that a reset ended.
    problems : list of str
        Why the signals are no sequence of requests.
    signals : list of str
        The full names of the signals that the expressions read.
    unit : str
        Of latencies and bound; empty: cycles.
    many_gaps : int
        Gaps of the record.
    gaps : list of str
        The cycles of the first ten, and where they are.
    """

    finding: Finding
    clock: str
    cycles: int
    changes: int
    cut_off: int
    problems: list[str]
    signals: list[str]
    unit: str = ""
    many_gaps: int = 0
    gaps: list[str] = field(default_factory=list)


def pointed(error: ExpressionError | FormulaError) -> UserError:
    """The error with a caret below the expression that is wrong."""
    role = getattr(error, "role", "bound" if isinstance(error, FormulaError) else "expression")
    option, _, name = role.partition(" ")
    where = f"--{option}{f' {name}' if name else ''}"
    if not error.column:
        return UserError(f"{where}: {error.what}")
    return UserError(f"{where}, column {error.column}: {error.what}\n    {error.text}\n    "
                     f"{' ' * (error.column - 1)}^")


def bound_named(text: str) -> Bound:
    """The bound that ``FILE:FUNCTION``, ``module:function``, a number or a formula names.

    A plain function is a bound, too: its arguments are the parameters. Raises `UserError`.
    """
    source, colon, name = text.rpartition(":")
    if not colon:
        try:
            return as_bound(text)
        except FormulaError as error:
            raise pointed(error) from None
    if not source or not name.isidentifier():
        raise UserError(f"--bound takes FILE:FUNCTION, module:function, a number or a formula, "
                        f"not {text!r}")
    module = _module(source)
    function = getattr(module, name, None)
    if not callable(function):
        raise unknown(f"function in {source}", name, [
            key for key, value in vars(module).items()
            if not key.startswith("_") and (isinstance(value, Bound) or inspect.isfunction(value))])
    try:
        return as_bound(function, source)
    except ValueError as error:
        raise UserError(f"--bound {text}: {error}") from None


def _module(source: str) -> object:
    """A module by its file or its name; whatever the user's code does is a `UserError`."""
    path = Path(source)
    try:
        if path.suffix != ".py":
            sys.path.insert(0, str(Path.cwd()))
            return importlib.import_module(source)
        if not path.is_file():
            raise UserError(f"--bound: there is no file {source}")
        spec = importlib.util.spec_from_file_location(f"bound_of_{path.stem}", path)
        if spec is None or spec.loader is None:
            raise UserError(f"--bound: {source} is no module")
        module = importlib.util.module_from_spec(spec)
        sys.path.insert(0, str(path.resolve().parent))  # for what stands beside it
        spec.loader.exec_module(module)
        return module
    except (UserError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise UserError(f"--bound {source}: {type(error).__name__}: {error}") from error


def _tally(trace: Trace, wanted: Check) -> Tally:
    """The tally for it. Raises `UserError` for missing or unknown parameters of the bound."""
    given = {*wanted.fixed, *wanted.probe.request}
    if missing := sorted(wanted.bound.required() - given):
        raise UserError(f"bound {wanted.bound.name} needs {', '.join(missing)}: give each with "
                        "--set NAME=VALUE, or with --request NAME=EXPR where signals show it")
    if not wanted.unit:
        return Tally("request", wanted.bound, wanted.fixed, wanted.probe.request)
    if not trace.unit or wanted.probe.ticks:
        raise UserError(f"a bound in {wanted.unit} needs times with a unit, which {trace.path} has "
                        "not" if not trace.unit else "a bound in time has no --ticks")
    return Tally("request", wanted.bound, wanted.fixed, wanted.probe.request,
                 unit=trace.unit.removeprefix("1 "), scale=scale_of(wanted.unit, trace.unit))


def check(trace: Trace, wanted: Check) -> Checked:
    """All requests of the trace against the bound. Raises `UserError`."""
    if wanted.midway and wanted.probe.in_flight != 1:
        # the end of one that began before is taken for that of the next, and so on for ever
        raise UserError("--midway with several requests under way needs an --id, and one request "
                        "under way with each (no --in-flight): in order, nothing "
                        "in a trace that begins in the middle says of which request an end is")
    tally, run = _tally(trace, wanted), _Pass(trace, wanted)
    if wrong := misnamed(wanted.bound, wanted.fixed, wanted.probe.request, run.read,
                         ("--set", "--request")):
        raise UserError(wrong)
    for seen in run.requests():
        tally.add(seen)
    problems = run.problems()
    if not run.cycles:
        problems.append(trace.nothing(run.clock))
    finding = tally.finding(problems)
    return Checked(finding, run.clock, run.cycles, trace.changes,
                   sum(probe.cut_off for probe in run.probes), problems, sorted(run.names),
                   trace.unit if wanted.unit else "", run.many_gaps, run.gaps)


def fitting(trace: Trace, wanted: Check) -> Probe | None:
    """The first of the usual other expressions by which the whole trace is a sequence of requests;
    None if none fits. Raises `UserError`."""
    runs = [_Pass(trace, replace(wanted, probe=probe)) for probe in alternatives(wanted.probe)]
    for chunk in trace.chunks(runs[0].clock, {name: width for run in runs for name, width
                                              in run.names.items()}, stops=wanted.stops):
        for run in runs:
            for _ in run.of(chunk):
                pass
        runs = [run for run in runs if not run.problems()]
        if not runs:
            return None
    return next((run.wanted.probe for run in runs if any(probe.ended for probe in run.probes)),
                None)


class _Pass:
    """One pass through a trace.

    Attributes
    ----------
    clock : str
        Its full name.
    probes : list of SampledProbe
        One for each place.
    names : dict of str to int
        The signals that are read.
    read : set of str
        Those of the numbers given that are.
    wanted : Check
        What is looked for.
    cycles, many_gaps : int
        How many there have been.
    gaps : list of str
        The first gaps of the record.
    """

    def __init__(self, trace: Trace, wanted: Check) -> None:
        self._trace, self.wanted, self.cycles = trace, wanted, 0
        self.gaps: list[str] = []
        self.many_gaps = 0
        self._reset: SampledExpression | None = None
        self.read: set[str] = set()

        def find(path: tuple[Step, ...]) -> Found:
            if len(path) == 1 and path[0] in wanted.fixed:
                self.read.add(str(path[0]))
                return wanted.fixed[str(path[0])]
            if path[0] == "declared":
                raise LookupError("nothing is declared in a trace")
            return trace.find(path)

        def many(name: str) -> int:
            if name not in wanted.fixed:
                return trace.count(name)
            self.read.add(name)
            return wanted.fixed[name]

        try:
            self.clock = trace.clock(wanted.clock)
            self.probes = [SampledProbe(wanted.probe, find, index, many, midway=wanted.midway,
                                        in_time=bool(wanted.unit))
                           for index in places(wanted.probe, many)]
            self.names = {name: width for probe in self.probes
                          for name, width in probe.names.items()}
            if wanted.reset:
                try:
                    self._reset = SampledExpression(wanted.reset, find, None, many)
                except ExpressionError as error:
                    error.role = "reset"
                    raise
                self.names |= self._reset.names
        except ExpressionError as error:
            raise pointed(error) from None
        except LookupError as error:
            raise UserError(str(error.args[0])) from None
        except ValueError as error:
            raise UserError(f"--over: {error}") from None
        if not self.probes:
            raise UserError("--over leaves no place at which to look")

    def requests(self) -> Iterator[EndedRequests]:
        """All requests, chunk by chunk; then those that are under way at the end."""
        time = 0
        for chunk in self._trace.chunks(self.clock, self.names, stops=self.wanted.stops):
            yield from self.of(chunk)
            self.gaps += [f"cycle {chunk.first + at}: {place}"
                          for at, place in chunk.gaps.items()][:_GAPS]
            self.gaps, self.many_gaps = self.gaps[:_GAPS], self.many_gaps + len(chunk.gaps)
            self.cycles += len(chunk)
            time = int(chunk.times[-1]) if len(chunk) else time
        if self.cycles:
            for probe in self.probes:
                yield probe.under_way(self.cycles - 1, time)

    def of(self, chunk: Chunk) -> Iterator[EndedRequests]:
        """The requests that end in the next cycles, or are cut off there."""
        return requests_in(chunk, self.probes, self._reset)

    def problems(self) -> list[str]:
        """Reasons why the signals are not a sequence of requests; empty if they are."""
        return [(f"at {', '.join(f'{k}={v}' for k, v in probe.index.items())}: " if probe.index
                 else "") + what for probe in self.probes for what in probe.problems]


class _Window:
    """Some cycles of some signals, as `cyclebound.sim.drawing.waveform.render` looks at a trace."""

    def __init__(self, widths: Mapping[str, int], clock: str) -> None:
        self.variables = {name: SimpleNamespace(bitwidth=width) for name, width in widths.items()}
        self._values: dict[str, dict[int, object]] = {name: {} for name in widths}
        self._clock = clock
        self._cycles: set[int] = set()

    def add(self, chunk: Chunk, cycles: range) -> None:
        """Copy these cycles from a chunk."""
        for cycle in cycles:
            self._cycles.add(cycle)
            for name, values in self._values.items():
                lane = chunk.lanes[name]
                value, unknown = int(lane.values[cycle - chunk.first]), 0
                if lane.unknown is not None:
                    unknown = int(lane.unknown[cycle - chunk.first])
                values[cycle] = value if not unknown else "".join(
                    "x" if unknown >> bit & 1 else str(value >> bit & 1)
                    for bit in reversed(range(lane.width)))

    def find(self, wanted: str) -> list[str]:
        return [wanted]

    def value(self, name: str, cycle: int) -> object:
        return self._values[name].get(cycle)

    def holds(self, cycle: int) -> bool:
        return cycle in self._cycles


def picture(trace: Trace, checked: Checked, signals: list[str]) -> str:
    """The worst request as SVG, from a second pass that ends with it. Raises `UserError`.

    ``signals`` are shown besides those that the expressions read.
    """
    names = list(dict.fromkeys([*checked.signals, *map(trace.find_name, signals)]))
    first, last = checked.finding.first, checked.finding.last
    window = _Window({name: trace.widths[name] for name in names}, checked.clock)
    shown_cycles = (range(max(0, first - _BESIDE), min(last + 1, first + _BESIDE)),
                    range(max(0, first - _BESIDE, last - _BESIDE), last + _BESIDE))
    for chunk in trace.chunks(checked.clock, names):
        here = range(chunk.first, chunk.first + len(chunk))
        for part in shown_cycles:
            window.add(chunk, range(max(part.start, here.start), min(part.stop, here.stop)))
        if here.stop >= last + _BESIDE:
            break
    return render(window, names, first, last, title=f"request of {shown(trace.path.name)}")
