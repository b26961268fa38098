"""The thesis's algorithms against its published numbers, and against the recomputed ones."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from cyclebound.golden.gpu.compute_capability import CAPABILITIES
from cyclebound.golden.gpu.thesis_kernels import THESIS_KERNELS, CountRow, steps_of_counts, strict
from cyclebound.golden.gpu.thesis_wcet import (
    WARP_RULES,
    Launch,
    MemoryAccess,
    Options,
    Step,
    active_warps,
    estimate,
)
from cyclebound.sim.families.gpu.estimate import differences, thesis_estimate

pytestmark = pytest.mark.unit
A100 = CAPABILITIES["8.0"]


@pytest.mark.parametrize("kernel", THESIS_KERNELS.values(), ids=THESIS_KERNELS)
def test_presets_reproduce_table_6_7(kernel):
    assert thesis_estimate(kernel, kernel.preset).cycles == kernel.published


def test_errors_of_table_6_7():
    errors = [kernel.published - kernel.measured for kernel in THESIS_KERNELS.values()]
    mean = Fraction(sum(errors), 4)
    assert mean == Fraction("600.5")
    of = {name: float(mean * 400 / sum(getattr(kernel, name) for kernel in THESIS_KERNELS.values()))
          for name in ("published", "measured")}
    assert [round(percent, 2) for percent in of.values()] == [10.28, 11.46]
    ratios = [kernel.measured / kernel.published for kernel in THESIS_KERNELS.values()]
    assert [f"{ratio:.3f}" for ratio in ratios] == ["0.971", "0.877", "0.855", "0.885"]


# for each constant rule: unsaturated, saturated with all memory, with its own constants only
RECOMPUTED = {
    "add": {"exact": (5298, 3634, 2184), "window": (4138, 2474, 1024), "line": (4138, 2474, 1024)},
    "vectorized": {"exact": (4000, 3280, 2120), "window": (2840, 2120, 1250)},
    "matrix": {"exact": (15649, 11361, 7094), "window": (10429, 6141, 3904)},
    "convolution": {"exact": (27224, 24936, 10160), "window": (15914, 13626, 3490),
                    "line": (16494, 14206, 3780)},
}


@pytest.mark.parametrize(("name", "rule"), [(n, r) for n, rules in RECOMPUTED.items()
                                            for r in rules])
def test_every_reading(name, rule):
    kernel = THESIS_KERNELS[name]
    found = tuple(thesis_estimate(kernel, replace(
        kernel.preset, constants=rule, branch=branch, saturated_memory=memory)).cycles
        for branch, memory in (("unsaturated", "all"), ("saturated", "all"), ("saturated", "own")))
    assert found == RECOMPUTED[name][rule]


@pytest.mark.parametrize(("name", "cycles", "saturated"), [
    ("add", 5298, None), ("vectorized", 4000, None), ("matrix", 11361, "alu"),
    ("convolution", 24936, "fma")])
def test_strictly_as_printed(name, cycles, saturated):
    found = thesis_estimate(THESIS_KERNELS[name], strict(THESIS_KERNELS[name]))
    assert (found.cycles, found.saturated) == (cycles, saturated)


def test_the_matrix_sheets_read_only_loads():
    kernel = THESIS_KERNELS["matrix"]
    assert thesis_estimate(kernel, replace(strict(kernel), read_only="l1")).cycles == 11361 - 514


def test_only_an_alpha_of_two_makes_the_published_choices():
    ratios = {name: thesis_estimate(kernel, kernel.preset).ratio
              for name, kernel in THESIS_KERNELS.items()}
    assert ratios == {"add": 2, "vectorized": 2, "matrix": Fraction(31 * 5, 69),
                      "convolution": Fraction(400 * 4, 739)}
    least = max(ratios["add"], ratios["vectorized"])
    most = min(ratios["matrix"], ratios["convolution"])
    assert (least, round(float(most), 3)) == (2, 2.165)
    for alpha, right in ((least, True), (most, False), (least - Fraction(1, 1000), False),
                         (most - Fraction(1, 1000), True)):
        chosen = [thesis_estimate(kernel, replace(kernel.preset, alpha=alpha)).saturated
                  for kernel in THESIS_KERNELS.values()]
        assert (chosen == [None, None, "alu", "fma"]) == right


def test_with_two_pipelines_no_alpha_makes_the_published_choices():
    add, vectorized, matrix, convolution = (thesis_estimate(kernel, replace(
        kernel.preset, pipelines=("fma", "alu"))).ratio for kernel in THESIS_KERNELS.values())
    assert max(matrix, convolution) < min(add, vectorized)


@pytest.mark.parametrize(("name", "warps"), [  # formula, one-sm, grid-z, half-threads, round, few
    ("add", (64, 6912, 6912, 108, 64, 64)),
    ("vectorized", (Fraction(2, 9), 24, 24, 1, 4, 24)),
    ("matrix", (Fraction(16, 27), 64, 32, 1, 4, 64)),
    ("convolution", (Fraction(29, 27), 116, 116, 2, 2, 29))])
def test_rules_for_warps(name, warps):
    kernel = THESIS_KERNELS[name]
    assert tuple(active_warps(kernel.launch, rule, registers=kernel.registers, limits=A100)
                 for rule in WARP_RULES) == warps


@pytest.mark.parametrize(("rule", "cycles"), [
    ("round-robin", (5298, 2600, 1358, 9290)), ("fewest-sms", (5298, 4000, 8678, 52490))])
def test_no_single_rule_for_warps_reproduces_the_table(rule, cycles):
    assert tuple(thesis_estimate(kernel, replace(kernel.preset, warps=rule)).cycles
                 for kernel in THESIS_KERNELS.values()) == cycles


def test_the_tables_counts():
    sizes = {name: thesis_estimate(kernel, kernel.preset).sizes
             for name, kernel in THESIS_KERNELS.items()}
    assert sizes["matrix"] == {"alu": 31, "fma": 25, "special": 3, "tensor": 1, "cbu": 9}
    assert sizes["convolution"] == {"fma": 400, "alu": 282, "special": 17, "cbu": 40}
    assert len(THESIS_KERNELS["convolution"].steps) == 886
    assert len(THESIS_KERNELS["matrix"].steps) == 98  # Table 6.4 adds up to; the text says 99


def test_distance_by_instruction_adds_up():
    for kernel in THESIS_KERNELS.values():
        first = thesis_estimate(kernel, kernel.preset)
        second = thesis_estimate(kernel, strict(kernel, "window"))
        assert sum(row.cycles for row in differences(first.charges, second.charges)) == (
            second.cycles - first.cycles)


def test_algorithm_2():
    """A global address is found in L1 unless the kernel streams; a dynamic constant never."""
    same = MemoryAccess("global", ("R2", 0))
    dynamic = MemoryAccess("constant", None, dynamic=True)
    steps = [Step(n, "LDG", None, 0, (same,)) for n in (1, 2)]
    assert estimate(steps, warps=1, options=Options()).cycles == 580
    assert estimate(steps, warps=1, options=Options(streaming=False)).cycles == 290 + 33
    steps = [Step(n, "LDC", None, 0, (dynamic,)) for n in (1, 2)]
    assert estimate(steps, warps=1, options=Options(constants="window")).cycles == 580
    other_bank = [Step(n, "MOV", None, 0, (MemoryAccess("constant", (n, 0)),)) for n in (1, 2)]
    assert estimate(other_bank, warps=1, options=Options(constants="line")).cycles == 580


@pytest.mark.parametrize(("apart", "window", "line"), [(127, 1, 1), (128, 2, 2), (4, 1, 1)])
def test_constants_close_to_each_other(apart, window, line):
    steps = [Step(n, "MOV", None, 0, (MemoryAccess("constant", (0, 0x100 + apart * n)),))
             for n in (0, 1)]
    for rule, new in (("window", window), ("line", line), ("exact", 2)):
        assert estimate(steps, warps=1, options=Options(constants=rule)).cycles == 290 * new


@pytest.mark.parametrize(("make", "says"), [
    (lambda: Options(constants="near"), r"^constant rule must be one of exact, .*, not 'near'$"),
    (lambda: Options(warps="many"), r"^warps must be a number or one of formula"),
    (lambda: Options(warps=0), r"^warps must be at least 1, not 0$"),
    (lambda: Options(alpha=Fraction(0)), r"^alpha must be above 0, not 0$"),
    (lambda: Options(pipelines=()), r"^pipelines must be some of .*, not none$"),
    (lambda: Options(branch="both"), r"^branch must be one of"),
    (lambda: Launch((0, 1, 1), 32), r"^grid x must be 1 to 2147483647, not 0$"),
    (lambda: Launch((1, 1, 1), 1025), r"^threads per block must be 1 to 1024, not 1025$"),
    (lambda: CountRow("FFMA", "fma", -1, 4), r"^count and delay of FFMA must be at least 0"),
    (lambda: CountRow("FFMA", "fma", 1, 4, None, (("exact", 2),)),
     r"^new constants of FFMA by rule exact must be 0 to 1, not 2$"),
    (lambda: estimate([], warps=1, options=Options()), r"^a kernel must have at least one"),
    (lambda: estimate(steps_of_counts([CountRow("FFMA", "fma", 1, 4)]), warps=0,
                      options=Options()), r"^warps must be above 0, not 0$"),
])
def test_mistakes(make, says):
    with pytest.raises(ValueError, match=says):
        make()


def test_command(call):
    found = json.loads(call("gpu", "thesis", "--json").stdout)
    assert [row["preset"] for row in found] == [5298, 4000, 4774, 9290]
    assert [row["other"] for row in found] == [5298, 4000, 11361, 24936]
    said = call("gpu", "thesis", "add", "--constants", "window")
    assert "4138" in said.stdout
    assert "below measured" in said.stdout
    found = json.loads(call("gpu", "thesis", "matrix", "--alpha", "9/4", "--json").stdout)[0]
    assert (found["saturated"], found["other"]) == (None, 15649)
    assert sum(row["cycles"] for row in found["differences"]) == 15649 - 4774


@pytest.mark.parametrize(("words", "says"), [
    (["matrx"], "no kernel of the thesis 'matrx'; did you mean matrix?"),
    (["--alpha", "1/0"], "--alpha takes a number or a fraction"),
    (["--alpha", "1e999999999"], "--alpha takes a number or a fraction"),
    (["--warps", "9" * 5000], "warps must be a number or one of"),
    (["--pipelines", "fma,gpu"], "pipelines must be some of"),
    (["--warps", "-3"], "warps must be a number or one of"),
])
def test_command_mistakes(call, words, says):
    said = call("gpu", "thesis", *words)
    assert (said.returncode, said.stderr.count("\n")) == (2, 1)
    assert says in said.stderr
