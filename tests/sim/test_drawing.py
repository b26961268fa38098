"""Pictures of blocks: drawn from what was kept, refused where that is not there."""

import json
import sys
import types
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.describe.block import Block, Picture
from cyclebound.sim.drawing.drawing import figure_of, write

pytestmark = pytest.mark.unit


def drawn(*arguments, **more):
    figure = Figure()
    figure.text(0.5, 0.5, f"{arguments} {more}")
    return figure


HERE = f"{__name__}:drawn"
CURVE = Picture("curve", "A curve.", HERE, {"size": 3}, kept="curve.json", testbenches=("cycle",))


@pytest.fixture(autouse=True)
def here(monkeypatch):
    """This module's name, wherever the tests were collected from."""
    module = types.ModuleType(__name__)
    module.drawn = drawn
    monkeypatch.setitem(sys.modules, __name__, module)


def test_from_what_was_kept(tmp_path):
    (tmp_path / "curve.json").write_text(json.dumps([1, 2]))
    figure = figure_of(CURVE, tmp_path / "curve.json")
    assert figure.texts[0].get_text() == "([1, 2],) {'size': 3}"
    for suffix in (".svg", ".png", ".pdf"):
        write(figure, tmp_path / f"a{suffix}")
        assert (tmp_path / f"a{suffix}").stat().st_size > 500


def test_the_same_figure_is_the_same_file(tmp_path):
    for name in ("a.svg", "b.svg"):
        write(figure_of(Picture("plain", "", HERE), None), tmp_path / name)
    assert (tmp_path / "a.svg").read_text() == (tmp_path / "b.svg").read_text()


@pytest.mark.parametrize(("text", "says"), [
    (None, r"\[Errno 2\] No such file or directory: '\S+/curve\.json'"),
    ("{", r"Expecting property name enclosed in double quotes: line 1 column 2 \(char 1\)")])
def test_nothing_was_kept(tmp_path, text, says):
    if text:
        (tmp_path / "curve.json").write_text(text)
    with pytest.raises(UserError,
                       match=rf"^cannot read what was kept for picture curve: {says}$"):
        figure_of(CURVE, tmp_path / "curve.json")


@pytest.mark.parametrize(("name", "says"), [
    ("a.gif", r"^--output takes a file that ends in \.svg, \.png, \.pdf, not a\.gif$"),
    ("nowhere/a.svg", r"^cannot write nowhere/a\.svg: No such file or directory$")])
def test_where_nothing_can_be_written(tmp_path, monkeypatch, name, says):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=says):
        write(drawn(), Path(name))


def test_names():
    block = Block("a.b", "", dict, {}, (), (), pictures=(CURVE,))
    assert block.picture(None) == block.picture("curve") == CURVE
    with pytest.raises(UserError, match=r"^no picture of a\.b 'curves'; did you mean curve\?$"):
        block.picture("curves")
    with pytest.raises(UserError, match=r"^a\.c has no pictures$"):
        Block("a.c", "", dict, {}, (), ()).picture("curve")


def events(kept, size):
    return {"traceEvents": [kept, size]}


def test_a_trace_is_kept_with_its_picture(tmp_path, monkeypatch):
    from cyclebound.sim import catalogue
    from cyclebound.sim.drawing import drawing

    here = types.ModuleType("traced_here")
    here.drawn, here.events = drawn, events
    monkeypatch.setitem(sys.modules, "traced_here", here)
    curve = Picture("curve", "A curve.", "traced_here:drawn", {"size": 3}, kept="curve.json",
                    testbenches=("cycle",), trace="traced_here:events")
    found = types.SimpleNamespace(find=lambda block: types.SimpleNamespace(
        picture=lambda name: curve))
    monkeypatch.setattr(catalogue, "load", lambda pages: found)
    (tmp_path / "curve.json").write_text("7")
    asked = drawing.Drawing("a.b", "c", "curve", "", str(tmp_path / "curve.json"), "", ())
    made = drawing.with_picture(asked)
    assert "<svg" in made.svg
    assert json.loads(made.trace) == {"traceEvents": [7, 3]}
    (tmp_path / "curve.json").unlink()
    lost = drawing.with_picture(asked)
    assert lost.svg.startswith("No picture: cannot read")
    assert not lost.trace
