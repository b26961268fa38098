# amaranth: UnusedElaboratable=no
"""Switch: parameters, and its checker against planted faults."""

import random

import pytest

from cyclebound.golden.dataflow import fabric_bounds
from cyclebound.hdl.dataflow.switch import Switch
from cyclebound.tb.dataflow import switch_properties as properties

unit = pytest.mark.unit
TINY = {"ports": 3, "tid_width": 2, "width": 4}


@unit
@pytest.mark.parametrize(("bad", "message"), [
    ({"ports": 1}, r"^port count must be at least 2, not 1$"),
    ({"tid_width": 33}, r"^tid width must be from 1 to 32, not 33$"),
    ({"width": 0}, r"^width must be at least 1, not 0$")])
def test_refuses(bad, message):
    with pytest.raises(ValueError, match=message):
        Switch(**TINY | bad)


def play(simulate, dut, choices, checkers=(), *, seed=1):
    """Random traffic. Returns what outputs had."""
    rng = random.Random(seed)
    got = [[] for _ in range(3)]

    async def bench(ctx):
        for o in range(3):  # to choose one's own input is to choose none
            ctx.set(dut.choices[o], choices[o] + 1 if o in choices else rng.choice((0, o + 1)))
        held = [None] * 3
        for _ in range(60):
            ready = [rng.random() < 0.6 for _ in range(3)]
            for p in range(3):
                ctx.set(dut.outputs[p].ready, ready[p])
                if held[p] is None and rng.random() < 0.7:
                    held[p] = rng.randrange(4), rng.randrange(16)
                ctx.set(dut.inputs[p].valid, held[p] is not None)
                if held[p] is not None:
                    ctx.set(dut.inputs[p].payload, {"tid": held[p][0], "data": held[p][1]})
            room = [bool(ctx.get(port.ready)) for port in dut.inputs]
            shown = [(ctx.get(port.payload.tid), ctx.get(port.payload.data))
                     if ctx.get(port.valid) else None for port in dut.outputs]
            for p in range(3):
                got[p].extend([shown[p]] * (shown[p] is not None and ready[p]))
                held[p] = None if room[p] else held[p]
            await ctx.tick()
    simulate(dut, bench, *checkers)
    return got


@unit
@pytest.mark.parametrize(("fault", "says"), [
    ("lost", "output 0: a token is offered if and only if one is owed"),
    ("changed", "output 0: another token than the oldest that is owed"),
    ("crowded", "output 0: a third token")])
def test_checker_fires(simulate, tampered, only, fault, says):
    def plant(m, inner, outer):
        if fault == "lost":
            m.d.comb += outer.outputs[0].valid.eq(0)
        elif fault == "changed":
            m.d.comb += outer.outputs[0].payload.data.eq(~inner.outputs[0].payload.data)
        else:
            m.d.comb += outer.inputs[1].ready.eq(1)
    only(says, properties)
    dut = tampered(Switch(**TINY), plant)
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        play(simulate, dut, {0: 1, 2: 1}, [properties.SwitchCheck(dut)])


@unit
def test_bounds():
    assert fabric_bounds.switch_hop(ports=8) == fabric_bounds.switch_stream(tokens=1) == 2
