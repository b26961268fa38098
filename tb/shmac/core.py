"""Testbench of SHMAC's core: random programs beside the golden model, every cycle, every port."""

import random
from collections.abc import Callable, Iterator, Mapping

from cyclebound.golden.shmac.core import CoreModel, Fetch, Response, Shown
from cyclebound.golden.shmac.core_bounds import CLASSES
from cyclebound.golden.shmac.core_port import INTERRUPT_LINES
from cyclebound.golden.shmac.machine import CoreAccess
from cyclebound.golden.shmac.memory import SharedMemory
from cyclebound.golden.shmac.memory_waits import AccessKind, MemoryWaits
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tools.shmac.assembler import assemble
from cyclebound.tools.shmac.random_programs import HANDLER, random_program

__all__ = ["FAR", "MEMORIES", "LatestMemory", "Memory", "Waits", "beside", "execute",
           "play", "restart", "trace_said", "waits"]

_MORE = 0x400  # words after a program, for its results and the handler's
MEMORIES = (
    ((0, 1), (0, 1)),     # a RAM of its own
    ((0, 1), (1, 2)),     # and another one for data
    ((1, 1), (0, 3)),
    ((2, 3), (5, 4)),
    ((5, 21), (11, 41)),  # about as far as in the thesis: its fetch, its read of the neighbour
)
"""Of fetches and of accesses: most cycles until one is taken, and from there to its response."""
FAR = len(MEMORIES) - 1

Waits = Callable[[], tuple[int, int]]
"""Of a request: in how many cycles it is not taken, and how many later its response comes."""


class Memory:
    """A memory that takes its time.

    Parameters
    ----------
    words : list of int
        From address 0 on.
    fetches, accesses : Waits
        Of instructions, and of data.
    """

    def __init__(self, words: list[int], fetches: Waits, accesses: Waits) -> None:
        self.content = SharedMemory({4 * place: word for place, word in enumerate(words)})
        self._waits = {Fetch: fetches, CoreAccess: accesses}
        self._left: int | None = None  # of the request on offer
        self._answer = 0
        self._coming: tuple[int, Response] | None = None  # in how many cycles

    def _wait(self, request: Fetch | CoreAccess) -> tuple[int, int]:
        return self._waits[type(request)]()

    def cycle(self, request: Fetch | CoreAccess | None) -> tuple[bool, Response | None]:
        """Whether it takes the request on offer in this cycle, and its response in it."""
        response = None
        if self._coming is not None:
            left, answer = self._coming
            response = answer if left == 1 else None
            self._coming = None if left == 1 else (left - 1, answer)
        ready = False
        if request is not None:
            if self._left is None:
                self._left, self._answer = self._wait(request)
            ready = self._left == 0
            self._left = None if ready else self._left - 1
        if ready:
            if isinstance(request, Fetch):
                data = self.content.fetch(request.address)
            else:
                assert request is not None
                data = self.content.access(request)
            if isinstance(request, Fetch) or request.answered:
                self._coming = self._answer, Response(data or 0, data is None)
        return ready, response


class LatestMemory(Memory):
    """A memory of several regions, in which every request waits as long as it can.

    A write is taken so late that what it may add to later requests is spent, too. A read's wait is
    half before it is taken, half from there to its response.

    Parameters
    ----------
    words : mapping
        By address.
    regions : MemoryWaits
        How long.
    """

    def __init__(self, words: Mapping[int, int], regions: MemoryWaits) -> None:
        super().__init__([], lambda: (0, 1), lambda: (0, 1))
        self.content = SharedMemory(words)
        self._regions = regions

    def _wait(self, request: Fetch | CoreAccess) -> tuple[int, int]:
        most = self.most(request)
        if isinstance(request, CoreAccess) and not request.answered:
            return most, 1
        return most // 2, most - most // 2

    def most(self, request: Fetch | CoreAccess) -> int:
        """How long a request waits."""
        kind = AccessKind.FETCH
        if isinstance(request, CoreAccess):
            kind = ((AccessKind.STORE_CONDITIONAL if request.sync else AccessKind.WRITE)
                    if request.write else AccessKind.LOAD_LINKED if request.sync
                    else AccessKind.READ)
        return self._regions.most(kind, request.address, request.address)


def waits(rng: random.Random, taken: int, answer: int, *, latest: bool = False) -> Waits:
    """Up to so many cycles; often few, often all of them; with ``latest``, always."""
    def choose() -> tuple[int, int]:
        if latest:
            return taken, answer
        kind = rng.randrange(4)
        if kind == 0:
            return 0, 1
        if kind == 1:
            return taken, answer
        return rng.randint(0, taken), rng.randint(1, answer)

    return choose


