"""One report of `make test-thorough` from its parts, which ran on several machines.

    make test-thorough ARGS="--shard 1/4 --junitxml part-1.xml"      # and 2/4, 3/4, 4/4
    .venv/bin/python tests/merge_parts.py part-*.xml -o all.xml

The tests are collected again, here: one that has no result in any part is named, as one that failed
is. The exit status is 0 if each has passed or was skipped, in one part and not in two.
"""

import argparse
import collections
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

__all__ = ["address", "collected", "merge"]

ROOT = Path(__file__).parents[1]


def address(node: str) -> str:
    """A test's name in JUnit XML, ``class name``, from pytest's."""
    path, *inner = node.partition("[")[0].split("::")
    module = path.removesuffix(".py").replace("/", ".")
    name = inner[-1] + node[len(node.partition("[")[0]):]
    return f"{'.'.join([module, *inner[:-1]])} {name}"


def collected(words: Sequence[str]) -> list[str]:
    """The addresses of all tests that pytest finds with these words."""
    found = []

    class Collector:
        def pytest_collection_finish(self, session: pytest.Session) -> None:
            found.extend(address(item.nodeid) for item in session.items)

    status = pytest.main(["--collect-only", "-p", "no:terminal", *words],
                         plugins=[Collector()])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise SystemExit(f"the tests cannot be collected: pytest ended with status {status}")
    return found


def merge(parts: Sequence[Path], expected: Iterable[str]
          ) -> tuple[ElementTree.Element, list[str], str]:
    """All results as one suite, what is wrong with them (a line each), and how many there are."""
    whole = ElementTree.Element("testsuite", name="tests")
    fates: dict[str, list[str]] = collections.defaultdict(list)
    problems = []
    for part in parts:
        try:
            cases = [*ElementTree.parse(part).getroot().iter("testcase")]
        except (OSError, ElementTree.ParseError) as error:
            problems.append(f"{part} cannot be read: {error}")
            continue
        for case in cases:
            whole.append(case)
            name = f"{case.get('classname')} {case.get('name')}"
            fate = next((child.tag for child in case
                         if child.tag in ("failure", "error", "skipped")), "passed")
            fates[name].append(fate)
            if fate in ("failure", "error"):
                said = next(child.get("message") or "" for child in case if child.tag == fate)
                problems.append(f"{part}: {name}: {(said.splitlines() or [fate])[0]}")
    expected = set(expected)
    # an error after a test has passed or failed is a second case of it
    problems += [f"{name} has {len(fate)} results" for name, fate in fates.items()
                 if len(fate) > 1 + ("error" in fate)]
    problems += [f"{name} has no result in any part" for name in sorted(expected - set(fates))]
    problems += [f"{name} is no test here" for name in sorted(set(fates) - expected)]
    tally = collections.Counter(fate for of_one in fates.values() for fate in of_one)
    for key, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        whole.set(key, str(tally[tag]))
    whole.set("tests", str(sum(tally.values())))
    seconds = sum(float(case.get("time", 0)) for case in whole)
    whole.set("time", f"{seconds:.3f}")
    words = ", ".join(f"{number} {fate}" for fate, number in sorted(tally.items()))
    return whole, problems, f"{len(fates)} tests in {len(parts)} parts, {seconds:,.0f} s: {words}"


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="+", type=Path, metavar="FILE",
                        help="JUnit XML of a part (--junitxml)")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE",
                        help="JUnit XML of all")
    parser.add_argument("--quick", action="store_true",
                        help="the parts are of `make test`, without --thorough")
    options = parser.parse_args()
    words = [f"--rootdir={ROOT}", *([] if options.quick else ["--thorough"]), str(ROOT / "tests")]
    whole, problems, said = merge(options.parts, collected(words))
    ElementTree.ElementTree(whole).write(options.output, encoding="utf-8", xml_declaration=True)
    print(*problems, said, sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
