"""Pops that leave a lane active, so that no further one is injected.

Some lane is active whenever an instruction runs. `cpush` and `call` without a predicate save a
mask in which those lanes are set; when their entry is popped, those lanes are active again unless
another mask has been changed since and not restored. Where that can be ruled out, hardware stops
popping: routes that pop further, or end, do not exist (docs/simd_wcet.md).

For each entry of a node's stack a `Kept` says which masks may have lost its lanes since it was
pushed.
"""

from typing import NamedTuple

from cyclebound.golden.simd.isa import STACK_KINDS, Instruction
from cyclebound.tools.simd.wcet.graph import Edge, How, Node, RouteGraph

__all__ = ["without_dead_pops"]

_CLEARS = {"cmask": "run", "brk": "break", "ret": "ret", "exit": "exit", "bra": "run"}


class Kept(NamedTuple):
    """Known facts about an entry of the control stack.

    Attributes
    ----------
    lost : frozenset of str
        Masks that may lack its lanes by now.
    anything : bool
        It saves a predicate: its mask may hold anything.
    below : frozenset of int
        Entries below it that its own kind of mask may have lost before it was pushed.
    """

    lost: frozenset[str]
    anything: bool
    below: frozenset[int]

    def joined(self, other: "Kept") -> "Kept":
        return Kept(self.lost | other.lost, self.anything or other.anything,
                    self.below | other.below)


Facts = tuple[Kept, ...]


def _executed(instruction: Instruction, facts: Facts) -> Facts:
    """The entries after an instruction, the one that it pushes among them, but none popped."""
    name = instruction.name
    predicated = instruction.operand("A") is not None
    kind = {"cpush": STACK_KINDS.get(instruction.sub, ""), "bra": "run", "call": "ret"}.get(name)
    pushed = () if kind is None else (Kept(
        frozenset(), predicated,
        frozenset(number for number, fact in enumerate(facts) if kind in fact.lost)),)
    cleared = "ret" if name == "call" and predicated else _CLEARS.get(name)
    if cleared is not None:
        facts = tuple(fact._replace(lost=fact.lost | {cleared}) for fact in facts)
    return (*facts, *pushed)


def _popped(facts: Facts, kind: str) -> Facts:
    """The entries that stay when the topmost one, of a kind of mask, is popped."""
    top, rest = facts[-1], facts[:-1]
    return tuple(fact._replace(
        lost=fact.lost | {kind} if top.anything or number in top.below else fact.lost - {kind})
        for number, fact in enumerate(rest))


def without_dead_pops(graph: RouteGraph) -> RouteGraph:
    """``graph`` without the edges that no lanes can take."""
    facts: dict[Node, Facts] = {graph.start: ()}
    kept: dict[Node, list[Edge]] = {}
    waiting = [graph.start]
    while waiting:
        node = waiting.pop()
        kept[node] = []
        for edge, after in _possible(graph, node, facts[node]):
            kept[node].append(edge)
            if edge.target is None:
                continue
            held = facts.get(edge.target)
            joined = after if held is None else tuple(
                one.joined(other) for one, other in zip(held, after, strict=True))
            if joined != held:
                facts[edge.target] = joined
                waiting.append(edge.target)
    return graph.restricted(kept)


def _possible(graph: RouteGraph, node: Node, facts: Facts) -> list[tuple[Edge, Facts]]:
    """The edges that leave a node, without those after a pop that leaves a lane active."""
    instruction = graph.instruction(node)
    after = _executed(instruction, facts)
    edges = graph.after[node]
    pushed = next((edge.target for edge in edges if edge.target is not None
                   and len(edge.target.stack) > len(node.stack)), None)
    stack = pushed.stack if pushed is not None else node.stack
    pops_itself = instruction.name == "cpop"
    plain = [(edge, after) for edge in edges if not edge.injected and not pops_itself
             and edge.how in (How.NEXT, How.TAKEN, How.JUMP) and edge.target is not None]
    ends: list[tuple[Edge, Facts]] = [(edge, ()) for edge in edges if edge.target is None]
    by_pops = {edge.injected + pops_itself: edge for edge in edges
               if edge.target is not None and (edge.injected or pops_itself)}
    found, alive = plain, False
    if not by_pops:
        return found + ends
    for pops in range(1, len(stack) + 1):
        entry, top = stack[len(stack) - pops], after[-1]
        found.append((by_pops[pops], left := _popped(after, entry.mask)))
        # After bra has turned all lanes off, its own entry brings them back.
        branch = instruction.name == "bra" and pops == 1
        alive = branch or (not top.anything and top.lost <= {entry.mask})
        if alive:
            break
        after = left
    return found if alive else found + ends
