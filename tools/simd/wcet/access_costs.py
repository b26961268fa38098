"""How long an access takes at most, over all work-groups of a grid and all contents of buffers.

A tile in DRAM has the issue delay of its address and shape, and of nothing else; so all tiles that
the work-groups of the grid can ask for are put through the arbiter's rules, and the longest counts.
Offsets are known, or are counted by a loop (`BoundedLoops.steps_of`), or may be anything: then
every place in the buffer is tried. Indexed requests whose indexes are known are followed
(`FollowedIndexes`); others have `indexed_issue_delay`, with a gap for each lane that may be off.
Scratchpads take a clock for each line of their bus.

Ref: Sim-D, sections 3.2 and 3.3; docs/simd_wcet.md.
"""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from cyclebound.golden.dram.controller import INDEX_LEAD, LOOKUP, TILE_LEAD
from cyclebound.golden.dram.index_bounds import indexed_issue_delay, rows_of
from cyclebound.golden.dram.request import BURST_WORDS, WORD_BYTES
from cyclebound.golden.dram.timing import Part
from cyclebound.golden.simd.isa import SCALAR_SPECIAL, Kind, Unit
from cyclebound.golden.simd.machine import SCALARS, Grid, Place
from cyclebound.golden.simd.memory_timing import scratchpad_cycles
from cyclebound.golden.simd.program import Buffer
from cyclebound.golden.simd.transfers import (
    Access,
    Fault,
    check_few,
    check_own_lines,
    lines,
)
from cyclebound.tools.simd.wcet.followed_indexes import FollowedIndexes
from cyclebound.tools.simd.wcet.graph import Node, WcetError
from cyclebound.tools.simd.wcet.loop_bounds import BoundedLoops
from cyclebound.tools.simd.wcet.places import Places
from cyclebound.tools.simd.wcet.scalars import Register, offsets_of
from cyclebound.tools.simd.wcet.tile_delays import MOST_SHAPES, Asked, Tile, TileDelays

__all__ = ["AccessCost", "AccessCosts"]

