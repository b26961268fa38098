"""Jobs given to tiles: the choice and the order whose composed bound is least, by CP-SAT.

A job has one form or several, each a bound on a tile. Jobs of a tile run one after the other; a
job starts when those that it comes after have ended; and of two that map a word in common, one has
ended before the other begins. Then the time when all have ended is the longest chain of bounds
(`golden.system.tiled.composed`), and that is what the solver makes least, under deadlines.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import networkx as nx

from cyclebound.golden.system.tiled import Job, composed

__all__ = ["Mapped", "NoMapping", "NotFound", "mapped"]


class NoMapping(ValueError):
    """No choice and order keep all deadlines. ``late``: by how much the best exceeds one."""

    def __init__(self, says: str, late: int = 0) -> None:
        super().__init__(says)
        self.late = late


class NotFound(ValueError):
    """Time was too short to find a choice, or to know that there is none."""


@dataclass(frozen=True)
class Mapped:
    """A choice.

    Attributes
    ----------
    jobs : tuple of Job
        In an order in which each tile may run its own; ``after`` has what was added so that jobs
        with words in common are never under way together.
    chosen : mapping
        Which of its forms each job has.
    ends : mapping
        When each has ended at the latest, in clocks.
    optimal : bool
        No other choice or order ends earlier.
    """

    jobs: tuple[Job, ...]
    chosen: Mapping[str, int]
    ends: Mapping[str, int]
    optimal: bool

    @property
    def last(self) -> int:
        """When all have ended."""
        return max(self.ends.values(), default=0)


def mapped(forms: Mapping[str, Sequence[Job]], deadlines: Mapping[str, int] = {}, *,
           seconds: float = 60.0, seed: int = 1, below: int | None = None) -> Mapped | None:
    """The forms and the order with the least time until all have ended.

    Parameters
    ----------
    forms : mapping
        By name, a job's forms, one at least; all have its name and come after the same jobs.
    deadlines : mapping
        Clocks from the start within which some of the jobs have to have ended.
    below : int or None
        Only what ends before that is of interest; None is returned where nothing does.

    Raises `NoMapping` if no choice keeps all deadlines, `NotFound` if none is found within so many
    ``seconds``, and `ValueError` as `composed` does.
    """
    for name, ways in forms.items():
        if not ways:
            raise ValueError(f"{name} has no form")
    composed([replace(ways[0], tile=name, uses=()) for name, ways in forms.items()])  # no circle
    program = _Program(forms)
    for name, deadline in deadlines.items():
        program.model.add(program.ends[name] <= deadline)
    if below is not None:
        program.model.add(program.last < below)
    program.model.minimize(program.last)
    found = program.solved(seconds, seed)
    if found is not None:
        return found
    if below is not None and not program.unknown:
        return None
    if program.unknown:
        raise NotFound(f"no mapping was found in {seconds:.0f} s")
    raise _late(forms, deadlines, seconds, seed)


def _late(forms: Mapping[str, Sequence[Job]], deadlines: Mapping[str, int], seconds: float,
          seed: int) -> NoMapping:
    """What to say where no choice keeps all deadlines."""
    program = _Program(forms)
    late = program.model.new_int_var(0, program.horizon, "late")
    for name, deadline in deadlines.items():
        program.model.add(program.ends[name] - deadline <= late)
    program.model.minimize(late)
    best = program.solved(seconds, seed)
    if best is None:  # not even that was found in time
        return NoMapping("no mapping keeps all deadlines", program.horizon)
    over = {name: best.ends[name] - deadline for name, deadline in deadlines.items()
            if best.ends[name] > deadline}
    best_ends = ", ".join(f"{name} has ended by {best.ends[name]:,} and not by {deadlines[name]:,}"
                          for name in over)
    where = "the greatest excess is least" if best.optimal else "the least excess was found"
    return NoMapping(f"no mapping keeps all deadlines; where {where}, {best_ends}",
                     max(over.values(), default=0))


class _Program:
    """The integer program: intervals on tiles, one of each job's forms."""

    def __init__(self, forms: Mapping[str, Sequence[Job]]) -> None:
        from ortools.sat.python import cp_model

        self.cp, self.forms, self.model = cp_model, forms, cp_model.CpModel()
        self.unknown = False
        self.horizon = sum(max(job.clocks for job in ways) for ways in forms.values())
        model, horizon = self.model, self.horizon
        self.starts = {name: model.new_int_var(0, horizon, f"start {name}") for name in forms}
        self.ends = {name: model.new_int_var(0, horizon, f"end {name}") for name in forms}
        self.last = model.new_int_var(0, horizon, "last")
        self.present = {name: [model.new_bool_var(f"{name} on {job.tile}") for job in ways]
                        for name, ways in forms.items()}
        tiles: dict[str, list] = {}
        for name, ways in forms.items():
            model.add_exactly_one(self.present[name])
            model.add(self.ends[name] <= self.last)
            for other in ways[0].after:
                model.add(self.starts[name] >= self.ends[other])
            for job, here in zip(ways, self.present[name], strict=True):
                tiles.setdefault(job.tile, []).append(model.new_optional_interval_var(
                    self.starts[name], job.clocks, self.ends[name], here, name))
        for spans in tiles.values():
            model.add_no_overlap(spans)
        for one, other in combinations(forms, 2):
            self._apart(one, other)

    def _apart(self, one: str, other: str) -> None:
        """Forms on two tiles that have words in common are not under way together."""
        first = None
        for a, a_here in zip(self.forms[one], self.present[one], strict=True):
            for b, b_here in zip(self.forms[other], self.present[other], strict=True):
                if a.tile == b.tile or not _share(a, b):
                    continue
                if first is None:
                    first = self.model.new_bool_var(f"{one} before {other}")
                self.model.add(self.ends[one] <= self.starts[other]).only_enforce_if(
                    a_here, b_here, first)
                self.model.add(self.ends[other] <= self.starts[one]).only_enforce_if(
                    a_here, b_here, ~first)

    def solved(self, seconds: float, seed: int) -> Mapped | None:
        solver = self.cp.CpSolver()
        solver.parameters.max_time_in_seconds = max(0.1, seconds)
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = seed
        status = solver.solve(self.model)
        self.unknown = status == self.cp.UNKNOWN
        if status not in (self.cp.OPTIMAL, self.cp.FEASIBLE):
            return None
        chosen = {name: next(number for number, here in enumerate(self.present[name])
                             if solver.value(here)) for name in self.forms}
        at = {name: (solver.value(self.starts[name]), solver.value(self.ends[name]))
              for name in self.forms}
        ordered = _kept_apart([self.forms[name][chosen[name]]
                               for name in sorted(self.forms, key=at.__getitem__)])
        return Mapped(tuple(ordered), chosen, composed(ordered), status == self.cp.OPTIMAL)


def _share(one: Job, other: Job) -> bool:
    return any(max(a.start, b.start) < min(a.stop, b.stop) for a in one.uses for b in other.uses)


def _kept_apart(jobs: Sequence[Job]) -> list[Job]:
    """Jobs in the order of their starts; of two with words in common the second comes after the
    first, also where nothing else says so."""
    known = nx.DiGraph()
    ordered: list[Job] = []
    for job in jobs:
        known.add_node(job.name)
        known.add_edges_from((other, job.name) for other in job.after)
        known.add_edges_from((other.name, job.name) for other in ordered if other.tile == job.tile)
        for other in reversed(ordered):
            if _share(job, other) and not nx.has_path(known, other.name, job.name):
                known.add_edge(other.name, job.name)
                job = replace(job, after=(*job.after, other.name))
        ordered.append(job)
    return ordered
