"""Bounds on programs' times against the time that programs take: generated ones, whose worst case
is known, written ones, under an adversary that looks for their worst input, and planted faults."""

import random
import re
import statistics

import pytest

from cyclebound.golden.shmac.machine import Machine
from cyclebound.golden.shmac.memory import SharedMemory
from cyclebound.golden.shmac.memory_waits import MemoryWaits
from cyclebound.tools.shmac import known_wcet, random_programs
from cyclebound.tools.shmac.known_wcet import INPUTS, START, known_program, random_memory
from cyclebound.tools.shmac.random_programs import random_program
from cyclebound.tools.shmac.wcet import analysis, costs, loop_bounds
from cyclebound.tools.shmac.wcet.analysis import wcet
from cyclebound.tools.shmac.wcet.code import Code, WcetError, assembled
from cyclebound.tools.shmac.wcet.costs import Cost
from cyclebound.tools.shmac.wcet.graph import RouteGraph
from cyclebound.tools.shmac.wcet_programs import PROGRAMS
from kit.shmac_wcet import AT_ENTRY, follow, follow_machine, measured

pytestmark = pytest.mark.unit
QUICK, THOROUGH = range(30), range(1000, 2200)


def ratio(seed, kinds=known_wcet.ALL, *, others=1):
    """Bound over known worst time of a generated program; asserts that all of it is as it is said.

    Its worst input takes exactly its known time on the core, ``others`` no longer, and each goes
    along routes of the graph with addresses and rounds that the analysis allows.
    """
    rng = random.Random(seed)
    memory = random_memory(rng)
    program = known_program(rng, memory, kinds=kinds)
    code = assembled(program.text, origin=START)
    assert measured(code, memory, program.inputs) == program.cycles
    found = wcet(code, START, memory, registers=AT_ENTRY)
    assert min(found.cycles, found.by_paths) >= program.cycles
    follow(code, program.inputs)
    for _ in range(others):
        inputs = {at: rng.choice(values) for at, values in program.choices.items()}
        follow(code, inputs)
        assert measured(code, memory, inputs) <= program.cycles
    return found.cycles / program.cycles


@pytest.mark.parametrize("seed", QUICK[:12])
def test_programs_of_exact_parts_are_bounded_exactly(seed):
    assert ratio(seed, known_wcet.EXACT) == 1


@pytest.mark.parametrize("first", QUICK[::10])
def test_generated_programs(first):
    ratios = [ratio(seed) for seed in range(first, first + 10)]
    assert min(ratios) == 1 < max(ratios)  # some have what the analysis cannot see


