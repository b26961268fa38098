"""Claims about time: each a formula with its source, and the requests that it speaks of.

Three kinds, never mixed:

- a `bound`: no request of this class takes longer, whatever else happens within the environment
  that it names. The requester knows its parameters before the request;
- a `prediction`: the exact number of cycles of this input. The whole input may be in it;
- a `rate`: a share or a throughput over an interval, which is a floor.

Each is a plain function of keyword arguments. The decorator keeps formula and source beside it, so
that a table, a report and ``cyclebound bound`` can show where the number comes from. Arguments are
declared with their types and ranges::

    @bound(formula="N_req", source="Chen 2021, Eq. 1",
           environment="every other requester may ask in any cycle")
    def wait(*, requesters: Annotated[int, Range(1)]) -> int:
        ...
"""

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass

__all__ = ["KINDS", "Bound", "NotCovered", "Range", "bound", "check_count", "prediction", "rate"]

KINDS = ("bound", "prediction", "rate")


class NotCovered(ValueError):
    """The claim says nothing about a request with these parameters."""


@dataclass(frozen=True)
class Range:
    """Whole numbers that an argument may be, for its annotation: ``Annotated[int, Range(1)]``.

    Attributes
    ----------
    least, most : int or None
        Both included; None: without end.
    says : str
        What the argument is, in its unit.
    """

    least: int | None = None
    most: int | None = None
    says: str = ""

    def __str__(self) -> str:
        if self.least is not None and self.most is not None:
            return f"{self.least:,} to {self.most:,}"
        if self.most is not None:
            return f"at most {self.most:,}"
        return "any" if self.least is None else f"at least {self.least:,}"

    def holds(self, value: object) -> bool:
        """Whether ``value`` is such a number."""
        return (isinstance(value, int) and not isinstance(value, bool)
                and (self.least is None or value >= self.least)
                and (self.most is None or value <= self.most))


@dataclass(frozen=True)
class Bound:
    """A claim about time.

    Attributes
    ----------
    name : str
        How the tables call it.
    formula : str
        The formula as a person writes it.
    source : str
        Paper and equation; or "this project", and then the docstring holds the derivation.
    function : Callable[..., int]
        Keyword arguments in, cycles out.
    origin : Callable[..., str] or None
        Where the value for some arguments comes from, if not for all from the same: the same
        keyword arguments in, words out.
    kind : str
        One of `KINDS`.
    environment : str
        Of a bound: what everything else may do while the request is under way, in one sentence.
    """

    name: str
    formula: str
    source: str
    function: Callable[..., int]
    origin: Callable[..., str] | None = None
    kind: str = "bound"
    environment: str = ""

    @functools.cached_property
    def _signature(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self.function).parameters

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of all arguments."""
        return tuple(self._signature)

    @functools.cached_property
    def ranges(self) -> dict[str, Range]:
        """The ranges of those arguments that declare one."""
        ranges = {}
        for name, hint in typing.get_type_hints(self.function, include_extras=True).items():
            for extra in typing.get_args(hint)[1:] if typing.get_origin(
                    hint) is typing.Annotated else ():
                if isinstance(extra, Range):
                    ranges[name] = extra
        return ranges

    def required(self) -> set[str]:
        """Names of the arguments that have no default."""
        return {name for name, parameter in self._signature.items()
                if parameter.default is inspect.Parameter.empty}

    def default_of(self, argument: str) -> object:
        """The default of an argument; None if it has none and must be given."""
        default = self._signature[argument].default
        return None if default is inspect.Parameter.empty else default

    @property
    def derivation(self) -> str:
        """The function's docstring."""
        return inspect.getdoc(self.function) or ""

    def __call__(self, **parameters: typing.Any) -> int:
        """The claim for these arguments, in cycles. Raises `NotCovered` outside their ranges."""
        for name, within in self.ranges.items():
            if name in parameters and not within.holds(parameters[name]):
                raise NotCovered(f"{name} must be a whole number of {within}, "
                                 f"not {parameters[name]!r}")
        try:
            return self.function(**parameters)
        except SystemExit as error:  # which would end what asks, as if all were well
            raise NotCovered(f"bound {self.name} ends the program instead") from error

    def of(self, values: Mapping[str, object]) -> int:
        """The claim for a request, from a mapping that may hold more than the formula needs.

        Raises `NotCovered` where an argument is missing or out of its range.
        """
        return self(**self._arguments(values))

    def source_of(self, values: Mapping[str, object]) -> str:
        """The source, with the origin of the value for a request that the bound covers.

        Raises `NotCovered` where an argument is missing.
        """
        return self.source + (f"; {self.origin(**self._arguments(values))}" if self.origin else "")

    def _arguments(self, values: Mapping[str, object]) -> dict[str, object]:
        missing = [name for name, parameter in self._signature.items()
                   if name not in values and parameter.default is inspect.Parameter.empty]
        if missing:
            raise NotCovered(f"bound {self.name} needs {', '.join(missing)}")
        return {name: values[name] for name in self._signature if name in values}


def _claim(kind: str, *, formula: str, source: str, origin: Callable[..., str] | None,
           environment: str = "") -> Callable[[Callable[..., int]], Bound]:
    def wrap(function: Callable[..., int]) -> Bound:
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
                raise TypeError(f"Bound {function.__name__}: argument {name!r} must be "
                                "keyword-only")
        return Bound(function.__name__, formula, source, function, origin, kind, environment)

    return wrap


def bound(*, formula: str, source: str, environment: str = "",
          origin: Callable[..., str] | None = None) -> Callable[[Callable[..., int]], Bound]:
    """Turn a function into a bound; all its arguments must be keyword-only."""
    return _claim("bound", formula=formula, source=source, origin=origin, environment=environment)


def prediction(*, formula: str, source: str, origin: Callable[..., str] | None = None
               ) -> Callable[[Callable[..., int]], Bound]:
    """Turn a function into a prediction: what it takes as arguments lasts exactly that long."""
    return _claim("prediction", formula=formula, source=source, origin=origin)


def rate(*, formula: str, source: str) -> Callable[[Callable[..., int]], Bound]:
    """Turn a function into a rate: the least share or throughput over a stated interval."""
    return _claim("rate", formula=formula, source=source, origin=None)


def check_count(thing: str, value: object, *, least: int = 1, most: int | None = None) -> None:
    """Raise `NotCovered` unless ``value`` is a whole number from ``least`` to ``most``."""
    within = Range(least, most)
    if not within.holds(value):
        raise NotCovered(f"{thing} must be a whole number of {within}, not {value!r}")
