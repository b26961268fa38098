"""Calls of ``cyclebound`` on pages: their commands, options, blocks, tests and pictures exist."""

import functools
import re
import shlex
from pathlib import Path

import pytest
import typer.main

from cyclebound.sim.catalogue import load
from cyclebound.sim.cli.base import GROUPS, app
from cyclebound.sim.cli.main import add_commands
from cyclebound.sim.describe.named_tests import named_tests
from kit.pages import Page

pytestmark = [pytest.mark.unit,
              pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")]

ROOT = Path(__file__).parents[2]
OF_OWN_BLOCKS = {"check.md", "your-own-block.md"}
PAGES = ["README.md", *(path.name for path in sorted((ROOT / "docs").glob("*.md"))
                        if path.name not in OF_OWN_BLOCKS)]
PLACEHOLDERS = {"BLOCK", "FAMILY", "NAME", "C"}
OF_BLOCKS = {"regress": "blocks", "list": "names", "bound": "name", **dict.fromkeys(
    ("run", "picture", "verilog", "monitor", "prove", "fpga", "mutate"), "block")}
"""Commands about blocks, and the parameter that names them."""


def calls(text):
    """The words after ``cyclebound`` of each call in a page's code that has a command's name."""
    for line in re.findall(r"`(?:\$ )?cyclebound ([a-z][^`\n]*)`"
                           r"|^(?:\$ | {4})?cyclebound ([a-z].*)$", text, re.MULTILINE):
        words = re.split(r" {2,}| [#(>]|; ", "".join(line))[0]
        try:
            yield shlex.split(words.replace("...", " "))
        except ValueError:  # a quotation that goes on in the next line
            continue


def wrong(words):
    """What a call names that does not exist; empty if there is nothing."""
    command, rest = all_commands(), [word for word in words if word != "--help"]
    while rest and hasattr(command, "commands"):
        if rest[0] not in command.commands:
            return f"command {rest[0]}"
        command = command.commands[rest.pop(0)]
    try:
        given = command.make_context(words[0], rest, resilient_parsing=False).params
    except Exception as error:  # typer's own, wherever its version keeps their classes
        message = error.format_message() if hasattr(error, "format_message") else repr(error)
        # a text may name a command without what it is for: `cyclebound prove`
        return "" if re.match(r"Missing |Option '\S+' requires an argument", message) else message
    return wrong_names(words[0], given) if words[0] in OF_BLOCKS else ""


@functools.cache
def all_commands():
    add_commands(list(GROUPS))
    return typer.main.get_command(app)


@functools.cache
def catalogue():
    return load()


def wrong_names(command, given):
    """Of the parameters of a command about blocks: a name that none of these blocks has."""
    names = given[OF_BLOCKS[command]] or ()
    names = [names] if isinstance(names, str) else names
    if PLACEHOLDERS & set(names) or any("<" in name for name in names):
        return ""
    if command == "picture":
        given = {**given, "picture": given["name"]}
    try:
        blocks = catalogue().select(names)
    except Exception as error:
        return str(error)

    def lacks(key, known):
        wanted = given.get(key) or ()
        wanted = [wanted] if isinstance(wanted, str) else wanted
        return [f"{key} {word}" for word in wanted
                if word not in PLACEHOLDERS and word not in known]

    benches = [bench for block in blocks for bench in block.testbenches]
    tests = {test for bench in benches for test in named_tests(bench.module)}
    configurations = {name for block in blocks for name in block.configurations}
    found = [*lacks("configuration", configurations), *lacks("configurations", configurations),
             *lacks("testbench", {bench.name for bench in benches}),
             *lacks("testbenches", {bench.name for bench in benches}), *lacks("test", tests),
             *lacks("picture", {picture.name for block in blocks for picture in block.pictures})]
    return ", ".join(found)


@pytest.mark.each_commit  # one or two CPU-s each, and a page changes often
@pytest.mark.parametrize("name", PAGES)
def test_calls_on_a_page(name):
    assert not [(words, problem) for words in calls(Page(name).text) if (problem := wrong(words))]


def test_calls_are_found():
    assert sum(len([*calls(Page(name).text)]) for name in PAGES) > 200
    assert [*calls("a `cyclebound list noc...` b\n    cyclebound dram tile   # text\n")] == [
        ["list", "noc"], ["dram", "tile"]]


@pytest.mark.parametrize(("call", "problem"), [
    ("nothing", "command nothing"), ("dram title", "command title"),
    ("dram tile --word 3", "No such option"), ("dram tile --words many", "Invalid value"),
    ("regress noc.arbitre", "no block 'noc.arbitre'"),
    ("regress noc.arbiter -c fuor", "configurations fuor"),
    ("run noc.arbiter --testbench cylce", "testbench cylce"),
    ("run noc.arbiter --test none", "test none"), ("picture noc.mesh curve", "curve")])
def test_what_does_not_exist_is_named(call, problem):
    assert problem in wrong(call.split())
