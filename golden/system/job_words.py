"""What a program writes before START: words of commands, and operands of kernels.

A command of the systolic accelerator is as many whole words as its fields need, in the order of
`golden.systolic.accelerator_layout.command_fields`, the first one in the lowest bits of the first
word. A list has as many commands at most as the tile keeps.
"""

from collections.abc import Iterable, Mapping

from cyclebound.golden.register_table import REGISTER_BITS
from cyclebound.golden.simd.machine import Grid
from cyclebound.golden.simd.scheduler import CODES, Policy
from cyclebound.golden.system.job_table import KernelOperand
from cyclebound.golden.systolic.accelerator_layout import command_fields
from cyclebound.golden.systolic.accelerator_plan import Device

__all__ = ["command_words", "kernel_operands"]


def command_words(commands: Iterable[Mapping[str, int]], device: Device) -> list[int]:
    """The words of these commands of a systolic accelerator, one after the other."""
    fields, words = command_fields(device.address_width, device.memory_width), list[int]()
    for command in commands:
        packed = at = 0
        for name, (width, _) in fields.items():
            packed |= (command[name] & (1 << width) - 1) << at
            at += width
        words += [packed >> bit & (1 << REGISTER_BITS) - 1 for bit in range(0, at, REGISTER_BITS)]
    return words


def kernel_operands(*, program: int, instructions: int, grid: Grid, policy: Policy) -> list[int]:
    """Operands of a kernel whose program begins at this word, in the order of their registers."""
    given = {KernelOperand.PROGRAM: program, KernelOperand.INSTRUCTIONS: instructions,
             KernelOperand.GRID_X: grid.x, KernelOperand.GRID_Y: grid.y,
             KernelOperand.WIDTH: grid.width.bit_length() - 1,
             KernelOperand.POLICY: CODES.index(policy)}
    return [given[operand] for operand in KernelOperand]
