"""Layers of neural networks as matrix products, and their numpy reference.

Ref: thesis on AI accelerators, chapter 2.4 (layers) and 4.2 (convolution as a product).
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.systolic.sizes import whole

__all__ = ["LENET_5", "LENET_CONVOLUTIONS", "LENET_PRODUCTS", "Convolution", "Product",
           "attention_head", "check_array", "im2col", "mlp"]

Tensor = NDArray[np.integer]
Pair = tuple[int, int]


def check_array(thing: str, tensor: object, kind: type = np.int8) -> np.ndarray:
    """``tensor``. Raises `TypeError` unless it is an array of numpy with elements of ``kind``."""
    if not isinstance(tensor, np.ndarray):
        raise TypeError(f"{thing} must be a numpy array of {np.dtype(kind)}, not "
                        f"{type(tensor).__name__}")
    if tensor.dtype != kind:
        raise TypeError(f"{thing} must hold {np.dtype(kind)}, not {tensor.dtype}")
    return tensor


@dataclass(frozen=True)
class Product:
    """C = A B with A of m x k and B of k x n, at least 1 each.

    Raises `TypeError` and `ValueError`, which name the product and the dimension.
    """

    name: str
    m: int
    k: int
    n: int

    def __post_init__(self) -> None:
        for dimension in "mkn":
            object.__setattr__(self, dimension, whole(f"{self.name}: {dimension}",
                                                      getattr(self, dimension), 1))

    @classmethod
    def of(cls, name: str, a: Tensor, b: Tensor) -> "Product":
        """The product of two matrices of int8.

        Raises `ValueError` where they are no matrices or do not fit each other, and `TypeError`
        where one is no array of int8.
        """
        for thing, matrix in (("A", a), ("B", b)):
            check_array(f"{name}: {thing}", matrix)
            if matrix.ndim != 2:
                raise ValueError(f"{name}: {thing} must have 2 dimensions, not {matrix.ndim}")
        if a.shape[1] != b.shape[0]:
            raise ValueError(f"{name}: A must have as many columns as B has rows, not "
                             f"{a.shape[1]} and {b.shape[0]}")
        return cls(name, int(a.shape[0]), int(a.shape[1]), int(b.shape[1]))


def _several(thing: str, value: object, count: int, least: int) -> int | tuple[int, ...]:
    """A number, or ``count`` of them; one number where all are alike."""
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        if len(value) != count:
            raise ValueError(f"{thing} must be 1 or {count} numbers, not {len(value)}")
        sizes = tuple(whole(thing, size, least) for size in value)
        return sizes[0] if len(set(sizes)) == 1 else sizes
    return whole(thing, value, least)


def _pair(value: int | Pair) -> Pair:
    return (value, value) if isinstance(value, int) else value


@dataclass(frozen=True)
class Convolution:
    """A convolution of ``channels`` x ``height`` x ``width``.

    Attributes
    ----------
    name : str
        In all errors.
    height, width, channels, filters : int
        Of the image, and of the result.
    kernel, stride, dilation : int or (int, int)
        Along the height, and along the width.
    padding : int or (int, int, int, int)
        Rows and columns added at the top, the left, the bottom, the right.
    groups : int
        Filters of group *i* see the channels of group *i* only; both are cut into equal groups.

    Raises `TypeError` and `ValueError`, which name what does not fit.
    """

    name: str
    height: int
    width: int
    channels: int
    filters: int
    kernel: int | Pair
    stride: int | Pair = 1
    padding: int | tuple[int, int, int, int] = 0
    dilation: int | Pair = 1
    groups: int = 1

    def __post_init__(self) -> None:
        for thing in ("height", "width", "channels", "filters", "groups"):
            object.__setattr__(self, thing, whole(f"{self.name}: {thing}", getattr(self, thing), 1))
        for thing, count, least in (("kernel", 2, 1), ("stride", 2, 1), ("dilation", 2, 1),
                                    ("padding", 4, 0)):
            object.__setattr__(self, thing, _several(f"{self.name}: {thing}", getattr(self, thing),
                                                     count, least))
        for thing, value in (("channels", self.channels), ("filters", self.filters)):
            if value % self.groups:
                raise ValueError(f"{self.name}: groups must divide {thing}, {value}, not "
                                 f"{self.groups}")
        top, left, bottom, right = self.edges
        most = self.height + top + bottom, self.width + left + right
        if any(span > there for span, there in zip(self.spans, most, strict=True)):
            name = "kernel" if self.dilation == 1 else "kernel with its dilation"
            both = isinstance(self.kernel, tuple) or isinstance(self.dilation, tuple)
            limit = f"{most[0]} x {most[1]}" if both else min(most)
            size = f"{self.spans[0]} x {self.spans[1]}" if both else self.spans[0]
            raise ValueError(f"{self.name}: {name} must be at most {limit}, the padded image, "
                             f"not {size}")

    @property
    def kernels(self) -> Pair:
        """Rows and columns of a filter."""
        return _pair(self.kernel)

    @property
    def strides(self) -> Pair:
        """Rows and columns between windows."""
        return _pair(self.stride)

    @property
    def dilations(self) -> Pair:
        """Rows and columns between a filter's taps."""
        return _pair(self.dilation)

    @property
    def edges(self) -> tuple[int, int, int, int]:
        """Padding at the top, the left, the bottom, the right."""
        return (self.padding,) * 4 if isinstance(self.padding, int) else self.padding

    @property
    def spans(self) -> Pair:
        """Rows and columns of the image under a filter, from its first tap to its last."""
        high, wide = ((taps - 1) * apart + 1
                      for taps, apart in zip(self.kernels, self.dilations, strict=True))
        return high, wide

    @property
    def output(self) -> Pair:
        """Height and width of the result."""
        top, left, bottom, right = self.edges
        (high, wide), (down, across) = self.spans, self.strides
        return ((self.height + top + bottom - high) // down + 1,
                (self.width + left + right - wide) // across + 1)

    @property
    def product(self) -> Product:
        """A row for each output pixel, a column for each filter; k is a group's."""
        (high, wide), (tall, broad) = self.output, self.kernels
        return Product(self.name, high * wide, tall * broad * (self.channels // self.groups),
                       self.filters)

    def reference(self, image: Tensor, filters: Tensor, pad: int = 0) -> NDArray[np.int64]:
        """Filters x height x width of the result, tap by tap, without `im2col`.

        ``filters`` is filters x channels of a group x kernel; ``pad`` is what padding holds. Sums
        are taken in float64, which is exact below 2 ** 53: 2 ** 39 products of int8.
        """
        (high, wide), (down, across), (below, beside) = self.output, self.strides, self.dilations
        top, left, bottom, right = self.edges
        padded = np.pad(image.astype(np.float64), ((0, 0), (top, bottom), (left, right)),
                        constant_values=pad)
        weights = filters.astype(np.float64).reshape(
            self.groups, self.filters // self.groups, -1, *self.kernels)
        sums = np.zeros((self.groups, self.filters // self.groups, high * wide))
        for y, x in itertools.product(*map(range, self.kernels)):
            under = padded[:, y * below:y * below + (high - 1) * down + 1:down,
                           x * beside:x * beside + (wide - 1) * across + 1:across]
            sums += weights[:, :, :, y, x] @ under.reshape(self.groups, -1, high * wide)
        return sums.astype(np.int64).reshape(self.filters, high, wide)


def im2col(layer: Convolution, image: Tensor, filters: Tensor) -> tuple[Tensor, Tensor]:
    """A and B of the product that is the convolution. Raises `ValueError` for one in groups, which
    is several products."""
    if layer.groups > 1:
        raise ValueError(f"{layer.name}: groups must be 1 for one product, not {layer.groups}")
    top, left, bottom, right = layer.edges
    (down, across), (below, beside) = layer.strides, layer.dilations
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(image, ((0, 0), (top, bottom), (left, right))), layer.spans, axis=(1, 2))
    windows = windows[:, ::down, ::across, ::below, ::beside]  # channels, y, x, kernel
    rows = windows.transpose(1, 2, 0, 3, 4).reshape(layer.product.m, layer.product.k)
    return rows, filters.reshape(layer.filters, -1).T


def mlp(sizes: tuple[int, ...], batch: int = 1) -> tuple[Product, ...]:
    """The products of fully connected layers, ``sizes`` neurons each."""
    return tuple(Product(f"fc{number}", batch, before, after) for number, (before, after) in
                 enumerate(itertools.pairwise(sizes), start=1))


def attention_head(length: int, model: int, depth: int) -> tuple[Product, ...]:
    """The products of an attention head: Q, K and V, the scores Q K^T, and what they weigh."""
    return (*(Product(name, length, model, depth) for name in "QKV"),
            Product("scores", length, depth, length), Product("values", length, length, depth))


# LeCun et al., 1998, with all connections in the second convolution
LENET_CONVOLUTIONS = (Convolution("conv1", 28, 28, 1, 6, 5, padding=2),
                      Convolution("conv2", 14, 14, 6, 16, 5))
LENET_PRODUCTS = tuple(mlp((400, 120, 84, 10)))
LENET_5: tuple[Convolution | Product, ...] = (*LENET_CONVOLUTIONS, *LENET_PRODUCTS)
