"""Planner: a layer and an accelerator in; commands out, and the exact number of their cycles.

A layer is cut into jobs: some rows of the result (pieces) for some strips of filters (chunks).
While a job is computed, what the next one needs is loaded, and what the one before has made is
stored: each scratchpad has two halves, unless all jobs share what is in it. The planner tries all
even cuts in both orders, and takes the one that ends first.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

from cyclebound.golden.bound import NotCovered, bound
from cyclebound.golden.systolic.accelerator import Memory, compute_cycles, schedule
from cyclebound.golden.systolic.accelerator_jobs import Job, Part, jobs_of
from cyclebound.golden.systolic.accelerator_layer import Layer
from cyclebound.golden.systolic.accelerator_layout import (
    BIAS_BEATS,
    Operation,
    Target,
    command_fields,
)
from cyclebound.golden.systolic.layers import Convolution
from cyclebound.golden.systolic.mapping import ceil_div
from cyclebound.golden.systolic.planner import Cycles

__all__ = ["Device", "LayerPlan", "Places", "layer_cycles", "plan_layer", "program_cycles"]


@dataclass(frozen=True)
class Device:
    """The parameters of an `Accelerator` that decide about plans; as of that component."""

    size: int
    a_depth: int = 1024
    b_depth: int = 1024
    bias_depth: int = 64
    c_depth: int = 1024
    sums_depth: int = 1024
    pool_depth: int = 64
    address_width: int = 12
    memory_width: int = 24

    def __post_init__(self) -> None:
        for each in fields(self):
            value, thing = getattr(self, each.name), each.name.replace("_", " ")
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"{thing} must be a whole number, not {value!r}")
            if value < 1:
                raise ValueError(f"{thing} must be at least 1, not {value}")


@dataclass(frozen=True)
class Places:
    """Where a layer's operands and results are in memory: the first beat of each."""

    image: int = 0
    weights: int = 0
    bias: int = 0
    result: int = 0
    shortcut: int = 0


@dataclass(frozen=True)
class LayerPlan:
    """The commands of a layer.

    Attributes
    ----------
    commands : tuple of mappings
        Fields of each command.
    cycles : Cycles
        Where the cycles go; ``memory`` is what is left while nothing is computed.
    """

    layer: Layer
    device: Device
    commands: tuple[Mapping[str, int], ...]
    cycles: Cycles

    @property
    def beats(self) -> int:
        """Words moved from and to memory."""
        return sum(command["count"] for command in self.commands)

    @property
    def utilisation(self) -> float:
        """MACs of the layer for each PE and cycle, memory included."""
        return self.layer.macs / (self.device.size**2 * self.cycles.total)


def program_cycles(commands: Sequence[Mapping[str, int]], size: int, memory: Memory) -> int:
    """Cycles from the one in which the first command is accepted to the last that is not idle."""
    return max(end for _, end in schedule(commands, size, memory))


def _split(commands: Sequence[Mapping[str, int]], size: int, memory: Memory) -> Cycles:
    """The parts of a list's cycles."""
    whole = Cycles()
    for command in commands:
        if command["operation"] == Operation.COMPUTE:
            pixels, folds = command["pixels"], command["tiles"] * command["strips"]
            part = Cycles(command=2, preload=size + 1 + (folds - 1) * max(0, size - pixels),
                          stream=folds * pixels, fill=2 * size - 2, drain=13)
            assert part.total == compute_cycles(size=size, pixels=pixels, strips=1, tiles=folds)
            whole += part
    return whole + Cycles(memory=program_cycles(commands, size, memory) - whole.total)


def _fields(device: Device, **values: int) -> dict[str, int]:
    """A command; fields that it does not name are 0, addresses wrap around."""
    command = {}
    for name, (width, sign) in command_fields(device.address_width,
                                              device.memory_width).items():
        value = values.pop(name, 0)
        if name in ("origin", "jump", "plane_step"):
            value %= 1 << width
        least, most = (-1 << width - 1, (1 << width - 1) - 1) if sign else (0, (1 << width) - 1)
        if not least <= value <= most:
            raise ValueError(f"{name} must be {least} to {most}, not {value}")
        command[name] = int(value)
    assert not values
    return command


def _transfers(layer: Layer, device: Device, places: Places, job: Job) -> Iterator[dict]:
    """Loads of what is new for a job."""
    if job.loads_chunk:
        yield _fields(device, operation=Operation.LOAD, target=Target.BIAS,
                      scratch=job.bias_base, memory=places.bias + BIAS_BEATS * job.strips.start,
                      count=BIAS_BEATS * job.strips.count)
        words = job.words_of_strip
        yield _fields(device, operation=Operation.LOAD, target=Target.B, scratch=job.b_base,
                      memory=places.weights + words * job.strips.start,
                      count=words * job.strips.count)
    if job.loads_image:
        plane = layer.convolution.height * job.pitch
        part = job.rows_loaded.count * job.pitch
        whole = part == plane
        for number in range(1 if whole else job.planes.count):
            yield _fields(device, operation=Operation.LOAD, target=Target.A,
                          scratch=job.a_base + number * part,
                          memory=places.image + plane * (job.planes.start + number)
                          + job.pitch * job.rows_loaded.start,
                          count=part * job.planes.count if whole else part)
    if layer.shortcut:
        yield from _result_words(layer, device, places.shortcut, job, operation=Operation.LOAD,
                                 target=Target.SHORTCUT)


