"""Compute cycles of blocks and edges: the pipeline run cold and warm, as published.

A block's cost counts from the write-back of its first instruction to that of the next block's
first one, both included. Its cold run begins with an empty pipeline and is followed by a nop. Its
warm run is its part of a run through the whole kernel in the order of addresses, as if no branch
were taken. The cold cost is the block's; a fall-through adds warm minus cold (which may be
negative), a taken branch a flush, an injection its pops.

The pipeline is `golden.simd.pipeline`, whose numbers were measured on the model of Sim-D's authors.

Ref: Sim-D, section 5.3.
"""

from dataclasses import dataclass, replace

from cyclebound.golden.simd.isa import Instruction, Timing
from cyclebound.golden.simd.machine import Machine
from cyclebound.golden.simd.pipeline import Pipeline
from cyclebound.golden.simd.program import Program
from cyclebound.tools.simd.published.blocks import Edge, EdgeKind, Flow

__all__ = ["Costs", "costs_of"]


class _StraightLine(Pipeline):
    """The pipeline in which nothing but an access makes it start again; with a nop at the end."""

    def __init__(self, program: Program, machine: Machine) -> None:
        super().__init__(replace(program, instructions=(*program.instructions,
                                                        Instruction("nop"))), machine)
        self.shapes = [replace(shape, jumps=False) for shape in self.shapes]
        self._nop = len(program.instructions)
        self._late = machine.divider_cycles - machine.execute_stages

    def retired(self, first: int, last: int) -> list[int]:
        """Write-backs of instructions ``first`` to ``last`` and of a nop after them, in cycles
        from the first issue and without the stages that all of them pass."""
        cycles = self.issues([*range(first, last + 1), self._nop])[:-1]
        return [when + (self._late if self.shapes[index].timing is Timing.DIVIDE else 0)
                for index, when in zip([*range(first, last + 1), self._nop], cycles, strict=True)]


@dataclass(frozen=True)
class Costs:
    """Compute cycles of ``blocks`` and of each one's fall-through (``warm``).

    ``flush`` is what a kernel's first phase and a taken branch add; ``pop`` an injected pop;
    ``divide`` what is added where a branch leads to a division.
    """

    blocks: list[int]
    warm: list[int]
    flush: int
    pop: int
    divide: int
    divides: frozenset[int]

    def edge(self, number: int, edge: Edge) -> int:
        """Compute cycles of a block with the edge by which it is left."""
        cost = self.blocks[number]
        if edge.kind is EdgeKind.FALL_THROUGH:
            return cost + self.warm[number]
        late = self.divide if edge.target in self.divides else 0
        if edge.kind is EdgeKind.TAKEN:
            return cost + self.flush + late
        return cost + edge.pops * self.pop + late


def costs_of(flow: Flow, machine: Machine) -> Costs:
    """All costs of a kernel on a machine."""
    line = _StraightLine(flow.program, machine)
    cold = [(run := line.retired(block.first, block.last))[-1] - run[0] + 1
            for block in flow.blocks]
    through = line.retired(0, len(flow.program.instructions) - 1)
    starts = [block.first for block in flow.blocks] + [len(flow.program.instructions)]
    warm = [through[block.last + 1] - through[block.first] + 1 - cold[number]
            for number, block in enumerate(flow.blocks)]
    depth = machine.decode_stages + machine.execute_stages
    timings = [instruction.operation.timing for instruction in flow.program.instructions]
    return Costs(cold, warm, depth, depth + machine.warps + 1,
                 max(depth, machine.decode_stages + machine.divider_cycles) - depth,
                 frozenset(number for number, start in enumerate(starts[:-1])
                           if timings[start] is Timing.DIVIDE))
