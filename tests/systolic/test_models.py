"""A user's own layers from arrays, and the command that runs them: numpy's results; mistakes."""

import json
import re

import numpy as np
import pytest

from cyclebound.golden.systolic.accelerator import Memory
from cyclebound.golden.systolic.accelerator_plan import Device
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.cli import main as cli
from cyclebound.sim.families.systolic.models import fixed_point, model_of_arrays
from cyclebound.sim.families.systolic.run import run_model

pytestmark = pytest.mark.unit


def test_scales_as_multipliers_and_shifts():
    assert fixed_point("n", 0.5) == (1, 1)
    assert fixed_point("n", 3.0) == (3, 0)
    assert fixed_point("n", 65535.0) == (65535, 0)
    rng = np.random.default_rng(2)
    for scale in 2.0**rng.uniform(-47, 15.9, 400):
        multiplier, shift = fixed_point("n", scale)
        assert abs(multiplier / 2**shift / scale - 1) <= 2**-16
        assert 0 <= multiplier < 2**16
        assert 0 <= shift < 64
    for bad in (0.0, -1.0, float("nan"), float("inf"), 65536.0):
        with pytest.raises(UserError, match=r"^n: the scale from sums to results must be above 0"):
            fixed_point("n", bad)


# -- arrays ----------------------------------------------------------------------------------------

def test_arrays_of_several_layers():
    rng = np.random.default_rng(5)
    conv = rng.integers(-128, 128, (5, 3, 3, 2), dtype=np.int8)
    full = rng.integers(-128, 128, (4, 5 * 4 * 3), dtype=np.int8)
    x = rng.integers(-128, 128, (3, 8, 7), dtype=np.int8)
    model = model_of_arrays({
        "one.weights": conv, "one.padding": np.array([1, 0, 1, 1]), "one.window": np.array(2),
        "one.shift": np.arange(7, 12), "one.pad": np.array(-4), "two.weights": full,
        "two.bias": np.arange(4, dtype=np.int32), "two.shift": np.array(10),
        "two.zero": np.array(2)}, x, "net")
    done = run_model(model, x, device=Device(2, b_depth=32))
    assert done.held
    assert done.result.shape == (4,)
    padded = np.pad(x.astype(int), ((0, 0), (1, 1), (0, 1)), constant_values=-4)
    sums = np.array([[[(padded[:, y:y + 3, c:c + 2] * w).sum() for c in range(7)]
                      for y in range(8)] for w in conv.astype(int)])
    image = np.clip(np.floor(sums / 2.0**np.arange(7, 12)[:, None, None] + 0.5), -128, 127)
    image = image[:, :8, :6].reshape(5, 4, 2, 3, 2).max(axis=(2, 4))
    sums = full.astype(int) @ image.reshape(-1) + np.arange(4)
    assert np.array_equal(done.result, np.clip(np.floor(sums / 1024 + 0.5) + 2, -128, 127))


def test_rows_of_arrays():
    rng = np.random.default_rng(5)
    x, b = (rng.integers(-128, 128, shape, dtype=np.int8) for shape in ((6, 5), (3, 5)))
    done = run_model(model_of_arrays({"weights": b, "shift": np.array(8)}, x), x, device=Device(2))
    assert np.array_equal(done.result, np.clip(np.floor(
        x.astype(int) @ b.T.astype(int) / 256 + 0.5), -128, 127))


# -- the command -----------------------------------------------------------------------------------

