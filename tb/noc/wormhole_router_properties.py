"""Bound checker of a wormhole router, and the proofs about its inside.

`RouterCheck` knows only the ports: it watches simulations. The three proofs look inside
`WormholeRouter`: `RouterFairProof` (round robin among packets), `RouterCreditProof` (whatever is
taken has a place), `RouterOrderProof` (nothing lost, duplicated, or out of order).
"""

from amaranth.hdl import Assert, Assume, Cat, Const, Cover, Module, Mux, ResetSignal, Signal

from cyclebound.tb.assumed import owes, stays
from cyclebound.tb.noc.fairness import claim_fair
from cyclebound.tb.watcher import Watcher, claim_kept

__all__ = ["RouterCheck", "RouterCreditProof", "RouterFairProof", "RouterOrderProof"]


class _RouterWatcher(Watcher):
    """Sees the router's ports, and what its neighbours owe it.

    Assumes that an offer stays until it is taken, and that all inputs but the local one get
    packets: the first flit marked so, the last one within ``longest`` flits. With ``tame``, the
    local one gets no less, and there are no aborts.

    Attributes
    ----------
    inside : list of Signal
        By input: a packet has been taken in part.
    length : list of Signal
        By input: how many flits of that packet have been taken.
    """

    tame = False

    def __init__(self, target):
        self.target, self.longest, self.local = target, target.longest, target.ports - 1
        super().__init__(target)
        self.inside = [Signal(name=f"inside_{n}") for n in range(target.ports)]
        self.length = [Signal(range(self.longest + 1), name=f"length_{n}")
                       for n in range(target.ports)]

    def elaborate(self, platform):
        m = Module()
        for n, sink in enumerate(self.sinks):
            claim_kept(m, f"input {n}", sink, stays)
            if n != self.local or self.tame:
                self._packets(m, n, sink, self.inside[n], self.length[n], owes, f"input {n}")
        return m

    def _packets(self, m, n, port, inside, length, claim, what):
        flit = port.payload
        with m.If(port.valid & port.ready):
            m.d.sync += [inside.eq(~flit.last), length.eq(Mux(flit.last, 0, length + 1))]
        again = flit.first & inside & (Const(1) if self.tame else ~flit.last)
        # In reset, senders may still show what has been taken.
        idle = ~port.valid | ResetSignal("sync", allow_reset_less=True)
        m.d.sync += [
            claim(idle | inside | flit.first, f"{what}: payload where a header is due"),
            claim(idle | ~again, f"{what}: header where payload is due"),
            claim(idle | flit.last | (length != self.longest - 1), f"{what}: packet too long"),
        ]


class RouterCheck(_RouterWatcher):
    """Bound checker of a router: reads every port of its target, drives none.

    What leaves an output are packets, each kept together, and an offer stays until it is taken.

    Parameters
    ----------
    target : WormholeRouter
        The router, or a component with the same members and parameters.
    """

    def elaborate(self, platform):
        m = super().elaborate(platform)
        for n, source in enumerate(self.sources):
            claim_kept(m, f"output {n}", source, Assert)
            inside = Signal(name=f"inside_output_{n}")
            length = Signal(range(self.longest + 1), name=f"length_output_{n}")
            self._packets(m, n, source, inside, length, Assert, f"output {n}")
        return m


def _look(unit):
    """Read ports for all words of an input's store; before it is elaborated."""
    return [unit.memory.read_port(domain="comb") for _ in range(unit.depth - 1)]


def _stored(m, unit, looks):
    """Yield the entries after a queue's head, oldest first: whether it is valid, and its flit."""
    words = unit.depth - 1
    for place, look in enumerate(looks):
        at = unit.read + place
        m.d.comb += look.addr.eq(Mux(at >= words, at - words, at) if words > 1 else 0)
        yield unit.stored > place, look.data


def _counted(unit):
    """Invariants from which `_stored` follows: places and stored words are counted."""
    words, last = unit.depth - 1, unit.read + unit.stored
    return [
        Assert(unit.space + _inside(unit) == unit.depth, "invariant: space is counted"),
        Assert(unit.sink.ready == (unit.space != 0), "invariant: ready is space"),
        Assert(unit.valid | (unit.stored == 0), "invariant: a store needs a head"),
        Assert(unit.write == Mux(last >= words, last - words, last), "invariant: write pointer"),
        Assert(unit.read < words, "invariant: read pointer"),
    ]


