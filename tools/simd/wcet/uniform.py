"""Whether all work-groups of a kernel reach an access after the same number of accesses.

Then the two of a pair, which take turns, are always in the same round of the same loop, and the
second enters, leaves and goes round whenever the first has. It takes loops whose rounds are the
same in all work-groups, with as many accesses in each round whichever route is taken, and one at
least: so a work-group does not go round a loop twice from one access to the next. And it takes that
no route passes a loop by: one with as many accesses beside the loop as the loop has would lead to
the same counts, and to a work-group in the loop while the other one is beside it.
"""

from cyclebound.tools.simd.wcet.loops import Loop
from cyclebound.tools.simd.wcet.phases import END, PhaseGraph, Place, Segment

__all__ = ["is_uniform"]


class _NotUniform(Exception):
    pass


class _Counts:
    """Accesses since the beginning of a round: up to each place; and those of whole rounds."""

    def __init__(self, phases: PhaseGraph) -> None:
        self._phases = phases
        self._headers = {loop.header: loop for loop in phases.moving}
        if len(self._headers) < len(phases.moving):
            raise _NotUniform
        self._places: dict[Place, int] = {("start", None): 0}
        self._rounds: dict[Loop, int] = {}
        self._entries: dict[Loop, int] = {}

    def _loop(self, place: Place) -> Loop | None:
        node = place[1]
        if place[0] == "header" and node is not None:
            return self._headers[node]
        return next((loop for loop in self._phases.moving if node in loop.body), None)

    def _set(self, where: dict, key: object, value: int) -> bool:
        if key not in where:
            where[key] = value
            return True
        if where[key] != value:
            raise _NotUniform
        return False

    def _at(self, place: Place, loop: Loop | None) -> int | None:
        """Accesses up to a place since the round of ``loop`` around it began; None: not yet."""
        inner, count = self._loop(place), self._places.get(place)
        while inner is not loop:
            if inner is None:
                raise _NotUniform
            bound = self._phases.loops.bounds[inner]
            if not bound.exact:
                raise _NotUniform
            if count is None or inner not in self._rounds or inner not in self._entries:
                return None
            count += self._entries[inner] + bound.most * self._rounds[inner]
            inner = inner.parent
        return count

    def follow(self, segment: Segment) -> bool:
        """Whether a segment tells anything new."""
        target = segment.target
        if target == END or segment.source not in self._places:
            return False
        loop = self._loop(target)
        if target[0] == "access":
            count = self._at(segment.source, loop)
            return count is not None and self._set(self._places, target, count + 1)
        assert loop is not None
        if segment.back is not None:
            count = self._at(segment.source, loop)
            if count == 0:
                raise _NotUniform
            return count is not None and self._set(self._rounds, loop, count)
        count = self._at(segment.source, loop.parent)
        if count is None:
            return False
        new = self._set(self._places, target, 0)
        return self._set(self._entries, loop, count) or new


    def passes_by(self) -> bool:
        """An access, or a loop, may come as the same one of a round as an access of another loop
        does."""
        around: dict[Loop | None, list[tuple[int, int, Loop | None]]] = {}
        for place, count in self._places.items():
            if place[0] == "access":
                around.setdefault(self._loop(place), []).append((count, count, None))
        for loop in self._phases.moving:
            last = [self._at(source, loop.parent) for source, after in self._phases.after.items()
                    if source[1] in loop.body and any(
                        segment.target[1] not in loop.body for segment in after)]
            if loop not in self._entries or None in last:
                return True
            around.setdefault(loop.parent, []).append(
                (self._entries[loop] + 1, max(filter(None, last), default=0), loop))
        return any(one is not other and one[0] <= other[1] and other[0] <= one[1]
                   for spans in around.values() for one in spans if one[2] is not None
                   for other in spans)


def is_uniform(phases: PhaseGraph) -> bool:
    """Whether all loops with accesses have exact bounds, and all routes the same counts."""
    segments = [segment for after in phases.after.values() for segment in after]
    try:
        counts = _Counts(phases)
        for loop in phases.moving:
            if not phases.loops.bounds[loop].exact:
                return False
        while sum(map(counts.follow, segments)):
            pass
        return not counts.passes_by()
    except _NotUniform:
        return False
