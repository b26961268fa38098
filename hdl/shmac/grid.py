"""A grid of SHMAC's tiles: cores, RAM and devices on the network with two channels."""

from functools import cached_property

from amaranth.hdl import Cat, Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.noc.routes import Port
from cyclebound.golden.shmac.core_port import DATA_BITS
from cyclebound.golden.shmac.gate_table import Gates, check_apart
from cyclebound.golden.shmac.layout import Kind, Layout
from cyclebound.golden.shmac.packet import CHANNELS
from cyclebound.hdl.parameters import check_integer
from cyclebound.hdl.shared import shared
from cyclebound.hdl.shmac.core import TraceLayout
from cyclebound.hdl.shmac.device import CharacterLayout, Device
from cyclebound.hdl.shmac.gate import Gate
from cyclebound.hdl.shmac.network import Network
from cyclebound.hdl.shmac.packet import RequestPacketLayout, packet_layout
from cyclebound.hdl.shmac.ram import Ram
from cyclebound.hdl.shmac.tile import CoreTile, check_tile

__all__ = ["Grid"]

_SEEN = dict(zip(("requested", "responded"), CHANNELS, strict=True))


def _sight(channel):
    """A stream of packets in a cycle."""
    return data.StructLayout({"valid": 1, "ready": 1, "payload": packet_layout(channel)})


