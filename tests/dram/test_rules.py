"""The table of rules: against the constraints of two public simulators, and on the device.

In tests/dram/data, ``ddr3_constraints.csv`` and ``ddr4_constraints.csv``: previous and next
command, level, window, expression, who enforces it. RDA, WRA: with auto-precharge; MWR, MWRA:
masked writes; PD*, SREF*: power-down and self-refresh.
"""

import ast
import csv
import dataclasses
import itertools
import random
from collections import Counter
from pathlib import Path

import pytest

from cyclebound.golden.dram.device import DramDevice, Issued
from cyclebound.golden.dram.rules import CAS, Command, Rule, rules
from cyclebound.golden.dram.timing import PARTS, Part

pytestmark = pytest.mark.unit

DATA = Path(__file__).parent / "data"
MASKED = {"MWR": "WR", "MWRA": "WRA"}
OURS = {command.name for command in Command} - {"NOP"}
LEVELS = {"Bank": 0, "BankGroup": 1, "Rank": 2, "Channel": 2}  # the closer, the smaller
RELATIONS = ("same bank", "same group", "other group")
ACT, RD, RDA, WR, WRA, PRE, PREA, REF = (Command[name] for name in (
    "ACT", "RD", "RDA", "WR", "WRA", "PRE", "PREA", "REF"))
START = 1000  # everything before it is long past
parts = pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)


def value_of(expression: str, part: Part) -> int:
    """An expression of the files, in clocks of ``part``."""
    known = {"tAL": 0, "tRL": part.nCAS, "tWL": part.nCWD, "BL": 2 * part.nBURST,
             "tCCD": part.nCCD_S, "tRRD": part.nRRD_S, "tWTR": part.nWTR_S}

    def of(node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int(number)):
                return number
            case ast.Name(id=name):
                return known[name] if name in known else getattr(part, f"n{name[1:]}")
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return of(left) + of(right)
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return of(left) - of(right)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return of(left) // of(right)
            case ast.Call(func=ast.Name(id="max"), args=arguments):
                return max(map(of, arguments))
        raise AssertionError(f"{ast.dump(node)} in {expression}")

    return of(ast.parse(expression, mode="eval").body)


@dataclasses.dataclass(frozen=True)
class Row:
    previous: str
    following: str
    level: str
    window: int
    expression: str
    source: str


def rows_of(part: Part) -> list[Row]:
    """The rows about our commands, in one rank; masked writes as writes."""
    with (DATA / f"{part.generation.lower()}_constraints.csv").open(newline="") as file:
        found = [Row(MASKED.get(row["prev_cmd"], row["prev_cmd"]),
                     MASKED.get(row["next_cmd"], row["next_cmd"]), row["level"],
                     int(row["window"]), row["expression"], row["source"])
                 for row in csv.DictReader(file)]
    return [row for row in found if row.level in LEVELS
            and {row.previous, row.following} <= OURS]


def reach(rule: Rule) -> int:
    return ("bank", "group", "rank").index(rule.level)


def ours(part: Part) -> dict[tuple, int]:
    """Least distance by (previous, following, window, relation)."""
    table: dict[tuple, int] = {}
    for rule, relation in itertools.product(rules(part), range(3)):
        if relation <= reach(rule):
            key = rule.previous.name, rule.following.name, rule.window, relation
            table[key] = max(table.get(key, 0), rule.delay(part))
    return with_ddr3(part, table)


def theirs(part: Part) -> dict[tuple, int]:
    table: dict[tuple, int] = {}
    for row, relation in itertools.product(rows_of(part), range(3)):
        if relation <= LEVELS[row.level]:
            key = row.previous, row.following, row.window, relation
            table[key] = max(table.get(key, 0), value_of(row.expression, part))
    return with_ddr3(part, table)


