"""Testbench of the setup of accesses: every word of every shape, an access in each clock.

The job that hardware makes of an access is written out as words, and compared with those that the
model finds one by one.
"""

import itertools
import random
from collections.abc import Iterable, Iterator

from cyclebound.golden.dram.request import BEAT_WORDS, COUNT_BITS, TARGET_BITS, Destination
from cyclebound.golden.simd.access_setup import Committed, Move, collide, moves
from cyclebound.golden.simd.isa import OPCODES, TABLE
from cyclebound.golden.simd.machine import SCALARS, SCRATCHPAD_WORDS, machine_named
from cyclebound.golden.simd.transfers import Access, Fault
from cyclebound.tb.bench import Bench, testbench

__all__ = ["AccessSetupTester", "far_cases", "linear_cases", "local_cases", "play", "row_cases",
           "snoopy_cases", "tile_cases"]

_CLOCKS = 4
_SHAPES = 2000  # of a kind, where not all of them are tried, times the items of a work-group
_FIELDS = ("scratchpad", "write", "buffer", "x", "y", "words", "count", "address", "period", "base",
           "pitch", "transform", "destination", "indexed", "scalars", "end", "cam", "register",
           "split", "restart", "fault")
_SNOOPY = ("ldgbidx", "stgbidx", "ldgcidx", "stgcidx", "ldspbidx", "stspbidx")


