"""What kernels mean: Python's own call of the function, the interpreter and the golden fabric."""

from pathlib import Path

import numpy as np
import pytest

from cyclebound.golden.dataflow import kernel as language
from cyclebound.golden.dataflow.bitstream import DEPTHS
from cyclebound.golden.dataflow.fabric import FabricModel
from cyclebound.golden.dataflow.graph import Memory, Task
from cyclebound.golden.dataflow.grid import FIVE_BY_FIVE
from cyclebound.golden.dataflow.interpret import interpret, interpret_all
from cyclebound.golden.dataflow.kernel import KernelError
from cyclebound.golden.dataflow.kernel_constants import CONSTANTS, MISSES
from cyclebound.golden.dataflow.kernels import LOOPS
from cyclebound.golden.dataflow.memory import kernel_arrays, typed_arrays
from cyclebound.golden.dataflow.plain import run_plainly
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.families.dataflow.run import load_kernel, run_kernel
from cyclebound.tools.dataflow import compile as compiling
from cyclebound.tools.dataflow import segments
from cyclebound.tools.dataflow.mapper import map_graph
from cyclebound.tools.dataflow.operands import Spilled, Value, float_bits
from cyclebound.tools.dataflow.random_kernels import compare, kernel_of, random_kernel, search
from cyclebound.tools.dataflow.run import run_graphs
from cyclebound.tools.dataflow.segments import compile_segments
from cyclebound.tools.dataflow.values import Scope

pytestmark = pytest.mark.unit

# pairs of hard numbers, one for each thread
INTEGERS = (0, 1, -1, 2, -2, 5, -7, 31, 32, 33, 100, -100, 2**31 - 1, -2**31, -2**31 + 1, 65536)
FLOATS = (0.0, -0.0, 1.0, -1.5, 2.75, 1e30, -1e30, 3e9, -3e9, 1e-40, float("inf"), float("nan"))
PAIRS = [(a, b) for a in INTEGERS for b in INTEGERS]
SINGLES = [(a, b) for a in FLOATS for b in FLOATS]


def kernel(body, parameters="a: Ints, b: Ints, c: Ints, x: Floats, y: Floats, z: Floats, n: Int"):
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return kernel_of(f"@kernel\ndef k(tid, {parameters}):\n{lines}", f"<{body}>")


def memory(threads):
    def column(values, k, kind):
        return np.array([values[i % len(values)][k] for i in range(threads)], kind).view(np.uint32)

    return {"a": column(PAIRS, 0, np.int32), "b": column(PAIRS, 1, np.int32),
            "c": np.zeros(threads, np.uint32), "x": column(SINGLES, 0, np.float32),
            "y": column(SINGLES, 1, np.float32), "z": np.zeros(threads, np.uint32)}


def agree(tested, threads=0, **constants):
    """Python and the interpreter agree, on hard numbers."""
    threads = threads or len(PAIRS)
    arrays = memory(threads)
    wanted = {name: words.copy() for name, words in arrays.items()}
    faults = run_plainly(tested, wanted, threads, **constants)
    graphs = compile_segments(tested, **constants)
    found, outside = interpret_all(graphs, arrays, threads)
    assert typed_arrays(tested, found).keys() == set(tested.arrays)
    for name, words in wanted.items():
        differ = words != found[name]
        if name in "xyz":
            differ &= ~(np.isnan(words.view(np.float32)) & np.isnan(found[name].view(np.float32)))
        assert not differ.any(), (name, np.flatnonzero(differ)[:3], words[differ][:3],
                                  found[name][differ][:3])
    assert sorted(faults) == sorted(outside)


WHOLE = ["p + q", "p - q", "p * q", "-p", "~p", "+p", "abs(p)", "p & q", "p | q", "p ^ q", "p // q",
         "p % q", "p // 3", "p % 3", "p // -3", "p % -3", "p // 8", "p % 8", "p // 1", "p % 1",
         "7 // q", "7 % q", "tid // 3", "tid % 5", "(p & 15) // 3", "(p & 15) % (1 + (q & 3))",
         "p << q", "p >> q", "shr(p, q)", "p << 31", "p >> 31", "shr(p, 31)", "p << 0", "p >> 0",
         "1 << q", "p & 0xFFFFFFFF", "p ^ 0x80000000",
         "p + 0xFFFFFFFF", "p << (q & 31)", "ltu(p, q)", "leu(p, q)", "ltu(p, 0x80000000)",
         "p ** 2", "p ** 3", "p ** 0", "p ** 1", "3 ** 4 + p", "min(p, q)", "max(p, q, 3)",
         "idiv(p, q)", "idiv(p, 3)", "p and 5", "p or 9", "p and q", "p or q", "p and q and 3",
         "0 or p", "7 and p", "not p", "not (p and q)", "p < q", "p <= q", "p > q", "p >= q",
         "p == q", "p != q", "0 < p < q", "-5 <= p <= q <= 50", "p if p < q else q",
         "p if n else q", "p if p else -1", "(p < q) + (p == q)", "-(p < q)", "~(p < q)",
         "int(p < q) << 4", "bool(p)", "bool(p) + 1", "int(p)", "int(2.75) + p", "n // 2 + p",
         "n % 3 + p", "n ** 2 + p", "(n - 9) // 2 + p", "-n % 4 + p", "abs(n - 9) + p",
         "min(n, 2) + p", "p if 1.5 + 2.5 == 4.0 else q", "int32(3e9) ^ p", "(1 << 31) ^ p",
         "~0 ^ p", "p & -8", "a[tid] and b[tid]", "p or b[tid + n]", "True + p", "not n",
         "round(p)", "round(p < q)", "round(2.5) + p", "round(n / 2) + p", "round(-3.5e9) ^ p"]


