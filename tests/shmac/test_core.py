"""SHMAC's core: its parameters, its time, and what its testbench finds."""

import itertools
import random

import pytest
from amaranth.back import rtlil

from cyclebound.golden.shmac.core import CoreModel
from cyclebound.golden.shmac.core_bounds import CLASSES, instruction
from cyclebound.hdl.shmac.core import Core
from cyclebound.hdl.shmac.multiply_divide import MultiplyDivide
from cyclebound.tb.shmac.core import Memory, waits
from cyclebound.tools.shmac.assembler import assemble
from cyclebound.tools.shmac.random_programs import HANDLER, random_program
from kit.run_bench import run_bench

from ..sim.mutant_tests import mutants_together
from ..sim.mutants import Mutant

unit = pytest.mark.unit
CORE = "shmac.core"
MUTANTS = (
    Mutant(CORE, "a link is after the branch", "after.eq(next_pc + 4)", "after.eq(pc + 4)"),
    Mutant(CORE, "branches count from themselves", "next_pc + (signed_immediate << 2)",
           "pc + (signed_immediate << 2)"),
    Mutant(CORE, "an exception in a slot returns to the slot", "Mux(in_slot, branch_pc, pc)", "pc"),
    Mutant(CORE, "slots of branches that are not taken are none", "in_slot.eq(of.branches)",
           "in_slot.eq(of.branches & (follows != after))"),
    Mutant(CORE, "register 0 is written", "of.destination != 0)", "of.destination | 1 != 0)"),
    Mutant(CORE, "no bus error of a load", "m.d.comb += [excepts.eq(1), code.eq(ExcCode.DBE)]",
           "m.d.comb += code.eq(ExcCode.DBE)"),
    Mutant(CORE, "a link survives an exception", "in_slot.eq(0), linked.eq(0)", "in_slot.eq(0)"),
    Mutant(CORE, "an SC without a link goes to memory", "of.stores_conditionally & ~linked", "0"),
    Mutant(CORE, "comparisons are unsigned", "s[-1] ^ of.signed_compares", "s[-1]"),
    Mutant(CORE, "arithmetic shifts are logical", "(function[0] & t[-1])", "(function[0] & 0)"),
    Mutant(CORE, "RFE empties the stack", "Cat(enabled[1:], enabled[2])",
           "Cat(enabled[1:], 0)"),
    Mutant(CORE, "an address of a fetch is not checked", "with m.If(next_pc[:2].any()):",
           "with m.If(0):"),
    Mutant(CORE, "interrupts are not looked at while fetching overlaps", "of.plain & ~interrupted",
           "of.plain"),
    Mutant(CORE, "a fetch waits for a cycle", "m.d.comb += overlaps.eq(of.plain",
           "m.d.comb += overlaps.eq(of.plain & ~of.branches"),
    Mutant(CORE, "BadVAddr of any exception", "with m.If(code[1:] == ExcCode.ADEL >> 1):",
           "with m.If(1):"),
)

test_mutants_fit, test_testbench_finds_mutants = mutants_together(MUTANTS)


@unit
@pytest.mark.parametrize(("parameters", "kind", "message"), [
    ({"endian": "middle"}, ValueError, r"^Endian must be one of big, little, not 'middle'$"),
    ({"reset_address": 2}, ValueError, r"^Reset address must be a multiple of 4, not 2$"),
    ({"reset_address": -4}, ValueError, r"^Reset address must be from 0 to 4294967292, not -4$"),
    ({"reset_address": "0"}, TypeError, r"^Reset address must be an integer, not '0'$"),
])
def test_refuses(parameters, kind, message):
    with pytest.raises(kind, match=message):
        Core(**parameters)


@unit
@pytest.mark.parametrize("made", [Core(), Core(endian="little"), MultiplyDivide(width=5)],
                         ids=["big", "little", "product"])
def test_converts_alone(made):
    assert "attribute \\top 1" in rtlil.convert(made)


