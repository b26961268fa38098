# amaranth: UnusedElaboratable=no
"""The proof that a row stays open while transactions of one bank are apart, against faults."""

import dataclasses
import functools

import pytest
from amaranth.hdl import Const

from cyclebound.golden.dram.small_part import SMALL_SYSTEM, on_small_part
from cyclebound.hdl.dram.page_controller import PageController
from cyclebound.hdl.noc.shared_dram import SharedDram
from cyclebound.sim import catalogue
from cyclebound.sim.proof.prove import prove
from cyclebound.tb.assumed import owes
from cyclebound.tb.noc import shared_dram_properties as properties
from cyclebound.tb.noc.shared_dram_properties import InTimeProof, OwnRowsProof
from kit.faults import edited
from kit.run_bench import run_bench

unit = pytest.mark.unit
SMALL = {"masters": 2, "rivals": 0, "slot_bits": 1, "cap": 1, "part": SMALL_SYSTEM}


def transactions(dut, *, apart, cycles=600):
    """Two masters of one bank, each with a transaction of four requests in turn; ``apart``: none
    begins before all of the other's are decided on; else both at once."""
    async def bench(ctx):
        left, row, under_way = [4, 0 if apart else 4], [1, 2], 0
        for _ in range(cycles):
            taken = [False, False]
            for number, sink in enumerate(dut.sinks):
                ctx.set(sink.valid, left[number] > 0)
                ctx.set(sink.payload, {"bank": 0, "row": row[number], "column": 0, "write": number,
                                       "priority": 4, "tag": 0})
            for number, sink in enumerate(dut.sinks):
                taken[number] = left[number] > 0 and bool(ctx.get(sink.ready))
            source = dut.parts["reorder"].source
            under_way += sum(taken) - bool(ctx.get(source.valid) and ctx.get(source.ready))
            await ctx.tick()
            left = [many - went for many, went in zip(left, taken, strict=True)]
            if left == [0, 0] and under_way == 0:
                turn = row[0] % 2
                left = [4 * (not apart or number == turn) for number in range(2)]
                row[turn] = (row[turn] + 3) % 32
    return bench


@unit
def test_nothing_to_say_while_transactions_are_apart():
    dut = SharedDram(**SMALL)
    run_bench(dut, transactions(dut, apart=True), OwnRowsProof(dut))


@unit
@pytest.mark.parametrize("says", ["two transactions in bank 0",
                                  "bank 0: the transaction's row is closed"])
def test_both_are_seen_where_they_are_not(only, monkeypatch, says):
    only(says, properties)
    monkeypatch.setattr(properties, "owes", lambda fact, text: owes(Const(1), text))
    dut = SharedDram(**SMALL)
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        run_bench(dut, transactions(dut, apart=False), OwnRowsProof(dut))


class _Edited(SharedDram):
    """Its controller has a fault."""

    edit: tuple[str, str]

    @functools.cached_property
    def parts(self):
        made = edited(PageController.__module__, self.edit)
        pages = made.PageController(part=self.part, tag_bits=self.tag_bits,
                                    beat_bits=self.beat_bits)
        return {**super().parts, "pages": pages}


class _Closes(_Edited):
    """It takes the open row of a request for another one now and then."""

    edit = ("hit.eq(rows[request.bank] == request.row)",
            "hit.eq((rows[request.bank] == request.row) & ~request.tag[0])")


class _Slow(_Edited):
    """It waits for a cycle more than nRCD."""

    edit = '"rcd": p.nRCD', '"rcd": p.nRCD + 1'


@pytest.mark.thorough
@pytest.mark.proof
def test_the_proof_refutes_a_controller_that_closes_the_row():
    block = catalogue.load().find("noc.many_core")
    claim = dataclasses.replace(_named(block, "own_rows"), top=on_small_part(_Closes))
    proof = prove(block, claim, claim.instances[0])
    assert proof.status == "failed", proof.detail


def _named(block, name):
    claim, = (claim for claim in block.properties if claim.name == name)
    return claim


@pytest.mark.thorough
@pytest.mark.proof
@pytest.mark.parametrize("changes", [
    {"checker": functools.partial(InTimeProof, less=1)}, {"top": on_small_part(_Slow)}],
    ids=["a cycle less", "a slow controller"])
def test_the_proof_refutes_a_slot_that_is_too_short(changes):
    """A cycle less than `decided`, and a controller that takes a cycle longer: of both, a
    transaction that is not over."""
    block = catalogue.load().find("noc.many_core")
    claim = dataclasses.replace(_named(block, "in_time"), **changes)
    proof = prove(block, claim, claim.instances[0])
    assert (proof.status, "takes longer than its slot" in proof.detail) == ("failed", True)
