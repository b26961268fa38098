"""RTLIL in which no output port is connected to another bit of itself.

Where bits of a port are always equal, yosys keeps one of their drivers and connects the others to
that bit: ``active[2] = active[1]``. To tools that see vectors, this is a loop. Here such a port
gets a wire for each bit, and the port is made of these.
"""

import re

from cyclebound.sim.netlist.rtlil import Cell, Connect, Design, Module, Wire

__all__ = ["split_outputs"]


def split_outputs(design: Design) -> None:
    """Give each output that is connected to itself a wire for each of its bits."""
    for module in design.modules.values():
        outputs = {name: wire for name, wire in module.ports.items()
                   if wire.direction == "output" and "width" in wire.options}
        looped = dict.fromkeys(
            name for item in module.items if isinstance(item, Connect) for name in outputs
            if name in _names(item.target) & _names(item.source))
        for name in looped:
            _split(module, outputs[name])


def _names(signal: str) -> set[str]:
    return set(re.findall(r"\\\S+", signal))


def _split(module: Module, output: Wire) -> None:
    """Put wires in the place of the bits of this output."""
    name, stem = output.name, output.name
    taken = module.names
    while any(f"{stem}_{bit}" in taken for bit in range(output.width)):
        stem += "_bit"
    bits = [f"{stem}_{bit}" for bit in range(output.width)]

    def split(signal: str) -> str:
        def wires(place: re.Match) -> str:
            high = int(place[1]) if place[1] else output.width - 1
            low = int(place[2]) if place[2] else high if place[1] else 0
            chosen = " ".join(reversed(bits[low:high + 1]))
            return chosen if high == low or signal.startswith("{") else f"{{ {chosen} }}"
        return re.sub(rf"{re.escape(name)}(?: \[(\d+)(?::(\d+))?\])?(?=\s|$)", wires, signal)

    for item in module.items:
        if isinstance(item, Connect):
            item.target, item.source = split(item.target), split(item.source)
        elif isinstance(item, Cell):
            item.ports = {port: split(signal) for port, signal in item.ports.items()}
    place = module.items.index(output) + 1
    module.items[place:place] = map(Wire, bits)
    module.items.append(Connect(name, f"{{ {' '.join(reversed(bits))} }}"))
