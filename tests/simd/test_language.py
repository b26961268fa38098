"""Kernels in Python and C, compiled for the SIMD accelerator: results, bounds, refusals."""

import numpy as np
import pytest

from cyclebound.golden.dataflow.interpret import interpret_all
from cyclebound.golden.dataflow.kernel import Floats, KernelError
from cyclebound.golden.dataflow.kernels import LOOPS
from cyclebound.golden.simd.accelerator import Policy
from cyclebound.golden.simd.machine import MACHINES
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.families.dataflow.run import load_kernel
from cyclebound.sim.families.simd import compiled as simd_compiled
from cyclebound.sim.families.simd.compiled import compiled
from cyclebound.tools.dataflow.c_kernel import c_kernels
from cyclebound.tools.dataflow.random_kernels import kernel_of, random_kernel
from cyclebound.tools.dataflow.segments import compile_segments
from cyclebound.tools.dataflow.workloads import workload
from cyclebound.tools.simd.language import operations
from cyclebound.tools.simd.language.against_assembly import measured
from cyclebound.tools.simd.language.operations import Selection
from cyclebound.tools.simd.language.statements import compile_simd
from kit.random_c import random_c

pytestmark = pytest.mark.unit

HEAD = "@kernel\ndef drawn(tid, a: Ints, r: Ints, q: Ints, x: Floats, y: Floats, n: Int):\n"


def written(body):
    """A kernel with these lines, each indented by as many times four blanks as it has dots."""
    lines = ["    " + "    " * (len(line) - len(line.lstrip("."))) + line.lstrip(".")
             for line in body.split("; ")]
    return kernel_of(HEAD + "\n".join(lines) + "\n", f"<{body}>")


def differing(kernel, arrays, threads, /, *, machine="small", bounded=True, **constants):
    """The arrays that are not the interpreter's afterwards; the bound must not be exceeded."""
    typed = {name: array.view(np.float32) if kernel.parameters[name] is Floats else array
             for name, array in arrays.items()}
    made = compiled(kernel, typed, constants=constants, threads=threads, machine=machine)
    after, _ = interpret_all(compile_segments(kernel, **constants), made.arrays, threads)
    for policy in (Policy.ACCESS, Policy.COMPUTE) if bounded else (Policy.ACCESS,):
        timed, words = made.run(policy)
        assert not bounded or timed.cycles <= made.bound(policy)
    same = {name: (words[name] == after[name]) | (
        np.isnan(words[name].view(np.float32)) & np.isnan(after[name].view(np.float32))
        & (kernel.parameters[name] is Floats)) for name in kernel.arrays}
    return [name for name, equal in same.items() if not equal.all()]


def arrays_of(seed=1, words=100):
    rng = np.random.default_rng(seed)
    hard = rng.choice([0, 1, -1, 31, 32, 2**31 - 1, -2**31, 5], words)
    singles = rng.choice([0.0, -0.0, 1.5, -2.25, np.inf, -np.inf, np.nan, 1e-45, 3e38], words)
    mixed = np.where(rng.random(words) < 0.5, hard, rng.integers(-99, 99, words)).astype(np.int32)
    return {"a": mixed, "q": mixed[::-1].copy(),
            "r": rng.integers(-20, 120, words).astype(np.int32), "x": singles.astype(np.float32),
            "y": singles[::-1].astype(np.float32)}


@pytest.mark.parametrize("name", ["vector_add", "saxpy", "fan2", "adjust_weights", "bfs_kernel2"])
def test_kernels_of_the_paper(name):
    load = workload(name, 130)
    assert differing(load.kernel, load.arrays, load.threads, **load.constants) == []


@pytest.mark.parametrize(("name", "constants"), [
    ("fibonacci", {"count": 6}), ("horner", {"threads": 100, "degree": 5})])
def test_kernels_with_loops(name, constants):
    kernel, rng = LOOPS[name], np.random.default_rng(1)
    arrays = {array: rng.integers(0, 9, 130).astype(
        np.float32 if kernel.parameters[array] is Floats else np.int32) for array in kernel.arrays}
    assert differing(kernel, arrays, 130, **constants) == []


