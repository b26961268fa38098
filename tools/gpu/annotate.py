"""Annotates each instruction of a kernel for the analyses: pipeline, delay, memory accesses."""

from collections import defaultdict
from dataclasses import dataclass

from cyclebound.golden.gpu.control_flow import flow_of
from cyclebound.golden.gpu.instruction import Instruction, Kernel, Memory, Register
from cyclebound.golden.gpu.opcodes import THESIS_DELAYS, Opcode, most_specific, opcode_of
from cyclebound.golden.gpu.thesis_wcet import MemoryAccess, Step
from cyclebound.tools.gpu.latency_file import LatencyFile

__all__ = ["Missing", "missing_opcodes", "stores", "thesis_steps"]

_SPAN = 4  # registers that a load of 128 bits writes


@dataclass(frozen=True)
class Missing:
    """An opcode of which something is not known.

    Attributes
    ----------
    lines : tuple[int, ...]
        Where it stands in the listing.
    lacks : str
        ``"opcode"`` or ``"delay"``.
    """

    name: str
    lacks: str
    lines: tuple[int, ...]


def _delay(name: str, own: LatencyFile) -> int | None:
    for table in (own.delays, THESIS_DELAYS):
        key = most_specific(name, table)
        if key is not None:
            return table[key]
    opcode = opcode_of(name, own.opcodes)
    return 0 if opcode is not None and opcode.pipeline == "cbu" else None  # as in all its tables


def _needs_delay(instruction: Instruction, opcode: Opcode) -> bool:
    return opcode.pipeline is not None and not _loads_constant(instruction, opcode)


def _loads_constant(instruction: Instruction, opcode: Opcode) -> bool:
    """A stand-alone load of a constant: LDC, ULDC, or MOV as in the thesis's addition."""
    return opcode.kind == "constant" or (
        instruction.opcode == "MOV" and any(instruction.constants))


def missing_opcodes(kernel: Kernel, own: LatencyFile, *, delays: bool = True) -> list[Missing]:
    """All that the analyses do not know, at once, most frequent first.

    Parameters
    ----------
    delays : bool
        Whether a delay of the thesis's kind is needed for each.
    """
    lines: dict[tuple[str, str], list[int]] = defaultdict(list)
    for instruction in kernel.instructions:
        opcode = opcode_of(instruction.name, own.opcodes)
        if opcode is None:
            lines[instruction.opcode, "opcode"].append(instruction.line)
        elif delays and _needs_delay(instruction, opcode) and _delay(instruction.name, own) is None:
            lines[instruction.opcode, "delay"].append(instruction.line)
    blocks = [Missing(name, lacks, tuple(where)) for (name, lacks), where in lines.items()]
    return sorted(blocks, key=lambda block: (-len(block.lines), block.name))


def stores(instruction: Instruction) -> bool:
    """Whether a load/store instruction writes memory."""
    return instruction.opcode in ("ST", "STG", "STS", "STL", "STSM", "RED", "REDG", "ATOM",
                                  "ATOMG", "ATOMS")


def thesis_steps(kernel: Kernel, own: LatencyFile) -> list[Step]:
    """The kernel for Algorithms 1 and 2.

    A global address is told by its registers, by the instruction that wrote them last, and by its
    offset: where that differs, the address counts as another one, which costs more. Instructions
    that no path reaches, such as the padding after the last EXIT, are left out.

    Raises `ValueError` if an opcode is missing; `missing_opcodes` lists all.
    """
    if missing := missing_opcodes(kernel, own):
        raise ValueError(f"line {missing[0].lines[0]}: {missing[0].name} has no "
                         f"{'delay' if missing[0].lacks == 'delay' else 'known meaning'}")
    written: dict[str, int] = {}
    steps = []
    reached = flow_of(kernel, own.opcodes).reached
    for number, instruction in enumerate(kernel.instructions, 1):
        if number - 1 not in reached:
            continue
        opcode = opcode_of(instruction.name, own.opcodes)
        assert opcode is not None  # `missing_opcodes` has them all
        accesses = [MemoryAccess("constant", None if operand.bank is None or operand.offset is None
                                 else (operand.bank, operand.offset),
                                 dynamic=operand.bank is None or operand.offset is None)
                    for operand in instruction.constants]
        if opcode.kind == "constant" and not accesses:
            accesses.append(MemoryAccess("constant", None, dynamic=True))
        if opcode.kind in ("global", "local", "texture", "copy"):
            accesses.append(MemoryAccess("global", _address(instruction, written),
                                         read_only="CONSTANT" in instruction.modifiers))
        elif opcode.kind == "shared":
            accesses.append(MemoryAccess("shared write" if stores(instruction) else "shared read"))
        stand_alone = _loads_constant(instruction, opcode)
        pipeline = None if stand_alone or opcode.kind == "exit" else opcode.pipeline
        steps.append(Step(number, instruction.name, pipeline,
                          (_delay(instruction.name, own) or 0) if pipeline else 0, tuple(accesses)))
        _note_writes(instruction, number, written)
    return steps


def _address(instruction: Instruction, written: dict[str, int]) -> tuple | None:
    memory = next((operand for operand in instruction.operands if isinstance(operand, Memory)),
                  None)
    if memory is None:
        return None
    return (tuple((name, written.get(name, 0), written.get(_after(name), 0))
                  for name in memory.registers), memory.offset)


def _after(name: str) -> str:
    """The register that holds the upper half of a 64-bit address."""
    letters = name.rstrip("0123456789")
    return f"{letters}{int(name[len(letters):]) + 1}" if letters != name else name


def _note_writes(instruction: Instruction, number: int, written: dict[str, int]) -> None:
    """The registers that may be written: the first operand, as wide as the widest load."""
    target = instruction.operands[0] if instruction.operands else None
    if isinstance(target, Register):
        name = target.name
        for _ in range(_SPAN):
            written[name] = number
            name = _after(name)
