"""The worst route as a problem of whole numbers: implicit path enumeration.

A number for each edge says how often it is taken. As often as an instruction is come to, it is
left; a loop's edges are taken no more often than its bound allows for each entry. The greatest sum
of costs is no less than that of any route, and these numbers say how it is spent.

Ref: Li and Malik.
"""

from collections.abc import Mapping

from ortools.sat.python import cp_model

from cyclebound.tools.shmac.wcet.code import LoopFact, WcetError
from cyclebound.tools.shmac.wcet.costs import Cost
from cyclebound.tools.shmac.wcet.graph import Node
from cyclebound.tools.shmac.wcet.loop_bounds import Analysed, Edge, LoopBound
from cyclebound.tools.shmac.wcet.loops import Loop

__all__ = ["path_counts"]

_MOST = 1 << 53  # cycles


def path_counts(analysed: Analysed, costs: Mapping[Edge, Cost], facts: Mapping[int, LoopFact],
                limit: int) -> tuple[int, dict[Edge, int]]:
    """The most cycles, and how often each edge is then taken.

    ``limit`` is a number of cycles that no route exceeds. Raises `WcetError` if no route ends.
    """
    if limit > _MOST:
        raise WcetError(f"{limit:,} cycles are more than this can count")
    chains = _chains(analysed)
    model = cp_model.CpModel()
    counts: dict[Edge, cp_model.IntVar] = {}
    weights: dict[int, int] = {}
    variables: list[cp_model.IntVar] = []
    for number, chain in enumerate(chains):
        weights[number] = sum(costs[edge].cycles for edge in chain)
        variables.append(model.new_int_var(0, limit // max(1, weights[number]), f"x{number}"))
        counts.update(dict.fromkeys(chain, variables[number]))
    into: dict[Node | None, list[cp_model.IntVar]] = {}
    out: dict[Node | None, list[cp_model.IntVar]] = {}
    for chain, count in zip(chains, variables, strict=True):
        out.setdefault(chain[0][0], []).append(count)
        into.setdefault(chain[-1][1], []).append(count)
    if None not in into:
        raise WcetError("no route ends")
    start = analysed.whole.head
    for node in {*into, *out} - {None}:
        model.add(sum(into.get(node, [])) + (node == start) == sum(out.get(node, [])))
    model.add(sum(into[None]) == 1)
    before: dict[Node | None, list[Edge]] = {}
    for edge in analysed.edges:
        before.setdefault(edge[1], []).append(edge)

    def entries(loop: Loop) -> cp_model.LinearExprT:
        return sum(counts[edge] for edge in before.get(loop.head, ())
                   if edge[0] not in loop.nodes) + (loop.head == start)

    def in_rounds(loop: Loop, bound: LoopBound, backs: cp_model.LinearExprT) -> None:
        """A loop whose bound is another one in each round of the loop around it."""
        assert bound.around is not None
        reached = [found for found in bound.by_round if found is not None]
        around = entries(bound.around)
        model.add(entries(loop) <= len(reached) * around)
        model.add(backs <= sum(found.rounds - 1 for found in reached) * around)
        for test in bound.tests:
            stays = [same.most for found in reached for same in found.tests
                     if same.stay == test.stay]
            if test.stay in counts and len(stays) == len(reached):
                model.add(counts[test.stay] <= sum(stays) * around)

    totals: dict[int, list[Loop]] = {}
    for loop, bound in analysed.bounds.items():
        backs = sum(counts[edge] for edge in before.get(loop.head, ()) if edge[0] in loop.nodes)
        for test in bound.tests:
            if test.stay in counts:
                model.add(counts[test.stay] <= test.most * entries(loop))
        for rounds in (bound.counted, bound.stated):
            if rounds is not None:
                model.add(backs <= (rounds - 1) * entries(loop))
        if bound.around is not None:
            in_rounds(loop, bound, backs)
        totals.setdefault(loop.head.pc, []).append(loop)
    for address, fact in facts.items():
        if fact.total is not None:
            model.add(sum(sum(counts[edge] for edge in before.get(loop.head, ()))
                          + (loop.head == start) for loop in totals.get(address, ()))
                      <= fact.total)
    model.maximize(sum(weights[number] * count for number, count in enumerate(variables)))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        raise WcetError("no route keeps all bounds that are stated")
    if status != cp_model.OPTIMAL:
        raise AssertionError(f"the greatest sum was not found: {solver.status_name(status)}")
    found = {edge: solver.value(count) for edge, count in counts.items()}
    return sum(costs[edge].cycles * times for edge, times in found.items()), found


def _chains(analysed: Analysed) -> list[list[Edge]]:
    """The edges, put together where one follows the other in any case."""
    after: dict[Node, list[Edge]] = {}
    before: dict[Node | None, int] = {analysed.whole.head: 2}  # where a chain begins
    for edge in analysed.edges:
        after.setdefault(edge[0], []).append(edge)
        before[edge[1]] = before.get(edge[1], 0) + 1

    def inside(node: Node | None) -> bool:
        return node is not None and before.get(node) == 1 and len(after.get(node, ())) == 1

    chains = []
    for edge in sorted(analysed.edges, key=lambda edge: tuple(
            -1 if node is None else node.pc for node in edge)):
        if not inside(edge[0]):
            chain = [edge]
            while inside(chain[-1][1]):
                node = chain[-1][1]
                assert node is not None
                chain.append(after[node][0])
            chains.append(chain)
    return chains