@pytest.mark.parametrize("body", [
    "a[tid] = q[tid + 3] + q[tid - 1]",                              # beyond both ends: 0
    "a[tid] = q[r[tid]]", "a[r[tid] & 63] = 7", "a[tid * 3] = r[tid * 5 - 200]",
    "a[tid] = q[5] + r[0]", "a[7] = 3", "a[r[0]] = 1",
    "a[tid] = a[tid] << r[tid]", "a[tid] = shr(a[tid], r[tid]) ^ (r[tid] >> a[tid])",
    "a[tid] = (a[tid] < r[tid]) + 2 * (a[tid] <= r[tid]) + 4 * ltu(a[tid], r[tid])",
    "a[tid] = (x[tid] < y[tid + 1]) + 2 * (x[tid] <= y[tid + 1]) + 4 * (x[tid] == y[tid + 1])",
    "a[tid] = (x[tid] < 1.5) + 2 * (0.0 <= x[tid]) + 4 * (x[tid] != 0.0)",
    "x[tid] = min(x[tid], y[tid + 1], 0.0)", "x[tid] = float(a[tid]) * 0.5 - abs(x[tid])",
    "a[tid] = int(x[tid]) + round(y[tid + 1])", "a[tid] = a[tid] // 8 + a[tid] % 16",
    "if a[tid] > 5; .a[tid] = 1; else; .a[tid] = 2",
    "t = 0; if a[tid] > 5; .t = a[tid]; .if r[tid] & 1; ..t = t + 1; a[tid] = t",
    "if a[tid] > 5; .return; a[tid] = 9",
    ("t = 0; for k in range(7); .if k == r[tid]; ..continue; .if t > 20; ..break; "
     ".t += q[tid + k]; else; .t = -1; a[tid] = t"),
    "t = a[tid]; k = 0; while bounded(t > 1, 40); .t = t >> 1; .k += 1; a[tid] = k",
    "t = 0; for k in bounded(range(0, r[tid], 9), 14); .t += k; else; .t += 1000; a[tid] = t",
    "t = 0.0; for i in range(3); .for k in range(i, 4); ..t += y[tid + k] * i; x[tid] = t",
    "k = 0; t = 0; while k < 9; .t += r[k]; .k += 2; a[tid] = t + k",
    "t = 0; s = 1; for k in range(5); .t, s = s, t + s; a[tid] = t - s",
    "a[tid] = r[tid] if r[tid] > 50 else q[r[tid]]",
    "x[tid] = 2 if tid < 50 and x[tid] > 0 else x[tid]",
    "a[tid] = q[(tid & 7) + 3] + q[r[tid] & 15]", "a[(r[tid] & 7) + 3] = 5",
    # what is the same in each round, and what is there already
    "t = 0; for k in range(5); .t += q[tid] + r[r[tid]] * k; a[tid] = t + q[tid]",
    "t = 0; for k in range(5); .if r[tid] > k; ..break; .t += q[tid]; a[tid] = t + q[tid] + r[0]",
    "a[tid] = a[tid] + 1; if r[tid] & 1; .a[tid] = a[tid] * q[tid]; a[tid] += q[tid]",
    "a[tid] = a[tid] // r[tid] + 3 * (q[tid] % r[tid])", "a[tid] = idiv(q[tid], r[tid] & 3) % 7",
    "if r[tid] & 1; .a[tid] = 1; .return; else; .a[tid] = 2; .return",
    # sums of 32 bits: 7 and -2 at last
    "a[tid] = q[tid + 2147483647 + 1 + 2147483647 + 8]; a[tid - 2147483647 - 2147483647 - 4] = 3",
    "x[tid] = (x[tid] + 1e-45) * 5e-45 - 1e-44; a[tid] = (x[tid] < 1e-45) + 2 * (x[tid] == 7e-45)",
    ("t = q[tid]; for i in bounded(range(-2147483648, q[tid], 268435456), 20); .t = t * 3 ^ i; "
     "a[tid] = t")])
def test_constructs(body):
    """On hard numbers, on threads that are no multiple of a work-group's items."""
    assert differing(written(_colons(body)), arrays_of(), 90, n=7) == []


ENDS = [-2**31, 1 - 2**31, -2, -1, 0, 1, 2, 2**31 - 2, 2**31 - 1]


