"""What each step from an instruction to the next costs at most.

A step lasts from the cycle after an instruction begins to the one in which the next one begins, as
`cyclebound.golden.shmac.core_bounds.instruction` counts: the core cycles of its class, what its
access waits, and what the fetch of the *next* instruction waits. So the cost belongs to an edge.

A posted write holds up the next requests to its network (`Region.holds`) the less the later these
come: after the least time from the write to such a request on any route.
"""

import heapq
from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.shmac.core_bounds import CLASSES, class_of
from cyclebound.golden.shmac.memory_waits import AccessKind, MemoryWaits
from cyclebound.tools.shmac.wcet.code import WcetError
from cyclebound.tools.shmac.wcet.graph import Node, RouteGraph, instruction_at
from cyclebound.tools.shmac.wcet.loop_bounds import Analysed, Edge

__all__ = ["Cost", "edge_costs", "reset_cost"]

_LAST = 0xFFFF_FFFF
_LINKED = {"ll": AccessKind.LOAD_LINKED, "sc": AccessKind.STORE_CONDITIONAL}


class Cost(NamedTuple):
    """Cycles: of the core, and waits for instructions and for data."""

    core: int = 0
    fetch: int = 0
    data: int = 0

    @property
    def cycles(self) -> int:
        """All of them."""
        return self.core + self.fetch + self.data

    def times(self, count: int) -> "Cost":
        """So many of these."""
        return Cost(self.core * count, self.fetch * count, self.data * count)

    def plus(self, other: "Cost") -> "Cost":
        """Both."""
        return Cost(self.core + other.core, self.fetch + other.fetch, self.data + other.data)


def edge_costs(graph: RouteGraph, analysed: Analysed, memory: MemoryWaits) -> dict[Edge, Cost]:
    """The costs of all edges that can be taken. Raises `WcetError` where memory has no wait."""
    own: dict[tuple[Node, int], Cost] = {}
    fetches: dict[int | None, int] = {}
    gaps = _gaps(graph, analysed, memory)
    costs = {}
    for edge in analysed.edges:
        node, gap = edge[0], gaps.get(edge, 1)
        if (node, gap) not in own:
            own[node, gap] = _own(graph, node, analysed.addresses, memory, gap)
        address = _next(edge)
        if address not in fetches:
            fetches[address] = _fetch(graph, address, memory)
        costs[edge] = own[node, gap].plus(Cost(fetch=fetches[address]))
    return costs


def _next(edge: Edge) -> int | None:
    """The address of the next instruction; where the function ends: at a place before which it
    stops, or that it returns to."""
    node, target = edge
    return node.following if target is None else target.pc


def _gaps(graph: RouteGraph, analysed: Analysed, memory: MemoryWaits) -> dict[Edge, int]:
    """Of each edge from a store that others may wait for: cycles from the one in which it is taken
    to the next offer of a request that may wait for it, at least.

    An instruction's access is on offer from the cycle after it begins on, and the fetch of the next
    one in the cycle after a store was taken, else not before it begins.
    """
    if not any(region.holds for region in memory.regions):
        return {}
    kinds = {node: _kind(graph, node) for node, _ in analysed.edges}
    stores = {node for node, kind in kinds.items() if kind is AccessKind.WRITE
              and memory.may_wait_for_writes(kind, *_range(node, analysed.addresses))}
    fetched = {edge: memory.may_wait_for_writes(AccessKind.FETCH, *_at(_next(edge)))
               for edge in analysed.edges}
    # from an instruction's beginning to the next such request, at least
    least: dict[Node, int] = {}
    before: dict[Node, list[tuple[Node, int]]] = defaultdict(list)
    todo: list[tuple[int, int, Node]] = []

    def reach(node: Node, cycles: int) -> None:
        if cycles < least.get(node, cycles + 1):
            least[node] = cycles
            heapq.heappush(todo, (cycles, node.pc, node))

    lasts = {}
    for node, target in analysed.edges:
        kind, lasts[node] = kinds[node], _least(graph, node)
        if kind is not None and memory.may_wait_for_writes(
                kind, *_range(node, analysed.addresses)):
            reach(node, 1)
        if fetched[node, target]:
            reach(node, 0)
        elif target is None:  # whatever comes then
            reach(node, lasts[node])
        else:
            before[target].append((node, lasts[node]))
    while todo:
        cycles, _, node = heapq.heappop(todo)
        if cycles == least[node]:
            for earlier, lasting in before[node]:
                reach(earlier, cycles + lasting)
    gaps = {}
    for edge in analysed.edges:
        node, target = edge
        if node in stores:
            more = 0 if target is None else least.get(target, max(
                region.holds for region in memory.regions))
            gaps[edge] = 1 if fetched[edge] else lasts[node] + more - 1
    return gaps


def _least(graph: RouteGraph, node: Node) -> int:
    """Cycles from where an instruction begins to where the next one does, at least: its own, one
    for the fetch, and one for the response to a load."""
    kind = class_of(instruction_at(graph.program, node.pc)[0].name)
    return CLASSES[kind]() + 1 + (kind == "load")


def _kind(graph: RouteGraph, node: Node) -> AccessKind | None:
    """Of its access, if it has one."""
    name = instruction_at(graph.program, node.pc)[0].name
    if class_of(name) == "store":
        return AccessKind.WRITE
    return _LINKED.get(name, AccessKind.READ) if class_of(name) == "load" else None


def _range(node: Node, addresses: Mapping[Node, tuple[int, int]]) -> tuple[int, int]:
    low, high = addresses[node]
    return low & ~3, high


def _at(address: int | None) -> tuple[int, int]:
    """The range of an address; of one that is not known: all."""
    return (0, _LAST) if address is None else (address, address)


def reset_cost(graph: RouteGraph, memory: MemoryWaits) -> Cost:
    """From the first cycle after reset to the beginning of the first instruction.

    Its fetch is on offer in that cycle, and in the cycle of its response the core does not wait.
    """
    return Cost(1, _fetch(graph, graph.start.pc, memory))


def _fetch(graph: RouteGraph, address: int | None, memory: MemoryWaits) -> int:
    try:
        return memory.most(AccessKind.FETCH, *_at(address))
    except NotCovered as error:
        where = "the return" if address is None else graph.program.place(address)
        raise WcetError(f"{where}: {error}") from None


def _own(graph: RouteGraph, node: Node, addresses: Mapping[Node, tuple[int, int]],
         memory: MemoryWaits, gap: int) -> Cost:
    encoding, _ = instruction_at(graph.program, node.pc)
    kind, data = _kind(graph, node), 0
    if kind is not None:
        try:
            data = memory.most(kind, *_range(node, addresses), gap=gap)
        except NotCovered as error:
            raise WcetError(f"{encoding.name} at {graph.program.place(node.pc)}: {error}"
                            ) from None
    return Cost(CLASSES[class_of(encoding.name)](), 0, data)
