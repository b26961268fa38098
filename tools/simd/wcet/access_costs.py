"""How long an access takes at most, over all work-groups of a grid and all contents of buffers.

A tile in DRAM has the issue delay of its address and shape, and of nothing else; so all tiles that
the work-groups of the grid can ask for are put through the arbiter's rules, and the longest counts.
Offsets are known, or are counted by a loop (`BoundedLoops.steps_of`), or may be anything: then
every place in the buffer is tried. Indexed requests have `indexed_issue_delay`, with a gap for each
lane that may be off. Scratchpads take a clock for each line of their bus.

Ref: Sim-D, sections 3.2 and 3.3; docs/simd_wcet.md.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from cyclebound.golden.dram.command_arbiter import schedule
from cyclebound.golden.dram.controller import INDEX_LEAD, LOOKUP, TILE_LEAD
from cyclebound.golden.dram.index_bounds import buffer_rows, indexed_issue_delay
from cyclebound.golden.dram.request import BURST_WORDS, WORD_BYTES, TileRequest
from cyclebound.golden.dram.stride_sequencer import bursts_of
from cyclebound.golden.dram.tile_lanes import Lines, issue_delays
from cyclebound.golden.dram.tile_search import run_delays
from cyclebound.golden.dram.timing import Part
from cyclebound.golden.simd.isa import SCALAR_SPECIAL, Kind, Unit
from cyclebound.golden.simd.machine import SCALARS, Grid, Place
from cyclebound.golden.simd.memory_timing import scratchpad_cycles
from cyclebound.golden.simd.program import Buffer
from cyclebound.golden.simd.transfers import Access
from cyclebound.tools.simd.wcet.graph import Node, WcetError
from cyclebound.tools.simd.wcet.loop_bounds import BoundedLoops
from cyclebound.tools.simd.wcet.scalars import Register

__all__ = ["AccessCost", "AccessCosts"]

_LOOKUP = LOOKUP - 1
_NO_INDEX = 6      # clocks of an indexed request besides its lanes, if no index is legal
_LANES = 512       # bursts of a 1D tile that are followed in lanes; longer ones, state by state
_EACH = 1200       # bursts up to which tiles are followed one by one, and not in lanes
_SHAPES = 1024     # shapes of one access that are followed
_SD = tuple(SCALAR_SPECIAL.index(name) for name in ("sd_words", "sd_period", "sd_period_cnt"))

Shape = tuple[int, int, int, int]
"""First word, words of a line, words from line to line, lines."""


@dataclass(frozen=True)
class AccessCost:
    """An access, in clocks of the DRAM.

    Attributes
    ----------
    resource : str
        ``dram`` or ``scratchpad``.
    delay : int
        From its first command, or start, to its end.
    lead : int
        From the commit to the first command, if nothing holds it up.
    """

    resource: str
    delay: int
    lead: int


class AccessCosts:
    """The cost of each access of a kernel.

    Parameters
    ----------
    loops : BoundedLoops
        The kernel, and what is known of its scalar registers.
    grid : Grid
        Its work-groups.
    part : Part
        The DRAM.
    places : sequence of Place
        The work-groups that the costs are to hold for.
    """

    def __init__(self, loops: BoundedLoops, grid: Grid, part: Part, places: Sequence[Place]
                 ) -> None:
        self._loops, self._grid, self._part = loops, grid, part
        self._graph, self._program = loops.graph, loops.graph.program
        self._places = places
        self._known: dict[object, AccessCost] = {}

    def cost(self, node: Node) -> AccessCost:
        """Of an access. Raises `WcetError` where its size cannot be told."""
        if node not in self._known:
            self._known[node] = self._cost(node)
        return self._known[node]

    def _cost(self, node: Node) -> AccessCost:
        instruction = self._graph.instruction(node)
        if instruction.operation.unit is Unit.SCRATCHPAD:
            return AccessCost("scratchpad", max(map(self._scratchpad, self._shapes(node))), 0)
        if "idxit" in instruction.name:
            return self._indexed(node)
        return AccessCost("dram", self._tiles(self._shapes(node), instruction.operation.store),
                          _LOOKUP + TILE_LEAD)

    # -- registers -------------------------------------------------------------------------------

    def _values(self, node: Node, register: Register) -> Callable[[Place], Iterable[int]] | None:
        """The signed values that a register may have before a node, by work-group."""
        values = self._loops.values

        def signed(value: int) -> int:
            return (value & 0xFFFF_FFFF ^ 0x8000_0000) - 0x8000_0000

        held = values.before(node).get(register)
        if held is not None:
            if isinstance(held, int):
                return lambda place: (signed(held),)
            return lambda place: (signed(values.evaluated(held, place)),)
        counted = self._loops.steps_of(node, register)
        if counted is None:
            return None
        first, step, times = counted
        return lambda place: {signed(values.evaluated(first, place) + round_ * step)
                              for round_ in range(times + 1)}

    def _offset(self, node: Node, field: str) -> Callable[[Place], Iterable[int]] | None:
        operand = self._graph.instruction(node).operand(field)
        if operand is None:
            return lambda place: (0,)
        if operand.kind is Kind.IMMEDIATE:
            return lambda place: (operand.value,)
        return self._values(node, ("s", operand.value))

    # -- shapes ----------------------------------------------------------------------------------

    def _shapes(self, node: Node) -> set[Shape]:
        """All tiles that an access may be, from its buffer's first word or DRAM's."""
        instruction, program = self._graph.instruction(node), self._program
        name = instruction.name
        operand = instruction.operand("D" if name == "stsplin" else "A")
        if name in ("ldsplin", "stsplin", "ldspbidx", "stspbidx", "sldsp"):
            operand = instruction.operand("A")
            buffers = program.scratchpad_buffers
        else:
            buffers = program.buffers
        assert operand is not None
        buffer = buffers[operand.value]
        if name in ("ldspbidx", "stspbidx", "ldgbidx", "stgbidx"):
            return {self._whole(buffer, buffer.words)}
        if name == "sldg":
            count = instruction.operand("B")
            return {self._whole(buffer, 1 if count is None else count.value)}
        if name == "sldsp":
            target = instruction.operand("D")
            assert target is not None
            words = self._values(node, ("sc", _SD[0])) or self._annotated(node, _SD[0])
            most = max(words(self._places[0])) if words else SCALARS
            return {self._whole(buffer, max(1, min(most, SCALARS - target.value)))}
        if "cidx" in name:
            return self._custom(node, buffer)
        return set(self._rectangles(node, buffer))

    @staticmethod
    def _whole(buffer: Buffer, words: int) -> Shape:
        return buffer.address // WORD_BYTES, words, words, 1

    def _annotated(self, node: Node, number: int) -> None:
        return None

    def _custom(self, node: Node, buffer: Buffer) -> set[Shape]:
        """A snoopy access to lines that the registers sd_* give."""
        parts = [self._values(node, ("sc", number)) for number in _SD]
        x, y = self._offset(node, "X"), self._offset(node, "Y")
        if None in (*parts, x, y):
            where = self._program.where(node.index)
            raise WcetError(f"{where}: the size of this access is not known: sd_words, sd_period, "
                            "sd_period_cnt and its offsets must follow from immediates, dimensions "
                            "and a work-group's place")
        found = set()
        for place in self._places:
            words, period, count = (set(part(place)) for part in parts if part is not None)
            for left in x(place) if x else ():
                for top in y(place) if y else ():
                    found |= {(buffer.address // WORD_BYTES + top * buffer.x + left, a, b, c)
                              for a in words for b in period for c in count
                              if 1 <= a <= b and c >= 1 and top * buffer.x + left >= 0}
        return found or {(buffer.address // WORD_BYTES, 0, 0, 0)}

    def _rectangles(self, node: Node, buffer: Buffer) -> Iterator[Shape]:
        """Rectangles of a buffer, clipped to it, for all work-groups and all offsets."""
        instruction, grid = self._graph.instruction(node), self._grid
        tile, scratchpad = "2sptile" in instruction.name, "splin" in instruction.name
        k = 1 if tile else instruction.width
        x, y = self._offset(node, "X"), self._offset(node, "Y")
        width, height = k * grid.width, grid.height
        if tile:
            chip = instruction.operand("D")
            assert chip is not None
            kept = self._program.scratchpad_buffers[chip.value]
            width, height = kept.x, kept.y
        asked = set()
        for place in self._places:
            beside = (0, 0) if tile or scratchpad else (place.x, place.y)
            lines = height if tile or scratchpad else min(height, grid.y - place.y)
            lefts = _anywhere(width, buffer.x, k) if x is None else \
                {(beside[0] + each) * k for each in x(place)}
            tops = _anywhere(lines, buffer.y, 1) if y is None else \
                {beside[1] + each for each in y(place)}
            asked.add((frozenset(lefts), frozenset(tops), lines))
        first = 0 if scratchpad else buffer.address // WORD_BYTES
        for lefts, tops, lines in asked:
            across = {(max(left, 0), min(left + width, buffer.x)) for left in lefts}
            down = {(max(top, 0), min(top + lines, buffer.y)) for top in tops}
            for left, right in across:
                for top, bottom in down:
                    yield (first + top * buffer.x + left, max(right - left, 0), buffer.x,
                           max(bottom - top, 0))

    # -- costs -----------------------------------------------------------------------------------

    def _scratchpad(self, shape: Shape) -> int:
        first, words, period, count = shape
        return scratchpad_cycles(Access("scratchpad", False, first, words, period, count, 0,
                                        lambda: None), self._grid.machine.scratchpad_bus)

    def _tiles(self, shapes: Iterable[Shape], write: bool) -> int:
        """The longest issue delay of tiles."""
        part = self._part
        firsts: dict[tuple[int, int, int], set[int]] = defaultdict(set)
        for first, words, period, count in shapes:
            if words < 1 or count < 1:
                continue
            if count == 1 or words == period:  # a run of whole bursts is the same to the arbiter
                begin = first - first % BURST_WORDS
                run = -(-(first + words * count - begin) // BURST_WORDS) * BURST_WORDS
                firsts[run, run, 1].add(_moved(part, begin, run))
            else:
                span = (count - 1) * period + words
                firsts[words, period, count].add(_moved(part, first, span))
        if len(firsts) > _SHAPES:
            raise WcetError(f"an access may have {len(firsts)} shapes, and at most {_SHAPES} are "
                            "followed: give it offsets that follow from immediates, dimensions and "
                            "a work-group's place")
        return max((_longest(part, *shape, write, tuple(sorted(found)))
                    for shape, found in firsts.items()), default=0)

    def _indexed(self, node: Node) -> AccessCost:
        """Index by index: all items are examined, and any of them may be active."""
        instruction = self._graph.instruction(node)
        operand = instruction.operand("A")
        assert operand is not None
        key = operand.value, instruction.operation.store
        if key not in self._known:
            grid, items, part = self._grid, self._grid.machine.items, self._part
            lanes = max(min(grid.width, grid.x - place.x) * min(grid.height, grid.y - place.y)
                        for place in self._places)
            rows = buffer_rows(part=part, words=self._program.buffers[operand.value].words)
            longest = _longest_indexed(part, rows, key[1], items, lanes)
            self._known[key] = AccessCost("dram", max(longest, items + _NO_INDEX - INDEX_LEAD),
                                          _LOOKUP + INDEX_LEAD)
        return self._known[key]


@cache
def _longest_indexed(part: Part, rows: int, write: bool, items: int, lanes: int) -> int:
    """The longest issue delay of a request index by index, if any of ``lanes`` items are active; a
    lane that is off is a clock without a burst."""
    return max(indexed_issue_delay(part=part, bursts=active, rows=rows, write=int(write),
                                   starved=items - active) for active in range(1, lanes + 1))


def _moved(part: Part, first: int, span: int) -> int:
    """A first word with the same issue delay: rows do not matter, nor in which pair of banks a
    tile begins that does not run over the last bank (`tile_search.first_words`)."""
    sweep, pair = (BURST_WORDS * bursts for bursts in (part.bursts_per_sweep,
                                                       2 * part.bursts_per_row))
    first %= sweep
    return first % pair if first + span <= sweep else first


@cache
def _longest(part: Part, words: int, period: int, count: int, write: bool,
             firsts: tuple[int, ...]) -> int:
    """The longest issue delay of tiles of one shape."""
    bursts = count * (words // BURST_WORDS + 1)
    if count == 1 and bursts > _LANES:
        return int(run_delays(part, bursts=words // BURST_WORDS, write=write,
                              firsts=np.array(firsts) // BURST_WORDS).max())
    if bursts * len(firsts) <= _EACH:
        return max(schedule(part, [each.address for each in bursts_of(
            TileRequest(first, words, period, count))], write=write).issue_delay
            for first in firsts)
    return int(issue_delays(part, Lines(words, period, count), np.array(firsts, dtype=np.int64),
                            write=write).max())


def _anywhere(size: int, room: int, unit: int) -> set[int]:
    """First columns, or lines, of tiles that have a word in the buffer."""
    low = -((size - 1) // unit) * unit
    return set(range(low, room, unit))
