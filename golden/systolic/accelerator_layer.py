"""A layer for the accelerator: its numpy reference, and how its operands lie in memory.

An image is stored in planes, each with some of its channels: all of them for the first layer of
a network, ``size`` in those that the accelerator itself has written. A plane's rows each begin
with a word; pixels are beside each other, and so are a pixel's channels.

Ref: the thesis on AI accelerators, chapters 2.3 and 2.4 for the layers.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.systolic.im2col import image_words
from cyclebound.golden.systolic.layers import Convolution, Product
from cyclebound.golden.systolic.mapping import ceil_div
from cyclebound.golden.systolic.max_pooling import max_pool
from cyclebound.golden.systolic.post_processing import Scale, requantise

__all__ = ["Layer", "flat_weights", "product_layer"]

Tensor = NDArray[np.integer]


@dataclass(frozen=True)
class Layer:
    """A convolution with bias, scale, shortcut, limits and pooling.

    Attributes
    ----------
    convolution : Convolution
        The layer proper.
    scale : Scale
        From sums to results.
    window : int
        Of the pooling; 1: none.
    depthwise : bool
        Filter *i* sees channel *i* only; there are as many filters as channels.
    together : int
        Channels of a plane of the image; 0: as many as a word has elements.
    shortcut : int
        The result of so many layers before this one is added, before the limits; 0: none is. It
        has the shape of this one's result, and its scale.

    Raises `TypeError` and `ValueError`, which name what does not fit.
    """

    convolution: Convolution
    scale: Scale = field(default_factory=Scale)
    window: int = 1
    depthwise: bool = False
    together: int = 0
    shortcut: int = 0

    def __post_init__(self) -> None:
        layer, name = self.convolution, self.convolution.name
        least = min(layer.output)
        for thing, value, low in (("window", self.window, 1), ("together", self.together, 0),
                                  ("shortcut", self.shortcut, 0)):
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"{name}: {thing} must be a whole number, not {value!r}")
            if value < low:
                raise ValueError(f"{name}: {thing} must be at least {low}, not {value}")
        if self.window > least:
            raise ValueError(f"{name}: window must be at most {least}, the convolution's result, "
                             f"not {self.window}")
        if self.shortcut and self.window > 1:
            raise ValueError(f"{name}: window must be 1 where a shortcut is added, not "
                             f"{self.window}")
        if self.depthwise and layer.filters != layer.channels:
            raise ValueError(f"{name}: a depthwise layer must have as many filters as channels, "
                             f"not {layer.filters} and {layer.channels}")
        if self.depthwise and self.together:
            raise ValueError(f"{name}: a depthwise layer's planes must have as many channels as a "
                             f"word, not {self.together}")

    @property
    def output(self) -> tuple[int, int]:
        """Height and width of the result, behind the pooling."""
        high, wide = self.convolution.output
        return high // self.window, wide // self.window

    @property
    def macs(self) -> int:
        """Multiplications of the layer, those with padding included."""
        product = self.convolution.product
        return product.m * product.k * (1 if self.depthwise else product.n)

    def planes(self, size: int) -> tuple[int, int]:
        """Planes of the image, and channels of each."""
        channels = self.together or size
        return ceil_div(self.convolution.channels, channels), channels

    def reference(self, image: Tensor, weights: Tensor, bias: Tensor,
                  shortcut: Tensor | int = 0) -> Tensor:
        """Filters x height x width of the result, from a definition without matrices.

        ``image`` is channels x height x width; ``weights`` filters x channels x kernel x kernel,
        with 1 channel where the layer is depthwise; ``shortcut`` is as the result.
        """
        layer = self.convolution
        if self.depthwise:
            one = Convolution(layer.name, layer.height, layer.width, 1, 1, layer.kernel,
                              layer.stride, layer.padding)
            sums = np.concatenate([one.reference(image[i:i + 1], weights[i:i + 1])
                                   for i in range(layer.channels)])
        else:
            sums = layer.reference(image, weights)
        results = requantise(sums, bias[:, None, None], self.scale, shortcut)
        return max_pool(results.transpose(1, 2, 0), self.window).transpose(2, 0, 1)

    def _check(self, thing: str, tensor: Tensor, shape: tuple[int, ...],
               kind: type = np.int8) -> None:
        name = self.convolution.name
        if tensor.dtype != kind:
            raise TypeError(f"{name}: {thing} must hold {np.dtype(kind)}, not {tensor.dtype}")
        if tensor.shape != shape:
            raise ValueError(f"{name}: {thing} must be {' x '.join(map(str, shape))}, not "
                             f"{' x '.join(map(str, tensor.shape))}")

    # -- in memory ---------------------------------------------------------------------------------

    def image_beats(self, image: Tensor, size: int) -> Tensor:
        """The words of an image of int8, channels x height x width.

        This and those of the other operands raise `TypeError` and `ValueError` where a tensor's
        elements or shape are not the layer's.
        """
        layer = self.convolution
        self._check("image", image, (layer.channels, layer.height, layer.width))
        planes, channels = self.planes(size)
        padded = np.pad(image, ((0, planes * channels - image.shape[0]), (0, 0), (0, 0)))
        split = padded.reshape(planes, channels, *image.shape[1:]).transpose(0, 2, 3, 1)
        return np.vstack([image_words(plane, size) for plane in split])

    def weight_beats(self, weights: Tensor, size: int) -> Tensor:
        """The words of all weights, in the order of their use, an element for each filter."""
        layer = self.convolution
        self._check("weights", weights, (layer.filters, 1 if self.depthwise else layer.channels,
                                         layer.kernel, layer.kernel))
        planes, channels = self.planes(size)
        strips, kernel = ceil_div(layer.filters, size), layer.kernel
        if self.depthwise:  # of each strip, the plane with its own channels
            whole = np.zeros((strips, size, size, kernel, kernel), dtype=np.int64)
            for i in range(layer.filters):
                whole[i // size, i % size, i % size] = weights[i, 0]
            order = whole.transpose(0, 3, 4, 2, 1)  # strip, y, x, channel, filter
        else:
            padded = np.pad(weights.astype(np.int64), (
                (0, strips * size - layer.filters), (0, planes * channels - layer.channels),
                (0, 0), (0, 0)))
            split = padded.reshape(strips, size, planes, channels, kernel, kernel)
            order = split.transpose(0, 2, 4, 5, 3, 1)
        return order.reshape(-1, size)

    def bias_beats(self, bias: Tensor, size: int) -> Tensor:
        """The words of all biases, int32: four beats for each strip of filters."""
        self._check("bias", bias, (self.convolution.filters,), np.int32)
        padded = np.pad(bias.astype("<i4"), (0, -len(bias) % size))
        return padded.view(np.int8).astype(np.int64).reshape(-1, size)

    def result_words(self, size: int) -> int:
        """Words of the result, and of a shortcut."""
        high, wide = self.output
        return ceil_div(self.convolution.filters, size) * high * wide

    def shortcut_beats(self, shortcut: Tensor, size: int) -> Tensor:
        """The words of a shortcut of int8, as those of the result."""
        filters = self.convolution.filters
        self._check("shortcut", shortcut, (filters, *self.output))
        padded = np.pad(shortcut, ((0, -filters % size), (0, 0), (0, 0)))
        return padded.reshape(-1, size, *self.output).transpose(0, 2, 3, 1).reshape(-1, size)

    def result_of(self, beats: Tensor, size: int) -> Tensor:
        """Filters x height x width, from the words that were written."""
        image = beats.reshape(-1, *self.output, size).transpose(0, 3, 1, 2)
        return image.reshape(-1, *self.output)[:self.convolution.filters]


def product_layer(product: Product, scale: Scale | None = None) -> Layer:
    """A product of matrices: an image of m rows of one pixel, with k channels."""
    return Layer(Convolution(product.name, product.m, 1, product.k, product.n, 1),
                 scale or Scale())


def flat_weights(weights: Tensor, size: int) -> Tensor:
    """Weights of a fully connected layer behind an image that the accelerator has written.

    From filters x channels x height x width to filters x elements x 1 x 1, in the order in which
    the image lies in memory: plane, row, pixel, channel.
    """
    filters, channels, height, width = weights.shape
    padded = np.pad(weights, ((0, 0), (0, -channels % size), (0, 0), (0, 0)))
    split = padded.reshape(filters, -1, size, height, width).transpose(0, 1, 3, 4, 2)
    return split.reshape(filters, -1, 1, 1)
