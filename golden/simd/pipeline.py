"""When the pipeline issues each instruction of a compute phase, exactly.

One instruction issues per cycle, in order: those of the lanes once for each warp, those of the
reciprocal units once for each of their passes over a warp. An instruction waits in decode for an
operand that is still on its way. At the end of a phase the pipeline is empty, so that a phase's
length depends on its own instructions only; `Pipeline` remembers the lengths of paths that come
again.

With d decode and e execute stages, and D = d + e (Sim-D's: 3, 5 and 8), in cycles from issue to
issue:

- an operand fetched in decode stage k is there D - k after its producer; of the divider, whose c
  cycles replace the e, d + c - k. Operands beyond the last decode stage are fetched in that one;
- after the divider nothing issues for c - e more cycles, so that results stay in order; two
  divisions are at least c + 1 apart;
- a jump that is taken costs D + 1, one that is not 1; W warps that jump (cpop, call) or leave no
  lane active, W + D + 1;
- cpop waits until the last warp that pushes is e cycles old;
- an access is committed D after its issue; from the next cycle on the other work-group may issue,
  and the access begins.

Ref: Sim-D, section 3.1; the numbers are measurements of its authors' model.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cyclebound.golden.simd.isa import SCALAR_SPECIAL, VECTOR_SPECIAL, Kind, Timing, Unit
from cyclebound.golden.simd.machine import Machine
from cyclebound.golden.simd.program import Program
from cyclebound.golden.simd.work_group import INJECTED, TAKEN

__all__ = ["Pipeline", "Register", "Shape"]

_IMPLICIT = ("ldgcidx", "stgcidx", "sldsp")  # read sd_words, sd_period, sd_period_cnt
_SD = tuple(("sc", number) for number, name in enumerate(SCALAR_SPECIAL) if name.startswith("sd_"))
_MASKS = {"bra": 0, "cmask": 0, "brk": 1, "ret": 2, "call": 2, "exit": 3}  # special registers
_SHARED = (Kind.SCALAR, Kind.SCALAR_SPECIAL)  # one value for all warps
_FILES = {Kind.VECTOR: "v", Kind.SCALAR: "s", Kind.PREDICATE: "p", Kind.VECTOR_SPECIAL: "vc",
          Kind.SCALAR_SPECIAL: "sc"}

Register = tuple[str, int]


@dataclass(frozen=True)
class Shape:
    """The properties of an instruction that the pipeline's timing depends on.

    ``reads`` are registers with the decode stage that fetches each.
    """

    timing: Timing
    step: int          # cycles that a warp takes to issue
    vector: bool
    reads: tuple[tuple[Register, int], ...]
    writes: tuple[Register, ...]
    pushes: bool
    pops: bool
    jumps: bool        # of its warps, whatever its operand


class Pipeline:
    """The issue cycles of a program's paths on a machine.

    Parameters
    ----------
    program : Program
        The kernel.
    machine : Machine
        Its warps and stages.

    Attributes
    ----------
    shapes : list of Shape
        What each instruction is to the pipeline.
    """

    def __init__(self, program: Program, machine: Machine) -> None:
        self._machine = machine
        self.shapes = [self._shape(instruction) for instruction in program.instructions]
        self._lengths: dict[tuple[int, ...], int] = {}

    def _shape(self, instruction) -> Shape:
        operation = instruction.operation
        reads: list[tuple[Register, int]] = []
        writes: list[Register] = []
        for slot, operand in zip(operation.slots, instruction.operands, strict=True):
            if operand is None or operand.kind not in _FILES:
                continue
            register = _FILES[operand.kind], operand.value
            if slot.written:
                writes.append(register)
            elif operation.unit is not Unit.NONE and not (
                    operation.access and operand.kind not in _SHARED):
                reads.append((register, slot.stage))
        if instruction.name in _IMPLICIT:
            reads += [(register, 0) for register in _SD]
        if instruction.name in _MASKS:
            writes.append(("vc", _MASKS[instruction.name]))
        if instruction.name == "cpop":
            writes += [("vc", number) for number in range(3)]
        return Shape(operation.timing,
                      self._machine.passes if operation.timing is Timing.SPECIAL else 1,
                      operation.vector, tuple(reads), tuple(writes),
                      instruction.name in ("cpush", "bra", "call"), instruction.name == "cpop",
                      instruction.name in ("call", "cpop"))

    def length(self, trace: Sequence[int]) -> int:
        """Cycles of a phase: from its first issue to the first cycle after its last commit.

        ``trace`` holds the instructions in order, `INJECTED` for a pop that hardware adds, and
        `TAKEN` after a jump; it ends in an access, or in what leaves no lane active.
        """
        key = tuple(trace)
        length = self._lengths.get(key)
        if length is None:
            length = self.issues(trace)[-1]
            if len(self._lengths) < 100_000 and len(key) < 10_000:
                self._lengths[key] = length
        return length

    def issues(self, trace: Sequence[int]) -> list[int]:
        """The cycle in which each instruction's first warp issues, and the phase's length."""
        machine = self._machine
        stages = machine.decode_stages
        depth = stages + machine.execute_stages
        warps, late = machine.warps, machine.divider_cycles - machine.execute_stages
        # register: cycles in which its warps were issued, or the one cycle of a scalar
        made: dict[Register, list[int] | int] = {}
        coming = division = 0
        pushed = -depth
        issued: list[int] = []
        for position, index in enumerate(trace):
            following = trace[position + 1] if position + 1 < len(trace) else None
            if index == TAKEN:
                continue
            if index == INJECTED:
                issued.append(coming)
                coming += warps + depth + 1
                continue
            shape = self.shapes[index]
            start = coming
            needs = [(made[register], depth - min(stage, stages - 1))
                     for register, stage in shape.reads if register in made]
            if shape.pops:
                start = max(start, pushed + machine.execute_stages)
            if shape.timing is Timing.DIVIDE:
                start = max(start, division)
            if shape.vector:
                cycles = _warps(start, shape.step, warps, needs)
                start, last = cycles[0] - shape.step + 1, cycles[-1]
                made.update(dict.fromkeys(shape.writes, cycles))
            else:
                for produced, latency in needs:
                    assert isinstance(produced, int)  # no scalar instruction reads a vector
                    start = max(start, produced + latency)
                last = start
                ready = start + late if shape.timing is Timing.DIVIDE else start
                made.update(dict.fromkeys(shape.writes, ready))
            issued.append(start)
            coming = last + 1
            if shape.pushes:
                pushed = last
            if shape.timing is Timing.DIVIDE:
                coming += late
                division = start + machine.divider_cycles + 1
            elif shape.timing is Timing.ACCESS:
                coming += depth
            elif shape.vector:
                flushes = shape.jumps or following == INJECTED or (
                    following is None and shape.timing is Timing.MASK)
                coming += depth + 1 if flushes else 0
            elif following == TAKEN:
                coming += depth
        return [*issued, coming]


def _warps(start: int, step: int, warps: int, needs: list[tuple[list[int] | int, int]]
           ) -> list[int]:
    """The cycles in which the last pass of each warp issues."""
    cycles = []
    now = start
    for warp in range(warps):
        for produced, latency in needs:
            due = (produced if isinstance(produced, int) else produced[warp]) + latency
            now = max(now, due)
        cycles.append(now + step - 1)
        now += step
    return cycles


assert VECTOR_SPECIAL[:4] == ("ctrl_run", "ctrl_break", "ctrl_ret", "ctrl_exit")  # as in _MASKS
