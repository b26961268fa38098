"""A bound watched in any cocotb testbench, without the rest of Cyclebound's flow.

In an existing test::

    from cyclebound.tb.monitor import BoundMonitor

    monitor = BoundMonitor(dut, start="req & ~past(req & ~ack)", end="req & ack", bound=12)
    ...                      # the test, as it was
    monitor.check()

`check` prints the verdict and fails the test if the bound does not hold, or if there was no
request. A request that breaks the bound fails the test by itself, soon after it ends.
"""

import difflib
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import cocotb
import numpy as np
from cocotb import simulator
from cocotb.triggers import FallingEdge, RisingEdge
from cocotb.utils import get_sim_time
from rich.console import Console

from cyclebound.golden.bound import Bound
from cyclebound.golden.formula import as_bound
from cyclebound.tb.expression import Step
from cyclebound.tb.handles import ARRAYS, SIGNALS, Handle, indexes, width
from cyclebound.tb.probe import Probe
from cyclebound.tb.requests import CLOCKS, SampledProbe, alternatives, places, requests_in
from cyclebound.tb.sampled import Chunk, Found, Lane, Part, SampledExpression, column
from cyclebound.tb.tally import Finding, Tally, histogram_lines, misnamed, table
from cyclebound.tb.time_units import EXPONENTS, scale_of, unit_of

__all__ = ["BoundMonitor"]

_CHUNK = 512  # cycles that are looked at together


def _clock(dut: Handle, named: str) -> Handle:
    """The clock by its name, or by one of the usual ones. Raises ValueError."""
    for name in [named] if named else [case for usual in CLOCKS for case in (usual, usual.upper())]:
        if (found := getattr(dut, name, None)) is not None:
            return found
    raise ValueError(f"{dut._name} has no signal {named}" if named else
                     f"no signal of {dut._name} is called {', '.join(CLOCKS[:3])} or the like; "
                     "name the clock with clock=")


def _now() -> int:
    return round(get_sim_time("step"))


def _step() -> str:
    """The simulator's step of time: ``1 ps``, ``10 ns``."""
    exponent: int = simulator.get_precision()
    unit = min((name for name, most in EXPONENTS.items() if most <= exponent),
               key=lambda name: exponent - EXPONENTS[name])
    return f"{10 ** (exponent - EXPONENTS[unit])} {unit}"


