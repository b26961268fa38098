"""How often an outcome of a branch occurs, where that is less than in every round of its loop.

A `sicj` inside a loop, both of whose outcomes stay in it, is passed once in a round at most. Where
the register that it tests is a known counter, its outcomes are followed round by round, as those of
the branch that leaves the loop are (`loop_bounds`); a ``#bound branchcycle T N`` says what any
rounds that follow each other have. A run that shows another pattern is an error in the annotation
(`observed`).

Where a `sicj` tests the same known number each time, one outcome is no part of the graph; neither
is it where a branch that no loop has around it, and which runs once at most, has a pattern. What is
a pattern is told on the whole graph (`annotations`), as the check of a run does.

Ref: Sim-D, section 5.4.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from cyclebound.golden.simd import arithmetic
from cyclebound.golden.simd.machine import Grid
from cyclebound.golden.simd.program import Branches
from cyclebound.tools.simd.wcet.annotations import annotations_of
from cyclebound.tools.simd.wcet.graph import Edge, How, Node, RouteGraph, WcetError
from cyclebound.tools.simd.wcet.loop_bounds import BoundedLoops
from cyclebound.tools.simd.wcet.loops import Dominators, Loop, loops_of
from cyclebound.tools.simd.wcet.scalars import ScalarValues

__all__ = ["FlowFact", "facts_of", "most_in", "without_known_branches"]

_MOST = 1 << 16  # rounds that are carried out
_PER_LOOP = 4    # facts of one loop; those of the rarest outcomes


@dataclass(frozen=True)
class FlowFact:
    """``edge`` is taken ``most`` times at most for each entry into ``loop``, which ``rounds``, the
    passes of its header, would allow.

    ``inferred``: not from an annotation.
    """

    edge: Edge
    loop: Loop
    most: int
    rounds: int
    inferred: bool


def most_in(pattern: Branches, taken: bool, passes: int) -> int:
    """How often the branch has this outcome in ``passes`` that follow each other, at most."""
    times, period = (pattern.taken if taken else pattern.not_taken,
                     pattern.taken + pattern.not_taken)
    return passes // period * times + min(times, passes % period)


def facts_of(loops: BoundedLoops) -> dict[Edge, FlowFact]:
    """All facts of a kernel's loops, by their edges.

    Raises
    ------
    WcetError
        For an annotation that a known counter contradicts, with its line.
    """
    found: dict[Loop, list[FlowFact]] = {}
    for node in loops.graph.after:
        for fact in _of_branch(loops, node):
            found.setdefault(fact.loop, []).append(fact)
    return {fact.edge: fact for facts in found.values()
            for fact in sorted(facts, key=lambda fact: fact.most)[:_PER_LOOP]}


def _of_branch(loops: BoundedLoops, node: Node) -> Iterator[FlowFact]:
    graph, loop = loops.graph, loops.innermost(node)
    edges = graph.after[node]
    if loop is None or graph.instruction(node).name != "sicj" or any(map(loop.leaves, edges)) \
            or len({edge.target for edge in edges}) < 2:
        return
    rounds = loops.bounds[loop].most + 1
    counted = annotated = None
    if rounds <= _MOST and loops.once(loop, node):
        known = list(itertools.islice(loops.outcomes(loop, node), rounds))
        if len(known) == rounds:
            counted = {taken: known.count(taken) for taken in (True, False)}
    pattern = annotations_of(graph).get(node)
    # the pattern goes on from one place of an instruction to another
    if isinstance(pattern, Branches) and sum(other.at == node.at for other in graph.after) == 1 \
            and sum(each.header == loop.header for each in loops.loops) == 1:
        annotated = {taken: most_in(pattern, taken, rounds) for taken in (True, False)}
    for edge in edges:
        taken = edge.how is How.TAKEN
        if counted is not None and annotated is not None and loops.bounds[loop].exact \
                and counted[taken] > annotated[taken]:
            raise WcetError(
                f"{graph.program.where(node.at)}: #bound branchcycle says that the branch is "
                f"{'' if taken else 'not '}taken at most {annotated[taken]} times in {rounds} "
                f"rounds, and it is {counted[taken]} times")
        said = [each[taken] for each in (counted, annotated) if each is not None]
        if said and min(said) < rounds:
            yield FlowFact(edge, loop, min(said), rounds,
                           counted is not None and min(said) == counted[taken])


def without_known_branches(graph: RouteGraph, grid: Grid | None) -> RouteGraph:
    """``graph`` without outcomes of branches that never occur; itself if there are none.

    Raises `WcetError` for an annotation that a known value contradicts, with its line.
    """
    dominators = Dominators(graph)
    values, gone = ScalarValues(graph, dominators, grid), set[Edge]()
    looped = {node.at for loop in loops_of(graph, dominators) for node in loop.body}
    for node, edges in graph.after.items():
        if graph.instruction(node).name != "sicj" or len(edges) != 2:
            continue
        tested = graph.instruction(node).operand("A")
        value = values.before(node).get(("s", tested.value)) if tested is not None else None
        taken = promised = None
        if isinstance(value, int):
            taken = arithmetic.CONDITIONS[graph.instruction(node).sub](
                value ^ 0x8000_0000, 0x8000_0000)
        pattern = annotations_of(graph).get(node)
        if isinstance(pattern, Branches) and node.at not in looped \
                and sum(other.at == node.at for other in graph.after) == 1:
            promised = pattern.start < pattern.taken
        if taken is not None and promised is not None and taken != promised:
            raise WcetError(f"{graph.program.where(node.at)}: #bound branchcycle says that the "
                            f"branch is {'' if promised else 'not '}taken, and it is not so")
        taken = promised if taken is None else taken
        if taken is not None:
            gone |= {edge for edge in edges if (edge.how is How.TAKEN) != taken}
    return graph.without(gone) if gone else graph
