"""Wormhole router: packets kept together, round robin among packets at each output.

Ref: memory-composition, section III.B and Figure 2.
"""

from functools import cached_property, reduce
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.noc.packet import COORDINATE_BITS, ROUTINGS
from cyclebound.hdl.noc.flit import FlitLayout
from cyclebound.hdl.noc.packet_arbiter import PacketArbiter
from cyclebound.hdl.noc.packet_guard import PacketGuard
from cyclebound.hdl.noc.router_input import PositionLayout, RouterInput
from cyclebound.hdl.parameters import check_integer

__all__ = ["COUNTER_BITS", "RouterOutput", "WormholeRouter", "check_router"]

COUNTER_BITS = 16  # of what was dropped, modulo 2**16


def check_router(width, depth, delta, routing, longest):
    """Raise unless these parameters make a router."""
    check_integer("Flit width", width, 2 * COORDINATE_BITS)
    check_integer("Router latency", delta, 2)
    check_integer("FIFO depth", depth, delta + 1)
    check_integer("Longest packet", longest, 2)
    if routing not in ROUTINGS:
        raise ValueError(f"Routing must be {' or '.join(ROUTINGS)}, not {routing!r}")


class RouterOutput(wiring.Component):
    """One output: whose packet it sends, and the flit on offer.

    Latency: one cycle from a head to the offer. A grant is kept in a register, and the packet goes
    from the next cycle on; grants are made while the packet before leaves, so that packets follow
    each other without a gap.

    Parameters
    ----------
    count, width : int
        Inputs that may send here, and bits of a flit's data.

    Members
    -------
    requests : In(count)
        By input: its head is a header that wants this output.
    coming : In(count)
        By input: such a header will be its head in the next cycle.
    valid, heads : In
        By input: whether there is a head, and the head.
    take : Out(count)
        The input whose head leaves by this output in this cycle.
    source : Out(stream of FlitLayout)
        The flit on offer.
    """

    def __init__(self, *, count, width):
        self.count, self.width = count, width
        flit = FlitLayout(width)
        super().__init__({
            "requests": In(count), "coming": In(count), "valid": In(count),
            "heads": In(flit).array(count),
            "take": Out(count), "source": Out(stream.Signature(flit)),
        })
        self.arbiter = PacketArbiter(count=count)
        self.busy = Signal()        # a packet has been granted
        self.owner = Signal(count)  # by input: that packet is its own; 0 if there is none

    def elaborate(self, platform):
        m = Module()
        m.submodules.arbiter = arbiter = self.arbiter
        source, owner = self.source, self.owner
        load, sends, ends = Signal(), Signal(), Signal()
        m.d.comb += [
            load.eq(~source.valid | source.ready),
            self.take.eq(Mux(load, owner & self.valid, 0)),
            sends.eq((owner & self.valid).any()),
            ends.eq((owner & self.valid & Cat(head.last for head in self.heads)).any()),
            arbiter.waiting.eq(self.requests & ~owner),  # the owner still shows its header
            arbiter.coming.eq(self.coming),
            arbiter.accept.eq(~self.busy | (load & ends)),
        ]
        with m.If(load):
            m.d.sync += [source.valid.eq(sends), source.payload.eq(reduce(or_, (
                Mux(mine, head.as_value(), 0)
                for mine, head in zip(owner, self.heads, strict=True))))]
        with m.If(arbiter.accept):
            m.d.sync += [owner.eq(arbiter.grant), self.busy.eq(arbiter.grant.any())]
        return m