@pytest.mark.parametrize("n", ENDS)
def test_comparisons_with_a_constant(n):
    """Each one, with the constant on either side, of any number and of those of a part of the range
    (whose difference may have 32 bits or not), at both ends of the range and around 0."""
    for sides in ("{} {} n", "n {1} {0}"):
        lines = [" + ".join(f"{1 << k} * ({test})" for k, test in enumerate(
            [sides.format(number, order) for order in ("<", "<=", ">", ">=", "==", "!=")]
            + [f"{name}({number}, n)" for name in ("ltu", "leu")]
            + [f"{name}(n, {number})" for name in ("ltu", "leu")]))
            for number in ("q[tid]", "(q[tid] >> 1)", "(q[tid] & 2147483647)", "(tid - 5)")]
        body = "; ".join(f"a[4 * tid + {k}] = {line}" for k, line in enumerate(lines))
        q = np.array([end + by for end in (-2**31, 0, 2**31) for by in range(-3, 4)
                      if -2**31 <= end + by < 2**31], np.int32)
        singles = np.zeros(1, np.float32)
        arrays = {"a": np.zeros(4 * len(q), np.int32), "q": q, "r": q, "x": singles, "y": singles}
        assert differing(written(body), arrays, len(q), bounded=False, n=n) == []


def _colons(body):
    """Lines that begin a block end in a colon."""
    words = ("if ", "else", "for ", "while ")
    return "; ".join(line + ":" if line.lstrip(".").startswith(words) else line
                     for line in body.split("; "))


def test_approximate_quotients_and_roots():
    kernel = written("x[tid] = (1.0 / y[tid] + x[tid] / y[tid]) * sqrt(y[tid])")
    rng = np.random.default_rng(1)
    arrays = arrays_of() | {name: rng.uniform(0, 4, 100).astype(np.float32) for name in "xy"}
    arrays["y"][7] = 0.5
    made = compiled(kernel, arrays, constants={"n": 1}, machine="small", approximate=True)
    _, words = made.run(Policy.ACCESS)
    x, y = arrays["x"], arrays["y"]
    assert np.allclose(words["x"].view(np.float32), (1 / y + x / y) * np.sqrt(y), rtol=1e-6)


def test_the_same_is_made_once():
    """A load in a loop that is the same in each round, and one that is there twice."""
    kernel = written(_colons("t = 0; for k in range(5); .t += q[tid] * k; a[tid] = t + q[tid]"))
    made = compiled(kernel, arrays_of(), constants={"n": 1}, machine="small")
    assert [instruction.name for instruction in made.program.instructions].count("ldglin") == 1


@pytest.mark.parametrize("name", ["vector_add", "euclid", "adjust_weights", "bfs_kernel2",
                                  "time_step"])
def test_no_slower_than_assembly_written_by_hand(name):
    pair = measured(name, 512)
    assert pair.compiled <= 1.3 * pair.by_hand


def test_quotients_of_integers():
    """Of sizes of any number of bits, of numbers next to multiples, and of the ends of the range:
    `test_many_quotients` has more."""
    assert _quotients(1) == []


def test_a_reciprocal_that_is_not_too_small_is_found(monkeypatch):
    monkeypatch.setattr(operations, "_BELOW", 0x3F80_0000)
    assert _quotients(1) == ["a"]


@pytest.mark.thorough
def test_many_quotients():
    assert [seed for seed in range(2, 42) if _quotients(seed)] == []


def _quotients(seed, words=1 << 13):
    rng = np.random.default_rng(seed)
    divisors = rng.integers(0, (1 << 31) + 1, words) >> rng.integers(0, 32, words)
    near = (rng.integers(0, 1 << 31, words) >> rng.integers(0, 31, words)) * divisors
    near = np.minimum(np.maximum(near + rng.integers(-1, 2, words), 0), 1 << 31)
    any_size = rng.integers(0, (1 << 31) + 1, words) >> rng.integers(0, 32, words)
    numbers = np.where(rng.random(words) < 0.6, near, any_size)
    signed = [np.where(rng.random(words) < 0.5, -array, array).astype(np.uint32).view(np.int32)
              for array in (numbers, divisors)]
    kernel = kernel_of(HEAD + "    a[tid] = idiv(q[tid], r[tid])\n", "<quotients>")
    singles = np.zeros(1, np.float32)
    arrays = {"a": signed[0] * 0, "q": signed[0], "r": signed[1], "x": singles, "y": singles}
    return differing(kernel, arrays, words, machine="paper", bounded=False, n=1)


@pytest.mark.parametrize("threads", [1, 63, 64, 65, 128, 200])
def test_any_number_of_threads(threads):
    arrays = arrays_of(words=threads)
    assert differing(written("a[tid] = a[tid] * 3 + r[tid]"), arrays, threads, n=1) == []


