"""Kernels in C: what they mean, against a C compiler and against the same kernels in Python."""

import json
import random
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cyclebound.golden.dataflow import kernels
from cyclebound.golden.dataflow.interpret import interpret_all
from cyclebound.golden.dataflow.kernel import Floats, KernelError
from cyclebound.golden.dataflow.kernel_constants import CONSTANTS
from cyclebound.golden.dataflow.kernels import KERNELS, LOOPS
from cyclebound.golden.dataflow.memory import kernel_arrays, typed_arrays
from cyclebound.golden.dataflow.operations import Operation
from cyclebound.golden.dataflow.plain import run_plainly
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.families.dataflow.run import load_kernel, run_kernel
from cyclebound.tools.dataflow import c_operations, c_source, exits
from cyclebound.tools.dataflow.c_kernel import c_kernels
from cyclebound.tools.dataflow.lower import lower
from cyclebound.tools.dataflow.segments import compile_segments
from cyclebound.tools.dataflow.values import Scope
from kit.native_c import COMPILER, Native, alike
from kit.random_c import random_c

pytestmark = pytest.mark.unit

FILE = Path(kernels.__file__).with_suffix(".cl")
BOTH = KERNELS | LOOPS
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")

# pairs of hard numbers, one for each thread
INTEGERS = (0, 1, -1, 2, -2, 5, -7, 31, 33, 100, -100, 2**31 - 1, -2**31, -2**31 + 1, 65536,
            -65536)
SINGLES = (0.0, -0.0, 1.0, -1.5, 2.75, 1e30, -1e30, 3e9, -3e9, 1e-40, float("inf"), float("nan"))
THREADS = len(INTEGERS) ** 2


def column(values, k, kind):
    pairs = [pair for a in values for pair in [(a, b) for b in values]]
    return np.array([pairs[i % len(pairs)][k] for i in range(THREADS)], kind).view(np.uint32)


def hard():
    zeros = np.zeros(THREADS, np.uint32)
    return {"a": column(INTEGERS, 0, np.int32), "b": column(INTEGERS, 1, np.int32),
            "u": column(INTEGERS, 0, np.int32), "v": column(INTEGERS, 1, np.int32),
            "x": column(SINGLES, 0, np.float32), "y": column(SINGLES, 1, np.float32),
            "c": zeros.copy(), "w": zeros.copy(), "z": zeros.copy()}


HEAD = ("__kernel void f(__global const int *a, __global const int *b, __global const uint *u, "
        "__global const uint *v, __global const float *x, __global const float *y, "
        "__global int *c, __global uint *w, __global float *z, int n, uint m, float g) {\n"
        "int t = get_global_id(0);\n"
        "int i = a[t], j = b[t]; uint p = u[t], q = v[t]; float r = x[t], s = y[t];\n")
GIVEN = {"n": -7, "m": 3_000_000_000, "g": 0.75}


def agree(body, tmp_path, **given):
    """The interpreter and the C compiler agree on a kernel's memory, for hard numbers."""
    text = f"{HEAD}{body}\n}}\n"
    found = c_kernels(text, "f.cl")
    constants = GIVEN | given
    wanted = Native(text, found, tmp_path).run("f", hard(), THREADS, **constants)
    after, faults = interpret_all(compile_segments(found["f"], **constants), hard(), THREADS)
    assert not faults
    for name, words in wanted.items():
        if not alike(words, after[name], name in "xyz"):
            place = int(np.flatnonzero(words != after[name])[0])
            raise AssertionError(f"{name}[{place}] is {after[name][place]:#x}, and "
                                 f"{words[place]:#x} in C: {body}")


def into(kind, expressions):
    """Stores of expressions: what each is, all of them in memory as the lines of a sum would not
    be."""
    array = {"int": "c", "uint": "w", "float": "z"}[kind]
    return [f"{array}[t] = {text};" for text in expressions]


WHOLE = ["i + j", "i - j", "i * j", "-i", "~i", "+i", "i & j", "i | j", "i ^ j", "i << (j & 31)",
         "i >> (j & 31)", "i << 31", "i >> 31", "i >> 0", "1 << (j & 31)", "i / (j > 0 ? j : 5)",
         "i / (j < -1 ? j : -3)", "i % (j < -1 ? j : -3)", "i / 3", "i % 3", "i / -3", "i % -3",
         "i / 8", "i % 8", "i / 1", "i % 1", "i / -8", "i % -8", "i / 0x40000000",
         "(j == 0 || j == -1) ? 9 : i / j", "(j == 0 || j == -1) ? 9 : i % j", "(i & 15) / 3",
         "(i & 15) % 8", "(i & 15) / 4", "t / 3", "t % 5", "i < j", "i <= j", "i > j", "i >= j",
         "i == j", "i != j", "i < j < n", "!i", "!!i", "i && j", "i || j", "i && j || n",
         "i ? j : 3", "i < j ? i : j", "(i < j) + (i == j)", "-(i < j)", "~(i < j)", "min(i, j)",
         "max(i, j)", "i == -2147483647 - 1 ? 0 : abs(i)", "i + n", "i * n * 1000003",
         "n * 1000003", "n / 2 + i", "n % 2 + i", "n >> 1", "n < i", "i - 0x7fffffff", "017 + i",
         "0x1F ^ i", "(int)2.75 + i", "(int)-2.75f + i", "i + (r > s)", "r < s", "r <= s",
         "r == s", "r != s", "r > 100.0", "r != 0.5", "!r", "r && s", "r ? i : j",
         "(int)(r > 1e9f || !(r > -1e9f) ? 0.0f : r)", "i * 2 + j * 3 - (i - j) / 5 << 2",
         "i & 3 == 3", "i | j & 7 ^ 5", "true + i", "i ? 2u > 1u : 0", "a[t] ? a[t] : b[t]",
         "(bool)i + (bool)r", "(bool)0.5 + i", "t < 250 && a[t + 6] > 3",
         "t > 9 ? a[t - 9] : b[t]", "1 ? i : a[t]"]
