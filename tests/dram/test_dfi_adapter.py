# amaranth: UnusedElaboratable=no
"""DFI: the part in controller clocks, every rule of the checker, the adapter."""

import dataclasses
import random
import re

import pytest
from amaranth.back import rtlil

from cyclebound.golden.dram import dfi_bounds as bounds
from cyclebound.golden.dram.bounds import tile_issue_delay
from cyclebound.golden.dram.dfi import CAS_PHASE, DfiPhy, dfi_part, mode_registers
from cyclebound.golden.dram.dfi_adapter import (
    RULES,
    DfiChecker,
    DfiDevice,
    DfiPhase,
    DfiViolation,
    DfiWord,
)
from cyclebound.golden.dram.jedec import jedec_parts
from cyclebound.golden.dram.rules import CAS, Command, rules
from cyclebound.golden.dram.timing import part_named
from cyclebound.hdl.dram.dfi_adapter import DfiAdapter
from cyclebound.sim import catalogue
from cyclebound.sim.run.job import Job, simulate
from cyclebound.tb.dram import dfi_adapter_properties as properties
from kit.faults import Tampered, edited, override
from kit.random_streams import play_streams
from kit.run_bench import run_bench

unit, cosim, thorough = pytest.mark.unit, pytest.mark.cosim, pytest.mark.thorough
PART = part_named("ddr3-800e-x16")
PHY = DfiPhy(wrlat=4, wrdata=1, rddata_en=5, rdlat=10)
VALUES = {"part": PART, "ratio": 4, **dataclasses.asdict(PHY)}
DDR3 = {name: part for name, part in jedec_parts().items() if part.generation == "DDR3"}


def own_phy(part):
    return DfiPhy(wrlat=part.nCWD - 1, wrdata=1, rddata_en=part.nCAS - 1, rdlat=10)


# The part in controller clocks

@unit
@pytest.mark.parametrize("ratio", [2, 4])
def test_distances_in_controller_clocks_keep_all_of_the_device(ratio):
    """Rule by rule, for all speed bins: from the last read or write of a burst to the first."""
    assert len(DDR3) == 63  # 21 bins of three widths
    cas, last = CAS_PHASE[ratio], 4 - 4 // ratio
    for name, part in DDR3.items():
        seen = dfi_part(part, own_phy(part), ratio=ratio)
        have = {}
        for rule in rules(seen):
            key = rule.previous, rule.following, rule.level, rule.window
            have[key] = max(have.get(key, 0), rule.delay(seen))
        for rule in rules(part):
            if rule.name == "nWR - nRTP":  # of one bank that stays open: never
                continue
            before, after = (cas if command in CAS else 0
                             for command in (rule.previous, rule.following))
            clocks = have[rule.previous, rule.following, rule.level, rule.window]
            if rule.previous in CAS:
                clocks -= last
            assert ratio * clocks + after - before >= rule.delay(part), (name, rule)
        assert seen.nREFI * ratio <= part.nREFI


@unit
@pytest.mark.parametrize("name", ["nRCD", "nRP", "nRAS", "nRRD_L", "nFAW", "nRFC"])
def test_no_distance_is_longer_than_it_must_be(name):
    """One clock less would break the device's."""
    part = part_named("ddr3-1600k-x16")
    seen = dfi_part(part, own_phy(part), ratio=4)
    shift = CAS_PHASE[4] if name == "nRCD" else 0
    assert 4 * (getattr(seen, name) - 1) + shift < getattr(part, name)


@unit
def test_reads_wait_for_a_slow_phy():
    """A longer nRTP, so that a read's data do not meet those of the next request's write."""
    slow = dataclasses.replace(PHY, rdlat=40)
    fast, late = (dfi_part(PART, phy, ratio=4) for phy in (PHY, slow))
    assert late.nRTP + late.nRP + late.nRCD == slow.turn(4) > PHY.turn(4)
    assert late.nRTP > fast.nRTP


