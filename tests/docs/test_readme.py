"""The README and the page of commands: rows are of the results page, commands exist; links of all
pages lead somewhere."""

import importlib
import re
import tomllib
from pathlib import Path

import pytest
import typer

from cyclebound.golden.dram.jedec import jedec_parts
from cyclebound.golden.dram.timing import PARTS
from cyclebound.golden.gpu.compute_capability import CAPABILITIES
from cyclebound.sim.cli.base import GROUPS, app
from cyclebound.sim.cli.main import add_commands
from cyclebound.tools.simd.kernels import KERNELS
from kit.pages import Page, results

ROOT = Path(__file__).parents[2]
PAGE = Page("README.md")
COMMANDS = Page("commands.md")
PAGES = sorted(path.name for path in (ROOT / "docs").glob("*.md"))
pytestmark = pytest.mark.unit


def test_its_rows_are_of_the_results_page():
    rows = PAGE.rows("| block | configuration | request: formula |")
    table = results()
    for row in rows:
        key = row[0].strip("`"), row[1], row[2].partition(":")[0]
        told = list(table[key].values())[:len(row)]  # that page has what a row rests on, too
        assert row == told, "now: | " + " | ".join(told) + " |"


def test_the_first_command():
    row = results()["noc.arbiter", "four", "grant"]
    assert row["evidence"].startswith("proved")
    assert PAGE.says(f"{row['verdict']} noc.arbiter four grant within round_robin_wait: worst "
                     f"{row['worst']} of {row['claimed']} in {row['requests']} requests")


def test_how_many_there_are():
    parts = jedec_parts() | PARTS
    oldest, *_, newest = sorted(CAPABILITIES, key=float)
    assert COMMANDS.says(f"{len(parts)} parts", f"{len(KERNELS)} kernels come along",
                         f"sm_{oldest.replace('.', '')} to sm_{newest.replace('.', '')}")
    least = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert PAGE.says(f"Python {least.removeprefix('>=')} or later")


@pytest.fixture(scope="module")
def commands():
    """The command line's commands by name, such as ``dram tile``, each with its options."""
    add_commands([])
    found = dict(typer.main.get_command(app).commands)
    for group, (module, _) in GROUPS.items():
        inside = typer.main.get_command(getattr(importlib.import_module(module), group))
        found |= {f"{group} {name}": command
                  for name, command in getattr(inside, "commands", {"run": inside}).items()}
    return {name: {option for parameter in command.params for option in parameter.opts}
            for name, command in found.items() if name not in GROUPS}


def test_every_command_is_there_and_has_the_options_named(commands):
    named = set()
    for cell, does in COMMANDS.rows("| command | does |"):
        first, *more = re.findall(r"`([a-z0-9]+(?: [a-z0-9]+)?)", cell)
        here = [first, *(f"{first.split()[0]} {name}" for name in more)]
        assert set(here) <= set(commands), cell
        options = set(re.findall(r"`(--?[a-z-]+)", f"{cell} {does}")) | set(
            re.findall(r" (--?[a-z-]+)", cell))
        known = set().union(*(commands[name] for name in here))
        assert options <= known, options - known
        named |= set(here)
    assert {name for name in commands if " " not in name} <= named


def test_the_readme_names_every_command(commands):
    named = {name for _, cell in PAGE.rows("| to | there is |")
             for name in re.findall(r"`([a-z]+)`", cell)}
    assert named == {name.partition(" ")[0] for name in commands}


@pytest.mark.parametrize("name", ["README.md", *PAGES])
def test_links_lead_somewhere(name):
    here = ROOT if name == "README.md" else ROOT / "docs"
    for target, _, anchor in (link.partition("#") for link in re.findall(
            r"\]\(((?!https?:)[^)\s]+)\)", Page(name).text)):
        path = here / target if target else here / name
        assert path.exists(), target
        if anchor:
            heads = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-")
                              for head in heads}, f"{target}#{anchor}"