class RouterFairProof(Watcher):
    """Round robin among packets, at every output, whatever is offered at the inputs.

    A header that waits for an output sees at most one packet of each other input begin there; and
    an output is never idle while one waits. A header waits from the cycle before the one in which
    it could begin. It adds read ports to the stores, as `RouterOrderProof` does.

    Parameters
    ----------
    target : WormholeRouter
        The router itself; not elaborated yet.
    """

    def __init__(self, target):
        super().__init__(target)
        self._inputs, self._outputs = target.inputs, target.outputs
        self._looks = [_look(unit) for unit in target.inputs]

    def elaborate(self, platform):
        m = Module()
        for unit, looks in zip(self._inputs, self._looks, strict=True):
            outputs = [n for n in range(len(self._outputs)) if n != unit.number]
            owned = Cat(self._outputs[n].owner[_place(unit, n)] for n in outputs)
            kept, begins = unit.kept, Mux(unit.valid, unit.kept.header, unit.fresh)
            lost = Mux(unit.valid, kept.lost, unit.losing)
            m.d.sync += [
                *_counted(unit),
                Assert((owned & (owned - 1)) == 0, "invariant: one output has the packet"),
                Assert(begins | (owned.any() != lost), "invariant: packets are kept or dropped"),
                Assert(~(begins & owned.any()) | unit.valid, "invariant: grants are for headers"),
                Assert(~(unit.valid & begins & owned.any())
                       | (owned == Cat(unit.want[n] for n in outputs)),
                       "invariant: the header wants the output that has it"),
            ]
            before = kept
            for place, (there, entry) in enumerate([(unit.valid, kept), *_stored(m, unit, looks)]):
                lost = Mux(entry.header, ~entry.want.any(), before.lost)
                m.d.sync += [
                    Assert(~there | (entry.lost == lost), "invariant: lost without an output"),
                    Assert(~there | entry.header | ~entry.want.any(), "invariant: headers want"),
                    Assert(~there | ((entry.want & (entry.want - 1)) == 0),
                           "invariant: one output is wanted"),
                    Assert(~there | ~entry.want[unit.number], "invariant: nothing turns around"),
                ]
                if place > 0:
                    m.d.sync += Assert(~there | (entry.header == before.flit.last),
                                       "invariant: a header follows a last flit")
                    before = _either(m, there, entry, before)
            m.d.sync += [
                Assert(~unit.valid | (unit.fresh == before.flit.last),
                       "invariant: a header is next after a last flit"),
                Assert(~unit.valid | (unit.losing == before.lost),
                       "invariant: the rest of a lost packet is lost"),
            ]
        for n, output in enumerate(self._outputs):
            self._output(m, n, output)
        return m

    def _output(self, m, n, output):
        units = [unit for unit in self._inputs if unit.number != n]
        waiting, grant = (Signal(output.count, name=f"{name}_{n}") for name in ("waiting", "grant"))
        arbiter = output.arbiter
        m.d.comb += [
            waiting.eq(Cat((unit.valid & unit.want[n] & ~mine) | (unit.leaves & unit.following[n])
                           for unit, mine in zip(units, output.owner, strict=True))),
            grant.eq(Mux(arbiter.accept, arbiter.grant, 0)),
        ]
        m.d.sync += [
            Assert((output.owner & (output.owner - 1)) == 0, "invariant: one owner"),
            Assert(output.busy == output.owner.any(), "invariant: busy with an owner"),
            Assert((arbiter.served & (arbiter.served - 1)) == 0, "invariant: one was served last"),
        ]
        claim_fair(m, n, arbiter, waiting, grant, arbiter.accept, head="header")


def _either(m, there, entry, before):
    """The later one of two entries that is there."""
    later = Signal.like(before)
    m.d.comb += later.eq(Mux(there, entry, before))
    return later


def _place(unit, output):
    """The place of an input among those of an output."""
    return unit.number - (unit.number > output)


def _inside(unit):
    """The number of flits that an input holds."""
    return unit.valid + unit.stored + sum(unit.moving, Const(0, 1))


class RouterCreditProof(Watcher):
    """Whatever an input takes has a place, whatever is offered and however outputs stall.

    Parameters
    ----------
    target : WormholeRouter
        The router itself.
    """

    def __init__(self, target):
        super().__init__(target)
        self._inputs = target.inputs

    def elaborate(self, platform):
        m = Module()
        for unit in self._inputs:
            n, depth = unit.number, unit.depth
            m.d.sync += [
                Assert(unit.space + _inside(unit) == depth, f"input {n}: space is not counted"),
                Assert(unit.sink.ready == (unit.space != 0), f"input {n}: ready without space"),
                Assert(unit.stored < depth, f"input {n}: FIFO overflows"),
                Assert(unit.valid | (unit.stored == 0), f"input {n}: flits without a head"),
                Assert(unit.valid | ~unit.leaves, f"input {n}: taken from an empty input"),
            ]
            m.d.sync += Cover(unit.space == 0, f"input {n} is full")
        return m