class BoundMonitor:
    """Watches requests at signals of a simulated design, and compares them with a bound.

    A signal's value in a cycle is the one just before the rising edge that ends it. Signals are
    named as seen from ``dut``, in the expressions of `cyclebound.tb.expression`.

    A bound in time is judged in the simulator's steps, from the edge with which the first cycle
    begins to that with which the last one ends.

    Parameters
    ----------
    dut : cocotb handle
        The scope of signal names.
    start, end : str
        Expressions that are true in the first and in the last cycle of a request.
    bound : Bound, function, str or int
        The claim: of ``@bound`` or ``@prediction``, a function of the parameters, a formula, or a
        number of cycles; a formula or a number may be in time: ``"120 ns"``, ``"(n + 1) * 10 ns"``.
    fixed : mapping
        Parameters of the bound that are the same for all requests; expressions may use them, too.
    clock : cocotb handle or str
        The clock; empty: the first signal of ``dut`` that is called ``clk`` or the like. Of
        ``"~clk"`` cycles end with falling edges.
    reset : str
        An expression that is true in cycles of reset, such as ``~rst_n``.
    name : str
        Name of the requests in the table.
    request, in_flight, id, end_id, starts, ends, ticks, over, in_turn, ahead
        As in `cyclebound.tb.probe.Probe`.

    Raises `ExpressionError` with the column for an unknown name; ValueError for a bound that needs
    more parameters, for one in ``fixed`` that nothing reads, and for a bound in time with
    ``ticks``.
    """

    def __init__(self, dut: Handle, *, start: str, end: str,
                 bound: Bound | Callable | str | int, fixed: Mapping[str, int] | None = None,
                 clock: Handle | str = "", reset: str = "", name: str = "request",
                 **probe: Any) -> None:
        self._dut, self._fixed = dut, dict(fixed or {})
        falls = isinstance(clock, str) and clock[:1] in ("~", "!")
        self._clock = (_clock(dut, clock[falls:].strip()) if isinstance(clock, str) else clock)
        self._edge = (FallingEdge if falls else RisingEdge)(self._clock)
        self._probe = asked = Probe(start, end, **probe)
        bound, unit = unit_of(bound) if isinstance(bound, str) else (bound, "")
        if unit and asked.ticks:
            raise ValueError("a bound in time has no ticks")
        claim = as_bound(bound)
        if missing := sorted(claim.required() - {*self._fixed, *asked.request}):
            raise ValueError(f"bound {claim.name} needs {', '.join(missing)}: give each in fixed, "
                             "or in request where signals show it")
        step = _step()
        self._tally = Tally(name, claim, self._fixed, asked.request,
                            unit=step.removeprefix("1 ") if unit else "cycles",
                            scale=scale_of(unit, step) if unit else (1, 1))
        self._unit = step if unit else ""
        self._handles: dict[str, Handle] = {}
        self._read: set[str] = set()  # those of ``fixed`` that expressions have
        self._probes = [SampledProbe(asked, self._find, index, self._count, in_time=bool(unit))
                        for index in places(asked, self._count)]
        self._reset = SampledExpression(reset, self._find, None, self._count) if reset else None
        if wrong := misnamed(claim, self._fixed, asked.request, self._read, ("fixed", "request")):
            raise ValueError(wrong)
        self._values: dict[str, list] = {name: [] for name in self._handles}
        self._times: list[int] = []
        self._ended = _now()  # the cycle before these
        self._cycle = 0
        self._checked = False
        self._task = cocotb.start_soon(self._watch())

    # -- names

    def _find(self, path: tuple[Step, ...]) -> Found:
        if len(path) == 1 and path[0] in self._fixed:
            self._read.add(str(path[0]))
            return self._fixed[str(path[0])]
        return self._signals(path)

    def _signals(self, path: tuple[Step, ...]) -> Part | list[Part]:
        handle: Handle = self._dut
        name = ""
        for number, step in enumerate(path):
            if isinstance(handle, SIGNALS):
                return self._found(handle, name, path[number:])
            if isinstance(step, slice):
                parts: list[Part] = []
                for at in self._indexes(handle)[step]:
                    part = self._signals((*path[:number], at, *path[number + 1:]))
                    parts += part if isinstance(part, list) else [part]
                return parts
            handle = self._inner(handle, step, name)
            name = f"{name}[{step}]" if isinstance(step, int) else f"{name}.{step}".lstrip(".")
        if not isinstance(handle, SIGNALS):
            raise LookupError(f"{name} is a {type(handle).__name__}, which has no bits")
        return self._found(handle, name, ())

    def _inner(self, handle: Handle, step: str | int, name: str) -> Handle:
        if isinstance(step, int):
            elements: Any = handle
            if isinstance(handle, ARRAYS):
                try:
                    return elements[step]
                except (IndexError, TypeError, KeyError):
                    pass
            raise LookupError(f"{name} has no element {step}")
        try:
            return getattr(handle, step)
        except AttributeError:
            names = [child._name for child in handle] if isinstance(handle, Iterable) else []
            near = difflib.get_close_matches(step, names, n=1, cutoff=0.5)
            hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(names[:12])}"
            raise LookupError(f"no signal {step!r} in {handle._name}{hint}") from None

    @staticmethod
    def _indexes(handle: Handle) -> list[int]:
        if isinstance(handle, ARRAYS):
            return indexes(handle)
        raise LookupError(f"{handle._name} has no elements")

    def _found(self, handle: Handle, name: str, rest: tuple[Step, ...]) -> Part:
        self._handles[name] = handle
        return name, width(handle), rest

    def _count(self, name: str) -> int:
        if name in self._fixed:
            self._read.add(name)
            return self._fixed[name]
        handle = self._inner(self._dut, name, "")
        return width(handle) if isinstance(handle, SIGNALS) else len(self._indexes(handle))

    # -- watching

    async def _watch(self) -> None:
        columns = [(handle, self._values[name].append, (1 << width(handle)) - 1)
                   for name, handle in self._handles.items()]
        while True:
            await self._edge
            self._times.append(_now())
            # registers still show what they held before this edge
            for handle, keep, mask in columns:
                value = handle.value
                try:
                    keep(int(value) & mask)
                except ValueError:
                    keep(str(value))
            if len(self._times) >= _CHUNK:
                self._look()
                finding = self._finding()
                if finding.verdict in ("violated", "wrong"):
                    self._print(finding)
                    raise AssertionError(finding.detail)

    def _look(self) -> None:
        """Find the requests in the cycles that have been kept."""
        lanes: dict[str, Lane] = {}
        for name, values in self._values.items():
            lanes[name] = column(values, width(self._handles[name]))
            values.clear()
        chunk = Chunk(self._cycle, lanes, np.array(self._times, dtype=np.int64), {}, self._ended)
        self._ended = self._times[-1] if self._times else self._ended
        self._times.clear()
        self._cycle += len(chunk)
        for seen in requests_in(chunk, self._probes, self._reset):
            self._tally.add(seen)

    def _finding(self) -> Finding:
        return self._tally.finding([problem for probe in self._probes
                                    for problem in probe.problems])

    def check(self) -> Finding:
        """Print the verdict and return it; no further requests are watched.

        Raises AssertionError if the bound does not hold for all requests, if there was none, or if
        the signals are no sequence of requests.
        """
        if not self._checked:
            self._task.cancel()
            self._look()
            for probe in self._probes:
                self._tally.add(probe.under_way(self._cycle - 1, self._ended))
            self._checked = True
        finding = self._finding()
        self._print(finding)
        if finding.failed:
            often = alternatives(self._probe)[0]
            hint = (f"; often meant: start={often.start!r}, end={often.end!r}"
                    if finding.verdict == "unclear" else "")
            raise AssertionError(f"{finding.verdict}: {finding.detail}{hint}")
        return finding

    def _print(self, finding: Finding) -> None:
        screen = Console(file=sys.stdout, width=110, markup=False, emoji=False)
        screen.print(table([finding], f"Measured against bound in {self._cycle:,} cycles"))
        if self._unit:
            screen.print(f"latencies and bound are in {self._unit}", highlight=False)
        for line in histogram_lines(finding):
            screen.print(f"  {line}", highlight=False)


