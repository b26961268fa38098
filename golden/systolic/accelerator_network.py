"""Networks for the accelerator: layers in series, whose results stay in its memory."""

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.systolic.accelerator import Memory
from cyclebound.golden.systolic.accelerator_layer import Layer, flat_weights, product_layer
from cyclebound.golden.systolic.accelerator_plan import Device, LayerPlan, Places, plan_layer
from cyclebound.golden.systolic.layers import (
    LENET_CONVOLUTIONS,
    LENET_PRODUCTS,
    Convolution,
    Product,
    attention_head,
    mlp,
)
from cyclebound.golden.systolic.post_processing import Scale

__all__ = ["ATTENTION", "MOBILENET_224", "NETWORKS", "Program", "Step", "Trained", "chained",
           "product_step", "program_of", "random_layer", "random_steps", "steps_of"]

Tensor = NDArray[np.integer]
_RELU = Scale(1, 9, low=0)  # of sums of a hundred or so products of int8
_RELU6 = Scale(1, 9, low=0, high=96)
_PLAIN = Scale(1, 9)


NETWORKS: Mapping[str, tuple[Layer, ...]] = {
    # each layer takes the result of the one before
    "lenet_5": (
        Layer(LENET_CONVOLUTIONS[0], _RELU, window=2, together=1),
        Layer(LENET_CONVOLUTIONS[1], _RELU, window=2),
        *(product_layer(layer, _RELU) for layer in LENET_PRODUCTS[:2]),
        product_layer(LENET_PRODUCTS[2], _PLAIN)),
    # MobileNetV2's first convolution, its second bottleneck (6 times as many channels inside,
    # stride 2, so without a shortcut) and its third (with one), on 16 x 16 pixels in place of
    # 224 x 224
    "mobilenet": (
        Layer(Convolution("first", 16, 16, 3, 32, 3, stride=2, padding=1), _RELU6, together=3),
        Layer(Convolution("reduce", 8, 8, 32, 16, 1), _PLAIN),
        Layer(Convolution("expand", 8, 8, 16, 96, 1), _RELU6),
        Layer(Convolution("depthwise", 8, 8, 96, 96, 3, stride=2, padding=1), _RELU6,
              depthwise=True),
        Layer(Convolution("project", 4, 4, 96, 24, 1), _PLAIN),
        Layer(Convolution("expand 2", 4, 4, 24, 144, 1), _RELU6),
        Layer(Convolution("depthwise 2", 4, 4, 144, 144, 3, padding=1), _RELU6, depthwise=True),
        Layer(Convolution("project 2", 4, 4, 144, 24, 1), _PLAIN, shortcut=3)),
    "perceptron": tuple(product_layer(layer, _RELU) for layer in mlp((64, 96, 10), 16)),
}

# MobileNetV2's first convolution and first bottleneck, on as many pixels as there are
MOBILENET_224 = (
    Layer(Convolution("first", 224, 224, 3, 32, 3, stride=2, padding=1), _RELU6, together=3),
    Layer(Convolution("depthwise", 112, 112, 32, 32, 3, padding=1), _RELU6, depthwise=True),
    Layer(Convolution("project", 112, 112, 32, 16, 1), _PLAIN))

ATTENTION = attention_head(24, 32, 16)


@dataclass(frozen=True)
class Step:
    """A layer with its operands.

    ``image`` is None where it is what the step before has made, and ``shortcut`` where there is
    none, or an earlier step has made it. ``expected`` is numpy's result.
    """

    layer: Layer
    image: Tensor | None
    weights: Tensor
    bias: Tensor
    expected: NDArray[np.int8]
    shortcut: Tensor | None = None


@dataclass(frozen=True)
class Program:
    """Commands of several layers, with what is in memory before, and where their results are."""

    steps: tuple[Step, ...]
    plans: tuple[LayerPlan, ...]
    places: tuple[Places, ...]
    memory: NDArray[np.int64]

    @property
    def commands(self) -> list[Mapping[str, int]]:
        return [command for plan in self.plans for command in plan.commands]

    def result(self, number: int, memory: Tensor) -> Tensor:
        """The result of a step, as it lies in memory."""
        layer, start = self.steps[number].layer, self.places[number].result
        size = memory.shape[1]
        return layer.result_of(memory[start:start + layer.result_words(size)], size)


