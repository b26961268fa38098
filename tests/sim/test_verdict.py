import dataclasses
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cyclebound.golden.bound import NotCovered, Range, bound
from cyclebound.hdl.arbiter import RoundRobinArbiter
from cyclebound.sim.describe.block import Block, BoundBinding, Configuration, Property, Testbench
from cyclebound.sim.describe.variant import variant
from cyclebound.sim.judge.verdict import FAILURES, judge
from cyclebound.sim.proof.prove import Proof
from cyclebound.sim.run.job import Group
from cyclebound.tb.probe import Probe

pytestmark = pytest.mark.unit


@bound(formula="2 * size + lanes", source="this test")
def formula(*, size: int, lanes: int) -> int:
    """Of a request's size and the block's lanes."""
    if size > 9:
        raise NotCovered(f"size must be at most 9, not {size}")
    return 2 * size + lanes


SEEN = Probe("begin", "end", request={"size": "size"})
CLAIM = Property("fair", "it is", lambda target: target, (),
                 independent={"width": "data are only carried"},
                 declares={"move": lambda parameters: {"size": 1}})
BLOCK = Block(
    "test.block", "a block", lambda **_: None,
    {"small": Configuration({"lanes": 1, "width": 8}, domain={"size": range(1, 4)}),
     "large": Configuration({"lanes": 1, "width": 64}),
     "wide": Configuration({"lanes": 5, "width": 8})},
    (), (BoundBinding("move", formula, SEEN, proved_by=("fair",), exhaustive=True),), (CLAIM,))


def group(size, latency, count=1, *, what="move", job="j/c/t/1", test="t", first=10):
    return job, Group(what, {"size": size}, latency, count, first, first + latency - 1, test)


def one(*groups, name="small", proofs=(), block=BLOCK):
    row, = judge(block, name, groups, proofs)
    return row


def test_exact_when_each_kind_reaches_its_bound():
    row = one(group(1, 3), group(1, 2, 7), group(2, 5), group(2, 1, 2))
    assert (row.verdict, row.kinds, row.kinds_reached, row.requests) == ("exact", 2, 2, 11)
    assert (row.worst, row.allowed, row.parameters) == (5, 5, {"size": 2})  # of equals, the longest
    assert row.histogram == [(1, 2), (5, 1)]
    assert (row.tightness, row.failed) == (1.0, False)
    assert (row.formula, row.source, row.bound) == ("2 * size + lanes", "this test", "formula")


def test_held_when_only_some_kinds_reach_it():
    row = one(group(1, 3), group(2, 4), group(3, 6))
    assert (row.verdict, row.kinds, row.kinds_reached) == ("held", 3, 1)
    assert (row.worst, row.allowed, row.parameters) == (6, 7, {"size": 3})  # the longest
    assert row.tightest == {"latency": 3, "allowed": 3, "parameters": {"size": 1}}
    assert (row.tightness, row.closer) == (1.0, ", tightest 3 of 3")
    assert row.histogram == [(3, 1)]
    assert row.ratios == [0.8, 0.8571, 1.0]
    assert row.words == "held (1/3 exact; ratios 0.80 / 0.86 / 1.00)"


def test_held_when_none_does():
    row = one(group(1, 2), group(2, 4))
    assert (row.verdict, row.kinds_reached) == ("held", 0)
    assert (row.worst, row.allowed, row.closer) == (4, 5, "")  # 4/5 is closer than 2/3
    assert row.tightness == pytest.approx(0.8)


def test_violated_by_a_single_request():
    row = one(group(3, 7, 1000), group(1, 3, 1000), group(1, 4, job="j/c/t/7", test="u", first=99))
    assert (row.verdict, row.failed) == ("violated", True)
    assert row.detail == "move with size 1 took 4, bound 3"
    assert (row.worst, row.allowed, row.closer) == (4, 3, "")  # though another one took 7 of 9
    assert (row.job, row.test, row.first, row.last) == ("j/c/t/7", "u", 99, 102)
    assert row.tightness > 1


def test_a_kind_is_what_the_bound_reads():
    both = [("j/c/t/1", Group("move", {"size": 1, "start": start}, latency, 1, 0, 9, "t"))
            for start, latency in ((0, 2), (1, 3))]
    row = one(*both)
    assert (row.verdict, row.kinds, row.kinds_reached) == ("exact", 1, 1)


