"""Pictures of requests: what they take from a waveform, and what they draw."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.drawing.waveform import render, sample, signals_of

pytestmark = pytest.mark.unit

_CODES = {"clk": "!", "valid": "%", "bus": "&", "wide": "(", "odd": ")", "made$up": "*"}
_WIDTHS = {"clk": 1, "valid": 1, "bus": 4, "wide": 32, "odd": 8, "made$up": 1}


def _vcd(path, cycles, changes, *, top="top"):
    """A VCD with a clock of 10 ns that rises at 0; ``changes``: ns -> {signal of dut: value}."""
    events = {}
    for cycle in range(cycles):
        events.setdefault(cycle * 10, []).append("1!")
        events.setdefault(cycle * 10 + 5, []).append("0!")
    for time, values in changes.items():
        for name, value in values.items():
            bits = value if isinstance(value, str) else f"{value:b}"
            text = f"b{bits} {_CODES[name]}" if _WIDTHS[name] > 1 else f"{bits}{_CODES[name]}"
            events.setdefault(time, []).append(text)
    events.setdefault(cycles * 10, []).append("0!")
    head = [f"$timescale 1 ns $end\n$scope module {top} $end", "$var wire 1 ! clk $end",
            "$scope module dut $end"]
    head += [f"$var wire {_WIDTHS[name]} {code} {name} $end" for name, code in _CODES.items()]
    head += ["$scope module twin $end", "$var wire 1 % valid $end", "$upscope $end",
             "$upscope $end", "$upscope $end", "$enddefinitions $end"]
    for time in sorted(events):
        head += [f"#{time}", *events[time]]
    path.write_text("\n".join(head) + "\n")
    return path


@pytest.fixture
def trace(tmp_path):
    return _vcd(tmp_path / "wave.vcd", 100, {
        0: {"valid": 0, "bus": 0, "wide": 0, "odd": "xxxxxxxx", "made$up": 0},
        30: {"valid": 1, "bus": 5},         # at the edge that begins cycle 3
        42: {"valid": 0}, 47: {"valid": 1},  # a glitch inside cycle 4
        50: {"valid": 0, "bus": 13},
        59: {"wide": 0xDEADBEEF},            # at the last moment of cycle 5
        70: {"odd": 0xA5},
    })


def _texts(svg):
    return [(t.get("class") or "", "".join(t.itertext()).strip())
            for t in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_value_is_what_a_flip_flop_takes_at_the_end_of_the_cycle(trace):
    found = sample(trace, ["dut.bus", "top.dut.valid", "wide", "odd"], 2, 7)
    assert found == {
        "top.dut.bus": [0, 5, 5, 13, 13, 13],
        "top.dut.valid": [0, 1, 1, 0, 0, 0],
        "top.dut.wide": [0, 0, 0, 0xDEADBEEF, 0xDEADBEEF, 0xDEADBEEF],
        "top.dut.odd": ["xxxxxxxx"] * 5 + [0xA5],
    }


def test_lists_signals_without_those_that_tools_made_up(trace):
    assert signals_of(trace) == ["top.clk", "top.dut.clk", "top.dut.valid", "top.dut.bus",
                                 "top.dut.wide", "top.dut.odd", "top.dut.twin.valid"]


def test_star_stays_within_one_module(trace):
    assert list(sample(trace, ["top.dut.*"], 0, 0)) == [
        "top.dut.clk", "top.dut.valid", "top.dut.bus", "top.dut.wide", "top.dut.odd"]
    assert list(sample(trace, ["dut.twin.v*"], 0, 0)) == ["top.dut.twin.valid"]


@pytest.mark.parametrize(("wanted", "message"), [
    ("dut.buss", r"^no signal 'dut.buss'; did you mean top.dut.bus\?$"),
    ("nowhere.wide", r"^no signal 'nowhere.wide'; did you mean top.dut.wide\?$"),
    ("valid", r"^signal 'valid' is ambiguous: top.dut.twin.valid, top.dut.valid$"),
    ("dut.wid.*", r"^no signal 'dut.wid'; did you mean top.dut.wide\?$"),
])
def test_unknown_signal_names_the_nearest(trace, wanted, message):
    with pytest.raises(UserError, match=message):
        render(trace, [wanted], 3, 5)


def test_markers_enclose_the_request(trace):
    svg = render(trace, ["dut.bus", "dut.valid"], 3, 5, title="a <request> & its end")
    texts = _texts(svg)
    assert "request: cycle 3" in [text for _, text in texts]
    assert "completion: cycle 5" in [text for _, text in texts]
    x, width = map(float, re.search(r'class="band" x="([\d.]+)" y="\d+" width="([\d.]+)"',
                                    svg).groups())
    lines = [float(x) for x in re.findall(r'class="[qd]" d="M([\d.]+) 4V', svg)]
    assert lines == [x, x + width]
    cell = width / 3  # the band is as wide as the request took cycles
    numbers = {text: float(re.search(rf'x="([\d.]+)" y="35">{text}<', svg)[1])
               for kind, text in texts if text.isdigit() and "y" not in kind and
               re.search(rf'y="35">{text}<', svg)}
    assert numbers["3"] == pytest.approx(x + cell / 2, abs=0.11)
    assert numbers["5"] == pytest.approx(x + cell * 2.5, abs=0.11)
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    assert root.get("aria-label") == "a <request> & its end"


def test_shows_margin_but_no_cycle_that_was_not_simulated(trace):
    numbers = [int(text) for _, text in _texts(render(trace, ["dut.valid"], 2, 5, margin=1))
               if text.isdigit()]
    assert (min(numbers), max(numbers)) == (1, 6)
    numbers = [int(text) for _, text in _texts(render(trace, ["dut.valid"], 90, 99))
               if text.isdigit()]
    assert max(numbers) == 99


def test_narrow_in_decimal_wide_in_hexadecimal_unknown_as_x(trace):
    texts = _texts(render(trace, ["bus", "wide", "odd"], 3, 8))
    assert ("c", "13") in texts
    assert ("c", "deadbeef") in texts
    assert ("c", "a5") in texts
    assert ("c x", "x") in texts
    assert "top.dut.wide = 0xdeadbeef (3735928559), cycles 5 to 12" in render(trace, ["wide"], 3, 8)


def test_text_that_does_not_fit_is_elided(tmp_path):
    path = _vcd(tmp_path / "wave.vcd", 30, {
        cycle * 10: {"wide": 0x12345678 + cycle} for cycle in range(30)})
    assert any(re.fullmatch(r"12\w*…", text) for _, text in _texts(render(path, ["wide"], 2, 27)))


def test_long_request_breaks(trace):
    svg = render(trace, ["dut.valid", "dut.bus"], 4, 95, max_cycles=20)
    texts = [text for _, text in _texts(svg)]
    assert "80 cycles left out" in texts  # 4 of margin before, 92, 4 after: 20 of 100 shown
    assert {"request: cycle 4", "completion: cycle 95"} <= set(texts)
    assert svg.count('class="w"') == 2
    assert "left out" not in render(trace, ["dut.valid"], 4, 40)


@pytest.mark.parametrize("max_cycles", [1, 8, 9, 10, 11, 13])
def test_first_and_last_cycle_are_always_shown(trace, max_cycles):
    for last in range(10, 20):
        texts = [text for _, text in _texts(render(trace, ["bus"], 10, last,
                                                   max_cycles=max_cycles))]
        assert "10" in texts
        assert f"completion: cycle {last}" in texts


def test_clock_is_drawn_as_pulses(trace):
    line = re.search(r'class="l" d="([^"]+)"', render(trace, ["top.clk"], 3, 5, margin=0))[1]
    assert line.count("V") == 6


def test_without_a_choice_shows_the_block_itself(trace):
    texts = [text for _, text in _texts(render(trace, [], 3, 5))]
    assert {"valid", "bus[3:0]", "wide[31:0]"} <= {t.partition("top.")[0] for t in texts}
    assert not any(text.startswith("clk") for text in texts)


def test_request_outside_the_waveform(trace):
    with pytest.raises(UserError, match=r"ends before cycle 100$"):
        render(trace, ["bus"], 98, 100)
    with pytest.raises(ValueError, match=r"^Cycles must be 0 <= first <= last, not 5 and 4$"):
        render(trace, ["bus"], 5, 4)


def test_no_waveform(tmp_path):
    with pytest.raises(UserError, match=r"^there is no waveform .*gone\.fst$"):
        render(tmp_path / "gone.fst", ["bus"], 0, 1)
    (tmp_path / "broken.fst").write_text("not a waveform")
    with pytest.raises(UserError, match=r"^cannot read the waveform .*broken\.fst: "):
        render(tmp_path / "broken.fst", ["bus"], 0, 1)


def test_names_are_escaped(tmp_path):
    path = _vcd(tmp_path / "wave.vcd", 20, {0: {"valid": 0, "bus": 3}}, top="<script>")
    svg = render(path, ["dut.bus"], 3, 5)
    assert "<script" not in svg
    ElementTree.fromstring(svg)
