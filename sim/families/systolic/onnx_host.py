"""What a network in ONNX does before and after the accelerator: on the host, by the standard's own
evaluator."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cyclebound.sim.base.errors import UserError
from cyclebound.sim.families.systolic.onnx_chain import Node

__all__ = ["FIRST", "LAST", "Host"]

Tensor = NDArray[np.generic]
_SHAPES = ("Flatten", "Reshape", "Squeeze", "Transpose", "Unsqueeze")
FIRST = ("Cast", "QuantizeLinear", *_SHAPES)
"""Operators of the standard that may come before all layers."""
LAST = ("ArgMax", "Cast", "DequantizeLinear", "LogSoftmax", "QuantizeLinear", "Sigmoid", "Softmax",
        *_SHAPES)
"""Operators that may come after all layers."""


@dataclass(frozen=True)
class Host:
    """Nodes one after the other, on the host: ``host(x)`` is what they make of an array.

    Raises `UserError` where they cannot.
    """

    nodes: tuple[Node, ...]
    constants: Mapping[str, Tensor]
    opset: int

    def __call__(self, x: Tensor) -> Tensor:
        from onnx import helper, numpy_helper, shape_inference
        from onnx.reference import ReferenceEvaluator

        read, made = self.nodes[0].inputs[0], self.nodes[-1].outputs[0]
        used = {name for node in self.nodes for name in node.inputs}
        kind = helper.np_dtype_to_tensor_dtype(x.dtype)
        graph = helper.make_graph(
            [self._proto(node) for node in self.nodes], "host",
            [helper.make_tensor_value_info(read, kind, x.shape)],
            [helper.make_tensor_value_info(made, 0, None)],
            [numpy_helper.from_array(value, name) for name, value in self.constants.items()
             if name in used])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        try:
            # the evaluator computes with whatever types come
            shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
            (result,) = ReferenceEvaluator(model).run([made], {read: x})
            return np.asarray(result)
        except Exception as error:  # of any kind: an attribute or a shape that cannot be
            names = ", ".join(f"{node.name} ({node.op})" for node in self.nodes)
            raise UserError(f"on the host, {names}: {' '.join(str(error).split())}") from error

    @staticmethod
    def _proto(node: Node):
        from onnx import helper

        proto = helper.make_node(node.op, node.inputs, node.outputs, name=node.name)
        for name, value in node.attributes.items():
            proto.attribute.append(helper.make_attribute(name, value))
        return proto
