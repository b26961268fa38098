"""What passes the compute unit's stages: one cycle's work of an instruction.

Part of the compute unit, whose model, testbench and tests cover it.
"""

from amaranth.hdl import Signal
from amaranth.lib import data
from amaranth.utils import ceil_log2

from cyclebound.golden.simd.faults import Cause
from cyclebound.golden.simd.program import INSTRUCTIONS
from cyclebound.hdl.simd.decoder import Decoded

__all__ = ["INDEX_BITS", "TokenLayout", "delayed", "fetch_stage", "most_passes"]

INDEX_BITS = ceil_log2(INSTRUCTIONS)
"""Of an instruction's number."""


class TokenLayout(data.StructLayout):
    """A scalar instruction, a warp of a vector instruction, or one of several passes over either.

    ``first`` and ``last`` mark an instruction's tokens, ``last_pass`` those of a warp. ``injected``
    is the ``cpop`` where no lane is left: it has no index of its own. ``cause`` is `Cause.NONE`, or
    why the instruction stops the kernel when it commits.
    """

    def __init__(self, *, machine):
        super().__init__({
            "valid": 1, "decoded": data.Layout.cast(Decoded), "cause": Cause, "index": INDEX_BITS,
            "injected": 1, "warp": ceil_log2(machine.warps), "pass": range(most_passes(machine)),
            "first": 1, "last": 1, "last_pass": 1})


def most_passes(machine):
    """Most tokens that an instruction has for each warp: of a reciprocal, or of a division."""
    return max(machine.passes, 1 + machine.divider_cycles - machine.execute_stages)


def fetch_stage(machine, operand):
    """The decode stage, from 0, that asks for operand 0, 1 or 2; it is there in the next one."""
    return min(operand, machine.decode_stages - 1)


def delayed(m, name, value, cycles):
    """A value of a token, that many stages later."""
    for number in range(cycles):
        kept = Signal(value.shape(), name=f"{name}_{number}", reset_less=True)
        m.d.sync += kept.eq(value)
        value = kept
    return value
