# amaranth: UnusedElaboratable=no
"""The timing checker: each rule at its limit and one cycle early, and against the device."""

import dataclasses
import functools
import random
import re
from collections import Counter

import pytest
from amaranth.hdl import Cat, Signal
from amaranth.sim import Simulator

from cyclebound.golden.dram.device import DramDevice
from cyclebound.golden.dram.rules import ALL_BANKS, CAS, Command, rules
from cyclebound.golden.dram.timing import PARTS
from cyclebound.tb.dram import timing_properties
from cyclebound.tb.dram.timing_properties import MOST_INTERVALS, DramAgeCheck, DramTimingCheck

pytestmark = pytest.mark.unit

ACT, RD, RDA, WR, WRA, PRE, PREA, REF = list(Command)[1:]
parts = pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
QUICK = "ddr4-3200aa-x16"
some_parts = pytest.mark.parametrize("part", [  # one of them if not all is asked for
    pytest.param(part, id=name, marks=() if name == QUICK else pytest.mark.thorough)
    for name, part in PARTS.items()])
MODULE = "ddr3-1600-module"


def timing(part):
    """The checker that knows all, without the distance of refreshes."""
    return DramTimingCheck(part=part, refreshed=False)


class Recorded:
    """A checker whose assertions are recorded: which are broken in which cycles of a script.

    One simulator serves all scripts, and no assertion that fires hides another.
    """

    def __init__(self, make, part):
        self._facts, self._played = {}, False
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(timing_properties, "Assert", self._record)
            self._check = make(part=part)
            self._simulator = Simulator(self._check)
        self._simulator.add_clock(1e-6)
        self._simulator.add_testbench(self._bench)
        self.texts = tuple(self._facts)

    def _record(self, fact, text):
        holds = Signal(init=1)
        self._facts.setdefault(text, []).append(holds)
        return holds.eq(fact)

    def broken(self, script, *texts):
        """Cycles in which assertions are broken, with their texts, in a list of (cycle, command,
        bank); of all assertions, or of those named."""
        self._script, self._watched, self._found = sorted(script), texts or self.texts, []
        if self._played:
            self._simulator.reset()
        self._played = True
        self._simulator.run()
        return self._found

    async def _bench(self, ctx):
        places = [(text, holds) for text in self._watched for holds in self._facts[text]]
        facts = Cat(holds for _, holds in places)
        whole, pins, now = (1 << len(places)) - 1, self._check.command, 0
        for cycle, command, bank in self._script:
            assert cycle >= now, "two commands in one cycle"
            ctx.set(pins.op, Command.NOP)
            while now <= cycle:
                if now == cycle:
                    ctx.set(pins.op, command)
                    ctx.set(pins.bank, bank)
                await ctx.tick()
                hold = ctx.get(facts)
                if hold != whole:
                    self._found.append((now, tuple(dict.fromkeys(
                        text for number, (text, _) in enumerate(places)
                        if not hold >> number & 1))))
                now += 1


recorded = functools.cache(Recorded)


def fires(part, script, *texts, make=timing):
    """The first violation in a script as (cycle, message), or None."""
    found = recorded(make, part).broken(script, *texts)
    return (found[0][0], found[0][1][0]) if found else None


def relations(part, level):
    """Pairs of banks for which a rule of ``level`` holds, and no closer rule does."""
    if level == "bank":
        return [(0, 0), (part.banks - 1, part.banks - 1)]
    if level == "group":
        return [(1, 1 + part.bank_groups), (part.banks - 1, part.bank_groups - 1)]
    return [(0, 1), (part.banks - 1, 0)]


def stranger(part, level, bank):
    """A bank that a rule of ``level`` does not speak of; None if there is none."""
    return {"bank": bank ^ 1, "group": bank ^ 1, "rank": None}[level]


@pytest.mark.parametrize(("part", "make"), [
    *(pytest.param(part, timing, id=name, marks=() if name == QUICK else pytest.mark.thorough)
      for name, part in PARTS.items()), *(
          pytest.param(PARTS[name], DramAgeCheck, id=f"by age, {name}")
          for name in (MODULE, QUICK))])
def test_each_rule_at_its_limit_and_one_cycle_early(part, make):
    """Whatever the other assertions say; each of ``before`` and ``after`` that it names."""
    told, checker = Counter(), recorded(make, part)
    for text in checker.texts:
        found = re.fullmatch(r"(.+): (.+) to (.+), (bank|group|rank), (\d+) cycles", text)
        if not found:
            continue
        name, level, delay = found[1], found[4], int(found[5])
        window = 4 if name == "nFAW" else 1
        for before in found[2].split(", "):
            for after in found[3].split(", "):
                assert [rule.delay(part) for rule in rules(part)
                        if (rule.previous.name, rule.following.name, rule.level, rule.window)
                        == (before, after, level, window)] == [delay], text
                told[before, after, level, window] += 1
        # each command before, then each command after, in turn; the early ones at the end
        befores, afters = found[2].split(", "), found[3].split(", ")
        pairs = [(befores[number % len(befores)], afters[number % len(afters)])
                 for number in range(max(len(befores), len(afters)))]
        apart = 2 * delay + 5
        script, early, at = [], [], 10
        for before, after in pairs:
            for first, second in relations(part, level):
                times = [at + offset for offset in range(window)]  # the fourth last counts
                script += [*((when, Command[before], first) for when in times),
                           (at + delay, Command[after], second)]
                other = stranger(part, level, first)
                if other is not None:
                    script.append((at + delay - 1, Command[after], other))
                at += apart
        for number, (before, after) in enumerate(pairs):
            first, second = relations(part, level)[number % 2]
            script += [*((at + offset, Command[before], first) for offset in range(window)),
                       (at + delay - 1, Command[after], second)]
            early.append((at + delay - 1, (text,)))
            at += apart
        assert checker.broken(script, text) == early
    table = Counter((rule.previous.name, rule.following.name, rule.level, rule.window)
                    for rule in rules(part))
    assert told == table  # all rules, each once


