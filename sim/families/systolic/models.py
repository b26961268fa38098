"""A user's own layer or network for the systolic accelerator, from arrays (.npz) or ONNX.

What the accelerator cannot do is refused by the name of the layer or node, before anything runs.

Ref: ONNX operators QLinearConv-10, QLinearMatMul-10/21, MaxPool-12, Relu-14, Flatten, Reshape,
QuantizeLinear, DequantizeLinear, Conv-11/22, MatMul-13, Gemm-13, AveragePool-19/22, Clip-13;
``com.microsoft`` QGemm-1, QLinearAdd-1, QLinearAveragePool-1, QLinearSigmoid-1, QLinearSoftmax-1.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.systolic.accelerator_layer import Layer
from cyclebound.golden.systolic.accelerator_network import Trained
from cyclebound.golden.systolic.layers import Convolution
from cyclebound.golden.systolic.post_processing import Scale
from cyclebound.sim.base.errors import UserError, unknown

__all__ = ["Model", "fits", "fixed_point", "model_of_arrays"]

Tensor = NDArray[np.generic]
OPTIONS = ("weights", "bias", "multiplier", "shift", "low", "high", "zero", "pad", "stride",
           "padding", "dilation", "groups", "window")
"""Arrays of a layer in an .npz file; all but the weights may be left out."""
_ELEMENTS = 1 << 26  # of a layer's image or result


_INT8 = np.dtype(np.int8)


@dataclass(frozen=True)
class Model:
    """Layers one after the other, and what surrounds them outside the accelerator.

    Attributes
    ----------
    layers : tuple of Trained
        The network.
    shape : tuple of int
        Of the input, as its file must have it.
    offset, made_offset : int
        Of the input's and of the result's type: 0 of int8, 128 of uint8.
    made : tuple of int
        Of the result, as it is written.
    rows : bool
        The result is the rows of a product.
    kind : dtype
        Of the input, as its file must have it.
    before, after : callable or None
        What the host makes of the input for the first layer, and of the last layer's result.
    error : float
        Greatest relative error of a scale as multiplier / 2 ** shift; 0 where they are given so.
    """

    name: str
    layers: tuple[Trained, ...]
    shape: tuple[int, ...]
    made: tuple[int, ...]
    rows: bool = False
    offset: int = 0
    made_offset: int = 0
    kind: np.dtype = _INT8
    before: Callable[[Tensor], Tensor] | None = None
    after: Callable[[Tensor], Tensor] | None = None
    error: float = 0.0

    def image(self, x: Tensor) -> NDArray[np.int8]:
        """The first layer's image from an input. Raises `UserError` where that is another's."""
        if x.shape != self.shape:
            raise UserError(f"{self.name}: the input must be {_by(self.shape)}, not {_by(x.shape)}")
        if x.dtype != self.kind and (x.dtype, self.kind) != (np.float64, np.float32):
            raise UserError(f"{self.name}: the input must hold {self.kind}, not {x.dtype}")
        if self.kind.kind == "f":
            if not np.isfinite(x).all():
                raise UserError(f"{self.name}: the input must hold finite numbers")
            x = x.astype(self.kind)
        if self.before:
            x = self.before(x)
        conv = self.layers[0].layer.convolution
        image = (x.astype(np.int64) - self.offset).astype(np.int8)
        if image.ndim == 2:  # rows of a product
            image = image.T
        return image.reshape(conv.channels, conv.height, conv.width)

    def result(self, made: Tensor) -> Tensor:
        """A result of the last layer as it is written."""
        if self.rows:
            made = made[:, :, 0].T
        values = made.astype(np.int64).reshape(self.made) + self.made_offset
        values = values.astype(np.uint8 if self.made_offset else np.int8)
        return self.after(values) if self.after else values


def _by(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape)) or "a number"


def fits(name: str, thing: str, sizes: Sequence[int]) -> None:
    """Raise `UserError` for an image or a result too large for any memory."""
    if math.prod(sizes) > _ELEMENTS:
        raise UserError(f"{name}: {thing} may have at most {_ELEMENTS:,} elements, not "
                        f"{_by(sizes)}")


def fixed_point(name: str, scale: float) -> tuple[int, int]:
    """``scale`` as multiplier / 2 ** shift: 16 bits and 0 to 63; within 2 ** -16 of it, at most,
    unless it is below 2 ** -48. Raises `UserError`.
    """
    if not (math.isfinite(scale) and 0 < scale < 65535.5):
        raise UserError(f"{name}: the scale from sums to results must be above 0 and at most "
                        f"65535, not {scale:g}")
    shift = min(max(15 - math.floor(math.log2(scale)), 0), 63)
    multiplier = round(math.ldexp(scale, shift))
    if multiplier > 65535:
        shift -= 1
        multiplier = round(math.ldexp(scale, shift))
    while multiplier and multiplier % 2 == 0 and shift:
        multiplier, shift = multiplier // 2, shift - 1
    return multiplier, shift


def model_of_arrays(arrays: Mapping[str, Tensor], x: Tensor | None, name: str = "layer") -> Model:
    """A network from arrays: ``weights``, ``bias``, and so on of one layer, or ``NAME.weights`` of
    several, in their order; ``x`` gives the size of the image.

    Raises `UserError`.
    """
    layers: dict[str, dict[str, Tensor]] = {}
    for key, value in arrays.items():
        layer, _, option = key.rpartition(".")
        if option not in OPTIONS:
            raise unknown(f"array of a layer in {name}", option, OPTIONS)
        layers.setdefault(layer or name, {})[option] = value
    if not layers:
        raise UserError(f"{name} holds no arrays; a layer has at least weights")
    for layer, options in layers.items():
        if "weights" not in options:
            raise UserError(f"{layer}: there must be weights")
    if x is None:
        raise UserError(f"{name}: an input is needed, for the size of the image")
    first = next(iter(layers.values()))["weights"]
    rows = first.ndim == 2 and x.ndim == 2
    shape = (x.shape[1], x.shape[0], 1) if rows else x.shape if x.ndim == 3 else (x.size, 1, 1)
    if not rows and x.ndim not in (1, 3):
        raise UserError(f"{name}: the input must be channels x height x width, elements, or rows x "
                        f"elements, not {_by(x.shape)}")
    stack = []
    for layer, options in layers.items():
        try:
            trained = _of_arrays(layer, options, shape, rows)
        except (TypeError, ValueError) as error:
            raise UserError(str(error)) from error
        stack.append(trained)
        shape = (trained.layer.convolution.filters, *trained.layer.output)
    made = (shape[1], shape[0]) if rows else shape if shape[1:] != (1, 1) else shape[:1]
    return Model(name, tuple(stack), x.shape, made, rows)


def _of_arrays(name: str, options: Mapping[str, Tensor], shape: tuple[int, ...],
               rows: bool) -> Trained:
    def value(option: str, default: int) -> Any:
        """What the file holds, of whatever type: the layer refuses what it cannot be."""
        array = options.get(option)
        return default if array is None else array.item() if array.size == 1 else array.tolist()

    weights = options["weights"]
    if weights.ndim not in (2, 4):
        raise UserError(f"{name}: weights must be filters x channels x height x width, or filters "
                        f"x elements, not {_by(weights.shape)}")
    if weights.ndim == 2:  # fully connected, to all of an image or to each row
        shape = shape if rows else (math.prod(shape), 1, 1)
        weights = weights[:, :, None, None]
    filters, groups = len(weights), value("groups", 1)
    if groups != 1 and not isinstance(groups, int):
        raise UserError(f"{name}: groups must be a whole number, not {groups!r}")
    bias = options.get("bias", np.zeros(filters, dtype=np.int32))
    scales = {option: options[option] for option in ("multiplier", "shift")
              if option in options and options[option].size != 1}
    for option_name, array in scales.items():
        if array.shape != (filters,):
            raise UserError(f"{name}: {option_name} must be one number, or {filters}, not "
                            f"{_by(array.shape)}")
    own = {option_name: value(option_name, default) for option_name, default in
           (("multiplier", 1), ("shift", 0)) if option_name not in scales}
    limits = {option_name: value(option_name, default) for option_name, default in
              (("low", -128), ("high", 127))}
    try:
        scale = Scale(**own, **limits)
    except (TypeError, ValueError) as error:
        raise UserError(f"{name}: {error}") from error
    columns = [np.broadcast_to(scales[option] if option in scales else own[option],
                               filters).tolist()
               for option in ("multiplier", "shift")]
    layer = Layer(
        Convolution(name, shape[1], shape[2], shape[0], filters, weights.shape[2:],
                    value("stride", 1), value("padding", 0), value("dilation", 1), groups),
        scale, window=value("window", 1), zero=value("zero", 0), pad=value("pad", 0),
        scales=tuple(zip(*columns, strict=True)) if scales else ())
    whole = filters, shape[0] // layer.convolution.groups, *weights.shape[2:]
    return Trained(layer, layer.check("weights", weights, whole),
                   layer.check("bias", bias, (filters,), np.int32))
