"""What differs between two runs: nothing that one of them shows and the other does not is left out.
"""

import dataclasses
import json
import shutil
from contextlib import closing

import pytest
from rich.console import Console

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.fpga.placement import Figures
from cyclebound.sim.judge.verdict import Verdict
from cyclebound.sim.proof.prove import Proof
from cyclebound.sim.regression.results import Results
from cyclebound.sim.regression.table import difference_words, differences, print_run, read
from cyclebound.sim.report.markdown import tables
from cyclebound.sim.run.job import Group, Job, Outcome

pytestmark = pytest.mark.unit

ROW = Verdict("a.b", "c", "limit", "move", "N + 1", "here", verdict="exact", worst=4, allowed=4,
              evidence="exhaustive", domain="3 cases: size 1..3", requests=3)
PROOF = Proof("a.b", "in_time", "it is", {"lanes": 2}, "proved", depth=12, induction=3,
              claims=[("move", {"size": 1}, 2), ("move", {"size": None}, 9)])
TESTS = [("one", True), ("two", True)]


def job(seed=1):
    return Job("a.b", "c", "cycle", seed, f"/folder/{seed}")


def outcome(sizes=(1, 2, 3), **values):
    groups = [Group("move", {"size": size}, size + 1, 1, 0, size, "one") for size in sizes]
    values = {"groups": groups, "tests": TESTS, "compared": 9, **values}
    return Outcome(job().name, values.pop("passed", True), **values)


@pytest.fixture
def old(tmp_path):
    with closing(Results(tmp_path / "old", create=True)) as results:
        results.finished(job(1), outcome(), "")
        results.finished(job(2), outcome(), "")
        results.judged("a.b", "c", [ROW])
        results.proof(PROOF)
        results.proof(dataclasses.replace(PROOF, parameters={"lanes": 4}))
        results.fpga(Figures("a.b", "c", "ecp5-85k", mhz=100.0, luts=7))
    return tmp_path / "old"


@pytest.fixture
def changed(old):
    """``changed(change)``: the differences to a copy that ``change`` was made to."""

    def between(change):
        with closing(Results(shutil.copytree(old, old.with_name("new")))) as results:
            change(results)
        return differences(read(old), read(old.with_name("new")))

    return between


def told(row):
    return (row["bound"], row["weaker"], difference_words(row["was"], row["now"]),
            difference_words(row["now"], row["was"]))


def drop(table, where):
    return lambda results: results._base.execute(f"DELETE FROM {table} WHERE {where}") and \
        results._base.commit()


def again(**values):
    return lambda results: [results.finished(job(n), outcome(**values), "") for n in (1, 2)]


def judged(**values):
    return lambda results: results.judged("a.b", "c", [dataclasses.replace(ROW, **values)])


def proved(**values):
    return lambda results: results.proof(dataclasses.replace(PROOF, **values))


def test_a_run_and_itself(changed):
    assert changed(lambda results: None) == []


@pytest.mark.parametrize(("change", "said"), [
    # the verdict is the same, and so is each of its numbers
    (again(sizes=(2, 3)), ("limit", True, "kinds size=1", "")),
    (again(sizes=(1, 2, 3, 4)), ("limit", False, "", "kinds size=4")),
    (drop("job", "seed = 2"), ("job cycle 2", True,
                               "job passed, tests one; two, compared 9", "absent")),
    (again(tests=TESTS[:1]), ("job cycle 1", True, "tests two", "")),
    (again(compared=8), ("job cycle 1", True, "compared 9", "compared 8")),
    (judged(evidence="sampled", domain=""),
     ("limit", True, "evidence exhaustive, domain 3 cases: size 1..3",
      "evidence sampled, no domain")),
    (judged(evidence="proved"), ("limit", False, "evidence exhaustive", "evidence proved")),
    (judged(domain="2 cases: size 1..2"),
     ("limit", False, "domain 3 cases: size 1..3", "domain 2 cases: size 1..2")),
    (judged(verdict="held"), ("limit", True, "verdict exact", "verdict held")),
    (judged(requests=2), ("limit", True, "requests 3", "requests 2")),
    (judged(claim="rate"), ("limit", False, "claim bound", "claim rate")),
    (drop("proof", "instance LIKE '%4%'"),
     ("property in_time", True, ("status proved, depth 12, induction 3, says it is, "
                                  "claims move with size=1: 2; move with size=None: 9"), "absent")),
    (proved(status="bounded", induction=None),
     ("property in_time", True, "status proved, induction 3", "status bounded, no induction")),
    (proved(claims=PROOF.claims[:1]),
     ("property in_time", True, "claims move with size=None: 9", "")),
    (lambda results: results.fpga(Figures("a.b", "c", "ecp5-85k", mhz=90.0, luts=7)),
     ("on ecp5-85k", False, "mhz 100.0", "mhz 90.0")),
], ids=["kind gone", "new kind", "simulation gone", "test gone", "less compared", "evidence",
        "more evidence", "domain", "verdict", "requests", "claim", "proof gone", "not proved",
        "bound not proved", "clock rate"])