def with_ddr3(part: Part, table: dict[tuple, int]) -> dict[tuple, int]:
    """DDR3 has one group: no other group to ask about."""
    return {key: value for key, value in table.items()
            if part.bank_groups > 1 or RELATIONS[key[3]] != "other group"}


def jedec(part: Part) -> dict[tuple, int]:
    """What neither simulator has, of what is enforced here."""
    write = part.nCWD + part.nBURST
    extra = {("REF", "PRE"): part.nRFC, ("REF", "PREA"): part.nRFC,
             ("RDA", "PRE"): part.nRTP, ("WRA", "PRE"): write + part.nWR}
    return {(previous, following, 1, relation): delay
            for (previous, following), delay in extra.items() for relation in range(3)}


@parts
def test_enforces_every_constraint_of_both_simulators(part):
    rows, mine = rows_of(part), ours(part)
    assert len(rows) == {"DDR3": 104, "DDR4": 151}[part.generation]
    for row in rows:
        for relation in range(LEVELS[row.level] + 1):
            if part.bank_groups == 1 and relation == 2:
                continue
            key = row.previous, row.following, row.window, relation
            if row.window == 4 and part.nFAW == 0:
                continue
            assert mine[key] >= value_of(row.expression, part), (row, RELATIONS[relation])


@parts
def test_enforces_no_more_than_both_simulators_and_jedec(part):
    known, more = theirs(part), jedec(part)
    for key, delay in ours(part).items():
        if key[:2] in (("RDA", "PRE"), ("WRA", "PRE")) and key[3]:
            continue
        assert delay <= max(known.get(key, 0), more.get(key, 0)), key


@parts
def test_jedec_adds_what_the_simulators_lack(part):
    mine, known = ours(part), theirs(part)
    added = {(*key[:2], delay) for key, delay in mine.items() if delay > known.get(key, 0)}
    write = part.nCWD + part.nBURST + part.nWR
    expected = {("REF", "PRE", part.nRFC), ("RDA", "PRE", part.nRTP), ("WRA", "PRE", write)}
    if part.generation == "DDR3":
        expected.add(("REF", "PREA", part.nRFC))
    assert added == expected


@parts
def test_where_sources_differ_the_larger_counts(part):
    """Same-bank activates, where DRAMSys has tRCD for DDR4; and RD to WR."""
    mine = ours(part)
    assert mine["ACT", "ACT", 1, 0] == part.nRC > part.nRCD
    assert mine["RD", "WR", 1, 1] == part.nCAS + part.nBURST + 2 - part.nCWD
    longer = dataclasses.replace(part, nWPRE=2)
    both = part.nCAS + part.nBURST + 3 - part.nCWD
    assert ours(longer)["RD", "WRA", 1, 0] == both
    assert ours(dataclasses.replace(part, nWPRE=0))["RDA", "WR", 1, 0] == both - 1


@parts
def test_numbers_of_the_part(part):
    """A few distances of each kind, by hand, for Sim-D's part."""
    mine = ours(part)
    if part.name != "DDR4-3200AA x16 (2 bank groups)":
        assert mine["ACT", "RD", 1, 0] == part.nRCD
        return
    assert {key: mine[key] for key in (
        ("ACT", "RD", 1, 0), ("RD", "RD", 1, 1), ("RD", "RD", 1, 2), ("RD", "WR", 1, 2),
        ("WR", "RD", 1, 1), ("WR", "RD", 1, 2), ("WR", "PRE", 1, 0), ("WR", "RDA", 1, 0),
        ("RDA", "ACT", 1, 0), ("WRA", "ACT", 1, 0), ("ACT", "ACT", 1, 0), ("ACT", "ACT", 1, 1),
        ("ACT", "ACT", 1, 2), ("ACT", "ACT", 4, 2), ("WRA", "REF", 1, 2), ("REF", "ACT", 1, 2),
    )} == {
        ("ACT", "RD", 1, 0): 22, ("RD", "RD", 1, 1): 8, ("RD", "RD", 1, 2): 4,
        ("RD", "WR", 1, 2): 12, ("WR", "RD", 1, 1): 32, ("WR", "RD", 1, 2): 24,
        ("WR", "PRE", 1, 0): 44, ("WR", "RDA", 1, 0): 32, ("RDA", "ACT", 1, 0): 34,
        ("WRA", "ACT", 1, 0): 66, ("ACT", "ACT", 1, 0): 74, ("ACT", "ACT", 1, 1): 11,
        ("ACT", "ACT", 1, 2): 9, ("ACT", "ACT", 4, 2): 48, ("WRA", "REF", 1, 2): 66,
        ("REF", "ACT", 1, 2): 560}


