"""A DRAM device's timing rules: the least distances between any two commands, as one table.

The table is for one channel and one rank, with no additive latency (tAL = 0). It is the union of
what two public simulators enforce and of what JEDEC demands beyond both. Where the sources differ,
the larger distance is taken:

- RD to WR: DRAMSys counts the write preamble (nCAS + nBURST + 1 + nWPRE - nCWD), Ramulator 2 two
  clocks (nCAS + nBURST + 2 - nCWD); with a preamble of one clock they are equal.
- ACT to ACT of a bank: nRC (Ramulator 2, JEDEC), where DRAMSys has nRCD for DDR4.

JEDEC's additions: nothing at all is legal within nRFC of a REF, so neither PRE nor PREA; and PRE
comes no sooner than the precharge that RDA or WRA began, as both simulators have it for PREA.

A masked write is WR or WRA with a data mask: all its distances are the same. There is no command
for power-down or self-refresh, for the controller has none: its clock enable is constant.
What is no distance between two commands, ``device.py`` checks: the state of the banks, the data
bus, and the greatest distance between refreshes.

Ref: JESD79-4 (DDR4), JESD79-3 (DDR3); constraints of DRAMSys and Ramulator 2.
"""

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cyclebound.golden.dram.timing import Part

__all__ = ["ALL_BANKS", "CAS", "READS", "WRITES", "Command", "Rule", "rules"]


class Command(enum.IntEnum):
    """The command on the command bus in one DRAM clock."""

    NOP = 0
    ACT = 1   # opens a row of a bank
    RD = 2
    RDA = 3   # read, then precharge the bank
    WR = 4
    WRA = 5   # write, then precharge the bank
    PRE = 6   # closes a bank
    PREA = 7  # closes all banks
    REF = 8   # refreshes all banks


READS = (Command.RD, Command.RDA)
WRITES = (Command.WR, Command.WRA)
CAS = READS + WRITES
ALL_BANKS = (Command.PREA, Command.REF)
"""Commands without a bank."""

Delay = Callable[[Part], int]


@dataclass(frozen=True)
class Rule:
    """``following`` comes at least ``delay(part)`` cycles after ``previous``.

    Attributes
    ----------
    previous, following : Command
        The two commands.
    level : str
        Which pairs it holds for: ``bank``, of the same bank; ``group``, of the same bank group;
        ``rank``, any two.
    window : int
        1 counts from the last ``previous``; 4 from the last but three (four-activate window).
    delay : Callable[[Part], int]
        The distance in DRAM clocks: with 1, ``following`` may come in the very next cycle.
    name : str
        The parameter that it is known by.
    """

    previous: Command
    following: Command
    level: str
    window: int
    delay: Delay
    name: str


def _write(p: Part) -> int:
    """From a write command to the end of its data."""
    return p.nCWD + p.nBURST


def _turn(p: Part) -> int:
    """From a read to a write: the bus turns around, and the write preamble finds it free."""
    return p.nCAS + p.nBURST + max(2, 1 + p.nWPRE) - p.nCWD


def _all() -> Iterator[Rule]:
    c = Command

    def rule(name: str, previous: object, following: object, level: str, delay: Delay,
             window: int = 1) -> Iterator[Rule]:
        for before in previous if isinstance(previous, tuple) else (previous,):
            for after in following if isinstance(following, tuple) else (following,):
                yield Rule(before, after, level, window, delay, name)

    # activates
    yield from rule("nRC", c.ACT, c.ACT, "bank", lambda p: p.nRC)
    yield from rule("nRRD_L", c.ACT, c.ACT, "group", lambda p: p.nRRD_L)
    yield from rule("nRRD_S", c.ACT, c.ACT, "rank", lambda p: p.nRRD_S)
    yield from rule("nFAW", c.ACT, c.ACT, "rank", lambda p: p.nFAW, window=4)
    yield from rule("nRP", c.PRE, c.ACT, "bank", lambda p: p.nRP)
    yield from rule("nRP", c.PREA, c.ACT, "rank", lambda p: p.nRP)
    yield from rule("nRTP + nRP", c.RDA, c.ACT, "bank", lambda p: p.nRTP + p.nRP)
    yield from rule("nWR + nRP", c.WRA, c.ACT, "bank", lambda p: _write(p) + p.nWR + p.nRP)
    yield from rule("nRFC", c.REF, c.ACT, "rank", lambda p: p.nRFC)

    # reads and writes
    yield from rule("nRCD", c.ACT, CAS, "bank", lambda p: p.nRCD)
    for same in (READS, WRITES):
        yield from rule("nCCD_L", same, same, "group", lambda p: p.nCCD_L)
        yield from rule("nCCD_S", same, same, "rank", lambda p: max(p.nCCD_S, p.nBURST))
    yield from rule("read to write", READS, WRITES, "rank", _turn)
    yield from rule("nWTR_L", WRITES, READS, "group", lambda p: _write(p) + p.nWTR_L)
    yield from rule("nWTR_S", WRITES, READS, "rank", lambda p: _write(p) + p.nWTR_S)
    # the precharge that the read begins has to wait for the write to recover
    yield from rule("nWR - nRTP", c.WR, c.RDA, "bank", lambda p: _write(p) + p.nWR - p.nRTP)

    # precharges
    for precharge, level in ((c.PRE, "bank"), (c.PREA, "rank")):
        yield from rule("nRAS", c.ACT, precharge, level, lambda p: p.nRAS)
        yield from rule("nRTP", READS, precharge, level, lambda p: p.nRTP)
        yield from rule("nWR", WRITES, precharge, level, lambda p: _write(p) + p.nWR)
        yield from rule("nRFC", c.REF, precharge, "rank", lambda p: p.nRFC)

    # refreshes: all banks have been closed for nRP
    yield from rule("nRC", c.ACT, c.REF, "rank", lambda p: p.nRC)
    yield from rule("nRP", (c.PRE, c.PREA), c.REF, "rank", lambda p: p.nRP)
    yield from rule("nRTP + nRP", c.RDA, c.REF, "rank", lambda p: p.nRTP + p.nRP)
    yield from rule("nWR + nRP", c.WRA, c.REF, "rank", lambda p: _write(p) + p.nWR + p.nRP)
    yield from rule("nRFC", c.REF, c.REF, "rank", lambda p: p.nRFC)


def rules(part: Part) -> tuple[Rule, ...]:
    """The rules that a part imposes.

    DDR3 knows no bank groups: for it, the rules of a group are left out, whose distances are those
    of the rank. So is a rule whose distance is none (no four-activate window, nFAW = 0).
    """
    return tuple(rule for rule in _all() if rule.delay(part) > 0
                 and not (part.generation == "DDR3" and rule.level == "group"))
