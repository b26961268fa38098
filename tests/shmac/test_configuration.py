"""What each tile of a SHMAC grid is given: key-value pairs by tile, and what is refused."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cyclebound.golden.shmac.layout import Kind, Layout
from cyclebound.tools.shmac.configuration import (
    Configuration,
    ConfigurationError,
    parse_configuration,
    size_of,
)
from kit.refusal import refusal

pytestmark = pytest.mark.unit

GRID = Layout(("JPR", "PLU"))
TEXT = """
# who does what
*:   program = worker.c   # the others
0,1: program = a program.c
0,1: ram = 128K
  0,2:ram=4096
1,1: ram = 1M
* : boot = jump
1,0: boot = stub
"""


def test_what_is_said_of_tiles():
    assert parse_configuration(TEXT, GRID) == Configuration(
        {(0, 1): "a program.c", (1, 0): "worker.c"},
        {(0, 1): 128 << 10, (0, 2): 4096, (1, 1): 1 << 20}, frozenset({(0, 1)}))


def test_nothing_is_said():
    assert parse_configuration("# nothing\n\n", GRID) == Configuration()


@pytest.mark.parametrize(("text", "says"), [
    ("program", "line 1, column 1: a line must be ROW,COLUMN: KEY = VALUE, not 'program'"),
    ("\n  0,1: program",
     "line 2, column 3: a line must be ROW,COLUMN: KEY = VALUE, not '0,1: program'"),
    ("0,1: progam = x",
     ("line 1, column 6: a key must be one of program, ram, boot, not 'progam'; did you mean "
     "program?")),
    ("0,1: program =", "line 1, column 15: program must have a value"),
    ("0;1: ram = 4K", "line 1, column 1: a tile must be ROW,COLUMN or *, not '0;1'"),
    (": ram = 4K", "line 1, column 1: a tile must be ROW,COLUMN or *, not ''"),
    ("2,0: ram = 4K", "line 1, column 1: tile (2, 0) must be in the grid of 2 x 3 tiles"),
    ("0,2: program = x", "line 1, column 1: program is of tiles P, and tile (0, 2) is R"),
    ("1,2: ram = 4K", "line 1, column 1: ram is of tiles P, R, L, and tile (1, 2) is U"),
    ("0,1: ram = 4k", ("line 1, column 12: ram must be 4096 to 16777216 bytes (4K to 16M), a "
     "multiple of 8, not '4k'")),
    ("0,1: ram = 17M", ("line 1, column 12: ram must be 4096 to 16777216 bytes (4K to 16M), a "
     "multiple of 8, not '17M'")),
    ("0,1: program = a.c\n1,0: ram = 4K\n0,1: program = b.c",
     "line 3, column 1: program of 0,1 is there already, in line 1: 'a.c', not 'b.c' too"),
    ("*: program = a.c\n*: program = b.c",
     "line 2, column 1: program of * is there already, in line 1: 'a.c', not 'b.c' too"),
    ("0,1: boot = late", "line 1, column 13: boot must be stub or jump, not 'late'"),
])
def test_what_is_refused(text, says):
    with pytest.raises(ConfigurationError, match=f"^{re.escape(says)}$"):
        parse_configuration(text, GRID)


def test_a_jump_tile_that_is_needed_and_absent():
    with pytest.raises(ConfigurationError, match=r"^line 1, column 13: boot = jump needs a jump "
                                                 r"tile J at \(0, 0\), which is 'P'$"):
        parse_configuration("0,1: boot = jump", Layout(("PP",)))


tiles = st.sampled_from(GRID.tiles(Kind.CORE))


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(tiles, st.from_regex(r"[a-z]{1,8}\.c", fullmatch=True)),
       st.dictionaries(tiles, st.integers(512, 1 << 21)))
def test_what_is_written_is_read(programs, eights):
    lines = [f"{row},{column}: program = {name}" for (row, column), name in programs.items()]
    lines += [f"{row},{column}: ram = {8 * size}" for (row, column), size in eights.items()]
    assert parse_configuration("\n".join(lines), GRID) == Configuration(
        programs, {tile: 8 * size for tile, size in eights.items()})


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(), max_size=200)
       | st.text("0123*,:=# \nprogramboot", max_size=80))
def test_any_text_is_a_configuration_or_is_refused_with_its_place(text):
    says = refusal(ConfigurationError, parse_configuration, text, GRID)
    assert says is None or re.fullmatch(r"line \d+, column \d+: .*", says)


@pytest.mark.parametrize(("text", "bytes_"), [("4096", 4096), ("64K", 65536), ("16M", 1 << 24)])
def test_sizes(text, bytes_):
    assert size_of(text) == bytes_
