"""Layouts of SHMAC's grids as texts, and what is refused, with its place."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cyclebound.golden.shmac.layout import Kind, Layout, LayoutError, parse_layout
from kit.refusal import refusal

pytestmark = pytest.mark.unit

CHARACTERS = "".join(kind.value for kind in Kind)
rows = st.integers(1, 16).flatmap(lambda width: st.lists(
    st.text(CHARACTERS, min_size=width, max_size=width), min_size=1, max_size=16))


@settings(max_examples=60, deadline=None)
@given(rows=rows, before=st.sampled_from(["", "# a comment\n", "\n\n"]),
       after=st.sampled_from(["", "\n", "\n\n# end", " \t\r\n"]),
       end=st.sampled_from(["\n", "\r\n", " \n", "\n# between\n"]))
def test_what_is_written_is_read(rows, before, after, end):
    layout = parse_layout(before + end.join(rows) + after)
    assert layout == Layout(tuple(rows))
    assert (layout.height, layout.width) == (len(rows), len(rows[0]))
    assert str(layout) == "\n".join(rows)
    for row, kept in enumerate(rows):
        for column, character in enumerate(kept):
            assert layout.kind((row, column)) is Kind(character)
    assert layout.kind((len(rows), 0)) is layout.kind((-1, 0)) is layout.kind((0, 16)) is None
    assert sum(len(layout.tiles(kind)) for kind in Kind) == len(layout.tiles())


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(), max_size=300) | st.text("PRLJCU.#\n X", max_size=60))
def test_any_text_is_a_layout_or_is_refused_with_its_place(text):
    says = refusal(LayoutError, parse_layout, text)
    if says is None:
        layout = parse_layout(text)
        assert parse_layout(str(layout)) == layout
    else:
        assert re.fullmatch(r"line \d+, column \d+: .*|a layout must have a tile", says)


@settings(max_examples=60, deadline=None)
@given(rows=rows, data=st.data())
def test_a_wrong_character_is_named_with_its_place(rows, data):
    row = data.draw(st.integers(0, len(rows) - 1))
    column = data.draw(st.integers(0, len(rows[0]) - 1))
    rows[row] = f"{rows[row][:column]}x{rows[row][column + 1:]}"
    says = f"line {row + 2}, column {column + 1}: a tile must be one of P R L J C U ., not 'x'"
    with pytest.raises(LayoutError, match=f"^{re.escape(says)}$"):
        parse_layout("# head\n" + "\n".join(rows))


@pytest.mark.parametrize(("text", "says"), [
    ("", "a layout must have a tile"),
    ("\n# PP\n", "a layout must have a tile"),
    ("PP\nPPP", "line 2, column 3: all rows must have as many tiles as the first, 2, not 3"),
    ("PP\n#\nP", "line 3, column 2: all rows must have as many tiles as the first, 2, not 1"),
    ("PP\n\nPP", "line 2, column 1: a row must not be empty"),
    ("P P", "line 1, column 2: a tile must be one of P R L J C U ., not ' '"),
    ("P" * 17, "line 1, column 17: a row must have at most 16 tiles, not 17"),
    ("P\n" * 17, "line 17, column 1: a layout must have at most 16 rows"),
])
def test_what_is_refused(text, says):
    with pytest.raises(LayoutError, match=f"^{re.escape(says)}$"):
        parse_layout(text)
