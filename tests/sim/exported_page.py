"""A catalogue page whose block is another's exported Verilog, with ports for fields.

``EXPORTED`` in the environment names it. Its own testbenches, checkers and bounds then judge the
text that users get, through its ports; with ``SHELL_KIND=axi-stream``, through those of the shell.
"""

import dataclasses
import os
import re
import tempfile
from pathlib import Path

from amaranth.hdl import Cat, ClockSignal, Instance, Module, ResetSignal, Signal
from amaranth.lib import wiring

from cyclebound.sim import catalogue
from cyclebound.sim.build.elaborate import run_yosys
from cyclebound.sim.export.compare import field_at
from cyclebound.sim.export.shells import axi_stream
from cyclebound.sim.export.verilog import export


def exported(block):
    """The block with its component replaced by the Verilog that is made from it."""

    class Exported(wiring.Component):
        def __init__(self, **parameters):
            inside = block.make(parameters)
            vars(self).update({name: value for name, value in vars(inside).items()
                               if name not in inside.signature.members})
            self._parameters = parameters
            super().__init__(inside.signature)

        def elaborate(self, platform):
            made = export(block, self._parameters)
            m = Module()
            pins = {f"{port.direction[0]}_{port.name}": field_at(self, port.path)
                    for port in made.ports}
            clocks = {"clk": ClockSignal(), "rst": ResetSignal()}
            if os.environ.get("SHELL_KIND") == "axi-stream":
                made = axi_stream(made)
                pins = {f"{pin.direction[0]}_{pin.name}": Cat(
                    *(field_at(self, port.path) for port in pin.parts),
                    Signal(pin.width - sum(port.width for port in pin.parts)))
                    for pin in made.pins}
                clocks = {"aclk": ClockSignal(), "aresetn": ~ResetSignal()}
            m.submodules.exported = Instance(
                made.name, **pins, **{f"i_{name}": value for name, value in clocks.items()
                                      if re.search(rf"^  input  wire {name}\b", made.text, re.M)})
            with tempfile.TemporaryDirectory() as folder:
                (Path(folder) / "made.v").write_text(made.text)
                run_yosys(f"read_verilog made.v; hierarchy -top {made.name}; proc; "
                          "write_rtlil made.il", Path(folder))
                platform.modules[made.name] = (Path(folder) / "made.il").read_text()
            return m

    return dataclasses.replace(block, name=f"exported.{block.name.replace('.', '_')}",
                               component=lambda **parameters: Exported(**parameters),
                               pictures=(), fpga=None)


BLOCKS = (exported(catalogue.load().find(os.environ["EXPORTED"])),)