@unit
@pytest.mark.parametrize(("changes", "ratio", "message"), [
    ({}, 3, "ratio must be one of 2, 4, not 3"),
    ({"generation": "DDR4"}, 4, "DDR3-800E x16: generation must be DDR3, not DDR4"),
    ({"nCAS": 15}, 4, ("DDR3-800E x16: nCAS must be one of 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, "
                      "not 15")),
    ({"nCWD": 4}, 4, "DDR3-800E x16: nCWD must be from 5 to 12, not 4"),
    ({"nWR": 17}, 4, "DDR3-800E x16: nWR must be at most 16, not 17"),
    ({"columns": 16}, 4, "DDR3-800E x16: columns must be at least 32, not 16"),
    ({"nCCD_L": 5, "nCCD_S": 5}, 4, "DDR3-800E x16: nCCD must be 4, not 5"),
    ({"nBURST": 3}, 4, "DDR3-800E x16: nBURST must be 4, not 3"),
    ({"rows": 1 << 17}, 4, ("DDR3-800E x16: 8 banks, 65,536 rows and 2,048 columns are the most "
                           "that DDR3 has")),
])
def test_refuses_parts(changes, ratio, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        dfi_part(dataclasses.replace(PART, **changes), PHY, ratio=ratio)


@unit
@pytest.mark.parametrize(("values", "kind", "message"), [
    ({"rdlat": 0}, ValueError, "rdlat must be from 1 to 64, not 0"),
    ({"wrlat": 65}, ValueError, "wrlat must be from 0 to 64, not 65"),
    ({"wrdata": 1.0}, TypeError, r"wrdata must be an integer, not 1\.0"),
    ({"rddata_en": True}, TypeError, "rddata_en must be an integer, not True"),
])
def test_refuses_phys(values, kind, message):
    with pytest.raises(kind, match=f"^{message}$"):
        dataclasses.replace(PHY, **values)


@unit
def test_mode_registers_by_hand():
    """DDR3-1600K: CL 11, CWL 8, write recovery 12 [JESD79-3F, 3.4.3]."""
    assert mode_registers(part_named("ddr3-1600k-x16")) == {
        0: 0b110_1_0_111_0_0_00, 1: 0b110, 2: 0b011_000, 3: 0}


# Bounds

@unit
def test_bounds_of_a_burst_by_hand():
    """1:4, DDR3-800E: a read's last word leaves 8 clocks before the next activate may come."""
    known = {**VALUES, "bursts": 1}
    seen = bounds.dfi_seen(**VALUES)
    assert (seen.nRCD, seen.nRTP, seen.nRP, seen.nRAS) == (1, 6, 2, 4)
    assert tile_issue_delay(part=seen, bursts=1, write=0) == 9
    assert bounds.dfi_tile_issue_delay(**known, write=0) == 1 + 11
    assert bounds.dfi_command(ratio=4, wrlat=4, wrdata=1) == 8
    assert bounds.dfi_read(ratio=4, **dataclasses.asdict(PHY)) == 8 + 4 + 4
    assert bounds.dfi_completion(**known, write=0) == 17 + 9 + (17 - 8)
    with pytest.raises(ValueError, match=r"^bursts must be at most 256, not 257$"):
        bounds.dfi_tile_issue_delay(**{**known, "bursts": 257}, write=0)


# The checker: a controller that does everything right, and then one thing wrong

WRITE = {"cs_n": 0, "ras_n": 1, "cas_n": 0, "we_n": 0}
READ = {**WRITE, "we_n": 1}
ACTIVATE = {"cs_n": 0, "ras_n": 0}
MODE = {"cs_n": 0, "ras_n": 0, "cas_n": 0, "we_n": 0}
CALIBRATE = {"cs_n": 0, "ras_n": 1, "cas_n": 1, "we_n": 0, "address": 1 << 10}
HURRY = 1_000_000  # 200 and 500 ps: one clock of each wait


class Tape:
    """What is on DFI, by DRAM clock; played to a checker of one phase a clock."""

    def __init__(self):
        self.phases, self.words = {}, {}

    def at(self, clock, **fields):
        self.phases.setdefault(clock, {}).update(fields)
        return self

    def play(self, until, *, complete_at=0, powered=True, hurry=HURRY, levels=None):
        checker = DfiChecker(PART, PHY, ratio=4, powered=powered, hurry=hurry)
        levels = levels or (lambda clock: {})
        for base in range(0, until, 4):
            checker.step([DfiPhase(**{**levels(clock), **self.phases.get(clock, {})})
                          for clock in range(base, base + 4)],
                         [DfiWord(*self.words.get(clock, (0, 0)))
                          for clock in range(base, base + 4)],
                         init_complete=base >= complete_at)
        return checker


def transfers():
    """A write and a read, with all that belongs to them."""
    tape = Tape().at(4, **WRITE)
    for clock in range(4, 10):
        tape.at(clock, odt=1)
    for clock in range(8, 12):
        tape.at(clock, wrdata_en=1)
    tape.at(40, **READ)
    for clock in range(45, 49):
        tape.at(clock, rddata_en=1)
    for clock in range(52, 56):
        tape.words[clock] = 1, 0
    return tape


def power_up(times=(8, 12, 130, 134, 138, 142, 154, 700)):
    """CKE, the first mode register, the others, calibration, first command; RESET# before."""
    reset, enable, *registers, calibrate, first = times
    values = mode_registers(PART)
    tape = Tape()
    for clock, number in zip(registers, (2, 3, 1, 0), strict=True):
        tape.at(clock, bank=number, address=values[number], **MODE)
    tape.at(calibrate, **CALIBRATE).at(first, **ACTIVATE)
    return tape, lambda clock: {"reset_n": int(clock >= reset), "cke": int(clock >= enable)}


@unit
def test_nothing_to_object_to():
    transfers().play(80).finish()
    tape, levels = power_up()
    checker = tape.play(720, powered=False, levels=levels)
    assert checker.ready == 700



def broken_transfer(rule):
    tape = transfers()
    match rule:
        case "column":
            tape.at(40, address=4)
        case "reset_n":
            tape.at(20, reset_n=0)
        case "cke":
            tape.at(21, cke=0)
        case "t_phy_wrlat":
            tape.at(11, wrdata_en=0)
        case "t_rddata_en":
            tape.at(49, rddata_en=1)
        case "ODTH8":
            tape.at(9, odt=0)
        case "rddata order":
            tape.words = {clock + 1: word for clock, word in tape.words.items()}
        case "rddata":
            tape.words = {clock - 8: word for clock, word in tape.words.items()}
        case "t_phy_rdlat":
            tape.words = {clock + 4: word for clock, word in tape.words.items()}
    return lambda: tape.play(80)


def broken_power_up(rule):
    times = [8, 12, 130, 134, 138, 142, 154, 700]
    more = {}
    match rule:
        case "dfi_init_complete":
            more = {"complete_at": 12}
        case "reset time":
            times[0] = 0
            more = {"hurry": 40_000}
        case "settling time":
            times[1] = 9
            more = {"hurry": 40_000}
        case "tXPR":
            times[2] = 119
        case "tMRD":
            times[4] = 137
        case "tMOD":
            times[6] = 153
        case "tZQinit":
            times[7] = 665
    tape, levels = power_up(times)
    match rule:
        case "mode registers":
            tape.at(142, address=mode_registers(PART)[0] | 1)
        case "power-up":
            del tape.phases[134]
        case "tDLLK":  # the DLL is not reset
            tape.at(142, address=mode_registers(PART)[0] & ~(1 << 8)).at(700, **READ)
    return lambda: tape.play(720, powered=False, levels=levels, **more)


POWER_UP = {"dfi_init_complete", "reset time", "settling time", "tXPR", "tMRD", "tMOD", "tZQinit",
            "tDLLK", "power-up", "mode registers"}


@unit
@pytest.mark.parametrize("rule", RULES)
def test_each_rule_fires(rule):
    play = (broken_power_up if rule in POWER_UP else broken_transfer)(rule)
    with pytest.raises(DfiViolation) as found:
        play()
    assert found.value.rule == rule


@unit
def test_words_that_never_come():
    tape = transfers()
    tape.words.clear()
    with pytest.raises(DfiViolation, match=r"^t_phy_rdlat: 4 words never came$"):
        tape.play(52).finish()


@unit
def test_a_phy_that_cannot_be():
    """DDR3-800E sends its first beats 6 clocks after a read; the hardware refuses it as well."""
    says = (r"^rddata_en \+ rdlat must be at least 10 for nCAS 6 of DDR3-800E x16 at 1:4, not 9$")
    early = dataclasses.replace(PHY, rdlat=4)
    dfi_part(PART, dataclasses.replace(PHY, rdlat=5), ratio=4)
    dfi_part(PART, dataclasses.replace(PHY, rdlat=4), ratio=2)
    for make in (lambda: DfiDevice(PART, early, ratio=4, rng=random.Random(0)),
                 lambda: DfiAdapter(**{**VALUES, "rdlat": 4}),
                 lambda: dfi_part(PART, early, ratio=4)):
        with pytest.raises(ValueError, match=says):
            make()
    with pytest.raises(ValueError, match=r"at least 26 for nCAS 6 of DDR3-800E x16 at 1:4 and "
                       r"commands held back by 14, not 15$"):
        dfi_part(PART, dataclasses.replace(PHY, wrlat=18), ratio=4)


# The component

@unit
@pytest.mark.parametrize("ratio", [2, 4])
def test_converts_alone(ratio):
    assert "attribute \\top 1" in rtlil.convert(DfiAdapter(**{**VALUES, "ratio": ratio}))


@unit
@pytest.mark.parametrize("ratio", [2, 4])
def test_columns_on_the_pins_for_every_column_count(ratio):
    """A10 says precharge and A12 is 0; A0 to A9, then A11 hold the column [JESD79-3F, table 6]."""
    for columns in (8 * ratio << power for power in range(12)):
        if columns > 2048:
            break
        part = dataclasses.replace(PART, columns=columns, rows=1 << 10)
        adapter = DfiAdapter(**{**VALUES, "part": part, "ratio": ratio})
        assert len(adapter.dfi_address_p0) == 13  # for the rows, 10 would do
        bursts, rng = adapter.seen.bursts_per_row, random.Random(columns)
        wanted = [(Command.RD, 0), (Command.RDA, bursts - 1), (Command.WR, bursts - 1),
                  (Command.WRA, 0), (Command.RDA, rng.randrange(bursts))]
        seen = []

        async def bench(ctx, adapter=adapter, wanted=wanted, seen=seen):
            cas = CAS_PHASE[ratio]
            for cycle in range(4 * len(wanted) + adapter.delay):
                op, column = wanted[cycle // 4] if cycle % 4 == 0 and cycle < 4 * len(wanted) else (
                    Command.NOP, 0)
                ctx.set(adapter.command.op, op)
                ctx.set(adapter.command.column, column)
                ctx.set(adapter.command.bank, 5)
                await ctx.tick()
                if not ctx.get(adapter._phase("cs_n", cas)):
                    bank, address = (ctx.get(adapter._phase(name, cas))
                                     for name in ("bank", "address"))
                    assert bank == 5
                    seen.append((bool(address >> 10 & 1), address & 0x3FF | address >> 1 & 0x400,
                                 address >> 12))

        run_bench(adapter, bench)
        assert seen == [(op in (Command.RDA, Command.WRA) and number == ratio - 1,
                         8 * (ratio * column + number), 0)
                        for op, column in wanted for number in range(ratio)], columns


@unit
@pytest.mark.parametrize("banks", [2, 4, 8])
def test_mode_registers_are_told_by_the_bank_pins(banks):
    """Of every device, however few banks a part says it has: register 2 and 3 need BA1."""
    adapter = DfiAdapter(**{**VALUES, "part": dataclasses.replace(PART, banks=banks)})
    seen = []

    async def bench(ctx):
        for number in (2, 3, 1, 0):
            ctx.set(adapter.mode.valid, 1)
            ctx.set(adapter.mode.payload.bank, number)
            await ctx.tick()
            seen.append(ctx.get(adapter.dfi_bank_p0))

    run_bench(adapter, bench)
    assert seen == [2, 3, 1, 0]


@thorough
@cosim
@pytest.mark.parametrize(("fault", "says"), [
    (("part.eq(Mux(begins, 0, age >> low))", "part.eq(0)"), "another beat was read"),
    (("last & Mux(begins", "Mux(begins"), "bank is closed"),
    (("writes | recent.any()", "writes"), "ODTH8"),
    (("cycles, first = self._read_enable_at", "cycles, first = self._write_enable_at"),
     "t_rddata_en"),
], ids=["columns", "precharges", "termination", "read enable"])
def test_testbench_finds(tmp_path, fault, says):
    block = dataclasses.replace(
        catalogue.load().find("dram.dfi_adapter"),
        component=edited("cyclebound.hdl.dram.dfi_adapter", fault).DfiAdapter)
    outcome = simulate(block, Job(block.name, "800_1to4", "phases", 1, str(tmp_path),
                                  wall_limit=600))
    assert not outcome.passed
    assert says in outcome.reason


COMMANDS = [Command.ACT, Command.PRE, Command.PREA, Command.REF, Command.RD, Command.WRA]


def watch(fault=None, *, ratio=4):
    """Commands of all kinds, some at the wrong distance, which is not the adapter's affair."""
    dut = DfiAdapter(part="ddr3-800e-x16", ratio=ratio, wrlat=4, wrdata=1, rddata_en=5, rdlat=10)
    if fault:
        dut = Tampered(dut, override(fault))

    def each(ctx, rng):
        busy = rng.random() < 0.6
        ctx.set(dut.command, {"op": rng.choice(COMMANDS) if busy else Command.NOP,
                              "bank": rng.randrange(8), "row": rng.getrandbits(12),
                              "column": rng.getrandbits(4)})
        ctx.set(dut.mode.valid, not busy and rng.random() < 0.2)

    play_streams(dut, properties.DfiAdapterCheck(dut), each=each, cycles=150)


def pin(name, change, phase=0):
    return lambda inner, outer, cycle: getattr(outer, f"dfi_{name}_p{phase}").eq(
        change(getattr(inner, f"dfi_{name}_p{phase}"), cycle))


@unit
@pytest.mark.parametrize("ratio", [2, 4])
def test_checker_is_quiet_without_a_fault(ratio):
    watch(ratio=ratio)


@unit
@pytest.mark.parametrize(("fault", "says"), [
    (pin("cs_n", lambda own, cycle: own | (cycle > 50)),
     "a command for rows is lost, late, or one too many"),
    (pin("cs_n", lambda own, cycle: 0), "a command for rows is lost, late, or one too many"),
    *((pin("we_n", lambda own, cycle: ~own), f"{name}: another command")
      for name in ("ACT", "PRE", "PREA", "REF")),
    (pin("bank", lambda own, cycle: own ^ 1), "another bank"),
    (pin("address", lambda own, cycle: own ^ 4), "another row"),
    (pin("address", lambda own, cycle: own | 1 << 10), "all banks instead of one"),
    (pin("address", lambda own, cycle: own & ~(1 << 10)), "one bank instead of all"),
    (pin("cs_n", lambda own, cycle: 0, phase=2), "a read or write of no burst"),
    (pin("cs_n", lambda own, cycle: 0, phase=3), "phase 3: a command")])
def test_checker_fires(only, fault, says):
    only(says, properties)
    with pytest.raises(AssertionError, match=f"^Assertion violated: {says}$"):
        watch(fault)
