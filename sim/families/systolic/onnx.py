"""Quantised networks in ONNX for the systolic accelerator.

A chain of nodes is taken: each reads what the one before has made. Of QLinearConv, QLinearMatMul
and QGemm each is a layer; a MaxPool or Relu after one of these becomes a part of it, else a layer
of its own with weights of 1. What is not supported is refused by its node's name.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.user_files import bytes_in, parsing
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.families.systolic.models import Model, fits
from cyclebound.sim.families.systolic.onnx_chain import Chain, Node, by

__all__ = ["SUPPORTED", "load_onnx"]

Tensor = NDArray[np.generic]
_LARGEST = 2048 << 20  # bytes of a file
_NODES = 10_000
_DOMAINS = {"QGemm": ("com.microsoft",)}
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


def _conv(node: Node, chain: Chain) -> None:
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
    chain.extend(node, {
        "height": height, "width": width, "channels": channels, "filters": filters,
        "kernel": kernel, "stride": strides, "dilation": dilations, "groups": groups,
        "padding": _edges(node, given, (height, width), spans, strides)},
        weights, chain.bias(node, 8, "bias", filters), x_scale * w_scale / y_scale, pad,
        chain.zero(node, 7, "y_zero_point"))
    chain.shape = (1, filters, *chain.layers[-1].layer.output)


def _product(node: Node, chain: Chain, weights: NDArray[np.int64], bias: int | None,
             scales: NDArray[np.float64], pad: int, made: tuple[int, int]) -> None:
    """Rows times a matrix of elements x filters; ``bias`` is the place of one among the inputs."""
    if len(chain.shape) != 2:
        raise node.refuse(f"its input must be a matrix, not {' x '.join(map(str, chain.shape))}")
    if weights.shape[0] != chain.shape[1]:
        raise node.refuse(f"b must be a matrix with {chain.shape[1]} rows, as its input has "
                          f"columns, not {by(weights)}")
    rows, filters = chain.shape[0], weights.shape[1]
    chain.extend(node, {"height": rows, "width": 1, "channels": weights.shape[0],
                        "filters": filters, "kernel": 1}, weights.T[:, :, None, None],
                 np.zeros(filters, dtype=np.int64) if bias is None
                 else chain.bias(node, bias, "c", filters, rows), scales, pad, made)
    chain.shape = (rows, filters)


def _matmul(node: Node, chain: Chain) -> None:
    _attributes(node)
    pad, offset = chain.zero(node, 2, "a_zero_point")
    chain.of_input(node, offset, "a_zero_point")
    weights = chain.weights(node, 3, 5, "b", 1, 2)
    scales = chain.number(node, 1, "a_scale") * chain.scales(node, 4, "b_scale", weights.shape[1])
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
    if window[0] > min(height, width):
        raise node.refuse(f"kernel_shape must be at most {min(height, width)}, its input, not "
                          f"{window[0]}")
    if not chain.layers or chain.layers[-1].layer.window > 1 or chain.layers[-1].layer.output != (
            height, width):
        chain.identity(node)
    chain.change(node, lambda layer: replace(layer, window=window[0]))
    chain.shape = (1, chain.shape[1], *chain.layers[-1].layer.output)


def _relu(node: Node, chain: Chain) -> None:
    _attributes(node)
    if not chain.layers:
        chain.identity(node)
    scale = chain.layers[-1].layer.scale
    low = max(scale.low, -chain.offset)
    limited = replace(scale, low=low, high=max(scale.high, low))
    chain.change(node, lambda layer: replace(layer, scale=limited))


def _flatten(node: Node, chain: Chain) -> None:
    axis = _attributes(node, axis=1)["axis"]
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
    if shape != [1, elements] or chain.shape[0] != 1:
        raise node.refuse(f"shape must be 1 x {elements}, of one image, not "
                          f"{' x '.join(map(str, shape))}")
    chain.shape = (1, elements)


def _quantise(node: Node, chain: Chain) -> None:
    _attributes(node, axis=1, saturate=1)
    if chain.layers or chain.quantise or chain.offset >= 0:
        raise node.refuse("it must be the first node, after an input in floating point")
    zero, offset = chain.zero(node, 2, "y_zero_point", np.dtype(np.uint8))
    chain.quantise = chain.number(node, 1, "y_scale"), zero + offset
    chain.offset = offset


def _dequantise(node: Node, chain: Chain) -> None:
    _attributes(node, axis=1)
    zero, offset = chain.zero(node, 2, "x_zero_point",
                              np.dtype(np.uint8 if chain.offset else np.int8))
    chain.of_input(node, offset, "x_zero_point")
    chain.dequantise = chain.number(node, 1, "x_scale"), zero + offset


_HANDLERS: Mapping[str, Callable[[Node, Chain], None]] = {
    "QLinearConv": _conv, "QLinearMatMul": _matmul, "QGemm": _gemm, "MaxPool": _max_pool,
    "Relu": _relu, "Flatten": _flatten, "Reshape": _reshape, "QuantizeLinear": _quantise,
    "DequantizeLinear": _dequantise}

SUPPORTED = tuple(_HANDLERS)
"""Operators that are taken."""


def _read(path: Path):
    """The graph of a file, its constants, and its nodes in plain data."""
    try:
        import onnx
        from onnx import numpy_helper
    except ImportError:
        raise UserError("reading .onnx takes the package onnx: pip install 'cyclebound[onnx]'"
                        ) from None
    try:
        with parsing(path):
            model = onnx.load_from_string(bytes_in(path, _LARGEST))
            onnx.external_data_helper.load_external_data_for_model(model, str(path.parent))
        graph = model.graph
        constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error
    except Exception as error:  # of protobuf, of onnx's checker, of numpy: the file is to blame
        raise UserError(f"{path} is no ONNX model: {' '.join(str(error).split())}") from error
    if model.functions:  # one may give another meaning to an operator's name
        raise UserError(f"{path.name}: functions of the model's own are not supported: "
                        f"{model.functions[0].name}")
    if len(graph.node) > _NODES:
        raise UserError(f"{path.name}: there may be at most {_NODES:,} nodes, not "
                        f"{len(graph.node):,}")
    nodes: list[Node] = []
    for node in graph.node:
        plain = {}
        for attribute in node.attribute:
            value = onnx.helper.get_attribute_value(attribute)
            if isinstance(value, bytes):
                value = value.decode(errors="replace")
            elif not isinstance(value, int | float | str) and hasattr(value, "__iter__"):
                value = list(value)
            plain[attribute.name] = value
        if node.op_type == "Constant" and node.domain in ("", "ai.onnx") and "value" in plain:
            constants[node.output[0]] = numpy_helper.to_array(plain["value"])
            continue
        nodes.append(Node(node.name or f"{node.op_type}_{len(nodes)}", node.op_type, node.domain,
                          tuple(node.input), tuple(node.output), plain))
    return onnx, graph, constants, nodes


def load_onnx(path: Path, x: Tensor | None = None) -> Model:
    """A quantised network; ``x`` gives sizes that the file leaves open.

    Raises `UserError`, which names the node that is not supported, and what it has that is not.
    """
    onnx, graph, constants, nodes = _read(path)
    inputs = [tensor for tensor in graph.input if tensor.name not in constants]
    for thing, tensors in (("input", inputs), ("output", graph.output)):
        if len(tensors) != 1:
            raise UserError(f"{path.name}: there must be one {thing}, not {len(tensors)}: "
                            f"{', '.join(tensor.name for tensor in tensors) or 'none'}")
    shape = _shape(path, inputs[0], x)
    kinds = {onnx.TensorProto.INT8: 0, onnx.TensorProto.UINT8: 128, onnx.TensorProto.FLOAT: -1}
    kind = inputs[0].type.tensor_type.elem_type
    if kind not in kinds:
        raise UserError(f"{path.name}: input {inputs[0].name} must be of int8, uint8 or float, not "
                        f"{onnx.TensorProto.DataType.Name(kind).lower()}")
    chain = Chain(constants, inputs[0].name, shape, kinds[kind])
    offset = max(chain.offset, 0)
    for number, node in enumerate(nodes):
        if node.op not in _HANDLERS or node.domain not in _DOMAINS.get(node.op, ("", "ai.onnx")):
            domain = f" of {node.domain}" if node.domain else ""
            raise node.refuse(f"operator {node.op}{domain} is not supported; supported are "
                              f"{', '.join(SUPPORTED)}")
        readers = [other.name for other in nodes if chain.tensor in other.inputs]
        if not node.inputs or node.inputs[0] != chain.tensor or len(readers) > 1:
            read = node.inputs[0] if node.inputs else "nothing"
            raise node.refuse(f"it must read {chain.tensor!r}, and no other node, for layers to "
                              f"follow each other; it reads {read!r}, and {chain.tensor!r} is "
                              f"read by {', '.join(readers) or 'none'}")
        if not node.outputs or not node.outputs[0]:
            raise node.refuse("it must have an output")
        if chain.offset < 0 and node.op != "QuantizeLinear":
            raise node.refuse("its input must be quantised, not in floating point")
        if chain.dequantise:
            raise node.refuse("its input must be quantised, and not dequantised before")
        if graph.output[0].name == chain.tensor:
            raise node.refuse(f"it reads the output {chain.tensor!r}, which must be the last")
        _HANDLERS[node.op](node, chain)
        chain.tensor = node.outputs[0]
        if number == 0 and chain.quantise:
            offset = chain.offset
    if chain.tensor != graph.output[0].name or not chain.layers:
        raise UserError(f"{path.name}: output {graph.output[0].name} must be what the last of some "
                        "layers makes")
    rows = len(chain.shape) == 2 and chain.layers[-1].layer.output == (chain.shape[0], 1)
    return Model(path.stem, tuple(chain.layers), shape, chain.shape, rows, offset, chain.offset,
                 chain.quantise, chain.dequantise, chain.error)


def _shape(path: Path, given, x: Tensor | None) -> tuple[int, ...]:
    """The input's shape; where it is left open, that of ``x``, or 1 for the batch."""
    sizes = [size.dim_value if size.HasField("dim_value") else 0
             for size in given.type.tensor_type.shape.dim]
    if len(sizes) not in (2, 4):
        raise UserError(f"{path.name}: input {given.name} must have 2 or 4 dimensions, not "
                        f"{len(sizes)}")
    if x is not None and x.ndim == len(sizes):
        sizes = [size or there for size, there in zip(sizes, x.shape, strict=True)]
    sizes[0] = sizes[0] or 1
    if min(sizes) < 1:
        raise UserError(f"{path.name}: input {given.name} must have sizes, or an input file must "
                        f"give them, not {sizes}")
    fits(path.name, f"input {given.name}", sizes)
    return tuple(sizes)
