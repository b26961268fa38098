"""What each step from an instruction to the next costs at most.

A step lasts from the cycle after an instruction begins to the one in which the next one begins, as
`cyclebound.golden.shmac.core_bounds.instruction` counts: the core cycles of its class, what its
access waits, and what the fetch of the *next* instruction waits. So the cost belongs to an edge.
"""

from collections.abc import Mapping
from typing import NamedTuple

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.shmac.core_bounds import CLASSES, class_of
from cyclebound.golden.shmac.memory_waits import AccessKind, MemoryWaits
from cyclebound.tools.shmac.wcet.code import WcetError
from cyclebound.tools.shmac.wcet.graph import Node, RouteGraph, instruction_at
from cyclebound.tools.shmac.wcet.loop_bounds import Analysed, Edge

__all__ = ["Cost", "edge_costs", "reset_cost"]


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
    own: dict[Node, Cost] = {}
    fetches: dict[int | None, int] = {}
    for node, target in analysed.edges:
        if node not in own:
            own[node] = _own(graph, node, analysed.addresses, memory)
        # where the function ends: at a place before which it stops, or that it returns to
        address = node.following if target is None else target.pc
        if address not in fetches:
            fetches[address] = _fetch(graph, address, memory)
    return {edge: own[edge[0]].plus(Cost(fetch=fetches[
        edge[0].following if edge[1] is None else edge[1].pc])) for edge in analysed.edges}


def reset_cost(graph: RouteGraph, memory: MemoryWaits) -> Cost:
    """From the first cycle after reset to the beginning of the first instruction.

    Its fetch is on offer in that cycle, and in the cycle of its response the core does not wait.
    """
    return Cost(1, _fetch(graph, graph.start.pc, memory))


def _fetch(graph: RouteGraph, address: int | None, memory: MemoryWaits) -> int:
    try:
        return (memory.most(AccessKind.FETCH) if address is None else
                memory.most(AccessKind.FETCH, address, address))
    except NotCovered as error:
        where = "the return" if address is None else graph.program.place(address)
        raise WcetError(f"{where}: {error}") from None


def _own(graph: RouteGraph, node: Node, addresses: Mapping[Node, tuple[int, int]],
         memory: MemoryWaits) -> Cost:
    encoding, _ = instruction_at(graph.program, node.pc)
    kind = class_of(encoding.name)
    data = 0
    if kind in ("load", "store"):
        try:
            data = _access(encoding.name, memory, *addresses[node])
        except NotCovered as error:
            raise WcetError(f"{encoding.name} at {graph.program.place(node.pc)}: {error}"
                            ) from None
    return Cost(CLASSES[kind](), 0, data)


def _access(name: str, memory: MemoryWaits, low: int, high: int) -> int:
    """What an access from ``low`` to ``high`` costs at most. Raises `NotCovered`."""
    kind = {"ll": AccessKind.LOAD_LINKED, "sc": AccessKind.STORE_CONDITIONAL}.get(
        name, AccessKind.WRITE if class_of(name) == "store" else AccessKind.READ)
    return memory.most(kind, low & ~3, high)
