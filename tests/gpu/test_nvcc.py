"""CUDA C++ through NVIDIA's compiler: what it becomes is read, for every architecture that it has.

    pip install -c constraints.txt -e '.[cuda]'; pytest --thorough tests/gpu/test_nvcc.py
"""

import json
import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from cyclebound.golden.gpu.compute_capability import CAPABILITIES, capability
from cyclebound.golden.gpu.opcodes import opcode_of
from cyclebound.sim.families.gpu import nvcc
from cyclebound.tools.gpu.resource_usage import parse_usage
from cyclebound.tools.gpu.sass import parse_sass

pytestmark = pytest.mark.system

KERNELS = Path(__file__).parent / "cuda" / "kernels.cu"
COMPILED = [each for each in CAPABILITIES.values() if each.name != "7.0"]  # which CUDA 13 has not
OF_A_FAMILY = ("sm_90a", "sm_100a", "sm_103a", "sm_110a", "sm_120a", "sm_121a")
BOUND = {"saxpy", "tiled", "nested", "warps", "halves", "pairs", "clocks"}  # loops that count


def thorough(test):
    """Only where there is the compiler with its tools; demanded by a variable."""
    missing = "CYCLEBOUND_REQUIRE_NVCC" not in os.environ and [
        name for name in ("nvcc", "cuobjdump", "nvdisasm") if nvcc.tool(name) is None]
    reason = f"{' '.join(missing or [])} not installed"
    return pytest.mark.thorough(pytest.mark.skipif(bool(missing), reason=reason)(test))


@pytest.fixture(autouse=True)
def _forgotten():
    nvcc.compiled.cache_clear()


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "own.cu"
    path.write_text("__global__ void own() {}\n")
    return path


def fake(tmp_path, name, script):
    path = tmp_path / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def tools(tmp_path, monkeypatch, call):
    """Programs that stand for NVIDIA's: what they say, of a listing of ours."""
    call("gpu", "listing", "add", "-o", str(tmp_path / "add.sass"), "-a", "sm_90")
    (tmp_path / "usage").write_text(
        "Fatbin elf code:\n================\narch = sm_90\n\nResource usage:\n Function add:\n"
        "  REG:12 STACK:0 SHARED:0 LOCAL:0 CONSTANT[0]:380 TEXTURE:0 SURFACE:0 SAMPLER:0\n")
    programs = {
        "nvcc": fake(tmp_path, "nvcc", f'echo "$@" > {tmp_path}/said; touch "$4"'),
        "cuobjdump": fake(tmp_path, "cuobjdump",
                          f"test $1 = -sass && cat {tmp_path}/add.sass || cat {tmp_path}/usage")}
    monkeypatch.setattr(nvcc, "tool", programs.get)
    return programs


def test_a_file_of_cuda_is_compiled_and_has_its_registers(tools, source, call, tmp_path):
    call("gpu", "listing", "add", "-o", str(tmp_path / "add.sass"), "-a", "sm_90")
    launch = ("--grid", "216", "--block", "1024", "--json")
    by_hand = json.loads(call("gpu", "bound", str(tmp_path / "add.sass"), "--res-usage",
                              str(tmp_path / "usage"), *launch).stdout)
    found = call("gpu", "bound", str(source), "-c", "9.0", *launch)
    assert json.loads(found.stdout) == by_hand
    assert (tmp_path / "said").read_text().startswith("-cubin -arch=sm_90 -o ")
    listed = call("gpu", "listing", str(source), "-o", str(tmp_path / "copy"), "-a", "sm_90")
    assert listed.returncode == 0
    assert (tmp_path / "copy").read_text() == (tmp_path / "add.sass").read_text()
    said = call("gpu", "bound", str(source), "-r", "16", *launch)
    assert said.returncode == 2
    assert "--registers: the compiler gives add of" in said.stderr


@pytest.mark.parametrize(("programs", "says"), [
    ({}, "is CUDA C++, and there is no nvcc to compile it"),
    ({"nvcc": "true"}, "is CUDA C++, and there is no cuobjdump"),
    ({"nvcc": "echo \"$5(1): error: expected a ';'\" >&2; exit 1", "cuobjdump": "true"},
     "nvcc refuses it: {}(1): error: expected a ';'"),
    ({"nvcc": "true", "cuobjdump": "echo nothing"}, "the listing of {}"),
    ({"nvcc": "sleep 60", "cuobjdump": "true"}, "nvcc has not ended in 0.5 s")])
