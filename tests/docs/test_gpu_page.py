"""The page about CUDA kernels: its figures are what the models say."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from cyclebound.golden.gpu.compute_capability import CAPABILITIES
from cyclebound.golden.gpu.occupancy import BlockResources, calculator_tables, occupancy
from cyclebound.golden.gpu.safe_bound import Machine, kernel_bound, machine_of
from cyclebound.golden.gpu.thesis_kernels import THESIS_KERNELS, strict
from cyclebound.golden.gpu.thesis_wcet import active_warps
from cyclebound.sim.families.gpu.estimate import thesis_bound, thesis_estimate
from cyclebound.tools.gpu.listing import listing_of_steps
from cyclebound.tools.gpu.sass import parse_sass
from kit.pages import Page, numbers

PAGE = Page("gpu.md")
A100 = CAPABILITIES["8.0"]
NAMES = {"vector addition": "add", "vectorized": "vectorized", "matrix": "matrix",
         "convolution": "convolution"}
pytestmark = pytest.mark.unit


def cycles(name, **changes):
    """The thesis's estimate of a kernel, by the options of its published number but for these."""
    kernel = THESIS_KERNELS[name]
    return int(thesis_estimate(kernel, replace(kernel.preset, **changes)).cycles)


def cells(line):
    return [int(numbers(cell)[0]) for cell in line]


def test_occupancy():
    found = occupancy(BlockResources(64, 64), A100, carve_out=65536)
    assert PAGE.says(
        f"A thread's 64 registers make {64 * 32:,} for each warp, so that the {A100.registers:,} "
        f"registers of an SM allow {A100.registers // (64 * 32)} warps, which are {found.blocks} "
        "blocks: registers limit, at half the warps")
    assert (found.limits, 2 * found.warps) == (("registers",), A100.warps)
    threads, registers, shared = (
        sum(row.over == over for row in calculator_tables(BlockResources(64, 64), A100))
        for over in ("threads", "registers", "shared"))
    sizes = len(A100.carve_outs)
    assert PAGE.says(
        f"{threads} + {registers} + {sizes} x {shared // sizes} = "
        f"{threads + registers + shared:,} values",
        f"compute capability 8.0 has up to {max(A100.carve_outs):,} bytes")


def test_the_thesis_estimates():
    rows = PAGE.rows("| kernel | published | strictly, as printed |")
    assert [NAMES[row[0]] for row in rows] == list(THESIS_KERNELS)
    for name, *line in rows:
        kernel = THESIS_KERNELS[NAMES[name]]
        assert cells(line) == [kernel.published, thesis_estimate(kernel, strict(kernel)).cycles,
                               kernel.measured]


def test_findings_about_constants():
    add, vectorized = THESIS_KERNELS["add"], THESIS_KERNELS["vectorized"]
    assert PAGE.says(
        f"gives {cycles('add', constants='window'):,} cycles for the addition and "
        f"{cycles('vectorized', constants='window'):,} for the vectorized kernel: below the "
        f"measured {add.measured:,} and {vectorized.measured:,}",
        f"none inside alu by the 128 bytes ({cycles('matrix', constants='window'):,} cycles, below "
        f"the measured {THESIS_KERNELS['matrix'].measured:,})",
        f"The sheet marks 21 ({cycles('convolution'):,}), the text says 22 "
        f"({cycles('convolution') + 290:,}), exact addresses give 24 "
        f"({cycles('convolution', constants='exact'):,})")


