"""An epoch that stays long in a load/store unit: what comes nearest to `bounds.access_residence`.

``residence_witness.csv`` beside this file has a line for each thread, in the order in which its
only token comes: its number, and the cycles of its access. ``python -m
cyclebound.tools.dataflow.residence_search`` found it.
"""

from collections.abc import Sequence
from itertools import chain, count
from pathlib import Path

from cyclebound.golden.csv_rows import read_rows
from cyclebound.golden.dataflow.load_store_unit import LoadStoreModel

__all__ = ["DEPTH", "FILE", "MEMORY", "residence", "witness"]

FILE = Path(__file__).with_name("residence_witness.csv")
DEPTH, MEMORY = 16, 20  # entries, and cycles of the slowest access


def witness() -> list[tuple[int, int]]:
    """Threads, and the cycles of their accesses, from request to response, both included."""
    return [(row["thread"], row["cycles"])
            for row in read_rows(FILE, {"thread": int, "cycles": int})]


def residence(threads: Sequence[tuple[int, int]], *, depth: int) -> tuple[int, list[int]]:
    """Threads through a load, a token offered in each cycle, each access in as many cycles.

    Of accesses that would be answered in one cycle, as which the unit takes but one, the later ones
    are answered earlier, or if they cannot be, later. Returns the longest residence of an epoch
    (from its last token to its last result, both included) and the cycles that accesses took, in
    the order of ``threads``.
    """
    unit = LoadStoreModel(depth=depth, store=False, gated=False, base=0, size=len(threads))
    waiting, cycles = [tid for tid, _ in threads], dict(threads)
    due: dict[int, int] = {}  # by cycle: the tag that is answered
    taken: dict[int, int] = {}
    shown: dict[int, int] = {}
    now, before = 0, None
    while len(shown) < len(threads):
        offer = (waiting[0], waiting[0]) if waiting else None
        tag = due.get(now)
        outputs = unit.step([offer, None, None], result_ready=True, enable_ready=True,
                            request_ready=True, response=None if tag is None else (tag, 0))
        if offer is not None and outputs.taken[0]:
            taken[waiting.pop(0)] = now
        if outputs.result is not None and outputs.result is not before:
            shown[outputs.result[0]] = now
        before = outputs.result
        if outputs.request is not None:
            tid = outputs.request.address
            wanted = now + cycles[tid] - 1
            when = next(cycle for cycle in chain(range(wanted, now, -1), count(wanted + 1))
                        if cycle not in due)
            due[when], cycles[tid] = outputs.request.tag, when - now + 1
        now += 1
    epochs = [range(first, first + depth) for first in range(0, len(threads), depth)]
    return (max(max(shown[tid] for tid in epoch) - max(taken[tid] for tid in epoch) + 1
                for epoch in epochs), [cycles[tid] for tid, _ in threads])
