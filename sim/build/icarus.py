"""Icarus Verilog as a second simulator, where it is installed."""

import shutil
import subprocess
import time
from pathlib import Path

import cocotb_tools.config
from amaranth.hdl import Elaboratable

from cyclebound.sim.base.cache import find_or_make, key_of
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.installed import package, program, tree
from cyclebound.sim.build.elaborate import SCRIPT, simulation_verilog, to_rtlil
from cyclebound.sim.build.verilator import Build, BuildError
from cyclebound.sim.netlist.yosys import PACKAGE

__all__ = ["IcarusBuild", "build_icarus"]

# Only where it is asked to, since a dump costs more than the simulation.
_DUMP = """
module cyclebound_dump;
  initial if ($test$plusargs("dump")) begin
    $dumpfile("wave.vcd");
    $dumpvars(0, top);
  end
endmodule
"""


class IcarusBuild(Build):
    """A compiled design."""

    def command(self, waveform: Path | None) -> list[str]:
        """The command that simulates, and dumps ``wave.vcd`` if there is to be a waveform."""
        library = cocotb_tools.config.lib_name_path("vpi", "icarus")
        return [_tool("vvp"), "-m", str(library), str(self.executable),
                *(["+dump"] if waveform else [])]


def _tool(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise UserError(f"{name} is not installed; install Icarus Verilog, e.g. "
                        "`apt-get install iverilog`, or simulate with Verilator")
    return path


def build_icarus(top: Elaboratable, *, ports: list, waves: bool = False) -> IcarusBuild:
    """Compile ``top`` for Icarus, from the cache if its content has been compiled before.

    Asserts are left out: it is here for a second opinion on the values. Raises `BuildError` in the
    tool's words.
    """
    started = time.monotonic()
    rtlil = to_rtlil(top, name="top", ports=ports)
    version = subprocess.run([_tool("iverilog"), "-V"], capture_output=True,
                             text=True).stdout.partition("\n")[0]

    def make(folder: Path) -> None:
        source = simulation_verilog(rtlil, folder)
        source.write_text(f"`timescale 1ns / 1ps\n{source.read_text()}{_DUMP}")
        done = subprocess.run(
            [_tool("iverilog"), "-g2012", "-gno-assertions", "-o", "sim.vvp", "-s", "top", "-s",
             "cyclebound_dump", "-Ttyp", source.name], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise BuildError(f"iverilog failed:\n{done.stderr[-4000:]}")

    programs = [program(_tool(name)) for name in ("iverilog", "vvp")]
    library = Path(_tool("iverilog")).resolve().parents[1] / "lib"
    key = key_of(rtlil, SCRIPT, _DUMP, version, programs, package(PACKAGE, "cocotb"),
                 [tree(folder) for pattern in ("ivl", "*/ivl") for folder in library.glob(pattern)])
    folder, cached = find_or_make("icarus", key, make)
    return IcarusBuild(folder / "sim.vvp", cached, time.monotonic() - started,
                       "vcd" if waves else None, key)
