# amaranth: UnusedElaboratable=no
"""Several flows at an interface: parameters, windows that are apart, the checker against faults."""

import random
import re
from itertools import product

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Const

from cyclebound.golden.noc.flow_senders import FlowSendersModel, apart, given
from cyclebound.golden.noc.network_interface import Window
from cyclebound.hdl.noc import flow_senders as hardware
from cyclebound.hdl.noc.flow_senders import FlowSenders
from cyclebound.tb.noc import flow_senders_properties as properties
from kit.faults import Tampered, override
from kit.run_bench import run_bench

pytestmark = pytest.mark.unit
TINY = {"flows": 2, "width": 8, "payload": 2}


@pytest.mark.parametrize(("wrong", "kind", "says"), [
    ({"flows": 0}, ValueError, "flows must be at least 1, not 0"),
    ({"flows": "2"}, TypeError, "flows must be an integer, not '2'"),
    ({"payload": 0}, ValueError, "payload must be at least 1, not 0")])
def test_refuses(wrong, kind, says):
    with pytest.raises(kind, match=f"^{says}$"):
        FlowSenders(**TINY | wrong)


def test_one_flow_converts():
    assert "attribute \\top 1" in rtlil.convert(FlowSenders(flows=1, width=8, payload=2))


@pytest.mark.parametrize(("one", "other", "says"), [
    (Window(10, 0, 5), Window(10, 5, 5), True),
    (Window(10, 0, 6), Window(10, 5, 5), False),
    (Window(10, 8, 4), Window(10, 2, 6), True),    # round the end of the period
    (Window(10, 8, 5), Window(10, 2, 6), False),
    (Window(10, 0, 1), Window(20, 5, 1), False),   # two periods
    (Window(10, 0, 0), Window(20, 5, 20), True),   # no cycle, no conflict
    (Window(10, 3, 1), Window(10, 3, 1), False),
    (Window(10, 0, 10), Window(10, 5, 1), False),
    (Window(10, 0, 11), Window(10, 10, 1), False)])
def test_apart_by_hand(one, other, says):
    assert apart(one, other) is apart(other, one) is says


def test_the_rtl_refuses_whom_the_cycles_of_the_windows_refuse():
    """Every pair of windows of a period of four, and such of other periods."""
    senders, rng = FlowSenders(flows=3, width=8, payload=1), random.Random(1)
    some = [Window(period, offset, length) for period in (3, 4) for offset in range(5)
            for length in range(6)]
    cases = [(one, other, rng.choice(some)) for one, other in product(some, some)
             if rng.random() < 0.2]
    refused = 0

    async def bench(ctx):
        nonlocal refused
        for windows in cases:
            for port, window in zip(senders.windows, windows, strict=True):
                ctx.set(port, {"period": window.period, "offset": window.offset,
                               "length": window.length, "crossing": 0})
            await ctx.tick()
            seen = [bool(ctx.get(senders.overlaps) >> flow & 1) for flow in range(3)]
            assert seen == [not has for has in given(windows)], windows
            refused += sum(seen)

    run_bench(senders, bench)
    assert 0 < refused < 2 * len(cases)


def test_the_model_objects_to_two_offers():
    model = FlowSendersModel(payload=1, width=8, windows=[Window(4, 0, 4), Window(4, 0, 0)])
    model.senders[1].window = model.senders[0].window
    for sender in model.senders:
        sender._link, sender.cycle = object(), 10
    with pytest.raises(AssertionError, match=r"^flows \[0, 1\] offer in one cycle$"):
        assert model.offer


def busy(dut, *, windows=((8, 0, 4), (8, 4, 4)), cycles=80):
    """Both flows send without a pause, in a network that stalls now and then."""
    async def bench(ctx):
        for port, (period, offset, length) in zip(dut.windows, windows, strict=True):
            ctx.set(port, {"period": period, "offset": offset, "length": length, "crossing": 0})
        for flow in range(2):
            ctx.set(dut.transactions[flow].payload, {"route": 1, "address": flow, "words": 2})
            ctx.set(dut.transactions[flow].valid, 1)
            ctx.set(dut.words[flow].valid, 1)
        for cycle in range(cycles):
            ctx.set(dut.source.ready, cycle % 11 != 7)
            await ctx.tick()
    return bench


def test_the_checker_has_nothing_to_say_of_good_ones():
    dut = FlowSenders(**TINY)
    run_bench(dut, busy(dut), properties.FlowSendersCheck(dut),
              properties.FlowSendersApartProof(dut), properties.FlowSendersWholeProof(dut))


FAULTS = {
    "source: outside of all windows": lambda inner, outer, cycle: [
        outer.source.valid.eq(inner.source.valid | (cycle == 3))],
    "source: packets are not one after the other": lambda inner, outer, cycle: [
        outer.source.payload.first.eq(inner.source.payload.first | Const(1))],
}


@pytest.mark.parametrize("says", FAULTS)
def test_checker_fires(only, says):
    only(says, properties)
    dut = Tampered(FlowSenders(**TINY), override(FAULTS[says]))
    windows = ((60, 30, 8), (60, 40, 8)) if "outside" in says else ((8, 0, 4), (8, 4, 4))
    with pytest.raises(AssertionError, match=f"^Assertion violated: {re.escape(says)}$"):
        run_bench(dut, busy(dut, windows=windows), properties.FlowSendersCheck(dut))


def test_the_proof_fires_where_overlaps_are_not_refused(only, monkeypatch):
    """Two flows with one window."""
    only("two flows have a flit for the link", properties)
    monkeypatch.setattr(hardware, "_apart", lambda one, other: Const(1))
    dut = FlowSenders(**TINY)
    with pytest.raises(AssertionError, match="two flows have a flit for the link"):
        run_bench(dut, busy(dut, windows=((8, 0, 4), (8, 0, 4))),
                  properties.FlowSendersApartProof(dut))