def test_ddr3_has_no_rule_of_a_group_and_no_window_where_there_is_none():
    part = PARTS["ddr3-1600-module"]
    assert {rule.level for rule in rules(part)} == {"bank", "rank"}
    assert {rule.window for rule in rules(part)} == {1, 4}
    assert {rule.window for rule in rules(dataclasses.replace(part, nFAW=0))} == {1}
    assert {rule.level for rule in rules(PARTS["ddr4-3200aa-x8"])} == {"bank", "group", "rank"}


@parts
def test_every_rule_is_there_once(part):
    kinds = [(rule.previous, rule.following, rule.level, rule.window) for rule in rules(part)]
    assert len(kinds) == len(set(kinds)) == {"DDR3": 47, "DDR4": 60}[part.generation]
    assert Command.NOP not in {command for kind in kinds for command in kind[:2]}


# Each rule at its limit, on the device

def play(part, script):
    """Violations of a list of (cycle, command, bank); data are left out."""
    device = DramDevice(part, strict=False)
    for cycle, command, bank in sorted(script):
        device.command(cycle, command, bank)
    return [found for found in device.violations if found.rule != "write data"]


def relations(part, level):
    """Pairs of banks for which a rule of ``level`` holds, and no closer rule does."""
    if level == "bank":
        return [(0, 0), (part.banks - 1, part.banks - 1)]
    if level == "group":
        return [(1, 1 + part.bank_groups)]
    return [(0, 1), (part.banks - 1, 0)]


def commands_of(part, rule, first, second):
    """A legal past, ``previous`` at START, and what may come before ``following``.

    Returns the script, the bank of ``following``, and commands to try in between; these are none
    where the script has some there already.
    """
    before, after = rule.previous, rule.following
    if rule.window == 4:
        return [(START + bank * part.nRRD_L, ACT, bank) for bank in range(4)], 4, []
    opened = set()  # before START
    if before in (*CAS, PRE, PREA):
        opened.add(first)
    if after in CAS and (before is not ACT or first != second):
        opened.add(second)
    if after is PREA and before is not REF:
        opened.add((first + 1) % part.banks if before is ACT else first)
    script = [(100 * (number + 1), ACT, bank) for number, bank in enumerate(sorted(opened))]
    script.append((START, before, first))
    if before is ACT and after is (REF if first != second else ACT):
        return [*script, (START + part.nRCD, RDA, first)], second, []  # it closes the bank in time
    idle = [bank for bank in range(part.banks) if bank not in opened | {first, second}]
    return script, second, [(RD, first), (WR, first), (RD, second), (RDA, first), (ACT, idle[0]),
                            (PRE, idle[-1])]


