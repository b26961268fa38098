"""The proof that a row stays open while a table keeps the transactions of one bank apart."""

from itertools import pairwise

from amaranth.hdl import Assert, Cat, Cover, Module, Mux, Signal

from cyclebound.golden.dram.rules import Command
from cyclebound.tb.assumed import owes
from cyclebound.tb.watcher import Watcher, claim_kept

__all__ = ["OwnRowsProof"]


class OwnRowsProof(Watcher):
    """Proves, for any number of cycles, that DDR3's requests of one bank are never of two
    transactions, and that no row is closed, but for a refresh, before its transaction is over.

    A transaction is all requests to one row of a bank, of one master or several, one after the
    other or at once. The table is assumed: a request to another row of a bank comes only when all
    of the bank's have been decided on. Whatever else masters ask for, and whenever.

    Parameters
    ----------
    target : SharedDram
        What is watched, itself; without rivals.
    """

    def __init__(self, target):
        super().__init__(target)
        self.parts, self.part = target.parts, target.part

    def elaborate(self, platform):
        m = Module()
        front, reorder, pages = self.parts.values()
        pins = self.command
        for number, sink in enumerate(self.sinks):
            claim_kept(m, f"sink {number}", sink, owes)
        # where requests wait, in all: the front end's register, the queue, and the controller's
        data = Signal(self.sinks[0].payload.shape())
        m.d.comb += data.eq(front.source.payload.data)
        waiting = [(front.source.valid, data), *(
            (valid, entry.request) for valid, entry in zip(
                reorder.valid, reorder.queue, strict=True)),
            (reorder.source.valid, reorder.source.payload)]
        for bank in range(self.part.banks):
            self._follow(m, bank, waiting, pages, pins)
        valid = reorder.valid
        m.d.sync += [
            Assert((valid & (valid + 1)) == 0, "invariant: the queue has no gap"),
            Assert(~reorder.picked | ((reorder.pick & ~valid) == 0),
                   "invariant: who is picked is there"),
            Assert(~reorder.picked | (reorder.pick.any()
                                      & ((reorder.pick & (reorder.pick - 1)) == 0)),
                   "invariant: one is picked"),
        ]
        request, compared = pages.sink.payload, pages.compared
        m.d.sync += [
            Assert(~compared | pages.sink.valid, "invariant: a compared request waits"),
            Assert(~compared | (pages.opened == pages.is_open.bit_select(request.bank, 1)),
                   "invariant: its bank"),
            Assert(~(compared & pages.opened) | (pages.hit == (pages.rows[request.bank]
                                                               == request.row)),
                   "invariant: its row"),
        ]
        return m

    def _follow(self, m, bank, waiting, pages, pins):
        """One bank: its transaction's row, and how many requests of it wait."""
        row, count, opened = (Signal(range(self.part.rows), name=f"row_{bank}"),
                              Signal(5, name=f"count_{bank}"),
                              Signal(range(self.part.rows), name=f"opened_{bank}"))
        asks = [sink.valid & (sink.payload.bank == bank) for sink in self.sinks]
        comes = Cat(ask & sink.ready for ask, sink in zip(asks, self.sinks, strict=True)).any()
        leaves = ((count != 0) & pages.sink.valid & pages.sink.ready
                  & (pages.sink.payload.bank == bank))
        m.d.sync += count.eq(count + comes - leaves)
        for ask, sink in zip(asks, self.sinks, strict=True):
            with m.If(ask & sink.ready):
                m.d.sync += row.eq(sink.payload.row)
            m.d.sync += owes(~ask | (count == 0) | (sink.payload.row == row),
                             f"a second transaction in bank {bank}")
        for (one, first), (other, second) in pairwise(zip(asks, self.sinks, strict=True)):
            m.d.sync += owes(~(one & other) | (first.payload.row == second.payload.row),
                             f"two transactions begin in bank {bank}")
        here = [valid & (request.bank == bank) for valid, request in waiting]
        now = pins.bank == bank
        with m.If((pins.op == Command.ACT) & now):
            m.d.sync += opened.eq(pins.row)
        closes = (pins.op == Command.PRE) & now
        m.d.sync += [
            *(Assert(~valid | (request.row == row), f"two transactions in bank {bank}")
              for valid, request in zip(here, (request for _, request in waiting), strict=True)),
            Assert(~closes | (opened != row), f"bank {bank}: the transaction's row is closed"),
            Assert(count == sum(here), f"invariant: requests of bank {bank}"),
            Cover(closes, f"bank {bank}: another row is closed"),
            Assert(~pages.is_open[bank] | (Mux((pins.op == Command.ACT) & now, pins.row, opened)
                                           == pages.rows[bank]), f"invariant: row of bank {bank}"),
            Assert(~closes | (count != 0), f"invariant: a row is closed for another, bank {bank}"),
        ]