def test_a_request_that_has_not_ended():
    """It has a count of 0, and counts only if it has exceeded its bound already."""
    assert one(group(1, 3), group(2, 5, 0)).kinds == 1
    row = one(group(1, 3), group(2, 6, 0))
    assert (row.verdict, row.detail) == ("violated", "move with size 2 took 6, bound 5")
    row = one(group(2, 5, 0))
    assert (row.verdict, row.detail) == ("unobserved", "no 'move' request ended")
    assert one(group(2, 6, 0)).verdict == "violated"


def test_a_prediction_is_right_only_if_every_request_took_that_long():
    block = dataclasses.replace(BLOCK, bounds=(BoundBinding("move", dataclasses.replace(
        formula, kind="prediction")),))
    row = one(group(1, 3), group(2, 5), block=block)
    assert (row.claim, row.verdict, row.failed) == ("prediction", "right", False)
    row = one(group(1, 3), group(2, 5), group(2, 4, test="u", first=7), block=block)
    assert (row.verdict, row.failed) == ("wrong", True)
    assert row.detail == "move with size 2 took 4, predicted 5"
    assert (row.test, row.first, row.worst, row.allowed) == ("u", 7, 4, 5)


def test_nothing_is_shown_where_a_simulation_failed():
    row, = judge(BLOCK, "small", [group(1, 3)], [proved({"lanes": 1, "width": 8})], ["j/c/t/2"])
    assert (row.verdict, row.evidence, row.failed) == ("void", "none", True)
    assert row.detail == "1 of its simulations failed or are missing: j/c/t/2"
    row, = judge(BLOCK, "small", [group(1, 4)], (), ["j/c/t/2"])
    assert row.verdict == "violated"


def test_a_formula_that_does_not_speak_of_a_request():
    row = one(group(1, 3), group(10, 3))
    assert (row.verdict, row.failed, row.allowed) == ("not covered", True, None)
    assert row.detail == "formula does not cover size 10: size must be at most 9, not 10"


def test_a_request_without_the_parameters_that_the_formula_needs():
    row = one(("j", Group("move", {"weight": 3}, 1, 1, 0, 0, "t")))
    assert row.detail == "formula does not cover weight 3: bound formula needs size"
    assert row.verdict == "not covered"