@parts
def test_a_read_in_between_hides_nothing(part):
    """ACT, RD, PRE: the precharge is legal for the read, and not for the activate."""
    last = part.nRAS - part.nRTP - 1
    assert last >= part.nRCD
    script = [(0, ACT, 3), (last, RD, 3), (part.nRAS - 1, PRE, 3)]
    assert fires(part, script) == (part.nRAS - 1,
                                   f"nRAS: ACT to PRE, bank, {part.nRAS} cycles")


@pytest.mark.parametrize(("script", "message"), [
    ([(100, RD, 2)], "bank is closed: RD, RDA, WR, WRA"),
    ([(0, ACT, 2), (100, PRE, 2), (300, WRA, 2)], "bank is closed: RD, RDA, WR, WRA"),
    ([(0, ACT, 2), (100, RDA, 2), (300, WR, 2)], "bank is closed: RD, RDA, WR, WRA"),
    ([(0, ACT, 2), (100, WRA, 2), (300, RDA, 2)], "bank is closed: RD, RDA, WR, WRA"),
    ([(0, ACT, 2), (100, ACT, 3), (200, PREA, 0), (300, RD, 3)],
     "bank is closed: RD, RDA, WR, WRA"),
    ([(0, ACT, 2), (100, RD, 2), (300, ACT, 2)], "bank is open: ACT"),
    ([(0, ACT, 2), (100, RD, 2), (300, REF, 0)], "banks are open: REF"),
    ([(0, ACT, 2), (100, PRE, 3), (300, REF, 0)], "banks are open: REF"),
    ([(5, 9, 0)], "command bus: no such command"),
    ([(5, 15, 0)], "command bus: no such command"),
])
def test_state_of_the_banks(script, message):
    part = PARTS["ddr4-3200aa-x16"]
    assert fires(part, script[:-1]) is None
    assert fires(part, script) == (script[-1][0], message)


def test_what_is_harmless():
    part = PARTS["ddr4-3200aa-x16"]
    assert fires(part, [(0, PRE, 2), (1, PRE, 2), (2, PREA, 0), (100, ACT, 2), (200, RD, 2),
                        (300, PRE, 2), (301, PRE, 2), (400, ACT, 2), (500, WRA, 2),
                        (600, REF, 0)]) is None


@parts
def test_beats_do_not_overlap(part):
    """Either order of directions; a read's data come later than those of a write after it."""
    says = "data bus: two bursts at once"
    reads_first = part.nCAS - part.nCWD + part.nBURST  # until a write's data fit after a read's
    for first, second, gap in ((RD, RDA, part.nBURST), (WR, WRA, part.nBURST),
                               (RD, WR, reads_first),
                               (WRA, RD, part.nBURST - (part.nCAS - part.nCWD))):
        if gap < 1:
            continue
        assert fires(part, [(9, first, 0), (9 + gap, second, 1)], says) is None
        if gap > 1:
            early = [(9, first, 0), (9 + gap - 1, second, 1)]
            assert fires(part, early, says) == (9 + gap - 1, says)


def test_refresh_interval():
    short = dataclasses.replace(PARTS["ddr4-3200aa-x16"], nREFI=6, nRFC=5)
    most = 6 * MOST_INTERVALS
    message = f"refresh interval: more than {most} cycles without REF"

    def refreshed(*cycles):
        return fires(short, [(cycle, REF, 0) for cycle in cycles], make=DramTimingCheck)

    assert refreshed(most, 2 * most) is None
    assert refreshed(most + 1) == (most + 1, message)
    assert refreshed(9, most + 10) == (most + 10, message)
    assert fires(short, [(most + 10, REF, 0)]) is None


@some_parts
def test_first_violation_is_the_device_s(part):
    """Random walks, most of them legal and tight, until the device objects or they end."""
    objections, commands = Counter(), 0
    for number in range(12):
        rng = random.Random(f"{part.name} {number}")
        device, script, cycle = DramDevice(part, strict=False), [], 0
        is_open = [False] * part.banks
        while not device.violations and len(script) < 60:
            bank = rng.randrange(part.banks)
            choices = (*CAS, *CAS, PRE, PREA) if is_open[bank] else (ACT, ACT, ACT, PRE)
            command = rng.choice(choices)
            if not any(is_open) and rng.random() < 0.2:
                command = REF
            at = max(device.earliest(command, bank), cycle)
            if rng.random() < 0.05:
                at = max(cycle, at - 1)
            if rng.random() < 0.02:
                command = rng.choice((ACT, RD, REF))
            at += rng.choice((0, 0, 0, 1, rng.randrange(40)))
            device.command(at, command, bank)
            device.violations = [found for found in device.violations
                                 if found.rule != "write data"]
            script.append((at, command, bank))
            if command in (ACT, RD, WR):
                is_open[bank] = True
            elif command in ALL_BANKS:
                is_open = [False] * part.banks
            else:
                is_open[bank] = False
            cycle = at + 1
        found = fires(part, script)
        commands += len(script)
        if not device.violations:
            assert found is None, script
            continue
        assert found is not None, device.violations
        assert found[0] == script[-1][0], (found, device.violations)
        name = found[1].partition(":")[0]
        assert name in {violation.rule for violation in device.violations}
        objections[name] += 1
    assert commands > 150
    assert len(objections) > 1, objections

