"""The DRAM device: states, refreshes, data bus, data. (Its distances: ``test_rules.py``.)"""

import random
import re
from collections import Counter

import pytest

from cyclebound.golden.dram.device import DramDevice, DramViolation, Issued
from cyclebound.golden.dram.rules import ALL_BANKS, WRITES, Command
from cyclebound.golden.dram.timing import PARTS, part_of

pytestmark = pytest.mark.unit

ACT, RD, RDA, WR, WRA, PRE, PREA, REF = (Command[name] for name in (
    "ACT", "RD", "RDA", "WR", "WRA", "PRE", "PREA", "REF"))
X16 = PARTS["ddr4-3200aa-x16"]


def play(part, script, *, strict=False):
    """Violations of a list of (cycle, command, bank), with data for all writes."""
    device = DramDevice(part, strict=strict)
    script = sorted(script)
    data = {}
    for cycle, command, _ in script:
        if command in WRITES:
            data |= {cycle + part.nCWD + beat: bytes(16) for beat in range(4)}
    by_cycle = {}
    for cycle, command, bank in script:
        by_cycle.setdefault(cycle, []).append((command, bank))
    for cycle in sorted(by_cycle.keys() | data.keys()):
        for command, bank in by_cycle.get(cycle, ()):
            device.command(cycle, command, bank)
        if cycle in data:
            device.data_in(cycle, data[cycle])
    return device.violations


def test_what_a_violation_says():
    device = DramDevice(X16)
    device.command(10, ACT, 3, row=7)
    device.command(20, ACT, 0)
    with pytest.raises(DramViolation, match=r"^nRCD: RD bank 3 in cycle 30 is 2 cycles too early "
                                            r"after ACT bank 3 in cycle 10, 22 at least$") as told:
        device.command(30, RD, 3)
    found = told.value
    assert (found.rule, found.previous, found.following, found.missing) == (
        "nRCD", Issued(ACT, 3, 10), Issued(RD, 3, 30), 2)
    assert isinstance(found, AssertionError)
    assert device.violations == [found]
    assert device.commands == {ACT: 2, RD: 1}


# The state of the banks, and the command bus

@pytest.mark.parametrize(("script", "rule", "says"), [
    ([(0, RD, 1)], "bank is closed", "RD bank 1 in cycle 0 needs an open row"),
    ([(0, ACT, 1), (30, RDA, 1), (300, WR, 1)], "bank is closed",
     "WR bank 1 in cycle 300 needs an open row, since RDA bank 1 in cycle 30"),
    ([(0, ACT, 1), (60, PRE, 1), (300, RD, 1)], "bank is closed",
     "RD bank 1 in cycle 300 needs an open row, since PRE bank 1 in cycle 60"),
    ([(0, ACT, 1), (60, PREA, 0), (300, WRA, 1)], "bank is closed",
     "WRA bank 1 in cycle 300 needs an open row, since PREA in cycle 60"),
    ([(0, ACT, 1), (30, RD, 1), (300, ACT, 1)], "bank is open",
     "ACT bank 1 in cycle 300 needs a closed bank, since ACT bank 1 in cycle 0"),
    ([(0, ACT, 1), (30, ACT, 2), (90, PRE, 1), (300, REF, 0)], "banks are open",
     "REF in cycle 300 needs all banks closed, since ACT bank 2 in cycle 30"),
    ([(0, PRE, 1), (0, PRE, 2)], "command bus",
     "PRE bank 2 in cycle 0 comes with PRE bank 1 in cycle 0"),
])
def test_state(script, rule, says):
    with pytest.raises(DramViolation, match=f"^{rule}: {re.escape(says)}$"):
        play(X16, script, strict=True)
    assert [found.rule for found in play(X16, script)] == [rule]


def test_a_refresh_waits_for_the_precharge_that_a_read_began():
    script = [(0, ACT, 0), (40, RDA, 0)]
    assert play(X16, [*script, (74, REF, 0)]) == []
    assert [found.rule for found in play(X16, [*script, (73, REF, 0)])] == ["nRC", "nRTP + nRP"]


