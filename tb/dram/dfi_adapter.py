"""Testbench of the DFI adapter: random commands, and a PHY with a device that objects.

Commands come in the first controller clock in which the part in controller clocks allows them, or
somewhat later; what is on DFI has to be legal for the device in DRAM clocks.
"""

from collections import Counter, deque

from cyclebound.golden.dram.device import DramDevice
from cyclebound.golden.dram.dfi import DfiPhy, dfi_part
from cyclebound.golden.dram.dfi_adapter import DfiDevice, DfiPhase, DfiWord
from cyclebound.golden.dram.request import BEAT_WORDS, BEATS, BURST_BYTES, WORD_BITS, WORD_BYTES
from cyclebound.golden.dram.rules import CAS, READS, WRITES, Command
from cyclebound.golden.dram.timing import part_named
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.bus import Bus

__all__ = ["Phases"]

_COMMANDS = 1500
_BEAT_BITS = BEAT_WORDS * WORD_BITS
_BEAT_BYTES = BEAT_WORDS * WORD_BYTES


class Phases:
    """The DFI ports of a component on the packed buses."""

    def __init__(self, inputs: Bus, outputs: Bus, ratio: int) -> None:
        self._driven = [[outputs[f"dfi_{name}_p{n}"] for name in DfiPhase._fields]
                        for n in range(ratio)]
        self._answered = [[inputs[f"dfi_rddata_valid_w{n}"], inputs[f"dfi_rddata_w{n}"]]
                          for n in range(ratio)]

    def seen(self, word: int) -> list[DfiPhase]:
        """The phases that the adapter drives, from a word of its outputs."""
        return [DfiPhase(*(field.of(word) for field in fields)) for fields in self._driven]

    def drive(self, words: list[DfiWord]) -> int:
        """The inputs for the next clock, as one number."""
        word = 0
        for fields, answer in zip(self._answered, words, strict=True):
            for field, value in zip(fields, answer, strict=True):
                word |= field.to(value)
        return word


class Commands:
    """Random commands that `dfi_part` allows: a bank is read or written while it is open."""

    def __init__(self, part, rng) -> None:
        self.part, self._rng = part, rng
        self._oracle = DramDevice(part, strict=False)  # for its distances only
        self._open: dict[int, tuple[int, bool]] = {}   # row, whether it is written
        self._next: tuple[int, Command, int, int, int] | None = None
        self._until_refresh = 40

    def _choose(self, now: int) -> tuple[int, Command, int, int, int]:
        rng, part = self._rng, self.part
        self._until_refresh -= 1
        closed = [bank for bank in range(part.banks) if bank not in self._open]
        if self._until_refresh <= 0:
            op, bank = (Command.PRE, next(iter(self._open))) if self._open else (Command.REF, 0)
            if op is Command.REF:
                self._until_refresh = rng.randint(5, 80)
        elif closed and (not self._open or rng.random() < 0.25):
            op, bank = Command.ACT, rng.choice(closed)
        else:
            bank = rng.choice(list(self._open))
            written = self._open[bank][1]
            op = rng.choice((Command.WR, Command.WRA) if written else (Command.RD, Command.RDA))
            if rng.random() < 0.1:
                op = Command.PRE
        row = rng.randrange(part.rows) if op is Command.ACT else self._open.get(bank, (0, 0))[0]
        column = rng.choice((0, 1, part.bursts_per_row - 1, rng.randrange(part.bursts_per_row)))
        first = max(now, self._oracle.earliest(op, bank))
        return first + rng.choice((0, 0, 0, 0, 1, rng.randrange(30))), op, bank, row, column

    def at(self, now: int) -> tuple[Command, int, int, int] | None:
        """The command of controller clock ``now``, if any: with bank, row and column."""
        if self._next is None:
            self._next = self._choose(now)
        when, op, bank, row, column = self._next
        if when != now:
            return None
        self._oracle.command(now, op, bank, row if op is Command.ACT else 0,
                             8 * column if op in CAS else 0)
        if op is Command.ACT:
            self._open[bank] = row, self._rng.random() < 0.5
        elif op in (Command.PRE, Command.RDA, Command.WRA):
            del self._open[bank]
        self._next = None
        return op, bank, row, column


