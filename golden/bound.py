"""What a bound is: a formula for the greatest latency allowed, with its source.

A bound is a plain function of keyword arguments that returns cycles. The decorator `bound` keeps
its formula and its source beside it, so that a table, a report and ``cyclebound bound`` can show
where the number comes from.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass

__all__ = ["Bound", "NotCovered", "bound", "check_count"]


class NotCovered(ValueError):
    """The bound says nothing about a request with these parameters."""


@dataclass(frozen=True)
class Bound:
    """A worst-case formula.

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
    """

    name: str
    formula: str
    source: str
    function: Callable[..., int]
    origin: Callable[..., str] | None = None

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of all arguments."""
        return tuple(inspect.signature(self.function).parameters)

    def required(self) -> set[str]:
        """Names of the arguments that have no default."""
        return {name for name, parameter in inspect.signature(self.function).parameters.items()
                if parameter.default is inspect.Parameter.empty}

    @property
    def derivation(self) -> str:
        """The function's docstring."""
        return inspect.getdoc(self.function) or ""

    def __call__(self, **parameters: int) -> int:
        """Greatest latency allowed, in cycles. Raises `NotCovered` outside the formula's domain."""
        return self.function(**parameters)

    def of(self, known: Mapping[str, object]) -> int:
        """The bound for a request, from a mapping that may hold more than the formula needs.

        Raises `NotCovered` where an argument is missing.
        """
        return self.function(**self._arguments(known))

    def source_of(self, known: Mapping[str, object]) -> str:
        """The source, with the origin of the value for a request that the bound covers."""
        return self.source + (f"; {self.origin(**self._arguments(known))}" if self.origin else "")

    def _arguments(self, known: Mapping[str, object]) -> dict[str, object]:
        signature = inspect.signature(self.function).parameters
        missing = [name for name, parameter in signature.items()
                   if name not in known and parameter.default is inspect.Parameter.empty]
        if missing:
            raise NotCovered(f"bound {self.name} needs {', '.join(missing)}")
        return {name: known[name] for name in signature if name in known}


def bound(*, formula: str, source: str, origin: Callable[..., str] | None = None
          ) -> Callable[[Callable[..., int]], Bound]:
    """Turn a function into a `Bound`; all its arguments must be keyword-only."""

    def wrap(function: Callable[..., int]) -> Bound:
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
                raise TypeError(f"Bound {function.__name__}: argument {name!r} must be "
                                "keyword-only")
        return Bound(function.__name__, formula, source, function, origin)

    return wrap


def check_count(thing: str, value: object, *, least: int = 1) -> None:
    """Raise `NotCovered` unless ``value`` is a whole number of at least ``least``."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise NotCovered(f"{thing} must be a whole number of at least {least}, not {value!r}")
