"""Jobs given to tiles: the least composed bound, what keeps words apart, deadlines, files."""

import itertools
import json
import random
import tomllib
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cyclebound.golden.system.tiled import Job, composed
from cyclebound.sim.families.system.jobs import parse_tiled, planned
from cyclebound.sim.families.system.map import map_jobs
from cyclebound.tools.gpu.toml_text import toml_text
from cyclebound.tools.system import mapping
from cyclebound.tools.system.mapping import NoMapping, NotFound, mapped

pytestmark = pytest.mark.unit
TILES = "simd", "systolic", "dataflow"


def drawn(rng, count):
    """Jobs of one to three forms; some have words in common, some come after earlier ones."""
    forms = {}
    for number in range(count):
        after = tuple(f"j{other}" for other in range(number) if rng.random() < 0.25)
        forms[f"j{number}"] = [
            Job(f"j{number}", tile, rng.randint(1, 30), after,
                (range(start := rng.randint(0, 40), start + rng.randint(0, 8)),))
            for tile in rng.sample(TILES, rng.randint(1, 3))]
    return forms


def least_of_all(forms, deadlines):
    """By every choice in every order; of two jobs with words in common the later one waits."""
    best = None
    for ways in itertools.product(*forms.values()):
        for order in itertools.permutations(ways):
            jobs = [replace(job, after=(*job.after, *(
                other.name for other in order[:number]
                if set(job.uses[0]) & set(other.uses[0]) and other.tile != job.tile)))
                for number, job in enumerate(order)]
            try:
                ends = composed(jobs)
            except ValueError:  # an order that a job's `after` forbids
                continue
            if all(ends[name] <= deadline for name, deadline in deadlines.items()):
                best = min(max(ends.values()), best or 10**9)
    return best


def found_by_the_solver(forms, deadlines):
    try:
        found = mapped(forms, deadlines)
    except NoMapping:
        return None
    assert found.optimal
    assert composed(found.jobs) == found.ends
    assert all(found.jobs[[job.name for job in found.jobs].index(name)].tile
               == forms[name][way].tile for name, way in found.chosen.items())
    return found.last


@pytest.mark.parametrize("seed", range(12))
def test_the_best_of_all_choices_and_orders(seed):
    rng = random.Random(seed)
    for _ in range(4):
        forms = drawn(rng, rng.randint(1, 4))
        deadlines = {name: rng.randint(10, 90) for name in forms if rng.random() < 0.3}
        assert found_by_the_solver(forms, deadlines) == least_of_all(forms, deadlines)


def test_a_solver_that_forgets_words_in_common_is_found(monkeypatch):
    monkeypatch.setattr(mapping, "_share", lambda one, other: False)
    words = (range(4),)
    with pytest.raises(ValueError, match="may run beside each other"):
        mapped({"a": [Job("a", "simd", 5, (), words)], "b": [Job("b", "systolic", 5, (), words)]})


def test_jobs_with_words_in_common_come_after_each_other():
    words = (range(4),)
    found = mapped({"a": [Job("a", "simd", 5, (), words)],
                    "b": [Job("b", "systolic", 3, (), words)]}, {"b": 3})
    assert [(job.name, job.after) for job in found.jobs] == [("b", ()), ("a", ("b",))]
    assert found.ends == {"b": 3, "a": 8}


def test_a_job_takes_the_slower_tile_where_the_other_is_taken():
    forms = {"a": [Job("a", "simd", 10)], "b": [Job("b", "simd", 5), Job("b", "dataflow", 9)]}
    found = mapped(forms)
    assert (found.chosen, found.last) == ({"a": 0, "b": 1}, 10)
    assert mapped(forms, below=10) is None


def test_deadlines_that_none_keeps_are_told_by_how_much():
    forms = {"a": [Job("a", "simd", 10)], "b": [Job("b", "simd", 5)]}
    with pytest.raises(NoMapping, match="least, a has ended by 10 and not by 7, b ") as error:
        mapped(forms, {"a": 7, "b": 12})  # b has 15, three too late, if a is first
    assert error.value.late == 3


def test_time_that_is_too_short_is_no_proof(monkeypatch):
    monkeypatch.setattr(mapping._Program, "solved", lambda self, *_: setattr(self, "unknown", True))
    with pytest.raises(NotFound, match="no mapping was found in 2 s"):
        mapped({"a": [Job("a", "simd", 10)]}, seconds=2)


def test_a_circle_is_named():
    with pytest.raises(ValueError, match="wait for each other in a circle: a, b"):
        mapped({"a": [Job("a", "simd", 1, ("b",))], "b": [Job("b", "systolic", 1, ("a",))]})


ENDLESS = """.data
0 0 64 4
.text
again:
j again
"""
FILE = """part = "ddr4-3200aa-x16"
size = 4

[[job]]
name = "product"
product = [16, 16, 16]
address = 0x100000

[[job]]
name = "add"
dataflow = "vector_add"
threads = 16
address = 0x200000
or = [{kernel = "vector_add", grid = [640]}, {kernel = "vector_add", grid = [64]}]

[[job]]
name = "second"
product = [8, 8, 8]
address = 0x180000
after = ["add"]
"""


