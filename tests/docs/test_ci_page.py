"""The CI examples: each command that they have runs, and says what the page promises."""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import yaml

pytestmark = [pytest.mark.system, pytest.mark.thorough]
PAGE = Path(__file__).parents[2] / "docs" / "ci.md"


def written():
    github, gitlab = map(yaml.safe_load, re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(),
                                                    re.MULTILINE | re.DOTALL))
    return github["jobs"]["bounds"], gitlab["bounds"]


def commands():
    """Of each host: the commands, and which of them run after one has failed."""
    github, gitlab = written()
    steps = [(step["run"], step.get("if") == "always()") for step in github["steps"]
             if "run" in step]
    lines = [(line, part == "after_script") for part in ("before_script", "script", "after_script")
             for line in gitlab[part]]
    return {"github": steps, "gitlab": lines}


@pytest.mark.parametrize("broken", [False, True], ids=["kept", "broken"])
@pytest.mark.parametrize("host", ["github", "gitlab"])
def test_every_command_of_an_example(host, broken, tmp_path):
    github, gitlab = written()
    environment = {**os.environ, "PATH": os.pathsep.join([
        str(Path(sys.executable).parent), os.environ["PATH"]])}
    for name, value in gitlab["variables"].items() if host == "gitlab" else ():
        environment[name] = value.replace("$CI_PROJECT_DIR", str(tmp_path))

    def run(line):
        return subprocess.run(line, shell=True, cwd=tmp_path, env=environment, text=True,
                              capture_output=True)

    assert run("cyclebound new gate").returncode == 0
    if broken:  # a bound that is one too small
        model = tmp_path / "gate_model.py"
        text = model.read_text()
        assert text.count("return delay + 1") == 1
        model.write_text(text.replace("return delay + 1", "return delay"))
    failed = False
    for line, always in commands()[host]:
        if failed and not always:
            continue
        done = run(line)
        if "regress" in line:
            failed = done.returncode != 0
            assert done.returncode == int(broken), done.stdout + done.stderr
        else:
            assert done.returncode == 0, f"{line}: {done.stderr}"
    [log] = json.loads((tmp_path / "findings.sarif").read_text())["runs"]
    # in both of the block's configurations
    assert [result["ruleId"] for result in log["results"]] == ["violated", "violated"] * broken
    for result in log["results"]:
        physical = result["locations"][0]["physicalLocation"]
        assert physical["artifactLocation"]["uri"] == "gate_model.py"
    cases = [case.get("name") for case in ElementTree.parse(
        tmp_path / "run" / "junit.xml").iter("testcase")]
    assert any("passage within" in name for name in cases)
    said = ElementTree.parse(tmp_path / "bounds.svg").getroot().get("aria-label")
    assert said.endswith("failing" if broken else "passing")
    wanted = (next(step["with"]["path"].split() for step in github["steps"]
                   if "upload-artifact" in step.get("uses", "")) if host == "github" else
              [*gitlab["artifacts"]["paths"], gitlab["artifacts"]["reports"]["junit"]])
    assert all((tmp_path / name).is_file() for name in wanted)
