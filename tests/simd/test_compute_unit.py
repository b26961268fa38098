"""The compute unit's parts against their models, and its checkers against planted faults."""

import random
from types import SimpleNamespace

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.sim import Simulator

from cyclebound.golden.dram.timing import part_named
from cyclebound.golden.simd import arithmetic, functional, pipeline_bounds
from cyclebound.golden.simd.accelerator import CycleModel, Policy
from cyclebound.golden.simd.isa import TABLE, File, decode, encode
from cyclebound.golden.simd.machine import MACHINES, Grid, as_built, machine_named, name_of
from cyclebound.hdl.simd.control_stack import ControlStack
from cyclebound.hdl.simd.decoder import Decoder
from cyclebound.hdl.simd.divider import Divider
from cyclebound.hdl.simd.interfaces import Transfer
from cyclebound.hdl.simd.scoreboard import Scoreboard
from cyclebound.tb.simd import compute_unit
from cyclebound.tb.simd.compute_unit_properties import ComputeUnitCheck
from cyclebound.tb.simd.control_stack_properties import ControlStackCheck
from cyclebound.tb.simd.scoreboard_properties import ScoreboardCheck
from cyclebound.tools.simd.assembler import assemble
from cyclebound.tools.simd.random_instructions import random_instructions
from kit.run_bench import run_bench

pytestmark = pytest.mark.unit

TINY = "small lanes=2 items=4 special_units=1"


# -- parts -----------------------------------------------------------------------------------------

@pytest.mark.parametrize(("vectors", "snoopy"), [(64, 1), (16, 1), (64, 0)])
def test_the_decoder_refuses_what_the_table_refuses(instruction, vectors, snoopy):
    """And registers, or snoopy accesses, that the machine does not have."""
    rng = random.Random(1)
    words = [encode(instruction(rng)) for _ in range(300)]
    words += [word ^ 1 << rng.randrange(64) for word in words for _ in range(2)]
    words += [rng.getrandbits(64) for _ in range(50)] + [len(TABLE), 0x7F, 0]
    dut, found = Decoder(machine=machine_named(f"small vectors={vectors} snoopy={snoopy}")), []

    async def bench(ctx):
        for word in words:
            ctx.set(dut.word, word)
            await ctx.delay(1e-9)
            found.append(ctx.get(dut.decoded.illegal))

    simulator = Simulator(dut)
    simulator.add_testbench(bench)
    simulator.run()
    legal = [_legal(word, vectors, snoopy) for word in words]
    assert [not message for message in found] == legal
    assert 250 < sum(legal) < len(legal) - 250 or (vectors < 64 and 50 < sum(legal))


def _legal(word, vectors, snoopy):
    try:
        instruction = decode(word)
    except ValueError:
        return False
    return instruction.last_vector < vectors and (
        bool(snoopy) or not instruction.operation.snoopy)


@pytest.mark.parametrize("cycles", [1, 5, 8, 32])
def test_the_divider(cycles):
    rng = random.Random(cycles)
    words = (0, 1, 2, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF)
    pairs = [(a, b) for a in words for b in words]
    pairs += [(rng.getrandbits(32), rng.getrandbits(rng.randint(1, 32))) for _ in range(60)]
    dut = Divider(cycles=cycles)

    async def bench(ctx):
        for a, b in pairs:
            ctx.set(dut.a, a)
            ctx.set(dut.b, b)
            ctx.set(dut.start, 1)
            await ctx.tick()
            ctx.set(dut.start, 0)
            ctx.set(dut.a, ~a & 0xFFFF_FFFF)
            for _ in range(cycles - 1):
                await ctx.tick()
            assert ctx.get(dut.quotient) == arithmetic.divide(a, b), (a, b)
            assert ctx.get(dut.remainder) == arithmetic.remainder(a, b), (a, b)

    run_bench(dut, bench)


@pytest.mark.parametrize("dut", [lambda: Decoder(machine=MACHINES["paper"]), Divider,
                                 lambda: ControlStack(machine=TINY),
                                 lambda: Scoreboard(machine="paper")])
def test_each_part_is_a_design(dut):
    assert "attribute \\top 1" in rtlil.convert(dut())


# -- what is refused -------------------------------------------------------------------------------

def test_machines_are_named():
    assert machine_named("paper") == MACHINES["paper"]
    assert machine_named(MACHINES["small"]) is MACHINES["small"]
    assert machine_named("small decode_stages=1").decode_stages == 1
    with pytest.raises(ValueError, match=r"^a machine must be one of paper, small, not 'huge'$"):
        machine_named("huge")
    for name in ("paper", "small", "small lanes=4 special_units=1 vectors=16",
                 "paper scratchpad_words=1024", "small snoopy=0"):
        assert name_of(machine_named(name)) == name
    with pytest.raises(ValueError, match="cannot be named"):
        name_of(as_built(MACHINES["small"]))
    for wrong in ("small lanes", "small lanes=x", "small height=3"):
        with pytest.raises(ValueError, match=r"^a change to a machine must be one of its sizes"):
            machine_named(wrong)
    with pytest.raises(ValueError, match=r"^lanes must be a power of two"):
        machine_named("small lanes=3")
    for change, limits in (("vectors=128", "4 to 64"), ("vectors=2", "4 to 64"),
                           ("scratchpad_words=2", "4 to 16384"),
                           ("scratchpad_words=32768", "4 to 16384")):
        with pytest.raises(ValueError, match=f"must be a power of two from {limits}, not"):
            machine_named(f"small {change}")


