# amaranth: UnusedElaboratable=no
"""Network interface: parameters, bounds, the checker against faults, proofs, the testbench."""

import random
import re
from fractions import Fraction

import pytest
from amaranth.back import rtlil

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.noc import bounds
from cyclebound.golden.noc import composition_corrected as corrected
from cyclebound.golden.noc.composition import Path, Transaction
from cyclebound.golden.noc.injection import begins, packet_sizes, wait
from cyclebound.golden.noc.mesh_interfaces import transfer
from cyclebound.golden.noc.network_interface import SenderModel, Window
from cyclebound.golden.noc.network_interface import Transaction as Asked
from cyclebound.golden.noc.packet import address_header
from cyclebound.hdl.noc.network_interface import NetworkInterface
from cyclebound.tb.noc import network_interface_properties as properties
from kit.faults import Tampered, override
from kit.run_bench import run_bench

unit = pytest.mark.unit
PAPER = {"period": 1024, "length": 512, "crossing": 24}  # Table III: 4 routers, delta_R = 5
TINY = {"width": 8, "payload": 2}


# Parameters

@unit
@pytest.mark.parametrize(("wrong", "kind", "says"), [
    ({"width": 7}, ValueError, "Flit width must be at least 8, not 7"),
    ({"width": 8.0}, TypeError, r"Flit width must be an integer, not 8\.0"),
    ({"payload": 0}, ValueError, "Payload must be from 1 to 4096, not 0"),
    ({"payload": True}, TypeError, "Payload must be an integer, not True")])
def test_refuses(wrong, kind, says):
    with pytest.raises(kind, match=f"^{says}$"):
        NetworkInterface(**TINY | wrong)


@unit
def test_checker_converts_alone():
    check = properties.InterfaceCheck(NetworkInterface(**TINY))
    assert "attribute \\top 1" in rtlil.convert(check)


@unit
def test_address_header():
    assert address_header(5, end=True, width=8) == 0x85
    assert address_header(127, end=False, width=8) == 127
    for address in (-1, 128):
        with pytest.raises(ValueError,
                           match=f"^address must be from 0 to 127, not {address}$"):
            address_header(address, end=False, width=8)


# Bounds

@unit
def test_bounds_are_those_of_the_composition():
    """Packets of full size, Table III: the module of the paper's formulas says the same."""
    transaction = Transaction(Path(), nbytes=4096)
    wait = bounds.window_wait(flits=66, offset=0, **PAPER)
    assert wait == corrected.wait_for_packet(transaction).amount
    assert wait == 601 > transaction.wait.amount == 512
    sizes = packet_sizes(1024, 64)
    assert sizes == [66] * 16
    for ready in range(0, 1024, 11):
        ours = [begin + 24 + 66 for begin in begins(sizes, ready, **PAPER)]
        assert ours == corrected.arrivals(transaction, ready)
    in_first = [begin for begin in begins(sizes, 0, **PAPER) if begin < 512]
    assert len(in_first) == corrected.packets_in_window(transaction) == 7
    whole = bounds.injection(words=1024, payload=64, offset=0, **PAPER)
    assert Fraction(whole) == 64 + 5 + 66 + max(
        corrected.arrivals(transaction, ready)[-1] - 90 for ready in range(1024))


@unit
def test_a_window_that_is_all_of_the_period_is_none():
    assert bounds.window_wait(flits=66, period=100, length=100, crossing=40, offset=0) == 0
    assert wait(99, 66, period=100, length=100) == 0
    assert wait(99, 66, period=101, length=100) == 2
    parameters = {"period": 9, "length": 9, "crossing": 0, "offset": 0}
    assert bounds.injection(words=5, payload=4, **parameters) == 4 + 5 + 6 + 3