@pytest.mark.thorough
def test_a_thousand_generated_programs():
    ratios = sorted(ratio(seed) for seed in THOROUGH)
    tenths = ratios[::len(ratios) // 10]
    print(len(ratios), "programs;", sum(found == 1 for found in ratios), "exact; tenths",
          " ".join(f"{found:.3f}" for found in tenths), f"most {ratios[-1]:.3f}")
    assert statistics.median(ratios) <= 1.05
    assert all(ratio(seed, known_wcet.EXACT) == 1 for seed in THOROUGH[:200])


def taken(seed):
    """Whether the analysis takes a random program, which then runs as it says."""
    program = random_program(random.Random(seed), units=40, odd=seed % 2 == 1)
    words = {4 * place: word for place, word in enumerate(program.words)}
    try:
        graph = RouteGraph(Code(words), random_programs.START, [program.end])
        follow_machine(graph, {}, Machine(pc=random_programs.START), SharedMemory(words), 100_000,
                       program.end)
    except WcetError as error:
        said = str(error)
    else:
        return True
    assert re.search("delay slot of a call|is not known|entered at one", said)
    return False


def test_random_programs_go_along_the_graph():
    assert sum(map(taken, range(30))) > 15


@pytest.mark.thorough
def test_many_random_programs_go_along_the_graph():
    assert sum(map(taken, range(100, 1600))) > 1000


MEMORY = MemoryWaits([
    known_wcet.Region("code", known_wcet.RETURN, known_wcet.CODE_END, fetch=3),
    known_wcet.Region("data", INPUTS, known_wcet.RETURN, read=5, write=2, load_linked=6,
                      store_conditional=7)])


def drawn(rng, program):
    return [rng.choice(program.values) if program.values else
            rng.choice((rng.getrandbits(32), rng.getrandbits(8), 0, 0xFFFF_FFFF))
            for _ in range(program.words)]


def attack(program, code, rng, tries):
    """The longest time of a written program that is found: its worst input, and changes of it and
    of others that are kept where they take longer."""
    def cycles_of(words):
        return measured(code, MEMORY, {
            INPUTS + 4 * place: word for place, word in enumerate(words)})

    best = list(program.worst) or drawn(rng, program)
    most = cycles_of(best)
    for turn in range(tries):
        tried = drawn(rng, program)
        if turn % 4:  # else something else altogether
            tried = [new if rng.random() < 2 / (1 + len(best)) else old
                     for new, old in zip(tried, best, strict=True)]
        cycles = cycles_of(tried)
        if cycles >= most:
            best, most = tried, cycles
    follow(code, {INPUTS + 4 * place: word for place, word in enumerate(best)})
    return most


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_written_programs(program):
    """The worst input that is known takes as long as the bound says, or no longer."""
    code = assembled(program.text, origin=START)
    bound = wcet(code, START, MEMORY, registers=AT_ENTRY)
    most = attack(program, code, random.Random(program.name), 3)
    assert most == bound.cycles if program.exact else most < bound.cycles


@pytest.mark.thorough
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_an_adversary_over_inputs(program):
    code = assembled(program.text, origin=START)
    bound = wcet(code, START, MEMORY, registers=AT_ENTRY)
    most = attack(program, code, random.Random(program.name), 600)
    print(program.name, most, bound.cycles, f"{most / bound.cycles:.3f}")
    assert most <= bound.cycles
    assert most >= 0.7 * bound.cycles


# Faults of the analysis. Each makes a bound too small, or a route, round or address impossible.

def after_stores(graph, costs_):
    """The fetch after a store waits for nothing."""
    return {edge: cost._replace(fetch=0) if (graph.program.words[edge[0].pc] >> 29) == 5 else cost
            for edge, cost in costs_.items()}


def of_slots(graph, costs_):
    """An instruction in a delay slot costs nothing."""
    slots = {node for node, after in graph.after.items()
             if any(follower is None or follower.following != follower.pc + 4
                    for follower in after)}
    slots = {follower for node in slots for follower in graph.after[node]}
    return {edge: Cost() if edge[0] in slots else cost for edge, cost in costs_.items()}


def of_loads(graph, costs_):
    """A load waits for one cycle."""
    return {edge: cost._replace(data=min(cost.data, 1)) for edge, cost in costs_.items()}


def changed_costs(change):
    def plant(monkeypatch):
        monkeypatch.setattr(analysis, "edge_costs", lambda graph, found, memory: change(
            graph, costs.edge_costs(graph, found, memory)))
    return plant


def one_round_less(monkeypatch):
    def less(*arguments):
        found = real(*arguments)
        return found and (max(found[0] - 1, 0), max(found[1] - 1, 0))
    real = loop_bounds.stays
    monkeypatch.setattr(loop_bounds, "stays", less)


def stated_once_less(monkeypatch):
    def bound(*arguments):
        found = real(*arguments)
        if (found.stated or 0) > 1:
            found.stated -= 1
        return found
    real = loop_bounds._Pass._bound
    monkeypatch.setattr(loop_bounds._Pass, "_bound", bound)


def nearest_region(monkeypatch):
    monkeypatch.setattr(costs.MemoryWaits, "most", lambda self, kind, low=0, high=0: min(
        region.cost(kind) for region in self.regions if region.cost(kind) is not None))


def branches_are_taken(monkeypatch):
    def step(self, node, known):
        return real(self, node, known)[:1]
    real = RouteGraph._step
    monkeypatch.setattr(RouteGraph, "_step", step)


def nothing_is_counted(monkeypatch):
    monkeypatch.setattr(loop_bounds, "_counted", lambda first, step, least, most: first)


def first_class(monkeypatch):
    monkeypatch.setattr(costs, "class_of", lambda name: {"multiply": "plain"}.get(
        costs_class(name), costs_class(name)))


costs_class = costs.class_of


@pytest.mark.parametrize("plant", [
    changed_costs(after_stores), changed_costs(of_slots), changed_costs(of_loads),
    one_round_less, stated_once_less, nearest_region, branches_are_taken, nothing_is_counted,
    first_class,
], ids=["fetch after a store", "slots", "loads", "one round less", "stated once less",
        "nearest region", "branches are taken", "nothing is counted", "products are plain"])
def test_planted_faults_are_found(monkeypatch, plant):
    plant(monkeypatch)
    with pytest.raises((AssertionError, KeyError, ValueError)):
        evidence()


def evidence():
    """What the tests above look at."""
    for seed in QUICK:
        ratio(seed, known_wcet.EXACT, others=0)
