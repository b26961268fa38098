"""Random traffic on all streams of a component, watched by checkers."""

import random

from amaranth.hdl import Value
from amaranth.lib.wiring import In

from kit.run_bench import run_bench

__all__ = ["play_streams"]


def play_streams(dut, *checkers, cycles=80, busy=0.7, payloads=None, fixed=None, each=None):
    """Offer random items on all streams into ``dut``, and take items at random from the others.

    An offer stays until it is taken.

    Parameters
    ----------
    dut : wiring.Component
        With ports that are streams, or arrays of them.
    checkers : wiring.Component
        What watches it.
    cycles : int
        How long.
    busy : float
        How often a side goes on.
    payloads : mapping
        By a stream's name, what makes a payload from a source of random numbers and the stream's
        number in its array; else any bits.
    fixed : mapping
        By name, the value that another input has all the time.
    each : callable or None
        Called with the simulator's context and the source in each cycle, for inputs that are no
        streams; what is offered is set by then.
    """
    rng, payloads = random.Random(1), payloads or {}
    sources, sinks = [], []
    for name, member in dut.signature.members.items():
        if member.is_port or not {"valid", "ready", "payload"} <= {*member.signature.members}:
            continue
        ports = getattr(dut, name) if member.dimensions else [getattr(dut, name)]
        (sources if member.flow == In else sinks).extend(
            (name, number, port) for number, port in enumerate(ports))

    async def bench(ctx):
        for name, value in (fixed or {}).items():
            ctx.set(getattr(dut, name), value)
        offered = [False] * len(sources)
        for _ in range(cycles):
            for place, (name, number, port) in enumerate(sources):
                if not offered[place] and rng.random() < busy:
                    offered[place] = True
                    if name in payloads:
                        ctx.set(port.payload, payloads[name](rng, number))
                    else:
                        bits = Value.cast(port.payload)
                        ctx.set(bits, rng.getrandbits(len(bits)))
                ctx.set(port.valid, offered[place])
            for _, _, port in sinks:
                ctx.set(port.ready, rng.random() < busy)
            if each:
                each(ctx, rng)
            for place, (_, _, port) in enumerate(sources):
                if ctx.get(port.ready):
                    offered[place] = False
            await ctx.tick()

    run_bench(dut, bench, *checkers)