UNSIGNED = ["p + q", "p - q", "p * q", "-p", "~p", "p & q", "p << (q & 31)", "p >> (q & 31)",
            "p >> 31", "q ? p / q : 5", "q ? p % q : 5", "p / 3", "p % 3", "p / 3u", "p % 7u",
            "p / 16", "p % 16", "p / 0x80000000", "p % 0x80000000", "p / 0x80000001u",
            "p % 0xfffffffe", "p / 4294967295u", "p / m", "p % m", "m / 7 + p", "m % 7 + p",
            "m * 3 + p", "m + m", "m >> 3", "p < q", "p <= q", "p > q", "p >= q", "p == q",
            "p < i", "i < p", "-1 < p", "p > -1", "i + p", "i / (p | 1)", "i % (p | 1)",
            "i >> (p & 7)", "i < 0 ? i : p", "(i < 0 ? i : p) / 2", "min(p, q)", "max(p, q)",
            "min(i, p)", "max(p, 5)", "(unsigned)i / 2", "(int)p / 2", "(int)p >> 3",
            "(uint)3.5f + p", "0x80000000 + p", "4294967295u + p", "p < m", "m < p",
            "(p & 15) / 3u", "(p & 15) < q", "(uint)(r >= 0.0f && r < 4e9f ? r : 0.0f)", "p && q",
            "!p", "p ? q : 3"]
FLOATING = ["r + s", "r - s", "r * s", "r / s", "-r", "+r", "fabs(r)", "sqrt(r)", "fma(r, s, g)",
            "sqrtf(fabsf(s))", "fmaf(r, 2.0f, s)", "min(r, 1.5f)", "max(r, -2.5f)",
            "r < s ? r : s", "(float)i", "(float)p", "i * r", "p * r", "r + 1", "r / 3",
            "i / 2 + r", "i / 2.0f", "0.1f + 0.2f + r", "g * r", "r * (i < j)", "1e-40f + r",
            "0x1.8p3f * r", "1.f / r", ".5f * r", "5e-1f * r", "16777217 + r", "16777219.0f + r",
            "3.4028235e38f * r", "r ? g : 2.0f", "(float)(i != 0)", "(float)0.1 * r",
            "(float)m + r", "(float)n * r", "m * g + r", "r - -0.0f", "fabsf(-0.5f) * r",
            "rint(r)", "rintf(r * 0.3f)", "round(s)", "roundf(r / 3)", "rintf(s * 0.5f)",
            "roundf(s * 0.5f)", "rintf(-2.5f) * r", "roundf(0.49999997f) + r", "rintf(i)",
            "roundf(i * 0.5f)", "roundf(i + 0.5f)", "rintf(i * 0.5f)", "1 / (0.0f * rint(s))",
            "roundf((t - 128) * 0.125f)", "rintf((t - 128) * 0.125f)", "roundf(8388609 - i * 0.5f)",
            "1 / roundf((t - 128) * 1e-3f)", "1 / rintf((t - 128) * 4e-3f)",
            "1 ? r : s", "-0.0f", "(float)-0.0", "1.0000000596046448f",
            "1.00000005960464477539062500001f"]


@needs_compiler
@pytest.mark.parametrize(("kind", "texts"), [
    ("int", WHOLE[::2]), ("int", WHOLE[1::2]), ("uint", UNSIGNED), ("float", FLOATING)],
    ids=["int", "other int", "uint", "float"])
def test_expressions_are_cs(kind, texts, tmp_path):
    """All of them in one compilation of the C compiler's, a kernel for each."""
    lines = into(kind, texts)
    text = "".join(f"{HEAD.replace('void f', f'void f{k}')}{line}\n}}\n"
                   for k, line in enumerate(lines))
    found = c_kernels(text, "f.cl")
    native = Native(text, found, tmp_path)
    for k, line in enumerate(lines):
        wanted = native.run(f"f{k}", hard(), THREADS, **GIVEN)
        after, faults = interpret_all(compile_segments(found[f"f{k}"], **GIVEN), hard(), THREADS)
        assert not faults, line
        for name, words in wanted.items():
            assert alike(words, after[name], name in "xyz"), (line, name)


@needs_compiler
def test_the_comparison_finds_wrong_arithmetic(tmp_path, monkeypatch):
    """An unsigned comparison with signs, and a quotient that is rounded down."""
    agree("w[t] = p > q;", tmp_path)
    monkeypatch.setattr(c_operations, "_SAME", ())
    monkeypatch.setitem(c_operations._SIMPLE, "ltu", (Operation.LT, "<"))
    with pytest.raises(AssertionError, match=r"w\[\d+\] is"):
        agree("w[t] = p > q;", tmp_path)
    monkeypatch.undo()
    agree("c[t] = i / 8;", tmp_path)
    monkeypatch.setattr(c_operations._C, "natural", lambda this, *values: True)
    with pytest.raises(AssertionError, match=r"c\[\d+\] is"):
        agree("c[t] = i / 8;", tmp_path)