def test_a_program_is_refused_that_needs_a_larger_machine():
    program = assemble(".data\n0 0x0 400 1\n.sp_data\n0 0 100 10\n"
                       ".text\nldglin.vec4 v13, 0\nexit\n")
    program.check(MACHINES["small"])
    program.check(machine_named("small vectors=32 scratchpad_words=1024"))
    with pytest.raises(ValueError, match=r"\(ldglin\) has register v16, and the machine v0 to v15"):
        program.check(machine_named("small vectors=16"))
    with pytest.raises(ValueError, match=r"^kernel: scratchpad buffer 0 ends at byte 4000, "
                                         r"and the machine's scratchpads at byte 2048$"):
        program.check(machine_named("small scratchpad_words=512"))
    snoops = assemble(".data\n0 0x0 400 1\n.text\nnop\nldgbidx 0\nexit\n")
    snoops.check(MACHINES["small"])
    with pytest.raises(ValueError, match=r"^kernel: line 5, instruction 1 \(ldgbidx\) is a snoopy "
                                         r"access, and the machine has none \(snoopy=0\)"):
        snoops.check(machine_named("small snoopy=0"))
    with pytest.raises(ValueError, match=r"^snoopy must be 0 or 1, not 2$"):
        machine_named("small snoopy=2")
    small = machine_named("small vectors=16")
    for run in (lambda: functional.run(program, Grid(64, 1, small), {}),
                lambda: CycleModel(program, Grid(64, 1, small), {}, policy=Policy.UNCONSTRAINED,
                                   part=part_named("ddr4-3200aa-x16"))):
        with pytest.raises(ValueError, match=r"has register v16"):
            run()


@pytest.mark.parametrize("words", [0, 3, 16])
def test_positions_of_the_bus_are_checked(words):
    with pytest.raises(ValueError, match=f"^words must be a power of two from 1 to 8, not {words}"):
        Transfer(machine=MACHINES["small"], words=words)


# -- random instructions, plans, bounds ------------------------------------------------------------

def test_random_instructions_reach_every_operation():
    machine, seen = MACHINES["small"], set()
    for seed in range(60):
        text = random_instructions(seed, machine)
        assert text == random_instructions(seed, machine)
        seen |= {instruction.name for instruction in assemble(text).instructions}
    assert {operation.name for operation in TABLE} - seen == set()


def test_a_plan_has_all_work_groups():
    plan = compute_unit.random_plan(3, MACHINES["small"], 8)
    assert len(plan.launches) == plan.grid.count
    assert sum(cycle < plan.end for cycle in plan.phases) == len(plan.phases) > 0
    for what in compute_unit.FLAWED:
        tester = SimpleNamespace(machine=MACHINES["small"], words=8)
        assert compute_unit.flawed_plan(tester, what, random.Random(0)).fault is not None


def test_bounds_of_the_paper_are_the_measured_ones():
    """Sim-D's model, with three decode and five execute stages."""
    paper = {"machine": "paper"}
    assert [pipeline_bounds.scalar_dependent(operand=k, **paper) for k in range(3)] == [8, 7, 6]
    assert pipeline_bounds.vector(**paper) == 8
    assert pipeline_bounds.special(**paper) == 32
    assert pipeline_bounds.division_again(**paper) == 9
    assert pipeline_bounds.division_dependent(operand=1, **paper) == 10
    assert pipeline_bounds.division(**paper) == 4
    assert pipeline_bounds.jump_taken(**paper) == 9
    assert pipeline_bounds.push_to_pop(**paper) == 29
    assert 8 + pipeline_bounds.emptied(**paper) + pipeline_bounds.injected(**paper) == 42


# -- checkers --------------------------------------------------------------------------------------

def _drive(dut, checker, cycles):
    """Set members by name, cycle by cycle."""
    async def bench(ctx):
        for values in cycles:
            for name, value in values.items():
                ctx.set(getattr(dut, name), value)
            await ctx.tick()

    run_bench(dut, bench, checker)


READS = [{"file": File.VECTOR, "number": 3}, {"file": File.NONE, "number": 0},
         {"file": File.NONE, "number": 0}]
WRITES = {"writes": {"file": File.VECTOR, "number": 3}, "warp": 0}
QUIET = {"issue": 0, "reads": READS}


