"""Commands that pages quote in ``console`` blocks: each prints the lines that are quoted of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kit.pages import Page

ROOT = Path(__file__).parents[2]
OWN = {"check.md", "your-own-block.md"}  # their files are written first, by tests of their own
PAGES = [path.name for path in sorted((ROOT / "docs").glob("*.md")) if path.name not in OWN]
QUOTED = [(name, command, lines) for name in PAGES for command, lines in Page(name).commands()]


@pytest.mark.unit
def test_pages_quote_commands_with_what_they_print():
    assert {name for name, *_ in QUOTED} == {"first-steps.md", "papers.md", "simd_wcet.md",
                                             "simd_wcet_published.md"}
    assert all(lines for *_, lines in QUOTED)


@pytest.mark.system
@pytest.mark.thorough
@pytest.mark.parametrize(("command", "lines"), [quoted[1:] for quoted in QUOTED],
                         ids=[f"{name}: {command}" for name, command, _ in QUOTED])
def test_command(tmp_path, command, lines):
    environment = {**os.environ, "COLUMNS": "200",
                   "PATH": os.pathsep.join([str(Path(sys.executable).parent),
                                            os.environ["PATH"]])}
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    done = subprocess.run(command, shell=True, cwd=tmp_path, env=environment, text=True,
                          capture_output=True)
    said = [" ".join(line.split()) for line in (done.stdout + done.stderr).splitlines()]
    assert done.returncode == ("outside the published scope" in done.stdout), done.stderr[-2000:]
    for line in lines:  # verdicts come in the order in which simulations end
        assert line in said, f"not printed: {line}\n{done.stdout[-4000:]}"
        said.remove(line)
