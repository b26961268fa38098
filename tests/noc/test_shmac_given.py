"""SHMAC's latencies: RTL and bounds have them from different places, so that a verdict can fail.

Here two tiles of RTL run the kernels of the thesis, and only their ports are looked at: no model.
In the regression the golden model, which has the bounds' numbers, is compared in every cycle, too.
"""

from functools import cache
from itertools import pairwise

import pytest
from amaranth.sim import Simulator

from cyclebound.golden.noc import shmac_bounds
from cyclebound.golden.noc.shmac_kernel import Operation
from cyclebound.sim.catalogue import load
from cyclebound.sim.judge import verdict
from cyclebound.sim.judge.verdict import judge_bound
from cyclebound.sim.run.job import Group

pytestmark = pytest.mark.unit

CONFIGURATION = {"noc.handshake_mesh": "thesis", "noc.pipelined_mesh": "grid"}
GIVEN = {"to_memory_cycles": 1, "memory_cycles": 3, "to_core_cycles": 2}
BUDGET = {"IN_CYCLES": 5, "OUT_CYCLES": 5, "RELEASE_CYCLES": 1, "TO_MEMORY_CYCLES": 1,
          "MEMORY_CYCLES": 3, "TO_CORE_CYCLES": 2}
READ, WRITE = Operation.READ, Operation.WRITE
LIVES = {READ: "read", WRITE: "write"}
# constants of the formulas, and what has no part in them
UNCONCERNED = {"RELEASE_CYCLES": {"read", "write"}, "MEMORY_CYCLES": {"write"},
               "TO_CORE_CYCLES": {"write"}}


KERNELS = {  # by (bypass, operation): cycles in which core 0 begins one instruction after another
    (0, Operation.NONE): 60, (0, READ): 160, (0, WRITE): 90,
    (1, Operation.NONE): 20, (1, READ): 120, (1, WRITE): 40}
DRAIN = 90  # cycles, after which nothing is under way


def seen(dut):
    """By kernel and port, the cycles in which core 0 begins a request, or ends a fetch or an
    operation, and in which a packet arrives at RAM 1, its target."""
    ports = {"requests": dut.requests[0], "fetched": dut.fetched[0], "operated": dut.operated[0],
             "arrives": dut.arrives[1]}
    found = {kind: {name: [] for name in ports} for kind in KERNELS}

    async def bench(ctx):
        kernel, now, before = dut.kernels[0], 0, 0
        ctx.set(kernel.fetch, 1)
        ctx.set(kernel.target.column, 1)
        for kind, cycles in KERNELS.items():
            ctx.set(kernel.bypass, kind[0])
            ctx.set(kernel.operation, kind[1])
            for left in reversed(range(cycles + DRAIN)):
                ctx.set(kernel.enable, left >= DRAIN)
                _, _, *values = await ctx.tick().sample(*ports.values())
                for name, value in zip(ports, values, strict=True):
                    if value and not (name == "requests" and before):
                        found[kind][name].append(now)
                before, now = values[0], now + 1

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return found


@cache
def measured(name, **given):
    """What the RTL takes: requests in groups, as a job observes them."""
    block = load().find(name)
    parameters = {**block.configurations[CONFIGURATION[name]].parameters, "rows": 1, "columns": 2,
                  "words": 2, **given}
    found = []
    for (bypass, operation), at in seen(block.component(**parameters)).items():
        ends = at["operated" if operation else "fetched"]
        found += [("instruction", {"bypass": bypass, "operation": int(operation),
                                   "links": 1 if operation else 0}, one + 1, other)
                  for one, other in pairwise(ends)]
        if bypass:
            continue
        begun, last = at["requests"], {READ: at["operated"], WRITE: at["arrives"]}
        if operation:  # every second request: the others are fetches
            found += [(LIVES[operation], {"links": 1}, *life)
                      for life in zip(begun[1::2], last[operation], strict=True)]
        else:
            found += [("read", {"links": 0}, *life)
                      for life in zip(begun, at["fetched"], strict=True)]
    job = f"{name}/{CONFIGURATION[name]}/cycle/1"
    return [(job, Group(what, kind, last - first + 1, 1, first, last, "pysim"))
            for what, kind, first, last in found]


