# amaranth: UnusedElaboratable=no
"""Multi-port front end: parameters, bounds, RTL against model, checker against planted faults."""

import dataclasses
import random
import re

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Signal, Value

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram import front_end_bounds as bounds
from cyclebound.golden.dram.multi_port_front_end import MultiPortFrontEndModel
from cyclebound.hdl.dram.multi_port_front_end import MultiPortFrontEnd
from cyclebound.sim import catalogue
from cyclebound.sim.proof.prove import prove
from cyclebound.tb.dram import multi_port_front_end_properties as properties
from kit.run_bench import run_bench

unit = pytest.mark.unit
SMALL = {"priorities": [7, 4, 4], "limits": [0, 2, 3], "width": 4}


@unit
@pytest.mark.parametrize(("changes", "kind", "message"), [
    ({"priorities": [7, 8, 0]}, ValueError, r"^priority must be from 0 to 7, not 8$"),
    ({"priorities": [7, "4", 0]}, TypeError, r"^priority must be an integer, not '4'$"),
    ({"limits": [0, -1, 0]}, ValueError, r"^limit must be at least 0, not -1$"),
    ({"limits": [0, True, 0]}, TypeError, r"^limit must be an integer, not True$"),
    ({"limits": [0]}, ValueError, r"^limits must be one for each of 3 ports, not 1$"),
    ({"priorities": [], "limits": []}, ValueError, r"^ports must be at least 1, not 0$"),
    ({"width": 0}, ValueError, r"^width must be at least 1, not 0$"),
    ({"width": 2.0}, TypeError, r"^width must be an integer, not 2\.0$"),
])
def test_refuses(changes, kind, message):
    with pytest.raises(kind, match=message):
        MultiPortFrontEnd(**{**SMALL, **changes})


@unit
def test_bounds_by_hand():
    assert bounds.front_end_wait(priorities=[4] * 8, limits=[0] * 8, port=3) == 8
    assert bounds.front_end_wait(**_shape(SMALL), port=2) == 3 + 2
    # two that starve, each at most every third cycle: 1 + 1 + 1
    assert bounds.front_end_wait(**_shape(SMALL), port=0) == 3
    with pytest.raises(NotCovered, match=r"^port 1 must have the greatest priority and no limit$"):
        bounds.front_end_wait(priorities=[4, 1], limits=[0, 0], port=1)
    with pytest.raises(NotCovered, match=r"^port 0 must have a limit, not 0$"):
        bounds.starvation(limits=[0], port=0)
    for claim in (bounds.front_end_wait, bounds.top_wait):
        with pytest.raises(NotCovered, match=r"^port must be one of the 2, counted from 0, not 2$"):
            claim(priorities=(0, 1), limits=(4, 4), port=2)
    with pytest.raises(NotCovered, match=r"^ports that starve must leave grants to others"):
        bounds.top_wait(priorities=[7, 1, 1], limits=[0, 1, 1], port=0)


def _shape(parameters):
    return {name: parameters[name] for name in ("priorities", "limits")}


def waits(priorities, limits, rng, cycles):
    """By the model: the longest wait of each port's requests, in unstalled cycles, if others ask as
    often as the turn of the search has it."""
    model = MultiPortFrontEndModel(priorities=priorities, limits=limits)
    ports = range(len(limits))
    often = rng.choice(((1.0,), (1.0, 0.02), (0.05, 0.5, 1.0)))
    rate, stall = [rng.choice(often) for _ in ports], rng.choice((0.0, 0.0, 0.3))
    stall = stall if all(limits) else 0.0  # a bound without a limit is for a sink that takes all
    asks, since, longest = dict.fromkeys(ports, False), dict.fromkeys(ports, 0), [0] * len(limits)
    for _ in range(cycles):
        for port in ports:
            if not asks[port] and rng.random() < rate[port]:
                asks[port], since[port] = True, 0
        ready = rng.random() >= stall
        granted, shown = model.step({port: 0 for port in ports if asks[port]}, ready)
        for port in ports:
            since[port] += asks[port] and (shown is None or ready)
        if granted is not None:
            longest[granted] = max(longest[granted], since[granted])
            asks[granted] = False
    return longest


@unit
@pytest.mark.parametrize("count", [8, pytest.param(200, marks=pytest.mark.thorough)])
def test_random_front_ends_keep_the_bound(count):
    rng, met, covered = random.Random(count), 0, 0
    for _ in range(count):
        ports = rng.randint(1, 8)
        priorities = [rng.choice((7, 4, 4, 2, 0)) for _ in range(ports)]
        limits = [rng.choice((0, rng.randint(1, 4), rng.randint(1, 12))) for _ in range(ports)]
        found = [max(column) for column in zip(*(
            waits(priorities, limits, rng, 400) for _ in range(5)), strict=True)]
        for port, longest in enumerate(found):
            try:
                allowed = bounds.front_end_wait(priorities=priorities, limits=limits, port=port)
            except NotCovered:
                continue
            assert longest <= allowed, (priorities, limits, port)
            covered += 1
            met += longest == allowed
    assert met >= 0.05 * covered > 0  # a bound that is one less would be exceeded as often


