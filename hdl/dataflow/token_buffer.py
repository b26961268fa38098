"""Token buffer: where the operands of a thread wait for each other.

Ref: SGMF, sections 2.2 and 5.1.
"""

from functools import cached_property, reduce
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cyclebound.hdl.dataflow.layouts import FiringLayout, TokenLayout
from cyclebound.hdl.dataflow.parameters import check_depth
from cyclebound.hdl.dataflow.turn import Turn, keep_epochs
from cyclebound.hdl.parameters import check_integer

__all__ = ["TokenBuffer"]


class TokenBuffer(wiring.Component):
    """A direct-mapped explicit token store for each operand, and the choice of what fires.

    A token of thread *t* lies in entry *t* mod ``depth`` of its operand's store, so that nothing
    is searched for. The upper bits of *t* are stored beside it, and a thread fires when all
    operands that are needed hold its token in that entry. A token whose entry is in use waits
    outside. Complete threads fire round robin.

    Latency: a thread is offered two cycles after its last token was taken. Throughput: one thread
    per cycle, for any depth. A complete thread waits for each other entry at most once.

    Parameters
    ----------
    operands : int
        Stores, 1 to 4.
    depth : int
        Entries of each store: 2, 4, 8 or 16.
    tid_width : int
        Bits of a thread identifier, more than index an entry.
    width : int
        Bits of a value.
    epochs : bool
        Threads fire in epochs of ``depth``: an entry that has fired waits until all have, so that
        no thread overtakes one of an older epoch. A graph of units that keep to it cannot deadlock.

    Members
    -------
    needed : In(operands)
        The operands that a thread needs; the others are never ready. It is part of the
        configuration: it may change only while the buffer is empty. 0: nothing ever fires.
    operands : In(stream of TokenLayout).array(operands)
        Tokens. ``ready`` depends on the ``tid`` on offer.
    fire : Out(stream of FiringLayout)
        Complete threads; what operands hold that are not needed means nothing.

    Attributes
    ----------
    depth, tid_width, width : int
        The parameters.
    present : list of Signal
        By operand: the entries in use.
    complete : Signal
        The entries whose thread can fire.
    sent : Signal
        With epochs, the entries whose thread of this epoch has fired.
    turn : Turn
        Chooses among them.
    stores, tags : list of amaranth.lib.memory.Memory
        By operand: the values, and the upper bits of their threads' identifiers.
    """

    def __init__(self, *, operands, depth, tid_width, width, epochs=False):
        check_integer("operand count", operands, least=1, most=4)
        check_depth(depth, tid_width)
        check_integer("width", width, least=1)
        if not isinstance(epochs, bool):
            raise TypeError(f"epochs must be a bool, not {epochs!r}")
        self.epochs = epochs
        self.count, self.depth = operands, depth
        self.tid_width, self.width = tid_width, width
        token = stream.Signature(TokenLayout(tid_width=tid_width, width=width))
        firing = FiringLayout(operands=operands, tid_width=tid_width, width=width)
        super().__init__({
            "needed": In(operands),
            "operands": In(token).array(operands),
            "fire": Out(stream.Signature(firing)),
        })
        self.present = [Signal(depth, name=f"present_{k}") for k in range(operands)]
        self.complete = Signal(depth)
        self.sent = Signal(depth)
        self.turn = Turn(depth=depth)

    @cached_property
    def stores(self):  # made late: a buffer that is only asked for its ports has none
        return [Memory(shape=unsigned(self.width), depth=self.depth, init=[])
                for _ in range(self.count)]

    @cached_property
    def tags(self):
        return [Memory(shape=unsigned(self.tid_width - exact_log2(self.depth)), depth=self.depth,
                       init=[]) for _ in range(self.count)]

    @cached_property
    def _writes(self):
        return [(store.write_port(), tags.write_port())
                for store, tags in zip(self.stores, self.tags, strict=True)]

    @cached_property
    def _reads(self):
        return [(store.read_port(domain="comb"), tags.read_port(domain="comb"))
                for store, tags in zip(self.stores, self.tags, strict=True)]

    @cached_property
    def _looks(self):
        """By store, a read port of its tags for each of the other operands."""
        return [{other: tags.read_port(domain="comb") for other in range(self.count) if other != k}
                for k, tags in enumerate(self.tags)]

    def elaborate(self, platform):
        m = Module()
        index_width = exact_log2(self.depth)
        for k in range(self.count):
            m.submodules[f"store_{k}"] = self.stores[k]
            m.submodules[f"tags_{k}"] = self.tags[k]

        # The first complete entry after the one served last fires. It leaves in each cycle
        # in which the output is free.
        free = Signal()
        m.d.comb += free.eq(~self.fire.valid | self.fire.ready)
        m.submodules.turn = turn = self.turn
        grant, entry = turn.grant, turn.index
        able = self.complete & ~self.sent if self.epochs else self.complete
        m.d.comb += [turn.requests.eq(able), turn.take.eq(free)]
        with m.If(free):
            m.d.sync += self.fire.valid.eq(turn.requests.any())
        leaves = Signal(self.depth)
        m.d.comb += leaves.eq(Mux(free, grant, 0))
        if self.epochs:
            keep_epochs(m, self.sent, leaves, free & turn.requests.any())

        # Tokens: each looks for its companions in the same entry of the other stores, and among
        # those that arrive with it.
        taken, entered, completes, tags = [], [], [], []
        for k, operand in enumerate(self.operands):
            index = operand.payload.tid[:index_width]
            m.d.comb += operand.ready.eq(self.needed[k] & ~self.present[k].bit_select(index, 1))
            taken.append(operand.valid & operand.ready)
        for k, operand in enumerate(self.operands):
            token = operand.payload
            index, tag = token.tid[:index_width], token.tid[index_width:]
            alike = []
            for j, other in enumerate(self.operands):
                if j != k:
                    m.d.comb += self._looks[j][k].addr.eq(index)
                    stored = self.present[j].bit_select(index, 1)
                    comes = other.valid & (other.payload.tid == token.tid)  # and is taken
                    alike.append(~self.needed[j] | Mux(stored, self._looks[j][k].data == tag,
                                                       comes))
            here = Signal(self.depth, name=f"entered_{k}")
            m.d.comb += here.eq(Mux(taken[k], 1 << index, 0))
            entered.append(here)
            completes.append(Mux(Cat(alike).all(), here, 0))
            for write, value in ((self._writes[k][0], token.data), (self._writes[k][1], tag)):
                m.d.comb += [write.addr.eq(index), write.data.eq(value), write.en.eq(taken[k])]
            for read in self._reads[k]:
                m.d.comb += read.addr.eq(entry)
            value, stored_tag = self._reads[k]
            with m.If(free):
                m.d.sync += self.fire.payload["values"][k].eq(value.data)
            # all that are needed have the same tag
            tags.append(Mux(self.needed[k], stored_tag.data, 0))
            m.d.sync += self.present[k].eq(self.present[k] & ~leaves | here)
        m.d.sync += self.complete.eq(self.complete & ~leaves | reduce(or_, completes))
        with m.If(free):
            m.d.sync += self.fire.payload.tid.eq(Cat(entry, reduce(or_, tags)))

        return m
