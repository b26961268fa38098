"""Masters that ask whenever they like, and a reorder core that stalls at will."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

__all__ = ["FrontEndEnvironment"]


class FrontEndEnvironment(wiring.Component):
    """A master at each port, and the sink of all requests.

    A request is offered until it is taken. Its content is always 0, since the front end looks at
    none.

    Parameters
    ----------
    front_end : cyclebound.hdl.dram.multi_port_front_end.MultiPortFrontEnd
        Whose ports these are.
    stalls : bool
        Whether the sink may stall, for as long as it likes.

    Members
    -------
    choice : In(ports, or ports + 1)
        By port: a request comes, if none is on offer. The highest bit: the sink stalls.
    sinks, source : Out(stream).array(ports), In(stream of ForwardedLayout)
        To and from the front end.
    """

    def __init__(self, front_end, *, stalls):
        self._stalls, self._ports = stalls, front_end.ports
        super().__init__({"choice": In(front_end.ports + stalls), **{
            name: front_end.signature.members[name].flip() for name in ("sinks", "source")}})

    def elaborate(self, platform):
        m = Module()
        waits = Signal(self._ports)
        for port, sink in enumerate(self.sinks):
            m.d.comb += sink.valid.eq(self.choice[port] | waits[port])
            m.d.sync += waits[port].eq(sink.valid & ~sink.ready)
        m.d.comb += self.source.ready.eq(~self.choice[-1] if self._stalls else 1)
        return m