def test_banks_that_are_closed_may_be_precharged():
    assert play(X16, [(0, PRE, 1), (1, PREA, 0), (2, PRE, 1)]) == []


# Refreshes

@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_eight_refreshes_may_be_postponed(part):
    most = 9 * part.nREFI
    device = DramDevice(part)
    device.command(most, REF)  # the ninth falls due in this very cycle
    for _ in range(8):
        device.command(device.earliest(REF), REF)
    assert device.commands[REF] == 9
    device.finish(2 * most + 1)
    late = DramDevice(part)
    with pytest.raises(DramViolation, match=rf"^refresh interval: REF in cycle {most + 1} comes 1 "
                       rf"cycle too late after the start, 9 \* nREFI = {most} at most$") as told:
        late.command(most + 1, REF)
    assert (told.value.missing, told.value.previous) == (1, None)


def test_any_command_tells_of_a_missing_refresh_and_tells_once():
    device = DramDevice(X16, strict=False)
    for cycle in (100, 9 * 12480, 9 * 12480 + 5, 9 * 12480 + 10):
        device.command(cycle, PRE, 0)
    assert [str(found) for found in device.violations] == [
        ("refresh interval: PRE bank 0 in cycle 112325 comes 5 cycles too late after the start, "
         "9 * nREFI = 112320 at most")]
    device.command(112400, REF)
    device.command(112400 + 9 * 12480, REF)
    assert [found.rule for found in device.violations] == [
        "refresh interval", "refreshes postponed"]


def test_the_end_tells_of_a_missing_refresh():
    device = DramDevice(X16)
    device.finish(9 * 12480 + 1)
    with pytest.raises(DramViolation, match=r"^refresh interval: cycle 112321 is 1 cycle too late "
                                            r"after the start, 9 \* nREFI = 112320 at most$"):
        device.finish(9 * 12480 + 2)


def test_more_than_eight_postponed():
    """The distances are all right; but one refresh never makes up for those before it."""
    device = DramDevice(X16)
    interval = X16.nREFI
    device.command(9 * interval, REF)   # 8 still owed
    device.command(10 * interval, REF)  # one more had fallen due, and this is it
    with pytest.raises(DramViolation, match=r"^refreshes postponed: REF in cycle 137281 comes 1 "
                                            r"cycle too late: more than 8 are owed$") as told:
        device.command(11 * interval + 1, REF)
    assert told.value.previous == Issued(REF, 0, 10 * interval)


def test_refreshes_ahead_count_eight_at_most():
    device = DramDevice(X16)
    for number in range(12):
        device.command(1000 * number, REF)  # 4 of them for nothing
    last = 11000 + 9 * X16.nREFI
    device.command(last, REF)
    device.command(last + X16.nRFC, REF)
    device.finish(17 * X16.nREFI)
    plain = DramDevice(X16, strict=False)
    for number in range(12):
        plain.command(1000 * number, REF)
    plain.command(last + 1, REF)
    assert [(found.rule, found.missing) for found in plain.violations] == [("refresh interval", 1)]


def test_what_was_ahead_of_the_eight_is_not_paid_back():
    device, interval = DramDevice(X16), X16.nREFI
    for number in range(12):
        device.command(1000 * number, REF)  # 4 of them for nothing
    device.command(9 * interval, REF)
    device.command(18 * interval, REF)    # 8 still owed
    device.command(19 * interval, PRE)
    with pytest.raises(DramViolation, match=r"^refreshes postponed: PRE bank 0 in cycle 237121 "
                                            r"comes 1 cycle too late: more than 8 are owed$"):
        device.command(19 * interval + 1, PRE)


def test_sixteen_refreshes_in_two_intervals():
    device = DramDevice(X16)
    for number in range(16):
        device.command(600 * number, REF)
    with pytest.raises(DramViolation, match=r"^refreshes in two intervals: REF in cycle 24959 is 1 "
                       r"cycle too early after REF in cycle 0: 16 at most within 2 \* nREFI = "
                       r"24960$"):
        device.command(24959, REF)
    again = DramDevice(X16)
    for number in range(16):
        again.command(600 * number, REF)
    again.command(24960, REF)
    assert again.commands[REF] == 17


# The data bus, and data

