"""Placement on the grid by simulated annealing, seeded."""

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence

from cyclebound.golden.dataflow.grid import Grid, Kind, Node
from cyclebound.tools.dataflow.routing import Topology

__all__ = ["MOVES", "GridTooSmall", "check_room", "place"]

MOVES = 12_000  # that are tried


class GridTooSmall(ValueError):
    """The grid has too few units of some kinds; says which, and how many are missing."""

    def __init__(self, missing: Mapping[Kind, tuple[int, int]]) -> None:
        said = [f"{needed} {kind.name.lower().replace('_', '/')} unit{'s' * (needed != 1)} of "
                f"{there} ({needed - there} too many)" for kind, (needed, there) in missing.items()]
        super().__init__(f"the grid is too small: the kernel needs {', '.join(said)}")
        self.missing = {kind: needed - there for kind, (needed, there) in missing.items()}


def check_room(grid: Grid, kinds: Sequence[Kind]) -> None:
    """Raise `GridTooSmall` unless there is a unit for each."""
    missing = {kind: (needed, len(grid.of_kind(kind)))
               for kind, needed in sorted(Counter(kinds).items())
               if needed > len(grid.of_kind(kind))}
    if missing:
        raise GridTooSmall(missing)


def place(topology: Topology, kinds: Mapping[int, Kind], edges: Sequence[tuple[int, int]], *,
          seed: int, moves: int = MOVES) -> dict[int, Node]:
    """A unit for each task, so that the tokens' paths are short.

    Parameters
    ----------
    topology : Topology
        The grid.
    kinds : mapping of int to Kind
        By task: the kind of unit it needs.
    edges : sequence of pairs
        Tasks that send tokens, and where to.
    seed : int
        Of the random moves.
    moves : int
        How many are tried.

    Raises `GridTooSmall`.
    """
    grid = topology.grid
    check_room(grid, list(kinds.values()))
    far = {unit: topology.distances(unit) for unit in grid.units}
    for unit in grid.units:
        far[unit].setdefault(unit, 2)
    rng = random.Random(seed)
    at: dict[int, Node] = {}
    who: dict[Node, int | None] = {}
    for kind in sorted(set(kinds.values())):
        units = list(grid.of_kind(kind))
        rng.shuffle(units)
        tasks = [task for task in kinds if kinds[task] == kind]
        for number, unit in enumerate(units):
            who[unit] = tasks[number] if number < len(tasks) else None
            if number < len(tasks):
                at[tasks[number]] = unit
    near: dict[int, list[tuple[int, int]]] = {task: [] for task in kinds}
    for edge in edges:
        for task in set(edge):
            near[task].append(edge)

    def cost(tasks: set[int]) -> float:
        return sum(far[at[a]][at[b]] ** 1.5 for a, b in
                   sorted({edge for task in tasks for edge in near[task]}))

    movable = [task for task in kinds if len(grid.of_kind(kinds[task])) > 1]
    if not movable:
        return at
    choices = {kind: grid.of_kind(kind) for kind in sorted(set(kinds.values()))}
    heat = 6.0
    cooling = (0.05 / heat) ** (1 / moves)
    for _ in range(moves):
        task = rng.choice(movable)
        here, there = at[task], rng.choice(choices[kinds[task]])
        heat *= cooling
        if here == there:
            continue
        other = who[there]
        moved = {task} if other is None else {task, other}
        before = cost(moved)
        at[task], who[there], who[here] = there, task, other
        if other is not None:
            at[other] = here
        worse = cost(moved) - before
        if worse > 0 and rng.random() >= math.exp(-worse / heat):
            at[task], who[here], who[there] = here, task, other
            if other is not None:
                at[other] = there
    return at
