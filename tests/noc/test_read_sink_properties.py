# amaranth: UnusedElaboratable=no
"""The proof that a receiver that keeps to the sink rule never stalls the link, against faults."""

import dataclasses
import functools

import pytest

from cyclebound.hdl.noc.bank_writer import BankWriter
from cyclebound.hdl.noc.packet_receiver import PacketReceiver
from cyclebound.hdl.noc.read_sink import ReadSink
from cyclebound.sim import catalogue
from cyclebound.sim.proof.prove import prove
from cyclebound.tb.noc import read_sink_properties as properties
from cyclebound.tb.noc.read_sink_properties import ReadSinkProof, least_period
from kit.faults import edited
from kit.run_bench import run_bench

unit = pytest.mark.unit
NO_WORDS = {"requesters": 5, "payload": 4, "packets": 2}
TINY = {**NO_WORDS, "words": 4}


@unit
@pytest.mark.parametrize(("requesters", "row", "period"), [(3, 2, 18), (3, 3, 24), (5, 2, 24)])
def test_least_periods(requesters, row, period):
    """Two packets of two words of the bank, N_req cycles each: 6 + 7 + 3 to the last grant."""
    assert least_period(requesters=requesters, packets=2, payload=4, row=row) == period


@unit
def test_no_period_where_the_room_is_too_small():
    with pytest.raises(ValueError, match=r"^3 packets in a window must keep to the rule of the "
                       r"receiver; with 9 requesters and room for 2 packets they do in no period$"):
        least_period(requesters=9, packets=2, payload=4, row=3)


def full_windows(dut, checker, cycles=400):
    """Each window full of packets of full size, and all other requesters without a pause."""
    async def bench(ctx):
        for other in dut.others:
            ctx.set(other.request.valid, 1)
        flits = checker.payload + 2
        for cycle in range(cycles):
            now = cycle % checker.period
            number, flit = divmod(now, flits)
            size = min(flits, checker.window - number * flits)  # the last one may be shorter
            ctx.set(dut.sink.valid, flit < size)
            ctx.set(dut.sink.payload, {"data": 0, "first": flit == 0, "last": flit == size - 1})
            await ctx.tick()
    return bench


@unit
@pytest.mark.parametrize(("row", "requesters"), [(1, 2), (2, 3), (2, 5), (3, 3)])
def test_nothing_to_say_of_windows_that_keep_to_the_rule(row, requesters):
    dut = ReadSink(**TINY | {"requesters": requesters})
    checker = ReadSinkProof(dut, row=row)
    run_bench(dut, full_windows(dut, checker), checker)


@unit
def test_a_packet_of_one_burst_in_the_rest_of_a_window_counts():
    """Two packets of six flits in a window of 16, and one of four: as three of full size, for which
    a room for two is too small, and which a period of 24 does not leave time for;
    where it does not fit, the two may come later."""
    with pytest.raises(ValueError, match="they do in no period"):
        least_period(**NO_WORDS, row=2, rest=4)
    assert least_period(**NO_WORDS, row=2, rest=3) == 27  # they come 3 cycles later
    dut = ReadSink(**TINY | {"packets": 3})
    checker = ReadSinkProof(dut, row=2, rest=4)
    assert checker.period == 34
    run_bench(dut, full_windows(dut, checker), checker)
    short = ReadSinkProof(dut, row=2, rest=4, less=10)
    with pytest.raises(AssertionError, match="from the window before"):
        run_bench(dut, full_windows(dut, short), short)


@unit
def test_the_link_waits_where_they_do_not(only):
    only("the link waits", properties)
    dut = ReadSink(**TINY)
    checker = ReadSinkProof(dut, row=2, less=6)
    with pytest.raises(AssertionError, match=r"^Assertion violated: the link waits$"):
        run_bench(dut, full_windows(dut, checker), checker)


def proof_of(top):
    block = catalogue.load().find("noc.end_to_end_read")
    claim, = (claim for claim in block.properties if claim.name == "keeps_up")
    claim = dataclasses.replace(claim, top=top)
    return prove(block, claim, claim.instances[0])


class _OneSlow(ReadSink):
    """Its writer does not take a word in the cycle of the one before it's grant."""

    @functools.cached_property
    def parts(self):
        made = edited(BankWriter.__module__, ("free.eq(~write.valid | write.ready)",
                                              "free.eq(~write.valid)"))
        return {**super().parts, "writer": made.BankWriter(words=self.words)}


class _OneLess(ReadSink):
    """It has room for an entry less than it says."""

    @functools.cached_property
    def parts(self):
        made = edited(PacketReceiver.__module__, ("sink.ready.eq(whole + part != self.room)",
                                                  "sink.ready.eq(whole + part < self.room - 6)"))
        return {**super().parts, "receiver": made.PacketReceiver(
            width=32, payload=self.payload, packets=self.packets)}


@pytest.mark.thorough
@pytest.mark.proof
@pytest.mark.parametrize(("top", "says"), [(_OneSlow, "from the window before"),
                                           (_OneLess, "the link waits")])
def test_the_proof_refutes(top, says):
    proof = proof_of(top)
    assert proof.status == "failed", proof.detail
    assert says in proof.detail