@unit
def test_before_the_first_window():
    """No window is open until offset + 2 cycles after reset, not even one that is all of the
    period; once it is, it is as if it had always been."""
    parameters = {"period": 59, "length": 59, "crossing": 1, "offset": 54}
    assert bounds.window_wait(flits=4, **parameters) == 49
    assert bounds.injection(words=2, payload=4, **parameters) == 60
    assert bounds.window_wait(flits=4, opened=1, **parameters) == 0
    assert bounds.injection(words=2, payload=4, opened=1, **parameters) == 11
    assert bounds.window_wait(flits=66, offset=1023, **PAPER) == 1025 - 69
    first = transfer(words=2, payload=4, period=59, length=59, offset=54, routers=1, delta=2)
    assert first == 60 + 3 + 5 - 1


@unit
@pytest.mark.parametrize("seed", range(40))
def test_the_model_keeps_the_bounds_from_reset_on(seed):
    """Random windows and transactions, as early as in the first cycle after reset."""
    rng = random.Random(seed)
    payload, period = rng.randint(1, 6), rng.randint(8, 60)
    length, crossing = rng.choice([period, rng.randint(6, period)]), rng.randint(0, 3)
    window = Window(period, rng.randrange(period), length, crossing)
    words = rng.randint(1, 3 * payload)
    parameters = {"period": period, "length": length, "crossing": crossing, "offset": window.offset}
    if not window.takes(min(words, payload) + 2):
        return
    for start in (0, rng.randint(1, 10), rng.randint(0, 3 * period)):
        model, left, ended = SenderModel(payload=payload, width=16, window=window), words, None
        while ended is None:
            asked = model.cycle == start
            if model.ends:
                ended = model.cycle
            reads = model.takes_word
            model.step(Asked(1, 0, words) if asked else None, 0 if left else None, True)
            left -= reads and left > 0
        opened = int(start + min(words, payload) + 5 > window.offset + 2)
        for flag in {0, opened}:
            bound = bounds.injection(words=words, payload=payload, opened=flag, **parameters)
            assert ended - start + 1 <= bound, (start, flag)


@unit
@pytest.mark.parametrize(("wrong", "says"), [
    ({"offset": -1}, "offset must be a whole number of at least 0, not -1"),
    ({"offset": 1024}, "offset must be less than the period of 1024, not 1024"),
    ({"offset": 0, "opened": 2}, "opened must be a whole number of 0 to 1, not 2")])
def test_offsets_without_a_bound(wrong, says):
    for bound, size in ((bounds.window_wait, {"flits": 66}),
                        (bounds.injection, {"words": 64, "payload": 64})):
        with pytest.raises(NotCovered, match=f"^{says}$"):
            bound(**size, **PAPER | wrong)


@unit
@pytest.mark.parametrize(("wrong", "says"), [
    ({"period": 0}, "period must be a whole number of at least 1, not 0"),
    ({"length": 0}, "length must be a whole number of at least 1, not 0"),
    ({"flits": 0}, "flits must be a whole number of at least 1, not 0"),
    ({"crossing": -1}, "crossing must be a whole number of at least 0, not -1"),
    ({"length": 1025}, "length must be at most the period of 1024, not 1025"),
    ({"length": 89}, "a packet of 66 flits never fits a window of 89 cycles")])
def test_windows_without_a_bound(wrong, says):
    with pytest.raises(NotCovered, match=f"^{says}$"):
        bounds.window_wait(**{"flits": 66, "offset": 0} | PAPER | wrong)


@unit
def test_first_header():
    parameters = {"period": 100, "length": 50, "crossing": 0, "offset": 20}
    assert bounds.first_header(words=4, payload=4, **parameters) == 10 + bounds.window_wait(
        flits=6, **parameters)
    assert bounds.first_header(words=9, payload=4, **parameters) == bounds.first_header(
        words=4, payload=4, **parameters)
    with pytest.raises(NotCovered, match="a packet of 6 flits never fits"):
        bounds.first_header(words=4, payload=4, **{**parameters, "length": 5})


@unit
def test_reception():
    assert bounds.reception(words=4, before=0) == 7
    assert bounds.reception(words=1, before=64) == 66
    with pytest.raises(NotCovered, match=r"^words must be a whole number of at least 1, not 0$"):
        bounds.reception(words=0, before=0)


