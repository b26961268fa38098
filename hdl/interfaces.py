"""Interfaces between blocks, beside Amaranth's streams."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

__all__ = ["Strobe"]


class Strobe(wiring.Signature):
    """A payload that is taken in each cycle in which ``valid`` marks it: it cannot stall.

    Parameters
    ----------
    shape : shape-like
        Of the payload. The fields of a `data.Struct` are those of its layout, so that a testbench
        sees them.

    Members
    -------
    valid : Out(1)
        A payload is there in this cycle.
    payload : Out(shape)
        What it is.
    """

    def __init__(self, shape):
        if isinstance(shape, type) and issubclass(shape, data.Struct):
            shape = data.Layout.cast(shape)
        super().__init__({"valid": Out(1), "payload": Out(shape)})
