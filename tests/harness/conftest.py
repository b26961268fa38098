"""What the tests of the harness components share."""

import random

import pytest
from amaranth.back import rtlil
from amaranth.sim import Simulator

LIMIT = 200_000
"""Steps (clock edges) after which a simulation counts as stuck."""


@pytest.fixture(scope="session")
def run():
    """``run(dut, *benches)``: simulate until every bench has returned."""
    def simulate(dut, *benches):
        finished = []

        def counted(bench):
            async def process(ctx):
                await bench(ctx)
                finished.append(bench)
            return process

        simulator = Simulator(dut)
        simulator.add_clock(1e-6)
        for bench in benches:
            simulator.add_testbench(counted(bench))
        for _ in range(LIMIT):
            if not simulator.advance():
                break
        assert len(finished) == len(benches), f"no end after {LIMIT} steps"
    return simulate


@pytest.fixture(scope="session")
def converts():
    """``converts(dut)``: the component is a complete design by itself."""
    def check(dut):
        assert "attribute \\top 1" in rtlil.convert(dut)
    return check


@pytest.fixture(scope="session")
def coin():
    """``coin(name, p)``: endless booleans, True with probability ``p``, seeded by name."""
    def flips(name, p):
        source = random.Random(name)
        while True:
            yield source.random() < p
    return flips