def times(text, fetch, access, *, origin=0):
    """Of each instruction that begins, its class and the cycles to the next one."""
    model = CoreModel(vector=HANDLER, reset_address=origin)
    memory = Memory([0] * (origin // 4) + assemble(text, origin=origin) + [0] * 64,
                    lambda: fetch, lambda: access)
    begun = []
    for cycle in range(1000):
        request = model.request
        ready, response = memory.cycle(request)
        shown = model.step(ready=ready, response=response)
        if shown.begins:
            begun.append((cycle, shown.kind))
    return [(kind, after - before) for (before, kind), (after, _)
            in itertools.pairwise(begun)]


EVERY_CLASS = ("addiu $1, $0, 8\nlw $2, 0x100($0)\nsw $2, 0x104($0)\nadd $3, $1, $1\n"
               "mult $1, $1\ndivu $1, $0\nll $2, 0x100($0)\nsc $2, 0x100($0)\nsc $2, 0x100($0)\n"
               "syscall\n")


@unit
@pytest.mark.parametrize(("fetch", "access"), [((0, 1), (0, 1)), ((3, 1), (1, 4)),
                                               ((1, 25), (1, 45))])
def test_the_time_of_each_class(fetch, access):
    found = times(EVERY_CLASS, fetch, access, origin=0x200)
    classes = ["plain", "load", "store", "signed", "multiply", "divide", "load", "load",
               "checked", "trap"]
    waiting = {"load": sum(access), "store": access[0]}
    assert found[:10] == [(kind, instruction(
        core_cycles=CLASSES[kind](), fetch_wait=sum(fetch), data_wait=waiting.get(kind, 0)))
        for kind in classes]


@unit
def test_follows_the_model():
    """Without Verilator: a short program, every cycle of what matters most."""
    core, rng = Core(), random.Random(1)
    program = random_program(rng, units=25, exceptions=True, odd=True)
    model = CoreModel(vector=HANDLER)
    memory = Memory(program.words + [0] * 0x400, waits(rng, 1, 2), waits(rng, 2, 1))
    retired = []

    async def bench(ctx):
        ctx.set(core.vector, HANDLER)
        for _ in range(1500):
            request = model.request
            ready, response = memory.cycle(request)
            ctx.set(core.request.ready, ready)
            ctx.set(core.response.valid, response is not None)
            if response is not None:
                ctx.set(core.response.payload, {"data": response.data, "error": response.error})
            shown = model.step(ready=ready, response=response)
            assert ctx.get(core.request.valid) == (request is not None)
            if request is not None:
                assert ctx.get(core.request.payload.address) == request.address
            assert ctx.get(core.trace.begins) == shown.begins
            assert ctx.get(core.trace.ends) == (shown.retired is not None)
            if shown.retired:
                retired.append(shown.retired)
                assert ctx.get(core.trace.register) == shown.retired.register
                if shown.retired.register:
                    assert ctx.get(core.trace.value) == shown.retired.value
            await ctx.tick()

    run_bench(core, bench)
    assert len(retired) > 200


@unit
@pytest.mark.parametrize("width", [2, 3, 4])
def test_products_and_quotients_of_all_operands(width):
    product = MultiplyDivide(width=width)
    most = (1 << width) - 1

    def expected(divide, signed, a, b):
        if signed:
            a, b = (value - ((value & 1 << width - 1) << 1) for value in (a, b))
        if not divide:
            return a * b >> width & most, a * b & most
        if b == 0:
            return a & most, 1 if a < 0 else most
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return a - quotient * b & most, quotient & most

    async def bench(ctx):
        for divide, signed, a, b in itertools.product((0, 1), (0, 1), range(most + 1),
                                                      range(most + 1)):
            for name, value in (("start", 1), ("divide", divide), ("signed", signed), ("a", a),
                                ("b", b)):
                ctx.set(getattr(product, name), value)
            await ctx.tick()
            ctx.set(product.start, 0)
            ctx.set(product.a, ~a)
            cycles = 1
            while not ctx.get(product.done):
                await ctx.tick()
                cycles += 1
            await ctx.tick()
            assert cycles == (width + 3 if divide else width)
            assert (ctx.get(product.hi), ctx.get(product.lo)) == expected(divide, signed, a, b)

    run_bench(product, bench)