BODIES = {
    "declarations hide what is outside": (
        "int k = 1; { int k = 2; c[t] = k; { float k = 0.5f; z[t] = k; } k++; } c[t] += k;"),
    "names of the other language": "int min = i, range = 3; c[t] = min + range; float abs = r; "
                                   "z[t] = abs;",
    "compound assignments convert": (
        "c[t] = i; c[t] += 3; c[t] *= j; c[t] -= p; c[t] ^= 0xff; c[t] <<= 2; c[t] >>= 1; "
        "c[t] |= 5; c[t] &= ~2; w[t] = p; w[t] /= 7; w[t] %= 1000; w[t] >>= 3; z[t] = r; "
        "z[t] *= 2; z[t] -= i; z[t] /= 3;"),
    "an integer takes a float": "int k = 5; k *= 2.5f; k += 0.5f; c[t] = k; uint l = 7; l -= 8; "
                                "w[t] = l / 2;",
    "increments": "int k = i; k++; ++k; k--; c[t] = k; c[t]++; --c[t]; c[t]++; p++; w[t] = p;",
    "several at once": "int k, l; k = l = i; c[t] = k + l; float d, e; d = e = 3; z[t] = d * e;",
    "a bool is 0 or 1": "bool k = i, l = r > s; c[t] = k + l; k = 8; c[t] += k * 2 + l;",
    "parameters are variables": "n += 3; if (n < i) n = i; c[t] = n; m /= 3; w[t] = m; g *= r; "
                                "z[t] = g;",
    "branches": "if (i < j) c[t] = 1; else if (i == j) { c[t] = 2; z[t] = r; } else { c[t] = 3; } "
                "if (r) ; else w[t] = 4;",
    "the inner if has the else": "if (i < 5) if (j < 5) c[t] = 1; else c[t] = 2;",
    "a variable of both branches": "int k; if (i & 1) k = j; else k = -j; c[t] = k;",
    "returns": "if (i > 50) { c[t] = 1; return; } if (j > 50) return; c[t] = 2; return;",
    "guarded loads": "c[t] = t < 200 && a[t + 40] > 0 ? a[t + 50] : b[t]; "
                     "w[t] = t >= 256 || v[t]; if (t > 200) z[t] = x[t - 200];",
    "an index that is loaded": "c[(b[t] & 0) + t] += 3; c[a[t] == b[t] ? t : t] -= 1;",
    "void": "(void)i; ; c[t] = 1;",
}
LOOPED = {
    "for": "int k; c[t] = 0; for (k = 0; k < 4; k++) c[t] += k * i; c[t] -= k;",
    "for downwards, without a sign": "for (uint k = 6; k > 0; k -= 2) w[t] += k; ",
    "two counters": "for (int k = 0, l = 9; k < l; k++, l -= 2) c[t] += k * 10 + l;",
    "a counter that the body changes": "for (int k = 0; k < 9; k++) { c[t] = k; k += 2; }",
    "a bound that the body changes": "int l = 4; for (int k = 0; k < l; k++) { l--; c[t] += k; }",
    "while": "int k = 6; while (k > 1) { c[t] += k; k /= 2; }",
    "do": "int k = 3; do { c[t] += k; k--; } while (k > 5);  do k++; while (k < 5); c[t] -= k;",
    "never": "for (int k = 0; k < -n - 7; k++) c[t] = 5; while (0) c[t] = 6; w[t] = 1;",
    "in a branch": "int k = 5; if (i > 3) { for (k = 0; k < 2; k++) c[t] += j; } else "
                   "{ for (k = 3; k; k--) w[t] += k; } c[t] += k;",
    "in each other": "int l = i; for (int k = 0; k < 2; k++) { if (l & 1) for (int h = 0; h <= k; "
                     "h++) l = l * 3 + h; else l ^= 5; c[t] += l; }",
    "a return inside": "int l = i; for (int k = 0; k < 3; k++) { l += k; if (l > 3) return; "
                       "c[t] = l; } z[t] = 1.5f;",
    "a float that counts": "for (float k = 0.5f; k < 2; k += 0.5f) z[t] += k * r;",
    "break": "int k, l = 0; for (k = 0; k < 4; k++) { if (i < k * 3) break; l += k; c[t] += l; } "
             "c[t] += 100 * k + l;",
    "continue goes on with the step": (
        "int k; for (k = 0; k < 5; k++) { if (i >> k & 1) continue; c[t] += 1 << k; } c[t] += k;"),
    "continue of do asks again": (
        "int k = 0; do { k++; if (i & k) continue; c[t] += k; } while (k < 4); c[t] -= k;"),
    "break of do": "int k = 0; do { k++; if (j > 20 * k) break; c[t] += k; } while (k < 3); "
        "w[t] = k;",
    "break and continue of nested loops": (
        "int l = i, k, h; for (k = 0; k < 3; k++) { for (h = 0; h < k + 2; "
        "h++) { if (l & 1) break; "
        "l = l / 2 + h; } if (l > 50) continue; if (l < -50) break; l = l * 3 + k; "
        "c[t] += l + h; } "
        "c[t] += k * 5 + l;"),
    "break of a while, and a return": (
        "int k = 6; while (k > 0) { if (j > 9 * k) break; if (i > 16 * k) return; k -= 2; "
        "c[t] += k; } c[t] += 10 * k + 1;"),
    "a break that all threads take": "int k; for (k = 0; ; k += 2) { c[t] += k; "
        "if (k > 5) break; } "
                                     "w[t] = k;",
    "the parameter is the bound": "for (int k = n; k < 0; k += 3) c[t] += k;",
    "variables that take each other's values": (
        "int k = i, l = j; for (int h = 0; h < 3; h++) { int old = k; k = l; l = old ^ h; } "
        "c[t] = k - l;"),
}


BOUNDED = {
    "while": "int k = i & 255;\n#pragma loopbound max 8\nwhile (k > 1) { k /= 2; c[t] += k; }",
    "for": "#pragma loopbound min 0 max 3\nfor (int k = 0; k < (j & 3); k++) c[t] += k * i + 1;",
    "do": "int k = i & 7, l = 0;\n#pragma loopbound max (n + 15)\n"
        "do { l += k; k--; } while (k > 0); "
          "c[t] = l;",
    "exits": (
        "int k, l = i & 63;\n#pragma loopbound max 9 // as many\nfor (k = 0; l; k++) { if (l & 1) {"
        " l--; continue; } l >>= 1; if (k > 4) break; if (l == 9) return; } c[t] = 100 * k + l;"),
    "nested": (
        "#define MOST 7\n#pragma loopbound max MOST\nfor (int k = i & 7; k > 0; k--)\n"
        "    #pragma loopbound max MOST\n\n"
        "    /* the inner one */ for (uint l = q & 7; l < k; l += 2) "
        "{ c[t] += l + 10 * k; if (l == 5) break; }"),
    "without a sign": "uint k = p & 15, l = 0;\n#pragma loopbound max 15\nwhile (l < k) { l += 1 + "
                      "(l & 1); w[t] += l; }",
    "floats": "float k = fabs(r); int l = 0; if (k < 1e6f && k > 1e-6f) {\n#pragma unroll\n"
              "#pragma loopbound max 40\n"
              "while (k > 1.0f) { k *= 0.5f; l++; } } z[t] = k; c[t] = l;",
    "what is known": "#pragma loopbound max 4\nfor (int k = 0; k < 4; k++) c[t] += a[k];",
    "a loop that ends at once": "#pragma loopbound max 2\nwhile (0) c[t] = 1;\nw[t] = 2;",
}


