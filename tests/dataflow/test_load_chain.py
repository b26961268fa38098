# amaranth: UnusedElaboratable=no
"""Figure 4: two loads in a chain and an adder deadlock without epochs, and do not with them."""

import functools
import os

import pytest

from cyclebound.golden.dataflow import bounds
from cyclebound.golden.dataflow.load_chain import LoadChainModel
from cyclebound.hdl.dataflow.load_chain import LoadChain
from cyclebound.sim.build.elaborate import ProofTop, to_rtlil
from cyclebound.sim.netlist.yosys import yosys_command
from cyclebound.sim.proof.prove import run_tool, yosys_environment
from cyclebound.tb.dataflow import load_chain_properties as properties
from cyclebound.tb.dataflow.load_chain_properties import LoadChainTime
from kit.planted import refuted
from kit.puppet import Puppet, show

unit = pytest.mark.unit
LONG = 40


def play(simulate, late, *, epochs, checkers=(), cycles=130):
    """(cycle, thread, sum) of each sum, with the accesses in ``late`` (load, thread) late."""
    dut = LoadChain(depth=2, tid_width=3, threads=4, width=4, epochs=epochs)
    sums, due = [], ([], [])

    async def bench(ctx):
        for port in (dut.sums, *dut.enables):
            ctx.set(port.ready, 1)
        for cycle in range(cycles):
            for number, memory in enumerate(dut.memory):
                ctx.set(memory.request.ready, 1)
                ripe = min((response for response in due[number] if response[0] <= cycle),
                           default=None)
                ctx.set(memory.response.valid, ripe is not None)
                if ripe is not None:
                    due[number].remove(ripe)
                    ctx.set(memory.response.payload, {"tag": ripe[1], "data": ripe[2]})
            for number, memory in enumerate(dut.memory):
                if ctx.get(memory.request.valid):
                    thread = ctx.get(memory.request.payload.address)  # both memories: identity
                    wait = LONG if (number, thread) in late else 2
                    due[number].append((cycle + wait - 1, ctx.get(memory.request.payload.tag),
                                        thread))
            if ctx.get(dut.sums.valid):
                sums.append((cycle, ctx.get(dut.sums.payload.tid),
                             ctx.get(dut.sums.payload.data)))
            await ctx.tick()
    simulate(dut, bench, *(checker(dut) for checker in checkers))
    return sums


@unit
def test_refuses():
    with pytest.raises(ValueError, match=r"^thread count must be from 1 to 8, not 9$"):
        LoadChain(depth=2, tid_width=3, threads=9)
    with pytest.raises(ValueError, match=r"^width must be from 1 to 32, not 33$"):
        LoadChain(depth=2, tid_width=3, threads=4, width=33)


@unit
def test_figure_4_deadlocks_without_epochs(simulate):
    """Thread 0 waits in the first load, thread 1 in the second; 2 and 3 overtake them."""
    assert play(simulate, {(0, 0), (1, 1)}, epochs=False) == []


@unit
def test_figure_4_ends_with_epochs(simulate):
    sums = play(simulate, {(0, 0), (1, 1)}, epochs=True,
                checkers=[functools.partial(LoadChainTime, memory=LONG)])
    model = LoadChainModel(({i: i for i in range(4)},) * 2, constant=5, width=4)
    assert [(tid, value) for _, tid, value in sums] == [(t, model.sum_of(t)) for t in range(4)]
    assert sums[-1][0] + 1 <= bounds.chain_completion(threads=4, depth=2, memory=LONG)


@unit
def test_without_epochs_it_ends_as_long_as_no_thread_is_overtaken(simulate):
    assert sorted(tid for _, tid, _ in play(simulate, set(), epochs=False)) == [0, 1, 2, 3]


@unit
def test_checker_fires_on_the_deadlock(simulate):
    within = bounds.chain_completion(threads=4, depth=2, memory=LONG)
    with pytest.raises(AssertionError,
                       match=f"^Assertion violated: not all done in {within} cycles$"):
        play(simulate, {(0, 0), (1, 1)}, epochs=False, cycles=within + 3,
             checkers=[functools.partial(LoadChainTime, memory=LONG)])


def taken(port, **payload):
    return {f"{port}.valid": 1, f"{port}.ready": 1, f"{port}.payload": payload}


@unit
@pytest.mark.parametrize(("cycles", "says"), [
    ([taken("sums", tid=1, data=0)] * 2, "a thread leaves twice"),
    ([taken("sums", tid=4, data=0)], "a thread leaves that was not started"),
    ([{"sums.valid": 1}, {}], "sum: offer withdrawn or changed"),
    ([{"memory.0.request.valid": 1}, {}], "request 0: offer withdrawn or changed"),
    ([taken("memory.1.request", tag=1)] * 2, "load 1 uses a tag twice"),
    ([{"faults.0.valid": 1}], "load 0 reports a fault")])
def test_checker_fires(only, cycles, says):
    only(says, properties)
    chain = LoadChain(depth=2, tid_width=3, threads=4, width=4)
    puppet = Puppet(chain, depth=2, threads=4)
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        show(puppet, properties.LoadChainCheck(puppet), *cycles)


@unit
def test_an_early_answer_makes_the_last_sum_later():
    """Found by the exhaustive run: chain_even is exact for even memory, and no bound."""
    even = bounds.chain_even(threads=4, depth=2, memory=13)
    assert even == 54
    assert bounds.chain_completion(threads=4, depth=2, memory=13) == 58


# Every order of answers: z3 takes hours for what SAT finds in minutes, so it is asked directly.

def _bounded(folder, *, memory, epochs):
    """What yosys' SAT solver says of all cycles of a run."""
    chain = LoadChain(depth=2, tid_width=2, threads=4, width=1, epochs=epochs)
    top = ProofTop(chain, LoadChainTime(chain, memory=memory))
    (folder / "chain.il").write_text(to_rtlil(top, name="top", ports=top.ports))
    steps = bounds.chain_completion(threads=4, depth=2, memory=memory) + 3
    script = ("read_rtlil chain.il; prep -flatten -top top; memory_map; async2sync; "
              "chformal -cover -remove; chformal -lower; opt -full; "
              f"sat -tempinduct-baseonly -prove-asserts -set-assumes -seq 1 -maxsteps {steps} top")
    status, said = run_tool([*yosys_command(), "-p", script], folder, yosys_environment(), 3000)
    assert status == 0, said[-2000:]
    return said


@pytest.mark.thorough
@pytest.mark.proof
def test_every_order_of_answers_ends(tmp_path):
    """Accesses of up to 2 cycles; with CYCLEBOUND_CHAIN_MEMORY=4, of up to 4 (minutes)."""
    memory = int(os.environ.get("CYCLEBOUND_CHAIN_MEMORY", "2"))
    assert "proved base case" in _bounded(tmp_path, memory=memory, epochs=True)


@pytest.mark.thorough
@pytest.mark.proof
@pytest.mark.parametrize(("old", "new", "says"), [
    ("threads.eq(self.threads)", "threads.eq(self.threads - 1)", "not all done in"),
    ("self.sums.payload.tid.eq(adder.fire.payload.tid)", "self.sums.payload.tid.eq(1)",
     "a thread leaves twice")])
def test_the_proof_finds_faults(old, new, says):
    assert says in refuted("dataflow.load_chain", "ends", (old, new))
