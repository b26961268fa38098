"""Worst cases by visiting every state: what is found, and what is noticed."""

import dataclasses
import random

import pytest
from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.bound import bound
from cyclebound.hdl.arbiter import RoundRobinArbiter
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.describe.block import Block, BoundBinding, Configuration, Exploration
from cyclebound.sim.judge.verdict import judge
from cyclebound.sim.netlist.aiger import Circuit, fold, read, simulate
from cyclebound.sim.proof.explore import ExploredTop, Reach, explore, longest_request, replayed
from cyclebound.sim.run.job import Group
from cyclebound.tb.probe import Probe

PROBE = Probe(start="requests[r] & ~past(requests[r] & ~(grant[r] & accept))",
              end="grant[r] & accept", ticks="any(grant) & accept", unit="grants",
              over={"r": "count"})


class Requesters(wiring.Component):
    """Requests that stay until they are granted, and grants that are accepted at will."""

    def __init__(self, arbiter):
        super().__init__({"choice": In(arbiter.count + 1), "requests": Out(arbiter.count),
                          "accept": Out(1), "grant": In(arbiter.count)})

    def elaborate(self, platform):
        m = Module()
        kept = Signal.like(self.requests)
        m.d.comb += [self.requests.eq(self.choice[:-1] | kept), self.accept.eq(self.choice[-1])]
        m.d.sync += kept.eq(self.requests & ~Mux(self.accept, self.grant, 0))
        return m


class Priority(RoundRobinArbiter):
    """The lowest requester first, always: the last one may wait for ever."""

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.grant.eq(self.requests & -self.requests)
        tired = Signal()  # a register, as every design has one
        m.d.sync += tired.eq(self.accept)
        return m


class Tiring(wiring.Component):
    """Answers in the next clock, and in the fourth from its 700th request on."""

    def __init__(self, after=700):
        self._after = after
        super().__init__({"request": In(1), "answer": Out(1)})

    def elaborate(self, platform):
        m = Module()
        served, left, busy = Signal(range(self._after + 1)), Signal(2), Signal()
        m.d.comb += self.answer.eq(busy & (left == 0))
        with m.If(self.request & ~busy):
            m.d.sync += [busy.eq(1), left.eq(Mux(served == self._after, 2, 0)),
                         served.eq(Mux(served == self._after, served, served + 1))]
        with m.Elif(busy):
            m.d.sync += [left.eq(left - 1), busy.eq(left != 0)]
        return m


class Asking(wiring.Component):
    """Asks when it likes, one request after the other."""

    def __init__(self, component, rude=False):
        super().__init__({"choice": In(1), "request": Out(1), "answer": In(1)})
        self._rude = rude

    def elaborate(self, platform):
        m = Module()
        waits = Signal()
        m.d.comb += self.request.eq(self.choice & (~waits | self._rude))
        m.d.sync += waits.eq((waits | self.request) & ~self.answer)
        return m


ANSWER = Probe("request", "answer")


@bound(formula="N", source="this test", environment="requesters ask when they like")
def grants(*, count: int, spared: int = 0) -> int:
    """Grants until one's own."""
    return count - spared


@bound(formula="3", source="this test", environment="requesters ask when they like")
def three_grants(*, spared: int = 0) -> int:
    """Grants until one's own, of three."""
    return 3 - spared


def observation(latency, spared):
    return "test.arbiter/three/cycle/1", Group("grant", {"spared": spared}, latency, 1, 0,
                                               latency - 1, "t")


def arbiter_block(component=RoundRobinArbiter, spared=0):
    """A block with an exploration of all of its requesters."""
    return Block("test.arbiter", "round robin", component,
                 {"three": Configuration({"count": 3})},
                 bounds=(BoundBinding("grant", grants, PROBE),),
                 explorations=(Exploration("all", "any requester may ask in any cycle", "grant",
                                           Requesters, lambda parameters, index: {
                                               "spared": spared}, ({"count": 3},)),))


@pytest.mark.each_commit
def test_a_round_robin_arbiter_reaches_its_bound_and_no_more():
    proof = explore(arbiter_block(), arbiter_block().explorations[0], {"count": 3})
    assert proof.status == "proved"
    assert proof.claims == [("grant", {"spared": 0}, 3)] * 3
    assert "3 of 3 kinds reach their bound" in proof.detail


def test_a_bound_that_is_one_too_low_is_refuted_and_the_verdict_says_so():
    block = arbiter_block(spared=1)
    proof = explore(block, block.explorations[0], {"count": 3})
    assert proof.status == "failed"
    assert "a request takes 3, more than 2, with spared 1" in proof.detail
    row, = judge(block, "three", [observation(2, spared=1)], [proof])
    assert row.verdict == "refuted"
    assert "more than 2" in row.detail


def test_what_was_explored_is_exhaustive_evidence_for_these_kinds_only():
    block = arbiter_block()
    proof = explore(block, block.explorations[0], {"count": 3})
    row, = judge(block, "three", [observation(3, spared=0)], [proof])
    assert (row.verdict, row.evidence) == ("exact", "exhaustive")
    assert "states" in row.domain
    row, = judge(block, "three", [observation(3, spared=0), observation(1, spared=1)], [proof])
    assert row.evidence == "sampled"
    assert "1 of 2 kinds" in row.domain


