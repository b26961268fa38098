"""Golden model of SHMAC's tile with a core, cycle by cycle.

Ref: SHMAC thesis, 2.3, 5.1 (router bypass), 5.2 (system registers); docs/shmac.md
says what is decided where it is silent.

A request of the core is answered at one of four places:

- *system*: a register of the tile (`cyclebound.golden.shmac.address_map`), for words only;
- *local*: the tile's own RAM, if the router is bypassed;
- *absent*: the address belongs to no tile of the grid;
- *network*: everything else, the tile's own RAM without the bypass among it.

The first three take a request in the first cycle in which it is on offer and answer in the next
one. A request to the network is on offer to it in the same cycles, and its response reaches the
core in the cycle in which the network offers it.
"""

from cyclebound.golden.noc.routes import Tile
from cyclebound.golden.shmac.address_map import (
    BOOT_WORDS,
    FAILED_LINE,
    MOST_FAILED,
    RAISED_LINE,
    SYSTEM_BASE,
    SystemRegister,
    boot_stub,
    tile_base,
    tile_of,
)
from cyclebound.golden.shmac.core import CoreModel, Fetch, Response, Shown
from cyclebound.golden.shmac.machine import CoreAccess
from cyclebound.golden.shmac.packet import RequestPacket, ResponsePacket
from cyclebound.golden.shmac.ram import RamModel, merge

__all__ = ["TileModel"]

_MASK = 0xFFFF_FFFF


