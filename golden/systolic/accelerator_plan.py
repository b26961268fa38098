"""Planner: a layer and an accelerator in; commands out, and the exact number of their cycles.

A layer is cut into jobs: some rows of the result (pieces) for some strips of filters (chunks), and
where that is too much, for some of each window's elements (slices), whose sums are added up. While
a job is computed, what the next one needs is loaded, and what the one before has made is stored:
each scratchpad has two halves, unless all jobs share what is in it. The planner takes the cut that
ends first of those that it tries: even cuts in all orders.
"""

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated

from cyclebound.golden.bound import NotCovered, Range, bound
from cyclebound.golden.systolic.accelerator import (
    Delay,
    Interval,
    Memory,
    Size,
    Transfers,
    compute_cycles,
    schedule,
)
from cyclebound.golden.systolic.accelerator_jobs import Cut, Job, Move, cuts_of
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
from cyclebound.golden.systolic.sizes import whole

__all__ = ["Device", "LayerPlan", "Places", "layer_cycles", "plan_layer", "program_cycles"]

Extent = Annotated[int, Range(1, says="of a layer, in pixels, channels or groups")]
Optional = Annotated[int, Range(0, says="of a layer; 0: as its counterpart, or none")]
Padding = Annotated[int, Range(0, says="rows of padding above the image")]
Edge = Annotated[int, Range(-1, says="padding at another edge; -1: as above the image")]
Flag = Annotated[int, Range(0, 1, says="whether the layer has it")]

_MOST_BEATS = 2**16 - BIAS_BEATS
"""Beats of a transfer, at most: as 16 bits hold, rounded down to whole words of biases."""
_JOBS = 30_000
"""Jobs that the planner goes through in search of the best cut, the first found not counted."""
_ENOUGH = 2
"""Windows are cut if the best plan without takes more than this factor times the least cycles."""


@dataclass(frozen=True)
class Device:
    """The parameters of an `Accelerator` that decide about plans; as of that component.

    Raises `TypeError` and `ValueError` where there is no such component.
    """

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
        least = {"size": 2, "pool_depth": 2, "memory_width": 1, "address_width": 1}
        for member in fields(self):
            thing = member.name.replace("_", " ")
            object.__setattr__(self, member.name, whole(thing, getattr(self, member.name),
                                                        least.get(member.name, 4)))
        if self.size & (self.size - 1):
            raise ValueError(f"size must be a power of two, not {self.size}")
        if self.a_depth % 2:
            raise ValueError(f"a depth must be even, not {self.a_depth}")
        deepest = max(self.a_depth, self.b_depth, self.bias_depth, self.c_depth)
        whole("address width", self.address_width, (deepest - 1).bit_length())


@dataclass(frozen=True)
class Places:
    """Addresses of a layer's operands and results in memory: the first beat of each."""

    image: int = 0
    weights: int = 0
    bias: int = 0
    result: int = 0
    shortcut: int = 0
    scales: int = 0


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


def program_cycles(commands: Sequence[Mapping[str, int]], size: int, memory: Transfers) -> int:
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


_widths = functools.cache(command_fields)


def _fields(device: Device, **values: int) -> dict[str, int]:
    """A command; fields that it does not name are 0, addresses wrap around."""
    command = {}
    for name, (width, sign) in _widths(device.address_width, device.memory_width).items():
        value = values.pop(name, 0)
        if name in ("origin", "jump", "plane_step"):
            value %= 1 << width
        least, most = (-1 << width - 1, (1 << width - 1) - 1) if sign else (0, (1 << width) - 1)
        if not least <= value <= most:
            raise ValueError(f"{name} must be {least} to {most}, not {value}")
        command[name] = int(value)
    assert not values
    return command


