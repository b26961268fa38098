"""Networks between pairs of quantisation (QDQ), as producers write them, against the standard.

The standard's evaluator computes them in floating point. Where all scales are powers of two that is
exact, and the accelerator's results must be equal but for halves: which are rounded up in hardware,
to even by the standard. So the evaluator is given a QuantizeLinear that rounds halves up, and must
then say the same to the bit.
"""

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from cyclebound.golden.systolic.accelerator_plan import Device
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.families.systolic import onnx_nodes, onnx_qdq
from cyclebound.sim.families.systolic.onnx_chain import Chain
from cyclebound.sim.families.systolic.run import run_model

onnx = pytest.importorskip("onnx")
reference = pytest.importorskip("onnx.reference")
pytestmark = pytest.mark.unit
helper = onnx.helper
KINDS = {"int8": onnx.TensorProto.INT8, "uint8": onnx.TensorProto.UINT8,
         "float32": onnx.TensorProto.FLOAT}


class QuantizeLinear(reference.op_run.OpRun):
    """The standard's, but for halves: the accelerator rounds them up."""

    op_domain = ""

    def _run(self, x, scale, zero=None, axis=1, output_dtype=None, **_):
        if zero is None:
            zero = np.zeros((), dtype=np.int8 if output_dtype == KINDS["int8"] else np.uint8)
        limits = np.iinfo(zero.dtype)
        return (np.clip(np.floor(x.astype(np.float64) / scale + 0.5) + zero, limits.min,
                        limits.max).astype(zero.dtype),)


def expected(model, x, halves_up=True):
    ops = [QuantizeLinear] if halves_up else []
    return reference.ReferenceEvaluator(model, new_ops=ops).run(None, {"x": x})[0]


