"""Bound checker of the client arbiter: clients see and reach what is theirs, and nothing else.

`ClientArbiterCheck` knows the ports; `ClientArbiterProof` adds what induction has to know about the
inside of `ClientArbiter`.
"""

from amaranth.hdl import Array, Assert, Cat, Cover, Module, Mux, Signal
from amaranth.utils import ceil_log2

from cyclebound.golden.dram.request import BUFFERS
from cyclebound.tb.assumed import owes
from cyclebound.tb.watcher import Watcher

__all__ = ["ClientArbiterCheck", "ClientArbiterProof"]

_BUFFER_BITS = ceil_log2(BUFFERS)


class ClientArbiterCheck(Watcher):
    """Follows each request from its client to the controller, and each answer back.

    Assumes of the controller that it answers each request once, in their order, and that it is
    free only if the last one has started or was refused, and no more than one is to be completed.
    `Cover` shows that each client's request is completed.

    Parameters
    ----------
    target : ClientArbiter
        The arbiter, or a component with the same members.

    Members
    -------
    All ports of the target, as inputs.

    Attributes
    ----------
    held, open_ones : Signal
        By client: its request is not with the controller yet; it has not started.
    asked : list of View
        The last request of each client.
    count, first, last : Signal
        Requests with the controller, and whose the oldest and the newest are.
    fresh : Signal
        The newest has not started.
    runner, mapper : Signal
        Whose request started last; whose mapping was taken last.
    """

    def __init__(self, target):
        super().__init__(target)
        self.clients = clients = len(self.client)
        self.held, self.open_ones = Signal(clients), Signal(clients)
        self.asked = [Signal.like(client.request.payload, name=f"asked_{number}")
                      for number, client in enumerate(self.client)]
        self.count, self.fresh = Signal(range(4)), Signal()
        self.first, self.last, self.runner, self.mapper = (
            Signal(range(clients), name=name) for name in ("first", "last", "runner", "mapper"))

    def _ensure(self, fact, says):
        """Claim something of the arbiter."""
        return Assert(fact, says)

    def _assume(self, m, rules):
        """What the controller keeps to: facts with their names."""
        m.d.sync += [owes(fact, says) for fact, says in rules]

    def elaborate(self, platform):
        m, ensure = Module(), self._ensure
        dram, clients = self.dram, self.client
        given, done, started = dram.request.valid, dram.completion.valid, dram.started
        whose = Signal(range(self.clients))
        m.d.comb += whose.eq(dram.request.payload.buffer[_BUFFER_BITS:])
        left = Signal(range(4))
        m.d.comb += left.eq(self.count - done)

        self._assume(m, [
            (~done | (self.count != 0), "a completion without a request"),
            (~started | self.fresh, "the start of no request"),
            (~(started & done) | (self.count == 2), "a start and its own completion at once"),
            (~self.free | (~self.fresh & (self.count <= 1)), "free with a request in the way"),
        ])

        # -- requests: one that a client has made, of that client's buffers, once ----------------
        kept = Array(self.asked)[whose]
        m.d.sync += [
            ensure(~given | self.held.bit_select(whose, 1),
                   "a request is given that its client has not made"),
            ensure(~given | ((dram.request.payload.buffer[:_BUFFER_BITS] == kept.buffer)
                             & Cat(dram.request.payload[name] == kept[name]
                                   for name, _ in self.asked[0].shape() if name != "buffer").all()),
                   "another request is given than the client has made"),
            ensure(~given | (left == 0) | (self.free & (left == 1)),
                   "a request is given before the controller can take it"),
            ensure(self.grants == Mux(given, 1 << whose, 0), "the grant is another one"),
        ]
        taken, settles = Signal(self.clients), Signal(self.clients)
        m.d.comb += [
            taken.eq(Cat(client.request.valid & client.request.ready for client in clients)),
            settles.eq(Mux(self.fresh & (started | (done & (left == 0))), 1 << self.last, 0)),
        ]
        for number, client in enumerate(clients):
            with m.If(taken[number]):
                m.d.sync += self.asked[number].eq(client.request.payload)
            m.d.sync += ensure(client.request.ready == ~self.open_ones[number],
                               "a client's next request is not taken when it should be")
        m.d.sync += [
            self.held.eq(self.held & ~self.grants | taken),
            self.open_ones.eq(self.open_ones & ~settles | taken),
            self.count.eq(left + given), self.fresh.eq(given | (self.fresh & ~settles.any())),
        ]
        with m.If(done):
            m.d.sync += self.first.eq(self.last)
        with m.If(given):
            m.d.sync += self.last.eq(whose)
            with m.If(left == 0):
                m.d.sync += self.first.eq(whose)
        with m.If(started):
            m.d.sync += self.runner.eq(self.last)

        # -- answers: to the client whose request it is, and to no other -------------------------
        for number, client in enumerate(clients):
            owns = (self.first == number) & (self.count != 0)
            for name in ("completion", "deliver", "fetch"):
                there, here = getattr(dram, name), getattr(client, name)
                m.d.sync += [
                    ensure(~here.valid | owns | (self.count == 0),
                           f"another client's {name} is shown"),
                    ensure(~(there.valid & owns) | (here.valid & (here.payload == there.payload)),
                           f"a client's own {name} is not shown")]
            m.d.sync += [
                ensure(~owns | (dram.store == client.store), "another client's words are stored"),
                ensure(client.started == (started & (self.last == number)),
                       "a start is shown to another client"),
                ensure(client.mapped == (dram.mapped & (self.mapper == number)),
                       "a mapping is reported to another client"),
                ensure(client.indexes.ready == (dram.indexes.ready & (self.runner == number)),
                       "another client's index is taken"),
                ensure((self.runner != number) | (
                    (dram.indexes.valid == client.indexes.valid)
                    & (dram.indexes.payload == client.indexes.payload)),
                    "another client's index is given"),
            ]

        # -- mappings: of that client's buffers --------------------------------------------------
        maps = dram.mapping.payload
        mapper = Signal(range(self.clients))
        m.d.comb += mapper.eq(maps.buffer[_BUFFER_BITS:])
        ready = Cat(client.mapping.ready for client in clients)
        m.d.sync += [
            ensure(ready == Mux(dram.mapping.valid, 1 << mapper, 0),
                   "a mapping is taken from another client"),
            ensure(~dram.mapping.valid | (dram.mapping.ready & ~given),
                   "a mapping is offered that is not taken"),
        ]
        for number, client in enumerate(clients):
            wanted = client.mapping.payload
            m.d.sync += ensure(~ready[number] | (
                client.mapping.valid & (maps.buffer[:_BUFFER_BITS] == wanted.buffer)
                & Cat(maps[name] == wanted[name] for name, _ in wanted.shape()
                      if name != "buffer").all()), "another mapping is given")
        with m.If(dram.mapping.valid):
            m.d.sync += self.mapper.eq(mapper)

        for number, client in enumerate(clients):
            m.d.sync += Cover(client.completion.valid & client.fetch.valid, f"client {number}")
        return m