class Grid(wiring.Component):
    """A layout of tiles.

    Latency: see its parts, `CoreTile`, `Ram`, `Device` and `Network`.

    Parameters
    ----------
    layout : sequence of str
        A row of tiles each, a character for each tile, as `Kind` has them.
    words : int
        Of each RAM, a power of two.
    endian : str
        As of `CoreTile`.
    bypass : bool
        As of `CoreTile`.
    jump : sequence of (row, column)
        Cores whose first words are tile (0, 0)'s.
    period : int
        Of the gates between tiles with a core and the network; 0: there are none.
    opens : sequence of int
        Of each core, in the order of tiles: the cycle of each period in which its gate is open. A
        table in which accesses meet is refused
        (`cyclebound.golden.shmac.gate_table.check_apart`).
    tracked : bool
        Has ``requested`` and ``responded``, for a tracker of packets.

    Members
    -------
    run : In(1).array
        Of each core, in the order of tiles: it may go on; low from reset until its program is in
        its RAM, then high.
    host : In(stream of RequestPacketLayout)
        Plain writes, which enter tile (0, 0) from the west.
    console : Out(CharacterLayout).array
        Of each core, in the order of tiles: what its program writes.
    exited, status : Out(1).array, Out(32).array
        Of each core: its program has ended, and with what.
    trace : Out(TraceLayout).array
        Of each core.
    sends : Out(CharacterLayout).array
        Of each UART, in the order of tiles.
    receives : In(stream of 8 bits).array
        Of each UART.
    lost : Out(1)
        A router has dropped a packet: never.
    requested, responded : Out(StructLayout).array(6 * tiles)
        If ``tracked``: of each tile's router, the streams out of its ports, and the one from its
        tile, as ``valid``, ``ready`` and ``payload``.
    """

    def __init__(self, *, layout, words, endian="big", bypass=True, jump=(), period=0, opens=(),
                 tracked=False):
        self.layout = Layout(tuple(layout))
        self._parameters = {"rows": self.layout.height, "columns": self.layout.width,
                            "words": words, "endian": endian, "bypass": bypass}
        check_tile(**self._parameters)
        self.jump = [tuple(tile) for tile in jump]
        for tile in self.jump:
            if self.layout.kind(tile) is not Kind.CORE:
                raise ValueError(f"Jump must name tiles with a core, not {tile}")
        if self.jump and self.layout.kind((0, 0)) not in (Kind.JUMP, Kind.RAM):
            raise ValueError(f"Jump must have a jump tile, or RAM, in tile (0, 0), not "
                             f"{self.layout.rows[0][0]!r}")
        check_integer("Period", period, 0)
        self.period, self.opens = period, list(opens)
        masters = self.layout.tiles(Kind.CORE)
        cores, uarts = len(masters), len(self.layout.tiles(Kind.UART))
        if len(self.opens) != (cores if period else 0):
            raise ValueError(f"Opens must have a cycle for each of {cores} cores, and none without "
                             f"a period, not {self.opens}")
        if period:
            check_apart(self.layout, Gates(period, dict(zip(masters, self.opens, strict=True))),
                        bypass=bypass)
        super().__init__({
            "run": In(1).array(cores), "host": In(stream.Signature(RequestPacketLayout)),
            "console": Out(CharacterLayout).array(cores), "exited": Out(1).array(cores),
            "status": Out(DATA_BITS).array(cores), "trace": Out(TraceLayout).array(cores),
            "sends": Out(CharacterLayout).array(uarts),
            "receives": In(stream.Signature(8)).array(uarts), "lost": Out(1),
            **({name: Out(_sight(channel)).array(
                self.layout.height * self.layout.width * (len(Port) + 1))
                for name, channel in _SEEN.items()} if tracked else {}),
        })
        self.tracked = tracked

    @cached_property
    def network(self):
        """Made when first used."""
        return Network(rows=self.layout.height, columns=self.layout.width)

    @cached_property
    def tiles(self):
        """By tile, what is in it besides its routers; made when first used."""
        masters = self.layout.tiles(Kind.CORE)

        def made(tile):
            kind = self.layout.kind(tile)
            if kind is Kind.CORE:
                return CoreTile(**self._parameters, jump=tile in self.jump)
            if kind.has_memory:
                return Ram(words=self._parameters["words"],
                           masters=masters if kind is Kind.LOCKS else ())
            return Device(kind=kind)

        return {tile: made(tile) for tile in self.layout.tiles()}

    @cached_property
    def gates(self):
        """By tile with a core, its gate, if it has one; made when first used."""
        return {tile: Gate(period=self.period, opens=opens, evens=self._parameters["bypass"])
                for tile, opens in zip(self.layout.tiles(Kind.CORE), self.opens, strict=False)}

    def elaborate(self, platform):
        m = Module()
        m.submodules.network = network = self.network
        wiring.connect(m, wiring.flipped(self.host), network.host)
        cores = uarts = 0
        for number, (tile, unit) in enumerate(self.tiles.items()):
            kind = self.layout.kind(tile)
            if kind is Kind.CORE:
                part = shared(unit, platform, alike=(*self._parameters.values(), unit.jump))
            elif kind is Kind.RAM:
                part = shared(unit, platform, alike=unit.words)
            else:
                part = unit
            m.submodules["{}_{}_{}".format(kind.name.lower(), *tile)] = part
            asks, answers = network.slave_requests[number], network.slave_responses[number]
            takes = network.master_requests[number]
            gate = self.gates.get(tile)
            if gate is not None:
                m.submodules["gate_{}_{}".format(*tile)] = gate
                wiring.connect(m, asks, gate.accesses)
                wiring.connect(m, gate.returned, answers)
                wiring.connect(m, gate.admitted, takes)
                asks, answers, takes = gate.served, gate.answers, gate.requests
            wiring.connect(m, asks, unit.accesses)
            wiring.connect(m, unit.answers, answers)
            responses = network.master_responses[number]
            if kind is Kind.CORE:
                wiring.connect(m, unit.requests, takes)
                wiring.connect(m, responses, unit.responses)
                m.d.comb += [
                    unit.position.row.eq(tile[0]), unit.position.column.eq(tile[1]),
                    unit.run.eq(self.run[cores]), self.console[cores].eq(unit.console),
                    self.exited[cores].eq(unit.exited), self.status[cores].eq(unit.status),
                    self.trace[cores].eq(unit.trace),
                ]
                cores += 1
            else:
                m.d.comb += responses.ready.eq(1)
            if kind is Kind.UART:
                wiring.connect(m, wiring.flipped(self.receives[uarts]), unit.receives)
                m.d.comb += self.sends[uarts].eq(unit.sends)
                uarts += 1
            if kind is Kind.CLOCK:
                m.d.comb += unit.run.eq(Cat(*self.run).any())
        m.d.comb += self.lost.eq(Cat(*network.dropped_requests, *network.dropped_responses).any())
        for name, channel in _SEEN.items() if self.tracked else ():
            streams = [each for router in network.routers[channel].values()
                       for each in (*router.sources, router.sinks[Port.LOCAL])]
            m.d.comb += [
                seen[part].eq(getattr(each, part))
                for seen, each in zip(getattr(self, name), streams, strict=True)
                for part in ("valid", "ready", "payload")]
        return m
