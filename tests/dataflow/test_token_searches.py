"""The searches for slow epochs, turns and threads find what a bound has forgotten: on models, whose
every cycle the searching testbenches compare with the RTL."""

import asyncio
import random
from collections import deque
from types import SimpleNamespace

import pytest

from cyclebound.golden.dataflow import bounds, special_timing
from cyclebound.golden.dataflow.graph import Special
from cyclebound.golden.dataflow.load_store_unit import LoadStoreModel
from cyclebound.golden.dataflow.special_bounds import special_epoch
from cyclebound.golden.dataflow.special_unit import SpecialUnitModel
from cyclebound.golden.dataflow.token_buffer import TokenBufferModel
from cyclebound.tools.dataflow.token_plan import TokenPlan, TokenStreams, search
from cyclebound.tools.hill_climb import climb, climbed

pytestmark = pytest.mark.unit
LONG = 0x40490FDB  # a number whose root, and whose quotient by itself, takes longest


def test_a_climb_leaves_a_hill_that_leads_nowhere():
    """Between a broad hill and a narrow, higher one; some candidates are no valid ones."""
    rng, tried = random.Random(1), []

    def height(place):
        tried.append(place)
        return None if place % 7 == 3 else max(50 - abs(place - 100), 80 - 4 * abs(place - 700))

    found = climbed(climb(lambda: rng.randrange(1000),
                          lambda place: place + rng.choice((-9, -1, 1)),
                          tries=2000, patience=30), height)
    assert (found.value, found.candidate) == (80, 700)
    assert found.tries == len(tried) == 2000


def test_a_climb_without_a_valid_candidate():
    found = climbed(climb(lambda: 1, lambda one: one, tries=5, patience=2), lambda one: None)
    assert (found.value, found.candidate, found.tries) == (None, None, 5)


def residence(plan: TokenPlan, *, depth, step):
    """Cycles from the last token of the first epoch to its last result; ``step`` is a model's."""
    tokens, shown, cycle = TokenStreams(plan), 0, 0
    while shown < depth:
        offers = tokens.offers()
        taken, result = step(offers, cycle)
        for k in range(len(offers)):
            if taken[k]:
                tokens.take(k, cycle)
        shown += result is not None and result < depth
        cycle += 1
    return cycle - max(tokens.taken[tid] for tid in range(depth))


def special(plan, *, function, depth, blocks):
    model = SpecialUnitModel(function=function, depth=depth, blocks=blocks)

    def step(offers, cycle):
        found = model.step([*(None if tid is None else (tid, plan.times[tid]) for tid in offers),
                            None][:2], True)
        return found.taken, found.result and found.result[0]

    return residence(plan, depth=depth, step=step)


def test_the_search_of_special_units_finds_younger_threads_and_orders():
    """A bound for an epoch alone, or for operands in one order, is exceeded; the right one not."""
    for function, streams, depth, blocks, forgotten in (
            (Special.FSQRT, 1, 8, 8, {"younger": 0, "operands": 1}),
            (Special.FDIV, 2, 4, 2, {"younger": 8, "operands": 1})):
        rng = random.Random(3)
        found = climbed(
            search(rng, tries=200, streams=streams, depth=depth, epochs=3, together=False,
                   time=lambda rng=rng: rng.choice((0, LONG, LONG)), longest_pause=40),
            lambda plan, args=(function, depth, blocks): special(
                plan, function=args[0], depth=args[1], blocks=args[2]))
        right = {"younger": 2 * depth, "operands": streams}
        less, allowed = (special_epoch(depth=depth, blocks=blocks, **kind,
                                       block=special_timing.longest(function))
                         for kind in (forgotten, right))
        assert less < found.value <= allowed


def load_store(plan, *, depth, store):
    model, due = LoadStoreModel(depth=depth, store=store, gated=False, base=0, size=999), {}

    def step(offers, cycle):
        tokens = [None if tid is None else (tid, tid) for tid in offers]
        tag = due.pop(cycle, None)
        found = model.step([*tokens, None, None][:3], result_ready=True, enable_ready=True,
                           request_ready=True, response=None if tag is None else (tag, 0))
        if found.request is not None:
            when = cycle + plan.times[found.request.address] - 1
            while when in due:
                when -= 1
            due[max(when, cycle + 1)] = found.request.tag
        return found.taken, found.result and found.result[0]

    return residence(plan, depth=depth, step=step)


def test_the_search_of_load_store_units_finds_operands_that_do_not_keep_step():
    depth, memory, rng = 8, 30, random.Random(5)
    found = climbed(
        search(rng, tries=150, streams=2, depth=depth, epochs=1, together=False,
               time=lambda: rng.choice((30, 30, 30, 12)), longest_pause=40),
        lambda plan: load_store(plan, depth=depth, store=True))
    assert bounds.access_epoch(depth=depth, operands=1, memory=memory) < found.value
    assert found.value <= bounds.access_epoch(depth=depth, operands=2, memory=memory)


class Unfair(TokenBufferModel):
    """Serves the lowest entry that is complete."""

    def __init__(self, **kind):
        super().__init__(**kind)
        self._turn = SimpleNamespace(step=lambda requests, accept: requests & -requests)


@pytest.mark.parametrize("model", [TokenBufferModel, Unfair])
def test_the_search_of_token_buffers_finds_an_unfair_turn(monkeypatch, model):
    from cyclebound.tb.dataflow import token_buffer_search as searched
    monkeypatch.setattr(searched, "TokenBufferModel", model)
    depth, rng = 4, random.Random(7)
    found = climbed(
        search(rng, tries=150, streams=1, depth=depth, epochs=6, window=24, together=False,
               time=lambda: rng.choice((0, 0, 1, 5)), longest_pause=8),
        lambda plan: max(searched.firings(searched.renumbered(plan, depth), depth=depth, needed=1,
                                          operands=1).values(), default=0))
    allowed = bounds.token_turn(depth=depth)
    assert found.value > allowed if model is Unfair else found.value == allowed


class Disturbed(TokenBufferModel):
    """Keeps a complete thread waiting for a cycle while two others wait incompletely."""

    waited = False

    def complete(self):
        found = super().complete()
        waiting = {tid for held in self.waiting for tid in held} - found
        self.waited = bool(found) and len(waiting) > 1 and not self.waited
        return set() if self.waited else found


@pytest.mark.parametrize("model", [TokenBufferModel, Disturbed])
def test_the_adversary_of_threads_alone_has_others_wait(model):
    from cyclebound.tb.dataflow.completion_adversary import complete_one_by_one
    buffer, queues = model(operands=3, depth=4, needed=0b111), [deque() for _ in range(3)]
    declared, begun, took, now = False, deque(), [], 0

    def declare(what, last):
        nonlocal declared
        declared = True

    def undeclare(what):
        nonlocal declared
        declared = False

    async def cycle():
        nonlocal now
        if declared:
            begun.append(now)
        found = buffer.step([queue[0] if queue else None for queue in queues], True)
        for queue, taken in zip(queues, found.taken, strict=True):
            assert taken == bool(queue)  # what is offered is taken
            queue.clear()
        if found.offered is not None:
            took.append(now - begun.popleft() + 1)
        now += 1

    bench = SimpleNamespace(rng=random.Random(9), declare=declare, undeclare=undeclare)
    asyncio.run(complete_one_by_one(bench, "match", buffer, operands=[0, 1, 2], depth=4,
                                    threads=24, load=0.7, queues=queues, cycle=cycle))
    assert len(took) == 24 or model is Disturbed
    assert {*took} == {3} if model is TokenBufferModel else max(took) > 3
