"""An AXI4-Stream shell around exported Verilog: only wires, and a reset that is active low.

Each stream of the block's signature becomes one of Arm's: the payload's fields lie in ``tdata``
from the lowest bit on, padded to whole bytes; a field ``last`` of one bit is ``tlast``. Other
ports, among them strobes that cannot stall, stay as they are.

Ref: AMBA AXI-Stream Protocol Specification (IHI 0051), 2.2 and 2.7.
"""

import textwrap
from dataclasses import dataclass

from cyclebound.sim.errors import UserError
from cyclebound.sim.verilog import Export
from cyclebound.sim.verilog_ports import Port

__all__ = ["Pin", "Shell", "axi_stream"]


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
        Its ports beside ``aclk`` and ``aresetn``.
    """

    name: str
    text: str
    pins: tuple[Pin, ...]


def axi_stream(made: Export) -> Shell:
    """The block with AXI4-Stream ports. Raises `UserError` if it has no stream."""
    paths = {port.path for port in made.ports}
    streams = [path.removesuffix(".ready") for path in paths if path.endswith(".ready")
               and f"{path.removesuffix('.ready')}.valid" in paths]
    if not streams:
        raise UserError(f"{made.block} has no stream for an AXI-Stream shell")
    pins: list[Pin] = []
    done: set[str] = set()
    for port in made.ports:
        found = next((path for path in streams if port.path.startswith(f"{path}.")), None)
        if found is None:
            pins.append(Pin(port.name, port.direction, port.width, (port,), port.says))
        elif found not in done:
            done.add(found)
            pins += _stream(found, made.ports)
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
    found = [Pin(f"{stem}_tvalid", valid.direction, 1, (valid,), ""),
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
        found.append(Pin(f"{stem}_tdata", valid.direction, -(-bits // 8) * 8, parts,
                         "; ".join(says)))
    if last is not None:
        found.append(Pin(f"{stem}_tlast", valid.direction, 1, (last,), ""))
    return found


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
