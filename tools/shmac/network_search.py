"""A search for the slowest requests of one master among others, on SHMAC's network.

An adversary chooses what each master begins in which cycle. It knows nothing of routers and bounds,
and sees how long the requests of one of them take; so it serves the golden model and the RTL.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cyclebound.golden.noc.routes import Mesh, Tile
from cyclebound.golden.shmac.exchange import ExchangeModel, Seen, Wish
from cyclebound.golden.shmac.traffic import HOST, Senders
from cyclebound.tools.hill_climb import climb, climbed

__all__ = ["Adversary", "Goal", "Longest", "Period", "Plan", "lives", "searched", "wishes"]

_MANY, _FEW = 0.8, 0.1
_PERIODS = 6  # after which a master begins its plan anew

Period = tuple[Wish | None, int]
"""What a master would begin, and for how many cycles."""

Plan = Mapping[Tile, tuple[Period, ...]]


@dataclass(frozen=True)
class Goal:
    """Whose requests are to take long.

    Attributes
    ----------
    masters : Senders
        Who may send to whom.
    victim, target : Tile
        Whose requests, to which slave.
    write : bool
        Plain writes, or reads.
    patient : bool
        Only those that find none of the same master under way.
    cycles : int
        Of each candidate.
    """

    masters: Senders
    victim: Tile
    target: Tile
    write: bool
    patient: bool
    cycles: int

    @property
    def patients(self) -> tuple[Tile, ...]:
        """The masters that begin only if nothing of theirs is under way."""
        return (self.victim,) if self.patient else ()


class Adversary:
    """Draws and changes plans."""

    def __init__(self, rng: random.Random, goal: Goal) -> None:
        self.rng, self.goal = rng, goal
        self._writes = _MANY  # the share of writes among the others' requests

    def _wish(self, tile: Tile) -> Wish | None:
        goal, rng = self.goal, self.rng
        if rng.random() < 0.15:
            return None
        if tile == goal.victim and (goal.patient or rng.random() < 0.5):
            return goal.target, goal.write
        return rng.choice(sorted(goal.masters[tile])), tile == HOST or rng.random() < self._writes

    def _length(self) -> int:
        return self.rng.choice((1, 1, 2, 3, self.rng.randint(1, 12), self.rng.randint(1, 60)))

    def fresh(self) -> Plan:
        """A plan; often all others send the same without a pause."""
        steady = self.rng.random() < 0.5
        self._writes = self.rng.choice((_MANY, _FEW))
        plan: dict[Tile, tuple[Period, ...]] = {}
        for tile in self.goal.masters:
            if steady and tile != self.goal.victim:
                target = self.rng.choice(sorted(self.goal.masters[tile]))
                plan[tile] = ((None, self.rng.randint(1, 9)),
                              ((target, True), self.goal.cycles))
            else:
                plan[tile] = tuple((self._wish(tile), self._length()) for _ in range(_PERIODS))
        return plan

    def changed(self, plan: Plan) -> Plan:
        """One that differs a little."""
        plan = dict(plan)
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            tile = self.rng.choice(list(self.goal.masters))
            periods: list[Period] = list(plan[tile])
            place = self.rng.randrange(len(periods))
            what, length = periods[place]
            if self.rng.random() < 0.6:
                length = (self._length() if self.rng.random() < 0.4
                          else max(1, length + self.rng.choice((-3, -2, -1, 1, 2, 3))))
            else:
                what = self._wish(tile)
            periods[place] = what, length
            plan[tile] = tuple(periods)
        return plan


def wishes(plan: Plan, cycles: int) -> Iterator[dict[Tile, Wish]]:
    """By cycle, what each master would begin."""
    whole: list[dict[Tile, Wish]] = [{} for _ in range(cycles)]
    for tile, periods in plan.items():
        cycle = 0
        while cycle < cycles:
            for what, length in periods:
                if what is not None:
                    for wish in whole[cycle:cycle + length]:
                        wish[tile] = what
                cycle += length
    return iter(whole)


class Longest:
    """The longest requests of a goal, from what is seen in each cycle."""

    def __init__(self, goal: Goal) -> None:
        self.goal, self.cycles, self.accept = goal, 0, 0
        self._cycle = self._began = 0
        self._offered = False
        # to the target, not landed: since when, whether it counts
        self._under_way: list[tuple[int, bool]] = []
        self._read: int | None = None

    def see(self, seen: Seen) -> None:
        """One cycle."""
        goal, victim = self.goal, self.goal.victim
        offer = seen.offers.get(victim)
        if offer is not None and not self._offered:
            self._began = self._cycle
            if offer.target == goal.target:
                self._under_way.append((self._cycle, offer.write))
                if not offer.write and not goal.write:
                    self._read = self._cycle
        if victim in seen.taken:
            self.accept = max(self.accept, self._cycle - self._began + 1)
        self._offered = offer is not None and victim not in seen.taken
        self._cycle += 1
        if (victim, goal.target) in seen.landed:
            since, write = self._under_way.pop(0)
            if write and goal.write:
                self.cycles = max(self.cycles, self._cycle - since)
        if victim in seen.received and self._read is not None:
            self.cycles = max(self.cycles, self._cycle - self._read)
            self._read = None


def lives(mesh: Mesh, goal: Goal, plan: Plan, *, service: int) -> Longest:
    """What takes longest on the golden model."""
    model = ExchangeModel(mesh, service=service, patient=goal.patients)
    longest = Longest(goal)
    for wish in wishes(plan, goal.cycles):
        longest.see(model.step(wish))
    return longest


def searched(mesh: Mesh, goal: Goal, *, service: int, tries: int, seed: int) -> int:
    """The most cycles that a search on the golden model comes to."""
    adversary = Adversary(random.Random(seed), goal)
    found = climbed(climb(adversary.fresh, adversary.changed, tries=tries, patience=40),
                    lambda plan: lives(mesh, goal, plan, service=service).cycles or None)
    return found.value or 0
