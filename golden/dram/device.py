"""A DRAM device for testbenches: keeps data, and objects to whatever its data sheet forbids.

Ref: JESD79-4 and JESD79-3; ``rules.py`` for all distances between commands.
"""

from collections import Counter, deque
from typing import NamedTuple

from cyclebound.golden.dram.rules import ALL_BANKS, CAS, READS, Command, Rule, rules
from cyclebound.golden.dram.timing import Part

__all__ = ["BEAT_BYTES", "BURST_BYTES", "MOST_POSTPONED", "MOST_REFRESHES", "DramDevice",
           "DramViolation", "Issued"]

BURST_BYTES = 64     # eight columns of the 64-bit bus
BEAT_BYTES = 16      # a DRAM clock moves two columns
MOST_POSTPONED = 8   # refreshes that may be owed, or have been done ahead [JESD79-4, REF command]
MOST_REFRESHES = 16  # within two refresh intervals [JESD79-4, REF command]
_CLOCKS = BURST_BYTES // BEAT_BYTES
_ALL_BYTES = (1 << BEAT_BYTES) - 1


class Issued(NamedTuple):
    """A command as the device has seen it."""

    command: Command
    bank: int
    cycle: int

    def __str__(self) -> str:
        where = "" if self.command in ALL_BANKS else f" bank {self.bank}"
        return f"{self.command.name}{where} in cycle {self.cycle}"


class DramViolation(AssertionError):
    """A command or data that the device forbids.

    Attributes
    ----------
    rule : str
        Name of the rule of ``rules.py``, or of another of the device's: ``command bus``,
        ``bank is closed``, ``bank is open``, ``banks are open``, ``data bus``, ``write data``,
        ``refresh interval``, ``refreshes postponed``, ``refreshes in two intervals``.
    previous, following : Issued or None
        The two commands; None where there is none (data without a read, say).
    missing : int
        By how many cycles ``following`` came too early; for refreshes, too late. 0 where no
        cycle would have been right.
    """

    def __init__(self, rule: str, text: str, *, previous: Issued | None = None,
                 following: Issued | None = None, missing: int = 0) -> None:
        super().__init__(f"{rule}: {text}")
        self.rule, self.previous, self.following = rule, previous, following
        self.missing = missing


def _cycles(count: int) -> str:
    return "1 cycle" if count == 1 else f"{count} cycles"


class _Beat(NamedTuple):
    """A DRAM clock of data on the bus."""

    issued: Issued
    place: tuple[int, int, int]  # bank, row, burst in the row
    number: int                  # in the burst


# A history: the cycles of the last commands of one kind, for each bank, each group, or the rank.
_History = list["deque[Issued]"]


