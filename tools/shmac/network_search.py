"""A search for the slowest requests of one master among others, on SHMAC's network.

An adversary chooses what each master begins in which cycle. It knows nothing of routers and bounds,
and sees how long the requests of one of them take; so it serves the golden model and the RTL.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cyclebound.golden.noc.routes import Mesh, Tile
from cyclebound.golden.shmac.exchange import ExchangeModel, Seen, Wish
from cyclebound.golden.shmac.network_bounds import NetworkBounds
from cyclebound.golden.shmac.traffic import HOST, Senders
from cyclebound.tools.hill_climb import climb, climbed

__all__ = ["Goal", "Longest", "Period", "Plan", "ShmacNetworkAdversary", "Together", "latest",
           "lives", "searched", "wishes"]

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
    most : int
        Only those that find so many of the same master under way at most; `MANY`: all.
    cycles : int
        Of each candidate.
    """

    masters: Senders
    victim: Tile
    target: Tile
    write: bool
    most: int
    cycles: int

    @property
    def kept(self) -> dict[Tile, int]:
        """How many requests may be under way where a master begins, if not any number."""
        return {self.victim: self.most}


class ShmacNetworkAdversary:
    """Draws and changes plans."""

    def __init__(self, rng: random.Random, goal: Goal) -> None:
        self.rng, self.goal = rng, goal
        self._writes = _MANY  # the share of writes among the others' requests

    def _wish(self, tile: Tile) -> Wish | None:
        goal, rng = self.goal, self.rng
        if rng.random() < 0.15:
            return None
        if tile == goal.victim and (not goal.most or rng.random() < 0.5):
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


class Together:
    """All requests of a master, against `NetworkBounds.held_together`: by how many cycles one ends
    later than it may at most, in ``over``; below 0 if none does. Of those that no write holds up
    only too late ones count.

    The bound of each: from any request j of the same master before it, or from itself, x(j), when
    that was on offer, what it takes if nothing of its master is under way, and for each write from
    j on, before it, what that holds up; for a write to be taken, only the last.
    """

    def __init__(self, masters: Senders, victim: Tile, bounds: NetworkBounds) -> None:
        self.over: int | None = None
        self._victim, self._holds = victim, bounds.held_together(victim)
        self._first = {(target, write): (bounds.write if write else bounds.read)(
            victim, target, behind=0) for target in masters[victim] for write in (False, True)}
        self._cycle = self._from = 0
        self._offered = False
        self._held = False
        # by target: x(j) + ..., whether a write before it counts, whether it is a write itself
        self._under_way: dict[Tile, list[tuple[int, bool, bool]]] = {}
        self._read: tuple[int, bool, Tile] | None = None

    def _ends(self, latest: int, *, held: bool) -> None:
        late = self._cycle - latest
        if held or late > 0:
            self.over = late if self.over is None else max(self.over, late)

    def see(self, seen: Seen) -> None:
        """One cycle."""
        victim, offer = self._victim, seen.offers.get(self._victim)
        if offer is not None:
            if not self._offered:
                self._held = self._from > self._cycle
                self._from = max(self._from, self._cycle)
                self._under_way.setdefault(offer.target, []).append(
                    (self._from, self._held, offer.write))
                if not offer.write:
                    self._read = self._from, self._held, offer.target
            if victim in seen.taken:
                self._ends(self._from, held=self._held)
                self._from += self._holds if offer.write else 0
        self._offered = offer is not None and victim not in seen.taken
        for tile, waiting in self._under_way.items():
            if (victim, tile) in seen.landed:
                since, held, write = waiting.pop(0)
                if write:
                    self._ends(since + self._first[tile, write] - 1, held=held)
        if victim in seen.received and self._read is not None:
            since, held, tile = self._read
            self._ends(since + self._first[tile, False] - 1, held=held)
            self._read = None
        self._cycle += 1


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


def latest(mesh: Mesh, goal: Goal, plan: Plan, bounds: NetworkBounds, *,
           service: int | Mapping[Tile, int], overlaps: bool = False) -> int | None:
    """`Together.over` on the golden model."""
    model = ExchangeModel(mesh, service=service, overlaps=overlaps, most=goal.kept)
    together = Together(goal.masters, goal.victim, bounds)
    for wish in wishes(plan, goal.cycles):
        together.see(model.step(wish))
    return together.over


def lives(mesh: Mesh, goal: Goal, plan: Plan, *, service: int | Mapping[Tile, int],
          overlaps: bool = False) -> Longest:
    """What takes longest on the golden model."""
    model = ExchangeModel(mesh, service=service, overlaps=overlaps, most=goal.kept)
    longest = Longest(goal)
    for wish in wishes(plan, goal.cycles):
        longest.see(model.step(wish))
    return longest


def searched(mesh: Mesh, goal: Goal, *, service: int | Mapping[Tile, int], tries: int, seed: int,
             overlaps: bool = False) -> int:
    """The most cycles that a search on the golden model comes to."""
    adversary = ShmacNetworkAdversary(random.Random(seed), goal)
    found = climbed(climb(adversary.fresh, adversary.changed, tries=tries, patience=40),
                    lambda plan: lives(mesh, goal, plan, service=service,
                                       overlaps=overlaps).cycles or None)
    return found.value or 0