@pytest.mark.parametrize("text", WHOLE)
def test_integers_are_pythons(text):
    agree(kernel(f"p = a[tid]\nq = b[tid]\nc[tid] = {text}"), n=7)


SINGLE = ["p + q", "p - q", "p * q", "p / q", "-p", "abs(p)", "+p", "p ** 2", "p ** 3", "p ** 0",
          "min(p, q)", "max(p, q)", "max(p, 0.0)", "min(1, p)", "max(p, q, 0.5)", "p and q",
          "p or q", "p or 2.5", "p if p < q else q", "float(a[tid])", "float32(a[tid])",
          "float(p)", "float(int(p))", "sqrt(p)", "fma(p, q, 1.5)", "p * 2", "p + (1 << 20)",
          "p + 1 / 3", "p + n / 2", "0.1 + 0.2 + p", "p * True", "sqrt(2.0) * p", "2.5 ** 3 * p",
          "(0.1 if a[tid] else 0.2) + 0.3", "p + float(n)", "fma(0.1, 3.0, n) * p",
          "min(0.1, 0.2) * p", "abs(-0.1) * p", "p - -0.0", "1e-50 + p", "float(p < q)",
          "a[tid] * 0.5", "0.1 * a[tid]", "a[tid] * p", "p - a[tid]", "a[tid] + q", "a[tid] / p",
          "p / a[tid]", "a[tid] / b[tid]", "a[tid] / 3", "7 / a[tid]", "(p < q) / (q < p)",
          "(p < q) * 0.5", "(p < q) / 2", "n / 16777217 + p", "16777217 / n + p", "a[tid] / n",
          "fma(p, 2.0, a[tid] / 2)", "tid / 7", "(1 << 30) / 3 * p", "n * p", "True / 2 * p"]


@pytest.mark.parametrize("text", SINGLE)
def test_floats_are_pythons(text):
    agree(kernel(f"p = x[tid]\nq = y[tid]\nz[tid] = {text}"), len(SINGLES), n=7)


@pytest.mark.parametrize("text", ["int(p)", "int32(p)", "p < q", "p <= q", "p > q", "p >= q",
                                  "p == q", "p != q", "not p", "bool(p)", "p < q < 1.0",
                                  "int(p < 1)", "3 if p else 4", "p == 1", "not (p or q)",
                                  "round(p)", "round(p * 0.25)", "round(p + 0.5)", "round(q - p)",
                                  "a[tid] < p", "p <= a[tid]", "a[tid] == p", "p != b[tid]",
                                  "p > n > q", "a[tid] < p < b[tid]", "(p < q) == p"])
def test_integers_from_floats_are_pythons(text):
    agree(kernel(f"p = x[tid]\nq = y[tid]\nc[tid] = {text}"), len(SINGLES), n=7)


