"""Testbench of SHMAC's tile with a core: its program comes through the network, then both work.

The core runs random programs whose loads and stores go to its own RAM or to another tile's, which
the testbench plays; at the same time the network reads and writes the tile's RAM. Model and
hardware are compared in every cycle and at every port.
"""

import itertools
import random
from collections import deque

from cyclebound.golden.shmac.address_map import (
    VECTOR_OFFSET,
    SystemRegister,
    tile_base,
    tile_of,
)
from cyclebound.golden.shmac.core import Shown
from cyclebound.golden.shmac.core_bounds import CLASSES, instruction
from cyclebound.golden.shmac.machine import CoreAccess
from cyclebound.golden.shmac.memory import SharedMemory
from cyclebound.golden.shmac.packet import RequestPacket, ResponsePacket
from cyclebound.golden.shmac.tile import TileModel
from cyclebound.golden.shmac.tile_bounds import LOCAL_WAIT, LOCAL_WRITE_WAIT
from cyclebound.tb.bench import Bench, interrupted, testbench
from cyclebound.tb.shmac.core import trace_said
from cyclebound.tools.shmac.assembler import assemble
from cyclebound.tools.shmac.random_programs import DATA, random_program

__all__ = ["Network", "TileBench", "packet_said"]

_FREE = 0x6000  # from here to `DATA`, memory that no program uses


def packet_said(prefix: str, packet: RequestPacket | ResponsePacket) -> dict[str, int]:
    """A packet's fields at a port."""
    said: dict[str, int] = {}
    for name, value in vars(packet).items():
        if isinstance(value, tuple):
            said[f"{prefix}.{name}.row"], said[f"{prefix}.{name}.column"] = value
        else:
            said[f"{prefix}.{name}"] = int(value)
    return said


