"""Small files that name what is endless, enormous or bottomless: one line and status 2, at once.

A file of a few megabytes made a parser take 11 GB and a minute, and its traceback ended with the
status of a bound that does not hold.
"""

import os
import re
import resource
import sqlite3
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest

from cyclebound.golden.dram.part_file import load_part
from cyclebound.golden.user_arrays import arrays_in
from cyclebound.golden.user_files import MEMORY, bytes_in, lines_of, load_toml, parsing
from cyclebound.sim.regression.results import FILE, Results

pytestmark = pytest.mark.system

PART = Path(__file__).parents[2] / "docs" / "parts" / "ddr4-2400.toml"
DEEP = 100_000
SECONDS, BYTES = 30.0, 1 << 30  # of CPU, and of memory, that a command takes until it refuses


def deep_scopes(path, signals=False):
    one = "$var wire 1 ! clk $end\n"
    path.write_text("$timescale 1 ns $end\n" + "".join(
        f"$scope module m{number} $end\n{one if signals else ''}" for number in range(DEEP))
        + one + "$upscope $end\n" * DEEP + "$enddefinitions $end\n#0\n0!\n#5\n1!\n")


def head_alone(path, shape, kind="<f4"):
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {
            "descr": kind, "fortran_order": False, "shape": shape})
        file.write(b"\0" * 64)


def zipped(path, many=1, size=1 << 42):
    """Zeros of an .npz file that says to hold ``size`` bytes of them."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as whole:
        for number in range(many):
            whole.writestr(f"a{number}.npy", b"\0" * 100)
            whole.filelist[-1].file_size = size // many


def network(path, *, nodes=1, shape=(1, 1, 4, 4), op="Relu", **attributes):
    onnx = pytest.importorskip("onnx")
    made = [onnx.helper.make_node(op, [f"t{n}"], [f"t{n + 1}"], **attributes)
            for n in range(nodes)]
    value = onnx.helper.make_tensor_value_info
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph(
        made, "net", [value("t0", onnx.TensorProto.INT8, shape)],
        [value(f"t{nodes}", onnx.TensorProto.INT8, None)])), path)


def outside(path):
    """A network with weights in another file, which is a link to a device without an end."""
    onnx = pytest.importorskip("onnx")
    tensor = onnx.TensorProto(name="w", data_type=onnx.TensorProto.INT8, dims=[1 << 33],
                              data_location=onnx.TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="zeros")
    path.with_name("zeros").symlink_to("/dev/zero")
    network(path)
    model = onnx.load(path)
    model.graph.initializer.append(tensor)
    path.write_bytes(model.SerializeToString())


def zeros(path):
    path.symlink_to("/dev/zero")


def run_of(path, cell):
    """A run's folder with this as a fact about the run."""
    results = Results(path, create=True)
    results.note(seed=1)
    results.close()
    with sqlite3.connect(path / FILE) as base:
        base.execute("UPDATE meta SET value = ?", (cell,))
    base.close()


def endless_run(path):
    path.mkdir()
    zeros(path / FILE)


def endless_view(path):
    """Rows without end in place of a table."""
    run_of(path, "1")
    with sqlite3.connect(path / FILE) as base:
        base.execute("DROP TABLE meta")
        base.execute("CREATE VIEW meta AS WITH RECURSIVE n(key, value) AS (SELECT 'a', '1' UNION "
                     "ALL SELECT key || 'a', value FROM n) SELECT * FROM n")
    base.close()


def key(name):
    return lambda path: path.write_text(".".join(["a"] * DEEP) + f" = {name}\n")


def text(content):
    return lambda path: path.write_text(content())


def wide_part():
    """A part of which a number is refused, with as many digits as fit."""
    return re.sub(r"(?m)^rows = .*$", f"rows = {'9' * 900_000}", PART.read_text())


