"""Part files: what they may say, and what is said about those that are none."""

import re
from pathlib import Path

import pytest

from cyclebound.golden.dram.part_file import PartFileError, load_part
from cyclebound.golden.dram.timing import DDR4_3200AA_X8, DDR4_3200AA_X16, TIMINGS, Number
from kit.parts import part_text

pytestmark = pytest.mark.unit

NAME = "DDR4-2400R x16 (2 bank groups)"
EXAMPLE = Path(__file__).parents[2] / "docs" / "parts" / "ddr4-2400.toml"


def changed(tmp_path, old, new):
    """The example with one line changed."""
    text = EXAMPLE.read_text()
    assert text.count(f"\n{old}") == 1
    text = re.sub(rf"(?m)^{re.escape(old)}.*$", lambda _: new, text)
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return path


def test_the_example_loads():
    part = load_part(EXAMPLE)
    assert (part.name, part.generation, part.tck_ps) == (
        "DDR4-2400R x16 (2 bank groups)", "DDR4", 833)
    assert (part.banks, part.bank_groups, part.rows, part.columns) == (8, 2, 65536, 1024)
    assert {name: getattr(part, name) for name in TIMINGS} == {
        "nRCD": 16, "nCAS": 16, "nCWD": 12, "nRP": 16, "nBURST": 4, "nRAS": 39, "nRC": 55,
        "nRTP": 10, "nWR": 19, "nWTR_S": 4, "nWTR_L": 10, "nCCD_S": 4, "nCCD_L": 7, "nRRD_S": 7,
        "nRRD_L": 8, "nFAW": 37, "nRFC": 421, "nREFI": 9363, "nWPRE": 1}
    assert part.numbers["nRTP"] == Number(4, 7500, "JESD79-4, tRTP")
    assert part.numbers["nRCD"].picoseconds == 13_320
    assert load_part(str(EXAMPLE)) == part


@pytest.mark.parametrize("part", [DDR4_3200AA_X16, DDR4_3200AA_X8])
def test_named_part_written_out_and_read_back(tmp_path, part):
    path = tmp_path / "part.toml"
    path.write_text(part_text(part))
    assert load_part(path) == part


@pytest.mark.parametrize(("text", "cycles", "picoseconds"), [
    ("{ns = 13.328}", 16, 13_328),   # 16 clocks of 833 ps, and no float makes it 17
    ("{ns = 13.329}", 17, 13_329),
    ("{ns = 1.3328e1}", 16, 13_328),
    ("{ns = 13}", 16, 13_000),
    ("{ck = 20, ns = 13.32}", 20, 13_320),
    ("{ck = 4, ns = 13.329}", 17, 13_329),
    ("17", 17, 0),
])
def test_times_are_exact(tmp_path, text, cycles, picoseconds):
    part = load_part(changed(tmp_path, "nRCD", f"nRCD = {text}"))
    assert (part.nRCD, part.numbers["nRCD"].picoseconds) == (cycles, picoseconds)


def test_no_four_activate_window(tmp_path):
    assert load_part(changed(tmp_path, "nFAW", "nFAW = 0")).nFAW == 0


@pytest.mark.parametrize(("old", "new", "says"), [
    # missing
    ("nRP ", "", "[timing] must have nRP"),
    ("rows", "", "[part] must have rows"),
    ("[timing]", "", "the file must have timing"),
    ("nRCD", "nRCD = {}", "nRCD must have ck, ns, or both"),
    # unknown
    ("nRCD", "nRCDD = 16", "unknown 'nRCDD' in [timing]; did you mean 'nRCD'?"),
    ("banks", "bancs = 8", "unknown 'bancs' in [part]; did you mean 'banks'?"),
    ("nRCD", "nRCD = {ps = 13320}", "unknown 'ps' in nRCD; known: ck, ns, source"),
    ("nRCD", "nRCD = {sorce = ''}", "unknown 'sorce' in nRCD; did you mean 'source'?"),
    ("[timing]", "[timings]", "unknown 'timings' in the file; did you mean 'timing'?"),
    # of the wrong kind
    ("nRCD", "nRCD = '16'", "nRCD must be a whole number, not '16'"),
    ("nRCD", "nRCD = 13.75", "nRCD must be a whole number, not 13.75"),
    ("nRCD", "nRCD = true", "nRCD must be a whole number, not True"),
    ("nRCD", "nRCD = {ck = 1.5}", "ck of nRCD must be a whole number, not 1.5"),
    ("nRCD", "nRCD = {ns = '13'}", "ns of nRCD must be a number, not '13'"),
    ("nRCD", "nRCD = {ns = true}", "ns of nRCD must be a number, not True"),
    ("nRCD", "nRCD = {ck = 16, source = 4}", "source of nRCD must be a text, not 4"),
    ("name", "name = 2400", "name must be a text, not 2400"),
    ("name", "name = ''", "name must be a text, not ''"),
    ("tck_ps", "tck_ps = 833.3", "tck_ps must be a whole number, not 833.3"),
    # out of range
    ("nRCD", "nRCD = -1", "nRCD must be at least 0, not -1"),
    ("nRCD", "nRCD = {ck = -1}", "ck of nRCD must be at least 0, not -1"),
    ("nRCD", "nRCD = {ns = -13.32}", "ns of nRCD must not be negative, not -13.32"),
    ("nRCD", "nRCD = {ns = inf}", "ns of nRCD must be finite, not Infinity"),
    ("nRCD", "nRCD = {ns = nan}", "ns of nRCD must be finite, not NaN"),
    ("nRCD", "nRCD = {ns = 13.3205}", "ns of nRCD must be whole picoseconds, not 13.3205"),
    ("tck_ps", "tck_ps = 0", "tck_ps must be at least 1, not 0"),
    ("nRCD", "nRCD = 0", f"{NAME}: nRCD must be at least 1, not 0"),
    ("banks", "banks = 6", f"{NAME}: banks must be a power of two, not 6"),
    ("generation", "generation = 'DDR5'",
     f"{NAME}: generation must be DDR3 or DDR4, not 'DDR5'"),
    # contradictory
    ("nRC ", "nRC = 54", f"{NAME}: nRC must be at least nRAS + nRP, not 54"),
    ("nREFI", "nREFI = 421", f"{NAME}: nREFI must be greater than nRFC, not 421"),
    # not TOML
    ("nRCD", "nRCD 16",
     "must be TOML: Expected '=' after a key in a key/value pair (at line 17, column 6)"),
])
def test_refuses(tmp_path, old, new, says):
    path = changed(tmp_path, old, new)
    with pytest.raises(PartFileError, match=f"^{re.escape(f'{path}: {says}')}$"):
        load_part(path)


@pytest.mark.parametrize(("content", "says"), [
    (b"", "the file must have part, timing"),
    (b"part = 3\n[timing]\n", "[part] must be a table, not 3"),
    (b"timing = []\n[part]\n", "[timing] must be a table, not []"),
    (b"\xff\xfe", "must be UTF-8"),
])
def test_refuses_files(tmp_path, content, says):
    path = tmp_path / "odd.toml"
    path.write_bytes(content)
    with pytest.raises(PartFileError, match=f"^{re.escape(f'{path}: {says}')}$"):
        load_part(path)


def test_refuses_what_is_not_there(tmp_path):
    path = tmp_path / "none.toml"
    with pytest.raises(PartFileError, match=rf"^{re.escape(str(path))}: cannot be read: No such "
                                            r"file or directory$") as told:
        load_part(path)
    assert isinstance(told.value, ValueError)
