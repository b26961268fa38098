"""Multi-port front end of a shared DRAM: forwards its ports' requests one after the other.

Ref: memory-composition, section IV.C.3.
"""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.dram.queued_request import HIGHEST, PRIORITY_BITS
from cyclebound.hdl.parameters import check_integer

__all__ = ["ForwardedLayout", "MultiPortFrontEnd", "Turns"]


class ForwardedLayout(data.StructLayout):
    """A request, with its port and the priority that it has come in with."""

    def __init__(self, *, ports, width):
        super().__init__({"port": range(max(ports, 2)), "priority": PRIORITY_BITS, "data": width})


class Turns(wiring.Component):
    """Round robin that keeps no turn for a port without a request.

    Part of the front end. Unlike `noc.arbiter`, it does not hold a grant that is not served: the
    front end's requests do not depend on whether there is a place.

    Parameters
    ----------
    count : int
        Number of requesters.

    Members
    -------
    requests : In(count)
        Requesters that ask.
    served : In(1)
        The winner has had its turn.
    grant : Out(count)
        One-hot winner, or 0 without a request.

    Attributes
    ----------
    mask : Signal
        Thermometer code: the requesters after the last served.
    """

    def __init__(self, *, count):
        self.count = count
        super().__init__({"requests": In(count), "served": In(1), "grant": Out(count)})
        self.mask = Signal(count)

    def elaborate(self, platform):
        m = Module()
        preferred, mask = self.requests & self.mask, self.mask
        pool = Signal(self.count)  # among these, the lowest number wins
        m.d.comb += pool.eq(Mux(preferred.any(), preferred, self.requests))
        m.d.comb += [bit.eq(pool[who] & ~pool[:who].any()) for who, bit in enumerate(self.grant)]
        with m.If(self.served):
            m.d.sync += [mask[who].eq(self.grant[:who].any()) for who in range(self.count)]
        return m


class MultiPortFrontEnd(wiring.Component):
    """Ports with priorities, round robin among equals; a port that starves goes first.

    A request that has waited for its port's limit goes before all that have not, and is forwarded
    with the highest priority; those that starve have turns of their own, by round robin.

    The order among equals is kept for each priority by itself. One order for all would not do: a
    starving port that is served after an equal would send the turn back to the port before it.

    Latency: a request is on offer in the cycle after it was taken. Throughput: one per cycle.

    Parameters
    ----------
    priorities : sequence of int
        Of each port, 0 to 7; the greatest goes first.
    limits : sequence of int
        Of each port: cycles that its request waits before it starves; 0 for never, as in the
        paper's analysis.
    width : int
        Bits of a request, whose content does not matter.

    Members
    -------
    sinks : In(stream of width bits).array(ports)
        The masters' requests.
    source : Out(stream of ForwardedLayout)
        To the reorder core.

    Attributes
    ----------
    starved : Signal
        By port: its request has waited for the limit.
    groups : list of (ports, Turns)
        The ports that take turns: first those that may starve (if there are any), then each
        priority's ports, the greatest first.
    """

    def __init__(self, *, priorities, limits, width):
        priorities, limits = tuple(priorities), tuple(limits)
        for thing, values, most in (("priority", priorities, HIGHEST), ("limit", limits, None)):
            for value in values:
                check_integer(thing, value, 0, most)
        if not priorities:
            raise ValueError("ports must be at least 1, not 0")
        if len(limits) != len(priorities):
            raise ValueError(f"limits must be one for each of {len(priorities)} ports, "
                             f"not {len(limits)}")
        check_integer("width", width, 1)
        self.priorities, self.limits, self.width = priorities, limits, width
        self.ports = ports = len(priorities)
        super().__init__({
            "sinks": In(stream.Signature(width)).array(ports),
            "source": Out(stream.Signature(ForwardedLayout(ports=ports, width=width))),
        })
        # the state; a proof has to speak of it
        self.starved = Signal(ports)
        starving = [port for port in range(ports) if limits[port]]
        levels = [[port for port in range(ports) if priorities[port] == level]
                  for level in sorted(set(priorities), reverse=True)]
        self.starving = bool(starving)
        self.groups = [(members, Turns(count=len(members)))
                       for members in ([starving] if starving else []) + levels]
        self.left = [Signal(range(limit + 1), init=limit, name=f"left_{port}")
                     for port, limit in enumerate(limits)]

    def elaborate(self, platform):
        m = Module()
        ports, source = len(self.priorities), self.source
        valid = Signal(ports)
        m.d.comb += valid.eq(Cat(sink.valid for sink in self.sinks))

        load = Signal()  # a request may be taken
        m.d.comb += load.eq(~source.valid | source.ready)

        # The first group that has a request; `of_starving` is that of those that starve.
        granted = Signal(ports)
        none_before, grants, priority = Const(1, 1), [[] for _ in range(ports)], 0
        for number, (members, turns) in enumerate(self.groups):
            m.submodules[f"turns_{number}"] = turns
            of_starving = self.starving and number == 0
            asks = valid & self.starved if of_starving else valid
            first = Signal(name=f"first_{number}")
            m.d.comb += [
                turns.requests.eq(Cat(asks[port] for port in members)),
                first.eq(none_before & turns.requests.any()), turns.served.eq(first & load),
            ]
            for place, port in enumerate(members):
                grants[port].append(turns.grant[place] & first)
            level = HIGHEST if of_starving else self.priorities[members[0]]
            priority |= Mux(first, level, 0)
            none_before = none_before & ~turns.requests.any()
        m.d.comb += granted.eq(Cat(Cat(grant).any() for grant in grants))

        with m.If(load):
            m.d.sync += [
                source.valid.eq(valid.any()),
                source.payload.priority.eq(priority),
                source.payload.port.eq(_chosen(granted, range(ports))),
                source.payload.data.eq(_chosen(granted, [s.payload for s in self.sinks])),
            ]
        for port, (sink, limit) in enumerate(zip(self.sinks, self.limits, strict=True)):
            m.d.comb += sink.ready.eq(granted[port] & load)
            if not limit:
                continue
            left, starved = self.left[port], self.starved[port]
            with m.If(valid[port] & ~sink.ready):
                with m.If(~starved):
                    m.d.sync += [left.eq(left - 1), starved.eq(left == 1)]
            with m.Else():
                m.d.sync += [left.eq(limit), starved.eq(0)]
        return m


def _chosen(onehot, values):
    """The value whose bit is set, as an AND-OR of all."""
    chosen = 0
    for bit, value in zip(onehot, values, strict=True):
        chosen |= Mux(bit, value, 0)
    return chosen
