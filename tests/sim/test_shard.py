"""What ``--shard`` and ``--thorough`` leave out."""

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
    assert all(len(each) > 40 / parts for each in found)
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

