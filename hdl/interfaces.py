"""Interfaces between blocks, beside Amaranth's streams; and ports that are an inner block's."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Strobe", "pass_through"]


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
        The payload.
    """

    def __init__(self, shape):
        if isinstance(shape, type) and issubclass(shape, data.Struct):
            shape = data.Layout.cast(shape)
        super().__init__({"valid": Out(1), "payload": Out(shape)})

    def __eq__(self, other):
        return isinstance(other, Strobe) and self.members == other.members


def pass_through(m, outer, inner, *names):
    """Ports and interfaces of ``outer`` with these names are those of ``inner``, a part of it.

    Both components have members of these names and shapes, in the same direction.
    """
    for name in names:
        member, own, its = outer.signature.members[name], getattr(outer, name), getattr(inner, name)
        if not member.is_port:
            wiring.connect(m, wiring.flipped(own), its)
        elif member.flow is In:
            m.d.comb += its.eq(own)
        else:
            m.d.comb += own.eq(its)
