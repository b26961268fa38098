"""Interfaces between blocks, beside Amaranth's streams; and ports that are an inner block's."""

from amaranth.hdl import unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

__all__ = ["MemoryPort", "MemoryRequest", "Strobe", "drive", "pass_through"]


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


class MemoryRequest(data.StructLayout):
    """One word's access: ``address`` in words, ``write`` with a bit a byte (0 reads), ``data``."""

    def __init__(self, *, words, word_bytes):
        super().__init__({"address": unsigned(ceil_log2(words)), "write": unsigned(word_bytes),
                          "data": unsigned(8 * word_bytes)})


class MemoryPort(wiring.Signature):
    """A requester's path to one bank, in the requester's directions.

    ``request`` is taken in the cycle of its grant; a read's ``data`` are there in the cycle after
    it, marked by ``valid``, and have to be taken then.
    """

    def __init__(self, *, words, word_bytes):
        super().__init__({
            "request": Out(stream.Signature(MemoryRequest(words=words, word_bytes=word_bytes))),
            "response": In(wiring.Signature({"valid": Out(1), "data": Out(8 * word_bytes)})),
        })


def drive(m, port, value):
    """Drive a port with a value, or an array of ports with as many."""
    if isinstance(port, list):
        for one, its in zip(port, value, strict=True):
            drive(m, one, its)
    else:
        m.d.comb += port.eq(value)


def pass_through(m, outer, inner, *names):
    """Ports and interfaces of ``outer`` with these names are those of ``inner``, a part of it.

    Both components have members of these names and shapes, in the same direction.
    """
    for name in names:
        member = outer.signature.members[name]
        pairs = [(getattr(outer, name), getattr(inner, name))]
        for _ in member.dimensions:
            pairs = [pair for arrays in pairs for pair in zip(*arrays, strict=True)]
        for own, its in pairs:
            if not member.is_port:
                wiring.connect(m, wiring.flipped(own), its)
            elif member.flow is In:
                m.d.comb += its.eq(own)
            else:
                m.d.comb += own.eq(its)
