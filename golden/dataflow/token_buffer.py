"""Golden model of the token buffer (SGMF, sections 2.2 and 5.1)."""

from collections.abc import Sequence
from dataclasses import dataclass

from cyclebound.golden.arbiter import RoundRobinModel

__all__ = ["Firing", "TokenBufferModel", "TokenBufferResult"]


@dataclass(frozen=True)
class Firing:
    """Thread ``tid`` with all its operands; those that are not needed are 0."""

    tid: int
    values: tuple[int, ...]


@dataclass(frozen=True)
class TokenBufferResult:
    """The buffer's outputs in one cycle: operands that it takes, and the thread on offer."""

    taken: tuple[bool, ...]
    offered: Firing | None


class TokenBufferModel:
    """Matching by thread: operands are kept under their thread's identifier.

    The store is associative here. That it is direct-mapped in hardware shows only in its capacity:
    of all threads that are equal modulo ``depth``, an operand holds one at a time.

    Parameters
    ----------
    operands, depth : int
        Operands of a thread, and entries for each of them.
    needed : int
        Bit *k*: a thread needs operand *k*.
    epochs : bool
        No thread fires before all threads of older epochs (tid // depth) have.
    """

    def __init__(self, *, operands: int, depth: int, needed: int,
                 epochs: bool = False) -> None:
        self._depth = depth
        self._needed = [k for k in range(operands) if needed >> k & 1]
        self._count = operands
        self.waiting: list[dict[int, int]] = [{} for _ in range(operands)]
        self._turn = RoundRobinModel(depth)
        self._offered: Firing | None = None
        self._epochs = epochs
        self._fired = [0] * depth  # by entry: how many threads have fired

    def complete(self) -> set[int]:
        """The threads that have all their operands."""
        held = [self.waiting[k].keys() for k in self._needed]
        return set(held[0]).intersection(*held[1:]) if held and all(held) else set()

    @property
    def empty(self) -> bool:
        """Whether nothing is inside, and nothing on offer in the next cycle."""
        return self._offered is None and not any(self.waiting)

    @property
    def next_offer(self) -> Firing | None:
        """The outputs that `step` will return."""
        return self._offered

    def takes(self, operand: int, tid: int) -> bool:
        """Whether a token of this thread would be taken."""
        return operand in self._needed and all(
            (tid - other) % self._depth for other in self.waiting[operand])

    def _may(self, tid: int) -> bool:
        """Whether no entry has fired less often than this one; threads begin with number 0."""
        return not self._epochs or self._fired[tid % self._depth] == min(self._fired)

    def step(self, offers: Sequence[tuple[int, int] | None], ready: bool) -> TokenBufferResult:
        """One cycle, in which each operand offers a token (thread, value), or None."""
        taken = tuple(offer is not None and self.takes(k, offer[0])
                      for k, offer in enumerate(offers))
        shown = self._offered
        if shown is None or ready:
            self._offered = None
            by_entry = {tid % self._depth: tid for tid in self.complete() if self._may(tid)}
            grant = self._turn.step(sum(1 << entry for entry in by_entry), accept=True)
            if grant:
                tid = by_entry[grant.bit_length() - 1]
                entry = tid % self._depth
                self._fired[entry] += 1
                values = [0] * self._count
                for k in self._needed:
                    values[k] = self.waiting[k].pop(tid)
                self._offered = Firing(tid, tuple(values))
        for k, offer in enumerate(offers):
            if taken[k] and offer is not None:
                self.waiting[k][offer[0]] = offer[1]
        return TokenBufferResult(taken, shown)