STREAMS = "gpu streams bomb.toml"
MAPPING = "gpu mapping bomb.toml"
TILE = "dram tile --address 0 --part bomb.toml"
CHECK = "check {} --start a --end a --bound 3"
SRAD = "simd run srad --data 0={}"
SYSTOLIC = "systolic run {}"
PLAN = f"{SYSTOLIC} --engine plan"
LARGE, IRREGULAR = "it is larger than 64 MB", "it is no regular file"
NAMES = "at most 32 names, not"
BOMBS = {
    "scopes": ("bomb.vcd", deep_scopes, CHECK, "it has scopes more than 256 deep"),
    "scopes with signals": ("bomb.vcd", lambda path: deep_scopes(path, True), CHECK, "256 deep"),
    "an endless table": ("bomb.csv", zeros, CHECK, "there is no trace"),
    "an endless line": ("bomb.csv", text(lambda: "a\n" + "1" * 50_000_000), CHECK,
                        "it has a line of more than 1,048,576 characters"),
    "an endless part": ("bomb.toml", zeros, TILE, LARGE),
    "a deep key of a part": ("bomb.toml", key("1"), TILE, NAMES),
    "a deep table of a part": ("bomb.toml", text(lambda: "[" + ".".join(["a"] * DEEP) + "]"), TILE,
                               NAMES),
    "a deep key in a table": ("bomb.toml", text(
        lambda: "a = {b = 1, " + ".".join(["'c'"] * DEEP) + " = 1}"), TILE, NAMES),
    "a deep key behind four quotes": ("bomb.toml", text(
        lambda: 'a = {b = """x"""", ' + ".".join(["c"] * DEEP) + " = 1}"), TILE, NAMES),
    "deep lists": ("bomb.toml", text(lambda: "a = " + "[" * DEEP), TILE, "too many tables"),
    "a long number": ("bomb.toml", text(wide_part), TILE, "a number too long"),
    "a large part": ("bomb.toml", text(lambda: PART.read_text() + "#" * 70_000_000), TILE, LARGE),
    "streams without end": ("bomb.toml", zeros, STREAMS, LARGE),
    "a deep key of streams": ("bomb.toml", key("1"), STREAMS, NAMES),
    "a name on each line": ("bomb.toml", text(
        lambda: "".join(f"x{n} = 'stream'\n" for n in range(40_000))), STREAMS, "line 1: x0 must"),
    "a mistake far down": ("bomb.toml", text(
        lambda: "device = 1\n" + "[[stream]]\nname = 'device'\n" * 20_000), STREAMS, "device"),
    "a deep key of layers": ("bomb.toml", key("1"), MAPPING, NAMES),
    "a listing without end": ("bomb.sass", zeros, "gpu kernels {}", LARGE),
    "an assembly without end": ("bomb.sas", zeros, "simd asm {}", "there is no file"),
    "a large assembly": ("bomb.sas", text(lambda: "add v0, v1, v2\n" * 100_000), "simd asm {}",
                         "it is larger than 1 MB"),
    "instructions without end": ("bomb.bin", zeros, "simd disasm {}", LARGE),
    "words without end": ("bomb.bin", zeros, SRAD, LARGE),
    "an array of a terabyte": ("bomb.npy", lambda path: head_alone(path, (10**12,)), SRAD,
                               "its head says 1,000,000,000,000 values of float32, and 64 bytes"),
    "an array of many axes": ("bomb.npy", lambda path: head_alone(path, (10**6,) * 5),
                              "systolic run x.npz --input {}", "its head says"),
    "an endless array": ("bomb.npy", zeros, "systolic run x.npz --input {}", IRREGULAR),
    "endless arrays": ("bomb.npz", zeros, SYSTOLIC, IRREGULAR),
    "zeros, compressed": ("bomb.npz", zipped, SYSTOLIC, "its arrays are larger than 2,048 MB"),
    "many arrays": ("bomb.npz", lambda path: zipped(path, 20_000, 20_000), SYSTOLIC,
                    "it has 20,000 arrays, and at most 10,000 are read"),
    "padding": ("bomb.npz", lambda path: np.savez(
        path, weights=np.ones((1, 1, 1, 1), np.int8), padding=1 << 20), f"{SYSTOLIC} --input x.npy",
        "its padded image may have at most"),
    "an endless network": ("bomb.onnx", zeros, PLAN, LARGE),
    "weights outside": ("bomb.onnx", outside, PLAN, "it is a symbolic link"),
    "many nodes": ("bomb.onnx", lambda path: network(path, nodes=20_000), PLAN,
                   "there may be at most 10,000 nodes, not 20,000"),
    "a large image": ("bomb.onnx", lambda path: network(path, shape=(1, 10**6, 10**6, 10**6)), PLAN,
                      "input t0 may have at most 67,108,864 elements"),
    "many channels": ("bomb.onnx", lambda path: network(path, shape=(1, 1 << 26, 1, 1)), PLAN,
                      "its input must have at most 131071 channels"),
    "many rows": ("bomb.onnx", lambda path: network(path, shape=(1, 1, 1 << 31, 1)), PLAN,
                  "input t0 may have at most"),
    "endless results": ("run", endless_run, "report {}", "holds no run"),
    "deep results": ("run", lambda path: run_of(path, "[" * 2_000_000), "report {}",
                     "must be JSON"),
    "large results": ("run", lambda path: run_of(path, '"' + "a" * (65 << 20) + '"'), "report {}",
                      "too big"),
    "results without end": ("run", endless_view, "report {}", "has other tables than a run"),
}


