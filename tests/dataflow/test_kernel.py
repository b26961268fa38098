"""Kernels: what they become, and what cannot be mapped."""

import importlib
import sys

import numpy as np
import pytest

from cyclebound.golden.dataflow import kernels
from cyclebound.golden.dataflow.control import Control
from cyclebound.golden.dataflow.graph import ENABLE, Memory
from cyclebound.golden.dataflow.interpret import interpret
from cyclebound.golden.dataflow.kernel import Float, Floats, Int, Ints, KernelError, kernel
from cyclebound.golden.dataflow.kernel_constants import CONSTANTS
from cyclebound.golden.dataflow.kernels import KERNELS
from cyclebound.tools.dataflow.compile import compile_kernel
from cyclebound.tools.dataflow.segments import compile_segments

pytestmark = pytest.mark.unit


def arrays_of(tested, size, seed=1):
    rng = np.random.default_rng(seed)
    return {name: (rng.standard_normal(size).astype(np.float32).view(np.uint32)
                   if tested.parameters[name] is Floats
                   else rng.integers(0, 2, size).astype(np.uint32)) for name in tested.arrays}


def plainly(tested, arrays, threads, constants):
    """The kernel as what it is, too: a Python function, for one thread after the other."""
    space = {"sqrt": np.sqrt, "float32": np.float32, "int32": np.int32,
             "fma": None}
    numbers = {name: array.copy().view(np.float32 if tested.parameters[name] is Floats
                                       else np.int32) for name, array in arrays.items()}
    given = {name: np.float32(value) if tested.parameters[name] is Float else value
             for name, value in constants.items()}
    function = tested.function
    function.__globals__.update(space)
    try:
        for thread in range(threads):
            with np.errstate(all="ignore"):
                function(thread, **numbers, **given)
    finally:
        for name in space:
            del function.__globals__[name]
    return {name: array.view(np.uint32) for name, array in numbers.items()}


def same(one, other):
    """Bit by bit; a NaN is a NaN."""
    return all(np.array_equal(a, b) or np.array_equal(
        np.where(np.isnan(a.view(np.float32)), 0, a), np.where(np.isnan(b.view(np.float32)), 0, b))
        for a, b in ((one[name], other[name]) for name in one))


@pytest.mark.parametrize("name", KERNELS)
def test_graphs_do_what_the_function_does(name):
    tested, constants, threads = KERNELS[name], CONSTANTS.get(name, {}), 1024
    arrays = arrays_of(tested, threads)
    wanted = plainly(tested, arrays, threads, constants)
    found = {array: words.copy() for array, words in arrays.items()}
    (graph,) = compile_segments(tested, **constants)
    assert interpret(graph, found, threads) == []
    assert same(found, wanted)
    assert any(not np.array_equal(found[array], arrays[array]) for array in arrays)


@kernel
def branches(tid, a: Ints, b: Ints, limit: Int):
    x = a[tid]
    if x < limit:
        y = x * 2
        b[tid] = y
    elif (x & 1) == 0:
        y = -x
    else:
        y = min(x, 7) // 2
        b[tid] = 1
    a[tid] = y + b[tid]


@kernel
def converts(tid, a: Ints, b: Floats, c: Float):
    x = float32(a[tid]) * c  # noqa: F821
    b[tid] = -x if x > 4.0 else x + 1
    a[tid] = int32(b[tid]) ^ ~tid  # noqa: F821


@kernel
def power_sum(tid, a: Floats, b: Floats, n: Int):
    total = 0.0
    factor = a[tid]
    for k in range(n):
        total = total * factor + k
    b[tid] = total


@pytest.mark.parametrize(("tested", "constants"), [
    (branches, {"limit": 0}), (converts, {"c": 0.5}), (power_sum, {"n": 4})])