@needs_compiler
@pytest.mark.parametrize("what", BOUNDED)
def test_loops_with_a_stated_bound_are_cs(what, tmp_path):
    agree(BOUNDED[what], tmp_path)


def test_a_loop_that_exceeds_its_bound_is_an_error():
    """With line and column of the loop."""
    found = c_kernels(f"{HEAD}#pragma loopbound max 6\n  for (int k = 0; k < (i & 7); k++) "
                      "c[t] += k;\n}\n", "f.cl")["f"]
    _, outside = interpret_all(compile_segments(found, **GIVEN), hard(), THREADS)
    place = int(np.flatnonzero(hard()["a"] & 7 == 7)[0])
    with pytest.raises(KernelError, match=(
            r"^f.cl, line 5, column 3: kernel f: the loop goes on after 6 iterations, its stated "
            rf"bound, in thread {place}$")):
        found.check_loops(outside)


@needs_compiler
@pytest.mark.parametrize("what", BODIES | LOOPED)
def test_statements_are_cs(what, tmp_path):
    agree((BODIES | LOOPED)[what], tmp_path)


@needs_compiler
def test_macros_and_constants_are_cs(tmp_path):
    text = """#define SIX 6 /* a comment */
#define MINUS -1  // another
#define BOTH (SIX - MINUS)
#  define X i
#define ONCE get_global_id(0)
#pragma unroll
const float half = 0.5f; __constant const int THREE = 3;
"""
    head = HEAD.replace("t = get_global_id(0)", "t = ONCE")
    text += head + ("c[t] = BOTH * 2 - MINUS + X - THREE; { int i = 4; c[t] += X; } "
                    "z[t] = half * r;\n}\n")
    found = c_kernels(text, "f.cl")
    wanted = Native(text, found, tmp_path).run("f", hard(), THREADS, **GIVEN)
    after, _ = interpret_all(compile_segments(found["f"], **GIVEN), hard(), THREADS)
    assert all(alike(wanted[name], after[name], name in "xyz") for name in wanted)


# -- expressions that are drawn --------------------------------------------------------------------


def drawn_expressions():
    """Text and type of expressions that C defines, but for sums that wrap around (-fwrapv)."""
    leaves = st.sampled_from([
        ("i", "i"), ("j", "i"), ("n", "i"), ("t", "i"), ("p", "u"), ("q", "u"), ("m", "u"),
        ("r", "f"), ("s", "f"), ("g", "f"), ("7", "i"), ("-3", "i"), ("0", "i"), ("2u", "u"),
        ("0xfffffff0u", "u"), ("0.5f", "f"), ("-2.0f", "f"), ("a[t]", "i"), ("v[t]", "u"),
        ("x[t]", "f"), ("1000003", "i")])

    def more(inner):
        def whole(text, kind):
            """An integer of whatever it is; of a float, only where C defines it."""
            return (f"(int)(fabs({text}) < 1e9f ? {text} : 1.0f)", "i") if kind == "f" else (
                text, kind)

        def both(one, other):
            kinds = one[1] + other[1]
            return "f" if "f" in kinds else "u" if "u" in kinds else "i"

        def plain(operator, one, other):
            return f"({one[0]} {operator} {other[0]})", both(one, other)

        def bits(operator, one, other):
            return plain(operator, whole(*one), whole(*other))

        def order(operator, one, other):
            return f"({one[0]} {operator} {other[0]})", "i"

        def shift(operator, one, other):
            left, right = whole(*one), whole(*other)
            return f"({left[0]} {operator} ({right[0]} & 31))", left[1]

        def divide(operator, one, other):
            left, right = whole(*one), whole(*other)
            kind = both(left, right)
            divisor = f"({right[0]} & 1023)" if kind == "i" else right[0]
            return f"({divisor} ? {left[0]} {operator} {divisor} : {left[0]})", kind

        def choose(condition, one, other):
            return f"({condition[0]} ? {one[0]} : {other[0]})", both(one, other)

        def unary(operator, one):
            return (f"(!{one[0]})", "i") if operator == "!" else (
                f"({operator} {whole(*one)[0]})", whole(*one)[1]) if operator == "~" else (
                f"({operator} {one[0]})", one[1])

        def cast(kind, one):
            text = whole(*one)[0] if kind != "float" else one[0]
            return f"(({kind}){text})", {"int": "i", "uint": "u", "float": "f"}[kind]

        def extreme(name, one, other):
            one, other = whole(*one), whole(*other)
            return f"{name}({one[0]}, {other[0]})", both(one, other)

        return st.one_of(
            st.builds(plain, st.sampled_from("+-*"), inner, inner),
            st.builds(bits, st.sampled_from("&|^"), inner, inner),
            st.builds(order, st.sampled_from(("<", "<=", ">", ">=", "==", "!=", "&&", "||")),
                      inner, inner),
            st.builds(shift, st.sampled_from(("<<", ">>")), inner, inner),
            st.builds(divide, st.sampled_from("/%"), inner, inner),
            st.builds(choose, inner, inner, inner),
            st.builds(unary, st.sampled_from("-~!+"), inner),
            st.builds(cast, st.sampled_from(("int", "uint", "float")), inner),
            st.builds(extreme, st.sampled_from(("min", "max")), inner, inner))

    return st.recursive(leaves, more, max_leaves=6)


def compare_drawn(drawn, folder):
    lines = []
    for text, kind in drawn:
        lines += into({"i": "int", "u": "uint", "f": "float"}[kind], [text])
    text = "".join(f"{HEAD.replace('void f', f'void f{k}')}{line}\n}}\n"
                   for k, line in enumerate(lines))
    found = c_kernels(text, "f.cl")
    native = Native(text, found, folder)
    for k, line in enumerate(lines):
        wanted = native.run(f"f{k}", hard(), THREADS, **GIVEN)
        after, _ = interpret_all(compile_segments(found[f"f{k}"], **GIVEN), hard(), THREADS)
        for name, words in wanted.items():
            assert alike(words, after[name], name in "xyz"), line


# -- kernels that are drawn ------------------------------------------------------------------------


