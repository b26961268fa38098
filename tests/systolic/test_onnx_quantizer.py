"""Networks as onnxruntime's quantizer writes them, in both forms, signed and unsigned.

In pairs they are compared with the standard's evaluator, with halves rounded up; as operators of
``com.microsoft``, which that has not, with onnxruntime. There weights keep within 7 bits
(``reduce_range``): where a processor has AVX2 and no VNNI, onnxruntime's sums of two products
saturate at 16 bits ("U8S8" in its pages on quantization).
"""

import itertools
import logging

import numpy as np
import pytest
from systolic.test_onnx_qdq import expected

from cyclebound.golden.systolic.accelerator_plan import Device
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.families.systolic.run import run_model

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
quantization = pytest.importorskip("onnxruntime.quantization")
pytestmark = pytest.mark.unit
node = onnx.helper.make_node
FORMS = quantization.QuantFormat.QDQ, quantization.QuantFormat.QOperator
INT8, UINT8 = quantization.QuantType.QInt8, quantization.QuantType.QUInt8
TYPES = (UINT8, UINT8), (UINT8, INT8), (INT8, INT8)  # of activations, of weights


def some(rng, *shape):
    return (rng.standard_normal(shape) / 2).astype(np.float32)


def perceptron(rng):
    return (4, 10), [
        node("MatMul", ["x", "w1"], ["a"]), node("Add", ["a", "b1"], ["b"]),
        node("Relu", ["b"], ["c"]), node("MatMul", ["c", "w2"], ["y"])], {
            "w1": some(rng, 10, 7), "b1": some(rng, 7), "w2": some(rng, 7, 4)}


def convolutions(rng):
    return (1, 3, 8, 8), [
        node("Conv", ["x", "w1", "b1"], ["a"], pads=[1, 1, 1, 1]), node("Relu", ["a"], ["b"]),
        node("MaxPool", ["b"], ["c"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["c", "w2", "b2"], ["d"], group=2), node("Relu", ["d"], ["e"]),
        node("Flatten", ["e"], ["f"]), node("Gemm", ["f", "w3", "b3"], ["y"], transB=1)], {
            "w1": some(rng, 6, 3, 3, 3), "b1": some(rng, 6), "w2": some(rng, 8, 3, 2, 2),
            "b2": some(rng, 8), "w3": some(rng, 5, 72), "b3": some(rng, 5)}


def averaged(rng):
    return (1, 3, 8, 8), [
        node("Conv", ["x", "w1"], ["a"]), node("Clip", ["a", "low", "high"], ["b"]),
        node("AveragePool", ["b"], ["y"], kernel_shape=[2, 2], strides=[2, 2])], {
            "w1": some(rng, 6, 3, 3, 3), "low": np.float32(0), "high": np.float32(6)}


def classified(rng):
    return (1, 3, 8, 8), [
        node("Conv", ["x", "w1"], ["a"]), node("GlobalAveragePool", ["a"], ["b"]),
        node("Reshape", ["b", "s"], ["c"]), node("Softmax", ["c"], ["y"])], {
            "w1": some(rng, 6, 3, 3, 3), "s": np.array([1, -1])}


def by_table(rng):
    return (1, 3, 6, 6), [node("Conv", ["x", "w1"], ["a"]), node("Sigmoid", ["a"], ["y"])], {
        "w1": some(rng, 6, 3, 3, 3)}


def turned(rng):
    return (1, 8, 8, 3), [
        node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2]), node("Conv", ["t", "w1"], ["a"]),
        node("Transpose", ["a"], ["y"], perm=[0, 2, 3, 1])], {"w1": some(rng, 6, 3, 3, 3)}


def batches(rng):
    return (2, 5, 10), [
        node("MatMul", ["x", "w1"], ["a"]), node("Relu", ["a"], ["b"]),
        node("MatMul", ["b", "w2"], ["y"])], {"w1": some(rng, 10, 7), "w2": some(rng, 7, 4)}


def shortcut(rng):
    return (1, 3, 8, 8), [
        node("Conv", ["x", "w1"], ["a"]), node("Conv", ["a", "w2"], ["b"]),
        node("Add", ["a", "b"], ["y"])], {"w1": some(rng, 6, 3, 3, 3), "w2": some(rng, 6, 6, 1, 1)}


def residual(rng):
    """Two blocks as in ResNet, of which the first one's shortcut has a convolution, and a head."""
    same = {"pads": [1, 1, 1, 1]}
    return (1, 3, 8, 8), [
        node("Conv", ["x", "stem"], ["s"], **same), node("Relu", ["s"], ["r"]),
        node("Conv", ["r", "w1"], ["a"], **same), node("Relu", ["a"], ["ar"]),
        node("Conv", ["ar", "w2"], ["b"], **same), node("Conv", ["r", "w3"], ["c"]),
        node("Add", ["b", "c"], ["d"]), node("Relu", ["d"], ["e"]),
        node("Conv", ["e", "w4"], ["f"], **same), node("Add", ["f", "e"], ["g"]),
        node("Relu", ["g"], ["h"]), node("GlobalAveragePool", ["h"], ["p"]),
        node("Flatten", ["p"], ["q"]), node("Gemm", ["q", "w5"], ["y"])], {
        "stem": some(rng, 4, 3, 3, 3), "w1": some(rng, 6, 4, 3, 3), "w2": some(rng, 6, 6, 3, 3),
        "w3": some(rng, 6, 4, 1, 1), "w4": some(rng, 6, 6, 3, 3), "w5": some(rng, 6, 5)}


