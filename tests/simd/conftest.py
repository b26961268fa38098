"""What the tests of the SIMD accelerator share: random instructions, units with faults."""

import random

import pytest

from cyclebound.golden.simd.isa import (
    TABLE,
    WRITABLE_SCALAR_SPECIAL,
    WRITABLE_VECTOR_SPECIAL,
    Instruction,
    Kind,
    Number,
    Operand,
    illegal,
)
from kit.faults import Tampered
from kit.run_bench import run_bench

LIMITS = {Kind.VECTOR: 64, Kind.SCALAR: 32, Kind.PREDICATE: 4, Kind.VECTOR_SPECIAL: 12,
          Kind.SCALAR_SPECIAL: 8}


def any_operand(rng: random.Random, slot, label_count: int):
    if slot.optional and rng.random() < 0.3:
        return None
    kind = rng.choice(slot.kinds)
    if kind is Kind.LABEL:
        return Operand(kind, rng.randrange(label_count))
    if kind is Kind.IMMEDIATE:
        if slot.number in (Number.BUFFER, Number.SCRATCHPAD_BUFFER):
            return Operand(kind, rng.randrange(32))
        if slot.number is Number.OFFSET:
            return Operand(kind, rng.randint(-(1 << 15), (1 << 15) - 1))
        if slot.number is Number.COUNT:
            return Operand(kind, rng.randint(1, 32))
        return Operand(kind, rng.choice((0, 1, 0xFFFFFFFF, 0x3F800000, rng.getrandbits(32))))
    if slot.written and kind is Kind.VECTOR_SPECIAL:
        return Operand(kind, rng.choice(sorted(WRITABLE_VECTOR_SPECIAL)))
    if slot.written and kind is Kind.SCALAR_SPECIAL:
        return Operand(kind, rng.choice(sorted(WRITABLE_SCALAR_SPECIAL)))
    return Operand(kind, rng.randrange(LIMITS[kind]))


def any_instruction(rng: random.Random, label_count: int = 1, names=None) -> Instruction:
    while True:
        operation = rng.choice([operation
                                for operation in TABLE if names is None or operation.name in names])
        found = Instruction(operation.name, rng.choice(operation.subops), tuple(
            any_operand(rng, slot, label_count) for slot in operation.slots))
        if not illegal(found):
            return found


@pytest.fixture
def instruction():
    """``instruction(rng)``: any legal one."""
    return any_instruction


@pytest.fixture
def tampered():
    """``tampered(component, fault)``: the component with some of its connections overridden."""
    return Tampered


@pytest.fixture
def play():
    """``play(dut, names, steps, *checkers)``: results of operations in a row.

    Each step has a value for each input of ``names``. Without checkers, ``done`` is compared.
    """
    def run(dut, names, steps, *checkers):
        results = []

        async def bench(ctx):
            for cycle in range(len(steps) + dut.stages):
                ctx.set(dut.valid, cycle < len(steps))
                if cycle < len(steps):
                    for name, value in zip(names, steps[cycle], strict=True):
                        ctx.set(getattr(dut, name), value)
                if not checkers:
                    assert ctx.get(dut.done) == (cycle >= dut.stages)
                if cycle >= dut.stages:
                    results.append(ctx.get(dut.result))
                await ctx.tick()
        run_bench(dut, bench, *checkers)
        return results
    return run