def verdicts(name, **given):
    """Of the lifetimes, and of the instructions."""
    block, groups = load().find(name), measured(name, **given)
    configuration = block.configurations[CONFIGURATION[name]]
    entries = {binding.what.removesuffix("_given"): binding for binding in block.bounds}
    return {what: judge_bound(block, CONFIGURATION[name], configuration, entries[what],
                              [group for group in groups if group[1].what == what], ())
            for what in (*LIVES.values(), "instruction")}


def as_said(found):
    """Of which requests every one takes what the formula says."""
    return {what for what, row in found.items() if row.verdict in ("exact", "right")}


@pytest.mark.parametrize("name", CONFIGURATION)
def test_as_configured_the_formulas_are_right(name):
    assert as_said(verdicts(name)) == {"read", "write", "instruction"}


def test_what_the_rtl_takes():
    """Of Tables 4.3 and 4.4, what the thesis prints for its simulator; its FPGA has 29, 78, 40."""
    def taken(*kinds, name="noc.handshake_mesh"):
        return {(group.what, *group.parameters.values()): group.latency
                for _, group in measured(name) if group.what in kinds}

    assert taken("read", "write") == {("read", 0): 27, ("read", 1): 47, ("write", 1): 22}
    assert {kind[1:]: latency for kind, latency in taken("instruction").items()} == {
        (0, 0, 0): 28, (0, 1, 1): 75, (0, 2, 1): 38, (1, 0, 0): 8, (1, 1, 1): 55, (1, 2, 1): 14}
    assert taken("read", "write", name="noc.pipelined_mesh") == {
        ("read", 0): 13, ("read", 1): 19, ("write", 1): 8}


@pytest.mark.parametrize(("name", "given"), [
    *(("noc.handshake_mesh", given) for given in GIVEN), ("noc.pipelined_mesh", "to_core_cycles")])
def test_the_rtls_constant_alone_is_a_violation(name, given):
    """The configuration says one cycle more, and no formula follows it; a write has no part in the
    cycles after its path to the memory."""
    found = verdicts(name, **{given: GIVEN[given] + 1})
    right = {"write"} if given != "to_memory_cycles" else set()
    assert as_said(found) == right
    assert all(row.worst > row.allowed for what, row in found.items() if what not in right)


def test_less_is_not_right_either():
    """But of a write's life, which the constant has no part in."""
    assert as_said(verdicts("noc.handshake_mesh", to_core_cycles=1)) == {"write"}


@pytest.mark.parametrize(("to_memory", "memory", "to_core"), [(2, 2, 1), (1, 5, 7)])
def test_the_rtl_takes_what_it_is_given(to_memory, memory, to_core):
    """The least that a memory can be given, and more than the thesis does."""
    found = measured("noc.handshake_mesh", to_memory_cycles=to_memory, memory_cycles=memory,
                     to_core_cycles=to_core)
    lives = {(group.what, *group.parameters.values()): group.latency
             for _, group in found if group.what in LIVES.values()}
    own = 1 + to_memory + memory + to_core
    assert lives == {("read", 0): 20 + own, ("read", 1): 40 + own, ("write", 1): 21 + to_memory}
    assert {group.latency for _, group in found if group.parameters == {
        "bypass": 1, "operation": 0, "links": 0}} == {1 + own}


@pytest.mark.parametrize(("constant", "more"), [(name, more) for name in BUDGET
                                                for more in (1, -1)])
def test_the_formulas_constant_alone_is_not_right(monkeypatch, constant, more):
    """Neither a larger one nor a smaller one; the RTL stays as it is."""
    assert getattr(shmac_bounds, constant) == BUDGET[constant]
    monkeypatch.setattr(verdict, "_SAID", {})  # what bounds said, with the formula's own constant
    monkeypatch.setattr(shmac_bounds, constant, BUDGET[constant] + more)
    found = verdicts("noc.handshake_mesh")
    assert as_said(found) == UNCONCERNED.get(constant, set())
    assert any(row.worst > row.allowed for row in found.values()) == (more < 0)


@pytest.mark.parametrize("name", CONFIGURATION)
def test_catalogue_gives_the_thesis_numbers(name):
    for configuration in load().find(name).configurations.values():
        assert GIVEN.items() <= configuration.parameters.items()
