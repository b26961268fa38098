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


def _entry(width, ports):
    """A flit, whether it is a header, what it asks for, and whether its packet leads nowhere."""
    return data.StructLayout({"flit": FlitLayout(width), "want": ports, "header": 1, "lost": 1})


class RouterInput(wiring.Component):
    """FIFO of one port; the route is decoded on the way into it.

    Latency: ``delta`` - 1 cycles from the cycle in which a flit is taken to the first in which it
    is the head. Throughput: a flit in every cycle. ``ready`` is a register: space is counted when a
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
    valid, head : Out
        A flit is at the head, and which one; of source-routed packets, without this router's share
        of the route.
    want : Out(ports)
        One-hot output that the head asks for; 0 unless it is a header.
    following : Out(ports)
        As ``want`` for the flit after the head, if the head is the last of its packet.
    misrouted : Out(1)
        The head is a header that leads nowhere.
    take : In(1)
        The head leaves in this cycle.
    leaves : Out(1)
        It does, or is one of a packet that is dropped.
    """

    def __init__(self, *, number, ports, width, depth, delta, routing):
        self.number, self.ports, self.width = number, ports, width
        self.depth, self.delta, self.routing = depth, delta, routing
        flit = FlitLayout(width)
        super().__init__({
            "sink": In(stream.Signature(flit)), "connected": In(ports),
            "position": In(PositionLayout), "valid": Out(1), "head": Out(flit),
            "want": Out(ports), "following": Out(ports), "misrouted": Out(1),
            "take": In(1), "leaves": Out(1),
        })
        # the state; a proof has to speak of it
        self.space = Signal(range(depth + 1), init=depth)
        self.stored = Signal(range(depth))        # flits after the head
        self.read, self.write = Signal(range(depth - 1)), Signal(range(depth - 1))
        self.fresh = Signal(init=1)               # the next flit to come is a header
        self.losing = Signal()                    # the packet that comes leads nowhere
        self.kept = Signal(_entry(width, ports))  # the head
        self.memory = Memory(shape=self.kept.shape(), depth=depth - 1, init=[])
        self._write_port = self.memory.write_port()
        self._read_port = self.memory.read_port(domain="comb")
        # flits on their way to the FIFO; they never stop
        self.moving = [Signal(name=f"moving_{stage}") for stage in range(delta - 2)]
        self.stages = [Signal(flit, name=f"stage_{stage}") for stage in range(delta - 2)]

    def elaborate(self, platform):
        m = Module()
        sink, depth, leaves = self.sink, self.depth, self.leaves

        # What is taken has a place.
        accepted = Signal()
        ready = Signal(init=1)
        m.d.comb += [sink.ready.eq(ready), accepted.eq(sink.valid & ready)]
        with m.If(accepted & ~leaves):
            m.d.sync += [self.space.eq(self.space - 1), ready.eq(self.space != 1)]
        with m.Elif(leaves & ~accepted):
            m.d.sync += [self.space.eq(self.space + 1), ready.eq(1)]

        # The stages that make delta what it is.
        arrives, arriving = accepted, sink.payload
        for moving, stage in zip(self.moving, self.stages, strict=True):
            m.d.sync += [moving.eq(arrives), stage.eq(arriving)]
            arrives, arriving = moving, stage

        # What the router has to know of a flit goes with it.
        entry = Signal.like(self.kept)
        want = self._decode(m, arriving.data) & self.connected
        header = self.fresh
        m.d.comb += [entry.flit.eq(arriving), entry.want.eq(Mux(header, want, 0)),
                     entry.header.eq(header), entry.lost.eq(Mux(header, ~want.any(), self.losing))]
        if self.routing == "source":
            with m.If(header):
                m.d.comb += entry.flit.data.eq(arriving.data >> CODE_BITS)
        with m.If(arrives):
            m.d.sync += [self.fresh.eq(arriving.last), self.losing.eq(entry.lost)]

        # Head and store: an arriving flit goes to the head if that is free and the store empty.
        m.submodules.memory = self.memory
        free, empty, push, pop = Signal(), Signal(), Signal(), Signal()
        stored, kept = self._read_port.data, self.kept
        m.d.comb += [
            leaves.eq(self.take | (self.valid & kept.lost)),
            free.eq(~self.valid | leaves),
            empty.eq(self.stored == 0),
            push.eq(arrives & ~(free & empty)),
            pop.eq(free & ~empty),
            self._write_port.en.eq(arrives),
            self._write_port.addr.eq(self.write),
            self._write_port.data.eq(entry),
            self._read_port.addr.eq(self.read),
            self.head.eq(kept.flit),
            self.want.eq(kept.want),
            self.misrouted.eq(self.valid & kept.lost & kept.header),
            self.following.eq(Mux(~empty & kept.flit.last, stored.want, 0)),
        ]
        with m.If(push & ~pop):
            m.d.sync += self.stored.eq(self.stored + 1)
        with m.Elif(pop & ~push):
            m.d.sync += self.stored.eq(self.stored - 1)
        for moves, pointer in ((push, self.write), (pop, self.read)) if depth > 2 else ():
            with m.If(moves):
                m.d.sync += pointer.eq(Mux(pointer == depth - 2, 0, pointer + 1))
        # Whatever need not be exact is not: what is written beside the store is overwritten, and
        # so is a head that is not valid.
        with m.If(free):
            m.d.sync += [self.valid.eq(arrives | ~empty), kept.eq(Mux(empty, entry, stored))]
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
