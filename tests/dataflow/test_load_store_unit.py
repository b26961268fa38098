# amaranth: UnusedElaboratable=no
"""Load/store unit: parameters, model and bounds."""

import random

import pytest

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dataflow import bounds
from cyclebound.golden.dataflow.load_store_unit import LoadStoreModel
from cyclebound.golden.dataflow.residence import DEPTH, MEMORY, residence, witness
from cyclebound.hdl.dataflow.load_store_unit import LoadStoreUnit
from cyclebound.tools.dataflow.residence_search import search

pytestmark = pytest.mark.unit
LONGEST = 52  # cycles that docs/dataflow.md speaks of
GOOD = {"depth": 2, "tid_width": 4, "address_width": 6, "width": 16}


@pytest.mark.parametrize(("bad", "kind", "message"), [
    ({"depth": 32}, ValueError, r"^depth must be from 2 to 16, not 32$"),
    ({"address_width": 17}, ValueError, r"^address width must be from 1 to 16, not 17$"),
    ({"width": 0}, ValueError, r"^width must be at least 1, not 0$"),
    ({"epochs": 1}, TypeError, r"^epochs must be a bool, not 1$"),
])
def test_refuses(bad, kind, message):
    with pytest.raises(kind, match=message):
        LoadStoreUnit(**GOOD | bad)


def test_no_younger_thread_fires_first():
    """After a request that had to wait, thread 5 is next in turn; its entry is still thread 1's."""
    model = LoadStoreModel(depth=4, store=False, gated=False, base=0, size=9)
    memory, tokens, due, shown = 20, [1, 0, 2, 3, 5, 4, 6, 7], {}, {}
    for cycle in range(99):
        ready = not 3 <= cycle < 10
        found = model.step([(tokens[0], 0) if tokens else None, None, None], result_ready=True,
                           enable_ready=True, request_ready=ready, response=due.pop(cycle, None))
        tokens = tokens[found.taken[0]:]
        if found.request is not None and ready:
            due[cycle + memory - 1] = found.request.tag, 0
        if found.result is not None:
            shown.setdefault(found.result[0], cycle)
    # the last token of this epoch came in cycle 3, and a request waited for 7 cycles
    assert max(shown[tid] for tid in range(4)) - 3 + 1 <= 7 + bounds.access_epoch(
        depth=4, operands=1, memory=memory)


@pytest.mark.parametrize(("depth", "memory"), [(2, 5), (2, 20), (4, 5), (4, 20), (8, 12)])
def test_residence_behind_older_epochs(depth, memory):
    """Exact for two entries: the last of each epoch is late. Random memories keep to it as well."""
    rng, worst = random.Random(depth * memory), 0
    for tries in range(20):
        late = [tid % depth == depth - 1 if tries == 0 else rng.random() < 0.5
                for tid in range(5 * depth)]
        model = LoadStoreModel(depth=depth, store=False, gated=False, base=0, size=9)
        tokens, due, last, shown = list(range(5 * depth)), {}, {}, {}
        for cycle in range(40 * depth * memory):
            offer = bool(tokens) and (tries < 2 or rng.random() < 0.8)
            found = model.step([(tokens[0], 0) if offer else None, None, None], result_ready=True,
                               enable_ready=True, request_ready=True, response=due.pop(cycle, None))
            if found.taken[0]:
                last[tokens.pop(0) // depth] = cycle
            if found.request is not None:
                slow = late.pop(0)
                answer = cycle + (memory if slow else 2) - 1
                while answer in due and slow:  # a late one is not made later
                    due[answer + 1], answer = due.pop(answer), answer
                while answer in due:
                    answer += 1
                due[answer] = found.request.tag, 0
            if found.result is not None:
                shown[found.result[0] // depth] = cycle
        assert sorted(shown) == list(range(5))
        worst = max(worst, *(shown[epoch] - last[epoch] + 1 for epoch in shown))
    allowed = bounds.access_residence(depth=depth, memory=memory)
    assert worst == allowed if depth == 2 else worst <= allowed


def test_bounds():
    assert bounds.access_latency(memory=0) == 5
    assert bounds.access_stream(threads=1, depth=2, memory=7) == bounds.access_latency(memory=7)
    # with enough entries, one thread per cycle
    assert (bounds.access_stream(threads=1600, depth=16, memory=14)
            == 1599 + bounds.access_latency(memory=14))
    assert (bounds.access_stream(threads=1600, depth=16, memory=15)
            > 1599 + bounds.access_latency(memory=15))
    with pytest.raises(NotCovered, match=r"^memory must be a whole number of at least 0, not -1$"):
        bounds.access_latency(memory=-1)


def test_the_epoch_that_a_search_found():
    threads = witness()
    longest, took = residence(threads, depth=DEPTH)
    assert took == [cycles for _, cycles in threads]
    assert max(took) == MEMORY
    assert LONGEST == longest <= bounds.access_residence(depth=DEPTH, memory=MEMORY)


def test_a_search_finds_what_stays_long():
    """With two entries, the bound is reached."""
    found, threads = search(400, seed=1, depth=2, memory=5)
    assert residence(threads, depth=2)[0] == found == bounds.access_residence(depth=2, memory=5)