BODIES = {
    "a loop variable hides what was there": (
        "k = 5\nfor k in range(n):\n    c[tid] += k\n    k = 40\nc[tid] += k", 5),
    "an empty loop leaves it": "k = 5\nfor k in range(n - 7):\n    pass\nc[tid] = k",
    "a variable of one branch only is the old one otherwise": (
        "p = a[tid]\nfor k in range(2):\n    if b[tid] > 3:\n        p = p + k\nc[tid] = p"),
    "a return": "if tid >= n:\n    return\nc[tid] = 3",
    "a return in either branch": (
        "p = a[tid]\nif p > 3:\n    c[tid] = 1\n    return\nelif p < -3:\n    p = 9\n"
        "else:\n    return None\nc[tid] = p"),
    "a return in a loop": (
        "p = a[tid]\nfor k in range(4):\n    p = p + k\n    if p > 3:\n        return\n"
        "    c[tid] = p\nz[tid] = 1.5"),
    "a constant after a return": (
        "m = 2\nif tid > 9:\n    return\nm = 3\nfor k in range(m):\n    c[tid] += m"),
    "a loop in an if": (
        "s = 0\nif a[tid] < 5:\n    t = a[tid]\n    for k in range(3):\n        t = t * 2 + k\n"
        "        s = s + t\n    c[tid] = t\nelse:\n    for j in range(2):\n        s = s - j\n"
        "c[tid] += s"),
    "loops in ifs in loops": (
        "s = a[tid]\nfor i in range(2):\n    if s & 1:\n        for j in range(2):\n"
        "            if s > j:\n                for k in range(i + 1):\n"
        "                    s = s + 3 * k + 1\n            else:\n                s = s ^ 5\n"
        "        c[tid] += s"),
    "a loop that a constant leaves out": (
        "if n > 9:\n    for k in range(1 << 30):\n        c[tid] = k\nelse:\n    c[tid] = n"),
    "a constant under two conditions": (
        "if a[tid] > 3:\n    if b[tid] > 3:\n        t = 0\n        for k in range(3):\n"
        "            t = t + 1\n            c[tid] += t"),
    "a constant under three conditions": (
        "if a[tid] > 3:\n    if b[tid] > 3:\n        if a[tid] < 60:\n            t = 0\n"
        "            for k in range(3):\n                t = t + 1\n                c[tid] += t"),
    "a while": "k = 6\nwhile k > 1:\n    c[tid] += k * a[tid]\n    k = k // 2",
    "a while in an if": (
        "if a[tid] > 3:\n    k = n\n    while k and n:\n        c[tid] += k\n        k -= 1\n"
        "        if c[tid] > 20:\n            return\nc[tid] += 1"),
    "a swap": "p = a[tid]\nq = b[tid]\nfor k in range(3):\n    p, q = q, p\nc[tid] = p - q",
    "what was assigned together": "p = q = a[tid]\np += 1\nc[tid] = p * 100 + q",
    "a load that a condition leaves out": (
        "c[tid] = a[tid + 250] if tid < 6 else 7\nz[tid] = x[tid - 3] if tid > 3 and "
        "x[tid - 4] > 0.0 else 0.5"),
    "an index outside": "c[tid] = a[tid - 3] + b[tid * 9]\nz[tid + 8] = 1",
    "only constants": "c[3] = 5\nz[0] = 2",
    "comparisons of what is loaded": "c[tid] = 0 < a[tid] < b[tid + 9]",
    "an index is worked out once": "c[tid + (b[tid + 250] & 0)] += 3\nc[tid] += b[tid + 251]",
    "a break": (
        "s = 0\nfor k in range(4):\n    if a[tid] < k * 3:\n        break\n    s += k + 1\n"
        "    c[tid] += s\nc[tid] += 100 * k + s"),
    "a break at once": "k = 9\nfor k in range(3):\n    break\nc[tid] = k",
    "a break that all threads take": (
        "for k in range(1000):\n    c[tid] += k\n    if k == 2:\n        break\nc[tid] *= k"),
    "a break of no iterations": (
        "k = 9\nfor k in range(n - 7):\n    if a[tid]:\n        break\nelse:\n    c[tid] = k"),
    "a break in both branches": (
        "for k in range(4):\n    if a[tid] > k:\n        c[tid] += 3\n        break\n    else:\n"
        "        z[tid] = x[tid]\n        break\n    c[tid] = 99\nc[tid] += k"),
    "continue": (
        "for k in range(4):\n    if (a[tid] >> k) & 1:\n        continue\n    c[tid] += 1 << k\n"
        "c[tid] += k"),
    "break and continue": (
        "s = b[tid]\nfor k in range(5):\n    s += k\n    if s & 1:\n        continue\n"
        "    if s > 9 * k:\n        break\n    c[tid] += s\n    s = s // 2\nc[tid] += 7 * s + k"),
    "continue in one branch, break in the other": (
        "for k in range(4):\n    if a[tid] > k:\n        c[tid] += 1\n        continue\n"
        "    elif b[tid] > k:\n        z[tid] = 0.5\n        break\n    c[tid] += 10\nc[tid] -= k"),
    "breaks of nested loops": (
        "s = a[tid]\nfor i in range(3):\n    for j in range(i + 2):\n        if s & 1:\n"
        "            break\n        s = s // 2 + j\n    if s > 50:\n        break\n"
        "    s = s * 3 + i\n    c[tid] += s + j\nc[tid] += 5 * i + j"),
    "an inner loop after a break, bounded by the counter": (
        "s = a[tid]\nfor i in range(4):\n    if s > 40:\n        break\n    for j in range(i):\n"
        "        s += j + 1\n        if b[tid] > s:\n            continue\n        c[tid] += i\n"
        "    s += 9\nc[tid] += s + i"),
    "a counter that the body changes, and a break": (
        "for k in range(3):\n    k = k + b[tid]\n    if k > 4:\n        break\n    c[tid] += k\n"
        "c[tid] += k"),
    "else of a loop": (
        "for k in range(3):\n    if a[tid] == k:\n        break\nelse:\n    c[tid] = 77\n"
        "c[tid] += k"),
    "else of a loop, that leaves the outer one": (
        "for i in range(3):\n    for k in range(2):\n        if a[tid] + b[tid] > k + i:\n"
        "            break\n    else:\n        c[tid] = 5\n        break\n    c[tid] += 100\n"
        "c[tid] += i"),
    "else of a loop with a return": (
        "for k in range(2):\n    if a[tid] == k:\n        return\n    if b[tid] == k:\n"
        "        break\nelse:\n    c[tid] = 4\n    return\nc[tid] = 6"),
    "break and return": (
        "s = a[tid]\nfor k in range(3):\n    s += k\n    if s > 20:\n        return\n"
        "    if s < 0:\n        break\n    c[tid] += s\nc[tid] += 1000 + s"),
    "a break of a while that is known": (
        "k = 6\nwhile k > 1:\n    if a[tid] > 10 * k:\n        break\n    c[tid] += k\n"
        "    k = k // 2\nc[tid] += 50 * k"),
    "while true, left by all": (
        "k = 0\nwhile True:\n    k += 1\n    c[tid] += k * a[tid]\n    if k > 3:\n        break\n"
        "c[tid] += k"),
    "a loop with a break in an if": (
        "s = 5\nif a[tid] > b[tid]:\n    for k in range(3):\n        s += k\n"
        "        if s + b[tid] > 3:\n            break\n    else:\n        s = -s\n"
        "    c[tid] = k\nelse:\n    for k in range(2, 4):\n        if b[tid] & k:\n"
        "            continue\n        s ^= k\nc[tid] += 10 * s"),
    "a break in an if with a loop": (
        "s = 0\nfor i in range(3):\n    if (a[tid] >> i) & 1:\n        for j in range(2):\n"
        "            s += j + 1\n            if s > b[tid]:\n                break\n        break\n"
        "    s += 10\nc[tid] = s + 100 * i"),
    "floats that a break leaves as they are": (
        "p = x[tid]\nfor k in range(4):\n    if p > 3.0 or p != p:\n        break\n"
        "    p = p * 2 + 1\n"
        "z[tid] = p"),
    "constants around a break": (
        "t = 0\nfor k in range(3):\n    t = 1\n    if k and a[tid] < 5 * k - 4:\n        break\n"
        "    t = 2\n"
        "c[tid] = 100 * k + t"),
    "constants around an inner break": (
        "t = 0\nfor i in range(2):\n    u = 7\n    for k in range(3):\n        t = 3\n"
        "        if k and a[tid] < 5 * k - 4 + i:\n            break\n        t = 4\n"
        "        u = 8 + k\n"
        "    c[tid] += 100 * t + u\n    if b[tid] > 50 * t:\n        break\n    t = 5\n"
        "c[tid] += t + 10 * i"),
    "constants around a continue": (
        "t = 0\nfor k in range(3):\n    t = k + 5\n    if k and a[tid] < 5 * k - 4:\n"
        "        continue\n"
        "    t = 2\n    if b[tid] > t:\n        break\n    for j in range(t):\n"
        "        c[tid] += j + t\n"
        "c[tid] += t"),
    "a constant that only some iterations change": (
        "t = 1\nfor k in range(3):\n    if (a[tid] >> k) & 1:\n        continue\n"
        "    c[tid] += t << 4 * k\n    t = 2"),
    "a constant that a condition changed before": (
        "t = 1\nfor k in range(3):\n    if (a[tid] >> k) & 1:\n        for j in range(2):\n"
        "            c[tid] += t + 10 * j\n        t = 2\nc[tid] += 100 * t"),
    "a zero with a sign": (
        "p = 0.0\nif a[tid] > 3:\n    p = -0.0\nz[tid] = p\np = n - 7.0\nfor k in range(3):\n"
        "    if b[tid] < 0:\n        continue\n    p = -p\n    z[tid] += x[tid]\n"
        "z[tid] = 1.0 / p if a[tid] else p"),
    "loads after a break are not made": (
        "i = tid * 64\nfor k in range(3):\n    if i > 255:\n        break\n    c[tid] += a[i]\n"
        "    i += 64"),
    "a continue that a constant decides": (
        "for k in range(6):\n    if k % 2:\n        continue\n    c[tid] += k * a[tid]"),
    "elements twice": "c[tid] += 3\nc[tid] *= 2\nc[tid] -= c[tid] // 2",
}


