"""Commands of a compute tile to the core of the I/O tile, a short packet each.

Part of the many-core's memory path, whose model, testbench and tests cover it.

Ref: memory-composition, section II, Example 2: "the DMA was notified by one of the IO Tile's core
that received a command from one compute tile".
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.noc.many_core_data import command_words
from cyclebound.hdl.noc.packet_receiver import ReceivedLayout
from cyclebound.hdl.noc.packet_sender import TransactionLayout
from cyclebound.hdl.parameters import check_integer

__all__ = ["CommandReceiver", "CommandSender"]


class CommandSender(wiring.Component):
    """Passes a tile's transactions to its network interface, and commands between them.

    Who is first on offer goes first; of two that come in one cycle, the command. A command's words
    follow it one in a cycle.

    Parameters
    ----------
    shape : shape castable
        A command.
    width : int
        Bits of a flit's word.

    Members
    -------
    commands : In(stream of shape)
        Taken when all words of the one before have been passed on.
    route, address : In
        Where they go: the first two flits of their packets.
    transactions, words : In(stream)
        The tile's.
    sent_transactions, sent_words : Out(stream)
        To the network interface.
    commanded : Out(1)
        The last transaction that it took was a command.
    """

    def __init__(self, *, shape, width=32):
        self.width = width
        transaction, word = (stream.Signature(shape) for shape in (TransactionLayout(width), width))
        super().__init__({
            "commands": In(stream.Signature(shape)), "route": In(width), "address": In(width - 1),
            "transactions": In(transaction), "words": In(word),
            "sent_transactions": Out(transaction), "sent_words": Out(word), "commanded": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        count = command_words(len(self.commands.payload.as_value()), self.width)
        held = Signal(count * self.width)   # the command, its next word lowest
        asks, left = Signal(), Signal(range(count + 1))  # words of it not passed on
        chosen, standing = Signal(), Signal()  # the command is on offer; what is on offer stays
        was_chosen = Signal()
        out, mine, words = self.sent_transactions, self.transactions, self.sent_words
        m.d.comb += [
            self.commands.ready.eq(~asks & (left == 0)),
            chosen.eq(Mux(standing, was_chosen, asks)),
            out.valid.eq(Mux(chosen, 1, mine.valid)), out.payload.eq(mine.payload),
            mine.ready.eq(out.ready & ~chosen),
            # The interface takes no transaction before it has all words of the one before.
            words.valid.eq(Mux(left != 0, 1, self.words.valid)),
            words.payload.eq(Mux(left != 0, held[:self.width], self.words.payload)),
            self.words.ready.eq(words.ready & (left == 0)),
        ]
        with m.If(chosen):
            m.d.comb += [out.payload.route.eq(self.route), out.payload.address.eq(self.address),
                         out.payload.words.eq(count)]
        m.d.sync += [standing.eq(out.valid & ~out.ready), was_chosen.eq(chosen)]
        with m.If(out.valid & out.ready):
            m.d.sync += self.commanded.eq(chosen)
        with m.If(self.commands.valid & self.commands.ready):
            m.d.sync += [held.eq(self.commands.payload), asks.eq(1)]
        with m.If(chosen & out.ready):
            m.d.sync += [asks.eq(0), left.eq(count)]
        with m.If((left != 0) & words.ready):
            m.d.sync += [left.eq(left - 1), held.eq(held >> self.width)]
        return m


class CommandReceiver(wiring.Component):
    """The I/O tile's core: some time after a command's last word, what it says is on offer.

    Parameters
    ----------
    shape : shape castable
        A command.
    latency : int
        Cycles from a command's last word until it is on offer to the DMA, at least 1.
    width : int
        Bits of a flit's word.

    Members
    -------
    words : In(stream of ReceivedLayout)
        Of commands. They are taken in every cycle: the tile has one command under way at a time.
    commands : Out(stream of shape)
    """

    def __init__(self, *, shape, latency, width=32):
        check_integer("latency of the I/O tile's core", latency, 1, 1 << 16)
        self.latency, self.width = latency, width
        super().__init__({"words": In(stream.Signature(ReceivedLayout(width))),
                          "commands": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()
        size = len(self.commands.payload.as_value())
        count = command_words(size, self.width)
        held, wait = Signal(count * self.width), Signal(range(self.latency + 1))
        m.d.comb += [self.words.ready.eq(1), self.commands.payload.eq(held[:size]),
                     self.commands.valid.eq(wait == 1)]
        with m.If((wait > 1) | self.commands.ready & self.commands.valid):
            m.d.sync += wait.eq(wait - 1)
        with m.If(self.words.valid):
            m.d.sync += held.eq(Cat(held, self.words.payload.data)[self.width:])
            with m.If(self.words.payload.last):
                m.d.sync += wait.eq(Const(self.latency, wait.shape()))
        return m
