"""The chain of layers read from a quantised network in ONNX, and the tensor at its end.

Sums are those of the standard to the bit, zero points included: they become biases, and the value
of padding. The scale is multiplier / 2 ** shift in place of a float, and halves are rounded up, not
to even.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.systolic.accelerator_layer import Layer
from cyclebound.golden.systolic.accelerator_network import Trained
from cyclebound.golden.systolic.layers import Convolution
from cyclebound.golden.systolic.post_processing import Scale
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.families.systolic.models import fixed_point

__all__ = ["VENDOR", "Chain", "ConvolutionSizes", "Node", "by", "check_result"]

Tensor = NDArray[np.generic]
VENDOR = "com.microsoft"
"""The domain of onnxruntime's own operators."""
MOST_CHANNELS = 2**17 - 1


class ConvolutionSizes(TypedDict):
    """All arguments of `Convolution` but its name."""

    height: int
    width: int
    channels: int
    filters: int
    kernel: int | tuple[int, int]
    stride: NotRequired[tuple[int, int]]
    padding: NotRequired[tuple[int, int, int, int]]
    dilation: NotRequired[tuple[int, int]]
    groups: NotRequired[int]


@dataclass(frozen=True)
class Node:
    """A node of the graph in plain data; ``name`` as in all errors, ``domain`` None if no file has
    such a node."""

    name: str
    op: str
    domain: str | None
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, object]
    written: str = ""  # its operator in the file, where folding has made another of it

    @property
    def kind(self) -> str:
        """Its operator, for errors."""
        return self.written or self.op

    def refuse(self, what: str) -> UserError:
        return UserError(f"node {self.name} ({self.kind}): {what}")


def by(array: Tensor) -> str:
    """A tensor's shape, for errors."""
    return " x ".join(map(str, array.shape)) or "a number"


def _each(node: Node, array: Tensor, thing: str, count: int) -> Tensor:
    """One number for all filters or one for each, as a vector of 1 or ``count``."""
    if array.shape not in ((), (1,), (count,)):
        raise node.refuse(f"{thing} must be 1 number or a vector of {count}, not {by(array)}")
    return array.reshape(-1)


def _floats(node: Node, array: Tensor, thing: str) -> NDArray[np.float64]:
    if array.dtype not in (np.float32, np.float16):
        raise node.refuse(f"{thing} must be of float or float16, not {array.dtype}")
    return array.astype(np.float64)


@dataclass(frozen=True)
class Held:
    """A tensor that the last layer wrote, as so many of its channels; of which the values lie
    within limits. ``shape`` and ``offset`` are as of `Chain`."""

    tensor: str
    shape: tuple[int, ...]
    offset: int
    channels: int
    low: int = -128
    high: int = 127


def check_result(node: Node, later: Sequence[Node]) -> None:
    """Raise for a node without a result, or with one that none of those after it reads."""
    if not node.outputs or not node.outputs[0]:
        raise node.refuse("it must have an output")
    if later and not any(node.outputs[0] in other.inputs for other in later):
        raise node.refuse(f"no node reads its result, {node.outputs[0]!r}")


