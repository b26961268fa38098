"""The page about energy: its commands print what it quotes."""

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from cyclebound.golden.dataflow import kernels
from cyclebound.golden.dataflow.counters import EVENTS
from cyclebound.golden.dataflow.energy import costs_in
from cyclebound.sim.cli import main as cli
from kit.pages import Page

PAGE = Page("dataflow-energy.md").text
pytestmark = [pytest.mark.system,
              pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")]


def test_the_commands_of_the_page(tmp_path, monkeypatch, capsys):
    def command(text):
        monkeypatch.setattr(sys, "argv", shlex.split(text))
        with pytest.raises(SystemExit) as left:
            cli.main()
        assert left.value.code == 0
        return capsys.readouterr().out

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    Path("kernels.cl").write_text(Path(kernels.__file__).with_suffix(".cl").read_text())
    assert "seq -s, 0 255 > x.csv\n" in PAGE
    Path("x.csv").write_text(",".join(map(str, range(256))) + "\n")
    first, energy = re.findall(r"^(cyclebound dataflow .*)$", PAGE, re.MULTILINE)
    command(first)
    said = [" ".join(line.split()) for line in command(energy).splitlines()]
    quoted = re.findall(r"^    (\S.*)$", PAGE, re.MULTILINE)
    assert len(quoted) == 14
    for line in quoted:
        assert any(printed.startswith(" ".join(line.split())) for printed in said), line
    other = json.loads(command(energy.replace("horowitz", "aladdin --json")))
    share = other["terms"][0]["pJ"] / other["pJ"]
    assert other["terms"][0]["name"] == "cache_access"
    assert (f"{other['pJ_per_instruction']:.2f} pJ, of which the cache takes {share:.1%}"
            .replace("%", " %")) in PAGE.replace("\n", " ")
    command(first.replace(" --miss-rate 0", ""))
    missing = json.loads(command(energy + " --json"))
    assert f"({missing['pJ_per_instruction']:,.2f} pJ per instruction)" in PAGE
    assert f"{missing['terms'][0]['pJ'] / missing['pJ']:.1%}".replace("%", " %") in PAGE


def test_the_table_of_the_page():
    text = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)[1]
    assert {name: list(found) for name, found in costs_in(text).items()} == {
        "event": ["fmul"], "leakage": ["compute"]}
    named = set(re.findall(r"`(\w+)`", PAGE.split("## Events")[1].split("leakage |")[0]))
    assert named <= set(EVENTS)
