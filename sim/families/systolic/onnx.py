"""Quantised networks in ONNX for the systolic accelerator.

A chain of nodes is taken: each reads what the one before has made, or what one before that has
(`onnx_chain`). Pairs of quantisation are folded
(`onnx_qdq`), what an operator becomes is in `onnx_nodes`, what the host does in `onnx_host`. What
is not supported is refused by its node's name.
"""

import copy
import functools
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cyclebound.golden.user_files import bytes_in, parsing
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.families.systolic.models import Model, fits
from cyclebound.sim.families.systolic.onnx_chain import Chain, Node, check_result
from cyclebound.sim.families.systolic.onnx_host import FIRST, LAST, Host
from cyclebound.sim.families.systolic.onnx_nodes import HANDLERS, PARTS
from cyclebound.sim.families.systolic.onnx_qdq import CHOICES, STANDARD, SUMS, TABLES, folded

__all__ = ["SUPPORTED", "load_onnx"]

Tensor = NDArray[np.generic]
_LARGEST = 2048 << 20  # bytes of a file
_NODES = 10_000
_SHAPES = ("Flatten", "Reshape")
_INPUTS = "int8", "uint8", "float32", "float64", "float16", "int16", "uint16", "int32", "int64"
_OFFSETS: Mapping[np.dtype, int] = {np.dtype(np.int8): 0, np.dtype(np.uint8): 128}
SUPPORTED = tuple(dict.fromkeys((*(op for _, op in HANDLERS), *SUMS, *CHOICES, *TABLES, *FIRST,
                                 *LAST)))
"""Operators that are taken: on whole numbers, in floating point between pairs, on the host."""


def _read(path: Path):
    """A file's model, its constants, and its nodes in plain data."""
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
    return onnx, model, constants, nodes


def load_onnx(path: Path, x: Tensor | None = None) -> Model:
    """A quantised network; ``x`` gives sizes that the file leaves open.

    Raises `UserError`, which names the node that is not supported, and what it has that is not.
    """
    onnx, model, constants, nodes = _read(path)
    graph = model.graph
    inputs = [tensor for tensor in graph.input if tensor.name not in constants]
    for thing, tensors in (("input", inputs), ("output", graph.output)):
        if len(tensors) != 1:
            raise UserError(f"{path.name}: there must be one {thing}, not {len(tensors)}: "
                            f"{', '.join(tensor.name for tensor in tensors) or 'none'}")
    shape = _shape(path, inputs[0], x)
    kinds = {onnx.helper.np_dtype_to_tensor_dtype(np.dtype(name)): np.dtype(name)
             for name in _INPUTS}
    kind = kinds.get(inputs[0].type.tensor_type.elem_type)
    if kind is None:
        given = onnx.TensorProto.DataType.Name(inputs[0].type.tensor_type.elem_type).lower()
        raise UserError(f"{path.name}: input {inputs[0].name} must be of int8, uint8 or float, not "
                        f"{given}")
    nodes, output = folded(nodes, constants, {inputs[0].name: kind}, graph.output[0].name)
    opset = max((each.version for each in model.opset_import if each.domain in STANDARD),
                default=onnx.defs.onnx_opset_version())
    before, after = _on_host(nodes)
    chain = Chain(constants, inputs[0].name, shape, _OFFSETS.get(kind, -1))
    first = None
    for number, node in enumerate(nodes):
        if node.outputs and node.outputs[0] in chain.done:
            continue
        if number == len(before):
            if before:
                first = Host(before, constants, opset)
                _start(first, chain, kind)
            offset, rows = max(chain.offset, 0), chain.shape
            chain.begin()
        _follows(node, nodes[number + 1:], chain, output,
                 branches=len(before) <= number < len(nodes) - len(after))
        if number < len(before):
            if node.op == "QuantizeLinear":  # one scale and zero point, as all layers have
                chain.number(node, 1, "y_scale")
                chain.zero(node, 2, "y_zero_point")
        elif not chain.layers and number >= len(nodes) - len(after):
            break
        elif number >= len(nodes) - len(after):
            for place in range(1, len(node.inputs)):
                chain.constant(node, place, f"input {place}")
            if node.op == "DequantizeLinear" and number == len(nodes) - len(after):
                chain.number(node, 1, "x_scale")
                chain.of_input(node, chain.zero(node, 2, "x_zero_point")[1], "x_zero_point")
        else:
            _layer(node, chain)
            chain.made(node.outputs[0])
            continue
        chain.tensor = node.outputs[0]
    if chain.tensor != output or not chain.layers:
        raise UserError(f"{path.name}: output {graph.output[0].name} must be what the last of some "
                        "layers makes")
    _check(onnx, path, model)
    last = Host(after, constants, opset) if after else None
    if last:  # what it cannot do is said before anything runs
        last(np.zeros(chain.shape, dtype=np.uint8 if chain.offset else np.int8))
    made = chain.shape
    if chain.beside > 1:  # rows of all matrices, beside each other
        made = made[1], made[0], made[2]
    return Model(path.stem, tuple(chain.layers), shape, made, chain.rows, offset, chain.offset,
                 kind, functools.partial(_in_memory, first, chain.beside) if len(rows) == 3
                 else first, functools.partial(_as_given, last) if chain.beside > 1 else last,
                 chain.error)


