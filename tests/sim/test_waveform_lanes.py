"""Requests as data for the report's script, and files that open them in viewers."""

import dataclasses
import json

import pytest

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.drawing.lanes import Lanes, gtkwave, lanes_of, read_lanes, surfer

from .test_waveform import _vcd

pytestmark = pytest.mark.unit


@pytest.fixture
def trace(tmp_path):
    return _vcd(tmp_path / "wave.vcd", 100, {
        0: {"valid": 0, "bus": 0, "wide": 0, "odd": "xxxxxxxx", "made$up": 0},
        30: {"valid": 1, "bus": 5}, 42: {"valid": 0}, 47: {"valid": 1},
        50: {"valid": 0, "bus": 13}, 59: {"wide": 0xDEADBEEF}, 70: {"odd": 0xA5}})


def test_changes_at_the_ends_of_cycles(trace):
    found = lanes_of(trace, ["bus", "dut.valid", "wide", "odd"], 3, 6, title="it", cycles=100,
                     margin=2)
    assert (found.first, found.last, found.runs, found.ticks) == (3, 6, [(1, 9)], 10)
    assert (found.file, found.cycles) == ("wave.vcd", 100)
    assert found.lanes == [
        ("bus[3:0]", "top.dut.bus", 4, [(1, "0"), (3, "5"), (5, "d")]),
        ("valid", "top.dut.valid", 1, [(1, "0"), (3, "1"), (5, "0")]),
        ("wide[31:0]", "top.dut.wide", 32, [(1, "0"), (5, "deadbeef")]),
        ("odd[7:0]", "top.dut.odd", 8, [(1, "?xxxxxxxx"), (7, "a5")])]
    assert read_lanes(found.text).text == found.text


def test_of_a_request_that_changes_much_both_ends_are_kept(tmp_path):
    path = _vcd(tmp_path / "wave.vcd", 5000, {10 * n: {"wide": n} for n in range(5000)})
    found = lanes_of(path, ["wide"], 100, 4800, title="it", cycles=5000)
    (begin, stop), (start, end) = found.runs
    assert (begin, end) == (92, 4809)
    assert stop - begin == end - start > 300
    [(_, _, _, changes)] = found.lanes
    assert [cycle for cycle, _ in changes] == [*range(begin, stop), *range(start, end)]
    assert len(changes) <= 1500
    assert read_lanes(found.text)


def test_a_long_quiet_request_is_whole(tmp_path):
    path = _vcd(tmp_path / "wave.vcd", 5000, {0: {"wide": 1}, 30_000: {"wide": 2}})
    found = lanes_of(path, ["wide"], 100, 4800, title="it", cycles=5000)
    assert found.runs == [(92, 4809)]
    assert found.lanes[0][3] == [(92, "1"), (3000, "2")]


def test_what_is_not_there_is_an_error(trace):
    with pytest.raises(UserError, match="ends before cycle 100"):
        lanes_of(trace, ["bus"], 3, 100, title="it", cycles=100)
    with pytest.raises(UserError, match=r"did you mean top\.dut\.bus"):
        lanes_of(trace, ["dut.buss"], 3, 5, title="it", cycles=100)


GOOD = Lanes(1, "it", 3, 6, [(1, 9)], 100, 10, "wave.fst",
             [("bus", "top.bus", 4, [(1, "0"), (3, "?x")])])


@pytest.mark.parametrize("wrong", [
    {"version": 2}, {"first": 7}, {"first": -1}, {"runs": []}, {"runs": [(9, 1)]},
    {"runs": [(1, 5), (4, 9)]}, {"runs": [(1, 1 << 50)]}, {"ticks": 0}, {"lanes": []},
    {"lanes": [("a", "top.a", 0, [])]}, {"lanes": [("a", "", 1, [])]},
    {"lanes": [("a", "top.a\nload_file /x", 1, [])]}, {"lanes": [("a", "a", 1, [(1, "<")])]},
    {"lanes": [("a", "a", 1, [(1, "?</script>")])]}, {"lanes": [("a", "a", 1, [(1, "0G")])]},
    {"lanes": [("a", "a", 1, [(1, 0)])]}, {"cycles": "many"}, {"more": 1}, {"file": None},
    {"file": "a\"b"}, {"file": "../../x"},
])
def test_what_does_not_fit_is_no_lanes(wrong):
    row = dataclasses.asdict(GOOD)
    assert read_lanes(json.dumps(row))
    assert read_lanes(json.dumps({**row, **wrong})) is None


@pytest.mark.parametrize("text", ["", "No picture: so", "{", "[]", "null", "[" * 100_000])
def test_other_texts_are_no_lanes(text):
    assert read_lanes(text) is None


def test_surfer_is_led_to_the_request():
    lines = surfer(dataclasses.replace(GOOD, cycles=1300)).splitlines()
    assert lines[:2] == ["variable_add top.bus", "zoom_fit"]
    assert lines.count("zoom_in") == 6  # 1,300 cycles to about twenty
    assert lines[-3:] == ["marker_set request 30", "marker_set completion 70", "cursor_set 30"]


def test_gtkwave_is_led_to_the_request():
    lines = gtkwave(GOOD, "run/wave.fst").splitlines()
    assert lines[0] == '[dumpfile] "run/wave.fst"'
    assert lines[-2:] == ["@22", "top.bus[3:0]"]
