"""What the systolic arrays have in common: parameters, operand layouts, multipliers, edge skew."""

from amaranth.hdl import Signal, signed
from amaranth.lib import data

__all__ = ["LeftLayout", "check_count", "check_widths", "delay", "delay_lines", "multiply"]


def check_count(thing, value, least=1):
    """Raise unless ``value`` is an integer of at least ``least``, in words about ``thing``."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{thing} must be an integer, not {value!r}")
    if value < least:
        raise ValueError(f"{thing} must be at least {least}, not {value}")


def check_widths(operand_width, accumulator_width):
    """Raise unless an accumulator holds the product of two operands."""
    check_count("Operand width", operand_width)
    check_count("Accumulator width", accumulator_width)
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
