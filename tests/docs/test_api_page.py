"""The API reference: what the docstrings say now."""

from pathlib import Path

import pytest

from cyclebound.tools.maintenance.api_page import page

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
pytestmark = pytest.mark.unit


def test_is_current():
    assert PAGE.read_text() == page(), (
        "python -m cyclebound.tools.maintenance.api_page > docs/api.md")


@pytest.mark.parametrize("says", [
    "### `Block`", "### `Probe`", "#### `await Bench.step(inputs=0)`", "### `Property`",
    "### `BoundMonitor`", "#### `Bus.pack(values)`", "- `start, end` (str): True in the first",
    "`past(x)`: the value one cycle ago",
])
def test_has_what_a_user_needs(says):
    assert says in page()


def test_nothing_is_without_words():
    lines = page().splitlines()
    headings = [number for number, line in enumerate(lines) if line.startswith("### ")]
    assert len(headings) > 20
    for number in headings:
        words = [line for line in lines[number + 1:number + 25] if line[:1].isalpha()]
        assert words, lines[number]
