"""Routing on the grid by negotiated congestion: every net wants short paths, links become dearer.

Source: SGMF, section 5.3, for what is routed; the method is McMurchie and Ebeling's PathFinder.
"""

import heapq
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass

from cyclebound.golden.dataflow.bitstream import Net, Route
from cyclebound.golden.dataflow.grid import PORTS, Grid, Node

__all__ = ["Demand", "RoutingError", "Topology", "route"]

Link = tuple[Node, int]


class RoutingError(ValueError):
    """No path was found for all nets; says which share links still."""

    def __init__(self, nets: Sequence[str]) -> None:
        super().__init__(f"no routes for {', '.join(nets)}")
        self.nets = tuple(nets)


@dataclass(frozen=True)
class Demand:
    """A net before it is routed: a unit's channel, and the operands that want it. An operand of
    None is any port of the unit."""

    name: str
    unit: Node
    channel: int
    sinks: tuple[tuple[Node, int | None], ...]


class Topology:
    """Links of a grid, and what follows what.

    Attributes
    ----------
    ends : dict of Link to Node
        Where a link goes to.
    """

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.ends: dict[Link, Node] = {}
        self._entry: dict[Link, int] = {}
        for node, port, peer, entry in grid.links():
            self.ends[node, port], self._entry[node, port] = peer, entry
        self._after = {link: self._next(link) for link in self.ends}

    def starts(self, unit: Node) -> list[Link]:
        return [(unit, port) for port in range(PORTS) if (unit, port) in self.ends]

    def _next(self, link: Link) -> list[Link]:
        node = self.ends[link]
        if not node.switch:
            return []
        return [(node, port) for port in range(PORTS) if port != self._entry[link]]

    def after(self, link: Link) -> list[Link]:
        """The links that may follow a link."""
        return self._after[link]

    def entry(self, link: Link) -> int:
        """The port at which a link comes in."""
        return self._entry[link]

    def distances(self, unit: Node) -> dict[Node, int]:
        """The fewest links of a path to each unit."""
        distances: dict[Node, int] = {}
        queue = deque((link, 1) for link in self.starts(unit))
        seen = set(self.starts(unit))
        while queue:
            link, length = queue.popleft()
            if not self.ends[link].switch:
                distances.setdefault(self.ends[link], length)
            for following in self.after(link):
                if following not in seen:
                    seen.add(following)
                    queue.append((following, length + 1))
        return distances


class _Router:
    def __init__(self, topology: Topology, demands: Sequence[Demand]) -> None:
        self.topology, self.demands = topology, demands
        self.before: list[dict[Link, Link | None]] = [{} for _ in demands]  # by net: its tree
        self.last: list[list[Link]] = [[] for _ in demands]                 # by net and sink
        self.users: Counter[Link] = Counter()
        self.history: Counter[Link] = Counter()

    def _cost(self, link: Link, dear: float) -> float:
        return (1 + self.history[link]) * (1 + dear * self.users[link])

    def path(self, number: int, target: Node, dear: float) -> None:
        """Extend a net's tree to one more sink."""
        tree, topology = self.before[number], self.topology
        heap: list[tuple[float, int, Link, Link | None, bool]] = [
            (0.0, index, link, None, True) for index, link in enumerate(tree)]
        heap += [(self._cost(link, dear), -1 - index, link, None, False)
                 for index, link in enumerate(topology.starts(self.demands[number].unit))
                 if link not in tree]
        heapq.heapify(heap)
        reached: dict[Link, Link | None] = {}
        ticket = len(heap)
        while heap:
            cost, _, link, before, old = heapq.heappop(heap)
            if link in reached:
                continue
            reached[link] = before
            if topology.ends[link] == target and not old:
                self.last[number].append(link)
                step: Link | None = link
                while step is not None and step not in tree:
                    tree[step] = reached[step]
                    self.users[step] += 1
                    step = reached[step]
                return
            for following in topology.after(link):
                end = topology.ends[following]
                if following not in tree and following not in reached and (
                        end.switch or end == target):
                    ticket += 1
                    heapq.heappush(heap, (cost + self._cost(following, dear), ticket, following,
                                          link, False))
        raise RoutingError([self.demands[number].name])

    def rip(self, number: int) -> None:
        for link in self.before[number]:
            self.users[link] -= 1
        self.before[number], self.last[number] = {}, []

    def net(self, number: int) -> Net:
        demand = self.demands[number]
        routes: list[Route] = []
        for (_, operand), last in zip(demand.sinks, self.last[number], strict=True):
            links: list[Link] = []
            link: Link | None = last
            while link is not None:
                links.append(link)
                link = self.before[number][link]
            entry = self.topology.entry(last)
            routes.append(Route(tuple(links[::-1]), entry if operand is None else operand))
        return Net(demand.name, demand.unit, demand.channel, tuple(routes))


def route(topology: Topology, demands: Sequence[Demand], *, rounds: int = 60) -> list[Net]:
    """A path for every net. Raises `RoutingError` if they share links after so many rounds.

    A path ends with a link of its own for each operand, even if one net feeds two of a unit.
    """
    router = _Router(topology, demands)
    order = sorted(range(len(demands)), key=lambda k: -len(demands[k].sinks))
    dear = 0.5
    shared: list[Link] = []
    for _ in range(rounds):
        for number in order:
            if router.before[number] and not any(router.users[link] > 1
                                                 for link in router.before[number]):
                continue
            router.rip(number)
            for unit, _ in demands[number].sinks:
                router.path(number, unit, dear)
        shared = [link for link, users in router.users.items() if users > 1]
        if not shared:
            return [router.net(number) for number in range(len(demands))]
        router.history.update(shared)
        dear *= 1.3
    raise RoutingError(sorted({demands[number].name for number in order
                               if any(link in router.before[number] for link in shared)}))