def test_machines():
    kernel = written("a[tid] = q[r[tid]] + r[tid]")
    for machine in ("paper", "small lanes=4 items=16 vectors=8", "small snoopy=0"):
        assert differing(kernel, arrays_of(), 90, machine=machine, n=1) == []


def test_drawn_kernels():
    """More: the thorough test below."""
    assert _drawn(range(24)) >= 8


@pytest.mark.thorough
def test_many_drawn_kernels():
    assert _drawn(range(1000, 1400)) >= 150


def test_drawn_kernels_in_c():
    assert _drawn_in_c(range(20)) >= 6


@pytest.mark.thorough
def test_many_drawn_kernels_in_c():
    assert _drawn_in_c(range(100, 400)) >= 120


def _drawn_in_c(seeds):
    """As `_drawn`, of C with its unsigned integers and its loops."""
    hard = {False: np.array([0, 1, 2, -1, 31, 32, 2**31 - 1, -2**31, 100], np.int64).astype(
        np.uint32), True: np.array([0, -0.0, 1, 0.5, np.inf, -np.inf, np.nan, 1e-45, 3e38],
                                   np.float32)}
    ran = 0
    for seed in seeds:
        kernel, rng = c_kernels(random_c("f", seed), "f.c")["f"], np.random.default_rng(seed)
        arrays = {name: rng.choice(hard[kernel.parameters[name] is Floats], 48)
                  for name in kernel.arrays}
        try:
            found = differing(kernel, arrays, 48, bounded=seed % 4 == 0, n=-3)
        except (UserError, KernelError):
            continue
        assert found == [], seed
        ran += 1
    return ran


def _drawn(seeds):
    """Run drawn kernels, and count those that ran: quotients and roots of floats are refused, and
    the fabric's compiler folds the rounds of some loops to a constant that has no 32 bits."""
    ran = 0
    for seed in seeds:
        load = random_kernel(seed)
        try:
            found = differing(load.kernel, load.arrays, 4, bounded=seed % 4 == 0, **load.constants)
        except (UserError, KernelError):
            continue
        assert found == [], seed
        ran += 1
    return ran


@pytest.mark.parametrize("planted", ["_compare", "_shift", "_float"])
def test_planted_errors_are_found(monkeypatch, planted):
    """A comparison with the wrong sign, a shift by one too few, a conversion without a sign."""
    right = getattr(Selection, planted)
    if planted == "_compare":
        def wrong(self, function, one, two):
            return right(self, function, two, one)
    elif planted == "_shift":
        def wrong(self, function, value, by):
            return right(self, function, value, by - 1 if isinstance(by, int) and by else by)
    else:
        def wrong(self, function, value):
            return self.code.make("cvt.i2f", "v", self.vector(value))
    monkeypatch.setattr(Selection, planted, wrong)
    body = {"_compare": "a[tid] = 1 * (a[tid] < r[tid])", "_shift": "a[tid] = a[tid] << 3",
            "_float": "x[tid] = float(a[tid])"}[planted]
    assert differing(written(body), arrays_of(), 90, n=1) != []


C_KERNEL = """
#define STEPS 4
__kernel void power(__global const float *x, __global float *y, __global const unsigned *u, int n) {
    int i = get_global_id(0);
    if (i >= n) return;
    float total = 0.0f;
    for (int k = 0; k < STEPS; k++)
        total = total * x[i] + (float)(u[k] + i);
    #pragma loopbound max 9
    while (total > 100.0f) { total = total * 0.5f; if (u[i] == 3u) break; }
    y[i] = total > 100.0f ? 100.0f : total;
}
"""


def test_c():
    kernel = c_kernels(C_KERNEL, "power.cl")["power"]
    rng = np.random.default_rng(1)
    arrays = {"x": rng.uniform(0, 9, 90).astype(np.float32), "y": np.zeros(90, np.float32),
              "u": rng.integers(0, 7, 90).astype(np.uint32)}
    assert differing(kernel, arrays, 80, n=77) == []


def test_loops_have_their_bounds():
    """As annotations, which the analysis compares with the counters that it finds itself."""
    made = compiled(written(_colons("t = 0; for k in range(7); .for j in range(3); ..t += q[k + j]"
                                    "; a[tid] = t")), arrays_of(), constants={"n": 1},
                    machine="small")
    assert sorted(bound.taken for bound in made.program.branches.values()) == [2, 6]
    assert set(made.program.sources) == {4, 5, 6, 7}


