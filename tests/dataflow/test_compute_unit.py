# amaranth: UnusedElaboratable=no
"""Compute unit and its datapaths: RTL against golden model, in Amaranth's own simulator."""

import random

import pytest
from amaranth.back import rtlil

from cyclebound.golden.dataflow.compute_unit import ComputeUnitModel
from cyclebound.golden.dataflow.operations import OPERANDS, Operation
from cyclebound.hdl.dataflow.compute_unit import ComputeUnit
from cyclebound.hdl.dataflow.integer_alu import IntegerAlu
from cyclebound.tb.dataflow.float_cases import hard_triple

pytestmark = pytest.mark.unit


def test_refuses():
    with pytest.raises(ValueError, match=r"^depth must be a power of two, not 3$"):
        ComputeUnit(depth=3, tid_width=8)


def test_converts_again():
    for component in (ComputeUnit(depth=2, tid_width=4), IntegerAlu()):
        assert rtlil.convert(component) == rtlil.convert(component)


@pytest.mark.parametrize("operation", [Operation.FMA, Operation.FSUB, Operation.MUL,
                                       Operation.SRA, Operation.TO_INT, Operation.FLE])
def test_rtl_is_the_model_in_every_cycle(simulate, operation):
    dut = ComputeUnit(depth=2, tid_width=4)
    rng = random.Random(operation.name)
    literals = {1: 0x4049_0FDB} if operation == Operation.FMA else {}
    model = ComputeUnitModel(depth=2, operation=operation, literals=literals)
    results = []

    async def bench(ctx):
        ctx.set(dut.configuration, {"operation": int(operation), "value": 0x4049_0FDB,
                                    "literals": sum(1 << k for k in literals)})
        held, upcoming = [None] * OPERANDS, [0] * OPERANDS
        for _ in range(120):
            ready = rng.random() < 0.8
            ctx.set(dut.result.ready, ready)
            for k, port in enumerate(dut.operands):
                if held[k] is None and model.needed >> k & 1 and rng.random() < 0.8:
                    held[k] = upcoming[k] % 16, hard_triple(rng)[k]
                    upcoming[k] += 1
                ctx.set(port.valid, held[k] is not None)
                if held[k] is not None:
                    ctx.set(port.payload, {"tid": held[k][0], "data": held[k][1]})
            taken = [held[k] is not None and bool(ctx.get(port.ready))
                     for k, port in enumerate(dut.operands)]
            found = model.step(held, ready)
            assert list(found.taken) == taken
            assert ctx.get(dut.result.valid) == (found.result is not None)
            if found.result is not None:
                payload = dut.result.payload
                assert (ctx.get(payload.tid), ctx.get(payload.data)) == found.result
                results.append(found.result)
            held = [None if taken[k] else held[k] for k in range(OPERANDS)]
            await ctx.tick()
    simulate(dut, bench)
    assert len(results) > 40
