"""A user's own networks in ONNX: the standard's results; what is refused, and how."""

import re

import numpy as np
import pytest

from cyclebound.golden.systolic.accelerator_plan import Device
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.families.systolic.files import load_model
from cyclebound.sim.families.systolic.run import run_model

onnx = pytest.importorskip("onnx")
helper = onnx.helper
pytestmark = pytest.mark.unit

_KINDS = {np.int8: onnx.TensorProto.INT8, np.uint8: onnx.TensorProto.UINT8,
          np.float32: onnx.TensorProto.FLOAT}


class Maker:
    """A network of nodes one after the other."""

    def __init__(self, shape, kind=np.int8, seed=1):
        self.rng, self.nodes, self.constants = np.random.default_rng(seed), [], {}
        self.shape, self.kind, self.tensor = shape, kind, "x"
        self.scale = 1 / 64

    def constant(self, value, kind=None):
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value, dtype=kind)
        return name

    def node(self, op, inputs=(), out=None, domain="", **attributes):
        out = out or f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, [self.tensor, *inputs], [out], domain=domain,
                                           name=f"{op.lower()}_{len(self.nodes)}", **attributes))
        self.tensor = out
        return self

    def weights(self, *shape):
        return self.constant(self.rng.integers(-100, 100, shape), np.int8)

    def conv(self, filters, channels, kernel=(3, 3), kind=None, zero=3, own=False, bias=True,
             zeros=5, **attributes):
        kind = kind or self.kind
        before = self.kind
        elements = channels * kernel[0] * kernel[1]
        scales = self.rng.uniform(0.5, 2, filters) if own else np.array(1.0)
        after = self.scale * 60 * elements**0.5 / 40
        inputs = [self.constant(self.scale, np.float32), self.constant(zeros, before),
                  self.weights(filters, channels, *kernel),
                  self.constant(scales / 100, np.float32),
                  self.constant(np.zeros(scales.shape), np.int8),
                  self.constant(after, np.float32), self.constant(zero, kind)]
        if bias:
            inputs.append(self.constant(self.rng.integers(-900, 900, filters), np.int32))
        self.kind, self.scale = kind, float(np.float32(after))
        return self.node("QLinearConv", inputs, **attributes)

    def gemm(self, n, k, zeros=0, **attributes):
        after = self.scale * k**0.5
        shape = (n, k) if attributes.get("transB") else (k, n)
        inputs = [self.constant(self.scale, np.float32), self.constant(zeros, self.kind),
                  self.weights(*shape), self.constant(0.01, np.float32),
                  self.constant(0, np.int8), self.constant(
                      self.rng.integers(-900, 900, n), np.int32),
                  self.constant(after, np.float32), self.constant(0, self.kind)]
        self.scale = float(np.float32(after))
        return self.node("QGemm", inputs, domain="com.microsoft", **attributes)

    def matmul(self, n, k, zeros=0):
        after = self.scale * k**0.5
        inputs = [self.constant(self.scale, np.float32), self.constant(zeros, self.kind),
                  self.weights(k, n), self.constant(0.01, np.float32), self.constant(0, np.int8),
                  self.constant(after, np.float32), self.constant(0, self.kind)]
        self.scale = float(np.float32(after))
        return self.node("QLinearMatMul", inputs)

    def model(self, first=None):
        graph = helper.make_graph(
            self.nodes, "net",
            [helper.make_tensor_value_info("x", _KINDS[first or self.first], self.shape)],
            [helper.make_tensor_value_info(self.tensor, _KINDS[self.kind], None)],
            [onnx.numpy_helper.from_array(value, name) for name, value in self.constants.items()])
        return helper.make_model(graph, opset_imports=[
            helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)])

    first = np.int8

    def save(self, path, first=None):
        onnx.save(self.model(first), path)
        return path