@dataclass
class Chain:
    """The layers read so far, and the tensor that the next of them reads.

    ``shape`` is the standard's, its first number the batch or the rows of a matrix; ``offset`` what
    a type's values are above int8's. Of ``beside`` matrices each has weights of its own: they lie
    beside each other, as groups of channels, and not one after the other.

    A tensor that is read again later (a shortcut) is carried: layers between write it once more,
    beside what they make, as further channels with weights of 1. ``held`` are the tensors of the
    last layer's channels, in their order, and ``needed`` the names of those that the nodes
    ``later`` read. What nodes ``done`` make has been made with another's result.
    """

    constants: Mapping[str, Tensor]
    tensor: str
    shape: tuple[int, ...]
    offset: int
    layers: list[Trained] = field(default_factory=list)
    error: float = 0.0
    beside: int = 1
    held: list[Held] = field(default_factory=list)
    needed: frozenset[str] = frozenset()
    later: Sequence[Node] = ()
    done: set[str] = field(default_factory=set)

    def begin(self) -> None:
        """What there is before all layers: the input."""
        self.held = [Held(self.tensor, self.shape, self.offset, self._channels())]

    def turn(self, tensor: str, later: Sequence[Node]) -> None:
        """The next node reads ``tensor``, and ``later`` come after it."""
        self.later = [node for node in later if self.done.isdisjoint(node.outputs[:1])]
        self.needed = frozenset(name for node in self.later for name in node.inputs)
        at = self.at(tensor)
        self.tensor, self.shape, self.offset = tensor, at.shape, at.offset

    def together(self, nodes: Sequence[Node]) -> None:
        """The next layer makes what these make, too. Raise unless something reads each's result."""
        for node in nodes:
            check_result(node, self.later)
        self.done |= {node.outputs[0] for node in nodes}
        self.turn(self.tensor, self.later)

    def at(self, tensor: str) -> Held:
        """The tensor of that name."""
        return next(held for held in self.held if held.tensor == tensor)

    def made(self, tensor: str) -> None:
        """The last node's result, which is the first of what is held."""
        scale = self.layers[-1].layer.scale if self.layers else Scale()
        self.held[0] = Held(tensor, self.shape, self.offset, self._channels()
                            - sum(held.channels for held in self.held[1:]), scale.low, scale.high)
        self.tensor = tensor

    def _channels(self) -> int:
        """Of the last layer's result, or of the input."""
        if self.layers:
            return self.layers[-1].layer.convolution.filters
        return self.shape[1] if len(self.shape) == 4 else self.beside * self.shape[-1]

    @property
    def carries(self) -> bool:
        """Whether the last layer wrote more than the next node reads, or that is read again."""
        return len(self.held) > 1 or self.tensor in self.needed

    @property
    def rows(self) -> bool:
        """Whether the tensor lies in memory as rows of elements, and not as an image."""
        if len(self.shape) == 4:
            return False
        rows = math.prod(self.shape[:-1]) // self.beside
        return not self.layers or self.layers[-1].layer.output == (rows, 1)

    def constant(self, node: Node, place: int, thing: str) -> Tensor | None:
        """An input of a node that must be known; None where it is left out."""
        if place >= len(node.inputs) or not node.inputs[place]:
            return None
        if node.inputs[place] not in self.constants:
            raise node.refuse(f"{thing} must be a constant, not {node.inputs[place]!r}, which is "
                              "computed")
        return self.constants[node.inputs[place]]

    def one(self, node: Node, place: int, thing: str) -> Tensor | None:
        """An input for a whole tensor, as a tensor without axes; None where it is left out."""
        array = self.constant(node, place, thing)
        if array is None:
            return None
        if array.shape not in ((), (1,)):
            raise node.refuse(f"{thing} must be one number, not {by(array)}")
        return array.reshape(())

    def number(self, node: Node, place: int, thing: str) -> float:
        """A scale for a whole tensor."""
        array = self.one(node, place, thing)
        if array is None:
            raise node.refuse(f"{thing} must be one number, and is left out")
        value = float(_floats(node, array, thing))
        if not (math.isfinite(value) and value > 0):
            raise node.refuse(f"{thing} must be above 0, not {value:g}")
        return value

    def scales(self, node: Node, place: int, thing: str, count: int) -> NDArray[np.float64]:
        """A scale, or one for each of ``count`` filters."""
        array = self.constant(node, place, thing)
        if array is None:
            raise node.refuse(f"{thing} must be 1 number or {count}, and is left out")
        return _floats(node, _each(node, array, thing, count), thing)

    def zero(self, node: Node, place: int, thing: str, default: np.dtype | None = None
             ) -> tuple[int, int]:
        """A zero point for a whole tensor as int8, and the offset of its type.

        Where it is left out, 0 of the ``default``; without a default it must be given.
        """
        array = self.one(node, place, thing)
        if array is None:
            if default is None:
                raise node.refuse(f"{thing} must be one number of int8 or uint8, and is left out")
            array = np.zeros((), dtype=default)
        if array.dtype not in (np.int8, np.uint8):
            raise node.refuse(f"{thing} must be one number of int8 or uint8, not of {array.dtype}")
        offset = 128 if array.dtype == np.uint8 else 0
        return int(array) - offset, offset

    def weights(self, node: Node, place: int, zero: int, thing: str, axis: int, *axes: int
                ) -> NDArray[np.int64]:
        """Weights less their zero points, of up to 9 bits; their filters lie along ``axis``, of as
        many as one of ``axes``.
        """
        array, zeros = self.constant(node, place, thing), self.constant(
            node, zero, f"zero point of {thing}")
        if array is None or array.dtype not in (np.int8, np.uint8):
            raise node.refuse(f"{thing} must be of int8 or uint8, not "
                              f"{'left out' if array is None else array.dtype}")
        if array.ndim not in axes:
            raise node.refuse(f"{thing} must have {' or '.join(map(str, axes))} dimensions, not "
                              f"{by(array)}")
        if not array.size:
            raise node.refuse(f"{thing} must not be empty")
        if zeros is None:
            zeros = np.zeros((), dtype=array.dtype)
        if zeros.dtype != array.dtype:
            raise node.refuse(f"zero point of {thing} must be of {array.dtype}, not {zeros.dtype}")
        shape = [1] * array.ndim
        shape[axis] = -1
        zeros = _each(node, zeros, f"zero point of {thing}", array.shape[axis])
        return array.astype(np.int64) - zeros.astype(np.int64).reshape(shape)

    def bias(self, node: Node, place: int, thing: str, filters: int, rows: int | None = None
             ) -> NDArray[np.int64]:
        """A bias for each filter: a vector, or of a product what broadcasts to rows x filters.

        The hardware has one for each filter: in all rows it must be the same.
        """
        array = self.constant(node, place, thing)
        if array is None:
            return np.zeros(filters, dtype=np.int64)
        if array.dtype != np.int32:
            raise node.refuse(f"{thing} must be of int32, not {array.dtype}")
        if rows is None:
            if array.shape != (filters,):
                raise node.refuse(f"{thing} must be a vector of {filters}, not {by(array)}")
            return array.astype(np.int64)
        # an axis is 1 or whole, from the last one on; a bias adds no axes to a product
        if array.ndim > 2 or any(size not in (1, whole) for size, whole in zip(
                array.shape[::-1], (filters, rows), strict=False)):
            raise node.refuse(f"{thing} must broadcast to {rows} x {filters}, and not be "
                              f"{by(array)}")
        whole = np.broadcast_to(array, (rows, filters))
        if (whole != whole[0]).any():
            raise node.refuse(f"{thing} must be the same in all {rows} rows, as hardware has one "
                              f"bias for each column; it is {by(array)} and differs between rows")
        return whole[0].astype(np.int64)

    def of_input(self, node: Node, offset: int, zero_of: str) -> None:
        """Raise unless the chain's end has the type of a zero point."""
        if offset != self.offset:
            kinds = {0: "int8", 128: "uint8"}
            raise node.refuse(f"{zero_of} must be of {kinds[self.offset]}, as its tensor is, not "
                              f"{kinds[offset]}")

    def extend(self, node: Node, convolution: ConvolutionSizes, weights: NDArray[np.int64],
               bias: NDArray[np.int64], scales: NDArray[np.float64], pad: int,
               made: tuple[int, int], *, whole: bool = False) -> None:
        """Another layer; ``made`` is the zero point of its result, and the offset of that.

        ``whole``: its weights are of all channels that are held, and not of the one tensor.
        """
        if self.carries:
            convolution, weights, bias, scales = self._carrying(
                node, convolution, weights, bias, scales, pad - made[0], whole)
        filters = len(weights)
        flat = weights.reshape(filters, -1)
        exact = bias - pad * flat.sum(axis=1)
        if not -2**31 <= exact.min() <= exact.max() < 2**31:
            raise node.refuse("bias less zero point times weights must have 32 bits, not "
                              f"{max(exact.min(), exact.max(), key=abs)}")
        ends = [exact + np.where((flat > 0) == up, flat * 127, flat * -128).sum(axis=1)
                for up in (False, True)]
        if not -2**31 <= ends[0].min() <= ends[1].max() < 2**31:
            raise node.refuse("its sums must have 32 bits for any input, and may reach "
                              f"{max(ends[0].min(), ends[1].max(), key=abs)}")
        weights = self._split(node, convolution, weights)
        points = [fixed_point(f"node {node.name} ({node.kind})", float(scale)) for scale in scales]
        self.error = max([self.error, *(
            abs(math.ldexp(multiplier, -shift) / float(scale) - 1)
            for (multiplier, shift), scale in zip(points, scales, strict=True))])
        alike = len(set(points)) == 1
        try:
            layer = Layer(Convolution(node.name, **convolution),
                          Scale(*points[0]) if alike else Scale(), pad=pad, zero=made[0],
                          scales=() if alike else tuple(points))
        except (TypeError, ValueError) as error:
            raise UserError(f"node ({node.kind}) {error}") from error
        self.layers.append(Trained(layer, weights.astype(np.int8), exact.astype(np.int32)))
        self.offset = made[1]
        if self.held:
            self.held = [self.at(self.tensor), *(
                held for held in self.held if held.tensor in self.needed)]

    def _carrying(self, node: Node, convolution: ConvolutionSizes, weights: NDArray[np.int64],
                  bias: NDArray[np.int64], scales: NDArray[np.float64], same: int, whole: bool
                  ) -> tuple[ConvolutionSizes, NDArray[np.int64], NDArray[np.int64],
                             NDArray[np.float64]]:
        """The layer that also writes what is held and needed once more: a weight of 1 in the middle
        of each window, and a bias of ``same``, with which a sum is the value less its zero point.
        """
        starts = np.cumsum([0, *(held.channels for held in self.held)]).tolist()
        carried = [(held, start) for held, start in zip(self.held, starts, strict=False)
                   if held.tensor in self.needed]
        kernel, groups = weights.shape[2:], convolution.get("groups", 1)
        apart, padding = convolution.get("dilation", (1, 1)), convolution.get("padding", (0,) * 4)
        middle = [edge // step for edge, step in zip(padding[:2], apart, strict=True)]
        size = convolution["height"], convolution["width"]
        if carried and (convolution.get("stride", (1, 1)) != (1, 1) or any(
                edge % step or edge // step >= taps for edge, step, taps in zip(
                    padding[:2], apart, kernel, strict=True)) or any(
                padding[axis] + padding[axis + 2] != (kernel[axis] - 1) * apart[axis]
                for axis in range(2))):
            raise node.refuse(
                f"it must have as many rows and columns as its input, {size[0]} x {size[1]}, since "
                f"{carried[0][0].tensor!r}, which is read later, goes through it as further "
                "channels")
        own = self.at(self.tensor)
        if self.beside > 1 or (convolution["channels"] != own.channels and not whole):
            raise node.refuse(f"its input must lie in memory as {own.channels} channels, beside "
                              "which others are that are read later")
        filters, each = weights.shape[:2]
        total, more = starts[-1], sum(held.channels for held, _ in carried)
        bias = np.concatenate((bias, np.full(more, same)))
        scales = np.concatenate((np.broadcast_to(scales, filters), np.ones(more)))
        wide: NDArray[np.int64] = np.zeros((filters + more, total, *kernel), dtype=np.int64)
        if whole:
            wide[:filters] = weights
        for number in range(0 if whole else filters):
            start = starts[self.held.index(own)] + number // (filters // groups) * each
            wide[number, start:start + each] = weights[number]
        for row, channel in enumerate(itertools.chain(*(
                range(start, start + held.channels) for held, start in carried)), filters):
            wide[row, channel, middle[0], middle[1]] = 1
        if groups > 1 and own is self.held[0] and filters == groups * each and [
                held for held, _ in carried] == self.held[1:] and all(
                held.channels % each == 0 for held, _ in carried):
            # as many filters as channels in each group: those that are carried are groups, too
            groups = total // each
            wide = np.stack([wide[number, number // each * each:][:each]
                             for number in range(total)])
        else:
            groups = 1
        return ({**convolution, "channels": total, "filters": filters + more, "groups": groups},
                wide, bias, scales)

    def pixels(self, node: Node) -> tuple[int, int, int]:
        """Channels, height and width, of one image."""
        if len(self.shape) != 4:
            raise node.refuse(f"its input must be 1 x channels x height x width, not "
                              f"{' x '.join(map(str, self.shape))}")
        if self.shape[0] != 1:
            raise node.refuse(f"there must be 1 image in a batch, not {self.shape[0]}")
        self._few(node, self.shape[1])
        return self.shape[1], self.shape[2], self.shape[3]

    def elementwise(self, node: Node) -> ConvolutionSizes:
        """Sizes of a layer whose filters each see one element of one channel."""
        if self.layers:
            height, width = self.layers[-1].layer.output
            channels = (self.at(self.tensor).channels if self.held
                        else self.layers[-1].layer.convolution.filters)
        elif len(self.shape) == 4:
            channels, height, width = self.pixels(node)
        else:
            height, width = math.prod(self.shape[:-1]) // self.beside, 1
            channels = self.beside * self.shape[-1]
        self._few(node, channels)
        return {"height": height, "width": width, "channels": channels, "filters": channels,
                "kernel": 1, "groups": channels}

    def identity(self, node: Node, *, alone: bool = False) -> None:
        """A layer that changes nothing, to which pooling or limits may belong; ``alone``: also of
        what is held."""
        sizes = self.elementwise(node)
        channels = sizes["channels"]
        if self.carries and not alone:
            self.extend(node, sizes, np.ones((channels, 1, 1, 1), dtype=np.int64),
                        np.zeros(channels, dtype=np.int64), np.ones(1), 0, (0, self.offset))
            return
        try:
            layer = Layer(Convolution(node.name, **sizes))
        except ValueError as error:
            raise UserError(f"node ({node.kind}) {error}") from error
        self.layers.append(Trained(layer, np.ones((channels, 1, 1, 1), dtype=np.int8),
                                   np.zeros(channels, dtype=np.int32)))

    def _few(self, node: Node, channels: int) -> None:
        """Raise before a plan for more channels than a filter may have weights."""
        if channels > MOST_CHANNELS:
            raise node.refuse(f"its input must have at most {MOST_CHANNELS} channels or columns, "
                              f"not {channels}")

    def _split(self, node: Node, convolution: ConvolutionSizes, weights: NDArray[np.int64]
               ) -> NDArray[np.int64]:
        """Weights beyond int8 as sums of some within, for as many copies of each channel, which the
        layer before makes."""
        parts = max(-(-int(weights.max()) // 127), -(-int(-weights.min()) // 128), 1)
        if parts == 1:
            return weights
        if not self.layers:
            self.identity(node, alone=True)
        last = self.layers[-1]
        before = last.layer.convolution
        self.layers[-1] = Trained(replace(
            last.layer, depthwise=False, scales=tuple(np.repeat(
                np.array(last.layer.scales, dtype=object), parts, axis=0).tolist()),
            convolution=replace(before, filters=before.filters * parts)),
            np.repeat(last.weights, parts, axis=0), np.repeat(last.bias, parts))
        split, rest = [], weights
        for _ in range(parts):
            split.append(np.clip(rest, -128, 127))
            rest = rest - split[-1]
        # after an image that was flattened, a channel has several elements
        own = convolution["channels"] // before.filters
        filters, elements, *kernel = weights.shape
        convolution["channels"] *= parts
        return np.stack([part.reshape(filters, elements // own, own, *kernel) for part in split],
                        axis=2).reshape(filters, elements * parts, *kernel)

    def change(self, node: Node, change: Callable[[Layer], Layer]) -> None:
        """Replace the last layer by what ``change`` makes of it."""
        last = self.layers[-1]
        try:
            self.layers[-1] = replace(last, layer=change(last.layer))
        except (TypeError, ValueError) as error:
            raise node.refuse(str(error).removeprefix(f"{last.layer.name}: ")) from error
