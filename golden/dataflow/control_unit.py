"""Golden model of the control unit (SGMF, sections 4.3 to 4.5)."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from cyclebound.golden.dataflow.control import DELAY_SLOTS, Control
from cyclebound.golden.dataflow.operations import OPERANDS
from cyclebound.golden.dataflow.token_buffer import TokenBufferModel

__all__ = ["ControlResult", "ControlUnitModel"]


@dataclass(frozen=True)
class ControlResult:
    """One cycle: the operands that are taken, and what each consumer is offered."""

    taken: tuple[bool, ...]
    results: tuple[tuple[int, int] | None, tuple[int, int] | None]


class ControlUnitModel:
    """The unit under one configuration.

    Parameters
    ----------
    depth : int
        Of the token buffer.
    function : Control
        What it does.
    operands, inverted : collections of int
        The operands that it waits for, and those of which the opposite counts.
    slots : int
        Of a delay.
    split : bool
        There are two consumers.
    epochs : bool
        Of the token buffer.
    """

    def __init__(self, *, depth: int, function: Control, operands: Sequence[int] = (0, 1, 2),
                 inverted: Sequence[int] = (), slots: int = 1, split: bool = False,
                 epochs: bool = False) -> None:
        self.function, self.operands, self.inverted = function, operands, inverted
        self.slots, self.split = slots, split  # of a delay, DELAY_SLOTS are there at most
        self.buffer = TokenBufferModel(operands=OPERANDS, depth=depth,
                                       needed=sum(1 << k for k in operands), epochs=epochs)
        self._queue: deque[tuple[int, int]] = deque()
        self._owed: set[int] = set()  # consumers that have not got what is on offer
        self._all = {0, 1} if split else {0}

    @property
    def token(self) -> tuple[int, int] | None:
        """The token on offer in this cycle, to consumers that have not taken it yet, or None."""
        if self.function == Control.DELAY:
            return self._queue[0] if self._queue else None
        firing = self.buffer.next_offer
        return None if firing is None else (firing.tid, self._value(firing.values))

    def takes(self, operand: int, tid: int) -> bool:
        """Whether a token of this thread would be taken."""
        if self.function == Control.DELAY:
            return operand == 0 and len(self._queue) < min(self.slots, DELAY_SLOTS)
        return self.buffer.takes(operand, tid)

    @property
    def empty(self) -> bool:
        return not self._queue and self.buffer.empty

    def _value(self, values: Sequence[int]) -> int:
        if self.function == Control.PHI:
            return values[1] if values[0] & 1 else values[2]
        alive = [bool(values[k] & 1) != (k in self.inverted) for k in self.operands]
        return int(all(alive) if self.function == Control.JOIN else any(alive))

    def step(self, offers: Sequence[tuple[int, int] | None],
             ready: Sequence[bool]) -> ControlResult:
        """One cycle: a token (thread, value) or None on each operand; which results are taken."""
        delays = self.function == Control.DELAY
        token = self.token
        owed = self._owed or set(self._all)
        shown = token if 0 in owed else None, token if 1 in owed else None
        left = {k for k in owed if not ready[k]} if token is not None else set()
        self._owed = left
        leaves = token is not None and not left
        if delays:
            offer = offers[0] if len(self._queue) < min(self.slots, DELAY_SLOTS) else None
            taken: tuple[bool, ...] = (offer is not None, False, False)
            if leaves:
                self._queue.popleft()
            if offer is not None:
                self._queue.append(offer)
        else:
            taken = self.buffer.step(offers, not left).taken
        return ControlResult(taken, shown)
