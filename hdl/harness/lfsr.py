"""Linear feedback shift register: random bits that repeat exactly from the same seed."""

from functools import reduce
from math import gcd
from operator import xor

from amaranth.hdl import Cat, Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cyclebound.golden.harness.lfsr_spec import POLYNOMIALS
from cyclebound.hdl.parameters import check_integer

__all__ = ["Lfsr"]


class Lfsr(wiring.Component):
    """Fibonacci shift register of maximal length, several steps per cycle if asked for.

    Latency: ``value`` moves one cycle after ``enable``. It visits each of the
    ``2**width - 1`` values other than 0 before it repeats; 0, which it could never leave, is
    not reachable: neither as ``init`` nor as a seed.

    Parameters
    ----------
    width : int
        Bits of the register, 3 to 64.
    steps : int
        Steps per enabled cycle, 1 to ``width``; without a factor in common with
        ``2**width - 1``, so that the length stays maximal.
    init : int
        Value after reset, and the one that seed 0 stands for.

    Members
    -------
    load : In(1)
        Replace the value by ``seed``; wins over ``enable``.
    seed : In(width)
        The value to continue from.
    enable : In(1)
        Go on by ``steps``.
    value : Out(width)
        The register; its lowest bit is the oldest, and the first to leave.
    """

    def __init__(self, *, width, steps=1, init=1):
        check_integer("LFSR width", width, least=3, most=64)
        check_integer("LFSR step count", steps, least=1, most=width)
        check_integer("LFSR initial value", init, least=1, most=2**width - 1)
        common = gcd(steps, 2**width - 1)
        if common != 1:
            raise ValueError(f"LFSR step count must have no factor in common with "
                             f"{2**width - 1}, but {steps} has {common}")
        self.width = width
        self.steps = steps
        self.init = init
        super().__init__({
            "load": In(1),
            "seed": In(width),
            "enable": In(1),
            "value": Out(width, init=init),
        })

    def elaborate(self, platform):
        m = Module()

        # As many new bits at once as depend on none of each other.
        taps = (0, *POLYNOMIALS[self.width])
        after, due = self.value, self.steps
        while due:
            chunk = min(due, self.width - max(taps))
            fresh = reduce(xor, (after[tap:tap + chunk] for tap in taps))
            after = Cat(after[chunk:], fresh)
            due -= chunk

        with m.If(self.load):
            m.d.sync += self.value.eq(Mux(self.seed == 0, self.init, self.seed))
        with m.Elif(self.enable):
            m.d.sync += self.value.eq(after)

        return m
