"""Dimension order in hardware: along the row first, then along the column."""

from amaranth.hdl import Cat

from cyclebound.golden.noc.packet import COORDINATE_BITS

__all__ = ["compare", "outputs_of"]


def compare(there, here):
    """Four bits: the place ``there``, column and row, lies east, west, south, north of here."""
    column, row = there[:COORDINATE_BITS], there[COORDINATE_BITS:]

    def less(a, b):
        """The sign of a difference: where an input of a mesh leads nowhere, ``a`` or ``b`` is a
        constant, and Verilator's linter would object to a comparison with 0."""
        return (a - b)[-1]

    return Cat(less(here.column, column), less(column, here.column),
               less(here.row, row), less(row, here.row))


def outputs_of(compared):
    """From what `compare` says: a bit for north, east, south, west, and for here."""
    east, west, south, north = compared
    across = east | west
    return Cat(~across & north, east, ~across & south, west, ~compared.any())
