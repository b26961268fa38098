# amaranth: UnusedElaboratable=no
"""DDR3's rivals: each request is to another row than those that wait or are open."""

import re
from dataclasses import replace

import pytest

from cyclebound.golden.dram.small_part import SMALL_SYSTEM
from cyclebound.golden.dram.timing import DDR3_1600_MODULE
from cyclebound.hdl.noc.shared_dram import SharedDram
from kit.run_bench import run_bench

unit = pytest.mark.unit
ALONE = {"masters": 1, "slot_bits": 1}


@unit
@pytest.mark.parametrize(("rivals", "cap", "part"), [
    (1, 1, SMALL_SYSTEM),  # 32 rows
    (7, 9, replace(DDR3_1600_MODULE, rows=256)), (2, 4, replace(SMALL_SYSTEM, rows=64)),
])
def test_rows_that_wait_are_all_different(rivals, cap, part):
    dut = SharedDram(**ALONE, rivals=rivals, cap=cap, part=part)
    reorder, full = dut.parts["reorder"], []

    async def bench(ctx):
        ctx.set(dut.compete, (1 << rivals) - 1)
        for _ in range(60 + 100 * rivals):
            valid = ctx.get(reorder.valid)
            rows = [ctx.get(entry.request.row) for place, entry in enumerate(reorder.queue)
                    if valid >> place & 1]
            if ctx.get(reorder.source.valid):
                rows.append(ctx.get(reorder.source.payload.row))
            assert len(set(rows)) == len(rows)
            assert 0 not in rows  # the master's
            assert max(rows, default=0) < part.rows
            full.append(len(rows))
            await ctx.tick()

    run_bench(dut, bench)
    assert max(full) == 9


@unit
def test_refuses_too_few_rows():
    few = replace(SMALL_SYSTEM, rows=64)
    says = ("rows of small system must be at least 128 for 7 rivals, which write another one each "
            "time, not 64")
    with pytest.raises(ValueError, match=f"^{re.escape(says)}$"):
        SharedDram(**ALONE, rivals=7, cap=1, part=few)
    assert SharedDram(**ALONE, rivals=7, cap=1, part=replace(few, rows=128))
    assert SharedDram(**ALONE, rivals=0, cap=1, part=replace(few, rows=2))
