"""The chain of layers read from a quantised network in ONNX, and the tensor at its end.

Sums are those of the standard to the bit, zero points included: they become biases, and the value
of padding. The scale is multiplier / 2 ** shift in place of a float, and halves are rounded up, not
to even.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.systolic.accelerator_layer import Layer
from cyclebound.golden.systolic.accelerator_network import Trained
from cyclebound.golden.systolic.layers import Convolution
from cyclebound.golden.systolic.post_processing import Scale
from cyclebound.sim.errors import UserError
from cyclebound.sim.systolic_models import fixed_point

__all__ = ["Chain", "ConvolutionSizes", "Node"]

Tensor = NDArray[np.generic]


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
    """A node of the graph in plain data; ``name`` as in all errors."""

    name: str
    op: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, object]

    def refuse(self, what: str) -> UserError:
        return UserError(f"node {self.name} ({self.op}): {what}")


@dataclass
class Chain:
    """The layers read so far, and the tensor that the last of them writes.

    ``shape`` is the standard's, its first number the batch or the rows of a matrix; ``offset`` what
    a type's values are above int8's.
    """

    constants: Mapping[str, Tensor]
    tensor: str
    shape: tuple[int, ...]
    offset: int
    layers: list[Trained] = field(default_factory=list)
    quantise: tuple[float, int] | None = None
    dequantise: tuple[float, int] | None = None
    error: float = 0.0

    def constant(self, node: Node, place: int, thing: str) -> Tensor | None:
        """An input of a node that must be known; None where it is left out."""
        if place >= len(node.inputs) or not node.inputs[place]:
            return None
        if node.inputs[place] not in self.constants:
            raise node.refuse(f"{thing} must be a constant, not {node.inputs[place]!r}, which is "
                              "computed")
        return self.constants[node.inputs[place]]

    def number(self, node: Node, place: int, thing: str) -> float:
        """A scale for a whole tensor."""
        array = self.constant(node, place, thing)
        if array is None or array.size != 1:
            raise node.refuse(f"{thing} must be one number"
                              + (f", not {array.size}" if array is not None else ""))
        value = float(array.reshape(-1)[0])
        if not (math.isfinite(value) and value > 0):
            raise node.refuse(f"{thing} must be above 0, not {value:g}")
        return value

    def zero(self, node: Node, place: int, thing: str) -> tuple[int, int]:
        """A zero point for a whole tensor as int8, and the offset of its type."""
        array = self.constant(node, place, thing)
        if array is None:
            return -128, 128  # uint8 is the default
        if array.size != 1 or array.dtype not in (np.int8, np.uint8):
            raise node.refuse(f"{thing} must be one number of int8 or uint8, not {array.size} of "
                              f"{array.dtype}")
        offset = 128 if array.dtype == np.uint8 else 0
        return int(array.reshape(-1)[0]) - offset, offset

    def weights(self, node: Node, place: int, zero: int, thing: str, axis: int
                ) -> NDArray[np.int64]:
        """Weights less their zero points, which must be of int8."""
        array, zeros = self.constant(node, place, thing), self.constant(
            node, zero, f"zero point of {thing}")
        if array is None or array.dtype not in (np.int8, np.uint8):
            raise node.refuse(f"{thing} must be of int8 or uint8, not "
                              f"{'left out' if array is None else array.dtype}")
        if not array.size:
            raise node.refuse(f"{thing} must not be empty")
        if zeros is None:
            zeros = np.zeros((), dtype=array.dtype)
        if zeros.dtype != array.dtype:
            raise node.refuse(f"zero point of {thing} must be of {array.dtype}, not {zeros.dtype}")
        shape = [1] * array.ndim
        if zeros.size != 1:
            if zeros.shape != (array.shape[axis],):
                raise node.refuse(f"zero point of {thing} must be 1 number or {array.shape[axis]}, "
                                  f"not {zeros.size}")
            shape[axis] = zeros.size
        values = array.astype(np.int64) - zeros.astype(np.int64).reshape(shape)
        if values.size and not -128 <= values.min() <= values.max() <= 127:
            worst = max(values.min(), values.max(), key=abs)
            raise node.refuse(f"{thing} less zero point must be -128 to 127, not {worst}")
        return values

    def of_input(self, node: Node, offset: int, zero_of: str) -> None:
        """Raise unless the chain's end has the type of a zero point."""
        if offset != self.offset:
            kinds = {0: "int8", 128: "uint8"}
            raise node.refuse(f"{zero_of} must be of {kinds[self.offset]}, as its tensor is, not "
                              f"{kinds[offset]}")

    def extend(self, node: Node, convolution: ConvolutionSizes, weights: NDArray[np.int64],
               bias: Tensor | None, scales: NDArray[np.float64], pad: int,
               made: tuple[int, int]) -> None:
        """Another layer; ``made`` is the zero point of its result, and the offset of that."""
        filters, exact = len(weights), np.zeros(len(weights), dtype=np.int64)
        if bias is not None:
            if bias.dtype != np.int32 or bias.size not in (1, filters):
                raise node.refuse(f"bias must be 1 number of int32 or {filters}, not {bias.size} "
                                  f"of {bias.dtype}")
            exact = exact + bias.reshape(-1).astype(np.int64)
        exact = exact - pad * weights.reshape(filters, -1).sum(axis=1)
        if not -2**31 <= exact.min() <= exact.max() < 2**31:
            raise node.refuse("bias less zero point times weights must have 32 bits, not "
                              f"{max(exact.min(), exact.max(), key=abs)}")
        points = [fixed_point(f"node {node.name} ({node.op})", float(scale)) for scale in scales]
        self.error = max([self.error, *(
            abs(math.ldexp(multiplier, -shift) / float(scale) - 1)
            for (multiplier, shift), scale in zip(points, scales, strict=True))])
        alike = len(set(points)) == 1
        if not alike and len(points) != filters:
            raise node.refuse(f"there must be 1 scale or {filters}, not {len(points)}")
        try:
            layer = Layer(Convolution(node.name, **convolution),
                          Scale(*points[0]) if alike else Scale(), pad=pad, zero=made[0],
                          scales=() if alike else tuple(points))
        except (TypeError, ValueError) as error:
            raise UserError(f"node ({node.op}) {error}") from error
        self.layers.append(Trained(layer, weights.astype(np.int8), exact.astype(np.int32)))
        self.offset = made[1]

    def pixels(self, node: Node) -> tuple[int, int, int]:
        """Channels, height and width, of one image."""
        if len(self.shape) != 4:
            raise node.refuse(f"its input must be 1 x channels x height x width, not "
                              f"{' x '.join(map(str, self.shape))}")
        if self.shape[0] != 1:
            raise node.refuse(f"there must be 1 image in a batch, not {self.shape[0]}")
        return self.shape[1], self.shape[2], self.shape[3]

    def identity(self, node: Node) -> None:
        """A layer that changes nothing, to which pooling or limits may belong."""
        if len(self.shape) == 4:
            channels, height, width = self.pixels(node)
        else:
            (height, channels), width = self.shape, 1
        layer = Layer(Convolution(node.name, height, width, channels, channels, 1),
                      depthwise=True)
        self.layers.append(Trained(layer, np.ones((channels, 1, 1, 1), dtype=np.int8),
                                   np.zeros(channels, dtype=np.int32)))

    def change(self, node: Node, change: Callable[[Layer], Layer]) -> None:
        """Replace the last layer by what ``change`` makes of it."""
        last = self.layers[-1]
        try:
            self.layers[-1] = replace(last, layer=change(last.layer))
        except (TypeError, ValueError) as error:
            raise node.refuse(str(error).removeprefix(f"{last.layer.name}: ")) from error
