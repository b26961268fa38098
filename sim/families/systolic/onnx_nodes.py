"""What becomes of each operator of a quantised network in ONNX: a layer, a part of one, a shape."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cyclebound.sim.families.systolic.onnx_chain import (
    VENDOR,
    Chain,
    ConvolutionSizes,
    Held,
    Node,
    by,
)
from cyclebound.sim.families.systolic.onnx_qdq import FOLDED, NEAR, STANDARD

__all__ = ["HANDLERS", "PARTS"]

PARTS = "MaxPool", "Relu", "Clip", "Flatten", "Reshape"
"""Operators that become a part of the layer before."""
_COPIES = 8  # of the channels of two terms, for weights of up to so many times 127
_KINDS = {tuple: "whole numbers", int: "a whole number", float: "a number", str: "a word"}


def _attributes(node: Node, **defaults: object) -> dict[str, object]:
    """A node's attributes with their defaults; unknown ones are refused."""
    for name in node.attributes:
        if name not in defaults:
            raise node.refuse(f"attribute {name} is not supported; known are "
                              f"{', '.join(sorted(defaults)) or 'none'}")
        value, kind = node.attributes[name], type(defaults[name])
        if kind is tuple:
            right = isinstance(value, list) and all(isinstance(item, int) for item in value)
        else:
            right = isinstance(value, (int, float) if kind is float else kind)
        if not right:
            raise node.refuse(f"attribute {name} must be {_KINDS[kind]}, not {value!r}")
    return {**defaults, **node.attributes}


def _whole(given: Mapping[str, object], name: str) -> int:
    """An attribute that `_attributes` found to be a whole number."""
    value = given[name]
    assert isinstance(value, int)
    return value


def _wholes(given: Mapping[str, object], name: str) -> list[int]:
    """An attribute that `_attributes` found to be whole numbers."""
    values = given[name]
    assert isinstance(values, list | tuple)
    return list(values)


