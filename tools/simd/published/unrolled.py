"""The kernel without loops: a graph with a node for each time that a block runs; its longest path.

A node is a block with the place of each annotated branch in its pattern: an annotated branch has
one edge out of each node. A loop begins at its patterns' starts whenever it is entered. What is
left undecided are branches without annotation and injected pops.

The published analysis holds for kernels whose accesses are all on one path: from the start and
from each access, one access comes next, or none because the work-group ends (Sim-D, section 5.5).
Its authors' tool does not check that; `Unrolled.outside` does.

Ref: Sim-D, sections 5.4 and 5.5.
"""

from collections.abc import Callable
from dataclasses import dataclass

from cyclebound.golden.bound import NotCovered
from cyclebound.tools.simd.published.blocks import DONE, EdgeKind, Flow
from cyclebound.tools.simd.published.costs import Costs

__all__ = ["MOST_NODES", "Path", "Unrolled"]

MOST_NODES = 500_000
"""Nodes of the largest graph: an unrolled loop of 100,000 iterations and more."""

Node = tuple[int, tuple[int, ...]]


@dataclass(frozen=True)
class Path:
    """The longest path: blocks in order, and compute cycles from each to the next one."""

    blocks: tuple[int, ...]
    cycles: tuple[int, ...]


class Unrolled:
    """The graph of a kernel.

    Parameters
    ----------
    flow : Flow
        Its blocks and loops.
    costs : Costs
        Their compute cycles.

    Raises
    ------
    NotCovered
        For a loop without ``#bound``, by line, and a graph of more than `MOST_NODES`.
    """

    def __init__(self, flow: Flow, costs: Costs) -> None:
        self._flow, self._costs = flow, costs
        program = flow.program
        self._patterns = {number: pattern for number, block in enumerate(flow.blocks)
                          if (pattern := program.branches.get(block.last)) is not None}
        self._places = {number: place for place, number in enumerate(self._patterns)}
        self._start: tuple[int, ...] = tuple(
            pattern.start for pattern in self._patterns.values())
        # block to block: the annotated branches of the loops that this leaves
        self._reset: dict[tuple[int, int], tuple[int, ...]] = {}
        self.after: dict[Node, list[tuple[Node | None, int]]] = {}
        self.order = self._topological()

    # -- the graph -------------------------------------------------------------------------------

    def _successors(self, node: Node) -> list[tuple[Node | None, int]]:
        """Nodes after ``node``, None where the work-group ends, with the compute cycles there."""
        number, places = node
        edges = self._flow.blocks[number].edges
        if number in self._patterns:
            pattern, at = self._patterns[number], self._places[number]
            kind = (EdgeKind.TAKEN if places[at] < pattern.taken else EdgeKind.FALL_THROUGH)
            following = (places[at] + 1) % (pattern.taken + pattern.not_taken)
            places = (*places[:at], following, *places[at + 1:])
            edges = [edge for edge in edges if edge.kind is kind]
        successors: dict[Node | None, int] = {}
        for edge in edges:
            cost = self._costs.edge(number, edge)
            after = None if edge.target == DONE else (
                edge.target, self._entered(number, edge.target, places))
            successors[after] = max(successors.get(after, cost), cost)
        return list(successors.items())

    def _entered(self, number: int, target: int, places: tuple[int, ...]) -> tuple[int, ...]:
        """Patterns of loops that are left begin anew."""
        key = number, target
        if key not in self._reset:
            left = {block for loop in self._flow.loops
                    if number in loop.blocks and target not in loop.blocks
                    for block in loop.blocks}
            self._reset[key] = tuple(self._places[block] for block in left
                                     if block in self._places)
        for place in self._reset[key]:
            places = (*places[:place], self._start[place], *places[place + 1:])
        return places

    def _topological(self) -> list[Node]:
        """All nodes, each before those after it."""
        first: Node = (0, self._start)
        order: list[Node] = []
        open_nodes: dict[Node, bool] = {}  # True: on the current path
        waiting = [(first, False)]
        while waiting:
            node, left = waiting.pop()
            if left:
                open_nodes[node] = False
                order.append(node)
                continue
            if node in open_nodes:
                continue
            if len(open_nodes) >= MOST_NODES:
                raise NotCovered(f"{self._flow.program.name}: unrolled, its loops have more than "
                                 f"{MOST_NODES} blocks")
            open_nodes[node] = True
            waiting.append((node, True))
            self.after[node] = self._successors(node)
            for after, _ in self.after[node]:
                if after is None:
                    continue
                if open_nodes.get(after):
                    raise NotCovered(f"{self._where(node)}: goes back to "
                                     f"{self._line(self._flow.blocks[after[0]].first)} without a "
                                     "`#bound branchcycle` that ends the loop")
                waiting.append((after, False))
        return order[::-1]

    # -- the longest path --------------------------------------------------------------------------

    def longest(self, weight: Callable[[int], int]) -> Path:
        """The path of the greatest compute cycles and ``weight`` of its blocks' accesses."""
        best: dict[Node | None, tuple[int, Node | None, int]] = {None: (0, None, 0)}
        for node in reversed(self.order):
            own = weight(node[0])
            best[node] = max(((best[after][0] + cost + own, after, cost)
                              for after, cost in self.after[node]), key=lambda result: result[0])
        blocks, cycles = [], []
        here: Node | None = self.order[0]
        while here is not None:
            blocks.append(here[0])
            _, here, cost = best[here]
            cycles.append(cost)
        return Path(tuple(blocks), tuple(cycles))

    # -- the scope ---------------------------------------------------------------------------------

    def outside(self) -> list[str]:
        """Reasons why the published analysis does not hold for the kernel, each with its line.

        Besides a second access that may come next: a work-group that ends elsewhere than in an
        exit right after its last store to DRAM, and computes for longer before its end than on the
        path to the access that would have come next. Its phases are counted by the latter.
        """
        flow, reasons = self._flow, []
        following: dict[Node, dict[Node, int]] = {}  # the next accesses, compute cycles until there
        ends: dict[Node, int] = {}                   # compute cycles until the end without one
        for node in reversed(self.order):
            nexts: dict[Node, int] = {}
            for after, cost in self.after[node]:
                if after is None:
                    ends[node] = max(ends.get(node, 0), cost)
                    continue
                if flow.access(after[0]):
                    nexts[after] = max(nexts.get(after, 0), cost)
                    continue
                for access, more in following[after].items():
                    nexts[access] = max(nexts.get(access, 0), cost + more)
                if after in ends:
                    ends[node] = max(ends.get(node, 0), cost + ends[after])
            # two tell that there is no single one; more of them tell nothing else
            following[node] = dict(sorted(nexts.items())[:2])
        said = set()
        for node in self.order:
            if node != self.order[0] and not flow.access(node[0]):
                continue
            reason = self._reason(node, following[node], ends.get(node))
            if reason and reason not in said:
                said.add(reason)
                reasons.append(reason)
        return reasons

    def _reason(self, node: Node, nexts: dict[Node, int], end: int | None) -> str:
        flow = self._flow
        place = (self._where(node) if flow.access(node[0])
                 else f"{flow.program.name}: the start")
        if len(nexts) > 1:
            one, other = (self._named(following) for following in nexts)
            return f"{place}: either {one} or {other} may come next, by data"
        if end is None:
            return ""
        block = flow.blocks[node[0]]
        if not nexts:
            store, *then = flow.program.instructions[block.last:block.last + 2]
            if not (store.name.startswith("stg") and then and then[0].name == "exit"
                    and then[0].operand("A") is None):
                return (f"{place}: the last access is not a store to DRAM with an exit after it, "
                        "and what is computed after it does not count")
            return ""
        (access, cycles), = nexts.items()
        own = self._costs.blocks[access[0]]
        if end > cycles + own:
            return (f"{place}: a work-group that ends early may compute {end} cycles from here, "
                    f"more than the {cycles + own} to {self._named(access)}, by which it counts")
        return ""

    def _where(self, node: Node) -> str:
        return self._flow.program.where(self._flow.blocks[node[0]].last)

    def _line(self, index: int) -> str:
        program = self._flow.program
        return f"line {program.lines[index]}" if program.lines else f"instruction {index}"

    def _named(self, node: Node) -> str:
        last = self._flow.blocks[node[0]].last
        return f"{self._flow.program.instructions[last].name} in {self._line(last)}"
