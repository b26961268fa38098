"""A layer of a network as a kernel of the SIMD accelerator, and its worst-case execution time.

A convolution has a work-item for each pixel of its result. The image lies in DRAM with its padding,
a word for an element, channels one below the other. With a stride s a channel is s * s planes, one
for each place in a square of s x s pixels, so that a tap reads neighbours; planes without taps are
left out. For each filter and channel a tile of each plane goes to the scratchpad, and the weights
to scalar registers. A product has a work-item for each output and loops over rows and inputs.

Sums are integers of 32 bits; they are shifted and limited to int8 (the accelerator with the
systolic array multiplies in between). Pooling, shortcuts, groups and dilation are not covered.

Ref: Sim-D, section 6: its CNN kernels; tools/simd/sas/cnn_convolution.sas.
"""

from collections.abc import Callable
from dataclasses import dataclass

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram.timing import Part
from cyclebound.golden.simd.accelerator import Policy
from cyclebound.golden.simd.machine import Grid, Machine
from cyclebound.golden.simd.program import Program
from cyclebound.golden.systolic.accelerator_layer import Layer
from cyclebound.tools.simd.assembler import AssemblyError, assemble
from cyclebound.tools.simd.wcet.analysis import Analysis
from cyclebound.tools.simd.wcet.graph import WcetError

__all__ = ["IMAGE", "RESULT", "WEIGHTS", "LayerKernel", "layer_kernel", "layer_wcet", "phases_of"]

IMAGE, WEIGHTS, RESULT = range(3)
"""Buffers."""

_APART = 1 << 16     # buffers begin at multiples of so many bytes
_MOST_TAPS = 24      # weights in scalar registers at a time
_SHIFT = 8           # of sums, before they are limited to int8
_PAD_WORDS = 16384   # of a work-group's scratchpad


@dataclass(frozen=True)
class LayerKernel:
    """A kernel with its grid."""

    program: Program
    grid: Grid


