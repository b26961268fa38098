"""The proof that a row stays open while a table keeps the transactions of one bank apart."""

from itertools import pairwise

from amaranth.hdl import Array, Assert, Cat, Const, Cover, Module, Mux, Signal

from cyclebound.golden.dram.page_bounds import row_change
from cyclebound.golden.dram.rules import Command
from cyclebound.golden.noc.execution_model_bounds import decided
from cyclebound.tb.assumed import at_rest, owes
from cyclebound.tb.watcher import Watcher, claim_kept

__all__ = ["InTimeProof", "OwnRowsProof"]


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


class InTimeProof(Watcher):
    """Proves that a transaction that has DDR3 for itself is over in time: from any state in which
    no request waits, and in that state again when it has ended.

    So with K = 1 each transaction of a table is over before the next one begins, any number of
    them. Its requests are to one row of a bank, in one direction, and follow each other while one
    waits at least; with n of them, the last one is on the pins within `execution_model_bounds.
    decided` of n from when the first one was on offer. The table is assumed, and only its times: no
    other master asks until so many cycles are over. Whatever was asked for before, by either master
    and of any bank, and wherever refreshes fall.

    Parameters
    ----------
    target : SharedDram
        What is watched, itself; without rivals.
    most : int
        Requests of a transaction, at most.
    less : int
        Cycles by which the claim is too small, for tests.
    """

    def __init__(self, target, *, most=2, less=0):
        super().__init__(target)
        self.parts, self.part, self.most = target.parts, target.part, most
        self.rests_for = Signal(range(32))  # cycles in which no request has waited, up to 31
        self._before = self.any_one(self.rests_for, "before")  # the same before the first cycle
        self.limits = [decided(count, masters=1, met=0, mixed=0, own=1, cap=target.cap,
                               part=self.part) - less for count in range(1, most + 1)]

    def rested(self):
        """Yield the facts, with names, that hold whenever no request waits."""
        front, reorder, pages = self.parts.values()
        counters, timer = pages.counters, pages.timer
        done = {name: Cat(countdown.ready for countdown in counters[name]).all()
                for name in ("ras", "rtp", "wr", "rp", "rc", "rcd")}
        yield ~front.source.valid & (reorder.valid == 0) & ~reorder.picked, "none in the queue"
        yield ~reorder.source.valid & ~reorder.fresh, "none on offer"
        yield ~pages.compared & ~pages.begun, "none has begun"
        yield (timer.owed <= timer.most) & (timer.left < timer.interval), "refreshes are counted"
        yield ~pages.refreshing | timer.urgent, "no refresh before it is due"
        yield from self._refreshed(counters, pages, timer, done)
        yield ~pages.is_open.any() | counters["rfc"].ready, "open banks are refreshed"
        yield pages.prea_legal == (done["ras"] & done["rtp"] & done["wr"]), "all may be precharged"
        yield pages.ref_legal == (done["rp"] & done["rc"]), "all are closed for long enough"
        yield done["rcd"], "open rows have been read or written"
        yield done["rp"] | pages.refreshing, "banks are closed for a refresh only"
        # an activate was nRCD or more before the last read or write
        before = {"rrd": self.part.nRCD, "ras": self.part.nRCD, "rc": self.part.nRCD}
        for name, counter in counters.items():
            for one in counter if isinstance(counter, list) else [counter]:
                left = one.cycles - 2 - before.get(name, 0)
                since = 0 if name in ("rp", "rfc") else self.rests_for
                yield (one.ready | (one.left + since <= left)) if left >= 0 else one.ready, (
                    f"{name} ends")

    def _refreshed(self, counters, pages, timer, done):
        """That a refresh which is due is not put off for long: until the request that has begun is
        decided on, and all rows may be closed."""
        part, open_ = self.part, pages.is_open.any()
        late = Signal(range(timer.interval))  # cycles since it was due
        self._late = late.eq(timer.interval - 1 - timer.left)
        begun = row_change(part)
        closes = max(counter.cycles for name in ("ras", "rtp", "wr") for counter in counters[name])
        rp = Cat(~counter.ready for counter in counters["rp"]).any()
        yield ~(timer.urgent & open_) | (late <= begun + self.rests_for), "rows wait for little"
        yield ~(timer.urgent & open_ & (self.rests_for > closes)) | (late == 0), (
            "rows may be closed")
        yield ~(timer.urgent & ~open_) | (late <= begun + closes + part.nRP + Mux(rp, 0, 2)), (
            "a refresh follows")
        yield counters["rfc"].ready | (
            ~timer.urgent & (timer.left > counters["rfc"].left + 1)), "one refresh at a time"
        more = part.nRC - part.nRAS  # what nRC lacks when a row may be closed
        for rc, ras, rp in zip(*(counters[name] for name in ("rc", "ras", "rp")), strict=True):
            yield (rc.ready | (~ras.ready & (rc.left <= ras.left + more))
                   | (~rp.ready & (rc.left <= rp.left)) | (open_ & (rc.left < more))), (
                "nRC is over with nRAS and nRP")
        for bank, (ras, wr, rtp) in enumerate(zip(*(
                counters[name] for name in ("ras", "wr", "rtp")), strict=True)):
            yield pages.is_open[bank] | (ras.ready & wr.ready & rtp.ready), "closed not too early"

    def elaborate(self, platform):
        m = Module()
        _, _, pages = self.parts.values()
        first, count, many = Signal(init=1), Signal(range(16)), Signal(range(self.most + 1))
        age, limit = Signal(range(max(self.limits) + 2)), Signal(range(max(self.limits) + 1))
        of = Signal(self.sinks[0].payload.shape())
        owner = Signal()
        asks = Cat(sink.valid for sink in self.sinks)
        comes = Cat(sink.valid & sink.ready for sink in self.sinks).any()
        leaves = pages.sink.valid & pages.sink.ready
        pending = Signal()  # a request is on offer, and was not taken
        rests = (count == 0) & ~pending
        m.d.sync += [first.eq(0), pending.eq(asks.any() & ~comes), count.eq(count + comes - leaves)]
        m.d.comb += limit.eq(Array([0, *self.limits])[many])
        for number, sink in enumerate(self.sinks):
            claim_kept(m, f"sink {number}", sink, owes)
            asked = sink.payload
            m.d.sync += owes(~sink.valid | rests | (
                (owner == number) & (many != self.most) & (asked.bank == of.bank)
                & (asked.row == of.row) & (asked.write == of.write)),
                "another master asks before its slot")
            with m.If(sink.valid & rests):
                m.d.sync += [owner.eq(number), of.eq(asked)]
        with m.If(rests & asks.any()):
            m.d.sync += [age.eq(1), many.eq(1)]
        with m.Else():
            m.d.sync += [age.eq(age + (age <= max(self.limits))),
                         many.eq(many + comes)]
        m.d.sync += [
            owes(~(asks.all()), "two transactions begin at once"),
            owes(first | ~(rests & asks.any()), "a second transaction"),
            owes(~(rests & asks.any()) | (self.rests_for >= self.part.nCWD + self.part.nBURST),
                 "a transaction begins before the last one's data are on the bus"),
            Assert(rests | (age < limit), "a transaction takes longer than its slot"),
            Cover(~first & rests & (many == self.most), "a transaction is over"),
        ]
        rested = Signal.like(self.rests_for)
        self._before.follow(m, Const(31, 5))
        m.d.comb += self.rests_for.eq(Mux(first, self._before.now, rested))
        m.d.sync += rested.eq(Mux(rests, self.rests_for + (self.rests_for != 31), 0))
        at_rest(m, first, rests, [(rests, "none waits"), *self.rested()])
        m.d.comb += self._late
        return m