@pytest.mark.parametrize("what", BODIES)
def test_statements_are_pythons(what):
    body = BODIES[what]
    agree(kernel(body if isinstance(body, str) else body[0]), n=7)


def test_statements_with_quotients_are_pythons():
    agree(kernel("p = x[tid]\np *= a[tid]\np /= b[tid]\nq = a[tid]\nq /= 3\nz[tid] = p + q\n"
                 "z[tid] /= b[tid]\nz[tid] -= 5"), n=7)


@pytest.mark.parametrize("text", ["round(p)", "round(-p)", "int(p * a[tid])", "round(a[tid] / 8)"])
def test_rounding_near_every_limit(text):
    """Halves, the numbers beside them, the last with a fraction, and the ends of the range."""
    near = [0.5, 1.5, 2.5, 3.5, 0.25, 2.0**22, 2.0**22 + 0.5, 2.0**23 - 1, 2.0**23, 2.0**23 + 1,
            2.0**24, 2.0**31, 2.0**30, 1e-45, 0.0, np.inf, np.nan]
    values = np.array([way for number in np.float32(near) for way in (
        number, np.nextafter(number, np.float32(0)), np.nextafter(number, np.float32(np.inf)))])
    values = np.concatenate([values, -values, np.float32(np.arange(-40, 40) / 8)])
    tested = kernel(f"p = x[tid]\nc[tid] = {text}", "a: Ints, c: Ints, x: Floats")
    arrays = {"a": np.resize(np.array(INTEGERS, np.int32), len(values)).view(np.uint32),
              "c": np.zeros(len(values), np.uint32), "x": values.view(np.uint32)}
    wanted = {name: words.copy() for name, words in arrays.items()}
    run_plainly(tested, wanted, len(values))
    found, _ = interpret_all(compile_segments(tested), arrays, len(values))
    assert found["c"].tolist() == wanted["c"].tolist()
    if text == "round(p)":
        middle = np.abs(values) < 2**31
        assert wanted["c"].view(np.int32)[middle].tolist() == [
            round(float(value)) for value in values[middle]]