class AccessSetupTester:
    """The unit, and accesses on their way through it."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.machine = machine_named(bench.parameters["machine"])
        self._job = {name: bench.outputs[f"job.payload.{name}"] for name in _FIELDS}
        self._valid, self._slot = bench.outputs["job.valid"], bench.outputs["slot"]
        self._coming: list[tuple[Committed, int, int] | None] = [None] * _CLOCKS
        self.faults = self.words = 0

    async def show(self, access: Committed | None) -> None:
        """A clock with an access, or without."""
        bench, rng = self.bench, self.bench.rng
        shown = None
        word = 0
        if access is not None:
            shown = access, rng.randrange(2), rng.randrange(32)
            word = bench.inputs.pack(self._inputs(*shown))
        seen = await bench.step(word)
        due, self._coming = self._coming[0], [*self._coming[1:], shown]
        bench.compare(self._valid.of(seen), int(due is not None), "job.valid")
        if due is not None:
            self._compare(seen, *due)

    def _inputs(self, access: Committed, slot: int, buffer: int) -> dict[str, int]:
        name, rng = access.name, self.bench.rng
        operation = TABLE[OPCODES[name]]
        chip = rng.randrange(32) if operation.unit.value == "dram" else buffer
        of_tile = name.endswith("tile")
        return {
            "access.valid": 1, "access.payload.slot": slot,
            "access.payload.opcode": OPCODES[name],
            "access.payload.scratchpad": int(operation.unit.value == "scratchpad"),
            "access.payload.store": int(operation.store), "access.payload.buffer": buffer,
            "access.payload.target": chip if of_tile else access.target,
            "access.payload.width": access.registers.bit_length() - 1,
            "access.payload.count": access.count, "access.payload.x": access.x,
            "access.payload.y": access.y, "access.payload.sd_words": access.sd_words,
            "access.payload.sd_period": access.sd_period,
            "access.payload.sd_period_cnt": access.sd_period_cnt,
            "access.payload.group_x": access.group_x, "access.payload.group_y": access.group_y,
            "grid.x": rng.getrandbits(COUNT_BITS), "grid.y": access.grid_y,
            "grid.width": access.across.bit_length() - 1,
            "buffer.x": access.buffer[0], "buffer.y": access.buffer[1],
            "chip.address": access.chip[0], "chip.x": access.chip[1], "chip.y": access.chip[2],
        }

    def _compare(self, seen: int, access: Committed, slot: int, buffer: int) -> None:
        job = {name: field.of(seen) for name, field in self._job.items()}
        operation = TABLE[OPCODES[access.name]]
        of_chip = operation.unit.value == "scratchpad"
        compare = self.bench.compare
        compare(self._slot.of(seen), slot, f"{access}: slot")
        compare((job["scratchpad"], job["write"], job["buffer"]),
                (of_chip, operation.store, buffer), f"{access}: scratchpad, write and buffer")
        if access.name.endswith("idxit"):
            compare((job["indexed"], job["fault"], job["split"], job["register"]),
                    (1, 0, 0, access.target), f"{access}: indexed, fault, split and register")
            return
        try:
            wanted = moves(access)
        except Fault:
            compare(job["fault"], 1, f"{access}: fault")
            self.faults += 1
            return
        compare((job["fault"], job["indexed"]), (0, 0), f"{access}: fault and indexed")
        compare(self._moved(access, job, of_chip=of_chip), wanted, f"{access}: moves of {job}")
        self._alike(access, job, of_chip=of_chip)
        self._together(access, job, wanted, of_chip=of_chip)
        self.words += len(wanted)

    def _moved(self, access: Committed, job: dict[str, int], *, of_chip: bool) -> list[Move]:
        """The words that a job moves."""
        moves = []
        for line, column in itertools.product(range(job["count"]), range(job["words"])):
            target = job["base"] + line * job["pitch"] + column
            if job["scalars"] and target >= job["end"]:
                continue
            if of_chip:  # from the address
                address, across, _ = access.chip
                place = divmod(job["address"] - address + line * job["period"] + column, across)
            else:
                place = job["y"] + line, job["x"] + column
            moves.append(Move(*place, target))
        return moves

    def _alike(self, access: Committed, job: dict[str, int], *, of_chip: bool) -> None:
        """Check the destination of a job's words, apart from their targets."""
        row = access.name in ("sldg", "sldsp")
        tile, snoopy = access.name.endswith("tile"), access.name in _SNOOPY
        assert (job["scalars"], job["cam"]) == (row, snoopy), f"{access}: {job}"
        if access.name == "sldg":  # no more lines than have its words
            across = access.buffer[0]
            assert (job["words"], job["count"]) == (
                min(access.count, across), -(-access.count // across)), f"{access}: {job}"
        assert job["destination"] == (Destination.CAM if snoopy else Destination.SCRATCHPAD
                                      if tile else Destination.REGISTERS)
        if not (row or tile or snoopy):
            assert (job["transform"], job["register"]) == (
                access.registers.bit_length() - 1, access.target), f"{access}: {job}"
        elif tile:
            assert job["transform"] == 0, f"{access}: {job}"
        assert not (of_chip and job["split"]), f"{access}: {job}"
        assert of_chip or not job["restart"], f"{access}: {job}"

    def _together(self, access: Committed, job: dict[str, int], wanted: list[Move], *,
                  of_chip: bool) -> None:
        """Words that cannot move together do not; others do."""
        bus, lanes = self.machine.scratchpad_bus, self.machine.lanes
        across = access.chip[1] if of_chip else access.buffer[0]
        reach = bus if of_chip else BEAT_WORDS
        alone = job["restart"] if of_chip else job["split"]
        shape = Access("", False, 0, job["words"], across, job["count"], 0, lambda: None,
                       pitch=job["pitch"])
        assert alone == shape.meets(reach), f"{access}: {job}"
        places = bus if access.name.endswith("tile") else min(
            lanes, self.machine.words_moved) * access.registers
        if job["scalars"]:
            places = 2 * SCALARS
        if not (alone or job["cam"]):
            assert not collide(wanted, across, reach, places), f"{access}: {job} meets itself"


async def play(tester: AccessSetupTester, cases: Iterable[Committed]) -> None:
    """One access after the other, and now and then a clock without."""
    rng = tester.bench.rng
    for access in cases:
        await tester.show(access)
        if rng.random() < 0.02:
            for _ in range(rng.randrange(6)):
                await tester.show(None)
    for _ in range(_CLOCKS):
        await tester.show(None)


def _mixed(tester: AccessSetupTester, first: list, second: list, *, every: bool
           ) -> Iterator[tuple]:
    """Each of the first with each of the second; or some of them, each with four of the others."""
    if every:
        yield from itertools.product(first, second)
        return
    rng, most = tester.bench.rng, max(10, _SHAPES // tester.machine.items)
    first, second = (rng.sample(cases, min(len(cases), most)) for cases in (first, second))
    for one in first:
        yield from ((one, other) for other in rng.choices(second, k=4))
    for other in second:
        yield from ((one, other) for one in rng.choices(first, k=4))


def linear_cases(tester: AccessSetupTester, *, every: bool) -> Iterator[Committed]:
    """Tiles of registers at and over every edge of their buffer and of the grid."""
    items, rng = tester.machine.items, tester.bench.rng
    for across, registers in itertools.product(tester.machine.widths, (1, 2, 4)):
        height = items // across
        columns = [(x, group_x, buffer) for buffer in range(1, max(6, 2 * registers))
                   for group_x in (0, across)
                   for x in range(-across - group_x - 2, -(-buffer // registers) - group_x + 2)]
        lines = [(y, group_y, buffer, grid) for buffer in range(1, 4) for group_y in (0, height)
                 for grid in range(group_y + 1, group_y + height + 2)
                 for y in range(-height - group_y - 1, buffer - group_y + 2)]
        for (x, group_x, buffer_x), (y, group_y, buffer_y, grid) in _mixed(
                tester, columns, lines, every=every):
            yield Committed(rng.choice(("ldglin", "stglin")), items, across, (buffer_x, buffer_y),
                            registers=registers, target=rng.randrange(61), x=x, y=y,
                            group_x=group_x, group_y=group_y, grid_y=grid)


def local_cases(tester: AccessSetupTester, *, every: bool) -> Iterator[Committed]:
    """Registers and scratchpad, at and over every edge."""
    items, rng = tester.machine.items, tester.bench.rng
    for across in tester.machine.widths:
        height = items // across
        columns = [(x, chip) for chip in range(1, across + 6)
                   for x in range(-across - 1, chip + 2)]
        lines = [(y, chip) for chip in range(1, 4) for y in range(-height - 1, chip + 2)]
        for (x, chip_x), (y, chip_y) in _mixed(tester, columns, lines, every=every):
            yield Committed(rng.choice(("ldsplin", "stsplin")), items, across,
                            chip=(rng.randrange(1000), chip_x, chip_y), target=rng.randrange(64),
                            x=x, y=y)


def tile_cases(tester: AccessSetupTester, *, every: bool) -> Iterator[Committed]:
    """Tiles between DRAM and scratchpad."""
    rng = tester.bench.rng
    columns = [(x, buffer, chip) for buffer in range(1, 6) for chip in range(1, 6)
               for x in range(-chip - 1, buffer + 2)]
    lines = [(y, buffer, chip) for buffer in range(1, 4) for chip in range(1, 4)
             for y in range(-chip - 1, buffer + 2)]
    for (x, buffer_x, chip_x), (y, buffer_y, chip_y) in _mixed(tester, columns, lines, every=every):
        yield Committed(rng.choice(("ldg2sptile", "stg2sptile")), tester.machine.items,
                        rng.choice(tester.machine.widths), (buffer_x, buffer_y),
                        (rng.randrange(1000), chip_x, chip_y), x=x, y=y)


def row_cases(tester: AccessSetupTester) -> Iterator[Committed]:
    """Words in a row into scalar registers, over the ends of lines and of buffers."""
    rng, items = tester.bench.rng, tester.machine.items
    across = tester.machine.widths[0]
    for count in range(1, SCALARS + 1):
        for x in (*range(1, SCALARS + 2), 1000):
            enough = -(-count // x)
            for y in {1, max(1, enough - 1), enough, enough + 1}:
                yield Committed("sldg", items, across, (x, y), count=count,
                                target=rng.choice((0, SCALARS - count)))
    for chip_x, chip_y in itertools.product(range(1, 6), range(1, 5)):
        for x, y in itertools.product(range(-1, chip_x + 1), range(-1, chip_y + 1)):
            left = (chip_y - y) * chip_x - x
            for words in {0, 1, left - 1, left, left + 1, 1 << 20, 33}:
                if words >= 0:
                    chip = rng.randrange(99), chip_x, chip_y
                    yield Committed("sldsp", items, across, chip=chip, x=x, y=y, sd_words=words,
                                    target=rng.choice((0, 20, 31)))
    for words in range(40):
        yield Committed("sldsp", items, across, chip=(0, 128, 128), x=100, y=126, sd_words=words,
                        target=rng.choice((0, SCALARS - min(words, SCALARS))))


def snoopy_cases(tester: AccessSetupTester, *, every: bool) -> Iterator[Committed]:
    """Whole buffers, and lines of them; what is no line of its buffer is refused."""
    rng, items = tester.bench.rng, tester.machine.items
    for x, y in itertools.product(range(1, 6), range(1, 5)):
        for name in ("ldgbidx", "stgbidx", "ldspbidx", "stspbidx"):
            yield Committed(name, items, rng.choice(tester.machine.widths), (x, y),
                            (rng.randrange(1000), x, y))
    columns = [(x, words, period, buffer) for buffer in range(1, 5) for x in range(-1, buffer + 2)
               for words in range(buffer - x + 2) for period in {0, words, buffer, buffer + 1}]
    lines = [(y, count, buffer) for buffer in range(1, 4) for y in range(-1, buffer + 2)
             for count in range(max(buffer - y, 0) + 2)]
    for (x, words, period, buffer_x), (y, count, buffer_y) in _mixed(tester, columns, lines,
                                                                    every=every):
        yield Committed(rng.choice(("ldgcidx", "stgcidx")), items,
                        rng.choice(tester.machine.widths), (buffer_x, buffer_y), x=x, y=y,
                        sd_words=words, sd_period=period, sd_period_cnt=count)
    for y in (1, 1000, 1 << 15):  # the first word's index has all its bits
        across = (1 << 20) // (y + 1)
        for x in (0, 1, across - 1, across):
            yield Committed("ldgcidx", items, tester.machine.widths[0], (across, y + 1), x=x, y=y,
                            sd_words=1, sd_period=across)
    far = (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 20
    for words, period, count in itertools.product((1, *far), repeat=3):
        yield Committed("stgcidx", items, tester.machine.widths[0], (7, 5), x=rng.randrange(3),
                        sd_words=words, sd_period=period, sd_period_cnt=count)


def other_cases(tester: AccessSetupTester) -> Iterator[Committed]:
    """Index by index; offsets of 32 bits."""
    rng, items = tester.bench.rng, tester.machine.items
    across = tester.machine.widths[-1]
    for _ in range(50):
        for name in ("ldgidxit", "stgidxit"):
            yield Committed(name, items, rng.choice(tester.machine.widths),
                            (rng.randint(1, 9), rng.randint(1, 9)), (0, 8, 8),
                            target=rng.randrange(64))
    far = (-(1 << 31), (1 << 31) - 1, -(1 << 20), 1 << 20, (1 << 20) - 2, 1 << 30, -(1 << 30))
    for x, y in itertools.product((*far, 0, -1), repeat=2):
        for name, registers in (("ldglin", 4), ("stglin", 2), ("ldglin", 1), ("ldg2sptile", 1),
                                ("ldsplin", 1)):
            yield Committed(name, items, across, ((1 << 20) - 1, 3), (16000, 128, 3),
                            registers=registers, x=x, y=y, grid_y=(1 << 20) - 1,
                            group_x=rng.choice((0, (1 << 20) - across)),
                            group_y=rng.choice((0, (1 << 20) - 64)))


def _near(rng: random.Random, limit: int, reach: int) -> int:
    """An offset at either edge of ``limit`` words, or anywhere between."""
    return rng.choice((0, limit, rng.randrange(limit))) + rng.randint(-reach, reach)


def far_cases(tester: AccessSetupTester, cases: int) -> Iterator[Committed]:
    """Buffers of any size, so that each bit of a place, a length and a product matters."""
    rng, machine = tester.bench.rng, tester.machine
    items = machine.items

    def up_to(bits: int) -> int:
        return rng.randint(1, (1 << rng.randint(1, bits)) - 1)

    for _ in range(cases):
        across, registers = rng.choice(machine.widths), rng.choice((1, 2, 4))
        height = items // across
        x, y = rng.choice((up_to(COUNT_BITS), rng.randint(1, 9 * registers))), up_to(COUNT_BITS)
        group_x, group_y = (up_to(COUNT_BITS) // size * size for size in (across, height))
        yield Committed(
            rng.choice(("ldglin", "stglin")), items, across, (x, y), registers=registers,
            target=rng.randrange(61), x=_near(rng, -(-x // registers), across) - group_x,
            y=_near(rng, y, height) - group_y, group_x=group_x, group_y=group_y,
            grid_y=rng.choice((group_y + rng.randint(1, height + 1), (1 << COUNT_BITS) - 1)))
        # a scratchpad's buffer, of few words or of all; a tile of it that is nearly all outside
        words = rng.randint(1, SCRATCHPAD_WORDS)
        chip_x = rng.choice((up_to(14), 1 << rng.randrange(14)))
        chip_x = min(chip_x, words)
        chip_y = rng.choice((words // chip_x, rng.randint(1, words // chip_x)))
        chip = rng.randint(0, SCRATCHPAD_WORDS - chip_x * chip_y), chip_x, chip_y
        yield Committed(rng.choice(("ldsplin", "stsplin")), items, across, chip=chip,
                        target=rng.randrange(64), x=_near(rng, chip_x, across),
                        y=_near(rng, chip_y, height))
        yield Committed("sldsp", items, across, chip=chip, x=rng.randrange(chip_x),
                        y=rng.randrange(chip_y), sd_words=rng.randint(1, SCALARS),
                        target=rng.choice((0, rng.randrange(SCALARS))))
        yield Committed(
            rng.choice(("ldg2sptile", "stg2sptile")), items, across, (x, y), chip,
            x=rng.choice((rng.randint(1, 9) - chip_x, x - rng.randint(1, 9))),
            y=rng.choice((rng.randint(1, 9) - chip_y, y - rng.randint(1, 9))))
        yield Committed("sldg", items, across, (x, y), count=rng.randint(1, SCALARS), target=0)
        y = max(1, min(y, ((1 << TARGET_BITS) - 1) // x))  # an index is of 20 bits
        at_x, at_y = rng.randrange(x), rng.randrange(y)
        yield Committed(
            rng.choice(("ldgcidx", "stgcidx")), items, across, (x, y), x=at_x, y=at_y,
            sd_words=rng.randint(1, max(1, min(9, x - at_x + 1))),
            sd_period=rng.choice((x, x ^ 1 << rng.randrange(COUNT_BITS), up_to(32))),
            sd_period_cnt=rng.choice((1, rng.randint(1, max(1, min(9, y - at_y + 1))),
                                      1 << rng.randrange(32))))
    for x, y in ((1, 4095), (4095, 1), (53, 77), (1 << 11, 2), (202, 3), (3, 202)):
        for name in ("ldgbidx", "stgbidx", "ldspbidx", "stspbidx"):
            yield Committed(name, items, machine.widths[0], (x, y), (rng.randrange(99), x, y))
    for x, y in ((1, (1 << 16) + (1 << 14)), ((1 << 16) + (1 << 14), 1)):
        yield Committed("ldgbidx", items, machine.widths[0], (x, y))
    for bit in range(2, COUNT_BITS):
        for more in range(3):
            yield Committed("sldg", items, machine.widths[0], ((1 << bit) + more, 31),
                            count=rng.randint(4, SCALARS))
    for bit in range(32):
        yield Committed("sldsp", items, machine.widths[0], chip=(0, 128, 128), sd_words=1 << bit)


@testbench
async def tiles_of_registers(bench: Bench) -> None:
    bench.declare("job")
    tester = AccessSetupTester(bench)
    await play(tester, linear_cases(tester, every=False))
    assert tester.words > 1000


@testbench
async def tiles_of_scratchpads(bench: Bench) -> None:
    bench.declare("job")
    tester = AccessSetupTester(bench)
    await play(tester, local_cases(tester, every=False))
    await play(tester, tile_cases(tester, every=False))
    assert tester.words > 1000


@testbench
async def words_in_a_row(bench: Bench) -> None:
    bench.declare("job")
    tester = AccessSetupTester(bench)
    await play(tester, row_cases(tester))
    assert tester.faults > 500


@testbench
async def snoopy_tiles(bench: Bench) -> None:
    bench.declare("job")
    tester = AccessSetupTester(bench)
    for _ in range(3):
        await play(tester, snoopy_cases(tester, every=False))
    assert tester.faults > 500
    assert tester.words > 500


@testbench
async def the_others(bench: Bench) -> None:
    bench.declare("job")
    tester = AccessSetupTester(bench)
    await play(tester, other_cases(tester))


@testbench
async def every_tile_of_registers(bench: Bench) -> None:
    bench.declare("job")
    tester = AccessSetupTester(bench)
    await play(tester, linear_cases(tester, every=True))


@testbench
async def every_tile_of_scratchpads(bench: Bench) -> None:
    bench.declare("job")
    tester = AccessSetupTester(bench)
    await play(tester, local_cases(tester, every=True))
    await play(tester, tile_cases(tester, every=True))


@testbench
async def every_snoopy_tile(bench: Bench) -> None:
    bench.declare("job")
    tester = AccessSetupTester(bench)
    await play(tester, snoopy_cases(tester, every=True))


@testbench
async def buffers_of_any_size(bench: Bench) -> None:
    bench.declare("job")
    tester = AccessSetupTester(bench)
    await play(tester, far_cases(tester, 500))
    assert tester.words > 5_000
    assert tester.faults > 200