class Network:
    """What the rest of the grid does to a tile.

    Parameters
    ----------
    rng : random.Random
    position : (row, column)
        Of the tile: what its core sends there comes back to it.
    wait : int
        Most cycles until it takes a request, until it answers one, and until it takes a response.
    traffic : float
        Chance that it asks something of the tile's RAM in a cycle.
    words : int
        Of the tile's RAM.
    interrupts : float
        Chance that this is an interrupt.
    latest : bool
        It always takes as long.
    """

    def __init__(self, rng: random.Random, *, position: tuple[int, int], wait: int,
                 traffic: float, words: int, interrupts: float = 0, latest: bool = False
                 ) -> None:
        self._rng, self.wait, self._traffic, self._words = rng, wait, traffic, words
        self._position = position
        self._interrupts, self._latest = interrupts, latest
        self.others = SharedMemory({})
        self.load: deque[RequestPacket] = deque()  # what comes before any traffic
        self.asked: RequestPacket | None = None    # on offer to the RAM
        self._coming: deque[tuple[int, ResponsePacket]] = deque()
        self._cycle = 0
        self._takes_at: int | None = None   # the request on offer
        self._passes_at: int | None = None  # the response on offer

    def cycle(self, offer: RequestPacket | None, answer: ResponsePacket | None
              ) -> tuple[bool, ResponsePacket | None, bool]:
        """Whether it takes the core's offer, what it hands over, whether it takes the answer."""
        self._cycle += 1
        now, chance = self._cycle, self._rng.random
        taken = passed = False
        if offer is None:
            taken = chance() < 0.5
        else:
            if self._takes_at is None:
                self._takes_at = now + self._waits()
            if now >= self._takes_at:
                taken, self._takes_at = True, None
                self._serve(offer)
        if answer is None:
            passed = chance() < 0.5
        else:
            if self._passes_at is None:
                self._passes_at = now + self._waits()
            if now >= self._passes_at:
                passed, self._passes_at = True, None
                if answer.initiator == self._position:
                    self._comes(answer)
        response = None
        if self._coming and self._coming[0][0] <= now:
            response = self._coming.popleft()[1]
        if self.asked is None:
            if self.load:
                self.asked = self.load.popleft()
            elif chance() < self._traffic:
                self.asked = self._any()
        return taken, response, passed

    def _waits(self) -> int:
        return self.wait if self._latest else self._rng.randint(0, self.wait)

    def _serve(self, offer: RequestPacket) -> None:
        """Another tile's memory; where it has none, an error."""
        if offer.target == self._position:
            self.load.append(offer)
            return
        address = tile_base(*offer.target) | offer.address
        answer = None if offer.interrupt else self.others.access(
            CoreAccess(address, offer.strobes, offer.write, offer.sync, offer.data))
        if offer.answered or answer is None:
            self._comes(ResponsePacket(not offer.answered, answer is None, offer.initiator,
                                       offer.target, answer or 0))

    def _comes(self, response: ResponsePacket) -> None:
        before = self._coming[-1][0] if self._coming else 0
        self._coming.append((max(before, self._cycle) + 1 + self._waits(),
                             response))

    def _any(self) -> RequestPacket:
        rng, kind = self._rng, self._rng.random()
        initiator = 15 - self._position[0], rng.randrange(16)  # another one
        strobes, data = rng.randrange(16), rng.getrandbits(32)
        if rng.random() < self._interrupts:
            return RequestPacket(write=True, interrupt=True, initiator=initiator, data=data)
        if kind < 0.1:  # beyond the RAM, or LL and SC, which it does not have
            place = rng.randrange(self._words, 1 << 22)
            return RequestPacket(rng.random() < 0.5, False, rng.random() < 0.5, initiator,
                                 address=4 * place, strobes=strobes, data=data)
        if kind < 0.5:
            return RequestPacket(write=True, initiator=initiator, strobes=strobes, data=data,
                                 address=rng.randrange(_FREE, DATA) & ~3)
        return RequestPacket(initiator=initiator, strobes=strobes, data=data,
                             address=4 * rng.choice((rng.randrange(self._words), DATA // 4)))


class TileBench:
    """A tile in simulation beside its model, and the network around it."""

    def __init__(self, bench: Bench, *, position: tuple[int, int]) -> None:
        self.bench, self.position = bench, position
        self.parameters = bench.parameters
        self._content: list[int] = []  # of the RAM, which no reset changes
        self._constant = {"position.row": position[0], "position.column": position[1]}
        self._said_last: tuple[int, ...] | None = None

    async def restart(self, network: Network) -> None:
        """Reset."""
        parameters = self.parameters
        self.network, self._said_last = network, None
        self.bench.forget()
        await self.bench.reset()
        if not self._content:
            await self._clear()
        self.model = TileModel(
            position=self.position, shape=(parameters["rows"], parameters["columns"]),
            words=parameters["words"], big_endian=parameters["endian"] == "big",
            bypass=parameters["bypass"])
        self.model.ram.content = self._content
        self.bench.declare("ram_access", stall=network.wait, core=int(parameters["bypass"]))

    async def _clear(self) -> None:
        """Write 0 everywhere: what earlier tests left is not known."""
        fields = {**self._constant, "accesses.valid": 1}
        await self.bench.play([self.bench.inputs.pack({**fields, **packet_said(
            "accesses.payload", RequestPacket(write=True, address=4 * place, strobes=15))})
            for place in range(self.parameters["words"])])
        self._content = [0] * self.parameters["words"]

    async def load(self, words: dict[int, int]) -> None:
        """A program, word by word through the network, while the core waits."""
        self.network.load.extend(
            RequestPacket(write=True, address=4 * place, strobes=15, data=word,
                          target=self.position) for place, word in words.items())
        while self.network.load or self.network.asked:
            await self.cycle(run=False)

    async def cycle(self, *, run: bool = True) -> Shown:
        """One cycle, compared."""
        bench, model, network = self.bench, self.model, self.network
        offer, answer = model.offer(run), model.ram.response
        taken, response, passed = network.cycle(offer, answer)
        asked = network.asked
        inputs = {**self._constant, "run": int(run), "requests.ready": int(taken),
                  "answers.ready": int(passed), "responses.valid": int(response is not None),
                  "accesses.valid": int(asked is not None)}
        if response is not None:
            inputs |= packet_said("responses.payload", response)
        if asked is not None:
            inputs |= packet_said("accesses.payload", asked)
        said = {"requests.valid": int(offer is not None), "responses.ready": 1,
                "answers.valid": int(answer is not None), "exited": int(model.exited),
                "console.valid": int(model.console is not None)}
        if offer is not None:
            said |= packet_said("requests.payload", offer)
            if not offer.write:
                del said["requests.payload.data"]
        if answer is not None:
            said |= packet_said("answers.payload", answer)
            if answer.error:
                del said["answers.payload.data"]
        if model.console is not None:
            said["console.character"] = model.console
        if model.exited:
            said["status"] = model.status
        if asked is not None:
            accepted = model.ready(asked, run=run, passed=passed)
            said["accesses.ready"] = int(accepted)
        seen = await bench.step(bench.inputs.pack(inputs))
        shown = model.step(run=run, taken=taken, response=response, request=asked, passed=passed)
        expected = {**said, **trace_said(shown)}
        care = bench.outputs.mask(expected)
        if offer is not None and offer.write:  # bytes without a strobe have any value
            field = bench.outputs["requests.payload.data"]
            lanes = sum(255 << 8 * lane for lane in range(4) if offer.strobes >> lane & 1)
            care = care & ~field.mask | field.to(lanes)
        bench.check(seen, bench.outputs.pack(expected), care)
        if asked is not None and accepted:
            network.asked = None
        if shown.begins:
            self._declare(shown)
        return shown

    def _declare(self, shown: Shown) -> None:
        """What the instruction that has begun is allowed to wait, by where its access goes."""
        wait, access = self.network.wait, self.model.core.access
        # to another tile, and through the network to this one, behind two of its own requests
        there, back = 2 * wait + 1, 3 * wait + 2 + 3 * (wait + 2)
        fetched, data = LOCAL_WAIT if self.parameters["bypass"] else back, 0
        if access is not None:
            if self.model.place(access) == "network":
                data = there if access.answered else wait
                if tile_of(access.address) == self.position:  # back to this tile's RAM
                    data = back if access.answered else wait
            else:
                data = LOCAL_WAIT if access.answered else LOCAL_WRITE_WAIT
            if access.address == SystemRegister.EXIT:  # there is no next instruction
                self.bench.undeclare("instruction")
                self._said_last = None
                return
        saying = CLASSES[shown.kind](), data, fetched
        if saying != self._said_last:
            self.bench.declare("instruction", core_cycles=saying[0], data_wait=saying[1],
                               fetch_wait=saying[2])
            self._said_last = saying


async def _runs(tile: TileBench, *, units: int, remote: bool, wait: int, traffic: float,
                exceptions: bool = False, latest: bool = False) -> None:
    """A random program, from reset on; with ``remote``, its data are in another tile."""
    bench = tile.bench
    rng, words = bench.rng, bench.parameters["words"]
    there = tile_base(0, 1) if remote else 0
    program = random_program(rng, units=units, exceptions=exceptions, odd=True, data=there + DATA)
    network = Network(rng, position=tile.position, wait=wait, traffic=traffic, words=words,
                      interrupts=0.02 * exceptions, latest=latest)
    await tile.restart(network)
    await tile.load({place: word for place, word in enumerate(program.words[:words])
                     if word or tile._content[place]})
    data = program.words[DATA // 4:] + [0] * 0x100
    network.others.words = {there + DATA + 4 * place: word for place, word in enumerate(data)
                            if place % 19 != 3}  # where there is none, accesses fail
    for _ in range(rng.randrange(3)):
        await tile.cycle(run=False)
    # with exceptions, it may be interrupted for ever: nothing lowers the lines
    for _ in range(3_000 if exceptions else 60_000):
        shown = await tile.cycle()
        if shown.begins and shown.pc == program.end:
            return
    if not exceptions:
        raise AssertionError("the program does not end")


@testbench
async def local_programs(bench: Bench) -> None:
    tile = TileBench(bench, position=(0, 0))
    for wait, traffic, latest in ((0, 0.9, False), (3, 0.9, True), (3, 0.5, False)):
        await _runs(tile, units=80, remote=False, wait=wait, traffic=traffic, latest=latest)


@testbench
async def remote_programs(bench: Bench) -> None:
    tile = TileBench(bench, position=(0, 0))
    for wait, traffic, latest in ((0, 0.9, False), (3, 0.9, True), (3, 0.3, False),
                                  (11, 0.9, True), (11, 0.1, False)):
        await _runs(tile, units=50, remote=True, wait=wait, traffic=traffic, latest=latest)


@testbench
async def exceptions(bench: Bench) -> None:
    tile = TileBench(bench, position=(0, 0))
    for remote, wait in itertools.product((False, True), (0, 3)):
        await _runs(tile, units=60, remote=remote, wait=wait, traffic=0.4, exceptions=True)


_REGISTERS = """
        lw    $1, {TILE}($0)        # what it is
        sb    $1, {CONSOLE}($0)     # refused: words only
        sw    $1, {CONSOLE}($0)
        lw    $2, {CLOCK}($0)
        lw    $3, {CLOCK}($0)
        subu  $3, $3, $2
        sw    $3, {CONSOLE}($0)
        sw    $2, {CLOCK}($0)       # refused
        lui   $4, 0xdead
        sw    $4, 0($4)             # no such tile
        li    $5, {other:#x}
        li    $10, 8
again:  sw    $4, 0x400($5)         # nothing there; its failure comes while the core waits for
        lw    $7, 0x20($5)          # this, or before
        addiu $10, $10, -1
        bgtz  $10, again
        nop
        lw    $8, {FAILED}($0)
        sw    $8, {CONSOLE}($0)
        sw    $0, {FAILED}($0)
        lw    $8, {FAILED}($0)
        sw    $8, {CONSOLE}($0)
        sw    $1, {RAISE}($0)       # its own line
        li    $9, 200
wait:   addiu $9, $9, -1
        bgtz  $9, wait
        nop
        lw    $9, {RAISED}($0)
        sw    $9, {CONSOLE}($0)
        sw    $0, {RAISED}($0)
        lw    $9, {RAISED}($0)
        sw    $9, {CONSOLE}($0)
        li    $4, {absent:#x}
        sw    $4, {RAISE}($0)       # no such tile, if one is missing
        lw    $8, {FAILED}($0)
        sw    $8, {CONSOLE}($0)
        lui   $4, 0x0f00
        lw    $5, 0($4)             # a row that is there, a column that is not
        lui   $4, {own:#x}
        lui   $5, 0x10
        addu  $4, $4, $5
        lw    $11, 0($4)            # beyond the own RAM
        sw    $4, 0($4)
        lw    $8, {FAILED}($0)
        sw    $8, {CONSOLE}($0)
        sw    $12, {CONSOLE}($0)    # exceptions
        li    $10, 0x1234
        sw    $10, {EXIT}($0)
        sw    $0, {CONSOLE}($0)     # never
"""


@testbench
async def system_registers(bench: Bench) -> None:
    """Each register, refused accesses, failed writes, an interrupt to itself, and the end."""
    position = bench.parameters["rows"] - 1, bench.parameters["columns"] - 1
    tile = TileBench(bench, position=position)
    base, number = tile_base(*position), position[0] << 4 | position[1]
    rows, columns = bench.parameters["rows"], bench.parameters["columns"]
    other = (0, 0) if position != (0, 0) else (rows - 1, columns - 1)
    missing = rows < 16 or columns < 16
    absent = 0xF0 if rows < 16 else 0x0F if columns < 16 else number
    text = _REGISTERS.format(
        other=tile_base(*other), own=base >> 16, absent=0xFF00 | absent,
        **{register.name: register - (1 << 32) for register in SystemRegister})
    handler = assemble("mfc0 $k0, $14\naddiu $12, $12, 1\naddiu $k0, $k0, 4\njr $k0\nrfe",
                       origin=base + VECTOR_OFFSET)
    for wait in (0, 3, 11, 11, 11):
        network = Network(bench.rng, position=position, wait=wait, traffic=0,
                          words=bench.parameters["words"])
        await tile.restart(network)
        network.others.words = {tile_base(*other) + 0x20: 7}
        words = {**dict(enumerate(assemble(f"j {base + 0x100:#x}\nli $12, 0", origin=base))),
                 **dict(enumerate(handler, VECTOR_OFFSET // 4)),
                 **dict(enumerate(assemble(text, origin=base + 0x100), 0x100 // 4))}
        await tile.load(words)
        said = []
        while not tile.model.exited:
            await tile.cycle()
            if tile.model.console is not None:
                said.append(tile.model.console)
        for _ in range(50):
            await tile.cycle()
        # one instruction's time, of a load within the tile
        passed = instruction(core_cycles=CLASSES["load"](), fetch_wait=LOCAL_WAIT,
                             data_wait=LOCAL_WAIT)
        if bench.parameters["bypass"]:
            bench.compare(said[1], passed, "cycles of a load")
        bench.compare([said[0], *said[2:]], [number, 11, 0, 1, 0, missing, missing + 1, 2],
                      "what the registers held")
        bench.compare(tile.model.status, 0x1234, "its end")


@testbench
async def interrupts_and_lowering(bench: Bench) -> None:
    """The core lowers its line again and again, while others raise it."""
    tile = TileBench(bench, position=(0, 1))
    base = tile_base(0, 1)
    network = Network(bench.rng, position=(0, 1), wait=0, traffic=0.3, interrupts=1,
                      words=bench.parameters["words"])
    await tile.restart(network)
    lower = int(SystemRegister.RAISED) - (1 << 32)
    await tile.load(dict(enumerate(assemble(
        f"again: sw $0, {lower}($0)\nlw $1, {lower}($0)\nb again\nnop", origin=base))))
    for _ in range(800):
        await tile.cycle()


@testbench
async def any_program(bench: Bench) -> None:
    await _runs(TileBench(bench, position=(0, 0)), units=60, remote=True, wait=3, traffic=0.3,
                exceptions=True)


reset_in_mid_run = interrupted(any_program, longest=400, quiet=True)