class ClientArbiterProof(ClientArbiterCheck):
    """`ClientArbiterCheck`, with what it follows as invariants of a `ClientArbiter`'s registers."""

    def __init__(self, target):
        super().__init__(target)
        self._target = target

    def elaborate(self, platform):
        m = super().elaborate(platform)
        target, ensure = self._target, self._ensure
        m.d.sync += [
            ensure(self.held == target.waits, "invariant: waits"),
            ensure(self.open_ones == target.busy, "invariant: busy"),
            ensure((self.held & ~self.open_ones) == 0, "invariant: what waits is busy"),
            ensure(self.count == target.count, "invariant: count"),
            ensure(self.count <= 2, "invariant: two requests at most"),
            ensure(~self.fresh | (self.count != 0), "invariant: the newest is there"),
            ensure(~self.fresh | (self.open_ones & ~self.held).bit_select(self.last, 1),
                   "invariant: the newest is busy and does not wait"),
            ensure((self.open_ones & ~self.held) == Mux(self.fresh, 1 << self.last, 0),
                   "invariant: what is busy waits, or is the newest"),
            ensure(self.fresh == target.asked, "invariant: asked"),
            ensure(self.first == target.oldest, "invariant: oldest"),
            ensure(self.last == target.newest, "invariant: newest"),
            ensure((self.count != 1) | (self.first == self.last), "invariant: one is both"),
            ensure(self.runner == target.runner, "invariant: runner"),
            ensure(self.mapper == target.mapper, "invariant: mapper"),
            *(ensure(asked == kept, f"invariant: kept {number}") for number, (asked, kept)
              in enumerate(zip(self.asked, target.kept, strict=True))),
        ]
        return m
