"""Networks in ONNX against two other evaluators of the standard: onnx.reference and onnxruntime.

The importer's own model and its hardware read a network from the same import, so that they agree on
what it has misread. Here a node's constants, shapes, axes and attributes are drawn at random, those
that only look right among them, from so few sizes that rows, columns and elements are often as
many. What the importer takes, it computes as the others do.
"""

import warnings
from collections import Counter

import numpy as np
import pytest

from cyclebound.golden.systolic.accelerator_plan import Device
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.families.systolic.onnx import load_onnx
from cyclebound.sim.families.systolic.onnx_chain import Chain
from cyclebound.sim.families.systolic.run import run_model

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
reference = pytest.importorskip("onnx.reference")
node_cases = pytest.importorskip("onnx.backend.test.case.node")
pytestmark = pytest.mark.unit

KINDS = {np.dtype(name): getattr(onnx.TensorProto, name.upper().replace("FLOAT32", "FLOAT"))
         for name in ("int8", "uint8", "float32")}
STANDARD = "", 21
WEIGHT = 64
"""Of a weight, at most: where a processor has AVX2 and no VNNI, ONNX Runtime's sum of two products
of uint8 and int8 saturates at 16 bits, which 2 * 255 * 64 does not reach ("U8S8" in its pages on
quantization; seed 112 with weights up to 100 showed it)."""
VENDOR = "com.microsoft", 1


class QGemm(reference.op_run.OpRun):
    """By its definition; the standard's evaluator has none."""

    op_domain = VENDOR[0]

    def _run(self, a, a_scale, a_zero, b, b_scale, b_zero, c=None, y_scale=None, y_zero=None,
             alpha=1.0, transA=0, transB=0):
        a, b = a.astype(np.int64) - a_zero, (b.T if transB else b).astype(np.int64)
        zero = b_zero.astype(np.int64)
        scale = np.asarray(b_scale, dtype=np.float64)
        sums = (a.T if transA else a) @ (b - zero) + (0 if c is None else c)
        if y_zero is None:
            raise ValueError("a result in floating point")
        limits = np.iinfo(y_zero.dtype)
        return (np.clip(np.rint(sums * (alpha * a_scale * scale / y_scale)) + y_zero, limits.min,
                        limits.max).astype(y_zero.dtype),)


