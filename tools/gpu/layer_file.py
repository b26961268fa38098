"""Layers and resources from a TOML file.

    [dram]
    part = "ddr4-3200aa-x16"  # between resources

    [[layer]]                 # a convolution, int8
    name = "conv1"
    height = 32
    width = 32
    channels = 3
    filters = 16
    kernel = 3
    stride = 1
    padding = 1
    window = 1                # of the pooling

    [[layer]]                 # a product: rows x inputs by inputs x outputs
    name = "fc"
    rows = 1
    inputs = 4096
    outputs = 10

    [[resource]]
    name = "array"
    kind = "systolic"         # size, delay, interval
    clock_ps = 10000

    [[resource]]
    name = "gpu"
    kind = "gpu"              # capability, sms, threads, global_latency, sectors_per_cycle

    [[resource]]
    name = "tile"
    kind = "cpu"              # links

    [[resource]]
    name = "simd"
    kind = "simd"             # machine, part

    [[resource]]
    name = "other"
    kind = "given"            # cycles of each layer, and where they are from
    clock_ps = 1000
    evidence = "datasheet"
    cycles = { conv1 = 1234 }
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.gpu.compute_capability import capability
from cyclebound.golden.gpu.heterogeneous import (
    CpuTile,
    GivenResource,
    Gpu,
    Resource,
    SimD,
    Systolic,
    Transfer,
)
from cyclebound.golden.gpu.safe_bound import machine_of
from cyclebound.golden.simd.machine import MACHINES
from cyclebound.golden.systolic.accelerator import Memory
from cyclebound.golden.systolic.accelerator_layer import Layer, product_layer
from cyclebound.golden.systolic.accelerator_plan import Device
from cyclebound.golden.systolic.layers import Convolution, Product
from cyclebound.tools.gpu.toml_text import Reader, load_toml
from cyclebound.tools.simd.layer_kernel import layer_wcet

__all__ = ["LAYER_EXAMPLE", "System", "parse_system"]

_Made = Systolic | Gpu | CpuTile | GivenResource | SimD

_CONVOLUTION = ("height", "width", "channels", "filters", "kernel")
_DEFAULTS = {"stride": 1, "padding": 0, "window": 1}
_PRODUCT = ("rows", "inputs", "outputs")
_MOST_SIZE = 1 << 20
_KINDS = {"systolic": ("size", "delay", "interval"),
          "gpu": ("capability", "sms", "threads", "global_latency", "sectors_per_cycle"),
          "cpu": ("links",), "simd": ("machine", "part"), "given": ("cycles", "evidence")}

LAYER_EXAMPLE = """# A small network on four resources
[[layer]]
name = "conv1"
height = 16
width = 16
channels = 3
filters = 16
kernel = 3
padding = 1

[[layer]]
name = "conv2"
height = 16
width = 16
channels = 16
filters = 32
kernel = 3
stride = 2
padding = 1

[[layer]]
name = "fc"
rows = 1
inputs = 2048
outputs = 10

[[resource]]
name = "array"
kind = "systolic"
size = 8
clock_ps = 10000

[[resource]]
name = "gpu"
kind = "gpu"
sms = 108
sectors_per_cycle = 34
clock_ps = 710

[[resource]]
name = "tile"
kind = "cpu"
clock_ps = 16667

