"""Cores of a SHMAC grid on the functional model, stopped and let go one by one.

Rounds pass while a core that has a debugger goes. In them, the cores without one go, too, and those
that are stopped stand still. So a run depends on nothing but the debuggers' commands.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from cyclebound.golden.noc.routes import Tile
from cyclebound.golden.shmac.address_map import BOOT_WORDS, boot_stub
from cyclebound.golden.shmac.machine import CoreAccess, Machine, MemoryPort
from cyclebound.golden.shmac.system import System

__all__ = ["COUNT", "PC", "Debugged", "Debugger", "Stop"]

PC = 37
"""Number of the program counter among a MIPS core's registers, as GDB numbers them."""
COUNT = 38
"""General registers, Status, LO, HI, BadVAddr, Cause, PC; those after them there are not."""
_OTHERS = ("status", "lo", "hi", "bad_address", "cause")
_MASK = 0xFFFF_FFFF


@dataclass(frozen=True)
class Stop:
    """Why a core stands.

    Attributes
    ----------
    why : str
        ``step``, ``breakpoint``, ``watch``, ``rwatch``, ``awatch``, ``interrupt`` or ``exit``.
    value : int
        The address that was watched, or the exit status.
    """

    why: str
    value: int = 0


class _WatchedError(Exception):
    """An access that touches watched bytes, before it is made."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(stop)
        self.stop = stop


class _Port:
    """The port of a core, at which accesses to watched bytes are stopped."""

    def __init__(self, port: MemoryPort, machine: Machine) -> None:
        self._port, self._machine = port, machine
        self.watches: set[tuple[str, int, int]] = set()  # kind, first byte, bytes
        self.passes = False  # let the next access pass

    def fetch(self, address: int) -> int | None:
        return self._port.fetch(address)

    def access(self, access: CoreAccess) -> int | None:
        if self.watches and not self.passes:
            touched = {access.address + (3 - lane if self._machine.big_endian else lane)
                       for lane in range(4) if access.strobes >> lane & 1}
            for kind, first, size in sorted(self.watches):
                if touched & set(range(first, first + size)) and kind in (
                        "awatch", "watch" if access.write else "rwatch"):
                    raise _WatchedError(Stop(kind, first))
        return self._port.access(access)


@dataclass
class Debugged:
    """A core with a debugger.

    Attributes
    ----------
    breakpoints : set of int
        Addresses at which it stops. At one that is watched it stops, too, before it executes the
        load or store, as GDB expects of MIPS.
    goes, steps : bool
        It is let go; for one instruction.
    stop : Stop
        Why it stands; of one that goes, why it stood.
    """

    machine: Machine
    port: _Port
    breakpoints: set[int] = field(default_factory=set)
    goes: bool = False
    steps: bool = False
    stop: Stop = field(default_factory=lambda: Stop("step"))
    fresh: bool = False  # neither breakpoint nor watchpoint stops its next instruction

    def go(self, *, step: bool = False) -> None:
        """Let it go."""
        self.goes, self.steps, self.fresh = True, step, True

    def halt(self, stop: Stop) -> None:
        """Stop it."""
        self.goes, self.stop = False, stop


class Debugger:
    """A grid, some of whose cores have debuggers.

    Parameters
    ----------
    system : System
        Whose cores have been started.
    tiles : iterable of (row, column)
        Of the cores with a debugger. They stand before their first instruction.

    Attributes
    ----------
    cores : dict of Debugged
    """

    def __init__(self, system: System, tiles: Iterable[Tile]) -> None:
        self.system = system
        self.cores: dict[Tile, Debugged] = {}
        for tile in tiles:
            machine = system.cores[tile].machine
            port = _Port(system.ports[tile], machine)
            system.ports[tile] = port
            self.cores[tile] = Debugged(machine, port)

    @property
    def goes(self) -> bool:
        """Whether some core with a debugger goes."""
        return any(core.goes for core in self.cores.values())

    def detach(self, tile: Tile) -> None:
        """From now on, this core has no debugger."""
        self.cores.pop(tile).port.watches.clear()

    def run(self, rounds: int) -> None:
        """So many rounds, or until no core with a debugger goes."""
        system = self.system
        last = system.clock + rounds
        while system.clock < last and self.goes:
            for tile in system.running:
                core = self.cores.get(tile)
                if core is None:
                    system.step(tile)
                elif core.goes:
                    self._step(tile, core)
            system.clock += 1

    def _step(self, tile: Tile, core: Debugged) -> None:
        if core.machine.pc in core.breakpoints and not core.fresh:
            core.halt(Stop("breakpoint"))
            return
        core.port.passes, core.fresh = core.fresh, False
        before = {**vars(core.machine), "registers": [*core.machine.registers]} \
            if core.port.watches else {}
        try:
            self.system.step(tile)
        except _WatchedError as watched:  # the instruction has not been executed
            vars(core.machine).update(before)
            core.halt(watched.stop)
            return
        state = self.system.cores[tile]
        if not state.running:
            core.halt(Stop("exit", state.status or 0))
        elif core.steps:
            core.halt(Stop("step"))

    def registers(self, tile: Tile) -> list[int]:
        """The registers of a core, `COUNT` of them."""
        machine = self.cores[tile].machine
        return [*machine.registers, *(getattr(machine, name) for name in _OTHERS), machine.pc]

    def set_register(self, tile: Tile, number: int, value: int) -> bool:
        """Write a register; whether there is one that can be written."""
        machine = self.cores[tile].machine
        if 0 < number < 32:
            machine.registers[number] = value & _MASK
        elif number == PC:  # what is there is in no delay slot
            machine.pc, machine.next_pc = value & _MASK, value + 4 & _MASK
            machine.in_slot = False
        elif number and number - 32 in range(len(_OTHERS)):
            setattr(machine, _OTHERS[number - 32], value & _MASK)
        else:
            return number == 0
        return True

    def _word(self, tile: Tile, address: int) -> int | None:
        if address < 4 * BOOT_WORDS and tile not in self.system.jump:
            return boot_stub(*tile)[address // 4]
        return self.system.word(address)

    def read(self, tile: Tile, address: int, size: int) -> bytes:
        """Bytes of memories and of the bootstrap, as a core sees them; up to where there are none.
        Registers of devices are not read: some of them change when they are."""
        order = "big" if self.system.big_endian else "little"
        found = bytearray()
        for word in range(address & ~3, address + size, 4):
            content = self._word(tile, word) if word <= _MASK else None
            if content is None:
                break
            found += content.to_bytes(4, order)  # type: ignore[arg-type]
        return bytes(found[address % 4:address % 4 + size])

    def write(self, tile: Tile, address: int, content: bytes) -> bool:
        """Write into memories, as a core sees them; whether all of it has a place there, else none
        is written. A word that a core has reserved (LL) is so no longer."""
        system, order = self.system, "big" if self.system.big_endian else "little"
        end = address + len(content)
        words = range(address & ~3, end, 4)
        hidden = 0 if tile in system.jump else 4 * BOOT_WORDS  # by its bootstrap
        if end > 1 << 32 or any(word < hidden or system.word(word) is None for word in words):
            return False
        new = {}
        for word in words:
            kept = bytearray((system.word(word) or 0).to_bytes(4, order))  # type: ignore[arg-type]
            for place in range(4):
                if address <= word + place < end:
                    kept[place] = content[word + place - address]
            new[word] = int.from_bytes(kept, order)  # type: ignore[arg-type]
        system.load(new)
        system.unreserve(new)
        return True