def test_nothing_is_left_out(changed, change, said):
    rows = changed(change)
    assert told(rows[0]) == said
    assert json.loads(json.dumps(rows)) == rows
    assert rows == sorted(rows, key=lambda row: not row["weaker"])  # the weaker ones first


def test_a_claim_that_is_gone_names_its_kinds(changed):
    row, = changed(drop("verdict", "1"))
    assert row["now"] is None
    assert row["weaker"]
    assert row["was"]["kinds"] == [{"size": 1}, {"size": 2}, {"size": 3}]
    assert difference_words(row["was"], None).endswith("kinds size=1; size=2; size=3")


def test_what_is_empty_is_not_named_or_called_none():
    here = {"verdict": "exact", "domain": "", "kinds": []}
    assert difference_words(here, None) == "verdict exact"
    assert difference_words(here, {**here, "domain": "4 cases"}) == "no domain"
    assert difference_words(here, {**here, "kinds": [{"size": 1}]}) == ""


def test_tests_that_were_skipped_are_said_with_the_table(old, changed, capsys):
    row, = changed(lambda results: results.finished(
        job(2), outcome(tests=TESTS[:1], reason="skipped: two"), ""))
    assert told(row) == ("job cycle 2", True, "job passed, tests two",
                         "job passed, skipped: two")
    new = read(old.with_name("new"))
    assert new.problems == []
    assert new.skipped == ["a.b/c/cycle/2: skipped: two"]
    print_run(new, Console(width=200))
    assert "a.b/c/cycle/2: skipped: two\n" in capsys.readouterr().out
    assert "- a.b/c/cycle/2: skipped: two" in tables(new)


def test_proofs_are_in_the_same_order_whichever_ended_first(old):
    run = read(old)
    proofs = [{"block": block, "property": "fair", "parameters": {"count": count},
               "status": "proved", "seconds": 1.0} for block in ("a.b", "a.a") for count in (3, 2)]
    said = []
    for run.proofs in (proofs, proofs[::-1]):
        said.append(tables(run))
    there, back = said
    assert there == back
    assert there.index("| `a.a` | fair | count 2") < there.index("| `a.b` | fair | count 2")


def test_of_many_kinds_some_are_named(changed):
    row, = changed(again(sizes=range(1, 10)))
    assert difference_words(row["now"], row["was"]) == "kinds size=4; size=5; size=6; and 3 more"


def test_kinds_that_have_only_begun_were_not_observed(changed):
    def never_ends(results):
        for group in (found := outcome()).groups[:1]:
            found.groups[0] = dataclasses.replace(group, count=0)
        for seed in (1, 2):
            results.finished(job(seed), found, "")

    row, = changed(never_ends)
    assert row["was"]["kinds"] == [{"size": 1}]


@pytest.mark.parametrize(("table", "column", "text", "why"), [
    ("observation", "parameters", '{"size": "x"}', r"size"),
    ("observation", "parameters", "{", r"must be JSON"),
    ("proof", "row", json.dumps({**dataclasses.asdict(PROOF), "claims": [["move", 3, 1]]}),
     r"claims of proof row 1"),
])
def test_values_of_another_kind_are_refused(old, table, column, text, why):
    with closing(Results(old)) as results, results._base as base:
        base.execute(f"UPDATE {table} SET {column} = ?", (text,))
    with pytest.raises(UserError, match=rf"is no results file of this cyclebound: .*{why}"):
        differences(read(old), read(old))
