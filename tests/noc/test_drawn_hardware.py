"""Systems from core to DDR3 with drawn parameters, the least and the greatest, on the RTL: what is
written and read is right, and no bound is exceeded."""

import dataclasses
import random

import pytest

from cyclebound.golden.dram.page_bounds import refresh_delay, row_change
from cyclebound.golden.dram.timing import DDR3_1600_MODULE, Part
from cyclebound.sim import catalogue
from cyclebound.sim.describe.variant import Changes, varied
from cyclebound.sim.run.job import Job, run_job
from kit.parts import part_text, random_ddr3

_LEAST = {"requesters": 2, "nbytes": 256, "delta": 2, "quarters": 1, "rivals": 0, "cap": 1}
_MOST = {"requesters": 32, "nbytes": 4096, "delta": 9, "quarters": 4, "rivals": 7, "cap": 40}
_ONE_CLOCK = dataclasses.replace(
    DDR3_1600_MODULE, name="one clock", nRCD=1, nRP=1, nCWD=3, nCAS=3, nRAS=1, nRC=2, nRTP=1, nWR=1,
    nWTR_S=1, nWTR_L=1, nRRD_S=1, nRRD_L=1, nFAW=0, nRFC=1, nWPRE=0, numbers={})
"""Each timing is a clock that may be one; data come as soon as the page controller lets them."""


def drawn_part(rng: random.Random) -> Part:
    """Any part, with rows and columns for a system, and refreshes that let requests through."""
    part = dataclasses.replace(random_ddr3(rng, name="drawn"), rows=1 << 14, columns=1024)
    least = refresh_delay(part) + row_change(part)
    return dataclasses.replace(part, nREFI=rng.choice((40, 60, 100)) * least)


def drawn_path(number: int) -> tuple[dict[str, int], Part]:
    """Parameters of a path: the least, the greatest, or any."""
    rng = random.Random(number)
    if number < 2:
        return (_LEAST, _MOST)[number], (_ONE_CLOCK, DDR3_1600_MODULE)[number]
    return {"requesters": rng.randint(2, 16), "nbytes": 1 << rng.randint(8, 12),
            "delta": rng.randint(2, 7), "quarters": rng.randint(1, 4), "rivals": rng.randint(0, 7),
            "cap": rng.choice((1, 2, 8, 9, 12, 20))}, drawn_part(rng)


def drawn_many_core(number: int) -> tuple[dict[str, int], Part]:
    """Parameters of a whole system: the smallest mesh, the largest, or any."""
    rng = random.Random(number)
    least = {"rows": 1, "columns": 2, "io": 0, "banks": 2, "words": 64, "requesters": 3, "slots": 4,
             "packets": 2, "delta": 2, "quarters": 4, "cap": 1}
    if number == 0:
        return least, _ONE_CLOCK
    rows, columns = (3, 3) if number == 1 else rng.choice(((1, 3), (2, 2), (3, 1), (3, 2), (1, 4)))
    return {"rows": rows, "columns": columns, "io": rng.randrange(rows * columns),
            "banks": rng.randint(2, 9), "words": 1 << rng.randint(7, 10),
            "requesters": rng.randint(3, 12), "slots": 1 << rng.randint(3, 5),
            "packets": rng.randint(2, 5), "delta": rng.randint(2, 6),
            "quarters": rng.randint(1, 4), "cap": rng.randint(1, 12)}, drawn_part(rng)


def all_held(name: str, configuration: str, bench: str, test: str, values: dict[str, int],
             part: Part, folder, *, share: float = 1) -> int:
    """Simulate it; how many requests were observed, of which none exceeds a ``share`` of
    a bound."""
    changes = Changes((*values.items(), ("part", f"{part.name.replace(' ', '-')}.toml")),
                      part_text(part))
    kind = varied(catalogue.load().find(name), changes)
    job = Job(name, kind.names[configuration], bench, 1, str(folder), test=test, changes=changes)
    outcome = run_job(job)
    assert outcome.passed, (values, part, outcome.reason)
    seen = [group for group in outcome.groups if not group.only_declared]
    for group in seen:
        binding, = (one for one in kind.block.bounds if one.what == group.what)
        allowed = binding.bound.of({**kind.block.configurations[job.configuration].parameters,
                                    **group.parameters})
        assert group.latency <= share * allowed, (values, part, group, allowed)
    return sum(group.count for group in seen)


@pytest.mark.thorough
@pytest.mark.cosim
@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("name", ["noc.end_to_end", "noc.end_to_end_read"])
def test_a_path(name, number, tmp_path):
    values, part = drawn_path(number)
    if name == "noc.end_to_end_read":
        values = {**values, "packets": (2, 16, 2, 3, 5)[number % 5]}
    assert all_held(name, "paper", "sweep", "anywhere_in_the_period", values, part, tmp_path) >= 8


@pytest.mark.thorough
@pytest.mark.cosim
@pytest.mark.parametrize("number", range(3))
def test_a_many_core(number, tmp_path):
    values, part = drawn_many_core(number)
    assert all_held("noc.many_core", "small", "cycle", "everywhere_at_once", values, part, tmp_path)


@pytest.mark.thorough
@pytest.mark.cosim
def test_half_of_a_bound_is_exceeded(tmp_path):
    values, part = drawn_path(0)
    with pytest.raises(AssertionError, match=r"\(0\.5 \* "):
        all_held("noc.end_to_end_read", "paper", "sweep", "anywhere_in_the_period",
                 {**values, "packets": 2}, part, tmp_path, share=0.5)