def phases_of(layer: Layer) -> dict[tuple[int, int], list[tuple[int, int, int]]]:
    """Planes of a channel in order, each with its taps: (number, column, row) in the plane."""
    tall, broad = layer.convolution.kernels
    down, across = layer.convolution.strides
    planes: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    for row in range(tall):
        for column in range(broad):
            planes.setdefault((row % down, column % across), []).append(
                (row * broad + column, column // across, row // down))
    return dict(sorted(planes.items()))


def _buffers(sizes: list[tuple[int, int]]) -> list[str]:
    lines, address = [".data"], 0
    for number, (x, y) in enumerate(sizes):
        lines.append(f"{number} {address:#x} {x} {y}")
        address += -(-4 * x * y // _APART) * _APART
    return lines


def _loop(label: str, times: int, counter: str) -> list[str]:
    return [f"    sisub {counter}, {counter}, 1", f"    #bound branchcycle {times - 1} 1",
            f"    sicj.g {label}, {counter}"]


_LIMITS = [f"    shr v0, v0, {_SHIFT}", "    imin v0, v0, 127", "    imax v0, v0, 0xFFFFFF80"]


def _convolution(layer: Layer, machine: Machine) -> tuple[str, int, int, int]:
    """Source, and the grid's x, y and width."""
    shape = layer.convolution
    high, wide = shape.output
    top, left, bottom, right = shape.edges
    down, across = shape.strides
    tall, broad = shape.kernels
    taps, phases = tall * broad, phases_of(layer)
    lines, columns = -(-(shape.height + top + bottom) // down), -(-(shape.width + left + right)
                                                                  // across)
    fitting = [items for items in machine.widths if items <= max(wide, machine.widths[0])
               and items * items <= machine.items] or machine.widths[:1]
    width = fitting[-1]
    height = machine.items // width
    pad = width + (broad - 1) // across, height + (tall - 1) // down
    if taps > _MOST_TAPS:
        raise NotCovered(f"{shape.name}: a filter must have at most {_MOST_TAPS} taps, those that "
                         f"fit into scalar registers, not {taps}")
    if pad[0] * pad[1] + taps * shape.channels > _PAD_WORDS:
        raise NotCovered(f"{shape.name}: a filter's {taps * shape.channels} weights do not fit "
                         "into the scratchpad beside a tile")
    text = _buffers([(columns, lines * len(phases) * shape.channels),
                     (taps, shape.channels * shape.filters), (wide, high * shape.filters)])
    text += [".sp_data", f"0 0 {pad[0]} {pad[1]}",
             f"1 {4 * pad[0] * pad[1]} {taps} {shape.channels}", ".text",
             f"    smovssp sc.sd_words, {taps}", "    smov s24, 0",
             f"    smov s29, {shape.filters}", "    smov s26, 0", "    smov s30, sc.wg_off_x",
             "    smov s31, sc.wg_off_y", "filter:", "    ldg2sptile 1, 1, 0, s24",
             f"    siadd s24, s24, {shape.channels}", "    mov v0, vc.zero",
             "    siadd s27, s31, 0", "    smov s25, 0", f"    smov s28, {shape.channels}",
             "channel:", "    sldsp s0, 1, 0, s25"]
    for places in phases.values():
        text.append("    ldg2sptile 0, 0, s30, s27")
        for number, column, row in places:
            text += [f"    ldsplin v1, 0, {column}, {row}", f"    imad v0, v1, s{number}, v0"]
        text.append(f"    siadd s27, s27, {lines}")
    text += ["    siadd s25, s25, 1", *_loop("channel", shape.channels, "s28"), *_LIMITS,
             "    stglin v0, 2, 0, s26", f"    siadd s26, s26, {high}",
             *_loop("filter", shape.filters, "s29"), "    exit", ""]
    return "\n".join(text), wide, high, width


def _product(layer: Layer) -> tuple[str, int, int, int]:
    """A product of rows by inputs by inputs by outputs: source and grid."""
    product = layer.convolution.product
    rows, inputs, outputs = product.m, product.k, product.n
    text = _buffers([(inputs, rows), (outputs, inputs), (outputs, rows)])
    if inputs > _PAD_WORDS:
        raise NotCovered(f"{layer.name}: a row must have at most {_PAD_WORDS} inputs, those that "
                         f"fit into the scratchpad, not {inputs}")
    text += [".sp_data", f"0 0 {inputs} 1", ".text", "    smovssp sc.sd_words, 1",
             "    smov s1, 0", f"    smov s2, {rows}", "row:", "    ldg2sptile 0, 0, 0, s1",
             "    mov v0, vc.zero", "    smov s3, 0", f"    smov s4, {inputs}", "input:",
             "    sldsp s0, 0, s3", "    ldglin v1, 1, 0, s3", "    imad v0, v1, s0, v0",
             "    siadd s3, s3, 1", *_loop("input", inputs, "s4"), *_LIMITS,
             "    stglin v0, 2, 0, s1", "    siadd s1, s1, 1", *_loop("row", rows, "s2"),
             "    exit", ""]
    return "\n".join(text), outputs, 1, 0


def layer_kernel(layer: Layer, machine: Machine) -> LayerKernel:
    """The kernel of a layer. Raises `NotCovered` for a layer that no kernel here computes."""
    shape = layer.convolution
    for thing, there in (("pooling", layer.window > 1), ("a shortcut", bool(layer.shortcut)),
                         ("groups", shape.groups > 1), ("dilation", shape.dilations != (1, 1))):
        if there:
            raise NotCovered(f"{layer.name}: no kernel of the SIMD accelerator has {thing}")
    plain = shape.kernels == (1, 1) and shape.width == 1 and shape.edges == (0, 0, 0, 0)
    text, x, y, width = _product(layer) if plain else _convolution(layer, machine)
    try:
        return LayerKernel(assemble(text, f"{layer.name}.sas"), Grid(x, y, machine, width))
    except (AssemblyError, ValueError) as error:  # too large for the device or the grid
        raise NotCovered(f"{layer.name}: {error}") from error


def layer_wcet(machine: Machine, part: Part) -> Callable[[Layer], int]:
    """Cycles of a layer at most, under the better of the two policies, for a DRAM that is idle."""

    def cycles(layer: Layer) -> int:
        kernel = layer_kernel(layer, machine)
        analysis = Analysis(kernel.program, kernel.grid, part)
        try:
            return min(analysis.wcet(policy).cycles
                       for policy in (Policy.ACCESS, Policy.COMPUTE))
        except WcetError as error:
            raise NotCovered(f"{layer.name}: {error}") from error

    return cycles
