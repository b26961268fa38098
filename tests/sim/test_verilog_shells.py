"""AXI-Stream shells around exported Verilog: their ports, and what Verilator says of them."""

import re

import pytest

from cyclebound.sim import catalogue
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.export.shells import axi_stream
from cyclebound.sim.export.verilog import export, warnings

pytestmark = pytest.mark.unit


def shell_of(name):
    block = catalogue.load().find(name)
    return axi_stream(export(block, block.configuration(None)[1].parameters))


def test_streams_become_those_of_arm():
    """A tile comes in, bursts go out; their ``last`` is tlast, and their bits make whole bytes."""
    made = shell_of("dram.stride_sequencer")
    pins = {pin.name: (pin.direction, pin.width) for pin in made.pins}
    assert pins["s_axis_tile_tvalid"] == ("input", 1)
    assert pins["s_axis_tile_tready"] == ("output", 1)
    assert pins["m_axis_bursts_tlast"] == ("output", 1)
    direction, width = pins["m_axis_bursts_tdata"]
    assert (direction, width % 8) == ("output", 0)
    fields = next(pin for pin in made.pins if pin.name == "m_axis_bursts_tdata").says
    assert fields.startswith("address [25:0]; mask [41:26];")
    assert "last" not in fields
    assert warnings(made.text, made.name) == []
    assert re.search(r"assign m_axis_bursts_tdata\[\d+:\d+\] = \d+'b0;", made.text) or (
        sum(port.width for port in next(
            pin for pin in made.pins if pin.name == "m_axis_bursts_tdata").parts) == width)


def test_other_ports_stay():
    made = shell_of("dataflow.token_buffer")
    names = [pin.name for pin in made.pins]
    assert len(names) == len(set(names))
    assert warnings(made.text, made.name) == []


def test_a_block_without_streams():
    with pytest.raises(UserError, match=r"^noc\.arbiter has no stream for an AXI-Stream shell$"):
        shell_of("noc.arbiter")


def test_at_the_command_line(call, tmp_path):
    command = ("verilog", "dram.refresh_timer", "-o", "timer.v", "--shell")
    assert "dram.refresh_timer has no stream" in call(*command, "axi-stream").stderr
    assert "no shell 'axi'; known are axi-stream" in call(*command, "axi").stderr
    both = call(*command, "axi-stream", "--litex", "timer.py")
    assert "--fusesoc and --litex are for the block without a shell" in both.stderr
    assert call("verilog", "dataflow.token_buffer", "-o", "buffer.v", *command[-1:],
                "axi-stream").returncode == 0
    assert "module dataflow_token_buffer_axis (" in (tmp_path / "buffer.v").read_text()