async def play(bench: Bench, words: list[int], *, end: int, cycles: int = 50_000,
               fetch: tuple[int, int], access: tuple[int, int], latest: bool = False,
               lines: Iterator[int] | None = None) -> SharedMemory:
    """Run a program, until it has come to ``end`` or for so many cycles, and compare each of them.

    Parameters
    ----------
    words : list of int
        The program, from address 0 on.
    fetch, access : (int, int)
        Most cycles until a request is taken, and from there to its response.
    latest : bool
        All of them take as many.
    lines : iterator of int or None
        The interrupt lines, for each cycle.
    """
    rng = bench.rng
    memory = Memory(words + [0] * _MORE, waits(rng, *fetch, latest=latest),
                    waits(rng, *access, latest=latest))

    def most(kind: str, _: Fetch | CoreAccess | None) -> tuple[int, int]:
        return sum(fetch), {"load": sum(access), "store": access[0]}.get(kind, 0)

    await beside(bench, memory, end=end, cycles=cycles, most=most, lines=lines)
    return memory.content


async def beside(bench: Bench, memory: Memory, *, end: int, cycles: int,
                 most: Callable[[str, Fetch | CoreAccess | None], tuple[int, int]],
                 lines: Iterator[int] | None = None) -> dict[int, int]:
    """Run what is in a memory, as `play` does.

    ``most`` says what the next fetch and the access of an instruction wait at most, from its class
    and the request that it makes. Returns in which cycle the instruction at each address
    began on the core, the last time.
    """
    rng = bench.rng
    model = CoreModel(big_endian=bench.parameters["endian"] == "big", vector=HANDLER,
                      reset_address=bench.parameters.get("reset_address", 0))
    offset = {"vector": HANDLER}
    begins, at = bench.outputs["trace.begins"], bench.outputs["trace.pc"]
    began: dict[int, int] = {}
    shown = Shown()
    for cycle in range(cycles):
        if shown.begins:
            fetch_wait, data_wait = most(shown.kind, model.request)
            bench.declare("instruction", core_cycles=CLASSES[shown.kind](), data_wait=data_wait,
                          fetch_wait=fetch_wait)
        request = model.request
        ready, response = memory.cycle(request)
        if request is None:
            ready = rng.random() < 0.5
        now = next(lines) if lines is not None else 0
        seen = await bench.step(bench.inputs.pack({
            **offset, "interrupts": now, "request.ready": ready,
            "response.valid": response is not None,
            "response.payload.data": response.data if response else rng.getrandbits(32),
            "response.payload.error": response.error if response else rng.getrandbits(1)}))
        shown = model.step(ready=ready and request is not None, response=response, lines=now)
        expected, care = _expected(bench, request, shown)
        bench.check(seen, expected, care)
        if begins.of(seen):
            began[at.of(seen)] = cycle
        if shown.begins and shown.pc == end:
            break
    return began


def _expected(bench: Bench, request: Fetch | CoreAccess | None, shown: Shown) -> tuple[int, int]:
    """The outputs of a cycle, and which of them matter."""
    outputs = bench.outputs
    said = {"request.valid": int(request is not None), "response.ready": 1, **trace_said(shown)}
    lanes = 0
    if isinstance(request, Fetch):
        said |= {"request.payload.address": request.address, "request.payload.fetch": 1,
                 "request.payload.write": 0, "request.payload.sync": 0,
                 "request.payload.strobes": 15}
    elif request is not None:
        said |= {"request.payload.address": request.address, "request.payload.fetch": 0,
                 "request.payload.write": request.write, "request.payload.sync": request.sync,
                 "request.payload.strobes": request.strobes}
        if request.write:
            lanes = sum(255 << 8 * lane for lane in range(4) if request.strobes >> lane & 1)
            said["request.payload.data"] = request.data
    care = outputs.mask(said)
    if lanes:
        field = outputs["request.payload.data"]
        care = care & ~field.mask | field.to(lanes)
    return outputs.pack(said), care


def trace_said(shown: Shown) -> dict[str, int]:
    """The fields of the trace in a cycle that shows this, but for those that say nothing."""
    retired = shown.retired
    said = {"trace.begins": int(shown.begins), "trace.ends": int(retired is not None),
            "trace.exception": int(retired is not None and retired.exception is not None),
            "trace.register": retired.register if retired else 0}
    if retired and retired.register:
        said["trace.value"] = retired.value
    if shown.pc is not None:
        said["trace.pc"] = shown.pc
        if shown.instruction is not None:
            said["trace.instruction"] = shown.instruction
    return said


