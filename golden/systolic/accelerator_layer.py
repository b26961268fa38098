"""A layer for the accelerator: its numpy reference, and how its operands lie in memory.

An image is stored in planes, each with some of its channels: all of them for the first layer of
a network, ``size`` in those that the accelerator itself has written. A plane's rows each begin
with a word; pixels are beside each other, and so are a pixel's channels.

Ref: thesis on AI accelerators, chapters 2.3 and 2.4 for the layers.
"""

import itertools
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.systolic.accelerator_layout import SHIFT_PLACE
from cyclebound.golden.systolic.im2col import image_words
from cyclebound.golden.systolic.layers import Convolution, Product, check_array
from cyclebound.golden.systolic.mapping import ceil_div
from cyclebound.golden.systolic.max_pooling import max_pool
from cyclebound.golden.systolic.post_processing import Scale, requantise
from cyclebound.golden.systolic.sizes import whole

__all__ = ["Block", "Layer", "Part", "flat_weights", "product_layer"]

Tensor = NDArray[np.integer]


class Part(NamedTuple):
    """``count`` of something, from ``start`` on."""

    start: int
    count: int  # type: ignore[assignment]  # not the method of a tuple


class Block(NamedTuple):
    """Taps of a filter that lie beside each other in the image: all of them without dilation."""

    rows: Part
    columns: Part


