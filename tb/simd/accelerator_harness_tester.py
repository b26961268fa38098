"""A kernel on the accelerator's harness: content in, records and content out.

Python looks at it now and then; what happened in between is in the harness' records, each with its
compute cycle. There is one in each clock at most.
"""

import time
from collections.abc import Callable
from typing import ClassVar

from cyclebound.golden.dram.address import place_of
from cyclebound.golden.dram.request import BURST_BYTES
from cyclebound.golden.harness.faults import ACCELERATOR
from cyclebound.golden.simd.program import Program
from cyclebound.golden.simd.work_group import Memory
from cyclebound.tb.bench import Bench
from cyclebound.tb.simd.accelerator_tester import AcceleratorSide, Ran, SimdAcceleratorTester

__all__ = ["AcceleratorHarnessTester", "tester_on"]

_LEAST = 240      # clocks between two looks,
_PART = 8         # or this part of those that the kernel has taken so far: as much may be in vain
_TELL = 0.5       # seconds


class AcceleratorHarnessTester(AcceleratorSide):
    """The accelerator with a DRAM in hardware.

    Raises `ValueError` where a kernel's program and buffers lie in more rows than that has.
    """

    OBSERVERS: ClassVar = {name: f"oldest.event.{name}" for name in SimdAcceleratorTester.OBSERVERS}

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        i, o = bench.inputs, bench.outputs
        self._content: dict[int, bytes] = {}  # by burst
        self._slots: dict[tuple[int, int], int] = {}  # by bank and row
        self._room = 1 << i["place.payload.slot"].width
        # a record in each clock has room, and those of the clocks in which others are taken
        self._most = (1 << o["level"].width - 1) - _LEAST
        self._level, self._cycle, self._next = o["level"], o["oldest.cycle"], i["next"]
        self._failed = o["failed"]

    async def cycle(self, word: int = 0) -> int:
        self.now += 1
        return await self.bench.step(word)

    async def play(self, words: list[int]) -> list[int]:
        """Clocks with these inputs; the outputs at the end of each."""
        self.now += len(words)
        return await self.bench.play(words)

    async def wait(self, clocks: int) -> int:
        """Clocks without input; the outputs at the end of the last."""
        self.now += clocks
        self.bench.drive(0)
        return await self.bench.wait(clocks)

    def held(self, burst: int) -> bytes:
        return self._content[burst]

    def keep(self, burst: int, content: bytes) -> None:
        self._content[burst] = content

    def put_kernel(self, program: Program, memory: Memory, **more) -> int:
        self._content = {}
        return super().put_kernel(program, memory, **more)

    def _number(self, burst: int) -> int:
        """The harness's number of a burst; a row seen for the first time gets the next slot."""
        place = place_of(self.part, burst)
        slot = self._slots.setdefault((place.bank, place.row), len(self._slots))
        if slot == self._room:
            raise ValueError(f"the kernel's program and buffers lie in more than {self._room} rows "
                             "of banks, which is all that the harness keeps")
        return slot * self.part.bursts_per_row + place.column // 8

    async def send(self) -> None:
        inputs, put = self.bench.inputs, self.bench.inputs["put.payload.words"]
        self._slots = {}
        words = [inputs.pack({"put.valid": 1, "put.payload.burst": self._number(burst)})
                 | put.to(int.from_bytes(content, "little"))
                 for burst, content in self._content.items()]
        places = [inputs.pack({"place.valid": 1, "place.payload.slot": slot,
                               "place.payload.bank": bank, "place.payload.row": row})
                  for (bank, row), slot in self._slots.items()]
        await self.play([inputs["forget"].mask, *places, *words])

    async def fetch(self) -> None:
        """Look at all bursts."""
        look, shown = self.bench.inputs["look"], self.bench.outputs["shown"]
        seen = await self.play([*(look.to(self._number(burst)) for burst in self._content), 0])
        for burst, after in zip(self._content, seen[1:], strict=True):
            self._content[burst] = shown.of(after).to_bytes(BURST_BYTES, "little")

    async def follow(self, most: int, tell: Callable[[int, int], None]) -> tuple[Ran, int]:
        outputs, ran, began, told = self.bench.outputs, Ran(), self.now, 0.0
        cycles, idle = outputs["cycles"], outputs["idle"]
        while True:
            clocks = max(_LEAST, min((self.now - began) // _PART, self._most))
            seen = await self._records(ran, await self.wait(clocks))
            if idle.of(seen):
                break
            if ran.load:  # else the cycles may be those of the kernel before
                assert cycles.of(seen) < most, f"the kernel still runs after {most} compute cycles"
            if time.monotonic() - told > _TELL:
                tell(cycles.of(seen), len(ran.launches))
                told = time.monotonic()
        self.ended(ran, seen)
        begin = outputs["began"].of(seen)
        if outputs["refreshed.valid"].of(seen):
            self._refreshed = [outputs["refreshed.payload"].of(seen)]
        self.refreshes += outputs["refreshes"].of(seen)
        seen = await self.wait(self.part.nCAS + 8)  # the last words reach DRAM
        await self.fetch()
        self._check(seen)
        return ran, begin

    def _check(self, seen: int) -> None:
        failed = self._failed.of(seen)
        faults = [name for bit, name in enumerate(ACCELERATOR) if failed >> bit & 1]
        assert not faults, f"the harness found: {', '.join(faults)}"

    async def _records(self, ran: Ran, seen: int) -> int:
        """Take all records that there are; the outputs of the first clock without any."""
        self._check(seen)
        while held := self._level.of(seen):
            *records, seen = await self.play([*[self._next.mask] * held, 0])
            for record in records:
                self.happens(ran, self._cycle.of(record), record)
        return seen


def tester_on(bench: Bench) -> AcceleratorSide:
    """The tester for what is on the bench: the accelerator, or its harness."""
    return (AcceleratorHarnessTester if "oldest" in bench.outputs.fields
            else SimdAcceleratorTester)(bench)