BOUNDED = {
    "a while": "p = a[tid] & 255\nwhile bounded(p > 1, 9):\n    p = p // 2\n    c[tid] += p",
    "a while that no thread enters": "while bounded(n < 3, 4):\n    c[tid] = 1\nc[tid] += 2",
    "a while that is known": "k = 6\nwhile bounded(k > 1, n):\n    c[tid] += k\n    k = k // 2",
    "a while that takes its bound": (
        "k = 0\nwhile bounded(k != (a[tid] & 3), 3):\n    k += 1\nc[tid] = k"),
    "Collatz": (
        "p = a[tid] & 15 | 1\nk = 0\nwhile bounded(p > 1, 20):\n    if p & 1:\n"
        "        p = 3 * p + 1\n    else:\n        p = p // 2\n    k += 1\nc[tid] = k"),
    "Newton's method": (
        "p = abs(x[tid])\nif p < 1e20 and p > 0.01:\n    q = p\n"
        "    while bounded(abs(q * q - p) > p * 0.001, 60):\n        q = 0.5 * (q + p / q)\n"
        "    z[tid] = q"),
    "a NaN ends a loop": (
        "p = x[tid]\nwhile bounded(p < 8.0, 5):\n    p = abs(p) * 2 + 1\n"
        "z[tid] = p"),
    "its exits": (
        "p = a[tid] & 63\nk = 0\nwhile bounded(p, 8):\n    k += 1\n    if p & 1:\n        p -= 1\n"
        "        continue\n    p = p // 4\n    if k > 3:\n        break\n    if p == 9:\n"
        "        return\nelse:\n    c[tid] += 50\nc[tid] += p + 100 * k"),
    "what its condition loads": (
        "k = 0\nwhile bounded(k < 5 and a[(tid + k) & 255] > 0, 5):\n    k += 1\nc[tid] = k"),
    "nested": (
        "p = a[tid] & 7\nwhile bounded(p > 0, 7):\n    q = b[tid] & 3\n"
        "    while bounded(q < p, 7):\n        q += 2\n        c[tid] += q\n        if q == 5:\n"
        "            break\n    p = p - 1 - (q & 1)\nc[tid] += 1000 * p"),
    "a range": "s = 0\nfor k in bounded(range(a[tid] & 3), 3):\n    s += k + 1\nc[tid] = s",
    "a range's variable afterwards": (
        "k = 77\nfor k in bounded(range(b[tid] & 3), 4):\n    c[tid] += k\nc[tid] += 100 * k"),
    "a range from where it starts": (
        "for k in bounded(range(a[tid], a[tid] + (b[tid] & 3)), 3):\n    c[tid] ^= k"),
    "a range with a step": (
        "for k in bounded(range(b[tid] & 7, a[tid] & 15, 3), 5):\n    c[tid] += k * k"),
    "a range downwards": (
        "for k in bounded(range(a[tid] & 7, -(b[tid] & 3), -2), 5):\n    c[tid] = 10 * c[tid] + k"),
    "a range across all integers": (
        "for k in bounded(range(a[tid], b[tid], 1 << 30), 4):\n    c[tid] += k"),
    "a range across all integers, downwards": (
        "for k in bounded(range(a[tid], b[tid], -2147483647), 3):\n    c[tid] += k"),
    "a range with exits": (
        "for k in bounded(range(a[tid] & 7), n):\n    if (b[tid] >> k) & 1:\n        continue\n"
        "    if k > 4:\n        break\n    c[tid] += 1 << k\nelse:\n    c[tid] += 1000"),
    "a range whose limit the body changes": (
        "p = a[tid] & 3\nfor k in bounded(range(p), 3):\n    p += 5\nc[tid] = p"),
    "a range of constants": "for k in bounded(range(2, n, 2), 3):\n    c[tid] += k * a[tid]",
    "nested ranges": (
        "for i in bounded(range(a[tid] & 3), 3):\n    for k in bounded(range(i, b[tid] & 3), 3):\n"
        "        c[tid] += 10 * i + k + 1"),
    "in an if": (
        "if a[tid] > 3:\n    for k in bounded(range(a[tid] & 3), 3):\n"
        "        c[tid] += k + b[tid]\n"
        "else:\n    p = b[tid] & 15\n    while bounded(p > 0, 4):\n        p >>= 1\n"
        "        c[tid] -= p"),
    "a counter in an index": (
        "for k in bounded(range(a[tid] & 3), 3):\n    c[tid] += b[k]"),
}


@pytest.mark.parametrize("what", BOUNDED)
def test_loops_with_a_stated_bound_are_pythons(what):
    tested = kernel(BOUNDED[what])
    agree(tested, n=7)
    _, outside = interpret_all(compile_segments(tested, n=7), memory(len(PAIRS)), len(PAIRS))
    tested.check_loops(outside)


@pytest.mark.parametrize(("what", "most", "less"), [
    ("a while", 9, 6), ("Collatz", 20, 18), ("a range", 3, 2), ("a range with a step", 5, 4),
    ("a range across all integers", 4, 3), ("a range across all integers, downwards", 3, 2),
    ("a while that takes its bound", 3, 2)])
