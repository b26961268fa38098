"""A block's component from sources in Verilog, SystemVerilog or VHDL."""

import contextlib
import inspect
import json
import multiprocessing
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from amaranth.hdl import ClockSignal, Instance, Module, ResetSignal, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.sim.base.cache import find_or_make, key_of
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.base.installed import package
from cyclebound.sim.base.shape import cleaned
from cyclebound.sim.netlist import system_verilog
from cyclebound.sim.netlist.clocking import use_of
from cyclebound.sim.netlist.link import read_sources, run_in, write_sources
from cyclebound.sim.netlist.source_files import VERILOG, VHDL, gather
from cyclebound.sim.netlist.vhdl import from_vhdl, generics
from cyclebound.sim.netlist.yosys import PACKAGE
from cyclebound.tb.requests import CLOCKS

__all__ = ["RESETS", "VerilogComponent", "VerilogModule"]

RESETS = ("rst", "reset", "rst_i", "i_rst", "wb_rst_i",
          "~rst_n", "~rst_ni", "~rstn", "~reset_n", "~resetn", "~aresetn", "~nreset", "~nrst")
"""Names by which a reset is found that no register uses; ``~``: it is active low."""
# The module by itself: its ports, and then its registers, whose resets `opt_dff` finds
_FLAT = ("hierarchy -top {top}; proc; write_json ports.json; delete {top}; hierarchy -auto-top; "
         "setattr -mod -unset keep_hierarchy *; flatten; opt_expr; opt_clean; opt_dff; opt_clean; "
         "write_json flat.json")
_PORT = re.compile(r"[A-Za-z]\w*", re.ASCII)
_told: set[str] = set()  # warnings of yosys about sources


class VerilogModule:
    """Makes components of a module: ``VerilogModule(("fifo.sv",), "fifo")(DEPTH=4)``.

    Parameters
    ----------
    sources : sequence of str
        Files, as paths from the current folder or from one on ``sys.path``; .v and .sv are read by
        yosys, .vhd by GHDL, a .f is a list of files and options, a .core one of FuseSoC, and
        others are there to be included. What these include is found beside them.
    top : str
        The module.
    clock, reset : str
        Its ports for them, reset with ``~`` if it is active low; empty: those that its registers
        use, and of a module that has none, one of `CLOCKS` and of `RESETS` if there is one.
    include : sequence of str
        Folders in which includes are looked for, too.
    defines : mapping
        Macros and their texts.
    libraries : mapping
        Names of libraries and their sources, in VHDL: ``{"utilities": ("lib/fifo_pkg.vhd",)}``.
    """

    def __init__(self, sources: Sequence[str], top: str, *, clock: str = "", reset: str = "",
                 include: Sequence[str] = (), defines: Mapping[str, object] | None = None,
                 libraries: Mapping[str, Sequence[str]] | None = None) -> None:
        self._sources, self.top, self._clock, self._reset = tuple(sources), top, clock, reset
        self._include, self._defines = tuple(include), dict(defines or {})
        self._libraries = dict(libraries or {})

    @property
    def __signature__(self) -> inspect.Signature:
        """The module's parameters, with their defaults."""
        files = self.files()
        known = (generics(files, self.top) if self._vhdl(files)
                 else self._described({})["parameters"])
        return inspect.Signature([
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=(
                inspect.Parameter.empty if value is None else value))
            for name, value in known.items() if name.isidentifier()])

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
        ports, clock, reset = self.interface(parameters)
        return VerilogComponent(self.top, files, ports, own, parameters, clock=clock, reset=reset)

    def tell(self, parameters: Mapping[str, int | str]) -> None:
        """Print yosys' warnings about the sources, such as of a name that is not declared, and
        which clock and reset are taken; nothing if these cannot be found."""
        with contextlib.suppress(UserError, ValueError):
            self.interface(parameters)

    def interface(self, parameters: Mapping[str, int | str]) -> tuple[dict[str, tuple], str, str]:
        """Ports (direction, width, whether signed), the clock, and the reset, with ``~`` if it is
        active low; clock and reset are told. Raises `UserError` and `ValueError`."""
        described = self._described(parameters)
        clock, reset = self._clock_of(described), self._reset_of(described)
        _tell([f"{self.top}: {f'clock {clock}' if clock else 'no clock'}, " + (
            f"reset {reset.lstrip('~')} (active {'low' if reset.startswith('~') else 'high'})"
            if reset else "no reset")])
        return described["ports"], clock, reset

    def files(self) -> dict[str, str]:
        """The texts of the sources, and of all that they include, by path."""
        return gather(self._sources, self.top, self._include, self._defines, self._libraries)

    @staticmethod
    def _vhdl(files: Mapping[str, str]) -> bool:
        return any(name.endswith(VHDL) for name in files)

    def _as_verilog(self, files: Mapping[str, str], parameters: Mapping[str, object]
                    ) -> dict[str, str]:
        with tempfile.TemporaryDirectory() as folder:
            text = from_vhdl(files, self.top, parameters, Path(folder))
        return {f"{self.top}_vhdl.v": text,
                **{name: text for name, text in files.items() if not name.endswith(VHDL)}}

    def _described(self, parameters: Mapping[str, object]) -> dict[str, dict]:
        """The module's ports and parameters, as yosys sees them. Raises `UserError`."""
        files, values = self.files(), dict(parameters)
        if self._vhdl(files):
            files, values = self._as_verilog(files, parameters), {}
        # Verilog's own words for values, of which those of yosys' commands have no texts or signs
        shell = system_verilog.shell_of(
            self.top, ", ".join(f".{name}({_word(value)})" for name, value in values.items()))
        folder, _ = find_or_make(
            "verilog-module", key_of(files, self.top, shell, system_verilog.FLAGS, _FLAT,
                                     package(PACKAGE)),
            lambda folder: self._describe(files, shell, folder))
        found = json.loads((folder / "module.json").read_text())
        _tell(found["warnings"])
        return found

    def _describe(self, files: Mapping[str, str], shell: str, folder: Path) -> None:
        """Write what yosys knows of the module that the shell places."""
        if not self.top.isidentifier():
            raise UserError(f"top must be a module's name, not {self.top!r}")
        top = shell.split()[1].rstrip(";")
        defaults, warnings = (_in_system_verilog if system_verilog.is_system_verilog(files)
                              else _in_verilog)(files, self.top, folder)
        warnings += read_sources(files, shell, [top], folder, after=_FLAT.format(top=top))
        ports = json.loads((folder / "ports.json").read_text())["modules"]
        inside = ports[top]["cells"][system_verilog.INSIDE]["type"]
        flat = json.loads((folder / "flat.json").read_text())["modules"][inside]
        (folder / "module.json").write_text(json.dumps({
            "ports": {name: (port["direction"], len(port["bits"]), bool(port.get("signed")))
                      for name, port in ports[inside]["ports"].items()},
            "parameters": defaults, "warnings": list(dict.fromkeys(warnings)),
            "use": use_of(flat).as_dict()}))

    def _clock_of(self, described: Mapping[str, dict]) -> str:
        """The port that clocks the module's registers; of one without any, the port that is called
        like a clock, or nothing. Raises `ValueError`."""
        ports, use = described["ports"], described["use"]
        _known(self.top, ports, "clock", self._clock)
        if not use["registers"]:
            lower = {name.lower(): name for name in ports}
            return self._clock or next((lower[name] for name in CLOCKS if name in lower), "")
        clocks = use["clocks"]
        if use["made"]:
            raise ValueError(f"{self.top}: the register at {use['made']} has a clock that is made "
                             "of signals, not a port: replace a gated or divided clock by an "
                             "enable")
        if use["falling"]:
            raise ValueError(f"{self.top}: the register at {use['falling']} takes the falling edge "
                             "of its clock; a block's registers take the rising edge of one clock")
        if len(clocks) > 1 or (self._clock and self._clock not in clocks):
            places = ", ".join(f"{name} (at {where})" for name, where in clocks.items())
            raise ValueError(f"{self.top}: its registers have the clock{'s' * (len(clocks) > 1)} "
                             f"{places}; a block has one clock" + (
                                 f", and {self._clock} is given" if self._clock else
                                 ": take a block for each side of the crossing"))
        return next(iter(clocks))

    def _reset_of(self, described: Mapping[str, dict]) -> str:
        """The port that resets the module's registers, with ``~`` if it does so at 0; where none
        does, the port that is called like a reset, or nothing. Raises `ValueError`."""
        ports, use = described["ports"], described["use"]
        _known(self.top, ports, "reset", self._reset)
        if wanted := self._reset:
            other = wanted.lstrip("~") if wanted.startswith("~") else f"~{wanted}"
            used = {*use["asynchronous"], *use["synchronous"]}
            if other in used and wanted not in used:
                raise ValueError(f"{self.top}: {other.lstrip('~')} resets registers at "
                                 f"{int(wanted.startswith('~'))}: its reset is {other!r}, not "
                                 f"{wanted!r}")
            return wanted
        found = use["resets"]
        if len(found) > 1:
            raise ValueError(f"{self.top}: {' and '.join(found)} reset registers; say which is the "
                             f"reset, as in VerilogModule(..., reset={found[0]!r}); the others "
                             "are driven")
        lower = {name.lower(): name for name in ports}
        return found[0] if found else next(
            (f"{'~' * name.startswith('~')}{lower[name.lstrip('~')]}" for name in RESETS
             if name.lstrip("~") in lower), "")