def drawn_kernels_that_differ(seeds, folder):
    """Of the kernels of these seeds, which are not C's, and how many were run."""
    text = "".join(random_c(f"f{seed}", seed) for seed in seeds)
    found = c_kernels(text, "f.c")
    native = Native(text, found, folder)
    differ, ran = [], 0
    for seed in seeds:
        rng, name = np.random.default_rng(seed), f"f{seed}"
        threads = rng.integers(0, THREADS, 48)
        arrays = {array: words[threads] for array, words in hard().items() if array not in "uv"}
        try:
            graphs = compile_segments(found[name], n=-3)
        except KernelError as refused:
            if "there is no store" in str(refused):  # all threads return before
                continue
            raise
        wanted = native.run(name, arrays, len(threads), n=-3)
        after, faults = interpret_all(graphs, arrays, len(threads))
        ran += 1
        if faults or not all(alike(wanted[array], after[array], array in "xyz")
                             for array in wanted):
            differ.append(seed)
    return differ, ran


@needs_compiler
def test_drawn_kernels_are_cs(tmp_path):
    differ, ran = drawn_kernels_that_differ(range(8), tmp_path)
    assert not differ
    assert ran > 6


@needs_compiler
@pytest.mark.thorough
@pytest.mark.parametrize("first", range(10_000, 11_000, 50))
def test_a_thousand_drawn_kernels_are_cs(first, tmp_path):
    differ, ran = drawn_kernels_that_differ(range(first, first + 50), tmp_path)
    assert not differ
    assert ran > 40


@needs_compiler
def test_drawn_kernels_find_wrong_loops(tmp_path, monkeypatch):
    """What an old condition said is kept; what follows a continue is done."""
    assign, unless = Scope.assign, exits._unless

    def forgetful(self, name, value):
        guards = self.guards
        assign(self, name, value)
        self.guards = guards

    with monkeypatch.context() as patch:
        patch.setattr(Scope, "assign", forgetful)
        assert drawn_kernels_that_differ(range(1, 4), tmp_path)[0]
    monkeypatch.setattr(exits, "_unless", lambda flag, statements: (
        statements if "continued" in flag else unless(flag, statements)))
    assert drawn_kernels_that_differ(range(10, 12), tmp_path)[0]


@needs_compiler
@settings(max_examples=2, deadline=None)
@given(drawn=st.lists(drawn_expressions(), min_size=8, max_size=8))
def test_drawn_expressions_are_cs(drawn, tmp_path_factory):
    compare_drawn(drawn, tmp_path_factory.mktemp("c"))


@needs_compiler
@pytest.mark.thorough
@settings(max_examples=150, deadline=None)
@given(drawn=st.lists(drawn_expressions(), min_size=10, max_size=10))
def test_fifteen_hundred_drawn_expressions_are_cs(drawn, tmp_path_factory):
    compare_drawn(drawn, tmp_path_factory.mktemp("c"))


# -- the kernels of the paper ----------------------------------------------------------------------


def drawn_arrays(tested, size, seed):
    rng = np.random.default_rng(seed)
    return {name: (rng.standard_normal(size).astype(np.float32).view(np.uint32)
                   if tested.parameters[name] is Floats
                   else rng.integers(0, 2, size).astype(np.uint32)) for name in tested.arrays}


@pytest.fixture(scope="module")
def in_c():
    return c_kernels(FILE.read_text(), str(FILE))


def test_each_kernel_is_there_in_both_languages(in_c):
    assert list(in_c) == list(BOTH)
    for name, other in BOTH.items():
        assert in_c[name].parameters == other.parameters
        assert list(in_c[name].parameters) == list(other.parameters)


@pytest.mark.parametrize("name", BOTH)
def test_kernels_in_c_are_those_in_python(name, in_c):
    constants = CONSTANTS.get(name, {})
    graphs = [compile_segments(language[name], **constants) for language in (in_c, BOTH)]
    for seed in range(3):
        arrays = drawn_arrays(BOTH[name], 1024, seed)
        one, other = (interpret_all(each, arrays, 1024)[0] for each in graphs)
        assert all(np.array_equal(one[array], other[array]) for array in arrays)
        assert any(not np.array_equal(one[array], arrays[array]) for array in arrays)
    work = [Counter(str(task) for graph in each for task in lower(graph, sources=9).tasks.values()
                    if "$" not in task.array) for each in graphs]
    assert work[0] == work[1]


@needs_compiler
def test_kernels_in_c_are_the_compilers(in_c, tmp_path):
    native = Native(FILE.read_text(), in_c, tmp_path)
    for name, tested in in_c.items():
        constants, arrays = CONSTANTS.get(name, {}), drawn_arrays(BOTH[name], 1024, 5)
        threads = 60 if name == "horner" else 1000
        wanted = native.run(name, arrays, threads, **constants)
        after, _ = interpret_all(compile_segments(tested, **constants), arrays, threads)
        assert all(alike(wanted[array], after[array], BOTH[name].parameters[array] is Floats)
                   for array in arrays), name


def test_a_kernel_in_c_has_no_function_of_python(in_c):
    with pytest.raises(TypeError, match=r"^kernel saxpy is no function of Python$"):
        run_plainly(in_c["saxpy"], {}, 1)
    with pytest.raises(TypeError, match=r"^kernel saxpy is no function of Python$"):
        in_c["saxpy"](1)


# -- what cannot be mapped -------------------------------------------------------------------------


