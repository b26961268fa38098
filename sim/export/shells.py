"""Shells around exported Verilog: AXI4-Stream, and Wishbone.

`axi_stream` is only wires, and a reset that is active low. Each stream of the block's signature
becomes one of Arm's: the payload's fields lie in ``tdata`` from the lowest bit on, padded to whole
bytes; a field ``last`` of one bit is ``tlast``.

`wishbone` has registers for the streams, and a slave for each requester of a memory: the modules of
`cyclebound.hdl.wishbone`, exported like the block.

Other ports, among them strobes that cannot stall, stay as they are.

Ref: AMBA AXI-Stream Protocol Specification (IHI 0051), 2.2 and 2.7; Wishbone B4, chapter 3.
"""

import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cyclebound.golden.wishbone import RegisterMap, RegisterStream
from cyclebound.hdl.wishbone import MemoryPaths, StreamRegisters
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.describe.block import Block, Configuration
from cyclebound.sim.export.ports import Port, width_range
from cyclebound.sim.export.verilog import Export, export

__all__ = ["Pin", "Shell", "axi_stream", "wishbone"]

_BUS = {"cyc": ("cyc_i", "input"), "stb": ("stb_i", "input"), "we": ("we_i", "input"),
        "adr": ("adr_i", "input"), "sel": ("sel_i", "input"), "dat_w": ("dat_i", "input"),
        "dat_r": ("dat_o", "output"), "ack": ("ack_o", "output"), "err": ("err_o", "output"),
        "stall": ("stall_o", "output")}
"""The signals of `WishboneSignature` by their names in the standard, as a slave has them."""
_WIDTHS = (8, 16, 32, 64)


@dataclass(frozen=True)
class Pin:
    """A port of the shell.

    Attributes
    ----------
    name, direction : str, str
        As in the Verilog.
    width : int
    parts : tuple of Port
        The block's ports that it holds, lowest first; bits above them are padding.
    says : str
        What it is.
    """

    name: str
    direction: str
    width: int
    parts: tuple[Port, ...]
    says: str


@dataclass(frozen=True)
class Shell:
    """A module around an exported block.

    Attributes
    ----------
    name, text : str
        The module, and the file: the shell, then the block.
    pins : tuple of Pin
        Its ports beside clock and reset.
    registers : RegisterMap or None
        Of a Wishbone shell of a block with streams.
    """

    name: str
    text: str
    pins: tuple[Pin, ...]
    registers: RegisterMap | None = None


def _streams(ports: Iterable[Port]) -> list[str]:
    """The paths of all streams, in order."""
    paths = dict.fromkeys(port.path for port in ports)
    stems = {path.rpartition(".")[0]: None for path in paths if path.endswith((".valid", ".ready"))}
    return [path for path in stems if f"{path}.valid" in paths and f"{path}.ready" in paths]


def axi_stream(made: Export) -> Shell:
    """The block with AXI4-Stream ports. Raises `UserError` if it has no stream."""
    streams = _streams(made.ports)
    if not streams:
        raise UserError(f"{made.block} has no stream for an AXI-Stream shell")
    pins: list[Pin] = []
    done: set[str] = set()
    for port in made.ports:
        stream = next((path for path in streams if port.path.startswith(f"{path}.")), None)
        if stream is None:
            pins.append(Pin(port.name, port.direction, port.width, (port,), port.says))
        elif stream not in done:
            done.add(stream)
            pins += _stream(stream, made.ports)
    name = f"{made.name}_axis"
    return Shell(name, f"{_module(name, made, pins)}\n{made.text}", tuple(pins))


