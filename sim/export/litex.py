"""A LiteX module around exported Verilog, as one Python file to put beside it.

AXI4 ports named by Arm's rule (``s_axi_awaddr``) become one `AXIInterface`, ``bus``; all others are
signals of their own name.
"""

import re

from cyclebound.sim.export.ports import Port
from cyclebound.sim.export.verilog import Export

__all__ = ["litex_module"]

_AXI = re.compile(r"s_axi_(aw|ar|w|b|r)(\w+)")


def litex_module(made: Export, verilog: str) -> str:
    """The file's text. ``verilog``: name of the Verilog's file, in the same folder.

    Tested with LiteX 2024.12.
    """
    axi = {port.name: match for port in made.ports if (match := _AXI.fullmatch(port.name))}
    others = [port for port in made.ports if port.name not in axi]
    title = "".join(word.capitalize() for word in made.name.split("_"))
    pins = [f"i_{clock}={what}()," for clock, what in (("clk", "ClockSignal"),
                                                      ("rst", "ResetSignal"))
            if clock in made.clocks]
    pins += [f"{port.direction[0]}_{port.name}=" + (
        f"bus.{axi[port.name][1]}.{axi[port.name][2]}," if port.name in axi
        else f"self.{port.name},") for port in made.ports]
    imports = ["from litex.soc.interconnect.axi import AXIInterface"] if axi else []
    widths = ", ".join(f"{name}_width={port.width}" for port in made.ports for name in [
        {"s_axi_wdata": "data", "s_axi_awaddr": "address", "s_axi_awid": "id"}.get(port.name)]
        if name)
    bus = [f"self.bus = bus = AXIInterface({widths})"] if axi else []
    body = [*bus, *(_signal(port) for port in others),
            f'platform.add_source(str(Path(__file__).parent / "{verilog}"))',
            f'self.specials += Instance("{made.name}",', *(f"    {pin}" for pin in pins), ")"]
    return "\n".join([
        f'"""{made.block} for LiteX, made by cyclebound; its claims are in {verilog}."""', "",
        "from pathlib import Path", "",
        "from litex.gen import LiteXModule", *imports,
        "from migen import ClockSignal, Instance, ResetSignal, Signal", "", "",
        f"class {title}(LiteXModule):", f'    """{made.summary}, in the domain ``sys``."""', "",
        "    def __init__(self, platform):", *(f"        {line}" for line in body), ""])


def _signal(port: Port) -> str:
    shape = f"({port.width}, True)" if port.signed else str(port.width)
    comment = f"  # {port.direction}{f': {port.says}' if port.says else ''}"
    return f"self.{port.name} = Signal({shape}){comment}"
