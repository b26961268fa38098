"""VHDL through GHDL, where it is installed."""

import inspect
import os
import re
import shutil

import pytest
from amaranth.hdl import signed, unsigned

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.build.elaborate import leave_unused, to_rtlil
from cyclebound.sim.describe.block import Block
from cyclebound.sim.netlist.verilog_module import VerilogModule
from cyclebound.sim.netlist.vhdl import generics
from kit.own_files import OwnFiles

GHDL = shutil.which("ghdl") or shutil.which("ghdl-mcode")
assert GHDL or "CYCLEBOUND_REQUIRE_GHDL" not in os.environ, "GHDL is not installed"
with_ghdl = pytest.mark.skipif(not GHDL, reason="GHDL is not installed")
pytestmark = pytest.mark.unit

COUNTER = """library ieee; use ieee.std_logic_1164.all; use ieee.numeric_std.all;
-- entity counter is generic (NONE : integer); end;
entity Counter is
  generic (WIDTH, LIMIT : positive := 4; NAME : string := "a;b"; BASE : integer := WIDTH - 1);
  port (clk, nres : in std_logic; d, e : in signed(WIDTH-1 downto 0);
        u : in ieee.numeric_std.unsigned(1 downto 0); n : in integer range -4 to 3;
        p : in natural range 0 to 7; value : out signed (WIDTH-1 downto 0));
end;
architecture rtl of counter is signal v : signed(WIDTH-1 downto 0); begin
  process (clk) begin
    if rising_edge(clk) then
      if nres = '0' then v <= (others => '0'); else v <= v + d; end if;
    end if;
  end process;
  value <= v;
  assert v /= 5 report "five" severity error;
end;
"""
PACKAGE = """library ieee; use ieee.std_logic_1164.all;
package numbers is constant FIVE : std_logic_vector(7 downto 0) := x"05"; end;
"""
USES = """library ieee; use ieee.std_logic_1164.all; library tools; use tools.numbers.all;
entity uses is port (y : out std_logic_vector(7 downto 0)); end;
architecture a of uses is begin y <= FIVE; end;
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_generics():
    assert generics({"counter.vhd": COUNTER}, "counter") == {
        "WIDTH": 4, "LIMIT": 4, "NAME": "a;b", "BASE": None}
    assert generics({"counter.vhd": COUNTER}, "none") == {}


@with_ghdl
def test_signed_ports_and_generics_of_a_block(folder):
    """Which a block refused as no parameters of its."""
    (folder / "counter.vhd").write_text(COUNTER)
    block = Block("own.counter", "x", sources=("counter.vhd",), top="counter")
    component = block.make({"WIDTH": 6})
    assert {name: member.shape for name, member in component.signature.members.items()} == {
        "d": signed(6), "e": signed(6), "u": unsigned(2), "n": signed(3), "p": unsigned(3),
        "value": signed(6)}
    assert str(inspect.signature(block.maker)).startswith("(*, WIDTH=4, LIMIT=4")
    leave_unused(component)


@with_ghdl
def test_assertions_outside_processes(folder):
    (folder / "counter.vhd").write_text(COUNTER)
    text = to_rtlil(VerilogModule(("counter.vhd",), "counter")(), name="top")
    assert len(re.findall(r"cell \\?\$check", text)) == 1


@with_ghdl
@pytest.mark.parametrize("listed", [False, True])
def test_other_libraries(folder, listed):
    (folder / "lib").mkdir()
    (folder / "lib" / "numbers.vhd").write_text(PACKAGE)
    (folder / "uses.vhd").write_text(USES)
    (folder / "files.f").write_text("uses.vhd -work tools lib/numbers.vhd")
    make = (VerilogModule(("files.f",), "uses") if listed else
            VerilogModule(("uses.vhd",), "uses", libraries={"tools": ("lib/numbers.vhd",)}))
    assert "8'00000101" in to_rtlil(make(), name="top")
    with pytest.raises(UserError, match=r"^GHDL cannot read the sources: uses.vhd:1:\d+:"):
        VerilogModule(("uses.vhd", "lib/numbers.vhd"), "uses")()


PAGE = """from cyclebound.golden.bound import bound
from cyclebound.sim.describe.block import *
from cyclebound.tb.probe import Probe

@bound(formula="2", source="a register", environment="any input")
def passage() -> int:
    \"\"\"Cycles.\"\"\"
    return 2

BLOCKS = (Block(name="own.counter", summary="x", sources=("counter.vhd",), top="counter",
    configurations={"six": Configuration({"WIDTH": 6})},
    testbenches=(Testbench("x", "counter_tb"),), bounds=(BoundBinding("passage", passage,
    probe=Probe(start="d == STEP", end="value == STEP")),)),)
"""
BENCH = """from cyclebound.tb.bench import testbench
@testbench
async def counts(bench):
    for n in range(3):
        seen = await bench.step(bench.inputs.pack({"d": STEP if n == 1 else 0}))
        bench.check(seen, bench.outputs.pack({"value": STEP if n == 2 else 0}))
"""


@with_ghdl
@pytest.mark.thorough
@pytest.mark.parametrize(("step", "status"), [("3", 0), ("5", 1)])
def test_is_simulated_and_its_assertions_are_checked(folder, step, status):
    own = OwnFiles(folder, "counter_page", {
        "counter.vhd": COUNTER, "counter_page.py": PAGE.replace("STEP", step),
        "counter_tb.py": BENCH.replace("STEP", step)})
    done = own.run("run", "own.counter")
    assert done.returncode == status, done.stdout + done.stderr
    assert ("an assertion failed" in done.stdout) == bool(status)