def projected(rng):
    """A block as in ResNet that halves rows and columns, its shortcut by a convolution."""
    return (1, 3, 9, 8), [
        node("Conv", ["x", "stem"], ["s"]), node("Relu", ["s"], ["r"]),
        node("Conv", ["r", "w1"], ["a"], pads=[1, 1, 1, 1], strides=[2, 2]),
        node("Relu", ["a"], ["ar"]), node("Conv", ["ar", "w2"], ["b"], pads=[1, 1, 1, 1]),
        node("Conv", ["r", "w3"], ["c"], strides=[2, 2]), node("Add", ["b", "c"], ["d"]),
        node("Relu", ["d"], ["y"])], {
        "stem": some(rng, 4, 3, 2, 2), "w1": some(rng, 6, 4, 3, 3), "w2": some(rng, 6, 6, 3, 3),
        "w3": some(rng, 6, 4, 1, 1)}


def inverted(rng):
    """A block as in MobileNet: wide, a filter for each channel, narrow, and what it read."""
    return (1, 4, 7, 7), [
        node("Conv", ["x", "stem"], ["s"]), node("Conv", ["s", "wide"], ["a"]),
        node("Relu", ["a"], ["b"]),
        node("Conv", ["b", "each"], ["c"], pads=[1, 1, 1, 1], group=12), node("Relu", ["c"], ["d"]),
        node("Conv", ["d", "narrow"], ["e"]), node("Add", ["s", "e"], ["y"])], {
        "stem": some(rng, 4, 4, 1, 1), "wide": some(rng, 12, 4, 1, 1),
        "each": some(rng, 12, 1, 3, 3), "narrow": some(rng, 4, 12, 1, 1)}


def quantised(network, path, form, types, per_channel, seed=1):
    """A network as the quantizer writes it, and an input for it."""
    rng = np.random.default_rng(seed)
    shape, nodes, constants = network(rng)
    value, real = onnx.helper.make_tensor_value_info, onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        nodes, "net", [value("x", real, shape)], [value("y", real, None)],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()])
    model = onnx.helper.make_model(graph, ir_version=10,
                                   opset_imports=[onnx.helper.make_opsetid("", 21)])
    given = path.with_name("given.onnx")
    onnx.save(onnx.shape_inference.infer_shapes(model), given)

    class Inputs(quantization.CalibrationDataReader):
        def __init__(self):
            self.left = 4

        def get_next(self):
            self.left -= 1
            return {"x": some(rng, *shape) * 2} if self.left >= 0 else None

    logging.disable(logging.WARNING)  # "please consider to run pre-processing"
    try:
        quantization.quantize_static(
            given, path, Inputs(), quant_format=form, activation_type=types[0],
            weight_type=types[1], per_channel=per_channel, reduce_range=True)
    finally:
        logging.disable(logging.NOTSET)
    return onnx.load(path), some(rng, *shape) * 2


def ways():
    return itertools.product(FORMS, TYPES, (False, True))


@pytest.mark.parametrize("network", [perceptron, convolutions, averaged, classified, by_table,
                                     turned, batches, shortcut, residual, projected,
                                     inverted])
def test_a_network_of_the_quantizer_is_taken(network, tmp_path):
    quiet = runtime.SessionOptions()
    quiet.log_severity_level = 4
    for form, types, per_channel in ways():
        path = tmp_path / "net.onnx"
        model, x = quantised(network, path, form, types, per_channel)
        done = run_model(path, x, device=Device(4))
        assert done.held
        off = 1e-6
        if form == quantization.QuantFormat.QDQ:
            right = expected(model, x)
        else:
            right = runtime.InferenceSession(model.SerializeToString(), quiet, providers=[
                "CPUExecutionProvider"]).run(None, {"x": x})[0]
        if (network in (averaged, shortcut, residual, projected, inverted)
                or form == quantization.QuantFormat.QOperator):
            # one step, of a half: of 4 values' average a quarter are one, but for the error of a
            # float, which decides in what is right here; a sum of two tensors is up to 1 / 64 off
            constants = {each.name: onnx.numpy_helper.to_array(each)
                         for each in model.graph.initializer}
            last = next(each for each in reversed(model.graph.node)
                        if each.op_type == "DequantizeLinear")
            off = constants[last.input[1]] * 1.01
        assert right.shape == done.result.shape
        assert abs(right - done.result).max() <= off, (form, types, per_channel)
        # the five results of a residual network all hang on a few averages
        assert (abs(right - done.result) < 1e-6).mean() > (
            0.7 if network is averaged else 0.1 if network is residual else 0.9)
        assert len(np.unique(done.result)) > 2


