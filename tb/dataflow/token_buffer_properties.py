"""Bound checker of a token buffer, for one thread of any identifier.

`TokenBufferCheck` knows the ports only, and watches simulations. `TokenBufferProof` adds what
induction needs to know about the inside of `TokenBuffer`.

Ref: SGMF, section 2.2.
"""

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Mux, Signal
from amaranth.utils import exact_log2

from cyclebound.tb.assumed import fixed, stays
from cyclebound.tb.watcher import Watcher, claim_kept

__all__ = ["TokenBufferCheck", "TokenBufferProof"]


class TokenBufferCheck(Watcher):
    """No token of a thread is lost, duplicated, or matched with another thread's.

    A prover chooses which thread, so a proof is one for every thread; in a simulation it is the
    ``tid`` of ``operands[0]`` in the first cycle after reset, whether that offers anything or not.

    Assumes that ``needed`` does not change, and that offers stay until they are taken.

    Parameters
    ----------
    target : TokenBuffer
        The buffer, or a component with the same members and parameters.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    tid, followed : Signal
        The thread that is followed; ``followed`` knows it in the first cycle already.
    inside : list of Signal
        By operand: how many of its tokens are inside; one in the store, one in the output.
    value, queued : list of Signal
        By operand: the value of the older one, and of the younger.
    gone : Signal
        How many firings have left since the older tokens were complete.
    whole, again : Signal
        All operands that are needed are inside, once or twice.
    """

    def __init__(self, target):
        super().__init__(target)
        self.depth, self.width = target.depth, target.width
        count = len(self.needed)
        self._choice = self.any_one(self.operands[0].payload.tid, "tid")
        self.tid, self.followed = self._choice.kept, self._choice.now
        self.inside = [Signal(2, name=f"inside_{k}") for k in range(count)]
        self.value = [Signal(self.width, name=f"value_{k}") for k in range(count)]
        self.queued = [Signal(self.width, name=f"queued_{k}") for k in range(count)]
        self.gone = Signal(range(self.depth + 3))
        self.whole, self.again = Signal(), Signal()  # all needed are inside, once or twice

    def elaborate(self, platform):
        m = Module()
        fire, depth = self.fire, self.depth

        # the thread, and an environment that keeps the rules
        tid = self.followed
        needed = Signal.like(self.needed)
        self._choice.follow(m, self.operands[0].payload.tid)
        m.d.sync += needed.eq(self.needed)
        m.d.sync += fixed(~self._choice.chosen | (needed == self.needed), "needed changed")
        for k, operand in enumerate(self.operands):
            claim_kept(m, f"operand {k}", operand, stays)
        claim_kept(m, "fire", fire, Assert)

        ours = fire.payload.tid == tid
        left = Signal()  # our firing leaves
        m.d.comb += left.eq(fire.valid & fire.ready & ours)
        whole, again = self.whole, self.again
        m.d.comb += [
            whole.eq(Cat(~need | (inside != 0)
                         for need, inside in zip(self.needed, self.inside, strict=True)).all()
                     & self.needed.any()),
            again.eq(Cat(~need | (inside == 2)
                         for need, inside in zip(self.needed, self.inside, strict=True)).all()
                     & self.needed.any()),
        ]
        for k, (operand, inside) in enumerate(zip(self.operands, self.inside, strict=True)):
            need, value, queued = self.needed[k], self.value[k], self.queued[k]
            offered = fire.payload["values"][k]
            enters, leaves = Signal(name=f"enters_{k}"), Signal(name=f"leaves_{k}")
            m.d.comb += [
                enters.eq(operand.valid & operand.ready & (operand.payload.tid == tid)),
                leaves.eq(left & need),
            ]
            m.d.sync += inside.eq(inside + enters - leaves)
            with m.If(leaves):
                m.d.sync += value.eq(Mux(inside == 2, queued, operand.payload.data))
            with m.Elif(enters & (inside == 0)):
                m.d.sync += value.eq(operand.payload.data)
            with m.If(enters):
                m.d.sync += queued.eq(operand.payload.data)
            shown = fire.valid & ours & need
            m.d.sync += [
                Assert(~(shown & (inside == 0)), f"operand {k}: fires without its token"),
                Assert(~(shown & (inside != 0)) | (offered == value),
                       f"operand {k}: fires with another value"),
                Assert(~(enters & (inside == 2)), f"operand {k}: a third token"),
                Assert(~(enters & ~need), f"operand {k}: taken and not needed"),
            ]

        # It fires: the buffer is never idle while it is complete, and it is not passed over.
        owed = Signal()
        m.d.sync += owed.eq(whole & (again | ~left))
        m.d.sync += Assert(~owed | fire.valid, "idle while a thread is complete")
        with m.If(left):
            m.d.sync += self.gone.eq(again)  # the older one's own firing counts for the younger
        with m.Elif(whole & fire.valid & fire.ready):
            m.d.sync += self.gone.eq(self.gone + 1)
        m.d.sync += Assert(self.gone <= depth, f"not fired within {depth + 1} firings")
        return m


