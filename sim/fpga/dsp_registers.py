"""Registers after multipliers move into them: an ECP5's multiplier has its own.

yosys infers multipliers without their registers, and nextpnr moves none. So a product would go
through the multiplier and then to a register elsewhere, all in one cycle.
"""

from collections import defaultdict
from collections.abc import Mapping

__all__ = ["pack"]

_PLAIN = {"CLKMUX": "CLK", "REGSET": "RESET", "SRMODE": "LSR_OVER_CE"}


def pack(netlist: Mapping) -> int:
    """Move registers into the multipliers of a netlist that yosys has written as JSON.

    A multiplier takes them in if its product goes to registers and nowhere else, and all of
    these have the same clock, enable and synchronous reset. Returns how many registers went.
    """
    return sum(_pack_module(module) for module in netlist["modules"].values())


def _pack_module(module: Mapping) -> int:
    cells, users = module["cells"], defaultdict(list)
    for name, cell in cells.items():
        for port, bits in cell["connections"].items():
            if cell["port_directions"].get(port) == "input":
                for bit in bits:
                    users[bit].append((name, port))
    for port in module["ports"].values():
        if port["direction"] == "output":
            for bit in port["bits"]:
                users[bit].append((None, None))
    packed = 0
    for cell in [cell for cell in cells.values() if cell["type"] == "MULT18X18D"]:
        product = {port: bits[0] for port, bits in cell["connections"].items()
                   if port.startswith("P") and port[1:].isdigit() and bits}
        taken = {port: users[bit] for port, bit in product.items() if users[bit]}
        if not taken or any(len(drivers) != 1 or drivers[0][0] is None or drivers[0][1] != "DI"
                            for drivers in taken.values()):
            continue
        registers = {port: drivers[0][0] for port, drivers in taken.items()}
        control, *others = {_control(cells[name]) for name in registers.values()}
        if others or control is None:
            continue
        clock, enable, reset = control
        for port, name in registers.items():
            cell["connections"][port] = cells.pop(name)["connections"]["Q"]
        for port, bit in (("CLK0", clock), ("CE0", enable), ("RST0", reset)):
            cell["connections"][port] = [bit]
            cell["port_directions"][port] = "input"
        cell["parameters"].update({
            "REG_OUTPUT_CLK": "CLK0", "REG_OUTPUT_CE": "CE0", "REG_OUTPUT_RST": "RST0",
            "CLK0_DIV": "ENABLED", "RESETMODE": "SYNC"})
        packed += len(registers)
    return packed


def _control(cell: Mapping) -> tuple | None:
    """Clock, enable and reset of a register; None if it is none of the plain kind."""
    parameters, wires = cell["parameters"], cell["connections"]
    if cell["type"] != "TRELLIS_FF" or any(
            parameters.get(name, plain) != plain for name, plain in _PLAIN.items()):
        return None
    enabled = {"CE": wires.get("CE", ["1"])[0], "1": "1"}.get(parameters.get("CEMUX", "1"))
    if enabled is None:
        return None
    reset = wires.get("LSR", ["0"])[0] if parameters.get("LSRMUX", "LSR") == "LSR" else None
    return None if reset is None else (wires["CLK"][0], enabled, reset)
