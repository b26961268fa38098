"""What ``--shard`` and ``--thorough`` leave out, and one report of all parts."""

import importlib.util
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.system

TESTS = """
import pytest

@pytest.mark.parametrize("number", range(40))
def test_short(number):
    pass

@pytest.mark.thorough
@pytest.mark.parametrize("number", range(20))
def test_long(number):
    pass
"""


@pytest.fixture
def collected(pytester):
    """``collected(*options)``: the tests that would run."""
    pytester.makeconftest((Path(__file__).parents[1] / "conftest.py").read_text())
    pytester.makeini("[pytest]\nmarkers = thorough")
    pytester.makepyfile(TESTS)

    def names(*options):
        said = pytester.runpytest_inprocess("--collect-only", "-q", *options)
        return [line.partition("::")[2] for line in said.outlines if "::" in line]

    return names


@pytest.mark.parametrize("parts", [1, 2, 4])
def test_parts_are_a_partition(collected, parts):
    found = [collected("--thorough", f"--shard={part}/{parts}") for part in range(1, parts + 1)]
    assert all(len(shard) > 40 / parts for shard in found)
    assert sorted(name for names in found for name in names) == sorted(collected("--thorough"))
    assert len(collected("--thorough")) == 60


def test_a_part_is_the_same_every_time(collected):
    assert collected("--shard=2/3") == collected("--shard=2/3")
    assert set(collected("--shard=2/3")) < set(collected("--shard=2/3", "--thorough"))


@pytest.mark.parametrize("wrong", ["0/4", "5/4", "1/0", "1", "a/b", "1/4/2", "-1/4", ""])
def test_a_part_that_is_none(collected, pytester, wrong):
    said = pytester.runpytest_inprocess(f"--shard={wrong}")
    assert said.ret == pytest.ExitCode.USAGE_ERROR
    said.stderr.fnmatch_lines([f"*--shard*{wrong!r}*"])



# -- one report of all parts -----------------------------------------------------------------------


@pytest.fixture
def merging(pytester):
    """``merging(parts)``: what `merge` says of the tests above, run in so many parts."""
    pytester.makeconftest((Path(__file__).parents[1] / "conftest.py").read_text())
    pytester.makeini("[pytest]\nmarkers = thorough")
    pytester.makepyfile(TESTS + "\ndef test_wrong():\n    assert 'a' == 'b<\\n'\n\n"
                        "def test_left_out():\n    pytest.skip('no')\n\n"
                        "class TestOne:\n    @pytest.mark.parametrize('x', ['a::b/c.py', '[]'])\n"
                        "    def test_two(self, x):\n        pass\n")
    spec = importlib.util.spec_from_file_location(
        "merge_parts", Path(__file__).parents[1] / "merge_parts.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def run(of, *ran):
        files = []
        for part in ran:
            files.append(Path(f"part{len(files)}.xml"))
            pytester.runpytest_inprocess("--thorough", f"--shard={part}/{of}",
                                         f"--junitxml={files[-1]}")
        return module.merge(files, module.collected(["--thorough"]))

    return run


def test_parts_are_merged(merging):
    whole, problems, said = merging(3, 1, 2, 3)
    assert len(problems) == 1
    assert re.fullmatch(r"part\d\.xml: test_parts_are_merged test_wrong: AssertionError: .*",
                        problems[0])
    assert re.fullmatch(r"64 tests in 3 parts, \d s: 1 failure, 62 passed, 1 skipped", said)
    assert {name: whole.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "64", "failures": "1", "errors": "0", "skipped": "1"}


def test_a_part_that_is_missing_or_there_twice(merging):
    _, problems, said = merging(3, 1, 2)
    number = int(said.split()[0])
    assert 30 < number < 64
    assert sum(line.endswith("has no result in any part") for line in problems) == 64 - number
    _, problems, _ = merging(2, 1, 2, 2)
    assert sum(line.endswith("has 2 results") for line in problems) > 20


def test_a_part_that_cannot_be_read(merging):
    _, problems, said = merging(1)
    assert said.startswith("0 tests in 0 parts")
    assert len(problems) == 64
