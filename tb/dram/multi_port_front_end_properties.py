"""Bound checker of a multi-port front end, and the invariants that prove it.

`FrontEndCheck` knows only the ports. `FrontEndProof` adds what induction needs to know about the
inside of `MultiPortFrontEnd`.
"""

from amaranth.hdl import Assert, Cat, Cover, Module, Mux, Signal

from cyclebound.golden.dram.queued_request import HIGHEST
from cyclebound.tb.assumed import owes
from cyclebound.tb.watcher import Watcher

__all__ = ["FrontEndCheck", "FrontEndProof"]


class FrontEndCheck(Watcher):
    """Priorities, turns among equals, and the limit of starvation.

    Assumes that a request stays until it is granted.

    Parameters
    ----------
    target : MultiPortFrontEnd
        The front end, or a component with the same members and parameters.

    Attributes
    ----------
    waited : Signal
        Ports that asked in the cycle before, and were not granted.
    age : list of Signal
        By port that has a limit: cycles waited, up to the limit.
    ahead : list of Signal
        By port: which of its equals have been granted, as an equal, since it waits.
    turns : list of Signal
        By port that has a limit: which have been granted since it starves.
    """

    def __init__(self, target):
        super().__init__(target)
        self.priorities, self.limits = target.priorities, target.limits
        ports = len(self.priorities)
        self.waited = Signal(ports)
        self.age = [Signal(range(limit + 1), name=f"age_{port}")
                    for port, limit in enumerate(self.limits)]
        self.ahead = [Signal(ports, name=f"ahead_{port}") for port in range(ports)]
        self.turns = [Signal(ports, name=f"turns_{port}") for port in range(ports)]
        self.starved = Signal(ports)

    def elaborate(self, platform):
        m = Module()
        ports, source = len(self.priorities), self.source
        asks, granted, waits, starved = (Signal(ports, name=name)
                                         for name in ("asks", "granted", "waits", "hungry"))
        m.d.comb += [asks.eq(Cat(sink.valid for sink in self.sinks)),
                     granted.eq(Cat(sink.ready for sink in self.sinks)),
                     waits.eq(asks & ~granted), starved.eq(self.starved)]
        m.d.sync += self.waited.eq(waits)
        m.d.sync += owes((self.waited & ~asks) == 0, "request withdrawn")
        for port, sink in enumerate(self.sinks):
            offer = Signal(len(sink.payload), name=f"offer_{port}")
            with m.If(self.waited[port]):
                m.d.sync += owes(offer == sink.payload, f"request {port} changed")
            m.d.sync += offer.eq(sink.payload)

        load = ~source.valid | source.ready
        m.d.sync += [
            Assert((granted & (granted - 1)) == 0, "more than one grant"),
            Assert((granted & ~asks) == 0, "grant without a request"),
            Assert(load | ~granted.any(), "grant without a place"),
            Assert(~(load & asks.any()) | granted.any(), "idle while there is a request"),
            Assert(~(asks & starved).any() | ((granted & ~starved) == 0),
                   "another is granted before a port that starves"),
        ]
        for port, priority in enumerate(self.priorities):
            higher = [other for other, its in enumerate(self.priorities) if its > priority]
            m.d.sync += Assert(
                ~(granted[port] & ~starved[port] & Cat(asks[rival] for rival in higher).any()),
                f"port {port} is granted before a higher priority")
            self._turn(m, port, granted, waits)
            self._limit(m, port, granted, waits)
        self._forward(m, granted, load)
        return m

    def _turn(self, m, port, granted, waits):
        """Among equals that do not starve, no port has two turns while this one waits."""
        ahead, equals = self.ahead[port], Signal(len(self.priorities), name=f"equals_{port}")
        m.d.comb += equals.eq(granted & ~self.starved & Cat(
            priority == self.priorities[port] for priority in self.priorities))
        m.d.sync += [
            ahead.eq(Mux(waits[port], ahead | equals, 0)),
            Assert(~(waits[port] & (ahead & equals).any()), f"port {port} overtaken twice"),
        ]

    def _limit(self, m, port, granted, waits):
        """After its limit, each other port that may starve has one turn at most."""
        limit, age, turns = self.limits[port], self.age[port], self.turns[port]
        if not limit:
            return
        hungry = self.starved[port]
        with m.If(waits[port]):
            m.d.sync += [age.eq(age + (age != limit)),
                         hungry.eq((age == limit) | (age == limit - 1)),
                         turns.eq(Mux(hungry, turns | granted, 0))]
        with m.Else():
            m.d.sync += [age.eq(0), hungry.eq(0), turns.eq(0)]
        m.d.sync += Assert(~(waits[port] & hungry & (turns & granted).any()),
                           f"port {port} starves while another has two turns")

    def _forward(self, m, granted, load):
        """Assert that a granted request is offered in the next cycle, and stays until taken."""
        source = self.source
        payload = Signal(len(source.payload.as_value()))
        due, stays = Signal(), Signal()
        choice = [Cat(port_bits, priority, data) for port_bits, priority, data in (
            self._payload(port) for port in range(len(self.limits)))]
        with m.If(granted.any()):
            for port, chosen in enumerate(choice):
                with m.If(granted[port]):
                    m.d.sync += payload.eq(chosen)
        m.d.sync += [due.eq(granted.any()), stays.eq(~load)]
        m.d.sync += [
            Assert(source.valid == (due | stays), "request lost or made up"),
            Assert(~source.valid | (source.payload.as_value() == payload),
                   "another request than the one granted"),
        ]

    def _payload(self, port):
        fields, sink = self.source.payload, self.sinks[port]
        number, priority = Signal.like(fields.port), Signal.like(fields.priority)
        return (Mux(1, port, number), Mux(self.starved[port], HIGHEST,
                                          Mux(1, self.priorities[port], priority)), sink.payload)


