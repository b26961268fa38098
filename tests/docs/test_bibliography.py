"""Docstrings and bounds cite by the keys of docs/bibliography.md."""

import re
import tomllib
from pathlib import Path

import pytest

from cyclebound.sim import catalogue

ROOT = Path(__file__).parents[2]
KEYS = {key for row in re.findall(r"^\| ([^|]+) \| .*\d.* \|$|^\| (ONNX|DFI) \|",
                                  (ROOT / "docs/bibliography.md").read_text(), re.MULTILINE)
        for key in "".join(row).split(", ")}
FILES = [path for folder in ("golden", "hdl", "tb", "sim", "tools")
         for path in sorted((ROOT / folder).rglob("*.py"))]
OURS = re.compile(r"golden/\w+/\w+\.py|the same as ")  # what another file of ours cites

pytestmark = pytest.mark.unit


def uncited(text):
    """What a text cites that does not begin with a key."""
    return [said for said in re.findall(r"^Ref: (.*)", text, re.MULTILINE)
            if not OURS.match(said) and not said.startswith(tuple(KEYS))]


def test_docstrings_cite_by_key():
    texts = {path: path.read_text() for path in FILES}
    assert sum(text.count("\nRef: ") for text in texts.values()) > 150
    assert {str(path.relative_to(ROOT)): found for path, text in texts.items()
            if (found := uncited(text))} == {}


def test_a_citation_of_nobody_is_named():
    assert uncited('"""A walk.\n\nRef: Naber et al., Sim-D, section 3.2.1.\n"""') == [
        "Naber et al., Sim-D, section 3.2.1."]


def test_bounds_cite_by_key():
    sources = {bound.bound.source for block in catalogue.load() for bound in block.bounds}
    assert len(sources) > 5
    assert [source for source in sources
            if not source.startswith((*KEYS, "this project", "given"))] == []


def test_one_version_and_its_date_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    cited = dict(re.findall(r"^(version|date-released): (.*)$", (ROOT / "CITATION.cff").read_text(),
                            re.MULTILINE))
    newest = re.search(r"^## (\S+) \((\S+)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest.groups() == (project, cited["date-released"])
    assert cited["version"] == project
