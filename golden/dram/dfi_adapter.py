"""The other end of a DFI adapter: a checker of the interface, and a PHY with its DDR3 device.

`DfiChecker` reads what is on DFI, clock by clock, and objects to whatever DFI, the PHY's own
numbers or the power-up sequence of DDR3 forbid, on both sides of the interface. It knows nothing of
any vendor's PHY, and nothing of the controller: any cocotb testbench may use it. `DfiDevice` is
one, with a `DramDevice` after it that checks every distance between commands in DRAM clocks, and
keeps data.

Ref: DFI 2.1 and 3.1; JESD79-3F, 3.3.1, 3.4.3, 5.1.
"""

import random
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from cyclebound.golden.dram.device import BEAT_BYTES, DramDevice
from cyclebound.golden.dram.dfi import WRITE_RECOVERIES, DfiPhy, mode_registers
from cyclebound.golden.dram.rules import ALL_BANKS, CAS, READS, WRITES, Command
from cyclebound.golden.dram.timing import Part

__all__ = ["CALIBRATE", "MODE", "RULES", "DfiChecker", "DfiCommand", "DfiDevice", "DfiPhase",
           "DfiViolation", "DfiWord"]

RULES = {
    "dfi_init_complete": "RESET#, CKE and commands wait for the PHY",
    "reset time": "RESET# is low for 200 us",
    "settling time": "CKE is low for 500 us after RESET#",
    "tXPR": "the first command comes nRFC and 10 ns after CKE, and 5 clocks",
    "tMRD": "4 clocks from one mode register to the next",
    "tMOD": "12 clocks and 15 ns from a mode register to any other command",
    "tZQinit": "512 clocks from the calibration to any command",
    "tDLLK": "512 clocks from the DLL's reset to the first read or write",
    "power-up": "all mode registers are set, and ZQ is calibrated, before any other command",
    "mode registers": "burst of 8, the device's CL, CWL and write recovery, DLL on, no tAL",
    "reset_n": "RESET# stays high once it was",
    "cke": "CKE stays high once it was, on every phase",
    "column": "a burst begins with a column that is a multiple of 8",
    "t_phy_wrlat": "wrdata_en is set t_phy_wrlat after each write, for 4 clocks, and never else",
    "t_rddata_en": "rddata_en is set t_rddata_en after each read, for 4 clocks, and never else",
    "ODTH8": "ODT is on from a write on, for 6 clocks",
    "rddata order": "words come on w0, w1, ... in rotating order",
    "rddata": "words come for reads only, and not before their rddata_en",
    "t_phy_rdlat": "words come t_phy_rdlat after their rddata_en at the latest",
}
"""The rules of `DfiChecker`, by name."""

MODE, CALIBRATE = "MRS", "ZQCL"

_BURST = 4
_RESET_PS, _SETTLE_PS = 200_000_000, 500_000_000
_AUTO = 1 << 10
_COMMANDS: dict[tuple[int, int, int], Command | str] = {  # ras_n, cas_n, we_n [JESD79-3F, table 6]
    (0, 1, 1): Command.ACT, (1, 0, 1): Command.RD, (1, 0, 0): Command.WR, (0, 1, 0): Command.PRE,
    (0, 0, 1): Command.REF, (0, 0, 0): MODE, (1, 1, 0): CALIBRATE}
_CLOSING: dict[Command | str, Command] = {
    Command.RD: Command.RDA, Command.WR: Command.WRA, Command.PRE: Command.PREA}
_LATENCIES = {2: 5, 4: 6, 6: 7, 8: 8, 10: 9, 12: 10, 14: 11, 1: 12, 3: 13, 5: 14}  # A6..A4, A2


class DfiPhase(NamedTuple):
    """The signals that the controller drives on one phase."""

    address: int = 0
    bank: int = 0
    cs_n: int = 1
    ras_n: int = 1
    cas_n: int = 1
    we_n: int = 1
    cke: int = 1
    odt: int = 0
    reset_n: int = 1
    wrdata_en: int = 0
    wrdata: int = 0
    wrdata_mask: int = 0
    rddata_en: int = 0


class DfiWord(NamedTuple):
    """The signals that the PHY drives for one word of read data."""

    valid: int = 0
    data: int = 0


class DfiCommand(NamedTuple):
    """A command in a DRAM clock: a `Command`, `MODE` or `CALIBRATE`."""

    clock: int
    op: Command | str
    bank: int
    address: int

    @property
    def column(self) -> int:
        """The column of a read or write."""
        return self.address & 0x3FF | (self.address >> 11 & 1) << 10


