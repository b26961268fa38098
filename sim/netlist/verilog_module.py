"""A block's component from sources in Verilog, SystemVerilog or VHDL."""

import contextlib
import inspect
import json
import multiprocessing
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from amaranth.hdl import ClockSignal, Instance, Module, ResetSignal, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.sim.base.cache import find_or_make, key_of
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.installed import package
from cyclebound.sim.base.shape import cleaned
from cyclebound.sim.netlist.link import from_vhdl, read_command, run_on_sources
from cyclebound.sim.netlist.source_files import VHDL, gather
from cyclebound.sim.netlist.yosys import PACKAGE
from cyclebound.tb.requests import CLOCKS

__all__ = ["RESETS", "VerilogComponent", "VerilogModule"]

RESETS = ("rst", "reset", "rst_i", "i_rst", "wb_rst_i",
          "~rst_n", "~rst_ni", "~rstn", "~reset_n", "~resetn", "~aresetn", "~nreset", "~nrst")
"""Names by which the reset is found; ``~``: it is active low."""
_AROUND = "cyclebound_around"  # a module that places the user's with its parameters
_PORT = re.compile(r"[A-Za-z]\w*", re.ASCII)
_told: set[str] = set()  # warnings of yosys about sources


class VerilogModule:
    """Makes components of a module: ``VerilogModule(("fifo.sv",), "fifo")(DEPTH=4)``.

    Parameters
    ----------
    sources : sequence of str
        Files, as paths from the current folder or from one on ``sys.path``; .v and .sv are read by
        yosys, .vhd by GHDL, a .f is a list of files and options, and others are there to be
        included. What these include is found beside them.
    top : str
        The module.
    clock, reset : str
        Its ports for them, reset with ``~`` if it is active low; empty: one of `CLOCKS`, and one
        of `RESETS` if there is one.
    include : sequence of str
        Folders in which includes are looked for, too.
    defines : mapping
        Macros and their texts.
    """

    def __init__(self, sources: Sequence[str], top: str, *, clock: str = "", reset: str = "",
                 include: Sequence[str] = (), defines: Mapping[str, object] | None = None,
                 ) -> None:
        self._sources, self.top, self._clock, self._reset = tuple(sources), top, clock, reset
        self._include, self._defines = tuple(include), dict(defines or {})

    @property
    def __signature__(self) -> inspect.Signature:
        """The module's parameters, with their defaults."""
        return inspect.Signature([
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value)
            for name, value in self._described({})["parameters"].items() if name.isidentifier()])

    def __call__(self, **parameters: int | str) -> "VerilogComponent":
        for name, value in parameters.items():
            if isinstance(value, bool) or not isinstance(value, int | str):
                raise TypeError(f"Parameter {name} of {self.top} must be a whole number or a text, "
                                f"not {value!r}")
        files, own = self.files(), parameters
        if self._vhdl(files):  # GHDL has put in the values of generics
            files, own = self._as_verilog(files, parameters), {}
        defined = self._described({})["parameters"] if own else {}
        for name in own:
            if name not in defined:
                raise ValueError(f"{self.top} has no parameter {name}; it has "
                                 f"{', '.join(defined) or 'none'}")
        described = self._described(parameters)
        return VerilogComponent(self.top, files, described["ports"], own, parameters,
                                clock=self._named(described["ports"], "clock", self._clock, CLOCKS),
                                reset=self._named(described["ports"], "reset", self._reset, RESETS))

    def tell_warnings(self) -> None:
        """Print yosys' warnings about the sources, such as of a name that is not declared; nothing
        if it cannot read them."""
        with contextlib.suppress(UserError):
            self._described({})

    def files(self) -> dict[str, str]:
        """The texts of the sources, and of all that they include, by path."""
        return gather(self._sources, self.top, self._include, self._defines)

    @staticmethod
    def _vhdl(files: Mapping[str, str]) -> bool:
        return any(name.endswith(VHDL) for name in files)

    def _as_verilog(self, files: Mapping[str, str], parameters: Mapping[str, object]
                    ) -> dict[str, str]:
        vhdl = {name: text for name, text in files.items() if name.endswith(VHDL)}
        with tempfile.TemporaryDirectory() as folder:
            text = from_vhdl(vhdl, self.top, parameters, Path(folder))
        return {f"{self.top}_vhdl.v": text,
                **{name: text for name, text in files.items() if name not in vhdl}}

    def _described(self, parameters: Mapping[str, object]) -> dict[str, dict]:
        """The module's ports and parameters, as yosys sees them. Raises `UserError`."""
        files, values = self.files(), dict(parameters)
        if self._vhdl(files):
            files, values = self._as_verilog(files, parameters), {}
        # Verilog's own words for values, of which those of yosys' commands have no texts or signs
        given = ", ".join(f".{name}({_word(value)})" for name, value in values.items())
        around = f"module {_AROUND}; {self.top} #({given}) inside (); endmodule\n"

        def make(folder: Path) -> None:
            if not self.top.isidentifier():
                raise UserError(f"top must be a module's name, not {self.top!r}")
            said = run_on_sources(
                files, f"{read_command(files)}proc; write_json known.json", folder)
            parsed = json.loads((folder / "known.json").read_text())["modules"]
            if self.top not in parsed:
                raise UserError(f"{', '.join(files)} has no module {self.top}; it has "
                                f"{', '.join(sorted(parsed)) or 'none'}")
            (folder / f"{_AROUND}.v").write_text(around)
            run_on_sources(files, f"{read_command(files, f'{_AROUND}.v')}hierarchy -top {_AROUND}; "
                           "proc; write_json ports.json", folder)
            modules = json.loads((folder / "ports.json").read_text())["modules"]
            module = modules[modules[_AROUND]["cells"]["inside"]["type"]]
            defaults = parsed[self.top].get("parameter_default_values", {})
            (folder / "module.json").write_text(json.dumps({
                "ports": {name: (port["direction"], len(port["bits"]), bool(port.get("signed")))
                          for name, port in module["ports"].items()},
                "parameters": {name: _value(value) for name, value in defaults.items()},
                "warnings": said}))

        folder, _ = find_or_make(
            "verilog-module", key_of(files, self.top, around, package(PACKAGE)), make)
        found = json.loads((folder / "module.json").read_text())
        _tell(found.get("warnings", []))
        return found

    def _named(self, ports: Mapping[str, object], thing: str, wanted: str,
               usual: Sequence[str]) -> str:
        """The port for the clock or the reset; empty if there is none."""
        if wanted:
            if wanted.lstrip("~") not in ports:
                raise ValueError(f"{self.top} has no port {wanted.lstrip('~')} for its {thing}")
            return wanted
        lower = {name.lower(): name for name in ports}
        return next((f"{'~' * (member[0] == '~')}{lower[member.lstrip('~')]}" for member in usual
                     if member.lstrip("~") in lower), "")