[[resource]]
name = "simd"
kind = "simd"
"""


@dataclass(frozen=True)
class System:
    """The layers of a file, its processors, and the DRAM between them."""

    layers: tuple[Layer, ...]
    resources: tuple[Resource, ...]
    transfer: Transfer


def parse_system(text: str) -> System:
    """Layers, resources and the DRAM between. Raises `ValueError` with line and reason."""
    tables, reader = load_toml(text), Reader(text)
    reader.table([], tables, ("dram", "layer", "resource"))
    dram = reader.table(["dram"], tables.get("dram", {}), ("part",))
    name = reader.text(["dram", "part"], dram, None, "ddr4-3200aa-x16")
    part = reader.at(["dram", "part"], part_named, name)
    layers = [_layer(reader, ["layer", number], table) for number, table in enumerate(
        reader.tables(["layer"], tables.get("layer")))]
    resources = [_resource(reader, ["resource", number], table) for number, table in enumerate(
        reader.tables(["resource"], tables.get("resource")))]
    for thing, names in (("layer", [layer_.name for layer_ in layers]),
                         ("resource", [resource.name for resource in resources])):
        for number, other in enumerate(names):
            if other in names[:number]:
                raise reader.refuse([thing, number, "name"], "a name of its own", other)
    for number, resource in enumerate(resources):
        if isinstance(resource, GivenResource):
            for name in resource.wcets:
                if name not in [layer.name for layer in layers]:
                    raise reader.refuse(["resource", number, "cycles", name], "a layer's name",
                                        name)
    return System(tuple(layers), tuple(resources), Transfer(part))


def _layer(reader: Reader, path: list, entry: object) -> Layer:
    table = reader.table(path, entry, ("name", *_CONVOLUTION, *_DEFAULTS, *_PRODUCT))
    name = reader.text([*path, "name"], table)
    is_product = any(key in table for key in _PRODUCT)
    needed = _PRODUCT if is_product else _CONVOLUTION
    for key in table:
        if key not in ("name", *needed, *(() if is_product else _DEFAULTS)):
            raise reader.refuse([*path, key], "left out of a product", table[key])
    sizes = {key: reader.number([*path, key], table) for key in needed}
    more = {} if is_product else {option: reader.number([*path, option], table, default)
                                  for option, default in _DEFAULTS.items()}
    for size_name, value in (sizes | more).items():
        if value > _MOST_SIZE:
            raise reader.refuse([*path, size_name], f"at most {_MOST_SIZE}", value)
    if is_product:
        product = reader.at(path, Product, name, *sizes.values())
        return reader.at(path, product_layer, product)
    convolution = reader.at(path, Convolution, name, **sizes, stride=more["stride"],
                            padding=more["padding"])
    return reader.at(path, Layer, convolution, window=more["window"])


def _resource(reader: Reader, path: list, entry: object) -> _Made:
    every = tuple(dict.fromkeys(other for names in _KINDS.values() for other in names))
    table = reader.table(path, entry, ("name", "kind", "clock_ps", *every))
    kind = reader.text([*path, "kind"], table, tuple(_KINDS))
    for key in table:
        if key not in ("name", "kind", "clock_ps", *_KINDS[kind]):
            raise reader.refuse([*path, key], f"left out of a {kind} resource", table[key])
    name = reader.text([*path, "name"], table)
    made = _MAKERS[kind](reader, path, table, name)
    if "clock_ps" in table:
        clock = reader.number([*path, "clock_ps"], table)
        if not 1 <= clock <= 10**9:
            raise reader.refuse([*path, "clock_ps"], "1 to 1000000000", clock)
        made = replace(made, clock_ps=clock)
    elif kind == "given":
        raise reader.refuse(path, "a table with clock_ps", table)
    return made


def _systolic(reader: Reader, path: list, table: Mapping, name: str) -> Systolic:
    device = reader.at([*path], Device, reader.number([*path, "size"], table, 8))
    memory = reader.at([*path], Memory, reader.number([*path, "delay"], table, 1),
                       reader.number([*path, "interval"], table, 1))
    return Systolic(name, device, memory)


def _gpu(reader: Reader, path: list, table: Mapping, name: str) -> Gpu:
    limits = reader.at(path, capability, reader.text([*path, "capability"], table, None, "8.0"))
    numbers = {key: reader.number([*path, key], table, default) for key, default in (
        ("sms", 108), ("threads", 128), ("global_latency", 290), ("sectors_per_cycle", 1))}
    for key, most in (("sms", 1024), ("threads", limits.threads_per_block)):
        if not 1 <= numbers[key] <= most:
            raise reader.refuse([*path, key], f"1 to {most}", numbers[key])
    machine = reader.at(path, replace, machine_of(limits), global_latency=numbers["global_latency"],
                        sectors_per_cycle=Fraction(numbers["sectors_per_cycle"]))
    return Gpu(name, limits, machine, numbers["sms"], numbers["threads"])


def _cpu(reader: Reader, path: list, table: Mapping, name: str) -> CpuTile:
    links = reader.number([*path, "links"], table, 0)
    if not 0 <= links <= 1000:
        raise reader.refuse([*path, "links"], "0 to 1000", links)
    return CpuTile(name, links)


def _given(reader: Reader, path: list, table: Mapping, name: str) -> GivenResource:
    cycles = table.get("cycles")
    if not isinstance(cycles, dict):
        raise reader.refuse([*path, "cycles"] if "cycles" in table else path,
                            "a table of cycles by layer", cycles)
    counts = {cycle: reader.number([*path, "cycles", cycle], cycles) for cycle in cycles}
    for key, value in counts.items():
        if not 0 <= value <= 10**15:
            raise reader.refuse([*path, "cycles", key], "0 to 10^15 cycles", value)
    return GivenResource(name, counts, 1, reader.text([*path, "evidence"], table))


def _simd(reader: Reader, path: list, table: Mapping, name: str) -> SimD:
    chosen = reader.text([*path, "machine"], table, tuple(MACHINES), "paper")
    device = reader.text([*path, "part"], table, None, "ddr4-3200aa-x16")
    part = reader.at([*path, "part"], part_named, device)
    clock = reader.number([*path, "clock_ps"], table, MACHINES[chosen].compute_ps)
    if clock < 1:
        raise reader.refuse([*path, "clock_ps"], "1 to 1000000000", clock)
    machine = replace(MACHINES[chosen], compute_ps=clock)
    return SimD(name, layer_wcet(machine, part), clock, evidence=(
        "the WCET analysis of a kernel made of the layer, under the better of two policies; the "
        "cycle model with Sim-D's timing keeps it. The RTL has a timing of its own, whose bounds "
        "it keeps (simd wcet --timing rtl)"))


_MAKERS: dict[str, Callable[[Reader, list, Mapping, str], _Made]] = {
    "systolic": _systolic, "gpu": _gpu, "cpu": _cpu, "given": _given, "simd": _simd}