class Drawn:
    """A network of one node or two, drawn at random."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.constants = {}
        self.kind = self.made = np.dtype(np.int8)
        draw = self.rng.choice([self.gemm, self.matmul, self.conv, self.pool, self.shaped,
                                self.quantise, self.added, self.averaged])
        self.shape, *nodes = draw()
        self.op = nodes[0].op_type
        given = onnx.helper.make_tensor_value_info
        graph = onnx.helper.make_graph(
            nodes, "drawn", [given("x", KINDS[self.kind], self.shape)],
            [given("y", KINDS[self.made], None)],
            [onnx.numpy_helper.from_array(value, name) for name, value in self.constants.items()])
        self.model = onnx.helper.make_model(graph, ir_version=10, opset_imports=[
            onnx.helper.make_opsetid(*STANDARD), onnx.helper.make_opsetid(*VENDOR)])
        low, high = (-2, 2) if self.kind == np.float32 else (
            np.iinfo(self.kind).min, np.iinfo(self.kind).max)
        self.x = self.rng.uniform(low, high, self.shape).round(3).astype(self.kind)

    # -- parts of a node

    def node(self, op, inputs, domain="", read="x", made="y", **attributes):
        return onnx.helper.make_node(op, [read, *inputs], [made], domain=domain, **attributes)

    def constant(self, value):
        if value is None:
            return ""
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name

    def size(self):
        return int(self.rng.choice([1, 2, 2, 3]))

    def form(self, *whole):
        """A shape that may broadcast to ``whole``: right, turned, with an axis of 1, ..."""
        axes = [int(self.rng.choice([size, size, 1])) for size in whole]
        kinds = [(), (), (1,), whole[-1:], whole[-1:], whole[:1], tuple(axes), tuple(axes[::-1]),
                 (*whole[:1], *[1] * (len(whole) - 1)), (1, *whole)]
        return kinds[self.rng.integers(len(kinds))]

    def floats(self, *whole, form=None):
        shape = self.form(*whole) if form is None else form
        return (2.0**self.rng.integers(-4, 0, shape)).astype(np.float32).reshape(shape)

    def wholes(self, kind, *whole, form=None, most=6):
        shape = self.form(*whole) if form is None else form
        low = 0 if np.dtype(kind).kind == "u" else -most
        return np.asarray(self.rng.integers(low, most + 1, shape)).astype(kind).reshape(shape)

    def of_one(self, whole):
        """Mostly a number; sometimes a vector."""
        return [(), (), (), (1,), (whole,)][self.rng.integers(5)]

    def quantised(self, filters, rows, elements):
        """Scales and zero points of x, of weights, and of y; weights' are ``filters`` long."""
        self.kind, self.made = (np.dtype(kind) for kind in
                                self.rng.choice(["int8", "uint8"], 2))
        form = self.form(elements, filters)
        return (self.constant(self.floats(rows, elements, form=self.of_one(rows))),
                self.constant(self.wholes(self.kind, rows, elements, form=self.of_one(rows))),
                self.constant(self.floats(elements, filters, form=form)),
                self.constant(self.wholes(np.int8, form=form if self.rng.random() < 0.5 else ())),
                self.constant(np.float32(self.rng.choice([1, 4, 16]))),
                self.constant(None if self.rng.random() < 0.05 else
                              self.wholes(self.made, form=())))

    # -- operators

    def gemm(self):
        rows, elements, filters = self.size(), self.size(), self.size()
        xs, xz, ws, wz, ys, yz = self.quantised(filters, rows, elements)
        turned = int(self.rng.random() < 0.4)
        weights = self.wholes(np.int8, form=(filters, elements) if turned else
                              (elements, filters), most=WEIGHT)
        bias = None if self.rng.random() < 0.1 else self.wholes(np.int32, rows, filters, most=900)
        return (rows, elements), self.node(
            "QGemm", [xs, xz, self.constant(weights), ws, wz, self.constant(bias), ys, yz],
            VENDOR[0], transB=turned, transA=int(self.rng.random() < 0.1),
            alpha=float(self.rng.choice([1.0, 0.5, 2.0])))

    def matmul(self):
        rows, elements, filters = self.size(), self.size(), self.size()
        xs, xz, ws, wz, ys, yz = self.quantised(filters, rows, elements)
        weights = self.wholes(np.int8, form=(elements, filters), most=WEIGHT)
        return (rows, elements), self.node(
            "QLinearMatMul", [xs, xz, self.constant(weights), ws, wz, ys, yz])

    def conv(self):
        groups = int(self.rng.choice([1, 1, 2]))
        channels, filters = groups * self.size(), groups * self.size()
        kernel = self.rng.integers(1, 4, 2).tolist()
        height, width = self.rng.integers(3, 7, 2).tolist()
        xs, xz, ws, wz, ys, yz = self.quantised(filters, channels, kernel[0])
        weights = self.wholes(np.int8, form=(filters, channels // groups, *kernel), most=WEIGHT)
        bias = None if self.rng.random() < 0.3 else self.wholes(np.int32, height, filters, most=900)
        more = {}
        if self.rng.random() < 0.6:
            more["pads"] = self.rng.integers(0, 3, 4).tolist()
        else:
            more["auto_pad"] = str(self.rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID"]))
        return (1, channels, height, width), self.node(
            "QLinearConv", [xs, xz, self.constant(weights), ws, wz, ys, yz, self.constant(bias)],
            group=groups, strides=self.rng.integers(1, 3, 2).tolist(),
            dilations=[1, 1] if "auto_pad" in more else self.rng.integers(1, 3, 2).tolist(), **more)

    def pool(self):
        self.kind = self.made = np.dtype(self.rng.choice(["int8", "uint8"]))
        window = self.rng.integers(1, 4, 2).tolist()
        return (1, self.size(), *self.rng.integers(2, 8, 2).tolist()), self.node(
            "MaxPool", [], kernel_shape=window, ceil_mode=int(self.rng.random() < 0.2),
            strides=window if self.rng.random() < 0.8 else window[::-1],
            auto_pad=str(self.rng.choice(["NOTSET", "VALID", "SAME_UPPER"])))

    def shaped(self):
        """What only changes the shape makes no layer: limits after it do."""
        shape = [self.size() for _ in range(int(self.rng.choice([2, 4])))]
        if self.rng.random() < 0.7:
            shape[0] = 1
        elements = int(np.prod(shape))
        wanted = [[1, elements], [0, -1], [-1, elements], [shape[0], -1], [elements, 1], shape,
                  [1, -1, 1]][self.rng.integers(7)]
        changed = (self.node("Flatten", [], made="t", axis=int(self.rng.integers(-3, 4)))
                   if self.rng.random() < 0.5 else self.node(
                       "Reshape", [self.constant(np.array(wanted, dtype=np.int64))], made="t"))
        return shape, changed, self.node("Relu", [], read="t")

    def quantise(self):
        """It makes no layer either: pooling of 1 x 1 after it does."""
        self.kind = np.dtype(np.float32)
        shape = 1, self.size(), self.size(), self.size()
        form = self.form(*shape[:2])
        zero = None
        if self.rng.random() < 0.8:
            self.made = np.dtype(self.rng.choice(["int8", "uint8"]))
            zero = self.wholes(self.made, form=form)
        else:
            self.made = np.dtype(np.uint8)
        return shape, self.node(
            "QuantizeLinear", [self.constant(self.floats(form=form)), self.constant(zero)],
            made="t", axis=int(self.rng.integers(0, 2))), self.node(
                "MaxPool", [], read="t", kernel_shape=[1, 1])

    def one(self, kind):
        """A scale and a zero point without axes, as operators of the vendor have them."""
        return self.constant(self.floats(form=())), self.constant(self.wholes(kind, form=()))

    def added(self):
        self.kind = self.made = np.dtype(self.rng.choice(["int8", "uint8"]))
        shape = tuple(self.size() for _ in range(int(self.rng.choice([2, 3, 4]))))
        shape = (1, *shape[1:]) if len(shape) == 4 else shape
        other = self.constant(self.wholes(self.kind, *shape, most=100)), *self.one(self.kind)
        own = "x", *self.one(self.kind)
        first, *more = [*own, *other] if self.rng.random() < 0.5 else [*other, *own]
        return shape, self.node("QLinearAdd", [*more, *self.one(self.made)], VENDOR[0], read=first)

    def averaged(self):
        self.kind = self.made = np.dtype(self.rng.choice(["int8", "uint8"]))
        shape = (1, self.size(), *self.rng.integers(2, 8, 2).tolist())
        around = [*self.one(self.kind), *self.one(self.made)]
        if self.rng.random() < 0.3:
            return shape, self.node("QLinearGlobalAveragePool", around, VENDOR[0],
                                    channels_last=int(self.rng.random() < 0.2))
        more = {"pads": self.rng.integers(0, 2, 4).tolist()} if self.rng.random() < 0.5 else {
            "auto_pad": str(self.rng.choice(["SAME_UPPER", "VALID"]))}
        return shape, self.node(
            "QLinearAveragePool", around, VENDOR[0], ceil_mode=int(self.rng.random() < 0.2),
            kernel_shape=self.rng.integers(1, 4, 2).tolist(),
            strides=self.rng.integers(1, 4, 2).tolist(),
            count_include_pad=int(self.rng.random() < 0.5), **more)

    # -- what others say

    def expected(self):
        """Each evaluator's result; None where it refuses the node."""
        quiet = runtime.SessionOptions()
        quiet.log_severity_level = 4
        quiet.intra_op_num_threads = 1
        makers = {
            "onnxruntime": lambda: runtime.InferenceSession(
                self.model.SerializeToString(), quiet, providers=["CPUExecutionProvider"]),
            "onnx.reference": lambda: reference.ReferenceEvaluator(self.model, new_ops=[QGemm])}
        said = {}
        for name, make in makers.items():
            try:
                said[name] = make().run(None, {"x": self.x})[0]
            except Exception:  # of any kind: what is wrong is refused in many ways
                said[name] = None
        return said


def compared(seed, path):
    """A node's operator, whether it was taken, and how that differs from the others, or None."""
    drawn = Drawn(seed)
    onnx.save(drawn.model, path)
    try:
        done = run_model(load_onnx(path, drawn.x), drawn.x, device=Device(2))
    except UserError:
        return drawn.op, False, None
    assert done.held
    said = {name: result for name, result in drawn.expected().items() if result is not None}
    if not said:
        return drawn.op, True, f"seed {seed}: {drawn.op} is taken, and refused by the others"
    for name, result in said.items():
        # the importer's own: a scale as multiplier / 2 ** shift, and halves are rounded up
        if result.shape != done.result.shape or (
                abs(result.astype(int) - done.result).max() > 1):
            return drawn.op, True, (f"seed {seed}: {drawn.op}: {name} says {result.tolist()}, not "
                                    f"{done.result.tolist()}")
    return drawn.op, True, None


def search(seeds, path):
    """All differences; of each operator some are taken and some refused."""
    taken, refused, differ = Counter(), Counter(), []
    for seed in seeds:
        op, was_taken, difference = compared(seed, path)
        (taken if was_taken else refused)[op] += 1
        differ += [difference] if difference else []
    assert set(taken) == set(refused) == {"QGemm", "QLinearMatMul", "QLinearConv", "MaxPool",
                                          "Flatten", "Reshape", "QuantizeLinear", "QLinearAdd",
                                          "QLinearAveragePool", "QLinearGlobalAveragePool"}
    return differ


with warnings.catch_warnings(action="ignore"):  # of cases of other operators, which overflow
    CASES = {case.name: case for case in node_cases.collect_testcases(None)
             if case.model.graph.node[0].op_type in ("QLinearConv", "QLinearMatMul")}


@pytest.mark.parametrize("name", CASES)
def test_the_standards_own_cases_to_the_bit(name, tmp_path):
    """What the cases give as inputs beside the first are constants here."""
    case = CASES[name]
    ((x, *others), (right,)), = case.data_sets
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    model.graph.initializer.extend(
        onnx.numpy_helper.from_array(np.asarray(value), given.name)
        for value, given in zip(others, model.graph.input[1:], strict=True))
    del model.graph.input[1:]
    onnx.save(model, tmp_path / "case.onnx")
    done = run_model(tmp_path / "case.onnx", x, device=Device(2))
    assert done.held
    assert done.result.dtype == right.dtype
    assert np.array_equal(done.result, right)


def test_there_are_cases_of_both_operators_all_types_and_ranks():
    assert len(CASES) == 9


def test_what_is_taken_is_computed_as_others_do(tmp_path):
    assert search(range(400), tmp_path / "drawn.onnx") == []


@pytest.mark.thorough
def test_many_more_are(tmp_path):
    assert search(range(1000, 21_000), tmp_path / "drawn.onnx") == []


def test_the_search_finds_a_bias_taken_by_its_size(tmp_path, monkeypatch):
    """The fault that this search is for: a bias of each row, where rows are as many as columns."""

    def by_size(self, node, place, thing, filters, rows=None):
        array = self.constant(node, place, thing)
        if array is None or array.size not in (1, filters):
            return np.zeros(filters, dtype=np.int64)
        return np.broadcast_to(array.reshape(-1).astype(np.int64), filters)

    monkeypatch.setattr(Chain, "bias", by_size)
    assert any("QGemm" in found for found in search(range(400), tmp_path / "drawn.onnx"))


def test_the_search_finds_scales_taken_by_their_size(tmp_path, monkeypatch):
    def by_size(self, node, place, thing, count):
        array = self.constant(node, place, thing)
        if array is None or array.size not in (1, count):
            raise node.refuse("scales")
        return array.reshape(-1).astype(np.float64)

    monkeypatch.setattr(Chain, "scales", by_size)
    assert any("QLinear" in found for found in search(range(800), tmp_path / "drawn.onnx"))
