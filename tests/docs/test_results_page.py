"""The page of results is of the hardware as it is: its quick part has what the baseline has.

Each `make regress` holds the RTL to the baseline. So a page that differs from it is older than the
RTL that it speaks of: make it anew (its first lines say how).
"""

import json
from pathlib import Path

import pytest

from kit.pages import results

pytestmark = pytest.mark.unit

BASELINES = Path(__file__).parents[2] / "sim" / "regression" / "baselines"


def committed(level):
    """What the baseline of that level has of each claim."""
    rows = [json.loads(line) for path in sorted(BASELINES.glob(f"*-{level}.jsonl"))
            for line in path.read_text().splitlines()]
    return {tuple(row["claim"]): row for row in rows if "claim" in row}


def differences(table, claims):
    """A line for each row that only one side has, or that says something else."""
    of_page = {(*key[:2], row["request: formula"].partition(": ")[2].strip("`"), key[2]): row
               for key, row in table.items()}
    for key in sorted(of_page.keys() ^ claims.keys()):
        yield f"{' '.join(key)}: only {'on the page' if key in of_page else 'in the baseline'}"
    for key in sorted(of_page.keys() & claims.keys()):
        row, claim = of_page[key], claims[key]
        for name, told, known in (
                ("requests", row["requests"], f"{claim['requests']:,}"),
                ("verdict", row["verdict"].partition(" ")[0], claim["verdict"]),
                ("evidence", row["evidence"].partition(":")[0].partition(";")[0],
                 claim["evidence"])):
            if told != known:
                yield f"{' '.join(key)}: {name} {told}, now {known}"


def test_the_quick_part_is_as_the_baseline():
    assert not list(differences(results(), committed("quick")))


def test_what_is_older_is_named():
    key = ("noc.arbiter", "four", "grant")
    row = results()[key]
    claim = committed("quick")["noc.arbiter", "four", "round_robin_wait", "grant"]
    known = {("noc.arbiter", "four", "round_robin_wait", "grant"): claim}
    assert not list(differences({key: row}, known))
    assert list(differences({key: row}, {})) == [
        "noc.arbiter four round_robin_wait grant: only on the page"]
    assert list(differences({}, known)) == [
        "noc.arbiter four round_robin_wait grant: only in the baseline"]
    assert list(differences({key: row | {"requests": "1,000", "verdict": "held (1/2 exact)"}},
                            known)) == [
        "noc.arbiter four round_robin_wait grant: requests 1,000, now 6,015",
        "noc.arbiter four round_robin_wait grant: verdict held, now exact"]