@pytest.mark.parametrize(("body", "said"), [
    ("x[tid] = x[tid] / 3.0", r"line 3: kernel drawn: a quotient of floats"),
    ("a[tid] = 1; x[tid] = sqrt(x[tid])", r"line 4: kernel drawn: a square root"),
    ("x[tid] = fma(x[tid], 2.0, 1.0)", r"line 3: kernel drawn: fma"),
    ("while a[tid] > 1; .a[tid] = 1", r"line 3: kernel drawn: a loop cannot be mapped unless"),
    ("t = a[tid]", r"line 2: kernel drawn: there is no store"),
    ("; ".join(f"t{k} = a[tid + {k}]" for k in range(65)) + "; a[tid] = " + " ^ ".join(
        f"(t{k} << {k % 31})" for k in range(65)),
     r"kernel drawn: more than 64 vector registers are needed at once"),
    ("; ".join("." * k + f"if a[tid + {k}] > {k}" for k in range(17)) + "; "
     + "." * 17 + "a[tid] = 1",
     r"line 19: kernel drawn: branches and loops are nested more than 16 deep"),
    ("; ".join(f"a[tid] = a[tid] * {k} + r[tid + {k}]" for k in range(700)),
     r"kernel drawn is too large for the accelerator: a kernel has 2048 instructions at most"),
])
def test_refuses(body, said):
    with pytest.raises(UserError, match=said):
        compiled(written(_colons(body)), arrays_of(), constants={"n": 1}, machine="small")


def test_refuses_what_no_grid_has():
    kernel = written("a[tid] = 1")
    with pytest.raises(UserError, match=r"^threads must be from 1 to 1048575, not 0$"):
        compiled(kernel, arrays_of(), constants={"n": 1}, threads=0)
    with pytest.raises(UserError, match=r"^array a must have from 1 to 1048575 words, not 0$"):
        compiled(kernel, {**arrays_of(), "a": np.zeros(0, np.int32)}, constants={"n": 1},
                 threads=4)


def test_an_array_without_a_size_is_refused():
    with pytest.raises(ValueError, match=r"^sizes must have the words of array r$"):
        compile_simd(written("a[tid] = 1"), {"a": 4}, 4, MACHINES["small"], n=1)


def test_what_does_not_assemble_is_not_called_too_large(monkeypatch):
    monkeypatch.setattr(simd_compiled, "compile_simd", lambda *given, **constants: ".text\nadd v1")
    with pytest.raises(UserError, match=r"^kernel drawn does not assemble, in line 2 of what it "
                                        r"was compiled to: "):
        compiled(written("a[tid] = 1"), arrays_of(), constants={"n": 1})


def test_an_expression_that_is_too_deep_is_refused(tmp_path):
    """By its line, or as Python reads the file."""
    head = ("from cyclebound.golden.dataflow.kernel import Ints, kernel\n"
            "@kernel\ndef f(tid, a: Ints):")
    for terms, said in ((1500, "deep.py, line 4: kernel f: an expression is too deep"),
                        (4000, "deep.py: an expression in it is too deep")):
        path = tmp_path / "deep.py"
        path.write_text(f"{head}\n    a[tid] = {' + '.join(['a[tid]'] * terms)}\n")
        with pytest.raises(UserError, match=said):
            compiled(load_kernel(path), {"a": np.zeros(4, np.int32)})


def test_a_file_with_zero_bytes_has_no_line(tmp_path):
    (tmp_path / "zeros.py").write_bytes(bytes(4))
    with pytest.raises(UserError, match=r"zeros\.py: source code string cannot contain null bytes"):
        load_kernel(tmp_path / "zeros.py")


def test_a_loop_beyond_its_stated_bound_stops_the_kernel():
    kernel = written(_colons("t = a[tid]; while bounded(t > 0, 3); .t -= 1; a[tid] = t"))
    arrays = arrays_of() | {"a": np.full(100, 3, np.int32)}
    assert differing(kernel, arrays, 100, n=1) == []
    arrays["a"][17] = 4
    made = compiled(kernel, arrays, constants={"n": 1}, machine="small")
    with pytest.raises(UserError, match=r"line \d+, instruction \d+ \(ldgidxit\)"):
        made.run(Policy.ACCESS)
    _, faults = interpret_all(compile_segments(kernel, n=1), made.arrays, 100)
    with pytest.raises(KernelError, match="the loop goes on after 3 iterations"):
        kernel.check_loops(faults)
