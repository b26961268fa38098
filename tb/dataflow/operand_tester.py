"""Tokens before the operands of a dataflow unit: what the testers of its testbenches share."""

from collections import deque
from collections.abc import Sequence

from cyclebound.tb.bench import Bench

__all__ = ["OperandTester"]

Token = tuple[int, int]
"""A thread's identifier, and its value."""


class OperandTester:
    """A unit with members ``operands``, and a queue of tokens before each of them.

    Parameters
    ----------
    bench : Bench
        With the unit.
    operands : int
        How many operands it has.

    Attributes
    ----------
    queues : list of deque of (int, int)
        By operand, the tokens that have not been offered: thread and value.
    held : list of (int, int) or None
        By operand, the token on offer; it stays until it is taken.
    """

    def __init__(self, bench: Bench, operands: int) -> None:
        self.bench = bench
        self.queues: list[deque[Token]] = [deque() for _ in range(operands)]
        self.held: list[Token | None] = [None] * operands

    @property
    def waiting(self) -> bool:
        """Whether any token is yet to be taken."""
        return any(self.queues) or any(self.held)

    def offer(self, load: float) -> dict[str, int]:
        """The inputs of the operands in this cycle; a new token is offered with chance ``load``."""
        values: dict[str, int] = {}
        for k, queue in enumerate(self.queues):
            if self.held[k] is None and queue and (load == 1 or self.bench.rng.random() < load):
                self.held[k] = queue.popleft()
            token = self.held[k]
            if token is not None:
                values |= {f"operands.{k}.valid": 1, f"operands.{k}.payload.tid": token[0],
                           f"operands.{k}.payload.data": token[1]}
        return values

    def take(self, taken: Sequence[bool]) -> dict[str, int]:
        """Drop the offers that the model has taken; returns the outputs ``ready`` to expect.

        Without an offer, ``ready`` may be anything.
        """
        expected: dict[str, int] = {}
        for k, token in enumerate(self.held):
            if token is not None:
                expected[f"operands.{k}.ready"] = taken[k]
            if taken[k]:
                self.held[k] = None
        return expected
