"""Golden model of the special unit (SGMF, sections 4.2, 5.1 and 5.2.1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cyclebound.golden.arbiter import RoundRobinModel
from cyclebound.golden.dataflow.graph import Special
from cyclebound.golden.dataflow.operations import BLOCKS
from cyclebound.golden.dataflow.special import evaluate
from cyclebound.golden.dataflow.special_timing import cycles
from cyclebound.golden.dataflow.token_buffer import TokenBufferModel

__all__ = ["SpecialUnitModel", "SpecialUnitResult"]


@dataclass(frozen=True)
class SpecialUnitResult:
    """One cycle: the operands that are taken, and the result on offer (thread, value)."""

    taken: tuple[bool, ...]
    result: tuple[int, int] | None


class SpecialUnitModel:
    """Threads in blocks until their time has come, then in a table until their epoch leaves.

    Parameters
    ----------
    function : Special
        Of the blocks.
    depth : int
        Of both buffers, and threads of an epoch.
    literals : mapping of int to int
        Operands that are constants of the configuration.
    blocks : int
        How many there are.
    """

    def __init__(self, *, function: Special, depth: int,
                 literals: Mapping[int, int] | None = None, blocks: int = BLOCKS) -> None:
        self._function, self._depth, self._literals = function, depth, dict(literals or {})
        count = 1 if function == Special.FSQRT else 2
        self.buffer = TokenBufferModel(
            operands=2, depth=depth, epochs=True,
            needed=sum(1 << k for k in range(count) if k not in self._literals))
        self._blocks: list[tuple[int, int, int] | None] = [None] * blocks  # cycle, thread, value
        self._collect, self._turn = RoundRobinModel(blocks), RoundRobinModel(depth)
        self.threads: dict[int, int | None] = {}  # in flight, and their results
        self._left: set[int] = set()              # of this epoch, modulo depth
        self.shown: tuple[int, int] | None = None
        self._now = 0

    @property
    def empty(self) -> bool:
        return self.buffer.empty and not self.threads and self.shown is None

    def takes(self, operand: int, tid: int) -> bool:
        """Whether a token of this thread would be taken."""
        return self.buffer.takes(operand, tid)

    def step(self, offers: Sequence[tuple[int, int] | None], ready: bool) -> SpecialUnitResult:
        """One cycle: a token (thread, value) or None on each operand; ``ready`` for the result."""
        shown = self.shown
        able = {tid % self._depth: (tid, value) for tid, value in self.threads.items()
                if value is not None and tid % self._depth not in self._left}
        # what blocks have, one of them in a cycle
        over = sum(1 << k for k, block in enumerate(self._blocks)
                   if block is not None and block[0] <= self._now)
        firing = self.buffer.next_offer
        free = [k for k, block in enumerate(self._blocks) if block is None]
        entries = {tid % self._depth for tid in self.threads}
        enters = bool(firing is not None and free and firing.tid % self._depth not in entries)
        taken = self.buffer.step(list(offers)[:2], enters).taken
        grant = self._collect.step(over, accept=True)
        if grant:
            number = grant.bit_length() - 1
            block = self._blocks[number]
            if block is not None:
                _, tid, value = block
                self.threads[tid], self._blocks[number] = value, None
        # the thread that leaves
        if shown is None or ready:
            grant = self._turn.step(sum(1 << entry for entry in able), accept=True)
            self.shown = None
            if grant:
                tid, value = able[grant.bit_length() - 1]
                self.shown = tid, value
                del self.threads[tid]
                self._left.add(tid % self._depth)
                if len(self._left) == self._depth:
                    self._left = set()
        # the thread that enters
        if enters and firing is not None:
            a, b = (self._literals.get(k, value) for k, value in enumerate(firing.values))
            when = self._now + cycles(self._function, a, b) - 1
            self._blocks[free[0]] = when, firing.tid, evaluate(self._function, (a, b))
            self.threads[firing.tid] = None
        self._now += 1
        return SpecialUnitResult(taken, shown)