def test_findings_about_the_saturated_branch_and_warps():
    both = [THESIS_KERNELS[name] for name in ("matrix", "convolution")]
    strictly = [int(thesis_estimate(kernel, strict(kernel)).cycles) for kernel in both]
    ratios = [f"{much / kernel.published:.1f}"
              for much, kernel in zip(strictly, both, strict=True)]
    assert PAGE.says(f"they are {strictly[0]:,} and {strictly[1]:,} cycles, {ratios[0]} and "
                     f"{ratios[1]} times the published ones")
    formula = [float(active_warps(kernel.launch, "formula", registers=kernel.registers,
                                  limits=A100)) for kernel in THESIS_KERNELS.values()]
    published = [str(thesis_estimate(kernel, kernel.preset).warps)
                 for kernel in THESIS_KERNELS.values()]
    assert PAGE.says(
        f"with 108 SMs gives {formula[0]:.0f}, {formula[1]:.2f}, {formula[2]:.2f} and "
        f"{formula[3]:.2f}; published are {', '.join(published[:3])} and {published[3]}",
        f"Round-robin over 108 SMs gives {cycles('vectorized', warps='round-robin'):,} and "
        f"{cycles('matrix', warps='round-robin'):,} cycles",
        f"filling the fewest SMs gives {cycles('convolution', warps='fewest-sms'):,} for the "
        "convolution")


def test_findings_about_alpha_and_counts():
    ratios = [thesis_estimate(kernel, kernel.preset).ratio for kernel in THESIS_KERNELS.values()]
    sizes = thesis_estimate(THESIS_KERNELS["convolution"],
                            THESIS_KERNELS["convolution"].preset).sizes
    assert PAGE.says(
        f"**Alpha is 2, within [{ratios[0]}, {ratios[3]})",
        f"The ratios of the four kernels are {ratios[0]}, {ratios[1]}, 155/69 and {ratios[3]} "
        f"({float(ratios[3]):.3f})",
        f"Table 6.4 adds up to {len(THESIS_KERNELS['matrix'].steps)} instructions",
        f"whose alu count is {sizes['alu']} or 312")
    assert ratios[2] == Fraction(155, 69)
    errors = sum(kernel.published - kernel.measured for kernel in THESIS_KERNELS.values())
    by_estimate, by_measurement = (
        100 * errors / sum(getattr(kernel, name) for kernel in THESIS_KERNELS.values())
        for name in ("published", "measured"))
    shares = [f"{kernel.measured / kernel.published:.3f}" for kernel in THESIS_KERNELS.values()]
    assert PAGE.says(
        f"error of {by_estimate:.2f} % divides by the mean estimate**; by the mean measurement it "
        f"is {by_measurement:.2f} %", f"truncated ({shares[1]}, {shares[2]}, {shares[3]})")


def test_the_safe_bounds():
    rows = PAGE.rows("| kernel | measured by the thesis | bound |")
    assert [NAMES[row[0]] for row in rows] == list(THESIS_KERNELS)
    for name, *line in rows:
        kernel = THESIS_KERNELS[NAMES[name]]
        found, = parse_sass(listing_of_steps(kernel.name, kernel.steps))
        least = kernel_bound(found, kernel.launch, BlockResources(
            kernel.launch.threads, kernel.registers), A100, coalesced=True,
            machine=Machine(sectors_per_cycle=Fraction(34)))
        assert cells(line) == [kernel.measured, thesis_bound(kernel).cycles, least.cycles]
    double = [machine_of(CAPABILITIES[name]).interval["fp64"] for name in ("8.0", "8.6")]
    assert PAGE.says(f"takes {double[0]} cycles of its pipeline in 8.0 and {double[1]} in 8.6",
                     f"{1555 / 32 / 1.41:.0f} sectors of 32 bytes a cycle")


@pytest.mark.thorough
def test_the_layers(call):
    done = call("gpu", "mapping", "example", "--json")
    first, *others = (
        {cell["resource"]: cell["time_ps"] for cell in layer["bounds"]}
        for layer in json.loads(done.stdout)["layers"])
    assert min((time, name) for name, time in first.items() if time)[1] == "simd"
    assert all(min((time, name) for name, time in times.items() if time)[1] == "array"
               for times in others)
    assert PAGE.says(f"fastest on Sim-D ({first['simd'] / 1e6:.1f} µs; "
                     f"{first['array'] / 1e6:.1f} µs on the array")
