"""Networks in the form with pairs of quantisation (QDQ), as operations on whole numbers.

Producers write a network's operators in floating point, each between a DequantizeLinear of what it
reads and a QuantizeLinear of what it makes. Rounding and limits of a QuantizeLinear are monotonic,
so that what only chooses among values (Relu, Clip, MaxPool, another shape) may as well come after
it; what adds up becomes the operator of the standard, or of ``com.microsoft``, with scales.
"""

import math
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cyclebound.sim.families.systolic.onnx_chain import VENDOR, Node, by

__all__ = ["CHOICES", "FOLDED", "NEAR", "STANDARD", "SUMS", "TABLES", "folded"]

Tensor = NDArray[np.generic]
FOLDED = None
"""The domain of operators that only folding makes: no file has one."""
_PAIR = {"axis", "block_size", "output_dtype", "precision", "saturate"}
_OUTPUT_TYPES = {0: None, 2: np.dtype(np.uint8), 3: np.dtype(np.int8)}
SUMS = ("Conv", "MatMul", "Gemm", "AveragePool", "GlobalAveragePool", "Add")
CHOICES = ("Relu", "Clip", "MaxPool", "Flatten", "Reshape", "Transpose")
TABLES = {"QLinearSigmoid": "Sigmoid", "QLinearSoftmax": "Softmax"}
STANDARD = "", "ai.onnx"
NEAR = 1 / 64
"""How far a bias may be off, in steps of the result."""


@dataclass(frozen=True)
class _Quantised:
    """A tensor of whole numbers with the names of its scale and zero point: what a
    DequantizeLinear reads."""

    tensor: str
    scale: str
    zero: str
    axis: int = 1


@dataclass(frozen=True)
class _Real:
    """A tensor in floating point: of what it is made, and by which nodes."""

    source: _Quantised
    nodes: tuple[Node, ...]  # the first is the DequantizeLinear


def folded(nodes: Sequence[Node], constants: MutableMapping[str, Tensor],
           kinds: Mapping[str, np.dtype], output: str) -> tuple[list[Node], str]:
    """The nodes without pairs, and what the graph's output then is called; ``constants`` gets those
    that are new. ``kinds`` has the types of tensors that are known.

    Raises `UserError`, which names the node that cannot be folded, and why.
    """
    folding = _Folding(constants, dict(kinds))
    folding.run(nodes)
    output = folding.same.get(output, output)
    folding.end([output])
    return folding.nodes, output


