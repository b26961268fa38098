# amaranth: UnusedElaboratable=no
"""Token buffer: parameters, the checker against planted faults, epochs."""

import random
import re

import pytest
from amaranth.hdl import Signal

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dataflow import bounds
from cyclebound.golden.dataflow.token_buffer import Firing, TokenBufferModel
from cyclebound.hdl.dataflow.token_buffer import TokenBuffer
from cyclebound.tb.dataflow import token_buffer_properties as properties

unit = pytest.mark.unit
GOOD = {"operands": 2, "depth": 2, "tid_width": 4, "width": 8}


@unit
@pytest.mark.parametrize(("bad", "kind", "message"), [
    ({"operands": 0}, ValueError, r"^operand count must be from 1 to 4, not 0$"),
    ({"operands": "2"}, TypeError, r"^operand count must be an integer, not '2'$"),
    ({"depth": 1}, ValueError, r"^depth must be from 2 to 16, not 1$"),
    ({"depth": 6}, ValueError, r"^depth must be a power of two, not 6$"),
    ({"depth": True}, TypeError, r"^depth must be an integer, not True$"),
    ({"tid_width": 1}, ValueError, r"^tid width must be from 2 to 32, not 1$"),
    ({"width": 0}, ValueError, r"^width must be at least 1, not 0$"),
])
def test_refuses(bad, kind, message):
    with pytest.raises(kind, match=message):
        TokenBuffer(**GOOD | bad)