class DfiAdapterTester:
    """The adapter between random commands and its PHY."""

    def __init__(self, bench: Bench) -> None:
        values, rng = bench.parameters, bench.rng
        self.bench, self.ratio = bench, values["ratio"]
        part = part_named(values["part"])
        self.phy = DfiPhy(*(values[name] for name in ("wrlat", "wrdata", "rddata_en", "rdlat")))
        self.seen = dfi_part(part, self.phy, ratio=self.ratio)
        self.device = DfiDevice(part, self.phy, ratio=self.ratio, rng=rng, powered=True)
        self.commands = Commands(self.seen, rng)
        self.phases = Phases(bench.inputs, bench.outputs, self.ratio)
        self.memory: dict[tuple[int, int, int], bytearray] = {}
        self.counts: Counter[str] = Counter()
        self._now = 0
        self._drives: dict[int, tuple[int, int]] = {}  # by controller clock: words, mask
        self._reads: deque[bytes] = deque()

    def _burst(self, bank: int, row: int, column: int) -> bytearray:
        place = bank, row, column
        if place not in self.memory:
            self.memory[place] = bytearray(self.bench.rng.randbytes(BURST_BYTES))
            self.device.set_burst(bank, row, column, bytes(self.memory[place]))
        return self.memory[place]

    def _write(self, burst: bytearray, write_latency: int) -> None:
        rng = self.bench.rng
        for beat in range(BEATS):
            words, mask = rng.randbytes(_BEAT_BYTES), rng.getrandbits(BEAT_WORDS)
            self._drives[self._now + write_latency + beat] = int.from_bytes(words, "little"), mask
            for word in range(BEAT_WORDS):
                if mask >> word & 1:
                    own = slice(WORD_BYTES * word, WORD_BYTES * (word + 1))
                    at = _BEAT_BYTES * beat + WORD_BYTES * word
                    burst[at:at + WORD_BYTES] = words[own]

    async def start(self) -> None:
        """Run cycles until the clock enable is on DFI."""
        level = self.bench.inputs.pack({"cke": 1, "reset_n": 1})
        for _ in range(3):
            await self.bench.step(level)

    async def cycle(self, write_latency: int, *, idle: bool = False) -> None:
        """One controller clock."""
        values = {"cke": 1, "reset_n": 1}
        command = None if idle else self.commands.at(self._now)
        if command is not None:
            op, bank, row, column = command
            self.counts[op.name] += 1
            values |= {"command.op": op, "command.bank": bank, "command.row": row,
                       "command.column": column}
            if op in WRITES:
                self._write(self._burst(bank, row, column), write_latency)
            elif op in READS:
                burst = bytes(self._burst(bank, row, column))
                self._reads.extend(burst[at:at + _BEAT_BYTES]
                                   for at in range(0, BURST_BYTES, _BEAT_BYTES))
        words, mask = self._drives.pop(self._now, (self.bench.rng.getrandbits(_BEAT_BITS), 0))
        values |= {"dq_out.payload.words": words, "dq_out.payload.mask": mask,
                   "dq_out.valid": mask != 0}
        answers = self.device.words()
        seen = await self.bench.step(self.bench.inputs.pack(values) | self.phases.drive(answers))
        self.device.step(self.phases.seen(seen), answers)
        outputs = self.bench.outputs
        assert not outputs["starved"].of(seen)
        if outputs["arrived"].of(seen):
            beat = outputs["dq_in"].of(seen).to_bytes(_BEAT_BYTES, "little")
            self.bench.compare(beat, self._reads.popleft(), "a beat that was read")
        self._now += 1

    def finish(self) -> None:
        self.device.finish()
        assert not self._reads
        for (bank, row, column), content in self.memory.items():
            self.bench.compare(self.device.burst(bank, row, column), bytes(content),
                               f"the burst at bank {bank}, row {row}, column {column}")


def write_latency(bench: Bench) -> int:
    """Controller clocks from a write to its first beat on ``dq_out``, by DFI's own numbers."""
    values = bench.parameters
    word = (values["ratio"] // 2 + values["wrlat"] + values["wrdata"]) // values["ratio"]
    return max(word, 7)


@testbench
async def random_commands(bench: Bench) -> None:
    """Every distance of the part in controller clocks, at its limit and beyond."""
    for what in ("row", "read"):
        bench.declare(what)
    tester = DfiAdapterTester(bench)
    await tester.start()
    latency = write_latency(bench)
    while tester.counts.total() < _COMMANDS:
        await tester.cycle(latency)
    for _ in range(60):
        await tester.cycle(latency, idle=True)
    tester.finish()
    for op in (Command.ACT, Command.RD, Command.RDA, Command.WR, Command.WRA, Command.PRE,
               Command.REF):
        assert tester.counts[op.name] > 10, tester.counts


reset_in_mid_run = interrupted(random_commands, times=8, last=300, brief=True,
                               then=random_commands)