def test_what_goes_wrong_is_one_line(programs, says, source, call, tmp_path, monkeypatch):
    made = {name: fake(tmp_path, name, script) for name, script in programs.items()}
    monkeypatch.setattr(nvcc, "tool", made.get)
    monkeypatch.setattr(nvcc, "_SECONDS", 0.5)
    said = call("gpu", "bound", str(source), "-g", "1", "-b", "32")
    assert (said.returncode, said.stdout) == (2, "")
    assert says.format(source) in said.stderr.replace("\n", " ")


def test_no_such_file(tools, call, tmp_path):
    said = call("gpu", "kernels", str(tmp_path / "none.cu"))
    assert said.returncode == 2
    assert "no such file" in said.stderr


@thorough
@pytest.mark.parametrize("architecture", [
    *(each.architecture for each in COMPILED), *OF_A_FAMILY])
def test_every_architecture_is_read(architecture, tmp_path):
    """By the output of either tool: the same kernels, with the same instructions, all known."""
    listing = nvcc.compiled(KERNELS, architecture).listing
    kernels = {kernel.name: kernel for kernel in parse_sass(listing)}
    assert set(kernels) == {
        line.partition("void ")[2].partition("(")[0]
        for line in KERNELS.read_text().splitlines() if line.startswith("__global__")}
    assert {kernel.architecture for kernel in kernels.values()} == {architecture}
    unknown = Counter(one.name for kernel in kernels.values() for one in kernel.instructions
                      if opcode_of(one.name) is None)
    assert not unknown
    cubin = tmp_path / "kernels.cubin"
    subprocess.run([nvcc.tool("nvcc"), "-cubin", f"-arch={architecture}", "-o", cubin, KERNELS],
                   check=True)
    text = subprocess.run([nvcc.tool("nvdisasm"), cubin], check=True, capture_output=True,
                          text=True).stdout
    again = {kernel.name: kernel for kernel in parse_sass(text)}
    assert {name: [one.name for one in kernel.instructions] for name, kernel in again.items()} == {
        name: [one.name for one in kernel.instructions] for name, kernel in kernels.items()}
    usages = parse_usage(nvcc.compiled(KERNELS, architecture).usage)
    assert {usage.name for usage in usages} >= set(kernels)


@thorough
@pytest.mark.parametrize("limits", COMPILED, ids=lambda limits: limits.name)
def test_each_kernel_has_a_bound_or_the_reason_why_not(limits, call):
    refused = {}
    for kernel in parse_sass(nvcc.compiled(KERNELS, limits.architecture).listing):
        said = call("gpu", "bound", str(KERNELS), "--kernel", kernel.name, "-g", "64", "-b", "128",
                    "-c", limits.name, "--json")
        found = json.loads(said.stdout)
        if said.returncode:
            refused[kernel.name] = " ".join(found["reasons"])
        else:
            assert found["cycles"] > 0
    assert not BOUND & refused.keys(), refused
    assert "the texture unit" in refused["texture"]
    assert "calls itself" in refused["recursive"]
    assert "a loop without a bound" in refused["as_told"]
    assert ("not published" in refused.get("product", "")) == (limits.tensor_cycles is None)


def test_a_product_whose_time_is_not_published_has_no_bound_but_by_the_user(call, tmp_path):
    """The listing of 8.0 with the limits of another."""
    call("gpu", "listing", "matrix", "-o", str(tmp_path / "m.sass"))
    text = (tmp_path / "m.sass").read_text()
    assert "HFMA2.MMA" in text  # which goes through that pipeline by the thesis
    words = ("gpu", "bound", str(tmp_path / "m.sass"), "-g", "1", "-b", "32", "-r", "32", "--json")
    assert call(*words, "-c", "9.0").returncode == 0
    said = call(*words, "-c", "10.0")
    assert said.returncode == 1
    assert "--set tensor_cycles=N says it" in said.stdout
    few, many = (json.loads(call(*words, "-c", "12.0", "--set", f"tensor_cycles={cycles}").stdout)[
        "cycles"] for cycles in (8, 4096))
    assert many > few
    assert capability("sm_103a").name == "10.3"
    assert capability("sm_121f").architecture == "sm_121"
