"""Bound checker of SHMAC's routers, and the proofs about the inside of the original one.

`ShmacRouterCheck` knows only the ports: it watches simulations of both routers. The proofs look
inside `HandshakeRouter`: `HandshakeKeptProof` (nothing lost, duplicated or changed),
`HandshakeFairProof` (one grant at a time, round robin).
"""

from functools import reduce
from operator import or_

from amaranth.hdl import Assert, Cat, Cover, Module, Mux, Signal, Value

from cyclebound.golden.noc.shmac_packet import ShmacPort
from cyclebound.tb.assumed import fixed, stays
from cyclebound.tb.noc.fairness import claim_fair
from cyclebound.tb.watcher import Watcher, claim_kept

__all__ = ["HandshakeFairProof", "HandshakeKeptProof", "ShmacRouterCheck"]

_BITS = 20  # of a count of packets


def _stays(m, router):
    """Assume that the router stays where it is."""
    past, place = Signal(), Cat(router.connected, router.position)
    before = Signal.like(place)
    m.d.sync += [past.eq(1), before.eq(place)]
    m.d.sync += fixed(~past | (before == place), "the router's place changes")


class ShmacRouterCheck(Watcher):
    """Bound checker of a router: reads every port of its target, drives none.

    An offer stays until it is acknowledged, and no more packets come out than went in. Assumes the
    same of what is offered to it, and that the router stays where it is.

    Parameters
    ----------
    target : HandshakeRouter or PipelinedRouter
        The router, or a component with the same members.
    """

    def elaborate(self, platform):
        m = Module()
        _stays(m, self)
        for ports, claim, what in ((self.sinks, stays, "input"),
                                   (self.sources, Assert, "output")):
            for n, port in enumerate(ports):
                claim_kept(m, f"{what} {n}", port, claim)
        went, came = Signal(_BITS), Signal(_BITS)
        m.d.sync += [went.eq(went + sum(port.valid & port.ready for port in self.sinks)),
                     came.eq(came + sum(port.valid & port.ready for port in self.sources))]
        m.d.sync += Assert(came <= went, "more packets out than in")
        return m


class HandshakeKeptProof(Watcher):
    """No packet lost, duplicated or changed, whatever is offered and however receivers stall.

    A packet taken by an input is inside until an output hands it over or it is dropped and counted,
    whichever comes first, and only one of them comes; the input is free if and only if none is
    inside. All the time exactly one thing happens to it: it is in one of its first five cycles,
    asks for one output, or is had by one. What an output offers is what was taken.

    Parameters
    ----------
    target : HandshakeRouter
        The router itself.
    """

    def __init__(self, target):
        super().__init__(target)
        self._inputs, self._outputs = target.inputs, target.outputs

    def elaborate(self, platform):
        m = Module()
        _stays(m, self)
        took = [Signal.like(Value.cast(unit.packet), name=f"took_{n}")
                for n, unit in enumerate(self._inputs)]
        for n, unit in enumerate(self._inputs):
            self._input(m, n, unit, took[n])
        for n, output in enumerate(self._outputs):
            owner, steps, source = output.owner, output.steps, output.source
            mine = reduce(or_, (Mux(one, taken, 0) for one, taken in zip(owner, took, strict=True)))
            m.d.sync += [
                Assert((owner & (owner - 1)) == 0, f"output {n}: more than one packet at a time"),
                Assert(~source.valid | (Value.cast(source.payload) == mine),
                       f"output {n}: not what was taken"),
                Assert(~steps[1:].any() | (Value.cast(source.payload) == mine),
                       "invariant: the output has the packet"),
                Assert((steps & (steps - 1)) == 0, "invariant: one step of an output at a time"),
                Assert(steps.any() == owner.any(), "invariant: an output in use is in a step"),
                Assert(~owner[n], "invariant: nothing turns around"),
                Assert(output.free == ~owner.any(), "invariant: free is without an owner"),
            ]
            m.d.sync += Cover(source.valid & source.ready, f"output {n} hands over")
        return m

    def _input(self, m, n, unit, took):
        steps, held = unit.steps, ~unit.free
        inside = Signal(name=f"inside_{n}")
        take = unit.sink.valid & unit.free
        leaves = Cat(output.done[n] for output in self._outputs)
        dropped = steps[4] & ~unit.good
        judged = Signal(name=f"judged_{n}")  # counted as unroutable or malformed
        with m.If(take):
            m.d.sync += [took.eq(Value.cast(unit.sink.payload)), inside.eq(1), judged.eq(0)]
        with m.Elif(leaves.any() | dropped):
            m.d.sync += inside.eq(0)
        with m.If(unit.unroutable | unit.malformed):
            m.d.sync += judged.eq(1)
        owned = Cat(output.owner[n] for output in self._outputs)
        # an output that begins with it tells it in the next cycle, until when it asks
        told = Cat(output.owner[n] & output.steps[0] for output in self._outputs)
        things = [*steps[:4], dropped, (unit.asks & ~told).any(), owned.any()]
        m.d.sync += [
            Assert(inside == held, f"input {n}: a packet is lost or doubled"),
            Assert(~leaves.any() | inside, f"input {n}: a packet leaves that is not inside"),
            Assert(~dropped | judged, f"input {n}: dropped without being counted"),
            Assert(~steps[4] | dropped | ~judged, f"input {n}: counted without being dropped"),
            Assert(~(unit.unroutable & unit.malformed), f"input {n}: counted twice"),
            Assert(~held | (Value.cast(unit.packet) == took), f"input {n}: a packet changes"),
            Assert(sum(things) == held, f"input {n}: a packet is nowhere, or in two places"),
            Assert((owned & (owned - 1)) == 0, f"input {n}: two outputs have its packet"),
            Assert((unit.asks & (unit.asks - 1)) == 0, f"input {n}: asks for two outputs"),
            Assert((told & ~unit.asks) == 0, "invariant: it asks until it is told"),
            Assert(~unit.asks[n], "invariant: nothing asks to turn around"),
            Assert((steps & (steps - 1)) == 0, "invariant: one step of an input at a time"),
        ]
        m.d.sync += Cover(dropped, f"input {n} drops")


class HandshakeFairProof(HandshakeKeptProof):
    """Round robin at every output, whatever is offered at the inputs.

    A packet that asks for an output sees at most one packet of each other input begin there; at
    most one is granted at a time; and an output is never idle while one asks, unless it is the
    slave's, which is busy. That a packet asks until it is granted is a matter of what is proved of
    keeping it, so that this is claimed again.

    Parameters
    ----------
    target : HandshakeRouter
        The router itself.
    """

    def elaborate(self, platform):
        m = super().elaborate(platform)
        for n, output in enumerate(self._outputs):
            waiting = Signal(6, name=f"waiting_{n}")
            m.d.comb += waiting.eq(Cat(unit.asks[n] for unit in self._inputs) & ~output.granted)
            free = output.free
            if n == ShmacPort.SLAVE:
                free &= ~self.slave_busy
            arbiter = output.arbiter
            m.d.sync += Assert(arbiter.held == 0, "invariant: every grant is accepted")
            claim_fair(m, n, arbiter, waiting, arbiter.grant, free, head="request", shown=1)
        return m