class DramDevice:
    """One rank of DRAM on a 64-bit bus.

    Cycles are DRAM clocks, counted by the caller from 0, when the device is ready and all its
    banks are closed; they may not run backwards, and cycles without a call cost nothing. In one
    cycle, a command, data in and data out may be given in any order.

    Parameters
    ----------
    part : Part
        Organisation and timing; its burst takes 4 clocks.
    strict : bool
        Raise `DramViolation` at once. Otherwise keep it in ``violations`` and go on.

    Attributes
    ----------
    violations : list[DramViolation]
        All so far.
    commands : Counter[Command]
        How many of each have been seen.

    Raises
    ------
    ValueError
        For a part that this is no device of.
    """

    def __init__(self, part: Part, *, strict: bool = True) -> None:
        if part.nBURST != _CLOCKS:
            raise ValueError(f"nBURST of a part with a 64-bit bus must be {_CLOCKS}, "
                             f"not {part.nBURST}")
        self.part, self.strict = part, strict
        self.violations: list[DramViolation] = []
        self.commands: Counter[Command] = Counter()
        self._open: list[int | None] = [None] * part.banks  # row
        self._last: list[Issued | None] = [None] * part.banks  # what opened or closed it
        self._bus_command: Issued | None = None
        self._tables()
        self._store: dict[tuple[int, int, int], bytearray] = {}
        self._bus: dict[int, _Beat] = {}                # by cycle: the burst on the data bus
        self._due_in: deque[tuple[int, _Beat]] = deque()  # beats of writes still to come
        self._now = 0
        self._refreshed: deque[int] = deque(maxlen=MOST_REFRESHES)
        self._refreshes = 0        # that count against those that fell due
        self._refresh_told = False  # one complaint for each missing refresh is enough

    def _tables(self) -> None:
        histories: dict[tuple[Command, str, int], tuple[int, _History]] = {}
        levels = {"bank": (0, self.part.banks), "group": (1, self.part.bank_groups),
                  "rank": (2, 1)}
        none: list[list] = [[] for _ in Command]
        self._checks: list[list[tuple[Rule, int, int, _History]]] = [list(x) for x in none]
        self._records: list[list[tuple[int, _History]]] = [list(x) for x in none]
        for rule in rules(self.part):
            kind = rule.previous, rule.level, rule.window
            if kind not in histories:
                column, count = levels[rule.level]
                histories[kind] = column, [deque(maxlen=rule.window) for _ in range(count)]
                self._records[rule.previous].append(histories[kind])
            self._checks[rule.following].append((rule, rule.delay(self.part), *histories[kind]))

    def _broken(self, rule: str, text: str, previous: Issued | None = None,
                following: Issued | None = None, missing: int = 0) -> None:
        broken = DramViolation(rule, text, previous=previous, following=following, missing=missing)
        self.violations.append(broken)
        if self.strict:
            raise broken

    # Commands

    def earliest(self, command: Command, bank: int = 0) -> int:
        """The first cycle in which ``command`` keeps all distances to the commands so far.

        Whether banks are open is not looked at. Raises `ValueError` as `command` does.
        """
        command = self._known(command, bank, 0, 0)
        keys = bank, self.part.bank_group(bank), 0
        free = 0 if self._bus_command is None else self._bus_command.cycle + 1
        return max([free, *(seen[0].cycle + delay
                            for rule, delay, column, histories in self._checks[command]
                            if len(seen := histories[keys[column]]) == rule.window)])

    def _known(self, command: Command, bank: int, row: int, column: int) -> Command:
        part = self.part
        try:
            command = Command(command)
        except ValueError:
            raise ValueError(f"command must be one of {', '.join(c.name for c in Command)}, "
                             f"not {command!r}") from None
        for thing, value, count in (("bank", bank, part.banks), ("row", row, part.rows),
                                    ("column", column, part.columns)):
            if not isinstance(value, int) or not 0 <= value < count:
                raise ValueError(f"{thing} must be from 0 to {count - 1}, not {value!r}")
        if column % 8:
            raise ValueError(f"column must be a multiple of 8, not {column}")
        return command

    def _advance(self, cycle: int) -> None:
        if not isinstance(cycle, int) or cycle < self._now:
            raise ValueError(f"cycle must be at least {self._now}, the last one, not {cycle!r}")
        self._now = cycle
        while self._due_in and self._due_in[0][0] < cycle:
            when, beat = self._due_in.popleft()
            self._broken("write data", f"beat {beat.number} of {beat.issued} is missing in cycle "
                         f"{when}", beat.issued)

    def command(self, cycle: int, command: Command, bank: int = 0, row: int = 0,
                column: int = 0) -> None:
        """The command bus in ``cycle``; NOP needs no call.

        ``row`` counts for ACT only: reads and writes go to the row that is open. ``column``
        counts for these, and is the burst's first, a multiple of 8. PREA and REF ignore ``bank``.

        Raises
        ------
        DramViolation
            The command breaks a rule, or write data are missing before it (`strict` only).
        ValueError
            Arguments that no such command has, or a cycle before the last.
        """
        command = self._known(command, bank, row, column)
        self._advance(cycle)
        if command is Command.NOP:
            return
        issued = Issued(command, bank, cycle)
        self.commands[command] += 1
        before, self._bus_command = self._bus_command, issued
        if before is not None and before.cycle == cycle:
            self._broken("command bus", f"{issued} comes with {before}", before, issued, 1)
        keys = bank, self.part.bank_group(bank), 0
        for rule, delay, level, histories in self._checks[command]:
            seen = histories[keys[level]]
            if len(seen) == rule.window and cycle - seen[0].cycle < delay:
                missing = seen[0].cycle + delay - cycle
                self._broken(rule.name, f"{issued} is {_cycles(missing)} too early after "
                             f"{seen[0]}, {delay} at least", seen[0], issued, missing)
        self._refresh_overdue(cycle, issued)
        self._change(issued, row, column)
        for level, histories in self._records[command]:
            histories[keys[level]].append(issued)

    def _change(self, issued: Issued, row: int, column: int) -> None:
        """Check and update the state of the banks, and reserve the data bus."""
        command, bank, _ = issued
        last = self._last[bank]
        if command in CAS:
            if self._open[bank] is None:
                since = "" if last is None else f", since {last}"
                self._broken("bank is closed", f"{issued} needs an open row{since}", last, issued)
            self._transfer(issued, (bank, self._open[bank] or 0, column // 8))
        elif command is Command.ACT:
            if self._open[bank] is not None:
                self._broken("bank is open", f"{issued} needs a closed bank, since {last}", last,
                             issued)
            self._open[bank], self._last[bank] = row, issued
        elif command is Command.REF:
            still = [bank for bank in range(self.part.banks) if self._open[bank] is not None]
            if still:
                self._broken("banks are open", f"{issued} needs all banks closed, since "
                             f"{self._last[still[0]]}", self._last[still[0]], issued)
            self._refresh(issued)
        if command in (Command.RDA, Command.WRA, Command.PRE):
            self._open[bank], self._last[bank] = None, issued
        elif command is Command.PREA:
            self._open = [None] * self.part.banks
            self._last = [issued] * self.part.banks

    # Refreshes

    def _refresh_overdue(self, cycle: int, issued: Issued | None) -> None:
        """No more than 8 postponed, nor more than 9 intervals from one to the next.

        One falls due every nREFI cycles from cycle 0; in the cycle in which it falls due it has
        not been postponed yet.
        """
        if self._refresh_told:
            return
        interval = self.part.nREFI
        last = self._refreshed[-1] if self._refreshed else 0
        previous = Issued(Command.REF, 0, last) if self._refreshed else None
        what = f"{issued} comes" if issued else f"cycle {cycle} is"
        late = cycle - last - (MOST_POSTPONED + 1) * interval
        if late > 0:
            self._refresh_told = True
            self._broken("refresh interval", f"{what} {_cycles(late)} too late after "
                         f"{previous or 'the start'}, {MOST_POSTPONED + 1} * nREFI = "
                         f"{(MOST_POSTPONED + 1) * interval} at most", previous, issued, late)
            return
        late = cycle - (self._refreshes + MOST_POSTPONED + 1) * interval
        if late > 0:
            self._refresh_told = True
            self._broken("refreshes postponed", f"{what} {_cycles(late)} too late: more than "
                         f"{MOST_POSTPONED} are owed", previous, issued, late)

    def _refresh(self, issued: Issued) -> None:
        done, cycle, interval = self._refreshed, issued.cycle, self.part.nREFI
        if len(done) == MOST_REFRESHES and cycle - done[0] < 2 * interval:
            first = Issued(Command.REF, 0, done[0])
            missing = done[0] + 2 * interval - cycle
            self._broken("refreshes in two intervals", f"{issued} is {_cycles(missing)} too early "
                         f"after {first}: {MOST_REFRESHES} at most within 2 * nREFI = "
                         f"{2 * interval}", first, issued, missing)
        done.append(cycle)
        # one that is more than 8 ahead is legal, but counts for nothing later
        self._refreshes = min(self._refreshes + 1, cycle // interval + MOST_POSTPONED)
        self._refresh_told = False

    # Data

    def _transfer(self, issued: Issued, place: tuple[int, int, int]) -> None:
        reads = issued.command in READS
        start = issued.cycle + (self.part.nCAS if reads else self.part.nCWD)
        beats = [(start + number, _Beat(issued, place, number)) for number in range(_CLOCKS)]
        clashes = [self._bus[when] for when, _ in beats if when in self._bus]
        if clashes:
            other = clashes[0].issued
            self._broken("data bus", f"{issued} and {other} both use it for "
                         f"{_cycles(len(clashes))}", other, issued, len(clashes))
        self._bus.update(beats)
        if not reads:
            self._due_in.extend(beats)
        if len(self._bus) > 1024:  # forget what has gone by
            self._bus = {when: beat for when, beat in self._bus.items() if when >= issued.cycle}

    def data_out(self, cycle: int) -> bytes | None:
        """The 16 bytes that the device drives in ``cycle``, or None; byte 0 has the least address.

        Raises `ValueError` and `DramViolation` as `command` does.
        """
        self._advance(cycle)
        beat = self._bus.get(cycle)
        if beat is None or beat.issued.command not in READS:
            return None
        return self.burst(*beat.place)[BEAT_BYTES * beat.number:BEAT_BYTES * (beat.number + 1)]

    def data_in(self, cycle: int, beat: bytes, mask: int = _ALL_BYTES) -> None:
        """16 bytes on the bus in ``cycle``; byte *i* is written if bit *i* of ``mask`` is set.

        (JEDEC's pins are the inverse: DM forbids a byte.)

        Raises
        ------
        DramViolation
            No write expects data in this cycle; or those of an earlier one are missing.
        ValueError
            Not 16 bytes, not a mask of 16 bits, or a cycle before the last.
        """
        if len(beat) != BEAT_BYTES:
            raise ValueError(f"beat must be {BEAT_BYTES} bytes, not {len(beat)}")
        if not isinstance(mask, int) or not 0 <= mask <= _ALL_BYTES:
            raise ValueError(f"mask must be from 0 to {_ALL_BYTES}, not {mask!r}")
        self._advance(cycle)
        if not self._due_in or self._due_in[0][0] != cycle:
            self._broken("write data", f"no write expects data in cycle {cycle}")
            return
        _, due = self._due_in.popleft()
        shift = BEAT_BYTES * due.number
        self._merge(due.place, beat, mask, shift)

    def _merge(self, place: tuple[int, int, int], data: bytes, mask: int, shift: int) -> None:
        kept = self._store.setdefault(place, bytearray(BURST_BYTES))
        if mask == (1 << len(data)) - 1:
            kept[shift:shift + len(data)] = data
            return
        for byte, value in enumerate(data):
            if mask >> byte & 1:
                kept[shift + byte] = value

    def burst(self, bank: int, row: int, number: int) -> bytes:
        """The 64 bytes of burst ``number`` (column / 8) in a row; zeros at first."""
        return bytes(self._store.get((bank, row, number), bytes(BURST_BYTES)))

    def set_burst(self, bank: int, row: int, number: int, data: bytes) -> None:
        """Put 64 bytes into a row, past all commands. Raises `ValueError` for another number."""
        self._known(Command.NOP, bank, row, 8 * number)
        if len(data) != BURST_BYTES:
            raise ValueError(f"burst must be {BURST_BYTES} bytes, not {len(data)}")
        self._store[bank, row, number] = bytearray(data)

    def finish(self, cycle: int) -> None:
        """The end of a test: ``cycle`` is the first that is not part of it.

        Raises `DramViolation` for write data that are missing and refreshes that are overdue,
        `ValueError` for a cycle before the last.
        """
        self._advance(cycle)
        self._refresh_overdue(cycle - 1, None)