@pytest.mark.each_commit
def test_a_file_is_given_the_best_of_all(tmp_path):
    file = parse_tiled(FILE, tmp_path)
    ends = []
    for forms in range(3):
        for order in itertools.permutations(file.after):
            system = file.chosen({"product": 0, "add": forms, "second": 0},
                                 {name: file.after[name] for name in order})
            try:
                ends.append(max(one.ends for one in planned(system).bounds))
            except ValueError:
                continue
    found = map_jobs(file)
    assert (found.last, found.optimal) == (min(ends), True)
    assert len(set(ends)) > 3


def test_what_was_found_is_a_system(call, tmp_path):
    (tmp_path / "mine.toml").write_text(FILE)
    made = call("system", "map", "mine.toml", "--output", "found.toml", "--picture", "p.svg",
                "--json")
    assert made.returncode == 0, made.stderr
    again = call("system", "wcet", "found.toml", "--json")
    first, second = json.loads(made.stdout), json.loads(again.stdout)
    assert first.pop("optimal") is True
    assert first == second
    assert (tmp_path / "p.svg").stat().st_size > 1_000


@pytest.mark.parametrize(("change", "status", "says"), [
    (('or = [{kernel = "vector_add", grid = [640]}', "or = [{grid = [640]}"), 2,
     "job.2.or.1 must be a table with one of product, kernel and dataflow"),
    (("or = [", 'or = [{name = "x", kernel = "vector_add", grid = [1]}, '), 2,
     "job.2.or.1.name must be one of product"),
    (("or = [{", "or = 3 # [{"), 2, "job.2.or must be "),
    (('after = ["add"]', 'after = ["add"]\ndeadline = 10'), 1,
     "no mapping keeps all deadlines; where the greatest excess is least, second has ended by"),
    (('after = ["add"]', 'after = ["add"]\ndeadline = "soon"'), 2, "job.3.deadline must be"),
    (('after = ["add"]', 'after = ["add"]\ndeadline = 0'), 2, "job.3.deadline must be at least 1"),
    (('after = ["add"]', 'after = ["second"]'), 2, "wait for each other in a circle: second"),
    (('after = ["add"]', 'after = ["none"]'), 2, "second comes after none, which is no job"),
    (("size = 4", "size = 4\nwindows = [740, 740, 20]"), 2, "the window of dataflow must be at"),
    (('name = "second"\nproduct = [8, 8, 8]\naddress = 0x180000',
      'name = "second"\nkernel = "vector_add"\ngrid = [64]\nbuffers = {0 = "add.z"}'), 2,
     "line 20: job.3.buffers.0 must be the result of a job of one form, since others have theirs"),
])
def test_what_a_file_must_be(call, tmp_path, change, status, says):
    assert change[0] in FILE
    (tmp_path / "mine.toml").write_text(FILE.replace(*change))
    said = call("system", "map", "mine.toml")
    assert (said.returncode, says in said.stderr.replace("\n", " ")) == (status, True), said.stderr


def test_a_form_without_a_bound_is_left_out(call, tmp_path):
    """And where no other is left, it says why."""
    (tmp_path / "endless.sas").write_text(ENDLESS)
    for endless, status in (('or = [{kernel = "endless.sas", grid = [64]}, ', 0), (None, 2)):
        text = FILE.replace("or = [", endless) if endless else FILE.replace(
            'dataflow = "vector_add"\nthreads = 16\naddress = 0x200000\nor = [{kernel = '
            '"vector_add", grid = [640]}, {kernel = "vector_add", grid = [64]}]',
            'kernel = "endless.sas"\ngrid = [64]')
        (tmp_path / "mine.toml").write_text(text)
        said = call("system", "map", "mine.toml")
        assert said.returncode == status, said.stderr
        assert ("no sicj leaves it" in said.stderr.replace("\n", " ")) == bool(status)


@pytest.mark.parametrize(("option", "says"), [
    (["--output", "other/found.toml"], "--output takes a .toml file beside mine.toml"),
    (["--output", "found.txt"], "--output takes a .toml file beside mine.toml"),
    (["--picture", "found.gif"], "--picture takes a file that ends in .svg, .png or .pdf"),
])
def test_where_it_goes(call, tmp_path, option, says):
    (tmp_path / "mine.toml").write_text(FILE)
    said = call("system", "map", "mine.toml", *option)
    assert said.returncode == 2
    assert says in said.stderr.replace("\n", " ")


def test_a_deadline_that_a_bound_exceeds_is_status_1(call, tmp_path):
    (tmp_path / "mine.toml").write_text(FILE.replace('after = ["add"]', "deadline = 10"))
    said = call("system", "wcet", "mine.toml")
    assert said.returncode == 1
    assert "second may end after its deadline" in said.stdout


TEXTS = st.text("aZ9_-. =[]{}\"'\\#\n\t\r\0\x1f\x7f\x85\u2028é\U0001f600", max_size=5)
VALUES = st.recursive(
    st.booleans() | st.integers(-2**63, 2**63 - 1) | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8)


@settings(deadline=None)
@given(st.dictionaries(TEXTS, VALUES, max_size=4))
def test_what_is_written_is_read(tables):
    assert tomllib.loads(toml_text(tables)) == tables
