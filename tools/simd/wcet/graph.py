"""Every route that a work-group can take through a kernel, as a graph.

A `Node` is an instruction together with the control stack that it finds, so that a function which
is called from two places has a node for each of them, and every injected pop has one target. An
`Edge` says how execution gets from one node to another: this is all that its cost depends on.

Values are disregarded: whatever a mask or a scalar register may hold, the route is in the graph.
`tests/simd/test_wcet_graph.py` follows random kernels on the cycle model along it.

Ref: Sim-D, section 5.2.
"""

import enum
from collections.abc import Collection, Iterator
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple

from cyclebound.golden.simd.control_stack import STATES, Flaw, Stack, StackEntry
from cyclebound.golden.simd.isa import STACK_KINDS, Instruction
from cyclebound.golden.simd.program import STACK_DEPTH, Program

__all__ = ["Edge", "How", "Node", "RouteGraph", "WcetError"]


class WcetError(ValueError):
    """A kernel without a bound: why, and at which line."""


class Node(NamedTuple):
    """The instruction ``at`` a place of the program, and the control stack before it."""

    at: int
    stack: Stack


class How(enum.Enum):
    """Kinds of edges: how execution leaves an instruction."""

    NEXT = "next"      # to the instruction after it
    TAKEN = "taken"    # a jump that is taken
    JUMP = "jump"      # call and cpop: every warp jumps
    NO_LANE = "no lane left"  # the instruction leaves no lane active


@dataclass(frozen=True)
class Edge:
    """An edge from ``source`` to ``target``, which is None where the work-group ends.

    ``injected`` counts the pops that hardware adds on the way.
    """

    source: Node
    target: Node | None
    how: How
    injected: int = 0


def _edges(node: Node, instruction: Instruction) -> Iterator[Edge]:
    index, stack = node
    name, following = instruction.name, index + 1
    label = instruction.operand("B")
    target = label.value if label is not None else following

    def to(place: int, after: Stack, how: How, injected: int = 0) -> Edge:
        return Edge(node, Node(place, after), how, injected)

    def pops(held: Stack, how: How, before: int = 0) -> Iterator[Edge]:
        """No lane is left: entries are popped until one is, or the work-group ends."""
        for depth in reversed(range(len(held))):
            yield to(held[depth].target, held[:depth], how, before + len(held) - depth)
        yield Edge(node, None, how, before + len(held))

    if name == "j":
        yield to(target, stack, How.TAKEN)
    elif name == "sicj":
        yield to(target, stack, How.TAKEN)
        yield to(following, stack, How.NEXT)
    elif name == "cpush":
        yield to(following, _pushed(index, stack, StackEntry(STACK_KINDS[instruction.sub], target)),
                 How.NEXT)
    elif name == "bra":
        pushed = _pushed(index, stack, StackEntry("run", target))
        yield to(following, pushed, How.NEXT)
        yield from pops(pushed, How.NO_LANE)
    elif name == "call":
        pushed = _pushed(index, stack, StackEntry("ret", following))
        yield to(target, pushed, How.JUMP)
        if instruction.operand("A") is not None:  # else every lane that was active still is
            yield from pops(pushed, How.JUMP)
    elif name == "cpop":
        if not stack:
            raise Flaw(index, "cpop finds the control stack empty")
        yield to(stack[-1].target, stack[:-1], How.JUMP)
        yield from pops(stack[:-1], How.JUMP)
    elif name in ("cmask", "brk", "ret", "exit"):
        if instruction.operand("A") is not None:
            yield to(following, stack, How.NEXT)
        yield from pops(stack, How.NO_LANE)
    else:
        yield to(following, stack, How.NEXT)


def _pushed(index: int, stack: Stack, entry: StackEntry) -> Stack:
    if len(stack) == STACK_DEPTH:
        raise Flaw(index, f"the control stack holds {STACK_DEPTH} entries, and this is one more")
    return (*stack, entry)


class RouteGraph:
    """The graph of a program.

    Attributes
    ----------
    program : Program
        The kernel.
    start : Node
        Where every work-group begins.
    after : dict
        The edges that leave each node, in the order in which nodes were found.
    before : dict
        The edges that reach each node; those to the end under None.
    whole : RouteGraph
        The graph of all routes, if this is a part of one.

    Raises
    ------
    WcetError
        For a program that breaks the rule of the control stack (recursion among it), with line.
    """

    def __init__(self, program: Program) -> None:
        self.program, self.whole = program, self
        self.start = Node(0, ())
        self.after: dict[Node, list[Edge]] = {}
        self.before: dict[Node | None, list[Edge]] = {self.start: [], None: []}
        if not program.instructions:
            raise WcetError(f"{program.name}: a kernel must have an instruction")
        waiting = [self.start]
        try:
            while waiting:
                self._visit(waiting)
        except Flaw as flaw:
            raise WcetError(f"{program.where(flaw.index)}: {flaw}") from None

    def _visit(self, waiting: list[Node]) -> None:
        node = waiting.pop()
        if node in self.after:
            return
        if len(self.after) == STATES:
            raise Flaw(node.at, f"more than {STATES} states of the control stack")
        edges = list(_edges(node, self.program.instructions[node.at]))
        self.after[node] = edges
        for edge in edges:
            self.before.setdefault(edge.target, []).append(edge)
            if edge.target is not None:
                if edge.target.at >= len(self.program.instructions):
                    raise Flaw(node.at, "execution runs on after the last instruction; "
                                           "end with exit")
                waiting.append(edge.target)

    def restricted(self, after: dict[Node, list[Edge]]) -> "RouteGraph":
        """The graph with these edges only, which leave the start and nodes that they reach."""
        found = copy(self)
        found.after = after
        found.before = {self.start: [], None: []}
        for edges in after.values():
            for edge in edges:
                found.before.setdefault(edge.target, []).append(edge)
        return found

    def without(self, gone: Collection[Edge]) -> "RouteGraph":
        """The graph without these edges, and without what is reached by them only."""
        kept: dict[Node, list[Edge]] = {}
        waiting = [self.start]
        while waiting:
            node = waiting.pop()
            if node not in kept:
                kept[node] = [edge for edge in self.after[node] if edge not in gone]
                waiting += [edge.target for edge in kept[node] if edge.target is not None]
        return self.restricted(kept)

    def instruction(self, node: Node) -> Instruction:
        return self.program.instructions[node.at]

    def is_access(self, node: Node) -> bool:
        """Whether the node is an access, which ends a compute phase."""
        return self.instruction(node).operation.access