class RouterOrderProof(_RouterWatcher):
    """No flit lost, duplicated or reordered, in a router with two ports.

    Every flit is numbered by its sender, in the bits above those that say the route; what comes out
    has to be numbered in order, without a gap. The invariants follow the numbers through output,
    head, store and stages. It adds read ports to the stores, to look at all their words.

    Parameters
    ----------
    target : WormholeRouter
        The router itself, with ``ports=2``, routed by source; not elaborated yet.
    """

    tame = True

    def __init__(self, target):
        if target.ports != 2 or target.routing != "source":
            raise ValueError(f"it follows a router's flits between 2 ports, routed by source, not "
                             f"{target.ports} by {target.routing}")
        super().__init__(target)
        self._looks = [_look(unit) for unit in target.inputs]

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.sync += Assume(self.connected == 3, "an output leads nowhere")
        guard = self.target.guard
        m.d.sync += [
            Assert(guard.inside == self.inside[1], "invariant: the guard knows where it is"),
            Assert(guard.count == self.length[1], "invariant: the guard counts"),
            Assert(~guard.dropping, "invariant: the guard drops nothing"),
        ]
        for n in range(2):
            self._follow(m, n, self.target.inputs[n], self.target.outputs[1 - n])
        return m

    def _follow(self, m, n, unit, output):
        sink, source = self.sinks[n], self.sources[1 - n]
        bits = unit.width - 2
        sent, got = Signal(bits, name=f"sent_{n}"), Signal(bits, name=f"got_{n}")
        inside = Signal(name=f"inside_output_{n}")
        with m.If(sink.valid & sink.ready):
            m.d.sync += sent.eq(sent + 1)
        with m.If(source.valid & source.ready):
            m.d.sync += [got.eq(got + 1), inside.eq(~source.payload.last)]
        m.d.sync += [
            owes(~sink.valid | (sink.payload.data[2:] == sent), f"input {n}: wrong number"),
            Assume(~(sink.valid & sink.payload.first) | (sink.payload.data[:2] == 0),
                   f"input {n}: header leads nowhere"),
        ]

        def number(flit):  # of a flit that has lost its router's share of the route
            return Mux(flit.first, flit.data[:bits], flit.data[2:])

        def claim(fact, says):
            m.d.sync += Assert(fact, says)

        flit, kept = source.payload, unit.kept
        claim(~source.valid | (number(flit) == got), f"input {n}: flit lost, doubled or reordered")
        claim(~source.valid | (flit.first != inside), f"input {n}: packet not kept together")
        within = Mux(source.valid, ~flit.last, inside)  # what comes next belongs to a packet
        head_begins = Mux(unit.valid, kept.header, unit.fresh)
        claim(head_begins != within, "invariant: headers")
        claim(output.owner | ~within, "invariant: the output has its input")
        claim(~output.owner | within | unit.valid, "invariant: grants are for headers")
        claim(output.busy == output.owner, "invariant: busy with an owner")
        claim(~unit.losing, "invariant: nothing is lost")
        m.d.sync += _counted(unit)

        place, expect = (got + source.valid)[:bits], ~within
        for there, entry in [(unit.valid, kept), *_stored(m, unit, self._looks[n])]:
            claim(~there | (number(entry.flit) == place), "invariant: number in the FIFO")
            claim(~there | (entry.flit.first == expect), "invariant: marks in the FIFO")
            claim(~there | (entry.header == expect), "invariant: headers in the FIFO")
            claim(~there | (entry.want == Mux(expect, 1 << 1 - n, 0)), "invariant: outputs wanted")
            claim(~there | ~entry.lost, "invariant: nothing in the FIFO is lost")
            expect, place = Mux(there, entry.flit.last, expect), (place + there)[:bits]
        claim(unit.fresh == expect, "invariant: a header is next after a last flit")
        for moving, stage in reversed([*zip(unit.moving, unit.stages, strict=True)]):
            claim(~moving | (stage.data[2:] == place), "invariant: number in a stage")
            claim(~moving | (stage.first == expect), "invariant: marks in a stage")
            claim(~moving | ~stage.first | (stage.data[:2] == 0), "invariant: routes in a stage")
            expect, place = Mux(moving, stage.last, expect), (place + moving)[:bits]
        claim(place == sent, f"input {n}: a flit is missing or too much")
        claim(self.inside[n] == ~expect, "invariant: the next flit is as expected")
        m.d.sync += Cover((unit.space == 0) & source.valid & source.payload.last,
                          f"input {n} is full after a last flit")
