"""A system's jobs on the tiles where all have ended soonest, by their bounds."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product, repeat
from typing import Any

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.system.tiled import Job
from cyclebound.sim.families.system.jobs import (
    TILES,
    Form,
    Planned,
    Planner,
    TiledFile,
    longest_request,
    planned,
)
from cyclebound.tools.gpu.toml_text import load_toml, toml_text
from cyclebound.tools.simd.wcet.graph import WcetError
from cyclebound.tools.system.mapping import Mapped, NoMapping, NotFound, mapped

__all__ = ["MappedFile", "map_jobs", "mapped_text"]

Tell = Callable[[str, int, int], None]


@dataclass(frozen=True)
class MappedFile:
    """A system with one form for each job, in an order that each tile may keep; its bounds; and
    whether no other choice or order ends earlier."""

    file: TiledFile
    planned: Planned
    optimal: bool
    chosen: dict[str, int]

    @property
    def last(self) -> int:
        return max(one.ends for one in self.planned.bounds)


def map_jobs(file: TiledFile, *, seconds: float = 60.0, seed: int = 1,
             tell: Tell = lambda step, done, total: None) -> MappedFile:
    """The forms and the order by which all jobs have ended soonest, and within their deadlines.

    A form's bound depends on the longest request of each other tile, and so on which jobs these
    have. So each set of longest requests that a choice can lead to is a problem of its own: its
    forms are those that ask for no more, its bounds those beside tiles that ask for as much. The
    best choice is among the solutions of its own set; where a solution asks for less than its set
    allows, its bounds are too high, never too low.

    Raises `NoMapping` where no choice keeps all deadlines, `NotFound` where the time was too short
    for one; `ValueError`, `NotCovered` and `WcetError` where no form of a job has a bound.
    """
    began = time.monotonic()
    longest = {name: _requests(file, forms) for name, forms in file.forms.items()}
    sets = _sets(file, longest)
    best: Mapped | None = None
    wrong: list[ValueError | NotCovered | WcetError] = []
    known: dict[tuple, Job | Exception] = {}
    optimal = True
    for number, allowed in enumerate(sets):
        tell("sets of longest requests", number, len(sets))
        left = (seconds - (time.monotonic() - began)) / (len(sets) - number)
        if left <= 0 and best is not None:
            optimal = False
            break
        try:
            forms = _bounded(file, longest, allowed, known)
            found = mapped({name: list(ways.values()) for name, ways in forms.items()},
                           file.deadlines, seconds=max(1.0, left), seed=seed,
                           below=None if best is None else best.last)
        except (ValueError, NotCovered, WcetError) as error:
            optimal &= not isinstance(error, NotFound)
            wrong.append(error)
            continue
        if found is not None:
            optimal &= found.optimal
            best = replace(found, chosen={name: list(forms[name])[way]
                                          for name, way in found.chosen.items()})
    tell("sets of longest requests", len(sets), len(sets))
    if best is None:
        late = [error for error in wrong if isinstance(error, NoMapping)]
        raise min(late, key=lambda error: error.late) if late else wrong[0]
    chosen = file.chosen(best.chosen, {job.name: job.after for job in best.jobs})
    return MappedFile(chosen, planned(chosen), optimal, dict(best.chosen))


def _requests(file: TiledFile, forms: tuple[Form, ...]) -> list[int | None]:
    """The longest request of each form; None: it has no bound. Raises where none has one."""
    found: list[int | None] = []
    wrong: list[Exception] = []
    for form in forms:
        try:
            found.append(longest_request(form, file))
        except (ValueError, NotCovered, WcetError) as error:
            found.append(None)
            wrong.append(error)
    if len(wrong) == len(forms):
        raise wrong[0]
    return found


def _fits(request: int | None, form: Form, allowed: dict[str, int]) -> bool:
    return request is not None and request <= allowed[form.tile]


def _sets(file: TiledFile, longest: dict[str, list[int | None]]) -> list[dict[str, int]]:
    """The longest requests of all tiles that a choice of forms may lead to; the least first."""
    values: dict[str, set[int]] = {tile: set() for tile in TILES}
    for name, forms in file.forms.items():
        for form, request in zip(forms, longest[name], strict=True):
            if request is not None:
                values[form.tile].add(request)
    sets = [dict(zip(TILES, each, strict=True))
            for each in product(*(sorted({0, *values[tile]}) for tile in TILES))]
    return sorted((allowed for allowed in sets if all(
        any(map(_fits, longest[name], forms, repeat(allowed)))
        for name, forms in file.forms.items())), key=lambda allowed: sum(allowed.values()))


def _bounded(file: TiledFile, longest: dict[str, list[int | None]], allowed: dict[str, int],
             known: dict[tuple, Job | Exception]) -> dict[str, dict[int, Job]]:
    """By job and form, those that ask for no more than is ``allowed``, with their bounds beside
    tiles that ask for as much. ``known`` has what was bounded before.

    Raises what its first form raises for a job without any.
    """
    forms: dict[str, dict[int, Job]] = {}
    for name, ways in file.forms.items():
        forms[name] = {}
        wrong = []
        for number, form in enumerate(ways):
            if not _fits(longest[name][number], form, allowed):
                continue
            key = name, number, tuple(allowed[tile] for tile in TILES if tile != form.tile)
            if key not in known:
                known[key] = _bound(file, allowed, name, form)
            bound = known[key]
            if isinstance(bound, Job):
                forms[name][number] = bound
            else:
                wrong.append(bound)
        if not forms[name]:
            raise wrong[0]
    return forms


def _bound(file: TiledFile, allowed: dict[str, int], name: str, form: Form) -> Job | Exception:
    try:
        return Planner(file, allowed).job(name, form)
    except (NotCovered, WcetError, ValueError) as error:
        return error


def mapped_text(text: str, found: MappedFile) -> str:
    """The file as TOML, with one form for each job, in the order that was found."""
    tables: dict[str, Any] = load_toml(text)
    jobs = {entry["name"]: entry for entry in tables.pop("job")}
    made = []
    for name, after in found.file.after.items():
        own, number = jobs[name], found.chosen[name]
        form = own["or"][number - 1] if number else own
        made.append({"name": name, **{key: value for key, value in form.items()
                                      if key not in ("name", "after", "deadline", "or")},
                     **({"after": list(after)} if after else {}),
                     **({"deadline": own["deadline"]} if "deadline" in own else {})})
    if found.file.fabric is not None:  # it is there, whether a job was given to it or not
        tables.setdefault("fabric", {})
    return toml_text({**tables, "job": made})