def _compute(layer: Layer, device: Device, job: Job) -> dict[str, int]:
    conv, size, pitch = layer.convolution, device.size, job.pitch
    _, channels = layer.planes(size)
    across = layer.output[1] * layer.window
    run, planes, down = conv.kernel * channels, job.planes.count, job.rows.count
    top = job.rows.start * conv.stride - conv.padding - job.rows_loaded.start
    return _fields(
        device, operation=Operation.COMPUTE, wait=1, origin=job.a_base + top * pitch, pitch=pitch,
        jump=conv.stride * pitch, plane_step=job.rows_loaded.count * pitch,
        elements=conv.width * channels, height=job.rows_loaded.count, top=top,
        start=-conv.padding * channels, step=conv.stride * channels, stride=conv.stride,
        across=across, down=down, kernel=conv.kernel, run=run, planes=planes,
        strips=job.strips.count, b_base=job.b_base, bias_base=job.bias_base, c_base=job.c_base,
        pixels=across * down, tiles=planes * conv.kernel * ceil_div(run, size),
        runs=job.strips.count * planes * conv.kernel, window=layer.window, image_width=across,
        image_height=down, pooled=layer.output[1], shortcut=layer.shortcut > 0,
        **vars(layer.scale))


def _result_words(layer: Layer, device: Device, begin: int, job: Job,
                  **values: int) -> Iterator[dict]:
    """Transfers of a job's results, or of what lies in the same way: all from ``begin`` on."""
    high, wide = layer.output
    rows = Part(job.rows.start // layer.window, job.rows.count // layer.window)
    whole = rows.count == high
    for number in range(1 if whole else job.strips.count):
        yield _fields(device, scratch=job.c_base + number * rows.count * wide,
                      memory=begin + wide * (high * (job.strips.start + number) + rows.start),
                      count=rows.count * wide * (job.strips.count if whole else 1), **values)


def _commands(layer: Layer, device: Device, places: Places, jobs: Sequence[Job]) -> list[dict]:
    loads = [list(_transfers(layer, device, places, job)) for job in jobs] + [[]]
    stores = [list(_result_words(layer, device, places.result, job, operation=Operation.STORE))
              for job in jobs]
    commands = loads[0]
    commands[0]["wait"] = 1
    for number, job in enumerate(jobs):
        commands.append(_compute(layer, device, job))
        commands += (stores[number - 1] if number else []) + loads[number + 1]
    stores[-1][0]["wait"] = 1
    return commands + stores[-1]


def plan_layer(layer: Layer, device: Device, memory: Memory | None = None,
               places: Places | None = None) -> LayerPlan:
    """The commands of a layer, in order, and their cycles with this memory.

    Raises `TypeError` where ``layer`` is none, and `ValueError` where no cut of it fits the
    scratchpads.
    """
    if not isinstance(layer, Layer):
        raise TypeError(f"layer must be a Layer, not {layer!r}")
    memory, places = memory or Memory(), places or Places()
    lists = [_commands(layer, device, places, jobs) for jobs in jobs_of(layer, device)]
    best = min(lists, key=lambda commands: program_cycles(commands, device.size, memory))
    return LayerPlan(layer, device, tuple(best), _split(best, device.size, memory))


@bound(formula="the plan's: end of the last command, each leaves the queue a cycle after the one "
               "before or when what it waits for has ended",
       source="this project")
def layer_cycles(*, size: int, height: int, width: int, channels: int, filters: int, kernel: int,
                 stride: int = 1, padding: int = 0, window: int = 1, depthwise: int = 0,
                 together: int = 0, shortcut: int = 0, delay: int = 1, interval: int = 1,
                 a_depth: int = 1024, b_depth: int = 1024, bias_depth: int = 64,
                 c_depth: int = 1024, sums_depth: int = 1024) -> int:
    """Cycles of a whole layer, loading and storing included.

    Unit: cycles. Counted: from the cycle in which the idle accelerator accepts the first command to
    the last cycle in which it is not idle, both inclusive; with a memory that is no slower than
    ``delay`` and ``interval`` say, as of `transfer_cycles`.

    Derivation: the planner's list of commands with the cycles of each, in `schedule`; nothing else
    takes time. Exact where each transfer takes as long as the memory may.
    """
    try:
        layer = Layer(Convolution("layer", height, width, channels, filters, kernel, stride,
                                  padding), window=window, depthwise=bool(depthwise),
                      together=together, shortcut=shortcut)
        device = Device(size, a_depth, b_depth, bias_depth, c_depth, sums_depth)
        return plan_layer(layer, device, Memory(delay, interval)).cycles.total
    except ValueError as error:
        raise NotCovered(str(error)) from error