def test_branches_conversions_and_loops(tested, constants):
    rng = np.random.default_rng(3)
    arrays = {name: (rng.integers(-9, 9, 64).astype(np.int32).view(np.uint32)
                     if tested.parameters[name] is Ints
                     else rng.standard_normal(64).astype(np.float32).view(np.uint32))
              for name in tested.arrays}
    wanted = plainly(tested, arrays, 64, constants)
    memory = {name: words.copy() for name, words in arrays.items()}
    graphs = compile_segments(tested, **constants)
    for graph in graphs:
        for task in graph.tasks.values():
            if task.array:
                memory.setdefault(task.array, np.zeros(64, np.uint32))
        interpret(graph, memory, 64)
    assert same({name: memory[name] for name in arrays}, wanted)
    assert len(graphs) == (6 if tested is power_sum else 1)


def test_memory_keeps_its_order_within_a_thread():
    """The last load waits for both stores, one of which may be poisoned."""
    graph = compile_kernel(branches, limit=0)
    loads = [task for task in graph.tasks.values()
             if task.function == Memory.LOAD and task.array == "b"]
    assert len(loads) == 1
    join = graph.tasks[loads[0].operands[2].task]
    assert join.function == Control.JOIN
    assert {graph.tasks[token.task].function for token in join.operands} == {Memory.STORE}
    assert all(token.channel != ENABLE for token in join.operands)  # they may be poisoned


def test_accesses_outside_are_not_made():
    memory = {name: np.ones(4, np.uint32) for name in "xyz"}
    faults = interpret(compile_kernel(KERNELS["vector_add"]), memory, 6)
    assert set(faults) == {(name, thread, thread) for name in "xyz" for thread in (4, 5)}


@kernel
def scattered(tid, x: Ints, y: Ints, z: Ints):
    z[x[tid]] = y[tid]


@pytest.mark.parametrize(("places", "share", "found"), [
    ([0, 1, 2, 3, 4, 5], 1, []),
    ([0, 1, 1, 3, 4, 5], 1, [("z", 1, 1, 2)]),
    ([0, 1, 1, 3, 4, 5], 3, []),           # of one core
    ([0, 1, 1, 3, 4, 5], 2, [("z", 1, 1, 2)]),
    ([0, 1, 1, 1, 4, 5], 3, [("z", 1, 2, 3)]),
    ([0, 1, 2, 3, 4, 0], 5, [("z", 0, 0, 5)]),
    ([0, 1, 2, 3, 4, 0], 6, [])])