def traffic(dut, needed, cycles, see=None, seed=0):
    """Epochs of threads, each operand in an order of its own, with gaps and stalls."""
    rng = random.Random(f"{seed} {needed}")
    depth = dut.depth
    queues = [[] for _ in range(dut.count)]
    for epoch in range(cycles // depth):
        for queue in queues:
            queue += [((epoch * depth + t) % 2**dut.tid_width, rng.getrandbits(dut.width))
                      for t in rng.sample(range(depth), depth)]

    async def bench(ctx):
        held = [None] * dut.count
        ctx.set(dut.needed, needed)
        for _ in range(cycles):
            ready = rng.random() < 0.6
            ctx.set(dut.fire.ready, ready)
            for k, port in enumerate(dut.operands):
                if held[k] is None and needed >> k & 1 and rng.random() < 0.7:
                    held[k] = queues[k].pop(0)
                ctx.set(port.valid, held[k] is not None)
                if held[k] is not None:
                    ctx.set(port.payload, {"tid": held[k][0], "data": held[k][1]})
            taken = [bool(held[k]) and bool(ctx.get(port.ready))
                     for k, port in enumerate(dut.operands)]
            if see is not None:
                see(ctx, held, ready, taken)
            held = [None if taken[k] else held[k] for k in range(dut.count)]
            await ctx.tick()
    return bench


def _spoil(name):
    """One bit of an output, turned over."""
    def fault(m, inner, outer):
        port = {"tid": outer.fire.payload.tid, "value": outer.fire.payload["values"][1]}[name]
        source = {"tid": inner.fire.payload.tid, "value": inner.fire.payload["values"][1]}[name]
        m.d.comb += port.eq(source ^ 1)
    return fault


def _forgets(m, inner, outer):
    """Operand 0 looks as if it were taken."""
    m.d.comb += outer.operands[0].ready.eq(1)


def _silent(m, inner, outer):
    m.d.comb += outer.fire.valid.eq(0)


def _twice(m, inner, outer):
    """A firing is shown again, after it was taken."""
    again = Signal()
    m.d.sync += again.eq(outer.fire.valid & outer.fire.ready & ~again)
    m.d.comb += [outer.fire.valid.eq(inner.fire.valid | again),
                 inner.fire.ready.eq(outer.fire.ready & again)]


def _unneeded(m, inner, outer):
    """An operand that is not needed is taken."""
    m.d.comb += [outer.operands[1].ready.eq(1), inner.needed.eq(1)]


def _withdrawn(m, inner, outer):
    odd = Signal()
    m.d.sync += odd.eq(~odd)
    m.d.comb += [outer.fire.valid.eq(inner.fire.valid & odd),
                 inner.fire.ready.eq(outer.fire.ready & odd)]


FAULTS = [
    (_spoil("value"), 3, "operand 1: fires with another value"),
    (_spoil("tid"), 3, "operand 1: fires without its token"),
    (_twice, 3, "operand 0: fires without its token"),
    (_forgets, 3, "operand 0: a third token"),
    (_unneeded, 1, "operand 1: taken and not needed"),
    (_silent, 3, "idle while a thread is complete"),
    (_withdrawn, 3, "fire: offer withdrawn or changed"),
]


@unit
@pytest.mark.parametrize(("fault", "needed", "says"), FAULTS, ids=[f[-1] for f in FAULTS])
def test_checker_fires(simulate, only, tampered, fault, needed, says):
    only(says, properties)
    dut = tampered(TokenBuffer(**GOOD), fault)
    bench = traffic(dut, needed if needed == 3 else 3, 120, seed=says)
    if needed != 3:
        async def bench(ctx, inner=bench):
            ctx.set(dut.needed, 1)
            for port in dut.operands:
                ctx.set(port.valid, 1)
            for _ in range(5):
                await ctx.tick()
    with pytest.raises(AssertionError, match=f"^Assertion violated: {re.escape(says)}$"):
        simulate(dut, bench, properties.TokenBufferCheck(dut))


@unit
def test_checker_counts_firings(simulate, only):
    """A buffer that claims fewer entries than it has takes longer than they may."""
    says = "not fired within 3 firings"
    only(says, properties)
    dut = TokenBuffer(**GOOD | {"depth": 8, "tid_width": 6})
    check = properties.TokenBufferCheck(dut)
    check.depth = 2

    async def bench(ctx):
        ctx.set(dut.needed, 3)
        ctx.set(dut.operands[0].payload.tid, 3)
        await ctx.tick()  # thread 3 is followed; it comes after 0 (in the output), 1 and 2
        for tid in (0, 1, 2, 3, 4, 5, 6, 7, 8):
            for port in dut.operands:
                ctx.set(port.valid, 1)
                ctx.set(port.payload, {"tid": tid, "data": 0})
            await ctx.tick()
        ctx.set(dut.fire.ready, 1)
        for port in dut.operands:
            ctx.set(port.valid, 0)
        for _ in range(12):
            await ctx.tick()
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        simulate(dut, bench, check)


@unit
@pytest.mark.parametrize(("what", "says"), [
    ("needed", "needed changed"), ("operand", "operand 1: offer withdrawn or changed")])
def test_checker_names_the_neighbour_that_breaks_the_rules(simulate, what, says):
    dut = TokenBuffer(**GOOD)

    async def bench(ctx):
        ctx.set(dut.needed, 1)
        ctx.set(dut.operands[1].valid, 1)
        await ctx.tick()
        await ctx.tick()
        if what == "needed":
            ctx.set(dut.needed, 3)
        else:
            ctx.set(dut.operands[1].payload.data, 1)
        await ctx.tick()
        await ctx.tick()
    with pytest.raises(AssertionError, match=f"^Assumption violated: (offer|fixed): {says}$"):
        simulate(dut, bench, properties.TokenBufferCheck(dut))


@unit
def test_model_keeps_threads_apart():
    model = TokenBufferModel(operands=2, depth=2, needed=3)
    assert model.step([(0, 10), (2, 22)], True).taken == (True, True)
    assert model.step([(2, 11), (0, 33)], True).taken == (False, False)
    assert model.step([(1, 12), (1, 34)], True).taken == (True, True)
    assert model.step([None, None], True).offered is None
    assert model.step([None, None], True).offered == Firing(1, (12, 34))


@unit
def test_bounds():
    assert bounds.token_match(depth=16) == 3
    assert bounds.token_turn(depth=16) == 17
    with pytest.raises(NotCovered, match=r"^epochs must be False: "):
        bounds.token_turn(depth=16, epochs=True)
    assert bounds.token_stream(threads=1) == bounds.token_match(depth=2)
    assert bounds.compute_stream(threads=1, stages=9) == bounds.compute_result(stages=9) == 12
    assert bounds.pipeline_stream(threads=1, stages=9) == bounds.pipeline_latency(stages=9) == 10
    with pytest.raises(NotCovered, match=r"^depth must be a whole number of at least 2, not 1$"):
        bounds.token_turn(depth=1)


def after_a_stall(epochs):
    """Threads come in epochs of four: 1, 0, 2, 3, 5. While 0 is not taken, the last three wait."""
    model = TokenBufferModel(operands=1, depth=4, needed=1, epochs=epochs)
    order = []
    for tid, ready in ((1, True), (0, True), (2, True), (3, False), (5, False),
                       *[(None, True)] * 8):
        shown = model.step([None if tid is None else (tid, 0)], ready).offered
        order += [shown.tid] if shown is not None and ready else []
    return order


@unit
def test_round_robin_alone_lets_a_younger_epoch_pass():
    assert after_a_stall(False) == [1, 0, 5, 2, 3]
    assert after_a_stall(True) == [1, 0, 2, 3, 5]


@unit
@pytest.mark.parametrize("seed", [1])
def test_rtl_with_epochs_is_the_model_in_every_cycle(simulate, seed):
    dut = TokenBuffer(operands=2, depth=4, tid_width=5, width=8, epochs=True)
    model = TokenBufferModel(operands=2, depth=4, needed=3, epochs=True)
    rng, fired = random.Random(seed), []
    # the operands' epochs follow each other, each in an order of its own
    queues = [[tid for epoch in range(6) for tid in rng.sample(range(4 * epoch, 4 * epoch + 4), 4)]
              for _ in range(2)]

    async def bench(ctx):
        ctx.set(dut.needed, 3)
        held = [None, None]
        while len(fired) < 24:
            ready = rng.random() < 0.5
            ctx.set(dut.fire.ready, ready)
            for k, port in enumerate(dut.operands):
                if held[k] is None and queues[k] and rng.random() < 0.8:
                    held[k] = queues[k].pop(0), rng.getrandbits(8)
                ctx.set(port.valid, held[k] is not None)
                if held[k] is not None:
                    ctx.set(port.payload, {"tid": held[k][0], "data": held[k][1]})
            taken = tuple(held[k] is not None and bool(ctx.get(port.ready))
                          for k, port in enumerate(dut.operands))
            found = model.step(held, ready)
            assert taken == found.taken
            assert ctx.get(dut.fire.valid) == (found.offered is not None)
            if found.offered is not None:
                assert ctx.get(dut.fire.payload.tid) == found.offered.tid
                fired.extend([found.offered.tid] * ready)
            held = [None if taken[k] else held[k] for k in range(2)]
            await ctx.tick()
    simulate(dut, bench)
    assert [tid // 4 for tid in fired] == [epoch for epoch in range(6) for _ in range(4)]


@unit
def test_epochs_are_yes_or_no():
    with pytest.raises(TypeError, match=r"^epochs must be a bool, not 1$"):
        TokenBuffer(**GOOD, epochs=1)