def _flat(layer: Layer, before: Layer, size: int) -> Layer:
    """A fully connected layer as one after an image that lies in memory in planes.

    Word after word of the image: as many planes of one pixel.
    """
    return replace(layer, together=0, convolution=replace(
        layer.convolution, channels=before.result_words(size) * size))


def chained(layers: Sequence[Layer], size: int) -> list[Layer]:
    """The layers of a network as they take each other's results from memory."""
    chain = list(layers[:1])
    for before, layer in itertools.pairwise(layers):
        conv, shape = layer.convolution, (before.convolution.filters, *before.output)
        flattens = shape != (conv.channels, conv.height, conv.width)
        chain.append(_flat(layer, before, size) if flattens else layer)
    return chain


@dataclass(frozen=True)
class Trained:
    """A layer with its weights of int8 and biases of int32, as a user gives them.

    Attributes
    ----------
    layer : Layer
        With the channels, the height and the width of its own image; a fully connected one after
        an image of several pixels has an image of one, and its weights are in the image's order:
        channel, row, pixel.
    weights, bias : array
        As of `Layer.reference`.
    """

    layer: Layer
    weights: Tensor
    bias: Tensor


def steps_of(layers: Sequence[Trained], image: Tensor | None, size: int) -> list[Step]:
    """A network with its operands, as it lies in memory, and what numpy makes of each layer.

    ``image`` is the first layer's, of int8; None: zeros, and nothing is expected. Raises
    `TypeError` and `ValueError`, which name the layer, where an operand is another than the
    layer's, or a layer's image is not what the one before makes.
    """
    steps: list[Step] = []
    made: NDArray[np.int8] | None = None
    in_memory = chained([layer.layer for layer in layers], size)
    for number, (trained, stored) in enumerate(zip(layers, in_memory, strict=True)):
        layer, weights, conv = trained.layer, trained.weights, trained.layer.convolution
        shape = conv.channels, conv.height, conv.width
        given = np.zeros(shape, dtype=np.int8) if image is None and number == 0 else image
        if number:
            before = layers[number - 1].layer
            came = (before.convolution.filters, *before.output)
            if came != shape and (np.prod(came), 1, 1) != shape:
                raise ValueError(f"{layer.name}: its image must be what {before.name} makes, "
                                 f"{' x '.join(map(str, came))}, not "
                                 f"{' x '.join(map(str, shape))}")
            if layer.shortcut:
                raise ValueError(f"{layer.name}: shortcut must be 0 in a network of a user's own, "
                                 f"not {layer.shortcut}")
            if came != shape:
                layer.check("weights", weights, (conv.filters, *shape))
                weights = flat_weights(weights.reshape(conv.filters, *came), size)
        else:
            layer.check("image", given, shape)
        layer.check("bias", trained.bias, (conv.filters,), np.int32)
        stored.check("weights", weights, (conv.filters, stored.convolution.channels
                                           // conv.groups, *conv.kernels))
        if image is not None:
            own = (image if made is None else made).reshape(shape)
            made = layer.reference(own, trained.weights, trained.bias).astype(np.int8)
        result = np.zeros((conv.filters, *layer.output), dtype=np.int8) if made is None else made
        steps.append(Step(stored, given if number == 0 else None, weights, trained.bias, result))
    return steps


def random_steps(layers: Sequence[Layer], size: int, seed: int) -> list[Step]:
    """Random int8 operands for a network, and what numpy makes of them."""
    rng = np.random.default_rng(seed)
    steps: list[Step] = []
    image: Tensor | None = None
    in_memory = chained(layers, size)

    def some(*shape: int) -> Tensor:
        return rng.integers(-128, 128, shape, dtype=np.int8)

    for number, layer in enumerate(layers):
        conv = layer.convolution
        first = some(conv.channels, conv.height, conv.width) if number == 0 else None
        given = first if image is None else image
        assert given is not None
        bias = rng.integers(-2000, 2000, conv.filters, dtype=np.int32)
        own: Tensor | None = None
        shortcut: Tensor | int = 0
        if layer.shortcut > number:
            own = shortcut = some(conv.filters, *layer.output)
        elif layer.shortcut:
            shortcut = steps[number - layer.shortcut].expected
        weights = some(conv.filters, conv.channels // conv.groups, *conv.kernels)
        if given.shape != (conv.channels, conv.height, conv.width):
            # in numpy channel by channel; in memory as the planes lie
            result = layer.reference(given.reshape(-1, 1, 1), weights, bias, shortcut)
            weights = flat_weights(weights.reshape(conv.filters, *given.shape), size)
        else:
            result = layer.reference(given, weights, bias, shortcut)
        image = made = result.astype(np.int8)
        steps.append(Step(in_memory[number], first, weights, bias, made, own))
    return steps


def random_layer(rng: random.Random, size: int) -> Layer:
    """Some layer of any kind, as small as a few words or too large for small scratchpads.

    Half of them have odd filters: not square, with dilation, groups, another padding on each side.
    """
    odd = rng.random() < 0.5

    def pair(most: int, least: int = 1) -> int | tuple[int, int]:
        return ((rng.randint(least, most), rng.randint(least, most)) if odd
                else rng.randint(least, most))

    while True:
        channels, window = rng.choice([rng.randint(1, 9), rng.randint(1, 5 * size)]), 1
        filters, depthwise = rng.choice([rng.randint(1, 9), rng.randint(1, 3 * size)]), False
        groups = 1
        if rng.random() < 0.2:
            filters, depthwise = channels, True
        elif odd and rng.random() < 0.4:
            groups = rng.randint(2, 6)
            channels, filters = (groups * rng.randint(1, 6) for _ in range(2))
        if rng.random() < 0.3:
            window = rng.randint(2, 3)
        grouped = depthwise or groups > 1
        shortcut = int(window == 1 and rng.random() < 0.3)
        low, high = sorted(rng.sample(range(-128, 128), 2))
        limits = rng.choice([{}, {"low": 0}, {"low": low, "high": high}])
        padding = ((rng.randint(0, 3), rng.randint(0, 3), rng.randint(0, 3), rng.randint(0, 3))
                   if odd else rng.randint(0, 2))
        try:
            return Layer(
                Convolution("layer", rng.randint(1, 9), rng.randint(1, 9), channels, filters,
                            pair(5), pair(3), padding, pair(3) if odd else 1, groups),
                Scale(rng.randint(1, 300), rng.randint(4, 14), **limits), window=window,
                depthwise=depthwise, together=0 if grouped else rng.choice([0, 0, channels]),
                shortcut=shortcut, pad=rng.choice([0, rng.randint(-128, 127)]),
                zero=0 if shortcut else rng.choice([0, rng.randint(-128, 127)]),
                scales=tuple((rng.randint(0, 65535), rng.randint(12, 24)) for _ in range(filters))
                if rng.random() < 0.4 else ())
        except ValueError:  # an image smaller than a window
            continue


def product_step(name: str, a: Tensor, b: Tensor, scale: Scale) -> Step:
    """A B with operands of int8, scaled, as a step of its own.

    Raises `TypeError` and `ValueError` as `Product.of` does: where k is not the same in both, say.
    """
    layer = product_layer(Product.of(name, a, b), scale)
    weights, image = b.T[:, :, None, None], a.T[:, :, None]
    bias = np.zeros(b.shape[1], dtype=np.int32)
    expected = layer.reference(image, weights, bias).astype(np.int8)
    return Step(layer, image, weights, bias, expected)


def program_of(steps: Sequence[Step], device: Device, memory: Memory | None = None) -> Program:
    """All steps, one after the other, with their operands and results side by side in memory."""
    size, at = device.size, 0
    blocks: list[Tensor] = []
    plans: list[LayerPlan] = []
    places: list[Places] = []

    def put(words: Tensor) -> int:
        nonlocal at
        blocks.append(words)
        at += len(words)
        return at - len(words)

    for number, step in enumerate(steps):
        layer = step.layer
        where = Places(
            image=(places[number - 1].result if step.image is None
                   else put(layer.image_beats(step.image, size))),
            weights=put(layer.weight_beats(step.weights, size)),
            bias=put(layer.bias_beats(step.bias, size)),
            scales=put(layer.scale_beats(size)),
            result=put(np.zeros((layer.result_words(size), size), dtype=np.int64)),
            shortcut=(put(layer.shortcut_beats(step.shortcut, size)) if step.shortcut is not None
                      else places[number - layer.shortcut].result if layer.shortcut else 0))
        places.append(where)
        plans.append(plan_layer(layer, device, memory, where))
    return Program(tuple(steps), tuple(plans), tuple(places), np.vstack(blocks))