def test_two_cores_that_store_one_word(places, share, found):
    """Threads are on one core if they are of the same ``share`` threads in a row."""
    memory = {"x": np.array(places, np.uint32), "y": np.arange(6, dtype=np.uint32),
              "z": np.zeros(6, np.uint32)}
    shared: list = []
    interpret(compile_kernel(scattered), memory, 6, shared, share)
    assert [(array, at, *(thread // share for thread in two)) for array, at, *two in shared] == [
        (array, at, *(thread // share for thread in two)) for array, at, *two in found]


def test_a_word_that_one_core_stores_and_another_loads():
    memory = {"x": np.arange(4, dtype=np.uint32), "y": np.ones(4, np.uint32)}
    shared: list = []
    interpret(compile_kernel(neighbours), memory, 4, shared, 2)
    assert [(array, at) for array, at, *_ in shared] == [("x", 2)]
    with pytest.raises(ValueError, match=r"^threads of a core must be at least 1, not 0$"):
        interpret(compile_kernel(neighbours), memory, 4, share=0)


@kernel
def neighbours(tid, x: Ints, y: Ints):
    y[tid] = x[(tid + 1) & 3]
    x[tid] = 7


# -- what cannot be mapped -------------------------------------------------------------------------


@pytest.mark.parametrize(("line", "message"), [
    ("while tid: pass", ("a loop cannot be mapped unless its condition is known when the kernel is "
     r"mapped, or the most iterations are stated: while bounded\(x > 1, 32\)")),
    ("while bounded(tid, tid): pass",
     "the bound of a loop must be a constant integer from 1 to 4096"),
    ("while bounded(tid, 0): pass",
     "the bound of a loop must be a constant integer from 1 to 4096, not 0"),
    ("while bounded(tid, 4097): pass",
     "the bound of a loop must be a constant integer from 1 to 4096, not 4097"),
    ("for k in bounded(range(tid), 1.5): a[tid] = k",
     "the bound of a loop must be a constant integer from 1 to 4096, not 1.5"),
    ("for k in bounded(range(b[tid]), 3): a[tid] = k", "a range is of integers"),
    ("for k in bounded(range(0, tid, tid), 3): a[tid] = k",
     "the step of a range must be a constant integer other than 0"),
    ("for k in bounded(range(0, tid, 0), 3): a[tid] = k",
     "the step of a range must be a constant integer other than 0"),
    ("for k in bounded(range(tid), 3): n = k", "parameter n cannot be assigned to"),
    ("for n in bounded(range(tid), 3): a[tid] = n", "parameter n cannot be assigned to"),
    ("while bounded(tid): pass", (r"bounded is for loops: for k in range\(8\), for k in "
     r"bounded\(range\(x\), 8\), while bounded\(x > 1, 8\)")),
    ("a[tid] = bounded(tid, 3)", (r"bounded is for loops: for k in range\(8\), for k in "
     r"bounded\(range\(x\), 8\), while bounded\(x > 1, 8\)")),
    ("bounded = 3", "bounded cannot be assigned to, for it is a function of the language"),
    ("while True: pass", "a kernel must have 4096 iterations at most"),
    ("print(tid)", r"'print\(tid\)' cannot be mapped"),
    ("a[tid] = [1]", "a list cannot be mapped"),
    ("a[tid] = c", "c has no value here"),
    ("c[tid] = 1", "c is no array of the kernel"),
    ("a[b[tid]] = 1", "an index must be an integer, not float"),
    ("a[tid] = b[tid]", "float cannot be stored in a, an array of int"),
    ("b[tid] = min(b[tid], a[tid])",
     r"min of float and int; convert one with float32\(\) or int32\(\)"),
    ("b[tid] = b[tid] & tid", "& of floats cannot be mapped"),
    ("b[tid] = 0.5 << tid", "<< of floats cannot be mapped"),
    ("b[tid] = b[tid] // b[tid]", "// of floats cannot be mapped"),
    ("b[tid] = b[tid] % 2.0", "% of floats cannot be mapped"),
    ("b[tid] = 5.0 % 2.0", "% of floats cannot be mapped"),
    ("a[tid] = a[tid] / 2", "float cannot be stored in a, an array of int"),
    ("b[tid] = 5 / 0", "/ by 0"),
    ("a[tid] = round(b[tid], 1)", "round has 1 operand, not 2"),
    ("a[tid] = 1.5 + 2.5", "float cannot be stored in a, an array of int"),
    ("a[tid] = tid if tid else b[tid]", "one branch is int, the other float"),
    ("a[tid] = tid and b[tid]", "and of int and float"),
    ("a[tid] = min(tid)", "min has 2 operands or more, not 1"),
    ("a[tid] = fma(tid, tid, 1.0)", "fma is for floats"),
    ("a[tid] = abs(tid, 1)", "abs has 1 operand, not 2"),
    ("a[tid] = pow(tid, 2)", ("function pow cannot be mapped; there are abs, bool, float, "
     "float32, fma, idiv, int, int32, leu, ltu, max, min, round, shr, sqrt")),
    ("a[tid] = tid is x", "'tid is x' cannot be mapped"),
    ("a[tid] = tid in (1, 2)", "a tuple cannot be mapped"),
    ("n = 3", "parameter n cannot be assigned to"),
    ("n += 3", "parameter n cannot be assigned to"),
    ("tid, x = x, tid", "parameter tid cannot be assigned to"),
    ("for n in range(3): a[tid] = n", "parameter n cannot be assigned to"),
    ("for tid in range(3): a[tid] = 1", "parameter tid cannot be assigned to"),
    ("for a in range(3): b[tid] = a", "parameter a cannot be assigned to"),
    ("min = 3", "min cannot be assigned to, for it is a function of the language"),
    ("a[tid] = a", "array a needs an index here"),
    ("for k in range(a[0]): a[tid] = k", (r"a loop over range\(a\[0\]\) cannot be mapped: its "
     r"bounds must be a range of constants, or the most iterations stated: "
     r"bounded\(range\(x\), 32\)")),
    ("for k in range(0, 3, 0): a[tid] = k", r"range\(\) arg 3 must not be zero"),
    ("for k in range(10000): a[tid] = k", "a kernel must have 4096 iterations at most"),
    ("for k, j in range(3): a[tid] = k",
     "a for with more than one variable cannot be mapped"),
    ("for k in a: b[tid] = k", ("a loop over a cannot be mapped: its bounds must be a range of "
     r"constants, or the most iterations stated: bounded\(range\(x\), 32\)")),
    ("return 1", "return of a value cannot be mapped"),
    ("a[tid] = tid + (1 << 32)", "a shift must be by 0 to 31, not 32"),
    ("a[tid] = 1 << -1", "a shift must be by 0 to 31, not -1"),
    ("a[tid] = tid >> 32", "a shift must be by 0 to 31, not 32"),
    ("a[tid] = tid << -1", "a shift must be by 0 to 31, not -1"),
    ("a[tid] = shr(tid, 33)", "a shift must be by 0 to 31, not 33"),
    ("a[tid] = tid + 4294967296", "4294967296 is no integer of 32 bits"),
    ("a[tid] = tid - 2147483649 * 2", "4294967298 is no integer of 32 bits"),
    ("a[tid] = tid < 4294967295", "4294967295 is no integer of 32 bits with a sign"),
    ("a[tid] = 4294967295 > 3", "4294967295 is no integer of 32 bits with a sign"),
    ("a[tid] = tid // 4294967295", "4294967295 is no integer of 32 bits with a sign"),
    ("a[tid] = tid // 0", "// by 0"),
    ("a[tid] = 5 % (n - 4)", "% by 0"),
    ("a[tid] = idiv(tid, 0)", "idiv by 0"),
    ("a[tid] = tid ** tid", "an exponent must be a constant integer from 0 to 64"),
    ("a[tid] = tid ** -1", "an exponent must be a constant integer from 0 to 64"),
    ("b[tid] = b[tid] ** 0.5", "an exponent must be a constant integer from 0 to 64"),
    ("b[tid] = b[tid] * 1e39", r"1e\+39 is too large for single precision"),
    ("b[tid] = b[tid] * 9007199254740993", "9007199254740993 has too many digits for a float"),
    ("b[tid] = ~b[tid]", "~ of floats cannot be mapped"),
    ("b[tid] = ~1.5", "~ of floats cannot be mapped"),
    ("b[tid] = tid < 3", "bool cannot be stored in b, an array of float"),
    ("a[-1] = 3", "an index must be 0 or more, not -1"),
    ("a[tid] = (y := 3)", "an assignment in an expression cannot be mapped"),
    ("a[tid], x = tid", r"'\(?a\[tid\], x\)? = tid' cannot be mapped"),
    ("x: int = 3", "'x: int = 3' cannot be mapped"),
    ("import os", "import cannot be mapped"),
    ("a[tid] = abs(x=1)", r"'abs\(x=1\)' cannot be mapped"),
])
def test_refusals_name_line_and_construct(line, message, tmp_path, monkeypatch):
    source = ("from cyclebound.golden.dataflow.kernel import *\n@kernel\n"
              f"def bad(tid, a: Ints, b: Floats, n: Int):\n    x = tid\n    {line}\n")
    (tmp_path / "bad_kernel.py").write_text(source)
    monkeypatch.chdir(tmp_path)  # so that the file has a short name
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("bad_kernel", None)
    module = importlib.import_module("bad_kernel")
    with pytest.raises(KernelError, match=f"^bad_kernel.py, line 5: kernel bad: {message}$"):
        compile_segments(module.bad, n=4)


def test_refuses_parameters_and_constants():
    with pytest.raises(TypeError, match=r"^kernel saxpy needs a value for a$"):
        compile_kernel(KERNELS["saxpy"])
    with pytest.raises(TypeError, match=r"^kernel saxpy has no constant b$"):
        compile_kernel(KERNELS["saxpy"], a=1, b=2)
    with pytest.raises(KernelError, match=r"test_kernel.py, line \d+: kernel lambda_with_no_kind: "
                       "parameter x must be Ints, Floats, Int or Float$"):
        kernel(lambda_with_no_kind)
    assert kernels.KERNELS is KERNELS


def lambda_with_no_kind(tid, x):
    x[tid] = 1