def test_a_loop_that_exceeds_its_bound_is_reported(what, most, less):
    """By those threads that need more, in Python and by the interpreter, and no others."""
    body = BOUNDED[what].replace(f", {most})", f", {less})")
    tested = kernel(body)
    arrays = memory(len(PAIRS))
    faults = run_plainly(tested, {name: words.copy() for name, words in arrays.items()},
                         len(PAIRS), n=7)
    _, outside = interpret_all(compile_segments(tested, n=7), arrays, len(PAIRS))
    assert 0 < len(set(faults)) < len(PAIRS)
    assert set(faults) == set(outside)
    assert all(name.startswith("!") and name.endswith(f".{less}") for name, *_ in faults)
    line = 3 + body[:body.index("bounded")].count("\n")
    with pytest.raises(KernelError, match=(
            f"line {line}: kernel k: the loop goes on after {less} iterations, its stated bound, "
            r"in thread \d+$")):
        tested.check_loops(outside)


def test_the_fabric_reports_a_loop_that_exceeds_its_bound():
    """As accesses that are not made, thread by thread, by the load/store unit."""
    tested = kernel("p = a[tid]\nwhile bounded(p > 1, 2):\n    p = p // 2\na[tid] = p", "a: Ints")
    arrays = {"a": np.array([9, 1, 7, 4, -3, 8], np.int32)}
    ran = run_graphs(compile_segments(tested), FIVE_BY_FIVE, arrays, threads=6, depth=2, moves=500)
    assert [str(fault) for fault in ran.faults] == [
        "store !4.5.2: thread 0 at index 0", "store !4.5.2: thread 5 at index 5"]
    within = {"a": np.array([5, 1, 7, 4, -3, 6], np.int32)}
    ran = run_graphs(compile_segments(tested), FIVE_BY_FIVE, within, threads=6, depth=2, moves=500)
    assert not ran.faults
    assert ran.arrays["a"].view(np.int32).tolist() == [1, 1, 1, 1, -3, 1]
    assert ran.cycles <= ran.allowed


COLLATZ = """from cyclebound.golden.dataflow.kernel import Ints, kernel


@kernel
def collatz(tid, n: Ints, steps: Ints):
    x = n[tid]
    k = 0
    while bounded(x > 1, 20):
        x = 3 * x + 1 if x & 1 else x // 2
        k += 1
    steps[tid] = k
"""


def test_a_run_that_exceeds_a_bound_is_an_error(tmp_path, monkeypatch):
    """The message is that of the page, on each engine: it is known before anything is mapped."""
    (tmp_path / "collatz.py").write_text(COLLATZ)
    page = (Path(__file__).parents[2] / "docs/dataflow.md").read_text().replace("\n", " ")
    monkeypatch.chdir(tmp_path)
    found = load_kernel("collatz.py")
    arrays = {"n": np.array([1, 6, 18, 27]), "steps": np.zeros(4, np.int32)}
    for engine in ("interpreter", "golden", "rtl"):
        with pytest.raises(UserError) as refused:
            run_kernel(found, arrays, on=engine)
        assert f"`{refused.value}`" in page
    ran = run_kernel(found, arrays | {"n": np.array([1, 6, 18, 3])}, on="interpreter")
    assert ran.arrays["steps"].tolist() == [0, 8, 20, 7]


def test_a_stated_bound_is_known_before_the_run():
    """As many parts as iterations, whatever the data."""
    counts = [len(compile_segments(kernel(
        f"p = a[tid]\nwhile bounded(p > 1, {most}):\n    p = p // 2\nc[tid] = p"), n=7))
        for most in (2, 3, 10, 40)]
    assert counts == [counts[0] + more for more in (0, 1, 8, 38)]


@pytest.mark.parametrize(("what", "kept"), [
    ("constants around a break", ("guards",)), ("a constant that a condition changed before",
                                                ("partial",))])
def test_the_comparison_finds_what_was_known_under_an_old_condition(what, kept, monkeypatch):
    """A hidden condition that changes, and what was known under its last value stays known."""
    assign = Scope.assign

    def forgetful(self, name, value):
        old = {field: getattr(self, field) for field in kept}
        assign(self, name, value)
        for field, was in old.items():
            setattr(self, field, was if field == "guards" else {
                variable: entries for variable, entries in was.items() if variable != name})

    monkeypatch.setattr(Scope, "assign", forgetful)
    with pytest.raises(AssertionError, match="c"):
        agree(kernel(BODIES[what]), n=7)


def test_a_variable_that_a_break_leaves_without_a_value_is_refused():
    with pytest.raises(KernelError, match=r"line 7: kernel k: p has no value here$"):
        compile_segments(kernel("for k in range(3):\n    if a[tid] > k:\n        break\n    p = k\n"
                                "c[tid] = p"), n=7)


def test_a_loop_that_all_threads_have_left_takes_no_more_parts():
    left = kernel("for k in range(4096):\n    c[tid] += k\n    if k == n:\n        break")
    assert len(compile_segments(left, n=7)) == 8