class TokenBufferProof(TokenBufferCheck):
    """`TokenBufferCheck`, with invariants about the inside of a `TokenBuffer`.

    What is inside of the thread is in its entry or in the output. A complete thread moves forward
    in its turn with each firing: its rank and the firings gone by stay within ``depth`` together.

    Parameters
    ----------
    target : TokenBuffer
        The buffer itself, not elaborated yet.
    """

    def __init__(self, target):
        super().__init__(target)
        self._target = target
        self._reads = [(store.read_port(domain="comb"), tags.read_port(domain="comb"))
                       for store, tags in zip(target.stores, target.tags, strict=True)]
        self.out = Signal()  # the thread is in the output
        self.rank = Signal(range(target.depth))  # how many entries have their turn before its own

    def elaborate(self, platform):
        m = super().elaborate(platform)
        target, fire, depth = self._target, self.fire, self.depth
        bits = exact_log2(depth)
        entry = self.tid[:bits]
        started = Signal()
        m.d.sync += started.eq(1)

        out = self.out
        m.d.comb += out.eq(fire.valid & (fire.payload.tid == self.tid))
        count = len(self.needed)
        stored, present = Signal(count), Signal(count)
        for k, (inside, (read, tag)) in enumerate(zip(self.inside, self._reads, strict=True)):
            m.d.comb += [
                read.addr.eq(entry), tag.addr.eq(entry),
                present[k].eq(target.present[k].bit_select(entry, 1)),
                stored[k].eq(present[k] & (tag.data == self.tid[bits:])),
            ]
            here = out & self.needed[k]
            kept = Mux(here, self.queued[k], self.value[k])
            m.d.sync += [
                Assert(~started | (inside == stored[k] + here),
                       f"invariant: operand {k} is in its entry or in the output"),
                Assert(~started | ~stored[k] | (read.data == kept),
                       f"invariant: operand {k} of the thread is in its store"),
                Assert(~started | ~here | (fire.payload["values"][k] == self.value[k]),
                       f"invariant: operand {k} of the thread is in the output"),
            ]

        # an entry is complete with one thread: with ours, if any of our tokens is there
        marked, there = target.complete.bit_select(entry, 1), Signal()
        complete = Signal()
        m.d.comb += [there.eq((~self.needed | present).all() & self.needed.any()),
                     complete.eq((~self.needed | stored).all() & self.needed.any())]
        alike = Cat(~(self.needed[k] & self.needed[j])
                    | (self._reads[k][1].data == self._reads[j][1].data)
                    for k in range(count) for j in range(k))
        m.d.sync += [
            Assert(~out | self.needed.any(), "invariant: nothing fires that needs no token"),
            Assert((present & ~self.needed) == 0, "invariant: nothing waits that is not needed"),
            Assert(~started | ~marked | (there & alike.all()),
                   "invariant: a complete entry holds one thread"),
            Assert(~started | ((self.needed & stored) == 0) | (marked == complete),
                   "invariant: our entry is complete when all our tokens are there"),
        ]

        mask = target.turn.mask
        m.d.sync += [
            Assert(~mask[0], "invariant: the mask leaves out entry 0"),
            Assert((mask[:-1] & ~mask[1:]) == 0, "invariant: the mask is a thermometer"),
        ]
        size, rank = Signal(range(depth + 1)), self.rank
        m.d.comb += [size.eq(sum(mask)),
                     rank.eq(Mux(mask.bit_select(entry, 1), entry + size - depth, entry + size))]
        m.d.sync += [
            Assert(~started | out | complete | (self.gone == 0),
                   "invariant: only complete threads are passed"),
            Assert(~started | out | ~complete | (self.gone + fire.valid + rank <= depth),
                   "invariant: a complete thread moves forward"),
            Assert(~started | ~out | (rank == depth - 1),
                   "invariant: the thread in the output was served last"),
        ]
        m.d.sync += Cover(out & fire.ready & (self.gone == depth),
                          f"a thread leaves as number {depth + 1}")
        return m

    def explain(self, m, probes):
        """Say in ``m`` what the probe of ``turn`` counts: firings since the thread was complete.

        The thread that it declares is the one that is followed here.
        """
        counter, = probes["turn"]
        tokens, = counter.kept
        level, more = Signal(2), Signal(range(len(self.needed) + 1))
        m.d.comb += [
            level.eq(self.whole + self.again),
            more.eq(sum(need & (inside > level)
                        for need, inside in zip(self.needed, self.inside, strict=True))),
        ]
        alone = counter.busy & (counter.ahead == 0)
        m.d.sync += [
            Assume(counter.declared["tid"] == self.followed, "another thread is declared"),
            Assert(counter.level == level, "invariant: as many are under way as are complete"),
            Assert(tokens == more, "invariant: the probe knows the tokens of the next one"),
            Assert(~counter.busy | (counter.ahead < level), "invariant: it is one of them"),
            Assert(~counter.busy | (counter.ahead == 0) | (self.out & (counter.before == 0)),
                   "invariant: the older one is in the output"),
            Assert(~(alone & self.out) | (counter.before <= self.depth),
                   "invariant: it leaves in time"),
            Assert(~(alone & ~self.out) | (counter.before + self.fire.valid + self.rank
                                           <= self.depth),
                   "invariant: what the probe follows moves forward"),
        ]
