"""The loops of a route graph: natural loops and their nesting.

A loop is entered at its header only. Back edges to the same header are one loop; where that loop
has no bound, but its back edges make loops one within the other, it is taken apart (`split`): two
``sicj`` to the same label, the inner with a bound of its own.

Ref: Sim-D, section 5.4.
"""

import itertools
from dataclasses import dataclass, field

from cyclebound.tools.simd.wcet.graph import Edge, Node, RouteGraph, WcetError

__all__ = ["Dominators", "Loop", "loops_of", "nested", "parts_of"]


class Dominators:
    """The dominators of each node: those on every route from the start to it.

    Ref: Cooper, Harvey and Kennedy, A Simple, Fast Dominance Algorithm.
    """

    def __init__(self, graph: RouteGraph) -> None:
        self.order = _reverse_postorder(graph)
        self.place = {node: place for place, node in enumerate(self.order)}
        self._above: dict[Node, Node] = {graph.start: graph.start}
        changed = True
        while changed:
            changed = False
            for node in self.order[1:]:
                found: Node | None = None
                for edge in graph.before[node]:
                    if edge.source in self._above:
                        found = edge.source if found is None else self._common(found, edge.source)
                assert found is not None
                if self._above.get(node) != found:
                    self._above[node] = found
                    changed = True

    def _common(self, one: Node, other: Node) -> Node:
        while one != other:
            while self.place[one] > self.place[other]:
                one = self._above[one]
            while self.place[other] > self.place[one]:
                other = self._above[other]
        return one

    def on_every_route(self, node: Node, to: Node) -> bool:
        """No route from the start reaches ``to`` without ``node``."""
        while self.place[to] > self.place[node]:
            to = self._above[to]
        return to == node


def _reverse_postorder(graph: RouteGraph) -> list[Node]:
    done: list[Node] = []
    seen = {graph.start}
    waiting = [(graph.start, iter(graph.after[graph.start]))]
    while waiting:
        node, edges = waiting[-1]
        for edge in edges:
            if edge.target is not None and edge.target not in seen:
                seen.add(edge.target)
                waiting.append((edge.target, iter(graph.after[edge.target])))
                break
        else:
            done.append(node)
            waiting.pop()
    return done[::-1]


@dataclass(eq=False)
class Loop:
    """A natural loop.

    Attributes
    ----------
    header : Node
        Where it is entered.
    back : list of Edge
        Its edges to the header from within.
    body : set of Node
        All of its nodes.
    parent : Loop or None
        The smallest loop around it.
    """

    header: Node
    back: list[Edge]
    body: set[Node]
    parent: "Loop | None" = None
    depth: int = field(default=1)

    def leaves(self, edge: Edge) -> bool:
        """The edge begins in the loop and ends outside."""
        return edge.source in self.body and edge.target not in self.body


def natural_loop(graph: RouteGraph, header: Node, back: list[Edge]) -> Loop:
    """The nodes from which ``back`` can be reached without passing ``header``."""
    body = {header}
    waiting = [edge.source for edge in back]
    while waiting:
        node = waiting.pop()
        if node not in body:
            body.add(node)
            waiting.extend(edge.source for edge in graph.before[node])
    return Loop(header, back, body)


def parts_of(graph: RouteGraph, loop: Loop) -> list[Loop]:
    """The back edges of a loop as loops of their own, the innermost first; none, if they are not
    several, one within the other."""
    parts = sorted((natural_loop(graph, loop.header, [edge]) for edge in loop.back),
                   key=lambda part: len(part.body))
    chained = all(one.body < other.body for one, other in itertools.pairwise(parts))
    return parts if len(parts) > 1 and chained else []


def loops_of(graph: RouteGraph, dominators: Dominators) -> list[Loop]:
    """All loops, the innermost first.

    Raises `WcetError`, naming line and instruction, for a loop that can be entered at two places.
    """
    back: dict[Node, list[Edge]] = {}
    for node in dominators.order:
        for edge in graph.after[node]:
            target = edge.target
            if target is None or dominators.place[target] > dominators.place[node]:
                continue
            if not dominators.on_every_route(target, node):
                raise WcetError(f"{graph.program.where(target.at)}: a loop is entered here and "
                                f"at another place as well; it comes back from "
                                f"{graph.program.where(node.at)}")
            back.setdefault(target, []).append(edge)
    found = [natural_loop(graph, header, edges) for header, edges in back.items()]
    return nested(found)


def nested(found: list[Loop]) -> list[Loop]:
    """Loops with their parents and depths, the innermost first."""
    found = sorted(found, key=lambda loop: len(loop.body))
    for place, loop in enumerate(found):
        loop.parent = next((inner for inner in found[place + 1:]
                            if loop.header in inner.body and loop.body <= inner.body), None)
    for loop in reversed(found):
        loop.depth = 1 if loop.parent is None else loop.parent.depth + 1
    return found