def test_parameters_that_are_sequences_are_lists_in_results():
    def make(*, rows):
        return RoundRobinArbiter(count=len(rows))

    rows = {"rows": ("one", "two", "three")}
    block = dataclasses.replace(
        arbiter_block(), component=make, configurations={"three": Configuration(rows)},
        bounds=(BoundBinding("grant", three_grants, PROBE),))
    proof = explore(block, dataclasses.replace(block.explorations[0], instances=(rows,)), rows)
    proof = dataclasses.replace(proof, parameters={"rows": [*rows["rows"]]})
    row, = judge(block, "three", [observation(3, spared=0)], [proof])
    assert row.evidence == "exhaustive"
    failed = dataclasses.replace(proof, status="failed", detail="a request takes 4")
    row, = judge(block, "three", [observation(3, spared=0)], [failed])
    assert row.verdict == "refuted"


def test_a_request_that_may_wait_for_ever_is_found():
    proof = explore(arbiter_block(Priority), arbiter_block().explorations[0], {"count": 3})
    assert proof.status == "failed"
    assert "a request takes for ever" in proof.detail


def test_what_no_simulation_reaches_is_found_since_guesses_are_taken_back():
    component = Tiring()
    found = longest_request(ExploredTop(component, Asking(component), ANSWER, index={}, kind={}),
                            where="tiring")
    assert found.cycles == 4
    assert len(found.way) > 1400  # 700 requests of two clocks each come before
    component = Tiring()
    again = ExploredTop(component, Asking(component), ANSWER, index={}, kind={})
    assert replayed(again, found.way) == 4


def test_an_environment_that_asks_for_more_than_the_probe_says_is_refused():
    component = Tiring()
    top = ExploredTop(component, Asking(component, rude=True), ANSWER, index={}, kind={})
    with pytest.raises(UserError, match=r"^rude: after \d+ clocks an end comes without a request, "
                                        "or more are under way than the probe says$"):
        longest_request(top, where="rude")


def test_more_states_than_allowed_is_an_error():
    component = Tiring(701)
    top = ExploredTop(component, Asking(component), ANSWER, index={}, kind={})
    with pytest.raises(UserError, match=r"^small: more than 100 states can be reached$"):
        longest_request(top, where="small", reach=Reach(states=100))


def test_nothing_that_begins_is_an_error():
    component = Tiring()
    top = ExploredTop(component, Asking(component), Probe("0 & request", "answer & 0"), index={},
                      kind={})
    with pytest.raises(UserError, match=r"^none: no such request can begin, in \d+ states$"):
        longest_request(top, where="none")


def test_an_input_that_nothing_drives_is_named():
    class Silent(wiring.Component):
        choice: In(1)

        def elaborate(self, platform):
            return Module()

    component = Tiring()
    top = ExploredTop(component, Silent(), ANSWER, index={}, kind={})
    with pytest.raises(UserError, match=r"^Silent must drive request$"):
        longest_request(top, where="silent")


def test_a_probe_of_several_starts_is_refused():
    component = Tiring()
    with pytest.raises(UserError, match="cannot be followed"):
        ExploredTop(component, Asking(component), Probe("request", "answer", starts="2"),
                    index={}, kind={})


def random_circuit(rng):
    """Gates that read whatever comes before them, and registers that read whatever gate."""
    inputs, registers, gates = 3, 8, 40
    nodes = 1 + inputs + registers
    return Circuit(
        inputs, tuple(rng.randrange(2) for _ in range(registers)),
        tuple(rng.randrange(2 * (nodes + gates)) for _ in range(registers)),
        tuple((rng.randrange(2 * (nodes + gate)), rng.randrange(2 * (nodes + gate)))
              for gate in range(gates)),
        {"out": rng.randrange(2 * (nodes + gates))}, tuple(map(str, range(registers))))


@pytest.mark.parametrize("seed", range(20))
def test_a_folded_circuit_moves_as_the_whole_one_until_it_says_broken(seed):
    rng = random.Random(seed)
    circuit = random_circuit(rng)
    same = {number: rng.choice((0, 1)) for number in rng.sample(range(8), 2)}
    folded = fold(circuit, same)
    whole = [circuit.initial[n] if n not in same else same[n] for n in range(8)]
    part = [whole[number] for number in folded.kept]
    for _ in range(200):
        bits = [rng.randrange(2) for _ in range(circuit.inputs)]
        _, after = simulate(circuit, whole, 1, runs=1, rng=rng, first=bits)
        shows = Circuit(folded.circuit.inputs, (*folded.circuit.initial, 0),
                        (*moved(folded.circuit), broken(folded.circuit)),
                        gates_of(folded.circuit), {}, ())
        _, told = simulate(shows, [*part, 0], 1, runs=1, rng=rng, first=bits)
        differs = any(after[number] != value for number, value in same.items())
        assert told[-1] == differs
        if differs:
            return
        assert told[:-1] == [after[number] for number in folded.kept]
        whole, part = after, told[:-1]


def moved(circuit):
    """Literals of a circuit that has one register more, which comes last."""
    return tuple(_shift(circuit, literal) for literal in circuit.following)


def broken(circuit):
    return _shift(circuit, circuit.outputs["broken"])


def gates_of(circuit):
    return tuple((_shift(circuit, one), _shift(circuit, other)) for one, other in circuit.gates)


def _shift(circuit, literal):
    return literal + 2 * (literal >> 1 > circuit.inputs + len(circuit.initial))


def test_a_file_that_is_no_circuit_is_refused(tmp_path):
    (tmp_path / "top.aag").write_text("aig 1 0 0 0 0\n")
    with pytest.raises(ValueError, match="circuit must begin with `aag`"):
        read(tmp_path / "top.aag")
