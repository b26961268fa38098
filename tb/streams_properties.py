"""What streams owe each other, of blocks whose inside other checks follow.

`StreamsCheck` is about offers; the others count the rows that leave an array, too.
"""

from amaranth.hdl import Assert, Const, Cover, Module, Signal
from amaranth.lib.wiring import Out

from cyclebound.tb.watcher import Watcher, claim_kept

__all__ = ["FoldRowsCheck", "ProductRowsCheck", "RowForRowCheck", "StreamsCheck"]


class StreamsCheck(Watcher):
    """What a block offers on a stream stays, unchanged, until it is taken.

    Parameters
    ----------
    target : wiring.Component
        The block, or a component with the same members.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    unless : Value
        A cycle in which offers may go.
    """

    def __init__(self, target):
        super().__init__(target)
        self.unless = Const(0)
        self._offers = list(_offers(target.signature, self))

    def elaborate(self, platform):
        m = Module()
        for name, port in self._offers:
            claim_kept(m, name, port, Assert, unless=self.unless)
            m.d.sync += Cover(port.valid & port.ready, f"{name}: an item is taken")
        return m


def _offers(signature, ports, name=""):
    """Names and ports of all streams that a signature gives."""
    for key, member in signature.members.items():
        if member.is_port:
            continue
        inner = member.signature  # flipped, if it is an input
        for number, port in _each(getattr(ports, key), member.dimensions):
            called = " ".join(filter(None, (name, key, number)))
            names = {*inner.members}
            if {"valid", "ready", "payload"} <= names:
                if inner.members["valid"].flow == Out:
                    yield called, port
            else:
                yield from _offers(inner, port, called)


def _each(ports, dimensions):
    if not dimensions:
        yield "", ports
        return
    for number, port in enumerate(ports):
        for rest, one in _each(port, dimensions[1:]):
            yield f"{number} {rest}".strip(), one


class _RowsCheck(StreamsCheck):
    """`StreamsCheck`; and an array gives no row of results but those that its operands make.

    Parameters
    ----------
    target : wiring.Component
        The array, or a component with the same members, ``rows`` and ``columns``.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    owed : Signal
        Rows that items have made, and that have not left.
    """

    source = "left"  # the stream of the items

    def __init__(self, target):
        super().__init__(target)
        self.rows, self.columns = target.rows, target.columns
        self.owed = Signal(32)

    def made(self):
        """How many rows the item makes that is taken now."""
        raise NotImplementedError

    def elaborate(self, platform):
        m = super().elaborate(platform)
        source, results = getattr(self, self.source), self.results
        made = Signal.like(self.owed)
        with m.If(source.valid & source.ready):
            m.d.comb += made.eq(self.made())
        m.d.sync += [
            self.owed.eq(self.owed + made - (results.valid & results.ready)),
            Assert(~results.valid | (self.owed != 0), "a row of no operands"),
        ]
        return m


class FoldRowsCheck(_RowsCheck):
    """The last operand of a fold makes as many rows as the array has."""

    def made(self):
        return self.left.payload.last * self.rows


class RowForRowCheck(_RowsCheck):
    """A row of operands makes a row of results."""

    def made(self):
        return 1


class ProductRowsCheck(_RowsCheck):
    """A command makes the rows of C, for each tile across it."""

    source = "command"

    def made(self):
        size = self.command.payload
        return size.m * ((size.n + (self.columns - 1)) // self.columns)