def test_a_formula_with_a_mistake_fails_and_does_not_raise():
    broken = bound(formula="?", source="?")(lambda *, size: size // 0)
    block = dataclasses.replace(BLOCK, bounds=(BoundBinding("move", broken),))
    row = one(group(1, 3), block=block)
    assert row.verdict == "not covered"
    assert "ZeroDivisionError" in row.detail


@pytest.mark.parametrize(("name", "lanes", "verdict"), [
    ("wide", 5, "held"), ("wide", 2, "exact"), ("wide", 6, "not covered"),
    ("small", 5, "not covered")])
def test_no_request_says_that_the_block_is_a_slower_one(name, lanes, verdict):
    """A smaller class than the block was built for has a smaller bound; a larger one is a way to
    have any latency allowed."""
    seen = Group("move", {"size": 1, "lanes": lanes}, 4, 1, 10, 13, "t")
    row = one(("j/c/t/1", seen), name=name)
    assert row.verdict == verdict, row.detail
    if verdict == "not covered":
        assert "for which the bound is" in row.detail


def test_no_proof_is_of_a_slower_block():
    slow = Proof("test.block", "fair", "it is", {"lanes": 1, "width": 8}, status="proved",
                 claims=[("move", {"size": 1, "lanes": 5}, 7)])
    assert one(group(1, 2), proofs=[slow]).evidence == "sampled"


def test_unobserved():
    row = one()
    assert (row.verdict, row.failed, row.worst, row.tightness) == ("unobserved", True, None, None)
    assert row.detail == "no 'move' request was observed"


def test_unobserved_where_there_are_no_such_requests():
    entry = dataclasses.replace(BLOCK.bounds[0], configurations=("large",))
    block = dataclasses.replace(BLOCK, bounds=(entry,))
    assert judge(block, "small", []) == []
    assert [row.verdict for row in judge(block, "large", [])] == ["unobserved"]
    assert [row.verdict for row in judge(block, "small", [group(1, 4)])] == ["violated"]


def test_an_observed_request_without_a_bound():
    rows = judge(BLOCK, "small", [group(1, 3), group(2, 8, what="hop"), group(3, 1, what="skip")])
    assert [(row.what, row.bound, row.verdict) for row in rows] == [
        ("move", "formula", "exact"), ("hop", "-", "not covered"), ("skip", "-", "not covered")]
    assert rows[1].detail == ("no bound of test.block covers observed 'hop' requests, "
                              "such as size 2")
    assert all(row.failed == (row.verdict in FAILURES) for row in rows)


@pytest.mark.parametrize(("latency", "verdict"), [(0, "exact"), (1, "violated")])
def test_where_nothing_is_allowed(latency, verdict):
    nothing = bound(formula="0", source="this test")(lambda: 0)
    block = dataclasses.replace(BLOCK, bounds=(BoundBinding("move", nothing),))
    row = one(group(1, latency), block=block)
    assert (row.verdict, row.worst, row.allowed, row.tightness) == (verdict, latency, 0, None)


def test_of_equals_one_whose_waveform_can_be_seen():
    counted = ("j/c/t/2", Group("move", {"size": 1}, 3, 50, 0, 0, ""))
    for observed in ([counted, group(1, 3)], [group(1, 3), counted]):
        row = one(*observed)
        assert (row.test, row.first, row.last) == ("t", 10, 12)
        assert row.histogram == [(3, 51)]


def test_the_longest_is_shown_though_another_has_a_waveform():
    counted = ("j/c/t/2", Group("move", {"size": 3}, 7, 50, 0, 0, ""))
    for observed in ([counted, group(1, 3)], [group(1, 3), counted]):
        row = one(*observed)
        assert (row.worst, row.allowed, row.parameters, row.test) == (7, 7, {"size": 3}, "")


def test_points_are_bound_and_worst_of_each_kind():
    row = one(group(1, 3), group(1, 2), group(2, 4), group(3, 6))
    assert row.points == [[3, 3], [5, 4], [7, 6]]
    assert row.unit == "cycles"


# -- evidence --------------------------------------------------------------------------------------


def test_exhaustive_only_if_all_of_the_domain_was_observed():
    row = one(group(1, 3), group(2, 1), group(3, 1))
    assert (row.evidence, row.domain, row.detail) == ("exhaustive", "3 cases: size 1..3", "")
    row = one(group(1, 3), group(3, 1))
    assert (row.evidence, row.domain) == ("sampled", "")
    assert row.detail == "not exhaustive: 1 of 3 cases were not observed"


def test_exhaustive_needs_a_stated_domain_and_a_bound_that_claims_it():
    observed = [group(size, 1) for size in (1, 2, 3)]
    assert one(*observed, name="wide").evidence == "sampled"
    block = dataclasses.replace(BLOCK, bounds=(BoundBinding("move", formula),))
    row = one(*observed, block=block)
    assert (row.evidence, row.detail) == ("sampled", "")


@given(seen=st.sets(st.integers(0, 5)), high=st.integers(1, 5))
def test_exhaustive_for_any_domain(seen, high):
    block = dataclasses.replace(BLOCK, configurations={
        "any": Configuration({"lanes": 1}, domain={"size": range(0, high)})})
    row = one(*(group(size, 1) for size in seen), name="any", block=block)
    assert (row.evidence == "exhaustive") == (seen >= set(range(high)) and bool(seen))
    beside = len(seen - set(range(high)))
    if row.evidence == "exhaustive":
        assert row.domain == f"{high} cases: size 0..{high - 1}" + (
            f"; sampled: {beside} kind{'s' * (beside > 1)} beside these" if beside else "")


def test_no_case_is_seen_by_a_request_of_another_kind():
    """A parameter that the domain does not name makes it another one, unless it has its default."""
    @bound(formula="size + late", source="this test")
    def later(*, size: int, late: int = 0) -> int:
        return size + late

    block = dataclasses.replace(BLOCK, bounds=(BoundBinding("move", later, SEEN,
                                                            exhaustive=True),))

    def seen(*cases):
        return one(*(("j/c/t/1", Group("move", {"size": size, **more}, 1, 1, 0, 0, "t"))
                     for size, more in cases), block=block)

    assert seen((1, {}), (2, {"late": 0}), (3, {})).domain == "3 cases: size 1..3"
    row = seen((1, {}), (2, {"late": 7}), (3, {}))
    assert (row.evidence, row.detail) == ("sampled",
                                          "not exhaustive: 1 of 3 cases were not observed")
    row = seen((1, {}), (2, {}), (2, {"late": 7}), (3, {}))
    assert (row.evidence, row.kinds) == ("exhaustive", 4)
    assert row.domain == "3 cases: size 1..3; sampled: 1 kind beside these"


def _with_states(**probe):
    """The block with states among its cases, which its probe observes, or not."""
    return dataclasses.replace(BLOCK, configurations={"any": Configuration(
        {"lanes": 1}, domain={"size": range(1, 3), "state": (0, 1, 5)},
        possible=lambda size, state: state < 5 or size == 2)}, bounds=(dataclasses.replace(
            BLOCK.bounds[0], probe=Probe("begin", "end", **probe), exhausts="an idle block"),))


@pytest.mark.parametrize(("probe", "told"), [
    ({"request": {"size": "size", "state": "state"}}, ""),
    ({"conditions": {"state": "state"}}, "; declared, not observed: size")])
def test_exhaustive_counts_cases_and_not_kinds(probe, told):
    """States in which a request finds the block are part of its cases."""
    block = _with_states(**probe)

    def seen(*cases):
        return one(*(("j/c/t/1", Group("move", {"size": size, "state": state}, 1, 1, 0, 0, "t"))
                     for size, state in cases), name="any", block=block)

    every = [(1, 0), (1, 1), (2, 0), (2, 1), (2, 5)]
    assert seen(*every).domain == (
        f"5 cases: size 1..2, state 0 1 5; against an idle block{told}")
    row = seen(*every[:-1])
    assert (row.evidence, row.kinds) == ("sampled", 2)
    assert row.detail == "not exhaustive: 1 of 5 cases were not observed"


def test_a_state_that_is_only_declared_is_none():
    """Whatever a testbench says: of a state that hardware does not see, no case was observed."""
    every = [("j/c/t/1", Group("move", {"size": size, "state": state}, 1, 1, 0, 0, "t"))
             for size, state in ((1, 0), (1, 1), (2, 0), (2, 1), (2, 5))]
    row = one(*every, name="any", block=_with_states(request={"size": "size"}))
    assert (row.evidence, row.domain) == ("sampled", "")
    assert row.detail == ("not exhaustive: hardware does not observe state, which testbenches only "
                          "declare")


def test_a_domain_that_depends_on_the_block_s_parameters():
    """A user's parameters have their own cases, not those of the configuration they came from."""
    base = Configuration({"lanes": 1}, domain=lambda parameters: {
        "size": range(1, parameters["lanes"] + 1)})
    block, name = variant(dataclasses.replace(
        BLOCK, component=lambda lanes: RoundRobinArbiter(count=lanes),
        configurations={"base": base}), "base", {"lanes": 3})
    assert one(group(1, 3), name=name, block=block).evidence == "sampled"
    row = one(*(group(size, 3) for size in (1, 2, 3)), name=name, block=block)
    assert (row.evidence, row.domain) == ("exhaustive", "3 cases: size 1..3")


def test_what_no_request_had_is_said():
    """Of parameters with few values that the bound covers; one that is left out has its default."""
    @bound(formula="2 * size + late", source="this test")
    def ranged(*, size: Annotated[int, Range(1, 6)], late: Annotated[int, Range(0, 1)] = 0,
               far: Annotated[int, Range(0)] = 0) -> int:
        if size == 5:
            raise NotCovered("none is of 5")
        return 2 * size + late + far

    block = dataclasses.replace(BLOCK, bounds=(BoundBinding("move", ranged),))
    row = one(group(1, 2), group(2, 2), group(6, 2), block=block)
    assert (row.verdict, row.evidence) == ("held", "sampled")
    assert row.domain == "never drawn: size 3 4, late 1"
    late = "j/c/t/1", Group("move", {"size": 3, "late": 1}, 2, 1, 0, 0, "t")
    row = one(group(1, 2), group(2, 2), group(4, 2), group(6, 2), late, block=block)
    assert row.domain == ""


def test_searched_by_a_testbench_that_says_so():
    bench = Testbench("t", "module", searches=True)
    block = dataclasses.replace(BLOCK, testbenches=(bench, Testbench("u", "other")))
    row = one(group(1, 2), name="wide", block=block)
    assert (row.evidence, row.domain) == ("searched", "by t")
    assert one(group(1, 2, job="j/c/u/1"), name="wide", block=block).evidence == "sampled"


def proved(parameters, status="proved", claim="fair", limit=3, size=1):
    return Proof("test.block", claim, "it is", parameters, status=status,
                 claims=[("move", {"size": size}, limit)])


@pytest.mark.parametrize(("proof", "name", "counts"), [
    (proved({"lanes": 1, "width": 8}), "small", True),
    (proved({"lanes": 1, "width": 2}), "small", True),  # the width makes no difference
    (proved({"lanes": 1, "width": 2}), "large", True),
    (proved({"lanes": 1, "width": 8}, limit=2), "small", False),  # of another formula
    (proved({"lanes": 1, "width": 2}), "wide", False),
    (proved({"lanes": 5}, limit=7), "wide", True),
    (proved({}), "wide", False),
    (proved({"lanes": 1}, status="bounded"), "small", False),
    (proved({"lanes": 1}, status="failed"), "small", False),
    (dataclasses.replace(proved({"lanes": 1}), claims=[]), "small", False),
    (dataclasses.replace(proved({"lanes": 1}), block="test.other"), "small", False),
    (proved({"lanes": 1}, claim="another"), "small", False)])
def test_proved_only_with_these_parameters_and_this_value(proof, name, counts):
    row = one(group(1, 2), name=name, proofs=[proof])
    assert (row.evidence == "proved") == counts
    if counts:
        lanes = BLOCK.configurations[name].parameters["lanes"]
        assert row.domain == f"fair for lanes {lanes}, size 1"


@pytest.mark.parametrize(("more", "counts"), [
    ({}, True), ({"depth": 4}, True), ({"depth": 2}, False), ({"length": 1}, False)])
def test_what_a_configuration_leaves_out_has_its_default_in_the_proof(more, counts):
    """Else a proof of a small block would hold for one that is large by default."""
    block = dataclasses.replace(BLOCK, component=lambda *, lanes, width, depth=4: None)
    row = one(group(1, 2), proofs=[proved({"lanes": 1, **more})], block=block)
    assert (row.evidence == "proved") == counts


@pytest.mark.parametrize(("top", "counts"), [
    (lambda count: RoundRobinArbiter(count=count), True),
    (lambda count: RoundRobinArbiter(count=count + 1), False),
    (lambda count: None, False), (lambda size: RoundRobinArbiter(count=4), False)],
    ids=["itself", "another", "nothing", "other parameters"])
def test_a_proof_of_other_hardware_supports_no_bound(top, counts):
    of = bound(formula="count", source="this test")(lambda *, count: count)
    claim = dataclasses.replace(CLAIM, top=top, independent={},
                                declares={"move": lambda parameters: {}})
    block = dataclasses.replace(
        BLOCK, component=RoundRobinArbiter, configurations={"four": Configuration({"count": 4})},
        bounds=(BoundBinding("move", of, proved_by=("fair",)),), properties=(claim,))
    proof = Proof("test.block", "fair", "it is", {"count": 4}, "proved", claims=[("move", {}, 4)])
    row = one(group(1, 4), name="four", block=block, proofs=[proof])
    assert (row.evidence == "proved") == counts


def test_kinds_that_were_declared_and_never_seen_are_named():
    """Else "held, 4 of 23 kinds" would leave out those of which the testbench made none."""
    declared = [("j/c/t/1", Group("move", {"size": size}, 0, 0, 5, 5, "t")) for size in range(1, 8)]
    row = one(group(1, 3), group(2, 5), *declared[:3])
    assert (row.verdict, row.kinds) == ("exact", 2)
    assert row.domain == "declared, never seen: size 3"
    row = one(group(1, 3), *declared)
    assert row.domain == "declared, never seen: size 2; size 3; size 4; and 3 more kinds"
    assert one(*declared[:1]).verdict == "unobserved"
    longer = [("j/c/t/1", Group("move", {"size": 3, "lanes": 1}, 4, 1, 9, 12, "t"))]
    assert one(*longer, *declared[2:3]).domain == ""  # one of that kind, with more at its ports
    row = one(group(1, 3), *declared, proofs=[proved({"lanes": 1})])
    assert row.evidence == "proved"
    assert row.domain.startswith("fair for lanes 1, size 1; declared, never seen: size 2")


def test_proved_in_part_is_not_proved():
    row = one(group(1, 2), group(2, 2), proofs=[proved({"lanes": 1})])
    assert (row.evidence, row.domain) == ("sampled", "proved in part: fair for lanes 1, size 1")
    both = [proved({"lanes": 1}), proved({"lanes": 1}, limit=5, size=2)]
    row = one(group(1, 2), group(2, 2), proofs=both)
    assert row.evidence == "proved"
    assert row.domain == "fair for lanes 1, size 1; fair for lanes 1, size 2"
    row = one(group(1, 2), group(2, 2), proofs=both[::-1])  # in whatever order they ended
    assert row.domain == "fair for lanes 1, size 1; fair for lanes 1, size 2"


@pytest.mark.parametrize(("parameters", "name", "refuted"), [
    ({"lanes": 1, "width": 8}, "small", True), ({"lanes": 1, "width": 2}, "large", True),
    ({"lanes": 5, "width": 8}, "small", False), ({"lanes": 5, "width": 8}, "wide", True)])
def test_what_a_counterexample_breaks_is_neither_exact_nor_held(parameters, name, refuted):
    """Though no request that was simulated does, and another property is proved."""
    found = dataclasses.replace(
        proved(parameters, "failed"), trace="counterexample.vcd",
        detail="move: a request takes more than 3 in cycle 7")
    row = one(group(1, 2), name=name, proofs=[found])
    assert (row.verdict == "refuted") == row.failed == (row.evidence == "none") == refuted
    if refuted:
        assert row.detail == ("property fair has a counterexample: "
                              "move: a request takes more than 3 in cycle 7")
    for other in (dataclasses.replace(found, detail="fill: a request takes more than 3"),
                  dataclasses.replace(found, trace=None, detail="yices was stopped")):
        assert one(group(1, 2), name=name, proofs=[other]).verdict == "held"


def test_a_violation_has_no_evidence():
    row = one(group(1, 4), proofs=[proved({"lanes": 1})])
    assert (row.verdict, row.failed, row.evidence) == ("violated", True, "sampled")
    assert row.domain == ""


# -- whatever is observed --------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 25), st.integers(1, 1000)),
                min_size=1, max_size=30))
def test_verdict_says_what_the_requests_say(requests):
    row = one(*(group(*request) for request in requests), name="wide")
    worst = {}
    for size, latency, _ in requests:
        worst[size] = max(worst.get(size, 0), latency)
    allowed = {size: 2 * size + 5 for size in worst}
    reached = sum(worst[size] == allowed[size] for size in worst)
    if any(worst[size] > allowed[size] for size in worst):
        assert row.verdict == "violated"
    elif reached == len(worst):
        assert row.verdict == "exact"
    else:
        assert row.verdict == "held"
    assert row.requests == sum(count for _, _, count in requests)
    assert (row.kinds, row.kinds_reached) == (len(worst), reached)
    assert row.tightness == max(worst[size] / allowed[size] for size in worst)
    assert (row.worst, row.allowed) == (worst[row.parameters["size"]],
                                        allowed[row.parameters["size"]])
    closest = row.tightest["parameters"]["size"]
    assert (row.tightest["latency"], row.tightest["allowed"]) == (worst[closest], allowed[closest])
    if row.verdict == "violated":
        assert row.parameters == row.tightest["parameters"]
    else:
        assert row.worst == max(worst.values())
    assert sum(count for _, count in row.histogram) == sum(
        count for size, _, count in requests if size == closest)
