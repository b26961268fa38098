"""Proofs about the inside of pipelined routers.

`PipelinedKeptProof` (nothing lost, duplicated, changed or out of order, and offers stay),
`PipelinedFairProof` (round robin). What its ports must keep is in `ShmacRouterCheck`.
"""

from functools import reduce
from operator import or_

from amaranth.hdl import Assert, Cat, Cover, Module, Mux, Signal, Value

from cyclebound.golden.noc.shmac_packet import ShmacPort
from cyclebound.tb.noc.fairness import claim_fair
from cyclebound.tb.watcher import Watcher, claim_kept

__all__ = ["PipelinedFairProof", "PipelinedKeptProof"]


class _Inside(Watcher):
    """Sees the ports, and the parts of the router itself."""

    def __init__(self, target):
        super().__init__(target)
        self._inputs, self._outputs = target.inputs, target.outputs

    def _one_output(self, m, unit):
        m.d.sync += [
            Assert((header.output & (header.output - 1)) == 0,
                   "invariant: a packet asks for one output")
            for header in (unit.head, unit.queued)]
        m.d.sync += Assert(((unit.head.output | unit.queued.output) & ~unit.reach) == 0,
                           "invariant: nothing asks to turn, or to turn around, where none does")


class PipelinedKeptProof(_Inside):
    """No packet lost, duplicated, changed or out of order, whatever is offered, and however
    receivers stall.

    An input's packets leave it in the order in which they were taken, each of them once: to one
    output, or dropped and counted. An output offers what was given to it, in that order, and
    offers stay.

    Parameters
    ----------
    target : PipelinedRouter or Router
        The router itself.

    Attributes
    ----------
    single : tuple
        Outputs that never have two packets.
    """

    single: tuple[int, ...] = (ShmacPort.MASTER,)  # which waits for one response at a time

    def elaborate(self, platform):
        m = Module()
        heads = [self._input(m, n, unit) for n, unit in enumerate(self._inputs)]
        for n, output in enumerate(self._outputs):
            self._output(m, n, output, heads)
        return m

    def _input(self, m, n, unit):
        """Returns the packet that has to leave next."""
        sink, width = unit.sink, len(Value.cast(unit.packet))
        first, other, last = (Signal(width, name=f"{name}_{n}")
                              for name in ("taken", "taken_behind", "left"))
        count, gone = Signal(2, name=f"inside_{n}"), Signal(name=f"gone_{n}")
        given = Cat(output.grant[n] for output in self._outputs)
        dropped = Cat(unit.drops).any()
        takes, goes = sink.valid & sink.ready, given.any() | dropped
        m.d.sync += [count.eq(count + takes - goes), gone.eq(given.any())]
        with m.If(goes):
            m.d.sync += [last.eq(first), first.eq(other)]
        with m.If(takes):
            with m.If(count == goes):
                m.d.sync += first.eq(sink.payload)
            with m.Else():
                m.d.sync += other.eq(sink.payload)
        head, queued = (Value.cast(Mux(unit.leaves ^ place, unit.places[1], unit.places[0]))
                        for place in (0, 1))
        m.d.sync += [
            Assert((count != 3) & (count == unit.valid + unit.second),
                   f"input {n}: a packet is lost or doubled"),
            Assert(~goes | (count != 0), f"input {n}: a packet leaves that is not inside"),
            Assert(sum(given) + sum(unit.drops) == goes,
                   f"input {n}: a packet goes to two places, or is counted twice"),
            Assert(~gone | (Value.cast(unit.packet) == last), f"input {n}: not what was taken"),
            Assert(Cat(output.owner[n] for output in self._outputs).any() == gone,
                   "invariant: what goes has an owner"),
            Assert(~unit.second | unit.valid, "invariant: a second packet needs a first"),
            Assert(~unit.valid | (head == first), "invariant: the head is in its place"),
            Assert(~unit.second | (queued == other), "invariant: second is in its place"),
            Assert(unit.enters == (unit.leaves ^ (unit.valid & ~unit.second)),
                   "invariant: the next one's place is free"),
        ]
        self._one_output(m, unit)
        m.d.sync += [Cover(dropped, f"input {n} drops"),
                     Cover(unit.second & goes, f"input {n} has another one")]
        return first

    def _output(self, m, n, output, heads):
        source, width = output.source, len(heads[0])
        first, other = (Signal(width, name=f"{name}_{n}") for name in ("given", "given_behind"))
        count = Signal(2, name=f"within_{n}")
        comes = output.grant.any() & ~output.refused
        goes = source.valid & source.ready
        m.d.sync += count.eq(count + comes - goes)
        with m.If(goes):
            m.d.sync += first.eq(other)
        with m.If(comes):
            head = reduce(or_, (Mux(bit, head, 0)
                                for bit, head in zip(output.grant, heads, strict=True)))
            with m.If(count == goes):
                m.d.sync += first.eq(head)
            with m.Else():
                m.d.sync += other.eq(head)
        crossing = reduce(or_, (Mux(mine, Value.cast(unit.packet), 0) for mine, unit in
                                zip(output.owner, self._inputs, strict=True)))
        claim_kept(m, f"output {n}", source, Assert)
        m.d.sync += [
            Assert((output.grant & (output.grant - 1)) == 0,
                   f"output {n}: more than one packet at a time"),
            Assert((count != 3) & (count == source.valid + output.second + output.moves),
                   f"output {n}: a packet is lost or doubled"),
            Assert(~source.valid | (Value.cast(source.payload) == first),
                   f"output {n}: not what was given"),
            Assert((output.owner & (output.owner - 1)) == 0, "invariant: one owner"),
            Assert(~output.second | source.valid, "invariant: a second packet needs an offer"),
            Assert(~(output.second & output.moves), "invariant: there is a place"),
            Assert(~output.second | (Value.cast(output.queued) == other),
                   "invariant: the second one is kept"),
            Assert(~output.moves | (crossing == Mux(source.valid, other, first)),
                   "invariant: what was given is in the crossbar"),
        ]
        if n not in self.single:
            m.d.sync += Cover(output.second & goes, f"output {n} hands one of two over")


class PipelinedFairProof(_Inside):
    """Round robin at every output, whatever is offered at the inputs.

    A packet that asks for an output sees at most one packet of each other input granted there; at
    most one is granted at a time; and an output never rests while one asks, unless it is full.

    Parameters
    ----------
    target : PipelinedRouter or Router
        The router itself.
    """

    def elaborate(self, platform):
        m = Module()
        for unit in self._inputs:
            self._one_output(m, unit)
        for n, output in enumerate(self._outputs):
            waiting = Signal(len(self._inputs), name=f"waiting_{n}")
            m.d.comb += waiting.eq(Cat(unit.asks[n] for unit in self._inputs))
            arbiter = output.arbiter
            m.d.sync += Assert(arbiter.held == 0, "invariant: every grant is accepted")
            others = sum(unit.reach >> n & 1 for unit in self._inputs) - 1
            claim_fair(m, n, arbiter, waiting, arbiter.grant, output.room, head="request",
                       shown=min(3, others))
        return m
