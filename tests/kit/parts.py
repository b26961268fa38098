"""DRAM parts for tests: written out as files, and drawn at random."""

import random

from cyclebound.golden.dram.timing import TIMINGS, Part

__all__ = ["part_text", "random_ddr3"]

_ORGANISATION = ("tck_ps", "banks", "bank_groups", "rows", "columns")


def part_text(part: Part) -> str:
    """A part file that describes this part, each timing in clocks."""
    return "\n".join([
        "[part]", f'name = "{part.name}"', f'generation = "{part.generation}"',
        *(f"{name} = {getattr(part, name)}" for name in _ORGANISATION),
        "[timing]", *(f"{name} = {getattr(part, name)}" for name in TIMINGS), ""])


def random_ddr3(rng: random.Random, *, name: str = "random") -> Part:
    """Any DDR3 part that `PageController` takes: each number usual, or large, or very large."""
    def number(least: int, usual: int, large: int) -> int:
        return rng.randint(least, rng.choice((usual, usual, large)))

    nRCD, nRP, nCWD = number(1, 14, 30), number(1, 14, 30), number(3, 12, 20)
    nRAS = nRCD + rng.choice((0, rng.randint(0, 30), rng.randint(0, 60)))
    nRRD, nWTR, nCCD = number(1, 8, 60), number(1, 10, 60), rng.choice((4, 4, 4, 5, 6))
    return Part(
        name=name, generation="DDR3", tck_ps=1250, banks=8, bank_groups=1, rows=16, columns=64,
        nRCD=nRCD, nCAS=nCWD + rng.choice((0, 1, 3, rng.randint(0, 10))), nCWD=nCWD, nRP=nRP,
        nBURST=4, nRAS=nRAS, nRC=nRAS + nRP + rng.choice((0, 0, rng.randint(0, 40))),
        nRTP=number(1, 10, 60), nWR=number(1, 20, 40), nWTR_S=nWTR, nWTR_L=nWTR, nCCD_S=nCCD,
        nCCD_L=nCCD, nRRD_S=nRRD, nRRD_L=nRRD,
        nFAW=rng.choice((0, rng.randint(0, 60), rng.randint(0, 160))), nRFC=number(1, 60, 120),
        nREFI=2000, nWPRE=rng.choice((0, 1, 1, 2, rng.randint(0, 20))))