@unit
def test_model_window():
    window = Window(10, 7, 5, 1)  # open in cycles 9 to 13, 19 to 23, ...
    assert [window.left(cycle) for cycle in range(8, 21)] == [0, 5, 4, 3, 2, 1, *[0] * 5, 5, 4]
    assert window.takes(4)
    assert not window.takes(5)
    assert window.fits(10, 3)
    assert not window.fits(11, 3)
    assert not Window(10, 10, 5).takes(1)
    assert not Window(4, 0, 5).takes(1)


# The checker fires

FAULTS = {
    "injected: outside the window":
        lambda inner, out, cycle: out.injected.valid.eq(inner.sender.loaded),
    "injected: in a window that is none":
        lambda inner, out, cycle: out.injected.valid.eq(out.window.offset > out.window.period),
    "injected: offer withdrawn or changed":
        lambda inner, out, cycle: out.injected.payload.data.eq(inner.injected.payload.data
                                                        ^ inner.injected.ready),
    "received: offer withdrawn or changed":
        lambda inner, out, cycle: out.received.payload.data.eq(inner.received.payload.data
                                                        ^ inner.received.ready)}


def busy(dut, cycles=90, *, offset=3):
    """A bench that sends three packets in windows of 6 of 10 cycles, while the network stalls in
    every third cycle, and receives them back."""

    async def bench(ctx):
        ctx.set(dut.window, {"period": 10, "offset": offset, "length": 6, "crossing": 0})
        ctx.set(dut.transactions.payload, {"route": 1, "address": 2, "words": 6})
        asking = 1
        for cycle in range(cycles):
            ctx.set(dut.transactions.valid, asking)
            ctx.set(dut.words.valid, 1)
            ready = cycle % 3 != 0
            ctx.set(dut.injected.ready, ready)
            ctx.set(dut.received.ready, cycle % 4 == 0)
            moves = ready and ctx.get(dut.injected.valid)
            ctx.set(dut.arriving.valid, bool(moves))
            ctx.set(dut.arriving.payload, ctx.get(dut.injected.payload))
            asking = asking and not ctx.get(dut.transactions.ready)
            await ctx.tick()
        bench.overrun, bench.refused = ctx.get(dut.overrun), ctx.get(dut.refused)
    return bench


@unit
def test_stalled_packets_stop_with_the_window_and_are_counted():
    interface = NetworkInterface(**TINY)
    bench = busy(interface)
    run_bench(interface, bench, properties.InterfaceWindowProof(interface))
    assert bench.overrun >= 2


@unit
@pytest.mark.parametrize("says", FAULTS)
def test_checker_fires(only, says):
    only(says, properties)
    dut = Tampered(NetworkInterface(**TINY), override(FAULTS[says]))
    with pytest.raises(AssertionError, match=f"^Assertion violated: {re.escape(says)}$"):
        run_bench(dut, busy(dut, offset=30 if "none" in says else 3),
                  properties.InterfaceCheck(dut))


@unit
def test_fit_fires_on_an_interface_that_does_not_leave_room(monkeypatch):
    """The network does not stall, but the interface counts its header flits as none."""
    monkeypatch.setattr("cyclebound.hdl.noc.packet_sender.HEADER_FLITS", 0)
    dut = NetworkInterface(**TINY)

    async def bench(ctx):
        ctx.set(dut.window, {"period": 10, "offset": 3, "length": 5, "crossing": 0})
        ctx.set(dut.transactions.payload, {"route": 1, "address": 2, "words": 6})
        for name in (dut.transactions.valid, dut.words.valid, dut.injected.ready):
            ctx.set(name, 1)
        await ctx.tick().repeat(60)
    with pytest.raises(AssertionError, match=r"^Assertion violated: (invariant: .* fit|a window "
                                             r"closed over a packet)$"):
        run_bench(dut, bench, properties.InterfaceFitProof(dut))