def test_bursts_overlap():
    """In a part without any distance to speak of between reads and writes (``strict`` off)."""
    part = X16
    for before, after, free in ((RD, RD, 4), (WR, WR, 4), (RD, WR, 10)):
        for gap in range(1, 14):
            found = play(part, [(0, ACT, 0), (20, ACT, 1), (100, before, 0),
                                (100 + gap, after, 1)])
            clashes = [violation for violation in found if violation.rule == "data bus"]
            assert len(clashes) == (gap < free and (before is not RD or after is RD
                                                    or gap > 2)), (before, after, gap)
            if clashes:
                cycles = free - gap if gap > free - 4 else 8 - (free - gap)
                assert clashes[0].missing == cycles
    assert str(clashes or found) == "[]"
    script = [(0, ACT, 0), (20, ACT, 1), (100, RD, 0), (107, WR, 1)]
    clash = next(violation for violation in play(part, script) if violation.rule == "data bus")
    assert str(clash) == ("data bus: WR bank 1 in cycle 107 and RD bank 0 in cycle 100 both use "
                          "it for 3 cycles")


def written(mask_of, part=X16):
    """A device with a burst of random bytes written under a mask over bytes that were there."""
    rng = random.Random("data")
    old, new = rng.randbytes(64), rng.randbytes(64)
    device = DramDevice(part)
    device.set_burst(2, 5, 9, old)
    device.command(0, ACT, 2, row=5)
    device.command(50, WR, 2, column=72)
    for beat in range(4):
        device.data_in(50 + part.nCWD + beat, new[16 * beat:16 * beat + 16], mask_of(beat))
    return device, old, new


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("masks", [(0xFFFF,) * 4, (0,) * 4, (1, 0x8000, 0xA5F0, 0x0F0F)])
def test_bytes_that_are_written_are_read(part, masks):
    device, old, new = written(masks.__getitem__, part)
    expected = bytes(new[i] if masks[i // 16] >> i % 16 & 1 else old[i] for i in range(64))
    at = device.earliest(RD, 2)
    device.command(at, RD, 2, column=72)
    beats = {cycle: device.data_out(cycle) for cycle in range(at, at + 60)}
    driven = {cycle: beat for cycle, beat in beats.items() if beat is not None}
    assert list(driven) == [at + part.nCAS + beat for beat in range(4)]
    assert b"".join(driven.values()) == expected == device.burst(2, 5, 9)
    assert device.data_out(at + 59) is None
    device.finish(at + 60)


def test_default_mask_writes_all_and_memory_holds_zeros_at_first():
    device = DramDevice(X16)
    device.command(0, ACT, 0, row=65535)
    device.command(22, WRA, 0, column=1016)
    for beat in range(4):
        device.data_in(38 + beat, bytes([beat + 1]) * 16)
        assert device.data_out(38 + beat) is None
    assert device.burst(0, 65535, 127) == b"".join(bytes([n]) * 16 for n in (1, 2, 3, 4))
    assert device.burst(0, 65535, 126) == bytes(64)


def test_row_that_is_open_is_the_one_that_is_read():
    device = DramDevice(X16)
    device.set_burst(1, 8, 0, b"a" * 64)
    device.set_burst(1, 9, 0, b"b" * 64)
    device.command(0, ACT, 1, row=9)
    device.command(22, RD, 1, row=8)
    assert device.data_out(44) == b"b" * 16


def test_write_data_in_a_cycle_that_expects_none():
    device = DramDevice(X16)
    device.command(0, ACT, 0)
    device.command(22, WR, 0)
    with pytest.raises(DramViolation,
                       match=r"^write data: no write expects data in cycle 37$") as told:
        device.data_in(37, bytes(16))
    assert (told.value.previous, told.value.following, told.value.missing) == (None, None, 0)
    for cycle in range(38, 42):
        device.data_in(cycle, bytes(16))
    with pytest.raises(DramViolation, match=r"^write data: no write expects data in cycle 42$"):
        device.data_in(42, bytes(16))


@pytest.mark.parametrize("how", ["command", "data_in", "data_out", "finish"])
def test_write_data_that_are_missing(how):
    device = DramDevice(X16)
    device.command(0, ACT, 0)
    device.command(22, WR, 0)
    device.data_in(38, bytes(16))
    act = {"command": lambda c: device.command(c, PRE, 3), "data_out": device.data_out,
           "data_in": lambda c: device.data_in(c, bytes(16)), "finish": device.finish}[how]
    with pytest.raises(DramViolation, match=r"^write data: beat 1 of WR bank 0 in cycle 22 is "
                                            r"missing in cycle 39$") as told:
        act(40)
    assert told.value.previous == Issued(WR, 0, 22)


def test_reservations_of_the_bus_are_forgotten_when_they_are_old_and_not_before():
    device = DramDevice(X16)
    device.command(0, ACT, 0)
    driven = 0
    for cycle in range(22, 22 + 8 * 1000):
        if cycle % 8 == 6:
            device.command(cycle, RD, 0)
        beat = device.data_out(cycle)
        assert (beat is not None) == (cycle >= 44 and (cycle - 44) % 8 < 4)
        driven += beat is not None
    assert driven == 4 * 997 + 2
    assert len(device._bus) < 1100


# What is no command

@pytest.mark.parametrize(("arguments", "says"), [
    ((0, 9), "command must be one of NOP, ACT, RD, RDA, WR, WRA, PRE, PREA, REF, not 9"),
    ((0, "ACT"), "command must be one of NOP, ACT, RD, RDA, WR, WRA, PRE, PREA, REF, not 'ACT'"),
    ((0, ACT, 8), "bank must be from 0 to 7, not 8"),
    ((0, ACT, -1), "bank must be from 0 to 7, not -1"),
    ((0, ACT, 0, 65536), "row must be from 0 to 65535, not 65536"),
    ((0, RD, 0, 0, 1024), "column must be from 0 to 1023, not 1024"),
    ((0, RD, 0, 0, "8"), "column must be from 0 to 1023, not '8'"),
    ((0, RD, 0, 0, 12), "column must be a multiple of 8, not 12"),
    ((-1, ACT), "cycle must be at least 0, the last one, not -1"),
    ((0.5, ACT), "cycle must be at least 0, the last one, not 0.5"),
])
def test_refuses(arguments, says):
    device = DramDevice(X16, strict=False)
    with pytest.raises(ValueError, match=f"^{re.escape(says)}$"):
        device.command(*arguments)
    assert device.commands == Counter()


def test_time_does_not_run_backwards():
    device = DramDevice(X16)
    device.command(7, Command.NOP)
    assert device.commands == Counter()
    device.command(7, 1, 0)
    for act in (lambda: device.command(6, PRE), lambda: device.data_out(6),
                lambda: device.data_in(6, bytes(16)), lambda: device.finish(6)):
        with pytest.raises(ValueError, match=r"^cycle must be at least 7, the last one, not 6$"):
            act()


def test_refuses_data_and_parts():
    device = DramDevice(X16)
    for act, says in (
            (lambda: device.data_in(0, bytes(15)), "beat must be 16 bytes, not 15"),
            (lambda: device.data_in(0, bytes(16), 65536),
             "mask must be from 0 to 65535, not 65536"),
            (lambda: device.data_in(0, bytes(16), None), "mask must be from 0 to 65535, not None"),
            (lambda: device.set_burst(0, 0, 0, bytes(63)), "burst must be 64 bytes, not 63"),
            (lambda: device.set_burst(0, 0, 128, bytes(64)),
             "column must be from 0 to 1023, not 1024")):
        with pytest.raises(ValueError, match=f"^{re.escape(says)}$"):
            act()
    numbers = dict(X16.numbers)
    odd = part_of(name="odd", generation="DDR4", tck_ps=625, banks=8, bank_groups=2, rows=2,
                  columns=8, numbers=numbers | {"nBURST": type(numbers["nRP"])(clocks=2)})
    with pytest.raises(ValueError, match=r"^nBURST of a part with a 64-bit bus must be 4, not 2$"):
        DramDevice(odd)


def test_commands_for_all_banks_ignore_the_bank():
    for command in ALL_BANKS:
        assert str(Issued(command, 3, 5)) == f"{command.name} in cycle 5"