class FrontEndProof(FrontEndCheck):
    """`FrontEndCheck`, with invariants about turns and counters inside a `MultiPortFrontEnd`.

    In each group, a port that has had a turn since another waits comes after it.

    Parameters
    ----------
    target : MultiPortFrontEnd
        The front end itself.
    """

    def __init__(self, target):
        super().__init__(target)
        self._target = target

    def elaborate(self, platform):
        m = super().elaborate(platform)
        target = self._target
        m.d.sync += Assert(target.starved == self.starved, "invariant: the ports that starve")
        for port, limit in enumerate(self.limits):
            if limit:
                age = self.age[port]
                m.d.sync += [
                    Assert(target.left[port] == limit - age, "invariant: the counter"),
                    Assert(self.starved[port] == (age == limit), "invariant: the limit"),
                    Assert(self.waited[port] == (age != 0), "invariant: age of a port that waits"),
                    Assert(self.starved[port] | (self.turns[port] == 0), "invariant: no turns yet"),
                ]
            m.d.sync += Assert(self.waited[port] | (self.ahead[port] == 0),
                               "invariant: none ahead of a port that does not wait")
        for number, (members, turns) in enumerate(target.groups):
            self._group(m, number, members, turns.mask,
                        self.turns if target.starving and number == 0 else self.ahead)
        last = [self.starved[port] & self.sinks[port].ready
                & (sum(self.turns[port]) == len(target.groups[0][0]) - 1)
                for port, limit in enumerate(self.limits) if limit]
        m.d.sync += Cover(Cat(last).any() if last else self.ahead[0].any(),
                          "a port waits for all others")
        return m

    def _group(self, m, number, members, mask, ahead):
        count = len(members)
        size = Signal(range(count + 1), name=f"size_{number}")
        m.d.comb += size.eq(sum(mask))
        m.d.sync += [
            Assert(~mask[0], "invariant: the mask leaves out the first"),
            Assert((mask[:-1] & ~mask[1:]) == 0, "invariant: the mask is a thermometer"),
        ]
        ranks = [Signal(range(count), name=f"rank_{number}_{place}") for place in range(count)]
        for place, rank in enumerate(ranks):
            m.d.comb += rank.eq(Mux(mask[place], place + size - count, place + size))
        inside = sum(1 << port for port in members)
        for place, port in enumerate(members):
            m.d.sync += Assert((ahead[port] & ~inside) == 0, "invariant: turns of the group only")
            for there, other in enumerate(members):
                m.d.sync += Assert(~ahead[port][other] | (ranks[there] > ranks[place]),
                                   "invariant: a port that had a turn comes after")