@pytest.mark.parametrize(("line", "column", "message"), [
    ("switch (i) { case 1: ; }", 1, "switch cannot be mapped"),
    ("goto out; out: ;", 1, "goto cannot be mapped"),
    ("if (i) break;", 8, "break cannot be mapped"),
    ("continue;", 1, "continue cannot be mapped"),
    ("while (1) { continue; }", 1, "a kernel must have 4096 iterations at most"),
    ("c[t] = *a;", 9, "a pointer cannot be mapped; write array[index]"),
    ("c[t] = &i != 0;", 9, "a pointer cannot be mapped; write array[index]"),
    ("*c = 3;", 2, "an assignment to a pointer cannot be mapped"),
    ("c[t] = a;", 8, "array a needs an index here: arithmetic on pointers cannot be mapped"),
    ("c[t] = (a + 1)[t];", 9, "an element must be that of an array of the kernel, by one index"),
    ("c[t] = a[t][t];", 8, "an element must be that of an array of the kernel, by one index"),
    ("int *k = c;", 5, "a pointer cannot be mapped"),
    ("int k[4];", 5, "an array of one's own cannot be mapped"),
    ("struct k { int l; } o;", 21, "a struct cannot be mapped"),
    ("enum k { L } o;", 14, "an enum cannot be mapped"),
    ("double k = 1.0;", 8, ("type double cannot be mapped: there are int, unsigned int, float and "
     "bool")),
    ("long k = 1;", 6, "type long cannot be mapped: there are int, unsigned int, float and bool"),
    ("unsigned char k = 1;", 15, ("type unsigned char cannot be mapped: there are int, unsigned "
     "int, float and bool")),
    ("typedef int k;", 13, "typedef cannot be mapped"),
    ("static int k = 0;", 12, "static cannot be mapped"),
    ("volatile int k = 0;", 14, "volatile cannot be mapped"),
    ("int k = {1};", 5, "a list of values cannot be mapped"),
    ("z[t] = 0.1 * r;", 8, "0.1 is a double, and units have single precision: write 0.1f"),
    ("c[t] = r > 0.1;", 8, "0.1 is a double, and units have single precision: write 0.1f"),
    ("z[t] = i ? 1.0 : r;", 8, "1.0 is a double, and units have single precision: write 1.0f"),
    ("z[t] = 1e39f;", 8, "a constant is too large for a float"),
    ("z[t] = 1e39;", 1, "a constant is too large for a float"),
    ("c[t] = 1e10;", 1, "10000000000.0 is no int"),
    ("z[t] = 1e99999999f;", 8, "1e99999999f has too many digits or too large an exponent"),
    ("c[t] = 2147483648;", 8, "2147483648 is a long: integers have 32 bits"),
    ("c[t] = 4294967296u;", 8, "4294967296u is a long: integers have 32 bits"),
    ("c[t] = 5L;", 8, "5L is a long: integers have 32 bits"),
    ("c[t] = i % 2.5f;", 8, "% of a float"),
    ("c[t] = r & 1;", 8, "& of a float"),
    ("c[t] = r << 1;", 8, "<< of a float"),
    ("c[t] = ~r;", 9, "~ of a float"),
    ("c[r] = 1;", 1, "an index must be an integer, not float"),
    ("c[-1] = 1;", 1, "an index must be 0 or more, not -1"),
    ("c[t] = i / 0;", 8, "a division by 0"),
    ("c[t] = i % 0u;", 8, "a division by 0"),
    ("c[t] = i << 32;", 8, "a shift must be by 0 to 31, not 32"),
    ("c[t] = i >> -1;", 8, "a shift must be by 0 to 31, not -1"),
    ("c[t] = i++;", 8, r"++ in an expression cannot be mapped"),
    ("c[t] = (i = 3);", 9, "an assignment in an expression cannot be mapped"),
    ("c[t] = c[t + 1] = 3;", 8, "an assignment in an expression cannot be mapped"),
    ("c[t] = (i, j);", 9, "a comma in an expression cannot be mapped"),
    ("c[t] = sizeof(int);", 8, "sizeof cannot be mapped"),
    ("i + j;", 1, "an expression that does nothing cannot be mapped"),
    ("barrier(0);", 1, ("function barrier cannot be mapped; there are get_global_id, abs, max, "
     "min, fabs, fma, fmax, fmin, rint, round, sqrt")),
    ("sqrt(r);", 1, "a call without its result cannot be mapped"),
    ("c[t] = f(i);", 8, ("function f cannot be mapped; there are get_global_id, abs, max, min, "
     "fabs, fma, fmax, fmin, rint, round, sqrt")),
    ("z[t] = sqrt(i);", 8, "sqrt is for floats, not int"),
    ("z[t] = fma(r, i, s);", 8, "fma is for floats"),
    ("z[t] = sqrt(r, s);", 8, "sqrt has 1 operand, not 2"),
    ("c[t] = abs(r);", 8, "abs is for int"),
    ("c[t] = get_global_id(1);", 8, ("get_global_id has one operand, 0: threads have one "
     "dimension")),
    ("c[t] = threadIdx.x;", 8, "a member of a struct cannot be mapped"),
    ("c[t] = blockIdx.y * blockDim.x + threadIdx.x;", 8, "a member of a struct cannot be mapped"),
    ("c[t] = k;", 8, "k is not declared"),
    ("int k; c[t] = k;", 15, "k has no value here"),
    ("int k; { int k; c[t] = k; }", 24, "k has no value here"),
    ("if (i) { int k = 3; } c[t] = k;", 30, "k is not declared"),
    ("int i;", 5, "i is declared twice"),
    ("a[t] = 1;", 1, "a is const"),
    ("const int k = 1; k = 2;", 18, "k is const"),
    ("n[t] = 1;", 1, "n is no array"),
    ("return 1;", 1, "return of a value cannot be mapped"),
    ("for (;;) c[t] = 1;", 1, "a kernel must have 4096 iterations at most"),
    ("while (i) c[t] = 1;", 1, ("a loop cannot be mapped unless its condition is known when the "
     "kernel is mapped, or the most iterations are stated: #pragma loopbound max 32")),
    ("for (int k = 0; k < i; k++) c[t] = 1;", 1, ("a loop cannot be mapped unless its condition is "
     "known when the kernel is mapped, or the most iterations are stated: #pragma loopbound max "
     "32")),
    ("#pragma loopbound max 0.5f\nwhile (i) i--;", 23,
     "the bound of a loop must be an integer, not float"),
    ("while (1) ;", 1, "a kernel must have 4096 iterations at most"),
    ("for (int k = 0; k < 5000; k++) c[t] = 1;", 1,
     "a kernel must have 4096 iterations at most"),
    ("void h(void);", 6, "a function in a function cannot be mapped"),
])
def test_refusals_name_line_column_and_construct(line, column, message):
    with pytest.raises(KernelError) as refused:
        compile_segments(c_kernels(f"{HEAD}{line}\n}}\n", "f.cl")["f"], **GIVEN)
    assert str(refused.value) == f"f.cl, line 4, column {column}: kernel f: {message}"