@pytest.mark.parametrize(("says", "fault"), [
    ("", lambda m, inner, outer: None),
    ("would be read before it is written",
     lambda m, inner, outer: m.d.comb.__iadd__(outer.wait.eq(0))),
    *((f"operand {number} is not on its way, and it waits",
       lambda m, inner, outer, number=number: m.d.comb.__iadd__(
           outer.wait.eq(inner.wait | (~outer.issue & (outer.reads[number].file != File.NONE)))))
      for number in range(3)),
], ids=["none", "early", "idle 0", "idle 1", "idle 2"])
def test_the_scoreboard_s_checker(tampered, says, fault):
    dut = tampered(Scoreboard(machine="small"), fault)
    idle = {"file": File.NONE, "number": 0}
    cycles = [QUIET | {"writes": idle}, {"issue": 1, "reads": [READS[1]] * 3, **WRITES},
              *[{"issue": 0, "reads": READS[-number:] + READS[:-number]}
                for number in (0, 1, 2) for _ in range(12)]]
    if says:
        with pytest.raises(AssertionError, match=says):
            _drive(dut, ScoreboardCheck(dut), cycles)
    else:
        _drive(dut, ScoreboardCheck(dut), cycles)


STACK = [{"target": 0, "warp": 0},
         {"push": 1, "warp": 0, "last": 0, "lanes": 1, "mask": 2, "target": 9},
         {"warp": 1, "last": 1, "lanes": 2}, {"push": 0, "pop": 1, "warp": 0, "last": 0},
         {"warp": 1, "last": 1}, {"pop": 0, "last": 0}, {}]


@pytest.mark.parametrize(("says", "fault"), [
    ("", lambda m, inner, outer: None),
    ("entries are lost", lambda m, inner, outer: m.d.comb.__iadd__(outer.level.eq(0))),
    ("empty, and not", lambda m, inner, outer: m.d.comb.__iadd__(outer.empty.eq(0))),
    ("full, and not", lambda m, inner, outer: m.d.comb.__iadd__(outer.full.eq(1))),
    ("other lanes", lambda m, inner, outer: m.d.comb.__iadd__(
        outer.top_lanes.eq(~inner.top_lanes))),
    ("another mask", lambda m, inner, outer: m.d.comb.__iadd__(
        outer.top_target.eq(inner.top_target + 1))),
], ids=["none", "level", "empty", "full", "lanes", "target"])
def test_the_control_stack_s_checker(tampered, says, fault):
    dut = tampered(ControlStack(machine=TINY), fault)
    if says:
        with pytest.raises(AssertionError, match=says):
            _drive(dut, ControlStackCheck(dut), STACK)
    else:
        _drive(dut, ControlStackCheck(dut), STACK)


class Ports(wiring.Component):
    """Ports that say what a test makes them say."""

    def __init__(self):
        self.machine = machine_named(TINY)
        lanes = self.machine.lanes
        source = data.StructLayout({"file": 3, "number": 6})

        def strobe(fields):
            return wiring.Out(wiring.Signature({"valid": wiring.Out(1),
                                                "payload": wiring.Out(data.StructLayout(fields))}))

        super().__init__({
            "commit": strobe({"slot": 1, "warp": 1, "lanes": lanes, "writes": source}),
            "access": strobe({"slot": 1}), "launch": strobe({"slot": 1}),
            "fault": wiring.Out(wiring.Signature({"valid": wiring.Out(1)})),
            "completion": wiring.Out(wiring.Signature({"valid": wiring.Out(1)})).array(2),
            "active": wiring.Out(self.machine.items).array(2),
            **{name: wiring.Out(1) for name in ("start", "stopped", "stall")},
            "occupied": wiring.Out(2),
        })

    def elaborate(self, platform):
        return Module()


COMMIT = {"commit.valid": 1, "commit.payload.lanes": 3, "active.0": 0b1111, "occupied": 1}
ACCESS = {"access.valid": 1, "occupied": 1}
CASES = {
    "": [COMMIT, {"commit.valid": 0}, ACCESS | {"stall": 1}, {"stall": 0}, {"access.valid": 0}],
    "a masked lane writes": [COMMIT | {"active.0": 0b0110}],
    "a mask is no register": [COMMIT | {"commit.payload.writes.file": File.VECTOR_SPECIAL}],
    "computes while it transfers": [ACCESS, {"access.valid": 0}, COMMIT],
    "an instruction of a free slot commits": [COMMIT | {"occupied": 2}],
    "an access of a slot that is free": [ACCESS | {"occupied": 0}],
    "an access within an access": [ACCESS, {"access.valid": 1}],
}


@pytest.mark.parametrize("says", CASES, ids=lambda says: says or "none")
def test_the_compute_unit_s_checker(says):
    dut = Ports()

    async def bench(ctx):
        for values in CASES[says]:
            for name, value in values.items():
                place = dut
                for step in name.split("."):
                    place = place[int(step)] if step.isdecimal() else (
                        place[step] if isinstance(place, data.View) else getattr(place, step))
                ctx.set(place, value)
            await ctx.tick()
        await ctx.tick()

    if says:
        with pytest.raises(AssertionError, match=says):
            run_bench(dut, bench, ComputeUnitCheck(dut))
    else:
        run_bench(dut, bench, ComputeUnitCheck(dut))