class _Folding:
    def __init__(self, constants: MutableMapping[str, Tensor],
                 kinds: dict[str, np.dtype]) -> None:
        self.constants, self.kinds = constants, kinds
        self.known: dict[str, _Quantised] = {}  # constants that are dequantised
        self.real: dict[str, _Real] = {}
        self.same: dict[str, str] = {}  # a tensor that is another
        self.written: set[str] = set()
        self.nodes: list[Node] = []

    def run(self, nodes: Sequence[Node]) -> None:
        """All nodes, in their order."""
        for given in nodes:
            node = replace(given, inputs=tuple(self.same.get(name, name)
                                               for name in given.inputs))
            plain = node.domain in STANDARD
            read = node.inputs[0] if node.inputs else ""
            if not node.outputs or not node.outputs[0]:
                self.nodes.append(node)
            elif plain and node.op == "Identity":
                self.same[node.outputs[0]] = read
            elif plain and node.op == "DequantizeLinear":
                self._dequantised(node, read)
            elif plain and node.op == "QuantizeLinear":
                self._quantised(node, read)
            elif node.domain == VENDOR and node.op in TABLES:
                self._table(node)
            elif plain and node.op in (*SUMS, *CHOICES) and (real := self._real_of(node)):
                self.real[node.outputs[0]] = real
            else:
                self.end(node.inputs)
                self.nodes.append(node)

    # -- tensors -----------------------------------------------------------------------------------

    def constant(self, like: str, value: Tensor) -> str:
        name = f"{like} (folded)"
        while name in self.constants:
            name += "'"
        self.constants[name] = value
        return name

    def _zero(self, node: Node, of: np.dtype | None) -> str:
        """The name of a node's zero point; where it is left out, that of a 0 of its type."""
        if len(node.inputs) > 2 and node.inputs[2]:
            return node.inputs[2]
        if of is None:
            raise node.refuse("its zero point must be given, as the type of what it reads is not "
                              "known")
        return self.constant(f"{node.outputs[0]} zero point", np.zeros((), dtype=of))

    def _pair(self, node: Node) -> None:
        unknown = sorted(set(node.attributes) - _PAIR)
        if unknown:
            raise node.refuse(f"attribute {unknown[0]} is not supported; known are "
                              f"{', '.join(sorted(_PAIR))}")
        if node.attributes.get("block_size"):
            raise node.refuse(f"block_size must be 0, as hardware has a scale for a tensor or for "
                              f"each filter, not {node.attributes['block_size']}")
        if len(node.inputs) < 2 or not node.inputs[1]:
            raise node.refuse("its scale must be given")

    def _dequantised(self, node: Node, read: str) -> None:
        self._pair(node)
        constant = self.constants.get(read)
        axis = node.attributes.get("axis", 1)
        if not isinstance(axis, int):
            raise node.refuse(f"attribute axis must be a whole number, not {axis!r}")
        quantised = _Quantised(read, node.inputs[1], self._zero(
            node, self.kinds.get(read) if constant is None else constant.dtype), axis)
        scale, zero = self.constants.get(quantised.scale), self.constants.get(quantised.zero)
        if (scale is not None and zero is not None and len(node.inputs) > 2 and node.inputs[2]
                and scale.shape != zero.shape and (scale.size, zero.size) != (1, 1)):
            raise node.refuse(f"its zero point must have the shape of its scale, {by(scale)}, not "
                              f"{by(zero)}")
        if constant is not None:
            self.known[node.outputs[0]] = quantised
        else:
            self.real[node.outputs[0]] = _Real(quantised, (node,))

    def _real_of(self, node: Node) -> _Real | None:
        """What a node in floating point makes, where that can be folded."""
        first = node.inputs[0]
        if node.op == "Add" and len(node.inputs) != 2:
            raise node.refuse(f"it must have 2 inputs, not {len(node.inputs)}")
        if node.op == "Add" and first not in self.real:
            first = node.inputs[1]  # it may read them in either order
            node = replace(node, inputs=node.inputs[::-1])
        real = self.real.get(first)
        if real is None:
            return None
        ops = [other.op for other in real.nodes[1:]]
        if node.op in SUMS and ops:
            if node.op == "Add" and ops in (["Conv"], ["MatMul"], ["Gemm"]):
                return _Real(real.source, (*real.nodes, node))
            raise node.refuse(f"it reads what {real.nodes[-1].name} makes in floating point: there "
                              "must be a QuantizeLinear and a DequantizeLinear between them")
        return _Real(real.source, (*real.nodes, node))

    def end(self, tensors: Sequence[str]) -> None:
        """Write what makes tensors that stay in floating point."""
        for name in tensors:
            real = self.real.get(name)
            if real is None or name in self.written:
                continue
            sums = next((node for node in real.nodes if node.op in SUMS), None)
            if sums is not None:
                raise sums.refuse("its result must be quantised: a QuantizeLinear must read it")
            self.written.add(name)
            if len(real.nodes) == 1:
                self.nodes.append(real.nodes[0])
                continue
            source = self._choices(real.source, real.nodes[1:], "")
            self.nodes.append(replace(real.nodes[0], outputs=(name,), inputs=(
                source.tensor, source.scale, source.zero)))

    # -- folding -----------------------------------------------------------------------------------

    def _quantised(self, node: Node, read: str) -> None:
        self._pair(node)
        kind = node.attributes.get("output_dtype", 0)
        if kind not in _OUTPUT_TYPES:
            raise node.refuse(f"output_dtype must be of int8 or uint8, 3 or 2, not {kind}")
        zero = self._zero(node, _OUTPUT_TYPES[kind] or np.dtype(np.uint8))
        made = node.outputs[0]
        if zero in self.constants:
            self.kinds[made] = self.constants[zero].dtype
        real = self.real.get(read)
        if real is None:
            self.nodes.append(replace(node, inputs=(read, node.inputs[1], zero),
                                      attributes={name: value for name, value in
                                                  node.attributes.items() if name == "axis"}))
            return
        target = _Quantised(made, node.inputs[1], zero)
        nodes = real.nodes[1:]
        if nodes and nodes[0].op in SUMS:
            with_bias = len(nodes) > 1 and nodes[1].op == "Add"
            folding = self._sum(real.source, nodes[0], nodes[1] if with_bias else None, target)
            rest = nodes[2 if with_bias else 1:]
        else:
            rest, folding = nodes, None
            if not self._alike(real.source, target):
                folding = Node(node.name, "QuantizeLinear", FOLDED, (
                    real.source.tensor, real.source.scale, real.source.zero, target.scale,
                    target.zero), (made,), {})
        if folding is None and not rest:
            self.same[made] = real.source.tensor
            return
        if folding is not None:
            between = made if not rest else f"{made} (sums)"
            self.nodes.append(replace(folding, outputs=(between,)))
            source = replace(target, tensor=between)
        else:
            source = real.source
        self._choices(source, rest, made)

    def _alike(self, one: _Quantised, other: _Quantised) -> bool:
        values = [[self.constants.get(name) for name in (pair.scale, pair.zero)]
                  for pair in (one, other)]
        return all(a is not None and b is not None and a.size == b.size == 1
                   and a.dtype == b.dtype and a.item() == b.item()
                   for a, b in zip(*values, strict=True))

    def _choices(self, source: _Quantised, nodes: Sequence[Node], made: str) -> _Quantised:
        """Nodes that choose among values, of whole numbers; the last of them makes ``made``."""
        for number, node in enumerate(nodes):
            last = number == len(nodes) - 1
            out = made if last and made else f"{node.outputs[0]} (whole numbers)"
            if node.op in ("Relu", "Clip"):
                node = Node(node.name, node.op, FOLDED, (source.tensor,), node.outputs,
                            self._limits(node, source))
            self.nodes.append(replace(node, inputs=(source.tensor, *node.inputs[1:]),
                                      outputs=(out, *node.outputs[1:])))
            source = replace(source, tensor=out)
        return source

    def _number(self, node: Node, name: str, thing: str) -> float:
        array = self.constants.get(name)
        if array is None:
            raise node.refuse(f"{thing} must be a constant, not {name!r}, which is computed")
        if array.shape not in ((), (1,)):
            raise node.refuse(f"{thing} must be one number, not {by(array)}")
        return float(array.reshape(()))

    def _step(self, node: Node, of: _Quantised) -> float:
        """The one scale of a tensor."""
        step = self._number(node, of.scale, "scale")
        if not 0 < step < math.inf:
            raise node.refuse(f"the scale of what it reads or makes must be above 0, not {step:g}")
        return step

    def _limits(self, node: Node, of: _Quantised) -> dict[str, object]:
        """Least and greatest whole number, as int8, that a limit in floating point leaves."""
        scale, zero = self._step(node, of), self.constants.get(of.zero)
        if zero is None or zero.size != 1 or zero.dtype not in (np.int8, np.uint8):
            raise node.refuse("the zero point of its tensor must be one number of int8 or uint8")
        limits, offset = (-128, 127), 0 if zero.dtype == np.int8 else 128
        given: list[float | None] = [0.0, None]
        if node.op == "Clip":
            given = [None, None]
            for place, name in enumerate(("min", "max")):
                if len(node.inputs) > place + 1 and node.inputs[place + 1]:
                    tensor = node.inputs[place + 1]
                    known = self.known.get(tensor)
                    if known is not None and self.constants[known.tensor].size != 1:
                        raise node.refuse(f"{name} must be one number, not "
                                          f"{by(self.constants[known.tensor])}")
                    given[place] = (self._number(node, tensor, name) if known is None else
                                    float(self._value(node, known, name).item()))
                elif name in node.attributes:
                    value = node.attributes[name]
                    if not isinstance(value, int | float):
                        raise node.refuse(f"attribute {name} must be a number, not {value!r}")
                    given[place] = float(value)
        ends: list[int] = []
        for value, end in zip(given, limits, strict=True):
            if value is not None:
                if np.isnan(value):
                    raise node.refuse("its limits must be numbers, not nan")
                # the same two roundings as of any value: of the division, and to even
                quotient = np.rint(np.float32(value) / np.float32(scale))
                end = int(np.clip(quotient + int(zero.item()) - offset, *limits))
            ends.append(end)
        if given[0] is not None and given[1] is not None and given[0] > given[1]:
            ends[0] = ends[1]  # as the standard has it: all values are the greatest
        return {"low": ends[0], "high": ends[1]}

    def _value(self, node: Node, known: _Quantised, thing: str) -> NDArray[np.float64]:
        """A constant in floating point, of one that is dequantised."""
        array, scale, zero = (self.constants[known.tensor], self.constants.get(known.scale),
                              self.constants.get(known.zero))
        if scale is None or zero is None:
            raise node.refuse(f"scale and zero point of {thing} must be constants")
        whole = array.astype(np.float64)
        if scale.size == zero.size == 1:
            return (whole - float(zero.item())) * float(scale.item())
        if not -array.ndim <= known.axis < array.ndim:
            raise node.refuse(f"axis of {thing} must be one of {array.ndim}, not {known.axis}")
        axis = known.axis % array.ndim
        along = [1] * array.ndim
        along[axis] = array.shape[axis]
        for part, what in ((scale, "scale"), (zero, "zero point")):
            if part.size != 1 and part.shape != (array.shape[axis],):
                raise node.refuse(f"{what} of {thing} must be 1 number or a vector of "
                                  f"{array.shape[axis]}, not {by(part)}")
        scales, zeros = (part.astype(np.float64).reshape(along if part.size > 1 else ())
                         for part in (scale, zero))
        return (whole - zeros) * scales

    def _weights(self, node: Node, place: int, thing: str, axis: int) -> _Quantised:
        """The constant of whole numbers whose filters lie along ``axis``; -1: the last."""
        name = node.inputs[place] if place < len(node.inputs) else ""
        known = self.known.get(name)
        if known is None:
            what = ("computed" if name not in self.constants else
                    f"of {self.constants[name].dtype}, without a DequantizeLinear")
            raise node.refuse(f"{thing} must be a constant of int8 or uint8 that a "
                              f"DequantizeLinear reads; {name!r} is {what}")
        scale, dimensions = self.constants.get(known.scale), self.constants[known.tensor].ndim
        axes = {axis % max(dimensions, 1), axis % max(dimensions, 1) - dimensions}
        if scale is not None and scale.size > 1 and known.axis not in axes:
            raise node.refuse(f"scales of {thing} must be one for each filter, along axis "
                              f"{max(axes)}, not along axis {known.axis}")
        return known

    def _bias(self, node: Node, name: str, thing: str, units: NDArray[np.float64],
              target: _Quantised) -> NDArray[np.int32]:
        """A bias in units of the sums, the nearest whole numbers; exact where its scale is theirs,
        and else at most `NEAR` of a step of the result off.
        """
        known = self.known.get(name)
        if known is not None:
            array, scale = self.constants[known.tensor], self.constants.get(known.scale)
            zero = self.constants.get(known.zero)
            value = self._value(node, known, thing)
            # producers write the product of two scales as they hold it
            if (array.dtype == np.int32 and scale is not None and zero is not None
                    and not zero.any() and scale.ndim <= 1 and scale.size in (1, units.size)
                    and (scale.astype(np.float32).reshape(-1) == units.astype(np.float32)).all()):
                return array.astype(np.int32)
        elif name in self.constants:
            value = self.constants[name].astype(np.float64)
        else:
            raise node.refuse(f"{thing} must be a constant, not {name!r}, which is computed")
        each = units if units.size > 1 else units.reshape(())
        try:
            wanted = value / each
        except ValueError:
            raise node.refuse(f"{thing} must have {units.size} elements, not {by(value)}") from None
        whole = np.rint(wanted)
        if not np.isfinite(whole).all() or (abs(whole) >= 2.0**31).any():
            raise node.refuse(f"{thing} must have 32 bits in units of the sums, not "
                              f"{abs(whole).max():g}")
        off = abs((whole - wanted) * each).max() / self._step(node, target)
        if off > NEAR:
            raise node.refuse(f"{thing}, as the nearest whole number in units of the sums, must be "
                              f"at most 1 / 64 of the result's step off, not {off:.2g}")
        return whole.astype(np.int32)

    def _units(self, node: Node, source: _Quantised, weights: _Quantised) -> NDArray[np.float64]:
        """What 1 of each filter's sums is; float32, as producers multiply."""
        scale = self.constants.get(weights.scale)
        if scale is None:
            raise node.refuse("the scale of its weights must be a constant")
        x = self._number(node, source.scale, "scale of its input")
        units = np.float64(x) * scale.astype(np.float64).reshape(-1)
        if not (np.isfinite(units) & (units > 0)).all():
            raise node.refuse(f"the scales of its input and weights must be above 0, not {x:g} and "
                              f"{by(scale) if scale.size > 1 else scale.item()}")
        return units

    def _sum(self, source: _Quantised, node: Node, add: Node | None, target: _Quantised) -> Node:
        """The operator with scales of one that adds up."""
        inputs = source.tensor, source.scale, source.zero
        ends, out = (target.scale, target.zero), (target.tensor,)
        if node.op in ("AveragePool", "GlobalAveragePool"):
            return Node(node.name, f"QLinear{node.op}", VENDOR, (*inputs, *ends), out,
                        node.attributes, node.op)
        if node.op == "Add":
            other = self._other(node)
            return Node(node.name, "QLinearAdd", VENDOR, (
                *inputs, other.tensor, other.scale, other.zero, *ends), out, {}, node.op)
        if node.op == "Conv":
            weights = self._weights(node, 1, "w", 0)
            parts = [*inputs, weights.tensor, weights.scale, weights.zero, *ends]
            filters = self.constants[weights.tensor].shape[:1]
            bias = None
            units = self._units(node, source, weights)
            if len(node.inputs) > 2 and node.inputs[2]:
                bias = self._bias(node, node.inputs[2], "bias", units, target)
            if add is not None:
                more = self._bias(add, add.inputs[1], "its second term",
                                  units.reshape(-1, 1, 1), target)
                if more.size not in (1, *filters) or (more.size > 1 and more.shape[-3:] != (
                        *filters, 1, 1)):
                    raise add.refuse("what it adds after a convolution must be one number for each "
                                     f"filter, {filters[0]} x 1 x 1, not {by(more)}")
                more = np.broadcast_to(more.reshape(-1), filters)
                bias = more if bias is None else self._both(add, bias, more)
            if bias is not None:
                parts.append(self.constant(f"{node.outputs[0]} bias", bias))
            return Node(node.name, "QLinearConv", "", tuple(parts), out, node.attributes, node.op)
        turned = node.op == "Gemm" and bool(node.attributes.get("transB"))
        weights = self._weights(node, 1, "b", 0 if turned else -1)
        array = self.constants[weights.tensor]
        if array.ndim != 2 and (node.op == "Gemm" or add is not None or array.ndim != 3):
            raise node.refuse(f"b must be a matrix, not {by(array)}")
        between = [*inputs, weights.tensor, weights.scale, weights.zero]
        if node.op == "MatMul" and add is None:
            return Node(node.name, "QLinearMatMul", "", (*between, *ends), out,
                        node.attributes, node.op)
        numbers = {name: node.attributes.get(name, 1.0) for name in ("alpha", "beta")}
        for name, value in numbers.items():
            if not isinstance(value, int | float) or (name == "alpha" and not value > 0):
                raise node.refuse(f"{name} must be above 0, not {value!r}")
        alpha, beta = (float(value) for value in numbers.values())  # type: ignore[arg-type]
        units = self._units(node, source, weights) * alpha
        terms = []
        if len(node.inputs) > 2 and node.inputs[2] and beta:
            terms.append(self._bias(node, node.inputs[2], "c", units / beta, target))
        if add is not None:
            terms.append(self._bias(add, add.inputs[1], "its second term", units,
                                    target))
        name = ""
        if terms:
            bias = terms[0] if len(terms) == 1 else self._both(add or node, *terms)
            name = self.constant(f"{node.outputs[0]} bias", bias)
        attributes = {key: value for key, value in node.attributes.items() if key != "beta"}
        return Node(node.name, "QGemm", VENDOR, (*between, name, *ends), out, attributes, node.op)

    def _both(self, node: Node, one: NDArray[np.int32], other: NDArray[np.int32]
              ) -> NDArray[np.int32]:
        try:
            total = one.astype(np.int64) + other
        except ValueError:
            raise node.refuse(f"its terms must broadcast, not be {by(one)} and {by(other)}"
                              ) from None
        if (abs(total) >= 2**31).any():
            raise node.refuse("biases must have 32 bits in units of the sums, not "
                              f"{abs(total).max()}")
        return total.astype(np.int32)

    def _other(self, node: Node) -> _Quantised:
        """The second term of a sum: a constant, or computed, with a scale of its own."""
        name = node.inputs[1]
        if name in self.known:
            return self.known[name]
        real = self.real.get(name)
        if real is None or len(real.nodes) > 1:
            by_whom = f"what {real.nodes[-1].name} makes" if real else repr(name)
            raise node.refuse(f"its second term is {by_whom} in floating point: there must be a "
                              "QuantizeLinear and a DequantizeLinear between them")
        return real.source

    def _table(self, node: Node) -> None:
        """An operator by table, as its definition: between two pairs."""
        if len(node.inputs) < 5:
            raise node.refuse(f"it must have 5 inputs, not {len(node.inputs)}")
        read, made, (name, op) = node.inputs[0], node.outputs[0], (node.name, TABLES[node.op])
        real, table = f"{made} (real)", f"{made} (table)"
        self.nodes += [
            Node(name, "DequantizeLinear", "", (read, *node.inputs[1:3]), (real,), {}, node.op),
            Node(name, op, "", (real,), (table,), {
                key: value for key, value in node.attributes.items() if key == "axis"}, node.op),
            Node(name, "QuantizeLinear", "", (table, *node.inputs[3:5]), (made,), {}, node.op)]