def _edges(node: Node, given: Mapping[str, object], sizes: Sequence[int], spans: Sequence[int],
           strides: Sequence[int]) -> tuple[int, int, int, int]:
    """Padding at the top, the left, the bottom, the right."""
    auto = given["auto_pad"]
    if auto in ("NOTSET", "VALID"):
        pads = [0, 0, 0, 0] if auto == "VALID" or not given["pads"] else _wholes(given, "pads")
        if len(pads) != 4 or min(pads) < 0:
            raise node.refuse(f"pads must be 4 numbers of at least 0, not {pads}")
        return pads[0], pads[1], pads[2], pads[3]
    if auto not in ("SAME_UPPER", "SAME_LOWER"):
        raise node.refuse(f"auto_pad {auto!r} is not supported")
    both = [max((math.ceil(size / stride) - 1) * stride + span - size, 0)
            for size, span, stride in zip(sizes, spans, strides, strict=True)]
    less, more = [padding // 2 for padding in both], [padding - padding // 2 for padding in both]
    before, after = (less, more) if auto == "SAME_UPPER" else (more, less)
    return before[0], before[1], after[0], after[1]


def _pair(node: Node, given: Mapping[str, object], name: str, default: tuple[int, ...]
          ) -> tuple[int, int]:
    pair = tuple(_wholes(given, name)) or default
    if len(pair) != 2 or min(pair) < 1:
        raise node.refuse(f"{name} must be 2 numbers of at least 1, not {list(pair)}")
    return pair[0], pair[1]


@dataclass(frozen=True)
class _Convolution:
    """What a node says of its layer: the arguments of `Chain.extend`, and the result's size."""

    node: Node
    sizes: ConvolutionSizes
    weights: NDArray[np.int64]
    bias: NDArray[np.int64]
    scales: NDArray[np.float64]
    pad: int
    made: tuple[int, int]
    output: tuple[int, int]


def _convolution(node: Node, chain: Chain) -> _Convolution:
    given = _attributes(node, auto_pad="NOTSET", dilations=(), group=1, kernel_shape=(), pads=(),
                        strides=())
    channels, height, width = chain.pixels(node)
    x_scale, (pad, offset) = chain.number(node, 1, "x_scale"), chain.zero(node, 2, "x_zero_point")
    chain.of_input(node, offset, "x_zero_point")
    weights = chain.weights(node, 3, 5, "w", 0, 4)
    filters = len(weights)
    w_scale = chain.scales(node, 4, "w_scale", filters)
    y_scale = chain.number(node, 6, "y_scale")
    kernel = _pair(node, given, "kernel_shape", weights.shape[2:])
    if kernel != weights.shape[2:]:
        raise node.refuse(f"kernel_shape must be that of w, {list(weights.shape[2:])}, not "
                          f"{list(kernel)}")
    groups = _whole(given, "group")
    if groups < 1 or channels % groups or weights.shape[1] * groups != channels:
        raise node.refuse(f"w must have {channels} channels in {groups} groups, as its input has, "
                          f"not {weights.shape[1]} in each")
    strides = _pair(node, given, "strides", (1, 1))
    dilations = _pair(node, given, "dilations", (1, 1))
    spans = [(taps - 1) * apart + 1 for taps, apart in zip(kernel, dilations, strict=True)]
    edges = _edges(node, given, (height, width), spans, strides)
    high, wide = ((size + edges[axis] + edges[axis + 2] - spans[axis]) // strides[axis] + 1
                  for axis, size in enumerate((height, width)))
    return _Convolution(node, {
        "height": height, "width": width, "channels": channels, "filters": filters,
        "kernel": kernel, "stride": strides, "dilation": dilations, "groups": groups,
        "padding": edges}, weights, chain.bias(node, 8, "bias", filters),
        x_scale * w_scale / y_scale, pad, chain.zero(node, 7, "y_zero_point"), (high, wide))


def _conv(node: Node, chain: Chain) -> None:
    one = _convolution(node, chain)
    others: list[_Convolution] = []
    if one.output != (one.sizes["height"], one.sizes["width"]):
        # what it reads cannot go through it; but others that do the same may be beside it
        readers = [other for other in chain.later if chain.tensor in other.inputs]
        if all((other.op, other.domain in STANDARD, other.inputs.index(chain.tensor)) ==
               ("QLinearConv", True, 0) for other in readers):
            others = [_convolution(other, chain) for other in readers]
            if any((other.sizes["stride"], other.output, other.pad) != (
                    one.sizes["stride"], one.output, one.pad) or (
                    max(other.sizes["dilation"] + one.sizes["dilation"]) > 1) for other in others):
                others = []
    if others:
        chain.together([other.node for other in others])
        one = _beside(one, others)
    chain.extend(node, one.sizes, one.weights, one.bias, one.scales, one.pad, one.made)
    size = chain.layers[-1].layer.output
    chain.held[1:1] = [Held(other.node.outputs[0], (1, len(other.weights), *size), other.made[1],
                            len(other.weights)) for other in others]
    chain.shape = (1, len(one.weights) - sum(len(other.weights) for other in others), *size)


def _beside(first: _Convolution, others: Sequence[_Convolution]) -> _Convolution:
    """One convolution that makes what these make: in a window in which there is each one's, and
    with biases by which all have the first one's zero point."""
    each = [first, *others]
    start = [max(one.sizes["padding"][axis] for one in each) for axis in range(2)]
    kernel = [start[axis] + max(one.weights.shape[2 + axis] - one.sizes["padding"][axis]
                                for one in each) for axis in range(2)]
    end = [max(0, (first.output[axis] - 1) * first.sizes["stride"][axis] + kernel[axis]
               - start[axis] - size) for axis, size in enumerate((
                   first.sizes["height"], first.sizes["width"]))]
    channels, parts, biases = first.sizes["channels"], [], []
    for one in each:
        top, left = (start[axis] - one.sizes["padding"][axis] for axis in range(2))
        filters, its, rows, columns = one.weights.shape
        part: NDArray[np.int64] = np.zeros((filters, channels, *kernel), dtype=np.int64)
        for number in range(filters):
            at = number // (filters // one.sizes["groups"]) * its
            part[number, at:at + its, top:top + rows, left:left + columns] = one.weights[number]
        parts.append(part)
        more = (one.made[0] - first.made[0]) / np.broadcast_to(one.scales, filters)
        if (off := float((abs(np.rint(more) - more) * one.scales).max())) > NEAR:
            raise one.node.refuse(
                f"its zero point less that of {first.node.name}, with which it is one layer, must "
                f"be at most 1 / 64 of a step off in units of its sums, not {off:.2g}")
        biases.append(one.bias + np.rint(more).astype(np.int64))
    return replace(first, weights=np.concatenate(parts), bias=np.concatenate(biases),
                   scales=np.concatenate([np.broadcast_to(one.scales, len(one.weights))
                                          for one in each]),
                   sizes={**first.sizes, "filters": sum(map(len, parts)), "groups": 1,
                          "kernel": (kernel[0], kernel[1]),
                          "padding": (start[0], start[1], end[0], end[1])})


def _product(node: Node, chain: Chain, weights: NDArray[np.int64], bias: int | None,
             scales: NDArray[np.float64], pad: int, made: tuple[int, int]) -> None:
    """Rows times a matrix of elements x filters, or several with one for each; ``bias`` is the
    place of one among the inputs."""
    if len(chain.shape) not in (2, 3):
        raise node.refuse(f"its input must be a matrix, not {' x '.join(map(str, chain.shape))}")
    elements, filters = weights.shape[-2:]
    if elements != chain.shape[-1]:
        raise node.refuse(f"b must be a matrix with {chain.shape[-1]} rows, as its input has "
                          f"columns, not {by(weights)}")
    if weights.ndim == 3 and len(weights) > 1:
        if len(chain.shape) != 3 or len(weights) != chain.shape[0]:
            raise node.refuse(f"b must be a matrix, or one for each of its input's, "
                              f"{' x '.join(map(str, chain.shape))}, not {by(weights)}")
        if chain.layers and chain.beside != len(weights):
            raise node.refuse("b must be one matrix, unless the first layer has several, too, as "
                              f"matrices lie in memory one after the other, not {by(weights)}")
        chain.beside = len(weights)
    if weights.ndim == 3 and len(chain.shape) == 2:
        chain.shape = (1, *chain.shape)
    rows, beside = math.prod(chain.shape[:-1]) // chain.beside, chain.beside
    each = np.broadcast_to(weights.reshape(-1, elements, filters), (beside, elements, filters))
    own = (np.zeros(filters, dtype=np.int64) if bias is None
           else chain.bias(node, bias, "c", filters, rows))
    chain.extend(node, {"height": rows, "width": 1, "channels": beside * elements,
                        "filters": beside * filters, "kernel": 1, "groups": beside},
                 each.transpose(0, 2, 1).reshape(-1, elements, 1, 1), np.tile(own, beside),
                 np.tile(scales, beside if scales.size > 1 else 1), pad, made)
    chain.shape = (*chain.shape[:-1], filters)


def _matmul(node: Node, chain: Chain) -> None:
    _attributes(node)
    pad, offset = chain.zero(node, 2, "a_zero_point")
    chain.of_input(node, offset, "a_zero_point")
    weights = chain.weights(node, 3, 5, "b", -1, 2, 3)
    scales = chain.number(node, 1, "a_scale") * chain.scales(node, 4, "b_scale", weights.shape[-1])
    _product(node, chain, weights, None, scales / chain.number(node, 6, "y_scale"), pad,
             chain.zero(node, 7, "y_zero_point"))


def _gemm(node: Node, chain: Chain) -> None:
    given = _attributes(node, alpha=1.0, transA=0, transB=0)
    alpha = given["alpha"]
    assert isinstance(alpha, int | float)
    if given["transA"]:
        raise node.refuse(f"attribute transA must be 0, not {given['transA']}")
    pad, offset = chain.zero(node, 2, "a_zero_point")
    chain.of_input(node, offset, "a_zero_point")
    for place, thing in ((7, "y_scale"), (8, "y_zero_point")):
        if len(node.inputs) <= place or not node.inputs[place]:
            raise node.refuse(f"{thing} must be given: a result in floating point is not supported")
    weights = chain.weights(node, 3, 5, "b", 0 if given["transB"] else 1, 2)
    weights = weights.T if given["transB"] else weights
    scales = chain.number(node, 1, "a_scale") * float(alpha) * chain.scales(
        node, 4, "b_scale", weights.shape[1])
    _product(node, chain, weights, 6, scales / chain.number(node, 7, "y_scale"), pad,
             chain.zero(node, 8, "y_zero_point"))


def _max_pool(node: Node, chain: Chain) -> None:
    given = _attributes(node, auto_pad="NOTSET", ceil_mode=0, dilations=(), kernel_shape=(),
                        pads=(), storage_order=0, strides=())
    _, height, width = chain.pixels(node)
    if len([name for name in node.outputs if name]) > 1:
        raise node.refuse("a second output, of indices, is not supported")
    window = _pair(node, given, "kernel_shape", (0, 0))
    strides = _pair(node, given, "strides", (1, 1))
    if window[0] != window[1]:
        raise node.refuse(f"kernel_shape must be a square, not {list(window)}")
    if strides != window:
        raise node.refuse(f"strides must be kernel_shape, {list(window)}, so that windows do not "
                          f"overlap, not {list(strides)}")
    if _pair(node, given, "dilations", (1, 1)) != (1, 1):
        raise node.refuse(f"dilations must be 1, not {_wholes(given, 'dilations')}")
    edges = _edges(node, given, (height, width), window, strides)
    if any(edges):
        raise node.refuse(f"pads must be 0, not {list(edges)}")
    if given["ceil_mode"] and (height % window[0] or width % window[1]):
        raise node.refuse(f"ceil_mode must be 0 where windows of {window[0]} do not divide "
                          f"{height} x {width}")
    if len(chain.held) > 1:
        raise node.refuse(f"it must have as many rows and columns as its input, since "
                          f"{chain.held[1].tensor!r}, which is read later, goes through the same "
                          "layer")
    if window[0] > min(height, width):
        raise node.refuse(f"kernel_shape must be at most {min(height, width)}, its input, not "
                          f"{window[0]}")
    if not chain.layers or chain.layers[-1].layer.window > 1 or chain.layers[-1].layer.output != (
            height, width):
        chain.identity(node)
    chain.change(node, lambda layer: replace(layer, window=window[0]))
    chain.shape = (1, chain.shape[1], *chain.layers[-1].layer.output)


def _average_pool(node: Node, chain: Chain) -> None:
    whole = node.op == "QLinearGlobalAveragePool"
    given = _attributes(node, channels_last=0, **({} if whole else {
        "auto_pad": "NOTSET", "ceil_mode": 0, "count_include_pad": 0, "dilations": (),
        "kernel_shape": (), "pads": (), "strides": ()}))
    if given["channels_last"]:
        raise node.refuse(f"channels_last must be 0, not {given['channels_last']}")
    channels, *size = chain.pixels(node)
    window, strides, apart = (size[0], size[1]), (1, 1), (1, 1)
    edges = 0, 0, 0, 0
    if not whole:
        window = _pair(node, given, "kernel_shape", (0, 0))
        strides, apart = (_pair(node, given, name, (1, 1)) for name in ("strides", "dilations"))
        spans = [(taps - 1) * step + 1 for taps, step in zip(window, apart, strict=True)]
        if str(given["auto_pad"]).startswith("SAME") and any(
                stride > span for stride, span in zip(strides, spans, strict=True)):
            raise node.refuse(f"auto_pad {given['auto_pad']} is not supported with strides beyond "
                              f"the window, {list(strides)}: evaluators differ in where it starts")
        edges = _edges(node, given, size, spans, strides)
        if any(edges) and not given["count_include_pad"]:
            raise node.refuse(f"pads must be 0 without count_include_pad, as hardware divides all "
                              f"windows by the same number, not {list(edges)}")
        if any(edge >= taps for edge, taps in zip(edges, window * 2, strict=True)):
            raise node.refuse(f"pads must be less than the window, {window[0]} x {window[1]}, not "
                              f"{list(edges)}")
        rest = [(extent + edges[axis] + edges[axis + 2] - span) % stride for axis, (
            extent, span, stride) in enumerate(zip(size, spans, strides, strict=True))]
        if given["ceil_mode"] and any(rest):
            raise node.refuse(f"ceil_mode must be 0 where windows of {window[0]} x {window[1]} do "
                              f"not end with {size[0]} x {size[1]}")
    x_scale, pad, y_scale, made = _scales(node, chain, 1, 3)
    chain.extend(node, {
        "height": size[0], "width": size[1], "channels": channels, "filters": channels,
        "kernel": window, "stride": strides, "dilation": apart, "groups": channels,
        "padding": edges}, np.ones((channels, 1, *window), dtype=np.int64),
        np.zeros(channels, dtype=np.int64), np.array([x_scale / (y_scale * math.prod(window))]),
        pad, made)
    chain.shape = (1, channels, *chain.layers[-1].layer.output)


def _scales(node: Node, chain: Chain, read: int, made: int
            ) -> tuple[float, int, float, tuple[int, int]]:
    """Scale and zero point of what is read, at this place among the inputs, and of the result."""
    scale, (zero, offset) = chain.number(node, read, "x_scale"), chain.zero(
        node, read + 1, "x_zero_point")
    chain.of_input(node, offset, "x_zero_point")
    return (scale, zero, chain.number(node, made, "y_scale"),
            chain.zero(node, made + 1, "y_zero_point"))


def _requantise(node: Node, chain: Chain) -> None:
    """From one scale and zero point to others."""
    x_scale, zero, y_scale, made = _scales(node, chain, 1, 3)
    sizes = chain.elementwise(node)
    channels = sizes["channels"]
    chain.extend(node, sizes, np.ones((channels, 1, 1, 1), dtype=np.int64),
                 np.zeros(channels, dtype=np.int64), np.array([x_scale / y_scale]), zero, made)


def _add(node: Node, chain: Chain) -> None:
    """The sum with a constant: a weight, and a bias that is the constant in units of it.

    Of all weights the least is taken with which biases are nearest to whole numbers.
    """
    _attributes(node)
    if all(any(held.tensor == node.inputs[place] for held in chain.held) for place in (0, 3)):
        _sum(node, chain)
        return
    place = 1 if node.inputs[0] == chain.tensor else 4
    other = 3 if place == 1 else 0
    x_scale, zero, y_scale, made = _scales(node, chain, place, 6)
    array = chain.constant(node, other, "its other term")
    if array is None or array.dtype not in (np.int8, np.uint8) or not array.size:
        raise node.refuse("its other term must be of int8 or uint8, not "
                          f"{'left out' if array is None else array.dtype}")
    ratio = chain.number(node, other + 1, "scale of its other term") / x_scale
    point, offset = chain.zero(node, other + 2, "zero point of its other term")
    if (offset == 128) != (array.dtype == np.uint8):
        raise node.refuse(f"zero point of its other term must be of {array.dtype}")
    sizes = chain.elementwise(node)
    channels = sizes["channels"]
    try:
        whole = np.broadcast_to(array, chain.shape)
    except ValueError:
        raise node.refuse("its other term must broadcast to "
                          f"{' x '.join(map(str, chain.shape))}, and not be {by(array)}") from None
    if chain.beside > 1:
        whole = whole.transpose(1, 0, 2)
    each = (whole.reshape(-1, channels).T if chain.rows else whole.reshape(channels, -1)
            ).astype(np.int64) - (point + offset)
    if (each != each[:, :1]).any():
        raise node.refuse("its other term must be the same in all rows or pixels, as hardware has "
                          f"one bias for each column or channel; it is {by(array)}")
    weights = np.arange(1, 128)[:, None]
    wanted = weights * (ratio * each[:, 0])
    weight = 1 + int((abs(wanted - np.rint(wanted)) / weights).max(axis=1).argmin())
    bias = np.rint(wanted[weight - 1])
    off = float(abs(bias - wanted[weight - 1]).max()) / weight * x_scale / y_scale
    if off > NEAR:
        raise node.refuse("its other term, as the nearest whole number in units of its input's "
                          f"step / {weight}, must be at most 1 / 64 of the result's step off, not "
                          f"{off:.2g}")
    if (abs(bias) >= 2.0**31).any():
        raise node.refuse("its other term must be at most 2 ** 24 times the step of its input, not "
                          f"{abs(ratio * each).max():g}")
    chain.extend(node, sizes, np.full((channels, 1, 1, 1), weight, dtype=np.int64),
                 bias.astype(np.int64), np.array([x_scale / (weight * y_scale)]), zero, made)


def _sum(node: Node, chain: Chain) -> None:
    """The sum of two tensors that are held: a weight for each, in the ratio of their scales.

    Of all weights the least are taken with which that is near enough, and with as few copies of
    the channels as will do.
    """
    terms = [chain.at(node.inputs[place]) for place in (0, 3)]
    if terms[0].shape != terms[1].shape or chain.beside > 1:
        raise node.refuse("its terms must have one shape, not " + " and ".join(
            " x ".join(map(str, term.shape)) for term in terms))
    scales, points = [], []
    for place, term, thing in zip((0, 3), terms, ("a", "b"), strict=True):
        chain.turn(term.tensor, chain.later)
        scales.append(chain.number(node, place + 1, f"{thing}_scale"))
        point, offset = chain.zero(node, place + 2, f"{thing}_zero_point")
        chain.of_input(node, offset, f"{thing}_zero_point")
        points.append(point)
    y_scale, made = chain.number(node, 6, "y_scale"), chain.zero(node, 7, "y_zero_point")
    greater = max(scales)
    for copies in range(1, _COPIES + 1):
        weights = np.arange(1, 127 * copies + 1)
        lesser = np.rint(weights * min(scales) / greater)
        off = abs(lesser / weights * greater - min(scales)) * 255 / y_scale
        if off[best := int(off.argmin())] <= NEAR:
            break
    else:
        raise node.refuse("its scales must be in a ratio of whole numbers up to "
                          f"{127 * _COPIES}, at most 1 / 64 of the result's step off for any "
                          f"values, not {off[best]:.2g}")
    pair = [int((weights if scale == greater else lesser)[best]) for scale in scales]
    sizes = chain.elementwise(node)
    channels, start = sizes["channels"], 0
    both: NDArray[np.int64] = np.zeros(
        (channels, sum(held.channels for held in chain.held), 1, 1), dtype=np.int64)
    for held in chain.held:
        for term, weight in zip(terms, pair, strict=True):
            if held is term:
                both[range(channels), range(start, start + channels)] += weight
        start += held.channels
    bias = -sum(weight * point for weight, point in zip(pair, points, strict=True))
    chain.extend(node, {**sizes, "channels": both.shape[1], "groups": 1}, both,
                 np.full(channels, bias), np.array([greater / (int(weights[best]) * y_scale)]), 0,
                 made, whole=True)


def _limited(node: Node, chain: Chain, least: int, most: int) -> None:
    """No value below ``least`` or above ``most``, of int8."""
    if not chain.layers:
        chain.identity(node)
    scale = chain.layers[-1].layer.scale
    low, high = (min(max(value, least), most) for value in (scale.low, scale.high))
    for held in chain.held[1:]:
        if held.low < low or held.high > high:
            raise node.refuse(f"its limits, {low + chain.offset} and {high + chain.offset}, would "
                              f"be those of {held.tensor!r}, too, which is read later and goes "
                              "through the same layer")
    chain.change(node, lambda layer: replace(layer, scale=replace(scale, low=low, high=high)))


def _relu(node: Node, chain: Chain) -> None:
    _attributes(node)
    _limited(node, chain, -chain.offset, 127)


def _limits(node: Node, chain: Chain) -> None:
    """Relu or Clip in floating point, as folding found its limits."""
    _limited(node, chain, *(_whole(node.attributes, end) for end in ("low", "high")))


def _flatten(node: Node, chain: Chain) -> None:
    axis = _attributes(node, axis=1)["axis"]
    if len(chain.shape) == 3:
        raise node.refuse(f"its input must have 2 or 4 dimensions, not "
                          f"{' x '.join(map(str, chain.shape))}")
    if axis not in (1, 1 - len(chain.shape)) or (len(chain.shape) == 4 and chain.shape[0] != 1):
        raise node.refuse(f"axis must be 1, and the batch 1 image, not {axis} and "
                          f"{chain.shape[0]}")
    chain.shape = (chain.shape[0], math.prod(chain.shape[1:]))


def _reshape(node: Node, chain: Chain) -> None:
    zero = not _attributes(node, allowzero=0)["allowzero"]
    wanted = chain.constant(node, 1, "shape")
    if wanted is None or wanted.ndim != 1 or wanted.dtype != np.int64:
        raise node.refuse("shape must be a vector of int64, not " + (
            "left out" if wanted is None else f"{by(wanted)} of {wanted.dtype}"))
    shape = [chain.shape[i] if size == 0 and zero and i < len(chain.shape) else size
             for i, size in enumerate(wanted.tolist())]
    elements = math.prod(chain.shape)
    if shape.count(-1) == 1:
        others = math.prod(size for size in shape if size != -1)
        shape = [elements // others if size == -1 and others else size for size in shape]
    if tuple(shape) == chain.shape:
        return
    if (chain.beside == 1 and {len(shape), len(chain.shape)} <= {2, 3} and min(shape) > 0
            and shape[-1] == chain.shape[-1] and math.prod(shape) == elements):  # the same rows
        chain.shape = tuple(shape)
        return
    if shape != [1, elements] or chain.shape[0] != 1 or len(chain.shape) == 3:
        raise node.refuse(f"shape must be 1 x {elements}, of one image, not "
                          f"{' x '.join(map(str, shape))}")
    chain.shape = (1, elements)


HANDLERS: Mapping[tuple[str | None, str], Callable[[Node, Chain], None]] = {
    **{("", op): handler for op, handler in {
        "QLinearConv": _conv, "QLinearMatMul": _matmul, "MaxPool": _max_pool, "Relu": _relu,
        "Flatten": _flatten, "Reshape": _reshape}.items()},
    **{(VENDOR, op): handler for op, handler in {
        "QGemm": _gemm, "QLinearAdd": _add, "QLinearAveragePool": _average_pool,
        "QLinearGlobalAveragePool": _average_pool}.items()},
    (FOLDED, "Relu"): _limits, (FOLDED, "Clip"): _limits, (FOLDED, "QuantizeLinear"): _requantise}
"""By domain and name: what an operator on whole numbers does to a chain."""
