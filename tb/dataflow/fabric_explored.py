"""The small kernels of which every run is explored, with a memory that misses at random."""

import numpy as np

from cyclebound.golden.dataflow.run import Layout
from cyclebound.tb.bench import Bench, testbench
from cyclebound.tb.dataflow.fabric import measure
from cyclebound.tb.dataflow.fabric_environment import (
    EXPLORED,
    buffers_of,
    mapped_copy,
    mapped_sum,
)

_RUNS = 12
_RATES = (0.5, 1.0)  # of misses


@testbench
async def explored_kernels(bench: Bench) -> None:
    """Each access takes two cycles, or as many as it may; or all of them take as many."""
    rows = tuple(bench.parameters["rows"])
    name = "sum" if any("C" in row for row in rows) else "copy"
    mapped = {"copy": mapped_copy, "sum": mapped_sum}[name](rows)
    for threads, longest in EXPLORED[name]:
        layout = Layout(buffers_of(threads))
        for number in range(_RUNS):
            words = [bench.rng.getrandbits(32) for _ in range(layout.size)]
            before = layout.arrays(words)
            await measure(bench, mapped, words, layout, threads, compare=True, miss=longest,
                          miss_rate=_RATES[number % len(_RATES)])
            after = layout.arrays(words)
            wanted = before["x"] + (before["y"] if name == "sum" else np.uint32(0))
            assert after["z"].tolist() == wanted.tolist(), f"{name}: {threads} threads"