async def restart(bench: Bench) -> None:
    """Reset, after a cycle without a response, which would be there in the reset's first cycle."""
    bench.forget()
    await bench.step()
    await bench.reset()


async def execute(bench: Bench, *, units: int, memory: int, latest: bool = False,
                  exceptions: bool = False, odd: bool = False, lines: Iterator[int] | None = None
                  ) -> None:
    """A random program, from reset on, with one of the `MEMORIES`."""
    await restart(bench)
    program = random_program(bench.rng, units=units, exceptions=exceptions, odd=odd)
    fetch, access = MEMORIES[memory]
    await play(bench, program.words, end=program.end, fetch=fetch, access=access, lines=lines,
               latest=latest)


def _rare(rng: random.Random, chance: float) -> Iterator[int]:
    """Lines that rise and fall."""
    now = 0
    while True:
        if rng.random() < chance:
            now = rng.getrandbits(INTERRUPT_LINES) if rng.random() < 0.5 else 0
        yield now


@testbench
async def any_memory(bench: Bench) -> None:
    for memory in range(len(MEMORIES)):
        await execute(bench, units=50 if memory == FAR else 150, memory=memory)


@testbench
async def memory_at_its_latest(bench: Bench) -> None:
    for memory in range(len(MEMORIES)):
        await execute(bench, units=40 if memory == FAR else 80, memory=memory, latest=True,
                      exceptions=True)


@testbench
async def exceptions(bench: Bench) -> None:
    for memory in range(FAR):
        await execute(bench, units=120, memory=memory, exceptions=True, odd=True)


@testbench
async def interrupts(bench: Bench) -> None:
    for chance in (0.3, 0.02):
        for memory in range(FAR):
            await execute(bench, units=60, memory=memory, exceptions=True, odd=True,
                          lines=_rare(bench.rng, chance))


@testbench
async def a_store_is_fetched(bench: Bench) -> None:
    """A store to the next instruction, and to the one after it: both are executed as written."""
    text = """
        la $1, new
        lw $2, 0($1)
        sw $2, here($0)
here:   addiu $3, $0, 1
        sw $2, there($0)
        addiu $4, $3, 0
there:  addiu $3, $0, 1
        sw $3, 0x200($0)
end:    b end
        nop
new:    addiu $3, $0, 7
    """
    origin = bench.parameters.get("reset_address", 0)
    words = [0] * (origin // 4) + assemble(text, origin=origin)
    for fetch, access in MEMORIES:
        await restart(bench)
        content = await play(bench, words, end=4 * (len(words) - 3), fetch=fetch, access=access)
        bench.compare(content.words[0x200], 7, "what was stored")


@testbench
async def the_first_instruction_traps(bench: Bench) -> None:
    """What a reset leaves in the core shows in Cause and EPC, as in no random program's first
    instruction."""
    origin = bench.parameters.get("reset_address", 0)
    handler = assemble("""
        mfc0 $k0, $13           # Cause
        mfc0 $k1, $14           # EPC
end:    b end
        nop
    """, origin=HANDLER)
    for first in ("syscall", "break", "lw $1, 2($0)"):
        await restart(bench)
        words = [0] * (max(origin, HANDLER) // 4 + len(handler))
        words[HANDLER // 4:HANDLER // 4 + len(handler)] = handler
        words[origin // 4] = assemble(first, origin=origin)[0]
        fetch, access = MEMORIES[0]
        await play(bench, words, end=HANDLER + 8, cycles=100, fetch=fetch, access=access)


@testbench
async def long_programs(bench: Bench) -> None:
    for number in range(60):
        exceptional = bench.rng.random() < 0.5
        lines = _rare(bench.rng, bench.rng.choice((0.2, 0.01))) if exceptional else None
        await execute(bench, units=1200, memory=number % FAR, exceptions=exceptional,
                      odd=bench.rng.random() < 0.7, lines=lines)


@testbench
async def any_program(bench: Bench) -> None:
    program = random_program(bench.rng, units=150, exceptions=True, odd=True)
    fetch, access = MEMORIES[FAR - 1]
    await play(bench, program.words, end=program.end, fetch=fetch, access=access,
               lines=_rare(bench.rng, 0.02))


reset_in_mid_run = interrupted(any_program, longest=400, quiet=True)