@pytest.fixture
def bomb(tmp_path):
    """``bomb(name)``: the command line that meets a bomb, and what it has to say."""

    def made(name):
        file, make, command, says = BOMBS[name]
        make(tmp_path / file)
        np.save(tmp_path / "x.npy", np.zeros((1, 4, 4), np.int8))
        return command.replace("{}", file).split(), says

    return made


@pytest.mark.parametrize("name", BOMBS)
def test_what_is_beyond_any_file_is_refused(name, bomb, call):
    words, says = bomb(name)
    said = call(*words)
    assert said.returncode == 2, said.stderr
    assert re.fullmatch(rf"cyclebound: .*{re.escape(says)}.*\n", said.stderr)


@pytest.mark.thorough
@pytest.mark.parametrize("name", BOMBS)
def test_it_is_refused_at_once(name, bomb, command, command_environment, tmp_path):
    """In a process of its own, whose children (the reader of traces) count, too."""
    words, says = bomb(name)
    with (tmp_path / "said").open("w") as file:
        process = subprocess.Popen([*command, *words], cwd=tmp_path, env=command_environment,
                                   stdout=subprocess.DEVNULL, stderr=file)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 2
    assert says in (tmp_path / "said").read_text()
    assert used.ru_utime + used.ru_stime < SECONDS
    assert used.ru_maxrss << 10 < BYTES


# -- the limits ------------------------------------------------------------------------------------

def test_a_real_file_is_within_them(tmp_path):
    assert load_part(PART).name
    arrays = {"a": np.arange(6).reshape(2, 3), "b": np.float32(1), "c": np.zeros((0, 10**9))}
    np.savez_compressed(tmp_path / "x.npz", **arrays)
    read = arrays_in(tmp_path / "x.npz")
    assert read.keys() == arrays.keys()
    for name, array in arrays.items():
        assert np.array_equal(read[name], array)
    dots = "." * 50
    (tmp_path / "x.toml").write_text("\n".join([
        ".".join("a" * 32) + f" = 1 # {dots}", f'b = "{dots}"', f"c = '''{dots}", f"{dots}'''",
        f"'{dots}' = 1"]))
    assert set(load_toml((tmp_path / "x.toml").read_text())) == {*"abc", dots}


def test_a_pipe_is_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = subprocess.Popen(["sh", "-c", "echo text > pipe"], cwd=tmp_path)
    assert bytes_in(tmp_path / "pipe") == b"text\n"
    assert writer.wait() == 0


def test_lines_within_the_limit(tmp_path):
    (tmp_path / "x").write_text("a\n" + "b" * (1 << 20) + "\n")
    with (tmp_path / "x").open() as file, pytest.raises(OSError, match="a line of more than"):
        list(lines_of(file, "x"))
    (tmp_path / "x").write_text("a\n" + "b" * ((1 << 20) - 1) + "\nc")
    with (tmp_path / "x").open() as file:
        assert [len(line) for line in lines_of(file, "x")] == [2, 1 << 20, 1]


def test_memory_is_limited_while_a_file_is_parsed():
    before = resource.getrlimit(resource.RLIMIT_AS)
    with parsing("x"):
        with parsing("y"):
            pass
        assert resource.getrlimit(resource.RLIMIT_AS)[0] > MEMORY

    def parse():
        with parsing("x"):
            bytearray(MEMORY + (1 << 30))

    with pytest.raises(OSError, match="it would take more than 4,096 MB of memory"):
        parse()
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_no_memory_is_one_line(call, monkeypatch):
    def none(*_):
        raise MemoryError

    monkeypatch.setattr("cyclebound.sim.catalogue.load", none)
    said = call("list")
    assert said.returncode == 2
    assert said.stderr == "cyclebound: there is not enough memory for this\n"