def _tell(warnings: Sequence[str]) -> None:
    """Print each warning once; not in the processes that a regression starts."""
    for line in warnings:
        if line not in _told and multiprocessing.parent_process() is None:
            print(f"cyclebound: {cleaned(line)}", file=sys.stderr)
        _told.add(line)


def _word(value: object) -> str:
    """A parameter's value, a number or a text, in Verilog."""
    if not isinstance(value, int):
        escaped = str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    width = value.bit_length() + 1
    return str(value) if width <= 32 else f"{'-' * (value < 0)}{width}'sd{abs(value)}"


def _value(bits: str) -> int | str:
    """A parameter of yosys' JSON, in which numbers are bits."""
    return int(bits, 2) if bits and set(bits) <= set("01") else bits.rstrip()


class VerilogComponent(wiring.Component):
    """A module of Verilog as a component: its ports, without clock and reset, are the members.

    Parameters
    ----------
    top : str
        The module.
    files : mapping
        Its sources by name.
    ports : mapping
        Direction, width and sign of each port.
    own : mapping
        Parameters of the module.
    attributes : mapping
        What becomes attributes of the component, for probes: its parameters.
    clock, reset : str
        Ports; a reset that begins with ``~`` is active low.
    """

    def __init__(self, top: str, files: Mapping[str, str], ports: Mapping[str, tuple],
                 own: Mapping[str, object], attributes: Mapping[str, object], *, clock: str,
                 reset: str) -> None:
        self._top, self._files, self._own = top, dict(files), dict(own)
        self._clock, self._reset = clock, reset
        for name, value in attributes.items():
            if name not in ports:
                setattr(self, name, value)
        members = {}
        for name, (direction, width, is_signed) in ports.items():
            if name in (clock, reset.lstrip("~")):
                continue
            if direction not in ("input", "output"):
                raise ValueError(f"{top}: port {name} is {direction}; only inputs and outputs can "
                                 "be driven and watched")
            if not _PORT.fullmatch(name) or hasattr(wiring.Component, name):
                raise ValueError(f"{top}: port {name!r} cannot be called so here: a port's name is "
                                 "letters, digits and _, begins with a letter, and is none of "
                                 "Component's; write a module around this one")
            shape = signed(width) if is_signed else unsigned(width)
            members[name] = In(shape) if direction == "input" else Out(shape)
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        if not hasattr(platform, "add_file"):
            raise TypeError(f"{self._top} needs a platform with add_file, not {platform!r}")
        for name, text in self._files.items():
            platform.add_file(name, text)
        ports = {f"{member.flow.name.lower()[0]}_{name}": getattr(self, name)
                 for name, member in self.signature.members.items()}
        if self._clock:
            ports[f"i_{self._clock}"] = ClockSignal()
        if self._reset:
            active_low = self._reset.startswith("~")
            ports[f"i_{self._reset.lstrip('~')}"] = ~ResetSignal() if active_low else ResetSignal()
        m.submodules[self._top] = Instance(
            self._top, **{f"p_{name}": value for name, value in self._own.items()}, **ports)
        return m
