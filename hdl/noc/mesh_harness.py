"""Traffic and measurement for a mesh, in hardware: no Python on any cycle.

Every tile has a source of random traffic and a sink that measures it. Routes are XY, so that a
header is a destination.

It has no model of its own: what it must measure are the bounds in golden/noc.
"""

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.hdl.noc.mesh import Mesh
from cyclebound.hdl.noc.mesh_traffic import (
    TILE_BITS,
    PlanLayout,
    TrafficSink,
    TrafficSource,
    stamp_bits,
)

__all__ = ["MeshHarness"]

_RESULTS = {"count": 32, "flits": 32, "queued": 48, "network": 48, "received": 32, "sent": 32,
            "blocked": 32, "worst": 32, "wrong": 1}  # at most


class MeshHarness(wiring.Component):
    """A mesh between its traffic and its recorders.

    Parameters
    ----------
    rows, columns : int
        Powers of two, at least 2.
    width, depth, delta, longest
        Of the `Mesh`; ``width`` is at least 32, ``longest`` at most 128. ``width`` - 16 bits, but
        not more than 32, are left for times: latencies have to be shorter than 2 to their power.
    routing : str
        "xy": the harness supports no other.

    Members
    -------
    aim_at : In(1), tile : In(range(tiles)), target : In(8), active : In(1)
        With ``aim_at``, the tile's target (column in the lower four bits, row in the upper) and
        whether it sends are set. After reset, no tile sends.
    plan : In(PlanLayout)
        Rate, targets and lengths of the packets.
    seed : In(32)
        Seed of all random numbers.
    start : In(1)
        Begin a measurement; ``plan``, ``seed`` and the three below are to be kept until its end.
    warm, counted, drain : In(32)
        Cycles before packets are counted, cycles in which they are, and cycles after that in which
        no more are created; at least 1 each.
    done : Out(1)
        The measurement has ended.
    read_tile, read_source : In(range(tiles))
        Tile whose results are shown, 2 cycles later, and source of its ``worst``.
    count, flits, queued, network, received, worst, wrong : Out
        Of that tile's `TrafficSink`; ``worst`` is that of ``read_source``.
    sent, blocked : Out(32)
        Of that tile's `TrafficSource`.
    """

    def __init__(self, *, rows, columns, width=32, depth=4, delta=2, routing="xy", longest=66):
        for thing, value in (("Row count", rows), ("Column count", columns)):
            if value < 2 or value & (value - 1):
                raise ValueError(f"{thing} must be a power of two from 2, not {value}")
        if routing != "xy":
            raise ValueError(f"Routing must be xy, not {routing!r}")
        if width < 32:
            raise ValueError(f"Flit width must be at least 32, not {width}")
        self.mesh = Mesh(rows=rows, columns=columns, width=width, depth=depth, delta=delta,
                         routing=routing, longest=longest)
        self.rows, self.columns, self.width = rows, columns, width
        self.tiles = tiles = rows * columns
        self._results = {**_RESULTS, "worst": stamp_bits(width)}
        super().__init__({
            "aim_at": In(1), "tile": In(range(tiles)), "target": In(TILE_BITS), "active": In(1),
            "plan": In(PlanLayout), "seed": In(32), "start": In(1),
            "warm": In(32), "counted": In(32), "drain": In(32), "done": Out(1),
            "read_tile": In(range(tiles)), "read_source": In(range(tiles)),
            **{name: Out(bits) for name, bits in self._results.items()},
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.mesh = mesh = self.mesh
        cycle, left, cleared = Signal(32), Signal(32), Signal(range(self.tiles))
        create, counting, clear = Signal(), Signal(), Signal()
        m.d.sync += cycle.eq(cycle + 1)

        with m.FSM():
            with m.State("IDLE"):
                with m.If(self.start):
                    m.d.sync += [self.done.eq(0), clear.eq(1), cleared.eq(0)]
                    m.next = "CLEAR"
            with m.State("CLEAR"):
                m.d.sync += cleared.eq(cleared + 1)
                with m.If(cleared == self.tiles - 1):
                    m.d.sync += [clear.eq(0), create.eq(1), left.eq(self.warm)]
                    m.next = "WARM"
            for state, following, cycles in (("WARM", "COUNT", self.counted),
                                             ("COUNT", "DRAIN", self.drain),
                                             ("DRAIN", "IDLE", 0)):
                with m.State(state):
                    m.d.sync += left.eq(left - 1)
                    with m.If(left == 1):
                        m.d.sync += [left.eq(cycles), counting.eq(state == "WARM"),
                                     create.eq(state == "WARM"), self.done.eq(state == "DRAIN")]
                        m.next = following

        # Settings in registers: a simulator would work out all that depends on an input again at
        # each edge of the clock.
        plan, seed = Signal(PlanLayout), Signal(32)
        with m.If(self.start):
            m.d.sync += [plan.eq(self.plan), seed.eq(self.seed)]
        results = {name: [] for name in self._results}
        for number, (row, column) in enumerate(mesh.shape.tiles):
            source = TrafficSource(rows=self.rows, columns=self.columns, place=number,
                                   width=self.width)
            sink = TrafficSink(tiles=self.tiles, width=self.width)
            m.submodules[f"source_{number}"], m.submodules[f"sink_{number}"] = source, sink
            wiring.connect(m, source.source, mesh.sinks[number])
            wiring.connect(m, mesh.sources[number], sink.sink)
            active = Signal(name=f"active_{number}")
            target = Signal(TILE_BITS, name=f"target_{number}")
            with m.If(self.aim_at & (self.tile == number)):
                m.d.sync += [active.eq(self.active), target.eq(self.target)]
            m.d.comb += [
                source.plan.eq(plan), source.active.eq(active), source.target.eq(target),
                source.cycle.eq(cycle), source.create.eq(create), source.restart.eq(clear),
                source.seed.eq(seed),
                sink.here.eq(column | row << TILE_BITS // 2), sink.cycle.eq(cycle),
                sink.counting.eq(counting), sink.clear.eq(clear),
                sink.clear_address.eq(cleared), sink.worst_address.eq(self.read_source),
            ]
            for name, counts in results.items():
                counts.append(getattr(source if name in ("sent", "blocked") else sink, name))
        shown = Signal.like(self.read_tile)
        m.d.sync += shown.eq(self.read_tile)
        m.d.sync += [getattr(self, name).eq(Array(counts)[shown])
                     for name, counts in results.items()]
        return m