def _within(thing: str, value: object, least: int, most: int) -> int:
    number = whole(thing, value, -2**63)
    if not least <= number <= most:
        raise ValueError(f"{thing} must be {least} to {most}, not {number}")
    return number


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
        Filter *i* sees channel *i* only; there are as many filters as channels: a convolution with
        as many groups.
    together : int
        Channels of a plane of the image; 0: as many as a word has elements.
    shortcut : int
        How many layers before this one the result lies that is added, before the limits; 0: none.
        It has the shape of this one's result, and its scale.
    pad : int
        What padding holds, int8: the zero point of the image.
    zero : int
        Added to each result before the limits, int8: its zero point. None with a shortcut.
    scales : tuple of (multiplier, shift)
        Each filter's own, in place of those of ``scale``; empty: all have that one.

    Raises `TypeError` and `ValueError`, which name what does not fit.
    """

    convolution: Convolution
    scale: Scale = field(default_factory=Scale)
    window: int = 1
    depthwise: bool = False
    together: int = 0
    shortcut: int = 0
    pad: int = 0
    zero: int = 0
    scales: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.convolution, Convolution):
            raise TypeError(f"convolution must be a Convolution, not {self.convolution!r}")
        layer, name = self.convolution, self.convolution.name
        if not isinstance(self.scale, Scale):
            raise TypeError(f"{name}: scale must be a Scale, not {self.scale!r}")
        least, most = min(layer.output), 2**17 - 1
        if layer.product.k > most:
            raise ValueError(f"{name}: a filter must have at most {most} weights, for its sums to "
                             f"have 32 bits, not {layer.product.k}")
        for thing, low in (("window", 1), ("together", 0), ("shortcut", 0)):
            object.__setattr__(self, thing, whole(f"{name}: {thing}", getattr(self, thing), low))
        for thing in ("pad", "zero"):
            object.__setattr__(self, thing, _within(f"{name}: {thing}", getattr(self, thing),
                                                    -128, 127))
        if self.window > least:
            raise ValueError(f"{name}: window must be at most {least}, the convolution's result, "
                             f"not {self.window}")
        if self.shortcut and self.window > 1:
            raise ValueError(f"{name}: window must be 1 where a shortcut is added, not "
                             f"{self.window}")
        if self.shortcut and self.zero:
            raise ValueError(f"{name}: zero must be 0 where a shortcut is added, not {self.zero}")
        if self.depthwise:
            if layer.filters != layer.channels or layer.groups not in (1, layer.channels):
                raise ValueError(f"{name}: a depthwise layer must have as many filters as "
                                 f"channels, not {layer.filters} and {layer.channels}")
            layer = replace(layer, groups=layer.channels)
            object.__setattr__(self, "convolution", layer)
        if self.together and layer.groups > 1:
            raise ValueError(f"{name}: a depthwise layer's planes, or those of any with groups, "
                             f"must have as many channels as a word, not {self.together}")
        if self.scales:
            if len(self.scales) != layer.filters:
                raise ValueError(f"{name}: scales must be one for each of {layer.filters} filters, "
                                 f"not {len(self.scales)}")
            object.__setattr__(self, "scales", tuple(
                (_within(f"{name}: multiplier", multiplier, 0, 65535),
                 _within(f"{name}: shift", shift, 0, 63)) for multiplier, shift in self.scales))

    @property
    def name(self) -> str:
        """The name of its convolution."""
        return self.convolution.name

    @property
    def output(self) -> tuple[int, int]:
        """Height and width of the result, after the pooling."""
        high, wide = self.convolution.output
        return high // self.window, wide // self.window

    @property
    def macs(self) -> int:
        """Multiplications of the layer, those with padding included."""
        product = self.convolution.product
        return product.m * product.k * product.n

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The filter in parts whose taps lie beside each other, in the order of their use."""
        conv = self.convolution

        def parts(taps: int, apart: int) -> list[Part]:
            return [Part(0, taps)] if apart == 1 else [Part(tap, 1) for tap in range(taps)]

        rows, columns = map(parts, conv.kernels, conv.dilations)
        return tuple(itertools.starmap(Block, itertools.product(rows, columns)))

    def planes(self, size: int) -> tuple[int, int]:
        """Planes of the image, and channels of each."""
        channels = self.together or size
        return ceil_div(self.convolution.channels, channels), channels

    def seen(self, size: int) -> tuple[list[int], int]:
        """For each strip of ``size`` filters the first plane that it sees, and how many each does.

        Where there is one group, all planes. Else those of its filters' groups; as many for each
        strip as the strip with the most needs, from where they do not go beyond the last.
        """
        conv, (planes, channels) = self.convolution, self.planes(size)
        strips = ceil_div(conv.filters, size)
        if conv.groups == 1:
            return [0] * strips, planes
        filters, own = conv.filters // conv.groups, conv.channels // conv.groups
        spans = []
        for start in range(0, conv.filters, size):
            last = min(start + size, conv.filters) - 1
            spans.append((start // filters * own // channels,
                          ((last // filters + 1) * own - 1) // channels))
        count = max(last - first + 1 for first, last in spans)
        return [min(first, planes - count) for first, _ in spans], count

    def reference(self, image: Tensor, weights: Tensor, bias: Tensor,
                  shortcut: Tensor | int = 0) -> Tensor:
        """Filters x height x width of the result, from a definition without matrices.

        ``image`` is channels x height x width; ``weights`` filters x channels of a group x kernel,
        with 1 channel where the layer is depthwise; ``shortcut`` is as the result.
        """
        sums = self.convolution.reference(image, weights, self.pad)
        own = {}
        if self.scales:
            own = dict(zip(("multiplier", "shift"),
                           np.array(self.scales).T[:, :, None, None], strict=True))
        results = requantise(sums, bias[:, None, None], self.scale,
                             shortcut if self.shortcut else self.zero, **own)
        return max_pool(results.transpose(1, 2, 0), self.window).transpose(2, 0, 1)

    def check(self, thing: str, tensor: object, shape: tuple[int, ...],
              kind: type = np.int8) -> Tensor:
        """An operand. Raises `TypeError` unless it is an array of numpy with elements of ``kind``,
        and `ValueError` unless it has this shape."""
        array = check_array(f"{self.name}: {thing}", tensor, kind)
        if array.shape != shape:
            raise ValueError(f"{self.name}: {thing} must be {' x '.join(map(str, shape))}, not "
                             f"{' x '.join(map(str, array.shape)) or 'a number'}")
        return array

    # -- in memory ---------------------------------------------------------------------------------

    def image_beats(self, image: Tensor, size: int) -> Tensor:
        """The words of an image of int8, channels x height x width.

        This and those of the other operands raise `TypeError` and `ValueError` where a tensor's
        elements or shape are not the layer's.
        """
        layer = self.convolution
        self.check("image", image, (layer.channels, layer.height, layer.width))
        planes, channels = self.planes(size)
        padded = np.pad(image, ((0, planes * channels - image.shape[0]), (0, 0), (0, 0)))
        split = padded.reshape(planes, channels, *image.shape[1:]).transpose(0, 2, 3, 1)
        return np.vstack([image_words(plane, size) for plane in split])

    def weight_beats(self, weights: Tensor, size: int) -> Tensor:
        """The words of all weights, in the order of their use, an element for each filter.

        Strip by strip; in a strip block by block; in a block, plane, row, column, channel.
        """
        conv = self.convolution
        own, per_group = conv.channels // conv.groups, conv.filters // conv.groups
        self.check("weights", weights, (conv.filters, own, *conv.kernels))
        _, channels = self.planes(size)
        firsts, seen = self.seen(size)
        strips = []
        for strip, first in enumerate(firsts):
            whole_strip = np.zeros((size, seen * channels, *conv.kernels), dtype=np.int64)
            for lane, number in enumerate(range(strip * size, min((strip + 1) * size,
                                                                  conv.filters))):
                at = number // per_group * own - first * channels
                whole_strip[lane, at:at + own] = weights[number]
            split = whole_strip.reshape(size, seen, channels, *conv.kernels)
            for (top, rows), (left, columns) in self.blocks:
                taps = split[:, :, :, top:top + rows, left:left + columns]
                strips.append(taps.transpose(1, 3, 4, 2, 0).reshape(-1, size))
        return np.vstack(strips)

    def bias_beats(self, bias: Tensor, size: int) -> Tensor:
        """The words of all biases, int32: four beats for each strip of filters."""
        self.check("bias", bias, (self.convolution.filters,), np.int32)
        padded = np.pad(bias.astype("<i4"), (0, -len(bias) % size))
        return padded.view(np.int8).astype(np.int64).reshape(-1, size)

    def scale_beats(self, size: int) -> Tensor:
        """The words of the filters' own scales; none where all have the same."""
        own = np.array([multiplier | shift << SHIFT_PLACE for multiplier, shift in self.scales],
                       dtype="<i4")
        padded = np.pad(own, (0, -len(own) % size))
        return padded.view(np.int8).astype(np.int64).reshape(-1, size)

    def result_words(self, size: int) -> int:
        """Words of the result, and of a shortcut."""
        high, wide = self.output
        return ceil_div(self.convolution.filters, size) * high * wide

    def shortcut_beats(self, shortcut: Tensor, size: int) -> Tensor:
        """The words of a shortcut of int8, as those of the result."""
        filters = self.convolution.filters
        self.check("shortcut", shortcut, (filters, *self.output))
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
    """Weights of a fully connected layer after an image that the accelerator has written.

    From filters x channels x height x width to filters x elements x 1 x 1, in the order in which
    the image lies in memory: plane, row, pixel, channel.
    """
    filters, channels, height, width = weights.shape
    padded = np.pad(weights, ((0, 0), (0, -channels % size), (0, 0), (0, 0)))
    split = padded.reshape(filters, -1, size, height, width).transpose(0, 1, 3, 4, 2)
    return split.reshape(filters, -1, 1, 1)
