"""A router's input: a FIFO whose head knows where it wants to go.

Part of the wormhole router, whose model, testbench and tests cover it.
"""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cyclebound.golden.noc.packet import CODE_BITS, COORDINATE_BITS
from cyclebound.golden.noc.routes import Port
from cyclebound.hdl.noc.flit import FlitLayout

__all__ = ["RouterInput"]

PositionLayout = data.StructLayout({"column": COORDINATE_BITS, "row": COORDINATE_BITS})


class RouterInput(wiring.Component):
    """FIFO of one port; the route is decoded on the way into its head.

    Latency: ``delta`` cycles from the cycle in which a flit is taken to the first in which it is
    the head. Throughput: a flit in every cycle. ``ready`` is a register: space is counted when a
    flit is taken, and given back when it leaves, so that whatever is taken has a place.

    Parameters
    ----------
    number : int
        This port's number; the last of ``ports`` is the local one.
    ports, width, depth, delta, routing
        As in `WormholeRouter`.

    Members
    -------
    sink : In(stream of FlitLayout)
        Packets.
    connected : In(ports)
        Outputs that lead anywhere.
    position : In(PositionLayout)
        The router's own place, for XY routing.
    valid, head, header : Out
        A flit is at the head, which one, and whether it is a packet's first; of source-routed
        packets, without this router's share of the route.
    want : Out(ports)
        One-hot output of the packet at the head; 0 if it leads nowhere and has to be dropped.
    take : In(1)
        The head leaves in this cycle.
    """

    def __init__(self, *, number, ports, width, depth, delta, routing):
        self.number, self.ports, self.width = number, ports, width
        self.depth, self.delta, self.routing = depth, delta, routing
        flit = FlitLayout(width)
        super().__init__({
            "sink": In(stream.Signature(flit)), "connected": In(ports),
            "position": In(PositionLayout), "valid": Out(1), "head": Out(flit),
            "header": Out(1), "want": Out(ports), "take": In(1),
        })
        # the state; a proof has to speak of it
        self.space = Signal(range(depth + 1), init=depth)
        self.stored = Signal(range(depth))        # flits behind the head
        self.read, self.write = Signal(range(depth - 1)), Signal(range(depth - 1))
        self.fresh = Signal(init=1)               # the next flit to become the head is a header
        self.memory = Memory(shape=flit, depth=depth - 1, init=[])
        self._write_port = self.memory.write_port()
        self._read_port = self.memory.read_port(domain="comb")
        # flits on their way to the FIFO; they never stop
        self.moving = [Signal(name=f"moving_{stage}") for stage in range(delta - 1)]
        self.stages = [Signal(flit, name=f"stage_{stage}") for stage in range(delta - 1)]

    def elaborate(self, platform):
        m = Module()
        sink, depth = self.sink, self.depth

        # What is taken has a place.
        accepted = Signal()
        ready = Signal(init=1)
        m.d.comb += [sink.ready.eq(ready), accepted.eq(sink.valid & ready)]
        with m.If(accepted & ~self.take):
            m.d.sync += [self.space.eq(self.space - 1), ready.eq(self.space != 1)]
        with m.Elif(self.take & ~accepted):
            m.d.sync += [self.space.eq(self.space + 1), ready.eq(1)]

        # The stages that make delta what it is.
        arrives, arriving = accepted, sink.payload
        for moving, stage in zip(self.moving, self.stages, strict=True):
            m.d.sync += [moving.eq(arrives), stage.eq(arriving)]
            arrives, arriving = moving, stage

        # Head and store: an arriving flit goes to the head if that is free and nobody is before it.
        m.submodules.memory = self.memory
        free, empty, push, pop = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            free.eq(~self.valid | self.take),
            empty.eq(self.stored == 0),
            push.eq(arrives & ~(free & empty)),
            pop.eq(free & ~empty),
            self._write_port.en.eq(arrives),
            self._write_port.addr.eq(self.write),
            self._write_port.data.eq(arriving),
            self._read_port.addr.eq(self.read),
        ]
        with m.If(push & ~pop):
            m.d.sync += self.stored.eq(self.stored + 1)
        with m.Elif(pop & ~push):
            m.d.sync += self.stored.eq(self.stored - 1)
        for moves, pointer in ((push, self.write), (pop, self.read)) if depth > 2 else ():
            with m.If(moves):
                m.d.sync += pointer.eq(Mux(pointer == depth - 2, 0, pointer + 1))

        # Whatever need not be exact is not: what is written beside the store is overwritten, and
        # so is a head that is not valid. It keeps `take` off the enables.
        following = Signal(FlitLayout(self.width))
        m.d.comb += following.eq(Mux(empty, arriving, self._read_port.data))
        want = self._decode(m, following.data)
        with m.If(free):
            m.d.sync += [self.valid.eq(arrives | ~empty), self.head.eq(following),
                         self.header.eq(self.fresh)]
            with m.If(arrives | ~empty):
                m.d.sync += self.fresh.eq(following.last)
            with m.If(self.fresh):
                m.d.sync += self.want.eq(want & self.connected)
                if self.routing == "source":
                    m.d.sync += self.head.data.eq(following.data >> CODE_BITS)
        return m

    def _decode(self, m, header):
        """One-hot output that a header asks for; 0 for one that would turn around."""
        want = Signal(self.ports, name="decoded")
        local = self.ports - 1
        if self.routing == "xy":
            column, row = header[:COORDINATE_BITS], header[COORDINATE_BITS:2 * COORDINATE_BITS]
            here = self.position
            for port, asked in (
                    (Port.EAST, column > here.column), (Port.WEST, column < here.column),
                    (Port.SOUTH, (column == here.column) & (row > here.row)),
                    (Port.NORTH, (column == here.column) & (row < here.row)),
                    (Port.LOCAL, (column == here.column) & (row == here.row))):
                m.d.comb += want[port].eq(asked if port != self.number else Const(0))
            return want
        code = header[:CODE_BITS]
        for port in range(self.ports):
            if port == self.number:
                continue
            named = self.number if port == local else port
            m.d.comb += want[port].eq(code == named)
        return want