def network(seed=1):
    """A small one with most of what is supported: 2 convolutions, pooling, two fully connected."""
    maker = Maker(("n", 3, 9, 8), seed=seed)
    maker.conv(6, 3, (3, 2), np.uint8, 100, own=True, pads=[1, 0, 2, 1], strides=[1, 1])
    maker.node("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    maker.conv(8, 3, (2, 2), np.int8, -7, zeros=100, group=2, dilations=[2, 1])
    maker.node("Relu").node("Flatten")
    maker.gemm(10, 8 * 3 * 3, zeros=-7, transB=1)
    return maker.matmul(5, 10)


def reference(model, x):
    """The standard's own evaluation; QGemm, which it has not, by its definition."""
    from onnx.reference import ReferenceEvaluator
    from onnx.reference.op_run import OpRun

    class QGemm(OpRun):
        op_domain = "com.microsoft"

        def _run(self, a, a_scale, a_zero, b, b_scale, b_zero, c, y_scale, y_zero, alpha=1.0,
                 transA=0, transB=0):
            b = b.T if transB else b
            sums = (a.astype(np.int64) - a_zero) @ (b.astype(np.int64) - b_zero) + c
            scaled = np.rint(sums * (alpha * a_scale * b_scale / y_scale)) + y_zero
            limits = np.iinfo(y_zero.dtype)
            return (np.clip(scaled, limits.min, limits.max).astype(y_zero.dtype),)

    return ReferenceEvaluator(model, new_ops=[QGemm]).run(None, {"x": x})[0]


@pytest.mark.parametrize("seed", range(4))
def test_a_network_is_the_standards_but_for_rounding(seed, tmp_path):
    maker = network(seed)
    path = maker.save(tmp_path / "net.onnx")
    x = np.random.default_rng(seed).integers(-128, 128, (1, 3, 9, 8), dtype=np.int8)
    done = run_model(path, x, device=Device(4))
    assert done.held
    assert done.result.shape == (1, 5)
    assert done.model.error < 2**-16
    expected = reference(maker.model(), x)
    assert done.result.dtype == expected.dtype
    # a rounding that differs by 1 in a layer moves sums of the next
    assert abs(done.result.astype(int) - expected.astype(int)).max() <= 2
    assert len(np.unique(done.result)) > 2


@pytest.mark.parametrize("seed", range(12))
def test_a_layer_is_the_standards_where_scales_are_exact(seed, tmp_path):
    """Powers of two as scales: equal to the bit, but for halves, which are rounded up."""
    rng = np.random.default_rng(seed)
    kind, made = rng.choice([np.int8, np.uint8], 2)
    maker = Maker((1, 4, 7, 6), kind)
    maker.first, maker.scale = kind, 2.0**-5
    groups = int(rng.choice([1, 2, 4]))
    zero, zeros = int(rng.integers(0, 100)), int(rng.integers(0, 100))
    inputs = [maker.constant(2.0**-5, np.float32), maker.constant(zeros, kind),
              maker.weights(8, 4 // groups, 3, 2), maker.constant(2.0**-6, np.float32),
              maker.constant(0, np.int8), maker.constant(2.0**-2, np.float32),
              maker.constant(zero, made),
              maker.constant(rng.integers(-900, 900, 8), np.int32)]
    maker.kind = made
    maker.node("QLinearConv", inputs, group=groups, strides=[1, int(rng.integers(1, 3))],
               pads=rng.integers(0, 3, 4).tolist(), dilations=rng.integers(1, 3, 2).tolist())
    x = rng.integers(np.iinfo(kind).min, np.iinfo(kind).max + 1, (1, 4, 7, 6), dtype=kind)
    done = run_model(maker.save(tmp_path / "one.onnx"), x, device=Device(2, b_depth=40))
    assert done.held
    assert done.model.error == 0
    expected = reference(maker.model(), x).astype(int)
    halves = done.result.astype(int) - expected
    assert done.result.dtype == made
    assert np.isin(halves, (0, 1)).all()
    assert (halves == 0).mean() > 0.9


def test_an_input_and_a_result_in_floating_point(tmp_path):
    maker = Maker((1, 2, 5, 5), np.float32)
    maker.node("QuantizeLinear", [maker.constant(1 / 64, np.float32), maker.constant(9, np.uint8)])
    maker.kind, maker.first = np.uint8, np.float32
    maker.conv(3, 2, kind=np.int8, zeros=9)
    maker.node("DequantizeLinear", [maker.constant(maker.scale, np.float32),
                                    maker.constant(3, np.int8)])
    maker.kind = np.float32
    x = np.random.default_rng(3).uniform(-1, 2, (1, 2, 5, 5)).astype(np.float32)
    done = run_model(maker.save(tmp_path / "float.onnx"), x, device=Device(2))
    expected = reference(maker.model(), x)
    assert done.result.dtype == np.float32
    assert abs(done.result - expected).max() <= maker.scale * 1.01


def test_pooling_and_limits_without_a_layer(tmp_path):
    """Each then is a layer of its own, with weights of 1."""
    maker = Maker((1, 3, 8, 8))
    maker.node("MaxPool", kernel_shape=[2, 2], strides=[2, 2]).node("Relu")
    maker.node("MaxPool", kernel_shape=[2, 2], strides=[2, 2], auto_pad="VALID")
    maker.node("Reshape", [maker.constant([0, -1], np.int64)])
    x = np.random.default_rng(1).integers(-128, 128, (1, 3, 8, 8), dtype=np.int8)
    done = run_model(maker.save(tmp_path / "pool.onnx"), x, device=Device(2))
    assert np.array_equal(done.result, np.maximum(
        x.reshape(3, 2, 4, 2, 4).max(axis=(2, 4)).reshape(1, -1), 0))


def test_rows_of_a_product(tmp_path):
    maker = Maker((6, 10)).matmul(7, 10).gemm(4, 7, alpha=0.5)
    x = np.random.default_rng(1).integers(-128, 128, (6, 10), dtype=np.int8)
    done = run_model(maker.save(tmp_path / "rows.onnx"), x, device=Device(2))
    expected = reference(maker.model(), x)
    assert done.result.shape == expected.shape == (6, 4)
    assert abs(done.result.astype(int) - expected).max() <= 2


def _wrong(change):
    """A node of a network that is not supported, by a change of one that is."""
    maker = Maker((1, 4, 6, 6))
    change(maker)
    return maker


REFUSED = {
    "a strange operator": (lambda m: m.node("Tanh"),
        "node tanh_0 (Tanh): operator Tanh is not supported; supported are QLinearConv,"),
    "floating point": (lambda m: m.conv(4, 4).node("Conv", [m.constant(1.0, np.float32)]),
        "node conv_1 (Conv): in floating point it is not supported: what it reads, its weights"),
    "the host in the middle": (lambda m: m.conv(4, 4).node("Transpose").conv(4, 4),
        "node transpose_1 (Transpose): it is supported before all layers or after all layers only"),
    "its domain": (lambda m: m.node("QGemm"),
        "node qgemm_0 (QGemm): operator QGemm is not supported; supported"),
    "an attribute": (lambda m: m.conv(4, 4, bogus=1),
        "node qlinearconv_0 (QLinearConv): attribute bogus is not supported; known are auto_pad,"),
    "an attribute of another kind": (lambda m: m.conv(4, 4, strides=2),
        "node qlinearconv_0 (QLinearConv): attribute strides must be whole numbers, not 2"),
    "another word": (lambda m: m.conv(4, 4, group="all"),
        "node qlinearconv_0 (QLinearConv): attribute group must be a whole number, not 'all'"),
    "auto_pad": (lambda m: m.conv(4, 4, auto_pad="SAME"),
        "node qlinearconv_0 (QLinearConv): auto_pad 'SAME' is not supported"),
    "pooling that overlaps": (lambda m: m.node("MaxPool", kernel_shape=[3, 3], strides=[2, 2]),
        "node maxpool_0 (MaxPool): strides must be kernel_shape, [3, 3], so that windows do not"),
    "pooling that is not square": (lambda m: m.node("MaxPool", kernel_shape=[3, 2], strides=[3, 2]),
        "node maxpool_0 (MaxPool): kernel_shape must be a square, not [3, 2]"),
    "padded pooling": (lambda m: m.node("MaxPool", kernel_shape=[2, 2], strides=[2, 2],
                                        pads=[1, 0, 0, 0]),
        "node maxpool_0 (MaxPool): pads must be 0, not [1, 0, 0, 0]"),
    "rounded pooling": (lambda m: m.node("MaxPool", kernel_shape=[4, 4], strides=[4, 4],
                                         ceil_mode=1),
        "node maxpool_0 (MaxPool): ceil_mode must be 0 where windows of 4 do not divide 6 x 6"),
    "channels": (lambda m: m.conv(4, 3),
        "node qlinearconv_0 (QLinearConv): w must have 4 channels in 1 groups, as its input has,"),
    "a kernel larger than the image": (lambda m: m.conv(4, 4, (7, 1)),
        "node (QLinearConv) qlinearconv_0: kernel must be at most 6 x 6, the padded image, not 7"),
    "quantisation in the middle": (lambda m: m.conv(4, 4).node("QuantizeLinear", [
        m.constant(1.0, np.float32), m.constant(0, np.int8)]),
        "wrong.onnx is no valid ONNX model: [ShapeInferenceError] (op_type:QuantizeLinear, node"),
    "no quantisation": (lambda m: setattr(m, "first", np.float32) or m.conv(4, 4),
        "node qlinearconv_0 (QLinearConv): its input must be quantised, not in floating point"),
    "a matrix of an image": (lambda m: m.matmul(4, 4),
        "node qlinearmatmul_0 (QLinearMatMul): its input must be a matrix, not 1 x 4 x 6 x 6"),
    "a transposed matrix": (lambda m: m.node("Flatten").gemm(4, 144, transA=1),
        "node qgemm_1 (QGemm): attribute transA must be 0, not 1"),
    "another flattening": (lambda m: m.node("Flatten", axis=2),
        "node flatten_0 (Flatten): axis must be 1"),
    "another shape": (lambda m: m.node("Reshape", [m.constant([2, 72], np.int64)]),
        "node reshape_0 (Reshape): shape must be 1 x 144, of one image, not 2 x 72"),
    "several readers": (lambda m: m.conv(4, 4, (1, 1)).nodes.append(helper.make_node(
        "Relu", ["t0"], ["t1"], name="one")) or m.nodes.append(helper.make_node(
            "Relu", ["t0"], ["t2"], name="two")) or setattr(m, "tensor", "t2"),
        "node one (Relu): no node reads its result, 't1'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_supported_is_refused_by_its_node(name, tmp_path):
    change, message = REFUSED[name]
    path = _wrong(change).save(tmp_path / "wrong.onnx")
    with pytest.raises(UserError, match=f"^{re.escape(message)}"):
        load_model(path)


@pytest.mark.parametrize(("read", "outputs", "says"), [
    (("t0", "t1"), ["t2"], "node qlinearconv_2 (QLinearConv): no node reads its result, 't2'"),
    (("t0", "t1"), [""], "node qlinearconv_2 (QLinearConv): it must have an output"),
    (("t0", "t1"), [], "node qlinearconv_2 (QLinearConv): it must have an output"),
    (("t0", "t2"), ["t2"], "node qlinearconv_1 (QLinearConv): no node reads its result, 't1'")])
def test_of_convolutions_made_together_each_is_read(tmp_path, read, outputs, says):
    maker = Maker((1, 4, 6, 6))
    for _ in range(3):
        maker.tensor, maker.scale = "x", 1.0
        maker.conv(4, 4, (1, 1), strides=[2, 2])
    maker.nodes[2].output[:] = outputs
    scale = maker.constant(maker.scale, np.float32)
    zero = maker.constant(3, np.int8)
    maker.nodes.append(helper.make_node(
        "QLinearAdd", [read[0], scale, zero, read[1], scale, zero, scale, zero], ["sum"],
        name="sum", domain="com.microsoft"))
    maker.tensor = "sum"
    with pytest.raises(UserError, match=f"^{re.escape(says)}"):
        load_model(maker.save(tmp_path / "wrong.onnx"))


def test_constants_that_are_not_supported(tmp_path):
    def refused(message, **changes):
        maker = Maker((1, 4, 6, 6)).conv(4, 4)
        for name, value in changes.items():
            maker.constants[name] = value
        with pytest.raises(UserError, match=f"^{re.escape(message)}"):
            load_model(maker.save(tmp_path / "wrong.onnx"))

    node = "node qlinearconv_0 (QLinearConv): "
    refused(node + "x_scale must be above 0, not 0", c0=np.array(0, dtype=np.float32))
    refused(node + "x_zero_point must be of int8, as its tensor is, not uint8",
            c1=np.array(0, dtype=np.uint8))
    refused(node + "w must be of int8 or uint8, not int16", c2=np.zeros((4, 4, 3, 3), np.int16))
    refused(node + "w must not be empty", c2=np.zeros((0, 4, 3, 3), np.int8))
    refused(node + "w must have 4 dimensions, not 4 x 4", c2=np.zeros((4, 4), np.int8))
    refused(node + "w_scale must be 1 number or a vector of 4, not 3",
            c3=np.ones(3, dtype=np.float32))
    refused(node + "w_scale must be 1 number or a vector of 4, not 1 x 4",
            c3=np.ones((1, 4), dtype=np.float32))
    refused(node + "w_scale must be of float or float16, not int32", c3=np.ones(4, dtype=np.int32))
    refused(node + "x_scale must be one number, not 1 x 1", c0=np.ones((1, 1), dtype=np.float32))
    refused(node + "zero point of w must be 1 number or a vector of 4, not 4 x 1",
            c4=np.zeros((4, 1), dtype=np.int8))
    refused(node + "bias must be of int32, not int64", c7=np.zeros(4, dtype=np.int64))
    refused(node + "bias must be a vector of 4, not 1 x 4", c7=np.zeros((1, 4), dtype=np.int32))
    refused(node + "bias less zero point times weights must have 32 bits, not",
            c7=np.full(4, 2**31 - 1, dtype=np.int32), c1=np.array(-128, dtype=np.int8),
            c2=np.full((4, 4, 3, 3), 127, dtype=np.int8))
    refused("node qlinearconv_0 (QLinearConv): the scale from sums to results must be above 0 and "
            "at most 65535, not", c0=np.array(1e9, dtype=np.float32))


def _square(bias, path):
    """2 rows of 2 zeros times the unit matrix, plus a bias as the standard broadcasts it."""
    maker = Maker((2, 2)).gemm(2, 2)
    maker.constants |= {"c0": np.float32(1), "c2": np.eye(2, dtype=np.int8), "c3": np.float32(1),
                        "c5": np.array(bias, dtype=np.int32), "c6": np.float32(1)}
    x = np.zeros((2, 2), dtype=np.int8)
    return reference(maker.model(), x), maker.save(path), x


@pytest.mark.parametrize("bias", [[10, 20], [[10, 20]], [[10, 20], [10, 20]], 7, [7], [[7], [7]]])
def test_a_bias_of_each_column(bias, tmp_path):
    expected, path, x = _square(bias, tmp_path / "square.onnx")
    assert np.array_equal(run_model(path, x, device=Device(2)).result, expected)


def test_a_bias_of_each_row_is_refused(tmp_path):
    """As many rows as columns: it is not taken for one of each column."""
    expected, path, _ = _square([[10], [20]], tmp_path / "square.onnx")
    assert expected.tolist() == [[10, 10], [20, 20]]
    with pytest.raises(UserError, match=(
            r"^node qgemm_0 \(QGemm\): c must be the same in all 2 rows, as hardware has one bias "
            r"for each column; it is 2 x 1 and differs between rows$")):
        load_model(path)
    _, path, _ = _square([[[10, 20]]], tmp_path / "square.onnx")
    with pytest.raises(UserError, match=r"c must broadcast to 2 x 2, and not be 1 x 1 x 2$"):
        load_model(path)


@pytest.mark.parametrize(("place", "thing"), [(7, "y_scale"), (8, "y_zero_point")])
def test_without_the_scale_or_zero_point_of_its_result_it_is_in_floating_point(place, thing,
                                                                               tmp_path):
    maker = Maker((2, 2)).gemm(2, 2)
    maker.nodes[0].input[place] = ""
    with pytest.raises(UserError, match=f"{thing} must be given: a result in floating point"):
        load_model(maker.save(tmp_path / "wrong.onnx"))


def test_random_bytes_are_refused(tmp_path):
    """Of a file that was right, anything may be wrong: one error, and never another exception."""
    rng = np.random.default_rng(7)
    right = network().save(tmp_path / "right.onnx").read_bytes()
    path, said = tmp_path / "wrong.onnx", []
    for _ in range(60):
        wrong = bytearray(right)
        for place in rng.integers(0, len(wrong), int(rng.integers(1, 4))):
            wrong[place] = int(rng.integers(256))
        path.write_bytes(bytes(wrong))
        try:
            load_model(path)
        except UserError as error:
            said.append(str(error))
    assert said
    assert not any("\n" in message for message in said)
