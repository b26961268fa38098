"""Router of one of SHMAC's two networks: requests, or responses."""

from functools import cached_property

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.noc.routes import Port
from cyclebound.golden.shmac.address_map import LOCAL_BITS
from cyclebound.golden.shmac.core_port import DATA_BITS
from cyclebound.golden.shmac.packet import DESTINATIONS
from cyclebound.hdl.noc.dimension_order import compare, outputs_of
from cyclebound.hdl.noc.handshake_router import COUNTER_BITS, count_dropped
from cyclebound.hdl.noc.packet_queue import PacketQueue
from cyclebound.hdl.noc.pipelined_output import PipelinedOutput
from cyclebound.hdl.shmac.packet import PositionLayout, check_packets, packet_layout

__all__ = ["Router", "RouterInput"]

_ALL = (1 << len(Port)) - 1


def _reach(port):
    """Outputs that a packet may ask for, a bit each: whoever is on a column stays on it, and
    nothing turns around but where it comes from a master and goes to a slave of the same tile."""
    if port in (Port.NORTH, Port.SOUTH):
        return 1 << port.opposite | 1 << Port.LOCAL
    return _ALL if port is Port.LOCAL else _ALL ^ 1 << port


class RouterInput(PacketQueue):
    """`PacketQueue` of a channel's packets.

    Latency: as of `PacketQueue`.

    Parameters
    ----------
    port : Port
        The port that it is.
    channel, address_bits, data_bits
        As of `Router`.

    Members
    -------
    sink, connected, asks, granted, packet, unroutable
        As of `PacketQueue`.
    position : In(PositionLayout)
        As of `Router`.
    """

    def __init__(self, *, port, channel, **bits):
        self._destination = DESTINATIONS[channel]
        super().__init__(packet_layout(channel, **bits), reach=_reach(port), outputs=len(Port),
                         members={"position": In(PositionLayout)})

    def decode(self, m, incoming):
        """Its output."""
        compared, there = Signal(4), incoming[self._destination].as_value()
        m.d.comb += compared.eq(compare(there, self.position))
        return {"output": outputs_of(compared)}


class Router(wiring.Component):
    """Pipelined router of five ports: dimension order, round robin at each output.

    Latency: a packet taken in cycle T is on offer from cycle T + 3 on. Throughput: a packet in
    every cycle at every port. At each output a packet waits for one packet of each other input
    that leads there: along a row only the port opposite and the local one do, along a column
    all but that of the output itself.

    A packet whose output leads nowhere, or back, or from a column to a row, is dropped and
    counted. A correct system has none.

    Parameters
    ----------
    channel : str
        ``"request"``: packets go to their targets; ``"response"``: to their initiators.
    address_bits, data_bits : int
        Of a packet: at most 24 and 32; fewer are for proofs.

    Members
    -------
    sinks, sources : In, Out(stream of packets).array(5)
        Packets in and out: north, east, south, west, local.
    connected : In(5)
        Outputs that lead anywhere; constant.
    position : In(PositionLayout)
        The router's row and column; constant.
    unroutable : Out(16)
        Packets dropped.
    """

    def __init__(self, *, channel="request", address_bits=LOCAL_BITS, data_bits=DATA_BITS):
        self._packets = {"channel": channel, "address_bits": address_bits, "data_bits": data_bits}
        check_packets(**self._packets)
        packets = stream.Signature(packet_layout(**self._packets))
        super().__init__({
            "sinks": In(packets).array(len(Port)), "sources": Out(packets).array(len(Port)),
            "connected": In(len(Port)), "position": In(PositionLayout),
            "unroutable": Out(COUNTER_BITS),
        })

    # Made late: a router that is only asked for its ports has none of these.
    @cached_property
    def inputs(self):
        """The queues, by port."""
        return [RouterInput(port=port, **self._packets) for port in Port]

    @cached_property
    def outputs(self):
        """An output unit for each port, in the order of `Port`."""
        layout = packet_layout(**self._packets)
        return [PipelinedOutput(layout, inputs=len(Port)) for _ in Port]

    def elaborate(self, platform):
        m = Module()
        for port, unit, output in zip(Port, self.inputs, self.outputs, strict=True):
            name = port.name.lower()
            m.submodules[f"input_{name}"], m.submodules[f"output_{name}"] = unit, output
            wiring.connect(m, wiring.flipped(self.sinks[port]), unit.sink)
            wiring.connect(m, output.source, wiring.flipped(self.sources[port]))
            m.d.comb += [
                unit.connected.eq(self.connected), unit.position.eq(self.position),
                unit.granted.eq(Cat(out.grant[port] for out in self.outputs).any()),
                output.requests.eq(Cat(queue.asks[port] for queue in self.inputs)),
                *(packet.eq(queue.packet)
                  for packet, queue in zip(output.packets, self.inputs, strict=True)),
            ]
        count_dropped(m, self.unroutable, [unit.unroutable for unit in self.inputs])
        return m