def _stream(path: str, ports: list[Port]) -> list[Pin]:
    """One stream's pins."""
    own = {port.path.removeprefix(f"{path}."): port for port in ports
           if port.path.startswith(f"{path}.")}
    valid, ready = own.pop("valid"), own.pop("ready")
    last = own.get("payload.last")
    last = own.pop("payload.last") if last is not None and last.width == 1 else None
    name = path.replace(".", "_")
    stem = f"{'s' if valid.direction == 'input' else 'm'}_axis_{name}"
    pins = [Pin(f"{stem}_tvalid", valid.direction, 1, (valid,), ""),
            Pin(f"{stem}_tready", ready.direction, 1, (ready,), "")]
    if own:
        parts = tuple(sorted(own.values(), key=lambda port: port.offset))
        bits = sum(port.width for port in parts)
        at, says = 0, []
        for port in parts:
            field = port.path.removeprefix(f"{path}.payload").removeprefix(".")
            high = at + port.width - 1
            says.append(f"{field or 'payload'} [{high}:{at}]" if port.width > 1
                        else f"{field or 'payload'} [{at}]")
            at += port.width
        pins.append(Pin(f"{stem}_tdata", valid.direction, -(-bits // 8) * 8, parts,
                        "; ".join(says)))
    if last is not None:
        pins.append(Pin(f"{stem}_tlast", valid.direction, 1, (last,), ""))
    return pins


def _module(name: str, made: Export, pins: list[Pin]) -> str:
    """The text of the shell."""
    heads = [("  input  wire aclk", ""), ("  input  wire aresetn", "active low")]
    if not made.clocks:
        heads = []
    lines, wires, ties = [], [("clk", "aclk"), ("rst", "~aresetn")] if made.clocks else [], []
    for pin in pins:
        size = f"[{pin.width - 1}:0] " if pin.width > 1 or len(pin.parts) > 1 else ""
        heads.append((f"  {pin.direction:6} wire {size}{pin.name}", pin.says))
        at = 0
        for port in pin.parts:
            whole = not size or (len(pin.parts) == 1 and port.width == pin.width)
            bits = f"[{at + port.width - 1}:{at}]" if port.width > 1 else f"[{at}]"
            wires.append((port.name, pin.name if whole else f"{pin.name}{bits}"))
            at += port.width
        if at < pin.width and pin.direction == "output":
            ties.append(f"  assign {pin.name}[{pin.width - 1}:{at}] = {pin.width - at}'b0;")
    for number, (head, says) in enumerate(heads):
        lines += [f"  // {line}" for line in textwrap.wrap(says, 95)]
        lines.append(f"{head}{',' if number < len(heads) - 1 else ''}")
    body = [f"    .{port}({wire}){',' if number < len(wires) - 1 else ''}"
            for number, (port, wire) in enumerate(wires)]
    return "\n".join([
        f"// {made.block} with AXI4-Stream ports; a source does not wait for tready",
        "/* verilator lint_off DECLFILENAME */",
        "/* verilator lint_off UNUSEDSIGNAL */  // padding of tdata",
        f"module {name} (", *lines, ");", *ties, f"  {made.name} block (", *body, "  );",
        "endmodule", "/* verilator lint_on UNUSEDSIGNAL */",
        "/* verilator lint_on DECLFILENAME */", ""])


def wishbone(made: Export) -> Shell:
    """The block with Wishbone slaves. Raises `UserError` if it has neither stream nor memory."""
    memories = _memories(made)
    inside = {f"{path}.request" for banks in memories.values() for path in banks}
    streams = [path for path in _streams(made.ports) if path not in inside]
    if not streams and not memories:
        raise UserError(f"{made.block} has neither a stream nor a memory's paths for a Wishbone "
                        "shell")
    name, wired = f"{made.name}_wb", _Wiring(made)
    registers = None
    if streams:
        registers = RegisterMap(tuple(
            RegisterStream(path.replace(".", "_"), sum(port.width for port in fields),
                           valid.direction == "input")
            for path in streams for valid, _, fields in [wired.stream(path)]))
        wired.add(f"{name}_registers", "registers", "wb", lambda: StreamRegisters(
            streams=registers.streams), {
                f"{'sent' if stream.sent else 'come'}_{stream.name}{end}": f"{wire}{end}"
                for stream, path in zip(registers.streams, streams, strict=True)
                for wire in [path.replace(".", "__")]
                for end in ("__valid", "__ready", *(["__payload"] if stream.bits else []))},
            _map_says(registers, [wired.stream(path)[2] for path in streams]))
        for path in streams:
            wired.connect_stream(path)
    for member, banks in memories.items():
        wired.memory(name, member, banks)
    wired.rest()
    return Shell(name, f"{wired.module(name)}\n{made.text}\n{wired.parts}", tuple(wired.pins),
                 registers)


def _memories(made: Export) -> dict[str, list[str]]:
    """Paths to a memory's banks, by requester: those of `MemoryPort`, which the block has."""
    ports = {port.path: port for port in made.ports}
    prefixes: dict[str, list[str]] = {}
    for path in ports:
        prefix = path.removesuffix(".request.payload.write")
        if prefix == path or not {f"{prefix}.{end}" for end in (
                "request.valid", "request.ready", "request.payload.data", "response.valid",
                "response.data")} <= ports.keys() or ports[path].direction != "input":
            continue
        # ports[r][b]: requester r, bank b; ports[r] alone has one bank
        requester = prefix.rpartition(".")[0] if re.search(r"\.\d+\.\d+$", prefix) else prefix
        prefixes.setdefault(requester, []).append(prefix)
    for banks in prefixes.values():
        width = ports[f"{banks[0]}.request.payload.data"].width
        if width not in _WIDTHS:
            raise UserError(f"{made.block} has words of {width} bits; a Wishbone bus has "
                            f"{', '.join(map(str, _WIDTHS[:-1]))} or {_WIDTHS[-1]}")
    return prefixes


def _map_says(registers: RegisterMap, fields: list[tuple[Port, ...]]) -> list[str]:
    """The registers, a line or more for each stream."""
    says = ["wb_adr_i counts words of 32 bits; an access is answered in its second cycle:"]
    for number in registers.status:
        bits = "; ".join(f"[{bit}] {stream.name} {'can be sent' if stream.sent else 'has an item'}"
                         for bit, stream in enumerate(registers.streams[32 * number:][:32]))
        says.append(f"  {number}: status: {bits}")
    for stream, own in zip(registers.streams, fields, strict=True):
        places, at, parts = registers.of(stream.name), 0, []
        for port in own:
            parts.append(f"{port.path.partition('.payload')[2].removeprefix('.') or 'payload'} "
                         f"[{at + port.width - 1}:{at}]")
            at += port.width
        last = f"a {'write' if stream.sent else 'read'} of {places[-1]} "
        says.append(f"  {places[0]}{f' to {places[-1]}' if len(places) > 1 else ''}: "
                    f"{stream.name}: "
                    f"{'; '.join([*parts, last + ('sends it' if stream.sent else 'takes it')])}")
    return says


class _Wiring:
    """The inside of a Wishbone shell as it grows: pins, wires, instances, text of modules."""

    def __init__(self, made: Export) -> None:
        self._made = made
        self._ports = {port.path: port for port in made.ports}
        self._block: dict[str, str] = {}  # by port of the block: its wire
        self._wires: list[str] = []
        self._instances: list[str] = []
        self._says: dict[str, list[str]] = {}  # over a pin
        self.pins: list[Pin] = []
        self.parts = ""

    def stream(self, path: str) -> tuple[Port, Port, tuple[Port, ...]]:
        """Ports of a stream: valid, ready, and the fields of its payload, lowest first."""
        own = {name.removeprefix(f"{path}."): port for name, port in self._ports.items()
               if name.startswith(f"{path}.")}
        return own.pop("valid"), own.pop("ready"), tuple(
            sorted(own.values(), key=lambda port: port.offset))

    def connect_stream(self, path: str) -> None:
        """Wires for a stream, on the block's side."""
        valid, ready, fields = self.stream(path)
        wire, at = path.replace(".", "__"), 0
        for port, end in ((valid, "valid"), (ready, "ready")):
            self._wires.append(f"  wire {wire}__{end};")
            self._block[port.name] = f"{wire}__{end}"
        bits = sum(port.width for port in fields)
        if bits:
            self._wires.append(f"  wire {width_range(bits)}{wire}__payload;")
        for port in fields:
            self._block[port.name] = f"{wire}__payload" + _part(at, port.width, bits)
            at += port.width

    def memory(self, name: str, member: str, banks: list[str]) -> None:
        """A slave for one requester's paths."""
        first = banks[0]
        data = self._ports[f"{first}.request.payload.data"].width
        address = self._ports.get(f"{first}.request.payload.address")
        words = 1 << (address.width if address else 0)
        flat, pins = member.replace(".", "_"), {}
        for number, path in enumerate(banks):
            for end in ("request.valid", "request.ready", "request.payload.address",
                        "request.payload.write", "request.payload.data", "response.valid",
                        "response.data"):
                if (port := self._ports.get(f"{path}.{end}")) is not None:
                    wire = port.name
                    self._wires.append(f"  wire {width_range(port.width)}{wire};")
                    self._block[wire] = wire
                    pins[f"paths__{number}__{end.replace('.', '__')}"] = wire
        self.add(f"{name}_{flat}", flat, f"wb_{flat}", lambda: MemoryPaths(
            banks=len(banks), words=words, word_bytes=data // 8), pins, [
                f"{member}: words of {data} bits" + (
                    f", the bank in the highest bits of {len(banks)} banks' addresses"
                    if len(banks) > 1 else "")])

    def add(self, module: str, instance: str, prefix: str, component, pins: Mapping[str, str],
            says: list[str]) -> None:
        """An exported component with a slave for ``prefix``, whose other ports have these wires."""
        made = export(Block(module, f"part of {self._made.name}_wb", component,
                            {"only": Configuration({})}, (), ()), {})
        wires = {"clk": "wb_clk_i", "rst": "wb_rst_i"}
        first = True
        for port in made.ports:
            name = port.name.removeprefix("bus__")
            if name == port.name:
                wires[port.name] = pins[port.name]
                continue
            outside, direction = _BUS[name]
            wires[port.name] = f"{prefix}_{outside}"
            self.pins.append(Pin(f"{prefix}_{outside}", direction, port.width, (),
                                 ""))
            if first:
                self._says[f"{prefix}_{outside}"] = says
                first = False
        self._instances.append(_instance(module, instance, {
            name: wire for name, wire in wires.items() if name not in ("clk", "rst")
            or name in made.clocks}))
        self.parts += made.text[made.text.index("/* verilator lint_off"):]

    def rest(self) -> None:
        """The block's other ports, as they are."""
        for port in self._made.ports:
            if port.name not in self._block:
                self._block[port.name] = port.name
                self.pins.append(Pin(port.name, port.direction, port.width, (port,), port.says))

    def module(self, name: str) -> str:
        """The shell's text."""
        clocks = {"clk": "wb_clk_i", "rst": "wb_rst_i"}
        heads: list[tuple[str, list[str]]] = [
            ("  input  wire wb_clk_i", []), ("  input  wire wb_rst_i", [])]
        for pin in self.pins:
            says = self._says.get(pin.name) or textwrap.wrap(pin.says, 95)
            heads.append((f"  {pin.direction:6} wire {width_range(pin.width)}{pin.name}", says))
        lines = []
        for number, (head, says) in enumerate(heads):
            for paragraph in says:
                lines += [f"  // {line}" for line in textwrap.wrap(
                    paragraph, 93, subsequent_indent="     ", drop_whitespace=True)]
            lines.append(f"{head}{',' if number < len(heads) - 1 else ''}")
        block = {**{clock: clocks[clock] for clock in self._made.clocks},
                 **{port.name: self._block[port.name] for port in self._made.ports}}
        return "\n".join([
            f"// {self._made.block} on Wishbone B4, standard cycles; stall: for pipelined masters",
            "/* verilator lint_off DECLFILENAME */", f"module {name} (", *lines, ");",
            *self._wires, *self._instances, _instance(self._made.name, "block", block),
            "endmodule", "/* verilator lint_on DECLFILENAME */", ""])


def _part(at: int, width: int, of: int) -> str:
    """Bits of a wire with so many."""
    if width == of:
        return ""
    return f"[{at + width - 1}:{at}]" if width > 1 else f"[{at}]"


def _instance(module: str, name: str, wires: Mapping[str, str]) -> str:
    body = ",\n".join(f"    .{port}({wire})" for port, wire in wires.items())
    return f"  {module} {name} (\n{body}\n  );"
