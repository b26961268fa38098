"""Basic blocks of a kernel and the edges between them, as the published WCET analysis has them.

A block ends with any access, with any instruction of control flow but ``cpush``, and before a
label. An edge is a fall-through, a taken branch, or a number of pops that hardware injects because
no lane is left. Every block must be entered with one state of the control stack.

Ref: Sim-D, sections 5.1 and 5.2.
"""

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.simd.control_stack import StackEntry, stacks_of
from cyclebound.golden.simd.isa import Timing
from cyclebound.golden.simd.program import Program

__all__ = ["DONE", "Block", "Edge", "EdgeKind", "Flow", "Loop", "flow_of"]

DONE = -1
"""The target of an edge on which the work-group ends."""

_ENDS = (Timing.JUMP, Timing.MASK, Timing.CALL, Timing.ACCESS)


class EdgeKind(enum.Enum):
    """Kinds of transfers of control from one block to another."""

    FALL_THROUGH = "fall-through"
    TAKEN = "taken"
    INJECTED = "injected"


@dataclass(frozen=True)
class Edge:
    """An edge to block ``target``, or `DONE`; ``pops`` injected ones."""

    target: int
    kind: EdgeKind
    pops: int = 0


@dataclass
class Block:
    """Instructions ``first`` to ``last``, both included."""

    first: int
    last: int
    edges: list[Edge] = field(default_factory=list)


@dataclass(frozen=True)
class Loop:
    """A natural loop: the blocks from which ``header`` is reached again without leaving."""

    header: int
    blocks: frozenset[int]


@dataclass
class Flow:
    """Blocks in the order of their addresses, the first one being the entry, and their loops."""

    program: Program
    blocks: list[Block]
    loops: list[Loop]

    def access(self, number: int) -> bool:
        """A block's last instruction is an access."""
        return self.program.instructions[self.blocks[number].last].operation.access


def flow_of(program: Program) -> Flow:
    """Blocks, edges and loops of the instructions that can be reached.

    Raises `NotCovered` with a line where two paths bring different control stacks, and for a loop
    with two entries.
    """
    stacks = stacks_of(program.instructions)
    for index, depths in enumerate(stacks):
        if len(depths) > 1:
            raise NotCovered(f"{program.where(index)}: is reached with {len(depths)} different "
                             "control stacks, and the published analysis allows one")
    reached = [index for index, depths in enumerate(stacks) if depths]
    targets = {operand.value for index in reached
               if (operand := program.instructions[index].operand("B")) is not None
               and operand.kind.value == "L"}
    targets |= {after + 1 for after in reached
                if program.instructions[after].operation.timing in _ENDS}
    blocks: list[Block] = []
    for index in reached:
        if blocks and blocks[-1].last == index - 1 and index not in targets:
            blocks[-1].last = index
        else:
            blocks.append(Block(index, index))
    starts = {block.first: number for number, block in enumerate(blocks)}
    for block in blocks:
        stack, = stacks[block.last]
        seen: set[tuple[int, EdgeKind]] = set()
        for target, kind, pops in _edges(program, block.last, stack):
            number = DONE if target == DONE else starts[target]
            if (number, kind) not in seen or kind is EdgeKind.INJECTED:
                seen.add((number, kind))
                block.edges.append(Edge(number, kind, pops))
    return Flow(program, blocks, list(_loops(program, blocks)))


def _edges(program: Program, index: int, stack: tuple[StackEntry, ...]
           ) -> Iterator[tuple[int, EdgeKind, int]]:
    """Edges out of a block by its last instruction: instruction or `DONE`, kind, injected pops."""
    instruction = program.instructions[index]
    name, label = instruction.name, instruction.operand("B")
    target = label.value if label is not None else index + 1
    if name in ("j", "sicj", "call"):
        yield target, EdgeKind.TAKEN, 0
        if name == "sicj":
            yield index + 1, EdgeKind.FALL_THROUGH, 0
        return
    if name == "cpop":
        yield stack[-1].target, EdgeKind.TAKEN, 0
        return
    if name == "bra":  # with no lane left, its own entry is popped
        yield index + 1, EdgeKind.FALL_THROUGH, 0
        yield target, EdgeKind.INJECTED, 1
        return
    ends = name == "exit" and instruction.operand("A") is None
    if not ends:
        yield index + 1, EdgeKind.FALL_THROUGH, 0
    if name in ("cmask", "brk", "ret", "exit"):
        for pops, entry in enumerate(reversed(stack), 1):
            yield entry.target, EdgeKind.INJECTED, pops
        if name == "exit":
            yield DONE, EdgeKind.FALL_THROUGH, 0


def _loops(program: Program, blocks: list[Block]) -> Iterator[Loop]:
    before: list[set[int]] = [set() for _ in blocks]
    for number, block in enumerate(blocks):
        for edge in block.edges:
            if edge.target != DONE:
                before[edge.target].add(number)
    bodies: dict[int, set[int]] = {}
    for number, block in enumerate(blocks):
        for edge in block.edges:
            if DONE < edge.target <= number:
                bodies.setdefault(edge.target, {edge.target}).add(number)
    for header, body in sorted(bodies.items()):
        waiting = [number for number in body if number != header]
        while waiting:
            for number in before[waiting.pop()] - body:
                body.add(number)
                waiting.append(number)
        if 0 in body and header != 0:
            raise NotCovered(f"{program.where(blocks[header].first)}: the loop from here has a "
                             "second entry, and the published analysis allows one")
        yield Loop(header, frozenset(body))