@pytest.mark.parametrize(("text", "message"), [
    ("#include <math.h>\n", "line 1, column 1: #include cannot be read: there is no preprocessor"),
    ("int\n  #if 1\n", "line 2, column 3: #if cannot be read: there is no preprocessor"),
    ("# 3 \"x\"\n", "line 1, column 1: #3 cannot be read: there is no preprocessor"),
    ("#define\n", "line 1, column 1: a #define needs a name"),
    ("#define A(x) (x)\n", "line 1, column 9: A: a #define with parameters cannot be read"),
    ("#define int float\n", ("line 1, column 9: int cannot be a #define: it is a word of the "
     "language")),
    ("#define A 1\n#define A 2\n", "line 2, column 9: A is a #define already"),
    ("#define A 1 + 2\n", ("line 1, column 9: A: a #define must be a number, a name, or an "
     "expression in parentheses")),
    ("#define A (1) + (2)\n", ("line 1, column 9: A: a #define must be a number, a name, or an "
     "expression in parentheses")),
    ("#define A\n", ("line 1, column 9: A: a #define must be a number, a name, or an expression in "
     "parentheses")),
    ("void f(void) {\n#pragma loopbound max 3\n;}",
     "line 2, column 1: #pragma loopbound must be right before a loop"),
    ("  #pragma loopbound max 3",
     "line 1, column 3: #pragma loopbound must be right before a loop"),
    *((f"void f(int i) {{\n#pragma loopbound {wrong}\nwhile (i);}}",
       ("line 2, column 1: #pragma loopbound must be max and a number, a name, or an expression in "
        "parentheses"))
      for wrong in ("3", "", "max", "max 3 + 4", "min 3", "min 1 mox 3")),
    ("#define A (1 +)\n", "line 1: no C: Invalid expression"),
    ("#define A /* of\n more */ 1\n", "line 1, column 11: a comment after # must end in its line"),
    ("/* endless", "line 1, column 1: a comment has no end"),
    ("int a; \\\n", "line 1, column 8: a line that goes on after \\ cannot be read"),
    ("void f(void) { int a; #pragma x\n }", "line 1, column 23: # must begin its line"),
    ("void f(void) { int a = 'a'; }", "line 1, column 24: a character cannot be mapped"),
    ("void f(void) { f(\"a\"); }", "line 1, column 18: a string cannot be mapped"),
    ("void f(void) { __local int a; }", ("line 1, column 16: __local cannot be mapped: threads "
     "share no memory")),
    ("void f(void) { int a = ; }", "line 1: no C: Invalid expression"),
    ("void f(void) { @ }", "line 1, column 16: no C: Illegal character '@'"),
    ("void f(void) { int a = 09; }", "line 1, column 24: no C: Invalid octal constant"),
    ("void f(void) {", "line 1: no C: At end of input"),
    ("__kernel\n", "line 1, column 1: there is no function after this word"),
    ("typedef int a;\n", "line 1, column 13: typedef cannot be mapped"),
    ("void f(void) {} void f(void) {}", "line 1, column 22: function f is there twice"),
    ("int f(void) { return 1; }", "line 1, column 5: kernel f: a kernel must return void"),
    ("int a = 3; void f(void) {}", ("line 1, column 5: kernel f: a variable outside of the kernel "
     "must be const, and have a value")),
    ("void f(a) int a; {}", ("line 1, column 6: kernel f: parameters must be declared between the "
     "parentheses")),
    ("void f(float **a) {}", ("line 1, column 15: kernel f: parameter a: an array must have one "
     "dimension")),
    ("void f(bool *a) {}", "line 1, column 13: kernel f: an array of bool cannot be mapped"),
    ("void f(int) {}", "line 1, column 8: kernel f: a parameter must have a type and a name"),
    ("void f(int a, ...) {}", ("line 1, column 15: kernel f: a parameter must have a type and a "
     "name")),
    ("#define A 3\nvoid f(int A) {}", ("line 2, column 12: kernel f: A cannot be declared: it is a "
     "#define")),
    ("void f(int *a) { a[0] = B; }\n#define B 3\n",
     "line 1, column 25: kernel f: B is used before its #define"),
    ("#define A (B)\n#define B (A)\nvoid f(int *a) { a[0] = A; }", ("line 2, column 12: kernel f: "
     "#define A is made of itself")),
    ("#define g sqrt\nvoid f(float *a) { a[0] = g(a[0]); }", ("line 2, column 27: kernel f: a call "
     "of what is no function cannot be mapped")),
    ("void f(void) {" + "(" * 200, "line 1, column 114: brackets are more than 100 deep"),
    ("void f(int *a) { a[0] = " + "-" * 200 + "1; }", None),
    ("void f(int *a) { a[0] = " + "- " * 200 + "1; }", ("line 1, column 425: it is more than 100 "
     "deep")),
    ("void f(int *a) { a[0] = " + "- " * 20000 + "1; }", "line 1: it is too deep"),
    ("void f(int *a) { a[0] = 1" + " + 1" * 200 + "; }", ("line 1, column 441: it is more than 100 "
     "deep")),
    ("void f(int *a) { " + "if (a[0]) ; else " * 200 + "; }", ("line 1, column 1684: it is more "
     "than 100 deep")),
])
def test_files_that_cannot_be_read(text, message):
    with pytest.raises(KernelError) as refused:
        c_kernels(text, "f.c")
    assert message is None or str(refused.value) == f"f.c, {message}"


PIECES = ("(", ")", "[", "]", "{", "}", ";", ",", "*", "&", "&&", "?", ":", "=", "+=", "++", "-",
          "~", "!", "<<", "/", "int", "float", "unsigned", "void", "const", "struct", "goto",
          "switch", "case", "break", "return", "if", "else", "for", "while", "do", "sizeof", "0",
          "1u", "0.5", "1e9f", "'a'", '"s"', "#define A 1\n", "\n#define B (A)\n", "A", "B", "tid",
          "get_global_id(0)", "sqrt", "min(", "typedef", "static", 'extern "C"', "bool", "long",
          "...", "->", ".", "//", "/*", "*/", "\\\n", "blockIdx.x", "_Alignas(8)",
          '_Static_assert(1, "");', "__attribute__((x))", '_Pragma("x")', "enum {Q}", "volatile",
          "_Atomic", "(int){1}", "\0", "é")


