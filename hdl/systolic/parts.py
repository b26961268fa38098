"""Common to the systolic arrays: parameter checks, operand layouts, multipliers, edge skew."""

from amaranth.hdl import Signal, signed
from amaranth.lib import data

from cyclebound.hdl.parameters import check_integer

__all__ = ["LeftLayout", "check_widths", "delay", "delay_lines", "multiply"]


def check_widths(operand_width, accumulator_width):
    """Raise unless an accumulator holds the product of two operands."""
    check_integer("Operand width", operand_width, 1)
    check_integer("Accumulator width", accumulator_width, 1)
    if accumulator_width < 2 * operand_width:
        raise ValueError(f"Accumulator width must be at least {2 * operand_width}, twice the "
                         f"operand width, not {accumulator_width}")


class LeftLayout(data.StructLayout):
    """The operands that enter the rows of an array in one step.

    Members
    -------
    values : ArrayLayout(signed(operand_width), rows)
        Element *i* belongs to row *i*. All have the same index in time: the array adds the skew.
    last : 1
        The last operands of this fold.
    """

    def __init__(self, rows, operand_width):
        super().__init__({"values": data.ArrayLayout(signed(operand_width), rows), "last": 1})


def multiply(m, enable, a, b):
    """The product of two registers in a register of its own: a DSP block and nothing else."""
    product = Signal(signed(len(a) + len(b)), name="product")
    with m.If(enable):
        m.d.sync += product.eq(a * b)
    return product


def delay_lines(name, lengths, width):
    """Registers that delay lane *i* by ``lengths[i]`` steps, first one first."""
    return [[Signal(signed(width), name=f"{name}_{lane}_{number}") for number in range(length)]
            for lane, length in enumerate(lengths)]


def delay(m, enable, entries, lines):
    """Move ``entries`` through ``lines`` where ``enable`` is set; what leaves each line."""
    with m.If(enable):
        for entry, registers in zip(entries, lines, strict=True):
            for source, register in zip([entry, *registers], registers, strict=False):
                m.d.sync += register.eq(source)
    return [[entry, *registers][-1] for entry, registers in zip(entries, lines, strict=True)]
