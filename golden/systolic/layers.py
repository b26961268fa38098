"""Layers of neural networks as matrix products, and their numpy reference.

Ref: the thesis on AI accelerators, chapter 2.4 (layers) and 4.2 (convolution as a product).
"""

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["LENET_5", "Convolution", "Product", "attention_head", "im2col", "mlp"]

Tensor = NDArray[np.integer]


def _check(least: int = 1, **sizes: int) -> None:
    for thing, value in sizes.items():
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"{thing} must be a whole number, not {value!r}")
        if value < least:
            raise ValueError(f"{thing} must be at least {least}, not {value}")


@dataclass(frozen=True)
class Product:
    """C = A B with A of m x k and B of k x n, at least 1 each.

    Raises `TypeError` and `ValueError`, which name the dimension.
    """

    name: str
    m: int
    k: int
    n: int

    def __post_init__(self) -> None:
        _check(m=self.m, k=self.k, n=self.n)

    @classmethod
    def of(cls, name: str, a: Tensor, b: Tensor) -> "Product":
        """The product of two matrices of int8.

        Raises `ValueError` where they are no matrices or do not fit each other, and `TypeError`
        where an element is no int8.
        """
        for thing, matrix in (("A", a), ("B", b)):
            if matrix.ndim != 2:
                raise ValueError(f"{thing} must have 2 dimensions, not {matrix.ndim}")
            if matrix.dtype != np.int8:
                raise TypeError(f"{thing} must hold int8, not {matrix.dtype}")
        if a.shape[1] != b.shape[0]:
            raise ValueError(f"A must have as many columns as B has rows, not {a.shape[1]} and "
                             f"{b.shape[0]}")
        return cls(name, int(a.shape[0]), int(a.shape[1]), int(b.shape[1]))


@dataclass(frozen=True)
class Convolution:
    """A convolution of ``channels`` x ``height`` x ``width`` with square filters.

    Raises `TypeError` and `ValueError`, which name what does not fit.
    """

    name: str
    height: int
    width: int
    channels: int
    filters: int
    kernel: int
    stride: int = 1
    padding: int = 0

    def __post_init__(self) -> None:
        _check(height=self.height, width=self.width, channels=self.channels, filters=self.filters,
               kernel=self.kernel, stride=self.stride)
        _check(0, padding=self.padding)
        least = min(self.height, self.width) + 2 * self.padding
        if self.kernel > least:
            raise ValueError(f"kernel must be at most {least}, the padded image, "
                             f"not {self.kernel}")

    @property
    def output(self) -> tuple[int, int]:
        """Height and width of the result."""
        return tuple((size + 2 * self.padding - self.kernel) // self.stride + 1
                     for size in (self.height, self.width))

    @property
    def product(self) -> Product:
        """A row for each output pixel, a column for each filter."""
        high, wide = self.output
        return Product(self.name, high * wide, self.kernel**2 * self.channels, self.filters)

    def reference(self, image: Tensor, filters: Tensor) -> Tensor:
        """Filters x height x width of the result, pixel by pixel, without `im2col`.

        ``filters`` is filters x channels x kernel x kernel.
        """
        high, wide = self.output
        edge = ((0, 0), (self.padding,) * 2, (self.padding,) * 2)
        padded = np.pad(image.astype(np.int64), edge)
        result = np.zeros((self.filters, high, wide), dtype=np.int64)
        for y in range(high):
            for x in range(wide):
                top, left = y * self.stride, x * self.stride
                window = padded[:, top:top + self.kernel, left:left + self.kernel]
                result[:, y, x] = np.tensordot(filters.astype(np.int64), window, axes=3)
        return result


def im2col(layer: Convolution, image: Tensor, filters: Tensor) -> tuple[Tensor, Tensor]:
    """A and B of the product that is the convolution."""
    edge = ((0, 0), (layer.padding,) * 2, (layer.padding,) * 2)
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(image, edge), (layer.kernel, layer.kernel), axis=(1, 2))
    windows = windows[:, ::layer.stride, ::layer.stride]  # channels, y, x, kernel, kernel
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


LENET_5 = (  # LeCun et al., 1998, with all connections in the second convolution
    Convolution("conv1", 28, 28, 1, 6, 5, padding=2),
    Convolution("conv2", 14, 14, 6, 16, 5),
    *mlp((400, 120, 84, 10)),
)
