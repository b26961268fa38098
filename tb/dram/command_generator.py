"""Testbench of the command generator: every output compared in every cycle."""

from collections import deque
from collections.abc import Callable, Sequence

from cyclebound.golden.dram.command_generator import (
    BankOperation,
    CommandGeneratorCycleModel,
    Described,
)
from cyclebound.golden.dram.request import (
    BURST_BITS,
    BURST_WORDS,
    FIFO_DEPTH,
    TARGET_BITS,
    Burst,
    Destination,
)
from cyclebound.golden.dram.timing import Part, part_named
from cyclebound.tb.bench import Bench, testbench


class CommandGeneratorTester:
    """The generator and its model; `cycle` takes both one cycle further.

    Attributes
    ----------
    counts : dict
        What has been seen: bursts by what they needed, pops, and cycles in which a FIFO was full.
    """

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.part: Part = part_named(bench.parameters["part"])
        self.model = CommandGeneratorCycleModel(self.part)
        self.counts = dict.fromkeys(("bursts", "activate", "conflict", "close", "precharge_only",
                                     "hit", "pops", "blocked", "full"), 0)
        i, o = bench.inputs, bench.outputs
        self._pop = i["pop"]
        self._payload = {name: o[f"describe.payload.{name}"] for name in (
            "mask", "destination", "transform", "bank", "slot")}
        self._targets = [o[f"describe.payload.targets.{word}"] for word in range(BURST_WORDS)]
        self._heads = [{name: o[f"heads.{bank}.{name}"] for name in (
            "valid", "waiting", *(f"operation.{field}" for field in (
                "row", "column", "write", "conflict", "activate", "close", "precharge_only")))}
            for bank in range(self.part.banks)]
        self._care = sum(o[name].mask for name in ("bursts.ready", "describe.valid", "busy"))
        for fields in self._heads:
            self._care |= fields["valid"].mask | fields["waiting"].mask
        self._kept: list[tuple[BankOperation | None, int, int]] = [(None, 0, 0)] * self.part.banks
        self._offered: tuple[Burst | None, int] = (None, 0)
        self._line: deque[Burst] = deque()  # taken and not yet entered

    async def reset(self) -> None:
        """Reset the generator, whatever is under way, and begin anew."""
        await self.bench.reset()
        self.model = CommandGeneratorCycleModel(self.part)
        self._line.clear()
        self._gap = 0

    def _offer(self, burst: Burst) -> int:
        """A burst on the bus of inputs."""
        if self._offered[0] is not burst:
            values = {"bursts.valid": 1}
            for name in ("address", "mask", "write", "destination", "transform", "indexed",
                         "last"):
                values[f"bursts.payload.{name}"] = getattr(burst, name)
            for word, target in enumerate(burst.targets):
                values[f"bursts.payload.targets.{word}"] = target
            self._offered = burst, self.bench.inputs.pack(values)
        return self._offered[1]

    def _head(self, bank: int, operation: BankOperation) -> tuple[int, int]:
        """A head on the bus of outputs, and the bits that matter.

        To a precharge nothing matters but that it is one.
        """
        kept, word, care = self._kept[bank]
        if kept is not operation:
            fields, word, care = self._heads[bank], 0, 0
            names = ["precharge_only"] if operation.precharge_only else [
                "precharge_only", "row", "column", "write", "conflict", "activate", "close"]
            for name in names:
                field = fields[f"operation.{name}"]
                value = operation.column // 8 if name == "column" else getattr(operation, name)
                word |= field.to(value)
                care |= field.mask
            self._kept[bank] = operation, word, care
        return word, care

    def _shown(self, described: Described) -> tuple[int, int]:
        """A descriptor on the bus of outputs, and the bits that matter."""
        burst = described.burst
        values = {"mask": burst.mask, "destination": burst.destination,
                  "transform": burst.transform, "bank": described.bank, "slot": described.slot}
        word, care = self.bench.outputs["describe.valid"].mask, 0
        for name, value in values.items():
            word |= self._payload[name].to(value)
            care |= self._payload[name].mask
        for field, target in zip(self._targets, burst.targets, strict=True):
            word |= field.to(target)
            care |= field.mask
        return word, care

    async def cycle(self, offer: Burst | None = None, pops: int = 0) -> bool:
        """Offer a burst or none, pop heads; compare all. Whether the burst was taken."""
        bench = self.bench
        expected, care = 0, self._care
        for bank, queue in enumerate(self.model.queues):
            if queue:
                fields = self._heads[bank]
                word, more = self._head(bank, queue[0])
                expected |= word | fields["valid"].mask | fields["waiting"].to(len(queue) - 1)
                care |= more
                self.counts["full"] += len(queue) > FIFO_DEPTH
        lengths = [len(queue) - (pops >> bank & 1) for bank, queue in enumerate(self.model.queues)]
        seen = await bench.step((0 if offer is None else self._offer(offer)) | self._pop.to(pops))
        out = self.model.step(offer, pops)
        self.counts["pops"] += pops.bit_count()
        self.counts["blocked"] += out.blocked
        expected |= bench.outputs["bursts.ready"].mask if out.ready else 0
        expected |= bench.outputs["busy"].mask if out.busy else 0
        if out.described is not None:
            word, more = self._shown(out.described)
            expected |= word
            care |= more
        bench.check(seen, expected, care)
        if out.entered is not None:
            self._enter(out.entered, lengths)
        if out.ready and offer is not None:
            self._line.append(offer)
            self.counts["bursts"] += 1
            return True
        return False

    def _enter(self, entered: Described, lengths: Sequence[int]) -> None:
        """Count what a burst needed."""
        assert self._line.popleft() is entered.burst
        for bank, queue in enumerate(self.model.queues):
            if len(queue) > lengths[bank]:
                operation = queue[-1]
                for name in ("activate", "conflict", "close", "precharge_only"):
                    self.counts[name] += getattr(operation, name)
                self.counts["hit"] += not operation.precharge_only and not operation.activate

    async def play(self, bursts: Sequence[Burst], *, offers: float = 1.0, late: int | None = None,
                   pops: Callable[[int], bool] | None = None) -> None:
        """All bursts, until the last head has been popped.

        In each cycle, the next burst is put on offer with probability ``offers`` and stays there;
        within a request at most ``late`` cycles after it could have been. ``pops(waiting)`` says of
        each head whether it is popped; None: all heads are, as they come, and are measured.
        """
        rng, coming, offer, missed = self.bench.rng, iter(bursts), None, 0
        if pops is None:
            self.bench.declare("burst", popped=1, late=late or 0)
        following = next(coming, None)
        while following is not None or self._line or any(self.model.queues):
            if offer is None and following is not None:
                within = bool(self._line) and not self._line[-1].last
                if rng.random() < offers or (within and missed == late):
                    offer, following, missed = following, next(coming, None), 0
                else:
                    missed += within
            gone = sum(1 << bank for bank, queue in enumerate(self.model.queues)
                       if queue and (pops is None or pops(len(queue) - 1)))
            if await self.cycle(offer, gone):
                offer = None
        for _ in range(2):
            await self.cycle()

    # -- what to ask for -------------------------------------------------------------------------

    def request(self, addresses: Sequence[int], *, indexed: bool = False) -> list[Burst]:
        """A request with these bursts; everything else at random."""
        rng = self.bench.rng
        write, destination = rng.random() < 0.5, Destination(rng.randrange(3))
        transform = rng.randrange(3)
        return [Burst(address, rng.getrandbits(BURST_WORDS),
                      tuple(rng.getrandbits(TARGET_BITS) for _ in range(BURST_WORDS)),
                      write, destination, transform, indexed, number == len(addresses) - 1)
                for number, address in enumerate(addresses)]

    def random_request(self) -> list[Burst]:
        """A tile, the lines of a two-dimensional one, or indexed bursts in few or many rows."""
        rng, part = self.bench.rng, self.part
        end = min(part.bursts, 1 << BURST_BITS)
        sweep = part.bursts_per_sweep
        kind, length = rng.randrange(3), rng.randrange(1, rng.choice((3, 12, 60)))
        if kind == 0:
            edge = rng.randrange(end // sweep) * sweep + rng.randrange(
                part.banks // 2 + 1) * 2 * part.bursts_per_row
            first = min(max(0, edge - rng.randrange(1, 40)), end - length)
            return self.request(range(first, first + length))
        if kind == 1:
            gap, first = rng.choice((2, 3, 9, 200, 300, 3000)), rng.randrange(end // 2)
            width = min(rng.randrange(1, 4), gap)
            return self.request([first + line * gap + place for line in range(length // width + 1)
                                 for place in range(width)])
        rows, spread = rng.choice((1, 2, 40)), rng.choice((2, 3, 300, sweep))
        base = rng.randrange(end // sweep - rows) * sweep
        return self.request([base + rng.randrange(rows) * sweep
                             + rng.randrange(min(spread, sweep)) for _ in range(length)],
                            indexed=True)

    def some(self, count: int) -> list[Burst]:
        """The bursts of ``count`` requests."""
        return [burst for _ in range(count) for burst in self.random_request()]


@testbench
async def heads_popped_at_once(bench: Bench) -> None:
    """Every burst into an empty FIFO, one per cycle."""
    tester = CommandGeneratorTester(bench)
    await tester.play(tester.some(60))
    assert tester.counts["blocked"] == 0
    assert min(tester.counts[name] for name in ("activate", "conflict", "close", "precharge_only",
                                                "hit")) > 0, tester.counts


@testbench
async def bursts_that_come_late(bench: Bench) -> None:
    """A burst waits for the next one; between requests, none waits."""
    tester = CommandGeneratorTester(bench)
    for offers, late in ((0.5, 1), (0.5, 3), (0.1, 10), (0.02, 57)):
        await tester.play(tester.some(12), offers=offers, late=late)
    assert tester.counts["bursts"] > 50


@testbench
async def fifos_that_fill(bench: Bench) -> None:
    """Heads popped late, or only once their FIFO is full: what needs a full one stops."""
    tester, rng = CommandGeneratorTester(bench), bench.rng
    for pops in (lambda waiting: rng.random() < 0.3, lambda waiting: rng.random() < 0.03,
                 lambda waiting: waiting >= FIFO_DEPTH or rng.random() < 0.01):
        for offers in (1.0, 0.6):
            await tester.play(tester.some(15), offers=offers, pops=pops)
    assert min(tester.counts[name] for name in ("blocked", "full")) > 100, tester.counts


@testbench
async def reset_in_mid_run(bench: Bench) -> None:
    """Reset at random cycles, with banks open, bursts under way and FIFOs filled."""
    tester, rng = CommandGeneratorTester(bench), bench.rng
    opened = 0
    for _ in range(30):
        bursts = iter(tester.some(3))
        offer: Burst | None = next(bursts)
        for _ in range(rng.randrange(1, 40)):
            gone = sum(1 << bank for bank, queue in enumerate(tester.model.queues)
                       if queue and rng.random() < 0.5)
            if offer is not None and await tester.cycle(offer, gone):
                offer = next(bursts, None)
            elif offer is None:
                await tester.cycle(None, gone)
        opened += any(tester.model.queues)
        await tester.cycle(offer)  # its inputs stay for a cycle of reset, and a head goes once
        await tester.reset()
    await tester.play(tester.some(5), pops=lambda waiting: True)
    assert opened > 10


@testbench
async def one_burst_at_a_time(bench: Bench) -> None:
    """Requests of a single burst: each is the last, and closes what it opens."""
    tester = CommandGeneratorTester(bench)
    for indexed in (False, True):
        for bank in range(tester.part.banks):
            address = bank // 2 * 2 * tester.part.bursts_per_row + bank % 2
            await tester.play(tester.request([address], indexed=indexed))
    assert tester.counts["close"] == tester.counts["bursts"] == 2 * tester.part.banks
