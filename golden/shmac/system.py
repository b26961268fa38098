"""Functional model of a SHMAC grid: what its programs compute, without any timing.

Ref: SHMAC thesis, 2.3, 3.2.2, 5.2. Every core executes whole instructions, each of which is over
before the next one of any core begins: one instruction of each core that runs is a *round*, in the
order of the tiles, or by a random generator in any order. The clock counts rounds. So it is no
cycle count of any hardware, and a posted store has arrived before the next instruction.

The state is open: `System.memories` are the words of the tiles, `System.cores` the machines. A
testbench may compare both with what hardware made of them.
"""

import random
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from cyclebound.golden.shmac.address_map import (
    BOOT_WORDS,
    FAILED_LINE,
    LOCAL_BITS,
    MOST_FAILED,
    RAISED_LINE,
    SYSTEM_BASE,
    VECTOR_OFFSET,
    SystemRegister,
    boot_stub,
    tile_base,
    tile_of,
)
from cyclebound.golden.shmac.layout import Kind, Layout
from cyclebound.golden.shmac.machine import CoreAccess, Machine, MemoryPort

__all__ = ["DEFAULT_RAM", "CoreState", "System"]

Tile = tuple[int, int]

DEFAULT_RAM = 1 << 16
"""Bytes of a tile's memory; the thesis' have all 2^24."""

_MASK = 0xFFFF_FFFF
_LOCAL = (1 << LOCAL_BITS) - 1
_BOOT_END = 4 * BOOT_WORDS
_BYTES = tuple(sum(255 << 8 * lane for lane in range(4) if strobes >> lane & 1)
               for strobes in range(16))


@dataclass
class CoreState:
    """A core and its system registers.

    Attributes
    ----------
    machine : Machine
        Registers, and the next instruction.
    running : bool
        It was started, and has not ended.
    status : int or None
        What the program wrote into EXIT.
    instructions : int
        That were executed, with exceptions that were taken instead.
    exceptions : int
        How many of them.
    failed : int
        Posted writes that failed, since FAILED was last written.
    console : bytearray
        All that was written.
    raised : bool
        A core has raised this one's interrupt line, which has not been lowered.
    """

    machine: Machine
    running: bool = False
    status: int | None = None
    instructions: int = 0
    exceptions: int = 0
    failed: int = 0
    console: bytearray = field(default_factory=bytearray)
    raised: bool = False

    def tell(self) -> None:
        """Set the core's interrupt lines, as its registers say."""
        self.machine.lines = self.raised << RAISED_LINE | (self.failed > 0) << FAILED_LINE