def test_divisions_cost_no_more_than_they_must():
    """The unit truncates; what is known of signs leaves the correction out."""
    for text, most in (("tid // 3", 1), ("tid % 3", 3), ("tid % 8", 1), ("a[tid] // 4", 1),
                       ("a[tid] // 3", 5), ("a[tid] // b[tid]", 7), ("a[tid] >> 3", 1),
                       ("a[tid] << (b[tid] & 7)", 2)):
        graph, = compile_segments(kernel(f"c[tid] = {text}"), n=7)
        assert len(graph.tasks) - 2 - text.count("[") <= most, text


def test_numbers_in_single_precision():
    assert float_bits(0.1) == 0x3DCC_CCCD
    assert float_bits(16777217) == float_bits(2.0**24)
    with pytest.raises(ValueError, match=r"^1e\+39 is too large for single precision$"):
        float_bits(1e39)


# -- variables that wait in memory -----------------------------------------------------------------


@pytest.mark.parametrize("name", LOOPS)
def test_loops_on_the_golden_fabric(name):
    """A variable's store waits for its load: else some threads see the next iteration's value."""
    loop, threads = LOOPS[name], 6
    rng = np.random.default_rng(5)
    arrays = {array: rng.integers(-9, 9, threads).astype(np.int32) if name == "fibonacci"
              else rng.standard_normal(threads).astype(np.float32) * 4 for array in loop.arrays}
    words = kernel_arrays(loop, arrays)
    wanted = {array: found.copy() for array, found in words.items()}
    run_plainly(loop, wanted, threads, **CONSTANTS[name])
    found = run_graphs(compile_segments(loop, **CONSTANTS[name]), FIVE_BY_FIVE, words,
                       threads=threads, depth=2, moves=1000, late=True, **MISSES)
    assert all(found.arrays[array].tolist() == wanted[array].tolist() for array in wanted)


def test_random_kernels():
    """More: ``python -m cyclebound.tools.dataflow.random_kernels``."""
    differ, refused = search(40, 5000, fabric=False)
    assert differ == 0
    assert refused < 20
    assert search(2, 7000) == (0, 0)


@pytest.mark.thorough
def test_a_thousand_random_kernels():
    assert search(1000, 20_000)[0] == 0


def test_the_search_finds_a_store_that_does_not_wait(monkeypatch):
    """As it once was: the store of a variable had no enable token from its load."""

    def unordered(self, name, value):
        self.graph.add(Task(Memory.STORE, [self.number, value.what, None], array=f"${name}"))
        return Value(Spilled(name), value.kind)

    assert compare(7037, fabric=False) == ""
    monkeypatch.setattr(compiling.Compiler, "spill", unordered)
    assert compare(7037, fabric=False) == "the graph's memory depends on the order of its tasks"


def test_the_search_finds_wrong_arithmetic(monkeypatch):
    """Of two branches, always the first."""
    monkeypatch.setattr(segments.Compiler, "choose",
                        lambda self, condition, yes, no, kind, node: self.here(yes, node))
    said = []
    differ, _ = search(10, 5000, fabric=False, say=said.append)
    assert differ == len(said) > 1
    assert said[0].endswith("the interpreter's memory is not Python's")


def test_a_drawn_kernel_is_that_of_its_seed():
    assert random_kernel(3).source == random_kernel(3).source != random_kernel(4).source


# -- nothing is lost -------------------------------------------------------------------------------


def test_arrays_are_what_they_say():
    copies = kernel("c[tid] = a[tid]\nz[tid] = x[tid]", "a: Ints, c: Ints, x: Floats, z: Floats")
    good = {"a": np.array([-1, 2**31 - 1], np.int32), "c": [3, -4], "x": np.float32([1, 2]),
            "z": [0.5, 2]}
    words = kernel_arrays(copies, good)
    assert words["a"].tolist() == [0xFFFF_FFFF, 0x7FFF_FFFF]
    assert words["c"].tolist() == [3, 0xFFFF_FFFC]
    assert words["z"].view(np.float32).tolist() == [0.5, 2.0]
    assert kernel_arrays(copies, good | {"a": np.array([1, 0], np.uint32) - np.uint32(1)})[
        "a"].tolist() == [0, 0xFFFF_FFFF]
    for wrong, error, message in (
            ({"a": np.array([1, 2**31])}, ValueError,
             "^array a: 2147483648 is no integer of 32 bits$"),
            ({"a": [1.5]}, TypeError, "^array a must be of integers, not float64$"),
            ({"a": [[1]]}, ValueError, "^array a must have one dimension, not 2$"),
            ({"x": np.array([0.5, 0.1])}, ValueError, (r"^array x: 0\.1 is no number in single "
             r"precision; round it with astype\(numpy\.float32\)$")),
            ({"x": np.array([2**24 + 1])}, ValueError, "^array x: 16777217 is no number in "),
            ({"x": [1e39]}, ValueError, r"^array x: 1e\+39 is no number in single precision"),
            ({"x": ["a"]}, TypeError, "^array x must be of numbers, not <U1$"),
            ({"q": [1]}, ValueError, "^kernel k has no array q; it has a, c, x, z$")):
        with pytest.raises(error, match=message):
            kernel_arrays(copies, good | wrong)
    with pytest.raises(ValueError, match=r"^there is no array z, which kernel k has$"):
        kernel_arrays(copies, {name: good[name] for name in "acx"})