@pytest.fixture
def call(monkeypatch, capfd, tmp_path):
    """``call(*words)``: status, standard output, standard error."""
    monkeypatch.chdir(tmp_path)

    def run(*words):
        monkeypatch.setattr("sys.argv", ["cyclebound", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return (ended.value.code or 0, *capfd.readouterr())

    return run


def test_the_command_on_the_model(call, tmp_path):
    rng = np.random.default_rng(1)
    np.savez("layer.npz", weights=rng.integers(-128, 128, (16, 3, 3, 3), dtype=np.int8),
             padding=1, shift=9, low=0)
    np.save("x.npy", rng.integers(-128, 128, (3, 12, 12), dtype=np.int8))
    status, out, _ = call("systolic", "run", "layer.npz", "--input", "x.npy", "-o", "y.npy",
                          "--picture", "roofline.svg")
    assert status == 0
    assert "equal to numpy's; in y.npy" in out
    assert np.load("y.npy").shape == (16, 12, 12)
    assert "layer" in (tmp_path / "roofline.svg").read_text()
    status, out, _ = call("systolic", "run", "layer.npz", "--input", "x.npy", "--engine", "plan",
                          "--delay", 40, "--interval", 2, "--json")
    told = json.loads(out)
    assert status == 0
    assert told["predicted"] == run_model("layer.npz", np.load("x.npy"), engine="plan",
                                          memory=Memory(40, 2)).planned
    assert told["layers"][0]["macs"] == 16 * 27 * 144


WRONG = {
    "nothing.npz": r"cannot read nothing.npz: No such file or directory",
    "nothing.onnx": r"cannot read nothing.onnx: No such file or directory",
    "x.npy": r"a model is a file that ends in .npz or .onnx, not x.npy",
    "bad.npz": r"bad.npz is no .npz file: .*",
    "bad.onnx": r"bad.onnx is no ONNX model: .*|bad.onnx: there must be one input, not 0: none",
    "layer.npz --device 5": r"accelerator: size must be a power of two, not 5",
    "layer.npz --device 8 --set a_depth=7": r"accelerator: a depth must be even, not 7",
    "layer.npz --set a_dept=8": r"no parameter of the accelerator 'a_dept'; did you mean a_depth\?",
    "layer.npz --set a_depth=x": r"--set a_depth takes a whole number, not 'x'",
    "layer.npz --delay 0": r"--delay must be at least 1, not 0",
    "layer.npz --engine fpga": r"the engine is plan, model or rtl, not 'fpga'",
    "layer.npz": r"layer: an input is needed, for the size of the image",
    "layer.npz --input none.npy": r"cannot read none.npy: No such file or directory",
    "layer.npz --input flat.npy": r"layer: weights must be 4 x 9 x 3 x 3, not 4 x 2 x 3 x 3",
    "layer.npz --input float.npy": r"layer: the input must hold int8, not float64",
    "layer.npz --input x.npy -o y.txt": r"--output takes a file that ends in .npy, not y.txt",
    "layer.npz --input x.npy -o no/y.npy": r"cannot write no/y.npy: No such file or directory",
    "layer.npz --input x.npy --engine plan -o y.npy":
        r"--output needs a result, and --engine plan has none",
    "layer.npz --input x.npy --picture y.txt":
        r"--picture takes a file that ends in .svg, .png, .pdf, not y.txt",
    "layer.npz --input x.npy --set b_depth=4": r"layer: B must hold 8 words for the least part of "
        r"this layer, not 2",
    "odd.npz --input x.npy": r"no array of a layer in odd 'weight'; did you mean weights\?",
    "none.npz --input x.npy": r"none: there must be weights",
    "wide.npz --input x.npy": r"wide: bias must hold int32, not int64",
}


@pytest.mark.parametrize("words", WRONG)
def test_mistakes_are_one_line_and_status_2(words, call, tmp_path):
    w = np.ones((4, 2, 3, 3), dtype=np.int8)
    np.savez("layer.npz", weights=w)
    np.savez("odd.npz", weight=w)
    np.savez("none.npz", shift=3)
    np.savez("wide.npz", weights=w, bias=np.arange(4))
    np.save("x.npy", np.ones((2, 5, 5), dtype=np.int8))
    np.save("flat.npy", np.ones((9, 5, 5), dtype=np.int8))
    np.save("float.npy", np.ones((2, 5, 5)))
    for name in ("bad.npz", "bad.onnx"):
        (tmp_path / name).write_bytes(b"\x01\x02 no such thing")
    status, out, err = call("systolic", "run", *words.split())
    assert (status, out) == (2, "")
    assert re.fullmatch(f"cyclebound: (?:{WRONG[words]})\n", err), err


@pytest.mark.cosim
def test_the_command_on_the_rtl(call):
    """Sums kept between commands, groups, dilation, scales of filters, zero points: on the RTL of
    the catalogue's smallest accelerator."""
    rng = np.random.default_rng(4)
    np.savez("net.npz", **{
        "first.weights": rng.integers(-128, 128, (4, 6, 3, 2), dtype=np.int8),
        "first.padding": [1, 0, 2, 1], "first.pad": -9, "first.shift": [9, 10, 11, 10],
        "first.zero": 5, "first.bias": rng.integers(-999, 999, 4, dtype=np.int32),
        "second.weights": rng.integers(-128, 128, (4, 2, 2, 2), dtype=np.int8),
        "second.groups": 2, "second.dilation": [1, 2], "second.shift": 8, "second.window": 2,
        "third.weights": rng.integers(-128, 128, (3, 4 * 2), dtype=np.int8), "third.shift": 9})
    np.save("x.npy", rng.integers(-128, 128, (6, 5, 5), dtype=np.int8))
    small = [f"--set={name}" for name in ("a_depth=32", "b_depth=32", "bias_depth=8", "c_depth=32",
                                          "sums_depth=16")]
    words = ["systolic", "run", "net.npz", "--input", "x.npy", "--device", 2, *small, "--delay", 3]
    status, out, err = call(*words, "--engine", "rtl", "-o", "rtl.npy")
    assert status == 0, out + err
    assert "cycles, as predicted" in out
    assert "equal to numpy's" in out
    assert call(*words, "-o", "model.npy")[0] == 0
    assert np.array_equal(np.load("rtl.npy"), np.load("model.npy"))
    assert len(np.unique(np.load("rtl.npy"))) > 1


def test_a_wrong_result_is_status_1(call, monkeypatch):
    """Numpy's own check of what the engine made, with a planted fault."""
    from cyclebound.golden.systolic import accelerator_model

    np.savez("layer.npz", weights=np.ones((4, 2, 3, 3), dtype=np.int8))
    np.save("x.npy", np.ones((2, 5, 5), dtype=np.int8))
    right = accelerator_model.requantise
    monkeypatch.setattr(accelerator_model, "requantise",
                        lambda *given, **more: right(*given, **more) ^ 1)
    status, out, _ = call("systolic", "run", "layer.npz", "--input", "x.npy")
    assert status == 1
    assert "layer: the result is not numpy's" in out
