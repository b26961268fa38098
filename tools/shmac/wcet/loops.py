"""The loops of a graph, each in those around it.

A loop is a strongly connected part of the graph. It has one *head*, the instruction at which it is
entered; without the edges back to its head, the strongly connected parts of the rest are the loops
in it. Two loops with one head are one. A part with two entries is refused: it is irreducible.
"""

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass, field

import networkx

from cyclebound.tools.shmac.wcet.code import WcetError
from cyclebound.tools.shmac.wcet.graph import Node, RouteGraph

__all__ = ["Loop", "nest", "round_without"]

_DEPTH = 50


@dataclass(eq=False)
class Loop:
    """A loop; or the function as a whole, which is entered once.

    Attributes
    ----------
    head : Node
        Where it is entered.
    nodes : set of Node
        All of its instructions, those of the loops in it among them.
    inner : list of Loop
        The loops directly in it.
    order : list
        What is directly in it, nodes and loops, so that each comes after all that lead to it; the
        head first.
    owner : dict
        For each of its nodes, what in ``order`` has it.
    """

    head: Node
    nodes: set[Node]
    inner: list["Loop"] = field(default_factory=list)
    order: list["Node | Loop"] = field(default_factory=list)
    owner: dict[Node, "Node | Loop"] = field(default_factory=dict)

    def all(self) -> Iterator["Loop"]:
        """The loops in it, each before those in it."""
        for loop in self.inner:
            yield loop
            yield from loop.all()


def nest(graph: RouteGraph) -> Loop:
    """The whole function, with its loops. Raises `WcetError` for a loop with two entries,
    and for too many in each other."""
    edges = networkx.DiGraph()
    edges.add_nodes_from(graph.nodes)
    edges.add_edges_from((node, follower) for node, after in graph.after.items()
                         for follower in after if follower is not None)
    before = graph.before()
    whole = Loop(graph.start, set(graph.nodes))
    waiting = [(whole, edges, 0)]
    while waiting:
        region, part, depth = waiting.pop()
        if depth > _DEPTH:
            raise WcetError(f"loops must be nested {_DEPTH} deep at most, and more are at "
                            f"{graph.program.place(region.head.pc)}")
        part = part.copy()
        if depth:
            part.remove_edges_from(list(part.in_edges(region.head)))
        for nodes in networkx.strongly_connected_components(part):
            node = next(iter(nodes))
            if len(nodes) == 1 and not part.has_edge(node, node):
                region.owner[node] = node
                continue
            loop = Loop(_head(graph, nodes, before), set(nodes))
            region.inner.append(loop)
            region.owner.update(dict.fromkeys(nodes, loop))
            waiting.append((loop, part.subgraph(nodes), depth + 1))
        region.order = _sorted(region, part.edges)
    return whole


def _head(graph: RouteGraph, nodes: set[Node], before: dict[Node | None, list[Node]]) -> Node:
    heads = sorted({node for node in nodes if node == graph.start
                    or any(other not in nodes for other in before[node])},
                   key=lambda node: node.pc)
    if len(heads) > 1:
        raise WcetError("a loop must be entered at one instruction, and one is at "
                        + " and at ".join(graph.program.place(node.pc) for node in heads))
    return heads[0]


def _sorted(region: Loop, edges: Iterable[tuple[Node, Node]]) -> list[Node | Loop]:
    order = networkx.DiGraph()
    order.add_nodes_from(region.owner.values())
    order.add_edges_from((region.owner[one], region.owner[other]) for one, other in edges
                         if region.owner[one] is not region.owner[other])
    return list(networkx.topological_sort(order))


def round_without(region: Loop, after: Callable[[Node], Iterable[Node | None]],
                  without: Set[Node]) -> bool:
    """Whether a round of a loop can do without all of these instructions."""
    if region.head in without:
        return False
    seen, waiting = {region.head}, [region.head]
    while waiting:
        for follower in after(waiting.pop()):
            if follower == region.head:
                return True
            if follower in region.nodes and follower not in seen and follower not in without:
                assert follower is not None
                seen.add(follower)
                waiting.append(follower)
    return False