def play(dut, cycles, *, check, model=None, ask=0.6, accept=0.7):
    """Random requests that stay; RTL against model, if there is one."""
    rng = random.Random(f"{cycles} {ask}")

    async def bench(ctx):
        offers, stalled = {}, False
        for _ in range(cycles):
            for port, sink in enumerate(dut.sinks):
                if port not in offers and rng.random() < ask:
                    offers[port] = rng.getrandbits(4)
                ctx.set(sink.valid, port in offers)
                ctx.set(sink.payload, offers.get(port, 0))
            stalled = rng.random() > accept
            ctx.set(dut.source.ready, not stalled)
            ready = [port for port, sink in enumerate(dut.sinks) if ctx.get(sink.ready)]
            if model is not None:
                granted, shown = model.step(offers, not stalled)
                assert ready == ([] if granted is None else [granted])
                assert ctx.get(dut.source.valid) == (shown is not None)
                if shown is not None:
                    payload = ctx.get(dut.source.payload)
                    assert (payload.port, payload.priority, payload.data) == shown
            for port in ready:
                offers.pop(port, None)
            await ctx.tick()

    run_bench(dut, bench, check)


@unit
@pytest.mark.parametrize("shape", [SMALL, {"priorities": [2], "limits": [1], "width": 4}])
def test_follows_model_watched(shape):
    dut = MultiPortFrontEnd(**shape)
    play(dut, 400, model=MultiPortFrontEndModel(**_shape(shape)),
         check=properties.FrontEndProof(dut))


# (asks, grants, source valid, source ready, source payload) of each cycle; the last has a fault.
# The payload is that of port 0 with priority 7 and data 0, unless something is said.
TOP = 7 << 2
FAULTS = {
    "more than one grant": [(3, 3, 0, 1, 0)],
    "grant without a request": [(1, 2, 0, 1, 0)],
    "grant without a place": [(1, 1, 1, 0, 0)],
    "idle while there is a request": [(1, 0, 0, 1, 0)],
    "another is granted before a port that starves": [(3, 1, 0, 1, 0)] * 2 + [(3, 1, 1, 1, TOP)],
    "port 1 is granted before a higher priority": [(3, 2, 0, 1, 0)],
    "port 2 is granted before a higher priority": [(5, 4, 0, 1, 0)],
    "port 1 overtaken twice": [(6, 4, 0, 1, 0)] * 2,
    "port 2 overtaken twice": [(6, 2, 0, 1, 0)] * 2,
    "port 1 starves while another has two turns": [(6, 4, 0, 1, 0)] * 4,
    "port 2 starves while another has two turns": [(6, 2, 0, 1, 0)] * 5,
    "request lost or made up": [(1, 1, 0, 1, 0), (0, 0, 0, 1, 0)],
    "another request than the one granted": [(1, 1, 0, 1, 0), (0, 0, 1, 1, TOP + 1)],
    "request withdrawn": [(1, 0, 1, 0, 0), (0, 0, 1, 0, 0)],
    "request 2 changed": [(4, 0, 1, 0, 0), (4, 0, 1, 0, 1 << 5)],
}


@unit
@pytest.mark.parametrize("says", FAULTS)
def test_checker_fires(fires, says):
    check = properties.FrontEndCheck(MultiPortFrontEnd(**SMALL))
    source = check.source
    fires(says, properties, check, [
        [*((port, value) for number, sink in enumerate(check.sinks) for port, value in (
            (sink.valid, asks >> number & 1), (sink.ready, grants >> number & 1),
            (sink.payload, payload >> 5))),
         (source.valid, valid), (source.ready, ready), (Value.cast(source.payload), payload)]
        for asks, grants, valid, ready, payload in FAULTS[says]])


@unit
def test_every_statement_has_a_fault():
    text = rtlil.convert(properties.FrontEndCheck(MultiPortFrontEnd(**SMALL)))
    said = set(re.findall(r'parameter \\FORMAT "(?:owed: )?(.*)"', text))
    # no port has a priority above port 0's, nor an equal; the others may change in the same way
    silent = {"port 0 is granted before a higher priority", "port 0 overtaken twice",
              "request 0 changed", "request 1 changed"}
    assert said - silent == set(FAULTS)


# Proofs


class Forgetful(MultiPortFrontEnd):
    """A port that starves is served, but its counter starts anew in every third cycle."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        beat = Signal(2)
        m.d.sync += beat.eq(beat + 1)
        with m.If(beat == 3):
            m.d.sync += self.starved.eq(0)
        return m


@pytest.mark.thorough
@pytest.mark.proof
def test_a_fault_has_a_counterexample(tmp_path):
    block = dataclasses.replace(catalogue.load().find("dram.multi_port_front_end"),
                                component=Forgetful)
    claim = dataclasses.replace(block.properties[0], checker=properties.FrontEndCheck)
    found = prove(block, claim, {**SMALL, "width": 1}, folder=tmp_path)
    assert found.status == "failed"
    assert "another is granted before a port that starves" in found.detail
