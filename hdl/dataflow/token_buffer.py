"""Token buffer: where the operands of a thread wait for each other.

Ref: Voitsechov and Etsion, "Single-Graph Multiple Flows", ISCA 2014, sections 2.2 and 5.1.
"""

from functools import cached_property

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cyclebound.hdl.dataflow.layouts import FiringLayout, TokenLayout
from cyclebound.hdl.dataflow.parameters import check_depth, check_integer
from cyclebound.hdl.noc.arbiter import RoundRobinArbiter

__all__ = ["TokenBuffer"]


class TokenBuffer(wiring.Component):
    """A direct-mapped explicit token store for each operand, and the choice of who fires.

    A token of thread *t* lies in entry *t* mod ``depth`` of its operand's store, so that nothing
    is searched for; the bits of *t* above stand beside it, and a thread fires when all operands
    that are needed hold its token in that entry. An operand whose entry is taken has to wait.
    Among complete threads it is round robin.

    Latency: a thread is offered two cycles after its last token was taken. Throughput: one thread
    per cycle, for any depth. A complete thread waits for each other entry once at most.

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

    Members
    -------
    needed : In(operands)
        The operands that a thread needs; the others are never ready. It is part of the
        configuration: it may change only while the buffer is empty. 0: nothing ever fires.
    operands : In(stream of TokenLayout).array(operands)
        Tokens. ``ready`` depends on the ``tid`` on offer.
    fire : Out(stream of FiringLayout)
        Complete threads.

    Attributes
    ----------
    depth, tid_width, width : int
        The parameters.
    present, tags : list
        By operand: the entries in use, and the upper bits of their threads' identifiers.
    stores : list of amaranth.lib.memory.Memory
        By operand: the values.
    arbiter : RoundRobinArbiter
        Its grant is the entry that fires.
    """

    def __init__(self, *, operands, depth, tid_width, width):
        check_integer("operand count", operands, least=1, most=4)
        check_depth(depth, tid_width)
        check_integer("width", width, least=1)
        self.count, self.depth = operands, depth
        self.tid_width, self.width = tid_width, width
        token = stream.Signature(TokenLayout(tid_width=tid_width, width=width))
        firing = FiringLayout(operands=operands, tid_width=tid_width, width=width)
        super().__init__({
            "needed": In(operands),
            "operands": In(token).array(operands),
            "fire": Out(stream.Signature(firing)),
        })
        tag = unsigned(tid_width - exact_log2(depth))
        self.present = [Signal(depth, name=f"present_{k}") for k in range(operands)]
        self.tags = [[Signal(tag, name=f"tag_{k}_{entry}", reset_less=True)
                      for entry in range(depth)] for k in range(operands)]
        self.arbiter = RoundRobinArbiter(count=depth)

    @cached_property
    def stores(self):  # made late: a buffer that is only asked for its ports has none
        return [Memory(shape=unsigned(self.width), depth=self.depth, init=[])
                for _ in range(self.count)]

    @cached_property
    def _ports(self):
        return [(store.write_port(), store.read_port(domain="comb")) for store in self.stores]

    def elaborate(self, platform):
        m = Module()
        m.submodules.arbiter = arbiter = self.arbiter
        index_width = exact_log2(self.depth)

        complete = Signal(self.depth)
        for entry in range(self.depth):
            there = [~need | present[entry]
                     for need, present in zip(self.needed, self.present, strict=True)]
            alike = [~(self.needed[k] & self.needed[j])
                     | (self.tags[k][entry] == self.tags[j][entry])
                     for k in range(self.count) for j in range(k)]
            m.d.comb += complete[entry].eq(self.needed.any() & Cat(*there, *alike).all())

        # One of them leaves in each cycle in which the output is free.
        free = ~self.fire.valid | self.fire.ready
        m.d.comb += [arbiter.requests.eq(Mux(free, complete, 0)), arbiter.accept.eq(1)]
        entry_index = Signal(index_width)
        m.d.comb += entry_index.eq(Cat(
            Cat(arbiter.grant[e] for e in range(self.depth) if e >> bit & 1).any()
            for bit in range(index_width)))
        tag = 0
        for k, (tags, need) in enumerate(zip(self.tags, self.needed, strict=True)):
            for entry, each in enumerate(tags):
                tag |= Mux(arbiter.grant[entry] & need, each, 0)
            m.submodules[f"store_{k}"] = self.stores[k]
        with m.If(free):
            m.d.sync += self.fire.valid.eq(complete.any())
            m.d.sync += self.fire.payload.tid.eq(Cat(entry_index, tag))

        for k, (operand, present) in enumerate(zip(self.operands, self.present, strict=True)):
            write, read = self._ports[k]
            token = operand.payload
            index = token.tid[:index_width]
            taken = operand.valid & operand.ready
            m.d.comb += [
                operand.ready.eq(self.needed[k] & ~present.bit_select(index, 1)),
                write.addr.eq(index),
                write.data.eq(token.data),
                write.en.eq(taken),
                read.addr.eq(entry_index),
            ]
            with m.If(free):
                m.d.sync += self.fire.payload["values"][k].eq(Mux(self.needed[k], read.data, 0))
            chosen = Signal(self.depth, name=f"chosen_{k}")
            m.d.comb += chosen.eq(Mux(taken, 1 << index, 0))
            m.d.sync += present.eq(present & ~arbiter.grant | chosen)
            for entry, each in enumerate(self.tags[k]):
                with m.If(chosen[entry]):
                    m.d.sync += each.eq(token.tid[index_width:])

        return m