def test_graphs_take_arrays_of_words():
    graphs = compile_segments(kernel("a[tid] = a[tid] * 3", "a: Ints"))
    found = run_graphs(graphs, FIVE_BY_FIVE, {"a": np.array([-5, 7], np.int32)}, threads=2, depth=2)
    assert found.arrays["a"].view(np.int32).tolist() == [-15, 21]
    for wrong in ([1, 2], np.array([1.5, 2.5]), np.array([1, 2])):
        with pytest.raises(TypeError, match=r"^array a must be "):
            run_graphs(graphs, FIVE_BY_FIVE, {"a": wrong}, threads=2, depth=2)
    for run in (lambda: run_graphs(graphs, FIVE_BY_FIVE, {}, threads=2, depth=2),
                lambda: interpret_all(graphs, {}, 2)):
        with pytest.raises(ValueError, match=r"^there is no array a, which the kernel accesses$"):
            run()


def test_what_no_hardware_can_run_is_refused():
    graphs = compile_segments(kernel("a[tid] = 3", "a: Ints"))
    arrays = {"a": np.zeros(8, np.int32)}
    for wrong, message in (
            ({"threads": 0}, "threads must be from 1 to 2048, with identifiers of 11 bits, not 0"),
            ({"threads": 5000}, ("threads must be from 1 to 2048, with identifiers of 11 bits, "
             "not 5000")),
            ({"threads": 300, "tid_width": 8}, ("threads must be from 1 to 256, with identifiers "
             "of 8 bits, not 300")),
            ({"depth": 3}, "depth must be 2, 4, 8 or 16, not 3"),
            ({"depth": 32}, "depth must be 2, 4, 8 or 16, not 32"),
            ({"depth": 16, "tid_width": 4}, ("identifiers must have at least 5 bits, with depth "
             "16, not 4")),
            ({"address_width": 2}, ("arrays must have 4 words at most, with addresses of 2 bits, "
             "not 8"))):
        with pytest.raises(ValueError, match=f"^{message}$"):
            run_graphs(graphs, FIVE_BY_FIVE, arrays, **{"threads": 3, "depth": 2, **wrong})
    with pytest.raises(ValueError, match=r"^threads must be at least 1, not 0$"):
        interpret(graphs[0], {"a": np.zeros(3, np.uint32)}, 0)
    mapped = map_graph(graphs[0], FIVE_BY_FIVE)
    for threads, size, message in ((0, 8, "threads of unit .* must be from 1 to 256, not 0"),
                                   (257, 8, "threads of unit .* must be from 1 to 256, not 257"),
                                   (9, 8, None), (256, 8, None),
                                   (9, 9, "the array of unit .* must end by word 16, not 17")):
        buffers = {"a": (8, size)}
        if message is None:
            mapped.words(threads, buffers, tid_width=8, address_width=4)
            continue
        with pytest.raises(ValueError, match=f"^{message}$"):
            mapped.words(threads, buffers, tid_width=8, address_width=4)
    for depth in (*DEPTHS, 5):
        if depth in DEPTHS:
            FabricModel(FIVE_BY_FIVE, mapped.configuration(2, {"a": (0, 2)}), depth=depth)
            continue
        with pytest.raises(ValueError, match=r"^depth must be 2, 4, 8 or 16, not 5$"):
            FabricModel(FIVE_BY_FIVE, mapped.configuration(2, {"a": (0, 2)}), depth=depth)


def test_constants_are_of_their_kinds():
    adds = kernel("z[tid] = f + n", "z: Floats, n: Int, f: Float")
    compile_segments(adds, n=np.int64(3), f=2)
    for wrong, message in (({"n": 4.7}, "n must be an integer, not 4.7"),
                           ({"n": "4"}, "n must be an integer, not '4'"),
                           ({"f": 1e39}, r"f must be a number in single precision, not 1e\+39"),
                           ({"f": None}, "f must be a number in single precision, not None")):
        with pytest.raises(ValueError, match=f"^kernel k: {message}$"):
            compile_segments(adds, **{"n": 1, "f": 1.0, **wrong})


@pytest.mark.parametrize(("head", "message"), [
    ("tid, a: Ints = None", "parameter a must be a plain one, without . and without a default"),
    ("tid, *a", "parameter a must be a plain one, without . and without a default"),
    ("a: Ints, tid", "the first parameter, a, is the thread's number and has no annotation"),
    ("tid, a: Int32s", "name 'Int32s' is not defined"),
    ("tid, a: 'Ints', min: Int", "parameter min must not be named like a function of the language"),
    ("", "there is no parameter for the thread's number")])
def test_refuses_parameters(head, message):
    if "Int32s" in head:
        head = head.replace("Int32s", "'Int32s'")
    with pytest.raises(KernelError, match=rf"^<head {head[:4]}>, line 2: kernel k: {message}$"):
        kernel_of(f"@kernel\ndef k({head}):\n    pass\n", f"<head {head[:4]}>")


def test_a_kernel_is_a_function_in_a_file():
    space = {}
    exec("def k(tid): pass", space)
    for function in (space["k"], len):
        with pytest.raises(KernelError, match=r"there is no source to read; a kernel is a func"):
            language.kernel(function)
    with pytest.raises(KernelError, match=r"a kernel must be a function that begins with def$"):
        language.kernel(lambda tid: 0)