def _split_moves(moves: Iterable[Move]) -> Iterator[tuple[Move, int]]:
    """Each load or store as one or several, with the beats of each."""
    for target, scratch, place, count in moves:
        beats = BIAS_BEATS if target in (Target.BIAS, Target.SCALE) else 1
        for done in range(0, count, _MOST_BEATS // beats):
            part = min(count - done, _MOST_BEATS // beats)
            yield Move(target, scratch + done, beats * (place + done), part), beats * part


def _loads(device: Device, places: Places, job: Job) -> Iterator[dict]:
    """Loads of what is new for a job."""
    begin = {Target.A: places.image, Target.B: places.weights, Target.BIAS: places.bias,
             Target.SCALE: places.scales, Target.SHORTCUT: places.shortcut}
    for move, beats in _split_moves(job.loads):
        yield _fields(device, operation=Operation.LOAD, target=move.target, scratch=move.scratch,
                      memory=begin[move.target] + move.place, count=beats)


def _stores(device: Device, places: Places, cut: Cut, job: Job) -> Iterator[dict]:
    """Stores of a job's results, if it makes any."""
    if job.last:
        for move, beats in _split_moves(cut.results(job.rows, job.strips, job.c_base)):
            yield _fields(device, operation=Operation.STORE, scratch=move.scratch,
                          memory=places.result + move.place, count=beats)


def _compute(cut: Cut, job: Job) -> dict[str, int]:
    shape = cut.shape
    layer, device, pitch, channels = shape.layer, shape.device, shape.pitch, shape.channels
    conv, part, strips = layer.convolution, job.slice, job.strips.count
    (down, beside), (apart, wide_apart) = conv.strides, conv.dilations
    across = layer.output[1] * layer.window
    plane_step = job.loaded.count * pitch
    top = (job.rows.start * down - conv.edges[0] + part.rows.start * apart - job.loaded.start)
    plane = shape.firsts[job.strips.start] + part.planes.start - job.planes.start
    start = (part.column * wide_apart - conv.edges[1]) * channels + part.run.start
    return _fields(
        device, operation=Operation.COMPUTE, wait=1,
        origin=job.a_base + plane * plane_step + top * pitch, pitch=pitch, jump=down * pitch,
        plane_step=plane_step, elements=conv.width * channels, height=job.loaded.count, top=top,
        start=start, step=beside * channels, stride=down, across=across, down=job.rows.count,
        kernel=part.rows.count, run=part.run.count, planes=part.planes.count, strips=strips,
        b_base=job.b_base, bias_base=job.bias_base, c_base=job.c_base,
        pixels=across * job.rows.count, tiles=cut.tiles(part),
        runs=strips * part.planes.count * part.rows.count, window=layer.window,
        image_width=across, image_height=job.rows.count, pooled=layer.output[1],
        shortcut=layer.shortcut > 0, scales=bool(layer.scales), resume=not job.first,
        keep=not job.last, pad=layer.pad, zero=layer.zero, **vars(layer.scale))


def _commands(cut: Cut, places: Places) -> list[dict]:
    """A job's loads come before the computation of the one before it, and its stores after that of
    the one after it, so that they are under way meanwhile."""
    device, commands = cut.shape.device, []
    before: Job | None = None  # its computation is not in the list yet
    stores: list[dict] = []  # of the job before that one
    for job in cut.jobs():
        loads = list(_loads(device, places, job))
        if before is None:
            commands = loads
            commands[0]["wait"] = 1
        else:
            commands += [_compute(cut, before), *stores, *loads]
            stores = list(_stores(device, places, cut, before))
        before = job
    assert before is not None
    last = list(_stores(device, places, cut, before))
    last[0]["wait"] = 1
    return [*commands, _compute(cut, before), *stores, *last]


def _cycles(cut: Cut, memory: Memory, most: float) -> tuple[float, int]:
    """Cycles of a cut's commands, as `schedule` has them, and the number of jobs gone through.

    Infinite if they are not below ``most``: the search ends when the cycles counted so far and the
    computations still to come reach it.
    """
    left = _computing(cut)
    size, across = cut.shape.device.size, cut.shape.wide * cut.shape.layer.window
    leaves = transfers = computes = jobs = 0
    took: dict[tuple[int, int, int], int] = {}
    stores: list[int] = []
    before: Job | None = None

    def move(times: Iterable[int]) -> None:
        nonlocal leaves, transfers
        for time in times:
            leaves = max(leaves + 1, transfers)
            transfers = leaves + time

    def compute(job: Job) -> None:
        nonlocal leaves, computes, left
        kind = across * job.rows.count, cut.tiles(job.slice), job.strips.count
        if kind not in took:
            took[kind] = compute_cycles(size=size, pixels=kind[0], tiles=kind[1], strips=kind[2])
        leaves = max(leaves + 1, transfers, computes)
        computes = leaves + took[kind]
        left -= took[kind]

    def times(moves: Iterable[Move]) -> list[int]:
        return [memory.cycles(beats) for _, beats in _split_moves(moves)]

    def made(job: Job) -> list[int]:
        return times(cut.results(job.rows, job.strips, job.c_base)) if job.last else []

    for job in cut.jobs():
        jobs += 1
        if before is not None:
            compute(before)
            move(stores)
            stores = made(before)
        move(times(job.loads))
        before = job
        if computes + left >= most:
            return float("inf"), jobs
    assert before is not None
    compute(before)
    move(stores)
    leaves = max(leaves, computes - 1)  # the last store waits
    move(made(before))
    return max(transfers, computes), jobs


def _computing(cut: Cut) -> int:
    """Cycles of all computations of a cut."""
    shape, across = cut.shape, cut.shape.wide * cut.shape.layer.window
    return sum(pieces * chunks * compute_cycles(size=shape.device.size, pixels=across * rows,
                                                tiles=cut.tiles(part), strips=strips)
               for rows, pieces in _kinds(shape.whole_rows, cut.rows)
               for strips, chunks in _kinds(shape.strips, cut.strips)
               for part in cut.slices)


def _least(cut: Cut, memory: Memory) -> int:
    """Cycles that no schedule of a cut's commands is below: all computations, one after the other,
    or all weights, as often as they are loaded, and all results."""
    shape = cut.shape
    again = 1 if cut.weights_stay else ceil_div(shape.whole_rows, cut.rows)
    beats = shape.strips * (again * shape.words + shape.wide * shape.high)
    return max(_computing(cut), beats * memory.interval)


def _kinds(count: int, size: int) -> list[tuple[int, int]]:
    """Parts of ``size``, and the rest: of what size, and how many."""
    return [kind for kind in ((size, count // size), (count % size, 1)) if kind[0] and kind[1]]


def _first(cuts: Iterable[Cut], memory: Memory, most: float) -> tuple[float, Cut | None]:
    """The cut that ends first, before ``most``, and when it does."""
    ordered = sorted(((_least(cut, memory), number, cut) for number, cut in enumerate(cuts)),
                     key=lambda item: item[:2])
    best, left = None, _JOBS
    for least, _, cut in ordered:
        if least >= most or left <= 0:
            break
        cycles, jobs = _cycles(cut, memory, most)
        left -= jobs if best else 0
        if cycles < most:
            most, best = cycles, cut
    return most, best


def _best(layer: Layer, device: Device, memory: Memory) -> Cut:
    """The cut that ends first of those tried. Windows are cut only where there is need."""
    refused, most, best = None, float("inf"), None
    try:
        most, best = _first(cuts_of(layer, device, sliced=False), memory, most)
    except ValueError as error:
        refused = error
    if best is not None:
        size, shape = device.size, best.shape
        pixels = shape.whole_rows * shape.wide * layer.window
        beats = shape.strips * (shape.words + shape.wide * shape.high)
        tiles = shape.strips * sum(best.tiles(part) for part in best.slices)
        if most <= _ENOUGH * max(tiles * max(pixels, size), beats * memory.interval):
            return best
    try:
        best = _first(cuts_of(layer, device, sliced=True), memory, most)[1] or best
    except ValueError as error:
        refused = error
    if best is None:
        raise refused or ValueError(f"{layer.name}: no cut of this layer fits")
    return best


def plan_layer(layer: Layer, device: Device, memory: Memory | None = None,
               places: Places | None = None) -> LayerPlan:
    """The commands of a layer, in order, and their cycles with this memory.

    Raises `TypeError` where an argument is of another kind, and `ValueError` where no cut of the
    layer fits the scratchpads, or one of its sizes a field of a command: it names the layer.
    """
    for thing, value, kind in (("layer", layer, Layer), ("device", device, Device),
                               ("memory", memory or Memory(), Memory),
                               ("places", places or Places(), Places)):
        if not isinstance(value, kind):
            raise TypeError(f"{thing} must be a {kind.__name__}, not {value!r}")
    memory, places = memory or Memory(), places or Places()
    best = _best(layer, device, memory)
    try:
        commands = _commands(best, places)
    except ValueError as error:
        raise ValueError(f"{layer.name}: {error}") from error
    return LayerPlan(layer, device, tuple(commands), _split(commands, device.size, memory))


@bound(formula="the plan's: end of the last command, each leaves the queue a cycle after the one "
               "before or when what it waits for has ended",
       source="this project",
       environment="commands are offered without a pause; the memory accepts a request at once, "
                   "and may move each beat earlier than delay and interval say")
def layer_cycles(*, size: Size, height: Extent, width: Extent, channels: Extent, filters: Extent,
                 kernel: Extent, stride: Extent = 1, padding: Padding = 0, window: Extent = 1,
                 depthwise: Flag = 0, together: Optional = 0, shortcut: Optional = 0,
                 kernel_across: Optional = 0, stride_across: Optional = 0, dilation: Extent = 1,
                 dilation_across: Optional = 0, padding_left: Edge = -1,
                 padding_bottom: Edge = -1, padding_right: Edge = -1, groups: Extent = 1,
                 scales: Flag = 0, delay: Delay = 1, interval: Interval = 1,
                 a_depth: int = 1024, b_depth: int = 1024, bias_depth: int = 64,
                 c_depth: int = 1024, sums_depth: int = 1024, pool_depth: int = 64,
                 address_width: int = 12, memory_width: int = 24) -> int:
    """Cycles of a whole layer, loading and storing included.

    Unit: cycles. Counted: from the cycle in which the idle accelerator accepts the first command to
    the last cycle in which it is not idle, both inclusive; with a memory that is no slower than
    ``delay`` and ``interval`` say, as of `transfer_cycles`. What is named after ``across`` or an
    edge is as along the height, or at the top, where it is 0 or -1. Raises `NotCovered` for a layer
    or a device that there is not, and where no cut of the layer fits the device.

    Derivation: the planner's list of commands with the cycles of each, in `schedule`; nothing else
    takes time. Exact where each transfer takes as long as the memory may.
    """
    left, bottom, right = (padding if edge < 0 else edge
                           for edge in (padding_left, padding_bottom, padding_right))
    edges = padding, left, bottom, right
    try:
        layer = Layer(
            Convolution("layer", height, width, channels, filters,
                        (kernel, kernel_across or kernel), (stride, stride_across or stride), edges,
                        (dilation, dilation_across or dilation), groups),
            window=window, depthwise=bool(depthwise), together=together, shortcut=shortcut,
            scales=((1, 0),) * filters if scales else ())
        device = Device(size, a_depth, b_depth, bias_depth, c_depth, sums_depth, pool_depth,
                        address_width, memory_width)
        return plan_layer(layer, device, Memory(delay, interval)).cycles.total
    except ValueError as error:
        raise NotCovered(str(error)) from error