class DfiViolation(AssertionError):
    """Something that `RULES` forbid.

    Attributes
    ----------
    rule : str
        Its name there.
    """

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(f"{rule}: {text}")
        self.rule = rule


class DfiChecker:
    """Reads both sides of a DFI interface, and drives none.

    DRAM clocks count from 0, ``ratio`` to a call of `step`.

    Parameters
    ----------
    part : Part
        The device.
    phy : DfiPhy
        The PHY's timing.
    ratio : int
        Phases.
    hurry : int
        Divides the two waits of 200 and 500 microseconds, as the controller's own.
    powered : bool
        Begin with a device that has been powered up.

    Attributes
    ----------
    ready : int or None
        The DRAM clock from which the device has taken commands other than those of power-up.
    """

    def __init__(self, part: Part, phy: DfiPhy, *, ratio: int, hurry: int = 1,
                 powered: bool = False) -> None:
        self.part, self.phy, self.ratio, self._hurry = part, phy, ratio, hurry
        self.clock = 0
        self.ready: int | None = 0 if powered else None
        long_ago = -(1 << 30) if powered else None
        self._complete = powered
        self._reset_since = 0
        self._high_since = self._enabled = long_ago
        self._registers: dict[int, int] = mode_registers(part) if powered else {}
        self._mode = self._locking = self._calibrated = long_ago
        # the last mode register, the DLL's reset, the calibration
        self._write_enables: set[int] = set()
        self._read_enables: set[int] = set()
        self._odt_until = -1
        self._words: deque[tuple[int, int]] = deque()  # not before, and not after
        self._come = 0

    def step(self, phases: Sequence[DfiPhase], words: Sequence[DfiWord], *,
             init_complete: bool = True) -> list[DfiCommand]:
        """One controller clock: all phases and words. Returns the commands in it.

        Raises `DfiViolation`.
        """
        commands = []
        for number, (phase, word) in enumerate(zip(phases, words, strict=True)):
            self._complete |= bool(init_complete)
            self._levels(phase)
            command = self._command(phase)
            if command is not None:
                commands.append(command)
            self._enables(phase)
            self._returned(number, word)
            self.clock += 1
        return commands

    def finish(self) -> None:
        """The end of a test. Raises `DfiViolation` where a word that was read never came."""
        if self._words:
            raise DfiViolation("t_phy_rdlat", f"{len(self._words)} words never came")

    # -- levels, commands ----------------------------------------------------------------------

    def _waited(self, rule: str, since: int, clocks: int, picoseconds: int, what: str) -> None:
        least = max(clocks, -(-picoseconds // self.part.tck_ps))
        if self.clock - since < least:
            raise DfiViolation(rule, f"{what} in clock {self.clock}, {self.clock - since} after "
                               f"clock {since}; {least} at least")

    def _levels(self, phase: DfiPhase) -> None:
        now = self.clock
        if not self._complete and (phase.reset_n or phase.cke or not phase.cs_n):
            raise DfiViolation("dfi_init_complete", f"clock {now}: the PHY is not ready")
        if not self._complete:
            self._reset_since = now + 1
        if phase.reset_n:
            if self._high_since is None:
                self._waited("reset time", self._reset_since, 0, _RESET_PS // self._hurry,
                             "RESET# rises")
                self._high_since = now
        elif self._high_since is not None:
            raise DfiViolation("reset_n", f"low in clock {now}")
        if phase.cke:
            if self._enabled is None:
                if self._high_since is None:
                    raise DfiViolation("settling time", f"CKE rises in clock {now}, before RESET#")
                self._waited("settling time", self._high_since, 0, _SETTLE_PS // self._hurry,
                             "CKE rises")
                self._enabled = now
        elif self._enabled is not None:
            raise DfiViolation("cke", f"low in clock {now}")

    def _command(self, phase: DfiPhase) -> DfiCommand | None:
        pins = phase.ras_n, phase.cas_n, phase.we_n
        if phase.cs_n or pins == (1, 1, 1):
            return None
        now, op = self.clock, _COMMANDS[pins]
        if phase.address & _AUTO:
            op = _CLOSING.get(op, op)
        if self._enabled is None:
            raise DfiViolation("power-up", f"{op} in clock {now}, before CKE")
        self._waited("tXPR", self._enabled, 5, 0, str(op))
        self._waited("tXPR", self._enabled, self.part.nRFC + -(-10_000 // self.part.tck_ps), 0,
                     str(op))
        if self._calibrated is not None:
            self._waited("tZQinit", self._calibrated, 512, 0, str(op))
        command = DfiCommand(now, op, phase.bank, phase.address)
        if op == MODE:
            self._set(command)
            return command
        if self._mode is not None:
            self._waited("tMOD", self._mode, 12, 15_000, str(op))
        if op == CALIBRATE:
            if phase.address & _AUTO:
                self._calibrated = now
            return command
        if len(self._registers) < 4 or self._calibrated is None:
            raise DfiViolation("power-up", f"{op!s} in clock {now}, before mode registers and "
                               "calibration")
        if self.ready is None:
            self.ready = now
        if op in CAS:
            self._transfer(command)
        return command

    def _set(self, command: DfiCommand) -> None:
        if self._mode is not None:
            self._waited("tMRD", self._mode, 4, 0, MODE)
        number, value, part = command.bank, command.address, self.part
        self._mode, self._registers[number] = command.clock, value
        recovery = next((clocks for clocks, code in WRITE_RECOVERIES.items()
                         if clocks >= part.nWR), 0)
        latency = _LATENCIES.get((value >> 4 & 7) << 1 | value >> 2 & 1)
        right = {
            0: value & 0b1011 == 0 and latency == part.nCAS
               and value >> 9 & 7 == WRITE_RECOVERIES.get(recovery),
            1: value & 0b1_0001_1001 == 0 and value & 0x80 == 0,
            2: (value >> 3 & 7) + 5 == part.nCWD,
            3: value == 0}.get(number, False)
        if not right:
            raise DfiViolation("mode registers", f"register {number} is set to {value:#x}")
        if number == 0 and value >> 8 & 1:
            self._locking = command.clock

    def _transfer(self, command: DfiCommand) -> None:
        now, op = command.clock, command.op
        if self._locking is None:
            raise DfiViolation("tDLLK", "the DLL was never reset")
        self._waited("tDLLK", self._locking, 512, 0, str(op))
        if command.column % 8:
            raise DfiViolation("column", f"{command.column} in clock {now}")
        if op in WRITES:
            self._write_enables |= {now + self.phy.wrlat + k for k in range(_BURST)}
            self._odt_until = now + 5
        else:
            first = now + self.phy.rddata_en
            self._read_enables |= {first + k for k in range(_BURST)}
            self._words.extend((first + k, first + k + self.phy.rdlat) for k in range(_BURST))

    # -- data ----------------------------------------------------------------------------------

    def _enables(self, phase: DfiPhase) -> None:
        now = self.clock
        for rule, enabled, due in (("t_phy_wrlat", phase.wrdata_en, self._write_enables),
                                   ("t_rddata_en", phase.rddata_en, self._read_enables)):
            if bool(enabled) != (now in due):
                raise DfiViolation(rule, f"enable is {int(enabled)} in clock {now}")
            due.discard(now)
        if now <= self._odt_until and not phase.odt:
            raise DfiViolation("ODTH8", f"ODT is off in clock {now}, until {self._odt_until} at "
                               "least")

    def _returned(self, number: int, word: DfiWord) -> None:
        now = self.clock
        if word.valid:
            if self._come % self.ratio != number:
                raise DfiViolation("rddata order", f"word on w{number} in clock {now}, expected on "
                                   f"w{self._come % self.ratio}")
            if not self._words or now < self._words[0][0]:
                raise DfiViolation("rddata", f"word on w{number} in clock {now}")
            self._words.popleft()
            self._come += 1
        elif self._words and now >= self._words[0][1]:
            raise DfiViolation("t_phy_rdlat", f"a word is missing in clock {now}")


class _Return(NamedTuple):
    """A word of a read on its way back: when it may, and when it must be there."""

    ready: int
    deadline: int
    data: int


class DfiDevice:
    """A PHY and its DDR3 device: what is on DFI, checked; what it answers; what it keeps.

    Commands go to the device in the DRAM clock of their phase, later by the same number of clocks
    for all, and data with them. Words come back as early as they can or as late as they may,
    at random.

    Parameters
    ----------
    part, phy, ratio, hurry, powered
        As for `DfiChecker`.
    rng : random.Random
        For the PHY's delay.

    Attributes
    ----------
    checker : DfiChecker
        Raises `DfiViolation` from `step`.
    device : DramDevice
        Raises `DramViolation` from `step`. Its clock 0 is that of the first command.
    commands : list of DfiCommand
        All since power-up, if ``record`` is set.
    """

    def __init__(self, part: Part, phy: DfiPhy, *, ratio: int, rng: random.Random, hurry: int = 1,
                 powered: bool = False) -> None:
        self.part, self.phy, self.ratio, self._rng = part, phy, ratio, rng
        self.checker = DfiChecker(part, phy, ratio=ratio, hurry=hurry, powered=powered)
        self.device = DramDevice(part)
        self.record = False
        self.commands: list[DfiCommand] = []
        phy.check_reads(part, ratio)
        self._lag = phy.lag(part)
        self._bytes = BEAT_BYTES // ratio
        self._start: int | None = None  # the device's clock 0
        self._waiting: deque[DfiCommand] = deque()
        self._written: dict[int, tuple[int, int]] = {}  # by DRAM clock of DFI
        self._due: deque[int] = deque()   # clocks of DFI with words of writes
        self._reads: deque[tuple[int, int, bool]] = deque()  # on the bus, the latest on DFI, first
        self._back: deque[_Return] = deque()
        self._come, self._holds = 0, 0
        self._rows: list[int] = [0] * part.banks

    def words(self) -> list[DfiWord]:
        """The words that the PHY drives in the coming clock; call it once, before `step`."""
        driven = [DfiWord()] * self.ratio
        now = self.checker.clock
        for number in range(self.ratio):
            if not self._back or self._come % self.ratio != number:
                continue
            first = self._back[0]
            late = now + number + self.ratio > first.deadline
            if first.ready <= now + number and (now >= self._holds or late):
                driven[number] = DfiWord(1, first.data)
                self._back.popleft()
                self._come += 1
        return driven

    def step(self, phases: Sequence[DfiPhase], words: Sequence[DfiWord], *,
             init_complete: bool = True) -> None:
        """One controller clock."""
        base = self.checker.clock
        commands = self.checker.step(phases, words, init_complete=init_complete)
        for command in commands:
            if isinstance(command.op, Command):
                self._waiting.append(command)
                if self.record:
                    self.commands.append(command)
                if command.op in WRITES:
                    first = command.clock + self.phy.wrlat + self.phy.wrdata
                    self._due.extend(range(first, first + _BURST))
                elif command.op in READS:
                    bus = command.clock + self.part.nCAS
                    latest = command.clock + self.phy.rddata_en + self.phy.rdlat
                    self._reads.extend((bus + k, latest + k, k == 0) for k in range(_BURST))
        for number, phase in enumerate(phases):
            if self._due and self._due[0] == base + number:
                self._due.popleft()
                shift = self.part.nCWD - self.phy.wrlat - self.phy.wrdata
                self._written[base + number + shift] = phase.wrdata, phase.wrdata_mask
            self._pins(base + number - self._lag)

    def _pins(self, clock: int) -> None:
        """A DRAM clock at the device's pins."""
        if self._start is None:
            if not self._waiting or self._waiting[0].clock != clock:
                return
            self._start = clock
        now = clock - self._start
        if self._waiting and self._waiting[0].clock == clock:
            _, op, bank, address = command = self._waiting.popleft()
            assert isinstance(op, Command)
            if op is Command.ACT:
                self._rows[bank] = address
            self.device.command(now, op, 0 if op in ALL_BANKS else bank,
                                address if op is Command.ACT else 0,
                                command.column if op in CAS else 0)
        if clock in self._written:
            data, mask = self._written.pop(clock)
            keep = ~mask & (1 << self._bytes) - 1
            self.device.data_in(now, data.to_bytes(self._bytes, "little").ljust(BEAT_BYTES, b"\0"),
                                keep)
        if self._reads and self._reads[0][0] == clock:
            _, latest, first = self._reads.popleft()
            beat = self.device.data_out(now)
            assert beat is not None
            here = max(clock + self._lag + 1, latest - self.phy.rdlat)  # not before rddata_en
            self._back.append(_Return(here, latest,
                                      int.from_bytes(beat[:self._bytes], "little")))
            if first:
                self._holds = self._rng.choice((here, latest, self._rng.randint(here, latest)))

    def burst(self, bank: int, row: int, column: int) -> bytes:
        """The 64 bytes of a burst of the controller; ``column`` counts these."""
        parts = [self.device.burst(bank, row, self.ratio * column + phase)
                 for phase in range(self.ratio)]
        return b"".join(part[at:at + self._bytes] for part in parts
                        for at in range(0, len(part), BEAT_BYTES))

    def set_burst(self, bank: int, row: int, column: int, content: bytes) -> None:
        """Put 64 bytes there, past all commands."""
        size = len(content) // self.ratio
        for phase in range(self.ratio):
            own = content[phase * size:(phase + 1) * size]
            spread = b"".join(own[at:at + self._bytes].ljust(BEAT_BYTES, b"\0")
                              for at in range(0, size, self._bytes))
            self.device.set_burst(bank, row, self.ratio * column + phase, spread)

    def finish(self) -> None:
        """The end of a test: nothing may be missing, and no refresh be overdue."""
        self.checker.finish()
        if self._start is not None:
            self.device.finish(self.checker.clock - self._lag - self._start)