class TileModel:
    """A core, its RAM and its system registers.

    Parameters
    ----------
    position : (row, column)
        Where it is.
    shape : (int, int)
        Rows and columns of the grid.
    words : int
        Of the RAM.
    big_endian, bypass, jump : bool
        Byte order; whether the tile's own RAM is reached without the network; whether the first
        four words are tile (0, 0)'s instead of the bootstrap among the system registers.

    Attributes
    ----------
    core : CoreModel
    ram : RamModel
    clock : int
        Cycles since the core was let run.
    failed, raised, exited, status, console
        System registers; ``console`` is a character in the cycle after it was written.
    """

    def __init__(self, *, position: Tile, shape: tuple[int, int], words: int,
                 big_endian: bool = True, bypass: bool = True, jump: bool = False) -> None:
        base = tile_base(*position)
        self.core = CoreModel(big_endian=big_endian, vector=base + 0x80)
        self.ram = RamModel(words, raises=True)
        self._position, self._shape, self._bypass = position, shape, bypass
        self._boot_end = 0 if jump else 4 * BOOT_WORDS
        self.clock = self.failed = self.status = 0
        self.raised = self.exited = False
        self.console: int | None = None
        self._response: Response | None = None  # to the core, of this tile

    def place(self, request: Fetch | CoreAccess) -> str:
        """Who answers: "system", "local", "absent" or "network"."""
        address = request.address
        if (isinstance(request, CoreAccess) and address == SystemRegister.RAISE
                and self._whole(request)):
            there = request.data >> 4 & 15, request.data & 15
            return "network" if self._in_grid(there) else "absent"
        if address < self._boot_end or address >= SYSTEM_BASE:
            return "system"
        if not self._in_grid(tile_of(address)):
            return "absent"
        return "local" if self._bypass and tile_of(address) == self._position else "network"

    def _in_grid(self, tile: Tile) -> bool:
        return tile[0] < self._shape[0] and tile[1] < self._shape[1]

    @staticmethod
    def _whole(access: CoreAccess) -> bool:
        return access.write and not access.sync and access.strobes == 15

    def offer(self, run: bool) -> RequestPacket | None:
        """The request on offer to the network in this cycle."""
        request = self.core.request
        if request is None or not run or self.exited or self.place(request) != "network":
            return None
        if isinstance(request, Fetch):
            return RequestPacket(initiator=self._position, target=tile_of(request.address),
                                 address=request.address & 0xFF_FFFF, strobes=15)
        if request.address == SystemRegister.RAISE:
            return RequestPacket(write=True, interrupt=True, initiator=self._position,
                                 target=(request.data >> 4 & 15, request.data & 15))
        return RequestPacket(write=request.write, sync=request.sync, initiator=self._position,
                             target=tile_of(request.address), address=request.address & 0xFF_FFFF,
                             strobes=request.strobes, data=request.data)

    def uses_ram(self, run: bool) -> tuple[bool, bool]:
        """Whether the core reads and writes the RAM in this cycle."""
        request = self.core.request
        if request is None or not run or self.exited or self.place(request) != "local":
            return False, False
        writes = isinstance(request, CoreAccess) and request.write
        return not writes, writes

    def ready(self, request: RequestPacket, *, run: bool, passed: bool) -> bool:
        """Whether the RAM takes a request of the network in this cycle."""
        reads, writes = self.uses_ram(run)
        return self.ram.ready(request, passed=passed, reads=reads, writes=writes)

    def step(self, *, run: bool, taken: bool = False, response: ResponsePacket | None = None,
             request: RequestPacket | None = None, passed: bool = False) -> Shown:
        """One cycle.

        Parameters
        ----------
        run : bool
            The core may go on; low from reset until its program is in the RAM.
        taken : bool
            The network takes the request on offer.
        response : ResponsePacket or None
            What the network hands over.
        request : RequestPacket or None
            What the network offers to the RAM.
        passed : bool
            The network takes the RAM's response, if one is on offer.
        """
        takes = request is not None and self.ready(request, run=run, passed=passed)
        asked = self.core.request if run and not self.exited else None
        place = "" if asked is None else self.place(asked)
        answer, lines = self._response, self.raised << RAISED_LINE | (
            self.failed > 0) << FAILED_LINE
        failures = 0
        if response is not None:
            if response.write:
                failures += 1
            else:
                answer = Response(response.data, response.error)
        self._response = self.console = None
        raises = False
        if takes and request is not None and not request.write:  # before the core writes
            raises = self.ram.step(request, passed=passed)
        clears_failed = clears_raised = exits = False
        if place == "local":
            assert asked is not None
            self._response = self._local(asked)
        elif place == "absent":
            self._response = Response(0, True)
        elif place == "system":
            assert asked is not None
            self._response = self._system(asked)
            if isinstance(asked, CoreAccess) and self._whole(asked):
                clears_failed = asked.address == SystemRegister.FAILED
                clears_raised = asked.address == SystemRegister.RAISED
                exits = asked.address == SystemRegister.EXIT
                if exits:
                    self.status = asked.data
                if asked.address == SystemRegister.CONSOLE:
                    self.console = asked.data & 255
        if isinstance(asked, CoreAccess) and not asked.answered:  # posted
            failures += self._response is not None and self._response.error
            self._response = None
        if request is None or not takes or request.write:  # after the core has read
            raises = self.ram.step(request if takes else None, passed=passed)
        self.raised = raises or (self.raised and not clears_raised)
        self.failed = min(MOST_FAILED, (0 if clears_failed else self.failed) + failures)
        self.clock = self.clock + 1 & _MASK if run else 0
        shown = self.core.step(ready=place not in ("", "network") or (place == "network" and taken),
                               response=answer, lines=lines)
        self.exited |= exits
        return shown

    def _local(self, asked: Fetch | CoreAccess) -> Response:
        place = (asked.address & 0xFF_FFFF) // 4
        if place >= len(self.ram.content) or (isinstance(asked, CoreAccess) and asked.sync):
            return Response(0, True)
        if isinstance(asked, CoreAccess) and asked.write:
            self.ram.content[place] = merge(self.ram.content[place], asked.data, asked.strobes)
            return Response()
        return Response(self.ram.content[place])

    def _system(self, asked: Fetch | CoreAccess) -> Response:
        """What a register answers: an error unless a whole word is read or written."""
        address = asked.address
        if isinstance(asked, CoreAccess) and (asked.strobes != 15 or asked.sync):
            return Response(0, True)
        if isinstance(asked, CoreAccess) and asked.write:
            return Response(0, address not in (SystemRegister.EXIT, SystemRegister.CONSOLE,
                                               SystemRegister.FAILED, SystemRegister.RAISED))
        if address < 4 * BOOT_WORDS:
            return Response(boot_stub(*self._position)[address // 4])
        values = {SystemRegister.CLOCK: self.clock, SystemRegister.FAILED: self.failed,
                  SystemRegister.TILE: self._position[0] << 4 | self._position[1],
                  SystemRegister.RAISED: self.raised}
        return Response(int(values.get(address, 0)), address not in values)  # type: ignore
