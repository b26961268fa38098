"""Kernels: what they become, and what cannot be mapped."""

import numpy as np
import pytest

from cyclebound.golden.dataflow import kernels
from cyclebound.golden.dataflow.compile import compile_kernel
from cyclebound.golden.dataflow.control import Control
from cyclebound.golden.dataflow.graph import ENABLE, Memory
from cyclebound.golden.dataflow.interpret import interpret
from cyclebound.golden.dataflow.kernel import Float, Floats, Int, Ints, KernelError, kernel
from cyclebound.golden.dataflow.kernels import KERNELS
from cyclebound.golden.dataflow.segments import compile_segments
from cyclebound.tb.dataflow.fabric_constants import CONSTANTS

pytestmark = pytest.mark.unit


def arrays_of(each, size, seed=1):
    rng = np.random.default_rng(seed)
    return {name: (rng.standard_normal(size).astype(np.float32).view(np.uint32)
                   if each.parameters[name] is Floats
                   else rng.integers(0, 2, size).astype(np.uint32)) for name in each.arrays}


def plainly(each, arrays, threads, constants):
    """The kernel as what it is, too: a Python function, for one thread after the other."""
    space = {"sqrt": np.sqrt, "float32": np.float32, "int32": np.int32,
             "fma": None}
    numbers = {name: array.copy().view(np.float32 if each.parameters[name] is Floats
                                       else np.int32) for name, array in arrays.items()}
    given = {name: np.float32(value) if each.parameters[name] is Float else value
             for name, value in constants.items()}
    function = each.function
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
    each, constants, threads = KERNELS[name], CONSTANTS.get(name, {}), 1024
    arrays = arrays_of(each, threads)
    wanted = plainly(each, arrays, threads, constants)
    found = {array: words.copy() for array, words in arrays.items()}
    (graph,) = compile_segments(each, **constants)
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


@pytest.mark.parametrize(("each", "constants"), [
    (branches, {"limit": 0}), (converts, {"c": 0.5}), (power_sum, {"n": 4})])
def test_branches_conversions_and_loops(each, constants):
    rng = np.random.default_rng(3)
    arrays = {name: (rng.integers(-9, 9, 64).astype(np.int32).view(np.uint32)
                     if each.parameters[name] is Ints
                     else rng.standard_normal(64).astype(np.float32).view(np.uint32))
              for name in each.arrays}
    wanted = plainly(each, arrays, 64, constants)
    memory = {name: words.copy() for name, words in arrays.items()}
    graphs = compile_segments(each, **constants)
    for graph in graphs:
        for task in graph.tasks.values():
            if task.array:
                memory.setdefault(task.array, np.zeros(64, np.uint32))
        interpret(graph, memory, 64)
    assert same({name: memory[name] for name in arrays}, wanted)
    assert len(graphs) == (6 if each is power_sum else 1)


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


# -- what cannot be mapped -------------------------------------------------------------------------


@pytest.mark.parametrize(("line", "message"), [
    ("while tid: pass", "while cannot be mapped"),
    ("print(tid)", r"'print\(tid\)' cannot be mapped"),
    ("a[tid] = [1]", "a list cannot be mapped"),
    ("a[tid] = c", "c has no value here"),
    ("c[tid] = 1", "c is no array of the kernel"),
    ("a[b[tid]] = 1", "an index must be an integer, not float"),
    ("a[tid] = b[tid]", "float cannot be stored in a, an array of int"),
    ("b[tid] = b[tid] * a[tid]",
     r"\* of float and int; convert one with float32\(\) or int32\(\)"),
    ("b[tid] = b[tid] // b[tid]", "// of floats cannot be mapped"),
    ("a[tid] = a[tid] / 2", "/ of ints cannot be mapped"),
    ("a[tid] = 1.5 + 2.5", r"\+ of two constants; work it out before"),
    ("a[tid] = tid if tid else b[tid]", "one way is int, the other float"),
    ("a[tid] = tid and a[tid]", ("a load that is only made if what stands before it says so "
     "cannot be mapped; write an if")),
    ("a[tid] = min(tid)", "min has 2 operands, not 1"),
    ("a[tid] = 1 < tid < 3", "a chain of comparisons cannot be mapped"),
    ("n = 3", "parameter n cannot be assigned to"),
    ("for k in range(a[0]): a[tid] = k", (r"a loop over range\(a\[0\]\) cannot be mapped: its "
     "bounds must be a range of constants")),
    ("return 1", "return cannot be mapped"),
])
def test_refusals_name_line_and_construct(line, message, tmp_path, monkeypatch):
    source = ("from cyclebound.golden.dataflow.kernel import *\n@kernel\n"
              f"def bad(tid, a: Ints, b: Floats, n: Int):\n    x = tid\n    {line}\n")
    (tmp_path / "bad_kernel.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    import importlib
    import sys
    sys.modules.pop("bad_kernel", None)
    module = importlib.import_module("bad_kernel")
    with pytest.raises(KernelError, match=f"^kernel bad, line 3: {message}$"):
        compile_segments(module.bad, n=4)


def test_refuses_parameters_and_constants():
    with pytest.raises(TypeError, match=r"^kernel saxpy needs a value for a$"):
        compile_kernel(KERNELS["saxpy"])
    with pytest.raises(TypeError, match=r"^kernel saxpy has no constant b$"):
        compile_kernel(KERNELS["saxpy"], a=1, b=2)
    with pytest.raises(KernelError, match=r"line 1: parameter x must be Ints, Floats, Int or "):
        kernel(lambda_with_no_kind)
    assert kernels.KERNELS is KERNELS


def lambda_with_no_kind(tid, x):
    x[tid] = 1