def _in_system_verilog(files: Mapping[str, str], top: str, folder: Path
                       ) -> tuple[dict[str, int | str], list[str]]:
    """A module's parameters by slang, with no warnings. Raises `UserError` if there is none."""
    write_sources(files, "", folder)
    _, said = run_in(folder, system_verilog.place(files, [top], "--dump-ast", "--single-unit"))
    if system_verilog.is_unknown(said, top) and top not in system_verilog.modules(files):
        raise UserError(_no_module(top, files, system_verilog.modules(files)))
    return system_verilog.parameters(said, top), []


def _in_verilog(files: Mapping[str, str], top: str, folder: Path
                ) -> tuple[dict[str, int | str], list[str]]:
    """A module's parameters by yosys, and warnings. Raises `UserError` if there is none."""
    warnings = read_sources(files, "", [], folder, after="proc; write_json known.json")
    parsed = json.loads((folder / "known.json").read_text())["modules"]
    if top not in parsed:
        raise UserError(_no_module(top, files, parsed))
    defaults = parsed[top].get("parameter_default_values", {})
    return {name: _value(value) for name, value in defaults.items()}, warnings


def _no_module(top: str, files: Mapping[str, str], modules: Iterable[str]) -> str:
    names = [name for name in files if name.endswith(VERILOG)]
    return f"{', '.join(names)} has no module {top}; it has {', '.join(sorted(modules)) or 'none'}"


def _known(top: str, ports: Mapping[str, object], thing: str, wanted: str) -> None:
    if wanted.lstrip("~") not in ("", *ports):
        raise ValueError(f"{top} has no port {wanted.lstrip('~')} for its {thing}")


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

    @property
    def module_and_clocks(self) -> tuple[str, str, str]:
        """The module, its clock, and its reset, with ``~`` if it is active low."""
        return self._top, self._clock, self._reset

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
