"""What each test costs, and which are therefore `thorough`: those of ``tests/costs.csv``.

    make test-thorough ARGS="--costs tests/costs.csv"    # measure anew: what takes over 0.6 CPU-s
    make test ARGS="--costs tests/costs.csv"             # the same, and the others stay as they are
    make test-thorough ARGS="--below 10"                 # only those of the table that take less

CPU seconds of the test's process and of the processes that it started and waited for, fixtures
included. A test that is in the table, and is not marked ``each_commit``, is left out without
``--thorough``, and comes in its turn in CI (`tests/rotate.py`: what takes some seconds on each
tenth commit). A new test runs until it is measured.
"""

import csv
import os
import resource
from pathlib import Path

import pytest

__all__ = ["DEAR", "read", "write"]

TABLE = Path(__file__).parents[1] / "costs.csv"
DEAR = 0.6  # CPU seconds
_SHOWN = 10  # of the dearest, at a session's end


def read(path: Path) -> dict[str, float]:
    """CPU seconds of each test in the table. Raises ValueError."""
    with path.open(newline="") as lines:
        rows = list(csv.reader(lines))
    if not rows or rows[0] != ["test", "cpu_seconds"]:
        raise ValueError(f"{path.name}: the first line must be test,cpu_seconds")
    return {test: float(seconds) for test, seconds in rows[1:]}


def write(path: Path, measured: dict[str, float], there: dict[str, float]) -> None:
    """The dear ones of those measured now, and of those that were measured before."""
    now = {test: seconds for test, seconds in (there | measured).items() if seconds >= DEAR}
    new = path.with_suffix(".new")
    with new.open("w", newline="") as lines:
        rows = csv.writer(lines, lineterminator="\n")
        rows.writerow(["test", "cpu_seconds"])
        rows.writerows((test, f"{seconds:.1f}") for test, seconds in sorted(now.items()))
    os.replace(new, path)


def pytest_addoption(parser):
    parser.addoption("--costs", type=Path, metavar="FILE",
                     help=f"put the tests that take over {DEAR:g} CPU-s into FILE")
    parser.addoption("--below", type=float, metavar="SECONDS",
                     help="only those that wait for their turn and take less CPU time")


@pytest.hookimpl(tryfirst=True)  # before pytest chooses by marks
def pytest_collection_modifyitems(config, items):
    dear, below = read(TABLE), config.getoption("below")
    for item in items:
        if item.nodeid in dear and not item.get_closest_marker("each_commit"):
            item.add_marker("thorough")
    if below is not None:
        others = {item for item in items if dear.get(item.nodeid, below) >= below
                  or item.get_closest_marker("each_commit")}
        config.hook.pytest_deselected(items=[item for item in items if item in others])
        items[:] = [item for item in items if item not in others]


def _cpu() -> float:
    return sum(used.ru_utime + used.ru_stime for used in map(
        resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    item.stash[_BEGAN] = _cpu()
    return (yield)


_BEGAN = pytest.StashKey[float]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.when == "teardown":
        report.user_properties.append(("cpu_seconds", _cpu() - item.stash[_BEGAN]))
    return report


def pytest_terminal_summary(terminalreporter, config):
    measured = {report.nodeid: value
                for reports in terminalreporter.stats.values() for report in reports
                if getattr(report, "when", None) == "teardown"
                for name, value in report.user_properties if name == "cpu_seconds"}
    dearest = sorted(measured, key=measured.__getitem__, reverse=True)
    if len(measured) > _SHOWN:
        terminalreporter.section(f"{sum(measured.values()):,.0f} CPU-s; the dearest")
        for test in dearest[:_SHOWN]:
            terminalreporter.line(f"{measured[test]:6.1f} {test}")
    if path := config.getoption("costs"):
        write(path, measured, read(path) if path.exists() else {})