class System:
    """A grid of tiles, an instruction at a time.

    Parameters
    ----------
    layout : Layout
        The kinds of the tiles.
    big_endian : bool
        Byte order of all cores.
    ram : mapping
        Bytes of tiles' memories; others have `DEFAULT_RAM`.
    jump : collection of tiles
        Cores whose first instructions are tile (0, 0)'s and not their system registers'.
    console : callable, optional
        Called with a tile and a byte for each character that its program, or a UART, writes.

    Attributes
    ----------
    memories : dict of array
        Words of the tiles that have RAM.
    cores : dict of CoreState
        Of the tiles that have a core.
    reserved : dict
        Of a tile with an LL/SC unit and a core: the word that the core has reserved there.
    sent : dict of bytearray
        What the UARTs sent.
    received : dict of deque
        Bytes that the UARTs are to receive.
    clock : int
        Rounds since the beginning.
    ports : dict of MemoryPort
        What the accesses of each core do.
    """

    def __init__(self, layout: Layout, *, big_endian: bool = True,
                 ram: Mapping[Tile, int] | None = None, jump: Iterable[Tile] = (),
                 console: Callable[[Tile, int], None] | None = None) -> None:
        self.layout, self.big_endian = layout, big_endian
        self.jump = frozenset(jump)
        self.console = console
        sizes = ram or {}
        self.memories = {tile: array("I", bytes(sizes.get(tile, DEFAULT_RAM)))
                         for tile in layout.tiles() if _kind(layout, tile).has_memory}
        self.cores = {tile: CoreState(Machine(
            big_endian=big_endian, vector=tile_base(*tile) + VECTOR_OFFSET))
            for tile in layout.tiles(Kind.CORE)}
        self.reserved: dict[tuple[Tile, Tile], int] = {}
        self.sent = {tile: bytearray() for tile in layout.tiles(Kind.UART)}
        self.received: dict[Tile, deque[int]] = {tile: deque() for tile in self.sent}
        self.clock = 0
        self.ports: dict[Tile, MemoryPort] = {tile: _Port(self, tile) for tile in self.cores}

    def load(self, words: Mapping[int, int]) -> None:
        """Put words into the memories. Raises `ValueError` for an address without memory."""
        for address, word in words.items():
            memory = self.memories.get(tile_of(address))
            index = (address & _LOCAL) >> 2
            if memory is None or address % 4 or index >= len(memory):
                raise ValueError(f"there is no memory at {address:#x}")
            memory[index] = word & _MASK

    def unreserve(self, addresses: Iterable[int]) -> None:
        """These words have been written: no core has reserved them any longer."""
        words = {(tile_of(address), address & _LOCAL) for address in addresses}
        self.reserved = {who: word for who, word in self.reserved.items()
                         if (who[0], word) not in words}

    def start(self, tile: Tile) -> None:
        """From now on, the core of this tile runs, from its bootstrap on."""
        self.cores[tile].running = True

    @property
    def running(self) -> list[Tile]:
        """Tiles whose cores run."""
        return [tile for tile, core in self.cores.items() if core.running]

    def step(self, tile: Tile) -> None:
        """One instruction of this tile's core."""
        core = self.cores[tile]
        retired = core.machine.step(self.ports[tile])
        core.instructions += 1
        if retired.exception is not None:
            core.exceptions += 1

    def run(self, rounds: int, *, rng: random.Random | None = None) -> bool:
        """So many rounds, or until all programs have ended: whether they have.

        Parameters
        ----------
        rng : random.Random, optional
            In each round, which cores execute an instruction, in which order: as many as run, and
            some may come twice.
        """
        last = self.clock + rounds
        while self.clock < last and (running := self.running):
            if rng is None:
                self._in_order(running, last)
                continue
            for tile in rng.choices(running, k=len(running)):
                if self.cores[tile].running:
                    self.step(tile)
            self.clock += 1
        return not self.running

    def _in_order(self, tiles: list[Tile], last: int) -> None:
        """Rounds of these cores, until one of them ends."""
        turns = [(self.cores[tile], self.cores[tile].machine.step, self.ports[tile])
                 for tile in tiles]
        ended = False
        while not ended and self.clock < last:
            for core, step, port in turns:
                retired = step(port)
                core.instructions += 1
                if retired[4] is not None:
                    core.exceptions += 1
                ended |= not core.running
            self.clock += 1

    def word(self, address: int) -> int | None:
        """The word at an address in a tile's memory; None: there is none."""
        memory, index = self.memories.get(tile_of(address)), (address & _LOCAL) >> 2
        return memory[index] if memory is not None and index < len(memory) else None


def _kind(layout: Layout, tile: Tile) -> Kind:
    kind = layout.kind(tile)
    assert kind is not None
    return kind


