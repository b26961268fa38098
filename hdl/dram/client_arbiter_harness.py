"""Traffic for clients that share a DRAM controller, in hardware: a tile after every pause.

Client 0 is the one that is measured: its request comes 1, 2, 3, ... cycles after the completion of
the one before, or so many cycles before a refresh falls due. All others ask without a pause.

It has no model of its own: what it must measure are the bounds in golden/dram/client_bounds.py.
"""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dram.request import COUNT_BITS
from cyclebound.golden.dram.rules import Command
from cyclebound.golden.harness.faults import CLIENT_ARBITER
from cyclebound.hdl.dram.client_arbiter import SharedController
from cyclebound.hdl.dram.command_arbiter import CommandLayout
from cyclebound.hdl.harness.checker_slot import CheckerSlot

__all__ = ["ClientArbiterHarness"]

_LINE = (1 << COUNT_BITS) - 1  # words of each client's buffer
_NEAR = 1024  # cycles before a refresh, and half of those after it, in which others ask
_SETTINGS = ("words", "write", "first", "other_words", "other_write", "other_first", "pauses",
             "shortest", "room", "before", "others")


class ClientArbiterHarness(wiring.Component):
    """Clients of one kind of tile each, and a shared controller.

    Parameters
    ----------
    clients, part, windows
        Of the controller.

    Members
    -------
    start : In(1)
        Begin a measurement; all other inputs are read then.
    words, write, first : In
        Words, direction and first word of client 0's tiles.
    other_words, other_write, other_first : In
        Of those of all other clients.
    others : In(clients)
        Which clients besides client 0 ask.
    shortest, pauses : In(16)
        The first pause, and the last.
    room : In(16)
        Unless 0: if less than so many cycles are left until a refresh falls due, or one is owed, a
        request that does not count is made after it, and then the one with the pause that was due.
    before : In(1)
        Request *n* comes when *n* cycles are left until a refresh falls due.
    done : Out(1)
        The measurement has ended.
    completed : Out(32)
        Requests of client 0 that counted.
    served : Out(32)
        Requests of all others that are completed.
    longest : Out(32)
        Cycles of client 0's longest one that counted, from its being taken to its completion.
    times : Out(32)
        Stands for the cycles of client 0's completions, from the start.
    elapsed : Out(32)
        The last of them.
    failed : Out(len(CLIENT_ARBITER))
        Sticky: faults that occurred.
    command : Out(CommandLayout)
        The pins, for a checker.
    """

    def __init__(self, *, clients, part, windows=None):
        self.shared = SharedController(clients=clients, part=part, windows=windows)
        self.part, self.clients = self.shared.part, clients
        super().__init__({
            "start": In(1), "words": In(COUNT_BITS), "write": In(1), "first": In(COUNT_BITS),
            "other_words": In(COUNT_BITS), "other_write": In(1), "other_first": In(COUNT_BITS),
            "others": In(clients), "shortest": In(16), "pauses": In(16), "room": In(16),
            "before": In(1),
            "done": Out(1), "completed": Out(32), "served": Out(32), "longest": Out(32),
            "times": Out(32), "elapsed": Out(32),
            "failed": Out(len(CLIENT_ARBITER)), "command": Out(CommandLayout(part=self.part)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.shared = shared = self.shared
        m.submodules.slot = slot = CheckerSlot(count=len(CLIENT_ARBITER))
        setting = {name: Signal(getattr(self, name).shape(), name=f"set_{name}")
                   for name in _SETTINGS}
        with m.If(self.start):
            m.d.sync += [kept.eq(getattr(self, name)) for name, kept in setting.items()]

        running, mapped = Signal(), Signal(self.clients)
        own, finished = self._measured(m, setting, running & mapped.all())
        faults = {"refused": [], "moved": []}
        # Before a refresh, others begin anew: else their phase would be what the last one made it.
        left, near = shared.controller.timer.left, Signal()
        m.d.comb += near.eq(~setting["before"] | (left < _NEAR)
                            | (left > self.part.nREFI - 2 * _NEAR))
        done, open_ones = Signal(self.clients), Signal(self.clients)
        for number, client in enumerate(shared.client):
            kind = ("words", "write", "first") if number == 0 else (
                "other_words", "other_write", "other_first")
            words, write, first = (setting[name] for name in kind)
            request, mapping = client.request, client.mapping
            asked = Signal(name=f"mapping_{number}")
            with m.If(mapping.valid & mapping.ready):
                m.d.sync += asked.eq(1)
            with m.If(client.mapped):
                m.d.sync += mapped[number].eq(1)
            m.d.comb += [
                mapping.valid.eq(~asked), mapping.payload.valid.eq(1),
                mapping.payload.address.eq(number << COUNT_BITS), mapping.payload.x.eq(_LINE),
                mapping.payload.y.eq(1),
                request.payload.x.eq(first), request.payload.words.eq(words),
                request.payload.count.eq(1), request.payload.write.eq(write),
                client.store.enable.eq(-1), done[number].eq(client.completion.valid),
            ]
            if number == 0:
                m.d.comb += request.valid.eq(own)
            else:
                asks = running & mapped.all() & setting["others"][number] & near
                m.d.sync += request.valid.eq(asks | (request.valid & ~request.ready))
            under_way = Signal(3, name=f"under_way_{number}")
            m.d.sync += under_way.eq(under_way + (request.valid & request.ready)
                                     - client.completion.valid)
            m.d.comb += open_ones[number].eq(request.valid | (under_way != 0))
            # every word of a request, and of no other one, by its completion
            moved = Signal(COUNT_BITS, name=f"moved_{number}")
            now = Signal(COUNT_BITS, name=f"now_{number}")
            m.d.comb += now.eq(moved + Mux(client.deliver.valid, sum(client.deliver.payload.enable),
                                           0)
                               + Mux(client.fetch.valid, sum(client.fetch.payload.enable), 0))
            m.d.sync += moved.eq(Mux(client.completion.valid, 0, now))
            faults["refused"].append(client.completion.valid & (client.completion.payload != 0))
            faults["moved"].append(client.completion.valid & (now != words))
        m.d.sync += self.served.eq(self.served + sum(done[1:]))
        with m.If(running & finished):
            m.d.sync += running.eq(0)
        with m.If(self.start):
            m.d.sync += [running.eq(1), self.done.eq(0)]
        with m.Elif(~running & ~open_ones.any()):
            m.d.sync += self.done.eq(1)
        m.d.comb += [
            slot.faults.eq(Cat(Cat(faults["refused"]).any(), Cat(faults["moved"]).any(),
                               shared.late)),
            self.failed.eq(slot.failed), self.command.eq(shared.command),
        ]
        return m

    def _measured(self, m, setting, runs):
        """Client 0's requests, one at a time: whether one is offered, and all are over."""
        shared, timer = self.shared, self.shared.controller.timer
        request, completion = shared.client[0].request, shared.client[0].completion
        pause, left = Signal(16, init=1), Signal(16)
        filler, under_way = Signal(init=1), Signal()  # the next one, or this one, does not count
        offers, offered, since = Signal(), Signal(), Signal(32)
        at_rest = Signal(range(self.part.nRFC + 1))  # cycles until a refresh is over
        with m.If(shared.command.op == Command.REF):
            m.d.sync += at_rest.eq(self.part.nRFC)
        with m.Elif(at_rest != 0):
            m.d.sync += at_rest.eq(at_rest - 1)
        roomy = (setting["room"] == 0) | (
            ~timer.request & (timer.left > setting["room"]) & (at_rest == 0)
            & (shared.command.op != Command.REF))
        finished = pause > setting["pauses"]
        m.d.comb += [
            offers.eq(runs & ~under_way & ~finished & Mux(
                setting["before"], timer.left == pause, Mux(filler, roomy, left == 0))),
        ]
        valid = offers | offered
        taken = valid & request.ready
        m.d.sync += [offered.eq(valid & ~request.ready), since.eq(since + 1)]
        with m.If(left != 0):
            m.d.sync += left.eq(left - 1)
        with m.If(taken):
            m.d.sync += [under_way.eq(1), since.eq(1)]
        counts = Signal()
        m.d.comb += counts.eq(~filler | setting["before"])
        now = Signal(32)
        m.d.sync += now.eq(now + 1)
        with m.If(completion.valid):
            m.d.sync += [self.times.eq(self.times.rotate_left(5) ^ now), self.elapsed.eq(now)]
            m.d.sync += [under_way.eq(0), filler.eq(~roomy), left.eq(pause - 1)]
            with m.If(counts):
                m.d.sync += [pause.eq(pause + 1), left.eq(pause),
                             self.completed.eq(self.completed + 1)]
                with m.If(since + 1 > self.longest):
                    m.d.sync += self.longest.eq(since + 1)
        with m.If(self.start):
            m.d.sync += [pause.eq(self.shortest), filler.eq(1), self.completed.eq(0),
                         self.longest.eq(0), self.served.eq(0), self.times.eq(0), now.eq(0)]
        return valid, finished & ~under_way