class Drawn:
    """A network of pairs with one to four operators in floating point, drawn at random."""

    def __init__(self, seed, *, exact=True):
        self.rng, self.exact = np.random.default_rng(seed), exact
        self.nodes, self.constants, self.ops = [], {}, []
        self.several = self.products = False
        self.pixels = self.rng.random() < 0.6
        self.shape = ([1, self.size(), *self.rng.integers(4, 9, 2).tolist()] if self.pixels else
                      [*([self.size()] if self.rng.random() < 0.4 else []), self.size(),
                       self.size(6)])
        self.first = "float32" if self.rng.random() < 0.5 else self.kind()
        shape = list(self.shape)
        if self.first == "float32":
            self.tensor = "x"
            if self.pixels and self.rng.random() < 0.3:  # pixels with their channels beside them
                shape = [shape[0], *shape[2:], shape[1]]
                self.node("Transpose", perm=[0, 3, 1, 2])
            self.quantised()
            self.dequantised()
        else:
            self.tensor, self.made = "x", self.first
            self.scale, self.zero = self.step(), self.point(self.first)
            self.dequantised()
        self.given = shape
        for _ in range(int(self.rng.integers(1, 5))):
            self.operator()
        self.end()
        value = helper.make_tensor_value_info
        self.model = helper.make_model(helper.make_graph(
            self.nodes, "drawn", [value("x", KINDS[self.first], shape)],
            [value(self.tensor, KINDS[self.last], None)],
            [onnx.numpy_helper.from_array(array, name) for name, array in
             self.constants.items()]), ir_version=10, opset_imports=[helper.make_opsetid("", 21)])
        low, high = (-3, 3) if self.first == "float32" else (
            np.iinfo(self.first).min, np.iinfo(self.first).max)
        self.x = self.rng.uniform(low, high, shape)
        # no half of any step: the host rounds to even
        self.x = ((np.round(self.x * 64) / 64 + 1 / 1000).astype(np.float32)
                  if self.first == "float32" else np.rint(self.x).astype(self.first))

    # -- parts

    def size(self, most=4):
        return int(self.rng.integers(1, most + 1))

    def kind(self):
        return str(self.rng.choice(["int8", "uint8"]))

    def step(self, *shape):
        steps = 2.0**self.rng.integers(-6, -2, shape)
        return (steps if self.exact else steps * self.rng.uniform(0.6, 1.7, shape)
                ).astype(np.float32)

    def point(self, kind):
        return np.array(self.rng.integers(*((-60, 60) if kind == "int8" else (0, 200))), dtype=kind)

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value)
        return name

    def node(self, op, *inputs, read=None, **attributes):
        made = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, [read or self.tensor, *inputs], [made],
                                           name=f"{op.lower()}_{len(self.nodes)}", **attributes))
        if read is None:
            self.tensor = made
        return made

    def quantised(self, alike=False):
        if not alike:
            self.made, self.scale = self.kind(), self.step()
            self.zero = self.point(self.made)
        more, zero = {}, [self.constant(self.zero)]
        if not self.zero and self.rng.random() < 0.5:  # its type by the attribute
            more, zero = {"output_dtype": KINDS[self.made]}, []
        self.node("QuantizeLinear", self.constant(self.scale), *zero, **more)

    def dequantised(self):
        self.node("DequantizeLinear", self.constant(self.scale), self.constant(self.zero))

    def weights(self, *shape, axis):
        """A constant that is dequantised, with the scale of each filter along its axis."""
        kind = self.kind()
        own = self.rng.random() < 0.5
        count = (shape[axis],) if own else ()
        limits = np.iinfo(kind)
        zeros = self.rng.integers(-3, 4, count) + (0 if kind == "int8" else 128)
        if self.rng.random() < 0.3:
            zeros = self.rng.integers(limits.min, limits.max + 1, count)
        scale = self.step(*count)
        name = self.node(
            "DequantizeLinear", self.constant(scale), self.constant(zeros.astype(kind)),
            read=self.constant(self.rng.integers(limits.min, limits.max + 1, shape).astype(kind)),
            **({"axis": axis} if own else {}))
        return name, scale * self.scale

    def bias(self, units, *shape):
        """A constant in units of the sums, dequantised or not."""
        whole = self.rng.integers(-900, 900, shape).astype(np.int32)
        if self.rng.random() < 0.5:
            return self.constant((whole * units).astype(np.float32))
        own = units.ndim == 1 and units.shape == shape
        if not own and units.size > 1:
            return self.constant((whole * units).astype(np.float32))
        return self.node("DequantizeLinear", self.constant(units.astype(np.float32)),
                         read=self.constant(whole), **({"axis": 0} if own else {}))

    # -- operators

    def operator(self):
        choices = [self.limited, self.shaped]
        if self.pixels:
            choices += [self.conv, self.conv, self.conv, self.max_pool, self.average, self.added,
                        self.projection]
        else:
            choices += [self.product, self.product, self.product, self.added]
        self.rng.choice([*choices, self.shortcut])()
        self.dequantised()

    def shortcut(self, inner=True):
        """The sum of what it reads and of what one to three operators make of it."""
        if self.several:
            return self.shaped()
        read, shape = self.tensor, list(self.shape)
        again = self.nodes[-1].input
        for _ in range(self.size(3)):
            choices = [self.limited, self.added, *(
                [self.conv] * 4 if self.pixels else [self.product] * 4)]
            choice = self.rng.choice([*choices, *[self.shortcut] * inner])
            choice(**({"inner": False} if choice == self.shortcut else {"same": True}
                      if choice in (self.conv, self.product) else {}))
            self.dequantised()
        assert self.shape == shape
        if self.rng.random() < 0.5:  # a DequantizeLinear of its own, as some write
            read = self.node("DequantizeLinear", *again[1:], read=again[0])
        if self.rng.random() < 0.5:
            self.node("Add", read)
        else:
            self.tensor = self.node("Add", self.tensor, read=read)
        self.maybe_limited()
        self.quantised()
        return self.ops.append("shortcut")

    def projection(self):
        """The sum of two convolutions with one stride, of one of which more may be made before."""
        if self.several:
            return self.shaped()
        read, scale, shape = self.tensor, self.scale, list(self.shape)
        strides, filters = self.rng.integers(1, 4, 2).tolist(), self.size(4)

        def one():
            windows = [(1, 0, 0), (2, 1, 0), (2, 0, 1), (3, 1, 1)]  # taps, before and after
            rows, columns = (windows[self.size(4) - 1] for _ in range(2))
            weights, units = self.weights(filters, shape[1], rows[0], columns[0], axis=0)
            bias = [self.bias(units, filters)] if self.rng.random() < 0.6 else []
            self.node("Conv", weights, *bias, strides=strides,
                      pads=[rows[1], columns[1], rows[2], columns[2]])
            self.shape = [1, filters, *((extent - 1) // stride + 1 for extent, stride in zip(
                shape[2:], strides, strict=True))]
            self.maybe_limited()
            self.quantised()
            self.dequantised()

        one()
        if self.rng.random() < 0.4:
            self.conv(same=True)
            self.dequantised()
        first, self.tensor, self.scale = self.tensor, read, scale
        one()
        self.node("Add", first)
        self.maybe_limited()
        self.quantised()
        return self.ops.append("projection")

    def conv(self, same=False):
        channels, height, width = self.shape[1:]
        groups = 2 if channels % 2 == 0 and self.rng.random() < 0.4 else 1
        filters = channels if same else groups * self.size(3)
        if same and self.rng.random() < 0.3:
            groups = channels
        kernel = [self.size(min(3, extent)) for extent in (height, width)]
        if same:
            kernel = [1 if taps < 3 else 3 for taps in kernel]
        weights, units = self.weights(filters, channels // groups, *kernel, axis=0)
        bias = [self.bias(units, filters)] if self.rng.random() < 0.6 else []
        pads = self.rng.integers(0, 2, 4).tolist()
        strides = self.rng.integers(1, 3, 2).tolist()
        if same:
            pads, strides = [taps // 2 for taps in kernel] * 2, [1, 1]
        self.node("Conv", weights, *bias, group=groups, pads=pads, strides=strides)
        if not bias and self.rng.random() < 0.4:
            self.node("Add", self.bias(np.reshape(units, (-1, 1, 1)) if units.size > 1 else units,
                                       filters, 1, 1))
        self.shape[1:] = [filters, *((extent + pads[axis] + pads[axis + 2] - taps) // stride + 1
                          for axis, (extent, taps, stride) in enumerate(zip(
                              (height, width), kernel, strides, strict=True)))]
        self.maybe_limited()
        self.quantised()
        self.ops.append("Conv")

    def product(self, same=False):
        elements, filters = self.shape[-1], self.size(5)
        filters = elements if same else filters
        gemm = len(self.shape) == 2 and self.rng.random() < 0.5
        turned = int(gemm and self.rng.random() < 0.5)
        shape = (filters, elements) if turned else (elements, filters)
        if len(self.shape) == 3 and not gemm and (
                self.several if self.products else not same and self.rng.random() < 0.4
                and not self.ops):
            self.several = True  # each matrix has its own
            shape = self.shape[0], *shape
        self.products = True
        weights, units = self.weights(*shape, axis=0 if turned else len(shape) - 1)
        if gemm:
            alpha = float(self.rng.choice([1.0, 0.5, 2.0]))
            bias = [self.bias(units * alpha, filters)] if self.rng.random() < 0.7 else []
            self.node("Gemm", weights, *bias, transB=turned, alpha=alpha)
        else:
            self.node("MatMul", weights)
            if len(shape) == 2 and self.rng.random() < 0.5:
                self.node("Add", self.bias(units, filters))
        self.ops += ["matrices"] if len(shape) == 3 and shape[0] > 1 else []
        self.shape[-1] = filters
        self.maybe_limited()
        self.quantised()
        self.ops.append("Gemm" if gemm else "MatMul")

    def maybe_limited(self):
        if self.rng.random() < 0.4:
            self.limit()

    def limit(self):
        if self.rng.random() < 0.5:
            self.node("Relu")
        else:
            # at no half of any step: limits round to even, as the standard's do
            low, high = (np.sort(np.round(self.rng.uniform(-2, 4, 2) * 8) / 8) + 1 / 3000
                         ).astype(np.float32)
            ends = [self.constant(low), self.constant(high)]
            self.node("Clip", *ends[:self.size(2)])

    def limited(self):
        self.limit()
        self.quantised(alike=self.rng.random() < 0.5)
        self.ops.append("Relu")

    def max_pool(self):
        window = self.size(min(3, *self.shape[2:]))
        self.node("MaxPool", kernel_shape=[window] * 2, strides=[window] * 2)
        self.shape[2:] = [extent // window for extent in self.shape[2:]]
        self.quantised(alike=self.rng.random() < 0.5)
        self.ops.append("MaxPool")

    def average(self):
        if self.rng.random() < 0.3:
            if self.exact:  # else a division that is not exact
                return self.shaped()
            self.node("GlobalAveragePool")
            self.shape[2:] = [1, 1]
        else:
            window = [int(self.rng.choice([taps for taps in (1, 2, 4) if taps <= extent]))
                      for extent in self.shape[2:]]
            strides = self.rng.integers(1, 3, 2).tolist()
            self.node("AveragePool", kernel_shape=window, strides=strides)
            self.shape[2:] = [(extent - taps) // stride + 1 for extent, taps, stride in zip(
                self.shape[2:], window, strides, strict=True)]
        self.quantised()
        return self.ops.append("AveragePool")

    def added(self):
        """A constant of each channel or column; where exact, of whole steps of what is read."""
        scale = self.scale * 2.0**self.rng.integers(-3, 2) if self.exact else self.step()
        shape = (self.shape[1], 1, 1) if self.pixels else self.shape[-1:]
        kind = self.kind()
        limits = np.iinfo(kind)
        values = self.rng.integers(limits.min, limits.max + 1, shape).astype(kind)
        other = self.node("DequantizeLinear", self.constant(np.float32(scale)),
                          self.constant(self.point(kind)), read=self.constant(values))
        if self.rng.random() < 0.5:
            self.node("Add", other)
        else:
            self.tensor = self.node("Add", self.tensor, read=other)
        self.maybe_limited()
        self.quantised()
        self.ops.append("Add")

    def shaped(self):
        if self.pixels:
            if self.rng.random() < 0.5:
                self.node("Flatten")
            else:
                self.node("Reshape", self.constant(np.array([1, -1])))
            self.shape, self.pixels = [1, int(np.prod(self.shape))], False
        else:
            self.node("Reshape", self.constant(np.array(self.shape)))
        self.quantised(alike=True)
        self.ops.append("Flatten")

    def end(self):
        """In floating point, after a table, or in whole numbers."""
        self.last = "float32"
        if self.exact and self.rng.random() < 0.6:
            self.nodes.pop()
            self.tensor, self.last = self.nodes[-1].output[0], self.made
        elif self.rng.random() < 0.3:
            self.node(str(self.rng.choice(["Softmax", "Sigmoid"])),
                      **({"axis": -1} if self.nodes[-1].op_type == "Softmax" else {}))


def compared(seed, path):
    """The operators of a network, and how its result differs, or None; () where it is refused."""
    drawn = Drawn(seed)
    onnx.save(drawn.model, path)
    try:
        done = run_model(path, drawn.x, device=Device(int(drawn.rng.choice([2, 4]))))
    except UserError as error:
        return (), str(error)
    assert done.held
    right = expected(drawn.model, drawn.x)
    if right.shape == done.result.shape and right.dtype == done.result.dtype and np.allclose(
            right, done.result, rtol=1e-6, atol=0):  # a softmax adds in an order of its own
        return drawn.ops, None
    return drawn.ops, f"seed {seed}, {drawn.ops}: {done.result.tolist()}, not {right.tolist()}"


REFUSALS = re.compile(
    "output .* must be what the last of some layers makes"  # nothing but shapes
    "|its other term must be the same in all rows or pixels"
    "|its limits, .*, would be those of .*, too, which is read later"
    "|its input must lie in memory as .* channels, beside which others are"
    "|it must have as many rows and columns as its input, .*, since .*, which is read later")


def search(seeds, path):
    """All differences; each operator is among those that were compared."""
    taken, differ = Counter(), []
    for seed in seeds:
        ops, difference = compared(seed, path)
        taken.update(ops)
        if difference and (ops or not REFUSALS.search(difference)):
            differ.append(difference)
    assert min(taken[op] for op in (
        "Conv", "MatMul", "Gemm", "Relu", "MaxPool", "AveragePool", "Add", "Flatten", "matrices",
        "shortcut", "projection")) >= len(seeds) // 100, taken
    return differ


@pytest.mark.parametrize(("kind", "zero", "low"), [
    (np.int8, -128, None), (np.uint8, 0, None), (np.int8, 0, "0 and 127"),
    (np.int8, -127, "-127 and 127"), (np.uint8, 128, "128 and 255")])
def test_a_relu_on_one_of_two_branches_that_halve(tmp_path, kind, zero, low):
    """It limits both, unless its zero point is the least value."""
    rng, nodes, constants = np.random.default_rng(1), [], {}

    def constant(value, dtype):
        constants[f"c{len(constants)}"] = np.asarray(value, dtype)
        return f"c{len(constants) - 1}"

    def quantised(tensor, point):
        scale, point = constant(0.0625, np.float32), constant(point, kind)
        nodes.append(helper.make_node("QuantizeLinear", [tensor, scale, point], [f"{tensor}_q"]))
        nodes.append(helper.make_node("DequantizeLinear", [f"{tensor}_q", scale, point],
                                      [f"{tensor}_d"]))
        return f"{tensor}_d"

    def conv(read, name, kernel, stride):
        weights = constant(rng.integers(-50, 50, (2, 2, kernel, kernel)), np.int8)
        nodes.append(helper.make_node("DequantizeLinear", [
            weights, constant(1 / 128, np.float32)], [f"{name}_w"]))
        nodes.append(helper.make_node("Conv", [read, f"{name}_w"], [name], name=name,
                                      strides=[stride] * 2, pads=[kernel // 2] * 4))
        return name

    middle = 0 if kind is np.int8 else 128
    x = quantised("x", middle)
    nodes.append(helper.make_node("Relu", [conv(x, "a", 3, 2)], ["relu"], name="relu"))
    b = quantised(conv(quantised("relu", zero), "b", 3, 1), middle)
    nodes.append(helper.make_node("Add", [b, quantised(conv(x, "c", 1, 2), middle)], ["sum"]))
    made = quantised("sum", middle)
    path = tmp_path / "halves.onnx"
    onnx.save(helper.make_model(helper.make_graph(
        nodes, "halves", [helper.make_tensor_value_info("x", 1, [1, 2, 6, 6])],
        [helper.make_tensor_value_info(made, 1, None)],
        [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()]),
        opset_imports=[helper.make_opsetid("", 21)]), path)
    values = rng.integers(-100, 100, (1, 2, 6, 6)).astype(np.float32) / 16
    if low:
        with pytest.raises(UserError, match=f"its limits, {low}, would be those of 'c_q', too"):
            run_model(path, values, device=Device(2))
    else:
        done = run_model(path, values, device=Device(2))
        assert np.array_equal(done.result, expected(onnx.load(path), values))


def test_pairs_are_the_standards_but_for_halves(tmp_path):
    assert search(range(300), tmp_path / "drawn.onnx") == []


@pytest.mark.thorough
def test_many_more_are(tmp_path):
    assert search(range(1000, 13_000), tmp_path / "drawn.onnx") == []


def test_the_search_finds_a_relu_at_0_in_place_of_the_zero_point(tmp_path, monkeypatch):
    right = onnx_qdq._Folding._limits

    def wrong(self, node, of):
        return right(self, node, of) if node.op == "Clip" else {"low": 0, "high": 127}

    monkeypatch.setattr(onnx_qdq._Folding, "_limits", wrong)
    assert search(range(60), tmp_path / "drawn.onnx")


def test_the_search_finds_pairs_of_two_scales_taken_for_one(tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_qdq._Folding, "_alike", lambda self, one, other: True)
    assert search(range(60), tmp_path / "drawn.onnx")


def test_the_search_finds_a_shortcut_without_its_zero_point(tmp_path, monkeypatch):
    right = Chain._carrying

    def wrong(self, *given):
        return right(self, *given[:-2], 0, given[-1])

    monkeypatch.setattr(Chain, "_carrying", wrong)
    assert search(range(60), tmp_path / "drawn.onnx")


def test_the_search_finds_two_convolutions_of_one_zero_point(tmp_path, monkeypatch):
    right = onnx_nodes._beside

    def wrong(first, others):
        return replace(right(first, others), bias=np.concatenate(
            [one.bias for one in (first, *others)]))

    monkeypatch.setattr(onnx_nodes, "_beside", wrong)
    assert search(range(100), tmp_path / "drawn.onnx")


class Pairs:
    """A convolution between pairs, as one of which something is changed."""

    def __init__(self, **changes):
        self.constants = {
            "xs": np.float32(0.5), "xz": np.int8(3), "w": np.ones((2, 3, 2, 2), dtype=np.int8),
            "ws": np.float32([0.5, 0.25]), "wz": np.zeros(2, dtype=np.int8),
            "b": np.array([5, -7], dtype=np.int32), "bs": np.float32([0.25, 0.125]),
            "ys": np.float32(2), "yz": np.int8(0)}
        self.nodes = {
            "in": ("DequantizeLinear", ["x", "xs", "xz"], ["xf"], {}),
            "weights": ("DequantizeLinear", ["w", "ws", "wz"], ["wf"], {"axis": 0}),
            "bias": ("DequantizeLinear", ["b", "bs"], ["bf"], {"axis": 0}),
            "conv": ("Conv", ["xf", "wf", "bf"], ["yf"], {}),
            "out": ("QuantizeLinear", ["yf", "ys", "yz"], ["y"], {})}
        self.kind, self.last = "int8", ("y", "int8")
        for name, value in changes.items():
            if name in self.constants:
                self.constants[name] = value
            elif name in ("kind", "last"):
                setattr(self, name, value)
            else:
                self.nodes[name] = value

    def save(self, path):
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            [helper.make_node(op, inputs, outputs, name=name, **attributes) for name, (
                op, inputs, outputs, attributes) in self.nodes.items()], "pairs",
            [value("x", KINDS[self.kind], [1, 3, 4, 4])],
            [value(self.last[0], KINDS[self.last[1]], None)],
            [onnx.numpy_helper.from_array(np.asarray(array), name)
             for name, array in self.constants.items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), path)
        return path


REFUSED = {
    "weights that are not quantised": ({"conv": ("Conv", ["xf", "real"], ["yf"], {})},
        "node conv (Conv): w must be a constant of int8 or uint8 that a DequantizeLinear reads;"),
    "scales of channels in place of filters": ({"ws": np.float32([1, 2, 3]),
        "wz": np.zeros(3, dtype=np.int8),
        "weights": ("DequantizeLinear", ["w", "ws", "wz"], ["wf"], {"axis": 1})},
        "node conv (Conv): scales of w must be one for each filter, along axis 0, not along axis "),
    "scales of blocks": ({"weights": ("DequantizeLinear", ["w", "ws"], ["wf"], {
        "axis": 1, "block_size": 2})},
        "node weights (DequantizeLinear): block_size must be 0, as hardware has a scale for a "),
    "a result that is not quantised": ({"last": ("yf", "float32")},
        "node conv (Conv): its result must be quantised: a QuantizeLinear must read it"),
    "two operators in one pair": ({"conv": ("Conv", ["xf", "wf", "bf"], ["zf"], {}),
        "again": ("GlobalAveragePool", ["zf"], ["yf"], {}),
        "out": ("QuantizeLinear", ["yf", "ys", "yz"], ["y"], {})},
        "node again (GlobalAveragePool): it reads what conv makes in floating point: there must "),
    "another type": ({"out": ("QuantizeLinear", ["yf", "ys"], ["y"], {"output_dtype": 5}),
                      "last": ("y", "int8")},
        "node out (QuantizeLinear): output_dtype must be of int8 or uint8, 3 or 2, not 5"),
    "a bias beyond 32 bits": ({"bs": np.float32([1e9, 1e9])},
        "node conv (Conv): bias must have 32 bits in units of the sums, not 5.6e+10"),
    "a bias between two units of the sums": ({"bs": np.float32([0.33, 0.33])},
        "node conv (Conv): bias, as the nearest whole number in units of the sums, must be at mo"),
    "a bias along no axis of it": ({"bias": ("DequantizeLinear", ["b", "bs"], ["bf"], {})},
        "node conv (Conv): axis of bias must be one of 1, not 1"),
    "a zero point of another shape": ({"wz": np.int8([0, 0, 0])},
        "node weights (DequantizeLinear): its zero point must have the shape of its scale, 2, n"),
    "a Clip of several limits": ({"conv": ("Clip", ["xf", "ws"], ["yf"], {})},
        "node conv (Clip): min must be one number, not 2"),
    "sums beyond 32 bits": ({"b": np.array([2**31 - 1, 0], dtype=np.int32)},
        "node conv (Conv): its sums must have 32 bits for any input, and may reach 2147485135"),
    "a scale below 0": ({"ws": np.float32([-1, 1])},
        "node conv (Conv): the scales of its input and weights must be above 0, not 0.5 and 2"),
    "no scale": ({"in": ("DequantizeLinear", ["x"], ["xf"], {})},
        "node in (DequantizeLinear): its scale must be given"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_supported_is_refused_with_its_reason(name, tmp_path):
    changes, message = REFUSED[name]
    pairs = Pairs(**{key: value for key, value in changes.items() if key != "out"})
    pairs.constants["real"] = np.ones((2, 3, 2, 2), dtype=np.float32)
    if "out" in changes:  # after all others
        del pairs.nodes["out"]
        pairs.nodes["out"] = changes["out"]
    with pytest.raises(UserError, match=f"^{re.escape(message)}"):
        run_model(pairs.save(tmp_path / "wrong.onnx"), engine="plan")


def test_a_bias_of_another_scale_is_the_nearest_in_units_of_the_sums(tmp_path):
    """Here 0.03 of a unit off and 0.02."""
    x = np.random.default_rng(1).integers(-128, 128, (1, 3, 4, 4), dtype=np.int8)
    results = []
    for bias, scale in (([503, -349], [0.0025, 0.0025]), ([5, -7], [0.25, 0.125])):
        path = Pairs(b=np.array(bias, dtype=np.int32), bs=np.float32(scale)).save(
            tmp_path / "net.onnx")
        results.append(run_model(path, x, device=Device(2)).result)
    assert np.array_equal(*results)
    assert len(np.unique(results[0])) > 2