class _Port:
    """What a core's accesses do: a `cyclebound.golden.shmac.machine.MemoryPort`."""

    def __init__(self, system: System, tile: Tile) -> None:
        self._system, self._tile = system, tile
        self._own = tile_base(*tile)
        self._memory = system.memories[tile]
        self._size = 4 * len(self._memory)
        self._first = _BOOT_END if tile == (0, 0) else 0  # the bootstrap hides what is before
        self._boot = None if tile in system.jump else boot_stub(*tile)

    def fetch(self, address: int) -> int | None:
        """The word at this address; None: nothing answers there."""
        at = address - self._own
        if self._first <= at < self._size:
            return self._memory[at >> 2]
        return self._read(address, False)

    def access(self, access: CoreAccess) -> int | None:
        """Make an access; the response's data, or None for an error. A plain write that fails is
        counted."""
        address, strobes, write, sync, data = access
        at = address - self._own
        if self._first <= at < self._size and not sync:
            if not write:
                return self._memory[at >> 2]
            if strobes == 15:
                self._memory[at >> 2] = data
            else:
                mask = _BYTES[strobes]
                self._memory[at >> 2] = self._memory[at >> 2] & ~mask | data & mask
            return 1
        if not write:
            return self._read(address, sync)
        done = self._write(access)
        if done is None and not sync:
            core = self._system.cores[self._tile]
            core.failed = min(core.failed + 1, MOST_FAILED)
            core.tell()
        return done

    def _read(self, address: int, sync: bool) -> int | None:
        if address >= SYSTEM_BASE:
            return None if sync else self._register(address)
        if address < _BOOT_END and self._boot is not None:
            return None if sync else self._boot[address >> 2]
        system, tile, at = self._system, tile_of(address), address & _LOCAL
        kind = system.layout.kind(tile)
        if kind is None or (sync and kind is not Kind.LOCKS):
            return None
        if kind.has_memory:
            memory = system.memories[tile]
            if at >= 4 * len(memory):
                return None
            if sync:
                system.reserved[tile, self._tile] = at
            return memory[at >> 2]
        if kind is Kind.JUMP and at < _BOOT_END:
            return boot_stub(*self._tile)[at >> 2]
        if kind is Kind.CLOCK and at == 0:
            return system.clock & _MASK
        if kind is Kind.UART and at == 0:
            waiting = system.received[tile]
            return waiting.popleft() if waiting else _MASK
        return None

    def _register(self, address: int) -> int | None:
        """Read a system register."""
        if address == SystemRegister.CLOCK:
            return self._system.clock & _MASK
        if address == SystemRegister.TILE:
            return self._tile[0] << 4 | self._tile[1]
        if address == SystemRegister.FAILED:
            return self._system.cores[self._tile].failed
        if address == SystemRegister.RAISED:
            return int(self._system.cores[self._tile].raised)
        return None

    def _write(self, access: CoreAccess) -> int | None:
        address, strobes, _, sync, data = access
        if address >= SYSTEM_BASE:
            return None if sync else self._set_register(address, strobes, data)
        if address < _BOOT_END and self._boot is not None:
            return None
        system, tile, at = self._system, tile_of(address), address & _LOCAL
        kind = system.layout.kind(tile)
        if kind is None or (sync and kind is not Kind.LOCKS):
            return None
        if kind is Kind.UART and at == 0:
            system.sent[tile].append(data & 255)
            if system.console is not None:
                system.console(tile, data & 255)
            return 1
        if not kind.has_memory or at >= 4 * len(system.memories[tile]):
            return None
        if kind is Kind.LOCKS:
            if sync and system.reserved.pop((tile, self._tile), None) != at:
                return 0
            for who in [who for who, word in system.reserved.items()
                        if who[0] == tile and word == at]:
                del system.reserved[who]
        memory, mask = system.memories[tile], _BYTES[strobes]
        memory[at >> 2] = memory[at >> 2] & ~mask | data & mask
        return 1

    def _set_register(self, address: int, strobes: int, data: int) -> int | None:
        """Write a system register, which takes whole words."""
        core = self._system.cores[self._tile]
        if strobes != 15:
            return None
        if address == SystemRegister.EXIT:
            core.status, core.running = data, False
        elif address == SystemRegister.CONSOLE:
            core.console.append(data & 255)
            if self._system.console is not None:
                self._system.console(self._tile, data & 255)
        elif address == SystemRegister.FAILED:
            core.failed = 0
            core.tell()
        elif address == SystemRegister.RAISED:
            core.raised = False
            core.tell()
        elif address == SystemRegister.RAISE:
            other = self._system.cores.get((data >> 4 & 15, data & 15))
            if other is None:
                return None
            other.raised = True
            other.tell()
        else:
            return None
        return 1
