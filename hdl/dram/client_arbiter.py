"""Several clients of one DRAM controller: whole requests by turns, or in windows of a period.

    client 0 --> kept request --.
    client 1 --> kept request ---> turns or windows --> dram.controller
    client 2 --> kept request --'

Ref: golden/dram/client_bounds.py, which says what a request waits for.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cyclebound.golden.dram.request import BUFFERS, CLIENTS
from cyclebound.hdl.arbiter import RoundRobinArbiter
from cyclebound.hdl.dram.controller import DramController
from cyclebound.hdl.dram.layouts import DramClient
from cyclebound.hdl.interfaces import pass_through
from cyclebound.hdl.parameters import check_integer

__all__ = ["ClientArbiter", "SharedController"]

_PINS = "command", "dq_in", "dq_out", "late"
_LOOKUP = 7  # cycles that a mapping keeps the controller's table


class ClientArbiter(wiring.Component):
    """Clients with buffers of their own share a controller; each has it to itself for a request.

    A request is kept here until it is granted: by turns whenever the controller is free, or in the
    first cycle of the client's window. The controller then takes it in the same cycle. What it
    answers goes to the client whose request is the oldest one that is not completed; the start of a
    request, to the client of the last grant. Mappings are taken in cycles without a grant, by
    turns, or in the client's window.

    Buffer *b* of client *c* is the controller's buffer ``32 c + b``: a client has no number for
    another's. Which words a buffer has is up to those who map it.

    Latency: a request may be granted in the cycle after it was taken. Bounds:
    ``golden.dram.client_bounds``.

    Parameters
    ----------
    clients : int
        2 to 8.
    windows : sequence of int or None
        TDMA: cycles of each client's window, at least 16 (`least_window`), in their order in the
        period; None: turns.

    Members
    -------
    client : In(DramClient).array(clients)
        The clients.
    dram : Out(DramClient)
        The controller.
    free : In(1)
        The controller's.
    grants : Out(clients)
        Whose request is granted in this cycle, one-hot.
    blocked : Out(1)
        Sticky: a client's window began while a request of another one was under way: the other's
        window was too short, and this one's request waits for a period.

    Attributes
    ----------
    waits, busy : Signal
        By client: a request is kept that is not granted; one is kept or granted that has neither
        started nor been refused.
    count, oldest, newest : Signal
        How many requests are granted and not completed, and whose the first and the last are.
    asked : Signal
        The newest has not started.
    runner, mapper : Signal
        Whose request started last, and whose mapping was taken last.
    kept : list of Signal
        The last request of each client.
    """

    def __init__(self, *, clients, windows=None):
        check_integer("clients", clients, 2, CLIENTS)
        if windows is not None:
            windows = tuple(windows)
            if len(windows) != clients:
                raise ValueError(f"windows must be one for each of {clients} clients, not "
                                 f"{len(windows)}")
            for window in windows:
                check_integer("window", window, 16)
        self.clients, self.windows = clients, windows
        self.turns = RoundRobinArbiter(count=clients)
        self.map_turns = RoundRobinArbiter(count=clients)
        super().__init__({
            "client": In(DramClient()).array(clients),
            "dram": Out(DramClient(buffers=BUFFERS << ceil_log2(clients))),
            "free": In(1), "grants": Out(clients), "blocked": Out(1),
        })
        number = range(clients)
        self.waits, self.busy = Signal(clients), Signal(clients)
        self.count, self.asked = Signal(range(3)), Signal()
        self.oldest, self.newest = Signal(number), Signal(number)
        self.runner, self.mapper = Signal(number), Signal(number)
        self.kept = [Signal(DramClient().members["request"].signature.members["payload"].shape,
                            name=f"kept_{client}") for client in number]

    def elaborate(self, platform):
        m = Module()
        m.submodules.turns, m.submodules.map_turns = self.turns, self.map_turns
        may_grant, may_map = self._whose(m)
        self._requests(m, may_grant)
        self._mappings(m, may_map)
        self._answers(m)
        return m

    def _whose(self, m):
        """Clients that a request may be granted to in this cycle, and those that may map."""
        every = Const(-1, self.clients)
        if self.windows is None:
            return Mux(self.free, every, 0), every
        turn = Signal(self.clients, init=1)
        lengths = [Mux(turn[client], window, 0) for client, window in enumerate(self.windows)]
        length, phase = Signal(range(max(self.windows) + 1)), Signal(range(max(self.windows)))
        m.d.comb += length.eq(sum(lengths[1:], lengths[0]))
        with m.If(phase == length - 1):
            m.d.sync += [phase.eq(0), turn.eq(turn.rotate_left(1))]
        with m.Else():
            m.d.sync += phase.eq(phase + 1)
        begins, nothing = phase == 0, self.count == 0
        with m.If(begins & ~nothing & (self.waits & turn).any()):
            m.d.sync += self.blocked.eq(1)
        return (Mux(begins & nothing, turn, 0),
                Mux(~begins & (phase <= length - (_LOOKUP + 1)), turn, 0))

    def _requests(self, m, may_grant):
        """Keep a request of each client, and grant one of them."""
        dram, grants, turns = self.dram, self.grants, self.turns
        taken = Signal.like(grants)
        m.d.comb += [turns.requests.eq(self.waits & may_grant), turns.accept.eq(1),
                     grants.eq(turns.grant), dram.request.valid.eq(grants.any())]
        for number, (client, kept) in enumerate(zip(self.client, self.kept, strict=True)):
            m.d.comb += [client.request.ready.eq(~self.busy[number]),
                         taken[number].eq(client.request.valid & client.request.ready)]
            with m.If(taken[number]):
                m.d.sync += kept.eq(client.request.payload)
            with m.If(grants[number]):
                self._renamed(m, dram.request.payload, kept, number)
        # what is over: the newest one's wait for its start or refusal, and the oldest request
        left, settled = Signal(range(3)), Signal()
        done = dram.completion.valid
        m.d.comb += [left.eq(self.count - done),
                     settled.eq(self.asked & (dram.started | (done & (left == 0))))]
        m.d.sync += [
            self.waits.eq(self.waits & ~grants | taken),
            self.busy.eq(self.busy & ~Mux(settled, self._one_hot(self.newest), 0) | taken),
            self.asked.eq(grants.any() | (self.asked & ~settled)),
            self.count.eq(left + grants.any()),
        ]
        with m.If(done):
            m.d.sync += self.oldest.eq(self.newest)
        with m.If(grants.any()):
            m.d.sync += self.newest.eq(self._number(grants))
            with m.If(left == 0):
                m.d.sync += self.oldest.eq(self._number(grants))
        with m.If(dram.started):
            m.d.sync += self.runner.eq(self.newest)

    def _mappings(self, m, may_map):
        """A mapping is given to the controller only if it takes that at once."""
        dram, turns = self.dram, self.map_turns
        m.d.comb += [
            turns.requests.eq(Mux(dram.mapping.ready & ~self.grants.any(), may_map, 0)
                              & Cat(client.mapping.valid for client in self.client)),
            turns.accept.eq(1), dram.mapping.valid.eq(turns.grant.any()),
        ]
        for number, client in enumerate(self.client):
            m.d.comb += client.mapping.ready.eq(turns.grant[number])
            with m.If(turns.grant[number]):
                self._renamed(m, dram.mapping.payload, client.mapping.payload, number)
        with m.If(turns.grant.any()):
            m.d.sync += self.mapper.eq(self._number(turns.grant))

    def _answers(self, m):
        """To the client that each belongs to; and from it."""
        dram = self.dram
        owners = {"completion": self.oldest, "deliver": self.oldest, "fetch": self.oldest}
        for number, client in enumerate(self.client):
            for name, owner in owners.items():
                m.d.comb += [getattr(client, name).valid.eq(
                                 getattr(dram, name).valid & (owner == number)),
                             getattr(client, name).payload.eq(getattr(dram, name).payload)]
            m.d.comb += [
                client.mapped.eq(dram.mapped & (self.mapper == number)),
                client.mapping_refusal.eq(dram.mapping_refusal),
                client.started.eq(dram.started & (self.newest == number)),
                client.indexes.ready.eq(dram.indexes.ready & (self.runner == number)),
            ]
            with m.If(self.oldest == number):
                m.d.comb += dram.store.eq(client.store)
            with m.If(self.runner == number):
                m.d.comb += [dram.indexes.valid.eq(client.indexes.valid),
                             dram.indexes.payload.eq(client.indexes.payload)]

    @staticmethod
    def _renamed(m, outward, payload, number):
        """The payload, with the controller's number for the client's buffer."""
        m.d.comb += [outward[name].eq(Cat(payload.buffer, Const(number, CLIENTS.bit_length()))
                                      if name == "buffer" else payload[name])
                     for name, _ in outward.shape()]

    def _one_hot(self, number):
        return Cat(number == client for client in range(self.clients))

    def _number(self, one_hot):
        bits = ceil_log2(self.clients)
        return Cat(Cat(one_hot[client] for client in range(self.clients)
                       if client >> bit & 1).any() for bit in range(bits))


class SharedController(wiring.Component):
    """A DRAM controller that several clients share.

    Parameters
    ----------
    clients, windows
        As of `ClientArbiter`.
    part : Part or str
        The DRAM, or its name.

    Members
    -------
    client, grants, blocked
        As of `ClientArbiter`.
    command, dq_in, dq_out, late
        As of `DramController`.

    Attributes
    ----------
    arbiter : ClientArbiter
        Whose request goes to the controller.
    controller : DramController
        What carries it out.
    """

    def __init__(self, *, clients, part, windows=None):
        self.arbiter = ClientArbiter(clients=clients, windows=windows)
        self.controller = DramController(part=part, buffers=self.arbiter.dram.signature.buffers)
        self.clients, self.part = clients, self.controller.part
        outer, pins = self.arbiter.signature.members, self.controller.signature.members
        super().__init__({**{name: outer[name] for name in ("client", "grants", "blocked")},
                          **{name: pins[name] for name in _PINS}})

    def elaborate(self, platform):
        m = Module()
        m.submodules.arbiter = arbiter = self.arbiter
        m.submodules.controller = controller = self.controller
        for outer, inner in zip(self.client, arbiter.client, strict=True):
            wiring.connect(m, wiring.flipped(outer), inner)
        wiring.connect(m, arbiter.dram, arbiter.dram.signature.of(controller))
        m.d.comb += arbiter.free.eq(controller.free)
        pass_through(m, self, arbiter, "grants", "blocked")
        pass_through(m, self, controller, *_PINS)
        return m
