"""The WCET analysis where each request waits for other clients of the controller."""

import dataclasses
import random
from functools import partial

import pytest

from cyclebound.golden.dram.timing import DDR4_3200AA_X16
from cyclebound.golden.simd.machine import MACHINES, as_built
from cyclebound.golden.simd.memory_timing import DramTimeline
from cyclebound.tools.simd import wcet_adversary as adversary
from cyclebound.tools.simd.random_kernels import Mix
from cyclebound.tools.simd.wcet.analysis import Analysis

WAIT = 170
SMALL = as_built(MACHINES["small"])

pytestmark = pytest.mark.unit


class Waiting(DramTimeline):
    """A controller that others share: each request waits for them as long as it may, or less."""

    def __init__(self, *arguments, chance, **more):
        super().__init__(*arguments, **more)
        self._rng, self._chance = random.Random(chance), chance

    def _run(self, cycle, lead, delay, **more):
        waits = WAIT if self._chance == 1 else self._rng.randint(0, WAIT)
        return super()._run(cycle, lead, delay + waits, **more)


@dataclasses.dataclass(frozen=True)
class Shared(adversary.Bench):
    chance: float = 1.0

    def timeline(self, due=None):
        return Waiting(self.part, due=due, chance=self.chance)


BENCH = Shared(SMALL, DDR4_3200AA_X16, Mix(branches=True, shapes=True, snoopy=False),
               buses=adversary.BUSES)


def bound(program, grid, part, policy, *, wait=WAIT):
    return Analysis(program, grid, part, start="busy", wait=wait).wcet(policy).cycles


@pytest.mark.parametrize("chance", [1.0, 0.5])
def test_no_kernel_takes_longer(chance):
    bench = dataclasses.replace(BENCH, chance=chance)
    found = list(adversary.attacks(bound, range(40), bench))
    assert not [attack for attack in found if attack.violated]
    assert sum(attack.bound is not None for attack in found) > 20


def test_a_wait_that_is_forgotten_is_found():
    for forgets in (partial(bound, wait=0), partial(bound, wait=WAIT - 60)):
        assert any(attack.violated for attack in adversary.attacks(forgets, range(40), BENCH))
