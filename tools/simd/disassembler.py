"""Disassembler of the SIMD accelerator: instructions as the assembler reads them."""

from collections.abc import Mapping, Sequence

import numpy as np

from cyclebound.golden.simd.isa import (
    SCALAR_SPECIAL,
    VECTOR_SPECIAL,
    Instruction,
    Kind,
    Number,
    Operand,
    OperandSlot,
)
from cyclebound.golden.simd.program import Buffer, Flow, Program

__all__ = ["listing", "source", "text_of"]


def text_of(instruction: Instruction, labels: Mapping[int, str] | None = None) -> str:
    """One instruction. ``labels`` maps an instruction's address to its name."""
    operands: list[str] = []
    for slot, operand in reversed(list(zip(instruction.operation.slots, instruction.operands,
                                           strict=True))):
        if operand is None and operands and slot.default is not None:
            operand = Operand(Kind.IMMEDIATE, slot.default)  # one after it is given
        if operand is not None:
            operands.insert(0, _operand(slot, operand, labels or {}))
    name = instruction.name + (f".{instruction.sub}" if instruction.sub else "")
    return f"{name} {', '.join(operands)}".rstrip()


def _operand(slot: OperandSlot, operand: Operand, labels: Mapping[int, str]) -> str:
    value = operand.value
    if operand.kind is Kind.LABEL:
        return labels.get(value, f"at_{value}")
    if operand.kind is Kind.VECTOR_SPECIAL:
        return f"vc.{VECTOR_SPECIAL[value]}"
    if operand.kind is Kind.SCALAR_SPECIAL:
        return f"sc.{SCALAR_SPECIAL[value]}"
    if operand.kind is not Kind.IMMEDIATE:
        return f"{operand.kind.value.lower()}{value}"
    if slot.number is Number.BITS:
        return f"{value:#010x}"
    if slot.number is Number.FLOAT:
        return _float(value)
    return str(value - (1 << 32) if slot.number is Number.INTEGER and value >> 31 else value)


def _float(bits: int) -> str:
    """A float with as many digits as it needs; its bits where it has none, as a NaN."""
    value = np.uint32(bits).view(np.float32)
    if not np.isfinite(value):
        return f"{bits:#010x}"
    text = np.format_float_positional(value, unique=True, trim="0")
    return text if len(text) < 20 else np.format_float_scientific(value, unique=True, trim="0")


def _labels(instructions: Sequence[Instruction], flows: Sequence[Flow] = ()) -> dict[int, str]:
    """A name for each instruction that another one, or a ``#flow``, names."""
    targets = {operand.value for instruction in instructions for operand in instruction.operands
               if operand is not None and operand.kind is Kind.LABEL}
    targets.update(place for flow in flows for place in flow.terms)
    return {value: f"at_{value}" for value in sorted(targets)}


def source(program: Program) -> str:
    """A source text that assembles to the same instructions, buffers and annotations."""
    lines = [".data", *map(_buffer, program.buffers.values())]
    if program.scratchpad_buffers:
        lines += [".sp_data", *(f"{buffer.number} {buffer.address:#x} {buffer.x} {buffer.y}"
                                for buffer in program.scratchpad_buffers.values())]
    lines.append(".text")
    labels = _labels(program.instructions, program.flows)
    lines += [_flow(flow, labels) for flow in program.flows]
    for index, instruction in enumerate(program.instructions):
        if index in labels:
            lines.append(f"{labels[index]}:")
        if index in program.branches:
            branch = program.branches[index]
            lines.append(f"    #bound branchcycle {branch.taken} {branch.not_taken} {branch.start}")
        if index in program.values:
            lines.append(f"    #bound value {program.values[index]}")
        lines.append(f"    {text_of(instruction, labels)}")
    return "\n".join(lines) + "\n"


def _flow(flow: Flow, labels: Mapping[int, str]) -> str:
    """A ``#flow``, with what counts against it on the right."""
    sides = []
    for sign in (1, -1):
        terms = [f"{sign * times} {labels[place]}" for place, times in flow.terms.items()
                 if sign * times > 0]
        if flow.most * sign < 0 or not terms:
            terms.append(str(max(0, -sign * flow.most)))
        sides.append(" + ".join(terms))
    return f"#flow {sides[0]} <= {sides[1]}"


def _buffer(buffer: Buffer) -> str:
    content = "" if buffer.form == "n" else f' {buffer.form} "{buffer.source}"'
    return f"{buffer.number} {buffer.address:#x} {buffer.x} {buffer.y}{content}"


def listing(instructions: Sequence[Instruction], words: Sequence[int]) -> str:
    """Address, bits and text of each instruction."""
    labels = _labels(instructions)
    return "".join(f"{labels[index] + ':' if index in labels else '':12} {index:4}  {word:016x}  "
                   f"{text_of(instruction, labels)}\n"
                   for index, (instruction, word) in
                   enumerate(zip(instructions, words, strict=True)))