def mapped_or_refused(seeds):
    """Kernels of the file with pieces that are lost, doubled or in the place of others."""
    outcomes = Counter()
    parts = re.split(r"\n(?=// )", FILE.read_text())
    head = "".join(re.findall(r"#define .*\n", FILE.read_text()))
    whole = [part for part in parts if "__kernel" in part]
    for seed in seeds:
        rng = random.Random(f"mutant {seed}")
        pieces = re.findall(r"\s+|\w+|[^\w\s]", head + rng.choice(whole))
        for _ in range(rng.choice((1, 1, 2, 3, 5))):
            place, piece = rng.randrange(len(pieces)), rng.choice((*PIECES, rng.choice(pieces)))
            pieces[place:place + rng.randrange(2)] = rng.choice(([], [f" {piece} "]))
        try:
            for tested in c_kernels("".join(pieces), "f.cl").values():
                compile_segments(tested, **dict.fromkeys(tested.constants, 3))
            outcomes["mapped"] += 1
        except KernelError as error:  # and nothing else
            outcomes["refused"] += 1
            said = str(error)
            if (not re.fullmatch(r"f\.cl, line \d+(, column \d+)?: [^\n]+", said)
                    or "no C: ?:" in said or "None" in said):
                outcomes[f"seed {seed} badly"] += 1
    return outcomes


def test_mutants_are_mapped_or_refused():
    outcomes = mapped_or_refused(range(80))
    assert outcomes.keys() == {"mapped", "refused"}
    assert min(outcomes["mapped"], outcomes["refused"]) > 5


@pytest.mark.thorough
def test_five_thousand_mutants_are_mapped_or_refused():
    outcomes = mapped_or_refused(range(80, 5080))
    assert outcomes.keys() == {"mapped", "refused"}
    assert min(outcomes["mapped"], outcomes["refused"]) > 500


def test_the_deepest_that_is_read_is_mapped():
    """Within the limits, whatever is read is mapped, or refused for what it is."""
    depth = c_source.DEEP - 7
    for text in ("a[0] = a[1]" + " + a[1]" * depth + ";", "a[0] = " + "(a[1] ? " * (depth // 2)
                 + "1" + " : 2)" * (depth // 2) + ";", "if (a[1]) " * depth + "a[0] = 1;",
                 "if (a[1]) " * 20 + "for (int k = 0; k < 1; k++) a[0] = 1;",
                 "if (a[1]) " * (depth - 9) + "return; a[0] = 1;"):
        assert compile_segments(c_kernels(f"void f(int *a) {{ {text} }}", "f.c")["f"])


def test_arrays_and_constants_without_a_sign():
    tested = c_kernels("void f(uint *u, int *a, uint m) { uint t = get_global_id(0); "
                       "u[t] = u[t] / m; a[t] = m > 5; }", "f.c")["f"]
    assert tested.unsigned == {"u", "m"}
    words = kernel_arrays(tested, {"u": [4294967295, 3], "a": [0, -1]})
    after, _ = interpret_all(compile_segments(tested, m=3_000_000_000), words, 2)
    assert {name: array.tolist() for name, array in typed_arrays(tested, after).items()} == {
        "u": [1, 0], "a": [1, 1]}
    with pytest.raises(ValueError, match=r"^array u: -1 is no integer of 32 bits without a sign$"):
        kernel_arrays(tested, {"u": [-1], "a": [0]})
    with pytest.raises(ValueError, match=r"^array a: 4294967295 is no integer of 32 bits$"):
        kernel_arrays(tested, {"u": [0], "a": [4294967295]})
    for value, sign in ((-1, "without"), (1 << 32, "without")):
        with pytest.raises(KernelError, match=f"{value} is no integer of 32 bits {sign} a sign$"):
            compile_segments(tested, m=value)


CUDA = """extern "C" __global__ void add(const float *__restrict__ x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += x[i];
}
void other(int a) { }
"""


def test_cuda_and_a_file_of_the_users(tmp_path):
    (tmp_path / "add.cu").write_text(CUDA)
    ran = run_kernel(load_kernel(tmp_path / "add.cu"), {"x": [1, 2, 3], "y": [5, 5, 5]},
                     constants={"n": 2}, on="golden")
    assert ran.arrays["y"].tolist() == [6, 7, 5]
    assert not ran.differs
    assert sum(ran.cycles) <= ran.bound
    with pytest.raises(UserError, match=r"add.cu.; did you mean add\?$|no kernel in .* 'ad'"):
        load_kernel(tmp_path / "add.cu", "ad")
    for text, message in (("", "has no kernel: a function that returns void"),
                          ("void f(int *a) {a[0] = 1;} void g(int *a) {a[0] = 1;}",
                           "has several kernels; name one: f, g"),
                          ("x" * ((1 << 20) + 1), "it is larger than 1 MB"),
                          ("\xff", "codec can't decode"), ("int", "line 1, column 1: no C: ")):
        (tmp_path / "f.c").write_bytes(text.encode("latin-1"))
        with pytest.raises(UserError, match=message):
            load_kernel(tmp_path / "f.c")
    with pytest.raises(UserError, match=r"^cannot read .*none.c: No such file or directory$"):
        load_kernel(tmp_path / "none.c")


def test_the_command_takes_a_file_in_c(tmp_path, monkeypatch, capsys):
    from cyclebound.sim.cli.main import main
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text("1,2,3,4\n")
    command = ["cyclebound", "dataflow", "run", str(FILE), "-k", "saxpy", "-d", "x=x.csv", "-d",
               "y=x.csv", "-s", "a=2", "--on", "interpreter", "--json"]
    monkeypatch.setattr("sys.argv", command)
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 0
    assert json.loads(capsys.readouterr().out)["arrays"]["y"] == [3, 6, 9, 12]
    (tmp_path / "bad.c").write_text("void f(int *a) {\n    goto a;\n}\n")
    monkeypatch.setattr("sys.argv", ["cyclebound", "dataflow", "run", "bad.c", "--zeros", "a=1"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    assert "bad.c, line 2, column 5: kernel f: goto cannot be mapped" in capsys.readouterr().err
