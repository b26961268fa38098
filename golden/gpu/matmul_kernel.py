"""A plain kernel of a layer on a GPU: each thread adds up one element of the result.

The layer is a product of m x k and k x n int8 matrices (a convolution after im2col). The kernel is
ours: SASS instructions in the order in which a simple loop compiles, so that the safe bound has
something to read. No compiler wrote it.
"""

from cyclebound.golden.gpu.instruction import (
    Constant,
    Guard,
    Instruction,
    Kernel,
    Memory,
    Register,
    Target,
    Word,
)

__all__ = ["LOOP_LINE", "REGISTERS", "matmul_kernel"]

REGISTERS = 16
"""Registers that a thread uses."""

LOOP_LINE = 9
"""Line of the first instruction of the loop over k."""


def matmul_kernel() -> Kernel:
    """The kernel; its lines are the numbers of its instructions, from 1."""
    r, c = Register, Constant
    body = (
        ("S2R", (), (r("R0"), r("SR_CTAID"))),
        ("S2R", (), (r("R1"), r("SR_TID"))),
        ("IMAD", (), (r("R0"), r("R0"), c(0, 0x0), r("R1"))),
        ("ISETP", ("GE", "AND"), (r("P0"), r("PT"), r("R0"), c(0, 0x178), r("PT"))),
        ("EXIT", (), ()),  # @P0: beyond the result
        ("IMAD", ("WIDE",), (r("R2"), r("R0"), c(0, 0x17C), c(0, 0x160))),
        ("IMAD", ("WIDE",), (r("R4"), r("R0"), c(0, 0x17C), c(0, 0x168))),
        ("MOV", (), (r("R6"), r("RZ"))),
        ("LDG", ("E", "U8"), (r("R7"), Memory(("R2",), 0))),
        ("LDG", ("E", "U8"), (r("R8"), Memory(("R4",), 0))),
        ("IMAD", (), (r("R6"), r("R7"), r("R8"), r("R6"))),
        ("IADD3", (), (r("R2"), r("R2"), Word("0x1"), r("RZ"))),
        ("IADD3", (), (r("R4"), r("R4"), r("R9"), r("RZ"))),
        ("ISETP", ("NE", "AND"), (r("P1"), r("PT"), r("R2"), r("R10"), r("PT"))),
        ("BRA", (), (Target((LOOP_LINE - 1) * 16, ".loop"),)),  # @P1
        ("IMAD", ("WIDE",), (r("R2"), r("R0"), Word("0x1"), c(0, 0x170))),
        ("STG", ("E", "U8"), (Memory(("R2",), 0), r("R6"))),
        ("EXIT", (), ()))
    guards = {5: Guard("P0"), 15: Guard("P1")}
    return Kernel("matmul", "sm_80", 1, tuple(
        Instruction(number, 16 * (number - 1), opcode, modifiers, operands, guards.get(number))
        for number, (opcode, modifiers, operands) in enumerate(body, 1)),
        {".loop": 16 * (LOOP_LINE - 1)})
