"""Testbench of the command arbiter: pins, pops and hold-off compared in every cycle."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from cyclebound.golden.dram.command_arbiter import CommandArbiterModel, Issued, schedule
from cyclebound.golden.dram.command_generator import BankOperation, CommandGeneratorModel
from cyclebound.golden.dram.request import FIFO_DEPTH, SLOTS
from cyclebound.golden.dram.rules import CAS, WRITES, Command
from cyclebound.golden.dram.timing import Part, part_named
from cyclebound.tb.bench import Bench, interrupted, testbench


@dataclass(frozen=True)
class Request:
    """Bursts in one direction; ``tile``: they follow each other, and count as a measurement."""

    bursts: Sequence[int]
    write: bool
    indexed: bool = False
    tile: bool = False


class CommandArbiterTester:
    """The arbiter and its model; every request starts in the first cycle in which it may.

    Attributes
    ----------
    holdoff : int
        That cycle.
    carry : bool
        The active pair is carried over from one request to the next.
    start : int
        The pair that was active when the last request began.
    counts : dict
        Commands seen on the pins, by their name.
    """

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.part: Part = part_named(bench.parameters["part"])
        self.carry = bench.parameters.get("carry", False)
        banks = range(self.part.banks)
        self.model = CommandArbiterModel(self.part)
        self._current = self.start = 0
        self.holdoff = 0
        self.counts = dict.fromkeys((command.name for command in Command), 0)
        self._pins: Issued | None = None       # chosen in the cycle before
        self._slots = [0] * self.part.banks
        self._slot = 0
        self._wanted_since: int | None = None
        i, o = bench.inputs, bench.outputs
        self._heads = [{name: i[f"heads.{bank}.{name}"] for name in (
            "valid", "waiting", *(f"operation.{field}" for field in (
                "row", "column", "write", "conflict", "activate", "close", "precharge_only")))}
            for bank in banks]
        self._kept: list[tuple[tuple[BankOperation, int] | None, int]] = (
            [(None, 0)] * self.part.banks)
        self._in_request, self._refresh = i["in_request"].mask, i["refresh"].mask
        self._care = sum(o[name].mask for name in (
            "pop", "refreshed", "command.op", "issue.valid", "idle"))
        self._holdoff_mask = o["holdoff"].mask

    # -- inputs and outputs ----------------------------------------------------------------------

    def _head(self, bank: int) -> int:
        """The head of a bank on the bus of inputs."""
        queue = self.model.queues[bank]
        if not queue:
            return 0
        operation, waiting = queue[0], len(queue) - 1
        kept, word = self._kept[bank]
        if kept is None or kept[0] is not operation or kept[1] != waiting:
            fields = self._heads[bank]
            word = fields["valid"].mask | fields["waiting"].to(waiting)
            word |= fields["operation.column"].to(operation.column // 8)
            for name in ("row", "write", "conflict", "activate", "close", "precharge_only"):
                word |= fields[f"operation.{name}"].to(getattr(operation, name))
            self._kept[bank] = (operation, waiting), word
        return word

    def _shown(self) -> tuple[int, int]:
        """The command chosen in the cycle before on the bus of outputs, and the bits that matter.

        A row matters to an activate, a column to a read or write.
        """
        pins, o = self._pins, self.bench.outputs
        if pins is None:
            return 0, 0
        self.counts[pins.op.name] += 1
        values: dict[str, int] = {"command.op": pins.op}
        if pins.op is not Command.REF:
            values["command.bank"] = pins.bank
        if pins.op is Command.ACT:
            values["command.row"] = pins.row
        elif pins.op in CAS:
            values |= {"command.column": pins.column // 8, "issue.valid": 1,
                       "issue.payload.write": pins.op in WRITES,
                       "issue.payload.bank": pins.bank, "issue.payload.slot": self._slot}
        return o.pack(values), sum(o[name].mask for name in values)

    async def cycle(self, *, in_request: bool = False, refresh: bool = False) -> Issued | None:
        """Show the heads, compare every output; what the arbiter chose in this cycle."""
        bench, model, now = self.bench, self.model, self.bench.cycle
        word = (self._in_request if in_request else 0) | (self._refresh if refresh else 0)
        any_head = False
        for bank, queue in enumerate(model.queues):
            if queue:
                any_head = True
                word |= self._head(bank)
        idle = not any_head and not in_request
        seen = await bench.step(word)
        expected, care = self._shown()
        care |= self._care
        served = model.choose(now) if any_head else None
        chosen = None
        if served is not None:
            entries = len(model.queues[served])
            chosen = model.issue(now, served)
            if len(model.queues[served]) < entries:
                expected |= bench.outputs["pop"].to(1 << served)
            if chosen.op in CAS:
                self._current = served & ~1
                slot = self._slots[served]
                self._slot, self._slots[served] = slot, (slot + 1) % SLOTS
        if idle:
            expected |= bench.outputs["idle"].mask
            expected |= bench.outputs["holdoff"].to(max(0, self.holdoff - now))
            care |= self._holdoff_mask
            if refresh and now >= self.holdoff:
                expected |= bench.outputs["refreshed"].mask
                chosen = Issued(now, Command.REF)
                self.holdoff = now + self.part.nRFC
        self.holdoff = max(self.holdoff, model.holdoff)
        self._pins = chosen
        bench.check(seen, expected, care)
        return chosen

    # -- requests --------------------------------------------------------------------------------

    async def play(self, request: Request, *, pace: float = 1.0, follows: bool = False,
                   wants: Callable[[], bool] = lambda: False) -> int:
        """A request from the first cycle in which it may begin; its issue delay.

        In each cycle, a burst enters with probability ``pace`` if there is room. ``wants()`` says
        in each cycle whether a refresh becomes due; it is then wanted until it is done. With
        ``follows``, the next request or refresh is going to begin as soon as it may.
        """
        bench, part = self.bench, self.part
        while bench.cycle < self.holdoff:
            await self.cycle()
        self.start = self._current if self.carry else 0
        bench.declare("refresh_wait", after=int(request.write))
        if request.tile and follows and self.start == 0:
            bench.declare("tile", bursts=len(request.bursts), write=int(request.write))
        else:
            bench.undeclare("tile")
        self.model = model = CommandArbiterModel(part, self.start)
        steps: Iterator[list[tuple[int, BankOperation]]] = CommandGeneratorModel(part).steps(
            request.bursts, write=request.write, indexed=request.indexed)
        coming, room, refresh = next(steps, None), True, False
        first = None
        while coming is not None or any(model.queues):
            refresh = refresh or wants()
            if coming is not None and room and bench.rng.random() < pace:
                for bank, operation in coming:
                    model.push(bank, operation)
                coming = next(steps, None)
            # a FIFO that is full in one cycle takes nothing in the next
            room = coming is not None and all(len(model.queues[bank]) <= FIFO_DEPTH
                                              for bank, _ in coming)
            chosen = await self.cycle(in_request=coming is not None, refresh=refresh)
            if chosen is not None and first is None:
                first = chosen.cycle
        assert first is not None
        delay = self.holdoff - first
        if refresh:
            await self.refresh(follows=follows)
        return delay

    async def refresh(self, *, follows: bool = False) -> None:
        """Want a refresh until it is chosen; ``follows``: as in `play`."""
        if follows:
            self.bench.declare("refresh")
        else:
            self.bench.undeclare("refresh")
        while await self.cycle(refresh=True) is None:
            pass
        self.bench.declare("refresh_wait", after=2)

    # -- what to ask for -------------------------------------------------------------------------

    def tile(self, first: int, bursts: int, write: bool) -> Request:
        """``bursts`` bursts from ``first`` on."""
        return Request(range(first, first + bursts), write, tile=True)

    def random_request(self) -> Request:
        """A tile, the lines of a two-dimensional one, or indexed bursts in few or many rows."""
        rng, part = self.bench.rng, self.part
        write, kind = rng.random() < 0.5, rng.randrange(3)
        last = part.bursts - 1
        if kind == 0:
            first = rng.choice((0, part.bursts_per_sweep, rng.randrange(1 << 20)))
            edge = rng.randrange(4) * 2 * part.bursts_per_row
            first = max(0, first - first % part.bursts_per_sweep + edge - rng.randrange(24))
            return self.tile(first, rng.choice((rng.choice(_SIZES[:4]), rng.choice(_SIZES))), write)
        if kind == 1:
            gap, width = rng.choice((2, 3, 9, 200, 300, 3000)), rng.randrange(1, 4)
            lines = rng.randrange(1, 16)
            first = rng.randrange(1 << 20)
            bursts = [first + line * gap + word for line in range(lines)
                      for word in range(min(width, gap))]
            return Request(bursts, write)
        rows, spread = rng.choice((1, 2, 40)), rng.choice((3, 300, 1 << 11))
        base = rng.randrange(part.rows - 64) * part.bursts_per_sweep
        bursts = [min(last, base + rng.randrange(rows) * part.bursts_per_sweep
                      + rng.randrange(min(spread, part.bursts_per_sweep)))
                  for _ in range(rng.randrange(1, 30))]
        return Request(bursts, write, indexed=True)


def _worst(tester: CommandArbiterTester, bursts: int, write: bool) -> list[int]:
    """The first bursts of the slowest and of the fastest tile of this length, by the model."""
    part = tester.part
    pair = 2 * part.bursts_per_row
    starts = sorted({(edge * pair + offset) % part.bursts_per_sweep for edge in
                     (0, 1, part.banks // 2 - 1) for offset in range(-bursts, 2)})
    delays = {start: schedule(part, range(start, start + bursts), write=write).issue_delay
              for start in starts}
    return [max(starts, key=delays.__getitem__), min(starts, key=delays.__getitem__)]


_SIZES = (*range(1, 25), 32, 33, 64, 65, 90)


@testbench
async def tiles_where_they_take_longest(bench: Bench) -> None:
    """Every size in both directions; back to back, with refreshes in between."""
    tester = CommandArbiterTester(bench)
    for bursts in _SIZES:
        for write in (False, True):
            for first in (*_worst(tester, bursts, write),
                          bench.rng.randrange(tester.part.bursts_per_sweep)):
                request = tester.tile(first, bursts, write)
                delay = await tester.play(request, follows=True)
                expected = schedule(tester.part, request.bursts, write=write, current=tester.start)
                assert delay == expected.issue_delay
                if tester.carry:
                    # the next one starts with pair 0
                    await tester.play(tester.tile(0, 1, write), follows=True)
        if bursts % 8 == 0:
            await tester.refresh(follows=True)


@testbench
async def history(bench: Bench) -> None:
    """One tile, after requests that ended in each pair: only the carried pair differs."""
    tester = CommandArbiterTester(bench)
    part = tester.part
    edge = 2 * part.bursts_per_row
    kinds = [(first, bursts, write) for bursts in range(4, 8) for first in range(edge - 4, edge)
             for write in (False, True)]
    differ = 0
    for first, bursts, write in kinds:
        delays = set()
        for pair in range(part.banks // 2):
            await tester.play(Request([pair * edge], write))
            delays.add(await tester.play(Request(range(first, first + bursts), write)))
        differ += len(delays) > 1
    assert (differ > 0) == tester.carry


@testbench
async def requests_of_every_kind(bench: Bench) -> None:
    """Tiles, lines and indexes; bursts that come at once and late; refreshes at random."""
    tester, rng = CommandArbiterTester(bench), bench.rng
    for number in range(90):
        pace = (1.0, 0.3, 0.05)[number % 3]
        await tester.play(tester.random_request(), pace=pace, wants=lambda: rng.random() < 0.001)
        for _ in range(rng.choice((0, 0, 1, 80))):
            await tester.cycle()
    await tester.refresh()
    await tester.cycle()
    used = {name for name, count in tester.counts.items() if count}
    assert used == {"ACT", "RD", "RDA", "WR", "WRA", "PRE", "REF"}, tester.counts


@testbench
async def refreshes_without_end(bench: Bench) -> None:
    """Always wanted: as soon as a request is over, and again as soon as the last one is."""
    tester = CommandArbiterTester(bench)
    for request in (tester.random_request(), tester.tile(0, 1, False), tester.tile(0, 1, True),
                    tester.random_request()):
        for _ in range(2):
            await tester.refresh(follows=True)
        await tester.play(request, follows=True, wants=lambda: True)
    await tester.cycle()
    assert tester.counts["REF"] == 12


reset_in_mid_run = interrupted(requests_of_every_kind, last=300, then=tiles_where_they_take_longest)