def pooled(rng):
    _, nodes, constants = shortcut(rng)
    return (1, 3, 8, 8), [
        nodes[0], node("MaxPool", ["a"], ["p"], kernel_shape=[1, 1]),
        node("MaxPool", ["a"], ["q"], kernel_shape=[2, 2], strides=[2, 2]),
        node("MaxPool", ["p"], ["r"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Add", ["q", "r"], ["y"])], constants


def spread(rng):
    """A sum whose second term broadcasts."""
    _, nodes, constants = shortcut(rng)
    return (1, 3, 8, 8), [nodes[0], node("GlobalAveragePool", ["a"], ["b"]), nodes[2]], constants


@pytest.mark.parametrize(("network", "says"), [
    (pooled, "its input, since '.*', which is read later, goes through the same layer"),
    (spread, "its input, 6 x 6, since 'a_.*'")])
def test_a_shortcut_that_is_refused(network, says, tmp_path):
    for form, types, per_channel in ways():
        quantised(network, tmp_path / "net.onnx", form, types, per_channel)
        with pytest.raises(UserError, match=(
                rf"^node .*: it must have as many rows and columns as {says}")):
            run_model(tmp_path / "net.onnx", engine="plan")


def resnet(rng):
    """ResNet with 8 layers, for images as CIFAR has them."""
    nodes, constants = [], {}

    def conv(read, made, channels, filters, taps=3, stride=1):
        constants[f"{made} w"] = some(rng, filters, channels, taps, taps) / np.float32(
            channels * taps**2)**0.5
        nodes.append(node("Conv", [read, f"{made} w"], [made], pads=[taps // 2] * 4,
                          strides=[stride] * 2))
        return made

    def limited(read):
        nodes.append(node("Relu", [read], [f"{read} relu"]))
        return f"{read} relu"

    before, channels = limited(conv("x", "stem", 3, 16)), 16
    for filters in (16, 32, 64):
        stride = 1 if filters == channels else 2
        inner = limited(conv(before, f"{filters} a", channels, filters, stride=stride))
        terms = [conv(inner, f"{filters} b", filters, filters), before]
        if stride > 1:
            terms[1] = conv(before, f"{filters} c", channels, filters, 1, stride)
        nodes.append(node("Add", terms, [f"{filters} sum"]))
        before, channels = limited(f"{filters} sum"), filters
    nodes += [node("GlobalAveragePool", [before], ["p"]), node("Flatten", ["p"], ["q"]),
              node("Gemm", ["q", "w"], ["y"])]
    return (1, 3, 32, 32), nodes, {**constants, "w": some(rng, 64, 10)}


@pytest.mark.thorough
@pytest.mark.parametrize("form", FORMS)
def test_a_resnet_of_usual_size(form, tmp_path):
    path = tmp_path / "net.onnx"
    model, x = quantised(resnet, path, form, (UINT8, UINT8), True)
    done = run_model(path, x, device=Device(16, a_depth=4096, b_depth=4096))
    assert done.held
    right = runtime.InferenceSession(model.SerializeToString(), providers=[
        "CPUExecutionProvider"]).run(None, {"x": x})[0]
    last = next(each for each in reversed(model.graph.node) if each.op_type == "DequantizeLinear")
    [step] = [onnx.numpy_helper.to_array(each) for each in model.graph.initializer
              if each.name == last.input[1]]
    assert abs(right - done.result).max() <= 2.01 * step
    assert len(np.unique(done.result)) > 2
    print(f"{form}: {len(done.plans)} layers, {done.planned:,} cycles")


@pytest.mark.cosim
@pytest.mark.parametrize(("form", "network"), [
    *((form, averaged) for form in FORMS), (FORMS[0], shortcut)])
def test_a_network_of_the_quantizer_on_the_rtl(form, network, tmp_path):
    """Weights of 9 bits after their zero point, pooling, an average, a sum of two tensors: on the
    RTL of the catalogue's smallest accelerator."""

    def small(rng):
        _, nodes, constants = network(rng)
        more = {"w2": some(rng, 3, 3, 1, 1)} if network is shortcut else {}
        return (1, 2, 5, 5), nodes, {**constants, "w1": some(rng, 3, 2, 2, 2), **more}

    path = tmp_path / "net.onnx"
    _, x = quantised(small, path, form, (UINT8, UINT8), False)
    device = Device(2, a_depth=32, b_depth=32, bias_depth=8, c_depth=32, sums_depth=16)
    done = run_model(path, x, device=device, engine="rtl")
    assert done.held
    assert done.cycles == done.planned
    assert np.array_equal(done.result, run_model(path, x, device=device).result)
    assert len(np.unique(done.result)) > 2