_LOOKUP = LOOKUP - 1
_FEW = 256         # tiles that are told apart by their addresses
_MOST_PLACES = 4096  # columns or lines of work-groups in which an access is looked at for its edge
_MOST_STEPS = 1 << 16  # values that a loop counts to, one by one
_MOST_CUTS = 3     # of the columns, and of the lines
_NO_INDEX = 5      # clocks of an indexed request besides its lanes, if no index is legal
_SD = tuple(SCALAR_SPECIAL.index(name) for name in ("sd_words", "sd_period", "sd_period_cnt"))


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
        From when it is with its memory to the first command, if nothing holds it up.
    least : int
        No less than this lies between the end of the access before and its own.
    """

    resource: str
    delay: int
    lead: int
    least: int = 0


class _Values(NamedTuple):
    """The signed values that a register may have, by work-group, and the offsets of a work-group
    that they depend on. ``unit``: they are (offset + constant) * unit of one offset; 0: else."""

    of: Callable[[Place], Iterable[int]]
    offsets: frozenset[str] = frozenset()
    unit: int = 0

    def over(self, places: Places) -> set[int]:
        """All of them."""
        return {value for place in places.along(self.offsets).each() for value in self.of(place)}

    def met(self, places: Places, size: int, room: int) -> set[int]:
        """All of them from which on ``size`` words or lines have one below ``room``, and one of the
        others, if there are any: a grid may be a million times larger than the buffer."""
        if not self.unit:
            return self.over(places)
        firsts = places.lefts if self.offsets == {"wg_off_x"} else places.tops
        found = set[int]()
        for value in self.of(Place(0, 0, 0)):
            begin = firsts.start + value // self.unit
            low = -(-((1 - size) // self.unit - begin) // firsts.step)
            high = -(-(-(-room // self.unit) - begin) // firsts.step)
            inside = firsts[max(0, low):max(0, high)]
            found.update(first * self.unit + value for first in inside)
            if len(inside) < len(firsts):
                found.add(room)
        return found


class _Placed(NamedTuple):
    """Rectangles: first columns and first lines, words in a line and lines before they are clipped;
    whether one of the offsets may be ``anywhere``."""

    columns: _Values
    lines: _Values
    width: int
    height: int
    anywhere: bool


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
    places : Places
        The work-groups that the costs are to hold for, all of one kind.
    delays : TileDelays
        The part's.
    followed : FollowedIndexes
        Requests index by index whose indexes are known.
    """

    def __init__(self, loops: BoundedLoops, grid: Grid, part: Part, places: Places,
                 delays: TileDelays, followed: FollowedIndexes) -> None:
        self._loops, self._grid, self._part = loops, grid, part
        self._graph, self._program = loops.graph, loops.graph.program
        self._places = places
        self._delays, self._followed = delays, followed
        self._asked: dict[Node, list[Asked]] = {}

    def ask(self, node: Node) -> None:
        """Note the tiles that an access may be, so that they are followed with others'.

        Raises `WcetError` where its size cannot be told.
        """
        instruction = self._graph.instruction(node)
        if instruction.operation.unit is Unit.SCRATCHPAD or "idxit" in instruction.name:
            return
        pitch = self._pitch(node)

        def split(tile: Tile) -> bool:
            return self._grid.machine.line_by_line and Access(
                "dram", False, *tile, limit=0, move=lambda: None, pitch=pitch or tile[2]).split

        asked = self._delays.ask(self._shapes(node), instruction.operation.store, split)
        shapes = len({shape for runs in asked for shape, _ in runs})
        if shapes > MOST_SHAPES:
            raise WcetError(f"{self._program.where(node.at)}: this access may have {shapes} "
                            f"shapes, and at most {MOST_SHAPES} are followed: its offsets should "
                            "follow from immediates, dimensions and a work-group's place")
        self._asked[node] = asked

    def cost(self, node: Node) -> AccessCost:
        """The cost of an access. Raises `WcetError` where its size cannot be determined."""
        instruction = self._graph.instruction(node)
        if instruction.operation.unit is Unit.SCRATCHPAD:
            return AccessCost("scratchpad", max(self._scratchpad(node, shape)
                                                for shape in self._shapes(node)), 0)
        if "idxit" in instruction.name:
            return self._indexed(node)
        if node not in self._asked:
            self.ask(node)
        least, most = self._delays.ends(self._asked[node])
        # One that moves nothing is over a clock after the request before it at the earliest.
        return AccessCost("dram", max(most, 1), _LOOKUP + TILE_LEAD, least)

    def fault(self, node: Node) -> str | None:
        """Why hardware refuses an access of each of these work-groups; None: it may take one."""
        instruction, said = self._graph.instruction(node), None
        name, scratchpad = instruction.name, instruction.operation.unit is Unit.SCRATCHPAD
        if not ("cidx" in name or "bidx" in name or name == "sldsp"):
            return None
        operand, target = instruction.operand("A"), instruction.operand("D")
        assert operand is not None
        buffers = self._program.scratchpad_buffers if scratchpad else self._program.buffers
        buffer, resource = buffers[operand.value], "scratchpad" if scratchpad else "dram"
        if "bidx" in name:
            asked = [(0, 0, buffer.words, buffer.words, 1)]
        else:
            known = [*(self._values(node, ("sc", number)) for number in _SD),
                     self._offset(node, "X"), self._offset(node, "Y")]
            words, period, count, x, y = known
            if name == "sldsp":
                period, count = words, _Values(lambda place: (1,))
            if words is None or period is None or count is None or x is None or y is None:
                return None
            values = x, y, words, period, count
            offsets = frozenset[str]().union(*(each.offsets for each in values))
            asked = [(left, top, a, b, c) for place in self._places.along(offsets).each()
                     for left, top, a, b, c in itertools.product(*(
                         set(each.of(place)) for each in values))]
        for left, top, a, b, c in asked:
            try:
                if name == "sldsp" and target is not None:
                    check_few(buffer, left, top, a, target.value)
                elif "cidx" in name and self._grid.machine.line_by_line:
                    check_own_lines(buffer, left, top, a, b, c)
                lines(resource, False, buffer, top * buffer.x + left, a, b, c, lambda: None)
                return None
            except Fault as fault:
                said = str(fault)
        return said

    # -- registers -------------------------------------------------------------------------------

    def _values(self, node: Node, register: Register) -> _Values | None:
        """The values that a register may have before a node."""
        values = self._loops.values

        def signed(value: int) -> int:
            return (value & 0xFFFF_FFFF ^ 0x8000_0000) - 0x8000_0000

        held = values.before(node).get(register)
        if held is not None:
            if isinstance(held, int):
                return _Values(lambda place: (signed(held),))
            return _Values(lambda place: (signed(values.evaluated(held, place)),),
                           offsets_of(held))
        counted = self._loops.steps_of(node, register)
        if counted is None or len(counted[2]) > _MOST_STEPS:
            return None
        first, step, times = counted
        return _Values(lambda place: {signed(values.evaluated(first, place) + round_ * step)
                                      for round_ in times}, offsets_of(first))

    def _offset(self, node: Node, field: str) -> _Values | None:
        operand = self._graph.instruction(node).operand(field)
        if operand is None:
            return _Values(lambda place: (0,))
        if operand.kind is Kind.IMMEDIATE:
            return _Values(lambda place: (operand.value,))
        return self._values(node, ("s", operand.value))

    # -- shapes ----------------------------------------------------------------------------------

    def _shapes(self, node: Node) -> set[Tile]:
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
            words = 1 if count is None else count.value
            if self._grid.machine.line_by_line and words > buffer.x:  # it reads whole lines
                return {(buffer.address // WORD_BYTES, buffer.x, buffer.x, -(-words // buffer.x))}
            return {self._whole(buffer, words)}
        if name == "sldsp":
            target = instruction.operand("D")
            assert target is not None
            known = self._values(node, ("sc", _SD[0]))
            most = max(known.over(self._places)) if known else self._annotated(_SD[0])
            return {self._whole(buffer, max(1, min(most, SCALARS - target.value)))}
        if "cidx" in name:
            return self._custom(node, buffer)
        return set(self._rectangles(node, buffer))

    def _pitch(self, node: Node) -> int | None:
        """Words from a tile's line to the next on the chip; None: as in its buffer."""
        instruction = self._graph.instruction(node)
        if "2sptile" in instruction.name:
            chip = instruction.operand("D")
            assert chip is not None
            return self._program.scratchpad_buffers[chip.value].x
        linear = "glin" in instruction.name or "splin" in instruction.name
        return instruction.width * self._grid.width if linear else None

    @staticmethod
    def _whole(buffer: Buffer, words: int) -> Tile:
        return buffer.address // WORD_BYTES, words, words, 1

    def _annotated(self, number: int) -> int:
        """The greatest value that a register sd_* may have, by ``#bound value``; what fits into the
        registers if one of its writers has none."""
        most = [1]
        for node in self._graph.after:
            target = self._graph.instruction(node).operand("D")
            if target is not None and (target.kind, target.value) == (Kind.SCALAR_SPECIAL, number):
                source = self._graph.instruction(node).operand("B")
                said = self._program.values.get(node.at)
                known = source is not None and source.kind is Kind.IMMEDIATE
                most.append(source.value if known and source is not None else said or SCALARS)
        return max(most)

    def _custom(self, node: Node, buffer: Buffer) -> set[Tile]:
        """A snoopy access to lines that the registers sd_* give: to those that hardware takes, for
        which a run goes on."""
        parts = [self._values(node, ("sc", number)) or self._ranged(number) for number in _SD]
        x, y = self._offset(node, "X"), self._offset(node, "Y")
        where = self._program.where(node.at)
        if None in (*parts, x, y):
            raise WcetError(f"{where}: the size of this access is not known: sd_words, sd_period, "
                            "sd_period_cnt and its offsets must follow from immediates, dimensions "
                            "and a work-group's place; of a register sd_*, #bound value may say "
                            "what is the greatest")
        found, own_lines = set[Tile](), self._grid.machine.line_by_line
        known = [part for part in (*parts, x, y) if part is not None]
        offsets = frozenset[str]().union(*(part.offsets for part in known))
        for place in self._places.along(offsets).each():
            words, period, count, lefts, tops = (set(part.of(place)) for part in known)
            if own_lines and len(period) > 1 and 1 in count:  # of one line it does not matter
                period = period & {buffer.x} | {max(period)}
            elif own_lines and len(period) > 1:
                period = period & {buffer.x}
            if len(words) * len(period) * len(count) > _MOST_STEPS:
                raise WcetError(f"{where}: this access may have {len(words)} x {len(period)} x "
                                f"{len(count)} shapes: a #bound value of its registers sd_* should "
                                "be less")
            for left, top in itertools.product(lefts, tops):
                first = top * buffer.x + left
                if own_lines and len(words) * len(period) * len(count) > 1:
                    shapes = _own_lines(buffer, left, top, words, period, count)
                else:
                    shapes = itertools.product(words, period, count)
                room = buffer.words - first if len(words) * len(period) * len(count) > 1 else None
                found |= {(buffer.address // WORD_BYTES + first, a, b, c) for a, b, c in shapes
                          if 1 <= a <= b and c >= 1 and first >= 0
                          and (room is None or (c - 1) * b + a <= room)}
        return found or {(buffer.address // WORD_BYTES, 0, 0, 0)}

    def _ranged(self, number: int) -> _Values | None:
        """Up to the greatest that any writer of a register sd_* may write; None: that is not
        said of one of them."""
        most = 1
        for node in self._graph.after:
            target = self._graph.instruction(node).operand("D")
            if target is None or (target.kind, target.value) != (Kind.SCALAR_SPECIAL, number):
                continue
            source = self._graph.instruction(node).operand("B")
            said = self._program.values.get(node.at)
            if source is not None and source.kind is Kind.IMMEDIATE:
                said = source.value
            elif source is not None and said is None:
                held = self._loops.values.before(node).get(("s", source.value))
                said = held if isinstance(held, int) else None
            if said is None:
                return None
            most = max(most, said)
        return _Values(lambda place: range(1, most + 1)) if most <= _MOST_STEPS else None

    def _placed(self, node: Node, buffer: Buffer) -> _Placed:
        """Where the rectangles of an access lie that is neither indexed nor a run of words."""
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
        lines = height if tile or scratchpad else min(height, grid.y - self._places.first.y)
        columns_of = _Values(lambda place: _anywhere(width, buffer.x, k)) if x is None else x
        lines_of = _Values(lambda place: _anywhere(lines, buffer.y, 1)) if y is None else y
        if x is not None:
            columns_of = _Values(lambda place: {value * k for value in x.of(place)}, x.offsets)
            if not tile and not scratchpad:
                columns_of = _Values(lambda place: {(place.x + value) * k for value in x.of(place)},
                                     x.offsets | {"wg_off_x"}, 0 if x.offsets else k)
        if y is not None and not tile and not scratchpad:
            lines_of = _Values(lambda place: {place.y + value for value in y.of(place)},
                               y.offsets | {"wg_off_y"}, 0 if y.offsets else 1)
        return _Placed(columns_of, lines_of, width, lines, x is None or y is None)

    def _rectangles(self, node: Node, buffer: Buffer) -> Iterator[Tile]:
        """Rectangles of a buffer, clipped to it, for all work-groups and all offsets."""
        columns_of, lines_of, width, lines, anywhere = self._placed(node, buffer)
        # Columns of one offset and lines of the other: each comes with each.
        asked: set[tuple[frozenset[int], frozenset[int]]]
        if not columns_of.offsets & lines_of.offsets:
            asked = {(frozenset(columns_of.met(self._places, width, buffer.x)),
                      frozenset(lines_of.met(self._places, lines, buffer.y)))}
        else:
            asked = {(frozenset(columns_of.of(place)), frozenset(lines_of.of(place)))
                     for place in self._places.along(
                         columns_of.offsets | lines_of.offsets).each()}
        first = 0 if "splin" in self._graph.instruction(node).name else buffer.address // WORD_BYTES
        if anywhere:  # it may lie beyond the buffer, and is empty then
            yield first, 0, buffer.x, 0
        for at_x, at_y in asked:
            across = _by_size((max(left, 0), min(left + width, buffer.x)) for left in at_x)
            down = _by_size((max(top, 0), min(top + lines, buffer.y)) for top in at_y)
            for words, columns in across.items():
                for count, rows in down.items():
                    for start in self._starts(columns, [row * buffer.x for row in rows]):
                        yield first + start, words, buffer.x, count

    def empty_from(self, nodes: Iterable[Node]) -> tuple[set[int], set[int]]:
        """Columns and lines of the grid at which work-groups begin for which an access is empty
        that was not for those before, or the other way round, because it lies beyond an edge of its
        buffer in DRAM; none, if there were more than a few."""
        found: tuple[set[int], set[int]] = set(), set()
        grid = self._grid
        whole = Places(range(0, grid.x, grid.width), range(0, grid.y, grid.height), grid.across)
        for node in nodes:
            instruction = self._graph.instruction(node)
            operand = instruction.operand("A")
            if operand is None or not ("glin" in instruction.name
                                       or "2sptile" in instruction.name):
                continue
            buffer = self._program.buffers[operand.value]
            placed = self._placed(node, buffer)
            for cuts, values, offset, size, room in (
                    (found[0], placed.columns, "wg_off_x", placed.width, buffer.x),
                    (found[1], placed.lines, "wg_off_y", placed.height, buffer.y)):
                along = whole.along(values.offsets)
                if values.offsets != {offset} or not 1 < along.total <= _MOST_PLACES:
                    continue
                before = None
                for place in along.each():
                    empty = all(first >= room or first + size <= 0 for first in values.of(place))
                    if before is not None and empty != before:
                        cuts.add(place.x if offset == "wg_off_x" else place.y)
                    before = empty
        across, down = (cuts if len(cuts) <= _MOST_CUTS else set() for cuts in found)
        return across, down

    def _starts(self, columns: Sequence[int], rows: Sequence[int]) -> Iterable[int]:
        """Sums of a column and a row's first word; of many, their places in a row of all banks,
        upon which alone a delay depends."""
        if len(columns) * len(rows) <= _FEW:
            return {row + column for row in rows for column in columns}
        sweep = BURST_WORDS * self._part.bursts_per_sweep
        found, across = np.zeros(sweep, bool), np.unique(np.array(columns) % sweep)
        for row in {row % sweep for row in rows}:
            found[(across + row) % sweep] = True
        return np.flatnonzero(found).tolist()

    # -- costs -----------------------------------------------------------------------------------

    def _scratchpad(self, node: Node, shape: Tile) -> int:
        machine = self._grid.machine
        return scratchpad_cycles(
            Access("scratchpad", False, *shape, limit=0, move=lambda: None,
                   pitch=self._pitch(node)),
            machine.scratchpad_bus, line_by_line=machine.line_by_line)

    def _indexed(self, node: Node) -> AccessCost:
        """Index by index: all items are examined; where it is not known which of them are active,
        any may be."""
        instruction = self._graph.instruction(node)
        operand = instruction.operand("A")
        assert operand is not None
        grid, items, write = self._grid, self._grid.machine.items, instruction.operation.store
        place = self._places.first
        lanes = min(grid.width, grid.x - place.x) * min(grid.height, grid.y - place.y)
        buffer = self._program.buffers[operand.value]
        followed = self._followed.longest(node, buffer, self._places, write)
        longest = followed.delay
        if longest is None:
            rows = rows_of(part=self._part, address=buffer.address // WORD_BYTES,
                           words=buffer.words)
            longest = _longest_indexed(self._part, min(rows, followed.rows or rows), write, items,
                                       min(lanes, followed.lanes or lanes))
        nothing = items + _NO_INDEX - INDEX_LEAD
        return AccessCost("dram", max(longest, nothing) + self._delays.wait,
                          _LOOKUP + INDEX_LEAD, nothing)


def _own_lines(buffer: Buffer, left: int, top: int, words: set[int], period: set[int],
               count: set[int]) -> Iterator[tuple[int, int, int]]:
    """The shapes that hardware takes of these; those of one line with one period."""
    for a, c in itertools.product(words, count):
        for b in period if c > 1 else (max(period),):
            try:
                check_own_lines(buffer, left, top, a, b, c)
            except Fault:
                continue
            yield a, max(a, b) if c == 1 else b, c


@cache
def _longest_indexed(part: Part, rows: int, write: bool, items: int, lanes: int) -> int:
    """The longest time from `INDEX_LEAD` on of a request index by index, if any of ``lanes`` items
    are active.

    A lane that is off is a clock without a burst. Lanes before the first active one, and with one
    or two active lanes those until the end, put off the first command; the issue delay counts from
    there, and a lane that is off later adds a clock to it at most.
    """
    return max(items - active + indexed_issue_delay(part=part, bursts=active, rows=rows,
                                                    write=int(write))
               for active in range(1, lanes + 1))


def _by_size(ranges: Iterable[tuple[int, int]]) -> dict[int, list[int]]:
    """First columns, or lines, of ranges from the first to the last one excluded, by how many they
    have; 0 for empty ones."""
    found: dict[int, list[int]] = defaultdict(list)
    for first, last in set(ranges):
        found[max(last - first, 0)].append(first)
    return found


def _anywhere(size: int, room: int, unit: int) -> set[int]:
    """First columns, or lines, of tiles that have a word in the buffer."""
    low = -((size - 1) // unit) * unit
    return set(range(low, room, unit))