class WormholeRouter(wiring.Component):
    """Wormhole router with a FIFO at each input and a register at each output.

    Latency: ``delta`` + 1 cycles from the cycle in which a flit is taken to the first in which it
    is on offer; the last of them is the paper's cycle on the link, which begins in the output's
    register. Throughput: a flit in every cycle at every output, packets following each other
    without a gap. A packet waits at most for one packet of each other input at its output.

    A header that turns around, or asks for an output that leads nowhere, is dropped with its packet
    and counted. At the local input, where packets enter the network, a `PacketGuard` sees to it
    that they are packets; the other inputs are fed by routers.

    Parameters
    ----------
    width : int
        Bits of data in a flit, at least 8.
    depth : int
        Flits that an input holds, at least ``delta`` + 1: with less, a link would not carry a flit
        in every cycle.
    delta : int
        delta_R: cycles of the router itself, at least 2: one to the head of the FIFO, and one to be
        granted an output, or to follow the header there.
    routing : str
        "source" or "xy": what decides the route.
    longest : int
        Flits in the longest packet allowed, at least 2.
    ports : int
        5: north, east, south, west, local. Fewer, from 2, leave out directions from the end; the
        last port is always the local one. XY routing takes all 5.

    Members
    -------
    sinks, sources : In, Out(stream of FlitLayout).array(ports)
        Packets in and out.
    connected : In(ports)
        Outputs that lead anywhere; constant.
    position : In(PositionLayout)
        The router's row and column, for XY routing; constant.
    misrouted, overlong, misplaced : Out(16)
        Packets dropped because of their route, packets aborted because of their length, and
        packets aborted or flits dropped because of a first flit in the wrong place or missing.
    """

    def __init__(self, *, width=32, depth=4, delta=2, routing="source", longest=66, ports=5):
        check_router(width, depth, delta, routing, longest)
        check_integer("Port count", ports, 2, 5)
        if routing == "xy" and ports != 5:
            raise ValueError(f"Port count must be 5 for XY routing, not {ports}")
        self.width, self.depth, self.delta = width, depth, delta
        self.routing, self.longest, self.ports = routing, longest, ports
        flits = stream.Signature(FlitLayout(width))
        super().__init__({
            "sinks": In(flits).array(ports), "sources": Out(flits).array(ports),
            "connected": In(ports), "position": In(PositionLayout),
            "misrouted": Out(COUNTER_BITS), "overlong": Out(COUNTER_BITS),
            "misplaced": Out(COUNTER_BITS),
        })

    # Made late: a router that is only asked for its ports has none of these.
    @cached_property
    def guard(self):
        """Return the guard at the local input, which makes the sender's packets well-formed."""
        return PacketGuard(width=self.width, longest=self.longest)

    @cached_property
    def inputs(self):
        """The FIFOs, by port."""
        return [RouterInput(number=number, ports=self.ports, width=self.width, depth=self.depth,
                            delta=self.delta, routing=self.routing)
                for number in range(self.ports)]

    @cached_property
    def outputs(self):
        """The outputs, by port."""
        return [RouterOutput(count=self.ports - 1, width=self.width)
                for _ in range(self.ports)]

    def elaborate(self, platform):
        m = Module()
        m.submodules.guard = guard = self.guard
        wiring.connect(m, wiring.flipped(self.sinks[-1]), guard.sink)
        misrouted = []
        for number, unit in enumerate(self.inputs):
            m.submodules[f"input_{number}"] = unit
            sink = guard.source if number == self.ports - 1 else wiring.flipped(self.sinks[number])
            wiring.connect(m, sink, unit.sink)
            m.d.comb += [unit.connected.eq(self.connected), unit.position.eq(self.position)]
            misrouted.append(unit.misrouted)

        taken = [[] for _ in self.inputs]
        for number, output in enumerate(self.outputs):
            m.submodules[f"output_{number}"] = output
            others = [unit for unit in self.inputs if unit.number != number]
            wiring.connect(m, output.source, wiring.flipped(self.sources[number]))
            m.d.comb += [
                output.requests.eq(Cat(unit.valid & unit.want[number] for unit in others)),
                output.coming.eq(Cat(unit.leaves & unit.following[number] for unit in others)),
                output.valid.eq(Cat(unit.valid for unit in others)),
            ]
            for place, unit in enumerate(others):
                m.d.comb += output.heads[place].eq(unit.head)
                taken[unit.number].append(output.take[place])
        for unit, takes in zip(self.inputs, taken, strict=True):
            m.d.comb += unit.take.eq(Cat(takes).any())

        events = Signal(range(self.ports + 1))
        m.d.sync += events.eq(sum(misrouted))
        m.d.sync += [
            self.misrouted.eq(self.misrouted + events),
            self.overlong.eq(self.overlong + guard.overlong),
            self.misplaced.eq(self.misplaced + guard.misplaced),
        ]
        return m
