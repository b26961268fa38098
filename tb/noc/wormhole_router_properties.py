"""What a wormhole router must keep, as a bound checker; and the proofs about its inside.

`RouterCheck` knows only the ports: it watches simulations. The three proofs look inside
`WormholeRouter`: `RouterFairProof` (round robin among packets), `RouterCreditProof` (whatever is
taken has a place), `RouterOrderProof` (nothing lost, duplicated, or out of order).
"""

from amaranth.hdl import Assert, Assume, Cat, Const, Cover, Module, Mux, ResetSignal, Signal

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
        By input: a packet has been taken in part,
    length : list of Signal
        and this many flits of it.
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
            claim_kept(m, f"input {n}", sink, Assume)
            if n != self.local or self.tame:
                self._packets(m, n, sink, self.inside[n], self.length[n], Assume, f"input {n}")
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


class RouterFairProof(Watcher):
    """Round robin among packets, at every output, whatever is offered at the inputs.

    A header that waits for an output sees at most one packet of each other input begin there; and
    an output is never idle while one waits.

    Parameters
    ----------
    target : WormholeRouter
        The router itself.
    """

    def __init__(self, target):
        super().__init__(target)
        self._inputs, self._outputs = target.inputs, target.outputs

    def elaborate(self, platform):
        m = Module()
        for unit in self._inputs:
            m.d.sync += [
                Assert((unit.want & (unit.want - 1)) == 0, "invariant: one output is wanted"),
                Assert(~unit.valid | (unit.fresh == unit.head.last),
                       "invariant: a header follows a last flit"),
            ]
            owned = Cat(output.busy & output.owner[_place(unit, n)]
                        for n, output in enumerate(self._outputs) if n != unit.number)
            m.d.sync += [
                Assert((owned & (owned - 1)) == 0, "invariant: one output has the packet"),
                Assert(~owned.any() | ~Mux(unit.valid, unit.header, unit.fresh),
                       "invariant: an output keeps a packet to its end"),
                Assert((owned & ~Cat(unit.want[n] for n in range(len(self._outputs))
                                     if n != unit.number)) == 0,
                       "invariant: the packet wants the output that has it"),
            ]
        for n, output in enumerate(self._outputs):
            self._output(m, n, output)
        return m

    def _output(self, m, n, output):
        units = [unit for unit in self._inputs if unit.number != n]
        waiting = Signal(output.count, name=f"waiting_{n}")
        free = ~output.busy & (~output.source.valid | output.source.ready)
        m.d.comb += waiting.eq(Cat(unit.valid & unit.header & unit.want[n] for unit in units))
        m.d.sync += Assert((output.owner & (output.owner - 1)) == 0, "invariant: one owner")
        claim_fair(m, n, output.arbiter, waiting, free, head="header")


def _place(unit, output):
    """The place of an input among those of an output."""
    return unit.number - (unit.number > output)


def _inside(unit):
    """How many flits an input holds."""
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
                Assert(unit.valid | (unit.stored == 0), f"input {n}: flits behind no head"),
                Assert(unit.valid | ~unit.take, f"input {n}: taken from an empty input"),
            ]
            m.d.sync += Cover(unit.space == 0, f"input {n} is full")
        return m


class RouterOrderProof(_RouterWatcher):
    """No flit lost, duplicated or reordered, in a router with two ports.

    Every flit is numbered by its sender, in the bits above those that say the way; what comes out
    has to be numbered in order, without a gap. The invariants follow the numbers through output,
    head, store and stages. It adds read ports to the stores, to look at all their words.

    Parameters
    ----------
    target : WormholeRouter
        The router itself, with ``ports=2``, routed by source; not elaborated yet.
    """

    tame = True

    def __init__(self, target):
        super().__init__(target)
        self._looks = [[unit.memory.read_port(domain="comb") for _ in range(unit.depth - 1)]
                       for unit in target.inputs]

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
        sink, source, head = self.sinks[n], self.sources[1 - n], unit.head
        bits = unit.width - 2
        sent, got = Signal(bits, name=f"sent_{n}"), Signal(bits, name=f"got_{n}")
        inside = Signal(name=f"inside_output_{n}")
        with m.If(sink.valid & sink.ready):
            m.d.sync += sent.eq(sent + 1)
        with m.If(source.valid & source.ready):
            m.d.sync += [got.eq(got + 1), inside.eq(~source.payload.last)]
        m.d.sync += [
            Assume(~sink.valid | (sink.payload.data[2:] == sent), f"input {n}: wrong number"),
            Assume(~(sink.valid & sink.payload.first) | (sink.payload.data[:2] == 0),
                   f"input {n}: header leads nowhere"),
        ]

        def number(flit):  # of a flit that has lost its router's share of the route
            return Mux(flit.first, flit.data[:bits], flit.data[2:])

        def claim(fact, says):
            m.d.sync += Assert(fact, says)

        flit = source.payload
        claim(~source.valid | (number(flit) == got), f"input {n}: flit lost, doubled or reordered")
        claim(~source.valid | (flit.first != inside), f"input {n}: packet not kept together")
        claim(Mux(source.valid, ~flit.last, inside) == output.busy, "invariant: busy in a packet")
        claim(~output.busy | output.owner, "invariant: the output has its input")
        claim(Mux(unit.valid, unit.header, unit.fresh) == ~output.busy, "invariant: headers")
        claim(~unit.valid | (unit.header == head.first), "invariant: header is marked")
        claim(~unit.valid | (unit.fresh == head.last), "invariant: header follows last")
        claim((~unit.valid & unit.fresh) | (unit.want == 1 << 1 - n), "invariant: way is known")
        claim(unit.space + _inside(unit) == unit.depth, "invariant: space is counted")
        claim(unit.sink.ready == (unit.space != 0), "invariant: ready is space")
        claim(unit.valid | (unit.stored == 0), "invariant: store behind a head")
        claim(~unit.valid | (number(head) == (got + source.valid)[:bits]), "invariant: head")

        words = unit.depth - 1
        if words > 1:
            last = unit.read + unit.stored
            claim(unit.write == Mux(last >= words, last - words, last), "invariant: pointers")
            claim(unit.read < words, "invariant: read pointer")
        place, expect = got + source.valid + unit.valid, unit.fresh
        for behind, look in enumerate(self._looks[n]):
            at = unit.read + behind
            m.d.comb += look.addr.eq(Mux(at >= words, at - words, at) if words > 1 else 0)
            expect, place = self._link(m, look.data, unit.stored > behind, expect, place, bits)
        for moving, stage in reversed([*zip(unit.moving, unit.stages, strict=True)]):
            expect, place = self._link(m, stage, moving, expect, place, bits)
        claim(place[:bits] == sent, f"input {n}: a flit is missing or too much")
        claim(self.inside[n] == ~expect, "invariant: the next flit is as expected")
        m.d.sync += Cover((unit.space == 0) & source.valid & source.payload.last,
                          f"input {n} is full behind a last flit")

    def _link(self, m, flit, there, expect, place, bits):
        """A flit's place in the chain; returns the next one's."""
        m.d.sync += [
            Assert(~there | (flit.data[2:] == place[:bits]), "invariant: number in the store"),
            Assert(~there | (flit.first == expect), "invariant: marks in the store"),
            Assert(~there | ~flit.first | (flit.data[:2] == 0), "invariant: ways in the store"),
        ]
        return Mux(there, flit.last, expect), (place + there)[:bits]
