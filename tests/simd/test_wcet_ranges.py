"""`#bound value` as a range for the registers of a snoopy access: no run within it takes longer
than the bound, and one beyond it ends."""

import itertools

import pytest

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.simd.accelerator import CycleModel, Policy
from cyclebound.golden.simd.machine import MACHINES, Grid, as_built
from cyclebound.golden.simd.memory_timing import DramTimeline
from cyclebound.golden.simd.work_group import KernelFault, memory_of
from cyclebound.sim.base.errors import UserError
from cyclebound.sim.families.simd.run import run_kernel
from cyclebound.tools.simd.assembler import assemble
from cyclebound.tools.simd.wcet import access_costs
from cyclebound.tools.simd.wcet.analysis import Analysis
from cyclebound.tools.simd.wcet.graph import WcetError

pytestmark = pytest.mark.unit

PART = part_named("ddr4-3200aa-x16")
REGISTERS = ("sd_words", "sd_period", "sd_period_cnt")
KERNEL = """.data
0 0 64 4
1 0x10000 64 12
.text
sldg s0, 0, 4
{}mov v0, vc.lid_x
movvsp vc.mem_idx, v0
ldgcidx 1, 0, 2
ldgcidx 1, 0, 1
exit
"""


def kernel(most):
    """A bound (None: without) for each register; data say what each is."""
    return assemble(KERNEL.format("".join(
        (f"#bound value {bound}\n" if bound else "") + f"smovssp sc.{name}, s{number}\n"
        for number, (name, bound) in enumerate(zip(REGISTERS, most, strict=True)))), "k.sas")


def machine_of(built):
    return as_built(MACHINES["small"]) if built else MACHINES["small"]


def bound(program, built):
    return Analysis(program, Grid(192, 1, machine_of(built)), PART, "reset").wcet(
        Policy.ACCESS).cycles


def took(program, built, values):
    """None: hardware refuses that."""
    memory = memory_of(program)
    memory[0][0, :3] = values
    try:
        return CycleModel(program, Grid(192, 1, machine_of(built)), memory, policy=Policy.ACCESS,
                          part=PART, timeline=DramTimeline(PART)).run(keep=False).cycles
    except KernelFault:
        return None


CASES = [(True, (64, 64, 8), (1, 63, 64), (1, 32, 63, 64), (1, 2, 7, 8)),
         (True, (5, 3, 1), (1, 3, 5), (1, 2, 3), (1,)),
         (True, (8, 4096, 10), (1, 8), (1, 64, 4096), (1, 10)),
         (False, (4, 40, 6), (1, 3, 4), (1, 4, 17, 39, 40), (1, 5, 6)),
         (False, (1, 300, 3), (1,), (1, 8, 64, 299, 300), (1, 2, 3))]


def longest(built, most, *choices):
    program = kernel(most)
    found = [cycles for values in itertools.product(*choices)
             if (cycles := took(program, built, values)) is not None]
    assert found
    return max(found), bound(program, built)


@pytest.mark.parametrize("case", CASES)
def test_no_run_within_the_range_takes_longer(case):
    cycles, most = longest(*case)
    assert 0.85 < cycles / most <= 1


def test_a_range_that_counts_too_little_is_caught(monkeypatch):
    """A planted error: a register is at most half of what is said."""
    ranged = access_costs.AccessCosts._ranged

    def planted(self, number):
        values = ranged(self, number)
        return values._replace(of=lambda place: range(1, max(values.of(place)) // 2 + 1))

    monkeypatch.setattr(access_costs.AccessCosts, "_ranged", planted)
    cycles, most = longest(*CASES[0])
    assert cycles > most


def test_without_a_range_there_is_no_bound():
    with pytest.raises(WcetError, match=r"line 13, instruction 6: the size of this access is not "
                                        r"known: .* #bound value may say what is the greatest$"):
        bound(kernel((64, None, 8)), built=True)


def test_a_range_of_too_many_shapes_is_refused():
    with pytest.raises(WcetError, match=r"may have 64 x 2000 x 8 shapes: a #bound value of its"):
        bound(kernel((64, 2000, 8)), built=False)


def test_a_bound_rests_on_its_ranges():
    promises = Analysis(kernel((64, 64, 8)), Grid(192, 1, machine_of(True)), PART).promises
    assert [text for _, text in promises] == ["#bound value 64", "#bound value 64",
                                              "#bound value 8"]


@pytest.mark.parametrize("model", ["golden", "cycle"])
def test_a_run_beyond_the_range_ends(model):
    program = kernel((64, 64, 8))
    memory = memory_of(program)
    memory[0][0, :3] = 64, 64, 9
    with pytest.raises(UserError, match=r"#bound value says at most 8, and 9 is written to "
                                        r"sc\.sd_period_cnt"):
        run_kernel(program, Grid(192, 1, machine_of(True)), memory, model=model)