def first_legal(part, script, last, commands):
    """A command between START and ``last`` with which the whole script remains legal, if any."""
    for command, bank in commands:
        for when in range(START + 1, last[0] - 1, 1 + (last[0] - START) // 12):
            if not play(part, [*script, (when, command, bank), last]):
                return when, command, bank
    return None


@parts
def test_each_rule_at_its_limit_and_one_cycle_early(part):
    """And with another legal command in between, so that the last command alone says nothing."""
    alone, limits = set(), 0
    for rule in rules(part):
        if rule.name == "nWR - nRTP" and part.nWR - part.nRTP <= part.nWTR_L:
            continue  # nWTR_L is longer, and hides it
        for first, second in relations(part, rule.level):
            case = f"{rule.name} {rule.previous.name} {rule.following.name} {rule.level}"
            limit = START + rule.delay(part)
            script, bank, commands = commands_of(part, rule, first, second)
            scripts = [script]
            assert play(part, [*script, (limit, rule.following, bank)]) == [], case
            if commands:
                more = first_legal(part, script, (limit, rule.following, bank), commands)
                if more is None:
                    alone.add((rule.previous, rule.following, rule.level))
                else:
                    scripts.append([*script, more])
            for history in scripts:
                early = play(part, [*history, (limit - 1, rule.following, bank)])
                found = [found for found in early if found.rule == rule.name
                         and found.previous.command is rule.previous]
                assert [(told.previous.cycle, told.following, told.missing) for told in found] == [
                    (START, Issued(rule.following, bank, limit - 1), 1)], case
                limits += 1
    # nothing else is legal after REF; and a PRE on the way to a REF has the same distance
    assert alone == {*((REF, after, "rank") for after in (ACT, PRE, PREA, REF)),
                     (PRE, REF, "rank"), (PREA, REF, "rank")}
    assert limits > 2 * len(rules(part))


def earlier(part, rule, order):
    """Brute force: is one of the past commands too close to the last one?"""
    cycle, command, bank = order[-1]
    close = {"bank": lambda other: other == bank,
             "group": lambda other: part.bank_group(other) == part.bank_group(bank),
             "rank": lambda other: True}[rule.level]
    if command != rule.following:
        return False
    past = [when for when, what, where in order[:-1] if what == rule.previous and close(where)]
    return len(past) >= rule.window and past[-rule.window] > cycle - rule.delay(part)


@parts
def test_random_commands_against_all_pairs(part):
    """Names of the broken rules of each command, from the definition: all pairs of the past."""
    distances = {rule.name for rule in rules(part)}
    table = rules(part)
    seen = Counter()
    for number in range(20):
        rng = random.Random(f"{part.name} {number}")
        device, order, cycle, most = DramDevice(part, strict=False), [], 0, rng.choice((4, 20, 60))
        for _ in range(120):
            cycle += rng.randrange(1, most)
            command = rng.choice((ACT, ACT, RD, RD, WR, WR, RDA, WRA, PRE, PREA, REF))
            bank = rng.randrange(part.banks)
            device.violations.clear()
            device.command(cycle, command, bank)
            order.append((cycle, command, bank))
            expected = sorted(rule.name for rule in table if earlier(part, rule, order))
            said = sorted(found.rule for found in device.violations if found.rule in distances)
            assert said == expected, order[-1]
            seen.update(said)
    assert set(seen) == distances


@parts
def test_earliest_is_the_first_legal_cycle(part):
    """Random walks in the first legal cycle, and a cycle before it wherever that is later."""
    rng = random.Random(part.name)
    done, limits = [], 0
    device, opened = DramDevice(part, strict=False), [False] * part.banks
    for _ in range(400):
        bank = rng.randrange(part.banks)
        command = rng.choice((RD, WR, RDA, WRA, PRE)) if opened[bank] else ACT
        if not any(opened) and rng.random() < 0.2:
            command = REF
        at = device.earliest(command, bank)
        if done and at > done[-1][0] + 1:
            limits += 1
            twin = DramDevice(part, strict=False)
            for replayed in done[-40:]:
                twin.command(*replayed)
            twin.violations.clear()
            twin.command(at - 1, command, bank)
            assert 1 in {found.missing for found in twin.violations}
        device.command(at, command, bank)
        done.append((at, command, bank))
        opened[bank] = command in (ACT, RD, WR)
    assert [found for found in device.violations if found.rule != "write data"] == []
    assert limits > 100