def _in_memory(first: Host | None, beside: int, x: Tensor) -> Tensor:
    """Several matrices as one: one after the other, or ``beside`` each other."""
    x = first(x) if first else x
    if beside > 1:
        x = x.transpose(1, 0, 2).reshape(x.shape[1], -1)
    return x.reshape(-1, x.shape[-1])


def _as_given(last: Host | None, made: Tensor) -> Tensor:
    """Matrices that lie beside each other, as the standard has them."""
    made = made.transpose(1, 0, 2)
    return last(made) if last else made


def _check(onnx, path: Path, model) -> None:
    """Raise unless what was not looked at is the standard's, too: inputs, attributes, types."""
    model = copy.deepcopy(model)
    try:
        onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
        for tensor in model.graph.output:
            tensor.type.tensor_type.shape.SetInParent()  # many leave it out
        onnx.checker.check_model(model)
    except Exception as error:  # of any kind
        raise UserError(f"{path.name} is no valid ONNX model: {' '.join(str(error).split())}"
                        ) from error


def _on_host(nodes: Sequence[Node]) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """Nodes before all layers, and after them. What only changes the shape of whole numbers belongs
    to the layers."""
    before = list(itertools.takewhile(
        lambda node: node.op in FIRST and node.domain in STANDARD, nodes))
    while before and before[-1].op in _SHAPES:
        before.pop()
    after = list(itertools.takewhile(lambda node: node.op in LAST and node.domain in STANDARD,
                                     nodes[:len(before) - len(nodes) - 1:-1]))
    while after and after[-1].op in _SHAPES:
        after.pop()
    return tuple(before), tuple(after[::-1])


def _start(first: Host, chain: Chain, kind: np.dtype) -> None:
    """The tensor that the layers read, where the host makes it."""
    made = first(np.zeros(chain.shape, dtype=kind))
    chain.shape, chain.offset = made.shape, _OFFSETS.get(made.dtype, -1)


def _follows(node: Node, later: Sequence[Node], chain: Chain, output: str, *,
             branches: bool) -> None:
    """Turn to what a node reads: what the one before has made, or with ``branches`` a tensor that
    was kept for it. Raise unless there is such a one, and something reads the result."""
    kept = [held.tensor for held in chain.held] if branches else [chain.tensor]
    places = [place for place, name in enumerate(node.inputs) if name in kept]
    readers = [other.name for other in later if chain.tensor in other.inputs]
    if not places or (places != [0] and (node.op != "QLinearAdd" or not {*places} <= {0, 3})) or (
            readers and not branches):
        if chain.tensor in node.inputs:
            readers.insert(0, node.name)
        reads = node.inputs[0] if node.inputs else "nothing"
        raise node.refuse(f"it must read {chain.tensor!r}, and no other node, for layers to "
                          f"follow each other; it reads {reads!r}, and {chain.tensor!r} is "
                          f"read by {', '.join(readers) or 'none'}")
    if output in kept:
        raise node.refuse(f"it reads the output {output!r}, which must be the last")
    check_result(node, later if branches else ())
    if branches:
        chain.turn(node.inputs[places[0]], later)


def _layer(node: Node, chain: Chain) -> None:
    """A node that is a layer, or a part of one."""
    domain = "" if node.domain in STANDARD else node.domain
    handler = HANDLERS.get((domain, node.op))
    if handler is None:
        of = f" of {domain}" if domain else ""
        if not domain and node.op in SUMS:
            raise node.refuse("in floating point it is not supported: what it reads, its weights "
                              "and its result must be quantised, by a DequantizeLinear before "
                              "and a QuantizeLinear after it")
        if not domain and node.op in (*FIRST, *LAST):
            places = [place for place, ops in (("before all layers", FIRST),
                                               ("after all layers", LAST)) if node.op in ops]
            raise node.refuse(f"it is supported {' or '.join(places)} only, on the host")
        raise node.refuse(f"operator {node.op}{of} is not supported; supported are "
                          f"{', '.join(SUPPORTED)}")
    if chain.offset < 0:
        raise node.refuse("its input must be quantised, not in floating point")
    if len(chain.shape) not in (2, 3, 4):
        raise node.refuse(f"its input must have 2 to 4 dimensions, not {len(chain.shape)}")
    if chain.carries and node.op in PARTS:  # it is no layer of its own, but may not change others
        chain.identity(node)
        chain.made(chain.tensor)
    handler(node, chain)


def _shape(path: Path, given, x: Tensor | None) -> tuple[int, ...]:
    """The input's shape; where it is left open, that of ``x``, or 1 for the batch."""
    sizes = [size.dim_value if size.HasField("dim_value") else 0
             for size in given.type.tensor_type.shape.dim]
    if not 1 <= len(sizes) <= 6:
        raise UserError(f"{path.name}: input {given.name} must have 1 to 6 dimensions, not "
                        f"{len(sizes)}")
    if x is not None and x.ndim == len(sizes):
        sizes = [size or there for size, there in zip(sizes, x.shape, strict=True)]
    sizes[0] = sizes[0] or 1
    if min(sizes) < 1:
        raise UserError(f"{path.name}: input {given.name} must have sizes, or an input file must "
                        f"give them, not {sizes}")
    fits(path.name, f"input {given.name}", sizes)
    return tuple(sizes)
