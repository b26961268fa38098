"""The longest time of an access, as the published analysis computes it.

Tiles of DRAM are simulated at the 4,096 word addresses from their buffer's first word on; the
longest of these issue delays counts. The addresses are simulated at once, in lanes
(`golden.dram.tile_lanes`), which is equal to one simulation for each. Other accesses have formulas.

Ref: Sim-D, section 5.3, Equations 15 and 16; what the paper leaves open is its authors' tool's.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from cyclebound.golden.bound import NotCovered
from cyclebound.golden.dram.bounds import eq15_tool, recovery
from cyclebound.golden.dram.index_bounds import rows_tool
from cyclebound.golden.dram.request import BURST_BYTES, BURST_WORDS, WORD_BYTES
from cyclebound.golden.dram.tile_lanes import Lines, issue_delays
from cyclebound.golden.dram.timing import Part
from cyclebound.golden.simd.isa import SCALAR_SPECIAL, Instruction, Kind
from cyclebound.golden.simd.machine import Grid
from cyclebound.golden.simd.memory_timing import scratchpad_cycles
from cyclebound.golden.simd.program import Program
from cyclebound.golden.simd.transfers import Access

__all__ = ["ADDRESSES", "AccessTimes", "Tile", "indexed_delay", "longest_of_addresses"]

ADDRESSES = 4096
"""Word addresses at which a tile is simulated."""

_LEAD = 2       # DRAM clocks to the first activate in the authors' model
_FORMULA = 3    # what its tool adds to a formula


@dataclass(frozen=True)
class Tile:
    """Lines of a buffer: ``words`` in each, ``period`` words apart, ``count`` of them."""

    words: int
    period: int
    count: int


@lru_cache(maxsize=4096)
def longest_of_addresses(part: Part, address: int, tile: Tile, write: bool, addresses: int) -> int:
    """The longest issue delay of a tile that begins at one of ``addresses`` words from ``address``.

    Rows do not matter to it, so that the addresses are moved to the first row of all banks.
    """
    sweep = part.bursts_per_sweep * BURST_WORDS
    first = address % sweep + np.arange(addresses, dtype=np.int64)
    return int(issue_delays(part, Lines(tile.words, tile.period, tile.count), first,
                            write=write).max())


def indexed_delay(part: Part, words: int, rows: int, write: bool) -> int:
    """Eq. 16 as the tool has it: activates count only where they take longer than nCCD_L."""
    if rows > part.banks:
        return words * (part.nRCD + recovery(part, 1) if write else part.nRAS + part.nRP)
    access = part.nRCD + (words - 1) * part.nCCD_L
    if rows > 1:
        access += max(part.nRRD_S - part.nCCD_L, 0)
    if rows > part.bank_groups:
        access += max(part.nRRD_L - 1 - part.nCCD_L, 0)
    return access + recovery(part, write)


class AccessTimes:
    """The worst case of each access of a kernel, in compute cycles.

    Parameters
    ----------
    program : Program
        The kernel.
    grid : Grid
        Its items and machine.
    part : Part
        The DRAM.
    """

    def __init__(self, program: Program, grid: Grid, part: Part) -> None:
        self._program, self._grid, self._part = program, grid, part
        self._known: dict[int, tuple[str, int]] = {}

    def cycles(self, clocks: int) -> int:
        """Compute cycles for so many DRAM clocks."""
        return -(-clocks * self._part.tck_ps // self._grid.machine.compute_ps)

    def load(self) -> int:
        """Compute cycles for loading the program: Eq. 15 for whole bursts, and the tool's 3."""
        bursts = -(-8 * len(self._program.instructions) // BURST_BYTES)
        return self.cycles(eq15_tool(part=self._part, bursts=bursts, write=0) + _FORMULA)

    def of(self, index: int) -> tuple[str, int]:
        """Resource (``dram`` or ``scratchpad``) and compute cycles of the access ``index``."""
        if index not in self._known:
            instruction = self._program.instructions[index]
            if instruction.operation.unit.value == "scratchpad":
                self._known[index] = "scratchpad", self.cycles(self._scratchpad(index, instruction))
            else:
                self._known[index] = "dram", self.cycles(self._dram(index, instruction))
        return self._known[index]

    # -- DRAM ----------------------------------------------------------------------------------

    def _dram(self, index: int, instruction: Instruction) -> int:
        part, name, write = self._part, instruction.name, instruction.operation.store
        number = instruction.operand("A")
        assert number is not None
        buffer = self._program.buffers[number.value]
        address = buffer.address // WORD_BYTES
        if name in ("ldgbidx", "stgbidx"):
            bursts = -(-buffer.words // BURST_WORDS) + 1
            return eq15_tool(part=part, bursts=bursts, write=int(write)) + 2 * _FORMULA
        if name in ("ldgidxit", "stgidxit"):
            rows = rows_tool(words=buffer.words)
            return indexed_delay(part, self._grid.machine.items, rows, write) + _FORMULA
        if name == "sldg":
            count = instruction.operand("B")
            words = 1 if count is None else count.value
            return _LEAD + longest_of_addresses(part, address, Tile(words, words, 1), False, 1)
        tile = self._tile(index, instruction, buffer.x, buffer.y)
        return _LEAD + longest_of_addresses(part, address, tile, write, ADDRESSES)

    def _tile(self, index: int, instruction: Instruction, x: int, y: int) -> Tile:
        grid, name = self._grid, instruction.name
        if name in ("ldglin", "stglin"):
            return Tile(min(grid.width * instruction.width, x), x, min(grid.height, grid.y))
        if name in ("ldg2sptile", "stg2sptile"):
            target = instruction.operand("D")
            assert target is not None
            pad = self._program.scratchpad_buffers[target.value]
            return Tile(min(pad.x, x), x, min(pad.y, y))
        words, period, count = (self._stride(index, register) for register in
                                ("sd_words", "sd_period", "sd_period_cnt"))
        if not 1 <= words <= period:
            raise NotCovered(f"{self._program.where(index)}: {count} lines of {words} words, "
                             f"{period} apart, are no tile")
        return Tile(words, period, count)

    def _stride(self, index: int, name: str) -> int:
        """The greatest value of a stride register: of all its writers' immediates and bounds."""
        number, strides = SCALAR_SPECIAL.index(name), [1]
        for place, instruction in enumerate(self._program.instructions):
            target, source = (instruction.operand("D"), instruction.operand("B"))
            if instruction.name != "smovssp" or target is None or target.value != number:
                continue
            assert source is not None
            if source.kind is Kind.IMMEDIATE:
                strides.append(source.value)
            elif place in self._program.values:
                strides.append(self._program.values[place])
            else:
                raise NotCovered(f"{self._program.where(place)}: {name} has no `#bound value`, and "
                                 f"{self._program.where(index)} needs it")
        return max(strides)

    # -- scratchpads -----------------------------------------------------------------------------

    def _scratchpad(self, index: int, instruction: Instruction) -> int:
        number = instruction.operand("A")
        assert number is not None
        pad = self._program.scratchpad_buffers[number.value]
        bus = self._grid.machine.scratchpad_bus
        if instruction.name in ("ldsplin", "stsplin"):
            tile = Access("scratchpad", instruction.operation.store, 0,
                          min(self._grid.width, pad.x), pad.x, min(self._grid.height, pad.y),
                          pad.words, lambda: None)
            return scratchpad_cycles(tile, bus)
        words = self._stride(index, "sd_words") if instruction.name == "sldsp" else pad.words
        return -(-words // bus) + 1
