"""Energy of a run: events times what each costs, and what leaks; how much each cost matters.

Source: SGMF, sections 7.1 and 7.2 (instructions per joule, static and dynamic energy and that of
the memory). Costs are the user's, or public ones of other hardware (``costs_*.toml``), of which the
multiplications differ by four; so a result comes with what it would be at half and at twice each
cost, and each cost says where it is from.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cyclebound.golden.dataflow.counters import EVENTS, INSTRUCTIONS, UNITS, conserved
from cyclebound.golden.user_files import load_toml

__all__ = ["LEAKS", "PUBLIC", "Cost", "Counts", "Energy", "Term", "costs_in", "counts_in",
           "energy_of"]

LEAKS = (*UNITS.values(), "switch", "cache")
"""What leaks in each cycle: each unit that is there, each switch, the cache."""
PUBLIC = {path.stem.removeprefix("costs_"): path
          for path in sorted(Path(__file__).parent.glob("costs_*.toml"))}
"""The cost tables that come along."""
_KEYS = {"event": "pJ", "leakage": "pJ_per_cycle"}
_FACTORS = (0.5, 2.0)


@dataclass(frozen=True)
class Cost:
    """Of an event or a cycle's leakage of a unit, in pJ, and where the number is from."""

    pj: float
    source: str


@dataclass(frozen=True)
class Counts:
    """What a run did.

    Attributes
    ----------
    kernel : str
        Its name.
    cycles : int
        Of all configurations, loading them included.
    units : mapping of str to int
        How many of each of `LEAKS` there are.
    events : mapping of str to int
        How often each of `EVENTS` was.
    """

    kernel: str
    cycles: int
    units: Mapping[str, int]
    events: Mapping[str, int]

    @property
    def instructions(self) -> int:
        return sum(self.events.get(name, 0) for name in INSTRUCTIONS)


@dataclass(frozen=True)
class Term:
    """An event's or a unit's share; ``count`` of a unit is in cycles."""

    name: str
    count: int
    cost: Cost

    @property
    def pj(self) -> float:
        return self.count * self.cost.pj


@dataclass(frozen=True)
class Energy:
    """Of a run, term by term."""

    terms: tuple[Term, ...]
    instructions: int

    @property
    def pj(self) -> float:
        return math.fsum(term.pj for term in self.terms)

    @property
    def per_instruction(self) -> float:
        """In pJ."""
        return self.pj / self.instructions

    @property
    def instructions_per_joule(self) -> float:
        return 1e12 / self.per_instruction if self.pj else math.inf

    def at(self, term: Term, factor: float) -> float:
        """pJ per instruction, if the term's cost were so many times as much."""
        return (self.pj + (factor - 1) * term.pj) / self.instructions

    def sensitivity(self, term: Term) -> tuple[float, ...]:
        """pJ per instruction at half the term's cost, and at twice."""
        return tuple(self.at(term, factor) for factor in _FACTORS)


def costs_in(text: str) -> dict[str, dict[str, Cost]]:
    """The costs of a table: by ``event`` and ``leakage``, by name. Raises `ValueError`."""
    tables = load_toml(text)
    costs: dict[str, dict[str, Cost]] = {"event": {}, "leakage": {}}
    for kind, names in tables.items():
        if kind not in costs:
            raise ValueError(f"there are tables event and leakage, not {kind}")
        known = EVENTS if kind == "event" else LEAKS
        if not isinstance(names, dict):
            raise ValueError(f"{kind} must be tables, as [{kind}.{next(iter(known))}]")
        for name, entry in names.items():
            where = f"{kind}.{name}"
            if name not in known:
                raise ValueError(f"there is no {where}; known are {', '.join(known)}")
            if not isinstance(entry, dict) or set(entry) != {_KEYS[kind], "source"}:
                raise ValueError(f"{where} must have {_KEYS[kind]} and source, and nothing else")
            number, source = entry[_KEYS[kind]], entry["source"]
            if isinstance(number, bool) or not isinstance(number, (int, float)) or not (
                    0 <= number < 1e12):
                raise ValueError(f"{where}: {_KEYS[kind]} must be a number from 0 to 1e12, not "
                                 f"{number!r}")
            if not isinstance(source, str) or not source.strip():
                raise ValueError(f"{where}: source must say where the number is from, not "
                                 f"{source!r}")
            costs[kind][name] = Cost(float(number), source)
    return costs


def counts_in(text: str) -> Counts:
    """What `cyclebound dataflow run --counts` wrote. Raises `ValueError`."""
    def whole(name: str, number: Any) -> int:
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 1 << 63:
            raise ValueError(f"{name} must be a whole number, not {number!r}")
        return number

    def table(name: str, known: Iterable[str]) -> dict[str, int]:
        entries = found.get(name)
        if not isinstance(entries, dict):
            raise ValueError(f"{name} must be an object")
        for key in entries:
            if key not in known:
                raise ValueError(f"{name} has {key!r}; known are {', '.join(known)}")
        return {key: whole(f"{name}: {key}", number) for key, number in entries.items()}

    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"no JSON: {str(error) or 'too deep'}") from None
    if not isinstance(found, dict) or not isinstance(found.get("kernel"), str):
        raise ValueError("it must be an object with kernel, cycles, units and events")
    counts = Counts(found["kernel"], whole("cycles", found.get("cycles")), table("units", LEAKS),
                    table("events", EVENTS))
    for problem in conserved(counts.events):
        raise ValueError(problem)
    if not counts.instructions:
        raise ValueError("no instruction was done")
    return counts


def energy_of(counts: Counts, costs: Mapping[str, Mapping[str, Cost]]) -> Energy:
    """Work out the energy. Raises `ValueError`, which names the costs that are missing."""
    wanted = [("event", name, count) for name, count in counts.events.items() if count]
    wanted += [("leakage", name, count * counts.cycles)
               for name, count in counts.units.items() if count]
    missing = [f"{kind}.{name}" for kind, name, _ in wanted if name not in costs[kind]]
    if missing:
        raise ValueError(f"there is no cost of {', '.join(missing)}")
    return Energy(tuple(Term(f"leakage {name}" if kind == "leakage" else name, count,
                             costs[kind][name]) for kind, name, count in wanted),
                  counts.instructions)
